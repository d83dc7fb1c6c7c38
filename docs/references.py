"""The reference pages, written from schemas, commands, laws and docstrings.

Each function returns the Markdown of one reference; ``tests/pages.py`` puts it into its page of the
documentation, and a test compares the page with it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import slipstick
from slipstick import LAWS
from slipstick.cli.main import cli
from slipstick.law.law import Law
from slipstick.schema.library import KINDS, editor_schema

__all__ = ["PUBLIC", "REFERENCES"]

PUBLIC: list[str] = import_module("slipstick").__all__
"""The public names."""


def keys() -> Iterator[str]:
    """Write the keys of each kind of file, from its JSON Schema."""
    yield "Kinds of files: " + ", ".join(f"[{kind}](#{kind})" for kind in KINDS) + ".\n"
    for kind in KINDS:
        schema = editor_schema(kind)
        yield f"## {kind}\n"
        branches = [_takes(kind, schema[key]) for key in ("then", "else") if key in schema]
        if branches:
            yield f"Such a file has the keys of one of these: {', '.join(branches)}.\n"
        yield from _properties(kind, schema)
        yield from _union(kind, schema)
        for name, part in sorted(schema.get("$defs", {}).items()):
            if part.get("properties"):
                yield f"### {_spoken(name)} ({kind})\n"
                yield f"{_cell(part.get('description', ''))}\n"
                yield from _properties(kind, part)


def _properties(kind: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Write the properties of an object as a table: the key, its type, its meaning."""
    if schema.get("properties"):
        yield "| key | takes | meaning |\n| --- | --- | --- |"
        for key, entry in schema["properties"].items():
            star = " (required)" if key in schema.get("required", ()) else ""
            meaning = _cell(entry.get("description", ""))
            yield f"| `{key}`{star} | {_takes(kind, entry)} | {meaning} |"
        yield ""


_MOST_LISTED = 8
_UNIONS = {"activity": "step", "study": "picture"}
"""What a union of more parts than so many is called, by the kind of file: it is listed once."""


def _union(kind: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Write the members of a long union once, where a file of this kind has one."""
    for part in (schema, *schema.get("$defs", {}).values()):
        for entry in part.get("properties", {}).values():
            choices = entry.get("items", {}).get("oneOf", ())
            if len(choices) > _MOST_LISTED:
                members = ", ".join(_takes(kind, choice) for choice in choices)
                yield f"### {_UNIONS[kind]} ({kind})\n\nOne of: {members}.\n"
                return


def _takes(kind: str, entry: Mapping[str, Any]) -> str:
    """Return the type of a property in words, without the long form of a value, which has its
    source and meaning.
    """
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        return f"[{_spoken(name)}](#{_anchor(f'{_spoken(name)} ({kind})')})"
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{value}`" for value in entry.get("enum", [entry.get("const")]))
    choices = entry.get("anyOf", entry.get("oneOf", ()))
    types = [choice for choice in choices if choice.get("type") != "null"]
    if len(types) > _MOST_LISTED:
        name = _UNIONS[kind]
        return f"[{name}](#{_anchor(f'{name} ({kind})')})"
    if types:
        short = [choice for choice in types if "value" not in choice.get("properties", {})]
        return " or ".join(dict.fromkeys(_takes(kind, choice) for choice in short))
    if entry.get("type") == "array":
        return f"list of {_takes(kind, entry.get('items', {}))}"
    if isinstance(entry.get("additionalProperties"), dict):
        return f"{_takes(kind, entry['additionalProperties'])} by name"
    if "description" in entry and "title" not in entry:
        return _cell(entry["description"])
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


def _spoken(name: str) -> str:
    """Return the name of a part of a spec in words: a range of sizes is a RangeSpec."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Spec")).lower()


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as repositories and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _cell(text: str) -> str:
    """Escape a text for a cell of a table."""
    escaped = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("*", "\\*").replace("_", "\\_")


def laws() -> Iterator[str]:
    """Write every law: its formula, symbols, conditions, source and note."""
    for law in LAWS.values():
        yield f"## {law.name}\n\n{_cell(law.title)}.\n"
        yield f"```math\n{law.latex}\n```\n"
        yield "| symbol | unit | meaning |\n| --- | --- | --- |"
        for symbol in (law.gives, *law.symbols):
            unit = _cell(str(symbol.dimension))
            yield f"| `{symbol.name}` | {unit} | {_cell(symbol.meaning)} |"
        yield ""
        yield from _remarks(law)


def _remarks(law: Law) -> Iterator[str]:
    if law.holds:
        yield f"Condition: {_cell(str(law.holds))}.\n"
    yield f"Source: {_cell(law.source)}.\n"
    if law.note:
        yield f"{_cell(_sentences(law.note))}.\n"


def _sentences(note: str) -> str:
    """Write the clauses of a note as sentences of their own."""
    return ". ".join(clause[:1].upper() + clause[1:] for clause in note.split("; "))


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
        yield f"| [`{name}`](#{_anchor(name)}) | {_cell(_summary(item))} |"
    yield ""
    for name, item in documented.items():
        yield f"## {name}\n"
        if inspect.isroutine(item) or inspect.isclass(item):
            yield f"```python\n{name}{_signature(item)}\n```\n"
        yield from _docstring(inspect.getdoc(item) or "")
        if inspect.isclass(item):
            yield from _members(name, item)


def _summary(item: object) -> str:
    """Return the first sentence of a docstring."""
    first = " ".join((inspect.getdoc(item) or "").partition("\n\n")[0].split())
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
        yield f"- `{name}`: {_escaped(meaning)}"


def _members(owner: str, item: type) -> Iterator[str]:
    """List the public methods and properties of a class with their first sentences."""
    rows = [
        (name, _summary(member))
        for name, member in vars(item).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    ]
    lines = [f"- `{owner}.{name}`: {_escaped(summary)}" for name, summary in rows if summary]
    if lines:
        yield "**Members**\n"
        yield "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Write a text of a docstring as Markdown: double back quotes become single ones."""
    return text.replace("``", "`").replace("<", "&lt;")


REFERENCES: Mapping[str, Callable[[], Iterator[str]]] = {
    "keys.md": keys,
    "commands.md": commands,
    "laws-reference.md": laws,
    "python.md": python,
}
"""The page of each reference, and what writes it."""
