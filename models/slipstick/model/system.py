"""Models: a population that executes activities, the resources it shares, and what of its work is
useful.

Resources are stations, locks, permits and barriers. Each says how many processors use it at a time
(`capacity`), the numbers it is made of (`expressions`), and itself with its times multiplied by the
factors of a technology (`ResourceKind.scaled`). A technology is a set of factors, each of which
multiplies all times of a technology class.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from slipstick.arguments import (
    FLAG,
    TEXT,
    Kind,
    checked,
    either_kind,
    instance_of,
    list_of,
    mapped_by_name,
    optional_kind,
    real_number,
    row_of,
    whole_number,
)
from slipstick.display import html_table
from slipstick.errors import ModelError, NoAnswerError, did_you_mean, note_part
from slipstick.expression.nodes import (
    COUNT,
    LIKE,
    RATE,
    TIME,
    Booked,
    Expr,
    Like,
    Number,
    Parameter,
    as_expr,
    is_number,
    log2,
    maximum,
    parameters,
    total,
    zero,
)
from slipstick.expression.special import real_power
from slipstick.extensions import FUNCTIONS
from slipstick.late import dataclass, field, replace
from slipstick.model.absences import Absence
from slipstick.model.activity import (
    MODES,
    VISIT,
    WAITING,
    Attempt,
    EarlyReply,
    Fork,
    Hold,
    IfLate,
    Pick,
    Pipeline,
    Repeat,
    Step,
    Then,
    as_count,
    as_time,
    check_at_least,
    check_model_name,
    check_name,
    map_steps,
    think_step,
    timed_steps,
)
from slipstick.model.added import AddedModel
from slipstick.model.amounts import AMOUNTS, input_parameters
from slipstick.model.requirement import Requirement
from slipstick.model.steps import (
    ACTIVITY,
    ASKED,
    GIVEN,
    GUARDED,
    HELD,
    MET,
    NEVER,
    SERVED,
    TAKEN,
    Activity,
    ModelPart,
    NumberRange,
    check_fields,
    constructs_of,
    distinct_activities,
    fractional_part,
    is_parallel,
    steps,
)
from slipstick.model.tasks import Loop, ProblemTimes, Trees, problem_times
from slipstick.profiles import Profile, check_profile
from slipstick.vocabulary import (
    BACK_OFFS,
    BARRIERS,
    BATCHES,
    BURSTS,
    DISCIPLINES,
    INTERRUPTIONS,
    LEAST_WORK,
    LOCKS,
    MOST_HOLDERS,
    PROFILES,
    RANKS,
    RATES,
    READER_WRITER_ORDERS,
    RENEWALS,
    SEVERAL_STREAMS,
    STATION_DISCIPLINES,
    STREAMS,
    TASK_ORDERS,
    TRACES,
    UNLIMITED,
    Discipline,
    contradicted_keys,
)

if TYPE_CHECKING:
    from slipstick.model.tasks import TaskSource

RESOURCES_BY_USE = {
    SERVED: "a station",
    HELD: "a lock, permits or a monitor",
    MET: "a barrier",
    TAKEN: "semaphores",
    ASKED: "a pool of tasks",
    GUARDED: "a circuit breaker",
}
"""The kinds of resources that each kind of step takes."""

BARRIER, IDLE, MONITOR = "barrier", "idle", "monitor"
"""Components of the account that are not written in a model."""

IDLE_PROCESSORS = "idle:processors"
"""Label of the time of processors without work; no step can have this name."""


MANY = 1e300
"""The largest number of customers of a stream that may be present at once: more than there can be
[1].
"""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of resource: a station, a lock, permits or a barrier.

    Each kind states, without a default, because a default would guess: `noun`, what messages call
    it; `use`, the kind of use that steps make of it; `capacity`, how many use it at a time;
    `use_time`, what one use costs beside the time of the step; and `labels`, what that and waits
    are booked to. A class that leaves one of these out cannot be defined.
    """

    noun: ClassVar[str]
    use: ClassVar[str]
    plain: ClassVar[tuple[str, ...]] = ()
    special: ClassVar[Mapping[str, str]] = {}
    time_words: ClassVar[Mapping[str, str]] = {}
    """What messages call its times, before its noun and name, by attribute."""

    def __init_subclass__(cls, abstract: bool = False, **arguments: Any) -> None:
        check_fields(cls)
        # Not `super()`: a dataclass with slots is made anew, and that is another class.
        bases = cls.__mro__[: cls.__mro__.index(ResourceKind)]
        missing_names = [
            name
            for name in ("noun", "use", "capacity", "use_time", "labels")
            if not any(name in vars(base) for base in bases)
        ]
        if missing_names and not abstract:
            raise TypeError(
                f"the kind of resource {cls.__name__} does not say its {', '.join(missing_names)};"
                f" see {__name__}.ResourceKind"
            )

    @property
    def constructs(self) -> frozenset[str]:
        """The constructs of the resource; a method that does not support one of them refuses the
        model.
        """
        return constructs_of(self)

    @property
    @abstractmethod
    def capacity(self) -> int:
        """The number of processors that can use the resource at the same time."""

    @abstractmethod
    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        """Return the cost of one use without contention, in addition to the time of the step [s].

        Parameters
        ----------
        name : of the resource
        processors : that are present at most [1]
        with_labels : label its parts, so that an account can be read off
        """

    @property
    def time_classes(self) -> Mapping[str, str]:
        """The technology class that scales each time of the resource, by attribute; empty if the
        resource has no times.
        """
        return {}

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions of all times of the resource. It has no other numeric fields."""
        return tuple(getattr(self, name) for name in self.time_classes)

    def ranges(self, name: str) -> Iterator[NumberRange]:
        """Yield the times of the resource, each with the range of its allowed values.

        Parameters
        ----------
        name : of the resource
        """
        noun = self.noun.partition(" ")[2]
        for attribute, time in zip(self.time_classes, self.expressions, strict=True):
            description = self.time_words.get(attribute, f"the {attribute} of")
            yield NumberRange(f"{description} {noun} {name}", time)

    @property
    def full_speed(self) -> Expr:
        """The highest rate of work for any number of processors present, relative to a single
        server.
        """
        return Number(float(self.capacity))

    @property
    def speed_alone(self) -> Expr | None:
        """The speed for a processor that is alone at the resource, relative to full speed; None
        means 1.
        """
        return None

    @property
    def waits_once(self) -> bool:
        """Whether each visit waits once and then takes one server or permit."""
        return False

    @property
    def has_plain_queue(self) -> bool:
        """Whether requests for the resource wait in the order of arrival at no cost, so that a
        request can leave the queue, and a branch can release what its processor acquired.
        """
        return False

    @property
    def spins(self) -> bool:
        """Whether processors that wait access the word of a lock again and again."""
        return False

    @property
    def word(self) -> str | None:
        """The station that holds the word of a lock; None without one."""
        return None

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in which the resource is held; one without a name if there is no difference."""
        return ("",)

    @property
    def undefined(self) -> Mapping[str, str]:
        """The values of answers that are not defined for the resource, each with the reason."""
        return {} if self.capacity < MOST_HOLDERS else {"utilization": NEVER_ALL_BUSY}

    def with_parameters(self, name: str) -> Any:
        """Return a copy in which each time that is a plain number becomes a parameter.

        Parameters
        ----------
        name : of the resource
        """
        # Only parameters can vary in a sweep and have shares.
        number_keys = [key for key in self.time_classes if not isinstance(getattr(self, key), Expr)]
        time_by_key: dict[str, Any] = {
            key: as_time(getattr(self, key), f"{name}.{key}") for key in number_keys
        }
        return replace(self, **time_by_key)

    @property
    def counters(self) -> Mapping[str, int]:
        """The initial value of each counter that steps wait for or signal."""
        return {}

    @abstractmethod
    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        """Return the labels that the account uses for the time at this resource. Labels of waits at
        stations are not included.

        Parameters
        ----------
        name : name of the resource
        with_waits : whether to include waits; else only what takes time without contention
        """

    def scaled(self, factors: Mapping[str, Expr]) -> Any:
        """Return a copy in which each time is multiplied by the factor of its technology class."""
        scaled_times = {
            name: getattr(self, name) * factors[technology]
            for name, technology in self.time_classes.items()
            if technology in factors
        }
        return replace(self, **scaled_times) if scaled_times else self


NEVER_ALL_BUSY = "infinite servers are never all busy"
INFINITE = 2**53
"""Servers of a station where no customer waits: more than customers of any population [1]."""


class CostlessResource(ResourceKind, abstract=True):
    """A resource whose use takes no time in addition to its step, and is booked with the step."""

    __slots__ = ()

    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        return zero(TIME)

    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        return ()


@checked(servers=whole_number(1, MOST_HOLDERS), discipline=TEXT, rates=list_of(LIKE))
@dataclass(frozen=True, slots=True)
class Station(CostlessResource):
    """A station: servers with a queue, or servers without a queue.

    Parameters
    ----------
    servers : number of servers
    discipline : one of `DISCIPLINES`; with ``is`` every customer has its own server
    rates : speed of the station, relative to full speed, with 1, 2, 3 ... customers present, in
        place of `servers`. The last number also applies to more customers
    """

    servers: int = 1
    discipline: str = "fcfs"
    rates: tuple[Any, ...] = ()

    noun = "a station"
    use = SERVED
    waits_once = True
    plain = ("servers", "discipline")
    special: ClassVar[Mapping[str, str]] = {"rates": RATES}

    def __post_init__(self) -> None:
        _refuse_unknown_word("discipline", self.discipline, STATION_DISCIPLINES)
        is_written_by_key = {"servers": self.servers != 1, "rates": bool(self.rates)}
        for _, message in contradicted_keys(self.discipline, is_written_by_key):
            raise ModelError(message)
        object.__setattr__(self, "rates", tuple(map(as_expr, self.rates)))
        for rate in self.rates:
            rate_value = rate.value if isinstance(rate, Number | Parameter) else None
            if rate_value is not None and not rate_value > 0:
                raise ModelError(f"the rates of a station must be above 0, got {rate_value:g}")

    @property
    def constructs(self) -> frozenset[str]:
        discipline = DISCIPLINES[self.discipline]
        trait_by_construct = {
            RANKS: discipline.ranked,
            INTERRUPTIONS: discipline.preemptive,
            UNLIMITED: discipline.delay,
        }
        return constructs_of(self) | {
            construct for construct, has_trait in trait_by_construct.items() if has_trait
        }

    @property
    def capacity(self) -> int:
        return INFINITE if DISCIPLINES[self.discipline].delay else self.servers

    @property
    def full_speed(self) -> Expr:
        return self.rates[-1] if self.rates else Number(float(self.capacity))

    @property
    def speed_alone(self) -> Expr | None:
        return self.rates[0] if self.rates else None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.rates

    def ranges(self, name: str) -> Iterator[NumberRange]:
        for customer_count, rate in enumerate(self.rates, 1):
            description = f"the rate of station {name} with {customer_count} present"
            yield NumberRange(description, rate, excludes_least=True)

    def with_parameters(self, name: str) -> Station:
        rates = tuple(
            Parameter(f"{name}.rates.{index}", COUNT, rate.value)
            if isinstance(rate, Number)
            else as_count(rate, f"a rate of {name}")
            for index, rate in enumerate(self.rates)
        )
        return replace(self, rates=rates)


