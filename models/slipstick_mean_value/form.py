"""Mean value as a compiled model, with the approximations that an answer used and the error that
they usually have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

from slipstick.errors import Doubt, NoAnswerError
from slipstick.expression.nodes import Number, Parameter
from slipstick.expression.tape import Flags, Tape, Values
from slipstick.late import np
from slipstick.method.activity_form import ActivityForm, ActivityTable
from slipstick.method.answers import (
    CompiledModel,
    Remarks,
)
from slipstick.method.ladder import APPROXIMATE_RANK, Acceptance, Method, Parameters, Subject
from slipstick.model.activity import (
    READ,
    BarrierWait,
    Choice,
    Pipeline,
    Step,
    Then,
)
from slipstick.model.steps import (
    ASKED,
    MET,
    Activity,
    Combination,
    distinct_activities,
    is_parallel,
    steps,
)
from slipstick.model.system import (
    ClosedPopulation,
    Group,
    Lock,
    Model,
    Monitor,
    OpenPopulation,
    Permits,
    PhasedPopulation,
    ReaderWriterLock,
    Station,
    StreamsPopulation,
    SuperstepPopulation,
    is_processor,
    no_rule_for_population_error,
)
from slipstick.phases import (
    LEAST_SCV,
)
from slipstick.sim.settings import Simulation
from slipstick.structure.contention import Variation
from slipstick.structure.visits import SPIN_LOCKS, Numbers
from slipstick.vocabulary import (
    ACTIVITY,
    ANY_SERVICE,
    DISCIPLINES,
    GEOMETRIC_COUNT,
    KNOWN,
    MEAN_VALUE,
    OVERTAKING_DISCIPLINES,
    STREAMS,
)
from slipstick_mean_value.closed import (
    Recursion,
    solve_closed,
)
from slipstick_mean_value.features import Features, features
from slipstick_mean_value.open import solve_open
from slipstick_mean_value.product_form import (
    ROUNDING,
    arrivals_are_poisson,
    has_product_form,
    product_form_points,
)
from slipstick_mean_value.programs import solve_phases, solve_supersteps
from slipstick_mean_value.shared_locks import MOST_IN_CHAIN, reason_outside_chain

_FEW_PROCESSORS = 2.0
"""Number of processors with which a model is solved on trial, to see whether it is refused."""


class MeanValue(ActivityForm):
    """A model compiled for mean value; points that differ in the population alone share one
    recursion.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> form = MeanValue(
    ...     closed_model(delay(9.0, name="think") >> service("bus", 1.0, scv=1.0), processors=10)
    ... )
    >>> form.times({"population.processors": np.array([1.0, 2.0, 10.0])})
    array([10.   , 10.1  , 12.019])
    """

    method = MEAN_VALUE

    def refuses(self) -> bool:
        """Return whether the model has a part that mean value has no answer for, at any values."""
        # The value of a parameter does not matter, because a part is refused at all values or none.
        value_by_expr = self.numbers(
            {
                parameter_name: 1.0
                for parameter_name, parameter in self.tape.parameters.items()
                if parameter.value is None
            }
        )
        # Nor does the number of processors, and a small one is solved fastest.
        small_counts = {
            count_expr: np.minimum(value_by_expr[count_expr], _FEW_PROCESSORS)
            for count_expr in self.model.population.processor_counts
        }
        try:
            with np.errstate(all="ignore"):
                _solver_of_population(self.model)(
                    self.model, {**value_by_expr, **small_counts}, False
                )
        except NoAnswerError:
            return True
        return False

    def exact(self, values: Values, table: ActivityTable) -> Flags:
        """Return for each point whether the mean values are exact there [points]; nowhere for a
        model that is refused.

        Parameters
        ----------
        values : values of the parameters
        table : table of the answers at the points
        """
        is_exact = self.contention.neglected_effects(values).neglects_nothing()
        if len(table.reason_by_point) < len(table.time):
            is_exact = is_exact | is_exact_at_points(self.model, values)
        return np.broadcast_to(is_exact, (len(table.time),))

    @cached_property
    def _reasons_of_no_promise(self) -> str:
        """The reasons why no error bound is promised for the model, as one text."""
        return "; ".join(reasons_without_promised_error(self.model))

    def reasons_without_promise(self, table: ActivityTable, is_exact: Flags) -> dict[int, str]:
        """Return, by point, the reason why no error bound is promised for an approximate answer;
        points with a promised bound are left out.
        """
        if not self._reasons_of_no_promise:
            return {}
        approximate_points = np.flatnonzero(~is_exact & np.isfinite(table.time))
        return dict.fromkeys(approximate_points.tolist(), self._reasons_of_no_promise)

    def solve(self, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
        """Return the table of answers from the solver for the population of the model."""
        return _solver_of_population(self.model)(self.model, value_by_expr, with_account)

    @property
    def approximation_remarks(self) -> Remarks:
        """Return the notes on an approximate answer, with the error that is promised for it."""
        return Remarks(notes=approximation_notes(self.model), promise=promised_error(self.model))


def _solver_of_population(model: Model) -> Callable[[Model, Numbers, bool], ActivityTable]:
    """Return the function that solves the population of a model; raise a NoAnswerError if the model
    has a part for which mean value has no approximation.
    """
    if GEOMETRIC_COUNT in model.constructs and any(
        node.use == MET for node in distinct_activities(model.bodies)
    ):
        raise NoAnswerError(
            "mean value takes no geometric count beside a barrier, whose last arrival it would have"
            " too early: simulate it"
        )
    for node in distinct_activities(model.bodies):
        for lock_name in node.held if node.mode else ():
            if reason := reason_outside_chain(model, lock_name):
                raise NoAnswerError(
                    f"mean value has no approximation of waits for {lock_name} with {reason}: a"
                    " reader-writer lock beside these is simulated, and bounds enclose it"
                )
        if node.counter:
            raise NoAnswerError(
                f"mean value has no approximation of waits for {node.counter}: waits for signals"
                " are simulated, and bounds enclose them; units that the same processor gives back"
                " are permits, which mean value takes"
            )
        for pool_name in node.uses if node.use == ASKED else ():
            raise NoAnswerError(
                f"mean value has no approximation of waits for {pool_name}: pools of tasks are"
                " simulated, and bounds by their work and their longest path enclose them"
            )
    match model.population:
        case ClosedPopulation():
            if STREAMS not in model.constructs:
                return solve_closed
            from slipstick_mean_value.mixed import solve_mixed

            return solve_mixed
        case OpenPopulation() | StreamsPopulation():
            return solve_open
        case PhasedPopulation():
            return solve_phases
        case SuperstepPopulation():
            return solve_supersteps
        case _:
            raise no_rule_for_population_error(MEAN_VALUE, model.population)


ERROR_OF_STATIONS, ERROR_OF_OTHER_MODELS, ERROR_WITH_BACK_OFF, ERROR_OF_SUPERSTEPS = (
    0.02,
    0.1,
    0.5,
    0.05,
)
"""Relative error of the time that 95 in 100 models do not exceed [1]: for plain stations in a
closed cycle with scv up to 1; for all other models; for locks with back-off; for supersteps.

