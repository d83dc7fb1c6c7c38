"""Programs: declared inputs, and the function that builds a model from them on a machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from slipstick.arguments import LARGEST, checked, plain_number, value_in_message
from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import Dimension, Expr, Number, Parameter
from slipstick.late import dataclass, field, replace
from slipstick.model.machine import Machine, SharedMemory
from slipstick.model.system import Model


class ProgramData(ABC):
    """Base of the data, such as counts of operations, that a program reads from files."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the data as the mapping that a file of such data holds."""

    @abstractmethod
    def notes(self, name: str, machine: Mapping[str, Parameter]) -> Iterator[str]:
        """Yield a note on each quantity in which a machine differs from the machine on which the
        data were measured.
        """


InputValue = Expr | tuple[Expr, ...] | str | ProgramData
InputValues = Mapping[str, InputValue]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a program.

    Parameters
    ----------
    name : in workloads and on the command line
    dimension : of its values
    meaning : in words
    default : in base units, or the path of a spec from which it is read (``machine.memory.page``);
        None for a list that may be omitted
    least : smallest value allowed, in base units
    most : largest value allowed, in base units, if any
    whole : a count, so a whole number
    many : a list with one value for each part
    options : the words of which it is one; then it is not a quantity
    named : ``locks`` or ``barriers``, if the value is the name of one of the machine's locks or
        barriers; empty for a quantity
    data : the kind of spec that it is read from, such as counts, always to be given; then it is not
        a quantity
    shapes : whether its value may change the structure of the model; false for an input from which
        only times are computed
    """

    name: str
    dimension: Dimension
    meaning: str
    default: float | str | None = 0.0
    least: float = 0.0
    most: float | None = None
    whole: bool = False
    many: bool = False
    options: tuple[str, ...] = ()
    named: str = ""
    data: str = ""
    shapes: bool = True

    @property
    def is_word(self) -> bool:
        """Return whether the value of the input is a word and not a quantity."""
        return bool(self.named or self.options)


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its inputs, and the function that builds its model on a machine.

    Parameters
    ----------
    name : in the catalogue
    title : one line
    source : where the mechanism is described
    inputs : beside the machine
    build : the model, from a machine and inputs
    machine : the kind of machine on which it runs
    sample : builds a small model with one operation of each kind, for a model that is large or
        whose operations are counted by running the program. Inputs are checked by the sample, which
        can be built wherever the model can; by default the model itself
    """

    name: str
    title: str
    source: str
    inputs: tuple[Input, ...]
    build: Callable[[Any, InputValues], Model]
    machine: type[Machine | SharedMemory] = Machine
    sample: Callable[[Any, InputValues], Model] | None = None

    @checked()
    def on(self, machine: Machine | SharedMemory, **values: InputValue | float) -> Model:
        """Build the model on a machine from the values of inputs; inputs that are not given take
        their defaults.

        Parameters
        ----------
        machine : as `slipstick.load` gives it
        values : inputs by name; numbers are in base units and become parameters

        Raises
        ------
        ModelError : an input is unknown, or its value is not allowed
        """
        return self._build_model(machine, self.inputs_on(machine, **values))

    def _build_model(self, machine: Machine | SharedMemory, inputs: InputValues) -> Model:
        """Build the model, and add what an import of the machine left out to the losses of the
        model.
        """
        built_model = self.build(machine, inputs)
        loss_by_name = dict(machine.left_out) if isinstance(machine, Machine) else {}
        # What the import of a machine left out applies to each model on it.
        return (
            replace(built_model, left_out={**loss_by_name, **built_model.left_out})
            if loss_by_name
            else built_model
        )

    def builders(
        self, machine: Machine | SharedMemory, **values: InputValue | float
    ) -> tuple[Callable[[], Model], Callable[[], Model] | None]:
        """Return two functions: one that builds the model on a machine, and one that builds a
        sample of a large model. The second is None for a small model; see `on`.
        """
        inputs = self.inputs_on(machine, **values)
        return partial(self._build_model, machine, inputs), self.sample and partial(
            self.sample, machine, inputs
        )

    def inputs_on(
        self, machine: Machine | SharedMemory, **values: InputValue | float
    ) -> InputValues:
        """Return the values of all inputs for a machine: the given values, checked, and the
        defaults of all other inputs; see `on`.
        """
        if not isinstance(machine, self.machine):
            machine_kind = (
                "a machine" if self.machine is Machine else "a machine with shared memory"
            )
            machine_in_words = (
                machine.name
                if isinstance(machine, Machine | SharedMemory)
                else value_in_message(machine)
            )
            raise ModelError(
                f"{self.name} runs on {machine_kind}, as load('machine/...') gives it; got"
                f" {machine_in_words}"
            )
        input_by_name = {program_input.name: program_input for program_input in self.inputs}
        for name in values:
            if name not in input_by_name:
                raise ModelError(
                    f"{self.name} has no input {name!r}{did_you_mean(name, list(input_by_name))}"
                )
        checked_values = {
            name: checked_input(input_by_name[name], value) for name, value in values.items()
        }
        if missing_data := [
            program_input
            for program_input in self.inputs
            if program_input.data and program_input.name not in checked_values
        ]:
            raise ModelError(
                f"{self.name} needs {missing_data[0].name}: {missing_data[0].data} of a program,"
                " derived or measured"
            )
        defaulted_inputs = [
            program_input
            for program_input in self.inputs
            if program_input.name not in checked_values and program_input.default is not None
        ]
        return {
            **{
                program_input.name: _default_value(program_input, machine)
                for program_input in defaulted_inputs
            },
            **checked_values,
        }


