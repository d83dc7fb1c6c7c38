"""Scenes: everything a model is solved with, under the paths that a user may set.

Counts by name or file, checked and read.

A technology as values by path, which those that a user sets replace.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from slipstick.errors import Problem, SpecError, UnitError, UnknownNameError, did_you_mean
from slipstick.expression.dimension import COUNT
from slipstick.law import LAWS
from slipstick.model.shared_memory import SharedMemory
from slipstick.program import PROGRAMS
from slipstick.program.counts import Counts
from slipstick.program.program import Program
from slipstick.schema.kinds.counts import CountsSpec
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.kinds.technology import Factors, TechnologySpec
from slipstick.schema.kinds.workload import WorkloadSpec, law_spec, program_spec
from slipstick.schema.library import Library, machine_spec, names, spec_model
from slipstick.schema.solver_options import METHOD, SolverOptions, is_solver_option, solver_options
from slipstick.schema.text.nodes import Entry, Mark, Node, Scalar, Table, at, from_plain, join, key_mark, split
from slipstick.schema.text.nodes import replace as replaced
from slipstick.schema.validate import problems_of, validate
from slipstick.units import InBaseUnits, parse
from slipstick.vocabulary import ACTIVITY, METHODS


def load_counts(reference: str, mark: Mark, library: Library) -> Counts:
    """Read counts by their name in the catalogue, or from a file.

    Raises
    ------
    SpecError : there are none of that name; everything that is wrong with the file
    """
    tree = library.load("counts", reference, mark, "counts")
    return library.once(id(tree), lambda: validate(CountsSpec, tree).counted(), tree)


TECHNOLOGY = "technology"
PREFETCHED = ("prefetched_faults", "prefetched_locks")
"""What a technology sets of the inputs of a program."""


def changes_of(
    reference: Node, model: str, input_names: Collection[str], tree: Node, library: Library
) -> tuple[dict[str, Node], tuple[str, ...]]:
    """Read what a technology changes, as values by path, and what of it the model has no place for.

    Factors go to the section ``technology``, prefetched parts to the program's inputs of the same names, values to
    their paths. A prefetched part is left out, with a note, where the program has no such input.

    Parameters
    ----------
    reference : the technology: its name, a file, or in place
    model, input_names : name of the model, and of the inputs it has
    tree : of the inputs, with everything else in its place
    library : what was read so far

    Raises
    ------
    SpecError : the technology is wrong, or sets a path that the inputs do not have
    """
    name, file = _read(reference, library)
    found = {f"{TECHNOLOGY}.{key}": each.node for key, each in file.entries.items() if key in Factors.model_fields}
    notes = []
    for key in PREFETCHED:
        if key in file.entries and key in input_names:
            found[key] = file.entries[key].node
        elif key in file.entries:
            notes.append(f"{name}: {key} is left out, for {model} has no such input")
    values = at(file, ["values"])
    for path, entry in values.entries.items() if isinstance(values, Table) else ():
        if at(tree, path) is None:
            why = f"{name} sets {path}, which {model} does not have here; choose another technology or machine"
            raise _problem(reference, why)
        found[path] = entry.node
    return found, tuple(notes)


def _read(reference: Node, library: Library) -> tuple[str, Table]:
    """Read a technology, its source keys spelt out, for they mean nothing outside its file."""
    if isinstance(reference, Table):
        name, file = "this technology", library.resolve(TECHNOLOGY, reference)
    elif isinstance(reference, Scalar) and isinstance(reference.value, str) and reference.value:
        name = f"technology {reference.value.rpartition('/')[2].removesuffix('.yaml').removesuffix('.yml')}"
        file = library.load(TECHNOLOGY, reference.value, reference.mark, TECHNOLOGY)
    else:
        raise _problem(reference, "write the name of a technology, a file that ends in .yaml, or its keys and values")
    spec = validate(TechnologySpec, file)
    spelt = _spelt(file, spec.sources)
    assert isinstance(spelt, Table)
    return name, spelt


def _spelt(node: Node, sources: Mapping[str, str]) -> Node:
    if not isinstance(node, Table):
        return node
    entries = {}
    for key, entry in node.entries.items():
        inner = _spelt(entry.node, sources)
        if key == "source" and isinstance(inner, Scalar) and inner.value in sources:
            text = sources[str(inner.value)]
            inner = Scalar(text, text, inner.mark, quoted=True)
        entries[key] = Entry(entry.key_mark, inner)
    return Table(entries, node.mark)


def check_values(tree: Table, library: Library) -> None:
    """Check the values of a technology in their places on the first machine of the catalogue that has them all.

    Parameters
    ----------
    tree : of a technology that is checked by itself
    library : what was read so far

    Raises
    ------
    SpecError : no machine has such paths, or a value is not allowed there
    """
    written = at(tree, ["values"])
    entries = written.entries if isinstance(written, Table) else {}
    paths = {path: path.removeprefix("machine.") for path in entries}
    machines = [library.load("machine", name) for name in names("machine")]
    fitting = next((each for each in machines if all(at(each, path) is not None for path in paths.values())), None)
    if fitting is None:
        known = {path for path, inner in paths.items() if any(at(each, inner) is not None for each in machines)}
        # Each is there on some machine: then it is the first that stands on none together with the others.
        path = next((path for path in paths if path not in known), next(iter(paths)))
        mark = key_mark(tree, ["values", path])
        why = "no machine of the catalogue has this quantity, or not together with the others"
        raise SpecError([Problem(mark.file, mark.line, mark.column, join(["values", path]), why)])
    changed: Node = fitting
    for path, inner in paths.items():
        changed = replaced(changed, inner, entries[path].node)
    if found := problems_of(machine_spec(fitting), changed):
        raise SpecError(found)


def _problem(node: Node, why: str) -> SpecError:
    return SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, TECHNOLOGY, why)])


REFERENCES = ("model", "workload", "machine", TECHNOLOGY)
"""Paths that name a whole spec; the rest are values inside."""

FILES = {"activity": "an activity", "queueing-network": "a queueing network"}
"""Kinds of model that are files, in words."""

Settings = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Inputs:
    """A model's name, what it is checked by, and the tree of everything that can be set.

    Parameters
    ----------
    kind : program, law, or one of `FILES`
    name : of the model
    tree : the values, each with its place
    form : the pydantic model that checks them
    sources : what each file says of the origin of its values
    options : method and settings of a simulation
    notes : what a technology sets and the model has no place for
    counts : of programs, by the name or file that they are asked for by
    """

    kind: str
    name: str
    tree: Table
    form: type[BaseModel]
    sources: Mapping[str, str]
    options: SolverOptions = field(default_factory=SolverOptions)
    notes: tuple[str, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)

    def checked(self) -> BaseModel:
        """Check the whole tree; raises SpecError with every problem."""
        return validate(self.form, self.tree)

    def with_value(self, path: str, node: Node, library: Library) -> Inputs:
        """Put a value at a path; checked together with everything else."""
        changed = replace(self, tree=_put(self.tree, path, node, library))
        return replace(changed, counts=_counts(self.name, changed.tree, library)) if self.counts else changed


def resolve(settings: Settings, library: Library) -> Inputs:
    """Find the model and the specs it needs, then set the values in their order.

    Parameters
    ----------
    settings : values by path; model, workload, machine and technology name specs, method and simulation are solver options;
        a value by its own path goes before the technology's
    library : what was read so far

    Raises
    ------
    SpecError : a name is unknown, a file is wrong, or a path leads nowhere
    """
    options = solver_options(settings)
    what = {path: node for path, node in settings.items() if not is_solver_option(path)}
    if not what:  # only solver options are given; their place is where the model is missing
        _model_of_workload(settings, library)
    inputs = replace(_what(what, library), options=options)
    _check_method(inputs, settings)
    return inputs


def _what(settings: Settings, library: Library) -> Inputs:
    """Lay out what is to be solved."""
    model = settings.get("model") or _model_of_workload(settings, library)
    reference = _name(model, "model")
    values = {path: node for path, node in settings.items() if path not in REFERENCES}
    if reference.startswith("law/"):
        return _law_inputs(reference, model, settings, values, library)
    if reference in PROGRAMS:
        return _program_inputs(reference, settings, values, library)
    if kind := _kind_of_file(reference, model, library):
        return _file_inputs(kind, reference, model, settings, values, library)
    raise _input_problem(model, "model", str(UnknownNameError("model", reference[:100], model_names())))


def model_names() -> list[str]:
    """List everything that can be solved by name."""
    return [*PROGRAMS, *(name for kind in FILES for name in names(kind)), *(f"law/{name}" for name in LAWS)]


def machines_for(program: Program) -> list[str]:
    """List the machines of the catalogue that a program runs on."""
    library = Library()
    return [name for name in names("machine") if _fits(program, library.load("machine", name))]


def machines_for_workload(reference: Node, library: Library) -> list[str]:
    """List the machines of the catalogue that a workload's program runs on; all if there is no such program."""
    spec, _ = _workload(reference, library)
    return machines_for(PROGRAMS[spec.model]) if spec.model in PROGRAMS else names("machine")