Measured by benchmarks/mean_value.py (stations, all constructs),
tests/method/mean_value/test_spin_locks.py (back-off) and tests/workloads/application/test_model.py
(supersteps)."""

SUPERSTEP_NOTES = (
    (
        "supersteps: a visit finds the other processors at their mean loads, and each service"
        " delays it at most once"
    ),
    "a superstep ends when its slowest processor ends",
    Doubt(
        "typical error of the time under 5 % (the programs dvsm/sor and others, at sizes that were"
        " simulated)"
    ),
)
SPIN_ERROR = (
    "typical error of the time with spin locks {size} (2 to 64 processors, random times); larger"
    " errors occur for constant times, and where spinning saturates the station of the lock word"
)
ERROR = (
    "typical error of the time {size} (in 95 % of generated models, scv from 0.25 to 4); shares and"
    " waits are less accurate"
)


def _names_by_property(model: Model) -> dict[str, list[str]]:
    """List the names of a model's steps and resources by the properties that the approximations
    depend on.
    """
    nodes = [node for body in model.bodies for node in steps(body)]
    return {
        **_stations_by_property(model, nodes),
        **_locks_by_property(model, nodes),
        **_program_parts_by_property(model, nodes),
    }


def _stations_by_property(model: Model, nodes: Sequence[Activity]) -> dict[str, list[str]]:
    """List the stations that steps use, by the properties that make them hard to approximate."""
    used_resources = {
        step.resource: model.resources.get(step.resource) for step in model.steps if step.resource
    }
    stations = {
        resource_name: (station, DISCIPLINES[station.discipline])
        for resource_name, station in used_resources.items()
        if isinstance(station, Station)
    }
    has_maxima = any(is_parallel(node) or node.use == MET for node in nodes)
    # Of an open stream the probability that all servers are busy is exact.
    is_stream = model.population.open
    stations_of_unlike_services = [
        station_name
        for station_name, (_, discipline) in stations.items()
        if discipline.product_form != ANY_SERVICE and _has_unlike_services(model, station_name)
    ]
    stations_out_of_order = [
        station_name
        for station_name, (station, _) in stations.items()
        if has_maxima and station.discipline in OVERTAKING_DISCIPLINES
    ]
    stations_of_several_servers = [
        station_name
        for station_name, (station, _) in stations.items()
        if not is_stream and station.servers > 1
    ]
    steps_of_readers = [
        step.name for node in nodes if node.mode == READ for step in _steps_at_stations(node)
    ]
    processor_names = [
        resource_name for resource_name in used_resources if is_processor(resource_name)
    ]
    return {
        "stations": list(stations),
        "unlike services": stations_of_unlike_services,
        "out of order": stations_out_of_order,
        "several servers": stations_of_several_servers,
        "stations of readers": steps_of_readers,
        "processors": processor_names,
    }


def _locks_by_property(model: Model, nodes: Sequence[Activity]) -> dict[str, list[str]]:
    """List the locks and permits that are held, by the properties that make them hard to
    approximate.
    """
    held_resources = {
        resource_name: model.resources[resource_name]
        for node in nodes
        for resource_name in node.held
    }
    spin_locks = {
        resource_name: lock
        for resource_name, lock in held_resources.items()
        if isinstance(lock, Lock) and lock.kind in SPIN_LOCKS
    }
    shared_locks = {
        resource_name: lock
        for resource_name, lock in held_resources.items()
        if isinstance(lock, ReaderWriterLock)
    }
    acquired_locks = {
        name_and_holding for body in model.bodies for name_and_holding in _acquired_locks(body)
    }
    locks = [
        resource_name
        for resource_name, lock in held_resources.items()
        if isinstance(lock, Lock | Monitor)
    ]
    permits = [
        resource_name
        for resource_name, resource in held_resources.items()
        if isinstance(resource, Permits)
    ]
    writers_of_many = [
        lock_name
        for lock_name, lock in shared_locks.items()
        if lock.order == "writer-first" and _may_exceed_chain(model, lock.order)
    ]
    locks_with_back_off = [
        lock_name for lock_name, lock in spin_locks.items() if lock.back_off != "none"
    ]
    nested_locks = [
        lock_name
        for lock_name, _ in acquired_locks
        if {(lock_name, True), (lock_name, False)} <= acquired_locks
    ]
    return {
        "locks": locks,
        "permits": permits,
        "shared locks": list(shared_locks),
        "writers of many": writers_of_many,
        "spin locks": list(spin_locks),
        "back-off": locks_with_back_off,
        "nested": nested_locks,
    }


def _program_parts_by_property(model: Model, nodes: Sequence[Activity]) -> dict[str, list[str]]:
    """List groups, and the steps at which customers wait for each other, by the properties on which
    the approximations depend.
    """
    pipelines = [node for node in nodes if isinstance(node, Pipeline)]
    barriers = [node for node in nodes if isinstance(node, BarrierWait)]
    forks = [node for node in nodes if node.combination is Combination.LONGEST]
    stages = [stage for node in pipelines for stage in node.stages]
    parallel_stages = [stage.name for stage in stages if stage.kind == "parallel"]
    barriers_of_all = dict.fromkeys(node.name for node in barriers if node.parties is None)
    barriers_of_parties = dict.fromkeys(node.name for node in barriers if node.parties is not None)
    has_maxima = any(map(is_parallel, nodes))
    geometric_nodes = [node for node in nodes if has_maxima and GEOMETRIC_COUNT in node.constructs]
    choices = [node for node in nodes if isinstance(node, Choice)]
    groups = model.population.groups
    streams = [group.name for group in groups if group.arrivals is not None]
    return {
        "streams beside groups": streams if STREAMS in model.constructs else [],
        "groups": [] if streams else [group.name for group in groups if group.name],
        "forks": ["forks"] * len(forks),
        "pipelines": [node.name for node in pipelines],
        "parallel": parallel_stages,
        "barriers": list(barriers_of_all),
        "parties": list(barriers_of_parties),
        "phases": ["phases"] if isinstance(model.population, PhasedPopulation) else [],
        "geometric counts beside maxima": ["geometric counts"] * len(geometric_nodes),
        "choices": ["choices"] * len(choices),
    }


def _may_exceed_chain(model: Model, lock_order: str) -> bool:
    """Return whether a model may have more processors than the chain of a reader-writer lock can
    hold; a number that is computed from parameters may.
    """
    known_counts = [
        count.value
        for count in model.population.processor_counts
        if isinstance(count, Number | Parameter)
    ]
    return len(known_counts) < len(model.population.processor_counts) or any(
        float(count or 0.0) > MOST_IN_CHAIN[lock_order] for count in known_counts
    )


def _steps_at_stations(node: Activity) -> Iterator[Step]:
    """Yield the steps of an activity that are visits to stations."""
    yield from (step for step in steps(node) if isinstance(step, Step) and step.uses)


def _has_unlike_services(model: Model, station_name: str) -> bool:
    """Return whether the visits to a station do not all have the same exponential service time."""
    visits = [step for step in model.steps if step.resource == station_name]
    return any(step.scv != 1 or step.time != visits[0].time for step in visits)


def _acquired_locks(node: Activity, is_holding: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the name of each lock or set of permits that is acquired in an activity, with whether
    another one is held at that moment.
    """
    for lock_name in node.held:
        yield lock_name, is_holding
    for child in node.children:
        yield from _acquired_locks(child, is_holding or bool(node.held))


