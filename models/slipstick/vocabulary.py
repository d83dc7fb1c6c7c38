"""The words that models are written in: technology classes, disciplines, blocking, locks, barriers,
and methods by kind of model.

Each word is defined here once, with what is true of it. Models, specs, solvers and the simulator
derive the words that they accept, and their descriptions, from these tables. Other packages add
disciplines and methods to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, get_args

from slipstick.errors import ModelError, NoAnswerError
from slipstick.extensions import Registry
from slipstick.late import dataclass

Technology = Literal[
    "application",
    "software",
    "system",
    "protocol",
    "signal",
    "adapter",
    "switch",
    "wire",
    "memory",
    "memory_latency",
    "storage",
    "storage_latency",
]
"""Technology classes: a what-if scales all times of a class. `software` is run-time software such
as a DVSM's, `system` the operating system's part (system calls), `protocol` the network protocol's;
`memory` is the traffic of memory, `memory_latency` the wait for one access after the other,
`storage` the traffic of disks, `storage_latency` the wait for one access to them after the other.
"""
TECHNOLOGIES: tuple[str, ...] = get_args(Technology)

ORDERS = ARRIVAL, REVERSE, RANDOM, RANK, SHARED, NO_QUEUE = (
    "arrival",
    "reverse",
    "random",
    "rank",
    "shared",
    "none",
)
"""In which order customers are served: of arrival, last first, at random, by rank, all at the same
time with the servers shared among them, or all at once with a server each."""

PRODUCT_FORMS = ANY_SERVICE, SAME_EXPONENTIAL, NEVER = (
    "any service times",
    "one exponential service time",
    "never",
)
"""Under which service times a station has a product form.

