"""Models without a steady state, recognized alike by every method: saturated streams, and locks taken in a cycle."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.method.answers import Values, only
from slipstick.method.closed_form.times import demand, held_time
from slipstick.model.lock_order import lock_cycle
from slipstick.model.system import HeldResource, Model, OpenPopulation, Permits, Station


class Saturation:
    """The loads of the resources of an open model, compiled together; of other models there are none.

    A station is busy for the service that is asked of it. A lock or a number of permits is held for what is done while it is
    held, waits at other resources left out, so a model that is not saturated here may be saturated all the same.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import open_model
    >>> Saturation(open_model(hold("door", delay(0.2, name="a")), 6.0)).reasons({})[0][:47]
    'lock door is saturated: 6/s arrive, fewer than '
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._work: dict[str, Expr] = {}
        if isinstance(model.population, OpenPopulation):
            cycle = model.population.cycle
            for name, each in model.resources.items():
                if isinstance(each, Station):
                    self._work[name] = demand(cycle, name, model)
                elif isinstance(each, HeldResource):
                    self._work[name] = held_time(cycle, name, model)
            self._tape = Tape([model.population.rate, *self._work.values()])

    def reasons(self, values: Values) -> dict[int, str]:
        """Say at which of several aligned points, by number, which resource is saturated; the first of several."""
        if not self._work:
            return {}
        columns = self._tape.run(only(values, self._tape.parameters))
        rate, *work = (np.broadcast_to(each, (_points(values),)) for each in columns)
        found: dict[int, str] = {}
        for name, each in zip(self._work, work, strict=True):
            loads = rate * each / self._model.resources[name].capacity
            for index in np.flatnonzero(loads >= 1):
                found.setdefault(int(index), saturated_text(self._model, name, float(rate[index]), float(loads[index])))
        return found


def without(column: Array, points: Collection[int]) -> Array:
    """Take some points out of a column."""
    if not points:
        return column
    taken = np.isin(np.arange(len(column)), list(points))
    return np.where(taken, np.nan, column)


def saturated_text(model: Model, name: str, rate: float, load: float) -> str:
    """Word the saturation of one resource.

    Parameters
    ----------
    model, name : the resource
    rate : of the arrivals [1/s]
    load : time for which it is asked, over the time that there is [1]
    """
    resource = model.resources[name]
    kind = "station" if isinstance(resource, Station) else "permits" if isinstance(resource, Permits) else "lock"
    return (
        f"{kind} {name} is saturated: {rate:g}/s arrive, fewer than {rate / load:.4g}/s can be served (load {load:.3g}, the "
        "limit is 1); lower the arrivals, or shorten what is asked of it"
    )


class Deadlocks:
    """The processors that can wait for each other without end at locks taken in a cycle; see `lock_cycle`.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._cycle, self._population = lock_cycle(model), model.population
        self._tape = Tape(list(self._population.counts))

    def reasons(self, values: Values) -> dict[int, tuple[str]]:
        """Say at which of several aligned points, by number, there are processors enough for a deadlock."""
        return self.among(self._tape.run(only(values, self._tape.parameters)), _points(values)) if self._cycle else {}

    def among(self, sizes: Sequence[Array], points: int) -> dict[int, tuple[str]]:
        """Say the same for populations of some sizes, in the order of `counts`: each a phase, a group, or all [points]."""
        if self._cycle is None:
            return {}
        present = np.full(points, np.inf if self._population.open else 0.0)
        for each in sizes:
            present = np.maximum(present, each.real) if self._population.finite else present + each.real
        return {int(index): (str(self._cycle),) for index in np.flatnonzero(present >= self._cycle.processors)}


def _points(values: Values) -> int:
    return max([1, *(np.size(each) for each in values.values())])
