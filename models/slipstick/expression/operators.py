"""What each operator and special function of an expression does to arrays, and to derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import factorial
from sys import float_info
from typing import NamedTuple

from slipstick.expression.nodes import (
    check_radix,
)
from slipstick.expression.queue_functions import (
    drop_stages,
    drop_stages_adjoint,
    engset,
    engset_adjoint,
    erlang_b,
    erlang_b_adjoint,
    md1_late,
    md1_late_slopes,
    md1_number,
    md1_number_slopes,
    palm,
    palm_adjoint,
    poisson,
    poisson_adjoint,
    retried_rate,
    retried_rate_adjoint,
    series,
)
from slipstick.late import Array, np

Evaluation = Callable[[Sequence[Array], Array], object]
Adjoint = Callable[[Sequence[Array], Array, Array], Sequence["Array | None"]]

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
_CURVES = tuple((2 * k - 1) * slope for k, slope in enumerate(_SLOPES, 1))


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
    # At x = 0 the quotient is 0 / 0.
    np.copyto(out, 1.0, where=args[0] == 0.0)


def _exprel_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    x = args[0]
    near = series([1 / (factorial(k) * (k + 2)) for k in range(18)], x)
    return [bar * np.where(np.abs(x) < 1.0, near, (np.exp(x) - value) / x)]


def _geometric_sum(args: Sequence[Array], out: Array) -> None:
    step = np.log(args[0])
    np.divide(np.expm1(args[1] * step), np.expm1(step), out=out)
    # At r = 1 the quotient is 0 / 0; the sum is the number of terms.
    np.copyto(out, args[1], where=step == 0.0)


def _geometric_sum_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    mean = np.empty(np.shape(bar))
    _geometric_mean([args[0], args[1] - 1.0], mean)
    return [bar * value * mean / args[0], None]


def _geometric_mean(args: Sequence[Array], out: Array) -> None:
    step = np.log(args[0])
    most = args[1]
    count = most + 1.0
    small = np.abs(step)
    wide = small * count
    # Far from 1: r / (1 - r) - (K+1) r^(K+1) / (1 - r^(K+1)), from whichever side has r < 1.
    np.subtract(1.0 / np.expm1(small), count / np.expm1(wide), out=out)
    np.copyto(out, most - out, where=step > 0.0)
    if np.min(wide) <= 1.0:
        # Near 1 the two terms cancel; what is left of them is K/2 and an odd series.
        near = most / 2.0 + step * (count**2 * series(_SLOPES, wide**2) - series(_SLOPES, small**2))
        np.copyto(out, near, where=wide <= 1.0)
    np.copyto(out, 0.0, where=most <= 0.0)


def _geometric_mean_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    step = np.abs(np.log(args[0]))
    count = args[1] + 1.0
    wide = step * count
    # Beyond 1400 sinh(x / 2) overflows, where the term is far below rounding already.
    far = (0.5 / np.sinh(step / 2.0)) ** 2 - (
        count * 0.5 / np.sinh(np.minimum(wide, 1400.0) / 2.0)
    ) ** 2
    near = count**2 * series(_CURVES, wide**2) - series(_CURVES, step**2)
    return [bar * np.where(wide > 1.0, far, near) / args[0], None]


_LARGEST = int(float_info.max)


def _fold(name: str) -> Evaluation:
    """Return a function that combines operands from left to right by a NumPy function; leading
    operands of length 1 are combined as single numbers.
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
        levels = np.empty(int(np.count_nonzero(chosen)))
        _levels(counts[chosen], float(radix), levels)
        out[chosen] = levels


def _levels(counts: Array, radix: float, out: Array) -> None:
    """Compute ceil(log_radix(count)) into `out`: a guess by logarithms, corrected by one where a
    comparison with the powers shows it wrong.
    """
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
    """Return the largest doubles not above radix^k for k = 0, 1, ..., and infinity; comparisons
    with them are exact.
    """
    check_radix(radix)
    reaches = []
    power = 1
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
    square = base
    result = np.ones_like(base)
    for bit in reversed(bin(abs(exponent))[2:]):
        result = result * square if bit == "1" else result
        square = square * square
    return result if exponent >= 0 else 1.0 / result


def _first_attaining(args: Sequence[Array], value: Array, bar: Array) -> list[Array]:
    """Assign the derivative of an extreme to the first operand that equals it."""
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
    base = args[0]
    exponent = int(args[1].flat[0])
    # Not value / base, which has no value where the base is 0.
    return [
        bar * exponent * _whole_power(base, exponent - 1) if exponent else np.zeros_like(bar),
        None,
    ]


class Operator(NamedTuple):
    """An operator of expressions: the functions that evaluate it on arrays and propagate
    derivatives.

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
    "erlang_b": Operator(erlang_b, erlang_b_adjoint),
    "palm": Operator(palm, palm_adjoint),
    "engset": Operator(engset, engset_adjoint),
    "poisson": Operator(poisson, poisson_adjoint),
    "md1_number": Operator(md1_number, md1_number_slopes),
    "md1_late": Operator(md1_late, md1_late_slopes),
    "drop_stages": Operator(drop_stages, drop_stages_adjoint),
    "retried_rate": Operator(retried_rate, retried_rate_adjoint),
}
