"""What the numbers of an activity's model may be, where they are set after the model is built.

Constructors check the numbers that they are given; a value by path is put in their place later, and
is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.late import NDArray, np
from slipstick.model.steps import NumberRange, each_once
from slipstick.model.system import Model

Values = Mapping[str, "NDArray[np.float64] | float"]


def check_values(model: Model, values: Values) -> None:
    """Check that values set for parameters of a built model lie in the ranges of these parameters.

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
    nodes = list(each_once(model.bodies))
    for allowed in (*model.population.ranges, *(own for node in nodes for own in node.ranges)):
        quantity = allowed.quantity
        if isinstance(quantity, Parameter) and quantity.name in values:
            _check_range(allowed, quantity.name, values[quantity.name])
    for name, quantity in model.parameters.items():
        if name in values and quantity.dimension.time_power:
            _check_range(NumberRange(name, quantity), name, values[name])
    for node in nodes:
        _check_sum(node.odds, values)


def _check_range(allowed: NumberRange, name: str, value: NDArray[np.float64] | float) -> None:
    numbers = np.atleast_1d(value)
    wrong = ~((numbers >= allowed.least) & (numbers <= allowed.most))
    if allowed.whole:
        wrong |= numbers != np.floor(numbers)
    if wrong.any():
        noun = "a whole number" if allowed.whole else "a number"
        limits = f"from {allowed.least:g} to {allowed.most:g}"
        if allowed.most == float("inf"):
            limits = f"of at least {allowed.least:g}"
        raise ModelError(f"{name} must be {noun} {limits}, got {numbers[wrong][0]:g}")


def _check_sum(odds: Sequence[Expr], values: Values) -> None:
    """Check that probabilities of a choice add up to 1, where one of them is set and all are
    known.
    """
    terms: list[NDArray[np.float64] | float | None] = []
    names = [quantity.name for quantity in odds if isinstance(quantity, Parameter)]
    for quantity in odds:
        if isinstance(quantity, Parameter):
            terms.append(values.get(quantity.name, quantity.value))
        else:
            terms.append(quantity.value if isinstance(quantity, Number) else None)
    known_terms = [np.asarray(term, dtype=np.float64) for term in terms if term is not None]
    if len(known_terms) < len(terms) or not any(name in values for name in names):
        return
    sums = np.atleast_1d(sum(known_terms))
    wrong = ~np.isclose(sums, 1.0, rtol=1e-9, atol=0.0)
    if wrong.any():
        raise ModelError(
            f"the probabilities of choose, {', '.join(names)}, must add up to 1, got"
            f" {sums[wrong][0]:g}"
        )
