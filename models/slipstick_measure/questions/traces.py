"""Traces in a study: what they show, and where the processors go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from slipstick.answer import Answer
from slipstick.errors import ModelError, SpecError, UnknownNameError, did_you_mean
from slipstick.late import dataclass, field, replace
from slipstick.model.system import need_model
from slipstick.report.formatting import escape
from slipstick.results.question import QuestionResult, ResultTable
from slipstick.results.words import NO_WORDS, Words, as_words
from slipstick.schema.inputs import BuiltModel
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import Question
from slipstick_measure.formats import table_path_named
from slipstick_measure.report.measured import LOST, measured_table
from slipstick_measure.report.traces import (
    NEGLIGIBLE_LOSS,
    draw_traces,
    trace_headline,
    trace_parts,
    trace_sentence,
    traces_headline,
)
from slipstick_measure.results import TraceViews
from slipstick_measure.specs import TracePictureSpec, TraceSpec
from slipstick_measure.traces.readers import checked_trace
from slipstick_measure.traces.trace import ProgramTrace, ReadTrace, TraceOutline, trace_of_timeline
from slipstick_measure.traces.views import (
    SwitchedNetwork,
    network_of_machine,
    value_names,
    views_of,
)

TraceT = TypeVar("TraceT", bound=TraceOutline)
ResultT = TypeVar("ResultT")

MOST_TRACED_EVENTS = 500_000
"""Events of a simulated run that are kept as its trace."""

ACCESSES_FILE = "accesses.csv"


@dataclass(frozen=True, slots=True)
class TracesResult(QuestionResult):
    """The views of the traces of a study, by the name of the trace."""

    title: ClassVar[str] = "Traces"
    leading_columns: ClassVar[bool] = True
    traces: Mapping[str, TraceViews]
    case_by_trace: Mapping[str, str] = field(default_factory=dict, repr=False)

    def sentences(self) -> list[str]:
        """Return a sentence on each trace that says how the time of its processors is used."""
        return [f"{as_words(name)}: {trace_sentence(views)}" for name, views in self.traces.items()]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.traces) > 2

    def headline(self, words: Words) -> list[str]:
        """Return sentences that say how the time of the processors is used: one on all traces if
        the same kind of wait takes most in each, else one on each of the first two.
        """
        views_by_title = {
            words.case(self.case_by_trace.get(name, name)): views
            for name, views in self.traces.items()
        }
        if len(views_by_title) > 2 and (sentence := traces_headline(views_by_title, words)):
            return [sentence]
        has_several_traces = len(views_by_title) > 1
        return [
            f"{f'{title}: ' if has_several_traces else ''}{trace_headline(views, words)}"
            for title, views in [*views_by_title.items()][:2]
        ]

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield for each trace its account and its views."""
        for name, views in self.traces.items():
            small_losses = [
                value_name
                for value_name in views.answer.values
                if value_name.startswith(LOST)
                and abs(views.answer[value_name] or 0) < NEGLIGIBLE_LOSS
            ]
            values_without_matrix = {
                value_name: value
                for value_name, value in views.answer.values.items()
                if not value_name.startswith("accesses[")
            }
            answer_without_matrix = replace(
                views.answer, values=values_without_matrix
            )  # the matrix is a file of its own
            yield replace(
                measured_table(f"trace/{name}", [answer_without_matrix], small_losses),
                title=f"### {escape(name)}",
            )
            yield from trace_parts(views)

    def answers(self) -> list[Answer]:
        """Return an empty list: these answers are in JSON under `traces`, by name."""
        return []

    def named_answers(self) -> dict[str, Answer]:
        """Return the answer of each trace by the name of the trace."""
        return {name: views.answer for name, views in self.traces.items()}

    def files(self) -> dict[str, list[dict[str, object]]]:
        """Return the cells of the access matrices that are not zero, as rows of a file."""
        rows = [
            {
                "trace": name,
                "processor": processor,
                "object": object_name,
                "accesses": float(access_count),
            }
            for name, views in self.traces.items()
            for processor, access_counts in zip(views.processors, views.matrix, strict=True)
            for object_name, access_count in zip(views.objects, access_counts, strict=True)
            if access_count
        ]
        return {ACCESSES_FILE: rows} if rows else {}

    def draw(
        self, spec: TracePictureSpec, fill_by_component: Mapping[str, int], words: Words = NO_WORDS
    ) -> Any:
        """Draw a view of some traces, one below the other."""
        return draw_traces(
            {name: self.traces[name] for name in spec.traces},
            spec.view,
            spec.title,
            fill_by_component,
            words,
        )


def read(specs: Mapping[str, TraceSpec], study: StudyContext) -> Question:
    """Read or simulate the traces of a study and compute their views, so that inconsistent data are
    reported by a check.

    Raises
    ------
    SpecError : a file is missing or wrong, or does not have what is asked for
    """
    problems = [
        study.problem(
            (*place, "traces", index),
            f"there is no trace {name!r}{did_you_mean(name, list(specs))}",
        )
        for place, picture in study.pictures(TracePictureSpec)
        for index, name in enumerate(picture.traces)
        if name not in specs
    ]
    if problems:
        raise SpecError(problems)
    requested_traces = {
        name: _RequestedTrace(spec, ("traces", name), study) for name, spec in specs.items()
    }
    for requested_trace in requested_traces.values():
        requested_trace.check()
    return Question(
        lambda answers: TracesResult(
            {name: requested_trace.views for name, requested_trace in requested_traces.items()},
            {name: spec.case for name, spec in specs.items() if spec.case is not None},
        ),
        answer_names={
            name: _TraceValueUnits(requested_trace)
            for name, requested_trace in requested_traces.items()
        },
        notes=lambda: [
            note
            for requested_trace in requested_traces.values()
            for note in requested_trace.views.notes
        ],
    )


