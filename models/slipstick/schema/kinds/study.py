"""Study specs: a base, named differences, sweeps, questions and pictures.

Each question is a key of a study: a spec class here, registered in `QUESTIONS`, and the module of
`slipstick.study.questions` of the same name, which answers it and says what of the answer is shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, cast, get_args

from pydantic import Discriminator, Field, StringConstraints, Tag, create_model

from slipstick.expression.nodes import BYTES, COUNT, TIME
from slipstick.extensions import Registry
from slipstick.limits import LIMITS
from slipstick.schema.kinds.constraints import SPELT, Distinct, Name, Note, broken_rule
from slipstick.schema.kinds.quantity import Described, Factor, Given, Quantity, Spec, Year
from slipstick.schema.kinds.technology import DistributionSpec
from slipstick.schema.text import Listing, Node, Scalar, Table, at

Settings = dict[Annotated[str, StringConstraints(max_length=256)], Any]
"""Values by path; each is checked where it is used, like a written one."""

_COLUMN = r"^[a-z_]+(\[[A-Za-z0-9_.:, -]+\])?$"
SPELT[_COLUMN] = "write a value as answers name it, such as time or account[lock]"
Column = Annotated[str, StringConstraints(pattern=_COLUMN, max_length=128)]
"""A value as answers name it: ``time``, ``account[lock]``, ``step[send.protocol]``."""

NumberOrNone = float | None
Place = tuple[str | int, ...]
Fraction = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=1.0)]
DistinctNames = Annotated[list[Name], Distinct]
DistinctNotes = Annotated[list[Note], Distinct]
DistinctColumns = Annotated[list[Column], Distinct]
Path = Annotated[str, StringConstraints(max_length=256)]
"""A dotted path."""


class QuestionSpec(Spec):
    """What a study asks."""

    names_answers: ClassVar[bool] = False
    """Beside cases it may name answers that other questions add, such as those of measured runs."""

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases that it names, each with its place inside the question."""
        yield from (
            (("cases", index), case) for index, case in enumerate(getattr(self, "cases", ()))
        )

    def answers_of_columns(self) -> list[str]:
        """List the answers of which one at least must have each value that it names; none: all
        cases of the study.
        """
        return [case for _, case in self.named_cases()]


def columns_in(spec: Spec) -> Iterator[tuple[Place, str]]:
    """List the texts in fields of the type `Column`, in parts too, each with its place."""
    for name, field in type(spec).model_fields.items():
        value = getattr(spec, name)
        is_column = _has_columns(field.rebuild_annotation())
        yield from _texts_in(value, (field.alias or name,), is_column)


def _texts_in(value: Any, place: Place, is_column: bool) -> Iterator[tuple[Place, str]]:
    """List the columns in the value of a field: texts if these are columns, and those of parts."""
    if isinstance(value, Spec):
        yield from (((*place, *inside), text) for inside, text in columns_in(value))
    elif isinstance(value, str) and is_column:
        yield place, value
    elif isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _texts_in(item, (*place, key), is_column)


def _has_columns(annotation: Any) -> bool:
    """Return whether the type of a field is `Column`, or is made of it."""
    if getattr(annotation, "pattern", None) == _COLUMN:
        return True
    return any(map(_has_columns, [*get_args(annotation), *getattr(annotation, "__metadata__", ())]))


class AxisSpec(Spec):
    """A range of values; exactly one of step, count and factor says how dense."""

    first: Any = Field(alias="from", description="first value, with its unit")
    to: Any = Field(description="last value, with its unit; included where a step meets it")
    step: Any = Field(None, description="difference between neighbours, with its unit")
    factor: float | None = Field(None, description="ratio of neighbours; 2 doubles", gt=0)
    count: int | None = Field(None, description="how many values", ge=2, le=1_000_000)
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="how count values are spread"
    )

    def check_rules(self) -> None:
        if sum(setting is not None for setting in (self.step, self.factor, self.count)) != 1:
            raise broken_rule("a range needs exactly one of step, factor and count")
        if self.factor == 1:
            raise broken_rule("a factor of 1 never arrives; write another")


RANGE = ("from", "to", "step", "factor", "count", "spacing")
"""The keys of a range."""


def axis_kind(value: Any) -> str | None:
    """Distinguish a list of values from a range."""
    if isinstance(value, list):
        return "list"
    return "range" if isinstance(value, dict | AxisSpec) else None


AxisValues = Annotated[
    Annotated[list[Any], Tag("list")] | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        axis_kind,
        custom_error_type="axis",
        custom_error_message=(
            "write a list of values, or a range: from, to, and one of step, factor and count"
        ),
    ),
]

