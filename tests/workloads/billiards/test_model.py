"""The program of the balls on a machine: one processor's run, the account, and what more
processors do.
"""

from __future__ import annotations

from typing import Any

import pytest

from slipstick import PROGRAMS, Answer, Simulation
from slipstick.errors import ModelError
from slipstick_laws.scalability import IDLE_TIME, LATENCY_FROM_SOURCES, PARALLEL_TIME
from slipstick_workloads.billiards.counts import observe
from slipstick_workloads.billiards.model import WIDTHS, _counts_with_best_width
from tests.closed_form import solve
from tests.specs import shared_machine

KSR = shared_machine("ksr-1")
PROGRAM = PROGRAMS["billiards/parallel"]
COSTS: dict[str, Any] = {
    "adding": 30.5,
    "searching": 8.35,
    "removing": 30.5,
    "meeting": 9.0,
    "collide": 9.0,
    "lock": "hardware",
    "barrier": "tournament",
}
US = 1e-6


def answer(**inputs: Any) -> Answer:
    return solve(PROGRAM.on(KSR, **{"balls": 1000, "steps": 200, **COSTS, **inputs}))


def seconds(**inputs: Any) -> float:
    time = answer(**inputs)["time"]
    assert time is not None
    return time


def efficiency(**inputs: Any) -> float:
    share = answer(**inputs)["efficiency"]
    assert share is not None
    return share


def units(balls: int, steps: int) -> float:
    """Count the units of computing of the sequential program."""
    counts = observe(balls, 20_000, seed=1)
    added, removed = counts.queued_at_start + steps * counts.additions, steps * counts.removals
    searched = counts.entries_passed_at_start + steps * counts.entries_passed
    return searched * 8.35 + added * 30.5 + removed * 30.5 + (balls + 1 + 3 * steps) * 9 + steps * 9


@pytest.mark.turns(4)
def test_one_processor_runs_the_sequential_program() -> None:
    alone = answer()
    assert alone["time"] == pytest.approx(units(1000, 200) * US)
    assert dict(alone.account) == {"busy": pytest.approx(alone["time"])}


@pytest.mark.turns(4)
@pytest.mark.parametrize("processors", [2, 7, 32, 53, 100])
def test_parallel_time_is_work_shared_and_latency_by_source(processors: int) -> None:
    found = answer(processors=processors)
    account, work = found.account, units(1000, 200)
    assert account["busy"] * processors == pytest.approx(work * US)
    sources = [processors * account[name] for name in ("memory", "idle")]
    primitives = processors * sum(account[name] for name in ("check", "lock", "barrier"))
    latency = LATENCY_FROM_SOURCES(
        processors=processors, memory=sources[0], idle=sources[1], primitives=primitives
    )
    assert PARALLEL_TIME(
        processors=processors, work=work, operation=US, latency=latency
    ) == pytest.approx(found["time"])
    assert found["speedup"] == pytest.approx(seconds() / seconds(processors=processors))


def test_idle_time_is_what_those_lose_who_may_not_execute() -> None:
    free = {"misses": 0, "check": 0, "lock": "none", "barrier": "none"}
    found, counts = answer(processors=32, **free), observe(1000, 20_000, seed=1)
    rounds = round(200 / counts.parallelism(32))
    executing = counts.entries_passed * 8.35 + (counts.additions + counts.removals) * 30.5 + 4 * 9
    idle = IDLE_TIME(processors=32, effective=200 * executing * US, time=rounds * executing * US)
    assert 32 * found.account["idle"] == pytest.approx(idle)


def test_what_one_collision_adds_on_many_processors() -> None:
    # Two processors, all near: an access is one way round the ring, 7.5 us.
    counts = observe(1000, 20_000, seed=1)
    rounds = round(200 / counts.parallelism(2))
    found = answer(processors=2, barrier="none", lock="none").account
    assert found["check"] == pytest.approx(rounds * 7.5 * US)
    assert found["memory"] == pytest.approx((100 + counts.queued_at_start / 2) * 7 / 2 * 7.5 * US)
    locks = answer(processors=2).account["lock"]
    assert locks == pytest.approx(
        (100 * (counts.additions + counts.removals) + counts.queued_at_start / 2) * 15 * US
    )


