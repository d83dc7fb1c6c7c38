"""Scenes to models: every quantity becomes a parameter under its path.

Checked machine specs as what programs read: expressions over the paths of the spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Expr, Parameter
from slipstick.law import LAWS
from slipstick.model.activity import TECHNOLOGIES
from slipstick.model.machine import Dvsm, LinearCost, Machine, Network, SizeRange
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
from slipstick.model.technology import faster, scaled
from slipstick.program import PROGRAMS
from slipstick.program.program import Given as ProgramGiven
from slipstick.program.program import Input, Program
from slipstick.schema.build_activity import ActivityReader, read_formula
from slipstick.schema.build_network import NetworkReader
from slipstick.schema.describe import Entry, entries, parameters_of, with_sources
from slipstick.schema.inputs import Inputs, machines_for_workload, resolve
from slipstick.schema.kinds.activity import ActivitySpec
from slipstick.schema.kinds.machine import MachineSpec, NetworkSpec
from slipstick.schema.kinds.quantity import Formula, Given
from slipstick.schema.kinds.queueing import QueueingNetworkSpec
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.kinds.technology import Factors
from slipstick.schema.library import Library
from slipstick.schema.solver_options import SolverOptions
from slipstick.schema.text.nodes import Node, Scalar, canonical, split
from slipstick.schema.text.reader import short
from slipstick.schema.validate import problem

if TYPE_CHECKING:
    from slipstick.method.forms import Subject


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


def network_of(spec: NetworkSpec, prefix: str = "machine.network") -> Network:
    """Read a checked network spec as expressions over its paths."""
    return _network(spec, parameters_of({each.path: each for each in entries(spec, prefix)}), prefix)


def _dvsm(spec: MachineSpec, at: At, prefix: str) -> Dvsm | None:
    return None if spec.dvsm is None else Dvsm(**{each.name: at[f"{prefix}.{each.name}"] for each in fields(Dvsm)})


def _network(spec: NetworkSpec, at: At, prefix: str) -> Network:
    ranges = []
    for name, each in spec.protocol.ranges.items():
        path = f"{prefix}.protocol.ranges.{name}"
        total = LinearCost(at[f"{path}.total.fixed"], at[f"{path}.total.per_byte"])
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


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """A model ready to solve.

    Parameters
    ----------
    name : of the model
    model : the system, the network, or the law
    parameters : every number of the inputs, by path
    entries : what the specs say of each
    options : method and settings of a simulation
    notes : what a technology sets and the model has no place for
    """

    name: str
    model: Subject
    parameters: Mapping[str, Parameter]
    entries: Mapping[str, Entry]
    options: SolverOptions = field(default_factory=SolverOptions)
    notes: tuple[str, ...] = ()


def build(inputs: Inputs) -> BuiltModel:
    """Check the inputs and build their model.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    spec = inputs.checked()
    found = _entries(inputs, spec)
    parameters = _parameters(inputs, found)
    try:
        model = _build(inputs, spec, parameters)
    except ModelError as error:
        mark = inputs.tree.mark
        raise SpecError([Problem(mark.file, mark.line, mark.column, "", str(error))]) from None
    return BuiltModel(
        inputs.name, model, parameters, {**found, **_defaults(inputs, found)}, inputs.options, inputs.notes
    )


def described(inputs: Inputs) -> dict[str, Entry]:
    """Check the inputs and describe each quantity, without building the model.

    Raises
    ------
    SpecError : a value is not allowed
    """
    found = _entries(inputs, inputs.checked())
    return {**found, **_defaults(inputs, found)}


def _entries(inputs: Inputs, spec: BaseModel) -> dict[str, Entry]:
    named = (
        replace(each, path=canonical(inputs.tree, each.path))
        for each in with_sources(entries(spec), inputs.tree, inputs.sources)
    )
    return {each.path: each for each in named}


def build_workload(reference: Node, library: Library) -> BuiltModel:
    """Build the model of a workload on the first machine of the catalogue that it fits, to check or show its inputs.

    Raises
    ------
    SpecError : it fits none; what is wrong on the first
    """
    problems: list[SpecError] = []
    for name in machines_for_workload(reference, library):
        try:
            return build(
                resolve({"workload": reference, "machine": Scalar(name, "", reference.mark, quoted=True)}, library)
            )
        except SpecError as error:
            problems.append(error)
    raise problems[0]


