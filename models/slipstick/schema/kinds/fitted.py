"""Fits as files: values of parameters, with the covariance of their errors.

Where measurements come from several owners, such as several machines, a parameter has one common
value and, for each owner, an offset from it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slipstick.schema.kinds.constraints import Note, broken_rule
from slipstick.schema.kinds.quantity import Described, Given, Quantity, Spec

AnyQuantity = Annotated[Given, Quantity(None, least=None, above=0.0)]


class FittedValueSpec(Spec):
    """The fitted value of a parameter that is common to all owners, such as machines, with its
    interval.
    """

    value: AnyQuantity = Field(description="the most probable value")
    low: AnyQuantity | None = Field(None, description="lower end of the 90 % interval")
    high: AnyQuantity | None = Field(None, description="upper end of the 90 % interval")


class FittedSpec(Described):
    """Parameters of a model that were fitted to measurements, with their covariance."""

    fitted: Literal[1] = Field(description="version of this format")
    model: Note = Field(description="the model that has the parameters")
    rows: int = Field(0, description="number of measurements used in the fit", ge=0)
    parameters: dict[Note, FittedValueSpec] = Field(
        description="fitted values by path, without the offsets of owners", min_length=1
    )
    unknowns: list[Note] = Field(
        description=(
            "names of the rows of the covariance: paths, then offsets of owners such as 'PATH"
            " machine=NAME'"
        )
    )
    centre: list[float] = Field(
        description=("logarithms of the fitted values, then the offsets of the owners")
    )
    covariance: list[list[float]] = Field(
        description=("covariance matrix of the unknowns, in logarithms")
    )
    spread: dict[Note, float] = Field(
        {}, description="standard deviation of the offsets of new owners, by 'PATH COLUMN'"
    )
    noise: dict[Note, float] = Field(
        {}, description="standard deviation of the logarithm of a measured value"
    )
    widened: float = Field(
        1.0,
        description=(
            "factor by which the standard deviations were increased after a test on groups that"
            " were left out"
        ),
        ge=1,
    )

    def check_rules(self) -> None:
        unknown_count = len(self.unknowns)
        if len(self.centre) != unknown_count:
            raise broken_rule(f"{len(self.centre)} values for {unknown_count} unknowns", "centre")
        row_lengths = {len(row) for row in self.covariance}
        if len(self.covariance) != unknown_count or row_lengths != {unknown_count}:
            raise broken_rule(
                f"write {unknown_count} rows of {unknown_count} numbers", "covariance"
            )
        missing_path = next((path for path in self.parameters if path not in self.unknowns), None)
        if missing_path is not None:
            raise broken_rule(
                f"{missing_path} is not among the unknowns", "parameters", missing_path
            )
