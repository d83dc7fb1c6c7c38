"""Machines on a network, and networks: the formats, and how a file is read as a machine."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning
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
    Fraction,
    Given,
    PerByte,
    ProcessorKind,
    Rate,
    Spec,
    Speed,
    Time,
    Whole,
    Year,
    build_part,
)
from slipstick.vocabulary import FLAT, LEVELS

ALGORITHM_NAMES = tuple(dict.fromkeys(algorithm.name for algorithm in ALGORITHMS))
IN_SWITCH = tuple(algorithm.name for algorithm in ALGORITHMS if algorithm.in_switch)

_NO_TIME = Given(0.0, TIME, "0 s")
_NO_BYTES = Given(0.0, BYTES, "0 B")
_FREE_BYTE = Given(0.0, TIME_PER_BYTE, "0 s/B")


class LineSpec(Spec):
    """A cost that grows linearly with the size of the message."""

    fixed: Time = Field(description="cost of a message of any size in this range")
    per_byte: PerByte = Field(_FREE_BYTE, description="additional cost of each byte")


class RangeSpec(Spec):
    """Cost of the protocol for messages in one range of sizes."""

    up_to: Bytes | None = Field(
        None,
        description=KeyMeaning.of(
            "largest size in this range, including the added bytes", "missing in the last range"
        ),
    )
    total: LineSpec = Field(
        description=(
            "time of the protocol software at the sender; the receiver needs the same time again"
        )
    )
    call: LineSpec | None = Field(
        None,
        description=(
            "the part of this time inside the system call, which a microbenchmark measures"
        ),
    )


class ProtocolSpec(Spec):
    """Time of the protocol software: a linear function of the size in each range of sizes."""

    added: Bytes = Field(_NO_BYTES, description="bytes that the protocol adds to the message")
    ranges: dict[Name, RangeSpec] = Field(
        description="ranges of sizes by name, in ascending order", min_length=1
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
    """Time of a message on the wire: a time for each byte, and the bytes that headers add."""

    per_byte: PerByte = Field(
        description="time of one byte on the wire, or the rate, such as 25 GB/s or 200 Gbit/s"
    )
    added: Bytes = Field(_NO_BYTES, description="bytes that headers and framing add to a message")


class SwitchReductionSpec(Spec):
    """A reduction inside the switches of the network."""

    algorithm: Annotated[str, one_of(IN_SWITCH)] = Field(
        description=(
            "in-switch: each rank reads the sum of its part and writes the sum to all ranks;"
            " switch-tree: each rank sends its vector up a tree of switches and receives the sum"
        )
    )
    start: Time = Field(_NO_TIME, description="time of the operation without its bytes")
    per_byte: PerByte = Field(
        description="time for each byte that a rank sends or receives, or the corresponding rate"
    )


class RingProtocolSpec(Spec):
    """A protocol with which a library can send the messages of a ring."""

    share: Fraction = Field(
        ONE, description=("fraction of the rate of the wire that the protocol reaches")
    )
    most: ByteRate | None = Field(None, description="highest rate that the protocol reaches")
    start: Time = Field(
        _NO_TIME, description=("time that the protocol adds to the start of an operation")
    )
    step: Time = Field(_NO_TIME, description="time that the protocol adds to each step of the ring")

    def check_rules(self) -> None:
        if not self.share.value > 0:
            raise broken_rule("a protocol that moves bytes reaches more than 0", "share")


class NetworkSpec(Described):
    """A network between processors: the costs of its messages."""

    network: Literal[1] = Field(1, description="version of this format")
    protocol: ProtocolSpec = Field(
        description="time of the protocol software, by ranges of the message size"
    )
    wire: WireSpec = Field(description="time on the wire")
    adapter: Time = Field(
        _NO_TIME, description=KeyMeaning.of("latency of one adapter", "a message crosses two")
    )
    switch: Time = Field(_NO_TIME, description="latency of one switch")
    switches: Count = Field(ONE, description="number of switches between two processors")
    medium: Literal["shared", "switched", "none"] = Field(
        "switched",
        description=(
            "where messages wait for each other: shared: one medium for all; switched: the link of"
            " each processor; none: nowhere"
        ),
    )
    algorithms: list[Annotated[str, one_of(ALGORITHM_NAMES)]] = Field(
        [],
        description=(
            "algorithms that the library has for collective operations; by default, and for an"
            " operation of which none is listed, all known ones"
        ),
    )
    in_switch: SwitchReductionSpec | None = Field(
        None, description="a reduction inside the switches, if they can add up the data of ranks"
    )
    ring_protocols: dict[Name, RingProtocolSpec] = Field(
        {},
        description="protocols by name; for a ring, the library chooses the fastest for the size",
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
            total_cost = build_part(
                hardware.LinearCost, protocol_range.total, parameter_by_path, f"{path}.total"
            )
            ranges.append(
                build_part(
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
        reduction = self.in_switch and build_part(
            hardware.SwitchReduction, self.in_switch, parameter_by_path, f"{prefix}.in_switch"
        )
        ring_protocols = tuple(
            build_part(
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
        return build_part(
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

    count: Whole = Field(description="number of processors")
    speed: Speed = Field(
        ONE,
        description=(
            "speed of a processor, relative to the machine on which the costs were measured"
        ),
    )
    flops: Rate | None = Field(
        None,
        description=(
            "floating-point operations that a processor completes per second, such as 19.5e12 /s"
        ),
    )
    fp64: Rate | None = Field(
        None,
        description=(
            "most FP64 operations that a processor completes per second, for comparison only"
        ),
    )
    fp64_matrix: Rate | None = Field(
        None,
        description="most operations of FP64 matrix products that a processor completes per second",
    )
    kind: ProcessorKind | None = Field(
        None,
        description=(
            "kind of processor, which decides the trend that it follows: a core, a socket, or a GPU"
            " with its number format; core by default"
        ),
    )
    units: Whole | None = Field(
        None,
        description=(
            "number of units of a processor that compute at the same time, such as the"
            " multiprocessors of a GPU"
        ),
    )


class MemoryDomainSpec(Spec):
    """Processors that share the bandwidth of one memory, such as the cores of a socket."""

    processors: Whole = Field(
        description=KeyMeaning.of(
            "number of processors in a domain", "a program fills one domain after the other"
        )
    )
    bandwidth: ByteRate = Field(
        description=(
            "rate at which all processors of a domain together read and write their memory"
        )
    )


class MemorySpec(Spec):
    """The memory of each processor."""

    page: Bytes | None = Field(None, description="size of a page")
    bandwidth: ByteRate | None = Field(
        None,
        description=KeyMeaning.of(
            "rate at which one processor reads and writes memory",
            "with a domain, the rate of a processor that is alone in it",
        ),
    )
    latency: Time | None = Field(
        None, description=("time of one access that depends on the previous access")
    )
    capacity: Bytes | None = Field(
        None,
        description=KeyMeaning.of(
            "bytes of memory of a processor", "the key requires of a model can compare with it"
        ),
    )
    domain: MemoryDomainSpec | None = Field(
        None, description="processors that share the bandwidth of one memory"
    )


class SystemSpec(Spec):
    """Costs of the operating system."""

    signal: Time | None = Field(None, description="time to deliver a signal")
    call: Time | None = Field(
        None,
        description=(
            "time of the system call of a send or a receive, in addition to the protocol time"
        ),
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
    part: Time = Field(description="time of the fault handler for each processor that it asks")
    apply: PerByte = Field(description="time of the fault handler for each byte of diffs")
    serve: Time = Field(description="time of the handler that serves a request for diffs")
    page_call: Time = Field(
        description="extra system-call time of all sends and receives of a first miss of a page"
    )
    page_serve: Time = Field(description="time of the handler that serves a request for a page")
    lock_call: Time = Field(
        description="extra system-call time of each message for which an acquisition waits"
    )
    lock_compute: Time = Field(
        description=("computing time of a lock acquisition at the processor that asks")
    )
    lock_serve: Time = Field(description="time of the handler that serves a request for a lock")
    serve_delay: Time = Field(
        description="time from the arrival of a single request for diffs until the handler starts"
    )
    serve_delay_more: Time = Field(
        _NO_TIME,
        description=KeyMeaning.of(
            (
                "additional delay for each further request of the same fault, because "
                "requests and replies collide"
            ),
            "use 0 if the method predicts this waiting",
        ),
    )
    page_delay: Time = Field(
        description="time from the arrival of a request for a page until the handler starts"
    )
    lock_delay: Time = Field(
        description="time from the arrival of a request for a lock until the handler starts"
    )
    byte: PerByte = Field(
        description=(
            "time to copy one byte of a page to its twin, or to compare one byte with the twin"
        )
    )
    notice: Time = Field(description="time to make or to merge one write notice")
    protect: Time = Field(
        description="time to change the protection of a page, at an invalidation or a write fault"
    )


def _allow_network_name(schema: dict[str, Any]) -> None:
    """Change a JSON Schema so that editors accept the name of a network in place of a network."""
    network_schema = {key: schema.pop(key) for key in list(schema) if key in ("$ref", "allOf")}
    schema["anyOf"] = [{"type": "string"}, network_schema]


class NodeSpec(Spec):
    """A node: processors that are connected by a network inside the node."""

    processors: Whole = Field(description="number of processors in a node")
    adapters: Whole = Field(
        ONE,
        description=KeyMeaning.of(
            "number of adapters that join the node to the network",
            "its processors share them; 1 by default",
        ),
    )
    network: NetworkSpec = Field(
        description="network inside the node: a name in the catalogue, a file, or its keys",
        json_schema_extra=_allow_network_name,
    )
    collectives: Annotated[str, one_of((FLAT, LEVELS, *LIBRARIES))] | None = Field(
        None,
        description=(
            "how collective operations use nodes: flat: ranks are paired regardless of nodes;"
            " levels: inside nodes and between them at the same time; open-mpi or mpich: the"
            " algorithms of this library, with ranks that fill one node after the other. The"
            " default is levels if each processor has an adapter, else flat"
        ),
    )
    block: Time | None = Field(
        None,
        description=(
            "time of the software for each block that a rank gathers, sends and takes apart. In"
            " each round of bruck's all-to-all, the blocks are half as many as the ranks. Only for"
            " the algorithms of a library"
        ),
    )


class MachineSpec(Described):
    """Processors that a network connects. A quantity may be missing if no model needs it."""

    machine: Literal[1] = Field(1, description="version of this format")
    year: Year | None = Field(
        None, description=("year in which the machine appeared; projections start from it")
    )
    processors: ProcessorsSpec = Field(description="the processors of the machine")
    memory: MemorySpec = Field(MemorySpec(), description="the memory of each processor")
    system: SystemSpec = Field(SystemSpec(), description="costs of the operating system")
    network: NetworkSpec = Field(
        description="network between the processors: a name in the catalogue, a file, or its keys",
        json_schema_extra=_allow_network_name,
    )
    node: NodeSpec | None = Field(
        None, description="the processors of one node, if a second network joins them"
    )
    dvsm: DvsmSpec | None = Field(
        None, description="costs of a distributed virtual shared memory, for programs that use one"
    )

    left_out: dict[Name, Note] = Field(
        {},
        description=(
            "features that an import left out or changed, each with its effect; answers repeat them"
            " and are never exact"
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
            domain = build_part(
                hardware.MemoryDomain, domain_spec, parameter_by_path, f"{prefix}.memory.domain"
            )
        return hardware.Machine(
            name=name or self.title,
            processors=parameter_by_path[f"{prefix}.processors.count"],
            speed=parameter_by_path[f"{prefix}.processors.speed"],
            page=parameter_at("memory.page", BYTES),
            signal=parameter_at("system.signal", TIME),
            network=self.network.build("", parameter_by_path, f"{prefix}.network"),
            dvsm=build_part(hardware.Dvsm, self.dvsm, parameter_by_path, f"{prefix}.dvsm")
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
