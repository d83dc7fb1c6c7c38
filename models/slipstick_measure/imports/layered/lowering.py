"""Layered queueing networks written as activities.

Each reference task becomes processors that repeat a cycle. A request is written out where it is
made: while its steps are executed, a thread of the server is held. What the server does after its
reply, and requests without reply, are the work of further groups of processors, which counters of
units wake: `signal` at the caller, `wait` at the group. Threads that are given back by another
group than took them are units of a counter as well, in the order of arrival. Arrivals from outside
come from one processor that thinks for exponential times and signals.

A demand is cut into slices before, between and after calls; their number is geometric, unless a
phase calls deterministically. A geometric number is a sum of independent powers of two, so each
binary digit is a choice: exact to 1e-9 of its distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

from slipstick.errors import short
from slipstick.late import dataclass, field
from slipstick.schema.text import MOST_NESTED
from slipstick_measure.imports.imported import ImportedSpec
from slipstick_measure.imports.layered.graph import (
    ChoiceStep,
    ExecuteStep,
    ParallelStep,
    ReplyStep,
    Sequence,
    Step,
    mean_reply_count,
    steps_of_request,
    structure_text,
    with_inner_steps,
)
from slipstick_measure.imports.layered.model import (
    Call,
    LayeredEntry,
    LayeredNetwork,
    ModelAmount,
    Processor,
    Task,
    Work,
    is_unlimited,
)
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.imports.names import SpecNames, exact_number

MOST_ITEMS = 3000
"""Steps of all cycles: an entry is written out at every place that calls it."""

TOO_MANY_STEPS = f"more than {MOST_ITEMS:,} steps"
TOO_DEEP = f"steps that are nested more than {MOST_NESTED} deep"
MOST_DEPTH = 60
REPLY_TOLERANCE = 1e-4
"""Difference of the mean number of replies from 1 that is due to rounding of probabilities."""
MOST_CONCURRENT_REQUESTS = 500
"""Processors of a group that executes requests without reply, or what an unlimited server does
after its replies: so many are executed at the same time at most.
"""

MOST_ORDERED_BRANCHES = 3
"""Branches of a fork up to which every order is written out; of more, each is the first as
often.
"""

DIGITS, REPEATS, WHOLE_NUMBERS = "digits", "repeats", "whole"
"""Geometric numbers of calls by their binary digits, which mean value solves inside forks as well;
by one repeat, which has fewer steps; or by the whole numbers next to their means.
"""

LEAST_PROBABILITY = 1e-9
"""Probability of a geometric number beyond its written digits."""

THINK = "think"
ARRIVALS = "arrivals"
SECOND_PARAMETER = "second"
"""The parameter that is one unit of time of the file, where a formula needs it."""

_DISCIPLINES = {"ps": "ps", "rand": "random", "cfs": "ps"}
_PRIORITIES = ("hol", "pp", "pri", "ps-hol", "ps-pp")

Items = list[dict[str, Any]]


@dataclass
class Lowering:
    """Writer of a layered network as an activity.

    Attributes
    ----------
    network, names, file_losses : what is read, its names in the spec, and its losses
    resources, groups, parameters : of the spec
    repeat_form : how geometric numbers of calls are written, one of `DIGITS`, `REPEATS` and
        `WHOLE_NUMBERS`
    """

    network: LayeredNetwork
    names: SpecNames
    file_losses: FileLosses
    repeat_form: str = DIGITS
    resources: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    _items_by_entry: dict[str, Items] = field(default_factory=dict)
    _steps_by_entry: dict[str, Sequence] = field(default_factory=dict)
    _open_entries: list[str] = field(default_factory=list)
    _parameter_by_work: dict[int, str] = field(default_factory=dict)
    _cached_step_counts: dict[int, tuple[int, object]] = field(default_factory=dict)
    _worker_groups: dict[str, dict[str, Any]] = field(default_factory=dict)

    def spec(self, title: str) -> ImportedSpec:
        """Return the spec of the activity, with the given title.

        Raises
        ------
        SpecError : calls in a circle, no callers, a cycle without time, or too many steps
        """
        self._declare_lost_features()
        for name, (formula, line) in self.network.parameters.items():
            source_place = f"{self.network.input_file.name}:{line}"
            try:
                parameter: Any = {"value": exact_number(float(formula)), "source": source_place}
            except ValueError:
                parameter = formula
            self.parameters[name] = parameter
        reference_tasks = [task for task in self.network.tasks.values() if task.is_reference]
        for task in reference_tasks:
            for name in task.entries:
                self._add_reference_group(task, self.network.entries[name])
        arrival_entries = [entry for entry in self.network.entries.values() if entry.arrivals.value]
        if not reference_tasks and not arrival_entries:
            message = (
                "there is no reference task that calls others, and no entry with open arrivals"
            )
            self.network.refuse(1, "", message)
        is_single_stream = not reference_tasks and len(arrival_entries) == 1
        document: dict[str, Any]
        if is_single_stream and not self._continues_after_reply(arrival_entries[0]):
            document = self._open_stream_document(arrival_entries[0])
        else:
            for entry in arrival_entries:
                self._add_arrival_group(entry)
            document = {}
        if not document or self._worker_groups:
            document = self._groups_document(bool(document))
        self._check_size_of_cycles(document)
        return ImportedSpec(
            "activity", title, self.network.input_file.file, self._document_in_order(document)
        )

    def _groups_document(self, has_open_stream: bool) -> dict[str, Any]:
        """Return the plain data of all groups of processors; a single group becomes the population
        of the spec.
        """
        if has_open_stream:  # an open stream whose requests wake others: arrivals as a group
            self.groups.clear()
            self._add_arrival_group(
                next(entry for entry in self.network.entries.values() if entry.arrivals.value)
            )
        groups = {**self.groups, **self._worker_groups}
        if len(groups) == 1:
            ((_, group),) = groups.items()
            return {
                "population": {"processors": group["processors"]},
                "cycle": group["cycle"],
            }
        return {"groups": groups}

    def _document_in_order(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the document of the spec with its sections in the usual order."""
        sections = {"parameters": self.parameters} if self.parameters else {}
        components = sorted(_components_of_steps(document) - {THINK, ARRIVALS})
        return {
            "source": f"model {self.network.input_file.name}",
            **sections,
            **({"useful": components} if components else {}),
            "resources": self.resources,
            **document,
        }

    def _check_size_of_cycles(self, document: dict[str, Any]) -> None:
        """Raise if the cycles have too many steps, are nested too deep, or take no time."""
        cycles = [document["cycle"]] if "cycle" in document else []
        cycles += [group["cycle"] for group in document.get("groups", {}).values()]
        # Before any walk of the steps as written out: shared lists make their number exponential.
        if sum(map(self._step_count, cycles)) > MOST_ITEMS:
            raise TooManyStepsError(TOO_MANY_STEPS)
        if not any(map(_takes_time, cycles)):
            self.network.refuse(1, "", "a cycle without any time has no throughput")
        if _nesting_depth(document) > MOST_NESTED:
            raise TooManyStepsError(TOO_DEEP)

    # Losses of the whole file -------------------------------------------------------------------

    def _declare_lost_features(self) -> None:
        """Declare the features that an activity cannot express, at their elements."""
        for processor in self.network.processors.values():
            tasks = [
                task for task in self.network.tasks.values() if task.processor == processor.name
            ]
            if processor.kind in _PRIORITIES and len({task.priority for task in tasks}) > 1:
                self.file_losses.declare("priorities", processor.line, processor.name)
            if processor.kind == "cfs":
                self._declare_shares(processor, tasks)
        for task in self.network.tasks.values():
            priorities = {self.network.entries[name].priority for name in task.entries}
            if task.kind in ("hol", "pri", "pp") and len(priorities) > 1:
                self.file_losses.declare("priorities", task.line, task.name)
            if task.kind == "poll" and len(task.entries) > 1:
                self.file_losses.declare("polling", task.line, task.name)
            if task.kind in ("burst", "uniform"):
                self.file_losses.declare("bursts", task.line, task.name)
            if task.kind == "abort":
                self.file_losses.declare("aborts", task.line, task.name)
            if task.queue_length:
                self.file_losses.declare("queue-length", task.line, task.name)
            if task.kind == "rwlock":
                self.file_losses.declare("lock-order", task.line, task.name)
        for name, line in self.network.delays:
            self.file_losses.declare("communication-delays", line, name)

    def _declare_shares(self, processor: Processor, tasks: list[Task]) -> None:
        """Declare the loss of the shares of a processor's task groups, unless every group is
        limited to its share.
        """
        task_groups = {task.group for task in tasks}
        are_all_capped = all(
            group_name in self.network.shares and self.network.shares[group_name].is_capped
            for group_name in task_groups
        )
        if not are_all_capped and len(task_groups) > 1:
            self.file_losses.declare("shares", processor.line, processor.name)

    # Populations --------------------------------------------------------------------------------

    def _add_reference_group(self, task: Task, entry: LayeredEntry) -> None:
        """Add the group of processors that stand for the customers of a reference task; a customer
        thinks and calls the entry of the task without occupying a thread.
        """
        cycle: Items = []
        if task.think_time.value or task.think_time.formula:
            cycle.append(self._think_step(task.name, task.line, task.think_time))
        self._open_entries.append(entry.name)
        cycle += self._items_with_release(
            entry, task, _without_replies(self._steps_of_request(entry)), []
        )
        self._open_entries.pop()
        if not cycle:
            return
        if is_unlimited(task.threads):
            message = f"{short(task.name)} has unlimited customers; give it a multiplicity"
            self.network.refuse(task.line, "task", message)
        processor_count = task.threads.formula or round(task.threads.value)
        self.groups[self._plain_name(task.name)] = {"processors": processor_count, "cycle": cycle}

    def _open_stream_document(self, entry: LayeredEntry) -> dict[str, Any]:
        """Return the population and the cycle of a spec whose only stream is the arrivals to an
        entry.
        """
        rate = self._arrival_rate(entry)
        cycle = self._items_of_call(entry.name)
        return {"population": {"arrivals": rate}, "cycle": cycle} if cycle else {"cycle": []}

    def _arrival_rate(self, entry: LayeredEntry) -> Any:
        """Return the arrival rate of an entry as plain data: a formula, or a value with its
        source.
        """
        if entry.arrivals.formula:
            return f"({entry.arrivals.formula}) / {self._parameter_of_one_second()}"
        rate = entry.arrivals.value / self.names.seconds_per_unit
        source_place = f"{self.network.input_file.name}:{entry.line}"
        return {"value": f"{exact_number(rate)} /s", "source": source_place}

    def _add_arrival_group(self, entry: LayeredEntry) -> None:
        """Add the group that sends requests from outside: one processor with exponential gaps."""
        counter = self._request_counter(entry)
        gap_time = self._time_quantity(
            f"{entry.name} gap",
            entry.line,
            ModelAmount(
                1 / entry.arrivals.value,
                f"1 / ({entry.arrivals.formula})" if entry.arrivals.formula else "",
            ),
        )
        gap_step = {"name": self.names.name(f"{entry.name} gap"), "delay": gap_time, "scv": 1}
        self.groups[self._plain_name(f"arrivals_{entry.name}")] = {
            "processors": 1,
            "cycle": [{**gap_step, "component": ARRIVALS}, {"signal": counter}],
        }

    def _request_counter(self, entry: LayeredEntry) -> str:
        """Return the counter for requests without reply to an entry, and add the group that
        executes them.
        """
        counter = self._path_of_counter(f"requests {entry.name}")
        name = self._plain_name(f"requests_{entry.name}")
        if name not in self._worker_groups:
            self._worker_groups[name] = {"processors": MOST_CONCURRENT_REQUESTS, "cycle": []}
            self._worker_groups[name]["cycle"] = [
                {"wait": counter},
                *self._items_without_caller(entry),
            ]
        return counter

    # Calls --------------------------------------------------------------------------------------

    def _steps_of_request(self, entry: LayeredEntry) -> Sequence:
        """Return the steps that a thread executes for a request to an entry, computed once."""
        if entry.name not in self._steps_by_entry:
            self._steps_by_entry[entry.name] = steps_of_request(self.network, entry)
        return self._steps_by_entry[entry.name]

    def _continues_after_reply(self, entry: LayeredEntry) -> bool:
        """Return whether a thread continues after the reply of an entry."""
        steps = self._steps_of_request(entry)
        if any(
            isinstance(substep, ParallelStep) and substep.quorum
            for step in steps
            for substep in with_inner_steps(step)
        ):
            return True
        if ReplyStep() in steps:
            return steps[-1] != ReplyStep()
        return any(ReplyStep() in with_inner_steps(step) for step in steps)

    def _has_counted_threads(self, task: Task) -> bool:
        """Return whether the model counts a task's threads by a counter, which is needed if another
        group than the one that took a thread may release it.
        """
        return any(self._continues_after_reply(self.network.entries[name]) for name in task.entries)

    def _items_of_call(self, name: str) -> Items:
        """Return the items of a call to an entry up to its reply; all calls of the entry share one
        list.
        """
        if name in self._items_by_entry:
            return self._items_by_entry[name]
        entry = self.network.entries[name]
        if name in self._open_entries or len(self._open_entries) > MOST_DEPTH:
            entries_text = ", ".join(open_entry[:60] for open_entry in self._open_entries[:5])
            message = f"{short(name)} calls itself, by way of {entries_text}"
            self.network.refuse(entry.line, "entry", message)
        self._open_entries.append(name)
        task = self.network.task_of(name)
        self._check_replies(entry)
        items = (
            self._items_of_operation(entry, task)
            if entry.kind
            else self._items_by_thread(entry, task)
        )
        items = [*items, *self._items_of_forwarding(entry)]
        self._open_entries.pop()
        self._items_by_entry[name] = items
        return items

    def _check_replies(self, entry: LayeredEntry) -> None:
        """Raise if the activities of an entry do not reply once on average; note an entry without a
        reply.
        """
        mean_replies = (
            mean_reply_count(self._steps_of_request(entry))
            if entry.first_activity and self._callers_of_entry(entry)
            else 1.0
        )
        name = short(entry.name)
        if not mean_replies:
            message = f"no activity replies to {name}, so its callers wait for the last one"
            self.network.input_file.add_note(entry.line, "entry", message)
        elif abs(mean_replies - 1) > REPLY_TOLERANCE:
            message = (
                f"callers of {name} wait for a reply, and its activities give {mean_replies:g} on"
                " average; let one activity of each path reply"
            )
            self.network.refuse(entry.line, "entry", message)

    def _items_by_thread(self, entry: LayeredEntry, task: Task) -> Items:
        """Return the items of an entry up to its reply, executed by a thread of its task."""
        steps = self._steps_of_request(entry)
        if not self._has_counted_threads(task):
            return self._items_under_threads(
                task, self._items_of_steps(_without_replies(steps), task)
            )
        take_items, release_items = self._thread_counter_items(task)
        return take_items + self._items_to_reply(entry, task, steps, release_items)

    def _items_under_threads(self, task: Task, items: Items) -> Items:
        """Return items that are executed while a thread of a task is held; unchanged if its threads
        are unlimited.
        """
        if not items or is_unlimited(task.threads):
            return items
        name = self.names.name(f"{task.name} threads")
        self.resources[name] = {"permits": self._whole_number(task.threads, task.line)}
        return [{"hold": name, "body": items}]

    def _thread_counter_items(self, task: Task) -> tuple[Items, Items]:
        """Return the items that take a thread, and those that release it, where threads are units
        of a counter.
        """
        if is_unlimited(task.threads):
            return [], []
        counter = self._path_of_counter(
            f"free {task.name}", self._whole_number(task.threads, task.line)
        )
        return [{"wait": counter}], [{"signal": counter}]

    def _items_without_caller(self, entry: LayeredEntry) -> Items:
        """Return all items of a thread for a request without a waiting caller."""
        task = self.network.task_of(entry.name)
        if entry.name in self._open_entries:
            return self._items_of_call(entry.name)  # refuses the circle
        self._open_entries.append(entry.name)
        if entry.kind:
            items = self._items_of_operation(entry, task)
        elif self._has_counted_threads(task):
            take_items, release_items = self._thread_counter_items(task)
            items = take_items + self._items_with_release(
                entry, task, _without_replies(self._steps_of_request(entry)), release_items
            )
        else:
            items = self._items_under_threads(
                task, self._items_of_steps(_without_replies(self._steps_of_request(entry)), task)
            )
        items = [*items, *self._items_of_forwarding(entry)]
        self._open_entries.pop()
        return items

    def _items_of_forwarding(self, entry: LayeredEntry) -> Items:
        """Return the items of the entry that requests are forwarded to; empty without one."""
        options = [
            {"p": self._probability_value(share), "do": self._items_of_call(target)}
            for target, share, _ in entry.forwards
        ]
        probability_sum = sum(share.value for _, share, _ in entry.forwards)
        if not any(option["do"] for option in options):
            return []
        if len(options) == 1 and probability_sum == 1:
            return list(options[0]["do"])
        remaining_option: Items = (
            [{"p": 1 - probability_sum, "do": []}] if probability_sum < 1 else []
        )
        return [{"choose": _with_exact_remainder([*options, *remaining_option])}]

    def _items_of_operation(self, entry: LayeredEntry, task: Task) -> Items:
        """Return the items of an entry that acquires or releases a semaphore or a read-write
        lock.
        """
        body = self._items_of_steps(_without_replies(self._steps_of_request(entry)), task)
        capacity = (
            self._whole_number(task.threads, task.line) if not is_unlimited(task.threads) else 1
        )
        if task.kind == "semaphore" or entry.kind in ("wait", "signal"):
            tokens = capacity if task.tokens is None else task.tokens
            tokens_counter = self._path_of_counter(f"tokens {task.name}", tokens)
            is_wait = entry.kind == "wait"
            return (
                [{"wait": tokens_counter}, *body]
                if is_wait
                else [*body, {"signal": tokens_counter}]
            )
        gate_counter = self._path_of_counter(f"gate {task.name}", 1)
        places_counter = self._path_of_counter(f"places {task.name}", capacity)
        unit_count = capacity if "write" in entry.kind else 1
        operation = entry.kind.partition("-")[2]
        if operation == "unlock":
            return [*body, _repeat_item(unit_count, [{"signal": places_counter}])]
        wait_items = _repeat_item(unit_count, [{"wait": places_counter}])
        return [{"wait": gate_counter}, wait_items, {"signal": gate_counter}, *body]

    # Entries whose threads go on after the reply -------------------------------------------------

    def _items_to_reply(
        self, entry: LayeredEntry, task: Task, steps: Sequence, release_items: Items
    ) -> Items:
        """Return the items of a request up to the reply; the last of them wakes a group that
        executes the steps after the reply and then `release_items`.
        """
        items: Items = []
        for index, step in enumerate(steps):
            remaining_steps = steps[index + 1 :]
            if isinstance(step, ReplyStep):
                items_after = self._items_with_release(
                    entry, task, _without_replies(remaining_steps), release_items
                )
                return items + self._items_to_wake(entry, task, items_after, release_items)
            may_reply = any(isinstance(substep, ReplyStep) for substep in with_inner_steps(step))
            if isinstance(step, ParallelStep) and step.quorum:
                items_of_start, wait_items = self._items_of_quorum(step, task)
                return (
                    items
                    + items_of_start
                    + self._items_to_reply(
                        entry, task, remaining_steps, [*wait_items, *release_items]
                    )
                )
            if isinstance(step, ChoiceStep) and may_reply:
                options = [
                    {
                        "p": self._probability_value(probability),
                        "do": self._items_to_reply(
                            entry, task, (*body, *remaining_steps), release_items
                        ),
                    }
                    for probability, body in step.options
                ]
                return [*items, {"choose": _with_exact_remainder(options)}]
            if may_reply:
                return items + self._items_executed_by_server(
                    entry, task, (step, *remaining_steps), release_items
                )
            items += self._items_of_steps((step,), task)
        return items + release_items

    def _items_with_release(
        self, entry: LayeredEntry, task: Task, steps: Sequence, release_items: Items
    ) -> Items:
        """Return the items of steps without a reply, followed by the items that release the
        thread.
        """
        items: Items = []
        for step in steps:
            if isinstance(step, ParallelStep) and step.quorum:
                items_of_start, wait_items = self._items_of_quorum(step, task)
                items = items + items_of_start
                release_items = [*wait_items, *release_items]
            else:
                items += self._items_of_steps((step,), task)
        return items + release_items

    def _items_to_wake(
        self, entry: LayeredEntry, task: Task, items_after: Items, release_items: Items
    ) -> Items:
        """Return the item that wakes the group for the steps after a reply; without such steps,
        return `release_items`.
        """
        if items_after == release_items and not any("wait" in item for item in release_items):
            return release_items
        counter, name = self._counter_and_group_names(f"after {entry.name}", items_after)
        if name not in self._worker_groups:
            self._worker_groups[name] = self._group_of_task(task, [{"wait": counter}, *items_after])
        return [{"signal": counter}]

    def _items_executed_by_server(
        self, entry: LayeredEntry, task: Task, steps: Sequence, release_items: Items
    ) -> Items:
        """Return the items with which a caller lets a group of the server execute steps that reply
        inside a branch, and waits for that reply.
        """
        if task.threads.value > 1 and len(self._callers_of_entry(entry)) > 1:
            self.file_losses.declare("mixed-replies", entry.line, entry.name)
        counter, name = self._counter_and_group_names(f"begin {entry.name}", steps)
        reply_counter = self._path_of_counter(
            counter.partition(".")[2].replace("begin", "reply", 1)
        )
        if name not in self._worker_groups:
            self._worker_groups[name] = self._group_of_task(task, [])
            reply_items = self._items_of_steps(steps, task, [{"signal": reply_counter}])
            self._worker_groups[name]["cycle"] = [{"wait": counter}, *reply_items, *release_items]
        return [{"signal": counter}, {"wait": reply_counter}]

    def _items_of_quorum(self, parallel_step: ParallelStep, task: Task) -> tuple[Items, Items]:
        """Return the items that start parallel branches and wait for as many as the quorum says,
        and the items that wait for the branches that remain.
        """
        if task.threads.value > 1:
            self.file_losses.declare("quorum-threads", task.line, task.name)
        done_counter = ""
        items = Items()
        for branch in parallel_step.branches:
            counter, name = self._counter_and_group_names(f"branch {task.name}", branch)
            done_counter = done_counter or self._path_of_counter(
                counter.partition(".")[2].replace("branch", "done", 1)
            )
            if name not in self._worker_groups:
                cycle = [
                    {"wait": counter},
                    *self._items_of_steps(branch, task),
                    {"signal": done_counter},
                ]
                self._worker_groups[name] = self._group_of_task(task, cycle)
            items.append({"signal": counter})
        late_count = len(parallel_step.branches) - parallel_step.quorum
        wait_items = [{"wait": done_counter}]
        return items + wait_items * parallel_step.quorum, wait_items * late_count

    def _callers_of_entry(self, entry: LayeredEntry) -> list[str]:
        """Return the phases and activities that call an entry and wait for its reply."""
        return [
            work.name
            for task in self.network.tasks.values()
            for work in self.network.works(task)
            if any(call.target == entry.name and call.waits_for_reply for call in work.calls)
        ]

    def _group_of_task(self, task: Task, cycle: Items) -> dict[str, Any]:
        """Return a group with as many processors as a task has threads."""
        thread_count = (
            MOST_CONCURRENT_REQUESTS
            if is_unlimited(task.threads)
            else self._whole_number(task.threads, task.line)
        )
        return {"processors": thread_count, "cycle": cycle}

    def _counter_and_group_names(self, name: str, content: object) -> tuple[str, str]:
        """Return the names of a counter and a group with a content, the same for equal contents;
        a number follows if a different content has the name already.
        """
        suffix = 1
        chosen_name = name
        contents = self.__dict__.setdefault("_contents", {})
        while contents.setdefault(chosen_name, content) != content:
            suffix += 1
            chosen_name = f"{name} {suffix}"
        return self._path_of_counter(chosen_name), self._plain_name(chosen_name)

    # Steps --------------------------------------------------------------------------------------

    def _items_of_steps(
        self, steps: Sequence, task: Task, reply_items: Items | None = None
    ) -> Items:
        """Return the spec items of the steps of a thread, with `reply_items` in place of each
        reply.
        """
        items: Items = []
        for step in steps:
            items += self._items_of_step(step, task, reply_items or [])
        return items

    def _items_of_step(self, step: Step, task: Task, reply_items: Items) -> Items:
        """Return the spec items of a step of a thread; `reply_items` if the step is a reply."""
        if isinstance(step, ExecuteStep):
            return self._items_of_work(step.work, task)
        if isinstance(step, ReplyStep):
            return list(reply_items)
        if isinstance(step, ParallelStep):
            if step.quorum:
                message = (
                    "waits for some of its branches inside a branch or a loop, which is not read"
                )
                self.network.refuse(task.line, "activities", f"{short(task.name)} {message}")
            return self._items_of_fork(step, task, reply_items)
        if isinstance(step, ChoiceStep):
            options = [
                {
                    "p": self._probability_value(probability),
                    "do": self._items_of_steps(body, task, reply_items),
                }
                for probability, body in step.options
            ]
            return (
                [{"choose": _with_exact_remainder(options)}]
                if any(option["do"] for option in options)
                else []
            )
        bodies = [
            (count, self._items_of_steps(body, task, reply_items)) for count, body in step.bodies
        ]
        if reply_items and ReplyStep() in with_inner_steps(step):
            message = "replies from within a loop, which is not read"
            self.network.refuse(task.line, "activities", f"{short(task.name)} {message}")
        return self._geometric_repeats([(count, body) for count, body in bodies if body])

    def _items_of_fork(self, parallel_step: ParallelStep, task: Task, reply_items: Items) -> Items:
        """Return the fork for a step with parallel branches. If different branches queue for one
        processor, return a choice among the orders in which they start, all equally probable: all
        orders of up to `MOST_ORDERED_BRANCHES` branches, and the rotations of more branches.
        """
        branches = [
            (branch, items)
            for branch in parallel_step.branches
            if (items := self._items_of_steps(branch, task, reply_items))
        ]
        if not branches:
            return []
        processor = self.network.processors[task.processor]
        are_branches_alike = len({structure_text(branch) for branch, _ in branches}) == 1
        branches_never_queue = processor.kind in ("ps", "cfs", "rand") or is_unlimited(
            processor.servers
        )
        bodies = [items for _, items in branches]
        if are_branches_alike or branches_never_queue:
            return [{"fork": bodies}]
        orders_of_bodies = (
            permutations(bodies) if len(bodies) <= MOST_ORDERED_BRANCHES else _rotations(bodies)
        )
        forks = [{"fork": list(ordered_bodies)} for ordered_bodies in orders_of_bodies]
        options = [{"p": 1 / len(forks), "do": [fork]} for fork in forks]
        return [{"choose": _with_exact_remainder(options)}]

    def _items_of_work(self, work: Work, task: Task) -> Items:
        """Return the items of a phase or an activity: slices of its demand between its calls."""
        items: Items = []
        if work.think_time.value or work.think_time.formula:
            items.append(
                self._think_step(self._name_of_work(work, task), work.line, work.think_time)
            )
        calls_with_items = [(call, self._request_items(call)) for call in work.calls]
        slice_count = ModelAmount(
            *_sum_and_formula([ONE_CALL, *(call.count for call in work.calls)])
        )
        slice_items = self._items_of_slice(work, task, slice_count)
        if work.has_whole_calls:
            for call, body in calls_with_items:
                items += self._whole_repeats(call.count, [*slice_items, *body])
            return items + slice_items
        bodies = [(call.count, [*slice_items, *body]) for call, body in calls_with_items]
        return items + self._geometric_repeats([body for body in bodies if body[1]]) + slice_items

    def _request_items(self, call: Call) -> Items:
        """Return the items of a request: a call that waits, or a signal to the group that executes
        requests without reply.
        """
        if call.waits_for_reply:
            return self._items_of_call(call.target)
        return [{"signal": self._request_counter(self.network.entries[call.target])}]

    def _whole_repeats(self, count: ModelAmount, body: Items) -> Items:
        """Return the item that repeats a body so often as the whole part of a mean count says, and
        once more with the probability of its fractional part.
        """
        if not body:
            return []
        if count.value == 1 and not count.formula:
            return body
        return self._items_of_checked_size([{"repeat": count.formula or count.value, "body": body}])

    def _geometric_repeats(self, bodies: list[tuple[ModelAmount, Items]]) -> Items:
        """Return the items that execute bodies a geometric number of times: each repetition
        executes one of the bodies, with a probability in proportion to its mean count.

        With the mean y, p = y / (1 + y) is the chance of one more round. The binary digits of a
        geometric number are independent, and digit k is 1 with probability
        1 / (1 + (1 + 1 / y)^(2^k)).
        """
        if not bodies:
            return []
        mean_repeats, mean_formula = _sum_and_formula([count for count, _ in bodies])
        if mean_repeats <= 0:
            return []
        body = _body_by_share(bodies, mean_repeats, mean_formula)
        if self.repeat_form == WHOLE_NUMBERS:
            return self._whole_repeats(ModelAmount(mean_repeats, mean_formula), body)
        if self.repeat_form == REPEATS:
            return self._items_of_checked_size(
                [{"repeat": mean_formula or mean_repeats, "spread": "geometric", "body": body}]
            )
        items_of_digits: Items = []
        probabilities: Iterator[Any] = _digit_probabilities(mean_repeats)
        if mean_formula:
            probabilities = _digit_formulas(
                mean_repeats, self._repeat_probability_parameter(mean_formula)
            )
        for power, probability in enumerate(probabilities):
            repeated_body = [{"repeat": 2**power, "body": body}] if power else body
            items_of_digits.append(
                {
                    "choose": [
                        {"p": probability, "do": repeated_body},
                        {"p": _complement(probability), "do": []},
                    ]
                }
            )
        return self._items_of_checked_size(items_of_digits)

    def _repeat_probability_parameter(self, mean_formula: str) -> str:
        """Return the name of the parameter that is the probability of one more repetition, for the
        formula of the mean number of repetitions.
        """
        formula = f"({mean_formula}) / (1 + {mean_formula})"
        for name, parameter in self.parameters.items():
            if parameter == formula:
                return name
        name = self._plain_name(
            f"more {1 + sum(key.startswith('more_') for key in self.parameters)}"
        )
        self.parameters[name] = formula
        return name

    def _items_of_checked_size(self, items: Items) -> Items:
        """Return items unchanged; raise if they have too many steps."""
        if self._step_count(items) > MOST_ITEMS:
            raise TooManyStepsError(TOO_MANY_STEPS)
        return items

    def _step_count(self, items: Items) -> int:
        """Return the number of steps in items as written out; shared lists count at each use."""
        count_and_items = self._cached_step_counts.get(id(items))
        if count_and_items is None:
            inner_bodies = [body for item in items for body in _nested_bodies(item)]
            count_and_items = (len(items) + sum(map(self._step_count, inner_bodies)), items)
            self._cached_step_counts[id(items)] = count_and_items
        return count_and_items[0]

    def _items_of_slice(self, work: Work, task: Task, slice_count: ModelAmount) -> Items:
        """Return one slice of the demand of a phase or an activity; empty for a demand of zero."""
        if not work.demand.value and not work.demand.formula:
            return []
        processor = self.network.processors[task.processor]
        demand_parameter = self._demand_parameter(work, task)
        divisor_texts = [f"/ ({processor.speed.formula})"] if processor.speed.formula else []
        speed = self._speed_share_of(task) * (1.0 if divisor_texts else processor.speed.value)
        if speed != 1:
            divisor_texts.append(f"/ {exact_number(speed)}")
        if slice_count.value != 1 or slice_count.formula:
            divisor_text = (
                f"({slice_count.formula})"
                if slice_count.formula
                else exact_number(slice_count.value)
            )
            divisor_texts.append(f"/ {divisor_text}")
        station_path = self._station_path(processor, task)
        time_formula = " ".join([demand_parameter, *divisor_texts])
        occupied_time = (
            {"service": station_path, "time": time_formula}
            if station_path
            else {"delay": time_formula}
        )
        other_fields = {"scv": work.scv, "component": self.names.name(task.name)}
        return [
            {
                "name": self.names.name(self._name_of_work(work, task)),
                **occupied_time,
                **other_fields,
            }
        ]

    def _speed_share_of(self, task: Task) -> float:
        """Return the fraction of the processor's speed that a task gets: the share of its group if
        that is capped, else 1.
        """
        group_share = self.network.shares.get(task.group)
        return group_share.share if group_share is not None and group_share.is_capped else 1.0

    def _name_of_work(self, work: Work, task: Task) -> str:
        """Return a unique name for a phase or an activity: its own name, preceded by that of its
        task if another task has a phase or an activity of the same name.
        """
        if not hasattr(self, "_tasks_by_work_name"):
            task_names_by_work_name: dict[str, set[str]] = {}
            for other_task in self.network.tasks.values():
                for other_work in self.network.works(other_task):
                    task_names_by_work_name.setdefault(self.names.name(other_work.name), set()).add(
                        other_task.name
                    )
            self._tasks_by_work_name = task_names_by_work_name
        is_shared = len(self._tasks_by_work_name[self.names.name(work.name)]) > 1
        return f"{task.name} {work.name}" if is_shared else work.name

    def _demand_parameter(self, work: Work, task: Task) -> str:
        """Return the name of the parameter for the demand of a phase or an activity; add it if it
        is new.
        """
        if id(work) not in self._parameter_by_work:
            name = self._plain_name(self._name_of_work(work, task))
            name = name if name not in (*self.parameters, SECOND_PARAMETER) else f"{name}_demand"
            self._parameter_by_work[id(work)] = name
            self.parameters[name] = self._time_quantity(work.name, work.line, work.demand)
        return self._parameter_by_work[id(work)]

    def _time_quantity(self, name: str, line: int, amount: ModelAmount) -> Any:
        """Return a time as a quantity, or as a formula in the parameters of the file."""
        if amount.formula:
            return f"({amount.formula}) * {self._parameter_of_one_second()}"
        return self.names.time(line, amount.value)

    def _think_step(self, name: str, line: int, amount: ModelAmount) -> dict[str, Any]:
        """Return a delay step for a think time; the time becomes a parameter."""
        parameter = self._plain_name(f"{name} think")
        if parameter not in self.parameters:
            self.parameters[parameter] = self._time_quantity(name, line, amount)
        step_name = self.names.name(f"{name} think")
        return {"name": step_name, "delay": parameter, "scv": 1, "component": THINK}

    def _parameter_of_one_second(self) -> str:
        """Return the name of the parameter that is one unit of time of the file; add it first."""
        if SECOND_PARAMETER not in self.parameters:
            one_unit = self.names.time(1, 1.0)
            self.parameters = {SECOND_PARAMETER: one_unit, **self.parameters}
        return SECOND_PARAMETER

    def _probability_value(self, probability: ModelAmount) -> Any:
        """Return a probability as a formula; as a number if it has no formula."""
        return probability.formula or probability.value

    # Names --------------------------------------------------------------------------------------

    def _station_path(self, processor: Processor, task: Task) -> str:
        """Return the path of the station of a processor; empty if the processor is a delay."""
        if is_unlimited(processor.servers):
            return ""
        share = self.network.shares.get(task.group)
        is_capped = share is not None and share.is_capped
        station_name = self.names.name(
            f"{processor.name} {task.group}" if is_capped else processor.name
        )
        server_count = self._whole_number(processor.servers, processor.line)
        discipline = _DISCIPLINES.get(processor.kind, "fcfs")
        if processor.kind in ("ps-hol", "ps-pp"):
            discipline = "ps"
        self.resources[station_name] = {"servers": server_count, "discipline": discipline}
        return station_name

    def _whole_number(self, amount: ModelAmount, line: int) -> int:
        """Return a number of servers or threads; refuse one that is not whole."""
        if amount.value != int(amount.value):
            message = f"{amount.value:g} is no whole number of servers or threads"
            self.network.refuse(line, "multiplicity", message)
        return int(amount.value)

    def _path_of_counter(self, name: str, unit_count: int = 0) -> str:
        """Return the path of a counter by its name; a new one begins with the given number of
        units.
        """
        counter_name = self._plain_name(name)
        semaphores = self.resources.setdefault("requests", {"semaphores": {}})["semaphores"]
        semaphores.setdefault(counter_name, unit_count)
        return f"requests.{counter_name}"

    def _plain_name(self, name: str) -> str:
        """Return a name as a spec writes it, without hyphens."""
        return self.names.name(name).replace("-", "_")