Sources: Baskett, Chandy, Muntz and Palacios, J. ACM 22(2), 1975, 248-260; Kelly, Reversibility and
Stochastic Networks, 1979, section 3.1 (orders that do not look at classes: one exponential service
time for all classes).
"""


@dataclass(frozen=True, slots=True)
class Discipline:
    """The order in which a station serves its customers.

    Parameters
    ----------
    name : in models and specs
    title : in words
    order : one of `ARRIVAL`, `REVERSE`, `RANDOM`, `RANK`, `SHARED` and `NO_QUEUE`
    product_form : `ANY_SERVICE`, `SAME_EXPONENTIAL` or `NEVER`
    preemptive : an arrival may interrupt a service, which is resumed later
    """

    name: str
    title: str
    order: str
    product_form: str
    preemptive: bool = False

    def __post_init__(self) -> None:
        # Methods without a rule for an order would serve in another one, and call that exact.
        for value, allowed_values in ((self.order, ORDERS), (self.product_form, PRODUCT_FORMS)):
            if value not in allowed_values:
                raise ModelError(
                    f"the discipline {self.name} is by {value!r}; write one of"
                    f" {', '.join(map(repr, allowed_values))}"
                )

    @property
    def ranked(self) -> bool:
        """Whether the order of service takes priorities into account."""
        return self.order == RANK

    @property
    def delay(self) -> bool:
        """Whether no customer waits, however many are present."""
        return self.order == NO_QUEUE

    @property
    def shared(self) -> bool:
        """Whether all customers are served simultaneously, each at a part of the speed."""
        return self.order == SHARED

    @property
    def at_once(self) -> bool:
        """Whether all customers are served at the same time, by shared servers or by one each."""
        return self.shared or self.delay

    @property
    def queued(self) -> bool:
        """Whether the waiting time of a customer is independent of its own service time."""
        return self.blind or self.ranked

    @property
    def blind(self) -> bool:
        """Whether the station selects the next customer independently of class and service time,
        and serves it without interruption.

        Mean waiting times are then those of first come first served at a single server that is not
        idle while customers are present.

        Source: Conway, Maxwell and Miller, Theory of Scheduling, 1967, ch. 8.
        """
        return not self.preemptive and self.order in (ARRIVAL, REVERSE, RANDOM)


_OWN_DISCIPLINES = {
    discipline.name: discipline
    for discipline in (
        Discipline("fcfs", "first come first served", ARRIVAL, SAME_EXPONENTIAL),
        Discipline("ps", "processor sharing", SHARED, ANY_SERVICE),
        Discipline("lcfs", "last come first served", REVERSE, SAME_EXPONENTIAL),
        Discipline("random", "random order of service", RANDOM, SAME_EXPONENTIAL),
        Discipline(
            "lcfs-pr",
            "last come first served with preemption and resumption",
            REVERSE,
            ANY_SERVICE,
            preemptive=True,
        ),
        Discipline("is", "infinite servers", NO_QUEUE, ANY_SERVICE),
        Discipline(
            "priority",
            "the smaller rank first, without preemption",
            RANK,
            NEVER,
        ),
        Discipline(
            "priority-preemptive",
            "the smaller rank first, with preemption and resumption",
            RANK,
            NEVER,
            preemptive=True,
        ),
    )
}
DISCIPLINES: Registry[Discipline] = Registry("slipstick.disciplines", _OWN_DISCIPLINES)
"""The disciplines of stations, slipstick's own first. Within one rank, priorities serve first come
first served.
"""


@dataclass(frozen=True)
class DisciplineNames(Collection[str]):
    """The names of the disciplines that have a trait, including those of other packages.

    Parameters
    ----------
    has_trait : of a discipline
    """

    has_trait: Callable[[Discipline], bool]

    def __contains__(self, name: object) -> bool:
        return name in DISCIPLINES and self.has_trait(DISCIPLINES[str(name)])

    def __iter__(self) -> Iterator[str]:
        return (name for name in DISCIPLINES if self.has_trait(DISCIPLINES[name]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def in_words(self) -> str:
        """One text with the word and the title of each discipline, without the disciplines of other
        packages.

        >>> STATION_DISCIPLINES.in_words[:59]
        'fcfs: first come first served; ps: processor sharing; lcfs:'
        """
        own_disciplines = (
            discipline for discipline in _OWN_DISCIPLINES.values() if self.has_trait(discipline)
        )
        return "; ".join(f"{discipline.name}: {discipline.title}" for discipline in own_disciplines)


STATION_DISCIPLINES = DisciplineNames(lambda discipline: True)
SIMULATED_DISCIPLINES = DisciplineNames(lambda discipline: not discipline.delay)
"""What the simulator takes for a station; a delay is not a station there."""


def contradicted_keys(discipline: str, is_written: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield each key of a station that its other keys contradict, with the reason.

    Parameters
    ----------
    discipline : of the station
    is_written : by key, whether the key is written

    >>> [key for key, why in contradicted_keys("is", {"servers": False, "rates": True})]
    ['rates']
    """
    if DISCIPLINES[discipline].delay:
        for key in (key for key, key_is_written in is_written.items() if key_is_written):
            yield key, f"an is station serves everyone at once; leave {key} out"
    elif is_written["rates"] and is_written["servers"]:
        yield "servers", "rates say how fast the station is; leave servers out"


OVERTAKING_DISCIPLINES = DisciplineNames(
    lambda discipline: discipline.blind and discipline.order != ARRIVAL
)
"""Those by which customers overtake each other in the queue without regard to class.

Waiting times vary more than in the order of arrival, and where several closed classes differ in
service, so do the means: a class that comes back sooner overtakes more.
"""

LOSS = "loss"
REPEAT = "repeat"
BEFORE_SERVICE = "before-service"
AFTER_SERVICE = "after-service"
BLOCKING = {
    LOSS: "an arrival at a full station is lost",
    REPEAT: "the previous station serves the customer again, and then sends it on again",
    BEFORE_SERVICE: "the previous station serves the customer only when there is a free place",
    AFTER_SERVICE: "the customer occupies its server at the previous station until a place is free",
}
"""What becomes of a customer on the way to a station that is full; an arrival from outside is
lost in any case.
"""

WAIT = "wait"
REGION_BLOCKING = {
    WAIT: "customers wait outside the region in the order of arrival, and block no station",
    LOSS: "a customer that arrives at a full region is lost",
}
"""What becomes of a customer on the way to a region that is full."""

WORD, COPY, OWN = "word", "copy", "own"
"""What waiting processors read over and over: the lock word, a cached copy of it, or a word of
their own.
"""


