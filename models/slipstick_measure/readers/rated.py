"""Outputs of benchmarks that print their own rate and how many processes or threads made it: NAS
Parallel Benchmarks, HPCG, STREAM, BabelStream, likwid-bench, LAMMPS and GROMACS.

Of NPB the time is read, and each benchmark and class is a region; runs of a class are of one size.
The others are throughputs. HPCG's problem grows with the processes, so its
rating is what is compared. Of STREAM and BabelStream the triad is taken, of likwid-bench the rate
of bytes, or of operations where all of its tests measure that.

Formats: NAS Parallel Benchmarks 2.3 to 3.4 (common/print_results: the lines after "Benchmark
Completed"), in Fortran, C, and with zones; HPCG 2.4 to 3.1, the results file, and the
output of NVIDIA's HPCG of 2024 and 2025; STREAM 5.9 and 5.10;
BabelStream 3.3 to 5.0, its table and its CSV; LIKWID 3 to 5.3, likwid-bench; LAMMPS 2013 to 2025,
its log; GROMACS 4.0 to 2025, its log and what mdrun prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

from slipstick.late import late_pattern
from slipstick_measure.measurements import Measurements
from slipstick_measure.readers.reading import Coordinates, FileFormat, Reading

_NPB_RUN = late_pattern(r"\s*(?P<name>[A-Z]{2}(?:-MZ)?) Benchmark Completed\.?\s*", re.IGNORECASE)
_NPB_VALUE = late_pattern(r"\s*(?P<key>[A-Za-z/]++(?: [a-z]++)*+)\s*+=\s*+(?P<value>\S.*)")
_NPB_COUNTS = ("total threads", "threads", "total processes")
"""Names of the number of processors, the largest count first: benchmarks with zones have threads in
each process."""


class _NpbValue(NamedTuple):
    """A value and the line of the file in which it is written."""

    line: int
    text: str


def _is_npb(input_file: Reading) -> bool:
    """Return whether a file is an output of NAS Parallel Benchmarks."""
    return any(_NPB_RUN.fullmatch(line) for line in input_file.lines)


def _npb_runs(input_file: Reading) -> Iterator[tuple[str, int, dict[str, _NpbValue]]]:
    """Yield each run: the benchmark, the line that says that it is completed, and the values
    printed below that line.
    """
    name = ""
    completed_line = 0
    value_by_key: dict[str, _NpbValue] = {}
    for line, text in enumerate(input_file.lines, 1):
        if run_match := _NPB_RUN.fullmatch(text):
            if name:
                yield name, completed_line, value_by_key
            name = run_match["name"].upper()
            completed_line = line
            value_by_key = {}
        elif name and (value_match := _NPB_VALUE.fullmatch(text)):
            value_by_key.setdefault(
                value_match["key"].casefold(), _NpbValue(line, value_match["value"].rstrip())
            )
    if name:
        yield name, completed_line, value_by_key


def _read_npb(input_file: Reading) -> Measurements:
    """Read the time of each run of NAS Parallel Benchmarks; if times are printed too coarsely, read
    the rate, which has more digits.
    """
    titles = dict[str, None]()
    runs = list(_npb_runs(input_file))
    are_times_coarse = any(_has_coarse_time(value_by_key) for *_, value_by_key in runs)
    for name, line, value_by_key in runs:
        title = f"{name}, class {value_by_key['class'].text}" if "class" in value_by_key else name
        titles[title] = None
        count_value = next((value_by_key[key] for key in _NPB_COUNTS if key in value_by_key), None)
        if count_value is None and input_file.hints.processors is None:
            input_file.add_note(
                line, title, "no processes or threads are printed, so it is read as one"
            )
        processors = input_file.hints.processors or (
            1
            if count_value is None
            else input_file.processors(count_value.line, "processes", count_value.text)
        )
        key, metric, unit = _NPB_RATE if are_times_coarse else _NPB_TIME
        if processors is None or key not in value_by_key:
            input_file.add_problem(
                line, title, f"the line '{key} =' is missing; is the output cut?"
            )
            continue
        coordinates = Coordinates(processors, input_file.hints.size, title)
        input_file.add(value_by_key[key].line, coordinates, metric, value_by_key[key].text, unit)
        verification = value_by_key.get("verification")
        if verification is not None and verification.text.upper() != "SUCCESSFUL":
            input_file.add_note(
                verification.line, title, f"the verification is {verification.text.casefold()}"
            )
    if are_times_coarse and runs:
        message = (
            f"a time is missing, or below {_LEAST_PRECISE_TIME:g} s and printed in hundredths:"
            " rates are"
            " taken"
        )
        input_file.add_note(runs[0][1], "", message)
    measurements = input_file.finished()
    source = f"output of the NAS Parallel Benchmarks {input_file.name}"
    return replace(measurements, title="; ".join(titles), source=source)


_NPB_TIME = ("time in seconds", "time", "s")
_NPB_RATE = ("mop/s total", "throughput", "Mop/s")
_LEAST_PRECISE_TIME = 1.0
"""Time below which two decimals are less than one percent."""


def _has_coarse_time(value_by_key: Mapping[str, _NpbValue]) -> bool:
    """Return whether the time of a run is missing, or printed with too few digits."""
    time_value = value_by_key.get("time in seconds")
    if time_value is None or re.fullmatch(r"[0-9]*\.[0-9]{1,2}", time_value.text) is None:
        return time_value is None
    return float(time_value.text) < _LEAST_PRECISE_TIME


_HPCG_RATING = late_pattern(r"HPCG result is VALID with a GFLOP/s rating of\s*[:=]\s*(\S+)")
HPCG_ON_GPUS = late_pattern(r"\s*Start of application \(GPU-Only\)")
"""What NVIDIA's HPCG prints before a run whose threads only drive the GPUs."""
_HPCG_MIXED = late_pattern(r"\s*Start of application \(GPU\+Grace\)")
_HPCG_COUNT = late_pattern(r"(Distributed Processes|Threads per processes)\s*[:=]\s*([0-9]+)\s*")