ONE_CALL = ModelAmount(1.0)


class TooManyStepsError(Exception):
    """Raised if calls, written out one by one, need more steps than a limit, which the message
    names.
    """


def activity_spec(
    network: LayeredNetwork,
    make_names: Callable[[], SpecNames],
    file_losses: FileLosses,
    title: str,
) -> ImportedSpec:
    """Build the spec of an activity from a layered network. Numbers of calls that are geometric are
    written in the first of three forms that does not need too many steps: as binary digits, as
    geometric repetitions, or rounded to whole numbers.

    Raises
    ------
    SpecError : a feature that activities cannot express, or too many steps
    """
    reason = ""
    for repeat_form in (DIGITS, REPEATS):
        try:
            return Lowering(network, make_names(), file_losses, repeat_form).spec(title)
        except TooManyStepsError as limit_error:
            reason = str(limit_error)
            file_losses.lines_by_loss_and_detail = FileLosses(
                file_losses.format, file_losses.input_file
            ).lines_by_loss_and_detail
    file_losses.declare("geometric-calls", 1, f"geometric numbers would need {reason}")
    try:
        return Lowering(network, make_names(), file_losses, WHOLE_NUMBERS).spec(title)
    except TooManyStepsError as limit_error:
        message = (
            f"written out at each call, the model has {limit_error}; import a part of it, such as a"
            " model whose customers call the entries of one task"
        )
        network.refuse(1, "", message)


