"""Queueing-network files: the format, how a file is read as a network, and how a network is written
as a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Discriminator, Field, Tag

from slipstick.errors import Fault, KeyMeaning, ModelError, ModelFaultsError, SpecError
from slipstick.expression.nodes import COUNT, Expr, Number
from slipstick.extensions import FUNCTIONS
from slipstick.method.names import value_parameters
from slipstick.model import network as networks
from slipstick.model.network import unknown_class_message, unknown_station_message
from slipstick.schema.arrivals import StreamSpec, pattern_data
from slipstick.schema.kinds.constraints import Name, broken_rule, known_word, one_of
from slipstick.schema.kinds.distribution import (
    TimeOrDistribution,
    distribution_of,
    refuse_scv,
    time_as_data,
)
from slipstick.schema.kinds.quantity import (
    ONE,
    PARAMETERS_IN_WORDS,
    RATES_IN_WORDS,
    WEIGHT_IN_WORDS,
    AnyQuantity,
    Capacity,
    CountFormula,
    Formula,
    Given,
    Location,
    ModelFileSpec,
    Quantity,
    QuantityReader,
    QuantityWriter,
    Rates,
    Servers,
    Spec,
    TimeOrFormula,
    Weight,
)
from slipstick.schema.kinds.resources import (
    BALKING_IN_WORDS,
    BREAKDOWN_IN_WORDS,
    FINISH_IN_WORDS,
    FINISH_WITHOUT_ABSENCE,
    NOT_OF_STATION,
    SCHEDULE_IN_WORDS,
    SERVERS_BY_SCHEDULE,
    BreakdownSpec,
    BreakerSpec,
    Probability,
    ShiftSpec,
    Word,
    finishing_stations,
    schedules_of,
)
from slipstick.schema.text import Node
from slipstick.time_distributions import TimeDistribution
from slipstick.vocabulary import (
    BLOCKING,
    DISCIPLINES,
    REGION_BLOCKING,
    ROUTES,
    STATION_DISCIPLINES,
    WAIT,
)

Population = Annotated[Given | Formula, Quantity(COUNT, whole=True, formula=True)]

Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]
"""A class at a station."""

Target = Annotated[
    Annotated[Pair, Tag("place")] | Annotated[Literal["out"], Tag("out")],
    Discriminator(lambda value: "out" if isinstance(value, str) else "place"),
]


class ClosedSpec(Spec):
    """Keys of a closed population: the number of customers and their think time."""

    hints: ClassVar[Mapping[str, str]] = {"rate": "write arrivals"}

    population: Population | None = Field(
        None, description=("number of customers, which stay in the network (a closed class)")
    )
    think_time: TimeOrFormula | None = Field(
        None, description="mean time that a customer spends outside all stations in each cycle"
    )


class MembersSpec(StreamSpec, ClosedSpec):
    """The customers of a class or a chain: a closed population, or arrivals."""

    stream = "an open class"

    @property
    def has_customers(self) -> bool:
        """Whether the class or chain states a number of customers or their arrivals."""
        return any(value is not None for value in (self.population, self.arrivals, self.trace))

    def check_rules(self) -> None:
        if self.population is not None and self.arrivals is not None:
            raise broken_rule(
                "closed with a population, or open with arrivals; give one of them", "arrivals"
            )
        super().check_rules()
        if self.think_time is not None and self.population is None:
            raise broken_rule(
                "a think time belongs to a closed class; an open class has none", "think_time"
            )


class ClassSpec(MembersSpec):
    """A class of customers. A class that belongs to a chain has no keys here."""

    example: ClassVar[str] = "{arrivals: 8 /s}"


Retries = Annotated[int, Field(ge=1, le=networks.MOST_RETRIES)]


class QueueSpec(Spec):
    """A station with its servers, its queue and its service times."""

    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("delay", "think_time", "time"),
            "a station without a queue is {discipline: is, service: {CLASS: TIME}}",
        ),
        "breaker": "a circuit breaker is {breakers: {NAME: {breaker: 5, open: 30 s, stations:"
        " [STATION]}}}",
        **dict.fromkeys(
            ("limits", "doubling"),
            "networks have no limits of a service and no pauses that double; write an activity,"
            " whose step attempt has them",
        ),
        **dict.fromkeys(
            ("batch", "batch_size", "bulk"),
            "customers that arrive together are batch of a class; a server that serves several"
            " together is a file of the kind batch-server",
        ),
        **dict.fromkeys(
            ("setup", "setup_time", "cold_start", "vacation"),
            "times before a server begins cannot be written; breakdown and schedule take servers"
            " away",
        ),
        **dict.fromkeys(
            ("queue", "places", "buffer", "queue_limit", "max_queue"),
            "write capacity, the number of places, with those in service",
        ),
        **dict.fromkeys(("reneging", "abandonment", "max_wait"), "write patience or timeout"),
    }
    keyed_by: ClassVar[str] = "CLASS"

    discipline: Annotated[str, known_word(DISCIPLINES)] = Field(
        "fcfs", description=STATION_DISCIPLINES.in_words
    )
    servers: Servers = Field(
        ONE, description=("number of customers that are served at the same time")
    )
    demand: dict[Name, TimeOrDistribution] = Field(
        {}, description=("total service time of a customer in a cycle")
    )
    service: dict[Name, TimeOrDistribution] = Field(
        {},
        description=KeyMeaning.of(
            "mean service time of a visit", "or its distribution, in place of a demand"
        ),
    )
    visits: dict[Name, CountFormula] = Field(
        {},
        description=KeyMeaning.of(
            "mean number of visits in a cycle",
            "1 by default; a number V above 1 varies: after each visit, the probability of one"
            " more is 1 - 1/V. Steps of an activity state a fixed number",
        ),
    )
    rates: Rates | None = Field(None, description=RATES_IN_WORDS, min_length=1)
    scv: dict[Name, CountFormula] = Field(
        {},
        description=KeyMeaning.of(
            "squared coefficient of variation of the service time", "1 (exponential) by default"
        ),
    )
    capacity: Capacity | None = Field(
        None,
        description=KeyMeaning.of(
            "largest number of customers at the station", "a further arrival is lost or blocked"
        ),
    )
    blocking: Annotated[str, one_of(BLOCKING)] = Field(
        "loss",
        description=(
            "what happens to a customer on the way to a full station; an arrival from outside is"
            " always lost; "
        )
        + "; ".join(f"{name}: {title}" for name, title in BLOCKING.items()),
    )
    priority: dict[Name, int] = Field(
        {}, description=("rank of each class; smaller ranks are served first")
    )
    weight: dict[Name, Weight] = Field({}, description=WEIGHT_IN_WORDS)
    patience: dict[Name, TimeOrFormula] = Field(
        {},
        description="mean time after which a waiting customer abandons the queue, exponential",
    )
    timeout: dict[Name, TimeOrFormula] = Field(
        {},
        description="constant time after which a waiting customer abandons the queue",
    )
    retries: dict[Name, Retries] = Field(
        {},
        description=(
            "number of further tries of a customer that abandons the queue or finds the station"
            " full; 0 by default"
        ),
    )
    back_off: dict[Name, TimeOrFormula] = Field(
        {},
        description=KeyMeaning.of(
            "mean pause before a further try, exponential", "no pause by default"
        ),
    )
    balking: dict[Name, list[Probability]] = Field({}, description=BALKING_IN_WORDS)

    breakdown: BreakdownSpec | None = Field(None, description=BREAKDOWN_IN_WORDS)
    schedule: list[ShiftSpec] | None = Field(None, description=SCHEDULE_IN_WORDS, min_length=1)
    finish_service: bool = Field(False, description=FINISH_IN_WORDS)

    @property
    def distributions(self) -> dict[str, TimeDistribution]:
        """The distributions of service times that name one, by class."""
        time_by_class = {**self.demand, **self.service}
        return {
            class_name: distribution
            for class_name, time_or_distribution in time_by_class.items()
            if (distribution := distribution_of(time_or_distribution)) is not None
        }

    @property
    def default_variations(self) -> list[str]:
        """List how the service time of each class varies by default; an empty text for a class
        whose distribution or scv is stated.
        """
        described_classes = {*self.scv, *self.distributions}
        return [
            "" if class_name in described_classes else "exponential"
            for class_name in {**self.demand, **self.service}
        ]

    def check_rules(self) -> None:
        for name in self.distributions:
            if name in self.scv:
                refuse_scv("scv", name)
        if self.schedule and self.servers != ONE:
            raise broken_rule(SERVERS_BY_SCHEDULE, "servers")
        if self.finish_service and not (self.schedule or self.breakdown):
            raise broken_rule(FINISH_WITHOUT_ABSENCE, "finish_service")


class ChainSpec(MembersSpec):
    """Classes between which customers change."""

    classes: list[Name] = Field(description="names of the classes", min_length=1)
    reference: Pair = Field(
        description="class and station at which a cycle begins, or at which customers arrive"
    )

    def check_rules(self) -> None:
        super().check_rules()
        if not self.has_customers:
            raise broken_rule("give the chain a population or arrivals")


class RegionSpec(Spec):
    """Stations with a common limit on the number of customers."""

    hints: ClassVar[Mapping[str, str]] = {"permits": "write capacity", "limit": "write capacity"}

    stations: list[Name] = Field(
        description=(
            "names of the stations; a customer gives its place back when it leaves for a station"
            " outside, or when its cycle ends"
        ),
        min_length=1,
    )
    capacity: Capacity = Field(
        description=(
            "largest number of customers at these stations together, including those in queues"
        )
    )
    blocking: Annotated[str, one_of(REGION_BLOCKING)] = Field(
        WAIT,
        description="what happens to a customer that arrives at the full region; "
        + "; ".join(f"{name}: {title}" for name, title in REGION_BLOCKING.items()),
    )


class GuardSpec(BreakerSpec):
    """A circuit breaker that may refuse customers on their way to stations. A visit fails if it
    finds the station full, or abandons its queue.
    """

    stations: list[Name] = Field(
        description="names of the guarded stations; a customer that the breaker refuses is lost",
        min_length=1,
    )


class RouteSpec(Spec):
    """A route of customers from one station to the next."""

    source: Pair = Field(alias="from", description="class and station that the customer leaves")
    to: Target = Field(
        description=(
            "class and station that come next; out means that the customer leaves the network"
        )
    )
    probability: Probability | None = Field(
        None, description="fraction of the departures that take this route"
    )
    by: Annotated[str, one_of(ROUTES)] | None = Field(
        None,
        description="how the next station is chosen, in place of probabilities, for all routes out"
        " of a place; " + "; ".join(f"{name}: {title}" for name, title in ROUTES.items()),
    )

    def check_rules(self) -> None:
        if (self.probability is None) == (self.by is None):
            raise broken_rule("give a route its probability, or by: a rule", "probability")


class QueueingNetworkSpec(ModelFileSpec):
    """A queueing network: stations, and customers that move between them."""

    @classmethod
    def undefined_names(cls, data: object) -> list[Fault]:
        """List the classes and stations that are named but not defined."""
        return unknown_names(data)

    version: Literal[1] = Field(alias="queueing-network", description="version of this format")
    parameters: dict[Word, AnyQuantity] = Field({}, description=PARAMETERS_IN_WORDS)
    classes: dict[Name, ClassSpec] = Field({}, description="classes of customers by name")
    chains: dict[Name, ChainSpec] = Field(
        {}, description="groups of classes between which customers change, by name"
    )
    stations: dict[Name, QueueSpec] = Field(description="stations by name")
    routing: list[RouteSpec] = Field(
        [],
        description=(
            "routes of the classes in chains; the probabilities of all routes from one place add up"
            " to 1"
        ),
    )
    regions: dict[Name, RegionSpec] = Field(
        {},
        description=("groups of stations with a common limit on the number of customers, by name"),
    )
    breakers: dict[Name, GuardSpec] = Field({}, description="circuit breakers of stations, by name")

    def check_rules(self) -> None:
        chain_classes: set[Any] = {name for chain in self.chains.values() for name in chain.classes}
        for name, class_spec in self.classes.items():
            if not class_spec.has_customers and name not in chain_classes:
                raise broken_rule("give the class a population or arrivals", "classes", name)

    def build(
        self, name: str, tree: Node, parameters: Mapping[str, Expr]
    ) -> networks.QueueingNetwork:
        """Build the model of a checked file.

        Parameters
        ----------
        name : of the model
        tree : where everything is written
        parameters : every quantity of the file, by path (``stations.cpu.demand.jobs``)

        Raises
        ------
        SpecError : everything that is wrong with the network
        """
        quantity_reader = QuantityReader(tree, self.parameters, parameters)

        network_parts = self._build_parts(quantity_reader)
        network = None
        try:
            network = networks.QueueingNetwork(name, **network_parts, left_out=self.losses)
            network = self._with_breakdowns(network, quantity_reader)
            if schedules := schedules_of(self.stations, lambda name: (name,)):
                finishing_station_names = finishing_stations(self.stations, lambda name: (name,))
                network = FUNCTIONS["network with schedules"](
                    network, schedules, finishing_station_names
                )
        except ModelFaultsError as error:
            for fault in error.faults:
                quantity_reader.report_problem(fault.path, fault.message, fault.is_at_key)
        if network is not None and self.amounts:
            amounts = quantity_reader.amount_expressions(self.amounts, value_parameters(network))
            network = replace(network, amounts={**network.amounts, **amounts})
        if quantity_reader.problems or network is None:
            raise SpecError(quantity_reader.problems)
        if quantity_reader.shaping_values.keys() & network.parameters.keys():
            # A number that shapes the model cannot vary without building it anew.
            return self.build(name, tree, {**parameters, **quantity_reader.shaping_values})
        return network

    def _with_breakdowns(
        self, network: networks.QueueingNetwork, quantity_reader: QuantityReader
    ) -> networks.QueueingNetwork:
        """Return a network with the breakdowns of stations that the file states; report a station
        that cannot break down.
        """
        for name, spec in self.stations.items():
            if spec.breakdown is not None:
                station_path = ("stations", name)
                breakdown = spec.breakdown.read(quantity_reader, station_path)
                finishing_station_names = {name} if spec.finish_service else set[str]()
                try:
                    network = FUNCTIONS["network with breakdowns"](
                        network, {name: breakdown}, finishing_station_names
                    )
                except ModelFaultsError:
                    raise
                except ModelError as error:
                    quantity_reader.report_problem((*station_path, "breakdown"), str(error))
        return network

    def _build_parts(self, quantity_reader: QuantityReader) -> dict[str, Any]:
        """Build the parts of the network, by the argument that takes them."""
        # A class of a chain may be listed for its name alone; its customers are those of the chain.
        chain_classes = {name for chain in self.chains.values() for name in chain.classes}
        return {
            "classes": {
                name: _build_customers(class_spec, quantity_reader, ("classes", name))
                for name, class_spec in self.classes.items()
                if class_spec.has_customers or name not in chain_classes
            },
            "stations": {
                name: networks.NetworkStation(
                    **quantity_reader.field_values(
                        station.model_copy(update=NOT_OF_STATION), ("stations", name)
                    ),
                    distribution=station.distributions,
                )
                for name, station in self.stations.items()
            },
            "chains": {
                name: networks.Chain(
                    tuple(chain.classes),
                    _build_customers(chain, quantity_reader, ("chains", name)),
                    _class_and_station(chain.reference),
                )
                for name, chain in self.chains.items()
            },
            "routing": tuple(
                _build_route(route_spec, quantity_reader, ("routing", index))
                for index, route_spec in enumerate(self.routing)
            ),
            "regions": {
                name: networks.Region(
                    **{
                        **quantity_reader.field_values(spec, ("regions", name)),
                        "stations": tuple(spec.stations),
                    }
                )
                for name, spec in self.regions.items()
            },
            "breakers": {
                name: networks.GuardedStations(
                    tuple(spec.stations), spec.build_breaker(quantity_reader, ("breakers", name))
                )
                for name, spec in self.breakers.items()
            },
        }


def _build_customers(
    spec: ClassSpec | ChainSpec, quantity_reader: QuantityReader, location: Location
) -> networks.CustomerClass:
    fields_by_key = {
        key: value
        for key, value in quantity_reader.field_values(spec, location).items()
        if key in MembersSpec.model_fields
    }
    if spec.trace is not None:
        fields_by_key["trace"] = spec.trace.numbers()
    if spec.profile is not None:
        fields_by_key["profile"] = spec.pieces()
    return (
        networks.OpenClass(**fields_by_key)
        if spec.arrivals is not None
        else networks.ClosedClass(**fields_by_key)
    )


def _build_route(
    spec: RouteSpec, quantity_reader: QuantityReader, location: Location
) -> networks.Route:
    target = None if isinstance(spec.to, str) else _class_and_station(spec.to)
    source = _class_and_station(spec.source)
    if spec.by is not None:
        return networks.Route(source, target, Number(1.0), spec.by)
    assert spec.probability is not None
    probability = quantity_reader.expr(spec.probability, (*location, "probability"), COUNT)
    return networks.Route(source, target, probability)


def _class_and_station(names: list[str]) -> networks.Place:
    return cast(networks.Place, tuple(names))


def unknown_names(data: object) -> list[Fault]:
    """List the classes and stations that a network names but does not define; the network may have
    other faults.

    Parameters
    ----------
    data : the file, as plain values
    """
    network_table = _as_table(data)
    class_table, chain_table, station_table = (
        _as_table(network_table.get(key)) for key in ("classes", "chains", "stations")
    )
    known_classes = [
        *class_table,
        *(
            str(name)
            for chain in chain_table.values()
            for name in _as_list(_as_table(chain).get("classes"))
        ),
    ]
    # Without any class the mistake is not in the names of classes.
    faults = [
        Fault(
            ("stations", name, key, class_in_key),
            unknown_class_message(class_in_key, known_classes),
            is_at_key=True,
        )
        for name, station in station_table.items()
        for key in networks.BY_CLASS
        for class_in_key in _as_table(_as_table(station).get(key))
        if known_classes and class_in_key not in known_classes
    ]
    named_parts = [
        (section, *name_and_part)
        for section in ("regions", "breakers")
        for name_and_part in _as_table(network_table.get(section)).items()
    ]
    for section, name, section_part in named_parts:
        for index, station in enumerate(_as_list(_as_table(section_part).get("stations"))):
            if station_table and isinstance(station, str) and station not in station_table:
                message = unknown_station_message(station, list(station_table))
                faults.append(Fault((section, name, "stations", index), message))
    for index, route in enumerate(_as_list(network_table.get("routing"))):
        for key in ("from", "to"):
            class_and_station = _as_list(_as_table(route).get(key))
            if (
                station_table
                and len(class_and_station) == 2
                and isinstance(class_and_station[1], str)
                and class_and_station[1] not in station_table
            ):
                faults.append(
                    Fault(
                        ("routing", index, key, 1),
                        unknown_station_message(class_and_station[1], list(station_table)),
                    )
                )
    return faults


def _as_table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def network_data(network: networks.QueueingNetwork) -> dict[str, Any]:
    """Write a network as the plain data of a queueing-network file, which reads back as an equal
    network.

    Parameters
    ----------
    network : the model

    Raises
    ------
    ModelError : a parameter has no value

    >>> from slipstick.model.network import closed_class, network, station
    >>> network_data(network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 0.005})}))[
    ...     "stations"
    ... ]
    {'cpu': {'demand': {'jobs': '0.005 s'}}}
    """
    quantity_writer = QuantityWriter()
    network, keys_of_absences = FUNCTIONS["network as written"](network)

    def customer_data(customers: networks.CustomerClass) -> dict[str, Any]:
        return pattern_data(quantity_writer.fields_as_data(customers))

    def station_data(station: networks.NetworkStation) -> dict[str, Any]:
        data = quantity_writer.fields_as_data(station)
        distributions = station.distribution
        for key in ("demand", "service"):
            for class_name, mean in getattr(station, key).items():
                if class_name in distributions:
                    data[key][class_name] = time_as_data(
                        mean, distributions[class_name], quantity_writer
                    )
                    # The distribution says the scv, and both are refused when read.
                    data["scv"].pop(class_name)
        return {key: value for key, value in data.items() if key != "distribution" and value != {}}

    data_by_section = {
        "classes": {name: customer_data(customers) for name, customers in network.classes.items()},
        "chains": {
            name: {
                "classes": list(chain.classes),
                **customer_data(chain.members),
                "reference": list(chain.reference),
            }
            for name, chain in network.chains.items()
        },
        "stations": {
            name: {**station_data(station), **keys_of_absences(name, quantity_writer)}
            for name, station in network.stations.items()
        },
        "routing": [_route_data(route, quantity_writer) for route in network.routing],
    }
    data_by_section["regions"] = {
        name: quantity_writer.fields_as_data(region) for name, region in network.regions.items()
    }
    data_by_section["breakers"] = {
        name: {
            **BreakerSpec.write(guarded_stations.breaker, quantity_writer),
            "stations": list(guarded_stations.stations),
        }
        for name, guarded_stations in network.breakers.items()
    }
    data_by_section["amounts"] = quantity_writer.amount_formulas(
        network.amounts, value_parameters(network)
    )
    left_out = dict(network.left_out)
    head_keys = {
        "queueing-network": 1,
        "left_out": left_out,
        "parameters": quantity_writer.parameters,
    }
    return {
        key: value
        for key, value in {**head_keys, **data_by_section}.items()
        if value or key == "stations"
    }


def _route_data(route: networks.Route, quantity_writer: QuantityWriter) -> dict[str, Any]:
    """Write a route as the plain data of a queueing-network file."""
    choice_data = (
        {"by": route.by}
        if route.by
        else {"probability": quantity_writer.expr_as_data(route.probability)}
    )
    target = networks.OUT if route.target is None else list(route.target)
    return {"from": list(route.source), "to": target, **choice_data}
