"""Reports held against what their studies give today: whole, or a few cells of those that take
long.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import yaml
from matplotlib.figure import Figure

from slipstick.report.shorten import DETAILS
from slipstick.report.write import HTML, write
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.kinds.study import study_model
from slipstick.schema.library import Library
from slipstick.schema.text import Node
from slipstick.study.cases import StudyContext, sweeps_of
from slipstick.study.evaluator import evaluator, with_overheads
from slipstick.study.run import prepare, run
from slipstick_pictures.look import save_figure
from tests.examples import PART

__all__ = ["SAMPLED", "STUDIES", "changed_cells", "changed_inputs", "differences"]

ROOT = Path(__file__).parent.parent
STUDIES = sorted(path.stem for path in (ROOT / "specs" / "studies").glob("*.yaml"))
SLOW = (
    "agreement",
    "batch-interval",
    "collectives",
    "dvsm-applications",
    "dvsm-technology",
    "dvsm-today",
    "dvsm-what-if",
    "fits",
    "locks",
    "networks",
    "scale-graph",
    "spin-locks",
    "task-size",
    "three-tier",
    "unit-grains",
)
"""Studies that take over six processor seconds: ``benchmarks/reports.py`` rebuilds them whole."""
LONG = (
    "1997-looks-ahead",
    "askfor",
    "autoscaler",
    "connection-pool",
    "dvsm-contention",
    "dvsm-operations",
    "gpus-for-users",
    "layered-service",
    "log-delay",
    "my-trace",
    "queue-drain",
    "retry-storm",
    "scaling-relaxation",
    "ten-years-ahead",
    "training-table",
    "validation",
    "which-node-lasts",
)
"""Studies that take two to nine processor seconds: ``make thorough`` rebuilds them whole."""
SAMPLED = SLOW if PART >= 1 else (*SLOW, *LONG)
"""Studies of which the tests of this run solve some cells."""


def differences(study: str, work: Path, pictures: int = 1) -> Iterator[str]:
    """Rebuild a report and name its differences: files that are missing or new, the page, the
    numbers, the inputs.

    Parameters
    ----------
    study : its name
    work : a folder for the report that is made
    pictures : how many of its pictures are drawn to the end, as SVG
    """
    prepared = prepare(study)
    made, kept = work / study, ROOT / "reports" / study
    with patch("slipstick_pictures.look.save_figure", _store_of_the_first(pictures)):
        names = {
            path.name
            for path in write(run(prepared), prepared.spec, made, f"slipstick run {study}")
        }
    yield from sorted(
        names
        ^ {
            path.name
            for path in kept.iterdir()
            if not path.name.startswith(".") and path.name != HTML
        }
    )
    for name in names & {"report.md", DETAILS}:
        if not (kept / name).exists() or (made / name).read_text() != (kept / name).read_text():
            yield name
    if not _alike(_rows(made), _rows(kept)):
        yield "results.csv"
    words = [
        yaml.dump(_inputs(folder), Dumper=yaml.CSafeDumper, width=10**9).split()
        for folder in (made, kept)
    ]
    if not _alike(*([texts] for texts in words)):
        yield "inputs.yaml"


def _store_of_the_first(count: int) -> Callable[[Figure, Path], None]:
    """Return what draws the first pictures once, as SVG: ``tests/report/test_pictures.py`` looks at
    both formats, and here none is compared. Of the others the figures are made, and not drawn.
    """
    drawn = itertools.count()

    def store_some(figure: Figure, path: Path) -> None:
        if path.suffix == ".svg" and next(drawn) < count:
            save_figure(figure, path)
        else:
            path.touch()

    return store_some


def changed_inputs(study: str) -> list[str]:
    """Name the files from which a report was made and which have changed since."""
    hashes = _inputs(ROOT / "reports" / study)["hashes"]
    assert isinstance(hashes, dict)
    assert f"specs/studies/{study}.yaml" in hashes
    return [name for name, digest in hashes.items() if _digest(name) != digest]


def changed_cells(study: str) -> list[str]:
    """Solve the first, the middle and the last case, and both ends of every sweep, and name what
    differs in the table; where a part of the examples is tried, the middle case and the end of the
    last sweep.
    """
    library = Library()
    tree = library.load("study", study)
    context = StudyContext.from_study(validate(study_model(tree), tree), tree, library, {})
    head, *rows = _rows(ROOT / "reports" / study)
    found = []
    names = list(context.cases)
    middle, sweeps = names[len(names) // 2], list(sweeps_of(context.spec, tree))
    for case in {names[0], middle, names[-1]} if PART >= 1 else {middle}:
        (row,) = (row for row in rows if row[:2] == ["", case])
        found += _changed_row(context, case, context.cases[case], head, row)
    for sweep in sweeps if PART >= 1 else sweeps[-1:]:
        points = [row for row in rows if row[0] == sweep.name]
        ends = ((sweep.spec.cases[0], points[0], 0), (sweep.spec.cases[-1], points[-1], -1))
        for case, row, end in ends if PART >= 1 else ends[1:]:
            axes: dict[str, Node] = {path: nodes[end] for path, nodes in sweep.axes().items()}
            found += _changed_row(context, case, {**context.cases[case], **axes}, head, row)
    return found


def _changed_row(
    context: StudyContext, case: str, settings: Settings, head: list[str], row: list[str]
) -> list[str]:
    """Solve one point alone, and name the columns of its row that differ."""
    solved = evaluator(case, settings, context.library).answer()
    names = {column.rpartition(" [")[0]: column for column in head}
    (answer,) = with_overheads({case: solved}, case, list(names)).values()
    made = {column: answer.find(name) for name, column in names.items() if name}
    kept = dict(zip(head, row, strict=True))
    known = {
        column: repr(value) for column, value in made.items() if value is not None and kept[column]
    }
    assert known or kept["failed"], f"nothing of {row[:2]} is compared"
    return [
        f"{row[:2]}: {column}" for column, text in known.items() if not _same(text, kept[column])
    ]


def _digest(name: str) -> str:
    """Hash a file as inputs name it: from the root, or by its name alone if it lies beside the
    study.
    """
    places = chain([ROOT / name], sorted((ROOT / "specs").glob(f"*/{name}")))
    path = next((path for path in places if path.is_file()), None)
    return sha256(path.read_bytes()).hexdigest() if path else "no such file"


def _rows(folder: Path) -> list[list[str]]:
    with (folder / "results.csv").open(newline="") as file:
        return list(csv.reader(file))


def _alike(made: list[list[str]], kept: list[list[str]]) -> bool:
    """Compare tables of one shape."""
    if list(map(len, made)) != list(map(len, kept)):
        return False
    return all(
        _same(cell, kept_cell, INVERTED if "_quantile[" in column else ROUNDED)
        for row, kept_row in zip(made, kept, strict=True)
        for column, cell, kept_cell in zip(made[0], row, kept_row, strict=False)
    )


ROUNDED, INVERTED = 1e-11, 1e-9
"""How far numbers may be apart, relatively: the last digits of logarithms and powers differ from
processor to processor (in projections by up to 1.1e-12 after errors of one digit in each), and
quantiles come from an inverted transform, which is known to 1e-10
(`slipstick.queueing.sojourn_times`)."""


def _same(one: str, other: str, apart: float = ROUNDED) -> bool:
    """Compare cells."""
    if one == other:
        return True
    try:
        return math.isclose(float(one.strip("'")), float(other.strip("'")), rel_tol=apart)
    except ValueError:
        return False


def _inputs(folder: Path) -> dict[str, object]:
    """Read a report's inputs without the versions and hashes, which are those of the machine at
    hand.
    """
    inputs = yaml.load((folder / "inputs.yaml").read_text(), yaml.CSafeLoader)
    assert isinstance(inputs, dict)
    del inputs["versions"]
    return {**inputs, "files": list(inputs["files"])}
