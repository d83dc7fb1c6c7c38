"""How the special functions are computed over arrays, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

from slipstick.expression import special_md1

__all__ = ["SPECIAL_ADJOINT", "SPECIAL_KERNELS"]

Array = NDArray[np.float64]
Kernel = Callable[[Sequence[Array], Array], object]
Adjoint = Callable[[Sequence[Array], Array, Array], Sequence["Array | None"]]

MOST = 1e7
"""Servers are counted one by one; more of them than this give no number."""

MOST_STAGES = 1024.0
"""The same for stages of switches: with two branches each, as many leaves as a double can count."""

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
# h(y) = coth(y/2)/2 - 1/y = sum_k B_2k y^(2k-1) / (2k)!: ten terms reach the last bit for |y| <= 1.
_SLOPES = tuple(number / factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1))
_CURVES = tuple((2 * k - 1) * each for k, each in enumerate(_SLOPES, 1))

_ODD = tuple(1 / k for k in range(3, 19, 2))
# (atanh(v) - v) / v^3 to the last bit for |v| < 0.1.


def _pow(args: Sequence[Array], out: Array) -> None:
    # Of one length, because NumPy takes a short cut, with other last bits, where one exponent holds for all.
    base, exponent = (np.ascontiguousarray(np.broadcast_to(arg, out.shape)) for arg in args)
    np.power(base, exponent, out=out)


def _pow_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    base, exponent = args
    # 0^0 is 1, and its derivative by the base is 0 like that of any constant.
    slope = np.where(exponent == 0.0, 0.0, exponent * np.power(base, exponent - 1.0))
    return [bar * slope, np.where(value == 0.0, 0.0, bar * value * np.log(np.where(base > 0.0, base, 1.0)))]


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
        near = most / 2.0 + step * (count**2 * _series(_SLOPES, wide**2) - _series(_SLOPES, small**2))
        np.copyto(out, near, where=wide <= 1.0)
    np.copyto(out, 0.0, where=most <= 0.0)


def _geometric_mean_adjoint(args: Sequence[Array], value: Array, bar: Array) -> list[Array | None]:
    step, count = np.abs(np.log(args[0])), args[1] + 1.0
    wide = step * count
    far = (0.5 / np.sinh(step / 2.0)) ** 2 - (count * 0.5 / np.sinh(np.minimum(wide, 1400.0) / 2.0)) ** 2
    near = count**2 * _series(_CURVES, wide**2) - _series(_CURVES, step**2)
    return [bar * np.where(wide > 1.0, far, near) / args[0], None]


def _counted(count: Array, most: float = MOST) -> Array:
    """Take counts as they are, but what cannot be counted one by one as no number: 0 steps, and NaN at the end."""
    return count if float(np.max(count, initial=0.0)) <= most else np.where(count <= most, count, np.nan)


def _most(count: Array) -> int:
    return int(np.max(np.nan_to_num(count), initial=0.0))


def _inverse_loss(ratio: Callable[[Array], Array], first: Array, servers: Array, out: Array) -> None:
    """Run I_k = 1 + ratio(k) I_{k-1} up to k = servers, from I = 1 at k = first.

    Counting from the end lets each point have its own number of servers: the ratio at 0 is 0, and I is 1 until then.
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
    """Tell where to begin: terms of the sum fall off as exp(-i^2 / 2c) below the largest, so nine widths are enough."""
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


def _engset(args: Sequence[Array], out: Array) -> None:
    load, servers, sources = args[0], _counted(args[1]), args[2]
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
_FACTORIALS = np.array([lgamma(n + 1.0) - (n + 0.5) * log(n or 1.0) + n - 0.5 * log(2.0 * pi) for n in range(16)])
"""log n! less Stirling's formula without its series."""


def _poisson(args: Sequence[Array], out: Array) -> None:
    mean, count = args
    large = np.maximum(count, 16.0)
    corrected = np.where(
        count < 16.0,
        _FACTORIALS[np.clip(np.nan_to_num(count), 0.0, 15.0).astype(int)],
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
    """Give the rate behind one stage; by logarithms, because 1 - m/b loses a small m."""
    result: Array = -np.expm1(inputs * np.log1p(-rate / outputs))
    return result


def _through(rate: Array, inputs: Array, outputs: Array, stages: Array) -> tuple[Array, Array]:
    """Give the rate behind the stages and its derivative."""
    stages = _counted(stages, MOST_STAGES)
    slope = np.ones(np.broadcast_shapes(*(np.shape(each) for each in (rate, inputs, outputs, stages))))
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
    # The balance is concave and rises: Newton's steps from below stay below, until rounding stops them.
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
    return [bar * (fan * behind + 1.0 - value) / (fan * slope * (1.0 - rate) + rate), None, None, None]


SPECIAL_KERNELS: dict[str, Kernel] = {
    "exp": lambda args, out: np.exp(args[0], out=out),
    "log": lambda args, out: np.log(args[0], out=out),
    "pow": _pow,
    "exprel": _exprel,
    "geometric_sum": _geometric_sum,
    "geometric_mean": _geometric_mean,
    "erlang_b": _erlang_b,
    "engset": _engset,
    "poisson": _poisson,
    "md1_number": special_md1.number,
    "md1_late": lambda args, out: special_md1.late(args, out, _poisson),
    "drop_stages": _drop_stages,
    "retried_rate": _retried_rate,
}
"""Each writes its result into `out`, after reading its operands for the last time."""

SPECIAL_ADJOINT: dict[str, Adjoint] = {
    "exp": lambda args, value, bar: [bar * value],
    "log": lambda args, value, bar: [bar / args[0]],
    "pow": _pow_adjoint,
    "exprel": _exprel_adjoint,
    "geometric_sum": _geometric_sum_adjoint,
    "geometric_mean": _geometric_mean_adjoint,
    "erlang_b": _erlang_b_adjoint,
    "engset": _engset_adjoint,
    "poisson": _poisson_adjoint,
    "md1_number": special_md1.number_slopes,
    "md1_late": lambda args, value, bar: special_md1.late_slopes(args, bar, _poisson),
    "drop_stages": _drop_stages_adjoint,
    "retried_rate": _retried_rate_adjoint,
}
"""From operands, value and the derivative of the result, the derivative by each operand; none by a count."""
