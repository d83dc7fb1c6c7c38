"""What a spec says of its values: path, meaning, unit, source.

JSON Schemas for editors, which complete and check specs while they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from slipstick.errors import UnknownNameError
from slipstick.expression.nodes import Parameter
from slipstick.schema.kinds.quantity import Described, Given
from slipstick.schema.library import FOLDERS, ONLY_SHARED, spec_model
from slipstick.schema.text.nodes import Node, at, join, value_mark

if TYPE_CHECKING:
    from slipstick.model.machine import Machine, Network, SharedMemory


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """A value of a spec, with what is known of it."""

    path: str
    given: Given
    meaning: str
    source: str


@dataclass(frozen=True, slots=True)
class _Context:
    """What holds for values that say nothing themselves, and how source keys are spelt out."""

    source: str = ""
    spelt_out: Mapping[str, str] = field(default_factory=dict)

    def inside(self, spec: BaseModel) -> _Context:
        if not isinstance(spec, Described):
            return self
        known = {**self.spelt_out, **spec.sources}
        return _Context(known.get(spec.source, spec.source) or self.source, known)


def entries(spec: BaseModel, prefix: str = "") -> Iterator[DescribedValue]:
    """Yield every quantity of a checked spec, with its path under `prefix`, in the order of the format."""
    yield from _entries(spec, prefix, "", _Context())


def with_sources(found: Iterable[DescribedValue], tree: Node, sources: Mapping[str, str]) -> Iterator[DescribedValue]:
    """Let each value that names no source have that of the file it is written in, not of one that extends it.

    Parameters
    ----------
    found : as `entries` gives them
    tree : where everything is written
    sources : what each file says of itself
    """
    for each in found:
        file = value_mark(tree, each.path).file
        if each.given.source:
            yield each
        elif at(tree, each.path) is None:
            yield replace(each, source="default of the format")
        elif file.startswith("--set"):
            yield replace(each, source="set on the command line")
        else:
            yield replace(each, source=sources.get(file, each.source))


def parameters_of(found: Mapping[str, DescribedValue]) -> dict[str, Parameter]:
    """Make a parameter of each quantity."""
    return {path: Parameter(path, each.given.dimension, each.given.value) for path, each in found.items()}


def hardware_of(spec: BaseModel, name: str = "", prefix: str = "machine") -> Machine | SharedMemory | Network:
    """Build the machine, or the network, of a checked file, as expressions over its paths."""
    at = parameters_of({each.path: each for each in entries(spec, prefix)})
    built: Machine | SharedMemory | Network = getattr(spec, "build")(name, at, prefix)  # noqa: B009  # of any kind
    return built


def _entries(value: object, path: str, meaning: str, context: _Context) -> Iterator[DescribedValue]:
    if isinstance(value, Given):
        yield DescribedValue(
            path, value, value.meaning or meaning, context.spelt_out.get(value.source, value.source) or context.source
        )
    elif isinstance(value, BaseModel):
        inside = context.inside(value)
        for name, info in type(value).model_fields.items():
            yield from _entries(getattr(value, name), _joined(path, name), info.description or meaning, inside)
    elif isinstance(value, dict):
        for key, inner in value.items():
            # What a table says of itself says nothing of a quantity that its author named.
            named = "a parameter of the file" if path == "parameters" else meaning
            yield from _entries(inner, _joined(path, str(key)), named, context)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _entries(inner, _joined(path, str(index)), meaning, context)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{join([name])}" if prefix else join([name])


def editor_schema(kind: str) -> dict[str, Any]:
    """Give the JSON Schema of a kind of spec.

    A spec that extends another may leave out any key, so a missing key is an error only at the top of a spec
    that extends nothing; `slipstick check` finds the rest.

    Raises
    ------
    UnknownNameError : there is no such kind

    >>> editor_schema("network")["title"]
    'NetworkSpec'
    """
    if kind not in FOLDERS:
        raise UnknownNameError("kind of spec", kind, list(FOLDERS))
    schema = _two_machines() if kind == "machine" else _schema(kind, spec_model(kind))
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def _schema(kind: str, model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    for each in schema.get("$defs", {}).values():
        if kind == "network":
            each.pop("required", None)
    _allow_extends(schema)
    _close(schema)
    return schema


def _two_machines() -> dict[str, Any]:
    """Describe the two kinds of machines, told apart by the keys that only one of them has."""
    from pydantic.json_schema import models_json_schema

    models = (spec_model("machine"), spec_model("shared-memory"))
    _, schema = models_json_schema([(model, "validation") for model in models])
    parts = schema["$defs"]
    wholes = [model.__name__ for model in models]
    for name, each in parts.items():
        if name in wholes:
            _allow_extends(each)
        else:
            each.pop("required", None)
    _close(schema)
    told = {"anyOf": [{"required": [key]} for key in ONLY_SHARED], "not": {"required": ["network"]}}
    plain, shared = ({"$ref": f"#/$defs/{name}"} for name in wholes)
    properties = {"machine": parts[wholes[0]]["properties"]["machine"]}
    head = {"title": "Machine", "type": "object", "properties": properties}
    return {**head, "$defs": parts, "if": told, "then": shared, "else": plain}


def _allow_extends(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required", [])}]


def _close(schema: Any) -> None:
    """Refuse keys that do not match the pattern of a name."""
    if isinstance(schema, dict):
        if "patternProperties" in schema:
            schema["additionalProperties"] = False
        for each in schema.values():
            _close(each)
    elif isinstance(schema, list):
        for each in schema:
            _close(each)
