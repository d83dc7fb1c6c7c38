"""Timelines as Chrome trace JSON, which chrome://tracing, Perfetto and other viewers open."""

from __future__ import annotations

import json
from typing import Any

from slipstick.results.study import Timeline

__all__ = ["chrome_trace"]

MICROSECONDS = 1e6
RESOURCES = -1
"""The process of the trace that the counters stand under."""


def chrome_trace(timeline: Timeline) -> str:
    """Write a timeline: a processor is a process of the trace, a branch a thread of it, a resource a counter.

    Parameters
    ----------
    timeline : what to write

    Source: the Trace Event Format, complete events (X), counters (C) and metadata (M), times in microseconds.
    """
    members = sorted({span.member for span in timeline.spans})
    events = [_named(member, f"processor {member}") for member in members]
    if timeline.levels:
        events.append(_named(RESOURCES, "resources"))
    events += [
        {
            "name": span.label,
            "cat": timeline.component(span),
            "ph": "X",
            "pid": span.member,
            "tid": span.branch,
            "ts": span.start * MICROSECONDS,
            "dur": (span.end - span.start) * MICROSECONDS,
        }
        for span in timeline.spans
    ]
    for name, changes in timeline.levels.items():
        for time, present, busy in changes:
            count = {"present": present, "busy": busy}
            events.append({"name": name, "ph": "C", "pid": RESOURCES, "ts": time * MICROSECONDS, "args": count})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, allow_nan=False)


def _named(process: int, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}
