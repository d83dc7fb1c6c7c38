"""Queueing networks at many points: one vectorized call of a solver, read as columns or as answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.answer import Answer, Later, Value
from slipstick.expression.nodes import parameters
from slipstick.method.closed_form.form import BLOCK
from slipstick.method.networks.answers import account, constants, notes_of, quantiles
from slipstick.method.networks.arrays import Arrays, Compiled, Values
from slipstick.method.networks.solvers import BEST, Outcome, outcome, preferred
from slipstick.method.networks.values import Measures, unit_of
from slipstick.model.network import Customers, QueueingNetwork

__all__ = ["NetworkForm", "NetworkPoints"]

Array = NDArray[Any]

STEP = 1e-20
"""Imaginary step of derivatives, relative; its square vanishes beside 1."""


class NetworkForm:
    """A queueing network compiled for one method; many points cost little more than one.

    Parameters
    ----------
    model : the network
    method : a solver's name, or the best that applies

    Attributes
    ----------
    quantity : the response time of the first class or chain

    >>> from slipstick.model.network import customers, network, queue
    >>> form = NetworkForm(network({"jobs": customers(2)}, {"cpu": queue(demand={"jobs": 3.0})}), "exact-mva")
    >>> form.times({"classes.jobs.population": np.array([1.0, 2.0, 3.0])})
    array([3., 6., 9.])
    """

    block = BLOCK

    def __init__(self, model: QueueingNetwork, method: str) -> None:
        self.model, self.method = model, method
        self.compiled = Compiled(model)
        self.quantity = f"response_time[{next(iter(self.compiled.chains))}]"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied without building the network anew."""
        return tuple(self.compiled.tape.parameters)

    @property
    def smooth(self) -> list[str]:
        """Names of the parameters that answers have a derivative by: all but those that count customers."""
        chains = (each.members for each in self.compiled.chains.values())
        counts = (each.population for each in chains if isinstance(each, Customers))
        whole = {each.name for each in parameters(*counts)}
        return [name for name in self.parameters if name not in whole]

    def unit(self, column: str) -> str:
        """Give the base unit of a column."""
        return unit_of(column)

    def times(self, values: Values) -> Array:
        """Evaluate the first quantity alone."""
        return self.points(values).first()

    def points(self, values: Values) -> NetworkPoints:
        """Solve at aligned points."""
        arrays = self.compiled.arrays(self.compiled.columns(values))
        return NetworkPoints(self, values, arrays, outcome(arrays, self.method))


class NetworkPoints:
    """A queueing network solved at aligned points."""

    def __init__(self, form: NetworkForm, values: Values, arrays: Arrays, found: Outcome) -> None:
        self._form, self._values, self._arrays, self._outcome = form, values, arrays, found

    @property
    def interrupted(self) -> bool:
        """Say no: it is done at once."""
        return False

    def __len__(self) -> int:
        return self._arrays.network.points

    def first(self) -> Array:
        """Give the first quantity."""
        return self._measures().chains()[self._form.quantity]

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units; NaN where there is none."""
        return self._measures().columns()

    def limits(self) -> dict[str, list[str]]:
        """Give nothing: a network has no pipelines."""
        return {}

    def answer(
        self,
        index: int,
        point: Mapping[str, float | str] | None = None,
        given: Mapping[str, float | str] | None = None,
    ) -> Answer:
        """Give the whole answer at one point."""
        if len(self) > 1:
            return self._alone(index).answer(0, point, given)
        name, point, given = self._form.model.name, point or {}, given or {}
        if self._outcome.wrong:
            method = preferred(self._arrays) if self._form.method == BEST else self._form.method
            return Answer(name, method, failed=self._outcome.wrong[0], point=point, given=given)
        piece = self._outcome.pieces[0]
        compiled, network = self._form.compiled, self._arrays.network
        columns = {key: float(each[0].real) for key, each in self.columns().items() if not self._beyond(key)}
        columns |= constants(network) | quantiles(compiled, network)
        return Answer(
            model=name,
            method=piece.solver,
            values={key: Value(each, unit_of(key)) for key, each in columns.items() if np.isfinite(each)},
            account=account(compiled, self._arrays, columns),
            share=Later(lambda: self._shares(columns)),
            gradient=Later(lambda: self._slopes),
            exact=piece.solution.exact,
            notes=notes_of(compiled, piece.solution),
            point=point,
            given=given,
        )

    def _beyond(self, name: str) -> bool:
        """Say whether a probability is of more customers than there are: neighbours may have more."""
        kind, _, inside = name.partition("[")
        network = self._arrays.network
        most = int(network.population.sum()) if network.closed.all() else None
        return kind == "probability" and most is not None and int(inside.rpartition(",")[2].rstrip("]")) > most

    def _measures(self) -> Measures:
        return Measures(self._form.compiled, self._arrays, self._outcome.found)

    def _alone(self, index: int) -> NetworkPoints:
        """Cut out one point."""
        here = {name: np.ravel(each)[index if np.size(each) > 1 else 0] for name, each in self._values.items()}
        return NetworkPoints(self._form, here, self._arrays.only(index), self._outcome.only(index))

    @cached_property
    def _slopes(self) -> dict[str, dict[str, float]]:
        """Differentiate throughputs and response times by the complex step, all parameters in one call."""
        form, names = self._form, self._form.smooth
        here = {name: float(np.ravel(each)[0]) for name, each in self._values.items()}
        columns = form.compiled.perturbed(here, names, STEP)
        arrays = form.compiled.arrays(columns)
        piece = self._outcome.pieces[0]
        moved = Measures(form.compiled, arrays, outcome(arrays, piece.solver).found).chains()
        steps = [STEP * (self._value(name, here) or 1.0) for name in names]
        return {
            key: {name: float(each[1 + index].imag / steps[index]) for index, name in enumerate(names)}
            for key, each in moved.items()
        }

    def _value(self, name: str, here: Mapping[str, float]) -> float:
        return here.get(name, self._form.compiled.tape.parameters[name].value or 0.0)

    def _shares(self, columns: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Weigh derivatives by the powers of time, so that the shares of every value add up to 1."""
        here = {name: float(np.ravel(each)[0]) for name, each in self._values.items()}
        powers = {name: each.dimension.time_power for name, each in self._form.compiled.tape.parameters.items()}
        own = {"throughput": -1, "response_time": 1}
        return {
            key: {
                name: powers[name] / own[key.partition("[")[0]] * self._value(name, here) * slope / columns[key]
                for name, slope in slopes.items()
                if powers[name]
            }
            for key, slopes in self._slopes.items()
            if columns.get(key)
        }
