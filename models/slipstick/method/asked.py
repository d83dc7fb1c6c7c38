"""The state of each value that a user requests: answered, available by another method, or not
defined for the model.

Every value that `slipstick.method.names` lists for a model has a state in every answer for it, so
that nothing that was asked for is missing without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from slipstick.answer import (
    ANSWERED,
    NOT_DEFINED,
    OTHER_METHOD,
    OVERHEAD,
    REDUCTION,
    Answer,
    AskedValue,
)
from slipstick.errors import MissingValue
from slipstick.law import Law
from slipstick.method.names import THINK, is_transient, names_of
from slipstick.model.added import AddedModel
from slipstick.model.system import NEVER_ALL_BUSY, Lock, Model
from slipstick.vocabulary import (
    ACTIVITY,
    BEST,
    BOUNDS,
    CLOSED_FORM,
    DISCIPLINES,
    EXACT,
    KNOWN_OF_NETWORKS,
    MARKOV_CHAIN,
    METHODS,
    SIMULATION,
)

if TYPE_CHECKING:
    from slipstick.model.network import QueueingNetwork

RESPONSE_QUANTILE = "response_time_quantile"
TIME_QUANTILE = "time_quantile"
WITHIN_TARGET = "within_target"

_SIMULATED_KINDS = (TIME_QUANTILE, RESPONSE_QUANTILE, WITHIN_TARGET, "fairness", "accesses")
"""Kinds of values of an activity that a simulation alone has."""

_REASON_BY_STUDY_VALUE = {
    OVERHEAD: "a study gives it: write it in 'answer'",
    REDUCTION: "it compares a case of a study with its base: write it in the study's 'answer'",
}


def value_states(
    model: Model | QueueingNetwork | AddedModel | Law, answer: Answer, value_names: Iterable[str]
) -> dict[str, AskedValue]:
    """Return the state of each value that was asked for: answered, available by another method, or
    undefined, with the reason.

    Parameters
    ----------
    model, answer : the answer for the model, which is not failed
    value_names : each one that `slipstick.method.names.names_of` lists for the model

    >>> from slipstick.method.methods import compute_answers
    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> model = closed_model(delay(9.0) >> service("bus", 1.0, scv=1.0), processors=4)
    >>> (answer,) = compute_answers(model, {}, "mean-value")
    >>> [
    ...     state.state
    ...     for state in value_states(model, answer, ["time", "time_quantile[0.95]"]).values()
    ... ]
    ['answered', 'needs another method']
    """
    return {value_name: _state_of_value(model, answer, value_name) for value_name in value_names}


def _state_of_undefined(reason: str) -> AskedValue:
    """Return the state of a value that is not defined for a model."""
    return AskedValue(NOT_DEFINED, why=reason)


def _state_of_value(
    model: Model | QueueingNetwork | AddedModel | Law, answer: Answer, value_name: str
) -> AskedValue:
    """Return the state of one value that was asked for."""
    if _has_value(answer, value_name):
        return AskedValue(ANSWERED, answer.method)
    method = BOUNDS if answer.has_only_bounds else answer.method
    if value_name.startswith("amount[") and value_name in names_of(model, method):
        return _state_of_undefined("it is computed from a value that is not in this answer")
    if isinstance(model, Model):
        return _state_in_activity(model, answer, value_name)
    if isinstance(model, AddedModel):
        reason = f"{answer.method} has no {value_name.partition('[')[0]}"
        return (
            AskedValue(NOT_DEFINED)
            if answer.method == SIMULATION
            else AskedValue(OTHER_METHOD, SIMULATION, reason)
        )
    if isinstance(model, Law):
        return _state_of_undefined("the law has no value here")
    return _state_in_network(model, answer, value_name)


def _has_value(answer: Answer, name: str) -> bool:
    """Return whether an answer has a value of a name: a number, bounds, a share, or the limit of a
    pipeline.
    """
    value_kind, _, name_arguments = name.partition("[")
    if value_kind == "share":
        value_name, _, path = name_arguments.removesuffix("]").partition(",")
        return path in answer.share.get(value_name, {})
    if value_kind == "limit":
        return any(limit.pipeline == name_arguments.removesuffix("]") for limit in answer.limits)
    value_of_answer = answer.values.get(name)
    has_bounds = value_of_answer is not None and value_of_answer.ends != (None, None)
    return has_bounds or answer.find(name) is not None


def _state_in_activity(model: Model, answer: Answer, value_name: str) -> AskedValue:
    """Return the state of a value that an answer for an activity does not have."""
    value_kind = value_name.partition("[")[0]
    if is_transient(value_name):
        return AskedValue(NOT_DEFINED, why=_reason_missing(value_name, answer.notes))
    if value_kind in _REASON_BY_STUDY_VALUE:
        return _state_of_undefined(_REASON_BY_STUDY_VALUE[value_kind])
    if value_kind == "share":
        reason = (
            "a simulation computes shares if simulation.shares is set"
            if answer.method == SIMULATION
            else "bounds have no shares"
            if answer.has_only_bounds
            else "this method computes no derivatives with respect to that parameter"
        )
        return _state_of_undefined(reason)
    resource = model.resources.get(value_name.partition("[")[2].removesuffix("]"))
    if resource is not None and value_kind in resource.undefined:
        return _state_of_undefined(resource.undefined[value_kind])
    if value_kind == "fairness" and not _refers_to_lock(model, value_name):
        return _state_of_undefined("it counts waits for locks, and this model has no lock")
    if value_kind in _SIMULATED_KINDS:
        if answer.method != SIMULATION:
            return AskedValue(OTHER_METHOD, SIMULATION, f"{answer.method} has no {value_kind}")
        return _state_of_undefined("nothing waited for it in the run")
    if value_name not in names_of(model, answer.method):
        other_methods = [method for method in METHODS[ACTIVITY] if method != answer.method]
        method_with_value = next(
            (candidate for candidate in other_methods if value_name in names_of(model, candidate)),
            "",
        )
        if method_with_value:
            reason = (
                "the closed form leaves waiting out"
                if answer.method == CLOSED_FORM
                else f"{answer.method} has no {value_kind}"
            )
            return AskedValue(OTHER_METHOD, method_with_value, reason)
    return _state_of_undefined("no time belongs to it: 0 in this answer")


def _refers_to_lock(model: Model, value_name: str) -> bool:
    """Return whether the name of a fairness value refers to a lock: the resource in the name is
    one, or the name has no resource and the model has a lock.
    """
    resource_name = value_name.partition("[")[2].removesuffix("]")
    resource_names = [resource_name] if resource_name else list(model.resources)
    return any(
        isinstance(model.resources.get(candidate_name), Lock) for candidate_name in resource_names
    )


def _state_in_network(model: QueueingNetwork, answer: Answer, value_name: str) -> AskedValue:
    """Return the state of a value that an answer for a queueing network does not have, with the
    reason.
    """
    value_kind, _, name_arguments = value_name.partition("[")
    class_or_station_name, _, station_name = name_arguments.removesuffix("]").partition(",")
    station = model.stations.get(station_name) or model.stations.get(class_or_station_name)
    if value_kind == RESPONSE_QUANTILE and class_or_station_name not in {
        *model.classes,
        *model.chains,
    }:
        chain_of_class = next(
            chain_name
            for chain_name, chain in model.chains.items()
            if class_or_station_name in chain.classes
        )
        reason = (
            f"a cycle is that of the chain: ask for {value_kind}[{chain_of_class},{station_name}]"
        )
        return _state_of_undefined(reason)
    if value_kind in (RESPONSE_QUANTILE, WITHIN_TARGET) and answer.method != SIMULATION:
        reason = "no formula has it for this network"
        return AskedValue(OTHER_METHOD, SIMULATION, reason)
    if value_kind == "loss_probability" and station is not None:
        if not (station.capacity or class_or_station_name in station.balking):
            reason = f"{station_name} has no capacity, so that no customer is lost"
            return _state_of_undefined(reason)
        if station.blocking != "loss":
            reason = f"{station_name} blocks when it is full, and loses no customer"
            return _state_of_undefined(reason)
    if value_kind == "abandonment":
        return _state_of_undefined(
            f"{class_or_station_name} has no patience or timeout at {station_name}"
        )
    if value_kind == "account":
        return _state_of_network_account(answer, class_or_station_name)
    if (
        value_kind == "utilization"
        and station is not None
        and DISCIPLINES[station.discipline].delay
    ):
        return _state_of_undefined(NEVER_ALL_BUSY)
    if value_kind == "saturation_population" and answer.method != BOUNDS:
        return AskedValue(OTHER_METHOD, BOUNDS, f"{answer.method} has no {value_kind}")
    if is_transient(value_name):
        return _state_of_undefined(_reason_missing(value_name, answer.notes))
    if value_kind == "probability":
        return _state_of_probability(model, answer)
    if answer.has_only_bounds:
        return AskedValue(OTHER_METHOD, BEST, "it has no bounds")
    if value_kind == "throughput" and answer.method == SIMULATION:
        return _state_of_undefined(
            "customers come again to a place where others give up or choose by the state, so that"
            " those counted cannot be told apart"
        )
    return _state_of_undefined("it has no value here")


def _state_of_network_account(answer: Answer, component: str) -> AskedValue:
    """Return the state of a component that the account of a network's time does not have."""
    if answer.has_only_bounds:
        return AskedValue(OTHER_METHOD, BEST, "bounds have no account")
    return _state_of_undefined(
        "no class thinks" if component == THINK else "no time belongs to it: 0 in this answer"
    )


