"""Table 1 and what the paper says of its figures: what comes out, and by how much the rest
misses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml

from slipstick import PROGRAMS, load
from slipstick.expression.nodes import Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.model.system import scaled_model
from slipstick.schema.library import Library
from slipstick.schema.programs import load_data
from slipstick.schema.text import Mark
from tests.house.code import ROOT

PUBLISHED = yaml.safe_load((ROOT / "tests" / "published" / "dvsm_applications.yaml").read_text())
TABLE_1: dict[str, dict[str, Any]] = PUBLISHED["table_1"]
SAID: dict[str, dict[str, Any]] = PUBLISHED["statements"]
FE, ATM = "fast-ethernet", "atm"
LATE = ", collections from 16 MiB"
"""Of a program whose garbage starts a collection late: the end of a range, not printed."""


@cache
def compiled(name: str, network: str) -> ClosedForm:
    """Compile a row of Table 1, with late collections or as it is, once for all that is asked."""
    machine = load(f"machine/rs6000-43p-{network}")
    assert isinstance(machine, Machine)
    row = TABLE_1[name.removesuffix(LATE)]
    counts_name = row["counts"] + ("-collect-16-mib" if name.endswith(LATE) else "")
    counts = load_data("counts", counts_name, Mark(name, 1, 1), Library())
    ahead = {"prefetched_faults": 0.0, "prefetched_locks": 0.0}
    model = PROGRAMS["dvsm/application"].on(
        machine, counts=counts, sequential=row["sequential"], **ahead
    )
    return ClosedForm(
        scaled_model(model, {"protocol": Parameter("technology.protocol", value=1.0)})
    )


@cache
def time(
    name: str,
    network: str,
    speed: float = 1.0,
    bandwidth: float = 1.0,
    **changes: float,
) -> float:
    """Return the execution time [s] with processors and network so many times as fast."""
    form = compiled(name, network)
    per_byte = form.tape.parameters["machine.network.wire.per_byte"].value or 0.0
    paths = {
        "machine.processors.speed": speed,
        "machine.network.wire.per_byte": per_byte / bandwidth,
    }
    inputs = {
        "technology.protocol" if key == "protocol" else key: value for key, value in changes.items()
    }
    # A program without locks knows nothing of locks prefetched.
    used = {name: value for name, value in {**paths, **inputs}.items() if name in form.parameters}
    return float(form.times(used)[0])


def busy(name: str, speed: float = 1.0) -> float:
    return float(TABLE_1[name.removesuffix(LATE)]["sequential"]) / 8 / speed


def reduction(name: str, network: str, speed: float = 1.0, **changes: float) -> float:
    """Return 1 - overhead after / overhead before [percent]."""
    before, after = time(name, network, speed), time(name, network, speed, **changes)
    return 100 * (1 - (after - busy(name, speed)) / (before - busy(name, speed)))


def errors(network: str) -> dict[str, float]:
    return {name: time(name, network) / row[network] - 1 for name, row in TABLE_1.items()}


FITTED = {"Barnes (1)": 0.002, "Sphere (1)": -0.003, "Water": -0.010, "Raytrace": 0.063}
UNUSED = {"SOR": 0.022, "IS": -0.003, "Barnes (2)": -0.069, "Sphere (2)": -0.063}
"""Errors on Fast Ethernet: of the programs with one number fitted each, and of those whose times
no fit has used.
"""


@pytest.mark.turns(4)
def test_four_programs_are_fitted_on_fast_ethernet_and_the_others_predicted() -> None:
    assert errors(FE) == pytest.approx({**FITTED, **UNUSED}, abs=0.001)


ATM_MISSES = {"Sphere (1)": 0.145, "Water": 0.105, "Raytrace": 0.160}
"""Errors above ten percent, the paper's own bar; Table 6 has locks dearer on ATM, yet the three
programs with locks ran faster there.
"""


@pytest.mark.turns(4)
def test_the_fit_transferred_to_atm_misses_programs_with_locks() -> None:
    found = errors(ATM)
    assert {name: each for name, each in found.items() if abs(each) > 0.1} == pytest.approx(
        ATM_MISSES, abs=0.005
    )
    # No change at all would do better: the paper measured nearly the same times on both networks.
    unchanged = {name: row[FE] / row[ATM] - 1 for name, row in TABLE_1.items()}
    assert sum(map(abs, unchanged.values())) < sum(map(abs, found.values()))


@cache
def parts(name: str) -> dict[str, float]:
    found = compiled(name, FE).points({}).answer(0)
    return {key: value / (found["time"] or 1.0) for key, value in found.account.items()}


BARNES_MISSES = {"Barnes (1)": 0.403, "Barnes (2)": 0.406}
"""What faults and collections are of the overhead; the paper says that Barnes suffers mostly
from them.
"""


@pytest.mark.turns(4)
def test_barnes_suffers_from_faults_and_collections_less_than_the_paper_says() -> None:
    found = {name: parts(name) for name in BARNES_MISSES}
    assert all(each.get("lock", 0.0) == 0 for each in found.values())
    shares = {
        name: (each["fault"] + each["collection"]) / (1 - each["busy"])
        for name, each in found.items()
    }
    assert shares == pytest.approx(BARNES_MISSES, abs=0.001)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["IS", "Sphere (1)", "Sphere (2)", "Water"])
def test_locks_are_a_fifth_of_the_overhead_where_the_paper_says_much_locking(name: str) -> None:
    found = parts(name)
    assert found["lock"] + found.get("queue", 0.0) > 0.2 * (1 - found["busy"])


@pytest.mark.turns(4)
def test_water_has_the_largest_overhead_up_to_60_percent() -> None:
    lost = {name: 1 - parts(name)["busy"] for name in TABLE_1}
    assert max(lost, key=lambda name: lost[name]) == "Water"
    assert lost["Water"] == pytest.approx(0.6, abs=0.02)


@pytest.mark.turns(6)
def test_barriers_are_mostly_imbalance() -> None:
    for name in TABLE_1:
        found = parts(name)
        assert found["idle"] > found["barrier"]


CHANGES: dict[str, dict[str, float]] = {
    "halved_faults": {"prefetched_faults": 0.5},
    "halved_locks": {"prefetched_locks": 0.5},
    "halved_protocol": {"protocol": 0.5},
    "prefetching_at_8": {"speed": 8.0, "prefetched_faults": 0.5},
}
MISSES = {
    "halved_faults": {"SOR": 16.6},
    # IS waits in the queue of its one lock, and Raytrace in that of its counter; half of the lock
    # time is half of that.
    "halved_locks": {"IS": 32.2, "Raytrace": 25.5},
    "halved_protocol": {"Barnes (1)": 19.0, "Barnes (2)": 21.1, "Water": 23.1},
    "prefetching_at_8": {"Barnes (2)": 13.2, "Water": 13.0},
}
"""Overhead reductions [percent] outside what the paper states, by statement."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("statement", CHANGES)
def test_what_the_paper_says_of_overhead_reductions_misses_where_listed(statement: str) -> None:
    said = SAID[statement]
    found = {name: reduction(name, FE, **CHANGES[statement]) for name in said["programs"]}
    low, high = (
        (said["from"], said["to"]) if "from" in said else (said["about"] - 0.5, said["about"] + 0.5)
    )
    missed = {name: each for name, each in found.items() if not low <= each <= high}
    assert missed == pytest.approx(MISSES[statement], abs=0.06)


