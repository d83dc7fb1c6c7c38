"""A report folder under kill -9: how often it is whole, what stays beside it, and what one replacement costs.

A child writes reports of five files without end and is killed at random moments; after each kill the folder must hold one
report, and the next run must clear what was left beside it.

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


def main() -> None:
    """Kill, look, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="a few kills, to see that it runs")
    given = parser.parse_args()
    kills = 3 if given.short else given.kills
    moments, mixed, left = random.Random(20261122), 0, 0
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
    sys.exit(1 if mixed or stays else 0)


if __name__ == "__main__":
    main()
