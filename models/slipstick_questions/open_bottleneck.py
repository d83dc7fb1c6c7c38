"""Bottlenecks of open models: the resource with the largest utilization, the largest arrival rate
that all resources carry, and what limits it next.

By the utilization law, U = X D, each resource is busy for the rate X times the service demand D of
a customer per server, whatever the customers wait. A lock is held at least for what is done under
it, so that its limit may be reached earlier.

Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.late import Array, dataclass, np, replace
from slipstick.method.bounds import CompiledBounds
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.bounds import CompiledNetworkBounds
from slipstick.model.network import OpenClass, QueueingNetwork
from slipstick.model.steps import HELD, SERVED
from slipstick.model.system import Model
from slipstick.queueing.bounds import full_speed_demands
from slipstick.report.formatting import as_percent, join_phrases, percent, value_amount
from slipstick.results.question import ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.results.words import NO_WORDS, Words
from slipstick.structure.work import demands, held_times
from slipstick.vocabulary import BOUNDS

_ROUNDING = 1e-9  # relative difference of values that rounding leaves
_MOST_RESOURCES = 8


@dataclass(frozen=True, slots=True)
class OpenBottleneck:
    """The bottleneck of one case with arrivals.

    Parameters
    ----------
    case : its name
    rate : arrivals of all streams together [1/s]
    demands : service demand of a customer per server of each resource, as the mean over the streams
        [s]
    throughput : name of the throughput, of the only class if there is one
    has_mix : there are several streams, so that limits hold for their present mix
    is_exact : no resource is held, so that all limits are exact

    >>> bottleneck = OpenBottleneck("base", 50.0, {"cpu": 10e-3, "disk": 8e-3})
    >>> bottleneck.names, bottleneck.largest_rate, bottleneck.utilization("cpu")
    (('cpu',), 100.0, 0.5)
    >>> bottleneck.with_twice_the_capacity.names, bottleneck.with_twice_the_capacity.largest_rate
    (('disk',), 125.0)
    """

    case: str
    rate: float
    demands: Mapping[str, float]
    throughput: str = "throughput"
    has_mix: bool = False
    is_exact: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The resources with the largest demand; several if their demands are equal."""
        largest = max(self.demands.values()) * (1 - _ROUNDING)
        return tuple(name for name, demand in self.demands.items() if demand >= largest)

    @property
    def largest_rate(self) -> float:
        """The largest arrival rate that all resources carry [1/s]."""
        return 1.0 / max(self.demands.values())

    def utilization(self, name: str) -> float:
        """Return the service that the arrivals ask of a resource, over what it can give [1]."""
        return self.rate * self.demands[name]

    @property
    def with_twice_the_capacity(self) -> OpenBottleneck:
        """The case with twice the capacity of its bottleneck."""
        demands_after = {
            name: demand / 2 if name in self.names else demand
            for name, demand in self.demands.items()
        }
        return replace(self, demands=demands_after)

    def headline(self, case_title: str, words: Words) -> str:
        """Return a sentence on the bottleneck, its utilization, the largest arrival rate, and what
        limits it next.
        """
        next_bottleneck = self.with_twice_the_capacity
        limit, next_limit, rate = (
            words.rate_with_noun(self.throughput, value_amount(self.throughput, number, "1/s"))
            for number in (self.largest_rate, next_bottleneck.largest_rate, self.rate)
        )
        names, next_names = (
            join_phrases([words.resource(name) for name in bottleneck.names])
            for bottleneck in (self, next_bottleneck)
        )
        are_several = len(self.names) > 1
        mix = " in the present mix" if self.has_mix else ""
        load = self.utilization(self.names[0])
        load_text = f"{'are' if are_several else 'is'} {percent(load)} utilized with {rate}"
        if load >= 1:
            load_text = (
                f"{'are' if are_several else 'is'} asked for {percent(load)} of what"
                f" {'they' if are_several else 'it'} can give, by {rate}"
            )
        beginning = f"{case_title}: {names}" if case_title else names
        next_text = f"{next_names} would limit it to {next_limit}"
        if set(next_bottleneck.names) & set(self.names):
            next_text = f"the limit would be {next_limit}"
        return (
            f"{beginning} {'limit' if are_several else 'limits'}"
            f" the {words.value(self.throughput)} to {limit}{mix}, and {load_text};"
            f" with twice {'their' if are_several else 'its'} capacity, {next_text}"
        )

    def sentence(self) -> str:
        """Return the headline with the names of the model."""
        return self.headline(self.case, NO_WORDS)

    def table(self) -> ResultTable:
        """Return a table of the resources by decreasing demand."""
        names = sorted(self.demands, key=lambda name: -self.demands[name])
        rates = [1.0 / self.demands[name] for name in names]
        columns = [
            ResultColumn("case", [self.case] * len(names), place=True),
            ResultColumn("resource", names, place=True),
            ResultColumn("D", [self.demands[name] for name in names], "s"),
            ResultColumn(
                "utilization",
                [self.utilization(name) for name in names],
                "1",
                written=as_percent,
            ),
            ResultColumn("largest_rate", rates, "1/s", title="carries at most"),
        ]
        answer = Answer("", method=BOUNDS, exact=self.is_exact)
        return ResultTable(
            "bottleneck",
            columns,
            Provenance.of([answer] * len(names)),
            rows=range(min(len(names), _MOST_RESOURCES)),
        )


