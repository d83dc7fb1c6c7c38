"""The door: a study file in, its results out."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import SpecError
from slipstick.results import Ranking, Results, Sweep
from slipstick.schema.bind import Bound, bind
from slipstick.schema.load import Library
from slipstick.schema.nodes import Entry, Node, Scalar, Table, at, plain
from slipstick.schema.scene import Scene, Settings, stage
from slipstick.schema.study import StudySpec, SweepSpec
from slipstick.schema.validate import problem, validate
from slipstick.solve.closed_form import ClosedForm
from slipstick.solve.forms import form_of
from slipstick.solve.limits import with_takeovers
from slipstick.study.cases import BASE, case_settings, shown
from slipstick.study.compare import compared
from slipstick.study.plan import planned
from slipstick.study.rank import ranked
from slipstick.study.sweep import carried_out

__all__ = ["MOST_ANSWERS", "answer_scene", "run"]

MOST_ANSWERS = 10_000
"""Up to so many points `run` keeps whole answers for."""

PLAIN_SWEEP = "vary"

Progress = Callable[[int, int], object]


def run(
    reference: str,
    *,
    overrides: Mapping[str, Node] | None = None,
    jobs: int = 1,
    whole: bool = False,
    progress: Progress = lambda done, total: None,
) -> tuple[StudySpec, Results]:
    """Run a study.

    Parameters
    ----------
    reference : its name in the catalogue, or its file
    overrides : values by path that hold in every case
    jobs : groups of points solved side by side; the results do not depend on it
    whole : keep the whole answer of every point
    progress : told how many points are done, of how many

    Returns
    -------
    the checked study, and what it found

    Raises
    ------
    SpecError : the study, or anything it names, is wrong
    """
    library = Library()
    tree = library.load("study", reference)
    spec = validate(StudySpec, tree)
    cases = {name: {**settings, **(overrides or {})} for name, settings in case_settings(tree).items()}
    plans = {name: planned(each, node, cases, library) for name, each, node in _sweeps(spec, tree)}
    total = len(cases) + sum(len(plan.cases) for plan in plans.values())
    done = 0

    def step(points: int) -> None:
        nonlocal done
        done += points
        progress(done, total)

    answers: dict[str, Answer] = {}
    resolved: dict[str, object] = {}
    for name, settings in cases.items():
        answers[name], resolved[name] = _answered(settings, cases.get(BASE, {}), library)
        step(1)
    whole = whole and total <= MOST_ANSWERS
    sweeps = [
        carried_out(name, plan, spec.answer, jobs=jobs, whole=whole, progress=step) for name, plan in plans.items()
    ]
    rankings = _rankings(spec, tree, cases, answers, library)
    tables = [compared(each, _node(tree, ["compare", index]), answers) for index, each in enumerate(spec.compare)]
    return spec, Results(
        name=Path(reference).stem,
        title=spec.title or Path(reference).stem,
        text=spec.text,
        source=spec.sources.get(spec.source, spec.source),
        cases=answers,
        settings={name: shown(settings, cases.get(BASE, {})) for name, settings in cases.items()},
        sweeps=tuple(sweeps),
        rankings=tuple(rankings),
        comparisons=tuple(tables),
        hashes=dict(sorted(library.hashes.items())),
        resolved=resolved,
        versions=_versions(),
        notes=_notes(sweeps),
    )


def answer_scene(settings: Settings, library: Library) -> tuple[Answer, Bound, Scene]:
    """Answer for one set of settings, limits and takeovers included.

    Raises
    ------
    SpecError : something is wrong with them
    """
    scene = stage(settings, library)
    bound = bind(scene)
    form = form_of(bound.model, bound.parameters)
    answer = form.points({}).answer(0, given=_given(settings))
    if isinstance(form, ClosedForm) and answer.limits:
        answer = replace(answer, limits=with_takeovers(form, answer.limits, {}))
    return answer, bound, scene


def _answered(settings: Settings, base: Settings, library: Library) -> tuple[Answer, object]:
    answer, bound, scene = answer_scene(settings, library)
    given = {path: text for path, text in answer.given.items() if path not in base or base[path] is not settings[path]}
    return replace(answer, given=given), {"model": bound.name, **_without_words(plain(scene.tree))}


def _without_words(value: Any) -> Any:
    """Leave out what a spec says about itself; its file, named by hash, has it."""
    if not isinstance(value, dict):
        return value
    return {key: _without_words(each) for key, each in value.items() if key not in ("title", "source", "sources")}


def _given(settings: Settings) -> dict[str, float | str]:
    return {path: node.text if isinstance(node, Scalar) else str(plain(node)) for path, node in settings.items()}


def _sweeps(spec: StudySpec, tree: Table) -> list[tuple[str, SweepSpec, Node]]:
    """List the sweeps: those with a name, and one of all the axes written plainly."""
    sweeps: list[tuple[str, SweepSpec, Node]] = []
    axes: dict[str, Any] = {}
    for name, each in spec.vary.items():
        if isinstance(each, SweepSpec):
            sweeps.append((name, each, _node(tree, ["vary", name])))
        else:
            axes[name] = each
    if axes:
        written = _node(tree, ["vary"])
        assert isinstance(written, Table)
        kept = Table({path: written.entries[path] for path in axes}, written.mark)
        node = Table({"axes": Entry(written.mark, kept)}, written.mark)
        sweeps.append((PLAIN_SWEEP, SweepSpec(axes=axes), node))
    return sweeps


def _rankings(
    spec: StudySpec, tree: Table, cases: Mapping[str, Settings], answers: Mapping[str, Answer], library: Library
) -> list[Ranking]:
    if spec.rank is None:
        return []
    for index, case in enumerate(spec.rank.cases):
        if case not in cases:
            message = f"there is no case {case!r}; known: {', '.join(cases)}"
            raise SpecError([problem(tree, ("rank", "cases", index), message)])
    return [ranked(case, spec.rank, cases[case], library, answers[case]) for case in spec.rank.cases]


def _node(tree: Node, path: list[str | int]) -> Node:
    found = at(tree, path)
    assert found is not None
    return found


def _notes(sweeps: list[Sweep]) -> tuple[str, ...]:
    return tuple(f"sweep {sweep.name}: {path} has no effect" for sweep in sweeps for path in sweep.idle)


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("slipstick", "numpy", "scipy")}}
