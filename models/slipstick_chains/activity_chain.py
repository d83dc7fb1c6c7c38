"""Activities as Markov chains: a state holds the position of every processor in its activity, and
the phase of its time there.

Processors of one group are alike, so a state is a sorted list of their positions, those of waiting
processors in the order of arrival, and the units of each counter. What takes no time happens at
once, between two states. The chain follows from the meaning of activities alone: it shares no code
with the simulator, and with mean value only the way answers are made (`activity_form`), so that
both are tested against it (tests/method/test_activity_chain.py).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple, cast

from slipstick.errors import NoAnswerError, Unsolvable
from slipstick.expression.nodes import COUNT, Expr
from slipstick.expression.tape import Flags, Values, selected_values
from slipstick.late import Array, NDArray, np
from slipstick.limits import (
    ANNOUNCE,
    ANNOUNCED,
    WorkPace,
    advice_on_limit,
    check_cost,
    limit_in_force,
    with_lower_limits,
)
from slipstick.method.activity_form import ActivityForm, ActivityTable
from slipstick.method.activity_numbers import reasons_not_whole, reasons_out_of_range
from slipstick.method.answers import CompiledModel, Remarks
from slipstick.method.ladder import CHAIN_RANK, Acceptance, Method, Parameters, Subject
from slipstick.method.names import shared_stations_with_cuts
from slipstick.model import activity as act
from slipstick.model.steps import (
    ASKED,
    MET,
    SERVED,
    TAKEN,
    Activity,
    distinct_activities,
    is_parallel,
    no_rule_error,
)
from slipstick.model.system import (
    BARRIER,
    IDLE_PROCESSORS,
    ArrivalPattern,
    Breaker,
    Lock,
    Model,
    OpenPopulation,
    PhasedPopulation,
    ReaderWriterLock,
    Station,
)
from slipstick.phases import (
    LEAST_SCV,
    PhaseType,
    phase_type,
)
from slipstick.queueing.markov_chain import (
    MOST_DIRECT_STATES,
    MarkovChain,
    Rows,
    SolvedBySize,
    Transitions,
    explore_rows,
    mean_times,
    stationary,
)
from slipstick.random_times import (
    without_zeros,
)
from slipstick.sim.settings import Simulation
from slipstick.structure.contention import Saturation
from slipstick.vocabulary import (
    ACTIVITY,
    BACK_OFF_TIME,
    DISCIPLINES,
    GIVEN_UP_TIME,
    IN_TURN,
    KNOWN,
    LEAST_WORK,
    LOCKS,
    MARKOV_CHAIN,
    MEAN_VALUE,
    MOST_HOLDERS,
    RANDOM,
    RANK,
    RATES,
    REVERSE,
    SHORTEST,
    SIMULATION,
)
from slipstick_chains.networks.solve import ROUNDING

Position = tuple[Any, ...]
"""The position of a processor: its present action, which is a word, the number of a node and the
phase of its time; and the stack of the activities that follow, the next one last."""

Outcomes = Iterable[tuple[Any, Any]]
"""The positions that may follow, each with its probability, which is a number or an array over the
points.
"""

InstantEvent = tuple[tuple[Any, ...], Sequence[int], Outcomes]
"""An event that takes no time: the names by which it is counted, the units of each counter after
it, and the positions that may follow.
"""

_PartOfServer = tuple[str, bool, float]
"""What a position counts of a shared station: the station's name, whether it counts in proportion
to the speed of a service there (True) or to the rest of 1 (False), and the weight of the visit.
"""

ENDED: Position = (("ended", 0), ())
"""The position of a processor that has ended all rounds of its phase."""

AWAY: Position = (("away", 0), ())
"""The position of a second phase that is not under way."""

BESIDE = ("beside", -1, 0)
"""The bottom element of the stack of a second phase, whose time belongs to no cycle."""

FATE = "fate"
"""The kind of sums over services that may be given up."""

OPEN = -1
"""The state of a circuit breaker that refuses all tries; of a half-open one it is below, of a
closed one at least 0.
"""

PASSED, FAILED = 0, 1
"""The outcome of a try that ends well, and of one that fails."""
REFUSED, PASSED_AT, FAILED_AT = "refused by ", "passed at ", "failed at "
GIVEN_UP_AT = "given up at "
"""The beginnings of the names of events: a circuit breaker refuses a try; a try ends well; a try is
abandoned or turned away; an attempt is given up. The name of a resource follows, which has no blank
in it.
"""

BURST = "burst of "
"""The beginning of the name of a counter that is 1 while a stream is in a burst."""

MOST_BY_DEFAULT = 300
"""Largest number of states with which a Markov chain answers where no method is named: 0.03 s in
the mean, 0.08 at most.
"""

_WAITING: dict[type, str] = {
    act.Step: "ask",
    act.Hold: "ask",
    act.WaitUnit: "take",
    act.SignalUnit: "give",
    act.BarrierWait: "meet",
    act.Pick: "pick",
    act.EarlyReply: "reply",
}
"""The first action of a processor at each kind of step that may depend on other processors."""


class ActivityChain(ActivityForm):
    """An activity solved as a Markov chain. The times come from the chain; points are evaluated,
    differentiated and answered as by mean value. Of each stream of arrivals, so many customers are
    followed that more are present with a negligible probability.

    Attributes
    ----------
    find_points_left_to_others : function that returns a mask of the points that another method
        solves exactly at less cost; None if there is no such method

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> ActivityChain(closed_model(cycle, processors=10)).times({})
    array([12.019])
    """

    method = MARKOV_CHAIN

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.find_points_left_to_others: Callable[[Values], Flags] | None = None
        self.smooth_parameters = [
            name
            for name in self.smooth_parameters
            if self.tape.parameters[name].dimension.time_power
        ]

    def solve(self, value_by_expr: Mapping[Expr, Array], with_account: bool) -> ActivityTable:
        """Solve all points; points with the same transitions share the states."""
        for unfit_part in _unfit_parts(self.model, value_by_expr):
            raise NoAnswerError(unfit_part.message_with_other_methods)
        reason_by_point = _reasons_by_point(self.model, value_by_expr)
        reason_by_point |= self._reasons_of_streams(value_by_expr)
        table = ActivityTable(np.array(value_by_expr[self.model.population.size]), reason_by_point)
        points_by_transitions = defaultdict[Any, list[int]](list)
        for point in table.answerable_points.tolist():
            values_and_kinds = (
                (column[point].real, expr.dimension == COUNT)
                for expr, column in value_by_expr.items()
            )
            points_by_transitions[
                tuple(value if is_count else bool(value) for value, is_count in values_and_kinds)
            ].append(point)
        point_groups = list(points_by_transitions.values())
        for points in point_groups:
            try:
                _solve_points_together(
                    self.model,
                    {expr: column[points] for expr, column in value_by_expr.items()},
                    table,
                    points,
                    with_account,
                )
            except NoAnswerError as error:
                if self.model.population.streams and len(points) > 1:
                    # As many customers are followed as the busiest point has.
                    point_groups += [[point] for point in points]
                    continue
                table.refuse(dict.fromkeys(points, str(error)))
            except RecursionError:
                table.refuse(dict.fromkeys(points, _message_of_no_time(self.model)))
        return table

    def _reasons_of_streams(self, value_by_expr: Mapping[Expr, Array]) -> dict[int, str]:
        """Return, by point, which resource the streams of arrivals saturate, or that no customers
        arrive. Where some number is a formula, a chain has no answer if the probabilities of
        its levels still rise.
        """
        reason_by_point = _reasons_without_arrivals(self.model, value_by_expr)
        values = {
            name: value_by_expr[parameter].real
            for name, parameter in self.tape.parameters.items()
            if parameter in value_by_expr
        }
        if not self.model.population.streams or len(values) < len(self.tape.parameters):
            return reason_by_point
        return Saturation(self.model).reasons_by_point(values) | reason_by_point

    def sums(self, value_by_expr: Mapping[Expr, Array]) -> Mapping[tuple[str, Any], Array]:
        """Return the sums over a cycle, by kind and name, of points that have the same transitions;
        see `sums_over_cycles`.

        Raises
        ------
        NoAnswerError : the chain cannot represent the model, or has no answer for its numbers
        """
        for unfit_part in _unfit_parts(self.model, value_by_expr):
            raise NoAnswerError(unfit_part.message)
        reason_by_point = _reasons_by_point(self.model, value_by_expr)
        for reason in (reason_by_point | self._reasons_of_streams(value_by_expr)).values():
            raise NoAnswerError(reason)
        member_counts = value_by_expr[self.model.population.size]
        try:
            return sums_over_cycles(self.model, value_by_expr, member_counts, with_account=True)
        except RecursionError as error:
            raise NoAnswerError(_message_of_no_time(self.model)) from error

    def takes(self, values: Values) -> Flags:
        """Return a mask of the points at which the chain answers by default: it is small there, and
        no other method is exact at less cost.
        """
        is_left_to_others = (
            self.find_points_left_to_others(values)
            if self.find_points_left_to_others
            else np.zeros(1, dtype=bool)
        )
        if is_left_to_others.all():
            return ~is_left_to_others
        with with_lower_limits({"states": MOST_BY_DEFAULT}):
            has_answer: Flags = np.isfinite(self.times(selected_values(values, self.parameters)))
        return has_answer & ~is_left_to_others

    def exact(self, values: Values, table: ActivityTable) -> Flags:
        """Return whether the chain represents all times exactly by phases; the answer is the same
        at every point.
        """
        has_known_phases = all(
            step.scv in (0, 1) or has_given_phases(step) for step in self.model.steps
        )
        return np.full(len(table.time), has_known_phases)

    def reasons_without_promise(self, table: ActivityTable, is_exact: Flags) -> dict[int, str]:
        """Return no reasons: an answer of the chain has no promised error."""
        return {}

    @property
    def approximation_remarks(self) -> Remarks:
        """Return the note on times that are replaced by phases."""
        return Remarks(
            notes=(
                (
                    "times with an scv other than 1 are replaced by exponential phases with the"
                    " same mean and scv"
                ),
            )
        )

    def _remarks(self, table: ActivityTable, is_exact: bool, point_index: int) -> Remarks:
        """Return the remarks on one point, with a note on services that are given up at shared
        stations.
        """
        remarks = super()._remarks(table, is_exact, point_index)
        stations_text = ", ".join(shared_stations_with_cuts(self.model))
        if remarks.failed or not stations_text:
            return remarks
        note = (
            f"the time of services at {stations_text} that are given up is in that of their steps,"
            " and counts like theirs; a simulation has it apart"
        )
        return replace(remarks, notes=(*remarks.notes, note))


def _other_methods_text(model: Model) -> str:
    """Return the other methods that may solve a model, in words."""
    knows_constructs = model.constructs <= KNOWN[MEAN_VALUE]
    return f"{MEAN_VALUE} or {SIMULATION}" if knows_constructs else SIMULATION


class _UnfitPart(NamedTuple):
    """A part of a model that a Markov chain cannot represent, with the text of the refusal.

    Parameters
    ----------
    accepted_words : the parts of this kind that a chain can represent, in words
    change_words : change of the model after which a chain can represent it; empty if there is none
    methods_text : other methods that can solve the part as it is
    """

    accepted_words: str
    change_words: str = ""
    methods_text: str = "simulation"

    @property
    def message(self) -> str:
        """Return the message of a refusal for a value that no other method computes."""
        change_text = f": {self.change_words}" if self.change_words else ""
        return f"markov-chain takes {self.accepted_words}{change_text}"

    @property
    def message_with_other_methods(self) -> str:
        """Return the message of a refusal with the other methods that compute the value."""
        return f"{self.message}{', or' if self.change_words else ':'} ask for {self.methods_text}"


def _reasons_by_point(model: Model, value_by_expr: Mapping[Expr, Array]) -> dict[int, str]:
    """Return, by the index of the point, why a chain has no answer for the numbers of a model."""
    population_counts = model.population.processor_counts
    reason_by_point = reasons_out_of_range(model, value_by_expr, MARKOV_CHAIN)
    for population_count in population_counts:
        least_count = int(population_count is population_counts[0])
        reason_by_point |= reasons_not_whole(
            value_by_expr[population_count], "the processors", least_count, method=MARKOV_CHAIN
        )
    return reason_by_point


def _reasons_without_arrivals(model: Model, value_by_expr: Mapping[Expr, Array]) -> dict[int, str]:
    """Return, by point, why a chain has no answer where no customers of the first stream arrive."""
    if not model.population.open:
        return {}
    names, (rate, _) = model.population.group_names, model.population.streams[0]
    reason = (
        f"no customers of {names[0] if names else model.name} arrive; markov-chain needs a rate"
        " above 0" + (", or a group of which some arrive first" if names else "")
    )
    return dict.fromkeys(np.flatnonzero(value_by_expr[rate].real == 0).tolist(), reason)


def _message_of_no_time(model: Model) -> str:
    """Return the message for a model of which a cycle may take no time."""
    return f"a cycle of {model.name} may take no time, so no state lasts; give a step of it a time"


def _unfit_parts(model: Model, value_by_expr: Mapping[Expr, Array]) -> Iterator[_UnfitPart]:
    """Yield each part of a model that a chain cannot represent."""
    if model.population.finite and not isinstance(model.population, PhasedPopulation):
        yield _UnfitPart("processors that repeat a cycle, streams, and phases, not supersteps")
    for node in distinct_activities(model.bodies):
        resource = model.resources.get(node.uses[0]) if node.uses else None
        if is_parallel(node) or node.use == ASKED:
            methods_text = "simulation" if node.use == ASKED else _other_methods_text(model)
            yield _UnfitPart(
                f"one thing at a time of a processor, so no {node.kind}", "", methods_text
            )
        elif isinstance(node, act.Hold) and node.permits is not None:
            capacity = model.resources[node.resource].capacity
            permits_taken = value_by_expr.get(node.permits, np.ones(1)).real
            if not (
                (permits_taken == np.round(permits_taken))
                & (permits_taken >= 1)
                & (permits_taken <= capacity)
            ).all():
                yield _UnfitPart(
                    f"whole numbers of permits of {node.resource}, from 1 to {capacity}"
                )
        elif isinstance(node, act.Attempt) and not (
            node.timeout is None
            and (node.patience is None or value_by_expr.get(node.patience, np.ones(1)).all())
        ):
            accepted_words = (
                f"exponential limits of a wait above 0 s, unlike that for {node.resource}"
            )
            yield _UnfitPart(accepted_words, "write patience")
        elif isinstance(node, act.Pick) and node.by == IN_TURN:
            yield _UnfitPart("no turns, whose next depends on all that was before")
        elif isinstance(node, act.Pick) and node.by == LEAST_WORK:
            yield _UnfitPart("choices by numbers of customers, not by the work that they have left")
        elif isinstance(resource, Breaker) and (reason := _unfit_breaker(node.uses[0], resource)):
            yield reason
        elif type(node) not in (act.Then, act.Repeat, act.Choice, act.Attempt, *_WAITING):
            yield _UnfitPart(f"no steps of the kind {node.kind}, for which it has no rule")
        elif node.uses and resource is None:
            accepted_words = f"no processor as a resource, as {node!r:.80} needs"
            yield _UnfitPart(accepted_words, "", _other_methods_text(model))
        elif (
            isinstance(node, act.Step)
            and node.scv < LEAST_SCV
            and not has_given_phases(node)
            and value_by_expr[node.time].any()
        ):
            accepted_words = (
                f"times made of exponential phases, and step {node.name} has scv {node.scv:g}"
            )
            yield _UnfitPart(accepted_words, f"write from {LEAST_SCV:g} (1 is exponential)")
        elif (
            isinstance(resource, Station) and resource.servers > 1 and _interrupts_service(resource)
        ):
            accepted_words = f"services that are interrupted at one server, and {node.uses[0]} has"
            yield _UnfitPart(f"{accepted_words} {resource.servers}")
        elif isinstance(resource, Lock) and (
            LOCKS[resource.kind].spinning or resource.word is not None
        ):
            accepted_words = "locks that are handed over at no cost, and the accesses and pauses of"
            yield _UnfitPart(f"{accepted_words} {node.uses[0]} are constant", "write fifo")


def _unfit_breaker(breaker_name: str, breaker: Breaker) -> _UnfitPart | None:
    """Return the part of a circuit breaker that a chain cannot represent; None if it can represent
    the breaker.
    """
    if breaker.scv != 1:
        accepted_words = (
            "exponential open times of circuit breakers, and"
            f" {breaker_name} has scv {breaker.scv:g}"
        )
        return _UnfitPart(accepted_words, "write scv: 1")
    return None


def _interrupts_service(station: Station) -> bool:
    """Return whether the discipline of a station lets an arriving customer interrupt a service."""
    return DISCIPLINES[station.discipline].preemptive


def _has_limited_weights(station: Station) -> bool:
    """Return whether a customer uses one of several servers at most, however large its weight."""
    return station.capacity > 1 and not station.rates


def _shares_servers(station: Station) -> bool:
    """Return whether the servers of a station are shared by all customers present."""
    return DISCIPLINES[station.discipline].shared


def has_given_phases(step: act.Step) -> bool:
    """Return whether the time of a step is a phase-type distribution, which a chain takes as it
    is.
    """
    return step.distribution is not None and step.distribution.phases is not None


class _FollowedArrivals(NamedTuple):
    """Customers that arrive at a rate; the chain follows at most a given number of them at a time.

    Parameters
    ----------
    rate : of the arrivals; with bursts, between bursts [1/s] [points]
    backlog : customers that begin at time 0 [1]
    burst_rates : rate of arrivals in a burst, and rates at which bursts begin and end; empty
        without bursts. The first burst begins after time 0 [1/s] [points]
    """

    rate: Any
    backlog: int
    burst_rates: tuple[Any, ...] = ()


def chain_from_start(
    model: Model, values: Mapping[str, float], most_customers: int = 0, backlog: int = 0
) -> tuple[MarkovChain, dict[str, Array]]:
    """Return the Markov chain of a model whose processors all begin a cycle at time 0, and the
    number of processors at each resource in each state, waiting ones included [states; 1]. Servers
    that are away are not counted.

    Parameters
    ----------
    model : processors that repeat a cycle, or streams of customers
    values : parameters that differ from the model's own, in base units
    most_customers : largest number of customers of each stream that are followed; a further one is
        lost
    backlog : customers of each stream that begin at time 0; by default that of the model

    Raises
    ------
    NoAnswerError : the method ``markov-chain`` has no answer, or the model has phases

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> float(chain_from_start(closed_model(cycle, processors=2), {})[1]["bus"].max())
    2.0
    """
    form = ActivityChain(model)
    value_by_expr = form.numbers(
        {parameter_name: np.array([value]) for parameter_name, value in values.items()}
    )
    cycles, streams = _cycles_and_streams(model, value_by_expr, most_customers, backlog)
    for unfit_part in _unfit_parts(model, value_by_expr):
        raise NoAnswerError(unfit_part.message)
    if reasons := _reasons_by_point(model, value_by_expr):
        raise NoAnswerError(reasons[0])
    # No other method has these values, so that none is a way out.
    states = _States(
        model, value_by_expr, cycles, None, "take fewer processors or customers", streams
    )
    try:
        chain, _ = _explored_chain(states)
    except RecursionError as error:
        raise NoAnswerError(_message_of_no_time(model)) from error
    rates = np.array(states.rates)[chain.rates.astype(int), 0].real
    # The state before the start is left at once.
    leaves_start = chain.sources == 0
    start_rates = np.bincount(
        chain.targets[leaves_start], weights=rates[leaves_start], minlength=chain.size
    )
    position_numbers = np.asarray(chain.states)[:, : states.width]
    number_by_resource = {
        resource_name: count - _away_server_counts(states, position_numbers, resource_name)
        for (kind, resource_name), count in _counts_by_account(states, position_numbers)
        if kind == "present"
    }
    return replace(chain, rates=rates, start=start_rates / start_rates.sum()), number_by_resource


def _away_server_counts(states: _States, positions: Array, resource_name: str) -> Array:
    """Return the number of servers of a resource that are away in each state [1] [states]."""
    model = states.model
    absent_groups = {
        group_number
        for group_number, group in enumerate(model.population.groups)
        if group.name in model.absences
    }
    is_away = np.zeros(len(states.positions))
    for position_number, position in enumerate(states.positions[1:] if absent_groups else (), 1):
        sum_keys = states.sums_counted_at(position)
        is_present = any(sum_key[:2] == ("present", resource_name) for sum_key in sum_keys)
        is_away[position_number] = is_present and position[1][0][1] in absent_groups
    return np.asarray(is_away[positions].sum(axis=1))


def _cycles_and_streams(
    model: Model, value_by_expr: Mapping[Expr, Array], most_customers: int, backlog: int
) -> tuple[list[tuple[Activity, int]], dict[int, _FollowedArrivals]]:
    """Return the cycle of each group with the number of its processors, or of its customers that
    are followed; and the arrivals of each stream, by the index of its group.
    """
    population = model.population
    group_rows = [
        (group.cycle, group.arrivals, group.processors, group.pattern)
        for group in population.groups
    ]
    if isinstance(population, OpenPopulation):
        group_rows = [(population.cycle, population.rate, population.rate, population.pattern)]
    if not group_rows or population.finite:
        raise NoAnswerError(
            f"values before the steady state need processors that repeat a cycle, or streams, and"
            f" {model.name} has other work; ask for time"
        )
    cycles = list[tuple[Activity, int]]()
    streams = dict[int, _FollowedArrivals]()
    for cycle, arrivals, processors, pattern in group_rows:
        if arrivals is None:
            cycles.append((cycle, round(value_by_expr[processors][0].real)))
            continue
        burst_rates = _burst_rates(pattern, value_by_expr)
        streams[len(cycles)] = _FollowedArrivals(
            value_by_expr[arrivals], backlog or pattern.backlog, burst_rates
        )
        cycles.append((cycle, most_customers))
    return cycles, streams


def _burst_rates(pattern: ArrivalPattern, value_by_expr: Mapping[Expr, Array]) -> tuple[Any, ...]:
    """Return the rate of arrivals in a burst, and the rates at which bursts begin and end; empty
    without bursts [1/s] [points].
    """
    if pattern.quiet_time is None or pattern.burst_time is None:
        return ()
    quiet_time = value_by_expr[pattern.quiet_time]
    burst_time = value_by_expr[pattern.burst_time]
    if not (quiet_time.all() and burst_time.all()):
        raise NoAnswerError("bursts, and the times between them, last longer than 0 s")
    rate_expr = pattern.burst_arrivals
    burst_arrival_rate = np.zeros(1) if rate_expr is None else value_by_expr[rate_expr]
    return burst_arrival_rate, 1 / quiet_time, 1 / burst_time


def fits_by_kind(model: Model) -> bool:
    """Return whether a chain can represent a model, judged only by the kinds of its steps,
    resources and population.
    """
    value_by_expr = {step.time: np.ones(1) for step in model.steps}
    return not any(_unfit_parts(model, value_by_expr))


def _solve_points_together(
    model: Model,
    value_by_expr: Mapping[Expr, Array],
    table: ActivityTable,
    points: list[int],
    with_account: bool,
) -> None:
    """Solve points that have the same transitions by one exploration of the states, and write their
    answers into the table.

    Parameters
    ----------
    value_by_expr : every number of the model at these points
    table : table of the answers at all points
    points : indexes of these points
    with_account : also write the account and the use of resources
    """
    population = model.population
    # Of streams the sums are over the time between two arrivals.
    member_count = np.ones(1) if population.open else table.population[points]
    sum_by_key = sums_over_cycles(model, value_by_expr, member_count, with_account)
    time = sum_by_key["time", ""]
    table.time[points] = sum_by_key["members", 0] if population.open else time
    for index, group in enumerate(population.groups if len(population.groups) > 1 else ()):
        cycle_count = sum_by_key["calls", index]
        group_time = np.where(
            cycle_count == 0, np.nan, sum_by_key["members", index] / without_zeros(cycle_count)
        )
        table.time_by_group.setdefault(group.name, table.nan_columns())[points] = group_time
    for sum_kind, sum_name in [*sum_by_key] if with_account else ():
        if sum_kind == "open":
            refused_share = sum_by_key["calls", REFUSED + sum_name] / without_zeros(
                sum_by_key["calls", sum_name]
            )
            _put_value(
                table, points, f"open_share[{sum_name}]", sum_by_key[sum_kind, sum_name] / time
            )
            _put_value(table, points, f"refused_share[{sum_name}]", refused_share)
        elif sum_kind == "calls" and str(sum_name).startswith(PASSED_AT):
            for value_name, value in _attempt_values(sum_by_key, sum_name, time):
                _put_value(table, points, value_name, value)
        elif sum_kind == "wasted" and model.resources[sum_name].capacity < MOST_HOLDERS:
            server_count = model.resources[sum_name].capacity
            wasted_share = sum_by_key[sum_kind, sum_name] / time / server_count
            busy_share = sum_by_key["busy", sum_name] / time / server_count
            _put_value(table, points, f"wasted_utilization[{sum_name}]", wasted_share)
            _put_value(table, points, f"useful_utilization[{sum_name}]", busy_share - wasted_share)
        elif sum_kind == "label":
            table.time_by_label.setdefault(sum_name, table.nan_columns())[points] = (
                sum_by_key[sum_kind, sum_name] / member_count
            )
        elif sum_kind == "present":
            use_columns = _use_columns(model, sum_name, sum_by_key, time)
            table.use_by_queue.setdefault(sum_name, table.nan_columns(4))[:, points] = use_columns


def sums_over_cycles(
    model: Model, value_by_expr: Mapping[Expr, Array], member_counts: Array, with_account: bool
) -> Mapping[tuple[str, Any], Array]:
    """Return times [s] and numbers of events [1], summed over a cycle of the first group or over
    the rounds of all phases, keyed by kind and name, such as ("busy", "disk") [points]. The sum of
    a kind and name that do not occur is 0.

    Parameters
    ----------
    model : the model
    value_by_expr : every number of the model, at points that all have the same transitions
    member_counts : number of processors of the first group [1] [points]
    with_account : also compute the sums of the account and of the use of resources
    """
    streams = model.population.streams
    sum_by_key = defaultdict[tuple[str, Any], Array](lambda: np.zeros(1))
    for cycles, round_count in _cycles_with_rounds(model, value_by_expr):
        states, sums_of_cycle = (
            _states_and_sums_of_streams(model, value_by_expr, with_account)
            if streams
            else _states_and_sums(_States(model, value_by_expr, cycles, round_count), with_account)
        )
        for sum_key, sum_value in sums_of_cycle:
            sum_by_key[sum_key] = sum_by_key[sum_key] + sum_value
            if sum_key == ("time", "") and round_count is not None:
                idle_time = (member_counts - len(states.kinds)) * sum_value
                sum_by_key["label", IDLE_PROCESSORS] = (
                    sum_by_key["label", IDLE_PROCESSORS] + idle_time
                )
    return sum_by_key


def _cycles_with_rounds(model: Model, value_by_expr: Mapping[Expr, Array]) -> list[Any]:
    """List the phases of a model: the cycles that run together, each with its number of processors,
    and the expression for the number of repetitions of the phase. Groups whose cycles never end are
    one phase, with None for that expression.
    """
    population = model.population
    if isinstance(population, PhasedPopulation):
        return [
            ([(phase.cycle, round(value_by_expr[phase.processors][0].real))], phase.repeat)
            for phase in population.phases
        ]
    return [(_cycles_and_streams(model, value_by_expr, FIRST_FOLLOWED, 0)[0], None)]


FIRST_FOLLOWED, MOST_FOLLOWED, BEYOND = 6, 2_000, 1e-10
"""Numbers of customers of all streams that a chain follows at first and at most [1], and the
largest share of their mean number that may be lost by following no more of them [1].
"""

RISING_ROUNDS = 5
"""Number of times that a chain follows about twice as many customers although the probabilities of
their numbers still rise: from 6 up to some 260.
"""


def _states_and_sums_of_streams(
    model: Model, value_by_expr: Mapping[Expr, Array], with_account: bool
) -> tuple[_States, Sums]:
    """Return the states of a model with streams of arrivals, and the times, waits and numbers of
    customers summed over a cycle. The number of customers that are followed is raised until the
    share of customers beyond it is at most `BEYOND`.

    Raises
    ------
    NoAnswerError : the number of customers has no steady state, or is above `MOST_FOLLOWED`
    """
    most_customers, rising_round_count = FIRST_FOLLOWED, 0
    # Of three queues in a row that are 95 % busy the levels rise up to 38 customers.
    while most_customers <= MOST_FOLLOWED and rising_round_count < RISING_ROUNDS:
        cycles, streams = _cycles_and_streams(model, value_by_expr, most_customers, 0)
        states = _States(
            model, value_by_expr, cycles, None, streams=streams, most_customers=most_customers
        )
        solved_states = _solved_states(states)
        share_beyond, level_ratio = _share_and_ratio_beyond(states, solved_states)
        if share_beyond <= BEYOND:
            return states, _sums_of_states(states, solved_states, with_account)
        rising_round_count = rising_round_count + 1 if level_ratio >= 1 else 0
        levels_to_add = (
            math.log(BEYOND / share_beyond) / math.log(level_ratio)
            if level_ratio < 1
            else most_customers
        )
        # The first ratios are rough.
        most_customers += max(
            4,
            math.ceil(
                min(
                    1.1 * levels_to_add,
                    MOST_FOLLOWED if most_customers > 24 else 2 * most_customers,
                )
            ),
        )
    if rising_round_count:
        raise NoAnswerError(
            f"the probabilities still rise at {most_customers} customers of {model.name},"
            " and may rise"
            " without end: ask for simulation, or lower the arrivals"
        )
    raise NoAnswerError(
        f"a chain of {model.name} has to follow more than {MOST_FOLLOWED:,} customers: ask for"
        " simulation"
    )


def _share_and_ratio_beyond(states: _States, solved_states: _SolvedStates) -> tuple[float, float]:
    """Estimate the share of the mean number of customers of streams that is lost because only some
    customers are followed. Return this share, and the ratio of the probabilities of two successive
    numbers of customers near the limit [1]; both are the largest of all points.

    The probabilities beyond the limit are taken as a geometric series with that ratio, as they are
    in the end at stations with Poisson arrivals (chosen here; the limit is raised until the share
    is negligible).
    """
    shares_and_ratios = []
    members_by_kind = states.members_by_kind(solved_states.positions)
    customer_counts = np.sum(
        [members_by_kind[customer_kind] for customer_kind in states.streams], axis=0
    ).astype(int)
    for time_in_states in solved_states.times:
        level_probabilities = (
            np.bincount(customer_counts, weights=time_in_states.real) / time_in_states.real.sum()
        )
        mean_customer_count = float(level_probabilities @ np.arange(len(level_probabilities)))
        # Probabilities below `ROUNDING` are rounding errors, and those of the last tenth of the
        # numbers are distorted by the limit.
        last_level = min(
            int(np.flatnonzero(level_probabilities > ROUNDING)[-1]),
            len(level_probabilities) - 1 - len(level_probabilities) // 10,
        )
        first_level = max(0, last_level - max(2, last_level // 4))
        if len(level_probabilities) <= (states.most_customers or 0) or mean_customer_count == 0:
            shares_and_ratios.append((0.0, 0.0))
            continue
        # Where the probability of two customers is below rounding errors, so is the ratio.
        level_ratio = (
            (level_probabilities[last_level] / level_probabilities[first_level])
            ** (1 / (last_level - first_level))
            if last_level
            else ROUNDING
        )
        if level_ratio >= 1:
            shares_and_ratios.append((1.0, level_ratio))
            continue
        probability_beyond = float(level_probabilities[-1]) * level_ratio / (1 - level_ratio)
        shares_and_ratios.append(
            (
                probability_beyond
                * (len(level_probabilities) + level_ratio / (1 - level_ratio))
                / mean_customer_count,
                level_ratio,
            )
        )
    return max(shares_and_ratios)


def _use_columns(
    model: Model, resource_name: str, sum_by_key: Mapping[tuple[str, Any], Array], time: Array
) -> Array:
    """Return four rows, from sums over a cycle: the utilization [1], the queue length [1], the
    throughput [1/s] and the mean wait [s] of a resource or counter [4, points].

    Parameters
    ----------
    sum_by_key : result of `sums_over_cycles`
    time : time of the cycle, or of the rounds [s] [points]
    """
    time_present, time_busy, visit_count = (
        sum_by_key[sum_kind, resource_name] for sum_kind in ("present", "busy", "calls")
    )
    has_rates = (
        resource_name in model.resources and RATES in model.resources[resource_name].constructs
    )
    time_served_alone = sum_by_key["alone", resource_name] if has_rates else time_busy
    server_count, busy_units = (
        (1, sum_by_key["units", resource_name])
        if resource_name in model.counters
        else (
            model.resources[resource_name].capacity,
            time_busy + sum_by_key["further", resource_name],
        )
    )
    return np.stack(
        [
            busy_units / time / server_count,
            time_present / time,
            visit_count / time,
            (time_present - time_served_alone) / without_zeros(visit_count),
        ]
    )


def _attempt_values(
    sum_by_key: Mapping[tuple[str, Any], Array], passed_name: str, time: Array
) -> Iterator[tuple[str, Array]]:
    """Yield the values of an attempt by name, from sums over a cycle: the share of its tries that
    fail [1], the number of tries [1], and the successful attempts in a second [1/s].
    """
    resource_name = passed_name.removeprefix(PASSED_AT)
    passed_tries, failed_tries, abandoned_attempts = (
        sum_by_key["calls", prefix + resource_name]
        for prefix in (PASSED_AT, FAILED_AT, GIVEN_UP_AT)
    )
    yield f"abandonment[{resource_name}]", failed_tries / without_zeros(passed_tries + failed_tries)
    yield (
        f"amplification[{resource_name}]",
        (passed_tries + failed_tries) / without_zeros(passed_tries + abandoned_attempts),
    )
    yield f"goodput[{resource_name}]", passed_tries / time


def _put_value(table: ActivityTable, points: list[int], value_name: str, value: Array) -> None:
    """Put a further value of an answer at some points into a table."""
    table.other_values.setdefault(value_name, table.nan_columns())[points] = value


WAYS_PER_STATE = 16
"""Number of ways to go on from a state that together take the time of one state: each is followed
by itself, 0.05 ms (1,048,576 ways took 56 s in November 2026), and a state takes up to 1 ms.
"""

PROCESSORS_PER_STATE = 100
"""Number of processors that begin one after the other in the time of one state. The time grows with
the square of their number, for each is moved in a list of all: 9,000 took 3.8 s in December 2026.
"""

INSTANT_EVENTS, INSTANT_EVENTS_PER_PROCESSOR = 900, 10
"""Events that follow one another without time, in all and more for each processor, above which a
cycle is taken as one that takes no time.
"""

PROCESSORS_PER_CLOCK_CHECK = 512
"""Number of processors of all states that are explored between two checks of the clock, which take
up to a tenth of the time of a state of one processor.
"""

SOLUTION_SECONDS, DERIVATIVE_SECONDS = 1.8e-6, 1e-6
"""Processor time, divided by n^1.5, to solve the equations of n states, and to solve for each
derivative [s]: measured with 10,086 states (a pool, two locks and 64 processors) and with 21,752 (6
processors, scv 0.25), whose estimates were 2 and 7 % high. Fewer states than `MOST_DIRECT_STATES`
take under a second.
"""


def _announce_solution(model_name: str, state_count: int, solution_count: int) -> None:
    """Announce how long it takes to solve the equations of a chain, which is not known from its
    exploration.

    Parameters
    ----------
    model_name : its name
    state_count : number of states
    solution_count : the long run, and one for each derivative or further point
    """
    seconds = (
        state_count**1.5 * (SOLUTION_SECONDS + DERIVATIVE_SECONDS * (solution_count - 1))
        if state_count > MOST_DIRECT_STATES
        else 0.0
    )
    if seconds > ANNOUNCED and (announce := ANNOUNCE.get()) is not None:
        announce(
            f"the chain of {model_name} has {state_count:,} states, and is solved:"
            f" about {seconds:,.0f} s of"
            " processor time"
        )


Sums = Iterator[tuple[tuple[str, Any], Array]]
"""Sums over a cycle of the first group, or over the rounds of a phase, each under its kind, such as
"busy", and a name, such as that of a resource.
"""


class _SolvedStates(NamedTuple):
    """The explored and solved states of a chain: for each point, the time in each state and the
    number of each event in a cycle of the first group.

    Parameters
    ----------
    chain : the chain
    positions : number of the position of each processor in each state [states, processors]
    times : the time in each state [s] [points] [states]
    flows : number of times that each event happens [1] [points] [events]
    """

    chain: MarkovChain
    positions: Array
    times: list[Array]
    flows: list[Array]


def _solved_states(states: _States) -> _SolvedStates:
    """Explore and solve the chain of some states."""
    chain, absorbing_states = _explored_chain(states)
    positions = np.asarray(chain.states)[:, : states.width]
    return _SolvedStates(chain, positions, *_times_and_flows(states, chain, absorbing_states))


def _states_and_sums(states: _States, with_account: bool) -> tuple[_States, Sums]:
    """Explore and solve the chain of some states; return the states and their sums over a cycle."""
    return states, _sums_of_states(states, _solved_states(states), with_account)


def _sums_of_states(states: _States, solved_states: _SolvedStates, with_account: bool) -> Sums:
    """Yield the sums over a cycle of times and of numbers of events; see `sums_over_cycles`."""
    chain, positions, times, flows = solved_states
    yield ("time", ""), np.sum(times, axis=1)
    if states.round_count is None:
        for customer_kind, member_counts in states.members_by_kind(positions).items():
            yield ("members", customer_kind), times @ member_counts
    yield from (
        (("calls", name), flow)
        for name, flow in zip(states.event_names, np.transpose(flows), strict=True)
    )
    for sum_key, count_by_state in _counts_by_account(states, positions) if with_account else ():
        if sum_key[0] == FATE:
            yield from _giving_up_times(states, sum_key[1], times @ count_by_state)
        else:
            yield sum_key, times @ count_by_state
    yield from (
        (("units", name), times @ np.asarray(chain.states)[:, column])
        for column, name in enumerate(states.model.counters, states.width)
    )
    yield from (
        (("open", name), times @ (np.asarray(chain.states)[:, column] == OPEN))
        for column, name in enumerate(states.breakers, states.width + len(states.model.counters))
    )


def _giving_up_times(
    states: _States, fate: tuple[int, int, int, bool], time_in_phase: Array
) -> Iterator[tuple[tuple[str, Any], Array]]:
    """Yield the part of a time in service that belongs to services that will be given up: it counts
    as wasted, and in the account apart from its step.

    Parameters
    ----------
    fate : numbers of the step, of its phase and of the attempt, and whether the first group has it
    time_in_phase : in that phase over a cycle [s] [points]
    """
    step_number, phase_number, attempt_number, is_of_first_group = fate
    step = states.node(step_number)
    time_given_up = states.parts_given_up(step_number, attempt_number)[phase_number] * time_in_phase
    yield ("wasted", step.resource), time_given_up
    if is_of_first_group:
        yield ("label", step.name), -time_given_up
        yield ("label", f"{GIVEN_UP_TIME}:{step.resource}"), time_given_up


def _explored_chain(states: _States) -> tuple[MarkovChain, NDArray[np.int64]]:
    """Explore the states; return the chain, and the states that it never leaves.

    Raises
    ------
    NoAnswerError : a processor of such a state has not ended
    """
    model = states.model
    position_count = states.width
    fewest_states = states.least_state_count()
    check_cost(
        "states",
        fewest_states,
        f"the chain of {model.name} has at least {fewest_states:.3g} states",
        states.alternatives,
    )
    chain = explore_rows(
        np.zeros((1, position_count + len(states.first_units)), dtype=np.int32), states.transitions
    )
    absorbing_states = np.setdiff1d(np.arange(chain.size), chain.sources)
    position_numbers = np.asarray(chain.states)[absorbing_states, :position_count]
    # Of streams of rate 0 all customers leave in the end.
    kinds_of_positions = {
        states.positions[position_number][0][0] for position_number in position_numbers.flat
    }
    if not kinds_of_positions <= {"ended", "outside"}:
        reason = Unsolvable(
            f"processors of {model.name} can wait for each other without end, which is a deadlock"
        )
        raise NoAnswerError(reason)
    return chain, absorbing_states


def _times_and_flows(
    states: _States, chain: MarkovChain, absorbing_states: NDArray[np.int64]
) -> tuple[list[Array], list[Array]]:
    """Return, for each point, the time in each state over a cycle, or over the rounds of a phase
    [s] [states], and the number of times that each event of `event_names` happens in it [1]
    [events].
    """
    is_finite = states.round_count is not None
    has_begun = np.asarray(chain.states)[:, 0] > 0
    rates = np.array(states.rates)[chain.rates.astype(int)]
    event_counts = np.array(
        [
            [names_of_event.count(event_name) for event_name in states.event_names]
            for names_of_event in states.events
        ]
    )[chain.events]
    _announce_solution(states.model.name, chain.size, len(rates.T))
    times_by_point = []
    flows_by_point = []
    solved_factors: SolvedBySize = {}  # points that differ in derivatives alone have one factor
    for rates_at_point in rates.T:
        chain_at_point = replace(chain, rates=rates_at_point)
        if is_finite:
            # The state before the start is left once, at rate 1. Events of this transition count;
            # the time in that state does not.
            time_in_states = mean_times(chain_at_point, absorbing_states)
        else:
            time_in_states = stationary(chain_at_point, solved_before=solved_factors)
        flow_by_event = (time_in_states[chain.sources] * rates_at_point) @ event_counts
        # The processors of the first group over the rate at which their cycles end: Little's law.
        member_count = 1 if 0 in states.streams else states.kinds.count(0)
        cycle_time = 1.0 if is_finite else member_count / flow_by_event[0]
        times_by_point.append(time_in_states * has_begun * cycle_time)
        flows_by_point.append(flow_by_event * cycle_time)
    return times_by_point, flows_by_point


def _counts_by_account(
    states: _States, positions: Array
) -> Iterator[tuple[tuple[str, Any], Array]]:
    """Yield each entry of the account as (kind, name), with the number of processors that it is
    charged for in each state [1] [states]. At shared servers a processor counts in proportion to
    the speed of its service.
    """
    columns = defaultdict[tuple[str, Any, Any], Array](lambda: np.zeros(len(states.positions)))
    for position_number, position in enumerate(states.positions[1:], 1):
        for sum_key in states.sums_counted_at(position):
            columns[sum_key][position_number] += 1
    for (sum_kind, sum_name, service_part), count_by_position in columns.items():
        count_by_state = count_by_position[positions].sum(axis=1)
        if service_part:
            # At shared servers a service advances at the rate min(1, servers / present), with rates
            # as many times as fast as if it were alone; the rest of its time is waiting.
            station, is_served, weight = service_part
            present_count = columns["present", station, None][positions].sum(axis=1)
            speed = states.speeds(station, sum_kind)[present_count.astype(int)]
            weights_and_counts = _weights_and_counts(columns, station)
            resource = states.model.resources[station]
            if (
                isinstance(resource, Station)
                and _has_limited_weights(resource)
                and len(weights_and_counts) > 1
            ):
                from slipstick_chains.weighted_sharing import weighted_speeds

                distinct_weights = [visit_weight for visit_weight, _ in weights_and_counts]
                counts_by_weight = np.stack(
                    [
                        counts_of_visit[positions].sum(axis=1)
                        for _, counts_of_visit in weights_and_counts
                    ]
                )
                speeds = weighted_speeds(
                    np.array(distinct_weights)[:, None], counts_by_weight, resource.capacity
                )
                speed = speeds[distinct_weights.index(weight)]
            elif weights_and_counts:
                total_weight = sum(
                    visit_weight * counts_of_visit[positions].sum(axis=1)
                    for visit_weight, counts_of_visit in weights_and_counts
                )
                speed = speed * weight * present_count / without_zeros(np.asarray(total_weight))
            count_by_state = count_by_state * (speed if is_served else 1 - speed)
        yield (sum_kind, sum_name), count_by_state


def _weights_and_counts(
    columns: Mapping[tuple[str, Any, Any], Array], station: str
) -> list[tuple[float, Array]]:
    """List the weights of the visits to a shared station, each with the number of processors that
    have it at each position.
    """
    return [
        (weight, count_by_position)
        for (sum_kind, name, service_part), count_by_position in columns.items()
        if sum_kind == "busy" and name == station and service_part
        for _station, _is_served, weight in [service_part]
    ]


def _phases_by_node(nodes: Sequence[Any]) -> dict[int, PhaseType]:
    """Return the phases of the time of each step that varies, with mean 1, by the step's index."""
    return {
        index: (node.distribution and node.distribution.phases) or phase_type(1.0, node.scv)
        for index, node in enumerate(nodes)
        if node.use == SERVED and node.scv
    }


