"""Specs of measured data: profiles, and what a study asks of measured runs, traces and fits.

A profile holds runs with the elapsed time and where it was lost, as instrumentation prints them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from slipstick.expression.nodes import COUNT, TIME
from slipstick.schema.kinds.constraints import Distinct, Name, Note, broken_rule
from slipstick.schema.kinds.quantity import (
    Count,
    Described,
    Factor,
    Given,
    Quantity,
    Spec,
    Time,
    Whole,
)
from slipstick.schema.kinds.study import (
    Drawn,
    Fraction,
    Place,
    Processors,
    QuestionKey,
    QuestionSpec,
)

Noise = Annotated[Given, Quantity(COUNT, least=0.0, most=1.0)]


class ProcessorSpec(Spec):
    """What one processor spent in one run."""

    busy: Time | None = Field(None, description="useful time, without waits")
    waits: dict[Name, Time] = Field({}, description="time lost, by cause")
    events: dict[Name, Count] = Field({}, description="how often each cause was timed")


class RunSpec(Spec):
    """One run."""

    processors: Whole = Field(description="how many took part")
    size: Factor | None = Field(None, description="size of the problem")
    repetition: int | None = Field(
        None, description="number of the run among its repetitions", ge=1
    )
    time: Time = Field(description="elapsed time")
    busy: Time | None = Field(
        None, description="useful time, without waits, added up over all processors"
    )
    waits: dict[Name, Time] = Field(
        {}, description="time lost, by cause, added up over all processors"
    )
    events: dict[Name, Count] = Field(
        {}, description="how often each cause was timed, by all processors"
    )
    each: list[ProcessorSpec] = Field(
        [], description="the same of each processor, in the place of the sums"
    )

    def check_rules(self) -> None:
        if self.each and (self.busy or self.waits or self.events):
            raise broken_rule(
                "give busy, waits and events of each processor, or their sums, not both", "each"
            )
        if self.each and len(self.each) != self.processors.value:
            message = (
                f"{len(self.each)} processors are given, where the run has"
                f" {self.processors.value:g}"
            )
            raise broken_rule(message, "each")
        for key in ("waits", "events"):
            counts = Counter(name for processor in self.each for name in getattr(processor, key))
            lone = [name for name, count in counts.items() if count < len(self.each)]
            if lone:
                index = next(
                    index
                    for index, processor in enumerate(self.each)
                    if lone[0] in getattr(processor, key)
                )
                message = (
                    f"each processor has the same {key}; not given for all of them:"
                    f" {', '.join(lone)}"
                )
                raise broken_rule(message, "each", index, key, lone[0])
        for name in self.events:
            if name not in self.waits:
                raise broken_rule(
                    f"events of {name} need the wait of {name} beside them", "events", name
                )


class ProfileSpec(Described):
    """Measured runs of one program."""

    profile: Literal[1] = Field(1, description="version of this format")
    timer: Time | None = Field(
        None, description="cost of the timer itself at each event, contained in the waits"
    )
    one_processor: Time | None = Field(
        None, description="elapsed time on one processor, without any timing"
    )
    excess: list[Name] = Field(
        [],
        description=(
            "causes that a run on one processor has as well, so that only what exceeds it is lost"
        ),
    )
    runs: list[RunSpec] = Field(description="the runs", min_length=1)


class MeasuredSpec(QuestionSpec):
    """Measured runs to account for."""

    data: Note = Field(
        description=(
            "a profile or a table of specs/runs by name, or a file of measurements beside the study"
        )
    )
    timer: Time | None = Field(
        None, description="cost of the timer at each event, contained in the waits"
    )
    statistic: Literal["median", "mean", "min"] = Field("median", description="of repetitions")
    region: Note | None = Field(None, description="part of the program; the whole by default")
    processors: Processors | None = Field(
        None, description="of a file of one run that does not say them"
    )
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="elapsed time of the run, likewise"
    )
    scaling: Literal["strong", "weak"] | None = Field(
        None, description="what grows: processors alone, or the work with them; told by the file"
    )
    waits: Literal["sum", "mean"] | None = Field(
        None, description="waits in a table: summed over processors, or the mean of one processor"
    )


class TraceSpec(QuestionSpec):
    """A trace of a program, or of a simulated run."""

    data: Note = Field("", description="a trace of specs/runs by name, or a file beside the study")
    case: Name | None = Field(
        None, description="the case whose simulated run is taken, in the place of a file"
    )
    cycles: int = Field(
        20, description="cycles of each processor that are simulated, on average", ge=1, le=1000
    )
    unit: Note | None = Field(
        None, description="of times in a table of records whose header has none"
    )
    window: Time | None = Field(
        None, description="length of a window; a fortieth of the trace by default"
    )
    machine: Note | None = Field(
        None, description="machine whose network the accesses go through, for contention"
    )
    nodes: bool = Field(
        False,
        description="the module of a number belongs to the processor of that number, so that"
        " accesses to others are remote",
    )
    useful: list[Note] = Field([], description="activities that are useful work; found by default")
    only: Note | None = Field(
        None, description="part of the names of the processors to take; all by default"
    )
    first: Time | None = Field(
        None, alias="from", description="time to begin at, counted from the first event"
    )
    to: Time | None = Field(None, description="time to end at, counted likewise")

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the case that is simulated."""
        if self.case is not None:
            yield ("case",), self.case

    def check_rules(self) -> None:
        if bool(self.data) == (self.case is not None):
            raise broken_rule(
                "a trace is read from data, or simulated from a case; give one of the two"
            )


