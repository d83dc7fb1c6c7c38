"""Files of specs as trees: what a reader of a part asks of the library, which calls that reader
itself, and the kind of a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Protocol, TypeVar

from slipstick.schema.text import (
    Mark,
    Node,
    Table,
)

T = TypeVar("T")


class SpecFiles(Protocol):
    """Finds and reads files, each once, as `slipstick.schema.library.Library` does."""

    def beside(self, reference: str, mark: Mark) -> Path:
        """Return the path of a file of measurements that a spec names."""

    def keep_hash(self, path: Path) -> None:
        """Keep the hash of a file that was read."""

    def load(self, kind: str, reference: str, at_mark: Mark, at_path: str) -> Table:
        """Read a spec by a reference that stands at a place in another file."""

    def resolve(self, kind: str, tree: Table) -> Table:
        """Follow the references inside a spec."""

    def once(self, key: Hashable, make: Callable[[], T], kept: object = None) -> T:
        """Return the value under a key; `make` computes it the first time, and it is kept."""


ONLY_SHARED = ("interconnect", "cache", "locks", "barriers")
"""The keys that only a machine with shared memory has."""


def is_shared_memory(tree: Node) -> bool:
    """Distinguish a machine with shared memory from one on a network by keys of its own."""
    return (
        isinstance(tree, Table)
        and "network" not in tree.entries
        and not tree.entries.keys().isdisjoint(ONLY_SHARED)
    )
