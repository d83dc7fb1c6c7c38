"""Limits of what one request may cost. A cost is estimated first, and refused above its limit with
the way to raise it.

slipstick solve MODEL --limit states=1e6
limits: {states: 1e6}                             in a study
slipstick.solve(MODEL, limits={"states": 1e6})    in Python
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic, thread_time
from types import MappingProxyType

from slipstick.errors import (
    InputError,
    LongWork,
    NoAnswerError,
    UnknownNameError,
    with_kind_of,
)
from slipstick.late import dataclass


@dataclass(frozen=True, slots=True)
class CostLimit:
    """A limit on one kind of cost.

    Parameters
    ----------
    value : the limit, unless another is given
    counts : what is counted
    cost : memory and processor time of each, in words
    seconds : processor time of each; a request of more than `ANNOUNCED` in all is announced before
        it is done [s]
    """

    value: float
    counts: str
    cost: str
    seconds: float = 0.0


LIMITS = {
    "states": CostLimit(3e4, "states of a Markov chain", "4 KB and 0.2 to 1 ms each", 0.0008),
    "ticks": CostLimit(
        2e9,
        "steps of uniformization until a time, times the transitions of the Markov chain",
        "3 ns each",
        3e-09,
    ),
    "lattice": CostLimit(
        1e10, "steps of an exact method through the populations of a network", "1 ns each", 1e-09
    ),
    "corrections": CostLimit(
        3e7,
        "corrections of Linearizer: about the cube of the classes, times the stations",
        "35 B and 0.2 us each",
        2e-7,
    ),
    "routing": CostLimit(
        3e7,
        "routing probabilities of a Markov chain: the square of the classes times the stations",
        "10 to 50 B each",
    ),
    "derivatives": CostLimit(
        4e6,
        "numbers in the derivatives of a queueing network with respect to all its parameters",
        "0.1 to 15 us each",
    ),
    "terms": CostLimit(2e8, "terms of a convolution in logarithms", "50 ns each", 5e-08),
    "counting": CostLimit(
        3600, "estimated seconds to count the operations of a program", "within a factor of 2", 1.0
    ),
    "speeds": CostLimit(
        1e6, "servers of a station with listed rates in a network", "100 B and 0.5 us each"
    ),
    "customers": CostLimit(
        1e6,
        "customers of a chain in a simulated network, or in progress at one time in a simulation",
        "0.5 to 2 KB each",
    ),
    "shares": CostLimit(
        2e9, "pairs of customers at a shared station (ps) in a simulation", "6 ns each", 6e-9
    ),
    "numbers": CostLimit(
        2.5e7,
        "numbers that a simulation of an activity stores for branches and queues in progress",
        "12 B and 0.2 to 0.6 us each",
        4e-07,
    ),
    "populations": CostLimit(
        2e4,
        "combinations of the populations of several groups, in mean value analysis",
        "3 ms each and more",
        0.003,
    ),
    "visits": CostLimit(
        2e3,
        "visits to resources in the steps of an activity, in mean value analysis",
        "3 to 15 ms each",
        0.0055,
    ),
    "branches": CostLimit(
        200,
        "branches of a fork that use different resources, in mean value analysis",
        "0.6 ms for each pair",
    ),
    "points": CostLimit(2e6, "points of a sweep in memory", "up to 2 KB and 20 us each"),
    "values": CostLimit(1e6, "values of one axis of a sweep", "50 B and 0.6 us each"),
    "choices": CostLimit(
        2e4, "points among which a study chooses", "up to 0.5 ms each, 3 us to check", 0.0003
    ),
    "spec_bytes": CostLimit(
        2**20,
        "bytes of a YAML file; limits in a study do not apply to the study itself",
        "up to 1 us and 30 B each",
    ),
    "spec_values": CostLimit(
        5e4, "values in a YAML file other than the study itself", "13 us and 400 B each"
    ),
    "data_bytes": CostLimit(
        2**24, "bytes of a file of measurements or of arrivals", "1 us and 30 B each"
    ),
    "arrivals": CostLimit(1e5, "arrivals in a file", "10 us and 600 B each"),
    "trace_bytes": CostLimit(2**33, "bytes of a trace, after unpacking", "0.2 us each"),
    "events": CostLimit(2e7, "events of a trace", "4 us each"),
    "input_bytes": CostLimit(2**28, "bytes of standard input", "1 B each"),
}
"""The limits on costs, by name. The costs were measured in November 2026, except those of
arrivals and of standard input, which are estimated.

A study may limit the time and the memory of one point as well.
"""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""The environment in which NumPy's matrix products use one thread: those of queueing networks are
small, so that several threads wait for each other most of the time (an exact answer of 20 stations
takes three times the processor time)."""