def _fits(program: Program, machine: Node) -> bool:
    return (machine_spec(machine) is SharedMemorySpec) == (program.machine is SharedMemory)


def _check_fits(program: Program, reference: Node, machine: Node) -> None:
    """Refuse a machine of the other kind as such, not key by key."""
    if not _fits(program, machine):
        wanted, got = "shared memory (an interconnect)", "a network"
        if program.machine is not SharedMemory:
            wanted, got = got, wanted
        fitting = ", ".join(machines_for(program))
        why = f"{program.name} runs on a machine with {wanted}, and this one has {got}; name one of {fitting}"
        raise _input_problem(reference, "machine", why)


def _program_inputs(name: str, settings: Settings, values: Settings, library: Library) -> Inputs:
    asked = settings.get("model", settings.get("workload"))
    mark = asked.mark if asked is not None else Mark("", 1, 1)
    if "machine" not in settings:
        _refuse_mistyped("machine", settings)
        fitting = ", ".join(machines_for(PROGRAMS[name]))
        raise _input_problem(settings.get("model"), "machine", f"{name} runs on a machine; name one of {fitting}")
    machine = _machine(settings["machine"], library)
    _check_fits(PROGRAMS[name], settings["machine"], machine)
    entries = {"machine": Entry(settings["machine"].mark, machine)}
    if "workload" in settings:
        entries.update(_workload_inputs(name, settings["workload"], library))
    input_names = [each.name for each in PROGRAMS[name].inputs]
    tree, notes = _with_technology(Table(entries, mark), name, input_names, settings, values, library)
    form, counts = program_spec(PROGRAMS[name]), _counts(name, tree, library)
    return Inputs("program", name, tree, form, library.sources, notes=notes, counts=counts)