_NOTE_BY_PROPERTY = {
    "unlike services": (
        "waiting at {names} is approximated by mean value analysis, with a residual service time"
        " of (1 + scv) / 2 services"
    ),
    "out of order": (
        "the variation of waits at {names} is that of first come first served; the true variation"
        " is larger, so maxima are too small"
    ),
    "several servers": (
        "several servers at {names}: the probability that all are busy assumes that customers"
        " spend the rest of the cycle in a delay"
    ),
    "locks": (
        "each lock ({names}) is modelled as a queue; its service time is the time for which the"
        " lock is held, including waits"
    ),
    "shared locks": (
        "reader-writer locks {names} are solved as a Markov chain, in which the time under the lock"
        " is one service and the rest of the cycle a delay"
    ),
    "permits": (
        "permits {names} are modelled as a queue with one server for each permit; the service"
        " time is the time for which a permit is held, including waits; exponential services that"
        " only holders use are solved for each number of holders (flow-equivalent server)"
    ),
    "spin locks": (
        "spin locks {names}: waiting processors load the station of the lock word, and the times"
        " of hand-overs are those of Anderson's laws"
    ),
    "streams beside groups": (
        "{names} beside processors: Linearizer, in which an arriving customer sees the mean queues"
        " of all, less itself in its own group"
    ),
    "groups": (
        "groups: an arriving processor sees the mean queues of the population with one processor"
        " fewer in its group"
    ),
    "forks": (
        "forks: branches are independent except at shared resources, and only the mean and the"
        " variance of each are used"
    ),
    "pipelines": (
        "pipelines: the times at which items leave stages are assumed to be jointly normal (Clark)"
    ),
    "barriers": (
        "barriers {names}: all processors start together, and times between arrivals at a queue"
        " are assumed to be exponential"
    ),
    "parties": "barriers {names}: the parties are assumed to arrive as a steady stream",
    "phases": (
        "phases: iterations are in the steady state of the processors that still work; the"
        " slowest processor ends each phase"
    ),
    "processors": "processors as resources are assumed to be used equally often",
}
"""The note on each approximation, by the property of `_names_by_property` that calls for it."""


