"""Messages on what is wrong with a spec: the errors that pydantic finds, in words of the format,
each with its place. Imported only when something is wrong.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from slipstick.errors import Problem, did_you_mean, nearest_names, suggestion_of
from slipstick.schema.kinds.constraints import RULE, SPELT
from slipstick.schema.text import MOST_PROBLEMS, Node, Table, leaves, node_at, problem

Location = tuple[str | int, ...]


def problems_in(
    model: type[BaseModel], node: Node, error: ValidationError, is_partial: bool = False
) -> list[Problem]:
    """List the problems that a validation error of pydantic reports.

    Parameters
    ----------
    model : the spec model
    node : the tree that breaks its rules
    error : what pydantic found
    is_partial : whether the tree extends another one, so that missing keys are no problem
    """
    ignored_types = ("missing", RULE) if is_partial else ()  # what is wrong with a spec as a whole
    details = [
        detail
        for detail in error.errors(include_url=False, include_input=True)
        if detail["type"] not in ignored_types
    ]
    # More problems in one message do not help.
    del details[MOST_PROBLEMS:]
    mistyped_keys = _mistyped_keys(model, details)
    first_field_by_key = _first_fields_without_name(model, details)
    problems = [
        problem(
            node,
            (key,),
            f"each entry has a name; write {key}: {{NAME: {{{field}: ...}}}}",
            is_at_key=True,
        )
        for key, field in first_field_by_key.items()
    ]
    paths_by_key: dict[str, list[str]] = {}
    # Where a key stands elsewhere in the file, its author may have meant that place.
    for leaf_path, _ in leaves(node):
        path = leaf_path.removesuffix(".value")
        paths_by_key.setdefault(path.rpartition(".")[2], []).append(path)
    for detail in details:
        location: Location = detail["loc"]
        if location and location[0] in first_field_by_key:
            continue
        if detail["type"] == "missing" and mistyped_keys & {
            (location[:-1], location[-1]),
            (location[:-1], "extends"),
        }:
            # The key is there, misspelt; one problem is enough.
            continue
        reported_location, is_key = _location_of_error(model, node, detail)
        problems.append(
            problem(
                node,
                reported_location,
                _message_of_error(model, paths_by_key, detail, reported_location),
                is_at_key=is_key,
            )
        )
    return problems


def _mistyped_keys(
    model: type[BaseModel], details: Sequence[Any]
) -> set[tuple[Location, int | str]]:
    """Return the keys that are there but misspelt, each with the place of its table."""
    intended_keys = {
        intended_key
        for detail in details
        if detail["type"] == "extra_forbidden"
        for intended_key in _intended_keys(model, detail["loc"])
    }
    return intended_keys | {
        (detail["loc"][:-1], "extends") for detail in details if detail["loc"][-1:] == ("extends",)
    }


def _first_fields_without_name(
    model: type[BaseModel], details: Sequence[Any]
) -> dict[str | int, str]:
    """Return the keys whose named entries are written without a name, such as ``seek: {of: year}``,
    each with the first field that stands in the place of the name.
    """
    first_field_by_key: dict[str | int, str] = {}
    for detail in details:
        if detail["type"] != "model_type" or len(detail["loc"]) != 2:
            continue
        key, field = detail["loc"]
        entry_class = _model_at(model, (key, field))
        is_by_name = get_origin(_without_metadata(_annotation_at(model, (key,)))) is dict
        if is_by_name and entry_class and _field_of_key(entry_class, field):
            first_field_by_key.setdefault(key, str(field))
    return first_field_by_key


def _location_of_error(
    model: type[BaseModel], node: Node, validation_error: Any
) -> tuple[Location, bool]:
    """Return the place of an error in the file, and whether the error is about the key at that
    place or about its value.
    """
    error_type = validation_error["type"]
    context = validation_error.get("ctx", {})
    path = (*_path_in_file(model, validation_error["loc"]), *context.get("at", ()))
    if error_type == "union_tag_invalid":
        return (*path, _discriminating_key(context)), False
    if error_type in ("item", "union_tag_not_found"):
        nearest_keys = _nearest_key(
            node_at(node, path),
            tuple(_alternatives_at(model, validation_error["loc"]))
            if error_type == "item"
            else (_discriminating_key(context),),
        )
        return (*path, *nearest_keys), bool(nearest_keys)
    return path, error_type == "extra_forbidden" or validation_error["loc"][-1:] == (
        KEY,
    ) or context.get("is_at_key", False)


def _nearest_key(node: Node | None, allowed_keys: Sequence[str]) -> list[str]:
    """List the first key of a table that is probably a misspelling of an allowed key; empty if none
    is similar.
    """
    keys = node.entries if isinstance(node, Table) else ()
    return [key for key in keys if key not in ("name", "do") and nearest_names(key, allowed_keys)][
        :1
    ]


def _discriminating_key(details: dict[str, Any]) -> str:
    """Return the key of a table whose value decides between several kinds of tables."""
    return str(details["discriminator"]).strip("'")


def _message_of_error(
    spec_class: type[BaseModel],
    paths_by_key: Mapping[str, Sequence[str]],
    validation_error: Any,
    reported_location: Location,
) -> str:
    """Return the message for one error of validation, with the keys or words that were probably
    meant.

    Parameters
    ----------
    spec_class : the pydantic model that checks the file
    paths_by_key : the paths at which each key stands in the file
    validation_error : as pydantic describes it, with its own location
    reported_location : where the message is shown
    """
    error_type = validation_error["type"]
    location = validation_error["loc"]
    wrong_value = validation_error["input"]
    details = validation_error.get("ctx", {})
    if error_type == "extra_forbidden":
        return _unknown_key_message(spec_class, paths_by_key, location, wrong_value)
    if error_type == "missing":
        description = _description_at(spec_class, location)
        return f"key {str(location[-1])!r} is missing" + (f": {description}" if description else "")
    if error_type == "literal_error":
        return _expected_words_message(wrong_value, details)
    if error_type == "union_tag_not_found":
        key = _discriminating_key(details)
        near_names = nearest_names(str(reported_location[-1]), [key])
        return f"key {key!r} is missing{suggestion_of(near_names)}"
    if error_type == "union_tag_invalid":
        expected_words = " or ".join(details["expected_tags"].rsplit(", ", 1))
        tag = wrong_value[reported_location[-1]]
        return _expected_words_message(tag, {"expected": expected_words})
    if error_type == "item":
        item_kind_by_key = _alternatives_at(spec_class, location)
        correction = _item_correction(item_kind_by_key, wrong_value, str(reported_location[-1]))
        return f"{validation_error['msg']}; {correction}"
    if error_type == "string_pattern_mismatch":
        return f"{SPELT[details['pattern']]}; got {_shown_value(wrong_value)}"
    if (
        error_type == "model_type"
        and (expected_class := _model_at(spec_class, location))
        # A number says even less than a text which key was meant.
        and (isinstance(wrong_value, str) or hasattr(expected_class, "example"))
    ):
        return _table_message(expected_class, _shown_value(wrong_value).strip("'"))
    parent_class = _model_at(spec_class, location[:-1])
    if error_type == "dict_type" and (hint := getattr(parent_class, "hints", {}).get(location[-1])):
        return f"{hint}; got {_shown_value(wrong_value)}"
    keyed_by = getattr(parent_class, "keyed_by", None)
    if error_type == "dict_type" and keyed_by and isinstance(wrong_value, int | float | str):
        example_value = _shown_value(wrong_value).strip("'")
        return f"write keys and values, such as {{{keyed_by}: {example_value}}}"
    if error_type == "list_type" and isinstance(wrong_value, dict | float | int | str):
        item_text = "{...}" if isinstance(wrong_value, dict) else _shown_value(wrong_value)
        return f"write a list, such as [{item_text}]"
    if wrong_value is None and error_type in ("dict_type", "model_type", "model_attributes_type"):
        return "write keys and values in lines below, further to the right; got nothing"
    if error_type in _MESSAGES:
        return f"{_MESSAGES[error_type](details)}; got {_shown_value(wrong_value)}"
    return str(validation_error["msg"])


MOST_PLACES = 3
"""Places of a key that a message about an unknown key lists, at most."""

_LIKELY_PLACES = ("parameters.", "population.")
"""The first parts of paths that were probably meant where a key exists at several places of a file.
"""


def _unknown_key_message(
    spec_class: type[BaseModel],
    paths_by_key: Mapping[str, Sequence[str]],
    location: Location,
    value: Any,
) -> str:
    """Return the message for an unknown key, with the key that was probably meant."""
    key = str(location[-1])
    known_keys = _keys_at(spec_class, location[:-1])
    if isinstance(value, dict) and len(set(known_keys).intersection(value)) > 1:
        return "unknown key; leave it out, and write its keys one level higher"
    # The stray key itself is one of its places.
    other_paths = [path for path in paths_by_key.get(key, ()) if "." in path]
    likely_paths = [path for path in other_paths if path.startswith(_LIKELY_PLACES)]
    intended_paths = likely_paths or other_paths
    if len(location) == 1 and 1 <= len(intended_paths) <= MOST_PLACES:
        return f"unknown key{suggestion_of(intended_paths)}"
    if hint := getattr(_model_at(spec_class, location[:-1]), "hints", {}).get(key):
        return f"unknown key; {hint}"
    written_key, colon, _ = key.partition(":")
    if colon and written_key in known_keys:
        return f"unknown key; write a space after the colon of {written_key}"
    if ")" in key or (value is None and " " in key):
        return (
            "unknown key; a comma ends a value within braces: write the whole value in quotes, such"
            " as 'load * pow(growth, months)'"
        )
    return f"unknown key{did_you_mean(key, known_keys, most_names=32)}"


def _expected_words_message(wrong_word: Any, details: dict[str, Any]) -> str:
    """Return the message for a word that is not one of the expected words."""
    return f"write {details['expected']}; got {_shown_value(wrong_word)}" + _suggested_word(
        wrong_word, details
    )


def _table_message(expected_class: type[BaseModel], wrong_text: str) -> str:
    """Return the message for a text or a number where a table of keys and values is expected."""
    example = getattr(expected_class, "example", None)
    if example is None:
        fields_of_class = expected_class.model_fields
        key = min(fields_of_class, key=lambda name: not fields_of_class[name].is_required())
        example = f"{{{key}: {wrong_text}}}"
    return f"write keys and values, such as {example}"


def _item_correction(item_kind_by_key: Mapping[str, Any], item_value: Any, nearest_key: str) -> str:
    """Return a text on how to write an item of an activity, for a value that is no item."""
    if isinstance(item_value, dict) and (
        near_keys := nearest_names(nearest_key, list(item_kind_by_key))
    ):
        intended_item = next(
            item_kind for key, item_kind in item_kind_by_key.items() if key in near_keys
        )
        return (
            f"{nearest_key!r} is none of them{suggestion_of(near_keys)}"
            f" {intended_item.use.capitalize()} write {intended_item.example}"
        )
    written_keys = list(item_value) if isinstance(item_value, dict) else []
    found_keys_text = (
        f"found only {', '.join(map(_shown_value, written_keys[:4]))}"
        if written_keys
        else f"got {_shown_value(item_value)}"
    )
    item_by_alias = {
        alias: item_kind for item_kind in item_kind_by_key.values() for alias in item_kind.alike
    }
    intended_item = next(
        (item_by_alias[key] for key in written_keys if key in item_by_alias),
        item_kind_by_key["delay"],
    )
    return f"{found_keys_text}; {intended_item.use} write {intended_item.example}"


KEY = "[key]"
"""The last part of pydantic's location of an error that is about a key and not about its value."""

