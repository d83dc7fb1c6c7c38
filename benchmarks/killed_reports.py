"""A report folder and a study under kill -9 and other ends: what is whole, what is lost, what stays
of it.

A child writes reports without end and is killed at random moments, then before each operation on a
file, one after the other; after each kill the folder must hold one report, or be recognized as one
that the next run completes, and after the next run nothing else of ours may lie in it. Then a
study of simulated points is run and killed at
random moments, and run again until it ends: no point that was kept may be lost, and its report must
be that of a run that nobody killed, byte for byte. The other ends: two runs at once, Ctrl-C, a
read-only folder, a disk that is full and is made larger, and the order in which files are stored
before a loss of power.

    python benchmarks/killed_reports.py [--kills 200] [--only folders|steps|studies|ends] [--short]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(ROOT / "tests")]
sys.modules["tests"] = _tests

from slipstick.cli.main import main as slipstick
from slipstick.report.folder import INPUTS, INTERRUPTED, WORK, manifest_and_changes
from slipstick.study.journal import NAME, Journal, stored_points
from tests.killed import OLD, outcomes, write_report

WRITER = """
import sys
from pathlib import Path
from tests.killed import write_report
word = int(sys.argv[2])
while True:
    write_report(Path(sys.argv[1]), str(word))
    print(word, flush=True)
    word += 1
"""

STUDY = """study: 1
base: {model: lock-and-bus, method: simulation, simulation.cycles: 2000, simulation.least: 2000}
vary: {population.processors: {from: 2, to: POINTS, step: 1}}
"""


def main() -> None:
    """Kill, look, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="a few kills, to see that it runs")
    parser.add_argument("--only", choices=["folders", "steps", "studies", "ends"])
    options = parser.parse_args()
    kills, moments = 3 if options.short else options.kills, random.Random(20261122)
    check_by_name: dict[str, Callable[[], int]] = {
        "folders": lambda: killed_folders(kills, moments),
        "steps": killed_at_each_step,
        "studies": lambda: killed_studies(
            1 if options.short else kills, moments, 4 if options.short else 8
        ),
        "ends": lambda: 0 if options.short else other_ends(),
    }
    sys.exit(
        1
        if sum(check() for name, check in check_by_name.items() if options.only in (None, name))
        else 0
    )


