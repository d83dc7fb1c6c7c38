"""Models with two constructs, in a row and one inside the other, and what is wrong with their
answers.

Each construct is a use: it makes a program from the body that it surrounds, in three forms. `WITH`
has the construct, `LIMIT` has it at a value at which it changes nothing, `WITHOUT` lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from slipstick import Answer, Simulation, solve
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import RATE, TIME, Parameter
from slipstick.model.activity import (
    attempt,
    choose,
    delay,
    fork,
    hedge,
    hold,
    pick,
    repeat,
    reply,
    send,
    service,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    POISSON,
    ArrivalPattern,
    Breaker,
    Model,
    Permits,
    Resource,
    Station,
    closed_model,
    grouped_model,
    open_model,
)
from slipstick.vocabulary import (
    ATTEMPTS,
    BATCHES,
    BOUNDS,
    BREAKERS,
    BURSTS,
    CUT_SERVICES,
    EARLY_JOINS,
    FULL_QUEUES,
    GEOMETRIC_COUNT,
    HEDGES,
    INTERRUPTIONS,
    KNOWN,
    LEAST_WORK,
    MARKOV_CHAIN,
    PROFILES,
    RANKS,
    RATES,
    RENEWALS,
    REPLIES,
    ROUTES_BY_STATE,
    SECOND_PHASES,
    SEVERAL_PERMITS,
    SEVERAL_STREAMS,
    SIMULATION,
    STREAMS,
    TRACES,
    UNLIMITED,
    WEIGHTS,
)

WITH, LIMIT, WITHOUT = "with", "limit", "without"

HALF_WIDTHS = 4.0
"""Half intervals that a value may lie from a simulated one: of some thousand values that are
compared one lies beyond 4 by chance.
"""


def _ranked_visits(body: Activity, form: str) -> Activity:
    ranks = (0, 2) if form == WITH else (0, 0)
    visits = [service("ranked", 0.4, name=f"rank{n}", scv=1.0, rank=r) for n, r in enumerate(ranks)]
    return body >> choose((0.5, visits[0]), (0.5, visits[1]))


def _replying(body: Activity, form: str) -> Activity:
    """Reply before half of the logs, at the limit behind all of them."""
    log, answer_at = service("side", 0.2, name="write", scv=1.0), reply("replier")
    late = log if form == WITHOUT else log >> answer_at
    early = answer_at >> log if form == WITH else late
    return hold("replier", body >> choose((0.5, early), (0.5, late)))


def _second_phase(body: Activity, form: str) -> Activity:
    log: Activity = delay(0.0, name="log")  # a visit without time would wait at the disk
    if form == WITH:
        log = service("disk", 0.3, name="log", scv=1.0)
    return hold("server", body, after=None if form == WITHOUT else log)


def _impatient(body: Activity, form: str) -> Activity:
    held = hold("pool", body)
    if form == WITHOUT:
        return held
    late = delay(0.2, name="late", scv=1.0)
    if form == LIMIT:
        return attempt(held, patience=1e9, otherwise=late)
    return attempt(held, patience=0.7, retries=1, back_off=0.4, otherwise=late)


def _turned_away(body: Activity, form: str) -> Activity:
    held = hold("room", body)
    full = delay(0.2, name="full", scv=1.0)
    return (
        held if form == WITHOUT else attempt(held, queue=1 if form == WITH else 900, otherwise=full)
    )


def _balking(door: str, leaving: Sequence[float], body: Activity, form: str) -> Activity:
    held = hold(door, body)
    left = delay(0.2, name="left", scv=1.0)
    balking = leaving if form == WITH else [0.0]
    return held if form == WITHOUT else attempt(held, balking=balking, otherwise=left)


def _given_up(body: Activity, form: str) -> Activity:
    visit: Activity = service("slow", 0.4, name="look", scv=1.0)
    late = delay(0.2, name="slowly", scv=1.0)
    if form != WITHOUT:
        patience = 0.5 if form == WITH else 1e9
        visit = attempt(visit, patience=patience, limits="visit", otherwise=late)
    return body >> visit


def _guarded(body: Activity, form: str) -> Activity:
    full = delay(0.2, name="refused", scv=1.0)
    guard = None if form == WITHOUT else "guard"
    return attempt(hold("hall", body), queue=0, otherwise=full, breaker=guard)


def _hall(form: str) -> Mapping[str, Resource]:
    if form == WITHOUT:
        return {"hall": Permits(1)}
    open_time = Parameter("guard-open", TIME, 1.5)
    return {"hall": Permits(1), "guard": Breaker(1 if form == WITH else 30, open_time, scv=1.0)}


def _shorter(body: Activity, form: str) -> Activity:
    return pick(hold("left", body), hold("right", body))


def _least_work(body: Activity, form: str) -> Activity:
    first, second = (service(name, 0.4, scv=1.0) for name in ("one", "two"))
    return pick(first >> body, second >> body, by=LEAST_WORK)


def _several(body: Activity, form: str) -> Activity:
    permits = {WITH: 2, LIMIT: 1, WITHOUT: None}[form]
    small = hold("units", delay(0.3, name="small", scv=1.0))
    return small >> hold("units", body, permits=permits)


def _with_rates(body: Activity, form: str) -> Activity:
    return body >> service("cores", 0.4, name="parallel", scv=1.0)


def _rates(form: str) -> Mapping[str, Resource]:
    rates = {WITH: (0.8, 1.6, 1.2), LIMIT: (1.0,), WITHOUT: ()}[form]
    return {"cores": Station(1, "ps", rates)}


def _weighted(body: Activity, form: str, station: str = "shared") -> Activity:
    # Other parts of a program hold no share of this station, so both visits are here.
    weights = {WITH: (4.0, 0.5), LIMIT: (3.0, 3.0), WITHOUT: (None, None)}[form]
    visits = [
        service(station, 0.4, name=f"{station}{n}", scv=1.0, weight=w)
        for n, w in enumerate(weights)
    ]
    return body >> choose((0.5, visits[0]), (0.5, visits[1]))


def _early(body: Activity, form: str) -> Activity:
    side = service("side", 0.5, name="side", scv=1.0)
    return fork(body, side, join={WITH: 1, LIMIT: 2, WITHOUT: None}[form])


def _hedged(body: Activity, form: str) -> Activity:
    """Send a second request after a time, at the limit long after the first has ended."""
    if form == WITHOUT:
        return body
    second = service("side", 0.3, name="second", scv=1.0)
    return hedge(body, 0.5 if form == WITH else 60.0, second, name="hedge")


@dataclass(frozen=True)
class Use:
    """A way to use a construct in a program.

    Parameters
    ----------
    construct : of `slipstick.vocabulary.CONSTRUCTS`
    around : makes a program of a body and a form
    resources : that it needs, by form; the same for all by default
    limited : it has a value at which it changes nothing
    """

    construct: str
    around: Callable[[Activity, str], Activity]
    resources: Callable[[str], Mapping[str, Resource]] = lambda form: {}
    limited: bool = True


USES: Mapping[str, Use] = {
    "geometric": Use(
        GEOMETRIC_COUNT, lambda body, form: repeat(1.5, body, spread="geometric"), limited=False
    ),
    "second phase": Use(SECOND_PHASES, _second_phase, lambda form: {"server": Permits(2)}),
    "reply": Use(REPLIES, _replying, lambda form: {"replier": Permits(1)}),
    "ranks": Use(
        RANKS,
        _ranked_visits,
        lambda form: {"ranked": Station(1, "fcfs" if form == WITHOUT else "priority")},
    ),
    "patience": Use(ATTEMPTS, _impatient, lambda form: {"pool": Permits(1)}),
    "full queue": Use(FULL_QUEUES, _turned_away, lambda form: {"room": Permits(1)}),
    "balking": Use(
        FULL_QUEUES, partial(_balking, "door", [0.5, 1.0]), lambda form: {"door": Permits(1)}
    ),
    "balking by few": Use(
        FULL_QUEUES, partial(_balking, "gate", [0.05, 0.2, 0.45]), lambda form: {"gate": Permits(1)}
    ),
    "given up": Use(CUT_SERVICES, _given_up),
    "circuit breaker": Use(BREAKERS, _guarded, _hall),
    "interruption": Use(
        INTERRUPTIONS,
        lambda body, form: body >> service("cpu", 0.4, name="compute", scv=1.0),
        lambda form: {"cpu": Station(1, "lcfs-pr")},
        limited=False,
    ),
    "infinite servers": Use(
        UNLIMITED,
        lambda body, form: body >> service("net", 0.4, name="ship", scv=1.0),
        lambda form: {"net": Station(900) if form == WITHOUT else Station(1, "is")},
    ),
    "rates": Use(RATES, _with_rates, _rates),
    "weights": Use(WEIGHTS, _weighted, lambda form: {"shared": Station(1, "ps")}),
    "weights at servers": Use(
        WEIGHTS,
        lambda body, form: _weighted(body, form, "servers"),
        lambda form: {"servers": Station(2, "ps")},
    ),
    "shortest": Use(ROUTES_BY_STATE, _shorter, limited=False),
    "least work": Use(ROUTES_BY_STATE, _least_work, limited=False),
    "several permits": Use(SEVERAL_PERMITS, _several, lambda form: {"units": Permits(3)}),
    "first of two": Use(EARLY_JOINS, _early),
    "hedge": Use(HEDGES, _hedged),
    "send": Use(
        EARLY_JOINS,
        lambda body, form: body >> send(service("side", 0.2, name="sent", scv=1.0)),
        limited=False,
    ),
}


def _arrivals(name: str, value: float) -> Parameter:
    return Parameter(name, RATE, value)


_BURST, _QUIET = (Parameter(name, TIME, 10.0) for name in ("burst", "quiet"))
PATTERNS: Mapping[str, tuple[str, ArrivalPattern, ArrivalPattern | None]] = {
    "regular": (RENEWALS, ArrivalPattern(0.0), ArrivalPattern(1.000001)),
    "batches": (BATCHES, ArrivalPattern(batch=2), None),
    "bursts": (
        BURSTS,
        ArrivalPattern(1.0, 1, _arrivals("in-bursts", 0.35), _BURST, _QUIET),
        ArrivalPattern(1.0, 1, _arrivals("in-bursts", 0.2), _BURST, _QUIET),
    ),
    "trace": (TRACES, ArrivalPattern(trace=(2.0, 8.0)), None),
    "profile": (
        PROFILES,
        ArrivalPattern(profile=((20.0, 1.0), (10.0, 4.0))),
        ArrivalPattern(profile=((20.0, 1.0), (10.0, 1.0))),
    ),
}
"""By name, the construct, the pattern, and that at its limit, which is Poisson; None without
one.
"""

_THINK, _SERVED = delay(2.0, name="think", scv=1.0), service("disk", 0.4, scv=1.0)


@dataclass(frozen=True)
class Pair:
    """A model with two constructs.

    Parameters
    ----------
    title : names them
    constructs : that it must have
    build : makes the model in a form of the first of them
    limited : the first has a limit
    """

    title: str
    constructs: frozenset[str]
    build: Callable[[str], Model]
    limited: bool


def pairs() -> Iterator[Pair]:
    """Yield each pair of uses, in a row and inside each other, and each use with each kind of
    arrivals.
    """
    for first_name, first in USES.items():
        yield from _alone(first_name, first)
        for second_name, second in USES.items():
            if first_name != second_name:
                constructs = frozenset({first.construct, second.construct})
                for place in ("then", "around"):
                    yield Pair(
                        f"{first_name} {place} {second_name}",
                        constructs,
                        _closed(first, second, place),
                        first.limited,
                    )


def _closed(first: Use, second: Use, place: str) -> Callable[[str], Model]:
    def build(form: str) -> Model:
        inner = second.around(_SERVED, WITH)
        program = first.around(inner, form)
        if place == "then":
            program = first.around(_SERVED, form) >> inner
        resources = {**second.resources(WITH), **first.resources(form)}
        return closed_model(_THINK >> program, 2, resources=resources)

    return build


def _alone(name: str, use: Use) -> Iterator[Pair]:
    """Yield a use in a stream with each pattern of arrivals, and beside a stream."""
    for title, (construct, pattern, limit) in PATTERNS.items():
        forms = {WITH: pattern, LIMIT: limit or pattern, WITHOUT: POISSON}

        def arriving(form: str, forms: Mapping[str, ArrivalPattern] = forms) -> Model:
            rate = _arrivals("rate", 0.2)
            program = use.around(_SERVED, WITH)
            return open_model(program, rate, pattern=forms[form], resources=use.resources(WITH))

        yield Pair(
            f"{title} with {name}",
            frozenset({construct, use.construct}),
            arriving,
            limit is not None,
        )

    def beside(form: str) -> Model:
        groups: dict[str, Any] = {"users": (2, _THINK >> use.around(_SERVED, WITH))}
        if form != WITHOUT:
            rate = _arrivals("rate", 0.3 if form == WITH else 0.0)
            groups["stream"] = (rate, service("disk", 0.5, name="enter", scv=1.0))
        return grouped_model(groups, resources=use.resources(WITH))

    yield Pair(f"stream beside {name}", frozenset({STREAMS, use.construct}), beside, True)

    def together(form: str) -> Model:
        first = use.around(_SERVED, WITH)
        if form == WITHOUT:
            return open_model(first, _arrivals("rate", 0.2), resources=use.resources(WITH))
        place = "disk" if form == WITH else "elsewhere"
        second = service(place, 0.5, name="enter", scv=1.0)
        groups: dict[str, Any] = {
            "first": (_arrivals("rate", 0.2), first),
            "second": (_arrivals("further-rate", 0.3), second),
        }
        return grouped_model(groups, resources=use.resources(WITH))

    yield Pair(
        f"two streams with {name}", frozenset({SEVERAL_STREAMS, use.construct}), together, True
    )


def problems(pair: Pair, settings: Simulation) -> list[str]:
    """List what is wrong with the answers to a pair: a method that ignores a construct, an exact or
    default answer that simulation contradicts, bounds that do not hold, or a construct at its
    limit that differs from the model without it.

    Parameters
    ----------
    pair : of constructs
    settings : of the simulations
    """
    model, wrong = pair.build(WITH), list[str]()
    if missing := pair.constructs - model.constructs:
        wrong.append(f"the model has no {', '.join(sorted(missing))}")
    simulated = solve(model, method=SIMULATION, simulation=settings)
    for method in KNOWN:
        if method != SIMULATION:
            wrong += _of_method(model, method, simulated, settings)
    default = solve(model, simulation=settings)
    if default.method not in (SIMULATION, MARKOV_CHAIN):
        wrong += [f"default {text}" for text in apart(default, simulated, 0.05)]
    if pair.limited:
        limit, without = (_reference(pair.build(form), settings) for form in (LIMIT, WITHOUT))
        wrong += [f"at its limit {text}" for text in apart(limit, without, 1e-4)]
    return wrong


def _of_method(model: Model, method: str, simulated: Answer, settings: Simulation) -> Iterator[str]:
    """Yield what is wrong with the answer of a method."""
    unknown = model.constructs - KNOWN[method]
    try:
        answer = solve(model, method=method, simulation=settings)
    except NoAnswerError as error:
        if unknown and f"{method} cannot solve" not in str(error):
            yield f"{method} refuses by no name: {error}"
        return
    if unknown:
        yield f"{method} answers, and does not know {', '.join(sorted(unknown))}"
    if method == BOUNDS:
        time, estimate = answer.values["time"], simulated.values["time"]
        low, high = (
            estimate.value if end is None else end for end in (estimate.low, estimate.high)
        )
        if (time.low or 0.0) > 1.02 * (high or 0.0):
            yield f"the time is at least {time.low}, and {estimate.value} is simulated"
        if time.high is not None and time.high < 0.98 * (low or 0.0):
            yield f"the time is at most {time.high}, and {estimate.value} is simulated"
    elif answer.exact:
        yield from (f"{method} {text}" for text in apart(answer, simulated, 2e-3))


def _reference(model: Model, settings: Simulation) -> Answer:
    """Solve by the chain, or by simulation where there is none."""
    try:
        return solve(model, method=MARKOV_CHAIN, simulation=settings)
    except NoAnswerError:
        return solve(model, method=SIMULATION, simulation=settings)


def apart(first: Answer, second: Answer, slack: float) -> Iterator[str]:
    """Yield the values of two answers that differ by more than their intervals and a share of the
    value.
    """
    for name in sorted(first.values.keys() & second.values.keys()):
        values = [answer.values[name] for answer in (first, second)]
        numbers = [value.value for value in values if value.value is not None]
        simulated = [answer.method == SIMULATION for answer in (first, second)]
        unsure = any(
            value.high is None for value, drawn in zip(values, simulated, strict=True) if drawn
        )
        if len(numbers) < len(values) or unsure:
            continue
        reach = slack * max(map(abs, numbers)) + 1e-6
        for value in values:
            if value.high is not None and value.low is not None:
                reach += HALF_WIDTHS * (value.high - value.low) / 2
        if abs(numbers[0] - numbers[1]) > reach:
            yield f"{name}: {numbers[0]:.6g}, {numbers[1]:.6g} within {reach:.2g}"
