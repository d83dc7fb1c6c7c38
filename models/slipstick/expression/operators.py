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
    md1_late_adjoint,
    md1_number,
    md1_number_adjoint,
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
_COTH_COEFFICIENTS = tuple(number / factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1))
_COTH_SLOPE_COEFFICIENTS = tuple(
    (2 * k - 1) * slope for k, slope in enumerate(_COTH_COEFFICIENTS, 1)
)


def _evaluate_power(operands: Sequence[Array], out: Array) -> None:
    """Evaluate a power of plain numbers, from base and exponent."""
    # Of one length, because NumPy takes a short cut, with other last bits, where one exponent holds
    # for all.
    base, exponent = (
        np.ascontiguousarray(np.broadcast_to(operand, out.shape)) for operand in operands
    )
    np.power(base, exponent, out=out)


def _pow_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoints of base and exponent of a power of plain numbers."""
    base, exponent = operands
    # 0^0 is 1, and its derivative by the base is 0 like that of any constant.
    slope = np.where(exponent == 0.0, 0.0, exponent * np.power(base, exponent - 1.0))
    return [
        adjoint * slope,
        np.where(value == 0.0, 0.0, adjoint * value * np.log(np.where(base > 0.0, base, 1.0))),
    ]


def _evaluate_relative_exponential(operands: Sequence[Array], out: Array) -> None:
    """Evaluate (exp(x) - 1) / x, with its limit 1 at x = 0."""
    (x,) = operands
    np.divide(np.expm1(x), x, out=out)
    # At x = 0 the quotient is 0 / 0.
    np.copyto(out, 1.0, where=x == 0.0)


def _relative_exponential_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of the operand x of (exp(x) - 1) / x."""
    (x,) = operands
    # Near 0 both terms of (exp(x) - value) / x cancel; 18 terms of the series reach rounding up to
    # |x| = 1.
    series_near_zero = series([1 / (factorial(k) * (k + 2)) for k in range(18)], x)
    return [adjoint * np.where(np.abs(x) < 1.0, series_near_zero, (np.exp(x) - value) / x)]


def _evaluate_geometric_sum(operands: Sequence[Array], out: Array) -> None:
    """Evaluate the sum 1 + r + r^2 + ... of a number of terms, from the ratio and the number."""
    ratio, term_count = operands
    log_ratio = np.log(ratio)
    np.divide(np.expm1(term_count * log_ratio), np.expm1(log_ratio), out=out)
    # At r = 1 the quotient is 0 / 0; the sum is the number of terms.
    np.copyto(out, term_count, where=log_ratio == 0.0)


