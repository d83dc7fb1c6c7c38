"""Operations on GPUs as ``nsys stats --report cuda_gpu_trace --format csv`` of Nsight Systems and
rocprof of ROCm list them: kernels and copies by stream.

Format: heading ``Start (ns),Duration (ns),...,Device,Ctx,...,Strm,Name``; an older one has
``Stream`` and other units of time in the brackets. Rocprof's has ``BeginNs`` and ``EndNs`` with the
kernel's name, rocprofv3's ``Start_Timestamp`` and ``End_Timestamp`` in nanoseconds, with a stream
or a queue.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from slipstick.late import late_pattern
from slipstick_measure.traces.kinds import STREAM
from slipstick_measure.traces.trace import ReadTrace, TraceColumns

_HEADING = late_pattern(
    r"^\"?Start ?\((?P<unit>[num]?s|sec)\)\"?,\"?Duration(?: ?\((?P=unit)\))?\"?,.*\bName\"?\s*$",
    re.MULTILINE,
)
_ROCPROF = late_pattern(
    r"^(?=.*\b(?:BeginNs|Start_Timestamp)\b)(?=.*\b(?:EndNs|End_Timestamp)\b)"
    r"(?=.*\b(?:Kernel_?Name|Direction)\b)(?P<unit>)\"?[A-Z].*$",
    re.MULTILINE,
)
_HEADINGS_BY_KEY: Mapping[str, tuple[str, ...]] = {
    "start": ("Start", "BeginNs", "Start_Timestamp"),
    "duration": ("Duration",),
    "end": ("EndNs", "End_Timestamp"),
    "name": ("Name", "KernelName", "Kernel_Name", "Direction"),
    "stream": ("Strm", "Stream", "Stream_Id", "Queue_Id", "queue-id"),
    "device": ("Device", "Agent_Id", "gpu-id"),
}
"""Headings of what is read, the preferred first."""

_SECONDS = {"": 1e-9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}


def is_gpu_list(text: str) -> bool:
    """Return whether a text has the heading of a list of operations of GPUs."""
    return _HEADING.search(text) is not None or _ROCPROF.search(text[:4000]) is not None


def read_gpu_list(path: Path | str, lines: Iterator[tuple[int, str]]) -> ReadTrace:
    """Read operations into spans of streams, named by device and stream.

    Parameters
    ----------
    path : of the file
    lines : of it, with their numbers; what stands before the heading is left out

    Raises
    ------
    SpecError : a row of another length, or a time that is no number, at its line
    """
    columns = TraceColumns(path)
    heading_line, heading_text, unit = next(
        (
            (heading_line, line_text, match["unit"])
            for heading_line, line_text in lines
            if (match := _HEADING.match(line_text) or _ROCPROF.match(line_text))
        ),
        (1, "", ""),
    )
    if not heading_text:
        columns.refuse("there is no heading of a list of operations: Start (ns),Duration (ns),...")
    columns.seconds_per_unit = _SECONDS[unit]
    try:
        column_names = next(csv.reader([heading_text]))
    except csv.Error as error:
        columns.refuse(f"this is not a line of a table: {error}; check the quotes")
    index_by_heading = {
        re.sub(r" ?\(.*", "", name): index for index, name in enumerate(column_names)
    }
    index_by_key = {
        quantity: next(index_by_heading[word] for word in headings if word in index_by_heading)
        for quantity, headings in _HEADINGS_BY_KEY.items()
        if any(word in index_by_heading for word in headings)
    }
    stream_index = index_by_key.get("stream")
    device_index = index_by_key.get("device")
    if stream_index is None:
        columns.refuse("there is no column of the stream (Strm)", heading_line)
    for line_number, line_text in lines:
        if not line_text.strip():
            continue
        try:
            cells = next(csv.reader([line_text], strict=True))
        except csv.Error as error:
            columns.refuse(f"this is no line of a list of operations: {error}", line_number)
        if len(cells) != len(column_names):
            columns.refuse(
                f"{len(cells)} values, where the heading promises {len(column_names)}", line_number
            )
        start = columns.parse_number(cells[index_by_key["start"]], "start", line_number)
        end = (
            columns.parse_number(cells[index_by_key["end"]], "end", line_number)
            if "end" in index_by_key
            else start
            + columns.parse_number(cells[index_by_key["duration"]], "duration", line_number)
        )
        device_prefix = f"{cells[device_index]}/" if device_index is not None else ""
        lane = columns.number_of_name(
            columns.number_by_lane, f"{device_prefix}stream {cells[stream_index]}"
        )
        columns.add_span(
            lane,
            columns.number_of_name(columns.number_by_label, cells[index_by_key["name"]]),
            start,
            end,
        )
    stream_names = [str(name) for name in columns.number_by_lane]
    return columns.finished(stream_names, kinds=[STREAM] * len(stream_names))
