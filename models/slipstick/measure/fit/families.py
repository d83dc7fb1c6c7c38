"""Kinds of models that are fitted: curves, and mechanisms with unknown demands.

All of them speak of one work. Shared by all processors (`Timings.each` false), p processors need W(p) processor
seconds for it, and the time is W(p) / p; where every processor has a work of its own, the time is W(p) itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.measure.fit.forms import Form, Letter, linear, nonnegative
from slipstick.measure.fit.queue import cycle_times
from slipstick.measure.fit.spread import largest_of
from slipstick.measure.fit.timings import Array, Timings

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model: its name, what it says, where it comes from, and the forms it may take for some timings."""

    name: str
    title: str
    source: str
    forms: Callable[[Timings], Iterator[Form]]


def _shared(timings: Timings) -> Array:
    """Give what processor seconds are divided by to be a time."""
    return np.ones(len(timings)) if timings.each else timings.p


def _over(timings: Timings) -> str:
    return "" if timings.each else " / p"


_SINGLE = Letter("single", "s", "time on one processor")


def _amdahl(timings: Timings) -> Iterator[Form]:
    def time(theta: Array, at: Timings) -> Array:
        single, serial = theta
        found: Array = single * (1 + serial * (at.p - 1)) / _shared(at)
        return found

    def starts(at: Timings) -> list[Array]:
        return _ratios(at, [np.ones(len(at)), at.p - 1])

    letters = (_SINGLE, Letter("serial", "1", "part of the work that only one processor at a time can do", 1.0))
    yield Form("amdahl", f"T = single (1 + serial (p - 1)){_over(timings)}", letters, time, starts)


def _usl(timings: Timings) -> Iterator[Form]:
    def time(theta: Array, at: Timings) -> Array:
        single, contention, coherency = theta
        found: Array = single * (1 + contention * (at.p - 1) + coherency * at.p * (at.p - 1)) / _shared(at)
        return found

    def starts(at: Timings) -> list[Array]:
        return _ratios(at, [np.ones(len(at)), at.p - 1, at.p * (at.p - 1)])

    letters = (
        _SINGLE,
        Letter("contention", "1", "part of the work that queues", 1.0),
        Letter("coherency", "1", "cost of keeping each pair of processors consistent"),
    )
    text = f"T = single (1 + contention (p - 1) + coherency p (p - 1)){_over(timings)}"
    yield Form("usl", text, letters, time, starts)


def _ratios(at: Timings, columns: list[Array]) -> list[Array]:
    """Start at the best sum of the columns, with the first coefficient taken out."""
    found = nonnegative(np.column_stack(columns) / _shared(at)[:, None], at.time)
    first = found[0] if found[0] > 0 else float(at.time[0])
    return [np.array([first, *(found[1:] / first)])]


def _closed_queue(stations: int) -> Callable[[Timings], Iterator[Form]]:
    def forms(timings: Timings) -> Iterator[Form]:
        def time(theta: Array, at: Timings) -> Array:
            found: Array = cycle_times(theta[0], theta[1:], at.p) / _shared(at)
            return found

        def starts(at: Timings) -> list[Array]:
            work = at.time * _shared(at)
            least, growth = float(work.min()), float((work / at.p).min())
            # The slope of the last stretch is the largest demand, if the queue is full there; it is no larger.
            guesses = [0.999 * growth, 0.5 * growth, 0.1 * growth]
            return [
                np.array([max(least - guess, 0.05 * least), *(guess * 0.5**each for each in range(stations))])
                for guess in guesses
            ]

        demands = tuple(
            Letter(f"service{each or ''}", "s", "time at a station that serves one at a time")
            for each in (range(1, stations + 1) if stations > 1 else [0])
        )
        text = f"T = cycle of a closed queueing network{_over(timings)}"
        yield Form(
            f"queue-{stations}", text, (Letter("outside", "s", "time outside the stations"), *demands), time, starts
        )

    return forms