class HeldResource(ResourceKind, abstract=True):
    """A resource that a processor holds while it executes a body; a request waits while `capacity`
    processors hold it.

    Attribute by class: `wait_prefix`, what the account books a wait to before the resource's name.
    The properties are those of a resource that is acquired and released at no cost.
    """

    __slots__ = ()

    use = HELD
    wait_prefix = "lock"

    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        return self.access_time(name, with_labels)

    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        return (self.label(name),) if with_waits or any(self.accesses) else ()

    def access_time(self, name: str, with_labels: bool) -> Expr:
        """Return the time of all accesses to the lock's word without contention [s]."""
        access_count = sum(self.accesses)
        if not access_count:
            return zero(TIME)
        total_access_time = access_count * self.access
        return Booked(self.label(name), total_access_time) if with_labels else total_access_time

    def label(self, name: str) -> str:
        """Return the account label for the time from the request until the resource is held."""
        return f"{self.wait_prefix}:{name}"

    def rank(self, mode: str) -> int:
        """Return the rank of a request; requests with a smaller rank are served first."""
        return 0

    @property
    def access(self) -> Expr:
        """The time of one access to the word [s]."""
        return zero(TIME)

    @property
    def accesses(self) -> tuple[int, int]:
        """The numbers of accesses to the word for an acquire and for a release, without
        contention.
        """
        return 0, 0


@checked(
    kind=TEXT,
    word=optional_kind(TEXT),
    access=LIKE,
    back_off=TEXT,
    base=LIKE,
    most=LIKE,
    home=optional_kind(whole_number(0, MOST_HOLDERS)),
    together=FLAG,
)
@dataclass(frozen=True, slots=True)
class Lock(HeldResource):
    """A lock, described by its algorithm and by the station that has the lock word.

    Without contention, acquire and release access the word `accesses` times in total. If another
    processor holds the lock, the waiting processors spin. With test-and-set they access the word
    repeatedly and pause for `back_off` between two attempts. With test-and-test-and-set and ticket
    they spin on a cached copy, which every waiting processor fetches again at each release. With
    array and mcs each waiting processor spins on its own word.

    Parameters
    ----------
    kind : one of `LOCKS`. All kinds but ``tas`` and ``ttas`` serve the requests in order of arrival
    word : name of the station that holds the lock word; None if an access to the word takes no time
    access : time for which one access occupies this station [s]
    back_off : one of `BACK_OFFS`; an exponential pause doubles after each failure
    base, most : first pause after a failure, and longest pause [s]
    together : whether a processor that needs several of these locks acquires all of them in one
        attempt. A failed attempt acquires none, and is repeated after a pause. Only for
        test-and-set with a pause and without `word`
    home : index of the processor whose node has the lock word. A simulation then counts local and
        remote accesses separately; both take the same time
    """

    kind: str = "fifo"
    word: str | None = None
    access: Expr = field(default_factory=lambda: zero(TIME))
    back_off: str = "none"
    base: Expr = field(default_factory=lambda: zero(TIME))
    most: Expr = field(default_factory=lambda: zero(TIME))
    home: int | None = None
    together: bool = False

    noun = "a lock"
    capacity = 1
    time_words: ClassVar[Mapping[str, str]] = {
        "access": "an access to the word of",
        "base": "the back-off of",
        "most": "the longest back-off of",
    }
    plain = ("kind", "word", "access", "back_off", "base", "most", "home", "together")

    @property
    def time_classes(self) -> Mapping[str, str]:
        # Accesses to a word are traffic of memory; the pauses are the program's own, so that no
        # technology scales them.
        return {"access": "memory" if self.word is not None else "", "base": "", "most": ""}

    def __post_init__(self) -> None:
        _refuse_unknown_word("lock", self.kind, LOCKS)
        _refuse_unknown_word("back-off", self.back_off, BACK_OFFS)
        if self.together and (
            self.kind != "tas" or self.back_off == "none" or self.word is not None
        ):
            raise ModelError(
                "locks that are taken together have the kind tas, a back-off, and no word"
            )

    @property
    def waits_once(self) -> bool:
        return self.word is None and not self.spins

    @property
    def has_plain_queue(self) -> bool:
        return self.word is None and self.kind == "fifo"

    @property
    def spins(self) -> bool:
        return LOCKS[self.kind].spinning

    @property
    def accesses(self) -> tuple[int, int]:
        lock_kind = LOCKS[self.kind]
        return (0, 0) if self.word is None else (lock_kind.acquire, lock_kind.release)


@checked(number=whole_number(1, MOST_HOLDERS))
@dataclass(frozen=True, slots=True)
class Permits(HeldResource):
    """A resource with a number of permits, such as a pool of threads, connections or licences. A
    processor holds one or more permits while it executes a body.

    Permits are granted in the order of the requests, at no cost. A single permit is a FIFO lock.

    Parameters
    ----------
    number : number of permits
    """

    number: int

    noun = "permits"
    wait_prefix = "wait"
    waits_once = has_plain_queue = True
    plain = ("number",)

    @property
    def capacity(self) -> int:
        return self.number


@checked(order=TEXT, readers=whole_number(1, MOST_HOLDERS))
@dataclass(frozen=True, slots=True)
class ReaderWriterLock(HeldResource):
    """A lock that several readers can hold together, but a writer holds alone.

    Parameters
    ----------
    order : one of `READER_WRITER_ORDERS`: in order of arrival (fair), or all requests of one kind
        before those of the other
    readers : maximum number of readers that hold the lock together
    """

    order: str = "fair"
    readers: int = MOST_HOLDERS

    noun = "a reader-writer lock"
    waits_once = True
    modes = MODES
    plain = ("order", "readers")

    def __post_init__(self) -> None:
        _refuse_unknown_word("order", self.order, READER_WRITER_ORDERS)

    @property
    def capacity(self) -> int:
        return self.readers

    def rank(self, mode: str) -> int:
        # 0 for the kind that goes first, and for all where the lock is fair.
        return int(READER_WRITER_ORDERS[self.order] not in ("", mode))


_UNITS_KIND = mapped_by_name(whole_number(0, MOST_HOLDERS))
"""Units at the start, by the name of the counter."""


@checked(conditions=_UNITS_KIND)
@dataclass(frozen=True, slots=True)
class Monitor(HeldResource):
    """A monitor, which one processor at a time may enter.

    Processors enter in the order of their requests, and may wait inside for conditions.

    A condition is a counter that stands for the shared variable of the condition. `wait` takes one
    from the counter. If the counter is 0, the processor leaves the monitor until another processor
    adds one by `signal`. A signal passes the monitor at once to the waiting processor, ahead of all
    processors that wait to enter, and the signalling processor leaves (Hoare's monitors, with the
    signal as the last statement). If no processor waits, the signal stays in the counter.

    Parameters
    ----------
    conditions : names and initial values of the counters

    Source: Hoare, CACM 17(10), 1974; Lucier, SIGMETRICS 1988, for counting waits at the entrance
    and waits for conditions separately.
    """

    conditions: Mapping[str, int] = field(default_factory=dict, hash=False)

    noun = "a monitor"
    wait_prefix = "entry"
    capacity = 1
    plain = ("conditions",)

    @property
    def counters(self) -> Mapping[str, int]:
        return self.conditions


@checked(units=_UNITS_KIND)
@dataclass(frozen=True, slots=True)
class Semaphores(CostlessResource):
    """Counters from which processors take one (`wait`) and to which they add one (`signal`).

    One processor may add a unit that another one takes.

    Parameters
    ----------
    units : names and initial values of the counters
    """

    units: Mapping[str, int] = field(hash=False)

    noun = "semaphores"
    use = TAKEN
    capacity = 1
    plain = ("units",)

    @property
    def counters(self) -> Mapping[str, int]:
        return self.units


@checked(places=whole_number(1, MOST_HOLDERS), items=whole_number(0, MOST_HOLDERS))
def buffer(places: int, items: int = 0) -> Semaphores:
    """Make a bounded buffer for `put` and `get`: two semaphores that count free places and items.

    Parameters
    ----------
    places : maximum number of items in the buffer
    items : initial number of items

    >>> buffer(3)
    Semaphores(units={'places': 3, 'items': 0})
    """
    return Semaphores({"places": places - items, "items": items})


