"""Machines on a network or with shared memory, and networks: the formats, and the machine that a file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import Field

from slipstick.expression.nodes import BYTES, TIME, TIME_PER_BYTE, Dimension, Parameter
from slipstick.model import machine as hardware
from slipstick.schema.kinds.quantity import (
    ONE,
    ByteRate,
    Bytes,
    Count,
    Described,
    Given,
    Name,
    PerByte,
    Quantity,
    Rate,
    Spec,
    Speed,
    Time,
    Whole,
    broken_rule,
    one_of,
)
from slipstick.vocabulary import BACK_OFFS, BARRIERS, HOME, LOCKS, MOST_HOLDERS

Part = TypeVar("Part", bound=NamedTuple)

_NOTHING, _NO_BYTES = Given(0.0, TIME, "0 s"), Given(0.0, BYTES, "0 B")
_FREE_BYTE = Given(0.0, TIME_PER_BYTE, "0 s/B")


def part_of(node: type[Part], spec: Spec, at: Mapping[str, Parameter], path: str, **own: Any) -> Part:
    """Make a part of a machine whose fields are the keys of its spec: quantities by path, all else as it stands.

    Parameters
    ----------
    node : the part
    spec, path : the checked keys, and where they stand
    at : every quantity of the file, by path
    own : values of the fields that are no keys
    """
    keys = [name for name in node._fields if name not in own]
    given = {key: getattr(spec, key) for key in keys}
    read = {key: at[f"{path}.{key}"] if isinstance(each, Given) else each for key, each in given.items()} | own
    return node._make(read[name] for name in node._fields)


class LineSpec(Spec):
    """A straight line in the size that the protocol sees."""

    fixed: Time = Field(description="cost of any message in this range of sizes")
    per_byte: PerByte = Field(_FREE_BYTE, description="cost of one more byte")


class RangeSpec(Spec):
    """Protocol cost of messages in one range of sizes."""

    up_to: Bytes | None = Field(None, description="largest size the protocol sees in this range; left out in the last")
    total: LineSpec = Field(description="protocol software time at the sender, and again at the receiver")
    call: LineSpec | None = Field(
        None, description="the part of it inside the system call, as a microbenchmark sees it"
    )


class ProtocolSpec(Spec):
    """Protocol software time, piecewise in the message size."""

    added: Bytes = Field(_NO_BYTES, description="bytes that the protocol sees beyond the message")
    ranges: dict[Name, RangeSpec] = Field(description="ranges of sizes by name, ascending", min_length=1)

    def check_rules(self) -> None:
        *firsts, last = self.ranges.items()
        if last[1].up_to is not None:
            raise broken_rule(f"the last range, {last[0]}, must have no up_to", "ranges", last[0], "up_to")
        before = -1.0
        for name, each in firsts:
            if each.up_to is None or not each.up_to.value > before:
                why = f"range {name} needs an up_to above that of the range before it"
                raise broken_rule(why, "ranges", name, "up_to")
            before = each.up_to.value


class WireSpec(Spec):
    """Time on the wire."""

    per_byte: PerByte = Field(description="time of a byte on the wire, or its rate, as 25 GB/s or 200 Gbit/s")
    added: Bytes = Field(_NO_BYTES, description="bytes that headers and framing add on the wire")


class NetworkSpec(Described):
    """A network's cost table."""

    network: Literal[1] = Field(1, description="version of this format")
    protocol: ProtocolSpec = Field(description="protocol software time, piecewise in the message size")
    wire: WireSpec = Field(description="time on the wire")
    adapter: Time = Field(_NOTHING, description="latency of each of the two adapters that a message crosses")
    switch: Time = Field(_NOTHING, description="latency of a switch")
    switches: Count = Field(ONE, description="switches between two processors")
    medium: Literal["shared", "switched", "none"] = Field(
        "switched", description="where messages contend: one medium for all, each processor's own link, nowhere"
    )

    def build(self, name: str, at: Mapping[str, Parameter], prefix: str) -> hardware.Network:
        """Build the network of a checked file, called by its title.

        Parameters
        ----------
        name : of the file
        at : every quantity of the file, by its path under `prefix`
        """
        ranges = []
        for label, each in self.protocol.ranges.items():
            path = f"{prefix}.protocol.ranges.{label}"
            total = part_of(hardware.LinearCost, each.total, at, f"{path}.total")
            ranges.append(part_of(hardware.SizeRange, each, at, path, name=label, total=total))
        added, wire = at[f"{prefix}.protocol.added"], f"{prefix}.wire"
        inner = {"wire_per_byte": at[f"{wire}.per_byte"], "wire_added": at[f"{wire}.added"]}
        return part_of(
            hardware.Network, self, at, prefix, name=self.title, ranges=tuple(ranges), protocol_added=added, **inner
        )


