"""Inputs of a model: everything that a user may set, by path; the model that is built from it, and
its answers.

Solver options are among the settings. Every quantity of the inputs becomes a parameter under its
path. The methods are imported when one is asked for; `slipstick.study` solves for many settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, create_model

from slipstick.errors import (
    DoubtfulRate,
    DoubtfulSource,
    ModelError,
    MoreProcessors,
    OperationKind,
    Problem,
    SpecError,
    StatedError,
    UnitError,
    UnknownNameError,
    did_you_mean,
    nearest_names,
    short,
    suggestion_of,
)
from slipstick.expression.nodes import COUNT, Expr, Number, Parameter, parameters, substitute
from slipstick.late import Array, dataclass, field, late_pattern, np, replace
from slipstick.law import LAWS, Law
from slipstick.model.added import AddedModel
from slipstick.model.system import MANY, Model, need_model, scaled_model
from slipstick.program import PROGRAMS
from slipstick.schema.kinds.constraints import broken_rule
from slipstick.schema.kinds.quantity import (
    MACHINE,
    MACHINE_IN_A_YEAR,
    Described,
    DescribedValue,
    Given,
    Quantity,
    Spec,
    described_values,
    parameters_of,
    technology_factors,
    validate,
    with_sources,
)
from slipstick.schema.library import (
    KINDS,
    TECHNOLOGY,
    Library,
    is_file_name,
    kind_of,
    kinds_with_name,
    model_description,
    names_of_kind,
    spec_model,
    unknown_name,
)
from slipstick.schema.text import (
    STANDARD_INPUT,
    Entry,
    Mark,
    Node,
    NodePath,
    Scalar,
    Table,
    canonical,
    from_plain,
    join_path,
    leaves,
    node_at,
    node_text,
    plain_data,
    problem,
    split_path,
)
from slipstick.schema.text import replace as replaced
from slipstick.schema.uncertain import FITTED, UncertainValues, separate_uncertain
from slipstick.sim.settings import MOST_REPLICATIONS, Simulation
from slipstick.time_distributions import PHASE_KINDS
from slipstick.units import InBaseUnits, parse, show
from slipstick.vocabulary import (
    ACTIVITY,
    CHECKS,
    all_methods,
    known_methods,
)

if TYPE_CHECKING:
    from slipstick.answer import Answer
    from slipstick.expression.tape import Values
    from slipstick.method.ladder import Subject
    from slipstick.method.names import AnswerNames
    from slipstick.program.program import ProgramData
    from slipstick.results.study import Timeline

T = TypeVar("T")

METHOD = "method"
SIMULATION_PREFIX = "simulation."

_DEFAULT_SIMULATION = Simulation()


def _valid_check(check: str | int) -> str | int:
    """Return the value of the key `check` of a simulation: a word of `CHECKS`, or a number of
    events within the limit. Raise for any other value.
    """
    if check in CHECKS if isinstance(check, str) else 0 < check <= MOST_EVENTS:
        return check
    raise broken_rule(
        f"write {', '.join(CHECKS)}, or a number of events up to {MOST_EVENTS:,}; got {check!r}"
    )


MOST_EVENTS = 10**9
"""Largest number of events of the short simulation that checks an answer."""


class SimulationSpec(Spec):
    """The keys of the section `simulation` of a file."""

    seed: int = Field(0, description="key of all random streams", ge=0, le=2**63 - 1)
    precision: Annotated[Given, Quantity(COUNT, least=None, above=0.0, most=0.5)] = Field(
        Given(_DEFAULT_SIMULATION.precision, COUNT, "2%"),
        description="half-width of the interval of the mean time, relative to it, at which to stop",
    )
    level: Annotated[Given, Quantity(COUNT, least=0.5, most=0.9999)] = Field(
        Given(_DEFAULT_SIMULATION.level, COUNT, "95%"),
        description="confidence level of the intervals",
    )
    least: int = Field(
        _DEFAULT_SIMULATION.least,
        description="minimum number of cycles, or of runs of a program",
        ge=1,
        le=10**9,
    )
    events: int = Field(
        _DEFAULT_SIMULATION.events, description="maximum number of events", ge=1, le=10**12
    )
    cycles: int | None = Field(
        None, description="simulate exactly this many cycles, or runs", ge=1, le=10**12
    )
    shares: int = Field(
        0,
        description="number of parameters whose shares are estimated, two more runs each",
        ge=0,
        le=1000,
    )
    replications: int = Field(
        1,
        description=(
            "independent runs that a simulation is parted into, which run side by side; better than"
            " one long run where there are more cores than points"
        ),
        ge=1,
        le=MOST_REPLICATIONS,
    )
    check: Annotated[str | int, AfterValidator(_valid_check)] = Field(
        "ends",
        description=(
            "whether a short simulation looks at default answers that are not exact: off; ends, of"
            " a sweep the ends, the point nearest to a knee and two at random; all; or a number of"
            " events"
        ),
    )
    kernel: Literal["auto", "plain", "compiled"] = Field(
        "auto", description="event loop; all give the same results"
    )


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """The method by which a model is solved, and the settings of a simulation.

    Parameters
    ----------
    method : by name; None is the default of the model's kind
    simulation : used where the method is simulation
    """

    method: str | None = None
    simulation: Simulation = _DEFAULT_SIMULATION


def is_solver_option(path: str) -> bool:
    """Return whether a path belongs to the solver options and not to the values of the model."""
    return path == METHOD or path.startswith(SIMULATION_PREFIX)


def solver_options(settings: Mapping[str, Node]) -> SolverOptions:
    """Read the solver options from settings by path.

    Raises
    ------
    SpecError : there is no such method, or a setting of the simulation is wrong
    """
    return SolverOptions(_method_of(settings.get(METHOD)), _simulation_of(settings))


def _method_of(node: Node | None) -> str | None:
    if node is None:
        return None
    name = node.value if isinstance(node, Scalar) else None
    if name not in all_methods():
        message = str(UnknownNameError(METHOD, str(name)[:100], all_methods()))
        raise node.mark.error(message, METHOD)
    return str(name)


def _simulation_of(settings: Mapping[str, Node]) -> Simulation:
    simulation_nodes = {
        path.removeprefix(SIMULATION_PREFIX): node
        for path, node in settings.items()
        if path.startswith(SIMULATION_PREFIX)
    }
    if not simulation_nodes:
        return _DEFAULT_SIMULATION
    simulation_entries = {
        setting: Entry(node.mark, node) for setting, node in simulation_nodes.items()
    }
    mark = Mark("", 1, 1)
    simulation_spec = validate(
        _Options, Table({"simulation": Entry(mark, Table(simulation_entries, mark))}, mark)
    ).simulation
    value_by_setting = {
        setting: getattr(simulation_spec, setting) for setting in SimulationSpec.model_fields
    }
    plain_values: dict[str, Any] = {
        setting: value.value if isinstance(value, Given) else value
        for setting, value in value_by_setting.items()
    }
    return Simulation(**plain_values)


class _Options(Spec):
    """The section `simulation` inside a table, so that problems with it are reported under that
    name.
    """

    simulation: SimulationSpec = SimulationSpec()


REFERENCES = ("model", "workload", "machine", TECHNOLOGY)
"""The paths of settings whose value names a whole spec; all other paths set a value inside of one.
"""

Settings = Mapping[str, Node]


@dataclass(frozen=True)
class Inputs:
    """A model by name, with the tree of all values that can be set and the pydantic model that
    checks them.

    Parameters
    ----------
    kind : program, law, or a kind of files of models
    name : of the model
    tree : the values, each with its place
    spec_class : the pydantic model that checks them
    library : what was read
    options : method and settings of a simulation
    notes : what a technology sets and the model has no place for
    data : what programs read, such as counts, by the name or file that names it in the inputs
    uncertain_values : values that are not known exactly
    """

    kind: str
    name: str
    tree: Table
    spec_class: type[BaseModel]
    library: Library = field(repr=False)
    options: SolverOptions = field(default_factory=SolverOptions)
    notes: tuple[str, ...] = ()
    data: Mapping[str, ProgramData] = field(default_factory=dict)
    uncertain_values: UncertainValues = field(default_factory=UncertainValues)

    @cached_property
    def checked_spec(self) -> Any:
        """The checked inputs, as an object of the pydantic model `spec_class`; raises SpecError
        with all
        problems. Its fields depend on the model, so that its type is not known statically.
        """
        return validate(self.spec_class, self.tree, self.library.compute_once)

    def given_quantity(self, path: str) -> Given | None:
        """Return the checked quantity at a path, its default included; None for a value that is not
        a number.
        """
        canonical_path = canonical(self.tree, path)
        section = split_path(canonical_path)[0]
        section_values = chain(
            described_values(getattr(self.checked_spec, section, None), section),
            _default_inputs(self, {}).values(),
        )
        return next(
            (
                value.given
                for value in section_values
                if _canonical_path(value, self.tree) == canonical_path
            ),
            None,
        )

    def can_check_separately(self, paths: Iterable[str], other_paths: Iterable[str]) -> bool:
        """Return whether two groups of paths can be checked separately, because they lie in
        different sections and no rule covers several sections.
        """
        sections, other_sections = (
            {split_path(path)[0] for path in side_paths} for side_paths in (paths, other_paths)
        )
        # Where `check_rules` is not overridden, no rule covers several sections.
        return (
            sections.isdisjoint(other_sections)
            and getattr(self.spec_class, "check_rules", None) is Spec.check_rules
        )

    @property
    def title(self) -> str:
        """The title of the program, or of the model's file."""
        return PROGRAMS[self.name].title if self.name in PROGRAMS else self._text_of_key("title")

    @property
    def source(self) -> str:
        """The publication that the program, or the model's file, names as its source."""
        return PROGRAMS[self.name].source if self.name in PROGRAMS else self._text_of_key("source")

    def _text_of_key(self, key: str) -> str:
        node = node_at(self.tree, [key])
        return str(plain_data(node)) if node is not None else ""

    def with_value(self, path: str, value_node: Node) -> Inputs:
        """Return a copy of the inputs with another value at a path; it is checked when it is
        used.
        """
        changed_inputs = replace(
            self, tree=_tree_with_value(self.tree, path, value_node, self.library)
        )
        if not self.data:
            return changed_inputs
        from slipstick.schema.programs import load_named_data

        # A new value may name other data.
        return replace(
            changed_inputs, data=load_named_data(self.name, changed_inputs.tree, self.library)
        )