@checked(
    source=instance_of((Loop, Trees), "a Loop or Trees"),
    leaf=LIKE,
    interior=LIKE,
    inside=LIKE,
    order=TEXT,
    queues=whole_number(1, MOST_HOLDERS),
    component=TEXT,
)
@dataclass(frozen=True, slots=True)
class TaskPool(ResourceKind):
    """A pool of tasks, which may add further tasks. The tasks are kept in queues, and every access
    to a queue is inside the monitor of the queue.

    A processor that asks for a task enters the monitor of its own queue, or of the next queue that
    has a task, and takes a task. If there is no task, the processor waits outside. A processor that
    adds or takes a task admits a waiting processor when it leaves, if tasks are left. If all other
    processors wait and the last one finds no task, the problem is complete and all processors
    continue. The pool is thus an implicit barrier.

    Parameters
    ----------
    source : the tasks: a `Loop` or `Trees`
    leaf, interior : time of an iteration or of a leaf, and time of a node with subtrees [s]
    inside : time in the monitor to take a task, to add a task, or to find that there is none [s]
    order : one of `TASK_ORDERS`: a processor takes the youngest task (lifo) or the oldest task of
        its own queue. From another queue it always takes the oldest task
    queues : number of queues; processor i uses queue i modulo this number
    component : component of the account for the work; the time in the monitor is booked to
        ``monitor``

    Source: Lucier, SIGMETRICS 1988 (askfor, after Lusk and Overbeek); Blumofe and Leiserson, J. ACM
    46(5), 1999 (stealing).
    """

    source: TaskSource
    leaf: Expr
    interior: Expr = field(default_factory=lambda: zero(TIME))
    inside: Expr = field(default_factory=lambda: zero(TIME))
    order: str = "lifo"
    queues: int = 1
    component: str = "busy"

    noun = "a pool of tasks"
    use = ASKED
    capacity = 1
    plain = ("source", "leaf", "interior", "inside", "order", "queues", "component")

    def __post_init__(self) -> None:
        _refuse_unknown_word("order", self.order, TASK_ORDERS)

    def problem_times(self) -> list[ProblemTimes]:
        """Return the work, the time in the monitors and the critical path of each problem [s]."""
        return [
            problem_times(problem, self.interior, self.leaf, self.inside)
            for problem in self.source.problems()
        ]

    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        """Return the mean over the problems of max(work / processors, path), plus the time of one
        last access [s]. The part of the path beyond the work is booked to a barrier.
        """
        times_of_problems = self.problem_times()
        term_labels = (name, f"{MONITOR}:{name}", f"{BARRIER}:{name}")
        terms: list[Expr] = []
        for work, time_inside, critical_path in times_of_problems:
            shared_times = (work / processors, time_inside / processors)
            path_excess = maximum(critical_path - total(shared_times, TIME), zero(TIME))
            term_times = (shared_times[0], shared_times[1] + self.inside, path_excess)
            terms += map(Booked, term_labels, term_times) if with_labels else term_times
        return total(terms, TIME) / len(times_of_problems)

    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        label_prefixes = ("entry", "task", BARRIER) if with_waits else (BARRIER,)
        return name, f"{MONITOR}:{name}", *(f"{prefix}:{name}" for prefix in label_prefixes)

    @property
    def time_classes(self) -> Mapping[str, str]:
        # The account books the work to the application.
        return {"leaf": "application", "interior": "application", "inside": "software"}

    @property
    def counters(self) -> Mapping[str, int]:
        return {"tasks": 0}


@checked(kind=TEXT, cost=LIKE)
@dataclass(frozen=True, slots=True)
class Barrier(ResourceKind):
    """A barrier, with the time that it takes after the last processor has arrived [s].

    Parameters
    ----------
    kind : name of the algorithm, as in the catalogue of machines
    cost : time after the last arrival [s]
    """

    kind: str = "central"
    cost: Expr = field(default_factory=lambda: zero(TIME))

    noun = "a barrier"
    use = MET
    capacity = 1
    plain = ("kind", "cost")

    @property
    def time_classes(self) -> Mapping[str, str]:
        return {"cost": "software"}  # to which the account books it

    def __post_init__(self) -> None:
        _refuse_unknown_word("barrier", self.kind, BARRIERS)

    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        return Booked(f"{BARRIER}:{name}", self.cost) if with_labels else self.cost

    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        return (f"{BARRIER}:{name}",)


MOST_CALLS = 10_000
"""The largest number of calls, failures or trials that a circuit breaker counts."""


@checked(
    failures=whole_number(1, MOST_CALLS),
    open=LIKE,
    of=optional_kind(whole_number(1, MOST_CALLS)),
    trials=whole_number(1, MOST_CALLS),
    scv=real_number(0),
)
@dataclass(frozen=True, slots=True)
class Breaker(CostlessResource):
    """A circuit breaker. Attempts ask the breaker before each try, and the breaker counts the
    failed tries.

    A breaker begins in the state closed, in which all tries are admitted. It opens when `failures`
    of the last `of` tries have failed. In the state open, it refuses all tries for a time, and then
    becomes half-open. A half-open breaker admits `trials` tries and refuses any further tries. If
    all trials succeed, the breaker closes and starts its count again. If a trial fails, the breaker
    opens again. A try counts only while the breaker is in the state that admitted the try.

    Parameters
    ----------
    failures : number of failed tries that opens the breaker
    open : mean time for which the breaker refuses all tries [s]
    of : number of latest tries in which failures are counted. The default is `failures`, so that
        the breaker opens after this number of failures in a row
    trials : number of tries that a half-open breaker admits before it closes
    scv : squared coefficient of variation of the time for which the breaker is open; 0 (constant)
        by default

    Source: Nygard, Release It!, 2007, ch. 5 (circuit breaker).

    >>> Breaker(5, 30.0, of=20).calls
    20
    """

    failures: int
    open: Expr
    of: int | None = None
    trials: int = 1
    scv: float = 0.0

    noun = "a circuit breaker"
    use = GUARDED
    capacity = 1
    plain = ("failures", "open", "of", "trials", "scv")
    time_words: ClassVar[Mapping[str, str]] = {"open": "the open time of"}

    def __post_init__(self) -> None:
        if self.failures > self.calls:
            raise ModelError(
                f"a circuit breaker cannot find {self.failures} failures among {self.of} calls; let"
                f" it look back at {self.failures} or more"
            )

    @property
    def calls(self) -> int:
        """The number of latest tries in which failures are counted."""
        return self.of or self.failures

    @property
    def time_classes(self) -> Mapping[str, str]:
        return {"open": ""}  # a setting of the program, which no technology scales

    def ranges(self, name: str) -> Iterator[NumberRange]:
        yield NumberRange(
            f"the open time of circuit breaker {name}", self.open, excludes_least=True
        )


Resource = (
    Station
    | Lock
    | Permits
    | ReaderWriterLock
    | Monitor
    | Semaphores
    | TaskPool
    | Barrier
    | Breaker
)


def _refuse_unknown_word(noun: str, word: str, allowed_words: Collection[str]) -> None:
    """Raise if a word, such as the name of a discipline, is not among the allowed words."""
    if word not in allowed_words:
        raise ModelError(f"there is no {noun} {word!r}{did_you_mean(word, allowed_words)}")


def factors_with_faster_processors(
    factors: Mapping[str, Expr],
    processors: Like,
    fully_gaining: Iterable[str],
    partly_gaining: Iterable[str],
    benefit: Like | None = None,
) -> dict[str, Expr]:
    """Return the factors of a technology, multiplied by the speed-up that faster processors give to
    each class of cost.

    With processors p times as fast, a class under `fully_gaining` takes 1 / p of its time, one
    under `partly_gaining` (1 + b)^(-log2 p): each doubling makes it 1 + b times as fast, which is
    as much for b = 1 and nothing for b = 0.

    Parameters
    ----------
    factors : by class [1], without the gain
    processors : p, how many times faster they are, above 0 [1]
    fully_gaining, partly_gaining : classes that gain; no class stands under both
    benefit : b, from 0 to 1 [1]; None is 1

    Notes
    -----
    Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, technology studies; the rule for a
    part of the gain is our reading of a garbled line.

    >>> from slipstick.expression.nodes import Parameter
    >>> p, b = Parameter("p"), Parameter("b")
    >>> factors_with_faster_processors({}, p, ["software"], ["protocol"], b)
    {'software': 1 / p, 'protocol': pow(1 + b, 0 - log2(p))}
    """
    p = as_expr(processors)
    partial_gain = 1 / p if benefit is None else real_power(1 + as_expr(benefit), 0 - log2(p))
    gain_by_class = {
        **dict.fromkeys(fully_gaining, 1 / p),
        **dict.fromkeys(partly_gaining, partial_gain),
    }
    return {
        **factors,
        **{
            technology: factors[technology] * gain if technology in factors else gain
            for technology, gain in gain_by_class.items()
        },
    }


def scaled_model(model: Model, factors: Mapping[str, Expr]) -> Model:
    """Return a model with the time of every step, lock access and barrier multiplied by the factor
    of its technology class.

    Parameters
    ----------
    model : the system
    factors : by class [1]; a class that is left out keeps its times

    >>> from slipstick.expression.nodes import Parameter
    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> model = closed_model(delay(2.0, name="link", technology="wire"))
    >>> scaled_model(model, {"wire": Parameter("technology.wire", value=0.5)}).steps[0].time
    link * technology.wire
    """
    if not factors:
        return model

    def scaled_step(step: Step) -> Step:
        return (
            replace(step, time=step.time * factors[step.technology])
            if step.technology in factors
            else step
        )

    # One table for all bodies keeps parts that they share shared.
    rebuilt_by_id: dict[int, Activity] = {}
    population = model.population.rebuilt(
        [map_steps(body, scaled_step, rebuilt_by_id=rebuilt_by_id) for body in model.bodies]
    )
    resources = {name: resource.scaled(factors) for name, resource in model.resources.items()}
    return replace(
        model,
        population=population,
        resources=resources,
        single=model.single
        and replace(model.single, model=scaled_model(model.single.model, factors)),
    )


PROCESSORS = ("own", "other", "each-other")
"""Processors as resources: the requesting one itself, one other at random, one other for each
item or branch.
"""


