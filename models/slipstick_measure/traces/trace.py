"""A trace in columns: the spans of each processor, each instant booked once, and its accesses to
objects.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf, ulp
from operator import indexOf, le
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

from slipstick.errors import ModelError, Problem, SpecError, UnknownNameError, short
from slipstick.late import NDArray, dataclass, field, np, replace
from slipstick.model.system import is_processor
from slipstick.results.study import Timeline
from slipstick.schema.text import shown_name
from slipstick_measure.measurements import Measurement, Measurements
from slipstick_measure.traces.kinds import STREAM, is_wait, named_waits

Array: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.integer[Any]]"

MOST_NAMES = 100_000
LONGEST_NAME = 1000
LATEST_TIME = 1e11
"""The latest time that is read [s], some three thousand years; a later one is damage, or in
another unit.
"""

MOST_COUNTED_ACCESSES = 1e15
"""Accesses that are counted exactly in floating point."""

ADVICE_ON_SIZE = "cut the trace, or count accesses per period"
BUSY_LABEL = "busy"


@dataclass(frozen=True, slots=True)
class TraceSpans:
    """Stretches of time as aligned arrays: processor and label by index, start and end [s]."""

    processor_indices: Indices
    label_indices: Indices
    starts: Array
    ends: Array

    def select(self, selection: Any) -> TraceSpans:
        """Return the spans that a mask or indices select."""
        return TraceSpans(
            self.processor_indices[selection],
            self.label_indices[selection],
            self.starts[selection],
            self.ends[selection],
        )

    def arrange(self, span_order: Indices) -> None:
        """Reorder the spans in place, as a copy of many of them would take too much memory."""
        for column in (self.processor_indices, self.label_indices, self.starts, self.ends):
            column[:] = column[span_order]


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses as aligned arrays: processor and object by index, time [s], and number of
    accesses.
    """

    processor_indices: Indices
    object_indices: Indices
    times: Array
    counts: Array

    def select(self, selection: Any) -> Accesses:
        """Return the accesses that a mask or indices select."""
        return Accesses(
            self.processor_indices[selection],
            self.object_indices[selection],
            self.times[selection],
            self.counts[selection],
        )


@dataclass(frozen=True, slots=True)
class TraceOutline:
    """The outline of a trace without its events, sufficient for checking requests.

    Parameters
    ----------
    file : where it is from
    processors, labels, objects : names, by index
    duration : how long it is; it begins at 0 [s]
    useful_labels : labels that are useful work
    gap_label : what time without a span is booked to: idle, or unknown where the format leaves gaps
    waiting : names of resources at which processors wait
    kinds : of the tracks that are processors, in their order; all are alike if empty
    """

    file: str
    processors: tuple[str, ...]
    labels: tuple[str, ...]
    objects: tuple[str, ...]
    duration: float
    useful_labels: tuple[str, ...]
    gap_label: str
    waiting: Collection[str]
    kinds: tuple[str, ...] = field(default=(), kw_only=True)

    def chosen_part(
        self,
        name_part: str | None = None,
        useful_labels: Sequence[str] = (),
        first_time: float = 0.0,
        last_time: float | None = None,
    ) -> Self:
        """Return the outline of the time and the processors that the options choose, with the
        activities that they call useful.

        Parameters
        ----------
        name_part : part of the names of the processors; all processors if None
        useful_labels : names of activities; as they are if empty
        first_time, last_time : the time to keep, from the beginning of the trace; to its end if
            None [s]

        Raises
        ------
        UnknownNameError : the trace has no such processor or activity
        ModelError : there is no such time
        """
        if unknown_label := next(
            (label for label in useful_labels if label not in self.labels), None
        ):
            raise UnknownNameError("activity in the trace", unknown_label, self.labels)
        end = self.duration if last_time is None else min(last_time, self.duration)
        if not 0 <= first_time < end:
            raise ModelError(
                f"the trace lasts {self.duration:g} s; there is nothing from {first_time:g} s"
                f" to {end:g} s"
            )
        processors = tuple(name for name in self.processors if (name_part or "") in name)
        chosen_indices = [
            index for index, name in enumerate(self.processors) if (name_part or "") in name
        ]
        kinds = tuple(self.kinds[index] for index in chosen_indices) if self.kinds else ()
        if not processors:
            raise UnknownNameError("processor in the trace", name_part or "", self.processors)
        return replace(
            self,
            processors=processors,
            kinds=kinds,
            useful_labels=tuple(useful_labels) or self.useful_labels,
            duration=end - first_time,
        )


