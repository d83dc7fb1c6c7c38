"""Amounts of answers, such as a cost or an energy: numbers that a model defines by expressions of
its parameters and of the values of its answers. They are computed from the values that any method
gives, so that no method needs a rule for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from slipstick.answer import DeferredShares
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Columns, Tape, Values, count_of_points, selected_values
from slipstick.late import Array, dataclass, np, replace
from slipstick.method.answers import Gradient, Solution, value_at
from slipstick.model.amounts import answer_parameter_names, answer_value
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model


def amounts_and_half_widths(
    tape: Tape, fixed_values: Values, mean_by_parameter: Columns, half_width_by_parameter: Columns
) -> tuple[list[Array], list[Array]]:
    """Compute amounts at the means of the values that they depend on, and the half-widths of the
    intervals of the amounts [points].

    Half-widths of the means add up by their squares, to first order: means of one run depend on
    each other, which is left out.

    Parameters
    ----------
    tape : of the amounts
    fixed_values : parameters that differ from the model's own
    mean_by_parameter : by the parameter that stands for each
    half_width_by_parameter : of some of them; others are known without an error
    """

    def amounts_at(parameter_columns: Mapping[str, Array]) -> list[Array]:
        return tape.run(selected_values({**fixed_values, **parameter_columns}, tape.parameters))

    amounts_at_means = amounts_at(mean_by_parameter)
    squared_half_widths = [np.zeros(1) for _ in amounts_at_means]
    for parameter_name, half_width in half_width_by_parameter.items():
        # Each value is moved to the end of its interval, all others stay at their means.
        amounts_at_ends = amounts_at(
            {**mean_by_parameter, parameter_name: mean_by_parameter[parameter_name] + half_width}
        )
        squared_half_widths = [
            squared_half_width + (amount_at_end - amount_at_mean) ** 2
            for squared_half_width, amount_at_end, amount_at_mean in zip(
                squared_half_widths, amounts_at_ends, amounts_at_means, strict=True
            )
        ]
    return amounts_at_means, [
        np.sqrt(squared_half_width) for squared_half_width in squared_half_widths
    ]


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
        """Names of the parameters that amounts depend on, in addition to values of the answer."""
        return tuple(self.model.parameters)

    @cached_property
    def _parameters_of_solution(self) -> frozenset[str]:
        """Names of the parameters that the solution itself depends on, amounts left out."""
        return frozenset(replace(self.model, amounts={}).parameters)

    def values_for_solution(self, values: Values) -> Values:
        """Return the parameter values that a solution needs: all but those that only amounts
        use.
        """
        # Points that differ in prices alone then share one solution.
        parameters_of_amounts_only = set(self.parameters) - self._parameters_of_solution
        return {
            name: value for name, value in values.items() if name not in parameters_of_amounts_only
        }

    def with_amounts(self, solution: Solution, values: Values) -> Solution:
        """Add to a solution the amounts that can be computed from its values.

        Parameters
        ----------
        solution : what a method found
        values : of the parameters at its points
        """
        solution = _solution_for_each_point(solution, count_of_points(values))
        value_name_by_parameter = {
            answer_value(value_name).name: value_name for value_name in solution.values
        }
        computable_amounts = {
            name: amount
            for name, amount in self.model.amounts.items()
            if answer_parameter_names(amount) <= value_name_by_parameter.keys()
        }
        detail_without_amounts = solution.detail

        def detail_with_amounts(index: int) -> tuple[Solution, int]:
            """Return the solution that holds the whole answer of a point, with its amounts, and the
            index of the point there.
            """
            assert detail_without_amounts is not None
            solution_of_point, inner_index = detail_without_amounts(index)
            point_values = {
                parameter_name: np.atleast_1d(value)[index if np.size(value) > 1 else 0]
                for parameter_name, value in values.items()
            }
            return self.with_amounts(solution_of_point, point_values), inner_index

        solution = (
            solution
            if detail_without_amounts is None
            else replace(solution, detail=detail_with_amounts)
        )
        return (
            self._with_values(solution, values, value_name_by_parameter, computable_amounts)
            if computable_amounts
            else solution
        )

    def _with_values(
        self,
        solution: Solution,
        values: Values,
        value_name_by_parameter: Mapping[str, str],
        computable_amounts: Mapping[str, Expr],
    ) -> Solution:
        """Add the columns of amounts to a solution, with their intervals or their derivatives."""
        parameters_used = frozenset[str]().union(
            *map(answer_parameter_names, computable_amounts.values())
        )
        mean_by_parameter = {
            parameter_name: solution.values[value_name_by_parameter[parameter_name]]
            for parameter_name in parameters_used
        }
        half_width_by_parameter = {
            parameter_name: (
                solution.high[value_name_by_parameter[parameter_name]]
                - solution.low[value_name_by_parameter[parameter_name]]
            )
            / 2
            for parameter_name in parameters_used
            if value_name_by_parameter[parameter_name] in solution.low
            and value_name_by_parameter[parameter_name] in solution.high
        }
        amounts_at_means, half_widths_of_amounts = amounts_and_half_widths(
            Tape(list(computable_amounts.values())),
            values,
            mean_by_parameter,
            half_width_by_parameter,
        )
        # An amount of constants alone has no meaning at a point without an answer.
        zero_or_nan = np.where(
            np.isnan(solution.values.get(self.quantity, np.zeros(1))), np.nan, 0.0
        )
        column_by_amount = {
            f"amount[{amount_name}]": column + zero_or_nan
            for amount_name, column in zip(computable_amounts, amounts_at_means, strict=True)
        }
        solution = replace(solution, values={**solution.values, **column_by_amount})
        if not solution.low:
            return self._with_derivatives_of_amounts(solution, values, tuple(column_by_amount))
        half_width_by_column = dict(zip(column_by_amount, half_widths_of_amounts, strict=True))
        return replace(
            solution,
            low={
                **solution.low,
                **{
                    column_name: column_by_amount[column_name] - half_width_by_column[column_name]
                    for column_name in column_by_amount
                },
            },
            high={
                **solution.high,
                **{
                    column_name: column_by_amount[column_name] + half_width_by_column[column_name]
                    for column_name in column_by_amount
                },
            },
        )

    def _with_derivatives_of_amounts(
        self, solution: Solution, values: Values, amount_column_names: Sequence[str]
    ) -> Solution:
        """Add the derivatives of amounts to the derivatives of a solution. They are differences,
        and are computed when they are read. Estimates get none, because differences of estimates
        are noise.
        """
        gradient_of_values = solution.gradient
        if gradient_of_values is None:
            return solution
        own_values_of_amounts = {
            name: parameter.value
            for name, parameter in self.model.parameters.items()
            if name not in self._parameters_of_solution
        }

        def gradient(index: int) -> Gradient:
            """Return the derivatives of values and amounts at one point."""
            inner_gradient = gradient_of_values(index)
            point_values = {
                name: value_at(values, name, index, own_value)
                for name, own_value in {
                    **own_values_of_amounts,
                    **inner_gradient.point_values,
                }.items()
            }

            def slopes() -> dict[str, Mapping[str, float]]:
                """Compute the derivatives by value and parameter; the derivatives of amounts are
                differences.
                """
                slopes_by_value = {**inner_gradient.slopes}
                parameter_names = {
                    parameter_name
                    for slope_by_parameter in slopes_by_value.values()
                    for parameter_name in slope_by_parameter
                } | own_values_of_amounts.keys()
                # A parameter of 0 has no share, because shares are relative to it.
                moved_parameters = [
                    parameter_name
                    for parameter_name in point_values
                    if parameter_name in parameter_names and point_values[parameter_name] > 0
                ]
                point_columns = {
                    parameter_name: np.atleast_1d(parameter_value)
                    for parameter_name, parameter_value in point_values.items()
                }
                slopes_by_column = self.slopes(point_columns, moved_parameters, amount_column_names)
                slopes_by_amount = {
                    column_name: {
                        parameter_name: float(slope[0])
                        for parameter_name, slope in slope_by_parameter.items()
                    }
                    for column_name, (_, slope_by_parameter) in slopes_by_column.items()
                }
                return {**slopes_by_value, **slopes_by_amount}

            solving_seconds = getattr(inner_gradient.slopes, "seconds", 0.0)
            parameters = {**self.model.parameters, **inner_gradient.parameters}
            return replace(
                inner_gradient,
                slopes=DeferredShares(slopes, 2 * solving_seconds),
                point_values=point_values,
                parameters=parameters,
                plain_values=frozenset(amount_column_names),
            )

        return replace(solution, gradient=gradient)


def _solution_for_each_point(solution: Solution, point_count: int) -> Solution:
    """Repeat the solution of one point for several points that differ only in their amounts."""
    if solution.count >= point_count:
        return solution
    point_indexes = range(point_count)
    return replace(
        solution,
        count=point_count,
        methods=[*solution.methods] * point_count,
        errors=dict.fromkeys(point_indexes, solution.errors[0]) if solution.errors else {},
        refused_points=frozenset(point_indexes) if solution.refused_points else frozenset(),
        checks=dict.fromkeys(point_indexes, solution.checks[0]) if solution.checks else {},
        detail=lambda index: (solution, 0),
    )