def _parameters(inputs: Inputs, found: Mapping[str, Entry]) -> dict[str, Parameter]:
    """Make a parameter of each quantity; one that is nested too deep for a name is refused where it stands."""
    problems = []
    for path, each in found.items():
        try:
            parameters_of({path: each})
        except ModelError:
            why = f"the path {short(path)} is too long; use shorter names, or nest less"
            problems.append(problem(inputs.tree, split(path), why))
    if problems:
        raise SpecError(problems)
    return parameters_of(found)


def _defaults(inputs: Inputs, found: Mapping[str, Entry]) -> dict[str, Entry]:
    """Describe the inputs of a program that nobody set and that have a number of their own."""
    own = PROGRAMS[inputs.name].inputs if inputs.kind == "program" else ()
    return {
        each.name: Entry(each.name, Given(each.default, each.dimension, ""), each.meaning, "default of the program")
        for each in own
        if isinstance(each.default, float) and each.name not in found and each.name not in inputs.tree.entries
    }


def _build(inputs: Inputs, spec: BaseModel, parameters: Mapping[str, Parameter]) -> Subject:
    if inputs.kind == "law":
        return LAWS[inputs.name.removeprefix("law/")]
    if isinstance(spec, ActivitySpec):
        model = ActivityReader(inputs.name, inputs.tree, spec, parameters).model()
        return scaled(model, _factors(spec.technology, parameters))
    if isinstance(spec, QueueingNetworkSpec):
        return NetworkReader(inputs.name, inputs.tree, spec, parameters).model()
    program = PROGRAMS[inputs.name]
    machine = getattr(spec, "machine")  # noqa: B009  # the form is made at run time
    assert isinstance(machine, MachineSpec | SharedMemorySpec)
    given = _given(program, inputs, spec, parameters)
    model = program.on(machine_of(machine), **given)
    return scaled(model, _factors(getattr(spec, "technology"), parameters))  # noqa: B009


def _factors(spec: Factors, parameters: Mapping[str, Parameter]) -> dict[str, Expr]:
    own: dict[str, Expr] = {
        name: parameters[f"technology.{name}"] for name in TECHNOLOGIES if getattr(spec, name) is not None
    }
    if spec.processors is None:
        return own
    return faster(
        own, parameters["technology.processors"], spec.fully, spec.partly, parameters.get("technology.benefit")
    )


def _given(
    program: Program, inputs: Inputs, spec: BaseModel, parameters: Mapping[str, Parameter]
) -> dict[str, ProgramGiven]:
    """Give each input that is set: a parameter, a list of them, or a formula over the others."""
    made: dict[str, ProgramGiven] = {}
    formulas: dict[str, tuple[Formula, Dimension]] = {}
    problems: list[Problem] = []
    for each in program.inputs:
        value = getattr(spec, each.name)
        if isinstance(value, Formula):
            formulas[each.name] = (value, each.dimension)
        elif isinstance(value, Given):
            made[each.name] = parameters[each.name]
        elif isinstance(value, str) and each.counts:
            made[each.name] = inputs.counts[value]
        elif isinstance(value, str):
            made[each.name] = value
            problems += _unknown_part(each, value, inputs, spec)
        elif isinstance(value, list):
            made[each.name] = tuple(parameters[f"{each.name}.{index}"] for index in range(len(value)))
    known: dict[str, Expr] = dict(parameters)
    for name, (formula, dimension) in formulas.items():
        # In the order of the program's inputs; each may use parameters and the formulas before it.
        try:
            made[name] = known[name] = read_formula(inputs.tree, (name,), formula, known, dimension)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return made


def _unknown_part(each: Input, value: str, inputs: Inputs, spec: BaseModel) -> list[Problem]:
    """Refuse the name of a lock or barrier that the machine does not have, where it is written."""
    there = getattr(getattr(spec, "machine"), each.named, {}) if each.named else {}  # noqa: B009
    if not each.named or value == "none" or value in there:
        return []
    why = f"this is none of the machine's {each.named}: {short(value)}{did_you_mean(value, list(there))}"
    return [problem(inputs.tree, (each.name,), why)]
