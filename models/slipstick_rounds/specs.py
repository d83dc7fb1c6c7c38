"""Files of servers that work in rounds: the format, and the model that a file describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning, ModelFaultsError, SpecError
from slipstick.expression.nodes import COUNT, RATE, TIME, Dimension, Expr, Number, zero
from slipstick.model.requirement import Requirement
from slipstick.schema.kinds.activity import RequirementSpec
from slipstick.schema.kinds.constraints import Name, Note, broken_rule
from slipstick.schema.kinds.quantity import (
    PARAMETERS_IN_WORDS,
    AnyQuantity,
    Formula,
    Given,
    ModelFileSpec,
    Quantity,
    QuantityReader,
    Spec,
    TimeOrFormula,
)
from slipstick.schema.kinds.resources import Word
from slipstick.schema.text import Node
from slipstick_rounds import model as rounds

UnitsFormula = Annotated[Given | Formula, Quantity(COUNT, formula=True)]
WholeCount = Annotated[Given | Formula, Quantity(COUNT, whole=True, least=1.0, formula=True)]
ArrivalRate = Annotated[Given | Formula, Quantity(RATE, formula=True)]


class CustomersSpec(Spec):
    """Keys of the customers: a closed population, or a Poisson stream."""

    population: WholeCount | None = Field(None, description="number of customers")
    think_time: TimeOrFormula | None = Field(
        None, description="mean time from the end of a visit to the next one, exponential"
    )
    visits: WholeCount | None = Field(
        None,
        description=KeyMeaning.of(
            "number of visits of each customer in a run that ends",
            "all customers begin together. By default the run has no end",
        ),
    )
    arrivals: ArrivalRate | None = Field(None, description="rate of a Poisson stream of customers")

    delay: TimeOrFormula | None = Field(
        None,
        description="mean time of a visit before it reaches the server",
    )
    delay_scv: UnitsFormula | None = Field(
        None,
        description=KeyMeaning.of(
            ("squared coefficient of variation of the delay, with a gamma distribution"),
            "by default the delay is constant",
        ),
    )

    def check_rules(self) -> None:
        if self.population is not None and self.arrivals is not None:
            raise broken_rule(
                "there are arrivals as well; where the extended file has them, write arrivals: null"
                " beside the population, or population: null beside arrivals",
                "population",
            )
        if self.population is None and self.arrivals is None:
            raise broken_rule("give either a population or arrivals", "population")
        if self.arrivals is not None and (self.think_time is not None or self.visits is not None):
            raise broken_rule(
                "think_time and visits belong to a population; a customer that arrives comes once;"
                " where the extended file has them, write think_time: null and visits: null",
                "arrivals",
            )
        if self.delay_scv is not None and self.delay is None:
            raise broken_rule("delay_scv says how the delay varies; give the delay", "delay_scv")


class RoundPhaseSpec(Spec):
    """Keys of one phase of each customer."""

    work: UnitsFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "units of work of a customer", "with least, the largest number of them"
        ),
    )
    least: UnitsFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "smallest number of units", "the work is then a random whole number from least to work"
        ),
    )
    samples: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = Field(
        None,
        min_length=1,
        description=(
            "measured units of work, in place of work and least; all are equally likely and"
            " independent of other phases"
        ),
    )
    piece: UnitsFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "largest number of units that one round does for a customer",
            "by default limited by the budget only",
        ),
    )

    ends: Note = Field(
        "",
        description=(
            "what customers do at the end of the phase, for reports, such as: get their first token"
        ),
    )
    unit: Note = Field("", description="noun of a unit of work, for reports, such as token")

    def check_rules(self) -> None:
        if self.work is None and not self.samples:
            raise broken_rule("give work, or samples of it", "work")

    def build(self, label: str, quantity_reader: QuantityReader) -> rounds.RoundPhase:
        """Build the phase from its expressions, which are read at their places in the file."""

        def read(key: str) -> Expr | None:
            """Return the expression of a key; None if the file does not state it."""
            value = getattr(self, key)
            return (
                None
                if value is None
                else quantity_reader.expr(value, ("phases", label, key), COUNT)
            )

        piece = read("piece")
        ends, unit = self.ends, self.unit
        if self.samples:
            largest_and_least = Number(max(self.samples)), Number(min(self.samples))
            return rounds.RoundPhase(*largest_and_least, piece, tuple(self.samples), ends, unit)
        work = read("work")
        assert work is not None
        return rounds.RoundPhase(work, read("least"), piece, ends=ends, unit=unit)


class BatchServerSpec(ModelFileSpec):
    """A server that works in rounds: each round serves all waiting customers together."""

    version: Literal[1] = Field(alias="batch-server", description="version of this format")
    parameters: dict[Word, AnyQuantity] = Field({}, description=PARAMETERS_IN_WORDS)
    customers: CustomersSpec = Field(description="the customers")
    phases: dict[Word, RoundPhaseSpec] = Field(
        description="phases of every customer, in order", min_length=1
    )
    round: dict[Name, TimeOrFormula] = Field(
        description=(
            "parts of the time of a round, which are added. Each is arithmetic on parameters,"
            " served.PHASE (customers in the round), units.PHASE (work done in it), products.PHASE"
            " (sum over customers of units done times units held) and held (units done before for"
            " all present)"
        ),
        min_length=1,
    )
    budget: UnitsFormula | None = Field(
        None, description=("largest number of units of work in one round")
    )
    order: Literal["later-phases", "earlier-phases"] = Field(
        "later-phases",
        description=(
            "which customers get the budget of a round first: those in later phases, or those in"
            " earlier ones; within a phase, in the order of admission"
        ),
    )
    places: WholeCount | None = Field(
        None, description=KeyMeaning.of("largest number of customers at the server", "others wait")
    )
    memory: UnitsFormula | None = Field(
        None,
        description=KeyMeaning.of(
            ("largest number of units that all customers at the server hold together"),
            "others wait",
        ),
    )
    admission: Literal["reserve", "grow"] = Field(
        "reserve",
        description=(
            "reserve: a customer is admitted if all its work fits into memory; grow: if its first"
            " phase fits. When the memory is full, the customer that was admitted last goes back to"
            " the queue"
        ),
    )
    batching_delay: TimeOrFormula | None = Field(
        None, description="time for which the server waits for more customers before each round"
    )
    interval: TimeOrFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "rounds begin at multiples of this time",
            "by default one round follows the other at once",
        ),
    )
    requires: dict[Name, RequirementSpec] = Field(
        {}, description="conditions on parameters and on the machine, by name"
    )

    def build(self, name: str, tree: Node, parameters: Mapping[str, Expr]) -> rounds.BatchServer:
        """Build the model of a checked file.

        Parameters
        ----------
        name : of the model
        tree : where everything is written
        parameters : every quantity of the file, by path (``customers.population``)

        Raises
        ------
        SpecError : everything that is wrong with the model
        """
        quantity_reader = QuantityReader(tree, self.parameters, parameters)

        def read(key: str, dimension: Dimension) -> Expr | None:
            """Return the expression of a key; None if the file does not state it."""
            value = getattr(self, key)
            return None if value is None else quantity_reader.expr(value, (key,), dimension)

        phases = {label: spec.build(label, quantity_reader) for label, spec in self.phases.items()}
        customers = self._customers(quantity_reader)
        budget, places, memory = (read(key, COUNT) for key in ("budget", "places", "memory"))
        batching_delay, interval = (
            read(key, TIME) or zero(TIME) for key in ("batching_delay", "interval")
        )
        requires = self._conditions_of_model(quantity_reader)
        quantity_reader.add_names(rounds.state_parameters(phases))
        round_time = {
            label: quantity_reader.expr(spec, ("round", label), TIME)
            for label, spec in self.round.items()
        }
        amount_reader = QuantityReader(tree, self.parameters, parameters)
        mean_parameter_by_name = rounds.mean_parameters(phases)
        rate_by_written_name = {
            f"unit_rate[{label}]": mean_parameter_by_name[f"unit_rate.{label}"] for label in phases
        }
        amounts = amount_reader.amount_expressions(
            self.amounts, {**mean_parameter_by_name, **rate_by_written_name}
        )
        if problems := [*quantity_reader.problems, *amount_reader.problems]:
            raise SpecError(problems)
        try:
            return rounds.BatchServer(
                name,
                customers,
                phases,
                round_time,
                budget=budget,
                places=places,
                memory=memory,
                reserved=self.admission == "reserve",
                batching_delay=batching_delay,
                interval=interval,
                earlier_first=self.order == "earlier-phases",
                amounts=amounts,
                left_out=self.losses,
                requires=requires,
            )
        except ModelFaultsError as error:
            for fault in error.faults:
                quantity_reader.report_problem(fault.path, fault.message, fault.is_at_key)
            raise SpecError(quantity_reader.problems) from None

    def _conditions_of_model(self, quantity_reader: QuantityReader) -> tuple[Requirement, ...]:
        """Return the conditions that the model must meet."""
        return tuple(
            Requirement(
                label,
                quantity_reader.parse_condition(spec.that, ("requires", label, "that")),
                spec.that,
                spec.says,
            )
            for label, spec in self.requires.items()
        )

    def _customers(
        self, quantity_reader: QuantityReader
    ) -> rounds.ClosedCustomers | rounds.OpenCustomers:
        """Build the customers, a closed population or a Poisson stream."""
        spec = quantity_reader.field_values(self.customers, ("customers",))
        if "arrivals" in spec:
            return rounds.OpenCustomers(**spec)
        return rounds.ClosedCustomers(**spec)
