"""Accesses to shared memory as activities on buses, switches, rings and modules; locks and barriers
of a machine.

Approximations:

- A multistage network or a crossbar is a delay in each direction, and each module is one server
  together with the last link before it, so earlier links never delay a request
  (`slipstick_laws.interconnects` has their effect on uniform traffic), unless the stages are
  `contended`: then a request takes the outputs of switches on its way through an omega network,
  from any processor, each access from another one. A packet occupies one output after the other, a
  circuit holds all that it has and waits for the next, and so delays others that want another
  module (tree saturation). Replies of packets never contend.
- A refused circuit waits in a queue, unless `retried`: then it tries again after a pause, so that
  the module may be free while processors want it, and the processor that tries first comes next. Of
  stages that contend, the outputs on the way and the module are taken at one moment or not at all:
  the time that a refused request takes to come to a taken output, and holds those before it, is
  neglected.
- A ring is a station with as many servers as slots, each held for one rotation; of many rings, one
  stands for the near traffic of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import TIME, Expr, ceil_log, maximum, minimum, zero
from slipstick.model.activity import barrier, choose, delay, hold, service, then
from slipstick.model.machine import (
    BarrierKind,
    Bus,
    MachineLock,
    Multistage,
    Ring,
    SharedMemory,
    omega_outputs,
)
from slipstick.model.steps import Activity
from slipstick.model.system import Barrier, Lock, Resource, Station
from slipstick.program.program import structural_number
from slipstick.vocabulary import LOCKS
from slipstick_laws.synchronization import (
    CENTRAL_BARRIER,
    COMBINING_TREE_BARRIER,
    DISSEMINATION_BARRIER,
    MANAGER_BARRIER,
    TOURNAMENT_BARRIER,
)

BUS = "bus"
RING = "ring"
UPPER = "upper-ring"
NONE = "none"
"""Name of a lock or barrier that there is not."""

MOST_PATHS = 4096
"""Paths from processors to modules that a model has where stages contend."""


@dataclass(frozen=True, slots=True)
class MemoryPort:
    """The access of a processor to shared memory.

    Parameters
    ----------
    machine : of the processor
    others : over how many other processors the data are spread [1]
    retried : a circuit that finds its module taken is refused and tried again after the machine's
        pause
    contended : requests take outputs of switches before the modules

    Raises
    ------
    ModelError : circuits are to be tried again on a machine that has none, or without a pause;
        stages are to contend on a machine without stages
    """

    machine: SharedMemory
    others: Expr
    retried: bool = False
    contended: bool = False

    def __post_init__(self) -> None:
        interconnect = self.machine.interconnect
        if self.contended and not isinstance(interconnect, Multistage):
            raise ModelError(
                f"{self.machine.name} has no stages of switches; leave out stages: contend"
            )
        if not self.retried:
            return
        if not (isinstance(interconnect, Multistage) and interconnect.circuit):
            raise ModelError(
                f"{self.machine.name} has no circuit switching, so no request is refused; leave out"
                " refused: retry"
            )
        if not structural_number(interconnect.retry, "the pause after a refusal"):
            raise ModelError(
                f"{self.machine.name} has no pause after a refusal; give machine.interconnect.retry"
            )

    @property
    def lock_word(self) -> str:
        """Name the station that holds a lock word."""
        match self.machine.interconnect:
            case Bus():
                return BUS
            case Ring():
                return RING
            case _:
                return module(0)

    def resources(self) -> dict[str, Resource]:
        """Describe the stations of the interconnect; unused ones do no harm."""
        interconnect = self.machine.interconnect
        if self.retried and isinstance(interconnect, Multistage):
            circuit = Lock("tas", back_off="constant", base=interconnect.retry, together=True)
            held = [
                *map(_circuit, range(self._modules)),
                *(_outputs(interconnect) if self.contended else ()),
            ]
            return {self.lock_word: Station(), **dict.fromkeys(held, circuit)}
        if not isinstance(interconnect, Ring):
            return {self.lock_word: Station()}
        stations: dict[str, Resource] = {RING: Station(_servers(interconnect.slots))}
        if interconnect.upper_slots is not None:
            stations[UPPER] = Station(_servers(interconnect.upper_slots))
        return stations

    def access(self, name: str, ratios: Sequence[float], component: str = "memory") -> Activity:
        """Access shared memory over the interconnect.

        Parameters
        ----------
        name : first part of the names of the steps
        ratios : share of the accesses to each module [1]
        component : of the account
        """
        label = _AccessSteps(name, component)
        memory = self.machine.memory
        interconnect = self.machine.interconnect
        match interconnect:
            case Bus(request, transfer, _, split):
                if not split:
                    return label.at(BUS, request + memory.access + transfer, "transaction")
                return then(
                    label.at(BUS, request, "request"),
                    _access_one_module(label, ratios, memory.access),
                    label.at(BUS, transfer, "transfer"),
                )
            case Ring():
                return self._way_around_ring(label, interconnect)
            case Multistage(radix, ports, hop, transfer, circuit):
                way = ceil_log(ports, radix) * hop
                if self.contended:
                    way_there = then() if circuit else label.wait(way, "there")
                    back = then() if circuit else label.wait(way, "back")
                    return then(
                        way_there, self._access_through_switches(label, ratios, interconnect), back
                    )
                if circuit:
                    return _access_one_module(
                        label, ratios, 2 * way + transfer + memory.access, circuits=self.retried
                    )
            case _:
                way = interconnect.hop
                transfer = interconnect.transfer
        way_there = label.wait(way, "there")
        back = label.wait(way, "back")
        return then(way_there, _access_one_module(label, ratios, transfer + memory.access), back)

    def _access_through_switches(
        self, label: _AccessSteps, ratios: Sequence[float], switches: Multistage
    ) -> Activity:
        """Take the outputs of switches on the way from any processor, and access the module.

        Source: the paths are those of `slipstick.model.machine.omega_outputs`, after Lawrie, 1975.
        """
        radix, stages = _switches(switches)
        sources = range(radix ** (stages - 1))
        targets = [k for k, ratio in enumerate(ratios) if ratio]
        if len(sources) * len(targets) > MOST_PATHS:
            raise ModelError(
                f"{len(sources) * len(targets)} paths lead to {len(targets)} memory modules of"
                f" {self.machine.name}; with stages: contend at most {MOST_PATHS}; give fewer"
                " elements or modules"
            )
        way = 2 * stages * switches.hop if switches.circuit else zero(TIME)
        paths = []
        for k in targets:
            access: Activity = label.at(
                module(k), way + switches.transfer + self.machine.memory.access, f"m{k}"
            )
            access = hold(_circuit(k), access) if self.retried else access
            for source in sources:
                outputs = omega_outputs(radix, stages, source, k)
                path = [
                    _output(stage, number) for stage, number in outputs.items() if stage != "module"
                ]
                paths.append(
                    (
                        ratios[k] / len(sources),
                        self._access_along_path(label, path, access, switches),
                    )
                )
        return paths[0][1] if len(paths) == 1 else choose(*paths)

    def _access_along_path(
        self, label: _AccessSteps, path: Sequence[str], access: Activity, switches: Multistage
    ) -> Activity:
        if not switches.circuit:
            return then(*(label.at(link, switches.transfer, link) for link in path), access)
        for link in reversed(path):
            access = hold(link, access)
        return access

    def own_access(self, name: str) -> Activity:
        """Access the module of the processor's own node, without the network; each of the modules
        is as likely.

        Raises
        ------
        ModelError : processors have no modules of their own
        """
        if isinstance(self.machine.interconnect, Bus | Ring):
            raise ModelError(
                f"the memory modules of {self.machine.name} belong to no processor; leave out local"
            )
        modules = self._modules
        return _access_one_module(
            _AccessSteps(f"{name}.own", "memory"),
            (1 / modules,) * modules,
            self.machine.memory.access,
        )

    def invalidate(self, name: str) -> Activity:
        """Invalidate other copies: a transaction on a bus, part of the access elsewhere."""
        interconnect = self.machine.interconnect
        if isinstance(interconnect, Bus):
            return _AccessSteps(name, "coherence").at(BUS, interconnect.invalidate, "invalidate")
        return then()

    def lock_access(self, name: str, seconds: Expr, ratios: Sequence[float]) -> Activity:
        """Access a word of a lock for a time at one of the modules, each with its share of the
        accesses.
        """
        return _access_one_module(_AccessSteps(name, "lock"), ratios, seconds)

    @property
    def _modules(self) -> int:
        return int(structural_number(self.machine.memory.modules, "the number of memory modules"))

    def far(self, ring: Ring) -> Expr:
        """Return the share of the accesses to another ring: any of the others replies, each as
        likely, and those of the own ring are near.
        """
        return maximum(1 - (ring.members - 1) / maximum(self.others, 1), 0)

    def _way_around_ring(self, label: _AccessSteps, ring: Ring) -> Activity:
        """Go around the ring, or around the ring of rings if a processor of another ring
        replies.
        """
        own_ring_step = label.at(RING, ring.rotation, "ring")
        if ring.upper is None:
            return own_ring_step
        far_share = self.far(ring)
        return choose(
            (1 - far_share, own_ring_step), (far_share, label.at(UPPER, ring.upper, "upper"))
        )


def module(number: int) -> str:
    """Return the name of a memory module."""
    return f"memory-{number}"


@dataclass(frozen=True, slots=True)
class _AccessSteps:
    """Names and component of the steps of one kind of access."""

    name: str
    component: str

    def at(self, resource: str, seconds: Expr, part: str) -> Activity:
        technology = "memory" if resource.startswith("memory") else "wire"
        return service(
            resource,
            seconds,
            name=f"{self.name}.{part}",
            component=self.component,
            technology=technology,
        )

    def wait(self, seconds: Expr, part: str) -> Activity:
        return delay(
            seconds, name=f"{self.name}.{part}", component=self.component, technology="switch"
        )


def _switches(network: Multistage) -> tuple[int, int]:
    """Return the inputs of a switch and the number of stages."""
    radix, ports = (
        int(structural_number(size, "a size of the switches"))
        for size in (network.radix, network.ports)
    )
    return radix, math.ceil(math.log(ports, radix) - 1e-9)


def _output(stage: str, number: int) -> str:
    """Name an output of a switch."""
    return f"{stage.replace(' ', '-')}.{number}"


def _outputs(network: Multistage) -> list[str]:
    """Name the outputs of all stages but the last, whose outputs are the links of the modules."""
    radix, stages = _switches(network)
    return [
        _output(f"stage {stage + 1}", number)
        for stage in range(stages - 1)
        for number in range(radix**stages)
    ]


def _circuit(number: int) -> str:
    """Name the right to a circuit to a memory module."""
    return f"circuit-{number}"


def _access_one_module(
    label: _AccessSteps, ratios: Sequence[float], seconds: Expr, *, circuits: bool = False
) -> Activity:
    """Access one of the modules, each with its share of the accesses; by a circuit that may be
    refused, if there are such.
    """
    if seconds == zero(TIME):
        return then()
    steps = {k: label.at(module(k), seconds, f"m{k}") for k, ratio in enumerate(ratios) if ratio}
    choices = [
        (ratios[k], hold(_circuit(k), step) if circuits else step) for k, step in steps.items()
    ]
    return choices[0][1] if len(choices) == 1 else choose(*choices)


def _servers(slots: Expr) -> int:
    return int(structural_number(slots, "the number of slots of a ring"))


def lock_kind(machine: SharedMemory, name: str, other_processors: Expr) -> MachineLock:
    """Look up one of a machine's locks, with its accesses as they are among a number of other
    processors that use it.

    Where the machine tells the time of an access to a word that the processor itself accessed last,
    its latency is that of such accesses. On a ring of rings, the latency is that of accesses on the
    own ring; the last that had the lock is any of the others, each as likely, and as many of the
    accesses go to another ring. A lock that is handed over in order was another's before;
    a word that all test was last accessed by any of the processors, each as likely.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name not in machine.locks:
        raise ModelError(
            f"{machine.name} has no lock {name!r}{did_you_mean(name, list(machine.locks))}"
        )
    kind = machine.locks[name]
    ring = machine.interconnect
    if isinstance(ring, Ring) and (upper := ring.upper) is not None:
        far_share = MemoryPort(machine, other_processors).far(ring)
        kind = kind._replace(latency=kind.latency * (1 + far_share * (upper / ring.rotation - 1)))
    if kind.own is None:
        return kind
    unordered = kind.kind in ("tas", "ttas")
    foreign = (
        other_processors / (other_processors + 1) if unordered else minimum(other_processors, 1)
    )
    access = kind.own + foreign * (kind.access - kind.own)
    accesses = LOCKS[kind.kind].acquire + LOCKS[kind.kind].release
    return kind._replace(access=access, latency=kind.latency + accesses * (access - kind.own))


