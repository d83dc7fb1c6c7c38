"""Formulas for servers that work in rounds, of customers with two phases.

A round with n customers in the second phase, each in the middle of its work, takes D(n); with q
units of the first phase as well, F(n, q). The first phase of a customer, w units, takes c = w / r
rounds, at least one, where r = B - n is the room that the second phases leave in the budget B. It
makes rounds longer by P(n) = c (F(n, w / c) - D(n)).

Of a Poisson stream with rate X, a round of mean time T sees X T arrivals, each of which makes rounds
longer by P(n) in all: T = D(n) + X T P(n), so

    T(n) = D(n) / (1 - X P(n)).

With v units of the second phase, the number n in it is a birth-death process with births X and
deaths n / (v T(n)); where n is as large as it can be, K, and X v T(K) / K reaches 1, the server is
saturated by its mean rounds. Its mean gives the time of the second phase by Little's law.

The first phases wait for one another. Counted in pieces at the beginnings of rounds they are a
Markov chain, q' = (q - pieces of a round)+ + pieces of a customer x A, A Poisson with mean X F(n, q):
M/D/1 where a first phase takes several rounds, and rounds one after the other where one round does
several. A customer arrives at a uniform place of a round that it meets with a probability in
proportion to its time (renewal theory); then follow the rounds of what is in front of it and its
own, the last of which it shares with those that came behind. That is the distribution of the first
phase, with quantiles.

In a closed population all n customers are present: a visit takes S(n) = v D(n) / n + P(n) of the
server, and the number present is a birth-death process with rate of ends 1 / S(min(n, K)). First
phases are one server with service P(n), solved by mean value analysis. A finite run begins with all
customers at once: their first phases are done one after the other, so that the first visit of a
customer waits for half of the others.

Assumptions: n is constant while a first phase lasts; numbers of customers and of first phases in a
round are independent; lengths count by their means; customers do not stay in step. Errors beside
simulation, by `benchmarks/rounds.py`, stand in benchmarks/README.md: of a stream up to load 0.8 at
most 6 % in the mean of the first phase and 10 % in its 95 of 100; the time of a unit of the second
phase is up to 16 % too short where first phases exceed the budget, for rounds with and without first
phases then differ by a factor of five, which a mean leaves out; of a closed population without think
time the first phase is up to 12 % too short.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from slipstick.errors import NoAnswerError
from slipstick.late import Array, np
from slipstick.method.answers import Remarks
from slipstick.method.batch_server.points import (
    BatchServerForm,
    PointAnswer,
    PointNumbers,
    exactly,
)
from slipstick.method.names import QUANTILES, quantile_name
from slipstick.vocabulary import FORMULA

MOST_PRESENT = 20_000
"""Numbers of customers that the birth-death process counts at most."""

NEGLIGIBLE_WAIT = 0.01
"""Part of the time of the first phase up to which a wait for a place does not move quantiles."""

MOST_PIECES = 400
"""Pieces of first phases that wait at most: those of the chain of a backlog."""

PLACES_IN_A_ROUND, MOST_BEFORE = 4, 16
"""Places in a round at which a customer may arrive, and customers that came in it before at most."""

LARGE_ROUND = 4096.0
"""Customers of a round of a server without a limit of them, whose capacity is asked for [1]."""

NOTE = "numbers in a round are taken as independent, lengths by their means"


class BatchServerFormula(BatchServerForm):
    """The formulas of this module."""

    method = FORMULA

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        if len(point.phases) != 2:
            raise NoAnswerError("the formula knows customers of two phases; ask for simulation")
        if point.server.batching_delay or point.server.interval:
            raise NoAnswerError("the formula knows rounds one after the other; ask for simulation")
        if _in_step(point):
            raise NoAnswerError(
                "customers of equal work without think time stay in step, which the formula does"
                " not know; give a think time or a least work below the largest, or ask for"
                " simulation"
            )
        rounds = _MeanRounds(point)
        numbers = _numbers(point, rounds)
        throughput, in_queue = numbers.throughput, numbers.waiting
        served = max(numbers.present, 1.0)
        before = point.delay + in_queue / throughput
        names, (_, answer) = list(self.model.phases), point.phases
        quantiles = {}
        if point.rate:
            times, weights = _first_phase_open(rounds, numbers, served)
            in_first = float(times @ weights)
            first = before + in_first
            response_time = first + numbers.present / throughput
            present = numbers.present + throughput * in_first
            # How long customers wait for a place is known in the mean only.
            if in_queue / throughput < NEGLIGIBLE_WAIT * first:
                quantiles = {
                    quantile_name(f"phase_time[{names[0]}]", part): point.delay
                    + _quantile(times, weights, part)
                    for part in QUANTILES
                }
        else:
            first = before + _first_phase_closed(point, rounds, served)
            present = numbers.present
            response_time = (present + in_queue) / throughput + point.delay
        plain, extra = rounds.at(served, 0.0), float(rounds.extra(served)[0])
        values = {
            "response_time": response_time,
            "throughput": throughput,
            f"phase_time[{names[0]}]": first,
            f"phase_time[{names[1]}]": response_time,
            f"time_per_unit[{names[1]}]": (response_time - first) / answer.mean,
            **quantiles,
            **{
                f"unit_rate[{name}]": throughput * phase.mean
                for name, phase in zip(names, point.phases, strict=True)
            },
            "served": present,
            "round_time": plain / max(1 - throughput * extra, 1e-9),
        }
        return PointAnswer(exactly(values), remarks=Remarks(notes=(NOTE,)))


def _in_step(point: PointNumbers) -> bool:
    """Return whether customers that begin together go through their phases together without end."""
    equal = all(phase.least == phase.work for phase in point.phases)
    return point.population > 1 and equal and not point.think_time


class _MeanRounds:
    """Times of rounds by the numbers in them, with the mean lengths of both phases."""

    def __init__(self, point: PointNumbers) -> None:
        self._point = point
        first, second = point.phases
        self.units, self.piece = first.mean, min(second.piece, second.mean)
        self.steps = second.mean / self.piece
        self._held = first.mean + second.mean / 2
        server = point.server
        each = first.mean + second.mean if server.reserved else self._held
        self.most = max(1.0, min(server.places, server.memory / each, server.budget / self.piece))

    def time(self, present: Array | float, units: Array | float) -> Array:
        """Return F(n, q), the time of a round with customers in the second phase and units of the
        first [s].
        """
        in_second, in_first = np.broadcast_arrays(np.atleast_1d(present), np.atleast_1d(units))
        done = in_second * self.piece
        times = self._point.round_time(
            [in_first / self.units, in_second],
            [in_first, done],
            in_second * self._held,
            [in_first * self.units / 2, done * self._held],
        )
        return np.broadcast_to(times, in_second.shape)

    def at(self, present: float, units: float) -> float:
        """Return F(n, q) for one round [s]."""
        return float(self.time(present, units)[0])

    def room(self, present: Array | float) -> Array:
        """Return the units of first phases that a round has room for."""
        return np.maximum(self._point.server.budget - np.atleast_1d(present) * self.piece, 1.0)

    def extra(self, present: Array | float) -> Array:
        """Return P(n), by how much the first phase of a customer makes rounds longer [s]."""
        count = np.maximum(self.units / self.room(present), 1.0)
        longer: Array = self.time(present, self.units / count) - self.time(present, 0.0)
        return count * longer

    def visit(self, present: Array | float, rate: float = 0.0) -> Array:
        """Return S(n), the time that a visit takes of a server with some customers [s].

        Parameters
        ----------
        present : customers of a closed population, or of a stream in the second phase [1]
        rate : of a stream, whose first phases make rounds longer; where they take all time, the
            second phases do not end [1/s]
        """
        second, extra = self.steps * self.time(present, 0.0) / present, self.extra(present)
        if not rate:
            return np.asarray(second + extra)
        return np.asarray(second / np.maximum(1 - rate * extra, 1e-9))


class _PresentMeans(NamedTuple):
    """Means of the birth-death process of the number present.

    Attributes
    ----------
    throughput : visits that end [1/s]
    present, waiting : customers on the server, and those that wait for a place [1]
    idle : probability that no customer is there [1]
    """

    throughput: float
    present: float
    waiting: float
    idle: float = 0.0


def _numbers(point: PointNumbers, rounds: _MeanRounds) -> _PresentMeans:
    """Solve the number present as a birth-death process."""
    if point.rate:
        return _of_stream(point, rounds)
    most = point.population
    number = np.arange(1.0, most + 1)
    visit = rounds.visit(np.minimum(number, rounds.most))
    if not point.think_time + point.delay:
        served = min(float(most), rounds.most)
        return _PresentMeans(1 / float(visit[-1]), served, most - served)
    arrivals = (most - number + 1) / (point.think_time + point.delay)
    probabilities = _birth_death(arrivals * visit)
    probabilities /= probabilities.sum()
    throughput = float(probabilities[1:] @ (1 / visit))
    served = float(probabilities[1:] @ np.minimum(number, rounds.most))
    waiting = float(probabilities[1:] @ number) - served
    return _PresentMeans(throughput, served, waiting, float(probabilities[0]))


def _of_stream(point: PointNumbers, rounds: _MeanRounds) -> _PresentMeans:
    """Solve the number present of a stream; beyond the largest on the server it is geometric."""
    most = min(rounds.most, float(MOST_PRESENT))
    load = point.rate * float(rounds.visit(most)[0])
    if load >= 1:
        raise saturated(load)
    number = np.minimum(np.arange(1.0, math.ceil(most) + 1), most)
    visit = rounds.visit(number, point.rate)
    weights = _birth_death(point.rate * visit)
    decay = min(point.rate * float(visit[-1]), 1 - 1e-12)
    beyond = float(weights[-1]) * decay / (1 - decay)
    total = float(weights.sum()) + beyond
    served = (float(weights[1:] @ number) + beyond * most) / total
    waiting = beyond / (1 - decay) / total
    return _PresentMeans(point.rate, served, waiting, float(weights[0]) / total)


def _birth_death(steps: Array) -> Array:
    """Return weights in proportion to the probabilities of 0, 1, ... by the ratios of successive
    ones.
    """
    logs = np.concatenate([[0.0], np.cumsum(np.log(steps))])
    weights: Array = np.exp(logs - logs.max())
    return weights


def _first_phase_open(
    rounds: _MeanRounds, numbers: _PresentMeans, present: float
) -> tuple[Array, Array]:
    """Return times from admission to the end of the first phase of a Poisson stream, and how
    probable each is; a customer that finds no other begins at once.
    """
    backlog = _Backlog(rounds, numbers.throughput, present)
    times, weights = backlog.first_phase()
    room = float(rounds.room(0.0)[0])
    alone = rounds.time(0.0, min(rounds.units, room)) * max(1.0, rounds.units / room)
    # Where no first phase is under way, the server may have no customer at all.
    idle = numbers.idle * float(weights[:, 0].sum())
    weights[:, 0] *= 1 - numbers.idle
    return np.append(times.ravel(), alone), np.append(weights.ravel(), idle)


class _Backlog:
    """First phases of a Poisson stream that wait or are under way, at the beginnings of rounds.

    Parameters
    ----------
    rounds : their times
    rate : of arrivals [1/s]
    present : customers in the second phase, taken as constant [1]
    """

    def __init__(self, rounds: _MeanRounds, rate: float, present: float) -> None:
        self._rate = rate
        self._room = float(rounds.room(present)[0])
        self._units = rounds.units
        self._work, self._most = _pieces(rounds.units / self._room)
        load = rate * float(rounds.time(present, self._room)[0]) * self._work / self._most
        size = 2 * self._most + self._work * math.ceil(8 + 8 / max(1 - load, 0.1))
        number = np.arange(min(size, MOST_PIECES))
        self._times = rounds.time(
            present, np.minimum(number * rounds.units / self._work, self._room)
        )
        self._left = np.maximum(number - self._most, 0)
        self._stationary = self._solve()

    def _solve(self) -> Array:
        """Return the distribution of the pieces at the beginning of a round: q' = (q - most)+ +
        work A, where A is Poisson with mean rate times the time of the round.
        """
        states = np.arange(len(self._times))
        arrived = (states[None, :] - self._left[:, None]) / self._work
        step = np.where(
            (arrived >= 0) & (arrived == np.floor(arrived)),
            _poisson(self._rate * self._times[:, None], np.maximum(arrived, 0)),
            0.0,
        )
        step[:, -1] += 1 - step.sum(axis=1)
        equations = step.T - np.eye(len(states))
        equations[-1] = 1.0
        right = np.eye(1, len(states), len(states) - 1).ravel()
        stationary = np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
        return np.clip(stationary, 0.0, None)

    def first_phase(self) -> tuple[Array, Array]:
        """Return times from an arrival to the end of the first phase, and how probable each is, by
        whether others come behind, and by the number at the beginning of the round of the arrival.

        A customer arrives in a round with a probability in proportion to its time, at a place
        that is uniform in it. In front of it are then the pieces left by that round, and those
        of the customers that came in the same round before.
        """
        parts = (np.arange(PLACES_IN_A_ROUND) + 0.5) / PLACES_IN_A_ROUND
        times = self._times[:, None, None]
        before = np.arange(float(MOST_BEFORE))[None, None, :]
        passed = times * parts[None, :, None]
        rest = times - passed
        weights = (self._stationary * self._times)[:, None, None] * _poisson(
            self._rate * passed, before
        )
        piece = self._units / self._work
        ahead = self._left[:, None, None] * piece + self._units * (before + 1)
        full_rounds = np.ceil(ahead / self._room - 1e-9) - 1
        full = full_rounds * self._times[-1]
        # Behind it others come until its last round: none, or some in their mean.
        expected = self._rate * (rest + full)
        none_behind = np.exp(-expected)
        last = ahead - full_rounds * self._room
        more = self._units * expected / np.maximum(1 - none_behind, 1e-9)
        ends = [
            rest + full + np.interp(units, np.arange(len(self._times)) * piece, self._times)
            for units in (last, last + more)
        ]
        chances = np.stack([weights * none_behind, weights * (1 - none_behind)])
        return np.stack(ends), chances / chances.sum()


def _pieces(rounds_needed: float) -> tuple[int, int]:
    """Return two small numbers whose ratio is about that of the work of a customer to what a round
    does: pieces of a customer, and pieces of a round.
    """
    if rounds_needed < 1:
        share = Fraction(1 / rounds_needed).limit_denominator(3)
        return share.denominator, min(share.numerator, MOST_PIECES // 4)
    most = min((1, 2, 3), key=lambda m: abs(m * rounds_needed / round(m * rounds_needed) - 1))
    return round(most * rounds_needed), most


def _poisson(mean: Array, number: Array) -> Array:
    """Return Poisson probabilities of whole numbers, broadcast."""
    logs: Array = np.cumsum(np.log(np.maximum(np.arange(number.max() + 2), 1)))
    probabilities: Array = np.exp(
        number * np.log(np.maximum(mean, 1e-300)) - mean - logs[np.floor(number).astype(int)]
    )
    return probabilities


def _quantile(times: Array, weights: Array, part: float) -> float:
    """Return the time within which a part of all probability lies."""
    order = np.argsort(times)
    below = np.cumsum(weights[order])
    return float(times[order[min(int(np.searchsorted(below, part)), len(order) - 1)]])


def _first_phase_closed(point: PointNumbers, rounds: _MeanRounds, present: float) -> float:
    """Return the time from admission to the end of the first phase, of a closed population [s]."""
    plain, extra = rounds.at(present, 0.0), float(rounds.extra(present)[0])
    customers = max(1, round(present))
    outside = rounds.steps * plain + point.think_time + point.delay
    queue = 0.0
    for number in range(1, customers + 1):
        residence = extra * (1 + queue)
        queue = number * residence / (residence + outside)
    # Who comes at once after a visit comes at the end of a round; others wait for half of one.
    rest = plain / 2 if point.think_time + point.delay else 0.0
    steady = rest + residence + plain
    if not point.visits:
        return steady
    begin = extra * (customers + 1) / 2 + plain
    return begin / point.visits + (1 - 1 / point.visits) * steady


def saturated(load: float) -> NoAnswerError:
    """Return the error of a stream that brings more work than the server can do."""
    return NoAnswerError(
        f"by its mean rounds the server is saturated: load {load:.3g}, at most 1 has an answer; let"
        " fewer customers arrive, or make rounds shorter"
    )


def load_of(point: PointNumbers) -> float:
    """Return the load of a stream by mean rounds: its rate times the time that a visit takes of a
    server that has as many customers as it can; 0 of a closed population [1].
    """
    if not point.rate:
        return 0.0
    most = min(point.server.places, point.server.memory / point.work, LARGE_ROUND)
    return point.rate * time_of_a_visit(point, max(most, 1.0))


def time_of_a_visit(point: PointNumbers, present: float) -> float:
    """Return the time that a visit takes of a server with some customers present [s]; 0 where
    customers have more than two phases, of which it is not known.
    """
    server = point.server
    if len(point.phases) == 2:
        return float(_MeanRounds(point).visit(present)[0])
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
