"""Trees turned into a list of instructions, run over whole arrays in cache-sized chunks.

Equal subtrees are computed once. What does not depend on a varied parameter is computed once for
all points; the rest goes chunk by chunk through a few reused buffers, so that intermediate results
stay in the cache. No text is generated and nothing is evaluated as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

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
from slipstick.late import Array, np

CHUNK = 16_384
"""Points a chunk: 128 KiB a buffer, so a score of buffers fit a second-level cache; see
benchmarks/closed_form.py.
"""

_KEPT = CHUNK // 4
"""Points a chunk where every register is kept for the way back."""

Values = Mapping[str, "Array | float"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a tape, `out` = operator(`args`), with registers by number."""

    operator: str
    out: int
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Values and derivatives of one output at a set of points.

    Parameters
    ----------
    value : the output [points]
    by_parameter : derivative by each parameter [points]
    booked : value x derivative of each labelled part of the output: what it contributes [points]
    once : value of each labelled part [points]
    inputs : the parameters' own values [points]
    """

    value: Array
    by_parameter: Mapping[str, Array]
    booked: Mapping[str, Array]
    once: Mapping[str, Array]
    inputs: Mapping[str, Array]


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
        self._numbers: dict[int, float] = {}
        self._inputs: dict[int, str] = {}
        self._booked: dict[int, str] = {}
        self._instructions: list[Instruction] = []
        self._registers: dict[tuple[str, object, tuple[int, ...]], int] = {}
        registers: dict[int, int] = {}
        for node in nodes:
            registers[id(node)] = self._record(node, registers)
        self._outputs = [registers[id(output)] for output in outputs]
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
        return self._evaluated(values)

    def listing(self) -> dict[str, Any]:
        """Return the tape as plain data for a page that runs it: the content of each register, the
        instructions in order, the outputs.
        """
        return {
            "size": len(self._registers),
            "numbers": list(self._numbers.items()),
            "inputs": list(self._inputs.items()),
            "labels": list(self._booked.items()),
            "code": [
                [instruction.operator, instruction.out, *instruction.args]
                for instruction in self._instructions
            ],
            "outputs": list(self._outputs),
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
        return self._evaluated(values, watch)[0]

    def _evaluated(
        self, values: Values, watch: Callable[[Sequence[Array]], object] | None = None
    ) -> list[Array]:
        base = self._inputs_as_arrays(values)
        points = _points(base)
        varying = self._varying(base)
        registers = dict(base)
        with np.errstate(all="ignore"):
            self._execute(
                registers,
                [
                    instruction
                    for instruction in self._instructions
                    if instruction.out not in varying
                ],
                1,
            )
            if points != 1:
                return self._run_chunks(registers, varying, points, watch)
            if watch is None:
                return [np.array(registers[out]) for out in self._outputs]
            watch([registers[out] for out in self._outputs[1:]])
            return [np.array(registers[self._outputs[0]])]

    def differentiate(self, values: Values, output: int = 0) -> Derivatives:
        """Evaluate one output with its derivatives by every parameter and labelled part (reverse
        mode).
        """
        registers = self._inputs_as_arrays(values)
        points = _points(registers)
        with np.errstate(all="ignore"):
            self._execute(registers, self._instructions, points)
            bars = self._adjoints(registers, self._outputs[output], points)

        def spread(register: int) -> Array:
            return np.broadcast_to(registers[register], (points,))

        none = np.zeros(points)
        booked: dict[str, Array] = {}
        labels = {register: label for register, label in self._booked.items() if register in bars}
        for register, label in labels.items():
            # One label may stand at several places, such as the idle time of each phase.
            with np.errstate(all="ignore"):
                share = spread(register) * bars[register]
            booked[label] = booked[label] + share if label in booked else share
        by_parameter = {name: bars.get(register, none) for register, name in self._inputs.items()}
        once = {label: spread(register) for register, label in labels.items()}
        inputs = {name: spread(register) for register, name in self._inputs.items()}
        return Derivatives(
            value=spread(self._outputs[output]),
            by_parameter=by_parameter,
            booked=booked,
            once=once,
            inputs=inputs,
        )

    def slopes(
        self, values: Values, names: Sequence[str], output: int = 0
    ) -> tuple[Array, dict[str, Array]]:
        """Evaluate one output at many points, with its derivatives by some parameters.

        Reverse mode over arrays, chunk by chunk so that what is kept for the way back fits into
        the cache; only registers that depend on the named parameters are followed back, so the
        cost does not grow with the number of parameters.

        Parameters
        ----------
        values : as for `run`
        names : parameters by which to differentiate; one that the output does not have is 0
        output : which of the outputs

        Returns
        -------
        the output [points], and by name its derivative [points]
        """
        base = self._inputs_as_arrays(values)
        points = _points(base)
        end = self._outputs[output]
        places = {name: register for register, name in self._inputs.items() if name in names}
        needed, followed = self._between(end, places.values())
        varying = self._varying(base)
        with np.errstate(all="ignore"):
            self._execute(
                base, [instruction for instruction in needed if instruction.out not in varying], 1
            )
        steps = [instruction for instruction in needed if instruction.out in varying]
        value = np.empty(points)
        derivatives = {name: np.zeros(points) for name in names}
        for start in range(0, points, _KEPT):
            rows = slice(start, min(start + _KEPT, points))
            count = rows.stop - rows.start
            registers = {
                register: values if len(values) == 1 else values[rows]
                for register, values in base.items()
            }
            with np.errstate(all="ignore"):
                self._execute(registers, steps, count)
                # Derivatives are seldom NaN: every term is tested only where one of them is.
                bars = self._adjoints(registers, end, count, followed, checked=False)
                if not all(
                    np.isfinite(bars.get(register, 0.0)).all() for register in places.values()
                ):
                    bars = self._adjoints(registers, end, count, followed)
            value[rows] = registers[end]
            for name, register in places.items():
                derivatives[name][rows] = bars.get(register, 0.0)
        return value, derivatives

    def _between(self, end: int, starts: Iterable[int]) -> tuple[list[Instruction], set[int]]:
        """Return the instructions that a register needs, and the registers that depend on
        `starts`.
        """
        followed_registers = {end}
        followed = set(starts)
        needed = []
        for instruction in reversed(self._instructions):
            if instruction.out in followed_registers:
                followed_registers.update(instruction.args)
                needed.append(instruction)
        needed.reverse()
        for instruction in needed:
            if not followed.isdisjoint(instruction.args):
                followed.add(instruction.out)
        return needed, followed

    def _record(self, node: Expr, registers: Mapping[int, int]) -> int:
        """Return the register of a node; equal nodes share one."""
        args = tuple(registers[id(operand)] for operand in operands(node))
        operator, own = _signature(node)
        key = (operator, own, args)
        if key not in self._registers:
            register = self._registers[key] = len(self._registers)
            if isinstance(node, Number):
                self._numbers[register] = node.value
            elif isinstance(node, Parameter):
                self._inputs[register] = node.name
            else:
                self._instructions.append(Instruction(operator, register, args))
                if isinstance(node, Booked):
                    self._booked[register] = node.label
        return self._registers[key]

    def check_names(self, values: Values) -> None:
        """Raise if a name is not that of a parameter."""
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            raise ModelError(
                f"no parameter is named {', '.join(unknown)}; there are"
                f" {', '.join(self.parameters)}"
            )

    def _inputs_as_arrays(self, values: Values) -> dict[int, Array]:
        self.check_names(values)
        registers = {register: np.array([number]) for register, number in self._numbers.items()}
        for register, name in self._inputs.items():
            value = values.get(name, self.parameters[name].value)
            if value is None:
                raise ModelError(f"parameter {name} has no value")
            registers[register] = np.ascontiguousarray(
                np.atleast_1d(np.asarray(value, dtype=np.float64))
            )
        return registers

    def _varying(self, base: Mapping[int, Array]) -> set[int]:
        varying = {register for register, array in base.items() if len(array) != 1}
        for instruction in self._instructions:
            if not varying.isdisjoint(instruction.args):
                varying.add(instruction.out)
        return varying

    def _execute(
        self, registers: dict[int, Array], instructions: Sequence[Instruction], points: int
    ) -> None:
        """Execute instructions, with a new array for each result."""
        for instruction in instructions:
            args = [registers[arg] for arg in instruction.args]
            if instruction.operator == "booked":
                registers[instruction.out] = args[0]
                continue
            out = np.empty(1 if all(len(arg) == 1 for arg in args) else points)
            OPERATORS[instruction.operator].evaluate(args, out)
            registers[instruction.out] = out

    def _run_chunks(
        self,
        registers: dict[int, Array],
        varying: set[int],
        points: int,
        watch: Callable[[Sequence[Array]], object] | None = None,
    ) -> list[Array]:
        steps = [instruction for instruction in self._instructions if instruction.out in varying]
        owner = _owners(self._instructions)
        sources = [owner.get(register, register) for register in self._outputs]
        sources, monitored = (sources, []) if watch is None else (sources[:1], sources[1:])
        slot, count = _slots(steps, owner, monitored)
        # An output is computed where it is to stay, which saves a copy of every chunk.
        finals = {register: np.empty(points) for register in sources if register in slot}
        inputs = [register for register in self._inputs if register in varying]
        size = CHUNK
        buffers = [np.empty(min(size, points)) for _ in range(count)]
        steps = [step for step in steps if step.operator != "booked"]
        reads = {step.out: [owner.get(arg, arg) for arg in step.args] for step in steps}
        local = dict(registers)
        for start in range(0, points, size):
            stop = min(start + size, points)
            for register in inputs:
                local[register] = registers[register][start:stop]
            for step in steps:
                final = finals.get(step.out)
                out = (
                    buffers[slot[step.out]][: stop - start] if final is None else final[start:stop]
                )
                OPERATORS[step.operator].evaluate([local[arg] for arg in reads[step.out]], out)
                local[step.out] = out
            if watch is not None:
                watch([local[register] for register in monitored])
        return [
            (
                finals[source]
                if source in finals
                else np.array(np.broadcast_to(registers[source], (points,)))
            )
            for source in sources
        ]

    def _adjoints(
        self,
        registers: Mapping[int, Array],
        output: int,
        points: int,
        followed: AbstractSet[int] | None = None,
        checked: bool = True,
    ) -> dict[int, Array]:
        """Compute the derivatives of an output by registers in reverse order, through the
        `followed` registers or all; `checked` tests every term for NaN.
        """
        bars: dict[int, Array] = {output: np.ones(points)}
        for instruction in reversed(self._instructions):
            bar = bars.get(instruction.out)
            if bar is None or (followed is not None and instruction.out not in followed):
                continue
            args = [registers[arg] for arg in instruction.args]
            adjoints = (
                [bar]
                if instruction.operator == "booked"
                else OPERATORS[instruction.operator].derive(args, registers[instruction.out], bar)
            )
            for register, adjoint in zip(instruction.args, adjoints, strict=True):
                if adjoint is not None and (followed is None or register in followed):
                    if checked and not np.isfinite(adjoint).all():
                        # What was not chosen contributes nothing, even where it is infinite.
                        adjoint = np.where(bar == 0.0, 0.0, adjoint)
                    bars[register] = bars[register] + adjoint if register in bars else adjoint
        return bars


def _signature(node: Expr) -> tuple[str, object]:
    """Return what distinguishes a node beside its operands: its operator, and its own value or
    name.
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


