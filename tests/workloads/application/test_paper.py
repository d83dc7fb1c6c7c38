"""Table 1 and what the paper says of its figures: what comes out, and by how much the rest misses."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

from slipstick import PROGRAMS, load
from slipstick.expression.nodes import Parameter
from slipstick.method.closed_form.form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.model.technology import scaled
from slipstick.schema.library import Library
from slipstick.schema.programs import load_counts
from slipstick.schema.text.nodes import Mark
from tests.house.code import ROOT

PUBLISHED = yaml.safe_load((ROOT / "tests" / "published" / "dvsm_applications.yaml").read_text())
TABLE_1: dict[str, dict[str, Any]] = PUBLISHED["table_1"]
SAID: dict[str, dict[str, Any]] = PUBLISHED["statements"]
FE, ATM = "fast-ethernet", "atm"


@cache
def compiled(name: str, network: str) -> ClosedForm:
    """Compile a row of Table 1 once for all that is asked of it."""
    machine = load(f"machine/rs6000-43p-{network}")
    assert isinstance(machine, Machine)
    row = TABLE_1[name]
    counts = load_counts(row["counts"], Mark(name, 1, 1), Library())
    ahead = {"prefetched_faults": 0.0, "prefetched_locks": 0.0}
    model = PROGRAMS["dvsm/application"].on(machine, counts=counts, sequential=row["sequential"], **ahead)
    return ClosedForm(scaled(model, {"protocol": Parameter("technology.protocol", value=1.0)}))


@cache
def time(name: str, network: str, speed: float = 1.0, bandwidth: float = 1.0, **changes: float) -> float:
    """Give the execution time [s] with processors and network so many times as fast."""
    form = compiled(name, network)
    per_byte = form.tape.parameters["machine.network.wire.per_byte"].value or 0.0
    paths = {"machine.processors.speed": speed, "machine.network.wire.per_byte": per_byte / bandwidth}
    inputs = {"technology.protocol" if key == "protocol" else key: value for key, value in changes.items()}
    # A program without locks knows nothing of locks prefetched.
    used = {name: value for name, value in {**paths, **inputs}.items() if name in form.parameters}
    return float(form.times(used)[0])


def busy(name: str, speed: float = 1.0) -> float:
    return float(TABLE_1[name]["sequential"]) / 8 / speed


def reduction(name: str, network: str, speed: float = 1.0, **changes: float) -> float:
    """Give 1 - overhead after / overhead before [percent]."""
    before, after = time(name, network, speed), time(name, network, speed, **changes)
    return 100 * (1 - (after - busy(name, speed)) / (before - busy(name, speed)))


def errors(network: str) -> dict[str, float]:
    return {name: time(name, network) / row[network] - 1 for name, row in TABLE_1.items()}


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


@cache
def parts(name: str) -> dict[str, float]:
    found = compiled(name, FE).points({}).answer(0)
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


def test_halving_faults_cuts_the_overhead_of_sor_by_about_13_percent() -> None:
    assert reduction("SOR", FE, prefetched_faults=0.5) == pytest.approx(SAID["halved_faults"]["SOR"], abs=4)
    # "The only application that is almost unaffected by fault reduction is Sphere", and IS here, whose faults are few.
    least = sorted(TABLE_1, key=lambda name: reduction(name, FE, prefetched_faults=0.5))[:3]
    assert set(least) == {"Sphere (1)", "Sphere (2)", "IS"}


def test_halving_locks_cuts_the_overhead_by_8_to_20_percent() -> None:
    said = SAID["halved_locks"]
    found = {name: reduction(name, FE, prefetched_locks=0.5) for name in said["programs"]}
    # The miss: IS waits for its one lock, and a prefetched lock is not waited for; here that is half of its overhead.
    assert found.pop("IS") == pytest.approx(35, abs=3)
    assert all(said["from"] <= round(each) <= said["to"] for each in found.values())


def test_halving_protocol_cost_cuts_the_overhead_of_barnes_and_water_more_than_the_paper_says() -> None:
    found = [reduction(name, FE, protocol=0.5) for name in SAID["halved_protocol"]["programs"]]
    # The miss: about 15 % are said; some of its protocol time must have been hidden by what we take as waiting.
    assert all(17 < each < 25 for each in found)


def test_bandwidth_hardly_matters_today_and_much_with_processors_eight_times_as_fast() -> None:
    now = {name: reduction(name, ATM, bandwidth=10.0) for name in TABLE_1}
    then = {name: reduction(name, ATM, speed=8.0, bandwidth=10.0) for name in TABLE_1}
    assert max(now, key=lambda name: now[name]) == "IS"  # whose diffs are those of all before
    assert sorted(now.values())[-2] < 7
    assert all(then[name] > 3 * now[name] for name in TABLE_1)


def test_prefetching_with_processors_eight_times_as_fast_cuts_15_to_56_percent() -> None:
    said = SAID["prefetching_at_8"]
    for name in said["programs"]:
        found = reduction(name, FE, speed=8.0, prefetched_faults=0.5, prefetched_locks=0.5)
        assert said["from"] < found < said["to"]


def test_efficiency_falls_with_faster_processors() -> None:
    for name in TABLE_1:
        found = [busy(name, speed) / time(name, FE, speed) for speed in (0.25, 1.0, 4.0, 16.0)]
        assert found == sorted(found, reverse=True)
