"""Machines with shared memory: the format, and how a file is read as a machine."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning
from slipstick.expression.nodes import TIME, Dimension, Parameter
from slipstick.model import machine as hardware
from slipstick.schema.kinds.constraints import Name, broken_rule, one_of
from slipstick.schema.kinds.quantity import (
    Described,
    Given,
    Quantity,
    Spec,
    Time,
    Whole,
    Year,
    build_part,
)
from slipstick.vocabulary import BACK_OFFS, BARRIERS, HOME, LOCKS, MOST_HOLDERS

_NO_TIME = Given(0.0, TIME, "0 s")

Clock = Annotated[Given, Quantity(Dimension.of("cycle/s"), least=None, above=0.0)]
Cycles = Annotated[Given, Quantity(Dimension.of("cycle"))]
Modules = Annotated[Given, Quantity(Dimension(), least=1.0, most=4096.0, whole=True)]
Size = Annotated[Given, Quantity(Dimension.of("B"), least=None, above=0.0)]
Radix = Annotated[Given, Quantity(Dimension(), least=2.0, whole=True)]

_TWO = Given(2.0, Dimension(), "2")


class ClockedProcessorsSpec(Spec):
    """The processors of a machine with shared memory."""

    count: Whole = Field(description="largest number of processors")
    clock: Clock = Field(description="clock rate, in cycles per second")
    step: Cycles = Field(
        description=KeyMeaning.of(
            "number of cycles of one unit of computing", "grains are measured in these units"
        )
    )


class CacheLevelSpec(Spec):
    """A smaller and faster part of each processor's cache."""

    size: Size = Field(description="size of this level")
    hit: Time = Field(description="time of an access that finds its line in this level")


class CacheSpec(Spec):
    """The cache of each processor for shared data."""

    size: Size = Field(description="size of the cache of one processor")
    line: Size = Field(description="size of a cache line")
    ways: Whole = Field(description="associativity: number of lines in a set")
    hit: Time = Field(description="time of an access that finds its line in the cache")
    protocol: Literal["write-back", "write-through"] = Field(
        description=(
            "write-through: each write goes to memory at once; write-back: memory is written when"
            " the line leaves the cache"
        )
    )
    inner: dict[Name, CacheLevelSpec] = Field(
        {}, description="levels of the cache that are nearer to the processor, nearest first"
    )
    other: Time | None = Field(
        None,
        description=KeyMeaning.of(
            "time to fetch a line that another processor has modified",
            "by default the time of a miss",
        ),
    )

    def check_rules(self) -> None:
        previous_size = 0.0
        cache_size = self.size.value
        for name, level in self.inner.items():
            if not previous_size < level.size.value < cache_size:
                message = (
                    f"level {name} must be larger than those before it and smaller than the cache"
                )
                raise broken_rule(message, "inner", name, "size")
            previous_size = level.size.value

    def build(self, parameter_by_path: Mapping[str, Parameter], path: str) -> hardware.Cache:
        """Build the cache of a checked file; `path` is the place of its quantities."""
        inner_levels = tuple(
            build_part(hardware.CacheLevel, level, parameter_by_path, f"{path}.inner.{name}")
            for name, level in self.inner.items()
        )
        return build_part(hardware.Cache, self, parameter_by_path, path, inner=inner_levels)


class BusSpec(Spec):
    """A single bus that connects all processors with the memory."""

    kind: Literal["bus"] = Field(description="a single bus for all processors")
    transactions: Literal["split", "atomic"] = Field(
        description=(
            "split: the bus is free while the memory works; atomic: a processor keeps the bus until"
            " the memory has answered"
        )
    )
    request: Time = Field(description="time for which a request occupies the bus")
    transfer: Time = Field(
        description="time for which the data of one access, or one cache line, occupy the bus"
    )
    invalidate: Time = Field(description="time for which an invalidation occupies the bus")


class MultistageSpec(Spec):
    """Stages of switches."""

    kind: Literal["multistage"] = Field(
        description="stages of switches between processors and memory modules"
    )
    switching: Literal["packet", "circuit"] = Field(
        description=(
            "packet: packets queue at the switches; circuit: a path is held until the reply, and"
            " refuses other requests"
        )
    )
    radix: Radix = Field(description="number of inputs, and of outputs, of a switch")
    ports: Whole = Field(description="number of processors, and of modules, that the network joins")
    hop: Time = Field(description="time to cross one stage")
    transfer: Time = Field(description="time for which the data of one access occupy a path")
    retry: Time = Field(_NO_TIME, description="pause after a refused request")


class RingSpec(Spec):
    """Slotted rings of one or two levels."""

    kind: Literal["ring"] = Field(description="slotted rings of one or two levels")
    members: Whole = Field(description="number of processors on one ring")
    slots: Whole = Field(description="number of packets that a ring carries at the same time")
    rotation: Time = Field(description="latency of an access that the same ring answers")
    upper: Time | None = Field(None, description="latency of an access that another ring answers")
    upper_slots: Whole | None = Field(
        None, description="number of packets that the upper ring carries at the same time"
    )

    def check_rules(self) -> None:
        if (self.upper is None) != (self.upper_slots is None):
            raise broken_rule("a ring of rings needs both upper and upper_slots")


