"""The eight runs of the paper's Table 1, at its sizes, on eight processors."""

from __future__ import annotations

from collections.abc import Callable

from slipstick_workloads.release_consistency.accesses import SharedProgram
from slipstick_workloads.sharing.barnes import barnes
from slipstick_workloads.sharing.integer_sort import integer_sort
from slipstick_workloads.sharing.raytrace import raytrace
from slipstick_workloads.sharing.sor import sor
from slipstick_workloads.sharing.sphere import sphere
from slipstick_workloads.sharing.water import water

TABLE_1: dict[str, Callable[[], SharedProgram]] = {
    "SOR": lambda: sor(rows=2000, columns=1000),
    "IS": lambda: integer_sort(buckets=2**9),
    "Barnes (1)": lambda: barnes(bodies=16384, tolerance=0.57),
    "Barnes (2)": lambda: barnes(bodies=32768, tolerance=0.67),
    "Sphere (1)": lambda: sphere(pitch=32),
    "Sphere (2)": lambda: sphere(pitch=64),
    "Water": lambda: water(molecules=1000),
    "Raytrace": lambda: raytrace(generations=4),
}
"""Each run's program, by the paper's name for it.

Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Table 1. Sizes that it does not
print are the defaults of the programs, which say so.
"""
