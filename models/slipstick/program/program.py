"""What a program declares: its inputs and how a model is built from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.model.machine import Machine
from slipstick.model.system import Model

__all__ = ["Given", "Input", "Inputs", "Program", "number", "one"]

Given = Expr | tuple[Expr, ...]
Inputs = Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a program.

    Parameters
    ----------
    name : in workloads and on the command line
    dimension : what it counts
    meaning : in words
    default : in base units, or the spec path it is read from (``machine.memory.page``); None for a list
        that may be left out
    least : smallest value allowed, in base units
    most : largest value allowed, in base units, if any
    whole : a count, so a whole number
    many : a list with one value for each part
    """

    name: str
    dimension: Dimension
    meaning: str
    default: float | str | None = 0.0
    least: float = 0.0
    most: float | None = None
    whole: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A named recipe for models.

    Parameters
    ----------
    name : in the catalogue
    title : one line
    source : where the mechanism is described
    inputs : what it needs beside a machine
    build : from a machine and inputs, the model
    """

    name: str
    title: str
    source: str
    inputs: tuple[Input, ...]
    build: Callable[[Machine, Inputs], Model]

    def on(self, machine: Machine, **given: Expr | float | tuple[Expr, ...]) -> Model:
        """Build the model on a machine; inputs not given take their defaults.

        Parameters
        ----------
        machine : as `slipstick.load` gives it
        given : inputs by name; numbers are in base units and become parameters

        Raises
        ------
        ModelError : there is no such input, or its value is not allowed
        """
        return self.build(machine, self.inputs_on(machine, **given))

    def inputs_on(self, machine: Machine, **given: Expr | float | tuple[Expr, ...]) -> Inputs:
        """Give all inputs, checked: those given, and the defaults of the others; see `on`."""
        if not isinstance(machine, Machine):
            raise ModelError(f"{self.name} runs on a machine, as load('machine/...') gives it; got {machine!r}")
        known = {each.name: each for each in self.inputs}
        for name in given:
            if name not in known:
                raise ModelError(f"{self.name} has no input {name!r}{did_you_mean(name, list(known))}")
        made = {name: _as_given(known[name], value) for name, value in given.items()}
        return {**self._defaults(machine, made), **made}

    def _defaults(self, machine: Machine, made: Inputs) -> dict[str, Given]:
        missing = [each for each in self.inputs if each.name not in made and each.default is not None]
        return {each.name: _default(each, machine) for each in missing}


def one(inputs: Inputs, name: str) -> Expr:
    """Give an input that is one value."""
    value = inputs[name]
    if not isinstance(value, Expr):
        raise ModelError(f"{name} must be one value, not a list of {len(value)}")
    return value


def number(inputs: Inputs, name: str) -> float:
    """Give an input that shapes the model, and so must be a plain number."""
    value = one(inputs, name)
    if not isinstance(value, Number | Parameter) or value.value is None:
        raise ModelError(f"{name} shapes the model: write a number, not {value}")
    return value.value


def _default(each: Input, machine: Machine) -> Given:
    if isinstance(each.default, str):
        return {"machine.memory.page": machine.page, "machine.processors.count": machine.processors}[each.default]
    return Parameter(each.name, each.dimension, each.default)


def _as_given(each: Input, value: Given | float) -> Given:
    if each.many and not (isinstance(value, tuple) and value):
        raise ModelError(f"{each.name} must be a list of values, one for each part")
    if isinstance(value, Expr | tuple):
        return value
    if not value >= each.least or (each.most is not None and value > each.most):
        upper = "" if each.most is None else f" and at most {each.most:g}"
        raise ModelError(f"{each.name} must be at least {each.least:g}{upper} [{each.dimension}], got {value:g}")
    if each.whole and not float(value).is_integer():
        raise ModelError(f"{each.name} must be a whole number, got {value:g}")
    return Parameter(each.name, each.dimension, float(value))
