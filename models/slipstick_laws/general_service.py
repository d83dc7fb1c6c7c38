"""One station with service, or arrivals, that are not exponential.

Priorities are those of several classes: without preemption, at one server and at several, and
preemptive-resume.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slipstick.expression.nodes import COUNT, RATE, TIME, select
from slipstick.expression.special import exp, md1_late, md1_number
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import (
    ARRIVALS,
    HAND,
    LATE,
    NUMBER,
    PRESENT,
    PROBABILITY,
    RESPONSE,
    SCV,
    SERVERS,
    SERVICE,
    WAIT,
    all_busy_probability,
)

_SINGLE = "scv >= 0 and service >= 0 and arrivals >= 0 and arrivals * service < 1"
_CONSTANT = "service > 0 and arrivals >= 0 and arrivals * service < 1"
_MANY = (
    "arrivals_scv >= 0 and scv >= 0 and servers >= 1 and servers == floor(servers) and servers <="
    " 10000000 and service > 0 and arrivals > 0 and arrivals * service < servers"
)
_RANKED = "above >= 0 and up_to >= above and up_to < 1"
_BELOW_ALL = (
    "high_scv >= 0 and high_service >= 0 and high_arrivals >= 0 and low_scv >= 0 and low_service >="
    " 0 and low_arrivals >= 0 and high_arrivals * high_service + low_arrivals * low_service < 1"
)
_RENEWAL = (
    "arrivals_scv >= 0 and scv >= 0 and service >= 0 and arrivals >= 0 and arrivals * service < 1"
)
_POLLACZEK = "Pollaczek, Mathematische Zeitschrift 32, 1930; Khinchin, 1932"
_KLB = "Kraemer and Langenbach-Belz, 8th International Teletraffic Congress, 1976"

_ARRIVALS_SCV = Symbol(
    "arrivals_scv", COUNT, "squared coefficient of variation of times between arrivals", "c_a^2"
)


def _waiting_time(scv: Any, service: Any, arrivals: Any) -> Any:
    """Return the mean wait at a single server with Poisson arrivals (Pollaczek and Khinchine) [s]."""
    return arrivals * service * service * (1 + scv) / (2 * (1 - arrivals * service))


MG1_WAITING_TIME = Law(
    name="mg1-waiting-time",
    title="Waiting time at a single server with general service times",
    gives=WAIT,
    equation=lambda scv=SCV, service=SERVICE, arrivals=ARRIVALS: _waiting_time(
        scv, service, arrivals
    ),
    holds=_SINGLE,
    source=_POLLACZEK,
    note="the law is exact for every order of service that does not depend on the service times",
    checks=(
        Check((1.0, 0.2, 4.0), 0.8, 1e-15, f"{HAND}: as M/M/1"),
        Check((3.0, 0.2, 4.0), 1.6, 1e-15, f"{HAND}: twice that"),
    ),
)

MG1_RESPONSE_TIME = Law(
    name="mg1-response-time",
    title="Response time of a single server with general service times",
    gives=RESPONSE,
    equation=lambda scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        service + _waiting_time(scv, service, arrivals)
    ),
    holds=_SINGLE,
    source=_POLLACZEK,
    checks=(
        Check((0.0, 0.2, 4.0), 0.6, 1e-15, f"{HAND}: 0.2 + 0.4"),
        Check((2.0, 0.2, 4.0), 1.4, 1e-14, f"{HAND}: 0.2 + 0.48 / 0.4"),
    ),
)

MG1_NUMBER = Law(
    name="mg1-number",
    title="Customers at a single server with general service times",
    gives=NUMBER,
    equation=lambda scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        arrivals * (service + _waiting_time(scv, service, arrivals))
    ),
    holds=_SINGLE,
    source=_POLLACZEK,
    checks=(
        Check((0.0, 0.2, 4.0), 2.4, 1e-15, f"{HAND}: 4 x 0.6"),
        Check((2.0, 0.2, 4.0), 5.6, 6e-14, f"{HAND}: 4 x 1.4"),
    ),
)

MD1_WAITING_TIME = Law(
    name="md1-waiting-time",
    title="Waiting time at a single server with constant service",
    gives=WAIT,
    equation=lambda service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service * service / (2 * (1 - arrivals * service))
    ),
    holds="service >= 0 and arrivals >= 0 and arrivals * service < 1",
    source=_POLLACZEK,
    checks=(Check((0.2, 4.0), 0.4, 1e-15, f"{HAND}: half of M/M/1"),),
)


MD1_NUMBER_PROBABILITY = Law(
    name="md1-number-probability",
    title="Probability of n customers at a single server with constant service",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, service=SERVICE, arrivals=ARRIVALS: md1_number(
        arrivals * service, count
    ),
    holds=f"count >= 0 and count == floor(count) and count <= 1000 and {_CONSTANT}",
    source=(
        "Erlang, Nyt Tidsskrift for Matematik B 20, 1909; Kleinrock, Queueing Systems volume 1,"
        " Wiley 1975, chapter 5"
    ),
    checks=(
        Check((0, 0.2, 2.5), 0.5, 0.0, f"{HAND}: 1 - 1/2"),
        Check((1, 0.2, 2.5), 0.32436, 5e-6, f"{HAND}: (exp(1/2) - 1) / 2"),
        Check((2, 0.2, 2.5), 0.12260, 5e-6, f"{HAND}: (e - 1.5 exp(1/2)) / 2"),
    ),
)

_LIMIT = Symbol("limit", TIME, "limit of the response time, not below the service time", "t")
MD1_RESPONSE_TAIL = Law(
    name="md1-response-tail",
    title=(
        "Share of customers whose response time exceeds a limit, at a single server with constant"
        " service"
    ),
    gives=LATE,
    equation=lambda limit=_LIMIT, service=SERVICE, arrivals=ARRIVALS: md1_late(
        arrivals * service, limit / service - 1
    ),
    holds=f"limit >= service and limit <= 1000 * service and {_CONSTANT}",
    source=(
        "Erlang, Nyt Tidsskrift for Matematik B 20, 1909; Franx, Operations Research Letters 29(5),"
        " 2001"
    ),
    note="the discipline is first come, first served; the result is accurate to 14 decimal places",
    checks=(
        Check((0.2, 0.2, 2.5), 0.5, 1e-15, f"{HAND}: an arrival that finds a customer present"),
        Check((0.3, 0.2, 2.5), 0.35799, 5e-6, f"{HAND}: 1 - exp(1/4) / 2"),
    ),
)


def _langenbach_belz_factor(arrivals_scv: Any, scv: Any, load: Any) -> Any:
    """Return the correction factor of Kraemer and Langenbach-Belz for arrivals that are more
    regular, or more bursty, than a Poisson process.
    """
    return exp(
        select(
            arrivals_scv,
            1,
            -2 * (1 - load) * (1 - arrivals_scv) ** 2 / (3 * load * (arrivals_scv + scv)),
            (1 - load) * (1 - arrivals_scv) / (arrivals_scv + 4 * scv),
        )
    )


GG1_KINGMAN = Law(
    name="gg1-kingman",
    title=(
        "Waiting time at a single server with general arrivals and service (Kingman's"
        " approximation)"
    ),
    gives=WAIT,
    equation=lambda arrivals_scv=_ARRIVALS_SCV, scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service * service * (arrivals_scv + scv) / (2 * (1 - arrivals * service))
    ),
    holds=_RENEWAL,
    source="Kingman, Mathematical Proceedings of the Cambridge Philosophical Society 57(4), 1961",
    note=(
        "the approximation is exact for Poisson arrivals; with exponential service it is too high"
        " by at most 8% at a load of 0.9, 33% at 0.7 and 96% at 0.5; constant times between"
        " arrivals give the largest error"
    ),
    exact=False,
    checks=(
        Check((0.5, 0.5, 0.2, 4.0), 0.4, 1e-15, f"{HAND}: half M/M/1"),
        Check((0.5, 1.0, 0.2, 4.0), 0.6, 6e-15, f"{HAND}: 0.24 / 0.4"),
    ),
)

GG1_BOUND = Law(
    name="gg1-bound",
    title="Upper bound on the waiting time at a single server",
    gives=WAIT,
    equation=lambda arrivals_scv=_ARRIVALS_SCV, scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        (arrivals_scv / arrivals + arrivals * service * service * scv)
        / (2 * (1 - arrivals * service))
    ),
    holds=f"arrivals > 0 and {_RENEWAL}",
    source="Kingman, Biometrika 49(3-4), 1962",
    note="this is an upper bound, which is close to the true time only in heavy traffic",
    checks=(
        Check((1.0, 1.0, 0.2, 4.0), 1.025, 1e-14, f"{HAND}: 0.41 / 0.4"),
        Check((0.5, 2.0, 0.2, 4.0), 1.1125, 1e-14, f"{HAND}: (0.125 + 0.32) / 0.4"),
    ),
)

GG1_KRAEMER_LANGENBACH_BELZ = Law(
    name="gg1-kraemer-langenbach-belz",
    title=(
        "Waiting time at a single server with general arrivals and service (approximation of"
        " Kraemer and Langenbach-Belz)"
    ),
    gives=WAIT,
    equation=lambda arrivals_scv=_ARRIVALS_SCV, scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        arrivals
        * service
        * service
        * (arrivals_scv + scv)
        / (2 * (1 - arrivals * service))
        * _langenbach_belz_factor(arrivals_scv, scv, arrivals * service)
    ),
    holds=f"{_RENEWAL} and arrivals * service > 0 and arrivals_scv + scv > 0",
    source=_KLB,
    note=(
        "the approximation is exact for Poisson arrivals; with exponential service its error is at"
        " most 10% at loads of at least 0.5 for an scv up to 9, and 15% at a load of 0.3 for an"
        " scv up to 4"
    ),
    exact=False,
    checks=(
        Check((1.0, 0.5, 0.2, 4.0), 0.6, 1e-15, f"{HAND}: as M/G/1"),
        Check((0.0, 1.0, 0.5, 1.0), 0.12835, 5e-6, f"{HAND}: exp(-2/3)/4"),
        Check((0.25, 1.5, 0.2, 4.0), 0.6634867650982609, 7e-15, f"{HAND}: 0.7 exp(-0.225 / 4.2)"),
        Check((1.75, 0.5, 0.2, 4.0), 0.8647104952370909, 1e-14, f"{HAND}: 0.9 exp(-0.15 / 3.75)"),
    ),
)


GGC_ALLEN_CUNNEEN = Law(
    name="ggc-allen-cunneen",
    title=(
        "Waiting time at several servers with general arrivals and service (approximation of Allen"
        " and Cunneen)"
    ),
    gives=WAIT,
    equation=lambda arrivals_scv=_ARRIVALS_SCV, scv=SCV, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        all_busy_probability(servers, arrivals * service)
        * service
        * (arrivals_scv + scv)
        / (2 * (servers - arrivals * service))
    ),
    holds=_MANY,
    source="Allen, Probability, Statistics, and Queueing Theory, Academic Press 1978",
    note=(
        "the approximation is exact for M/M/c and M/G/1; for M/D/c with up to 20 servers it is too"
        " low by at most 5% at a load of 0.9, 19% at 0.7 and 34% at 0.5; for other arrivals than"
        " Poisson its error is that of law/gg1-kingman"
    ),
    exact=False,
    checks=(
        Check((1.0, 1.0, 2, 1.0, 1.0), 1 / 3, 1e-15, f"{HAND}: as M/M/2"),
        Check(
            (1.0, 0.0, 2, 1.0, 1.0),
            1 / 6,
            1e-15,
            f"{HAND}: half of M/M/2; M/D/2 is 0.1767 (Tijms, Stochastic Models, Wiley 1994)",
        ),
        Check((0.5, 1.0, 2, 0.5, 3.2), 0.6666666666666666, 7e-15, f"{HAND}: 32/45 x 0.75 / 0.8"),
    ),
)

GGC_KRAEMER_LANGENBACH_BELZ = Law(
    name="ggc-kraemer-langenbach-belz",
    title=(
        "Waiting time at several servers (approximation of Allen and Cunneen, corrected by"
        " Kraemer and Langenbach-Belz)"
    ),
    gives=WAIT,
    equation=lambda arrivals_scv=_ARRIVALS_SCV, scv=SCV, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        all_busy_probability(servers, arrivals * service)
        * service
        * (arrivals_scv + scv)
        / (2 * (servers - arrivals * service))
        * _langenbach_belz_factor(arrivals_scv, scv, arrivals * service / servers)
    ),
    holds=f"{_MANY} and arrivals_scv + scv > 0",
    source=(
        f"{_KLB}; Bolch, Greiner, de Meer, Trivedi, Queueing Networks and Markov Chains, Wiley"
        " 1998, chapter 6"
    ),
    note=(
        "for Poisson arrivals the result equals law/ggc-allen-cunneen; for other arrivals its"
        " error is that of law/gg1-kraemer-langenbach-belz"
    ),
    exact=False,
    checks=(
        Check((1.0, 1.0, 2, 1.0, 1.0), 1 / 3, 1e-15, f"{HAND}: as M/M/2"),
        Check(
            (0.25, 1.5, 2, 0.5, 3.2), 0.7372075167758455, 7e-15, f"{HAND}: 7/9 exp(-0.225 / 4.2)"
        ),
        Check((1.75, 0.5, 2, 0.5, 3.2), 0.9607894391523232, 2e-14, f"{HAND}: exp(-0.15 / 3.75)"),
    ),
)


_COBHAM = "Cobham, Operations Research 2(1), 1954"
_KLEINROCK = "Kleinrock, Queueing Systems volume 2, Wiley 1976, chapter 3"


RESIDUAL_WORK = Law(
    name="residual-work",
    title="Mean residual service time of one class, as seen by an arriving customer",
    gives=Symbol(
        "residual",
        TIME,
        (
            "mean remaining time of the service in progress, counted as 0 if the customer is of"
            " another class"
        ),
        "w",
    ),
    equation=lambda scv=SCV, service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service * service * (1 + scv) / 2
    ),
    holds=_SINGLE,
    source=(
        f"{_COBHAM}: half the arrival rate times the second moment of the service time; sum this"
        " over the classes"
    ),
    checks=(Check((1.0, 0.2, 4.0), 0.16, 1e-16, f"{HAND}: 0.8 x 0.2"),),
)

_RESIDUAL = Symbol("residual", TIME, "sum of law/residual-work over all classes", "w")
_PREEMPTED = Symbol(
    "residual", TIME, "sum of law/residual-work over this class and the classes above it", "w"
)
_ARRIVALS_OF_ALL = replace(ARRIVALS, meaning="arrival rate of all classes together")
_ABOVE = Symbol("above", COUNT, "load of the classes above", r"\sigma_{k-1}")
_UP_TO = Symbol("up_to", COUNT, "load of the classes above and of this one", r"\sigma_k")


PRIORITY_WAITING = Law(
    name="mg1-priority-waiting-time",
    title="Waiting time of a class at a single server that serves by priority, without preemption",
    gives=WAIT,
    equation=lambda above=_ABOVE, up_to=_UP_TO, residual=_RESIDUAL: (
        residual / ((1 - above) * (1 - up_to))
    ),
    holds=f"{_RANKED} and residual >= 0",
    source=_COBHAM,
    words="priorities ranks premium classes",
    note=(
        "the law is valid even if a lower class is saturated, because it uses only the loads of"
        " this class and of those above"
    ),
    checks=(Check((0.0, 0.5, 0.5), 1.0, 0.0, HAND), Check((0.5, 0.75, 0.5), 4.0, 0.0, HAND)),
)

_SERVERS_ABOVE, _SERVERS_UP_TO = (
    replace(arrivals, meaning=f"{arrivals.meaning}, for each server")
    for arrivals in (_ABOVE, _UP_TO)
)

MMC_PRIORITY_WAITING = Law(
    name="mmc-priority-waiting-time",
    title="Waiting time of a class at several servers that serve by priority, without preemption",
    gives=WAIT,
    equation=lambda above=_SERVERS_ABOVE, up_to=_SERVERS_UP_TO, servers=SERVERS, service=SERVICE, arrivals=_ARRIVALS_OF_ALL: (
        PRIORITY_WAITING.equation(
            above, up_to, all_busy_probability(servers, arrivals * service) * service / servers
        )
    ),
    holds=(
        f"{_RANKED} and servers >= 1 and servers == floor(servers) and servers <= 10000000 and"
        " service > 0 and arrivals > 0 and arrivals * service < servers"
    ),
    source=f"{_COBHAM}, the case of several servers",
    note="service times are exponential, with the same mean for all classes",
    words="priorities ranks premium classes",
    checks=(
        Check((0.0, 0.25, 2, 1.0, 1.0), 2 / 9, 1e-15, f"{HAND}: C = 1/3; 1/6 of 3/4"),
        Check((0.25, 0.5, 2, 1.0, 1.0), 4 / 9, 1e-15, f"{HAND}: 1/6 of 3/8"),
        Check((0.25, 0.5, 2, 0.5, 2.0), 0.2222222222222222, 2e-15, f"{HAND}: 1/12 of 3/8"),
    ),
)

PREEMPTIVE_RESPONSE = Law(
    name="mg1-preemptive-response-time",
    title="Response time of a class at a single server with preemptive-resume priority",
    gives=RESPONSE,
    equation=lambda above=_ABOVE, up_to=_UP_TO, service=SERVICE, residual=_PREEMPTED: (
        service / (1 - above) + residual / ((1 - above) * (1 - up_to))
    ),
    holds=f"{_RANKED} and service >= 0 and residual >= 0",
    source=_KLEINROCK,
    note="an interrupted service resumes where it stopped, at no cost",
    checks=(
        Check((0.5, 0.75, 1.0, 0.5), 6.0, 0.0, f"{HAND}: 2 + 4"),
        Check((0.0, 0.8, 0.2, 0.16), 1.0, 1e-15, f"{HAND}: M/M/1"),
    ),
)

_HIGH = (
    Symbol(
        "high_scv",
        COUNT,
        "squared coefficient of variation of the upper class's service times",
        "c_1^2",
    ),
    Symbol("high_service", TIME, "mean service time of the upper class", "S_1"),
    Symbol("high_arrivals", RATE, "arrival rate of the upper class", r"\lambda_1"),
)
_LOW = (
    Symbol(
        "low_scv",
        COUNT,
        "squared coefficient of variation of the lower class's service times",
        "c_2^2",
    ),
    Symbol("low_service", TIME, "mean service time of the lower class", "S_2"),
    Symbol("low_arrivals", RATE, "arrival rate of the lower class", r"\lambda_2"),
)


def _loads_and_remaining_work(values: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the load of the upper class, the load of both classes, and the mean remaining work of
    the customer in service that an arrival finds.
    """
    upper_load = values["high_arrivals"] * values["high_service"]
    lower_load = values["low_arrivals"] * values["low_service"]
    doubled_work = upper_load * values["high_service"] * (
        1 + values["high_scv"]
    ) + lower_load * values["low_service"] * (1 + values["low_scv"])
    return upper_load, upper_load + lower_load, doubled_work / 2


