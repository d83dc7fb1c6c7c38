"""Each construct means the same in every method that knows it, and every other refuses it by name.

`EXAMPLES` has models of each construct; a construct without one is noticed. What is an expectation
is compared with the Markov chain where that takes the model, else with a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from docs.constructs import constructs_of_activities
from slipstick import Answer, Simulation, solve
from slipstick.errors import ModelError, NoAnswerError, SlipstickError
from slipstick.expression.nodes import COUNT, RATE, TIME, Expr, Parameter
from slipstick.method.ladder import Method
from slipstick.method.methods import ladder
from slipstick.model.activity import (
    attempt,
    barrier,
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
from slipstick.model.steps import NEVER, NOTHING, Activity, Combination, single_executions
from slipstick.model.system import (
    POISSON,
    ArrivalPattern,
    Breaker,
    Lock,
    Model,
    Permits,
    Station,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
)
from slipstick.vocabulary import (
    ATTEMPTS,
    BATCHES,
    BOUNDS,
    BREAKERS,
    BURSTS,
    CONSTRUCTS,
    CUT_SERVICES,
    EARLY_JOINS,
    FULL_QUEUES,
    GEOMETRIC_COUNT,
    HEDGES,
    INTERRUPTIONS,
    KNOWN,
    MARKOV_CHAIN,
    MEAN_VALUE,
    PROFILES,
    RANKS,
    RATES,
    REGIONS,
    RENEWALS,
    REPLIES,
    RETRIES,
    ROUTES,
    ROUTES_BY_STATE,
    SECOND_PHASES,
    SEVERAL_PERMITS,
    SEVERAL_STREAMS,
    SIMULATION,
    STREAMS,
    TRACES,
    UNLIMITED,
    WEIGHTS,
    refuse_unknown,
)
from slipstick_compiled.kernel import AVAILABLE
from slipstick_mean_value.measured_errors import MEASURED_ERRORS, ROW_BY_CONSTRUCT
from tests.network_examples import WORDS_BY_USE
from tests.paired_networks import USES

SETTINGS = Simulation(seed=5, events=25_000)
WIDTHS = 3.0
"""Half intervals that an exact value may lie from a simulated one."""


def thinks(time: float = 4.0) -> Activity:
    return delay(time, name="think", scv=1.0)


def served(time: float = 1.0) -> Activity:
    return service("disk", time, scv=1.0)


def _geometric(spread: str) -> Model:
    return closed_model(thinks() >> repeat(2.5, served(), spread=spread), 3)


def rate(value: float) -> Parameter:
    return Parameter("rate", RATE, value)


SHARED_DISK = {"disk": Station(1, "ps")}
"""A queue that keeps the order of streams has a state for each order."""


def _beside(arrivals: float) -> Model:
    stream = delay(0.5, name="enter", scv=1.0) >> service("disk", 0.8, name="serve", scv=1.0)
    groups: dict[str, Any] = {
        "users": (3, thinks() >> served()),
        "stream": (rate(arrivals), stream),
    }
    return grouped_model(groups, resources=SHARED_DISK)


def _streams(station: str) -> Model:
    further = service(station, 0.4, name="further", scv=1.0)
    groups: dict[str, Any] = {
        "first": (rate(0.4), delay(2.0, name="enter", scv=1.0) >> served(0.5)),
        "second": (Parameter("further-rate", RATE, 0.3), further),
    }
    return grouped_model(groups, resources=SHARED_DISK)


def _bursts(in_bursts: float) -> ArrivalPattern:
    burst, quiet = (Parameter(name, TIME, 10.0) for name in ("burst", "quiet"))
    in_burst = Parameter("in-bursts", RATE, in_bursts)
    return ArrivalPattern(burst_arrivals=in_burst, burst_time=burst, quiet_time=quiet)


@dataclass(frozen=True)
class Example:
    """A model with a construct.

    Parameters
    ----------
    model : with it
    limit : the same at the construct's limit
    without : the model that the limit is equal to
    """

    model: Model
    limit: Model
    without: Model


def _arriving(pattern: ArrivalPattern, limit: ArrivalPattern) -> Example:
    models = [open_model(served(), rate(0.5), pattern=each) for each in (pattern, limit, POISSON)]
    return Example(*models)


def _second_phase(after: float | None) -> Model:
    later = None if after is None else service("cpu", after, name="log", scv=1.0)
    held = hold("server", service("cpu", 0.5, name="reply", scv=1.0), after=later)
    return closed_model(thinks(1.0) >> held, 3, resources={"server": Permits(2)})


def _interrupting(discipline: str) -> Model:
    """Make a model of product form under both orders: one exponential time."""
    return closed_model(thinks(1.0) >> served(0.7), 4, resources={"disk": Station(1, discipline)})


def _ranked(rank: int | None, discipline: str = "priority") -> Model:
    last = service("disk", 0.7, name="last", scv=1.0, rank=rank or 0)
    groups: dict[str, Any] = {"first": (2, thinks() >> served()), "second": (2, last)}
    return grouped_model(
        groups, resources={"disk": Station(1, "fcfs" if rank is None else discipline)}
    )


def _turned_away(queue: int | None) -> Model:
    held: Activity = hold("pool", delay(1.0, name="inside", scv=1.0) >> served(0.3))
    if queue is not None:
        held = attempt(held, queue=queue, otherwise=delay(0.2, name="full", scv=1.0))
    return closed_model(thinks(1.0) >> held, 5, resources={"pool": Permits(2)})


def _cut(patience: float | None) -> Model:
    visit: Activity = served()
    if patience is not None:
        late = delay(0.2, name="late", scv=1.0)
        visit = attempt(visit, patience=patience, limits="visit", retries=1, otherwise=late)
    return closed_model(thinks(2.0) >> visit, 4)


def _guarded(failures: int) -> Model:
    """Make a pool whose full queue opens a circuit breaker; 30 in a row never come."""
    held = hold("pool", delay(1.0, name="inside", scv=1.0) >> served(0.3))
    full = delay(0.2, name="full", scv=1.0)
    tried = attempt(held, queue=1, otherwise=full, breaker="guard")
    guard = Breaker(failures, Parameter("open", TIME, 2.0), scv=1.0)
    return closed_model(thinks(1.0) >> tried, 5, resources={"pool": Permits(2), "guard": guard})


def _picked(by: str | None, second: float = 0.7) -> Model:
    parts = [service(name, time, scv=1.0) for name, time in (("left", 0.5), ("right", second))]
    chosen = choose((0.5, parts[0]), (0.5, parts[1])) if by is None else pick(*parts, by=by)
    return closed_model(thinks(1.0) >> chosen, 4 if second else 1)


def _at_station(station: Station) -> Model:
    cycle = thinks(1.0) >> service("net", 0.7, scv=1.0) >> served(0.5)
    return closed_model(cycle, 3, resources={"net": station})


def _weighted(weight: float | None) -> Model:
    last = service("disk", 0.7, name="last", scv=1.0, weight=weight)
    groups: dict[str, Any] = {"first": (2, thinks() >> served()), "second": (2, last)}
    return grouped_model(groups, resources={"disk": Station(1, "ps")})


def _hedged(late: float | None) -> Model:
    """Make a model whose requests are sent again if late; those sent once have no bound of time."""
    request: Activity = service("cpu", 0.5, name="request", scv=1.0)
    if late is not None:
        request = hedge(request, late, service("other", 0.5, name="again", scv=1.0))
    return closed_model(delay(3.0, name="work", scv=1.0) >> request, 2)


def _joined(join: int | None) -> Model:
    branches = [service(name, 0.6, scv=1.0) for name in ("left", "middle", "right")]
    return closed_model(thinks(1.0) >> fork(*branches, join=join), 2)


def _taken(permits: int | None) -> Model:
    """Make two groups that share permits, of which one takes several at once."""
    small = hold("pool", delay(0.6, name="small", scv=1.0))
    large = hold("pool", delay(0.4, name="large", scv=1.0), permits=permits)
    groups: dict[str, Any] = {
        "one": (2, thinks(1.0) >> small),
        "several": (2, thinks(1.0) >> large),
    }
    return grouped_model(groups, resources={"pool": Permits(3)})


def _replying(place: str) -> Model:
    """Make a server that replies before it writes its log, behind it, or with no reply."""
    log, answer_at = service("cpu", 0.5, name="log", scv=1.0), reply("server")
    late = (0.5, log if not place else log >> answer_at)
    options = (late, (0.5, answer_at >> log) if place == "early" else late)
    held = hold("server", service("cpu", 0.5, name="work", scv=1.0) >> choose(*options))
    return closed_model(thinks(1.0) >> held, 3, resources={"server": Permits(2)})


def _attempted(patience: float | None, **keys: Any) -> Model:
    held: Activity = hold("pool", delay(1.0, name="inside", scv=1.0) >> served(0.3))
    if patience is not None:
        late = delay(0.2, name="late", scv=1.0)
        held = attempt(held, patience=patience, otherwise=late, **keys)
    return closed_model(thinks(2.0) >> held, 4, resources={"pool": Permits(2)})


EXAMPLES: Mapping[str, Callable[[], Example]] = {
    GEOMETRIC_COUNT: lambda: Example(
        _geometric("geometric"),
        closed_model(thinks() >> repeat(0, served(), spread="geometric"), 3),
        closed_model(thinks() >> repeat(0, served()), 3),
    ),
    STREAMS: lambda: Example(_beside(0.2), _beside(0.0), closed_model(thinks() >> served(), 3)),
    SEVERAL_STREAMS: lambda: Example(
        _streams("disk"),
        _streams("elsewhere"),
        open_model(delay(2.0, name="enter", scv=1.0) >> served(0.5), rate(0.4)),
    ),
    RENEWALS: lambda: _arriving(ArrivalPattern(0.0), ArrivalPattern(1.000001)),
    BATCHES: lambda: Example(
        open_model(served(), rate(0.25), pattern=ArrivalPattern(batch=2)),
        open_model(thinks(), rate(0.25), pattern=ArrivalPattern(batch=2)),
        open_model(thinks(), rate(0.25)),
    ),
    BURSTS: lambda: _arriving(_bursts(1.0), _bursts(0.5)),
    SECOND_PHASES: lambda: Example(_second_phase(0.5), _second_phase(0.0), _second_phase(None)),
    REPLIES: lambda: Example(_replying("early"), _replying("late"), _replying("")),
    RANKS: lambda: Example(_ranked(1), _ranked(0), _ranked(None)),
    ATTEMPTS: lambda: Example(
        _attempted(0.7, retries=2, back_off=0.5, doubling=True),
        _attempted(1e9),
        _attempted(None),
    ),
    FULL_QUEUES: lambda: Example(_turned_away(1), _turned_away(9), _turned_away(None)),
    CUT_SERVICES: lambda: Example(_cut(0.7), _cut(1e9), _cut(None)),
    BREAKERS: lambda: Example(_guarded(2), _guarded(30), _turned_away(1)),
    INTERRUPTIONS: lambda: Example(
        _ranked(1, "priority-preemptive"), _interrupting("lcfs-pr"), _interrupting("fcfs")
    ),
    # A single processor finds nobody, and takes each with the same probability.
    ROUTES_BY_STATE: lambda: Example(
        _picked("shortest"), _picked("shorter-of-two", 0.0), _picked(None, 0.0)
    ),
    SEVERAL_PERMITS: lambda: Example(_taken(2), _taken(1), _taken(None)),
    UNLIMITED: lambda: Example(
        _at_station(Station(1, "is")), _at_station(Station(1, "is")), _at_station(Station(3))
    ),
    RATES: lambda: Example(
        _at_station(Station(1, "ps", (0.8, 1.5, 1.2))),
        _at_station(Station(1, "fcfs", (1.0,))),
        _at_station(Station(1)),
    ),
    WEIGHTS: lambda: Example(_weighted(0.25), _weighted(1.0), _weighted(None)),
    EARLY_JOINS: lambda: Example(_joined(2), _joined(3), _joined(None)),
    HEDGES: lambda: Example(_hedged(1.0), _hedged(60.0), _hedged(None)),
    PROFILES: lambda: _arriving(
        ArrivalPattern(profile=((20.0, 1.0), (10.0, 4.0))),
        ArrivalPattern(profile=((20.0, 2.0), (10.0, 2.0))),
    ),
    TRACES: lambda: Example(
        open_model(served(), rate(0.5), pattern=ArrivalPattern(trace=(1.0, 3.0))),
        open_model(served(), rate(0.5), pattern=ArrivalPattern(trace=(1.0, 1.0))),
        open_model(served(), rate(0.5), pattern=ArrivalPattern(0.0)),
    ),
}


NETWORK_FACTOR = {REGIONS, RETRIES}
"""Constructs that only networks have: tests/method/networks/test_regions.py."""


def answer(model: Model, method: str | None = None) -> Answer:
    return solve(model, method=method, simulation=SETTINGS)


def time_of(found: Answer) -> float:
    value = found.values["time"].value
    assert value is not None
    return value


def reference(model: Model) -> Answer:
    """Solve by the chain, or by simulation where there is none."""
    try:
        return answer(model, MARKOV_CHAIN)
    except NoAnswerError:
        return answer(model, SIMULATION)


def contradictions(found: Answer, simulated: Answer) -> list[str]:
    """List the values of an exact answer that lie outside a simulation's interval."""
    words = []
    for name in sorted(found.values.keys() & simulated.values.keys()):
        value, estimate = found.values[name].value, simulated.values[name]
        if value is None or estimate.value is None or estimate.high is None:
            continue
        reach = WIDTHS * (estimate.high - estimate.value) + 1e-3 * abs(value) + 1e-9
        if abs(value - estimate.value) > reach:
            words.append(
                f"{name}: {value:.6g}, simulated {estimate.value:.6g} to {estimate.high:.6g}"
            )
    return words