def _points(registers: Mapping[int, Array]) -> int:
    lengths = sorted({len(array) for array in registers.values()} - {1})
    if len(lengths) > 1:
        raise ModelError(f"varied parameters must have equally many points, got {lengths}")
    return lengths[0] if lengths else 1


def _owners(instructions: Sequence[Instruction]) -> dict[int, int]:
    """Return for the register of each labelled part the register that holds its value."""
    owner: dict[int, int] = {}
    for instruction in instructions:
        if instruction.operator == "booked":
            owner[instruction.out] = owner.get(instruction.args[0], instruction.args[0])
    return owner


def _slots(
    steps: Sequence[Instruction], owner: Mapping[int, int], monitored: Sequence[int]
) -> tuple[dict[int, int], int]:
    """Assign a buffer to each result, which is reused after the last instruction that reads it."""
    last_read = {
        owner.get(arg, arg): index for index, step in enumerate(steps) for arg in step.args
    }
    last_read |= dict.fromkeys(monitored, len(steps))
    slot: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for index, step in enumerate(steps):
        if step.operator == "booked":
            continue
        if free:
            slot[step.out] = free.pop()
        else:
            slot[step.out], count = count, count + 1
        args = {owner.get(arg, arg) for arg in step.args}
        free.extend(slot[arg] for arg in sorted(args) if arg in slot and last_read[arg] == index)
    return slot, count
