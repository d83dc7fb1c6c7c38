"""JSON Schemas for editors, which complete and check specs while they are written."""

from __future__ import annotations

from typing import Any

from slipstick.errors import UnknownNameError
from slipstick.schema.catalogue import FOLDERS
from slipstick.schema.load import spec_model

__all__ = ["editor_schema"]


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
    schema = spec_model(kind).model_json_schema()
    for each in schema.get("$defs", {}).values():
        if kind in ("machine", "network"):
            each.pop("required", None)
    needed = schema.pop("required", [])
    schema["anyOf"] = [{"required": ["extends"]}, {"required": needed}]
    _close(schema)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


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
