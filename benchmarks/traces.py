"""Traces of many events, read and shown whole, each in a process of its own: processor time, elapsed time, peak memory.

Three files are made: Chrome events one after the other, Chrome events nested in others, and a table of records. Made with sixteen
threads and fifty names; nothing in them is special but their number.

    python benchmarks/traces.py [--events 10000000] [--short]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

THREADS, NAMES = 16, 50
SECONDS, BYTES = 60.0, 2 * 1024**3
"""What must hold for ten million events."""

READ = """
import resource, sys, time
from slipstick_measure.traces.readers import read_trace
from slipstick_measure.traces.views import views_of
views = views_of(read_trace(sys.argv[1]))
busy = sum(each.sum() for each in views.work.values())
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, views.answer["accesses"], busy)
"""


def chrome(events: int, nested: bool) -> Iterator[str]:
    """Write complete events of 45 us every 50 us; nested, four of 20 us in every one of 245 us."""
    text = '%s{"pid":1,"tid":%d,"ts":%.3f,"ph":"X","cat":"fee","dur":%.3f,"name":"f%d (file.py:2)"}'
    yield '{"traceEvents":[\n'
    for at in range(events):
        turn = at // THREADS
        inner = nested and turn % 5
        start = 250 * (turn // 5) + 45 * inner if nested else 50 * turn
        length = 20 if inner else 245 if nested else 45
        yield text % (",\n" if at else "", at % THREADS, 8931992628.451 + start, length, turn % NAMES)
    yield "]}"


def records(events: int) -> Iterator[str]:
    """Write accesses, and for each thread a beginning and an end."""
    yield "time [us],processor,event,source,destination,count\n"
    yield from (f"0,{thread},create,,,\n" for thread in range(THREADS))
    for at in range(events - 2 * THREADS):
        yield f"{at // THREADS},{at % THREADS},access,,{at % NAMES},1\n"
    yield from (f"{events // THREADS},{thread},end,,,\n" for thread in range(THREADS))


def main(events: int) -> int:
    """Measure all three; say whether ten million would stay within the limits."""
    made = {"chrome.json": chrome(events, False), "nested.json": chrome(events, True), "records.csv": records(events)}
    missed = 0
    print(f"{events:,} events; of each file MB, processor seconds, elapsed seconds, peak MB")
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in made.items():
            path = Path(folder) / name
            with path.open("w") as file:
                file.writelines(lines)
            begun = time.perf_counter()
            run = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
            elapsed = time.perf_counter() - begun
            used, peak, _, _ = map(float, run.stdout.split())
            print(f"{name:12} {path.stat().st_size / 1e6:9.1f} {used:9.1f} {elapsed:9.1f} {peak / 1e6:9.0f}")
            missed += events >= 10_000_000 and (used > SECONDS or peak > BYTES)
            path.unlink()
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    sys.exit(main(20_000 if asked.short else asked.events))