def approximation_notes(model: Model) -> tuple[str, ...]:
    """Return a note on each approximation that an answer of the model uses, and the error that such
    answers usually have.
    """
    if isinstance(model.population, SuperstepPopulation):
        return SUPERSTEP_NOTES
    names_by_property = _names_by_property(model)
    usual_error = promised_error(model)
    # Processors beside streams are solved by Linearizer, so that only its note applies.
    allowed_property = "streams beside groups" if STREAMS in model.constructs else ""
    notes = [
        note.format(names=", ".join(names_by_property[property_name]))
        for property_name, note in _NOTE_BY_PROPERTY.items()
        if names_by_property[property_name] and allowed_property in ("", property_name)
    ]
    if usual_error is None:
        has_maxima = any(
            names_by_property[property_name]
            for property_name in ("forks", "pipelines", "spin locks", "processors")
        )
        chain_may_answer = (
            not has_maxima
            and not model.population.open
            and all(step.scv >= LEAST_SCV for step in model.steps)
        )
        way_out = (
            "simulate, or use markov-chain with few processors" if chain_may_answer else "simulate"
        )
        return (
            *notes,
            *(f"{reason}; {way_out}" for reason in reasons_without_promised_error(model)),
        )
    error_text = SPIN_ERROR if names_by_property["spin locks"] else ERROR
    return (
        *notes,
        Doubt(error_text.format(size=f"under {usual_error:.0%}".replace("%", " %"))),
    )


