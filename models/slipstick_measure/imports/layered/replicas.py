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

MOST_REPLICAS = 1000


def with_replicas_written_out(network: LayeredNetwork) -> LayeredNetwork:
    """Return a network with replicated elements written out; unchanged without replicas.

    Raises
    ------
    SpecError : copies that do not fit
    """
    elements: list[Processor | Task] = [*network.processors.values(), *network.tasks.values()]
    replica_counts_by_task = [
        fan for task in network.tasks.values() for fan in (task.fan_in, task.fan_out)
    ]
    if all(element.replicas == 1 for element in elements) and not any(
        count != 1 for fan in replica_counts_by_task for count in fan.values()
    ):
        return network
    for element in elements:
        if not 1 <= element.replicas <= MOST_REPLICAS:
            message = (
                f"{short(element.name)} needs 1 to {MOST_REPLICAS} copies; got {element.replicas}"
            )
            network.refuse(element.line, "replication", message)
    return _ReplicaWriter(network).written_network


class _ReplicaWriter:
    """A writer of a network in which every replica is an element of its own."""

    def __init__(self, network: LayeredNetwork) -> None:
        self._network = network
        self.written_network = LayeredNetwork(
            network.input_file,
            shares=network.shares,
            parameters=network.parameters,
            delays=network.delays,
        )
        for processor in network.processors.values():
            for index in range(processor.replicas):
                name = replica_name(processor.name, index, processor.replicas)
                self.written_network.processors[name] = replace(processor, name=name, replicas=1)
        for task in network.tasks.values():
            for index in range(task.replicas):
                self._write_task(task, index)

    def _write_task(self, task: Task, replica_index: int) -> None:
        """Add a replica of a task, with its entries, on a replica of its processor."""
        processor = self._network.processors[task.processor]
        replicas_per_processor, remainder = divmod(task.replicas, processor.replicas)
        if remainder:
            message = (
                f"{task.replicas} copies of {short(task.name)} cannot share"
                f" {processor.replicas} copies of {short(processor.name)} in equal parts"
            )
            self._network.refuse(task.line, "replication", message)
        name = replica_name(task.name, replica_index, task.replicas)
        self.written_network.tasks[name] = replace(
            task,
            name=name,
            processor=replica_name(
                processor.name, replica_index // replicas_per_processor, processor.replicas
            ),
            replicas=1,
            entries=[replica_name(name, replica_index, task.replicas) for name in task.entries],
            activities={
                activity_name: self._replica_of_work(work, task, replica_index)
                for activity_name, work in task.activities.items()
            },
            replied_entries_by_activity={
                activity_name: [
                    replica_name(name, replica_index, task.replicas) for name in replied_entries
                ]
                for activity_name, replied_entries in task.replied_entries_by_activity.items()
            },
        )
        for entry_name in task.entries:
            entry = self._replica_of_entry(self._network.entries[entry_name], task, replica_index)
            self.written_network.entries[entry.name] = entry
            self.written_network.task_by_entry[entry.name] = name

    def _replica_of_entry(
        self, entry: LayeredEntry, task: Task, replica_index: int
    ) -> LayeredEntry:
        """Return a replica of an entry."""
        forwards = [
            (target_name, probability, line)
            for forwarded_name, probability, line in entry.forwards
            for target_name in self._called_replicas(forwarded_name, task, replica_index, line)[:1]
        ]
        return replace(
            entry,
            name=replica_name(entry.name, replica_index, task.replicas),
            phases={
                phase: self._replica_of_work(work, task, replica_index)
                for phase, work in entry.phases.items()
            },
            forwards=forwards,
        )

    def _replica_of_work(self, work: Work, task: Task, replica_index: int) -> Work:
        """Return a replica of a phase or an activity."""
        calls = [
            Call(target, call.count, call.line, call.waits_for_reply)
            for call in work.calls
            for target in self._called_replicas(call.target, task, replica_index, call.line)
        ]
        return replace(
            work, name=replica_name(work.name, replica_index, task.replicas), calls=calls
        )

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
        replica_indices = (
            (caller_index * fan_out + offset) % server.replicas for offset in range(fan_out)
        )
        return [
            replica_name(entry, replica_index, server.replicas) for replica_index in replica_indices
        ]


def replica_name(name: str, replica_index: int, replica_count: int) -> str:
    """Return the name of a replica; an element that has one replica only keeps its name.

    >>> replica_name("disk", 1, 2), replica_name("disk", 0, 1)
    ('disk_2', 'disk')
    """
    return name if replica_count == 1 else f"{name}_{replica_index + 1}"
