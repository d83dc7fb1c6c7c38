"""What a spec says of its values: path, meaning, unit, source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from slipstick.expression.nodes import Parameter
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.kinds.spec import Described
from slipstick.schema.text.nodes import Node, at, join, value_mark

__all__ = ["Entry", "entries", "parameters_of", "with_sources"]


@dataclass(frozen=True, slots=True)
class Entry:
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


def entries(spec: BaseModel, prefix: str = "") -> Iterator[Entry]:
    """Yield every quantity of a checked spec, with its path under `prefix`, in the order of the format."""
    yield from _entries(spec, prefix, "", _Context())


def with_sources(found: Iterable[Entry], tree: Node, sources: Mapping[str, str]) -> Iterator[Entry]:
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


def parameters_of(found: Mapping[str, Entry]) -> dict[str, Parameter]:
    """Make a parameter of each quantity."""
    return {path: Parameter(path, each.given.dimension, each.given.value) for path, each in found.items()}


def _entries(value: object, path: str, meaning: str, context: _Context) -> Iterator[Entry]:
    if isinstance(value, Given):
        yield Entry(path, value, meaning, context.spelt_out.get(value.source, value.source) or context.source)
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
