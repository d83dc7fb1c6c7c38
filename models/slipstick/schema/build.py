"""Inputs to models: every quantity becomes a parameter under its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from slipstick.errors import ModelError, Problem, SpecError
from slipstick.expression.nodes import Parameter
from slipstick.law import LAWS
from slipstick.schema.describe import DescribedValue, entries, parameters_of, with_sources
from slipstick.schema.inputs import Inputs, Settings, SolverOptions, resolve
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Node, Scalar, canonical, split
from slipstick.schema.text.reader import short
from slipstick.schema.validate import problem

if TYPE_CHECKING:
    from slipstick.method.methods import Subject


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
    entries: Mapping[str, DescribedValue]
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
        model = _model(inputs, spec, parameters)
    except ModelError as error:
        mark = inputs.tree.mark
        raise SpecError([Problem(mark.file, mark.line, mark.column, "", str(error))]) from None
    return BuiltModel(
        inputs.name, model, parameters, {**found, **_defaults(inputs, found)}, inputs.options, inputs.notes
    )


def built_with(settings: Settings, library: Library) -> tuple[Inputs, BuiltModel]:
    """Resolve settings and build their model, once for the same settings.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """

    def made() -> tuple[Inputs, BuiltModel]:
        inputs = resolve(settings, library)
        return inputs, build(inputs)

    key = tuple((path, node if isinstance(node, Scalar) else id(node)) for path, node in settings.items())
    return library.once(("model", key), made, settings)


def described(inputs: Inputs) -> dict[str, DescribedValue]:
    """Check the inputs and describe each quantity, without building the model.

    Raises
    ------
    SpecError : a value is not allowed
    """
    found = _entries(inputs, inputs.checked())
    return {**found, **_defaults(inputs, found)}


def _entries(inputs: Inputs, spec: BaseModel) -> dict[str, DescribedValue]:
    named = (
        replace(each, path=canonical(inputs.tree, each.path))
        for each in with_sources(entries(spec), inputs.tree, inputs.sources)
    )
    return {each.path: each for each in named}


def _parameters(inputs: Inputs, found: Mapping[str, DescribedValue]) -> dict[str, Parameter]:
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


def _model(inputs: Inputs, spec: BaseModel, parameters: Mapping[str, Parameter]) -> Subject:
    if inputs.kind == "law":
        return LAWS[inputs.name.removeprefix("law/")]
    if inputs.kind == "program":
        from slipstick.schema.programs import build_program

        return build_program(inputs, spec, parameters)
    model: Subject = getattr(spec, "build")(inputs.name, inputs.tree, parameters)  # noqa: B009  # of a kind of file
    return model


def _defaults(inputs: Inputs, found: Mapping[str, DescribedValue]) -> dict[str, DescribedValue]:
    if inputs.kind != "program":
        return {}
    from slipstick.schema.programs import default_entries

    return default_entries(inputs, found)


def build_workload(reference: Node, library: Library) -> BuiltModel:
    """Build the model of a workload on the first machine of the catalogue that it fits, to check or show its inputs.

    Raises
    ------
    SpecError : it fits none; what is wrong on the first
    """
    from slipstick.schema.programs import machines_for_workload

    problems: list[SpecError] = []
    for name in machines_for_workload(reference, library):
        machine = Scalar(name, "", reference.mark, quoted=True)
        try:
            return build(resolve({"workload": reference, "machine": machine}, library))
        except SpecError as error:
            problems.append(error)
    raise problems[0]
