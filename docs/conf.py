"""How Sphinx builds these pages; `make docs` runs it. References are made from schemas, laws and
commands, never written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from slipstick import LAWS, __version__
from slipstick.cli.main import cli
from slipstick.law.law import Law
from slipstick.schema.library import KINDS, editor_schema

project = "slipstick"
version = release = __version__
html_title = "slipstick"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_show_copyright = html_show_sourcelink = False
myst_heading_anchors = 2
autodoc_typehints = "none"  # the text of a parameter says what it is; the signature has the type
autodoc_member_order = "bysource"
suppress_warnings = [
    "ref.python"
]  # words of a parameter list that are also names, such as times, link to one of them


class Generated(SphinxDirective):
    """A directive whose content is Markdown that the program writes."""

    def run(self) -> list[nodes.Node]:
        """Read what `markdown` writes as if it stood in the page."""
        return self.parse_text_to_nodes("\n".join(self.markdown()), allow_section_headings=True)

    def markdown(self) -> Iterator[str]:
        """Write the lines of the content."""
        raise NotImplementedError


class KeysDirective(Generated):
    """The keys of each kind of spec, from its JSON Schema."""

    def markdown(self) -> Iterator[str]:
        for kind in KINDS:
            schema = editor_schema(kind)
            yield f"## {kind}\n"
            yield from _table(kind, schema)
            for name, each in sorted(schema.get("$defs", {}).items()):
                if each.get("properties"):
                    yield (
                        f"({kind}-{name})=\n### {_spoken(name)}"
                        f" ({kind})\n\n{_cell(each.get('description', ''))}\n"
                    )
                    yield from _table(kind, each)


def _table(kind: str, schema: dict[str, Any]) -> Iterator[str]:
    """Lay the properties of an object out: its key, what it takes, what it means."""
    if schema.get("properties"):
        yield "| key | takes | meaning |\n| --- | --- | --- |"
        for key, each in schema["properties"].items():
            star = " (required)" if key in schema.get("required", ()) else ""
            yield f"| `{key}`{star} | {_takes(kind, each)} | {_cell(each.get('description', ''))} |"
        yield ""


def _takes(kind: str, each: dict[str, Any]) -> str:
    """Say what a property takes; the long form of a value, with its source and meaning, is left
    out.
    """
    if "$ref" in each:
        name = each["$ref"].rpartition("/")[2]
        return f"[{_spoken(name)}](#{kind}-{name})"
    if "enum" in each or "const" in each:
        return ", ".join(f"`{value}`" for value in each.get("enum", [each.get("const")]))
    either = [one for one in each.get("anyOf", each.get("oneOf", ())) if one.get("type") != "null"]
    if either:
        short = [one for one in either if "value" not in one.get("properties", {})]
        return " or ".join(dict.fromkeys(_takes(kind, one) for one in short))
    if each.get("type") == "array":
        return f"list of {_takes(kind, each.get('items', {}))}"
    if isinstance(each.get("additionalProperties"), dict):
        return f"{_takes(kind, each['additionalProperties'])} by name"
    if "description" in each and "title" not in each:
        return _cell(each["description"])
    kinds = each.get("type", "any value")
    return " or ".join(
        _WORDS.get(one, one) for one in ([kinds] if isinstance(kinds, str) else kinds)
    )


_WORDS = {
    "object": "keys and values",
    "string": "text",
    "boolean": "`true` or `false`",
    "integer": "whole number",
}


def _spoken(name: str) -> str:
    """Name a part of a spec in words: a range of sizes is a RangeSpec."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Spec")).lower()


def _cell(text: str) -> str:
    return (
        " ".join(text.split())
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
        .replace("_", "\\_")
    )


class LawsDirective(Generated):
    """Every law: its formula, symbols, conditions, source and note."""

    def markdown(self) -> Iterator[str]:
        for law in LAWS.values():
            yield f"## {law.name}\n\n{_cell(law.title)}.\n"
            yield f"```{{raw}} html\n{_mathml(law)}\n```\n"
            yield "| symbol | unit | meaning |\n| --- | --- | --- |"
            for symbol in (law.gives, *law.symbols):
                yield (
                    f"| `{symbol.name}` | {_cell(str(symbol.dimension))} |"
                    f" {_cell(symbol.meaning)} |"
                )
            yield f"\nHolds for {_cell(str(law.holds))}.\n" if law.holds else ""
            yield f"Source: {_cell(law.source)}.\n\n{_cell(law.note or '')}\n"


def _mathml(law: Law) -> str:
    """Write the equation for browsers, which lay MathML out by themselves."""
    return str(latex2mathml.tex2mathml(law.latex, as_block=True))


class CommandsDirective(Generated):
    """What each command prints for `--help`."""

    def markdown(self) -> Iterator[str]:
        import click

        for name, command in sorted(cli.commands.items()):
            with click.Context(
                command, info_name=f"slipstick {name}", max_content_width=100
            ) as context:
                yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"


def setup(app: Sphinx) -> None:
    """Register the directives of the generated references."""
    for name, directive in {
        "spec-keys": KeysDirective,
        "laws": LawsDirective,
        "commands": CommandsDirective,
    }.items():
        app.add_directive(name, directive)
