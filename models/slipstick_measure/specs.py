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

LongestTime = Annotated[Given, Quantity(TIME, least=None, above=0.0)]
Noise = Annotated[Given, Quantity(COUNT, least=0.0, most=1.0)]


class ProcessorSpec(Spec):
    """The times of one processor in one run."""

    busy: Time | None = Field(None, description="useful time, without waits")
    waits: dict[Name, Time] = Field({}, description="time lost to each cause")
    events: dict[Name, Count] = Field({}, description="number of measured events of each cause")


class RunSpec(Spec):
    """One run of the program."""

    processors: Whole = Field(description="number of processors")
    size: Factor | None = Field(None, description="size of the problem")
    repetition: int | None = Field(None, description="number of the repetition", ge=1)
    time: Time = Field(description="elapsed time")
    busy: Time | None = Field(
        None, description="useful time without waits, summed over all processors"
    )
    waits: dict[Name, Time] = Field(
        {}, description="time lost to each cause, summed over all processors"
    )
    events: dict[Name, Count] = Field(
        {}, description="number of measured events of each cause, over all processors"
    )
    each: list[ProcessorSpec] = Field(
        [], description="these values for each processor, in place of the sums"
    )

    def check_rules(self) -> None:
        """Raise if a run has values for all processors and for each of them, or values that
        contradict one another.
        """
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
            processor_count_by_cause = Counter(
                name for processor in self.each for name in getattr(processor, key)
            )
            incomplete_causes = [
                name
                for name, processor_count in processor_count_by_cause.items()
                if processor_count < len(self.each)
            ]
            if incomplete_causes:
                index = next(
                    index
                    for index, processor in enumerate(self.each)
                    if incomplete_causes[0] in getattr(processor, key)
                )
                message = (
                    f"each processor has the same {key}; not given for all of them:"
                    f" {', '.join(incomplete_causes)}"
                )
                raise broken_rule(message, "each", index, key, incomplete_causes[0])
        for name in self.events:
            if name not in self.waits:
                raise broken_rule(
                    f"events of {name} need the wait of {name} beside them", "events", name
                )


class ProfileSpec(Described):
    """Measured runs of one program."""

    profile: Literal[1] = Field(1, description="version of this format")
    timer: Time | None = Field(
        None, description="time of the timer itself at each event; measured waits include it"
    )
    one_processor: Time | None = Field(
        None, description="elapsed time on one processor, without any timing code"
    )
    excess: list[Name] = Field(
        [],
        description=(
            "causes that also occur on one processor; only the time in excess of that is lost"
        ),
    )
    runs: list[RunSpec] = Field(description="the runs", min_length=1)


class MeasuredSpec(QuestionSpec):
    """Measured runs whose losses are accounted for."""

    data: Note = Field(
        description=(
            "name of a profile or table in specs/runs, or a file of measurements beside the study"
        )
    )
    timer: Time | None = Field(
        None, description="time of the timer itself at each event; measured waits include it"
    )
    statistic: Literal["median", "mean", "min"] = Field(
        "median", description=("statistic over the repetitions")
    )
    region: Note | None = Field(None, description="part of the program; by default the whole")
    processors: Processors | None = Field(
        None, description="number of processors, if a file of a single run does not have it"
    )
    time: Annotated[Given, Quantity(TIME, least=None, above=0.0)] | None = Field(
        None, description="elapsed time, if a file of a single run does not have it"
    )
    scaling: Literal["strong", "weak"] | None = Field(
        None,
        description=(
            "strong: only the number of processors grows; weak: the work grows with it. By default"
            " the file decides"
        ),
    )
    waits: Literal["sum", "mean"] | None = Field(
        None,
        description=("whether waits in a table are sums over processors or means of one processor"),
    )


