"""Names that the parts of a study call one another by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.schema.load import Library
from slipstick.schema.nodes import Node, canonical
from slipstick.schema.scene import Settings, stage
from slipstick.schema.study import BarsSpec, LinesSpec, MapSpec, StudySpec
from slipstick.schema.validate import problem
from slipstick.study.cases import Asked
from slipstick.units import scale

__all__ = ["check_names"]

Path = tuple[str | int, ...]


def check_names(
    spec: StudySpec, tree: Node, cases: Mapping[str, Settings], sweeps: Sequence[Asked], library: Library
) -> None:
    """Refuse cases, sweeps and axes that are not there, before anything is solved.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    cases : settings of all cases
    sweeps : all sweeps
    library : what was read so far

    Raises
    ------
    SpecError : every name that leads nowhere, and units that are none
    """
    axes = {each.name: _axes_of(each, cases, library) for each in sweeps}
    found = list(_problems(spec, tree, list(cases), sweeps, axes))
    if found:
        raise SpecError(found)


def _axes_of(asked: Asked, cases: Mapping[str, Settings], library: Library) -> list[str]:
    """List the axes of a sweep as results call them: items by name, not by number."""
    case = next((case for case in asked.spec.cases if case in cases), None)
    try:
        scene = stage(cases[case], library) if case else None
    except SpecError:  # told when the case is checked
        scene = None
    return [canonical(scene.tree, path) if scene else path for path in asked.spec.axes]


def _problems(
    spec: StudySpec, tree: Node, cases: Sequence[str], sweeps: Sequence[Asked], axes: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    for path, case in _cases_named(spec, sweeps):
        if case not in cases:
            yield problem(tree, path, f"there is no case {case!r}{did_you_mean(case, cases)}")
    for index, table in enumerate(spec.compare):
        try:
            scale(table.unit)
        except UnitError as error:
            yield problem(tree, ("compare", index, "unit"), str(error))
    taken: list[str] = []
    for index, picture in enumerate(spec.pictures):
        if picture.name in taken:
            yield problem(tree, ("pictures", index, "name"), f"another picture is called {picture.name}")
        taken.append(picture.name)
        if not isinstance(picture, BarsSpec):
            yield from _drawn_over(picture, index, tree, axes)


def _cases_named(spec: StudySpec, sweeps: Sequence[Asked]) -> Iterator[tuple[Path, str]]:
    for asked in sweeps:
        yield from ((asked.place("cases", index), case) for index, case in enumerate(asked.spec.cases))
    if spec.rank:
        yield from ((("rank", "cases", index), case) for index, case in enumerate(spec.rank.cases))
    for number, table in enumerate(spec.compare):
        yield from ((("compare", number, "columns", index), case) for index, case in enumerate(table.columns))
    for number, picture in enumerate(spec.pictures):
        if isinstance(picture, BarsSpec):
            yield from ((("pictures", number, "cases", index), case) for index, case in enumerate(picture.cases))
        elif isinstance(picture, MapSpec):
            yield ("pictures", number, "case"), picture.case


def _drawn_over(
    picture: LinesSpec | MapSpec, index: int, tree: Node, axes: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Check the sweep and the axes that a picture is drawn over."""
    if picture.sweep not in axes:
        message = f"there is no sweep {picture.sweep!r}{did_you_mean(picture.sweep, list(axes))}"
        yield problem(tree, ("pictures", index, "sweep"), message)
        return
    there = axes[picture.sweep]
    for key in ("x", "series") if isinstance(picture, LinesSpec) else ("x", "y"):
        path = getattr(picture, key)
        if path and path not in there:
            message = f"sweep {picture.sweep} has no axis {path!r}{did_you_mean(path, there)}"
            yield problem(tree, ("pictures", index, key), message)
