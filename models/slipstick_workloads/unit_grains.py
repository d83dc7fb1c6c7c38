"""Unit grains: accesses, computing and critical sections of one processor among competitors, and
phases of such grains.

A grain is g_m, m accesses to shared elements, then g_c, c units of computing, then g_s, a critical
section of c_s units of computing and m_s accesses; each may be absent. One test processor repeats
its grain among N competitors, which repeat the same (homogeneous) or another one (heterogeneous).
T_0 and T_N are the times of the test grain alone and among the competitors; see
law/grain-efficiency and law/grain-interference. Answers give T_0 as ``time_alone``, zeta and Phi as
``grain_efficiency`` and ``grain_interference``, and WARPS, the words that all access at random in a
second, as ``warps`` (law/words-accessed-randomly) where all repeat one grain with accesses at
random.

Programs of phases: phase k is r_k identical grains on each of N_k processors, ended by a barrier
that costs T_B(N_k) beyond waiting for the last processor; a sequential part takes T_S. With
t_k(N_k) the time of a grain of the slowest processor among its N_k - 1 competitors, the whole takes
T = T_S + sum of r_k t_k(N_k) + T_B(N_k); see law/phase-time.

Source: Nanda and Ni, Benchmark workload generation and performance characterization of
multiprocessors, Supercomputing 1992.

Places of periodic and random addresses: shares of interleaved memory modules, miss ratios of a
cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from slipstick.errors import ModelError
from slipstick.expression.nodes import (
    COUNT,
    TIME,
    Expr,
    Like,
    Number,
    Parameter,
    maximum,
    zero,
)
from slipstick.late import dataclass, replace
from slipstick.law.symbols import NANDA_NI
from slipstick.model.activity import barrier, choose, delay, fork, hold, repeat, then
from slipstick.model.machine import Bus, Cache, MachineLock, Ring, SharedMemory
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Lock,
    Model,
    Resource,
    SingleProcessor,
    closed_model,
    grouped_model,
    phased_model,
    superstep_model,
)
from slipstick.program.program import (
    Input,
    InputValues,
    Program,
    structural_number,
    value_of,
    word,
)
from slipstick.vocabulary import LOCKS
from slipstick_workloads.shared_memory import (
    NO_LOCK_OR_BARRIER,
    MemoryPort,
    arrival_and_barrier,
    lock_with_mean_times,
)

RIVAL_PREFIX = "other_"
MOST_ELEMENTS = 2.0**24
"""Largest number of elements, stride and offset; the addresses of more would take long to count."""

LARGEST_BLOCK = 2.0**40
"""Blocks beyond this many elements hold all of them."""

PATTERNS = ("uniform", "random")
USEFUL_COMPONENTS = ("busy", "memory", "critical", "lock")


@dataclass(frozen=True, slots=True)
class Grain:
    """One unit grain: what a processor does in a cycle.

    Parameters
    ----------
    prefix : of the names of its steps, so that one model can have two grains
    is_writing : its accesses write; else they read
    addresses : of its accesses
    local_share : share of its accesses that find their element in the processor's own memory module
        [1]
    index_units : units of computing to draw the element of an access at random [1]
    access_count : m [1]
    compute_units : c, units of computing [1]
    lock_name : the machine's lock of the critical section, or none
    critical_units, critical_access_count : c_s, and m_s, the accesses inside [1]
    critical_write_share : f_s, the fraction of these that write [1]
    scv : squared coefficient of variation of both computing times [1]
    """

    prefix: str
    is_writing: bool
    addresses: Addresses
    local_share: Expr
    index_units: Expr
    access_count: Expr
    compute_units: Expr
    lock_name: str
    critical_units: Expr
    critical_access_count: Expr
    critical_write_share: Expr
    scv: float

    @staticmethod
    def from_inputs(inputs: InputValues, prefix: str = "") -> Grain:
        """Return the grain that inputs with a prefix describe; a missing input has the value of the
        test grain.
        """

        def input_value(name: str) -> Expr:
            value = inputs.get(f"{prefix}{name}", inputs[name])
            assert isinstance(value, Expr)
            return value

        def text_value(name: str) -> str:
            value = inputs.get(f"{prefix}{name}", inputs[name])
            assert isinstance(value, str)
            return value

        addresses = Addresses(
            element_count=int(structural_number(value_of(inputs, "elements"), "elements")),
            stride=int(structural_number(input_value("stride"), "stride")),
            offset=int(structural_number(input_value("start"), "start")),
            is_random=text_value("pattern") == "random",
        )
        return Grain(
            prefix.replace("_", "."),
            text_value("access") == "write",
            addresses,
            input_value("local"),
            input_value("index"),
            input_value("accesses"),
            input_value("compute"),
            text_value("lock"),
            input_value("critical"),
            input_value("critical_accesses"),
            input_value("critical_writes"),
            structural_number(input_value("scv"), "scv"),
        )


def unit_grain_model(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of a test grain among competitors, with the model of the grain alone; it
    counts the accessed words as if all processors accessed them at random.
    """
    has_one_grain = not any(f"{RIVAL_PREFIX}{name}" in inputs for name in _GRAIN_INPUT_NAMES)
    counts_words = (
        has_one_grain
        and word(inputs, "pattern") == "random"
        and not _is_zero(value_of(inputs, "accesses"))
    )
    competitors = value_of(inputs, "competitors")
    model_alone = _model_with_competitors(
        machine, {**inputs, "competitors": Number(0.0)}, competitors
    )
    model_among = _model_with_competitors(machine, inputs, competitors)
    accessed_words = value_of(inputs, "accesses") if counts_words else None
    return replace(
        model_among,
        single=SingleProcessor(model_alone, accessed_words),
        notes=_missing_processors_notes(machine, structural_number(competitors, "competitors") + 1),
    )


