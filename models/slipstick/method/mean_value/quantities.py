"""The values of every number of a model, at the points of a sweep, and beside one point for derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slipstick.expression.nodes import Expr, parameters
from slipstick.expression.tape import Tape
from slipstick.method.mean_value.maxima import Array
from slipstick.method.numbers import crowd_sizes, expressions
from slipstick.model.system import Model

Numbers = Mapping[Expr, Array]
Values = Mapping[str, "Array | float"]


class Quantities:
    """The expressions of a model, compiled together.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._exprs = expressions(model)
        self.tape = Tape(self._exprs)
        whole = {each.name for each in parameters(*crowd_sizes(model))}
        self.smooth = [name for name in self.tape.parameters if name not in whole]
        """Parameters that the time has a derivative by: all but those that count processors."""

    def columns(self, values: Values) -> dict[Expr, Array]:
        """Evaluate every number [points]."""
        found = self.tape.run(values)
        points = max([1, *(np.size(each) for each in values.values()), *map(len, found)])
        return {expr: np.broadcast_to(each, (points,)) for expr, each in zip(self._exprs, found, strict=True)}

    def perturbed(self, values: Mapping[str, float], step: float) -> tuple[dict[Expr, Array], Array]:
        """Evaluate at one point, once for each smooth parameter, moved by a small imaginary step.

        Parameters
        ----------
        values : parameters that differ from the model's own
        step : relative to the parameter's value, or in base units where it is 0 [1]

        Returns
        -------
        every number [parameters], and the steps taken
        """
        place = {name: index for index, name in enumerate(self.smooth)}
        here = {name: float(values.get(name, each.value or 0.0)) for name, each in self.tape.parameters.items()}
        steps_taken = np.array([step * (abs(here[name]) or 1.0) for name in self.smooth])
        moved: dict[Expr, Array] = {}
        for expr in self._exprs:
            # Each alone: together, every one of them would run the instructions of all.
            alone = Tape([expr])
            found = alone.differentiate({name: each for name, each in values.items() if name in alone.parameters})
            row = np.full(len(self.smooth), complex(found.value[0]))
            for name, slope in found.by_parameter.items():
                if name in place:
                    row[place[name]] += 1j * steps_taken[place[name]] * slope[0]
            moved[expr] = row
        return moved, steps_taken


def only(numbers: Numbers, rows: Sequence[int] | Array) -> dict[Expr, Array]:
    """Cut out some of the points."""
    return {expr: column[rows] for expr, column in numbers.items()}