class PopulationKind(ModelPart):
    """The processors or customers that execute the activities of a model.

    Each kind states, without a default, because a default would guess: `open`, whether it is a
    stream of arrivals; `finite`, whether it is a program that ends, the time of which is that of
    the whole program; `size`, what answers are about; `present`, how many there are at most; and
    `variation`, where its processors may execute their activities unequally often. A class that
    leaves one of these out cannot be defined.
    """

    __slots__ = ()

    open: ClassVar[bool]
    finite: ClassVar[bool]

    def __init_subclass__(cls, **arguments: Any) -> None:
        check_fields(cls)
        bases = cls.__mro__[: cls.__mro__.index(PopulationKind)]
        missing_names = [
            name
            for name in ("made_of", "open", "finite", "size", "present", "variation")
            if not any(name in vars(base) for base in bases)
        ]
        if missing_names:
            raise TypeError(
                f"the kind of population {cls.__name__} does not say its"
                f" {', '.join(missing_names)}; see {__name__}.PopulationKind"
            )

    @property
    def bodies(self) -> tuple[Activity, ...]:
        """The activities, in the order written."""
        return self.children

    @property
    @abstractmethod
    def size(self) -> Expr:
        """The number of processors of the group that answers are about [1]; for arrivals, their
        rate [1/s].
        """

    @property
    @abstractmethod
    def present(self) -> Expr:
        """The largest number of processors that can be present [1]."""

    @property
    @abstractmethod
    def variation(self) -> Expr:
        """A number that is above 0 if some processors may execute their activity more often than
        others [1].
        """

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of processors that each repeat a cycle, one without a name if all repeat the
        same cycle, and of customers that arrive; none for other kinds of populations.
        """
        return ()

    @property
    def group_names(self) -> list[str]:
        """The names of the groups by which values are given."""
        return [group.name for group in self.groups if group.name]

    @property
    def targets(self) -> dict[str, Expr]:
        """Targets of response times, whose shares are reported, by the name of the group [s]."""
        return {
            group.name: group.target_time for group in self.groups if group.target_time is not None
        }

    @property
    def streams(self) -> tuple[tuple[Expr, Activity], ...]:
        """The mean rate [1/s] of each stream of arrivals, with the activity of its customers."""
        return tuple((group.rate, group.cycle) for group in self.groups if group.rate is not None)

    @property
    def constructs(self) -> frozenset[str]:
        return frozenset().union(*(group.constructs for group in self.groups))

    @property
    def processor_counts(self) -> tuple[Expr, ...]:
        """The expressions for the numbers of processors."""
        return tuple(group.processors for group in self.groups)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        """The population's own counts with their ranges: at least 1 processor in the first group,
        at least 0 in others, and the repetitions.
        """
        return tuple(
            NumberRange("the number of processors", count_expr, 0 if index else 1, is_whole=True)
            for index, count_expr in enumerate(self.processor_counts)
        )

    def time(self, time_of_body: Callable[[Activity], Expr]) -> Expr:
        """Return the time of a cycle, or of the whole program, from a function that returns the
        time of each body [s].
        """
        return time_of_body(self.bodies[0])


@dataclass(frozen=True, slots=True, repr=False)
class ArrivalPattern(ModelPart):
    """The pattern of the times between arrivals at a given rate; by default a Poisson stream.

    With bursts, arrivals are a two-state Markov-modulated Poisson process, whose rate between
    bursts is the given one. With a trace, customers arrive at its times, scaled to the rate; at its
    end the trace begins again. With a profile, arrivals are a Poisson stream whose rate changes
    from piece to piece of the period.

    Parameters
    ----------
    arrivals_scv : squared coefficient of variation of the times between arrivals [1]
    batch : customers of one arrival; the rate is that of arrivals [1]
    burst_arrivals : rate in a burst [1/s]
    burst_time, quiet_time : mean duration of a burst, and from its end to the next, exponential [s]
    trace : times between arrivals, in proportion [1]
    profile : durations [s] and rates of the pieces of a period, scaled so that their mean is the
        given rate [1/s]
    backlog : customers that come together at time 0, for values before the steady state [1]
    """

    arrivals_scv: float = 1.0
    batch: int = 1
    burst_arrivals: Expr | None = None
    burst_time: Expr | None = None
    quiet_time: Expr | None = None
    trace: tuple[float, ...] = ()
    profile: Profile = ()
    backlog: int = 0

    made_of = ("burst_arrivals", "burst_time", "quiet_time")
    plain = ("backlog",)
    special: ClassVar[Mapping[str, str]] = {
        "arrivals_scv": RENEWALS,
        "batch": BATCHES,
        "trace": TRACES,
        "profile": PROFILES,
        **dict.fromkeys(made_of, BURSTS),
    }

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ModelError(f"a batch is at least 1 customer, got {self.batch}")
        if not 0 <= self.arrivals_scv < math.inf:
            raise ModelError(
                f"the scv of times between arrivals is at least 0, got {self.arrivals_scv:g}"
            )
        if (self.burst_time is None) != (self.quiet_time is None) or (
            self.burst_arrivals is not None and self.burst_time is None
        ):
            raise ModelError("bursts need both a burst_time and a quiet_time, or neither")
        if self.profile:
            check_profile(self.profile, False)
        check_at_least(Number(float(self.backlog)), 0, "a backlog")
        # Batches go with any pattern but a trace, whose times are of single customers.
        patterns = self.constructs - {BATCHES}
        if len(patterns) > 1 or (TRACES in patterns and self.batch > 1):
            raise ModelError(
                f"arrivals follow one pattern: {' or '.join(sorted(self.constructs))}, not both"
            )

    def mean_rate(self, rate: Expr) -> Expr:
        """Return the mean number of customers that arrive in a second [1/s]."""
        if self.burst_time is not None and self.quiet_time is not None:
            burst_rate = zero(RATE) if self.burst_arrivals is None else self.burst_arrivals
            arrivals_of_period = rate * self.quiet_time + burst_rate * self.burst_time
            # The mean over one quiet time and one burst, the period of the process.
            rate = arrivals_of_period / (self.quiet_time + self.burst_time)
        return rate if self.batch == 1 else rate * self.batch


POISSON = ArrivalPattern()


@dataclass(frozen=True, slots=True, repr=False)
class Group(ModelPart):
    """Processors of one kind, each of which repeats the group's cycle without end; or customers
    that arrive at a rate, execute the cycle once and leave. A single group may have no name.

    Parameters
    ----------
    name : in answers
    processors : how many there are; none where they arrive [1]
    cycle : what each processor does
    arrivals : rate at which they arrive; None of processors [1/s]
    pattern : how the arrivals follow each other
    target_time : target of response times, whose share within it is reported; none [s]
    """

    name: str
    processors: Expr
    cycle: Activity
    arrivals: Expr | None = None
    pattern: ArrivalPattern = POISSON
    target_time: Expr | None = None

    made_of: ClassVar[tuple[str, ...]] = (
        "processors",
        "cycle",
        "arrivals",
        "pattern",
        "target_time",
    )
    plain = ("name", "pattern", "target_time")
    special: ClassVar[Mapping[str, str]] = {"arrivals": STREAMS}

    def __post_init__(self) -> None:
        if self.name:
            check_name(self.name)

    @property
    def constructs(self) -> frozenset[str]:
        return constructs_of(self) | self.pattern.constructs

    @property
    def has_response_time(self) -> bool:
        """Whether the response time of the group is reported in addition to the time of its
        cycle.
        """
        return self.arrivals is not None or think_step(self.cycle) is not None

    @property
    def rate(self) -> Expr | None:
        """The mean number of customers that arrive in a second; None for processors [1/s]."""
        return None if self.arrivals is None else self.pattern.mean_rate(self.arrivals)


@dataclass(frozen=True, slots=True)
class ClosedPopulation(PopulationKind):
    """N processors that repeat a cycle without end, or groups of them with a cycle each: the
    classes of a closed population.

    Answers are about the group written first, such as one test processor: the time, the account,
    the shares and the gradient are those of its members. ``time[group]`` and ``throughput[group]``
    tell of the other groups, such as its competitors. Any group but the first may be empty. A
    barrier that names no number of parties waits for all members of all groups whose cycle comes to
    it.
    """

    groups: tuple[Group, ...]

    made_of = ("groups",)
    open = False
    finite = False
    variation = NEVER

    def __post_init__(self) -> None:
        if not self.groups:
            raise ModelError("give at least one group of processors")
        if self.first.arrivals is not None:
            raise ModelError(
                "beside groups of processors, the first group must be one of them, but"
                f" {self.first.name} arrives; write a group with processors first"
            )
        for index, group in enumerate(self.groups):
            if group.name and group.arrivals is None:
                check_at_least(
                    group.processors, 0 if index else 1, f"the processors of group {group.name}"
                )

    @property
    def first(self) -> Group:
        """The group that answers are about."""
        return self.groups[0]

    @property
    def size(self) -> Expr:
        return self.first.processors

    @property
    def present(self) -> Expr:
        # Any number of customers of a stream may be present.
        return Number(MANY) if self.streams else total(self.processor_counts)


@dataclass(frozen=True, slots=True, repr=False)
class OpenPopulation(PopulationKind):
    """Customers that arrive at a rate [1/s], execute an activity once and leave."""

    rate: Expr
    cycle: Activity
    pattern: ArrivalPattern = POISSON
    target_time: Expr | None = None

    made_of: ClassVar[tuple[str, ...]] = ("rate", "cycle", "pattern", "target_time")
    open = True
    finite = False
    variation = NEVER
    plain = ("pattern", "target_time")
    present = Number(MANY)

    @property
    def constructs(self) -> frozenset[str]:
        return self.pattern.constructs

    @property
    def targets(self) -> dict[str, Expr]:
        return {} if self.target_time is None else {"": self.target_time}

    @property
    def size(self) -> Expr:
        return self.pattern.mean_rate(self.rate)

    @property
    def streams(self) -> tuple[tuple[Expr, Activity], ...]:
        return ((self.size, self.cycle),)


@dataclass(frozen=True, slots=True)
class StreamsPopulation(PopulationKind):
    """Several streams of customers, each with an activity that its customers execute once before
    they leave: the classes of an open population.

    The account, the shares and the gradient are those of the stream written first; values such as
    ``response_time[stream]`` tell of each.
    """

    groups: tuple[Group, ...]

    made_of = ("groups",)
    open = True
    finite = False
    variation = NEVER
    present = Number(MANY)

    def __post_init__(self) -> None:
        for group in self.groups:
            if group.arrivals is None:
                raise ModelError(
                    f"group {group.name} does not arrive; a population of processors and arrivals"
                    " is a ClosedPopulation"
                )

    @property
    def constructs(self) -> frozenset[str]:
        group_constructs = frozenset[str]().union(*(group.constructs for group in self.groups))
        return group_constructs - {STREAMS} | {SEVERAL_STREAMS}

    @property
    def processor_counts(self) -> tuple[Expr, ...]:
        return ()

    @property
    def size(self) -> Expr:
        return self.streams[0][0]


def population_of_groups(
    groups: Sequence[Group],
) -> ClosedPopulation | OpenPopulation | StreamsPopulation:
    """Return the population of groups: closed with processors in any of them, and open if all
    arrive. Groups of processors come before those that arrive. A single stream needs no name in
    answers.

    Parameters
    ----------
    groups : in the order written, with names unless there is one

    Raises
    ------
    ModelError : there is no group
    """
    arrival_rates = [group.arrivals for group in groups]
    if not groups or None in arrival_rates:
        # Answers are about the first group, which has to stay in the system.
        return ClosedPopulation(tuple(sorted(groups, key=lambda group: group.arrivals is not None)))
    (first_stream, *further_streams) = groups
    if further_streams:
        return StreamsPopulation(tuple(groups))
    assert first_stream.arrivals is not None
    return OpenPopulation(
        first_stream.arrivals, first_stream.cycle, first_stream.pattern, first_stream.target_time
    )


@dataclass(frozen=True, slots=True)
class Phase(ModelPart):
    """Identical iterations on some of the processors; the phase ends when all have ended."""

    repeat: Expr
    processors: Expr
    cycle: Activity

    made_of = ("repeat", "processors", "cycle")


@dataclass(frozen=True, slots=True)
class PhasedPopulation(PopulationKind):
    """Phases, one after the other; the population is the largest number of processors in any."""

    phases: tuple[Phase, ...]

    made_of = ("phases",)
    open = False
    finite = True

    @property
    def size(self) -> Expr:
        # Equal counts once, so that the formula of a program of many phases stays short.
        return maximum(*dict.fromkeys(self.processor_counts))

    @property
    def present(self) -> Expr:
        return self.size

    @property
    def variation(self) -> Expr:
        """A number that is above 0 if the processors of a phase draw different numbers of
        repetitions: each draws whether it does one more than the whole part [1].
        """
        return total(
            fractional_part(phase.repeat) * maximum(phase.processors - 1, NEVER)
            for phase in self.phases
        )

    @property
    def processor_counts(self) -> tuple[Expr, ...]:
        return tuple(phase.processors for phase in self.phases)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        repeat_ranges = (
            NumberRange(f"the count of phase {phase_number}", phase.repeat)
            for phase_number, phase in enumerate(self.phases, 1)
        )
        processor_ranges = (
            NumberRange("the number of processors", count, 1, is_whole=True)
            for count in self.processor_counts
        )
        return (*repeat_ranges, *processor_ranges)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*self.processor_counts, *(phase.repeat for phase in self.phases))

    def time(self, time_of_body: Callable[[Activity], Expr]) -> Expr:
        return total((phase.repeat * time_of_body(phase.cycle) for phase in self.phases), TIME)


@dataclass(frozen=True, slots=True)
class Superstep(ModelPart):
    """The activity of each processor up to the barrier that ends the superstep, and the cost of the
    barrier.

    Parameters
    ----------
    repeat : how many times in a row [1]
    bodies : one activity for each processor
    barrier : done by all once the last has arrived
    """

    repeat: Expr
    bodies: tuple[Activity, ...]
    barrier: Activity

    made_of = ("repeat", "bodies", "barrier")


@dataclass(frozen=True, slots=True)
class SuperstepPopulation(PopulationKind):
    """A finite program whose processors do different things between barriers: T = sum (max of
    bodies + barrier).
    """

    supersteps: tuple[Superstep, ...]

    made_of = ("supersteps",)
    open = False
    finite = True

    @property
    def processors(self) -> int:
        """The number of processors, the same in all supersteps."""
        return len(self.supersteps[0].bodies)

    @property
    def size(self) -> Expr:
        return Number(float(self.processors))

    @property
    def present(self) -> Expr:
        return self.size

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        return tuple(
            NumberRange(f"the count of superstep {superstep_number}", superstep.repeat)
            for superstep_number, superstep in enumerate(self.supersteps, 1)
        )

    @property
    def variation(self) -> Expr:
        """A number that is above 0 if a random number of repetitions makes the time vary [1]."""
        fractional_repeats = total(
            fractional_part(superstep.repeat) for superstep in self.supersteps
        )
        # A single processor meets no other, so that its repetitions make no maximum random.
        return fractional_repeats * maximum(self.size - 1, NEVER)

    def time(self, time_of_body: Callable[[Activity], Expr]) -> Expr:
        superstep_times = (
            superstep.repeat
            * (maximum(*map(time_of_body, superstep.bodies)) + time_of_body(superstep.barrier))
            for superstep in self.supersteps
        )
        return total(superstep_times, TIME)


def no_rule_for_population_error(method: str, population: PopulationKind) -> NoAnswerError:
    """Return the error with which a method refuses a kind of population."""
    type_name = type(population).__name__
    return NoAnswerError(
        f"{method} has no rule for populations of the kind {type_name}; ask for another method"
    )


Population = (
    ClosedPopulation | OpenPopulation | StreamsPopulation | PhasedPopulation | SuperstepPopulation
)


@dataclass(frozen=True, slots=True)
class SingleProcessor:
    """The first processor of a model without the others, to which `time_alone` and the grain values
    refer.

    Parameters
    ----------
    model : that processor alone; its parameters are among those of the model
    words : shared words that each processor accesses at random in a cycle; None where they are not
        counted [1]
    """

    model: Model
    words: Expr | None = None


_RESOURCES_KIND = mapped_by_name(instance_of(ResourceKind, 'a resource, such as Lock("mcs")'))
_MODEL_KINDS: Mapping[str, Kind] = {"name": TEXT, "useful": list_of(TEXT)}
"""What all models are given."""


@checked(
    population=instance_of(PopulationKind, "a population, as closed_model(...) makes it"),
    resources=_RESOURCES_KIND,
    notes=list_of(TEXT),
    amounts=AMOUNTS,
    **_MODEL_KINDS,
)
@dataclass(frozen=True)
class Model:
    """A complete system that methods can solve: resources, activities and a population.

    Parameters
    ----------
    name : name of the model in answers
    population : the processors and the activities that they execute
    resources : resources by name; processors need no entry
    useful : components that count as useful work
    single : the first processor without the others, if answers are to be compared with this case
    notes : notes on the model, which every answer repeats
    counted : values that depend on the program alone, in base units; every answer repeats them.
        Examples are ``bytes[diffs]``, the mean size of a kind of message; ``accesses[remote]``; and
        ``work``, the units of work of a processor
    left_out : features that were lost at an import, by name, each with its effect; no answer is
        exact then
    estimates : sentences on what was averaged or neglected when the model was built. Every answer
        repeats them, and no answer is exact if there are any
    requires : conditions on quantities of the model; a point that violates one has no answer
    amounts : plain numbers that follow from the values of an answer, such as a cost, by name. Each
        is a dimensionless expression of parameters and of `slipstick.model.amounts.answer_value`
    absences : the groups whose members are no customers, but servers that are away, by name

    Raises
    ------
    ModelError : a step, lock or barrier names a resource that does not exist or is of another kind,
        or two different steps or pipelines have the same name

    >>> from slipstick.model.activity import delay, service
    >>> closed_model(delay(9e-3, name="work") >> service("bus", 1e-3), processors=8).useful
    ('busy',)
    """

    name: str
    population: Population
    resources: Mapping[str, Resource] = field(default_factory=dict)
    useful: tuple[str, ...] = ("busy",)
    single: SingleProcessor | None = None
    notes: tuple[str, ...] = ()
    counted: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict, repr=False)
    estimates: tuple[str, ...] = field(default=(), repr=False)
    requires: tuple[Requirement, ...] = field(default=(), repr=False)
    amounts: Mapping[str, Expr] = field(default_factory=dict, repr=False)
    absences: Mapping[str, Absence] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_model_name(self.name)
        for reserved_name in filter(is_processor, self.resources):
            raise ModelError(processor_name_message(reserved_name))
        for lock_name, resource in self.resources.items():
            if resource.word is not None:
                # Accesses to the word queue at its station as steps do.
                self._check_use(f"the word of lock {lock_name}", resource.word, "service")
        node_by_name: dict[tuple[str, str], Activity] = {}
        nodes = list(distinct_activities(self.bodies))
        for node in nodes:
            with note_part(node):
                self.check_uses(node)
            if isinstance(node, Step | Pipeline):
                noun = f"{type(node).__name__.lower()}s"
                # Equal steps may share a name: the account adds them up.
                if node_by_name.setdefault((noun, node.name), node) != node:
                    raise ModelError(
                        f"two different {noun} are called {node.name}; give each a name of its own"
                    )
        if any(node.counter or node.use == ASKED for node in nodes):
            _check_waits(self)
        if any(step.think for step in self.steps):
            _check_think_time(self)
        if any(isinstance(node, EarlyReply | IfLate) for node in nodes):
            _check_replies(self)

    @property
    def technologies(self) -> list[str]:
        """The technology classes, such as memory or network, of the times in the model;
        `scaled_model` multiplies the times of a class by a factor.
        """
        step_technologies = {step.technology for step in self.steps}
        return sorted(
            step_technologies
            | {
                technology
                for resource in self.resources.values()
                for technology in resource.time_classes.values()
                if technology
            }
        )

    @property
    def customer_groups(self) -> tuple[Group, ...]:
        """The groups of the population, without those that stand for servers that are away."""
        return tuple(group for group in self.population.groups if group.name not in self.absences)

    @property
    def bodies(self) -> tuple[Activity, ...]:
        """The activities of the population. There is one activity, one for each group or phase, or,
        for supersteps, one for each processor and each barrier.
        """
        return self.population.bodies

    @cached_property
    def constructs(self) -> frozenset[str]:
        """The constructs of all parts of the model; a method that does not support one of them
        refuses the model.
        """
        model_parts = (*distinct_activities(self.bodies), *self.resources.values(), self.population)
        return frozenset().union(*(model_part.constructs for model_part in model_parts))

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters of the model by path, including those of amounts and of unused
        resources.
        """
        expressions = self.expressions(with_unused_resources=True)
        if not self.amounts:
            return {parameter.name: parameter for parameter in parameters(*expressions)}
        return input_parameters([*expressions, *self.amounts.values()])

    def expressions(self, with_unused_resources: bool = False) -> tuple[Expr, ...]:
        """List every expression on which an answer may depend, without duplicates.

        Parameters
        ----------
        with_unused_resources : also the expressions of resources that no body uses

        >>> from slipstick.model.activity import delay
        >>> model = closed_model(delay(2.0, name="work"), processors=3)
        >>> [expression.name for expression in model.expressions()]
        ['population.processors', 'work']
        """
        expressions = [*self.population.expressions, *self.expressions_of(self.bodies)]
        if with_unused_resources:
            expressions += [
                expr for resource in self.resources.values() for expr in resource.expressions
            ]
        return tuple(dict.fromkeys(expressions))

    def expressions_of(self, bodies: Iterable[Activity]) -> Iterator[Expr]:
        """Yield every expression of some activities and of the resources that they use."""
        for node in distinct_activities(bodies):
            yield from node.expressions
            for name in node.uses:
                yield from () if is_processor(name) else self.resources[name].expressions

    def speed_alone(self, step: Step) -> Expr | None:
        """Return the speed of a step if no other processor is at its resource, relative to full
        speed. None means 1.

        Parameters
        ----------
        step : of the model
        """
        resource = self.resources.get(step.resource or "")
        return resource.speed_alone if resource is not None else None

    def time_alone(self, step: Step) -> Expr:
        """Return the time of a step if no other processor is at its resource [s]."""
        speed = self.speed_alone(step)
        return step.time if speed is None else step.time / speed

    def held_resource(self, name: str) -> HeldResource:
        """Return the resource of a hold, such as a lock."""
        resource = self.resources[name]
        assert isinstance(resource, HeldResource)
        return resource

    @property
    def pools(self) -> dict[str, TaskPool]:
        """The pools of tasks, by name."""
        return {
            name: resource
            for name, resource in self.resources.items()
            if isinstance(resource, TaskPool)
        }

    def service_discipline(self, resource_name: str | None) -> Discipline | None:
        """Return the discipline of a station; None for other resources, processors and delays."""
        resource = self.resources.get(resource_name or "")
        return DISCIPLINES[resource.discipline] if isinstance(resource, Station) else None

    def holds_taken_together(self, outer_hold: Hold) -> tuple[Hold, ...]:
        """Return the nested holds, from outer to inner, whose locks are acquired in one attempt
        because each hold is directly inside the other.
        """
        nested_holds = [outer_hold]
        while isinstance(inner_hold := nested_holds[-1].body, Hold) and all(
            isinstance(lock, Lock) and lock.together
            for lock in (
                self.resources[nested_holds[-1].resource],
                self.resources[inner_hold.resource],
            )
        ):
            nested_holds.append(inner_hold)
        return tuple(nested_holds)

    def _repr_html_(self) -> str:
        """Return the tables of the steps and the resources as HTML, for display in a notebook."""
        column_titles = ["step", "at", "mean time", "component"]
        step_rows = [
            [step.name, step.resource or "", step.time, step.component] for step in self.steps
        ]
        resource_rows = [
            [name, type(resource).__name__, resource] for name, resource in self.resources.items()
        ]
        return html_table(self.name, column_titles, step_rows) + (
            html_table("resources", ["name", "kind", "as written"], resource_rows)
            if resource_rows
            else ""
        )

    def _repr_latex_(self) -> str:
        """Write the equations of the mean time in LaTeX, as ``slipstick explain`` does, for display
        in a notebook.
        """
        return str(FUNCTIONS["equations of a model"](self))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the model without duplicates, in the order of the file."""
        return tuple(dict.fromkeys(timed_steps(self.bodies)))

    def _check_parties(self, node: Activity) -> None:
        """Raise if a barrier waits for more processors than there are."""
        # Of several groups, only those whose cycle has the barrier come to it.
        population_size = self.population.size if len(self.population.groups) == 1 else None
        if (
            isinstance(population_size, Number | Parameter)
            and population_size.value is not None
            and (node.parties or 0) > population_size.value
        ):
            raise ModelError(
                f"barrier {node.uses[0]} waits for {node.parties} processors, but there are"
                f" {population_size.value:g}, which is a deadlock"
            )

    def check_uses(self, node: Activity) -> None:
        """Raise an error if a node names a resource that does not exist or is of another kind."""
        for resource_name in node.uses:
            if not is_processor(resource_name):
                self._check_use(
                    node.name if isinstance(node, Step) else node.use, resource_name, node.use
                )
        for resource_name in node.held:
            self._check_hold(node, resource_name)
        for child in node.unawaited_children:
            self.check_unawaited(node, child)
        if isinstance(node, Attempt):
            self._check_attempt(node)
        if isinstance(node, Pick):
            self._check_pick(node)
        if isinstance(node, Step) and node.rank:
            self._check_rank(node)
        if isinstance(node, Step) and node.weight is not None:
            self._check_weight(node)
        if node.parties is not None:
            self._check_parties(node)
        if node.counter:
            check_counter(node, self.resources)

    def _check_rank(self, step: Step) -> None:
        """Raise if a step has a rank, but its station does not serve by rank."""
        discipline = self.service_discipline(step.resource)
        if discipline is None or not discipline.ranked:
            raise ModelError(
                f"step {step.name} has a rank, but {step.resource or 'a delay'} does not serve by"
                " rank; give a station the discipline priority"
            )

    def _check_weight(self, step: Step) -> None:
        """Raise if a weight is given where no server is shared."""
        discipline = self.service_discipline(step.resource)
        if discipline is None or not discipline.shared:
            raise ModelError(
                f"step {step.name} has a weight, but {step.resource or 'a delay'} does not share"
                " its server; give a station the discipline ps"
            )

    def _check_pick(self, node: Pick) -> None:
        """Raise if an option of a pick does not begin at a resource with a queue."""
        for resource_name in node.first_resources:
            resource = self.resources.get(resource_name)
            has_queue = resource is not None and (
                resource.use == SERVED or resource.has_plain_queue
            )
            if not has_queue:
                first_resource_in_words = (
                    f"{resource_name or 'nothing'}{f', {resource.noun}' if resource else ''}"
                )
                raise ModelError(
                    "each part of a pick begins with a step at a station, or a hold of a fifo lock"
                    f" or of permits; one begins at {first_resource_in_words}"
                )
            if node.by == LEAST_WORK:
                self._check_known_work(resource_name)

    def _check_known_work(self, resource_name: str) -> None:
        """Raise if the remaining work at a resource is unknown, or is not done at one speed."""
        resource = self.resources[resource_name]
        resource_in_words = resource.noun
        if discipline := self.service_discipline(resource_name):
            has_rates = resource.speed_alone is not None
            if not (has_rates or discipline.delay):
                return
            resource_in_words += " with rates" if has_rates else " where none waits"
        raise ModelError(
            f"a pick by {LEAST_WORK} needs stations whose servers have one speed, where the work of"
            f" a visit is known when it begins; {resource_name} is {resource_in_words}"
        )

    def _check_attempt(self, node: Attempt) -> None:
        """Raise if an attempt visits a resource whose queue cannot be abandoned."""
        resource = self.resources.get(node.resource)
        has_queue = is_shared = False
        uninterrupted_discipline = ""
        resource_in_words = "a processor" if resource is None else resource.noun
        if resource is not None and (discipline := self.service_discipline(node.resource)):
            is_shared = discipline.shared
            if discipline.preemptive:
                uninterrupted_discipline = "priority" if discipline.ranked else "lcfs"
            # Where none waits, a service may still take too long.
            has_queue = discipline.queued and not discipline.preemptive
            has_queue |= (discipline.delay or is_shared) and node.cuts
            resource_in_words += f" of the discipline {discipline.name}"
            if resource.speed_alone is not None and node.cuts:
                raise ModelError(
                    f"a service at {node.resource}, a station with rates, cannot be given up; write"
                    f" limits: {WAITING}, or servers in the place of rates"
                )
        if not (has_queue or (resource is not None and resource.has_plain_queue)):
            raise ModelError(
                "an attempt needs a queue: a station that is not shared and interrupts no service,"
                f" a fifo lock, or permits; {node.resource} is {resource_in_words}"
                + f"; limits: {VISIT} gives up services there, too" * (is_shared and not node.cuts)
                + f"; the discipline {uninterrupted_discipline}, which interrupts none, has a queue"
                * bool(uninterrupted_discipline)
            )
        if node.queue is not None and is_shared:
            raise ModelError(
                f"an attempt at {node.resource}, whose servers are shared, finds no queue that is"
                " full; leave its queue out, or hold permits around the service"
            )
        if node.queue is not None and isinstance(node.visit, Hold) and node.visit.permits:
            raise ModelError(
                f"an attempt at {node.resource} that may find its queue full takes one permit at a"
                " time; leave out its queue, or its permits"
            )

    def check_unawaited(self, node: Activity, branch: Activity) -> None:
        """Raise an error if a branch that runs in parallel with its processor holds a resource that
        cannot pass to the branch, or waits for all processors.
        """
        held_name = next(iter(node.held), "")
        work_in_words = (
            f"the second phase at {held_name}"
            if held_name
            else "a branch that a fork does not wait for"
        )
        if held_name and not self.resources[held_name].has_plain_queue:
            raise ModelError(
                f"a second phase must hold a fifo lock or permits, not {held_name},"
                f" {self.resources[held_name].noun}"
            )
        if any(inner_node.use in (MET, ASKED) for inner_node in steps(branch)):
            raise ModelError(
                f"{work_in_words} cannot wait for other processors, because its own"
                " has gone on; leave barriers and pools out of it"
            )
        # Its end would come after the end of the program, which no method counts.
        if self.population.finite:
            raise ModelError(
                f"{work_in_words} may outlast a program that ends; give it to"
                " processors that repeat a cycle, or to arrivals"
            )

    def _check_hold(self, node: Activity, resource_name: str) -> None:
        """Raise if a resource is held twice, or in a mode that it does not have."""
        inner_nodes = (inner_node for child in node.children for inner_node in steps(child))
        if any(resource_name in inner_node.held for inner_node in inner_nodes):
            raise ModelError(
                f"{resource_name} is requested by a processor that holds it already, which is a"
                " deadlock"
            )
        if isinstance(node, Hold) and node.permits is not None:
            self._check_permits(node, node.permits)
        modes = self.resources[resource_name].modes
        if node.mode not in modes:
            modes_in_words = f"in one of the modes {', '.join(MODES)}"
            mode_in_words = modes_in_words if modes == MODES else "without a mode"
            raise ModelError(
                f"{resource_name} is {self.resources[resource_name].noun}; hold it {mode_in_words}"
            )

    def _check_permits(self, node: Hold, permit_expr: Expr) -> None:
        """Raise if several permits are taken of a resource without permits, or more permits than
        there are.
        """
        resource = self.resources[node.resource]
        if not isinstance(resource, Permits):
            raise ModelError(
                f"a hold takes several permits at once, and {node.resource} is {resource.noun};"
                " give it permits"
            )
        permit_count = permit_expr.value if isinstance(permit_expr, Number | Parameter) else None
        if permit_count is not None and permit_count > resource.number:
            raise ModelError(
                f"a hold takes {permit_count:g} permits of {node.resource} at once, and there are"
                f" {resource.number}: it would wait without end; take at most {resource.number},"
                " or have more of them"
            )

    @property
    def counters(self) -> dict[str, int]:
        """The initial value of each counter that steps wait for or signal, by its full name."""
        return _units_by_counter(self.resources)

    def monitor_of(self, counter: str) -> str | None:
        """Return the monitor that has a counter as its condition; None if there is no such
        monitor.
        """
        resource_name = counter.rpartition(".")[0]
        return resource_name if isinstance(self.resources.get(resource_name), Monitor) else None

    def _check_use(self, user: str, name: str, use: str) -> None:
        """Raise if a resource does not exist, or is not of the kind that its user needs."""
        if name not in self.resources:
            known_names = (*self.resources, *PROCESSORS)
            raise ModelError(
                f"{user} needs {RESOURCES_BY_USE[use]} called {name!r}, which does not"
                f" exist{did_you_mean(name, known_names)}"
            )
        if self.resources[name].use != use:
            raise ModelError(
                f"{user} needs {RESOURCES_BY_USE[use]}, but {name!r} is {self.resources[name].noun}"
            )


def _check_think_time(model: Model) -> None:
    """Raise if a step with think time is not the first step of a cycle that has other steps."""
    cycles = [group.cycle for group in model.population.groups if group.arrivals is None]
    other_activities: list[Activity] = []
    for body in model.bodies:
        first_step = think_step(body) if any(body is cycle for cycle in cycles) else None
        later_parts = body.sequence[1:] if first_step else ()
        other_activities += later_parts if later_parts else (body,)
    for node in distinct_activities(other_activities):
        if isinstance(node, Step) and node.think:
            with note_part(node):
                raise ModelError(
                    f"step {node.name} has think: true; think time must be the first step of a"
                    " cycle"
                    " with other steps; elsewhere, and for arrivals and programs, leave think out"
                )


def _check_replies(model: Model) -> None:
    """Raise for replies outside of a hold, replies that may be sent twice, holds whose body cannot
    run in parallel with its processor, and late steps outside of a fork that stops waiting early.
    """
    body: Activity
    for body in model.bodies:
        _check_replies_inside(body, ())
    for node in distinct_activities(model.bodies):
        if isinstance(node, Hold) and has_reply(node):
            with note_part(node):
                _check_hold_with_reply(model, node)


def _check_hold_with_reply(model: Model, node: Hold) -> None:
    """Raise if the body of a hold with a reply cannot be executed in parallel with its
    processor.
    """
    model.check_unawaited(node, node.body)
    if node.after is not None:
        raise ModelError(
            f"the hold of {node.resource} has a reply, so what is done after it is part of its"
            " body; leave after out"
        )
    if _largest_reply_count(node.body, node.resource) > 1:
        raise ModelError(
            f"the body of the hold of {node.resource} may reply twice; its processor goes on once:"
            " leave one reply out, or put them into options of a choice"
        )


def _check_replies_inside(node: Activity, enclosing_nodes: tuple[Activity, ...]) -> None:
    """Raise for a reply or a late step that is not allowed inside the nodes that enclose it."""
    with note_part(node):
        if isinstance(node, EarlyReply):
            _check_reply(node, enclosing_nodes)
        elif isinstance(node, IfLate):
            _check_late(enclosing_nodes)
    for child in node.children:
        _check_replies_inside(child, (*enclosing_nodes, node))


def _check_reply(node: EarlyReply, enclosing_nodes: tuple[Activity, ...]) -> None:
    """Raise for a reply that no hold of its resource encloses, or that a node between the two may
    execute several times or in parallel with the processor of the hold.
    """
    hold_positions = [
        position
        for position, enclosing_node in enumerate(enclosing_nodes)
        if node.resource in enclosing_node.held
    ]
    if not hold_positions:
        raise ModelError(
            f"a reply to {node.resource} stands inside a hold of {node.resource}; there is none"
            " around it"
        )
    nodes_between = enclosing_nodes[hold_positions[-1] + 1 :]
    (child_of_hold, *_) = (*nodes_between, node)
    if any(
        child_of_hold is unawaited_child
        for unawaited_child in enclosing_nodes[hold_positions[-1]].unawaited_children
    ):
        raise ModelError(
            f"a reply to {node.resource} stands in what is done after the body of its hold, when"
            " its processor has gone on; leave this reply out"
        )
    for node_between in nodes_between:
        may_repeat_or_outlast = node_between.unawaited_children or isinstance(
            node_between, Repeat | Pipeline
        )
        if may_repeat_or_outlast or (isinstance(node_between, Hold) and has_reply(node_between)):
            raise ModelError(
                f"a reply to {node.resource} cannot stand inside a {node_between.kind} that may"
                " execute it several times, or goes on beside its processor; put it directly into"
                " the body of the hold, a choice, or a fork that waits for all branches"
            )


def _check_late(enclosing_nodes: tuple[Activity, ...]) -> None:
    """Raise for steps without a fork around them that stops waiting before all branches end."""
    # Below these nodes another token executes the steps than the one that began.
    nodes_with_parallel_parts = (
        enclosing_node
        for enclosing_node in enclosing_nodes[::-1]
        if enclosing_node.unawaited_children
        or is_parallel(enclosing_node)
        or (isinstance(enclosing_node, Hold) and has_reply(enclosing_node))
    )
    fork_around = next(nodes_with_parallel_parts, None)
    join = fork_around.join if isinstance(fork_around, Fork) else None
    if join is None or is_number(join, 0.0):
        raise ModelError(
            "if_late stands in a branch of a fork with a join, and leaves its steps out when the"
            " fork waits no longer; give the fork around it a join, such as 1"
        )


def has_reply(hold: Hold) -> bool:
    """Return whether the body of a hold has a reply for the resource of the hold."""
    return any(
        isinstance(node, EarlyReply) and node.resource == hold.resource
        for node in distinct_activities([hold.body])
    )


def _largest_reply_count(node: Activity, resource: str) -> int:
    """Return how many replies to a resource one execution of an activity has at most."""
    if isinstance(node, EarlyReply):
        return int(node.resource == resource)
    reply_counts = [_largest_reply_count(child, resource) for child in node.children]
    is_alternative = bool(node.probabilities) or isinstance(node, Pick | Attempt)
    return max(reply_counts, default=0) if is_alternative else sum(reply_counts)


def _units_by_counter(resources: Mapping[str, Resource]) -> dict[str, int]:
    """Return the initial units of each counter, by the full name RESOURCE.COUNTER."""
    counters_by_resource = ((name, resource.counters) for name, resource in resources.items())
    return {
        f"{name}.{counter}": units
        for name, counters in counters_by_resource
        for counter, units in counters.items()
    }


def check_counter(step: Activity, resources: Mapping[str, Resource]) -> None:
    """Raise if a step names a counter that does not exist, or one that belongs to a pool of
    tasks.
    """
    counter_names = [
        name
        for name in _units_by_counter(resources)
        if resources[name.rpartition(".")[0]].use != "ask"
    ]
    if step.counter not in counter_names:
        raise ModelError(
            f"{step!r} needs a semaphore, the places or items of a buffer, or a condition of a"
            " monitor" + did_you_mean(step.counter, counter_names)
        )


def _check_waits(model: Model) -> None:
    """Raise if a wait never ends, if units only grow in number, or if not all processors ask a
    pool.

    A signal is the last step in a monitor, because its processor leaves the monitor. A processor
    that waits in a monitor holds no other lock, because it would keep that lock while it waits.
    """
    nodes = list(distinct_activities(model.bodies))
    signalled_counters, taken_counters = (
        {node.counter for node in nodes if node.use == use} for use in (GIVEN, TAKEN)
    )

    def check_node(node: Activity, enclosing_nodes: tuple[Activity, ...], is_last: bool) -> None:
        """Check the waits and signals of a node and of its children; `is_last` says whether the
        node is the last step inside a hold.
        """
        if node.use == ASKED and (enclosing_nodes or model.population.open):
            raise ModelError(
                f"{node!r} needs all processors each time, so it cannot be in a model with"
                " arrivals, or inside a fork, a choice or a hold"
            )
        if node.counter:
            check_unit(node, enclosing_nodes, is_last)
        enclosing_nodes_of_child = (
            enclosing_nodes if isinstance(node, Then | Repeat) else (*enclosing_nodes, node)
        )
        for index, child in enumerate(node.children):
            child_is_last = is_last and isinstance(node, Then) and index == len(node.children) - 1
            check_node(child, enclosing_nodes_of_child, child_is_last or bool(node.held))

    def check_unit(node: Activity, enclosing_nodes: tuple[Activity, ...], is_last: bool) -> None:
        """Raise if a step that takes or gives a unit of a counter cannot work where it stands."""
        monitor = model.monitor_of(node.counter)
        is_wait = node.use == TAKEN
        if is_wait and node.counter not in signalled_counters:
            raise ModelError(f"no step signals {node.counter}, so a wait for it never ends")
        held_names = [name for enclosing_node in enclosing_nodes for name in enclosing_node.held]
        if monitor is not None and not (held_names[-1:] == [monitor] and enclosing_nodes[-1].held):
            raise ModelError(
                f"{node!r} must be directly inside a hold of the monitor {monitor}, not in a fork,"
                " a choice or a pipeline"
            )
        kept_locks = [name for name in held_names[:-1] if model.resources[name].capacity == 1]
        if monitor is not None and is_wait and kept_locks:
            raise ModelError(
                f"{node!r} leaves {monitor}, but not {kept_locks[0]}, which is held as well: a"
                " deadlock"
            )
        if monitor is not None and not (is_wait or is_last):
            raise ModelError(
                f"{node!r} must be the last step inside {monitor}: a signal leaves the monitor at"
                " once"
            )
        if not (is_wait or node.counter in taken_counters or model.population.finite):
            raise ModelError(f"no step waits for {node.counter}, so its units grow without end")

    for body in model.bodies:
        check_node(body, (), False)


def group_names(model: object) -> list[str]:
    """List the names of the groups of an activity's population; empty for other models."""
    groups = model.customer_groups if isinstance(model, Model) else ()
    return [group.name for group in groups if group.name]