def _missing_processors_notes(machine: SharedMemory, wanted_count: float) -> tuple[str, ...]:
    """Return a note if a machine has fewer processors than take part; else nothing."""
    processor_count = structural_number(machine.processors, "the number of processors")
    if wanted_count <= processor_count:
        return ()
    return (
        (
            f"{machine.name} has {processor_count:g} processors; with {wanted_count:g} the answer"
            " is for a"
            " larger one of its kind"
        ),
    )


def _model_with_competitors(
    machine: SharedMemory, inputs: InputValues, others_with_data: Expr
) -> Model:
    """Build the model of a test grain among competitors, with one population if all repeat the same
    grain.

    The data are spread over `others_with_data` competitors, also for the test grain alone, so that
    T_0 and T_N are times of the same accesses.
    """
    test_grain = Grain.from_inputs(inputs)
    competitors = value_of(inputs, "competitors")
    grain_steps = GrainSteps(
        machine, competitors, others_with_data, *_retries_and_stage_contention(inputs)
    )
    arrival, barriers = arrival_and_barrier(machine, word(inputs, "barrier"), competitors + 1)
    if not any(f"{RIVAL_PREFIX}{name}" in inputs for name in _GRAIN_INPUT_NAMES):
        cycle = grain_steps.cycle(test_grain, test_grain, processor_0_only=False) >> arrival
        _check_not_empty(cycle)
        resources = {**grain_steps.resources(test_grain.lock_name), **barriers}
        return closed_model(
            cycle, competitors + 1, name="grain/unit", resources=resources, useful=USEFUL_COMPONENTS
        )
    rival_grain = Grain.from_inputs(inputs, RIVAL_PREFIX)
    own_cycle = grain_steps.cycle(test_grain, rival_grain, processor_0_only=True) >> arrival
    _check_not_empty(own_cycle)
    groups: dict[str, tuple[Like, Activity]] = {
        "test": (1, own_cycle),
        "competitors": (
            competitors,
            grain_steps.cycle(rival_grain, test_grain, processor_0_only=False) >> arrival,
        ),
    }
    resources = {**grain_steps.resources(test_grain.lock_name, rival_grain.lock_name), **barriers}
    return grouped_model(groups, name="grain/unit", resources=resources, useful=USEFUL_COMPONENTS)


def _retries_and_stage_contention(inputs: InputValues) -> tuple[bool, bool]:
    """Return whether refused circuits are tried again, and whether stages contend."""
    return word(inputs, "refused") == "retry", word(inputs, "stages") == "contend"