ANNOUNCED = 5.0
"""Processor time above which an estimate is announced before the work begins [s]."""

ANNOUNCE: ContextVar[Callable[[str], object] | None] = ContextVar("announce", default=None)
"""A function that announces an estimated processor time above `ANNOUNCED`, in words; None if
nothing is announced.
"""

_SPENT: ContextVar[list[float] | None] = ContextVar("spent", default=None)
"""The fraction of its limit that each request in the body of `with_summed_costs` takes [1]."""
_GIVEN: ContextVar[Mapping[str, float]] = ContextVar("given limits", default=MappingProxyType({}))
"""The limits in force that replace those of `LIMITS`, by name."""


def given_limits() -> Mapping[str, float]:
    """Return the limits in force that replace limits of `LIMITS`."""
    return _GIVEN.get()


def limit_in_force(name: str) -> float:
    """Return the limit in force for a cost."""
    return _GIVEN.get().get(name, LIMITS[name].value)


@contextmanager
def with_limits(limit_by_name: Mapping[str, float]) -> Iterator[None]:
    """Set limits for the body; limits already set outside, such as on the command line, take
    precedence.

    Raises
    ------
    UnknownNameError : there is no such limit
    InputError : it is not a number above 0

    >>> with with_limits({"states": 1e6}), with_limits({"states": 10, "ticks": 5}):
    ...     limit_in_force("states"), limit_in_force("ticks")
    (1000000.0, 5)
    """
    for limit_name, value in limit_by_name.items():
        if limit_name not in LIMITS:
            raise UnknownNameError("limit", limit_name, list(LIMITS))
        if not (isinstance(value, int | float) and 0 < value < float("inf")):
            raise InputError(f"the limit {limit_name} is a number above 0, not {value!r}")
    reset_token = _GIVEN.set({**limit_by_name, **_GIVEN.get()})
    try:
        yield
    finally:
        # Also after an error: limits hold inside of the body only.
        _GIVEN.reset(reset_token)


@contextmanager
def with_lower_limits(limit_by_name: Mapping[str, float]) -> Iterator[None]:
    """Set lower limits for the body, regardless of the limits outside; inside, costs are neither
    announced nor added up.

    >>> with with_limits({"states": 1e6}), with_lower_limits({"states": 300}):
    ...     limit_in_force("states")
    300
    """
    lower_limits = {
        limit_name: min(value, limit_in_force(limit_name))
        for limit_name, value in limit_by_name.items()
    }
    limits_token = _GIVEN.set({**_GIVEN.get(), **lower_limits})
    spent_token = _SPENT.set(None)
    announce_token = ANNOUNCE.set(None)
    try:
        yield
    finally:
        _GIVEN.reset(limits_token)
        _SPENT.reset(spent_token)
        ANNOUNCE.reset(announce_token)


@contextmanager
def announcing_for(subject: str) -> Iterator[None]:
    """Begin each announcement in the body with its subject, such as a case or a point of a study.

    >>> texts = []
    >>> token = ANNOUNCE.set(texts.append)
    >>> with announcing_for("servers = 2"):
    ...     ANNOUNCE.get()("the simulation takes long")
    >>> ANNOUNCE.reset(token)
    >>> texts
    ['servers = 2: the simulation takes long']
    """
    announce = ANNOUNCE.get()
    if announce is None or not subject:
        yield
        return
    token = ANNOUNCE.set(lambda text: announce(with_kind_of(f"{subject}: {text}", text)))
    try:
        yield
    finally:
        ANNOUNCE.reset(token)


@contextmanager
def with_summed_costs() -> Iterator[list[float]]:
    """Apply limits to the sum of all requests in the body; yield a list to which each request adds
    its cost, as a fraction of its limit.
    """
    spent_fractions: list[float] = []
    reset_token = _SPENT.set(spent_fractions)
    try:
        yield spent_fractions
    finally:
        _SPENT.reset(reset_token)


