"""Studies: a file in, its results out."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slipstick.answer import Answer
from slipstick.method.methods import SIMULATED, DefaultForm
from slipstick.method.names import unit_of
from slipstick.results.study import Results, Sweep, Timeline, split_name
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import LinesSpec, MapSpec, StudySpec, TimelineSpec
from slipstick.schema.library import Library
from slipstick.schema.text import Table, plain
from slipstick.schema.validate import validate
from slipstick.study.cases import BASE, StudyContext, shown
from slipstick.study.evaluator import ALL_SHARES, evaluator, unless_interrupted, with_derived
from slipstick.study.questions import BaseAnswers, Question
from slipstick.study.reading import read_study
from slipstick.study.solve import given_values, timeline_of
from slipstick.study.sweep import Progress, SweepPlan, carried_out, planned

MOST_ANSWERS = 10_000
"""Up to so many points `run` keeps whole answers for."""


@dataclass(frozen=True, slots=True)
class PreparedStudy:
    """A study with everything read, checked and built, ready to solve.

    Parameters
    ----------
    name : of the study
    context : the study as read, with what was fitted laid over its base
    plans : points of each sweep
    questions : what it asks, by key
    """

    name: str
    context: StudyContext
    plans: Mapping[str, SweepPlan]
    questions: Mapping[str, Question]

    @property
    def spec(self) -> StudySpec:
        """The study, checked."""
        return self.context.spec

    @property
    def cases(self) -> Mapping[str, Settings]:
        """Settings of each case."""
        return self.context.cases

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file read, by name."""
        return dict(sorted(self.context.library.hashes.items()))

    def drawn_of(self, sweep: str) -> list[str]:
        """Name the values of a sweep that pictures show."""
        drawn: dict[str, None] = {}
        for picture in self.spec.pictures:
            if isinstance(picture, LinesSpec | MapSpec) and picture.sweep == sweep:
                drawn |= dict.fromkeys(picture.y if isinstance(picture, LinesSpec) else [picture.value])
        return list(drawn)

    @property
    def simulated(self) -> tuple[str, ...]:
        """Say of each sweep how many of its points are simulated without having been asked for."""
        found = {
            name: sum(
                group.form.simulated(group.values, len(group.rows))
                for group in plan.groups
                if isinstance(group.form, DefaultForm)
            )
            for name, plan in self.plans.items()
        }
        return tuple(f"sweep {name}: {count} points {SIMULATED}" for name, count in found.items() if count)

    @property
    def points(self) -> int:
        """How many points there are to solve, cases included."""
        further = sum(each.points for each in self.questions.values())
        return len(self.cases) + further + sum(len(plan.cases) for plan in self.plans.values())


def prepare(reference: str | Table, overrides: Settings | None = None) -> PreparedStudy:
    """Read a study, check all its values and build all its models.

    Parameters
    ----------
    reference : its name in the catalogue, its file, or the study as it would stand there
    overrides : values by path that hold in every case

    Raises
    ------
    SpecError : the study, or anything it names, is wrong
    NoAnswerError : nothing can be fitted to its data
    """
    library = Library()
    tree = library.load("study", reference) if isinstance(reference, str) else library.resolve("study", reference)
    name = Path(reference).stem if isinstance(reference, str) else "study"
    spec = validate(StudySpec, tree)
    found = read_study(spec, tree, library, overrides, fitted=True)
    plans = {each.name: planned(each, found.context.cases, library) for each in found.sweeps}
    return PreparedStudy(name, found.context, plans, found.questions)


