"""A machine comes back from times that were made from it; what the command writes, compares and
refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick import solve
from slipstick.cli.main import main
from slipstick.errors import NoAnswerError
from slipstick_measure.calibration import host, timing
from slipstick_measure.calibration.analysis import (
    ACCESSES_PER_CYCLE,
    SPEC_LOCKS,
    HostValue,
    estimate_caches,
    estimate_machine_values,
)
from slipstick_measure.calibration.timing import Cores, TimedKernel, Timing
from tests.calibration import (
    CLOCK,
    HOST,
    SOME_CROWDED,
    SOME_DISTURBED,
    FakeCalibration,
    times_of,
    use_computed_clocks,
    use_made_times,
)


def values_of(known: Mapping[str, Any]) -> dict[str, float]:
    *inner, (size, hit) = zip(known["sizes"], known["hits"], strict=False)
    found = {
        "processors.step": known["step"] * CLOCK,
        "cache.size": size,
        "cache.hit": hit,
        "cache.line": known["line"],
    }
    for number, (level, time) in enumerate(inner, 1):
        found |= {
            f"cache.inner.level-{number}.size": level,
            f"cache.inner.level-{number}.hit": time,
        }
    access = known["line"] * known["byte"]
    found |= {"memory.access": access, "interconnect.hop": (known["hits"][-1] - access) / 2}
    found |= {
        "cache.other": known["handed"],
        "locks.mcs.own": known["own"],
        "locks.mcs.access": known["handed"],
    }
    return found | {
        "locks.mcs.latency": known["latency"],
        "barriers.central.access": known["central"] / 3,
    }


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Any]:
    ratios = draw(st.lists(st.floats(8, 40), min_size=0, max_size=1))
    sizes = np.cumprod([draw(st.floats(16, 96)) * 1024, *ratios])
    hits = np.cumprod([draw(st.floats(0.5, 4)) * 1e-9, *(draw(st.floats(2.5, 8)) for _ in sizes)])
    drawn = {
        "sizes": tuple(sizes),
        "hits": tuple(hits),
        "line": draw(st.sampled_from((32.0, 64.0, 128.0))),
    }
    scales = {
        key: HOST[key] * draw(st.floats(0.5, 2)) for key in ("step", "own", "handed", "central")
    }
    scales["byte"] = hits[-1] / drawn["line"] * draw(st.floats(0.02, 0.5))
    return {**drawn, **scales, "latency": scales["own"] * draw(st.floats(2.1, 4))}


@pytest.mark.turns(4)
@settings(max_examples=6, deadline=None)
@given(hosts(), st.integers(0, 1000))
def test_a_host_comes_back_from_its_times_within_the_intervals(
    known: dict[str, Any], seed: int
) -> None:
    found = estimate_machine_values(times_of(known, seed), CLOCK)
    outside = {
        path: (value, found[path])
        for path, value in values_of(known).items()
        if not found[path].low * 0.999 <= value <= found[path].high * 1.001
    }
    assert outside == {}


def test_a_host_comes_back_from_the_clocks_of_its_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernels take the times of a known host; clocks are computed, none is read."""
    clock = use_computed_clocks(monkeypatch)
    calibration = host.Calibration([0, 1], 6.0)
    timings = calibration.run_machine_kernels()
    found = estimate_machine_values(timings, CLOCK)
    for path, value in values_of(HOST).items():
        assert found[path].value == pytest.approx(value, rel=1e-4), path
    # Twice the time of a cycle goes by in a third of the seconds at least, and not much more.
    assert 2.0 < clock.now - 5.0 < 2 * 6.0
    counted = sum(len(timing.seconds) for timing in timings)
    left_out = sum(timing.disturbed_count for timing in timings)
    parts = 1 / SOME_DISTURBED + 1 / SOME_CROWDED
    assert left_out / (counted + left_out) == pytest.approx(parts, rel=0.2)
    assert all(len(timing.seconds) >= 5 for timing in timings)
    # A repetition is long enough for the clocks, and no longer than needed.
    turns = {timing.kernel: timing.turns for timing in timings}
    assert 0.00075 <= turns["swap"] * HOST["own"] < 0.0015
    assert 0.00075 <= turns["ping"] * 2 * HOST["handed"] < 0.0015