class _States:
    """The states of some kinds of processors, each kind with its cycle, and the transitions out of
    each state.

    Parameters
    ----------
    model : the model
    value_by_expr : every number of the model, at points that all have the same transitions
    cycles : the cycle of each kind, with its number of processors or of followed customers
    round_count : expression for the number of rounds of a phase; None for cycles without end
    alternatives : words for the message of a refusal: how to get an answer nevertheless
    streams : arrivals of each kind that is a stream, by the index of the kind
    most_customers : largest number of customers of all streams together; None without a limit

    Attributes
    ----------
    positions : the positions by their numbers; the first is that before the start
    event_names : names of the events that are counted: ends of cycles, by kind of processor; and
        beginnings of visits, by resource and counter
    events : numbers of the sets of these events that happen at one transition
    rates : rates of transitions by their numbers [1/s] [points]
    width : number of positions of a state: processors, and second phases that run beside them
    """

    def __init__(
        self,
        model: Model,
        value_by_expr: Mapping[Expr, Array],
        cycles: Sequence[tuple[Any, int]],
        round_count: Expr | None,
        alternatives: str = "",
        streams: Mapping[int, _FollowedArrivals] | None = None,
        most_customers: int | None = None,
    ) -> None:
        self.model = model
        self.most_customers = most_customers
        self.streams = streams or {}
        self.alternatives = alternatives or f"ask for {_other_methods_text(model)}"
        self._value_by_expr = value_by_expr
        self.round_count = round_count
        self._resources: Mapping[str, Any] = model.resources
        bodies = [cycle for cycle, _ in cycles]
        self._nodes: list[Any] = list(distinct_activities(bodies))
        self._number_by_node_id = {
            id(node): node_number for node_number, node in enumerate(self._nodes)
        }
        self._body_numbers = [self._number_by_node_id[id(body)] for body in bodies]
        self.kinds = [
            customer_kind
            for customer_kind, (_, customer_count) in enumerate(cycles)
            for _ in range(customer_count)
        ]
        self.width = len(self.kinds) + self._second_phase_count()
        names_by_body = [
            {name for node in distinct_activities([body]) for name in node.uses} for body in bodies
        ]
        self._parties = Counter(
            name for customer_kind in self.kinds for name in names_by_body[customer_kind]
        )
        self.breakers = {
            name: resource
            for name, resource in model.resources.items()
            if isinstance(resource, Breaker)
        }
        # 1 while the stream is in a burst.
        burst_names = [
            BURST + str(customer_kind)
            for customer_kind, stream in self.streams.items()
            if stream.burst_rates
        ]
        self.first_units = [*model.counters.values(), *(0 for _ in (*self.breakers, *burst_names))]
        self._unit_names = [*model.counters, *self.breakers, *burst_names]
        # Failures that a closed breaker remembers, and the number of each such window.
        self._windows = [0]
        self._number_by_window = {0: 0}
        attempts = (node for node in self._nodes if isinstance(node, act.Attempt))
        self.attempted = list(dict.fromkeys(attempt.resource for attempt in attempts))
        self.event_names = self._names_of_events(len(cycles))
        self._phases_by_node = _phases_by_node(self._nodes)
        self._holds_at = dict[Position, list[Any]]()
        self.positions: list[Position] = [()]
        self._position_numbers = dict[Position, int]()
        self._sort_key_by_position = [("", 0)]
        self._pace = WorkPace()
        self._explored_count = 0
        self._successor_count = 0
        self._instant_rules = self._instant_event_functions()
        self.events = dict[tuple[int | str, ...], int]()
        self.rates = list[Array]()
        self._rate_number_by_bytes = dict[bytes, int]()

    def _names_of_events(self, cycle_count: int) -> list[int | str]:
        """Return the names of the events that are counted: ends of cycles, beginnings of visits,
        refusals of breakers, and outcomes of attempts.
        """
        outcomes = (PASSED_AT, FAILED_AT, GIVEN_UP_AT)
        return [
            *range(cycle_count),
            *(*self.model.resources, *self.model.counters),
            *(REFUSED + name for name in self.breakers),
            *(outcome + name for name in self.attempted for outcome in outcomes),
        ]

    def _instant_event_functions(self) -> dict[str, Callable[..., InstantEvent]]:
        """Return the rules for events that take no time, by the kind of position that they end."""
        return {
            **dict.fromkeys(("start", "go", "cycle"), self._after_request),
            "ask": self._after_request,
            "leave": self._after_service,
            "release": self._after_release,
            "take": self._after_taking_unit,
            "give": self._after_giving_unit,
            "meet": self._after_arrival_at_barrier,
            "pick": self._after_pick,
            "reply": self._after_reply,
            "abandon": self._after_abandonment,
            "quit": self._after_service,
            "consult": self._after_consulting_breaker,
            "record": self._after_recording_try,
        }

    def _second_phase_count(self) -> int:
        """Count the second phases that can be under way at once."""
        replied_resources = {
            node.resource for node in self._nodes if isinstance(node, act.EarlyReply)
        }
        resources_with_second_phase = replied_resources | {
            name for node in self._nodes if node.unawaited_children for name in node.held
        }
        return sum(self._resources[name].capacity for name in resources_with_second_phase)

    def least_state_count(self) -> int:
        """Return a lower bound of the number of states: the number of ways to spread the processors
        of each kind over the phases of delays, or of windows of outcomes of a circuit breaker.
        """
        most_windows = max(
            (math.comb(breaker.calls, breaker.failures - 1) for breaker in self.breakers.values()),
            default=1,
        )
        return max(most_windows, self._least_spread_count())

    def _least_spread_count(self) -> int:
        """Return the number of ways to spread the processors over the phases of delays."""
        # Barriers and counters keep some combinations of phases from occurring, and how many is not
        # known before the exploration.
        if any(node.use in (MET, TAKEN) for node in self._nodes):
            return 1

        def phase_count(node: Activity) -> int:
            """Return the number of phases of the delays in a node, without those in holds."""
            phases_of_children = 0 if node.held else sum(map(phase_count, node.children))
            node_number = self._number_by_node_id[id(node)]
            if (
                node.use != SERVED
                or node.uses
                or not self._value_by_expr[self._nodes[node_number].time].any()
            ):
                return phases_of_children
            return phases_of_children + self._phases_by_node[node_number].phases

        counts_and_phases = (
            (self.kinds.count(customer_kind), phase_count(self._nodes[body]))
            for customer_kind, body in enumerate(self._body_numbers)
        )
        # Processors of one kind are alike, so combinations with repetition are counted.
        return math.prod(
            math.comb(customer_count + count - 1, customer_count)
            for customer_count, count in counts_and_phases
            if count
        )

    def members_by_kind(self, positions: Array) -> dict[int, Array]:
        """Return the number of processors, or of customers that have arrived, of each kind in each
        state [1] [states].
        """
        counts_by_kind = {}
        for customer_kind, customer_count in Counter(self.kinds).items():
            outside_number = self._position_numbers.get(_outside_position(customer_kind), -1)
            member_count = customer_count - (positions == outside_number).sum(axis=1)
            counts_by_kind[customer_kind] = member_count * (
                positions[:, 0] > 0
            )  # not before the start
        return counts_by_kind

    def transitions(self, rows: Rows) -> Iterator[Transitions]:
        """Yield all transitions of a block of states; a transition's rate is given by its number in
        `rates`.
        """
        moves_by_event = defaultdict[int, list[tuple[int, list[int], int]]](list)
        ones = np.ones_like(next(iter(self._value_by_expr.values())))
        states_per_check = max(PROCESSORS_PER_CLOCK_CHECK // max(self.width, 8), 1)
        for state_index, state_row in enumerate(rows.tolist()):
            self._explored_count = self._explored_count + 1
            self._successor_count = 0
            if (self._explored_count - 1) % states_per_check == 0:
                self._pace.check(
                    self._explored_count,
                    limit_in_force("states"),
                    f"up to {limit_in_force('states'):,.0f} states are explored before the chain is"
                    " solved",
                )
            for rate, positions, units, event_names in self._transitions_from(state_row):
                self.rates += [ones * rate] * (
                    (rate_bytes := (ones * rate).tobytes()) not in self._rate_number_by_bytes
                )
                rate_number = self._rate_number_by_bytes.setdefault(rate_bytes, len(self.rates) - 1)
                event_number = self.events.setdefault(event_names, len(self.events))
                moves_by_event[event_number].append(
                    (state_index, [*self._row_of_positions(positions), *units], rate_number)
                )
        for event_number, moves in moves_by_event.items():
            sources, targets, rates = zip(*moves, strict=True)
            yield (
                np.array(sources),
                np.array(targets, dtype=rows.dtype),
                np.array(rates),
                event_number,
            )

    def _row_of_positions(self, positions: Sequence[Position]) -> list[int]:
        """Return the numbers of the positions as a row: processors of one queue in the order of
        arrival, all others sorted. New positions get numbers.
        """
        for position in positions:
            if position not in self._position_numbers:
                self._position_numbers[position] = position_number = len(self.positions)
                self.positions.append(position)
                self._sort_key_by_position.append(
                    (queue_name, 0)
                    if (queue_name := self._queue_name_of_position(position))
                    else ("", position_number)
                )
        # Processors of one kind are interchangeable: sorting makes one state of all states that
        # differ only in which processor is where.
        return sorted(
            (self._position_numbers[position] for position in positions),
            key=self._sort_key_by_position.__getitem__,
        )

    def _queue_name_of_position(self, position: Position) -> str:
        """Return the name of the queue in which a processor waits, if the order of arrival matters
        there; else an empty text.
        """
        action, node_number, *_ = position[0]
        if action == "outside":  # with the number of a stream in the place of a node's
            return ""
        node = self._nodes[node_number]
        if action in ("line", "halt"):
            resource = self._resources[node.resource]
            service_order = (
                DISCIPLINES[resource.discipline].order if isinstance(resource, Station) else ""
            )
            if service_order == RANK:  # each rank is a queue of its own
                return f"{node.resource} {node.rank}"
            return "" if service_order == RANDOM else node.resource
        if action in ("barrier", "cost"):
            return f"{BARRIER}:{node.name}"
        return node.counter if action == "wait" else ""

    def _transitions_from(self, state_row: list[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the transitions out of a state: each with its rate, the positions and units after
        it, and the names of its events.
        """
        positions = [self.positions[position_number] for position_number in state_row[: self.width]]
        units = state_row[self.width :]
        if not state_row[0]:
            yield from self._transitions_at_start()
        elif all(position[0][0] == "cost" for position in positions):
            # All processors spend the cost together, so that its mean is all that counts.
            cost = self._value_by_expr[self._resources[self._nodes[positions[0][0][1]].name].cost]
            positions_after = [
                (("later", node_number, "go"), stack) for (_, node_number), stack in positions
            ]
            yield from self._transitions_to_lasting_states(
                1 / cost, [(1.0, positions_after)], units
            )
        else:
            for name, breaker in self.breakers.items():
                if units[self._unit_names.index(name)] == OPEN:
                    units_after = self._with_unit_set(
                        units, name, _half_open_state_number(breaker, 0, 0)
                    )
                    yield 1 / self._value_by_expr[breaker.open], positions, units_after, ()
            yield from self._arrival_transitions(positions, units)
            serving_steps = [
                self._nodes[position[1]] for position, _ in positions if position[0] == "serve"
            ]
            for processor, position in enumerate(positions):
                (action, *_), stack = position
                if action == "pause" or self._may_abandon(action, stack):
                    yield from self._transitions_to_lasting_states(
                        *self._rate_and_outcomes_of_abandonment(positions, processor), units
                    )
                if action in ("delay", "serve") and position not in positions[:processor]:
                    rate, outcomes = self._rate_and_outcomes_of_phase(
                        positions, processor, serving_steps
                    )
                    yield from self._transitions_to_lasting_states(rate, outcomes, units)

    def _transitions_at_start(self) -> Iterator[tuple[Any, ...]]:
        """Yield the transitions out of the state before the start, in which all cycles begin."""
        positions = [
            (("start", customer_kind, 0), ())
            if self._is_present_at_start(processor)
            else _outside_position(customer_kind)
            for processor, customer_kind in enumerate(self.kinds)
        ]
        kinds_of_started = [
            customer_kind for (action, customer_kind, _), _ in positions if action == "start"
        ]
        started_count = len(kinds_of_started)
        beginnings = (started_count / PROCESSORS_PER_STATE) ** 2
        check_cost(
            "states",
            beginnings,
            f"the {started_count:,} processors of {self.model.name} begin one after the other,"
            f" which takes the time of {beginnings:,.0f} states",
            self.alternatives,
        )
        start_outcomes = map(self._first_outcomes_of_cycle, kinds_of_started)
        start_count = math.prod(len(list(outcomes)) for outcomes in start_outcomes)
        ways_in_words = (
            f"{self.model.name} may begin in {start_count:,} ways, which take the time of"
            f" {start_count / WAYS_PER_STATE:,.0f} states"
        )
        check_cost("states", start_count / WAYS_PER_STATE, ways_in_words, self.alternatives)
        positions += [AWAY] * (self.width - len(positions))
        yield from self._transitions_to_lasting_states(1.0, [(1.0, positions)], self.first_units)

    def _is_present_at_start(self, processor: int) -> bool:
        """Return whether a processor or customer is present at time 0; of a stream only its backlog
        is.
        """
        customer_kind = self.kinds[processor]
        return customer_kind not in self.streams or (
            processor - self.kinds.index(customer_kind) < self.streams[customer_kind].backlog
        )

    def _arrival_transitions(
        self, positions: Sequence[Position], units: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the transitions in which a burst begins or ends, or a customer of a stream arrives;
        a stream at the limit of followed customers has no arrivals.
        """
        outside_count = sum(
            positions.count(_outside_position(customer_kind)) for customer_kind in self.streams
        )
        followed_count = sum(map(self.kinds.count, self.streams)) - outside_count
        for customer_kind, stream in self.streams.items():
            rate = stream.rate
            if stream.burst_rates:
                rate_in_burst, *rates_of_change = stream.burst_rates
                is_in_burst = units[self._unit_names.index(BURST + str(customer_kind))]
                units_after = self._with_unit_set(
                    units, BURST + str(customer_kind), 1 - is_in_burst
                )
                yield rates_of_change[is_in_burst], positions, units_after, ()
                rate = rate_in_burst if is_in_burst else rate
            has_room = self.most_customers is None or followed_count < self.most_customers
            if has_room and _outside_position(customer_kind) in positions and rate.any():
                start_outcomes = [(1.0, (("start", customer_kind, 0), ()))]
                processor = positions.index(_outside_position(customer_kind))
                yield from self._transitions_to_lasting_states(
                    rate, _with_replaced_position(positions, processor, start_outcomes), units
                )

    def _rate_and_outcomes_of_phase(
        self, positions: Sequence[Position], processor: int, serving_steps: Sequence[act.Step]
    ) -> tuple[Any, Outcomes]:
        """Return the rate at which the phase of a delay or a service ends, of all processors at
        the same position together, and the positions that may follow.

        Parameters
        ----------
        positions, processor : the state, and the place of the first processor at the position
        serving_steps : the step of each service under way
        """
        (action, node_number, phase), stack = positions[processor]
        phases = self._phases_by_node[node_number]
        resource_name = self._nodes[node_number].resource
        speed = 1.0
        if resource_name:
            steps_together = [step for step in serving_steps if step.resource == resource_name]
            speed = self._speed_of_service(positions, self._nodes[node_number], steps_together)
        rate = (
            positions.count(positions[processor])
            * speed
            * phases.rates[phase]
            / self._value_by_expr[self._nodes[node_number].time]
        )
        next_positions = [
            (probability, ((action, node_number, next_phase), stack))
            for next_phase, probability in enumerate(phases.onward[phase])
            if probability
        ]
        # An exit probability of up to 1e-12 is the rounding of a phase that never ends the time.
        if (exit_probability := phases.exits[phase]) > 1e-12:
            next_action = "leave" if action == "serve" else "go"
            next_positions.append((exit_probability, ((next_action, node_number, 0), stack)))
        return rate, _with_replaced_position(positions, processor, next_positions)

    def _speed_of_service(
        self, positions: Sequence[Position], step: act.Step, steps_together: Sequence[act.Step]
    ) -> Any:
        """Return the speed of a service that is under way together with others [1] [points]."""
        visit_weights = [self._weight_of_visit(service_step) for service_step in steps_together]
        station = self._resources[step.resource or ""]
        if _has_limited_weights(station) and any(
            service_step.weight is not None for service_step in steps_together
        ):
            from slipstick_chains.weighted_sharing import weighted_speeds

            weight_column = np.stack(np.broadcast_arrays(*visit_weights))
            ones = np.ones_like(weight_column)
            speeds = weighted_speeds(weight_column, ones, station.capacity)
            return speeds[steps_together.index(step)]
        speed = self._speed(positions, step.resource or "", len(steps_together))
        return speed * self._weight_of_visit(step) * len(steps_together) / sum(visit_weights)

    def _speed(
        self, positions: Sequence[Position], station_name: str, services_under_way: int
    ) -> Any:
        """Return the speed of each of the services that are under way at a station [1]."""
        if self._resources[station_name].rates:
            present_count = min(
                self._present_count(positions, station_name),
                len(self._resources[station_name].rates),
            )
            return (
                self._value_by_expr[self._resources[station_name].rates[present_count - 1]]
                / services_under_way
            )
        return min(1.0, self._resources[station_name].capacity / services_under_way)

    def _weight_of_visit(self, step: act.Step) -> Any:
        """Return the weight of a visit to a shared station [1] [points]."""
        return 1.0 if step.weight is None else self._value_by_expr[step.weight]

    def speeds(self, station_name: str, sum_kind: str) -> Array:
        """Return the speed of a service with 0, 1, 2 ... customers present, relative to the speed
        for a customer alone; for the kind `busy`, the part of a server that it occupies [1].
        """
        station = self._resources[station_name]
        present_counts = np.maximum(np.arange(self.width + 1), 1)
        if sum_kind == "busy" or not station.rates:
            server_shares: Array = np.minimum(1.0, station.capacity / present_counts)
            return server_shares
        rates = np.array([self._value_by_expr[rate][0].real for rate in station.rates])
        relative_speeds: Array = rates[np.minimum(present_counts, len(rates)) - 1] / rates[0]
        return relative_speeds / present_counts if _shares_servers(station) else relative_speeds

    def node(self, node_number: int) -> Any:
        """Return the activity or the other part of the model that has a number."""
        return self._nodes[node_number]

    def parts_given_up(self, step_number: int, attempt_number: int) -> Array:
        """Return the probability that a service will be given up, for each of its phases, at a
        station where its speed is always 1 [1] [phases, points].

        With a patience of rate q, a phase of rate r is given up with probability q / (q + r), and
        else followed by the next phases: a linear equation for each phase.
        """
        phases = self._phases_by_node[step_number]
        mean_time = self._value_by_expr[self._nodes[step_number].time]
        patience = self._value_by_expr[self._nodes[attempt_number].limit[0]]
        # [points, phases, phases]
        rates_onward = (
            np.array(phases.rates)[:, None] * np.array(phases.onward) / mean_time[:, None, None]
        )
        end_rates = np.array(phases.rates) / mean_time[:, None] + 1 / patience[:, None]
        equations = end_rates[:, :, None] * np.eye(phases.phases) - rates_onward
        given_up_rates = np.broadcast_to(1 / patience[:, None, None], (*end_rates.shape, 1))
        given_up_probabilities: Array = np.linalg.solve(equations, given_up_rates)[:, :, 0].T
        return given_up_probabilities

    def _rate_and_outcomes_of_abandonment(
        self, positions: Sequence[Position], processor: int
    ) -> tuple[Any, Outcomes]:
        """Return the rate at which a processor abandons a queue, or ends the pause before its next
        try, and the positions that may follow.
        """
        (action, node_number, *try_counts), stack = positions[processor]
        if action == "pause":
            node = self._nodes[node_number]
            pause = self._value_by_expr[node.back_off] * (
                2 ** try_counts[0] if node.doubling else 1
            )
            next_try = self._first_outcomes_of_try(stack, node_number, try_counts[0] + 1)
            return 1 / pause, _with_moved_processor(positions, processor, next_try)
        node = self._nodes[stack[-1][1]]
        position_after = (("quit" if action == "serve" else "abandon", node_number, 0), stack)
        return 1 / self._value_by_expr[node.limit[0]], _with_replaced_position(
            positions, processor, [(1.0, position_after)]
        )

    def _after_abandonment(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the event by which a processor abandons the queue of its attempt: the names it is
        counted under, the units after it, and the positions that may follow with their
        probabilities.

        Processors behind it may now be served if they need fewer permits.
        """
        (_, node_number, *_), stack = positions[processor]
        resource_name = self._nodes[node_number].resource
        remaining_positions = [*positions[:processor], *positions[processor + 1 :]]
        is_hold = bool(self._nodes[node_number].held)
        event_names, remaining_positions = (
            self._after_hand_over(remaining_positions, resource_name)
            if is_hold
            else ((), remaining_positions)
        )
        return (
            (
                resource_name,
                *event_names,
            ),  # a visit that ends in the queue counts like one that is served
            units,
            [
                (probability, [position_after, *remaining_positions])
                for probability, position_after in self._outcomes_of_failed_visit(stack)
            ],
        )

    def _may_abandon(self, action: str, stack: Position) -> bool:
        """Return whether a processor that waits or is served may abandon its visit."""
        attempt = self._attempt_of_visit(stack) if action in ("line", "serve") else None
        return attempt is not None and attempt.limit and (action == "line" or attempt.cuts)

    def _attempt_of_visit(self, stack: Position) -> Any:
        """Return the attempt whose visit a processor waits for; None without one."""
        return self._nodes[stack[-1][1]] if stack and stack[-1][0] == "attempt" else None

    def _outcomes_of_failed_visit(self, stack: Position) -> Outcomes:
        """Return the position of a processor whose attempt has abandoned its visit."""
        _, node_number, _ = stack[-1]
        return [(1.0, (("record", node_number, FAILED), stack))]

    def _after_failure(self, stack: Position, node_number: int, try_count: int) -> Outcomes:
        """Return the positions that may follow a try that has failed."""
        node = self._nodes[node_number]
        if try_count >= node.retries:
            return self._outcomes_of_continuing((*stack, self._stack_element(node.otherwise)))
        if node.back_off is None or not self._value_by_expr[node.back_off].any():
            return self._first_outcomes_of_try(stack, node_number, try_count + 1)
        return [(1.0, (("pause", node_number, try_count), stack))]

    def _first_outcomes_of_try(self, stack: Position, node_number: int, try_count: int) -> Outcomes:
        """Return the positions at the start of a try of an attempt, which asks its circuit breaker
        first.
        """
        node = self._nodes[node_number]
        if node.breaker is not None:
            return [(1.0, (("consult", node_number, try_count), stack))]
        begun_attempt = ("attempt", node_number, (try_count, False))
        return self._outcomes_of_continuing(
            (*stack, begun_attempt, self._stack_element(node.visit))
        )

    def _transitions_to_lasting_states(
        self, rate: Any, outcomes: Outcomes, units: Sequence[int], event_names: tuple[Any, ...] = ()
    ) -> Iterator[Any]:
        """Execute all events that take no time, and yield a transition to each state that lasts.

        Raises
        ------
        NoAnswerError : so many events follow one another without time that they have no end
        """
        most_events = INSTANT_EVENTS + INSTANT_EVENTS_PER_PROCESSOR * self.width
        pending = [(rate, outcome, units, event_names, 0) for outcome in reversed([*outcomes])]
        while pending:
            rate, (probability, positions), units, event_names, event_count = pending.pop()
            next_event = self._next_instant_event(positions, units)
            if next_event is None:
                self._successor_count += 1
                if self._successor_count > WAYS_PER_STATE * limit_in_force("states"):
                    self._refuse_many_successors()
                yield rate * probability, positions, units, event_names
            elif event_count > most_events:
                raise NoAnswerError(_message_of_no_time(self.model))
            else:
                next_event_names, units_after, next_outcomes = next_event
                pending += [
                    (
                        rate * probability,
                        outcome,
                        units_after,
                        (*event_names, *next_event_names),
                        event_count + 1,
                    )
                    for outcome in reversed([*next_outcomes])
                ]

    def _refuse_many_successors(self) -> None:
        """Refuse a model if the states that may follow one state are too many to be listed in time.
        For example, 50 processors that each begin a service of two phases at a shared station have
        2^50 following states.
        """
        raise NoAnswerError(
            f"one state of the chain of {self.model.name} goes on in over"
            f" {self._successor_count - 1:,} ways,"
            f" which take the time of {limit_in_force('states'):,.0f} states: {self.alternatives},"
            f" {advice_on_limit('states')}"
        )

    def _next_instant_event(
        self, positions: Sequence[Position], units: Sequence[int]
    ) -> tuple[Any, Sequence[int], Outcomes] | None:
        """Return the next event that takes no time: its names, the units after it, and the
        positions that may follow; None if there is none.

        What a processor frees is handed over at once, then it goes on until it waits; those that it
        woke go on after it, in the order in which they were woken, and what ends at the same
        instant after them.
        """
        processor = _first_processor(positions, self._instant_rules)
        if processor is None:
            processor = _first_processor(positions, ("later",))
        if processor is None:
            return None
        (action, index, *extra_fields), stack = positions[processor]
        if action == "later":
            return (
                (),
                units,
                _with_replaced_position(
                    positions, processor, [(1.0, ((extra_fields[0], index, 0), stack))]
                ),
            )
        if action in ("go", "start", "cycle"):
            event_names = (index,) if action == "cycle" else ()
            has_ended = action == "cycle" and self.round_count
            outcomes = (
                self._outcomes_of_continuing(stack)
                if action == "go"
                else self._first_outcomes_of_cycle(index)
            )
            if action == "cycle" and index in self.streams:
                outcomes = [(1.0, _outside_position(index))]
            return (
                event_names,
                units,
                _with_replaced_position(
                    positions, processor, [(1.0, ENDED)] if has_ended else outcomes
                ),
            )
        return self._instant_rules[action](positions, processor, units)

    def _after_request(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a processor has requested a resource: it gets the resource
        at once, or waits behind all that wait there.
        """
        (_, node_number, *_), stack = positions[processor]
        node = self._nodes[node_number]
        resource_name = node.resource
        resource = self._resources[node.resource]
        if isinstance(resource, Station):
            if (
                _shares_servers(resource)
                or self._served_count(positions, resource_name) < resource.capacity
            ):
                first_outcomes = self._first_outcomes_of_step("serve", node_number, stack)
                return (
                    (resource_name,),
                    units,
                    _with_replaced_position(positions, processor, first_outcomes),
                )
            if (interrupted_processor := self._interrupted_processor(positions, node)) is not None:
                first_outcomes = self._first_outcomes_of_step("serve", node_number, stack)
                (_, interrupted_step, phase), stack_of_waiting = positions[interrupted_processor]
                halted_position = (("halt", interrupted_step, phase), stack_of_waiting)
                outcomes = [
                    (
                        probability,
                        [
                            *positions_after[:interrupted_processor],
                            *positions_after[interrupted_processor + 1 :],
                            halted_position,
                        ],
                    )
                    for probability, positions_after in _with_replaced_position(
                        positions, processor, first_outcomes
                    )
                ]
                return (resource_name,), units, outcomes
        elif self._is_free_for(positions, node) and not self._has_predecessor(positions, node):
            stack_of_hold = (*stack, ("held", node_number, 0), self._stack_element(node.body))
            return (
                (resource_name,),
                units,
                _with_replaced_position(
                    positions, processor, self._outcomes_of_continuing(stack_of_hold)
                ),
            )
        attempt = self._attempt_of_visit(stack)
        if attempt is not None and self._is_queue_full(positions, attempt):
            return (
                (),
                units,
                _with_moved_processor(positions, processor, self._outcomes_of_failed_visit(stack)),
            )
        return (
            (),
            units,
            _with_moved_processor(positions, processor, [(1.0, (("line", node_number), stack))]),
        )

    def _interrupted_processor(self, positions: Sequence[Position], node: Any) -> int | None:
        """Return the place of the processor whose service a new one interrupts at a station of one
        server; None where it does not.
        """
        discipline = DISCIPLINES[self._resources[node.resource].discipline]
        if not discipline.preemptive:
            return None
        for processor, (position, _) in enumerate(positions):
            step = self._nodes[position[1]]
            if position[0] == "serve" and step.resource == node.resource:
                return processor if not discipline.ranked or node.rank < step.rank else None
        return None

    def _after_pick(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a pick: each body that its rule may choose, with its
        probability.
        """
        (_, node_number, *_), stack = positions[processor]
        node = self._nodes[node_number]
        present_counts = [self._present_count(positions, name) for name in node.first_resources]
        option_indices = range(len(present_counts))
        probabilities_and_options = list[tuple[float, int]]()
        if node.by == SHORTEST:
            shortest_indices = [
                option_index
                for option_index in option_indices
                if present_counts[option_index] == min(present_counts)
            ]
            probabilities_and_options = [
                (1 / len(shortest_indices), option_index) for option_index in shortest_indices
            ]
        else:
            # Two options are drawn in order; the second is chosen only if fewer are present there,
            # so that the first one wins a tie.
            index_pairs = list(permutations(option_indices, 2))
            indices_with_fewer = (
                second_index
                if present_counts[second_index] < present_counts[first_index]
                else first_index
                for first_index, second_index in index_pairs
            )
            probabilities_and_options = [
                (1 / len(index_pairs), option_index) for option_index in indices_with_fewer
            ]
        outcomes = [
            (choice_probability * outcome_probability, position_after)
            for choice_probability, option_index in probabilities_and_options
            for outcome_probability, position_after in self._outcomes_of_continuing(
                (*stack, self._stack_element(node.options[option_index]))
            )
        ]
        return (), units, _with_replaced_position(positions, processor, outcomes)

    def _present_count(self, positions: Sequence[Position], resource_name: str) -> int:
        """Count the processors that use a resource, or wait for it."""
        held_locks = [lock for position in positions for lock in self._resources_held(position)]
        holders = [lock for lock in held_locks if lock.resource == resource_name]
        return (
            len(holders)
            + self._served_count(positions, resource_name)
            + len(self._waiting_places(positions, resource_name))
        )

    def _is_queue_full(self, positions: Sequence[Position], attempt: act.Attempt) -> bool:
        """Return whether the queue of an attempt is full."""
        if attempt.queue is None:
            return False
        waiting_count = len(self._waiting_places(positions, attempt.resource))
        return waiting_count >= float(self._value_by_expr[attempt.queue].real[0])

    def _after_service(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a service has ended: a waiting processor begins its own
        service, and the one that leaves continues.
        """
        (action, node_number, *_), stack = positions[processor]
        outcomes_of_leaving: Outcomes = [(1.0, (("go", node_number, 0), stack))]
        if action == "quit":
            outcomes_of_leaving = self._outcomes_of_failed_visit(stack)
        event_names: tuple[Any, ...] = ()
        outcomes = list[tuple[Any, Any]]()
        for probability, positions_after in _with_replaced_position(
            positions, processor, outcomes_of_leaving
        ):
            event_names, next_services = self._after_next_service_begins(
                positions, positions_after, self._nodes[node_number].resource
            )
            outcomes += [
                (probability * service_probability, outcome)
                for service_probability, outcome in next_services
            ]
        return event_names, units, outcomes

    def _after_next_service_begins(
        self, positions: Sequence[Position], positions_after: Sequence[Position], station_name: str
    ) -> tuple[tuple[Any, ...], Outcomes]:
        """Return the names of the events as the next service begins at a station, and the positions
        that may follow.

        Parameters
        ----------
        positions, positions_after : before and after a processor has left the station
        station_name : of the station
        """
        service_order = DISCIPLINES[self._resources[station_name].discipline].order
        waiting_places = self._waiting_places(positions, station_name)
        if not waiting_places:
            return (), [(1.0, positions_after)]
        chosen_places = (
            waiting_places
            if service_order == RANDOM
            else waiting_places[-1:]
            if service_order == REVERSE
            else waiting_places[:1]
        )
        if service_order == RANK:
            # One that was interrupted came before all of its rank that wait.
            chosen_places = [
                min(
                    waiting_places,
                    key=lambda waiting_place: self._rank_and_interruption(
                        positions[waiting_place][0]
                    ),
                )
            ]
        outcomes = []
        for waiting_place in chosen_places:
            (action, step_number, *phase), stack_of_waiting = positions[waiting_place]
            if action == "halt":
                return (), _with_replaced_position(
                    positions_after,
                    waiting_place,
                    [(1.0, (("serve", step_number, *phase), stack_of_waiting))],
                )
            first_outcomes = self._first_outcomes_of_step("serve", step_number, stack_of_waiting)
            outcomes += [
                (probability / len(chosen_places), outcome)
                for probability, outcome in _with_replaced_position(
                    positions_after, waiting_place, first_outcomes
                )
            ]
        return (station_name,), outcomes

    def _after_consulting_breaker(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a try has asked its circuit breaker, which admits or
        refuses it.
        """
        (_, node_number, try_count), stack = positions[processor]
        node = self._nodes[node_number]
        breaker_name, breaker = node.breaker, self.breakers[node.breaker]
        breaker_state = units[self._unit_names.index(breaker_name)]
        begun_trials, passed_trials = _trial_counts(breaker, breaker_state)
        if breaker_state == OPEN or begun_trials == breaker.trials:
            outcomes_of_failure = self._after_failure(stack, node_number, try_count)
            event_names = (
                breaker_name,
                REFUSED + breaker_name,
                *self._event_names_of_giving_up(node_number, try_count),
            )
            return (
                event_names,
                units,
                _with_replaced_position(positions, processor, outcomes_of_failure),
            )
        if breaker_state < OPEN:
            units = self._with_unit_set(
                units,
                breaker_name,
                _half_open_state_number(breaker, begun_trials + 1, passed_trials),
            )
        stack_of_visit = (
            *stack,
            ("attempt", node_number, (try_count, True)),
            self._stack_element(node.visit),
        )
        return (
            (breaker_name,),
            units,
            _with_replaced_position(
                positions, processor, self._outcomes_of_continuing(stack_of_visit)
            ),
        )

    def _after_recording_try(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a try has ended, which a circuit breaker counts."""
        (_, node_number, outcome), stack = positions[processor]
        node = self._nodes[node_number]
        breaker_name = node.breaker
        (_, _, (try_count, is_counted)), stack = stack[-1], stack[:-1]
        has_failed = outcome == FAILED
        outcomes_after_try = self._outcomes_of_continuing(stack)
        event_names = (PASSED_AT + node.resource,)
        if has_failed:
            outcomes_after_try = self._after_failure(stack, node_number, try_count)
            event_names = (
                FAILED_AT + node.resource,
                *self._event_names_of_giving_up(node_number, try_count),
            )
        outcomes = _with_replaced_position(positions, processor, outcomes_after_try)
        if not is_counted:
            return event_names, units, outcomes
        breaker_state = self._breaker_state_number_after_try(
            self.breakers[breaker_name], units[self._unit_names.index(breaker_name)], has_failed
        )
        if breaker_state == OPEN:
            outcomes = [
                (probability, self._with_uncounted_tries(positions_after, breaker_name))
                for probability, positions_after in outcomes
            ]
        return event_names, self._with_unit_set(units, breaker_name, breaker_state), outcomes

    def _breaker_state_number_after_try(
        self, breaker: Breaker, breaker_state: int, has_failed: bool
    ) -> int:
        """Return the state of a circuit breaker after a try: open, half-open, or closed with the
        number of its window of outcomes.
        """
        if breaker_state < OPEN:
            begun_trials, passed_trials = _trial_counts(breaker, breaker_state)
            if has_failed:
                return OPEN
            return (
                0
                if passed_trials + 1 == breaker.trials
                else _half_open_state_number(breaker, begun_trials, passed_trials + 1)
            )
        outcomes = 2 * self._windows[breaker_state] + has_failed
        if outcomes.bit_count() == breaker.failures:
            return OPEN
        window = _remembered_outcomes(breaker, outcomes)
        if window not in self._number_by_window:
            self._number_by_window[window] = len(self._windows)
            self._windows.append(window)
        return self._number_by_window[window]

    def _event_names_of_giving_up(self, node_number: int, try_count: int) -> tuple[str, ...]:
        """Return the names of the events as an attempt is given up because its last try has
        failed.
        """
        node = self._nodes[node_number]
        return (GIVEN_UP_AT + node.resource,) if try_count >= node.retries else ()

    def _with_uncounted_tries(
        self, positions: Sequence[Position], breaker_name: str
    ) -> list[Position]:
        """Return the positions after a circuit breaker has opened: the tries that it admitted
        before no longer count.
        """

        def without_counted_try(element: Any) -> Any:
            """Return an element of a stack as one whose try does not count, if it is a try at the
            breaker.
            """
            kind, node_number, attempt_fields = element
            is_guarded = kind == "attempt" and self._nodes[node_number].breaker == breaker_name
            return (kind, node_number, (attempt_fields[0], False)) if is_guarded else element

        return [(position, tuple(map(without_counted_try, stack))) for position, stack in positions]

    def _with_unit_set(self, units: Sequence[int], unit_name: str, new_value: int) -> list[int]:
        """Return the units after one of them has a new value, such as the state of a circuit
        breaker or of a burst.
        """
        unit_index = self._unit_names.index(unit_name)
        return [*units[:unit_index], new_value, *units[unit_index + 1 :]]

    def _rank_and_interruption(self, position: Any) -> tuple[int, bool]:
        """Return the rank of the visit of a waiting processor, and whether its service has not
        begun: an interrupted service goes before others of its rank.
        """
        action, step_number, *_ = position
        return self._nodes[step_number].rank, action == "line"

    def _after_release(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a release: the lock or permits are handed over to
        processors that wait for them, and the releasing processor continues.
        """
        (_, node_number, *_), stack = positions[processor]
        node = self._nodes[node_number]
        is_second_phase_over = stack == (BESIDE,)
        positions_after = [
            *positions[:processor],
            AWAY if is_second_phase_over else (("go", node_number, 0), stack),
            *positions[processor + 1 :],
        ]
        if node.after is not None and not is_second_phase_over:
            positions_after.remove(AWAY)
            position_beside = (BESIDE, ("held", node_number, 0), self._stack_element(node.after))
            return (), units, [(1.0, [*positions_after, (("go", node_number, 0), position_beside)])]
        event_names, positions_after = self._after_hand_over(positions_after, node.resource)
        return event_names, units, [(1.0, positions_after)]

    def _after_reply(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a reply: the processor continues after the hold, and a
        second position is added, which runs the rest of the hold's body.
        """
        (_, node_number, *_), stack = positions[processor]
        resource_name = self._nodes[node_number].resource
        held_index = max(
            held_index
            for held_index, (element_kind, hold_number, _) in enumerate(stack)
            if element_kind == "held" and self._nodes[hold_number].resource == resource_name
        )
        positions_after = [
            *positions[:processor],
            (("go", node_number, 0), stack[:held_index]),
            *positions[processor + 1 :],
        ]
        positions_after.remove(AWAY)
        return (
            (),
            units,
            [
                (
                    1.0,
                    [*positions_after, (("go", node_number, 0), (BESIDE, *stack[held_index:]))],
                )
            ],
        )

    def _after_hand_over(
        self, positions: list[Position], resource_name: str
    ) -> tuple[tuple[str, ...], list[Position]]:
        """Grant a lock or permits to waiting processors in their order, until one of them cannot be
        granted; return the names of the grants and the positions after them.
        """
        event_names: tuple[str, ...] = ()
        while waiting_places := self._waiting_places(positions, resource_name):
            resource = self._resources[resource_name]
            if isinstance(resource, ReaderWriterLock):
                waiting_places.sort(
                    key=lambda place: resource.rank(self._nodes[positions[place][0][1]].mode)
                )
            (_, node_number), stack = positions[waiting_places[0]]
            node = self._nodes[node_number]
            if not self._is_free_for(positions, node):
                break
            woken_position = (
                ("go", node_number, 0),
                (*stack, ("held", node_number, 0), self._stack_element(node.body)),
            )
            positions = [
                *positions[: waiting_places[0]],
                *positions[waiting_places[0] + 1 :],
                woken_position,
            ]
            event_names = (*event_names, resource_name)
        return event_names, positions

    def _after_taking_unit(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a processor has taken a unit of a counter; if there is
        none, it leaves the monitor and waits.
        """
        (_, node_number, *_), stack = positions[processor]
        counter_name = self._nodes[node_number].counter
        if units[self._unit_names.index(counter_name)]:
            outcomes = _with_replaced_position(
                positions, processor, self._outcomes_of_continuing(stack)
            )
            return (counter_name,), self._with_changed_counter(units, counter_name, -1), outcomes
        ((_, positions_after),) = _with_moved_processor(
            positions, processor, [(1.0, (("wait", node_number), stack))]
        )
        monitor = self.model.monitor_of(counter_name)
        event_names, positions_after = (
            self._after_hand_over(positions_after, monitor) if monitor else ((), positions_after)
        )
        return event_names, units, [(1.0, positions_after)]

    def _after_giving_unit(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after a unit was given. The processor that has waited longest
        for the unit gets it together with the monitor; without a waiting processor the counter
        keeps it.
        """
        (_, node_number, *_), stack = positions[processor]
        counter_name = self._nodes[node_number].counter
        waiting_places = self._waiting_places(positions, counter_name)
        if not waiting_places:
            outcomes = _with_replaced_position(
                positions, processor, self._outcomes_of_continuing(stack)
            )
            return (), self._with_changed_counter(units, counter_name, 1), outcomes
        monitor = self.model.monitor_of(counter_name)
        if monitor:  # the giver has left it, and what would follow inside is nothing
            stack = stack[
                : max(
                    stack_index
                    for stack_index, stack_element in enumerate(stack)
                    if stack_element[0] == "held"
                )
            ]
        (_, waiting_node_number), stack_of_waiting = positions[waiting_places[0]]
        positions_after = [
            *positions[:processor],
            (("go", node_number, 0), stack),
            *positions[processor + 1 :],
        ]
        woken_position = (("go", waiting_node_number, 0), stack_of_waiting)
        positions_after = [
            *positions_after[: waiting_places[0]],
            *positions_after[waiting_places[0] + 1 :],
            woken_position,
        ]
        return (counter_name, *([monitor] if monitor else [])), units, [(1.0, positions_after)]

    def _after_arrival_at_barrier(
        self, positions: Sequence[Position], processor: int, units: Sequence[int]
    ) -> InstantEvent:
        """Return the instant event after an arrival at a barrier. When all parties are there, they
        continue, the last to arrive first; the cost of the barrier passes for all of them together.
        """
        (_, node_number, *_), stack = positions[processor]
        node = self._nodes[node_number]
        waiting_places = self._waiting_places(positions, node.name, "barrier")
        party_count = node.parties or self._parties[node.name]
        if len(waiting_places) + 1 < party_count:
            return (
                (),
                units,
                _with_moved_processor(
                    positions, processor, [(1.0, (("barrier", node_number), stack))]
                ),
            )
        woken_positions = [positions[processor_place] for processor_place in waiting_places]
        if not self._value_by_expr[self._resources[node.name].cost].any():
            positions_after = [
                (("go", node_number, 0), stack) if processor_place == processor else position
                for processor_place, position in enumerate(positions)
                if processor_place not in waiting_places
            ]
            positions_after += [
                (("go", position[1], 0), stack_of_waiting)
                for position, stack_of_waiting in woken_positions
            ]
            return (), units, [(1.0, positions_after)]
        if self.breakers:
            raise NoAnswerError(
                "markov-chain takes no circuit breaker beside a barrier with a cost, such as"
                f" {node.name}; leave the cost out, or ask for simulation"
            )
        if len(positions) > party_count:
            raise NoAnswerError(
                "markov-chain takes the cost of a barrier, which is constant, only where all"
                f" processors spend it together, unlike that of {node.name}; leave it out, or ask"
                " for simulation"
            )
        members_at_barrier = [positions[processor], *woken_positions]
        return (
            (),
            units,
            [
                (
                    1.0,
                    [
                        (("cost", position[1]), stack_of_waiting)
                        for position, stack_of_waiting in members_at_barrier
                    ],
                )
            ],
        )

    def _with_changed_counter(
        self, units: Sequence[int], counter_name: str, change: int
    ) -> list[int]:
        """Return the units of each counter after one of them has changed."""
        return [
            unit_count + change * (unit_name == counter_name)
            for unit_count, unit_name in zip(units, self._unit_names, strict=True)
        ]

    def _waiting_places(
        self, positions: Sequence[Position], waited_name: str, action: str = ""
    ) -> list[int]:
        """List the places of the processors that wait for something, in the order of arrival."""
        actions = (action,) if action else ("line", "wait", "halt")
        attribute_by_action = {
            "line": "resource",
            "halt": "resource",
            "wait": "counter",
            "barrier": "name",
        }
        return [
            place
            for place, (position, _) in enumerate(positions)
            if position[0] in actions
            and getattr(self._nodes[position[1]], attribute_by_action[position[0]]) == waited_name
        ]

    def _served_count(self, positions: Sequence[Position], station_name: str) -> int:
        """Count the processors in service at a station, including those whose service takes no
        time.
        """
        return sum(
            self._nodes[position[1]].resource == station_name
            for position, _ in positions
            if position[0] == "serve" or (position[0] == "later" and position[2] == "leave")
        )

    def _is_free_for(self, positions: Sequence[Position], node: Any) -> bool:
        """Return whether a lock or a permit is free for the mode of a hold."""
        resource_name = node.resource
        holds = [
            lock
            for position in positions
            for lock in self._resources_held(position)
            if lock.resource == resource_name
        ]
        if node.mode == act.WRITE or any(lock.mode == act.WRITE for lock in holds):
            return not holds
        capacity: int = self._resources[resource_name].capacity
        return sum(map(self._permit_count, [*holds, node])) <= capacity

    def _permit_count(self, node: act.Hold) -> int:
        """Return how many permits a hold takes."""
        return (
            1 if node.permits is None else round(float(self._value_by_expr[node.permits].real[0]))
        )

    def _has_predecessor(self, positions: Sequence[Position], node: Any) -> bool:
        """Return whether a processor waits that goes before a new request of a hold."""
        waiting_places = self._waiting_places(positions, node.resource)
        resource = self._resources[node.resource]
        if not isinstance(resource, ReaderWriterLock):
            return bool(waiting_places)
        ranks = (
            resource.rank(self._nodes[positions[place][0][1]].mode) for place in waiting_places
        )
        return any(rank <= resource.rank(node.mode) for rank in ranks)

    def _resources_held(self, position: Position) -> list[Any]:
        """List the resources that a processor holds; while it waits for a condition of a monitor,
        it does not hold the monitor.
        """
        if position not in self._holds_at:
            (action, node_number, *_), stack = position
            holds = [
                self._nodes[node_number]
                for element_kind, node_number, _ in stack
                if element_kind == "held"
            ]
            has_left = action == "wait" and self.model.monitor_of(self._nodes[node_number].counter)
            self._holds_at[position] = holds[:-1] if has_left else holds
        return self._holds_at[position]

    def _first_outcomes_of_cycle(self, customer_kind: int) -> Outcomes:
        """Return the positions at the start of the cycle, or of all rounds, of a kind of
        processor.
        """
        end_element = ("cycle", customer_kind, 0)
        body_number = self._body_numbers[customer_kind]
        return (
            self._outcomes_of_repeat(self.round_count, (end_element,), body_number)
            if self.round_count
            else self._outcomes_of_continuing((end_element, ("do", body_number, 0)))
        )

    def _outcomes_of_repeat(self, count: Expr, stack: Position, node_number: int) -> Outcomes:
        """Return the positions at the start of an activity that is executed a number of times; the
        fraction of the number is the probability of one more.
        """
        count_values = self._value_by_expr[count]
        # A count that misses a whole number by no more than 1e-9 misses it by rounding.
        whole_count = math.floor(float(count_values.real[0]) + 1e-9)
        fraction = count_values - whole_count
        # A number that is made of times may differ between the points in derivatives alone.
        is_whole = float(fraction.real[0]) <= 1e-9 and not fraction.imag.any()
        probabilities_and_counts: list[tuple[Any, int]] = [(1.0, whole_count)]
        if not is_whole:
            probabilities_and_counts = [
                (whole_count + 1 - count_values, whole_count),
                (fraction, whole_count + 1),
            ]
        return [
            (count_probability * outcome_probability, outcome)
            for count_probability, round_count in probabilities_and_counts
            for outcome_probability, outcome in self._outcomes_of_continuing(
                (*stack, ("again", node_number, round_count))
            )
        ]

    def _outcomes_of_geometric_repeat(self, node_number: int, stack: Position) -> Outcomes:
        """Return the positions before another round of a geometric number of rounds, which has the
        same probability each time, or behind them.
        """
        node = self._nodes[node_number]
        mean_count = self._value_by_expr[node.count]
        stack_of_round = (*stack, ("perhaps", node_number, 0), self._stack_element(node.body))
        # A geometric number of mean m has one more round with probability m / (1 + m), after any
        # round.
        outcomes_of_round = self._outcomes_of_continuing(stack_of_round) if mean_count.any() else []
        repetitions = [
            (mean_count / (1 + mean_count) * probability, outcome_after)
            for probability, outcome_after in outcomes_of_round
        ]
        return repetitions + [
            (probability / (1 + mean_count), outcome_after)
            for probability, outcome_after in self._outcomes_of_continuing(stack)
        ]

    def _outcomes_of_continuing(self, stack: Position) -> Outcomes:
        """Return the positions from which an activity continues: at the next step that takes time
        or depends on other processors.
        """
        element, stack = stack[-1], stack[:-1]
        element_kind, node_number, rounds_left = element  # an attempt has tries instead of rounds
        if element_kind == "again" and rounds_left:
            return self._outcomes_of_continuing(
                (*stack, (element_kind, node_number, rounds_left - 1), ("do", node_number, 0))
            )
        if element_kind == "attempt":
            return [
                (
                    1.0,
                    (
                        ("record", node_number, PASSED),
                        (*stack, element),
                    ),
                )
            ]
        if element_kind == "again":
            return self._outcomes_of_continuing(stack)
        if element_kind == "perhaps":
            return self._outcomes_of_geometric_repeat(node_number, stack)
        if element_kind == "held":
            return [(1.0, (("release", node_number), stack))]
        if element_kind == "cycle":
            return [(1.0, ((element_kind, node_number), stack))]
        match self._nodes[node_number]:
            case act.Step(resource=None):
                return self._first_outcomes_of_step("delay", node_number, stack)
            case act.Then(bodies):
                return self._outcomes_of_continuing(
                    (*stack, *map(self._stack_element, reversed(bodies)))
                )
            case act.Attempt():
                return self._first_outcomes_of_try(stack, node_number, 0)
            case act.Repeat(spread=act.GEOMETRIC):
                return self._outcomes_of_geometric_repeat(node_number, stack)
            case act.Repeat(count, body):
                return self._outcomes_of_repeat(count, stack, self._stack_element(body)[1])
            case act.Choice(options):
                options_and_outcomes = [
                    (
                        self._value_by_expr[probability],
                        self._outcomes_of_continuing((*stack, self._stack_element(body))),
                    )
                    for probability, body in options
                ]
                return [
                    (probability * outcome_probability, outcome)
                    for probability, outcomes_of_option in options_and_outcomes
                    if probability.any()
                    for outcome_probability, outcome in outcomes_of_option
                ]
            case node if type(node) in _WAITING:
                return [(1.0, ((_WAITING[type(node)], node_number), stack))]
            case node:
                raise no_rule_error("the Markov chain", node)

    def _stack_element(self, activity: Activity) -> tuple[str, int, int]:
        """Return the element of the stack of positions that stands for an activity."""
        return "do", self._number_by_node_id[id(activity)], 0

    def _first_outcomes_of_step(self, action: str, node_number: int, stack: Position) -> Outcomes:
        """Return the positions at the beginning of a step, one for each phase in which its time may
        begin, with their probabilities. A step without time ends at the same instant.
        """
        if not self._value_by_expr[self._nodes[node_number].time].any():
            return [(1.0, (("later", node_number, "leave" if action == "serve" else "go"), stack))]
        return [
            (probability, ((action, node_number, phase), stack))
            for phase, probability in enumerate(self._phases_by_node[node_number].start)
            if probability
        ]

    def sums_counted_at(
        self, position: Position
    ) -> Iterator[tuple[str, Any, _PartOfServer | None]]:
        """Yield the kind and name of each sum to which a processor at a position adds its time: the
        label of its time, the resource at which it is present, and the resource that serves it.

        At a shared station the third element tells how much of the time is added (see
        `_PartOfServer`); elsewhere it is None, and all of it is added.
        """
        (action, node_number, *_), stack = position
        if action in ("away", "outside"):
            return
        node = self._nodes[node_number]
        if isinstance(node, act.Step):
            yield ("here" if action in ("delay", "serve") else "waits"), node.name, None
        if action in ("line", "wait", "halt", "serve"):
            yield "present", node.counter if action == "wait" else node.resource, None
        if action == "serve":
            yield from self._sums_of_service(position)
        if action == "ended" or stack[0][1] == 0:
            yield from (("label", *label) for label in self._labels_at(position))
        yield from (
            (kind, lock.resource, None)
            for lock in self._resources_held(position)
            for kind in ("present", "busy", *["further"] * (self._permit_count(lock) - 1))
        )

    def _sums_of_service(
        self, position: Position
    ) -> Iterator[tuple[str, Any, _PartOfServer | None]]:
        """Yield the sums, other than labels, to which a processor in service adds its time; see
        `sums_counted_at`.
        """
        (_, node_number, phase), stack = position
        node = self._nodes[node_number]
        resource_name = node.resource
        station = self._resources[resource_name]
        is_shared = _shares_servers(station)
        served_part = (resource_name, True, self._first_weight(node))
        yield "busy", resource_name, served_part if is_shared else None
        attempt = self._attempt_of_visit(stack)
        if attempt is not None and attempt.cuts and not (is_shared or station.rates):
            # What becomes of a service follows from its phase where its speed is always 1.
            yield FATE, (node_number, phase, stack[-1][1], stack[0][1] == 0), None
        if station.rates:
            yield "alone", resource_name, served_part

    def _labels_at(self, position: Position) -> list[tuple[str, _PartOfServer | None]]:
        """List the labels under which the account counts the time at a position. At a station whose
        speed varies, a part of the time is service and the rest is waiting.
        """
        action, node_number, *_ = position[0]
        node = self._nodes[node_number]
        if action == "pause":
            return [(f"{BACK_OFF_TIME}:{node.resource}", None)]
        if action == "ended":
            return [(IDLE_PROCESSORS, None)]
        if action not in ("line", "wait", "halt", "serve"):
            return [(node.name if action == "delay" else f"{BARRIER}:{node.name}", None)]
        resource_name = node.counter if action == "wait" else node.resource
        wait_label = (
            self.model.held_resource(resource_name).label(resource_name)
            if node.held
            else f"wait:{resource_name}"
        )
        if action != "serve":
            return [(wait_label, None)]
        station = self._resources[resource_name]
        if not (_shares_servers(station) or station.rates):
            return [(node.name, None)]
        weight = self._first_weight(node)
        return [
            (node.name, (resource_name, True, weight)),
            (wait_label, (resource_name, False, weight)),
        ]

    def _first_weight(self, step: act.Step) -> float:
        """Return the weight of a visit at the first point [1]."""
        return 1.0 if step.weight is None else float(self._value_by_expr[step.weight].real[0])


def _outside_position(customer_kind: int) -> Position:
    """Return the position of a customer of a stream that has not arrived yet, or has left."""
    return ("outside", customer_kind, 0), ()


def _half_open_state_number(breaker: Breaker, begun_trials: int, passed_trials: int) -> int:
    """Return the number of the state of a half-open circuit breaker, by its trials."""
    return OPEN - 1 - begun_trials * (breaker.trials + 1) - passed_trials


def _trial_counts(breaker: Breaker, state: int) -> tuple[int, int]:
    """Return how many trials have begun and how many of them have ended well in a half-open state;
    -1 in other states.
    """
    return divmod(OPEN - 1 - state, breaker.trials + 1) if state < OPEN else (-1, 0)


def _remembered_outcomes(breaker: Breaker, outcomes: int) -> int:
    """Return the outcomes of the last tries without the failures that are too old to open a circuit
    breaker together with later ones.

    The oldest failure counts only if a row of failures, as many as are missing, would still open
    the breaker because of it. The windows that remain are as few as the meaning of the breaker
    allows: of failures in a row only their number, and of 5 among 20 calls 4,845 in place of 2^20.

    Parameters
    ----------
    breaker : whose rule decides
    outcomes : a number of base 2 with a 1 for each failure; the latest try is the last digit

    >>> bin(_remembered_outcomes(Breaker(3, 30.0, of=4), 0b101))
    '0b101'
    >>> bin(_remembered_outcomes(Breaker(3, 30.0), 0b101))
    '0b1'
    """
    most_passes = breaker.calls - breaker.failures
    while outcomes.bit_length() - outcomes.bit_count() > most_passes:
        bits_of_passes = outcomes ^ (1 << outcomes.bit_length()) - 1
        outcomes &= (1 << bits_of_passes.bit_length()) - 1  # all failures before the oldest pass
    return outcomes


def _with_moved_processor(
    positions: Sequence[Position], processor: int, new_positions: Outcomes
) -> Outcomes:
    """Return outcomes in which one processor is moved to each of some new positions, and to the end
    of the list as the last to arrive.
    """
    return [
        (probability, [*positions[:processor], *positions[processor + 1 :], new_position])
        for probability, new_position in new_positions
    ]


def _first_processor(positions: Sequence[Position], actions: Collection[str]) -> int | None:
    """Return the index of the first processor whose position has one of some actions; None without
    any.
    """
    for processor, (position, _) in enumerate(positions):
        if position[0] in actions:
            return processor
    return None


def _with_replaced_position(
    positions: Sequence[Position], processor: int, new_positions: Outcomes
) -> Outcomes:
    """Return outcomes in which the position of one processor is replaced by each of some new ones,
    in the same order of processors.
    """
    return [
        (probability, [*positions[:processor], new_position, *positions[processor + 1 :]])
        for probability, new_position in new_positions
    ]


def _compile_chain(model: Subject, parameters: Parameters, simulation: Simulation) -> CompiledModel:
    """Compile a model of activities for the method of Markov chains."""
    from slipstick_mean_value.form import is_exact_at_points

    activity_model = cast(Model, model)
    form = ActivityChain(activity_model)
    if activity_model.constructs <= KNOWN[MEAN_VALUE]:
        form.find_points_left_to_others = partial(is_exact_at_points, activity_model)
    return form


def _accepts_model(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept models that a Markov chain takes, except where mean value is exact at less cost."""
    from slipstick_mean_value.form import is_exact_everywhere

    activity_model = cast(Model, model)
    is_exact_elsewhere = activity_model.constructs <= KNOWN[MEAN_VALUE] and is_exact_everywhere(
        activity_model
    )
    # Of a stream with a target, a simulation has the share within it.
    has_target = bool(activity_model.population.streams and activity_model.population.targets)
    if must_be_smooth or has_target or not fits_by_kind(activity_model) or is_exact_elsewhere:
        return Acceptance(False, "the Markov chain is not asked")
    return Acceptance(True)


CHAIN = Method(
    MARKOV_CHAIN,
    ACTIVITY,
    _compile_chain,
    CHAIN_RANK,
    _accepts_model,
    partial=True,
    knows=KNOWN[MARKOV_CHAIN],
)
