"""The shapes of the unit-grain paper's figures by mean value."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from slipstick import solve
from slipstick.program import PROGRAMS
from tests.specs import shared_machine

MACHINES = {name: shared_machine(name) for name in ("sequent-symmetry-s81", "bbn-tc2000")}
SYMMETRY, TC2000 = MACHINES
LARGE = 128 * 1024


def zeta(on: str, competitors: int, **inputs: Any) -> float:
    model = PROGRAMS["grain/unit"].on(MACHINES[on], competitors=competitors, **inputs)
    found = solve(model, method="mean-value")["grain_efficiency"]
    assert found is not None
    return found


@pytest.mark.turns(4)
def test_figure_6_one_to_four_elements_are_one_module() -> None:
    found = {m: zeta(TC2000, 16, elements=m) for m in (1, 2, 3, 4, 8, 12, 16, 256)}
    assert [found[m] for m in (2, 3, 4)] == pytest.approx([found[1]] * 3, rel=1e-6)
    assert all(a < b for a, b in pairwise(found[m] for m in (4, 8, 12, 16, 256)))
    assert found[256] > 0.9


@pytest.mark.turns(4)
def test_figure_5_computing_helps_and_writes_most() -> None:
    walk = {"elements": LARGE, "stride": 16, "start": 2, "scv": 1.0}
    read, write = (
        [zeta(SYMMETRY, 10, access=access, compute=c, **walk) for c in (0, 2, 5, 10)]
        for access in ("read", "write")
    )
    assert all(a < b for each in (read, write) for a, b in pairwise(each))
    assert write[-1] / write[0] > read[-1] / read[0]
    assert all(w < r for r, w in zip(read, write, strict=True))


@pytest.mark.turns(4)
@pytest.mark.parametrize("units", [0, 4])
def test_figure_8_the_queue_lock_loses_a_little_among_few_and_wins_among_many(units: int) -> None:
    section = {"accesses": 0, "compute": 120, "critical": units, "scv": 1.0}
    few, many = (
        {lock: zeta(SYMMETRY, n, lock=lock, **section) for lock in ("nat", "tas", "mcs")}
        for n in (10, 20)
    )
    assert few["tas"] - 0.05 < few["mcs"] < few["tas"]
    assert many["mcs"] > 2 * max(many["nat"], many["tas"])


@pytest.mark.turns(3)
@pytest.mark.parametrize("competitors", [5, 6, 12, 20])
def test_figure_9_the_queue_lock_disturbs_memory_least(competitors: int) -> None:
    walk = {"elements": LARGE, "stride": 4, "start": 1, "accesses": 20, "other_accesses": 0}
    bus = {
        lock: zeta(SYMMETRY, competitors, other_lock=lock, **walk) for lock in ("nat", "tas", "mcs")
    }
    assert bus["mcs"] > 1.5 * max(bus["nat"], bus["tas"])
