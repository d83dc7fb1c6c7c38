"""What is measured of this host, and the spec of its machine."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slipstick.errors import Problem, SpecError
from slipstick.schema.kinds.quantity import Given, validate
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.library import Library, spec_model
from slipstick_measure.calibration.analysis import SPEC_LOCKS, HostValue
from slipstick_measure.calibration.timing import (
    LEAST_REPETITIONS,
    PASSES,
    Array,
    Cores,
    TimedKernel,
    Timing,
)
from slipstick_measure.imports.imported import ImportedSpec, quantity

BARRIERS = ("central", "dissemination")
SMALLEST_SET, LARGEST_SET = 4 << 10, 256 << 20
"""Bytes of the sets that are read at random."""
# Part of a value from which on its interval is called noisy, and its change a change.
_NOISY_WIDTH = 0.10
# ratio of a size that is found to the size that the system reports, up to which they are the same
_SAME_SIZE_RATIO = 1.5
_ELEMENT_BYTES = 8
_LINE_BYTES = 64
_READS_PER_TURN = 64
"""Reads of one turn."""
_MOST_PAIR_BLOCKS, _BLOCK_ELEMENTS = 1024, 64
"""Blocks that pairs are read from, and elements of a block, which is longer than any stride."""
_STRIDES = (8, 16, 32, 64, 128, 256)
_PIECE_ELEMENTS = 1 << 15
"""Elements that a turn adds up."""
_MOST_WARMING_READS = 1 << 15
"""Reads at random before a set is timed, as many as it has lines, but no more."""
_COMPUTE_BETWEEN_LOCKS, _COMPUTE_IN_SECTION = 250, 10
"""Units of computing between uses of a lock and in its section: so few in the section that two
cores seldom want the lock at once.
"""
_RANDOM_PATTERN: dict[str, Any] = {"pattern": "random"}
GRAINS: tuple[dict[str, Any], ...] = (
    {**_RANDOM_PATTERN, "elements": 2 << 10, "accesses": 4, "compute": 10},
    {**_RANDOM_PATTERN, "elements": 12 << 10, "accesses": 2, "compute": 5},
    {**_RANDOM_PATTERN, "elements": 96 << 10, "accesses": 3},
    {**_RANDOM_PATTERN, "elements": 96 << 10, "accesses": 1, "access": "write", "compute": 20},
    {**_RANDOM_PATTERN, "elements": 1 << 20, "accesses": 1, "compute": 50},
    {**_RANDOM_PATTERN, "elements": 3 << 20, "accesses": 2},
    {**_RANDOM_PATTERN, "elements": 12 << 10, "accesses": 2, "competitors": 1},
    {**_RANDOM_PATTERN, "elements": 1 << 20, "accesses": 1, "competitors": 1},
    {
        **_RANDOM_PATTERN,
        "elements": 1 << 10,
        "accesses": 1,
        "access": "write",
        "compute": 200,
        "competitors": 1,
    },
    {**_RANDOM_PATTERN, "elements": 96 << 10, "accesses": 1, "access": "write", "competitors": 1},
    *(
        {"accesses": 0, "compute": 120, "critical": 5, "lock": name, "competitors": 1}
        for name in SPEC_LOCKS
    ),
    {"accesses": 0, "compute": 1000, "critical": 20, "lock": "mcs", "competitors": 1},
    {"accesses": 0, "compute": 40, "critical": 40, "lock": "ticket"},
    *({"accesses": 0, "compute": 120, "barrier": name, "competitors": 1} for name in BARRIERS),
)
"""Grains whose times are held against the machine's answer; the machine is not made of them."""


def grains_to_compare(core_count: int, memory_size: int) -> list[dict[str, Any]]:
    """List the test grains for which this host has enough cores and memory [B]; with one core, none
    that use a lock.
    """
    return [
        grain
        for grain in GRAINS
        if 1 + grain.get("competitors", 0) <= core_count
        and grain.get("elements", 1) * _ELEMENT_BYTES <= memory_size
        if core_count > 1 or "lock" not in grain
    ]


