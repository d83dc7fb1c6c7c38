"""Technologies as files, and the changes that they make to models."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from slipstick.errors import SpecError
from slipstick.schema.kinds.constraints import Note, broken_rule
from slipstick.schema.kinds.quantity import (
    Described,
    Factor,
    Fraction,
    Gain,
    Given,
    Quantity,
    Spec,
    problems_of,
    validate,
)
from slipstick.schema.library import TECHNOLOGY, Library, names_of_kind, spec_model
from slipstick.schema.text import Entry, Node, Scalar, Table, key_mark, node_at
from slipstick.schema.text import replace as replaced
from slipstick.units import parse
from slipstick.vocabulary import TECHNOLOGIES

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
    """How a technology changes a class of cost: a factor, or a new value of the machine's quantity.

    A bare number is refused because it is ambiguous: 0.5 may be half the time or 0.5 us.
    """

    by: Factor | None = Field(None, description="factor on the time of the class")
    to: AnyValue | None = Field(
        None, description="new value of the quantity of the machine, such as 500 ns"
    )
    source: Note = Field("", description="where the value comes from")
    assumed: bool = Field(False, description="whether it is a guess")

    @model_validator(mode="before")
    @classmethod
    def _refuse_bare_number(cls, value: Any) -> Any:
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
    """A technology: changes to classes of cost, quantities of the machine and the workload."""

    technology: Literal[1] = Field(1, description="version of this format")
    application: ClassChange | None = Field(None, description="time of the application")
    software: ClassChange | None = Field(None, description="time of run-time software")
    system: ClassChange | None = Field(None, description="extra system-call time")
    protocol: ClassChange | None = Field(None, description="time of protocol software")
    signal: ClassChange | None = Field(None, description="time of signals")
    adapter: ClassChange | None = Field(None, description="latency of adapters")
    switch: ClassChange | None = Field(None, description="latency of switches")
    wire: ClassChange | None = Field(
        None, description=("time on the wire; the new value under to is the time per byte")
    )
    memory: ClassChange | None = Field(None, description="time of memory traffic")
    memory_latency: ClassChange | None = Field(
        None, description="time of dependent memory accesses"
    )
    storage: ClassChange | None = Field(None, description="time of storage traffic")
    storage_latency: ClassChange | None = Field(
        None, description="time of dependent storage accesses"
    )
    prefetched_faults: Fraction | None = Field(
        None,
        description="fraction of the page faults that are prefetched, for programs with this input",
    )
    prefetched_locks: Fraction | None = Field(
        None,
        description=(
            "fraction of the lock acquisitions that are prefetched, for programs with this input"
        ),
    )
    values: dict[ValuePath, AnyValue] = Field(
        {},
        description=(
            "new values of quantities of the machine, by path such as machine.system.signal"
        ),
    )

    def check_rules(self) -> None:
        super().check_rules()
        for path in self.values:
            if not path.startswith("machine."):
                message = (
                    "a technology sets quantities of the machine only, such as"
                    " machine.network.adapter"
                )
                raise broken_rule(message, "values", path)
        for name in TECHNOLOGIES:
            change = getattr(self, name)
            if change is not None and change.to is not None and name not in QUANTITIES:
                message = (
                    f"the cost of {name} is no single quantity of a machine; write by, a factor, or"
                    " set values"
                )
                raise broken_rule(message, name, "to")
            if change is not None and change.to is not None and QUANTITIES[name] in self.values:
                raise broken_rule(
                    f"{QUANTITIES[name]} stands under values, too; write it once", name, "to"
                )


PREFETCHED = ("prefetched_faults", "prefetched_locks")
"""The inputs of a program that a technology sets."""


def changes_of(
    reference: Node, model: str, input_names: Collection[str], tree: Node, library: Library
) -> tuple[dict[str, Node], tuple[str, ...]]:
    """Return the values that a technology sets, by path, and notes on values that do not apply to
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
    library : reads files, and has those read so far

    Raises
    ------
    SpecError : the technology is wrong, or sets a path that the inputs do not have
    """
    technology_name, technology_tree = _read_technology(reference, library)
    gain_keys = Gain.model_fields
    changes = {
        f"{TECHNOLOGY}.{key}": entry.node
        for key, entry in technology_tree.entries.items()
        if key in gain_keys
    }
    changes |= {
        f"{TECHNOLOGY}.{key}": node for key, node in _class_changes(technology_tree, "by").items()
    }
    notes = []
    for key in PREFETCHED:
        if key in technology_tree.entries and key in input_names:
            changes[key] = technology_tree.entries[key].node
        elif key in technology_tree.entries:
            notes.append(
                f"{technology_name} leaves {key} as it is, because {model} has no such input"
            )
    costless_classes = [
        key
        for key in _class_changes(technology_tree, "to")
        if _costs_nothing(tree, QUANTITIES[key])
    ]
    costless_paths = [QUANTITIES[key] for key in costless_classes]
    state_texts = [
        "0" if node_at(tree, path) is not None else "not given" for path in costless_paths
    ]
    notes += [
        f"{technology_name} leaves {key} as it is, because {path} is {state_text}"
        for key, path, state_text in zip(costless_classes, costless_paths, state_texts, strict=True)
    ]
    for path, node in _machine_values(technology_tree).items():
        if node_at(tree, path) is None and path not in costless_paths:
            message = (
                f"{technology_name} sets {path}, which {model} does not have here; choose another"
                " technology or machine"
            )
            raise reference.mark.error(message, TECHNOLOGY)
        if path not in costless_paths:
            changes[path] = node
    return changes, tuple(notes)


def _class_changes(technology_tree: Table, key: str) -> dict[str, Node]:
    """Return the values under ``by`` or ``to`` of a technology's classes of cost, each as a
    quantity with its source.
    """
    node_by_class: dict[str, Node] = {}
    for class_name in TECHNOLOGIES:
        class_change = node_at(technology_tree, [class_name])
        if isinstance(class_change, Table) and key in class_change.entries:
            entry_by_key = {
                "value" if key_name == key else key_name: entry
                for key_name, entry in class_change.entries.items()
            }
            node_by_class[class_name] = Table(entry_by_key, class_change.mark)
    return node_by_class


def _machine_values(technology_tree: Table) -> dict[str, Node]:
    """Return the quantities of a machine that a technology sets, by path."""
    values_node = node_at(technology_tree, ["values"])
    entries = values_node.entries if isinstance(values_node, Table) else {}
    node_by_path = {
        QUANTITIES[name]: node
        for name, node in _class_changes(technology_tree, "to").items()
        if name in QUANTITIES
    }
    return {path: entry.node for path, entry in entries.items()} | node_by_path


def _costs_nothing(tree: Node, path: str) -> bool:
    """Return whether the machine does not give a quantity, or gives it as 0."""
    quantity_node = node_at(tree, path)
    if quantity_node is None:
        return node_at(tree, "machine") is not None
    value_node = (
        node_at(quantity_node, ["value"]) if isinstance(quantity_node, Table) else quantity_node
    )
    return isinstance(value_node, Scalar) and parse(str(value_node.value))[0] == 0.0


def _read_technology(reference: Node, library: Library) -> tuple[str, Table]:
    """Return the name and the tree of a technology. The keys of its sources are replaced by their
    texts, because only its own file defines these keys.
    """
    if isinstance(reference, Table):
        technology_name = "this technology"
        technology_tree = library.resolve(TECHNOLOGY, reference)
    elif isinstance(reference, Scalar) and isinstance(reference.value, str) and reference.value:
        technology_name = (
            "technology"
            f" {reference.value.rpartition('/')[2].removesuffix('.yaml').removesuffix('.yml')}"
        )
        technology_tree = library.load(TECHNOLOGY, reference.value, reference.mark, TECHNOLOGY)
    else:
        raise reference.mark.error(
            "write the name of a technology, a file that ends in .yaml, or its keys and values",
            TECHNOLOGY,
        )
    tree_with_texts = library.compute_once(
        ("spelt", id(technology_tree)),
        lambda: _with_source_texts(
            technology_tree, validate(TechnologySpec, technology_tree).sources
        ),
        technology_tree,
    )
    assert isinstance(tree_with_texts, Table)
    return technology_name, tree_with_texts


def _with_source_texts(node: Node, sources: Mapping[str, str]) -> Node:
    """Return a tree in which source keys are replaced by the texts of the sources."""
    if not isinstance(node, Table):
        return node
    entry_by_key = {}
    for key, entry in node.entries.items():
        new_node = _with_source_texts(entry.node, sources)
        if key == "source" and isinstance(new_node, Scalar) and new_node.value in sources:
            source_text = sources[str(new_node.value)]
            new_node = Scalar(source_text, source_text, new_node.mark, quoted=True)
        entry_by_key[key] = Entry(entry.key_mark, new_node)
    return Table(entry_by_key, node.mark)


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
    node_by_path = _machine_values(tree)
    machine_path_by_path = {path: path.removeprefix("machine.") for path in node_by_path}
    machine_trees = [library.load("machine", name) for name in names_of_kind("machine")]
    fitting_machine_tree = next(
        (
            machine_tree
            for machine_tree in machine_trees
            if all(
                node_at(machine_tree, path) is not None for path in machine_path_by_path.values()
            )
        ),
        None,
    )
    if fitting_machine_tree is None:
        known_paths = {
            path
            for path, machine_path in machine_path_by_path.items()
            if any(
                node_at(machine_tree, machine_path) is not None for machine_tree in machine_trees
            )
        }
        # Each is there on some machine: then it is the first that stands on none together with the
        # others.
        path = next(
            (path for path in machine_path_by_path if path not in known_paths),
            next(iter(machine_path_by_path)),
        )
        mark = key_mark(tree, ["values", path])
        message = "no machine of the catalogue has this quantity, or not together with the others"
        raise mark.error(message, ["values", path])
    changed_machine_tree: Node = fitting_machine_tree
    for path, machine_path in machine_path_by_path.items():
        changed_machine_tree = replaced(changed_machine_tree, machine_path, node_by_path[path])
    # Limits of a value are those of its place in the machine.
    if problems := problems_of(spec_model("machine", fitting_machine_tree), changed_machine_tree):
        raise SpecError(problems)