def test_every_construct_has_an_example() -> None:
    assert EXAMPLES.keys() | NETWORK_FACTOR == CONSTRUCTS.keys()
    assert KNOWN[SIMULATION] == CONSTRUCTS.keys()


@pytest.mark.turns(4)
@pytest.mark.parametrize("construct", EXAMPLES)
def test_a_model_has_the_construct_of_its_example_alone(construct: str) -> None:
    example = EXAMPLES[construct]()
    assert construct in example.model.constructs
    assert construct not in example.without.constructs


@pytest.mark.turns(6)
@pytest.mark.parametrize("construct", EXAMPLES)
def test_the_chain_equals_simulation(construct: str) -> None:
    model = EXAMPLES[construct]().model
    if MARKOV_CHAIN in (construct_known := [name for name in KNOWN if construct in KNOWN[name]]):
        assert not contradictions(answer(model, MARKOV_CHAIN), answer(model, SIMULATION))
    else:
        assert SIMULATION in construct_known


@pytest.mark.turns(6)
@pytest.mark.parametrize("construct", EXAMPLES)
@pytest.mark.parametrize("method", KNOWN)
def test_every_method_is_right_or_refuses_by_name(construct: str, method: str) -> None:
    model = EXAMPLES[construct]().model
    if construct not in KNOWN[method]:
        with pytest.raises(NoAnswerError, match=f"^{method} cannot solve {construct} "):
            answer(model, method)
        return
    try:
        found = answer(model, method)
    except NoAnswerError:  # a part of the example beside the construct
        return
    if method == BOUNDS:
        time, truth = found.values["time"], time_of(reference(model))
        assert (time.low or 0.0) <= 1.02 * truth
        assert time.high is None or time.high >= 0.98 * truth
    elif method != SIMULATION and (found.exact or found.promise is not None):
        assert found.exact or method != MARKOV_CHAIN
        truth = time_of(reference(model))
        assert time_of(found) == pytest.approx(truth, rel=0.02 if found.exact else 0.1)