_KERNEL_DESCRIPTIONS = {
    "step": (
        "a chain of multiplications and additions of whole numbers, each of which needs the one"
        " before it"
    ),
    "visit": (
        "reads of a quarter of the lines of pages at random, in no order, of sets of several sizes"
    ),
    "read": (
        "reads at random of sets of several sizes, each of which needs the one before it, with"
        " finding its page"
    ),
    "pair": "reads at random, each followed by one a stride further",
    "stream": "sums of consecutive elements by all cores; memory may serve more cores faster",
    "swap": "exchanges of a word that no other core uses",
    "ping": "a word handed from one core to another and back",
    "turns": (
        "two cores that use a lock in turn, against one, over the accesses to what the other one"
        " accessed last"
    ),
    "lock": "acquire and release of a free lock",
    "barrier": "barriers of all cores, over the accesses in a row that the law of the barrier has",
}
_SOURCES = {
    "processors.step": "step",
    "cache.line": "pair",
    "cache.other": "ping",
    "memory.access": "stream",
    "cache": "read",
    "interconnect": "read",
    "own": "swap",
    "access": "turns",
    "size": "visit",
    "latency": "lock",
}
_UNITS = {"size": "B", "line": "B", "step": "cycle"}


class Calibration:
    """Kernels that are run on some cores of this host, and their times.

    Parameters
    ----------
    core_numbers : numbers of the cores
    measurement_seconds : approximate time that all kernels together may take [s]
    largest_set_size : size of the largest set of bytes that is read at random [B]
    """

    def __init__(
        self,
        core_numbers: Sequence[int],
        measurement_seconds: float,
        largest_set_size: int = LARGEST_SET,
    ) -> None:
        self.cores = Cores(core_numbers, largest_set_size)
        self.measurement_seconds = measurement_seconds
        self.largest_set_size = largest_set_size
        self.core_count = len(core_numbers)

    def run_machine_kernels(self) -> list[Timing]:
        """Run the kernels from which a machine's values are computed.

        Raises
        ------
        NoAnswerError : other programs use the cores all the time
        """
        kernels = self.cores.kernels
        words = self.cores.words
        set_sizes = np.geomspace(
            SMALLEST_SET,
            self.largest_set_size,
            1 + round(3 * np.log2(self.largest_set_size / SMALLEST_SET)),
        )
        timed_kernels = [self._kernel_of_grain(Timing("step", {}, 1000), compute=1000)]
        for page_count in (int(count) for count in np.unique(set_sizes // kernels.PAGE_BYTES)):
            element_count = page_count * kernels.PAGE_BYTES // _ELEMENT_BYTES
            timed_kernels.append(self._kernel_of_visits(page_count))
            timed_kernels.append(
                self._kernel_of_grain(
                    Timing("read", {"bytes": element_count * _ELEMENT_BYTES}, _READS_PER_TURN),
                    elements=element_count,
                    accesses=_READS_PER_TURN,
                )
            )
        timed_kernels += [self._kernel_of_pairs(stride) for stride in _STRIDES]
        timed_kernels += [
            self._kernel_of_sums(core_count) for core_count in sorted({1, self.core_count})
        ]
        timed_kernels.append(
            TimedKernel(
                Timing("swap", {}),
                lambda rank, turns, ticks: kernels.time_swaps(words, turns, ticks),
            )
        )
        if self.core_count > 1:
            timed_kernels.append(
                TimedKernel(
                    Timing("ping", {}, 2),
                    lambda rank, turns, ticks: kernels.time_handovers(words, rank, 2, turns, ticks),
                    2,
                )
            )
            timed_kernels += [
                self._kernel_of_grain(Timing("lock", {"lock": lock}), lock=lock)
                for lock in SPEC_LOCKS
            ]
            for lock, core_count in product(SPEC_LOCKS, (1, 2)):
                timing = Timing("turns", {"lock": lock, "processors": core_count})
                timed_kernels.append(
                    self._kernel_of_grain(
                        timing,
                        core_count,
                        compute=_COMPUTE_BETWEEN_LOCKS,
                        critical=_COMPUTE_IN_SECTION,
                        lock=lock,
                    )
                )
            for barrier in BARRIERS:
                timing = Timing("barrier", {"barrier": barrier, "processors": self.core_count})
                timed_kernels.append(
                    self._kernel_of_grain(timing, self.core_count, barrier=barrier)
                )
        return self._run_kernels(timed_kernels)

    def run_test_grains(self) -> list[Timing]:
        """Run the test grains whose times are compared with predictions; no value of the machine is
        estimated from them.
        """
        return self._run_kernels(
            [
                self._kernel_of_inputs(grain)
                for grain in grains_to_compare(self.core_count, self.largest_set_size)
            ]
        )

    def run_grains(self, grains: Sequence[Mapping[str, Any]]) -> list[Timing]:
        """Run the user's grains for the full measuring time.

        Parameters
        ----------
        grains : inputs of each, by the names of ``grain/unit``; `other_lock` lets competitors
            acquire and release a lock without rest, in place of the same grain

        Raises
        ------
        NoAnswerError : other programs use the cores all the time
        """
        return self._run_kernels([self._kernel_of_inputs(grain) for grain in grains], part_count=1)

    def _kernel_of_inputs(self, grain: Mapping[str, Any]) -> TimedKernel:
        """Return the kernel of a grain with the given inputs."""
        core_count = 1 + grain.get("competitors", 0)
        is_write = grain.get("access") == "write"
        handled_inputs = ("pattern", "competitors", "access")
        grain_settings = {
            input_name: value
            for input_name, value in grain.items()
            if input_name not in handled_inputs
        }
        return self._kernel_of_grain(
            Timing("grain", grain), core_count, is_write=is_write, **grain_settings
        )

    def _run_kernels(self, timed_kernels: list[TimedKernel], part_count: int = 3) -> list[Timing]:
        """Run kernels in turn, `PASSES` times in all, and return the times of each kernel."""
        seconds_per_run = self.measurement_seconds / part_count / (PASSES * len(timed_kernels))
        for timed_kernel in timed_kernels * PASSES:
            self.cores.measure(timed_kernel, seconds_per_run)
        for timing in (timed_kernel.timing for timed_kernel in timed_kernels):
            if len(timing.seconds) < LEAST_REPETITIONS:
                timing.seconds += timing.crowded_seconds
            else:
                timing.disturbed_count += len(timing.crowded_seconds)
        return [timed_kernel.timing for timed_kernel in timed_kernels]

    def _kernel_of_grain(
        self,
        timing: Timing,
        core_count: int = 1,
        *,
        elements: int = 1,
        accesses: int = 0,
        is_write: bool = False,
        compute: int = 0,
        lock: str = "",
        critical: int = 0,
        barrier: str = "",
        other_lock: str = "",
    ) -> TimedKernel:
        """Return the kernel that repeats a grain on a number of cores. With `other_lock`, the cores
        after the first acquire and release that lock instead.
        """
        kernels = self.cores.kernels
        cores = self.cores
        warming_reads = min(elements * _ELEMENT_BYTES // _LINE_BYTES, _MOST_WARMING_READS)

        def encoded_plan(*core_work: Any) -> Array:
            accesses, compute, lock, critical = core_work
            numbers_of_kinds = (
                ("", *SPEC_LOCKS).index(lock),
                critical,
                ("", *BARRIERS).index(barrier),
            )
            grain_arguments = [
                core_count,
                elements,
                accesses,
                is_write,
                compute,
                *numbers_of_kinds,
                warming_reads,
                3,
                7,
            ]
            return np.array(grain_arguments, dtype=np.int64)

        own_plan = encoded_plan(accesses, compute, lock, critical)
        other_plan = encoded_plan(0, 0, other_lock, 0) if other_lock else own_plan

        def run(rank: int, turns: int, ticks: Array) -> None:
            plan = other_plan if rank else own_plan
            kernels.repeat_grain(cores.memory, cores.words, rank, turns, plan, ticks)

        return TimedKernel(
            timing, run, core_count, self._cache_warmer(elements) if elements > 1 else None
        )

    def _cache_warmer(self, element_count: int) -> Callable[[], Any]:
        """Return a function that reads a number of elements once, which brings them into the
        caches.
        """
        return lambda: self.cores.run_once(
            self._kernel_of_sums(1, element_count).kernel,
            1,
            element_count // min(element_count, _PIECE_ELEMENTS),
        )

    def _kernel_of_visits(self, page_count: int) -> TimedKernel:
        """Return the kernel that reads lines of random pages."""
        kernels = self.cores.kernels
        memory = self.cores.memory
        words = self.cores.words
        visited_bytes = page_count * kernels.PAGE_BYTES
        warming_reads = min(4 * page_count, _MOST_WARMING_READS // kernels.LINES_PER_VISIT)
        timing = Timing("visit", {"bytes": visited_bytes}, kernels.LINES_PER_VISIT)
        warm_caches = self._cache_warmer(visited_bytes // _ELEMENT_BYTES)
        return TimedKernel(
            timing,
            lambda rank, *turns_and_ticks: kernels.time_visits(
                memory, words, page_count, warming_reads, *turns_and_ticks
            ),
            1,
            warm_caches,
        )

    def _kernel_of_pairs(self, stride: int) -> TimedKernel:
        """Return the kernel that reads two elements at a stride, of random blocks."""
        kernels = self.cores.kernels
        memory = self.cores.memory
        words = self.cores.words
        element_distance = stride // _ELEMENT_BYTES
        block_count = min(_MOST_PAIR_BLOCKS, len(memory) // _BLOCK_ELEMENTS)
        timing = Timing("pair", {"stride": stride})
        return TimedKernel(
            timing,
            lambda rank, *turns_and_ticks: kernels.time_pairs(
                memory, words, block_count, _BLOCK_ELEMENTS, element_distance, *turns_and_ticks
            ),
        )

    def _kernel_of_sums(self, core_count: int, element_count: int = 0) -> TimedKernel:
        """Return the kernel that sums the elements, or the first of them, in pieces; each core sums
        its own part.
        """
        kernels = self.cores.kernels
        memory = self.cores.memory
        words = self.cores.words
        elements_per_core = (element_count or len(memory)) // core_count
        piece_elements = min(elements_per_core, _PIECE_ELEMENTS)
        timing = Timing(
            "stream", {"processors": core_count}, piece_elements * core_count * _ELEMENT_BYTES
        )
        piece_elements_and_count = piece_elements, elements_per_core // piece_elements
        return TimedKernel(
            timing,
            lambda rank, *turns_and_ticks: kernels.time_sums(
                memory,
                words,
                core_count,
                rank * elements_per_core,
                *piece_elements_and_count,
                *turns_and_ticks,
            ),
            core_count,
        )


def machine_spec(
    host_values: Mapping[str, HostValue],
    timings: Sequence[Timing],
    clock_frequency: float,
    core_count: int,
    spec_name: str,
) -> ImportedSpec:
    """Return the spec of a measured machine, with intervals and with notes on what is uncertain.

    Parameters
    ----------
    host_values : its values by path
    timings : the measurements from which the values were computed
    clock_frequency : of the processors [cycle/s]
    core_count : number of cores that were used
    spec_name : name of the machine file, for its title and notes
    """
    spec = ImportedSpec(
        "machine",
        f"{_processor_name()}, measured on {core_count} cores",
        spec_name,
        command_words="calibrate -o",
    )
    used_kernel_names = {timing.kernel for timing in timings}
    spec.document = {"machine": 1, "title": spec.title, "source": "measured"}
    spec.document["sources"] = {
        "measured": (
            f"slipstick calibrate, {datetime.date.today()}, {platform.system()}"
            f" {platform.machine()}"
        ),
        **{
            kernel_name: description
            for kernel_name, description in _KERNEL_DESCRIPTIONS.items()
            if kernel_name in used_kernel_names
        },
        "system": "told by the operating system",
        "cannot": "not measurable on this host",
    }
    host_values = _with_reported_sizes(host_values, spec)
    spec.document |= _tables_of_machine(host_values, clock_frequency, core_count)
    _note_disturbances(spec, host_values, timings, core_count)
    return spec


def _tables_of_machine(
    host_values: Mapping[str, HostValue], clock_frequency: float, core_count: int
) -> dict[str, Any]:
    """Return the tables of a machine file: measured values with intervals, and assumptions for
    values that cannot be measured; `machine_spec` describes the parameters.
    """
    tables: dict[str, Any] = {}
    for path, source in _UNMEASURED_VALUES.items():
        _set_at_path(tables, path, source if isinstance(source, str) else dict(source))
    _set_at_path(tables, "processors.count", quantity(os.cpu_count() or core_count, "1", "system"))
    _set_at_path(tables, "processors.clock", quantity(clock_frequency / 1e9, "GHz", "system"))
    for path, host_value in host_values.items():
        unit = unit_of_path(path)
        number_per_base_unit = 1e9 if unit == "ns" else 1.0
        quantity_table = quantity(
            host_value.value * number_per_base_unit,
            unit,
            _source_of_value(path),
            False,
            host_value.low * number_per_base_unit,
            host_value.high * number_per_base_unit,
        )
        _set_at_path(tables, path, quantity_table)
    for lock_name, lock_kind in SPEC_LOCKS.items():
        if lock_name in tables.get("locks", {}):
            tables["locks"][lock_name] = {"kind": lock_kind, **tables["locks"][lock_name]}
    for barrier_name in tables.get("barriers", {}):
        barrier_table = tables["barriers"][barrier_name]
        tables["barriers"][barrier_name] = {"kind": barrier_name, **barrier_table}
    return tables


def _note_disturbances(
    spec: ImportedSpec,
    host_values: Mapping[str, HostValue],
    timings: Sequence[Timing],
    core_count: int,
) -> None:
    """Note how many repetitions other programs disturbed, and which values are missing or noisy."""
    disturbed_count = sum(timing.disturbed_count for timing in timings)
    repetition_count = sum(len(timing.seconds) + timing.disturbed_count for timing in timings)
    spec.add_note(
        f"{disturbed_count} of {repetition_count} repetitions were disturbed by other programs,"
        " and left"
        " out"
    )
    if core_count == 1:
        spec.add_note(
            "left out: locks, barriers and what one core gets from the cache of another, which need"
            " two cores"
        )
    if noisy_paths := [
        path
        for path, host_value in host_values.items()
        if host_value.high - host_value.low > 2 * _NOISY_WIDTH * host_value.value
    ]:
        spec.add_note(
            f"noisy, more than {_NOISY_WIDTH:.0%} to either side: {', '.join(noisy_paths)}"
        )


def _with_reported_sizes(
    host_values: Mapping[str, HostValue], spec: ImportedSpec
) -> dict[str, HostValue]:
    """Widen the intervals of cache sizes so that they contain the sizes that the system reports,
    and note larger differences.
    """
    widened_values = dict(host_values)
    reported_sizes = reported_cache_sizes()
    size_paths = sorted(
        (path for path in host_values if path.endswith("size")),
        key=lambda path: host_values[path].value,
    )
    for path, reported_size in zip(
        size_paths, reported_sizes if len(reported_sizes) == len(size_paths) else (), strict=False
    ):
        measured_size, low, high = host_values[path]
        widened_values[path] = HostValue(
            measured_size, min(low, reported_size), max(high, reported_size)
        )
        if max(reported_size / measured_size, measured_size / reported_size) > _SAME_SIZE_RATIO:
            sizes_text = (
                f"measured by reads {measured_size / 2**20:.3g} MiB, the system reports"
                f" {reported_size / 2**20:.3g} MiB"
            )
            spec.add_note(
                f"{path}: {sizes_text}, and the interval holds both; of a cache that others use,"
                " a guest"
                " gets a share"
            )
    if reported_sizes and len(reported_sizes) != len(size_paths):
        spec.add_note(
            f"reads show {len(size_paths)} caches, the system reports {len(reported_sizes)}"
        )
    if "hypervisor" in _system_text() and "cache.other" in host_values:
        delay_note = (
            "where the hypervisor moves cores, what passes between them may take three times as"
            " long"
        )
        spec.add_note(
            f"a virtual machine: {delay_note}, and memory varies with other guests; 10 % again"
            " is not promised"
        )
    return widened_values


_UNMEASURED_VALUES: Mapping[str, Any] = {
    "processors.count": "",
    "processors.clock": "",
    "processors.step": "",
    "cache.size": "",
    "cache.line": "",
    "cache.ways": quantity(8, "1", "cannot", True),
    "cache.hit": "",
    "cache.protocol": "write-back",
    "interconnect.kind": "crossbar",
    "interconnect.hop": "",
    "interconnect.transfer": quantity(0, "ns", "contained in the access of the module", True),
    "memory.modules": quantity(1, "1", "cannot", True),
    "memory.access": "",
    "memory.block": quantity(4096, "B", "cannot", True),
    "memory.element": quantity(_ELEMENT_BYTES, "B", "the elements of the kernels"),
}
"""The values of a machine in the order in which they are written; those that are not measured have
their assumed value.
"""


class HostChange(NamedTuple):
    """A value of a machine file and of new measurements, in base units; None where a cache does not
    exist.
    """

    path: str
    then: float | None
    now: float | None
    changed: bool


def compare_with_file(file: Path, host_values: Mapping[str, HostValue]) -> list[HostChange]:
    """Compare a machine's file with new measurements; a value has changed if the intervals do not
    overlap and it differs by more than 10 %.

    Raises
    ------
    SpecError : the file is no machine that was calibrated
    """
    library = Library()
    tree = library.load("machine", str(file))
    spec = validate(spec_model("machine", tree), tree)
    if not isinstance(spec, SharedMemorySpec) or (
        not host_values and _value_in_spec(spec, "cache.hit") is None
    ):
        raise SpecError(
            [Problem(str(file), 1, 1, "", "this is no machine that slipstick calibrate wrote")]
        )
    changes = []
    for path in dict.fromkeys([*host_values, *_measured_paths(spec)] if host_values else ()):
        new_value = host_values.get(path)
        earlier_value = _value_in_spec(spec, path)
        if new_value is None or earlier_value is None:
            changes.append(
                HostChange(
                    path,
                    earlier_value.value if earlier_value else None,
                    new_value.value if new_value else None,
                    True,
                )
            )
            continue
        low, high = (
            interval_end if interval_end is not None else earlier_value.value
            for interval_end in (earlier_value.low, earlier_value.high)
        )
        are_disjoint = new_value.low > high or new_value.high < low
        changes.append(
            HostChange(
                path,
                earlier_value.value,
                new_value.value,
                are_disjoint and abs(new_value.value / earlier_value.value - 1) > _NOISY_WIDTH,
            )
        )
    return changes


def _value_in_spec(node: Any, path: str) -> Given | None:
    """Return the quantity at a path of a machine; None if there is none."""
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else getattr(node, key, None)
    return node if isinstance(node, Given) else None


def _measured_paths(spec: SharedMemorySpec) -> list[str]:
    """Return the paths of the size and the hit time of each inner cache of a machine."""
    inner_caches = spec.cache.inner if spec.cache else ()
    return [f"cache.inner.{name}.{key}" for name in inner_caches for key in ("size", "hit")]


def unit_of_path(path: str) -> str:
    """Return the unit in which the value at a path of a machine is written."""
    return _UNITS.get(path.rpartition(".")[2], "ns")


def _set_at_path(tables: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path of nested tables."""
    *outer_keys, last_key = path.split(".")
    for key in outer_keys:
        tables = tables.setdefault(key, {})
    tables[last_key] = value


def _source_of_value(path: str) -> str:
    """Return the name of the kernel with which the value at a path was measured."""
    section, _, _ = path.partition(".")
    if section == "barriers":
        return "barrier"
    last_key = path.rpartition(".")[2]
    return (
        _SOURCES.get(path)
        or (_SOURCES["size"] if last_key == "size" else _SOURCES.get(section))
        or _SOURCES[last_key]
    )


def reported_cache_sizes() -> list[float]:
    """Return the sizes of the first processor's data caches as Linux reports them, nearest first
    [B]; empty on other systems.
    """
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    types_and_sizes = (
        [(folder / name).read_text().strip() for name in ("type", "size")] for folder in folders
    )
    return [
        float(size[:-1]) * 1024
        for cache_type, size in types_and_sizes
        if cache_type != "Instruction" and re.fullmatch(r"\d+K", size)
    ]


def clock_frequency() -> float:
    """Return the clock of the first processor that the system reports [cycle/s]; 1e9 where it
    reports none.
    """
    match = re.search(r"^cpu MHz\s*:\s*([\d.]+)", _system_text(), re.MULTILINE)
    return float(match[1]) * 1e6 if match else 1e9


def _processor_name() -> str:
    """Return the name of the host's processor."""
    match = re.search(r"^model name\s*:\s*(.+)", _system_text(), re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def _system_text() -> str:
    """Return the text in which Linux describes the processors; empty on other systems."""
    path = Path("/proc/cpuinfo")
    return path.read_text("utf-8", "replace") if path.exists() else ""
