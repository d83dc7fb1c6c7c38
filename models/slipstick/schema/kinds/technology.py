"""Technologies as files, and the changes that they make to models."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from slipstick.errors import SpecError
from slipstick.model.activity import TECHNOLOGIES
from slipstick.schema.kinds.constraints import Note, broken_rule
from slipstick.schema.kinds.quantity import (
    Described,
    Factor,
    Gain,
    Given,
    Part,
    Quantity,
    Spec,
    problems_of,
    validate,
)
from slipstick.schema.library import TECHNOLOGY, Library, names, spec_model
from slipstick.schema.text import Entry, Node, Scalar, Table, at, key_mark
from slipstick.schema.text import replace as replaced
from slipstick.units import parse

AnyValue = Annotated[Given, Quantity(None, least=None)]
ValuePath = Annotated[str, StringConstraints(max_length=256)]


QUANTITIES = {
    "signal": "machine.system.signal",
    "adapter": "machine.network.adapter",
    "switch": "machine.network.switch",
    "wire": "machine.network.wire.per_byte",
    "memory_latency": "machine.memory.latency",
}
"""The quantity of a machine that is the whole cost of a class, by class."""


class ClassChange(Spec):
    """The change of a class of cost by a technology: a factor, or a new value of its quantity of
    the machine.

    A bare number is refused, for it reads as either: 0.5 may be half the time or 0.5 us.
    """

    by: Factor | None = Field(None, description="factor on the time of the class")
    to: AnyValue | None = Field(
        None, description="what its quantity of the machine becomes, such as 500 ns"
    )
    source: Note = Field("", description="where the value comes from")
    assumed: bool = Field(False, description="whether it is a guess")

    @model_validator(mode="before")
    @classmethod
    def _keyed(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise broken_rule(
                "write {by: 0.5} for a factor on its time, or {to: 500 ns} for the time that it"
                " becomes"
            )
        return value

    def check_rules(self) -> None:
        if (self.by is None) == (self.to is None):
            raise broken_rule("write one of the keys by, a factor, and to, a value")


class TechnologySpec(Described, Gain):
    """A technology by name: its changes of classes of cost, of the machine and of the workload."""

    technology: Literal[1] = Field(1, description="version of this format")
    application: ClassChange | None = Field(None, description="application time")
    software: ClassChange | None = Field(None, description="run-time software")
    system: ClassChange | None = Field(None, description="extra system-call time")
    protocol: ClassChange | None = Field(None, description="protocol software")
    signal: ClassChange | None = Field(None, description="signals")
    adapter: ClassChange | None = Field(None, description="adapter latency")
    switch: ClassChange | None = Field(None, description="switch latency")
    wire: ClassChange | None = Field(None, description="time on the wire, to: per byte")
    memory: ClassChange | None = Field(None, description="traffic of memory")
    memory_latency: ClassChange | None = Field(
        None, description="wait for one access to memory after the other"
    )
    storage: ClassChange | None = Field(None, description="traffic of storage")
    storage_latency: ClassChange | None = Field(
        None, description="wait for one access to storage after the other"
    )
    prefetched_faults: Part | None = Field(
        None,
        description="part of the faults that are prefetched, of programs that have such an input",
    )
    prefetched_locks: Part | None = Field(
        None,
        description=(
            "part of the lock acquisitions that are prefetched, of programs that have such an input"
        ),
    )
    values: dict[ValuePath, AnyValue] = Field(
        {},
        description="what quantities of the machine become, by path such as machine.system.signal",
    )

    def check_rules(self) -> None:
        super().check_rules()
        for path in self.values:
            if not path.startswith("machine."):
                why = (
                    "a technology sets quantities of the machine only, such as"
                    " machine.network.adapter"
                )
                raise broken_rule(why, "values", path)
        for name in TECHNOLOGIES:
            change = getattr(self, name)
            if change is not None and change.to is not None and name not in QUANTITIES:
                why = (
                    f"the cost of {name} is no single quantity of a machine; write by, a factor, or"
                    " set values"
                )
                raise broken_rule(why, name, "to")
            if change is not None and change.to is not None and QUANTITIES[name] in self.values:
                raise broken_rule(
                    f"{QUANTITIES[name]} stands under values, too; write it once", name, "to"
                )


PREFETCHED = ("prefetched_faults", "prefetched_locks")
"""The inputs of a program that a technology sets."""


def changes_of(
    reference: Node, model: str, input_names: Collection[str], tree: Node, library: Library
) -> tuple[dict[str, Node], tuple[str, ...]]:
    """Return the values that a technology sets, by path, and notes on those that do not apply to
    the model.

    Factors go to the section ``technology``, prefetched parts to the program's inputs of the same
    names, values to their paths. Left out, with a note, is a prefetched part where the program has
    no such input, and the value of a class that costs nothing on this machine, such as the switch
    of a network without one.

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
    changes = {
        f"{TECHNOLOGY}.{key}": entry.node for key, entry in file.entries.items() if key in gains
    }
    changes |= {f"{TECHNOLOGY}.{key}": node for key, node in _changes(file, "by").items()}
    notes = []
    for key in PREFETCHED:
        if key in file.entries and key in input_names:
            changes[key] = file.entries[key].node
        elif key in file.entries:
            notes.append(f"{name}: {key} is left out, for {model} has no such input")
    free = [key for key in _changes(file, "to") if _costs_nothing(tree, QUANTITIES[key])]
    places = [QUANTITIES[key] for key in free]
    states = ["0" if at(tree, path) is not None else "not given" for path in places]
    notes += [
        f"{name}: {key} is left out, for {path} is {state} here"
        for key, path, state in zip(free, places, states, strict=True)
    ]
    for path, node in _values(file).items():
        if at(tree, path) is None and path not in places:
            why = (
                f"{name} sets {path}, which {model} does not have here; choose another technology"
                " or machine"
            )
            raise reference.mark.error(why, TECHNOLOGY)
        if path not in places:
            changes[path] = node
    return changes, tuple(notes)


