"""A grain of the user's choice, measured on this host: the figures of the unit grains, with one
input of the grain varied in each and all others as they are.

Grain efficiency is T_0 / T_N: the time of a grain alone over that among N competitors that do the
same. Each time is the first quartile of its repetitions, which other programs disturb least. The
ends of an interval take the third quartile of one time and the shortest repetition of the other.

Source: Nanda and Ni, Supercomputing 1992, Figures 5 to 9. What differs: accesses are at random,
for the kernels have no strides, and competitors number at most one less than the cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from slipstick.program import PROGRAMS
from slipstick.schema.kinds.quantity import Spec, validate
from slipstick.schema.library import Library
from slipstick.schema.programs import WorkloadSpec
from slipstick.schema.text import Table, key_mark, node_at, value_mark
from slipstick_measure.calibration.analysis import FIRST_QUARTILE, SPEC_LOCKS
from slipstick_measure.calibration.timing import Timing
from slipstick_measure.results import GRAIN_FIGURES, GrainFigure, GrainPoint

if TYPE_CHECKING:
    from slipstick_measure.calibration.host import Calibration

MOST_ELEMENTS = 32 << 20
"""Elements of 8 B in the memory that the kernels read."""
_COMPUTE_VALUES = (0, 2, 4, 10, 20, 50, 100, 200)
_ELEMENT_COUNTS = (1, 1 << 10, 1 << 15, 1 << 20)
_CRITICAL_VALUES = (0, 4, 8, 14, 30)
_VARIED_LOCKS = ("test-and-set", "ticket", "mcs")
_MOST_COMPETITOR_COUNTS = 8
_QUANTILES = (0.0, FIRST_QUARTILE, 1 - FIRST_QUARTILE)
"""Parts of the repetitions that take less than one end of a time, the time, and the other end."""


class GrainInputsSpec(Spec):
    """What a grain of this host does: accesses at random, computing, a critical section."""

    elements: int = Field(1, ge=1, le=MOST_ELEMENTS, description="elements shared by all, of 8 B")
    pattern: Literal["random"] = Field("random", description="every element equally likely")
    accesses: int = Field(1, ge=0, le=10**6, description="accesses of a grain to shared elements")
    access: Literal["read", "write"] = Field("read", description="whether the accesses write")
    compute: int = Field(0, ge=0, le=10**9, description="units of computing of a grain")
    lock: Literal["none", "test-and-set", "test-and-test-and-set", "ticket", "array", "mcs"] = (
        Field("none", description="the lock of the critical section")
    )
    critical: int = Field(0, ge=0, le=10**9, description="units of computing in the section")


class GrainWorkloadSpec(WorkloadSpec):
    """A workload of ``grain/unit`` that this host can run."""

    model: Literal["grain/unit"] = Field(description="name of the program, as in `slipstick list`")
    inputs: GrainInputsSpec = Field(GrainInputsSpec(), description="what a grain does")  # type: ignore[assignment]


def read_grain(file: str) -> tuple[str, dict[str, Any]]:
    """Read the title and the inputs of a grain from a workload of ``grain/unit``.

    Raises
    ------
    SpecError : the file is no such workload, or has an input that the kernels do not run
    """
    tree = Library().load("workload", file)
    _refuse_inputs_of_the_model(tree)
    spec = validate(GrainWorkloadSpec, tree)
    inputs = spec.inputs.model_dump()
    if not inputs["accesses"] and not inputs["compute"] and inputs["lock"] == "none":
        message = "the grain has no accesses, no computing and no lock: write at least one of them"
        raise value_mark(tree, "inputs").error(message, "inputs")
    if inputs["critical"] and inputs["lock"] == "none":
        message = f"critical needs a lock, one of {', '.join(SPEC_LOCKS)}"
        raise value_mark(tree, "inputs.critical").error(message, "inputs.critical")
    return spec.title, inputs


def _refuse_inputs_of_the_model(tree: Table) -> None:
    """Refuse inputs that the model of a grain has and the kernels of this host do not."""
    inputs = node_at(tree, "inputs")
    known_names = {program_input.name for program_input in PROGRAMS["grain/unit"].inputs}
    for name in inputs.entries if isinstance(inputs, Table) else ():
        if name in known_names and name not in GrainInputsSpec.model_fields:
            message = (
                f"{name} is an input of the model of a grain; a grain that runs here accesses at"
                f" random and has no {name}: leave it out"
            )
            raise key_mark(tree, f"inputs.{name}").error(message, f"inputs.{name}")


def competitor_counts(core_count: int) -> list[int]:
    """Return the numbers of competitors to measure, up to nine, from 0 to one less than the cores.

    >>> competitor_counts(2), competitor_counts(64)
    ([0, 1], [0, 1, 2, 4, 8, 16, 32, 63])
    """
    if core_count <= _MOST_COMPETITOR_COUNTS:
        return list(range(core_count))
    powers_of_two = [
        2**exponent
        for exponent in range((core_count - 1).bit_length())
        if 2**exponent < core_count - 1
    ]
    return [0, *powers_of_two, core_count - 1]


def measure_grain(grain: Mapping[str, Any], calibration: Calibration) -> list[GrainPoint]:
    """Run a grain with the variations of each figure, alone and with competitors, and return the
    times.

    Parameters
    ----------
    grain : inputs, as of `read_grain`
    calibration : the cores that run it

    Raises
    ------
    NoAnswerError : other programs use the cores all the time
    """
    points_with_inputs = [
        (figure, axis_value, line_value, varied_inputs)
        for figure in GRAIN_FIGURES
        for axis_value, line_value, varied_inputs in _points_of_figure(
            figure, grain, calibration.core_count
        )
    ]
    grain_inputs = [
        inputs
        for *_, varied_inputs in points_with_inputs
        for inputs in (varied_inputs, _inputs_without_competitors(varied_inputs))
    ]
    different_inputs = list(
        {_hashable_inputs(varied_inputs): varied_inputs for varied_inputs in grain_inputs}.values()
    )
    timing_by_inputs = dict(
        zip(
            map(_hashable_inputs, different_inputs),
            calibration.run_grains(different_inputs),
            strict=True,
        )
    )
    return [
        _grain_point(
            figure,
            axis_value,
            line_value,
            timing_by_inputs[_hashable_inputs(varied_inputs)],
            timing_by_inputs[_hashable_inputs(_inputs_without_competitors(varied_inputs))],
        )
        for figure, axis_value, line_value, varied_inputs in points_with_inputs
    ]


def _points_of_figure(
    figure: GrainFigure, grain: Mapping[str, Any], core_count: int
) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Yield the points of a figure, each as its place on the x axis, the name of its line and the
    inputs of the grain; none if the figure varies accesses and the grain has none.
    """
    base_inputs = dict(grain)
    if base_inputs.pop("lock") != "none":
        base_inputs["lock"] = grain["lock"]
    if figure.line_input in ("access", "elements") and not grain["accesses"]:
        return
    if figure.line_input == "other_lock":
        base_inputs = {
            key: value for key, value in base_inputs.items() if key not in ("lock", "critical")
        }
    values_by_axis_input = {
        "compute": _COMPUTE_VALUES,
        "critical": _CRITICAL_VALUES,
        "competitors": competitor_counts(core_count),
    }
    values_by_line_input: Mapping[str, Sequence[Any]] = {
        "access": ("read", "write"),
        "elements": sorted({*_ELEMENT_COUNTS, grain["elements"]}),
        "lock": _VARIED_LOCKS,
        "other_lock": _VARIED_LOCKS,
    }
    axis_values = sorted(
        {
            *values_by_axis_input[figure.x_input],
            *([grain[figure.x_input]] if figure.x_input in grain else []),
        }
    )
    for line_value in values_by_line_input[figure.line_input]:
        for axis_value in axis_values:
            varied_inputs = {
                "competitors": core_count - 1,
                **base_inputs,
                figure.x_input: axis_value,
                figure.line_input: line_value,
            }
            yield axis_value, str(line_value), varied_inputs