def resolve(settings: Settings, library: Library) -> Inputs:
    """Find the model that the settings name and the specs that it needs, and apply the settings in
    their order. Return the inputs.

    Parameters
    ----------
    settings : values by path; model, workload, machine and technology name specs, method and
        simulation are solver options; a value by its own path goes before the technology's
    library : what was read so far

    Raises
    ------
    SpecError : a name is unknown, a file is wrong, or a path leads nowhere
    """
    settings, uncertain_values = _with_keys_of_machine(settings), UncertainValues()
    has_range = any(isinstance(node, Scalar) and ".." in node.text for node in settings.values())
    if has_range or FITTED in settings:
        settings, uncertain_values = separate_uncertain(settings, library)
    options = solver_options(settings)
    model_settings = {path: node for path, node in settings.items() if not is_solver_option(path)}
    # Only solver options are given, so that a model is missing at their place.
    if not model_settings:
        _program_of_workload(settings, library)
    inputs = replace(
        _inputs_of_model(model_settings, library),
        options=options,
        uncertain_values=uncertain_values,
    )
    _refuse_unfit_method(inputs, settings)
    return inputs


def _with_keys_of_machine(settings: Settings) -> Settings:
    """Set the keys of a machine in a year, such as ``machine.year``, in the machine itself: the
    trend must take the machine to the new year. Settings without such a machine are unchanged.
    """
    machine_node = settings.get("machine")
    if not (isinstance(machine_node, Table) and "base" in machine_node.entries):
        return settings
    key_by_path = {f"machine.{key}": key for key in MACHINE_IN_A_YEAR}
    new_entries = {
        key: Entry(settings[path].mark, settings[path])
        for path, key in key_by_path.items()
        if path in settings
    }
    other_settings = {path: node for path, node in settings.items() if path not in key_by_path}
    return {
        **other_settings,
        "machine": Table({**machine_node.entries, **new_entries}, machine_node.mark),
    }


def _inputs_of_model(settings: Settings, library: Library) -> Inputs:
    """Return the inputs of the model that the settings name, which is in a file, a law of the
    catalogue or a program.
    """
    model_node = settings.get("model") or _program_of_workload(settings, library)
    value_settings = {path: node for path, node in settings.items() if path not in REFERENCES}
    # The model is written in the study itself.
    if isinstance(model_node, Table) and model_description(model_kind := kind_of(model_node)):
        return _file_inputs(
            model_kind,
            "model",
            library.resolve(model_kind, model_node),
            settings,
            value_settings,
            library,
        )
    # Laws by their prefix, then files and names of the catalogue; what is left may be a program.
    reference = reference_name(model_node, "model")
    if reference.startswith("law/"):
        return _law_inputs(reference, model_node, settings, value_settings, library)
    if model_kind := _kind_of_file(reference, model_node, library):
        name = (
            "standard-input"
            if reference == STANDARD_INPUT
            else re.sub(r"\.ya?ml$", "", Path(reference).name)
        )
        tree = library.load(model_kind, reference, model_node.mark, "model")
        return _file_inputs(model_kind, name, tree, settings, value_settings, library)
    if reference in PROGRAMS:
        from slipstick.schema.programs import program_inputs

        return program_inputs(reference, settings, value_settings, library)
    raise input_problem(model_node, "model", str(unknown_name("model", reference, model_names())))


