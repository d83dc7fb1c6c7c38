"""The door: a study file in, its results out."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slipstick.answer import Answer
from slipstick.errors import Problem, SpecError, did_you_mean
from slipstick.method.agreement import agreement
from slipstick.method.methods import answered, form_of
from slipstick.results.study import Agreement, Fitting, Ranking, Results, Sweep, Timeline, by_processors
from slipstick.schema.build import BuiltModel, build
from slipstick.schema.inputs import Settings, resolve
from slipstick.schema.kinds.study import FitsPictureSpec, StudySpec, TimelineSpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Table, plain
from slipstick.schema.validate import problem, validate
from slipstick.study.cases import BASE, base_settings, case_settings, shown, sweeps_of
from slipstick.study.derived import with_derived
from slipstick.study.names import check_axes, check_names
from slipstick.study.questions.asked import Asked, asked_of
from slipstick.study.questions.choose import chosen, under
from slipstick.study.questions.compare import compared, names_in
from slipstick.study.questions.fitted import accounts, fitted, read_fits
from slipstick.study.questions.project import projected
from slipstick.study.questions.rank import ranked
from slipstick.study.questions.sample import sampled
from slipstick.study.questions.scale import Question, questions, scaled
from slipstick.study.questions.seek import sought
from slipstick.study.solve import given_values, timeline_of
from slipstick.study.sweep import Plan, Progress, carried_out, planned

MOST_ANSWERS = 10_000
"""Up to so many points `run` keeps whole answers for."""


_ALL = 10**6
"""More shares than there are parameters: what a ranking needs."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A study with everything read, checked and built, ready to solve.

    Parameters
    ----------
    name : of the study
    spec, tree : the study, checked and as written
    cases : settings of each case
    plans : points of each sweep
    library : every file that was read
    scalings : what is asked of each case that is scaled
    fits, measured : what was found in measured runs, on which the cases may rest
    odd : what is odd about these
    asked : what is asked about what is to come, and of changes
    """

    name: str
    spec: StudySpec
    tree: Table
    cases: Mapping[str, Settings]
    plans: Mapping[str, Plan]
    library: Library
    scalings: tuple[Question, ...] = ()
    fits: Mapping[str, Fitting] = field(default_factory=dict)
    measured: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    odd: tuple[Problem, ...] = ()
    asked: Asked = field(default_factory=Asked)

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file read, by name."""
        return dict(sorted(self.library.hashes.items()))

    @property
    def points(self) -> int:
        """How many points there are to solve, cases included."""
        agree = self.spec.agree
        again = len(agree.methods) * len(agree.cases or self.cases) if agree else 0
        return len(self.cases) + again + sum(len(plan.cases) for plan in self.plans.values())


def prepare(reference: str | Table, overrides: Settings | None = None) -> Prepared:
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
    changes = dict(overrides or {})
    found = accounts(spec, tree, library)
    runs = {name: each.answers for name, each in found.items()}
    before = {name: {**settings, **changes} for name, settings in case_settings(tree).items()}
    asked = sweeps_of(spec, tree)
    check_names(spec, tree, before, asked, by_processors(runs))
    drawn = [each.fit for each in spec.pictures if isinstance(each, FitsPictureSpec)]
    asked_fits = read_fits(spec, tree, before, {**base_settings(tree), **changes}, library)
    fits, laid = fitted(asked_fits, drawn)
    cases = {name: {**settings, **changes} for name, settings in case_settings(tree, laid).items()}
    if "answer" not in spec.model_fields_set:
        spec = spec.model_copy(update={"answer": _first_quantities(cases, library)})
    plans = {each.name: planned(each, cases, library) for each in asked}
    check_axes(spec, tree, {name: [axis.path for axis in plan.axes] for name, plan in plans.items()})
    scalings = tuple(questions(spec, tree, cases, library))
    odd = tuple(dict.fromkeys([*(note for each in found.values() for note in each.notes), *asked_fits.odd]))
    further = asked_of(spec, tree, cases, library)
    return Prepared(name, spec, tree, cases, plans, library, scalings, fits, runs, odd, further)


def _first_quantities(cases: Mapping[str, Settings], library: Library) -> list[str]:
    """Name what each case is asked for where the study does not say."""
    found = [resolve(settings, library) for settings in cases.values()]
    names = ["time" if inputs.kind in ("program", "activity") else _first_quantity(build(inputs)) for inputs in found]
    return list(dict.fromkeys(names)) or ["time"]


def _first_quantity(built: BuiltModel) -> str:
    return form_of(built.model, built.parameters, built.options.method).quantity


