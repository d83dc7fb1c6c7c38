"""Specs written for a test, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.api import load
from slipstick.errors import SpecError
from slipstick.model.machine import SharedMemory
from slipstick.schema.inputs import BuiltModel, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Node, Scalar, read_value
from slipstick.study.check import check_file

__all__ = [
    "DESIGN",
    "MACHINE",
    "NETWORK",
    "activity",
    "built",
    "line",
    "refused",
    "settings",
    "shared_machine",
    "study",
    "valid",
]

MACHINE = """\
machine: 1
processors: {count: 8}
memory: {page: 4 KiB}
system: {signal: 40 us}
network: atm-oc3
"""
NETWORK = """\
network: 1
protocol:
  added: 46 B
  ranges:
    small: {up_to: 1024 B, total: {fixed: 102 us, per_byte: 0.04 us/B}}
    large: {total: {fixed: 154 us, per_byte: 0.03 us/B}}
wire: {per_byte: 0.08 us/B, added: 58 B}
adapter: 25 us
switch: 0 us
medium: shared
"""
DESIGN = """\
activity: 1
# or {arrivals: 0.3 /s}; or phases: [{repeat, processors, cycle}]
population: {processors: 8}          
useful: [busy]
resources:
  {bus: {servers: 1, discipline: fcfs}, door: {lock: fifo}, meet: {barrier: central, cost: 5 us}}
cycle:
  - {name: work, delay: 9 ms, scv: 1, component: busy}
  - {hold: door, body: [{name: crit, service: bus, time: 1 ms, component: lock}]}
  - {fork: [[{delay: 1 ms}], [{service: own, time: 2 ms}, {service: other, time: 1 ms}]]}
  - {choose: [{p: 0.3, do: [{delay: 10 ms}]}, {p: 0.7, do: []}]}
  - {repeat: 3, body: [{service: bus, time: 0.5 ms, component: bus}]}
  - {pipeline: 7, stages: [{serial: [{delay: 2 ms}]}, {parallel: [{delay: 4 ms}]}]}
  - {barrier: meet}
"""
"""The activity of the design, its dots filled in."""


def line(text: str, number: int, new: str) -> str:
    """Put a line in the place of another, counted from 1."""
    lines = text.split("\n")
    lines[number - 1] = new
    return "\n".join(lines)


def activity(*items: str, head: str = "population: {processors: 2}") -> str:
    """Write an activity, with one line for each of its items."""
    return "\n".join(
        ["activity: 1", *head.splitlines(), "cycle:", *(f"  - {item}" for item in items), ""]
    )


def study(*lines: str, base: str = "{model: dvsm/lock, machine: rs6000-43p-atm}") -> str:
    """Write a study of a lock, unless another base is given."""
    return "\n".join(["study: 1", f"base: {base}", *lines, ""])


def valid(folder: Path, text: str, name: str = "x.yaml") -> str:
    """Check a spec, and give its kind."""
    path = folder / name
    path.write_text(text)
    return check_file(path)


def refused(folder: Path, text: str, name: str = "x.yaml") -> list[str]:
    """Return the problems of a spec as they are printed, with files by their names only."""
    with pytest.raises(SpecError) as caught:
        valid(folder, text, name)
    return [str(each).replace(f"{folder}/", "") for each in caught.value.problems]


def shared_machine(name: str) -> SharedMemory:
    """Load a machine of the catalogue that has shared memory."""
    found = load(f"machine/{name}")
    assert isinstance(found, SharedMemory)
    return found


def settings(**given: str) -> dict[str, Node]:
    """Make settings, dots written as two underscores; a model, machine or workload is a name."""
    made: dict[str, Node] = {}
    for path, text in given.items():
        place = f"--set {path}"
        named = path in ("model", "machine", "workload")
        made[path.replace("__", ".")] = (
            Scalar(text, text, Mark(place, 1, 1), quoted=True) if named else read_value(text, place)
        )
    return made


def built(folder: Path, text: str, **given: str) -> BuiltModel:
    """Build the model of an activity, with values set over it."""
    path = folder / "x.yaml"
    path.write_text(text)
    return build(resolve(settings(model=str(path), **given), Library()))
