"""The six programs of the paper, counted at any size when their models are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from math import log2

from slipstick.errors import UnknownNameError
from slipstick.expression.nodes import BYTES, COUNT
from slipstick.law.symbols import PARSONS
from slipstick.limits import check_cost
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.program.program import CountedProgram, Input, InputValues, checked_input, number
from slipstick_workloads.application.model import COMMON_INPUTS, application_model, check_sequential
from slipstick_workloads.counts import Counts

LARGEST_PROGRAM_SIZE = 20000.0
"""Largest size of a program; counting more would take hours and more memory than there is."""
_COLLECTION_LIMIT = 4 * 2.0**20
COLLECT_INPUT = Input(
    "collect",
    BYTES,
    "memory of a processor's diffs, twins and notices that starts a garbage collection; taken"
    " within 1 to 16 MiB",
    _COLLECTION_LIMIT,
    least=2.0**10,
    whole=True,
)
SECTIONS_INPUT = Input(
    "sections",
    COUNT,
    "1 if each section under a lock has its own write notices, which the next to get that lock is"
    " sent; 0 if notices are gathered until a lock moves, which brings all that its giver knows",
    0.0,
    most=1.0,
    whole=True,
)
PROCESSORS_INPUT = Input(
    "processors",
    COUNT,
    "processors that run the program",
    "machine.processors.count",
    least=1,
    most=4096,
    whole=True,
)
PAGE_INPUT = Input(
    "page", BYTES, "size of a page", "machine.memory.page", least=8, most=2.0**22, whole=True
)


def _counted_program(
    name: str,
    title: str,
    generator: str,
    estimate_seconds: Callable[[Mapping[str, float]], float],
    *parameters: Input,
) -> CountedProgram:
    """Return a program whose accesses are generated and counted when its model is built.

    Parameters
    ----------
    name : after ``dvsm/``
    title : one line
    generator : module and function in `slipstick_workloads.sharing` that gives the accesses
    estimate_seconds : roughly the processor time of the function, as measured at the defaults and
        at four times the size; the terms in the processors, which the protocol takes, with small
        sizes on 64 to 512 of them
    parameters : of that function
    """
    parameters = (*parameters, COLLECT_INPUT, SECTIONS_INPUT)
    parameter_by_name = {
        parameter.name: parameter for parameter in (*parameters, PROCESSORS_INPUT, PAGE_INPUT)
    }

    def count_accesses(**input_values: float) -> Counts:
        """Count the operations of the program at some values of its inputs; raise if counting would
        take too long.
        """
        for parameter_name, value in input_values.items():
            if parameter_name not in parameter_by_name:
                raise UnknownNameError(
                    f"parameter of {name}", parameter_name, list(parameter_by_name)
                )
            checked_input(parameter_by_name[parameter_name], value)
        size_by_parameter = {
            parameter.name: parameter.default
            for parameter in parameters
            if isinstance(parameter.default, int | float)
        }
        total_seconds = estimate_seconds(
            {PROCESSORS_INPUT.name: 8.0, **size_by_parameter, **input_values}
        )
        check_cost(
            "counting",
            total_seconds,
            f"counting {name} takes {total_seconds:,.0f} s",
            "take a smaller size",
        )
        return _count_operations(generator, tuple(sorted(input_values.items())))

    def build(machine: Machine, inputs: InputValues) -> Model:
        """Build the model of the program on a machine."""
        check_sequential(inputs.get("sequential"), f"dvsm/{name}")  # before a run that takes long
        size_by_parameter = {
            parameter.name: number(inputs, parameter.name) for parameter in parameters
        }
        machine_size_by_parameter = {
            "processors": number(inputs, "processors"),
            "page": number({"page": machine.page}, "page"),
        }
        return application_model(
            machine,
            count_accesses(**size_by_parameter, **machine_size_by_parameter),
            inputs,
            f"dvsm/{name}",
        )

    inputs = (*parameters, PROCESSORS_INPUT, *COMMON_INPUTS)
    return CountedProgram(
        f"dvsm/{name}", title, f"{PARSONS}, Table 1", inputs, build, count=count_accesses
    )


@lru_cache(maxsize=32)
def _count_operations(generator: str, input_values: tuple[tuple[str, float], ...]) -> Counts:
    """Run a program through the protocol, with lazy release and several writers for a page. Return
    its compact counts.
    """
    # These need NumPy, which the description of a program does not.
    from slipstick_workloads.release_consistency.compact import compact
    from slipstick_workloads.release_consistency.protocol import Protocol
    from slipstick_workloads.release_consistency.run import run

    module_name, function_name = generator.split(":")
    generator_function = getattr(
        import_module(f"slipstick_workloads.sharing.{module_name}"), function_name
    )
    size_by_parameter = {
        key: int(value) if value == int(value) else value for key, value in input_values
    }
    protocol = Protocol(
        grant="before" if size_by_parameter.pop(SECTIONS_INPUT.name, 0) else "known",
        collect_above=int(size_by_parameter.pop(COLLECT_INPUT.name, _COLLECTION_LIMIT)),
    )
    return compact(run(generator_function(**size_by_parameter), protocol))


def _whole_number_input(
    name: str,
    meaning: str,
    default: float,
    least_value: float = 1.0,
    largest_value: float = LARGEST_PROGRAM_SIZE,
) -> Input:
    """Return the definition of an input that takes a whole number."""
    return Input(name, COUNT, meaning, default, least=least_value, most=largest_value, whole=True)


def _message_input(default: float, work: str) -> Input:
    """Return the input that sets the amount of work that takes as long as one message."""
    return Input(
        "message",
        COUNT,
        f"{work} in the time of a message, for the clock that orders requests for locks; 0.7 ms on"
        " the machine of the paper, taken within a quarter and four times as much",
        default,
    )


# What the paper does not print is a default here, and its meaning has the range that studies take
# for it.
SOR = _counted_program(
    "sor",
    "SOR: red-black over-relaxation; neighbours share rows",
    "sor:sor",
    lambda size: (
        1.5e-5 * size["rows"] * size["iterations"]
        + 6.5e-6 * size["processors"] ** 2 * size["iterations"]
    ),
    _whole_number_input("rows", "rows of the grid", 2000.0, 3.0),
    _whole_number_input("columns", "doubles in a row; half of them red", 1000.0, 2.0),
    _whole_number_input(
        "iterations", "iterations, each of a red and a black half sweep; taken within 5 to 20", 10.0
    ),
)
IS = _counted_program(
    "is",
    "IS: bucket sort; buckets migrate under a lock, then all read them",
    "integer_sort:integer_sort",
    lambda size: (4e-8 * size["keys"] + 1e-7 * size["processors"] ** 3) * size["iterations"],
    _whole_number_input(
        "keys", "keys to rank; taken within 2^18 to 2^22", 2.0**20, largest_value=2.0**26
    ),
    _whole_number_input("buckets", "buckets that keys are counted into", 512.0),
    _whole_number_input(
        "iterations",
        "iterations, each of a counting and a ranking phase; taken within 5 to 20",
        10.0,
    ),
    _whole_number_input("seed", "seed of the keys", 1.0, 0.0, 2.0**31),
    _message_input(2500.0, "keys counted"),
    Input(
        "unequal",
        COUNT,
        "by how much the slowest processor takes longer than the fastest for equally many keys, as"
        " a part of the mean; taken within 0 to 0.5",
        0.0,
        most=1.0,
    ),
)
BARNES = _counted_program(
    "barnes",
    "Barnes: bodies under gravity; one processor builds the tree, all read it",
    "barnes:barnes",
    lambda size: (
        1.3e-5
        * size["steps"]
        * size["bodies"]
        * log2(size["bodies"])
        * (0.57 / size["tolerance"]) ** 2
        + 1.5e-5 * size["steps"] * size["processors"] ** 2
    ),
    _whole_number_input("bodies", "bodies in Plummer's sphere", 16384.0, 2.0, 2.0**20),
    Input(
        "tolerance",
        COUNT,
        "a cell is opened unless its side is less than this part of its distance",
        0.57,
    ),
    _whole_number_input("steps", "time steps", 4.0),
    _whole_number_input(
        "sorted_again",
        "1: bodies are moved into the order of each tree, not of the first alone; taken as both",
        0.0,
        0.0,
        1.0,
    ),
    _whole_number_input("seed", "seed of the bodies", 1.0, 0.0, 2.0**31),
)
SPHERE = _counted_program(
    "sphere",
    "Sphere: shallow water on a sphere; one solution vector under locks",
    "sphere:sphere",
    lambda size: (
        (5e-6 * size["pitch"] ** 2 + 1e-5 * size["processors"] ** 2)
        * size["steps"]
        * size["sweeps"]
    ),
    _whole_number_input("pitch", "cells in a right angle", 32.0, largest_value=1024.0),
    _whole_number_input("steps", "time steps", 24.0),
    _whole_number_input("sweeps", "sweeps of the solver in each step; taken within 5 to 20", 10.0),
    _whole_number_input(
        "locks",
        "row k of the solution is updated under lock k modulo this; taken within 4 to 64",
        17.0,
    ),
    Input(
        "filtered",
        COUNT,
        "degrees of latitude beyond which rows are filtered; 90 for none; taken within 45 to 90",
        60.0,
        most=90.0,
    ),
    _message_input(27.0, "cells computed"),
)
WATER = _counted_program(
    "water",
    "Water: molecules in a liquid; records migrate under locks",
    "water:water",
    lambda size: (
        1e-6
        * size["molecules"]
        * (size["molecules"] + 1.4 * size["processors"] ** 2)
        * size["steps"]
    ),
    _whole_number_input("molecules", "molecules in a periodic cube", 1000.0, 2.0),
    _whole_number_input("steps", "time steps", 3.0),
    _whole_number_input("seed", "seed of the molecules' places", 1.0, 0.0, 2.0**31),
    _message_input(36.0, "pairs computed"),
)
RAYTRACE = _counted_program(
    "raytrace",
    "Raytrace: a read-only scene, an image in parts, jobs stolen from queues",
    "raytrace:raytrace",
    lambda size: 1.8e-5 * size["image"] ** 2 * size["generations"] + 9e-5 * size["processors"] ** 2,
    _whole_number_input(
        "image", "pixels on each side; taken within 128 to 512", 256.0, 8.0, 4096.0
    ),
    _whole_number_input("generations", "generations of balls on balls", 4.0, 0.0, 8.0),
    _whole_number_input("job_across", "pixels of a job across; taken within 8 to 32", 16.0),
    _whole_number_input("job_down", "pixels of a job down", 2.0),
    _whole_number_input(
        "numbered_at_once",
        "primary rays that get their numbers together; taken within 1 to 64",
        8.0,
    ),
    _message_input(50.0, "balls tested"),
)