LARGEST_ALIKE_SCV = 1.5
"""Largest squared coefficient of variation of all services at a station with which the smaller
error of stations is promised [1].
"""

VERY_UNLIKE_SCV = 10.0
"""Squared coefficient of variation of all services at a station above which a few services are much
longer than the others [1].
"""

LARGEST_MEASURED_SCV = 4.0
"""Largest squared coefficient of variation of the models whose errors were measured [1]."""

_MEASURED_ERROR_BY_CASE = {
    "constant times": (
        "all times are constant, so requests may be synchronized: errors of up to 112 % were"
        " measured"
    ),
    "varied times": f"times with an scv above {LARGEST_MEASURED_SCV:g}: the error was not measured",
    "streams at locks": (
        "an open stream through locks or permits: errors of up to 62 % were measured, near"
        " saturation of up to 106 %"
    ),
    "streams at forks": (
        "an open stream through forks: errors of up to 49 % were measured if branches share a"
        " station (ps)"
    ),
    "nested locks": (
        "locks that are taken both alone and inside others: errors of up to 11 % (95th"
        " percentile) and 19 % (maximum) were measured"
    ),
    "parallel stages": (
        "pipelines with parallel stages and an scv above 1: errors of up to 25 % (95th"
        " percentile) were measured"
    ),
    "stations of readers": (
        "a station that readers use under a reader-writer lock: errors of up to 32 % were measured"
    ),
    "writers of many": (
        f"a lock that prefers writers, with more than {MOST_IN_CHAIN['writer-first']} processors:"
        " errors of up to 23 % were measured"
    ),
    "geometric counts": (
        "geometric counts beside forks or pipelines: errors of 13 % were measured (a layered model"
        " of four processors)"
    ),
    "overtaken services": (
        "an open stream with different services in a row at a station with several servers, or"
        " out of order: errors of up to 82 % were measured"
    ),
    "very unlike services": (
        "services of very different lengths at a station with several servers, or beside locks,"
        " permits, forks or barriers: errors of up to 15 % were measured"
    ),
    "stations under locks and outside": (
        "a station that is used both under a lock and outside, before a barrier or in phases:"
        " errors of up to 46 % were measured"
    ),
    "stations shared by groups": (
        "a station that one group uses under a lock or permits, and another group uses too:"
        " errors of up to 16 % were measured"
    ),
    "stations in a row": (
        "an open stream through busy stations in a row with services that are not exponential:"
        " errors of up to 21 % were measured"
    ),
    "streams beside processors": (
        "arrivals beside processors, at a station without product form that has several servers or"
        " services that are not exponential: errors of up to 57 % were measured"
    ),
}
"""The cases for which no error is promised, each with the errors that were measured.

The errors are the worst of benchmarks/mean_value.py, as documentation/methods.md shows them: of
constant times; of arrivals at locks and forks (95 of 100, and the worst); of nested locks. Those of
forks are from its models 501 to 540, of pipelines from tests/test_random_times.py.

Writers first, of many: the chain has a state for every combination of readers inside, waiting
readers and waiting writers, so it can have few processors only, and the wait of more of them is
extrapolated; 23 % with 40 processors, a think time of 2 s, a fifth of writers, and 1 s for each
read and write.

Stations of readers: in the chain of a reader-writer lock, readers inside do not delay each other.

Nested locks: an outer lock that is held nearly all of the time lets processors through one at a
time, so that they arrive at the inner locks more regularly than at random, and the computed waits
there are two to three times too long (models 539, 1033 and 1040 of scv 1: 0.90 s for 0.30 s, 1.01
for 0.42, 0.37 for 0.13; the time is 16 to 36 % too long).

The five before the last are measured features (`slipstick_mean_value.features`). Rows at several
servers and out of order: streams of two to six visits at loads of 0.5 to 0.85, 82 and 16 %; closed
ones err by 5 % at most. Services of an scv above `VERY_UNLIKE_SCV` together: one in 10 to 50 long,
10.5 % at two servers, 14.5 % in a fork, while one server behind a delay is exact. Under locks and
outside, with a barrier: found by search (benchmarks/mean_value.py --adversary). Groups: 38 pairs of
groups, 16 %. Stations in a row: services of scv 4 and then 0.25 at a load of 0.9.
"""