@dataclass(frozen=True, slots=True)
class GrainSteps:
    """The builder of the steps of grains on a machine.

    Parameters
    ----------
    machine : on which they run
    other_processors : how many other processors take part [1]
    others_with_data : over how many other processors the data are spread; as many as take part by
        default [1]
    retries_refused : refused circuits are tried again
    has_contention : requests contend for the switches before the modules
    node_count : on how many nodes, from 0 on, processors wait for flags; on all of the machine by
        default
    is_linked : an acquisition of a lock with flags asks the processor that asked before, wherever
        that is, in place of a counter on one node
    """

    machine: SharedMemory
    other_processors: Expr
    others_with_data: Expr | None = None
    retries_refused: bool = False
    has_contention: bool = False
    node_count: Expr | None = None
    is_linked: bool = False

    @property
    def port(self) -> MemoryPort:
        """The connection of a processor to shared memory."""
        other_processors = (
            self.other_processors if self.others_with_data is None else self.others_with_data
        )
        return MemoryPort(self.machine, other_processors, self.retries_refused, self.has_contention)

    def resources(self, *lock_names: str) -> dict[str, Resource]:
        """Return the stations of the machine and the given locks, by name."""
        stations = self.port.resources()
        for name in lock_names:
            if name != NO_LOCK_OR_BARRIER:
                machine_lock = lock_with_mean_times(self.machine, name, self.other_processors)
                if self.has_flags(machine_lock):
                    stations[name] = Lock(
                        "fifo" if machine_lock.home is None else "array", home=machine_lock.home
                    )
                    continue
                own_access_time = structural_number(
                    self.machine.locks[name].access, "the access of a lock"
                )
                lock_access_time = machine_lock.access if own_access_time else zero(TIME)
                lock_word = self.port.lock_word if lock_access_time is machine_lock.access else None
                stations[name] = Lock(
                    machine_lock.kind,
                    lock_word,
                    lock_access_time,
                    machine_lock.back_off,
                    machine_lock.base,
                    machine_lock.most,
                    machine_lock.home,
                )
        return stations

    def has_flags(self, lock: MachineLock) -> bool:
        """Return whether a lock is an array of flags that lie in the memory modules of the
        processors that wait on them.
        """
        return lock.kind == "array" and not isinstance(self.machine.interconnect, Bus | Ring)

    def cycle(self, grain: Grain, rival_grain: Grain, *, processor_0_only: bool) -> Activity:
        """Build the steps of a grain whose competitors repeat the grain `rival_grain`; with
        `processor_0_only` it accesses the elements of processor 0, else the elements of a mean
        processor.
        """
        steps: list[Activity] = []
        if not _is_zero(grain.access_count):
            access = self._shared_access(grain, rival_grain, processor_0_only)
            if grain.addresses.is_random and not _is_zero(grain.index_units):
                access = self._compute_step(grain, grain.index_units, "index", "busy") >> access
            steps.append(repeat(grain.access_count, access))
        if not _is_zero(grain.compute_units):
            steps.append(self._compute_step(grain, grain.compute_units, "compute", "busy"))
        if grain.lock_name != NO_LOCK_OR_BARRIER:
            steps.append(self._critical_section(grain, processor_0_only))
        return then(*steps)

    def _compute_step(self, grain: Grain, units: Expr, name: str, component: str) -> Activity:
        """Build a step of computing."""
        return delay(
            units * self.machine.step,
            name=f"{grain.prefix}{name}",
            component=component,
            scv=grain.scv,
        )

    def _module_ratios(self, grain: Grain, processor_0_only: bool) -> tuple[float, ...]:
        """Return the share of the accesses of a grain that each memory module gets."""
        memory = self.machine.memory
        modules = int(structural_number(memory.modules, "the number of memory modules"))
        return grain.addresses.module_ratios(
            _elements_per_line(memory.block, self.machine),
            modules,
            all_processors=not processor_0_only,
        )

    def _shared_access(self, grain: Grain, rival_grain: Grain, processor_0_only: bool) -> Activity:
        """Build an access to one shared element: over the interconnect if there is no cache, else
        by a hit or a miss.
        """
        name = f"{grain.prefix}{'write' if grain.is_writing else 'read'}"
        ratios = self._module_ratios(grain, processor_0_only)
        direct_access = self.port.access(name, ratios)
        cache = self.machine.cache
        if not _is_zero(grain.local_share):
            direct_access = choose(
                (grain.local_share, self.port.own_access(name)),
                (1 - grain.local_share, direct_access),
            )
        if cache is None or (grain.is_writing and cache.protocol == "write-through"):
            return direct_access
        line_count = structural_number(cache.size, "the size of the cache") / structural_number(
            cache.line, "the size of a line"
        )
        miss_ratio = grain.addresses.miss_ratio(
            _elements_per_line(cache.line, self.machine), line_count
        )
        # A modified line that is replaced is written back while the new one is fetched.
        miss_access = (
            fork(direct_access, self.port.access(f"{name}.victim", ratios))
            if grain.is_writing
            else direct_access
        )
        return _hit_or_miss(
            miss_ratio, miss_access, self._access_found_line(name, grain, rival_grain, ratios)
        )

    def _access_found_line(
        self, name: str, grain: Grain, rival_grain: Grain, ratios: tuple[float, ...]
    ) -> Activity:
        """Build an access to a line that is in the cache: memory is accessed again if another
        processor wrote it last, and a write invalidates other copies.

        Assumes that competitors access the same elements, whatever their addresses.
        """
        assert self.machine.cache is not None
        cache = self.machine.cache
        elements_per_line = _elements_per_line(self.machine.cache.line, self.machine)
        hit_step = delay(
            _hit_time(cache, grain, elements_per_line),
            name=f"{name}.hit",
            component="memory",
            technology="memory",
        )
        # The processor of N + 1 that accessed the line last is equally likely to be any of them.
        share_of_others = self.other_processors / (self.other_processors + 1)
        if rival_grain.is_writing:
            repeated_access = self.port.access(f"{name}.again", ratios, "coherence")
            if cache.other is not None:
                repeated_access = delay(
                    cache.other, name=f"{name}.other", component="coherence", technology="memory"
                )
            return choose((share_of_others, repeated_access), (1 - share_of_others, hit_step))
        if grain.is_writing:
            return hit_step >> choose(
                (share_of_others, self.port.invalidate(name)), (1 - share_of_others, then())
            )
        return hit_step

    def _critical_section(self, grain: Grain, processor_0_only: bool) -> Activity:
        """Build the critical section, with the acquisition of its lock before it and the release
        after it. Its accesses spread over the memory modules like the accesses of processor 0 with
        `processor_0_only`, else like the accesses of all processors.

        The latency of a free lock consists of accesses and instructions. The share `held` of the
        instructions, which depends on the kind of lock, is executed while the lock is held. The
        instructions that enter a processor into a list of waiting processors overlap its wait.
        """
        machine_lock = lock_with_mean_times(self.machine, grain.lock_name, self.other_processors)
        steps_inside = []
        steps_before, steps_after = (
            self._flag_steps(machine_lock, grain.prefix)
            if self.has_flags(machine_lock)
            else (then(), then())
        )
        access_time = (
            LOCKS[machine_lock.kind].acquire + LOCKS[machine_lock.kind].release
        ) * machine_lock.access
        instruction_time = maximum(machine_lock.latency - access_time, zero(TIME))
        held_share = LOCKS[machine_lock.kind].held
        if not _is_zero(grain.critical_units):
            steps_inside.append(
                self._compute_step(grain, grain.critical_units, "critical", "critical")
            )
        if not _is_zero(grain.critical_access_count):
            name = f"{grain.prefix}critical"
            ratios = self._module_ratios(grain, processor_0_only)
            read, write = (
                self.port.access(f"{name}.{access_kind}", ratios)
                for access_kind in ("read", "write")
            )
            written_word = write >> self.port.invalidate(f"{name}.write")
            writes = grain.critical_write_share
            steps_inside.append(
                repeat(
                    grain.critical_access_count, choose((writes, written_word), (1 - writes, read))
                )
            )
        acquire, release = (
            delay(
                instruction_share * instruction_time,
                name=f"{grain.prefix}lock.{call_name}",
                component="lock",
                technology="software",
            )
            for call_name, instruction_share in (
                ("acquire", 1 - held_share),
                ("release", held_share),
            )
        )
        return (
            acquire
            >> steps_before
            >> hold(grain.lock_name, then(*steps_inside, release, steps_after))
        )

    def _flag_steps(self, machine_lock: MachineLock, prefix: str) -> tuple[Activity, Activity]:
        """Build the accesses before a critical section, to the counter and the processor's own
        flag, and the accesses after it, which reset this flag and set the next holder's.

        No other processor delays accesses to the own flag. The next holder's flag is with equal
        probability in the module of any processor that may wait, and so is, if the lock is a linked
        list, the entry of the processor that asked last. A flag that is set is seen at once.
        """
        module_count = int(
            structural_number(self.machine.memory.modules, "the number of memory modules")
        )
        if self.node_count is not None:
            module_count = min(
                module_count,
                int(
                    structural_number(self.node_count, "the processors that use a lock with flags")
                ),
            )
        equal_ratios = (1 / module_count,) * module_count
        counter_access = self.port.lock_access(
            f"{prefix}lock.counter", machine_lock.access, equal_ratios if self.is_linked else (1.0,)
        )
        next_flag_access = self.port.lock_access(
            f"{prefix}lock.flag", machine_lock.access, equal_ratios
        )
        own_flag_steps = [
            delay(
                machine_lock.access,
                name=f"{prefix}lock.own.{call}",
                component="lock",
                technology="memory",
            )
            for call in ("test", "reset")
        ]
        return counter_access >> own_flag_steps[0], own_flag_steps[1] >> next_flag_access