class TraceSpec(QuestionSpec):
    """What a study asks of a trace of a program, or of a simulated run."""

    data: Note = Field("", description="name of a trace in specs/runs, or a file beside the study")
    case: Name | None = Field(
        None, description="name of a case whose simulated run is used, in place of a file"
    )
    cycles: int = Field(
        20, description="mean number of simulated cycles of each processor", ge=1, le=1000
    )
    unit: Note | None = Field(
        None, description="unit of the times in a table of records whose header has none"
    )
    window: Time | None = Field(
        None, description="length of a window; by default a fortieth of the trace"
    )
    machine: Note | None = Field(
        None, description="machine with the network that the accesses cross, for contention"
    )
    nodes: bool = Field(
        False,
        description=(
            "whether the module with a number belongs to the processor with this number, so that"
            " accesses to other modules are remote"
        ),
    )
    useful: list[Note] = Field(
        [], description=("activities that count as useful work; by default recognized by name")
    )
    only: Note | None = Field(
        None, description="text in the names of the processors to use; by default all"
    )
    first: Time | None = Field(
        None, alias="from", description="start time, counted from the first event"
    )
    to: Time | None = Field(None, description="end time, counted from the first event")

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
    """Simulated timings of a case, which test fits against a known truth."""

    case: Name = Field(description="name of the case with the true values")
    population: Note = Field(
        "", description="path of the number of processors, if there are several candidates"
    )
    processors: Annotated[list[Processors], Distinct] = Field(
        description="numbers of processors", min_length=1
    )
    repetitions: int = Field(3, description="number of repetitions of each run", ge=1, le=1000)
    noise: Noise = Field(
        Given(0.01, COUNT, "1%"), description="standard deviation of the relative error"
    )
    seed: int = Field(1, description="key of the random stream", ge=0)
    cycles: bool = Field(
        True,
        description=(
            "whether each processor repeats its own cycle; otherwise processors share a fixed work"
        ),
    )


