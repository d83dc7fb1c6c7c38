"""Study specs: a base, named differences, axes, questions, published values, pictures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from slipstick.expression.dimension import BYTES, COUNT, TIME
from slipstick.schema.kinds.quantity import Given, Quantity
from slipstick.schema.kinds.spec import Described, Name, Note, Spec, broken_rule
from slipstick.schema.kinds.study_fits import FitSpec, MeasuredSpec, Processors
from slipstick.schema.kinds.study_parts import RANGE, Axis, AxisSpec, Cell, Column, Fraction, Settings, axis_kind
from slipstick.schema.kinds.study_questions import ProjectSpec, RankSpec, SampleSpec, SeekSpec

__all__ = [
    "AgreeSpec",
    "AxisSpec",
    "BandsSpec",
    "BarsSpec",
    "ChangesSpec",
    "FitsPictureSpec",
    "HistogramSpec",
    "LinesSpec",
    "MapSpec",
    "MemorySpec",
    "PictureSpec",
    "ProjectSpec",
    "ProjectionPictureSpec",
    "RankSpec",
    "RowSpec",
    "SampleSpec",
    "ScaleSpec",
    "SeekSpec",
    "StudySpec",
    "SweepSpec",
    "TableSpec",
    "TimelineSpec",
]


def _vary_kind(value: Any) -> str | None:
    """Tell a sweep with a name from values by path: a range has none of a sweep's keys."""
    if isinstance(value, dict) and not any(key in value for key in RANGE):
        return "sweep"
    return "sweep" if isinstance(value, SweepSpec) else axis_kind(value)


class SweepSpec(Spec):
    """Values varied together."""

    axes: dict[Annotated[str, StringConstraints(max_length=256)], Axis] = Field(
        description="values by path: a list, or a range with from and to", min_length=1
    )
    combine: Literal["grid", "zip"] = Field("grid", description="every combination, or value by value")
    cases: list[Name] = Field(["base"], description="the cases to start from", min_length=1)
    where: Note = Field("", description="condition on paths; points that do not meet it are left out")


Varied = Annotated[
    Annotated[SweepSpec, Tag("sweep")] | Annotated[list[Any], Tag("list")] | Annotated[AxisSpec, Tag("range")],
    Discriminator(
        _vary_kind,
        custom_error_type="axis",
        custom_error_message="write a sweep with axes, a list of values, or a range: from, to, and one of step, "
        "factor and count",
    ),
]


class AgreeSpec(Spec):
    """Which methods to hold against each other."""

    methods: list[Name] = Field(description="the methods, in order", min_length=2)
    cases: list[Name] = Field(default_factory=list, description="the cases to solve by all of them; all by default")


class MemorySpec(Spec):
    """The memory of a processor, and how much it may be."""

    used: Note = Field(description="a formula of the case's quantities that gives bytes, such as items * each / 8")
    most: Annotated[Given, Quantity(BYTES, least=None, above=0.0)] = Field(description="memory of a processor")


class PrintedCell(Spec):
    """A published cell of the matrix of scalability."""

    fewer: Processors = Field(alias="from", description="processors of the smaller run, N")
    more: Processors = Field(alias="to", description="processors of the larger run, N'")
    scalability: dict[Literal["time-bound", "efficiency-conserved", "memory-bound"], float] = Field(
        description="the latency metric by way, as printed", min_length=1
    )
    source: Note = Field("", description="where it is printed")


class ScaleSpec(Spec):
    """How the base and its differences scale: the size that each number of processors needs."""

    cases: list[Name] = Field(["base"], description="the cases to scale", min_length=1)
    processors: dict[Annotated[str, StringConstraints(max_length=256)], Axis] = Field(
        description="numbers of processors, rising, by the path that stands for them", min_length=1, max_length=1
    )
    size: dict[Annotated[str, StringConstraints(max_length=256)], float] = Field(
        default_factory=dict,
        description="size parameters by path, each with the power of the common factor that it grows as, such as 1",
    )
    ways: list[Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"]] = Field(
        ["fixed-size"], description="how the size goes with the processors", min_length=1
    )
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(None, description="the time to keep")
    efficiency: Fraction | None = Field(None, description="the efficiency to keep")
    memory: MemorySpec | None = Field(None, description="the memory to keep")
    against: Literal["useful", "one-processor"] = Field(
        "useful", description="what the work is: the useful part of the account, or the time of one processor"
    )
    threshold: Fraction = Field(Given(0.5, COUNT, "50%"), description="efficiency to stay above at a fixed size")
    printed: list[PrintedCell] = Field(
        default_factory=list, description="published cells of the matrix, to stand beside ours"
    )

    @model_validator(mode="after")
    def _each_way_has_its_goal(self) -> ScaleSpec:
        goals = {"time-bound": "time", "efficiency-conserved": "efficiency", "memory-bound": "memory"}
        for index, way in enumerate(self.ways):
            if way in goals and getattr(self, goals[way]) is None:
                raise broken_rule(f"{way} needs {goals[way]}: what is to be kept", "ways", index)
            if way in goals and not self.size:
                raise broken_rule(f"{way} needs size: what is to grow", "ways", index)
        for path, power in self.size.items():
            if power == 0:
                raise broken_rule(f"{path} does not grow with a power of 0; leave it out", "size", path)
        for index, cell in enumerate(self.printed):
            for way in cell.scalability:
                if way not in self.ways:
                    raise broken_rule(
                        f"{way} is none of the ways that are asked for", "printed", index, "scalability", way
                    )
        return self