def barrier_cost(kind: BarrierKind, processors: Expr) -> Expr:
    """Return the time from the last arrival until all continue, if all arrive together [s]."""
    access = kind.access
    cost: Expr
    match kind.kind:
        case "central":
            cost = CENTRAL_BARRIER(processors=processors, update=access, notice=access)
        case "tree":
            cost = COMBINING_TREE_BARRIER(
                processors=processors, fan=kind.radix, update=access, notice=access
            )
        case "tournament":
            cost = TOURNAMENT_BARRIER(processors=processors, message=access, release=access)
        case "dissemination":
            cost = DISSEMINATION_BARRIER(processors=processors, message=access)
        case _:
            cost = MANAGER_BARRIER(
                processors=processors, arrival=access, departure=access, transit=zero(TIME)
            )
    return cost


def barrier_of(
    machine: SharedMemory, name: str, processors: Expr
) -> tuple[Activity, dict[str, Resource]]:
    """Build the arrival at one of the machine's barriers, and the barrier as a resource; nothing if
    the name is none.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name == NONE:
        return then(), {}
    if name not in machine.barriers:
        raise ModelError(
            f"{machine.name} has no barrier {name!r}{did_you_mean(name, list(machine.barriers))}"
        )
    kind = machine.barriers[name]
    return barrier(name), {name: Barrier(kind.kind, barrier_cost(kind, processors))}
