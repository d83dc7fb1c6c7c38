"""Names that the parts of a study call one another by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from slipstick.errors import Problem, SpecError, UnitError, UnknownNameError, did_you_mean
from slipstick.schema.kinds.study import (
    BandsSpec,
    BarsSpec,
    ChangesSpec,
    FitsPictureSpec,
    HistogramSpec,
    LinesSpec,
    MapSpec,
    ProjectionPictureSpec,
    StudySpec,
    TimelineSpec,
)
from slipstick.schema.text.nodes import Node
from slipstick.schema.validate import problem
from slipstick.study.cases import Asked
from slipstick.units import scale
from slipstick.vocabulary import METHODS

Path = tuple[str | int, ...]


def check_names(
    spec: StudySpec, tree: Node, cases: Collection[str], sweeps: Sequence[Asked], measured: Collection[str] = ()
) -> None:
    """Refuse cases and sweeps that are not there, before anything is solved.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    cases, sweeps, measured : those that are there; measured ones stand in tables beside cases

    Raises
    ------
    SpecError : every name that leads nowhere, stands twice, or is no unit
    """
    found = [
        *_cases(spec, tree, list(cases), sweeps, list(measured)),
        *_pictures(spec, tree, [each.name for each in sweeps]),
    ]
    for index, table in enumerate(spec.compare):
        try:
            scale(table.unit)
        except UnitError as error:
            found.append(problem(tree, ("compare", index, "unit"), str(error)))
    found += _methods(spec, tree)
    found += _bands(spec, tree, cases)
    found += _outlooks(spec, tree, cases)
    if found:
        raise SpecError(found)


def check_axes(spec: StudySpec, tree: Node, axes: Mapping[str, Sequence[str]]) -> None:
    """Refuse pictures over axes that their sweep does not have.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    axes : paths of each sweep, as results call them

    Raises
    ------
    SpecError : every axis that is not there
    """
    found = []
    for index, picture in enumerate(spec.pictures):
        if not isinstance(picture, LinesSpec | MapSpec) or picture.sweep not in axes:
            continue
        there = axes[picture.sweep]
        for key in ("x", "series", "against") if isinstance(picture, LinesSpec) else ("x", "y"):
            path = getattr(picture, key)
            if path and path not in there:
                message = f"sweep {picture.sweep} has no axis {path!r}{did_you_mean(path, there)}"
                found.append(problem(tree, ("pictures", index, key), message))
    if found:
        raise SpecError(found)


def _bands(spec: StudySpec, tree: Node, cases: Collection[str]) -> Iterator[Problem]:
    """Refuse bands of what is not scaled."""
    scaled, ways = (spec.scale.cases, spec.scale.ways) if spec.scale else ([], [])
    for index, picture in enumerate(spec.pictures):
        if isinstance(picture, BandsSpec):
            for key, there in (("case", scaled), ("way", ways)):
                if getattr(picture, key) not in _or_any(there, cases, key == "case"):
                    why = f"scale has no {key} {getattr(picture, key)!r}, so there are no bands to draw"
                    yield problem(tree, ("pictures", index, key), why)


def _or_any(named: Collection[str], cases: Collection[str], are_cases: bool) -> Collection[str]:
    """Give the cases that a question names; any, if it misspells one, which is told where it stands."""
    return cases if are_cases and not set(named) <= set(cases) else named


def _outlooks(spec: StudySpec, tree: Node, cases: Collection[str]) -> Iterator[Problem]:
    """Refuse pictures of questions that the study does not ask."""
    changes, technologies = (spec.rank.changes, ["", *spec.rank.under]) if spec.rank else ({}, [])
    sampled = _or_any(spec.sample.cases if spec.sample else [], cases, are_cases=True)
    for index, picture in enumerate(spec.pictures):
        place = ("pictures", index)
        if isinstance(picture, ProjectionPictureSpec) and not spec.project:
            yield problem(tree, place, "this draws a projection, and the study has no project")
        elif isinstance(picture, HistogramSpec) and picture.case not in sampled:
            yield problem(tree, place, f"this draws a sample of {picture.case}, and the study has none")
        elif isinstance(picture, ChangesSpec) and not (changes and picture.under in technologies):
            yield problem(tree, place, "this draws changes of rank, and there are none under that technology")


def _methods(spec: StudySpec, tree: Node) -> Iterator[Problem]:
    for index, method in enumerate(spec.agree.methods if spec.agree else ()):
        known = list(dict.fromkeys(name for names in METHODS.values() for name in names))
        if method not in known:
            words = str(UnknownNameError("method", method, known))
            yield problem(tree, ("agree", "methods", index), words)


def _cases(
    spec: StudySpec, tree: Node, cases: Sequence[str], sweeps: Sequence[Asked], measured: Sequence[str]
) -> Iterator[Problem]:
    for path, case in _cases_named(spec, sweeps):
        known = [*cases, *measured] if _may_be_measured(spec, path) else cases
        if case not in known:
            yield problem(tree, path, f"there is no case {case!r}{did_you_mean(case, known)}")


def _may_be_measured(spec: StudySpec, path: Path) -> bool:
    """Say whether measured runs may be named here beside cases, as NAME-PROCESSORS."""
    return path[0] == "compare" or (path[0] == "pictures" and isinstance(spec.pictures[int(path[1])], BarsSpec))


def _cases_named(spec: StudySpec, sweeps: Sequence[Asked]) -> Iterator[tuple[Path, str]]:
    for asked in sweeps:
        yield from ((asked.place("cases", index), case) for index, case in enumerate(asked.spec.cases))
    if spec.agree:
        yield from ((("agree", "cases", index), case) for index, case in enumerate(spec.agree.cases))
    if spec.scale:
        yield from ((("scale", "cases", index), case) for index, case in enumerate(spec.scale.cases))
    if spec.rank:
        yield from ((("rank", "cases", index), case) for index, case in enumerate(spec.rank.cases))
    if spec.project:
        yield from ((("project", "cases", index), case) for index, case in enumerate(spec.project.cases))
    for name, seek in spec.seek.items():
        yield from ((("seek", name, "cases", index), case) for index, case in enumerate(seek.cases))
    if spec.sample:
        yield from ((("sample", "cases", index), case) for index, case in enumerate(spec.sample.cases))
    for number, table in enumerate(spec.compare):
        yield from ((("compare", number, "columns", index), case) for index, case in enumerate(table.columns))
        for row, each in enumerate(table.rows):
            yield from (
                (("compare", number, "rows", row, "against", index), case) for index, case in enumerate(each.against)
            )
            yield from ((("compare", number, "rows", row, "slips", case), case) for case in each.slips)
    for number, picture in enumerate(spec.pictures):
        if isinstance(picture, BarsSpec | LinesSpec):
            yield from ((("pictures", number, "cases", index), case) for index, case in enumerate(picture.cases))
        elif isinstance(picture, BandsSpec | HistogramSpec | MapSpec | TimelineSpec):
            yield ("pictures", number, "case"), picture.case


def _pictures(spec: StudySpec, tree: Node, sweeps: Sequence[str]) -> Iterator[Problem]:
    taken: set[str] = set()
    for index, picture in enumerate(spec.pictures):
        if picture.name in taken:
            yield problem(tree, ("pictures", index, "name"), f"another picture is called {picture.name}")
        taken.add(picture.name)
        if isinstance(picture, FitsPictureSpec):
            if picture.fit not in spec.fits:
                message = f"there is no fit {picture.fit!r}{did_you_mean(picture.fit, list(spec.fits))}"
                yield problem(tree, ("pictures", index, "fit"), message)
        elif isinstance(picture, LinesSpec | MapSpec) and picture.sweep not in sweeps:
            message = f"there is no sweep {picture.sweep!r}{did_you_mean(picture.sweep, sweeps)}"
            yield problem(tree, ("pictures", index, "sweep"), message)