def _program_of_workload(settings: Settings, library: Library) -> Node:
    """Return the name of the program for which the workload in the settings is."""
    from slipstick.schema.programs import model_of_workload

    return model_of_workload(settings, library)


def model_names() -> list[str]:
    """List the names of everything that can be solved."""
    return [
        *PROGRAMS,
        *(
            name
            for spec_kind in KINDS
            if model_description(spec_kind)
            for name in names_of_kind(spec_kind)
        ),
        *(f"law/{name}" for name in LAWS),
    ]


def apply_technology(
    tree: Table,
    model_name: str,
    input_names: Sequence[str],
    settings: Settings,
    value_settings: Settings,
    library: Library,
) -> tuple[Table, tuple[str, ...]]:
    """Return a tree of inputs in which a technology and settings have set values, and notes on
    values of the technology that have no effect. Settings by path override the technology.
    """
    new_tree = _with_values(tree, value_settings, library)
    if TECHNOLOGY not in settings:
        return new_tree, ()
    from slipstick.schema.kinds.technology import changes_of

    # The technology looks at the values set: what costs nothing there is left out with a note.
    changes, notes = changes_of(settings[TECHNOLOGY], model_name, input_names, new_tree, library)
    return _with_values(tree, {**changes, **value_settings}, library), notes


def _kind_of_file(reference: str, model_node: Node, library: Library) -> str:
    """Return the kind of model in a file, or in the file of a name in the catalogue; empty where
    the name has no file.
    """
    if not is_file_name(reference):
        return next(filter(model_description, kinds_with_name(reference)), "")
    file_kind = library.kind(reference, model_node.mark)
    return file_kind if model_description(file_kind) else "activity"


def _file_inputs(
    model_kind: str,
    name: str,
    tree: Table,
    settings: Settings,
    value_settings: Settings,
    library: Library,
) -> Inputs:
    _refuse_reference_setting("workload", model_description(model_kind), settings)
    if model_kind != "activity":
        _refuse_technology(model_description(model_kind), settings)
    _refuse_partial_parameters(tree, value_settings)
    if "machine" in settings:
        tree = Table(
            {
                **tree.entries,
                "machine": Entry(settings["machine"].mark, machine_tree(settings, library)),
            },
            tree.mark,
        )
    # The machine comes first, because a technology changes values of it.
    new_tree, notes = apply_technology(tree, name, (), settings, value_settings, library)
    return Inputs(
        model_kind, name, new_tree, spec_model(model_kind, new_tree), library, notes=notes
    )


def _refuse_partial_parameters(tree: Table, value_settings: Settings) -> None:
    """Raise if a new table of parameters lacks some parameters of the model. It would replace the
    model's whole table, while the user probably means to change only the parameters in it.
    """
    new_parameters = value_settings.get(_PARAMETERS)
    model_parameters = node_at(tree, [_PARAMETERS])
    if not isinstance(new_parameters, Table) or not isinstance(model_parameters, Table):
        return
    missing_names = [
        name for name in model_parameters.entries if name not in new_parameters.entries
    ]
    if missing_names:
        example_name = next(iter(new_parameters.entries), missing_names[0])
        raise input_problem(
            new_parameters,
            _PARAMETERS,
            f"this replaces all parameters of the model, and {len(missing_names)} of them are not"
            f" among these, such as {missing_names[0]}; to change single ones write"
            f" {_PARAMETERS}.{example_name}: VALUE",
        )


_PARAMETERS = "parameters"


def _refuse_unfit_method(inputs: Inputs, settings: Settings) -> None:
    """Raise if the method cannot solve this kind of model."""
    methods = known_methods(ACTIVITY if inputs.kind == "program" else inputs.kind)
    if inputs.options.method is not None and inputs.options.method not in methods:
        hint = did_you_mean(inputs.options.method, methods)
        message = f"no method {inputs.options.method!r} answers for {inputs.name}{hint}"
        raise input_problem(settings[METHOD], METHOD, message)


def machine_tree(settings: Settings, library: Library) -> Node:
    """Return the tree of the machine that the settings name or contain."""
    node = settings["machine"]
    if isinstance(node, Table):
        return library.resolve("machine", node)
    return library.load("machine", reference_name(node, "machine"), node.mark, "machine")


def _refuse_reference_setting(path: str, model_title: str, settings: Settings) -> None:
    if path in settings:
        raise input_problem(
            settings[path],
            path,
            f"{model_title} runs on no {path}; leave it out, or name a program to run on it",
        )


def _refuse_technology(model_title: str, settings: Settings) -> None:
    if TECHNOLOGY in settings:
        message = (
            f"{model_title} has no classes of cost that a technology could change; leave it out"
        )
        raise input_problem(settings[TECHNOLOGY], TECHNOLOGY, message)


@cache
def _law_spec(law: Law) -> type[BaseModel]:
    """Build the pydantic model that checks the symbols of a law: times and sizes are not negative,
    counts are whole numbers.
    """
    conditions = set(law.holds.split(" and "))
    size_names = [symbol.name for symbol in law.symbols if symbol.dimension != COUNT]
    # A condition of the law that a size is not negative becomes a limit of its field.
    least_by_size = {
        name: 0.0 for name in size_names if conditions & {f"{name} >= 0", f"{name} > 0"}
    }
    field_by_name: dict[str, Any] = {
        symbol.name: (
            Annotated[
                Given,
                Quantity(
                    symbol.dimension,
                    least=least_by_size.get(symbol.name),
                    whole=symbol.name in law.whole_symbols,
                ),
            ],
            Field(description=symbol.meaning),
        )
        for symbol in law.symbols
    }
    return create_model(law.name, __base__=Spec, **field_by_name)


