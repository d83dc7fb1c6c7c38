"""Machines on a network and with shared memory: the quantities that programs read, as expressions
over spec paths.

A machine with shared memory has caches, interconnects, memory modules, locks and barriers. A part
whose fields are keys of a file has them described once, with their units, where the format is
(`slipstick.schema.kinds.machine`). They are named tuples, whose classes take less time to make than
dataclasses when a command starts.

Every time is that of one use without contention; the waiting is described by the activities that
programs build from these (`slipstick_workloads.shared_memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from slipstick.expression.nodes import Expr
from slipstick.late import NDArray, np


class LinearCost(NamedTuple):
    """A cost that is linear in the message size: fixed [s] + per_byte [s/B] x size."""

    fixed: Expr
    per_byte: Expr


class SizeRange(NamedTuple):
    """Protocol cost of messages up to a size; `up_to` is None in the last range [B]."""

    name: str
    up_to: Expr | None
    total: LinearCost


class SwitchReduction(NamedTuple):
    """A reduction that is executed by the switches of a network. The fields are the keys of
    `SwitchReductionSpec`.
    """

    algorithm: str
    start: Expr
    per_byte: Expr


class RingProtocol(NamedTuple):
    """A protocol that a library may take for the messages of a ring: its name, and the keys of
    `RingProtocolSpec`.
    """

    name: str
    share: Expr
    most: Expr | None
    start: Expr
    step: Expr


class Network(NamedTuple):
    """A network between processors: the costs of its messages.

    Parameters
    ----------
    name : in the catalogue
    protocol_added : bytes that the protocol sees beyond the message [B]
    ranges : protocol cost by size, ascending; the last has no end
    wire_per_byte : time of a byte on the wire [s/B]
    wire_added : bytes that headers and framing add on the wire [B]
    adapter : latency of each adapter [s]
    switch : latency of a switch [s]
    switches : switches between two processors [1]
    medium : where messages contend: shared (one medium for all), switched (each processor's own
        link) or none
    algorithms : of collective operations that its library has; empty: all that are known
    in_switch : how its switches combine what ranks send, if they do
    ring_protocols : of which its library takes the quickest for a ring and its size
    """

    name: str
    protocol_added: Expr
    ranges: tuple[SizeRange, ...]
    wire_per_byte: Expr
    wire_added: Expr
    adapter: Expr
    switch: Expr
    switches: Expr
    medium: str
    algorithms: tuple[str, ...] = ()
    in_switch: SwitchReduction | None = None
    ring_protocols: tuple[RingProtocol, ...] = ()


class Dvsm(NamedTuple):
    """The software costs of a distributed virtual shared memory, in addition to the protocol time.
    The fields are the keys of `DvsmSpec`.
    """

    send_call: Expr
    receive_call: Expr
    serve_call: Expr
    receive_byte: Expr
    part: Expr
    apply: Expr
    serve: Expr
    page_call: Expr
    page_serve: Expr
    lock_call: Expr
    lock_compute: Expr
    lock_serve: Expr
    serve_delay: Expr
    serve_delay_more: Expr
    page_delay: Expr
    lock_delay: Expr
    byte: Expr
    notice: Expr
    protect: Expr


class Node(NamedTuple):
    """A group of processors with a network of its own, such as the accelerators of one server. The
    fields are the keys of `NodeSpec`.
    """

    processors: Expr
    adapters: Expr
    network: Network
    collectives: str
    block: Expr | None = None


class MemoryDomain(NamedTuple):
    """Processors that share the bandwidth of one memory; its fields are the keys of
    `MemoryDomainSpec`.
    """

    processors: Expr
    bandwidth: Expr


class Machine(NamedTuple):
    """Processors on a network.

    Parameters
    ----------
    name : in the catalogue
    processors : how many [1]
    speed : of each, relative to the machine the costs were measured on [1]
    page : size of a memory page [B]
    signal : cost of delivering a signal [s]
    network : between the processors
    dvsm : its distributed virtual shared memory, if it has one
    node : processors of one node, if they are joined by another network
    flops : floating-point operations that a processor sustains, if that is told [1/s]
    bandwidth : between a processor and its memory, if that is told [B/s]
    latency : of one access to memory, if that is told [s]
    domain : processors that share a memory, if they do; they fill one after the other
    call : system call of a send or a receive, if that is told [s]
    left_out : losses of the import that the machine is from, by name, and what each changes
    """

    name: str
    processors: Expr
    speed: Expr
    page: Expr
    signal: Expr
    network: Network
    dvsm: Dvsm | None = None
    node: Node | None = None
    flops: Expr | None = None
    bandwidth: Expr | None = None
    latency: Expr | None = None
    domain: MemoryDomain | None = None
    call: Expr | None = None
    left_out: tuple[tuple[str, str], ...] = ()


class CacheLevel(NamedTuple):
    """A cache between the processor and the cache of a machine, smaller and faster than that; its
    fields are the keys of `CacheLevelSpec`.
    """

    size: Expr
    hit: Expr


class Cache(NamedTuple):
    """The cache of each processor for shared data. Both of its protocols invalidate the copies of
    other processors. The fields are the keys of `CacheSpec`.
    """

    size: Expr
    line: Expr
    ways: Expr
    hit: Expr
    protocol: str
    inner: tuple[CacheLevel, ...] = ()
    other: Expr | None = None


class Bus(NamedTuple):
    """One bus for all processors. A split bus is free while the memory works; any other bus is held
    until the data arrive. The fields are the keys of `BusSpec`.
    """

    request: Expr
    transfer: Expr
    invalidate: Expr
    split: bool


class Multistage(NamedTuple):
    """Stages of k x k switches between processors and memory modules, as in `MultistageSpec`.

    There are ceil(log_k ports) stages. Of a circuit the path is held from the request to the reply,
    and refused while it is in use; else packets queue.
    """

    radix: Expr
    ports: Expr
    hop: Expr
    transfer: Expr
    circuit: bool
    retry: Expr


_Lines = TypeVar("_Lines", int, "NDArray[np.integer[Any]]")


def omega_outputs(
    radix: int, stage_count: int, source: _Lines, target: _Lines
) -> dict[str, _Lines]:
    """Return the switch outputs that requests from `source` to `target` need in an omega network,
    by the name of the stage, and last the number of the memory module.

    The network is an omega network: before each stage, lines are shuffled, so that the number of a
    line moves up by one digit to the base k; the switch puts the next digit of the destination in
    the last place. So the output of stage i is made of the last n - i digits of the source and the
    first i digits of the destination. The last one is the module.

    Parameters
    ----------
    radix, stage_count : k, and how many stages there are [1]
    source, target : numbers of processors and modules, from 0, alone or as arrays

    Source: Lawrie, IEEE Transactions on Computers C-24(12), 1975.
    """
    output_by_stage = {}
    for stage in range(1, stage_count):
        target_power = radix**stage
        source_power = radix ** (stage_count - stage)
        output_by_stage[f"stage {stage}"] = (
            source % source_power * target_power + target // source_power
        )
    return {**output_by_stage, "module": target}


class Ring(NamedTuple):
    """Slotted rings of one or two levels. Latencies include the way through all rings that are
    passed. The fields are the keys of `RingSpec`.
    """

    members: Expr
    slots: Expr
    rotation: Expr
    upper: Expr | None
    upper_slots: Expr | None


class Crossbar(NamedTuple):
    """A crossbar with a path of its own from every processor to every module: the keys of
    `CrossbarSpec`.
    """

    hop: Expr
    transfer: Expr


Interconnect = Bus | Multistage | Ring | Crossbar


class Memory(NamedTuple):
    """Memory modules and how addresses are spread over them: the keys of `ModulesSpec`."""

    modules: Expr
    access: Expr
    block: Expr
    element: Expr


class MachineLock(NamedTuple):
    """A lock that a machine offers; the latency includes the accesses to the lock word. The fields
    are the keys of `LockKindSpec`.
    """

    kind: str
    latency: Expr
    access: Expr
    back_off: str
    base: Expr
    most: Expr
    home: int | None = None
    own: Expr | None = None


class BarrierKind(NamedTuple):
    """A barrier that a machine offers. The fields are the keys of `BarrierKindSpec`."""

    kind: str
    access: Expr
    radix: Expr


class SharedMemory(NamedTuple):
    """Processors that share memory.

    Parameters
    ----------
    name : in the catalogue
    processors : how many at most [1]
    step : one unit of computing of the grains [s]
    cache : for shared data; None where they are not cached
    interconnect : between processors and modules
    memory : the modules
    locks, barriers : by name
    """

    name: str
    processors: Expr
    step: Expr
    cache: Cache | None
    interconnect: Interconnect
    memory: Memory
    locks: Mapping[str, MachineLock]
    barriers: Mapping[str, BarrierKind]
