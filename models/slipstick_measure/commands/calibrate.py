"""The command that measures this host and writes its machine."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slipstick.cli.console import DONE, NO_ANSWER, echo, json_option, print_json, refuse
from slipstick.late import np
from slipstick_measure.commands.imported import force_option

if TYPE_CHECKING:
    from slipstick.report.formatting import TextTable
    from slipstick_measure.calibration.analysis import HostValue
    from slipstick_measure.calibration.host import HostChange
    from slipstick_measure.calibration.timing import Timing

MOST_MEDIAN_ERROR = 0.25
"""Largest median error of the times of test grains up to which a machine is called good; the
machine is not estimated from these grains.
"""


@click.command()
@click.option(
    "-o",
    "--out",
    metavar="SPEC",
    type=click.Path(path_type=Path),
    help="Machine file to write; with --grain, a folder for pictures and points.",
)
@click.option(
    "--grain",
    metavar="FILE",
    help="Measure this grain, a workload of grain/unit, alone and among competitors.",
)
@click.option(
    "--check",
    "machine_file",
    metavar="SPEC",
    type=click.Path(path_type=Path),
    help="Measure again, and compare with this machine file.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="Approximate duration.",
)
@click.option("--cores", metavar="N,...", help="Cores to use. [all that this process may use]")
@force_option
@json_option
def calibrate(
    out: Path | None,
    grain: str | None,
    machine_file: Path | None,
    seconds: float,
    cores: str | None,
    may_replace: bool,
    as_json: bool,
) -> int:
    """Measure this computer, and write it as a machine for models with shared memory.

    Computing, caches, memory, locks and barriers are measured; every value has an interval.
    Repetitions that other programs disturb do not count. If too few repetitions count, nothing is
    written. At the end, other measurements are predicted and compared. With --grain, five pictures
    show how competitors slow down a grain of your choice.

    \b
    Examples:
      slipstick calibrate -o host.yaml
      slipstick solve grain/unit --machine host.yaml --set elements=1000000 --set pattern=random --set competitors=1
      slipstick calibrate --check host.yaml --cores 0,1
      slipstick calibrate --grain my-grain.yaml -o my-grain
    """  # noqa: E501
    if grain is not None:
        return _measure_grain(grain, out, machine_file, seconds, cores, as_json)
    if (out is None) == (machine_file is None):
        refuse(
            "calibrate",
            "say one of --out SPEC, to write a machine, and --check SPEC, to compare one",
        )
    from slipstick.report.formatting import terminal_blocks
    from slipstick_measure.calibration.analysis import estimate_machine_values
    from slipstick_measure.calibration.host import (
        Calibration,
        clock_frequency,
        compare_with_file,
        machine_spec,
    )
    from slipstick_measure.imports.imported import check_new_file

    core_numbers = _parse_cores(cores)
    if not math.isfinite(seconds):
        refuse("--seconds", f"write a number from 1 to 3600; got {seconds}")
    if out is not None:
        check_new_file(out, may_replace)
    earlier_changes = None if machine_file is None else compare_with_file(machine_file, {})
    calibration = Calibration(core_numbers, seconds)
    click.echo(
        f"measuring on cores {', '.join(map(str, core_numbers))}, for at most about {seconds:g} s",
        err=True,
    )
    timings = calibration.run_machine_kernels()
    grain_timings = calibration.run_test_grains()
    host_values = estimate_machine_values(timings, clock_frequency())
    spec = machine_spec(
        host_values, timings, clock_frequency(), len(core_numbers), str(out or machine_file)
    )
    if out is not None:
        spec.write(out)
    changes = [] if machine_file is None else compare_with_file(machine_file, host_values)
    predictions = _predict_grains(grain_timings, out or machine_file)
    if as_json:
        _print_calibration_as_json(host_values, changes, predictions)
    else:
        table = _values_table(host_values) if out is not None else _changes_table(changes)
        sentences = spec.notes + (
            [] if earlier_changes is None else [_sentence_on_changes(changes)]
        )
        sentences += [_sentence_on_predictions(predictions)] + (
            [] if out is None else [f"The machine is in {out}."]
        )
        grain_table = [_grains_table(predictions)] if predictions else []
        click.echo(
            terminal_blocks(
                [table, *grain_table, [sentence for sentence in sentences if sentence]]
            ),
            nl=False,
        )
    return NO_ANSWER if any(change.changed for change in changes) else DONE


def _print_calibration_as_json(
    host_values: Mapping[str, HostValue],
    changes: Sequence[HostChange],
    predictions: Sequence[dict[str, Any]],
) -> None:
    """Print the measured values of this computer, their changes since an earlier calibration, and
    the predicted grains, as JSON.
    """
    from slipstick.results.question import as_data

    values_by_path = {path: host_value._asdict() for path, host_value in host_values.items()}
    print_json(
        {
            "values": as_data(values_by_path),
            "changes": as_data([change._asdict() for change in changes]),
            "grains": predictions,
        }
    )


def _measure_grain(
    workload_file: str,
    folder: Path | None,
    machine_file: Path | None,
    seconds: float,
    cores: str | None,
    as_json: bool,
) -> int:
    """Run a grain of the user's choice alone and with competitors; print and draw its times, and
    return the exit status.
    """
    from slipstick.report.formatting import terminal_blocks
    from slipstick.results.question import as_data
    from slipstick.schema.library import is_file_name
    from slipstick_measure.calibration.grain import measure_grain, read_grain
    from slipstick_measure.calibration.host import Calibration
    from slipstick_measure.report.grain import grain_blocks, write_grain

    if machine_file is not None:
        refuse("--check", "a grain is not compared with a machine; leave out --check or --grain")
    if not is_file_name(workload_file) and Path(workload_file).exists():
        message = (
            f"{workload_file} is no workload: write one in a file that ends in .yaml, of the"
            " program"
            " grain/unit, as slipstick show mad-random is"
        )
        refuse("--grain", message)
    core_numbers = _parse_cores(cores)
    if len(core_numbers) < 2:
        refuse("--grain", "competitors need a core each: two cores at least; got 1")
    title, grain = read_grain(workload_file)
    click.echo(
        f"measuring on cores {', '.join(map(str, core_numbers))}, for at most about {seconds:g} s",
        err=True,
    )
    points = measure_grain(grain, Calibration(core_numbers, seconds))
    if folder is not None:
        for path in write_grain(points, title, len(core_numbers), folder):
            echo(f"wrote {path}", err=True)
    if as_json:
        print_json({"points": as_data([point._asdict() for point in points])})
    else:
        click.echo(terminal_blocks(list(grain_blocks(points))), nl=False)
    return DONE


def _parse_cores(option_text: str | None) -> list[int]:
    """Return the numbers of the cores in the text of the option --cores; without a text, all cores
    that this process may use.
    """
    available_cores = (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
    if option_text is None:
        return available_cores
    core_texts = [core_text.strip() for core_text in option_text.split(",")]
    if not all(
        core_text.isascii() and core_text.isdigit() and int(core_text[:9]) in available_cores
        for core_text in core_texts
    ) or len(set(core_texts)) < len(core_texts):
        refuse(
            "--cores",
            f"write different cores of {', '.join(map(str, available_cores))}, such as"
            f" {available_cores[0]};"
            f" got {option_text!r}",
        )
    return [int(core_text) for core_text in core_texts]


def _predict_grains(
    grain_timings: Sequence[Timing], machine_file: Path | None
) -> list[dict[str, Any]]:
    """Return the predicted and the measured time of each grain, with the relative error; a machine
    file gives the predictions.
    """

    from slipstick.api import solve
    from slipstick_measure.calibration.analysis import FIRST_QUARTILE

    predictions = []
    for grain_timing in grain_timings:
        predicted_time = (
            solve("grain/unit", dict(grain_timing.arguments), machine=machine_file)
            .values["time"]
            .value
        )
        measured_time = float(np.quantile(grain_timing.seconds, FIRST_QUARTILE))
        relative_error = predicted_time / measured_time - 1
        predictions.append(
            {
                "grain": dict(grain_timing.arguments),
                "measured": measured_time,
                "predicted": float(predicted_time),
                "error": float(relative_error),
            }
        )
    return predictions


def _sentence_on_predictions(predictions: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on how well the machine predicts grains from which it was not estimated;
    empty without predictions.
    """
    if not predictions:
        return ""
    median_error = statistics.median(abs(prediction["error"]) for prediction in predictions)
    advice = (
        ""
        if median_error <= MOST_MEDIAN_ERROR
        else f", above the goal of {MOST_MEDIAN_ERROR:.0%}: take its answers with care"
    )
    return (
        f"{len(predictions)} grains that it is not made of are predicted with a median error of"
        f" {median_error:.0%}{advice}"
    )


