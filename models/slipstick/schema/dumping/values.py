"""Expressions as the values of a file: in their place, or as formulas over its ``parameters``."""

from __future__ import annotations

from dataclasses import replace

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Number, Parameter, parameters, substitute
from slipstick.expression.text import number_text

__all__ = ["WrittenValues", "plain_name"]

SECTION = "parameters."
PLACES = ("cycle", "groups", "population", "phases", "resources", "classes", "chains", "stations", "routing")


class WrittenValues:
    """Writes the quantities of one model.

    Attributes
    ----------
    parameters : the named quantities that were met so far, as a file has them
    """

    def __init__(self) -> None:
        self.parameters: dict[str, str | float] = {}
        self._sources: dict[str, str] = {}

    def written(self, value: Expr) -> str | float:
        """Write a number, a quantity in its place, or a formula over named parameters."""
        if isinstance(value, Number):
            return _quantity(value, value.value)
        if isinstance(value, Parameter) and _stands_here(value.name):
            return _quantity(value, _known(value))
        renamed = {each.name: replace(each, name=self._named(each)) for each in parameters(value)}
        return repr(substitute(value, renamed))

    def _named(self, parameter: Parameter) -> str:
        """Enter a parameter under a name that can stand in arithmetic."""
        name = plain_name(parameter.name.removeprefix(SECTION)).replace("-", "_")
        self.parameters[name] = _quantity(parameter, _known(parameter))
        if self._sources.setdefault(name, parameter.name) != parameter.name:
            raise ModelError(
                f"parameters {self._sources[name]} and {parameter.name} would have one name in a file: {name}"
            )
        return name


def plain_name(name: str) -> str:
    """Write a name without the dots that a path would take for steps down."""
    return name.replace(".", "_")


def _stands_here(name: str) -> bool:
    """Say whether a parameter is named after a place of the file rather than by its author."""
    return name.split(".")[0] in PLACES


def _known(parameter: Parameter) -> float:
    if parameter.value is None:
        raise ModelError(f"parameter {parameter.name} has no value; a file needs one")
    return parameter.value


def _quantity(value: Expr, number: float) -> str | float:
    if value.dimension == COUNT:
        return int(number) if number == int(number) and abs(number) < 1e15 else number
    return f"{number_text(number)} {value.dimension}"