class RowSpec(Spec):
    """One row of a published table, beside what the program computes."""

    row: Note = Field(description="its label")
    sum: list[Column] = Field(default_factory=list, description="computed values to add up")
    plus: list[Cell] = Field(default_factory=list, description="measured values to add, one for each column")
    printed: list[Cell] = Field(
        default_factory=list, description="as printed, one for each column; null where nothing is"
    )
    against: list[Name] = Field(
        default_factory=list,
        description="cases, one for each column, whose computed values stand in place of printed ones",
    )
    within: Annotated[
        Annotated[list[Cell], Tag("list")] | Annotated[float, Tag("number")],
        Discriminator(lambda value: "list" if isinstance(value, list) else "number"),
    ] = Field(0.5, description="how far rounding can carry a cell, in the table's unit; one for all or one for each")
    measured: bool = Field(False, description="the values are measurements, not predictions")
    input: bool = Field(False, description="the values were given to the model, so agreement says nothing")
    slips: dict[Name, Note] = Field(default_factory=dict, description="by column, where the source contradicts itself")


class TableSpec(Spec):
    """A published table."""

    title: Note = Field(description="its heading")
    source: Note = Field("", description="where it was published")
    text: Note = Field("", description="what the reader should know")
    columns: list[Name] = Field(description="the cases, in order", min_length=1)
    unit: Note = Field("us", description="unit of all its cells")
    rows: list[RowSpec] = Field(description="in order", min_length=1)

    @model_validator(mode="after")
    def _aligned(self) -> TableSpec:
        for index, row in enumerate(self.rows):
            if bool(row.printed) == bool(row.against):
                raise broken_rule(f"row {row.row} needs something to stand beside: printed or against", "rows", index)
            for key in ("printed", "against", "plus", "within"):
                cells = getattr(row, key)
                if isinstance(cells, list) and len(cells) != len(self.columns) and (cells or key == "within"):
                    why = f"one cell for each of the {len(self.columns)} columns is needed, got {len(cells)}"
                    raise broken_rule(why, "rows", index, key)
            if not (row.sum or row.plus):
                raise broken_rule(f"row {row.row} needs something to add up: sum or plus", "rows", index)
        return self


class Drawn(Spec):
    """What every picture says of itself."""

    name: Name = Field(description="name of the file")
    title: Note = Field(description="heading")
    text: Note = Field("", description="caption: what to see in it")


class BarsSpec(Drawn):
    """Stacked bars, one for each case."""

    kind: Literal["bars"] = Field(description="stacked bars")
    cases: list[Name] = Field(description="one bar each; measured runs are called NAME-PROCESSORS", min_length=1)
    stack: Annotated[
        Annotated[Literal["component", "technology"], Tag("labels")] | Annotated[dict[Note, list[Column]], Tag("sums")],
        Discriminator(lambda value: "sums" if isinstance(value, dict) else "labels"),
    ] = Field(description="what a bar is made of: components, technology classes, or sums of values by label")
    share: bool = Field(False, description="draw shares of the whole instead of times")


class LinesSpec(Drawn):
    """Lines over one axis of a sweep."""

    kind: Literal["lines"] = Field(description="lines over an axis")
    sweep: Name = Field(description="the sweep to draw")
    x: Note = Field(description="path of the horizontal axis")
    y: list[Column] = Field(description="values to draw", min_length=1)
    cases: list[Name] = Field(default_factory=list, description="cases to draw; all of the sweep by default")
    series: Note = Field("", description="path of the axis with a line for each value; cases by default")
    log: Literal["none", "x", "y", "both"] = Field("none", description="logarithmic axes")
    relative: bool = Field(False, description="draw relative to the first point of each line")
    against: Note = Field(
        "", description="path of an axis: draw its first value's answer, all else equal, divided by each, an efficiency"
    )

    @model_validator(mode="after")
    def _one_comparison(self) -> LinesSpec:
        if self.relative and self.against:
            raise broken_rule("draw relative to the first point of a line, or against an axis; not both", "against")
        return self


