"""Checked names, times and counts: what the builders of `activity` and `system` take."""

from __future__ import annotations

import math
import re

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT, TIME, Dimension
from slipstick.expression.nodes import Expr, Like, Number, Parameter, as_expr, total, walk

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(\[[0-9]+\])?")
"""What names a step, a resource or a component: no spaces, so that it can stand in a path."""


def check_name(name: str) -> None:
    """Insist on a name without spaces that can stand in a path."""
    if len(name) > 64 or not NAME.fullmatch(name):
        raise ModelError(f"{name[:64]!r} cannot be a name: write letters, digits, _ - and dots, starting with a letter")


def check_model_name(name: str) -> None:
    """Insist on a name of a model that can be printed in a line; a file's name is one."""
    if not (name and name.isprintable() and len(name) <= 255):
        raise ModelError(f"{name[:64]!r} cannot name a model: write at most 255 signs that can be printed")


def timed(value: Like, name: str) -> Expr:
    """Take a time: an expression as it is, a number as a parameter of the given name."""
    if not isinstance(value, Expr):
        check_name(name)
        if isinstance(value, str):
            raise ModelError(
                f"the time of {name} is a number of seconds here, such as 9e-3; in a file, write it with its unit; got {value!r}"
            )
        seconds = float(value)
        if not (seconds >= 0 and math.isfinite(seconds)):
            raise ModelError(f"the time of {name} must be at least 0 s, got {seconds!r}")
        # processor[1] becomes processor.1: brackets cannot stand in a path.
        return Parameter(name.replace("[", ".").removesuffix("]"), TIME, seconds)
    for node in walk(value):
        if isinstance(node, Number) and node.dimension.time_power and node.value:
            raise ModelError(
                f"the time of {name} holds a constant of {node}; make it a parameter, so that its share can be told"
            )
    return _of_dimension(value, TIME, f"the time of {name}")


def counted(value: Like, what: str) -> Expr:
    """Take a plain number or an expression for one."""
    return _of_dimension(as_expr(value), COUNT, what)


def _of_dimension(value: Expr, wanted: Dimension, what: str) -> Expr:
    if value == Number(0.0):
        return total((), wanted)
    if value.dimension != wanted:
        raise ModelError(f"{what} must be a [{wanted}], got [{value.dimension}]: {value}")
    return value


def at_least(value: Expr, least: int, what: str) -> None:
    """Refuse a count whose value is known and too small."""
    if isinstance(value, Number | Parameter) and value.value is not None and not value.value >= least:
        raise ModelError(f"{what} must be at least {least}, got {value.value:g}")