YEAR = "year"
"""What a study varies along a trend."""

Cost = Annotated[Given, Quantity(COUNT)]
Band = Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.999)]
Samples = Annotated[int, Field(ge=0, le=2**20)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
AnyNumber = Annotated[Given, Quantity(None, least=None)]
_BAND = Given(0.9, COUNT, "90%")


def _power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


class ChangeSpec(Spec):
    """A change that could be made: values that become others, or a multiple of what they are."""

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
            "year that the values of the cases are of; by default each case starts in the year of its"
            " machine"
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
            "conditions on answers, such as efficiency >= 0.5, or with that and says: when does each"
            " hold? parameters.NAME is the value of a parameter of the model"
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
            why = (
                "processors come to a factor in another year along each trend; with factors,"
                " project along one"
            )
            raise broken_rule(why, "trends")
        if not _power_of_two(self.samples):
            raise broken_rule(
                f"quasi-random draws come in powers of two; write 256 or 512, not {self.samples}",
                "samples",
            )


class SeekSpec(QuestionSpec):
    """Where a condition on answers starts or stops holding along one parameter, or along a
    trend.
    """

    title: Note = Field(
        "",
        description=(
            "the condition in words, for the head of the report, such as: 80 % of the time is useful"
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
        along = self.of == YEAR
        if along and not self.trend:
            raise broken_rule("the year needs trend beside it", "of")
        if not along and (self.trend or self.base_year is not None):
            raise broken_rule(f"trend and base_year go with of: year, not with {self.of}", "of")


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
    monotone: bool = Field(
        False,
        description=(
            "more of any of them never breaks a condition that holds, so that fewer points are"
            " solved"
        ),
    )
    runners_up: int = Field(3, description="how many further points to show", ge=0, le=100)
    cases: DistinctNames = Field(["base"], description="the cases to choose for", min_length=1)


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


Processors = Annotated[int, Field(ge=1, le=100_000_000)]


def _vary_kind(value: Any) -> str | None:
    """Distinguish a sweep with a name from values by path: a range has none of a sweep's keys."""
    if isinstance(value, dict) and not any(key in value for key in RANGE):
        return "sweep"
    return "sweep" if isinstance(value, SweepSpec) else axis_kind(value)


class SweepSpec(Spec):
    """Values varied together."""

    axes: dict[Annotated[str, StringConstraints(max_length=256)], AxisValues] = Field(
        description="values by path: a list, or a range with from and to", min_length=1
    )
    combine: Literal["grid", "zip"] = Field(
        "grid", description="every combination, or value by value"
    )
    cases: DistinctNames = Field(["base"], description="the cases to start from", min_length=1)
    where: Note = Field(
        "", description="condition on paths; points that do not meet it are left out"
    )


Varied = Annotated[
    Annotated[SweepSpec, Tag("sweep")]
    | Annotated[list[Any], Tag("list")]
    | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        _vary_kind,
        custom_error_type="axis",
        custom_error_message=(
            "write a sweep with axes, a list of values, or a range: from, to, and one of step, "
            "factor and count"
        ),
    ),
]


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


class MemoryLimitSpec(Spec):
    """The memory of a processor, and how much it may be."""

    used: Note = Field(
        description="a formula of the case's quantities that gives bytes, such as items * each / 8"
    )
    most: Annotated[Given, Quantity(BYTES, least=None, above=0.0)] = Field(
        description="memory of a processor"
    )


class PrintedCell(Spec):
    """A published cell of the matrix of scalability."""

    fewer: Processors = Field(alias="from", description="processors of the smaller run, N")
    more: Processors = Field(alias="to", description="processors of the larger run, N'")
    scalability: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], float] = Field(
        description="the latency metric by way, as printed", min_length=1
    )
    source: Note = Field("", description="where it is printed")


