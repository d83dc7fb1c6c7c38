"""Resources of activity files: the keys of stations, locks, permits, monitors, buffers, pools of
tasks, barriers and circuit breakers, and what files of queueing networks share with them.

Each kind of resource is one class, listed in `RESOURCES`. The class holds the keys of its table,
reads it (`build`) and writes it (`write`); messages and editors take the rest from the list. To add
a kind, write its class and list it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from slipstick.errors import KeyMeaning, ModelError
from slipstick.expression.nodes import COUNT, TIME, Expr
from slipstick.extensions import Registry
from slipstick.model import system
from slipstick.model.system import buffer
from slipstick.model.tasks import MOST_NODES, Loop, Trees
from slipstick.schema.kinds.constraints import SPELT, broken_rule, known_word, one_of
from slipstick.schema.kinds.quantity import (
    MOST_SERVERS,
    RATES_IN_WORDS,
    Count,
    Formula,
    Given,
    Location,
    Quantity,
    QuantityReader,
    QuantityWriter,
    Rates,
    Spec,
    TimeOrFormula,
    whole_or_formula,
)
from slipstick.vocabulary import (
    BACK_OFFS,
    BARRIERS,
    HOME,
    LOCKS,
    MOST_HOLDERS,
    READER_WRITER_ORDERS,
    STATION_DISCIPLINES,
    TASK_ORDERS,
    contradicted_keys,
)

# A label may name one processor of a resource, as in `bus[2]`; a word stands in formulas, where a
# bracket would call a function.
_LABEL_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*(\[[0-9]+\])?$"
_WORD_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*$"
SPELT[_LABEL_PATTERN] = (
    "write a name: letters, digits and _, with single - and . between them, starting with a letter"
)
SPELT[_WORD_PATTERN] = (
    "write a name that can stand in arithmetic: letters, digits and _, starting with a letter"
)

Label = Annotated[str, StringConstraints(pattern=_LABEL_PATTERN, max_length=64)]
"""A resource, one processor of them included, or a component of the account."""

Word = Annotated[str, StringConstraints(pattern=_WORD_PATTERN, max_length=64)]

BALKING_IN_WORDS = KeyMeaning.of(
    "probabilities that a customer who would have to wait leaves at once, if 0, 1, 2 ... others"
    " wait. They must not fall",
    "the last one also applies to longer queues",
)
Probability = Annotated[Given | Formula, Quantity(COUNT, most=1.0, formula=True)]
ServerNumber = Annotated[int | Formula, whole_or_formula(MOST_SERVERS)]
ResourceNumber = Annotated[int | Formula, whole_or_formula(1024)]
FailureTime = Annotated[Given | Formula, Quantity(TIME, least=None, above=0.0, formula=True)]


class KeyedSpec(Spec):
    """Base of what an activity file consists of, items and resources: a spec whose kind shows in a
    key that only this kind has, and that builds one activity or resource.

    Attributes
    ----------
    key : the key
    node : the class that it builds; None for what stands for several, or is another way to write
        one
    """

    key: ClassVar[str]
    node: ClassVar[type | None] = None


def _first_field(spec: KeyedSpec | type[KeyedSpec]) -> str:
    """Return the name of the first field of the class that a spec builds."""
    assert spec.node is not None
    return fields(spec.node)[0].name


def fields_of_node(spec: KeyedSpec, fields_by_key: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec under the names of the fields of the activity or the resource
    that it builds.

    The key that tells the kind, such as `delay`, becomes the first field.
    """
    return {
        _first_field(spec) if key == spec.key else key: value
        for key, value in fields_by_key.items()
    }