@dataclass(frozen=True, slots=True)
class ProgramTrace(TraceOutline):
    """A trace in a form that is independent of its format.

    Parameters
    ----------
    spans : by processor and time; none overlaps another of the same processor
    accesses : in the order of the file; where it has none, each span is an access to what it names
    waiting : by resource, how many wait from each time on, as (times [s], numbers)
    notes : what is unusual, or was left out
    """

    waiting: Mapping[str, tuple[Array, Array]]
    spans: TraceSpans
    accesses: Accesses
    notes: tuple[Problem, ...]

    @property
    def busy_spans(self) -> TraceSpans:
        """The spans of useful work; adjacent ones of a processor are merged."""
        is_useful_label = np.array(
            [label in self.useful_labels for label in self.labels], dtype=bool
        )
        spans = self.spans.select(is_useful_label[self.spans.label_indices])
        is_new_stretch = (spans.processor_indices[1:] != spans.processor_indices[:-1]) | (
            spans.starts[1:] != spans.ends[:-1]
        )
        is_first = np.append(True, is_new_stretch)[: len(spans.starts)]
        is_last = np.append(is_new_stretch, True)[: len(spans.starts)]
        return replace(spans.select(is_first), ends=spans.ends[is_last])

    def chosen_part(
        self,
        name_part: str | None = None,
        useful_labels: Sequence[str] = (),
        first_time: float = 0.0,
        last_time: float | None = None,
    ) -> Self:
        """Return a part of the trace with its events, as `TraceOutline.chosen_part` does."""
        trace = TraceOutline.chosen_part(self, name_part, useful_labels, first_time, last_time)
        if first_time or last_time is not None:
            trace = trace._part_after(first_time)
        return (
            trace
            if name_part is None
            else trace._part_of_processors(
                np.array([name_part in name for name in self.processors], dtype=bool)
            )
        )

    def traces_by_kind(self) -> dict[str, Self]:
        """Return the part of the trace for each kind of track, by the name of the kind; if all
        tracks are of one kind, the trace under an empty name.
        """
        if len(set(self.kinds)) < 2:
            return {"": self}
        trace_by_kind: dict[str, Self] = {}
        for kind in dict.fromkeys(self.kinds):
            kind_mask = np.array(
                [kind_of_processor == kind for kind_of_processor in self.kinds], dtype=bool
            )
            trace = self._part_of_processors(kind_mask)
            names = [
                name
                for name, is_of_kind in zip(self.processors, kind_mask, strict=True)
                if is_of_kind
            ]
            kinds = tuple(
                kind_of_processor for kind_of_processor in self.kinds if kind_of_processor == kind
            )
            trace_by_kind[kind] = replace(trace, processors=tuple(names), kinds=kinds)
        return trace_by_kind

    def main_part(self) -> Self:
        """Return the GPU streams, with a note, if there are streams beside threads; otherwise the
        whole trace.
        """
        trace_by_kind = self.traces_by_kind()
        if STREAM not in trace_by_kind:
            return next(iter(trace_by_kind.values())) if len(trace_by_kind) == 1 else self
        reason = (
            "the account is of the GPU streams; slipstick trace has that of the threads, and --only"
            " takes others"
        )
        stream_trace = trace_by_kind[STREAM]
        note = Problem(self.file, 1, 1, "", reason)
        return replace(stream_trace, notes=(*self.notes, note))

    def _part_after(self, first_time: float) -> Self:
        """Return the part of the trace after a time, which becomes time 0."""
        spans = self.spans
        accesses = self.accesses
        spans = replace(
            spans,
            starts=np.maximum(spans.starts, first_time) - first_time,
            ends=np.minimum(spans.ends - first_time, self.duration),
        )
        accesses = replace(accesses, times=accesses.times - first_time)
        return replace(
            self,
            spans=spans.select(spans.ends > spans.starts),
            accesses=accesses.select((accesses.times >= 0) & (accesses.times < self.duration)),
            waiting={
                name: (np.maximum(times - first_time, 0.0), counts)
                for name, (times, counts) in self.waiting.items()
            },
        )

    def _part_of_processors(self, processor_mask: NDArray[np.bool_]) -> Self:
        """Return the part of the trace that belongs to the processors of a mask."""
        new_index_by_processor = np.cumsum(processor_mask) - 1
        spans = self.spans
        accesses = self.accesses
        spans = spans.select(processor_mask[spans.processor_indices])
        accesses = accesses.select(processor_mask[accesses.processor_indices])
        return replace(
            self,
            spans=replace(spans, processor_indices=new_index_by_processor[spans.processor_indices]),
            accesses=replace(
                accesses, processor_indices=new_index_by_processor[accesses.processor_indices]
            ),
        )

    def measurements(self) -> Measurements:
        """Return the account of the trace as the measurements of one run, in the form of a profile:
        elapsed time, useful time of each processor, waits by cause and their number.
        """
        spans = self.spans
        busy_spans = self.busy_spans
        processor_count = len(self.processors)
        durations = spans.ends - spans.starts
        measurements = [self._account_measurement("time", self.duration)]
        if not len(durations):
            return Measurements(tuple(measurements), self.notes)
        busy_times = np.bincount(
            busy_spans.processor_indices, busy_spans.ends - busy_spans.starts, processor_count
        )
        wait_by_label = np.bincount(spans.label_indices, durations, len(self.labels))
        event_counts = np.bincount(spans.label_indices, minlength=len(self.labels))
        measurements += [
            self._account_measurement("busy", busy_time, "", index + 1)
            for index, busy_time in enumerate(busy_times)
        ]
        lost_label_indices = [
            index
            for index, label in enumerate(self.labels)
            if label not in self.useful_labels and event_counts[index]
        ]
        measurements += [
            self._account_measurement("wait", wait_by_label[index], self.labels[index])
            for index in lost_label_indices
        ]
        measurements += [
            self._account_measurement("events", event_counts[index], self.labels[index])
            for index in lost_label_indices
        ]
        # The time without a kernel of a GPU's streams is no communication, as that of threads is.
        idle_label = (
            "no kernel"
            if set(self.kinds) == {STREAM} and not lost_label_indices
            else self.gap_label
        )
        if idle_label != "idle" and idle_label not in self.labels:
            gap_time = max(0.0, processor_count * self.duration - float(durations.sum()))
            measurements.append(self._account_measurement("wait", gap_time, idle_label))
        return Measurements(tuple(measurements), self.notes)

    def _account_measurement(
        self, metric: str, value: float, region: str = "", processor: int | None = None
    ) -> Measurement:
        """Return a time [s] or a number of events of the trace as a measurement."""
        unit, value_text = ("1", f"{value:.9g}") if metric == "events" else ("s", f"{value:.9g} s")
        source_fields = (None, self.file, 1, processor, value_text)
        return Measurement(
            len(self.processors), None, region, metric, unit, float(value), *source_fields
        )


