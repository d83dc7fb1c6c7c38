"""Resources that are asked for more than they can do, so that a model has no steady state."""

from __future__ import annotations

from collections.abc import Collection

from slipstick.expression.columns import Values, count_of, only
from slipstick.expression.nodes import TIME, Expr, zero
from slipstick.expression.tape import Tape
from slipstick.late import Array, np
from slipstick.model.steps import HELD, SERVED
from slipstick.model.system import Model
from slipstick.structure.work import demands, held_times


class Saturation:
    """The loads of the resources of an open model, compiled together; of other models there are
    none.

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
        self._model = model
        self._work: dict[str, Expr] = {}
        if model.population.open:
            (cycle,) = model.bodies
            asked = demands(cycle, model) | held_times(cycle, model)
            self._work = {
                name: asked.get(name, zero(TIME))
                for name, resource in model.resources.items()
                if resource.use in (SERVED, HELD)
            }
            self._tape = Tape([model.population.size, *self._work.values()])

    def reasons(self, values: Values) -> dict[int, str]:
        """Find the aligned points, by number, at which a resource is saturated, with the first
        of them in words.
        """
        if not self._work:
            return {}
        columns = self._tape.run(only(values, self._tape.parameters))
        rate, *work = (np.broadcast_to(column, (count_of(values),)) for column in columns)
        texts: dict[int, str] = {}
        for name, seconds in zip(self._work, work, strict=True):
            loads = rate * seconds / self._model.resources[name].capacity
            for index in np.flatnonzero(loads >= 1):
                text = saturated_text(self._model, name, float(rate[index]), float(loads[index]))
                texts.setdefault(int(index), text)
        return texts


def without(column: Array, points: Collection[int]) -> Array:
    """Replace a column by NaN at some points."""
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
    kind = model.resources[name].noun.split()[-1]
    return (
        f"{kind} {name} is saturated: {rate:g}/s arrive, fewer than {rate / load:.4g}/s can be"
        f" served (load {load:.3g}, the limit is 1); lower the arrivals, or shorten what is asked"
        " of it"
    )
