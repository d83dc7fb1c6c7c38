"""Families of models that are fitted: curves over the number of processors, and mechanisms with unknown demands.

All describe one work. Shared by all processors (strong scaling), it takes p processors W(p) processor seconds, and the
time is W(p) / p; if every processor has work of its own (weak scaling), the time is W(p) itself.

Curves are laws of speed-up, latencies, powers and logarithms, and the slowest of several processors. Mechanisms are
closed queueing networks: work outside, stations with one server inside.
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
    return "" if timings.weak_scaling else " / p"


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

    parameters = (_SINGLE, FitParameter("serial", "1", "serial part of the work", 1.0))
    yield TimeFormula("amdahl", f"T = single (1 + serial (p - 1)){_over(timings)}", parameters, time, starts, lost=lost)


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

    parameters = (
        _SINGLE,
        FitParameter("contention", "1", "part of the work that queues", 1.0),
        FitParameter("coherency", "1", "cost of keeping each pair of processors consistent"),
    )
    text = f"T = single (1 + contention (p - 1) + coherency p (p - 1)){_over(timings)}"
    yield TimeFormula("usl", text, parameters, time, starts, lost=lost)


def _ratios(at: Timings, columns: list[Array]) -> list[Array]:
    """Start at the best sum of the columns, divided by the first coefficient."""
    found = nonnegative(np.column_stack(columns) / shared(at)[:, None], at.time)
    first = found[0] if found[0] > 0 else float(at.time[0])
    return [np.array([first, *(found[1:] / first)])]


def phase_barrier(timings: Timings) -> Iterator[TimeFormula]:
    """Give phases of random work, each until the slowest processor is done, and a barrier with a cost per doubling."""

    def spread(at: Timings) -> Array:
        return largest_of(at.p) / (np.ones(len(at)) if at.weak_scaling else np.sqrt(at.p))

    yield linear(
        "phase-barrier",
        "T = work + spread largest(p) + step log2(p)"
        if timings.weak_scaling
        else "T = work / p + spread largest(p) / sqrt(p) + step log2(p)",
        [
            (FitParameter("work", "s", "mean work between two barriers"), lambda at: 1 / shared(at)),
            (FitParameter("spread", "s", "standard deviation of the work between two barriers"), spread),
            (FitParameter("step", "s", "cost of the barrier per doubling of processors"), lambda at: np.log2(at.p)),
        ],
        lost={"spread": "waiting for the slowest", "step": "barrier"},
    )


_FRACTIONS = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_EXPONENTS = [Fraction(text) for text in _FRACTIONS.split()]
_LOGS = (0, 1, 2)


def power_log(timings: Timings) -> Iterator[TimeFormula]:
    """Give one power of p times one power of its logarithm, falling powers only where the work is shared."""
    constant = FitParameter("constant", "s", "part that does not depend on p")
    yield linear("power-log", "T = constant", [(constant, lambda at: np.ones(len(at)))])
    falling = [] if timings.weak_scaling else [-power for power in _EXPONENTS if 0 < power <= 1]
    for power, log in product([*falling, *_EXPONENTS], _LOGS):
        if power or log:
            factor = FitParameter("factor", "s", "of the term in p")
            term = _term("p", power, log)
            yield linear(
                "power-log",
                f"T = constant + factor {term}",
                [(constant, lambda at: np.ones(len(at))), (factor, _power(power, log))],
                chosen_exponents=2,
            )


_GROWTH = [Fraction(text) for text in ["0", "1/2", "1", "3/2", "2"]]


def latency(timings: Timings) -> Iterator[TimeFormula]:
    """Scale-Graph, equation 3: T = W t_c / N + L(W, N), with L a constant and one term in powers and logarithms."""
    if timings.weak_scaling and not timings.has_sizes:
        raise NoAnswerError("for one size and weak scaling, latency is the same as power-log")
    sizes = [Fraction(0), Fraction(1, 2), Fraction(1)] if timings.has_sizes else [Fraction(0)]
    work = FitParameter("work", "s", "time of one unit of work on one processor")
    useful = (work, lambda at: at.n / shared(at))
    for power, log, size in product(_GROWTH, _LOGS, sizes):
        words = " ".join(filter(None, [_term("p", power, log), _term("n", size, 0)]))
        parameter = FitParameter("latency", "s", "factor of the average latency")
        text = f"T = work n{_over(timings)} + latency {words}".rstrip()
        terms = [useful, (parameter, _power(power, log, size))]
        yield linear("latency", text, terms, chosen_exponents=2 + timings.has_sizes, lost={"latency": "latency"})


def _power(power: Fraction, log: int, size: Fraction = Fraction(0)) -> Callable[[Timings], Array]:
    def basis(at: Timings) -> Array:
        found: Array = at.p ** float(power) * np.log2(at.p) ** log * at.n ** float(size)
        return found

    return basis


def _term(parameter: str, power: Fraction, log: int) -> str:
    words = (
        ""
        if power == 0
        else parameter
        if power == 1
        else f"{parameter}^{power if power.denominator == 1 else f'({power})'}"
    )
    logs = "" if log == 0 else f"log2({parameter})" if log == 1 else f"log2({parameter})^{log}"
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
    """Give the formula of a network: its parameters are the time outside and each demand.

    Parameters
    ----------
    stations : number of stations
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
        # The slope at the end is the largest demand if the station is saturated there; it is not larger.
        guesses = [0.999 * growth, 0.5 * growth, 0.1 * growth]
        return [
            np.array([max(least - guess, 0.05 * least), *(guess * 0.5**each for each in range(stations))])
            for guess in guesses
        ]

    def formulas(timings: Timings) -> Iterator[TimeFormula]:
        demands = (
            FitParameter(_name(each, stations), "s", "service demand at a station with one server")
            for each in range(stations)
        )
        text = f"T = cycle of a closed queueing network{'' if timings.weak_scaling else ' / p'}"
        parameters = (FitParameter("outside", "s", "time outside the stations"), *demands)
        yield TimeFormula(f"queue-{stations}", text, parameters, time, starts, lost=lost)

    return formulas


def _name(station: int, of: int) -> str:
    return f"service{station + 1}" if of > 1 else "service"


_MVA = "Reiser, Lavenberg, J. ACM 27(2), 1980"


def _family(
    name: str, title: str, source: str, formulas: Callable[[Timings], Iterator[TimeFormula]], sized: bool = False
) -> Family:
    """Make a family; unless its formulas depend on the size (`sized`), it fits the timings of one size only."""

    def of(timings: Timings) -> list[TimeFormula]:
        if timings.has_sizes and not sized:
            count = len(set(timings.n.tolist()))
            raise NoAnswerError(
                f"the data have {count} sizes, and this family has no size; fit the runs of one size (--size)"
            )
        return list(formulas(timings))

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
