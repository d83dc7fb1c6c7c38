"""Trees turned into a list of instructions, run over whole arrays in cache-sized chunks.

Equal subtrees are computed once. What does not depend on a varied parameter is computed once for
all points; the rest goes chunk by chunk through a few reused buffers, so that intermediate results
stay in the cache. No text is generated and nothing is evaluated as code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from slipstick.errors import ModelError
from slipstick.expression.nodes import (
    Booked,
    Expr,
    Number,
    Operation,
    Parameter,
    operands,
    parameters_among,
    walk,
)
from slipstick.expression.operators import OPERATORS
from slipstick.late import Array, NDArray, dataclass, np

CHUNK = 16_384
"""Number of points in a chunk: 128 KiB a buffer, so a score of buffers fit a second-level cache;
see benchmarks/closed_form.py.
"""

_GRADIENT_CHUNK = CHUNK // 4
"""Number of points in a chunk when derivatives are computed, where every register is kept for the
way back.
"""

Values = Mapping[str, "Array | float"]
"""Values of parameters that replace the model's own values, by name in base units [points]."""

Columns = Mapping[str, Array]

Flags: TypeAlias = "NDArray[np.bool_]"


def entry_at(column: Array | Flags, index: int) -> float:
    """Return the value of a column at one point."""
    return float(column[index if len(column) > 1 else 0])


def entries_at_rows(column: Array | float, point_indexes: NDArray[np.intp]) -> Array | float:
    """Return the values of a column at some points."""
    return column if np.size(column) == 1 else np.asarray(column)[point_indexes]


def selected_values(
    values: Values, names: Collection[str] | Mapping[str, object]
) -> dict[str, Array | float]:
    """Return those of some values whose names are among the given names."""
    return {name: value for name, value in values.items() if name in names}


def count_of_points(values: Values) -> int:
    """Return the number of points of aligned values; at least 1."""
    return max([1, *(np.size(value) for value in values.values())])


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a tape: it applies an operator to the registers `input_registers`, given by
    their numbers, and writes the result into the register number `output_register`.
    """

    operator: str
    output_register: int
    input_registers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Values and derivatives of one output at a set of points.

    Parameters
    ----------
    value : the output [points]
    derivative_by_parameter : derivative by each parameter [points]
    contribution_by_label : contribution of each labelled part to the output, by label: the value of
        the part times the derivative of the output by it [points]
    value_by_label : value of each labelled part, by label [points]
    input_by_name : the parameters' own values [points]
    """

    value: Array
    derivative_by_parameter: Mapping[str, Array]
    contribution_by_label: Mapping[str, Array]
    value_by_label: Mapping[str, Array]
    input_by_name: Mapping[str, Array]


