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

from typing import NamedTuple

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.nodes import (
    BYTES,
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
from slipstick.late import dataclass, replace
from slipstick.law.collectives import (
    ALGORITHMS,
    BRUCK,
    LIBRARIES,
    PARTS,
    RING,
    SHIFT,
    CollectiveAlgorithm,
    LibraryRule,
)
from slipstick.law.network import ADAPTER_LATENCY, PROTOCOL_TIME, SWITCH_LATENCY, WIRE_TIME
from slipstick.model.activity import Step, choose, delay, fork, repeat, service, then
from slipstick.model.machine import LinearCost, Machine, Network, Node, RingProtocol
from slipstick.model.steps import Activity
from slipstick.vocabulary import BEST, FLAT, LEVELS


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective operation with the size of its vector [B], the number of its ranks [1], the name
    of its algorithm, and the time to combine a byte; None if that time is left out [s/B].
    """

    operation: str
    size: Expr
    ranks: Expr
    algorithm: str
    combine: Expr | None


class TimedActivity(NamedTuple):
    """An activity, and its time without contention [s]."""

    activity: Activity
    time: Expr


@dataclass(frozen=True, slots=True)
class MachineOperations:
    """Builder of the activities of one machine's operations, booked to one component under one
    name.

    Parameters
    ----------
    machine : on which they run
    name : begins the names of all steps
    component : to which the account books them
    technology : technology class of all steps; if empty, each step has the class of its own cost
    """

    machine: Machine
    name: str
    component: str
    technology: str = ""

    def message(
        self, size: Expr, placement: str = "network", messages_at_once: Expr | None = None
    ) -> Activity:
        """Return the activity of sending a message to another rank and waiting until it is
        received.

        Parameters
        ----------
        size : of the message [B]
        placement : one of `slipstick.vocabulary.PLACEMENTS`
        messages_at_once : messages that cross each adapter at the same time, of which this one is
            the last [1]; one if None

        Raises
        ------
        ModelError : the placement is within a node, and the machine has none
        """
        messages_sharing_adapter = (
            None if messages_at_once is None else maximum(1, messages_at_once)
        )
        return then(*self._message_steps(size, placement, messages_sharing_adapter))

    @property
    def note_on_lone_messages(self) -> str:
        """Return a note that messages are modelled as if no other message crossed the same adapter;
        empty if every processor of a node has an adapter of its own.
        """
        node = self.machine.node
        if node is None:
            return ""
        node_processors, adapter_count = (
            getattr(count, "value", None) for count in (node.processors, node.adapters)
        )
        if not node_processors or not adapter_count or node_processors <= adapter_count:
            return ""
        adapter_noun = "adapter" if adapter_count == 1 else "adapters"
        return (
            f"{node_processors:g} processors of a node share {adapter_count:g} {adapter_noun}"
            " (machine.node.adapters), and a message between nodes is assumed to be alone there;"
            " together: of the step says how many cross an adapter at the same time"
        )

    def compute(
        self,
        operations: Expr | None = None,
        moved_bytes: Expr | None = None,
        processors_at_once: Expr | None = None,
    ) -> Activity:
        """Return the activity of computing while bytes move between processor and memory.

        Arithmetic is booked as application time and the movement of bytes as memory time, so that
        each changes with its own technology. The two overlap: the longer one counts.

        Parameters
        ----------
        operations : floating-point operations [1]
        moved_bytes : bytes between processor and memory [B]
        processors_at_once : processors that do the same at the same time [1]; None: as many as
            share a memory

        Raises
        ------
        ModelError : the machine does not tell the rate of what is asked
        """
        memory_and_arithmetic: list[Activity] = []
        if operations is not None:
            operation_rate = self._require_given(self.machine.flops, "machine.processors.flops")
            memory_and_arithmetic.append(
                self._named_step(self.name, operations / operation_rate, "application")
            )
        if moved_bytes is not None:
            name = f"{self.name}.memory" if memory_and_arithmetic else self.name
            memory_and_arithmetic.append(
                self._named_step(
                    name, moved_bytes * self._memory_time_per_byte(processors_at_once), "memory"
                )
            )
        return fork(*memory_and_arithmetic)

    def chase(self, accesses: Expr) -> Activity:
        """Return the activity of reading memory repeatedly, where each read needs the value of the
        previous read.

        Parameters
        ----------
        accesses : one after the other [1]

        Raises
        ------
        ModelError : the machine does not tell the latency of its memory
        """
        latency = self._require_given(self.machine.latency, "machine.memory.latency")
        return self._named_step(self.name, accesses * latency, "memory_latency")

    def _memory_time_per_byte(self, processors_at_once: Expr | None) -> Expr:
        """Return the time to move a byte between processor and memory [s/B]: the longer of two
        times, by the processor's own bandwidth and by its share of the domain's bandwidth.

        Processors fill one domain after the other, so the first one is the fullest, and a program
        whose processors do the same waits for those in it.
        """
        own_bandwidth = self.machine.bandwidth
        domain = self.machine.domain
        if domain is None:
            return 1 / self._require_given(own_bandwidth, "machine.memory.bandwidth")
        sharing_processors = domain.processors
        if processors_at_once is not None:
            sharing_processors = minimum(processors_at_once, sharing_processors)
        shared_time = sharing_processors / domain.bandwidth
        return shared_time if own_bandwidth is None else maximum(1 / own_bandwidth, shared_time)

    def collective(
        self,
        operation: str,
        size: Expr,
        ranks: Expr,
        algorithm: str,
        placement: str | None,
        combine: Expr | None,
    ) -> Activity:
        """Return the activity of taking part in a collective operation.

        Each round is one message of the mean size, which is exact where protocol time is one line
        in the size.

        Parameters
        ----------
        operation : the collective operation, such as an all-reduce
        algorithm : one of `ALGORITHMS`, the word for the fastest of them, or `LEVELS`
        size : as the algorithm's law tells [B]
        ranks : that take part [1]
        placement : one of `slipstick.vocabulary.PLACEMENTS`; None: ranks fill one node after the
            other
        combine : time of combining a byte with another by arithmetic; None leaves it out [s/B]

        Raises
        ------
        ModelError : there is no such algorithm
        """
        algorithm_names = [
            *(known_algorithm.name for known_algorithm in _algorithms_of(operation)),
            LEVELS,
            BEST,
        ]
        if algorithm not in algorithm_names:
            raise ModelError(
                f"{operation} has no algorithm"
                f" {algorithm!r}{did_you_mean(algorithm, algorithm_names)}"
            )
        node = self.machine.node
        task = Collective(operation, size, ranks, algorithm, combine)
        if placement is not None or node is None:
            if algorithm == LEVELS:
                way_out = "give machine.node" if node is None else "leave placement out"
                raise ModelError(f"{operation} works in levels over nodes; {way_out}")
            return _fastest_activity(
                self._allowed_algorithms(task, placement or "network")
            ).activity
        # Ranks may vary along a sweep, so the choice is an expression: probability 1 of the one or
        # the other.
        fits_in_node = select(ranks, node.processors, 1, 0)
        inside_node = self._with_step_prefix("node")._allowed_algorithms(
            replace(task, algorithm=BEST) if algorithm == LEVELS else task, "node"
        )
        return choose(
            (fits_in_node, _fastest_activity(inside_node).activity),
            (1 - fits_in_node, self._collective_of_nodes(task, node)),
        )

    def _collective_of_nodes(self, task: Collective, node: Node) -> Activity:
        """Return a collective operation of the ranks of several nodes: by the algorithm of the
        library, by one that ignores nodes, or by one that works in levels.
        """
        if task.algorithm == LEVELS:
            return self._collective_in_levels(task, node).activity
        library_rules = LIBRARIES.get(node.collectives, {}).get(task.operation)
        if task.algorithm == BEST and library_rules:
            return self._chosen_by_library(task, node, library_rules)
        # An algorithm that ignores nodes makes all ranks of a node send through its adapters in
        # every round.
        messages_at_once = maximum(1, _messages_of_adapter(node, task.ranks))
        flat_algorithms = self._with_step_prefix("network")._allowed_algorithms(
            task, "network", messages_at_once
        )
        if task.algorithm != BEST or node.collectives == FLAT:
            return _fastest_activity(flat_algorithms).activity
        fastest_activity = _fastest_activity(
            [*flat_algorithms, self._collective_in_levels(task, node)]
        ).activity
        if node.collectives == LEVELS:
            return fastest_activity
        # By default a library is taken to work in levels only where each processor has an adapter.
        each_has_adapter = select(node.processors, node.adapters, 1, 0)
        return choose(
            (each_has_adapter, fastest_activity),
            (1 - each_has_adapter, _fastest_activity(flat_algorithms).activity),
        )

    def _chosen_by_library(
        self, task: Collective, node: Node, rules: tuple[LibraryRule, ...]
    ) -> Activity:
        """Return a collective operation by the algorithm that a library takes for its size."""
        size_of_rules = task.size / task.ranks if task.operation == "alltoall" else task.size
        *shorter_rules, last_rule = rules
        activity = self._collective_over_nodes(task, node, last_rule)
        for rule in reversed(shorter_rules):
            assert rule.up_to is not None
            is_short = select(size_of_rules, Number(float(rule.up_to), BYTES), 1, 0)
            activity = choose(
                (is_short, self._collective_over_nodes(task, node, rule)), (1 - is_short, activity)
            )
        return activity

    def _collective_over_nodes(self, task: Collective, node: Node, rule: LibraryRule) -> Activity:
        """Return the activity of an algorithm over ranks that fill one node after the other; its
        cost depends on the order in which a rank exchanges data with the other ranks.
        """
        algorithm = next(
            candidate
            for candidate in _algorithms_of(task.operation)
            if candidate.name == rule.algorithm
        )
        renamed_operations = self._with_step_prefix(f"{rule.algorithm}-{rule.up_to or 'long'}")
        rounds, sent_bytes, combined_bytes = algorithm.figures(task.ranks, task.size)
        round_count = as_expr(rounds)
        message_size = sent_bytes / maximum(1, round_count)
        order = rule.order or algorithm.order
        if order == SHIFT:
            activity = renamed_operations._shifted_rounds(
                round_count, message_size, task.ranks, node
            )
        elif order == RING:
            activity = repeat(round_count, renamed_operations._round_of_ring(message_size, node))
        else:
            activity = renamed_operations._rounds_inside_and_between(algorithm, task, node, order)
        if rule.algorithm == BRUCK and node.block is not None:
            blocks = round_count * (task.ranks / 2)
            activity = activity >> renamed_operations._delay_step(
                "blocks", blocks * node.block / self.machine.speed, "protocol"
            )
        if task.combine is None or not algorithm.combines:
            return activity
        return activity >> renamed_operations._delay_step(
            "combine", combined_bytes * task.combine, "application"
        )

    def _shifted_rounds(self, rounds: Expr, size: Expr, ranks: Expr, node: Node) -> Activity:
        """Return the activity of rounds in which each rank sends to the rank at a distance that is
        the same for all ranks, and larger in each round.

        At distance d of two nodes with g ranks each, d messages cross the adapters of a node and
        g - d its memory, at the same time; the longer of both counts. With the times a and b of one
        message at the adapters and in the memory, the sum over the distances is that of all
        messages that cross and the part b / (a + b) of those inside.
        """
        outside_ranks = minimum(rounds, maximum(0, ranks - node.processors))
        adapters = minimum(node.processors, node.adapters)
        between_steps = self._with_step_prefix("between")._message_steps(
            size, "network", node.processors / adapters
        )
        messages_inside = _messages_inside(node)
        if messages_inside is not None:
            memory_time = node.network.wire_per_byte
            adapter_time = self.machine.network.wire_per_byte / adapters
            messages_inside = messages_inside * (memory_time / (memory_time + adapter_time))
        inside_steps = self._with_step_prefix("inside")._message_steps(
            size, "node", messages_inside
        )
        between_activity = repeat(outside_ranks, then(*between_steps))
        return between_activity >> repeat(rounds - outside_ranks, then(*inside_steps))

    def _rounds_inside_and_between(
        self, algorithm: CollectiveAlgorithm, task: Collective, node: Node, order: str
    ) -> Activity:
        """Return the activity of the rounds inside a node, whose messages share its memory, and of
        the rounds between nodes, whose messages share its adapters.

        Bruck's rounds at distances below the size of a node are taken as inside, though some of
        their messages cross: an approximation for short messages, which the study collectives
        shows.
        """
        all_rounds, all_bytes, _ = algorithm.figures(task.ranks, task.size)
        inside_size = task.size * (node.processors / task.ranks) if order == PARTS else task.size
        rounds, inside_bytes, _ = algorithm.figures(node.processors, inside_size)
        inside_rounds = as_expr(rounds)
        # Ranks beyond a power of two may cost a node more rounds than they cost all.
        between_rounds = maximum(0, as_expr(all_rounds) - inside_rounds)
        between_bytes = maximum(0 * all_bytes, all_bytes - inside_bytes)
        inside_steps = self._with_step_prefix("inside")._message_steps(
            inside_bytes / maximum(1, inside_rounds), "node", _messages_inside(node)
        )
        between_steps = self._with_step_prefix("between")._message_steps(
            between_bytes / maximum(1, between_rounds),
            "network",
            node.processors / minimum(node.processors, node.adapters),
        )
        inside_activity = repeat(inside_rounds, then(*inside_steps))
        return inside_activity >> repeat(between_rounds, then(*between_steps))

    def _round_of_ring(self, size: Expr, node: Node) -> Activity:
        """Return the activity of one round of a ring. Its time is the mean time over the links or,
        if it is longer, the time of the bytes on the slowest link.

        A rank passes on what it got in the round before, so that the rounds are a max-plus system:
        over many of them one takes the largest mean of its cycles. The cycle around the ring has
        the mean time of a link. The cycle at one rank has what keeps that rank or its link busy, of
        which the bytes are known; that of the software's part of a latency is not, so that this is
        a lower limit. Each round as long as its slowest link was 16 to 130 % too long for 16 to 64
        KiB over RoCE; with all software as busy time it was 57 to 64 % (study collectives).

        Source: Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992, chapter 3.
        """
        inside_steps = self._with_step_prefix("inside")._message_steps(
            size, "node", _messages_inside(node)
        )
        between_steps = self._with_step_prefix("between")._message_steps(size, "network")
        inside_time, between_time = (
            total((step.time for step in steps), TIME) for steps in (inside_steps, between_steps)
        )
        between_share = 1 / node.processors
        activity_of_mean_link = choose(
            (1 - between_share, then(*inside_steps)), (between_share, then(*between_steps))
        )
        mean_time = (1 - between_share) * inside_time + between_share * between_time
        link_step = self._with_step_prefix("link")._wire_step(self.machine.network, size, None)
        return _longer_of_two(
            TimedActivity(activity_of_mean_link, mean_time),
            TimedActivity(link_step, link_step.time),
        ).activity

    def _collective_in_levels(self, task: Collective, node: Node) -> TimedActivity:
        """Return a collective operation that works inside nodes and between nodes at the same time,
        on different pieces of the vector.

        The pieces are taken as infinitely small: the longer level waits for an operation of the
        other without bytes. That is a lower limit, and the sum of both levels, without overlap, an
        upper one. A node filled in part counts as whole.

        Sources: Cho and others, BlueConnect, MLSys 2019, for the levels; the study
        collectives compares them with measured times.
        """
        task_without_bytes = replace(task, size=0 * task.size)
        with_bytes = self._with_step_prefix("levels")
        without_bytes = self._with_step_prefix("fill")
        overlaps = []
        for inside_operations, between_operations in (
            (with_bytes, without_bytes),
            (without_bytes, with_bytes),
        ):
            inside_nodes = inside_operations._part_inside_nodes(
                task if inside_operations is with_bytes else task_without_bytes, node
            )
            between_nodes = between_operations._part_between_nodes(
                task if between_operations is with_bytes else task_without_bytes, node
            )
            overlaps.append(
                TimedActivity(
                    inside_nodes.activity >> between_nodes.activity,
                    inside_nodes.time + between_nodes.time,
                )
            )
        return _longer_of_two(*overlaps)

    def _part_inside_nodes(self, task: Collective, node: Node) -> TimedActivity:
        """Return the part of a collective operation inside the nodes."""
        node_processors = node.processors
        node_task = replace(task, ranks=node_processors, algorithm=BEST)
        if task.operation == "alltoall":
            # Only what a rank sends to the ranks of its own node stays inside.
            node_task = replace(
                node_task, size=task.size * minimum(1, node_processors / task.ranks)
            )
        if task.operation != "allreduce":
            return _fastest_activity(self._allowed_algorithms(node_task, "node"))
        steps_and_times = [
            _fastest_activity(
                self._with_step_prefix(operation)._allowed_algorithms(
                    replace(node_task, operation=operation), "node"
                )
            )
            # An allreduce in levels leaves each rank with one part after the first half, which is
            # what crosses between nodes.
            for operation in ("reduce-scatter", "allgather")
        ]
        halves_in_turn = TimedActivity(
            then(*(step for step, _ in steps_and_times)),
            total((time for _, time in steps_and_times), TIME),
        )
        in_switch = self._with_step_prefix("allreduce")._allowed_algorithms(
            node_task, "node", in_switch=True
        )
        return _fastest_activity([halves_in_turn, *in_switch])

    def _part_between_nodes(self, task: Collective, node: Node) -> TimedActivity:
        """Return the part of a collective operation between nodes: in each node, one processor for
        each adapter exchanges its part of the vector with the other nodes.
        """
        node_processors = node.processors
        node_count = ceil(task.ranks / node.processors)
        prefixed_operations = self._with_step_prefix("between")
        if task.operation == "alltoall":
            pairwise_task = replace(task, algorithm="pairwise")
            return _fastest_activity(
                prefixed_operations._allowed_algorithms(
                    pairwise_task, "network", _messages_of_adapter(node, task.ranks)
                )
            )
        size_per_adapter = task.size / minimum(node_processors, node.adapters)
        return _fastest_activity(
            prefixed_operations._allowed_algorithms(
                replace(task, size=size_per_adapter, ranks=node_count, algorithm=BEST), "network"
            )
        )

    def _with_step_prefix(self, prefix: str) -> MachineOperations:
        """Return the same operations, but with a further prefix in the names of their steps."""
        return replace(self, name=f"{self.name}.{prefix}")

    def _allowed_algorithms(
        self,
        task: Collective,
        placement: str,
        messages_at_once: Expr | None = None,
        in_switch: bool | None = None,
    ) -> list[TimedActivity]:
        """List the algorithms that a task allows and the library of the network has, as activities
        with their times.
        """
        network = self._network_at(placement)
        candidates = _algorithms_of(task.operation)
        if task.algorithm != BEST:
            candidates = [algorithm for algorithm in candidates if algorithm.name == task.algorithm]
        # A network that lists no algorithm of this operation may use any; those of switches are
        # told apart by its `in_switch`.
        elif library_algorithms := [
            algorithm for algorithm in candidates if algorithm.name in network.algorithms
        ]:
            candidates = [
                algorithm
                for algorithm in candidates
                if algorithm in library_algorithms or algorithm.in_switch
            ]
        switch_reduction = network.in_switch
        if task.algorithm == BEST:
            candidates = [
                algorithm
                for algorithm in candidates
                if not (algorithm.in_switch or algorithm.is_pipelined)
                or (algorithm.is_pipelined and algorithm.name in network.algorithms)
                or (switch_reduction and switch_reduction.algorithm == algorithm.name)
            ]
        if in_switch is not None:
            candidates = [algorithm for algorithm in candidates if algorithm.in_switch == in_switch]
        return [
            activity_and_time
            for algorithm in candidates
            for activity_and_time in self._activities_by_protocol(
                algorithm, task, placement, messages_at_once
            )
        ]

    def _activities_by_protocol(
        self,
        algorithm: CollectiveAlgorithm,
        task: Collective,
        placement: str,
        messages_at_once: Expr | None,
    ) -> list[TimedActivity]:
        """List the activities of an algorithm with their times: for a ring, one for each protocol
        of the library; for other algorithms, a single one.
        """
        protocols = self._network_at(placement).ring_protocols if algorithm.name == RING else ()
        if not protocols:
            return [self._algorithm_activity(algorithm, task, placement, messages_at_once)]
        return [
            self._with_step_prefix(protocol.name)._ring_by_protocol(
                protocol, algorithm, task, placement, messages_at_once
            )
            for protocol in protocols
        ]

    def _ring_by_protocol(
        self,
        protocol: RingProtocol,
        algorithm: CollectiveAlgorithm,
        task: Collective,
        placement: str,
        messages_at_once: Expr | None,
    ) -> TimedActivity:
        """Return a ring by one of the protocols of its library.

        Source: the model of NCCL's own choice, github.com/NVIDIA/nccl, src/graph/tuning.cc, 2026: a
        protocol has a base latency, one of each step, and a rate. It errs as the study collectives
        shows.
        """
        network = self._network_at(placement)
        per_byte = network.wire_per_byte / protocol.share
        if protocol.most is not None:
            per_byte = maximum(per_byte, 1 / protocol.most)
        protocol_operations = self._operations_on(
            network._replace(wire_per_byte=per_byte), placement
        )
        activity, time = protocol_operations._algorithm_activity(
            algorithm, task, placement, messages_at_once
        )
        round_count, _, _ = algorithm.figures(task.ranks, task.size)
        round_count = as_expr(round_count)
        added_time = protocol.start * minimum(1, round_count) + protocol.step * round_count
        added_delay = self._delay_step("added", added_time, "software")
        return TimedActivity(added_delay >> activity, time + added_delay.time)

    def _operations_on(self, network: Network, placement: str) -> MachineOperations:
        """Return the operations of the same machine with another network in the place of the one
        between nodes or inside them.
        """
        machine, node = self.machine, self.machine.node
        if placement != "node":
            return replace(self, machine=machine._replace(network=network))
        assert node is not None
        return replace(self, machine=machine._replace(node=node._replace(network=network)))

    def _algorithm_activity(
        self,
        algorithm: CollectiveAlgorithm,
        task: Collective,
        placement: str,
        messages_at_once: Expr | None,
    ) -> TimedActivity:
        """Return an algorithm as an activity with its time."""
        prefixed_operations = self._with_step_prefix(algorithm.name)
        round_count, moved_bytes, combined_bytes = algorithm.figures(task.ranks, task.size)
        round_count = as_expr(round_count)
        if algorithm.in_switch:
            return prefixed_operations._switch_activity(
                algorithm, round_count, moved_bytes, placement
            )
        if placement == "node" and self._network_at(placement).medium == "shared":
            messages_at_once = task.ranks  # through the memory of the node, all at the same time
        # The maximum avoids a division by 0: one rank alone has no rounds.
        message_steps = prefixed_operations._message_steps(
            moved_bytes / maximum(round_count, 1), placement, messages_at_once
        )
        operation_activity = repeat(round_count, then(*message_steps))
        time = round_count * total((step.time for step in message_steps), TIME)
        if task.combine is None or not algorithm.combines:
            return TimedActivity(operation_activity, time)
        reduction = prefixed_operations._delay_step(
            "combine", combined_bytes * task.combine, "application"
        )
        return TimedActivity(operation_activity >> reduction, time + reduction.time)

    def _switch_activity(
        self, algorithm: CollectiveAlgorithm, rounds: Expr, byte_count: Expr, placement: str
    ) -> TimedActivity:
        """Return an operation that switches execute: messages without bytes, then the bytes at the
        rate of the reduction.
        """
        switch_reduction = self._network_at(placement).in_switch
        if switch_reduction is None or switch_reduction.algorithm != algorithm.name:
            network_path = "machine.node.network" if placement == "node" else "machine.network"
            raise ModelError(
                f"{algorithm.name} needs switches that compute; give {network_path}.in_switch:"
                f" {{algorithm: {algorithm.name}, per_byte: RATE}}"
            )
        # Latency of each round with an empty message; bytes move at the rate at which switches add.
        message_steps = self._message_steps(0 * byte_count, placement)
        start_delay = self._delay_step("start", switch_reduction.start, "software")
        transfer_delay = self._delay_step("moved", byte_count * switch_reduction.per_byte, "wire")
        operation_activity = start_delay >> repeat(rounds, then(*message_steps)) >> transfer_delay
        time = rounds * total((step.time for step in message_steps), TIME)
        return TimedActivity(operation_activity, start_delay.time + time + transfer_delay.time)

    def _network_at(self, placement: str) -> Network:
        """Return the network between nodes, or the network inside a node; raise if the machine has
        no nodes.
        """
        if placement != "node":
            return self.machine.network
        if self.machine.node is None:
            raise ModelError(
                f"{self.name} is within a node, which this machine does not have; give machine.node"
            )
        return self.machine.node.network

    def _message_steps(
        self, size: Expr, placement: str, messages_at_once: Expr | None = None
    ) -> list[Step]:
        """Return the steps of a message; `messages_at_once` is the number of messages that cross
        each adapter at the same time.
        """
        network = self._network_at(placement)
        switches = Number(1.0) if placement == "switch" else network.switches
        adapter_latency, switch_latency = hardware_latency(network, 1, switches)
        # Both ends pay for software, and only software goes with the speed of the processors.
        software_steps = [
            ("protocol", 2 * protocol_time(network, size) / self.machine.speed, "protocol")
        ]
        if self.machine.call is not None:
            software_steps.append(("call", 2 * self.machine.call / self.machine.speed, "system"))
        hardware_steps = [
            ("adapter", adapter_latency, "adapter"),
            ("switch", switch_latency, "switch"),
        ]
        return [
            *(self._delay_step(*software_step) for software_step in software_steps),
            self._wire_step(network, size, messages_at_once),
            *(self._delay_step(*hardware_step) for hardware_step in hardware_steps),
        ]

    def _wire_step(self, network: Network, size: Expr, messages_at_once: Expr | None) -> Step:
        """Return the step of a message on the wire, where messages queue if they share the
        medium.
        """
        wire_seconds = wire_time(network, size)
        if messages_at_once is not None:
            # Messages that cross an adapter together share its bandwidth equally.
            wire_seconds = messages_at_once * wire_seconds
        is_inside_node = self.machine.node is not None and network is self.machine.node.network
        # Inside a node where the number sharing is known, the factor above stands for the queue at
        # the medium.
        if network.medium == "shared" and not (is_inside_node and messages_at_once is not None):
            return service(
                "wire",
                wire_seconds,
                name=f"{self.name}.wire",
                component=self.component,
                technology=self.technology or "wire",
            )
        return self._delay_step("wire", wire_seconds, "wire")

    def _delay_step(self, name: str, seconds: Expr, technology: str) -> Step:
        """Return a delay whose name is prefixed with the name of the operation."""
        return self._named_step(f"{self.name}.{name}", seconds, technology)

    def _named_step(self, name: str, seconds: Expr, technology: str) -> Step:
        """Return a delay of the operation's component; the given technology class is used if the
        operations have none of their own.
        """
        technology = self.technology or technology
        return delay(seconds, name=name, component=self.component, technology=technology)

    def _require_given(self, value: Expr | None, path: str) -> Expr:
        """Return a quantity of the machine; raise if the machine does not give it."""
        if value is None:
            *keys, last_key = path.removeprefix("machine.").split(".")
            example_text = f"{{{': {'.join([*keys, last_key])}: ...{'}' * (len(keys) + 1)}"
            raise ModelError(
                f"{self.name} needs {path}, which this machine does not give; add it, as in"
                f" machine: {{extends: NAME, {example_text[1:]}"
            )
        return value


def _messages_of_adapter(node: Node, ranks: Expr) -> Expr:
    """Return the mean number of messages that cross each adapter of a node in a round.

    Ranks are paired in no order of nodes, so a rank has its partner among the (p - g) ranks of
    other nodes with the probability (p - g) / (p - 1); of the g ranks of a node, which share its
    adapters, as many messages leave it. Of an all-to-all that is exact over all rounds.
    """
    outside_probability = maximum(0, ranks - node.processors) / maximum(1, ranks - 1)
    return node.processors * outside_probability / minimum(node.processors, node.adapters)


def _messages_inside(node: Node) -> Expr | None:
    """Return the number of messages that share the memory of a node in a round; None if messages do
    not share it.
    """
    return node.processors if node.network.medium == "shared" else None


def _algorithms_of(operation: str) -> list[CollectiveAlgorithm]:
    """List the known algorithms of a collective operation."""
    return [algorithm for algorithm in ALGORITHMS if algorithm.operation == operation]


def _fastest_activity(candidates: list[TimedActivity]) -> TimedActivity:
    """Return the fastest of several activities, as a choice with the probabilities 0 and 1; of
    equally fast ones, the first.
    """
    if len(candidates) == 1:
        return candidates[0]
    # The fastest may change with the parameters of a sweep, so the choice stays an expression.
    choose_options = []
    for index, (activity, time) in enumerate(candidates):
        beats_earlier = [
            select(earlier_candidate.time, time, 0, 1) for earlier_candidate in candidates[:index]
        ]
        beats_later = [
            select(time, later_candidate.time, 1, 0) for later_candidate in candidates[index + 1 :]
        ]
        is_fastest: Expr = Number(1.0)
        for is_better in (*beats_earlier, *beats_later):
            is_fastest = is_fastest * is_better
        choose_options.append((is_fastest, activity))
    return TimedActivity(
        choose(*choose_options), minimum(*(candidate.time for candidate in candidates))
    )


def _longer_of_two(first_activity: TimedActivity, second_activity: TimedActivity) -> TimedActivity:
    """Return the longer of two overlapping activities; the shorter one adds no time."""
    first_is_shorter = select(first_activity.time, second_activity.time, 1, 0)
    return TimedActivity(
        choose(
            (first_is_shorter, second_activity.activity),
            (1 - first_is_shorter, first_activity.activity),
        ),
        maximum(first_activity.time, second_activity.time),
    )


def protocol_time(network: Network, size: Expr) -> Expr:
    """Return the protocol software time of a message at one side, by the range of its size [s]."""
    largest_range, *shorter_ranges = reversed(network.ranges)
    # From the largest range down, each choice encloses the next: the first range that holds the
    # size decides.
    time_of_message = _protocol_time_in_range(network, size, largest_range.total)
    for message_range in shorter_ranges:
        assert message_range.up_to is not None
        time_of_message = select(
            size + network.protocol_added,
            message_range.up_to,
            _protocol_time_in_range(network, size, message_range.total),
            time_of_message,
        )
    return time_of_message


def _protocol_time_in_range(network: Network, size: Expr, linear_cost: LinearCost) -> Expr:
    """Return the protocol time of a message by the linear cost of one range of sizes [s]."""
    protocol_time_of_message = PROTOCOL_TIME(
        fixed=linear_cost.fixed,
        per_byte=linear_cost.per_byte,
        size=size,
        added=network.protocol_added,
    )
    assert isinstance(protocol_time_of_message, Expr)
    return protocol_time_of_message


def wire_time(network: Network, size: Expr) -> Expr:
    """Return the time of a message on the wire [s]."""
    time_on_wire = WIRE_TIME(per_byte=network.wire_per_byte, size=size, added=network.wire_added)
    assert isinstance(time_on_wire, Expr)
    return time_on_wire


def hardware_latency(
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
    message_count = as_expr(messages)
    switch_count = network.switches if switches is None else switches
    adapter_latency = ADAPTER_LATENCY(messages=message_count, adapter=network.adapter)
    switch_latency = SWITCH_LATENCY(
        messages=message_count, switch=network.switch, switches=switch_count
    )
    assert isinstance(adapter_latency, Expr)
    assert isinstance(switch_latency, Expr)
    return adapter_latency, switch_latency