def _state_of_probability(model: QueueingNetwork, answer: Answer) -> AskedValue:
    """Return the state of the probability of a number of customers at a station of a network, which
    an answer does not have.
    """
    if not _has_chain(model):
        return _state_of_undefined(
            "only a Markov chain has it, which cannot follow this network, such as its regions, or"
            " its profiles and schedules"
        )
    method = MARKOV_CHAIN if answer.method != MARKOV_CHAIN else EXACT
    return AskedValue(OTHER_METHOD, method, f"{answer.method} has no probability of this station")


def _has_chain(model: QueueingNetwork) -> bool:
    """Return whether a Markov chain supports all constructs and arrivals of a network."""
    unknown_constructs = model.constructs - KNOWN_OF_NETWORKS[MARKOV_CHAIN]
    has_profile_or_trace = any(
        getattr(members, "profile", ()) or getattr(members, "trace", ())
        for members in model.members_by_chain.values()
    )
    return not unknown_constructs and not has_profile_or_trace


def _reason_missing(value_name: str, notes: Iterable[str]) -> str:
    """Return the reason that the notes give for a transient value without a number."""
    reasons = (
        note.reason
        for note in notes
        if isinstance(note, MissingValue) and note.value_name == value_name
    )
    return next(reasons, "it is computed where it is asked for by name")


