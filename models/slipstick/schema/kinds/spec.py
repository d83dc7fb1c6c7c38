"""What all specs share: strict, frozen, every key documented."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from slipstick.errors import Fault

__all__ = ["ITEMS", "RULE", "SPELT", "WRITTEN", "Described", "Name", "Note", "Sources", "Spec", "broken_rule"]

_NAME = r"^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$"

SPELT = {_NAME: "write a name: letters, digits and _, with a single - between them, starting with a letter"}
"""What may be written, in words, by the pattern that it must match."""

ITEMS = ("delay", "service", "hold", "fork", "choose", "repeat", "pipeline", "barrier")
"""The keys that tell what an item of an activity is."""

WRITTEN = {
    "delay": ("for time on its own", "{name: work, delay: 9 ms}"),
    "service": ("for time at a resource", "{name: update, service: bus, time: 1 ms}"),
    "hold": ("for steps under a lock", "{hold: table, body: [{delay: 1 ms}]}"),
    "fork": ("for branches side by side", "{fork: [[{delay: 1 ms}], [{delay: 2 ms}]]}"),
    "choose": ("for one of several", "{choose: [{p: 0.3, do: [{delay: 1 ms}]}, {p: 0.7, do: []}]}"),
    "repeat": ("for steps again and again", "{repeat: 3, body: [{delay: 1 ms}]}"),
    "pipeline": ("for items through stages", "{pipeline: 7, stages: [{serial: [{delay: 1 ms}]}]}"),
    "barrier": ("for a meeting of all", "{barrier: meet}"),
}
"""What each is for, and how it is written."""

Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=64)]
"""A name without spaces, so that it can stand in a path."""

Note = Annotated[str, StringConstraints(max_length=8000)]

Sources = dict[Name, Note]
"""Short keys for sources, spelt out once."""


class Spec(BaseModel):
    """A part of a spec file: unknown keys, wrong types, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True, validate_default=True)


class Described(Spec):
    """What every file may say of itself."""

    @classmethod
    def astray(cls, data: object) -> list[Fault]:
        """Find names that lead nowhere in a file that is wrong otherwise; here, where no kind of file is known, none."""
        return []

    title: Note = Field("", description="one line for tables and catalogues")
    source: Note = Field(
        "", description="where the values come from, unless one says otherwise; a key of sources, or text"
    )
    sources: Sources = Field(default_factory=dict, description="short keys for sources, spelt out")
    extends: Note = Field("", description="another spec of the same kind whose values hold where this one is silent")


RULE = "rule"
"""The type of error about several keys together, as pydantic has types of errors."""


def broken_rule(why: str, *at: str | int) -> PydanticCustomError:
    """Refuse keys that are at odds with one another, at a place inside what they are keys of."""
    return PydanticCustomError(RULE, "{why}", {"why": why, "at": at})