def _law_inputs(
    reference: str, model_node: Node, settings: Settings, value_settings: Settings, library: Library
) -> Inputs:
    for path in ("machine", "workload"):
        _refuse_reference_setting(path, "a law", settings)
    _refuse_technology("a law", settings)
    name = reference.removeprefix("law/")
    if name not in LAWS:
        raise input_problem(
            model_node, "model", str(UnknownNameError("law", name[:100], list(LAWS)))
        )
    return Inputs(
        "law",
        reference,
        _with_values(Table({}, model_node.mark), value_settings, library),
        _law_spec(LAWS[name]),
        library,
    )


def refuse_mistyped(key: str, settings: Settings) -> None:
    """Raise if a path is probably a misspelling of a missing key."""
    for path, node in settings.items():
        near_names = nearest_names(path, [key])
        if path not in REFERENCES and near_names:
            raise input_problem(node, path, f"unknown key{suggestion_of(near_names)}")


def _with_values(tree: Table, value_settings: Settings, library: Library) -> Table:
    """Return a tree of inputs with values set at their paths."""
    # The whole before its parts, in whatever order they come: a network, then its adapter.
    for path, node in sorted(value_settings.items(), key=lambda item: len(split_path(item[0]))):
        _refuse_other_year(tree, path, node)
        tree = _tree_with_value(tree, path, node, library)
    return tree


def _tree_with_value(tree: Table, path: str, value_node: Node, library: Library) -> Table:
    """Return a tree of inputs with a value set at a path. A new network or node of the machine may
    be the name of one, or extend one, which is then read.
    """
    keys = split_path(path)
    if not keys:
        raise input_problem(
            value_node, path, "a value needs a path, such as machine.network.adapter"
        )
    # A factor may be set where the file has no section of technology.
    if keys[:1] == ("technology",) and len(keys) == 2 and "technology" not in tree.entries:
        tree = Table(
            {**tree.entries, "technology": Entry(value_node.mark, from_plain({}, value_node.mark))},
            tree.mark,
        )
    try:
        _refuse_unknown_parameter(tree, keys)
        changed_tree = replaced(
            tree, path, _with_attributes_of_parameter(value_node, node_at(tree, keys), keys)
        )
    except UnknownNameError as error:
        whole_path = _path_with_beginning(tree, path)
        message = f"unknown path{suggestion_of([whole_path])}" if whole_path else str(error)
        raise input_problem(value_node, path, message) from None
    assert isinstance(changed_tree, Table)
    if path in ("machine.network", "machine.node.network") and isinstance(
        value_node, Scalar | Table
    ):
        machine_node = node_at(changed_tree, ["machine"])
        assert isinstance(machine_node, Table)
        resolved_tree = replaced(
            changed_tree, ["machine"], library.resolve("machine", machine_node)
        )
        assert isinstance(resolved_tree, Table)
        return resolved_tree
    return changed_tree


def _path_with_beginning(tree: Table, path: str) -> str:
    """Return a path whose first keys were left out, with these keys; empty if its first key is the
    name of no part of the inputs.
    """
    first_key = f".{split_path(path)[0]}."
    beginnings = {
        beginning
        for leaf_path, _ in leaves(tree)
        for beginning, key, _ in [f".{leaf_path}".partition(first_key)]
        if beginning and key
    }
    paths = [f"{beginning[1:]}.{path}" for beginning in beginnings]
    # The path may be one of the file, or a key that the file leaves to its default.
    return min(
        paths,
        key=lambda candidate_path: (
            node_at(tree, split_path(candidate_path)) is None,
            len(candidate_path),
        ),
        default="",
    )


def _refuse_unknown_parameter(tree: Table, keys: Sequence[str]) -> None:
    """Raise if a parameter is not defined by its file, because setting it would have no effect."""
    if keys[:1] == ("parameters",) and len(keys) == 2:
        parameters = node_at(tree, ["parameters"])
        if isinstance(parameters, Table) and keys[1] not in parameters.entries:
            raise UnknownNameError("parameter", keys[1], list(parameters.entries))


def _refuse_other_year(tree: Table, path: str, value_node: Node) -> None:
    """Raise if a setting changes the year that a machine states, because the year alone changes no
    quantity of it.
    """
    year_node = node_at(tree, ["machine", "year"]) if path == "machine.year" else None
    if isinstance(year_node, Scalar) and plain_data(year_node) != plain_data(value_node):
        raise input_problem(
            value_node,
            path,
            f"the machine is of {year_node.text}, and another year changes none of its quantities;"
            " to take it to another year along a trend, write"
            " machine: {base: MACHINE, year: YEAR, trend: measured}",
        )


def _with_attributes_of_parameter(
    value_node: Node, replaced_node: Node | None, keys: Sequence[str]
) -> Node:
    """Return the new value of a parameter with the unit, the meaning and the technology of the
    value that it replaces; a node at any other path stays unchanged.
    """
    if keys[:1] != ("parameters",):
        return value_node
    value_node = _with_unit(value_node, replaced_node)
    replaced_entries = replaced_node.entries if isinstance(replaced_node, Table) else {}
    kept_keys = ["meaning", "technology"]
    if isinstance(value_node, Table) and "technology" in value_node.entries:
        kept_keys.append("value")  # the case says only what the value follows
    kept_entries = {key: replaced_entries[key] for key in kept_keys if key in replaced_entries}
    if not kept_entries or not isinstance(value_node, Scalar | Table):
        return value_node
    entries_by_key = (
        {"value": Entry(value_node.mark, value_node)}
        if isinstance(value_node, Scalar)
        else value_node.entries
    )
    return Table({**kept_entries, **entries_by_key}, value_node.mark)


def _with_unit(value_node: Node, replaced_node: Node | None) -> Node:
    """Return a new value; a number in base units gets the unit of the parameter that it replaces,
    because the field of a parameter accepts any dimension.
    """
    replaced_value = (
        replaced_node.entries["value"].node
        if isinstance(replaced_node, Table) and "value" in replaced_node.entries
        else replaced_node
    )
    if not (
        isinstance(value_node, Scalar)
        and isinstance(value_node.value, InBaseUnits)
        and isinstance(replaced_value, Scalar)
    ):
        return value_node
    try:
        _, dimension = parse(replaced_value.text)
    except UnitError:
        return value_node
    text_with_unit = (
        f"{float(value_node.text)!r} {dimension}" if dimension != COUNT else value_node.text
    )
    return value_node._replace(
        value=text_with_unit if dimension != COUNT else value_node.value, text=text_with_unit
    )