class ReadTrace(NamedTuple):
    """A checked trace: its outline, and a function that books its events and returns the trace. The
    function works in place, so it can be called only once.
    """

    outline: TraceOutline
    book: Callable[[], ProgramTrace]


@dataclass
class TraceColumns:
    """A trace while it is read: growing arrays, and names with their numbers.

    Attributes
    ----------
    path : the file
    seconds_per_unit : seconds of one unit of the file's times
    resolution : of these times, within which spans may overlap [s]
    number_by_lane : numbers of what has spans of its own, by any key; `finished` is told which
        processor each belongs to
    """

    path: Path | str
    seconds_per_unit: float = 1.0
    resolution: float = 0.0
    number_by_lane: dict[Hashable, int] = field(default_factory=dict)
    number_by_label: dict[str, int] = field(default_factory=dict)
    number_by_object: dict[str, int] = field(default_factory=dict)
    span_lanes: array[int] = field(default_factory=lambda: array("i"))
    span_labels: array[int] = field(default_factory=lambda: array("i"))
    span_starts: array[float] = field(default_factory=lambda: array("d"))
    span_ends: array[float] = field(default_factory=lambda: array("d"))
    access_lanes: array[int] = field(default_factory=lambda: array("i"))
    access_objects: array[int] = field(default_factory=lambda: array("i"))
    access_times: array[float] = field(default_factory=lambda: array("d"))
    access_counts: array[float] = field(default_factory=lambda: array("d"))
    notes: list[Problem] = field(default_factory=list)
    has_cut_names: bool = False

    def refuse(self, message: str, line: int = 1, subject: str = "") -> NoReturn:
        """Raise a SpecError about a line of the file."""
        raise SpecError([Problem(shown_name(self.path), line, 1, subject, message)])

    def add_note(self, message: str) -> None:
        """Record a note on something unusual."""
        self.notes.append(Problem(shown_name(self.path), 1, 1, "", message))

    def parse_number(self, value: object, subject: str, line: int = 1) -> float:
        """Parse a finite number, with or without quotes; raise for everything else."""
        try:
            parsed_number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            self.refuse(f"{short(str(value))} is no {subject}", line, subject)
        if not abs(parsed_number) < inf or isinstance(value, bool):
            self.refuse(f"{short(str(value))} is no finite {subject}", line, subject)
        return parsed_number

    def number_of_name(self, number_by_name: dict[Any, int], name: Hashable) -> int:
        """Return the number of a name in a table of names; a new name gets the next number."""
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            note = f"names are cut after {LONGEST_NAME:,} characters: {short(name)}"
            if not self.has_cut_names:
                self.add_note(note)
            self.has_cut_names = True
            name = name[:LONGEST_NAME]
        if name not in number_by_name and (
            len(number_by_name) >= MOST_NAMES or len(str(name)) > 2 * LONGEST_NAME
        ):
            self.refuse(f"{short(str(name))} is one name too many; at most {MOST_NAMES:,} are read")
        return number_by_name.setdefault(name, len(number_by_name))

    def add_span(self, lane: int, label_number: int, start: float, end: float) -> None:
        """Add a span with a start and an end, in the file's unit of time."""
        self.span_lanes.append(lane)
        self.span_labels.append(label_number)
        self.span_starts.append(start)
        self.span_ends.append(end)

    def begin_span(self, lane: int, label_number: int, time: float) -> int:
        """Add a span without an end and return its number, for `end`; a span begun later is inside
        it, also at equal times.
        """
        self.add_span(lane, label_number, time, time)
        return len(self.span_starts) - 1

    def check_inside(self, name: str, number_of_last: int, line: int = 1) -> None:
        """Raise if an activity that ends is not the one that began last, whose span has the number
        `number_of_last`.
        """
        if self.number_by_label.get(name) != self.span_labels[number_of_last]:
            open_label = short(list(self.number_by_label)[self.span_labels[number_of_last]])
            self.refuse(
                f"it leaves {short(name)} inside of {open_label}; is an event missing?", line
            )

    def close_open_spans(
        self, open_spans: Sequence[int], last_time: float, unmatched_end_count: int = 0
    ) -> None:
        """Extend spans without an end to the end of the trace, and note them, and note the ends
        without a beginning.
        """
        if open_spans or unmatched_end_count:
            self.add_note(
                f"{len(open_spans):,} spans have no end, so they last to the end of the"
                f" trace; {unmatched_end_count:,} ends begin nowhere"
            )
        for span_index in open_spans:
            self.span_ends[span_index] = last_time

    def add_access(self, lane: int, target: str, time: float, count: float = 1.0) -> None:
        """Add `count` accesses of a lane, at a time in the file's unit, to an object."""
        self.access_lanes.append(lane)
        self.access_objects.append(self.number_of_name(self.number_by_object, target))
        self.access_times.append(time)
        self.access_counts.append(count)

    def finished(
        self,
        names: Sequence[str],
        processors: Sequence[int] | None = None,
        useful: Collection[str] | None = None,
        rest: str = "idle",
        until: float | None = None,
        waiting: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
        kinds: Sequence[str] = (),
    ) -> ReadTrace:
        """Check all columns. Return the trace with a function that books each instant of a
        processor once.

        It is booked to the span that began last, of branches side by side to the one that ends
        last.

        Parameters
        ----------
        names : of the processors
        processors : of each lane; a lane is a processor if None
        useful : labels of useful work; all but waits (`slipstick_measure.traces.kinds`) if None
        rest, waiting : as for `ProgramTrace`
        kinds : of the tracks, for each name
        until : where the trace ends, in units of the file; where the last span or access does if
            None

        Raises
        ------
        SpecError : nothing in it, a time that is negative or too late, a span that ends before it
            begins
        """
        first_time, last_time = self._first_and_last_time(until)
        duration = (last_time - first_time) * self.seconds_per_unit
        if not duration > 0:
            self.refuse("all events are at one time; a trace lasts longer than that")
        labels = tuple(self.number_by_label)
        objects = tuple(self.number_by_object)
        if useful is None:
            useful = [label for label in labels if not is_wait(label)]
            if names_of_waits := named_waits(labels):
                names_in_words = ", ".join(name[:60] for name in names_of_waits[:6])
                more_in_words = (
                    f" and {len(names_of_waits) - 6} more" if len(names_of_waits) > 6 else ""
                )
                self.add_note(
                    f"read as waits because of their names: {names_in_words}{more_in_words};"
                    " --useful names useful work"
                )
        outline = TraceOutline(
            shown_name(self.path),
            tuple(names[index] for index in _indices_in_natural_order(names)),
            labels,
            tuple(objects[index] for index in _indices_in_natural_order(objects))
            if self.access_lanes
            else labels,
            duration,
            tuple(useful),
            rest,
            waiting or {},
            kinds=tuple(kinds[index] for index in _indices_in_natural_order(names))
            if kinds
            else (),
        )
        return ReadTrace(
            outline,
            partial(self._book_trace, outline, names, processors, first_time, until is not None),
        )

    def smallest_number(self, subject: str, column: array[float]) -> float:
        """Return the smallest number of a column; raise for numbers that are negative or not
        finite.
        """
        smallest_value = min(column, default=inf)
        if not (smallest_value >= 0 and sum(column) < inf):  # a sum with NaN in it is NaN
            invalid_number = next((time for time in column if not 0 <= time < inf), None)
            if invalid_number is not None:
                self.refuse(
                    f"a {subject} is a finite number and not negative; got {invalid_number:g}",
                    subject=subject,
                )
        return smallest_value

    def _first_and_last_time(self, until: float | None) -> tuple[float, float]:
        """Return the first and the last time of the trace; raise for times out of order or out of
        range. This works without NumPy, so that a check need not load it.
        """
        if not (self.span_starts or self.access_times):
            self.refuse(
                "there is no event of a processor in it; the program may have failed to write it"
            )
        if not all(map(le, self.span_starts, self.span_ends)):
            index = indexOf(map(le, self.span_starts, self.span_ends), False)
            first_start = self.span_starts[index]
            last_end = self.span_ends[index]
            if last_end < first_start:
                self.refuse(
                    f"a span of {last_end - first_start:g} is negative: from"
                    f" {first_start:g} to {last_end:g}, span"
                    f" {index + 1:,} of the file",
                    subject="time",
                )
            self.smallest_number("time", self.span_ends)  # one of the two is no number
        first_time = min(
            self.smallest_number("time", self.span_starts),
            self.smallest_number("time", self.access_times),
        )
        self.smallest_number("count", self.access_counts)
        last_time = max(max(times, default=0.0) for times in (self.span_ends, self.access_times))
        last_end = last_time if until is None else until
        if (latest_time := max(last_time, last_end) * self.seconds_per_unit) > LATEST_TIME:
            self.refuse(
                f"a time of {latest_time:g} s is out of range; is its unit right?", subject="time"
            )
        if (access_count := sum(self.access_counts)) > MOST_COUNTED_ACCESSES:
            self.refuse(
                f"{access_count:g} accesses are out of range; at most {MOST_COUNTED_ACCESSES:g} are"
                " counted",
                subject="count",
            )
        return first_time, last_end

    def _book_trace(
        self,
        outline: TraceOutline,
        names: Sequence[str],
        processors: Sequence[int] | None,
        first_time: float,
        is_cut: bool,
    ) -> ProgramTrace:
        """Book each instant of a processor to one span, in place. Return the trace."""
        lanes_of_spans, labels_of_spans, starts, ends = map(
            _as_array, (self.span_lanes, self.span_labels, self.span_starts, self.span_ends)
        )
        lanes_of_accesses, objects_of_accesses, times, counts = map(
            _as_array,
            (self.access_lanes, self.access_objects, self.access_times, self.access_counts),
        )
        resolution = max(
            self.resolution,
            8.0
            * ulp(first_time + outline.duration / self.seconds_per_unit)
            * self.seconds_per_unit,
        )
        for column in (starts, ends, times):  # in place, for there may be many
            column -= first_time
            column *= self.seconds_per_unit
        processor_of_lane = np.argsort(_indices_in_natural_order(names)).astype(np.intc)[
            slice(None) if processors is None else list(processors)
        ]
        spans = TraceSpans(lanes_of_spans, labels_of_spans, starts, ends)
        if is_cut:
            spans = replace(spans, ends=np.minimum(ends, outline.duration)).select(
                starts < outline.duration
            )
        booked_spans = self._book_spans(spans, processor_of_lane, resolution)
        if len(lanes_of_accesses):
            accesses = Accesses(
                processor_of_lane[lanes_of_accesses],
                np.argsort(_indices_in_natural_order(tuple(self.number_by_object)))[
                    objects_of_accesses
                ],
                times,
                counts,
            )
        else:  # each span is one to what it names
            accessing_spans = (
                booked_spans
                if booked_spans.starts is starts
                else replace(spans, processor_indices=processor_of_lane[spans.processor_indices])
            )
            accesses = Accesses(
                accessing_spans.processor_indices,
                accessing_spans.label_indices,
                accessing_spans.starts,
                np.broadcast_to(1.0, len(accessing_spans.starts)),
            )
        value_by_field: dict[str, Any] = {
            name: getattr(outline, name) for name in TraceOutline.__slots__
        }
        value_by_field["waiting"] = {
            name: tuple(map(np.array, arrays)) for name, arrays in value_by_field["waiting"].items()
        }
        return ProgramTrace(
            **value_by_field, spans=booked_spans, accesses=accesses, notes=tuple(self.notes)
        )

    def _book_spans(
        self, spans: TraceSpans, processor_of_lane: NDArray[np.intc], resolution: float
    ) -> TraceSpans:
        """Book each instant of a lane to one span, then each instant of a processor to one lane."""
        is_lasting = spans.ends > spans.starts
        # Spans may be many, so that they are copied only if some are left out.
        spans = _sort_spans(spans if is_lasting.all() else spans.select(is_lasting))
        spans, crossing_count = _innermost_spans(spans, resolution)
        if crossing_count:
            self.add_note(
                f"{crossing_count:,} spans of one processor overlap, neither inside the other; the"
                " later one is booked"
            )
        spans_by_processor = TraceSpans(
            processor_of_lane[spans.processor_indices],
            spans.label_indices,
            spans.starts,
            spans.ends,
        )
        if len(np.unique(processor_of_lane)) == len(processor_of_lane):
            return spans_by_processor
        return _longest_branches(spans_by_processor, spans.processor_indices, resolution)