HPCG_GRID = late_pattern(r"\s*([0-9]+)x([0-9]+)x([0-9]+) process grid\s*")
HPCG_FINAL = late_pattern(r"final\s*=\s*([0-9.]+) GF\b(?:\s*\(([0-9.]+) GB/s Effective\))?.*")
"""The rating as NVIDIA's HPCG prints it that runs on GPUs alone, until 2022."""


def _is_hpcg(input_file: Reading) -> bool:
    """Return whether a file is an output of HPCG."""
    return any(_HPCG_RATING.search(line) or HPCG_FINAL.match(line) for line in input_file.lines)


def _read_hpcg(input_file: Reading) -> Measurements:
    """Read the rating of each run. Processors are processes times threads; in NVIDIA's HPCG on GPUs
    alone, each process counts as one GPU.
    """
    count_by_noun = dict[str, int]()
    for line, text in enumerate(input_file.lines, 1):
        if _HPCG_MIXED.match(text) and input_file.hints.processors is None:
            message = (
                "processes of GPUs and of Grace processors differ: write --processors N for one"
                " kind"
            )
            input_file.refuse(line, "", message)
        if HPCG_ON_GPUS.match(text):
            input_file.add_note(line, "", "each process has a GPU, which counts as one processor")
        if grid_match := HPCG_GRID.fullmatch(text):
            count_by_noun["Distributed Processes"] = prod(map(int, grid_match.groups()))
        if final_match := HPCG_FINAL.match(text):
            input_file.add_note(line, "", "each process has a GPU, which counts as one processor")
        if count_match := _HPCG_COUNT.search(text):
            count_by_noun[count_match[1]] = (
                input_file.processors(line, count_match[1], count_match[2]) or 1
            )
        elif rating_match := final_match or _HPCG_RATING.search(text):
            process_count = count_by_noun.get("Distributed Processes", input_file.hints.processors)
            if process_count is None:
                message = "the number of processes is not printed before it; write --processors N"
                input_file.refuse(line, "rating", message)
            is_on_gpus = any(HPCG_ON_GPUS.match(text) for text in input_file.lines[:line])
            processors = process_count * (
                1 if is_on_gpus else count_by_noun.get("Threads per processes", 1)
            )
            processors = input_file.hints.processors or processors
            coordinates = Coordinates(processors, input_file.hints.size)
            input_file.add(line, coordinates, "throughput", rating_match[1], "GFLOP/s")
            if input_file.text.endswith(rating_match[1]):
                message = "the file ends with this number, which may be cut"
                input_file.add_note(line, "rating", message)
            count_by_noun = {}
    return _measurements_with_note(input_file, "HPCG")


