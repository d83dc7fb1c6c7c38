"""A server that works in rounds: what it serves, how long a round takes, and who comes.

The same model is a GPU that batches requests of a language model (a prompt, then an answer), a log
that writes all commits that wait (group commit), a stream processor that works off what came in an
interval (micro-batch), and a disk that serves its queue in one sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from slipstick.errors import Fault, ModelFaultsError
from slipstick.expression.nodes import COUNT, RATE, TIME, Expr, Parameter, parameters, zero
from slipstick.late import dataclass, field
from slipstick.model.activity import check_model_name
from slipstick.model.added import AddedModel
from slipstick.model.requirement import Requirement
from slipstick.report.formatting import with_article
from slipstick.results.words import as_words
from slipstick.vocabulary import FORMULA, SIMULATION

WORDS = "a server that works in rounds"

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""The quantiles that are computed of times, where their distributions are known."""

LOAD = "load"
"""The name of the value of a stream that is its rate times the time that a visit takes of the
fullest server, by mean rounds.
"""

WAIT, DELAY = "wait", "delay"
"""Labels of the account: waiting (for a place, for memory, for a round to begin), and the time
before a customer arrives at the server."""


@dataclass(frozen=True, slots=True)
class ClosedCustomers:
    """A fixed number of customers, each of which thinks between its visits.

    Parameters
    ----------
    population : how many there are [1]
    think_time : mean time between the end of a visit and the next arrival, exponential [s]
    visits : of each customer, in a finite run that all begin at once; None: without end [1]
    delay : time of each visit outside of the server, before it arrives there, in the mean [s]
    delay_scv : its squared coefficient of variation, of a gamma distribution; 0: constant [1]
    """

    population: Expr
    think_time: Expr = field(default_factory=lambda: zero(TIME))
    visits: Expr | None = None
    delay: Expr = field(default_factory=lambda: zero(TIME))
    delay_scv: Expr = field(default_factory=lambda: zero(COUNT))


@dataclass(frozen=True, slots=True)
class OpenCustomers:
    """A Poisson stream of customers.

    Parameters
    ----------
    arrivals : rate [1/s]
    delay, delay_scv : as of closed customers [s, 1]
    """

    arrivals: Expr
    delay: Expr = field(default_factory=lambda: zero(TIME))
    delay_scv: Expr = field(default_factory=lambda: zero(COUNT))


@dataclass(frozen=True, slots=True)
class RoundPhase:
    """A phase that every customer goes through, with the units of work that it takes.

    Parameters
    ----------
    work : units of work of a customer; with `least` the largest number of them [1]
    least : the work is a whole number from `least` to `work`, all equally likely; None: constant
        [1]
    piece : units that one round does for a customer at most; None: as many as the budget allows [1]
    samples : the work is one of these numbers, all equally likely, the largest of which is `work`
        and the smallest `least`; none: constant, or uniform [1]
    ends : what a customer does at the end of the phase, in the plural, such as get their first
        token
    unit : noun of a unit of work, such as token
    """

    work: Expr
    least: Expr | None = None
    piece: Expr | None = None
    samples: tuple[float, ...] = ()
    ends: str = ""
    unit: str = ""


STATE = ("served", "units", "products")
"""The kinds of quantities of a round that are known by phase: customers served, units of work done,
and the sum over its customers of units done times units that the customer holds by then.
"""

HELD = "held"
"""The name of the quantity of a round that is the number of units done so far for all customers
that are present.
"""


def state_parameters(phases: Mapping[str, RoundPhase]) -> dict[str, Parameter]:
    """Return, by name, the parameters that stand for the contents of a round, on which the time of
    the round may depend.

    Parameters
    ----------
    phases : by name

    >>> from slipstick.expression.nodes import Number
    >>> list(state_parameters({"commit": RoundPhase(Number(1.0))}))
    ['served.commit', 'units.commit', 'products.commit', 'held']
    """
    names = [f"{kind}.{phase}" for kind in STATE for phase in phases]
    return {name: Parameter(name, COUNT) for name in [*names, HELD]}