class ScaleSpec(QuestionSpec):
    """How the base and its differences scale: the size that each number of processors needs."""

    cases: DistinctNames = Field(["base"], description="the cases to scale", min_length=1)
    processors: dict[Annotated[str, StringConstraints(max_length=256)], AxisValues] = Field(
        description="numbers of processors, rising, by the path that stands for them",
        min_length=1,
        max_length=1,
    )
    size: dict[Annotated[str, StringConstraints(max_length=256)], float] = Field(
        {},
        description=(
            "size parameters by path, each with the power of the common factor that it grows as,"
            " such as 1"
        ),
    )
    ways: Annotated[
        list[Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"]], Distinct
    ] = Field(["fixed-size"], description="how the size goes with the processors", min_length=1)
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="the time to keep"
    )
    efficiency: Fraction | None = Field(None, description="the efficiency to keep")
    memory: MemoryLimitSpec | None = Field(None, description="the memory to keep")
    against: Literal["useful", "one-processor"] = Field(
        "useful",
        description=(
            "what the work is: the useful part of the account, or the time of one processor"
        ),
    )
    threshold: Fraction = Field(
        Given(0.5, COUNT, "50%"), description="efficiency to stay above at a fixed size"
    )
    printed: list[PrintedCell] = Field(
        [], description="published cells of the matrix, to stand beside ours"
    )

    def check_rules(self) -> None:
        goals = {
            "time-bound": "time",
            "efficiency-conserved": "efficiency",
            "memory-bound": "memory",
        }
        for index, way in enumerate(self.ways):
            if way in goals and getattr(self, goals[way]) is None:
                raise broken_rule(f"{way} needs {goals[way]}: what is to be kept", "ways", index)
            if way in goals and not self.size:
                raise broken_rule(f"{way} needs size: what is to grow", "ways", index)
        for path, power in self.size.items():
            if power == 0:
                raise broken_rule(
                    f"{path} does not grow with a power of 0; leave it out", "size", path
                )
        for index, cell in enumerate(self.printed):
            for way in cell.scalability:
                if way not in self.ways:
                    raise broken_rule(
                        f"{way} is none of the ways that are asked for",
                        "printed",
                        index,
                        "scalability",
                        way,
                    )


class RowSpec(Spec):
    """One row of a published table, beside what the program computes."""

    row: Note = Field(description="its label")
    sum: list[Column] = Field([], description="computed values to add up")
    per: Column | None = Field(
        None, description="plain number that the sum is divided by in each case that has it"
    )
    plus: list[NumberOrNone] = Field([], description="measured values to add, one for each column")
    printed: list[NumberOrNone] = Field(
        [], description="as printed, one for each column; null where nothing is"
    )
    against: list[Name] = Field(
        [],
        description=(
            "cases, one for each column, whose computed values stand in place of printed ones"
        ),
    )
    within: Annotated[
        Annotated[list[NumberOrNone], Tag("list")] | Annotated[float, Tag("number")],
        Discriminator(lambda value: "list" if isinstance(value, list) else "number"),
    ] = Field(
        0.5,
        description=(
            "how far rounding can carry a cell, in the table's unit; one for all or one for each"
        ),
    )
    measured: bool = Field(False, description="the values are measurements, not predictions")
    exact: bool = Field(
        False,
        description=(
            "the values are exact, such as a Markov chain's, and the answers approximate them"
        ),
    )
    input: bool = Field(
        False, description="the values were given to the model, so agreement says nothing"
    )
    counted: bool = Field(
        True,
        description=(
            "whether its errors enter the mean; not those of a fit, of another's estimate, or of a"
            " quantity in another row"
        ),
    )
    slips: dict[Name, Note] = Field(
        {}, description="by column, where the source contradicts itself"
    )
    ranging: dict[Name, list[Name]] = Field(
        {},
        description=(
            "by column, cases with other values of uncertain inputs; the interval of the cell holds"
            " theirs"
        ),
    )