STREAM_THREADS = late_pattern(
    r"(?:\s*Number of Threads (?:counted|requested) = |.{0,80}\bOMP_NUM_THREADS ?[=:] ?)([0-9]+)\b"
    r".{0,80}"
)
"""How many threads ran, as the program prints it or as a script sets it before it."""
STREAM_DEVICE = late_pattern(r"\s*Using \S+ device\s++(?P<device>\S.*)")
"""The line of BabelStream that names the GPU: it runs on one device."""

STREAM_HOST = late_pattern(r"\bCPU|CPU\b|Xeon|EPYC|Opteron|ThunderX|\bhost\b", re.IGNORECASE)
"""A device of SYCL or OpenCL that is the processors of the host, whose number is not printed."""

STREAM_LINE = late_pattern(
    r"\s*(?P<kernel>Copy|Scale|Mul|Add|Triad)"
    r"(?::?\s++|(?:,[0-9]++){3},)(?P<rate>[0-9.]++(?:e[+-]?[0-9]++)?)(?:[\s,]++[0-9.e+-]++){3}\s*"
)
"""A kernel of STREAM (``Triad: RATE``), or of BabelStream (``Triad RATE``, or a row of its CSV),
which calls Scale Mul."""

STREAM_BINARY = late_pattern(r"\bMiBytes/sec|\bmax_mibytes_per_sec")
"""The heading of BabelStream whose rates are in 2^20 bytes."""


def _is_stream(input_file: Reading) -> bool:
    """Return whether a file is an output of STREAM or BabelStream."""
    line_matches = map(STREAM_LINE.fullmatch, input_file.lines)
    return any(
        line_match is not None and line_match["kernel"] == "Triad" for line_match in line_matches
    )


def _read_stream(input_file: Reading) -> Measurements:
    """Read the rate of the triad of each run; a device counts as one processor."""
    thread_count = input_file.hints.processors
    unit = "MB/s"
    line_without_triad = 0
    for line, text in [*enumerate(input_file.lines, 1), (0, "")]:
        kernel_match = STREAM_LINE.fullmatch(text)
        begins_run = not line or (kernel_match is not None and kernel_match["kernel"] == "Copy")
        if line_without_triad and begins_run:
            message = "the run is cut before its triad, and is left out"
            input_file.add_note(line_without_triad, "", message)
        if kernel_match is not None or begins_run:
            lacks_triad = kernel_match is not None and kernel_match["kernel"] != "Triad"
            line_without_triad = line if lacks_triad else 0
        if count_match := STREAM_THREADS.fullmatch(text):
            thread_count = input_file.processors(line, "threads", count_match[1])
        elif device_match := STREAM_DEVICE.fullmatch(text):
            thread_count = input_file.hints.processors
            if STREAM_HOST.search(device_match["device"]):
                continue
            thread_count = thread_count or 1
            input_file.add_note(
                line, device_match["device"].rstrip(), "is one device, read as one processor"
            )
        elif STREAM_BINARY.search(text):
            unit = "MiB/s"
        elif re.match(r"Validation failed|Failed Validation", text):
            input_file.add_note(line, "", "the run failed its own check of the results")
        elif (rate_match := STREAM_LINE.fullmatch(text)) and rate_match["kernel"] == "Triad":
            if thread_count is None:
                message = "this STREAM does not say how many threads ran; write --processors N"
                input_file.refuse(line, "", message)
            coordinates = Coordinates(thread_count, input_file.hints.size)
            input_file.add(line, coordinates, "throughput", rate_match["rate"], unit)
    if input_file.runs:
        input_file.add_note(
            input_file.runs[0].line, "Triad", "is used; the other kernels are left out"
        )
    return _measurements_with_note(input_file, "STREAM")


