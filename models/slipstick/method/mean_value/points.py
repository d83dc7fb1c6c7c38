"""Aligned points: the numbers that a model has there, the points that have no answer, and the mean values found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slipstick.expression.nodes import Expr, parameters
from slipstick.expression.tape import Tape
from slipstick.method.mean_value.maxima import Array
from slipstick.model.activity import BarrierWait, Choice, Hold, Pipeline, Repeat, Step, steps
from slipstick.model.system import Barrier, Lock, Model

Numbers = Mapping[Expr, Array]
Values = Mapping[str, "Array | float"]

MOST_PROCESSORS = 10_000
"""Processors that are counted one by one."""


class ModelNumbers:
    """The expressions of a model, compiled together.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._exprs = model.expressions()
        self.tape = Tape(self._exprs)
        counts = {each.name for each in parameters(*model.population.counts)}
        self.smooth = [name for name in self.tape.parameters if name not in counts]
        """Parameters that the time has a derivative by: all but those that count processors."""

    def columns(self, values: Values) -> dict[Expr, Array]:
        """Evaluate every number [points]."""
        found = self.tape.run(values)
        points = max([1, *(np.size(each) for each in values.values()), *map(len, found)])
        return {expr: np.broadcast_to(each, (points,)) for expr, each in zip(self._exprs, found, strict=True)}

    def perturbed(self, values: Mapping[str, float], step: float) -> tuple[dict[Expr, Array], Array]:
        """Evaluate at one point, once for each smooth parameter, moved by a small imaginary step.

        Parameters
        ----------
        values : parameters that differ from the model's own
        step : relative to the parameter's value, or in base units where it is 0 [1]

        Returns
        -------
        every number [parameters], and the steps taken
        """
        place = {name: index for index, name in enumerate(self.smooth)}
        here = {name: float(values.get(name, each.value or 0.0)) for name, each in self.tape.parameters.items()}
        steps_taken = np.array([step * (abs(here[name]) or 1.0) for name in self.smooth])
        moved: dict[Expr, Array] = {}
        for expr in self._exprs:
            # One tape for each: a derivative of the common tape would run the instructions of all.
            tape = Tape([expr])
            found = tape.differentiate({name: each for name, each in values.items() if name in tape.parameters})
            row = np.full(len(self.smooth), complex(found.value[0]))
            for name, slope in found.by_parameter.items():
                if name in place:
                    row[place[name]] += 1j * steps_taken[place[name]] * slope[0]
            moved[expr] = row
        return moved, steps_taken


def at_points(numbers: Numbers, points: Sequence[int] | Array) -> dict[Expr, Array]:
    """Keep some of the points."""
    return {expr: column[points] for expr, column in numbers.items()}


def uncountable(sizes: Array, what: str, least: int = 1) -> dict[int, str]:
    """Say at which points a number of processors is not a whole number in range, by point."""
    values = sizes.real
    bad = ~((values >= least) & (values <= MOST_PROCESSORS) & (np.abs(values - np.rint(values)) <= 1e-9))
    return {
        int(point): f"mean-value counts processors one by one: {what} must be a whole number from {least} to "
        f"{MOST_PROCESSORS}, got {values[point]:g}"
        for point in np.flatnonzero(bad)
    }


def out_of_range(model: Model, numbers: Numbers) -> dict[int, str]:
    """Say at which points a time, a count or a probability is out of its range, by point."""
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
    """Yield every number of the activities with what it is and its largest value."""
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


@dataclass(frozen=True, slots=True)
class QueueUse:
    """How a queue is used.

    Parameters
    ----------
    busy : utilization of its servers [1]
    present : mean number waiting or in service; of processors, at each [1]
    calls : visits in a second [1/s]
    wait : of one visit, without service [s]
    """

    busy: Array
    present: Array
    calls: Array
    wait: Array

    def columns(self) -> tuple[Array, ...]:
        """Give all columns."""
        return self.busy, self.present, self.calls, self.wait


@dataclass(frozen=True, slots=True)
class MeanValueTable:
    """Mean values at aligned points; NaN where there is no answer.

    Parameters
    ----------
    time : of a cycle, or of the whole program [s]
    size : processors, or arrivals a second
    booked : seconds of one processor by step, wait or other label
    uses : of each queue by name
    wrong : why a point has no answer, by its number
    groups : time of each group's cycle by name, where there are several [s]
    spans : mean time of one execution of each pipeline of the first group by name [s]
    """

    time: Array
    size: Array
    booked: dict[str, Array] = field(default_factory=dict)
    uses: dict[str, QueueUse] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    groups: dict[str, Array] = field(default_factory=dict)
    spans: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def blank(
        cls,
        size: Array,
        labels: Iterable[str],
        queues: Iterable[str],
        wrong: Mapping[int, str],
        groups: Iterable[str] = (),
    ) -> MeanValueTable:
        """Make a table in which nothing is known yet."""

        def unknown() -> Array:
            return np.full(len(size), np.nan, dtype=size.dtype)

        return cls(
            unknown(),
            size,
            {label: unknown() for label in labels},
            {name: QueueUse(unknown(), unknown(), unknown(), unknown()) for name in queues},
            dict(wrong),
            {name: unknown() for name in groups},
        )

    @property
    def answerable(self) -> Array:
        """Number the points at which nothing is wrong."""
        return np.array([index for index in range(len(self.size)) if index not in self.wrong], dtype=int)

    def refuse(self, reasons: Mapping[int, str]) -> None:
        """Take back the answers of some points, and say why."""
        self.wrong.update(reasons)
        uses = (column for use in self.uses.values() for column in use.columns())
        for column in (self.time, *self.booked.values(), *self.groups.values(), *uses):
            column[list(reasons)] = np.nan

    def put(
        self,
        points: Array,
        rows: Array,
        time: Array,
        booked: Mapping[str, Array],
        uses: Mapping[str, QueueUse],
        spans: Mapping[str, Array],
    ) -> None:
        """Fill in some points, each from a row of what was found."""
        for name, span in spans.items():
            self.spans.setdefault(name, np.full(len(self.size), np.nan))[points] = at_rows(span.real, rows)
        self.time[points] = at_rows(time, rows)
        for label, column in booked.items():
            self.booked[label][points] = at_rows(column, rows)
        for name, use in uses.items():
            for mine, found in zip(self.uses[name].columns(), use.columns(), strict=True):
                mine[points] = at_rows(found, rows)


def at_rows(column: Array, rows: Array) -> Array:
    """Pick rows of a column; one of length 1 holds for all."""
    return column[rows] if np.ndim(column) and len(column) > 1 else np.broadcast_to(column, (1,))
