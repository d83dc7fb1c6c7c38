"""Replicas of processors and tasks, written as separate elements.

A task of r copies stands on the copies of its processor in equal parts. A copy of a caller requests
as many copies of a server as its fan-out says, each as often as one would be, so that copies of
callers times fan-out are copies of servers times fan-in.
"""

from __future__ import annotations

from dataclasses import replace

from slipstick.errors import short
from slipstick_measure.imports.layered.model import (
    Call,
    LayeredEntry,
    LayeredNetwork,
    Processor,
    Task,
    Work,
)

MOST_COPIES = 1000


def with_copies(network: LayeredNetwork) -> LayeredNetwork:
    """Return a network with replicated elements written out; unchanged without replicas.

    Raises
    ------
    SpecError : copies that do not fit
    """
    elements: list[Processor | Task] = [*network.processors.values(), *network.tasks.values()]
    fan_numbers = [fan for task in network.tasks.values() for fan in (task.fan_in, task.fan_out)]
    if all(element.replicas == 1 for element in elements) and not any(
        count != 1 for fan in fan_numbers for count in fan.values()
    ):
        return network
    for element in elements:
        if not 1 <= element.replicas <= MOST_COPIES:
            message = (
                f"{short(element.name)} needs 1 to {MOST_COPIES} copies; got {element.replicas}"
            )
            network.refuse(element.line, "replication", message)
    return _ReplicaWriter(network).written


class _ReplicaWriter:
    """A writer of a network in which every replica is an element of its own."""

    def __init__(self, network: LayeredNetwork) -> None:
        self._network = network
        self.written = LayeredNetwork(
            network.input_file,
            shares=network.shares,
            parameters=network.parameters,
            delays=network.delays,
        )
        for processor in network.processors.values():
            for index in range(processor.replicas):
                name = copy_name(processor.name, index, processor.replicas)
                self.written.processors[name] = replace(processor, name=name, replicas=1)
        for task in network.tasks.values():
            for index in range(task.replicas):
                self._write_task(task, index)

    def _write_task(self, task: Task, index: int) -> None:
        """Add a replica of a task, with its entries, on a replica of its processor."""
        processor = self._network.processors[task.processor]
        per_processor, remainder = divmod(task.replicas, processor.replicas)
        if remainder:
            message = (
                f"{task.replicas} copies of {short(task.name)} cannot share"
                f" {processor.replicas} copies of {short(processor.name)} in equal parts"
            )
            self._network.refuse(task.line, "replication", message)
        name = copy_name(task.name, index, task.replicas)
        self.written.tasks[name] = replace(
            task,
            name=name,
            processor=copy_name(processor.name, index // per_processor, processor.replicas),
            replicas=1,
            entries=[copy_name(name, index, task.replicas) for name in task.entries],
            activities={
                key: self._replica_of_work(work, task, index)
                for key, work in task.activities.items()
            },
            replies={
                key: [copy_name(name, index, task.replicas) for name in replied_entries]
                for key, replied_entries in task.replies.items()
            },
        )
        for entry_name in task.entries:
            entry = self._replica_of_entry(self._network.entries[entry_name], task, index)
            self.written.entries[entry.name] = entry
            self.written.owner[entry.name] = name

    def _replica_of_entry(self, entry: LayeredEntry, task: Task, index: int) -> LayeredEntry:
        """Return a replica of an entry."""
        forwards = [
            (target, share, line)
            for forwarded_entry, share, line in entry.forwards
            for target in self._called_replicas(forwarded_entry, task, index, line)[:1]
        ]
        return replace(
            entry,
            name=copy_name(entry.name, index, task.replicas),
            phases={
                key: self._replica_of_work(work, task, index) for key, work in entry.phases.items()
            },
            forwards=forwards,
        )

    def _replica_of_work(self, work: Work, task: Task, index: int) -> Work:
        """Return a replica of a phase or an activity."""
        calls = [
            Call(target, call.count, call.line, call.waits)
            for call in work.calls
            for target in self._called_replicas(call.target, task, index, call.line)
        ]
        return replace(work, name=copy_name(work.name, index, task.replicas), calls=calls)

    def _called_replicas(self, entry: str, caller: Task, caller_index: int, line: int) -> list[str]:
        """Return the replicas of an entry that a replica of a caller calls."""
        server = self._network.task_of(entry)
        fan_out = caller.fan_out.get(server.name, 1)
        fan_in = server.fan_in.get(caller.name, 1)
        if caller.replicas * fan_out != server.replicas * fan_in:
            message = (
                f"{caller.replicas} copies of {short(caller.name)} with fan-out {fan_out} do not"
                f" fit {server.replicas} copies of {short(server.name)} with fan-in {fan_in};"
                " their products are equal"
            )
            self._network.refuse(line, "replication", message)
        copies = ((caller_index * fan_out + offset) % server.replicas for offset in range(fan_out))
        return [copy_name(entry, copy_number, server.replicas) for copy_number in copies]


def copy_name(name: str, index: int, copies: int) -> str:
    """Return the name of a replica; an element that has one replica only keeps its name.

    >>> copy_name("disk", 1, 2), copy_name("disk", 0, 1)
    ('disk_2', 'disk')
    """
    return name if copies == 1 else f"{name}_{index + 1}"
