"""Checked machine specs as what programs read: expressions over the paths of the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from slipstick.expression.nodes import Parameter
from slipstick.model.machine import Dvsm, Line, Machine, Network, SizeRange
from slipstick.model.shared_memory import (
    BarrierKind,
    Bus,
    Cache,
    Crossbar,
    Interconnect,
    LockKind,
    Memory,
    Multistage,
    Ring,
    SharedMemory,
)
from slipstick.schema.describe import entries, parameters_of
from slipstick.schema.kinds.machine import MachineSpec, NetworkSpec
from slipstick.schema.kinds.shared_memory import SharedMemorySpec

__all__ = ["machine_of"]

At = Mapping[str, Parameter]


def machine_of(spec: MachineSpec | SharedMemorySpec, name: str = "", prefix: str = "machine") -> Machine | SharedMemory:
    """Read a checked machine spec as expressions over its paths."""
    at = parameters_of({each.path: each for each in entries(spec, prefix)})
    if isinstance(spec, SharedMemorySpec):
        return _shared_memory(spec, at, name or spec.title, prefix)
    return Machine(
        name=name or spec.title,
        processors=at[f"{prefix}.processors.count"],
        speed=at[f"{prefix}.processors.speed"],
        page=at[f"{prefix}.memory.page"],
        signal=at[f"{prefix}.system.signal"],
        network=_network(spec.network, at, f"{prefix}.network"),
        dvsm=_dvsm(spec, at, f"{prefix}.dvsm"),
    )


def _dvsm(spec: MachineSpec, at: At, prefix: str) -> Dvsm | None:
    return None if spec.dvsm is None else Dvsm(**{each.name: at[f"{prefix}.{each.name}"] for each in fields(Dvsm)})


def _network(spec: NetworkSpec, at: At, prefix: str) -> Network:
    ranges = []
    for name, each in spec.protocol.ranges.items():
        path = f"{prefix}.protocol.ranges.{name}"
        total = Line(at[f"{path}.total.fixed"], at[f"{path}.total.per_byte"])
        ranges.append(SizeRange(name, at[f"{path}.up_to"] if each.up_to else None, total))
    return Network(
        name=spec.title,
        protocol_added=at[f"{prefix}.protocol.added"],
        ranges=tuple(ranges),
        wire_per_byte=at[f"{prefix}.wire.per_byte"],
        wire_added=at[f"{prefix}.wire.added"],
        adapter=at[f"{prefix}.adapter"],
        switch=at[f"{prefix}.switch"],
        switches=at[f"{prefix}.switches"],
        medium=spec.medium,
    )


def _shared_memory(spec: SharedMemorySpec, at: At, name: str, prefix: str) -> SharedMemory:
    locks = {key: _lock(each.kind, each.back_off, at, f"{prefix}.locks.{key}") for key, each in spec.locks.items()}
    barriers = {
        key: BarrierKind(each.kind, at[f"{prefix}.barriers.{key}.access"], at[f"{prefix}.barriers.{key}.radix"])
        for key, each in spec.barriers.items()
    }
    return SharedMemory(
        name=name,
        processors=at[f"{prefix}.processors.count"],
        step=at[f"{prefix}.processors.step"] / at[f"{prefix}.processors.clock"],
        cache=_cache(spec, at, f"{prefix}.cache"),
        interconnect=_interconnect(spec, at, f"{prefix}.interconnect"),
        memory=Memory(*(at[f"{prefix}.memory.{key}"] for key in ("modules", "access", "block", "element"))),
        locks=locks,
        barriers=barriers,
    )


def _cache(spec: SharedMemorySpec, at: At, prefix: str) -> Cache | None:
    if spec.cache is None:
        return None
    size, line, ways, hit = (at[f"{prefix}.{key}"] for key in ("size", "line", "ways", "hit"))
    return Cache(size, line, ways, hit, spec.cache.protocol)


def _lock(kind: str, back_off: str, at: At, prefix: str) -> LockKind:
    latency, access, base, most = (at[f"{prefix}.{key}"] for key in ("latency", "access", "base", "most"))
    return LockKind(kind, latency, access, back_off, base, most)


def _interconnect(spec: SharedMemorySpec, at: At, prefix: str) -> Interconnect:
    between = spec.interconnect

    def part(key: str) -> Parameter:
        return at[f"{prefix}.{key}"]

    match between.kind:
        case "bus":
            return Bus(part("request"), part("transfer"), part("invalidate"), between.transactions == "split")
        case "multistage":
            times = part("radix"), part("ports"), part("hop"), part("transfer")
            return Multistage(*times, between.switching == "circuit", part("retry"))
        case "ring":
            two = between.upper is not None
            upper = (part("upper"), part("upper_slots")) if two else (None, None)
            return Ring(part("members"), part("slots"), part("rotation"), *upper)
        case "crossbar":
            return Crossbar(part("hop"), part("transfer"))
