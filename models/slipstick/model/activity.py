"""Activities: trees of named steps on shared resources.

Each kind of step states what `slipstick.model.steps` asks of it. The names, times and counts that
builders take are checked here.
"""

from __future__ import annotations

import math
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from itertools import pairwise
from typing import ClassVar

from slipstick.arguments import (
    FLAG,
    TEXT,
    checked,
    either_kind,
    instance_of,
    list_of,
    optional_kind,
    real_number,
    row_of,
    whole_number,
)
from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import (
    COUNT,
    LIKE,
    TIME,
    Dimension,
    Expr,
    Like,
    Number,
    Parameter,
    as_expr,
    constant,
    floor,
    maximum,
    minimum,
    sqrt,
    total,
    walk,
)
from slipstick.late import dataclass, field, late_pattern, replace
from slipstick.model.steps import (
    ACTIVITY,
    ALWAYS,
    ASKED,
    BY_STATE,
    GIVEN,
    GUARDED,
    HELD,
    MET,
    NEVER,
    NOTHING,
    ONCE,
    ROUNDING,
    SERVED,
    TAKEN,
    Activity,
    ByState,
    Combination,
    ModelPart,
    NumberRange,
    argument_texts,
    constructs_of,
    distinct_activities,
    fractional_part,
    python_text,
    single_executions,
)
from slipstick.time_distributions import TimeDistribution
from slipstick.vocabulary import (
    ATTEMPTS,
    BREAKERS,
    CUT_SERVICES,
    EARLY_JOINS,
    FULL_QUEUES,
    GEOMETRIC_COUNT,
    HEDGES,
    MOST_HOLDERS,
    RANKS,
    REPLIES,
    ROUTES,
    ROUTES_BY_STATE,
    SECOND_PHASES,
    SEVERAL_PERMITS,
    SHORTEST,
    TECHNOLOGIES,
    WEIGHTS,
)


@dataclass(frozen=True, slots=True, repr=False)
class Step(Activity):
    """A step of an activity without parts: a service at a resource, or a delay.

    Parameters
    ----------
    name : name of the step in tables
    time : mean time [s]
    resource : the resource at which the step may wait; None for a delay
    component : component of the account to which the time belongs
    technology : class of the technology that sets the time; changes of that class scale it
    scv : squared coefficient of variation of the time; 0 (constant) by default
    distribution : distribution of the time, which sets the scv; by default the one of
        `slipstick.random_times` with the given scv
    rank : priority at a station that serves by rank; smaller ranks are served first
    think : whether a delay at the start of a cycle is think time, which response times exclude
    weight : relative speed at a station that shares its server; 1 by default
    """

    name: str
    time: Expr
    resource: str | None = None
    component: str = "busy"
    technology: str = "application"
    scv: float = 0.0
    distribution: TimeDistribution | None = None
    rank: int = 0
    think: bool = False
    weight: Expr | None = None

    special: ClassVar[Mapping[str, str]] = {"rank": RANKS, "weight": WEIGHTS}
    made_of = ("time", "weight")
    named = "resource"
    word = "step"
    # Every method knows a distribution by its mean and scv, a chain and the simulator in full; a
    # delay is one for every method, whether it is thinking or not.
    plain = ("name", "resource", "component", "technology", "scv", "distribution", "think")
    combination = Combination.IN_TURN
    use = SERVED
    executions = ()

    def __post_init__(self) -> None:
        for label in (self.name, self.component, self.resource or "none"):
            check_name(label)
        if self.technology not in TECHNOLOGIES:
            raise ModelError(
                f"step {self.name}: there is no technology class {self.technology!r}"
                + did_you_mean(self.technology, TECHNOLOGIES)
            )
        # Methods that know only two moments read the scv: it must be that of the distribution.
        if self.distribution is not None:
            object.__setattr__(self, "scv", self.distribution.scv)
        if self.think and self.resource is not None:
            raise ModelError(
                f"step {self.name}: think time is spent at no resource; make it a delay"
            )
        if not (self.scv >= 0 and math.isfinite(self.scv)):
            raise ModelError(f"step {self.name}: scv must be at least 0, got {self.scv!r}")

    @property
    def children(self) -> tuple[Activity, ...]:
        return ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.time,) if self.weight is None else (self.time, self.weight)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        time_range = NumberRange(f"the time of step {self.name}", self.time)
        if self.weight is None:
            return (time_range,)
        description = f"the weight of step {self.name}"
        return time_range, NumberRange(description, self.weight, excludes_least=True)

    @property
    def variation(self) -> Expr:
        return ALWAYS if self.scv > 0 else NEVER

    def __repr__(self) -> str:
        _, _, *label_texts = argument_texts(self)
        time_text = f"{python_text(self.time)}, name={self.name!r}"
        if self.resource is None:
            return f"delay({', '.join([time_text, *label_texts])})"
        return f"service({self.resource!r}, {', '.join([time_text, *label_texts[1:]])})"


@dataclass(frozen=True, slots=True, repr=False)
class Then(Activity):
    """Activities executed one after the other."""

    parts: tuple[Activity, ...]

    made_of = ("parts",)
    word = "then"
    combination = Combination.IN_TURN
    use = NOTHING
    variation = NEVER

    @property
    def children(self) -> tuple[Activity, ...]:
        return self.parts

    @property
    def sequence(self) -> tuple[Activity, ...]:
        return self.parts

    @property
    def first_resource(self) -> str:
        return self.parts[0].first_resource if self.parts else ""

    @property
    def executions(self) -> tuple[Expr, ...]:
        return single_executions(self.parts)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.parts)) or "then()"


@dataclass(frozen=True, slots=True, repr=False)
class Fork(Activity):
    """Requests issued together by one processor, which waits for all of them, or for the first.

    Parameters
    ----------
    branches : of which each is executed to its end
    join : how many of them are waited for: a quorum, 1 for the first, 0 for none; the others
        continue while the processor goes on. All by default [1]
    """

    branches: tuple[Activity, ...]
    join: Expr | None = None

    made_of = ("branches", "join")
    word = "fork"
    special: ClassVar[Mapping[str, str]] = {"join": EARLY_JOINS}
    combination = Combination.LONGEST
    use = NOTHING
    variation = NEVER

    @property
    def first_resource(self) -> str:
        return self.branches[0].first_resource

    @property
    def executions(self) -> tuple[Expr, ...]:
        return single_executions(self.branches)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        if self.join is None:
            return ()
        branch_count = float(len(self.branches))
        return (NumberRange("the join of a fork", self.join, most=branch_count, is_whole=True),)

    @property
    def unawaited_children(self) -> tuple[Activity, ...]:
        # Which branches are waited for is known only as they end: any of them may outlast the fork.
        return () if self.join is None else self.branches


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Activity):
    """One of several activities, each executed with its probability."""

    options: tuple[tuple[Expr, Activity], ...]

    made_of = ("options",)
    word = "choose"
    combination = Combination.IN_TURN
    use = NOTHING
    variation = ALWAYS

    @property
    def children(self) -> tuple[Activity, ...]:
        return tuple(body for _, body in self.options)

    @property
    def executions(self) -> tuple[Expr, ...]:
        return self.probabilities

    @property
    def probabilities(self) -> tuple[Expr, ...]:
        return tuple(probability for probability, _ in self.options)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        return tuple(
            NumberRange("a probability", probability, most=1.0)
            for probability in self.probabilities
        )