def _phase_barrier(timings: Timings) -> Iterator[Form]:
    def spread(at: Timings) -> Array:
        return largest_of(at.p) / (np.ones(len(at)) if at.each else np.sqrt(at.p))

    yield linear(
        "phase-barrier",
        "T = work + spread largest(p) + step log2(p)" if timings.each
        else "T = work / p + spread largest(p) / sqrt(p) + step log2(p)",
        [
            (Letter("work", "s", "mean work between two barriers"), lambda at: 1 / _shared(at)),
            (Letter("spread", "s", "standard deviation of the work between two barriers"), spread),
            (Letter("step", "s", "cost of the barrier a doubling"), lambda at: np.log2(at.p)),
        ],
    )  # fmt: skip


_EXPONENTS = [
    Fraction(text)
    for text in [
        "0",
        "1/4",
        "1/3",
        "1/2",
        "2/3",
        "3/4",
        "1",
        "5/4",
        "4/3",
        "3/2",
        "5/3",
        "7/4",
        "2",
        "9/4",
        "7/3",
        "5/2",
        "8/3",
        "11/4",
        "3",
    ]
]
_LOGS = (0, 1, 2)


def _power_log(timings: Timings) -> Iterator[Form]:
    """One power of p times one power of its logarithm, falling powers only where the work is shared."""
    constant = Letter("constant", "s", "what does not change with p")
    yield linear("power-log", "T = constant", [(constant, lambda at: np.ones(len(at)))])
    falling = [] if timings.each else [-power for power in _EXPONENTS if 0 < power <= 1]
    for power, log in product([*falling, *_EXPONENTS], _LOGS):
        if power or log:
            factor = Letter("factor", "s", "of the term in p")
            term = _term("p", power, log)
            yield linear("power-log", f"T = constant + factor {term}",
                         [(constant, lambda at: np.ones(len(at))), (factor, _power(power, log))], chosen=2)  # fmt: skip


_GROWTH = [Fraction(text) for text in ["0", "1/2", "1", "3/2", "2"]]


def _latency(timings: Timings) -> Iterator[Form]:
    """Scale-Graph, equation 3: T = W t_c / N + L(W, N), with L a constant and one term in powers and logarithms."""
    if timings.each and not timings.sized:
        raise NoAnswerError("with one size, and a work of each processor's own, latency is power-log by another name")
    sizes = [Fraction(0), Fraction(1, 2), Fraction(1)] if timings.sized else [Fraction(0)]
    work = Letter("work", "s", "time of one unit of work on one processor")
    useful = (work, lambda at: at.n / _shared(at))
    for power, log, size in product(_GROWTH, _LOGS, sizes):
        words = " ".join(filter(None, [_term("p", power, log), _term("n", size, 0)]))
        letter = Letter("latency", "s", "factor of the average latency")
        text = f"T = work n{'' if timings.each else ' / p'} + latency {words}".rstrip()
        yield linear("latency", text, [useful, (letter, _power(power, log, size))], chosen=2 + timings.sized)


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


FAMILIES: Mapping[str, Family] = {
    each.name: each
    for each in (
        Family("amdahl", "Amdahl's law", "Amdahl, AFIPS 1967", _amdahl),
        Family("usl", "the universal scalability law", "Gunther, Guerrilla Capacity Planning, 2007", _usl),
        Family("queue-1", "a closed queue: work outside, one station inside", "Reiser, Lavenberg, J. ACM 27(2), 1980", _closed_queue(1)),
        Family("queue-2", "a closed queue: work outside, two stations inside", "Reiser, Lavenberg, J. ACM 27(2), 1980", _closed_queue(2)),
        Family("phase-barrier", "phases of random work between barriers", "David, Nagaraja, Order Statistics, 2003", _phase_barrier),
        Family("latency", "useful work and an average latency in powers and logarithms", "Scale-Graph, IEEE TSE 1997, equation 3", _latency),
        Family("power-log", "a constant and one term in powers and logarithms", "Calotoiu et al., SC 2013 (the normal form of Extra-P)", _power_log),
    )
}  # fmt: skip
"""Every family by name."""
