"""What `slipstick calibrate` finds on this host, twice, beside what Linux tells of it, and whether
its locks exclude.

Printed: sizes of caches and the line beside /sys, how far values repeat, grains that the machine is
not made of, repetitions that were disturbed, and increments under each lock by two cores, none of
which may get lost.

    python benchmarks/calibrate.py [--short] [--seconds 60]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from slipstick import solve
from slipstick.errors import NoAnswerError
from slipstick_measure.calibration.analysis import (
    FIRST_QUARTILE,
    SPEC_LOCKS,
    HostValue,
    estimate_machine_values,
)
from slipstick_measure.calibration.host import (
    Calibration,
    clock_frequency,
    machine_spec,
    reported_cache_sizes,
)
from slipstick_measure.calibration.timing import Timing


def exclusion(calibration: Calibration, turns: int) -> dict[str, int]:
    """Count the increments that are lost while two cores increment one number under each lock."""
    kernels, words = calibration.cores.kernels, calibration.cores.words

    @kernels.numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def count(words: Any, kind: int, rank: int, turns: int, total: Any) -> None:
        for _ in range(turns):
            mine = kernels.acquire(words, kind, rank, 2, 0)
            total[0] += 1
            kernels.release(words, kind, rank, 2, mine)

    time_lost = {}
    for lock_number, name in enumerate(SPEC_LOCKS, 1):
        words[:], total = 0, np.zeros(1, dtype=np.int64)
        timings = [
            timing.submit(count, words, lock_number, rank, turns, total)
            for rank, timing in enumerate(calibration.cores.threads)
        ]
        for timing in timings[:2]:
            timing.result()
        time_lost[name] = 2 * turns - int(total[0])
    return time_lost


def grains(
    timings: list[Timing], values: dict[str, HostValue], measured_timings: list[Timing], cores: int
) -> list[float]:
    """Return the relative errors of the grains predicted on the machine that was found."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.yaml"
        path.write_text(machine_spec(values, timings, clock_frequency(), cores, path.name).text())
        errors = []
        for timing in measured_timings:
            time = solve("grain/unit", dict(timing.arguments), machine=path).values["time"].value
            seconds = float(np.quantile(timing.seconds, FIRST_QUARTILE))
            errors.append(float(time) / seconds - 1)
            words = ", ".join(f"{key} {value}" for key, value in timing.arguments.items())
            print(
                f"  {words}: {seconds * 1e9:.1f} ns measured, {float(time) * 1e9:.1f} ns predicted,"
                f" {errors[-1]:+.1%}"
            )
    return errors


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--short", action="store_true", help="small sets and little time, to see that it runs"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for each of the two times [60]"
    )
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    print(f"cores {cores}, load {os.getloadavg()[0]:.1f}")
    calibration = (
        Calibration(cores[:1], 0.3, 1 << 18)
        if arguments.short
        else Calibration(cores, arguments.seconds)
    )
    try:
        runs = [calibration.run_machine_kernels() for _ in range(1 if arguments.short else 2)]
        first_run, *later_runs = [
            estimate_machine_values(host_value, clock_frequency()) for host_value in runs
        ]
    except NoAnswerError as error:
        print(f"refused: {error}")
        return
    if len(cores) > 1 and not arguments.short:
        print(f"increments lost under each lock: {exclusion(calibration, 200_000)}")
    sizes = sorted(
        host_value.value for path, host_value in first_run.items() if path.endswith("size")
    )
    for fitted_size, reported_size in zip(sizes, reported_cache_sizes(), strict=False):
        print(
            f"cache: found {fitted_size / 1024:.0f} KiB, told {reported_size / 1024:.0f} KiB, ratio"
            f" {fitted_size / reported_size:.2f}"
        )
    for path, host_value in first_run.items():
        change = (
            f", again {later_runs[0][path].value / host_value.value - 1:+.1%}"
            if later_runs and path in later_runs[0] and host_value.value
            else ""
        )
        print(
            f"{path}: {host_value.value:.4g} ({host_value.low:.4g} to"
            f" {host_value.high:.4g}){change}"
        )
    disturbed = [sum(host_value.disturbed_count for host_value in run) for run in runs]
    print(f"disturbed repetitions {disturbed}, load {os.getloadavg()[0]:.1f}")
    if arguments.short:
        return
    errors = grains(runs[0], first_run, calibration.run_test_grains(), len(cores))
    print(
        f"{len(errors)} grains not used: median error {statistics.median(map(abs, errors)):.0%},"
        " goal 25 %"
    )


if __name__ == "__main__":
    main()
