"""The data of a layered queueing network, as its two file formats state it.

Source: lqn.xsd, version 5; the LQN input language of LQNS; Franks et al., IEEE TSE 35(2), 2009,
148-161 (what the elements mean).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple, NoReturn

from slipstick.errors import short
from slipstick.late import dataclass, field
from slipstick_measure.readers.reading import Reading

MOST_PHASES = 3
SEMAPHORE_KINDS = ("wait", "signal")
LOCK_KINDS = ("read-lock", "read-unlock", "write-lock", "write-unlock")
CONVERGENCE = (
    "a model that changes its own parameters until they settle has no spec; solve it there, and"
    " import the result"
)
REFERENCE = "ref"
BURSTS = "burst"
TASK_KINDS = (
    *("ref", "fcfs", "inf", "hol", "pri", "pp", "poll", "semaphore", "rwlock", "burst", "uniform"),
    *("rand", "abort"),
)


class ModelAmount(NamedTuple):
    """A number in a model, with its formula in the file's parameters; empty for a plain number."""

    value: float
    formula: str = ""


ZERO = ModelAmount(0.0)
ONE = ModelAmount(1.0)


@dataclass
class Call:
    """Requests to an entry: their mean number in a phase or an activity, and whether the caller
    waits for the reply.
    """

    target: str
    count: ModelAmount
    line: int
    waits_for_reply: bool = True


@dataclass
class Work:
    """A phase of an entry, or an activity of a task, with its demand and its calls."""

    name: str
    line: int
    demand: ModelAmount = ZERO
    scv: float = 1.0
    think_time: ModelAmount = ZERO
    has_whole_calls: bool = False
    calls: list[Call] = field(default_factory=list)

    @property
    def is_idle(self) -> bool:
        """Whether the work takes no time and makes no calls."""
        amounts = (self.demand, self.think_time, *(call.count for call in self.calls))
        return not any(amount.value or amount.formula for amount in amounts)


@dataclass
class Precedence:
    """Activities that must end before others start.

    Attributes
    ----------
    preceding_activities : activities that must end
    following_activities : activities that start then, each with its probability or count
    join, fork : "", "and", "or"; a fork may be a "loop", too
    quorum : number of activities that an and-join waits for; 0 for all
    activity_after_loop : the activity after a loop; empty where there is none
    """

    line: int
    preceding_activities: list[str]
    following_activities: list[tuple[str, ModelAmount]]
    join: str = ""
    fork: str = ""
    quorum: int = 0
    activity_after_loop: str = ""


@dataclass
class LayeredEntry:
    """An entry of a task, described by phases or by the activities from `first_activity` on."""

    name: str
    line: int
    phases: dict[int, Work] = field(default_factory=dict)
    first_activity: str = ""
    arrivals: ModelAmount = ZERO
    priority: int = 0
    forwards: list[tuple[str, ModelAmount, int]] = field(default_factory=list)
    kind: str = ""


@dataclass
class Processor:
    """A processor of the model: servers on which tasks run."""

    name: str
    line: int
    kind: str = "fcfs"
    servers: ModelAmount = ONE
    speed: ModelAmount = ONE
    replicas: int = 1


@dataclass
class Task:
    """A task of the model: threads that serve its entries. The threads of a reference task are
    customers.
    """

    name: str
    line: int
    processor: str
    kind: str = "fcfs"
    threads: ModelAmount = ONE
    think_time: ModelAmount = ZERO
    priority: int = 0
    replicas: int = 1
    queue_length: int = 0
    tokens: int | None = None
    group: str = ""
    entries: list[str] = field(default_factory=list)
    activities: dict[str, Work] = field(default_factory=dict)
    precedences: list[Precedence] = field(default_factory=list)
    replied_entries_by_activity: dict[str, list[str]] = field(default_factory=dict)
    fan_in: dict[str, int] = field(default_factory=dict)
    fan_out: dict[str, int] = field(default_factory=dict)

    @property
    def is_reference(self) -> bool:
        """Whether the threads of the task are customers that call other tasks."""
        return self.kind in (REFERENCE, BURSTS, "uniform")


@dataclass
class ProcessorShare:
    """A group of tasks with a share of a processor, which it cannot exceed if it is capped."""

    name: str
    line: int
    processor: str
    share: float
    is_capped: bool = False


