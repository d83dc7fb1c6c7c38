"""Conditions: comparisons of expressions, all of which must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Expr, Like, as_expr
from slipstick.expression.tape import Tape

__all__ = ["RELATIONS", "Comparison", "compare"]

# NaN fails every one of them, as a condition should.
RELATIONS: dict[str, Callable[[Array, Array], NDArray[np.bool_]]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "==": np.equal,
    "!=": lambda a, b: (a < b) | (a > b),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left` relation `right`, of one dimension.

    >>> compare(3, "<=", 4).holds({}).tolist()
    [True]
    """

    left: Expr
    relation: str
    right: Expr

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, values: Mapping[str, Array | float]) -> NDArray[np.bool_]:
        """Say at which points the condition holds; names it does not use are passed over [points]."""
        tape = Tape([self.left, self.right])
        left, right = tape.run({name: value for name, value in values.items() if name in tape.parameters})
        return RELATIONS[self.relation](left, right)


def compare(left: Like, relation: str, right: Like) -> Comparison:
    """Make a comparison; raises ModelError unless both sides are of one dimension."""
    a, b = as_expr(left), as_expr(right)
    if relation not in RELATIONS:
        raise ModelError(f"there is no relation {relation!r}; write one of {' '.join(RELATIONS)}")
    # A difference of the two sides exists only if they are of one dimension.
    _ = a - b
    return Comparison(a, relation, b)