def method_needed(
    model: Model | QueueingNetwork | AddedModel | Law,
    asked_values: Mapping[str, AskedValue],
    answer: Answer,
) -> str:
    """Name the method that has all values that were asked for and are missing; empty if none is
    missing, or no single method has them all.
    """
    needed_methods = {
        value.method for value in asked_values.values() if value.state == OTHER_METHOD
    }
    return needed_methods.pop() if len(needed_methods) == 1 and not isinstance(model, Law) else ""


def needs_simulation(
    model: Model | QueueingNetwork | AddedModel | Law, value_name: str, method: str | None = None
) -> bool:
    """Return whether a value that the model can have needs a simulation, without solving anything.

    Parameters
    ----------
    model : the system, the network, or the law
    value_name : of the value
    method : that answers; None is the default of the model
    """
    if method == SIMULATION or isinstance(model, Law):
        return False
    if isinstance(model, AddedModel):
        return model.needs_simulation(value_name, method)
    value_kind, _, name_arguments = value_name.partition("[")
    if isinstance(model, Model):
        return value_kind in _SIMULATED_KINDS
    class_name = name_arguments.removesuffix("]").partition(",")[0]
    if value_kind not in (RESPONSE_QUANTILE, WITHIN_TARGET) or class_name not in {
        *model.classes,
        *model.chains,
    }:
        return False
    from slipstick.method.networks.form import has_quantiles

    return not has_quantiles(model, class_name, must_be_exact=value_kind == WITHIN_TARGET)


def value_names_in_texts(
    texts: Iterable[str], value_kinds: Collection[str] = _SIMULATED_KINDS
) -> set[str]:
    """Return the names of values, of the given kinds, that texts such as conditions mention.

    >>> value_names_in_texts(
    ...     ["response_time_quantile[jobs,0.95] <= 1 s and time < 2 s", "fairness"]
    ... )
    {'response_time_quantile[jobs,0.95]'}
    """
    import re

    pattern = re.compile(rf"(?<![\w])(?:{'|'.join(value_kinds)})\[[^\]]+\]")
    return {name for text in texts for name in pattern.findall(text)}