class Tape:
    """Expressions compiled for evaluation.

    Parameters
    ----------
    outputs : the expressions to evaluate together

    Raises
    ------
    ModelError : one parameter name stands for two quantities

    >>> x = Parameter("x", value=3.0)
    >>> [float(y[0]) for y in Tape([x + 1, x * x]).run({})]
    [4.0, 9.0]
    """

    def __init__(self, outputs: Sequence[Expr]) -> None:
        nodes = [*walk(*outputs)]
        self.parameters: dict[str, Parameter] = {
            parameter.name: parameter for parameter in parameters_among(nodes)
        }
        self._constant_by_register: dict[int, float] = {}
        self._name_by_register: dict[int, str] = {}
        self._label_by_register: dict[int, str] = {}
        self._instructions: list[Instruction] = []
        self._register_by_key: dict[tuple[str, object, tuple[int, ...]], int] = {}
        register_by_node: dict[int, int] = {}
        for node in nodes:
            register_by_node[id(node)] = self._register_of(node, register_by_node)
        self._output_registers = [register_by_node[id(output)] for output in outputs]
        # Trees are kept so that no id above is reused while this object lives.
        self._trees = tuple(outputs)

    def run(self, values: Values) -> list[Array]:
        """Evaluate the outputs; arrays in `values` are aligned points, numbers hold for all.

        Returns
        -------
        one float64 array per output, of length 1 if nothing varies [points]

        Raises
        ------
        ModelError : a name is unknown, a value is missing, or array lengths differ
        """
        return self._evaluate(values)

    def columns(self, names: Iterable[Any], values: Values) -> dict[Any, Array]:
        """Evaluate the outputs as columns of the same points, by their names in order [points]."""
        columns = self.run(values)
        point_count = max([1, *(np.size(value) for value in values.values()), *map(len, columns)])
        return {
            name: np.broadcast_to(column, (point_count,))
            for name, column in zip(names, columns, strict=True)
        }

    def listing(self) -> dict[str, Any]:
        """Return the tape as plain data for a page that runs it: the content of each register, the
        instructions in order, the outputs.
        """
        return {
            "size": len(self._register_by_key),
            "numbers": list(self._constant_by_register.items()),
            "inputs": list(self._name_by_register.items()),
            "labels": list(self._label_by_register.items()),
            "code": [
                [instruction.operator, instruction.output_register, *instruction.input_registers]
                for instruction in self._instructions
            ],
            "outputs": list(self._output_registers),
        }

    def run_with(self, values: Values, watch: Callable[[Sequence[Array]], object]) -> Array:
        """Evaluate the first output; pass the other outputs to `watch` chunk by chunk without
        storing them.

        Parameters
        ----------
        values : as for `run`
        watch : takes the other outputs at some of the points, or one value that holds for all of
            these

        Returns
        -------
        float64, of length 1 if nothing varies [points]
        """
        return self._evaluate(values, watch)[0]

    def _evaluate(
        self, values: Values, watch: Callable[[Sequence[Array]], object] | None = None
    ) -> list[Array]:
        """Evaluate all outputs; with a `watch` function, all but the first are passed to it in
        chunks.
        """
        input_registers = self._inputs_as_arrays(values)
        point_count = _point_count(input_registers)
        varying_registers = self._varying_registers(input_registers)
        registers = dict(input_registers)
        # Points may lie outside of the domain: their results are NaN or infinite, and are refused
        # later by name.
        with np.errstate(all="ignore"):
            self._run_instructions(
                registers,
                [
                    instruction
                    for instruction in self._instructions
                    if instruction.output_register not in varying_registers
                ],
                1,
            )
            if point_count != 1:
                return self._run_chunks(registers, varying_registers, point_count, watch)
            if watch is None:
                return [np.array(registers[register]) for register in self._output_registers]
            watch([registers[register] for register in self._output_registers[1:]])
            return [np.array(registers[self._output_registers[0]])]

    def differentiate(self, values: Values, output_index: int = 0) -> Derivatives:
        """Evaluate one output with its derivatives by every parameter and labelled part (reverse
        mode).
        """
        value_by_register = self._inputs_as_arrays(values)
        point_count = _point_count(value_by_register)
        # As for values; slopes at the border of the domain may be infinite.
        with np.errstate(all="ignore"):
            self._run_instructions(value_by_register, self._instructions, point_count)
            adjoint_by_register = self._derivatives_by_register(
                value_by_register, self._output_registers[output_index], point_count
            )

        def at_all_points(register: int) -> Array:
            """Return the values of a register, repeated for all points if they are the same
            there.
            """
            return np.broadcast_to(value_by_register[register], (point_count,))

        zeros = np.zeros(point_count)
        contribution_by_label: dict[str, Array] = {}
        label_by_register = {
            register: label
            for register, label in self._label_by_register.items()
            if register in adjoint_by_register
        }
        for register, label in label_by_register.items():
            # One label may stand at several places, such as the idle time of each phase.
            with np.errstate(all="ignore"):
                booked_part = at_all_points(register) * adjoint_by_register[register]
            contribution_by_label[label] = (
                contribution_by_label[label] + booked_part
                if label in contribution_by_label
                else booked_part
            )
        derivative_by_parameter = {
            name: adjoint_by_register.get(register, zeros)
            for register, name in self._name_by_register.items()
        }
        value_by_label = {
            label: at_all_points(register) for register, label in label_by_register.items()
        }
        input_by_name = {
            name: at_all_points(register) for register, name in self._name_by_register.items()
        }
        return Derivatives(
            value=at_all_points(self._output_registers[output_index]),
            derivative_by_parameter=derivative_by_parameter,
            contribution_by_label=contribution_by_label,
            value_by_label=value_by_label,
            input_by_name=input_by_name,
        )

    def slopes(
        self, values: Values, names: Sequence[str], output_index: int = 0
    ) -> tuple[Array, dict[str, Array]]:
        """Evaluate one output at many points, with its derivatives by some parameters.

        Reverse mode over arrays, chunk by chunk so that what is kept for the way back fits into
        the cache; only registers that depend on the named parameters are followed back, so the
        cost does not grow with the number of parameters.

        Parameters
        ----------
        values : as for `run`
        names : parameters by which to differentiate; one that the output does not have is 0
        output_index : number of the output

        Returns
        -------
        the output [points], and by name its derivative [points]
        """
        input_registers = self._inputs_as_arrays(values)
        point_count = _point_count(input_registers)
        output_register = self._output_registers[output_index]
        register_by_name = {
            name: register for register, name in self._name_by_register.items() if name in names
        }
        needed_instructions, followed_registers = self._instructions_between(
            output_register, register_by_name.values()
        )
        # What does not vary along the points is computed once, outside the chunks.
        varying_registers = self._varying_registers(input_registers)
        with np.errstate(all="ignore"):
            self._run_instructions(
                input_registers,
                [
                    instruction
                    for instruction in needed_instructions
                    if instruction.output_register not in varying_registers
                ],
                1,
            )
        varying_instructions = [
            instruction
            for instruction in needed_instructions
            if instruction.output_register in varying_registers
        ]
        value_by_point = np.empty(point_count)
        derivative_by_name = {name: np.zeros(point_count) for name in names}
        for first_point in range(0, point_count, _GRADIENT_CHUNK):
            point_slice = slice(first_point, min(first_point + _GRADIENT_CHUNK, point_count))
            chunk_size = point_slice.stop - point_slice.start
            registers = {
                register: column if len(column) == 1 else column[point_slice]
                for register, column in input_registers.items()
            }
            with np.errstate(all="ignore"):
                self._run_instructions(registers, varying_instructions, chunk_size)
                adjoint_by_register = self._derivatives_of_chunk(
                    registers,
                    output_register,
                    chunk_size,
                    followed_registers,
                    register_by_name.values(),
                )
            value_by_point[point_slice] = registers[output_register]
            for name, register in register_by_name.items():
                derivative_by_name[name][point_slice] = adjoint_by_register.get(register, 0.0)
        return value_by_point, derivative_by_name

    def _derivatives_of_chunk(
        self,
        registers: Mapping[int, Array],
        output_register: int,
        chunk_size: int,
        followed_registers: AbstractSet[int],
        wanted_registers: Iterable[int],
    ) -> dict[int, Array]:
        """Return the derivatives of an output by the registers that it depends on, for one chunk of
        points. Derivatives are seldom NaN: every term is tested only if a wanted one is.
        """
        adjoint_by_register = self._derivatives_by_register(
            registers, output_register, chunk_size, followed_registers, checks_terms=False
        )
        if all(
            np.isfinite(adjoint_by_register.get(register, 0.0)).all()
            for register in wanted_registers
        ):
            return adjoint_by_register
        return self._derivatives_by_register(
            registers, output_register, chunk_size, followed_registers
        )

    def _instructions_between(
        self, output_register: int, start_registers: Iterable[int]
    ) -> tuple[list[Instruction], set[int]]:
        """Return the instructions that a register needs, and the registers that depend on
        `start_registers`.
        """
        needed_registers = {output_register}
        dependent_registers = set(start_registers)
        needed_instructions = []
        for instruction in reversed(self._instructions):
            if instruction.output_register in needed_registers:
                needed_registers.update(instruction.input_registers)
                needed_instructions.append(instruction)
        needed_instructions.reverse()
        for instruction in needed_instructions:
            if not dependent_registers.isdisjoint(instruction.input_registers):
                dependent_registers.add(instruction.output_register)
        return needed_instructions, dependent_registers

    def _register_of(self, node: Expr, register_by_node: Mapping[int, int]) -> int:
        """Return the register of a node; equal nodes share one."""
        operand_registers = tuple(register_by_node[id(operand)] for operand in operands(node))
        operator, own_value = _operator_and_own_value(node)
        node_key = (operator, own_value, operand_registers)
        if node_key not in self._register_by_key:
            register = self._register_by_key[node_key] = len(self._register_by_key)
            if isinstance(node, Number):
                self._constant_by_register[register] = node.value
            elif isinstance(node, Parameter):
                self._name_by_register[register] = node.name
            else:
                self._instructions.append(Instruction(operator, register, operand_registers))
                if isinstance(node, Booked):
                    self._label_by_register[register] = node.label
        return self._register_by_key[node_key]

    def check_names(self, values: Values) -> None:
        """Raise if a name is not the name of a parameter."""
        unknown_names = [name for name in values if name not in self.parameters]
        if unknown_names:
            raise ModelError(
                f"no parameter is named {', '.join(unknown_names)}; there are"
                f" {', '.join(self.parameters)}"
            )

    def _inputs_as_arrays(self, values: Values) -> dict[int, Array]:
        """Return constants and parameter values as arrays, by register."""
        self.check_names(values)
        registers = {
            register: np.array([number]) for register, number in self._constant_by_register.items()
        }
        for register, name in self._name_by_register.items():
            value = values.get(name, self.parameters[name].value)
            if value is None:
                raise ModelError(f"parameter {name} has no value")
            registers[register] = np.ascontiguousarray(
                np.atleast_1d(np.asarray(value, dtype=np.float64))
            )
        return registers

    def _varying_registers(self, input_registers: Mapping[int, Array]) -> set[int]:
        """Return the registers whose values differ between points."""
        varying_registers = {
            register for register, input_array in input_registers.items() if len(input_array) != 1
        }
        for instruction in self._instructions:
            if not varying_registers.isdisjoint(instruction.input_registers):
                varying_registers.add(instruction.output_register)
        return varying_registers

    def _run_instructions(
        self, registers: dict[int, Array], instructions: Sequence[Instruction], point_count: int
    ) -> None:
        """Execute instructions, with a new array for each result."""
        for instruction in instructions:
            operands = [registers[register] for register in instruction.input_registers]
            if instruction.operator == "booked":
                registers[instruction.output_register] = operands[0]
                continue
            result = np.empty(1 if all(len(operand) == 1 for operand in operands) else point_count)
            OPERATORS[instruction.operator].evaluate(operands, result)
            registers[instruction.output_register] = result

    def _run_chunks(
        self,
        registers: dict[int, Array],
        varying_registers: set[int],
        point_count: int,
        watch: Callable[[Sequence[Array]], object] | None = None,
    ) -> list[Array]:
        """Execute the instructions chunk by chunk, and reuse buffers between chunks."""
        varying_instructions = [
            instruction
            for instruction in self._instructions
            if instruction.output_register in varying_registers
        ]
        owner_by_register = _owner_by_register(self._instructions)
        output_registers = [
            owner_by_register.get(register, register) for register in self._output_registers
        ]
        output_registers, monitored_registers = (
            (output_registers, [])
            if watch is None
            else (output_registers[:1], output_registers[1:])
        )
        buffer_by_register, buffer_count = _buffer_numbers(
            varying_instructions, owner_by_register, monitored_registers
        )
        # An output is computed where it is to stay, which saves a copy of every chunk.
        output_by_register = {
            register: np.empty(point_count)
            for register in output_registers
            if register in buffer_by_register
        }
        varying_inputs = [
            register for register in self._name_by_register if register in varying_registers
        ]
        buffers = [np.empty(min(CHUNK, point_count)) for _ in range(buffer_count)]
        computed_instructions = _computed_instructions(varying_instructions, owner_by_register)
        chunk_registers = dict(registers)
        for first_point in range(0, point_count, CHUNK):
            chunk_slice = slice(first_point, min(first_point + CHUNK, point_count))
            for register in varying_inputs:
                chunk_registers[register] = registers[register][chunk_slice]
            for evaluate, operand_registers, result_register in computed_instructions:
                result = (
                    output_by_register[result_register][chunk_slice]
                    if result_register in output_by_register
                    else buffers[buffer_by_register[result_register]][
                        : chunk_slice.stop - chunk_slice.start
                    ]
                )
                evaluate([chunk_registers[register] for register in operand_registers], result)
                chunk_registers[result_register] = result
            if watch is not None:
                watch([chunk_registers[register] for register in monitored_registers])
        return [
            (
                output_by_register[register]
                if register in output_by_register
                else np.array(np.broadcast_to(registers[register], (point_count,)))
            )
            for register in output_registers
        ]

    def _derivatives_by_register(
        self,
        registers: Mapping[int, Array],
        output_register: int,
        point_count: int,
        followed_registers: AbstractSet[int] | None = None,
        checks_terms: bool = True,
    ) -> dict[int, Array]:
        """Return the derivatives of an output by the registers that it depends on, computed in
        reverse order through `followed_registers`, or through all. With `checks_terms` every
        term is tested for NaN.
        """
        adjoint_by_register: dict[int, Array] = {output_register: np.ones(point_count)}
        for instruction in reversed(self._instructions):
            result_adjoint = adjoint_by_register.get(instruction.output_register)
            if result_adjoint is None or (
                followed_registers is not None
                and instruction.output_register not in followed_registers
            ):
                continue
            operand_values = [
                registers[input_register] for input_register in instruction.input_registers
            ]
            operand_adjoints = (
                [result_adjoint]
                if instruction.operator == "booked"
                else OPERATORS[instruction.operator].derive(
                    operand_values, registers[instruction.output_register], result_adjoint
                )
            )
            for register, operand_adjoint in zip(
                instruction.input_registers, operand_adjoints, strict=True
            ):
                if operand_adjoint is not None and (
                    followed_registers is None or register in followed_registers
                ):
                    if checks_terms and not np.isfinite(operand_adjoint).all():
                        # What was not chosen contributes nothing, even where it is infinite.
                        operand_adjoint = np.where(result_adjoint == 0.0, 0.0, operand_adjoint)
                    adjoint_by_register[register] = (
                        adjoint_by_register[register] + operand_adjoint
                        if register in adjoint_by_register
                        else operand_adjoint
                    )
        return adjoint_by_register