_MESSAGES: dict[str, Callable[[dict[str, Any]], str]] = {
    "string_type": lambda _: "write text, in quotes if it looks like a number",
    "string_too_short": lambda c: f"at least {c['min_length']} character",
    "string_too_long": lambda c: f"at most {c['max_length']} characters",
    "int_type": lambda _: "write a whole number",
    "int_from_float": lambda _: "write a whole number",
    "float_type": lambda _: "write a number",
    "bool_type": lambda _: "write true or false",
    "list_type": lambda _: "write a list",
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"), lambda _: "write keys and values"
    ),
    "too_short": lambda c: f"at least {c['min_length']} needed",
    "too_long": lambda c: f"at most {c['max_length']} wanted",
    "greater_than": lambda c: f"more than {c['gt']:g}",
    "greater_than_equal": lambda c: f"at least {c['ge']:g}",
    "less_than_equal": lambda c: f"at most {c['le']:g}",
}


def _suggested_word(value: Any, details: dict[str, Any]) -> str:
    expected_words = [
        option.strip("'") for option in details["expected"].replace(" or ", ", ").split(", ")
    ]
    return suggestion_of(nearest_names(value, expected_words) if isinstance(value, str) else [])


def _shown_value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "keys and values" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    value_text = repr(value)
    return value_text if len(value_text) <= 60 else value_text[:57] + "..."


