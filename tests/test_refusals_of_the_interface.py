"""What the Python interface and the new disciplines refuse, in the words that the user reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slipstick import (
    closed_class,
    closed_model,
    delay,
    grouped_model,
    load,
    network,
    open_class,
    service,
    solve,
    station,
    sweep,
)
from slipstick.errors import ModelError, NoAnswerError, SlipstickError, UnknownNameError
from slipstick.model.steps import Activity
from slipstick.model.system import Station
from slipstick.results.sweep import Sweep
from slipstick.sim.plan.plan import LockPlan
from slipstick.vocabulary import MOST_HOLDERS

CPU = {"cpu": station(service={"a": 1.0, "b": 2.0}, discipline="lcfs")}
TWO = network({"a": closed_class(2), "b": closed_class(2)}, CPU)


def cycle(name: str) -> Activity:
    return delay(1.0, name=f"{name}.work") >> service("bus", 1.0, name=f"{name}.bus")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            "linearizer",
            (
                "; approximate methods take that for one class only; ask for markov-chain or"
                " simulation"
            ),
        ),
        (
            "schweitzer",
            (
                "; approximate methods take that for one class only; ask for markov-chain or"
                " simulation"
            ),
        ),
    ],
)
def test_approximate_methods_refuse_classes_that_overtake(method: str, words: str) -> None:
    with pytest.raises(SlipstickError) as caught:
        solve(TWO, method=method)
    assert words in str(caught.value)


def test_mean_value_refuses_groups_that_overtake() -> None:
    model = grouped_model(
        {"first": (2, cycle("first")), "second": (2, cycle("second"))},
        resources={"bus": Station(discipline="lcfs")},
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="mean-value")
    assert (
        ", where groups wait unequally long; mean-value has no answer for that, simulation may"
        in str(caught.value)
    )


def test_a_chain_refuses_random_order_with_rates() -> None:
    stations = {"cpu": station(demand={"a": 1.0, "b": 2.0}, discipline="random", rates=[1.0, 1.5])}
    with pytest.raises(SlipstickError) as caught:
        solve(
            network({"a": closed_class(2), "b": closed_class(1)}, stations), method="markov-chain"
        )
    words = "a chain has no random order of service with rates; ask for simulation, or for servers"
    assert str(caught.value) == words


def test_a_misspelt_value_of_an_answer_names_the_nearest() -> None:
    answer = solve("lock-and-bus")
    with pytest.raises(UnknownNameError) as caught:
        answer["efficency"]
    assert str(caught.value).startswith("there is no value in the answer for ")
    assert "did you mean 'efficiency'?" in str(caught.value)


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        solve("lock-and-bus", {"population.processors": [1, 2, 4], "work": [1.0, 2.0]})
    assert str(caught.value).endswith("; sweep(...) makes every combination")


def test_arrays_of_two_dimensions_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        solve("lock-and-bus", sweep({"population.processors": np.ones((2, 2))}))
    assert str(caught.value).endswith(" are a list or an array of one dimension; got 2")


def test_what_is_no_model_is_not_loaded() -> None:
    with pytest.raises(ModelError) as caught:
        load("technology/now")
    assert str(caught.value).startswith("a technology cannot be loaded by itself; ")


def test_a_machine_takes_no_workload() -> None:
    with pytest.raises(ModelError) as caught:
        load("machine/rs6000-43p-atm", workload="diff-request")
    assert str(caught.value).endswith(" takes no workload=; it goes with the name of a program")


def test_a_long_sweep_keeps_no_whole_answers() -> None:
    found = solve(
        "lock-and-bus", {"population.processors": list(range(1, 6000))}, method="closed-form"
    )
    assert isinstance(found, Sweep)
    with pytest.raises(ModelError) as caught:
        found.answer(0)
    assert (
        str(caught.value)
        == "a sweep of so many points keeps no whole answers; solve this point alone"
    )


def test_a_simulation_takes_a_limited_number_of_permits() -> None:
    with pytest.raises(ModelError) as caught:
        LockPlan("pool", permits=MOST_HOLDERS + 1, noun="permits")
    assert (
        str(caught.value)
        == f"permits pool: a simulation takes from 1 to {MOST_HOLDERS}, got {MOST_HOLDERS + 1}"
    )


class Silent:
    """An object whose description cannot be written."""

    def __repr__(self) -> str:
        raise RuntimeError("no description")


def test_axes_of_a_sweep_are_described_whatever_they_hold() -> None:
    words = "sweep(a value of the type dict that cannot be written)"
    silent: Any = Silent()
    assert repr(sweep({"work": silent})) == words


def test_a_throughput_beyond_all_numbers_leaves_its_note_out() -> None:
    model = closed_model(delay(1e-320, name="bus", component="busy"), 2, useful=("busy",))
    answer = solve(model)
    assert "throughput" not in answer.names
    assert not any(note.startswith("efficiency") for note in answer.notes)


def test_a_batch_has_at_most_as_many_customers_as_doubles_count() -> None:
    with pytest.raises(ModelError, match="batch must be a whole number from 1 to 9,007,199"):
        open_class(2.0, batch=10**300)
