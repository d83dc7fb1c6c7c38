"""Looks that are kept on disk: found again, not believed where damaged, never in the way."""

from __future__ import annotations

import json
import re
from pathlib import Path
from threading import Thread

import pytest

from slipstick import Simulation, solve
from slipstick.extensions import PACKAGES
from slipstick.sim import stored_checks
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.short_check import CheckResult, Expected, check_by_short_run
from slipstick.sim.stored_checks import DECIDING_CODE, cache_folder, stored_check

EXPECTED = {0: Expected(6.0, 0.03)}
PARTS = {"wait[bus]": 4.0, "utilization[bus]": 1.0}


def three_customers(service_time: float = 2.0) -> Plan:
    """Return three customers that one server serves in turn."""
    builder = Builder()
    builder.add_station("bus")
    builder.serve("bus", ServiceTime("deterministic", service_time, 0.0))
    builder.add_closed_group("all", customer_count=3, first_instruction=0)
    return builder.plan()


@pytest.fixture(name="looks")
def _looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Keep looks in a folder of the test, and list the plans that are simulated."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plans: list[Plan] = []

    def counted(plan: Plan, *arguments: object) -> CheckResult:
        plans.append(plan)
        return check_by_short_run(plan, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(stored_checks, "check_by_short_run", counted)
    return plans


def files() -> list[Path]:
    folder = cache_folder()
    assert folder is not None
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_a_look_is_kept_and_is_the_same(looks: list[Plan]) -> None:
    first, again = (stored_check(three_customers(), EXPECTED, 10_000, PARTS) for _ in range(2))
    assert first == again == check_by_short_run(three_customers(), EXPECTED, 10_000, PARTS)
    assert len(looks) == len(files()) == 1


def test_a_repeated_solve_looks_once_and_again_if_told(looks: list[Plan]) -> None:
    again = Simulation(check="again")
    first = solve("lock-and-bus", simulation=again)
    assert (len(looks), len(files())) == (0, 0)  # by check_by_short_run itself
    answers = [solve("lock-and-bus") for _ in range(2)]
    assert len(looks) == len(files()) == 1
    assert [answer.check for answer in answers] == [first.check] * 2


def test_what_decides_a_look_is_in_its_key(
    looks: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    assert stored_check(three_customers(2.5), EXPECTED, 10_000, PARTS).verdict == "differs"
    assert (
        stored_check(three_customers(), {0: Expected(5.0, 0.03)}, 10_000, PARTS).relative_error
        < -0.1
    )
    stored_check(three_customers(), {0: Expected(6.0, 0.02)}, 10_000, PARTS)
    stored_check(three_customers(), EXPECTED, 20_000, PARTS)
    stored_check(three_customers(), EXPECTED, 10_000, {"wait[bus]": 1.0})
    monkeypatch.setattr(stored_checks, "code_hash", lambda *places: "a later version")
    stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    assert len(looks) == 7


SAYING_ONLY = {"arguments", "display", "errors", "extensions", "files", "late", "limits", "results"}
"""Modules that check, tell or store, and decide nothing of a look."""


def test_all_code_that_the_simulator_imports_is_in_the_key() -> None:
    """A change of any module that draws or follows events makes a new look."""
    hashed = {path for place in DECIDING_CODE for path in _modules(PACKAGES / place)}
    imported = {
        PACKAGES / "slipstick" / match[1]
        for path in hashed
        for match in re.finditer(r"^\s*from slipstick\.(\w+)", path.read_text(), re.MULTILINE)
    }
    decided = {path for path in imported if path.name not in SAYING_ONLY}
    assert len(hashed) > 20
    assert {path for path in decided if not {*_modules(path)} <= hashed} == set()


def _modules(place: Path) -> list[Path]:
    file = place.with_suffix(".py")
    return [*place.rglob("*.py")] if place.is_dir() else [file]


@pytest.mark.parametrize("damage", ["", "x", "cut", "other", "binary"])
def test_a_damaged_file_is_looked_at_again(looks: list[Plan], damage: str) -> None:
    right = stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    (file,) = files()
    text = file.read_text(encoding="utf-8")
    if damage == "other":  # a whole and valid text that says something else
        seal, _, body = text.partition("\n")
        text = f"{seal}\n{json.dumps({**json.loads(body), 'verdict': 'differs'})}"
    file.write_text(
        text[: len(text) // 2] if damage == "cut" else text if damage == "other" else damage
    )
    if damage == "binary":
        file.write_bytes(b"\xff\xfe\x00")
    assert stored_check(three_customers(), EXPECTED, 10_000, PARTS) == right
    assert len(looks) == 2
    assert file.read_text(encoding="utf-8").endswith("}")


def test_keys_that_share_a_file_take_it_over(
    looks: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_checks, "_NAME_DIGITS", 0)
    for service_time in (2.0, 2.5, 2.0):
        stored_check(three_customers(service_time), EXPECTED, 10_000, PARTS)
    assert len(looks) == 3
    assert len(files()) == 1


def test_no_folder_no_right_and_a_file_in_the_way_are_no_errors(
    looks: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slipstick").write_text("a file")
    stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    assert (tmp_path / "slipstick").read_text() == "a file"
    monkeypatch.setattr(stored_checks, "cache_folder", lambda: None)
    stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    monkeypatch.setattr(stored_checks, "cache_folder", lambda: Path("/proc/none"))
    stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    assert len(looks) == 3


def test_a_folder_of_the_cache_is_an_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "slipstick" / "looks"


def test_several_writers_leave_one_whole_file(looks: list[Plan]) -> None:
    def look() -> None:
        for _ in range(5):
            stored_check(three_customers(), EXPECTED, 10_000, PARTS)
            for file in files():
                file.unlink(missing_ok=True)

    writers = [Thread(target=look) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    right = stored_check(three_customers(), EXPECTED, 10_000, PARTS)
    assert right == check_by_short_run(three_customers(), EXPECTED, 10_000, PARTS)
    assert [file.name[:5] for file in files()] == ["look-"]
