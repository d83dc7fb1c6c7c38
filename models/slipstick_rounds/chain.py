"""The exact chain of rounds: each round does the whole work of all waiting customers."""

from __future__ import annotations

import math

from slipstick.errors import NoAnswerError, Saturated
from slipstick.expression.tape import Flags, Values
from slipstick.late import Array, np
from slipstick.vocabulary import MARKOV_CHAIN
from slipstick_rounds.model import DELAY, WAIT
from slipstick_rounds.points import BatchServerForm, PointAnswer, PointNumbers, exact_estimates
from slipstick_rounds.round_chain import RoundMeans, closed_chain, open_chain
from slipstick_rounds.round_run import RoundContents

MOST_SERVED = 512
"""Largest number of customers in a round that the chain counts: its equations, whose time grows by
the cube, take two to three times as long then as a simulation of 5,000 visits of `group-commit`.
"""


class BatchServerChain(BatchServerForm):
    """A server that works in rounds, solved by the Markov chain of the numbers that its rounds
    serve; see `slipstick_rounds.round_chain`.
    """

    method = MARKOV_CHAIN

    def takes(self, values: Values) -> Flags:
        """Return at which points the chain has an answer."""
        points = self.points_at(values)
        # The first method reports what is wrong at a point.
        return np.array(
            [bool(point.reason_invalid) or not _reason_without_answer(point) for point in points]
        )

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        """Compute the answer at one point by the chain; raise a NoAnswerError if the chain does not
        apply.
        """
        if reason := _reason_without_answer(point):
            raise NoAnswerError(f"the chain of rounds has no answer: {reason}")
        if point.population:
            round_times, component_times = _round_times_by_component(point, point.population)
            means = closed_chain(round_times, point.think_time, point.server.batching_delay)
        else:
            means, round_times, component_times = _open_chain_at(point)
        return _point_answer(self, point, means, round_times, component_times)


def _reason_without_answer(point: PointNumbers) -> str:
    """Return why the chain has no answer at a point; empty if it has one."""
    server, (first_phase, *further_phases) = point.server, point.phases
    if further_phases:
        return "customers have several phases"
    if first_phase.least != first_phase.work or first_phase.work > min(
        first_phase.piece, server.budget
    ):
        return "the work of a customer is not done in one round"
    if point.visits:
        return "a finite run is asked for"
    if server.interval:
        return "rounds begin at multiples of an interval"
    if point.population and point.delay:
        return "customers spend a constant time outside of the server"
    if point.population and not point.think_time:
        return "no time between visits is random"
    most_customers = point.population or math.inf
    customer_limits = (
        server.places,
        server.budget / first_phase.work,
        server.memory / first_phase.work,
    )
    if point.population and min(customer_limits) < most_customers:
        return "not all customers fit into one round"
    if not point.population and min(customer_limits) < math.inf:
        return "a round serves a limited number of customers"
    if point.population > MOST_SERVED:
        return f"{point.population:,} customers are more than the {MOST_SERVED} that it counts"
    return ""


def _round_times_by_component(point: PointNumbers, most_customers: int) -> tuple[Array, Array]:
    """Return the times of rounds that serve 1, 2, ... customers, and the same times by component
    [s].
    """
    customers_served = np.arange(1.0, most_customers + 1)
    work = point.phases[0].work
    round_contents = RoundContents(
        [customers_served],
        [customers_served * work],
        np.zeros(most_customers),
        [customers_served * work * work / 2],
    )
    component_times = point.server.duration(round_contents)
    component_times = np.broadcast_to(component_times, (len(component_times), most_customers))
    return component_times.sum(axis=0), component_times


def _open_chain_at(point: PointNumbers) -> tuple[RoundMeans, Array, Array]:
    """Return the means of a chain with a Poisson stream at one point, with the times of rounds that
    serve 1, 2, ... customers, in total and by component [s].
    """
    customer_limit = 32
    while customer_limit <= MOST_SERVED:
        round_times, component_times = _round_times_by_component(point, customer_limit)
        try:
            return (
                open_chain(round_times, point.rate, point.server.batching_delay),
                round_times,
                component_times,
            )
        except ValueError:
            customer_limit *= 2
    time_per_customer = float(round_times[-1] - round_times[-2])
    is_saturated = point.rate * time_per_customer >= 1
    raise NoAnswerError(
        Saturated(
            "the server is saturated: each further customer of a round takes longer than the time"
            " between arrivals"
        )
        if is_saturated
        else f"the chain of rounds has no answer: rounds serve more than {MOST_SERVED} customers"
    )


def _point_answer(
    chain: BatchServerChain,
    point: PointNumbers,
    means: RoundMeans,
    round_times: Array,
    component_times: Array,
) -> PointAnswer:
    """Build the answer at a point from the means of the chain."""
    (phase,) = chain.model.phases
    values = {
        "response_time": means.response_time + point.delay,
        "throughput": means.throughput,
        f"phase_time[{phase}]": means.response_time + point.delay,
        f"unit_rate[{phase}]": means.throughput * point.phases[0].work,
        "served": means.served,
        "round_time": float(means.by_served @ round_times),
        "utilization": means.utilization,
    }
    customer_weights = means.by_served * np.arange(1, len(round_times) + 1)
    mean_component_times = component_times @ customer_weights / customer_weights.sum()
    account = dict(zip(chain.model.components, mean_component_times.tolist(), strict=True))
    waiting_time = means.response_time - float(mean_component_times.sum())
    account |= {WAIT: waiting_time} | ({DELAY: point.delay} if point.delay else {})
    return PointAnswer(exact_estimates(values), account, exact=True)