@dataclass(frozen=True, slots=True)
class Labels:
    """The component and the technology class of each label of an account: steps, waits, locks and
    barriers.

    Parameters
    ----------
    classes_by_label : component and technology class of each step or pool, by its label
    other_technology : technology class of all else: waiting, or in closed form the accesses to the
        words of locks
    """

    classes_by_label: Mapping[str, tuple[str, str]]
    other_technology: str = "wait"

    @classmethod
    def from_model(cls, model: Model, other_technology: str = "wait") -> Labels:
        """Build the labels of the steps and pools of a model."""
        classes_by_label = {step.name: (step.component, step.technology) for step in model.steps}
        for name, pool in model.pools.items():
            classes_by_label |= {
                name: (pool.component, "application"),
                f"{MONITOR}:{name}": (MONITOR, "software"),
                f"{BARRIER}:{name}": (f"{BARRIER}:{name}", "wait"),
            }
        return cls(classes_by_label, other_technology)

    def component(self, label: str) -> str:
        """Return the component of a label; a wait is a component of its own."""
        return self._component_and_technology(label)[0]

    def technology(self, label: str) -> str:
        """Return the technology class of a label; waits have a class of their own."""
        return self._component_and_technology(label)[1]

    def _component_and_technology(self, label: str) -> tuple[str, str]:
        """Return the component and the technology class of a label."""
        if label.startswith(f"{BARRIER}:") and label not in self.classes_by_label:
            return BARRIER, "software"
        default_classes = (
            (IDLE, "application")
            if label in (IDLE, IDLE_PROCESSORS)
            else (label, self.other_technology)
        )
        return self.classes_by_label.get(label, default_classes)


