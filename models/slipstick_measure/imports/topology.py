"""Machines from descriptions of one computer: XML of hwloc, what lstopo and likwid-topology print.

They tell cores, memory domains with their capacity, and adapters, and no rate: the new machine
extends one that has the rates, and keeps them. A processor is a core; the threads of a core share
it. The computer becomes the node of the machine that it extends, if that has nodes.

Formats: hwloc 1 and 2, the document type of its XML (hwloc2.dtd) and what lstopo prints, with and
without -v; LIKWID 5, likwid-topology, whose sizes of memory are in 2^20 B.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slipstick.late import dataclass, field, late_pattern
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library, spec_model
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.readers.elements import XmlElement, parse_xml, without_document_type
from slipstick_measure.readers.reading import Reading

_ADAPTER = late_pattern(r"(mlx\d_|hfi1_|cxi|hsn|bnxt_re|irdma|qedr|efa_|rdmap\d+s)\d+")
"""Names of adapters of the networks of clusters; others, as eth0, serve administration."""
_BINARY = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_MEMORY = ("NUMANode", "Node")
_MEMORY_OBJECTS = ("MemCache", *_MEMORY)


@dataclass
class ComputerPart:
    """A part of a computer, with the parts inside it.

    Parameters
    ----------
    kind : as hwloc calls it, such as Core, PU, NUMANode
    line : of the file
    name : of a device
    memory : of a memory [B]
    core_kind : of a core among unlike ones; nothing where all are alike
    is_allowed : whether programs may use it
    """

    kind: str
    line: int
    name: str = ""
    memory: float = 0.0
    core_kind: str = ""
    is_allowed: bool = True
    parts: list[ComputerPart] = field(default_factory=list)

    def descendants(self, *kinds: str) -> Iterator[ComputerPart]:
        """Yield the nested parts of given kinds, at any depth, in order."""
        pending_parts = self.parts[::-1]
        while pending_parts:
            part = pending_parts.pop()
            if part.kind in kinds:
                yield part
            pending_parts += part.parts[::-1]


class NearbyMemory(NamedTuple):
    """A memory with the cores that are nearest to it.

    Parameters
    ----------
    line : of the file
    key : a text that is the same for memories of the same cores
    core_count : number of these cores
    capacity : of the memory [B]
    """

    line: int
    key: str
    core_count: int
    capacity: float


@dataclass
class Topology:
    """The numbers of parts in a description of a computer.

    Parameters
    ----------
    core_count : cores that programs may use
    threads_of_cores : number of hardware threads of each core
    core_kind_count : how many kinds of cores there are
    domains : one for each memory
    adapter_count : adapters to a network of a cluster
    disallowed_count : cores that programs may not use
    line : of the first core
    """

    core_count: int
    threads_of_cores: Sequence[int]
    core_kind_count: int
    domains: Sequence[NearbyMemory]
    adapter_count: int
    disallowed_count: int
    line: int


def hwloc_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine with the cores, memories and adapters that a topology of hwloc in
    XML has.

    Raises
    ------
    SpecError : no core, or no machine to extend
    """
    input_file.text = without_document_type(input_file.text)
    root = parse_xml(input_file)
    computer = ComputerPart("", 1)
    kind_by_thread = {
        thread_number: str(kind_number)
        for kind_number, core_kind in enumerate(root.descendants("cpukind"))
        for thread_number in _threads_of_set(core_kind.get("cpuset"))
    }
    allowed_threads: set[int] | None = None
    parents_and_objects = [(computer, element) for element in reversed(_outermost_objects(root))]
    while parents_and_objects:
        parent_part, element = parents_and_objects.pop()
        if element.get("type") == "Machine" and "0xf...f" not in element.get("allowed_cpuset"):
            allowed_threads = set(_threads_of_set(element.get("allowed_cpuset"))) or None
        part = _xml_part(element, kind_by_thread, allowed_threads)
        parent_part.parts.append(part)
        inner_objects = [child for child in element.children if child.tag == "object"]
        parents_and_objects += [(part, child) for child in reversed(inner_objects)]
    return _machine_of_computer(
        input_file, base_machine, "hwloc", _count_parts(input_file, computer)
    )


