"""Machines from the files of other tools: Kerncraft, SimGrid and Calculon.

A file becomes a machine; what a machine cannot express is a loss by name. A Kerncraft file has no
network, so the new machine extends one that has. Hosts of SimGrid with routes of their own are no
machine with one network, and are refused.

Formats: Kerncraft 0.8, machine files in YAML; SimGrid 4, platforms in XML; Calculon, systems in
JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from slipstick.errors import SpecError, UnitError, short
from slipstick.late import late_pattern
from slipstick.units import parse
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.losses import FileLosses
from slipstick_measure.readers.elements import XmlElement, parse_xml, without_document_type
from slipstick_measure.readers.reading import JsonNumber, Reading, parse_json

_READ_BENCHMARK = "load"
"""The benchmark from which the bandwidth is taken: reads alone."""
_SAME_RATE = 0.05
"""Relative difference of rates of memory that is no loss: runs of one benchmark differ by it."""


def kerncraft_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine from a Kerncraft file: its cores, and memory domains that are
    filled in order.

    The bandwidth of one core and that of the cores of a NUMA domain are taken; the rates of all
    other numbers of cores are held against the machine.

    Raises
    ------
    SpecError : no measured bandwidth of memory, or no machine to extend
    """
    document = _parse_yaml(input_file)
    core_count = _whole_number(input_file, document, "cores per socket") * _whole_number(
        input_file, document, "sockets"
    )
    cores_per_domain = _whole_number(input_file, document, "cores per NUMA domain")
    rates = _memory_rates(input_file, document)
    if base_machine is None:
        input_file.refuse(
            1, "", "this file does not describe a network; name a machine that does: --extends NAME"
        )
    cores_per_domain = min(cores_per_domain, len(rates))
    single_core_rate = rates[0]
    domain_rate = rates[cores_per_domain - 1]
    name = str(document.get("model name") or document.get("model type") or input_file.name)[:100]
    spec = ImportedSpec("machine", f"{name}, as Kerncraft describes it", input_file.file)
    source = f"{_READ_BENCHMARK} benchmark of memory, {input_file.name}"
    processors: dict[str, Any] = {
        "count": quantity(core_count, "", f"sockets and cores, {input_file.name}")
    }
    if (peak_flops := _peak_flops(document)) is not None:
        peak_source = "clock times operations a clock; what a program sustains is less"
        processors["flops"] = quantity(peak_flops, "/s", peak_source, True)
    spec.document |= {
        "extends": base_machine,
        "source": "measured",
        "sources": {"measured": f"Kerncraft machine file {input_file.name}"},
        "processors": processors,
        "memory": {
            "bandwidth": quantity(single_core_rate / 1e9, "GB/s", f"one core, {source}"),
            "domain": {
                "processors": quantity(
                    cores_per_domain, "", f"cores of a NUMA domain, {input_file.name}"
                ),
                "bandwidth": quantity(
                    domain_rate / 1e9, "GB/s", f"{cores_per_domain} cores, {source}"
                ),
            },
        },
    }
    _add_rate_table(spec, rates, cores_per_domain)
    file_losses = FileLosses("kerncraft", input_file)
    if slower_writes_text := _slower_writes_text(document, cores_per_domain, domain_rate):
        file_losses.declare("write-rates", 1, slower_writes_text)
    file_losses.declare("caches", 1)
    return file_losses.close(spec)


def _slower_writes_text(document: dict[str, Any], cores_per_domain: int, domain_rate: float) -> str:
    """Return the name and the rate of the slowest memory benchmark that writes; empty if it is not
    slower than reads.
    """
    results = document["benchmarks"]["measurements"]["MEM"][1]["results"]
    rate_by_benchmark = {
        str(benchmark_name): _parse_quantity(quantity_by_cores[cores_per_domain - 1])
        for benchmark_name, quantity_by_cores in results.items()
        if isinstance(quantity_by_cores, list) and len(quantity_by_cores) >= cores_per_domain
    }
    benchmark_name = min(
        rate_by_benchmark,
        key=lambda benchmark_name: rate_by_benchmark[benchmark_name] or domain_rate,
    )
    if not 0 < rate_by_benchmark[benchmark_name] < (1 - _SAME_RATE) * domain_rate:
        return ""
    reads_text = f"{_READ_BENCHMARK} {domain_rate / 1e9:.4g} GB/s"
    return (
        f"{short(benchmark_name)} {rate_by_benchmark[benchmark_name] / 1e9:.4g} GB/s, {reads_text}"
    )