def _operator_and_own_value(node: Expr) -> tuple[str, object]:
    """Return what distinguishes a node from others with the same operands: its operator, and its
    own value, name or label.
    """
    match node:
        case Number(value):
            return "number", value
        case Parameter(name):
            return "parameter", name
        case Booked(label):
            return "booked", label
        case Operation(operator):
            return operator, None
    raise TypeError(type(node))


def _point_count(registers: Mapping[int, Array]) -> int:
    """Return the number of points of some registers; arrays of length 1 hold for all points."""
    lengths = sorted({len(register_array) for register_array in registers.values()} - {1})
    if len(lengths) > 1:
        raise ModelError(f"varied parameters must have equally many points, got {lengths}")
    return lengths[0] if lengths else 1


def _owner_by_register(instructions: Sequence[Instruction]) -> dict[int, int]:
    """Return for the register of each labelled part the register that holds its value."""
    owner_by_register: dict[int, int] = {}
    for instruction in instructions:
        if instruction.operator == "booked":
            owner_by_register[instruction.output_register] = owner_by_register.get(
                instruction.input_registers[0], instruction.input_registers[0]
            )
    return owner_by_register


def _computed_instructions(
    instructions: Iterable[Instruction], owner_by_register: Mapping[int, int]
) -> list[tuple[Callable[..., object], list[int], int]]:
    """Return, for each instruction that computes a value, its function, the registers of its
    operands and the register of its result; a label computes nothing.
    """
    return [
        (
            OPERATORS[instruction.operator].evaluate,
            [owner_by_register.get(register, register) for register in instruction.input_registers],
            instruction.output_register,
        )
        for instruction in instructions
        if instruction.operator != "booked"
    ]