SPREADS = {
    (WHOLE := "whole"): "a whole number; a mean of 2.5 gives two or three repetitions",
    (GEOMETRIC := "geometric"): "after each repetition, another follows with a fixed probability",
}
"""The ways in which the number of rounds of a repetition varies about its mean."""


@dataclass(frozen=True, slots=True, repr=False)
class Repeat(Activity):
    """An activity that is executed a number of times in a row.

    Parameters
    ----------
    count : how often in the mean [1]
    body : what is repeated
    spread : how the number of rounds varies, one of `SPREADS`
    """

    count: Expr
    body: Activity
    spread: str = WHOLE

    made_of, word, special = ("count", "body"), "repeat", {"spread": GEOMETRIC_COUNT}
    combination = Combination.IN_TURN
    use = NOTHING

    @property
    def children(self) -> tuple[Activity, ...]:
        return (self.body,)

    @property
    def executions(self) -> tuple[Expr, ...]:
        return (self.count,)

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        return (NumberRange("the count of a repeat", self.count),)

    @property
    def variation(self) -> Expr:
        return self.count if self.spread == GEOMETRIC else fractional_part(self.count)


@dataclass(frozen=True, slots=True, repr=False)
class Hold(Activity):
    """A body executed while a resource, such as a lock, is held.

    Parameters
    ----------
    resource : what is held
    body : what is done
    mode : of a reader-writer lock, one of `MODES`
    after : what is done then, still holding it, while the processor goes on: a second phase
    permits : how many permits it takes at once, in the order of the requests: one that waits for
        several lets none pass; 1 by default [1]
    """

    resource: str
    body: Activity
    mode: str = ""
    after: Activity | None = None
    permits: Expr | None = None

    made_of = ("body", "after", "permits")
    word = "hold"
    named = "resource"
    plain = ("mode",)
    special: ClassVar[Mapping[str, str]] = {"after": SECOND_PHASES, "permits": SEVERAL_PERMITS}
    combination = Combination.IN_TURN
    use = HELD
    variation = NEVER

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        if self.permits is None:
            return ()
        description = f"the permits of a hold of {self.resource}"
        return (NumberRange(description, self.permits, least=1.0, is_whole=True),)

    @property
    def executions(self) -> tuple[Expr, ...]:
        return single_executions(self.children)

    @property
    def unawaited_children(self) -> tuple[Activity, ...]:
        return () if self.after is None else (self.after,)


@dataclass(frozen=True, slots=True, repr=False)
class EarlyReply(Activity):
    """A reply inside a hold: the processor continues after the hold, while the remaining body is
    executed in parallel with it. The resource is released when the whole body has ended.

    Parameters
    ----------
    resource : what the hold holds
    """

    resource: str

    made_of = ()
    word = "reply"
    plain = ("resource",)
    combination = Combination.IN_TURN
    use = NOTHING
    executions = ()
    variation = NEVER

    @property
    def constructs(self) -> frozenset[str]:
        return frozenset({REPLIES})


@dataclass(frozen=True, slots=True, repr=False)
class IfLate(Activity):
    """Steps in a branch of a fork that are left out if the fork no longer waits for its branches,
    such as a second request for a late first one.

    Parameters
    ----------
    body : executed if the fork still waits
    """

    body: Activity

    made_of = ("body",)
    word = "if_late"
    combination = Combination.IN_TURN
    use = NOTHING
    executions = (BY_STATE,)
    variation = ALWAYS

    @property
    def constructs(self) -> frozenset[str]:
        return frozenset({HEDGES})


LIMITED = {
    (WAITING := "wait"): "the wait alone; a service that has begun is not interrupted",
    (VISIT := "visit"): "the wait and the service; an interrupted service is lost",
}
"""What the timeout or the patience of an attempt limits."""


