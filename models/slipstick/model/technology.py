"""Technologies: factors that multiply all times of a technology class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from slipstick.expression.nodes import Expr, Like, as_expr, log2
from slipstick.expression.special import raised
from slipstick.model.activity import Activity, Step, mapped
from slipstick.model.system import Model


def faster(
    factors: Mapping[str, Expr],
    processors: Like,
    fully: Iterable[str],
    partly: Iterable[str],
    benefit: Like | None = None,
) -> dict[str, Expr]:
    """Multiply the gain of faster processors into the factors of a technology.

    With processors p times as fast, a class under `fully` takes 1 / p of its time, one under `partly`
    (1 + b)^(-log2 p): each doubling makes it 1 + b times as fast, which is as much for b = 1 and nothing for b = 0.

    Parameters
    ----------
    factors : by class [1], without the gain
    processors : p, how many times faster they are, above 0 [1]
    fully, partly : classes that gain; no class stands under both
    benefit : b, from 0 to 1 [1]; None is 1

    Notes
    -----
    Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, technology studies; the rule for a part of the gain is our
    reading of a garbled line.

    >>> from slipstick.expression.nodes import Parameter
    >>> faster({}, Parameter("p"), ["software"], ["protocol"], Parameter("b"))
    {'software': 1 / p, 'protocol': pow(1 + b, 0 - log2(p))}
    """
    p = as_expr(processors)
    part = 1 / p if benefit is None else raised(1 + as_expr(benefit), 0 - log2(p))
    gained = {**dict.fromkeys(fully, 1 / p), **dict.fromkeys(partly, part)}
    return {**factors, **{name: factors[name] * each if name in factors else each for name, each in gained.items()}}


def scaled(model: Model, factors: Mapping[str, Expr]) -> Model:
    """Multiply the time of every step, lock access and barrier by the factor of its technology class.

    Parameters
    ----------
    model : the system
    factors : by class [1]; a class that is left out keeps its times

    >>> from slipstick.expression.nodes import Parameter
    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> model = closed_model(delay(2.0, name="link", technology="wire"))
    >>> scaled(model, {"wire": Parameter("technology.wire", value=0.5)}).steps[0].time
    link * technology.wire
    """
    if not factors:
        return model

    def changed(step: Step) -> Step:
        return replace(step, time=step.time * factors[step.technology]) if step.technology in factors else step

    known: dict[int, Activity] = {}
    return replace(
        model,
        population=model.population.rebuilt(lambda body: mapped(body, changed, known=known)),
        resources={name: each.scaled(factors) for name, each in model.resources.items()},
        single=model.single and replace(model.single, model=scaled(model.single.model, factors)),
    )