def _body_by_share(
    bodies: list[tuple[ModelAmount, Items]], mean_repeats: float, mean_formula: str
) -> Items:
    """Return a single body unchanged; for several bodies, return the choice of one with a
    probability in proportion to its count. The counts have the given sum or its formula.
    """
    if len(bodies) == 1:
        return bodies[0][1]
    options: Items = []
    for count, body in bodies:
        probability: Any = count.value / mean_repeats
        if mean_formula:
            probability = f"({count.formula or exact_number(count.value)}) / ({mean_formula})"
        options.append({"p": probability, "do": body})
    return [{"choose": _with_exact_remainder(options)}]


def _digit_probabilities(mean: float) -> Iterator[float]:
    """Yield the probability that each binary digit of a geometric number is 1.

    The last digit has the mean that the digits beyond it would have, so that the mean is exact.
    """
    remaining_mean = mean
    ratio = 1 + 1 / mean
    for power in range(60):
        if ratio**2 > 1 / LEAST_PROBABILITY:
            yield min(remaining_mean / 2**power, 1.0)
            return
        probability = 1 / (1 + ratio)
        yield probability
        remaining_mean -= 2**power * probability
        ratio **= 2


def _digit_formulas(mean: float, repeat_probability: str) -> Iterator[str]:
    """Yield the probabilities that the binary digits of a number of repetitions are 1, as formulas
    in the probability of one more repetition.

    There are enough digits for means up to 20, and up to four times the present mean.
    """
    digit_count = max(8, sum(1 for _ in _digit_probabilities(4 * mean)))
    for power in range(digit_count):
        power_of_probability = (
            f"{repeat_probability} ** {2**power}"
            if power <= 6
            else f"pow({repeat_probability}, {2**power})"
        )
        yield f"{power_of_probability} / (1 + {power_of_probability})"