@dataclass(frozen=True, slots=True, repr=False)
class Attempt(Activity):
    """A visit with a time limit. A try that takes longer is abandoned, and may be repeated.

    Parameters
    ----------
    visit : a step at a station, or a hold of a lock or of permits
    timeout : constant time limit of a try [s]
    patience : mean of an exponential time limit [s]
    limits : ``wait``: the limit applies to the wait alone; ``visit``: to wait and service together
    retries : number of further tries after the first
    back_off : mean pause before the next try, exponential; no pause by default [s]
    doubling : whether the mean pause doubles with each further try
    otherwise : activity after the last try is abandoned
    queue : largest number of customers that wait; a further one is turned away at once. By default
        there is no limit
    breaker : name of the circuit breaker that is asked before each try and counts failed tries; a
        try that it refuses fails at once
    """

    visit: Activity
    timeout: Expr | None = None
    patience: Expr | None = None
    retries: int = 0
    back_off: Expr | None = None
    doubling: bool = False
    otherwise: Activity = Then(())
    queue: Expr | None = None
    limits: str = WAITING
    breaker: str | None = None

    made_of: ClassVar[tuple[str, ...]] = (
        *("visit", "timeout", "patience", "back_off", "otherwise"),
        "queue",
    )
    word = "attempt"
    named = "breaker"
    plain = (
        *("timeout", "patience", "retries", "back_off", "doubling", "otherwise", "queue"),
        "limits",
    )
    special: ClassVar[Mapping[str, str]] = {"breaker": BREAKERS}
    combination = Combination.IN_TURN
    use = GUARDED
    variation = ALWAYS

    def __post_init__(self) -> None:
        if not (isinstance(self.visit, Hold) or (isinstance(self.visit, Step) and self.resource)):
            kind_in_words = "delay" if isinstance(self.visit, Step) else self.visit.kind
            copies_hint = (
                "; a step at one of several copies is a choice: name one station"
                if isinstance(self.visit, Choice)
                else ""
            )
            raise ModelError(
                "an attempt is one step at a station, or one hold, and no"
                f" {kind_in_words}{copies_hint}"
            )
        time_limits = [
            time_limit for time_limit in (self.timeout, self.patience) if time_limit is not None
        ]
        if len(time_limits) > 1 or not (time_limits or self.queue is not None):
            raise ModelError(
                f"an attempt at {self.resource} has a timeout or a patience, or a queue that may be"
                " full"
            )
        if self.limits not in LIMITED:
            raise ModelError(
                f"an attempt at {self.resource} cannot limit {self.limits!r}"
                + did_you_mean(self.limits, tuple(LIMITED))
            )
        if self.cuts and (isinstance(self.visit, Hold) or not time_limits):
            raise ModelError(
                f"an attempt at {self.resource} with limits: {VISIT} needs a timeout or a patience,"
                " and a service at a station, whose server it frees"
            )
        if not 0 <= self.retries <= MOST_RETRIES:
            raise ModelError(
                f"an attempt at {self.resource} has from 0 to {MOST_RETRIES} retries, got"
                f" {self.retries}"
            )
        if (self.back_off is not None and not self.retries) or (
            self.doubling and self.back_off is None
        ):
            raise ModelError(
                f"a pause before another attempt at {self.resource} needs retries, and its doubling"
                " a back_off"
            )

    @property
    def resource(self) -> str:
        """The resource that the visit waits for."""
        return next(iter(self.visit.uses), "")

    @property
    def first_resource(self) -> str:
        return self.resource

    @property
    def limit(self) -> tuple[Expr, float] | None:
        """The mean time limit after which a customer abandons the queue [s], and its scv; None
        without a limit.
        """
        if self.timeout is not None:
            return self.timeout, 0.0
        return None if self.patience is None else (self.patience, 1.0)

    @property
    def cuts(self) -> bool:
        """Whether the time limit also ends a service that has begun."""
        return self.limits == VISIT

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        mean_limit = None if self.limit is None else self.limit[0]
        number_by_description = {
            f"the limit of the {self.limits} {'at' if self.cuts else 'for'} {self.resource}": (
                mean_limit
            ),
            f"the pause before another try at {self.resource}": self.back_off,
            f"the queue of an attempt at {self.resource}": self.queue,
        }
        return tuple(
            NumberRange(description, number)
            for description, number in number_by_description.items()
            if number is not None
        )

    @property
    def executions(self) -> tuple[Expr | ByState, ...]:
        has_limit = self.limit is not None or self.breaker is not None
        # A queue of the most customers that a run follows is never full.
        is_always_served = not has_limit and self.queue == Number(float(MOST_HOLDERS))
        return (Number(1.0), Number(0.0)) if is_always_served else (BY_STATE, BY_STATE)

    @property
    def constructs(self) -> frozenset[str]:
        limit_constructs = {CUT_SERVICES if self.cuts else ATTEMPTS}
        queue_constructs = {FULL_QUEUES}
        if self.queue is None:
            return constructs_of(self) | limit_constructs
        return (
            constructs_of(self)
            | queue_constructs
            | (limit_constructs if self.limit is not None else set())
        )


MOST_RETRIES = 1000
"""The largest number of retries of an attempt."""


@dataclass(frozen=True, slots=True, repr=False)
class Pick(Activity):
    """One of several activities, chosen in turn or by the numbers of customers that are present at
    their first resources when the choice is made.

    Parameters
    ----------
    options : each begins with a step at a station, or a hold of a lock or of permits
    by : one of `ROUTES`
    """

    options: tuple[Activity, ...]
    by: str = SHORTEST

    made_of = ("options",)
    word = "pick"
    plain = ("by",)
    combination = Combination.IN_TURN
    use = NOTHING
    variation = ALWAYS

    @property
    def executions(self) -> tuple[Expr | ByState, ...]:
        return (BY_STATE,) * len(self.options)

    @property
    def constructs(self) -> frozenset[str]:
        return frozenset({ROUTES_BY_STATE})

    @property
    def first_resources(self) -> tuple[str, ...]:
        """The first resource of each option; empty for an option that begins without one."""
        return tuple(option.first_resource for option in self.options)


