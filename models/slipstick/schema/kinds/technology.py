"""Distributions of uncertain quantities, technologies as files, and what they make of models."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from slipstick.errors import SpecError
from slipstick.expression.nodes import COUNT, Dimension
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

if TYPE_CHECKING:
    from slipstick.model.uncertainty import Uncertainty

AnyValue = Annotated[Given, Quantity(None, least=None)]
Weight = Annotated[Given, Quantity(COUNT, least=None, above=0.0)]
Spread = Annotated[Given, Quantity(COUNT)]


class Uncertain(Spec):
    """What every distribution says of itself, and the checks that all share."""

    source: Note = Field("", description="where it comes from; a key of sources, or text")
    assumed: bool = Field(False, description="it is a guess")

    def check_rules(self) -> None:
        quantities_given = quantities(self)
        for key, quantity_given in quantities_given.items():
            first = next(iter(quantities_given.values()))
            if quantity_given.dimension != first.dimension:
                why = f"a [{quantity_given.dimension}] does not go with a [{first.dimension}]"
                raise broken_rule(why, *key)

    @property
    def dimension(self) -> Dimension:
        """The dimension of the values."""
        return next(iter(quantities(self).values())).dimension


def quantities(spec: Uncertain) -> dict[tuple[str | int, ...], Given]:
    """Return the quantities of a distribution that must have the same dimension, by their place."""
    quantities_found: dict[tuple[str | int, ...], Given] = {}
    for name, field in type(spec).model_fields.items():
        value: Any = getattr(spec, name)
        key = field.alias or name
        if isinstance(value, Given) and key != "spread":
            quantities_found[(key,)] = value
        elif key == "values":
            quantities_found.update({(key, index): item for index, item in enumerate(value)})
    return quantities_found


class NormalSpec(Uncertain):
    """Normal: values around a mean."""

    distribution: Literal["normal"] = Field(description="normal")
    mean: AnyValue = Field(description="mean")
    deviation: AnyValue = Field(description="standard deviation, in the same unit")

    def check_rules(self) -> None:
        super().check_rules()
        if self.deviation.value < 0:
            raise broken_rule(f"must be at least 0, got {self.deviation.text}", "deviation")


class LognormalSpec(Uncertain):
    """Lognormal: factors around a median."""

    distribution: Literal["lognormal"] = Field(description="lognormal, so never negative")
    median: AnyValue = Field(description="median")
    spread: Spread = Field(
        description=(
            "standard deviation of the natural logarithm; 10% is about a tenth of the median"
        )
    )

    def check_rules(self) -> None:
        super().check_rules()
        if not self.median.value > 0:
            raise broken_rule(
                f"a lognormal quantity is more than 0, got {self.median.text}", "median"
            )


class UniformSpec(Uncertain):
    """Uniform between two values."""

    distribution: Literal["uniform"] = Field(description="uniform")
    low: AnyValue = Field(alias="from", description="least value")
    to: AnyValue = Field(description="largest value")

    def check_rules(self) -> None:
        super().check_rules()
        if self.to.value < self.low.value:
            raise broken_rule(
                f"to must be at least from, got {self.to.text} after {self.low.text}", "to"
            )


class TriangularSpec(Uncertain):
    """Triangular between two values, most likely at the mode."""

    distribution: Literal["triangular"] = Field(description="triangular")
    low: AnyValue = Field(alias="from", description="least value")
    mode: AnyValue = Field(description="most likely value")
    to: AnyValue = Field(description="largest value")

    def check_rules(self) -> None:
        super().check_rules()
        if not self.low.value <= self.mode.value <= self.to.value:
            why = f"the mode must lie between from and to, got {self.mode.text}"
            raise broken_rule(why, "mode")


class DiscreteSpec(Uncertain):
    """One of several values."""

    distribution: Literal["discrete"] = Field(description="one of several values")
    values: list[AnyValue] = Field(description="the values", min_length=1)
    weights: list[Weight] | None = Field(
        None, description="weight of each value; all the same by default"
    )

    def check_rules(self) -> None:
        super().check_rules()
        if self.weights is not None and len(self.weights) != len(self.values):
            why = (
                f"one weight for each of the {len(self.values)} values is needed, got"
                f" {len(self.weights)}"
            )
            raise broken_rule(why, "weights")


DistributionSpec = Annotated[
    NormalSpec | LognormalSpec | UniformSpec | TriangularSpec | DiscreteSpec,
    Field(discriminator="distribution"),
]


def distribution_of(spec: Uncertain) -> "Uncertainty":
    """Build the distribution of a checked spec, its values in base units."""
    # Distributions are drawn from with NumPy, which a check of the file does not need.
    from slipstick.model.uncertainty import Uncertainty

    match spec:
        case NormalSpec():
            return Uncertainty("normal", spec.mean.value, spec.deviation.value)
        case LognormalSpec():
            return Uncertainty("lognormal", spec.median.value, spec.spread.value)
        case UniformSpec():
            return Uncertainty("uniform", spec.low.value, spec.to.value)
        case TriangularSpec():
            return Uncertainty("triangular", spec.low.value, spec.mode.value, spec.to.value)
        case DiscreteSpec():
            weights = (
                [weight.value for weight in spec.weights]
                if spec.weights
                else [1.0] * len(spec.values)
            )
            return Uncertainty("discrete", [value.value for value in spec.values], weights)
    raise TypeError(spec)


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
    """What a technology makes of a class of cost: a factor, or the value that its quantity of the
    machine takes.

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
    """A technology by name: what it makes of classes of cost, of the machine and of the
    workload.
    """

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
    """Return the values that a technology sets, by path, and notes on those that have no place in
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
    """Return whether the machine gives this quantity as 0 or does not give it."""
    node = at(tree, path)
    if node is None:
        return at(tree, "machine") is not None
    value_node = at(node, ["value"]) if isinstance(node, Table) else node
    return isinstance(value_node, Scalar) and parse(str(value_node.value))[0] == 0.0


def _read(reference: Node, library: Library) -> tuple[str, Table]:
    """Read a technology, with its source keys replaced by their texts, which only its own file
    defines.
    """
    if isinstance(reference, Table):
        name, file = "this technology", library.resolve(TECHNOLOGY, reference)
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
    """Check the values of a technology in their places on the first machine of the catalogue that
    has them all.

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
    if problems := problems_of(spec_model("machine", fitting), changed):
        raise SpecError(problems)
