"""A technology as values by path, which the settings of a user replace."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from slipstick.errors import Problem, SpecError
from slipstick.schema.inputs import TECHNOLOGY
from slipstick.schema.kinds.technology import Factors, TechnologySpec
from slipstick.schema.library import Library, names, spec_model
from slipstick.schema.text.nodes import Entry, Node, Scalar, Table, at, join, key_mark
from slipstick.schema.text.nodes import replace as replaced
from slipstick.schema.validate import problems_of, validate

PREFETCHED = ("prefetched_faults", "prefetched_locks")
"""The inputs of a program that a technology sets."""


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
    if found := problems_of(spec_model("machine", fitting), changed):
        raise SpecError(found)


def _problem(node: Node, why: str) -> SpecError:
    return SpecError([Problem(node.mark.file, node.mark.line, node.mark.column, TECHNOLOGY, why)])
