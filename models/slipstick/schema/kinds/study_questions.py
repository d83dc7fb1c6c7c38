"""The questions about what is to come, and about what would help: project, seek, sample, rank."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from slipstick.expression.dimension import COUNT
from slipstick.schema.kinds.distribution import DistributionSpec
from slipstick.schema.kinds.quantity import Factor, Given, Quantity
from slipstick.schema.kinds.spec import Name, Note, Spec, broken_rule
from slipstick.schema.kinds.study_parts import Axis, Column, Fraction, Path, Settings
from slipstick.schema.kinds.trend import Year

__all__ = ["ChangeSpec", "ProjectSpec", "RankSpec", "SampleSpec", "SeekSpec"]

YEAR = "year"
"""What a study varies along a trend."""

Cost = Annotated[Given, Quantity(COUNT)]
Band = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.999)]
Samples = Annotated[int, Field(ge=0, le=2**20)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
_BAND = Given(0.9, COUNT, "90%")


def _power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


class ChangeSpec(Spec):
    """A change that could be made: values that become others, or a multiple of what they are."""

    values: Settings = Field(default_factory=dict, alias="set", description="values by path")
    times: dict[Path, Factor] = Field(
        default_factory=dict,
        description="factors by path, on whatever there is; a class of cost has 1 if nothing is said",
    )
    cost: Cost | None = Field(None, description="what it costs, in the unit of the budget")

    @model_validator(mode="after")
    def _changes_something(self) -> ChangeSpec:
        if not (self.values or self.times):
            raise broken_rule("a change needs something to change: set or times")
        return self


class RankSpec(Spec):
    """What would help most."""

    cases: list[Name] = Field(["base"], description="the cases to rank for", min_length=1)
    change: Fraction = Field(Given(0.5, COUNT, "50%"), description="how much less of each quantity, such as 50%")
    of: list[Note] = Field(
        default_factory=list, description="paths to rank; all that matter by default, none beside changes"
    )
    most: int = Field(12, description="how many to show", ge=1, le=1000)
    under: list[Note] = Field(
        default_factory=list, description="technologies to rank under as well, beside the case as it is"
    )
    changes: dict[Name, ChangeSpec] = Field(
        default_factory=dict, description="changes by name: what each does to the overhead"
    )
    budget: Cost | None = Field(
        None, description="what a pair of changes may cost together; with it, each pair is tried"
    )

    @model_validator(mode="after")
    def _costs_known(self) -> RankSpec:
        if self.budget is None:
            return self
        if len(self.changes) < 2:
            raise broken_rule("a budget is for a pair of changes; name at least two under changes", "budget")
        for name, each in self.changes.items():
            if each.cost is None:
                raise broken_rule(f"{name} needs a cost, for there is a budget", "changes", name)
        return self


class ProjectSpec(Spec):
    """Years ahead, along one or several trends."""

    trends: list[Note] = Field(description="trends: names in the catalogue, or files", min_length=1)
    base_year: Year = Field(description="year that the values of the cases are of")
    years: Axis | None = Field(None, description="years to give answers for, rising")
    factors: Axis | None = Field(
        None, description="how many times faster processors are than in the base year, rising; in place of years"
    )
    cases: list[Name] = Field(["base"], description="the cases to project", min_length=1)
    watch: list[Note] = Field(
        default_factory=list, description="conditions on answers, such as efficiency >= 0.5: when does each hold?"
    )
    samples: Samples = Field(256, description="draws of the uncertain rates, a power of two; 0 for no band")
    band: Band = Field(_BAND, description="part of the draws that the band holds, in the middle")
    seed: Seed = Field(0, description="key of the random streams")

    @model_validator(mode="after")
    def _along_one(self) -> ProjectSpec:
        if (self.years is None) == (self.factors is None):
            raise broken_rule("give years, or factors of the processors in their place", "trends")
        if self.factors is not None and len(self.trends) > 1:
            why = "processors come to a factor in another year along each trend; with factors, project along one"
            raise broken_rule(why, "trends")
        return self

    @model_validator(mode="after")
    def _even(self) -> ProjectSpec:
        if not _power_of_two(self.samples):
            raise broken_rule(
                f"quasi-random draws come in powers of two; write 256 or 512, not {self.samples}", "samples"
            )
        return self


class SeekSpec(Spec):
    """Where a condition on answers starts or stops holding along one parameter, or along a trend."""

    of: Path = Field(description="path of the parameter, or year")
    first: Any = Field(alias="from", description="where to begin, with its unit")
    to: Any = Field(description="where to end, with its unit")
    where: Note = Field(
        description="the condition, such as efficiency >= 0.6; own.efficiency is the case's, base.efficiency the base's"
    )
    step: Any = Field(None, description="look at single values only, so far apart; for what must be whole")
    points: int = Field(129, description="how many places to look at before closing in", ge=2, le=100_000)
    spacing: Literal["linear", "geometric"] = Field("linear", description="how the places are spread")
    trend: Note = Field("", description="the trend that the years go along")
    base_year: Year | None = Field(None, description="year that the values of the cases are of")
    cases: list[Name] = Field(["base"], description="the cases to look at", min_length=1)

    @model_validator(mode="after")
    def _along_a_trend(self) -> SeekSpec:
        along = self.of == YEAR
        if along and not (self.trend and self.base_year is not None):
            raise broken_rule("the year needs trend and base_year beside it", "of")
        if not along and (self.trend or self.base_year is not None):
            raise broken_rule(f"trend and base_year go with of: year, not with {self.of}", "of")
        return self


class SampleSpec(Spec):
    """What uncertain quantities make of the answers."""

    of: dict[Path, DistributionSpec] = Field(
        description="distributions by path, independent of one another", min_length=1
    )
    cases: list[Name] = Field(["base"], description="the cases to sample", min_length=1)
    answer: list[Column] = Field(default_factory=list, description="values to look at; by default those of the study")
    samples: int = Field(1024, description="how many points, a power of two", ge=16, le=2**20)
    band: Band = Field(_BAND, description="part of the points between the outer quantiles")
    draw: Literal["quasi-random", "random"] = Field("quasi-random", description="how points are drawn")
    indices: bool = Field(True, description="say how much of the variance each quantity causes")
    seed: Seed = Field(0, description="key of the random streams")

    @model_validator(mode="after")
    def _even(self) -> SampleSpec:
        if not _power_of_two(self.samples):
            why = f"points come in powers of two; write 512 or 1024, not {self.samples}"
            raise broken_rule(why, "samples")
        return self
