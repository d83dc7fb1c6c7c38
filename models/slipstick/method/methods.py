"""The methods: which solves which kind of model, and the functions that call them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from slipstick.answer import Answer
from slipstick.errors import UnknownNameError
from slipstick.expression.columns import Values, only
from slipstick.expression.nodes import Parameter, parameters
from slipstick.late import Array, NDArray, np
from slipstick.law import Law
from slipstick.method.answers import BLOCK, CompiledModel, Solution, joined
from slipstick.method.bounds import CompiledBounds
from slipstick.method.closed_form import ClosedForm, CompiledLaw, with_takeovers
from slipstick.method.names import is_transient
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    ACTIVITY,
    BOUNDS,
    CLOSED_FORM,
    LAW,
    MARKOV_CHAIN,
    MEAN_VALUE,
    METHODS,
    NETWORK,
    SIMULATION,
)

Subject = Model | QueueingNetwork | Law
"""What there is to answer for."""

Parameters = Mapping[str, Parameter]

Rows: TypeAlias = "NDArray[np.intp]"

_FOR = {ACTIVITY: "activities and programs", LAW: "laws", NETWORK: "queueing networks"}
_KINDS: dict[type, str] = {Model: ACTIVITY, Law: LAW, QueueingNetwork: NETWORK}

_MOST_TAKEOVERS = 20

SIMULATED = (
    "simulated by default: there the closed form leaves waiting out, and mean value promises no"
    " error; 'method: closed-form' and, where it has an answer, 'method: mean-value' are faster,"
    " and give shares"
)

_DEFAULT_SIMULATION = Simulation()


def _compiled(
    model: Subject, parameters: Parameters, method: str, simulation: Simulation
) -> CompiledModel:
    """Compile a model for one of its methods, whose libraries are imported only then."""
    if isinstance(model, Law):
        return CompiledLaw(model, parameters)
    if isinstance(model, QueueingNetwork):
        return _compiled_network(model, method, simulation)
    if method == CLOSED_FORM:
        return ClosedForm(model)
    if method == BOUNDS:
        return CompiledBounds(model)
    if method == MEAN_VALUE:
        from slipstick.method.mean_value import MeanValue

        return MeanValue(model)
    if method == MARKOV_CHAIN:
        from slipstick.method.activity_chain import ActivityChain

        return ActivityChain(model)
    from slipstick.method.simulation.form import simulation_of

    return simulation_of(model, simulation)


def _compiled_network(model: QueueingNetwork, method: str, simulation: Simulation) -> CompiledModel:
    if method == SIMULATION:
        from slipstick.method.networks.simulation import simulation_of

        return simulation_of(model, simulation)
    if method == BOUNDS:
        from slipstick.method.networks.bounds import CompiledNetworkBounds

        return CompiledNetworkBounds(model)
    from slipstick.method.networks.form import CompiledNetwork

    return CompiledNetwork(model, method)


def default_method(model: Subject, smooth: bool = False) -> str:
    """Name the method that answers where none is named, and the closed form is not exact.

    Of an activity it is mean value, where that is exact or an error is promised; else simulation,
    which leaves nothing out: above all where all times are constant, so that processors may fall
    into step. Of a network it is the most exact solver that its size allows, chosen for each point.

    Parameters
    ----------
    model : the system, the network, or the law
    smooth : what is asked needs derivatives, or thousands of points, so nothing is simulated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> [default_method(closed_model(delay(9.0) >> service("bus", 3.0, scv=scv), processors=4)) for scv in (0.0, 1.0)]
    ['simulation', 'mean-value']
    """
    if not isinstance(model, Model):
        return METHODS[_KINDS[type(model)]][0]
    from slipstick.method.mean_value.form import promise_holds

    return MEAN_VALUE if smooth or promise_holds(model) else SIMULATION


class DefaultForm(CompiledModel):
    """An activity compiled for the closed form where that is exact, and for another method
    elsewhere.

    Nothing can be waited for where it is exact, and no maximum of random times is taken. Elsewhere
    one other method answers, the same for all points of a model, see `default_method`. So one sweep
    may have two methods, and every row says which it is by; where the one takes over from the other
    they agree, for both are exact there.

    Parameters
    ----------
    model : the system
    simulation : settings of a simulation
    smooth : nothing is simulated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> form = form_of(closed_model(cycle, processors=10), {})
    >>> form.points({"population.processors": np.array([1.0, 10.0])}).provenance().methods
    ['closed-form', 'mean-value']
    """

    def __init__(self, model: Model, simulation: Simulation, smooth: bool) -> None:
        self.model = model
        self.closed = ClosedForm(model)
        self._simulation, self._smooth = simulation, smooth
        used = (each.name for each in parameters(*model.expressions()))
        self.parameters = tuple(dict.fromkeys([*self.closed.parameters, *used]))

    @cached_property
    def method(self) -> str:
        """Name of the method that answers where the closed form is not exact."""
        return default_method(self.model, self._smooth)

    @cached_property
    def _other(self) -> CompiledModel:
        return _compiled(self.model, {}, self.method, self._simulation)

    @property
    def block(self) -> int:
        """How many points of the other method are to be given at a time."""
        return 1 if self.method == SIMULATION else BLOCK

    @property
    def estimated(self) -> bool:
        """Return whether the other method gives estimates; exact values then have intervals of
        width 0.
        """
        return self.method == SIMULATION

    def blocks(self, values: Values, count: int) -> Iterator[Rows]:
        """Divide aligned points by method, then into blocks that are solved together."""
        for rows, form in self._parts(values, count):
            yield from (rows[cut] for cut in form.blocks({}, len(rows)))

    def simulated(self, values: Values, count: int) -> int:
        """Count the points that are simulated."""
        others = count - int(np.broadcast_to(self.closed.exact(values), (count,)).sum())
        return others if others and self.method == SIMULATION else 0

    def brief(self, values: Values) -> Solution:
        """Solve for the time alone, each point by its method."""
        return self._solved(values, lambda form, given: form.brief(given))

    def solution(self, values: Values) -> Solution:
        """Solve each point by its method."""
        return self._solved(values, lambda form, given: form.solution(given))

    def slopes(
        self, values: Values, names: Sequence[str], wanted: Sequence[str]
    ) -> dict[str, tuple[Array, dict[str, Array]]]:
        """Return values with derivatives: of the method that answers, where it is one for all."""
        count = max((np.size(each) for each in values.values()), default=1)
        parts = self._parts(values, count)
        if len(parts) > 1:
            return super().slopes(values, names, wanted)
        ((_, form),) = parts
        return form.slopes(only(values, form.parameters), names, wanted)

    def _parts(self, values: Values, count: int) -> list[tuple[Rows, CompiledModel]]:
        """Divide the points into those of the closed form and the others."""
        exact = np.broadcast_to(self.closed.exact(values), (count,))
        parts: list[tuple[Rows, CompiledModel]] = (
            [(np.flatnonzero(exact), self.closed)] if exact.any() else []
        )
        return parts if exact.all() else [*parts, (np.flatnonzero(~exact), self._other)]

    def _solved(
        self, values: Values, solve: Callable[[CompiledModel, Values], Solution]
    ) -> Solution:
        if not values.keys() <= set(self.parameters):
            self.closed.tape.check_names(values)
        count = max((np.size(each) for each in values.values()), default=1)
        parts = self._parts(values, count)
        if len(parts) == 1:
            ((_, form),) = parts
            return self._alike(solve(form, only(values, form.parameters)))
        pieces = []
        for rows, form in parts:
            cut = {name: np.broadcast_to(each, (count,))[rows] for name, each in values.items()}
            pieces.append((rows, self._alike(solve(form, only(cut, form.parameters)))))
        return joined(pieces)

    def _alike(self, found: Solution) -> Solution:
        """Return exact values intervals of width 0 where other points are estimates."""
        if not self.estimated or found.low:
            return found
        books = {"account": found.account, "technology": found.technology, "step": found.steps}
        booked = {
            f"{book}[{name}]": each for book, parts in books.items() for name, each in parts.items()
        }
        every = {**found.values, **booked}
        return replace(found, low=every, high=every)


def left_out_of(model: Subject) -> Mapping[str, str]:
    """Return the losses of the import that a model comes from; a law has none."""
    return {} if isinstance(model, Law) else model.left_out


def form_of(
    model: Subject,
    parameters: Parameters,
    method: str | None = None,
    simulation: Simulation | None = None,
    smooth: bool = False,
) -> CompiledModel:
    """Compile a model for many points.

    Parameters
    ----------
    model : the system, the network, or the law
    parameters : a parameter with a value for each symbol of a law
    method : by name; None is the default of the model, see `default_method`
    simulation : settings of a simulation: seed, precision, budget
    smooth : nothing is simulated, unless it is named

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    """
    settings = simulation or _DEFAULT_SIMULATION
    if method is None and isinstance(model, Model):
        form: CompiledModel = DefaultForm(model, settings, smooth)
    else:
        form = _compiled(model, parameters, _known_method(model, method), settings)
    form.left_out = left_out_of(model)
    if method != BOUNDS and not isinstance(model, Law):
        form.bounds = lambda: _compiled(model, parameters, BOUNDS, settings)
    return form


def answered(
    model: Subject,
    parameters: Parameters,
    method: str | None = None,
    simulation: Simulation | None = None,
    smooth: bool = False,
    values: Collection[str] = (),
) -> tuple[Answer, ...]:
    """Answer for a model by one method, at the values of its own parameters; bounds may be several.

    Parameters
    ----------
    model, parameters, method, simulation, smooth : as for `form_of`
    values : those before the steady state of a network, such as ``time_until[door,2]``, are
        computed as well

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    """
    found = _steady(model, parameters, method, simulation, smooth)
    if not isinstance(model, QueueingNetwork) or not any(map(is_transient, values)):
        return found
    from slipstick.method.networks.transient import with_transient

    own = {path: each.value for path, each in parameters.items() if each.value is not None}
    return tuple(
        each if each.failed else with_transient(each, model, values, own) for each in found
    )


def _steady(
    model: Subject,
    parameters: Parameters,
    method: str | None,
    simulation: Simulation | None,
    smooth: bool,
) -> tuple[Answer, ...]:
    """Answer without transient values, which are computed on request only."""
    if method is None and isinstance(model, Model):
        if not ClosedForm(model).exact({}).all():
            answer = form_of(model, parameters, None, simulation, smooth).points({}).answer(0)
            told = (SIMULATED,) if answer.method == SIMULATION and not answer.failed else ()
            return (replace(answer, notes=(*answer.notes, *told)),)
        method = CLOSED_FORM
    if method == BOUNDS and isinstance(model, QueueingNetwork):
        from slipstick.method.networks.bounds import network_bounds

        return tuple(replace(each, left_out=model.left_out) for each in network_bounds(model))
    form = form_of(model, parameters, method, simulation)
    answer = form.points({}).answer(0)
    if isinstance(form, ClosedForm) and not answer.failed and len(answer.limits) <= _MOST_TAKEOVERS:
        # The takeover points are searched one by one, and a longer list of them is not read.
        answer = replace(answer, limits=with_takeovers(form, answer.limits, {}))
    return (answer,)


def _known_method(model: Subject, name: str | None) -> str:
    """Return the method of that name, by default the first of its kind of model."""
    known = METHODS[_KINDS[type(model)]]
    if name and name not in known:
        others = [_FOR[kind] for kind, names in METHODS.items() if name in names]
        hint = f" for it: it is for {others[0]}; known: {', '.join(known)}" if others else ""
        raise UnknownNameError("method", str(name)[:100], known, hint)
    return name or known[0]