def test_grains_of_a_known_host_take_the_time_of_their_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_computed_clocks(monkeypatch)
    grains: list[dict[str, Any]] = [
        {"accesses": 0, "compute": 120, "lock": "mcs", "critical": 5},
        {"accesses": 0, "compute": 120, "lock": "array", "critical": 5, "competitors": 1},
        {"pattern": "random", "elements": 4096, "accesses": 3, "compute": 7},
        {"accesses": 1, "elements": 4096, "access": "write", "competitors": 1},
        {"accesses": 0, "compute": 10, "barrier": "dissemination", "competitors": 1},
    ]
    timings = host.Calibration([0, 1], 2.0).run_grains(grains)
    quickest = [min(timing.seconds) for timing in timings]
    step, own, handed = HOST["step"], HOST["own"], HOST["handed"]
    assert quickest == pytest.approx(
        [
            125 * step + HOST["latency"],
            125 * step + HOST["latency"] + 4 * (handed - own),
            7 * step + 3 * HOST["hits"][0],
            5 * HOST["hits"][0],
            10 * step + 2 * HOST["central"],
        ],
        rel=1e-4,
    )


@pytest.mark.turns(4)
def test_reads_by_the_model_of_a_grain_give_its_caches_back() -> None:
    inner = {"first": {"size": "32 KiB", "hit": "2 ns"}, "second": {"size": "1 MiB", "hit": "6 ns"}}
    machine: dict[str, Any] = {
        "machine": 1,
        "extends": "two-socket-server",
        "cache": {"inner": inner},
    }
    sizes = [8192.0 * 2**number for number in range(15)]
    seconds = []
    for size in sizes:
        inputs: dict[str, float | str] = {"pattern": "random", "accesses": 1, "elements": size / 8}
        seconds.append(solve("grain/unit", inputs, machine=machine)["time"] or 0.0)
    found = estimate_caches(sizes, seconds)
    assert found.sizes == pytest.approx((32 << 10, 1 << 20, 27.5 * (1 << 20)), rel=0.01)
    assert found.times == pytest.approx((2e-9, 6e-9, 20e-9, 81.86e-9), rel=0.01)


def test_a_word_of_ones_own_is_faster_and_another_cache_answers_at_its_own_time() -> None:
    lock = {"kind": "ticket", "latency": "12 ns", "access": "60 ns", "own": "4 ns"}
    machine: dict[str, Any] = {
        "machine": 1,
        "extends": "two-socket-server",
        "cache": {"other": "50 ns"},
        "locks": {"ticket": lock},
    }
    section: dict[str, float | str] = {"accesses": 0, "lock": "ticket", "critical": 0}
    assert solve("grain/unit", section, machine=machine)["time"] == pytest.approx(12e-9)
    among = solve("grain/unit", {**section, "competitors": 1}, machine=machine)
    assert among.values["time_alone"].value == pytest.approx(12e-9)
    assert (among["time"] or 0.0) >= 2 * (
        2 + 1
    ) * 60e-9 * 0.99  # two processors take turns, each with three accesses
    writes: dict[str, float | str] = {
        "elements": 64,
        "pattern": "random",
        "access": "write",
        "competitors": 1,
    }
    assert solve("grain/unit", writes, machine=machine)["time"] == pytest.approx(
        35e-9
    )  # half 50 ns, half a hit of 20 ns


