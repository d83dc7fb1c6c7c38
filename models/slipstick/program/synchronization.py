"""A machine's locks and barriers, by name, as resources and activities."""

from __future__ import annotations

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Expr, zero
from slipstick.law.barrier import (
    CENTRAL_BARRIER,
    COMBINING_TREE_BARRIER,
    DISSEMINATION_BARRIER,
    MANAGER_BARRIER,
    TOURNAMENT_BARRIER,
)
from slipstick.model.activity import Activity, barrier, then
from slipstick.model.resources import Barrier, Resource
from slipstick.model.shared_memory import BarrierKind, LockKind, SharedMemory

NONE = "none"


def lock_kind(machine: SharedMemory, name: str) -> LockKind:
    """Look up one of a machine's locks.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name not in machine.locks:
        raise ModelError(f"{machine.name} has no lock {name!r}{did_you_mean(name, list(machine.locks))}")
    return machine.locks[name]


def barrier_cost(kind: BarrierKind, processors: Expr) -> Expr:
    """Give the time from the last arrival until all go on, all having arrived together [s]."""
    access = kind.access
    made: Expr
    match kind.kind:
        case "central":
            made = CENTRAL_BARRIER(processors=processors, update=access, notice=access)
        case "tree":
            made = COMBINING_TREE_BARRIER(processors=processors, fan=kind.radix, update=access, notice=access)
        case "tournament":
            made = TOURNAMENT_BARRIER(processors=processors, message=access, release=access)
        case "dissemination":
            made = DISSEMINATION_BARRIER(processors=processors, message=access)
        case _:
            made = MANAGER_BARRIER(processors=processors, arrival=access, departure=access, transit=zero(TIME))
    return made


def meet(machine: SharedMemory, name: str, processors: Expr) -> tuple[Activity, dict[str, Resource]]:
    """Let all processors meet at one of the machine's barriers; nothing if the name is none.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name == NONE:
        return then(), {}
    if name not in machine.barriers:
        raise ModelError(f"{machine.name} has no barrier {name!r}{did_you_mean(name, list(machine.barriers))}")
    kind = machine.barriers[name]
    return barrier(name), {name: Barrier(kind.kind, barrier_cost(kind, processors))}
