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
    """Simulate the beginning of a plan, and return its timeline: the intervals of each customer and
    the states of the resources.

    Parameters
    ----------
    plan : what to run
    seed : key of the random streams
    cycles : mean number of cycles for which each member is followed; a program is followed to its
        end
    events : largest number of events

    Raises
    ------
    ModelError : there are more members than events
    """
    if plan.population > events:
        raise ModelError(
            f"a time line has at most {events:,} events, too few for {plan.population:,} processors"
        )
    intervals: list[TimelineInterval] = []
    changes_by_resource: dict[str, dict[float, list[int]]] = {
        resource_name: {} for resource_name in plan.resources
    }

    def log(
        customer: int, branch: int, label: int, start: float, end: float, cause: int | None
    ) -> None:
        """Add an interval of a customer to the timeline, unless it is empty."""
        if end > start:
            intervals.append(
                TimelineInterval(customer, branch, plan.labels[label], start, end, cause)
            )

    def observe(
        resource_name: str, start: float, end: float, present_count: int, busy_count: int
    ) -> None:
        """Record how many customers are present, and how many servers busy, in an interval."""
        # Several stations may go by one name, as processors do: their numbers add up.
        for time, sign in ((start, 1), (end, -1)):
            changes_at_time = changes_by_resource[resource_name].setdefault(time, [0, 0])
            changes_at_time[0] += sign * present_count
            changes_at_time[1] += sign * busy_count

    trace: Trace = []
    kernel = Kernel(plan, seed, trace=trace, log=log, observe=observe)
    cycle_limit = cycles * max(plan.population, 1)
    while kernel.events < events and kernel.run(1):
        if not plan.is_program and sum(kernel.cycles) >= cycle_limit:
            break
    # An interval is reported when it ends; this ends those that are still open.
    for resource in (*kernel.stations, *kernel.locks):
        resource.accumulate(kernel.now)
    levels_by_resource = {
        resource_name: _levels_over_time(changes_by_time)
        for resource_name, changes_by_time in changes_by_resource.items()
    }
    has_ended = plan.is_program and kernel.events < events
    return Timeline(
        tuple(intervals),
        levels_by_resource,
        kernel.now,
        ended=has_ended,
        visits=tuple(_station_visits(plan, trace)),
    )


def _station_visits(plan: Plan, trace: Trace) -> Iterator[tuple[int, str, float]]:
    """Yield the (customer, station, time) of each request to a station in a trace. Requests to
    processors are left out, because each member has its own processor.
    """
    station_by_instruction = {
        instruction_number: plan.stations[operands[0]].name
        for instruction_number, (op, *operands) in enumerate(plan.code)
        if op == Op.SERVE and operands[4] == Where.FIXED
    }
    return (
        (customer, station_by_instruction[instruction_number], now)
        for now, customer, _, instruction_number in trace
        if instruction_number in station_by_instruction
    )


def _levels_over_time(
    changes_by_time: Mapping[float, Sequence[int]],
) -> tuple[tuple[float, int, int], ...]:
    """Return (time, customers present, servers busy) after each change, added up from the
    changes.
    """
    levels: list[tuple[float, int, int]] = []
    present_count = busy_count = 0
    for time in sorted(changes_by_time):
        present_change, busy_change = changes_by_time[time]
        if present_change or busy_change:
            present_count = present_count + present_change
            busy_count = busy_count + busy_change
            levels.append((time, present_count, busy_count))
    return tuple(levels)


def critical_path(timeline: Timeline) -> tuple[TimelineInterval, ...]:
    """Return the critical path of a run: the intervals that follow one another up to its end, where
    a wait is replaced by the intervals of the member that ended it.

    Where a member waited and it is known which member ended the wait, the path goes on with that
    member; so the spans of the path follow each other, from one member to another, and add up to
    the time followed. It belongs to this one run: what is on it was late here, which is not what a
    percent less of it would buy on average (see the shares).

    >>> spans = (
    ...     TimelineInterval(0, 0, "work", 0.0, 2.0),
    ...     TimelineInterval(1, 0, "lock", 0.0, 2.0, 0),
    ...     TimelineInterval(1, 0, "work", 2.0, 3.0),
    ... )
    >>> [(span.member, span.label) for span in critical_path(Timeline(spans, {}, 3.0))]
    [(0, 'work'), (1, 'work')]
    """
    intervals_by_member: dict[int, list[TimelineInterval]] = {}
    for interval in reversed(timeline.spans):
        intervals_by_member.setdefault(interval.member, []).append(interval)
    for intervals in intervals_by_member.values():
        intervals.sort(
            key=lambda interval: (interval.end, interval.cause is None, -interval.branch)
        )
    critical_intervals: list[TimelineInterval] = []
    last_interval = max(
        timeline.spans, key=lambda interval: (interval.end, -interval.member), default=None
    )
    time, member = (0.0, 0) if last_interval is None else (last_interval.end, last_interval.member)
    followed_causes: set[tuple[int, float]] = set()
    while time > 0:
        intervals = intervals_by_member.get(member, [])
        interval_count = bisect_right(intervals, time, key=lambda interval: interval.end)
        while interval_count and intervals[interval_count - 1].start >= time:
            interval_count -= 1
        if not interval_count:
            break
        interval = intervals[interval_count - 1]
        follows_cause = (
            interval.cause not in (None, member)
            and interval.end == time
            and (member, time) not in followed_causes
        )
        if follows_cause and interval.cause is not None:
            # Members that end waits of each other at one time would send the path around without
            # end.
            followed_causes.add((member, time))
            member = interval.cause
            continue
        critical_intervals.append(interval)
        time = interval.start
    return tuple(reversed(critical_intervals))
