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
from dataclasses import dataclass, replace

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME, Expr, Like, Number, Parameter, maximum, zero
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
from slipstick_workloads.shared_memory import NONE, MemoryPort, barrier_of, lock_kind

OTHER = "other_"
MOST = 2.0**24
"""Largest number of elements, stride and offset; the addresses of more would take long to count."""

LONGEST_BLOCK = 2.0**40
"""Blocks beyond this many elements hold all of them."""

PATTERNS = ("uniform", "random")
USEFUL = ("busy", "memory", "critical", "lock")


@dataclass(frozen=True, slots=True)
class Grain:
    """One unit grain.

    Parameters
    ----------
    prefix : of the names of its steps, so that one model can have two grains
    write : its accesses write; else they read
    addresses : of its accesses
    local : share of its accesses that find their element in the processor's own memory module [1]
    index : units of computing to draw the element of an access at random [1]
    accesses : m [1]
    compute : c, units of computing [1]
    lock : the machine's lock of the critical section, or none
    critical, critical_accesses : c_s, and m_s, the accesses inside [1]
    critical_writes : f_s, the fraction of these that write [1]
    scv : squared coefficient of variation of both computing times [1]
    """

    prefix: str
    write: bool
    addresses: Addresses
    local: Expr
    index: Expr
    accesses: Expr
    compute: Expr
    lock: str
    critical: Expr
    critical_accesses: Expr
    critical_writes: Expr
    scv: float

    @staticmethod
    def of(inputs: InputValues, prefix: str = "") -> Grain:
        """Read a grain from the inputs; an attribute of competitors that is not given is that of
        the test grain.
        """

        def input_value(name: str) -> Expr:
            value = inputs.get(f"{prefix}{name}", inputs[name])
            assert isinstance(value, Expr)
            return value

        def word(name: str) -> str:
            value = inputs.get(f"{prefix}{name}", inputs[name])
            assert isinstance(value, str)
            return value

        addresses = Addresses(
            elements=int(structural_number(value_of(inputs, "elements"), "elements")),
            stride=int(structural_number(input_value("stride"), "stride")),
            offset=int(structural_number(input_value("start"), "start")),
            random=word("pattern") == "random",
        )
        return Grain(
            prefix.replace("_", "."),
            word("access") == "write",
            addresses,
            input_value("local"),
            input_value("index"),
            input_value("accesses"),
            input_value("compute"),
            word("lock"),
            input_value("critical"),
            input_value("critical_accesses"),
            input_value("critical_writes"),
            structural_number(input_value("scv"), "scv"),
        )


