"""Specs of the questions of this package, and the picture that draws a ranking of changes."""

from collections.abc import Mapping
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


class _HintsOfPaths(dict[str, str]):
    """Hints for unknown keys that are paths, which stand one level lower."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the hint for a path; else the default."""
        return f"write set: {{{key}: VALUE}} or times: {{{key}: FACTOR}}" if "." in key else default


class ChangeSpec(Spec):
    """A possible change of a case: new values of some quantities, or factors on their present
    values.
    """

    hints: ClassVar[Mapping[str, str]] = _HintsOfPaths()

    values: Settings = Field({}, alias="set", description="new values by path")
    times: dict[Path, Factor] = Field(
        {},
        description=(
            "factors by path, on the present values; a class of cost has the present factor 1"
        ),
    )
    cost: Cost | None = Field(None, description="cost of the change, in the unit of the budget")

    def check_rules(self) -> None:
        """Raise if the change sets no value."""
        if not (self.values or self.times):
            raise broken_rule("a change needs something to change: set or times")


class RankSpec(QuestionSpec):
    """What a study asks about the changes that help most: single quantities, or named changes."""

    example: ClassVar[str] = "{change: 50%}"

    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)
    change: Fraction = Field(
        Given(0.5, COUNT, "50%"),
        description=(
            "how much less of each quantity is tried, such as 50%; more is tried by the same"
            " factor: half beside twice"
        ),
    )
    of: DistinctNotes = Field(
        [], description="paths to rank; by default all that matter, or none if there are changes"
    )
    most: int = Field(12, description="number of quantities in the report", ge=1, le=1000)
    under: DistinctNotes = Field([], description="technologies for which the ranking is repeated")
    changes: dict[Name, ChangeSpec] = Field(
        {}, description="changes by name; the report shows the effect of each on the overhead"
    )
    budget: Cost | None = Field(
        None,
        description=(
            "limit on the cost of two changes together; with it, the report tries each pair"
        ),
    )

    def check_rules(self) -> None:
        """Raise if the change has no opposite, or keys of the ranking contradict one another."""
        if self.change.value >= 1:
            raise broken_rule(
                "no factor is the opposite of 100 % less; write a smaller change, such as 99%",
                "change",
            )
        if self.budget is None:
            return
        if len(self.changes) < 2:
            raise broken_rule(
                "a budget is for a pair of changes; name at least two under changes", "budget"
            )
        for name, change in self.changes.items():
            if change.cost is None:
                raise broken_rule(
                    f"{name} needs a cost, because there is a budget", "changes", name
                )


class SeekSpec(QuestionSpec):
    """The value of a parameter, or the year, at which a condition becomes true or false."""

    hints: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("over", "between", "range"), "write from and to, and step for whole numbers"
    )

    title: Note = Field(
        "",
        description=(
            "the condition in words, for the head of the report, such as: 80 % of the time is"
            " useful"
        ),
    )
    of: Path = Field(description="path of the parameter, or year")
    first: Any = Field(alias="from", description="start of the search, with its unit")
    to: Any = Field(description="end of the search, with its unit")
    where: Note = Field(
        description=(
            "the condition, such as efficiency >= 0.6; own.efficiency is the efficiency of the"
            " case as given, base.efficiency that of the base as given, base_there.efficiency"
            " that of the base at the same value of the quantity that is varied"
        )
    )
    step: Any = Field(
        None, description="distance of the values to try, for quantities that must be whole"
    )
    points: int | None = Field(
        None,
        description=(
            "number of values to try before the search narrows; by default 129, or 17 if each is"
            " simulated"
        ),
        ge=2,
        le=100_000,
    )
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="whether these values have equal differences or equal ratios"
    )
    trend: Note = Field("", description="trend for a search over years")
    base_year: Year | None = Field(
        None, description="year of the values of the cases; by default the year of their machines"
    )
    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)

    def check_rules(self) -> None:
        """Raise if keys of the search contradict one another."""
        is_along_years = self.of == YEAR
        if is_along_years and not self.trend:
            raise broken_rule("give a trend with the year", "of")
        if not is_along_years and (self.trend or self.base_year is not None):
            raise broken_rule(f"trend and base_year go with of: year, not with {self.of}", "of")


class SearchPictureSpec(Drawn):
    """A picture of a limited value and its limit, against the quantity that `seek` varies."""

    question: ClassVar[str] = "seek"
    kind: Literal["search"] = Field(
        description=(
            "the limited value against the varied quantity, with a line for each case and the limit"
        )
    )
    condition: Name = Field(description="name of the condition, one that seek lists")


