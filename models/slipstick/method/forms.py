"""What a method makes of a model, one interface for all: compiled once, answered at many points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slipstick.answer import Answer, Value
from slipstick.expression.condition import Comparison
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter, substitute
from slipstick.expression.tape import Derivatives, Tape
from slipstick.law import Law
from slipstick.method.closed_form.form import BLOCK
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.vocabulary import CLOSED_FORM

Subject = Model | QueueingNetwork | Law
"""What there is to answer for."""

Parameters = Mapping[str, Parameter]

Values = Mapping[str, "Array | float"]


class Solved(Protocol):
    """Answers at aligned points."""

    @property
    def interrupted(self) -> bool:
        """Say whether somebody stopped the method before it was done."""

    def __len__(self) -> int: ...
    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units; NaN where there is none."""

    def limits(self) -> dict[str, list[str]]:
        """Name the limiting stage of each pipeline at each point."""

    def answer(
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""


class CompiledModel(Protocol):
    """A model compiled by a method.

    Attributes
    ----------
    quantity : what it gives first of all, NaN at a point without an answer
    block : how many points it is to be given at a time
    """

    quantity: str
    block: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied without building anew."""

    def times(self, values: Values) -> Array:
        """Evaluate the first quantity alone."""

    def points(self, values: Values) -> Solved:
        """Evaluate everything."""

    def unit(self, column: str) -> str:
        """Give the base unit of a column."""


class LawForm:
    """A law compiled for many points.

    Parameters
    ----------
    law : the formula
    parameters : a parameter with a value for each symbol
    """

    block = BLOCK

    def __init__(self, law: Law, parameters: Parameters) -> None:
        self.law = law
        self.quantity = law.gives.name
        self.tape = Tape([substitute(law.right, parameters)])
        self.conditions = tuple(
            Comparison(substitute(each.left, parameters), each.relation, substitute(each.right, parameters))
            for each in law.conditions
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the symbols."""
        return tuple(self.tape.parameters)

    def times(self, values: Values) -> Array:
        """Evaluate the law; NaN where it does not hold."""
        result = self.tape.run(values)[0]
        return np.where(self._holds(values, len(result)), result, np.nan)

    def unit(self, column: str) -> str:
        """Give the unit of the law's value, the one column there is."""
        return str(self.law.gives.dimension)

    def points(self, values: Values) -> LawPoints:
        """Evaluate the law with its derivatives."""
        derivatives = self.tape.differentiate(values)
        return LawPoints(self, derivatives, self._holds(values, len(derivatives.value)))

    def _holds(self, values: Values, points: int) -> NDArray[np.bool_]:
        held = np.ones(points, dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(values)
        return held


@dataclass(frozen=True, slots=True)
class LawPoints:
    """A law at aligned points."""

    form: LawForm
    derivatives: Derivatives
    holds: NDArray[np.bool_]
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.derivatives.value)

    def columns(self) -> dict[str, Array]:
        """Give the value, NaN where the law does not hold."""
        return {self.form.quantity: np.where(self.holds, self.derivatives.value, np.nan)}

    def limits(self) -> dict[str, list[str]]:
        """Give nothing: a law has no stages."""
        return {}

    def answer(
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""
        law, value = self.form.law, float(self.derivatives.value[index])
        blank = Answer(f"law/{law.name}", CLOSED_FORM, point=point or {}, given=given or {})
        if not self.holds[index]:
            conditions = " and ".join(map(str, law.conditions))
            return replace(blank, failed=f"law {law.name} holds for {conditions} only")
        if not math.isfinite(value):
            return replace(blank, failed=f"law {law.name} comes out as {value!r}")
        gradient = {key: float(each[index]) for key, each in self.derivatives.by_parameter.items()}
        return replace(
            blank,
            values={law.gives.name: Value(value, str(law.gives.dimension))},
            share={law.gives.name: self._shares(index, value, gradient)} if value else {},
            gradient={law.gives.name: gradient},
            exact=law.exact,
            notes=(law.note,) if law.note else (),
        )

    def _shares(self, index: int, value: float, gradient: Mapping[str, float]) -> dict[str, float]:
        powers = {name: each.dimension.time_power for name, each in self.form.tape.parameters.items()}
        return {
            name: power * float(self.derivatives.inputs[name][index]) * gradient[name] / value
            for name, power in powers.items()
            if power
        }