def test_fault_reduction_affects_sphere_and_is_least() -> None:
    least = sorted(TABLE_1, key=lambda name: reduction(name, FE, prefetched_faults=0.5))
    assert set(least[:2]) == {"Sphere (1)", "Sphere (2)"}
    assert reduction("IS", FE, prefetched_faults=0.5) == pytest.approx(29.9, abs=0.1)


BANDWIDTH_MISSES = {"SOR": 8.1, "IS": 13.7, "Sphere (1)": 8.8, "Sphere (2)": 8.3, "Water": 5.3}
"""Overhead reductions [percent] by ten times the bandwidth, which the paper says is not
important: above 5 on Fast Ethernet.
"""


def test_bandwidth_matters_to_some_today_and_to_all_with_processors_eight_times_as_fast() -> None:
    now = {name: reduction(name, FE, bandwidth=10.0) for name in TABLE_1}
    then = {name: reduction(name, FE, speed=8.0, bandwidth=10.0) for name in TABLE_1}
    assert {name: each for name, each in now.items() if each > 5} == pytest.approx(
        BANDWIDTH_MISSES, abs=0.06
    )
    assert all(then[name] > 3 * now[name] for name in TABLE_1)


@pytest.mark.turns(4)
def test_efficiency_falls_with_faster_processors() -> None:
    for name in TABLE_1:
        found = [busy(name, speed) / time(name, FE, speed) for speed in (0.25, 1.0, 4.0, 16.0)]
        assert found == sorted(found, reverse=True)