def unit(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build a test grain among competitors, and alone; words are counted if all access them at
    random.
    """
    same = not any(f"{OTHER}{name}" in inputs for name in _ATTRIBUTES)
    counted_words = (
        same and word(inputs, "pattern") == "random" and not _is_zero(value_of(inputs, "accesses"))
    )
    spread = value_of(inputs, "competitors")
    model_alone = _model_with_competitors(machine, {**inputs, "competitors": Number(0.0)}, spread)
    model_among = _model_with_competitors(machine, inputs, spread)
    words = value_of(inputs, "accesses") if counted_words else None
    return replace(
        model_among,
        single=SingleProcessor(model_alone, words),
        notes=_refuse_missing_processors(machine, structural_number(spread, "competitors") + 1),
    )


def _refuse_missing_processors(machine: SharedMemory, processors: float) -> tuple[str, ...]:
    """Raise if a machine has fewer processors than take part."""
    count = structural_number(machine.processors, "the number of processors")
    if processors <= count:
        return ()
    return (
        (
            f"{machine.name} has {count:g} processors; with {processors:g} the answer is for a"
            " larger one of its kind"
        ),
    )


def _model_with_competitors(machine: SharedMemory, inputs: InputValues, spread: Expr) -> Model:
    """Build a test grain among competitors; one population if all repeat the same grain.

    The data lie where they lie with all processors, the `spread` competitors, also for the test
    grain alone: T_0 and T_N are times of the same accesses.
    """
    test = Grain.of(inputs)
    competitors = value_of(inputs, "competitors")
    work = GrainSteps(machine, competitors, spread, *_contention(inputs))
    arrival, barriers = barrier_of(machine, word(inputs, "barrier"), competitors + 1)
    if not any(f"{OTHER}{name}" in inputs for name in _ATTRIBUTES):
        cycle = work.cycle(test, test, single=False) >> arrival
        _check_not_empty(cycle)
        resources = {**work.resources(test.lock), **barriers}
        return closed_model(
            cycle, competitors + 1, name="grain/unit", resources=resources, useful=USEFUL
        )
    rival = Grain.of(inputs, OTHER)
    own_cycle = work.cycle(test, rival, single=True) >> arrival
    _check_not_empty(own_cycle)
    groups: dict[str, tuple[Like, Activity]] = {
        "test": (1, own_cycle),
        "competitors": (competitors, work.cycle(rival, test, single=False) >> arrival),
    }
    resources = {**work.resources(test.lock, rival.lock), **barriers}
    return grouped_model(groups, name="grain/unit", resources=resources, useful=USEFUL)


def _contention(inputs: InputValues) -> tuple[bool, bool]:
    """Return whether refused circuits are tried again, and whether stages contend."""
    return word(inputs, "refused") == "retry", word(inputs, "stages") == "contend"


@dataclass(frozen=True, slots=True)
class GrainSteps:
    """The steps of grains on a machine.

    Parameters
    ----------
    machine : on which they run
    others : how many other processors take part [1]
    spread : over how many other processors the data are spread; as many as take part by default [1]
    retried : refused circuits are tried again
    contended : the stages of switches before the modules contend
    nodes : on how many nodes, from 0 on, processors wait for flags; on all of the machine by
        default
    linked : an acquisition of a lock with flags asks the processor that asked before, wherever that
        is, in place of a counter on one node
    """

    machine: SharedMemory
    others: Expr
    spread: Expr | None = None
    retried: bool = False
    contended: bool = False
    nodes: Expr | None = None
    linked: bool = False

    @property
    def port(self) -> MemoryPort:
        """The access of a processor to shared memory."""
        other_processors = self.others if self.spread is None else self.spread
        return MemoryPort(self.machine, other_processors, self.retried, self.contended)

    def resources(self, *locks: str) -> dict[str, Resource]:
        """Describe the stations, and the locks that are used."""
        stations = self.port.resources()
        for name in locks:
            if name != NONE:
                kind = lock_kind(self.machine, name, self.others)
                if self.has_flags(kind):
                    stations[name] = Lock("fifo" if kind.home is None else "array", home=kind.home)
                    continue
                timed = structural_number(self.machine.locks[name].access, "the access of a lock")
                placed = kind.access if timed else zero(TIME)
                word = self.port.lock_word if placed is kind.access else None
                stations[name] = Lock(
                    kind.kind, word, placed, kind.back_off, kind.base, kind.most, kind.home
                )
        return stations

    def has_flags(self, kind: MachineLock) -> bool:
        """Return whether a lock is an array of flags that lie in the memory modules of the
        processors that wait on them.
        """
        return kind.kind == "array" and not isinstance(self.machine.interconnect, Bus | Ring)

    def cycle(self, grain: Grain, rival: Grain, *, single: bool) -> Activity:
        """Lay out a grain whose competitors repeat another; `single` is the grain of processor 0
        alone.
        """
        steps: list[Activity] = []
        if not _is_zero(grain.accesses):
            access = self._access(grain, rival, single)
            if grain.addresses.random and not _is_zero(grain.index):
                access = self._computing(grain, grain.index, "index", "busy") >> access
            steps.append(repeat(grain.accesses, access))
        if not _is_zero(grain.compute):
            steps.append(self._computing(grain, grain.compute, "compute", "busy"))
        if grain.lock != NONE:
            steps.append(self._section(grain, single))
        return then(*steps)

    def _computing(self, grain: Grain, units: Expr, name: str, component: str) -> Activity:
        return delay(
            units * self.machine.step,
            name=f"{grain.prefix}{name}",
            component=component,
            scv=grain.scv,
        )

    def _ratios(self, grain: Grain, single: bool) -> tuple[float, ...]:
        memory = self.machine.memory
        modules = int(structural_number(memory.modules, "the number of memory modules"))
        return grain.addresses.module_ratios(
            _elements(memory.block, self.machine), modules, all_processors=not single
        )

    def _access(self, grain: Grain, rival: Grain, single: bool) -> Activity:
        """Access one shared element: without a cache, by a hit, or over the interconnect after a
        miss.
        """
        name = f"{grain.prefix}{'write' if grain.write else 'read'}"
        ratios = self._ratios(grain, single)
        straight = self.port.access(name, ratios)
        cache = self.machine.cache
        if not _is_zero(grain.local):
            straight = choose(
                (grain.local, self.port.own_access(name)), (1 - grain.local, straight)
            )
        if cache is None or (grain.write and cache.protocol == "write-through"):
            return straight
        lines = structural_number(cache.size, "the size of the cache") / structural_number(
            cache.line, "the size of a line"
        )
        miss = grain.addresses.miss_ratio(_elements(cache.line, self.machine), lines)
        # A modified line that is replaced is written back while the new one is fetched.
        missed = (
            fork(straight, self.port.access(f"{name}.victim", ratios)) if grain.write else straight
        )
        return _hit_or_miss(miss, missed, self._hit(name, grain, rival, ratios))

    def _hit(self, name: str, grain: Grain, rival: Grain, ratios: tuple[float, ...]) -> Activity:
        """Hit the line in the cache, unless another processor wrote it last; a write invalidates
        other copies.

        Assumes that competitors access the same elements, whatever their addresses.
        """
        assert self.machine.cache is not None
        cache = self.machine.cache
        per_line = _elements(self.machine.cache.line, self.machine)
        hit = delay(
            _hit_time(cache, grain, per_line),
            name=f"{name}.hit",
            component="memory",
            technology="memory",
        )
        # The processor of N + 1 that accessed the line last is equally likely to be any of them.
        by_others = self.others / (self.others + 1)
        if rival.write:
            repeated_access = self.port.access(f"{name}.again", ratios, "coherence")
            if cache.other is not None:
                repeated_access = delay(
                    cache.other, name=f"{name}.other", component="coherence", technology="memory"
                )
            return choose((by_others, repeated_access), (1 - by_others, hit))
        if grain.write:
            return hit >> choose((by_others, self.port.invalidate(name)), (1 - by_others, then()))
        return hit

    def _section(self, grain: Grain, single: bool) -> Activity:
        """Acquire the lock, execute the critical section, release the lock.

        Of the instructions that a free lock's latency leaves beside its accesses, those of the
        release take place while the lock is held: the part that the kind of lock has there. What
        enters a processor into a list of waiting ones overlaps its wait.
        """
        kind = lock_kind(self.machine, grain.lock, self.others)
        steps_inside = []
        steps_before, steps_after = (
            self._flags(kind, grain.prefix) if self.has_flags(kind) else (then(), then())
        )
        spent = (LOCKS[kind.kind].acquire + LOCKS[kind.kind].release) * kind.access
        instructions = maximum(kind.latency - spent, zero(TIME))
        held = LOCKS[kind.kind].held
        if not _is_zero(grain.critical):
            steps_inside.append(self._computing(grain, grain.critical, "critical", "critical"))
        if not _is_zero(grain.critical_accesses):
            name = f"{grain.prefix}critical"
            ratios = self._ratios(grain, single)
            read, write = (self.port.access(f"{name}.{kind}", ratios) for kind in ("read", "write"))
            written_word = write >> self.port.invalidate(f"{name}.write")
            writes = grain.critical_writes
            steps_inside.append(
                repeat(grain.critical_accesses, choose((writes, written_word), (1 - writes, read)))
            )
        acquire, release = (
            delay(
                part * instructions,
                name=f"{grain.prefix}lock.{call}",
                component="lock",
                technology="software",
            )
            for call, part in (("acquire", 1 - held), ("release", held))
        )
        return (
            acquire >> steps_before >> hold(grain.lock, then(*steps_inside, release, steps_after))
        )

    def _flags(self, kind: MachineLock, prefix: str) -> tuple[Activity, Activity]:
        """Access the counter and the processor's own flag, which no other processor delays; then
        reset the flag and set the next processor's.

        The next holder's flag is in the module of any processor that may wait, each as likely; a
        flag that is set is seen at once. So is, where the lock is a list that the processors link,
        the processor that asked last.
        """
        modules = int(
            structural_number(self.machine.memory.modules, "the number of memory modules")
        )
        if self.nodes is not None:
            modules = min(
                modules,
                int(structural_number(self.nodes, "the processors that use a lock with flags")),
            )
        anywhere = (1 / modules,) * modules
        counter = self.port.lock_access(
            f"{prefix}lock.counter", kind.access, anywhere if self.linked else (1.0,)
        )
        next_flag = self.port.lock_access(f"{prefix}lock.flag", kind.access, anywhere)
        own_flag_steps = [
            delay(
                kind.access, name=f"{prefix}lock.own.{call}", component="lock", technology="memory"
            )
            for call in ("test", "reset")
        ]
        return counter >> own_flag_steps[0], own_flag_steps[1] >> next_flag


def _hit_time(cache: Cache, grain: Grain, per_line: int) -> Expr:
    """Return the time of an access that finds its line in the cache: that of the nearest level
    that has it.
    """

    def miss_ratio(size: Expr) -> float:
        return grain.addresses.miss_ratio(
            per_line,
            structural_number(size, "the size of a cache")
            / structural_number(cache.line, "the size of a line"),
        )

    time: Expr = zero(TIME)
    missed = 1.0
    all_missed = miss_ratio(cache.size)
    for level in cache.inner:
        time = time + (missed - miss_ratio(level.size)) * level.hit
        missed = miss_ratio(level.size)
    some_missed = 1.0 - all_missed
    return (
        (time + (missed - all_missed) * cache.hit) / some_missed
        if cache.inner and some_missed
        else cache.hit
    )


def _hit_or_miss(chance: float, miss: Activity, hit: Activity) -> Activity:
    if chance in (0.0, 1.0):
        return miss if chance else hit
    return choose((chance, miss), (1 - chance, hit))


def _elements(size: Expr, machine: SharedMemory) -> int:
    """Count the elements in a block or line; at least one."""
    elements = structural_number(size, "the size of a block") / structural_number(
        machine.memory.element, "the size of an element"
    )
    return int(max(1.0, min(elements, LONGEST_BLOCK)))


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Number | Parameter) and value.value == 0


def _check_not_empty(cycle: Activity) -> None:
    if cycle == then():
        raise ModelError(
            "the test grain does nothing; give it accesses, compute, a lock or a barrier"
        )


ELEMENTS = Input(
    "elements",
    COUNT,
    "M: elements shared by all; 1 is a hot spot",
    1.0,
    least=1,
    most=MOST,
    whole=True,
)

_WALK = (
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
        most=MOST,
        whole=True,
    ),
    Input(
        "stride",
        COUNT,
        "s: from the element of one access to that of the next",
        1.0,
        most=MOST,
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

REFUSED = Input(
    "refused",
    COUNT,
    "whether a circuit that finds its module, or an output of stages that contend, taken waits for"
    " it, or gives up all and tries again after the machine's pause",
    "queue",
    options=("queue", "retry"),
)

STAGES = Input(
    "stages",
    COUNT,
    "whether switches before the modules pass all requests, or requests that want one output"
    " contend for it",
    "free",
    options=("free", "contend"),
)

ACCESSES = (ELEMENTS, *_WALK)
"""Inputs of the kind and the addresses of accesses."""

CRITICAL_WRITES = Input(
    "critical_writes", COUNT, "f_s: fraction of these that write", 0.0, most=1.0
)
SCV = Input(
    "scv", COUNT, "squared coefficient of variation of computing; 0 is a deterministic grain", 0.0
)

_GRAIN = (
    *_WALK,
    Input("accesses", COUNT, "m: accesses of a grain to shared elements", 1.0),
    Input("compute", COUNT, "c: units of computing of a grain", 0.0),
    Input(
        "lock",
        COUNT,
        "the machine's lock of the critical section; none if there is none",
        NONE,
        named="locks",
    ),
    Input("critical", COUNT, "c_s: units of computing in the critical section", 0.0),
    Input("critical_accesses", COUNT, "m_s: accesses in the critical section", 0.0),
    CRITICAL_WRITES,
    SCV,
)

_ATTRIBUTES = tuple(attribute.name for attribute in _GRAIN)

UNIT = Program(
    "grain/unit",
    "A unit grain among competitors: accesses, computing, a critical section",
    NANDA_NI,
    (
        Input("competitors", COUNT, "N: processors beside the tested one", 0.0, whole=True),
        ELEMENTS,
        REFUSED,
        STAGES,
        *_GRAIN,
        *(
            replace(
                attribute,
                name=f"{OTHER}{attribute.name}",
                default=None,
                meaning=f"{attribute.meaning}, of the competitors",
            )
            for attribute in _GRAIN
        ),
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends each grain; none if there is none",
            NONE,
            named="barriers",
        ),
    ),
    unit,
    SharedMemory,
)

_BY_PHASE = ("accesses", "compute", "critical", "critical_accesses")
Part = tuple[Like, Like, Activity]


def phases(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the sequential part, then every phase with its barrier; processors of the first phase
    that start one after another as supersteps, each with its own start.
    """
    resources: dict[str, Resource] = {}
    sequential = delay(value_of(inputs, "sequential"), name="sequential")
    program = [part for phase in _phases(machine, inputs, resources) for part in phase]
    if _is_zero(value_of(inputs, "apart")):
        return phased_model(
            (1, 1, sequential), *program, name="grain/phases", resources=resources, useful=USEFUL
        )
    count, *other_counts = {
        int(structural_number(count, "processors")) for count in _list(inputs, "processors")
    }
    if other_counts:
        raise ModelError(
            "with apart, all phases need the same number of processors; write one number, or"
            " leave out apart"
        )
    bodies: list[list[Activity]] = [[sequential, *[then()] * (count - 1)]]
    bodies += [[repeat(times, cycle)] * count for times, _, cycle in program]
    bodies[1] = _with_delayed_start(value_of(inputs, "apart"), *bodies[1])
    return superstep_model(
        *((1, of_phase, then()) for of_phase in bodies),
        name="grain/phases",
        resources=resources,
        useful=USEFUL,
    )


def _with_delayed_start(start_delay: Expr, *bodies: Activity) -> list[Activity]:
    """Delay the start of each processor after that of the one before it; till then it is idle."""
    return [
        delay(position * start_delay, name=f"start-{position}", component="idle") >> body
        for position, body in enumerate(bodies)
    ]


def _phases(
    machine: SharedMemory, inputs: InputValues, resources: dict[str, Resource]
) -> Iterator[list[Part]]:
    """Lay out each phase and its barrier; their resources are added to `resources`."""
    repeat = _list(inputs, "repeat")
    processors = _list(inputs, "processors")
    if not repeat:
        raise ModelError(
            "there are no phases; give repeat, a list with the grains of each processor in every"
            " phase"
        )
    lists = {name: _list(inputs, name) or (Number(0.0),) * len(repeat) for name in _BY_PHASE}
    for name, values in {"processors": processors, **lists}.items():
        if len(values) != len(repeat):
            raise ModelError(
                f"{name} has {len(values)} values, but repeat has {len(repeat)} phases"
            )
    for number, (times, count) in enumerate(zip(repeat, processors, strict=True)):
        grain = _grain(inputs, number, {name: values[number] for name, values in lists.items()})
        linked = word(inputs, "order") == "list"
        contention = _contention(inputs)
        work = GrainSteps(machine, count - 1, None, *contention, nodes=count, linked=linked)
        cycle = work.cycle(grain, grain, single=False)
        if cycle == then():
            raise ModelError(
                f"phase {number + 1} does nothing; give it accesses, compute or a critical section"
            )
        resources.update(work.resources(grain.lock))
        yield [(times, count, cycle), *_barrier(machine, inputs, number, count, resources)]


def _barrier(
    machine: SharedMemory,
    inputs: InputValues,
    number: int,
    count: Expr,
    resources: dict[str, Resource],
) -> list[Part]:
    name = word(inputs, "barrier")
    _, barriers = barrier_of(machine, name, count)
    if not barriers:
        return []
    barrier_name = f"{name}-{number + 1}"
    resources[barrier_name] = barriers[name]
    return [(1, count, barrier(barrier_name))]


def _grain(inputs: InputValues, number: int, own_values: dict[str, Expr]) -> Grain:
    """Return the grain of a phase; one without critical section takes no lock."""
    has_section = any(
        structural_number(own_values[name], f"{name} of phase {number + 1}")
        for name in ("critical", "critical_accesses")
    )
    grain = Grain.of(
        {**inputs, **own_values, "lock": word(inputs, "lock") if has_section else NONE}
    )
    return replace(grain, prefix=f"phase-{number + 1}.")


def _list(inputs: InputValues, name: str) -> tuple[Expr, ...]:
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
        *ACCESSES,
        REFUSED,
        STAGES,
        Input(
            "lock",
            COUNT,
            "the machine's lock of critical sections; none if there are none",
            NONE,
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
        CRITICAL_WRITES,
        SCV,
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends each phase; none for a barrier without cost",
            NONE,
            named="barriers",
        ),
    ),
    phases,
    SharedMemory,
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The elements that one processor accesses: start, start + stride, ... modulo the number of
    elements.

    Parameters
    ----------
    elements : M, consecutive shared elements [1]
    stride : s, from one access to the next [1]
    offset : p, processor i begins at element i p mod M [1]
    random : every element is equally likely at every access; stride and offset have no effect

    Accesses of stride s visit every d-th element, d = gcd(s, M), once in M/d accesses, so ratios
    are exact.
    """

    elements: int
    stride: int = 1
    offset: int = 0
    random: bool = False

    @property
    def spacing(self) -> int:
        """Distance between the elements visited."""
        return 1 if self.random else math.gcd(self.stride, self.elements)

    def module_ratios(
        self, per_block: int, modules: int, *, all_processors: bool
    ) -> tuple[float, ...]:
        """Return the share of the accesses that each memory module gets.

        Parameters
        ----------
        per_block : consecutive elements in one module before the next begins [1]
        modules : how many [1]
        all_processors : average over the starts of all processors; else those of processor 0

        >>> Addresses(elements=8).module_ratios(4, 4, all_processors=False)
        (0.5, 0.5, 0.0, 0.0)
        """
        # Processors begin at multiples of the offset, so together they visit multiples of a finer
        # spacing.
        spacing = (
            math.gcd(self.spacing, self.offset)
            if all_processors and not self.random
            else self.spacing
        )
        visited = self.elements // spacing
        cycle = _cycle(spacing, per_block * modules)
        rounds, remaining_visits = divmod(visited, cycle)
        counts = _counts(remaining_visits, spacing, per_block, modules)
        repeated_counts = _counts(cycle, spacing, per_block, modules) if rounds else counts
        return tuple(
            (count + rounds * repeated_count) / visited
            for count, repeated_count in zip(counts, repeated_counts, strict=True)
        )

    def miss_ratio(self, per_line: float, lines: float) -> float:
        """Return the share of the accesses that miss in the processor's own cache, the other
        processors idle.

        The least recently used line is replaced; conflicts within sets are neglected. Periodic
        accesses to more lines than the cache holds miss at each new line, to fewer lines never;
        random accesses miss with the probability that a line is not among those held.

        Parameters
        ----------
        per_line : elements of a line [1]
        lines : lines of the cache [1]

        >>> Addresses(elements=1024, stride=2).miss_ratio(per_line=4, lines=16)
        0.5
        """
        touched = min(self.elements / self.spacing, math.ceil(self.elements / per_line))
        if touched <= lines:
            return 0.0
        if self.random:
            return 1.0 - lines / touched
        return min(1.0, self.stride / per_line)


def _cycle(spacing: int, around: int) -> int:
    """Count the elements visited until the order of the modules repeats; one turn has `around`
    elements.
    """
    return around // math.gcd(spacing, around)


def _counts(visited: int, spacing: int, per_block: int, modules: int) -> list[int]:
    """Count how many of the first elements visited lie in each module."""
    counts = [0] * modules
    if spacing >= per_block:
        for k in range(visited):
            counts[k * spacing // per_block % modules] += 1
        return counts
    # Several elements lie in each block: count block by block. The first element at or after x is
    # number ceil(x / spacing).
    for block in range(-(-visited * spacing // per_block)):
        first = -(-block * per_block // spacing)
        end = -(-(block + 1) * per_block // spacing)
        counts[block % modules] += min(end, visited) - min(first, visited)
    return counts
