"""Limits with a unit that the title of a study states and that nothing in the study has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from slipstick.errors import Problem, UnitError
from slipstick.expression.nodes import Dimension
from slipstick.late import late_pattern
from slipstick.limits import ANNOUNCE
from slipstick.schema.text import leaves
from slipstick.study.cases import StudyContext
from slipstick.units import parse

_QUANTITY = r"\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:%|[A-Za-z]*(?:/[A-Za-z]+)?)"
_QUANTITY_PATTERN = late_pattern(rf"(?<![\w.]){_QUANTITY}")
_LIMIT_PATTERN = late_pattern(
    r"\b(?:within|at most|at least|under|below|above|over|(?:less|more|\w+er) than)"
    rf" ({_QUANTITY})(?!\w)"
)
_WORDS_OF_STUDY = ("title", "text", "source")
"""Keys whose values are words for the reader."""


def quantities_in(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, float, Dimension]]:
    """Yield the quantities that a pattern finds in a text: as written, in base units, and the
    dimension.

    >>> list(quantities_in("within 150 s on 64 nodes", _LIMIT_PATTERN))
    [('150 s', 150.0, Dimension.of('s'))]
    """
    for match in pattern.finditer(text):
        quantity_text = match[match.lastindex or 0].strip()
        try:
            value, dimension = parse(quantity_text)
        except UnitError:  # a number of things, which is no unit
            continue
        yield quantity_text, value, dimension


def notes_on_missing_condition(study: StudyContext, key: str) -> list[Problem]:
    """Return a note on each limit in the title that a search or a choice could have as condition;
    none if another question of the study asks for limits of its own.
    """
    if study.spec.questions.keys() - {key}:
        return []
    return notes_on_limits_in_title(
        study, lambda text, dimension: f"write it in the condition, {key} with where"
    )


def notes_on_limits_in_title(
    study: StudyContext, way_out: Callable[[str, Dimension], str]
) -> list[Problem]:
    """Announce each limit with a unit in the title that no value of the study has, and return the
    notes.

    Parameters
    ----------
    study : with its title
    way_out : returns what to write for a limit as written with its dimension; empty if the question
        has no place for it
    """
    limits = [
        limit
        for limit in quantities_in(study.spec.title, _LIMIT_PATTERN)
        if not limit[0].replace(".", "").isdigit()
    ]
    if not limits:
        return []
    study_values = [
        (value, dimension)
        for path, scalar in leaves(study.tree)
        if path.rpartition(".")[2] not in _WORDS_OF_STUDY
        for _, value, dimension in quantities_in(scalar.text, _QUANTITY_PATTERN)
    ]
    notes = [
        study.problem(
            ("title",),
            f"the limit {text} stands nowhere else in the study: {advice}",
        )
        for text, value, dimension in limits
        if (advice := way_out(text, dimension))
        and not any(
            dimension == study_dimension and math.isclose(value, study_value)
            for study_value, study_dimension in study_values
        )
    ]
    return announced(notes)


def announced(notes: list[Problem]) -> list[Problem]:
    """Announce notes on a study, and return them."""
    if announce := ANNOUNCE.get():
        for note in notes:
            announce(f"note: {note}")
    return notes