def run(
    study: PreparedStudy, *, jobs: int = 1, whole: bool = False, progress: Progress = lambda points: None
) -> Results:
    """Answer all questions of a study.

    Parameters
    ----------
    study : as `prepare` gives it
    jobs : groups of points solved side by side; the results do not depend on it
    whole : keep the whole answer of every point, if there are no more than `MOST_ANSWERS`
    progress : called with the number of further points that are done

    Raises
    ------
    SpecError : a question names what is not there
    """
    spec, cases = study.spec, study.cases
    base = cases.get(BASE, {})
    answers: dict[str, Answer] = {}
    resolved: dict[str, object] = {}
    for name, settings in cases.items():
        answers[name], resolved[name] = _answered(study, name, settings, base)
        progress(1)
    named = [name for question in study.questions.values() for name in question.named_values]
    answers = with_derived(answers, BASE, [*spec.answer, *named])
    whole = whole and study.points <= MOST_ANSWERS
    sweeps = tuple(
        _solved(study, name, plan, jobs=jobs, whole=whole, progress=progress) for name, plan in study.plans.items()
    )
    results = Results(
        name=study.name,
        title=spec.title or study.name,
        text=spec.text,
        source=spec.sources.get(spec.source, spec.source),
        cases=answers,
        settings={name: shown(settings, base) for name, settings in cases.items()},
        sweeps=sweeps,
        hashes=study.hashes,
        resolved=resolved,
        versions=versions(),
        notes=tuple(
            dict.fromkeys(
                [*_remarks(study), *study.simulated, *_without_effect(sweeps), *_absent(study, answers, sweeps)]
            )
        ),
        timelines=_timelines(study),
    )
    for name, question in study.questions.items():
        found = question.solve(BaseAnswers(answers, results.named_answers(), spec.answer, jobs))
        results = replace(results, questions={**results.questions, name: found})
        progress(question.points)
    return results


def _answered(study: PreparedStudy, name: str, settings: Settings, base: Settings) -> tuple[Answer, object]:
    """Answer for a case, and lay out what it was solved with."""
    ranked = any(name in each.shares_of for each in study.questions.values())
    built = evaluator(name, settings, study.context.library)
    changed = {path: node for path, node in settings.items() if base.get(path) is not node}
    found = unless_interrupted(built.answer(ALL_SHARES if ranked else 0))
    answer = replace(found, given=given_values(changed, built.inputs, built.built))
    return answer, {"model": built.built.name, **_without_words(plain(built.inputs.tree))}


def _without_words(value: Any) -> Any:
    """Leave out title and sources of a spec; its file, named by hash, has them."""
    if not isinstance(value, dict):
        return value
    return {key: _without_words(each) for key, each in value.items() if key not in ("title", "source", "sources")}


def _timelines(study: PreparedStudy) -> dict[str, Timeline]:
    found = {}
    for spec in study.spec.pictures:
        if isinstance(spec, TimelineSpec):
            built = evaluator(spec.case, study.cases[spec.case], study.context.library)
            found[spec.name] = timeline_of(built.built, spec.cycles)
    return found


def _solved(study: PreparedStudy, name: str, plan: SweepPlan, **how: Any) -> Sweep:
    """Solve a sweep; what pictures show of it and no point has is not a number, or nothing."""
    import numpy as np

    drawn = study.drawn_of(name)
    found = carried_out(name, plan, list(dict.fromkeys([*study.spec.answer, *drawn])), **how)
    stages = [split_name(each)[1] for each in drawn if split_name(each)[0] == "limit"]
    values = [each for each in drawn if split_name(each)[0] != "limit" and each not in found.columns]
    return replace(
        found,
        columns={**found.columns, **{each: np.full(len(found), np.nan) for each in values}},
        units={**found.units, **{each: unit_of(each) for each in values}},
        limits={**{each: [""] * len(found) for each in stages}, **found.limits},
    )


def _absent(study: PreparedStudy, answers: Mapping[str, Answer], sweeps: Sequence[Sweep]) -> list[str]:
    """Name the values that were asked for and that no point has."""
    known = {name for sweep in sweeps for name in (*sweep.columns, *(f"limit[{p}]" for p in sweep.limits))}
    known |= {name for answer in answers.values() for name in _names_in(answer)}
    solved = any(not answer.failed for answer in answers.values())
    return [f"no answer has a value of {name}" for name in study.spec.answer if name not in known and solved]


def _names_in(answer: Answer) -> list[str]:
    """List the names of everything that an answer has a value for."""
    return [*answer.names, *(f"limit[{each.pipeline}]" for each in answer.limits)]


def _remarks(study: PreparedStudy) -> list[str]:
    return [str(note) for each in study.questions.values() for note in each.notes]


def _without_effect(sweeps: Sequence[Sweep]) -> list[str]:
    return [f"sweep {sweep.name}: {path} has no effect" for sweep in sweeps for path in sweep.idle]


def versions() -> dict[str, str]:
    """Give the versions of what computes: Python, slipstick and the numerical libraries."""
    return {"python": platform.python_version(), **{name: version(name) for name in ("slipstick", "numpy")}}