def test_accesses_to_the_own_cache_are_a_part_of_computing_and_each_ball_is_fetched_once() -> None:
    """Of the balls, the sub-cache holds as many as fit; other accesses take 18 cycles more."""
    plain, booked = answer(), answer(touches=1)
    counts = observe(1000, 20_000, seed=1)
    items = (
        7 * (counts.queued_at_start + 200)
        + counts.entries_passed_at_start
        + 200 * counts.entries_passed
    )
    cold = 1000 * 960 / 128 * 7.5
    beyond = 1 - 256 * 1024 / (1000 * 960)
    assert booked.account["access"] == pytest.approx(items * 0.1 * US)
    assert booked.account["local"] == pytest.approx((items * beyond * 0.9 + cold) * US)
    assert booked["time"] == pytest.approx((plain["time"] or 0) + cold * US)
    with pytest.raises(ModelError, match="bbn-tc2000 has no cache; leave out touches"):
        PROGRAMS["billiards/parallel"].on(shared_machine("bbn-tc2000"), touches=1)


def test_a_lock_that_a_processor_of_another_ring_had_last_takes_longer() -> None:
    """Of 79 others 48 are on other rings of 32; an access there takes 28.5 us for 7.5."""
    counts = observe(1000, 20_000, seed=1)
    calls = (200 * (counts.additions + counts.removals) + counts.queued_at_start) / 80
    far = 1 - 31 / 79
    assert answer(processors=80).account["lock"] == pytest.approx(
        calls * 15 * (1 + far * (28.5 / 7.5 - 1)) * US
    )
    near = (200 * (counts.additions + counts.removals) + counts.queued_at_start) / 32
    assert answer(processors=32).account["lock"] == pytest.approx(near * 15 * US)


@pytest.mark.turns(4)
@pytest.mark.turns(6)
def test_in_runs_as_long_as_those_of_the_paper_only_one_size_hardly_changes_the_rates() -> None:
    """With 1250 balls and collisions computing was 95.6 % of what it was with eight times the
    balls, and 107.8 % with eight times the collisions: the setup and its fetches were a large part.
    """
    long_run = {"balls": 5000, "steps": 20_000, "touches": 1, "misses": 7.0, "width": 0.1}
    runs = [
        answer(parallelism="expected", **{**long_run, **more})
        for more in ({}, {"balls": 20_000}, {"steps": 160_000})
    ]
    busy, access = (
        [run.account[part] / (run["time"] or 0.0) for run in runs] for part in ("busy", "access")
    )
    assert busy[1] / busy[0] == pytest.approx(0.983, abs=0.001)
    assert busy[2] / busy[0] == pytest.approx(1.014, abs=0.001)
    assert access[2] / access[0] == pytest.approx(1.008, abs=0.001)


def test_balls_beyond_the_local_cache_are_fetched_again() -> None:
    """32 MB hold 33,333 balls of 960 B: of 40,000 a sixth is fetched again at each access."""
    given = {"touches": 1, "parallelism": "expected", "steps": 2000}
    fits, beyond = (answer(balls=balls, **given) for balls in (30_000, 40_000))
    again = "collision.replaced.ring"
    assert fits.steps.get(again, 0.0) == 0
    accesses = sum(beyond.steps[f"{part}.access"] for part in ("setup", "collision")) / 0.1
    fetched = sum(beyond.steps[f"{part}.replaced.ring"] for part in ("setup", "collision")) / 7.5
    assert fetched / accesses == pytest.approx(1 / 6)


@pytest.mark.turns(5)
def test_a_search_that_finds_its_bin_from_the_time_does_not_lengthen_with_the_balls() -> None:
    few, many = (
        answer(balls=balls, bins="direct", processors=32, steps=1000) for balls in (1250, 10_000)
    )
    work = [found.steps["collision.add"] for found in (few, many)]
    assert work[1] == pytest.approx(work[0], rel=0.15)
    longer = [
        answer(balls=balls, bins="best", processors=32, steps=1000).steps["collision.add"]
        for balls in (1250, 10_000)
    ]
    assert longer[1] > 2 * longer[0]
    passed = observe(1250, 4000, seed=1, bin_width=0.008, is_direct=True)
    assert passed.entries_passed < observe(1250, 4000, seed=1, bin_width=0.008).entries_passed
    assert passed.parallelism(32) == observe(1250, 4000, seed=1).parallelism(32)


def test_one_lock_for_all_is_waited_for_by_half_of_those_that_execute() -> None:
    counts = observe(1000, 20_000, seed=1)
    alone, one_lock = (answer(processors=2, locks=each).account["lock"] for each in (0, 1))
    rounds = round(200 / counts.parallelism(2))
    shares = ((2 - 1) / 2, (200 / rounds - 1) / 2)
    calls = (counts.queued_at_start / 2, 100 * (counts.additions + counts.removals))
    waits = sum(share * each for share, each in zip(shares, calls, strict=True)) * 15 * US
    assert one_lock - alone == pytest.approx(waits)