COLLECTING = ("Barnes (1)", "Barnes (2)", "Sphere (1)", "Sphere (2)", "Water")


def kept(name: str, speed: float) -> float:
    """Return the share of the efficiency that is kept with faster processors [percent]."""
    return 100 * time(name, FE) / (speed * time(name, FE, speed))


PREFETCHED = ("SOR", "IS", "Barnes (1)", "Barnes (2)", "Water")
HALF_PROTOCOL = ("Barnes (1)", "Barnes (2)", "Water")


def prefetched_at_8(name: str) -> float:
    return reduction(name, FE, 8.0, prefetched_faults=0.5)


TRIED: dict[str, tuple[Callable[[str], float], dict[str, float]]] = {
    "prefetching at 8, collections from 16 MiB": (
        lambda name: prefetched_at_8(name + (LATE if name in COLLECTING else "")),
        dict(zip(PREFETCHED, (29.3, 41.6, 28.4, 26.7, 14.6), strict=True)),
    ),
    "half the protocol, collections from 16 MiB": (
        lambda name: reduction(name + LATE, FE, protocol=0.5),
        dict(zip(HALF_PROTOCOL, (17.9, 17.9, 23.6), strict=True)),
    ),
    "efficiency kept at 16, collections from 16 MiB": (
        lambda name: kept(name + LATE, 16.0),
        {"Sphere (1)": 60.2, "Sphere (2)": 69.5},
    ),
    "prefetching less twice the bandwidth, at 8": (
        lambda name: prefetched_at_8(name) - reduction(name, FE, 8.0, bandwidth=2.0),
        dict(zip(PREFETCHED, (10.5, 12.7, -1.0, -2.0, -0.2), strict=True)),
    ),
    "efficiency kept from 0.25 to 4": (
        lambda name: 100 * kept(name, 4.0) / kept(name, 0.25),
        dict(zip(TABLE_1, (92.6, 80.3, 84.2, 88.7, 76.5, 82.9, 77.9, 91.5), strict=True)),
    ),
    "twice the bandwidth": (
        lambda name: reduction(name, FE, bandwidth=2.0),
        {"SOR": 4.5, "IS": 7.6, "Barnes (1)": 2.2, "Sphere (1)": 4.9, "Water": 2.9},
    ),
}
"""What one mechanism or one input that the paper does not print changes [percent], by program.

Of twice the bandwidth only IS gains more than a twentieth, and six of eight keep 80 % of their
efficiency over 16 times the speed. With processors eight times as fast prefetching takes more off
than twice the bandwidth for SOR and IS; for Barnes and Water it did before the diffs of two
intervals came in one message and the delay grew with the requests, and is now 0.2 to 2 points less.
"""


@pytest.mark.turns(6)
@pytest.mark.parametrize("change", TRIED)
def test_what_a_mechanism_or_an_input_changes(change: str) -> None:
    compute, expected = TRIED[change]
    assert {name: compute(name) for name in expected} == pytest.approx(expected, abs=0.06)