def _with_technology(
    tree: Table, model: str, input_names: Sequence[str], settings: Settings, values: Settings, library: Library
) -> tuple[Table, tuple[str, ...]]:
    """Lay the values over a tree, those of a technology below those that were set by their own paths."""
    laid = _laid_over(tree, values, library)
    if TECHNOLOGY not in settings:
        return laid, ()
    changes, notes = changes_of(settings[TECHNOLOGY], model, input_names, laid, library)
    return _laid_over(tree, {**changes, **values}, library), notes


def _counts(name: str, tree: Table, library: Library) -> dict[str, Counts]:
    """Read the counts that a program's inputs name."""
    found: dict[str, Counts] = {}
    for each in PROGRAMS[name].inputs:
        node = tree.entries[each.name].node if each.counts and each.name in tree.entries else None
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            found[node.value] = load_counts(node.value, node.mark, library)
    return found


def _kind_of_file(reference: str, model: Node, library: Library) -> str:
    """Tell what kind of model a file is, or the file of a name; nothing if there is none of that name."""
    if not reference.endswith((".yaml", ".yml")):
        return next((kind for kind in FILES if reference in names(kind)), "")
    kind = library.kind(reference, model.mark)
    return kind if kind in FILES else "activity"


def _file_inputs(
    kind: str, reference: str, model: Node, settings: Settings, values: Settings, library: Library
) -> Inputs:
    _refuse_machine(FILES[kind], settings)
    if kind != "activity":
        _refuse_technology(FILES[kind], settings)
    tree = library.load(kind, reference, model.mark, "model")
    name = reference.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml")
    laid, notes = _with_technology(tree, name, (), settings, values, library)
    return Inputs(kind, name, laid, spec_model(kind), library.sources, notes=notes)


def _check_method(inputs: Inputs, settings: Settings) -> None:
    """Refuse a method that does not answer for such a model."""
    known = METHODS.get(inputs.kind, METHODS[ACTIVITY])
    if inputs.options.method is not None and inputs.options.method not in known:
        hint = did_you_mean(inputs.options.method, known)
        why = f"no method {inputs.options.method!r} answers for {inputs.name}{hint}"
        raise _input_problem(settings[METHOD], METHOD, why)


def _refuse_machine(what: str, settings: Settings) -> None:
    for path in ("machine", "workload"):
        if path in settings:
            raise _input_problem(
                settings[path], path, f"{what} runs on no {path}; leave it out, or name a program to run on it"
            )


def _refuse_technology(what: str, settings: Settings) -> None:
    if TECHNOLOGY in settings:
        why = f"{what} has no classes of cost that a technology could change; leave it out"
        raise _input_problem(settings[TECHNOLOGY], TECHNOLOGY, why)