def reference_name(node: Node, spec_title: str) -> str:
    """Return the name or path in a node that refers to a spec; raise if the node is none."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
        return node.value
    raise input_problem(
        node, spec_title, f"write the name of a {spec_title}, or a file that ends in .yaml"
    )


def input_problem(node: Node | None, path: str, message: str) -> SpecError:
    """Build the error for a setting, at the place where its value was written."""
    mark = node.mark if node is not None else Mark("command line", 1, 1)
    return mark.error(message, path)


@dataclass(frozen=True, eq=False)
class ModelShape:
    """The structure of a model with the facts that do not depend on its numbers, each computed
    once.

    Parameters
    ----------
    model : any with this structure, without the factors of technology classes
    """

    model: Subject
    _names: dict[str | None, AnswerNames] = field(default_factory=dict)

    def answer_names(self, method: str | None) -> AnswerNames:
        """List the values that answers can have."""
        from slipstick.method.names import names_of

        if method not in self._names:
            self._names[method] = names_of(self.model, method)
        return self._names[method]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The paths of the parameters that the model depends on."""
        return frozenset(self.model.parameters)

    @cached_property
    def technologies(self) -> Sequence[str]:
        """The technology classes by whose factors the times of the case are multiplied."""
        return self.model.technologies if isinstance(self.model, Model) else ()

    def processors_used(self, values: Values) -> Array | float:
        """Return the number of processors that work at once; `MANY` for arrivals [points]. Numbers
        are computed without NumPy, which `check` does not load.
        """
        from slipstick.expression.tape import Tape, selected_values

        if not isinstance(self.model, Model):
            return 0.0
        processors = self.model.population.present
        own_numbers = {entry.name: entry.value for entry in parameters(processors)}
        numbers = {
            path: value
            for path, value in {**own_numbers, **values}.items()
            if isinstance(value, float)
        }
        present = substitute(processors, numbers)
        if isinstance(present, Number):
            return present.value
        tape = Tape([present])
        return tape.run(selected_values(values, tape.parameters))[0]


@dataclass(frozen=True)
class BuiltModel:
    """A model with checked inputs, ready to solve; a large one is built only when it is first
    needed.

    Parameters
    ----------
    name : of the model
    sample : the structure of a part of the model, or of all of it, with the parameters of the model
        and some of its names
    build_unscaled : builds the model without the factors
    build_shape : builds its structure, which other cases may share
    parameters : every number of the inputs, by path
    entries : what the specs say of each
    options : method and settings of a simulation
    notes : what a technology sets and the model has no place for
    factors : of the times of each technology class
    paths_without_shape : inputs that do not determine the structure of the model, whether or not
        its times are computed from them
    uncertain_values : values that are not known exactly; those that the inputs have are their
        middles
    """

    name: str
    sample: ModelShape
    build_unscaled: Callable[[], Subject]
    build_shape: Callable[[], ModelShape]
    parameters: Mapping[str, Parameter]
    entries: Mapping[str, DescribedValue]
    options: SolverOptions = field(default_factory=SolverOptions)
    notes: tuple[str, ...] = ()
    factors: Mapping[str, Expr] = field(default_factory=dict)
    paths_without_shape: frozenset[str] = frozenset()
    uncertain_values: UncertainValues = field(default_factory=UncertainValues)

    @cached_property
    def shape(self) -> ModelShape:
        """The structure of the model."""
        return self.build_shape()

    @cached_property
    def model(self) -> Subject:
        """The model as it is solved: a system, a network or a law."""
        unscaled_model = self.build_unscaled()
        return (
            scaled_model(unscaled_model, self.factors)
            if isinstance(unscaled_model, Model)
            else unscaled_model
        )

    def notes_at(self, values: Values) -> Iterator[str]:
        """Yield the notes, and one if the model uses more processors than the machine has.

        Parameters
        ----------
        values : of parameters that differ from the model's own, at some points
        """
        yield from self.notes
        path_of_count = f"{MACHINE}processors.count"
        if path_of_count in self.parameters:
            own_values = {path: entry.value or 0.0 for path, entry in self.parameters.items()}
            all_values = {**own_values, **values}
            used, available = self.sample.processors_used(all_values), all_values[path_of_count]
            are_numbers = isinstance(used, float) and isinstance(available, float)
            largest: Callable[[Any], float] = float if are_numbers else np.max
            most_used = largest(used)
            if largest(used > available) and most_used < MANY:
                yield MoreProcessors(
                    f"uses {most_used:,.12g} processors; the machine has"
                    f" {largest(available):,.12g}",
                    used=most_used,
                )

    @cached_property
    def free_paths(self) -> frozenset[str]:
        """The paths that can be varied without building the model anew: the parameters of `sample`,
        and the factors of its technology.
        """
        used_factors = (
            self.factors[name] for name in self.sample.technologies if name in self.factors
        )
        return self.sample.parameters | {parameter.name for parameter in parameters(*used_factors)}

    def are_free(self, paths: Collection[str]) -> bool:
        """Return whether all paths are among the `free_paths`."""
        return self.free_paths.issuperset(paths)

    def can_vary(self, paths: Iterable[str]) -> bool:
        """Return whether all paths are among the `free_paths` or have no effect on the model."""
        return self.are_free({*paths} - (self.paths_without_shape & self.parameters.keys()))

    def timeline(self, cycles: int = 3, events: int = 20_000) -> Timeline:
        """Simulate the first cycles of the model, and return what every processor does at each
        moment.

        Raises
        ------
        ModelError : it is a network or a law, or it cannot be simulated
        """
        from slipstick.method.simulation.flatten import timeline

        return timeline(
            need_model(self.model, "a timeline"), None, self.options.simulation.seed, cycles, events
        )


