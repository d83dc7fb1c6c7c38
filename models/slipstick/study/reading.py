"""A study read and checked as a whole: what `slipstick check` accepts, `slipstick run` solves.

Cases are built, the values of sweeps checked in their place, questions read, and every name of a value looked up among
those that the models can have (`slipstick.method.names`). Nothing is solved, and all problems are reported together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slipstick.errors import ModelError, Problem, SpecError, did_you_mean
from slipstick.method.names import first_quantity
from slipstick.model.system import need_model
from slipstick.schema.inputs import REFERENCES, Settings
from slipstick.schema.kinds.study import (
    BarsSpec,
    HistogramSpec,
    LinesSpec,
    MapSpec,
    ProjectionPictureSpec,
    StudySpec,
    TimelineSpec,
)
from slipstick.schema.library import Library
from slipstick.schema.text import Table
from slipstick.study.cases import (
    Place,
    StudyContext,
    SweepDefinition,
    cases_of,
    check_answer_names,
    check_axes,
    check_names,
    kept,
    sweeps_of,
)
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import Question, ValueNames, read_question
from slipstick.study.sweep import checked_sweep


@dataclass(frozen=True, slots=True)
class ReadStudy:
    """A study, read and checked.

    Parameters
    ----------
    context : the study, with what was fitted laid over its base
    sweeps : what it varies
    questions : what it asks, by key
    """

    context: StudyContext
    sweeps: Sequence[SweepDefinition]
    questions: Mapping[str, Question]


def read_study(
    spec: StudySpec, tree: Table, library: Library, overrides: Settings | None = None, fitted: bool = False
) -> ReadStudy:
    """Read every case, sweep and question of a study.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    library : every file that is read
    overrides : values by path that hold in every case
    fitted : fit what the study fits, and lay it over the base, where it holds in all cases and later questions

    Raises
    ------
    SpecError : everything that is wrong
    NoAnswerError : nothing can be fitted to the data of the study
    """
    study, sweeps = StudyContext.of(spec, tree, library, overrides or {}), sweeps_of(spec, tree)
    problems: list[Problem] = []
    with kept(problems):
        check_names(study, sweeps)
    whole: dict[str, Evaluator] = {}
    for name, settings in study.cases.items():
        with kept(problems):
            whole[name] = _case(name, settings, study)
    questions: dict[str, Question] = {}
    for key, asked in spec.questions.items():
        if all(case in whole for case in cases_of(asked)):
            with kept(problems):
                questions[key] = read_question(key, asked, study)
                if fitted and not problems and (laid := questions[key].fitted_settings()):
                    study = StudyContext.of(spec, tree, library, study.overrides, laid)
                    whole = {name: evaluator(name, each, library) for name, each in study.cases.items()}
    points: dict[str, list[Evaluator]] = {}
    axes: dict[str, list[str]] = {}
    for sweep in sweeps:
        for case in sweep.spec.cases:
            if case in whole:
                with kept(problems):
                    axes[sweep.name], built = checked_sweep(sweep, case, study)
                    points.setdefault(sweep.name, []).extend(built)
    with kept(problems):
        check_axes(study, axes)
    if "answer" not in spec.model_fields_set:
        first = [first_quantity(each.built.shape.model, each.built.options.method) for each in whole.values()]
        asking = spec.model_copy(update={"answer": list(dict.fromkeys(first)) or ["time"]})
        study = replace(study, spec=asking)
    if not problems:
        added = {name: each for question in questions.values() for name, each in question.answer_names.items()}
        check_answer_names(study, added)
        _check_values(study, whole, points, added, questions)
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    return ReadStudy(study, sweeps, questions)


def _case(name: str, settings: Settings, study: StudyContext) -> Evaluator:
    """Build a case; of one with a model of its own, say what it takes from the base and its model does not know."""
    try:
        return evaluator(name, settings, study.library)
    except SpecError as error:
        base, changed = study.base, [path for path in REFERENCES if settings.get(path) is not study.base.get(path)]
        why = f" (case {name} takes it from the base, but has another {' and '.join(changed)})"
        taken = [changed and each.path in base and settings[each.path] is base[each.path] for each in error.problems]
        told = zip(error.problems, taken, strict=True)
        raise SpecError([replace(each, message=each.message + why) if of else each for each, of in told]) from None


def _check_values(
    study: StudyContext,
    cases: Mapping[str, Evaluator],
    points: Mapping[str, Sequence[Evaluator]],
    added: Mapping[str, ValueNames],
    questions: Mapping[str, Question],
) -> None:
    """Refuse names of values that nothing asked for can have."""
    named = {**{name: _NamesOf(each) for name, each in cases.items()}, **added}
    of_sweeps = {name: list(map(_NamesOf, built)) for name, built in points.items()}
    problems: list[Problem] = []

    def check(place: Place, name: str, known: Sequence[ValueNames], who: str = "no answer has") -> None:
        if known and not any(name in each for each in known):
            near = did_you_mean(name, list(dict.fromkeys(other for each in known for other in each)))
            problems.append(study.problem(place, f"{who} the value {name}{near}"))

    if "answer" in study.spec.model_fields_set:
        everything = [named[name] for name in cases] + [each for several in of_sweeps.values() for each in several]
        for index, name in enumerate(study.spec.answer):
            check(("answer", index), name, everything)
    for index, picture in enumerate(study.spec.pictures):
        place: Place = ("pictures", index)
        match picture:
            case LinesSpec():
                for number, name in enumerate(picture.y):
                    check((*place, "y", number), name, of_sweeps[picture.sweep], f"no point of {picture.sweep} has")
            case MapSpec():
                check((*place, "value"), picture.value, of_sweeps[picture.sweep], f"no point of {picture.sweep} has")
            case BarsSpec() if not isinstance(picture.stack, str):
                drawn = [named[case] for case in picture.cases]
                for label, names in picture.stack.items():
                    for number, name in enumerate(names):
                        check((*place, "stack", label, number), name, drawn, "no case of this picture has")
            case TimelineSpec():
                try:
                    need_model(cases[picture.case].built.shape.model, "a timeline")
                except ModelError as error:
                    problems.append(study.problem((*place, "case"), str(error)))
            case ProjectionPictureSpec() | HistogramSpec():
                asked = dict.fromkeys(questions[picture.question].values_of(study.spec.answer), "")
                shown = isinstance(picture, ProjectionPictureSpec)
                for number, name in enumerate(
                    picture.y if isinstance(picture, ProjectionPictureSpec) else [picture.value]
                ):
                    where = (*place, "y", number) if shown else (*place, "value")
                    check(where, name, [asked], f"{picture.question} does not ask for")
    for question in questions.values():
        problems += question.name_problems(named)
    if problems:
        raise SpecError(problems)


@dataclass(frozen=True, slots=True)
class _NamesOf(ValueNames):
    """The names of the values of a case, listed when they are first asked for."""

    case: Evaluator

    def __getitem__(self, name: str) -> str:
        return self.case.names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.case.names)

    def __len__(self) -> int:
        return len(self.case.names)
