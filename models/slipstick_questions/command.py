"""The command that writes the points of a sweep of a study to a file, block by block: more points
than memory, and so a report, holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import DONE, ProgressLine, completion_function, echo
from slipstick.errors import ModelError

if TYPE_CHECKING:
    from slipstick.study.stream import StreamedSweep


@click.command()
@click.argument("study", shell_complete=completion_function("study"))
@click.option("--sweep", "name", help="Name of the sweep. [the only one]")
@click.option("--case", help="Case to write. [all of the sweep]")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Parquet file to write.",
)
def points(study: str, name: str | None, case: str | None, out: Path) -> int:
    """Write the points of a large sweep to a Parquet file.

    The sweep may have more points than a report or the memory can hold. The columns are the case,
    the axes, the values that the study asks for, the method, whether it is exact, and the reason
    for a missing answer.

    \b
    Examples:
      slipstick points my-study.yaml --out points.parquet
      slipstick points my-study.yaml --sweep costs --case faster --out points.parquet
    """
    from slipstick.study.stream import write_points
    from slipstick_questions.points import read_sweep_points

    if out.suffix != ".parquet":
        raise ModelError(
            f"{out}: points are written as Parquet; write a name that ends in .parquet"
        )
    sweep_points = read_sweep_points(study, name, case)
    with ProgressLine(sweep_points.count) as progress:
        streamed_sweep = write_points(
            sweep_points.cases, out, names=sweep_points.names, progress=progress
        )
    echo(f"{out}: {len(streamed_sweep):,} points, each with {', '.join(streamed_sweep.units)}")
    for count, remark in (
        (streamed_sweep.failed, f"have no answer{_most_frequent_reason(streamed_sweep)}"),
        (streamed_sweep.outside, "are outside of their bounds"),
    ):
        if count:
            echo(f"note: {count:,} of them {remark}", err=True)
    notes = [
        *sweep_points.notes,
        *(note for notes in streamed_sweep.notes.values() for note in notes),
    ]
    for note in dict.fromkeys(notes):
        echo(f"note: {note}", err=True)
    return DONE


def _most_frequent_reason(streamed_sweep: StreamedSweep) -> str:
    """Return the most frequent reason for missing answers as a clause."""
    if not streamed_sweep.reasons:
        return ""
    reason, count = max(
        streamed_sweep.reasons.items(), key=lambda reason_and_count: reason_and_count[1]
    )
    return f", {count:,} because: {reason}"