class ProcessorsSpec(Spec):
    """The processors."""

    count: Whole = Field(description="how many there are")
    speed: Speed = Field(ONE, description="speed of each, relative to the machine that the costs were measured on")
    flops: Rate | None = Field(
        None, description="floating-point operations that a processor sustains in a second, as 19.5e12 /s"
    )


class MemorySpec(Spec):
    """The memory."""

    page: Bytes | None = Field(None, description="size of a page")
    bandwidth: ByteRate | None = Field(None, description="bytes a second between a processor and its memory")


class SystemSpec(Spec):
    """The operating system."""

    signal: Time | None = Field(None, description="cost of delivering a signal")
    call: Time | None = Field(None, description="system call of a send or a receive, beside protocol time")


class DvsmSpec(Spec):
    """Software of a distributed virtual shared memory, beside protocol time."""

    send_call: Time = Field(description="extra system-call time of a send at the faulting processor")
    receive_call: Time = Field(description="extra system-call time of a receive at the faulting processor")
    serve_call: Time = Field(description="extra system-call time of serving a request for diffs")
    receive_byte: PerByte = Field(description="extra system-call time of a byte received")
    part: Time = Field(description="fault handler computing for each processor asked")
    apply: PerByte = Field(description="fault handler computing for a byte of diffs")
    serve: Time = Field(description="handler computing for a request for diffs")
    page_call: Time = Field(description="extra system-call time of all sends and receives of an empty fault")
    page_serve: Time = Field(description="handler computing for a request for a page")
    lock_call: Time = Field(description="extra system-call time of each message that an acquisition waits for")
    lock_compute: Time = Field(description="computing of a lock acquisition at the asker")
    lock_serve: Time = Field(description="handler computing for a request for a lock")
    serve_delay: Time = Field(description="from the arrival of a request for diffs to its processing")
    page_delay: Time = Field(description="from the arrival of a request for a page to its processing")
    lock_delay: Time = Field(description="from the arrival of a request for a lock to its processing")
    byte: PerByte = Field(description="copying a byte of a page for its twin, or comparing it with it")
    notice: Time = Field(description="making or merging a write notice")
    protect: Time = Field(description="changing the protection of a page: to invalidate it, or at a write fault")


def _or_name(schema: dict[str, Any]) -> None:
    """Let editors accept the name of a network in the place of one."""
    reference = {key: schema.pop(key) for key in list(schema) if key in ("$ref", "allOf")}
    schema["anyOf"] = [{"type": "string"}, reference]


class NodeSpec(Spec):
    """One node: processors that a network of their own joins."""

    processors: Whole = Field(description="processors of one node")
    network: NetworkSpec = Field(
        description="the network between them: its name in the catalogue, a file, or in place",
        json_schema_extra=_or_name,
    )


