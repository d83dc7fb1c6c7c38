"""Specs of what a study asks of the years ahead and of uncertain quantities, and its pictures."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstick.expression.nodes import COUNT
from slipstick.schema.kinds.constraints import Name, Note, broken_rule
from slipstick.schema.kinds.quantity import Given, Quantity, Spec, Year
from slipstick.schema.kinds.study import (
    AxisValues,
    Column,
    DistinctColumns,
    DistinctNames,
    DistinctNotes,
    Drawn,
    Path,
    QuestionKey,
    QuestionSpec,
    Seed,
)
from slipstick_rates.distributions import DistributionSpec

Band = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.999)]
Samples = Annotated[int, Field(ge=0, le=2**20)]
_BAND = Given(0.9, COUNT, "90%")


def _power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


class WatchSpec(Spec):
    """A condition on answers, and what a sentence calls it."""

    that: Note = Field(description="the condition")
    says: Note = Field(description="what the report calls it")


class ProjectSpec(QuestionSpec):
    """Years ahead, along one or several trends."""

    trends: DistinctNotes = Field(
        description="trends: names in the catalogue, or files", min_length=1
    )
    base_year: Year | None = Field(
        None,
        description=(
            "year that the values of the cases are of; by default each case starts in the year of"
            " its machine"
        ),
    )
    as_of: Year | None = Field(
        None, description="use only points of series that were known in that year"
    )
    years: AxisValues | None = Field(None, description="years to give answers for, rising")
    factors: AxisValues | None = Field(
        None,
        description=(
            "how many times faster processors are than in the base year, rising; in place of years"
        ),
    )
    cases: DistinctNames = Field([], description="the cases to project; all by default")
    watch: list[Note | WatchSpec] = Field(
        [],
        description=(
            "conditions on answers, such as efficiency >= 0.5, or with that and says: when does"
            " each hold? parameters.NAME is the value of a parameter of the model, in the year"
            " where it follows a series"
        ),
    )
    samples: Samples = Field(
        256, description="draws of the uncertain rates, a power of two; 0 for no band"
    )
    band: Band = Field(_BAND, description="part of the draws that the band holds, in the middle")
    seed: Seed = Field(0, description="key of the random streams")

    def check_rules(self) -> None:
        if (self.years is None) == (self.factors is None):
            raise broken_rule("give years, or factors of the processors in their place", "trends")
        if self.factors is not None and len(self.trends) > 1:
            message = (
                "processors come to a factor in another year along each trend; with factors,"
                " project along one"
            )
            raise broken_rule(message, "trends")
        if not _power_of_two(self.samples):
            raise broken_rule(
                f"quasi-random draws come in powers of two; write 256 or 512, not {self.samples}",
                "samples",
            )


class SampleSpec(QuestionSpec):
    """What uncertain quantities make of the answers."""

    of: dict[Path, DistributionSpec] = Field(
        description="distributions by path, independent of one another", min_length=1
    )
    cases: DistinctNames = Field(["base"], description="the cases to sample", min_length=1)
    answer: DistinctColumns = Field(
        [], description="values to look at; by default those of the study"
    )
    samples: int = Field(1024, description="how many points, a power of two", ge=16, le=2**20)
    band: Band = Field(_BAND, description="part of the points between the outer quantiles")
    draw: Literal["quasi-random", "random"] = Field(
        "quasi-random", description="how points are drawn"
    )
    indices: bool = Field(True, description="say how much of the variance each quantity causes")
    seed: Seed = Field(0, description="key of the random streams")

    def check_rules(self) -> None:
        if not _power_of_two(self.samples):
            why = f"points come in powers of two; write 512 or 1024, not {self.samples}"
            raise broken_rule(why, "samples")


class ProjectionPictureSpec(Drawn):
    """Values over the years of a projection."""

    question: ClassVar[str] = "project"
    kind: Literal["projection"] = Field(description="values over the years, with their bands")
    y: DistinctColumns = Field(description="values to draw", min_length=1)
    log: Literal["none", "y"] = Field("none", description="logarithmic vertical axis")


class SharesPictureSpec(Drawn):
    """Where the time of a case goes over the years."""

    question: ClassVar[str] = "project"
    kind: Literal["shares"] = Field(
        description="the part of the time that each class of cost takes over the years, with bands"
    )
    cases: DistinctNames = Field([], description="a panel for each; all of project by default")


class RatesPictureSpec(Drawn):
    """The points of series, and the rates that are fitted to them."""

    question: ClassVar[str] = "project"
    kind: Literal["rates"] = Field(
        description="the points of the series that a projection uses, with level and band"
    )


class HistogramSpec(Drawn):
    """How a sampled value is distributed."""

    question: ClassVar[str] = "sample"
    kind: Literal["histogram"] = Field(description="how a sampled value is distributed")
    value: Column = Field(description="the value, one that sample answers")
    case: Name = Field("base", description="the case to draw, one that sample names")


PROJECT = QuestionKey(
    ProjectSpec | None,
    Field(None, description="years ahead, along trends"),
    "slipstick_trends.project:read",
    (ProjectionPictureSpec, RatesPictureSpec, SharesPictureSpec),
    position=40,
)
SAMPLE = QuestionKey(
    SampleSpec | None,
    Field(None, description="what uncertain quantities make of the answers"),
    "slipstick_trends.sample:read",
    (HistogramSpec,),
    position=70,
)
