"""What the numbers of an activity's model may be, where they are set after the model is built.

Constructors check the numbers that they are given; a value by path is put in their place later, and
is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.late import NDArray, np
from slipstick.model.activity import Choice, Pipeline, Repeat
from slipstick.model.steps import each_once
from slipstick.model.system import ClosedPopulation, Model, PhasedPopulation, SuperstepPopulation

Values = Mapping[str, "NDArray[np.float64] | float"]


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers that one quantity of a model may be.

    Parameters
    ----------
    quantity : a parameter, or an expression, which is not checked
    least, most : the smallest and the largest [of the quantity]
    whole : only whole numbers
    """

    quantity: Expr
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False

    @property
    def words(self) -> str:
        """Word what the quantity must be."""
        noun = "a whole number" if self.whole else "a number"
        if self.most < float("inf"):
            return f"{noun} from {self.least:g} to {self.most:g}"
        return f"{noun} of at least {self.least:g}"


def check_values(model: Model, values: Values) -> None:
    """Check values that are set of a model that is built already.

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
    for allowed in _ranges(model):
        quantity = allowed.quantity
        if isinstance(quantity, Parameter) and quantity.name in values:
            _check_range(allowed, quantity.name, values[quantity.name])
    for name, quantity in model.parameters.items():
        if name in values and quantity.dimension.time_power:
            _check_range(NumberRange(quantity), name, values[name])
    for node in each_once(model.bodies):
        if isinstance(node, Choice):
            _check_sum(node, values)


def _ranges(model: Model) -> Iterator[NumberRange]:
    """Yield what the counts and probabilities of a model may be."""
    population = model.population
    if isinstance(population, ClosedPopulation):
        for number, group in enumerate(population.groups):
            yield NumberRange(group.processors, 0 if number else 1, whole=True)
    elif isinstance(population, PhasedPopulation):
        for phase in population.phases:
            yield NumberRange(phase.processors, 1, whole=True)
            yield NumberRange(phase.repeat)
    elif isinstance(population, SuperstepPopulation):
        for superstep in population.supersteps:
            yield NumberRange(superstep.repeat)
    for node in each_once(model.bodies):
        if isinstance(node, Repeat):
            yield NumberRange(node.count)
        elif isinstance(node, Pipeline):
            yield NumberRange(node.items, 1, whole=not node.identical)
        elif isinstance(node, Choice):
            yield from (NumberRange(probability, 0, 1) for probability, _ in node.options)


def _check_range(allowed: NumberRange, name: str, value: NDArray[np.float64] | float) -> None:
    numbers = np.atleast_1d(value)
    wrong = ~((numbers >= allowed.least) & (numbers <= allowed.most))
    if allowed.whole:
        wrong |= numbers != np.floor(numbers)
    if wrong.any():
        raise ModelError(f"{name} must be {allowed.words}, got {numbers[wrong][0]:g}")


def _check_sum(choice: Choice, values: Values) -> None:
    """Check that the probabilities of a choice add up to 1, where one of them is set and all are
    known.
    """
    terms: list[NDArray[np.float64] | float | None] = []
    names = [quantity.name for quantity, _ in choice.options if isinstance(quantity, Parameter)]
    for quantity, _ in choice.options:
        if isinstance(quantity, Parameter):
            terms.append(values.get(quantity.name, quantity.value))
        else:
            terms.append(quantity.value if isinstance(quantity, Number) else None)
    known = [np.asarray(term, dtype=np.float64) for term in terms if term is not None]
    if len(known) < len(terms) or not any(name in values for name in names):
        return
    sums = np.atleast_1d(sum(known))
    wrong = ~np.isclose(sums, 1.0, rtol=1e-9, atol=0.0)
    if wrong.any():
        raise ModelError(
            f"the probabilities of choose, {', '.join(names)}, must add up to 1, got"
            f" {sums[wrong][0]:g}"
        )