def _geometric_sum_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of the ratio of a geometric sum; None for the number of terms."""
    ratio, term_count = operands
    mean_exponent = np.empty(np.shape(adjoint))
    _evaluate_geometric_mean([ratio, term_count - 1.0], mean_exponent)
    return [adjoint * value * mean_exponent / ratio, None]


def _evaluate_geometric_mean(operands: Sequence[Array], out: Array) -> None:
    """Evaluate the mean of the numbers 0 to K with weights 1, r, r^2 ..., from r and K."""
    ratio, largest_count = operands
    log_ratio = np.log(ratio)
    value_count = largest_count + 1.0
    log_distance = np.abs(log_ratio)
    scaled_distance = log_distance * value_count
    # Far from 1: r / (1 - r) - (K+1) r^(K+1) / (1 - r^(K+1)), from whichever side has r < 1.
    np.subtract(1.0 / np.expm1(log_distance), value_count / np.expm1(scaled_distance), out=out)
    np.copyto(out, largest_count - out, where=log_ratio > 0.0)
    if np.min(scaled_distance) <= 1.0:
        # Near 1 the two terms cancel; what is left of them is K/2 and an odd series.
        series_near_one = largest_count / 2.0 + log_ratio * (
            value_count**2 * series(_COTH_COEFFICIENTS, scaled_distance**2)
            - series(_COTH_COEFFICIENTS, log_distance**2)
        )
        np.copyto(out, series_near_one, where=scaled_distance <= 1.0)
    np.copyto(out, 0.0, where=largest_count <= 0.0)


def _geometric_mean_adjoint(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array | None]:
    """Return the adjoint of the ratio of a geometric mean; None for the largest count."""
    ratio, largest_count = operands
    log_distance = np.abs(np.log(ratio))
    value_count = largest_count + 1.0
    scaled_distance = log_distance * value_count
    # Beyond 1400 sinh(x / 2) overflows, where the term is far below rounding already.
    slope_far_from_one = (0.5 / np.sinh(log_distance / 2.0)) ** 2 - (
        value_count * 0.5 / np.sinh(np.minimum(scaled_distance, 1400.0) / 2.0)
    ) ** 2
    slope_near_one = value_count**2 * series(_COTH_SLOPE_COEFFICIENTS, scaled_distance**2) - series(
        _COTH_SLOPE_COEFFICIENTS, log_distance**2
    )
    return [
        adjoint * np.where(scaled_distance > 1.0, slope_far_from_one, slope_near_one) / ratio,
        None,
    ]


_LARGEST = int(float_info.max)


def _folding_function(numpy_name: str) -> Evaluation:
    """Return a function that combines operands from left to right by a NumPy function; leading
    operands of length 1 are combined as single numbers.
    """

    def fold_operands(operands: Sequence[Array], out: Array) -> None:
        function, (accumulated, *remaining_operands) = getattr(np, numpy_name), operands
        while len(remaining_operands) > 1 and len(accumulated) == len(remaining_operands[0]) == 1:
            accumulated = function(accumulated, remaining_operands.pop(0))
        function(accumulated, remaining_operands[0], out=out)
        for operand in remaining_operands[1:]:
            function(out, operand, out=out)

    return fold_operands


def _elementwise_function(numpy_name: str) -> Evaluation:
    """Return a function that evaluates a NumPy function of one operand."""
    return lambda operands, out: getattr(np, numpy_name)(operands[0], out=out)


def _evaluate_choice(operands: Sequence[Array], out: Array) -> None:
    """Evaluate a choice by range: `below` where operand <= limit, else `above`."""
    operand, limit, below, above = operands
    takes_below = operand <= limit
    np.copyto(out, above)
    np.copyto(out, below, where=takes_below)


def _evaluate_ceil_log(operands: Sequence[Array], out: Array) -> None:
    """Evaluate ceil(log_radix(count)) exactly."""
    counts, radices = operands
    if len(radices) == 1:
        _count_levels(counts, float(radices[0]), out)
        return
    counts = np.broadcast_to(counts, out.shape)
    for radix in np.unique(radices):
        has_radix = radices == radix
        levels_of_radix = np.empty(int(np.count_nonzero(has_radix)))
        _count_levels(counts[has_radix], float(radix), levels_of_radix)
        out[has_radix] = levels_of_radix


def _count_levels(counts: Array, radix: float, out: Array) -> None:
    """Compute ceil(log_radix(count)) into `out`: a guess by logarithms, corrected by one where a
    comparison with the powers shows it wrong.
    """
    leaves_by_level = _leaves_by_level(radix)
    np.log(np.maximum(counts, 1.0), out=out)
    out *= 1.0 / np.log(radix)
    np.ceil(out, out=out)
    guessed_levels = np.minimum(np.nan_to_num(out, copy=False), len(leaves_by_level) - 2.0).astype(
        np.intp
    )
    guessed_levels += leaves_by_level[guessed_levels] < counts
    guessed_levels -= (guessed_levels > 0) & (leaves_by_level[guessed_levels - 1] >= counts)
    np.copyto(out, guessed_levels)
    np.copyto(out, counts, where=~(counts < np.inf))


# Trees of a model have few radixes, but are evaluated at each block of points.
@lru_cache(maxsize=64)
def _leaves_by_level(radix: float) -> Array:
    """Return the largest doubles not above radix^k for k = 0, 1, ..., and infinity; comparisons
    with them are exact.
    """
    check_radix(radix)
    leaf_counts = []
    radix_power = 1
    while radix_power <= _LARGEST:
        nearest_double = float(radix_power)
        # A double above the power would promise a level more leaves than it has.
        leaf_counts.append(
            nearest_double
            if int(nearest_double) <= radix_power
            else float(np.nextafter(nearest_double, 0.0))
        )
        radix_power *= int(radix)
    return np.array([*leaf_counts, np.inf])


def _evaluate_whole_power(operands: Sequence[Array], out: Array) -> None:
    """Evaluate a power with a whole exponent, by multiplication."""
    # Multiplying keeps one point and the same point in a sweep equal to the last bit; np.power does
    # not.
    base, exponent = operands
    out[...] = _whole_power(base, int(exponent.flat[0]))


def _whole_power(base: Array, exponent: int) -> Array:
    """Raise an array to a whole power by repeated multiplication."""
    base_power = base
    product = np.ones_like(base)
    for binary_digit in reversed(bin(abs(exponent))[2:]):
        product = product * base_power if binary_digit == "1" else product
        base_power = base_power * base_power
    return product if exponent >= 0 else 1.0 / product


def _adjoints_of_first_attaining(
    operands: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Return the adjoint of each operand of a maximum or minimum: that of the value for the first
    operand that equals it, 0 for all others.
    """
    is_unassigned = np.ones(np.shape(value), dtype=bool)
    operand_adjoints = []
    for operand in operands:
        attains_extreme = is_unassigned & (operand == value)
        is_unassigned = is_unassigned & ~attains_extreme
        operand_adjoints.append(np.where(attains_extreme, adjoint, 0.0))
    return operand_adjoints


