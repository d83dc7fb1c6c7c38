"""The numbers of one file as expressions: named parameters, formulas over them, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slipstick.errors import Problem, SpecError
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.schema.binding.formula import read_formula
from slipstick.schema.kinds.quantity import Formula, Given
from slipstick.schema.text.nodes import Node, canonical
from slipstick.schema.validate import problem

__all__ = ["Loc", "Values"]

Loc = tuple[str | int, ...]


class Values:
    """Reads the quantities of one checked file.

    Parameters
    ----------
    tree : where everything is written
    named : the file's own ``parameters``; a formula may use those before it
    parameters : every quantity of the file, by path (``cycle.work.delay``)

    Attributes
    ----------
    problems : what was found wrong so far; whoever builds the model adds to it
    """

    def __init__(self, tree: Node, named: Mapping[str, Given | Formula], parameters: Mapping[str, Parameter]) -> None:
        self._tree, self._parameters = tree, parameters
        self.problems: list[Problem] = []
        self._unread: list[str] = []
        self._known = self._read(named)

    def expr(self, value: Given | Formula | None, loc: Loc, dimension: Dimension) -> Expr:
        """Give the expression that a quantity stands for; a parameter without a value for a formula that is wrong."""
        if isinstance(value, Formula):
            made = self._formula(value, loc, self._known, dimension)
            return Parameter("unread", dimension) if made is None else made
        path = canonical(self._tree, loc)
        if path in self._parameters:
            return self._parameters[path]
        # A default that the file does not mention is a plain number.
        assert value is not None
        return Number(value.value, dimension)

    def refuse(self, loc: Loc, message: str, key: bool = False) -> None:
        """Note a problem at a place of the file."""
        self.problems.append(problem(self._tree, loc, message, key))

    def _read(self, named: Mapping[str, Given | Formula]) -> dict[str, Expr]:
        known: dict[str, Expr] = {}
        for name, value in named.items():
            loc = ("parameters", name)
            if not isinstance(value, Formula):
                known[name] = self._parameters[canonical(self._tree, loc)]
                continue
            made = self._formula(value, loc, known, None)
            if made is None:
                self._unread.append(name)
            else:
                known[name] = made
        return known

    def _formula(
        self, formula: Formula, loc: Loc, known: Mapping[str, Expr], dimension: Dimension | None
    ) -> Expr | None:
        try:
            return read_formula(self._tree, loc, formula, known, dimension)
        except SpecError as error:
            # What a parameter is that could not be read, nobody knows; one problem is enough.
            if not set(re.findall(r"\w+", formula.text)).intersection(self._unread):
                self.problems += error.problems
            return None