def _buffer_numbers(
    instructions: Sequence[Instruction],
    owner_by_register: Mapping[int, int],
    monitored_registers: Sequence[int],
) -> tuple[dict[int, int], int]:
    """Assign a buffer to the result of each instruction; return the number of the buffer of each
    register, and the number of buffers. A buffer is reused after the last instruction that reads
    its result.
    """
    last_reader_by_register = {
        owner_by_register.get(input_register, input_register): instruction_index
        for instruction_index, instruction in enumerate(instructions)
        for input_register in instruction.input_registers
    }
    last_reader_by_register |= dict.fromkeys(monitored_registers, len(instructions))
    buffer_by_register: dict[int, int] = {}
    free_buffers: list[int] = []
    buffer_count = 0
    for instruction_index, instruction in enumerate(instructions):
        if instruction.operator == "booked":
            continue
        if free_buffers:
            buffer_by_register[instruction.output_register] = free_buffers.pop()
        else:
            buffer_by_register[instruction.output_register], buffer_count = (
                buffer_count,
                buffer_count + 1,
            )
        operand_registers = {
            owner_by_register.get(input_register, input_register)
            for input_register in instruction.input_registers
        }
        free_buffers.extend(
            buffer_by_register[input_register]
            for input_register in sorted(operand_registers)
            if input_register in buffer_by_register
            and last_reader_by_register[input_register] == instruction_index
        )
    return buffer_by_register, buffer_count
