"""Questions that cost too much are refused before the cost is paid, with the number, the limit
and a way out.
"""

from __future__ import annotations

import pytest

from slipstick.method.methods import compute_answers
from slipstick.model.activity import delay, pipeline, serial
from slipstick.model.network import CustomerClass, closed_class, network, open_class, station
from slipstick.model.system import closed_model


@pytest.mark.turns(4)
@pytest.mark.parametrize("members", [closed_class(4), open_class(4.0)])
@pytest.mark.parametrize("method", [None, "exact", "linearizer", "bounds", "markov-chain"])
def test_of_very_many_servers(members: CustomerClass, method: str | None) -> None:
    asked = network({"j": members}, {"cpu": station(demand={"j": 1.0}, servers=10**9)})
    answers = compute_answers(asked, {}, method)
    refused = (
        "cpu has 1,000,000,000 servers, and speeds are listed for each; the limit is 1,000,000:"
        " make it a delay (discipline is), ask for simulation, or allow more with --limit"
        " speeds=1e+09 (limits: in a study, limits= in Python)"
    )
    if method in (None, "bounds", "markov-chain"):  # simulation answers by default
        assert all(each.failed is None for each in answers)
    else:
        assert answers[0].failed == refused


def test_of_very_many_items() -> None:
    line = pipeline([serial(delay(1.0, name="read")), serial(delay(2.0, name="write"))], items=1e9)
    (answer,) = compute_answers(closed_model(line, name="copy"), {}, "simulation")
    assert (
        answer.failed
        == "a simulation of copy follows 1e+09 branches and items at once, each with the account of"
        " 2 steps; the limit is 25,000,000: give it fewer processors, items or branches, ask for"
        " mean-value, or allow more with --limit numbers=2.5e+10 (limits: in a study, limits= in"
        " Python)"
    )