@dataclass(frozen=True, slots=True)
class LockKind:
    """A kind of lock, described by its accesses to the lock word.

    Parameters
    ----------
    title : in words
    acquire, release : accesses to the lock word while no other processor wants the lock [1]
    spins_on : `WORD`, `COPY` or `OWN`; empty where waiting costs nothing
    held : fraction of the instructions of an uncontended acquire and release that the holder
        executes to hand the lock over [1]; half is assumed where nothing is known
    """

    title: str
    acquire: int
    release: int
    spins_on: str = ""
    held: float = 0.5

    @property
    def spinning(self) -> bool:
        """Whether waiting processors access the lock word."""
        return self.spins_on in (WORD, COPY)


LOCKS = {
    "fifo": LockKind("handed over in the order of requests, at no cost", 0, 0),
    "tas": LockKind("test-and-set", 1, 1, WORD),
    "ttas": LockKind("test-and-test-and-set", 2, 1, COPY),
    "ticket": LockKind("ticket", 2, 1, COPY),
    "array": LockKind("array of flags", 2, 2, OWN),
    # Two of five statements: it tests for a successor and sets its flag; three enter the list.
    # Source: Mellor-Crummey and Scott, ACM Trans. Computer Systems 9(1), 1991, the list-based lock.
    "mcs": LockKind("list of waiting processors (Mellor-Crummey and Scott)", 1, 1, OWN, 2 / 5),
}
BACK_OFFS = ("none", "constant", "exponential")
"""Pauses between two attempts to acquire a lock; exponential pauses double."""

HOME = (
    "index of the processor whose node has the lock word; a simulation then counts local and remote"
    " accesses"
)

READER_WRITER_ORDERS = {"fair": "", "reader-first": "read", "writer-first": "write"}
"""The mode of the requests at a reader-writer lock that go before all others; none where
requests are served in the order of arrival.
"""

TASK_ORDERS = ("lifo", "fifo")
"""Which task of its own queue a processor takes: the youngest or the oldest."""

MOST_HOLDERS = 1_000_000
"""Holders of one resource, or units of a counter, at most: the simulator keeps them in a table."""

SHORTEST = "shortest"
SHORTER_OF_TWO = "shorter-of-two"
IN_TURN = "in-turn"
LEAST_WORK = "least-work"
ROUTES = {
    SHORTEST: "the one with the fewest customers, including those in service; ties at random",
    SHORTER_OF_TWO: "two are drawn at random, and the one with fewer customers is chosen",
    IN_TURN: "round robin in the order written, for all processors together",
    LEAST_WORK: "the station with the least remaining work per server; ties at random",
}
"""Which of several a step takes, by what its first resource shows."""

BACK_OFF_TIME, GIVEN_UP_TIME = "back-off", "given-up"
"""Begin the labels, in an account, of pauses before another try at a resource, and of the time of
services there that were given up."""

BARRIERS = ("central", "tree", "tournament", "dissemination", "manager")

ACTIVITY = "activity"
LAW = "law"
NETWORK = "queueing-network"

CLOSED_FORM = "closed-form"
MEAN_VALUE = "mean-value"
SIMULATION = "simulation"
BOUNDS = "bounds"
# `best` is the most exact method that applies.
BEST, EXACT, CONVOLUTION = (
    "best",
    "exact",
    "convolution",
)
SCHWEITZER = "schweitzer"
LINEARIZER = "linearizer"
MARKOV_CHAIN = "markov-chain"
FORMULA = "formula"

METHODS = {
    ACTIVITY: (CLOSED_FORM, MEAN_VALUE, MARKOV_CHAIN, SIMULATION, BOUNDS),
    LAW: (CLOSED_FORM,),
    NETWORK: (BEST, EXACT, CONVOLUTION, SCHWEITZER, LINEARIZER, MARKOV_CHAIN, SIMULATION, BOUNDS),
}
"""The methods that answer for each kind of model, of laws and networks the default first."""

FLAT, LEVELS = "flat", "levels"
"""What a library of collective operations knows of nodes: nothing, or who is in which."""

PLACEMENTS = {
    "node": "both ranks in one node of the machine",
    "switch": "one switch between the ranks",
    "network": "the number of switches that the network states",
}
"""Where the ranks of a message are, in words."""