def _hit_time(cache: Cache, grain: Grain, elements_per_line: int) -> Expr:
    """Return the mean time of an access that finds its line in the cache [s]: the time of the
    nearest level that has the line.
    """

    def miss_ratio(cache_size: Expr) -> float:
        """Return the share of the accesses that a cache of a size misses [1]."""
        return grain.addresses.miss_ratio(
            elements_per_line,
            structural_number(cache_size, "the size of a cache")
            / structural_number(cache.line, "the size of a line"),
        )

    hit_time: Expr = zero(TIME)
    missed_share = 1.0
    overall_miss_ratio = miss_ratio(cache.size)
    for cache_level in cache.inner:
        hit_time = hit_time + (missed_share - miss_ratio(cache_level.size)) * cache_level.hit
        missed_share = miss_ratio(cache_level.size)
    overall_hit_ratio = 1.0 - overall_miss_ratio
    return (
        (hit_time + (missed_share - overall_miss_ratio) * cache.hit) / overall_hit_ratio
        if cache.inner and overall_hit_ratio
        else cache.hit
    )


def _hit_or_miss(miss_ratio: float, miss_access: Activity, hit_access: Activity) -> Activity:
    """Build a choice between a miss and a hit."""
    if miss_ratio in (0.0, 1.0):
        return miss_access if miss_ratio else hit_access
    return choose((miss_ratio, miss_access), (1 - miss_ratio, hit_access))