@dataclass
class LayeredNetwork:
    """A layered queueing network, as its file states it.

    Attributes
    ----------
    parameters : the variables of the file, each a number or a formula in earlier ones, with lines
    """

    input_file: Reading
    processors: dict[str, Processor] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    entries: dict[str, LayeredEntry] = field(default_factory=dict)
    shares: dict[str, ProcessorShare] = field(default_factory=dict)
    task_by_entry: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, tuple[str, int]] = field(default_factory=dict)
    delays: list[tuple[str, int]] = field(default_factory=list)

    def refuse(self, line: int, subject: str, reason: str) -> NoReturn:
        """Raise a SpecError at a line of the file, about a subject, with a reason."""
        self.input_file.refuse(line, subject, reason)

    def add(
        self, kind: str, element: Processor | Task | LayeredEntry | ProcessorShare, task: str = ""
    ) -> None:
        """Add an element of a kind; raise if there is one of the same name. An entry belongs to the
        given task.
        """
        table_by_kind: dict[str, dict[str, object]] = {
            "processor": self.processors,  # type: ignore[dict-item]
            "task": self.tasks,  # type: ignore[dict-item]
            "entry": self.entries,  # type: ignore[dict-item]
            "group": self.shares,  # type: ignore[dict-item]
        }
        table = table_by_kind[kind]
        if element.name in table:
            first_line = getattr(table[element.name], "line", 0)
            message = (
                f"{short(element.name)} is defined twice, first at line {first_line}; rename one"
            )
            self.refuse(element.line, kind, message)
        table[element.name] = element
        if kind == "entry":
            self.task_by_entry[element.name] = task
            self.tasks[task].entries.append(element.name)

    def task_of(self, entry: str) -> Task:
        """Return the task of an entry."""
        return self.tasks[self.task_by_entry[entry]]

    def works(self, task: Task) -> Iterator[Work]:
        """Yield the phases and activities of a task."""
        for name in task.entries:
            yield from self.entries[name].phases.values()
        yield from task.activities.values()

    def check(self) -> None:
        """Check names, sums of probabilities and calls; raise with all problems.

        Raises
        ------
        SpecError : everything that is wrong
        """
        add_problem = self.input_file.add_problem
        for task in self.tasks.values():
            if task.processor not in self.processors:
                add_problem(task.line, "task", f"there is no processor {short(task.processor)}")
            for work in self.works(task):
                for call in work.calls:
                    self._check_target(call.target, call.line)
            if not task.entries:
                add_problem(task.line, "task", f"{short(task.name)} has no entry; add one")
            self._check_task(task)
        line_by_called_entry = {
            call.target: call.line
            for task in self.tasks.values()
            for work in self.works(task)
            for call in work.calls
        }
        for entry in self.entries.values():
            if entry.name in line_by_called_entry and not (
                entry.phases or entry.first_activity or entry.kind or entry.forwards
            ):
                message = f"{short(entry.name)} is called and has no work; write its service time"
                add_problem(line_by_called_entry[entry.name], "call", message)
            for target, _, line in entry.forwards:
                self._check_target(target, line)
            probability_sum = sum(probability.value for _, probability, _ in entry.forwards)
            if probability_sum > 1 + 1e-9:
                message = (
                    f"probabilities of {short(entry.name)} add up to {probability_sum:g}, over 1"
                )
                add_problem(entry.line, "forwarding", message)
            task = self.task_of(entry.name)
            if task.is_reference and entry.arrivals.value:
                message = (
                    f"{short(task.name)} is a reference task and has open arrivals; take one out"
                )
                add_problem(entry.line, "entry", message)
            if task.is_reference and entry.forwards:
                message = (
                    f"{short(task.name)} is a reference task, whose requests end; call in its place"
                )
                add_problem(entry.line, "forwarding", message)
            if entry.phases and entry.first_activity:
                message = f"{short(entry.name)} has phases and activities; take one of the two out"
                add_problem(entry.line, "entry", message)
            self._check_replies(entry, task)
            operation_kinds = {"semaphore": SEMAPHORE_KINDS, "rwlock": LOCK_KINDS}.get(
                task.kind, ("",)
            )
            if entry.kind not in operation_kinds:
                kinds_in_words = (
                    " or ".join(operation_kinds) if operation_kinds != ("",) else "a service"
                )
                message = (
                    f"{short(entry.name)} of the {task.kind} task {short(task.name)} is no"
                    f" {kinds_in_words}"
                )
                add_problem(entry.line, "entry", message)
        if self.input_file.problems:
            self.input_file.finished()

    def _check_task(self, task: Task) -> None:
        """Record the problems of a task: features that the solver of layered networks refuses as
        well.
        """
        self._check_customers_and_group(task)
        self._check_precedences(task)
        for work in self.works(task):
            for call in work.calls:
                if work.has_whole_calls and call.count.value % 1 and not call.count.formula:
                    message = (
                        f"{short(work.name)} calls {short(call.target)} {call.count.value:g} times"
                    )
                    self.input_file.add_problem(
                        call.line,
                        "call",
                        f"{message}, though its calls are deterministic: whole numbers",
                    )

    def _check_customers_and_group(self, task: Task) -> None:
        """Record the problems of a task with its customers, its think time or its group."""
        report, task_name = self.input_file.add_problem, short(task.name)
        if task.is_reference and len(task.entries) > 1:
            message = (
                f"{task_name} is a reference task of {len(task.entries)} entries, between"
                " which no rule"
                " divides its customers; write a reference task for each entry"
            )
            report(task.line, "task", message)
        if not task.is_reference and (task.think_time.value or task.think_time.formula):
            message = (
                f"{task_name} is no reference task, so it cannot think; give the think time to"
                " an entry"
            )
            report(task.line, "task", message)
        if task.group:
            share = self.shares.get(task.group)
            if share is None or share.processor != task.processor:
                message = f"processor {short(task.processor)} has no group {short(task.group)}"
                report(task.line, "task", message)
            elif self.processors[task.processor].kind != "cfs":
                message = f"{short(task.group)} is a group of a processor without fair shares (cfs)"
                report(share.line, "group", message)

    def _check_precedences(self, task: Task) -> None:
        """Record the problems of the order in which the activities of a task are executed."""
        report, task_name = self.input_file.add_problem, short(task.name)
        first_activities = [
            self.entries[name].first_activity
            for name in task.entries
            if self.entries[name].first_activity
        ]
        preceding_names = [
            name for precedence in task.precedences for name in precedence.preceding_activities
        ]
        following_names = [
            name
            for precedence in task.precedences
            for name in (
                *(name for name, _ in precedence.following_activities),
                precedence.activity_after_loop,
            )
            if name
        ]
        for position_word, names in (("before", preceding_names), ("after", following_names)):
            for activity in sorted({name for name in names if names.count(name) > 1}):
                message = (
                    f"{short(activity)} stands {position_word} others in two precedences; join them"
                )
                report(task.line, "precedence", message)
        for activity in sorted({*first_activities} & {*following_names}):
            message = (
                f"{short(activity)} begins an entry and stands after others; rename one of the two"
            )
            report(task.line, "precedence", message)
        unreached_activities = sorted(
            {*task.activities} - self._reached_activities(task, first_activities)
        )
        if unreached_activities and {*preceding_names, *following_names} <= {*task.activities}:
            unreached_names = ", ".join(map(short, unreached_activities))
            message = f"{unreached_names} of {task_name} come after no others and begin no entry"
            report(
                task.activities[unreached_activities[0]].line,
                "activity",
                f"{message}; take them out",
            )

    def _reached_activities(self, task: Task, starts: Iterable[str]) -> set[str]:
        """Return the activities that the first activities of a task lead to, including the first
        ones.
        """
        reached_activities = set(starts)
        for _ in task.precedences:
            for precedence in task.precedences:
                if reached_activities.issuperset(precedence.preceding_activities):
                    reached_activities |= {
                        precedence.activity_after_loop,
                        *(name for name, _ in precedence.following_activities),
                    }
        return reached_activities - {""}

    def _check_target(self, target: str, line: int) -> None:
        """Record a problem if a call goes to an unknown entry or to a reference task."""
        if target not in self.entries:
            self.input_file.add_problem(line, "call", f"there is no entry {short(target)}")
        elif self.task_of(target).is_reference:
            name = short(self.task_of(target).name)
            message = f"{name} is a reference task, which nothing can call; make it a server"
            self.input_file.add_problem(line, "call", message)

    def _check_replies(self, entry: LayeredEntry, task: Task) -> None:
        """Record problems for replies of unknown activities and to entries of other tasks."""
        for name, replied_entries in task.replied_entries_by_activity.items():
            if name not in task.activities:
                self.input_file.add_problem(
                    task.line, "reply", f"there is no activity {short(name)}"
                )
            for entry_name in replied_entries:
                if entry_name not in task.entries:
                    message = f"{short(entry_name)} is not an entry of {short(task.name)}"
                    self.input_file.add_problem(task.line, "reply", message)


def is_unlimited(amount: ModelAmount) -> bool:
    """Return whether a number of servers is unlimited."""
    return amount.value == inf