def _outermost_objects(root: XmlElement) -> list[XmlElement]:
    """Return the outermost objects of a topology."""
    return [
        topology_object
        for topology in root.children
        for topology_object in topology.children
        if topology_object.tag == "object"
    ]


def _xml_part(
    element: XmlElement, kind_by_thread: Mapping[int, str], allowed_threads: set[int] | None
) -> ComputerPart:
    """Return the part of a computer that an object of XML describes, without the parts inside
    it.
    """
    memory_text = element.get("local_memory")
    thread_text = element.get("os_index")
    part = ComputerPart(element.get("type"), element.line, element.get("name"))
    part.memory = float(memory_text) if re.fullmatch("[0-9]{1,18}", memory_text) else 0.0
    if part.kind == "Core":
        kinds_of_threads = {
            kind_by_thread.get(thread, "") for thread in _threads_of_set(element.get("cpuset"))
        }
        part.core_kind = " ".join(sorted(kinds_of_threads))
    if part.kind == "PU" and allowed_threads is not None and thread_text.isdigit():
        part.is_allowed = int(thread_text) in allowed_threads
    return part


def _threads_of_set(cpuset: str) -> list[int]:
    """Return the numbers of the hardware threads in a set that is written as hexadecimal words of
    32 bits; empty for other texts.
    """
    mask_texts = cpuset.replace("0x", "").split(",")
    if (
        not all(re.fullmatch(r"[0-9a-fA-F]{0,8}", mask_text) for mask_text in mask_texts)
        or len(mask_texts) > 4096
    ):
        return []
    mask = int("".join(mask_text.rjust(8, "0") for mask_text in mask_texts) or "0", 16)
    return [thread_number for thread_number, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]


_LINE = late_pattern(r"(?P<indent> *+)(?P<rest>[A-Za-z0-9].*)")
_WHOLE_COMPUTER = ("Machine", "System")
LSTOPO_PART = late_pattern(
    r"^ *(?:Package|Socket|NUMANode|Group[0-9]?|Die|L3) L#[0-9]+\b", re.MULTILINE
)
"""A line of a part of a computer, as lstopo prints it."""
_PART_NAME = late_pattern(r"(?P<kind>[A-Za-z]+)[0-9]?[a-z]*")
_SIZE = late_pattern(r"(?:^|[ (])(?:local=)?(?P<number>[0-9]{1,12})(?P<prefix>[KMGT]?)i?B")
_LOCAL = late_pattern(r"local=(?P<number>[0-9]{1,12})(?P<prefix>[KMGT]?)i?B")
_DEVICE = late_pattern(r'"([^"]{1,100})"')


