"""Each construct means the same in every method that knows it, and every other refuses it by name.

`EXAMPLES` has models of each construct; a construct without one is noticed. What is an expectation is
compared with the Markov chain where that takes the model, else with a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from slipstick import Answer, Simulation, solve
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import RATE, TIME, Expr, Parameter
from slipstick.method.constructs import KNOWN, refuse_unknown
from slipstick.method.ladder import Method
from slipstick.method.methods import ladder
from slipstick.model.activity import barrier, delay, hold, repeat, service
from slipstick.model.steps import NEVER, NOTHING, Activity, Combination, once
from slipstick.model.system import (
    POISSON,
    ArrivalPattern,
    Model,
    Permits,
    Station,
    closed_model,
    grouped_model,
    open_model,
)
from slipstick.vocabulary import (
    BATCHES,
    BOUNDS,
    BURSTS,
    CONSTRUCTS,
    GEOMETRIC_COUNT,
    MARKOV_CHAIN,
    RENEWALS,
    SIMULATION,
    STREAMS,
    TRACES,
)

SETTINGS = Simulation(seed=5, events=60_000)
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


def _beside(arrivals: float) -> Model:
    stream = delay(0.5, name="enter") >> service("disk", 0.8, name="serve", scv=1.0)
    groups: dict[str, Any] = {
        "users": (3, thinks() >> served()),
        "stream": (rate(arrivals), stream),
    }
    return grouped_model(groups)


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


EXAMPLES: Mapping[str, Callable[[], Example]] = {
    GEOMETRIC_COUNT: lambda: Example(
        _geometric("geometric"),
        closed_model(thinks() >> repeat(0, served(), spread="geometric"), 3),
        closed_model(thinks() >> repeat(0, served()), 3),
    ),
    STREAMS: lambda: Example(_beside(0.2), _beside(0.0), closed_model(thinks() >> served(), 3)),
    RENEWALS: lambda: _arriving(ArrivalPattern(0.0), ArrivalPattern(1.000001)),
    BATCHES: lambda: Example(
        open_model(served(), rate(0.25), pattern=ArrivalPattern(batch=2)),
        open_model(thinks(), rate(0.25), pattern=ArrivalPattern(batch=2)),
        open_model(thinks(), rate(0.25)),
    ),
    BURSTS: lambda: _arriving(_bursts(1.0), _bursts(0.5)),
    TRACES: lambda: Example(
        open_model(served(), rate(0.5), pattern=ArrivalPattern(trace=(1.0, 3.0))),
        open_model(served(), rate(0.5), pattern=ArrivalPattern(trace=(1.0, 1.0))),
        open_model(served(), rate(0.5), pattern=ArrivalPattern(0.0)),
    ),
}


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
    assert EXAMPLES.keys() == CONSTRUCTS.keys()
    assert KNOWN[SIMULATION] == CONSTRUCTS.keys()


@pytest.mark.parametrize("construct", EXAMPLES)
def test_a_model_has_the_construct_of_its_example_alone(construct: str) -> None:
    example = EXAMPLES[construct]()
    assert construct in example.model.constructs
    assert construct not in example.without.constructs


@pytest.mark.parametrize("construct", EXAMPLES)
def test_the_chain_equals_simulation(construct: str) -> None:
    model = EXAMPLES[construct]().model
    if MARKOV_CHAIN in (construct_known := [name for name in KNOWN if construct in KNOWN[name]]):
        assert not contradictions(answer(model, MARKOV_CHAIN), answer(model, SIMULATION))
    else:
        assert SIMULATION in construct_known


@pytest.mark.parametrize("construct", EXAMPLES)
@pytest.mark.parametrize("method", KNOWN)
def test_every_method_is_right_or_refuses_by_name(construct: str, method: str) -> None:
    model = EXAMPLES[construct]().model
    if construct not in KNOWN[method]:
        with pytest.raises(NoAnswerError, match=f"^{method} has no rule for {construct} "):
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
        truth = time_of(reference(model))
        assert found["time"] == pytest.approx(truth, rel=0.02 if found.exact else 0.1)


@pytest.mark.parametrize("construct", EXAMPLES)
def test_the_default_answer_is_right(construct: str) -> None:
    model, default = EXAMPLES[construct]().model, answer(EXAMPLES[construct]().model)
    if default.method != SIMULATION:
        assert default["time"] == pytest.approx(reference(model)["time"], rel=0.03)


@pytest.mark.parametrize("construct", EXAMPLES)
def test_at_its_limit_it_equals_the_model_without_it(construct: str) -> None:
    example = EXAMPLES[construct]()
    limit, without = reference(example.limit), reference(example.without)
    assert limit["time"] == pytest.approx(without["time"], rel=1e-3 if limit.exact else 0.03)


def test_a_field_that_is_neither_plain_nor_special_cannot_be_defined() -> None:
    with pytest.raises(
        TypeError,
        match="Twice does not say whether its field hurry is plain, known to every method with a rule for it, or special; see slipstick",
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
        return once(self.children)


@pytest.mark.parametrize("method", [name for name in KNOWN if name != SIMULATION])
def test_a_construct_of_another_package_is_refused_by_every_method(method: str) -> None:
    plain = closed_model(Hurried(thinks()), 1)
    assert not plain.constructs
    model = closed_model(Hurried(thinks(), hurry=True), 1)
    with pytest.raises(NoAnswerError, match=f"{method} has no rule for hurried steps"):
        solve(model, method=method)


def test_a_method_that_declares_nothing_refuses_every_construct() -> None:
    quick = Method("quick", "activity", compile=lambda *_: pytest.fail("it was compiled"))
    for construct, example in EXAMPLES.items():
        with pytest.raises(NoAnswerError, match=f"quick has no rule for {construct}"):
            quick.compiled(example().model, {}, SETTINGS)
    refuse_unknown(closed_model(thinks(), 1), "quick", quick.knows)


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
    load, root = 0.8, 0.5
    for _ in range(200):
        root = math.exp(-(1 - root) / load)
    model = open_model(served(), rate(load), pattern=ArrivalPattern(arrivals_scv=0.0))
    found = solve(
        model, method=SIMULATION, simulation=Simulation(seed=2, precision=0.005, events=600_000)
    )
    assert found["time"] == pytest.approx(1 / (1 - root), rel=0.02)


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
            "bursts need a burst_time and a quiet_time, or none of the two",
        ),
        (
            {"trace": (1.0, 2.0), "arrivals_scv": 0.0},
            "arrivals follow one pattern: arrivals of another spread or traces of arrivals, not both",
        ),
    ],
)
def test_patterns_that_cannot_be(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        ArrivalPattern(**keys)
    assert str(caught.value) == words
