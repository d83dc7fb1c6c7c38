"""Specs of the questions of this package, and the picture that draws a ranking of changes."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from slipstick.expression.nodes import COUNT
from slipstick.schema.kinds.constraints import Name, Note, broken_rule
from slipstick.schema.kinds.quantity import Factor, Given, Spec, Year
from slipstick.schema.kinds.study import (
    YEAR,
    AxisValues,
    Cost,
    DistinctNames,
    DistinctNotes,
    Drawn,
    Fraction,
    Path,
    QuestionKey,
    QuestionSpec,
    Settings,
)


class ChangeSpec(Spec):
    """A possible change: new values for some quantities, or factors on their present values."""

    values: Settings = Field({}, alias="set", description="values by path")
    times: dict[Path, Factor] = Field(
        {},
        description=(
            "factors by path, on whatever there is; a class of cost has 1 if nothing is said"
        ),
    )
    cost: Cost | None = Field(None, description="what it costs, in the unit of the budget")

    def check_rules(self) -> None:
        if not (self.values or self.times):
            raise broken_rule("a change needs something to change: set or times")


class RankSpec(QuestionSpec):
    """What would help most."""

    cases: DistinctNames = Field(["base"], description="the cases to rank for", min_length=1)
    change: Fraction = Field(
        Given(0.5, COUNT, "50%"), description="how much less of each quantity, such as 50%"
    )
    of: DistinctNotes = Field(
        [], description="paths to rank; all that matter by default, none beside changes"
    )
    most: int = Field(12, description="how many to show", ge=1, le=1000)
    under: DistinctNotes = Field(
        [], description="technologies to rank under as well, beside the case as it is"
    )
    changes: dict[Name, ChangeSpec] = Field(
        {}, description="changes by name: what each does to the overhead"
    )
    budget: Cost | None = Field(
        None, description="what a pair of changes may cost together; with it, each pair is tried"
    )

    def check_rules(self) -> None:
        if self.budget is None:
            return
        if len(self.changes) < 2:
            raise broken_rule(
                "a budget is for a pair of changes; name at least two under changes", "budget"
            )
        for name, change in self.changes.items():
            if change.cost is None:
                raise broken_rule(f"{name} needs a cost, for there is a budget", "changes", name)


class SeekSpec(QuestionSpec):
    """Where a condition on answers starts or stops holding along one parameter, or along a
    trend.
    """

    title: Note = Field(
        "",
        description=(
            "the condition in words, for the head of the report, such as: 80 % of the time is"
            " useful"
        ),
    )
    of: Path = Field(description="path of the parameter, or year")
    first: Any = Field(alias="from", description="where to begin, with its unit")
    to: Any = Field(description="where to end, with its unit")
    where: Note = Field(
        description=(
            "the condition, such as efficiency >= 0.6; own.efficiency is the case's,"
            " base.efficiency the base's"
        )
    )
    step: Any = Field(
        None, description="look at single values only, so far apart; for what must be whole"
    )
    points: int | None = Field(
        None,
        description=(
            "how many places to look at before closing in; by default 129, or 17 where each is"
            " simulated"
        ),
        ge=2,
        le=100_000,
    )
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="how the places are spread"
    )
    trend: Note = Field("", description="the trend that the years go along")
    base_year: Year | None = Field(
        None, description="year that the values of the cases are of; by default of their machines"
    )
    cases: DistinctNames = Field(["base"], description="the cases to look at", min_length=1)

    def check_rules(self) -> None:
        is_along_years = self.of == YEAR
        if is_along_years and not self.trend:
            raise broken_rule("give a trend with the year", "of")
        if not is_along_years and (self.trend or self.base_year is not None):
            raise broken_rule(f"trend and base_year go with of: year, not with {self.of}", "of")


class SearchPictureSpec(Drawn):
    """Both sides of a condition against the quantity that the study searches for."""

    question: ClassVar[str] = "seek"
    kind: Literal["search"] = Field(
        description=(
            "the value that a condition of seek limits, against the quantity searched for, a line"
            " for each case, with the limit"
        )
    )
    condition: Name = Field(description="the condition to draw, one that seek names")


class ChooseQuestionSpec(QuestionSpec):
    """The values of several quantities, such as servers, that meet conditions at the least of an
    objective.
    """

    vary: dict[Path, AxisValues] = Field(
        description=(
            "values by path, each a list or a range; * is any one key, as in stations.*.servers"
        ),
        min_length=1,
    )
    minimize: Note = Field(
        description="a value or formula of values and of what is varied; cost, if costs are given"
    )
    where: Note = Field(description="conditions joined by and, such as response_time[jobs] <= 2 s")
    cost: dict[Path, float] = Field(
        {}, description="what one of each costs, by path; * is any one key; cost is their sum"
    )
    currency: Note = Field(
        "", description="the currency of what is minimized, such as dollars, for the report"
    )
    monotone: bool = Field(
        False,
        description=(
            "more of any of them never breaks a condition that holds, so that fewer points are"
            " solved"
        ),
    )
    runners_up: int = Field(3, description="how many further points to show", ge=0, le=100)
    cases: DistinctNames = Field(["base"], description="the cases to choose for", min_length=1)
    cases_are_choices: bool = Field(
        False, description="the cases are chosen among too, such as machines: the best comes first"
    )


class AgreeSpec(QuestionSpec):
    """Which methods to hold against each other."""

    methods: DistinctNames = Field(description="the methods, in order", min_length=2)
    cases: DistinctNames = Field(
        [], description="the cases to solve by all of them; all by default"
    )


class BottleneckSpec(QuestionSpec):
    """Which resource limits the throughput, and where along an axis another one does."""

    cases: DistinctNames = Field(["base"], description="the cases to look at", min_length=1)
    along: dict[Path, AxisValues] = Field(
        description="values of one path, such as the number of processors",
        min_length=1,
        max_length=1,
    )


class ChangesSpec(Drawn):
    """What each change of a ranking does."""

    question: ClassVar[str] = "rank"
    kind: Literal["changes"] = Field(
        description="what each change of rank does to the overhead, a bar for each case"
    )
    under: Note = Field("", description="the technology to draw it under; none by default")
    cases: DistinctNames = Field([], description="cases to draw; all of rank by default")


AGREE = QuestionKey(
    AgreeSpec | None,
    Field(None, description="methods to put side by side"),
    "slipstick_questions.agree:read",
    position=20,
)
RANK = QuestionKey(
    RankSpec | None,
    Field(None, description="what would help most"),
    "slipstick_questions.rank:read",
    (ChangesSpec,),
    position=30,
)
SEEK = QuestionKey(
    dict[Name, SeekSpec],
    Field({}, description="where conditions start or stop holding"),
    "slipstick_questions.seek:read",
    (SearchPictureSpec,),
    position=50,
)
CHOOSE = QuestionKey(
    ChooseQuestionSpec | None,
    Field(None, description="values that meet conditions at least cost"),
    "slipstick_questions.choose:read",
    position=60,
)
BOTTLENECK = QuestionKey(
    BottleneckSpec | None,
    Field(None, description="the resource that limits the throughput"),
    "slipstick_questions.bottleneck:read",
    position=80,
)
