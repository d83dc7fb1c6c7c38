"""Read the shelf of foreign files, and print for each reader how many are right, refused well,
refused badly and wrong.

Run ``python benchmarks/shelf.py``, or name readers: ``python benchmarks/shelf.py lqn jsim``. The
exit status is 1 if a file has another verdict than `tests/shelf` expects. With ``--cost``, each
command runs in a process of its own, and its processor time after the start of the program and its
largest memory are printed instead of verdicts, and it is ended after some seconds. The exit status
is then 1 if a command that reads a file takes more than the limits. ``--parts 6 --part 2`` runs
every sixth file from the second on.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tabulate import tabulate

from slipstick.cli.main import main
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation

# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(Path(__file__).resolve().parent.parent / "tests")]
sys.modules["tests"] = _tests

from tests.shelf.shelf import SHELF, VERDICTS, Case, cases, judged

MOST_SECONDS = 10.0
"""Of processor time that a small file may take with all of its commands."""

READING = ("measured", "import", "trace", "counts")
"""Commands that read a file and solve nothing."""
MOST_READING_SECONDS, MOST_MEGABYTES = 1.0, 100.0
"""Processor time after the start of the program, and memory, that reading a small file may take."""
END_SECONDS = 10
"""Processor time after which a command is ended whose cost is measured."""


class Cost(NamedTuple):
    """What a command took: processor time [s], largest memory [MB], and its words."""

    seconds: float
    megabytes: float
    words: str


def is_reading(line: str) -> bool:
    """Return whether a command line reads a file and solves nothing."""
    return line.startswith(READING)


def costs_of(case: Case) -> list[Cost]:
    """Run each command of a case that reads a file in a process of its own, copied from this one
    after the start of the program, and return what it took.
    """
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        place = {"file": str(SHELF / case.reader / case.file), "out": folder}
        for line in filter(is_reading, case.run):
            words = [word.format(**place) for word in shlex.split(line)]
            child = os.fork()
            if not child:
                resource.setrlimit(resource.RLIMIT_CPU, (END_SECONDS, END_SECONDS))
                os._exit(silent_status(words))
            _, status, usage = os.wait4(child, 0)
            seconds = usage.ru_utime + usage.ru_stime
            costs.append(Cost(seconds, usage.ru_maxrss * 1024 / 1e6, line))
            if status:
                break
    return costs


def silent_status(words: Sequence[str]) -> int:
    """Run a command without its output and return its status; 3 after an exception."""
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        try:
            return main(list(words))
        except SystemExit as ended:
            return int(ended.code or 0)
        except Exception:  # noqa: BLE001  # the verdicts show it
            return 3


def print_costs(chosen: list[Case]) -> int:
    """Print what reading took, by reader; return 1 if a command took too much."""
    costs, over = list[tuple[Case, Cost]](), list[tuple[Case, Cost]]()
    for case in chosen:
        for cost in costs_of(case):
            costs.append((case, cost))
            if cost.seconds > MOST_READING_SECONDS or cost.megabytes > MOST_MEGABYTES:
                over.append((case, cost))
                print(f"{case.name}: {cost.seconds:.2f} s, {cost.megabytes:.0f} MB: {cost.words}")
                sys.stdout.flush()
    rows = []
    for reader in dict.fromkeys(case.reader for case, _ in costs):
        seconds = [cost.seconds for case, cost in costs if case.reader == reader]
        megabytes = [cost.megabytes for case, cost in costs if case.reader == reader]
        rows.append([reader, len(seconds), median(seconds), max(seconds), max(megabytes)])
    heads = ["reader", "commands", "median s", "most s", "most MB"]
    print(tabulate(rows, headers=heads, floatfmt=".2f"))
    print(f"{len(over)} of {len(costs)} commands took too much")
    return 1 if over else 0


def compile_simulator() -> None:
    """Compile the simulator, which takes half a minute once on a computer and is no cost of the
    first file that is simulated for long.
    """
    builder = Builder()
    builder.delay(ServiceTime("deterministic", 1.0, 0.0))
    builder.add_closed_group("all", customer_count=1, first_instruction=0)
    simulate(builder.plan(), Simulation(kernel="compiled"))


def run() -> int:
    """Judge every file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help="folders of the shelf; all by default")
    parser.add_argument("--short", action="store_true", help="the first file of each reader")
    parser.add_argument("--cost", action="store_true", help="processor time and memory")
    parser.add_argument("--parts", type=int, default=1, help="parts of all files")
    parser.add_argument("--part", type=int, default=1, help="the part to run, from 1")
    options = parser.parse_args()
    readers = {*options.readers}
    chosen = [case for case in cases() if not readers or case.reader in readers]
    chosen = chosen[options.part - 1 :: options.parts]
    if options.cost:
        return print_costs(chosen)
    compile_simulator()
    counts: dict[str, Counter[str]] = {}
    unexpected = 0
    for case in chosen:
        counts.setdefault(case.reader, Counter())
        if options.short and counts[case.reader].total():
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict = judged(case, Path(folder), most_seconds=MOST_SECONDS)
        counts[case.reader][verdict.verdict] += 1
        if verdict.why:
            print(f"{case.name}: {verdict.verdict}: {verdict.why}")
        unexpected += verdict.verdict != case.expected
    rows = [[reader, *(count[name] for name in VERDICTS)] for reader, count in counts.items()]
    total = [sum(count[name] for count in counts.values()) for name in VERDICTS]
    print(tabulate([*rows, ["all", *total]], headers=["reader", *VERDICTS]))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(run())
