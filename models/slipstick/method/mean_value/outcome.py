"""What mean value finds at aligned points, before it is made into answers.

Points whose numbers make no sense, each with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.maxima import Array, plus
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.spin_locks import Load
from slipstick.method.mean_value.visits import Queue
from slipstick.model.activity import BarrierWait, Choice, Hold, Pipeline, Repeat, Step, steps
from slipstick.model.resources import Barrier, Lock
from slipstick.model.system import Model


@dataclass(frozen=True, slots=True)
class Use:
    """How a queue is used.

    Parameters
    ----------
    busy : servers busy, of all that there are [1]
    present : waiting or served; of processors, at each [1]
    calls : visits in a second [1/s]
    wait : of one visit, without service [s]
    """

    busy: Array
    present: Array
    calls: Array
    wait: Array


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean values at aligned points; NaN where there is no answer.

    Parameters
    ----------
    time : of a cycle, or of the whole program [s]
    size : processors, or arrivals a second
    booked : seconds of one processor by step, wait or other label
    uses : of each queue by name
    wrong : why a point has no answer, by its number
    groups : time of each group's cycle by name, where there are several [s]
    """

    time: Array
    size: Array
    booked: dict[str, Array] = field(default_factory=dict)
    uses: dict[str, Use] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    groups: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def blank(
        cls,
        size: Array,
        labels: Iterable[str],
        queues: Iterable[str],
        wrong: Mapping[int, str],
        groups: Iterable[str] = (),
    ) -> Outcome:
        """Make an outcome in which nothing is known yet."""

        def unknown() -> Array:
            return np.full(len(size), np.nan, dtype=size.dtype)

        return cls(
            unknown(),
            size,
            {label: unknown() for label in labels},
            {name: Use(unknown(), unknown(), unknown(), unknown()) for name in queues},
            dict(wrong),
            {name: unknown() for name in groups},
        )

    def put(
        self, points: Array, rows: Array, time: Array, booked: Mapping[str, Array], used: Mapping[str, Use]
    ) -> None:
        """Fill in some points, each from a row of what was found."""
        self.time[points] = _at(time, rows)
        for label, column in booked.items():
            self.booked[label][points] = _at(column, rows)
        for name, use in used.items():
            for mine, theirs in zip(_fields(self.uses[name]), _fields(use), strict=True):
                mine[points] = _at(theirs, rows)


def uses(
    queues: Iterable[Queue],
    processors: int,
    often: Mapping[int, Array],
    rate: Array,
    served: Mapping[int, Array],
    present: Mapping[int, Array],
    loads: Mapping[str, Load] | None = None,
) -> dict[str, Use]:
    """Add the visits of each queue up.

    Parameters
    ----------
    queues : of the model
    processors : how many there are, each a station of its own
    often : visits in a cycle [1]
    rate : cycles of all in a second [1/s]
    served, present : at each visit [1]
    loads : what spinning adds, by station
    """
    found = {}
    for queue in queues:
        busy, there, calls = (
            sum((each[visit.index] for visit in queue.visits), np.zeros(1)) for each in (served, present, often)
        )
        servers = queue.all_servers(processors)
        copies = servers / queue.servers
        more = (loads or {}).get(queue.name, Load.none())
        busy, there, passing = busy + more.busy, there + more.present, rate * calls + more.calls
        found[queue.name] = Use(busy / servers, there / copies, passing, (there - busy) / plus(passing))
    return found


def _fields(use: Use) -> tuple[Array, ...]:
    return use.busy, use.present, use.calls, use.wait


def _at(column: Array, rows: Array) -> Array:
    """Pick rows of a column; one of length 1 holds for all."""
    return column[rows] if np.ndim(column) and len(column) > 1 else np.broadcast_to(column, (1,))


MOST = 10_000
"""Processors that are counted one by one."""


def counted(sizes: Array, what: str, least: int = 1) -> dict[int, str]:
    """Say at which points a number of processors cannot be counted up to."""
    values = sizes.real
    bad = ~((values >= least) & (values <= MOST) & (np.abs(values - np.rint(values)) <= 1e-9))
    return {
        int(point): f"mean-value counts processors one by one: {what} must be a whole number from {least} to {MOST}, "
        f"got {values[point]:g}"
        for point in np.flatnonzero(bad)
    }


def unsound(model: Model, numbers: Numbers) -> dict[int, str]:
    """Say at which points a time, a count or a probability is out of its range."""
    wrong: dict[int, str] = {}
    for what, expr, most in _ranges(model):
        values = numbers[expr].real
        bad = ~((values >= 0) & (values <= most) & np.isfinite(values))
        for point in np.flatnonzero(bad):
            wrong.setdefault(int(point), f"{what} comes out as {values[point]:g}, which mean-value cannot take")
    for body in model.bodies:
        for node in steps(body):
            if isinstance(node, Repeat) and any(isinstance(each, BarrierWait) for each in steps(node.body)):
                values = numbers[node.count].real
                for point in np.flatnonzero(values < 1):
                    text = f"a repeat with a barrier inside must be done at least once for mean-value, got {values[point]:g}"
                    wrong.setdefault(int(point), text)
            if isinstance(node, Choice):
                total = sum((numbers[p].real for p, _ in node.options), np.zeros(1))
                for point in np.flatnonzero(~np.isclose(total, 1.0, rtol=1e-9)):
                    text = f"the probabilities of a choose add up to {total[point]:g} here, not to 1"
                    wrong.setdefault(int(point), text)
    return wrong


def _ranges(model: Model) -> Iterator[tuple[str, Expr, float]]:
    """Yield every number of the tree with what it is and its largest value."""
    for body in model.bodies:
        for node in steps(body):
            match node:
                case Step(name, time):
                    # Squares of times must not overflow.
                    yield f"the time of step {name}", time, 1e150
                case Choice(options):
                    yield from (("a probability", p, 1.0) for p, _ in options)
                case Repeat(count):
                    yield "the count of a repeat", count, 2.0**53
                case BarrierWait(name):
                    meeting = model.resources[name]
                    assert isinstance(meeting, Barrier)
                    yield f"the cost of barrier {name}", meeting.cost, 1e150
                case Hold(name):
                    lock = model.resources[name]
                    assert isinstance(lock, Lock)
                    yield f"an access to the word of lock {name}", lock.access, 1e150
                    yield f"the back-off of lock {name}", lock.base, 1e150
                case Pipeline(_, items, name):
                    yield f"the number of items of {name}", items, 2.0**53