PRESENT, THROUGHPUT, UNIT_RATE = "present", "throughput", "unit_rate"
"""Means from which amounts are computed: customers at the server, with those that wait for a place;
the rate of visits that end; and by phase the rate of units done."""


def mean_parameters(phases: Mapping[str, RoundPhase]) -> dict[str, Parameter]:
    """Return, by name, the parameters that stand for means of an answer, from which amounts may be
    computed.

    Parameters
    ----------
    phases : by name

    >>> from slipstick.expression.nodes import Number
    >>> list(mean_parameters({"commit": RoundPhase(Number(1.0))}))
    ['present', 'throughput', 'unit_rate.commit']
    """
    rate_names = [THROUGHPUT, *(f"{UNIT_RATE}.{phase}" for phase in phases)]
    present_parameter = {PRESENT: Parameter(PRESENT, COUNT)}
    return present_parameter | {name: Parameter(name, RATE) for name in rate_names}


@dataclass(frozen=True)
class BatchServer(AddedModel):
    """The model of a server that works in rounds for all customers present, and of these customers.

    Parameters
    ----------
    name : of the model
    customers : how they come
    phases : in the order in which every customer goes through them
    round_time : parts of the time of a round, added up, by name; expressions of parameters and of
        `state_parameters` [s]
    budget : units of work in one round at most; None: no limit [1]
    places : customers that are present at most; None: no limit [1]
    memory : units that all present customers hold at most; None: no limit [1]
    reserved : a customer is admitted if all its work fits into memory; else if its first phase
        fits, and the last one is put back where memory runs full
    batching_delay : time that the server waits for more customers before each round [s]
    interval : rounds begin at multiples of it; zero: one after the other [s]
    earlier_first : the budget goes to customers in the first phase first, and else to those in
        later phases
    amounts : what follows from the means of an answer, such as a cost, by name; expressions of
        parameters and of `mean_parameters` [1]
    left_out : losses of an import by name, and what each changes
    requires : conditions on quantities of the model; a point that violates one has no answer

    Raises
    ------
    ModelFaultsError : a part is missing or does not fit

    >>> from slipstick import solve
    >>> from slipstick.expression.nodes import Number
    >>> served = state_parameters({"commit": RoundPhase(Number(1.0))})["served.commit"]
    >>> log = BatchServer(
    ...     "log",
    ...     ClosedCustomers(Number(4.0), Number(3e-3, TIME)),
    ...     {"commit": RoundPhase(Number(1.0))},
    ...     {"flush": Number(1e-3, TIME), "records": Number(5e-5, TIME) * served},
    ... )
    >>> answer = solve(log)
    >>> answer.method, answer.exact
    ('markov-chain', True)
    """

    kind: ClassVar[str] = "batch-server"
    words: ClassVar[str] = WORDS

    name: str
    customers: ClosedCustomers | OpenCustomers
    phases: Mapping[str, RoundPhase]
    round_time: Mapping[str, Expr]
    budget: Expr | None = None
    places: Expr | None = None
    memory: Expr | None = None
    reserved: bool = True
    batching_delay: Expr = field(default_factory=lambda: zero(TIME))
    interval: Expr = field(default_factory=lambda: zero(TIME))
    earlier_first: bool = False
    amounts: Mapping[str, Expr] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    requires: tuple[Requirement, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_model_name(self.name)
        faults = [
            Fault((key,), f"{WORDS} needs {part_words}")
            for key, part_words, required_part in (
                ("phases", "at least one phase", self.phases),
                ("round", "the time of a round", self.round_time),
            )
            if not required_part
        ]
        if faults:
            raise ModelFaultsError(faults)

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the parts of the time of a round."""
        return tuple(self.round_time)

    def quantities(self) -> Iterator[Expr]:
        """Yield every expression of the model."""
        customer_model = self.customers
        if isinstance(customer_model, OpenCustomers):
            yield customer_model.arrivals
        else:
            yield from (customer_model.population, customer_model.think_time)
            yield from () if customer_model.visits is None else (customer_model.visits,)
        yield from (customer_model.delay, customer_model.delay_scv)
        for phase in self.phases.values():
            yield phase.work
            yield from (
                expression for expression in (phase.least, phase.piece) if expression is not None
            )
        yield from self.round_time.values()
        yield from (
            expression
            for expression in (self.budget, self.places, self.memory)
            if expression is not None
        )
        yield from (self.batching_delay, self.interval)
        yield from self.amounts.values()

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters of the model, by path, except the placeholders in its formulas: those for
        the contents of a round and those for means of an answer.
        """
        parameters_of_rounds = {**state_parameters(self.phases), **mean_parameters(self.phases)}
        parameters_found = parameters(*self.quantities())
        return {
            parameter.name: parameter
            for parameter in parameters_found
            if parameter.name not in parameters_of_rounds
        }

    @property
    def phrases(self) -> dict[str, str]:
        """The words for the times of phases whose end, or whose unit of work, has words."""
        phrase_by_value: dict[str, str] = {}
        for name, phase in self.phases.items():
            if phase.ends:
                phrase_by_value[f"phase_time[{name}]"] = f"time until customers {phase.ends}"
                phrase_by_value[f"phase_time_quantile[{name}]"] = f"customers {phase.ends}"
            if phase.unit:
                unit_phrase = f"{with_article(phase.unit)} of the {as_words(name)}"
                phrase_by_value[f"time_per_unit[{name}]"] = f"mean time of {unit_phrase}"
                phrase_by_value[f"time_per_unit_quantile[{name}]"] = (
                    f"customers get {unit_phrase} on average"
                )
                phrase_by_value[f"unit_rate[{name}]"] = f"{phase.unit}s of the {as_words(name)}"
        return phrase_by_value

    def answer_names(self) -> Iterator[str]:
        """Yield the names of all values that answers of this model may have."""
        phases = list(self.phases)
        times = ["response_time", *(f"phase_time[{name}]" for name in phases)]
        times += [f"time_per_unit[{name}]" for name in phases[1:]]
        yield from times
        yield from (quantile_name(name, probability) for name in times for probability in QUANTILES)
        yield from (f"unit_rate[{name}]" for name in phases)
        yield from ("throughput", "served", "round_time", "utilization", "put_back")
        if isinstance(self.customers, OpenCustomers) and len(phases) == 2:
            yield LOAD
        yield from (f"amount[{name}]" for name in self.amounts)
        yield from (f"account[{name}]" for name in (*self.components, WAIT, DELAY))
        for phase in phases if len(phases) > 1 else ():
            names_outside = (WAIT, DELAY) if phase == phases[0] else ()
            yield from (
                f"phase_account[{phase},{name}]" for name in (*self.components, *names_outside)
            )

    def needs_simulation(self, name: str, method: str | None) -> bool:
        """Return whether only simulation computes a value, such as most quantiles, if another
        method is asked for.
        """
        kind, _, label = name.partition("[")
        if method == SIMULATION:
            return False
        is_first_phase = kind == "phase_time_quantile" and label.startswith(
            f"{next(iter(self.phases))},"
        )
        return ("quantile" in kind or kind == "put_back") and not (
            is_first_phase and method == FORMULA
        )

    def definitions(self) -> dict[tuple[str, str], Expr]:
        return {("T", name): expression for name, expression in self.round_time.items()}


def quantile_name(name: str, probability: float) -> str:
    """Return the name of the quantile of a value at a probability, such as 0.95.

    >>> quantile_name("phase_time[prompt]", 0.95), quantile_name("response_time", 0.5)
    ('phase_time_quantile[prompt,0.95]', 'response_time_quantile[0.5]')
    """
    kind, _, label = name.partition("[")
    label_prefix = f"{label.removesuffix(']')}," if label else ""
    return f"{kind}_quantile[{label_prefix}{probability:g}]"