def _add_rate_table(spec: ImportedSpec, rates: Sequence[float], cores_per_domain: int) -> None:
    """Add to the spec a table of the measured rate and the rate of the machine for each number of
    cores.
    """
    spec.table_heading = ["cores", "measured", "machine", "error"]
    largest_difference = 0.0
    for index, rate in enumerate(rates):
        core_count = index + 1
        core_rate = min(rates[0], rates[cores_per_domain - 1] / min(core_count, cores_per_domain))
        error = core_count * core_rate / rate - 1
        largest_difference = max(largest_difference, abs(error))
        row = (
            f"{core_count}",
            f"{rate / 1e9:.4g} GB/s",
            f"{core_count * core_rate / 1e9:.4g} GB/s",
        )
        spec.table_rows.append([*row, f"{100 * error:+.1f} %"])
    spec.add_note(f"the machine's rates are off by at most {100 * largest_difference:.1f} %")


def _parse_yaml(input_file: Reading) -> dict[str, Any]:
    """Parse a file as YAML; raise if it is no YAML."""
    import yaml

    try:
        document = yaml.load(input_file.text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        error_mark = getattr(error, "problem_mark", None)
        input_file.refuse(
            1 + error_mark.line if error_mark else 1, "", "this is no YAML; is the file cut off?"
        )
    if not isinstance(document, dict):
        input_file.refuse(1, "", "a machine file of Kerncraft is a table of keys")
    return document


_MOST_CORES = 1_000_000


def _whole_number(input_file: Reading, document: dict[str, Any], key: str) -> int:
    """Return the whole number at a key of a machine file; raise for other values."""
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_CORES:
        input_file.refuse(
            1,
            key,
            f"must be a whole number from 1 to {_MOST_CORES:,}, got {short(str(value))}",
        )
    return value


def _memory_rates(input_file: Reading, document: dict[str, Any]) -> list[float]:
    """Return the measured bandwidth of memory for each number of cores from 1 on [B/s]."""
    section: Any = document
    for key in ("benchmarks", "measurements", "MEM"):
        section = section.get(key) if isinstance(section, dict) else None
    single_thread_section = section.get(1) if isinstance(section, dict) else None
    results = (
        single_thread_section.get("results") if isinstance(single_thread_section, dict) else None
    )
    quantity_texts = results.get(_READ_BENCHMARK) if isinstance(results, dict) else None
    if not isinstance(quantity_texts, list) or not quantity_texts:
        input_file.refuse(
            1,
            "benchmarks",
            f"there is no result of {_READ_BENCHMARK} from memory with one thread a core; a machine"
            " file of Kerncraft 0.8 that is filled in has one",
        )
    rates = [_parse_quantity(quantity_text) for quantity_text in quantity_texts]
    if wrong_quantity := next(
        (
            quantity_text
            for quantity_text, rate in zip(quantity_texts, rates, strict=True)
            if not rate
        ),
        None,
    ):
        input_file.refuse(
            1, "benchmarks", f"{short(str(wrong_quantity))} is no rate, as 44.6 GB/s is"
        )
    return [rate for rate in rates if rate]


def _peak_flops(document: dict[str, Any]) -> float | None:
    """Return the floating-point operations per second of a core; None if the clock rate or the
    operations are missing.
    """
    operations_by_precision = document.get("FLOPs per cycle")
    double_precision_operations = (
        operations_by_precision.get("DP") if isinstance(operations_by_precision, dict) else None
    )
    operations_per_clock = (
        double_precision_operations.get("total")
        if isinstance(double_precision_operations, dict)
        else None
    )
    clock_rate = _parse_quantity(document.get("clock"))
    if (
        not isinstance(operations_per_clock, int | float)
        or not clock_rate
        or not operations_per_clock > 0
    ):
        return None
    return clock_rate * operations_per_clock


def _parse_quantity(text: object) -> float:
    """Return the quantity that a text states with its unit, in base units; 0 for other texts and
    for values below 0.
    """
    try:
        value, _ = parse(str(text).strip())
    except UnitError:
        return 0.0
    return max(0.0, float(value))


def calculon_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine from a Calculon system: its processors, its first network inside
    nodes and its last network between them.

    Rates are those of the largest operations: peaks times the efficiency that the file has for
    them.

    Raises
    ------
    SpecError : a part is missing, or a machine to extend is given, which has no use here
    """
    _refuse_base_machine(input_file, base_machine)
    document = parse_json(input_file, input_file.text)
    processor_document = _value_at_path(input_file, document, "matrix", "float16")
    memory_document = _value_at_path(input_file, document, "mem1")
    networks = _value_at_path(input_file, document, "networks")
    if not isinstance(networks, list) or not networks:
        input_file.refuse(1, "networks", "a system of Calculon has one network at least")
    flops = (
        _positive_number(input_file, processor_document, "tflops")
        * 1e12
        * _efficiency_of_largest(input_file, processor_document)
    )
    bandwidth = _positive_number(input_file, memory_document, "GBps") * _efficiency_of_largest(
        input_file, memory_document
    )
    outer_network = networks[-1]
    spec = ImportedSpec("machine", f"System {input_file.name} of Calculon", input_file.file)
    source = f"peak times efficiency of the largest, {input_file.name}"
    spec.document |= {
        "source": "system",
        "sources": {"system": f"Calculon system {input_file.name}"},
        "processors": {
            "count": quantity(
                _positive_number(input_file, outer_network, "size"),
                "",
                f"networks, {input_file.name}",
            ),
            "flops": quantity(flops, "/s", f"float16, {source}"),
        },
        "memory": {
            "bandwidth": quantity(bandwidth, "GB/s", source),
            "capacity": quantity(
                _positive_number(input_file, memory_document, "GiB"),
                "GiB",
                f"mem1, {input_file.name}",
            ),
        },
        "network": _calculon_network(input_file, outer_network),
    }
    if len(networks) > 1:
        processors_per_node = _positive_number(input_file, networks[0], "size")
        spec.document["node"] = {
            "processors": quantity(processors_per_node, "", f"networks, {input_file.name}"),
            "adapters": quantity(
                processors_per_node, "", "the bandwidth is that of each processor", True
            ),
            "network": _calculon_network(input_file, networks[0]),
            "collectives": "levels",
        }
    return _calculon_losses(input_file, document, networks).close(spec)


def _calculon_losses(
    input_file: Reading, document: dict[str, Any], networks: list[Any]
) -> FileLosses:
    """Return the losses of a Calculon system: the features that change answers and that a machine
    cannot express.
    """
    file_losses = FileLosses("calculon", input_file)
    part_by_path = {"matrix.float16": document["matrix"]["float16"], "mem1": document["mem1"]}
    for path, part in part_by_path.items():
        key = _efficiency_key(part)
        if key is not None and len({str(row[1]) for row in part[key]}) > 1:
            file_losses.declare(
                "small-operations", _line_of_first_number(part[key]), f"{path}.{key}"
            )
    end_networks = networks if len(networks) == 1 else [networks[0], networks[-1]]
    for network in end_networks:
        file_losses.declare(
            "latency-once", _line_of_first_number(network["latency"]), "networks.latency"
        )
        usage_text = str(network.get("processor_usage", 0))
        if (
            used_share := input_file.number(
                _line_of_first_number(network), "processor_usage", usage_text
            )
        ) is None:
            raise SpecError(input_file.problems)
        if used_share > 0:
            file_losses.declare(
                "communication-share", _line_of_first_number(network), "networks.processor_usage"
            )
    if len(networks) > 2:
        file_losses.declare("middle-networks", _line_of_first_number(networks[1]), "networks")
    if "mem2" in document:
        file_losses.declare("second-memory", 1)
    return file_losses


def _line_of_first_number(tree: Any) -> int:
    """Return the line of the first number in a part of a document; 1 if there is none."""
    if isinstance(tree, JsonNumber):
        return tree.line
    subtrees = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return next((line for subtree in subtrees if (line := _line_of_first_number(subtree)) > 1), 1)


def _efficiency_key(document: dict[str, Any]) -> str | None:
    """Return the key that holds the efficiencies of a processor or memory; None if the document has
    no such key.
    """
    return next((key for key in document if key.endswith("_efficiency")), None)


def _calculon_network(input_file: Reading, document: Any) -> dict[str, Any]:
    """Return a network of a Calculon system as the plain data of the network of a machine."""
    efficiency = _positive_number(input_file, document, "efficiency")
    rate = _positive_number(input_file, document, "bandwidth") * efficiency
    latency = _positive_number(input_file, document, "latency") * 1e6
    return _network_of_rate(
        f"network of {input_file.name}",
        quantity(latency / 2, "us", "half of the latency at each end", True),
        quantity(rate, "GB/s", f"bandwidth times efficiency, {input_file.name}"),
    )


def _network_of_rate(
    title: str, latency_at_end: dict[str, Any], rate: dict[str, Any]
) -> dict[str, Any]:
    """Return the plain data of the network of a machine with a latency at each end of a message,
    and a rate.
    """
    zero_size = quantity(0, "B", "the file has no more than a latency and a rate", True)
    return {
        "title": title,
        "protocol": {"added": zero_size, "ranges": {"all": {"total": {"fixed": latency_at_end}}}},
        "wire": {"per_byte": rate, "added": zero_size},
        "medium": "switched",
    }


def _refuse_base_machine(input_file: Reading, base_machine: str | None) -> None:
    """Raise if a machine to extend is named, because the file has a complete machine."""
    if base_machine is not None:
        input_file.refuse(1, "--extends", "this file has a whole machine; leave --extends out")


def _value_at_path(input_file: Reading, document: Any, *path: str) -> Any:
    """Return the part of a document at a path of keys; raise if there is none."""
    for key in path:
        if not isinstance(document, dict) or key not in document:
            input_file.refuse(1, ".".join(path), "is missing; a system of Calculon has it")
        document = document[key]
    return document


def _positive_number(input_file: Reading, document: Any, key: str) -> float:
    """Return the number above 0 at a key of a document; raise for other values."""
    value_node = _value_at_path(input_file, document, key)
    line = getattr(value_node, "line", 1)
    value = input_file.number(line, key, getattr(value_node, "text", str(value_node)))
    if input_file.problems:
        raise SpecError(input_file.problems)
    if value is None or not value > 0:
        input_file.refuse(line, key, "must be above 0")
    return value


def _efficiency_of_largest(input_file: Reading, document: dict[str, Any]) -> float:
    """Return the efficiency that a processor or memory has for its largest operations; 1 if the
    document states none.
    """
    key = _efficiency_key(document)
    if key is None:
        return 1.0
    efficiency_rows = document[key]
    if not isinstance(efficiency_rows, list) or not all(
        isinstance(row, list) and len(row) == 2 for row in efficiency_rows
    ):
        input_file.refuse(1, key, "must be pairs of a size and an efficiency")
    sizes_and_efficiencies = [
        (
            _size_of_operation(input_file, key, size),
            _positive_number(input_file, {key: efficiency}, key),
        )
        for size, efficiency in efficiency_rows
    ]
    return max(sizes_and_efficiencies)[1] if sizes_and_efficiencies else 1.0


def _size_of_operation(input_file: Reading, key: str, size: Any) -> float:
    """Return the size of an operation for which the file has an efficiency."""
    line = getattr(size, "line", 1)
    value = input_file.number(line, key, getattr(size, "text", str(size)))
    if value is None:
        raise SpecError(input_file.problems)
    return value


_FLOP_RATE = late_pattern(r"([0-9.eE+-]+)\s*([kKMGTPE]?)f(?:lops?)?")
_UNIT_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_RATE = late_pattern(r"([0-9.eE+-]+)\s*([kKMGT]?)(i?)(Bps|bps)?")
_TIME_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_LATENCY = late_pattern(r"([0-9.eE+-]++)\s*+([a-z]*)")


def simgrid_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine from a cluster of a SimGrid platform: hosts, each with a link of
    its own to a backbone.

    A message passes two links and the backbone. Hosts with routes of their own, several clusters
    and other topologies are refused.

    Raises
    ------
    SpecError : there is no such cluster, or it has features that change answers and that a machine
        cannot express
    """
    _refuse_base_machine(input_file, base_machine)
    input_file.text = without_document_type(input_file.text)
    root = parse_xml(input_file)
    clusters = list(root.descendants("cluster"))
    if len(clusters) != 1:
        line = clusters[1].line if clusters else 1
        message = (
            f"there are {len(clusters)} clusters, perhaps with links between them"
            if clusters
            else "there are hosts with links and routes of their own"
        )
        input_file.refuse(
            line,
            "platform",
            f"{message}; a machine has one network, so give a platform of one cluster",
        )
    (cluster,) = clusters
    _refuse_topology(input_file, cluster)
    host_count = _host_count(input_file, cluster)
    cores_per_host = int(cluster.get("core") or 1)
    latency, backbone_latency = (
        _parse_attribute(input_file, cluster, attribute_name, _LATENCY)
        for attribute_name in ("lat", "bb_lat")
    )
    spec = ImportedSpec("machine", f"Cluster {cluster.get('id')[:60]} of SimGrid", input_file.file)
    source_place = f"{input_file.name}:{cluster.line}"
    spec.document |= {
        "source": "platform",
        "sources": {
            "platform": f"SimGrid platform {input_file.name}, cluster in line {cluster.line}"
        },
        "processors": {
            "count": quantity(host_count * cores_per_host, "", f"radical and core, {source_place}"),
            "flops": quantity(
                _parse_attribute(input_file, cluster, "speed", _FLOP_RATE),
                "/s",
                f"speed, {source_place}",
            ),
        },
        "network": _network_of_rate(
            f"network of {input_file.name}",
            quantity(0, "us", "the platform has no software", True),
            quantity(
                _parse_attribute(input_file, cluster, "bw", _RATE) / 1e9,
                "GB/s",
                f"bw, {source_place}",
            ),
        )
        | {
            "adapter": quantity(latency * 1e6, "us", f"lat, {source_place}"),
            "switch": quantity(backbone_latency * 1e6, "us", f"bb_lat, {source_place}"),
        },
    }
    if cores_per_host > 1:
        _add_node(spec, input_file, cluster, cores_per_host)
    spec.add_note(
        "the latencies and rates are the platform's; SimGrid's models multiply them by factors"
    )
    return _simgrid_losses(input_file, root, cluster, host_count).close(spec)


def _simgrid_losses(
    input_file: Reading, root: XmlElement, cluster: XmlElement, host_count: int
) -> FileLosses:
    """Return the losses of a SimGrid platform: the features that change answers and that a machine
    cannot express.
    """
    file_losses = FileLosses("simgrid", input_file)
    if cluster.get("bb_bw") and cluster.get("bb_sharing_policy").upper() != "FATPIPE":
        backbone_rate, link_rate = (
            _parse_attribute(input_file, cluster, key, _RATE) for key in ("bb_bw", "bw")
        )
        if backbone_rate < host_count * link_rate:
            file_losses.declare(
                "backbone",
                cluster.line,
                f"{backbone_rate / 1e9:.4g} GB/s for {host_count} hosts of"
                f" {link_rate / 1e9:.4g} GB/s",
            )
    if cluster.get("limiter_link"):
        file_losses.declare(
            "limiter", cluster.line, f"limiter_link {cluster.get('limiter_link')[:40]}"
        )
    if other_hosts := list(root.descendants("host")):
        names_in_words = ", ".join(host.get("id")[:40] for host in other_hosts[:4])
        file_losses.declare("other-hosts", other_hosts[0].line, names_in_words)
    for setting in root.descendants("prop"):
        if setting.get("id").endswith("-factor"):
            file_losses.declare("network-factors", setting.line, setting.get("id")[:60])
    return file_losses


def _refuse_topology(input_file: Reading, cluster: XmlElement) -> None:
    """Raise if the cluster has a topology that changes the time of a message and that a machine's
    network cannot express.
    """
    topology = cluster.get("topology")
    sharing = cluster.get("sharing_policy")
    if topology and topology.upper() != "FLAT":
        message = (
            f"topology {topology[:40]} has ways of its own; a machine has one for all messages"
        )
        input_file.refuse(cluster.line, "topology", f"{message}; give a flat cluster")
    if sharing.upper() == "SHARED":
        message = "a link carries one direction at a time; a machine's carry both"
        input_file.refuse(
            cluster.line, "sharing_policy", f"{message}; write SPLITDUPLEX if they do"
        )


def _add_node(
    spec: ImportedSpec, input_file: Reading, cluster: XmlElement, core_count: int
) -> None:
    """Add the cores of a host to a spec as a node whose network is the host's loopback."""
    if not (cluster.get("loopback_bw") and cluster.get("loopback_lat")):
        input_file.refuse(
            cluster.line,
            "core",
            f"{core_count} cores of a host pass messages inside it; give loopback_bw and"
            " loopback_lat",
        )
    source_place = f"{input_file.name}:{cluster.line}"
    latency = _parse_attribute(input_file, cluster, "loopback_lat", _LATENCY) * 1e6
    rate = _parse_attribute(input_file, cluster, "loopback_bw", _RATE) / 1e9
    spec.document["node"] = {
        "processors": quantity(core_count, "", f"core, {source_place}"),
        "adapters": quantity(1, "", "a host of SimGrid has one link", True),
        "network": _network_of_rate(
            f"loopback of {input_file.name}",
            quantity(latency / 2, "us", f"loopback_lat, half at each end, {source_place}"),
            quantity(rate, "GB/s", f"loopback_bw, {source_place}"),
        ),
    }


def _host_count(input_file: Reading, cluster: XmlElement) -> int:
    """Return the number of hosts that a radical such as 0-9,12 names."""
    interval_ends = [interval.split("-") for interval in cluster.get("radical").split(",")]
    if not all(
        1 <= len(interval) <= 2 and all(end_text.strip().isdigit() for end_text in interval)
        for interval in interval_ends
    ):
        input_file.refuse(cluster.line, "radical", "must be numbers and ranges such as 0-9,12")
    intervals = [[int(end_text) for end_text in interval] for interval in interval_ends]
    if (
        not all(interval[0] <= interval[-1] for interval in intervals)
        or max(chain(*intervals)) > 10**8
    ):
        input_file.refuse(cluster.line, "radical", "must be rising ranges up to 100000000")
    return sum(interval[-1] - interval[0] + 1 for interval in intervals)


def _parse_attribute(
    input_file: Reading, cluster: XmlElement, key: str, pattern: re.Pattern[str]
) -> float:
    """Parse an attribute in SimGrid's units: flops, bytes per second, or a time; a missing latency
    is 0.
    """
    text = cluster.get(key)
    if not text and pattern is _LATENCY:
        return 0.0
    match = pattern.fullmatch(text)
    unit = match[2] if match else ""
    if match is None or (pattern is _LATENCY and unit not in _TIME_UNITS):
        input_file.refuse(
            cluster.line, key, f"{short(text)} is no value with one of SimGrid's units"
        )
    value = input_file.number(cluster.line, key, match[1])
    if value is None:
        raise SpecError(input_file.problems)
    if pattern is _LATENCY:
        return value * _TIME_UNITS[unit]
    is_binary = pattern is _RATE and match[3] == "i"
    prefix_factor = (
        1024.0 ** " KMGT".index(unit.upper() or " ") if is_binary else _UNIT_PREFIXES[unit]
    )
    is_in_bits = pattern is _RATE and match[4] == "bps"
    if not value > 0:
        input_file.refuse(cluster.line, key, "must be above 0")
    return value * prefix_factor / (8 if is_in_bits else 1)