@dataclass
class _RequestedTrace:
    """A trace that a study requests, with its place; it is read or simulated when its views are
    first used.
    """

    spec: TraceSpec
    place: Place
    study: StudyContext
    names_of_part_values: frozenset[str] | None = None
    """Names of the values by parts; None where only a run can tell."""

    def check(self) -> None:
        """Raise if a machine is missing, a file has not the requested data, or a case cannot be
        traced.

        Whether a run has the part that is asked for only the run can tell.
        """
        spec = self.spec
        self.network()
        if spec.case is None:
            self.names_of_part_values = self._result_for_requested_part(
                self._checked_trace.outline, value_names
            )
            return
        try:
            need_model(self._built_case(spec.case).sample.model, "a timeline")
        except ModelError as error:
            raise self.study.refusal((*self.place, "case"), str(error)) from None
        if spec.useful or spec.only or spec.first or spec.to or spec.window:
            self.names_of_part_values = frozenset(self.views.answer.units)

    @cached_property
    def views(self) -> TraceViews:
        """The views of the trace."""
        return self._result_for_requested_part(
            self._booked_trace(), partial(views_of, has_own_modules=self.spec.nodes)
        )

    def _result_for_requested_part(
        self,
        trace: TraceT,
        compute: Callable[[TraceT, float | None, SwitchedNetwork | None], ResultT],
    ) -> ResultT:
        """Return the result of `compute` for the time and the processors of a trace that the study
        requests.
        """
        spec = self.spec
        refused_key = next(
            (
                refused_key
                for refused_key in ("useful", "only", "machine", "nodes", "window", "first")
                if getattr(spec, refused_key)
            ),
            "data",
        )
        first_time, last_time, window_width = (
            setting.value if setting else None for setting in (spec.first, spec.to, spec.window)
        )
        try:
            return compute(
                trace.chosen_part(spec.only, spec.useful, first_time or 0.0, last_time),
                window_width,
                self.network(),
            )
        except (ModelError, UnknownNameError) as error:
            raise self.study.refusal(
                (*self.place, "from" if refused_key == "first" else refused_key), str(error)
            ) from None

    def network(self) -> SwitchedNetwork | None:
        """Return the network on which contention is counted: that of the named machine; None if no
        machine is named.
        """
        if self.spec.machine is None:
            return None
        mark = self.study.node_of((*self.place, "machine")).mark
        return network_of_machine(self.spec.machine, self.study.library, mark)

    def _booked_trace(self) -> ProgramTrace:
        """Return the trace, in which each instant of a processor has one cause: read from a file,
        or of a simulated run of a case.
        """
        if self.spec.case is None:
            trace = self._checked_trace
            del self._checked_trace  # its columns, which are booked in place
            return replace(trace.book(), file=Path(trace.outline.file).name)
        try:
            return trace_of_timeline(
                self._built_case(self.spec.case).timeline(self.spec.cycles, MOST_TRACED_EVENTS),
                self.spec.case,
            )
        except ModelError as error:
            raise self.study.refusal((*self.place, "case"), str(error)) from None

    @cached_property
    def _checked_trace(self) -> ReadTrace:
        """The file of the trace, read and checked but not booked."""
        mark = self.study.node_of((*self.place, "data")).mark
        path = self.study.library.measurement_file(
            table_path_named(self.spec.data) or self.spec.data, mark
        )
        trace = checked_trace(path, unit=self.spec.unit)
        self.study.library.keep_hash(path)
        return trace

    def _built_case(self, case: str) -> BuiltModel:
        """Return the model of a case."""
        return evaluator(case, self.study.cases[case], self.study.library).built


class _TraceValueUnits(Mapping[str, str]):
    """The names of a trace's values with their units, determined without booking or simulating."""

    def __init__(self, requested_trace: _RequestedTrace) -> None:
        self.requested_trace = requested_trace

    def __getitem__(self, name: str) -> str:
        value_kind, bracket, _ = name.partition("[")
        known_names = self.requested_trace.names_of_part_values if bracket else None
        if known_names is not None and name not in known_names:
            raise KeyError(name)
        unit = _UNITS[f"{value_kind}{bracket}"]
        return (
            "s"
            if value_kind == "contention" and self.requested_trace.spec.machine is None
            else unit
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.requested_trace.views.answer.units)

    def __len__(self) -> int:
        return len(self.requested_trace.views.answer.units)


_IN_SECONDS = ("time", "latency", "one_processor_estimate", "one_processor_time", "account[")
_UNITS = dict.fromkeys(_IN_SECONDS, "s") | dict.fromkeys(
    [
        "one_processor_drift",
        "relative_speedup",
        "speedup",
        "efficiency",
        "parallel_efficiency",
        "load_balance",
        "communication_efficiency",
        "processors_lost[",
        "concurrency",
        "largest_concurrency",
        "accesses",
        "accesses[",
        "hottest_object",
        "remote_accesses",
        "contention[",
    ],
    "1",
)
"""Values of a trace with their units, those of its parts up to the bracket."""
