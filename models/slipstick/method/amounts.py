"""Amounts of answers, computed from the values that any method gives, so that no method needs a
rule for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from slipstick.answer import DeferredShares
from slipstick.expression.columns import Columns, Values, count_of, only
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.late import Array, np
from slipstick.method.answers import Gradient, Solution, value_at
from slipstick.model.amounts import answer_value, values_needed
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model


def amounts_and_half_widths(
    tape: Tape, fixed_values: Values, means: Columns, half_widths: Columns
) -> tuple[list[Array], list[Array]]:
    """Compute amounts, and half the widths of their intervals [points].

    Half-widths of the means add up by their squares, to first order: means of one run depend on
    each other, which is left out.

    Parameters
    ----------
    tape : of the amounts
    fixed_values : parameters that differ from the model's own
    means : by the parameter that stands for each
    half_widths : of some of them; others are known without an error
    """

    def run(columns: Mapping[str, Array]) -> list[Array]:
        return tape.run(only({**fixed_values, **columns}, tape.parameters))

    amounts_at_means = run(means)
    squares = [np.zeros(1) for _ in amounts_at_means]
    for name, half_width in half_widths.items():
        # Each value is moved to the end of its interval, all others stay at their means.
        moved = run({**means, name: means[name] + half_width})
        squares = [
            square + (at_end - at_mean) ** 2
            for square, at_end, at_mean in zip(squares, moved, amounts_at_means, strict=True)
        ]
    return amounts_at_means, [np.sqrt(square) for square in squares]


Slopes = Callable[[Values, Sequence[str], Sequence[str]], Mapping[str, tuple[Array, Columns]]]


@dataclass(frozen=True)
class Amounts:
    """The amounts of a model, which are computed from the solution of any method.

    Parameters
    ----------
    model : with its amounts
    quantity : the value that is NaN at a point without an answer
    slopes : differentiates values at some points by some parameters, see `CompiledModel.slopes`
    """

    model: Model | QueueingNetwork
    quantity: str
    slopes: Slopes

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that amounts depend on, beside the values of the answer."""
        return tuple(self.model.parameters)

    @cached_property
    def _solved(self) -> frozenset[str]:
        return frozenset(replace(self.model, amounts={}).parameters)

    def solvable(self, values: Values) -> Values:
        """Return the values without those of parameters that only amounts depend on."""
        # Points that differ in prices alone then share one solution.
        of_amounts_only = set(self.parameters) - self._solved
        return {name: value for name, value in values.items() if name not in of_amounts_only}

    def added(self, solution: Solution, values: Values) -> Solution:
        """Add the amounts whose values a solution has.

        Parameters
        ----------
        solution : what a method found
        values : of the parameters at its points
        """
        solution = _repeated(solution, count_of(values))
        names = {answer_value(name).name: name for name in solution.values}
        computable = {
            name: amount
            for name, amount in self.model.amounts.items()
            if values_needed(amount) <= names.keys()
        }
        inner = solution.detail

        def detail(index: int) -> tuple[Solution, int]:
            assert inner is not None
            solution_of_point, place = inner(index)
            at_point = {
                name: np.atleast_1d(value)[index if np.size(value) > 1 else 0]
                for name, value in values.items()
            }
            return self.added(solution_of_point, at_point), place

        solution = solution if inner is None else replace(solution, detail=detail)
        return self._with_values(solution, values, names, computable) if computable else solution

    def _with_values(
        self,
        solution: Solution,
        values: Values,
        names: Mapping[str, str],
        computable: Mapping[str, Expr],
    ) -> Solution:
        used_names = frozenset[str]().union(*map(values_needed, computable.values()))
        means_of_values = {name: solution.values[names[name]] for name in used_names}
        half_widths = {
            name: (solution.high[names[name]] - solution.low[names[name]]) / 2
            for name in used_names
            if names[name] in solution.low and names[name] in solution.high
        }
        amounts_at_means, half_widths_of_amounts = amounts_and_half_widths(
            Tape(list(computable.values())), values, means_of_values, half_widths
        )
        # An amount of constants alone has no meaning at a point without an answer.
        answered = np.where(np.isnan(solution.values.get(self.quantity, np.zeros(1))), np.nan, 0.0)
        columns_of_amounts = {
            f"amount[{name}]": column + answered
            for name, column in zip(computable, amounts_at_means, strict=True)
        }
        solution = replace(solution, values={**solution.values, **columns_of_amounts})
        if not solution.low:
            return self._differentiated(solution, values, tuple(columns_of_amounts))
        widths = dict(zip(columns_of_amounts, half_widths_of_amounts, strict=True))
        return replace(
            solution,
            low={
                **solution.low,
                **{name: columns_of_amounts[name] - widths[name] for name in columns_of_amounts},
            },
            high={
                **solution.high,
                **{name: columns_of_amounts[name] + widths[name] for name in columns_of_amounts},
            },
        )

    def _differentiated(
        self, solution: Solution, values: Values, columns: Sequence[str]
    ) -> Solution:
        """Add the derivatives of amounts, by differences, to the derivatives that a solution
        computes when they are read; estimates get none, because differences of estimates are noise.
        """
        inner = solution.gradient
        if inner is None:
            return solution
        of_amounts_only = {
            name: parameter.value
            for name, parameter in self.model.parameters.items()
            if name not in self._solved
        }

        def gradient(index: int) -> Gradient:
            inner_gradient = inner(index)
            at_point = {
                name: value_at(values, name, index, own)
                for name, own in {**of_amounts_only, **inner_gradient.at}.items()
            }

            def slopes() -> dict[str, Mapping[str, float]]:
                by_value = {**inner_gradient.slopes}
                names = {
                    name for by_name in by_value.values() for name in by_name
                } | of_amounts_only.keys()
                # A parameter of 0 has no share, because shares are relative to it.
                moved = [name for name in at_point if name in names and at_point[name] > 0]
                point = {name: np.atleast_1d(number) for name, number in at_point.items()}
                differences = self.slopes(point, moved, columns)
                amounts = {
                    column: {name: float(slope[0]) for name, slope in by_name.items()}
                    for column, (_, by_name) in differences.items()
                }
                return {**by_value, **amounts}

            seconds = getattr(inner_gradient.slopes, "seconds", 0.0)
            parameters = {**self.model.parameters, **inner_gradient.parameters}
            return replace(
                inner_gradient,
                slopes=DeferredShares(slopes, 2 * seconds),
                at=at_point,
                parameters=parameters,
                plain=frozenset(columns),
            )

        return replace(solution, gradient=gradient)


def _repeated(solution: Solution, count: int) -> Solution:
    """Repeat the solution of one point for several points that differ only in their amounts."""
    if solution.count >= count:
        return solution
    points = range(count)
    return replace(
        solution,
        count=count,
        methods=[*solution.methods] * count,
        errors=dict.fromkeys(points, solution.errors[0]) if solution.errors else {},
        refused=frozenset(points) if solution.refused else frozenset(),
        checks=dict.fromkeys(points, solution.checks[0]) if solution.checks else {},
        detail=lambda index: (solution, 0),
    )
