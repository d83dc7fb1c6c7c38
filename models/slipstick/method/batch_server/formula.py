"""Formulas for servers that work in rounds, of one phase or two.

A round with n customers in the second phase, each in the middle of its work, takes D(n); with q
units of the first phase as well, F(n, q). The first phase of a customer, w units, takes c = ceil(w /
(B - n)) rounds with budget B, so that it makes rounds longer by P(n) = c (F(n, w / c) - D(n)). Then a
visit takes of a server with n customers

    S(n) = v D(n) / n + P(n),          v the units of the second phase,

and the number present is a birth-death process with rate of ends 1 / S(min(n, K)), K the largest
number present. Of it come the throughput of a closed population, the mean number and, by Little's
law, the response time. The first phase ends after

- waiting for a place, (n - K) 1 / (arrival rate), and for the first phases of others where the
  budget is short: they are one server with rounds of the whole budget, M/D/1;
- the rest of the round that is under way, E[T^2] / (2 E[T]) by renewal theory, where the number of
  first phases in a round is Poisson;
- its own rounds, the first of which it shares with those that came in that rest.

In a closed population the first phases are one server with service P(n) as well, solved by mean
value analysis. A finite run begins with all customers at once: their first phases are done one
after the other, so that the first visit of a customer waits for half of the others.

Assumptions: numbers of customers and of first phases in a round are independent; lengths count by
their means. Errors against simulation: tests/method/test_batch_server.py and benchmarks/README.md.
"""

from __future__ import annotations

import math

from slipstick.errors import NoAnswerError
from slipstick.late import Array, np
from slipstick.method.answers import Remarks
from slipstick.method.batch_server.points import (
    BatchServerForm,
    PointAnswer,
    PointNumbers,
    exactly,
)
from slipstick.vocabulary import FORMULA

MOST_PRESENT = 20_000
"""Numbers of customers that the birth-death process counts at most."""

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
        throughput, present, in_queue = _numbers(point, rounds)
        response_time = (present + in_queue) / throughput + point.delay
        served = max(present, 1.0)
        wait = in_queue / throughput
        first = (
            point.delay
            + wait
            + (
                _first_phase_open(rounds, throughput, served)
                if point.rate
                else _first_phase_closed(point, rounds, served)
            )
        )
        names, (_, answer) = list(self.model.phases), point.phases
        plain, extra = rounds.at(served, 0.0), float(rounds.extra(served)[0])
        round_time = plain / max(1 - throughput * extra, 1e-9)
        values = {
            "response_time": response_time,
            "throughput": throughput,
            f"phase_time[{names[0]}]": first,
            f"phase_time[{names[1]}]": response_time,
            f"time_per_unit[{names[1]}]": (response_time - first) / answer.mean,
            **{
                f"unit_rate[{name}]": throughput * phase.mean
                for name, phase in zip(names, point.phases, strict=True)
            },
            "served": present,
            "round_time": round_time,
        }
        return PointAnswer(exactly(values), remarks=Remarks(notes=(NOTE,)))


def _in_step(point: PointNumbers) -> bool:
    """Return whether customers that begin together go through their phases together for ever."""
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
        return self._point.round_time(
            [in_first / self.units, in_second],
            [in_first, done],
            in_second * self._held,
            [in_first * self.units / 2, done * self._held],
        )

    def at(self, present: float, units: float) -> float:
        """Return F(n, q) for one round [s]."""
        return float(self.time(present, units)[0])

    def room(self, present: Array | float) -> Array:
        """Return the units of first phases that a round has room for."""
        return np.maximum(self._point.server.budget - np.atleast_1d(present) * self.piece, 1.0)

    def extra(self, present: Array | float) -> Array:
        """Return P(n), by how much the first phase of a customer makes rounds longer [s]."""
        count = np.ceil(self.units / self.room(present))
        longer: Array = self.time(present, self.units / count) - self.time(present, 0.0)
        return count * longer

    def visit(self, present: Array | float) -> Array:
        """Return S(n), the time that a visit takes of a server with some customers [s]."""
        visit: Array = self.steps * self.time(present, 0.0) / present + self.extra(present)
        return visit


def _numbers(point: PointNumbers, rounds: _MeanRounds) -> tuple[float, float, float]:
    """Return throughput [1/s], and how many customers are present and wait for a place."""
    most = point.population or MOST_PRESENT
    number = np.arange(1.0, most + 1)
    visit = rounds.visit(np.minimum(number, rounds.most))
    if point.population and not point.think_time + point.delay:
        served = min(float(most), rounds.most)
        return 1 / float(visit[-1]), served, most - served
    if point.population:
        arrivals = (most - number + 1) / (point.think_time + point.delay)
    else:
        arrivals = np.full(most, point.rate)
        if point.rate * visit[-1] >= 1:
            raise saturated(point.rate * float(visit[-1]))
    logs = np.concatenate([[0.0], np.cumsum(np.log(arrivals * visit))])
    probabilities = np.exp(logs - logs.max())
    probabilities /= probabilities.sum()
    throughput = float(probabilities[1:] @ (1 / visit))
    served = float(probabilities[1:] @ np.minimum(number, rounds.most))
    return throughput, served, float(probabilities[1:] @ number) - served


def _first_phase_open(rounds: _MeanRounds, rate: float, present: float) -> float:
    """Return the time from admission to the end of the first phase, of a Poisson stream [s]."""
    room = float(rounds.room(present)[0])
    counts = np.arange(0.0, 33.0)
    times = rounds.time(present, np.minimum(counts * rounds.units, room))
    mean = float(times[0])
    for _ in range(200):
        arrivals = min(rate * mean, 16.0)
        logs = counts * math.log(max(arrivals, 1e-300)) - [math.lgamma(k + 1) for k in counts]
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = (mean + float(weights @ times)) / 2
    rest = float(weights @ times**2) / (2 * mean)
    units = rounds.units * (1 + 2 * rate * rest)
    own = rounds.at(present, min(units, room)) * max(1.0, units / room)
    full = rounds.at(present, room) * rounds.units / room
    load = min(rate * full, 0.999)
    return rest + own + load * full / (2 * (1 - load)) * min(1.0, rounds.units / room)


def _first_phase_closed(point: PointNumbers, rounds: _MeanRounds, present: float) -> float:
    """Return the time from admission to the end of the first phase, of a closed population [s]."""
    plain, extra = rounds.at(present, 0.0), float(rounds.extra(present)[0])
    customers = max(1, round(present))
    outside = rounds.steps * plain + point.think_time + point.delay
    queue = 0.0
    for number in range(1, customers + 1):
        residence = extra * (1 + queue)
        queue = number * residence / (residence + outside)
    steady = residence + 1.5 * plain
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
