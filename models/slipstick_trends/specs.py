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
from slipstick_questions.crossing_years import BAND_OF_RATES, DRAWS_OF_RATES
from slipstick_rates.distributions import DistributionSpec

Band = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.999)]
Samples = Annotated[int, Field(ge=0, le=2**20)]
_BAND = Given(BAND_OF_RATES, COUNT, "90%")


def _is_power_of_two(count: int) -> bool:
    """Return whether a number is a power of two."""
    return count & (count - 1) == 0


class WatchSpec(Spec):
    """A condition on answers, with words for it."""

    that: Note = Field(description="the condition")
    says: Note = Field(description="words for the condition in the report")


class ProjectSpec(QuestionSpec):
    """Answers for future years, along one or several trends."""

    trends: DistinctNotes = Field(
        description="trends: names in the catalogue, or files", min_length=1
    )
    base_year: Year | None = Field(
        None,
        description="year of the values of the cases; by default the year of each machine",
    )
    as_of: Year | None = Field(
        None, description="use only the points of series that were known in this year"
    )
    years: AxisValues | None = Field(
        None,
        description=(
            "years of the answers, in rising order; one year is compared with that of the first"
            " machine"
        ),
    )
    factors: AxisValues | None = Field(
        None,
        description=(
            "factors by which processors are faster than in the base year, in rising order, in"
            " place of years"
        ),
    )
    cases: DistinctNames = Field([], description="names of the cases; by default all")
    watch: list[Note | WatchSpec] = Field(
        [],
        description=(
            "conditions on answers, such as efficiency >= 0.5, or that and says. The report tells"
            " when each is true. parameters.NAME is the value of a parameter in the year"
        ),
    )
    samples: Samples = Field(
        DRAWS_OF_RATES,
        description="number of draws of the uncertain rates, a power of two; 0 for no band",
    )
    band: Band = Field(_BAND, description="fraction of the draws inside the band")
    seed: Seed = Field(0, description="key of the random streams")

    def check_rules(self) -> None:
        """Raise if keys of the projection contradict one another."""
        if (self.years is None) == (self.factors is None):
            raise broken_rule("give years, or factors of the processors in their place", "trends")
        if self.factors is not None and len(self.trends) > 1:
            message = (
                "processors come to a factor in another year along each trend; with factors,"
                " project along one"
            )
            raise broken_rule(message, "trends")
        if not _is_power_of_two(self.samples):
            raise broken_rule(
                f"quasi-random draws come in powers of two; write 256 or 512, not {self.samples}",
                "samples",
            )


class SampleSpec(QuestionSpec):
    """How uncertain quantities spread the answers."""

    of: dict[Path, DistributionSpec] = Field(
        description="independent distributions by path", min_length=1
    )
    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)
    answer: DistinctColumns = Field([], description="values to show; by default those of the study")
    watch: list[Note] = Field(
        [],
        description=(
            "conditions on answers, such as time <= 25 s. The report tells in what part of all"
            " draws each is true; where a resource is saturated, a time exceeds every limit"
        ),
    )
    samples: int = Field(1024, description="number of points, a power of two", ge=16, le=2**20)
    band: Band = Field(_BAND, description="fraction of the points between the outer quantiles")
    draw: Literal["quasi-random", "random"] = Field(
        "quasi-random", description="method of drawing points"
    )
    indices: bool = Field(
        True, description=("whether to compute how much of the variance each quantity causes")
    )
    seed: Seed = Field(0, description="key of the random streams")

    def check_rules(self) -> None:
        """Raise if the number of points does not fit the way of drawing them."""
        if not _is_power_of_two(self.samples):
            reason = f"points come in powers of two; write 512 or 1024, not {self.samples}"
            raise broken_rule(reason, "samples")


class ProjectionPictureSpec(Drawn):
    """A picture of values over the years of a projection."""

    question: ClassVar[str] = "project"
    kind: Literal["projection"] = Field(description="values over the years, with their bands")
    y: DistinctColumns = Field(description="values to draw, such as [time]", min_length=1)
    log: Literal["none", "y"] = Field(
        "none", description=("whether the vertical axis is logarithmic")
    )


class SharesPictureSpec(Drawn):
    """A picture of the shares of the time of a case that its classes of cost take, year by year."""

    question: ClassVar[str] = "project"
    kind: Literal["shares"] = Field(
        description="fraction of the time of each class of cost over the years, with bands"
    )
    cases: DistinctNames = Field(
        [], description=("a panel for each case; by default all cases of project")
    )


class RatesPictureSpec(Drawn):
    """A picture of the points of series, and of the rates fitted to them."""

    question: ClassVar[str] = "project"
    kind: Literal["rates"] = Field(
        description="points of the series that a projection uses, with level and band"
    )


class HistogramSpec(Drawn):
    """A picture of the distribution of a sampled value."""

    question: ClassVar[str] = "sample"
    kind: Literal["histogram"] = Field(description="distribution of a sampled value")
    value: Column = Field(description="the value, one of the answers of sample")
    case: Name = Field("base", description="name of the case, one that sample lists")


PROJECT = QuestionKey(
    ProjectSpec | None,
    Field(None, description="answers for future years, along trends"),
    "slipstick_trends.project:read",
    (ProjectionPictureSpec, RatesPictureSpec, SharesPictureSpec),
    position=40,
)
SAMPLE = QuestionKey(
    SampleSpec | None,
    Field(None, description="how uncertain inputs spread the answers"),
    "slipstick_trends.sample:read",
    (HistogramSpec,),
    position=70,
)
