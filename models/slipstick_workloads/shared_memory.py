"""Accesses to shared memory as activities on buses, switches, rings and modules; locks and barriers
of a machine.

Approximations:

- A multistage network or a crossbar is a delay in each direction, and each module is one server
  together with the last link before it, so earlier links never delay a request
  (`slipstick_laws.interconnects` has their effect on uniform traffic), unless the stages are
  `has_contention`: then a request takes the outputs of switches on its way through an omega
  network, from any processor, each access from another one. A packet occupies one output after the
  other, a circuit holds all that it has and waits for the next, and so delays others that want
  another module (tree saturation). Replies of packets never contend.
- A refused circuit waits in a queue, unless `retries_refused`: then it tries again after a pause,
  so that the module may be free while processors want it, and the processor that tries first comes
  next. Of stages that contend, the outputs on the way and the module are taken at one moment or not
  at all: the time that a refused request takes to come to a taken output, and holds those before
  it, is neglected.
- A ring is a station with as many servers as slots, each held for one rotation; of many rings, one
  stands for the near traffic of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import TIME, Expr, ceil_log, maximum, minimum, zero
from slipstick.late import dataclass
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
UPPER_RING = "upper-ring"
NO_LOCK_OR_BARRIER = "none"
"""What an input says in place of the name of a lock or barrier if there is none."""

MOST_PATHS = 4096
"""Most paths from processors to modules in a model where stages contend."""


@dataclass(frozen=True, slots=True)
class MemoryPort:
    """The connection of a processor to shared memory, which builds the activities of its accesses.

    Parameters
    ----------
    machine : of the processor
    other_processors : over how many other processors the data are spread [1]
    retries_refused : a circuit that finds its module taken is refused and tried again after the
        machine's pause
    has_contention : requests take outputs of switches before the modules

    Raises
    ------
    ModelError : circuits are to be tried again on a machine that has none, or without a pause;
        stages are to contend on a machine without stages
    """

    machine: SharedMemory
    other_processors: Expr
    retries_refused: bool = False
    has_contention: bool = False

    def __post_init__(self) -> None:
        interconnect = self.machine.interconnect
        if self.has_contention and not isinstance(interconnect, Multistage):
            raise ModelError(
                f"{self.machine.name} has no stages of switches; leave out stages: contend"
            )
        if not self.retries_refused:
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
        """The name of the station that holds a lock word."""
        match self.machine.interconnect:
            case Bus():
                return BUS
            case Ring():
                return RING
            case _:
                return module_name(0)

    def resources(self) -> dict[str, Resource]:
        """Return the stations of the interconnect by name; unused ones have no effect."""
        interconnect = self.machine.interconnect
        if self.retries_refused and isinstance(interconnect, Multistage):
            circuit = Lock("tas", back_off="constant", base=interconnect.retry, together=True)
            lock_names = [
                *map(_circuit_name, range(self._module_count)),
                *(_output_names(interconnect) if self.has_contention else ()),
            ]
            return {self.lock_word: Station(), **dict.fromkeys(lock_names, circuit)}
        if not isinstance(interconnect, Ring):
            return {self.lock_word: Station()}
        stations: dict[str, Resource] = {RING: Station(_server_count(interconnect.slots))}
        if interconnect.upper_slots is not None:
            stations[UPPER_RING] = Station(_server_count(interconnect.upper_slots))
        return stations

    def access(self, name: str, ratios: Sequence[float], component: str = "memory") -> Activity:
        """Build an access to shared memory over the interconnect.

        Parameters
        ----------
        name : first part of the names of the steps
        ratios : share of the accesses to each module [1]
        component : of the account
        """
        steps = _AccessSteps(name, component)
        memory = self.machine.memory
        interconnect = self.machine.interconnect
        match interconnect:
            case Bus(request, transfer, _, split):
                if not split:
                    return steps.service_at(BUS, request + memory.access + transfer, "transaction")
                return then(
                    steps.service_at(BUS, request, "request"),
                    _access_one_module(steps, ratios, memory.access),
                    steps.service_at(BUS, transfer, "transfer"),
                )
            case Ring():
                return self._access_around_rings(steps, interconnect)
            case Multistage(radix, ports, hop, transfer, circuit):
                crossing_time = ceil_log(ports, radix) * hop
                if self.has_contention:
                    forward_step = then() if circuit else steps.switch_delay(crossing_time, "there")
                    return_step = then() if circuit else steps.switch_delay(crossing_time, "back")
                    return then(
                        forward_step,
                        self._access_through_switches(steps, ratios, interconnect),
                        return_step,
                    )
                if circuit:
                    return _access_one_module(
                        steps,
                        ratios,
                        2 * crossing_time + transfer + memory.access,
                        uses_circuits=self.retries_refused,
                    )
            case _:
                crossing_time = interconnect.hop
                transfer = interconnect.transfer
        forward_step = steps.switch_delay(crossing_time, "there")
        return_step = steps.switch_delay(crossing_time, "back")
        return then(
            forward_step, _access_one_module(steps, ratios, transfer + memory.access), return_step
        )

    def _access_through_switches(
        self, steps: _AccessSteps, ratios: Sequence[float], switches: Multistage
    ) -> Activity:
        """Build an access that takes the outputs of switches on the way from any processor, and
        then the module.

        Source: the paths are those of `slipstick.model.machine.omega_outputs`, after Lawrie, 1975.
        """
        radix, stage_count = _radix_and_stages(switches)
        source_ports = range(radix ** (stage_count - 1))
        target_modules = [module_number for module_number, ratio in enumerate(ratios) if ratio]
        if len(source_ports) * len(target_modules) > MOST_PATHS:
            raise ModelError(
                f"{len(source_ports) * len(target_modules)} paths lead to"
                f" {len(target_modules)} memory modules of {self.machine.name}; with stages:"
                f" contend at most {MOST_PATHS}; give fewer"
                " elements or modules"
            )
        crossing_time = 2 * stage_count * switches.hop if switches.circuit else zero(TIME)
        probabilities_and_accesses = []
        for module_number in target_modules:
            access: Activity = steps.service_at(
                module_name(module_number),
                crossing_time + switches.transfer + self.machine.memory.access,
                f"m{module_number}",
            )
            access = hold(_circuit_name(module_number), access) if self.retries_refused else access
            for source_port in source_ports:
                outputs = omega_outputs(radix, stage_count, source_port, module_number)
                path = [
                    _output_name(stage, output)
                    for stage, output in outputs.items()
                    if stage != "module"
                ]
                probabilities_and_accesses.append(
                    (
                        ratios[module_number] / len(source_ports),
                        self._access_along_path(steps, path, access, switches),
                    )
                )
        return (
            probabilities_and_accesses[0][1]
            if len(probabilities_and_accesses) == 1
            else choose(*probabilities_and_accesses)
        )

    def _access_along_path(
        self, steps: _AccessSteps, path: Sequence[str], access: Activity, switches: Multistage
    ) -> Activity:
        """Build an access that takes the outputs of one path in turn."""
        if not switches.circuit:
            return then(
                *(steps.service_at(link_name, switches.transfer, link_name) for link_name in path),
                access,
            )
        for link_name in reversed(path):
            access = hold(link_name, access)
        return access

    def own_access(self, name: str) -> Activity:
        """Build one access to the module of the processor's own node, without the network. Each
        module has the same probability, because processors are alike.

        Raises
        ------
        ModelError : processors have no modules of their own
        """
        if isinstance(self.machine.interconnect, Bus | Ring):
            raise ModelError(
                f"the memory modules of {self.machine.name} belong to no processor; leave out local"
            )
        module_count = self._module_count
        return _access_one_module(
            _AccessSteps(f"{name}.own", "memory"),
            (1 / module_count,) * module_count,
            self.machine.memory.access,
        )

    def invalidate(self, name: str) -> Activity:
        """Build the invalidation of other copies: a transaction on a bus; on other interconnects it
        is part of the access.
        """
        interconnect = self.machine.interconnect
        if isinstance(interconnect, Bus):
            return _AccessSteps(name, "coherence").service_at(
                BUS, interconnect.invalidate, "invalidate"
            )
        return then()

    def lock_access(self, name: str, seconds: Expr, ratios: Sequence[float]) -> Activity:
        """Build an access of the given time to a lock word at one of the modules, chosen by its
        share of the accesses.
        """
        return _access_one_module(_AccessSteps(name, "lock"), ratios, seconds)

    @property
    def _module_count(self) -> int:
        return int(structural_number(self.machine.memory.modules, "the number of memory modules"))

    def far_share(self, ring: Ring) -> Expr:
        """Return the share of the accesses that go to another ring: every other processor replies
        with the same probability.
        """
        return maximum(1 - (ring.members - 1) / maximum(self.other_processors, 1), 0)

    def _access_around_rings(self, steps: _AccessSteps, ring: Ring) -> Activity:
        """Build an access that goes around the own ring, and around the ring of rings if a
        processor of another ring replies.
        """
        own_ring_step = steps.service_at(RING, ring.rotation, "ring")
        if ring.upper is None:
            return own_ring_step
        far_share = self.far_share(ring)
        return choose(
            (1 - far_share, own_ring_step),
            (far_share, steps.service_at(UPPER_RING, ring.upper, "upper")),
        )


def module_name(index: int) -> str:
    """Return the name of a memory module."""
    return f"memory-{index}"


@dataclass(frozen=True, slots=True)
class _AccessSteps:
    """The name and the component of one kind of access, which builds the steps of such accesses."""

    name: str
    component: str

    def service_at(self, resource: str, seconds: Expr, suffix: str) -> Activity:
        """Build the service at a station of the interconnect."""
        technology = "memory" if resource.startswith("memory") else "wire"
        return service(
            resource,
            seconds,
            name=f"{self.name}.{suffix}",
            component=self.component,
            technology=technology,
        )

    def switch_delay(self, seconds: Expr, suffix: str) -> Activity:
        """Build a delay in switches."""
        return delay(
            seconds, name=f"{self.name}.{suffix}", component=self.component, technology="switch"
        )


def _radix_and_stages(network: Multistage) -> tuple[int, int]:
    """Return the number of inputs of a switch and the number of stages of a network."""
    radix, ports = (
        int(structural_number(switch_size, "a size of the switches"))
        for switch_size in (network.radix, network.ports)
    )
    # The quotient of logarithms may lie above a whole number by rounding, as log 125 / log 5 does.
    return radix, math.ceil(math.log(ports, radix) - 1e-9)


def _output_name(stage: str, index: int) -> str:
    """Return the name of an output of a switch."""
    return f"{stage.replace(' ', '-')}.{index}"


def _output_names(network: Multistage) -> list[str]:
    """Return the names of the outputs of all stages but the last, whose outputs are the links of
    the modules.
    """
    radix, stages = _radix_and_stages(network)
    return [
        _output_name(f"stage {stage + 1}", index)
        for stage in range(stages - 1)
        for index in range(radix**stages)
    ]


def _circuit_name(index: int) -> str:
    """Return the name of the resource that a request holds while it uses the circuit to memory
    module `index`.
    """
    return f"circuit-{index}"


def _access_one_module(
    steps: _AccessSteps, ratios: Sequence[float], seconds: Expr, *, uses_circuits: bool = False
) -> Activity:
    """Build an access to one of the modules, each chosen by its share of the accesses; with
    `uses_circuits` it holds the module's circuit, which may be refused.
    """
    if seconds == zero(TIME):
        return then()
    step_by_module = {
        module_number: steps.service_at(module_name(module_number), seconds, f"m{module_number}")
        for module_number, ratio in enumerate(ratios)
        if ratio
    }
    ratios_and_accesses = [
        (ratios[module_number], hold(_circuit_name(module_number), step) if uses_circuits else step)
        for module_number, step in step_by_module.items()
    ]
    return (
        ratios_and_accesses[0][1] if len(ratios_and_accesses) == 1 else choose(*ratios_and_accesses)
    )


def _server_count(slots: Expr) -> int:
    """Return the number of slots of a ring as a whole number of servers."""
    return int(structural_number(slots, "the number of slots of a ring"))


def lock_with_mean_times(machine: SharedMemory, name: str, other_processors: Expr) -> MachineLock:
    """Return one of a machine's locks, with the mean times of its accesses when other processors
    use it as well.

    On a ring of rings, the machine's latency holds for accesses on the own ring: it grows with the
    share of accesses to another ring, where each other processor is equally likely to have had the
    lock last. If the machine has the time of an access to a word that the same processor accessed
    last, its latency consists of such accesses: a lock that is handed over in order comes from
    another processor, and a word that all processors test was last accessed by any of them with
    equal probability.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name not in machine.locks:
        raise ModelError(
            f"{machine.name} has no lock {name!r}{did_you_mean(name, list(machine.locks))}"
        )
    machine_lock = machine.locks[name]
    interconnect = machine.interconnect
    if isinstance(interconnect, Ring) and (upper_ring := interconnect.upper) is not None:
        far_share = MemoryPort(machine, other_processors).far_share(interconnect)
        machine_lock = machine_lock._replace(
            latency=machine_lock.latency
            * (1 + far_share * (upper_ring / interconnect.rotation - 1))
        )
    if machine_lock.own is None:
        return machine_lock
    is_unordered = machine_lock.kind in ("tas", "ttas")
    foreign_share = (
        other_processors / (other_processors + 1) if is_unordered else minimum(other_processors, 1)
    )
    mean_access = machine_lock.own + foreign_share * (machine_lock.access - machine_lock.own)
    access_count = LOCKS[machine_lock.kind].acquire + LOCKS[machine_lock.kind].release
    return machine_lock._replace(
        access=mean_access,
        latency=machine_lock.latency + access_count * (mean_access - machine_lock.own),
    )