_KERNEL = late_pattern(r"Test: (?P<kernel>\S+)\s*")
_KERNEL_THREADS = late_pattern(r"Using (?P<threads>[0-9]+) threads\s*")
_KERNEL_VALUE = late_pattern(
    r"(?P<key>Size|MFlops/s|MByte/s)(?: \(Byte\))?:\s+(?P<value>[0-9.]+(?:e[+-]?[0-9]+)?)\s*"
)

_KERNEL_UNITS = {"MFlops/s": "MFLOP/s", "MByte/s": "MB/s"}
_PEAK_TEST_PREFIX = "peakflops"
"""What names of tests begin with that measure operations."""


def _is_likwid_bench(input_file: Reading) -> bool:
    """Return whether a file is an output of likwid-bench."""
    return "LIKWID MICRO BENCHMARK" in input_file.text


def _read_likwid_bench(input_file: Reading) -> Measurements:
    """Read the rate of each run of likwid-bench. If there are several tests, each is a region.

    A run fits its vectors to the loops and threads of the test, so sizes are rounded to two digits.
    """
    kernel_names = [
        match["kernel"] for text in input_file.lines if (match := _KERNEL.fullmatch(text))
    ]
    measures_operations = all(name.startswith(_PEAK_TEST_PREFIX) for name in kernel_names)
    kernel_names = [
        name
        for name in kernel_names
        if measures_operations or not name.startswith(_PEAK_TEST_PREFIX)
    ]
    kernel_name = ""
    line_and_text_by_key: dict[str, tuple[int, str]] = {}
    thread_count: int | None = None
    begin_line = 1
    for line, text in enumerate([*input_file.lines, "Test: end"], 1):
        if match := _KERNEL.fullmatch(text):
            if kernel_name.startswith(_PEAK_TEST_PREFIX) and not measures_operations:
                message = (
                    "its rate is of operations, and those of other tests of bytes: it is left out"
                )
                input_file.add_note(begin_line, kernel_name, message)
            elif kernel_name:
                region = kernel_name if len(set(kernel_names)) > 1 else ""
                _add_kernel_rate(
                    input_file, begin_line, kernel_name, region, thread_count, line_and_text_by_key
                )
            kernel_name, line_and_text_by_key, thread_count, begin_line = (
                match["kernel"],
                {},
                None,
                line,
            )
        elif match := _KERNEL_THREADS.fullmatch(text):
            thread_count = input_file.processors(line, "threads", match["threads"])
        elif match := _KERNEL_VALUE.fullmatch(text):
            line_and_text_by_key[match["key"]] = (line, match["value"])
    if input_file.runs:
        input_file.add_note(input_file.runs[0].line, "Size", "is rounded to two digits")
    source = f"output of likwid-bench {input_file.name}"
    return replace(input_file.finished(), title="likwid-bench", source=source)


def _add_kernel_rate(
    input_file: Reading,
    line: int,
    kernel_name: str,
    region: str,
    thread_count: int | None,
    line_and_text_by_key: Mapping[str, tuple[int, str]],
) -> None:
    """Add the rate of the run that begins at a line; note a run that is cut."""
    key = "MFlops/s" if kernel_name.startswith(_PEAK_TEST_PREFIX) else "MByte/s"
    if key not in line_and_text_by_key or thread_count is None:
        input_file.add_note(
            line, kernel_name, f"the run is cut before its rate ({key}), and is left out"
        )
        return
    size = input_file.hints.size
    if size is None and "Size" in line_and_text_by_key:
        size = float(f"{float(line_and_text_by_key['Size'][1]):.1e}") or None
    coordinates = Coordinates(input_file.hints.processors or thread_count, size, region)
    rate_line, rate_text = line_and_text_by_key[key]
    input_file.add(rate_line, coordinates, "throughput", rate_text, _KERNEL_UNITS[key])


