"""One M/G/1 queue of several classes, exactly: against the Markov chain where it is exponential,
else by the textbook's sums.
"""

from __future__ import annotations

import pytest

from slipstick import network, open_class, solve, station
from slipstick.errors import NoAnswerError
from slipstick.model.network import QueueingNetwork

RATE, TIME, SCV = {"a": 0.3, "b": 0.1}, {"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 2.0}
RANKS = {"a": 1, "b": 2}


def desk(
    discipline: str, scv: dict[str, float], times: float = 1.0, way: bool = True
) -> QueueingNetwork:
    ranks = RANKS if discipline.startswith("priority") else {}
    stations = {"way": station(service={"a": 3.0, "b": 4.0}, discipline="is")} if way else {}
    stations["desk"] = station(service=TIME, scv=scv, discipline=discipline, priority=ranks)
    return network({label: open_class(times * rate) for label, rate in RATE.items()}, stations)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["random", "priority", "priority-preemptive"])
def test_exponential_services_agree_with_the_markov_chain(discipline: str) -> None:
    found, chained = (
        solve(desk(discipline, {}, 0.1, way=False), method=each)
        for each in ("exact", "markov-chain")
    )
    for label in RATE:
        for name in (
            f"response_time[{label}]",
            f"queue_length[{label},desk]",
            f"waiting_time[{label},desk]",
        ):
            assert found[name] == pytest.approx(chained[name], rel=1e-9)
        slopes = chained.gradient[f"response_time[{label}]"]
        assert dict(found.gradient[f"response_time[{label}]"]) == pytest.approx(
            dict(slopes), rel=1e-6, abs=1e-9
        )


def test_general_services_are_answered_exactly_by_default() -> None:
    """By hand: R = (0.3 x 1 x 1.5 + 0.1 x 4 x 3) / 2 = 0.825, loads 0.3 and 0.5; with preemption
    a sees 0.225 of it alone.
    """
    expected = {
        "fcfs": (1.0 + 0.825 / 0.5, 2.0 + 0.825 / 0.5),
        "priority": (1.0 + 0.825 / 0.7, 2.0 + 0.825 / (0.7 * 0.5)),
        "priority-preemptive": (1.0 + 0.225 / 0.7, 2.0 / 0.7 + 0.825 / (0.7 * 0.5)),
    }
    for discipline, times in expected.items():
        found = solve(desk(discipline, SCV), method="exact")
        assert found.exact
        assert found["residence_time[a,desk]"] == pytest.approx(times[0], rel=1e-12)
        assert found["residence_time[b,desk]"] == pytest.approx(times[1], rel=1e-12)
    constant = solve(desk("priority-preemptive", dict.fromkeys("ab", 0.0)))
    assert constant.method == "exact"
    assert constant["response_time[a]"] == pytest.approx(4.0 + 0.15 / 0.7)


def test_a_queue_that_is_no_single_one_has_no_such_answer() -> None:
    pair = network(
        {"a": open_class(0.3)},
        {name: station(service={"a": 1.0}, scv={"a": 2.0}) for name in ("first", "second")},
    )
    with pytest.raises(NoAnswerError, match="no product form"):
        solve(pair, method="exact")
