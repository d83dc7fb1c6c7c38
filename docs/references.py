"""The reference pages, written from schemas, commands, laws and docstrings.

Each function returns the Markdown of one reference; ``tests/pages.py`` puts it into its page of the
documentation, and a test compares the page with it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

import slipstick
from docs.constructs import (
    constructs_of_activities,
    constructs_of_networks,
    errors_of_mean_value,
)
from slipstick import LAWS
from slipstick.cli.main import cli
from slipstick.law.law import Law
from slipstick.schema.library import KINDS, editor_schema

__all__ = ["PUBLIC", "REFERENCES"]

PUBLIC: list[str] = import_module("slipstick").__all__
"""The public names."""


def keys() -> Iterator[str]:
    """Write the keys of each kind of file, from its JSON Schema; parts of several kinds once."""
    schemas = {kind: editor_schema(kind) for kind in KINDS}
    shared_parts = _shared_parts(schemas)
    yield "Kinds of files: " + ", ".join(f"[{kind}](#{kind})" for kind in KINDS) + ".\n"
    yield "## Keys of every file\n"
    yield _COMMON_KEYS_IN_WORDS
    common = schemas["network"]["properties"]
    yield from _table({key: common[key] for key in _COMMON_KEYS}, (), shared_parts)
    yield "Every picture of a study has these keys:\n"
    picture = schemas["study"]["$defs"]["LinesSpec"]["properties"]
    yield from _table({key: picture[key] for key in _PICTURE_KEYS}, (), shared_parts)
    for kind, schema in schemas.items():
        headings = shared_parts | {
            name: f"{_spoken(name)} ({kind})"
            for name in schema.get("$defs", {})
            if name not in shared_parts
        }
        yield f"## {kind}\n"
        yield _MACHINE_FORMS if kind == "machine" else f"{_cell(schema.get('description', ''))}\n"
        yield from _properties(schema, headings, version=kind)
        for name, members in _unions(kind, schema, headings).items():
            yield f"### {name} ({kind})\n\nOne of: {members}.\n"
        for name, part in sorted(schema.get("$defs", {}).items()):
            if part.get("properties") and name not in shared_parts:
                yield from _part(part, headings[name], headings)
    yield "## Parts of several kinds of files\n"
    for name, heading in sorted(shared_parts.items()):
        part = next(s["$defs"][name] for s in schemas.values() if name in s.get("$defs", {}))
        if part.get("properties"):
            yield from _part(part, heading, shared_parts)


_COMMON_KEYS = ("title", "source", "sources", "extends")
_PICTURE_KEYS = ("name", "title", "text")
_COMMON_KEYS_IN_WORDS = """\
The first key is the kind of the file with the version of its format, such as `activity: 1`. A value
that is a time, a size or a rate is written with its unit, such as `5 us`, or as
`{value: 5 us, source: where it was measured}`. The keys `low` and `high` beside `value` record an
interval. To compute with a range, set it with `--set 'PATH=4 us..6 us'`, or in a study. These keys
of a file are optional:
"""
_MACHINE_FORMS = """\
A machine has the keys of one of these forms: [processors on a network](#machine-machine),
[processors that share memory](#shared-memory-machine), or a machine in another year, with the keys
`base` (a machine), `year` and `trend`.
"""


def _shared_parts(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the heading of each part that several kinds of files have in the same form."""
    kinds_by_part: dict[tuple[str, str], int] = {}
    for schema in schemas.values():
        for name, part in schema.get("$defs", {}).items():
            key = name, json.dumps(part, sort_keys=True)
            kinds_by_part[key] = kinds_by_part.get(key, 0) + 1
    return {name: _spoken(name) for (name, _), count in kinds_by_part.items() if count > 1}


def _part(part: Mapping[str, Any], heading: str, headings: Mapping[str, str]) -> Iterator[str]:
    """Write a part of a file: its heading, what it is, and its keys."""
    yield f"### {heading}\n"
    yield f"{_cell(part.get('description', ''))}\n"
    yield from _properties(part, headings)


def _properties(
    schema: Mapping[str, Any], headings: Mapping[str, str], version: str = ""
) -> Iterator[str]:
    """Write the properties of an object as a table, without those that every file or every picture
    has.
    """
    properties = schema.get("properties", {})
    is_picture = all(key in properties for key in (*_PICTURE_KEYS, "kind"))
    is_file = all(key in properties for key in _COMMON_KEYS)
    left_out = {*(_PICTURE_KEYS if is_picture else ()), *(_COMMON_KEYS if is_file else ()), version}
    shown = {key: entry for key, entry in properties.items() if key not in left_out}
    yield from _table(shown, schema.get("required", ()), headings)


def _table(
    properties: Mapping[str, Any], required: Collection[str], headings: Mapping[str, str]
) -> Iterator[str]:
    """Write the properties of an object as a table: the key, its type, its meaning."""
    if properties:
        yield "| key | takes | meaning |\n| --- | --- | --- |"
        for key, entry in properties.items():
            star = " (required)" if key in required else ""
            meaning = _cell(entry.get("description", ""))
            yield f"| `{key}`{star} | {_takes(entry, headings)}{_default(entry)} | {meaning} |"
        yield ""


def _default(entry: Mapping[str, Any]) -> str:
    """Return the default of a property in words, where it is one word, number or truth value."""
    default = entry.get("default")
    if isinstance(default, bool):
        return f"; default `{str(default).lower()}`"
    has_default = isinstance(default, str | int | float) and default != "" and "const" not in entry
    return f"; default `{default}`" if has_default else ""


_MOST_LISTED = 8
_UNIONS = {"LinesSpec": "picture", "StationSpec": "resource", "DelaySpec": "step"}
"""What a union of more parts than so many is called, by one of its parts: it is listed once."""


def _unions(kind: str, schema: Any, headings: Mapping[str, str]) -> dict[str, str]:
    """Return the members of each long union in a schema, by the name of the union."""
    if not isinstance(schema, dict | list):
        return {}
    parts = list(schema.values() if isinstance(schema, dict) else schema)
    members_by_union: dict[str, str] = {}
    for part in parts:
        members_by_union |= _unions(kind, part, headings)
        if isinstance(part, list) and len(part) > _MOST_LISTED and (name := _union_name(part)):
            members_by_union[name] = ", ".join(_takes(choice, headings) for choice in part)
    return members_by_union


def _union_name(choices: Collection[Any]) -> str:
    """Return the name of a long union, by the part that it alone has."""
    parts = {
        choice["$ref"].rpartition("/")[2]
        for choice in choices
        if isinstance(choice, dict) and "$ref" in choice
    }
    return next((name for part, name in _UNIONS.items() if part in parts), "")


def _takes(entry: Mapping[str, Any], headings: Mapping[str, str]) -> str:
    """Return the type of a property in words, without the long form of a value, which has its
    source and meaning.
    """
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        return f"[{_spoken(name)}](#{_anchor(headings[name])})"
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{value}`" for value in entry.get("enum", [entry.get("const")]))
    choices = entry.get("anyOf", entry.get("oneOf", ()))
    types = [choice for choice in choices if choice.get("type") != "null"]
    if len(types) > _MOST_LISTED:
        name = _union_name(types)
        return f"[{name}](#{name}-{'study' if name == 'picture' else 'activity'})"
    if types:
        short = [choice for choice in types if "value" not in choice.get("properties", {})]
        words = dict.fromkeys(_takes(choice, headings) for choice in short)
        if "whole number" in words or "number or `5 us`" in words:
            words.pop("number", None)
        return " or ".join(words)
    if entry.get("type") == "array":
        items = _takes(entry.get("items", {}), headings)
        return "list" if items == "any value" else f"list of {items}"
    by_name = [entry.get("additionalProperties"), *entry.get("patternProperties", {}).values()]
    values = [value for value in by_name if isinstance(value, dict)]
    if values:
        return f"by name: {_takes(values[0], headings)}"
    if "description" in entry and "title" not in entry:
        return _example(entry["description"])
    names = entry.get("type", "any value")
    return " or ".join(
        _TYPES.get(name, name) for name in ([names] if isinstance(names, str) else names)
    )


_TYPES = {
    "object": "keys and values",
    "string": "text",
    "boolean": "`true` or `false`",
    "integer": "whole number",
}


def _example(description: str) -> str:
    """Return what the schema says of a quantity, shortened to its example."""
    quantity = re.fullmatch(r"a quantity such as '(.+)'", description)
    if quantity:
        return f"`{quantity[1]}`"
    return _EXAMPLES.get(description, _cell(description))


_EXAMPLES = {
    "a plain number": "number",
    "a quantity such as a number or a quantity such as '5 us'": "number or `5 us`",
}
"""Shorter words for what the schema says of a value."""


def _spoken(name: str) -> str:
    """Return the name of a part of a spec in words: a range of sizes is a RangeSpec."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Spec")).lower()


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as repositories and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _cell(text: str) -> str:
    """Escape a text for a cell of a table, except between back quotes."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else _plain(part) for index, part in enumerate(parts))


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def laws() -> Iterator[str]:
    """Write every law: its formula, symbols with their ranges, conditions, source and note."""
    for law in LAWS.values():
        yield f"## {law.name}\n\n{_cell(law.title)}.\n"
        yield f"```math\n{law.latex}\n```\n"
        yield "| symbol | unit | range | meaning |\n| --- | --- | --- | --- |"
        bounds_by_symbol, relations = _conditions(law)
        for symbol in (law.gives, *law.symbols):
            unit = _cell(str(symbol.dimension))
            range_in_words = _range(bounds_by_symbol.get(symbol.name, {}))
            yield f"| `{symbol.name}` | {unit} | {range_in_words} | {_cell(symbol.meaning)} |"
        yield ""
        yield from _remarks(law, relations)


def _remarks(law: Law, relations: list[str]) -> Iterator[str]:
    if relations:
        yield f"Condition: {' and '.join(relations)}.\n"
    yield f"Source: {_cell(law.source)}.\n"
    if law.note:
        yield f"{_linked(_cell(_sentences(law.note)))}.\n"


_BOUND = re.compile(r"(\w+) (>=|>|<=|<|==) ([\d.]+|\w+|floor\(\w+\))")
_NONZERO_WEIGHT = re.compile(r"poisson\((.+), (\w+)\) > 0")


def _conditions(law: Law) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the bounds of each symbol by their relation, and the other conditions of a law."""
    bounds_by_symbol: dict[str, dict[str, str]] = {}
    relations = []
    for condition in filter(None, law.holds.split(" and ")):
        if bound := _BOUND.fullmatch(condition):
            bounds_by_symbol.setdefault(bound[1], {})[bound[2]] = bound[3]
        elif weight := _NONZERO_WEIGHT.fullmatch(condition):
            relations.append(
                f"the Poisson probability of `{weight[2]}` at the mean `{weight[1]}` is not so"
                " small that it is rounded to 0"
            )
        else:
            relations.append(f"`{condition}`")
    return bounds_by_symbol, relations


def _range(bound_by_relation: Mapping[str, str]) -> str:
    """Return the values that a symbol may have in words, such as ``whole, 1 to 1,000``."""
    bounds = {relation: _bound(text) for relation, text in bound_by_relation.items()}
    words = ["whole"] if bounds.pop("==", "") else []
    if bounds.keys() == {">=", "<="}:
        return ", ".join([*words, f"{bounds['>=']} to {bounds['<=']}"])
    return ", ".join([*words, *(_BOUND_WORDS[name].format(text) for name, text in bounds.items())])


_BOUND_WORDS = {">=": "at least {}", ">": "above {}", "<=": "at most {}", "<": "below {}"}


def _bound(text: str) -> str:
    """Write a bound: a number with marks of thousands, or the name of a symbol."""
    return f"{int(text):,}" if text.isdigit() else f"`{text}`"


def _sentences(note: str) -> str:
    """Write the clauses of a note as sentences of their own, and names of laws as links."""
    sentences = (
        clause if clause.startswith("law/") else clause[:1].upper() + clause[1:]
        for clause in note.split("; ")
    )
    return ". ".join(sentences)


def _linked(text: str) -> str:
    """Write each name of a law in a text as a link to it."""
    return re.sub(r"\blaw/([a-z0-9-]+)", r"[law/\1](#\1)", text)


def commands() -> Iterator[str]:
    """Write what each command prints for ``--help``."""
    import click

    program = click.Context(cli, info_name="slipstick", **cli.context_settings)
    for name, command in sorted(cli.commands.items()):
        with click.Context(command, parent=program, info_name=name) as context:
            yield f"### {name}\n\n```text\n{command.get_help(context)}\n```\n"


def python() -> Iterator[str]:
    """Write every public name: a table of all, then signature and docstring of each."""
    documented = {name: getattr(slipstick, name) for name in PUBLIC}
    yield "| name | summary |\n| --- | --- |"
    for name, item in documented.items():
        summary = _summary(_TEXTS_OF_DATA.get(name) or inspect.getdoc(item) or "")
        yield f"| [`{name}`](#{_anchor(name)}) | {_cell(summary)} |"
    yield ""
    for name, item in documented.items():
        yield f"## {name}\n"
        if inspect.isroutine(item) or inspect.isclass(item):
            yield f"```python\n{name}{_signature(item)}\n```\n"
        yield from _docstring(_TEXTS_OF_DATA.get(name) or inspect.getdoc(item) or "")
        if name in _SHOWN_MEMBERS:
            yield from _members(name, item)


_TEXTS_OF_DATA = {
    "LAWS": """The laws by name.

A law is called with the values of its symbols, in base units. Packages can add laws.

>>> LAWS["amdahl-speedup"](serial=0.1, processors=8)
4.705882352941177
""",
    "PROGRAMS": """The programs by name: models that are built for a machine.

Packages can add programs.

>>> list(PROGRAMS)[:2]
['dvsm/message', 'dvsm/page-fault']
""",
}
_SHOWN_MEMBERS = {
    "Answer": ("equations", "cite", "refusal", "names", "find", "ends", "unit", "units"),
    "Model": ("parameters", "steps", "technologies", "counters"),
    "QueueingNetwork": ("parameters", "class_names", "quantities"),
}
"""The members that people call, of classes that have others for the methods."""


def _summary(text: str) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", first)[0]


def _signature(item: Callable[..., object]) -> str:
    """Write the parameters with their defaults, without types: the docstring has their meaning."""
    shown = []
    for parameter in inspect.signature(item).parameters.values():
        default = parameter.default
        if default is not inspect.Parameter.empty and repr(default).startswith("<"):
            default = ...
        shown.append(parameter.replace(annotation=inspect.Parameter.empty, default=default))
    return str(inspect.Signature(shown)).replace("Ellipsis", "...")


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def _docstring(text: str) -> Iterator[str]:
    """Write a docstring in numpydoc's form as Markdown."""
    opening, *sections = _SECTION.split(text)
    examples: list[str] = []
    yield from _paragraphs(opening, examples)
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        yield f"**{title}**\n"
        entries, _, rest = content.partition("\n\n")
        yield from _entries(entries)
        yield ""
        yield from _paragraphs(rest, examples)
    if examples:
        yield "```python\n" + "\n".join(examples) + "\n```\n"


def _paragraphs(text: str, examples: list[str]) -> Iterator[str]:
    """Write paragraphs, and move the lines of doctests to the examples: results as comments."""
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith(">>>"):
            for line in paragraph.splitlines():
                prompted = line.startswith((">>> ", "... "))
                examples.append(line[4:] if prompted else f"# {line}")
        elif paragraph:
            yield f"{_escaped(paragraph)}\n"


def _entries(text: str) -> Iterator[str]:
    """Write the entries of a section as a list, each with its name and meaning."""
    for line in re.sub(r"\n +", " ", text.strip()).splitlines():
        name, colon, meaning = line.partition(" : ")
        if not colon:
            name, _, meaning = line.partition(" ")
        reference = re.fullmatch(r"see `(\w+)`", meaning)
        if reference and reference[1] in PUBLIC:
            yield f"- `{name}`: see [{reference[1]}](#{_anchor(reference[1])})"
        elif reference:
            yield from _entries_of(reference[1], name.split(", "))
        else:
            yield f"- `{name}`: {_escaped(meaning)}"


def _entries_of(class_name: str, names: Collection[str]) -> Iterator[str]:
    """Write the entries of some parameters of a class that the page does not have."""
    owner = next(
        vars(module)[class_name]
        for module in map(import_module, ("slipstick.model.activity", "slipstick.model.network"))
        if class_name in vars(module)
    )
    section = _SECTION.split(inspect.getdoc(owner) or "")[2].partition("\n\n")[0]
    entry_by_name = {entry.split("`")[1]: entry for entry in _entries(section)}
    for name in names:
        entry = entry_by_name["arrivals" if name == "rate" else name]
        yield entry.replace("- `arrivals`", "- `rate`")


def _members(owner: str, item: type) -> Iterator[str]:
    """List the methods and properties of a class that people call, with their first sentences."""
    yield "**Members**\n"
    for name in _SHOWN_MEMBERS[owner]:
        summary = _summary(inspect.getdoc(inspect.getattr_static(item, name)) or "")
        yield f"- `{owner}.{name}`: {_escaped(summary)}"
    yield ""


def _escaped(text: str) -> str:
    """Write a text of a docstring as Markdown: double back quotes become single ones."""
    return text.replace("``", "`").replace("<", "&lt;")


REFERENCES: Mapping[str, tuple[Callable[[], Iterator[str]], ...]] = {
    "keys.md": (keys,),
    "commands.md": (commands,),
    "laws-reference.md": (laws,),
    "python.md": (python,),
    "methods.md": (constructs_of_activities, constructs_of_networks, errors_of_mean_value),
}
"""By page, what writes each of its references, in order."""
