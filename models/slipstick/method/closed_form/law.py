"""Laws compiled for many points: a formula is a closed form as it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from slipstick.expression.condition import Comparison
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter, substitute
from slipstick.expression.tape import Tape
from slipstick.law import Law
from slipstick.method.answers import CompiledModel, Flags, Gradient, Remarks, Solution, Values, at
from slipstick.vocabulary import CLOSED_FORM


class CompiledLaw(CompiledModel):
    """A law compiled for many points.

    Parameters
    ----------
    law : the formula
    parameters : a parameter with a value for each symbol
    """

    def __init__(self, law: Law, parameters: Mapping[str, Parameter]) -> None:
        self.law = law
        self.quantity = law.gives.name
        self.tape = Tape([substitute(law.right, parameters)])
        self.parameters = tuple(self.tape.parameters)
        self.conditions = tuple(
            Comparison(substitute(each.left, parameters), each.relation, substitute(each.right, parameters))
            for each in law.conditions
        )

    def brief(self, values: Values) -> Solution:
        """Evaluate the law without its derivatives."""
        result = self.tape.run(values)[0]
        return self._solved(result, self._holds(values, len(result)))

    def unit(self, column: str) -> str:
        return str(self.law.gives.dimension)

    def solution(self, values: Values) -> Solution:
        """Evaluate the law with its derivatives."""
        found = self.tape.differentiate(values)
        holds = self._holds(values, len(found.value))
        return replace(
            self._solved(found.value, holds),
            gradient=lambda index: Gradient(
                {self.quantity: {name: at(each, index) for name, each in found.by_parameter.items()}},
                {name: at(each, index) for name, each in found.inputs.items()},
                self.tape.parameters,
            ),
        )

    def _solved(self, found: Array, holds: Flags) -> Solution:
        """Make a solution of values, NaN where the law does not hold."""
        return Solution(
            model=f"law/{self.law.name}",
            method=CLOSED_FORM,
            count=len(found),
            exact=np.array([self.law.exact]),
            values={self.quantity: np.where(holds, found, np.nan)},
            remarks=lambda index: self._remarks(at(found, index), bool(holds[index])),
            unit=self.unit,
        )

    def _remarks(self, value: float, holds: bool) -> Remarks:
        if not holds:
            conditions = " and ".join(map(str, self.law.conditions))
            return Remarks(failed=f"law {self.law.name} holds for {conditions} only")
        if not math.isfinite(value):
            return Remarks(failed=f"law {self.law.name} comes out as {value!r}")
        return Remarks(notes=(self.law.note,) if self.law.note else ())

    def _holds(self, values: Values, points: int) -> Flags:
        held = np.ones(points, dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(values)
        return held