def _upper_class_waiting_time(**values: Any) -> Any:
    """Return the mean wait of the upper class, without preemption [s]."""
    upper_load, _, remaining_work = _loads_and_remaining_work(values)
    return remaining_work / (1 - upper_load)


def _lower_class_waiting_time(**values: Any) -> Any:
    """Return the mean wait of the lower class, without preemption [s]."""
    upper_load, total_load, remaining_work = _loads_and_remaining_work(values)
    return remaining_work / ((1 - upper_load) * (1 - total_load))


def _lower_class_response_time(**values: Any) -> Any:
    """Return the mean response time of the lower class, which is preempted [s]."""
    upper_load, total_load, remaining_work = _loads_and_remaining_work(values)
    return values["low_service"] / (1 - upper_load) + remaining_work / (
        (1 - upper_load) * (1 - total_load)
    )


_TWO = (1.0, 0.5, 1.0, 1.0, 1.0, 0.25)

PRIORITY_HIGH_WAITING = Law(
    name="mg1-priority-high-waiting-time",
    title="Waiting time of the higher of two priority classes at a server, without preemption",
    gives=WAIT,
    symbols=(*_HIGH, *_LOW),
    equation=_upper_class_waiting_time,
    holds=_BELOW_ALL,
    source=_COBHAM,
    checks=(
        Check(_TWO, 1.0, 0.0, f"{HAND}: (0.25 + 0.25) / 0.5"),
        Check((2.0, 0.5, 1.0, 0.5, 2.0, 0.1), 1.35, 1e-14, f"{HAND}: 0.675 / 0.5"),
    ),
)

