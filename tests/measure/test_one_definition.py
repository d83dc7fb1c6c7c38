"""One definition of speed-up and efficiency: the same runs, by every reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from slipstick_measure.account import Measured, measured
from slipstick_measure.formats import read_all
from slipstick_measure.measurements import Hints

TIMES: Mapping[int, float] = {1: 100.0, 2: 60.0, 4: 40.0}
"""Elapsed times [s]; on p processors each works for 24 + 76 / p s without the extra, and 4 s
more.
"""

WAITS: Mapping[int, float] = {1: 0.0, 2: 4.0, 4: 8.0}
"""Waits of all processors [s]."""


def _trace(p: int) -> str:
    """Write records in which each processor works until its share of the waits, at the end."""
    rows = ["time [s],processor,event,destination"]
    for each in range(p):
        rows += [f"0,{each},create,", f"{TIMES[p] - WAITS[p] / p},{each},enter,wait"]
        rows += [f"{TIMES[p]},{each},leave,wait", f"{TIMES[p]},{each},end,"]
    return "\n".join(rows) + "\n"


def _pop() -> str:
    useful = {p: p * TIMES[p] - WAITS[p] for p in TIMES}
    rows = {
        "Number of processes": TIMES,
        "Parallel efficiency": {p: useful[p] / p / TIMES[p] for p in TIMES},
        "Communication efficiency": {p: useful[p] / p / TIMES[p] for p in TIMES},
        "Computation scalability": {p: useful[1] / useful[p] for p in TIMES},
        "Runtime (s)": TIMES,
    }
    lines = []
    for name, cells in rows.items():
        shown = cells if name != "Number of processes" else {p: p for p in TIMES}
        lines.append(";".join([name, *(f"{value:.12g}" for value in shown.values())]))
    return "\n".join(lines) + "\n"


def _profile(p: int) -> str:
    return (
        f"profile: 1\nruns:\n  - {{processors: {p}, time: {TIMES[p]} s, waits: {{wait:"
        f" {WAITS[p]} s}}}}\n"
    )


def _files(folder: Path) -> dict[str, list[Path]]:
    tables = {
        "times": "p,time [s]\n" + "".join(f"{p},{t}\n" for p, t in TIMES.items()),
        "throughput": "p,jobs/s\n" + "".join(f"{p},{1 / t!r}\n" for p, t in TIMES.items()),
        "speedup": "p,speedup\n" + "".join(f"{p},{100 / t!r}\n" for p, t in TIMES.items()),
        "waits": "p,time [s],wait [s]\n"
        + "".join(f"{p},{t},{WAITS[p]}\n" for p, t in TIMES.items()),
        "markdown": "| ranks | wall (s) |\n|---|---|\n"
        + "".join(f"| {p} | {t} |\n" for p, t in TIMES.items()),
        "extra-p": "PARAMETER p\nPOINTS 1 2 4\nREGION main\nMETRIC time\n"
        + "".join(f"DATA {t}\n" for t in TIMES.values()),
        "pop": _pop(),
    }
    found: dict[str, list[Path]] = {}
    for name, text in tables.items():
        path = folder / f"{name}.txt"
        path.write_text(text)
        found[name] = [path]
    for name, write, suffix in (("trace", _trace, "csv"), ("profile", _profile, "yaml")):
        found[name] = []
        for p in TIMES:
            path = folder / f"{name}-{p}.{suffix}"
            path.write_text(write(p))
            found[name].append(path)
    return found


def _account(paths: list[Path]) -> Measured:
    hints = Hints(unit="s") if paths[0].name == "extra-p.txt" else Hints()
    return measured(read_all(paths, [hints] * len(paths)))


READERS = (
    "times",
    "throughput",
    "speedup",
    "waits",
    "markdown",
    "extra-p",
    "pop",
    "trace",
    "profile",
)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_has_the_same_speedup_and_efficiency(reader: str, tmp_path: Path) -> None:
    found = _account(_files(tmp_path)[reader])
    assert [answer.point["p"] for answer in found.answers] == list(TIMES)
    for answer, (p, time) in zip(found.answers, TIMES.items(), strict=True):
        assert answer["speedup"] == pytest.approx(100 / time)
        assert answer["efficiency"] == pytest.approx(100 / time / p)
        lost = sum(
            value.value or 0.0
            for name, value in answer.values.items()
            if name.startswith("processors_lost[")
        )
        assert lost == pytest.approx(p - 100 / time)


@pytest.mark.parametrize("reader", READERS)
def test_without_one_processor_the_smallest_run_is_the_measure(reader: str, tmp_path: Path) -> None:
    paths = _files(tmp_path)[reader]
    if len(paths) > 1:
        paths = paths[1:]
    elif reader == "extra-p":
        paths[0].write_text(
            paths[0].read_text().replace("POINTS 1 2", "POINTS 2").replace("DATA 100.0\n", "")
        )
    elif reader == "pop":
        rows = [line.split(";") for line in paths[0].read_text().splitlines()]
        paths[0].write_text("\n".join(";".join([row[0], *row[2:]]) for row in rows) + "\n")
    else:
        lines = paths[0].read_text().splitlines()
        first = next(at for at, line in enumerate(lines) if line.lstrip("| ").startswith("1"))
        paths[0].write_text("\n".join(lines[:first] + lines[first + 1 :]) + "\n")
    answer = _account(paths).answers[-1]
    assert answer.point["p"] == 4
    assert answer["relative_speedup"] == pytest.approx(60 / 40)


@pytest.mark.parametrize("reader", ["waits", "pop", "trace", "profile"])
def test_work_beyond_that_of_one_processor_is_a_loss_with_a_name(
    reader: str, tmp_path: Path
) -> None:
    """4 processors work 4 x 40 - 8 = 152 s for the 100 s of one: 52 / 40 processors are extra."""
    answer = _account(_files(tmp_path)[reader]).answers[-1]
    assert answer["processors_lost[extra work]"] == pytest.approx(52 / 40)
    assert answer["concurrency"] == pytest.approx(152 / 40)