def is_processor(resource_name: str) -> bool:
    """Return whether a resource name stands for a member of the population."""
    return resource_name in PROCESSORS or (
        resource_name.startswith("processor[") and resource_name.endswith("]")
    )


def processor_name_message(name: str) -> str:
    """Return the message on a resource that has the name of a processor."""
    return (
        f"{name} is the name of a processor in steps, not of a resource; give the resource another"
        f" name, such as {name.partition('[')[0]}_desk"
    )


def need_model(model: object, user: str) -> Model:
    """Return a value that is a model of an activity; raise for any other value."""
    kind_by_type = {"QueueingNetwork": "a queueing network", "Law": "a law"}
    kind_in_words = (
        model.words if isinstance(model, AddedModel) else kind_by_type.get(type(model).__name__)
    )
    if kind_in_words:
        raise ModelError(f"{user} takes a model of an activity, not {kind_in_words}")
    if not isinstance(model, Model):
        type_name = type(model).__name__
        raise ModelError(
            f"{user} takes a model, not a {type_name}; wrap an activity with closed_model(...), or"
            " load one by name"
        )
    return model


_BUILDER_KINDS: Mapping[str, Kind] = {
    **_MODEL_KINDS,
    "resources": optional_kind(_RESOURCES_KIND),
    "amounts": optional_kind(AMOUNTS),
}
"""What the functions that build models are given."""