@dataclass(frozen=True, slots=True, repr=False)
class Stage(ModelPart):
    """A stage of a pipeline: one body for all items, or one for each item.

    Parameters
    ----------
    kind : serial (one item at a time, in order) or parallel (all at once)
    bodies : one activity, or one for each item
    name : what answers call the stage
    """

    kind: str
    bodies: tuple[Activity, ...]
    name: str

    made_of = ("bodies",)
    plain = ("kind", "name")

    def __post_init__(self) -> None:
        check_name(self.name)
        if not self.bodies:
            raise ModelError(f"stage {self.name} has nothing to do; give it an activity")

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.bodies))}, name={self.name!r})"

    def __rshift__(self, other: object) -> Activity:
        raise ModelError(
            f"{self.kind}(...) is a stage of a pipeline, not an activity; write fork(a, b) for work"
            " done side by side, then(a, b) for one after the other"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline(Activity):
    """Items that pass through stages in order; all items are ready at the start."""

    stages: tuple[Stage, ...]
    items: Expr
    name: str

    made_of = ("stages", "items")
    word = "pipeline"
    plain = ("name",)
    combination = Combination.ITEMS
    use = NOTHING
    variation = NEVER

    @property
    def executions(self) -> tuple[Expr, ...]:
        """The mean number of executions of each body: the number of items for the only body of a
        stage, and 1 for each body of a stage that has one for each item [1].
        """
        return tuple(
            self.items if len(stage.bodies) == 1 else ONCE
            for stage in self.stages
            for _ in stage.bodies
        )

    @property
    def ranges(self) -> tuple[NumberRange, ...]:
        # Bodies that are written item by item leave no room for a fraction of an item.
        description = f"the number of items of {self.name}"
        return (NumberRange(description, self.items, 1.0, is_whole=not self.identical),)

    @property
    def identical(self) -> bool:
        """Whether all items are alike in every stage."""
        return all(len(stage.bodies) == 1 for stage in self.stages)

    def __repr__(self) -> str:
        return (
            f"pipeline([{', '.join(map(repr, self.stages))}], items={python_text(self.items)},"
            f" name={self.name!r})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class BarrierWait(Activity):
    """A wait at a barrier for the whole population, or for `parties` members of it.

    Parameters
    ----------
    name : of the barrier among the resources
    parties : number that wait for each other; all by default
    """

    name: str
    parties: int | None = None

    made_of = ()
    word = "barrier"
    named = "name"
    plain = ("parties",)
    combination = Combination.IN_TURN
    use = MET
    executions = ()
    variation = NEVER


@dataclass(frozen=True, slots=True, repr=False)
class UnitStep(Activity):
    """A step that takes or gives one unit of a counter: a semaphore, a bounded buffer or a
    condition of a monitor.
    """

    counter: str = field()  # without the default that the base class would give

    made_of = ()
    use = TAKEN
    plain = ("counter",)
    combination = Combination.IN_TURN
    executions = ()
    variation = NEVER


class WaitUnit(UnitStep):
    """Take a unit of a counter, or wait for one; a wait for a condition of a monitor leaves the
    monitor.
    """

    __slots__ = ()

    word = "wait"
    use = TAKEN


class SignalUnit(UnitStep):
    """Release a unit of a counter; a signal to a condition hands the monitor to the processor that
    has waited longest for the unit.
    """

    __slots__ = ()

    word = "signal"
    use = GIVEN


@dataclass(frozen=True, slots=True, repr=False)
class Ask(Activity):
    """Execute the tasks of a pool together with all other processors, until all tasks are done.

    Parameters
    ----------
    pool : its name among the resources
    """

    pool: str

    made_of = ()
    word = "ask"
    named = "pool"
    combination = Combination.IN_TURN
    use = ASKED
    executions = ()
    variation = NEVER


_DISTRIBUTION = optional_kind(instance_of(TimeDistribution, "the distribution of a time"))
_LABEL_KINDS = {
    "component": TEXT,
    "technology": TEXT,
    "scv": real_number(0),
    "distribution": _DISTRIBUTION,
}
"""The arguments that `service` and `delay` share."""


@checked(
    resource=TEXT,
    time=LIKE,
    name=optional_kind(TEXT),
    rank=whole_number(0),
    weight=optional_kind(LIKE),
    **_LABEL_KINDS,
)
def service(
    resource: str,
    time: Like,
    *,
    name: str | None = None,
    component: str = "busy",
    technology: str = "application",
    scv: float = 0.0,
    distribution: TimeDistribution | None = None,
    rank: int = 0,
    weight: Like | None = None,
) -> Step:
    """Use a resource for some time, after a wait if others use it.

    Parameters
    ----------
    resource : a resource of the model, or a processor: ``own``, ``other``, ``each-other``,
        ``processor[i]``
    time : mean service time [s]; a plain number becomes a parameter that is named after the step
    name : name of the step; by default the name of the resource
    component, technology, scv, distribution, rank, weight : see `Step`

    >>> service("bus", 1e-6)
    service('bus', 1e-06, name='bus')
    """
    step_name = resource if name is None else name
    description = f"the weight of step {step_name}"
    weight_expr = None if weight is None else as_count(weight, description)
    if isinstance(weight_expr, Number) and not weight_expr.value > 0:
        raise ModelError(f"{description} must be above 0, got {weight_expr.value:g}")
    return Step(
        step_name,
        as_time(time, step_name),
        resource,
        component,
        technology,
        scv,
        distribution,
        rank,
        weight=None if weight_expr == Number(1.0) else weight_expr,
    )


@checked(time=LIKE, name=TEXT, think=FLAG, **_LABEL_KINDS)
def delay(
    time: Like,
    *,
    name: str = "delay",
    component: str = "busy",
    technology: str = "application",
    scv: float = 0.0,
    distribution: TimeDistribution | None = None,
    think: bool = False,
) -> Step:
    """Spend time without waiting for a resource.

    Parameters
    ----------
    time : mean time [s]; a plain number becomes a parameter that is named after the step
    name, component, technology, scv, distribution, think : see `Step`

    >>> delay(9e-3, name="work") >> service("bus", 1e-3)
    delay(0.009, name='work') >> service('bus', 0.001, name='bus')
    """
    time_expr = as_time(time, name)
    return Step(name, time_expr, None, component, technology, scv, distribution, think=think)


def think_step(cycle: Activity) -> Step | None:
    """Return the delay with think time that begins a cycle; None if the cycle begins otherwise."""
    first_part = next(iter(cycle.sequence), None)
    return first_part if isinstance(first_part, Step) and first_part.think else None


@checked(parts=ACTIVITY)
def then(*parts: Activity) -> Activity:
    """Execute activities one after the other; the same as ``>>``.

    Parameters
    ----------
    parts : activities, in the order of execution
    """
    # Flat, so that `(a >> b) >> c` and `a >> (b >> c)` are equal models.
    flat_parts = [flat_part for part in parts for flat_part in part.sequence]
    return flat_parts[0] if len(flat_parts) == 1 else Then(tuple(flat_parts))


@checked(branches=ACTIVITY, join=optional_kind(LIKE))
def fork(*branches: Activity, join: Like | None = None) -> Activity:
    """Start several branches at the same time, and wait for all of them or for the first few.

    Parameters
    ----------
    branches : activities that run in parallel; they need no processors of their own
    join : number of branches to wait for; by default all. The other branches continue while the
        processor proceeds

    >>> fork(delay(1.0, name="left"), delay(2.0, name="right"), join=1)
    fork(delay(1.0, name='left'), delay(2.0, name='right'), join=1)
    """
    if not branches:
        raise ModelError("fork needs at least one branch")
    join_expr = None if join is None else as_count(join, "the join of a fork")
    if isinstance(join_expr, Number | Parameter) and join_expr.value is not None:
        waited_count = join_expr.value
        if not (0 <= waited_count <= len(branches) and waited_count == round(waited_count)):
            raise ModelError(
                f"a fork of {len(branches)} branches waits for a whole number of them, from 0 to"
                f" {len(branches)}, got {waited_count:g}"
            )
    # To wait for all is the plain fork, which every method knows.
    if join_expr == Number(float(len(branches))):
        join_expr = None
    return branches[0] if len(branches) == 1 and join_expr is None else Fork(branches, join_expr)


@checked(body=ACTIVITY)
def send(body: Activity) -> Activity:
    """Start an activity and proceed at once, without waiting for its end.

    Parameters
    ----------
    body : activity that runs in parallel with the sender

    >>> send(delay(2.0, name="log"))
    fork(delay(2.0, name='log'), join=0)
    """
    return fork(body, join=0)


@checked(body=ACTIVITY)
def if_late(body: Activity) -> IfLate:
    """Return steps in a branch of a fork that are executed only if the fork still waits for its
    branches.

    Parameters
    ----------
    body : left out if enough other branches have ended

    >>> fork(service("a", 1.0), delay(0.5) >> if_late(service("b", 1.0)), join=1).branches[1]
    delay(0.5, name='delay') >> if_late(service('b', 1.0, name='b'))
    """
    return IfLate(body)


@checked(request=ACTIVITY, late=LIKE, second=optional_kind(ACTIVITY), name=TEXT)
def hedge(
    request: Activity, late: Like, second: Activity | None = None, name: str = "late"
) -> Activity:
    """Return a request that is sent a second time if it is late; the first answer counts, and the
    other request continues in the background.

    Parameters
    ----------
    request : first request
    late : time after which the second request is sent if there is no answer [s]
    second : second request; the same by default
    name : of the time before the second request, in tables

    Source: Dean and Barroso, The Tail at Scale, 2013.

    >>> hedge(service("replica", 1.0), 2.0).branches[1]
    delay(2.0, name='late', component='late') >> if_late(service('replica', 1.0, name='replica'))
    """
    wait_for_answer = delay(late, name=name, component="late")
    return fork(request, wait_for_answer >> if_late(second or request), join=1)


_OPTION = "a pair of a probability and an activity, such as (0.3, delay(1.0))"


@checked(options=row_of(LIKE, ACTIVITY, expected=_OPTION))
def choose(*options: tuple[Like, Activity]) -> Choice:
    """Execute one of several activities; the probabilities must add up to 1.

    Parameters
    ----------
    options : pairs of a probability and an activity

    >>> choose((0.3, delay(1.0, name="hit")), (0.7, delay(2.0, name="miss")))
    choose((0.3, delay(1.0, name='hit')), (0.7, delay(2.0, name='miss')))
    """
    options_with_exprs = tuple(
        (as_count(probability, "a probability"), body) for probability, body in options
    )
    _check_probabilities([probability for probability, _ in options_with_exprs], "choose")
    return Choice(options_with_exprs)


def _check_probabilities(probability_exprs: Sequence[Expr], builder_name: str) -> None:
    """Raise if probabilities that are known lie outside 0 to 1, or do not add up to 1."""
    probabilities = [
        p.value
        for p in probability_exprs
        if isinstance(p, Number | Parameter) and p.value is not None
    ]
    for p in probabilities:
        if not 0 <= p <= 1:
            raise ModelError(f"a probability of {builder_name} must lie between 0 and 1, got {p:g}")
    # Probabilities that are computed are checked at the values of each point. The tolerance is far
    # above the rounding of a sum of decimal numbers, and below any mistake in writing them.
    if len(probabilities) == len(probability_exprs) and not math.isclose(
        math.fsum(probabilities), 1.0, rel_tol=1e-9
    ):
        raise ModelError(
            f"the probabilities of {builder_name} must add up to 1,"
            f" got {math.fsum(probabilities):g}"
        )


MOST_ROUNDS = 64
"""The largest number of rounds whose probabilities may be listed: the rounds become choices that
are nested in each other.
"""

_ROUNDS_IN_WORDS = (
    "a finite number in base units, an expression, or the probabilities of 0, 1, 2 ... rounds, such"
    " as [0.2, 0.5, 0.3]"
)


@checked(
    count=either_kind(_ROUNDS_IN_WORDS, LIKE, list_of(LIKE, least=2, most=MOST_ROUNDS + 1)),
    body=ACTIVITY,
    spread=TEXT,
    scv=optional_kind(LIKE),
)
def repeat(
    count: Like | Sequence[Like], body: Activity, spread: str = WHOLE, scv: Like | None = None
) -> Activity:
    """Execute an activity several times in a row. The number of times is fixed or random.

    Parameters
    ----------
    count : mean number of times, or a list with the probabilities of 0, 1, 2 ... times
    body : the activity to repeat
    spread : ``whole``: a mean of 2.5 gives two or three times; ``geometric``: after each time,
        another follows with a fixed probability
    scv : squared coefficient of variation of the number of times, in place of a spread. Up to the
        scv of a geometric distribution, the number of times is the sum of an integer and a
        geometric number. Above that scv, it is 0 with some probability, and otherwise geometric

    >>> repeat(2.5, delay(1.0), spread="geometric")
    repeat(2.5, delay(1.0, name='delay'), spread='geometric')
    >>> repeat([0.5, 0.25, 0.25], delay(1.0))
    choose((0.5, then()), (0.5, delay(1.0, name='delay') >> choose((0.5, then()), (0.5, delay(1.0,
    name='delay')))))
    """
    if spread not in SPREADS:
        raise ModelError(
            f"the count of a repeat has no spread {spread!r}{did_you_mean(spread, tuple(SPREADS))}"
        )
    if (scv is not None or isinstance(count, Sequence)) and spread != WHOLE:
        raise ModelError(f"a repeat has an scv or probabilities, or the spread {spread}; not both")
    if isinstance(count, Sequence):
        if scv is not None:
            raise ModelError("a repeat has probabilities of its counts, or an scv; not both")
        return _rounds_by_probability(
            [as_count(probability, "a probability") for probability in count], body
        )
    mean_count = as_count(count, "the count of repeat")
    check_at_least(mean_count, 0, "the count of repeat")
    if scv is None:
        return Repeat(mean_count, body, spread)
    return _rounds_by_moments(mean_count, as_count(scv, "the scv of a count"), body)


def _rounds_by_probability(probabilities: Sequence[Expr], body: Activity) -> Activity:
    """Return an activity that repeats a body 0, 1, 2 ... times, with the given probabilities. After
    n rounds, another follows with the probability of more than n rounds, given at least n.
    """
    _check_probabilities(probabilities, "repeat")
    # Nested, since rounds in a row for each number would have positions in the square of it.
    probability_of_more = probabilities[-1]
    rounds = body
    for probability in probabilities[-2:0:-1]:
        probability_reached = probability + probability_of_more
        # Where no number as large is reached, what follows it does not matter.
        continue_probability = probability_of_more / maximum(probability_reached, _LEAST_DIVISOR)
        rounds = then(
            body, Choice(((1 - continue_probability, Then(())), (continue_probability, rounds)))
        )
        probability_of_more = probability_reached
    return choose((probabilities[0], Then(())), (probability_of_more, rounds))


_LEAST_DIVISOR = 1e-300
"""The least divisor: where a divisor is 0, its dividend is 0, too."""


def _rounds_by_moments(mean: Expr, scv: Expr, body: Activity) -> Activity:
    """Return an activity that repeats a body N times; N is random, with mean m and scv c.

    N is 0 with the probability 1 - m / m' (m' is its mean if it is not 0), and else W + G, with G
    geometric of mean g, and W the whole number below or above m' - g. With v the variance of W + G,
    k the whole number below W and a = m' - k, the equation g + g^2 + (a - g) (1 - a + g) = v is
    linear in g::

        m' = max(m, (c m + m - 1) / 2),  v = (c + 1) m m' - m'^2
        k = floor(m' - (sqrt(1 + 4 v) - 1) / 2),  g = (v - a (1 - a)) / (2 a)

    Below the variance of W alone g is negative, so that its range refuses it.
    """
    check_at_least(scv, 0, "the scv of a count")
    _check_scv(mean, scv)
    mean_if_any = maximum(mean, (scv * mean + mean - 1) / 2)
    variance = maximum((scv + 1) * mean * mean_if_any - mean_if_any * mean_if_any, 0.0)
    part_above = mean_if_any - floor(mean_if_any - (sqrt(1 + 4 * variance) - 1) / 2)
    geometric_mean = (variance - part_above * (1 - part_above)) / maximum(
        2 * part_above, _LEAST_DIVISOR
    )
    # Rounding of arithmetic is no negative count; a negative count stays one.
    geometric_mean = maximum(geometric_mean, minimum(geometric_mean + ROUNDING, 0.0))
    rounds = then(
        Repeat(maximum(mean_if_any - geometric_mean, 0.0), body),
        Repeat(geometric_mean, body, GEOMETRIC),
    )
    # Without rounds in some executions the variance is larger than any sum of a whole and a
    # geometric number with this mean can have.
    any_probability = mean / maximum(mean_if_any, _LEAST_DIVISOR)
    if any_probability == Number(1.0):
        return rounds
    return Choice(((1 - any_probability, Then(())), (any_probability, rounds)))


def _check_scv(mean: Expr, scv: Expr) -> None:
    """Raise if the scv of a random count is below the least scv of a whole number with that mean.
    Do nothing if the mean or the scv is unknown.
    """
    known_values = [expr.value for expr in (mean, scv) if isinstance(expr, Number | Parameter)]
    known_mean, known_scv = known_values if len(known_values) == 2 else (None, None)
    if not known_mean or known_scv is None:
        return
    fraction_part = known_mean % 1
    least_scv = fraction_part * (1 - fraction_part) / known_mean**2
    if known_scv < least_scv - ROUNDING:
        raise ModelError(
            f"the scv of a count with mean {known_mean:g} is at least {least_scv:.4g}, that of the"
            f" whole numbers next to it, got {known_scv:g}"
        )


MODES = READ, WRITE = "read", "write"
"""How a reader-writer lock is held: together with other readers, or alone."""


@checked(
    resource=TEXT,
    body=ACTIVITY,
    mode=TEXT,
    after=optional_kind(ACTIVITY),
    permits=optional_kind(LIKE),
)
def hold(
    resource: str,
    body: Activity,
    mode: str = "",
    after: Activity | None = None,
    permits: Like | None = None,
) -> Hold:
    """Execute a body while holding a resource, such as a lock.

    Parameters
    ----------
    resource : name of the resource
    body : activity while the resource is held
    mode : ``read`` or ``write``, for a reader-writer lock
    after : activity after the body. It still holds the resource, but the processor proceeds at once
    permits : number of permits that one hold takes; 1 by default

    If the body has a `reply` between two of its parts, the parts after the reply become `after`.

    >>> hold("server", delay(1.0, name="reply"), after=delay(2.0, name="log"))
    hold('server', delay(1.0, name='reply'), after=delay(2.0, name='log'))
    """
    check_name(resource)
    permits_in_words = f"the permits of a hold of {resource}"
    permit_count = None if permits is None else as_count(permits, permits_in_words)
    if permit_count is not None:
        check_at_least(permit_count, 1, permits_in_words)
    if after is None:
        body, after = _first_and_second_phase(resource, body)
    # One permit is the plain hold, which every method knows.
    return Hold(resource, body, mode, after, None if permit_count == Number(1.0) else permit_count)


def _first_and_second_phase(resource: str, body: Activity) -> tuple[Activity, Activity | None]:
    """Split the body of a hold at its reply; return the part before and the part after the reply.
    The second part is None if nothing follows the reply, or if the body does not have exactly one
    reply at its top level; the model refuses several replies.
    """
    body_parts = body.sequence
    own_reply = EarlyReply(resource)
    reply_indices = [
        index
        for index, body_part in enumerate(body_parts)
        if own_reply in distinct_activities([body_part])
    ]
    if len(reply_indices) != 1 or body_parts[reply_indices[0]] != own_reply:
        return body, None
    parts_before = body_parts[: reply_indices[0]]
    parts_after = body_parts[reply_indices[0] + 1 :]
    return then(*parts_before), then(*parts_after) if parts_after else None


def rename_replies(activity: Activity, resource: str, copy_resource: str) -> Activity:
    """Return an activity in which the replies for a resource become replies for one of its
    copies.
    """
    if activity == EarlyReply(resource):
        return EarlyReply(copy_resource)
    if not activity.children:
        return activity
    return activity.rebuilt(
        [rename_replies(child, resource, copy_resource) for child in activity.children]
    )


@checked(resource=TEXT)
def reply(resource: str) -> EarlyReply:
    """Leave a `hold` early, while the rest of its body keeps the resource.

    Parameters
    ----------
    resource : name of the resource in the `hold` around this step; the step may be in a branch of a
        fork

    >>> hold("server", fork(delay(1.0, name="copy") >> reply("server"), delay(5.0, name="archive")))
    hold('server', fork(delay(1.0, name='copy') >> reply('server'), delay(5.0, name='archive')))
    """
    check_name(resource)
    return EarlyReply(resource)


@checked(
    visit=ACTIVITY,
    timeout=optional_kind(LIKE),
    patience=optional_kind(LIKE),
    retries=whole_number(),
    back_off=optional_kind(LIKE),
    doubling=FLAG,
    otherwise=optional_kind(ACTIVITY),
    queue=optional_kind(LIKE),
    limits=TEXT,
    breaker=optional_kind(TEXT),
    balking=list_of(LIKE),
)
def attempt(
    visit: Activity,
    *,
    timeout: Like | None = None,
    patience: Like | None = None,
    retries: int = 0,
    back_off: Like | None = None,
    doubling: bool = False,
    otherwise: Activity | None = None,
    queue: Like | None = None,
    limits: str = WAITING,
    breaker: str | None = None,
    balking: Sequence[Like] = (),
) -> Activity:
    """Visit a station, or hold a lock or permits, within a time limit. A try that takes longer is
    abandoned; then the customer tries again or gives up.

    Parameters
    ----------
    visit : a step at a station, or a hold
    balking : probabilities that a customer who would have to wait leaves at once, if 0, 1, 2 ...
        others wait. They must not fall; the last one also applies to longer queues. The longest
        queue that a customer accepts is drawn once for all tries
    timeout, patience, retries, back_off, doubling, otherwise, queue, limits, breaker : see
        `Attempt`

    >>> attempt(service("db", 0.1), timeout=0.5, retries=2, back_off=0.2)
    attempt(service('db', 0.1, name='db'), timeout=db.timeout, retries=2, back_off=db.back_off)
    """
    resource = next(iter(visit.uses), "")
    value_by_key = {"timeout": timeout, "patience": patience, "back_off": back_off}
    time_by_key = {
        key: None if value is None else as_time(value, f"{resource}.{key}".lstrip("."))
        for key, value in value_by_key.items()
    }
    otherwise_activity = then() if otherwise is None else otherwise
    queue_limit = (
        None if queue is None else as_count(queue, f"the queue of an attempt at {resource}")
    )
    if queue_limit is not None:
        check_at_least(queue_limit, 0, f"the queue of an attempt at {resource}")
    make_attempt = partial(
        Attempt,
        visit,
        retries=retries,
        doubling=doubling,
        otherwise=otherwise_activity,
        limits=limits,
        breaker=breaker,
        **time_by_key,
    )
    if not balking:
        return make_attempt(queue=queue_limit)
    if queue_limit is not None:
        raise ModelError(
            f"an attempt at {resource} cannot have both a queue and balking; to limit the queue by"
            " balking, write 1 as the last probability"
        )
    return _balking_choice(balking, make_attempt)


def _balking_choice(balking: Sequence[Like], make_attempt: Callable[..., Attempt]) -> Choice:
    """Return a choice of attempts, each with a different queue limit, so that customers leave at
    once with the given probabilities.

    A customer that leaves with probability p(n) at n waiting customers finds n too many, but not
    n - 1, with probability p(n) - p(n - 1).

    Parameters
    ----------
    balking : the probabilities p
    make_attempt : function that makes an attempt with a given `queue`
    """
    balking_probabilities = (
        Number(0.0),
        *(as_count(probability, "a probability of balking") for probability in balking),
    )
    known_probabilities = [
        probability.value
        for probability in balking_probabilities
        if isinstance(probability, Number | Parameter) and probability.value is not None
    ]
    if known_probabilities != sorted(known_probabilities) or known_probabilities[-1] > 1:
        raise ModelError(
            "probabilities of balking do not fall with the queue, and are at most 1, got"
            f" {', '.join(f'{probability:g}' for probability in known_probabilities[1:])}"
        )
    options = [
        (
            probability_at_length - probability_at_shorter,
            make_attempt(queue=Number(float(waiting_count))),
        )
        for waiting_count, (probability_at_shorter, probability_at_length) in enumerate(
            pairwise(balking_probabilities)
        )
    ]
    # A customer that joins any queue makes an attempt too: values count it, and a breaker may
    # refuse it.
    return choose(
        *options, (1 - balking_probabilities[-1], make_attempt(queue=Number(float(MOST_HOLDERS))))
    )


@checked(options=ACTIVITY, by=TEXT)
def pick(*options: Activity, by: str = SHORTEST) -> Pick:
    """Execute one of several activities, chosen in turn or by the load of their first resources.

    Parameters
    ----------
    options : activities; each begins with a step at a station, or with the hold of a lock or of
        permits
    by : ``shortest``: the activity whose first resource has the fewest customers;
        ``shorter-of-two``: the better of two that are drawn at random; ``least-work``: the least
        remaining work; ``in-turn``: round robin

    >>> pick(service("left", 1.0), service("right", 1.0))
    pick(service('left', 1.0, name='left'), service('right', 1.0, name='right'))
    """
    if by not in ROUTES:
        raise ModelError(f"a pick cannot choose by {by!r}{did_you_mean(by, tuple(ROUTES))}")
    if len(options) < 2:
        raise ModelError("a pick needs at least two bodies to choose from")
    return Pick(options, by)


@checked(counter=TEXT)
def wait(counter: str) -> WaitUnit:
    """Take one from a counter, after waiting until the counter is above 0.

    Parameters
    ----------
    counter : name of the resource, a dot, and the name of the counter: a semaphore, ``items`` or
        ``places`` of a bounded buffer, or a condition of the monitor that is held

    >>> hold("stack", wait("stack.filled") >> delay(1.0, name="take"))
    hold('stack', wait('stack.filled') >> delay(1.0, name='take'))
    """
    check_name(counter)
    return WaitUnit(counter)


@checked(counter=TEXT)
def signal(counter: str) -> SignalUnit:
    """Add one to a counter, on which other processors may `wait`.

    In a monitor this must be the last step, because the monitor passes to the waiting processor.

    Parameters
    ----------
    counter : name of the counter, as for `wait`
    """
    check_name(counter)
    return SignalUnit(counter)


@checked(buffer=TEXT, body=ACTIVITY)
def put(buffer: str, body: Activity) -> Activity:
    """Put an item into a bounded buffer: wait for a place, execute the body, signal an item.

    Parameters
    ----------
    buffer : name of the buffer among the resources
    body : activity that puts the item in

    >>> put("queue", delay(1.0, name="copy"))
    wait('queue.places') >> delay(1.0, name='copy') >> signal('queue.items')
    """
    return then(wait(f"{buffer}.places"), body, signal(f"{buffer}.items"))


@checked(buffer=TEXT, body=ACTIVITY)
def get(buffer: str, body: Activity) -> Activity:
    """Get an item from a bounded buffer: wait for an item, execute the body, signal a free place.

    Parameters
    ----------
    buffer : name of the buffer among the resources
    body : activity that takes the item out
    """
    return then(wait(f"{buffer}.items"), body, signal(f"{buffer}.places"))


@checked(pool=TEXT)
def ask(pool: str) -> Ask:
    """Execute the tasks of a pool together with all other processors, until all tasks are done.

    Parameters
    ----------
    pool : name of the pool among the resources
    """
    check_name(pool)
    return Ask(pool)


@checked(bodies=ACTIVITY, name=optional_kind(TEXT))
def serial(*bodies: Activity, name: str | None = None) -> Stage:
    """Make a stage that processes one item at a time, in order.

    Parameters
    ----------
    bodies : activities for one item, executed one after the other
    name : name of the stage; by default the name of its first step
    """
    return Stage("serial", bodies, _stage_name(name, bodies))


@checked(bodies=ACTIVITY, name=optional_kind(TEXT))
def parallel(*bodies: Activity, name: str | None = None) -> Stage:
    """Make a stage that processes any number of items at the same time.

    Parameters
    ----------
    bodies : activities for one item, executed one after the other
    name : name of the stage; by default the name of its first step
    """
    return Stage("parallel", bodies, _stage_name(name, bodies))


_STAGE = instance_of((Stage, Activity), "a stage or an activity, such as parallel(delay(1.0))")


@checked(stages=list_of(_STAGE), items=LIKE, name=TEXT)
def pipeline(stages: Sequence[Stage | Activity], items: Like, name: str = "pipeline") -> Pipeline:
    """Pass items through stages. All items are ready at the start.

    Parameters
    ----------
    stages : stages made by `serial` and `parallel`; a plain activity becomes a serial stage
    items : number of items, at least 1; an integer if a stage has a body for each item
    name : name of the pipeline in answers
    """
    built_stages = tuple(stage if isinstance(stage, Stage) else serial(stage) for stage in stages)
    item_count = as_count(items, "the items of a pipeline")
    check_at_least(item_count, 1, "the items of a pipeline")
    check_name(name)
    if not built_stages:
        raise ModelError(f"pipeline {name} needs at least one stage")
    stage_names = [stage.name for stage in built_stages]
    repeated_names = [
        stage_name for stage_name in dict.fromkeys(stage_names) if stage_names.count(stage_name) > 1
    ]
    if repeated_names:
        raise ModelError(
            f"the stages of pipeline {name} need names of their own; used twice:"
            f" {', '.join(repeated_names)}"
        )
    for stage in built_stages:
        if len(stage.bodies) > 1 and item_count != Number(float(len(stage.bodies))):
            raise ModelError(
                f"stage {stage.name} has {len(stage.bodies)} bodies, one for each item, but the"
                f" pipeline has {item_count} items"
            )
    return Pipeline(built_stages, item_count, name)


@checked(name=TEXT, parties=optional_kind(whole_number(1)))
def barrier(name: str, parties: int | None = None) -> BarrierWait:
    """Wait at a barrier for the whole population, or for `parties` members of it.

    Parameters
    ----------
    name : name of the barrier among the resources
    parties : number of members that wait for each other; by default the whole population
    """
    check_name(name)
    return BarrierWait(name, parties)


def _stage_name(name: str | None, bodies: Sequence[Activity]) -> str:
    """Return the name of a stage: the given name, or one made of the steps of its bodies."""
    if name is not None:
        return name
    return next((step.name for step in timed_steps(bodies)), "stage")


def timed_steps(activities: Iterable[Activity]) -> Iterator[Step]:
    """Yield the services and delays of activities in the order written, each once."""
    return (node for node in distinct_activities(activities) if isinstance(node, Step))


def pipelines_of(activities: Iterable[Activity]) -> Iterator[Pipeline]:
    """Yield the pipelines of activities in the order written, each once."""
    return (node for node in distinct_activities(activities) if isinstance(node, Pipeline))


def map_steps(
    activity: Activity,
    change: Callable[[Step], Step],
    rename: Callable[[str], str] = lambda name: name,
    rebuilt_by_id: dict[int, Activity] | None = None,
) -> Activity:
    """Return a copy of an activity in which each step is changed by a function. An object that
    occurs several times in the activity occurs as often in the copy, as one object.

    Parameters
    ----------
    activity : the tree
    change : returns the new step for an old one
    rename : returns the new name of a pipeline
    rebuilt_by_id : the activities rebuilt so far, by the identity of the old ones, for trees that
        share parts
    """
    rebuilt_by_id = {} if rebuilt_by_id is None else rebuilt_by_id

    def rebuild(old_part: Activity) -> Activity:
        """Return the copy of a part of the tree; make it if there is none yet."""
        if id(old_part) not in rebuilt_by_id:
            changed_activity = (
                change(old_part)
                if isinstance(old_part, Step)
                else old_part.rebuilt([rebuild(child) for child in old_part.children])
            )
            rebuilt_by_id[id(old_part)] = (
                replace(changed_activity, name=rename(changed_activity.name))
                if isinstance(changed_activity, Pipeline)
                else changed_activity
            )
        return rebuilt_by_id[id(old_part)]

    return rebuild(activity)


NAME = late_pattern(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(\[[0-9]+\])?")
"""The form of the name of a step, a resource or a component: without spaces, so that the name can
stand in a path.
"""


def check_name(name: str) -> None:
    """Raise if a name has spaces or other characters that cannot stand in a path."""
    if len(name) > 64 or not NAME.fullmatch(name):
        raise ModelError(
            f"{name[:64]!r} cannot be a name: write letters, digits, _ - and dots, starting with a"
            " letter"
        )


def check_model_name(name: str) -> None:
    """Raise if a model's name cannot be printed on one line."""
    if not (name and name.isprintable() and len(name) <= 255):
        raise ModelError(
            f"{name[:64]!r} cannot name a model: write at most 255 characters that can be printed"
        )


def as_time(value: Like, name: str) -> Expr:
    """Return a time as an expression; a plain number becomes a parameter of the given name."""
    if not isinstance(value, Expr):
        check_name(name)
        seconds = constant(as_expr(value))
        if seconds < 0:
            raise ModelError(f"the time of {name} must be at least 0 s, got {seconds!r}")
        # processor[1] becomes processor.1: brackets cannot stand in a path.
        return Parameter(name.replace("[", ".").removesuffix("]"), TIME, seconds)
    # The constant 0 is allowed: it has no share.
    for expr_node in walk(value):
        if isinstance(expr_node, Number) and expr_node.dimension.time_power and expr_node.value:
            raise ModelError(
                f"the time of {name} holds a constant of {expr_node}; make it a parameter, so that"
                " its share can be computed"
            )
    return _require_dimension(value, TIME, f"the time of {name}")


def as_count(value: Like, count_in_words: str) -> Expr:
    """Return a count as an expression; raise if it has a unit."""
    return _require_dimension(as_expr(value), COUNT, count_in_words)


def _require_dimension(value: Expr, dimension: Dimension, value_in_words: str) -> Expr:
    """Return an expression; raise if its dimension is not the given one. A plain 0 fits any
    dimension.
    """
    if value == Number(0.0):
        return total((), dimension)
    if value.dimension != dimension:
        raise ModelError(
            f"{value_in_words} must be a [{dimension}], got [{value.dimension}]: {value}"
        )
    return value


def check_at_least(value: Expr, least: int, count_in_words: str) -> None:
    """Raise if a count has a known value that is less than the least allowed."""
    if (
        isinstance(value, Number | Parameter)
        and value.value is not None
        and not value.value >= least
    ):
        raise ModelError(f"{count_in_words} must be at least {least}, got {value.value:g}")