def _elements_per_line(line_size: Expr, machine: SharedMemory) -> int:
    """Return the number of elements in a block or line; at least one."""
    element_count = structural_number(line_size, "the size of a block") / structural_number(
        machine.memory.element, "the size of an element"
    )
    return int(max(1.0, min(element_count, LARGEST_BLOCK)))


def _is_zero(value: Expr) -> bool:
    """Return whether an expression is the number 0."""
    return isinstance(value, Number | Parameter) and value.value == 0


def _check_not_empty(cycle: Activity) -> None:
    """Raise if the cycle of a grain has no steps."""
    if cycle == then():
        raise ModelError(
            "the test grain does nothing; give it accesses, compute, a lock or a barrier"
        )


ELEMENTS_INPUT = Input(
    "elements",
    COUNT,
    "M: elements shared by all; 1 is a hot spot",
    1.0,
    least=1,
    most=MOST_ELEMENTS,
    whole=True,
)

_ADDRESS_INPUTS = (
    Input(
        "access", COUNT, "t: whether the accesses read or write", "read", options=("read", "write")
    ),
    Input(
        "pattern",
        COUNT,
        "uniform stride, or random: every element equally likely",
        "uniform",
        options=PATTERNS,
    ),
    Input(
        "start",
        COUNT,
        "p: distance of the first elements of processors; i begins at element i p mod M",
        0.0,
        most=MOST_ELEMENTS,
        whole=True,
    ),
    Input(
        "stride",
        COUNT,
        "s: from the element of one access to that of the next",
        1.0,
        most=MOST_ELEMENTS,
        whole=True,
    ),
    Input(
        "local",
        COUNT,
        "share of the accesses that find their element in the processor's own module",
        0.0,
        most=1.0,
    ),
    Input(
        "index",
        COUNT,
        "units of computing to draw the element of each access; with the pattern random",
        0.0,
    ),
)

REFUSED_INPUT = Input(
    "refused",
    COUNT,
    "whether a circuit that finds its module, or an output of stages that contend, taken waits for"
    " it, or gives up all and tries again after the machine's pause",
    "queue",
    options=("queue", "retry"),
)

STAGES_INPUT = Input(
    "stages",
    COUNT,
    "whether switches before the modules pass all requests, or requests that want one output"
    " contend for it",
    "free",
    options=("free", "contend"),
)