@checked(cycle=ACTIVITY, processors=LIKE, **_BUILDER_KINDS)
def closed_model(
    cycle: Activity,
    processors: Like = 1,
    *,
    name: str = "model",
    resources: Mapping[str, Resource] | None = None,
    useful: tuple[str, ...] = ("busy",),
    amounts: Mapping[str, Expr] | None = None,
) -> Model:
    """Build a model of N processors that repeat a cycle. A resource that is not listed is a single
    server, a FIFO lock or a barrier without cost.

    Parameters
    ----------
    cycle : the activity that each processor repeats
    processors : number of processors N, at least 1; a plain number is stored as the parameter
        ``population.processors``
    name, resources, useful, amounts : see `Model`
    """
    processor_count = _positive_processor_count(processors)
    return Model(
        name,
        ClosedPopulation((Group("", processor_count, cycle),)),
        _with_default_resources([cycle], resources),
        useful,
        amounts=amounts or {},
    )


_GROUP = "a pair of a number and an activity, such as (2, delay(1.0))"


_PATTERN = instance_of(ArrivalPattern, "a pattern of arrivals")
_GROUPS = either_kind(
    _GROUP,
    row_of(LIKE, ACTIVITY, expected=_GROUP),
    row_of(LIKE, ACTIVITY, _PATTERN, expected=_GROUP),
)