def processor_names(threads: Sequence[tuple[Hashable, str, str, str]]) -> list[str]:
    """Return a unique name for each thread: its own, preceded by that of its process if there are
    several processes, and followed by numbers if names repeat.

    Parameters
    ----------
    threads : of each its process, the name of that, its own name, and the numbers of both
    """
    are_several_processes = len({process for process, *_ in threads}) > 1
    full_names = [
        f"{process}/{thread}" if are_several_processes else thread
        for _, process, thread, _ in threads
    ]
    count_by_name = Counter(full_names)
    return [
        f"{name} ({number_text})" if count_by_name[name] > 1 else name
        for name, (*_, number_text) in zip(full_names, threads, strict=True)
    ]


def _indices_in_natural_order(names: Sequence[str]) -> list[int]:
    """Return the indices that sort names; numbers in names are compared by value."""
    sort_keys = [
        [
            (not name_part.isdecimal(), int(name_part) if name_part.isdecimal() else 0, name_part)
            for name_part in re.split("([0-9]{1,18})", name)
        ]
        for name in names
    ]
    return sorted(range(len(names)), key=sort_keys.__getitem__)


def _as_array(column: Any) -> Any:
    """Return an `array` of numbers as a NumPy array, without a copy."""
    number_type = np.intc if column.typecode == "i" else np.float64
    return np.frombuffer(column, dtype=number_type) if column else np.zeros(0, dtype=number_type)


