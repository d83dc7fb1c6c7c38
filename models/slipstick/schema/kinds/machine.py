"""Machines on a network, and networks: the formats, and how a file is read as a machine."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from slipstick.expression.nodes import BYTES, TIME, TIME_PER_BYTE, Dimension, Parameter
from slipstick.law.collectives import ALGORITHMS, LIBRARIES
from slipstick.model import machine as hardware
from slipstick.schema.kinds.constraints import Name, Note, broken_rule, one_of
from slipstick.schema.kinds.quantity import (
    ONE,
    ByteRate,
    Bytes,
    Count,
    Described,
    Given,
    Part,
    PerByte,
    ProcessorKind,
    Rate,
    Spec,
    Speed,
    Time,
    Whole,
    Year,
    part_of,
)
from slipstick.vocabulary import FLAT, LEVELS

ALGORITHM_NAMES = tuple(dict.fromkeys(algorithm.name for algorithm in ALGORITHMS))
IN_SWITCH = tuple(algorithm.name for algorithm in ALGORITHMS if algorithm.in_switch)

_NO_TIME = Given(0.0, TIME, "0 s")
_NO_BYTES = Given(0.0, BYTES, "0 B")
_FREE_BYTE = Given(0.0, TIME_PER_BYTE, "0 s/B")


class LineSpec(Spec):
    """A cost that is linear in the message size that the protocol sees."""

    fixed: Time = Field(description="cost of any message in this range of sizes")
    per_byte: PerByte = Field(_FREE_BYTE, description="cost of one more byte")


class RangeSpec(Spec):
    """Cost of the protocol for messages in one range of sizes."""

    up_to: Bytes | None = Field(
        None, description="largest size the protocol sees in this range; left out in the last"
    )
    total: LineSpec = Field(
        description="protocol software time at the sender, and again at the receiver"
    )
    call: LineSpec | None = Field(
        None, description="the part of it inside the system call, as a microbenchmark sees it"
    )


class ProtocolSpec(Spec):
    """Time of the protocol software, piecewise linear in the message size."""

    added: Bytes = Field(_NO_BYTES, description="bytes that the protocol sees beyond the message")
    ranges: dict[Name, RangeSpec] = Field(
        description="ranges of sizes by name, ascending", min_length=1
    )

    def check_rules(self) -> None:
        *earlier_ranges, last_range = self.ranges.items()
        if last_range[1].up_to is not None:
            raise broken_rule(
                f"the last range, {last_range[0]}, must have no up_to",
                "ranges",
                last_range[0],
                "up_to",
            )
        previous_limit = -1.0
        for name, protocol_range in earlier_ranges:
            if protocol_range.up_to is None or not protocol_range.up_to.value > previous_limit:
                message = f"range {name} needs an up_to above that of the range before it"
                raise broken_rule(message, "ranges", name, "up_to")
            previous_limit = protocol_range.up_to.value


class WireSpec(Spec):
    """Time on the wire."""

    per_byte: PerByte = Field(
        description="time of a byte on the wire, or its rate, as 25 GB/s or 200 Gbit/s"
    )
    added: Bytes = Field(_NO_BYTES, description="bytes that headers and framing add on the wire")


class SwitchReductionSpec(Spec):
    """A reduction that the switches of the network do."""

    algorithm: Annotated[str, one_of(IN_SWITCH)] = Field(
        description=(
            "how: in-switch, each rank reads the sum of its part and writes it to all; switch-tree,"
            " each rank sends its vector up a tree of switches and gets the sum"
        )
    )
    start: Time = Field(_NO_TIME, description="time of the operation without its bytes")
    per_byte: PerByte = Field(
        description="time of a byte that a rank sends or receives meanwhile, or its rate"
    )


class RingProtocolSpec(Spec):
    """A protocol that a library may take for the messages of a ring."""

    share: Part = Field(ONE, description="part of the rate of the wire that it reaches")
    most: ByteRate | None = Field(None, description="rate above which it moves no bytes")
    start: Time = Field(_NO_TIME, description="time that it adds to the start of an operation")
    step: Time = Field(_NO_TIME, description="time that it adds to each step of the ring")

    def check_rules(self) -> None:
        if not self.share.value > 0:
            raise broken_rule("a protocol that moves bytes reaches more than 0", "share")


class NetworkSpec(Described):
    """A network between processors: the costs of its messages."""

    network: Literal[1] = Field(1, description="version of this format")
    protocol: ProtocolSpec = Field(
        description="protocol software time, piecewise in the message size"
    )
    wire: WireSpec = Field(description="time on the wire")
    adapter: Time = Field(
        _NO_TIME, description="latency of each of the two adapters that a message crosses"
    )
    switch: Time = Field(_NO_TIME, description="latency of a switch")
    switches: Count = Field(ONE, description="switches between two processors")
    medium: Literal["shared", "switched", "none"] = Field(
        "switched",
        description=(
            "where messages contend: one medium for all, each processor's own link, nowhere"
        ),
    )
    algorithms: list[Annotated[str, one_of(ALGORITHM_NAMES)]] = Field(
        [],
        description=(
            "algorithms of collective operations that its library has; of an operation without one"
            " of them, and by default, all that are known"
        ),
    )
    in_switch: SwitchReductionSpec | None = Field(
        None, description="how its switches add up what ranks send, if they do"
    )
    ring_protocols: dict[Name, RingProtocolSpec] = Field(
        {},
        description=(
            "protocols by name, of which the library takes the quickest for a ring and its size"
        ),
    )

    def build(
        self, name: str, parameter_by_path: Mapping[str, Parameter], prefix: str
    ) -> hardware.Network:
        """Build the network of a checked file, called by its title.

        Parameters
        ----------
        name : of the file
        parameter_by_path : every quantity of the file, by its path under `prefix`
        prefix : the path of the file's quantities, such as ``machine``
        """
        ranges = []
        for range_name, protocol_range in self.protocol.ranges.items():
            path = f"{prefix}.protocol.ranges.{range_name}"
            total_cost = part_of(
                hardware.LinearCost, protocol_range.total, parameter_by_path, f"{path}.total"
            )
            ranges.append(
                part_of(
                    hardware.SizeRange,
                    protocol_range,
                    parameter_by_path,
                    path,
                    name=range_name,
                    total=total_cost,
                )
            )
        protocol_added = parameter_by_path[f"{prefix}.protocol.added"]
        wire_path = f"{prefix}.wire"
        reduction = self.in_switch and part_of(
            hardware.SwitchReduction, self.in_switch, parameter_by_path, f"{prefix}.in_switch"
        )
        ring_protocols = tuple(
            part_of(
                hardware.RingProtocol,
                protocol,
                parameter_by_path,
                f"{prefix}.ring_protocols.{protocol_name}",
                name=protocol_name,
            )
            for protocol_name, protocol in self.ring_protocols.items()
        )
        wire_parameters = {
            "wire_per_byte": parameter_by_path[f"{wire_path}.per_byte"],
            "wire_added": parameter_by_path[f"{wire_path}.added"],
        }
        return part_of(
            hardware.Network,
            self,
            parameter_by_path,
            prefix,
            name=self.title,
            ranges=tuple(ranges),
            protocol_added=protocol_added,
            algorithms=tuple(self.algorithms),
            in_switch=reduction,
            ring_protocols=ring_protocols,
            **wire_parameters,
        )


class ProcessorsSpec(Spec):
    """The processors of a machine."""

    count: Whole = Field(description="how many there are")
    speed: Speed = Field(
        ONE, description="speed of each, relative to the machine that the costs were measured on"
    )
    flops: Rate | None = Field(
        None,
        description=(
            "floating-point operations that a processor sustains in a second, as 19.5e12 /s"
        ),
    )
    kind: ProcessorKind | None = Field(
        None,
        description=(
            "what a processor is, for trends: a core, which is the default, a socket, or a GPU by"
            " its format of numbers"
        ),
    )
    units: Whole | None = Field(
        None,
        description="parts of a processor that compute at once, such as multiprocessors of a GPU",
    )


class MemoryDomainSpec(Spec):
    """Processors that share the bandwidth of one memory, as those of a socket do."""

    processors: Whole = Field(
        description="processors of one domain; a program fills one after the other"
    )
    bandwidth: ByteRate = Field(description="bytes a second between all of them and the memory")


class MemorySpec(Spec):
    """The memory of each processor."""

    page: Bytes | None = Field(None, description="size of a page")
    bandwidth: ByteRate | None = Field(
        None, description="bytes a second between a processor and its memory; alone, with a domain"
    )
    latency: Time | None = Field(None, description="one access that needs the one before")
    capacity: Bytes | None = Field(
        None, description="bytes of memory of a processor; `requires` of a model compares with it"
    )
    domain: MemoryDomainSpec | None = Field(
        None, description="processors that share the bandwidth of one memory"
    )


class SystemSpec(Spec):
    """Costs of the operating system."""

    signal: Time | None = Field(None, description="cost of delivering a signal")
    call: Time | None = Field(
        None, description="system call of a send or a receive, beside protocol time"
    )


class DvsmSpec(Spec):
    """Costs of the software of a distributed virtual shared memory, in addition to protocol
    time.
    """

    send_call: Time = Field(
        description="extra system-call time of a send at the faulting processor"
    )
    receive_call: Time = Field(
        description="extra system-call time of a receive at the faulting processor"
    )
    serve_call: Time = Field(description="extra system-call time of serving a request for diffs")
    receive_byte: PerByte = Field(description="extra system-call time of a byte received")
    part: Time = Field(description="fault handler computing for each processor asked")
    apply: PerByte = Field(description="fault handler computing for a byte of diffs")
    serve: Time = Field(description="handler computing for a request for diffs")
    page_call: Time = Field(
        description="extra system-call time of all sends and receives of an empty fault"
    )
    page_serve: Time = Field(description="handler computing for a request for a page")
    lock_call: Time = Field(
        description="extra system-call time of each message that an acquisition waits for"
    )
    lock_compute: Time = Field(description="computing of a lock acquisition at the asker")
    lock_serve: Time = Field(description="handler computing for a request for a lock")
    serve_delay: Time = Field(
        description="from the arrival of a request for diffs that comes alone to its processing"
    )
    serve_delay_more: Time = Field(
        _NO_TIME,
        description=(
            "what each further request of the same fault adds to that delay, since the replies and"
            " requests of all meet; 0 where the method predicts the waiting"
        ),
    )
    page_delay: Time = Field(
        description="from the arrival of a request for a page to its processing"
    )
    lock_delay: Time = Field(
        description="from the arrival of a request for a lock to its processing"
    )
    byte: PerByte = Field(
        description="copying a byte of a page for its twin, or comparing it with it"
    )
    notice: Time = Field(description="making or merging a write notice")
    protect: Time = Field(
        description="changing the protection of a page: to invalidate it, or at a write fault"
    )


def _allow_network_name(schema: dict[str, Any]) -> None:
    """Change a JSON Schema so that editors accept the name of a network in place of a network."""
    network_schema = {key: schema.pop(key) for key in list(schema) if key in ("$ref", "allOf")}
    schema["anyOf"] = [{"type": "string"}, network_schema]


class NodeSpec(Spec):
    """One node: processors that share a network of their own."""

    processors: Whole = Field(description="processors of one node")
    adapters: Whole = Field(
        ONE,
        description=(
            "adapters that join the node to the network; its processors share them; 1 by default"
        ),
    )
    network: NetworkSpec = Field(
        description="the network between them: its name in the catalogue, a file, or in place",
        json_schema_extra=_allow_network_name,
    )
    collectives: Annotated[str, one_of((FLAT, LEVELS, *LIBRARIES))] | None = Field(
        None,
        description=(
            "what the library of collective operations knows of nodes: flat, nothing, ranks are"
            " paired in no order of nodes; levels, it works inside nodes and between them at the"
            " same time; open-mpi or mpich, the algorithms that this library takes for the size,"
            " with ranks that fill one node after the other; by default levels where each processor"
            " has an adapter, else flat"
        ),
    )
    block: Time | None = Field(
        None,
        description=(
            "software for each block that a rank gathers from places apart, sends and takes apart,"
            " half as many as ranks in each round of bruck's all-to-all, by the algorithms of a"
            " library"
        ),
    )


class MachineSpec(Described):
    """Processors on a network. Quantities that no model needs may be left out."""

    machine: Literal[1] = Field(1, description="version of this format")
    year: Year | None = Field(None, description="year in which such a machine came, for trends")
    processors: ProcessorsSpec = Field(description="the processors")
    memory: MemorySpec = Field(MemorySpec(), description="the memory")
    system: SystemSpec = Field(SystemSpec(), description="the operating system")
    network: NetworkSpec = Field(
        description="the network between them: its name in the catalogue, a file, or in place",
        json_schema_extra=_allow_network_name,
    )
    node: NodeSpec | None = Field(
        None, description="the processors of one node, if another network joins them"
    )
    dvsm: DvsmSpec | None = Field(
        None, description="software of a distributed virtual shared memory, for programs on one"
    )

    left_out: dict[Name, Note] = Field(
        {},
        description=(
            "what an import left out or changed, by name, and what that changes; every answer of a"
            " model on the machine repeats it, and none is exact"
        ),
    )

    def build(
        self, name: str, parameter_by_path: Mapping[str, Parameter], prefix: str
    ) -> hardware.Machine:
        """Build the machine of a checked file.

        Parameters
        ----------
        name : of the machine
        parameter_by_path : every quantity of the file, by its path under `prefix`
        prefix : the path of the file's quantities, such as ``machine``
        """

        def parameter_at(path: str, dimension: Dimension) -> Parameter:
            # What is left out has no value; a model that asks for it is refused when it is built.
            return parameter_by_path.get(f"{prefix}.{path}") or Parameter(
                f"{prefix}.{path}", dimension
            )

        node = None
        if self.node is not None:
            node_path = f"{prefix}.node"
            node = hardware.Node(
                parameter_by_path[f"{node_path}.processors"],
                parameter_by_path[f"{node_path}.adapters"],
                self.node.network.build("", parameter_by_path, f"{node_path}.network"),
                self.node.collectives or "",
                parameter_by_path.get(f"{node_path}.block"),
            )
        domain_spec = self.memory.domain
        domain = None
        if domain_spec is not None:
            domain = part_of(
                hardware.MemoryDomain, domain_spec, parameter_by_path, f"{prefix}.memory.domain"
            )
        return hardware.Machine(
            name=name or self.title,
            processors=parameter_by_path[f"{prefix}.processors.count"],
            speed=parameter_by_path[f"{prefix}.processors.speed"],
            page=parameter_at("memory.page", BYTES),
            signal=parameter_at("system.signal", TIME),
            network=self.network.build("", parameter_by_path, f"{prefix}.network"),
            dvsm=part_of(hardware.Dvsm, self.dvsm, parameter_by_path, f"{prefix}.dvsm")
            if self.dvsm
            else None,
            node=node,
            flops=parameter_by_path.get(f"{prefix}.processors.flops"),
            bandwidth=parameter_by_path.get(f"{prefix}.memory.bandwidth"),
            latency=parameter_by_path.get(f"{prefix}.memory.latency"),
            domain=domain,
            call=parameter_by_path.get(f"{prefix}.system.call"),
            left_out=tuple(self.left_out.items()),
        )
