"""Traces in a study: what they show, and where the processors go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from slipstick.answer import Answer
from slipstick.errors import ModelError, SpecError, UnknownNameError, did_you_mean
from slipstick.report.formatting import escape
from slipstick.results.question import QuestionResult, ResultTable
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import evaluator
from slipstick.study.questions import Question
from slipstick_measure.formats import table_called
from slipstick_measure.report.measured import LOST, measured_table
from slipstick_measure.report.traces import LITTLE, draw_traces, trace_parts, trace_sentence
from slipstick_measure.results import TraceViews
from slipstick_measure.specs import TracePictureSpec, TraceSpec
from slipstick_measure.traces.readers import read_trace
from slipstick_measure.traces.trace import ProgramTrace, trace_of
from slipstick_measure.traces.views import network_called, views_of

MOST_FOLLOWED = 500_000
"""Events of a simulated run that are kept as its trace."""

ACCESSES_FILE = "accesses.csv"


@dataclass(frozen=True, slots=True)
class TracesResult(QuestionResult):
    """What traces show: views, by name."""

    title: ClassVar[str] = "Traces"
    leading_columns: ClassVar[bool] = True
    traces: Mapping[str, TraceViews]

    def sentences(self) -> list[str]:
        """Say where the processors of each trace go."""
        return [f"{name}: {trace_sentence(each)}" for name, each in self.traces.items()]

    def parts(self) -> Iterator[str | ResultTable]:
        """Give the account and the views of each trace."""
        for name, each in self.traces.items():
            small = [
                value
                for value in each.answer.values
                if value.startswith(LOST) and abs(each.answer[value] or 0) < LITTLE
            ]
            values = {key: value for key, value in each.answer.values.items() if not key.startswith("accesses[")}
            account = replace(each.answer, values=values)  # the matrix is a file of its own
            yield replace(measured_table(f"trace/{name}", [account], small), title=f"### {escape(name)}")
            yield from trace_parts(each)

    def answers(self) -> list[Answer]:
        """Give none: they stand under `traces` by their names."""
        return []

    def named_answers(self) -> dict[str, Answer]:
        """Name the answer of each trace as the trace."""
        return {name: each.answer for name, each in self.traces.items()}

    def files(self) -> dict[str, list[dict[str, object]]]:
        """Give the access matrices, but what is 0."""
        rows = [
            {"trace": name, "processor": processor, "object": place, "accesses": float(count)}
            for name, each in self.traces.items()
            for processor, row in zip(each.processors, each.matrix, strict=True)
            for place, count in zip(each.objects, row, strict=True)
            if count
        ]
        return {ACCESSES_FILE: rows} if rows else {}

    def draw(self, spec: TracePictureSpec, order: Mapping[str, int]) -> Any:
        """Draw a view of some traces, one below the other."""
        return draw_traces({name: self.traces[name] for name in spec.traces}, spec.view, spec.title, order)


def read(asked: Mapping[str, TraceSpec], study: StudyContext) -> Question:
    """Read the traces of a study, or simulate them, and make their views, which show whether the data make sense.

    Raises
    ------
    SpecError : a file is missing or wrong, or does not have what is asked for
    """
    problems = [
        study.problem((*place, "traces", index), f"there is no trace {name!r}{did_you_mean(name, list(asked))}")
        for place, picture in study.pictures(TracePictureSpec)
        for index, name in enumerate(picture.traces)
        if name not in asked
    ]
    if problems:
        raise SpecError(problems)
    views = {name: _views(each, ("traces", name), study) for name, each in asked.items()}
    return Question(
        lambda answers: TracesResult(views),
        answer_names={name: each.answer.units for name, each in views.items()},
        notes=[note for each in views.values() for note in each.notes],
    )


def _views(asked: TraceSpec, place: Place, study: StudyContext) -> TraceViews:
    trace = _trace(asked, place, study)
    network = None
    if asked.machine is not None:
        network = network_called(asked.machine, study.library, study.written((*place, "machine")).mark)
    key = next((key for key in ("useful", "only", "machine", "window", "first") if getattr(asked, key)), "data")
    first, last, width = (each.value if each else None for each in (asked.first, asked.to, asked.window))
    try:
        return views_of(trace.chosen(asked.only, asked.useful, first or 0.0, last), width, network)
    except (ModelError, UnknownNameError) as error:
        raise study.refusal((*place, "from" if key == "first" else key), str(error)) from None


def _trace(asked: TraceSpec, place: Place, study: StudyContext) -> ProgramTrace:
    if asked.case is not None:
        built = evaluator(asked.case, study.cases[asked.case], study.library).built
        try:
            return trace_of(built.timeline(asked.cycles, MOST_FOLLOWED), asked.case)
        except ModelError as error:
            raise study.refusal((*place, "case"), str(error)) from None
    path = study.library.beside(table_called(asked.data) or asked.data, study.written((*place, "data")).mark)
    found = read_trace(path, unit=asked.unit)
    study.library.keep_hash(path)
    return replace(found, file=path.name)