class CrossbarSpec(Spec):
    """A switch with a path from every processor to every memory module."""

    kind: Literal["crossbar"] = Field(description="a path from every processor to every module")
    hop: Time = Field(description="time to cross the switch")
    transfer: Time = Field(
        description=("time for which the data of one access occupy the port of the module")
    )


InterconnectSpec = BusSpec | MultistageSpec | RingSpec | CrossbarSpec


class ModulesSpec(Spec):
    """The memory modules of a machine with shared memory: their number, their time and the size of
    a block.
    """

    modules: Modules = Field(description="number of memory modules")
    access: Time = Field(description="time for which one access occupies a module")
    block: Size = Field(
        description=("number of consecutive bytes in one module before the next module begins")
    )
    element: Size = Field(description="size of one shared element")


class LockKindSpec(Spec):
    """One of the machine's locks."""

    kind: Annotated[str, one_of(LOCKS)] = Field(description="algorithm of the lock")
    latency: Time = Field(
        description=(
            "time to acquire and release the lock without contention, including the accesses to the"
            " lock word"
        )
    )
    access: Time = Field(
        _NO_TIME,
        description=("time for which one access to the lock word occupies the bus, module or path"),
    )
    own: Time | None = Field(
        None,
        description=KeyMeaning.of(
            "the same time if the processor made the last access itself",
            "by default equal to access",
        ),
    )
    back_off: Annotated[str, one_of(BACK_OFFS)] = Field(
        "none", description=("how the pause after a failed attempt grows")
    )
    base: Time = Field(_NO_TIME, description="pause after the first failed attempt")
    most: Time = Field(_NO_TIME, description="longest pause")
    home: int | None = Field(None, description=HOME, ge=0, le=MOST_HOLDERS)

    def check_rules(self) -> None:
        if self.back_off != "none" and not self.base.value > 0:
            raise broken_rule(f"a {self.back_off} back-off needs a base above 0 s", "back_off")
        if self.back_off == "exponential" and not self.most.value >= self.base.value:
            raise broken_rule(
                "the longest pause of a back-off, most, must be at least its base", "back_off"
            )


class BarrierKindSpec(Spec):
    """One of the machine's barriers."""

    kind: Annotated[str, one_of(BARRIERS)] = Field(description="algorithm of the barrier")
    access: Time = Field(
        description="time of one access to a shared counter or flag, or of one message"
    )
    radix: Radix = Field(_TWO, description="number of arrivals that one node of a tree combines")


class SharedMemorySpec(Described):
    """Processors that share memory."""

    machine: Literal[1] = Field(1, description="version of this format")
    year: Year | None = Field(
        None, description=("year in which the machine appeared; projections start from it")
    )
    processors: ClockedProcessorsSpec = Field(description="the processors of the machine")
    cache: CacheSpec | None = Field(
        None, description="the cache of each processor; without it, shared data are not cached"
    )
    interconnect: InterconnectSpec = Field(
        description="connection between processors and memory modules", discriminator="kind"
    )
    memory: ModulesSpec = Field(description="the memory modules")
    locks: dict[Name, LockKindSpec] = Field({}, description="locks by name")
    barriers: dict[Name, BarrierKindSpec] = Field({}, description="barriers by name")

    def build(
        self, name: str, parameter_by_path: Mapping[str, Parameter], prefix: str
    ) -> hardware.SharedMemory:
        """Build the machine of a checked file.

        Parameters
        ----------
        name : of the machine
        parameter_by_path : every quantity of the file, by its path under `prefix`
        prefix : the path of the file's quantities, such as ``machine``
        """
        locks = {
            key: build_part(
                hardware.MachineLock, lock_spec, parameter_by_path, f"{prefix}.locks.{key}"
            )
            for key, lock_spec in self.locks.items()
        }
        barriers = {
            key: build_part(
                hardware.BarrierKind, barrier_spec, parameter_by_path, f"{prefix}.barriers.{key}"
            )
            for key, barrier_spec in self.barriers.items()
        }
        return hardware.SharedMemory(
            name=name or self.title,
            processors=parameter_by_path[f"{prefix}.processors.count"],
            step=parameter_by_path[f"{prefix}.processors.step"]
            / parameter_by_path[f"{prefix}.processors.clock"],
            cache=self.cache.build(parameter_by_path, f"{prefix}.cache") if self.cache else None,
            interconnect=_build_interconnect(
                self.interconnect, parameter_by_path, f"{prefix}.interconnect"
            ),
            memory=build_part(hardware.Memory, self.memory, parameter_by_path, f"{prefix}.memory"),
            locks=locks,
            barriers=barriers,
        )


def _build_interconnect(
    spec: InterconnectSpec, parameter_by_path: Mapping[str, Parameter], path: str
) -> hardware.Interconnect:
    match spec:
        case BusSpec():
            return build_part(
                hardware.Bus, spec, parameter_by_path, path, split=spec.transactions == "split"
            )
        case MultistageSpec():
            return build_part(
                hardware.Multistage,
                spec,
                parameter_by_path,
                path,
                circuit=spec.switching == "circuit",
            )
        case RingSpec():
            return build_part(hardware.Ring, spec, parameter_by_path, path)
        case CrossbarSpec():
            return build_part(hardware.Crossbar, spec, parameter_by_path, path)
