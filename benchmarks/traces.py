"""Traces of many events, read and shown whole, each in a process of its own: processor time,
elapsed time, peak memory.

The files: Chrome events one after the other, and nested in others; a table of records; states of
Paraver; rows of perf sched timehist; an OTF2 archive, where its library is installed. Made with
sixteen threads and fifty names; nothing in them is special but their number. A row of timehist is
one event here, and three spans.

    python benchmarks/traces.py [--events 10000000] [--only otf2] [--short]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
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
        yield text % (
            ",\n" if at else "",
            at % THREADS,
            8931992628.451 + start,
            length,
            turn % NAMES,
        )
    yield "]}"


def records(events: int) -> Iterator[str]:
    """Write accesses, and for each thread a beginning and an end."""
    yield "time [us],processor,event,source,destination,count\n"
    yield from (f"0,{thread},create,,,\n" for thread in range(THREADS))
    for at in range(events - 2 * THREADS):
        yield f"{at // THREADS},{at % THREADS},access,,{at % NAMES},1\n"
    yield from (f"{events // THREADS},{thread},end,,,\n" for thread in range(THREADS))


def paraver(events: int) -> Iterator[str]:
    """Write states of 45 us and of 5 us, in turn."""
    yield (
        "#Paraver (24/11/26 at"
        f" 07:00):{events // THREADS * 25_000 + 50_000}_ns:1(16):1:1({THREADS}:1)\n"
    )
    for at in range(events):
        start, odd = at // THREADS // 2 * 50_000, at // THREADS % 2
        first, last = (start + 45_000, start + 50_000) if odd else (start, start + 45_000)
        yield f"1:{at % THREADS + 1}:1:1:{at % THREADS + 1}:{first}:{last}:{3 if odd else 1}\n"


def timehist(events: int) -> Iterator[str]:
    """Write rows of a task that waits 3 us, is delayed 2 us and runs 45 us."""
    yield (
        "           time    cpu  task name                       wait time  sch delay   run time\n"
    )
    yield (
        "                        [tid/pid]                          (msec)     (msec)     (msec)\n"
    )
    yield (
        "--------------- ------  ------------------------------  ---------  ---------  ---------\n"
    )
    for at in range(events):
        end, task = 8929 + (at // THREADS + 1) * 50e-6, f"work[{6900 + at % THREADS}]"
        yield f"{end:15.6f} [0000]  {task:30}      0.005      0.002      0.045\n"


def otf2(events: int, folder: Path) -> Path | None:
    """Write regions of 45 us every 50 us; None where the library is not installed."""
    try:
        library = import_module("otf2")
    except ImportError:
        return None
    with library.writer.open(str(folder), timer_resolution=1_000_000) as archive:
        definitions = archive.definitions
        process = definitions.location_group(
            "process", system_tree_parent=definitions.system_tree_node("machine")
        )
        lanes = [
            definitions.location(f"thread {number}", group=process) for number in range(THREADS)
        ]
        writers = [archive.event_writer_from_location(lane) for lane in lanes]
        regions = [definitions.region(f"f{number}") for number in range(NAMES)]
        for turn in range(events // THREADS // 2):
            for writer in writers:
                writer.enter(50 * turn, regions[turn % NAMES])
                writer.leave(50 * turn + 45, regions[turn % NAMES])
    return folder / "traces.otf2"


def written(events: int, only: str, folder: Path) -> Iterator[Path]:
    """Write the files one by one; each is deleted when the next is asked for."""
    writers: dict[str, Callable[[], Iterator[str]]] = {
        "chrome.json": lambda: chrome(events, False),
        "nested.json": lambda: chrome(events, True),
        "records.csv": lambda: records(events),
        "states.prv": lambda: paraver(events),
        "timehist.txt": lambda: timehist(events),
    }
    for name, lines in writers.items():
        if only in name:
            path = folder / name
            with path.open("w") as file:
                file.writelines(lines())
            yield path
            path.unlink()
    if only in "traces.otf2" and (anchor := otf2(events, folder / "archive")):
        yield anchor


def main(events: int, only: str = "") -> int:
    """Measure all; say how many of ten million events are not within the limits."""
    missed = 0
    print(f"{events:,} events; of each file MB, processor seconds, elapsed seconds, peak MB")
    with tempfile.TemporaryDirectory() as folder:
        for path in written(events, only, Path(folder)):
            begun = time.perf_counter()
            run = subprocess.run(
                [sys.executable, "-c", READ, path], capture_output=True, text=True, check=True
            )
            elapsed = time.perf_counter() - begun
            used, peak, _, _ = map(float, run.stdout.split())
            size = sum(file.stat().st_size for file in (path, *path.with_suffix("").rglob("*")))
            print(
                f"{path.name:12} {size / 1e6:9.1f} {used:9.1f} {elapsed:9.1f} {peak / 1e6:9.0f}",
                flush=True,
            )
            missed += events >= 10_000_000 and (used > SECONDS or peak > BYTES)
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--only", default="", help="part of the name of a file")
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    sys.exit(main(20_000 if asked.short else asked.events, asked.only))