def barrier_cost(machine_barrier: BarrierKind, processors: Expr) -> Expr:
    """Return the time from the last arrival at a barrier until all processors continue, if all
    arrive at the same time [s].
    """
    access = machine_barrier.access
    barrier_time: Expr
    match machine_barrier.kind:
        case "central":
            barrier_time = CENTRAL_BARRIER(processors=processors, update=access, notice=access)
        case "tree":
            barrier_time = COMBINING_TREE_BARRIER(
                processors=processors, fan=machine_barrier.radix, update=access, notice=access
            )
        case "tournament":
            barrier_time = TOURNAMENT_BARRIER(processors=processors, message=access, release=access)
        case "dissemination":
            barrier_time = DISSEMINATION_BARRIER(processors=processors, message=access)
        case _:
            barrier_time = MANAGER_BARRIER(
                processors=processors, arrival=access, departure=access, transit=zero(TIME)
            )
    return barrier_time


def arrival_and_barrier(
    machine: SharedMemory, name: str, processors: Expr
) -> tuple[Activity, dict[str, Resource]]:
    """Return the activity that arrives at one of the machine's barriers, and the barrier as a
    resource by its name. For the name ``none`` return an empty step and no resource.

    Raises
    ------
    ModelError : it has none of that name
    """
    if name == NO_LOCK_OR_BARRIER:
        return then(), {}
    if name not in machine.barriers:
        raise ModelError(
            f"{machine.name} has no barrier {name!r}{did_you_mean(name, list(machine.barriers))}"
        )
    machine_barrier = machine.barriers[name]
    return barrier(name), {
        name: Barrier(machine_barrier.kind, barrier_cost(machine_barrier, processors))
    }
