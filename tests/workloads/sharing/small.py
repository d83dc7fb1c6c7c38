"""The six programs at sizes for tests."""

from __future__ import annotations

from collections.abc import Callable

from slipstick_workloads.release_consistency.accesses import SharedProgram
from slipstick_workloads.sharing.barnes import barnes
from slipstick_workloads.sharing.integer_sort import integer_sort
from slipstick_workloads.sharing.raytrace import raytrace
from slipstick_workloads.sharing.sor import sor
from slipstick_workloads.sharing.sphere import sphere
from slipstick_workloads.sharing.water import water

SMALL: dict[str, Callable[[int], SharedProgram]] = {
    "SOR": lambda processors: sor(processors, rows=64, columns=200, iterations=3),
    "IS": lambda processors: integer_sort(processors, keys=2**12, buckets=2**8, iterations=3),
    "Barnes scattered": lambda processors: barnes(processors, bodies=512, steps=2, scattered=True),
    "Barnes": lambda processors: barnes(processors, bodies=512, steps=2),
    "Barnes sorted again": lambda processors: barnes(
        processors, bodies=512, steps=2, sorted_again=True
    ),
    "Sphere": lambda processors: sphere(processors, pitch=12, steps=2, sweeps=2),
    "Water": lambda processors: water(processors, molecules=64, steps=2),
    "Raytrace": lambda processors: raytrace(processors, image=48, generations=2),
}
