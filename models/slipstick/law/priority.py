"""One server, two and more classes, priorities: without preemption, and preemptive-resume."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import ARRIVALS, HAND, RESPONSE, SCV, SERVICE, WAIT, nonnegative

_COBHAM = "Cobham, Operations Research 2(1), 1954"
_KLEINROCK = "Kleinrock, Queueing Systems volume 2, Wiley 1976, chapter 3"


RESIDUAL_WORK = Law(
    name="residual-work",
    title="Mean residual service that an arrival finds of one class",
    gives=Symbol("residual", TIME, "mean rest of the service under way, 0 if it is of another class", "w"),
    symbols=(SCV, SERVICE, ARRIVALS),
    equation=lambda scv, service, arrivals: arrivals * service * service * (1 + scv) / 2,
    holds=lambda scv, service, arrivals: (*nonnegative(scv, service, arrivals), compare(arrivals * service, "<", 1)),
    source=f"{_COBHAM}: half the arrival rate times the second moment; classes add up",
    checks=(Check({"scv": 1.0, "service": 0.2, "arrivals": 4.0}, 0.16, 1e-16, f"{HAND}: 0.8 x 0.2"),),
)

_RESIDUAL = Symbol("residual", TIME, "law/residual-work, added up over all classes", "w")
_PREEMPTED = Symbol("residual", TIME, "law/residual-work, added up over this class and the classes above it", "w")
_ABOVE = Symbol("above", COUNT, "load of the classes above", r"\sigma_{k-1}")
_UP_TO = Symbol("up_to", COUNT, "load of the classes above and of this one", r"\sigma_k")


def _ranked(above: Any, up_to: Any) -> tuple[Comparison, ...]:
    return compare(above, ">=", 0), compare(up_to, ">=", above), compare(up_to, "<", 1)


PRIORITY_WAITING = Law(
    name="mg1-priority-waiting-time",
    title="Waiting time of one of several classes, priority without preemption",
    gives=WAIT,
    symbols=(_ABOVE, _UP_TO, _RESIDUAL),
    equation=lambda above, up_to, residual: residual / ((1 - above) * (1 - up_to)),
    holds=lambda above, up_to, residual: (*_ranked(above, up_to), compare(residual, ">=", 0)),
    source=_COBHAM,
    note="a low class may be saturated while the classes above it are not: leave it out of the loads",
    checks=(
        Check({"above": 0.0, "up_to": 0.5, "residual": 0.5}, 1.0, 0.0, HAND),
        Check({"above": 0.5, "up_to": 0.75, "residual": 0.5}, 4.0, 0.0, HAND),
    ),
)

PREEMPTIVE_RESPONSE = Law(
    name="mg1-preemptive-response-time",
    title="Response time of one of several classes, preemptive-resume priority",
    gives=RESPONSE,
    symbols=(_ABOVE, _UP_TO, SERVICE, _PREEMPTED),
    equation=lambda above, up_to, service, residual: service / (1 - above) + residual / ((1 - above) * (1 - up_to)),
    holds=lambda above, up_to, service, residual: (*_ranked(above, up_to), *nonnegative(service, residual)),
    source=_KLEINROCK,
    note="interrupted service resumes where it stopped, at no cost",
    checks=(
        Check({"above": 0.5, "up_to": 0.75, "service": 1.0, "residual": 0.5}, 6.0, 0.0, f"{HAND}: 2 + 4"),
        Check({"above": 0.0, "up_to": 0.8, "service": 0.2, "residual": 0.16}, 1.0, 1e-15, f"{HAND}: M/M/1"),
    ),
)

_HIGH = (
    Symbol("high_scv", COUNT, "squared coefficient of variation of the upper class's service times", "c_1^2"),
    Symbol("high_service", TIME, "mean service time of the upper class", "S_1"),
    Symbol("high_arrivals", RATE, "customers of the upper class that arrive", r"\lambda_1"),
)
_LOW = (
    Symbol("low_scv", COUNT, "squared coefficient of variation of the lower class's service times", "c_2^2"),
    Symbol("low_service", TIME, "mean service time of the lower class", "S_2"),
    Symbol("low_arrivals", RATE, "customers of the lower class that arrive", r"\lambda_2"),
)


def _two(**given: Any) -> tuple[Comparison, ...]:
    load = given["high_arrivals"] * given["high_service"] + given["low_arrivals"] * given["low_service"]
    return (*(compare(each, ">=", 0) for each in given.values()), compare(load, "<", 1))


def _under_way(given: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Load of the upper class, load of both, work found in service."""
    high = given["high_arrivals"] * given["high_service"]
    low = given["low_arrivals"] * given["low_service"]
    found = high * given["high_service"] * (1 + given["high_scv"]) + low * given["low_service"] * (1 + given["low_scv"])
    return high, high + low, found / 2


def _high_waits(**given: Any) -> Any:
    high, _, found = _under_way(given)
    return found / (1 - high)


def _low_waits(**given: Any) -> Any:
    high, both, found = _under_way(given)
    return found / ((1 - high) * (1 - both))


def _low_responds(**given: Any) -> Any:
    high, both, found = _under_way(given)
    return given["low_service"] / (1 - high) + found / ((1 - high) * (1 - both))


_TWO = {
    "high_scv": 1.0,
    "high_service": 0.5,
    "high_arrivals": 1.0,
    "low_scv": 1.0,
    "low_service": 1.0,
    "low_arrivals": 0.25,
}

PRIORITY_HIGH_WAITING = Law(
    name="mg1-priority-high-waiting-time",
    title="Waiting time of the upper of two classes, priority without preemption",
    gives=WAIT,
    symbols=(*_HIGH, *_LOW),
    equation=_high_waits,
    holds=_two,
    source=_COBHAM,
    checks=(Check(_TWO, 1.0, 0.0, f"{HAND}: (0.25 + 0.25) / 0.5"),),
)

PRIORITY_LOW_WAITING = Law(
    name="mg1-priority-low-waiting-time",
    title="Waiting time of the lower of two classes, priority without preemption",
    gives=WAIT,
    symbols=(*_HIGH, *_LOW),
    equation=_low_waits,
    holds=_two,
    source=_COBHAM,
    checks=(Check(_TWO, 4.0, 0.0, f"{HAND}: 0.5 / (0.5 x 0.25)"),),
)

PREEMPTIVE_LOW_RESPONSE = Law(
    name="mg1-preemptive-low-response-time",
    title="Response time of the lower of two classes, preemptive-resume priority",
    gives=RESPONSE,
    symbols=(*_HIGH, *_LOW),
    equation=_low_responds,
    holds=_two,
    source=_KLEINROCK,
    note="the lower class does not affect the upper: law/mg1-response-time",
    checks=(Check(_TWO, 6.0, 0.0, f"{HAND}: 1 / 0.5 + 4"),),
)