class TableSpec(QuestionSpec):
    """A published table."""

    names_answers: ClassVar[bool] = True
    title: Note = Field(description="its heading")
    source: Note = Field("", description="where it was published")
    text: Note = Field("", description="what the reader should know")
    columns: list[Name] = Field(description="the cases, in order", min_length=1)
    unit: Note = Field("us", description="unit of all its cells")
    rows: list[RowSpec] = Field(description="in order", min_length=1)

    def answers_of_columns(self) -> list[str]:
        """List the cases of the columns."""
        return self.columns

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases of the columns, and those that a row names."""
        yield from ((("columns", index), case) for index, case in enumerate(self.columns))
        for row, spec in enumerate(self.rows):
            yield from (
                (("rows", row, "against", index), case) for index, case in enumerate(spec.against)
            )
            yield from ((("rows", row, "slips", case), case) for case in spec.slips)
            for case, ranging_cases in spec.ranging.items():
                yield from (
                    (("rows", row, "ranging", case), named_case)
                    for named_case in (case, *ranging_cases)
                )

    def check_rules(self) -> None:
        for index, row in enumerate(self.rows):
            if bool(row.printed) == bool(row.against):
                raise broken_rule(
                    f"row {row.row} needs something to stand beside: printed or against",
                    "rows",
                    index,
                )
            for key in ("printed", "against", "plus", "within"):
                cells = getattr(row, key)
                if (
                    isinstance(cells, list)
                    and len(cells) != len(self.columns)
                    and (cells or key == "within")
                ):
                    why = (
                        f"one cell for each of the {len(self.columns)} columns is needed, got"
                        f" {len(cells)}"
                    )
                    raise broken_rule(why, "rows", index, key)
            if row.measured and row.exact:
                raise broken_rule(f"row {row.row} is measured or exact, not both", "rows", index)
            if not (row.sum or row.plus):
                raise broken_rule(
                    f"row {row.row} needs something to add up: sum or plus", "rows", index
                )


_CITED = re.compile(r"\{([^{}]*)\}")
_CITATION = re.compile(r"\S+ \S+( %| / (\S+ )?\S+)?")


class WantedSpec(QuestionSpec):
    """What a sentence wants of answers, in one of its readings."""

    value: Column | None = Field(None, description="the value that it is about")
    added: list[Column] = Field([], description="further values of the same answer, added to it")
    per: Column | None = Field(None, description="value of the same answer to divide it by")
    other: list[Column] = Field(
        [],
        description=(
            "values, added up, that the answers under relative_to, above or below are asked for in"
            " its place"
        ),
    )
    of: list[Name] = Field([], description="the answers that it is about")
    relative_to: list[Name] = Field(
        [], description="answers to divide by the same value of, one for each or one for all"
    )
    about: AnyNumber | None = Field(None, description="the value it states, with within")
    within: AnyNumber | None = Field(None, description="how far from about its digits reach")
    first: AnyNumber | None = Field(None, alias="from", description="the least value it allows")
    to: AnyNumber | None = Field(None, description="the largest value it allows")
    above: list[Name] = Field(
        [], description="answers whose values are less, one for each or for all"
    )
    below: list[Name] = Field(
        [], description="answers whose values are more, one for each or for all"
    )
    greatest: list[Name] = Field(
        [], description="those of the answers with greater values than the rest"
    )
    smallest: list[Name] = Field(
        [], description="those of the answers with smaller values than the rest"
    )
    at_least: int | None = Field(
        None, description="for how many answers it must hold; all by default", ge=1
    )
    missed: Note = Field(
        "",
        description=(
            "why it does not hold, said where it is a miss; {CASE VALUE} stands for what was"
            " computed, {CASE VALUE %} for it in percent, {CASE VALUE / VALUE} and {CASE VALUE /"
            " CASE VALUE} for a ratio in percent"
        ),
    )

    def compared_cases(self) -> Iterator[tuple[Place, str]]:
        """List the answers whose values are compared."""
        for key in ("of", "relative_to", "above", "below", "greatest", "smallest"):
            yield from (((key, index), name) for index, name in enumerate(getattr(self, key)))

    @property
    def cited(self) -> dict[str, list[tuple[str, str]]]:
        """The answers and values, one or two, that each text in braces of ``missed`` names."""
        terms_by_text = {}
        for text in _CITED.findall(self.missed):
            terms = [term.split() for term in text.removesuffix(" %").split(" / ")]
            terms_by_text[text] = [
                (term[0] if len(term) > 1 else terms[0][0], term[-1]) for term in terms
            ]
        return terms_by_text

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List all answers that it names."""
        yield from self.compared_cases()
        yield from ((("missed",), name) for terms in self.cited.values() for name, _ in terms)


