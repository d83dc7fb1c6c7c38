"""What one request may cost. Each cost is estimated before it is paid, and refused above its limit with the way to raise it.

slipstick solve MODEL --limit states=1e6
limits: {states: 1e6}                             in a study
slipstick.solve(MODEL, limits={"states": 1e6})    in Python
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

from slipstick.errors import InputError, NoAnswerError, UnknownNameError


@dataclass(frozen=True, slots=True)
class CostLimit:
    """A limit of a cost: its value unless another is given, what it counts, and a rough estimate of what that costs.

    What takes over `TOLD` is told before it is done, by `seconds` for each, which are of processor time.
    """

    value: float
    counts: str
    cost: str
    seconds: float = 0.0


LIMITS = {
    "states": CostLimit(3e4, "states of a Markov chain", "4 KB and 0.2 to 1 ms each", 0.0005),
    "ticks": CostLimit(2e9, "ticks of a Markov chain's clock until a time, for each of its rates", "3 ns each", 3e-09),
    "lattice": CostLimit(5e9, "steps of an exact method of a network through its populations", "1 ns each", 1e-09),
    "terms": CostLimit(2e8, "terms of a convolution in logarithms", "50 ns each", 5e-08),
    "counting": CostLimit(3600, "seconds that it takes to count a program, estimated", "within a factor of 2", 1.0),
    "speeds": CostLimit(1e6, "servers of a station of a network whose speeds are listed", "100 B and 0.5 us each"),
    "customers": CostLimit(1e6, "customers of a chain of a network that a simulation follows", "2 KB each"),
    "numbers": CostLimit(
        2.5e7,
        "numbers that a simulation of an activity keeps of what is under way",
        "12 B and 0.2 to 0.6 us each",
        4e-07,
    ),
    "populations": CostLimit(
        2e4, "populations of several groups that mean value goes through", "3 ms each and more", 0.003
    ),
    "visits": CostLimit(2e3, "places in activities at which mean value has a queue joined", "4 us for each pair"),
    "branches": CostLimit(
        200, "branches of a fork that use different resources, by mean value", "0.6 ms for each pair"
    ),
    "points": CostLimit(2e6, "points of a sweep that memory holds", "up to 2 KB and 20 us each"),
    "values": CostLimit(1e6, "values of one axis of a sweep", "50 B and 0.6 us each"),
    "choices": CostLimit(2e4, "points that are chosen among", "up to 0.5 ms each, 3 us to check", 0.0003),
    "spec_bytes": CostLimit(
        2**20, "bytes of a spec; a study's own are read before its limits:", "up to 1 us and 30 B each"
    ),
    "spec_values": CostLimit(5e4, "values in a spec; a study's own likewise", "13 us and 400 B each"),
    "data_bytes": CostLimit(2**24, "bytes of a file of measurements or of arrivals", "1 us and 30 B each"),
    "arrivals": CostLimit(1e5, "arrivals in a file of them", "10 us and 600 B each"),
    "trace_bytes": CostLimit(2**33, "bytes of a trace, also of what was packed", "0.2 us each"),
    "events": CostLimit(2e7, "events of a trace", "4 us each"),
    "input_bytes": CostLimit(2**28, "bytes of standard input", "1 B each"),
}
"""By name. The costs were measured in November 2026, but for those of arrivals and of standard input, which are estimated.

What one point may take of time and of memory is limited as well, where a study asks for it.
"""

TOLD = 5.0
"""Seconds of processor time above which an estimate is told before it is paid."""

TELL: ContextVar[Callable[[str], object] | None] = ContextVar("tell", default=None)
"""Is called with such an estimate, in words."""

_SPENT: ContextVar[list[float] | None] = ContextVar("spent", default=None)
_GIVEN: ContextVar[Mapping[str, float]] = ContextVar("given limits", default=MappingProxyType({}))


def given_limits() -> Mapping[str, float]:
    """Give the limits that hold here instead of those of `LIMITS`."""
    return _GIVEN.get()


def limit(name: str) -> float:
    """Give a limit that holds here."""
    return _GIVEN.get().get(name, LIMITS[name].value)


@contextmanager
def limited(values: Mapping[str, float]) -> Iterator[None]:
    """Have other limits hold inside; where one was given outside already, as on the command line, that holds.

    Raises
    ------
    UnknownNameError : there is no such limit
    InputError : it is not a number above 0

    >>> with limited({"states": 1e6}), limited({"states": 10, "ticks": 5}):
    ...     limit("states"), limit("ticks")
    (1000000.0, 5)
    """
    for name, value in values.items():
        if name not in LIMITS:
            raise UnknownNameError("limit", name, list(LIMITS))
        if not (isinstance(value, int | float) and 0 < value < float("inf")):
            raise InputError(f"the limit {name} is a number above 0, not {value!r}")
    token = _GIVEN.set({**values, **_GIVEN.get()})
    try:
        yield
    finally:
        _GIVEN.reset(token)


@contextmanager
def added_up() -> Iterator[list[float]]:
    """Have the limits hold for all that is asked for inside together; gives the parts of a limit that were asked for."""
    spent: list[float] = []
    token = _SPENT.set(spent)
    try:
        yield spent
    finally:
        _SPENT.reset(token)


def check_cost(
    name: str,
    cost: float,
    what: str,
    otherwise: str,
    error: Callable[[str], Exception] = NoAnswerError,
    points: int = 1,
) -> None:
    """Refuse a request whose cost is over its limit, with the way to raise it; tell an estimate above `TOLD`.

    Parameters
    ----------
    name : of the limit
    cost : what the request takes, in what the limit counts
    what : says what takes it, as a sentence begins
    otherwise : says what can be asked for instead
    error : makes what is raised of the words
    points : that cost so much each; the limit is of one, but for those that are `added_up`

    >>> check_cost("states", 2e6, "the chain of x has 2,000,000 states", "ask for simulation")
    Traceback (most recent call last):
        ...
    slipstick.errors.NoAnswerError: the chain of x has 2,000,000 states; the limit is 30,000: ask for simulation, or allow \
more with --limit states=2.1e+06 (limits: in a study, limits= in Python)
    """
    if cost > limit(name):
        raise error(f"{what}; the limit is {limit(name):,.0f}: {otherwise}, {way_out(name, cost)}")
    if (spent := _SPENT.get()) is not None:
        spent.append(points * cost / limit(name))
        if sum(spent) > 1:
            raise error(
                f"{what}, for each of many points; together they are over the limit: {otherwise}, {way_out(name)}"
            )
    elif (tell := TELL.get()) is not None and (seconds := points * cost * LIMITS[name].seconds) > TOLD:
        tell(
            f"{what}{f' at each of {points:,} points' if points > 1 else ''}: about {seconds:,.0f} s of processor time"
        )


def too_many(name: str, what: str, otherwise: str) -> str:
    """Word that a count went over its limit before all was counted, with the way to raise it."""
    return f"more than {limit(name):,.0f} {what}; {otherwise}, {way_out(name)}"


def way_out(name: str, cost: float | None = None) -> str:
    """Say how a limit is raised, so far that a cost is within it."""
    more = f"{float(f'{cost * 1.05:.1e}'):g}" if cost is not None else "NUMBER"
    return f"or allow more with --limit {name}={more} (limits: in a study, limits= in Python)"