def has_arrivals_alone(model: object) -> bool:
    """Return whether all customers of a model arrive and leave."""
    if isinstance(model, QueueingNetwork):
        return bool(model.classes) and all(
            isinstance(customer_class, OpenClass) for customer_class in model.classes.values()
        )
    return isinstance(model, Model) and model.population.open


def reason_without_open_bottleneck(model: object) -> str:
    """Return the reason why the utilization law gives no bottleneck of an open model; empty if it
    gives one.
    """
    try:
        bottleneck = open_bottleneck("", model)
    except NoAnswerError as error:
        return f"has no bottleneck by the utilization law: {error}"
    return "" if bottleneck.demands else "asks no resource for service, so nothing limits it"


def open_bottleneck(case: str, model: object) -> OpenBottleneck:
    """Compute the bottleneck of a case with arrivals at its own values.

    Raises
    ------
    NoAnswerError : the model has parts that the utilization law does not cover
    """
    if isinstance(model, QueueingNetwork):
        return _bottleneck_of_network(case, model)
    assert isinstance(model, Model)
    return _bottleneck_of_model(case, model)


def _bottleneck_of_network(case: str, model: QueueingNetwork) -> OpenBottleneck:
    """Compute the bottleneck of a queueing network with open classes."""
    CompiledNetworkBounds(model)  # refuses what it does not cover
    layout = NetworkLayout(model)
    network = layout.network_points(layout.columns({})).network
    if network.loss_reason:
        raise NoAnswerError(f"{network.loss_reason}, so that fewer are served than arrive")
    _, demand_at_full_speed = full_speed_demands(network)
    demands_by_class = demand_at_full_speed[0].real
    names = [
        name
        for name, is_delay in zip(layout.stations, network.is_delay, strict=True)
        if not is_delay
    ]
    throughput = f"throughput[{next(iter(model.classes))}]" if len(model.classes) == 1 else ""
    columns = demands_by_class[:, ~np.asarray(network.is_delay, dtype=bool)]
    return _bottleneck_of_streams(
        case, network.arrivals[0].real, columns, names, throughput=throughput or "throughput"
    )


def _bottleneck_of_model(case: str, model: Model) -> OpenBottleneck:
    """Compute the bottleneck of activities that streams of customers execute."""
    CompiledBounds(model)  # refuses what it does not cover
    resource_names = [
        name for name, resource in model.resources.items() if resource.use in (SERVED, HELD)
    ]
    expressions: list[Expr] = [model.resources[name].full_speed for name in resource_names]
    used_names = set[str]()
    for rate, cycle in model.population.streams:
        work_by_name = demands(cycle, model) | held_times(cycle, model)
        used_names |= work_by_name.keys()
        expressions += [rate, *(work_by_name.get(name, 0 * rate**-1) for name in resource_names)]
    numbers = [float(column[0]) for column in Tape(expressions).run({})]
    count = len(resource_names)
    speeds, per_stream = np.array(numbers[:count]), np.array(numbers[count:]).reshape(-1, 1 + count)
    return _bottleneck_of_streams(
        case,
        per_stream[:, 0],
        per_stream[:, 1:] / speeds,
        resource_names,
        is_exact=not any(
            model.resources[name].use == HELD for name in resource_names if name in used_names
        ),
    )


def _bottleneck_of_streams(
    case: str,
    rates: Array,
    demands_by_stream: Array,
    names: Sequence[str],
    is_exact: bool = True,
    throughput: str = "throughput",
) -> OpenBottleneck:
    """Return the bottleneck of several streams in their present mix.

    Parameters
    ----------
    case : its name
    rates : arrivals of each stream [streams, 1/s]
    demands_by_stream : per server of each resource [streams, resources, s]
    names : of the resources
    is_exact : whether no resource is held
    throughput : its name
    """
    total_rate = float(rates.sum())
    weights = rates / total_rate if total_rate else np.full(len(rates), 1.0 / len(rates))
    mean_demands = (weights @ demands_by_stream).tolist()
    return OpenBottleneck(
        case,
        total_rate,
        {name: demand for name, demand in zip(names, mean_demands, strict=True) if demand > 0},
        throughput,
        has_mix=len(rates) > 1,
        is_exact=is_exact,
    )
