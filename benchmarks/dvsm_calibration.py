"""Numbers of four programs of 1997 that their paper does not print, each from one Fast Ethernet
time of Table 1.

Run it with ``python benchmarks/dvsm_calibration.py``; it takes some minutes. Fitted are the time
steps of Barnes, Sphere and Water, as whole numbers, and the ray numbers that a processor of
Raytrace takes at once, as a power of two: whichever comes nearest to the measured time of the
smaller size. So are the steps of Water and Sphere where each section under a lock has its own
write notices, of Sphere with another filter, and of Barnes with bodies that are sorted anew in each
step. The larger sizes of Barnes and Sphere are not
used, and neither is ATM: the tables that follow are predictions there. Nothing else is fitted;
times of the shared memory that the paper does not print are assumed
(`machines/rs6000-43p-fast-ethernet.yaml`), and the study dvsm-applications shows what they matter.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from slipstick import PROGRAMS, load
from slipstick.method.closed_form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.program import counted_program
from slipstick_workloads.counts import Counts

PUBLISHED = Path(__file__).parent.parent / "tests" / "published" / "dvsm_applications.yaml"
SIZES: dict[str, dict[str, float]] = {
    "Barnes (1)": {"bodies": 16384, "tolerance": 0.57},
    "Barnes (2)": {"bodies": 32768, "tolerance": 0.67},
    "Sphere (1)": {"pitch": 32},
    "Sphere (2)": {"pitch": 64},
}
"""What Table 1 prints of the runs of two sizes; the other programs have it as their defaults."""
STEPS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("Barnes (1)", "barnes", {}),
    ("Barnes (1)", "barnes", {"sorted_again": 1}),
    ("Sphere (1)", "sphere", {}),
    ("Sphere (1)", "sphere", {"sections": 1}),
    ("Sphere (1)", "sphere", {"filtered": 45}),
    ("Sphere (1)", "sphere", {"filtered": 90}),
    ("Water", "water", {}),
    ("Water", "water", {"sections": 1}),
)
"""Rows of Table 1, their programs, and inputs that are not printed, where not their defaults."""
BATCHES = tuple(2**power for power in range(7))


def predicted(row: dict[str, Any], counts: Counts, network: str = "fast-ethernet") -> float:
    """Return the execution time of a row of Table 1 from counts [s]."""
    machine = load(f"machine/rs6000-43p-{network}")
    assert isinstance(machine, Machine)
    model = PROGRAMS["dvsm/application"].on(
        machine, counts=counts, sequential=float(row["sequential"])
    )
    return float(ClosedForm(model).times({})[0])


def fitted_steps(error: Callable[[int], float], start: int) -> Iterator[tuple[int, float]]:
    """Yield numbers of steps with their errors; the secant method proposes the next number, and the
    search ends when it proposes one that was tried.
    """
    error_by_count: dict[int, float] = {}
    counts = [start, 2 * start]
    while counts[-1] not in error_by_count:
        for count in counts:
            if count not in error_by_count:
                error_by_count[count] = error(count)
                yield count, error_by_count[count]
        best_count, second_count = sorted(
            error_by_count, key=lambda count: abs(error_by_count[count])
        )[:2]
        slope = (error_by_count[second_count] - error_by_count[best_count]) / (
            second_count - best_count
        )
        counts = [max(1, round(best_count - error_by_count[best_count] / slope))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--short", action="store_true", help="one program of a small size, to see that it runs"
    )
    short = parser.parse_args().short
    rows = yaml.safe_load(PUBLISHED.read_text())["table_1"]
    spheres = [step for step in STEPS if step[1] == "sphere"]
    for name, program, changed in spheres[:1] if short else STEPS:

        def error(
            steps: int,
            name: str = name,
            program: str = program,
            changed: dict[str, float] = changed,
        ) -> float:
            size = {**({"pitch": 6.0} if short else SIZES.get(name, {})), **changed}
            counts = counted_program(program).count(**size, steps=steps)
            return predicted(rows[name], counts) / float(rows[name]["fast-ethernet"]) - 1

        error_by_step = dict(fitted_steps(error, 4))
        with_inputs = "".join(f", {key} {value:g}" for key, value in changed.items())
        print(
            f"{name}{with_inputs}: "
            + ", ".join(
                f"{steps} steps {batch:+.1%}" for steps, batch in sorted(error_by_step.items())
            )
        )
        steps = min(error_by_step, key=lambda batch: abs(error_by_step[batch]))
        other_name = name.replace("(1)", "(2)")
        if other_name != name and not short:
            counts = counted_program(program).count(**SIZES[other_name], **changed, steps=steps)
            for network in ("fast-ethernet", "atm"):
                miss = (
                    predicted(rows[other_name], counts, network) / float(rows[other_name][network])
                    - 1
                )
                print(f"  {other_name} with {steps} steps, not used, {network}: {miss:+.1%}")
    if not short:
        counts_by_batch = {
            batch: counted_program("raytrace").count(numbered_at_once=batch) for batch in BATCHES
        }
        row = rows["Raytrace"]
        missed = {
            batch: predicted(row, counts) / float(row["fast-ethernet"]) - 1
            for batch, counts in counts_by_batch.items()
        }
        print(
            "Raytrace: "
            + ", ".join(f"{batch} at once {miss:+.1%}" for batch, miss in missed.items())
        )


if __name__ == "__main__":
    main()
