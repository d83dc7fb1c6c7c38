"""Activity files: the format, how a file is read as a model, and how a model is written as a file.

Each kind of item is one class, listed in `ITEMS`. The class holds the keys of its table, reads it
(`build`) and writes it (`write`); messages and editors take the rest from the list. To add a kind,
write its class and list it. The kinds of resources are in `slipstick.schema.kinds.resources`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from slipstick.errors import KeyMeaning, ModelError, SpecError
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    TIME_PER_BYTE,
    Expr,
    Number,
    Parameter,
    zero,
)
from slipstick.extensions import FUNCTIONS, Registry
from slipstick.law.collectives import ALGORITHMS, LIBRARIES, OPERATIONS
from slipstick.method.names import value_parameters
from slipstick.model import activity as activities
from slipstick.model import system
from slipstick.model.activity import choose, hold, parallel, pipeline, serial, then
from slipstick.model.requirement import Requirement
from slipstick.model.steps import Activity, distinct_activities
from slipstick.model.system import check_counter, need_model, scaled_model
from slipstick.schema.arrivals import StreamSpec, pattern_data
from slipstick.schema.kinds.constraints import Name, Note, broken_rule, one_of
from slipstick.schema.kinds.distribution import (
    NamedTimeSpec,
    TimeOrDistribution,
    distribution_of,
    refuse_scv,
    time_as_data,
)
from slipstick.schema.kinds.quantity import (
    ONE,
    PARAMETERS_IN_WORDS,
    WEIGHT_IN_WORDS,
    AnyQuantity,
    Count,
    CountFormula,
    Factors,
    Formula,
    Given,
    Location,
    ModelFileSpec,
    Quantity,
    QuantityReader,
    QuantityWriter,
    Spec,
    TimeOrFormula,
    Weight,
    WholeFormula,
    build_hardware,
    plain_name,
    technology_factors,
)
from slipstick.schema.kinds.resources import (
    BALKING_IN_WORDS,
    RESOURCES,
    KeyedSpec,
    Label,
    Probability,
    RepeatedSpec,
    ResourceSpec,
    ServerNumber,
    StationSpec,
    Word,
    fields_of_node,
    finishing_stations,
    keys_of_node,
    kind_key_of,
    kind_of_resource,
    schedules_of,
)
from slipstick.schema.text import Node
from slipstick.vocabulary import (
    BEST,
    LEVELS,
    PLACEMENTS,
    ROUTES,
    SHORTEST,
    Technology,
)

if TYPE_CHECKING:
    from slipstick.model.machine import Machine, Network, SharedMemory
    from slipstick.program.operations import MachineOperations

Size = Annotated[Given | Formula, Quantity(BYTES, formula=True)]
TimePerByte = Annotated[Given | Formula, Quantity(TIME_PER_BYTE, formula=True)]
Amount = Annotated[Given | Formula, Quantity(COUNT, formula=True, operations=True)]
Placement = Annotated[str, one_of(PLACEMENTS)]
_PLACEMENT_IN_WORDS = "where the ranks are: " + "; ".join(
    f"{name}: {words}" for name, words in PLACEMENTS.items()
)

Items = Annotated[Given | Formula, Quantity(COUNT, least=1.0, whole=True, formula=True)]
Members = Annotated[Given | Formula, Quantity(COUNT, whole=True, formula=True)]
CountOrProbabilities = Annotated[
    Annotated[CountFormula, Tag("count")] | Annotated[list[Probability], Tag("probabilities")],
    Discriminator(lambda value: "probabilities" if isinstance(value, list) else "count"),
]
ArrivalRate = Annotated[Given | Formula, Quantity(RATE, least=0.0, formula=True)]


class ItemSpec(KeyedSpec):
    """Base of the kinds of items of an activity. The kind of an item shows in a key that only this
    kind has.

    Attributes
    ----------
    use, example : what it is for, and how it is written, for messages
    alike : keys that go with it, or that others call it
    names_resource : the value of the key is the name of a resource
    make : makes the activity from its fields, the first of which is the key
    """

    use: ClassVar[str]
    example: ClassVar[str]
    alike: ClassVar[tuple[str, ...]] = ()
    names_resource: ClassVar[bool] = False
    hints: ClassVar[Mapping[str, str]] = {
        "distribution": (
            "write scv: 1 for an exponential time, or a distribution as the time, such as {gamma:"
            " {mean: 9 ms, scv: 2}}"
        ),
        "at": "a step at a resource is {name: read, service: disk, time: 1 ms}",
        **dict.fromkeys(
            ("times", "count", "repeat"), "what happens several times is {repeat: 6, body: [...]}"
        ),
    }
    make: ClassVar[Callable[..., Activity]]

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        """Build the activity of the item.

        Raises
        ------
        ModelError : there is no such activity
        """
        return type(self).make(
            **fields_of_node(
                self, reader.quantities.field_values(self, location, reader.build_list)
            )
        )

    @classmethod
    def write(cls, activity: Any, writer: ActivityWriter) -> dict[str, Any]:
        """Write an activity as the plain data of an item."""
        return keys_of_node(
            cls, activity, writer.quantities.fields_as_data(activity, writer.write_inner)
        )


if TYPE_CHECKING:
    Item = ItemSpec


class StepSpec(ItemSpec):
    """Keys that every step has: its name, its component of the account, and how its time varies."""

    name: Name | None = Field(
        None, description="name of the step in tables; by default the name of the resource"
    )
    scv: Count | None = Field(
        None,
        description=KeyMeaning.of(
            "squared coefficient of variation of the time", "0 (constant) by default"
        ),
    )
    component: Label = Field("busy", description="component of the account for this time")
    technology: Technology = Field(
        "application",
        description="class of the technology that sets the time; changes of that class scale it",
    )

    node = activities.Step

    @property
    def default_variations(self) -> list[str]:
        """List how the time of the step varies by default; an empty text where the file states a
        distribution or scv.
        """
        has_distribution = self.scv is not None or distribution_of(self.time_as_written) is not None
        return ["" if has_distribution else "constant"]

    @property
    def time_as_written(self) -> object:
        """Return the time as it is written in the file."""
        return getattr(self, "delay", None) or getattr(self, "time", None)

    def check_rules(self) -> None:
        if self.scv is not None and distribution_of(self.time_as_written) is not None:
            refuse_scv("scv")

    def mean_time(self, reader: ActivityReader, time_location: Location) -> Expr:
        """Return the mean time as an expression [s]; `time_location` is the place of its key."""
        written_time = self.time_as_written
        if isinstance(written_time, NamedTimeSpec):
            return written_time.expr(reader.quantities, time_location)
        assert isinstance(written_time, Given | Formula)
        return reader.quantities.expr(written_time, time_location, TIME)

    def step(
        self,
        reader: ActivityReader,
        name: str,
        time: Expr,
        resource: str | None,
        location: Location,
        rank: int = 0,
        think: bool = False,
        weight: Expr | None = None,
    ) -> activities.Step:
        """Build a step with a name, and register the name."""
        scv = 0.0 if self.scv is None else self.scv.value
        distribution = distribution_of(self.time_as_written)
        step = activities.Step(
            name,
            time,
            resource,
            self.component,
            self.technology,
            scv,
            distribution,
            rank,
            think,
            weight,
        )
        reader.add_step(step, location)
        return step

    @classmethod
    def write(cls, activity: activities.Step, writer: ActivityWriter) -> dict[str, Any]:
        step_data: dict[str, Any] = {"name": plain_name(activity.name)}
        time_data = time_as_data(activity.time, activity.distribution, writer.quantities)
        step_data |= (
            {"delay": time_data}
            if activity.resource is None
            else {"service": activity.resource, "time": time_data}
        )
        optional_values = {
            "component": (activity.component, "busy"),
            "technology": (activity.technology, "application"),
            "rank": (activity.rank, 0),
            "think": (activity.think, False),
        }
        step_data |= {
            key: value for key, (value, default) in optional_values.items() if value != default
        }
        if activity.weight is not None:
            step_data["weight"] = writer.quantities.expr_as_data(activity.weight)
        return step_data | (
            {"scv": activity.scv} if activity.scv and activity.distribution is None else {}
        )


class DelaySpec(StepSpec):
    """Time that a processor spends without using a shared resource."""

    delay: TimeOrDistribution = Field(description="mean time, or a distribution")
    think: bool = Field(
        False,
        description=(
            "whether this is think time at the start of a cycle, which response times exclude"
        ),
    )

    key = "delay"
    use = "for time on its own"
    example = "{name: work, delay: 9 ms}"

    def build(self, reader: ActivityReader, location: Location) -> activities.Step:
        time = self.mean_time(reader, (*location, "delay"))
        name = self.name or reader.numbered_name("think" if self.think else "delay")
        return self.step(reader, name, time, None, location, think=self.think)


class CopiesSpec(ItemSpec):
    """Base of items that use a resource which may have several copies, of which an item may use
    several at once.
    """

    fan_out: ServerNumber | None = Field(
        None,
        description=(
            "number of copies of a resource with a count that are used at the same time: all"
            " copies, or one of several equally likely blocks; 1 by default"
        ),
    )
    join: CountFormula | None = Field(
        None, description=KeyMeaning.of("number of copies to wait for", "all by default")
    )

    def use_of_copies(
        self,
        reader: ActivityReader,
        resource: str,
        location: Location,
        make_use: Callable[[str, str], Activity],
    ) -> Activity:
        """Build the use of a resource, or of several of its copies side by side, as many as
        `fan_out` states.
        """
        if self.fan_out is None and self.join is not None:
            raise ModelError(
                f"join at {resource} says how many copies are waited for; give it fan_out"
            )
        if self.fan_out is None:
            return reader.use_of_one_copy(resource, make_use)
        copies_at_once = self.fan_out if isinstance(self.fan_out, int) else 1
        if isinstance(self.fan_out, WholeFormula):
            copies_at_once = reader.quantities.whole_number(self.fan_out, (*location, "fan_out"))
        join = None
        if self.join is not None:
            join = reader.quantities.expr(self.join, (*location, "join"), COUNT)
        return reader.use_of_blocks(resource, copies_at_once, join, make_use)


class ServiceSpec(StepSpec, CopiesSpec):
    """A service at a resource, after a wait if the resource is busy."""

    service: Label = Field(
        description="name of the resource, or a processor: own, other, each-other, processor[i]"
    )
    time: TimeOrDistribution = Field(description="mean service time, or a distribution")
    rank: int = Field(
        0,
        description="priority at a station that serves by rank; smaller ranks are served first",
        ge=0,
        le=1000,
    )

    weight: Weight | None = Field(None, description=WEIGHT_IN_WORDS)

    key = "service"
    use = "for time at a resource"
    example = "{name: update, service: bus, time: 1 ms}"
    alike = ("resource",)
    names_resource = True

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        name = self.name or reader.numbered_name(self.service)
        time = self.mean_time(reader, (*location, "time"))
        weight = None
        if self.weight is not None:
            weight = reader.quantities.expr(self.weight, (*location, "weight"), COUNT)
        return self.use_of_copies(
            reader,
            self.service,
            location,
            lambda resource, copy_suffix: self.step(
                reader, name + copy_suffix, time, resource, location, self.rank, weight=weight
            ),
        )


class HoldSpec(CopiesSpec):
    """Steps that are executed while a lock, permits or a monitor is held."""

    hold: Label = Field(description="name of the lock, reader-writer lock, permits or monitor")
    mode: Annotated[str, one_of(activities.MODES)] | None = Field(
        None, description="read or write, for a reader-writer lock"
    )
    body: list[Item] = Field(description="steps while the resource is held", min_length=1)
    after: list[Item] | None = Field(
        None,
        description=(
            "steps of a second phase: the resource is still held, but the processor continues"
        ),
        min_length=1,
    )

    permits: CountFormula | None = Field(
        None, description=KeyMeaning.of("number of permits that are taken together", "1 by default")
    )

    key = "hold"
    node = activities.Hold
    use = "for steps under a lock or a permit"
    example = "{hold: table, body: [{delay: 1 ms}]}"
    alike = ("lock",)
    names_resource = True

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        field_values = reader.quantities.field_values(self, location, reader.build_list)
        for key in ("hold", "fan_out", "join"):
            field_values.pop(key, None)
        body = field_values.pop("body")

        def hold_copy(resource: str, copy_suffix: str) -> Activity:
            body_of_copy = (
                activities.rename_replies(body, self.hold, resource) if copy_suffix else body
            )
            return hold(resource, body_of_copy, **field_values)

        return self.use_of_copies(reader, self.hold, location, hold_copy)


class AttemptSpec(ItemSpec):
    """A visit with a time limit; a visit that takes longer is abandoned."""

    attempt: list[Item] = Field(
        description="a service at a station, or a hold of a lock or of permits", min_length=1
    )
    timeout: TimeOrFormula | None = Field(None, description="constant time limit")
    patience: TimeOrFormula | None = Field(
        None, description="mean of a time limit with an exponential distribution"
    )
    limits: Annotated[str, one_of(activities.LIMITED)] = Field(
        activities.WAITING,
        description="the time that the limit applies to; "
        + "; ".join(f"{name}: {title}" for name, title in activities.LIMITED.items()),
    )
    retries: int = Field(
        0,
        description="number of further tries after the first",
        ge=0,
        le=activities.MOST_RETRIES,
    )
    back_off: TimeOrFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "mean pause before a further try, exponential", "no pause by default"
        ),
    )
    doubling: bool = Field(
        False, description=("whether the mean pause doubles with each further try")
    )
    otherwise: list[Item] = Field(
        [], description="steps after the last try is abandoned; none by default"
    )
    queue: CountFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "largest number of customers that wait", "a further one is turned away at once"
        ),
    )
    breaker: Name | None = Field(
        None,
        description=(
            "circuit breaker that is asked before each try and counts failed tries; if it refuses a"
            " try, the try fails at once"
        ),
    )
    balking: list[Probability] = Field(
        [],
        description=KeyMeaning.of(
            BALKING_IN_WORDS.brief,
            "the last one also applies to longer queues. The accepted queue is drawn once for all"
            " tries",
        ),
    )

    key = "attempt"
    node = activities.Attempt
    use = "for a visit with a limit of its wait or its queue"
    example = "{attempt: [{service: bus, time: 1 ms}], timeout: 5 ms, retries: 2}"
    alike = ("timeout", "patience", "retries", "queue", "breaker", "balking")

    make = staticmethod(activities.attempt)


class WaitSpec(ItemSpec):
    """A wait for a counter: it takes one unit, as soon as there is one."""

    wait: Label = Field(
        description=(
            "name of a semaphore; or, with a dot, the places or items of a buffer, or a condition"
            " of a monitor"
        )
    )

    key = "wait"
    node = activities.WaitUnit
    use = "for a unit that another step signals"
    example = "{wait: queue.items}"
    names_resource = True
    make = staticmethod(activities.wait)


class SignalSpec(ItemSpec):
    """A signal: it adds one unit to a counter."""

    signal: Label = Field(
        description=("name of the counter, as for wait; in a monitor this is the last step")
    )

    key = "signal"
    node = activities.SignalUnit
    use = "for a unit that another step waits for"
    example = "{signal: queue.places}"
    names_resource = True
    make = staticmethod(activities.signal)


class BufferItemSpec(ItemSpec):
    """Base of `PutSpec` and `GetSpec`: a body between a wait for a counter and a signal."""

    body: list[Item] = Field([], description="steps between the wait and the signal")

    names_resource = True

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        return type(self).make(getattr(self, self.key), reader.body(self.body, (*location, "body")))


class PutSpec(BufferItemSpec):
    """Insertion of an item into a bounded buffer: wait for a free place, execute the body, signal
    an item.
    """

    put: Name = Field(description="name of the buffer")

    key = "put"
    use = "for an item into a buffer"
    example = "{put: queue, body: [{delay: 1 ms}]}"
    make = staticmethod(activities.put)


class GetSpec(BufferItemSpec):
    """Removal of an item from a bounded buffer: wait for an item, execute the body, signal a free
    place.
    """

    get: Name = Field(description="name of the buffer")

    key = "get"
    use = "for an item out of a buffer"
    example = "{get: queue, body: [{delay: 1 ms}]}"
    make = staticmethod(activities.get)


class AskSpec(ItemSpec):
    """Execution of the tasks of a pool by all processors together."""

    ask: Name = Field(description="name of the task pool")

    key = "ask"
    node = activities.Ask
    use = "for tasks out of a pool"
    example = "{ask: stack}"
    names_resource = True
    make = staticmethod(activities.ask)


class ForkSpec(ItemSpec):
    """Branches that start together. The processor waits for all of them, or for the first few."""

    fork: list[list[Item]] = Field(description="the branches", min_length=1)
    join: CountFormula | None = Field(
        None,
        description=KeyMeaning.of(
            "number of branches to wait for, such as 1 for the first",
            "the others continue beside the processor; all by default",
        ),
    )

    key = "fork"
    node = activities.Fork
    use = "for branches side by side"
    example = "{fork: [[{delay: 1 ms}], [{delay: 2 ms}]]}"
    alike = ("quorum", "join")
    make = staticmethod(lambda branches, join=None: activities.fork(*branches, join=join))

    @classmethod
    def write(cls, activity: activities.Fork, writer: ActivityWriter) -> dict[str, Any]:
        return _data_of_blocks_use([activity], writer) or super().write(activity, writer)


class SendSpec(ItemSpec):
    """Work that a processor starts and does not wait for."""

    send: list[Item] = Field(
        description="steps that run in parallel with the processor", min_length=1
    )

    key = "send"
    use = "for work that is not waited for"
    example = "{send: [{service: bus, time: 1 ms}]}"
    alike = ("spawn", "async")

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        return activities.send(reader.body(self.send, (*location, "send")))


class IfLateSpec(ItemSpec):
    """Steps in a branch of a fork that are left out if the fork no longer waits."""

    if_late: list[Item] = Field(
        description="steps that are executed only if the fork still waits for branches",
        min_length=1,
    )

    key = "if_late"
    node = activities.IfLate
    use = "for steps that are left out if a fork no longer waits"
    example = "{if_late: [{service: bus, time: 1 ms}]}"
    make = staticmethod(activities.if_late)


class HedgeSpec(ItemSpec):
    """A request that is sent a second time if it is late. The first answer counts; the other
    request continues in the background.
    """

    hedge: list[Item] = Field(description="steps of the request", min_length=1)
    late: TimeOrFormula = Field(
        description="time after which the second request is sent if there is no answer"
    )
    second: list[Item] | None = Field(
        None, description="steps of the second request; the same by default", min_length=1
    )

    key = "hedge"
    use = "for a second request if the first is late"
    example = "{hedge: [{service: bus, time: 1 ms}], late: 5 ms}"
    alike = ("hedged",)

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        field_values = reader.quantities.field_values(self, location, reader.build_list)
        name = reader.numbered_name("late")
        hedge_activity = activities.hedge(field_values.pop("hedge"), **field_values, name=name)
        wait_for_answer = hedge_activity.children[1].children[0]
        assert isinstance(wait_for_answer, activities.Step)
        reader.add_step(wait_for_answer, location)
        return hedge_activity


class ReplySpec(ItemSpec):
    """The point from which a processor continues while the body of a hold keeps the resource."""

    reply: Label = Field(
        description=(
            "name of the resource that the surrounding hold has. The rest of the body runs in"
            " parallel with the processor and keeps the resource"
        )
    )

    key = "reply"
    node = activities.EarlyReply
    use = "for a processor that goes on before the body of its hold ends"
    example = "{reply: server}"
    names_resource = True
    make = staticmethod(activities.reply)


class PickSpec(ItemSpec):
    """One of several alternatives, chosen in turn or by the state of their first resources."""

    pick: list[list[Item]] = Field(
        description="the alternatives; each begins with a step at a station or a hold", min_length=2
    )
    by: Annotated[str, one_of(ROUTES)] = Field(
        SHORTEST, description="; ".join(f"{name}: {title}" for name, title in ROUTES.items())
    )

    key = "pick"
    node = activities.Pick
    hints: ClassVar[Mapping[str, str]] = {
        "options": "write pick: [[STEP, ...], [STEP, ...]] and by: RULE"
    }
    use = "for one of several by the state of their resources"
    example = "{pick: [[{service: left, time: 1 ms}], [{service: right, time: 1 ms}]]}"
    make = staticmethod(lambda options, by=SHORTEST: activities.pick(*options, by=by))


class OptionSpec(Spec):
    """One alternative of a random choice."""

    p: Probability = Field(description="probability of this alternative")
    do: list[Item] = Field(description="steps of this alternative; may be empty")


class ChooseSpec(ItemSpec):
    """One of several alternatives, chosen at random."""

    choose: list[OptionSpec] = Field(
        description="the alternatives; their probabilities add up to 1", min_length=1
    )

    key = "choose"
    node = activities.Choice
    use = "for one of several"
    example = "{choose: [{p: 0.3, do: [{delay: 1 ms}]}, {p: 0.7, do: []}]}"
    make = staticmethod(lambda options: activities.choose(*options))

    @classmethod
    def write(cls, activity: activities.Choice, writer: ActivityWriter) -> dict[str, Any]:
        if (copies_data := _data_of_copies_use(activity, writer)) is not None:
            return copies_data
        return {
            "choose": [
                {"p": writer.quantities.expr_as_data(probability), "do": writer.body(body)}
                for probability, body in activity.options
            ]
        }


def _data_of_copies_use(choice: activities.Choice, writer: ActivityWriter) -> dict[str, Any] | None:
    """Return the data of one use of a repeated resource, for a choice between all of its copies or
    between blocks of them; None for any other choice.
    """
    # Only a choice with equal probabilities reads back from the short form as an equal model.
    equal_probability = Number(1 / len(choice.options))
    if any(probability != equal_probability for probability, _ in choice.options):
        return None
    if all(isinstance(body, activities.Fork) for body in choice.children):
        return _data_of_blocks_use(choice.children, writer)
    common_use = _common_use(choice.children, writer.copy_counts)
    return None if common_use is None else writer.body(common_use)[0]


def _data_of_blocks_use(forks: Sequence[Any], writer: ActivityWriter) -> dict[str, Any] | None:
    """Return the data of one use with `fan_out`, for a fork or a choice of forks over the copies of
    a resource; None for any other forks.
    """
    first_fork = forks[0]
    copy_uses = [branch for fork in forks for branch in fork.branches]
    have_same_shape = all(
        (len(fork.branches), fork.join) == (len(first_fork.branches), first_fork.join)
        for fork in forks
    )
    common_use = _common_use(copy_uses, writer.copy_counts) if have_same_shape else None
    if common_use is None:
        return None
    join_data = (
        {} if first_fork.join is None else {"join": writer.quantities.expr_as_data(first_fork.join)}
    )
    return {**writer.body(common_use)[0], "fan_out": len(first_fork.branches), **join_data}


def _common_use(copy_uses: Sequence[Activity], counts: Mapping[str, int]) -> Activity | None:
    """Return one use of a repeated resource that stands for uses of all its copies in order; None
    if these differ.
    """
    first_use = copy_uses[0]
    if not isinstance(first_use, activities.Step | activities.Hold) or first_use.resource is None:
        return None
    resource_name = first_use.resource.removesuffix(".0")
    if counts.get(resource_name) != len(copy_uses):
        return None

    def use_at(copy_suffix: str) -> Activity:
        if isinstance(first_use, activities.Hold):
            copy_name = resource_name + copy_suffix
            body = activities.rename_replies(first_use.body, first_use.resource, copy_name)
            return replace(first_use, resource=copy_name, body=body)
        return replace(
            first_use,
            name=first_use.name.removesuffix(".0") + copy_suffix,
            resource=resource_name + copy_suffix,
        )

    all_equal = all(copy_use == use_at(f".{index}") for index, copy_use in enumerate(copy_uses))
    return use_at("") if all_equal else None


class RepeatSpec(ItemSpec):
    """Steps that are repeated a number of times in a row."""

    repeat: CountOrProbabilities = Field(
        description=KeyMeaning.of(
            "number of repetitions, or its mean if it varies",
            ("or a list with the probabilities of 0, 1, 2 ... repetitions, which add up to 1"),
        )
    )
    body: list[Item] = Field(description="steps to repeat", min_length=1)
    spread: Annotated[str, one_of(activities.SPREADS)] = Field(
        activities.WHOLE,
        description="; ".join(f"{name}: {text}" for name, text in activities.SPREADS.items()),
    )
    scv: CountFormula | None = Field(
        None,
        description=(
            "squared coefficient of variation of the number of repetitions, in place of a spread."
            " Up to the scv of a geometric distribution, the number of repetitions is the sum of a"
            " whole and a geometric number. Above that scv, it is 0 with some probability and"
            " otherwise geometric"
        ),
    )

    key = "repeat"
    node = activities.Repeat
    use = "for steps again and again"
    example = "{repeat: 3, body: [{delay: 1 ms}]}"
    alike = ("body",)

    make = staticmethod(activities.repeat)


_STAGE_KEYS = ("serial", "parallel", "serial_each", "parallel_each")


class StageSpec(Spec):
    """A stage of a pipeline: one of serial, parallel, serial_each and parallel_each."""

    name: Name | None = Field(None, description="name of the stage in answers")
    count: int = Field(
        1, description="number of equal stages, one after the other", ge=1, le=10_000
    )
    serial: list[Item] | None = Field(
        None,
        description="steps for an item; the stage processes one item at a time, in order",
        min_length=1,
    )
    parallel: list[Item] | None = Field(
        None,
        description=("steps for an item; the stage processes all items at the same time"),
        min_length=1,
    )
    serial_each: list[list[Item]] | None = Field(
        None, description="a list of steps for each item; one item at a time", min_length=1
    )
    parallel_each: list[list[Item]] | None = Field(
        None, description="a list of steps for each item; all items at the same time", min_length=1
    )

    def check_rules(self) -> None:
        if sum(getattr(self, stage_key) is not None for stage_key in _STAGE_KEYS) != 1:
            raise broken_rule(f"a stage is exactly one of {', '.join(_STAGE_KEYS)}")

    def build(self, reader: ActivityReader, location: Location) -> activities.Stage:
        """Build the stage."""
        stage_key = next(
            possible_key for possible_key in _STAGE_KEYS if getattr(self, possible_key) is not None
        )
        body: list[Any] = getattr(self, stage_key)
        bodies = (
            [reader.body(items, (*location, stage_key, index)) for index, items in enumerate(body)]
            if "each" in stage_key
            else []
        )
        make_stage = serial if stage_key.startswith("serial") else parallel
        return make_stage(*(bodies or [reader.body(body, (*location, stage_key))]), name=self.name)

    @staticmethod
    def write(stage: activities.Stage, writer: ActivityWriter) -> dict[str, Any]:
        """Write a stage as plain data."""
        if len(stage.bodies) == 1:
            return {stage.kind: writer.body(stage.bodies[0]), "name": stage.name}
        return {
            f"{stage.kind}_each": [writer.body(body) for body in stage.bodies],
            "name": stage.name,
        }


class PipelineSpec(ItemSpec):
    """Items that pass through stages one after the other."""

    pipeline: Items = Field(
        description=KeyMeaning.of("number of items", "all are ready at the start")
    )
    stages: list[StageSpec] = Field(
        description="stages in order; a stage with a count stands for several equal ones",
        min_length=1,
    )
    name: Name | None = Field(None, description="name of the pipeline in answers")

    key = "pipeline"
    node = activities.Pipeline
    use = "for items through stages"
    example = "{pipeline: 7, stages: [{serial: [{delay: 1 ms}]}]}"
    alike = ("stages", "items")

    def build(self, reader: ActivityReader, location: Location) -> activities.Pipeline:
        specs_and_stages = [
            (spec, spec.build(reader, (*location, "stages", index)))
            for index, spec in enumerate(self.stages)
        ]
        stages = [
            replace(stage, name=f"{stage.name}.{copy_index + 1}") if copy_index else stage
            for spec, stage in specs_and_stages
            for copy_index in range(spec.count)
        ]
        item_count = reader.quantities.expr(self.pipeline, (*location, "pipeline"), COUNT)
        bodies_differ = any(len(stage.bodies) > 1 for stage in stages)
        if bodies_differ and isinstance(item_count, Parameter) and item_count.value is not None:
            # Bodies are counted when the model is built, so their number is not a quantity to vary.
            item_count = Number(item_count.value)
        # A space keeps the names of pipelines apart from those of steps.
        name = self.name or reader.numbered_name("pipeline", " ")
        reader.add_pipeline(name, location)
        return pipeline(stages, item_count, name)

    @classmethod
    def write(cls, activity: activities.Pipeline, writer: ActivityWriter) -> dict[str, Any]:
        stages = [StageSpec.write(stage, writer) for stage in activity.stages]
        return {
            "pipeline": writer.quantities.expr_as_data(activity.items),
            "stages": stages,
            "name": activity.name,
        }


class BarrierWaitSpec(ItemSpec):
    """A wait for all processors at a barrier."""

    barrier: Name = Field(description="name of the barrier")
    parties: int | None = Field(
        None,
        description="number of processors that wait for each other; by default all",
        ge=1,
        le=10**9,
    )

    key = "barrier"
    node = activities.BarrierWait
    use = "for a meeting of all"
    example = "{barrier: meet}"
    alike = ("parties",)
    names_resource = True

    make = staticmethod(activities.barrier)


class OperationSpec(ItemSpec):
    """Base of items that are operations of the machine, such as a message: each is built as steps
    with the costs of the machine. `title` is the first part of their names where the item has no
    name.
    """

    name: Name | None = Field(None, description="first part of the names of the steps")
    component: Label = Field("communication", description="component of the account for this time")
    technology: Technology | None = Field(
        None,
        description=(
            "technology class of all steps of this operation. By default arithmetic is application,"
            " bytes are memory, dependent reads are memory_latency, and a message is protocol,"
            " wire, adapter and switch"
        ),
    )

    node = activities.Then
    title: ClassVar[str]

    def build(self, reader: ActivityReader, location: Location) -> Activity:
        from slipstick.program.operations import MachineOperations  # few activities have any

        field_values = reader.quantities.field_values(self, location)
        name = field_values.pop("name", None)
        component = field_values.pop("component")
        technology = field_values.pop("technology", "")
        title = field_values.get("collective", getattr(self, "title", ""))
        operations = MachineOperations(
            reader.machine(title), name or reader.numbered_name(title), component, technology
        )
        return reader.register_operation(
            self.operation(operations, reader, **field_values), operations, location
        )

    def operation(
        self, operations: MachineOperations, reader: ActivityReader, **values: Any
    ) -> Activity:
        """Return the activity with which the machine executes the operation."""
        raise NotImplementedError


class MessageSpec(OperationSpec):
    """A message to another rank."""

    message: Size = Field(description="bytes of the message")
    placement: Placement = Field("network", description=_PLACEMENT_IN_WORDS)
    together: Amount | None = Field(
        None,
        description=KeyMeaning.of(
            (
                "number of messages that cross an adapter of a node at the same time "
                "and wait for each other"
            ),
            "1 by default",
        ),
    )

    key = "message"
    use = "for a message to another processor"
    example = "{message: 4 KiB}"
    title = "message"

    def operation(
        self, operations: MachineOperations, reader: ActivityReader, **values: Any
    ) -> Activity:
        """Return the activity of sending a message."""
        messages_together = values.get("together")
        placement = values["placement"]
        if messages_together is None and placement != "node" and operations.note_on_lone_messages:
            reader.remarks[operations.note_on_lone_messages] = None
        return operations.message(values["message"], placement, messages_together)


class RooflineSpec(OperationSpec):
    """Arithmetic and memory traffic that overlap: the time is the longer of the two."""

    component: Label = Field("busy", description="component of the account for this time")

    def operation(
        self, operations: MachineOperations, reader: ActivityReader, **values: Any
    ) -> Activity:
        """Return the activity of arithmetic that overlaps memory traffic."""
        return operations.compute(values.get("flops"), values.get("bytes"), reader.processors)


class ComputeSpec(RooflineSpec):
    """Arithmetic, together with memory traffic at the same time."""

    flops: Amount = Field(description="number of floating-point operations")
    bytes: Size | None = Field(
        None, description="bytes moved between the processor and its memory at the same time"
    )

    key = "flops"
    use = "for arithmetic at the machine's rate"
    example = "{flops: 2e9, bytes: 1 GB}"
    title = "compute"


class TrafficSpec(RooflineSpec):
    """Traffic between a processor and its memory."""

    bytes: Size = Field(description="bytes moved between the processor and its memory")

    key = "bytes"
    use = "for memory traffic at the machine's bandwidth"
    example = "{bytes: 1 GB}"
    title = "memory"


class ChaseSpec(OperationSpec):
    """Dependent reads of memory: each read needs the result of the previous one."""

    component: Label = Field("busy", description="component of the account for this time")
    chase: Amount = Field(description="number of dependent reads")

    key = "chase"
    use = "for reads of memory one after the other"
    example = "{chase: 1e6}"
    title = "chase"

    def operation(
        self, operations: MachineOperations, reader: ActivityReader, **values: Any
    ) -> Activity:
        """Return the activity of dependent reads of memory."""
        return operations.chase(values["chase"])


_ALGORITHMS = (*dict.fromkeys(algorithm.name for algorithm in ALGORITHMS), LEVELS, BEST)


class CollectiveSpec(OperationSpec):
    """A collective operation of ranks, such as an allreduce."""

    collective: Annotated[str, one_of(OPERATIONS)] = Field(description="name of the operation")
    size: Size | None = Field(
        None,
        description=KeyMeaning.of(
            "bytes of the vector",
            ("for allgather and reduce-scatter, of the vectors of all ranks together"),
        ),
    )
    ranks: Items | None = Field(
        None,
        description=KeyMeaning.of("number of ranks that take part", "by default all processors"),
    )
    algorithm: Annotated[str, one_of(_ALGORITHMS)] = Field(
        BEST,
        description=(
            "algorithm of the operation; by default the fastest at each point. levels works inside"
            " nodes and between them at the same time"
        ),
    )
    placement: Placement | None = Field(
        None,
        description=(
            f"{_PLACEMENT_IN_WORDS}; by default they fill the nodes of the machine one after the"
            " other, if it has nodes"
        ),
    )
    combine: TimePerByte | None = Field(
        None,
        description=KeyMeaning.of(
            "time to combine one byte with another by arithmetic", "0 by default"
        ),
    )

    key = "collective"
    use = "for an operation of all ranks"
    example = "{collective: allreduce, size: 64 MB, ranks: 8}"
    alike = OPERATIONS

    def check_rules(self) -> None:
        if self.collective == "barrier" and self.size:
            raise broken_rule("a barrier moves no bytes; leave size out", "size")
        if self.collective != "barrier" and not self.size:
            raise broken_rule(f"{self.collective} needs the size of its vector", "collective")

    def operation(
        self, operations: MachineOperations, reader: ActivityReader, **field_values: Any
    ) -> Activity:
        """Return the activity of the collective operation. `field_values` are its size, ranks,
        algorithm, placement and time of combining, as far as the file states them.
        """
        ranks = field_values.get("ranks", reader.processors)
        if ranks is None:
            raise ModelError(f"{self.collective} needs its ranks here; write ranks: N")
        # Ranks that fill node after node mix two networks, for which no closed form is exact.
        node = operations.machine.node
        if "placement" not in field_values and node is not None:
            assumption = (
                f"by the algorithm that {node.collectives} chooses by default for its size"
                if node.collectives in LIBRARIES
                else "messages inside nodes overlap completely with those between nodes, and ranks"
                " that share an adapter have partners on all nodes"
            )
            reader.estimates[
                f"the time of a collective on several nodes is estimated: {assumption}"
            ] = None
        return operations.collective(
            self.collective,
            field_values.get("size", zero(BYTES)),
            ranks,
            field_values["algorithm"],
            field_values.get("placement"),
            field_values.get("combine"),
        )


_OWN_ITEMS: dict[str, type[ItemSpec]] = {
    item_spec.key: item_spec
    for item_spec in (
        DelaySpec,
        ServiceSpec,
        HoldSpec,
        AttemptSpec,
        ForkSpec,
        SendSpec,
        IfLateSpec,
        HedgeSpec,
        ReplySpec,
        ChooseSpec,
        PickSpec,
        RepeatSpec,
        PipelineSpec,
        BarrierWaitSpec,
        WaitSpec,
        SignalSpec,
        PutSpec,
        GetSpec,
        AskSpec,
        MessageSpec,
        CollectiveSpec,
        ComputeSpec,
        TrafficSpec,
        ChaseSpec,
    )
}

ITEMS: Registry[type[ItemSpec]] = Registry("slipstick.steps", _OWN_ITEMS)
"""The kinds of items by the key that tells each."""


if TYPE_CHECKING:
    AnyResource = ResourceSpec
else:
    Item = Annotated[
        reduce(or_, (Annotated[item_spec, Tag(key)] for key, item_spec in ITEMS.items())),
        Discriminator(
            lambda value: kind_key_of(value, ITEMS),
            custom_error_type="item",
            custom_error_message="an item of an activity has one of the keys " + ", ".join(ITEMS),
        ),
    ]
    AnyResource = Annotated[
        reduce(
            or_, (Annotated[resource_spec, Tag(key)] for key, resource_spec in RESOURCES.items())
        ),
        Discriminator(kind_of_resource),
    ]
    for spec in [*ITEMS.values(), *RESOURCES.values()]:
        # A package that adds one imports what is defined above, so it cannot know `Item`.
        if spec.__module__ not in (__name__, KeyedSpec.__module__):
            spec.model_rebuild(
                _types_namespace={**vars(sys.modules[spec.__module__]), "Item": Item}
            )


class PhaseSpec(Spec):
    """A phase of a program: equal iterations on some of the processors."""

    repeat: CountFormula = Field(ONE, description="number of iterations")
    processors: Items = Field(description="number of processors that execute the phase")
    cycle: list[Item] = Field(description="steps of one iteration", min_length=1)


class ArrivingSpec(StreamSpec):
    """Customers that arrive, execute an activity once and leave."""

    arrivals_scv: Count | None = Field(
        None,
        description=KeyMeaning.of(
            ("squared coefficient of variation of the times between arrivals"),
            "1 (a Poisson stream) by default",
        ),
    )

    def check_rules(self) -> None:
        super().check_rules()
        if self.arrivals_scv is not None and self.arrivals is None:
            raise broken_rule(
                "arrivals_scv says how arrivals vary; give their rate", "arrivals_scv"
            )
        if self.arrivals_scv is not None and self.profile is not None:
            raise broken_rule(
                "arrivals by a profile are a Poisson stream at any time; leave arrivals_scv out",
                "arrivals_scv",
            )

    def target_expr(self, quantity_reader: QuantityReader, location: Location) -> Expr | None:
        """Return the target of the response time [s]; None without one."""
        target_time = self.target_time
        target_location = (*location, "target_time")
        return (
            None
            if target_time is None
            else quantity_reader.expr(target_time, target_location, TIME)
        )

    def pattern(self, quantity_reader: QuantityReader, location: Location) -> system.ArrivalPattern:
        """Return the pattern of the arrivals."""
        field_values = quantity_reader.field_values(self, location)
        field_values = {key: field_values[key] for key in _PATTERN_KEYS if key in field_values}
        if self.trace is not None:
            field_values["trace"] = self.trace.numbers()
        field_values["profile"] = self.pieces()
        return system.ArrivalPattern(**field_values)


_PATTERN_KEYS = tuple(field.name for field in fields(system.ArrivalPattern))


def _pattern_data(
    pattern: system.ArrivalPattern, quantity_writer: QuantityWriter
) -> dict[str, Any]:
    """Write the keys of an arrival pattern as plain data."""
    return pattern_data(quantity_writer.fields_as_data(pattern))


class GroupSpec(ArrivingSpec):
    """One of several groups: processors that repeat a cycle, or customers that arrive."""

    processors: Members | None = Field(
        None,
        description=KeyMeaning.of("number of processors", "any group but the first may have 0"),
    )
    cycle: list[Item] = Field(
        description="steps that each processor repeats, or that each customer executes once",
        min_length=1,
    )

    def check_rules(self) -> None:
        if (self.processors is None) == (self.arrivals is None and self.trace is None):
            raise broken_rule("a group has processors, or arrivals; give one of them", "cycle")
        super().check_rules()


class PopulationSpec(ArrivingSpec):
    """The population of an activity: processors, arrivals or phases."""

    example: ClassVar[str] = "{processors: 16}"
    hints: ClassVar[Mapping[str, str]] = {
        "think_time": "thinking is a step of the cycle: {name: think, delay: 1 s, scv: 1}"
    }

    processors: Items | None = Field(None, description="number of processors that repeat the cycle")
    arrivals: ArrivalRate | None = Field(
        None, description="rate of arrivals of requests that go through the cycle once"
    )
    phases: list[PhaseSpec] | None = Field(
        None, description="phases of a program that ends, in place of the cycle", min_length=1
    )
    called: Label | None = Field(
        None,
        description=(
            "word for one processor in reports, such as thread or user; processor by default"
        ),
    )


class RequirementSpec(Spec):
    """A condition that must be true for the model to have an answer."""

    that: Note = Field(
        description=(
            "comparisons of parameters and quantities of the machine, such as state <="
            " machine.memory.capacity"
        )
    )
    says: Note = Field("", description="the reason, for messages")


class ActivitySpec(ModelFileSpec):
    """A model of a parallel program or a service: what each processor or request does, step by
    step.
    """

    hints: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("p", "processors", "threads", "cores", "workers", "ranks"),
        "write population: {processors: 16}; its path is population.processors",
    )

    activity: Literal[1] = Field(description="version of this format")
    parameters: dict[Word, AnyQuantity] = Field({}, description=PARAMETERS_IN_WORDS)
    population: PopulationSpec | None = Field(
        None,
        description=(
            "the processors that repeat the cycle, or the arrivals that go through it once"
        ),
    )
    useful: list[Label] = Field(
        ["busy"], description=("components of the account that count as useful work")
    )
    resources: dict[Name, AnyResource] = Field(
        {}, description="stations, locks, barriers and other resources, by name"
    )
    cycle: list[Item] | None = Field(
        None, description="the steps of each processor or request", min_length=1
    )
    phases: list[PhaseSpec] | None = Field(
        None,
        description="the phases of a program that ends, in place of population and cycle",
        min_length=1,
    )
    groups: dict[Word, GroupSpec] | None = Field(
        None,
        description=(
            "several kinds of processors or requests, in place of population and cycle. Times and"
            " throughputs are per group, and the account is that of the first group (of the first"
            " group of processors, if there are any)"
        ),
        min_length=1,
    )
    technology: Factors = Field(
        Factors(), description=("factors on the times of classes of cost, by class")
    )
    requires: dict[Name, RequirementSpec] = Field(
        {},
        description=(
            "conditions on parameters and on the machine, by name. A condition on a quantity that"
            " the machine does not have is not checked, and a note says so"
        ),
    )

    def check_rules(self) -> None:
        for reserved_name in filter(system.is_processor, self.resources):
            raise broken_rule(
                system.processor_name_message(reserved_name), "resources", reserved_name
            )
        population = self.population
        population_forms: list[object] = [self.phases, self.groups]
        population_forms += (
            []
            if population is None
            else [population.processors, population.arrivals, population.phases]
        )
        is_without_cycle = self.phases is not None or self.groups is not None
        if sum(form is not None for form in population_forms) != 1 or (
            population is not None and is_without_cycle
        ):
            raise broken_rule(
                "write population: {processors: 16}, or arrivals or phases in place of processors;"
                " or, without a population, phases or groups"
            )
        is_program = is_without_cycle or (population is not None and population.phases is not None)
        if is_program == (self.cycle is not None):
            raise broken_rule(
                "a cycle goes with processors or arrivals; phases and groups bring their own"
            )

    def build(self, name: str, tree: Node, parameters: Mapping[str, Expr]) -> system.Model:
        """Build the model of a checked file.

        Parameters
        ----------
        name : of the model
        tree : where everything is written
        parameters : every quantity of the file, by path (``cycle.work.delay``)

        Raises
        ------
        SpecError : every formula and name that does not fit
        """
        quantity_reader = QuantityReader(tree, self.parameters, parameters)
        model = ActivityReader(name, self, quantity_reader).model()
        if quantity_reader.shaping_values.keys() & model.parameters.keys():
            # A number that shapes the model cannot vary without building it anew.
            return self.build(name, tree, {**parameters, **quantity_reader.shaping_values})
        return scaled_model(model, technology_factors(self.technology, parameters))


class ActivityReader:
    """Builds the model of one checked activity file.

    Parameters
    ----------
    name : of the model
    spec : the checked file
    quantity_reader : its quantities as expressions, and the problems found so far

    Attributes
    ----------
    estimates : what of the machine is taken in the mean, in words; answers are then not exact
    """

    def __init__(self, name: str, spec: ActivitySpec, quantity_reader: QuantityReader) -> None:
        self._name = name
        self._spec = spec
        self.quantities = quantity_reader
        repeated_specs = {
            key: resource_spec
            for key, resource_spec in spec.resources.items()
            if isinstance(resource_spec, RepeatedSpec)
        }
        self._copy_count_by_resource: dict[str, int] = {}
        for key, repeated_spec in repeated_specs.items():
            if isinstance(repeated_spec.count, WholeFormula):
                self._copy_count_by_resource[key] = quantity_reader.whole_number(
                    repeated_spec.count, ("resources", key, "count")
                )
            elif isinstance(repeated_spec.count, int):
                self._copy_count_by_resource[key] = repeated_spec.count
        self._resources: dict[str, system.Resource] = {}
        for resource_name, resource_spec in spec.resources.items():
            self._resources |= dict.fromkeys(
                self._copy_names(resource_name),
                resource_spec.build(quantity_reader, ("resources", resource_name)),
            )
        self.estimates: dict[str, None] = {}
        self.remarks: dict[str, None] = {}
        self._use_count_by_name: Counter[str] = Counter()
        self._activities_and_locations = list[tuple[Activity, Location]]()
        self._last_number_by_name: Counter[str] = Counter()
        self._step_by_name: dict[str, activities.Step] = {}

    @cached_property
    def processors(self) -> Expr | None:
        """The number of processors of a closed population; None for other populations."""
        population = self._spec.population
        if population is None or population.processors is None:
            return None
        return self.quantities.expr(population.processors, ("population", "processors"), COUNT)

    @cached_property
    def _model_without_steps(self) -> system.Model:
        """The resources of the file as a model without steps, against which single items are
        checked.
        """
        # How many processors there are is known of the whole model only.
        unknown_count = Parameter("processors", COUNT)
        return system.Model(
            self._name,
            system.ClosedPopulation((system.Group("", unknown_count, then()),)),
            self._resources,
        )

    @cached_property
    def _machine_of_file(self) -> Machine | SharedMemory | Network | None:
        return None if self._spec.machine is None else build_hardware(self._spec.machine)

    def machine(self, user: str) -> Machine:
        """Return the machine on a network on which the model runs; `user` is the part of the file
        that needs it, for the message.

        Raises
        ------
        ModelError : there is none, or it has no network
        """
        if self._machine_of_file is None:
            raise ModelError(
                f"{user} needs a machine; write machine: NAME in the file, or give one with"
                " --machine"
            )
        from slipstick.model.machine import Machine

        if not isinstance(self._machine_of_file, Machine):
            raise ModelError(f"{user} needs a machine with a network; this one shares memory")
        return self._machine_of_file

    def register_operation(
        self, activity: Activity, operations: MachineOperations, location: Location
    ) -> Activity:
        """Register the names of the steps of a machine's operation and the stations that they use,
        and return the activity of the operation unchanged.
        """
        for operation_step in activities.timed_steps([activity]):
            self.add_step(operation_step, location)
            if operation_step.resource is not None:
                self._resources.setdefault(operation_step.resource, system.Station())
        self._use_count_by_name[operations.name] += 1
        return activity

    def model(self) -> system.Model:
        """Build the model; raise a SpecError with every formula and name that is wrong."""
        population = self._build_population()
        requires, notes = self._build_requirements()
        if self.quantities.problems:
            raise SpecError(self.quantities.problems)
        try:
            built_model = system.Model(
                self._name,
                population,
                self._resources,
                tuple(self._spec.useful),
                left_out=self._spec.losses,
                estimates=tuple(self.estimates),
                requires=requires,
                notes=(*notes, *self.remarks),
            )
            finishing_station_names = finishing_stations(self._spec.resources, self._copy_names)
            if breakdowns := self._breakdown_times():
                built_model = FUNCTIONS["activity with breakdowns"](
                    built_model, breakdowns, finishing_station_names
                )
            if schedules := schedules_of(self._spec.resources, self._copy_names):
                built_model = FUNCTIONS["activity with schedules"](
                    built_model, schedules, finishing_station_names
                )
        except ModelError as error:
            # What only the whole model tells, such as a wait that nothing ends.
            self.quantities.report_problem(self._location_of_part(error.about), str(error))
            raise SpecError(self.quantities.problems) from None
        self._check_useful(built_model)
        amounts = self.quantities.amount_expressions(
            self._spec.amounts, value_parameters(built_model)
        )
        if self.quantities.problems:
            raise SpecError(self.quantities.problems)
        all_amounts = {**built_model.amounts, **amounts}
        return replace(built_model, amounts=all_amounts) if amounts else built_model

    def _breakdown_times(self) -> dict[str, tuple[Expr, Expr]]:
        """Return the mean time to a failure and the mean time of a repair of each station that
        breaks down [s].
        """
        return {
            copy_name: spec.breakdown.read(self.quantities, ("resources", resource_name))
            for resource_name, spec in self._spec.resources.items()
            if isinstance(spec, StationSpec) and spec.breakdown is not None
            for copy_name in self._copy_names(resource_name)
        }

    def _build_requirements(self) -> tuple[tuple[Requirement, ...], list[str]]:
        """Build the requirements of the model, and notes on those that name a quantity which the
        machine does not give.
        """
        requirements = list[Requirement]()
        notes = list[str]()
        for requirement_name, requirement in self._spec.requires.items():
            location = ("requires", requirement_name, "that")
            if missing_path := self.quantities.missing_machine_path(requirement.that):
                notes.append(f"{requirement_name} is not checked: there is no {missing_path}")
                continue
            conditions = self.quantities.parse_condition(requirement.that, location)
            requirements.append(
                Requirement(requirement_name, conditions, requirement.that, requirement.says)
            )
        return tuple(requirements), notes

    def body(self, items: Sequence[Item], location: Location) -> Activity:
        """Build a list of items as one activity."""
        return then(
            *(self._build_item(item, (*location, index)) for index, item in enumerate(items))
        )

    def _copy_names(self, resource: str) -> list[str]:
        """List the names of the copies of a repeated resource; for any other resource, its name
        alone.
        """
        copy_count = self._copy_count_by_resource.get(resource)
        return (
            [resource]
            if copy_count is None
            else [f"{resource}.{index}" for index in range(copy_count)]
        )

    def use_of_one_copy(self, resource: str, make_use: Callable[[str, str], Activity]) -> Activity:
        """Build the use of a resource; for a repeated resource, a choice of one copy, each with the
        same probability.

        Parameters
        ----------
        resource : its name in the file
        make_use : makes the use from the name of the resource, and what its steps add to their
            names
        """
        if resource not in self._copy_count_by_resource:
            return make_use(resource, "")
        self._use_count_by_name[resource] += 1
        copy_names = self._copy_names(resource)
        return choose(
            *(
                (1 / len(copy_names), make_use(copy_name, copy_name.removeprefix(resource)))
                for copy_name in copy_names
            )
        )

    def use_of_blocks(
        self,
        resource: str,
        block_size: int,
        join: Expr | None,
        make_use: Callable[[str, str], Activity],
    ) -> Activity:
        """Build the use of `block_size` copies of a resource side by side: of all copies, or of one
        block of consecutive copies, each block with the same probability.

        Parameters
        ----------
        resource, make_use : as for `use_of_one_copy`
        block_size : of copies used; the blocks are equal parts of all
        join : how many of them are waited for; None: all

        Raises
        ------
        ModelError : the copies are not such blocks
        """
        copy_names = self._copy_names(resource)
        if resource not in self._copy_count_by_resource or len(copy_names) % block_size:
            raise ModelError(
                f"a fan_out of {block_size} divides the copies of a resource into equal parts, and"
                f" {resource} has {len(copy_names)}; give it a count that is a multiple of"
                f" {block_size}"
            )
        self._use_count_by_name[resource] += 1
        blocks = [
            activities.fork(
                *(
                    make_use(copy_name, copy_name.removeprefix(resource))
                    for copy_name in copy_names[block_start : block_start + block_size]
                ),
                join=join,
            )
            for block_start in range(0, len(copy_names), block_size)
        ]
        return (
            blocks[0]
            if len(blocks) == 1
            else choose(*((1 / len(blocks), block) for block in blocks))
        )

    def build_list(self, written_list: list[Any], location: Location) -> object:
        """Build the value of a list: one activity for a list of items, several activities for a
        list of such lists, and probabilities with activities for a list of options.
        """
        if (written_list and isinstance(written_list[0], ItemSpec)) or not written_list:
            return self.body(written_list, location)
        built_values = (
            (
                self.body(item, (*location, index))
                if isinstance(item, list)
                else tuple(
                    self.quantities.field_values(item, (*location, index), self.build_list).values()
                )
            )
            for index, item in enumerate(written_list)
        )
        return tuple(built_values)

    def numbered_name(self, name: str, prefix: str = "") -> str:
        """Return a name for a step that has none in the file: the name of its resource, with a
        number from the second step on.
        """
        candidate = name
        while self._use_count_by_name[f"{prefix}{candidate}"]:
            self._last_number_by_name[name] += 1
            candidate = f"{name}.{1 + self._last_number_by_name[name]}"
        return candidate

    def add_step(self, step: activities.Step, location: Location) -> None:
        """Register the name of a step; report a name that another step has."""
        if self._step_by_name.setdefault(step.name, step) != step:
            self.quantities.report_problem(
                (*location, "name"),
                f"another step is called {step.name}; give each a name of its own",
            )
        self._use_count_by_name[step.name] += 1

    def add_pipeline(self, name: str, location: Location) -> None:
        """Register the name of a pipeline; report a name that another pipeline has."""
        if self._use_count_by_name[f" {name}"]:
            self.quantities.report_problem(
                (*location, "name"),
                f"another pipeline is called {name}; give each a name of its own",
            )
        self._use_count_by_name[f" {name}"] += 1

    def _build_item(self, spec: Item, location: Location) -> Activity:
        """Return the activity of an item; an item with an error is reported and left out, so that
        the reading of the file goes on.
        """
        try:
            activity = spec.build(self, location)
        except ModelError as error:
            self.quantities.report_problem(location, str(error))
            return then()
        self._activities_and_locations.append((activity, location))
        if spec.names_resource:
            self._check_resource(activity, (*location, spec.key))
        return activity

    def _location_of_part(self, part: object) -> Location:
        """Return the place of the innermost item that contains a part of the activity; the place of
        the resources if no item contains it.
        """
        for (
            activity,
            location,
        ) in self._activities_and_locations:  # an item is built after those inside it
            if isinstance(part, Activity) and any(
                node is part for node in distinct_activities([activity])
            ):
                return location
        return ("resources",)

    def _check_resource(self, activity: Activity, location: Location) -> None:
        """Report, at its place, an item that names a missing resource or one of the wrong kind."""
        # A repeated resource is used by a choice of one of its copies.
        activity = activity.options[0][1] if isinstance(activity, activities.Choice) else activity
        # The body of a hold was checked as its items were built.
        activity_without_body = (
            hold(activity.resource, then(), activity.mode, permits=activity.permits)
            if isinstance(activity, activities.Hold)
            else activity
        )
        first_part = activity.sequence[0]
        try:
            if isinstance(first_part, activities.UnitStep):
                # Whether it is in its monitor, and what signals it, is known of the whole model
                # only.
                check_counter(first_part, self._resources)
            else:
                for node in distinct_activities([activity_without_body]):
                    self._model_without_steps.check_uses(node)
        except ModelError as error:
            self.quantities.report_problem(location, str(error))

    def _check_useful(self, model: system.Model) -> None:
        # The default names a component that a model need not have.
        if "useful" not in self._spec.model_fields_set:
            return
        components = {step.component for step in model.steps}
        for index, component in enumerate(self._spec.useful):
            if component not in components:
                components_text = (
                    f"there are {', '.join(sorted(components))}"
                    if components
                    else "there are no steps"
                )
                self.quantities.report_problem(
                    ("useful", index), f"no step has the component {component!r}; {components_text}"
                )

    def _build_population(self) -> system.Population:
        spec = self._spec
        if spec.phases is not None:
            return self._build_phases(spec.phases, ("phases",))
        if spec.groups is not None:
            groups = [
                self._build_group(name, group_spec) for name, group_spec in spec.groups.items()
            ]
            try:
                return system.population_of_groups(groups)
            except ModelError as error:
                self.quantities.report_problem(("groups", groups[0].name), str(error))
                return self._model_without_steps.population
        assert spec.population is not None
        if spec.population.phases is not None:
            return self._build_phases(spec.population.phases, ("population", "phases"))
        assert spec.cycle is not None
        cycle = self.body(spec.cycle, ("cycle",))
        population = spec.population
        if self.processors is not None:
            target_expr = population.target_expr(self.quantities, ("population",))
            return system.ClosedPopulation(
                (system.Group("", self.processors, cycle, target_time=target_expr),)
            )
        return system.OpenPopulation(
            self.quantities.expr(population.arrivals, ("population", "arrivals"), RATE),
            cycle,
            population.pattern(self.quantities, ("population",)),
            population.target_expr(self.quantities, ("population",)),
        )

    def _build_group(self, name: str, spec: GroupSpec) -> system.Group:
        """Build a group of processors or arrivals."""
        location = ("groups", name)
        processors = spec.processors
        cycle = self.body(spec.cycle, (*location, "cycle"))
        target_expr = spec.target_expr(self.quantities, location)
        if processors is not None:
            processor_count = self.quantities.expr(processors, (*location, "processors"), COUNT)
            return system.Group(name, processor_count, cycle, target_time=target_expr)
        arrival_rate = self.quantities.expr(spec.arrivals, (*location, "arrivals"), RATE)
        pattern = spec.pattern(self.quantities, location)
        return system.Group(name, Number(0.0), cycle, arrival_rate, pattern, target_expr)

    def _build_phases(
        self, phases: Sequence[PhaseSpec], location: Location
    ) -> system.PhasedPopulation:
        fields_of_phases = (
            self.quantities.field_values(phase_spec, (*location, index), self.build_list)
            for index, phase_spec in enumerate(phases)
        )
        return system.PhasedPopulation(
            tuple(system.Phase(**phase_fields) for phase_fields in fields_of_phases)
        )


def activity_data(model: system.Model) -> dict[str, Any]:
    """Write a model as the plain data of an activity file.

    A parameter with a value becomes an entry of ``parameters``, or stands where it is used if it is
    named after that place, so a model read from a file and written again reads as an equal model.

    Parameters
    ----------
    model : the system

    Raises
    ------
    ModelError : a parameter has no value

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> activity_data(closed_model(delay(2.0, name="work")))["cycle"]
    [{'name': 'work', 'delay': 'work'}]
    """
    need_model(model, "dump")
    model, keys_of_absences = FUNCTIONS["activity as written"](model)
    writer = ActivityWriter(model.resources)
    population_data = writer.population(model)
    spec_by_type = {
        resource_spec.node: resource_spec
        for resource_spec in RESOURCES.values()
        if resource_spec.node is not None
    }
    resource_data_by_name: dict[str, dict[str, Any]] = {}
    for name, resource in model.resources.items():
        # Copies are written once, under the name that they have in common.
        repeated_name, _, copy_index = name.rpartition(".")
        resource_data = {
            **spec_by_type[type(resource)].write(resource, writer.quantities),
            **keys_of_absences(name, writer.quantities),
        }
        if copy_index not in map(str, range(writer.copy_counts.get(repeated_name, 0))):
            resource_data_by_name[name] = resource_data
        elif copy_index == "0":
            resource_data_by_name[repeated_name] = {
                **resource_data,
                "count": writer.copy_counts[repeated_name],
            }
    amount_texts = writer.quantities.amount_formulas(model.amounts, value_parameters(model))
    requirement_data = {
        requirement.name: writer.requirement_as_data(requirement) for requirement in model.requires
    }
    parameter_data = (
        {"parameters": writer.quantities.parameters} if writer.quantities.parameters else {}
    )
    components = {step.component for step in model.steps}
    useful_components = [name for name in model.useful if name in components]
    left_out_data = {"left_out": dict(model.left_out)} if model.left_out else {}
    head_data = {
        "activity": 1,
        **left_out_data,
        **parameter_data,
        **({"useful": useful_components} if useful_components else {}),
    }
    requires_data = {"requires": requirement_data} if requirement_data else {}
    amount_data = {"amounts": amount_texts} if amount_texts else {}
    return {
        **head_data,
        **requires_data,
        **amount_data,
        "resources": resource_data_by_name,
        **population_data,
    }


class ActivityWriter:
    """Writes activities as the plain data of a file.

    Parameters
    ----------
    resources : of the model

    Attributes
    ----------
    copy_counts : how many resources NAME.0, NAME.1 and so on are alike, by NAME
    """

    def __init__(self, resources: Mapping[str, system.Resource]) -> None:
        self.quantities = QuantityWriter()
        self.copy_counts: Counter[str] = Counter()
        for name, resource in resources.items():
            repeated_name, _, copy_index = name.rpartition(".")
            # In the order NAME.0, NAME.1 ...: a gap or a difference ends the alike ones.
            if (
                copy_index == str(self.copy_counts[repeated_name])
                and resource == resources[f"{repeated_name}.0"]
            ):
                self.copy_counts[repeated_name] += isinstance(
                    resource, system.Station | system.Lock | system.Permits
                )
        self._item_by_node = {item.node: item for item in ITEMS.values() if item.node is not None}

    def requirement_as_data(self, requirement: Requirement) -> dict[str, str]:
        """Write a requirement; a relation between two comparisons is written with both."""
        comparison_texts = (
            f"{self.quantities.expr_as_data(condition.left)} {condition.relation}"
            f" {self.quantities.expr_as_data(condition.right)}"
            for condition in requirement.conditions
        )
        says_data = {"says": requirement.says} if requirement.says else {}
        return {"that": " and ".join(comparison_texts), **says_data}

    def write_inner(self, value: object) -> object:
        """Write an activity as a list of items, and return any other value unchanged."""
        return self.body(value) if isinstance(value, Activity) else value

    def body(self, activity: Activity) -> list[dict[str, Any]]:
        """Write an activity as a list of items."""
        return [self._write_item(step) for step in activity.sequence]

    def _write_item(self, activity: Activity) -> dict[str, Any]:
        if type(activity) not in self._item_by_node:
            raise ModelError(f"a {type(activity).__name__} cannot be written to a file")
        return self._item_by_node[type(activity)].write(activity, self)

    def _write_group(self, group: system.Group) -> dict[str, Any]:
        customer_data = {"processors": self.quantities.expr_as_data(group.processors)}
        if group.arrivals is not None:
            customer_data = {"arrivals": self.quantities.expr_as_data(group.arrivals)}
        arrival_data = _pattern_data(group.pattern, self.quantities) | self._target_data(
            group.target_time
        )
        return {**customer_data, **arrival_data, "cycle": self.body(group.cycle)}

    def _target_data(self, target: Expr | None) -> dict[str, Any]:
        return {} if target is None else {"target_time": self.quantities.expr_as_data(target)}

    def population(self, model: system.Model) -> dict[str, Any]:
        """Write the population and its activities."""
        match model.population:
            case system.ClosedPopulation(
                (system.Group("", processors, cycle, target_time=target),)
            ):
                processor_data = {"processors": self.quantities.expr_as_data(processors)}
                return {
                    "population": processor_data | self._target_data(target),
                    "cycle": self.body(cycle),
                }
            case system.ClosedPopulation(groups) | system.StreamsPopulation(groups):
                return {"groups": {group.name: self._write_group(group) for group in groups}}
            case system.OpenPopulation(rate, cycle, pattern, target):
                arrival_data = _pattern_data(pattern, self.quantities) | self._target_data(target)
                return {
                    "population": {"arrivals": self.quantities.expr_as_data(rate), **arrival_data},
                    "cycle": self.body(cycle),
                }
            case system.PhasedPopulation(phases):
                return {
                    "phases": [
                        self.quantities.fields_as_data(phase, self.write_inner) for phase in phases
                    ]
                }
            case system.SuperstepPopulation():
                raise ModelError(
                    f"{model.name} has supersteps, which a file cannot state; keep its counts"
                    " instead"
                )
