"""What a program asks of its machine: messages, collective operations, arithmetic and memory
traffic, as activities.

Every number is read from the machine; each step has the technology class that a what-if scales. A
message costs its sender and its receiver protocol time by the network's cost table, a system call
where the machine tells one, its bytes on the wire, two adapters and the switches between them. It
waits for nothing, but where the medium is shared: there all messages queue for the station `wire`.
That a rank's link and its processor serve one message at a time is left out for messages in
parallel branches.

Sources: the parts of a message as Parsons, Brorsson and Sevcik, IBM Systems Journal 36(4), 1997;
collective operations as `slipstick.law.collectives`; the time of arithmetic beside memory traffic
as the longer of the two, Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009
(roofline).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import (
    TIME,
    Expr,
    Like,
    Number,
    as_expr,
    ceil,
    maximum,
    minimum,
    select,
    total,
)
from slipstick.law.collectives import ALGORITHMS, CollectiveAlgorithm
from slipstick.law.network import ADAPTER_LATENCY, PROTOCOL_TIME, SWITCH_LATENCY, WIRE_TIME
from slipstick.model.activity import Step, choose, delay, repeat, service, then
from slipstick.model.machine import LinearCost, Machine, Network, Node
from slipstick.model.steps import Activity
from slipstick.vocabulary import BEST


@dataclass(frozen=True, slots=True)
class MachineOperations:
    """The operations of one machine, booked to one component under one name.

    Parameters
    ----------
    machine : on which they run
    name : begins the names of all steps
    component : to which the account books them
    """

    machine: Machine
    name: str
    component: str

    def message(self, size: Expr, placement: str = "network") -> Activity:
        """Send a message to another rank, and wait until it is received.

        Parameters
        ----------
        size : of the message [B]
        placement : one of `slipstick.vocabulary.PLACEMENTS`

        Raises
        ------
        ModelError : the placement is within a node, and the machine has none
        """
        return then(*self._message_steps(size, placement))

    def compute(self, operations: Expr | None = None, moved: Expr | None = None) -> Activity:
        """Compute, and move bytes between processor and memory at the same time.

        Parameters
        ----------
        operations : floating-point operations [1]
        moved : bytes between processor and memory [B]

        Raises
        ------
        ModelError : the machine does not tell the rate of what is asked
        """
        times = []
        if operations is not None:
            times.append(operations / self._told(self.machine.flops, "machine.processors.flops"))
        if moved is not None:
            times.append(moved / self._told(self.machine.bandwidth, "machine.memory.bandwidth"))
        return delay(maximum(*times), name=self.name, component=self.component)

    def collective(
        self,
        operation: str,
        size: Expr,
        ranks: Expr,
        algorithm: str,
        placement: str | None,
        combine: Expr | None,
    ) -> Activity:
        """Take part in a collective operation.

        Each round is one message of the mean size, which is exact where protocol time is one line
        in the size.

        Parameters
        ----------
        operation, algorithm : of one of `ALGORITHMS`, or the best of them
        size : as the algorithm's law tells [B]
        ranks : that take part [1]
        placement : one of `slipstick.vocabulary.PLACEMENTS`; None: ranks fill one node after the
            other
        combine : time of combining a byte with another by arithmetic; None leaves it out [s/B]

        Raises
        ------
        ModelError : there is no such algorithm
        """
        algorithms = {algorithm.name: algorithm for algorithm in _algorithms(operation)}
        if algorithm not in (names := [*algorithms, BEST]):
            raise ModelError(
                f"{operation} has no algorithm {algorithm!r}{did_you_mean(algorithm, names)}"
            )
        chosen, node = (
            list(algorithms.values()) if algorithm == BEST else [algorithms[algorithm]],
            self.machine.node,
        )
        if placement is not None or node is None:
            return _least(self._each(chosen, size, ranks, placement or "network", combine))[0]
        between = self._part("network")._each(chosen, size, ranks, "network", combine)
        if algorithm == BEST and operation == "allreduce":
            between.append(self._in_levels(node, size, ranks, combine))
        inside = self._part("node")._each(chosen, size, ranks, "node", combine)
        fits = select(ranks, node.processors, 1, 0)
        return choose((fits, _least(inside)[0]), (1 - fits, _least(between)[0]))

    def _in_levels(
        self, node: Node, size: Expr, ranks: Expr, combine: Expr | None
    ) -> tuple[Activity, Expr]:
        """Scatter the sums of each node, add them up between nodes, all processors of a node at
        once, and gather them.

        Each processor has an adapter to the network; a node filled in part counts as whole. Source:
        Cho and others, BlueConnect, MLSys
        2019. No measured times are compared with it.
        """
        width, nodes = node.processors, maximum(1, ceil(ranks / node.processors))
        operations_of_levels = [
            _least(
                self._part(f"levels.{operation}")._each(
                    _algorithms(operation), moved, count, where, combine
                )
            )
            for operation, moved, count, where in (
                ("reduce-scatter", size, width, "node"),
                ("allreduce", size / width, nodes, "network"),
                ("allgather", size, width, "node"),
            )
        ]
        return then(*(activity for activity, _ in operations_of_levels)), total(
            (time for _, time in operations_of_levels), TIME
        )

    def _part(self, name: str) -> MachineOperations:
        return replace(self, name=f"{self.name}.{name}")

    def _each(
        self,
        chosen: Iterable[CollectiveAlgorithm],
        size: Expr,
        ranks: Expr,
        placement: str,
        combine: Expr | None,
    ) -> list[tuple[Activity, Expr]]:
        return [
            self._rounds(algorithm_name, size, ranks, placement, combine)
            for algorithm_name in chosen
        ]

    def _rounds(
        self,
        algorithm: CollectiveAlgorithm,
        size: Expr,
        ranks: Expr,
        placement: str,
        combine: Expr | None,
    ) -> tuple[Activity, Expr]:
        """Return an algorithm as an activity, and its time [s]."""
        part_of_node = self._part(algorithm.name)
        rounds, moved, combined = algorithm.figures(ranks, size)
        steps = part_of_node._message_steps(
            moved / maximum(rounds, 1), placement
        )  # one rank alone has no rounds
        operation, time = (
            repeat(rounds, then(*steps)),
            rounds * total((step.time for step in steps), TIME),
        )
        if combine is None or not algorithm.combines:
            return operation, time
        reduction = delay(
            combined * combine, name=f"{part_of_node.name}.combine", component=self.component
        )
        return operation >> reduction, time + reduction.time

    def _message_steps(self, size: Expr, placement: str) -> list[Step]:
        network = self.machine.network
        switches = network.switches
        if placement == "node":
            if self.machine.node is None:
                raise ModelError(
                    f"{self.name} is within a node, which this machine does not have; give"
                    " machine.node"
                )
            network = self.machine.node.network
            switches = network.switches
        elif placement == "switch":
            switches = Number(1.0)
        adapters, between = latency(network, 1, switches)
        ends = [("protocol", 2 * protocol_time(network, size) / self.machine.speed, "protocol")]
        if self.machine.call is not None:
            ends.append(("call", 2 * self.machine.call / self.machine.speed, "system"))
        hardware = [("adapter", adapters, "adapter"), ("switch", between, "switch")]
        return [
            *(self._delay(*end) for end in ends),
            self._wire(network, size),
            *(self._delay(*hop) for hop in hardware),
        ]

    def _wire(self, network: Network, size: Expr) -> Step:
        seconds = wire_time(network, size)
        if network.medium == "shared":
            return service(
                "wire",
                seconds,
                name=f"{self.name}.wire",
                component=self.component,
                technology="wire",
            )
        return self._delay("wire", seconds, "wire")

    def _delay(self, name: str, seconds: Expr, technology: str) -> Step:
        return delay(
            seconds, name=f"{self.name}.{name}", component=self.component, technology=technology
        )

    def _told(self, value: Expr | None, path: str) -> Expr:
        if value is None:
            raise ModelError(f"{self.name} needs {path}, which this machine does not give")
        return value


def _algorithms(operation: str) -> list[CollectiveAlgorithm]:
    return [algorithm for algorithm in ALGORITHMS if algorithm.operation == operation]


def _least(times_of_algorithms: list[tuple[Activity, Expr]]) -> tuple[Activity, Expr]:
    """Take the first of several that has the least time, and that time: a choice with the
    probabilities 0 and 1.
    """
    if len(times_of_algorithms) == 1:
        return times_of_algorithms[0]
    options = []
    for index, (activity, time) in enumerate(times_of_algorithms):
        earlier = [
            select(earlier_time, time, 0, 1) for _, earlier_time in times_of_algorithms[:index]
        ]
        later = [
            select(time, later_time, 1, 0) for _, later_time in times_of_algorithms[index + 1 :]
        ]
        chosen: Expr = Number(1.0)
        for is_better in (*earlier, *later):
            chosen = chosen * is_better
        options.append((chosen, activity))
    return choose(*options), minimum(*(time for _, time in times_of_algorithms))


def protocol_time(network: Network, size: Expr) -> Expr:
    """Return the protocol software time of a message at one side, by the range of its size [s]."""
    last, *shorter_ranges = reversed(network.ranges)
    result = _line_time(network, size, last.total)
    for message_range in shorter_ranges:
        assert message_range.up_to is not None
        result = select(
            size + network.protocol_added,
            message_range.up_to,
            _line_time(network, size, message_range.total),
            result,
        )
    return result


def _line_time(network: Network, size: Expr, line: LinearCost) -> Expr:
    line_time = PROTOCOL_TIME(
        fixed=line.fixed, per_byte=line.per_byte, size=size, added=network.protocol_added
    )
    assert isinstance(line_time, Expr)
    return line_time


def wire_time(network: Network, size: Expr) -> Expr:
    """Return the time of a message on the wire [s]."""
    seconds = WIRE_TIME(per_byte=network.wire_per_byte, size=size, added=network.wire_added)
    assert isinstance(seconds, Expr)
    return seconds


def latency(
    network: Network, messages: Like = 1, switches: Expr | None = None
) -> tuple[Expr, Expr]:
    """Return the hardware latency of messages in turn: two adapters each, and the switches between
    them [s].

    Parameters
    ----------
    network : with adapters and switches
    messages : one after the other [1]
    switches : between two processors; those of the network by default [1]
    """
    count, between = as_expr(messages), network.switches if switches is None else switches
    adapters = ADAPTER_LATENCY(messages=count, adapter=network.adapter)
    crossed = SWITCH_LATENCY(messages=count, switch=network.switch, switches=between)
    assert isinstance(adapters, Expr)
    assert isinstance(crossed, Expr)
    return adapters, crossed
