"""Read the shelf of foreign files, and print for each reader how many are right, refused well,
refused badly and wrong.

Run ``python benchmarks/shelf.py``, or name readers: ``python benchmarks/shelf.py lqn jsim``. The
exit status is 1 if a file has another verdict than `tests/shelf` expects.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import types
from collections import Counter
from pathlib import Path

from tabulate import tabulate

# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(Path(__file__).resolve().parent.parent / "tests")]
sys.modules["tests"] = _tests

from tests.shelf.shelf import VERDICTS, cases, judged

MOST_SECONDS = 10.0
"""Of processor time that a small file may take with all of its commands."""


def run() -> int:
    """Judge every file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help="folders of the shelf; all by default")
    parser.add_argument("--short", action="store_true", help="the first file of each reader")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    unexpected = 0
    for case in cases():
        if options.readers and case.reader not in options.readers:
            continue
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