def _intended_keys(model: type[BaseModel], location: Location) -> list[tuple[Location, str]]:
    """List the key that an unknown key was probably meant to be, with its location."""
    near_keys = nearest_names(str(location[-1]), _keys_at(model, location[:-1]))
    return [(location[:-1], key) for key in _keys_at(model, location[:-1]) if near_keys == [key]]


def _path_in_file(model: type[BaseModel], location: Location) -> Location:
    """Return a location as in the file, without the parts that pydantic adds: tags of unions, and
    the mark of a key.
    """
    path_parts: list[str | int] = []
    annotation: Any = model
    for location_part in location:
        annotation, is_tag = _annotation_of_part(_without_metadata(annotation), location_part)
        if not is_tag:
            path_parts.append(location_part)
    return tuple(path_parts)


def _keys_at(model: type[BaseModel], location: Location) -> list[str]:
    """List the keys of the pydantic model at a location, as files spell them."""
    model_at_location = _model_at(model, location)
    return (
        [field.alias or name for name, field in model_at_location.model_fields.items()]
        if model_at_location
        else []
    )


def _description_at(model: type[BaseModel], location: Location) -> str:
    parent_class = _model_at(model, location[:-1])
    field_info = _field_of_key(parent_class, location[-1]) if parent_class else None
    return (field_info.description or "") if field_info else ""