def _changes(file: Table, key: str) -> dict[str, Node]:
    """Return the values under ``by`` or ``to`` of a technology's classes of cost, each as a
    quantity with its source.
    """
    nodes: dict[str, Node] = {}
    for name in TECHNOLOGIES:
        change = at(file, [name])
        if isinstance(change, Table) and key in change.entries:
            entries = {
                "value" if key_name == key else key_name: entry
                for key_name, entry in change.entries.items()
            }
            nodes[name] = Table(entries, change.mark)
    return nodes


def _values(file: Table) -> dict[str, Node]:
    """Return the quantities of a machine that a technology sets, by path."""
    values_node = at(file, ["values"])
    entries = values_node.entries if isinstance(values_node, Table) else {}
    classes = {
        QUANTITIES[name]: node for name, node in _changes(file, "to").items() if name in QUANTITIES
    }
    return {path: entry.node for path, entry in entries.items()} | classes


def _costs_nothing(tree: Node, path: str) -> bool:
    """Return whether the machine does not give a quantity, or gives it as 0."""
    node = at(tree, path)
    if node is None:
        return at(tree, "machine") is not None
    value_node = at(node, ["value"]) if isinstance(node, Table) else node
    return isinstance(value_node, Scalar) and parse(str(value_node.value))[0] == 0.0


def _read(reference: Node, library: Library) -> tuple[str, Table]:
    """Read a technology; its source keys are replaced by their texts, because only its own file
    defines them.
    """
    if isinstance(reference, Table):
        name = "this technology"
        file = library.resolve(TECHNOLOGY, reference)
    elif isinstance(reference, Scalar) and isinstance(reference.value, str) and reference.value:
        name = (
            "technology"
            f" {reference.value.rpartition('/')[2].removesuffix('.yaml').removesuffix('.yml')}"
        )
        file = library.load(TECHNOLOGY, reference.value, reference.mark, TECHNOLOGY)
    else:
        raise reference.mark.error(
            "write the name of a technology, a file that ends in .yaml, or its keys and values",
            TECHNOLOGY,
        )
    tree = library.once(
        ("spelt", id(file)), lambda: _spelt(file, validate(TechnologySpec, file).sources), file
    )
    assert isinstance(tree, Table)
    return name, tree


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
    """Check the values of a technology on the first machine of the catalogue that has all of the
    quantities.

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
    fitting = next(
        (
            machine
            for machine in machines
            if all(at(machine, path) is not None for path in paths.values())
        ),
        None,
    )
    if fitting is None:
        known_paths = {
            path
            for path, inner in paths.items()
            if any(at(machine, inner) is not None for machine in machines)
        }
        # Each is there on some machine: then it is the first that stands on none together with the
        # others.
        path = next((path for path in paths if path not in known_paths), next(iter(paths)))
        mark = key_mark(tree, ["values", path])
        why = "no machine of the catalogue has this quantity, or not together with the others"
        raise mark.error(why, ["values", path])
    changed: Node = fitting
    for path, inner in paths.items():
        changed = replaced(changed, inner, values[path])
    # Limits of a value are those of its place in the machine.
    if problems := problems_of(spec_model("machine", fitting), changed):
        raise SpecError(problems)