@pytest.mark.turns(4)
def test_an_addition_is_a_search_that_grows_with_the_balls() -> None:
    """Bins hold more collisions as the balls grow; with narrow bins, more bins are passed and
    fewer collisions.
    """
    few, many = (observe(balls, 4000, seed=1) for balls in (1600, 6400))
    assert 1.2 < (many.entries_passed / few.entries_passed) < 4
    found = [
        observe(1600, 4000, seed=1, bin_width=width).entries_passed for width in (0.01, 0.1, 1.0)
    ]
    assert min(found) == found[1]


@pytest.mark.turns(4)
def test_the_best_bins_pass_least() -> None:
    found = {
        balls: _counts_with_best_width(balls, 2000, 1, 0.1).entries_passed for balls in (400, 6400)
    }
    assert found == {
        balls: min(observe(balls, 2000, seed=1, bin_width=width).entries_passed for width in WIDTHS)
        for balls in found
    }
    best, plain = (answer(balls=100, bins=bins).steps for bins in ("best", "width"))
    assert best["collision.add"] < plain["collision.add"]


def test_what_passes_items_that_others_wrote_fetches_them() -> None:
    counts, free = (
        observe(1000, 20_000, seed=1),
        {"misses": 0, "check": 0, "lock": "none", "barrier": "none"},
    )
    found = answer(processors=2, search_misses=0.5, **free).account["memory"]
    passed = (counts.entries_passed_at_start + 200 * counts.entries_passed) / 2
    assert found == pytest.approx(passed * 0.5 / 2 * 7.5 * US)


@pytest.mark.turns(4)
def test_the_fixed_problem_has_a_fastest_number_of_processors() -> None:
    """Scale-Graph, Figure 9: the least at 53; the size of a unit of computing is fitted to it."""
    given: dict[str, Any] = {"balls": 5000, "steps": 1000, "parallelism": "expected"}
    times = {count: seconds(processors=count, **given) for count in (4, 32, 44, 50, 53, 56, 62, 96)}
    assert min(times, key=times.__getitem__) == 53
    assert times[4] > times[32] > times[44] > times[50]
    assert times[96] > times[62] > times[56]


@pytest.mark.turns(4)
def test_more_balls_raise_efficiency_and_more_steps_do_not() -> None:
    base = efficiency(processors=32, steps=2000)
    assert efficiency(processors=32, steps=2000, balls=4000) > 1.2 * base
    assert efficiency(processors=32, steps=8000) < 1.02 * base


def test_the_simulation_comes_to_the_same_time() -> None:
    model = PROGRAM.on(KSR, balls=1000, steps=100, processors=8, **{**COSTS, "adding": 40.0})
    simulated = solve(model, method="simulation", simulation=Simulation(seed=1, cycles=8))
    assert simulated["time"] == pytest.approx(solve(model)["time"], rel=0.03)
    assert simulated.account["idle"] == pytest.approx(solve(model).account["idle"], rel=0.2)


@pytest.mark.turns(4)
@pytest.mark.parametrize("processors", [2, 8, 32, 64])
@pytest.mark.parametrize("balls", [200, 1000, 10_000])
def test_what_is_expected_of_many_balls_is_near_what_is_counted(
    balls: int, processors: int
) -> None:
    given = {"balls": balls, "steps": 5000, "processors": processors}
    expected, counted = (answer(**given, parallelism=each) for each in ("expected", "counted"))
    assert expected["time"] == pytest.approx(counted["time"], rel=0.06)
    assert expected.account["busy"] == pytest.approx(counted.account["busy"], rel=0.02)


def test_balls_and_steps_can_be_varied_where_nothing_is_counted() -> None:
    model = PROGRAM.on(
        KSR, **{**COSTS, "balls": 100, "steps": 20, "processors": 8, "parallelism": "expected"}
    )
    larger = solve(model, {"balls": 5000.0, "steps": 1000.0})["time"]
    assert larger == pytest.approx(
        answer(balls=5000, steps=1000, processors=8, parallelism="expected")["time"]
    )
    assert {"balls", "steps"} <= set(solve(model).gradient["time"])
    assert not {"balls", "steps"} & set(answer(processors=8).gradient["time"])


def test_the_printed_profile_comes_out() -> None:
    """Scale-Graph, section 6.2: of 5000 balls and 100 steps 95.2% is adding to the queue, 0.4%
    removing.
    """
    given: dict[str, Any] = {"balls": 5000, "steps": 100}
    whole = seconds(**given)
    assert 1 - seconds(**given | {"adding": 0, "searching": 0}) / whole == pytest.approx(
        0.952, abs=0.002
    )
    assert 1 - seconds(**given | {"removing": 0}) / whole == pytest.approx(0.004, abs=0.0005)
