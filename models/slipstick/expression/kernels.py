"""What each operator does to arrays, and to derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.levels import check_radix
from slipstick.expression.special_kernels import SPECIAL_ADJOINT, SPECIAL_KERNELS

__all__ = ["ADJOINT", "KERNELS", "Array"]

Array = NDArray[np.float64]
Kernel = Callable[[Sequence[Array], Array], object]
Adjoint = Callable[[Sequence[Array], Array, Array], Sequence["Array | None"]]

_LARGEST = int(np.finfo(np.float64).max)


def _fold(function: np.ufunc) -> Kernel:
    """Combine operands from left to right; as long as they hold for all points, one number does."""

    def kernel(args: Sequence[Array], out: Array) -> None:
        first, *rest = args
        while len(rest) > 1 and len(first) == len(rest[0]) == 1:
            first = function(first, rest.pop(0))
        function(first, rest[0], out=out)
        for arg in rest[1:]:
            function(out, arg, out=out)

    return kernel


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
    """List the largest doubles not above radix^k, k = 0, 1, ..., and infinity: comparing with them is exact."""
    check_radix(radix)
    reaches, power = [], 1
    while power <= _LARGEST:
        nearest = float(power)
        reaches.append(nearest if int(nearest) <= power else float(np.nextafter(nearest, 0.0)))
        power *= int(radix)
    return np.array([*reaches, np.inf])


def _power(args: Sequence[Array], out: Array) -> None:
    # Multiplying keeps one point and the same point in a sweep equal to the last bit; np.power does not.
    out[...] = _whole_power(args[0], int(args[1].flat[0]))


def _whole_power(base: Array, exponent: int) -> Array:
    square, result = base, np.ones_like(base)
    for bit in reversed(bin(abs(exponent))[2:]):
        result = result * square if bit == "1" else result
        square = square * square
    return result if exponent >= 0 else 1.0 / result


KERNELS: dict[str, Kernel] = {
    "sum": _fold(np.add),
    "difference": _fold(np.subtract),
    "product": _fold(np.multiply),
    "quotient": _fold(np.divide),
    "max": _fold(np.maximum),
    "min": _fold(np.minimum),
    "ceil": lambda args, out: np.ceil(args[0], out=out),
    "floor": lambda args, out: np.floor(args[0], out=out),
    "log2": lambda args, out: np.log2(args[0], out=out),
    "sqrt": lambda args, out: np.sqrt(args[0], out=out),
    "ceil_log": _ceil_log,
    "power": _power,
    "select": _select,
    **SPECIAL_KERNELS,
}
"""Each writes its result into `out`, which may not be one of several operands it still has to read."""


def _first_attaining(args: Sequence[Array], value: Array, bar: Array) -> list[Array]:
    """Give the whole derivative to the first operand that equals the extreme."""
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
    return [bar * exponent * _whole_power(base, exponent - 1) if exponent else np.zeros_like(bar), None]


ADJOINT: dict[str, Adjoint] = {
    "sum": lambda args, value, bar: [bar] * len(args),
    "difference": lambda args, value, bar: [bar, -bar],
    "product": lambda args, value, bar: [bar * args[1], bar * args[0]],
    "quotient": lambda args, value, bar: [bar / args[1], -bar * value / args[1]],
    "max": _first_attaining,
    "min": _first_attaining,
    "ceil": lambda args, value, bar: [None],
    "floor": lambda args, value, bar: [None],
    "log2": lambda args, value, bar: [bar / (args[0] * np.log(2.0))],
    "sqrt": lambda args, value, bar: [bar / (2.0 * value)],
    "ceil_log": lambda args, value, bar: [None, None],
    "power": _power_adjoint,
    "select": _select_adjoint,
    **SPECIAL_ADJOINT,
}
"""From operands, value and the derivative of the result, the derivative by each operand.

None where there is none: steps are flat between their jumps, and a range limit only chooses."""