class StatementSpec(WantedSpec):
    """A sentence of a source that numbers can check: a range, a value, or an order of answers."""

    names_answers: ClassVar[bool] = True
    says: Note = Field(description="what the source says")
    source: Note = Field("", description="where it says so")
    value: Column = Field(
        description="the value that it is about, such as efficiency or overhead_reduction"
    )
    of: list[Name] = Field(description="the answers that it is about", min_length=1)
    readings: dict[Note, WantedSpec] = Field(
        {},
        description=(
            "what each of several readings wants; where they differ, the statement is undecided"
        ),
    )
    counted: bool = Field(
        True,
        description=(
            "false where the number was put in or fitted: that it comes out is no agreement"
        ),
    )
    apart: Note = Field(
        "", description="why it is counted apart: its source is none of those that are reproduced"
    )
    repeats: Note = Field(
        "", description="STUDY STATEMENT: the same sentence stands there, and counts there alone"
    )
    part_of: Name | None = Field(
        None,
        description=(
            "the statement, or a name of several, that this is a part or a reading of; they count"
            " once"
        ),
    )
    reading: Note = Field(
        "",
        description=(
            "which reading of part_of this is, where the source can be read in several ways"
        ),
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List all answers that it names, in its readings too."""
        yield from super().named_cases()
        for label, wanted in self.readings.items():
            yield from ((("readings", label, *at), name) for at, name in wanted.named_cases())

    def read_as(self, name: str) -> dict[str, "StatementSpec"]:
        """Return the statement itself under its name, or one for each of its readings.

        Parameters
        ----------
        name : of the statement
        """
        specs = {}
        for number, (label, wanted) in enumerate(self.readings.items(), 1):
            changed = {key: getattr(wanted, key) for key in wanted.model_fields_set}
            changed |= {"part_of": self.part_of or name, "reading": label, "readings": {}}
            specs[f"{name}-{number}"] = self.model_copy(update=changed)
        return specs or {name: self}

    def asked_of(self, key: str) -> list[str]:
        """List the values that are added up for each answer under a key."""
        return (
            self.other
            if self.other and key in ("relative_to", "above", "below")
            else [self.value, *self.added]
        )

    @property
    def form(self) -> str:
        """The key that says what must hold; ``from`` for a range with either end."""
        ranged = self.first is not None or self.to is not None
        forms = [
            key for key in ("about", "above", "below", "greatest", "smallest") if getattr(self, key)
        ]
        return (
            forms[0] if len(forms) == 1 and not ranged else "from" if ranged and not forms else ""
        )

    def check_rules(self) -> None:
        if len(self.readings) == 1:
            why = "one reading is what the statement says; write at least two, or none"
            raise broken_rule(why, "readings")
        for spec in self.read_as("statement").values():
            spec.check_one_reading()

    def check_one_reading(self) -> None:
        """Raise the rule about several keys that one reading breaks."""
        if not self.form:
            raise broken_rule(
                "write one of about (and within), from and to, above, below, greatest and smallest"
            )
        if (self.about is None) != (self.within is None):
            raise broken_rule(
                "about and within go together: the stated value, and how far from it its digits"
                " reach"
            )
        if self.within and self.about and "%" in self.within.text and "%" not in self.about.text:
            raise broken_rule(
                f"{self.within.text} of what is open beside {self.about.text}: write a plain"
                " number",
                "within",
            )
        if self.other and not (self.relative_to or self.above or self.below):
            raise broken_rule(
                "other is for answers under relative_to, above or below; write one of them", "other"
            )
        for key in ("relative_to", "above", "below"):
            if len(getattr(self, key)) not in (0, 1, len(self.of)):
                raise broken_rule(
                    f"one answer for each of the {len(self.of)} under of is needed, or one for all",
                    key,
                )
        for key in ("greatest", "smallest"):
            for index, name in enumerate(getattr(self, key)):
                if name not in self.of:
                    raise broken_rule(f"{name} does not stand under of", key, index)
            if len(set(getattr(self, key))) == len(set(self.of)):
                raise broken_rule(
                    "some of the answers under of have to stand apart from these", key
                )
        if self.reading and not self.part_of:
            raise broken_rule("part_of names the statement that this is a reading of", "reading")
        if wrong := next(
            (name for name in _CITED.findall(self.missed) if not _CITATION.fullmatch(name)), None
        ):
            why = (
                f"{{{wrong}}} is not CASE VALUE, CASE VALUE %, CASE VALUE / VALUE or CASE VALUE /"
                " CASE VALUE"
            )
            raise broken_rule(why, "missed")
        key = "greatest" if self.greatest else "smallest" if self.smallest else "of"
        if self.at_least is not None and self.at_least > (most := len(getattr(self, key))):
            raise broken_rule(
                f"at most {most}, as many as there are answers under {key}", "at_least"
            )


class UnpublishedInputSpec(Spec):
    """An input that the source does not print: a range, or values, and why these."""

    title: Note = Field(description="what it is, in a few words")
    reason: Note = Field(description="why it has this range")
    path: Path = Field(description="the value that it is")
    first: AnyNumber | None = Field(None, alias="from", description="least value")
    to: AnyNumber | None = Field(None, description="largest value")
    spacing: Literal["linear", "geometric"] = Field(
        "linear", description="how draws are spread over the range"
    )
    values: list[Any] = Field([], description="in place of a range: each is as likely, in order")
    instead: dict[Note, list[Any]] = Field(
        {},
        description=(
            "by what stands at the path, what takes its place, one for each of values, which are"
            " then only what the report calls them"
        ),
    )
    cases: DistinctNames = Field(
        [], description="cases that it is an input of; by default those with such a quantity"
    )
    change: Name | None = Field(
        None, description="a change of rank: the value is set where this change is made, only there"
    )

    def check_rules(self) -> None:
        ranged = self.first is not None and self.to is not None
        if ranged == bool(self.values) or (self.first is None) != (self.to is None):
            raise broken_rule("write from and to, or values", "title")
        if len(self.values) == 1:
            raise broken_rule("a single value is no range; write at least two", "values")
        for key, others in self.instead.items():
            if len(others) != len(self.values):
                why = f"write one for each of the {len(self.values)} values"
                raise broken_rule(why, "instead", key)
        if self.first and self.to:
            if self.first.dimension != self.to.dimension:
                raise broken_rule(f"{self.to.text} has another unit than {self.first.text}", "to")
            if self.first.value >= self.to.value:
                raise broken_rule(f"{self.to.text} is not above {self.first.text}", "to")
            if self.spacing == "geometric" and self.first.value <= 0:
                raise broken_rule("a geometric range begins above 0", "from")


class UnpublishedSpec(QuestionSpec):
    """What a source does not print, drawn within ranges; the draws that agree with what it prints
    are kept, and each statement gets the part of them in which it holds.
    """

    draws: int = Field(256, description="how many draws", ge=2, le=100_000)
    seed: Seed = Field(0, description="key of the random streams, one for each input")
    inputs: dict[Name, UnpublishedInputSpec] = Field(
        description="what is not printed, by name", min_length=1
    )
    agree: DistinctNames = Field(
        [], description="statements that must hold in a draw that is kept: what the source prints"
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases that inputs name."""
        for name, spec in self.inputs.items():
            yield from (
                (("inputs", name, "cases", index), case) for index, case in enumerate(spec.cases)
            )


class Drawn(Spec):
    """What every picture says of itself; `question` is the key of the question that it draws, if
    it draws one.
    """

    question: ClassVar[str] = ""
    names_answers: ClassVar[bool] = False
    name: Name = Field(description="name of the file")
    title: Note = Field(description="heading")
    text: Note = Field("", description="caption: what to see in it")

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the cases that it names, each with its place inside the picture."""
        if hasattr(self, "case"):
            yield ("case",), self.case
        yield from (
            (("cases", index), case) for index, case in enumerate(getattr(self, "cases", ()))
        )


class BarsSpec(Drawn):
    """Stacked bars, one for each case."""

    names_answers: ClassVar[bool] = True
    kind: Literal["bars"] = Field(description="stacked bars")
    cases: DistinctNames = Field(
        description="one bar each; measured runs are called NAME-PROCESSORS", min_length=1
    )
    stack: Annotated[
        Annotated[Literal["component", "technology"], Tag("labels")]
        | Annotated[dict[Note, list[Column]], Tag("sums")],
        Discriminator(lambda value: "sums" if isinstance(value, dict) else "labels"),
    ] = Field(
        description=(
            "what a bar is made of: components, technology classes, or sums of values by label"
        )
    )
    share: bool = Field(False, description="draw shares of the whole instead of times")


class LinesSpec(Drawn):
    """Lines over one axis of a sweep."""

    kind: Literal["lines"] = Field(description="lines over an axis")
    sweep: Name = Field(description="the sweep to draw")
    x: Note = Field(description="path of the horizontal axis")
    y: DistinctColumns = Field(description="values to draw", min_length=1)
    cases: DistinctNames = Field([], description="cases to draw; all of the sweep by default")
    series: Note = Field(
        "", description="path of the axis with a line for each value; cases by default"
    )
    log: Literal["none", "x", "y", "both"] = Field("none", description="logarithmic axes")
    relative: bool = Field(False, description="draw relative to the first point of each line")
    against: Note = Field(
        "",
        description=(
            "path of an axis: draw its first value's answer, all else equal, divided by each, an"
            " efficiency"
        ),
    )

    def check_rules(self) -> None:
        if self.relative and self.against:
            raise broken_rule(
                "draw relative to the first point of a line, or against an axis; not both",
                "against",
            )


class MapSpec(Drawn):
    """A map over two axes of a sweep."""

    kind: Literal["map"] = Field(description="a map over two axes")
    sweep: Name = Field(description="the sweep to draw")
    x: Note = Field(description="path of the horizontal axis")
    y: Note = Field(description="path of the vertical axis")
    value: Column = Field(
        description="value shown as shade; limit[pipeline] shows which stage binds"
    )
    case: Name = Field("base", description="the case to draw")


class TimelineSpec(Drawn):
    """The activity of each processor over time, at the beginning of a simulation of a case."""

    kind: Literal["timeline"] = Field(
        description="the beginning of a simulation, processor by processor"
    )
    case: Name = Field("base", description="the case to draw")
    cycles: int = Field(
        3, description="cycles of each processor to draw, on average", ge=1, le=1000
    )
    show: Literal["run", "steps", "phase"] = Field(
        "run",
        description=(
            "the whole run; or one processor's steps by name, a row for each processor and resource"
            " that takes part; or what each processor did until the first barrier, added up"
        ),
    )


class BandsSpec(Drawn):
    """Processors lost by cause, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["bands"] = Field(
        description="processors by cause against their number, a band each"
    )
    case: Name = Field("base", description="the case to draw, one that scale names")
    way: Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "fixed-size", description="how the size goes with the processors, one that scale names"
    )