def _sort_spans(spans: TraceSpans) -> TraceSpans:
    """Sort spans by processor and start, in place; of spans that begin together, the longer one
    comes first.

    Traces are mostly in the order of time, and to sort them by processor is enough, which takes a
    third of the time.
    """
    processors = spans.processor_indices
    starts = spans.starts
    ends = spans.ends
    if (processors[1:] < processors[:-1]).any():
        spans.arrange(
            np.argsort(
                processors.astype(np.uint16) if processors.max() < 1 << 16 else processors,
                kind="stable",
            )
        )
    is_same_processor = processors[1:] == processors[:-1]
    if (
        is_same_processor
        & ((starts[1:] < starts[:-1]) | ((starts[1:] == starts[:-1]) & (ends[1:] > ends[:-1])))
    ).any():
        np.negative(ends, out=ends)
        span_order = np.lexsort((ends, starts, processors))
        np.negative(ends, out=ends)
        spans.arrange(span_order)
    return spans


def _innermost_spans(spans: TraceSpans, resolution: float) -> tuple[TraceSpans, int]:
    """Book each instant to the span that began last. Return the resulting spans, and the number of
    spans that overlap without nesting.
    """
    overlaps = (spans.processor_indices[1:] == spans.processor_indices[:-1]) & (
        spans.starts[1:] < spans.ends[:-1] - resolution
    )
    processors_with_overlaps = set(np.unique(spans.processor_indices[:-1][overlaps]).tolist())
    if not processors_with_overlaps:
        return spans, 0
    crossing_count = 0
    parts_by_column = [list[Any](), [], [], []]
    processors, first_indices = np.unique(spans.processor_indices, return_index=True)
    end_indices = np.append(first_indices[1:], len(spans.starts))
    for processor, first_index, end_index in zip(
        processors.tolist(), first_indices.tolist(), end_indices.tolist(), strict=True
    ):
        spans_of_processor = spans.select(slice(first_index, end_index))
        if processor in processors_with_overlaps:
            labels, starts, ends, crossings_of_processor = _pieces_of_innermost_spans(
                spans_of_processor, resolution
            )
            crossing_count += crossings_of_processor
            processor_column = np.full(len(labels), processor, dtype=np.intc)
            spans_of_processor = TraceSpans(
                processor_column, *map(_as_array, (labels, starts, ends))
            )
        for column, column_name in zip(parts_by_column, TraceSpans.__slots__, strict=True):
            column.append(getattr(spans_of_processor, column_name))
    del spans
    joined_columns = []
    while parts_by_column:
        joined_columns.append(np.concatenate(parts_by_column.pop(0)))
    return TraceSpans(*joined_columns), crossing_count