GEOMETRIC_COUNT = "geometric counts"
STREAMS = "arrivals beside other groups"
SEVERAL_STREAMS = "several streams"
RENEWALS = "arrivals that are not Poisson"
BATCHES = "batches"
BURSTS = "bursts"
TRACES = "recorded arrivals"
PROFILES = "a profile over time"
SECOND_PHASES = "second phases"
RANKS = "ranks"
ATTEMPTS = "attempts with a time limit"
FULL_QUEUES = "limited queues"
CUT_SERVICES = "interrupted services of attempts"
BREAKERS = "circuit breakers"
ROUTES_BY_STATE = "routes that depend on queues"
INTERRUPTIONS = "interrupted services"
EARLY_JOINS = "forks that do not wait for all branches"
HEDGES = "backup requests"
SEVERAL_PERMITS = "several permits at once"
REGIONS = "regions"
RETRIES = "retries"
UNLIMITED = "infinite servers"
RATES = "load-dependent rates"
WEIGHTS = "weights"
REPLIES = "early replies"

CONSTRUCTS = {
    GEOMETRIC_COUNT: "repetitions with a geometric number of rounds",
    STREAMS: "a group of arriving customers beside groups of processors",
    SEVERAL_STREAMS: "several groups of arriving customers, and no processors",
    RENEWALS: "times between arrivals with an scv other than 1",
    BATCHES: "several customers that arrive together",
    BURSTS: "arrivals with a different rate during bursts",
    TRACES: "arrivals at given times",
    PROFILES: "rates of arrivals, or numbers of servers, that follow the parts of a day",
    SECOND_PHASES: "work that keeps a resource after its processor has continued",
    RANKS: "stations that serve smaller ranks first",
    ATTEMPTS: "visits that are abandoned after some time in the queue",
    FULL_QUEUES: "visits that are turned away if too many customers wait",
    CUT_SERVICES: "visits that are abandoned after some time in the queue or in service",
    BREAKERS: "visits that a circuit breaker may refuse",
    INTERRUPTIONS: "stations at which arrivals interrupt services",
    SEVERAL_PERMITS: "holds that need several permits",
    EARLY_JOINS: "forks that wait for some of their branches, or for none",
    HEDGES: "steps of hedged requests that are left out if their fork no longer waits",
    UNLIMITED: "stations at which each customer has its own server",
    RATES: "stations whose speed depends on the number of customers present",
    WEIGHTS: "shared stations whose visits have weights",
    ROUTES_BY_STATE: "branches that are chosen by the number of customers at their resources",
    REPLIES: "processors that leave a hold before its body has ended",
    REGIONS: "stations with a common limit on the number of customers",
    RETRIES: "stations of a network that customers try again after a visit that fails",
}
"""Features of a model that not every method can solve: fields that differ from their defaults. A
method that does not declare that it knows a construct refuses the models that have it (`KNOWN`).
"""

AGREED, REPLACED, UNDECIDED, NOT_CHECKED = "agreed", "replaced", "undecided", "not checked"
"""What a second road says of an answer by the default method."""

VERDICTS = (AGREED, REPLACED, UNDECIDED, NOT_CHECKED)

CHECK_OFF, CHECK_ENDS, CHECK_ALL, CHECK_AGAIN = "off", "ends", "all", "again"
"""Which points of a sweep are looked at by a second road: none; the ends, a knee and two others;
all; those of "ends", without what earlier looks have found.
"""

CHECKS = (CHECK_OFF, CHECK_ENDS, CHECK_ALL, CHECK_AGAIN)

LEFT_OUT = "left_out"
"""The key of a spec, and the column of a table, that names the losses of an import."""


METHODS_ADDED: Registry[Any] = Registry(
    "slipstick.methods",
    {
        f"{kind}/{name}": name
        for kind, names in METHODS.items()
        for name in names
        # These two are methods of slipstick_mean_value and slipstick_chains.
        if kind != ACTIVITY or name not in (MEAN_VALUE, MARKOV_CHAIN)
    },
)
"""Methods of other packages, by the kind of model and a name, such as ``activity/quick``; of
slipstick's own only the names, which no package can take.
"""


