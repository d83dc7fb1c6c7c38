"""The methods: a table of who answers for what, and the doors to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError, UnknownNameError
from slipstick.expression.kernels import Array
from slipstick.law import Law
from slipstick.method.bounds import bounds
from slipstick.method.closed_form import ClosedForm
from slipstick.method.forms import Form, LawForm, Parameters, Subject
from slipstick.method.limits import with_takeovers
from slipstick.method.mean_value import MeanValue
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model, need_model

__all__ = ["METHODS", "Method", "answered", "form_of", "methods_for", "solve"]

ACTIVITY, LAW, NETWORK = "activity", "law", "queueing-network"
_KINDS: dict[type, str] = {Model: ACTIVITY, Law: LAW, QueueingNetwork: NETWORK}


@dataclass(frozen=True, slots=True)
class Method:
    """A way to answer for one kind of model.

    Parameters
    ----------
    name : on the command line and in studies
    kind : of the models it answers for: activity, law or queueing-network
    form : compiles a model for many points; None if the method answers at one point only
    answers : answers at one point; None if that is the form's answer there
    """

    name: str
    kind: str
    form: Callable[[Any, Parameters], Form] | None = None
    answers: Callable[[Any, Parameters], tuple[Answer, ...]] | None = None


def _closed_form(model: Model, _: Parameters) -> tuple[Answer, ...]:
    """Answer in closed form, with what another stage needs to take over, and a warning of saturation."""
    form = ClosedForm(model)
    answer = form.points({}).answer(0)
    if answer.failed:
        return (answer,)
    limits = with_takeovers(form, answer.limits, {}) if answer.limits else ()
    return (replace(answer, limits=limits, notes=(*_saturation(model, answer), *answer.notes)),)


def _saturation(model: Model, answer: Answer) -> tuple[str, ...]:
    """Warn where a resource cannot do what the closed form asks of it, and say by how much."""
    time, least = answer["time"] or 0.0, bounds(model).values.get("time")
    if least is None or least.low is None or least.low <= time * (1 + 1e-9):
        return ()
    times = f"{least.low / time:.3g} times" if time else "more than"
    return (f"waiting is not to be left out: a cycle takes at least {least.low:.4g} s, {times} what is answered here",)


def _network(solver: str) -> Callable[[QueueingNetwork, Parameters], Form]:
    """Give the form of a network by one solver; the numerical libraries are imported when it is asked for."""

    def form(model: QueueingNetwork, _: Parameters) -> Form:
        from slipstick.method.network_form import NetworkForm

        return NetworkForm(model, solver)

    return form


def _network_bounds(model: QueueingNetwork, _: Parameters) -> tuple[Answer, ...]:
    from slipstick.method.network_bounds import network_bounds

    return network_bounds(model)


METHODS: tuple[Method, ...] = (
    Method("closed-form", ACTIVITY, lambda model, _: ClosedForm(model), _closed_form),
    Method("mean-value", ACTIVITY, lambda model, _: MeanValue(model)),
    Method("bounds", ACTIVITY, answers=lambda model, _: (bounds(model),)),
    Method("closed-form", LAW, LawForm),
    Method("best", NETWORK, _network("best")),
    Method("exact-mva", NETWORK, _network("exact-mva")),
    Method("convolution", NETWORK, _network("convolution")),
    Method("schweitzer", NETWORK, _network("schweitzer")),
    Method("linearizer", NETWORK, _network("linearizer")),
    Method("markov-chain", NETWORK, _network("markov-chain")),
    Method("bounds", NETWORK, answers=_network_bounds),
)
"""Every method. The first of a kind is its default; a new method is one line here."""


def methods_for(kind: str) -> list[Method]:
    """List the methods that answer for a kind of model, the default first."""
    return [each for each in METHODS if each.kind == kind]


def form_of(model: Subject, parameters: Parameters, method: str = "") -> Form:
    """Compile a model for many points.

    Parameters
    ----------
    model : the system, the network, or the law
    parameters : a parameter with a value for each symbol of a law
    method : by name; the default of the model if empty

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    ModelError : the method answers at one point only
    """
    found = _method(model, method)
    if found.form is None:
        raise ModelError(f"the method {found.name} answers at one point, not for a sweep")
    return found.form(model, parameters)


def answered(model: Subject, parameters: Parameters, method: str = "") -> tuple[Answer, ...]:
    """Answer for a model by one method, at the values of its own parameters; bounds may be several.

    Parameters
    ----------
    model, parameters, method : as for `form_of`

    Raises
    ------
    UnknownNameError : there is no such method for such a model
    """
    found = _method(model, method)
    if found.answers is not None:
        return found.answers(model, parameters)
    return (form_of(model, parameters, method).points({}).answer(0),)


def solve(
    model: Model | QueueingNetwork, values: Mapping[str, Array | float] | None = None, method: str = ""
) -> Answer:
    """Answer for a model at one point.

    Parameters
    ----------
    model : an activity with its population, or a queueing network
    values : parameters that differ from the model's own, in base units
    method : by name; the default of the model if empty: closed form for an activity, for a network the most
        exact that its size allows

    Raises
    ------
    ModelError : a name is unknown or a value missing
    NoAnswerError : there is no answer, because a time overflows or a station is saturated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed
    >>> answer = solve(closed(delay(9.0, name="work") >> service("bus", 3.0, component="wait"), processors=4))
    >>> answer["time"], answer["efficiency"], answer["speedup"]
    (12.0, 0.75, 3.0)
    >>> answer.share["time"]
    {'work': 0.75, 'bus': 0.25}
    """
    if not isinstance(model, QueueingNetwork):
        need_model(model, "solve")
    answer = form_of(model, {}, method).points(values or {}).answer(0)
    if answer.failed:
        raise NoAnswerError(answer.failed)
    return answer


def _method(model: Subject, name: str) -> Method:
    known = methods_for(_KINDS[type(model)])
    found = next((each for each in known if each.name == name), None) if name else known[0]
    if found is None:
        raise UnknownNameError("method", name[:100], [each.name for each in known])
    return found