def build_once(settings: Settings, library: Library) -> tuple[Inputs, BuiltModel]:
    """Return the inputs and the model of settings, from memory if equal settings were solved
    before. Models that differ in free numbers alone share one built structure.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    inputs = resolve_once(settings, library)
    return inputs, library.compute_once(("model", id(inputs)), lambda: build(inputs), inputs)


def resolve_once(settings: Settings, library: Library) -> Inputs:
    """Return the inputs that settings resolve to, from memory where equal settings were resolved
    before; raises SpecError as `resolve` does.
    """
    # Scalars by value, lists and tables by identity: they are kept with the result, so that no `id`
    # is reused.
    settings_key = tuple(
        (path, node if isinstance(node, Scalar) else id(node)) for path, node in settings.items()
    )
    return library.compute_once(
        ("inputs", settings_key), lambda: resolve(settings, library), settings
    )


def build(inputs: Inputs) -> BuiltModel:
    """Check the inputs, and prepare their model. The whole model is built only if no other has its
    shape and no sample of it can be built.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    checked_inputs = inputs.checked_spec
    described_by_path = _described_entries(inputs, checked_inputs)
    parameter_by_path = _parameters_by_path(inputs, described_by_path)
    build_model, build_sample = _model_builders(inputs, checked_inputs, parameter_by_path)
    build_shape: Callable[[], ModelShape] = cache(lambda: ModelShape(build_model()))
    sample = None
    factor_by_class = {}
    shapeless_inputs = frozenset[str]()
    if inputs.kind == "program":
        build_shape, sample = _shape_of_program(
            inputs, described_by_path, build_model, build_sample
        )
        factor_by_class = technology_factors(checked_inputs.technology, parameter_by_path)
        shapeless_inputs = frozenset(
            program_input.name
            for program_input in PROGRAMS[inputs.name].inputs
            if not program_input.shapes
        )
    sample = sample or build_shape()
    _refuse_missing_quantities(inputs, parameter_by_path, sample)
    notes = (
        *inputs.notes,
        *_notes_of_build(inputs, parameter_by_path, sample),
        *_notes_of_trend(described_by_path, sample),
        *_notes_of_rate(described_by_path, sample),
        *(sample.model.notes if isinstance(sample.model, Model) else ()),
    )
    entry_by_path = {**described_by_path, **_default_inputs(inputs, described_by_path)}
    return BuiltModel(
        inputs.name,
        sample,
        build_model,
        build_shape,
        parameter_by_path,
        entry_by_path,
        inputs.options,
        notes,
        factor_by_class,
        shapeless_inputs,
        replace(
            inputs.uncertain_values,
            count_paths=frozenset(_counting_settings(inputs, parameter_by_path, sample)),
        ),
    )


def _counting_settings(
    inputs: Inputs, parameter_by_path: Mapping[str, Parameter], shape: ModelShape
) -> Iterator[str]:
    """Yield the settings whose range must be drawn as whole numbers: those that allow no other
    number, and the parameters that are a number of processors.
    """
    groups = shape.model.population.groups if isinstance(shape.model, Model) else ()
    for path, log_middle in zip(
        inputs.uncertain_values.paths, inputs.uncertain_values.log_middles, strict=True
    ):
        if path not in inputs.uncertain_values.count_paths:
            continue
        # Middles of such ranges are rounded, so that this lies between two whole numbers.
        node = from_plain(round(exp(log_middle)) + 0.5, Mark(path, 1, 1))
        try:
            inputs.with_value(path, node).given_quantity(path)
        except SpecError:
            yield path
        else:
            if any(group.processors == parameter_by_path.get(path) for group in groups):
                yield path


def _shape_of_program(
    inputs: Inputs,
    described_by_path: Mapping[str, DescribedValue],
    build_model: Callable[[], Subject],
    build_sample: Callable[[], Subject] | None,
) -> tuple[Callable[[], ModelShape], ModelShape | None]:
    """Return functions that build a program's model and, if the program can build a part of it, a
    sample of the model. Models that differ in numbers only share one such shape.
    """
    compute_once = inputs.library.compute_once
    value_by_path = {path: value.given.value for path, value in described_by_path.items()}
    shaping_key = _shaping_key(inputs, described_by_path)
    build_shape = cache(
        partial(
            _shared_shape, compute_once(("shapes", shaping_key), list), value_by_path, build_model
        )
    )
    # Models that differ in numbers alone need the same of their machine.
    shaping_paths = frozenset(path for path in value_by_path if not path.startswith(_FACTOR_PREFIX))
    shape_of_sample = compute_once(
        ("sample", shaping_key, shaping_paths),
        lambda: (
            build_sample
            and compute_once(id(build_sample()), lambda: ModelShape(build_sample()), build_sample())
        ),
    )
    return build_shape, shape_of_sample


def _notes_of_build(
    inputs: Inputs, parameter_by_path: Mapping[str, Parameter], sample: ModelShape
) -> Iterator[str]:
    """Yield notes on the errors that a file states, on the data of a program, on a machine and on
    distributions.
    """
    if isinstance(node := node_at(inputs.tree, "measured_error"), Scalar) and node.text:
        yield StatedError(f"measured error of the model: {node.text}", errors=node.text)
    if inputs.kind == "program":
        for name, program_data in inputs.data.items():
            yield from program_data.notes(name, parameter_by_path)
    elif "machine" in inputs.tree.entries and not any(
        path.startswith(MACHINE) for path in sample.parameters
    ):
        yield f"{inputs.name} uses nothing of its machine; every machine gives the same answer"
    if inputs.kind == "activity":
        yield from _notes_of_adapters(sample, parameter_by_path)
    yield from _notes_of_distributions(sample.model)


def _notes_of_trend(
    described_by_path: Mapping[str, DescribedValue], sample: ModelShape
) -> Iterator[str]:
    """Yield a note for each source of quantities that a doubtful rate takes to another year."""
    sources = (
        entry.source for path, entry in described_by_path.items() if path in sample.parameters
    )
    rates_in_words = (
        source.rate_in_words for source in sources if isinstance(source, DoubtfulSource)
    )
    for rate_in_words in dict.fromkeys(rates_in_words):
        yield DoubtfulRate(
            f"a quantity of the machine is taken to another year along {rate_in_words}"
        )


def _notes_of_rate(
    described_by_path: Mapping[str, DescribedValue], sample: ModelShape
) -> Iterator[str]:
    """Yield a note on the kind of operations that the machine's rate counts, if the machine states
    it and times depend on the rate.
    """
    path_of_rate = f"{MACHINE}processors.flops"
    if path_of_rate not in sample.parameters:
        return
    # Brackets after the meaning name the kind.
    kind = described_by_path[path_of_rate].given.meaning.rpartition("(")[2].rstrip(")")
    paths_and_labels = (
        (path_of_rate, f"operations count as {kind} at"),
        (f"{MACHINE}processors.fp64", "FP64 runs at most at"),
        (f"{MACHINE}processors.fp64_matrix", "in matrix products at"),
    )
    clauses = [
        f"{label} {described_by_path[path].given.value / 1e12:.4g} TFLOP/s"
        for path, label in paths_and_labels
        if path in described_by_path
    ]
    if kind:
        yield OperationKind("; ".join(clauses), kind=kind)