def lstopo_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine with the cores, memories and adapters that lstopo prints.

    Raises
    ------
    SpecError : no core, or no machine to extend
    """
    computer = ComputerPart("", 1)
    open_parts: list[tuple[int, ComputerPart]] = [(-1, computer)]
    first_match = _first_part(input_file)
    outermost_kind = first_match["rest"].split()[0]
    has_begun = False
    for line_number, text in enumerate(input_file.lines, 1):
        match = _LINE.fullmatch(text.rstrip())
        has_begun = has_begun or (match is not None and match[0] == first_match[0])
        if not has_begun:
            continue
        if match is None or (
            len(open_parts) > 1
            and len(match["indent"]) <= len(first_match["indent"])
            and (
                outermost_kind in _WHOLE_COMPUTER
                or not match["rest"].startswith(f"{outermost_kind} L#")
            )
        ):
            break  # a summary by depths stands below
        indent = len(match["indent"])
        while open_parts[-1][0] >= indent:
            open_parts.pop()
        for index, part_text in enumerate(match["rest"].split(" + ")):
            part = _printed_part(part_text, line_number)
            open_parts[-1][1].parts.append(part)
            # Parts that share a line are inside one another, at the same indentation.
            open_parts.append((indent if index == 0 else indent + 1, part))
    return _machine_of_computer(
        input_file, base_machine, "lstopo", _count_parts(input_file, computer)
    )


def _first_part(input_file: Reading) -> re.Match[str]:
    """Return the match of the line of the whole computer. If that line is missing, return the match
    of the first part's line, which must be the first of its kind.
    """
    line_matches = [match for text in input_file.lines if (match := _LINE.fullmatch(text.rstrip()))]
    whole_match = next(
        (
            line_match
            for line_match in line_matches
            if line_match["rest"].startswith(_WHOLE_COMPUTER)
        ),
        None,
    )
    if whole_match:
        return whole_match
    first_match = next(
        (line_match for line_match in line_matches if LSTOPO_PART.match(line_match[0])), None
    )
    if first_match is None or re.search(r"\b(?!PU)[A-Za-z0-9]+ L#(?!0\b)", first_match[0]):
        message = "the line that begins with Machine and parts below it are missing; give all that"
        input_file.refuse(1, "", f"{message} lstopo prints")
    input_file.add_note(
        1,
        "",
        "the line that begins with Machine is missing; the following lines are read as the whole",
    )
    return first_match


def _printed_part(part_text: str, line: int) -> ComputerPart:
    """Return the part of a computer that a text of lstopo names, such as Core L#0 (P#1)."""
    part_name = part_text.split("(")[0].split(" L#")[0].strip()
    name_match = _PART_NAME.match(part_name)
    kind = name_match["kind"] if name_match else part_name
    size_match = _LOCAL.search(part_text) or _SIZE.search(part_text)
    device_match = _DEVICE.search(part_text)
    part = ComputerPart(
        "Package" if kind == "Socket" else kind, line, device_match[1] if device_match else ""
    )
    if kind in (*_MEMORY, *_WHOLE_COMPUTER) and size_match:
        part.memory = float(size_match["number"]) * 1024.0 ** _BINARY[size_match["prefix"]]
    if kind == "Core" and (kind_match := re.search(r"cpukind=([0-9]+)", part_text)):
        part.core_kind = kind_match[1]
    part.is_allowed = "(disallowed)" not in part_text
    return part


def _count_parts(input_file: Reading, computer: ComputerPart) -> Topology:
    """Count the cores, threads, memories and adapters in the tree of a computer."""
    cores = list[ComputerPart]()
    disallowed_count = 0
    for core in computer.descendants("Core"):
        hardware_threads = list(core.descendants("PU"))
        if any(thread.is_allowed for thread in hardware_threads) or not hardware_threads:
            cores.append(core)
        else:
            disallowed_count += 1
    cores = cores or [thread for thread in computer.descendants("PU") if thread.is_allowed]
    if not cores:
        input_file.refuse(1, "", "there is no core in it; is the file cut off?")
    domains = _nearby_memories(computer, cores)
    whole_computers = [
        part for part in computer.parts if part.kind in _WHOLE_COMPUTER and part.memory
    ]
    if not domains and whole_computers:  # hwloc 1, of one memory
        domains.append(
            NearbyMemory(whole_computers[0].line, "0", len(cores), whole_computers[0].memory)
        )
    threads_of_cores = [
        sum(thread.is_allowed for thread in core.descendants("PU")) or 1 for core in cores
    ]
    kinds_of_cores = {
        (core.core_kind, thread_count)
        for core, thread_count in zip(cores, threads_of_cores, strict=True)
    }
    adapter_counts = Counter(
        match[1] for device in computer.descendants("OSDev", "OpenFabrics", "Net", "Network")
        if (match := _ADAPTER.fullmatch(device.name))
    )  # fmt: skip
    adapter_count = max(adapter_counts.values(), default=0)
    return Topology(
        len(cores),
        threads_of_cores,
        len(kinds_of_cores),
        domains,
        adapter_count,
        disallowed_count,
        cores[0].line,
    )


