"""Counts by name or file, checked and read."""

from __future__ import annotations

from slipstick.program.lrc.counts import Counts
from slipstick.schema.kinds.counts import CountsSpec
from slipstick.schema.load import Library
from slipstick.schema.text.nodes import Mark
from slipstick.schema.validate import validate

__all__ = ["load_counts"]


def load_counts(reference: str, mark: Mark, library: Library) -> Counts:
    """Read counts by their name in the catalogue, or from a file.

    Raises
    ------
    SpecError : there are none of that name; everything that is wrong with the file
    """
    tree = library.load("counts", reference, mark, "counts")
    return library.once(id(tree), lambda: validate(CountsSpec, tree).counted(), tree)
