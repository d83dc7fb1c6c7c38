"""The six programs of the paper as models: counted when they are built, at any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from slipstick.errors import UnknownNameError
from slipstick.expression.dimension import COUNT
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.program.counts import Counts
from slipstick.program.dvsm.operations import SOURCE
from slipstick.program.program import Input, Inputs, Program, number
from slipstick_workloads.application.model import COMMON, application


@dataclass(frozen=True, slots=True)
class Shipped:
    """A program whose accesses are generated.

    Parameters
    ----------
    title : one line
    maker : module and function in `slipstick_workloads.sharing`
    parameters : of the function, whole numbers unless one says otherwise
    """

    title: str
    maker: tuple[str, str]
    parameters: tuple[Input, ...]


_MOST = 20000.0  # more, and counting would take hours and all memory


def _whole(name: str, meaning: str, default: float, least: float = 1.0, most: float = _MOST) -> Input:
    return Input(name, COUNT, meaning, default, least=least, most=most, whole=True)


SHIPPED: dict[str, Shipped] = {
    "sor": Shipped(
        "SOR: red-black over-relaxation; neighbours share rows",
        ("sor", "sor"),
        (
            _whole("rows", "rows of the grid", 2000.0, 3.0),
            _whole("columns", "doubles in a row; half of them red", 1000.0, 2.0),
            _whole("iterations", "each of a red and a black half sweep", 10.0),
        ),
    ),
    "is": Shipped(
        "IS: bucket sort; buckets migrate under a lock, then all read them",
        ("integer_sort", "integer_sort"),
        (
            _whole("keys", "to rank", 2.0**20, most=2.0**26),
            _whole("buckets", "that keys are counted into", 512.0),
            _whole("iterations", "each of a counting and a ranking phase", 10.0),
            _whole("seed", "of the keys", 1.0, 0.0, 2.0**31),
        ),
    ),
    "barnes": Shipped(
        "Barnes: bodies under gravity; one processor builds the tree, all read it",
        ("barnes", "barnes"),
        (
            _whole("bodies", "in Plummer's sphere", 16384.0, 2.0, 2.0**20),
            Input("tolerance", COUNT, "a cell is opened unless its side is less than this part of its distance", 0.57),
            _whole("steps", "of time", 4.0),
            _whole("seed", "of the bodies", 1.0, 0.0, 2.0**31),
        ),
    ),
    "sphere": Shipped(
        "Sphere: shallow water on a sphere; one solution vector under locks",
        ("sphere", "sphere"),
        (
            _whole("pitch", "cells in a right angle", 32.0, most=1024.0),
            _whole("steps", "of time", 24.0),
            _whole("sweeps", "of the solver in each step", 10.0),
            _whole("locks", "row k of the solution is updated under lock k modulo this", 16.0),
        ),
    ),
    "water": Shipped(
        "Water: molecules in a liquid; records migrate under locks",
        ("water", "water"),
        (
            _whole("molecules", "in a periodic cube", 1000.0, 2.0),
            _whole("steps", "of time", 3.0),
            _whole("seed", "of the molecules' places", 1.0, 0.0, 2.0**31),
        ),
    ),
    "raytrace": Shipped(
        "Raytrace: a read-only scene, an image in parts, jobs stolen from queues",
        ("raytrace", "raytrace"),
        (
            _whole("image", "pixels on each side", 256.0, 8.0, 4096.0),
            _whole("generations", "of balls on balls", 4.0, 0.0, 8.0),
        ),
    ),
}
"""The programs by name; what the paper does not print of them is a default, named as chosen in their modules."""

PROCESSORS = Input("processors", COUNT, "that run it", "machine.processors.count", least=1, most=4096, whole=True)


def counted(name: str, **parameters: float) -> Counts:
    """Run a shipped program through the protocol, lazy release and several writers a page, and keep its counts small.

    Parameters
    ----------
    name : of the program
    parameters : that differ from its defaults; ``processors`` is 8, ``page`` 4096 B unless given

    Raises
    ------
    UnknownNameError : there is no such program, or it has no such parameter
    ModelError : a parameter is not allowed

    >>> counted("sor", processors=4, rows=64, columns=1024, iterations=2).total("acquisitions")
    0
    """
    if name not in SHIPPED:
        raise UnknownNameError("program with counts", name, list(SHIPPED))
    known = [each.name for each in SHIPPED[name].parameters]
    for each in parameters:
        if each not in (*known, "processors", "page"):
            raise UnknownNameError(f"parameter of {name}", each, [*known, "processors", "page"])
    return _counted(name, tuple(sorted(parameters.items())))


@lru_cache(maxsize=32)
def _counted(name: str, parameters: tuple[tuple[str, float], ...]) -> Counts:
    # The protocol needs NumPy, which a look at the catalogue does not.
    from importlib import import_module

    from slipstick_workloads.lrc.compact import compact
    from slipstick_workloads.lrc.run import run

    module, function = SHIPPED[name].maker
    make = getattr(import_module(f"slipstick_workloads.sharing.{module}"), function)
    return compact(run(make(**{key: int(value) if value == int(value) else value for key, value in parameters})))


def _model(name: str, machine: Machine, inputs: Inputs) -> Model:
    given: Mapping[str, float] = {each.name: number(inputs, each.name) for each in SHIPPED[name].parameters}
    shape = {"processors": number(inputs, "processors"), "page": number({"page": machine.page}, "page")}
    return application(machine, counted(name, **given, **shape), inputs, f"dvsm/{name}")


def _built(name: str) -> Callable[[Machine, Inputs], Model]:
    return partial(_model, name)


PROGRAMS = tuple(
    Program(f"dvsm/{name}", each.title, f"{SOURCE}, Table 1", (*each.parameters, PROCESSORS, *COMMON), _built(name))
    for name, each in SHIPPED.items()
)