class GrowthPictureSpec(Drawn):
    """The work that keeps what a way of scaling keeps, against the number of processors."""

    question: ClassVar[str] = "scale"
    kind: Literal["growth"] = Field(
        description="work against the number of processors, a line for each case of scale"
    )
    way: Literal["time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "efficiency-conserved",
        description="how the size goes with the processors, one that scale names",
    )


class ComparisonPictureSpec(Drawn):
    """Computed values against published ones."""

    question: ClassVar[str] = "compare"
    kind: Literal["comparison"] = Field(
        description=(
            "each computed value of compare against the published one, the line on which they are"
            " equal between them"
        )
    )


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


class ChangesSpec(Drawn):
    """What each change of a ranking does."""

    question: ClassVar[str] = "rank"
    kind: Literal["changes"] = Field(
        description="what each change of rank does to the overhead, a bar for each case"
    )
    under: Note = Field("", description="the technology to draw it under; none by default")
    cases: DistinctNames = Field([], description="cases to draw; all of rank by default")


_OfCases = BandsSpec | BarsSpec | ChangesSpec | ComparisonPictureSpec
_OfYears = ProjectionPictureSpec | RatesPictureSpec | SharesPictureSpec
_OfMany = GrowthPictureSpec | HistogramSpec | LinesSpec | MapSpec | _OfYears
PictureSpec = Annotated[_OfCases | _OfMany | TimelineSpec, Field(discriminator="kind")]
_PICTURES: tuple[type[Drawn], ...] = get_args(get_args(PictureSpec)[0])