def _law_inputs(reference: str, model: Node, settings: Settings, values: Settings, library: Library) -> Inputs:
    _refuse_machine("a law", settings)
    _refuse_technology("a law", settings)
    name = reference.removeprefix("law/")
    if name not in LAWS:
        raise _input_problem(model, "model", str(UnknownNameError("law", name[:100], list(LAWS))))
    return Inputs(
        "law", reference, _laid_over(Table({}, model.mark), values, library), law_spec(LAWS[name]), library.sources
    )


def _machine(node: Node, library: Library) -> Node:
    if isinstance(node, Table):
        return library.resolve("machine", node)
    return library.load("machine", _name(node, "machine"), node.mark, "machine")


def _workload_inputs(program: str, reference: Node, library: Library) -> dict[str, Entry]:
    """Take the inputs from a workload of the same program."""
    spec, tree = _workload(reference, library)
    if spec.model != program:
        raise _input_problem(reference, "workload", f"this workload is for {spec.model}, not for {program}")
    given = at(tree, ["inputs"])
    return dict(given.entries) if isinstance(given, Table) else {}


def _refuse_mistyped(key: str, settings: Settings) -> None:
    """Refuse a path that was probably meant to be the key that is missing."""
    for path, node in settings.items():
        words = did_you_mean(path, [key])
        if path not in REFERENCES and "did you mean" in words:
            raise _input_problem(node, path, f"unknown key{words}")


def _model_of_workload(settings: Settings, library: Library) -> Node:
    if "workload" not in settings:
        _refuse_mistyped("model", settings)
        place = next(iter(settings.values()), None)
        raise _input_problem(
            place,
            "model",
            f"name a model, one of {', '.join(model_names())}, or the file of an activity or a queueing network",
        )
    _, tree = _workload(settings["workload"], library)
    model = at(tree, ["model"])
    assert model is not None
    return model


def _workload(reference: Node, library: Library) -> tuple[WorkloadSpec, Table]:
    tree = library.load("workload", _name(reference, "workload"), reference.mark, "workload")
    return validate(WorkloadSpec, tree), tree


def _laid_over(tree: Table, values: Settings, library: Library) -> Table:
    # The whole before its parts, in whatever order they come: a network, then its adapter.
    for path, node in sorted(values.items(), key=lambda item: len(split(item[0]))):
        tree = _put(tree, path, node, library)
    return tree


def _put(tree: Table, path: str, node: Node, library: Library) -> Table:
    """Replace the value at a path, following a network's name or base."""
    parts = split(path)
    if not parts:
        raise _input_problem(node, path, "a value needs a path, such as machine.network.adapter")
    if parts[:1] == ("technology",) and len(parts) == 2 and "technology" not in tree.entries:
        tree = Table({**tree.entries, "technology": Entry(node.mark, from_plain({}, node.mark))}, tree.mark)
    try:
        _check_parameter(tree, parts)
        changed = replaced(tree, path, _with_unit(node, at(tree, parts)) if parts[:1] == ("parameters",) else node)
    except UnknownNameError as error:
        raise _input_problem(node, path, str(error)) from None
    assert isinstance(changed, Table)
    if path == "machine.network" and isinstance(node, Scalar | Table):
        machine = at(changed, ["machine"])
        assert isinstance(machine, Table)
        resolved = replaced(changed, ["machine"], library.resolve("machine", machine))
        assert isinstance(resolved, Table)
        return resolved
    return changed


def _check_parameter(tree: Table, parts: Sequence[str]) -> None:
    """Refuse a parameter that its file does not name: nothing would be computed from it, and nobody would be told."""
    if parts[:1] == ("parameters",) and len(parts) == 2:
        known = at(tree, ["parameters"])
        if isinstance(known, Table) and parts[1] not in known.entries:
            raise UnknownNameError("parameter", parts[1], list(known.entries))


def _with_unit(node: Node, before: Node | None) -> Node:
    """Give a number in base units the unit of the parameter that it replaces, whose field takes any dimension."""
    old = before.entries["value"].node if isinstance(before, Table) and "value" in before.entries else before
    if not (isinstance(node, Scalar) and isinstance(node.value, InBaseUnits) and isinstance(old, Scalar)):
        return node
    try:
        _, dimension = parse(old.text)
    except UnitError:
        return node
    text = f"{float(node.text)!r} {dimension}" if dimension != COUNT else node.text
    return replace(node, value=text if dimension != COUNT else node.value, text=text)


def _name(node: Node, what: str) -> str:
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
        return node.value
    raise _input_problem(node, what, f"write the name of a {what}, or a file that ends in .yaml")


def _input_problem(node: Node | None, path: str, message: str) -> SpecError:
    mark = node.mark if node is not None else Mark("command line", 1, 1)
    return SpecError([Problem(mark.file, mark.line, mark.column, path, message)])