def known_methods(wanted_kind: str) -> tuple[str, ...]:
    """List the methods for a kind of model, slipstick's own first.

    >>> known_methods("law")
    ('closed-form',)
    """
    added_methods = (method_name.partition("/") for method_name in METHODS_ADDED)
    added_names = (
        method_name for model_kind, _, method_name in added_methods if model_kind == wanted_kind
    )
    return tuple(dict.fromkeys([*METHODS.get(wanted_kind, ()), *added_names]))


def model_kinds() -> tuple[str, ...]:
    """List the kinds of models that have methods, slipstick's own first.

    >>> model_kinds()[:3]
    ('activity', 'law', 'queueing-network')
    """
    return tuple(dict.fromkeys([*METHODS, *(name.partition("/")[0] for name in METHODS_ADDED)]))


def all_methods() -> tuple[str, ...]:
    """List the methods of all kinds of models, each once."""
    return tuple(dict.fromkeys(name for kind in model_kinds() for name in known_methods(kind)))


KNOWN: Mapping[str, frozenset[str]] = {
    CLOSED_FORM: frozenset(
        {GEOMETRIC_COUNT, RANKS, INTERRUPTIONS, UNLIMITED, WEIGHTS, RENEWALS, BATCHES, BURSTS}
    ),
    BOUNDS: frozenset(CONSTRUCTS)
    - {ATTEMPTS, FULL_QUEUES, CUT_SERVICES, BREAKERS, ROUTES_BY_STATE, REGIONS, REPLIES, HEDGES}
    - {RETRIES},
    MEAN_VALUE: frozenset({GEOMETRIC_COUNT, UNLIMITED, STREAMS, SEVERAL_STREAMS}),
    MARKOV_CHAIN: frozenset(
        {
            *(GEOMETRIC_COUNT, SECOND_PHASES, RANKS, ATTEMPTS, FULL_QUEUES),
            *(CUT_SERVICES, BREAKERS),
            *(ROUTES_BY_STATE, INTERRUPTIONS, SEVERAL_PERMITS, UNLIMITED, RATES),
            *(WEIGHTS, REPLIES, STREAMS, SEVERAL_STREAMS, BURSTS),
        }
    ),
    SIMULATION: frozenset(CONSTRUCTS),
}
"""The constructs that each method for activities knows, and simulation of networks, too.

A part of a model says which constructs it has (`slipstick.model.steps.constructs_of`): fields that
have not their defaults. A model with any other than these a method refuses by name, and the ladder
goes on to the next method. A construct that is added to a model later is thereby refused by every
method, also of other packages, until that method declares it.
"""

LOWERED = frozenset({BREAKERS, REGIONS, RETRIES})
"""Constructs of networks whose Markov chain is that of the activity of the same meaning."""

KNOWN_OF_NETWORKS: Mapping[str, frozenset[str]] = {
    BEST: frozenset({WEIGHTS}),
    MARKOV_CHAIN: LOWERED | {WEIGHTS},
    SIMULATION: KNOWN[SIMULATION],
}
"""The constructs that methods for networks know; the others know none."""


def refuse_unknown(
    constructs: Collection[str],
    method: str,
    known_constructs: Collection[str],
    known_by_method: Mapping[str, Collection[str]] = KNOWN,
) -> None:
    """Raise NoAnswerError if a model has a construct that a method does not support.

    Parameters
    ----------
    constructs : of the model
    method, known_constructs : the method, and the constructs that it supports
    known_by_method : those that the methods for models of this kind support

    >>> refuse_unknown([GEOMETRIC_COUNT], "quick", ())
    Traceback (most recent call last):
        ...
    slipstick.errors.NoAnswerError: quick cannot solve geometric counts (repetitions with a
    geometric number of rounds); markov-chain and simulation can
    """
    for construct in sorted(set(constructs) - set(known_constructs)):
        knowing_methods = [
            name for name in (MARKOV_CHAIN, SIMULATION) if construct in known_by_method[name]
        ]
        raise NoAnswerError(
            f"{method} cannot solve {construct} ({CONSTRUCTS.get(construct, construct)});"
            f" {' and '.join(knowing_methods)} can"
        )
