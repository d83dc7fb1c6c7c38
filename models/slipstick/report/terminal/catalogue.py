"""The catalogue for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from slipstick.report.words import Notes, ascii_only, plain_table, wrapped

if TYPE_CHECKING:
    from slipstick.schema.describe import Entry

__all__ = ["catalogue_text", "spec_text"]


class Line(Protocol):
    """A line of the catalogue."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


class Shown(Line, Protocol):
    """Everything the catalogue knows of one thing."""

    @property
    def source(self) -> str: ...
    @property
    def entries(self) -> Mapping[str, Entry]: ...
    @property
    def text(self) -> str: ...


def catalogue_text(lines: Sequence[Line]) -> str:
    """List names and titles, a block for each kind."""
    blocks = []
    for kind, group in groupby(lines, key=lambda line: line.kind):
        rows = [[line.name, line.title] for line in group]
        blocks.append(plain_table([kind, "title"], rows))
    return ascii_only("\n\n".join(blocks))


def spec_text(shown: Shown) -> str:
    """Show one spec: its values with path, unit, meaning and source, then what else there is to read."""
    sources = Notes()
    rows = [_row(path, entry, sources) for path, entry in shown.entries.items()]
    parts = [wrapped(f"{shown.kind}/{shown.name}: {shown.title}" if shown.title else f"{shown.kind}/{shown.name}")]
    if shown.source:
        parts.append(wrapped(f"source: {shown.source}"))
    if rows:
        parts.append(plain_table(["path", "value", "meaning", "source"], rows))
    listed = "\n".join(wrapped(f"[{number}] {text}", "    ") for number, text in sources.listed.items())
    return ascii_only("\n\n".join(part for part in (*parts, listed, shown.text) if part))


def _row(path: str, entry: Entry, sources: Notes) -> list[str]:
    given = entry.given
    value = given.text if given.text else str(given)
    mark = f"[{sources.number(entry.source)}]" if entry.source else ""
    return [path, value, entry.meaning, f"{mark} assumed" if given.assumed else mark]