def _rotations(bodies: list[Items]) -> Iterator[list[Items]]:
    """Yield the rotations of a list of bodies."""
    for first_index in range(len(bodies)):
        yield bodies[first_index:] + bodies[:first_index]


def _without_replies(steps: Sequence) -> Sequence:
    """Return steps without their replies."""
    plain_steps: list[Step] = []
    for step in steps:
        if isinstance(step, ParallelStep):
            branches = tuple(_without_replies(branch) for branch in step.branches)
            plain_steps.append(ParallelStep(branches, step.quorum))
        elif isinstance(step, ChoiceStep):
            plain_steps.append(
                ChoiceStep(
                    tuple(
                        (probability, _without_replies(body)) for probability, body in step.options
                    )
                )
            )
        elif not isinstance(step, ReplyStep):
            plain_steps.append(step)
    return tuple(plain_steps)


def _sum_and_formula(amounts: list[ModelAmount]) -> tuple[float, str]:
    """Return the sum of amounts, with its formula if an amount has one."""
    amount_sum = sum(amount.value for amount in amounts)
    if not any(amount.formula for amount in amounts):
        return amount_sum, ""
    return amount_sum, " + ".join(
        amount.formula or exact_number(amount.value) for amount in amounts
    )


def _complement(probability: Any) -> Any:
    """Return 1 minus a probability, which is a number or a formula."""
    return f"1 - {probability}" if isinstance(probability, str) else 1 - probability