def _nearby_memories(computer: ComputerPart, cores: Sequence[ComputerPart]) -> list[NearbyMemory]:
    """Return the memories of a computer, each with the number of the cores nearest to it: those
    below it (hwloc 1), or else those below the part that holds it (hwloc 2).
    """
    core_ids = {id(core) for core in cores}
    nearby_memories = list[NearbyMemory]()
    unvisited_parts = [computer]
    while unvisited_parts:
        holder = unvisited_parts.pop()
        for part in holder.parts:
            holder_of_cores = (
                part
                if part.kind in _MEMORY_OBJECTS and any(part.descendants("Core", "PU"))
                else holder
            )
            memories = [part] if part.kind in _MEMORY else []
            memories += part.descendants(*_MEMORY) if part.kind == "MemCache" else []
            nearby_core_ids = [
                id(core)
                for core in holder_of_cores.descendants("Core", "PU")
                if id(core) in core_ids
            ]
            for memory in memories:
                cores_key = f"{min(nearby_core_ids, default=0)}-{len(nearby_core_ids)}"
                nearby_memories.append(
                    NearbyMemory(memory.line, cores_key, len(nearby_core_ids), memory.memory)
                )
        unvisited_parts += [part for part in reversed(holder.parts) if part.kind != "MemCache"]
    return nearby_memories


