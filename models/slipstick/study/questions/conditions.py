"""Conditions on answers: read like those on parameters, evaluated on columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import FormulaError, SpecError
from slipstick.expression.condition import Comparison
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Parameter
from slipstick.expression.tape import Tape
from slipstick.method.crossings import margin
from slipstick.results.study import Array
from slipstick.schema.text.formula import read_condition
from slipstick.schema.text.nodes import Node
from slipstick.schema.validate import problem
from slipstick.study.points.evaluate import Evaluator

__all__ = ["Condition", "condition_of"]

Place = tuple[str | int, ...]

_SOUGHT = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the answers of one case.

    Parameters
    ----------
    text : as written
    parts : comparisons, all of which must hold
    columns : the column that each name of an expression stands for
    """

    text: str
    parts: tuple[Comparison, ...]
    columns: Mapping[str, str]

    def sides(self, found: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """Give the two sides of each part [points]."""
        count = max((len(each) for each in found.values()), default=1)
        sides = []
        for part in self.parts:
            tape = Tape([part.left, part.right])
            given = {name: found[self.columns[name]] for name in tape.parameters if name in self.columns}
            left, right = (np.broadcast_to(each, (count,)) for each in tape.run(given))
            sides.append((left, right))
        return sides

    def look(self, found: Mapping[str, Array]) -> tuple[Array, NDArray[np.bool_]]:
        """Give the margin of the part that is nearest to failing, or fails worst, and whether all hold [points]."""
        sides = self.sides(found)
        margins = np.min([margin(part, *each) for part, each in zip(self.parts, sides, strict=True)], axis=0)
        holds = np.all([part.between(*each) for part, each in zip(self.parts, sides, strict=True)], axis=0)
        return margins, holds


def condition_of(text: str, tree: Node, place: Place, case: Evaluator, others: Mapping[str, Evaluator]) -> Condition:
    """Read a condition on the answers of a case; a bare name is that of a column.

    Parameters
    ----------
    text : such as ``efficiency <= 0.5 * base.efficiency``
    tree, place : the study, and where it stands
    case : whose answers the bare names are
    others : cases by the word that their names begin with, at their own values

    Raises
    ------
    SpecError : it is no condition, or one that cannot be sought
    """
    known: dict[str, Parameter] = {}
    columns: dict[str, str] = {}
    for name, dimension in case.units().items():
        symbol = _symbol(name, known)
        known[name] = Parameter(symbol, dimension)
        columns[symbol] = name
    # Only what is spoken of is solved.
    for word, other in ((word, other) for word, other in others.items() if f"{word}." in text):
        for name, column in other.own.items():
            value = float(column[0])
            if np.isfinite(value):
                dimension = Dimension.of(other.unit(name) or "1")
                known[f"{word}.{name}"] = Parameter(_symbol(f"{word}.{name}", known), dimension, value)
    try:
        parts = read_condition(text, known, answers=True)
    except FormulaError as error:
        raise SpecError([problem(tree, place, str(error))]) from None
    for part in parts:
        if part.relation not in _SOUGHT:
            why = f"at {part.relation} nothing starts or stops holding; write one of {' '.join(_SOUGHT)}"
            raise SpecError([problem(tree, place, why)])
    return Condition(text, parts, columns)


def _symbol(name: str, taken: Mapping[str, Parameter]) -> str:
    """Turn the name of a column into one that an expression may have, and that no other column has."""
    made = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")
    used = {each.name for each in taken.values()}
    return made if made not in used else next(each for n in range(2, 10**6) if (each := f"{made}-{n}") not in used)
