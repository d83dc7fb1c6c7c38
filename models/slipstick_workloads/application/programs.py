"""The six programs of the paper, counted at any size when their models are built."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import BYTES, COUNT
from slipstick.law.symbols import PARSONS
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.program.counts import Counts
from slipstick.program.program import CountedProgram, Input, InputValues, checked_input, number
from slipstick_workloads.application.model import COMMON, application, check_sequential

LARGEST = 20000.0
"""Largest size of a program; counting more would take hours and more memory than there is."""
PROCESSORS = Input(
    "processors", COUNT, "processors that run the program", "machine.processors.count", least=1, most=4096, whole=True
)
PAGE = Input("page", BYTES, "size of a page", "machine.memory.page", least=8, most=2.0**30, whole=True)


def _counted_program(name: str, title: str, generator: str, *parameters: Input) -> CountedProgram:
    """Describe a program whose accesses are generated.

    Parameters
    ----------
    name : after ``dvsm/``
    title : one line
    generator : module and function in `slipstick_workloads.sharing` that gives the accesses
    parameters : of that function
    """
    known = {each.name: each for each in (*parameters, PROCESSORS, PAGE)}

    def count(**given: float) -> Counts:
        for each, value in given.items():
            if each not in known:
                raise UnknownNameError(f"parameter of {name}", each, list(known))
            checked_input(known[each], value)
        return _count(generator, tuple(sorted(given.items())))

    def build(machine: Machine, inputs: InputValues) -> Model:
        check_sequential(inputs.get("sequential"), f"dvsm/{name}")  # before a run that takes long
        sizes = {each.name: number(inputs, each.name) for each in parameters}
        shape = {"processors": number(inputs, "processors"), "page": number({"page": machine.page}, "page")}
        return application(machine, count(**sizes, **shape), inputs, f"dvsm/{name}")

    inputs = (*parameters, PROCESSORS, *COMMON)
    return CountedProgram(f"dvsm/{name}", title, f"{PARSONS}, Table 1", inputs, build, count=count)


@lru_cache(maxsize=32)
def _count(generator: str, given: tuple[tuple[str, float], ...]) -> Counts:
    """Run a program through the protocol, with lazy release and several writers for a page; keep its counts compact."""
    # These need NumPy, which the description of a program does not.
    from slipstick_workloads.release_consistency.compact import compact
    from slipstick_workloads.release_consistency.run import run

    module, function = generator.split(":")
    generate = getattr(import_module(f"slipstick_workloads.sharing.{module}"), function)
    return compact(run(generate(**{key: int(value) if value == int(value) else value for key, value in given})))


def _whole(name: str, meaning: str, default: float, least: float = 1.0, most: float = LARGEST) -> Input:
    return Input(name, COUNT, meaning, default, least=least, most=most, whole=True)


# What the paper does not print is a default here; the module of the program names it as chosen.
SOR = _counted_program(
    "sor",
    "SOR: red-black over-relaxation; neighbours share rows",
    "sor:sor",
    _whole("rows", "rows of the grid", 2000.0, 3.0),
    _whole("columns", "doubles in a row; half of them red", 1000.0, 2.0),
    _whole("iterations", "iterations, each of a red and a black half sweep", 10.0),
)
IS = _counted_program(
    "is",
    "IS: bucket sort; buckets migrate under a lock, then all read them",
    "integer_sort:integer_sort",
    _whole("keys", "keys to rank", 2.0**20, most=2.0**26),
    _whole("buckets", "buckets that keys are counted into", 512.0),
    _whole("iterations", "iterations, each of a counting and a ranking phase", 10.0),
    _whole("seed", "seed of the keys", 1.0, 0.0, 2.0**31),
)
BARNES = _counted_program(
    "barnes",
    "Barnes: bodies under gravity; one processor builds the tree, all read it",
    "barnes:barnes",
    _whole("bodies", "bodies in Plummer's sphere", 16384.0, 2.0, 2.0**20),
    Input("tolerance", COUNT, "a cell is opened unless its side is less than this part of its distance", 0.57),
    _whole("steps", "time steps", 4.0),
    _whole("seed", "seed of the bodies", 1.0, 0.0, 2.0**31),
)
SPHERE = _counted_program(
    "sphere",
    "Sphere: shallow water on a sphere; one solution vector under locks",
    "sphere:sphere",
    _whole("pitch", "cells in a right angle", 32.0, most=1024.0),
    _whole("steps", "time steps", 24.0),
    _whole("sweeps", "sweeps of the solver in each step", 10.0),
    _whole("locks", "row k of the solution is updated under lock k modulo this", 16.0),
)
WATER = _counted_program(
    "water",
    "Water: molecules in a liquid; records migrate under locks",
    "water:water",
    _whole("molecules", "molecules in a periodic cube", 1000.0, 2.0),
    _whole("steps", "time steps", 3.0),
    _whole("seed", "seed of the molecules' places", 1.0, 0.0, 2.0**31),
)
RAYTRACE = _counted_program(
    "raytrace",
    "Raytrace: a read-only scene, an image in parts, jobs stolen from queues",
    "raytrace:raytrace",
    _whole("image", "pixels on each side", 256.0, 8.0, 4096.0),
    _whole("generations", "generations of balls on balls", 4.0, 0.0, 8.0),
)
