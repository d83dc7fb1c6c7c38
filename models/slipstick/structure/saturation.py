"""Resources that are asked for more than they can do, so that a model has no steady state."""

from __future__ import annotations

from collections.abc import Collection

from slipstick.errors import NoAnswerError
from slipstick.expression.columns import Values, count_of, only
from slipstick.expression.nodes import TIME, Expr, zero
from slipstick.expression.tape import Tape
from slipstick.late import Array, np
from slipstick.model.steps import HELD, SERVED
from slipstick.model.system import Model
from slipstick.structure.work import demands, held_times


class Saturation:
    """The loads of resources by streams of arrivals, compiled together; none for a model without
    streams.

    A station is busy for the service that is asked of it. A lock or a number of permits is held for
    what is done while it is held, waits at other resources left out, so a model that is not
    saturated here may be saturated all the same.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import open_model
    >>> Saturation(open_model(hold("door", delay(0.2, name="a")), 6.0)).reasons({})[0][:47]
    'lock door is saturated: 6/s arrive, fewer than '
    """

    def __init__(self, model: Model) -> None:
        self._model, self._streams = model, model.population.streams
        self._names = [
            name
            for name, resource in model.resources.items()
            if self._streams and resource.use in (SERVED, HELD)
        ]
        columns: list[Expr] = []
        try:
            for rate, cycle in self._streams:
                work_by_name = demands(cycle, model) | held_times(cycle, model)
                columns += [rate, *(work_by_name.get(name, zero(TIME)) for name in self._names)]
        except NoAnswerError:  # what is asked depends on the state, so a queue may limit itself
            self._names = []
        self._tape = Tape(columns)

    def reasons(self, values: Values) -> dict[int, str]:
        """Return, by the number of the aligned point, a sentence on the first resource that is
        saturated there.
        """
        if not self._names:
            return {}
        evaluated = iter(self._tape.run(only(values, self._tape.parameters)))
        points, count = (count_of(values),), len(self._names)
        streams = [
            [np.broadcast_to(next(evaluated), points) for _ in range(1 + count)]
            for _ in self._streams
        ]
        texts: dict[int, str] = {}
        for position, name in enumerate(self._names, 1):
            # A stream without work at the resource counts neither in its load nor in its rate.
            users = [
                (rate, work[position - 1]) for rate, *work in streams if np.any(work[position - 1])
            ]
            loads = sum((rate * seconds for rate, seconds in users), np.zeros(points))
            rates = sum((rate for rate, _ in users), np.zeros(points))
            # A load of exactly 1 has no steady state either: the queue is a random walk without
            # drift.
            loads = loads / self._model.resources[name].capacity
            for index in np.flatnonzero(loads >= 1):
                text = saturated_text(self._model, name, float(rates[index]), float(loads[index]))
                texts.setdefault(int(index), text)
        return texts


def without(column: Array, points: Collection[int]) -> Array:
    """Return a column with NaN at some points."""
    if not points:
        return column
    taken = np.isin(np.arange(len(column)), list(points))
    return np.where(taken, np.nan, column)


def saturated_text(model: Model, name: str, rate: float, load: float) -> str:
    """Return a sentence on the saturation of one resource.

    Parameters
    ----------
    model, name : the resource
    rate : of the arrivals [1/s]
    load : time for which it is asked, over the time that there is [1]
    """
    kind = model.resources[name].noun.split()[-1]
    return (
        f"{kind} {name} is saturated: {rate:g}/s arrive, fewer than {rate / load:.4g}/s can be"
        f" served (load {load:.3g}, the limit is 1); lower the arrivals, or shorten what is asked"
        " of it"
    )