def _select_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoints of the operands of a choice by range; None for the operand and the limit
    that are compared.
    """
    operand, limit, _, _ = operands
    takes_below = operand <= limit
    return [None, None, np.where(takes_below, adjoint, 0.0), np.where(takes_below, 0.0, adjoint)]


def _power_adjoint(operands: Sequence[Array], value: Array, adjoint: Array) -> list[Array | None]:
    """Return the adjoint of the base of a power with a whole exponent; None for the exponent."""
    base, exponent_column = operands
    exponent = int(exponent_column.flat[0])
    # Not value / base, which has no value where the base is 0.
    return [
        adjoint * exponent * _whole_power(base, exponent - 1)
        if exponent
        else np.zeros_like(adjoint),
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
    "sum": Operator(
        _folding_function("add"), lambda operands, value, adjoint: [adjoint] * len(operands)
    ),
    "difference": Operator(
        _folding_function("subtract"), lambda operands, value, adjoint: [adjoint, -adjoint]
    ),
    "product": Operator(
        _folding_function("multiply"),
        lambda operands, value, adjoint: [adjoint * operands[1], adjoint * operands[0]],
    ),
    "quotient": Operator(
        _folding_function("divide"),
        lambda operands, value, adjoint: [adjoint / operands[1], -adjoint * value / operands[1]],
    ),
    "max": Operator(_folding_function("maximum"), _adjoints_of_first_attaining),
    "min": Operator(_folding_function("minimum"), _adjoints_of_first_attaining),
    "ceil": Operator(_elementwise_function("ceil"), lambda operands, value, adjoint: [None]),
    "floor": Operator(_elementwise_function("floor"), lambda operands, value, adjoint: [None]),
    "log2": Operator(
        _elementwise_function("log2"),
        lambda operands, value, adjoint: [adjoint / (operands[0] * np.log(2.0))],
    ),
    "sqrt": Operator(
        _elementwise_function("sqrt"), lambda operands, value, adjoint: [adjoint / (2.0 * value)]
    ),
    "ceil_log": Operator(_evaluate_ceil_log, lambda operands, value, adjoint: [None, None]),
    "power": Operator(_evaluate_whole_power, _power_adjoint),
    "select": Operator(_evaluate_choice, _select_adjoint),
    "exp": Operator(
        _elementwise_function("exp"), lambda operands, value, adjoint: [adjoint * value]
    ),
    "log": Operator(
        _elementwise_function("log"), lambda operands, value, adjoint: [adjoint / operands[0]]
    ),
    "pow": Operator(_evaluate_power, _pow_adjoint),
    "exprel": Operator(_evaluate_relative_exponential, _relative_exponential_adjoint),
    "geometric_sum": Operator(_evaluate_geometric_sum, _geometric_sum_adjoint),
    "geometric_mean": Operator(_evaluate_geometric_mean, _geometric_mean_adjoint),
    "erlang_b": Operator(erlang_b, erlang_b_adjoint),
    "palm": Operator(palm, palm_adjoint),
    "engset": Operator(engset, engset_adjoint),
    "poisson": Operator(poisson, poisson_adjoint),
    "md1_number": Operator(md1_number, md1_number_adjoint),
    "md1_late": Operator(md1_late, md1_late_adjoint),
    "drop_stages": Operator(drop_stages, drop_stages_adjoint),
    "retried_rate": Operator(retried_rate, retried_rate_adjoint),
}
