"""The methods: which solves which kind of model, and the functions that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter
from slipstick.law import Law
from slipstick.method.answers import CompiledModel
from slipstick.method.bounds import CompiledBounds, bounds
from slipstick.method.closed_form.form import ClosedForm, with_takeovers
from slipstick.method.closed_form.law import CompiledLaw
from slipstick.method.default import SIMULATED, DefaultForm
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, need_model
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import ACTIVITY, BOUNDS, CLOSED_FORM, LAW, MEAN_VALUE, NETWORK, SIMULATION
from slipstick.vocabulary import METHODS as NAMES

Subject = Model | QueueingNetwork | Law
"""What there is to answer for."""

Parameters = Mapping[str, Parameter]

_FOR = {ACTIVITY: "activities and programs", LAW: "laws", NETWORK: "queueing networks"}
_KINDS: dict[type, str] = {Model: ACTIVITY, Law: LAW, QueueingNetwork: NETWORK}


@dataclass(frozen=True, slots=True)
class Method:
    """A way to answer for one kind of model.

    Parameters
    ----------
    name : on the command line and in studies
    kind : of the models it answers for: activity, law or queueing-network
    form : compiles a model for many points, given how to simulate
    answers : answers at one point; None if that is the form's answer there
    """

    name: str
    kind: str
    form: Callable[[Any, Parameters, Simulation], CompiledModel]
    answers: Callable[[Any, Parameters], tuple[Answer, ...]] | None = None


_MOST_TAKEOVERS = 20


def _closed_form(model: Model, _: Parameters) -> tuple[Answer, ...]:
    """Answer in closed form, and say what another stage of a pipeline needs to take over."""
    form = ClosedForm(model)
    form.bounds = lambda: CompiledBounds(model)
    answer = form.points({}).answer(0)
    if answer.failed:
        return (answer,)
    # The takeover points are searched one by one, and a longer list of them is not read.
    limits = with_takeovers(form, answer.limits, {}) if 0 < len(answer.limits) <= _MOST_TAKEOVERS else answer.limits
    return (replace(answer, limits=limits),)


def _mean_value(model: Model, _: Parameters, __: Simulation) -> CompiledModel:
    from slipstick.method.mean_value import MeanValue

    return MeanValue(model)


def _simulation(model: Model, _: Parameters, simulation: Simulation) -> CompiledModel:
    """Give the form that runs a model event by event; the simulator is imported when it is asked for."""
    from slipstick.method.simulation.form import simulation_of

    return simulation_of(model, simulation)


def _network_simulation(model: QueueingNetwork, _: Parameters, simulation: Simulation) -> CompiledModel:
    from slipstick.method.networks.simulation import simulation_of

    return simulation_of(model, simulation)


def _network(solver: str) -> Callable[[QueueingNetwork, Parameters, Simulation], CompiledModel]:
    """Give the form of a network by one solver; the numerical libraries are imported when it is asked for."""

    def form(model: QueueingNetwork, _: Parameters, __: Simulation) -> CompiledModel:
        from slipstick.method.networks.form import CompiledNetwork

        return CompiledNetwork(model, solver)

    return form


def _network_bounds(model: QueueingNetwork, _: Parameters) -> tuple[Answer, ...]:
    from slipstick.method.networks.bounds import network_bounds

    return network_bounds(model)


def _network_bounds_form(model: QueueingNetwork, _: Parameters, __: Simulation) -> CompiledModel:
    from slipstick.method.networks.bounds import CompiledNetworkBounds

    return CompiledNetworkBounds(model)


_DEFAULT_SIMULATION = Simulation()

METHODS: tuple[Method, ...] = (
    Method(CLOSED_FORM, ACTIVITY, lambda model, _, __: ClosedForm(model), _closed_form),
    Method(MEAN_VALUE, ACTIVITY, _mean_value),
    Method(SIMULATION, ACTIVITY, _simulation),
    Method(BOUNDS, ACTIVITY, lambda model, _, __: CompiledBounds(model)),
    Method(CLOSED_FORM, LAW, lambda law, parameters, _: CompiledLaw(law, parameters)),
    *(Method(name, NETWORK, _network(name)) for name in NAMES[NETWORK] if name not in (SIMULATION, BOUNDS)),
    Method(SIMULATION, NETWORK, _network_simulation),
    Method(BOUNDS, NETWORK, _network_bounds_form, _network_bounds),
)
"""Every method, by kind of model, of laws and networks the default first.

