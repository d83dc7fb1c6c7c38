"""Kinds of models that are fitted: curves, and mechanisms with unknown demands.

All of them speak of one work. Shared by all processors (`Timings.each` false), p processors need W(p) processor
seconds for it, and the time is W(p) / p; where every processor has a work of its own, the time is W(p) itself.

Curves over the number of processors: laws of speed-up, latencies, powers and logarithms.

How much the slowest of several is slower than their mean.

Closed queueing networks with unknown demands: work outside, stations that serve one at a time inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from slipstick.errors import NoAnswerError, UnknownNameError
from slipstick.law.speedup import AMDAHL_SPEEDUP, UNIVERSAL_SCALABILITY
from slipstick.measure.fit.formula import (
    Array,
    Family,
    FitParameter,
    Lost,
    TimeFormula,
    Timings,
    linear,
    nonnegative,
    shared,
)
from slipstick.queueing.exact import exact
from slipstick.queueing.network import NetworkSolution, network_arrays


def largest_of(counts: Array) -> Array:
    r"""Give the expected largest of N independent standard normal numbers, for each N.

    ::

        E[max] = int_0^oo (1 - F(x)^N - F(-x)^N) dx        F: the normal distribution

    Parameters
    ----------
    counts : N, at least 1, (M,)

    Source: David and Nagaraja, Order Statistics, 3rd edition, 2003, section 3.1.

    >>> largest_of(np.array([1.0, 2.0, 3.0, 10.0])).round(5).tolist()
    [0.0, 0.56419, 0.84628, 1.53875]
    """
    return np.array([_largest(float(count)) for count in counts])


@cache
def _largest(count: float) -> float:
    from scipy.special import ndtr

    x = np.linspace(0.0, 12.0, 4801)  # beyond 12, the largest of 10^30 adds nothing to 15 digits
    return float(np.trapezoid(1 - ndtr(x) ** count - ndtr(-x) ** count, x))


_SINGLE = FitParameter("single", "s", "time on one processor")


def _over(timings: Timings) -> str:
    return "" if timings.each else " / p"


def amdahl(timings: Timings) -> Iterator[TimeFormula]:
    """Give Amdahl's law."""

    def time(theta: Array, at: Timings) -> Array:
        single, serial = theta
        found: Array = single * at.p / AMDAHL_SPEEDUP.equation(serial=serial, processors=at.p) / shared(at)
        return found

    def lost(theta: Array, at: Timings) -> Lost:
        return {"serial part": time(theta, at) - theta[0] / shared(at)}

    def starts(at: Timings) -> list[Array]:
        return _ratios(at, [np.ones(len(at)), at.p - 1])

    letters = (_SINGLE, FitParameter("serial", "1", "part of the work that only one processor at a time can do", 1.0))
    yield TimeFormula("amdahl", f"T = single (1 + serial (p - 1)){_over(timings)}", letters, time, starts, lost=lost)


def usl(timings: Timings) -> Iterator[TimeFormula]:
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
        FitParameter("contention", "1", "part of the work that queues", 1.0),
        FitParameter("coherency", "1", "cost of keeping each pair of processors consistent"),
    )
    text = f"T = single (1 + contention (p - 1) + coherency p (p - 1)){_over(timings)}"
    yield TimeFormula("usl", text, letters, time, starts, lost=lost)


def _ratios(at: Timings, columns: list[Array]) -> list[Array]:
    """Start at the best sum of the columns, with the first coefficient taken out."""
    found = nonnegative(np.column_stack(columns) / shared(at)[:, None], at.time)
    first = found[0] if found[0] > 0 else float(at.time[0])
    return [np.array([first, *(found[1:] / first)])]


def phase_barrier(timings: Timings) -> Iterator[TimeFormula]:
    """Give phases of random work, each until the slowest is done, and a barrier that costs a step a doubling."""

    def spread(at: Timings) -> Array:
        return largest_of(at.p) / (np.ones(len(at)) if at.each else np.sqrt(at.p))

    yield linear(
        "phase-barrier",
        "T = work + spread largest(p) + step log2(p)"
        if timings.each
        else "T = work / p + spread largest(p) / sqrt(p) + step log2(p)",
        [
            (FitParameter("work", "s", "mean work between two barriers"), lambda at: 1 / shared(at)),
            (FitParameter("spread", "s", "standard deviation of the work between two barriers"), spread),
            (FitParameter("step", "s", "cost of the barrier a doubling"), lambda at: np.log2(at.p)),
        ],
        lost={"spread": "waiting for the slowest", "step": "barrier"},
    )


_FRACTIONS = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_EXPONENTS = [Fraction(text) for text in _FRACTIONS.split()]
_LOGS = (0, 1, 2)


def power_log(timings: Timings) -> Iterator[TimeFormula]:
    """Give one power of p times one power of its logarithm, falling powers only where the work is shared."""
    constant = FitParameter("constant", "s", "what does not change with p")
    yield linear("power-log", "T = constant", [(constant, lambda at: np.ones(len(at)))])
    falling = [] if timings.each else [-power for power in _EXPONENTS if 0 < power <= 1]
    for power, log in product([*falling, *_EXPONENTS], _LOGS):
        if power or log:
            factor = FitParameter("factor", "s", "of the term in p")
            term = _term("p", power, log)
            yield linear(
                "power-log",
                f"T = constant + factor {term}",
                [(constant, lambda at: np.ones(len(at))), (factor, _power(power, log))],
                chosen=2,
            )


