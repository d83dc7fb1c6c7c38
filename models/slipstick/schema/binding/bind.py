"""Scenes to models: every quantity becomes a parameter under its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Expr, Parameter
from slipstick.law import ALL as LAWS
from slipstick.model.activity import TECHNOLOGIES
from slipstick.model.technology import faster, scaled
from slipstick.program import PROGRAMS, Input, Program
from slipstick.program.program import Given as ProgramGiven
from slipstick.schema.binding.activity import ActivityReader
from slipstick.schema.binding.formula import read_formula
from slipstick.schema.binding.how import How
from slipstick.schema.binding.machine import machine_of
from slipstick.schema.binding.queueing import NetworkReader
from slipstick.schema.binding.scene import Scene, machines_for_workload, stage
from slipstick.schema.describe import Entry, entries, parameters_of, with_sources
from slipstick.schema.kinds.activity import ActivitySpec
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.quantity import Formula, Given
from slipstick.schema.kinds.queueing import QueueingNetworkSpec
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.kinds.technology import Factors
from slipstick.schema.load import Library
from slipstick.schema.text.nodes import Node, Scalar, canonical, split
from slipstick.schema.text.scalars import short
from slipstick.schema.validate import problem

if TYPE_CHECKING:
    # Checking a file needs no numerical library.
    from slipstick.method.forms import Subject

__all__ = ["Bound", "bind", "bind_workload", "described"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A scene made ready to solve.

    Parameters
    ----------
    name : of the model
    model : the system, the network, or the law
    parameters : everything that is a number in the scene, by path
    entries : what the specs say of each
    how : it is to be solved
    notes : what the scene left out
    """

    name: str
    model: Subject
    parameters: Mapping[str, Parameter]
    entries: Mapping[str, Entry]
    how: How = field(default_factory=How)
    notes: tuple[str, ...] = ()


def bind(scene: Scene) -> Bound:
    """Check a scene and build its model.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    spec = scene.checked()
    found = _entries(scene, spec)
    parameters = _parameters(scene, found)
    try:
        model = _build(scene, spec, parameters)
    except ModelError as error:
        mark = scene.tree.mark
        raise SpecError([Problem(mark.file, mark.line, mark.column, "", str(error))]) from None
    return Bound(scene.name, model, parameters, {**found, **_defaults(scene, found)}, scene.how, scene.notes)


def described(scene: Scene) -> dict[str, Entry]:
    """Check a scene and say what its specs say of each quantity; nothing is built.

    Raises
    ------
    SpecError : a value is not allowed
    """
    found = _entries(scene, scene.checked())
    return {**found, **_defaults(scene, found)}


def _entries(scene: Scene, spec: BaseModel) -> dict[str, Entry]:
    named = (
        replace(each, path=canonical(scene.tree, each.path))
        for each in with_sources(entries(spec), scene.tree, scene.sources)
    )
    return {each.path: each for each in named}


def bind_workload(reference: Node, library: Library) -> Bound:
    """Build the model of a workload on the first machine of the catalogue that it fits, to check or show its inputs.

    Raises
    ------
    SpecError : it fits none; what is wrong on the first
    """
    problems: list[SpecError] = []
    for name in machines_for_workload(reference, library):
        try:
            return bind(
                stage({"workload": reference, "machine": Scalar(name, "", reference.mark, quoted=True)}, library)
            )
        except SpecError as error:
            problems.append(error)
    raise problems[0]


def _parameters(scene: Scene, found: Mapping[str, Entry]) -> dict[str, Parameter]:
    """Make a parameter of each quantity; one that is nested too deep for a name is refused where it stands."""
    problems = []
    for path, each in found.items():
        try:
            parameters_of({path: each})
        except ModelError:
            why = f"the path {short(path)} is too long; use shorter names, or nest less"
            problems.append(problem(scene.tree, split(path), why))
    if problems:
        raise SpecError(problems)
    return parameters_of(found)


def _defaults(scene: Scene, found: Mapping[str, Entry]) -> dict[str, Entry]:
    """Describe the inputs of a program that nobody set and that have a number of their own."""
    inputs = PROGRAMS[scene.name].inputs if scene.kind == "program" else ()
    return {
        each.name: Entry(each.name, Given(each.default, each.dimension, ""), each.meaning, "default of the program")
        for each in inputs
        if isinstance(each.default, float) and each.name not in found and each.name not in scene.tree.entries
    }


def _build(scene: Scene, spec: BaseModel, parameters: Mapping[str, Parameter]) -> Subject:
    if scene.kind == "law":
        return LAWS[scene.name.removeprefix("law/")]
    if isinstance(spec, ActivitySpec):
        model = ActivityReader(scene.name, scene.tree, spec, parameters).model()
        return scaled(model, _factors(spec.technology, parameters))
    if isinstance(spec, QueueingNetworkSpec):
        return NetworkReader(scene.name, scene.tree, spec, parameters).model()
    program = PROGRAMS[scene.name]
    machine = getattr(spec, "machine")  # noqa: B009  # the form is made at run time
    assert isinstance(machine, MachineSpec | SharedMemorySpec)
    inputs = _inputs(program, scene, spec, parameters)
    model = program.on(machine_of(machine), **inputs)
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


def _inputs(
    program: Program, scene: Scene, spec: BaseModel, parameters: Mapping[str, Parameter]
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
            made[each.name] = scene.counts[value]
        elif isinstance(value, str):
            made[each.name] = value
            problems += _unknown_part(each, value, scene, spec)
        elif isinstance(value, list):
            made[each.name] = tuple(parameters[f"{each.name}.{index}"] for index in range(len(value)))
    known: dict[str, Expr] = dict(parameters)
    for name, (formula, dimension) in formulas.items():
        # In the order of the program's inputs; each may use parameters and the formulas before it.
        try:
            made[name] = known[name] = read_formula(scene.tree, (name,), formula, known, dimension)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return made


def _unknown_part(each: Input, value: str, scene: Scene, spec: BaseModel) -> list[Problem]:
    """Refuse the name of a lock or barrier that the machine does not have, where it is written."""
    there = getattr(getattr(spec, "machine"), each.named, {}) if each.named else {}  # noqa: B009
    if not each.named or value == "none" or value in there:
        return []
    why = f"this is none of the machine's {each.named}: {short(value)}{did_you_mean(value, list(there))}"
    return [problem(scene.tree, (each.name,), why)]
