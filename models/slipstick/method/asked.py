"""The state of each value that a user requests: answered, available by another method, or not
defined for the model.

Every value that `slipstick.method.names` lists for a model has a state in every answer for it, so
that nothing that was asked for is missing without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from slipstick.answer import (
    ANSWERED,
    NOT_DEFINED,
    OTHER_METHOD,
    OVERHEAD,
    REDUCTION,
    Answer,
    AskedValue,
)
from slipstick.law import Law
from slipstick.method.names import THINK, is_transient, names_of
from slipstick.model.added import AddedModel
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import NEVER_ALL_BUSY, Lock, Model
from slipstick.vocabulary import (
    ACTIVITY,
    BEST,
    BOUNDS,
    CLOSED_FORM,
    DISCIPLINES,
    EXACT,
    MARKOV_CHAIN,
    METHODS,
    SIMULATION,
)

RESPONSE_QUANTILE = "response_time_quantile"
TIME_QUANTILE = "time_quantile"
WITHIN_TARGET = "within_target"

_ESTIMATED = (TIME_QUANTILE, RESPONSE_QUANTILE, WITHIN_TARGET, "fairness", "accesses")
"""Kinds of values of an activity that a simulation alone has."""

_STUDIES = {
    OVERHEAD: "a study gives it: write it in 'answer'",
    REDUCTION: "it compares a case of a study with its base: write it in the study's 'answer'",
}


def states(
    model: Model | QueueingNetwork | AddedModel | Law, answer: Answer, names: Iterable[str]
) -> dict[str, AskedValue]:
    """Return the state of each value that was asked for: answered, available by another method, or
    undefined, with the reason.

    Parameters
    ----------
    model, answer : the answer for the model, which is not failed
    names : each one that `slipstick.method.names.names_of` lists for the model

    >>> from slipstick.method.methods import answered
    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> model = closed_model(delay(9.0) >> service("bus", 1.0, scv=1.0), processors=4)
    >>> (answer,) = answered(model, {}, "mean-value")
    >>> [state.state for state in states(model, answer, ["time", "time_quantile[0.95]"]).values()]
    ['answered', 'needs another method']
    """
    return {name: _state(model, answer, name) for name in names}


def _state(
    model: Model | QueueingNetwork | AddedModel | Law, answer: Answer, name: str
) -> AskedValue:
    if _has(answer, name):
        return AskedValue(ANSWERED, answer.method)
    if name.startswith("amount[") and name in names_of(model, answer.method):
        return AskedValue(NOT_DEFINED, why="a value that it follows from is not in this answer")
    if isinstance(model, QueueingNetwork):
        return _of_network(model, answer, name)
    if isinstance(model, Model):
        return _of_activity(model, answer, name)
    if isinstance(model, AddedModel):
        is_simulated = answer.method == SIMULATION
        why = f"{answer.method} has no {name.partition('[')[0]}"
        return (
            AskedValue(NOT_DEFINED) if is_simulated else AskedValue(OTHER_METHOD, SIMULATION, why)
        )
    return AskedValue(NOT_DEFINED, why="the law has no value here")


def _has(answer: Answer, name: str) -> bool:
    kind, _, arguments = name.partition("[")
    if kind == "share":
        value_name, _, path = arguments.removesuffix("]").partition(",")
        return path in answer.share.get(value_name, {})
    if kind == "limit":
        return any(limit.pipeline == arguments.removesuffix("]") for limit in answer.limits)
    value = answer.values.get(name)
    bounded = value is not None and value.ends != (None, None)
    return bounded or answer.find(name) is not None


def _of_activity(model: Model, answer: Answer, name: str) -> AskedValue:
    kind = name.partition("[")[0]
    if kind in _STUDIES:
        return AskedValue(NOT_DEFINED, why=_STUDIES[kind])
    if kind == "share":
        why = (
            "a simulation computes as many shares as simulation.shares says"
            if answer.method == SIMULATION
            else "bounds have no shares"
            if answer.method.startswith(BOUNDS)
            else "derivatives by that parameter are not computed by this method"
        )
        return AskedValue(NOT_DEFINED, why=why)
    resource = model.resources.get(name.partition("[")[2].removesuffix("]"))
    if resource is not None and kind in resource.undefined:
        return AskedValue(NOT_DEFINED, why=resource.undefined[kind])
    if kind == "fairness" and not _locks(model, name):
        return AskedValue(NOT_DEFINED, why="it is that of waits for locks, and there is none here")
    if kind in _ESTIMATED:
        if answer.method != SIMULATION:
            return AskedValue(OTHER_METHOD, SIMULATION, f"{answer.method} has no {kind}")
        return AskedValue(NOT_DEFINED, why="nothing waited for it in the run")
    if name not in names_of(model, answer.method):
        methods = [method for method in METHODS[ACTIVITY] if method != answer.method]
        method = next(
            (other_method for other_method in methods if name in names_of(model, other_method)), ""
        )
        if method:
            why = (
                "the closed form leaves waiting out"
                if answer.method == CLOSED_FORM
                else f"{answer.method} has no {kind}"
            )
            return AskedValue(OTHER_METHOD, method, why)
    return AskedValue(NOT_DEFINED, why="nothing is booked to it: 0 in this answer")


def _locks(model: Model, name: str) -> bool:
    """Return whether a fairness refers to a lock: the resource in its name is one, or, without a
    resource in its name, the model has one.
    """
    resource_name = name.partition("[")[2].removesuffix("]")
    resource_names = [resource_name] if resource_name else list(model.resources)
    return any(isinstance(model.resources.get(name), Lock) for name in resource_names)


def _of_network(model: QueueingNetwork, answer: Answer, name: str) -> AskedValue:
    kind, _, arguments = name.partition("[")
    label, _, place = arguments.removesuffix("]").partition(",")
    station = model.stations.get(place) or model.stations.get(label)
    bounds = answer.method.startswith(BOUNDS)
    if kind == RESPONSE_QUANTILE:
        if label not in {*model.classes, *model.chains}:
            chain = next(
                chain_name for chain_name, chain in model.chains.items() if label in chain.classes
            )
            why = f"a cycle is that of the chain: ask for {kind}[{chain},{place}]"
            return AskedValue(NOT_DEFINED, why=why)
        if answer.method != SIMULATION:
            return AskedValue(OTHER_METHOD, SIMULATION, "no formula has it for this network")
    if kind == WITHIN_TARGET and answer.method != SIMULATION:
        return AskedValue(OTHER_METHOD, SIMULATION, "no formula has it for this network")
    if kind == "loss_probability" and station is not None and station.capacity is None:
        return AskedValue(NOT_DEFINED, why=f"{place} has no capacity, so that no customer is lost")
    if kind == "loss_probability" and station is not None and station.blocking != "loss":
        return AskedValue(NOT_DEFINED, why=f"{place} blocks when it is full, and loses no customer")
    if kind == "abandonment":
        return AskedValue(NOT_DEFINED, why=f"{label} has no patience or timeout at {place}")
    if kind == "account" and bounds:
        return AskedValue(OTHER_METHOD, BEST, "bounds have no account")
    if kind == "account" and label == THINK:
        return AskedValue(NOT_DEFINED, why="no class thinks")
    if kind == "account":
        return AskedValue(NOT_DEFINED, why="nothing is booked to it: 0 in this answer")
    if kind == "utilization" and station is not None and DISCIPLINES[station.discipline].delay:
        return AskedValue(NOT_DEFINED, why=NEVER_ALL_BUSY)
    if kind == "saturation_population" and answer.method != BOUNDS:
        return AskedValue(OTHER_METHOD, BOUNDS, f"{answer.method} has no {kind}")
    if is_transient(name):
        return AskedValue(NOT_DEFINED, why="it is computed where it is asked for by name")
    if kind == "probability":
        method = MARKOV_CHAIN if answer.method != MARKOV_CHAIN else EXACT
        return AskedValue(OTHER_METHOD, method, f"{answer.method} has no {kind} of this station")
    if bounds:
        return AskedValue(OTHER_METHOD, BEST, "it has no bounds")
    return AskedValue(NOT_DEFINED, why="it has no value here")


def method_needed(
    model: Model | QueueingNetwork | AddedModel | Law,
    asked_values: Mapping[str, AskedValue],
    answer: Answer,
) -> str:
    """Name the method that has all values that were asked for and are missing; empty if none is
    missing, or no single method has them all.
    """
    needed = {value.method for value in asked_values.values() if value.state == OTHER_METHOD}
    return needed.pop() if len(needed) == 1 and not isinstance(model, Law) else ""


def needs_simulation(
    model: Model | QueueingNetwork | AddedModel | Law, name: str, method: str | None = None
) -> bool:
    """Return whether a value that the model can have needs a simulation, without solving anything.

    Parameters
    ----------
    model : the system, the network, or the law
    name : of the value
    method : that answers; None is the default of the model
    """
    if method == SIMULATION or isinstance(model, Law):
        return False
    if isinstance(model, AddedModel):
        return model.needs_simulation(name, method)
    kind, _, arguments = name.partition("[")
    if isinstance(model, Model):
        return kind in _ESTIMATED
    label = arguments.removesuffix("]").partition(",")[0]
    if kind not in (RESPONSE_QUANTILE, WITHIN_TARGET) or label not in {
        *model.classes,
        *model.chains,
    }:
        return False
    from slipstick.method.networks.form import has_quantiles

    return not has_quantiles(model, label, exact=kind == WITHIN_TARGET)


def names_in(texts: Iterable[str], kinds: Collection[str] = _ESTIMATED) -> set[str]:
    """Return the names of values of some kinds that occur in texts, such as conditions.

    >>> names_in(["response_time_quantile[jobs,0.95] <= 1 s and time < 2 s", "fairness"])
    {'response_time_quantile[jobs,0.95]'}
    """
    import re

    pattern = re.compile(rf"(?<![\w])(?:{'|'.join(kinds)})\[[^\]]+\]")
    return {name for text in texts for name in pattern.findall(text)}