ACCESS_INPUTS = (ELEMENTS_INPUT, *_ADDRESS_INPUTS)
"""Inputs of the kind and the addresses of accesses."""

CRITICAL_WRITES_INPUT = Input(
    "critical_writes", COUNT, "f_s: fraction of these that write", 0.0, most=1.0
)
SCV_INPUT = Input(
    "scv", COUNT, "squared coefficient of variation of computing; 0 is a deterministic grain", 0.0
)

_GRAIN_INPUTS = (
    *_ADDRESS_INPUTS,
    Input("accesses", COUNT, "m: accesses of a grain to shared elements", 1.0),
    Input("compute", COUNT, "c: units of computing of a grain", 0.0),
    Input(
        "lock",
        COUNT,
        "the machine's lock of the critical section; none if there is none",
        NO_LOCK_OR_BARRIER,
        named="locks",
    ),
    Input("critical", COUNT, "c_s: units of computing in the critical section", 0.0),
    Input("critical_accesses", COUNT, "m_s: accesses in the critical section", 0.0),
    CRITICAL_WRITES_INPUT,
    SCV_INPUT,
)

_GRAIN_INPUT_NAMES = tuple(attribute.name for attribute in _GRAIN_INPUTS)

UNIT = Program(
    "grain/unit",
    "A unit grain among competitors: accesses, computing, a critical section",
    NANDA_NI,
    (
        Input("competitors", COUNT, "N: processors beside the tested one", 0.0, whole=True),
        ELEMENTS_INPUT,
        REFUSED_INPUT,
        STAGES_INPUT,
        *_GRAIN_INPUTS,
        *(
            replace(
                attribute,
                name=f"{RIVAL_PREFIX}{attribute.name}",
                default=None,
                meaning=f"{attribute.meaning}, of the competitors",
            )
            for attribute in _GRAIN_INPUTS
        ),
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends each grain; none if there is none",
            NO_LOCK_OR_BARRIER,
            named="barriers",
        ),
    ),
    unit_grain_model,
    SharedMemory,
)

_INPUTS_BY_PHASE = ("accesses", "compute", "critical", "critical_accesses")
PhaseTuple = tuple[Like, Like, Activity]


