"""Values before the steady state by simulation, for models that no Markov chain follows: many
independent runs from the same start.

Run number r of every model has the same random numbers, so that models differ by what was varied
and not by chance. The mean over the runs has Student's interval. Runs are added until it is as
narrow as the precision of the settings says, or the events are used up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from slipstick.answer import Value, unit_of
from slipstick.errors import NoAnswerError
from slipstick.late import Array, dataclass, np, replace
from slipstick.method.names import station_and_count_of_passage, steady_name_and_time_of
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.method.simulation.flatten import flatten
from slipstick.model.absences import OFF_DUTY
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plain.stations import Ordered, QueueStatistics
from slipstick.sim.plan.distributions import BatchTimes, BurstyTimes
from slipstick.sim.plan.plan import Draw, Plan
from slipstick.sim.settings import Simulation
from slipstick_chains.over_the_day import message_of_empty_start

FEWEST_RUNS, MOST_RUNS = 40, 2_000
"""Smallest number of runs, so that the interval of a mean can be trusted, and largest number."""

MOST_EVENTS, MOST_EVENTS_OF_RUN = 3_000_000, 200_000
"""Largest numbers of events of all runs together and of a single run: about a minute and some
seconds.
"""


class _NumberAtTime(NamedTuple):
    """The number of customers at a resource at a given time, or whether it is a given number then.

    Parameters
    ----------
    resource : where
    time : after the start [s]
    present : the number whose probability is asked for; None: the number itself is
    """

    resource: str
    time: float
    present: int | None = None

    def observed_value(self, customer_count: int) -> float:
        """Return what a run contributes to the value while `customer_count` customers are present:
        their number; for the probability of a given number, 1 if just that many are present and 0
        otherwise.
        """
        return float(customer_count if self.present is None else customer_count == self.present)


class _Passage(NamedTuple):
    """The time until a given number of customers is first present at a resource.

    Parameters
    ----------
    resource : where
    present : the number; 0: until the resource is empty
    """

    resource: str
    present: int

    def has_ended(self, customer_count: int, initial_count: int) -> bool:
        """Return whether the number of customers has risen, or fallen, to the given number.

        Parameters
        ----------
        customer_count, initial_count : customers present, now and at time 0
        """
        if initial_count > self.present or not self.present:
            return customer_count <= self.present
        return customer_count >= self.present


_TransientValue = _NumberAtTime | _Passage


@dataclass(frozen=True)
class _FollowedPlan:
    """A plan of the simulator with the data that its transient runs need in addition.

    Parameters
    ----------
    plan : of the simulator
    backlogs : customers that come at time 0, by group
    absent_groups : groups whose members are servers that are away
    off_duty : those of them that follow a schedule
    """

    plan: Plan
    backlogs: Mapping[str, int]
    absent_groups: frozenset[int]
    off_duty: frozenset[int]


def simulated_values(
    model: QueueingNetwork | Model,
    names: Sequence[str],
    values: Mapping[str, float],
    read_seconds: Callable[[str], float],
    backlogs: Mapping[str, int],
    simulation: Simulation,
) -> dict[str, Value | str]:
    """Estimate values before the steady state by name, from runs that all start alike.

    Parameters
    ----------
    model : a network or an activity
    names : such as ``queue_length_at[desk,60]`` and ``time_until[desk,0]``
    values : parameters that differ from the model's own
    read_seconds : returns the number that the time in a name stands for [s]
    backlogs : customers of each stream that come at time 0, by the name of its group in a plan
    simulation : seed, precision, level and events

    Returns
    -------
    each value with its interval, or why there is none
    """
    followed_plan = _followed_plan(model, values, backlogs)
    groups_of_plan = {group.name for group in followed_plan.plan.groups}
    for name in sorted(backlogs.keys() - groups_of_plan):
        reason = (
            f"customers of {name} wait at time 0, and no more of them arrive, which a simulation"
            " does not follow; give them a rate above 0, such as 1e-9 /s, or times with an scv that"
            " a Markov chain takes"
        )
        return dict.fromkeys(names, reason)
    question_by_name: dict[str, _TransientValue] = {}
    answer_by_name: dict[str, Value | str] = {}
    for name in names:
        question = _parse_question(name, read_seconds)
        if question.resource in followed_plan.plan.resources:
            question_by_name[name] = question
        else:
            answer_by_name[name] = (
                "a simulation counts the customers of a whole station, not those of one class"
                if "," in question.resource
                else f"{question.resource} is no resource whose customers a simulation counts"
            )
    if not question_by_name:
        return answer_by_name
    observations = _observations_of_runs(followed_plan, list(question_by_name.values()), simulation)
    for name, observed_values in zip(question_by_name, np.array(observations).T, strict=True):
        answer_by_name[name] = _mean_over_runs(name, observed_values, simulation.level)
    return answer_by_name


def _parse_question(name: str, read_seconds: Callable[[str], float]) -> _TransientValue:
    """Parse the name of a value before the steady state, such as ``time_until[desk,20]``, into the
    value or the passage that runs observe.

    Parameters
    ----------
    name : of the value
    read_seconds : function that returns the time that a text such as ``5 min`` states [s]
    """
    if passage := station_and_count_of_passage(name):
        return _Passage(*passage)
    parsed_name = steady_name_and_time_of(name)
    assert parsed_name is not None
    steady_name, time_text = parsed_name
    value_kind, _, arguments = steady_name.removesuffix("]").partition("[")
    if value_kind == "queue_length":
        return _NumberAtTime(arguments, read_seconds(time_text))
    resource, _, count_text = arguments.rpartition(",")
    return _NumberAtTime(resource, read_seconds(time_text), int(count_text))


def _followed_plan(
    model: QueueingNetwork | Model, values: Mapping[str, float], backlogs: Mapping[str, int]
) -> _FollowedPlan:
    """Write a model as a plan of the simulator, with the backlogs and the groups that stand for
    servers that are away.
    """
    plan = (
        flatten(model, values).plan
        if isinstance(model, Model)
        else flat_network(NetworkLayout(model), values).plan
    )
    if plan.is_program:
        raise NoAnswerError(f"{model.name} is a program that ends, and has no time after a start")
    plan = replace(plan, draws=tuple(map(_with_quiet_start, plan.draws)))
    absent_groups, off_duty = (
        frozenset(
            group_number
            for group_number, group in enumerate(plan.groups)
            if group.name in model.absences
            and (not is_by_schedule or model.absences[group.name].by == OFF_DUTY)
        )
        for is_by_schedule in (False, True)
    )
    return _FollowedPlan(plan, backlogs, absent_groups, off_duty)


def _with_quiet_start(drawn_quantity: Draw) -> Draw:
    """Return a random quantity; if it is a time between arrivals with bursts, no burst is under way
    at time 0.
    """
    distribution = drawn_quantity.distribution
    if isinstance(distribution, BatchTimes) and isinstance(distribution.between, BurstyTimes):
        distribution = replace(
            distribution, between=replace(distribution.between, begins_quiet=True)
        )
    elif isinstance(distribution, BurstyTimes):
        distribution = replace(distribution, begins_quiet=True)
    return replace(drawn_quantity, distribution=distribution)


def counted_resources(model: QueueingNetwork | Model, values: Mapping[str, float]) -> list[str]:
    """List the stations and other resources whose customers a simulation counts."""
    resources = _followed_plan(model, values, {}).plan.resources
    names = model.resources if isinstance(model, Model) else model.stations
    return [name for name in names if name in resources]


def _observations_of_runs(
    followed_plan: _FollowedPlan, questions: Sequence[_TransientValue], simulation: Simulation
) -> list[list[float]]:
    """Return what each run contributes to each value that is asked for; NaN for a number that was
    never present [runs, questions].
    """
    observations: list[list[float]] = []
    event_count = 0
    unreached_questions = set[int]()
    event_limit = min(simulation.events, MOST_EVENTS)
    while len(observations) < MOST_RUNS:
        run_from_start = _RunFromStart(followed_plan, simulation.seed, len(observations))
        observations.append(run_from_start.follow(questions, unreached_questions))
        event_count += run_from_start.kernel.events
        # A mean over the other runs would be too small, so that no further run follows it.
        unreached_questions = set(np.flatnonzero(np.isnan(observations[-1])).tolist())
        if len(unreached_questions) == len(questions):
            break
        if len(observations) >= FEWEST_RUNS and (
            event_count * (1 + 1 / len(observations)) > event_limit
            or (
                len(observations) % FEWEST_RUNS == 0
                and _are_intervals_narrow(
                    np.delete(observations, list(unreached_questions), axis=1), simulation
                )
            )
        ):
            break
    return observations


def _are_intervals_narrow(observations: Array, simulation: Simulation) -> bool:
    """Return whether the intervals of all means are as narrow as the settings ask for."""
    half_widths = _interval_half_widths(observations, simulation.level)
    return bool((half_widths <= simulation.precision * np.abs(observations.mean(axis=0))).all())


def _interval_half_widths(observations: Array, confidence_level: float) -> Array:
    """Return the half-widths of Student's intervals of the means over the runs."""
    from scipy.stats import t

    run_count = len(observations)
    standard_errors = observations.std(axis=0, ddof=1) / math.sqrt(run_count)
    return np.asarray(t.ppf((1 + confidence_level) / 2, run_count - 1) * standard_errors)