def _inputs_without_competitors(varied_inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a grain without competitors."""
    return {
        **{key: value for key, value in varied_inputs.items() if key != "other_lock"},
        "competitors": 0,
    }


def _hashable_inputs(varied_inputs: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return a hashable key of the inputs of a grain; grains without competitors have the key of
    the grain alone.
    """
    inputs = (
        varied_inputs
        if varied_inputs["competitors"]
        else _inputs_without_competitors(varied_inputs)
    )
    return tuple(sorted(inputs.items()))


def _grain_point(
    figure: GrainFigure,
    axis_value: float,
    line_name: str,
    timing_with_competitors: Timing,
    timing_alone: Timing,
) -> GrainPoint:
    """Return the point of a figure, computed from the times of a grain with competitors and
    alone.
    """
    short_time, median_time, long_time = (
        float(quantile) for quantile in np.quantile(timing_with_competitors.seconds, _QUANTILES)
    )
    inputs = timing_with_competitors.arguments
    access_count = inputs["accesses"] * (1 + inputs["competitors"])
    numerators = (
        [access_count] * 3
        if figure.is_throughput
        else np.quantile(timing_alone.seconds, _QUANTILES)
    )
    low_value, value, high_value = (
        float(numerator / denominator)
        for numerator, denominator in zip(
            numerators, (long_time, median_time, short_time), strict=True
        )
    )
    return GrainPoint(
        figure.name, float(axis_value), line_name, median_time, value, low_value, high_value
    )