def phased_grains_model(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of a sequential part and phases of grains, each with its barrier. If the
    processors of the first phase start one after another, the phases are supersteps.
    """
    resources: dict[str, Resource] = {}
    sequential_step = delay(value_of(inputs, "sequential"), name="sequential")
    phase_tuples = [
        phase_tuple for phase in _build_phases(machine, inputs, resources) for phase_tuple in phase
    ]
    if _is_zero(value_of(inputs, "apart")):
        return phased_model(
            (1, 1, sequential_step),
            *phase_tuples,
            name="grain/phases",
            resources=resources,
            useful=USEFUL_COMPONENTS,
        )
    processor_count, *further_counts = {
        int(structural_number(processor_count, "processors"))
        for processor_count in _values_by_phase(inputs, "processors")
    }
    if further_counts:
        raise ModelError(
            "with apart, all phases need the same number of processors; write one number, or"
            " leave out apart"
        )
    bodies: list[list[Activity]] = [[sequential_step, *[then()] * (processor_count - 1)]]
    bodies += [
        [repeat(repetition_count, cycle)] * processor_count
        for repetition_count, _, cycle in phase_tuples
    ]
    bodies[1] = _with_delayed_start(value_of(inputs, "apart"), *bodies[1])
    return superstep_model(
        *((1, phase_bodies, then()) for phase_bodies in bodies),
        name="grain/phases",
        resources=resources,
        useful=USEFUL_COMPONENTS,
    )


def _with_delayed_start(start_delay: Expr, *bodies: Activity) -> list[Activity]:
    """Return the activities of processors that start one after another, at intervals of
    `start_delay`; each is idle before its start.
    """
    return [
        delay(processor_number * start_delay, name=f"start-{processor_number}", component="idle")
        >> body
        for processor_number, body in enumerate(bodies)
    ]


def _build_phases(
    machine: SharedMemory, inputs: InputValues, resources: dict[str, Resource]
) -> Iterator[list[PhaseTuple]]:
    """Yield the parts of each phase with its barrier, and add their resources to `resources`."""
    repetitions = _values_by_phase(inputs, "repeat")
    processor_counts = _values_by_phase(inputs, "processors")
    if not repetitions:
        raise ModelError(
            "there are no phases; give repeat, a list with the grains of each processor in every"
            " phase"
        )
    values_by_name = {
        name: _values_by_phase(inputs, name) or (Number(0.0),) * len(repetitions)
        for name in _INPUTS_BY_PHASE
    }
    for name, values_by_phase in {"processors": processor_counts, **values_by_name}.items():
        if len(values_by_phase) != len(repetitions):
            raise ModelError(
                f"{name} has {len(values_by_phase)} values, but repeat has {len(repetitions)}"
                " phases"
            )
    for phase_index, (repetition_count, processor_count) in enumerate(
        zip(repetitions, processor_counts, strict=True)
    ):
        grain = _grain_of_phase(
            inputs,
            phase_index,
            {
                name: values_by_phase[phase_index]
                for name, values_by_phase in values_by_name.items()
            },
        )
        is_linked = word(inputs, "order") == "list"
        contention = _retries_and_stage_contention(inputs)
        grain_steps = GrainSteps(
            machine,
            processor_count - 1,
            None,
            *contention,
            node_count=processor_count,
            is_linked=is_linked,
        )
        cycle = grain_steps.cycle(grain, grain, processor_0_only=False)
        if cycle == then():
            raise ModelError(
                f"phase {phase_index + 1} does nothing; give it accesses, compute or a critical"
                " section"
            )
        resources.update(grain_steps.resources(grain.lock_name))
        yield [
            (repetition_count, processor_count, cycle),
            *_barrier_phase(machine, inputs, phase_index, processor_count, resources),
        ]


def _barrier_phase(
    machine: SharedMemory,
    inputs: InputValues,
    phase_index: int,
    processors: Expr,
    resources: dict[str, Resource],
) -> list[PhaseTuple]:
    """Return the barrier after a phase as a part of the program, and add its resources to
    `resources`.
    """
    name = word(inputs, "barrier")
    _, barriers = arrival_and_barrier(machine, name, processors)
    if not barriers:
        return []
    barrier_name = f"{name}-{phase_index + 1}"
    resources[barrier_name] = barriers[name]
    return [(1, processors, barrier(barrier_name))]


def _grain_of_phase(inputs: InputValues, phase_index: int, own_values: dict[str, Expr]) -> Grain:
    """Return the grain of a phase; it takes no lock if it has no critical section."""
    has_critical_section = any(
        structural_number(own_values[name], f"{name} of phase {phase_index + 1}")
        for name in ("critical", "critical_accesses")
    )
    grain = Grain.from_inputs(
        {
            **inputs,
            **own_values,
            "lock": word(inputs, "lock") if has_critical_section else NO_LOCK_OR_BARRIER,
        }
    )
    return replace(grain, prefix=f"phase-{phase_index + 1}.")


def _values_by_phase(inputs: InputValues, name: str) -> tuple[Expr, ...]:
    """Return the value of an input for each phase."""
    value = inputs.get(name, ())
    assert isinstance(value, Expr | tuple)
    return (value,) if isinstance(value, Expr) else value


PHASES = Program(
    "grain/phases",
    "Phases of unit grains, each on its own number of processors and ended by a barrier",
    NANDA_NI,
    (
        Input("sequential", TIME, "T_S: sequential time before all phases", 0.0),
        Input(
            "apart",
            TIME,
            "from the start of one processor of the first phase to that of the next; 0 if all start"
            " together",
            0.0,
        ),
        Input("repeat", COUNT, "r_k: grains of each processor, phase by phase", None, many=True),
        Input(
            "processors",
            COUNT,
            "N_k: processors of each phase",
            None,
            least=1,
            whole=True,
            many=True,
        ),
        Input(
            "accesses",
            COUNT,
            "m: accesses of a grain to shared elements, phase by phase",
            None,
            many=True,
        ),
        Input(
            "compute", COUNT, "c: units of computing of a grain, phase by phase", None, many=True
        ),
        Input(
            "critical", COUNT, "c_s: units of computing in the critical section", None, many=True
        ),
        Input("critical_accesses", COUNT, "m_s: accesses in the critical section", None, many=True),
        *ACCESS_INPUTS,
        REFUSED_INPUT,
        STAGES_INPUT,
        Input(
            "lock",
            COUNT,
            "the machine's lock of critical sections; none if there are none",
            NO_LOCK_OR_BARRIER,
            named="locks",
        ),
        Input(
            "order",
            COUNT,
            "how a lock with flags knows who is next: a counter on its node, or a list, in which"
            " each asks the one before it",
            "counter",
            options=("counter", "list"),
        ),
        CRITICAL_WRITES_INPUT,
        SCV_INPUT,
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends each phase; none for a barrier without cost",
            NO_LOCK_OR_BARRIER,
            named="barriers",
        ),
    ),
    phased_grains_model,
    SharedMemory,
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The elements that one processor accesses: start, start + stride, ... modulo the number of
    elements.

    Parameters
    ----------
    element_count : M, consecutive shared elements [1]
    stride : s, from one access to the next [1]
    offset : p, processor i begins at element i p mod M [1]
    is_random : every element is equally likely at every access; stride and offset have no effect

    Accesses of stride s visit every d-th element, d = gcd(s, M), once in M/d accesses, so ratios
    are exact.
    """

    element_count: int
    stride: int = 1
    offset: int = 0
    is_random: bool = False

    @property
    def spacing(self) -> int:
        """The distance between neighbouring elements that are visited."""
        return 1 if self.is_random else math.gcd(self.stride, self.element_count)

    def module_ratios(
        self, elements_per_block: int, module_count: int, *, all_processors: bool
    ) -> tuple[float, ...]:
        """Return the share of the accesses that each memory module gets.

        Parameters
        ----------
        elements_per_block : consecutive elements in one module before the next begins [1]
        module_count : how many [1]
        all_processors : average over the starts of all processors; else those of processor 0

        >>> Addresses(element_count=8).module_ratios(4, 4, all_processors=False)
        (0.5, 0.5, 0.0, 0.0)
        """
        # Processors begin at multiples of the offset, so together they visit multiples of a finer
        # spacing.
        spacing = (
            math.gcd(self.spacing, self.offset)
            if all_processors and not self.is_random
            else self.spacing
        )
        visited_elements = self.element_count // spacing
        visits_per_round = _visit_count_until_repeat(spacing, elements_per_block * module_count)
        round_count, remaining_visits = divmod(visited_elements, visits_per_round)
        remaining_counts = _visits_by_module(
            remaining_visits, spacing, elements_per_block, module_count
        )
        repeated_counts = (
            _visits_by_module(visits_per_round, spacing, elements_per_block, module_count)
            if round_count
            else remaining_counts
        )
        return tuple(
            (count + round_count * repeated_count) / visited_elements
            for count, repeated_count in zip(remaining_counts, repeated_counts, strict=True)
        )

    def miss_ratio(self, elements_per_line: float, lines: float) -> float:
        """Return the share of the accesses that miss in the processor's own cache, if the other
        processors are idle.

        The least recently used line is replaced; conflicts within sets are neglected. Periodic
        accesses to more lines than the cache holds miss at each new line, to fewer lines never;
        random accesses miss with the probability that a line is not among those held.

        Parameters
        ----------
        elements_per_line : elements of a line [1]
        lines : lines of the cache [1]

        >>> Addresses(element_count=1024, stride=2).miss_ratio(elements_per_line=4, lines=16)
        0.5
        """
        lines_touched = min(
            self.element_count / self.spacing, math.ceil(self.element_count / elements_per_line)
        )
        if lines_touched <= lines:
            return 0.0
        if self.is_random:
            return 1.0 - lines / lines_touched
        return min(1.0, self.stride / elements_per_line)


def _visit_count_until_repeat(spacing: int, turn_length: int) -> int:
    """Return the number of visits after which the order of the modules repeats; `turn_length`
    elements fill one block in each module.
    """
    return turn_length // math.gcd(spacing, turn_length)


def _visits_by_module(
    visit_count: int, spacing: int, elements_per_block: int, module_count: int
) -> list[int]:
    """Return the number of the first `visit_count` visited elements that lie in each module."""
    visit_counts = [0] * module_count
    if spacing >= elements_per_block:
        for visit_number in range(visit_count):
            visit_counts[visit_number * spacing // elements_per_block % module_count] += 1
        return visit_counts
    # Several elements lie in each block: count block by block. The first element at or after x is
    # number ceil(x / spacing).
    for block in range(-(-visit_count * spacing // elements_per_block)):
        first_visit = -(-block * elements_per_block // spacing)
        end_visit = -(-(block + 1) * elements_per_block // spacing)
        visit_counts[block % module_count] += min(end_visit, visit_count) - min(
            first_visit, visit_count
        )
    return visit_counts
