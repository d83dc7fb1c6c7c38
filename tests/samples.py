"""Specs made from the JSON Schemas of their kinds: whatever a schema lists joins by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TEXTS = {"a quantity such as '": r"such as '([^']*)'", "a plain number": ""}


class Sampler:
    """Makes values that a JSON Schema allows.

    Parameters
    ----------
    schema : the whole schema
    names : values of texts by the last key of their path, such as the name of a resource
    """

    def __init__(self, schema: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        self.schema, self.names = schema, names

    def resolved(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow a reference."""
        while "$ref" in part:
            part = self.schema["$defs"][part["$ref"].rpartition("/")[2]]
        return part

    def smallest(self, part: Mapping[str, Any], key: str = "") -> Any:
        """Return a value that has only the required keys."""
        part = self.resolved(part)
        if key in self.names:
            return self.names[key]
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return part["enum"][0]
        for union in ("anyOf", "oneOf"):
            if options := [each for each in part.get(union, ()) if each.get("type") != "null"]:
                return self.smallest(options[0], key)
        return getattr(self, f"_{part.get('type', 'string')}")(part, key)

    def _object(self, part: Mapping[str, Any], key: str) -> dict[str, Any]:
        made = {
            name: self.smallest(part["properties"][name], name) for name in part.get("required", ())
        }
        inside = [*part.get("patternProperties", {}).values()]
        if isinstance(part.get("additionalProperties"), dict):
            inside.append(part["additionalProperties"])
        if not made and inside:
            made["x"] = self.smallest(inside[0])
        return made

    def _array(self, part: Mapping[str, Any], key: str) -> list[Any]:
        if "prefixItems" in part:
            return [self.smallest(each) for each in part["prefixItems"]]
        least = max(1, part.get("minItems", 1))
        return [self.smallest(part["items"], key) for _ in range(least)]

    def _string(self, part: Mapping[str, Any], key: str) -> Any:
        found = re.search(r"such as '([^']*)'", part.get("description", ""))
        if found:
            return found[1]
        return 1 if part.get("description") == "a plain number" else "x"

    def _integer(self, part: Mapping[str, Any], key: str) -> int:
        return max(2, int(part.get("minimum", 1)))

    def _number(self, part: Mapping[str, Any], key: str) -> float:
        return min(1.0, float(part.get("maximum", 1.0)))

    def _boolean(self, part: Mapping[str, Any], key: str) -> bool:
        return True

    def with_each_key(self, part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the smallest value, then the smallest with each further key."""
        part = self.resolved(part)
        base = self.smallest(part)
        yield "", base
        for key, inside in part.get("properties", {}).items():
            if key not in base:
                for value in self.options(inside, key):
                    yield key, {**base, key: value}

    def options(self, part: Mapping[str, Any], key: str) -> Iterator[Any]:
        """Yield a value of each kind that a part allows."""
        part = self.resolved(part)
        if "enum" in part:
            yield from part["enum"]
        elif "anyOf" in part or "oneOf" in part:
            for each in part.get("anyOf", part.get("oneOf")):
                if each.get("type") != "null":
                    yield from self.options(each, key)
        else:
            yield self.smallest(part, key)