class ChoicesPictureSpec(Drawn):
    """A picture of the points that `choose` solved, with the limit that decides."""

    question: ClassVar[str] = "choose"
    kind: Literal["choices"] = Field(
        description="the limited value against what is minimized, with a mark for each point solved"
    )
    case: Name | None = Field(None, description="one of the cases of choose; all by default")


class ChooseQuestionSpec(QuestionSpec):
    """The values of some quantities, such as servers, that meet conditions at the lowest cost."""

    hints: ClassVar[Mapping[str, str]] = {
        "maximize": "write minimize, and a minus sign before the value",
        **dict.fromkeys(("price", "prices", "costs", "weights"), "write cost: {PATH: NUMBER}"),
    }
    replaces_values: ClassVar[bool] = True

    vary: dict[Path, AxisValues] = Field(
        description=(
            "candidate values by path: a list or a range. * stands for any key, as in"
            " stations.*.servers"
        ),
        min_length=1,
    )
    minimize: Note = Field(description="value or formula to minimize, such as cost")
    where: Note = Field(
        description=(
            "conditions joined by and, such as response_time[jobs] <= 2 s; without a condition,"
            " vary compares all points"
        )
    )
    cost: dict[Path, float] = Field(
        {},
        description=(
            "cost of one unit of each quantity, by path; * stands for any key. The sum over all is"
            " the cost"
        ),
    )
    totals: dict[Name, Note] = Field(
        {},
        description=(
            "formulas of the varied values that the report shows with each choice, by what they"
            " count, such as gpus: parameters.servers * parameters.tensor"
        ),
    )
    currency: Note = Field("", description="currency of the cost, such as dollars, for the report")
    monotone: bool = Field(
        False,
        description=(
            "whether a larger quantity never breaks a condition that is met; fewer points are then"
            " solved"
        ),
    )
    runners_up: int = Field(
        3, description="number of next best choices in the report", ge=0, le=100
    )
    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)
    cases_are_choices: bool = Field(
        False,
        description=(
            "whether the cases, such as machines, are alternatives too; the report then begins with"
            " the best"
        ),
    )


class AgreeSpec(QuestionSpec):
    """The methods whose answers a study compares."""

    methods: DistinctNames = Field(description="names of the methods, in order", min_length=2)
    cases: DistinctNames = Field([], description="names of the cases; by default all")


class BottleneckSpec(QuestionSpec):
    """What a study asks about the resource that limits the throughput, and where along an axis it
    changes.
    """

    example: ClassVar[str] = "{along: {population.processors: {from: 1, to: 64, factor: 2}}}"

    cases: DistinctNames = Field(["base"], description="names of the cases", min_length=1)
    along: dict[Path, AxisValues] = Field(
        {},
        description=(
            "values of one path, such as the number of processors; none for a model with arrivals,"
            " whose bottleneck is that of the case as given"
        ),
        max_length=1,
    )


class ChangesSpec(Drawn):
    """A picture of the effect of each change of a ranking."""

    question: ClassVar[str] = "rank"
    kind: Literal["changes"] = Field(
        description="effect of each change of rank on the overhead, with a bar for each case"
    )
    under: Note = Field(
        "", description=("technology for which the picture is drawn; none by default")
    )
    cases: DistinctNames = Field([], description="names of the cases; by default all cases of rank")


AGREE = QuestionKey(
    AgreeSpec | None,
    Field(None, description="methods whose answers are compared with each other"),
    "slipstick_questions.agree:read",
    position=20,
)
RANK = QuestionKey(
    RankSpec | None,
    Field(None, description="which change of a parameter helps most"),
    "slipstick_questions.rank:read",
    (ChangesSpec,),
    position=30,
)
SEEK = QuestionKey(
    dict[Name, SeekSpec],
    Field({}, description="values at which conditions become true or false"),
    "slipstick_questions.seek:read",
    (SearchPictureSpec,),
    position=50,
)
CHOOSE = QuestionKey(
    ChooseQuestionSpec | None,
    Field(None, description="values that meet conditions at the lowest cost"),
    "slipstick_questions.choose:read",
    (ChoicesPictureSpec,),
    position=60,
)
BOTTLENECK = QuestionKey(
    BottleneckSpec | None,
    Field(None, description="the resource that limits the throughput"),
    "slipstick_questions.bottleneck:read",
    position=80,
)