class MachineSpec(Described):
    """Processors on a network. What no model asks for may be left out."""

    machine: Literal[1] = Field(1, description="version of this format")
    processors: ProcessorsSpec = Field(description="the processors")
    memory: MemorySpec = Field(MemorySpec(), description="the memory")
    system: SystemSpec = Field(SystemSpec(), description="the operating system")
    network: NetworkSpec = Field(
        description="the network between them: its name in the catalogue, a file, or in place",
        json_schema_extra=_or_name,
    )
    node: NodeSpec | None = Field(None, description="the processors of one node, if another network joins them")
    dvsm: DvsmSpec | None = Field(
        None, description="software of a distributed virtual shared memory, for programs on one"
    )

    def build(self, name: str, at: Mapping[str, Parameter], prefix: str) -> hardware.Machine:
        """Build the machine of a checked file.

        Parameters
        ----------
        name : of the machine
        at : every quantity of the file, by its path under `prefix`
        """

        def told(path: str, dimension: Dimension) -> Parameter:
            # What is left out has no value; a model that asks for it is refused when it is built.
            return at.get(f"{prefix}.{path}") or Parameter(f"{prefix}.{path}", dimension)

        node = None
        if self.node is not None:
            inner = f"{prefix}.node"
            node = hardware.Node(at[f"{inner}.processors"], self.node.network.build("", at, f"{inner}.network"))
        return hardware.Machine(
            name=name or self.title,
            processors=at[f"{prefix}.processors.count"],
            speed=at[f"{prefix}.processors.speed"],
            page=told("memory.page", BYTES),
            signal=told("system.signal", TIME),
            network=self.network.build("", at, f"{prefix}.network"),
            dvsm=part_of(hardware.Dvsm, self.dvsm, at, f"{prefix}.dvsm") if self.dvsm else None,
            node=node,
            flops=at.get(f"{prefix}.processors.flops"),
            bandwidth=at.get(f"{prefix}.memory.bandwidth"),
            call=at.get(f"{prefix}.system.call"),
        )


Clock = Annotated[Given, Quantity(Dimension.of("cycle/s"), least=None, above=0.0)]
Cycles = Annotated[Given, Quantity(Dimension.of("cycle"))]
Modules = Annotated[Given, Quantity(Dimension(), least=1.0, most=4096.0, whole=True)]
Size = Annotated[Given, Quantity(Dimension.of("B"), least=None, above=0.0)]
Radix = Annotated[Given, Quantity(Dimension(), least=2.0, whole=True)]

_TWO = Given(2.0, Dimension(), "2")


class ClockedProcessorsSpec(Spec):
    """The processors."""

    count: Whole = Field(description="how many there can be")
    clock: Clock = Field(description="cycles a second")
    step: Cycles = Field(description="cycles of one unit of computing, in which grains are measured")


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
        None, description="time to fetch a line that another processor's cache has modified; that of a miss if left out"
    )

    def check_rules(self) -> None:
        before, last = 0.0, self.size.value
        for name, each in self.inner.items():
            if not before < each.size.value < last:
                why = f"level {name} must be larger than those before it and smaller than the cache"
                raise broken_rule(why, "inner", name, "size")
            before = each.size.value

    def build(self, at: Mapping[str, Parameter], path: str) -> hardware.Cache:
        """Build the cache of a checked file, whose quantities stand under `path`."""
        inner = tuple(
            part_of(hardware.CacheLevel, each, at, f"{path}.inner.{name}") for name, each in self.inner.items()
        )
        return part_of(hardware.Cache, self, at, path, inner=inner)


class BusSpec(Spec):
    """One bus for all."""

    kind: Literal["bus"] = Field(description="one bus for all")
    transactions: Literal["split", "atomic"] = Field(
        description="free while memory works, or held until it has answered"
    )
    request: Time = Field(description="time that a request occupies the bus")
    transfer: Time = Field(description="time that the data of one access, or one line, occupy the bus")
    invalidate: Time = Field(description="time that an invalidation occupies the bus")


class MultistageSpec(Spec):
    """Stages of switches."""

    kind: Literal["multistage"] = Field(description="stages of switches between processors and modules")
    switching: Literal["packet", "circuit"] = Field(
        description="packets that queue, or a path held until the reply and refused while in use"
    )
    radix: Radix = Field(description="inputs and outputs of a switch")
    ports: Whole = Field(description="processors and modules that the network joins")
    hop: Time = Field(description="time to cross one stage")
    transfer: Time = Field(description="time that the data of one access occupy a path")
    retry: Time = Field(_NOTHING, description="pause after a refusal")


