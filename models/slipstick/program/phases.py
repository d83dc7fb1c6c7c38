"""Programs of phases: unit grains of different kinds on different numbers of processors, one phase after the other.

Phase k is r_k identical grains on each of N_k processors, ended by a barrier that costs T_B(N_k) beyond waiting for the
last of them; what is sequential takes T_S. With t_k(N_k) the time of a grain among its N_k - 1 competitors, that of the
slowest processor, the whole takes T = T_S + sum of r_k t_k(N_k) + T_B(N_k); see law/phase-time.

Source: Nanda and Ni, Benchmark workload generation and performance characterization of multiprocessors,
Supercomputing 1992.
"""

from __future__ import annotations

from collections.abc import Iterator

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT, TIME
from slipstick.expression.nodes import Expr, Like, Number
from slipstick.model.activity import Activity, barrier, delay, then
from slipstick.model.resources import Resource
from slipstick.model.shared_memory import SharedMemory
from slipstick.model.system import Model, phased_model
from slipstick.program.addresses import Addresses
from slipstick.program.grain import ACCESSES, CRITICAL_WRITES, NONE, SCV, USEFUL, Grain, Work
from slipstick.program.memory import known
from slipstick.program.program import Input, Inputs, Program, one, word
from slipstick.program.synchronization import meet

_OF_EACH = ("accesses", "compute", "critical", "critical_accesses")

Part = tuple[Like, Like, Activity]


def program(machine: SharedMemory, inputs: Inputs) -> Model:
    """Build the sequential part, then every phase with its barrier."""
    resources: dict[str, Resource] = {}
    parts: list[Part] = [(1, 1, delay(one(inputs, "sequential"), name="sequential"))]
    for phase in _phases(machine, inputs, resources):
        parts += phase
    return phased_model(*parts, name="grain/phases", resources=resources, useful=USEFUL)


def _phases(machine: SharedMemory, inputs: Inputs, resources: dict[str, Resource]) -> Iterator[list[Part]]:
    """Lay out each phase and its barrier; what they need is added to the resources."""
    repeat, processors = _list(inputs, "repeat"), _list(inputs, "processors")
    if not repeat:
        raise ModelError("there are no phases; give repeat, a list with the grains of each processor in every phase")
    lists = {name: _list(inputs, name) or (Number(0.0),) * len(repeat) for name in _OF_EACH}
    for name, values in {"processors": processors, **lists}.items():
        if len(values) != len(repeat):
            raise ModelError(f"{name} has {len(values)} values for {len(repeat)} phases, as repeat counts them")
    for number, (times, count) in enumerate(zip(repeat, processors, strict=True)):
        grain = _grain(inputs, number, {name: values[number] for name, values in lists.items()})
        work = Work(machine, count - 1)
        cycle = work.cycle(grain, grain, single=False)
        if cycle == then():
            raise ModelError(f"phase {number + 1} does nothing; give it accesses, compute or a critical section")
        resources.update(work.resources(grain.lock))
        yield [(times, count, cycle), *_barrier(machine, inputs, number, count, resources)]


def _barrier(
    machine: SharedMemory, inputs: Inputs, number: int, count: Expr, resources: dict[str, Resource]
) -> list[Part]:
    name = word(inputs, "barrier")
    _, meeting = meet(machine, name, count)
    if not meeting:
        return []
    called = f"{name}-{number + 1}"
    resources[called] = meeting[name]
    return [(1, count, barrier(called))]


def _grain(inputs: Inputs, number: int, own: dict[str, Expr]) -> Grain:
    """Give the grain of a phase; one without critical section takes no lock."""
    inside = any(known(own[name], f"{name} of phase {number + 1}") for name in ("critical", "critical_accesses"))
    return Grain(
        prefix=f"phase-{number + 1}.",
        write=word(inputs, "access") == "write",
        addresses=Addresses(
            elements=int(known(one(inputs, "elements"), "elements")),
            stride=int(known(one(inputs, "stride"), "stride")),
            offset=int(known(one(inputs, "start"), "start")),
            random=word(inputs, "pattern") == "random",
        ),
        accesses=own["accesses"],
        compute=own["compute"],
        lock=word(inputs, "lock") if inside else NONE,
        critical=own["critical"],
        critical_accesses=own["critical_accesses"],
        critical_writes=one(inputs, "critical_writes"),
        scv=known(one(inputs, "scv"), "scv"),
    )


def _list(inputs: Inputs, name: str) -> tuple[Expr, ...]:
    value = inputs.get(name, ())
    assert isinstance(value, Expr | tuple)
    return (value,) if isinstance(value, Expr) else value


PHASES = Program(
    "grain/phases",
    "Phases of unit grains, each on its own number of processors and ended by a barrier",
    "Nanda and Ni, Supercomputing 1992",
    (
        Input("sequential", TIME, "T_S: what one processor does before all phases", 0.0),
        Input("repeat", COUNT, "r_k: grains of each processor, phase by phase", None, many=True),
        Input("processors", COUNT, "N_k: processors of each phase", None, least=1, whole=True, many=True),
        Input("accesses", COUNT, "m: accesses of a grain to shared elements, phase by phase", None, many=True),
        Input("compute", COUNT, "c: units of computing of a grain, phase by phase", None, many=True),
        Input("critical", COUNT, "c_s: units of computing in the critical section", None, many=True),
        Input("critical_accesses", COUNT, "m_s: accesses in the critical section", None, many=True),
        *ACCESSES,
        Input("lock", COUNT, "the machine's lock of critical sections; none if there are none", NONE, named="locks"),
        CRITICAL_WRITES,
        SCV,
        Input(
            "barrier", COUNT, "the machine's barrier that ends each phase; none if it is free", NONE, named="barriers"
        ),
    ),
    program,
    SharedMemory,
)
