"""Studies: a file in, its results out."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import SpecError, did_you_mean
from slipstick.method.default import SIMULATED, DefaultForm
from slipstick.results.study import Results, Sweep, Timeline
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.study import StudySpec, TimelineSpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Table, plain
from slipstick.schema.validate import validate
from slipstick.study.cases import BASE, StudyContext, check_answer_names, check_axes, check_names, shown, sweeps_of
from slipstick.study.evaluator import ALL_SHARES, evaluator, unless_interrupted, with_derived
from slipstick.study.questions import BaseAnswers, Question, read_questions
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
    context = StudyContext.of(spec, tree, library, overrides or {})
    sweeps = sweeps_of(spec, tree)
    check_names(context, sweeps)
    questions, context = read_questions(context)
    check_answer_names(context, [name for each in questions.values() for name in each.answer_names])
    if "answer" not in spec.model_fields_set:
        context = replace(context, spec=spec.model_copy(update={"answer": _first_quantities(context)}))
    plans = {each.name: planned(each, context.cases, library) for each in sweeps}
    check_axes(context, {name: [axis.path for axis in plan.axes] for name, plan in plans.items()})
    return PreparedStudy(name, context, plans, questions)


def _first_quantities(context: StudyContext) -> list[str]:
    """Name what each case is asked for where the study does not say."""
    found = []
    for case, settings in context.cases.items():
        built = evaluator(case, settings, context.library)
        found.append("time" if built.inputs.kind in ("program", "activity") else built.form.quantity)
    return list(dict.fromkeys(found)) or ["time"]


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
    answers = with_derived(answers, BASE, spec.answer)
    whole = whole and study.points <= MOST_ANSWERS
    sweeps = tuple(
        carried_out(name, plan, spec.answer, jobs=jobs, whole=whole, progress=progress)
        for name, plan in study.plans.items()
    )
    _check_columns(study, answers, sweeps)
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
        notes=tuple(dict.fromkeys([*_remarks(study), *study.simulated, *_without_effect(sweeps)])),
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


def _check_columns(study: PreparedStudy, answers: Mapping[str, Answer], sweeps: Sequence[Sweep]) -> None:
    """Refuse values that were asked for and that no point has."""
    known = dict.fromkeys(name for sweep in sweeps for name in (*sweep.columns, *(f"limit[{p}]" for p in sweep.limits)))
    known |= dict.fromkeys(name for answer in answers.values() for name in _names_in(answer))
    solved = any(not answer.failed for answer in answers.values())
    problems = [
        study.context.problem(("answer", index), f"no answer has the value {name}{did_you_mean(name, list(known))}")
        for index, name in enumerate(study.spec.answer)
        if name not in known and solved
    ]
    if problems:
        raise SpecError(problems)


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