class RingSpec(Spec):
    """Slotted rings of one or two levels."""

    kind: Literal["ring"] = Field(description="slotted rings of one or two levels")
    members: Whole = Field(description="processors of one ring")
    slots: Whole = Field(description="packets that a ring carries at a time")
    rotation: Time = Field(description="latency of an access that is answered on the same ring")
    upper: Time | None = Field(None, description="latency of an access that is answered on another ring")
    upper_slots: Whole | None = Field(None, description="packets that the ring of rings carries at a time")

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
    latency: Time = Field(description="time of acquire and release without contention, accesses included")
    access: Time = Field(_NOTHING, description="time that one access to the lock word occupies what holds it")
    own: Time | None = Field(
        None, description="such an access of the processor that made the last one; as long as any if left out"
    )
    back_off: Annotated[str, one_of(BACK_OFFS)] = Field("none", description="pause after a failure")
    base: Time = Field(_NOTHING, description="pause after the first failure")
    most: Time = Field(_NOTHING, description="longest pause")
    home: int | None = Field(None, description=HOME, ge=0, le=MOST_HOLDERS)

    def check_rules(self) -> None:
        if self.back_off != "none" and not self.base.value > 0:
            raise broken_rule(f"a {self.back_off} back-off needs a base above 0 s", "back_off")
        if self.back_off == "exponential" and not self.most.value >= self.base.value:
            raise broken_rule("an exponential back-off needs a most of at least its base", "back_off")


class BarrierKindSpec(Spec):
    """One of the machine's barriers."""

    kind: Annotated[str, one_of(BARRIERS)] = Field(description="how it is done")
    access: Time = Field(description="time of one access to a shared counter or flag, or of one message")
    radix: Radix = Field(_TWO, description="arrivals combined at a node of a tree")


class SharedMemorySpec(Described):
    """Processors that share memory."""

    machine: Literal[1] = Field(1, description="version of this format")
    processors: ClockedProcessorsSpec = Field(description="the processors")
    cache: CacheSpec | None = Field(None, description="each processor's cache; none if shared data are not cached")
    interconnect: InterconnectSpec = Field(description="between processors and memory modules", discriminator="kind")
    memory: ModulesSpec = Field(description="the memory modules")
    locks: dict[Name, LockKindSpec] = Field({}, description="the locks by name")
    barriers: dict[Name, BarrierKindSpec] = Field({}, description="the barriers by name")

    def build(self, name: str, at: Mapping[str, Parameter], prefix: str) -> hardware.SharedMemory:
        """Build the machine of a checked file.

        Parameters
        ----------
        name : of the machine
        at : every quantity of the file, by its path under `prefix`
        """
        return hardware.SharedMemory(
            name=name or self.title,
            processors=at[f"{prefix}.processors.count"],
            step=at[f"{prefix}.processors.step"] / at[f"{prefix}.processors.clock"],
            cache=self.cache.build(at, f"{prefix}.cache") if self.cache else None,
            interconnect=_interconnect(self.interconnect, at, f"{prefix}.interconnect"),
            memory=part_of(hardware.Memory, self.memory, at, f"{prefix}.memory"),
            locks={
                key: part_of(hardware.MachineLock, each, at, f"{prefix}.locks.{key}")
                for key, each in self.locks.items()
            },
            barriers={
                key: part_of(hardware.BarrierKind, each, at, f"{prefix}.barriers.{key}")
                for key, each in self.barriers.items()
            },
        )


def _interconnect(spec: InterconnectSpec, at: Mapping[str, Parameter], path: str) -> hardware.Interconnect:
    match spec:
        case BusSpec():
            return part_of(hardware.Bus, spec, at, path, split=spec.transactions == "split")
        case MultistageSpec():
            return part_of(hardware.Multistage, spec, at, path, circuit=spec.switching == "circuit")
        case RingSpec():
            return part_of(hardware.Ring, spec, at, path)
        case CrossbarSpec():
            return part_of(hardware.Crossbar, spec, at, path)