def killed_folders(kills: int, moments: random.Random) -> int:
    """Kill processes that write a report; return the number of folders that are then wrong."""
    wrong, recognized = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary, "report")
        for turn in range(kills):
            command = [sys.executable, "-c", WRITER, str(target), str(10**6 * turn)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as writer:
                assert writer.stdout is not None
                writer.stdout.readline()
                time.sleep(moments.uniform(0, 0.02))
                writer.send_signal(signal.SIGKILL)
            stale = manifest_and_changes(target)[1]
            recognized += stale == [INTERRUPTED]
            wrong += stale not in ([], [INTERRUPTED])
        start = time.perf_counter()
        for turn in range(20):
            write_report(target, str(turn))
        cost = (time.perf_counter() - start) / 20
        stays = sorted(os.listdir(target)) != sorted([*OLD, INPUTS])
    print(
        f"{kills} kills: {wrong} folders that are not recognized as a report in part; {recognized}"
        f" were recognized; {'something' if stays else 'nothing'} else stays after the next run"
    )
    print(f"one replacement of a report of four files: {cost * 1e3:.1f} ms")
    return wrong + stays


def killed_at_each_step() -> int:
    """Kill what writes a report before its 1st, 2nd, ... operation on a file; give the number of
    folders that are wrong.
    """
    with tempfile.TemporaryDirectory() as temporary:
        states = outcomes(Path(temporary, "report"))
    wrong = [state for state in states if state not in ("old", "new", "recognized")]
    print(
        f"killed before each of {len(states)} operations on files: {states.count('old')} folders"
        f" with the earlier report, {states.count('new')} with the new one,"
        f" {states.count('recognized')} recognized"
        f" and completed by the next run, {len(wrong)} wrong {wrong or ''}"
    )
    return len(wrong)


SLIPSTICK = [
    sys.executable,
    "-c",
    "import sys; from slipstick.cli.main import main; sys.exit(main(sys.argv[1:]))",
]


def other_ends() -> int:
    """End runs in other ways; give the number of what is wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        study, complete = Path(temporary, "study.yaml"), Path(temporary, "whole")
        study.write_text(STUDY.replace("POINTS", "40"))
        subprocess.run(
            [*SLIPSTICK, "run", str(study), "--out", str(complete)], check=True, capture_output=True
        )
        wrong = _two_at_once(study, complete, Path(temporary, "both"))
        wrong += sum(
            _interrupted(study, complete, Path(temporary, on), on)
            for on in ("threads", "processes")
        )
        wrong += _orphans(study, Path(temporary, "orphans"))
        return wrong + _disks(study, complete, Path(temporary, "disk"))


def _run(study: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [*SLIPSTICK, "run", str(study), "--out", str(out), *more]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _two_at_once(study: Path, complete: Path, out: Path) -> int:
    runs = [_run(study, out), _run(study, out)]
    ends = [(run.communicate(), run.returncode)[1] for run in runs]
    wrong = ends != [0, 0] or _files(out) != _files(complete) or _left(out) != []
    print(
        f"two runs into one folder at once: exit {ends}, report"
        f" {'differs' if wrong else 'whole, and as that of one run'}"
    )
    return int(wrong)


def _interrupted(study: Path, complete: Path, out: Path, on: str) -> int:
    """Ctrl-C: how long until the prompt, what lives on, and whether the next run goes on."""
    run = _run(study, out, "--on", on, "--jobs", "2")
    while not stored_points(out).point_count and run.poll() is None:
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: the whole group
    start = time.perf_counter()
    run.communicate()
    seconds = time.perf_counter() - start
    time.sleep(1)
    living_states = _living(run)
    again = _run(study, out)
    messages = again.communicate()[1]
    reuse = next((line for line in messages.splitlines() if "earlier run" in line), "no point kept")
    wrong = (
        run.returncode != 130
        or seconds > 1
        or bool(living_states)
        or _files(out) != _files(complete)
    )
    print(
        f"Ctrl-C of 2 {on}: exit {run.returncode} after {seconds:.2f} s,"
        f" {len(living_states)} processes left; {reuse};"
        f" report {'as' if _files(out) == _files(complete) else 'not as'} that of one run"
    )
    return int(wrong)


def _living(run: subprocess.Popen[str]) -> list[str]:
    """Return the states of the processes of a run, but of those that have ended and that no
    process has waited for.
    """
    states = subprocess.run(
        ["ps", "-o", "stat=", "-g", str(run.pid)], capture_output=True, text=True, check=False
    ).stdout
    return [state for state in states.split() if not state.startswith("Z")]


def _orphans(study: Path, out: Path) -> int:
    """Kill the process that started others, and count those that live on."""
    run = _run(study, out, "--on", "processes", "--jobs", "2")
    while not stored_points(out).point_count and run.poll() is None:
        time.sleep(0.02)
    run.kill()
    run.communicate()
    time.sleep(1)
    living_states = _living(run)
    print(f"kill -9 of the process that started 2 others: {len(living_states)} live on after 1 s")
    return len(living_states)


def _disks(study: Path, complete: Path, place: Path) -> int:
    """A disk that is full, then larger; then read-only. Needs the right to mount."""
    place.mkdir()

    def mount(options: str) -> bool:
        return not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=False
        ).returncode

    if not mount("size=96k"):
        print("no right to mount: full and read-only disks were not tried")
        return 0
    try:
        out, wrong = place / "report", 0
        for size in ("96k", "8m"):
            mount(f"remount,size={size}")
            run = _run(study, out)
            messages, stored_count = (
                run.communicate()[1],
                stored_points(out).point_count if out.exists() else 0,
            )
            last = [
                line for line in messages.splitlines() if "error" in line or "earlier run" in line
            ][-1:]
            print(
                f"a disk of {size}: exit {run.returncode}, {stored_count} points kept;"
                f" {' '.join(last)}"
            )
        wrong += run.returncode != 0 or _files(out) != _files(complete) or _left(out) != []
        mount("remount,ro")
        run, before = _run(study, out, "--fresh"), _files(out)
        messages = run.communicate()[1]
        print(f"a read-only disk: exit {run.returncode}; {messages.strip().splitlines()[-1]}")
        return wrong + (run.returncode != 2 or _files(out) != before)
    finally:
        subprocess.run(["umount", str(place)], check=False)


def _left(out: Path) -> list[str]:
    return [path.name for path in out.iterdir() if path.name == WORK]


def killed_studies(kills: int, moments: random.Random, points: int) -> int:
    """Kill runs of a study, and go on with it until it ends; give the number of what is wrong.

    Runs are forks of this process, which has imported all: so a kill falls into the study, not into
    the import.
    """
    killed = lost = ended = different = unfinished = 0
    with tempfile.TemporaryDirectory() as temporary:
        study, complete = Path(temporary, "study.yaml"), Path(temporary, "whole")
        study.write_text(STUDY.replace("POINTS", str(points)))
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            slipstick(["run", str(study), "--out", str(complete)])
        start = time.perf_counter()
        _started(study, Path(temporary, "again")).ended()
        longest = time.perf_counter() - start
        while killed < kills:
            folder = Path(temporary, f"report-{ended}")
            status = -signal.SIGKILL
            # A kill may come when the report is there already; only a run that ends tells.
            while status == -signal.SIGKILL:
                before = stored_points(folder).point_count
                run = _started(study, folder)
                if killed < kills:
                    time.sleep(moments.uniform(0, 1) * longest)
                    os.kill(run.child, signal.SIGKILL)
                if (status := run.ended()) != -signal.SIGKILL:
                    break
                killed += 1
                stored_count = stored_points(folder).point_count
                lost += max(0, before + run.points - stored_count)
                unfinished += 0 < stored_count < points
                if killed % 50 == 0:
                    print(
                        f"so far {killed} kills, {lost} kept points lost, {different} reports"
                        " differ",
                        flush=True,
                    )
            ended += 1
            same = status == 0 and _files(folder) == _files(complete)
            different += not same
            if not same:
                print(f"status {status}: {folder.with_name('said.txt').read_text()[-2000:]}")
    print(
        f"{killed} kills of a study of {points} points, after {unfinished} of which some points"
        f" were kept and some not: {lost} kept points lost; {ended} runs went on to the end,"
        f" {different} of their reports differ from that of a run that nobody killed"
    )
    return lost + different


@dataclass
class _Started:
    """A run of a study in a child, which tells of each block of points once it is kept."""

    child: int
    told: int
    points: int = 0

    def ended(self) -> int:
        """Wait for the end; give the status, or the signal below 0."""
        with os.fdopen(self.told, "rb") as lines:
            self.points = sum(int(line.split()[1]) for line in lines if line.startswith(b"point "))
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


def _started(study: Path, out: Path) -> _Started:
    read_end, write_end = os.pipe()
    if child := os.fork():
        os.close(write_end)
        return _Started(child, read_end)
    code = 70
    try:
        sys.stdout = sys.stderr = open(out.with_name("said.txt"), "w")  # noqa: SIM115  # until the end
        keep = Journal.keep

        def kept(self: Journal, block: Any, *further_arguments: Any) -> None:
            keep(self, block, *further_arguments)
            os.write(write_end, b"point %d\n" % block.count)

        Journal.keep = kept  # type: ignore[method-assign, assignment]
        code = slipstick(["run", str(study), "--out", str(out)])
    except BaseException:  # noqa: BLE001  # the parent reads what is printed
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes().replace(str(folder).encode(), b"")
        for path in folder.iterdir()
        if NAME not in path.name
    }


if __name__ == "__main__":
    main()
