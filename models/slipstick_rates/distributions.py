"""Distributions of uncertain quantities in files."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning
from slipstick.expression.nodes import COUNT, Dimension
from slipstick.schema.kinds.constraints import Note, broken_rule
from slipstick.schema.kinds.quantity import Given, Quantity, Spec
from slipstick.schema.kinds.technology import AnyValue

if TYPE_CHECKING:
    from slipstick.model.uncertainty import Uncertainty

Weight = Annotated[Given, Quantity(COUNT, least=None, above=0.0)]
Spread = Annotated[Given, Quantity(COUNT)]


class Uncertain(Spec):
    """Base class of the specs of distributions: their common fields, and the checks that all
    share.
    """

    source: Note = Field("", description="source of the value: a key of sources, or a text")
    assumed: bool = Field(False, description="whether it is a guess")

    def check_rules(self) -> None:
        """Raise if the values of a distribution have different dimensions."""
        quantities_given = quantities(self)
        for key, quantity_given in quantities_given.items():
            name_of_first_quantity = next(iter(quantities_given.values()))
            if quantity_given.dimension != name_of_first_quantity.dimension:
                message = (
                    f"a [{quantity_given.dimension}] does not go with a"
                    f" [{name_of_first_quantity.dimension}]"
                )
                raise broken_rule(message, *key)

    @property
    def dimension(self) -> Dimension:
        """The dimension of the values."""
        return next(iter(quantities(self).values())).dimension


def quantities(spec: Uncertain) -> dict[tuple[str | int, ...], Given]:
    """Return the quantities of a distribution that must have the same dimension, by the place of
    their key.
    """
    quantity_by_key: dict[tuple[str | int, ...], Given] = {}
    for field_name, field in type(spec).model_fields.items():
        value: Any = getattr(spec, field_name)
        key = field.alias or field_name
        if isinstance(value, Given) and key != "spread":
            quantity_by_key[(key,)] = value
        elif key == "values":
            quantity_by_key.update({(key, index): quantity for index, quantity in enumerate(value)})
    return quantity_by_key


class NormalSpec(Uncertain):
    """A normal distribution."""

    distribution: Literal["normal"] = Field(description="normal")
    mean: AnyValue = Field(description="mean")
    deviation: AnyValue = Field(description="standard deviation, in the unit of the mean")

    def check_rules(self) -> None:
        """Raise if the standard deviation is below 0."""
        super().check_rules()
        if self.deviation.value < 0:
            raise broken_rule(f"must be at least 0, got {self.deviation.text}", "deviation")


class LognormalSpec(Uncertain):
    """A lognormal distribution: random factors on a median."""

    distribution: Literal["lognormal"] = Field(description="lognormal; values are never negative")
    median: AnyValue = Field(description="median")
    spread: Spread = Field(
        description=KeyMeaning.of(
            "standard deviation of the natural logarithm", "10% is about a tenth of the median"
        )
    )

    def check_rules(self) -> None:
        """Raise if the median is not above 0."""
        super().check_rules()
        if not self.median.value > 0:
            raise broken_rule(
                f"a lognormal quantity is more than 0, got {self.median.text}", "median"
            )


class UniformSpec(Uncertain):
    """A uniform distribution between two values."""

    distribution: Literal["uniform"] = Field(description="uniform")
    low: AnyValue = Field(alias="from", description="smallest value")
    to: AnyValue = Field(description="largest value")

    def check_rules(self) -> None:
        """Raise if the largest value is below the smallest one."""
        super().check_rules()
        if self.to.value < self.low.value:
            raise broken_rule(
                f"to must be at least from, got {self.to.text} after {self.low.text}", "to"
            )


class TriangularSpec(Uncertain):
    """A triangular distribution between two values, with its maximum at the mode."""

    distribution: Literal["triangular"] = Field(description="triangular")
    low: AnyValue = Field(alias="from", description="smallest value")
    mode: AnyValue = Field(description="most likely value")
    to: AnyValue = Field(description="largest value")

    def check_rules(self) -> None:
        """Raise if the mode is not between the smallest and the largest value."""
        super().check_rules()
        if not self.low.value <= self.mode.value <= self.to.value:
            message = f"the mode must lie between from and to, got {self.mode.text}"
            raise broken_rule(message, "mode")


class DiscreteSpec(Uncertain):
    """A distribution over several possible values."""

    distribution: Literal["discrete"] = Field(description="one of several values")
    values: list[AnyValue] = Field(description="the values", min_length=1)
    weights: list[Weight] | None = Field(
        None, description=KeyMeaning.of("relative probability of each value", "equal by default")
    )

    def check_rules(self) -> None:
        """Raise if the numbers of values and of weights differ."""
        super().check_rules()
        if self.weights is not None and len(self.weights) != len(self.values):
            message = (
                f"one weight for each of the {len(self.values)} values is needed, got"
                f" {len(self.weights)}"
            )
            raise broken_rule(message, "weights")


DistributionSpec = Annotated[
    NormalSpec | LognormalSpec | UniformSpec | TriangularSpec | DiscreteSpec,
    Field(discriminator="distribution"),
]


def distribution_of(spec: Uncertain) -> "Uncertainty":
    """Return the distribution that a checked spec describes, with its values in base units."""
    # Distributions are drawn from with NumPy, which a check of the file does not need.
    from slipstick.model.uncertainty import Uncertainty

    match spec:
        case NormalSpec():
            return Uncertainty("normal", spec.mean.value, spec.deviation.value)
        case LognormalSpec():
            return Uncertainty("lognormal", spec.median.value, spec.spread.value)
        case UniformSpec():
            return Uncertainty("uniform", spec.low.value, spec.to.value)
        case TriangularSpec():
            return Uncertainty("triangular", spec.low.value, spec.mode.value, spec.to.value)
        case DiscreteSpec():
            weights = (
                [weight.value for weight in spec.weights]
                if spec.weights
                else [1.0] * len(spec.values)
            )
            return Uncertainty("discrete", [value.value for value in spec.values], weights)
    raise TypeError(spec)