PRIORITY_LOW_WAITING = Law(
    name="mg1-priority-low-waiting-time",
    title="Waiting time of the lower of two priority classes at a server, without preemption",
    gives=WAIT,
    symbols=(*_HIGH, *_LOW),
    equation=_lower_class_waiting_time,
    holds=_BELOW_ALL,
    source=_COBHAM,
    checks=(
        Check(_TWO, 4.0, 0.0, f"{HAND}: 0.5 / (0.5 x 0.25)"),
        Check((2.0, 0.5, 1.0, 0.5, 2.0, 0.1), 4.5, 4e-14, f"{HAND}: 0.675 / (0.5 x 0.3)"),
    ),
)

PREEMPTIVE_LOW_RESPONSE = Law(
    name="mg1-preemptive-low-response-time",
    title="Response time of the lower of two preemptive-resume priority classes at a server",
    gives=RESPONSE,
    symbols=(*_HIGH, *_LOW),
    equation=_lower_class_response_time,
    holds=_BELOW_ALL,
    source=_KLEINROCK,
    note=(
        "the lower class does not affect the upper class, whose response time is"
        " law/mg1-response-time"
    ),
    checks=(
        Check(_TWO, 6.0, 0.0, f"{HAND}: 1 / 0.5 + 4"),
        Check((2.0, 0.5, 1.0, 0.5, 2.0, 0.1), 8.5, 9e-14, f"{HAND}: 2 / 0.5 + 4.5"),
    ),
)
