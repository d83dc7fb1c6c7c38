"""What several parts of a study spec are made of: ranges, names of values, fractions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from slipstick.expression.dimension import COUNT
from slipstick.schema.kinds.quantity import Given, Quantity
from slipstick.schema.kinds.spec import SPELT, Spec, broken_rule

__all__ = ["RANGE", "Axis", "AxisSpec", "Cell", "Column", "Fraction", "Path", "Settings", "axis_kind"]

Settings = dict[Annotated[str, StringConstraints(max_length=256)], Any]
"""Values by path; each is checked where it is used, like a written one."""

_COLUMN = r"^[a-z_]+(\[[A-Za-z0-9_.:,-]+\])?$"
SPELT[_COLUMN] = "write a value as answers name it, such as time or account[lock]"

Column = Annotated[str, StringConstraints(pattern=_COLUMN, max_length=128)]
"""A value as answers name it: ``time``, ``account[lock]``, ``step[send.protocol]``."""

Cell = float | None
Fraction = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=1.0)]


Path = Annotated[str, StringConstraints(max_length=256)]
"""A dotted path."""


class AxisSpec(Spec):
    """A range of values; exactly one of step, count and factor says how dense."""

    first: Any = Field(alias="from", description="first value, with its unit")
    to: Any = Field(description="last value, with its unit; included where a step meets it")
    step: Any = Field(None, description="difference between neighbours, with its unit")
    factor: float | None = Field(None, description="ratio of neighbours; 2 doubles", gt=0)
    count: int | None = Field(None, description="how many values", ge=2, le=1_000_000)
    spacing: Literal["linear", "geometric"] = Field("linear", description="how count values are spread")

    @model_validator(mode="after")
    def _one_density(self) -> AxisSpec:
        if sum(each is not None for each in (self.step, self.factor, self.count)) != 1:
            raise broken_rule("a range needs exactly one of step, factor and count")
        if self.factor == 1:
            raise broken_rule("a factor of 1 never arrives; write another")
        return self


RANGE = ("from", "to", "step", "factor", "count", "spacing")
"""The keys of a range."""


def axis_kind(value: Any) -> str | None:
    """Tell a list of values from a range."""
    if isinstance(value, list):
        return "list"
    return "range" if isinstance(value, dict | AxisSpec) else None


Axis = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        axis_kind,
        custom_error_type="axis",
        custom_error_message="write a list of values, or a range: from, to, and one of step, factor and count",
    ),
]
