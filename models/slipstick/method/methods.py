"""The methods by name, and what each can answer for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slipstick.answer import Answer
from slipstick.errors import ModelError, UnknownNameError
from slipstick.expression.nodes import Parameter
from slipstick.law import Law
from slipstick.method.bounds import METHOD as BOUNDS
from slipstick.method.bounds import bounds
from slipstick.method.closed_form import ClosedForm
from slipstick.method.forms import form_of
from slipstick.method.limits import with_takeovers
from slipstick.method.points import METHOD as CLOSED_FORM
from slipstick.model.system import Model

__all__ = ["METHODS", "answered"]

METHODS = (CLOSED_FORM, BOUNDS)
"""The default comes first."""


def answered(model: Model | Law, parameters: Mapping[str, Parameter], method: str = CLOSED_FORM) -> Answer:
    """Answer for a model or a law by a named method, at the values of its own parameters.

    Parameters
    ----------
    model : the system, or the formula
    parameters : a parameter with a value for each symbol of a law
    method : one of `METHODS`

    Raises
    ------
    UnknownNameError : there is no such method
    ModelError : a law is asked for by anything but its closed form
    """
    if method not in METHODS:
        raise UnknownNameError("method", method[:100], METHODS)
    if method == BOUNDS:
        if isinstance(model, Law):
            raise ModelError(f"law {model.name} is a closed form; the method {method} answers for models")
        return bounds(model)
    form = form_of(model, parameters)
    answer = form.points({}).answer(0)
    if not isinstance(form, ClosedForm) or answer.failed:
        return answer
    limits = with_takeovers(form, answer.limits, {}) if answer.limits else ()
    return replace(answer, limits=limits, notes=(*_saturation(form.model, answer), *answer.notes))


def _saturation(model: Model, answer: Answer) -> tuple[str, ...]:
    """Warn where a resource cannot do what the closed form asks of it, and say by how much."""
    time, least = answer["time"] or 0.0, bounds(model).values.get("time")
    if least is None or least.low is None or least.low <= time * (1 + 1e-9):
        return ()
    times = f"{least.low / time:.3g} times" if time else "more than"
    return (f"waiting is not to be left out: a cycle takes at least {least.low:.4g} s, {times} what is answered here",)
