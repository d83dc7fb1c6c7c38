"""Machines' memory and processors from benchmarks: STREAM, HPCG, Intel's memory latency checker.

What the output tells is laid over a machine of the catalogue, or of a file, that the new spec
extends. STREAM and HPCG give each processor its part of what all reached together. Of the memory
latency checker, a module answers a line of 64 B in the time that the largest rate leaves each
module for it, and the rest of the idle latency is the way there and back.

Formats: STREAM 5.10; BabelStream 3.3 to 5.0; HPCG 3.x, the results file; Intel Memory Latency
Checker 3.x, whose rates are in 10^6 B/s.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from slipstick.errors import SpecError
from slipstick.late import late_pattern
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.library import Library, spec_model
from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.readers.rated import (
    HPCG_FINAL,
    HPCG_GRID,
    HPCG_ON_GPUS,
    STREAM_BINARY,
    STREAM_DEVICE,
    STREAM_HOST,
    STREAM_LINE,
    STREAM_THREADS,
)
from slipstick_measure.readers.reading import Reading

_LINE_BYTES = 64
"""Bytes of a line of the machines that the memory latency checker runs on."""


def stream_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine whose processors share the rate of the triad of STREAM equally;
    the rate is the largest of all runs.

    Raises
    ------
    SpecError : no triad, no number of threads, or no machine to extend
    """
    runs, device = _stream_runs(input_file)
    triad_rates_and_indices = [
        (run.line_and_rate_by_kernel["Triad"][1], index)
        for index, run in enumerate(runs)
        if "Triad" in run.line_and_rate_by_kernel
    ]
    if not triad_rates_and_indices or not max(triad_rates_and_indices)[0] > 0:
        input_file.refuse(1, "Triad", "there is no rate of the triad; was the run cut off?")
    triad_rate, best_index = max(triad_rates_and_indices)
    thread_count, line_and_rate_by_kernel = runs[best_index]
    source_place = f"{input_file.name}:{line_and_rate_by_kernel['Triad'][0]}"
    source = (
        f"STREAM triad, {triad_rate:g} MB/s of {device or f'{thread_count} threads'},"
        f" {source_place}"
    )
    spec = _extended_machine(input_file, "STREAM", base_machine)
    _check_bandwidth(input_file, spec)
    # A run of one device does not say how many there are.
    if not device:
        spec.document["processors"] = {
            "count": quantity(thread_count, "", f"threads of the run, {input_file.name}", True)
        }
    spec.document["memory"] = {
        "bandwidth": quantity(triad_rate / thread_count / 1e3, "GB/s", source)
    }
    other_rates = [
        f"{name}, {kernel_rate:g} MB/s"
        for name, (_, kernel_rate) in line_and_rate_by_kernel.items()
        if name != "Triad"
    ]
    if other_rates:
        spec.add_note(f"left out: the rates of {', '.join(other_rates)}")
    if len(runs) > 1:
        lines_in_words = ", ".join(
            str(min(line for line, _ in run.line_and_rate_by_kernel.values()))
            for run in runs
            if run.line_and_rate_by_kernel is not line_and_rate_by_kernel
        )
        spec.add_note(
            f"{len(runs)} runs; the one of the largest triad is taken, those that begin in lines"
            f" {lines_in_words} are left out"
        )
    return spec


class _StreamRun(NamedTuple):
    """A run of STREAM: its threads, and the rate of each kernel [MB/s] behind its line."""

    thread_count: int
    line_and_rate_by_kernel: dict[str, tuple[int, float]]


def _stream_runs(input_file: Reading) -> tuple[list[_StreamRun], str]:
    """Return the runs of STREAM in a file, and the name of the device that they ran on, empty for
    processors; refuse a file without the number of threads.
    """
    thread_count = input_file.hints.processors
    device = ""
    rate_scale = 1.0
    rates_by_run = list[dict[str, tuple[int, float]]]()
    thread_counts: list[int | None] = []
    for line, text in enumerate(input_file.lines, 1):
        if match := STREAM_THREADS.fullmatch(text):
            thread_count = input_file.processors(line, "threads", match[1])
        elif match := STREAM_DEVICE.fullmatch(text):
            if not STREAM_HOST.search(match["device"]):
                device, thread_count = match["device"].rstrip(), 1
        elif STREAM_BINARY.search(text):
            rate_scale = 2**20 / 1e6
        elif (match := STREAM_LINE.fullmatch(text)) and (
            rate := input_file.number(line, match["kernel"], match["rate"])
        ) is not None:
            if not rates_by_run or match["kernel"] in rates_by_run[-1]:
                rates_by_run.append({})
                thread_counts.append(thread_count)
            rates_by_run[-1][match["kernel"]] = line, rate * rate_scale
    if (input_file.hints.processors or thread_count) is None:
        input_file.refuse(
            1,
            "",
            "this STREAM does not say how many threads ran; give them: --processors N",
        )
    if input_file.problems:
        raise SpecError(input_file.problems)
    runs = [
        _StreamRun(threads_of_run or thread_count or 1, rates)
        for threads_of_run, rates in zip(thread_counts, rates_by_run, strict=True)
    ]
    return runs, device


