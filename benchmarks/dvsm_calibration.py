"""The constant of the shared memory of 1997 that its paper does not print, from the Fast Ethernet column of Table 1 alone.

Run it with ``python benchmarks/dvsm_calibration.py``. The constant is the time to change a page's protection, within physical
bounds. It is fitted by least squares of the logarithms of the eight execution times; then the ATM column is predicted with
it. What it prints is what the machine spec holds. The time of a write notice and of a byte copied are assumed: fitted together
with it they are not determined, for more of one goes with less of the other.

The numbers of iterations, which the paper does not print either, are in the counts; see the study dvsm-applications.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.optimize import least_squares

from slipstick import load
from slipstick.method.closed_form.form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.program import PROGRAMS
from slipstick.schema.library import Library
from slipstick.schema.programs import load_counts
from slipstick.schema.text.nodes import Mark

PUBLISHED = Path(__file__).parent.parent / "tests" / "published" / "dvsm_applications.yaml"

FREE = {"machine.dvsm.protect": (10e-6, 100e-6)}
"""Bounds [s]: a system call and a fault of that time."""


def forms(machine: Machine, rows: dict[str, Any]) -> list[ClosedForm]:
    """Compile runs of Table 1."""
    library, made = Library(), []
    for name, row in rows.items():
        counts = load_counts(row["counts"], Mark(name, 1, 1), library)
        model = PROGRAMS["dvsm/application"].on(machine, counts=counts, sequential=float(row["sequential"]))
        made.append(ClosedForm(model))
    return made


def times(compiled: list[ClosedForm], values: dict[str, float]) -> NDArray[np.float64]:
    """Give the execution times [s]."""
    return np.array([each.times(values)[0] for each in compiled])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="the smallest sizes, to see that it runs")
    short = parser.parse_args().short
    rows = yaml.safe_load(PUBLISHED.read_text())["table_1"]
    if short:
        rows = {"SOR": rows["SOR"]}
    measured = {key: np.array([float(row[key]) for row in rows.values()]) for key in ("fast-ethernet", "atm")}
    compiled = {}
    for network in measured:
        machine = load(f"machine/rs6000-43p-{network}")
        assert isinstance(machine, Machine)
        compiled[network] = forms(machine, rows)
    lows, highs = (np.array([each[end] for each in FREE.values()]) for end in (0, 1))

    def given(position: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(FREE, np.exp(position), strict=True))

    def misses(position: NDArray[np.float64]) -> NDArray[np.float64]:
        missed: NDArray[np.float64] = np.log(
            times(compiled["fast-ethernet"], given(position)) / measured["fast-ethernet"]
        )
        return missed

    start = (np.log(lows) + np.log(highs)) / 2
    found = least_squares(misses, start, bounds=(np.log(lows), np.log(highs)))
    for name, value in given(found.x).items():
        print(f"{name:24} {value * 1e6:.4g} us, within {FREE[name][0] * 1e6:g} to {FREE[name][1] * 1e6:g}")
    for network, wanted in measured.items():
        predicted = times(compiled[network], given(found.x))
        errors = predicted / wanted - 1
        kind = "fitted" if network == "fast-ethernet" else "not fitted"
        print(f"\n{network}, {kind}: mean absolute error {np.abs(errors).mean():.1%}")
        for name, value, printed, error in zip(rows, predicted, wanted, errors, strict=True):
            print(f"  {name:12} {value:8.2f} s, printed {printed:6.1f} s, {error:+.1%}")


if __name__ == "__main__":
    main()
