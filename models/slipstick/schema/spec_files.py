"""The interface of the library for readers of parts of specs, which the library calls itself; and
how the kinds of machines are told apart.
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
    """The part of `slipstick.schema.library.Library` that readers use: it finds and reads files,
    each once.
    """

    def measurement_file(self, reference: str, mark: Mark) -> Path:
        """Return the path of a file of measurements that a spec names, from the folder of the
        spec.
        """

    def keep_hash(self, path: Path) -> None:
        """Store the hash of a file that was read."""

    def load(self, spec_kind: str, reference: str, at_mark: Mark, at_path: str) -> Table:
        """Read the spec to which a place in another file refers."""

    def resolve(self, spec_kind: str, tree: Table) -> Table:
        """Replace each reference inside a spec by the spec that it names."""

    def compute_once(
        self, key: Hashable, compute: Callable[[], T], held_object: object = None
    ) -> T:
        """Return the value of `compute` under a key, computed at the first call only."""


ONLY_SHARED = ("interconnect", "cache", "locks", "barriers")
"""The keys that only a machine with shared memory has."""


def is_shared_memory(tree: Node) -> bool:
    """Return whether a machine shares memory, by keys that only such machines have."""
    return (
        isinstance(tree, Table)
        and "network" not in tree.entries
        and not tree.entries.keys().isdisjoint(ONLY_SHARED)
    )