def _measurements_with_note(input_file: Reading, tool: str) -> Measurements:
    """Return the measurements of a file, with a note that a machine can be imported from the same
    file.
    """
    if input_file.runs:
        message = (
            "slipstick import makes a machine of one run: slipstick import FILE --extends MACHINE"
        )
        input_file.add_note(input_file.runs[0].line, "", message)
    source = f"output of {tool} {input_file.name}"
    return replace(input_file.finished(), title=tool, source=source)


_LAMMPS_RUN = late_pattern(
    r"Loop time of (?P<time>\S+) on (?P<procs>[0-9]+) procs?"
    r"(?: \([^)]*\))? for (?P<steps>[0-9]+) steps with (?P<atoms>[0-9]+) atoms\s*"
)


def _is_lammps(input_file: Reading) -> bool:
    """Return whether a file is a log of LAMMPS."""
    return any(map(_LAMMPS_RUN.fullmatch, input_file.lines))


def _read_lammps(input_file: Reading) -> Measurements:
    """Read the time of each run of LAMMPS, whose size is its atoms; it counts the threads of all
    processes. Runs of other numbers of steps are other regions.
    """
    lines_and_matches = [
        (line, run_match)
        for line, text in enumerate(input_file.lines, 1)
        if (run_match := _LAMMPS_RUN.fullmatch(text))
    ]
    have_equal_steps = len({run_match["steps"] for _, run_match in lines_and_matches}) == 1
    for line, run_match in lines_and_matches:
        processors = input_file.processors(line, "procs", run_match["procs"])
        if processors is not None:
            size = input_file.size(line, "atoms", run_match["atoms"])
            region = "" if have_equal_steps else f"{run_match['steps']} steps"
            input_file.add(
                line, Coordinates(processors, size, region), "time", run_match["time"], "s"
            )
    source = f"output of LAMMPS {input_file.name}"
    return replace(input_file.finished(), title="LAMMPS", source=source)


_GROMACS_TIME = late_pattern(r"\s*Time:\s+[0-9.]+\s+[0-9.]+\s+(?P<percent>[0-9.]+)\s*")
_GROMACS_RATE = late_pattern(r"\s*Performance:\s+(?P<values>[0-9.]+(?:\s+[0-9.]+)+)\s*")
_GROMACS_UNITS = late_pattern(r"\s*(?:\([\w/]+\)\s+)*\(ns/day\)(?:\s+\([\w/]+\))*\s*")
_GROMACS_ATOMS = late_pattern(r"\s*There are: (?P<atoms>[0-9]+) Atoms\s*")
_GROMACS_RUN = late_pattern(r"\s*starting mdrun '(?P<system>.+)'\s*")
_GROMACS_RANKS = late_pattern(
    r"\s*Using (?P<ranks>[0-9]+) MPI (?:threads?|process(?:es)?).*"
    r"|.*\bnnodes: +(?P<nodes>[0-9]+)\s*"
)
_GROMACS_THREADS = late_pattern(r"\s*Using (?P<threads>[0-9]+) OpenMP threads?\b.*")
_GROMACS_BY_CLOCK = late_pattern(r"\s*Parallel run - timing based on wallclock\.\s*")
"""What GROMACS 4.0 prints where the time of all cores is that of one of them."""
_GROMACS_GPUS = late_pattern(r"\s*[0-9]+ GPUs? (?:auto-|user-)?selected for this run\.?.*")


