"""Conditions on the quantities of a model, and their check at many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slipstick.errors import Unmet
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import Dimension, parameters
from slipstick.expression.tape import Tape, selected_values
from slipstick.late import NDArray, dataclass, np


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on the quantities of a model, such as that a program fits its machine.

    Parameters
    ----------
    name : what messages call it
    conditions : all must hold
    text : the conditions as written in the file
    says : the reason for the condition, for messages
    """

    name: str
    conditions: tuple[Comparison, ...]
    text: str
    says: str = ""

    def message(self, sides_in_words: str = "") -> str:
        """Return the message for a requirement that is not met, with its reason and, at a single
        point, the values of both sides of its condition.
        """
        reasons = [reason for reason in (self.says, sides_in_words) if reason]
        cause = "; ".join(reasons) or "the requirement is not met"
        return Unmet(f"{self.name}: {cause} ({self.text})", cause=cause)

    def sides(self, values: Mapping[str, Any]) -> Iterator[tuple[Comparison, list[Any]]]:
        """Yield each condition with the values of its two sides.

        Parameters
        ----------
        values : values of parameters by name; parameters that are not among them have the values of
            the model
        """
        for condition in self.conditions:
            own_values: dict[str, Any] = {
                parameter.name: parameter.value
                for parameter in parameters(condition.left, condition.right)
            }
            tape = Tape([condition.left, condition.right])
            varied_values = selected_values(values, tape.parameters)
            yield condition, tape.run({**own_values, **varied_values})

    def violations(
        self, values: Mapping[str, Any], show: Callable[[float, Dimension], str]
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield, for each condition, a phrase with the values of its two sides at the first point,
        which `show` writes, and a mask of the points at which the condition does not hold. `values`
        are as for `sides`.
        """
        for condition, side_values in self.sides(values):
            left_value, right_value = (float(np.ravel(value)[0]) for value in side_values)
            yield (
                violation_words(condition, left_value, right_value, show),
                ~condition.is_true(*side_values),
            )


def violation_words(
    condition: Comparison,
    left_value: float,
    right_value: float,
    show: Callable[[float, Dimension], str],
) -> str:
    """Return a phrase with the values of both sides of a condition that does not hold."""
    left_text = show(left_value, condition.left.dimension)
    right_text = show(right_value, condition.right.dimension)
    return f"{left_text} is not {_RELATIONS[condition.relation]}{right_text}"


_RELATIONS = {
    "<=": "at most ",
    "<": "below ",
    ">=": "at least ",
    ">": "above ",
    "==": "",
    "!=": "other than ",
}