def _pieces_of_innermost_spans(
    spans: TraceSpans, resolution: float
) -> tuple[array[int], array[float], array[float], int]:
    """Return, for the spans of one processor in order, the pieces of time with the span that began
    last in each, and the number of spans that overlap without nesting.
    """
    labels = array("i")
    starts = array("d")
    ends = array("d")
    crossing_count = 0
    open_spans: list[tuple[float, int]] = []
    booked_until = 0.0

    def add_piece(until: float, label: int) -> None:
        """Add the piece of time from `booked_until` to `until`, with the label of its span."""
        labels.append(label)
        starts.append(booked_until)
        ends.append(until)

    columns = (spans.starts.tolist(), spans.ends.tolist(), spans.label_indices.tolist())
    # The added span at infinity ends all open spans.
    for start, end, label in chain(zip(*columns, strict=True), [(inf, inf, -1)]):
        while open_spans and open_spans[-1][0] <= start + resolution:
            until, label_on_top = open_spans.pop()
            if until > booked_until:
                add_piece(until, label_on_top)
                booked_until = until
        if open_spans:
            crossing_count += end > open_spans[-1][0] + resolution
            if start > booked_until:
                add_piece(start, open_spans[-1][1])
        open_spans.append((end, label))
        booked_until = max(start, booked_until)
    return labels, starts, ends, crossing_count


