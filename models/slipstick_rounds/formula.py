"""Formulas for servers that work in rounds, of customers with two phases.

A round with n customers in the second phase, each in the middle of its work, takes D(n); with q
units of the first phase as well, F(n, q). The first phase of a customer, w units, takes c = w / r
rounds, at least one, where r = B - n is the room that the second phases leave in the budget B. It
makes rounds longer by P(n) = c (F(n, w / c) - D(n)).

Of a Poisson stream with rate X, a round of mean time T sees X T arrivals, each of which makes
rounds longer by P(n) in all: T = D(n) + X T P(n), so

    T(n) = D(n) / (1 - X P(n)).

The second phase, v units, begins with L first phases, those that came behind a customer while its
own lasted and that its last round had no room for. They are done before anything that comes later,
so it takes

    W(n) = (v D(n) + L P(n)) / (1 - X P(n)),

and no more than v full rounds: with L about exponential, what L P adds to v T(n) is in the mean
E (1 - exp(-M / E)), where E is that addition and M what v full rounds leave for it.

The number n in it is a birth-death process with births X and deaths n / W(n); where n is as large
as it can be, K, and X v T(K) / K reaches 1, the server is saturated by its mean rounds. K is the
places, what memory holds, or v B / (w + v): as many are in the second phase where all rounds are
full. The mean of n gives the time of the second phase by Little's law. Second phases begin in
groups, of 1 / (1 - X P)^2 customers in the mean that one of them meets, and are longer by what
these add to D (`_group_size`). How the mean numbers and the first phases that come differ from one
second phase to another gives the quantiles of the time of a unit, L P being spread over fewer units
of shorter ones (`_unit_times`).

A visit holds its place in both phases. How many customers wait for a place or for memory follows
from a birth-death process with W and the rounds of the first phase as the time of a visit, and how
long they do from approximations of M/D/c, as lengths hardly vary. Streams with waits are refused
where groups are large, as these wait longer.

The first phases wait for one another. Counted in pieces at the beginnings of rounds they are a
Markov chain, q' = (q - pieces of a round)+ + pieces of a customer x A, A Poisson with mean X F(n,
q): M/D/1 where a first phase takes several rounds, and rounds one after the other where one round
does several. A customer arrives at a uniform place of a round that it meets with a probability in
proportion to its time (renewal theory); then follow the rounds of what is in front of it and its
own, the last of which it shares with those that came behind. That is the distribution of the first
phase, with quantiles. The customer's own work is one of several equally probable ones; that of
others comes in a Poisson stream of equal works with the same mean and variance in a time, thus of
fewer and larger ones by 1 plus the squared coefficient of variation.

Customers of the second phase gather in rounds with first phases, which are longer. Little's law
over rounds gives their mean number in a round, X T v, and over time it is n; the difference of the
two is that of the numbers in both kinds of rounds, times the difference of the parts of the time
and of the rounds that have first phases. W needs L, and L the numbers: they are computed in turn
until neither moves by a percent; a stream that goes back and forth is refused.

The number of customers in a round, as a mean over rounds, follows from Little's law with time
counted in rounds: X times the time from the beginning of a round to the next, times v + c. The
server is idle in between where no first phase is under way and no customer is in the second phase.

Where a first phase takes several rounds, the second phase fills while a backlog lasts, and slows it
down. A queue of M/D/1 or M/M/1 that reaches k got there in about k S / (1 - X S), with S the time
of c full rounds: it received what it can do at most, and drains as it grew. So a backlog of k that
is met at random is 1.5 k S / (1 - X S) old; since it began one customer came to the second phase in
each S, of those before it c n / v left. So n grows by 1.5 (1 - c n / v) / (1 - X S) with each first
phase that waits, about the mean number in rounds with first phases. Where it comes near the number
of places, first phases wait for one: full rounds are longer by the rounds without them that make
room. Where n differs so much that the room of a round for first phases does, or the rounds that one
takes, times of first phases are a mixture over n, which changes in many rounds
(`_first_phases_over_numbers`).

In a closed population all n customers are present: a visit takes S(n) = v D(n) / n + P(n) of the
server, and the number present is a birth-death process with rate of ends 1 / S(min(n, K)). S leaves
out the wait for the round under way, which counts where second phases are short, so that second
phases of fewer than 16 rounds are refused. First phases of c > 1 rounds are one server. Time is
counted in its rounds there, in which the second phases go on as well: service c, and v rounds and
the think time between two of them, solved by mean value analysis where a customer finds half of a
service under way, as lengths hardly vary. Think times that are longer than rounds bring first
phases by time, so that long rounds get more of them. First phases of less than a round share it
with those that arrived in the round before, a binomial number with mean (n - 1) / (v + 1) where
customers come again at the end of a round. After a think time a customer meets a round with a
probability in proportion to its time, if it finds another customer at all.

A finite run begins with all customers at once: their first phases are done one after the other, so
that the first visit of a customer waits for half of the others.

Assumptions: n is constant while a first phase lasts; numbers of customers and of first phases in a
round are independent; lengths of second phases count by their means; customers do not stay in step.
Errors beside simulation, by `benchmarks/rounds.py`, stand in benchmarks/README.md: of 43 fresh
streams up to load 0.8, means of the first phase and of the time of a unit within 7 %, and the 95 of
100 of the first phase within 13 %; that of a unit within 15 % in 42 and 23 % off in one. Where
lengths of second phases differ by a factor of 40, it was 16 to 19 % too low. Streams are refused
where groups of customers wait for a place, where second phases have few rounds, and where numbers
do not settle. Of a closed population mostly within 6 % in the
mean of the first phase, up to 15 % too short or too long; where second phases about fill the
budget, up to three fifths too long, as chance leaves room for first phases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from slipstick.errors import NoAnswerError, Saturated
from slipstick.late import Array, NDArray, np
from slipstick.method.answers import Remarks
from slipstick.vocabulary import FORMULA
from slipstick_rounds.model import DELAY, LOAD, QUANTILES, WAIT, OpenCustomers, quantile_name
from slipstick_rounds.points import (
    BatchServerForm,
    PointAnswer,
    PointNumbers,
    exact_estimates,
    round_time_at,
)
from slipstick_rounds.round_run import RoundContents

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

FloatOrArray = TypeVar("FloatOrArray", float, Array)

MOST_PRESENT = 20_000
"""Numbers of customers that the birth-death process counts at most."""

MOST_PIECES = 400
"""Pieces of first phases that wait at most: those of the chain of a backlog. Of 240 drawn streams
up to a load of 0.8, 1,200 pieces move no value by over 0.1 %; at 0.9 some do not settle with
either.
"""

PLACES_IN_A_ROUND, MOST_BEFORE = 4, 16
"""Places in a round at which a customer may arrive, and customers that came in it before at most.
Of these streams, 16 places move the mean of a first phase by 0.1 % at most and its 95 of 100 by 4
%, 40 customers before move nothing.
"""

LENGTHS, UNIT_PARTS = 8, 12
"""Works of a first phase, and lengths of a second, that are counted where customers differ in them;
and times of a unit of each such length, of equal probability."""

RARE_WAIT, SUPPORT, HALVINGS = 1e-4, 64, 18
"""Probability of a wait for a place below which quantiles leave it out; times of equal probability
to which the first phase is reduced where it is added to a wait, and halvings of their range."""

WAIT_LESS_OFTEN = 0.92
"""Customers that wait for one of several places at constant times at the server, as a part of those
that wait at exponential ones. This and the gamma shape 1.5 of the wait of those that wait were
fitted to simulations of seven queues M/G/c of 8 to 100 servers, constant and uniform times, and
loads of 0.55 to 0.85 (0.90 to 0.95 there); the mean wait stays that of Cosmetatos."""

RARE = 1e-9
"""Probability of numbers of first phases, and of customers that come in a round, that are left out;
1e-12 moves these streams by 0.2 % at most."""

MOST_SETTLING, LARGEST_LAST_CHANGE = 12, 0.01
"""How often numbers and times are computed from each other at most, and the relative change of the
first phase and of the time between rounds at which they are taken as settled. What has not settled
is refused: none of 240 drawn streams up to a load of 0.8, and 7 of 80 at 0.9, which go back and
forth: a first phase was up to 2.4 times as long after 30 steps as after 6. Up to 0.8, steps to a
thousandth move the mean of a first phase by 2 % at most, and its 95 of 100 and the number in a
round by 4 %.
"""

LEAST_CHANGE, NORMAL_QUANTILE, NODES = 0.02, 1.2815515655446004, (-1.363, -0.377, 0.377, 1.363)
"""Standard deviation of the units of second phases in a round, as a part of the room that they
leave, from which first phases are computed over the numbers in the second phase; the 9 of 10 of a
normal variable in standard deviations, and the means of the four quarters of its probability,
widened to its variance."""

LARGEST_PLACE_LOAD = 1 - 1e-9
"""Part of the places that is taken from which they are saturated."""

LARGEST_GROUP = 200_000
"""Numbers of points in one array at most, so that the arrays stay in a cache."""

SAME_ARRIVALS = 0.61
"""Correlation of the mean number present during a second phase with the arrivals during it: each
counts for the part of it that is left, so that it is 1/2 over the root of 2/3 (derived)."""

ROUNDS_TOGETHER = 3
"""How often the time of a round and what first phases add to it are computed from each other; a
fourth time moves nothing by a percent."""

AGE_OF_A_BACKLOG, LEAST_ROOM = 1.5, 0.05
"""Age of a backlog in units of the time in which it grew: it drains in about as long, so that at a
random time it has half of that behind it as well (derived, not fitted; 1 and 2 in its place move
the mean of a first phase by 5 % at most, and its 95 of 100 by 12 and 14 %, in 240 drawn streams up
to a load of 0.8); and the least part of the time that first phases leave over with which that is
computed (a guard: 0.02 and 0.1 move nothing up to that load).
"""

SELDOM, LARGE_GROUPS, MOST_TAKEN = 2e-4, 0.25, 0.87
"""Probability of a wait for a place or for memory, times the customers by which groups of second
phases are larger than one (`_group_size`), up to which a stream with larger groups than the second
number is answered: groups wait longer than the formula knows. And the load of the places up to
which waits are answered. Chosen on 57 streams of `llm-serving`, drawn as `--wide` draws them (seed
880001).
"""

LEAST_FED = 0.5
"""Places as a part of the customers that full rounds bring to the second phase, from which on first
phases wait for rounds that make room. Fitted on the seeds 20261128, 71128 and 828411 of
`benchmarks/rounds.py`."""

LARGE_ROUND = 4096.0
"""Customers of a round of a server without a limit of them, whose capacity is asked for [1]."""

LEAST_STEPS, STREAM_STEPS = 16.0, 32.0
"""Rounds of a second phase at least, of closed populations and of streams [1]. Fitted: the first on
a closed population of 20 customers at load 0.9, whose responses were 27, 13 and 6 % too short at 1,
8 and 16 rounds; the second on 221 drawn streams: the 95 of 100 of a first phase was 18 % too
short at 22 rounds.
"""

MEASURED_LOAD = 0.8
"""Load up to which errors were measured."""

PLACES_TAKEN = (
    "customers wait for a place or for memory, and the formula does not know how long; let fewer"
    " customers arrive, give more places or memory, or ask for simulation"
)
NOT_SETTLED = (
    "near saturation the numbers of customers and the times of first phases, each computed from the"
    " other, do not settle in the formula; let fewer customers arrive, or ask for simulation"
)
NOTE = "numbers in a round are taken as independent, lengths of second phases by their means"
CLOSED_NOTE = (
    "in a closed population first phases were up to 15 % off simulated ones, and up to three fifths"
    " longer where second phases fill the budget"
)
LOAD_NOTE = (
    "errors of the formula beside simulation were measured up to a load of 0.8; beyond it first"
    " phases were up to twice as long in simulations"
)


class BatchServerFormula(BatchServerForm):
    """The formulas of this module."""

    method = FORMULA
    is_rough = True

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        """Compute the answer at one point; a Poisson stream is solved as several points are."""
        _check_known(point)
        if point.rate:
            (answer,) = self._computed_streams([point])
            if answer.remarks.failed:
                raise NoAnswerError(answer.remarks.failed)
            return answer
        rounds = _MeanRounds([point])
        present_means = _present_means_of_population(point, rounds)
        customers_served = max(present_means.present, 1.0)
        waiting = present_means.waiting / present_means.throughput
        in_first = _first_phase_closed(point, rounds, customers_served, present_means)
        first_phase_time = point.delay + waiting + in_first
        present = present_means.present + present_means.waiting
        response_time = present / present_means.throughput + point.delay
        second_phase_time = response_time - first_phase_time
        units = float(min(rounds.units[0, 0], rounds.room(customers_served)[0, 0]))
        times = (
            point.delay,
            waiting,
            in_first,
            second_phase_time,
            customers_served,
            customers_served,
            units,
        )
        round_times = np.array([_round_times_closed(rounds, present_means)])
        phase_times = _PhaseTimes(*(np.array([time]) for time in times))
        (computed_point,) = _computed_points(
            rounds, phase_times, np.array([present_means.throughput]), round_times
        )
        return self._answer(point, computed_point)

    def answers_at(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers at several points; those of Poisson streams are computed together, as
        arrays.
        """
        if not points or not isinstance(self.model.customers, OpenCustomers):
            return super().answers_at(points)
        answers = [
            PointAnswer({}, remarks=Remarks(failed=_reason_unknown(point))) for point in points
        ]
        answerable = [index for index, answer in enumerate(answers) if not answer.remarks.failed]
        solved_answers = self._answers_of_streams([points[index] for index in answerable])
        for index, answer in zip(answerable, solved_answers, strict=True):
            answers[index] = answer
        return answers

    def _answers_of_streams(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers of streams together; where the model refuses the time of a round,
        halve the points until the refused one is alone.
        """
        if not points:
            return []
        try:
            return self._computed_streams(points)
        except NoAnswerError as error:
            if len(points) == 1:
                return [PointAnswer({}, remarks=Remarks(failed=str(error)))]
        middle = len(points) // 2
        return self._answers_of_streams(points[:middle]) + self._answers_of_streams(points[middle:])

    def _computed_streams(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers of streams for which every time of a round can be computed."""
        loads = loads_of(points)
        answers = [
            PointAnswer({}, remarks=Remarks(failed=str(saturated(float(load))))) for load in loads
        ]
        rounds = _MeanRounds(points)
        rows = np.flatnonzero(loads < 1)
        streams = _ConvergedStreams(rounds, rows)
        is_saturated = streams.place_load >= LARGEST_PLACE_LOAD
        groups = _group_size(rounds, streams.beside[:, None])[:, 0] - 1
        waits_in_groups = (groups > LARGE_GROUPS) & (streams.probability_full * groups > SELDOM)
        waits_long = (streams.probability_full > SELDOM) & (streams.place_load > MOST_TAKEN)
        is_refused = waits_in_groups | waits_long
        reasons = dict.fromkeys(rows[is_refused[rows]].tolist(), PLACES_TAKEN)
        reasons |= {
            row: str(saturated(streams.place_load[row]))
            for row in rows[is_saturated[rows]].tolist()
        }
        reasons |= dict.fromkeys(streams.unconverged_rows.tolist(), NOT_SETTLED)
        for row, reason in reasons.items():
            answers[row] = PointAnswer({}, remarks=Remarks(failed=reason))
        rows = np.setdiff1d(rows, [*reasons])
        for row, computed_point in zip(
            rows.tolist(), _values_of_streams(rounds, rows, streams), strict=True
        ):
            answers[row] = self._answer(points[row], computed_point, float(loads[row]))
        return answers

    def _answer(
        self, point: PointNumbers, computed_point: _ComputedPoint, load: float | None = None
    ) -> PointAnswer:
        """Build the answer of a point: name the values computed for it and add the notes. Only a
        stream has a load.
        """
        names, (_, second_phase) = list(self.model.phases), point.phases
        times = computed_point.times
        first_phase = f"phase_time[{names[0]}]"
        first_phase_time = times.delay + times.waiting + times.first_phase
        response_time = first_phase_time + times.second_phase
        quantiles = zip(QUANTILES, computed_point.quantiles, strict=False)
        values = {
            "response_time": response_time,
            "throughput": computed_point.throughput,
            first_phase: first_phase_time,
            f"phase_time[{names[1]}]": response_time,
            f"time_per_unit[{names[1]}]": (computed_point.unit_time or times.second_phase)
            / second_phase.mean,
            **{
                quantile_name(first_phase, part): times.delay + time
                for part, time in quantiles
                if not (point.delay and point.delay_scv)
            },
            **{
                quantile_name(f"time_per_unit[{names[1]}]", part): time / second_phase.mean
                for part, time in zip(QUANTILES, computed_point.unit_quantiles, strict=False)
            },
            **{
                f"unit_rate[{name}]": computed_point.throughput * phase.mean
                for name, phase in zip(names, point.phases, strict=True)
            },
            "served": computed_point.served,
            "round_time": computed_point.round_time,
        }
        times_outside = {WAIT: computed_point.wait} | ({DELAY: times.delay} if times.delay else {})
        first_times = dict(zip(self.model.components, computed_point.first_account, strict=True))
        second_times = dict(zip(self.model.components, computed_point.second_account, strict=True))
        for phase, time_by_component in zip(
            names, (first_times | times_outside, second_times), strict=True
        ):
            values |= {
                f"phase_account[{phase},{part}]": time for part, time in time_by_component.items()
            }
        total_times = {
            part: time + second_times[part] for part, time in first_times.items()
        } | times_outside
        notes = [NOTE]
        if not point.rate:
            notes.append(CLOSED_NOTE)
        if load is not None:
            values[LOAD] = load
            notes += [LOAD_NOTE] if load > MEASURED_LOAD else []
        return PointAnswer(
            exact_estimates(values), total_times, remarks=Remarks(notes=tuple(notes))
        )


def _reason_unknown(point: PointNumbers) -> str:
    """Return the reason why the formula does not apply at a point; empty if it applies."""
    if point.reason_invalid:
        return point.reason_invalid
    if len(point.phases) != 2:
        return "the formula knows customers of two phases; ask for simulation"
    if point.server.batching_delay or point.server.interval:
        return "the formula knows rounds one after the other; ask for simulation"
    if point.server.earlier_first:
        return "the formula knows budgets that go to later phases first; ask for simulation"
    if _stay_in_step(point):
        return (
            "customers of equal work without think time stay in step, which the formula does"
            " not know; give a think time or a least work below the largest, or ask for"
            " simulation"
        )
    second = point.phases[1]
    least_steps = STREAM_STEPS if point.rate else LEAST_STEPS
    if (steps := max(second.mean / second.piece, 1.0)) < least_steps:
        return (
            f"the formula knows second phases of at least {least_steps:g} rounds, and here they"
            f" have {steps:.3g}; ask for simulation"
        )
    return ""


def _check_known(point: PointNumbers) -> None:
    """Raise NoAnswerError where the formula does not hold at a point.

    Raises
    ------
    NoAnswerError : it does not
    """
    if reason := _reason_unknown(point):
        raise NoAnswerError(reason)


def _row_groups(rows: Indices, sizes: Array) -> Iterator[Indices]:
    """Yield groups of rows of similar size, each small enough for its arrays to stay in a cache."""
    rows = rows[np.argsort(sizes[rows], kind="stable")]
    group_start = 0
    while group_start < len(rows):
        group_end = group_start + 1
        while (
            group_end < len(rows)
            and sizes[rows[group_end]] * (group_end + 1 - group_start) <= LARGEST_GROUP
        ):
            group_end += 1
        yield rows[group_start:group_end]
        group_start = group_end


def _as_column(values_at_points: Iterable[float]) -> Array:
    """Return one value for each point as a column [points, 1]."""
    return np.array([*values_at_points], dtype=np.float64)[:, None]


def _stay_in_step(point: PointNumbers) -> bool:
    """Return whether customers that begin together stay together in all their phases without end.
    Then averages over the phases do not hold.
    """
    has_equal_work = all(phase.least == phase.work for phase in point.phases)
    return point.population > 1 and has_equal_work and not point.think_time


class _MeanRounds:
    """Times of rounds by the numbers in them, with the mean lengths of both phases; an array has a
    row for each point.
    """

    def __init__(self, points: Sequence[PointNumbers]) -> None:
        self._points = points
        self._duration = round_time_at(points)
        first_phases, second_phases = zip(*(point.phases for point in points), strict=True)
        servers = [point.server for point in points]
        self.rate = _as_column(point.rate for point in points)
        self.delay = _as_column(point.delay for point in points)
        self.units = _as_column(phase.mean for phase in first_phases)
        self._firsts = first_phases
        self.first_variation = _as_column(phase.variance for phase in first_phases) / self.units**2
        # A unit of a first phase holds half of those of its customer, in the mean by units.
        self._held_in_first = self.units * (1 + self.first_variation) / 2
        self._seconds = second_phases
        self.piece = _as_column(min(phase.piece, phase.mean) for phase in second_phases)
        second_work = _as_column(phase.mean for phase in second_phases)
        self.steps = second_work / self.piece
        self.variation = _as_column(phase.variance for phase in second_phases) / second_work**2
        self._held = self.units + second_work / 2
        self._budget = _as_column(server.budget for server in servers)
        largest_memory = self.units + second_work
        kept_memory = np.where(
            _as_column(server.reserved for server in servers) > 0, largest_memory, self._held
        )
        places = _as_column(server.places for server in servers)
        memory = _as_column(server.memory for server in servers)
        in_memory = memory / kept_memory
        # The next reservation does not fit into what is left: as many fit as renewals in a time.
        variance = self.first_variation * self.units**2 + self.variation * second_work**2
        renewals = in_memory - (1 - np.minimum(variance / largest_memory**2, 1.0)) / 2
        whole = np.where(variance > 0, renewals, np.floor(in_memory))
        is_reserved = (_as_column(server.reserved for server in servers) > 0) & np.isfinite(memory)
        in_memory = np.where(is_reserved, whole, in_memory)
        limits = (places, in_memory, self._budget / self.piece)
        self.most_customers: Array = np.maximum(1.0, np.minimum.reduce(limits))
        # As many are in the second phase in the mean if all rounds are full.
        self._mean_in_second_phase = second_work * self._budget / (self.units + second_work)
        self.highest: Array = np.maximum(
            1.0, np.minimum(self.most_customers, self._mean_in_second_phase)
        )
        self.few_places = self.most_customers < LEAST_FED * self._mean_in_second_phase

    def served(self, visits_ended: Array, present: Array) -> Array:
        """Return the mean number of customers in a round [points; 1].

        Little's law, where time is counted in rounds: each customer is in as many rounds as its
        phases take.

        Parameters
        ----------
        visits_ended : visits that end from the beginning of a round to that of the next [points; 1]
        present : customers in the second phase of rounds with first phases [points; 1]
        """
        rounds_of_first_phase = (self.units / self.room(present[:, None]))[:, 0]
        rounds_of_customer = self.steps[:, 0] + np.ceil(rounds_of_first_phase - 1e-9)
        return np.minimum(visits_ended * rounds_of_customer, self.most_customers[:, 0])

    def rows(self, rows: Indices) -> _MeanRounds:
        """Return the mean rounds of some of the points."""
        return _MeanRounds([self._points[row] for row in rows.tolist()])

    def first_work(self) -> list[Array]:
        """Return works of a first phase that are equally probable [points, 1; units]."""
        if not self.first_variation.any():
            return [self.units]
        works = np.array([phase.groups(LENGTHS) for phase in self._firsts])
        return [*works.T[:, :, None]]

    def second_lengths(self) -> Array:
        """Return lengths of a second phase that are equally probable, as parts of their mean
        [points, lengths; 1].
        """
        if not self.variation.any():
            return np.ones((len(self.steps), 1))
        works = np.array([phase.groups(LENGTHS) for phase in self._seconds])
        return np.asarray(works / works.mean(axis=1, keepdims=True))

    def share_of_first(self, present: Array | float) -> Array:
        """Return the part of the time that first phases of a stream take, X P(n) [1]."""
        return np.minimum(self.rate * self.added_by_first_phase(present), 1 - LEAST_ROOM)

    def component_times(self, present: Array | float, units: Array | float) -> Array:
        """Return F(n, q), the time of a round with n customers in the second phase and q units of
        first phases, by component [components, points, rounds; s].
        """
        in_second, in_first, _ = np.broadcast_arrays(present, units, self.units)
        second_units = in_second * self.piece
        held = np.broadcast_to(self._held, in_second.shape)
        rounds = RoundContents(
            [(in_first / self.units).ravel(), in_second.ravel()],
            [in_first.ravel(), second_units.ravel()],
            (in_second * held).ravel(),
            [(in_first * self._held_in_first).ravel(), (second_units * held).ravel()],
        )
        component_times = self._duration(rounds)
        return np.broadcast_to(component_times, (len(component_times), in_second.size)).reshape(
            -1, *in_second.shape
        )

    def time(self, present: Array | float, units: Array | float) -> Array:
        """Return F(n, q) [points, rounds; s]."""
        return np.asarray(self.component_times(present, units).sum(axis=0))

    def room(self, present: Array | float) -> Array:
        """Return the units of first phases that a round has room for."""
        return np.maximum(self._budget - present * self.piece, 1.0)

    def first_alone(self, present: Array | float) -> Array:
        """Return the time of the rounds of a first phase that shares them with no other [s]."""
        room = self.room(present)
        rounds_needed = np.maximum(self.units / room, 1.0)
        return np.asarray(rounds_needed * self.time(present, np.minimum(self.units, room)))

    def shorter_wait(self, places: Array, load: Array) -> Array:
        """Return the mean wait for a place as a part of that of exponential times at the server.

        Of constant times by Cosmetatos' approximation of M/D/c (1975); of times that differ in
        between by their squared coefficient of variation (Kimura 1986).

        Parameters
        ----------
        places, load : how many there are, and the part of them that is taken [points, 1; 1]
        """
        growth = (np.sqrt(4 + 5 * places) - 2) * (places - 1) / (16 * places)
        constant = np.minimum(0.5 * (1 + (1 - load) / load * growth), 1.0)
        return np.asarray(constant + (1 - constant) * self.variation)

    def added_by_first_phase(self, present: Array | float) -> Array:
        """Return P(n), the time by which the first phase of a customer prolongs the rounds [s].

        Of a stream whose rounds have room for several, A Poisson with mean m = X T, the first makes
        a round longer by P1 and each further by P2, as where a round takes at least the time to
        read its data: m P = P1 (1 - exp(-m)) + P2 (m - 1 + exp(-m)).
        """
        room = self.room(present)
        rounds_needed = np.maximum(self.units / room, 1.0)
        time_without_first = self.time(present, 0.0)
        time_of_one = self.time(present, self.units / rounds_needed)
        added_by_first = time_of_one - time_without_first
        if not self.rate.any() or not (self.units < room).any():
            return np.asarray(rounds_needed * added_by_first)
        # Of two for which a round has no room, the next round does the rest.
        rest = np.maximum(2 * self.units - room, 0.0)
        time_of_two = self.time(present, np.minimum(2 * self.units, room))
        time_of_two += self.time(present, np.minimum(rest, self.units)) - time_without_first
        added_by_further = np.where(self.units < room, time_of_two - time_of_one, added_by_first)
        added_time = added_by_first
        for _ in range(ROUNDS_TOGETHER):
            mean_arrivals = np.maximum(
                self.rate * time_without_first / np.maximum(1 - self.rate * added_time, LEAST_ROOM),
                1e-9,
            )
            probability_of_none = -np.expm1(-mean_arrivals) / mean_arrivals
            added_time = added_by_first * probability_of_none + added_by_further * (
                1 - probability_of_none
            )
        return np.asarray(rounds_needed * added_time)

    def visit(
        self, present: Array | float, rate: Array | float = 0.0, number_behind: Array | float = 0.0
    ) -> Array:
        """Return S(n), the mean time from the admission of a customer to its end at a server that
        serves n customers [s].

        Parameters
        ----------
        present : customers of a closed population, or of a stream in the second phase [1]
        rate : of a stream, whose first phases make rounds longer; where they take all time, the
            second phases do not end [1/s]
        number_behind : first phases that wait or are under way when that of a customer ends; as
            many take time from its second phase as its rounds have room for [1]
        """
        second_phase_time = self.steps * self.time(present, 0.0)
        added_time = self.added_by_first_phase(present)
        if not np.any(rate):
            return np.asarray(second_phase_time / present + added_time)
        share_left = np.maximum(1 - rate * added_time, 1e-9)
        longest_time = self.steps * self.time(
            present, np.minimum(self.room(present), MOST_PIECES // 4 * self.units)
        )
        steady_time = np.minimum(second_phase_time / share_left, longest_time)
        # First phases have about an exponential time, and so has what comes behind them.
        longest_delay = longest_time - steady_time
        unlimited_delay = np.maximum(number_behind * added_time / share_left, 1e-300)
        return np.asarray(
            (steady_time + unlimited_delay * -np.expm1(-longest_delay / unlimited_delay)) / present
        )

    def second(self, present: Array, number_behind: Array) -> Array:
        """Return W(n), the mean time of a second phase beside a number of others [s]."""
        return self.visit(present, self.rate, number_behind) * present


class _PhaseTimes(NamedTuple, Generic[FloatOrArray]):
    """The mean times of which both phases consist, at several points or at one.

    Attributes
    ----------
    delay, waiting : before the server, and for a place in it [s]
    first_phase, second_phase : time from admission to the end of the first phase, and from there
        to the end of the second [s]
    beside, with_first : customers in the second phase beside a customer of it, itself included,
        and those in rounds with first phases [1]
    units : of first phases in a round that has any [1]
    """

    delay: FloatOrArray
    waiting: FloatOrArray
    first_phase: FloatOrArray
    second_phase: FloatOrArray
    beside: FloatOrArray
    with_first: FloatOrArray
    units: FloatOrArray


class _ComputedPoint(NamedTuple):
    """What the formula computes for one point: times, quantiles, and numbers in a round.

    Attributes
    ----------
    times : of both phases
    first_account, second_account : time in the first phase and in the second, by component
        [components; s]
    wait : before the rounds of the first phase [s]
    served : customers in a round, in the mean [1]
    throughput : visits that end [1/s]
    round_time : mean time of a round [s]
    quantiles : of the first phase, without its delay; empty where they are not known [s]
    unit_time, unit_quantiles : of the time of a unit of the second phase, times the mean of its
        units; 0 and empty where they are not known apart [s]
    """

    times: _PhaseTimes[float]
    first_account: list[float]
    second_account: list[float]
    wait: float
    served: float
    throughput: float
    round_time: float
    quantiles: Sequence[float] = ()
    unit_time: float = 0.0
    unit_quantiles: Sequence[float] = ()


def _values_of_streams(
    rounds: _MeanRounds, rows: Indices, streams: _ConvergedStreams
) -> list[_ComputedPoint]:
    """Compute the values of streams whose numbers and times have converged."""
    if not len(rows):
        return []
    rounds = rounds.rows(rows)
    rates = rounds.rate[:, 0]
    phase_times = _PhaseTimes(
        rounds.delay[:, 0],
        streams.probability_full[rows] * streams.wait[rows],
        streams.means[rows],
        streams.in_second_phase[rows] / rates,
        streams.beside[rows],
        streams.present[1, rows, 0],
        streams.units[rows],
    )
    computed_points = _computed_points(rounds, phase_times, rates, streams.round_times[rows])
    quantiles = streams.quantiles[rows].tolist()
    behind = (streams.behind[rows], streams.behind_variance[rows])
    unit_times = _unit_times(rounds, streams.fullness[rows], phase_times, behind).tolist()
    return [
        point._replace(quantiles=of_first, unit_time=mean, unit_quantiles=of_unit)
        for point, of_first, (mean, *of_unit) in zip(
            computed_points, quantiles, unit_times, strict=True
        )
    ]


def _unit_times(
    rounds: _MeanRounds,
    fullness: Array,
    times: _PhaseTimes[Array],
    behind: tuple[Array, Array],
) -> Array:
    """Return the mean time of a unit of second phases, and the times that parts of all second
    phases do not exceed [points, 1 and quantiles; in units of a second phase of mean length; s].

    A second phase takes the mean of the number present while it lasts, and the first phases that
    arrive meanwhile. Of M/G/infinity with constant times that mean has two thirds of the variance
    of the number itself, and its correlation with the arrivals is 0.61 (both derived); the number
    has the birth-death distribution, wider as second phases begin in groups. The first phases make
    of U = v D + L P a busy period of M/D/1 that begins with as much work, with the mean
    U / (1 - X P) and the variance U X P^2 / (1 - X P)^3 + Var L P^2 / (1 - X P)^2; what is in it
    beyond v D is taken as a gamma variable. Second phases of different lengths v have the same L,
    so that units of short ones take longer.

    Parameters
    ----------
    rounds : their times
    fullness : see `_PresentNumbers`
    times : means of both phases
    behind : mean and variance of L [points, 1; 1]
    """
    number_behind, variance_behind = behind
    lengths = rounds.second_lengths()
    present = fullness[:, -1:]
    plain_time = rounds.steps * rounds.time(present, 0.0)
    extra_time = rounds.added_by_first_phase(present)
    share_left = 1 - rounds.share_of_first(present)
    work_behind = number_behind * extra_time
    mean_time = times.second_phase[:, None]
    unit_means = mean_time * (plain_time + work_behind / lengths) / (plain_time + work_behind)
    parts = np.array(QUANTILES)
    if lengths.shape[1] > 1:
        parts = (np.arange(UNIT_PARTS) + 0.5) / UNIT_PARTS
    by_number = _deviation_by_number(rounds, fullness, number_behind, parts)[:, None, :]
    work = plain_time * lengths + work_behind
    excess = work / share_left - plain_time * lengths
    variance = (work * rounds.rate / share_left + variance_behind) * (extra_time / share_left) ** 2
    by_arrivals = _gamma_deviation(excess, variance, parts) / lengths[:, :, None]
    joint_variance = (
        by_number**2 + by_arrivals**2 + 2 * SAME_ARRIVALS * abs(by_number * by_arrivals)
    )
    deviation = np.where(
        by_number * by_arrivals > 0,
        np.copysign(np.sqrt(joint_variance), by_number),
        by_number + by_arrivals,
    )
    # Where the server is full, as many first phases begin as customers leave.
    most_present = rounds.highest
    longest_time = rounds.steps * rounds.time(
        most_present, 0.0
    ) + most_present * rounds.added_by_first_phase(most_present)
    unit_times = unit_means[:, :, None] + deviation
    unit_times = np.minimum(unit_times, np.maximum(longest_time, unit_means)[:, :, None])
    if lengths.shape[1] == 1:
        quantiles = unit_times[:, 0]
    else:
        ordered = np.sort(unit_times.reshape(len(unit_times), -1), axis=1)
        quantiles = ordered[:, [int(part * ordered.shape[1]) for part in QUANTILES]]
    return np.hstack([unit_means.mean(axis=1, keepdims=True), quantiles])


def _deviation_by_number(
    rounds: _MeanRounds, fullness: Array, number_behind: Array, parts: Array
) -> Array:
    """Return by how much second phases are longer than in the mean for the number present, in
    parts of all [points, parts; s]; between known parts as a normal variable is.
    """
    from scipy.special import ndtri

    visit_times = rounds.second(fullness, number_behind)
    size = np.sqrt(_group_size(rounds, fullness[:, -1:]))
    deviation = math.sqrt(2 / 3) * size * (visit_times[:, :-1] - visit_times[:, -1:])
    if len(parts) == len(QUANTILES):
        return deviation
    known = ndtri(np.array(QUANTILES))
    places = ndtri(parts)
    slopes = deviation[:, 2:3] / known[2]
    upper = np.stack([np.interp(places, known, row) for row in deviation])
    return np.asarray(np.where(parts < QUANTILES[0], slopes * places, upper))


def _gamma_deviation(mean: Array, variance: Array, parts: Array) -> Array:
    """Return by how much gamma variables exceed their mean, in parts of all [points, lengths,
    parts].
    """
    from scipy.special import gammaincinv

    scale = (variance / np.maximum(mean, 1e-300))[:, :, None]
    shape = (mean / np.maximum(scale[:, :, 0], 1e-300))[:, :, None]
    return np.asarray((gammaincinv(shape, parts) - shape) * scale)


def _computed_points(
    rounds: _MeanRounds, phase_times: _PhaseTimes[Array], throughput: Array, round_times: Array
) -> list[_ComputedPoint]:
    """Compute accounts, quantiles and mean numbers of points from the times of their phases.

    Parameters
    ----------
    rounds : their times of rounds
    phase_times : mean times of their phases
    throughput : visits that end [points; 1/s]
    round_times : see `_RoundTimes` [points, 2; s]
    """
    round_time, time_between = round_times.T
    first_accounts, wait, second_accounts = _accounts(rounds, phase_times)
    customers_served = rounds.served(throughput * time_between, phase_times.with_first)
    columns = (first_accounts.T, second_accounts.T, wait, customers_served, throughput, round_time)
    times = map(_PhaseTimes[float]._make, np.transpose(phase_times).tolist())
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [_ComputedPoint(time, *row) for time, row in zip(times, rows, strict=True)]


def _accounts(rounds: _MeanRounds, times: _PhaseTimes[Array]) -> tuple[Array, Array, Array]:
    """Return the parts of the rounds in the first phase [parts, points], the wait before these
    rounds [points], and the parts of the rounds in the second phase [parts, points] [s].

    A first phase takes whole rounds; what is left of its time is a wait. In the second, rounds
    without first phases take v D(n), and what rounds with them add is in proportion to the parts
    that a first phase adds to a round.
    """
    with_first, parts_without_units, parts_without_first = (
        rounds.component_times(present[:, None], units[:, None])[:, :, 0]
        for present, units in (
            (times.with_first, times.units),
            (times.with_first, np.zeros_like(times.units)),
            (times.beside, np.zeros_like(times.units)),
        )
    )
    round_time = with_first.sum(axis=0)
    rounds_needed = np.maximum(rounds.units[:, 0] / np.maximum(times.units, 1e-9), 1.0)
    first_parts = with_first * np.minimum(rounds_needed, times.first_phase / round_time)
    plain_time = np.maximum(parts_without_first.sum(axis=0), 1e-300)
    plain_parts = parts_without_first * np.minimum(
        rounds.steps[:, 0], times.second_phase / plain_time
    )
    added_parts = with_first - parts_without_units
    # Parts that first phases do not add, or only those of a rest of rounding: all in proportion.
    added_parts = np.where(added_parts.sum(axis=0) > 1e-9 * round_time, added_parts, with_first)
    time_left = times.second_phase - plain_parts.sum(axis=0)
    second_parts = plain_parts + added_parts * (time_left / added_parts.sum(axis=0))
    return first_parts, times.first_phase - first_parts.sum(axis=0) + times.waiting, second_parts


class _RoundTimes(NamedTuple):
    """Mean times of rounds.

    Attributes
    ----------
    mean : of a round [s]
    time_between : from the beginning of a round to that of the next, idle time included [s]
    """

    mean: float
    time_between: float


class _PresentMeans(NamedTuple):
    """Means of the birth-death process of the number present.

    Attributes
    ----------
    throughput : visits that end [1/s]
    present, waiting : customers on the server, and those that wait for a place [1]
    meeting_probability : probability that a customer that arrives finds another [1]
    busy_share : probability that any is present [1]
    """

    throughput: float
    present: float
    waiting: float
    meeting_probability: float
    busy_share: float


def _present_means_of_population(point: PointNumbers, rounds: _MeanRounds) -> _PresentMeans:
    """Solve the number present of a closed population as a birth-death process."""
    population = point.population
    most_customers = float(rounds.highest[0, 0])
    customers_there = np.arange(1.0, population + 1)
    customers_on_server = np.minimum(customers_there, most_customers)
    visit_times = rounds.visit(customers_on_server[None, :])[0]
    time_outside = point.think_time + point.delay
    if not time_outside:
        mean_on_server = min(float(population), most_customers)
        return _PresentMeans(
            1 / float(visit_times[-1]), mean_on_server, population - mean_on_server, 1.0, 1.0
        )
    arrival_rates = (population - customers_there + 1) / time_outside
    probabilities = _birth_death((arrival_rates * visit_times)[None, :])[0]
    probabilities /= probabilities.sum()
    throughput = float(probabilities[1:] @ (1 / visit_times))
    mean_on_server = float(probabilities[1:] @ customers_on_server)
    waiting = float(probabilities[1:] @ customers_there) - mean_on_server
    # An arrival finds the others as they are without it (arrival theorem).
    weights_of_others = _birth_death(((arrival_rates - 1 / time_outside) * visit_times)[None, :-1])[
        0
    ]
    meeting_probability = 1 - float(weights_of_others[0] / weights_of_others.sum())
    return _PresentMeans(
        throughput, mean_on_server, waiting, meeting_probability, 1 - float(probabilities[0])
    )


def _round_times_closed(rounds: _MeanRounds, present_means: _PresentMeans) -> _RoundTimes:
    """Return the times of rounds of a closed population, T = D + X T P / U, where U is the part of
    the time in which any customer is present.
    """
    present = max(present_means.present / present_means.busy_share, 1.0)
    time_without_first, added_time = (
        float(time_at_point[0, 0])
        for time_at_point in (rounds.time(present, 0.0), rounds.added_by_first_phase(present))
    )
    mean = time_without_first / max(
        1 - present_means.throughput / present_means.busy_share * added_time, 1e-9
    )
    return _RoundTimes(mean, mean / present_means.busy_share)


class _PresentNumbers(NamedTuple):
    """Numbers present of streams.

    Attributes
    ----------
    in_second_phase : customers in the second phase [points; 1]
    beside : customers in the second phase beside one of them, itself included [points; 1]
    idle : probability that there is none [points]
    taken, wait : probability that a customer waits for a place, and the mean wait of those that do
        [points; 1, s]
    places : rate times the time for which a visit holds a place of a full server, over the places;
        1 or more where they are saturated [points; 1]
    fullness : of rounds beside a customer: largest number of customers that a part of all have, of
        the parts of `QUANTILES`, and their mean [points, quantiles and 1; 1]
    """

    in_second_phase: Array
    beside: Array
    idle: Array
    probability_full: Array
    wait: Array
    place_load: Array
    fullness: Array


def _solve_present(rounds: _MeanRounds, number_behind: Array) -> _PresentNumbers:
    """Solve the number present of streams; beyond the largest on the server it is geometric.

    Parameters
    ----------
    rounds : their times
    number_behind : first phases that one leaves behind when it ends [points, 1; 1]
    """
    most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
    last_number = np.ceil(most_customers).astype(int)
    customers_on_server = np.minimum(np.arange(1.0, last_number.max() + 1), most_customers)
    visit_times = rounds.visit(customers_on_server, rounds.rate, number_behind)
    weights, weight_beyond, _ = _weights_with_tail(rounds.rate * visit_times, last_number)
    total_weight = weights.sum(axis=1, keepdims=True) + weight_beyond
    weighted_sum = (weights[:, 1:] * customers_on_server).sum(
        axis=1, keepdims=True
    ) + weight_beyond * most_customers
    sum_of_squares = (weights[:, 1:] * customers_on_server**2).sum(
        axis=1, keepdims=True
    ) + weight_beyond * most_customers**2
    beside = sum_of_squares / weighted_sum
    # Second phases begin in groups, as first phases prolong rounds in which more customers come.
    # But over rounds fewer are present than over time: longer rounds have more, and count once.
    grouped = (
        beside
        + _group_size(rounds, beside)
        - 1
        - weighted_sum / total_weight * _share_behind(rounds, beside, number_behind)
    )
    grouped = np.clip(grouped, 1.0, np.maximum(most_customers, beside))
    longer = rounds.second(grouped, number_behind) / rounds.second(beside, number_behind)
    distribution = np.cumsum(weights, axis=1) / total_weight
    number_at_quantiles = np.stack(
        [(distribution < quantile).sum(axis=1) for quantile in QUANTILES], axis=1
    )
    fullness = np.hstack(
        [
            np.clip(number_at_quantiles, 1.0, np.maximum(most_customers, 1.0)),
            weighted_sum / total_weight,
        ]
    )
    # A place is held in the rounds of the first phase, too.
    holding_time = visit_times + rounds.first_alone(most_customers) / customers_on_server
    holding_weights, holding_weight_beyond, place_load = _weights_with_tail(
        rounds.rate * holding_time, last_number
    )
    decay = np.minimum(place_load, LARGEST_PLACE_LOAD)
    probability_full = (
        holding_weight_beyond
        / decay
        / (holding_weights.sum(axis=1, keepdims=True) + holding_weight_beyond)
    )
    waiting_load = np.minimum(decay, 1 - LEAST_ROOM)
    wait_of_exponential = waiting_load / (1 - waiting_load) / rounds.rate
    variation = np.minimum(rounds.variation, 1.0)
    wait = rounds.shorter_wait(most_customers, waiting_load) * wait_of_exponential
    regularity = np.where(most_customers > 1, 1 - variation, 0.0)
    less_often = 1 - (1 - WAIT_LESS_OFTEN) * regularity
    columns = (
        weighted_sum / total_weight * longer,
        grouped,
        weights[:, :1] / total_weight,
        probability_full * less_often,
        wait / less_often,
        place_load,
    )
    return _PresentNumbers._make([*(column.ravel() for column in columns), fullness])


def _group_size(rounds: _MeanRounds, present: Array) -> Array:
    """Return the variance over the mean of the number of second phases that begin in many rounds,
    1 / (1 - X P)^2 [points, 1; 1].

    Customers come in a Poisson stream, but first phases prolong rounds, in which more customers
    come: v rounds of v D + N P bring N, whose mean grows with N itself. A customer finds as many
    more beside it as the variance of the number exceeds its mean.
    """
    return np.asarray((1 - rounds.share_of_first(present)) ** -2)


def _share_behind(rounds: _MeanRounds, present: Array, number_behind: Array) -> Array:
    """Return the part of a second phase that first phases behind its own take, with those that
    come meanwhile, L P / (v D + L P) [points, 1; 1].
    """
    work_behind = number_behind * rounds.added_by_first_phase(present)
    return np.asarray(work_behind / (rounds.steps * rounds.time(present, 0.0) + work_behind))


def _weights_with_tail(
    successive_ratios: Array, last_number: Indices
) -> tuple[Array, Array, Array]:
    """Solve a birth-death process whose ratio of successive weights is constant beyond a number.
    Return the weight of each number up to it [points, numbers], the weight of all numbers beyond
    it together, and the ratio there [points, 1].
    """
    weights = _birth_death(successive_ratios, last_number)
    ratio = np.take_along_axis(successive_ratios, last_number - 1, axis=1)
    decay = np.minimum(ratio, LARGEST_PLACE_LOAD)
    weight_beyond = np.take_along_axis(weights, last_number, axis=1) * decay / (1 - decay)
    return weights, weight_beyond, ratio


def _birth_death(successive_ratios: Array, last_number: Indices | None = None) -> Array:
    """Compute the probabilities of 0, 1, ... up to a constant factor, from the ratio of each to the
    one before it; each row ends at its last number.
    """
    logs = np.hstack(
        [np.zeros((len(successive_ratios), 1)), np.cumsum(np.log(successive_ratios), axis=1)]
    )
    if last_number is not None:
        logs = np.where(np.arange(logs.shape[1]) <= last_number, logs, -math.inf)
    weights: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights


class _FirstPhases(NamedTuple):
    """Times of first phases of streams, from admission.

    Attributes
    ----------
    means : of the time [points; s]
    quantiles : of the time [points, quantiles; s]
    behind, behind_variance : mean and variance of the number of first phases that one leaves behind
        when it ends [points; 1]
    round_times : mean time of a round [points; s]
    by_round, by_time : parts of the rounds and of the time that have first phases [points; 1]
    number_queued : first phases that wait in such rounds behind the one under way [points; 1]
    """

    means: Array
    quantiles: Array
    behind: Array
    behind_variance: Array
    round_times: Array
    by_round: Array
    by_time: Array
    number_queued: Array


class _Waits(NamedTuple):
    """What arriving customers find, see `_PresentNumbers`, and the squared coefficient of variation
    of second phases [points].
    """

    idle: Array
    taken: Array
    wait: Array
    variation: Array


def _first_phases_open(
    rounds: _MeanRounds, present: Array, waits: _Waits, queued: Array
) -> _FirstPhases:
    """Compute the times from admission to the end of the first phase of Poisson streams; a customer
    that finds no other begins at once.

    Parameters
    ----------
    rounds : their times
    present : customers in the second phase of rounds without and with first phases [2, points, 1;
        1]
    waits : for a place, and the probability that no customer is there
    queued : first phases that wait behind the one under way, in the mean [points, 1; 1]
    """
    backlog = _Backlog(rounds, present, queued)
    times, weights, left_behind, left_squared = backlog.first_phase()
    all_times, all_weights, free, times_alone = _with_idle(rounds, times, weights, waits.idle)
    means = (all_times * all_weights).sum(axis=1)
    quantiles = _quantiles(all_times, all_weights, waits)
    number_after_alone = rounds.rate[:, 0] * times_alone
    number_behind = (1 - free) * left_behind + free * number_after_alone
    # The number given the time is taken as Poisson.
    squared = (1 - free) * left_squared + free * number_after_alone**2
    variance_behind = squared - number_behind**2 + number_behind
    return _FirstPhases(means, quantiles, number_behind, variance_behind, *backlog.shares())


def _with_idle(
    rounds: _MeanRounds, times: Array, weights: Array, idle: Array
) -> tuple[Array, Array, Array, Array]:
    """Return times of first phases and how probable each is, with those that find no customer
    [points, times]; the probability of these, and their mean time [points].
    """
    room = rounds.room(0.0)
    work_of_groups = np.hstack(rounds.first_work())
    times_alone = rounds.time(0.0, np.minimum(work_of_groups, room)) * np.maximum(
        1.0, work_of_groups / room
    )
    # Where no first phase is under way, the server may have no customer at all.
    free = idle * weights[:, :, 0].sum(axis=(1, 2, 3))
    weights[:, :, 0] *= (1 - idle)[:, None, None, None]
    count = len(times)
    all_times = np.hstack([times.reshape(count, -1), times_alone])
    weight_of_each = np.broadcast_to(free[:, None] / work_of_groups.shape[1], work_of_groups.shape)
    all_weights = np.hstack([weights.reshape(count, -1), weight_of_each])
    return all_times, all_weights, free, times_alone.mean(axis=1)


def _first_phases_over_numbers(
    rounds: _MeanRounds,
    present: Array,
    deviation: Array,
    waits: _Waits,
    queued: Array,
) -> tuple[Array, Array]:
    """Compute means and quantiles of first phases over the numbers in the second phase, which
    change in many rounds, and with them the room that a round has for first phases [points;
    points, quantiles; s].

    The number is normal, by equally probable nodes with its variance. A node at which first phases
    would take all rounds lasts too short for that, and is moved to where they nearly do.

    Parameters
    ----------
    rounds, present, waits, queued : see `_first_phases_open`
    deviation : standard deviation of the number in the second phase [points, 1; 1]
    """
    load = _Backlog.load(rounds, present[1])
    times, weights = [], []
    for place in NODES:
        change = place * deviation
        load_there = _Backlog.load(rounds, np.maximum(present[1] + change, 1.0))
        reach = (1 - LEAST_ROOM - load) / np.maximum(load_there - load, 1e-9)
        change = np.where(load_there > 1 - LEAST_ROOM, change * np.clip(reach, 0.0, 1.0), change)
        backlog = _Backlog(rounds, np.maximum(present + change, 1.0), queued)
        of_node, chances, _, _ = backlog.first_phase()
        all_times, all_weights, _, _ = _with_idle(rounds, of_node, chances, waits.idle)
        times.append(all_times)
        weights.append(all_weights / len(NODES))
    mixed_times, mixed_weights = np.hstack(times), np.hstack(weights)
    return (mixed_times * mixed_weights).sum(axis=1), _quantiles(mixed_times, mixed_weights, waits)


class _ConvergedStreams:
    """The numbers of streams and the times of their first phases, iterated until they agree with
    each other.

    A first phase leaves those behind that came while it lasted, less what its last round had room
    for (first come, first served). They make the rounds longer with which the second phase begins.

    Parameters
    ----------
    rounds : their times
    rows : the points that are not saturated

    Attributes
    ----------
    served, beside, idle, taken, wait, places : see `_PresentNumbers` [points]
    fullness : see `_PresentNumbers` [points, quantiles and 1]
    means, quantiles : of first phases [points; points, quantiles; s]
    round_times : see `_RoundTimes` [points, 2; s]
    present : customers in the second phase of rounds without and with first phases [2, points, 1;
        1]
    units : of first phases in a round that has any [points; 1]
    unconverged_rows : points whose numbers and times have not converged
    """

    def __init__(self, rounds: _MeanRounds, rows: Indices) -> None:
        count = len(rounds.rate)
        self.in_second_phase, self.beside, self.idle = np.zeros((3, count))
        self.probability_full, self.wait, self.place_load = np.zeros((3, count))
        self.fullness = np.zeros((count, len(QUANTILES) + 1))
        self.means = np.zeros(count)
        self.round_times = np.zeros((count, 2))
        self.quantiles = np.zeros((count, len(QUANTILES)))
        self.behind, self.behind_variance = np.zeros((2, count, 1))
        self._number_queued = np.zeros((count, 1))
        self._excess_present = np.zeros((2, count, 1))
        self.present = np.ones((2, count, 1))
        self.units = np.zeros(count)
        all_rounds, all_rows = rounds, rows
        for _ in range(MOST_SETTLING):
            if not len(rows):
                break
            rows = rows[self._change_of_times(rounds.rows(rows), rows) > LARGEST_LAST_CHANGE]
        self.unconverged_rows = rows
        self._compute_over_numbers(all_rounds, np.setdiff1d(all_rows, rows))

    def _compute_over_numbers(self, rounds: _MeanRounds, rows: Indices) -> None:
        """Compute first phases over the numbers in the second phase where these change the room of
        a round.
        """
        known_part = QUANTILES.index(0.9)
        deviation = (self.fullness[:, known_part] - self.fullness[:, -1]) / NORMAL_QUANTILE
        room, change = rounds.room(self.present[1]), deviation[:, None] * rounds.piece
        fewer, more = (
            np.ceil(rounds.units / (room + sign * NODES[-1] * change)) for sign in (1.0, -1.0)
        )
        is_changing = (change > LEAST_CHANGE * room) | (fewer != more)
        rows = rows[is_changing[rows, 0]]
        if not len(rows):
            return
        part = rounds.rows(rows)
        for cut in _row_groups(
            np.arange(len(rows)), _Backlog.sizes(part, self.present[1, rows]) ** 2
        ):
            here = rows[cut]
            self.means[here], self.quantiles[here] = _first_phases_over_numbers(
                rounds.rows(here),
                self.present[:, here],
                deviation[here, None],
                self._waits(rounds.rows(here), here),
                self._number_queued[here],
            )

    def _change_of_times(self, rounds: _MeanRounds, rows: Indices) -> Array:
        """Compute some points once more; return the relative change of their times [rows]."""
        most_customers = np.minimum(rounds.most_customers, MOST_PRESENT)
        count = len(rows)
        for group in _row_groups(np.arange(count), np.ceil(most_customers.ravel()) + 1):
            present_numbers = _solve_present(rounds.rows(group), self.behind[rows[group]])
            for name, column in zip(present_numbers._fields, present_numbers, strict=True):
                getattr(self, name)[rows[group]] = column
        mean_in_second_phase = self.in_second_phase[rows, None]
        times_before = self._times(rows)
        present = np.clip(
            mean_in_second_phase + self._excess_present[:, rows],
            1.0,
            np.maximum(most_customers, 1.0),
        )
        for group in _row_groups(np.arange(count), _Backlog.sizes(rounds, present[1]) ** 2):
            changed_rows = rows[group]
            waits = self._waits(rounds.rows(group), changed_rows)
            first_phases = _first_phases_open(
                rounds.rows(group), present[:, group], waits, self._number_queued[changed_rows]
            )
            self.means[rows[group]], self.quantiles[rows[group]] = (
                first_phases.means,
                first_phases.quantiles,
            )
            self.round_times[rows[group]] = self._round_times(rounds.rows(group), first_phases)
            self._excess_present[:, rows[group]] = self._excess_in_second_phase(
                rounds.rows(group), mean_in_second_phase[group], first_phases
            )
            self.present[:, rows[group]] = present[:, group]
            self._number_queued[rows[group]] = first_phases.number_queued[:, None]
            self.behind[rows[group]] = first_phases.behind[:, None]
            self.behind_variance[rows[group]] = first_phases.behind_variance[:, None]
            by_round = rounds.rate[group, 0] * first_phases.round_times * rounds.units[group, 0]
            self.units[rows[group]] = by_round / np.maximum(first_phases.by_round, 1e-12)
        times = self._times(rows)
        return np.asarray((abs(times - times_before) / times).max(axis=1))

    def _waits(self, rounds: _MeanRounds, rows: Indices) -> _Waits:
        """Return what customers find at some points."""
        variation = np.minimum(rounds.variation[:, 0], 1.0)
        return _Waits(self.idle[rows], self.probability_full[rows], self.wait[rows], variation)

    def _times(self, rows: Indices) -> Array:
        """Return the times whose convergence is tested [rows, 2; s]."""
        return np.stack([self.means[rows], self.round_times[rows, 1]], axis=1)

    @staticmethod
    def _round_times(rounds: _MeanRounds, first_phases: _FirstPhases) -> Array:
        """Return the times of rounds, see `_RoundTimes` [points, 2; s].

        The chain of first phases goes on in rounds while the server is idle. It is idle where no
        first phase is under way and no customer is in the second phase, whose number is then taken
        as that of M/G/infinity, with the time of a customer that is alone: what first phases add to
        that time, they add while they are under way. Chosen among three such times on 36 streams of
        `llm-serving` (second phases of 16 to 255 rounds, loads of 0.1 to 0.8): utilization is 4 %
        too low at most there, by the mean time of a round it was 13 % too high, by the time of the
        birth-death process 27 %.
        """
        probability_empty = np.exp(-rounds.rate * rounds.steps * rounds.time(1.0, 0.0)).ravel()
        busy_share = 1 - (1 - first_phases.by_time) * probability_empty
        time_between = first_phases.round_times / (
            1 - (1 - first_phases.by_round) * probability_empty
        )
        return np.stack([busy_share * time_between, time_between], axis=1)

    @staticmethod
    def _excess_in_second_phase(
        rounds: _MeanRounds, mean_in_second_phase: Array, first_phases: _FirstPhases
    ) -> Array:
        """Return by how much the mean number in the second phase differs from its mean over time:
        in rounds without first phases, and in rounds with them [2, points, 1].

        Little's law over rounds gives the mean number of a round, X T v; over time it is n. The
        difference of the two means is that of the two kinds of rounds, times the difference of
        their parts of the time and of the rounds. It is also the part of n in the time of the first
        phases behind: where rounds with first phases are rare, a small error of T is large beside
        it, and where they are not, an error of that part is, so that the smaller number is taken.
        """
        by_rounds = rounds.rate * first_phases.round_times[:, None] * rounds.steps
        behind = mean_in_second_phase * _share_behind(
            rounds, mean_in_second_phase, first_phases.behind[:, None]
        )
        fewer_by_rounds = np.clip(mean_in_second_phase - by_rounds, 0.0, behind)
        time_shares = first_phases.by_time[:, None] - first_phases.by_round[:, None]
        excess_number = fewer_by_rounds / np.maximum(time_shares, 1e-9)
        excess_number = np.where(time_shares > 0.01, excess_number, 0.0)
        by_time = first_phases.by_time[:, None]
        return np.stack([-by_time * excess_number, (1 - by_time) * excess_number])


class _Backlog:
    """First phases of Poisson streams that wait or are under way, at the beginnings of rounds.

    Parameters
    ----------
    rounds : their times
    present : customers in the second phase of rounds without and with first phases, in the mean
        [2, points, 1; 1]
    mean_queued : first phases that wait behind the one under way, in the mean [points, 1; 1]
    """

    def __init__(self, rounds: _MeanRounds, present: Array, mean_queued: Array) -> None:
        self._rounds = rounds
        # Customers of different work come as fewer with equal and larger work would: the work that
        # comes in a time has the same mean and variance.
        group_size = 1 + rounds.first_variation
        self._rate = rounds.rate / group_size
        self._units = rounds.units * group_size
        self._with_first = present[1]
        self._room, self._pieces_per_first_phase, self._pieces_per_round = self._units_and_pieces(
            rounds, present[1]
        )
        pieces_waiting = np.arange(int(self.sizes(rounds, present[1]).max()))
        units = np.minimum(pieces_waiting * self._units / self._pieces_per_first_phase, self._room)
        self._number_queued = np.maximum(
            pieces_waiting * group_size / self._pieces_per_first_phase - 1, 0.0
        )
        without_limit = self._present_without_limit(present, mean_queued)
        self._present = np.where(
            pieces_waiting > 0, np.minimum(without_limit, self._largest()), present[0]
        )
        self._times = rounds.time(self._present, units)
        # A round takes a whole number of pieces; what that rounds off, its time makes up for.
        rounding_factor = (
            self._units / self._room * self._pieces_per_round / self._pieces_per_first_phase
        )
        full_round_times = (
            self._times + self._time_of_blocked_rounds(without_limit)
        ) * rounding_factor
        is_full = (pieces_waiting > self._pieces_per_round) | (
            (pieces_waiting == self._pieces_per_round) & (rounding_factor > 1)
        )
        self._times = np.where(is_full, full_round_times, self._times)
        self._pieces_left = np.maximum(pieces_waiting - self._pieces_per_round, 0)
        self._stationary = self._solve()

    def _largest(self) -> Array:
        """Return the number in the second phase that a long backlog leads to [points, 1]."""
        return np.asarray(np.maximum(self._rounds.highest, self._with_first))

    def _present_without_limit(self, present: Array, mean_queued: Array) -> Array:
        """Return how many are in the second phase by the pieces that wait, as if there were no
        limit [points, pieces].

        A backlog of k grows in about k S / (1 - X S), where S is the time that rounds full of first
        phases take for one of them, as a queue does that gets as much as it can do. Meanwhile one
        customer comes to the second phase in each S, and those that were there leave.
        """
        rounds, (without_first, with_first) = self._rounds, present
        rounds_needed = rounds.units / self._room
        load = (
            rounds.rate
            * rounds_needed
            * rounds.time(with_first, np.minimum(self._room, rounds.units))
        )
        relative_gain = np.maximum(1 - rounds_needed * without_first / rounds.steps, 0.0)
        growth = AGE_OF_A_BACKLOG * relative_gain / np.maximum(1 - load, LEAST_ROOM)
        present_later = with_first + growth * (self._number_queued - mean_queued)
        return np.asarray(np.maximum(present_later, without_first))

    def _time_of_blocked_rounds(self, present: Array) -> Array:
        """Return the time by which first phases that wait for a place prolong a full round [s]. It
        is the probability that all places are taken, multiplied by the time of the rounds without
        first phases that the second phases need to free a place. The number present is taken as
        normal with the variance of a Poisson number.
        """
        from scipy.special import ndtr

        rounds = self._rounds
        rounds_needed = self._rounds.units / self._room
        further_rounds = np.maximum(rounds.steps / (rounds.highest * rounds_needed) - 1, 0.0)
        deviation = np.sqrt(np.maximum(self._with_first, 1.0))
        probability_full = ndtr((present - rounds.highest + 1) / deviation)
        added_time = probability_full * further_rounds * rounds.time(rounds.highest, 0.0)
        # Where places are few, who waits for one waits before the first phase.
        return np.where((rounds_needed > 1) & ~rounds.few_places, added_time, 0.0)

    def _full_rounds(self, count: Array, number_reached: int) -> Array:
        """Return the time of successive full rounds while the number in the second phase grows [s].

        Parameters
        ----------
        count : of rounds, by point, pieces, place and customers before
        number_reached : numbers of pieces that count
        """
        present_at_begin = self._present[:, :number_reached, None, None]
        remaining_share = np.exp(-count / 2 / self._rounds.steps[:, :, None, None])
        final_present = self._largest()[:, :, None, None]
        takes_several = (self._rounds.units > self._room)[:, :, None, None]
        present_later = np.where(
            takes_several,
            final_present - (final_present - present_at_begin) * remaining_share,
            present_at_begin,
        )
        present_later = np.broadcast_to(present_later, count.shape).reshape(len(count), -1)
        time_of_one = self._rounds.time(present_later, self._room) + self._time_of_blocked_rounds(
            present_later
        )
        return np.asarray(count * time_of_one.reshape(count.shape))

    @staticmethod
    def _units_and_pieces(rounds: _MeanRounds, present: Array) -> tuple[Array, Array, Array]:
        """Return the units of first phases in a round, and pieces of a customer and of a round."""
        group_size = 1 + rounds.first_variation
        room = np.minimum(rounds.room(present), MOST_PIECES // 4 * rounds.units)
        work, most = _pieces(group_size * rounds.units / room)
        return room, work, most

    @classmethod
    def load(cls, rounds: _MeanRounds, present: Array) -> Array:
        """Return the part of full rounds that first phases need [points, 1; 1]."""
        room, work, most = cls._units_and_pieces(rounds, present)
        return np.asarray(rounds.rate * rounds.time(present, room) * work / most)

    @classmethod
    def sizes(cls, rounds: _MeanRounds, present: Array) -> Array:
        """Return how many numbers of pieces each point counts [points]."""
        _, work, most = cls._units_and_pieces(rounds, present)
        load = cls.load(rounds, present)
        sizes = 2 * most + work * np.ceil(8 + 8 / np.maximum(1 - load, 0.1))
        return np.minimum(sizes, MOST_PIECES).ravel()

    def _solve(self) -> Array:
        """Return the distribution of the pieces at the beginning of a round [points, pieces]: q' =
        (q - most)+ + work A, where A is Poisson with mean rate times the time of the round.
        """
        states = np.arange(self._times.shape[1])
        arrived = (states - self._pieces_left[:, :, None]) / self._pieces_per_first_phase[
            :, :, None
        ]
        step = np.where(
            (arrived >= 0) & (arrived == np.floor(arrived)),
            _poisson((self._rate * self._times)[:, :, None], np.maximum(arrived, 0)),
            0.0,
        )
        step[:, :, -1] += 1 - step.sum(axis=2)
        equations = step.transpose(0, 2, 1) - np.eye(len(states))
        equations[:, -1] = 1.0
        right = np.zeros((len(step), len(states), 1))
        right[:, -1] = 1.0
        stationary = np.asarray(np.linalg.solve(equations, right)[..., 0], dtype=np.float64)
        return np.clip(stationary, 0.0, None)

    def shares(self) -> tuple[Array, Array, Array, Array]:
        """Return the mean time of a round, the parts of the rounds and of the time with first
        phases, and how many wait in rounds with them behind the one under way [points].
        """
        total = self._stationary.sum(axis=1)
        time = (self._stationary * self._times).sum(axis=1)
        without = self._stationary[:, 0] / total
        by_time = 1 - without * self._times[:, 0] * total / time
        queued = (self._stationary * self._number_queued).sum(axis=1) / total
        return (time / total, 1 - without, by_time, queued / np.maximum(1 - without, 1e-12))

    def first_phase(self) -> tuple[Array, Array, Array, Array]:
        """Return times from an arrival to the end of the first phase, how probable each is, and the
        mean, and the mean square, of the number of customers behind it whose first phase is not
        done by then [points].

        The first two are by point, by its own work and whether others come behind, by the number at
        the beginning of the round of the arrival, by the place in it, and by how many came in it
        before.

        A customer arrives in a round with a probability in proportion to its time, at a place
        that is uniform in it. In front of it are then the pieces left by that round, and those
        of the customers that came in the same round before.
        """
        rate, room, units = (
            part[:, :, None, None] for part in (self._rate, self._room, self._units)
        )
        chances = self._stationary * self._times
        number_reached = self._count_of_likely_numbers(chances)
        parts = (np.arange(PLACES_IN_A_ROUND) + 0.5) / PLACES_IN_A_ROUND
        times = self._times[:, :number_reached, None, None]
        passed = times * parts[None, None, :, None]
        remaining_time = times - passed
        arrivals_before = np.arange(float(_most_before(float((rate * times).max()))))
        weights = chances[:, :number_reached, None, None] * _poisson(rate * passed, arrivals_before)
        piece = self._units / self._pieces_per_first_phase
        pieces_of_customer = (self._units / self._rounds.units)[:, :, None, None]
        work_of_others = (self._pieces_left[:, :number_reached] * piece)[
            :, :, None, None
        ] + units * arrivals_before
        all_ends, all_weights, all_left = [], [], []
        for work in self._rounds.first_work():
            work_ahead = work_of_others + work[:, :, None, None]
            full_rounds = np.ceil(work_ahead / room - 1e-9) - 1
            full_time = self._full_rounds(full_rounds, number_reached)
            # Behind it others come until its last round: none, or some in their mean.
            expected_behind = rate * (remaining_time + full_time)
            none_behind = np.exp(-expected_behind)
            last_units = work_ahead - full_rounds * room
            units_behind = units * expected_behind / np.maximum(1 - none_behind, 1e-9)
            all_weights += [weights * none_behind, weights * (1 - none_behind)]
            for units_of_later in (np.zeros_like(units_behind), units_behind):
                own_round = self._time_of(last_units + units_of_later)
                all_ends.append(remaining_time + full_time + own_round)
                # Its last round does what it has room for of those behind; others come meanwhile.
                pieces_left = (
                    np.maximum(last_units + units_of_later - room, 0.0) / units + rate * own_round
                )
                all_left.append(pieces_left * pieces_of_customer)
        weights_behind = np.stack(all_weights, axis=1)
        weights_behind /= weights_behind.sum(axis=(1, 2, 3, 4), keepdims=True)
        left = np.stack(all_left, axis=1)
        left_behind, left_squared = (
            (weights_behind * power).sum(axis=(1, 2, 3, 4)) for power in (left, left**2)
        )
        return np.stack(all_ends, axis=1), weights_behind, left_behind, left_squared

    @staticmethod
    def _count_of_likely_numbers(chances: Array) -> int:
        """Return how many numbers of pieces are not so rare that they do not count."""
        tails = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
        return int(np.flatnonzero((tails > RARE * tails[:, :1]).any(axis=0))[-1]) + 1

    def _time_of(self, units: Array) -> Array:
        """Interpolate the time of a round that does some units of first phases, by point."""
        count, size = self._times.shape
        places = np.minimum(
            units.reshape(count, -1) * self._pieces_per_first_phase / self._units, size - 1.0
        )
        lower = np.minimum(places.astype(int), size - 2)
        time_below = np.take_along_axis(self._times, lower, axis=1)
        time_above = np.take_along_axis(self._times, lower + 1, axis=1)
        return np.asarray(time_below + (places - lower) * (time_above - time_below)).reshape(
            units.shape
        )


def _most_before(mean: float) -> int:
    """Return the largest number of customers that arrive during a round with a probability that is
    not negligible.
    """
    chances = np.cumsum(_poisson(np.array(mean), np.arange(float(MOST_BEFORE))))
    return min(int(np.searchsorted(chances, 1 - RARE)) + 1, MOST_BEFORE)


def _pieces(rounds_needed: Array) -> tuple[Array, Array]:
    """Return two small numbers whose ratio is about that of the work of a customer to what a round
    does: pieces of a customer, and pieces of a round; at most 3 of the smaller.
    """
    needed = np.maximum(rounds_needed, 1 / MOST_PIECES)
    fewest = np.arange(1.0, 4.0)[:, None, None]
    ratio = np.where(needed < 1, 1 / needed, needed)
    rounded = np.rint(fewest * ratio)
    # Of a round that does several customers the nearest ratio, else the nearest part of it.
    error = np.where(needed < 1, abs(rounded / fewest - ratio), abs(fewest * ratio / rounded - 1))
    best = np.argmin(np.round(error, 12), axis=0)
    smaller = best + 1.0
    larger = np.take_along_axis(rounded, best[None], axis=0)[0]
    work = np.where(needed < 1, smaller, larger)
    most = np.where(needed < 1, np.minimum(larger, MOST_PIECES // 4), smaller)
    return work, most


def _poisson(mean: Array, counts: Array) -> Array:
    """Return Poisson probabilities of counts, broadcast."""
    log_factorials: Array = np.cumsum(np.log(np.maximum(np.arange(counts.max() + 2), 1)))
    probabilities: Array = np.exp(
        counts * np.log(np.maximum(mean, 1e-300))
        - mean
        - log_factorials[np.floor(counts).astype(int)]
    )
    return probabilities


def _quantiles(times: Array, weights: Array, waits: _Waits) -> Array:
    """Return the times, with the wait for a place, within which parts of all probability lie
    [points, quantiles].

    The wait is independent of the rest. Where there is one, it is exponential if times at the
    server are, of gamma shape 1.5 if these are constant (`WAIT_LESS_OFTEN`), and in between by
    their squared coefficient of variation.
    """
    from scipy.special import erf

    order = np.argsort(times, axis=1)
    weight_below = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    quantiles = _times_at_parts(times, order, weight_below, QUANTILES)
    rows = np.flatnonzero(waits.taken > RARE_WAIT)
    if not len(rows):
        return quantiles
    parts = (np.arange(SUPPORT) + 0.5) / SUPPORT
    support = _times_at_parts(times[rows], order[rows], weight_below[rows], parts)[:, None, :]
    taken, wait, variation = (
        column[rows, None, None] for column in (waits.taken, waits.wait, waits.variation)
    )
    low = quantiles[rows]
    high = low + wait[:, :, 0] * math.log(1 / RARE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        time_left = middle[:, :, None] - support
        ratio = np.maximum(time_left, 0.0) / wait
        still = np.exp(-ratio)
        root = np.sqrt(1.5 * ratio)
        ended_of_constant = erf(root) - 2 / math.sqrt(math.pi) * root * still * np.sqrt(still)
        ended = variation * (1 - still) + (1 - variation) * ended_of_constant
        chance = np.where(time_left >= 0, 1 - taken + taken * ended, 0.0).mean(axis=2)
        is_enough = chance >= np.array(QUANTILES)
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    quantiles[rows] = high
    return quantiles


def _times_at_parts(
    times: Array, order: Indices, weight_below: Array, parts: Sequence[float] | Array
) -> Array:
    """Return the times below which parts of all probability lie [points, parts].

    Parameters
    ----------
    times, order : and their places, from the shortest on [points, times; s]
    weight_below : cumulated probabilities in that order [points, times]
    parts : from 0 to 1
    """
    places = np.stack([np.searchsorted(row, parts) for row in weight_below])
    chosen_indices = np.take_along_axis(order, np.minimum(places, times.shape[1] - 1), axis=1)
    return np.asarray(np.take_along_axis(times, chosen_indices, axis=1))


def _first_phase_closed(
    point: PointNumbers, rounds: _MeanRounds, present: float, present_means: _PresentMeans
) -> float:
    """Return the time from admission to the end of the first phase, of a closed population [s]."""
    plain_time, extra_time, unit_limit, full_round_time = (
        float(column[0, 0])
        for column in (
            rounds.time(present, 0.0),
            rounds.added_by_first_phase(present),
            rounds.room(present),
            rounds.time(present, np.minimum(rounds.room(present), rounds.units)),
        )
    )
    throughput = present_means.throughput
    rounds_needed = float(rounds.units[0, 0]) / unit_limit
    customers = max(1, round(point.population - present_means.waiting))
    mean_round = plain_time / max(1 - throughput * extra_time, plain_time / full_round_time)
    time_outside = point.think_time + point.delay
    # Second phases bring the next first phases by rounds. Think times, if they are longer than
    # rounds, bring them by time: more in the long rounds of a backlog than in others.
    rounds_outside = float(rounds.steps[0, 0]) + time_outside / mean_round
    if rounds_needed > 1:
        by_time = time_outside / (time_outside + mean_round)
        rounds_outside /= by_time * full_round_time / mean_round + 1 - by_time
    variation = float(rounds.first_variation[0, 0])
    work_sizes = [float(work[0, 0]) for work in rounds.first_work()]
    residence, cycle = _rounds_of_cycle(customers, rounds_needed, rounds_outside, variation)
    # Who comes at once after a visit comes at the end of a round with all others that did; others
    # meet a round with a probability in proportion to its time, and wait for half of it.
    rounds_taken = sum(math.ceil(work / unit_limit - 1e-9) for work in work_sizes) / len(work_sizes)
    remaining_time = 0.0
    arrival_rate = (customers - 1) / cycle
    if time_outside:
        if rounds_needed > 1:
            share_with_first = min(throughput * mean_round * rounds_taken, 1.0)
            round_time_with_first = plain_time + extra_time / rounds_taken
            met_round_time = (
                share_with_first * round_time_with_first**2 + (1 - share_with_first) * plain_time**2
            ) / (share_with_first * round_time_with_first + (1 - share_with_first) * plain_time)
        else:
            # T' = plain + extra A, A Poisson with mean X T, in the mean T + Var T / T.
            extra_load = min(throughput * extra_time, 1 - LEAST_ROOM)
            met_round_time = mean_round + extra_time * extra_load / (1 - extra_load**2)
        met_round_time *= present_means.meeting_probability
        remaining_time = met_round_time / 2
        arrival_rate = (customers - 1) / customers * throughput * met_round_time
    waiting_time = max(residence - max(rounds_needed, 1.0), 0.0) * full_round_time
    own_time = plain_time * rounds_taken + extra_time
    if rounds_needed < 1:
        own_time = sum(
            _time_of_shared_round(rounds, present, arrival_rate, customers, work)
            for work in work_sizes
        ) / len(work_sizes)
    steady_time = remaining_time + own_time + waiting_time
    if not point.visits:
        return steady_time
    mean_position = (customers + 1) / 2
    first_time = extra_time * mean_position + plain_time * max(rounds_needed * mean_position, 1.0)
    return first_time / point.visits + (1 - 1 / point.visits) * steady_time


def _rounds_of_cycle(
    customers: int, rounds_needed: float, rounds_outside: float, variation: float
) -> tuple[float, float]:
    """Return the rounds from admission to the end of a first phase, and those of a whole cycle, by
    mean value analysis [1].
    """
    residence = cycle = number_queued = busy_share = 0.0
    for number in range(1, customers + 1):
        residence = rounds_needed * (1 + number_queued - busy_share * (1 - variation) / 2)
        cycle = max(residence, 1.0) + rounds_outside
        number_queued = number * residence / cycle
        busy_share = number * rounds_needed / cycle
    return residence, cycle


def _time_of_shared_round(
    rounds: _MeanRounds, present: float, mean_others: float, customers: int, work: float
) -> float:
    """Return the mean time of the round of a first phase with others, whose number is binomial;
    what the budget has no room for follows in further rounds [s].

    Parameters
    ----------
    rounds : their times, of one point
    present : customers in the second phase [1]
    mean_others : mean number of others [1]
    customers : largest number of first phases [1]
    work : of this first phase [units]
    """
    from scipy.stats import binom

    other_counts = np.arange(float(customers))
    chances = binom.pmf(other_counts, customers - 1, min(mean_others / max(customers - 1, 1), 1.0))
    units = other_counts * rounds.units[0, 0] + work
    room = float(rounds.room(present)[0, 0])
    whole_rounds = np.ceil(units / room - 1e-9) - 1
    full = float(rounds.time(present, room)[0, 0]) if whole_rounds.any() else 0.0
    times = whole_rounds * full + rounds.time(present, units - whole_rounds * room)[0]
    return float(chances @ times)


def saturated(load: float) -> NoAnswerError:
    """Return the error of a stream that brings more work than the server can do."""
    reason = Saturated(
        f"by its mean rounds the server is saturated: load {load:.3g}, at most 1 has an answer; let"
        " fewer customers arrive, or make rounds shorter"
    )
    return NoAnswerError(reason)


def loads_of(points: Sequence[PointNumbers]) -> Array:
    """Return the value ``load`` of streams with two phases: the rate times the time that a visit
    takes of a server with as many customers in the second phase as places, memory and budget allow
    [points].
    """
    rounds = _MeanRounds(points)
    visits = rounds.visit(np.minimum(rounds.highest, MOST_PRESENT))
    return np.asarray(rounds.rate * visits).ravel()


def load_of(point: PointNumbers) -> float:
    """Return the load of a stream by mean rounds: the arrival rate times the time that a visit
    takes of a server with as many customers as it can have [1]. A closed population has load 0.
    """
    if not point.rate:
        return 0.0
    most_customers = min(point.server.places, point.server.memory / point.work, LARGE_ROUND)
    return point.rate * time_of_a_visit(point, max(most_customers, 1.0))


def time_of_a_visit(point: PointNumbers, present: float) -> float:
    """Return the mean time of a customer's visit to a server with a given number of customers
    present [s]; 0 for more than two phases, for which the time is not known.
    """
    server = point.server
    if len(point.phases) == 2:
        return float(_MeanRounds([point]).visit(present)[0, 0])
    if len(point.phases) > 2:
        return 0.0
    (phase,) = point.phases
    units = min(present * min(phase.mean, phase.piece), server.budget)
    customers = units / min(phase.mean, phase.piece)
    times = point.round_time([customers], [units], 0.0, [units * phase.mean / 2])
    time = float(times[0]) + server.batching_delay
    if server.interval:
        time = server.interval * math.ceil(time / server.interval)
    return time * phase.mean / units
