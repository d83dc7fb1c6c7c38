"""Machines with shared memory: the format, and how a file is read as a machine."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

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
    part_of,
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

    count: Whole = Field(description="how many there can be")
    clock: Clock = Field(description="cycles a second")
    step: Cycles = Field(
        description="cycles of one unit of computing, in which grains are measured"
    )


class CacheLevelSpec(Spec):
    """A smaller and faster part of each processor's cache."""

    size: Size = Field(description="size of the part")
    hit: Time = Field(description="time of an access that finds its line there")


class CacheSpec(Spec):
    """Each processor's cache for shared data."""

    size: Size = Field(description="size of a processor's cache")
    line: Size = Field(description="size of a line")
    ways: Whole = Field(description="lines of one set")
    hit: Time = Field(description="time of an access that finds its line")
    protocol: Literal["write-back", "write-through"] = Field(description="when writes reach memory")
    inner: dict[Name, CacheLevelSpec] = Field(
        {}, description="levels of the cache nearer to the processor, the nearest first"
    )
    other: Time | None = Field(
        None,
        description=(
            "time to fetch a line that another processor's cache has modified; that of a miss if"
            " left out"
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
            part_of(hardware.CacheLevel, level, parameter_by_path, f"{path}.inner.{name}")
            for name, level in self.inner.items()
        )
        return part_of(hardware.Cache, self, parameter_by_path, path, inner=inner_levels)


class BusSpec(Spec):
    """One bus for all processors."""

    kind: Literal["bus"] = Field(description="one bus for all")
    transactions: Literal["split", "atomic"] = Field(
        description="free while memory works, or held until it has answered"
    )
    request: Time = Field(description="time that a request occupies the bus")
    transfer: Time = Field(
        description="time that the data of one access, or one line, occupy the bus"
    )
    invalidate: Time = Field(description="time that an invalidation occupies the bus")


class MultistageSpec(Spec):
    """Stages of switches."""

    kind: Literal["multistage"] = Field(
        description="stages of switches between processors and modules"
    )
    switching: Literal["packet", "circuit"] = Field(
        description="packets that queue, or a path held until the reply and refused while in use"
    )
    radix: Radix = Field(description="inputs and outputs of a switch")
    ports: Whole = Field(description="processors and modules that the network joins")
    hop: Time = Field(description="time to cross one stage")
    transfer: Time = Field(description="time that the data of one access occupy a path")
    retry: Time = Field(_NO_TIME, description="pause after a refusal")


class RingSpec(Spec):
    """Slotted rings of one or two levels."""

    kind: Literal["ring"] = Field(description="slotted rings of one or two levels")
    members: Whole = Field(description="processors of one ring")
    slots: Whole = Field(description="packets that a ring carries at a time")
    rotation: Time = Field(description="latency of an access that is answered on the same ring")
    upper: Time | None = Field(
        None, description="latency of an access that is answered on another ring"
    )
    upper_slots: Whole | None = Field(
        None, description="packets that the ring of rings carries at a time"
    )

    def check_rules(self) -> None:
        if (self.upper is None) != (self.upper_slots is None):
            raise broken_rule("a ring of rings needs both upper and upper_slots")


class CrossbarSpec(Spec):
    """A path from every processor to every module."""

    kind: Literal["crossbar"] = Field(description="a path from every processor to every module")
    hop: Time = Field(description="time to cross it")
    transfer: Time = Field(description="time that the data of one access occupy the module's port")


InterconnectSpec = BusSpec | MultistageSpec | RingSpec | CrossbarSpec


class ModulesSpec(Spec):
    """The memory modules."""

    modules: Modules = Field(description="how many modules there are")
    access: Time = Field(description="time that one access occupies a module")
    block: Size = Field(description="consecutive bytes in one module before the next begins")
    element: Size = Field(description="size of a shared element")


class LockKindSpec(Spec):
    """One of the machine's locks."""

    kind: Annotated[str, one_of(LOCKS)] = Field(description="how it is done")
    latency: Time = Field(
        description="time of acquire and release without contention, accesses included"
    )
    access: Time = Field(
        _NO_TIME, description="time that one access to the lock word occupies what holds it"
    )
    own: Time | None = Field(
        None,
        description=(
            "such an access of the processor that made the last one; as long as any if left out"
        ),
    )
    back_off: Annotated[str, one_of(BACK_OFFS)] = Field("none", description="pause after a failure")
    base: Time = Field(_NO_TIME, description="pause after the first failure")
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

    kind: Annotated[str, one_of(BARRIERS)] = Field(description="how it is done")
    access: Time = Field(
        description="time of one access to a shared counter or flag, or of one message"
    )
    radix: Radix = Field(_TWO, description="arrivals combined at a node of a tree")


class SharedMemorySpec(Described):
    """Processors that share memory."""

    machine: Literal[1] = Field(1, description="version of this format")
    year: Year | None = Field(None, description="year in which such a machine came, for trends")
    processors: ClockedProcessorsSpec = Field(description="the processors")
    cache: CacheSpec | None = Field(
        None, description="each processor's cache; none if shared data are not cached"
    )
    interconnect: InterconnectSpec = Field(
        description="between processors and memory modules", discriminator="kind"
    )
    memory: ModulesSpec = Field(description="the memory modules")
    locks: dict[Name, LockKindSpec] = Field({}, description="the locks by name")
    barriers: dict[Name, BarrierKindSpec] = Field({}, description="the barriers by name")

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
            key: part_of(
                hardware.MachineLock, lock_spec, parameter_by_path, f"{prefix}.locks.{key}"
            )
            for key, lock_spec in self.locks.items()
        }
        barriers = {
            key: part_of(
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
            memory=part_of(hardware.Memory, self.memory, parameter_by_path, f"{prefix}.memory"),
            locks=locks,
            barriers=barriers,
        )


def _build_interconnect(
    spec: InterconnectSpec, parameter_by_path: Mapping[str, Parameter], path: str
) -> hardware.Interconnect:
    match spec:
        case BusSpec():
            return part_of(
                hardware.Bus, spec, parameter_by_path, path, split=spec.transactions == "split"
            )
        case MultistageSpec():
            return part_of(
                hardware.Multistage,
                spec,
                parameter_by_path,
                path,
                circuit=spec.switching == "circuit",
            )
        case RingSpec():
            return part_of(hardware.Ring, spec, parameter_by_path, path)
        case CrossbarSpec():
            return part_of(hardware.Crossbar, spec, parameter_by_path, path)
