"""Whether every committed report is what its study gives today, whole: pages, numbers, inputs and
files.

Run ``python benchmarks/reports.py [STUDY ...]``; ten processor minutes for all. The tests rebuild
the fast ones and hold a sample of the cells of the others. The exit status is 1 if a report
differs; ``make report`` rebuilds them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import types
from pathlib import Path
from time import process_time

from tabulate import tabulate

# Not by sys.path: other distributions install packages called tests, too.
_tests = types.ModuleType("tests")
_tests.__path__ = [str(Path(__file__).resolve().parent.parent / "tests")]
sys.modules["tests"] = _tests

from tests.reports import STUDIES, differences

ALL = 1000
"""Pictures that are drawn at most: those of every study."""


def main() -> int:
    """Rebuild the reports in a folder of their own and print what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "studies", nargs="*", metavar="STUDY", help="names of shipped studies [all]"
    )
    parser.add_argument("--short", action="store_true", help="one quick study, to see that it runs")
    options = parser.parse_args()
    rows = []
    for study in ["trend-primer"] if options.short else options.studies or STUDIES:
        start = process_time()
        with tempfile.TemporaryDirectory() as folder:
            differing = ", ".join(differences(study, Path(folder), ALL))
        rows.append((study, f"{process_time() - start:.1f}", differing or "nothing"))
    print(tabulate(rows, ["study", "seconds", "differs"]))
    return int(any(differing != "nothing" for *_, differing in rows))


if __name__ == "__main__":
    sys.exit(main())