@pytest.mark.turns(4)
@pytest.mark.parametrize("construct", EXAMPLES)
def test_the_default_answer_is_right(construct: str) -> None:
    model, default = EXAMPLES[construct]().model, answer(EXAMPLES[construct]().model)
    if default.method != SIMULATION:
        assert time_of(default) == pytest.approx(time_of(reference(model)), rel=0.03)


@pytest.mark.turns(4)
@pytest.mark.parametrize("construct", EXAMPLES)
def test_at_its_limit_it_equals_the_model_without_it(construct: str) -> None:
    example = EXAMPLES[construct]()
    limit, without = reference(example.limit), reference(example.without)
    assert time_of(limit) == pytest.approx(time_of(without), rel=1e-3 if limit.exact else 0.06)


RANDOM_COUNTS: Mapping[str, Callable[[Activity], Activity]] = {
    "even": lambda body: repeat(3, body, scv=0.2),
    "uneven": lambda body: repeat(2, body, scv=4),
    "listed": lambda body: repeat([0.1, 0.2, 0.0, 0.7], body),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", RANDOM_COUNTS)
def test_random_counts_are_those_of_the_chain_and_of_pollaczek_and_khinchine(name: str) -> None:
    count = RANDOM_COUNTS[name]
    closed = closed_model(thinks() >> count(served()), 3)
    chain = answer(closed, MARKOV_CHAIN)
    assert chain.exact
    assert not contradictions(chain, answer(closed, SIMULATION))

    # One customer at a time is served for N exponential times of mean 1: an M/G/1 queue.
    mean, square = {"even": (3, 10.8), "uneven": (2, 20), "listed": (2.3, 6.5)}[name]
    held = hold("room", count(delay(1.0, name="call", scv=1.0)))
    queue = open_model(held, rate(0.2), resources={"room": Permits(1)})
    wait = 0.2 * (mean + square) / 2 / (1 - 0.2 * mean)
    assert answer(queue, "mean-value")["time"] == pytest.approx(wait + mean, rel=0.01)
    simulated = answer(queue, SIMULATION).values["time"]
    assert simulated.value is not None
    assert simulated.high is not None
    assert abs(simulated.value - wait - mean) <= WIDTHS * (simulated.high - simulated.value)


def test_counts_at_their_limits_are_whole_or_geometric() -> None:
    def time(counted: Activity) -> float:
        return time_of(answer(closed_model(thinks() >> counted, 3), MARKOV_CHAIN))

    whole, geometric = repeat(2, served()), repeat(2, served(), spread="geometric")
    assert time(repeat([0.0, 0.0, 1.0], served())) == pytest.approx(time(whole), rel=1e-9)
    assert time(repeat(2, served(), scv=0)) == pytest.approx(time(whole), rel=1e-9)
    assert time(repeat(2, served(), scv=1.5)) == pytest.approx(time(geometric), rel=1e-9)


def test_a_field_that_is_neither_plain_nor_special_cannot_be_defined() -> None:
    with pytest.raises(
        TypeError,
        match=(
            "Twice does not say whether its field hurry is plain, known to every method with a "
            "rule for it, or special; see slipstick"
        ),
    ):

        @dataclass(frozen=True, slots=True)
        class Twice(Activity):
            body: Activity
            hurry: bool = False

            made_of, word, combination = ("body",), "twice", Combination.IN_TURN
            use, executions, variation = NOTHING, (), NEVER


@dataclass(frozen=True, slots=True)
class Hurried(Activity):
    """A step of a package beside slipstick, with a field that only some methods would know."""

    body: Activity
    hurry: bool = False

    made_of, word, combination = ("body",), "hurried", Combination.IN_TURN
    use, variation, special = NOTHING, NEVER, {"hurry": "hurried steps"}

    @property
    def executions(self) -> tuple[Expr, ...]:
        return single_executions(self.children)


@pytest.mark.parametrize("method", [name for name in KNOWN if name != SIMULATION])
def test_a_construct_of_another_package_is_refused_by_every_method(method: str) -> None:
    plain = closed_model(Hurried(thinks()), 1)
    assert not plain.constructs
    model = closed_model(Hurried(thinks(), hurry=True), 1)
    with pytest.raises(NoAnswerError, match=f"{method} cannot solve hurried steps"):
        solve(model, method=method)


def test_a_method_that_declares_nothing_refuses_every_construct() -> None:
    quick = Method("quick", "activity", compile=lambda *_: pytest.fail("it was compiled"))
    for construct, example in EXAMPLES.items():
        with pytest.raises(NoAnswerError, match=f"quick cannot solve {construct}"):
            quick.compiled(example().model, {}, SETTINGS)
    refuse_unknown(closed_model(thinks(), 1).constructs, "quick", quick.knows)


def test_every_method_of_the_ladder_declares_what_it_knows() -> None:
    for method in ladder("activity"):
        assert method.knows == KNOWN[method.name]


def test_words_of_refusals() -> None:
    with pytest.raises(ModelError) as refused:
        repeat(2, thinks(), spread="geometricc")
    assert str(refused.value) == (
        "the count of a repeat has no spread 'geometricc'; did you mean 'geometric'?"
    )
    model = closed_model(repeat(2, thinks(), spread="geometric") >> barrier("meet"), 3)
    with pytest.raises(NoAnswerError) as unanswered:
        solve(model, method="mean-value")
    assert str(unanswered.value) == (
        "mean value takes no geometric count beside a barrier, whose last arrival it would have"
        " too early: simulate it"
    )


def test_regular_arrivals_at_one_server_have_the_known_mean() -> None:
    """D/M/1: the waiting time is exponential, by the root of x = exp(-(1 - x) / load)."""
    load, root = 0.6, 0.5
    for _ in range(200):
        root = math.exp(-(1 - root) / load)
    model = open_model(served(), rate(load), pattern=ArrivalPattern(arrivals_scv=0.0))
    found = solve(model, method=SIMULATION, simulation=Simulation(seed=2, events=200_000))
    assert found["time"] == pytest.approx(1 / (1 - root), rel=0.03)


@pytest.mark.turns(4)
def test_a_stream_beside_a_client_is_the_published_layered_model() -> None:
    """A layered model with open arrivals at a server that a client calls: its throughput is 0.3001
    (regression a09 of the layered solver, by simulation, within 0.0023).
    """
    called = hold("server", service("p", 1.0, name="e1", scv=1.0))
    stream = hold("server", service("p", 1.0, name="o1", scv=1.0))
    groups: dict[str, Any] = {
        "client": (1, service("p", 1.0, name="c1", scv=1.0) >> called),
        "stream": (rate(0.4), stream),
    }
    model = grouped_model(groups, resources={"p": Station(), "server": Permits(1)})
    found = solve(model, simulation=Simulation(seed=3, precision=0.01))
    assert (found.method, found.exact) == ("simulation", False)
    assert found["throughput[client]"] == pytest.approx(0.3001, abs=0.005)
    assert found["throughput[stream]"] == pytest.approx(0.4, abs=0.01)


def test_streams_saturate_together() -> None:
    two: dict[str, Any] = {
        "users": (1, thinks()),
        "first": (rate(0.5), served()),
        "second": (Parameter("other", RATE, 0.25), service("disk", 2.0, name="long", scv=1.0)),
    }
    with pytest.raises(NoAnswerError) as caught:
        solve(grouped_model(two))
    assert "station disk is saturated: 0.75/s arrive, fewer than 0.75/s can be served" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"batch": 0}, "a batch is at least 1 customer, got 0"),
        ({"arrivals_scv": -1.0}, "the scv of times between arrivals is at least 0, got -1"),
        (
            {"burst_arrivals": rate(1.0)},
            "bursts need both a burst_time and a quiet_time, or neither",
        ),
        (
            {"trace": (1.0, 2.0), "arrivals_scv": 0.0},
            (
                "arrivals follow one pattern: arrivals that are not Poisson or recorded arrivals, "
                "not both"
            ),
        ),
    ],
)
def test_patterns_that_cannot_be(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        ArrivalPattern(**keys)
    assert str(caught.value) == words


def assert_kernels_agree(model: Model, events: int) -> None:
    """Check that both kernels give the same values, to the last digit."""
    plain, compiled = (
        solve(
            model, method=SIMULATION, simulation=Simulation(seed=4, events=events, kernel=kernel)
        ).values
        for kernel in ("plain", "compiled")
    )
    assert plain == compiled


@pytest.mark.turns(4)
@pytest.mark.parametrize("construct", EXAMPLES)
def test_both_kernels_give_the_same(construct: str) -> None:
    model = EXAMPLES[construct]().model
    assert_kernels_agree(model, 4_000)


def test_a_second_phase_of_one_client_is_the_published_layered_model() -> None:
    """A client that thinks for 1 s and calls a server whose second phase is as long as its first,
    0.5 s: by hand 0.6 calls a second (regression a10 of the layered solver).
    """
    phases = [service("sp", 0.5, name=name, scv=1.0) for name in ("first", "second")]
    called = delay(1.0, name="client", scv=1.0) >> hold("server", phases[0], after=phases[1])
    model = closed_model(called, 1, resources={"server": Permits(1)})
    found = solve(model)
    assert (found.method, found.exact) == ("markov-chain", True)
    assert found["throughput"] == pytest.approx(0.6, rel=1e-9)
    busy = closed_model(called, 4, resources={"server": Permits(1)})
    throughput = solve(busy, method=MARKOV_CHAIN).values["throughput"].value
    assert throughput is not None
    assert throughput < 1.0  # the server can do 1 /s


def test_customers_that_abandon_a_queue_are_those_of_erlang() -> None:
    """Erlang A: M/M/c with exponential patience; the number present is a birth-death process."""
    arrivals, servers, patience = 2.0, 2, 0.8
    weights = [1.0]
    for n in range(1, 60):
        leaving = min(n, servers) / 1.0 + max(n - servers, 0) / patience
        weights.append(weights[-1] * arrivals / leaving)
    parts = [weight / sum(weights) for weight in weights]
    abandoned = sum(p * max(n - servers, 0) / patience for n, p in enumerate(parts)) / arrivals
    model = open_model(
        attempt(served(), patience=patience), rate(arrivals), resources={"disk": Station(servers)}
    )
    run = Simulation(seed=6, precision=0.005, events=400_000)
    found = solve(model, method=SIMULATION, simulation=run)
    assert found["abandonment[disk]"] == pytest.approx(abandoned, rel=0.03)
    assert found["goodput[disk]"] == pytest.approx(arrivals * (1 - abandoned), rel=0.02)
    present = sum(n * p for n, p in enumerate(parts))
    assert found["queue_length[disk]"] == pytest.approx(present, rel=0.02)


def test_the_first_of_some_exponential_branches_are_order_statistics() -> None:
    """The k-th of n exponential times of mean 1 has the mean 1/n + ... + 1/(n - k + 1)."""
    branches = [delay(1.0, name=f"replica-{number}", scv=1.0) for number in range(5)]
    for join in (1, 3):
        model = closed_model(fork(*branches, join=join), 1)
        found = solve(model, simulation=Simulation(seed=1, events=60_000))
        mean = sum(1 / (5 - number) for number in range(join))
        assert found["time"] == pytest.approx(mean, rel=0.03)
        assert sum(found.account.values()) == pytest.approx(found["time"])
    constant = [delay(1.0 + number, name=f"replica-{number}") for number in range(3)]
    found = solve(closed_model(fork(*constant, join=2), 1))
    assert (found.method, found["time"], found.exact) == ("simulation", 2.0, True)


def test_work_that_is_sent_is_a_stream_of_its_own() -> None:
    """A processor that pauses for an exponential time and sends a request makes Poisson arrivals at
    an M/M/1 station of load 0.8: 4 are there in the mean.
    """
    cycle = delay(1.0, name="pause", scv=1.0) >> send(service("log", 0.8, scv=1.0))
    found = solve(closed_model(cycle, 1), simulation=Simulation(seed=1, cycles=100_000))
    assert found["time"] == pytest.approx(1.0, rel=0.01)
    assert found["utilization[log]"] == pytest.approx(0.8, rel=0.01)
    assert found["queue_length[log]"] == pytest.approx(4.0, rel=0.1)
    bounds = solve(closed_model(cycle, 2), method=BOUNDS)
    assert bounds.values["time"].low == pytest.approx(1.6)


@pytest.mark.turns(4)
def test_branches_that_continue_are_the_same_in_both_kernels() -> None:
    """Forks in branches that were left, with holds and choices, of a group and of arrivals."""
    slow = hold("pool", service("disk", 0.1, scv=1.0) >> delay(0.5, name="keep", scv=1.0))
    inner = fork(
        slow,
        delay(0.2, name="short", scv=1.0),
        choose((0.5, served(0.1)), (0.5, send(served(0.1)))),
        join=1,
    )
    outer = fork(inner >> served(0.1), send(inner), delay(0.3, name="even", scv=1.0), join=2)
    groups: dict[str, Any] = {"users": (3, thinks(6.0) >> outer), "stream": (rate(0.1), outer)}
    model = grouped_model(groups, resources={"disk": Station(2), "pool": Permits(3)})
    assert_kernels_agree(model, 9_000)


@pytest.mark.turns(4)
@pytest.mark.parametrize("kernel", ["plain", "compiled"][: 1 + AVAILABLE])
def test_a_visit_after_one_with_a_limit_waits_as_long_as_without(kernel: str) -> None:
    """The first visit may be given up, but never is; the second is interrupted by other customers.
    A cycle has 3 s of work, and the rest of its time is the wait for the cpu.
    """
    limited = attempt(service("front", 1.0, name="ask"), timeout=100.0, limits="visit")
    groups: dict[str, Any] = {
        "low": (1, limited >> service("cpu", 2.0, name="low-job", rank=2)),
        "high": (1, thinks(1.0) >> service("cpu", 1.0, name="high-job", rank=1, scv=1.0)),
    }
    stations = {"front": Station(1), "cpu": Station(1, "priority-preemptive")}
    model = grouped_model(groups, resources=stations)
    run = Simulation(seed=3, events=40_000, kernel=kernel)
    answer = solve(model, method="simulation", simulation=run)
    assert answer["efficiency"] == pytest.approx(3 * (answer["throughput[low]"] or 0), rel=1e-6)


def test_a_fork_that_goes_on_early_has_limits() -> None:
    for time, words in (
        (
            1.5,
            (
                " s: they are begun faster than their resources serve them, or last longer than the"
                " run; begin fewer, shorten them, or simulate longer"
            ),
        ),
        (1.02, ": what is begun there is more than it can do; begin less, or shorten it"),
    ):
        growing = closed_model(delay(1.0, name="pause", scv=0.1) >> send(service("log", time)), 1)
        with pytest.raises(NoAnswerError) as refused:
            solve(growing, simulation=Simulation(seed=1, cycles=20_000))
        assert words in str(refused.value)
    close = closed_model(delay(1.0, name="pause", scv=1.0) >> send(service("log", 0.999)), 1)
    notes = solve(close, simulation=Simulation(seed=1, cycles=20_000)).notes
    assert any("its queue may grow without end, and depends on" in note for note in notes)
    shared = service("disk", 1.0, scv=1.0)
    full = closed_model(shared >> send(service("disk", 0.1, name="more", scv=1.0)), 30)
    assert solve(full, simulation=SETTINGS)["utilization[disk]"] == pytest.approx(1.0, abs=1e-3)
    quorum = Parameter("quorum", COUNT, 2.0)
    votes = [delay(mean, name=f"vote-{mean:g}", scv=1.0) for mean in (1.0, 2.0, 3.0)]
    voted = closed_model(fork(*votes, join=quorum), 1)
    with pytest.raises(ModelError, match=r"quorum must be a whole number from 0 to 3, got 1\.5"):
        solve(voted, {"quorum": 1.5}, method=SIMULATION, simulation=SETTINGS)
    halved = closed_model(fork(*votes, join=quorum / 2), 1)
    words = "a simulation needs the join of a fork to be a whole number from 0 to 3, got 1.5"
    with pytest.raises(SlipstickError, match=words):
        solve(halved, {"quorum": 3.0}, simulation=SETTINGS)
    found = solve(voted, {"quorum": 3.0}, simulation=SETTINGS)
    assert found["time"] == pytest.approx(solve(closed_model(fork(*votes), 1))["time"], rel=0.03)


def test_customers_that_take_all_servers_alternate_with_those_that_take_one() -> None:
    """Of two customers that never pause, one takes both servers and the other takes one: they are
    served in turn, so a cycle of either is the sum of both times.
    """
    groups: dict[str, Any] = {
        "both": (1, hold("servers", delay(2.0, name="large", scv=1.0), permits=2)),
        "one": (1, hold("servers", delay(0.5, name="small", scv=1.0))),
    }
    model = grouped_model(groups, resources={"servers": Permits(2)})
    found = solve(model, method=MARKOV_CHAIN)
    assert found["time[both]"] == pytest.approx(2.5)
    assert found["time[one]"] == pytest.approx(2.5)
    assert found["utilization[servers]"] == pytest.approx((2 * 2.0 + 0.5) / 2 / 2.5)
    assert found["wait[servers]"] == pytest.approx((0.5 + 2.0) / 2)
    simulated = answer(model, SIMULATION)
    assert not contradictions(found, simulated)


def test_permits_that_are_abandoned_or_kept_let_smaller_requests_pass() -> None:
    """One that waits for all permits holds up those behind it until it gives up; a second phase
    keeps all that were taken.
    """
    large = hold(
        "pool",
        delay(0.5, name="large", scv=1.0),
        permits=3,
        after=delay(0.3, name="later", scv=1.0),
    )
    tried = attempt(large, patience=0.2, otherwise=delay(0.1, name="none", scv=1.0))
    small = hold("pool", delay(0.6, name="small", scv=1.0))
    groups: dict[str, Any] = {"one": (2, thinks(1.0) >> small), "all": (1, thinks(1.0) >> tried)}
    model = grouped_model(groups, resources={"pool": Permits(3)})
    chain, simulated = answer(model, MARKOV_CHAIN), answer(model, SIMULATION)
    assert not contradictions(chain, simulated)
    assert_kernels_agree(model, 4_000)


def test_permits_taken_at_once_are_those_there_are() -> None:
    number = Parameter("number", COUNT, 2.0)
    held = hold("pool", delay(1.0, name="inside", scv=1.0), permits=number)
    model = closed_model(thinks(1.0) >> held, 2, resources={"pool": Permits(3)})
    with pytest.raises(ModelError, match=r"number must be a whole number of at least 1, got 0"):
        solve(model, {"number": 0.0})
    for method, words in (
        (
            SIMULATION,
            "a simulation needs the permits of a hold of pool to be a whole number from 1",
        ),
        (MARKOV_CHAIN, "whole numbers of permits of pool, from 1 to 3"),
    ):
        with pytest.raises(SlipstickError, match=words):
            solve(model, {"number": 4.0}, method=method)
    low = solve(model, {"number": 3.0}, method=BOUNDS).values["time"].low
    assert low == pytest.approx(2.0)
    assert time_of(solve(model, {"number": 3.0})) > 2.0


@pytest.mark.turns(4)
@pytest.mark.parametrize("queue", [None, 1])
def test_a_region_over_two_stations_admits_a_number_of_customers(queue: int | None) -> None:
    """Permits around two stations: customers wait for admission, or are turned away; with as many
    permits as customers there is no limit.
    """

    def limited(number: int) -> Model:
        inside = service("first", 0.5, scv=1.0) >> service("second", 0.8, scv=1.0)
        region: Activity = hold("region", inside)
        if queue is not None:
            region = attempt(region, queue=queue, otherwise=delay(0.4, name="away", scv=1.0))
        return closed_model(thinks(1.0) >> region, 4, resources={"region": Permits(number)})

    chain = answer(limited(2), MARKOV_CHAIN)
    assert not contradictions(chain, answer(limited(2), SIMULATION))
    parts = service("first", 0.5, scv=1.0) >> service("second", 0.8, scv=1.0)
    free = answer(closed_model(thinks(1.0) >> parts, 4), MARKOV_CHAIN)
    assert answer(limited(4), MARKOV_CHAIN)["time"] == pytest.approx(free["time"])


def test_a_full_queue_loses_what_the_formula_says() -> None:
    """M/M/1/5 with a load of 2: P(5) = (1 - r) r^5 / (1 - r^6)."""
    model = open_model(attempt(served(), queue=4), rate(2.0))
    found = solve(model, method=SIMULATION, simulation=Simulation(seed=1, cycles=40_000))
    assert found["abandonment[disk]"] == pytest.approx(32 / 63, abs=0.01)


def test_a_queue_holds_a_whole_number() -> None:
    model = open_model(attempt(served(), queue=1.5), rate(1.0))
    words = "the queue of an attempt at disk is 1.5; it must be a whole number"
    with pytest.raises(NoAnswerError, match=words):
        solve(model, method=SIMULATION)


def test_what_a_full_queue_turns_away_may_overflow_to_another_station() -> None:
    """Eight sources and two clerks with two chairs, by a birth and death chain by hand."""
    weights = [1.0]
    for present in range(4):
        weights.append(weights[-1] * (8 - present) / (2.0 * min(present + 1, 2)))
    mean = sum(n * weight for n, weight in enumerate(weights)) / sum(weights)
    desk = attempt(service("desk", 0.5, scv=1.0), queue=2)
    found = answer(
        closed_model(thinks(1.0) >> desk, 8, resources={"desk": Station(2)}), MARKOV_CHAIN
    )
    assert found["queue_length[desk]"] == pytest.approx(mean, rel=1e-9)
    second = service("second", 0.5, scv=1.0)
    overflow = attempt(service("first", 0.5, scv=1.0), queue=0, otherwise=second)
    model = closed_model(thinks(1.0) >> overflow, 3)
    assert not contradictions(answer(model, MARKOV_CHAIN), answer(model, SIMULATION))


def _uses(found: Answer) -> dict[str, float | None]:
    return {name: found[f"utilization[{name}]"] for name in ("left", "right")}


@pytest.mark.turns(4)
@pytest.mark.parametrize("by", ROUTES)
def test_both_kernels_route_alike(by: str) -> None:
    settings = (Simulation(seed=4, events=8_000, kernel=name) for name in ("plain", "compiled"))
    plain, compiled = (
        solve(_picked(by), method=SIMULATION, simulation=each).values for each in settings
    )
    assert plain == compiled


def test_routes_by_state_are_those_of_the_chain_and_turns_are_even() -> None:
    for by in ("shortest", "shorter-of-two"):
        chain, simulated = (answer(_picked(by), each) for each in (MARKOV_CHAIN, SIMULATION))
        assert not contradictions(chain, simulated)
    turns = _uses(answer(_picked("in-turn"), SIMULATION))
    assert turns["right"] == pytest.approx(1.4 * (turns["left"] or 0.0), rel=0.05)
    with pytest.raises(NoAnswerError, match="markov-chain takes no turns, whose next depends on"):
        answer(_picked("in-turn"), MARKOV_CHAIN)


def test_two_stations_of_the_shortest_queue_have_the_means_by_hand() -> None:
    """Two processors, two stations, nothing else: one at each, so that none ever waits."""
    model = closed_model(pick(service("left", 1.0, scv=1.0), service("right", 1.0, scv=1.0)), 2)
    assert answer(model, MARKOV_CHAIN)["time"] == pytest.approx(1.0, rel=1e-9)


def test_tries_of_an_attempt_are_counted() -> None:
    """Beside a holder that never lets go, every try is abandoned: four tries, with three pauses."""
    stuck = hold("pool", delay(1e6, name="stuck"))
    tried = attempt(
        hold("pool", delay(1.0, name="never")),
        timeout=1.0,
        retries=3,
        otherwise=delay(2.0, name="error"),
    )
    model = grouped_model(
        {"users": (1, delay(1.0, name="think") >> tried), "stuck": (1, stuck)},
        resources={"pool": Permits(1)},
    )
    found = solve(model, method=SIMULATION, simulation=Simulation(seed=1, cycles=100))
    assert found["amplification[pool]"] == pytest.approx(4.0, rel=0.02)
    assert found["abandonment[pool]"] == pytest.approx(1.0, abs=0.02)
    assert found["time"] == pytest.approx(1.0 + 4 * 1.0 + 2.0, rel=0.05)


IS = Station(1, "is")


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: attempt(thinks(), timeout=1.0),
            "an attempt is one step at a station, or one hold, and no delay",
        ),
        (
            lambda: attempt(choose((0.5, served()), (0.5, served(2.0))), timeout=1.0),
            "and no choose; a step at one of several copies is a choice: name one station",
        ),
        (
            lambda: attempt(served()),
            "an attempt at disk has a timeout or a patience, or a queue that may be full",
        ),
        (lambda: pick(served(), served(2.0), by="luck"), "a pick cannot choose by 'luck'"),
        (lambda: pick(served()), "a pick needs at least two bodies to choose from"),
        (
            lambda: closed_model(pick(served(), thinks())),
            (
                "each part of a pick begins with a step at a station, or a hold of a fifo lock or"
                " of permits; one begins at nothing"
            ),
        ),
        (lambda: attempt(served(), queue=-1), "the queue of an attempt at disk must be at least 0"),
        (
            lambda: attempt(served(), timeout=1.0, retries=-1),
            "an attempt at disk has from 0 to 1000 retries, got -1",
        ),
        (
            lambda: attempt(served(), timeout=1.0, back_off=1.0),
            "a pause before another attempt at disk needs retries, and its doubling a back_off",
        ),
        (
            lambda: closed_model(
                attempt(served(), timeout=1.0), resources={"disk": Station(1, "ps")}
            ),
            (
                "an attempt needs a queue: a station that is not shared and interrupts no "
                "service, a fifo lock, or permits; disk is a station of the discipline ps; "
                "limits: visit gives up services there, too"
            ),
        ),
        (
            lambda: closed_model(
                attempt(served(), timeout=2.0, limits="visit"),
                resources={"disk": Station(1, "fcfs", (1.0, 2.0))},
            ),
            (
                "a service at disk, a station with rates, cannot be given up; write limits: "
                "wait, or servers in the place of rates"
            ),
        ),
        *(
            (
                lambda discipline=discipline: closed_model(
                    attempt(served(), timeout=1.0, limits="visit"),
                    resources={"disk": Station(1, discipline)},
                ),
                (
                    "an attempt needs a queue: a station that is not shared and interrupts no"
                    " service, a fifo lock, or permits; disk is a station of the discipline"
                    f" {discipline}; the discipline {calmer}, which interrupts none, has a queue"
                ),
            )
            for discipline, calmer in (("priority-preemptive", "priority"), ("lcfs-pr", "lcfs"))
        ),
        (
            lambda: closed_model(attempt(served(), timeout=1.0), resources={"disk": IS}),
            "disk is a station of the discipline is",
        ),
        (lambda: Station(2, "is"), "an is station serves everyone at once; leave servers out"),
        (
            lambda: Station(1, "is", (1.0,)),
            "an is station serves everyone at once; leave rates out",
        ),
        (lambda: Station(2, rates=(1.0,)), "rates say how fast the station is; leave servers out"),
        (
            lambda: closed_model(served(), resources={"disk": Station(rates=(1.0, 0.0))}),
            "the rates of a station must be above 0, got 0",
        ),
        (
            lambda: closed_model(
                hold("door", served(), after=thinks()), resources={"door": Lock("mcs")}
            ),
            "a second phase must hold a fifo lock or permits, not door, a lock",
        ),
        (
            lambda: closed_model(hold("door", served(), after=barrier("meet"))),
            (
                "the second phase at door cannot wait for other processors, because its own "
                "has gone on; leave barriers and pools out of it"
            ),
        ),
        (
            lambda: phased_model((1, 1, hold("door", served(), after=thinks()))),
            (
                "the second phase at door may outlast a program that ends; give it to "
                "processors that repeat a cycle, or to arrivals"
            ),
        ),
        (
            lambda: closed_model(service("disk", 1.0, rank=1)),
            (
                "step disk has a rank, but disk does not serve by rank; give a station the "
                "discipline priority"
            ),
        ),
    ],
)
def test_constructs_that_cannot_be(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert words in str(caught.value)


def test_a_chain_takes_exponential_limits_of_a_wait_only() -> None:
    constant = closed_model(thinks() >> attempt(served(), timeout=1.0), 3)
    with pytest.raises(NoAnswerError) as caught:
        solve(constant, method=MARKOV_CHAIN)
    assert str(caught.value) == (
        "markov-chain takes exponential limits of a wait above 0 s, unlike that for disk: write"
        " patience, or ask for simulation"
    )
    assert solve(constant, simulation=SETTINGS).method == SIMULATION


def test_what_depends_on_the_state_is_said() -> None:
    with pytest.raises(NoAnswerError, match="depends on the state of the system"):
        _ = attempt(served(), timeout=1.0).weighted_children


def test_a_run_sees_bursts_though_they_are_rare() -> None:
    burst, quiet = (Parameter(name, TIME, time) for name, time in (("burst", 2.0), ("quiet", 20.0)))
    pattern = ArrivalPattern(
        burst_arrivals=Parameter("in-bursts", RATE, 15.0), burst_time=burst, quiet_time=quiet
    )
    model = open_model(thinks(0.1), rate(5.0), pattern=pattern)
    found = solve(model, simulation=Simulation(seed=1))
    assert found["throughput"] == pytest.approx((5 * 20 + 15 * 2) / 22, rel=0.05)


def test_the_table_of_constructs_follows_the_registry() -> None:
    """An answer by a Markov chain is exact: see the test of every method."""
    head, _, *rows = [row[2:-2].split(" | ") for row in constructs_of_activities() if row]
    assert head[1:] == list(KNOWN)
    assert [row[0].partition(":")[0] for row in rows] == [
        name for name in CONSTRUCTS if name not in NETWORK_FACTOR
    ]
    for words, *cells in rows:
        construct = words.partition(":")[0]
        refused = [name for name, cell in zip(KNOWN, cells, strict=True) if cell == "refused"]
        assert refused == [name for name in KNOWN if construct not in KNOWN[name]]
    assert KNOWN[MEAN_VALUE] == ROW_BY_CONSTRUCT.keys()
    assert set(ROW_BY_CONSTRUCT.values()) <= MEASURED_ERRORS.keys()


def test_every_use_of_a_network_is_in_the_table_of_networks() -> None:
    assert WORDS_BY_USE.keys() == USES.keys()
