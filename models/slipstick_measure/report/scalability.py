"""The scalability of measured runs as tables for the terminal, and as data."""

from __future__ import annotations

import math
from typing import Any

from slipstick.report.formatting import (
    NOTHING,
    percent,
    plain_decimal,
    plain_table,
    quantity,
)
from slipstick_measure.scalability import (
    EFFICIENCY,
    MEMORY,
    TIME,
    WAYS,
    MeasuredRun,
    MeasuredScalability,
)


def scalability_text(scalability: MeasuredScalability) -> str:
    """Return the sizes that keep each goal, the matrix L / L', and the sources of latency, as
    text.
    """
    paragraphs = [_sizes_table(scalability, way) for way in WAYS]
    paragraphs.append(_ratio_matrix_text(scalability))
    if scalability.latency_by_run_and_cause:
        paragraphs.append(_sources_text(scalability))
    return "\n\n".join(paragraphs) + "\n"


def _goal_text(scalability: MeasuredScalability, way: str) -> str:
    """Return the goal of a way of scaling, in words."""
    goal_text = _goal_value_text(scalability, way, scalability.goal_by_way[way])
    return {
        TIME: f"time-bound: {goal_text} each",
        EFFICIENCY: f"efficiency-conserved: {goal_text} each",
        MEMORY: f"memory-bound: a {_memory_noun(scalability)} of {goal_text} a processor"
        + (", of the measured memory over the processors" if scalability.has_memory else ""),
    }[way]


def _memory_noun(scalability: MeasuredScalability) -> str:
    """Return the noun for the quantity that a memory-bound run keeps constant: the memory if it was
    measured, else the size.
    """
    return "memory" if scalability.has_memory else "size"


def _goal_value_text(scalability: MeasuredScalability, way: str, value: float) -> str:
    """Return a value that a way of scaling keeps constant as text: an efficiency in percent, a
    time, a memory, or a number.
    """
    if way == EFFICIENCY:
        return percent(value)
    if way == MEMORY:
        return quantity(value, "B") if scalability.has_memory else plain_decimal(value)
    return quantity(value, "s")


def _sizes_table(scalability: MeasuredScalability, way: str) -> str:
    """Return, as text, a table of the runs that keep the goal of a way of scaling, one for each
    number of processors.
    """
    rows = [
        [
            str(processor_count),
            *_run_texts(scalability.run_by_way_and_processors[way][processor_count]),
            " to ".join(
                _goal_value_text(scalability, way, value)
                for value in scalability.range_by_way_and_processors[way][processor_count]
            ),
        ]
        for processor_count in scalability.processors
    ]
    column_title = f"{_memory_noun(scalability)} a processor" if way == MEMORY else way
    headings = ["processors", "size", "time", "efficiency", "latency", f"measured {column_title}"]
    return f"{_goal_text(scalability, way)}\n\n{plain_table(headings, rows, range(6))}"


def _run_texts(run: MeasuredRun | None) -> list[str]:
    """Return the cells of a run: its size, time, efficiency and latency."""
    if run is None:
        return [NOTHING] * 4
    return [
        plain_decimal(run.size),
        quantity(run.time, "s"),
        percent(run.efficiency),
        quantity(run.latency, "s"),
    ]


def _ratio_matrix_text(scalability: MeasuredScalability) -> str:
    """Return the triangle of the matrix L / L' as text; each cell has the three ways, like Figure
    14 of Scale-Graph.
    """
    processor_counts = scalability.processors
    rows = [
        [
            str(smaller_count),
            *(
                "/".join(
                    _ratio_text(scalability.latency_ratio(way, smaller_count, larger_count))
                    for way in WAYS
                )
                if larger_count > smaller_count
                else ""
                for larger_count in processor_counts[1:]
            ),
        ]
        for smaller_count in processor_counts[:-1]
    ]
    headings = ["from", *(f"to {processor_count}" for processor_count in processor_counts[1:])]
    explanation = (
        "scalability L / L' from fewer processors to more, at equal time / efficiency / memory; 1"
        " is scalable;\na cell is - if no measured size reaches the goal"
    )
    return f"{explanation}\n\n{plain_table(headings, rows, range(len(headings)))}"


def _ratio_text(ratio: float | None) -> str:
    """Return a ratio as text; a dash if it is missing."""
    return NOTHING if ratio is None else f"{ratio:.2f}"


def _sources_text(scalability: MeasuredScalability) -> str:
    """Return a table of the average latency of a processor by source."""
    cause_names = list(
        dict.fromkeys(
            cause_name
            for latency_by_cause in scalability.latency_by_run_and_cause.values()
            for cause_name in latency_by_cause
        )
    )
    rows = [
        [
            str(processor_count),
            NOTHING if math.isnan(size) else plain_decimal(size),
            *(quantity(latency_by_cause.get(cause_name), "s") for cause_name in cause_names),
        ]
        for (processor_count, size), latency_by_cause in sorted(
            scalability.latency_by_run_and_cause.items()
        )
    ]
    headings = ["processors", "size", *cause_names]
    title = "average latency of a processor by source"
    return f"{title}\n\n{plain_table(headings, rows, range(len(headings)))}"


def scalability_document(scalability: MeasuredScalability) -> dict[str, Any]:
    """Return the goals, runs, ratios and sources of latency as plain data."""
    processor_counts = scalability.processors
    return {
        "goals": dict(scalability.goal_by_way),
        "runs": [
            {"way": way, "processors": processor_count, **run._asdict(), "latency": run.latency}
            for way in WAYS
            for processor_count, run in scalability.run_by_way_and_processors[way].items()
            if run is not None
        ],
        "scalability": [
            {"way": way, "from": smaller_count, "to": larger_count, "value": ratio}
            for way in WAYS
            for smaller_count in processor_counts
            for larger_count in processor_counts
            if larger_count > smaller_count
            and (ratio := scalability.latency_ratio(way, smaller_count, larger_count)) is not None
        ],
        "sources": [
            {
                "processors": processor_count,
                "size": None if math.isnan(size) else size,
                "latency": latency_by_cause,
            }
            for (
                processor_count,
                size,
            ), latency_by_cause in scalability.latency_by_run_and_cause.items()
        ],
    }