def _notes_of_distributions(model: Subject) -> Iterator[str]:
    """Yield notes that state which methods support the time distributions of a model."""
    if isinstance(model, Law | AddedModel):
        return
    distributions = (
        [step.distribution for step in model.steps]
        if isinstance(model, Model)
        else [
            distribution
            for station in model.stations.values()
            for distribution in station.distribution.values()
        ]
    )
    named_distributions = filter(None, distributions)
    distribution_kinds = dict.fromkeys(distribution.kind for distribution in named_distributions)
    phase_kinds = [
        distribution_kind
        for distribution_kind in distribution_kinds
        if distribution_kind in PHASE_KINDS
    ]
    shaped_kinds = [
        distribution_kind
        for distribution_kind in distribution_kinds
        if distribution_kind not in PHASE_KINDS
    ]
    if phase_kinds:
        yield (
            f"simulation and Markov chains take {' and '.join(phase_kinds)} times as they are,"
            " other methods their mean and scv"
        )
    if shaped_kinds:
        yield (
            f"simulation draws {' and '.join(shaped_kinds)} times, other methods take their"
            " mean and scv"
        )


def _notes_of_adapters(
    shape: ModelShape, parameter_by_path: Mapping[str, Parameter]
) -> Iterator[str]:
    """Yield a note if processors of several nodes work, and those of a node share adapters."""
    if f"{MACHINE}node.adapters" not in shape.parameters:
        return
    values = {path: parameter.value or 0.0 for path, parameter in parameter_by_path.items()}
    processors_per_node = values[f"{MACHINE}node.processors"]
    adapters_per_node = values[f"{MACHINE}node.adapters"]
    if (
        processors_per_node > adapters_per_node > 0
        and not 0 < shape.processors_used(values) <= processors_per_node
    ):
        adapter_noun = "adapter" if adapters_per_node == 1 else "adapters"
        yield (
            f"{processors_per_node:g} processors of a node share {adapters_per_node:g}"
            f" {adapter_noun}"
            " (machine.node.adapters), which sends the messages of a collective operation one after"
            " the other; hierarchical algorithms, and those of a library, send fewer messages"
            " (machine.node.collectives)"
        )


def check_requirements(
    inputs: Inputs, built_model: BuiltModel, case: tuple[Node, NodePath] | None = None
) -> None:
    """Raise if a requirement of the model, such as that it fits its machine, is not met at the
    model's own values.

    Parameters
    ----------
    inputs, built_model : the model, and what was built of it
    case : the file and the path of the case of a study that has the values; None: the model itself

    Raises
    ------
    SpecError : every requirement that does not hold, at the case, or where it is written
    """
    model = built_model.sample.model
    if isinstance(model, Model | AddedModel) and model.requires:
        values = {name: parameter.value for name, parameter in built_model.parameters.items()}
        problems = [
            problem(
                *(case or (inputs.tree, ("requires", requirement.name, "that"))),
                requirement.message(violated_sides),
            )
            for requirement in model.requires
            for violated_sides, is_broken in requirement.violations(values, show)
            if is_broken.any()
        ]
        if problems:
            raise SpecError(problems)


_FACTOR_PREFIX = f"{TECHNOLOGY}."


def _shaping_key(inputs: Inputs, paths: Collection[str]) -> Hashable:
    """Return a key of the shape of a program: all its inputs that are not numbers. Technologies are
    left out, because they only multiply times.
    """
    sections = (
        (key, entry.node) for key, entry in inputs.tree.entries.items() if key != TECHNOLOGY
    )
    compute_once = inputs.library.compute_once
    section_keys = tuple(
        compute_once(("words", key, id(node)), partial(_text_inputs, node, key, paths), node)
        for key, node in sections
    )
    return inputs.name, section_keys, tuple(map(id, inputs.data.values()))


def _text_inputs(node: Node, key: str, paths: Collection[str]) -> Hashable:
    """Return the inputs in a part of the tree that are words, without descriptions such as titles
    and sources.
    """
    split_leaves = (
        (path, leaf.value, *path.rpartition(".")[::2])
        for path, leaf in leaves(node, join_path([key]))
    )
    return tuple(
        (path, value)
        for path, value, parent_path, leaf_key in split_leaves
        if path not in paths
        and parent_path not in paths
        and not (parent_path and leaf_key in Described.model_fields)
    )


def _shared_shape(
    earlier_shapes: list[tuple[dict[str, float], ModelShape]],
    number_by_path: Mapping[str, float],
    build_model: Callable[[], Subject],
) -> ModelShape:
    """Return the shape of an earlier program if it differs only in numbers from which times are
    computed; otherwise build the model and return its shape.
    """
    shaping_values = {
        path: number
        for path, number in number_by_path.items()
        if not path.startswith(_FACTOR_PREFIX)
    }
    # The numbers that shape the first program also shape the others: only programs with the same
    # values of them are compared.
    first_shaping_values = {
        path: value
        for path, value in shaping_values.items()
        if not earlier_shapes or path not in earlier_shapes[0][1].parameters
    }
    for earlier_values, shape in earlier_shapes:
        is_same = earlier_values.keys() == shaping_values.keys() and all(
            earlier_values[path] == value for path, value in first_shaping_values.items()
        )
        if is_same and all(
            earlier_values[path] == shaping_values[path]
            for path in shaping_values.keys() - shape.parameters
        ):
            return shape
    new_shape = ModelShape(build_model())
    earlier_shapes.append((shaping_values, new_shape))
    return new_shape


def _refuse_missing_quantities(
    inputs: Inputs, parameter_by_path: Mapping[str, Parameter], shape: ModelShape
) -> None:
    """Raise if a model needs quantities that its machine does not give."""
    if "machine" not in inputs.tree.entries:
        return
    if missing_paths := sorted(
        path
        for path in shape.parameters
        if path.startswith(MACHINE) and path not in parameter_by_path
    ):
        message = f"{inputs.name} needs {missing_paths[0]}, which this machine does not give"
        raise SpecError([problem(inputs.tree, ("machine",), message)])


_LIST_INDEX = late_pattern(r"\.[0-9]")
"""The part of a path that is an item of a listing, which goes by its name where it has one."""


def _described_entries(inputs: Inputs, spec: BaseModel) -> dict[str, DescribedValue]:
    """Return a description of each quantity of the inputs, by path. A part that several inputs
    share, such as a machine, is described once.
    """
    if isinstance(spec, Described):  # what it says of itself holds for its parts
        return _described_by_path(inputs, spec, "", "")
    value_by_path: dict[str, DescribedValue] = {}
    for name, field_info in type(spec).model_fields.items():
        section = getattr(spec, name)
        describe_section = partial(
            _described_by_path, inputs, section, name, field_info.description or ""
        )
        value_by_path |= (
            inputs.library.compute_once(("entries", name, id(section)), describe_section, section)
            if isinstance(section, BaseModel)
            else describe_section()
        )
    return value_by_path