def _with_exact_remainder(options: Items) -> Items:
    """Return options whose last probability is 1 minus the others, exactly."""
    *first_options, last_option = options
    if all(isinstance(option["p"], float) for option in options):
        return [
            *first_options,
            {**last_option, "p": 1 - sum(option["p"] for option in first_options)},
        ]
    other_probabilities = " - ".join(f"({option['p']})" for option in first_options)
    return [*first_options, {**last_option, "p": f"1 - {other_probabilities}"}]


def _repeat_item(repeat_count: int, body: Items) -> dict[str, Any]:
    """Return an item that repeats a body a number of times."""
    return {"repeat": repeat_count, "body": body} if repeat_count > 1 else body[0]


def _nested_bodies(item: Mapping[str, Any]) -> list[Items]:
    """Return the lists of items nested in an item."""
    bodies: list[Items] = [item["body"]] if "body" in item else []
    bodies += item.get("fork", [])
    return bodies + [option["do"] for option in item.get("choose", [])]


def _components_of_steps(plain_data: Any) -> set[str]:
    """Return the components that the steps anywhere in plain data are booked to."""
    if isinstance(plain_data, list):
        return set().union(*map(_components_of_steps, plain_data)) if plain_data else set()
    if not isinstance(plain_data, dict):
        return set()
    components = {plain_data["component"]} if "component" in plain_data else set()
    return components.union(
        *(_components_of_steps(inner_data) for inner_data in plain_data.values())
    )


def _nesting_depth(plain_data: Any) -> int:
    """Return the nesting depth of plain data."""
    inner_data = (
        plain_data.values()
        if isinstance(plain_data, dict)
        else plain_data
        if isinstance(plain_data, list)
        else ()
    )
    return 1 + max(map(_nesting_depth, inner_data), default=0)


def _takes_time(items: Items) -> bool:
    """Return whether any item takes time."""
    return any("component" in item or any(map(_takes_time, _nested_bodies(item))) for item in items)
