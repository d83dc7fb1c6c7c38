"""All methods, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.expression.nodes import Parameter
from slipstick.law import Law
from slipstick.method import closed_form, simulation
from slipstick.method.bounds import bounds
from slipstick.method.closed_form import ClosedForm
from slipstick.method.forms import form_of, need_closed_form
from slipstick.method.limits import with_takeovers
from slipstick.method.names import BOUNDS, METHODS, SIMULATION
from slipstick.method.trial import Trial
from slipstick.model.system import Model, need_model

__all__ = ["answered", "solve"]


def answered(
    model: Model | Law, parameters: Mapping[str, Parameter], method: str | None = None, trial: Trial | None = None
) -> Answer:
    """Answer for a model or a law by a named method, at the values of its own parameters.

    Parameters
    ----------
    model : the system, or the formula
    parameters : a parameter with a value for each symbol of a law
    method : one of `METHODS`; the first by default
    trial : how to simulate

    Raises
    ------
    UnknownNameError : there is no such method
    ModelError : a law is asked for by anything but its closed form, or the model cannot be simulated
    """
    need_method(method)
    if isinstance(model, Law):
        need_closed_form(model, method)
    elif method == BOUNDS:
        return bounds(model)
    elif method == SIMULATION:
        return _simulated(model, trial or Trial())
    form = form_of(model, parameters)
    answer = form.points({}).answer(0)
    if not isinstance(form, ClosedForm) or answer.failed:
        return answer
    limits = with_takeovers(form, answer.limits, {}) if answer.limits else ()
    return replace(answer, limits=limits, notes=(*_saturation(form.model, answer), *answer.notes))


def solve(
    model: Model, values: Mapping[str, float] | None = None, method: str | None = None, trial: Trial | None = None
) -> Answer:
    """Answer for a model at one point.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    method : one of `METHODS`; the first by default
    trial : how to simulate: seed, precision, budget

    Raises
    ------
    ModelError : a name is unknown or a value missing
    NoAnswerError : saturation, deadlock, or a time that overflows or is undefined

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed
    >>> bus = closed(delay(9.0, name="think") >> service("bus", 3.0), processors=4)
    >>> [solve(bus, method=each)["time"] for each in ("closed-form", "simulation")]
    [12.0, 12.0]
    """
    need_model(model, "solve")
    need_method(method)
    if method == SIMULATION:
        return simulation.solve(model, values, trial)
    return bounds(model, values) if method == BOUNDS else closed_form.solve(model, values)


def need_method(method: str | None) -> None:
    """Insist on a method that is there; None is the default."""
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", str(method)[:100], METHODS)


def _simulated(model: Model, trial: Trial) -> Answer:
    try:
        return simulation.solve(model, None, trial)
    except NoAnswerError as error:
        return Answer(model.name, SIMULATION, failed=str(error))


def _saturation(model: Model, answer: Answer) -> tuple[str, ...]:
    """Warn where a resource cannot do what the closed form asks of it, and say by how much."""
    time, least = answer["time"] or 0.0, bounds(model).values.get("time")
    if least is None or least.low is None or least.low <= time * (1 + 1e-9):
        return ()
    times = f"{least.low / time:.3g} times" if time else "more than"
    return (f"waiting is not to be left out: a cycle takes at least {least.low:.4g} s, {times} what is answered here",)
