"""Timelines: the intervals of each customer, the states of the resources, and the customer that
ended each wait.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from slipstick.errors import ModelError
from slipstick.results.study import Timeline, TimelineInterval
from slipstick.sim.plain.kernel import Kernel, Trace
from slipstick.sim.plan.plan import Op, Plan, Where


def record(plan: Plan, seed: int = 0, cycles: int = 3, events: int = 20_000) -> Timeline:
    """Run the beginning of a plan and record everything.

    Parameters
    ----------
    plan : what to run
    seed : key of the random streams
    cycles : to follow each member for, on average; a program is followed to its end
    events : at most

    Raises
    ------
    ModelError : there are more members than events
    """
    if plan.population > events:
        raise ModelError(
            f"a time line has at most {events:,} events, too few for {plan.population:,} processors"
        )
    spans: list[TimelineInterval] = []
    changes: dict[str, dict[float, list[int]]] = {name: {} for name in plan.resources}

    def log(
        customer: int, branch: int, label: int, start: float, end: float, cause: int | None
    ) -> None:
        if end > start:
            spans.append(TimelineInterval(customer, branch, plan.labels[label], start, end, cause))

    def observe(name: str, start: float, end: float, present: int, busy: int) -> None:
        # Several stations may go by one name, as processors do: their numbers add up.
        for time, sign in ((start, 1), (end, -1)):
            change = changes[name].setdefault(time, [0, 0])
            change[0] += sign * present
            change[1] += sign * busy

    trace: Trace = []
    kernel = Kernel(plan, seed, trace=trace, log=log, observe=observe)
    cycles_wanted = cycles * max(plan.population, 1)
    while kernel.events < events and kernel.run(1):
        if not plan.once and sum(kernel.cycles) >= cycles_wanted:
            break
    # An interval is reported when it ends; this ends those that are still open.
    for resource in (*kernel.stations, *kernel.locks):
        resource.accumulate(kernel.now)
    levels = {name: _levels(times) for name, times in changes.items()}
    ended = plan.once and kernel.events < events
    return Timeline(
        tuple(spans), levels, kernel.now, ended=ended, visits=tuple(_visits(plan, trace))
    )


def _visits(plan: Plan, trace: Trace) -> Iterator[tuple[int, str, float]]:
    """Return the requests to stations in a trace; requests to processors are left out, because each
    member has its own.
    """
    names = {
        pc: plan.stations[operands[0]].name
        for pc, (op, *operands) in enumerate(plan.code)
        if op == Op.SERVE and operands[4] == Where.FIXED
    }
    return ((customer, names[pc], now) for now, customer, _, pc in trace if pc in names)


def _levels(changes: Mapping[float, Sequence[int]]) -> tuple[tuple[float, int, int], ...]:
    """Return the numbers present and busy from each time on, by adding up their changes."""
    levels: list[tuple[float, int, int]] = []
    present = busy = 0
    for time in sorted(changes):
        more_present, more_busy = changes[time]
        if more_present or more_busy:
            present = present + more_present
            busy = busy + more_busy
            levels.append((time, present, busy))
    return tuple(levels)


def critical_path(timeline: Timeline) -> tuple[TimelineInterval, ...]:
    """Return the critical path of a run: the intervals that follow one another up to its end, where
    each wait is replaced by what the member that ended it did.

    Where a member waited and it is known which member ended the wait, the path goes on with that
    member; so the spans of the path follow each other, from one member to another, and add up to
    the time followed. It belongs to this one run: what is on it was late here, which is not what a
    percent less of it would buy on average (see the shares).

    >>> spans = (TimelineInterval(0, 0, "work", 0.0, 2.0), TimelineInterval(1, 0, "lock", 0.0, 2.0, 0), TimelineInterval(1, 0, "work", 2.0, 3.0))
    >>> [(span.member, span.label) for span in critical_path(Timeline(spans, {}, 3.0))]
    [(0, 'work'), (1, 'work')]
    """
    by_member: dict[int, list[TimelineInterval]] = {}
    for span in reversed(timeline.spans):
        by_member.setdefault(span.member, []).append(span)
    for spans in by_member.values():
        spans.sort(key=lambda span: (span.end, span.cause is None, -span.branch))
    path: list[TimelineInterval] = []
    last = max(timeline.spans, key=lambda span: (span.end, -span.member), default=None)
    time, member = (0.0, 0) if last is None else (last.end, last.member)
    jumped: set[tuple[int, float]] = set()
    while time > 0:
        spans = by_member.get(member, [])
        before = bisect_right(spans, time, key=lambda span: span.end)
        while before and spans[before - 1].start >= time:
            before -= 1
        if not before:
            break
        span = spans[before - 1]
        jumps = (
            span.cause not in (None, member) and span.end == time and (member, time) not in jumped
        )
        if jumps and span.cause is not None:
            # Members that end waits of each other at one time would send the path around without
            # end.
            jumped.add((member, time))
            member = span.cause
            continue
        path.append(span)
        time = span.start
    return tuple(reversed(path))