def hpcg_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Build the spec of a machine whose processors share the rating and the observed bandwidth of
    HPCG equally.

    Raises
    ------
    SpecError : processes or rating missing, or no machine to extend
    """
    line_and_value_by_name, is_on_gpus = _hpcg_results(input_file)
    if missing_names := [
        name
        for name in ("processes", "rating")
        if not line_and_value_by_name.get(name, (0, 0.0))[1] > 0
    ]:
        input_file.refuse(
            1,
            missing_names[0],
            f"there is no number of {missing_names[0]}; is this the whole results file?",
        )
    process_count = (
        input_file.processors(
            line_and_value_by_name["processes"][0],
            "processes",
            f"{line_and_value_by_name['processes'][1]:g}",
        )
        or 1
    )
    thread_count = max(1.0, line_and_value_by_name.get("threads", (0, 1.0))[1])
    if is_on_gpus:
        thread_count = 1.0

    def shared_quantity(name: str, scale: float, unit: str) -> dict[str, Any]:
        """Return the share of each processor in a result of HPCG as a quantity."""
        line, value = line_and_value_by_name[name]
        source = (
            f"HPCG, {value:g} G of {process_count:g} processes of {thread_count:g} threads,"
            f" {input_file.name}:{line}"
        )
        return quantity(value * scale / process_count / thread_count, unit, source)

    spec = _extended_machine(input_file, "HPCG", base_machine)
    _check_bandwidth(input_file, spec)
    processor_count = quantity(
        process_count * thread_count,
        "",
        f"processes times threads of the run, {input_file.name}",
        True,
    )
    spec.document["processors"] = {
        "count": processor_count,
        "flops": shared_quantity("rating", 1e9, "/s"),
    }
    if line_and_value_by_name.get("bandwidth", (0, 0.0))[1] > 0:
        spec.document["memory"] = {"bandwidth": shared_quantity("bandwidth", 1.0, "GB/s")}
    spec.add_note(
        "the rate of arithmetic is that of HPCG, which memory limits; dense arithmetic is faster"
    )
    return spec


def _hpcg_results(input_file: Reading) -> tuple[dict[str, tuple[int, float]], bool]:
    """Return the results of HPCG by name, each value behind its line, and whether it ran on GPUs
    alone.
    """
    line_and_value_by_name: dict[str, tuple[int, float]] = {}
    is_on_gpus = any(map(HPCG_ON_GPUS.match, input_file.lines))
    for line, text in enumerate(input_file.lines, 1):
        if grid_match := HPCG_GRID.fullmatch(text):
            line_and_value_by_name["processes"] = line, float(prod(map(int, grid_match.groups())))
        if final_match := HPCG_FINAL.match(text):
            is_on_gpus = True
            line_and_value_by_name["rating"] = line, float(final_match[1])
            line_and_value_by_name["bandwidth"] = line, float(final_match[2] or 0)
        result_match = _HPCG_LINE.match(text)
        name = _HPCG_KEYS.get(result_match["key"].strip()) if result_match else None
        if name in line_and_value_by_name:
            input_file.refuse(
                line,
                name,
                f"stands in line {line_and_value_by_name[name][0]} already; give the"
                " results of one run",
            )
        if (
            result_match
            and name
            and (value := input_file.number(line, name, result_match["value"])) is not None
        ):
            line_and_value_by_name[name] = line, value
    return line_and_value_by_name, is_on_gpus


_HPCG_LINE = late_pattern(r"(?:[^:=]++::)?(?P<key>[^:=]++)[:=]\s*+(?P<value>\S.*)")
"""A line of HPCG 3.1 (``Summary::key=value``) or of the YAML of 3.0."""

_HPCG_KEYS = {
    "Distributed Processes": "processes",
    "Threads per processes": "threads",
    "HPCG result is VALID with a GFLOP/s rating of": "rating",
    "Raw Total B/W": "bandwidth",
}


_IdleRow = tuple[int, list[float]]
_LoadedRow = tuple[int, float, float]


def _mlc_latencies(input_file: Reading) -> tuple[list[_IdleRow], list[_LoadedRow]]:
    """Return the rows of idle latencies [ns], and the rows of loaded latencies [ns] with their
    rates [MB/s], each with its line; refuse a file without them.
    """
    section = ""
    idle_rows = list[_IdleRow]()
    loaded_rows = list[_LoadedRow]()
    for line, text in enumerate(input_file.lines, 1):
        section = text if text.startswith("Measuring") else section
        cells = text.split()
        if (
            "idle latencies" in section
            and len(cells) > 1
            and cells[0].isdigit()
            and "Numa" not in text
        ):
            idle_latencies = [input_file.number(line, "idle latency", cell) for cell in cells[1:]]
            idle_rows += (
                [(line, [value for value in idle_latencies if value is not None])]
                if "." in text
                else []
            )
        elif "Loaded Latencies" in section and len(cells) == 3 and cells[0].isdigit():
            latency, rate = (input_file.number(line, "loaded latency", cell) for cell in cells[1:])
            loaded_rows += (
                [(line, latency, rate)] if latency is not None and rate is not None else []
            )
    if input_file.problems:
        input_file.finished()
    if (
        not idle_rows
        or not all(values and min(values) > 0 for _, values in idle_rows)
        or not any(rate > 0 for *_, rate in loaded_rows)
    ):
        input_file.refuse(
            1,
            "",
            "a matrix of idle latencies and loaded latencies are needed; run mlc without options",
        )
    return idle_rows, loaded_rows


def mlc_spec(input_file: Reading, base_machine: str | None) -> ImportedSpec:
    """Estimate the access time of a memory module and the time of the path to it, from idle and
    loaded latencies.

    The buffers of the cores bound the number of lines in flight, so the memory is a closed system.
    Each row is compared with that system with its own number of lines (`_closed_latency`).

    Raises
    ------
    SpecError : no matrix, no loaded latencies, no machine with shared memory to extend, or one
        whose modules do not give the latencies
    """
    idle_rows, loaded_rows = _mlc_latencies(input_file)
    spec = _extended_machine(input_file, "Intel Memory Latency Checker", base_machine)
    machine = _shared_memory_machine(spec)
    if machine is None or machine.interconnect.kind != "crossbar":
        input_file.refuse(
            1,
            "",
            f"{base_machine} has no memory behind a crossbar; extend such a machine, as"
            " two-socket-server",
        )
    local_latency_line, local_latency = min(
        ((local_latency_line, min(row)) for local_latency_line, row in idle_rows),
        key=lambda pair: pair[1],
    )
    largest_rate_line, _, largest_rate = max(loaded_rows, key=lambda loaded_row: loaded_row[2])
    module_count = machine.memory.modules.value
    access_time = module_count * _LINE_BYTES / largest_rate * 1e3
    source_place = f"{input_file.name}:{largest_rate_line}"
    path_time = max(0.0, local_latency - access_time) / 2
    spec.document["memory"] = {
        "access": quantity(
            access_time,
            "ns",
            f"{module_count:g} modules share {largest_rate:g} MB/s, {source_place}, a line of"
            f" {_LINE_BYTES} B at a"
            " time",
            True,
        )
    }
    path_source = (
        f"half of the idle latency {local_latency:g} ns,"
        f" {input_file.name}:{local_latency_line}, less the"
        f" module's {access_time:.3g} ns"
    )
    spec.document["interconnect"] = {
        "kind": "crossbar",
        "hop": quantity(path_time, "ns", path_source, True),
    }
    _compare_with_closed_system(
        spec, input_file, loaded_rows, module_count, access_time, 2 * path_time
    )
    spec.add_note(
        f"memory.modules, {module_count:g}, is that of {base_machine}; the file does not have it"
    )
    remote_latencies = [
        latency for _, row in idle_rows for latency in row if latency > local_latency * 1.05
    ]
    if remote_latencies:
        spec.add_note(
            f"left out: latencies of other nodes, {min(remote_latencies):g} to"
            f" {max(remote_latencies):g} ns; a crossbar reaches all memory in the same time"
        )
    return spec


def _compare_with_closed_system(
    spec: ImportedSpec,
    input_file: Reading,
    loaded_rows: list[tuple[int, float, float]],
    module_count: float,
    access_time: float,
    path_time: float,
) -> None:
    """Write each loaded latency with the latency of a closed model with as many lines in flight;
    refuse a machine whose latencies differ too much.

    Parameters
    ----------
    loaded_rows : line of the file, latency [ns] and rate [MB/s]
    module_count, access_time, path_time : of the machine [1, ns, ns]
    """
    spec.table_heading = ["rate", "lines in flight", "measured", "closed system", "error"]
    worst_error = 0.0
    worst_line = 0
    for line, measured_latency, rate in sorted(loaded_rows, key=lambda loaded_row: loaded_row[2]):
        if not (rate > 0 and measured_latency > 0):
            continue
        lines_in_flight = rate * measured_latency / _LINE_BYTES / 1e3
        latency = _closed_latency(lines_in_flight, int(module_count), access_time, path_time)
        relative_error = latency / measured_latency - 1
        if abs(relative_error) > abs(worst_error):
            worst_error = relative_error
            worst_line = line
        row = (
            f"{rate:g} MB/s",
            f"{lines_in_flight:.4g}",
            f"{measured_latency:g} ns",
            f"{latency:.4g} ns",
        )
        spec.table_rows.append([*row, f"{100 * relative_error:+.1f} %"])
    if abs(worst_error) > _LARGEST_LATENCY_ERROR:
        message = (
            f"with {module_count:g} modules the latency comes out {100 * worst_error:+.0f}"
            " % off; name a"
            " machine with --extends that has as many modules as this one has channels"
        )
        input_file.refuse(worst_line, "loaded latency", message)
    spec.add_note(
        f"with the measured lines in flight, the machine's latencies are off by at most"
        f" {100 * abs(worst_error):.1f} %"
    )


_LARGEST_LATENCY_ERROR = 1.0
"""The largest relative error of a latency with which a machine is written."""


def _closed_latency(
    lines_in_flight: float, module_count: int, access_time: float, path_time: float
) -> float:
    """Return the latency of a line if a constant number of lines is in flight [ns].

    Exact mean value analysis of alike modules with exponential service, which lines visit at
    random, and a delay, with the whole number of lines that is nearest, one at least.

    Parameters
    ----------
    lines_in_flight : in flight [1]
    module_count, access_time : how many modules, and the service time of one [1, ns]
    path_time : the rest of the idle latency [ns]

    >>> _closed_latency(1, 4, 10.0, 70.0)
    80.0
    >>> round(_closed_latency(1000, 4, 10.0, 70.0) / (1000 * 10.0 / 4), 2)  # bound by the modules
    1.0
    """
    queue_length = 0.0
    latency = path_time + access_time
    for customer_count in range(1, max(1, round(lines_in_flight)) + 1):
        latency = path_time + access_time * (1 + queue_length / module_count)
        queue_length = customer_count * (latency - path_time) / latency
    return latency


def _shared_memory_machine(spec: ImportedSpec) -> SharedMemorySpec | None:
    """Return the machine that a spec extends, if it has memory modules; else None."""
    tree = Library().load("machine", spec.document["extends"])
    machine = validate(spec_model("machine", tree), tree)
    return machine if isinstance(machine, SharedMemorySpec) else None


def _check_bandwidth(input_file: Reading, spec: ImportedSpec) -> None:
    """Raise if the extended machine has memory modules, and so no bandwidth of its memory."""
    if _shared_memory_machine(spec) is not None:
        message = (
            f"{spec.document['extends']} has modules of memory behind an interconnect, and no rate"
            " of its memory; extend a machine of nodes, as linux-cluster"
        )
        input_file.refuse(1, "--extends", message)


def _extended_machine(input_file: Reading, tool: str, base_machine: str | None) -> ImportedSpec:
    """Return a spec that extends the machine `base_machine`, without the values of the benchmark
    yet; raise if `base_machine` is missing.
    """
    if input_file.problems:
        input_file.finished()
    if base_machine is None:
        input_file.refuse(
            1,
            "",
            "this file describes a part of a machine only; name a machine that has the rest:"
            " --extends NAME",
        )
    document = {
        "extends": base_machine,
        "source": "measured",
        "sources": {"measured": f"{tool} output {input_file.name}"},
    }
    return ImportedSpec(
        "machine", f"{base_machine}, with values of {tool}", input_file.file, document
    )