class QuestionKey(NamedTuple):
    """The key of a question in a study.

    Parameters
    ----------
    takes : type of what is written there
    field : its default and description
    answered_by : where its ``read`` is defined, ``module:NAME``; by default in the module of
        `slipstick.study.questions` of the name of the key
    pictures : specs of the pictures that draw its answer
    """

    takes: Any
    field: Any
    answered_by: str = ""
    pictures: tuple[type[Drawn], ...] = ()


QUESTIONS: Registry[QuestionKey] = Registry(
    "slipstick.questions",
    {
        "compare": QuestionKey(
            list[TableSpec], Field([], description="published or measured tables to hold against")
        ),
        "agree": QuestionKey(
            AgreeSpec | None, Field(None, description="methods to put side by side")
        ),
        "rank": QuestionKey(RankSpec | None, Field(None, description="what would help most")),
        "project": QuestionKey(
            ProjectSpec | None, Field(None, description="years ahead, along trends")
        ),
        "seek": QuestionKey(
            dict[Name, SeekSpec], Field({}, description="where conditions start or stop holding")
        ),
        "choose": QuestionKey(
            ChooseQuestionSpec | None,
            Field(None, description="values that meet conditions at least cost"),
        ),
        "sample": QuestionKey(
            SampleSpec | None,
            Field(None, description="what uncertain quantities make of the answers"),
        ),
        "bottleneck": QuestionKey(
            BottleneckSpec | None,
            Field(None, description="the resource that limits the throughput"),
        ),
        "scale": QuestionKey(
            ScaleSpec | None, Field(None, description="the size that more processors need")
        ),
        "statements": QuestionKey(
            dict[Name, StatementSpec],
            Field({}, description="sentences of a source to check against the answers"),
        ),
        "unpublished": QuestionKey(
            UnpublishedSpec | None,
            Field(None, description="what the source does not print, and how its statements vary"),
        ),
    },
)
"""The keys of all questions in the order in which they are read and shown, those of other
packages before slipstick's own.
"""