class MapSpec(Drawn):
    """A map over two axes of a sweep."""

    kind: Literal["map"] = Field(description="a map over two axes")
    sweep: Name = Field(description="the sweep to draw")
    x: Note = Field(description="path of the horizontal axis")
    y: Note = Field(description="path of the vertical axis")
    value: Column = Field(description="value shown as shade; limit[pipeline] shows which stage binds")
    case: Name = Field("base", description="the case to draw")


class TimelineSpec(Drawn):
    """Who did what when, at the beginning of a simulation of a case."""

    kind: Literal["timeline"] = Field(description="the beginning of a simulation, processor by processor")
    case: Name = Field("base", description="the case to draw")
    cycles: int = Field(3, description="cycles of each processor to draw, on average", ge=1, le=1000)


class BandsSpec(Drawn):
    """Processors lost by cause, against the number of processors."""

    kind: Literal["bands"] = Field(description="processors by cause against their number, a band each")
    case: Name = Field("base", description="the case to draw, one that scale names")
    way: Literal["fixed-size", "time-bound", "efficiency-conserved", "memory-bound"] = Field(
        "fixed-size", description="how the size goes with the processors, one that scale names"
    )


class ProjectionPictureSpec(Drawn):
    """Values over the years of a projection."""

    kind: Literal["projection"] = Field(description="values over the years, with their bands")
    y: list[Column] = Field(description="values to draw", min_length=1)
    log: Literal["none", "y"] = Field("none", description="logarithmic vertical axis")


class HistogramSpec(Drawn):
    """How a sampled value is distributed."""

    kind: Literal["histogram"] = Field(description="how a sampled value is distributed")
    value: Column = Field(description="the value, one that sample answers")
    case: Name = Field("base", description="the case to draw, one that sample names")


class ChangesSpec(Drawn):
    """What each change of a ranking does."""

    kind: Literal["changes"] = Field(description="what each change of rank does to the overhead, a bar for each case")
    under: Note = Field("", description="the technology to draw it under; none by default")


class FitsPictureSpec(Drawn):
    """Measured times and the fits to them."""

    kind: Literal["fits"] = Field(
        description="measured times, fits with their intervals, and what lies beyond the data"
    )
    fit: Name = Field(description="the fit to draw")


PictureSpec = Annotated[
    BandsSpec
    | BarsSpec
    | ChangesSpec
    | FitsPictureSpec
    | HistogramSpec
    | LinesSpec
    | MapSpec
    | ProjectionPictureSpec
    | TimelineSpec,
    Field(discriminator="kind"),
]


class StudySpec(Described):
    """One base, many questions."""

    study: Literal[1] = Field(description="version of this format")
    text: Note = Field("", description="what the study is about, for the head of its report")
    base: Settings = Field(default_factory=dict, description="model, machine, workload, and values by path")
    what_if: dict[Name, Settings] = Field(
        default_factory=dict, description="named differences from the base; use: [names] builds on others"
    )
    vary: dict[Annotated[str, StringConstraints(max_length=256)], Varied] = Field(
        default_factory=dict, description="sweeps by name, or values by path to vary together"
    )
    answer: list[Column] = Field(
        ["time"],
        description="the values that results.csv holds; by default the time, or the first value of another model",
        min_length=1,
    )
    rank: RankSpec | None = Field(None, description="what would help most")
    agree: AgreeSpec | None = Field(None, description="methods to put side by side")
    scale: ScaleSpec | None = Field(None, description="the size that more processors need")
    project: ProjectSpec | None = Field(None, description="years ahead, along trends")
    seek: dict[Name, SeekSpec] = Field(default_factory=dict, description="where conditions start or stop holding")
    sample: SampleSpec | None = Field(None, description="what uncertain quantities make of the answers")
    measured: dict[Name, MeasuredSpec] = Field(
        default_factory=dict,
        description="measured runs to account for; compare and bars call their answers NAME-PROCESSORS",
    )
    fits: dict[Name, FitSpec] = Field(default_factory=dict, description="models to fit to measured times")
    compare: list[TableSpec] = Field(default_factory=list, description="published or measured tables to hold against")
    pictures: list[PictureSpec] = Field(default_factory=list, description="what to draw")

    @property
    def asks_ahead(self) -> bool:
        """Say whether it asks about what is to come, or of changes."""
        return bool(self.project or self.seek or self.sample or (self.rank and self.rank.changes))

    @model_validator(mode="after")
    def _base_is_taken(self) -> StudySpec:
        if "base" in self.what_if:
            why = "a difference cannot be called base; that is what it differs from"
            raise broken_rule(why, "what_if", "base")
        free = [name for name, each in self.fits.items() if each.free]
        if len(free) > 1:
            why = f"the base is fitted to {free[0]} already; a study has one base, so one fit with free paths"
            raise broken_rule(why, "fits", free[1], "free")
        return self