def features_at_model_values(model: Model) -> Features | None:
    """Compute the features of a model at the values of its parameters; None if a parameter has no
    value, or if mean value refuses a part of the model.
    """
    form = MeanValue(model)
    if any(parameter.value is None for parameter in form.tape.parameters.values()):
        return None
    if isinstance(model.population, SuperstepPopulation):
        return None
    try:
        return features(model, form.numbers({}))
    except (NoAnswerError, KeyError):  # a kind of another package has numbers of its own
        return None


def reasons_without_promised_error(model: Model) -> list[str]:
    """List the reasons why no limit on the error of a model is promised, each with the errors that
    were measured; return an empty list if a limit is promised.
    """
    if isinstance(model.population, SuperstepPopulation):
        return []
    names_by_property = _names_by_property(model)
    scvs = [step.scv for step in model.steps]
    is_stream = model.population.open
    greatest_scv = max(scvs, default=0.0)
    measured_features = features_at_model_values(model)
    is_case_by_name = {
        "constant times": not any(scvs)
        and (not names_by_property["choices"] or names_by_property["shared locks"]),
        "varied times": greatest_scv > LARGEST_MEASURED_SCV,
        "streams at locks": is_stream
        and (names_by_property["locks"] or names_by_property["permits"]),
        "streams at forks": is_stream
        and names_by_property["forks"]
        and names_by_property["stations"],
        "nested locks": names_by_property["nested"],
        "parallel stages": greatest_scv > 1 and names_by_property["parallel"],
        "stations of readers": names_by_property["stations of readers"],
        "writers of many": names_by_property["writers of many"],
        "geometric counts": names_by_property["geometric counts beside maxima"],
        **_features_outside_measured(measured_features, names_by_property),
        "streams beside processors": STREAMS in model.constructs
        and _is_beyond_linearizer(model, measured_features, names_by_property),
    }
    return [
        error_words
        for case_name, error_words in _MEASURED_ERROR_BY_CASE.items()
        if is_case_by_name[case_name]
    ]


