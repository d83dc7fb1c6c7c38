"""Curves over the number of processors: laws of speed-up, latencies, powers and logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.law.speedup import AMDAHL_SPEEDUP, UNIVERSAL_SCALABILITY
from slipstick.measure.fit.forms import Form, Letter, Lost, linear, nonnegative, shared
from slipstick.measure.fit.spread import largest_of
from slipstick.measure.fit.timings import Array, Timings

__all__ = ["amdahl", "latency", "phase_barrier", "power_log", "usl"]

_SINGLE = Letter("single", "s", "time on one processor")


def _over(timings: Timings) -> str:
    return "" if timings.each else " / p"


def amdahl(timings: Timings) -> Iterator[Form]:
    """Give Amdahl's law."""

    def time(theta: Array, at: Timings) -> Array:
        single, serial = theta
        found: Array = single * at.p / AMDAHL_SPEEDUP.equation(serial=serial, processors=at.p) / shared(at)
        return found

    def lost(theta: Array, at: Timings) -> Lost:
        return {"serial part": time(theta, at) - theta[0] / shared(at)}

    def starts(at: Timings) -> list[Array]:
        return _ratios(at, [np.ones(len(at)), at.p - 1])

    letters = (_SINGLE, Letter("serial", "1", "part of the work that only one processor at a time can do", 1.0))
    yield Form("amdahl", f"T = single (1 + serial (p - 1)){_over(timings)}", letters, time, starts, lost=lost)


def usl(timings: Timings) -> Iterator[Form]:
    """Give the universal scalability law."""

    def time(theta: Array, at: Timings) -> Array:
        single, contention, coherency = theta
        capacity = UNIVERSAL_SCALABILITY.equation(contention=contention, coherency=coherency, processors=at.p)
        found: Array = single * at.p / capacity / shared(at)
        return found

    def lost(theta: Array, at: Timings) -> Lost:
        without = time(theta * np.array([1, 1, 0]), at)
        return {"contention": without - theta[0] / shared(at), "coherency": time(theta, at) - without}

    def starts(at: Timings) -> list[Array]:
        return _ratios(at, [np.ones(len(at)), at.p - 1, at.p * (at.p - 1)])

    letters = (
        _SINGLE,
        Letter("contention", "1", "part of the work that queues", 1.0),
        Letter("coherency", "1", "cost of keeping each pair of processors consistent"),
    )
    text = f"T = single (1 + contention (p - 1) + coherency p (p - 1)){_over(timings)}"
    yield Form("usl", text, letters, time, starts, lost=lost)


def _ratios(at: Timings, columns: list[Array]) -> list[Array]:
    """Start at the best sum of the columns, with the first coefficient taken out."""
    found = nonnegative(np.column_stack(columns) / shared(at)[:, None], at.time)
    first = found[0] if found[0] > 0 else float(at.time[0])
    return [np.array([first, *(found[1:] / first)])]


def phase_barrier(timings: Timings) -> Iterator[Form]:
    """Give phases of random work, each until the slowest is done, and a barrier that costs a step a doubling."""

    def spread(at: Timings) -> Array:
        return largest_of(at.p) / (np.ones(len(at)) if at.each else np.sqrt(at.p))

    yield linear(
        "phase-barrier",
        "T = work + spread largest(p) + step log2(p)"
        if timings.each
        else "T = work / p + spread largest(p) / sqrt(p) + step log2(p)",
        [
            (Letter("work", "s", "mean work between two barriers"), lambda at: 1 / shared(at)),
            (Letter("spread", "s", "standard deviation of the work between two barriers"), spread),
            (Letter("step", "s", "cost of the barrier a doubling"), lambda at: np.log2(at.p)),
        ],
        lost={"spread": "waiting for the slowest", "step": "barrier"},
    )


_FRACTIONS = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_EXPONENTS = [Fraction(text) for text in _FRACTIONS.split()]
_LOGS = (0, 1, 2)


def power_log(timings: Timings) -> Iterator[Form]:
    """Give one power of p times one power of its logarithm, falling powers only where the work is shared."""
    constant = Letter("constant", "s", "what does not change with p")
    yield linear("power-log", "T = constant", [(constant, lambda at: np.ones(len(at)))])
    falling = [] if timings.each else [-power for power in _EXPONENTS if 0 < power <= 1]
    for power, log in product([*falling, *_EXPONENTS], _LOGS):
        if power or log:
            factor = Letter("factor", "s", "of the term in p")
            term = _term("p", power, log)
            yield linear(
                "power-log",
                f"T = constant + factor {term}",
                [(constant, lambda at: np.ones(len(at))), (factor, _power(power, log))],
                chosen=2,
            )


_GROWTH = [Fraction(text) for text in ["0", "1/2", "1", "3/2", "2"]]


def latency(timings: Timings) -> Iterator[Form]:
    """Scale-Graph, equation 3: T = W t_c / N + L(W, N), with L a constant and one term in powers and logarithms."""
    if timings.each and not timings.sized:
        raise NoAnswerError("with one size, and a work of each processor's own, latency is power-log by another name")
    sizes = [Fraction(0), Fraction(1, 2), Fraction(1)] if timings.sized else [Fraction(0)]
    work = Letter("work", "s", "time of one unit of work on one processor")
    useful = (work, lambda at: at.n / shared(at))
    for power, log, size in product(_GROWTH, _LOGS, sizes):
        words = " ".join(filter(None, [_term("p", power, log), _term("n", size, 0)]))
        letter = Letter("latency", "s", "factor of the average latency")
        text = f"T = work n{_over(timings)} + latency {words}".rstrip()
        terms = [useful, (letter, _power(power, log, size))]
        yield linear("latency", text, terms, chosen=2 + timings.sized, lost={"latency": "latency"})


def _power(power: Fraction, log: int, size: Fraction = Fraction(0)) -> Callable[[Timings], Array]:
    def basis(at: Timings) -> Array:
        found: Array = at.p ** float(power) * np.log2(at.p) ** log * at.n ** float(size)
        return found

    return basis


def _term(letter: str, power: Fraction, log: int) -> str:
    words = (
        "" if power == 0 else letter if power == 1 else f"{letter}^{power if power.denominator == 1 else f'({power})'}"
    )
    logs = "" if log == 0 else f"log2({letter})" if log == 1 else f"log2({letter})^{log}"
    return " ".join(filter(None, [words, logs]))
