"""Timelines: who did what when, how many were active, and how full the resources were."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TextIO

from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.plan import Plan

__all__ = ["Span", "Timeline", "record", "write_chrome_trace"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time of one member, or of one of its branches.

    Parameters
    ----------
    member, branch : who
    label : what the time is booked to
    start, end : [s]
    """

    member: int
    branch: int
    label: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """The beginning of a run in full.

    Parameters
    ----------
    spans : in the order in which they ended
    levels : by resource, (time, present, busy) from each change on
    until : how far it reaches [s]
    """

    spans: tuple[Span, ...]
    levels: dict[str, tuple[tuple[float, int, int], ...]]
    until: float

    def active(self, useful: Collection[str]) -> list[tuple[float, int]]:
        """Count who is at something useful: (from, how many), by label of the spans.

        >>> both = (Span(0, 0, "work", 0.0, 2.0), Span(1, 0, "work", 1.0, 3.0))
        >>> Timeline(both, {}, 3.0).active(["work"])
        [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 0)]
        """
        change: dict[float, int] = {}
        for span in self.spans:
            if span.label in useful and span.end > span.start:
                change[span.start] = change.get(span.start, 0) + 1
                change[span.end] = change.get(span.end, 0) - 1
        counted, count = [], 0
        for time in sorted(change):
            count += change[time]
            counted.append((time, count))
        return counted


def record(plan: Plan, seed: int = 0, until: float = float("inf"), events: int = 100_000) -> Timeline:
    """Run the beginning of a plan and keep everything.

    Parameters
    ----------
    plan : what to run
    seed : key of the random streams
    until : time at which to stop [s]
    events : at most
    """
    spans: list[Span] = []
    levels: dict[str, list[tuple[float, int, int]]] = {name: [] for name in plan.resources}

    def log(member: int, branch: int, label: int, start: float, end: float) -> None:
        if end > start:
            spans.append(Span(member, branch, plan.labels[label], start, end))

    # What is seen just before a change has held since the last one.
    since = dict.fromkeys(levels, 0.0)

    def watch(name: str, time: float, present: int, busy: int) -> None:
        if time > since[name]:
            levels[name].append((since[name], present, busy))
            since[name] = time

    kernel = Kernel(plan, seed, log=log, watch=watch)
    left = events
    while left > 0 and kernel.now < until and kernel.run(1):
        left -= 1
    return Timeline(tuple(spans), {name: tuple(each) for name, each in levels.items()}, kernel.now)


def write_chrome_trace(timeline: Timeline, file: TextIO, name: Callable[[int], str] = "processor {}".format) -> None:
    """Write a timeline as Chrome trace JSON (chrome://tracing, Perfetto), times in microseconds.

    A member is a process of the trace, a branch a thread of it, a resource a counter.
    """
    events: list[dict[str, object]] = []
    for member in sorted({span.member for span in timeline.spans}):
        events.append({"name": "process_name", "ph": "M", "pid": member, "args": {"name": name(member)}})
    for span in timeline.spans:
        times = {"ts": span.start * 1e6, "dur": (span.end - span.start) * 1e6}
        events.append({"name": span.label, "ph": "X", "pid": span.member, "tid": span.branch, **times})
    events += _counters(timeline.levels.items())
    json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)


def _counters(levels: Collection[tuple[str, Sequence[tuple[float, int, int]]]]) -> list[dict[str, object]]:
    return [
        {"name": name, "ph": "C", "pid": -1, "ts": time * 1e6, "args": {"present": present, "busy": busy}}
        for name, changes in levels
        for time, present, busy in changes
    ]
