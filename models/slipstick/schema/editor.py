"""JSON Schemas for editors, which complete and check specs while they are written."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from slipstick.errors import UnknownNameError
from slipstick.schema.catalogue import FOLDERS
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.shared_memory import ONLY_SHARED, SharedMemorySpec
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
    models = (MachineSpec, SharedMemorySpec)
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
