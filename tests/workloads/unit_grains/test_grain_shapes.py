"""The shapes of the paper's figures, simulated: what contention does to unit grains on two
machines.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from slipstick.model.machine import SharedMemory
from slipstick.program import PROGRAMS
from slipstick.sim.settings import Simulation
from tests.simulation import solve
from tests.specs import shared_machine

SYMMETRY, TC2000 = shared_machine("sequent-symmetry-s81"), shared_machine("bbn-tc2000")
SETTINGS = Simulation(seed=1, cycles=1000)
LARGE = 128 * 1024
LOCKS = ("nat", "tas", "mcs")


@cache
def zeta(on: str, competitors: int, **inputs: Any) -> float:
    """Simulate a grain among its competitors, and give its efficiency."""
    machine: SharedMemory = {"symmetry": SYMMETRY, "tc2000": TC2000}[on]
    model = PROGRAMS["grain/unit"].on(machine, competitors=competitors, **inputs)
    found = solve(model, simulation=SETTINGS)["grain_efficiency"]
    assert found is not None
    return found


def test_figure_6_one_to_four_elements_are_one_module() -> None:
    found = {m: zeta("tc2000", 16, elements=m) for m in (1, 2, 3, 4, 8, 12, 16, 256)}
    assert [found[m] for m in (2, 3, 4)] == pytest.approx([found[1]] * 3, rel=0.02)
    assert all(a < b for a, b in pairwise(found[m] for m in (4, 8, 12, 16, 256)))
    assert found[256] > 0.9


@pytest.mark.turns(4)
def test_figure_5_computing_helps_and_writes_most() -> None:
    walk = {"elements": LARGE, "stride": 16, "start": 2, "scv": 1.0}
    read, write = (
        [zeta("symmetry", 10, access=access, compute=c, **walk) for c in (0, 2, 5, 10)]
        for access in ("read", "write")
    )
    assert all(a < b for each in (read, write) for a, b in pairwise(each))
    assert write[-1] / write[0] > read[-1] / read[0]
    assert all(w < r for r, w in zip(read, write, strict=True))


def section(on: str, competitors: int, lock: str, units: int) -> float:
    compute = {"symmetry": 120, "tc2000": 300}[on]
    return zeta(on, competitors, accesses=0, compute=compute, lock=lock, critical=units, scv=1.0)


LENGTHS = (0, 4, 8, 14)
FALLS_MISSED = {("nat", 20), ("tas", 20)}
"""Locks and competitors for which zeta on the Symmetry does not fall with each longer critical
section, as the paper says.
"""


@pytest.mark.turns(4)
def test_figure_8_zeta_falls_with_the_length_of_critical_sections_but_where_it_is_listed() -> None:
    found = {
        (lock, competitors): [section("symmetry", competitors, lock, units) for units in LENGTHS]
        for lock in LOCKS
        for competitors in (10, 20)
    }
    assert {
        key for key, each in found.items() if not all(a > b for a, b in pairwise(each))
    } == FALLS_MISSED


def test_figure_8_the_queue_lock_loses_a_little_among_few_and_wins_among_many() -> None:
    few, many = (
        {lock: [section("symmetry", n, lock, c) for c in LENGTHS] for lock in LOCKS}
        for n in (10, 20)
    )
    less = [c for c, mcs, tas in zip(LENGTHS, few["mcs"], few["tas"], strict=True) if mcs < tas]
    assert less in ([0, 4], [0, 4, 8])  # at 8 they are within what is simulated
    assert all(mcs > nat - 0.05 for mcs, nat in zip(few["mcs"], few["nat"], strict=True))
    assert all(
        mcs > max(others)
        for mcs, *others in zip(many["mcs"], many["nat"], many["tas"], strict=True)
    )


def test_figure_8_on_switches_the_queue_lock_always_wins() -> None:
    for units in (10, 20, 30):
        found = {lock: section("tc2000", 10, lock, units) for lock in LOCKS}
        assert found["mcs"] > max(found["nat"], found["tas"])


def disturbed(on: str, competitors: int, lock: str) -> float:
    """Return zeta of accesses among empty critical sections back to back."""
    return zeta(
        on,
        competitors,
        elements=LARGE,
        stride=4,
        start=1,
        accesses=20,
        other_accesses=0,
        other_lock=lock,
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("competitors", [5, 6, 12, 20])
def test_figure_9_the_queue_lock_disturbs_memory_least(competitors: int) -> None:
    bus = {lock: disturbed("symmetry", competitors, lock) for lock in LOCKS}
    assert bus["mcs"] > 1.5 * max(bus["nat"], bus["tas"])


@pytest.mark.turns(4)
@pytest.mark.parametrize("competitors", [5, 12, 24])
def test_figure_9_on_switches_the_queue_lock_disturbs_memory_least_too(competitors: int) -> None:
    found = {lock: disturbed("tc2000", competitors, lock) for lock in LOCKS}
    assert found["mcs"] > max(found["nat"], found["tas"])


@pytest.mark.turns(4)
def test_figure_7_words_level_off_on_a_bus_and_rise_on_with_switches() -> None:
    def warps(machine: SharedMemory, competitors: int, access: str) -> float:
        walk: dict[str, Any] = {"elements": LARGE, "pattern": "random", "access": access}
        model = PROGRAMS["grain/unit"].on(machine, competitors=competitors, **walk)
        found = solve(model, simulation=SETTINGS)["warps"]
        assert found is not None
        return found

    for access in ("read", "write"):
        bus = [warps(SYMMETRY, n, access) for n in (0, 8, 20)]
        switches = [warps(TC2000, n, access) for n in (0, 12, 30)]
        assert bus[0] < bus[1] == pytest.approx(bus[2], rel=0.05)
        assert switches[0] * 0.9 < switches[1] / 13 < switches[0]
        assert switches[0] * 0.8 < switches[2] / 31 < switches[1] / 13
    assert warps(SYMMETRY, 20, "write") < warps(SYMMETRY, 20, "read")


def test_figure_9_locks_disturb_memory_less_on_switches_than_on_a_bus() -> None:
    for lock in ("nat", "tas"):
        assert (
            disturbed("symmetry", 12, lock)
            < disturbed("tc2000", 24, lock)
            < disturbed("tc2000", 24, "mcs")
        )
