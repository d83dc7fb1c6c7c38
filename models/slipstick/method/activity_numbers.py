"""Checks of the numbers of an activity for mean value and the Markov chain: of counts, times and
probabilities at many points, and of values that are set after a model is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.late import NDArray, np
from slipstick.model.activity import (
    Ask,
    Attempt,
    BarrierWait,
    Choice,
    EarlyReply,
    Fork,
    Hold,
    Pick,
    Pipeline,
    Repeat,
    SignalUnit,
    Step,
    Then,
    WaitUnit,
)
from slipstick.model.steps import (
    MET,
    ONCE,
    Activity,
    ByState,
    Combination,
    NumberRange,
    distinct_activities,
    no_rule_error,
    steps,
)
from slipstick.model.system import Model, is_processor
from slipstick.random_times import (
    Array,
    sum_of_columns,
)
from slipstick.structure.visits import Numbers
from slipstick.vocabulary import MEAN_VALUE

SetValues = Mapping[str, "NDArray[np.float64] | float"]
"""Values that replace those of a model, by path."""

MOST_PROCESSORS = 1_000_000
"""The largest number of processors that mean value accepts. Above `MOST_ONE_BY_ONE` its recursion
does not begin at one processor, but at a fixed point.
"""


def reasons_not_whole(
    processor_counts: Array,
    number_in_words: str,
    least_count: int = 1,
    most_count: int = MOST_PROCESSORS,
    method: str = MEAN_VALUE,
) -> dict[int, str]:
    """Return, by the index of the point, why a number of processors is refused there. Points with a
    whole number within the limits are left out.
    """
    real_counts = processor_counts.real
    # A computed number may miss a whole one by rounding.
    is_uncountable = ~(
        (real_counts >= least_count)
        & (real_counts <= most_count)
        & (np.abs(real_counts - np.rint(real_counts)) <= 1e-9)
    )
    return {
        int(point_index): (
            f"{method} counts processors one by one: {number_in_words} must be a whole number from"
            f" {least_count} to {most_count:,}, got {real_counts[point_index]:g}"
        )
        for point_index in np.flatnonzero(is_uncountable)
    }


KINDS: frozenset[type[Activity]] = frozenset(
    [
        *(Step, Then, Fork, Choice, Repeat, Hold, Pipeline, BarrierWait),
        *(WaitUnit, SignalUnit, Ask, Attempt, Pick, EarlyReply),
    ]
)
"""The kinds of steps that mean value or the Markov chain has a rule for."""

LONGEST_TIME = 1e150
"""The longest time that is accepted: its square is still a finite floating-point number [s]."""

MOST_COUNTED = 2.0**53
"""The largest count that is accepted: up to it every whole number is a floating-point number [1].
"""


def reasons_out_of_range(
    model: Model, value_by_expr: Numbers, method: str = MEAN_VALUE
) -> dict[int, str]:
    """Return, by the index of the point, a sentence on the first time, count or probability that is
    out of range.
    """
    reason_by_point: dict[int, str] = {}
    for number_range in _number_ranges(model, method):
        column = value_by_expr[number_range.quantity].real
        # Variances need squares of times, and a count beyond 2^53 has no next whole number.
        largest_number = (
            LONGEST_TIME if number_range.quantity.dimension.time_power else MOST_COUNTED
        )
        is_in_range = (
            (column >= 0) & (column <= min(number_range.most, largest_number)) & np.isfinite(column)
        )
        if number_range.excludes_least:
            is_in_range &= column > number_range.least
        for point_index in np.flatnonzero(~is_in_range):
            reason_by_point.setdefault(
                int(point_index),
                f"{number_range.name_in_words} comes out as {column[point_index]:g}, which {method}"
                " cannot take",
            )
    for node in (node for body in model.bodies for node in steps(body)):
        for count_expr in _rounds_with_barriers(node):
            column = value_by_expr[count_expr].real
            for point_index in np.flatnonzero(column < 1):
                reason = (
                    f"a {node.kind} with a barrier inside must be done at least once for {method},"
                    f" got {column[point_index]:g}"
                )
                reason_by_point.setdefault(int(point_index), reason)
        if node.probabilities:
            probability_sums = sum_of_columns(
                value_by_expr[probability].real for probability in node.probabilities
            )
            # Probabilities that were computed miss 1 by rounding, which is no mistake of the user.
            for point_index in np.flatnonzero(~np.isclose(probability_sums, 1.0, rtol=1e-9)):
                reason = (
                    f"the probabilities of a {node.kind} add up to"
                    f" {probability_sums[point_index]:g}"
                    " here, not to 1"
                )
                reason_by_point.setdefault(int(point_index), reason)
    return reason_by_point


def _number_ranges(model: Model, method: str) -> Iterator[NumberRange]:
    """Yield the numbers of activities and of the resources that these use, each with its range; the
    number of processors is checked by `reasons_not_whole`.
    """
    counts = model.population.processor_counts
    yield from (
        number_range
        for number_range in model.population.ranges
        if number_range.quantity not in counts
    )
    for node in (node for body in model.bodies for node in steps(body)):
        if type(node) not in KINDS:
            raise no_rule_error(method, node)
        yield from node.ranges
        for resource_name in node.uses:
            yield from (
                ()
                if is_processor(resource_name)
                else model.resources[resource_name].ranges(resource_name)
            )


def _rounds_with_barriers(node: Activity) -> Iterator[Expr]:
    """Yield the number of executions of each child that contains a barrier, for a node whose
    children are executed in turn.
    """
    if not node.probabilities and node.combination is Combination.IN_TURN:
        for executions, child in zip(node.executions, node.children, strict=True):
            if isinstance(executions, ByState) or executions is ONCE:
                continue
            if any(inner_node.use == MET for inner_node in steps(child)):
                yield executions


def check_values(model: Model, values: SetValues) -> None:
    """Raise if a value set for a parameter of a built model lies outside its range.

    Parameters
    ----------
    model : the model
    values : numbers or arrays by path, in base units

    Raises
    ------
    ModelError : a value is not one that the model could have been built with

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> check_values(closed_model(delay(1.0)), {"population.processors": 2.5})
    Traceback (most recent call last):
        ...
    slipstick.errors.ModelError: population.processors must be a whole number of at least 1, got 2.5
    """
    nodes = list(distinct_activities(model.bodies))
    ranges_of_resources = (
        number_range
        for name, resource in model.resources.items()
        for number_range in resource.ranges(name)
    )
    ranges_of_steps = (number_range for node in nodes for number_range in node.ranges)
    for number_range in (*model.population.ranges, *ranges_of_steps, *ranges_of_resources):
        quantity = number_range.quantity
        if isinstance(quantity, Parameter) and quantity.name in values:
            _check_value_range(number_range, quantity.name, values[quantity.name])
    for parameter_name, parameter in model.parameters.items():
        if parameter_name in values and parameter.dimension.time_power:
            _check_value_range(
                NumberRange(parameter_name, parameter), parameter_name, values[parameter_name]
            )
    for node in nodes:
        _check_probability_sum(node.probabilities, values)


def _check_value_range(
    number_range: NumberRange, parameter_name: str, set_value: NDArray[np.float64] | float
) -> None:
    """Raise if a value that is set for a parameter lies outside the range of the parameter."""
    set_numbers = np.atleast_1d(set_value)
    is_outside = ~((set_numbers >= number_range.least) & (set_numbers <= number_range.most))
    if number_range.excludes_least:
        is_outside |= set_numbers == number_range.least
    if number_range.is_whole:
        is_outside |= set_numbers != np.floor(set_numbers)
    if is_outside.any():
        noun = "a whole number" if number_range.is_whole else "a number"
        range_in_words = f"from {number_range.least:g} to {number_range.most:g}"
        if number_range.most == float("inf"):
            range_in_words = (
                f"{'above' if number_range.excludes_least else 'of at least'}"
                f" {number_range.least:g}"
            )
        raise ModelError(
            f"{parameter_name} must be {noun} {range_in_words}, got {set_numbers[is_outside][0]:g}"
        )


def _check_probability_sum(probability_exprs: Sequence[Expr], values: SetValues) -> None:
    """Raise if the probabilities of a choice do not add up to 1, where one of them is set and all
    are known.
    """
    probability_values: list[NDArray[np.float64] | float | None] = []
    parameter_names = [
        probability_expr.name
        for probability_expr in probability_exprs
        if isinstance(probability_expr, Parameter)
    ]
    for probability_expr in probability_exprs:
        if isinstance(probability_expr, Parameter):
            probability_values.append(values.get(probability_expr.name, probability_expr.value))
        else:
            probability_values.append(
                probability_expr.value if isinstance(probability_expr, Number) else None
            )
    # A computed probability is known only at a point, so that its sum is checked there.
    known_probabilities = [
        np.asarray(probability, dtype=np.float64)
        for probability in probability_values
        if probability is not None
    ]
    if len(known_probabilities) < len(probability_values) or not any(
        parameter_name in values for parameter_name in parameter_names
    ):
        return
    probability_sums = np.atleast_1d(sum(known_probabilities))
    # Decimals such as 0.1 add up to 1 within a few 1e-16; 1e-9 lets sums of thousands pass.
    is_not_one = ~np.isclose(probability_sums, 1.0, rtol=1e-9, atol=0.0)
    if is_not_one.any():
        raise ModelError(
            f"the probabilities of choose, {', '.join(parameter_names)}, must add up to 1, got"
            f" {probability_sums[is_not_one][0]:g}"
        )
