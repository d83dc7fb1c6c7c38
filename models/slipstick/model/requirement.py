"""Conditions on the quantities of a model, and their check at many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import Dimension, parameters
from slipstick.expression.tape import Tape
from slipstick.late import NDArray, np


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
        return f"{self.name}: {'; '.join(reasons) or 'the requirement is not met'} ({self.text})"

    def violations(
        self, values: Mapping[str, Any], show: Callable[[float, Dimension], str]
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield, for each condition, a phrase with the values of its two sides at the first point,
        and a mask of the points at which the condition does not hold.

        Parameters
        ----------
        values : values of parameters by name; parameters that are not among them have the values of
            the model
        show : function that writes a quantity as text
        """
        for condition in self.conditions:
            own_values: dict[str, Any] = {
                parameter.name: parameter.value
                for parameter in parameters(condition.left, condition.right)
            }
            tape = Tape([condition.left, condition.right])
            varied_values = {
                name: value for name, value in values.items() if name in tape.parameters
            }
            side_values = tape.run({**own_values, **varied_values})
            left_text, right_text = (
                show(float(np.ravel(value)[0]), side.dimension)
                for value, side in zip(side_values, (condition.left, condition.right), strict=True)
            )
            sides_in_words = f"{left_text} is not {_RELATIONS[condition.relation]}{right_text}"
            yield sides_in_words, ~condition.is_true(*side_values)


_RELATIONS = {
    "<=": "at most ",
    "<": "below ",
    ">=": "at least ",
    ">": "above ",
    "==": "",
    "!=": "other than ",
}