_COUNT = late_pattern(r"(Sockets|CPU dies|Cores per socket|Threads per core|NUMA domains):\s+(\d+)")
_THREAD_ROW = late_pattern(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(?:\d+\s+)?(\d+)\s*(\*?)\s*")
_MEMBERS = late_pattern(r"Processors:\s*\(([\s0-9]*)\)\s*")
_TOTAL = late_pattern(r"Total memory:\s+([0-9.]+) MB\s*")


def likwid_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine with the cores and memories that likwid-topology prints.

    Raises
    ------
    SpecError : no core, or no machine to extend
    """
    core_by_thread: dict[str, tuple[str, str]] = {}
    thread_count_by_core: Counter[tuple[str, str]] = Counter()
    domains: list[NearbyMemory] = []
    cores_of_domain: set[tuple[str, str]] = set()
    first_line = 1
    for line_number, text in enumerate(input_file.lines, 1):
        if row_match := _THREAD_ROW.fullmatch(text):
            first_line = first_line if core_by_thread else line_number
            core_by_thread[row_match[1]] = row_match[4], row_match[3]
            thread_count_by_core[core_by_thread[row_match[1]]] += bool(row_match[5])
        elif members_match := _MEMBERS.fullmatch(text):
            cores_of_domain = {
                core_by_thread[thread]
                for thread in members_match[1].split()
                if thread in core_by_thread
            }
        elif total_match := _TOTAL.fullmatch(text):
            memory_mebibytes = input_file.number(line_number, "total memory", total_match[1])
            nearby_cores = sorted(core for core in cores_of_domain if thread_count_by_core[core])
            name = " ".join(nearby_cores[0]) if nearby_cores else ""
            domains.append(
                NearbyMemory(
                    line_number,
                    f"{name}-{len(nearby_cores)}",
                    len(nearby_cores),
                    (memory_mebibytes or 0.0) * 1024.0**2,
                )
            )
    if input_file.problems:
        input_file.finished()
    cores = [core for core, count in thread_count_by_core.items() if count]
    if not cores:
        message = (
            "there is no row of a hardware thread in it; likwid-topology prints them without -c"
        )
        input_file.refuse(1, "", message)
    threads_of_cores = [thread_count_by_core[core] for core in cores]
    return _machine_of_computer(
        input_file,
        base_machine,
        "likwid-topology",
        Topology(
            len(cores),
            threads_of_cores,
            len(set(threads_of_cores)),
            domains,
            0,
            len(thread_count_by_core) - len(cores),
            first_line,
        ),
    )


def _machine_of_computer(
    input_file: Reading, base_machine: str | None, tool: str, topology: Topology
) -> ImportedSpec:
    """Build the spec of a machine with the numbers of a topology; the machine extends one that has
    the rates, `base_machine`.
    """
    if base_machine is None:
        message = (
            "this file has no rates and no network; name a machine that has them: --extends NAME"
        )
        input_file.refuse(1, "", message)
    tree = Library().load("machine", base_machine)
    machine = validate(spec_model("machine", tree), tree)
    if not isinstance(machine, MachineSpec):
        input_file.refuse(
            1, "--extends", f"{base_machine} shares memory; extend a machine with a network"
        )
    spec = ImportedSpec("machine", f"Computer of {input_file.name}", input_file.file)
    processor_count = input_file.hints.processors or topology.core_count
    source = f"{tool}, {input_file.name}"
    domains_with_memory = [domain for domain in topology.domains if domain.core_count]
    spec.document |= {
        "extends": base_machine,
        "source": "topology",
        "sources": {"topology": f"topology of {tool}, {input_file.name}"},
        "processors": {"count": quantity(processor_count, "", f"cores, {source}")},
    }
    memory: dict[str, Any] = {}
    capacity = sum(domain.capacity for domain in domains_with_memory)
    if capacity:
        memory["capacity"] = quantity(
            capacity / topology.core_count / 2**30, "GiB", f"memory over cores, {source}"
        )
    cores_per_domain = max((domain.core_count for domain in domains_with_memory), default=0)
    if machine.memory.domain is not None and cores_per_domain:
        memory["domain"] = {
            "processors": quantity(cores_per_domain, "", f"cores of a memory, {source}")
        }
    if memory:
        spec.document["memory"] = memory
    if machine.node is not None:
        spec.document["node"] = {
            "processors": quantity(topology.core_count, "", f"cores, {source}")
        }
        if topology.adapter_count:
            spec.document["node"]["adapters"] = quantity(
                topology.adapter_count, "", f"devices by their names, {source}", True
            )
    for note in input_file.notes:
        spec.add_note(note.message)
    _note_kept_values(spec, base_machine, machine, topology, cores_per_domain)
    return _declare_losses(input_file, tool, topology, domains_with_memory, cores_per_domain).close(
        spec
    )


def _note_kept_values(
    spec: ImportedSpec,
    base_machine: str,
    machine: MachineSpec,
    topology: Topology,
    cores_per_domain: int,
) -> None:
    """Add notes on which values of the extended machine are kept, and which are left out."""
    most_threads = max(topology.threads_of_cores)
    if most_threads > 1:
        spec.add_note(f"a processor is a core; its {most_threads} hardware threads share it")
    if topology.disallowed_count:
        spec.add_note(f"{topology.disallowed_count} cores are left out, which programs may not use")
    kept_parts = ["the network"]
    kept_parts += ["the bandwidth of a memory domain"] if machine.memory.domain is not None else []
    kept_parts += ["the bandwidth of a core"] if machine.memory.bandwidth is not None else []
    kept_parts += ["the rate of arithmetic"] if machine.processors.flops is not None else []
    kept_parts += (
        ["adapters of a node"] if machine.node is not None and not topology.adapter_count else []
    )
    spec.add_note(
        f"taken from {base_machine}: {', '.join(kept_parts)}; slipstick import of STREAM's"
        " output gives"
        " measured rates"
    )
    if machine.memory.domain is None and len(topology.domains) > 1:
        spec.add_note(
            f"{base_machine} has no bandwidth of a memory domain, so domains of"
            f" {cores_per_domain} cores are not in the machine"
        )
    if machine.node is None:
        spec.add_note(
            f"{base_machine} has no nodes, so the computer's own network is not in the machine"
        )
    spec.add_note("left out: caches, distances between memories, and devices other than adapters")


def _declare_losses(
    input_file: Reading,
    tool: str,
    topology: Topology,
    domains_with_memory: Sequence[NearbyMemory],
    cores_per_domain: int,
) -> FileLosses:
    """Declare the features of a computer that change answers and that a machine cannot express."""
    file_losses = FileLosses(tool, input_file)
    if topology.core_kind_count > 1:
        file_losses.declare(
            "core-kinds", topology.line, f"{topology.core_kind_count} kinds of cores"
        )
    for line, _, cores, _ in domains_with_memory:
        if cores != cores_per_domain:
            file_losses.declare("uneven-domains", line, f"{cores} cores, others {cores_per_domain}")
    core_count = sum({key: cores for _, key, cores, _ in domains_with_memory}.values())
    if domains_with_memory and core_count < topology.core_count:
        cores_without_memory = topology.core_count - core_count
        file_losses.declare(
            "uneven-domains", topology.line, f"{cores_without_memory} cores without a memory"
        )
    declared_losses = set[str]()
    for line, key, cores, _ in topology.domains:
        if not cores:
            file_losses.declare("memory-kinds", line, "a memory without cores is left out")
        elif key in declared_losses:
            file_losses.declare("memory-kinds", line, f"another memory of the same {cores} cores")
        declared_losses.add(key)
    return file_losses