def _sentence_on_changes(changes: Sequence[HostChange]) -> str:
    """Return a sentence on the values that differ from the machine file."""
    changed_paths = [change.path for change in changes if change.changed]
    return (
        f"changed: {', '.join(changed_paths)}"
        if changed_paths
        else "nothing has changed beyond intervals and 10 %"
    )


def _values_table(host_values: Mapping[str, HostValue]) -> TextTable:
    """Build the table of the measured values of a machine with their intervals."""
    from slipstick.report.formatting import TextTable

    rows = [
        [path, *(_value_text(path, value) for value in host_value)]
        for path, host_value in host_values.items()
    ]
    return TextTable(["value", "measured", "from", "to"], rows, (1, 2, 3))


def _changes_table(changes: Sequence[HostChange]) -> TextTable:
    """Build the table of the values of a machine in its file and as measured now."""
    from slipstick.report.formatting import TextTable

    rows = []
    for change in changes:
        earlier_text, new_text = (
            _value_text(change.path, value) if value is not None else "-"
            for value in (change.then, change.now)
        )
        change_text = (
            f"{change.now / change.then - 1:+.1%}" if change.now is not None and change.then else ""
        )
        rows.append(
            [change.path, earlier_text, new_text, change_text, "changed" if change.changed else ""]
        )
    return TextTable(["value", "then", "now", "change", ""], rows, (1, 2, 3))


def _grains_table(predictions: Sequence[dict[str, Any]]) -> TextTable:
    """Build the table of measured and predicted times of grains."""
    from slipstick.report.formatting import TextTable

    def inputs_text(grain: Mapping[str, Any]) -> str:
        return ", ".join(
            f"{key} {value}" for key, value in grain.items() if value not in (0, "random")
        )

    rows = [
        [
            inputs_text(prediction["grain"]),
            *(_value_text("", prediction[key]) for key in ("measured", "predicted")),
            f"{prediction['error']:+.1%}",
        ]
        for prediction in predictions
    ]
    return TextTable(["grain", "measured", "predicted", "error"], rows, (1, 2, 3))


def _value_text(path: str, value: float) -> str:
    """Return a value with the unit in which the value at its path is written."""
    from slipstick.expression.nodes import Dimension
    from slipstick.units import show
    from slipstick_measure.calibration.host import unit_of_path

    unit = unit_of_path(path)
    return show(value, Dimension.of("s" if unit == "ns" else unit))
