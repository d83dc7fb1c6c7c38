"""Conditions: comparisons of expressions, all of which must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Like, as_expr, one_dimension

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slipstick.expression.kernels import Array


RELATIONS = {"<=": "less_equal", ">=": "greater_equal", "<": "less", ">": "greater", "==": "equal", "!=": "not_equal"}
"""Relations, and what NumPy calls them."""

_WORST = {"<=": "maximum", "<": "maximum", ">=": "minimum", ">": "minimum"}


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

        from slipstick.expression.tape import Tape

        tape = Tape([self.left, self.right])
        left, right = tape.run({name: value for name, value in values.items() if name in tape.parameters})
        return self.between(left, right)

    def everywhere(self, left: Array, right: Array) -> bool:
        """Say whether the condition holds at all points, given the values of the two sides [points]."""
        if len(right) == 1 and self.relation in _WORST:
            import numpy as np

            # The worst point decides; finding it writes nothing. NaN is worse than any number.
            left = getattr(np, _WORST[self.relation]).reduce(left, keepdims=True)
        return bool(self.between(left, right).all())

    def between(self, left: Array, right: Array) -> NDArray[np.bool_]:
        """Say at which points the condition holds, given the values of the two sides [points]."""
        import numpy as np

        held: NDArray[np.bool_] = getattr(np, RELATIONS[self.relation])(left, right)
        # NaN fails every condition, also the one of being different.
        return held & ~(np.isnan(left) | np.isnan(right)) if self.relation == "!=" else held


def compare(left: Like, relation: str, right: Like) -> Comparison:
    """Make a comparison; raises ModelError unless both sides are of one dimension."""
    a, b = as_expr(left), as_expr(right)
    if relation not in RELATIONS:
        raise ModelError(f"there is no relation {relation!r}; write one of {' '.join(RELATIONS)}")
    one_dimension("compare", (a, b))
    return Comparison(a, relation, b)
