"""Chrome trace JSON, as browsers, Perfetto, viztracer, PyTorch and `slipstick solve --timeline`
write it; packed or not.

A thread is a processor; of slipstick's own time lines, whose threads are branches, a process is.
Spans are complete events (X) and pairs of B and E; arrows between processors (s, f) are accesses of
the one where an arrow ends by the one where it begins. The text is parsed piece by piece, so that
its size does not matter for the memory.

Format: the Trace Event Format, whose times are microseconds; Chrome's own importer adds a missing
bracket at the end.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import chain
from json.decoder import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick.limits import limit_in_force, too_many_message
from slipstick_measure.traces.kinds import ANNOTATIONS, STREAM, STREAM_CATEGORIES, THREAD
from slipstick_measure.traces.trace import (
    ADVICE_ON_SIZE,
    BUSY_LABEL,
    ReadTrace,
    TraceColumns,
    processor_names,
    trace_of_members,
)

LONGEST_VALUE = 64 * 1024 * 1024
"""Characters of one event, or of one value beside the events."""

CHARACTERS_AT_ONCE = 1 << 16
"""Characters of events that are parsed at once."""

MICROSECOND = 1e-6
_BLANKS = " \t\r\n\ufeff"
_SEPARATORS = late_pattern(r"[\s,]*")


class _JsonReader:
    """A reader that parses the values of a JSON text piece by piece."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self.pieces = pieces
        self.text = ""
        self.position = 0
        self.tried_position = 0
        self.is_closed = True
        decoder: Any = JSONDecoder()
        # A third faster than raw_decode, which only words its errors.
        self.parse_at = decoder.scan_once

    def read_more(self) -> bool:
        """Read at least as much further text as is still unread, so that a long value is parsed
        again only a few times. Return whether there was further text.
        """
        unread_text = self.text[self.position :]
        further_pieces: list[str] = []
        while sum(map(len, further_pieces)) <= len(unread_text) and (
            piece := next(self.pieces, "")
        ):
            further_pieces.append(piece)
        self.text = unread_text + "".join(further_pieces)
        self.position = 0
        self.tried_position = 0
        return bool(further_pieces)

    def next_character(self) -> str:
        """Return the next character that is not blank, without consuming it; empty at the end."""
        while True:
            while self.position < len(self.text):
                if self.text[self.position] not in _BLANKS:
                    return self.text[self.position]
                self.position += 1
            if not self.read_more():
                return ""

    def read_value(self) -> Any:
        """Read a value; raise ValueError if there is none, and EOFError if the text ends in it."""
        while True:
            try:
                value, value_end = self.parse_at(self.text, self.position)
                # A number at the end of what was read may go on.
                if value_end < len(self.text) or not self.read_more():
                    self.position = value_end
                    return value
            except (StopIteration, JSONDecodeError) as error:
                if len(self.text) - self.position > LONGEST_VALUE:
                    raise ValueError("no value") from error
                if not self.read_more():
                    error_position = (
                        error.pos if isinstance(error, JSONDecodeError) else error.value
                    )
                    is_cut = error_position >= len(self.text) - 1 or str(error).startswith(
                        "Unterminated"
                    )
                    raise (EOFError if is_cut else ValueError) from error

    def keys_of_object(self) -> Iterator[str]:
        """Yield the keys of an object, each consumed up to its colon; `is_closed` becomes false
        if the closing brace is missing.
        """
        while (next_character := self.next_character()) not in ("}", ""):
            self.position += 1
            if next_character in ",{":
                continue
            self.position -= 1
            key = self.read_value()
            if not isinstance(key, str) or self.next_character() != ":":
                raise ValueError("no key")
            self.position += 1
            self.next_character()
            yield key
        self.position += len(next_character)
        self.is_closed = self.is_closed and bool(next_character)

    def values_of_list(self) -> Iterator[Any]:
        """Yield the values of a list; `is_closed` becomes false if its end is missing."""
        self.position += 1
        while True:
            self.position = _SEPARATORS.match(self.text, self.position).end()  # type: ignore[union-attr]
            if self.position < len(self.text):
                if self.text[self.position] == "]":
                    self.position += 1
                    return
                yield from self._read_several() or (self.read_value(),)
            elif not self.read_more():
                self.is_closed = False
                return

    def _read_several(self) -> list[Any]:
        """Read several values of a list at once, up to a place that looks like the end of one;
        return none if that place is inside a value.
        """
        last_end = self.text.rfind("},", self.position, self.position + CHARACTERS_AT_ONCE) + 1
        if last_end <= self.tried_position:
            return []
        self.tried_position = last_end  # so that no text is tried twice
        array_text = f"[{self.text[self.position : last_end]}]"
        try:
            values, text_end = self.parse_at(array_text, 0)
        except (StopIteration, ValueError, RecursionError):
            return []
        if text_end < len(array_text):
            return []
        self.position = last_end
        events: list[Any] = values
        return events