def test_caches_that_the_system_tells_are_those_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, (kind, size) in enumerate(
        [("Data", "48K"), ("Instruction", "32K"), ("Unified", "2048K"), ("Unified", "unknown")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "type").write_text(f"{kind}\n")
        (folder / "size").write_text(f"{size}\n")
    monkeypatch.setattr(host, "Path", lambda _: tmp_path)
    assert host.reported_cache_sizes() == [48 * 1024, 2048 * 1024]


def test_a_host_without_a_cache_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="no cache is found: a read takes 1e-07 s of 4096 B"):
        estimate_caches([4096, 1 << 20, 1 << 28], [1e-7, 1e-7, 1e-7])


def test_a_host_that_is_busy_all_the_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LONGEST_DISTURBANCE", -1.0)
    cores = Cores.__new__(Cores)
    monkeypatch.setattr(
        cores, "run_once", lambda kernel, parties, turns: (0.01, 0.5, 1.0), raising=False
    )
    wanted = " undisturbed ones are needed; end them, name other --cores, or give more --seconds"
    with pytest.raises(
        NoAnswerError, match=f"2 of 2 repetitions of the kernel ping were disturbed, and 5{wanted}"
    ):
        cores.measure(
            TimedKernel(Timing("ping", {}, disturbed_count=2), lambda rank, turns, ticks: None),
            -1.0,
        )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> type[FakeCalibration]:
    return use_made_times(monkeypatch)


