"""Trees turned into a list of instructions, run over whole arrays in cache-sized chunks.

Equal subtrees are computed once. What does not depend on a varied parameter is computed once for
all points; the rest goes chunk by chunk through a few reused buffers, so that intermediate results
stay in the cache. No text is generated and nothing is evaluated as code. `OPERATORS` says what each
operator and special function does to arrays, and to derivatives.

Of the queue with constant service, M/D/1, the textbook's series alternate and lose all digits at a
few dozen customers. Here every term is positive: the numbers present follow from each other by
Ramaswami's recursion, and waits from the numbers present by Franx' sum.

Source: Ramaswami, Stochastic Models 4(1), 1988; Franx, Operations Research Letters 29(5), 2001.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_from
from math import factorial, lgamma, log, pi
from sys import float_info
from typing import Any, NamedTuple

from slipstick.errors import ModelError
from slipstick.expression.nodes import (
    Booked,
    Expr,
    Number,
    Operation,
    Parameter,
    check_radix,
    operands,
    parameters_among,
    walk,
)
from slipstick.late import Array, np

CHUNK = 16_384
"""Points a chunk: 128 KiB a buffer, so a score of buffers fit a second-level cache; see
benchmarks/closed_form.py.
"""

_KEPT = CHUNK // 4
"""Points a chunk where every register is kept for the way back."""

_BUFFERS = 20
"""With fewer arrays in play a chunk is as many times longer, up to eight: each costs a few
calls.
"""

Values = Mapping[str, "Array | float"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """`out` = operator(`args`): registers by number."""

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
            each.name: each for each in parameters_among(nodes)
        }
        self._numbers: dict[int, float] = {}
        self._inputs: dict[int, str] = {}
        self._booked: dict[int, str] = {}
        self._instructions: list[Instruction] = []
        self._registers: dict[tuple[str, object, tuple[int, ...]], int] = {}
        seen: dict[int, int] = {}
        for node in nodes:
            seen[id(node)] = self._record(node, seen)
        self._outputs = [seen[id(output)] for output in outputs]
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
        """Return the tape as plain data, for a page that runs it: what each register holds, the
        instructions in order, outputs.
        """
        return {
            "size": len(self._registers),
            "numbers": list(self._numbers.items()),
            "inputs": list(self._inputs.items()),
            "labels": list(self._booked.items()),
            "code": [[each.operator, each.out, *each.args] for each in self._instructions],
            "outputs": list(self._outputs),
        }

    def run_with(self, values: Values, watch: Callable[[Sequence[Array]], object]) -> Array:
        """Evaluate the first output; show the others to `watch`, chunk by chunk, and keep nothing
        of them.

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
        points, varying, registers = _points(base), self._varying(base), dict(base)
        with np.errstate(all="ignore"):
            self._execute(
                registers, [each for each in self._instructions if each.out not in varying], 1
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
                part = spread(register) * bars[register]
            booked[label] = booked[label] + part if label in booked else part
        return Derivatives(
            value=spread(self._outputs[output]),
            by_parameter={
                name: bars.get(register, none) for register, name in self._inputs.items()
            },
            booked=booked,
            once={label: spread(register) for register, label in labels.items()},
            inputs={name: spread(register) for register, name in self._inputs.items()},
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
        points, end = _points(base), self._outputs[output]
        places = {name: register for register, name in self._inputs.items() if name in names}
        needed, followed = self._between(end, places.values())
        varying = self._varying(base)
        with np.errstate(all="ignore"):
            self._execute(base, [each for each in needed if each.out not in varying], 1)
        steps = [each for each in needed if each.out in varying]
        value = np.empty(points)
        found = {name: np.zeros(points) for name in names}
        for start in range(0, points, _KEPT):
            rows = slice(start, min(start + _KEPT, points))
            count = rows.stop - rows.start
            registers = {
                register: each if len(each) == 1 else each[rows] for register, each in base.items()
            }
            with np.errstate(all="ignore"):
                self._execute(registers, steps, count)
                bars = self._adjoints(registers, end, count, followed, checked=False)
                if not all(np.isfinite(bars.get(each, 0.0)).all() for each in places.values()):
                    bars = self._adjoints(registers, end, count, followed)
            value[rows] = registers[end]
            for name, register in places.items():
                found[name][rows] = bars.get(register, 0.0)
        return value, found

    def _between(self, end: int, starts: Iterable[int]) -> tuple[list[Instruction], set[int]]:
        """List the instructions that a register needs, and the registers that depend on some."""
        asked, followed = {end}, set(starts)
        needed = []
        for each in reversed(self._instructions):
            if each.out in asked:
                asked.update(each.args)
                needed.append(each)
        needed.reverse()
        for each in needed:
            if not followed.isdisjoint(each.args):
                followed.add(each.out)
        return needed, followed

    def _record(self, node: Expr, seen: Mapping[int, int]) -> int:
        """Return a node its register, sharing it with an equal one."""
        args = tuple(seen[id(operand)] for operand in operands(node))
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
        """Refuse names that no parameter has."""
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
            given = values.get(name, self.parameters[name].value)
            if given is None:
                raise ModelError(f"parameter {name} has no value")
            registers[register] = np.ascontiguousarray(
                np.atleast_1d(np.asarray(given, dtype=np.float64))
            )
        return registers

    def _varying(self, base: Mapping[int, Array]) -> set[int]:
        varying = {register for register, array in base.items() if len(array) != 1}
        for each in self._instructions:
            if not varying.isdisjoint(each.args):
                varying.add(each.out)
        return varying

    def _execute(
        self, registers: dict[int, Array], instructions: Sequence[Instruction], points: int
    ) -> None:
        """Run instructions with a fresh array for each result."""
        for each in instructions:
            args = [registers[arg] for arg in each.args]
            if each.operator == "booked":
                registers[each.out] = args[0]
                continue
            out = np.empty(1 if all(len(arg) == 1 for arg in args) else points)
            OPERATORS[each.operator].evaluate(args, out)
            registers[each.out] = out

    def _run_chunks(
        self,
        registers: dict[int, Array],
        varying: set[int],
        points: int,
        watch: Callable[[Sequence[Array]], object] | None = None,
    ) -> list[Array]:
        steps = [each for each in self._instructions if each.out in varying]
        owner = _owners(self._instructions)
        sources = [owner.get(register, register) for register in self._outputs]
        sources, kept = (sources, []) if watch is None else (sources[:1], sources[1:])
        slot, count = _slots(steps, owner, kept)
        # An output is computed where it is to stay, which saves a copy of every chunk.
        finals = {register: np.empty(points) for register in sources if register in slot}
        inputs = [register for register in self._inputs if register in varying]
        size = CHUNK * max(1, min(8, _BUFFERS // max(1, count + len(inputs) + len(finals))))
        buffers = [np.empty(min(size, points)) for _ in range(count)]
        steps = [each for each in steps if each.operator != "booked"]
        reads = {each.out: [owner.get(arg, arg) for arg in each.args] for each in steps}
        local = dict(registers)
        for start in range(0, points, size):
            stop = min(start + size, points)
            for register in inputs:
                local[register] = registers[register][start:stop]
            for each in steps:
                whole = finals.get(each.out)
                out = (
                    buffers[slot[each.out]][: stop - start] if whole is None else whole[start:stop]
                )
                OPERATORS[each.operator].evaluate([local[arg] for arg in reads[each.out]], out)
                local[each.out] = out
            if watch is not None:
                watch([local[register] for register in kept])
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
        """Go back from an output, through some registers or all of them; `checked` costs a look at
        every part.
        """
        bars: dict[int, Array] = {output: np.ones(points)}
        for each in reversed(self._instructions):
            bar = bars.get(each.out)
            if bar is None or (followed is not None and each.out not in followed):
                continue
            args = [registers[arg] for arg in each.args]
            parts = (
                [bar]
                if each.operator == "booked"
                else OPERATORS[each.operator].derive(args, registers[each.out], bar)
            )
            for register, part in zip(each.args, parts, strict=True):
                if part is not None and (followed is None or register in followed):
                    if checked and not np.isfinite(part).all():
                        # What was not chosen contributes nothing, even where it is infinite.
                        part = np.where(bar == 0.0, 0.0, part)
                    bars[register] = bars[register] + part if register in bars else part
        return bars


def _signature(node: Expr) -> tuple[str, object]:
    """Return what a node does beyond its operands: operator and own value or name."""
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
    """Tell for each label the register that holds its value."""
    owner: dict[int, int] = {}
    for each in instructions:
        if each.operator == "booked":
            owner[each.out] = owner.get(each.args[0], each.args[0])
    return owner


def _slots(
    steps: Sequence[Instruction], owner: Mapping[int, int], kept: Sequence[int]
) -> tuple[dict[int, int], int]:
    """Assign buffers so that the buffer of a result is reused after its last use."""
    last_read = {
        owner.get(arg, arg): index for index, each in enumerate(steps) for arg in each.args
    }
    last_read |= dict.fromkeys(kept, len(steps))
    slot: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for index, each in enumerate(steps):
        if each.operator == "booked":
            continue
        if free:
            slot[each.out] = free.pop()
        else:
            slot[each.out], count = count, count + 1
        args = {owner.get(arg, arg) for arg in each.args}
        free.extend(slot[arg] for arg in sorted(args) if arg in slot and last_read[arg] == index)
    return slot, count


Evaluation = Callable[[Sequence[Array], Array], object]
Adjoint = Callable[[Sequence[Array], Array, Array], Sequence["Array | None"]]
MOST = 1e7
"""Servers are counted one by one; more of them than this give no number."""

MOST_STAGES = 1024.0
"""The same for stages of switches: with two branches each, as many leaves as a double can count."""

_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)

# h(y) = coth(y/2)/2 - 1/y = sum_k B_2k y^(2k-1) / (2k)!: ten terms reach the last bit for |y| <= 1.
_SLOPES = tuple(number / factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1))
_CURVES = tuple((2 * k - 1) * each for k, each in enumerate(_SLOPES, 1))

# (atanh(v) - v) / v^3 to the last bit for |v| < 0.1.
_ODD = tuple(1 / k for k in range(3, 19, 2))


def _pow(args: Sequence[Array], out: Array) -> None:
    # Of one length, because NumPy takes a short cut, with other last bits, where one exponent holds
    # for all.
    base, exponent = (np.ascontiguousarray(np.broadcast_to(arg, out.shape)) for arg in args)
    np.power(base, exponent, out=out)


def _pow_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    base, exponent = args
    # 0^0 is 1, and its derivative by the base is 0 like that of any constant.
    slope = np.where(exponent == 0.0, 0.0, exponent * np.power(base, exponent - 1.0))
    return [
        bar * slope,
        np.where(value == 0.0, 0.0, bar * value * np.log(np.where(base > 0.0, base, 1.0))),
    ]


def _exprel(args: Sequence[Array], out: Array) -> None:
    np.divide(np.expm1(args[0]), args[0], out=out)
    np.copyto(out, 1.0, where=args[0] == 0.0)


def _exprel_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    x = args[0]
    near = _series([1 / (factorial(k) * (k + 2)) for k in range(18)], x)
    return [bar * np.where(np.abs(x) < 1.0, near, (np.exp(x) - value) / x)]


def _geometric_sum(args: Sequence[Array], out: Array) -> None:
    step = np.log(args[0])
    np.divide(np.expm1(args[1] * step), np.expm1(step), out=out)
    np.copyto(out, args[1], where=step == 0.0)


def _geometric_sum_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    mean = np.empty(np.shape(bar))
    _geometric_mean([args[0], args[1] - 1.0], mean)
    return [bar * value * mean / args[0], None]


def _series(terms: Sequence[float], x: Array) -> Array:
    total = np.zeros_like(x)
    for term in reversed(terms):
        total = total * x + term
    return total


def _geometric_mean(args: Sequence[Array], out: Array) -> None:
    step, most = np.log(args[0]), args[1]
    count = most + 1.0
    small = np.abs(step)
    wide = small * count
    # Far from 1: r / (1 - r) - (K+1) r^(K+1) / (1 - r^(K+1)), from whichever side has r < 1.
    np.subtract(1.0 / np.expm1(small), count / np.expm1(wide), out=out)
    np.copyto(out, most - out, where=step > 0.0)
    if np.min(wide) <= 1.0:
        # Near 1 the two terms cancel; what is left of them is K/2 and an odd series.
        near = most / 2.0 + step * (
            count**2 * _series(_SLOPES, wide**2) - _series(_SLOPES, small**2)
        )
        np.copyto(out, near, where=wide <= 1.0)
    np.copyto(out, 0.0, where=most <= 0.0)


def _geometric_mean_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    step, count = np.abs(np.log(args[0])), args[1] + 1.0
    wide = step * count
    far = (0.5 / np.sinh(step / 2.0)) ** 2 - (
        count * 0.5 / np.sinh(np.minimum(wide, 1400.0) / 2.0)
    ) ** 2
    near = count**2 * _series(_CURVES, wide**2) - _series(_CURVES, step**2)
    return [bar * np.where(wide > 1.0, far, near) / args[0], None]


def _counted(count: Array, most: float = MOST) -> Array:
    """Take counts as they are, but what cannot be counted one by one as no number: 0 steps, and
    NaN at the end.
    """
    return (
        count
        if float(np.max(count, initial=0.0)) <= most
        else np.where(count <= most, count, np.nan)
    )


def _most(count: Array) -> int:
    return int(np.max(np.nan_to_num(count), initial=0.0))


def _inverse_loss(
    ratio: Callable[[Array], Array], first: Array, servers: Array, out: Array
) -> None:
    """Run I_k = 1 + ratio(k) I_{k-1} up to k = servers, from I = 1 at k = first.

    Counting from the end lets each point have its own number of servers: the ratio at 0 is 0, and I
    is 1 until then.
    """
    whole = not np.any(first)
    out[...] = 1.0
    for back in range(_most(servers - first) - 1, -1, -1):
        k = np.maximum(servers - back, 0.0)
        out *= ratio(k if whole else k * (k > first))
        out += 1.0
        if back % 256 == 0 and np.isinf(out).all():
            break


def _first(largest: Array, servers: Array) -> Array:
    """Return where to begin: terms of the sum fall off as exp(-i^2 / 2c) below the largest, so
    nine widths are enough.
    """
    begin = np.floor(largest - 9.0 * np.sqrt(largest) - 40.0)
    return np.where((servers < 1000.0) | (begin < 0.0), 0.0, begin)


def _erlang_b(args: Sequence[Array], out: Array) -> None:
    load, servers = args[0], _counted(args[1])
    # Without load the answer is 0; a load next to nothing gives it, where 1/0 would meet 0 servers.
    each = 1.0 / np.maximum(load, 1e-300)
    _inverse_loss(lambda k: k * each, _first(np.minimum(load, servers), servers), servers, out)
    np.divide(1.0, out, out=out)
    np.copyto(out, np.nan, where=np.isnan(servers))


def _erlang_b_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    load, servers = args
    slope = value * (servers / load - 1.0 + value)
    return [bar * np.where(load == 0.0, servers == 1.0, slope), None]


def _palm_sums(load: Array, services: Array) -> tuple[Array, Array, Array]:
    """Return Palm's function and its derivatives by the load and by the services; infinite where
    it has no double.
    """
    shape = np.broadcast_shapes(np.shape(load), np.shape(services))
    term, total, by_load, by_services, sums = (
        np.full(shape, each) for each in (1.0, 1.0, 0.0, 0.0, 0.0)
    )
    for k in range(1, int(MOST)):
        term = term * (load / (services + k))
        sums = sums + 1.0 / (services + k)
        total, by_load, by_services = total + term, by_load + k * term, by_services - term * sums
        # The terms rise up to k = load - services, and fall for good behind it.
        if (np.isinf(total) | (k * term <= 1e-18 * total) | np.isnan(total)).all():
            break
    return total, by_load / np.where(load == 0.0, 1.0, load), by_services


def _palm(args: Sequence[Array], out: Array) -> None:
    np.divide(1.0, _palm_sums(*args)[0], out=out)


def _palm_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    slopes = _palm_sums(*args)[1:]
    return [bar * np.where(value == 0.0, 0.0, -each * value**2) for each in slopes]


def _engset(args: Sequence[Array], out: Array) -> None:
    load, sources = args[0], args[2]
    servers = np.where(
        sources >= args[1], _counted(args[1]), np.nan
    )  # with fewer sources the sum below has no end
    first = _first(np.minimum(servers, (sources + 1.0) * load / (1.0 + load)), servers)
    each = 1.0 / load
    _inverse_loss(lambda k: k / (sources - k + 1.0) * each, first, servers, out)
    np.divide(1.0, out, out=out)
    np.copyto(out, np.nan, where=np.isnan(servers))


def _engset_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    load, servers, sources = args
    busy = load * (sources - (sources - servers) * value) / (1.0 + load)
    return [bar * value * (servers - busy) / load, None, None]


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FACTORIALS = [
    lgamma(n + 1.0) - (n + 0.5) * log(n or 1.0) + n - 0.5 * log(2.0 * pi) for n in range(16)
]
"""log n! less Stirling's formula without its series."""


def _poisson(args: Sequence[Array], out: Array) -> None:
    mean, count = args
    large = np.maximum(count, 16.0)
    corrected = np.where(
        count < 16.0,
        np.take(_FACTORIALS, np.clip(np.nan_to_num(count), 0.0, 15.0).astype(int)),
        _series(_STIRLING, 1.0 / large**2) / large,
    )
    scale = 1.0 / np.sqrt(2.0 * pi * np.maximum(count, 1.0))
    # n log(n/a) + a - n, by its series where n and a are close.
    gap = (count - mean) / (count + mean)
    apart = count * np.log(np.where(count > 0.0, count, 1.0) / mean) + mean - count
    if np.min(np.abs(gap)) < 0.1:
        near = (count - mean) * gap + 2.0 * count * gap**3 * _series(_ODD, gap**2)
        apart = np.where(np.abs(gap) < 0.1, near, apart)
    np.multiply(np.exp(-corrected - apart), scale, out=out)
    np.copyto(out, np.exp(-mean), where=count <= 0.0)


def _poisson_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    return [bar * value * (args[1] / args[0] - 1.0), None]


def _after(rate: Array, inputs: Array, outputs: Array) -> Array:
    """Return the rate behind one stage; by logarithms, because 1 - m/b loses a small m."""
    result: Array = -np.expm1(inputs * np.log1p(-rate / outputs))
    return result


def _through(rate: Array, inputs: Array, outputs: Array, stages: Array) -> tuple[Array, Array]:
    """Return the rate behind the stages and its derivative."""
    stages = _counted(stages, MOST_STAGES)
    slope = np.ones(
        np.broadcast_shapes(*(np.shape(each) for each in (rate, inputs, outputs, stages)))
    )
    rate = np.where(np.isnan(stages), np.nan, rate * slope)
    for stage in range(_most(stages)):
        going = stages > stage
        kept = np.exp((inputs - 1.0) * np.log1p(-rate / outputs)) * inputs / outputs
        slope = np.where(going, slope * kept, slope)
        rate = np.where(going, _after(rate, inputs, outputs), rate)
    return rate, slope


def _drop_stages(args: Sequence[Array], out: Array) -> None:
    rate, inputs, outputs, stages = args
    if len(stages) > 1 or not stages[0] <= MOST_STAGES:
        out[...] = _through(rate, inputs, outputs, stages)[0]
        return
    out[...] = rate
    # The common case, many points of one network: three passes a stage, in place.
    for _ in range(int(stages[0])):
        np.multiply(out, -1.0 / outputs, out=out)
        np.log1p(out, out=out)
        np.multiply(out, inputs, out=out)
        np.expm1(out, out=out)
        np.negative(out, out=out)


def _drop_stages_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    return [bar * _through(*args)[1], None, None, None]


def _retried_rate(args: Sequence[Array], out: Array) -> None:
    rate, inputs, outputs, stages = args
    fan = np.power(outputs / inputs, stages)
    found = np.array(np.broadcast_to(rate, out.shape))
    going = np.ones(out.shape, dtype=bool)
    # The balance is concave and rises: Newton's steps from below stay below, until rounding stops
    # them.
    for _ in range(60):
        behind, slope = _through(found, inputs, outputs, stages)
        lacking = rate * (1.0 - found) - fan * behind * (1.0 - rate)
        step = lacking / (fan * slope * (1.0 - rate) + rate)
        # Each point stops for itself, so that a sweep has the bits of its points.
        going &= np.abs(step) > 1e-15 * found
        if not going.any():
            break
        found = np.where(going, np.minimum(found + step, 1.0), found)
    out[...] = np.where(stages <= MOST_STAGES, found, np.nan)


def _retried_rate_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    rate, inputs, outputs, stages = args
    fan = np.power(outputs / inputs, stages)
    behind, slope = _through(value, inputs, outputs, stages)
    return [
        bar * (fan * behind + 1.0 - value) / (fan * slope * (1.0 - rate) + rate),
        None,
        None,
        None,
    ]


_LARGEST = int(float_info.max)


def _fold(name: str) -> Evaluation:
    """Combine operands from left to right by a function of NumPy; as long as they hold for all
    points, one number does.
    """

    def kernel(args: Sequence[Array], out: Array) -> None:
        function, (first, *rest) = getattr(np, name), args
        while len(rest) > 1 and len(first) == len(rest[0]) == 1:
            first = function(first, rest.pop(0))
        function(first, rest[0], out=out)
        for arg in rest[1:]:
            function(out, arg, out=out)

    return kernel


def _of_one(name: str) -> Evaluation:
    return lambda args, out: getattr(np, name)(args[0], out=out)


def _select(args: Sequence[Array], out: Array) -> None:
    x, limit, below, above = args
    chosen = x <= limit
    np.copyto(out, above)
    np.copyto(out, below, where=chosen)


def _ceil_log(args: Sequence[Array], out: Array) -> None:
    counts, radices = args
    if len(radices) == 1:
        _levels(counts, float(radices[0]), out)
        return
    counts = np.broadcast_to(counts, out.shape)
    for radix in np.unique(radices):
        chosen = radices == radix
        found = np.empty(int(np.count_nonzero(chosen)))
        _levels(counts[chosen], float(radix), found)
        out[chosen] = found


def _levels(counts: Array, radix: float, out: Array) -> None:
    """Guess by logarithms, which may be one off, and put it right by comparing."""
    reaches = _reaches(radix)
    np.log(np.maximum(counts, 1.0), out=out)
    out *= 1.0 / np.log(radix)
    np.ceil(out, out=out)
    guess = np.minimum(np.nan_to_num(out, copy=False), len(reaches) - 2.0).astype(np.intp)
    guess += reaches[guess] < counts
    guess -= (guess > 0) & (reaches[guess - 1] >= counts)
    np.copyto(out, guess)
    np.copyto(out, counts, where=~(counts < np.inf))


@lru_cache(maxsize=64)
def _reaches(radix: float) -> Array:
    """List the largest doubles not above radix^k, k = 0, 1, ..., and infinity: comparing with
    them is exact.
    """
    check_radix(radix)
    reaches, power = [], 1
    while power <= _LARGEST:
        nearest = float(power)
        reaches.append(nearest if int(nearest) <= power else float(np.nextafter(nearest, 0.0)))
        power *= int(radix)
    return np.array([*reaches, np.inf])


def _power(args: Sequence[Array], out: Array) -> None:
    # Multiplying keeps one point and the same point in a sweep equal to the last bit; np.power does
    # not.
    out[...] = _whole_power(args[0], int(args[1].flat[0]))


def _whole_power(base: Array, exponent: int) -> Array:
    square, result = base, np.ones_like(base)
    for bit in reversed(bin(abs(exponent))[2:]):
        result = result * square if bit == "1" else result
        square = square * square
    return result if exponent >= 0 else 1.0 / result


def _first_attaining(args: Sequence[Array], value: Array, bar: Array) -> list[Array]:
    """Return the whole derivative to the first operand that equals the extreme."""
    free = np.ones(np.shape(value), dtype=bool)
    shares = []
    for arg in args:
        attains = free & (arg == value)
        free = free & ~attains
        shares.append(np.where(attains, bar, 0.0))
    return shares


def _select_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    below = args[0] <= args[1]
    return [None, None, np.where(below, bar, 0.0), np.where(below, 0.0, bar)]


def _power_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    base, exponent = args[0], int(args[1].flat[0])
    # Not value / base, which has no value where the base is 0.
    return [
        bar * exponent * _whole_power(base, exponent - 1) if exponent else np.zeros_like(bar),
        None,
    ]


MOST_PRESENT = 1000.0
"""Customers are counted one by one; more of them than this give no number."""

_REACH = 128
"""Arrivals within one service time that matter: each further one is rarer by more than the queue
is longer.
"""


def _md1_levels(load: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the probability of 0, 1, 2 ... customers present, and its derivative by the load,
    without end.

    With a_i the chance of i arrivals in a service time and A_k that of k or more,

        p_0 = 1 - a,  p_j = (p_0 A_j + sum_{i=1..j-1} p_i A_(j+1-i)) / a_0.
    """
    empty = 1.0 - load
    yield empty, np.full_like(load, -1.0)
    arrived = [np.exp(-load)]
    for count in range(1, _REACH + 16):
        arrived.append(arrived[-1] * load / count)
    more = np.cumsum(np.array(arrived)[::-1], axis=0)[::-1]
    # What j + 1 - i arrivals or more are multiplied with: the latest level comes with two of them.
    before: deque[tuple[Array, Array]] = deque(maxlen=_REACH)
    for level in count_from(1):
        near = level <= _REACH
        value = empty * more[level] if near else np.zeros_like(load)
        slope = empty * arrived[level - 1] - more[level] if near else np.zeros_like(load)
        for back, (each, its) in enumerate(before):
            value = value + each * more[back + 2]
            slope = slope + its * more[back + 2] + each * arrived[back + 1]
        value = value / arrived[0]
        slope = slope / arrived[0] + value
        before.appendleft((value, slope))
        yield value, slope


def _all_levels(load: Array, count: Array, use: Callable[[int, Array, Array], None]) -> None:
    most = int(np.max(np.where(count <= MOST_PRESENT, count, 0.0), initial=0.0))
    for level, (value, slope) in enumerate(_md1_levels(load)):
        use(level, value, slope)
        if level >= most:
            return


def _numbers(load: Array, count: Array) -> tuple[Array, Array]:
    shape = np.broadcast_shapes(np.shape(load), np.shape(count))
    found, slopes = np.full(shape, np.nan), np.full(shape, np.nan)

    def take(level: int, value: Array, slope: Array) -> None:
        here = count == level
        np.copyto(found, value, where=here)
        np.copyto(slopes, slope, where=here)

    _all_levels(load, count, take)
    return found, slopes


def _md1_number(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of a number of customers present: operands load and count."""
    out[...] = _numbers(args[0], args[1])[0]


def _md1_number_slopes(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Return the derivative of `number` by the load; there is none by the count."""
    return [bar * _numbers(args[0], args[1])[1], None]


def _in_time(load: Array, elapsed: Array) -> tuple[Array, Array, Array]:
    """Return the probability of a wait of at most a number of service times, and its derivatives by
    load and time.

    With k the next whole number above x, P(W <= x) = sum_{j=0..k-1} P(N <= k - j) pi_j, where pi_j
    is the chance of j arrivals in k - x service times.
    """
    load, elapsed = np.broadcast_arrays(load, elapsed)
    following = np.floor(elapsed) + 1.0
    rest = following - elapsed
    mean = np.maximum(load * rest, 1e-300)
    total, by_load, by_time = (np.zeros(load.shape) for _ in range(3))
    present, its = np.zeros(load.shape), np.zeros(load.shape)

    def add(level: int, value: Array, slope: Array) -> None:
        nonlocal present, its
        present, its = present + value, its + slope
        if not level:
            return
        arrivals = following - level
        chance, one_less = np.empty(load.shape), np.empty(load.shape)
        _poisson([mean, np.maximum(arrivals, 0.0)], chance)
        _poisson([mean, np.maximum(arrivals - 1.0, 0.0)], one_less)
        there = arrivals >= 0.0
        change = np.where(arrivals >= 1.0, one_less, 0.0) - chance
        np.add(total, present * chance, out=total, where=there)
        np.add(by_load, its * chance + present * change * rest, out=by_load, where=there)
        np.subtract(by_time, present * change * load, out=by_time, where=there)

    _all_levels(load, following, add)
    beyond = following > MOST_PRESENT
    for each in (total, by_load, by_time):
        each[beyond] = np.nan
    return total, by_load, by_time


def _md1_late(args: Sequence[Array], out: Array) -> None:
    """Compute the probability of a wait of more than a number of service times: operands load
    and time.
    """
    np.subtract(1.0, _in_time(args[0], args[1])[0], out=out)


def _md1_late_slopes(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    """Return the derivatives of `late` by load and time; between whole service times it has
    both.
    """
    _, by_load, by_time = _in_time(args[0], args[1])
    return [-bar * by_load, -bar * by_time]


class Operator(NamedTuple):
    """What an operator does to arrays.

    Parameters
    ----------
    evaluate : writes the result into `out`, which may not be one of several operands it still has
        to read
    derive : from operands, value and the derivative of the result, the derivative by each operand;
        None where there is none: steps are flat between their jumps, a range limit only chooses,
        and what counts does not vary
    """

    evaluate: Evaluation
    derive: Adjoint


OPERATORS: dict[str, Operator] = {
    "sum": Operator(_fold("add"), lambda args, value, bar: [bar] * len(args)),
    "difference": Operator(_fold("subtract"), lambda args, value, bar: [bar, -bar]),
    "product": Operator(_fold("multiply"), lambda args, value, bar: [bar * args[1], bar * args[0]]),
    "quotient": Operator(
        _fold("divide"), lambda args, value, bar: [bar / args[1], -bar * value / args[1]]
    ),
    "max": Operator(_fold("maximum"), _first_attaining),
    "min": Operator(_fold("minimum"), _first_attaining),
    "ceil": Operator(_of_one("ceil"), lambda args, value, bar: [None]),
    "floor": Operator(_of_one("floor"), lambda args, value, bar: [None]),
    "log2": Operator(_of_one("log2"), lambda args, value, bar: [bar / (args[0] * np.log(2.0))]),
    "sqrt": Operator(_of_one("sqrt"), lambda args, value, bar: [bar / (2.0 * value)]),
    "ceil_log": Operator(_ceil_log, lambda args, value, bar: [None, None]),
    "power": Operator(_power, _power_adjoint),
    "select": Operator(_select, _select_adjoint),
    "exp": Operator(_of_one("exp"), lambda args, value, bar: [bar * value]),
    "log": Operator(_of_one("log"), lambda args, value, bar: [bar / args[0]]),
    "pow": Operator(_pow, _pow_adjoint),
    "exprel": Operator(_exprel, _exprel_adjoint),
    "geometric_sum": Operator(_geometric_sum, _geometric_sum_adjoint),
    "geometric_mean": Operator(_geometric_mean, _geometric_mean_adjoint),
    "erlang_b": Operator(_erlang_b, _erlang_b_adjoint),
    "palm": Operator(_palm, _palm_adjoint),
    "engset": Operator(_engset, _engset_adjoint),
    "poisson": Operator(_poisson, _poisson_adjoint),
    "md1_number": Operator(_md1_number, _md1_number_slopes),
    "md1_late": Operator(_md1_late, _md1_late_slopes),
    "drop_stages": Operator(_drop_stages, _drop_stages_adjoint),
    "retried_rate": Operator(_retried_rate, _retried_rate_adjoint),
}
