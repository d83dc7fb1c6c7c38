"""Inputs to models: every quantity becomes a parameter under its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from pydantic import BaseModel

from slipstick.errors import ModelError, Problem, SpecError, short
from slipstick.expression.nodes import Expr, Parameter, parameters
from slipstick.law import LAWS
from slipstick.model.system import Model, scaled
from slipstick.schema.describe import DescribedValue, entries, parameters_of, with_sources
from slipstick.schema.inputs import Inputs, Settings, SolverOptions, resolve
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Node, Scalar, canonical, leaves, split
from slipstick.schema.validate import problem
from slipstick.schema.values import MACHINE

if TYPE_CHECKING:
    from slipstick.method.methods import Subject
    from slipstick.method.names import AnswerNames


@dataclass(frozen=True, eq=False)
class ModelShape:
    """The structure of a model, and what follows from it whatever its numbers are, gathered once.

    Parameters
    ----------
    model : any with this structure, without the factors of technology classes
    """

    model: Subject
    _names: dict[str | None, AnswerNames] = field(default_factory=dict)

    def names(self, method: str | None) -> AnswerNames:
        """List the values that answers can have."""
        from slipstick.method.names import names_of

        if method not in self._names:
            self._names[method] = names_of(self.model, method)
        return self._names[method]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The paths that the model is computed from."""
        from slipstick.method.names import parameters_of_model

        return frozenset(parameters_of_model(self.model))

    @cached_property
    def technologies(self) -> Sequence[str]:
        """The technology classes whose factors multiply its times."""
        return self.model.technologies if isinstance(self.model, Model) else ()


@dataclass(frozen=True)
class BuiltModel:
    """A model ready to solve.

    Parameters
    ----------
    name : of the model
    shape : its structure, which may be that of another case as well
    parameters : every number of the inputs, by path
    entries : what the specs say of each
    options : method and settings of a simulation
    notes : what a technology sets and the model has no place for
    factors : of the times of each technology class
    own : builds the model without the factors; by default it is that of the shape
    """

    name: str
    shape: ModelShape
    parameters: Mapping[str, Parameter]
    entries: Mapping[str, DescribedValue]
    options: SolverOptions = field(default_factory=SolverOptions)
    notes: tuple[str, ...] = ()
    factors: Mapping[str, Expr] = field(default_factory=dict)
    own: Callable[[], Subject] | None = None

    @cached_property
    def model(self) -> Subject:
        """The system, the network, or the law; built when it is first asked for."""
        made = self.own() if self.own else self.shape.model
        return scaled(made, self.factors) if isinstance(made, Model) else made

    @cached_property
    def free(self) -> frozenset[str]:
        """Name what can be varied without building anew: all that the model is computed from."""
        used = (self.factors[name] for name in self.shape.technologies if name in self.factors)
        return self.shape.parameters | {each.name for each in parameters(*used)}


def build(inputs: Inputs) -> BuiltModel:
    """Check the inputs and build their model.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    spec = inputs.checked()
    found = _entries(inputs, spec)
    numbers = _parameters(inputs, found)
    return _with_shape(inputs, spec, found, numbers, ModelShape(_model(inputs, spec, numbers)))


def built_with(settings: Settings, library: Library) -> tuple[Inputs, BuiltModel]:
    """Resolve settings and build their model, once for the same settings, and its shape once for all that share it.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """

    inputs = resolved_with(settings, library)
    make = (lambda: _sharing(inputs, library)) if inputs.kind == "program" else (lambda: build(inputs))
    return inputs, library.once(("model", id(inputs)), make, inputs)


def resolved_with(settings: Settings, library: Library) -> Inputs:
    """Resolve settings, once for the same settings; raises SpecError as `resolve` does."""
    key = tuple((path, node if isinstance(node, Scalar) else id(node)) for path, node in settings.items())
    return library.once(("inputs", key), lambda: resolve(settings, library), settings)


def _sharing(inputs: Inputs, library: Library) -> BuiltModel:
    """Build a program, or take the shape of one that differs only in numbers that times are computed from.

    Technologies multiply times, so they do not shape a program either.
    """
    spec = inputs.checked()
    found = _entries(inputs, spec)
    numbers = _parameters(inputs, found)
    words = tuple(
        (path, each.value)
        for path, each in leaves(inputs.tree)
        if not path.startswith("technology.") and path not in found and path.rpartition(".")[0] not in found
    )
    given = {path: each.given.value for path, each in found.items() if not path.startswith("technology.")}
    counted = tuple(map(id, inputs.counts.values()))
    alike: list[tuple[dict[str, float], BuiltModel]] = library.once(("shapes", inputs.name, words, counted), list)
    # What shapes the first of them shapes the others: only those with the same values of it are looked at.
    shaping = {path: each for path, each in given.items() if not alike or path not in alike[0][1].free}
    for before, built in alike:
        same = before.keys() == given.keys() and all(before[path] == each for path, each in shaping.items())
        if same and all(before[path] == given[path] for path in given.keys() - built.free):
            own = cache(lambda: _model(inputs, spec, numbers))
            return replace(_with_shape(inputs, spec, found, numbers, built.shape), own=own)
    made = _with_shape(inputs, spec, found, numbers, ModelShape(_model(inputs, spec, numbers)))
    alike.append((given, made))
    return made


def _with_shape(
    inputs: Inputs,
    spec: BaseModel,
    found: Mapping[str, DescribedValue],
    numbers: Mapping[str, Parameter],
    shape: ModelShape,
) -> BuiltModel:
    known: dict[str, Expr] = {}
    notes = inputs.notes
    if inputs.kind == "program":
        from slipstick.schema.kinds.technology import factors
        from slipstick.schema.programs import counts_notes

        notes = (*notes, *counts_notes(inputs, numbers))
        known = factors(getattr(spec, "technology"), numbers)  # noqa: B009  # the fields are made at run time
    entries_of = {**found, **_defaults(inputs, found)}
    notes = (*notes, *_notes_on_machine(inputs, numbers, shape))
    return BuiltModel(inputs.name, shape, numbers, entries_of, inputs.options, notes, known)


def _notes_on_machine(inputs: Inputs, numbers: Mapping[str, Parameter], shape: ModelShape) -> tuple[str, ...]:
    """Refuse a model that asks for what its machine does not tell; note one that asks for nothing."""
    if "machine" not in inputs.tree.entries:
        return ()
    asked = [path for path in shape.parameters if path.startswith(MACHINE)]
    if missing := sorted(set(asked) - numbers.keys()):
        why = f"{inputs.name} needs {missing[0]}, which this machine does not give"
        raise SpecError([problem(inputs.tree, ("machine",), why)])
    if asked or inputs.kind == "program":
        return ()
    return (f"{inputs.name} uses nothing of its machine; every machine gives the same answer",)


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


def _model(inputs: Inputs, spec: BaseModel, numbers: Mapping[str, Parameter]) -> Subject:
    """Build the model, of a program without the factors of its technology."""
    if inputs.kind == "law":
        return LAWS[inputs.name.removeprefix("law/")]
    try:
        if inputs.kind == "program":
            from slipstick.schema.programs import build_program

            return build_program(inputs, spec, numbers)
        model: Subject = getattr(spec, "build")(inputs.name, inputs.tree, numbers)  # noqa: B009  # of a kind of file
        return model
    except ModelError as error:
        mark = inputs.tree.mark
        raise SpecError([Problem(mark.file, mark.line, mark.column, "", str(error))]) from None


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