def _model_at(model: type[BaseModel], location: Location) -> Any:
    """Return the pydantic model at a location, found by way of the annotations; None if there is
    none.
    """
    annotation = _without_metadata(_annotation_at(model, location))
    return (
        annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    )


def _alternatives_at(model: type[BaseModel], location: Location) -> dict[str, Any]:
    """Return the alternatives of the union at a location, by tag."""
    options = get_args(_without_metadata(_annotation_at(model, location)))
    return {tag: get_args(option)[0] for option in options for tag in _tags_of_option(option)}


def _annotation_at(model: type[BaseModel], location: Location) -> Any:
    annotation: Any = model
    for location_part in location:
        annotation, _ = _annotation_of_part(_without_metadata(annotation), location_part)
    return annotation


def _annotation_of_part(annotation: Any, location_part: str | int) -> tuple[Any, bool]:
    """Return the annotation one step further along a location, and whether that step is the tag of
    a union.
    """
    if location_part == KEY:
        return annotation, True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        # An item of an activity refers to other items, which are defined after it.
        annotation.model_rebuild()
        field = _field_of_key(annotation, location_part)
        return (field.annotation if field else None), False
    if get_origin(annotation) in (Union, types.UnionType):
        tagged_options = [
            option for option in get_args(annotation) if location_part in _tags_of_option(option)
        ]
        return (tagged_options[0], True) if tagged_options else (None, False)
    arguments = get_args(annotation)
    return (arguments[-1] if arguments else None), False


def _field_of_key(model: type[BaseModel], key: str | int) -> Any:
    matching_fields = (
        field for name, field in model.model_fields.items() if (field.alias or name) == key
    )
    return next(matching_fields, None)


def _without_metadata(annotation: Any) -> Any:
    """Return an annotation without its metadata, and without the None of an optional field."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
        if len(options) == 1:
            return _without_metadata(options[0])
    return annotation


def _tags_of_option(option: Any) -> list[str]:
    """List the tags by which pydantic distinguishes an option of a union."""
    tags = [tag.tag for tag in getattr(option, "__metadata__", ()) if isinstance(tag, Tag)]
    fields = getattr(option, "model_fields", {}).values()
    return tags or [
        tag
        for field in fields
        if get_origin(field.annotation) is Literal
        for tag in get_args(field.annotation)
    ]
