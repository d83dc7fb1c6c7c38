"""The command that writes the points of a sweep of a study to a file, block by block: more points
than memory, and so a report, holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from slipstick.cli.console import DONE, complete, echo
from slipstick.cli.main import ProgressBar
from slipstick.errors import ModelError, UnknownNameError
from slipstick.late import Array, np
from slipstick.limits import limited
from slipstick.schema.kinds.quantity import read_condition, validate
from slipstick.schema.kinds.study import study_model
from slipstick.schema.library import Library
from slipstick.study.cases import SweepDefinition
from slipstick.study.evaluator import Evaluator
from slipstick.study.points import SolvableModel
from slipstick.study.run import read_study
from slipstick.study.sweep import arrays_of

MOST_POINTS = 1e12
"""Points of a file at most: some weeks of processor time, and a file of terabytes."""


@click.command()
@click.argument("study", shell_complete=complete("study"))
@click.option("--sweep", "name", help="The sweep, by its name. [the only one]")
@click.option("--case", help="The case that the points start from. [the only one of the sweep]")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Parquet file to write.",
)
def points(study: str, name: str | None, case: str | None, out: Path) -> int:
    """Write the points of a sweep of STUDY to a Parquet file, block by block.

    Memory does not grow with their number: a sweep may have more points than a report can hold.
    Columns are the axes, the values that the study asks for, the method, and whether it is exact.

    \b
    Examples:
      slipstick points my-study.yaml --out points.parquet
      slipstick points my-study.yaml --sweep costs --case faster --out points.parquet
    """
    from slipstick.study.stream import streamed

    if out.suffix != ".parquet":
        raise ModelError(
            f"{out}: points are written as Parquet; write a name that ends in .parquet"
        )
    file = points_of(study, name, case)
    with ProgressBar(file.count) as progress:
        written = streamed(
            file.solvable, file.axes, out, names=file.names, keep=file.keep, progress=progress
        )
    echo(f"{out}: {len(written):,} points, each with {', '.join(written.units)}")
    for count, words in (
        (written.failed, "have no answer"),
        (written.outside, "are outside of their bounds"),
    ):
        if count:
            echo(f"note: {count:,} of them {words}", err=True)
    for note in file.notes:
        echo(f"note: {note}", err=True)
    return DONE


@dataclass(frozen=True)
class SweepPoints:
    """What the points of a file are made of.

    Parameters
    ----------
    solvable : the model of the case, and its method
    axes : values of each axis, by path [base units]
    names : values that the study asks for
    keep : returns which of some points meet the condition of the sweep; None: all
    notes : what there is to say of the model, and which ranges the points leave out
    """

    solvable: SolvableModel
    axes: Mapping[str, Array]
    names: tuple[str, ...]
    keep: Callable[[Mapping[str, Array]], Array] | None
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of all combinations."""
        return math.prod(map(len, self.axes.values()))


def points_of(study: str, name: str | None = None, case: str | None = None) -> SweepPoints:
    """Read a study, and return the points of a sweep of it from one case.

    Parameters
    ----------
    study : its name in the catalogue, or its file
    name : of the sweep; None: the only one
    case : that the points start from; None: the only one of the sweep

    Raises
    ------
    SpecError : something is wrong with the study, or an axis needs a model for each of its values
    UnknownNameError : there is no such sweep, or it does not start from such a case
    ModelError : there is no sweep, or several, or its axes move together
    """
    library = Library()
    tree = library.load("study", study)
    spec = validate(study_model(tree), tree)
    with limited({"points": MOST_POINTS}), limited(spec.limits.costs):
        prepared = read_study(spec, tree, library, fitted=True, name=Path(study).stem)
    sweeps = {sweep.name: sweep for sweep in prepared.sweeps}
    sweep = sweeps[_only("sweep", name, list(sweeps))]
    if sweep.spec.combine == "zip":
        raise ModelError(
            f"the axes of sweep {sweep.name} move together, and memory holds its points: run the"
            " study"
        )
    start = prepared.cases[_only("case", case, sweep.spec.cases, f" of sweep {sweep.name}")]
    with limited({"points": MOST_POINTS}), limited(spec.limits.costs):
        first, axes = arrays_of(sweep, case or sweep.spec.cases[0], start, prepared.context.library)
    solvable = first.solvable
    names = prepared.context.spec.answer
    others = [each for each in names if each != solvable.form.quantity]
    return SweepPoints(
        solvable, axes, tuple(others), _condition(sweep, solvable), tuple(_notes(first))
    )


def _notes(case: Evaluator) -> Iterator[str]:
    """Yield the notes of the model of a case, and which of its ranges a file of points leaves
    out.
    """
    yield from case.built.notes
    if paths := case.built.uncertain.paths:
        yield (
            f"points take the middle of the range of {', '.join(paths)} and have no intervals; a run"
            " of the study has them"
        )


def _only(kind: str, name: str | None, names: Sequence[str], of: str = "") -> str:
    """Return a name that was given, or the only one that there is."""
    if not names:
        raise ModelError("the study has no sweep, so no points for a file: write `vary`")
    if name is None and len(names) > 1:
        raise ModelError(
            f"a file of points is of one {kind}: write --{kind} with one of {', '.join(names)}"
        )
    name = name or names[0]
    if name not in names:
        raise UnknownNameError(f"{kind}{of}", name, list(names))
    return name


def _condition(
    sweep: SweepDefinition, solvable: SolvableModel
) -> Callable[[Mapping[str, Array]], Array] | None:
    """Return the condition of a sweep as a function of the values of its axes; None without one."""
    if not sweep.spec.where:
        return None
    conditions = list(read_condition(sweep.spec.where, solvable.parameters))

    def keep(values: Mapping[str, Array]) -> Array:
        held: Array = np.logical_and.reduce([condition.holds(values) for condition in conditions])
        return held

    return keep