@pytest.mark.turns(6)
def test_the_machine_is_valid_and_compared_with_itself_later(
    made: type[FakeCalibration],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "host.yaml"
    assert main(["calibrate", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "cache.other" in printed
    assert "1 grains that it is not made of are predicted with a median error of 0%" in printed
    assert main(["check", str(out)]) == 0
    assert main(["calibrate", "--check", str(out)]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    monkeypatch.setattr(
        made,
        "known",
        {**HOST, "handed": 90e-9, "sizes": HOST["sizes"][:2], "hits": HOST["hits"][:3]},
    )
    assert main(["calibrate", "--check", str(out), "--json"]) == 1
    changed = {
        each["path"] for each in json.loads(capsys.readouterr().out)["changes"] if each["changed"]
    }
    assert {"cache.other", "locks.mcs.access", "cache.inner.level-2.size"} < changed
    assert not {"processors.step", "cache.line", "locks.mcs.latency"} & changed


@pytest.mark.turns(4)
def test_one_core_tells_no_locks(
    made: type[FakeCalibration], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "host.yaml"
    assert main(["calibrate", "-o", str(out), "--cores", "1"]) == 0
    assert "which need two cores" in capsys.readouterr().out
    assert "locks:" not in out.read_text()
    for grain in host.grains_to_compare(1, host.LARGEST_SET):
        assert solve("grain/unit", dict(grain), machine=str(out))["time"]
    assert len(host.grains_to_compare(2, host.LARGEST_SET)) == len(host.GRAINS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say one of --out SPEC, to write a machine, and --check SPEC"),
        (["-o", "x.yaml", "--check", "y.yaml"], "say one of --out SPEC"),
        (["-o", "x.txt"], "name a file that ends in .yaml"),
        (["-o", "x.yaml", "--cores", "0,7"], "write different cores of 0, 1, such as 0; got '0,7'"),
        (["-o", "x.yaml", "--cores", "1,1"], "write different cores of 0, 1"),
        (["-o", "x.yaml", "--seconds", "nan"], "write a number from 1 to 3600; got nan"),
        (["-o", "nowhere/x.yaml"], "nothing can be written into nowhere; choose another place"),
        (["--check", "two-socket"], "did you mean 'two-socket-server'?"),
        (["--check", "linux-cluster"], "this is no machine that slipstick calibrate wrote"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    made: type[FakeCalibration],
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calibrate", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.turns(6)
@pytest.mark.parametrize("size", [1 << 16, 1 << 18, 1 << 20])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_kernels_read_no_element_outside_their_memory(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled kernels check no index; the same functions in Python do."""
    calibration = host.Calibration([0], 0.3, size)
    cores = calibration.cores
    compiled = cores.kernels
    names = ("time_pairs", "time_visits", "time_sums")
    functions = {name: getattr(compiled, name).py_func for name in names}
    monkeypatch.setattr(
        cores,
        "kernels",
        SimpleNamespace(
            PAGE_BYTES=compiled.PAGE_BYTES, LINES_PER_VISIT=compiled.LINES_PER_VISIT, **functions
        ),
    )
    runs = [calibration._kernel_of_pairs(stride) for stride in host._STRIDES]
    runs += [calibration._kernel_of_visits(pages) for pages in (1, size // compiled.PAGE_BYTES)]
    runs += [calibration._kernel_of_sums(1)]
    for run in runs:
        for seed in (0, 2**62 - 1, *range(1, 2**62, 2**59)):
            cores.words[:] = 0
            turns = 1 if run.timing.kernel == "stream" else 200
            run.kernel(0, turns, np.full(compiled.TICKS, seed))
    cores.close()


def test_without_numba_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slipstick_measure.calibration.timing.find_spec", lambda name: None)
    assert main(["calibrate", "-o", str(tmp_path / "host.yaml")]) == 2
    assert "slipstick[fast]" in capsys.readouterr().err


def test_a_size_that_the_system_tells_is_in_the_interval_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {
        path: HostValue(value, 0.9 * value, 1.1 * value) for path, value in values_of(HOST).items()
    }
    monkeypatch.setattr(
        host, "reported_cache_sizes", lambda: [48.0 * 1024, 2.5 * 2**20, 256.0 * 2**20]
    )
    made = host.machine_spec(found, times_of(HOST), CLOCK, 2, "host.yaml")
    (said,) = (each for each in made.notes if "measured by reads" in each)
    assert said.startswith(
        "cache.size: measured by reads 32 MiB, the system reports 256 MiB, and the interval holds"
        " both"
    )
    sizes = (made.document["cache"]["inner"]["level-2"]["size"], made.document["cache"]["size"])
    assert [each["high"] for each in sizes] == ["2.62144e+06 B", "2.68435e+08 B"]
    assert {each["source"] for each in sizes} == {"visit"}
    monkeypatch.setattr(host, "reported_cache_sizes", lambda: [48.0 * 1024])
    words = host.machine_spec(found, times_of(HOST), CLOCK, 2, "host.yaml").notes
    assert "reads show 3 caches, the system reports 1" in words


@pytest.mark.turns(4)
@pytest.mark.parametrize("lock", ACCESSES_PER_CYCLE)
def test_two_processors_that_use_a_lock_in_turn_hand_over_as_many_accesses(lock: str) -> None:
    given = {"kind": SPEC_LOCKS[lock], "latency": "12 ns", "access": "40 ns", "own": "3 ns"}
    machine = {"machine": 1, "extends": "two-socket-server", "locks": {lock: given}}
    shape: dict[str, float | str] = {
        "accesses": 0,
        "compute": 2000,
        "critical": 10,
        "lock": lock,
        "competitors": 1,
    }
    found = solve("grain/unit", shape, machine=machine).values
    extra = float(found["time"].value or 0.0) - float(found["time_alone"].value or 0.0)
    handovers = ACCESSES_PER_CYCLE[lock]  # both want it at once at first
    assert extra == pytest.approx(handovers * 37e-9, rel=0.01)


def test_repetitions_on_a_core_that_others_use_count_only_where_too_few_are_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = Cores.__new__(Cores)
    monkeypatch.setattr(timing, "LONGEST_DISTURBANCE", -1.0)
    cores.random_generator = np.random.default_rng(1)
    paces = iter([1.0, 1.6, 1.0, 1.6, 1.6, 1.0])
    monkeypatch.setattr(cores, "run_once", lambda *_: (0.01, 1.0, next(paces, 1.0)), raising=False)
    timed = Timing("ping", {}, turns=100)
    cores.measure(TimedKernel(timed, lambda rank, turns, ticks: None), 60.0)
    assert (timed.seconds, len(timed.crowded_seconds), timed.disturbed_count) == ([1e-4] * 3, 3, 0)
