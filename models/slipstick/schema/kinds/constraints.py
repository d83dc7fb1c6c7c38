"""Constraints on values of specs: names, lists without repetition, words to choose from, and rules
between keys, with their messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    GetPydanticSchema,
    StringConstraints,
)
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

_NAME = r"^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$"

SPELT = {
    _NAME: (
        "write a name: letters, digits and _, with a single - between them, starting with a letter"
    )
}
"""A description of the texts that a pattern allows, for messages, by pattern."""

Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=64)]
"""A name without spaces, so that it can stand in a path."""

Note = Annotated[str, StringConstraints(max_length=8000)]

Sources = dict[Name, Note]
"""Short keys for sources, spelt out once."""


def listed_twice_message(value: object) -> str:
    """Return the message for a value that stands twice in a list."""
    return f"{value} stands here twice; leave it out once"


def _refuse_repeated_values(values: list[Any]) -> list[Any]:
    earlier_values = set[Any]()
    for index, value in enumerate(values):
        if value in earlier_values:
            raise broken_rule(listed_twice_message(value), index)
        earlier_values.add(value)
    return values


Distinct = AfterValidator(_refuse_repeated_values)
"""The constraint of a list whose values must all differ, such as a list of cases to solve."""


def one_of(allowed_words: Iterable[str]) -> GetPydanticSchema:
    """Return the constraint of a text that must be one of some words; like `Literal`, for words
    that are known only at run time.
    """
    return GetPydanticSchema(
        lambda _source, _handler: core_schema.literal_schema(list(allowed_words))
    )


def known_word(allowed_words: Collection[str]) -> GetPydanticSchema:
    """Return the constraint of a text that must be one of some words, to which other packages may
    add. Their words are loaded only for a text that is not among slipstick's own words, and for a
    JSON Schema.
    """

    def check_word(value: Any) -> str:
        if isinstance(value, str) and value in allowed_words:
            return value
        *first_words, last_word = map(repr, allowed_words)
        raise PydanticKnownError(
            "literal_error", {"expected": f"{', '.join(first_words)} or {last_word}"}
        )

    return GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_plain_validator_function(check_word),
        lambda _schema, _handler: {"enum": list(allowed_words), "type": "string"},
    )


RULE = "rule"
"""The type of the errors about several keys together, in the place of the types that pydantic's own
errors have.
"""


def broken_rule(message: str, *location: str | int) -> PydanticCustomError:
    """Return the error for keys that contradict each other, at a place inside the table that has
    them.
    """
    return PydanticCustomError(RULE, "{why}", {"why": message, "at": location})
