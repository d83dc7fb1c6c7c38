"""Transient answers of queueing networks and activities: expectations at a time, and the mean time
until a station fills.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from slipstick.answer import Answer, Value, unit_of
from slipstick.arguments import (
    TEXT,
    checked,
    instance_of,
    list_of,
    mapped_by_name,
    optional_kind,
    real_number,
    whole_number,
)
from slipstick.errors import MissingValue, ModelError, NoAnswerError, UnknownNameError
from slipstick.late import Array, NDArray, np
from slipstick.limits import with_lower_limits
from slipstick.method.activity_form import ActivityForm
from slipstick.method.names import station_and_count_of_passage, steady_name_and_time_of
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.solvers import reasons_unsolvable
from slipstick.method.simulation.flatten import ALL
from slipstick.model.network import OpenClass, QueueingNetwork
from slipstick.model.system import Model, OpenPopulation
from slipstick.queueing.markov_chain import MarkovChain, mean_times
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    BATCHES,
    KNOWN_OF_NETWORKS,
    LOWERED,
    MARKOV_CHAIN,
    RENEWALS,
    STREAMS,
    TRACES,
    refuse_unknown,
)
from slipstick_chains.activity_chain import ActivityChain, chain_from_start, has_given_phases
from slipstick_chains.lowered_networks import values_of_activity
from slipstick_chains.lowering import lower_network
from slipstick_chains.networks.by_class import BEFORE_STEADY_STATE, chain_at, solve_by_class
from slipstick_chains.over_the_day import (
    DayPart,
    NeverReachedError,
    message_of_empty_start,
    model_with_mean_rates,
    parts_of_period,
    passage_time,
    probabilities_at,
    profile_by_stream,
)
from slipstick_chains.uniformization import transient as probabilities_of_chain

Columns = dict[str, NDArray[np.float64]]

_SIMULATION = optional_kind(instance_of(Simulation, "settings, as Simulation(...) makes them"))


_MODEL = {
    "model": instance_of(
        (QueueingNetwork, Model),
        "a queueing network, as network(...) makes it, or an activity, as closed_model(...) does",
    ),
    "values": optional_kind(mapped_by_name(real_number())),
    "most": optional_kind(whole_number(1)),
    "backlog": whole_number(0),
    "limit": optional_kind(real_number(1)),
}


@checked(times=list_of(real_number(0)), simulation=_SIMULATION, **_MODEL)
def transient(
    model: QueueingNetwork | Model,
    times: Sequence[float],
    values: Mapping[str, float] | None = None,
    *,
    most: int | None = None,
    limit: float | None = None,
    backlog: int = 0,
    simulation: Simulation | None = None,
) -> Columns:
    """Return the expected queue lengths and the probabilities of a network or an activity at given
    times after the start. The method is exact and uses the Markov chain of the model; or it
    estimates queue lengths by simulation, for models of which the chain is too large.

    At time 0 all closed customers and processors begin a cycle, with their think time if they have
    one. There are no customers of open classes and streams, except for a backlog.

    Parameters
    ----------
    model : a network, or an activity of processors that repeat a cycle and of streams with Poisson
        arrivals, bursts or a profile over the day. The first burst begins after time 0, and the
        first part of a profile at time 0. A time whose scv is not 1 is represented by phases with
        the same mean and scv
    times : times after the start [s]
    values : parameters that differ from those of the model, in base units
    most : maximum number of arriving customers in the chain, for stations without a capacity. By
        default it is so large that a larger one would not change the values
    limit : maximum number of states
    backlog : number of customers of each stream, or each open class, that arrive together at time
        0; by default that of the model. A network with a backlog or a profile is solved as an
        activity
    simulation : settings of independent simulations from the start, in place of the Markov chain;
        the model's own backlog applies. Only ``queue_length[station]`` is then returned, with the
        ends of its interval as ``low[...]`` and ``high[...]``

    Returns
    -------
    dict : an array for each name, with a number for each time. The names are
        ``queue_length[class,station]``, ``queue_length[station]`` and ``probability[station,n]``,
        as in answers. For an activity the resource takes the place of the station, and there are no
        classes; nor are there for a network with a backlog or a profile

    Raises
    ------
    ModelError : a time is negative or not finite, the model has no such parameter, or `most` or a
        backlog is given although the model has no streams
    NoAnswerError : the chain is too large, a number is out of its range, or streams saturate a
        station

    Source: Jensen, Skandinavisk Aktuarietidskrift 36, 1953, 87-91 (uniformization).

    >>> from slipstick.model.network import open_class, network, station
    >>> door = network(
    ...     {"guests": open_class(1.0)}, {"door": station(service={"guests": 1.0}, capacity=1)}
    ... )
    >>> transient(door, [0.0, 0.5, 50.0])["queue_length[door]"].round(4)
    array([0.    , 0.3161, 0.5   ])
    """
    if simulation is not None:
        return _simulated_columns(model, times, values or {}, simulation)
    model, values = _followed_model(model, backlog, values or {})
    if isinstance(model, Model):
        chains = _activity_chains(model, values, most, limit, backlog)
        return _settled_columns(_columns_of_activity(*chain, times) for chain in chains)
    network_layout, network_points = _layout_and_points(model, values)
    space, chain = chain_at(
        network_points, _followed_customer_limit(network_points, most, limit), limit
    )
    probabilities_by_time = probabilities_of_chain(chain, times)
    states = np.asarray(chain.states)
    present_counts = np.tensordot(probabilities_by_time, space.present(states), axes=1)
    columns: Columns = {}
    for station_index, (name, station) in enumerate(model.stations.items()):
        for class_name in station.visitors():
            columns[f"queue_length[{class_name},{name}]"] = present_counts[
                :, network_layout.classes.index(class_name), station_index
            ]
        lengths = space.customers(states, station_index, network_points.network.is_absence)
        columns[f"queue_length[{name}]"] = probabilities_by_time @ lengths
        columns |= _probabilities_by_name(name, lengths.astype(np.float64), probabilities_by_time)
    return columns


def _simulated_columns(
    model: QueueingNetwork | Model,
    times: Sequence[float],
    values: Mapping[str, float],
    simulation: Simulation,
) -> Columns:
    """Return expected queue lengths that are estimated by simulation, and the ends of their
    intervals [times].
    """
    from slipstick_chains.transient_runs import counted_resources, simulated_values

    resources = counted_resources(model, values)
    names = [f"queue_length_at[{resource},{time!r}]" for resource in resources for time in times]
    # One set of runs answers for all resources and times.
    value_by_name = simulated_values(model, names, values, float, backlogs_of(model), simulation)
    columns: Columns = {}
    for resource in resources:
        estimates = [value_by_name[f"queue_length_at[{resource},{time!r}]"] for time in times]
        name = f"queue_length[{resource}]"
        for column_name, attribute in (
            (name, "value"),
            (f"low[{name}]", "low"),
            (f"high[{name}]", "high"),
        ):
            columns[column_name] = np.array(
                [getattr(estimate, attribute) for estimate in estimates]
            )
    return columns


def _probabilities_by_name(name: str, lengths: Array, probabilities_by_time: Array) -> Columns:
    """Return the probability of each number of customers that can be present at a station or
    resource, by the name of the value [times].
    """
    return {
        f"probability[{name},{customer_count}]": probabilities_by_time[
            :, lengths == customer_count
        ].sum(axis=1)
        for customer_count in range(int(lengths.max(initial=0)) + 1)
    }


def _columns_of_activity(
    chain: MarkovChain,
    lengths_by_resource: Mapping[str, Array],
    day_parts: Sequence[DayPart],
    times: Sequence[float],
) -> Columns:
    """Return the expected queue length and the probability of each number present at each resource,
    by name [times].
    """
    if day_parts:
        probabilities_by_time = probabilities_at(chain.start, day_parts, times)
    else:
        probabilities_by_time = probabilities_of_chain(chain, times)
    columns: Columns = {}
    for name, lengths in lengths_by_resource.items():
        columns[f"queue_length[{name}]"] = probabilities_by_time @ lengths
        columns |= _probabilities_by_name(name, lengths, probabilities_by_time)
    return columns


@checked(station=TEXT, present=whole_number(0), simulation=_SIMULATION, **_MODEL)
def time_until(
    model: QueueingNetwork | Model,
    station: str,
    present: int,
    values: Mapping[str, float] | None = None,
    *,
    most: int | None = None,
    limit: float | None = None,
    backlog: int = 0,
    simulation: Simulation | None = None,
) -> float:
    """Return the mean time from the start until a station first has a given number of customers.

    The unit is [s]. If more customers are there at time 0, such as a backlog, it is the time until
    their number has fallen to the given one; for the number 0 until the station is empty.

    Parameters
    ----------
    model, values, most, limit, backlog : see `transient`
    simulation : settings of independent simulations from the start, in place of the Markov chain;
        the mean over these is returned
    station : name of the station; for an activity, name of the resource
    present : number of customers at which the time ends; 0 for an empty station

    Raises
    ------
    UnknownNameError : there is no such station
    ModelError : the model has no such parameter, or `most` is given although the model has no
        streams
    NoAnswerError : so many customers can never be present, the chain is too large, or streams
        saturate a station

    Source: Kemeny and Snell, Finite Markov Chains, 1960, ch. 3.

    >>> from slipstick.model.network import open_class, network, station
    >>> door = network(
    ...     {"guests": open_class(1.0)}, {"door": station(service={"guests": 1.0}, capacity=2)}
    ... )
    >>> time_until(door, "door", 2)
    3.0

    Service takes 1 s and 0.5 customers arrive per second, so a backlog of 5 customers
    lasts 5 / (1 - 0.5) s on average:

    >>> from slipstick import open_model, service
    >>> round(time_until(open_model(service("door", 1.0, scv=1.0), 0.5), "door", 0, backlog=5), 4)
    10.0
    """
    if simulation is not None:
        return _simulated_passage_time(model, station, present, values or {}, simulation)
    model, values = _followed_model(model, backlog, values or {})
    if isinstance(model, Model):
        _check_station(model.resources, station)
        chains_and_counts = _activity_chains(model, values, most, limit, backlog, present + 1)
        return _settled_columns(
            {
                "time": np.array(
                    [
                        _passage_time(
                            chain, count_by_resource.get(station), station, present, day_parts
                        )
                    ]
                )
            }
            for chain, count_by_resource, day_parts in chains_and_counts
        )["time"].item()
    chain, lengths = _chain_and_lengths(model, station, present, values, most, limit)
    return _passage_time(chain, lengths, station, present)


def _simulated_passage_time(
    model: QueueingNetwork | Model,
    station: str,
    wanted_count: int,
    values: Mapping[str, float],
    simulation: Simulation,
) -> float:
    """Return the mean time until a number of customers is first present, estimated by simulation
    [s].
    """
    from slipstick_chains.transient_runs import simulated_values

    _check_station(model.resources if isinstance(model, Model) else model.stations, station)
    name = f"time_until[{station},{wanted_count}]"
    passage_time = simulated_values(model, [name], values, float, backlogs_of(model), simulation)[
        name
    ]
    if isinstance(passage_time, str) or passage_time.value is None:
        raise NoAnswerError(str(passage_time))
    return passage_time.value


def _passage_time(
    chain: MarkovChain,
    length_by_state: Array | None,
    station: str,
    wanted_count: int,
    day_parts: Sequence[DayPart] = (),
) -> float:
    """Return the mean time until a number of customers is first present at a station [s]: at least
    that number, or at most, if more are there at time 0.
    """
    length_by_state = np.zeros(chain.size) if length_by_state is None else length_by_state
    begins_above = bool((length_by_state[chain.start > 0] > wanted_count).all())
    has_ended = (
        length_by_state <= wanted_count
        if begins_above or not wanted_count
        else length_by_state >= wanted_count
    )
    end_states = np.flatnonzero(has_ended).astype(np.int64)
    if not len(end_states):
        raise NeverReachedError(
            f"never are {wanted_count} customers at {station}; at most"
            f" {int(length_by_state.max(initial=0))} are"
        )
    if day_parts:
        return passage_time(chain.start, day_parts, end_states)
    mean_time = float(mean_times(chain, end_states).sum().real)
    if mean_time * float(np.bincount(chain.sources, weights=chain.rates.real).max()) > MOST_CHANGES:
        raise NeverReachedError(
            f"{station} has {wanted_count} customers so seldom that doubles cannot hold the time"
            " until then; ask for a smaller number, or for probability_at"
        )
    return mean_time


def _check_station(names: Collection[str], station: str) -> None:
    """Raise if a station or resource is not among some names."""
    if station not in names:
        raise UnknownNameError("station", station, list(names))


_WAYS_OUT: Mapping[str, str] = {
    BATCHES: "give a backlog, or ask for values of the long run",
    RENEWALS: "leave their scv out",
    TRACES: "ask for values of the long run, by simulation",
}
"""By a pattern of arrivals that chains do not follow: what the user can change; no other method has
values before the long run.
"""


def _refuse_patterns(model: QueueingNetwork | Model) -> None:
    """Raise if customers arrive by a pattern that the chain does not follow."""
    if isinstance(model, Model):
        patterns = model.population.constructs & _WAYS_OUT.keys()
    else:
        open_classes = [
            members for members in model.members_by_chain.values() if isinstance(members, OpenClass)
        ]
        has_capacity = any(
            station.capacity or station.balking for station in model.stations.values()
        )
        is_present_by_pattern = {
            TRACES: any(members.trace for members in open_classes),
            BATCHES: has_capacity and any(members.batch > 1 for members in open_classes),
        }
        patterns = frozenset(
            name for name, is_present in is_present_by_pattern.items() if is_present
        )
    for pattern in sorted(patterns):
        raise NoAnswerError(
            "values before the long run follow Poisson streams, bursts and profiles;"
            f" {model.name} has {pattern}: {_WAYS_OUT[pattern]}"
        )


def _followed_model(
    model: QueueingNetwork | Model, backlog: int, values: Mapping[str, float]
) -> tuple[QueueingNetwork | Model, Mapping[str, float]]:
    """Return the model from which the chain is built, and the values of its parameters: a network
    with a backlog, a profile, a region, retries or breakers becomes an activity.
    """
    followed_model = model
    if isinstance(model, QueueingNetwork):
        has_profile = any(
            isinstance(members, OpenClass) and members.profile
            for members in model.members_by_chain.values()
        )
        is_lowered = has_profile or backlog or backlogs_of(model) or model.constructs & LOWERED
        if is_lowered:
            _check_parameters(model, values, NetworkLayout(model))
            followed_model = lower_network(model)
            activity = ActivityChain(model_with_mean_rates(followed_model))
            own_values = {name: parameter.value for name, parameter in model.parameters.items()}
            activity_values = values_of_activity(
                model.name, values, activity.parameters, own_values
            )
            values = {name: float(value) for name, value in activity_values.items()}
    _refuse_patterns(followed_model)
    return followed_model, values


def _chain_and_lengths(
    model: QueueingNetwork,
    station: str,
    wanted_count: int,
    values: Mapping[str, float] | None,
    most_customers: int | None,
    limit: float | None,
) -> tuple[MarkovChain, Array]:
    """Return the chain of a network, and the number of customers at a station in each state [1]
    [states].
    """
    _check_station(model.stations, station)
    _, network_points = _layout_and_points(model, values)
    truncation = _followed_customer_limit(network_points, most_customers, limit)
    space, chain = chain_at(
        network_points, None if truncation is None else truncation + wanted_count, limit
    )
    station_index = list(model.stations).index(station)
    lengths = space.customers(
        np.asarray(chain.states), station_index, network_points.network.is_absence
    )
    return chain, lengths.astype(np.float64)


def backlogs_of(model: QueueingNetwork | Model) -> dict[str, int]:
    """Return the number of customers that wait at time 0, by the name that their stream or open
    class has in a plan of the simulator; names without any are left out.
    """
    if isinstance(model, Model):
        population = model.population
        patterns = (
            {ALL: population.pattern}
            if isinstance(population, OpenPopulation)
            else {group.name: group.pattern for group in population.groups}
        )
        backlogs = {name: pattern.backlog for name, pattern in patterns.items()}
    else:
        backlogs = {
            name: members.backlog
            for name, members in model.members_by_chain.items()
            if isinstance(members, OpenClass)
        }
    return {name: backlog for name, backlog in backlogs.items() if backlog}


MOST_CHANGES = 1e12
"""Largest number of changes of state in the mean time until a number is present: its relative error
is about this number times 2^-53, 0.0001.
"""

FEWEST_FOLLOWED, CHANGE = 8, 1e-6
"""Number of customers of a stream that a chain follows at first, half as many more each time; and
the largest change of a value, relative to it or to 1, with which this ends.
"""


def _activity_chains(
    model: Model,
    values: Mapping[str, float] | None,
    most_customers: int | None,
    limit: float | None,
    backlog: int,
    fewest_followed: int = 0,
) -> Iterator[tuple[MarkovChain, dict[str, Array], list[DayPart]]]:
    """Yield Markov chains of an activity. Each comes with the number of processors at each resource
    in each of its states [1], and with the parts of a period if a rate has a profile. Where streams
    arrive, each further chain follows more of their customers.
    """
    has_streams = model.population.open or STREAMS in model.constructs
    if not has_streams and (most_customers is not None or backlog):
        needless_argument = "the backlog" if backlog else "most"
        raise ModelError(f"no streams come to {model.name}, so leave out {needless_argument}")
    profiles = profile_by_stream(model)
    mean_rate_model = model_with_mean_rates(model)
    _check_parameters(model, values or {}, ActivityChain(mean_rate_model))
    largest_backlog = backlog or max(backlogs_of(model).values(), default=0)
    most_followed = (
        max(FEWEST_FOLLOWED, fewest_followed, 2 * largest_backlog)
        if most_customers is None
        else most_customers
    )
    if largest_backlog > most_followed:
        raise ModelError(
            f"a backlog of {largest_backlog} is more than most, {most_customers}; raise most"
        )
    with with_lower_limits({} if limit is None else {"states": limit}):
        while True:
            chain, count_by_resource = chain_from_start(
                mean_rate_model, values or {}, most_followed, backlog
            )
            faster_chains = {
                name: chain_from_start(
                    model_with_mean_rates(model, name), values or {}, most_followed, backlog
                )[0]
                for name in profiles
            }
            day_parts = parts_of_period(chain, faster_chains, profiles) if profiles else []
            yield chain, count_by_resource, day_parts
            if most_customers is not None or not has_streams:
                return
            most_followed += most_followed // 2


def _settled_columns(columns_of_chains: Iterator[Columns]) -> Columns:
    """Return the columns of the first chain whose values differ little from those of the smaller
    chain before it, or else the columns of the largest chain.
    """
    earlier_columns = next(columns_of_chains)
    for later_columns in columns_of_chains:
        changes = [
            np.abs(column - earlier_columns.get(name, 0.0)) / np.maximum(1.0, np.abs(column))
            for name, column in later_columns.items()
        ]
        if all((change <= CHANGE).all() for change in changes):
            return later_columns
        earlier_columns = later_columns
    return earlier_columns


def transient_values(
    model: QueueingNetwork | Model,
    names: Iterable[str],
    values_given: Mapping[str, float],
    simulation: Simulation | None = None,
) -> dict[str, Value | str]:
    """Compute ``time_until[station,n]``, ``queue_length_at[...,seconds]`` and
    ``probability_at[station,n,seconds]`` by name: by the Markov chain, or by simulation where no
    chain follows the model. An estimate has an interval.

    Parameters
    ----------
    model : the network or activity
    names : of the values; others are passed over
    values_given : quantities by path: parameters that differ from the model's own, and what a path
        stands for in the place of seconds
    simulation : settings of a simulation

    Returns
    -------
    each value, or why there is none

    Raises
    ------
    UnknownNameError : there is no such path

    >>> from slipstick.model.network import open_class, network, station
    >>> door = network(
    ...     {"guests": open_class(1.0)}, {"door": station(service={"guests": 1.0}, capacity=2)}
    ... )
    >>> transient_values(door, ["time_until[door,2]", "time_until[door,3]"], {})
    {'time_until[door,2]': Value(value=3.0, unit='s', low=None, high=None), 'time_until[door,3]':
    'never are 3 customers at door; at most 2 are'}
    """
    value_by_name: dict[str, Value | str] = {}
    names_to_simulate = []

    def read_seconds(time_text: str) -> float:
        """Return the time that a text stands for: a number, or the value of a path [s]."""
        if time_text.startswith("parameters.") and time_text not in values_given:
            raise UnknownNameError("quantity", time_text, list(values_given))
        return values_given[time_text] if time_text in values_given else float(time_text)

    compiled_model = (
        ActivityChain(model_with_mean_rates(model))
        if isinstance(model, Model)
        else NetworkLayout(model)
    )
    parameter_by_path = compiled_model.tape.parameters
    values = {path: value for path, value in values_given.items() if path in parameter_by_path}
    for name in names:
        try:
            value = _value_by_chain(model, name, values, read_seconds)
            if value is not None:
                value_by_name[name] = value
        except (NoAnswerError, ModelError) as error:  # also of times that no phases represent
            value_by_name[name] = str(error)
            if not isinstance(error, NeverReachedError):
                names_to_simulate.append(name)
    return value_by_name | _simulated_estimates(
        model, names_to_simulate, values, read_seconds, simulation or Simulation()
    )


def _value_by_chain(
    model: QueueingNetwork | Model,
    name: str,
    values: Mapping[str, float],
    read_seconds: Callable[[str], float],
) -> Value | str | None:
    """Return a value before the steady state by the Markov chain of a model, or why there is none;
    None for the name of any other value.
    """
    if station_and_count := station_and_count_of_passage(name):
        station, wanted_count = station_and_count
        value_before_steady_state = time_until(model, station, wanted_count, values)
        if not (value_before_steady_state or wanted_count):
            raise NeverReachedError(message_of_empty_start(station))
    elif name_and_time := steady_name_and_time_of(name):
        steady_name, time_text = name_and_time
        columns = transient(model, [read_seconds(time_text)], values)
        counted_name = re.sub(r"^probability(.*),.*", r"queue_length\1]", steady_name)
        if counted_name not in columns:
            return (
                f"there is no {counted_name} before the steady state, but"
                f" {', '.join(_queue_length_names(columns))}; customers of one class"
                " are not counted in a network with a backlog or a profile"
            )
        # More customers than a station can have are there with probability 0.
        value_before_steady_state = float(columns.get(steady_name, np.zeros(1))[0])
    else:
        return None
    return Value(value_before_steady_state, unit_of(name))


def _queue_length_names(columns: Columns) -> list[str]:
    """Return the names of the columns that are queue lengths."""
    return [name for name in columns if name.startswith("queue_length[")]


def _simulated_estimates(
    model: QueueingNetwork | Model,
    names: Sequence[str],
    values: Mapping[str, float],
    read_seconds: Callable[[str], float],
    simulation: Simulation,
) -> dict[str, Value | str]:
    """Return estimates of the values that no Markov chain has, by name; nothing if the model cannot
    be simulated.
    """
    if not names:
        return {}
    from slipstick_chains.transient_runs import simulated_values

    try:
        return simulated_values(model, names, values, read_seconds, backlogs_of(model), simulation)
    except (NoAnswerError, ModelError):
        return {}


def answer_with_transient(
    answer: Answer,
    model: QueueingNetwork | Model,
    names: Iterable[str],
    values_given: Mapping[str, float],
    simulation: Simulation | None = None,
) -> Answer:
    """Return an answer with the transient values that are among some names, and with a note for
    each value that could not be computed.

    Parameters
    ----------
    answer : of the model at its own values
    model, names, values_given, simulation : as for `transient_values`
    """
    found_value_by_name = transient_values(model, names, values_given, simulation)
    computed_values = {
        name: value for name, value in found_value_by_name.items() if isinstance(value, Value)
    }
    estimated_names = [name for name, value in computed_values.items() if value.low is not None]
    exact_names = [name for name in computed_values if name not in estimated_names]
    answered_values = {
        # Beside a simulated answer, an exact value has an interval too.
        name: replace(value, low=value.value, high=value.value)
        if name in exact_names and answer.converged is not None
        else value
        for name, value in computed_values.items()
    }
    notes = []
    if exact_names:
        kind_of_model = "activity" if isinstance(model, Model) else "network"
        precision_in_words = (
            "with phases of the same mean and scv in place of each time with an scv other than 1"
            if _replaces_times(model, values_given)
            else "exactly"
        )
        notes.append(
            f"by the Markov chain of the {kind_of_model}, {precision_in_words}:"
            f" {', '.join(exact_names)}"
        )
    if estimated_names:
        notes.append(
            "estimated by independent simulations from the start, because no Markov chain is small"
            f" enough or follows the model: {', '.join(estimated_names)}"
        )
    notes += [
        MissingValue(f"{name} has no value: {value}", value_name=name, reason=value)
        for name, value in found_value_by_name.items()
        if isinstance(value, str)
    ]
    return replace(
        answer, values={**answer.values, **answered_values}, notes=(*answer.notes, *notes)
    )


def _replaces_times(model: QueueingNetwork | Model, values_given: Mapping[str, float]) -> bool:
    """Return whether the Markov chain of a model replaces some time by phases with the same mean
    and scv.
    """
    if isinstance(model, Model):
        return not all(step.scv in (0, 1) or has_given_phases(step) for step in model.steps)
    network_layout = NetworkLayout(model)
    parameter_by_path = network_layout.tape.parameters
    values = {path: value for path, value in values_given.items() if path in parameter_by_path}
    network_points = network_layout.network_points(network_layout.columns(values))
    return not network_points.network.has_known_phases.all()


def _layout_and_points(
    model: QueueingNetwork, values: Mapping[str, float] | None
) -> tuple[NetworkLayout, NetworkPoints]:
    """Return the compiled layout of a network, and its numbers at one point; raise if a chain
    cannot take the network.
    """
    known_constructs = KNOWN_OF_NETWORKS[MARKOV_CHAIN] - LOWERED
    refuse_unknown(model.constructs, MARKOV_CHAIN, known_constructs, KNOWN_OF_NETWORKS)
    network_layout = NetworkLayout(model)
    _check_parameters(model, values or {}, network_layout)
    network_points = network_layout.network_points(network_layout.columns(values or {}))
    if reason_by_point := reasons_unsolvable(network_points):
        raise NoAnswerError(reason_by_point[0])
    return network_layout, network_points


def _check_parameters(
    model: QueueingNetwork | Model,
    values: Mapping[str, float],
    compiled_model: NetworkLayout | ActivityForm,
) -> None:
    """Raise if the name of a value is not the name of a parameter of the model."""
    for name in values:
        if name not in compiled_model.tape.parameters:
            raise ModelError(f"{model.name} has no parameter {name!r} to look at on its way")


def _followed_customer_limit(
    network_points: NetworkPoints, most_customers: int | None, most_states: float | None
) -> int | None:
    """Return the largest number of customers of streams that the chain follows; None if capacities
    limit their number.
    """
    if most_customers is not None or network_points.network.all_closed:
        return most_customers
    return solve_by_class(network_points, most_states, BEFORE_STEADY_STATE).truncation[0] or None
