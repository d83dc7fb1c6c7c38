"""Axes of the values that a question varies."""

from __future__ import annotations

from collections.abc import Sequence

from slipstick.results.sweep import Axis
from slipstick.schema.inputs import REFERENCES, Inputs, is_solver_option
from slipstick.schema.text import Node
from slipstick.study.cases import numbers_of
from slipstick.study.sweep import read_axis


def axis_of(path: str, nodes: Sequence[Node], inputs: Inputs) -> Axis:
    """Check the values of one axis at their place and return the axis; numbers that determine the
    structure of a model, such as permits, stay numbers.

    Raises
    ------
    SpecError : a value is not allowed, or the path does not exist
    """
    axis = read_axis(path, nodes, inputs)
    if (
        axis.has_names
        and not (path in REFERENCES or is_solver_option(path))
        and (numbers := numbers_of(nodes))
    ):
        return Axis(axis.path, "1", tuple(numbers))
    return axis