A network takes each solver of `slipstick.vocabulary.METHODS`."""


def default_method(model: Subject, smooth: bool = False) -> str:
    """Name the method that answers where none is named, and the closed form is not exact.

    Of an activity it is mean value, where that is exact or an error is promised; else simulation, which leaves nothing out:
    above all where all times are constant, so that processors may fall into step. Of a network it is the most exact solver
    that its size allows, chosen for each point.

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
        return methods_for(_KINDS[type(model)])[0].name
    from slipstick.method.mean_value.form import promise_holds

    return MEAN_VALUE if smooth or promise_holds(model) else SIMULATION


def methods_for(kind: str) -> list[Method]:
    """List the methods that answer for a kind of model, of laws and networks the default first."""
    return [each for each in METHODS if each.kind == kind]


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
        form: CompiledModel = DefaultForm(
            model,
            lambda: default_method(model, smooth),
            lambda name: _method(model, name).form(model, parameters, settings),
        )
    else:
        form = _method(model, method).form(model, parameters, settings)
    if method != BOUNDS and not isinstance(model, Law):
        form.bounds = lambda: _method(model, BOUNDS).form(model, parameters, settings)
    return form


def answered(
    model: Subject,
    parameters: Parameters,
    method: str | None = None,
    simulation: Simulation | None = None,
    smooth: bool = False,
) -> tuple[Answer, ...]:
    """Answer for a model by one method, at the values of its own parameters; bounds may be several.

    Parameters
    ----------
    model, parameters, method, simulation, smooth : as for `form_of`

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    """
    if method is None and isinstance(model, Model):
        if not ClosedForm(model).exact({}).all():
            answer = form_of(model, parameters, None, simulation, smooth).points({}).answer(0)
            told = (SIMULATED,) if answer.method == SIMULATION and not answer.failed else ()
            return (replace(answer, notes=(*answer.notes, *told)),)
        method = CLOSED_FORM
    found = _method(model, method)
    if found.answers is not None:
        return found.answers(model, parameters)
    return (form_of(model, parameters, method, simulation).points({}).answer(0),)


def solve(
    model: Model | QueueingNetwork,
    values: Mapping[str, Array | float] | None = None,
    method: str | None = None,
    simulation: Simulation | None = None,
    shares: bool = True,
) -> Answer:
    """Answer for a model at one point.

    Parameters
    ----------
    model : an activity with its population, or a queueing network
    values : parameters that differ from the model's own, in base units
    method : by name; by default the closed form where it is exact, else see `default_method`
    simulation : settings of a simulation: seed, precision, budget
    shares : compute shares and gradient too, which cost some methods one more solution

    Raises
    ------
    ModelError : a name is unknown or a value missing
    NoAnswerError : there is no answer, because a time overflows or a station is saturated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> answer = solve(closed_model(delay(9.0, name="work") >> service("bus", 3.0, component="wait"), processors=1))
    >>> answer["time"], answer["efficiency"], answer["speedup"]
    (12.0, 0.75, 0.75)
    >>> answer.share["time"]
    {'work': 0.75, 'bus': 0.25}
    >>> busy = closed_model(delay(9.0, name="work", scv=1) >> service("bus", 3.0, scv=1), processors=4)
    >>> solve(busy, method="simulation").values["time"].low > 13.0
    True
    """
    if not isinstance(model, QueueingNetwork):
        need_model(model, "solve")
    found = _method(model, method)
    if found.name == BOUNDS and isinstance(model, Model):
        return bounds(model, {name: float(each) for name, each in (values or {}).items()})
    answer = form_of(model, {}, method, simulation).points(values or {}).answer(0, shares=shares)
    if answer.failed:
        raise NoAnswerError(answer.failed)
    return answer


def _method(model: Subject, name: str | None) -> Method:
    known = methods_for(_KINDS[type(model)])
    found = next((each for each in known if each.name == name), None) if name else known[0]
    if found is None:
        others = [_FOR[kind] for kind, names in NAMES.items() if name in names]
        hint = f" for it: it is for {others[0]}; known: {', '.join(each.name for each in known)}" if others else ""
        raise UnknownNameError("method", str(name)[:100], [each.name for each in known], hint)
    return found