def check_cost(
    name: str,
    cost: float,
    work_in_words: str,
    alternatives: str,
    make_error: Callable[[str], Exception] = NoAnswerError,
    point_count: int = 1,
) -> None:
    """Raise for a request whose cost exceeds its limit, with the way to raise the limit; announce
    one of more than `ANNOUNCED`.

    Parameters
    ----------
    name : of the limit
    cost : of the request, in what the limit counts
    work_in_words : the request with its cost in words, as the beginning of a sentence
    alternatives : what can be done in its place, in words
    make_error : makes the error of a message
    point_count : number of points with this cost each; the limit is for one of them, inside
        `with_summed_costs` for their sum

    >>> check_cost("states", 2e6, "the chain of x has 2,000,000 states", "ask for simulation")
    Traceback (most recent call last):
        ...
    slipstick.errors.NoAnswerError: the chain of x has 2,000,000 states; the limit is 30,000: ask \
for simulation, or allow more with --limit states=2.1e+06 (limits: in a study, limits= in Python)
    """
    # A request over the limit is refused by itself; those within it are added up.
    if cost > limit_in_force(name):
        raise make_error(
            f"{work_in_words}; the limit is {limit_in_force(name):,.0f}: {alternatives},"
            f" {advice_on_limit(name, cost)}"
        )
    if (fractions_spent := _SPENT.get()) is not None:
        fractions_spent.append(point_count * cost / limit_in_force(name))
        # Costs of different kinds are added as parts of their limits.
        if sum(fractions_spent) > 1:
            raise make_error(
                f"{work_in_words}, for each of many points; together they are over the limit:"
                f" {alternatives}, {advice_on_limit(name)}"
            )
    elif (announce := ANNOUNCE.get()) is not None and (
        seconds := point_count * cost * LIMITS[name].seconds
    ) > ANNOUNCED:
        announce(
            LongWork(
                f"{work_in_words}"
                f"{f' at each of {point_count:,} points' if point_count > 1 else ''}: about"
                f" {seconds:,.0f} s of processor time",
                seconds=seconds,
            )
        )


Progress = Callable[[int], object]
"""A function that is called with the number of points solved since its last call."""


def ignore_progress(point_count: int) -> None:
    """Do nothing; this is the progress function where no progress is shown."""


class WorkPace:
    """The pace of work done in parts; halfway to `ANNOUNCED` it announces work that may take
    longer.

    The first part is left out of the pace, for it holds what is done once.

    Parameters
    ----------
    counts_wall_time : whether the pace is measured by elapsed time, for work that other processes
        do; else by the processor time of this thread

    >>> pace = WorkPace()
    >>> pace.check(1, 10, "the simulation may take 10 events")
    """

    def __init__(self, counts_wall_time: bool = False) -> None:
        self._clock, self._unit = (
            (monotonic, "s") if counts_wall_time else (thread_time, "s of processor time")
        )
        self._start = self._clock()
        self._first_part = (0.0, 0.0)
        self._was_announced = False

    def check(self, work_done: float, most_work: float, work_in_words: str) -> None:
        """Announce once how long all of the work may take, by the pace so far.

        Parameters
        ----------
        work_done, most_work : how much is done, and how much there is at most
        work_in_words : says how much there is, as a sentence begins
        """
        elapsed_time = self._clock() - self._start
        # The first part has costs of its own, such as compiling, so the pace is that of the parts
        # after it.
        first_time, first_work = self._first_part = (
            self._first_part if self._first_part[0] else (elapsed_time, work_done)
        )
        if (
            self._was_announced
            or elapsed_time < max(ANNOUNCED / 2, first_time + ANNOUNCED / 10)
            or work_done <= first_work
        ):
            return
        self._was_announced = True
        seconds = elapsed_time + (most_work - work_done) * (elapsed_time - first_time) / (
            work_done - first_work
        )
        if (announce := ANNOUNCE.get()) is not None and seconds > ANNOUNCED:
            announce(f"{work_in_words}: about {seconds:,.0f} {self._unit}")


def announcing_progress(
    point_count: int,
    work_in_words: str,
    progress: Progress = ignore_progress,
    counts_wall_time: bool = False,
) -> Progress:
    """Return a progress function that also announces how long all points take, by the pace of those
    solved so far.
    """
    work_pace = WorkPace(counts_wall_time)
    solved_count = 0

    def report(new_point_count: int) -> None:
        nonlocal solved_count
        solved_count += new_point_count
        progress(new_point_count)
        work_pace.check(solved_count, point_count, work_in_words)

    return report


def too_many_message(name: str, counted_things: str, alternatives: str) -> str:
    """Return the message that a count exceeded its limit before it was complete, with the way to
    raise the limit.
    """
    return (
        f"more than {limit_in_force(name):,.0f} {counted_things}; {alternatives},"
        f" {advice_on_limit(name)}"
    )


def advice_on_limit(name: str, cost: float | None = None) -> str:
    """Return the words on how to raise a limit far enough for a cost."""
    # Slightly more than the estimate, in a number that is easy to type.
    new_limit = f"{float(f'{cost * 1.05:.1e}'):g}" if cost is not None else "NUMBER"
    return f"or allow more with --limit {name}={new_limit} (limits: in a study, limits= in Python)"