def keys_of_node(
    spec: type[KeyedSpec], node: Any, value_by_field: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of an activity or a resource by the keys of its spec, the inverse of
    `fields_of_node`. The key that shows the kind is written even if its value is the default.
    """
    first_field = _first_field(spec)
    if spec.key not in spec.model_fields:
        return value_by_field
    return {spec.key: value_by_field.pop(first_field, getattr(node, first_field)), **value_by_field}


class ResourceSpec(KeyedSpec):
    """Base of the kinds of resources. The kind of a resource shows in a key that only this kind
    has; a station has none of these keys.

    Attributes
    ----------
    example : how resources are written, for messages
    """

    example: ClassVar[str] = "{servers: 2}, {lock: fifo} or {permits: 4}"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("kind", "type"), f"the key of a resource tells its kind: write {example}"),
        **dict.fromkeys(
            ("tasks", "jobs", "items"),
            "a pool of tasks is {pool: fifo, iterations: 1000, time: 1 s}",
        ),
        "mutex": "write lock: fifo",
        "semaphore": "write permits and their number",
    }

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.Resource:
        """Build the resource, whose first field is the value of the key that shows its kind."""
        assert self.node is not None
        resource: system.Resource = self.node(
            **fields_of_node(self, quantity_reader.field_values(self, location))
        )
        return resource

    @classmethod
    def write(cls, resource: Any, quantity_writer: QuantityWriter) -> dict[str, Any]:
        """Write a resource as plain data."""
        return keys_of_node(cls, resource, quantity_writer.fields_as_data(resource))


class RepeatedSpec(ResourceSpec):
    """A resource of which there may be several copies, each with a queue of its own."""

    count: ResourceNumber | None = Field(
        None,
        description=(
            "number of copies, named NAME.0, NAME.1 and so on; a step at NAME uses one of them at"
            " random"
        ),
    )

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.Resource:
        # How many copies there are is no field of the resource: the reader multiplies it.
        return super(RepeatedSpec, self.model_copy(update={"count": None})).build(
            quantity_reader, location
        )


class BreakdownSpec(Spec):
    """Failures and repairs of each server of a station. An interrupted service is resumed after the
    repair.
    """

    every: FailureTime = Field(
        description="mean time from a repair to the next failure, exponential"
    )
    repair: FailureTime = Field(description="mean time of a repair, exponential")

    def read(self, quantity_reader: QuantityReader, location: Location) -> tuple[Expr, Expr]:
        """Return the mean times to a failure and of a repair [s]."""
        times_by_key = quantity_reader.field_values(self, (*location, "breakdown"))
        return times_by_key["every"], times_by_key["repair"]


class ShiftSpec(Spec):
    """A part of the day with the number of servers on duty."""

    lasts: Annotated[Given, Quantity(TIME, least=None, above=0.0)] = Field(
        description="duration of this part"
    )
    servers: int = Field(description="number of servers on duty", ge=0, le=MOST_HOLDERS)


SCHEDULE_IN_WORDS = (
    "parts of a day or of another period that repeats, each with the number of servers on duty, in"
    " place of servers; a service that the end of a shift interrupts is resumed later, unless"
    " finish_service is true. Only beside arrivals, for the disciplines fcfs and"
    " priority-preemptive"
)
FINISH_IN_WORDS = (
    "whether a server that goes off duty or breaks down first ends the service under way, such as a"
    " clerk before a break; for the disciplines fcfs and priority"
)
FINISH_WITHOUT_ABSENCE = "no server goes away; write a schedule or a breakdown too"

SERVERS_BY_SCHEDULE = "the schedule says how many servers there are; leave servers out"
NOT_OF_STATION = {"breakdown": None, "schedule": None, "finish_service": None}
"""Keys of a station that become customers of the whole model."""

BREAKDOWN_IN_WORDS = (
    "failures of each server, busy or idle; an interrupted service is resumed after the repair."
    " Only for the disciplines fcfs and priority-preemptive"
)


class StationSpec(RepeatedSpec):
    """Servers with a queue, or without one."""

    servers: ServerNumber = Field(
        1, description=("number of customers that are served at the same time")
    )
    discipline: Annotated[str, known_word(STATION_DISCIPLINES)] = Field(
        "fcfs", description=STATION_DISCIPLINES.in_words
    )
    rates: Rates | None = Field(None, description=RATES_IN_WORDS, min_length=1)
    breakdown: BreakdownSpec | None = Field(None, description=BREAKDOWN_IN_WORDS)
    schedule: list[ShiftSpec] | None = Field(None, description=SCHEDULE_IN_WORDS, min_length=1)
    finish_service: bool = Field(False, description=FINISH_IN_WORDS)

    key = "station"
    node = system.Station

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.Resource:
        # Failures and servers off duty are customers of their own, which the whole model gets.
        spec_of_station = self.model_copy(update=NOT_OF_STATION)
        return super(StationSpec, spec_of_station).build(quantity_reader, location)

    def check_rules(self) -> None:
        is_written_by_key = {"servers": self.servers != 1, "rates": self.rates is not None}
        for key, reason in contradicted_keys(self.discipline, is_written_by_key):
            raise broken_rule(reason, key)
        if self.schedule and is_written_by_key["servers"]:
            raise broken_rule(SERVERS_BY_SCHEDULE, "servers")
        if self.finish_service and not (self.schedule or self.breakdown):
            raise broken_rule(FINISH_WITHOUT_ABSENCE, "finish_service")


def finishing_stations(
    specs: Mapping[str, Any], copy_names: Callable[[str], Iterable[str]]
) -> set[str]:
    """Return the stations whose servers end the service under way before they go away."""
    return {
        copy_name
        for name, spec in specs.items()
        if getattr(spec, "finish_service", False)
        for copy_name in copy_names(name)
    }


def schedules_of(
    specs: Mapping[str, Any], copy_names: Callable[[str], Iterable[str]]
) -> dict[str, list[tuple[float, int]]]:
    """Return the durations [s] and numbers of servers of each station with a schedule."""
    return {
        copy_name: [(shift.lasts.value, shift.servers) for shift in spec.schedule]
        for name, spec in specs.items()
        if getattr(spec, "schedule", None)
        for copy_name in copy_names(name)
    }


class LockSpec(RepeatedSpec):
    """A lock: one processor at a time holds it."""

    lock: Annotated[str, one_of(LOCKS)] = Field(
        description="algorithm of the lock; use reader_writer_lock for readers and writers"
    )
    word: Label | None = Field(
        None,
        description=(
            "name of the station that has the lock word; without it, accesses to the word take no"
            " time"
        ),
    )
    access: TimeOrFormula | None = Field(
        None, description="time for which one access to the lock word occupies this station"
    )
    back_off: Annotated[str, one_of(BACK_OFFS)] = Field(
        "none", description=("how the pause after a failed attempt grows")
    )
    base: TimeOrFormula | None = Field(None, description="pause after the first failed attempt")
    most: TimeOrFormula | None = Field(None, description="longest pause")
    home: int | None = Field(None, description=HOME, ge=0, le=MOST_HOLDERS)
    together: bool = Field(
        False,
        description=(
            "whether nested holds of such locks take all their locks in one attempt: all of them or"
            " none"
        ),
    )

    key = "lock"
    node = system.Lock

    def check_rules(self) -> None:
        if (self.word is None) != (self.access is None):
            raise broken_rule("write both the word of a lock and the time of an access, or neither")
        if self.back_off != "none" and self.base is None:
            raise broken_rule(
                "a back-off needs its base, the pause after the first failure", "back_off"
            )
        if self.back_off == "exponential" and self.most is None:
            raise broken_rule("an exponential back-off needs its longest pause, most", "back_off")


class PermitsSpec(RepeatedSpec):
    """A number of permits that processors hold over several steps: a pool of threads, connections
    or licences.
    """

    permits: ServerNumber = Field(description="number of permits")

    key = "permits"
    node = system.Permits


class ReaderWriterLockSpec(ResourceSpec):
    """A lock that several readers can hold together, but only one writer alone."""

    reader_writer_lock: Annotated[str, one_of(READER_WRITER_ORDERS)] = Field(
        description=(
            "whether requests are served in order of arrival, readers first or writers first"
        )
    )
    readers: int = Field(
        MOST_HOLDERS,
        description="largest number of readers that hold the lock together",
        ge=1,
        le=MOST_HOLDERS,
    )

    key = "reader_writer_lock"
    node = system.ReaderWriterLock


Units = Annotated[int, Field(ge=0, le=MOST_HOLDERS)]


class MonitorSpec(ResourceSpec):
    """A monitor: one processor at a time is inside. A processor leaves the monitor
    while it waits for a condition.
    """

    monitor: dict[Word, Units] = Field(
        description="initial value of each condition, by name; may be empty"
    )

    key = "monitor"
    node = system.Monitor


class SemaphoresSpec(ResourceSpec):
    """Counters: a wait takes one unit, a signal adds one."""

    semaphores: dict[Word, Units] = Field(
        description="initial value of each counter, by name", min_length=1
    )

    key = "semaphores"
    node = system.Semaphores


class BufferSpec(ResourceSpec):
    """A bounded buffer: it counts free places and items."""

    buffer: int = Field(description="number of places", ge=1, le=MOST_HOLDERS)
    items: Units = Field(0, description="number of items at the start")

    key = "buffer"

    def check_rules(self) -> None:
        if self.items > self.buffer:
            raise broken_rule(
                f"at most as many as the buffer has places, {self.buffer}; got {self.items}",
                "items",
            )

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.Semaphores:
        return buffer(self.buffer, self.items)


class TaskPoolSpec(ResourceSpec):
    """Tasks for all processors: chunks of a loop, or parts of trees."""

    pool: Annotated[str, one_of(TASK_ORDERS)] = Field(
        description="order in which a processor takes tasks from its queue"
    )
    queues: int = Field(1, description="number of queues of tasks", ge=1, le=MOST_SERVERS)
    iterations: int | None = Field(
        None,
        description="number of iterations of a loop, in place of work and trees",
        ge=1,
        le=MOST_NODES,
    )
    work: list[Annotated[int, Field(ge=0, le=MOST_NODES)]] | None = Field(
        None, description="units of work of each iteration of a loop", min_length=1
    )
    chunk: int = Field(1, description="number of iterations in a task", ge=1, le=MOST_NODES)
    trees: list[list[int]] | None = Field(
        None,
        description=(
            "for each tree, the number of subtrees of each node; a node comes before its subtrees"
        ),
        min_length=1,
    )
    node_work: list[list[Annotated[int, Field(ge=0, le=MOST_NODES)]]] | None = Field(
        None, description="for each tree, the units of work of each node; 1 by default"
    )
    min_size: int = Field(
        1,
        description=(
            "how finely trees are divided: a task of a binary tree has min_size + 1 to 3 min_size"
            " nodes"
        ),
        ge=1,
        le=MOST_NODES,
    )
    time: TimeOrFormula = Field(
        description="time of an iteration, of its unit of work, or of a leaf"
    )
    interior: TimeOrFormula | None = Field(
        None,
        description=KeyMeaning.of("time of a unit of work at a node with subtrees", "0 by default"),
    )
    inside: TimeOrFormula | None = Field(
        None, description="time in the monitor of a queue to take or add a task"
    )
    component: Label = Field("busy", description="component of the account for the work")

    key = "pool"
    node = system.TaskPool

    def check_rules(self) -> None:
        if (
            sum(task_source is not None for task_source in (self.iterations, self.work, self.trees))
            != 1
        ):
            raise broken_rule("write one of iterations, work and trees: the tasks of a pool")
        unfit_keys, task_kind = (
            ({"chunk"}, "a loop")
            if self.trees
            else ({"min_size", "interior", "node_work"}, "trees")
        )
        for key in sorted(unfit_keys & self.model_fields_set):
            raise broken_rule(
                f"{key} is of {task_kind}; a pool of {'trees' if self.trees else 'a loop'} has"
                " none",
                key,
            )

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.TaskPool:
        field_values = quantity_reader.field_values(self, location)
        task_source: Loop | Trees = Loop(
            field_values.pop("work", None) or field_values.pop("iterations", 1),
            field_values.pop("chunk", 1),
        )
        min_size = field_values.pop("min_size", 1)
        node_work = field_values.pop("node_work", ())
        try:
            task_source = (
                Trees(field_values.pop("trees"), min_size, node_work) if self.trees else task_source
            )
        except ModelError as error:
            quantity_reader.report_problem((*location, "trees"), str(error))
        return system.TaskPool(
            task_source, field_values.pop("time"), order=field_values.pop("pool"), **field_values
        )

    @classmethod
    def write(cls, resource: system.TaskPool, quantity_writer: QuantityWriter) -> dict[str, Any]:
        field_values = {
            key: value
            for key, value in quantity_writer.fields_as_data(resource).items()
            if key not in ("source", "leaf", "order")
        }
        source_data = {
            field.name: getattr(resource.source, field.name) for field in fields(resource.source)
        }
        if isinstance(source_data.get("iterations"), tuple):
            source_data["work"] = list(source_data.pop("iterations"))
        if "shapes" in source_data:
            source_data["trees"] = [list(shape) for shape in source_data.pop("shapes")]
            source_data["node_work"] = [list(units) for units in source_data.pop("work")] or None
            source_data = {key: value for key, value in source_data.items() if value is not None}
        return {
            "pool": resource.order,
            **source_data,
            "time": quantity_writer.expr_as_data(resource.leaf),
            **field_values,
        }


class BarrierSpec(ResourceSpec):
    """A barrier: no processor continues before all have arrived."""

    barrier: Annotated[str, one_of(BARRIERS)] = Field(description="algorithm of the barrier")
    cost: TimeOrFormula | None = Field(
        None, description="time of the barrier after the last arrival"
    )

    key = "barrier"
    node = system.Barrier


CallNumber = Annotated[int, Field(ge=1, le=system.MOST_CALLS)]


class BreakerSpec(ResourceSpec):
    """A circuit breaker. After failed tries it refuses all tries for a time. Then it admits a few
    trials, and closes if all of them succeed.
    """

    hints: ClassVar[Mapping[str, str]] = {
        **ResourceSpec.hints,
        **dict.fromkeys(("failures", "threshold"), "write breaker"),
        **dict.fromkeys(("window", "calls"), "write of"),
    }

    breaker: CallNumber = Field(
        description=(
            "number of failed tries that opens the breaker: in a row, or among the last tries if of"
            " is given"
        )
    )
    open: TimeOrFormula = Field(description="mean time for which the breaker refuses all tries")
    of: CallNumber | None = Field(
        None,
        description=(
            "number of last tries in which failures are counted; by default equal to breaker"
        ),
    )
    trials: CallNumber = Field(
        1,
        description=(
            "number of tries that are admitted after this time; if all succeed the breaker closes,"
            " if one fails it opens again"
        ),
    )
    scv: Count | None = Field(
        None,
        description=KeyMeaning.of(
            "squared coefficient of variation of the open time", "0 (constant) by default"
        ),
    )

    key = "breaker"
    node = system.Breaker

    def check_rules(self) -> None:
        if self.of is not None and self.of < self.breaker:
            raise broken_rule(
                f"{self.breaker} failures open it, so that it looks back at {self.breaker} tries or"
                f" more; got {self.of}",
                "of",
            )

    def build(self, quantity_reader: QuantityReader, location: Location) -> system.Resource:
        return self.build_breaker(quantity_reader, location)

    def build_breaker(self, quantity_reader: QuantityReader, location: Location) -> system.Breaker:
        """Build the circuit breaker."""
        spec_without_scv = self.model_copy(update={"scv": None})
        fields_by_name = fields_of_node(
            self, quantity_reader.field_values(spec_without_scv, location)
        )
        fields_by_name.pop("stations", None)
        scv = 0.0 if self.scv is None else self.scv.value
        return system.Breaker(**{**fields_by_name, "scv": scv})


_OWN_RESOURCES: dict[str, type[ResourceSpec]] = {
    resource_spec.key: resource_spec
    for resource_spec in (
        LockSpec,
        PermitsSpec,
        ReaderWriterLockSpec,
        MonitorSpec,
        SemaphoresSpec,
        BufferSpec,
        TaskPoolSpec,
        BarrierSpec,
        BreakerSpec,
        StationSpec,
    )
}

RESOURCES: Registry[type[ResourceSpec]] = Registry("slipstick.resources", _OWN_RESOURCES)
"""The kinds of resources by the key that tells each; ``station`` is what has none of the keys."""


def kind_key_of(resource_or_item: Any, keys: Mapping[str, object]) -> str | None:
    """Return which of some keys a table or a checked spec contains; None if it contains none of
    them.
    """
    keys_present = (
        resource_or_item
        if isinstance(resource_or_item, dict)
        else getattr(resource_or_item, "model_fields_set", ())
    )
    return next((key for key in keys if key in keys_present), None)


def kind_of_resource(resource: Any) -> str:
    """Return the kind of a resource by its key or a misspelt key; a resource without either is a
    station.
    """
    if (key := kind_key_of(resource, RESOURCES)) is not None:
        return key
    unknown_keys = (
        [str(key_name)[:80] for key_name in resource if key_name not in StationSpec.model_fields]
        if isinstance(resource, dict)
        else []
    )
    # A few keys are enough: to compare letters is slow.
    close_matches = (
        get_close_matches(unknown_key, [*RESOURCES, *StationSpec.model_fields], n=1, cutoff=0.6)
        for unknown_key in unknown_keys[:20]
    )
    return next(
        (matches[0] for matches in close_matches if matches and matches[0] in RESOURCES), "station"
    )