def _is_beyond_linearizer(
    model: Model,
    measured_features: Features | None,
    names_by_property: Mapping[str, Sequence[str]],
) -> bool:
    """Return whether the error of Linearizer may be large: a station without product form has
    several servers, or services that are not exponential. Product form is judged by the features at
    the model's own values, if they are known.
    """
    served_scv = {} if measured_features is None else measured_features.served_scv
    # Services whose squared coefficient of variation together is 1 are alike and exponential.
    unlike_stations = {
        station_name
        for station_name in names_by_property["unlike services"]
        if abs(served_scv.get(station_name, 0.0) - 1) > ROUNDING
    }
    return not unlike_stations.isdisjoint(names_by_property["several servers"]) or any(
        step.scv != 1 for step in model.steps if step.resource in unlike_stations
    )


def _features_outside_measured(
    measured_features: Features | None, names_by_property: Mapping[str, Sequence[str]]
) -> dict[str, bool]:
    """Return, for each case that depends on a feature, whether the feature lies outside the range
    in which errors were measured to be small; False for all cases if the features are unknown.

    Parameters
    ----------
    measured_features : features at the model's own values, if they are known
    names_by_property : result of `_names_by_property`
    """
    measured_features = measured_features or Features()
    has_parts_of_larger_error = any(
        names_by_property[property_name] for property_name in _PARTS_OF_LARGER_ERROR
    )
    return {
        "overtaken services": bool(measured_features.overtaken_stations),
        "very unlike services": any(
            scv > VERY_UNLIKE_SCV
            and (has_parts_of_larger_error or station_name in names_by_property["several servers"])
            for station_name, scv in measured_features.served_scv.items()
        ),
        "stations under locks and outside": bool(measured_features.stations_under_locks_and_outside)
        and bool(names_by_property["barriers"] or names_by_property["phases"]),
        "stations shared by groups": bool(measured_features.stations_shared_by_holders),
        "stations in a row": bool(measured_features.stations_after_stations),
    }


_PARTS_OF_LARGER_ERROR = (
    "forks",
    "locks",
    "shared locks",
    "permits",
    "pipelines",
    "barriers",
    "parties",
)
"""Parts for which a larger error is promised."""


