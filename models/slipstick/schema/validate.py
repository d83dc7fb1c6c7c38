"""Nodes to specs: pydantic's findings, told as problems with a place, in our words."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.schema.nodes import Node, Table, at, join, key_mark, plain, value_mark

__all__ = ["problem", "problems_of", "validate"]

Model = TypeVar("Model", bound=BaseModel)
Loc = tuple[str | int, ...]


def validate(model: type[Model], node: Node) -> Model:
    """Check a tree against a spec model.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    try:
        return model.model_validate(plain(node))
    except ValidationError as error:
        raise SpecError(_problems(model, node, error)) from None


def problems_of(model: type[BaseModel], node: Node) -> list[Problem]:
    """List what is wrong with a tree; nothing if it is a spec of that model."""
    try:
        validate(model, node)
    except SpecError as error:
        return list(error.problems)
    return []


def problem(node: Node, loc: Loc, message: str, key: bool = False) -> Problem:
    """Report a message at the value, or the key, that a location leads to."""
    mark = key_mark(node, loc) if key else value_mark(node, loc)
    return Problem(mark.file, mark.line, mark.column, join(_written(node, loc)), message)


def _problems(model: type[BaseModel], node: Node, error: ValidationError) -> list[Problem]:
    details = error.errors(include_url=False, include_input=True)
    mistyped = {near for each in details if each["type"] == "extra_forbidden" for near in _meant(model, each["loc"])}
    found = []
    for each in details:
        kind, loc = each["type"], each["loc"]
        if kind == "missing" and (loc[:-1], loc[-1]) in mistyped:
            # The key is there, misspelt; one problem is enough.
            continue
        found.append(problem(node, loc, _words(model, node, each), key=kind == "extra_forbidden"))
    return found


def _words(model: type[BaseModel], node: Node, each: Any) -> str:
    kind, loc, context = each["type"], each["loc"], each.get("ctx", {})
    if kind == "extra_forbidden":
        return f"unknown key{did_you_mean(str(loc[-1]), _keys(model, loc[:-1]))}"
    if kind == "missing":
        about = _description(model, loc)
        return f"key {str(loc[-1])!r} is missing" + (f": {about}" if about else "")
    if kind == "literal_error":
        return f"write {context['expected']}; got {_shown(each['input'])}" + _suggestion(each["input"], context)
    if kind == "item":
        return str(each["msg"]) + _item_suggestion(node, loc)
    if kind in _WORDS:
        return f"{_WORDS[kind](context)}; got {_shown(each['input'])}"
    return str(each["msg"])


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "string_type": lambda _: "write text, in quotes if it looks like a number",
    "string_pattern_mismatch": lambda _: "write a name: letters, digits, _ and -, starting with a letter",
    "string_too_long": lambda c: f"at most {c['max_length']} characters",
    "int_type": lambda _: "write a whole number",
    "int_from_float": lambda _: "write a whole number",
    "bool_type": lambda _: "write true or false",
    "list_type": lambda _: "write a list",
    "dict_type": lambda _: "write keys and values",
    "model_type": lambda _: "write keys and values",
    "model_attributes_type": lambda _: "write keys and values",
    "too_short": lambda c: f"at least {c['min_length']} needed",
    "greater_than_equal": lambda c: f"at least {c['ge']}",
    "less_than_equal": lambda c: f"at most {c['le']}",
}


def _suggestion(written: Any, context: dict[str, Any]) -> str:
    options = [option.strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
    words = did_you_mean(written, options) if isinstance(written, str) else ""
    return words if "did you mean" in words else ""


def _item_suggestion(node: Node, loc: Loc) -> str:
    here = at(node, _written(node, loc))
    keys = list(here.entries) if isinstance(here, Table) else []
    for key in keys:
        words = did_you_mean(key, ("delay", "service", "hold", "fork", "choose", "repeat", "pipeline", "barrier"))
        if "did you mean" in words:
            return f"; {key!r} is none of them{words}"
    return ""


def _shown(written: Any) -> str:
    if isinstance(written, dict | list):
        return "keys and values" if isinstance(written, dict) else "a list"
    if written is None or isinstance(written, bool):
        return "nothing" if written is None else str(written).lower()
    words = repr(written)
    return words if len(words) <= 60 else words[:57] + "..."


def _meant(model: type[BaseModel], loc: Loc) -> list[tuple[Loc, str]]:
    """Name the key that an unknown one was probably meant to be."""
    words = did_you_mean(str(loc[-1]), _keys(model, loc[:-1]))
    return [(loc[:-1], key) for key in _keys(model, loc[:-1]) if words == f"; did you mean {key!r}?"]


def _written(node: Node, loc: Loc) -> list[str | int]:
    """Drop from a location what is not in the file: the tags of unions."""
    kept: list[str | int] = []
    for index, part in enumerate(loc):
        if at(node, [*kept, part]) is not None or index == len(loc) - 1:
            if index == len(loc) - 1 and kept and at(node, [*kept, part]) is None and _is_tag(node, kept, part):
                continue
            kept.append(part)
    return kept


def _is_tag(node: Node, kept: Sequence[str | int], part: str | int) -> bool:
    here = at(node, kept)
    return not isinstance(here, Table) or part in ("station", "lock", "barrier")


def _keys(model: type[BaseModel], loc: Loc) -> list[str]:
    return list(_model_at(model, loc).model_fields) if _model_at(model, loc) else []


def _description(model: type[BaseModel], loc: Loc) -> str:
    parent = _model_at(model, loc[:-1])
    field = parent.model_fields.get(str(loc[-1])) if parent else None
    return (field.description or "") if field else ""


def _model_at(model: type[BaseModel], loc: Loc) -> Any:
    """Follow a location through the annotations to the model that holds it."""
    here: Any = model
    for part in loc:
        here = _step(_bare(here), part)
        if here is None:
            return None
    here = _bare(here)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _step(here: Any, part: str | int) -> Any:
    if isinstance(here, type) and issubclass(here, BaseModel):
        field = here.model_fields.get(str(part))
        return field.annotation if field else None
    arguments = get_args(here)
    if get_origin(here) in (Union, types.UnionType):
        tagged = [option for option in arguments if part in _tags(option)]
        return tagged[0] if tagged else _step(_bare(_first_model(arguments)), part)
    return arguments[-1] if arguments else None


def _bare(annotation: Any) -> Any:
    """Take off Annotated, and the None of an optional field."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
        if len(options) == 1:
            return _bare(options[0])
    return annotation


def _first_model(options: Sequence[Any]) -> Any:
    return next((option for option in options if option is not type(None)), None)


def _tags(option: Any) -> list[str]:
    return [each.tag for each in getattr(option, "__metadata__", ()) if isinstance(each, Tag)]