@checked(groups=mapped_by_name(_GROUPS), **_BUILDER_KINDS)
def grouped_model(
    groups: Mapping[str, tuple[Like, Activity] | tuple[Expr, Activity, ArrivalPattern]],
    *,
    name: str = "model",
    resources: Mapping[str, Resource] | None = None,
    useful: tuple[str, ...] = ("busy",),
    amounts: Mapping[str, Expr] | None = None,
) -> Model:
    """Build a model of several groups of processors or streams of customers, each with its own
    activity. The account belongs to the first group or, if there are streams, to the first group of
    processors.

    Parameters
    ----------
    groups : by name, the number of processors and the activity of each of them. The number is
        stored as the parameter ``groups.NAME.processors``. The first group of processors has at
        least 1; any other group may have none. A rate, an expression in [1/s] in place of the
        number, makes a stream of arrivals; the pattern of arrivals may follow the activity
    name, resources, useful, amounts : see `Model`

    >>> from slipstick.model.activity import delay, service
    >>> ask = service("bus", 1.0)
    >>> grouped_model(
    ...     {"test": (1, ask), "others": (3, delay(9.0, name="think") >> ask)}
    ... ).population.first.name
    'test'
    """
    built_groups = tuple(_build_group(group_name, *group) for group_name, group in groups.items())
    return Model(
        name,
        population_of_groups(built_groups),
        _with_default_resources([group.cycle for group in built_groups], resources),
        useful,
        amounts=amounts or {},
    )


def _build_group(
    name: str, processors_or_rate: Like, cycle: Activity, pattern: ArrivalPattern = POISSON
) -> Group:
    """Build a group of processors, or of customers that arrive at a rate."""
    # The unit tells a rate of arrivals from a number of processors.
    if isinstance(processors_or_rate, Expr) and processors_or_rate.dimension == RATE:
        return Group(name, Number(0.0), cycle, processors_or_rate, pattern)
    return Group(
        name, _named_processor_count(processors_or_rate, f"groups.{name}.processors"), cycle
    )


@checked(cycle=ACTIVITY, rate=LIKE, pattern=_PATTERN, **_BUILDER_KINDS)
def open_model(
    cycle: Activity,
    rate: Like,
    *,
    name: str = "model",
    resources: Mapping[str, Resource] | None = None,
    useful: tuple[str, ...] = ("busy",),
    amounts: Mapping[str, Expr] | None = None,
    pattern: ArrivalPattern = POISSON,
) -> Model:
    """Build a model of customers that arrive at a rate [1/s] with a pattern, execute the activity
    once and leave.

    Parameters
    ----------
    cycle : the activity of each customer
    rate : arrival rate [1/s]; a plain number is stored as the parameter ``population.arrivals``
    pattern : pattern of the arrivals, such as bursts; Poisson arrivals by default
    name, resources, useful, amounts : see `Model`
    """
    arrival_rate = (
        rate if isinstance(rate, Expr) else Parameter("population.arrivals", RATE, float(rate))
    )
    if arrival_rate.dimension != RATE:
        raise ModelError(
            f"arrivals must be a [1/s], got [{arrival_rate.dimension}]: {arrival_rate}"
        )
    check_at_least(arrival_rate, 0, "the rate of arrivals")
    population = OpenPopulation(arrival_rate, cycle, pattern)
    return Model(
        name, population, _with_default_resources([cycle], resources), useful, amounts=amounts or {}
    )


_PHASE = "a repeat, a number of processors and an activity, such as (1, 4, delay(1.0))"


@checked(parts=row_of(LIKE, LIKE, ACTIVITY, expected=_PHASE), **_BUILDER_KINDS)
def phased_model(
    *parts: tuple[Like, Like, Activity],
    name: str = "model",
    resources: Mapping[str, Resource] | None = None,
    useful: tuple[str, ...] = ("busy",),
    amounts: Mapping[str, Expr] | None = None,
) -> Model:
    """Build a model of a program with several phases, one after the other. A phase has a number of
    repetitions, a number of processors and a cycle.

    Parameters
    ----------
    parts : the phases, each with its number of repetitions, its number of processors, and the
        activity of each processor
    name, resources, useful, amounts : see `Model`
    """
    phases = tuple(
        Phase(as_count(repetitions, "repeat"), as_count(processors, "processors"), cycle)
        for repetitions, processors, cycle in parts
    )
    if not phases:
        raise ModelError("a program needs at least one phase")
    for phase in phases:
        check_at_least(phase.repeat, 0, "the repeat of a phase")
        check_at_least(phase.processors, 1, "the processors of a phase")
    return Model(
        name,
        PhasedPopulation(phases),
        _with_default_resources([phase.cycle for phase in phases], resources),
        useful,
        amounts=amounts or {},
    )


_SUPERSTEP = (
    "a repeat, an activity for each processor and a barrier, such as (1, [delay(1.0)], delay(0.1))"
)


@checked(parts=row_of(LIKE, list_of(ACTIVITY), ACTIVITY, expected=_SUPERSTEP), **_BUILDER_KINDS)
def superstep_model(
    *parts: tuple[Like, Sequence[Activity], Activity],
    name: str = "model",
    resources: Mapping[str, Resource] | None = None,
    useful: tuple[str, ...] = ("busy",),
    amounts: Mapping[str, Expr] | None = None,
) -> Model:
    """Build a model of a program with several supersteps, one after the other. A superstep has a
    number of repetitions, an activity for each processor, and a barrier.

    Parameters
    ----------
    parts : for each superstep: the number of repetitions, a list with the activity of each
        processor, and the barrier at the end
    name, resources, useful, amounts : see `Model`

    >>> from slipstick.model.activity import delay
    >>> lines = [delay(2.0, name="short"), delay(3.0, name="long")]
    >>> superstep_model(
    ...     (10, lines, delay(0.5, name="meet", component="barrier"))
    ... ).population.processors
    2
    """
    supersteps = tuple(
        Superstep(as_count(repetitions, "repeat"), tuple(bodies), barrier)
        for repetitions, bodies, barrier in parts
    )
    if (
        not supersteps
        or len({len(superstep.bodies) for superstep in supersteps}) != 1
        or not supersteps[0].bodies
    ):
        raise ModelError(
            "supersteps need at least one processor, and the same number of them in each"
        )
    for superstep in supersteps:
        check_at_least(superstep.repeat, 0, "the repeat of a superstep")
    bodies = [body for superstep in supersteps for body in (*superstep.bodies, superstep.barrier)]
    return Model(
        name,
        SuperstepPopulation(supersteps),
        _with_default_resources(bodies, resources),
        useful,
        amounts=amounts or {},
    )


def _positive_processor_count(processors: Like) -> Expr:
    """Return the processors of a population as an expression; raise if there are less than 1."""
    processor_count = _named_processor_count(processors, "population.processors")
    if (
        isinstance(processor_count, Parameter)
        and processor_count.value is not None
        and not processor_count.value >= 1
    ):
        raise ModelError(f"a population needs at least 1 processor, got {processor_count.value:g}")
    return processor_count


def _named_processor_count(processors: Like, name: str) -> Expr:
    """Return a number of processors as a named parameter, so that it can be varied."""
    processor_count = as_count(processors, "processors")
    return (
        Parameter(name, COUNT, processor_count.value)
        if isinstance(processor_count, Number)
        else processor_count
    )


_DEFAULT_RESOURCES: Mapping[str, Callable[[], Resource]] = {
    "service": Station,
    "hold": Lock,
    "barrier": Barrier,
}


def _with_default_resources(
    bodies: list[Activity], given_resources: Mapping[str, Resource] | None
) -> dict[str, Resource]:
    """Return the resources, with the simplest resource for each name that is used but not
    described; times that are plain numbers become parameters.
    """
    resource_by_name = dict(given_resources or {})
    # So that every time of the model has a path by which it can be set.
    resource_by_name = {
        name: resource.with_parameters(name) for name, resource in resource_by_name.items()
    }
    for node in distinct_activities(bodies):
        for name in node.uses:
            if node.use in _DEFAULT_RESOURCES and not is_processor(name):
                # A name alone says only what kind of use is made of it.
                resource_by_name.setdefault(name, _DEFAULT_RESOURCES[node.use]())
    return resource_by_name