def _mean_over_runs(name: str, observed_values: Array, confidence_level: float) -> Value | str:
    """Return the mean of a value over the runs with its interval, or why there is none."""
    station_and_count = station_and_count_of_passage(name)
    if station_and_count and not (station_and_count[1] or observed_values.any()):
        return message_of_empty_start(station_and_count[0])
    if np.isnan(observed_values).any():
        return (
            f"a simulation did not reach it within {MOST_EVENTS_OF_RUN:,} events; ask for"
            " queue_length_at or probability_at"
        )
    mean = float(observed_values.mean())
    half_width = float(_interval_half_widths(observed_values[:, None], confidence_level)[0])
    if name.startswith("probability_at"):
        # A probability of 0 or 1 in all runs may differ from it by 3 / runs (the rule of three).
        margin = max(half_width, 3 / len(observed_values) if mean in (0.0, 1.0) else 0.0)
        return Value(mean, unit_of(name), max(mean - margin, 0.0), min(mean + margin, 1.0))
    return Value(mean, unit_of(name), max(mean - half_width, 0.0), mean + half_width)


class _RunFromStart:
    """One run from the start of a plan, with its backlog and the servers that are off duty then.

    Parameters
    ----------
    followed_plan : what to run
    seed, replication : keys of the random streams
    """

    def __init__(self, followed_plan: _FollowedPlan, seed: int, replication: int) -> None:
        self.kernel = Kernel(followed_plan.plan, seed, replication)
        self._absent_groups = followed_plan.absent_groups
        self._begin_schedules(followed_plan.off_duty)
        for group_number, group in enumerate(followed_plan.plan.groups):
            for backlog_number in range(followed_plan.backlogs.get(group.name, 0)):
                token = self.kernel.make_token(-1 - backlog_number, group_number)
                token.instruction_number = group.starts[0]
                self.kernel.ready.append(token)
        self._resources_by_name: dict[str, list[QueueStatistics]] = {}
        for resource in self.kernel.resources:
            self._resources_by_name.setdefault(resource.name, []).append(resource)

    def _begin_schedules(self, off_duty: Collection[int]) -> None:
        """Run one period before time 0 for the servers that follow a schedule, so that the servers
        that are off duty at time 0 are away then.

        Such a group comes once a period, for the first time at the end of the first one.
        """
        kernel = self.kernel
        if not off_duty:
            return
        waiting_tokens = list(kernel.ready)
        kernel.ready.clear()
        open_groups = [
            group_number_of_stream
            for group_number_of_stream, group in enumerate(kernel.plan.groups)
            if group.kind == "open"
        ]
        # The kernel plans the first arrivals of the groups one after the other.
        arrival_events = sorted(kernel.heap, key=lambda event: event[1])
        kernel.heap[:] = sorted(
            (-time if group_number in off_duty else time, event_order, action, token)
            for group_number, (time, event_order, action, token) in zip(
                open_groups, arrival_events, strict=True
            )
        )
        while kernel.heap[0][0] <= 0:
            kernel.run(1)
        kernel.now = 0.0
        kernel.ready.extend(waiting_tokens)

    def customers_present(self, resource_name: str) -> int:
        """Return the number of customers that are present at a resource, without servers that are
        away.
        """
        resources = self._resources_by_name[resource_name]
        return sum(
            resource.present_count - self._away_server_count(resource) for resource in resources
        )

    def _away_server_count(self, resource: QueueStatistics) -> int:
        """Return the number of servers of a resource that are away, which the simulator counts as
        customers.
        """
        if not self._absent_groups or not isinstance(resource, Ordered):
            return 0
        waiting_tokens = (token for *_, token in resource.queue)
        return sum(
            token.group in self._absent_groups for token in (*resource.serving, *waiting_tokens)
        )

    def follow(
        self, questions: Sequence[_TransientValue], omitted_questions: Collection[int] = ()
    ) -> list[float]:
        """Run until each question has its answer, and return one observation for each question.

        Parameters
        ----------
        questions : times, and numbers to be reached
        omitted_questions : those that are not followed, by position
        """
        kernel = self.kernel
        observations = [math.nan] * len(questions)
        passage_by_index = {
            question_index: question
            for question_index, question in enumerate(questions)
            if isinstance(question, _Passage) and question_index not in omitted_questions
        }
        times_and_indices = sorted(
            (question.time, question_index)
            for question_index, question in enumerate(questions)
            if isinstance(question, _NumberAtTime)
        )
        # Customers that are there at time 0 begin.
        kernel.run(0)
        initial_counts = {
            passage.resource: self.customers_present(passage.resource)
            for passage in passage_by_index.values()
        }
        while kernel.events < MOST_EVENTS_OF_RUN:
            next_time = kernel.heap[0][0] if kernel.heap else math.inf
            while times_and_indices and times_and_indices[0][0] < next_time:
                _, question_index = times_and_indices.pop(0)
                question = questions[question_index]
                assert isinstance(question, _NumberAtTime)
                observations[question_index] = question.observed_value(
                    self.customers_present(question.resource)
                )
            for question_index in [
                question_index
                for question_index, passage in passage_by_index.items()
                if passage.has_ended(
                    self.customers_present(passage.resource), initial_counts[passage.resource]
                )
            ]:
                del passage_by_index[question_index]
                observations[question_index] = kernel.now
            if not (times_and_indices or passage_by_index) or not kernel.heap:
                break
            kernel.run(1)
        return observations
