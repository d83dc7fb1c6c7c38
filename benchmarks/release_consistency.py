"""Shared-memory programs through the release-consistency protocol: speed, memory, growth, and their
counts.

Run it with ``python benchmarks/release_consistency.py``; ``--small`` leaves out the larger runs.
Accesses are pages touched by reads and writes, and lock operations. Each run has a process of its
own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import resource
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))  # the eight runs are shared with the tests

from slipstick.program import counted_program
from slipstick_workloads import START
from slipstick_workloads.counts import Counts
from slipstick_workloads.release_consistency.accesses import (
    Access,
    Acquire,
    Read,
    Release,
    SharedProgram,
    Write,
)
from slipstick_workloads.release_consistency.protocol import Protocol
from slipstick_workloads.release_consistency.run import run
from slipstick_workloads.sharing.barnes import barnes
from slipstick_workloads.sharing.sor import sor
from slipstick_workloads.sharing.water import water
from tests.workloads.sharing.table_1 import TABLE_1

SHIPPED_COUNTS = Path(__file__).parent.parent / "specs" / "counts"

PRINTED = {
    "SOR": "faults at borders only; no locks",
    "IS": "migratory under locks, then read-only",
    "Barnes (1)": "diffs of over 3 KB in the mean; processor 0 alternates with the rest",
    "Barnes (2)": "as Barnes (1); much garbage collection",
    "Sphere (1)": "mostly locks; few faults beside first misses",
    "Sphere (2)": "as Sphere (1)",
    "Water": "fine-grained, migratory; much locking",
    "Raytrace": "read-only scene, stealing; locks",
}
"""What the paper says of each program's counts: it prints no table of them."""


class Measured(NamedTuple):
    """One run: its accesses, time, memory and counts, start-up left out of the counts."""

    accesses: int
    building: float
    running: float
    mebibytes: float
    counts: Counts


def counted(program: SharedProgram, operation_count: list[int]) -> SharedProgram:
    """Count a program's accesses as it makes them."""

    def body(me: int) -> Iterator[Access]:
        for access in program.body(me):
            if isinstance(access, Read | Write):
                operation_count[0] += len(access.pages)
            elif isinstance(access, Acquire | Release):
                operation_count[0] += 1
            yield access

    return SharedProgram(
        program.name, program.processors, program.pages, body, program.unit, program.word_count
    )


def measured(make: Callable[[], SharedProgram], protocol: Protocol) -> Measured:
    begin, operation_count = time.perf_counter(), [0]
    program = make()
    built_at = time.perf_counter()
    counts = run(counted(program, operation_count), protocol)
    ended_at = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(
        operation_count[0], built_at - begin, ended_at - built_at, peak, counts.without(START)
    )


def table_1(name: str, protocol: Protocol) -> Measured:
    return measured(TABLE_1[name], protocol)


def grown(name: str, factor: int) -> Measured:
    """Run a program with a multiple of its steps."""
    makers: dict[str, Callable[[], SharedProgram]] = {
        "SOR": lambda: sor(iterations=10 * factor),
        "Barnes": lambda: barnes(bodies=2048, steps=factor),
        "Water": lambda: water(molecules=512, steps=factor),
    }
    return measured(makers[name], Protocol())


def alone(function: Callable[..., Measured], *arguments: object) -> Measured:
    """Run in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def show_speed(name: str, measured: Measured) -> None:
    total = measured.building + measured.running
    print(
        f"  {name:<12} {measured.accesses:12,} accesses {measured.building:6.1f} s laid out"
        f" {measured.running:6.1f} s run {measured.accesses / total:12,.0f} accesses/s"
        f" {measured.mebibytes:7.0f} MiB"
    )


def show_counts(name: str, counts: Counts) -> None:
    faults_by_cause = counts.faults_by_parts()
    replies = sum(d * number for d, (number, _) in faults_by_cause.items())
    size = sum(total for _, total in faults_by_cause.values())
    hops: Counter[int] = Counter()
    for phase in counts.phases:
        for tally in phase.tallies:
            hops.update(tally.acquisitions)
    names = (
        "faults",
        "write_faults",
        "twins",
        "empty",
        "notices",
        "invalidated",
        "collections",
        "collected",
        "sent",
    )
    print(f"  {name}: {counts.total('work'):,} {counts.unit}, {len(counts.phases)} phases")
    print("    " + ", ".join(f"{count} {counts.total(count):,}" for count in names))
    print(
        f"    bytes sent {counts.bytes_sent():,}; faults by parts"
        f" { ({d: number for d, (number, _) in faults_by_cause.items()}) }"
    )
    mean_size = (
        f"{size / replies:.0f} B a reply, {size / counts.total('faults'):.0f} B a fault"
        if replies
        else "none"
    )
    print(f"    diffs: {mean_size}; acquisitions by hops {dict(sorted(hops.items()))}")
    print(f"    the paper: {PRINTED[name]}")


def show_shipped() -> None:
    """Derive every shipped file of counts again by its own command, and say whether it is what
    was shipped.
    """
    for path in sorted(SHIPPED_COUNTS.glob("*.yaml")):
        shipped_counts = yaml.safe_load(path.read_text())
        _, _, program, *options = shlex.split(shipped_counts["command"])
        parameters = {
            name: float(value) for name, value in (option.split("=") for option in options[1::2])
        }
        begin = time.perf_counter()
        new_counts = counted_program(program).count(**parameters).to_dict()
        same = new_counts == {key: shipped_counts[key] for key in new_counts}
        took = time.perf_counter() - begin
        print(
            f"  {path.stem:<12} {'the same' if same else 'DIFFERS'} after {took:.1f} s:"
            f" {shipped_counts['command']}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="leave out Barnes and the growth")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    if options.short:
        small = measured(lambda: sor(rows=34, columns=512, iterations=2), Protocol())
        show_speed("SOR", small)
        show_counts("SOR", small.counts)
        return
    names = [name for name in TABLE_1 if not (options.small and name.startswith("Barnes"))]
    print("counts that ship, derived again")
    show_shipped()
    print("\nTable 1's runs, eight processors, lazy release, several writers a page")
    measured_by_name = {name: alone(table_1, name, Protocol()) for name in names}
    for name, program_run in measured_by_name.items():
        show_speed(name, program_run)
    print("\ntheir counts, start-up left out")
    for name, program_run in measured_by_name.items():
        show_counts(name, program_run.counts)
    if options.small:
        return
    print("\ngrowth: time for an access as a program goes on, beside its first size")
    for name in ("SOR", "Barnes", "Water"):
        first_growth, *later_growths = (alone(grown, name, factor) for factor in (2, 4, 8))
        ratios = [
            (program_run.running / program_run.accesses)
            / (first_growth.running / first_growth.accesses)
            for program_run in later_growths
        ]
        accesses = [f"{program_run.accesses:,}" for program_run in (first_growth, *later_growths)]
        print(
            f"  {name:<8} accesses {', '.join(accesses)}:"
            f" {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
        )


if __name__ == "__main__":
    main()
