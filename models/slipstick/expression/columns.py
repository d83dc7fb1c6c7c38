"""Columns: numbers at aligned points, by name; one of length 1 holds for all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from slipstick.late import Array, NDArray, np

Values = Mapping[str, "Array | float"]
"""Parameters that differ from the model's own, by name in base units [points]."""

Columns = Mapping[str, Array]

Flags: TypeAlias = "NDArray[np.bool_]"


def at(column: Array | Flags, index: int) -> float:
    """Read a column at one point."""
    return float(column[index if len(column) > 1 else 0])


def at_rows(column: Array | float, rows: NDArray[np.intp]) -> Array | float:
    """Return a column at some points."""
    return column if np.size(column) == 1 else np.asarray(column)[rows]


def only(values: Values, names: Sequence[str] | Mapping[str, object]) -> dict[str, Array | float]:
    """Return the values of the named parameters."""
    return {name: value for name, value in values.items() if name in names}


def count_of(values: Values) -> int:
    """Return the number of points of aligned values; at least 1."""
    return max([1, *(np.size(value) for value in values.values())])