class FitSpec(QuestionSpec):
    """What a study asks of models that are fitted to measured times."""

    hints: ClassVar[Mapping[str, str]] = {
        "model": "the model is that of base",
        "models": "the laws of scaling to fit are listed in families",
    }

    data: Note = Field(
        "", description="name of a table in specs/runs, or a file of measurements beside the study"
    )
    made: MadeSpec | None = Field(
        None, description=("simulated timings with a known truth, in place of data")
    )
    region: Note | None = Field(None, description="part of the program; by default the whole")
    of_size: Annotated[float, Field(gt=0)] | None = Field(
        None, description="use only the runs of this problem size; by default all"
    )
    families: Annotated[list[Name], Distinct] = Field(
        [], description="families of laws to fit; by default all"
    )
    free: Annotated[list[Note], Distinct] = Field(
        [],
        description=(
            "paths of the base to fit, or path=low..high; the fitted values replace those of the"
            " base"
        ),
    )
    population: Note = Field(
        "", description="path of the number of processors; by default found automatically"
    )
    size: Note = Field("", description="path of the problem size")
    cycles: int | None = Field(
        None, description=("number of cycles of the base in the measured work"), ge=1
    )
    at: Annotated[list[Processors], Distinct] = Field(
        [], description=("numbers of processors to predict, beside those in the title")
    )
    efficiency: Fraction = Field(
        Given(0.75, COUNT, "75%"),
        description=(
            "target efficiency, for the largest number of processors and the size needed; by"
            " default that of the title, or 75 %"
        ),
    )
    time: LongestTime | None = Field(
        None,
        description=(
            "longest time wanted, for the number of processors that keeps it; by default that of"
            " the title"
        ),
    )
    throughput: Note = Field(
        "",
        description=(
            "least throughput wanted, in the unit of the data, such as 24 ns/day, for the number of"
            " processors that reaches it"
        ),
    )
    intervals: Literal["profile", "bootstrap"] = Field(
        "profile", description="method for the intervals of the fits"
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
    """The published error of another model, on the same or similar rows."""

    name: Note = Field(description="name of the other model")
    error: Fraction = Field(description="published error of this model")
    of: Note = Field(description="rows and kind of mean to which this error refers")
    source: Note = Field("", description="where the error is published")


class ValidationSpec(QuestionSpec):
    """Published measurements, each group of which is predicted from the others."""

    case: Name | None = Field(
        None, description=("name of the case with the model; by default the base")
    )
    data: Note = Field(
        description="name of a table in specs/runs, or a file of rows beside the study"
    )
    source: Note = Field("", description="where the rows are published")
    rows: dict[Note, list[Note]] = Field(
        {}, description="use only rows with one of some values in a column; the report says so"
    )
    paths: dict[Note, Note] = Field({}, description="path of the model for each column of inputs")
    names: dict[Note, dict[Note, dict[Note, Any]]] = Field(
        {}, description="values by path for each word in a column"
    )
    measured: dict[Note, Note] = Field(
        description=(
            "value of the answer in each column of results, with its unit, such as 'time [ms]'"
        ),
        min_length=1,
    )
    free: list[Note] = Field(
        [], description="unknown parameters: PATH=LOW..HIGH@OWNER, as for fit --free"
    )
    choices: list[Note] = Field(
        [], description="parameters with one of a few values: PATH=A|B@OWNER"
    )
    groups: list[Note] = Field(
        description=(
            "columns whose combinations form the groups; each group is left out and predicted by"
            " the others"
        ),
        min_length=1,
    )
    fitted_to: dict[Note, list[Note]] = Field(
        {},
        description=(
            "fit to the rows with one of some values in a column, and predict the others; by"
            " default each group is predicted by all others"
        ),
    )
    nothing_fitted: bool = Field(
        False, description="predict every row from the ranges of the parameters, without a fit"
    )
    noise: Fraction = Field(
        Given(0.05, COUNT, "5%"), description="noise of the rows if nothing is fitted"
    )
    beyond: Note = Field(
        "",
        description=(
            "column of numbers; beyond the fitted range of this column, the uncertainty of"
            " predictions grows by 5 % for each doubling"
        ),
    )
    known: Note = Field("", description="inputs of the rows that are published")
    unknown: Note = Field("", description="inputs of the rows that are not published")
    peers: list[PeerSpec] = Field([], description="published errors of other models")
    most: Fraction | None = Field(
        None, description="largest median error of groups; the tests fail above it"
    )

    def named_cases(self) -> Iterator[tuple[Place, str]]:
        """Yield the case whose model predicts."""
        if self.case is not None:
            yield ("case",), self.case

    def check_rules(self) -> None:
        if self.nothing_fitted and self.fitted_to:
            raise broken_rule("either nothing is fitted, or some rows are", "fitted_to")


class FitsPictureSpec(Drawn):
    """A picture of measured times and the fits to them."""

    question: ClassVar[str] = "fits"
    kind: Literal["fits"] = Field(
        description="measured times, fits with their intervals, and predictions beyond the data"
    )
    fit: Name = Field(description="name of the fit")


class TracePictureSpec(Drawn):
    """A picture of traces."""

    question: ClassVar[str] = "traces"
    kind: Literal["trace"] = Field(description="a view of traces, one below the other")
    traces: list[Name] = Field(description="names of the traces", min_length=1, max_length=6)
    view: Literal["matrix", "concurrency", "utilization", "work", "contention"] = Field(
        description="view to draw"
    )


def _one_fitted_base(fits: dict[str, FitSpec]) -> dict[str, FitSpec]:
    """Return the fits; raise if several of them have free parameters, because the base of a study
    takes the values of a single fit.
    """
    names_with_free_paths = [name for name, fit in fits.items() if fit.free]
    if len(names_with_free_paths) > 1:
        message = (
            f"the base is fitted to {names_with_free_paths[0]} already; a study has one base, so"
            " one fit with free"
            " paths"
        )
        raise broken_rule(message, names_with_free_paths[1], "free")
    return fits


MEASURED = QuestionKey(
    dict[Name, MeasuredSpec],
    Field(
        {},
        description=(
            "measured runs, whose losses the report accounts for. compare and bars refer to them as"
            " NAME-PROCESSORS"
        ),
    ),
    "slipstick_measure.questions.measured:read",
    position=1,
)
TRACES = QuestionKey(
    dict[Name, TraceSpec],
    Field({}, description="traces of programs. compare, statements and bars refer to them by name"),
    "slipstick_measure.questions.traces:read",
    (TracePictureSpec,),
    position=2,
)
FITS = QuestionKey(
    Annotated[dict[Name, FitSpec], AfterValidator(_one_fitted_base)],
    Field({}, description="models that are fitted to measured times"),
    "slipstick_measure.questions.fits:read",
    (FitsPictureSpec,),
    position=3,
)
VALIDATION = QuestionKey(
    dict[Name, ValidationSpec],
    Field({}, description="published measurements with which predictions are compared"),
    "slipstick_measure.questions.validation:read",
    position=4,
)
