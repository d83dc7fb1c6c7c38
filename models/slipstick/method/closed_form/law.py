"""Laws compiled for many points: a formula is a closed form as it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.condition import Comparison
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter, substitute
from slipstick.expression.tape import Tape
from slipstick.law import Law
from slipstick.method.answers import CompiledModel, Gradient, Remarks, Solution, Values, at
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
        self.conditions = tuple(
            Comparison(substitute(each.left, parameters), each.relation, substitute(each.right, parameters))
            for each in law.conditions
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.tape.parameters)

    def times(self, values: Values) -> Array:
        """Evaluate the law; NaN where it does not hold."""
        result = self.tape.run(values)[0]
        return np.where(self._holds(values, len(result)), result, np.nan)

    def unit(self, column: str) -> str:
        return str(self.law.gives.dimension)

    def solution(self, values: Values) -> Solution:
        """Evaluate the law with its derivatives."""
        found = self.tape.differentiate(values)
        holds = self._holds(values, len(found.value))
        return Solution(
            model=f"law/{self.law.name}",
            method=CLOSED_FORM,
            count=len(found.value),
            values={self.quantity: np.where(holds, found.value, np.nan)},
            remarks=lambda index: self._remarks(at(found.value, index), bool(holds[index])),
            gradient=lambda index: Gradient(
                {self.quantity: {name: at(each, index) for name, each in found.by_parameter.items()}},
                {name: at(each, index) for name, each in found.inputs.items()},
                self.tape.parameters,
            ),
            unit=self.unit,
        )

    def _remarks(self, value: float, holds: bool) -> Remarks:
        if not holds:
            conditions = " and ".join(map(str, self.law.conditions))
            return Remarks(failed=f"law {self.law.name} holds for {conditions} only")
        if not math.isfinite(value):
            return Remarks(failed=f"law {self.law.name} comes out as {value!r}")
        return Remarks(exact=self.law.exact, notes=(self.law.note,) if self.law.note else ())

    def _holds(self, values: Values, points: int) -> NDArray[np.bool_]:
        held = np.ones(points, dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(values)
        return held