def _described_by_path(
    inputs: Inputs, section: object, path: str, meaning: str
) -> dict[str, DescribedValue]:
    """Describe each quantity of a section of the inputs, by its path."""
    value_by_path = with_sources(
        described_values(section, path, meaning), inputs.tree, inputs.library.sources
    )
    named_values = ((_canonical_path(value, inputs.tree), value) for value in value_by_path)
    return {
        path: value if path == value.path else replace(value, path=path)
        for path, value in named_values
    }


def _canonical_path(value: DescribedValue, tree: Table) -> str:
    # Only an item of a list may have a name in the place of its number; the search for it is slow.
    return canonical(tree, value.path) if _LIST_INDEX.search(value.path) else value.path


def _parameters_by_path(
    inputs: Inputs, value_by_path: Mapping[str, DescribedValue]
) -> dict[str, Parameter]:
    """Build a parameter for each quantity; raise for a path that is too long for a name."""
    problems: list[Problem] = []
    parameter_by_path: dict[str, Parameter] = {}
    for path, value in value_by_path.items():
        try:
            parameter_by_path |= parameters_of({path: value})
        except ModelError:
            message = f"the path {short(path)} is too long; use shorter names, or nest less"
            problems.append(problem(inputs.tree, split_path(path), message))
    if problems:
        raise SpecError(problems)
    return parameter_by_path


def _model_builders(
    inputs: Inputs, spec: Any, parameter_by_path: Mapping[str, Parameter]
) -> tuple[Callable[[], Subject], Callable[[], Subject] | None]:
    """Return a function that builds the model without the factors of its technology, and a function
    that builds a small sample of a large model; None for the second if the model has no sample.
    """

    def cached_with_error_mark(build_function: Callable[[], T]) -> Callable[[], T]:
        @cache
        def cached_build() -> T:
            try:
                return build_function()
            except ModelError as error:
                raise inputs.tree.mark.error(str(error)) from None

        return cached_build

    if inputs.kind == "law":
        return lambda: LAWS[inputs.name.removeprefix("law/")], None
    if inputs.kind == "program":
        from slipstick.schema.programs import program_builders

        build_model, build_sample = cached_with_error_mark(
            lambda: program_builders(inputs, spec, parameter_by_path)
        )()
        return cached_with_error_mark(build_model), build_sample and cached_with_error_mark(
            build_sample
        )
    return cached_with_error_mark(
        lambda: spec.build(inputs.name, inputs.tree, parameter_by_path)
    ), None


def _default_inputs(
    inputs: Inputs, value_by_path: Mapping[str, DescribedValue]
) -> dict[str, DescribedValue]:
    if inputs.kind != "program":
        return {}
    from slipstick.schema.programs import default_entries

    return default_entries(inputs, value_by_path)


def build_workload(reference: Node, library: Library) -> BuiltModel:
    """Build the model of a workload on the first machine of the catalogue that fits, to check or
    show its inputs.

    Raises
    ------
    SpecError : it fits none; the error is that of the machine with the fewest problems
    """
    from slipstick.schema.programs import machines_for_workload

    errors: list[SpecError] = []
    for name in machines_for_workload(reference, library):
        machine = Scalar(name, "", reference.mark, quoted=True)
        try:
            return build(resolve({"workload": reference, "machine": machine}, library))
        except SpecError as error:
            errors.append(error)
    raise min(errors, key=lambda refusal: len(refusal.problems))


def solve_settings(
    settings: Settings,
    library: Library,
    methods: Sequence[str | None] = (None,),
    value_names: Sequence[str] = (),
) -> tuple[tuple[Answer, ...], BuiltModel]:
    """Solve the model of one set of settings by one or several methods.

    Parameters
    ----------
    settings : values by path
    library : what was read so far
    methods : by name, each gives one answer, bounds of a network several; None is what the settings
        say, or the default
    value_names : further ones, such as ``time_until[door,2]``, that answers have where they are
        asked for

    Raises
    ------
    SpecError : something is wrong with the settings
    UnknownNameError : there is no such method, or no such value
    """
    from slipstick.answer import hint_of_group_names, hint_of_known_name
    from slipstick.method.methods import compute_answers
    from slipstick.model.system import group_names

    inputs, built_model = build_once(settings, library)
    model = built_model.model
    options = built_model.options
    available_names = built_model.shape.answer_names(None) if value_names else ()
    names_of_groups = group_names(model)
    for value_name in value_names:
        hint = hint_of_group_names(value_name, names_of_groups)
        if hint or value_name not in available_names:
            hint = hint or hint_of_known_name(value_name, names_of_groups, available_names)
            raise UnknownNameError("value of an answer", value_name, list(available_names), hint)
    given_by_path = given_values(settings, inputs, built_model)
    common_notes = (
        *built_model.notes_at({}),
        *_settings_without_effect(settings, inputs, built_model),
    )
    answers = (
        replace(
            answer,
            given=given_by_path,
            notes=(*common_notes, *answer.notes),
            described=built_model.entries,
            subject=model,
        )
        for method in methods
        for answer in compute_answers(
            model,
            built_model.parameters,
            method or options.method,
            options.simulation,
            values=value_names,
        )
    )
    return tuple(answers), built_model


def given_values(
    settings: Settings, inputs: Inputs, built_model: BuiltModel
) -> dict[str, float | str]:
    """Return the settings by path, except the name of the model: numbers in base units, other
    values and ranges as written.
    """
    value_by_path: dict[str, float | str] = {}
    for path, node in settings.items():
        if (canonical_path := canonical(inputs.tree, path)) in built_model.entries:
            text = node.text if isinstance(node, Scalar) else ""
            value_by_path[canonical_path] = (
                text if ".." in text else built_model.entries[canonical_path].given.value
            )
        elif path != "model":
            value_by_path[path] = node_text(node)
    return value_by_path


_READ_WHILE_BUILDING = (
    *(
        "memory.modules",
        "memory.block",
        "memory.element",
        "cache.size",
        "cache.line",
        "processors.count",
    ),
    *("interconnect.slots", "interconnect.upper_slots"),
)
"""Keys of a machine with shared memory that are read while a model is built, so that no formula
of it has them.
"""


def _settings_without_effect(
    settings: Settings, inputs: Inputs, built_model: BuiltModel
) -> list[str]:
    """List the settings of a shared-memory machine that nothing in the model depends on."""
    if not isinstance(built_model.model, Model) or not any(
        path.startswith("machine.interconnect.") for path in built_model.entries
    ):
        return []
    paths = (canonical(inputs.tree, path) for path in settings)
    return [
        f"{path} has no effect on this model"
        for path in paths
        if path in built_model.entries
        and path.startswith(MACHINE)
        and path not in built_model.free_paths
        if path.removeprefix(MACHINE) not in _READ_WHILE_BUILDING
    ]
