"""A technology as values by path, which the settings of a user replace."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from slipstick.errors import Problem, SpecError
from slipstick.model.activity import TECHNOLOGIES
from slipstick.schema.inputs import TECHNOLOGY
from slipstick.schema.kinds.technology import QUANTITIES, Gain, TechnologySpec
from slipstick.schema.library import Library, names, spec_model
from slipstick.schema.text.nodes import Entry, Node, Scalar, Table, at, join, key_mark
from slipstick.schema.text.nodes import replace as replaced
from slipstick.schema.validate import problems_of, validate
from slipstick.units import parse

PREFETCHED = ("prefetched_faults", "prefetched_locks")
"""The inputs of a program that a technology sets."""


def changes_of(
    reference: Node, model: str, input_names: Collection[str], tree: Node, library: Library
) -> tuple[dict[str, Node], tuple[str, ...]]:
    """Read what a technology changes, as values by path, and what of it the model has no place for.

    Factors go to the section ``technology``, prefetched parts to the program's inputs of the same names, values to
    their paths. Left out, with a note, is a prefetched part where the program has no such input, and the value of a
    class that costs nothing on this machine, such as the switch of a network without one.

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
    gains = Gain.model_fields
    found = {f"{TECHNOLOGY}.{key}": each.node for key, each in file.entries.items() if key in gains}
    found |= {f"{TECHNOLOGY}.{key}": node for key, node in _changes(file, "by").items()}
    notes = []
    for key in PREFETCHED:
        if key in file.entries and key in input_names:
            found[key] = file.entries[key].node
        elif key in file.entries:
            notes.append(f"{name}: {key} is left out, for {model} has no such input")
    free = [key for key in _changes(file, "to") if _costs_nothing(tree, QUANTITIES[key])]
    places = [QUANTITIES[key] for key in free]
    given = ["0" if at(tree, path) is not None else "not given" for path in places]
    notes += [
        f"{name}: {key} is left out, for {path} is {what} here"
        for key, path, what in zip(free, places, given, strict=True)
    ]
    for path, node in _values(file).items():
        if at(tree, path) is None and path not in places:
            why = f"{name} sets {path}, which {model} does not have here; choose another technology or machine"
            raise _problem(reference, why)
        if path not in places:
            found[path] = node
    return found, tuple(notes)


def _changes(file: Table, key: str) -> dict[str, Node]:
    """Give what a technology writes of classes of cost under ``by`` or ``to``, each as a quantity with its source."""
    found: dict[str, Node] = {}
    for name in TECHNOLOGIES:
        change = at(file, [name])
        if isinstance(change, Table) and key in change.entries:
            entries = {"value" if each == key else each: entry for each, entry in change.entries.items()}
            found[name] = Table(entries, change.mark)
    return found


def _values(file: Table) -> dict[str, Node]:
    """Give the quantities of a machine that a technology sets, by path."""
    written = at(file, ["values"])
    entries = written.entries if isinstance(written, Table) else {}
    classes = {QUANTITIES[name]: node for name, node in _changes(file, "to").items() if name in QUANTITIES}
    return {path: entry.node for path, entry in entries.items()} | classes


def _costs_nothing(tree: Node, path: str) -> bool:
    """Tell whether a machine gives a quantity as nothing, with or without its source, or does not give it."""
    node = at(tree, path)
    if node is None:
        return at(tree, "machine") is not None
    written = at(node, ["value"]) if isinstance(node, Table) else node
    return isinstance(written, Scalar) and parse(str(written.value))[0] == 0.0


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
    values = _values(tree)
    paths = {path: path.removeprefix("machine.") for path in values}
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
        changed = replaced(changed, inner, values[path])
    if found := problems_of(spec_model("machine", fitting), changed):
        raise SpecError(found)


def _problem(node: Node, why: str) -> SpecError:
    return SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, TECHNOLOGY, why)])