def _is_gromacs(input_file: Reading) -> bool:
    """Return whether a file is a log of GROMACS with its rate in ns/day."""
    return any(map(_GROMACS_UNITS.fullmatch, input_file.lines)) and any(
        map(_GROMACS_RATE.fullmatch, input_file.lines)
    )


class _GromacsRun:
    """What a log of GROMACS tells before the performance of a run."""

    def __init__(self) -> None:
        self.rank_count = 0
        self.thread_count = 1
        self.is_by_clock = False
        self.busy_cores = 0.0

    def record_processors(self, text: str) -> bool:
        """Record what a line tells of the processors of the run; return whether it tells any."""
        if ranks_match := _GROMACS_RANKS.fullmatch(text):
            self.rank_count = int(ranks_match["ranks"] or ranks_match["nodes"])
        elif threads_match := _GROMACS_THREADS.fullmatch(text):
            self.rank_count, self.thread_count = self.rank_count or 1, int(threads_match["threads"])
        elif _GROMACS_BY_CLOCK.fullmatch(text):
            self.is_by_clock = True
        elif time_match := _GROMACS_TIME.fullmatch(text):
            self.busy_cores = 0.0 if self.is_by_clock else float(time_match["percent"]) / 100
        else:
            return False
        return True

    def processor_count(self, input_file: Reading, line: int) -> int:
        """Return the threads of all ranks, which the log names, else the time of all cores over the
        elapsed time; a note tells if that is no whole number.
        """
        count = self.rank_count * self.thread_count or round(self.busy_cores)
        if given_processors := input_file.hints.processors:
            return given_processors
        if not count:
            message = (
                "no lines before it tell the processors, as 'Using 4 MPI processes' and 'Time:'"
                " with percents do; write --processors N"
            )
            input_file.refuse(line, "Performance", message)
        if not self.rank_count and abs(self.busy_cores - count) > _MOST_UNUSED_CORES:
            message = (
                f"is read as that of {count} threads, because the time of all cores is"
                f" {self.busy_cores:.4g} times the elapsed time; --processors N tells their number"
            )
            input_file.add_note(line, "Performance", message)
        return count


_MOST_UNUSED_CORES = 0.1
"""Difference between the time of cores over the elapsed time and a whole number [1]: waits of
threads leave less of 10 threads in good order."""


def _read_gromacs(input_file: Reading) -> Measurements:
    """Read the simulated time per day of each run."""
    system_name, rate_index = "", 0
    size = input_file.hints.size
    run = _GromacsRun()
    for line, text in enumerate(input_file.lines, 1):
        if run.record_processors(text):
            continue
        if run_match := _GROMACS_RUN.fullmatch(text):
            system_name = run_match["system"]
        elif atoms_match := _GROMACS_ATOMS.fullmatch(text):
            size = input_file.hints.size or float(atoms_match["atoms"]) or None
        elif _GROMACS_GPUS.fullmatch(text) and input_file.hints.processors is None:
            message = "the run uses GPUs, and its threads are counted; --processors N tells GPUs"
            input_file.add_note(line, "", message)
        elif _GROMACS_UNITS.fullmatch(text):
            rate_index = text.split().index("(ns/day)")
        elif rate_match := _GROMACS_RATE.fullmatch(text):
            coordinates = Coordinates(run.processor_count(input_file, line), size, system_name)
            rate_texts = rate_match["values"].split()
            if rate_index < len(rate_texts):
                input_file.add(line, coordinates, "throughput", rate_texts[rate_index], "ns/day")
            run = _GromacsRun()
    source = f"output of GROMACS {input_file.name}"
    return replace(input_file.finished(), title="GROMACS", source=source)


FORMATS = (
    FileFormat("lammps", _is_lammps, _read_lammps),
    FileFormat("gromacs", _is_gromacs, _read_gromacs),
    FileFormat("npb", _is_npb, _read_npb),
    FileFormat("hpcg", _is_hpcg, _read_hpcg),
    FileFormat("stream", _is_stream, _read_stream),
    FileFormat("likwid-bench", _is_likwid_bench, _read_likwid_bench),
)
