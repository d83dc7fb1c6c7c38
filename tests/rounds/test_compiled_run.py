"""The two kernels of servers that work in rounds: the same runs, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick import solve
from slipstick.api import load
from slipstick.errors import MissingExtraError, NoAnswerError
from slipstick.expression import nodes
from slipstick.expression.nodes import Number, Parameter
from slipstick.expression.tape import Tape
from slipstick.late import Array
from slipstick.sim.settings import Simulation
from slipstick_rounds import simulation
from slipstick_rounds.formula import BatchServerFormula
from slipstick_rounds.model import BatchServer
from slipstick_rounds.points import RoundTime
from slipstick_rounds.round_run import RoundByRound, RoundRun, RoundServer

numba = pytest.importorskip("numba")

from slipstick_rounds.compiled_run import CompiledRounds

FULL: dict[str, float | str] = {
    "reserve": "55 GB",
    "rate": "12 /s",
    "output": 1000.0,
    "shortest": 0.5,
}
FEW: dict[str, float | str] = {"shortest": 0.5, "tokens": 512.0, "rate": "8 /s", "slots": 16.0}
CASES: tuple[tuple[str, dict[str, float | str], str], ...] = (
    ("group-commit", {}, "later-phases"),
    ("group-commit", {"delay": "1 ms"}, "later-phases"),
    ("micro-batch", {}, "later-phases"),
    ("llm-serving", FULL, "later-phases"),
    ("llm-serving", FEW, "earlier-phases"),
)
"""Models, parameters and orders: a batching delay, an interval, memory that runs full, places."""


def drawn(
    name: str, values: dict[str, float | str], order: str
) -> tuple[RoundServer, Array, Array]:
    changed: dict[str, float | str] = {"order": order}
    changed |= {f"parameters.{key}": value for key, value in values.items()}
    model = load(name, set=changed)
    assert isinstance(model, BatchServer)
    (point,) = BatchServerFormula(model).points_at({})
    random, visits = np.random.default_rng(20261129), 900
    work = np.stack(
        [random.integers(int(phase.least), int(phase.work) + 1, visits) for phase in point.phases],
        axis=1,
    ).astype(float)
    rate = point.rate or 1.0
    return point.server, work, np.cumsum(random.exponential(1 / rate, visits))


def assert_same(one: RoundRun, other: RoundRun) -> None:
    np.testing.assert_array_equal(one.log, other.log)
    np.testing.assert_array_equal(one.end_times, other.end_times)
    np.testing.assert_array_equal(one.arrival_times, other.arrival_times)


@pytest.mark.turns(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_kernels_are_the_same_run(case: tuple[str, dict[str, float | str], str]) -> None:
    server, work, arrivals = drawn(*case)
    plain = RoundByRound(server, work, arrivals).run(800, np.inf)
    assert_same(CompiledRounds(server, work, arrivals).run(800, np.inf), plain)
    assert case[1] != FULL or plain.put_back_count > 50
    think = np.random.default_rng(7).exponential(0.5, len(work))
    begun = np.zeros(20)
    assert_same(
        CompiledRounds(server, work, begun, think).run(700, np.inf),
        RoundByRound(server, work, begun, think).run(700, np.inf),
    )


def test_a_long_run_continues_where_its_log_was_full(monkeypatch: pytest.MonkeyPatch) -> None:
    server, work, arrivals = drawn("llm-serving", FEW, "later-phases")
    whole = CompiledRounds(server, work, arrivals).run(800, np.inf)
    monkeypatch.setattr("slipstick_rounds.compiled_run.LOG_ROWS", 7)
    assert_same(CompiledRounds(server, work, arrivals).run(800, np.inf), whole)
    stopped = CompiledRounds(server, work, arrivals).run(800, 500)
    assert 0 < stopped.log[-1, 4] < 800


def test_operators_of_a_round_are_those_of_a_tape() -> None:
    served, units = Parameter("served.work"), Parameter("units.work")
    parts = [
        nodes.minimum(served, Number(3.0)) * 0.2 + nodes.ceil(units / 7) - nodes.floor(units / 9),
        nodes.maximum(served, Number(2.0)) ** 3 * 1e-3 + nodes.sqrt(units) + nodes.log2(1 + units),
        nodes.select(units, 12.0, units / 5, 1 / (1 + units)) + (1 + served) ** -2,
    ]
    duration = RoundTime(Tape(parts), {}, ("work",))
    server = RoundServer(duration, (5.0,), budget=23.0)
    random = np.random.default_rng(3)
    work = random.integers(1, 40, (400, 1)).astype(float)
    arrivals = np.cumsum(random.exponential(6.0, 400))
    plain = RoundByRound(server, work, arrivals).run(None, np.inf)
    compiled = CompiledRounds(server, work, arrivals).run(None, np.inf)
    # Powers and logarithms differ in their last bits.
    np.testing.assert_allclose(compiled.end_times, plain.end_times, rtol=1e-12)


def test_a_time_below_0_is_refused_as_by_the_plain_kernel() -> None:
    duration = RoundTime(Tape([2.0 - Parameter("served.work")]), {}, ("work",))
    server = RoundServer(duration)
    arguments = server, np.ones((9, 1)), np.zeros(9)
    with pytest.raises(NoAnswerError) as plain:
        RoundByRound(*arguments).run(None, np.inf)
    with pytest.raises(NoAnswerError) as compiled:
        CompiledRounds(*arguments).run(None, np.inf)
    assert str(plain.value) == str(compiled.value)
    assert str(plain.value).startswith("a round that serves 9 in work takes -7 s by the parts")


@pytest.mark.turns(4)
def test_the_kernel_that_is_asked_for_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        solve(
            "group-commit",
            method="simulation",
            simulation=Simulation(seed=4, cycles=2000, kernel=kernel),
        ).find("response_time")
        for kernel in ("plain", "compiled", "auto")
    ]
    assert len(set(answers)) == 1
    monkeypatch.setattr(simulation, "AVAILABLE", False)
    asked = Simulation(seed=4, cycles=2000, kernel="compiled")
    with pytest.raises(MissingExtraError, match="the compiled kernel of rounds needs numba"):
        solve("group-commit", method="simulation", simulation=asked)


def test_the_order_says_who_gets_the_budget_first() -> None:
    # A second phase of 2 units begins; a first phase of 4 units arrives; a round does 4 units.
    duration = RoundTime(Tape([1.0 + 0.0 * Parameter("held")]), {}, ("first", "second"))
    work, arrivals = np.array([[4.0, 3.0], [4.0, 1.0]]), np.array([0.0, 0.5])
    ends = []
    for earlier_first in (False, True):
        server = RoundServer(duration, (4.0, 1.0), budget=4.0, earlier_first=earlier_first)
        run = RoundByRound(server, work, arrivals).run(None, np.inf)
        ends.append(run.end_times.tolist())
    # Later phases first: 1 + 3 units in the second round, 1 + 1 in the third.
    assert ends[0] == [[1.0, 4.0], [3.0, 4.0]]
    # Earlier phases first: the whole second round is the first phase of the second customer.
    assert ends[1] == [[1.0, 5.0], [2.0, 3.0]]


def test_an_operator_that_the_loop_does_not_compute_is_left_to_the_plain_kernel() -> None:
    parts = [1.0 + nodes.ceil_log(1 + Parameter("served.work"), 2.0)]
    server = RoundServer(RoundTime(Tape(parts), {}, ("work",)))
    arguments = server, np.ones((90, 1)), np.zeros(90)
    with pytest.raises(NoAnswerError) as refused:
        CompiledRounds(*arguments)
    assert str(refused.value) == (
        "the compiled kernel of rounds does not compute ceil_log of what is in a round; ask for the"
        " kernel plain"
    )
    run = simulation.run_rounds(Simulation(events=200_000), *arguments, None, 90)
    assert run.round_count == 1
    assert run.elapsed == 8.0
