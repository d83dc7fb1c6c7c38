"""Table 1 and what the paper says of its figures: what comes out, and by how much the rest misses."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

from slipstick import PROGRAMS, load, solve
from slipstick.answer import Answer
from slipstick.expression.nodes import Parameter
from slipstick.model.machine import Machine
from slipstick.model.technology import scaled
from slipstick.schema.counts import load_counts
from slipstick.schema.load import Library
from slipstick.schema.nodes import Mark
from tests.house.code import ROOT

PUBLISHED = yaml.safe_load((ROOT / "tests" / "published" / "dvsm_applications.yaml").read_text())
TABLE_1: dict[str, dict[str, Any]] = PUBLISHED["table_1"]
SAID: dict[str, dict[str, Any]] = PUBLISHED["statements"]
FE, ATM = "fast-ethernet", "atm"


@cache
def answer(name: str, network: str, **changes: float) -> Answer:
    """Solve a row of Table 1; what begins with no machine path is an input or a technology factor."""
    machine = load(f"machine/rs6000-43p-{network}")
    assert isinstance(machine, Machine)
    row = TABLE_1[name]
    counts = load_counts(row["counts"], Mark(name, 1, 1), Library())
    inputs = {key: value for key, value in changes.items() if key.startswith("prefetched")}
    model = PROGRAMS["dvsm/application"].on(machine, counts=counts, sequential=row["sequential"], **inputs)
    factors = {key: Parameter(f"technology.{key}", value=each) for key, each in changes.items() if key == "protocol"}
    model = scaled(model, factors)
    values = {"machine.processors.speed": changes.get("speed", 1.0)}
    if "bandwidth" in changes:
        per_byte = machine.network.wire_per_byte
        assert isinstance(per_byte, Parameter)
        values[per_byte.name] = (per_byte.value or 0.0) / changes["bandwidth"]
    return solve(model, values)


def overhead(found: Answer) -> float:
    return (found["time"] or 0.0) - found.account["busy"]


def reduction(name: str, network: str, speed: float = 1.0, **changes: float) -> float:
    """Give 1 - overhead after / overhead before [percent]."""
    before, after = answer(name, network, speed=speed), answer(name, network, speed=speed, **changes)
    return 100 * (1 - overhead(after) / overhead(before))


def errors(network: str) -> dict[str, float]:
    return {name: (answer(name, network)["time"] or 0.0) / row[network] - 1 for name, row in TABLE_1.items()}


def test_fast_ethernet_is_what_two_constants_and_the_iterations_were_fitted_to() -> None:
    found = errors(FE)
    assert sum(map(abs, found.values())) / 8 < 0.03
    assert max(map(abs, found.values())) < 0.07


def test_atm_is_predicted_blind_within_ten_percent() -> None:
    found = errors(ATM)
    assert sum(map(abs, found.values())) / 8 < 0.08
    # The miss: Table 6 has locks dearer on ATM, yet Sphere (1) ran faster there.
    worst = max(found, key=lambda name: abs(found[name]))
    assert worst == "Sphere (1)"
    assert 0.15 < found[worst] < 0.25


def parts(name: str) -> dict[str, float]:
    found = answer(name, FE)
    return {key: value / (found["time"] or 1.0) for key, value in found.account.items()}


@pytest.mark.parametrize("name", ["Barnes (1)", "Barnes (2)"])
def test_barnes_suffers_from_faults_and_collections(name: str) -> None:
    found = parts(name)
    assert found.get("lock", 0.0) == 0
    assert found["fault"] + found["collection"] == pytest.approx(
        max(
            found[key] + (found["collection"] if key == "fault" else 0)
            for key in ("fault", "empty", "sigio", "barrier")
        )
    )


@pytest.mark.parametrize("name", ["IS", "Sphere (1)", "Sphere (2)", "Water"])
def test_locks_are_the_largest_overhead_where_the_paper_says_much_locking(name: str) -> None:
    found = parts(name)
    assert found["lock"] == max(found[key] for key in ("lock", "fault", "empty", "sigio", "barrier"))


def test_water_has_the_largest_overhead_up_to_60_percent() -> None:
    lost = {name: 1 - parts(name)["busy"] for name in TABLE_1}
    assert max(lost, key=lambda name: lost[name]) in ("Water", "Barnes (2)")
    assert 0.5 < lost["Water"] < 0.65


def test_barriers_are_mostly_imbalance() -> None:
    for name in TABLE_1:
        found = parts(name)
        if name != "SOR":
            assert found["idle"] > found["barrier"]
