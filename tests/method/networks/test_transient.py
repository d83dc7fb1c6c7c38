"""Networks on their way: against closed forms, the long run, and a chain written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slipstick import (
    QueueingNetwork,
    Simulation,
    chain,
    closed_class,
    network,
    open_class,
    route,
    solve,
    station,
    time_until,
    transient,
)
from slipstick.errors import ModelError, NoAnswerError, UnknownNameError
from slipstick.method.methods import compute_answers

DOOR = network({"guests": open_class(1.0)}, {"door": station(service={"guests": 2.0}, capacity=1)})
PAIR = network(
    {"jobs": closed_class(3, think_time=1.0)},
    {
        "cpu": station(service={"jobs": 0.5}),
        "disk": station(service={"jobs": 0.2}, visits={"jobs": 2.0}),
    },
)
SWITCHING = network(
    {},
    {"cpu": station(service={"a": 0.3, "b": 0.5}, discipline="ps")},
    chains={"users": chain(["a", "b"], closed_class(2, think_time=1.0), ("a", "cpu"))},
    routing=[route(("a", "cpu"), ("b", "cpu"), 1.0), route(("b", "cpu"), ("a", "cpu"), 1.0)],
)


def test_one_place_fills_exponentially() -> None:
    """Up at rate 1, down at 1/2: P(full) = (1 - exp(-1.5 t)) 2/3."""
    times = [0.0, 0.3, 2.0, 0.3]
    found = transient(DOOR, times)
    assert found["probability[door,1]"] == pytest.approx(
        [2 / 3 * (1 - math.exp(-1.5 * t)) for t in times]
    )
    assert found["queue_length[guests,door]"] == pytest.approx(found["probability[door,1]"])


@pytest.mark.parametrize("model", [PAIR, SWITCHING], ids=["two stations", "classes that change"])
def test_in_the_end_it_is_as_in_the_long_run(model: QueueingNetwork) -> None:
    late, answer = transient(model, [200.0]), solve(model, method="markov-chain")
    for name, column in late.items():
        assert column[0] == pytest.approx(answer[name], abs=1e-9), name
    first = transient(model, [0.0])
    assert all(column[0] == 0 for name, column in first.items() if name.startswith("queue_length"))


def test_a_stream_is_cut_where_the_long_run_needs_it() -> None:
    model = network({"jobs": open_class(0.5)}, {"cpu": station(service={"jobs": 1.0})})
    assert transient(model, [500.0])["queue_length[cpu]"][0] == pytest.approx(1.0, abs=1e-7)
    assert "probability[cpu,6]" not in transient(model, [1.0], most=5)


def test_numbers_may_be_others_for_once() -> None:
    found = transient(DOOR, [1.0], {"stations.door.service.guests": 1.0})["probability[door,1]"]
    assert found == pytest.approx([0.5 * (1 - math.exp(-2.0))])


def test_the_first_time_that_so_many_are_there_is_that_of_births_and_deaths() -> None:
    """Up at rate 1, down at rate 2: from n to n + 1 in h(n) = 1 + 2 h(n - 1)."""
    model = network({"guests": open_class(1.0)}, {"door": station(service={"guests": 0.5})})
    steps = [2.0 ** (n + 1) - 1 for n in range(5)]
    for present in range(1, 6):
        assert time_until(model, "door", present) == pytest.approx(sum(steps[:present]))


def test_beside_simulated_values_an_exact_one_has_an_interval_of_one_point() -> None:
    for method, ends in (("simulation", (1.0, 1.0)), ("markov-chain", (None, None))):
        (answer,) = compute_answers(
            DOOR, {}, method, Simulation(cycles=100), values=["time_until[door,1]"]
        )
        assert answer["time_until[door,1]"] == pytest.approx(1.0)
        assert answer.values["time_until[door,1]"].ends == pytest.approx(ends)


def test_nobody_waits_for_what_never_comes() -> None:
    with pytest.raises(NoAnswerError) as caught:
        time_until(PAIR, "disk", 4)
    assert str(caught.value) == "never are 4 customers at disk; at most 3 are"


@pytest.mark.parametrize(
    ("ask", "kind", "text"),
    [
        (
            lambda: time_until(PAIR, "dsik", 1),
            UnknownNameError,
            "there is no station 'dsik'; did you mean 'disk'?",
        ),
        (
            lambda: transient(PAIR, [1.0], {"x": 1.0}),
            ModelError,
            "network has no parameter 'x' to look at on its way",
        ),
        (
            lambda: transient(PAIR, [-1.0]),
            ModelError,
            "transient: times[0] must be a finite number of at least 0, got -1.0",
        ),
        (
            lambda: transient(DOOR, [1.0], {"classes.guests.arrivals": -1.0}),
            NoAnswerError,
            "classes.guests.arrivals must be a finite number that is not negative, got -1",
        ),
        (
            lambda: transient(PAIR, [1.0], limit=3),
            NoAnswerError,
            (
                "the chain has more than 3 states (at least 3, for as many customers); no other"
                " method has values before the steady state: ask for fewer customers, or smaller"
                " capacities, or allow more with --limit states=NUMBER (limits: in a study, limits="
                " in Python)"
            ),
        ),
    ],
)
def test_what_cannot_be_asked_is_named(ask: object, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        ask()  # type: ignore[operator]
    assert str(caught.value) == text


BACKLOG = network(
    {"guests": open_class(0.05, backlog=5)},
    {"door": station(service={"guests": 10.0}, scv={"guests": 0.5})},
)


def test_a_backlog_of_customers_whose_times_have_phases_is_followed_exactly() -> None:
    # The spread of a service time is no parameter of the activity that such a network becomes.
    own_values = {name: parameter.value or 0.0 for name, parameter in BACKLOG.parameters.items()}
    emptied = time_until(BACKLOG, "door", 0, own_values)
    assert emptied == pytest.approx(5 * 10.0 / (1 - 0.05 * 10.0), rel=1e-6)
    with pytest.raises(
        NoAnswerError, match=r"at its own value of stations\.door\.scv\.guests, 0.5"
    ):
        time_until(BACKLOG, "door", 0, {"stations.door.scv.guests": 2.0})
    (answer,) = compute_answers(BACKLOG, {}, None, values=["time_until[door,0]"])
    assert answer.values["time_until[door,0]"].low is None
    assert answer["time_until[door,0]"] == pytest.approx(emptied)


def test_times_come_back_in_the_order_asked() -> None:
    one, other = transient(PAIR, [2.0, 0.5]), transient(PAIR, [0.5, 2.0])
    np.testing.assert_allclose(
        one["queue_length[cpu]"], other["queue_length[cpu]"][::-1], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("scv", "words"), [(1.0, "exactly"), (2.5, "with phases of the same mean")]
)
def test_the_note_of_a_value_before_the_steady_state_says_which_times_phases_replace(
    scv: float, words: str
) -> None:
    desk = network(
        {"calls": open_class(1.0)}, {"desk": station(service={"calls": 0.5}, scv={"calls": scv})}
    )
    name = "queue_length_at[desk,1]"
    (answer,) = compute_answers(desk, {}, None, values=[name])
    (note,) = [str(note) for note in answer.notes if name in str(note)]
    assert note.startswith(f"by the Markov chain of the network, {words}")