def _longest_branches(spans: TraceSpans, lanes: Indices, resolution: float) -> TraceSpans:
    """Return spans that cover each instant of a processor at most once: while it executes parallel
    branches, the spans of the branch that ends last and, in its gaps, those of other branches.

    Branches belong together from a time at which none runs to the next such time. A fork ends with
    the branch that ends last, so the account does not contain its other branches.
    """
    columns = (spans.processor_indices, spans.starts, spans.ends, spans.label_indices, lanes)
    visible_spans: list[tuple[int, float, float, int]] = []
    spans_of_fork: list[tuple[float, float, int, int]] = []
    previous_processor = -1
    latest_end = 0.0
    for processor, start, end, label, lane_of_span in sorted(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if processor != previous_processor or start >= latest_end - resolution:
            visible_spans += [
                (previous_processor, *piece) for piece in _visible_pieces(spans_of_fork)
            ]
            spans_of_fork = []
            latest_end = 0.0
        previous_processor = processor
        latest_end = max(latest_end, end)
        spans_of_fork.append((start, end, label, lane_of_span))
    visible_spans += [(previous_processor, *piece) for piece in _visible_pieces(spans_of_fork)]
    processors, starts, ends, labels = map(np.array, zip(*sorted(visible_spans), strict=True))
    return TraceSpans(processors, labels, starts, ends)


def _visible_pieces(
    spans_of_fork: Sequence[tuple[float, float, int, int]],
) -> list[tuple[float, float, int]]:
    """Return the pieces (start, end, label) of the spans of a fork's branches, without the time
    that spans of a branch that ends later cover.
    """
    end_by_branch: dict[int, float] = {}
    for _, end, _, branch in spans_of_fork:
        end_by_branch[branch] = max(end_by_branch.get(branch, 0.0), end)
    free_intervals = [
        (
            min((start for start, *_ in spans_of_fork), default=0.0),
            max(end_by_branch.values(), default=0.0),
        )
    ]
    visible_pieces = []
    for branch in sorted(end_by_branch, key=lambda branch: -end_by_branch[branch]):
        for start, end, label, branch_of_span in spans_of_fork:
            if branch_of_span == branch:
                visible_pieces += [
                    (max(start, free_start), min(end, free_end), label)
                    for free_start, free_end in free_intervals
                    if start < free_end and free_start < end
                ]
                free_intervals = [
                    interval
                    for free_start, free_end in free_intervals
                    for interval in (
                        (free_start, min(free_end, start)),
                        (max(free_start, end), free_end),
                    )
                    if interval[0] < interval[1]
                ]
    return visible_pieces


def trace_of_timeline(timeline: Timeline, name: str) -> ProgramTrace:
    """Return the timeline of a simulated run as a trace, up to the time until which the timeline is
    complete for all processors.

    Its accesses are the requests to stations, such as memory modules and the words of locks, and
    the times in monitors of pools, each at its start; where there are none, each span is an access
    to what it is booked to.

    Parameters
    ----------
    timeline : of a run
    name : of the model, for notes
    """
    columns = TraceColumns(name)
    complete_until = timeline.complete_until
    for span in timeline.spans:
        label_number = columns.number_of_name(columns.number_by_label, timeline.component(span))
        lane = columns.number_of_name(columns.number_by_lane, (span.member, span.branch))
        columns.add_span(lane, label_number, span.start, span.end)
        if label_number == columns.number_by_label.get("monitor") and span.start < complete_until:
            columns.add_access(lane, timeline.places[span.label], span.start)
    for member, station, start in timeline.visits:
        if start < complete_until and not is_processor(station):
            columns.add_access(
                columns.number_of_name(columns.number_by_lane, (member, 0)), station, start
            )
    return trace_of_members(
        columns, timeline.useful, timeline.complete_until, timeline.levels
    ).book()


def trace_of_members(
    columns: TraceColumns,
    useful: Collection[str],
    until: float,
    changes_by_resource: Mapping[str, Sequence[tuple[float, int, int]]],
) -> ReadTrace:
    """Complete the trace of a simulated run, whose lanes are (member, branch).

    Parameters
    ----------
    columns : its columns
    useful : components that are useful work
    until : how far it is complete, in units of the columns
    changes_by_resource : by resource, (time, present, busy) from each change on
    """
    member_by_lane = [
        lane_key[0] for lane_key in columns.number_by_lane if isinstance(lane_key, tuple)
    ]
    members = sorted(set(member_by_lane))
    waiting_by_resource = {}
    for name, changes in changes_by_resource.items():
        waiting_by_resource[name] = (
            [time * columns.seconds_per_unit for time, _, _ in changes],
            [float(present - busy) for _, present, busy in changes],
        )
    processor_of_lane = list(map(members.index, member_by_lane))
    return columns.finished(
        [f"processor {member}" for member in members],
        processor_of_lane,
        useful,
        until=until,
        waiting=waiting_by_resource,
    )