def promised_error(model: Model) -> float | None:
    """Return the relative error of the time within which approximate answers usually stay, as
    measured by benchmarks [1].

    None where no error is promised; the notes of the answer then say what was measured.
    """
    if isinstance(model.population, SuperstepPopulation):
        return ERROR_OF_SUPERSTEPS
    if reasons_without_promised_error(model):
        return None
    names_by_property = _names_by_property(model)
    if names_by_property["back-off"]:
        return ERROR_WITH_BACK_OFF
    has_parts_of_larger_error = any(
        names_by_property[property_name] for property_name in _PARTS_OF_LARGER_ERROR
    )
    measured_features = features_at_model_values(model)
    has_unlike_services = measured_features is not None and (
        bool(measured_features.stations_in_a_row)
        or any(scv > LARGEST_ALIKE_SCV for scv in measured_features.served_scv.values())
    )
    is_varied_or_grouped = (
        any(step.scv > 1 for step in model.steps) or len(model.population.groups) != 1
    )
    return (
        ERROR_OF_OTHER_MODELS
        if is_varied_or_grouped or has_parts_of_larger_error or has_unlike_services
        else ERROR_OF_STATIONS
    )


def promises_small_error(model: Model) -> bool:
    """Return whether mean value is exact for a model, or promises an error of
    `ERROR_OF_OTHER_MODELS` at most; not for a model that it refuses.
    """
    if MeanValue(model).refuses():
        return False
    usual_error = promised_error(model)
    return is_exact_everywhere(model) or (
        usual_error is not None and usual_error <= ERROR_OF_OTHER_MODELS
    )


def is_exact_at_points(model: Model, values: Values) -> Flags:
    """Return for each point whether mean value is exact there: the model has product form, by its
    structure or its values, and a time of each group is random [points].
    """
    is_in_product_form: Flags | bool = is_exact_everywhere(model)
    # Values may make services equal that are different by structure.
    if not is_in_product_form and isinstance(
        model.population, ClosedPopulation | StreamsPopulation
    ):
        expressions = model.expressions()
        expr_columns = np.broadcast_arrays(*Tape(expressions).run(values))
        value_by_expr = dict(zip(expressions, map(np.atleast_1d, expr_columns), strict=True))
        recursion = Recursion(model, model.bodies)
        is_in_product_form = product_form_points(
            model, recursion.trees, recursion.queues, value_by_expr
        )
    is_exact = np.asarray(is_in_product_form & Variation(model).is_random(values))
    return is_exact | _follows_pollaczek_and_khinchine(model)


def is_exact_everywhere(model: Model) -> bool:
    """Return whether mean value is exact for a model at all values at which something is random: in
    product form, for streams to single servers, or for one maximum of exponential delays.
    """
    population = model.population
    if population.finite:
        return False
    if _follows_pollaczek_and_khinchine(model):
        return True
    recursion = Recursion(model, population.bodies)
    if has_product_form(model, recursion.trees, recursion.queues):
        # Without a queue the times add up exactly; with one, some time must be random.
        return not recursion.queues or Variation(model).may_be_random
    match population:
        case ClosedPopulation(
            (Group(cycle=Then((Step(resource=None, scv=1.0), BarrierWait(parties=None)))),)
        ):
            # The maximum of N exponential delays is the mean times 1 + 1/2 + ... + 1/N.
            return True
    return False


def _follows_pollaczek_and_khinchine(model: Model) -> bool:
    """Return whether an open model meets the conditions of `arrivals_are_poisson`."""
    if not model.population.open:
        return False
    recursion = Recursion(model, model.bodies)
    return arrivals_are_poisson(model, recursion.trees, recursion.queues)


def _compile_mean_value(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    """Return a model of activities as one that mean value analysis can solve."""
    return MeanValue(cast(Model, model))


def _accepts_small_error(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept models for which mean value is exact, or promises an error of at most a tenth; any
    model if the answer must be smooth in its parameters (`must_be_smooth`), which no simulation is.
    """
    if must_be_smooth or promises_small_error(cast(Model, model)):
        return Acceptance(True)
    return Acceptance(False, "mean value promises no error")


MEAN_VALUE_ANALYSIS = Method(
    MEAN_VALUE,
    ACTIVITY,
    _compile_mean_value,
    APPROXIMATE_RANK,
    _accepts_small_error,
    knows=KNOWN[MEAN_VALUE],
)