class ChromeReader:
    """A reader of the events of a trace file into columns."""

    def __init__(self, columns: TraceColumns) -> None:
        self.columns = columns
        self.is_own_format = False
        self.complete_until = 0.0
        self.useful_labels: list[str] | None = None
        self.name_of_process_or_thread: dict[Hashable, str] = {}
        self.left_out_count_by_phase: Counter[str] = Counter()
        self.annotations: list[dict[str, Any]] = []
        self.stream_lanes: set[int] = set()
        self.changes_by_resource: dict[str, list[tuple[float, int, int]]] = {}
        self.ends_by_arrow: dict[Hashable, list[tuple[float, Hashable, bool]]] = {}
        self.edge_lanes = array("i")
        self.edge_labels = array("i")
        self.edge_times = array("d")

    def read(self, pieces: Iterator[str]) -> ReadTrace:
        """Read all events of a file. Return the trace."""
        json_reader = _JsonReader(pieces)
        event_count = 0
        most_events = limit_in_force("events")
        add_event = self._add_event
        try:
            for event in self._events_of_file(json_reader):
                event_count += 1
                if event_count > most_events:
                    self.columns.refuse(too_many_message("events", "events", ADVICE_ON_SIZE))
                add_event(event, event_count)
            if json_reader.is_closed and json_reader.next_character():
                self.columns.add_note(
                    "what follows the events is not read, near"
                    f" {short(json_reader.text[json_reader.position :][:40])}"
                )
        except EOFError:
            self.columns.refuse(
                f"the file ends, or is damaged, inside a value after {event_count:,} events"
            )
        except TypeError:
            self.columns.refuse(
                f"the pid or tid of event {event_count:,} must be a number or a text"
            )
        except RecursionError:
            self.columns.refuse(f"the value after event {event_count:,} is nested too deeply")
        except ValueError:
            self.columns.refuse(
                f"this is no JSON after {event_count:,} events, near"
                f" {short(json_reader.text[json_reader.position :][:40])}"
            )
        if not json_reader.is_closed:
            self.columns.add_note(
                f"the last bracket is missing, after {event_count:,} events; what wrote them"
                " may have"
                " been stopped"
            )
        self._add_annotations()
        self._pair_begins_and_ends()
        return self._finished_trace()

    def _events_of_file(self, json_reader: _JsonReader) -> Iterator[Any]:
        """Yield the events of a file; record whether its other data say that slipstick wrote it."""
        if json_reader.next_character() == "[":
            yield from json_reader.values_of_list()
            return
        for key in json_reader.keys_of_object():
            if key == "traceEvents" and json_reader.next_character() == "[":
                yield from json_reader.values_of_list()
            elif key == "otherData":
                match json_reader.read_value():
                    case {
                        "writer": "slipstick",
                        "useful": [*useful],
                        "until": int() | float() as until,
                    }:
                        self.is_own_format = True
                        self.useful_labels = [str(label) for label in useful]
                        self.complete_until = self.columns.parse_number(until, "end (until)")
            else:
                json_reader.read_value()

    def _add_event(self, event: Any, event_number: int) -> None:
        """Add an event to the columns."""
        phase = (
            event.get("ph")
            if isinstance(event, dict)
            else self.columns.refuse(f"event {event_number:,} is no object")
        )
        if phase == "X":
            category = event.get("cat")
            if category in ANNOTATIONS and not self.is_own_format:
                self.annotations.append(event)
                return
            lane, time = self._lane_and_time(event, event_number)
            if str(category).casefold() in STREAM_CATEGORIES:
                self.stream_lanes.add(lane)
            duration = event.get("dur", 0.0)
            if type(duration) is not float:
                duration = self.columns.parse_number(
                    duration, f"length (dur) of event {event_number:,}"
                )
            self.columns.add_span(lane, self._label_number(event), time, time + duration)
        elif phase in ("B", "E"):
            lane, time = self._lane_and_time(event, event_number)
            self.edge_lanes.append(lane)
            self.edge_labels.append(self._label_number(event) if phase == "B" else -1)
            self.edge_times.append(time)
        elif phase in ("s", "f", "t"):
            arrow_key = str((event.get("cat"), event.get("id"), event.get("name")))
            time = self._time_of_event(event, event_number)
            process_and_thread = (event.get("pid"), event.get("tid"))
            self.ends_by_arrow.setdefault(arrow_key, []).append(
                (time, process_and_thread, phase == "s")
            )
        elif phase == "M":
            self._record_name(event)
        elif phase == "C" and self.is_own_format:
            match event:
                case {
                    "name": str(name),
                    "ts": time_value,
                    "args": {"present": int(present), "busy": int(busy)},
                }:
                    self.changes_by_resource.setdefault(name, []).append(
                        (self.columns.parse_number(time_value, "time (ts)"), present, busy)
                    )
        else:
            self.left_out_count_by_phase[str(phase)] += 1

    def _lane_and_time(self, event: dict[str, Any], event_number: int) -> tuple[int, float]:
        """Return the number of an event's thread, and its time, which may be in quotes."""
        columns = self.columns
        time = self._time_of_event(event, event_number)
        process_and_thread = (event.get("pid"), event.get("tid"))
        lane = columns.number_by_lane.get(process_and_thread)
        return (
            columns.number_of_name(columns.number_by_lane, process_and_thread)
            if lane is None
            else lane
        ), time

    def _time_of_event(self, event: dict[str, Any], event_number: int) -> float:
        """Return the time of an event."""
        time = event.get("ts")
        if type(time) is float:
            return time
        return self.columns.parse_number(time, f"time (ts) of event {event_number:,}")

    def _label_number(self, event: dict[str, Any]) -> int:
        """Return the number of the label of an event."""
        name = event.get("cat" if self.is_own_format else "name", BUSY_LABEL)
        name = name if type(name) is str else str(name)
        label = self.columns.number_by_label.get(name)
        return (
            self.columns.number_of_name(self.columns.number_by_label, name)
            if label is None
            else label
        )

    def _record_name(self, event: dict[str, Any]) -> None:
        """Record the name of a process or a thread that an event states."""
        match event:
            case {"name": "process_name", "pid": pid, "args": {"name": str(name)}}:
                self.name_of_process_or_thread[str(pid)] = name
            case {"name": "thread_name", "pid": pid, "tid": tid, "args": {"name": str(name)}}:
                self.name_of_process_or_thread[str(pid), str(tid)] = name

    def _pair_begins_and_ends(self) -> None:
        """Pair the begin and end events of each thread in the order of time; events at the same
        time in the order of the file.
        """
        open_spans_by_lane: list[list[int]] = [[] for _ in self.columns.number_by_lane]
        edge_times = self.edge_times
        unmatched_end_count = 0
        self.columns.smallest_number("time", edge_times)  # NaN has no place in an order
        last_time = max(max(column, default=0.0) for column in (edge_times, self.columns.span_ends))
        for edge_index in sorted(range(len(edge_times)), key=edge_times.__getitem__):
            lane = self.edge_lanes[edge_index]
            label_number = self.edge_labels[edge_index]
            event_time = edge_times[edge_index]
            if label_number >= 0:
                open_spans_by_lane[lane].append(
                    self.columns.begin_span(lane, label_number, event_time)
                )
            elif open_spans_by_lane[lane]:
                self.columns.span_ends[open_spans_by_lane[lane].pop()] = event_time
            else:
                unmatched_end_count += 1
        self.columns.close_open_spans(
            list(chain.from_iterable(open_spans_by_lane)), last_time, unmatched_end_count
        )

    def _add_annotations(self) -> None:
        """Note that spans which only annotate a stretch of time are left out; if a trace has no
        other spans, add these to the columns as activities.
        """
        if not self.annotations:
            return
        if len(self.columns.span_starts):
            annotation_names = dict.fromkeys(
                str(annotation.get("name"))[:60] for annotation in self.annotations
            )
            names_in_words = ", ".join(list(annotation_names)[:4])
            self.columns.add_note(
                f"{len(self.annotations):,} annotations mark times and are no activity; left out:"
                f" {names_in_words}{', ...' if len(annotation_names) > 4 else ''}"
            )
            return
        for event_number, event in enumerate(self.annotations, 1):
            self._add_event({**event, "cat": ""}, event_number)

    def _finished_trace(self) -> ReadTrace:
        """Add an access for each arrow between processors, and return the trace."""
        columns = self.columns
        if self.is_own_format:
            return trace_of_members(
                columns, self.useful_labels or (), self.complete_until, self.changes_by_resource
            )
        names = self._processor_names()
        lanes = columns.number_by_lane
        broken_arrow_count = 0
        for ends_of_arrow in self.ends_by_arrow.values():
            # A track with ends of arrows alone did nothing, so it is no processor.
            known_ends = [
                (time, lanes[process_and_thread], is_begin)
                for time, process_and_thread, is_begin in ends_of_arrow
                if process_and_thread in lanes
            ]
            arrow_begins = [end_of_arrow for end_of_arrow in known_ends if end_of_arrow[2]]
            arrow_ends = [end_of_arrow for end_of_arrow in known_ends if not end_of_arrow[2]]
            if len(arrow_begins) != 1 or not arrow_ends:
                broken_arrow_count += 1
            for time, lane, _ in arrow_ends if len(arrow_begins) == 1 else ():
                columns.add_access(arrow_begins[0][1], names[lane], time)
        if broken_arrow_count:
            columns.add_note(f"{broken_arrow_count:,} arrows have no beginning or no end; left out")
        if self.left_out_count_by_phase:
            names_in_words = ", ".join(
                f"{count:,} of kind {short(phase)}"
                for phase, count in self.left_out_count_by_phase.items()
            )
            columns.add_note(f"events that are no spans of a thread are left out: {names_in_words}")
        track_kinds = [STREAM if self._is_stream(index) else THREAD for index in range(len(names))]
        return columns.finished(names, kinds=track_kinds if len(set(track_kinds)) > 1 else ())

    def _is_stream(self, lane: int) -> bool:
        """Return whether a track is a stream of a GPU, by its kernels or its name."""
        process_and_thread = list(self.columns.number_by_lane)[lane]
        name = (
            self.name_of_process_or_thread.get(
                (str(process_and_thread[0]), str(process_and_thread[1])), ""
            )
            if isinstance(process_and_thread, tuple)
            else ""
        )
        return lane in self.stream_lanes or name.casefold().startswith(("stream ", "gpu stream"))

    def _processor_names(self) -> list[str]:
        """Return the names of threads as in the file, with the process if there are several
        processes, and with numbers if names repeat.
        """
        processes_and_threads = [
            key for key in self.columns.number_by_lane if isinstance(key, tuple)
        ]
        return processor_names(
            [
                (
                    pid,
                    self.name_of_process_or_thread.get(str(pid), str(pid)),
                    self.name_of_process_or_thread.get((str(pid), str(tid)), str(tid)),
                    f"{pid}/{tid}",
                )
                for pid, tid in processes_and_threads
            ]
        )


def is_chrome(text: str) -> bool:
    """Return whether a text begins like a trace in the Chrome format."""
    beginning = text.lstrip("\ufeff \t\r\n")
    return (
        '"traceEvents"' in text if beginning[:1] == "{" else beginning[:1] == "[" and '"ph"' in text
    )


def read_chrome(path: Path | str, pieces: Iterator[str]) -> ReadTrace:
    """Read a trace of the Chrome format, events in JSON.

    Parameters
    ----------
    path : of the file, for messages
    pieces : its text, piece by piece

    Raises
    ------
    SpecError : no JSON, or something in it that is no trace
    """
    return ChromeReader(TraceColumns(path, seconds_per_unit=MICROSECOND)).read(pieces)
