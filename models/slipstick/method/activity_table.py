"""Times and uses of an activity at aligned points, as mean value and the Markov chain find them, and
the numbers that both refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slipstick.expression.nodes import Expr
from slipstick.late import np
from slipstick.model.activity import (
    Ask,
    Attempt,
    BarrierWait,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Repeat,
    Step,
    Then,
    UnitStep,
)
from slipstick.model.steps import MET, no_rule, steps
from slipstick.model.system import Barrier, Lock, Model, PhasedPopulation
from slipstick.random_times import (
    Array,
    added,
)
from slipstick.structure.visits import Numbers
from slipstick.vocabulary import MEAN_VALUE

MOST_PROCESSORS = 1_000_000
"""Processors at most; for more than `MOST_ONE_BY_ONE` the recursion begins at a fixed point."""


def uncountable(
    sizes: Array,
    number_in_words: str,
    least: int = 1,
    most: int = MOST_PROCESSORS,
    method: str = MEAN_VALUE,
) -> dict[int, str]:
    """Find the points at which a number of processors is not a whole number in range; give the
    reason for each.
    """
    values = sizes.real
    bad = ~((values >= least) & (values <= most) & (np.abs(values - np.rint(values)) <= 1e-9))
    return {
        int(point): (
            f"{method} counts processors one by one: {number_in_words} must be a whole number from {least}"
            f" to {most:,}, got {values[point]:g}"
        )
        for point in np.flatnonzero(bad)
    }


def out_of_range(model: Model, numbers: Numbers, method: str = MEAN_VALUE) -> dict[int, str]:
    """Find the points at which a time, a count or a probability is out of its range; give the
    reason for each.
    """
    wrong: dict[int, str] = {}
    for number_in_words, expr, most in _ranges(model, method):
        values = numbers[expr].real
        for point in np.flatnonzero(~((values >= 0) & (values <= most) & np.isfinite(values))):
            wrong.setdefault(
                int(point),
                f"{number_in_words} comes out as {values[point]:g}, which {method} cannot take",
            )
    for node in (node for body in model.bodies for node in steps(body)):
        if isinstance(node, Repeat) and any(inner.use == MET for inner in steps(node.body)):
            values = numbers[node.count].real
            for point in np.flatnonzero(values < 1):
                text = (
                    f"a repeat with a barrier inside must be done at least once for {method}, got"
                    f" {values[point]:g}"
                )
                wrong.setdefault(int(point), text)
        if isinstance(node, Choice):
            total = added(numbers[p].real for p, _ in node.options)
            for point in np.flatnonzero(~np.isclose(total, 1.0, rtol=1e-9)):
                text = f"the probabilities of a choose add up to {total[point]:g} here, not to 1"
                wrong.setdefault(int(point), text)
    return wrong


def _ranges(model: Model, method: str) -> Iterator[tuple[str, Expr, float]]:
    """Yield every number of the activities, with its name in words and the largest value that it
    may have.
    """
    if isinstance(model.population, PhasedPopulation):
        for index, phase in enumerate(model.population.phases):
            yield f"the count of phase {index + 1}", phase.repeat, 2.0**53
    for node in (node for body in model.bodies for node in steps(body)):
        match node:
            case Step(name, time):
                # Squares of times must not overflow.
                yield f"the time of step {name}", time, 1e150
            case Choice(options):
                yield from (("a probability", p, 1.0) for p, _ in options)
            case Repeat(count):
                yield "the count of a repeat", count, 2.0**53
            case BarrierWait(name):
                barrier = model.resources[name]
                assert isinstance(barrier, Barrier)
                yield f"the cost of barrier {name}", barrier.cost, 1e150
            case Hold(name):
                held = model.resources[name]
                if isinstance(held, Lock):
                    yield f"an access to the word of lock {name}", held.access, 1e150
                    yield f"the back-off of lock {name}", held.base, 1e150
            case Pipeline(_, items, name):
                yield f"the number of items of {name}", items, 2.0**53
            case Attempt(back_off=back_off):
                yield f"the limit of the wait for {node.resource}", node.limit[0], 1e150
                if back_off is not None:
                    yield f"the pause before another try at {node.resource}", back_off, 1e150
            case Then() | Fork() | UnitStep() | Ask():
                pass
            case _:
                raise no_rule(method, node)


@dataclass(slots=True)
class ActivityTable:
    """Times and uses of an activity at aligned points; NaN where there is no answer.

    Parameters
    ----------
    size : processors, or arrivals a second
    wrong : why a point has no answer, by its number
    time : of a cycle, or of the whole program [s]
    booked : seconds of one processor by step, wait or other label
    uses : of each queue by name: utilization of its servers, number there (of processors, at each),
        visits in a second, and wait of one visit without service [1, 1, 1/s, s] [4, points]
    groups : time of each group's cycle by name, where there are several [s]
    spans : mean time of one execution of each pipeline of the first group by name [s]
    """

    size: Array
    wrong: dict[int, str]
    time: Array = field(init=False)
    booked: dict[str, Array] = field(default_factory=dict)
    uses: dict[str, Array] = field(default_factory=dict)
    groups: dict[str, Array] = field(default_factory=dict)
    spans: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.time = self.unknown()

    def unknown(self, *rows: int) -> Array:
        """Return NaN for all points."""
        return np.full((*rows, len(self.size)), np.nan, dtype=self.size.dtype)

    @property
    def answerable(self) -> Array:
        """Number the points at which nothing is wrong."""
        return np.array(
            [index for index in range(len(self.size)) if index not in self.wrong], dtype=int
        )

    def refuse(self, reasons: Mapping[int, str]) -> None:
        """Remove the answers of some points, and record the reason for each."""
        self.wrong.update(reasons)
        for column in (
            self.time,
            *self.booked.values(),
            *self.groups.values(),
            *self.uses.values(),
        ):
            column[..., list(reasons)] = np.nan

    def put(self, points: Array, rows: Array, time: Array, **tables: Mapping[str, Array]) -> None:
        """Fill in some points, each from its row of the columns."""
        filled = [(self.time, time)]
        for kind, columns in tables.items():
            known_columns = getattr(self, kind)
            for name, column in columns.items():
                if name not in known_columns:
                    known_columns[name] = self.unknown(*np.shape(column)[:-1])
                filled.append((known_columns[name], column))
        for table, column in filled:
            # A column of length 1 holds for all rows.
            chosen = rows if np.shape(column)[-1] > 1 else [0]
            table[..., points] = np.atleast_1d(column)[..., chosen]
