"""Views of a trace: access matrix, concurrency, utilization and work by window, contention in a
network of switches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import ceil, log
from typing import Any

from slipstick.answer import Value
from slipstick.errors import ModelError
from slipstick.late import dataclass, np, replace
from slipstick.model.machine import omega_outputs
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.kinds.shared_memory import SharedMemorySpec
from slipstick.schema.library import Library, spec_model
from slipstick.schema.text import Mark
from slipstick_measure.account import measured
from slipstick_measure.results import TraceViews
from slipstick_measure.traces.trace import Array, Indices, ProgramTrace, TraceOutline, TraceSpans

DEFAULT_WINDOWS = 40
"""Windows that a trace is cut into by default."""

MOST_WINDOWS = 10_000
_SPANS_AT_ONCE = 1 << 20
_SHORTEST_SPAN = 1e-9
MOST_NAMED_CELLS = 4096
"""Cells of a matrix that are values by name, ``accesses[processor 3,memory-2]``; of more, only
the sums are.
"""

_BOOKED_CAUSES = ("busy", "idle", "imbalance", "communication")
"""What the account of a trace books beside activities."""

MOST_CELLS = 4_000_000
"""Cells of a matrix, and of slots and outputs that are counted at a time."""


@dataclass(frozen=True, slots=True)
class SwitchedNetwork:
    """A switching network of k x k switches between processors and memory modules.

    Parameters
    ----------
    radix : k, inputs and outputs of a switch [1]
    stage_count : how many [1]
    slot_time : how long a request occupies its path [s]
    """

    radix: int
    stage_count: int
    slot_time: float

    def outputs_by_stage(self, source: Any, target: Any) -> Mapping[str, Any]:
        """Return the output that each request needs at each stage, and its module;
        `slipstick.model.machine.omega_outputs` describes them.
        """
        return omega_outputs(self.radix, self.stage_count, source, target)

    @property
    def ports(self) -> int | None:
        """Number of processors and of modules that the network joins; None if it has no stages."""
        return self.radix**self.stage_count if self.stage_count else None


def network_of_machine(
    reference: str, library: Library, mark: Mark | None = None
) -> SwitchedNetwork:
    """Return the network of a machine. A bus, a ring or a crossbar becomes a network without
    stages, in which requests conflict only at modules.

    A circuit is held from the request to the reply: for two passes through all stages, for the data
    and for the module. A packet occupies an output only for its data.

    Parameters
    ----------
    reference : name in the catalogue, or path
    library : what was read so far
    mark : where the reference is written

    Raises
    ------
    SpecError : there is no such machine, or it has no shared memory
    """
    tree = library.load("machine", reference, mark, "machine")
    spec = validate(spec_model("machine", tree), tree)
    if not isinstance(spec, SharedMemorySpec):
        error_mark = mark or Mark(reference, 1, 1)
        message = f"{reference} has no shared memory, so no network between processors and modules"
        raise error_mark.error(message, "machine")
    interconnect = spec.interconnect
    access_time = spec.memory.access.value
    if interconnect.kind != "multistage":
        return SwitchedNetwork(1, 0, access_time)
    stage_count = ceil(log(interconnect.ports.value, interconnect.radix.value) - 1e-9)
    holding_time = (
        2 * stage_count * interconnect.hop.value + access_time
        if interconnect.switching == "circuit"
        else 0.0
    )
    return SwitchedNetwork(
        int(interconnect.radix.value), stage_count, interconnect.transfer.value + holding_time
    )


def conflicts_by_stage(
    network: SwitchedNetwork, source: Indices, target: Indices, times: Array, counts: Array
) -> dict[str, tuple[Array, Array]]:
    """Return the conflicts at each stage: the processors beyond the first that request the same
    output in the same time slot, and the times of the slots. A processor does not conflict with
    itself.

    Requests of a node for its own module pass no switch; they count at the module.

    Parameters
    ----------
    network : that they go through
    source, target : numbers of processors and modules, from 0
    times : of each request [s]
    counts : requests made at once at each time

    Returns
    -------
    by stage, the beginnings of the slots in which requests conflict [s], and how many do
    """
    slot_indices = np.floor(times / network.slot_time + 1e-9).astype(np.int64)
    is_request = counts > 0
    is_remote = source != target
    conflicts_of_stages = {}
    for stage, outputs_of_stage in network.outputs_by_stage(source, target).items():
        is_counted = is_request if stage == "module" else is_request & is_remote
        requested_outputs = outputs_of_stage[is_counted]
        sources = source[is_counted]
        output_count = int(requested_outputs.max(initial=0)) + 1
        source_count = int(sources.max(initial=0)) + 1
        distinct_requests = np.unique(
            (slot_indices[is_counted] * output_count + requested_outputs) * source_count + sources
        )
        slot_output_keys, processor_counts = np.unique(
            distinct_requests // source_count, return_counts=True
        )
        excess_processors: Array = processor_counts.astype(np.float64) - 1.0
        conflicts_of_stages[stage] = (
            (slot_output_keys // output_count)[excess_processors > 0] * network.slot_time,
            excess_processors[excess_processors > 0],
        )
    return conflicts_of_stages


def times_by_window(
    spans: TraceSpans,
    row_by_span: Indices,
    row_count: int,
    edges: Array,
    weight_by_span: Array | None = None,
) -> Array:
    """Return the time of spans by row and window, (rows, windows) [s]; a span across several
    windows is split among them.

    Parameters
    ----------
    spans : stretches of time
    row_by_span : row of each span, 0 to rows - 1, such as its processor
    row_count : number of rows
    edges : of the windows, from 0, equally far apart [s]
    weight_by_span : weight of each span; 1 if None
    """
    window_count = len(edges) - 1
    window_width = edges[1] - edges[0]
    # What a span adds from its start on, less what it would add from its end on.
    time_sums = np.zeros((row_count, window_count + 1))
    for first_span in range(0, len(row_by_span), _SPANS_AT_ONCE):
        selection = slice(first_span, first_span + _SPANS_AT_ONCE)
        for sign, span_times in ((1.0, spans.starts[selection]), (-1.0, spans.ends[selection])):
            window_index = np.clip(
                (span_times / window_width).astype(np.int64), 0, window_count - 1
            )
            cell_index = row_by_span[selection].astype(np.int64) * (window_count + 1) + window_index
            weights = (
                np.broadcast_to(sign, len(span_times))
                if weight_by_span is None
                else sign * weight_by_span[selection]
            )
            # The rest of its own window, and the whole of each later one.
            time_sums += np.bincount(
                cell_index, weights * (edges[window_index + 1] - span_times), time_sums.size
            ).reshape(row_count, -1)
            time_sums += np.cumsum(
                np.bincount(cell_index + 1, weights * window_width, time_sums.size).reshape(
                    row_count, -1
                ),
                axis=1,
            )
    # Differences of sums that cancel leave rounding errors, which count as 0.
    return np.where(
        time_sums[:, :window_count] > 1e-12 * window_width, time_sums[:, :window_count], 0.0
    )


def concurrency(trace: ProgramTrace) -> tuple[Array, Indices]:
    """Return the number of processors at useful work as a step function: (times [s], numbers)."""
    busy_spans = trace.busy_spans
    starts = np.sort(busy_spans.starts)
    ends = np.sort(busy_spans.ends)
    del busy_spans
    times = np.unique(np.concatenate([[0.0], starts, ends]))
    return times, np.searchsorted(starts, times, "right") - np.searchsorted(ends, times, "right")


def access_matrix(trace: ProgramTrace) -> Array:
    """Return the number of accesses of each processor to each object, (processors, objects)."""
    processor_count = len(trace.processors)
    object_count = len(trace.objects)
    cell_index = (
        trace.accesses.processor_indices.astype(np.int64) * object_count
        + trace.accesses.object_indices
    )
    access_counts: Array = (
        np.bincount(cell_index, trace.accesses.counts, processor_count * object_count)
        .reshape(processor_count, object_count)
        .astype(float)
    )
    return access_counts


def numbers_in_names(names: Sequence[str], ports: int | None) -> list[int]:
    """Return the number at the end of each name of a processor or module.

    Raises
    ------
    ModelError : a name has none, or the machine has no such number
    """
    numbers_of_names = []
    for name in names:
        match = re.search(r"[0-9]{1,9}$", name)
        if match is None or (ports is not None and int(match[0]) >= ports):
            raise ModelError(
                f"{name[:60]!r} is no number of a processor or module of the machine, which are 0"
                f" to {(ports or 1e9) - 1:g}"
            )
        numbers_of_names.append(int(match[0]))
    return numbers_of_names


def checked_window_count(
    trace: TraceOutline, window_width: float | None = None, network: SwitchedNetwork | None = None
) -> int:
    """Return the number of windows of a trace; raise if `views_of` cannot compute its views.

    Raises
    ------
    ModelError : as for `views_of`
    """
    window_count = (
        DEFAULT_WINDOWS if window_width is None else ceil(trace.duration / window_width - 1e-9)
    )
    if not 0 < window_count <= MOST_WINDOWS:
        raise ModelError(
            f"{window_count:,} windows are too many; at most {MOST_WINDOWS:,} are shown"
        )
    processor_count = len(trace.processors)
    object_count = len(trace.objects)
    if processor_count * object_count > MOST_CELLS:
        raise ModelError(
            f"{processor_count:,} processors and {object_count:,} objects are too many for a"
            " matrix; choose some"
            " with --only"
        )
    if network is not None:
        numbers_in_names((*trace.processors, *trace.objects), network.ports)
    return window_count


def value_names(
    trace: TraceOutline, window_width: float | None, network: SwitchedNetwork | None
) -> frozenset[str]:
    """Return the names of all values that the views of a trace can have; a part without events may
    lack some.

    Raises
    ------
    ModelError : as for `views_of`
    """
    checked_window_count(trace, window_width, network)
    causes = (*trace.labels, trace.gap_label, *_BOOKED_CAUSES)
    places_of_contention = trace.waiting if network is None else network.outputs_by_stage(0, 0)
    names_by_kind = {
        "account": causes,
        "processors_lost": causes,
        "accesses": _access_names(trace),
        "contention": places_of_contention,
    }
    return frozenset(
        f"{value_kind}[{name}]" for value_kind, names in names_by_kind.items() for name in names
    )


def views_of(
    trace: ProgramTrace,
    window_width: float | None = None,
    network: SwitchedNetwork | None = None,
    *,
    has_own_modules: bool = False,
) -> TraceViews:
    """Return all views of a trace with its account, and the values of both.

    Parameters
    ----------
    trace : what was traced
    window_width : length of a window [s]; a fortieth of the trace if None
    network : of the machine, for contention; if None, what waits at resources, where the trace says
        it
    has_own_modules : whether each processor has the module with its number as its own, as nodes do

    Raises
    ------
    ModelError : the windows are too many, or processors and objects, or the network has no such
        processor or module
    """
    window_count = checked_window_count(trace, window_width, network)
    edges = np.arange(window_count + 1.0) * (
        trace.duration / window_count if window_width is None else window_width
    )
    busy_spans = trace.busy_spans
    spans = trace.spans
    utilization = times_by_window(
        busy_spans, busy_spans.processor_indices, len(trace.processors), edges
    ) / np.minimum(edges[1] - edges[0], trace.duration - edges[:-1])
    del busy_spans  # there may be many spans
    time_by_label = times_by_window(spans, spans.label_indices, len(trace.labels), edges)
    account = measured(trace.measurements())
    (answer,) = account.answers
    step_times, processors_at_work = concurrency(trace)
    duration_by_number: Array = np.bincount(
        processors_at_work, np.diff(np.append(step_times, trace.duration))
    ).astype(float)
    contention = _contention_by_window(trace, edges, network)
    access_counts = access_matrix(trace)
    view_values = {
        "concurrency": Value(
            float(duration_by_number @ np.arange(len(duration_by_number))) / trace.duration, "1"
        ),
        # Clocks are rounded, so that two that follow each other may seem to overlap for an instant.
        "largest_concurrency": Value(
            float(
                np.flatnonzero(duration_by_number > _SHORTEST_SPAN * trace.duration).max(initial=0)
            ),
            "1",
        ),
        "accesses": Value(float(access_counts.sum()), "1"),
        **_access_value_by_name(trace, access_counts),
        **(
            _remote_access_value_by_name(trace, network)
            if has_own_modules or network is not None
            else {}
        ),
        "hottest_object": Value(float(access_counts.sum(axis=0).max(initial=0.0)), "1"),
        **{
            f"contention[{name}]": Value(float(wait.sum()), "1" if network else "s")
            for name, wait in contention.items()
        },
    }
    return TraceViews(
        trace.file,
        replace(answer, values={**answer.values, **view_values}),
        trace.processors,
        trace.objects,
        access_counts,
        edges,
        utilization,
        {
            name: time_by_label[index]
            for index, name in enumerate(trace.labels)
            if time_by_label[index].any()
        },
        duration_by_number,
        contention,
        network is not None,
        trace.notes,
    )


def _remote_access_value_by_name(
    trace: ProgramTrace, network: SwitchedNetwork | None
) -> dict[str, Value]:
    """Return the number of accesses to the modules of other nodes, as a value by name."""
    ports = None if network is None else network.ports
    source, target = (
        np.array(numbers_in_names(names, ports)) for names in (trace.processors, trace.objects)
    )
    accesses = trace.accesses
    is_remote = source[accesses.processor_indices] != target[accesses.object_indices]
    return {"remote_accesses": Value(float(np.asarray(accesses.counts)[is_remote].sum()), "1")}


def _access_names(trace: TraceOutline) -> list[str]:
    """Return the names of the values of an access matrix: sums by object and by processor, and the
    cells of a small matrix.
    """
    processor_names = trace.processors
    object_names = trace.objects
    cells = (
        product(processor_names, object_names)
        if len(processor_names) * len(object_names) <= MOST_NAMED_CELLS
        else ()
    )
    return [
        *(f"all,{name}" for name in object_names),
        *(f"{name},all" for name in processor_names),
        *map(",".join, cells),
    ]


def _access_value_by_name(trace: ProgramTrace, access_counts: Array) -> dict[str, Value]:
    """Return the sums and the cells of a matrix as values by name."""
    sums_and_cells = chain(access_counts.sum(axis=0), access_counts.sum(axis=1), access_counts.flat)
    return {
        f"accesses[{name}]": Value(float(count), "1")
        for name, count in zip(_access_names(trace), sums_and_cells, strict=False)
    }


def _contention_by_window(
    trace: ProgramTrace, edges: Array, network: SwitchedNetwork | None
) -> dict[str, Array]:
    """Return contention by window: the conflicts at each stage, or without a network, the time that
    requests wait at each resource [s].
    """
    window_count = len(edges) - 1
    if network is not None:
        source, target = (
            np.array(numbers_in_names(names, network.ports))
            for names in (trace.processors, trace.objects)
        )
        accesses = trace.accesses
        conflict_times = conflicts_by_stage(
            network,
            source[accesses.processor_indices],
            target[accesses.object_indices],
            accesses.times,
            np.asarray(accesses.counts),
        )
        window_by_conflict = {
            place_name: np.clip(
                np.searchsorted(edges, conflict_starts, "right") - 1, 0, window_count - 1
            )
            for place_name, (conflict_starts, _) in conflict_times.items()
        }
        return {
            place_name: np.bincount(
                window_by_conflict[place_name], excess_processors, window_count
            ).astype(float)
            for place_name, (_, excess_processors) in conflict_times.items()
        }
    wait_by_place = {}
    for place_name, (times, waiting_counts) in trace.waiting.items():
        starts = np.minimum(times, trace.duration)
        ends = np.minimum(np.append(times[1:], trace.duration), trace.duration)
        zeros = np.zeros(len(times), dtype=np.int64)
        wait_by_place[place_name] = times_by_window(
            TraceSpans(zeros, zeros, starts, ends), zeros, 1, edges, waiting_counts
        )[0]
    return {place_name: wait for place_name, wait in wait_by_place.items() if wait.any()}
