"""A report folder and a study under kill -9: what is whole, what is lost, what stays beside.

A child writes reports of five files without end and is killed at random moments; after each kill the folder must hold one
report, and the next run must clear what was left beside it. Then a study of simulated points is run and killed at random
moments, and run again until it ends: no point that was kept may be lost, and its report must be that of a run that nobody
killed, byte for byte.

    python benchmarks/killed_reports.py [--kills 200] [--short]
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
from pathlib import Path

from slipstick.report.folder import replaced
from slipstick.study.journal import NAME, kept_in

WRITER = """
import sys
from pathlib import Path
from slipstick.report.folder import replaced
word = int(sys.argv[2])
while True:
    with replaced(Path(sys.argv[1]), list) as work:
        for number in range(5):
            (work / f"{number}.txt").write_text(str(word))
    print(word, flush=True)
    word += 1
"""

RUN = """
import sys
from slipstick.cli.main import main
from slipstick.study.journal import Journal
keep = Journal.keep
def told(self, block, *others):
    keep(self, block, *others)
    print("point", block.count, flush=True)
Journal.keep = told
sys.exit(main(sys.argv[1:]))
"""

STUDY = """study: 1
base: {model: lock-and-bus, method: simulation, simulation.cycles: 2000, simulation.least: 2000}
vary: {population.processors: {from: 2, to: POINTS, step: 1}}
"""


def main() -> None:
    """Kill, look, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="a few kills, to see that it runs")
    given = parser.parse_args()
    kills, moments = 3 if given.short else given.kills, random.Random(20261122)
    wrong = killed_folders(kills, moments) + killed_studies(
        1 if given.short else kills, moments, 4 if given.short else 80
    )
    sys.exit(1 if wrong else 0)


def killed_folders(kills: int, moments: random.Random) -> int:
    """Kill what writes a folder; give the number of folders that are wrong."""
    mixed, left = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary, "report")
        for turn in range(kills):
            command = [sys.executable, "-c", WRITER, str(target), str(10**6 * turn)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
                assert writer.stdout is not None
                writer.stdout.readline()
                time.sleep(moments.uniform(0, 0.02))
                writer.send_signal(signal.SIGKILL)
            mixed += len({path.read_text() for path in target.iterdir()}) != 1 or len(list(target.iterdir())) != 5
            left += len(os.listdir(temporary)) > 1
        start = time.perf_counter()
        for word in range(20):
            with replaced(target, list) as work:
                for number in range(5):
                    (work / f"{number}.txt").write_text(str(word))
        cost = (time.perf_counter() - start) / 20
        stays = len(os.listdir(temporary)) - 1
    print(
        f"{kills} kills: {mixed} folders mixed or missing files; {left} kills left a folder beside, {stays} stay after the next run"
    )
    print(f"one replacement of five files: {cost * 1e3:.1f} ms")
    return mixed + stays


def killed_studies(kills: int, moments: random.Random, points: int) -> int:
    """Kill runs of a study, and go on with it until it ends; give the number of what is wrong."""
    killed = lost = ended = different = kept = 0
    with tempfile.TemporaryDirectory() as temporary:
        study = Path(temporary, "study.yaml")
        study.write_text(STUDY.replace("POINTS", str(points)))
        command = [sys.executable, "-c", RUN, "run", str(study), "--out"]
        whole = Path(temporary, "whole")
        start = time.perf_counter()
        subprocess.run([*command, str(whole)], check=True, capture_output=True)
        longest = time.perf_counter() - start
        while killed < kills:
            folder = Path(temporary, f"report-{ended}")
            while killed < kills or not (folder / "report.md").exists():
                before = kept_in(folder).points
                with subprocess.Popen(
                    [*command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                ) as run:
                    if killed < kills:
                        time.sleep(moments.uniform(0.2, 1) * longest)
                        run.send_signal(signal.SIGKILL)
                    assert run.stdout is not None
                    told = sum(int(line.split()[1]) for line in run.stdout if line.startswith(b"point "))
                if run.returncode == -signal.SIGKILL:
                    killed += 1
                    kept = kept_in(folder).points
                    lost += max(0, before + told - kept)
                else:
                    break
            ended += 1
            different += _files(folder) != _files(whole)
    print(
        f"{killed} kills of a study of {points} points: {lost} kept points lost; {ended} runs went on to the end, "
        f"{different} of their reports differ from that of a run that nobody killed"
    )
    return lost + different


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes().replace(str(folder).encode(), b"")
        for path in folder.iterdir()
        if NAME not in path.name
    }


if __name__ == "__main__":
    main()