def run(study: Prepared, *, jobs: int = 1, whole: bool = False, progress: Progress = lambda points: None) -> Results:
    """Answer all questions of a study.

    Parameters
    ----------
    study : as `prepare` gives it
    jobs : groups of points solved side by side; the results do not depend on it
    whole : keep the whole answer of every point, if there are no more than `MOST_ANSWERS`
    progress : told how many more points are done

    Raises
    ------
    SpecError : a question names what is not there
    """
    spec, tree, cases = study.spec, study.tree, study.cases
    base = cases.get(BASE, {})
    answers: dict[str, Answer] = {}
    resolved: dict[str, object] = {}
    for name, settings in cases.items():
        ranked_here = spec.rank is not None and name in spec.rank.cases and bool(spec.rank.of or not spec.rank.changes)
        answers[name], resolved[name] = _answered(settings, base, study.library, _ALL if ranked_here else 0)
        _stop_if_interrupted(answers[name])
        progress(1)
    answers = with_derived(answers, BASE, spec.answer)
    whole = whole and study.points <= MOST_ANSWERS
    sweeps = tuple(
        carried_out(name, plan, spec.answer, jobs=jobs, whole=whole, progress=progress)
        for name, plan in study.plans.items()
    )
    agreements = _agreements(study, answers, progress)
    _check_columns(study, answers, sweeps)
    return Results(
        name=study.name,
        title=spec.title or study.name,
        text=spec.text,
        source=spec.sources.get(spec.source, spec.source),
        cases=answers,
        settings={name: shown(settings, base) for name, settings in cases.items()},
        sweeps=sweeps,
        rankings=_rankings(study, answers),
        comparisons=tuple(
            compared(each, tree, index, {**answers, **by_processors(study.measured)})
            for index, each in enumerate(spec.compare)
        ),
        hashes=study.hashes,
        resolved=resolved,
        versions=versions(),
        notes=(*map(str, study.odd), *_notes(sweeps)),
        agreements=agreements,
        timelines=_timelines(study),
        scalings=tuple(map(scaled, study.scalings)),
        fits=study.fits,
        measured=study.measured,
        projection=projected(study.asked.ahead, spec.answer, jobs=jobs) if study.asked.ahead else None,
        sought=tuple(sought(each, jobs=jobs) for each in study.asked.searches),
        samplings=tuple(sampled(each, spec.answer, jobs=jobs) for each in study.asked.surveys),
        choices=tuple(map(chosen, study.asked.choices)),
    )


def _answered(settings: Settings, base: Settings, library: Library, shares: int) -> tuple[Answer, object]:
    """Answer for a case, and lay out what it was solved with; a simulation gives at least so many shares."""
    inputs = resolve(settings, library)
    built = build(inputs)
    changed = {path: node for path, node in settings.items() if base.get(path) is not node}
    simulation = replace(built.options.simulation, shares=max(shares, built.options.simulation.shares))
    (found,) = answered(built.model, built.parameters, built.options.method, simulation)
    answer = replace(found, given=given_values(changed, inputs, built), notes=(*found.notes, *built.notes))
    return answer, {"model": built.name, **_without_words(plain(inputs.tree))}


def _without_words(value: Any) -> Any:
    """Leave out what a spec says about itself; its file, named by hash, has it."""
    if not isinstance(value, dict):
        return value
    return {key: _without_words(each) for key, each in value.items() if key not in ("title", "source", "sources")}


def _rankings(study: Prepared, answers: Mapping[str, Answer]) -> tuple[Ranking, ...]:
    spec, cases = study.spec.rank, study.cases
    if spec is None or (spec.changes and not spec.of):
        return ()
    found = []
    for case in spec.cases:
        for technology, settings in under(cases[case], spec, study.tree).items():
            answer = answers[case] if not technology else _answered(settings, settings, study.library, _ALL)[0]
            found.append(ranked(case, spec, study.tree, settings, study.library, answer, technology))
    return tuple(found)


def _agreements(study: Prepared, answers: Mapping[str, Answer], progress: Progress) -> tuple[Agreement, ...]:
    """Solve cases by several methods; what a case was solved by already is not done again."""
    spec = study.spec.agree
    found = []
    for case in (spec.cases or study.cases) if spec else ():
        assert spec is not None
        built = build(resolve(study.cases[case], study.library))
        together: list[Answer] = []
        for method in spec.methods:
            known = answers[case].method == method
            several = (
                (answers[case],) if known else answered(built.model, built.parameters, method, built.options.simulation)
            )
            _stop_if_interrupted(several[0])
            together += several
            progress(1)
        found.append(agreement(case, together))
    return tuple(found)


def _timelines(study: Prepared) -> dict[str, Timeline]:
    found = {}
    for spec in study.spec.pictures:
        if isinstance(spec, TimelineSpec):
            built = build(resolve(study.cases[spec.case], study.library))
            found[spec.name] = timeline_of(built, spec.cycles)
    return found


def _stop_if_interrupted(answer: Answer) -> None:
    """End a study that somebody stopped, before anything is written."""
    if answer.interrupted:
        raise KeyboardInterrupt


def _check_columns(study: Prepared, answers: Mapping[str, Answer], sweeps: Sequence[Sweep]) -> None:
    """Refuse values that were asked for and that no point has."""
    known = dict.fromkeys(name for sweep in sweeps for name in (*sweep.columns, *(f"limit[{p}]" for p in sweep.limits)))
    known |= dict.fromkeys(name for answer in answers.values() for name in names_in(answer))
    solved = any(not answer.failed for answer in answers.values())
    problems = [
        problem(study.tree, ("answer", index), f"no answer has the value {name}{did_you_mean(name, list(known))}")
        for index, name in enumerate(study.spec.answer)
        if name not in known and solved
    ]
    if problems:
        raise SpecError(problems)


def _notes(sweeps: Sequence[Sweep]) -> tuple[str, ...]:
    return tuple(f"sweep {sweep.name}: {path} has no effect" for sweep in sweeps for path in sweep.idle)


def versions() -> dict[str, str]:
    """Give the versions of what computes: Python, slipstick and the numerical libraries."""
    return {"python": platform.python_version(), **{name: version(name) for name in ("slipstick", "numpy")}}