_GROWTH = [Fraction(text) for text in ["0", "1/2", "1", "3/2", "2"]]


def latency(timings: Timings) -> Iterator[TimeFormula]:
    """Scale-Graph, equation 3: T = W t_c / N + L(W, N), with L a constant and one term in powers and logarithms."""
    if timings.each and not timings.sized:
        raise NoAnswerError("with one size, and a work of each processor's own, latency is power-log by another name")
    sizes = [Fraction(0), Fraction(1, 2), Fraction(1)] if timings.sized else [Fraction(0)]
    work = FitParameter("work", "s", "time of one unit of work on one processor")
    useful = (work, lambda at: at.n / shared(at))
    for power, log, size in product(_GROWTH, _LOGS, sizes):
        words = " ".join(filter(None, [_term("p", power, log), _term("n", size, 0)]))
        letter = FitParameter("latency", "s", "factor of the average latency")
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


def cycle_times(outside: Array | float, demands: Array, populations: Array) -> Array:
    """Give the mean time of a cycle for each population, N / X, exactly.

    Parameters
    ----------
    outside : time outside the stations [s], a number or (M,)
    demands : service at each station in a cycle, (K,) or (M, K) [s]
    populations : whole numbers of at least 1, (M,)

    >>> cycle_times(9.0, np.array([1.0]), np.array([1.0, 2.0, 64.0])).round(3).tolist()
    [10.0, 10.1, 64.0]
    """
    found: Array = populations / _solved(outside, demands, populations).throughput[:, 0]
    return found


def _solved(outside: Array | float, demands: Array, populations: Array) -> NetworkSolution:
    service = demands if demands.ndim == 1 else demands[:, None, :]
    # A search may try demands so small that the throughput overflows: the cycle time is then 0.
    with np.errstate(over="ignore"):
        return exact(network_arrays(service, population=populations[:, None], think=np.reshape(outside, (-1, 1))))


def closed_queue(stations: int) -> Callable[[Timings], Iterator[TimeFormula]]:
    """Give the form of a network with some stations: parameters are the time outside and each demand.

    Parameters
    ----------
    stations : how many
    """

    def time(theta: Array, at: Timings) -> Array:
        found: Array = cycle_times(theta[0], theta[1:].T, at.p) / shared(at)
        return found

    def lost(theta: Array, at: Timings) -> Lost:
        waits = (_solved(theta[0], theta[1:], at.p).residence[:, 0] - theta[1:]) / shared(at)[:, None]
        return {f"waiting for {_name(each, stations)}": waits[:, each] for each in range(stations)}

    def starts(at: Timings) -> list[Array]:
        work = at.time * shared(at)
        least, growth = float(work.min()), float((work / at.p).min())
        # The slope of the last stretch is the largest demand, if the queue is full there; it is no larger.
        guesses = [0.999 * growth, 0.5 * growth, 0.1 * growth]
        return [
            np.array([max(least - guess, 0.05 * least), *(guess * 0.5**each for each in range(stations))])
            for guess in guesses
        ]

    def forms(timings: Timings) -> Iterator[TimeFormula]:
        demands = (
            FitParameter(_name(each, stations), "s", "time at a station that serves one at a time")
            for each in range(stations)
        )
        text = f"T = cycle of a closed queueing network{'' if timings.each else ' / p'}"
        letters = (FitParameter("outside", "s", "time outside the stations"), *demands)
        yield TimeFormula(f"queue-{stations}", text, letters, time, starts, lost=lost)

    return forms


def _name(station: int, of: int) -> str:
    return f"service{station + 1}" if of > 1 else "service"


_MVA = "Reiser, Lavenberg, J. ACM 27(2), 1980"


def _family(
    name: str, title: str, source: str, forms: Callable[[Timings], Iterator[TimeFormula]], sized: bool = False
) -> Family:
    """Make a family; where its forms have no size in them (`sized`), it fits the timings of one size only."""

    def of(timings: Timings) -> list[TimeFormula]:
        if timings.sized and not sized:
            count = len(set(timings.n.tolist()))
            raise NoAnswerError(
                f"the data have {count} sizes, and this family knows none; fit the runs of one (--size)"
            )
        return list(forms(timings))

    return Family(name, title, source, of)


FAMILIES: Mapping[str, Family] = {
    each.name: each
    for each in (
        _family("amdahl", "Amdahl's law", "Amdahl, AFIPS 1967", amdahl),
        _family("usl", "the universal scalability law", "Gunther, Guerrilla Capacity Planning, 2007", usl),
        _family("queue-1", "a closed queue: work outside, one station inside", _MVA, closed_queue(1)),
        _family("queue-2", "a closed queue: work outside, two stations inside", _MVA, closed_queue(2)),
        _family(
            "phase-barrier",
            "phases of random work between barriers",
            "David, Nagaraja, Order Statistics, 2003",
            phase_barrier,
        ),
        _family(
            "latency",
            "useful work and an average latency in powers and logarithms",
            "Scale-Graph, IEEE TSE 1997, equation 3",
            latency,
            sized=True,
        ),
        _family(
            "power-log",
            "a constant and one term in powers and logarithms",
            "Calotoiu et al., SC 2013 (the normal form of Extra-P)",
            power_log,
        ),
    )
}
"""Every family by name."""


def family_called(name: str) -> Family:
    """Give a family by name.

    Raises
    ------
    UnknownNameError : there is no such family
    """
    if name not in FAMILIES:
        raise UnknownNameError("family of models", name, list(FAMILIES))
    return FAMILIES[name]
