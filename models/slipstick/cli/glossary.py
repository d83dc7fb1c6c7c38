"""The command that explains terms: the glossary of the package documentation, as plain text."""

from __future__ import annotations

import re
import textwrap
from importlib.resources import files

import click

from slipstick.cli.console import DONE
from slipstick.errors import UnknownNameError

_ENTRY = re.compile(r"^- \*\*(?P<term>.+?)\*\*: (?P<text>.+?)(?=^- |^$|\Z)", re.DOTALL | re.MULTILINE)


def entries() -> dict[str, str]:
    """Read the glossary: what each term means."""
    text = (files("slipstick") / "documentation" / "glossary.md").read_text(encoding="utf-8")
    plain = str.maketrans("", "", "*`")
    return {found["term"]: " ".join(found["text"].translate(plain).split()) for found in _ENTRY.finditer(text)}


@click.command()
@click.argument("term", required=False)
def glossary(term: str | None) -> int:
    """Explain the terms that slipstick uses, or those that contain TERM.

    \b
    Examples:
      slipstick glossary
      slipstick glossary residence
    """
    known = entries()
    wanted = {name: text for name, text in known.items() if term is None or term.casefold() in name.casefold()}
    wanted = wanted or {name: text for name, text in known.items() if term and term.casefold() in text.casefold()}
    if not wanted:
        raise UnknownNameError("term in the glossary like", str(term)[:100], list(known))
    for name, text in wanted.items():
        click.echo(textwrap.fill(f"{name}: {text}", 100, subsequent_indent="  "))
    return DONE