class _PointLimits(Spec):
    """What one point may take; one that takes more has no answer, and the others do."""

    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="of a clock, for one point"
    )
    memory: Annotated[Given, Quantity(BYTES, least=1e6)] | None = Field(
        None, description="for one point, beside what the process has before it"
    )

    @property
    def costs(self) -> dict[str, float]:
        """Return the limits of `slipstick.limits` that are given."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}


if TYPE_CHECKING:

    class LimitsSpec(_PointLimits):
        """Limits of time, of memory and of costs that are estimated."""

else:
    LimitsSpec = create_model(
        "LimitsSpec",
        __base__=_PointLimits,
        __doc__=_PointLimits.__doc__,
        **{
            name: (
                float | None,
                Field(None, description=f"{limit.counts}; {limit.value:,.0f} by default", gt=0),
            )
            for name, limit in LIMITS.items()
        },
    )


class EngineSpec(Spec):
    """Where points are solved; the command line goes before it, and only there a cluster can be
    named.
    """

    on: Literal["threads", "processes"] | None = Field(
        None, description="threads of one process, or a process for each job"
    )
    jobs: int = Field(1, description="points solved side by side", ge=1, le=256)


class _StudyKeys(Described):
    """One base, many questions."""

    study: Literal[1] = Field(description="version of this format")
    text: Note = Field("", description="what the study is about, for the head of its report")
    base: Settings = Field({}, description="model, machine, workload, and values by path")
    cases: dict[Name, Settings] = Field(
        {}, description="named differences from the base; use: [names] builds on others"
    )
    vary: dict[Annotated[str, StringConstraints(max_length=256)], Varied] = Field(
        {}, description="sweeps by name, or values by path to vary together"
    )
    answer: DistinctColumns = Field(
        ["time"],
        description=(
            "the values that results.csv holds; by default the time, or the first value of another"
            " model"
        ),
        min_length=1,
    )
    pictures: list[PictureSpec] = Field([], description="what to draw")
    limits: LimitsSpec = Field(LimitsSpec(), description="what points may take")
    engine: EngineSpec = Field(
        EngineSpec(), description="where points are solved; results do not depend on it"
    )

    def check_rules(self) -> None:
        if "base" in self.cases:
            why = "a difference cannot be called base; that is what it differs from"
            raise broken_rule(why, "cases", "base")

    @property
    def questions(self) -> dict[str, Any]:
        """What the study asks, by key; those that it does not ask are left out."""
        keys = (name for name in type(self).model_fields if name not in _StudyKeys.model_fields)
        return {name: question for name in keys if (question := getattr(self, name))}


def _with_questions(
    questions: Mapping[str, QuestionKey], pictures: Iterable[type[Drawn]] = ()
) -> type[_StudyKeys]:
    """Make the model of a study with these questions, and with these kinds of pictures in the
    place of slipstick's own.
    """
    keys: dict[str, Any] = {
        name: (question.takes, question.field) for name, question in questions.items()
    }
    if kinds := sorted(pictures, key=lambda picture_class: picture_class.__name__):
        picture_kind: Any = Annotated[reduce(or_, kinds), Field(discriminator="kind")]
        keys["pictures"] = (list[picture_kind], _StudyKeys.model_fields["pictures"])
    return create_model("StudySpec", __base__=_StudyKeys, __doc__=_StudyKeys.__doc__, **keys)


if TYPE_CHECKING:

    class StudySpec(_StudyKeys):
        """A study, with a key for each question."""

else:
    StudySpec = _with_questions(QUESTIONS.own)


def study_model(tree: Node | None = None) -> type[StudySpec]:
    """Return the model of a study.

    Questions and pictures of other packages, which take longer to import, are in it where the tree
    has a key or a kind of picture that slipstick does not have, and without a tree.
    """
    pictures = at(tree, ["pictures"]) if tree is not None else None
    kinds_drawn = (
        [at(picture, ["kind"]) for picture in pictures.items]
        if isinstance(pictures, Listing)
        else []
    )
    kinds = {
        kind
        for picture_class in _PICTURES
        for kind in get_args(picture_class.model_fields["kind"].annotation)
    }
    has_known_keys = (
        isinstance(tree, Table) and tree.entries.keys() <= StudySpec.model_fields.keys()
    )
    if has_known_keys and all(
        isinstance(kind_node, Scalar) and kind_node.value in kinds for kind_node in kinds_drawn
    ):
        return StudySpec
    return _whole_study()


@cache
def _whole_study() -> type[StudySpec]:
    added = {name: QUESTIONS[name] for name in QUESTIONS.places}
    pictures = (*_PICTURES, *(question for key in added.values() for question in key.pictures))
    return cast("type[StudySpec]", _with_questions({**added, **QUESTIONS.own}, pictures))
