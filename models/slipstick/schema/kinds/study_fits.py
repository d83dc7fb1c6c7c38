"""What a study asks of measured runs: accounts of time, and fits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from slipstick.expression.dimension import COUNT
from slipstick.schema.kinds.quantity import Given, Quantity, Time
from slipstick.schema.kinds.spec import Name, Note, Spec, broken_rule
from slipstick.schema.kinds.study_parts import Fraction

__all__ = ["FitSpec", "MadeSpec", "MeasuredSpec", "Processors"]

Noise = Annotated[Given, Quantity(COUNT, least=0.0, most=1.0)]
Processors = Annotated[int, Field(ge=1, le=100_000_000)]


class MeasuredSpec(Spec):
    """Measured runs to account for."""

    data: Note = Field(
        description="a profile or a table of specs/runs by name, or a file of measurements beside the study"
    )
    timer: Time | None = Field(None, description="cost of the timer at each event, contained in the waits")
    statistic: Literal["median", "mean", "min"] = Field("median", description="of repetitions")
    region: Note | None = Field(None, description="part of the program; the whole by default")


class MadeSpec(Spec):
    """Timings made up from a case, to see what fits make of a truth that is known."""

    case: Name = Field(description="the truth")
    population: Note = Field("", description="path of the number of processors, where there are several candidates")
    processors: list[Processors] = Field(description="numbers of processors", min_length=1)
    repetitions: int = Field(3, description="of each", ge=1, le=1000)
    noise: Noise = Field(Given(0.01, COUNT, "1%"), description="standard deviation of the relative error")
    seed: int = Field(1, description="key of the random stream", ge=0)
    cycles: bool = Field(True, description="times are those of a cycle of each processor's own, else of a shared work")


class FitSpec(Spec):
    """Models fitted to measured times."""

    data: Note = Field("", description="a table of specs/runs by name, or a file of measurements beside the study")
    made: MadeSpec | None = Field(None, description="made-up timings instead of data")
    region: Note | None = Field(None, description="part of the program; the whole by default")
    of_size: Annotated[float, Field(gt=0)] | None = Field(
        None, description="size of the problem: take the runs of this size only; all by default"
    )
    families: list[Name] = Field(default_factory=list, description="families to fit; all by default")
    free: list[Note] = Field(
        default_factory=list,
        description="paths of the base that are free, or path=low..high; the fitted values are laid over the base",
    )
    population: Note = Field("", description="path of the base that is the number of processors; found by default")
    size: Note = Field("", description="path of the base that is the size of the problem")
    cycles: int | None = Field(None, description="cycles of the base in the measured work", ge=1)
    at: list[Processors] = Field(default_factory=list, description="processors to predict for")
    efficiency: Fraction = Field(
        Given(0.75, COUNT, "75%"), description="what the most processors keep, and the size needed gives"
    )
    intervals: Literal["profile", "bootstrap"] = Field("profile", description="how sure the fits are said to be")

    @model_validator(mode="after")
    def _one_origin(self) -> FitSpec:
        if bool(self.data) == (self.made is not None):
            raise broken_rule("a fit needs data, or timings made up from a case (made), one of the two", "data")
        if self.made and (self.region is not None or self.of_size is not None):
            raise broken_rule("made-up timings have no regions and one size; leave out region and of_size", "made")
        return self