class MadeSpec(Spec):
    """Timings made up from a case, to see what fits make of a truth that is known."""

    case: Name = Field(description="the truth")
    population: Note = Field(
        "", description="path of the number of processors, where there are several candidates"
    )
    processors: Annotated[list[Processors], Distinct] = Field(
        description="numbers of processors", min_length=1
    )
    repetitions: int = Field(3, description="of each", ge=1, le=1000)
    noise: Noise = Field(
        Given(0.01, COUNT, "1%"), description="standard deviation of the relative error"
    )
    seed: int = Field(1, description="key of the random stream", ge=0)
    cycles: bool = Field(
        True,
        description="times are those of a cycle of each processor's own, else of a shared work",
    )


class FitSpec(QuestionSpec):
    """Models fitted to measured times."""

    hints: ClassVar[Mapping[str, str]] = {
        "model": "the model is that of base",
        "models": "the laws of scaling to fit are listed in families",
    }

    data: Note = Field(
        "", description="a table of specs/runs by name, or a file of measurements beside the study"
    )
    made: MadeSpec | None = Field(None, description="made-up timings instead of data")
    region: Note | None = Field(None, description="part of the program; the whole by default")
    of_size: Annotated[float, Field(gt=0)] | None = Field(
        None, description="size of the problem: take the runs of this size only; all by default"
    )
    families: Annotated[list[Name], Distinct] = Field(
        [], description="families to fit; all by default"
    )
    free: Annotated[list[Note], Distinct] = Field(
        [],
        description=(
            "paths of the base that are free, or path=low..high; the fitted values are laid over"
            " the base"
        ),
    )
    population: Note = Field(
        "", description="path of the base that is the number of processors; found by default"
    )
    size: Note = Field("", description="path of the base that is the size of the problem")
    cycles: int | None = Field(None, description="cycles of the base in the measured work", ge=1)
    at: Annotated[list[Processors], Distinct] = Field([], description="processors to predict for")
    efficiency: Fraction = Field(
        Given(0.75, COUNT, "75%"),
        description="what the most processors keep, and the size needed gives",
    )
    intervals: Literal["profile", "bootstrap"] = Field(
        "profile", description="how sure the fits are said to be"
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """List the case that timings are made up from."""
        if self.made:
            yield ("made", "case"), self.made.case

    def check_rules(self) -> None:
        if bool(self.data) == (self.made is not None):
            raise broken_rule(
                "give a fit either data, or a case that makes up the timings (made)", "data"
            )
        if self.made and (self.region is not None or self.of_size is not None):
            raise broken_rule(
                "made-up timings have no regions and one size; leave out region and of_size", "made"
            )


class PeerSpec(Spec):
    """What another model is published to err by, on the same rows or the nearest ones."""

    name: Note = Field(description="of the other model")
    error: Fraction = Field(description="its error as published")
    of: Note = Field(description="which rows that is of, and what kind of mean")
    source: Note = Field("", description="where that is published")


class ValidationSpec(QuestionSpec):
    """A set of published measurements that a model is held against, group by group."""

    case: Name | None = Field(None, description="whose model predicts; the base by default")
    data: Note = Field(
        description="a table of specs/runs by name, or a file of rows beside the study"
    )
    source: Note = Field("", description="where the rows are published")
    rows: dict[Note, list[Note]] = Field(
        {}, description="take the rows that have one of some values in a column; said in the report"
    )
    paths: dict[Note, Note] = Field({}, description="which column is the value of which path")
    names: dict[Note, dict[Note, dict[Note, Any]]] = Field(
        {}, description="what each value of a column stands for: values by path"
    )
    measured: dict[Note, Note] = Field(
        description="which value of the answer a column holds, with its unit: 'time [ms]'",
        min_length=1,
    )
    free: list[Note] = Field(
        [], description="parameters that are not known: PATH=LOW..HIGH@OWNER, as fit --free takes"
    )
    choices: list[Note] = Field(
        [], description="parameters that are one of a few values: PATH=A|B@OWNER"
    )
    groups: list[Note] = Field(
        description="columns whose combination is left out whole and predicted by the others",
        min_length=1,
    )
    fitted_to: dict[Note, list[Note]] = Field(
        {},
        description=(
            "fit to the rows that have one of some values in a column, and predict the others; by"
            " default each group is predicted by all others"
        ),
    )
    nothing_fitted: bool = Field(
        False, description="predict every row by the ranges of the parameters alone"
    )
    noise: Fraction = Field(
        Given(0.05, COUNT, "5%"), description="noise of the rows, where nothing is fitted"
    )
    beyond: Note = Field(
        "",
        description=(
            "column of numbers beyond whose fitted range predictions get less sure, by 5 % each"
            " doubling"
        ),
    )
    known: Note = Field("", description="which inputs of the rows are published")
    unknown: Note = Field("", description="which are not")
    peers: list[PeerSpec] = Field([], description="published errors of other models")
    most: Fraction | None = Field(
        None, description="the median error of groups as committed; the tests refuse more"
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the case whose model predicts."""
        if self.case is not None:
            yield ("case",), self.case

    def check_rules(self) -> None:
        if self.nothing_fitted and self.fitted_to:
            raise broken_rule("either nothing is fitted, or some rows are", "fitted_to")


class FitsPictureSpec(Drawn):
    """Measured times and the fits to them."""

    question: ClassVar[str] = "fits"
    kind: Literal["fits"] = Field(
        description="measured times, fits with their intervals, and what lies beyond the data"
    )
    fit: Name = Field(description="the fit to draw")


class TracePictureSpec(Drawn):
    """A view of traces."""

    question: ClassVar[str] = "traces"
    kind: Literal["trace"] = Field(description="a view of traces, one below the other")
    traces: list[Name] = Field(description="the traces to draw", min_length=1, max_length=6)
    view: Literal["matrix", "concurrency", "utilization", "work", "contention"] = Field(
        description="what to draw"
    )


def _one_fitted_base(fits: dict[str, FitSpec]) -> dict[str, FitSpec]:
    free = [name for name, fit in fits.items() if fit.free]
    if len(free) > 1:
        message = (
            f"the base is fitted to {free[0]} already; a study has one base, so one fit with free"
            " paths"
        )
        raise broken_rule(message, free[1], "free")
    return fits


MEASURED = QuestionKey(
    dict[Name, MeasuredSpec],
    Field(
        {},
        description=(
            "measured runs to account for; compare and bars call their answers NAME-PROCESSORS"
        ),
    ),
    "slipstick_measure.questions.measured:read",
    position=1,
)
TRACES = QuestionKey(
    dict[Name, TraceSpec],
    Field({}, description="traces to show; compare, statements and bars call them by their names"),
    "slipstick_measure.questions.traces:read",
    (TracePictureSpec,),
    position=2,
)
FITS = QuestionKey(
    Annotated[dict[Name, FitSpec], AfterValidator(_one_fitted_base)],
    Field({}, description="models to fit to measured times"),
    "slipstick_measure.questions.fits:read",
    (FitsPictureSpec,),
    position=3,
)
VALIDATION = QuestionKey(
    dict[Name, ValidationSpec],
    Field({}, description="sets of published measurements that a model is held against"),
    "slipstick_measure.questions.validation:read",
    position=4,
)