@dataclass(frozen=True, slots=True)
class CountedProgram(Program):
    """A program whose operations can be counted by running it.

    Parameters
    ----------
    count : function that runs the program and returns its counts, a `ProgramData`; its arguments
        are the parameters that differ from their defaults
    """

    count: Callable[..., Any] = field(kw_only=True)


def value_of(inputs: InputValues, name: str) -> Expr:
    """Return the expression of an input that has a single value."""
    value = inputs[name]
    if not isinstance(value, Expr):
        assert isinstance(value, tuple | str)
        raise ModelError(f"{name} must be one value, not a list of {len(value)}")
    return value


def number(inputs: InputValues, name: str) -> float:
    """Return the number of an input that determines the structure of the model; raise ModelError
    for a formula, because its number is known only when points are solved.
    """
    return structural_number(value_of(inputs, name), name)


def structural_number(value: Expr, name: str) -> float:
    """Return the number of a quantity that determines the structure of the model.

    Raises
    ------
    ModelError : it is a formula, or has no value
    """
    if isinstance(value, Number | Parameter) and value.value is not None:
        return value.value
    raise ModelError(f"{name} shapes the model: write a number, not {value}")


def word(inputs: InputValues, name: str) -> str:
    """Return the value of an input that is a word and not a quantity."""
    value = inputs[name]
    assert isinstance(value, str)
    return value


def _default_value(program_input: Input, machine: Machine | SharedMemory) -> InputValue:
    """Return the default value of an input, which may be read from the machine."""
    if isinstance(program_input.default, str):
        value: InputValue = (
            program_input.default
            if program_input.is_word
            else getattr(machine, _ATTRIBUTE_BY_PATH[program_input.default])
        )
        return value
    assert program_input.default is not None
    return Parameter(program_input.name, program_input.dimension, program_input.default)


_ATTRIBUTE_BY_PATH = {
    "machine.memory.page": "page",
    "machine.processors.count": "processors",
    "machine.processors.step": "step",
}
"""Attribute of a machine that holds the value of a path."""


def checked_input(program_input: Input, value: InputValue | float) -> InputValue:
    """Return the value of an input if it is allowed; a number becomes a parameter.

    Raises
    ------
    ModelError : it is not allowed
    """
    if program_input.is_word:
        return _checked_word(program_input, value)
    if bool(program_input.data) != isinstance(value, ProgramData):
        raise ModelError(
            f"{program_input.name} takes {program_input.data or 'a quantity'}, got {value!r:.80}"
        )
    if isinstance(value, ProgramData):
        return value
    if program_input.many and not (isinstance(value, tuple) and value):
        raise ModelError(f"{program_input.name} must be a list of values, one for each part")
    if isinstance(value, str):
        raise ModelError(f"{program_input.name} is a quantity, not a word; got {value!r}")
    if isinstance(value, Expr | tuple):
        return value
    plain_value = plain_number(value)
    if plain_value is None or not -LARGEST <= plain_value <= LARGEST:
        raise ModelError(
            f"{program_input.name} must be a finite number in base units or an expression, got"
            f" {value_in_message(value)}"
        )
    # So written, NaN is refused too.
    if not plain_value >= program_input.least or (
        program_input.most is not None and plain_value > program_input.most
    ):
        upper_limit = "" if program_input.most is None else f" and at most {program_input.most:g}"
        raise ModelError(
            f"{program_input.name} must be at least {program_input.least:g}{upper_limit}"
            f" [{program_input.dimension}], got {plain_value:g}"
        )
    if program_input.whole and not float(plain_value).is_integer():
        raise ModelError(f"{program_input.name} must be a whole number, got {plain_value:g}")
    return Parameter(program_input.name, program_input.dimension, float(plain_value))


def _checked_word(program_input: Input, value: InputValue | float) -> str:
    """Return a value that is one of the words that an input allows; raise for other values."""
    if not isinstance(value, str):
        choices_text = (
            ", ".join(program_input.options)
            if program_input.options
            else f"the machine's {program_input.named}, or none"
        )
        raise ModelError(f"{program_input.name} is a word, one of {choices_text}; got {value!r}")
    if program_input.options and value not in program_input.options:
        raise ModelError(
            f"{program_input.name} cannot be {value!r}{did_you_mean(value, program_input.options)}"
        )
    return value
