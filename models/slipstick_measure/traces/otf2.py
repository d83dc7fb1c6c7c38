"""OTF2 archives, read by OTF2's own library: locations are processors, regions are spans, messages
and remote accesses are accesses.

Score-P gives the threads of all processes the same names, so a processor is named by its process as
well where there are several. A message names its receiver by the rank in a communicator; the object
of the access is the processor of that rank. A region whose role is to communicate or to wait for
others is no useful work, whatever its name.

Format: Open Trace Format 2, whose events bear ticks of one clock; what else it records is left out,
and noted.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from slipstick.errors import import_optional, short
from slipstick.limits import limit_in_force, too_many_message
from slipstick_measure.traces.kinds import LOST_TIME_WORDS
from slipstick_measure.traces.trace import ADVICE_ON_SIZE, ReadTrace, TraceColumns, processor_names

_WAITS = {
    "BARRIER",
    "IMPLICIT_BARRIER",
    "POINT2POINT",
    "RMA",
    "TASK_WAIT",
    "THREAD_WAIT",
    "CRITICAL",
    "ORDERED",
    "ATOMIC",
}
"""Roles of regions in which a thread waits or communicates; what is done inside a critical
region has a role of its own.
"""

_PARADIGMS_OF_WAITS = {"MPI", "SHMEM", "GASPI", "MEASUREMENT_SYSTEM"}
"""Paradigms of which no call is useful work."""

_SEND_EVENTS = ("MpiSend", "MpiIsend")
_REMOTE_ACCESS_EVENTS = ("RmaPut", "RmaGet", "RmaAtomic")
_FLUSH_LABEL = "wait:buffer flush"
_UNKNOWN_COUNT = 2**64 - 1
_STANDARD_ERROR = 2


def read_otf2(path: Path | str) -> ReadTrace:
    """Read the trace in an archive, by its anchor file.

    Raises
    ------
    SpecError : this is no archive, or it is damaged, or it has too many events
    MissingExtraError : the library is not installed
    """
    module_names = ("otf2", "_otf2.ErrorCodes", "otf2.error")
    otf2, error_codes, error_module = (
        import_optional(name, "reading OTF2 archives", "") for name in module_names
    )
    columns = TraceColumns(path)
    messages = list[str]()
    try:
        with _captured_output(messages), otf2.reader.open(str(path)) as archive:
            columns.seconds_per_unit = 1.0 / archive.timer_resolution
            reader = _ArchiveReader(columns, archive.definitions)
            reader.read(archive.events)
    except (error_codes.Error, error_module.Error, OSError, RuntimeError) as error:
        columns.refuse(
            f"this is no OTF2 archive, or it is damaged: {short((messages or [str(error)])[0])}"
        )
    if messages:
        columns.add_note(f"the library of OTF2 says of the archive: {short(messages[0])}")
    return reader.finished()


@contextmanager
def _captured_output(messages: list[str]) -> Iterator[None]:
    """Keep what the library writes to standard error, from C and from Python, off the terminal; its
    first message goes into `messages`.

    The library prints each problem with the line of its source, or with a traceback. While it
    reads, what other threads print there is kept as well.
    """
    with TemporaryFile() as error_file, redirect_stderr(io.StringIO()) as printed_text:
        try:
            standard_error_copy = os.dup(_STANDARD_ERROR)
        except OSError:  # it is closed
            standard_error_copy = -1
        else:
            os.dup2(error_file.fileno(), _STANDARD_ERROR)
        try:
            yield
        finally:
            if standard_error_copy >= 0:
                os.dup2(standard_error_copy, _STANDARD_ERROR)
                os.close(standard_error_copy)
            error_file.seek(0)
            lines = error_file.read(10_000).decode("utf-8", "replace").splitlines()
            messages += printed_text.getvalue().splitlines()[-1:]
            messages += [line.partition("error: ")[2] for line in lines if "error: " in line][:1]


class _Thread:
    """A location of an archive: its number as a processor once it has an event, its open spans, and
    its number of events.
    """

    __slots__ = ("event_count", "has_spans", "lane", "name", "open_spans")

    def __init__(self, name: str, has_spans: bool) -> None:
        self.name = name
        self.has_spans = has_spans
        self.lane = -1
        self.open_spans = list[int]()
        self.event_count = 0


class _ArchiveReader:
    """A reader of the events of an archive into columns."""

    def __init__(self, columns: TraceColumns, definitions: Any) -> None:
        self.columns = columns
        locations = list(definitions.locations)
        processes = list(dict.fromkeys(location.group for location in locations))
        names = processor_names(
            [
                (
                    location.group,
                    str(location.group.name),
                    str(location.name),
                    f"{processes.index(location.group)}/{index}",
                )
                for index, location in enumerate(locations)
            ]
        )
        self.thread_by_location = {
            location: _Thread(name, _enumeration_name(location.type) != "METRIC")
            for location, name in zip(locations, names, strict=True)
        }
        self.label_number_by_region: dict[Any, int] = {}
        self.lost_labels = {_FLUSH_LABEL}
        self.left_out_count_by_kind = Counter[str]()
        self.unmatched_leave_count = 0

    def read(self, events: Any) -> None:
        """Read all events, which are ordered by time."""
        threads = self.thread_by_location
        most_events = limit_in_force("events")
        first_time = None
        time = 0
        for event_index, (location, event) in enumerate(events):
            if event_index >= most_events:
                self.columns.refuse(too_many_message("events", "events", ADVICE_ON_SIZE))
            # The first tick is subtracted as a whole number, because ticks may exceed the digits of
            # a double.
            first_time = event.time if first_time is None else first_time
            time = event.time - first_time
            thread = threads[location]
            thread.event_count += 1
            if thread.has_spans:
                self._add_event(thread, event, time)
            else:
                self.left_out_count_by_kind[type(event).__name__] += 1
        self.columns.close_open_spans(
            [span_index for thread in threads.values() for span_index in thread.open_spans],
            time,
            self.unmatched_leave_count,
        )
        if self.left_out_count_by_kind:
            kinds_in_words = ", ".join(
                f"{event_count:,} {kind}"
                for kind, event_count in self.left_out_count_by_kind.items()
            )
            self.columns.add_note(f"left out, because regions have the time: {kinds_in_words}")
        for location, thread in threads.items():
            if thread.event_count < location.number_of_events < _UNKNOWN_COUNT:
                self.columns.refuse(
                    f"{short(thread.name)} has {thread.event_count:,} events, of"
                    f" {location.number_of_events:,} that are promised; is a file cut or missing?"
                )

    def _add_event(self, thread: _Thread, event: Any, time: int) -> None:
        """Add an event of a thread to the columns."""
        columns = self.columns
        event_kind = type(event).__name__
        if thread.lane < 0:
            thread.lane = columns.number_of_name(columns.number_by_lane, thread.name)
        region: Any = getattr(event, "region", "")
        if region is None:
            columns.refuse(
                f"{short(thread.name)} enters or leaves a region that is not defined; is the"
                " archive damaged?"
            )
        if event_kind == "Enter":
            label_number = (
                self.label_number_by_region[region]
                if region in self.label_number_by_region
                else self._label_number(region)
            )
            thread.open_spans.append(columns.begin_span(thread.lane, label_number, time))
        elif event_kind == "Leave":
            if not thread.open_spans:
                self.unmatched_leave_count += 1
                return
            if columns.span_labels[thread.open_spans[-1]] != self.label_number_by_region.get(
                region
            ):
                columns.check_inside(str(region.name), thread.open_spans[-1])
            columns.span_ends[thread.open_spans.pop()] = time
        elif event_kind in _SEND_EVENTS:
            columns.add_access(
                thread.lane, self._receiver_name(event.communicator, event.receiver), time
            )
        elif event_kind in _REMOTE_ACCESS_EVENTS:
            columns.add_access(thread.lane, self._receiver_name(event.win, event.remote), time)
        elif event_kind == "BufferFlush":
            columns.add_span(
                thread.lane,
                columns.number_of_name(columns.number_by_label, _FLUSH_LABEL),
                time,
                time + event.stop_time - event.time,
            )
        else:
            self.left_out_count_by_kind[event_kind] += 1

    def finished(self) -> ReadTrace:
        """Return the trace that was read from the events."""
        useful_labels = [
            label
            for label in self.columns.number_by_label
            if label not in self.lost_labels and label.partition(":")[0] not in LOST_TIME_WORDS
        ]
        return self.columns.finished(
            [str(lane) for lane in self.columns.number_by_lane], useful=useful_labels
        )

    def _label_number(self, region: Any) -> int:
        """Return the number of the label of a region; a region that communicates or waits has a
        label that is not useful work.
        """
        name = str(region.name)
        role = _enumeration_name(region.region_role)
        if (
            role in _WAITS
            or role.startswith("COLL_")
            or _enumeration_name(region.paradigm) in _PARADIGMS_OF_WAITS
        ):
            self.lost_labels.add(name)
        return self.label_number_by_region.setdefault(
            region, self.columns.number_of_name(self.columns.number_by_label, name)
        )

    def _receiver_name(self, communicator: Any, rank: int) -> str:
        """Return the name of the processor with a rank in a communicator."""
        # The communicator may be unknown, or have no locations of its ranks.
        try:
            return self.thread_by_location[communicator.location(rank)].name
        except (
            AttributeError,
            LookupError,
        ):
            return f"rank {rank}"


def _enumeration_name(value: Any) -> str:
    """Return the name of a value of an enumeration; empty for values that newer versions of the
    library added.
    """
    try:
        return str(value).rpartition(".")[2]
    except LookupError:
        return ""
