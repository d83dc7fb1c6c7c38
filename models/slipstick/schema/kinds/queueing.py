"""Queueing-network files: classes of customers, stations, and the ways between them, as YAML."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from slipstick.errors import Fault
from slipstick.expression.dimension import COUNT, RATE
from slipstick.schema.kinds.activity import Probability, Word
from slipstick.schema.kinds.quantity import (
    ONE,
    AnyQuantity,
    CountFormula,
    Described,
    Formula,
    Given,
    Name,
    Quantity,
    Spec,
    TimeFormula,
    Whole,
    broken_rule,
    one_of,
)
from slipstick.schema.kinds.unknown_names import unknown_names
from slipstick.vocabulary import BLOCKING, DISCIPLINES, NETWORK_DISCIPLINES, in_words

Population = Annotated[Given | Formula, Quantity(COUNT, whole=True, formula=True)]
Arrivals = Annotated[Given | Formula, Quantity(RATE, formula=True)]
Speed = Annotated[Given | Formula, Quantity(COUNT, least=None, above=0.0, formula=True)]

Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]
"""A class at a station."""

Target = Annotated[
    Annotated[Pair, Tag("place")] | Annotated[Literal["out"], Tag("out")],
    Discriminator(lambda value: "out" if isinstance(value, str) else "place"),
]


class MembersSpec(Spec):
    """Who is in a class or a chain: a closed population, or arrivals."""

    population: Population | None = Field(None, description="how many customers go round for ever")
    think_time: TimeFormula | None = Field(None, description="time away from all stations in each cycle")
    arrivals: Arrivals | None = Field(None, description="rate of customers who come, go through once and leave")

    @model_validator(mode="after")
    def _open_or_closed(self) -> MembersSpec:
        if self.population is not None and self.arrivals is not None:
            raise broken_rule("closed with a population, or open with arrivals; give one of them", "arrivals")
        if self.think_time is not None and self.population is None:
            raise broken_rule("a think time goes with a population: who arrives does not think", "think_time")
        return self


class ClassSpec(MembersSpec):
    """One class; a class of a chain says nothing here."""


class QueueSpec(Spec):
    """One station."""

    discipline: Annotated[str, one_of(DISCIPLINES)] = Field("fcfs", description=in_words(NETWORK_DISCIPLINES))
    servers: Whole = Field(ONE, description="how many serve at the same time")
    demand: dict[Name, TimeFormula] = Field(default_factory=dict, description="service in a whole cycle")
    service: dict[Name, TimeFormula] = Field(
        default_factory=dict, description="mean service time of a visit; in the place of a demand"
    )
    visits: dict[Name, CountFormula] = Field(default_factory=dict, description="visits in a cycle; 1 by default")
    rates: list[Speed] | None = Field(
        None, description="speed with 1, 2, 3 ... customers present; the last holds for more", min_length=1
    )
    scv: dict[Name, CountFormula] = Field(
        default_factory=dict,
        description="squared coefficient of variation of the service time; 1, exponential, by default",
    )
    capacity: Whole | None = Field(None, description="most customers present; who arrives then is lost, or blocked")
    blocking: Annotated[str, one_of(BLOCKING)] = Field(
        "loss",
        description="what becomes of a customer on the way to a full station; an arrival from outside is lost in any case; "
        + "; ".join(f"{name}: {title}" for name, title in BLOCKING.items()),
    )
    priority: dict[Name, int] = Field(default_factory=dict, description="rank by class; the smaller goes first")


class ChainSpec(MembersSpec):
    """Classes that customers change between."""

    classes: list[Name] = Field(description="the classes", min_length=1)
    reference: Pair = Field(description="class and station where a cycle begins, or where customers arrive")

    @model_validator(mode="after")
    def _populated(self) -> ChainSpec:
        if self.population is None and self.arrivals is None:
            raise broken_rule("say who is in the chain: population or arrivals")
        return self


class RouteSpec(Spec):
    """One way from station to station."""

    source: Pair = Field(alias="from", description="class and station that are left")
    to: Target = Field(description="class and station that come next; out leaves the network")
    probability: Probability = Field(description="share of those who leave that go this way")


class QueueingNetworkSpec(Described):
    """A queueing network written as a file."""

    @classmethod
    def astray(cls, data: object) -> list[Fault]:
        """Find classes and stations that are not there."""
        return unknown_names(data)

    version: Literal[1] = Field(alias="queueing-network", description="version of this format")
    parameters: dict[Word, AnyQuantity] = Field(
        default_factory=dict, description="named quantities, or arithmetic on earlier ones, for use in times and counts"
    )
    classes: dict[Name, ClassSpec] = Field(default_factory=dict, description="customers by class")
    chains: dict[Name, ChainSpec] = Field(
        default_factory=dict, description="groups of classes that customers change between by routing"
    )
    stations: dict[Name, QueueSpec] = Field(description="stations by name")
    routing: list[RouteSpec] = Field(
        default_factory=list, description="the ways of the classes in chains; those out of each place add up to 1"
    )

    @model_validator(mode="after")
    def _every_class_has_customers(self) -> QueueingNetworkSpec:
        chained: set[Any] = {name for chain in self.chains.values() for name in chain.classes}
        for name, each in self.classes.items():
            if each.population is None and each.arrivals is None and name not in chained:
                raise broken_rule("say who is in the class: population or arrivals", "classes", name)
        return self
