"""Studies: a file in, its results out.

`read_study` reads and checks a study as a whole: what `slipstick check` accepts, `slipstick run`
solves. Cases are built, the values of sweeps checked in their place, questions read, and every name
of a value looked up among those that the models can have (`slipstick.method.names`). Nothing is
solved, and all problems are reported together.
"""

from __future__ import annotations

import itertools
import platform
import re
from collections import defaultdict
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import nullcontext
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.answer import ANSWERED, Answer, unit_of
from slipstick.errors import AbsentValue, ModelError, NoAnswerError, Problem, SpecError
from slipstick.extensions import code_hash
from slipstick.late import dataclass, np, replace
from slipstick.limits import Progress, announcing_for, ignore_progress, with_limits
from slipstick.method.names import is_transient, name_of_first_quantity
from slipstick.model.system import need_model
from slipstick.results.sweep import Axis, Sweep, split_name
from slipstick.schema.inputs import REFERENCES, Settings, given_values
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.kinds.study import (
    BarsSpec,
    LinesSpec,
    MapSpec,
    StudySpec,
    TimelineSpec,
    columns_in,
    study_model,
)
from slipstick.schema.library import Library
from slipstick.schema.text import Table, plain_data
from slipstick.study.asked import (
    hint_of_missing_group,
    notes_on_simulated_cases,
    simulate_where_needed,
    ungrouped_value_problems,
    unsolvable_condition_problems,
)
from slipstick.study.cases import (
    BASE,
    Place,
    StudyContext,
    SweepDefinition,
    cases_of,
    changed_settings_in_words,
    check_answer_names,
    check_axes,
    check_names,
    collect_problems,
    parts_of,
    sweeps_of,
)
from slipstick.study.evaluator import (
    ALL_SHARES,
    Evaluator,
    evaluator,
    unknown_value_message,
    with_overheads,
)
from slipstick.study.questions import BaseAnswers, Question, ValueNames, read_question
from slipstick.study.sweep import SweepPlan, check_sweep, plan_sweep, solve_plan
from slipstick.study.uncertain import with_intervals
from slipstick.study.wording import default_pictures, with_title, words_of

if TYPE_CHECKING:
    from slipstick.results.study import Results, Timeline
    from slipstick.study.engine import Engine

MOST_ANSWERS = 10_000
"""The largest number of points for which `run` keeps whole answers."""


@dataclass(frozen=True)
class PreparedStudy:
    """A study that is read and checked, with its models built.

    Parameters
    ----------
    name : of the study
    context : the study as read, with what was fitted laid over its base
    sweeps : what it varies
    questions : what it asks, by key
    """

    name: str
    context: StudyContext
    sweeps: Sequence[SweepDefinition]
    questions: Mapping[str, Question]

    @cached_property
    def plans(self) -> dict[str, SweepPlan]:
        """The points of each sweep, with every model built; raises SpecError if one cannot be."""
        return {
            sweep.name: plan_sweep(sweep, self.cases, self.context.library) for sweep in self.sweeps
        }

    @property
    def spec(self) -> StudySpec:
        """The checked study."""
        return self.context.spec

    @property
    def cases(self) -> Mapping[str, Settings]:
        """Settings of each case."""
        return self.context.cases

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file read, by name."""
        return dict(sorted(self.context.library.hashes.items()))

    def values_in_pictures(self, sweep_name: str) -> list[str]:
        """Return the names of the values of a sweep that pictures show."""
        names: dict[str, None] = {}
        for picture in self.spec.pictures:
            if isinstance(picture, LinesSpec | MapSpec) and picture.sweep == sweep_name:
                names |= dict.fromkeys(
                    picture.y if isinstance(picture, LinesSpec) else [picture.value]
                )
        return list(names)

    @property
    def simulation_notes(self) -> tuple[str, ...]:
        """Notes on how many points of each sweep are simulated though no method was
        named.
        """
        from slipstick.method.ladder import LadderForm
        from slipstick.method.methods import SIMULATED

        count_by_sweep = {
            sweep_name: sum(
                group.form.simulated_point_count(group.values, len(group.rows))
                for group in plan.groups
                if isinstance(group.form, LadderForm)
            )
            for sweep_name, plan in self.plans.items()
        }
        return tuple(
            f"sweep {sweep_name}: {count} points {SIMULATED}"
            for sweep_name, count in count_by_sweep.items()
            if count
        )

    @property
    def point_count(self) -> int:
        """The number of points to solve, including the cases."""
        question_point_count = sum(question.points for question in self.questions.values())
        return (
            len(self.cases)
            + question_point_count
            + sum(len(plan.case_by_point) for plan in self.plans.values())
        )


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
    tree = (
        library.load("study", reference)
        if isinstance(reference, str)
        else library.resolve("study", reference)
    )
    name = Path(reference).stem if isinstance(reference, str) else "study"
    spec = validate(study_model(tree), tree)
    with with_limits(spec.limits.costs):
        study = read_study(spec, tree, library, overrides, with_fitted_values=True, name=name)
        assert study.plans is not None  # all models are built before anything is solved
    return study


def read_study(
    spec: StudySpec,
    tree: Table,
    library: Library,
    overrides: Settings | None = None,
    *,
    with_fitted_values: bool = False,
    name: str = "study",
) -> PreparedStudy:
    """Read every case, sweep and question of a study.

    Parameters
    ----------
    spec, tree : the study, checked and as written
    library : every file that is read
    overrides : values by path that hold in every case
    with_fitted_values : whether the fits of the study are run, and their values replace those of
        the base, in all cases and later questions
    name : of the study

    Raises
    ------
    SpecError : everything that is wrong
    NoAnswerError : nothing can be fitted to the data of the study
    """
    study = StudyContext.from_study(spec, tree, library, overrides or {})
    sweeps = sweeps_of(spec, tree)
    problems: list[Problem] = []
    with collect_problems(problems):
        check_names(study, sweeps)
    evaluators: dict[str, Evaluator] = {}
    for case, settings in study.cases.items():
        with collect_problems(problems):
            evaluators[case] = _case_evaluator(case, settings, study)
    study, evaluators = simulate_where_needed(study, evaluators)
    questions: dict[str, Question] = {}
    for key, question_spec in spec.questions.items():
        if all(case in evaluators for case in cases_of(question_spec)):
            with collect_problems(problems):
                questions[key] = read_question(key, question_spec, study)
                # Questions that follow, and all cases, are built anew with what was fitted.
                if with_fitted_values and not problems and (fitted := questions[key].fitted_base()):
                    study = StudyContext.from_study(spec, tree, library, study.overrides, fitted)
                    evaluators = {
                        case: evaluator(case, case_settings, library)
                        for case, case_settings in study.cases.items()
                    }
                    study, evaluators = simulate_where_needed(study, evaluators)
    evaluators_by_sweep, axes_by_sweep = _sweep_models(study, sweeps, evaluators, problems)
    if "answer" not in spec.model_fields_set:
        study = replace(study, spec=_with_first_quantities(spec, evaluators.values()))
    if not problems:
        added_answers = {
            key: names
            for question in questions.values()
            for key, names in question.answer_names.items()
        }
        if with_fitted_values:  # all of them, before anything is solved
            added_answers = {key: dict(names) for key, names in added_answers.items()}
        check_answer_names(study, added_answers)
        _check_value_names(study, evaluators, evaluators_by_sweep, added_answers, questions)
        problems += unsolvable_condition_problems(study, evaluators)
        problems += ungrouped_value_problems(study, evaluators)
    if problems:
        # Cases that share a mistake report it once.
        raise SpecError(list(dict.fromkeys(problems)))
    if not spec.pictures:
        # The picture of a question shows its answer, that of a sweep only how a value changes.
        pictures = [picture for question in questions.values() for picture in question.pictures]
        pictures += default_pictures(study.spec, axes_by_sweep, evaluators_by_sweep)
        spec = spec.model_copy(update={"pictures": pictures})
    titled_pictures = [*map(with_title, spec.pictures)]
    study = replace(study, spec=study.spec.model_copy(update={"pictures": titled_pictures}))
    return PreparedStudy(name, study, sweeps, questions)


def _case_evaluator(name: str, settings: Settings, study: StudyContext) -> Evaluator:
    """Build the evaluator of a case; an error says which values the case takes from the base though
    its model is another.
    """
    try:
        return evaluator(name, settings, study.library)
    except SpecError as error:
        base_settings = study.base
        changed_references = [
            path for path in REFERENCES if settings.get(path) is not study.base.get(path)
        ]
        # A value that fits the base's model may have no place in the model of the case.
        references_text = " and ".join(changed_references)
        hint = f" (case {name} takes it from the base, but has another {references_text})"
        are_from_base = [
            changed_references
            and problem.path in base_settings
            and settings[problem.path] is base_settings[problem.path]
            for problem in error.problems
        ]
        problems_with_origin = zip(error.problems, are_from_base, strict=True)
        raise SpecError(
            [
                replace(problem, message=problem.message + hint) if is_from_base else problem
                for problem, is_from_base in problems_with_origin
            ]
        ) from None


def _sweep_models(
    study: StudyContext,
    sweeps: Sequence[SweepDefinition],
    cases: Collection[str],
    problems: list[Problem],
) -> tuple[dict[str, list[Evaluator]], dict[str, list[Axis]]]:
    """Return the models and the axes of each sweep, checked from each case that could be built;
    append the problems of sweeps to `problems`.
    """
    evaluators_by_sweep: dict[str, list[Evaluator]] = {}
    axes_by_sweep: dict[str, list[Axis]] = {}
    for sweep in sweeps:
        for case in sweep.spec.cases:
            if case in cases:
                with collect_problems(problems):
                    sweep_axes, evaluators = check_sweep(sweep, case, study)
                    axes_by_sweep[sweep.name] = sweep_axes
                    evaluators_by_sweep.setdefault(sweep.name, []).extend(evaluators)
    with collect_problems(problems):
        paths_by_sweep = {
            sweep_name: [axis.path for axis in axes] for sweep_name, axes in axes_by_sweep.items()
        }
        check_axes(study, paths_by_sweep)
    return evaluators_by_sweep, axes_by_sweep


def _with_first_quantities(spec: StudySpec, cases: Iterable[Evaluator]) -> StudySpec:
    """Return a study that asks for the first quantity of each of its models."""
    first_quantities = [
        name_of_first_quantity(case.built.sample.model, case.built.options.method) for case in cases
    ]
    return spec.model_copy(update={"answer": list(dict.fromkeys(first_quantities)) or ["time"]})


def _check_value_names(
    study: StudyContext,
    cases: Mapping[str, Evaluator],
    evaluators_by_sweep: Mapping[str, Sequence[Evaluator]],
    names_by_added_answer: Mapping[str, ValueNames],
    questions: Mapping[str, Question],
) -> None:
    """Refuse names of values that no requested answer can have."""
    names_by_answer = {
        **{name: case.names for name, case in cases.items()},
        **names_by_added_answer,
    }
    names_by_sweep = {
        name: [point_evaluator.names for point_evaluator in sweep_evaluators]
        for name, sweep_evaluators in evaluators_by_sweep.items()
    }
    problems: list[Problem] = []

    def check_value_name(
        path: Place,
        name: str,
        possible_names: Sequence[ValueNames],
        message_start: str = "no answer has",
    ) -> None:
        if possible_names and (
            message := unknown_value_message(name, possible_names, message_start)
        ):
            problems.append(study.problem(path, message))

    if "answer" in study.spec.model_fields_set:
        names_of_all_answers = [names_by_answer[name] for name in cases]
        names_of_all_answers += itertools.chain.from_iterable(names_by_sweep.values())
        for index, name in enumerate(study.spec.answer):
            check_value_name(("answer", index), name, names_of_all_answers)
    for index, picture in enumerate(study.spec.pictures):
        path: Place = ("pictures", index)
        if isinstance(picture, TimelineSpec):
            try:
                need_model(cases[picture.case].built.sample.model, "a timeline")
            except ModelError as error:
                problems.append(study.problem((*path, "case"), str(error)))
            continue
        names_in_picture: Sequence[ValueNames]
        if isinstance(picture, BarsSpec):
            names_in_picture = [names_by_answer[case] for case in picture.cases]
            message_start = "no case of this picture has"
        elif isinstance(picture, LinesSpec | MapSpec):
            names_in_picture = names_by_sweep[picture.sweep]
            message_start = f"no point of {picture.sweep} has"
        else:
            value_names = questions[picture.question].values or study.spec.answer
            names_in_picture = [dict.fromkeys(value_names, "")]
            message_start = f"{picture.question} does not ask for"
        for keys, name in columns_in(picture):
            # A stack of labels, component or technology, is no value.
            if keys != ("stack",):
                check_value_name((*path, *keys), name, names_in_picture, message_start)
    for key, question in questions.items():
        problems += _column_name_problems(key, question, study, cases, names_by_answer)
    if problems:
        raise SpecError(problems)


def _column_name_problems(
    key: str,
    question: Question,
    study: StudyContext,
    cases: Mapping[str, Evaluator],
    names_by_answer: Mapping[str, ValueNames],
) -> list[Problem]:
    """List the problems of columns that a question names and none of its answers has. The names are
    in fields of the type `Column`, or the question checks them itself.
    """
    problems = list(question.name_problems(names_by_answer))
    names_by_case = {**names_by_answer, **question.names_by_case}
    for path, question_spec in parts_of(study.spec.questions[key]):
        answering_cases = question_spec.answers_of_columns() or list(cases)
        answer_names = [names_by_case[case] for case in answering_cases]
        all_are_cases = cases.keys() >= set(answering_cases)
        for keys, name in columns_in(question_spec):
            message = (
                unknown_value_message(name, answer_names, "no case has") if answer_names else ""
            )
            if all_are_cases and not message:
                message = hint_of_missing_group(name, [cases[case] for case in answering_cases])
            if message:
                problem = study.problem((key, *path, *keys), message)
                # The question's own check says more than this one.
                if problem.place not in {known_problem.place for known_problem in problems}:
                    problems.append(problem)
    return problems


def run(
    study: PreparedStudy,
    *,
    engine: Engine | None = None,
    whole: bool = False,
    progress: Progress = ignore_progress,
) -> Results:
    """Answer all questions of a study.

    Parameters
    ----------
    study : as `prepare` gives it
    engine : where points are solved; by default here, one after the other. The results do not
        depend on it
    whole : keep the whole answer of every point, if there are no more than `MOST_ANSWERS`
    progress : called with the number of further points that are done

    Raises
    ------
    SpecError : a question names what is not there
    """
    with with_limits(study.spec.limits.costs), engine or nullcontext():
        return _solve_study(study, whole, progress)


def _solve_study(study: PreparedStudy, with_answers: bool, progress: Progress) -> Results:
    """Return the results of a study: of its cases, its sweeps and then its questions."""
    from slipstick.results.study import NamedAnswers, Results  # a check has no need of them

    spec = study.spec
    cases = study.cases
    base_settings = cases.get(BASE, {})
    answers: dict[str, Answer] = {}
    inputs_by_case: dict[str, object] = {}
    questions = study.questions.values()
    question_names = (name for question in questions for name in question.named_values)
    wanted_names = list(dict.fromkeys([*spec.answer, *question_names, *_named_column_names(spec)]))
    for case, settings in cases.items():
        with announcing_for(case):
            answers[case], inputs_by_case[case] = _solve_case(
                study, case, settings, base_settings, wanted_names
            )
        progress(1)
    answers = with_overheads(answers, BASE, wanted_names)
    with_answers = with_answers and study.point_count <= MOST_ANSWERS
    sweeps = tuple(
        _solve_sweep(study, sweep_name, plan, as_answers=with_answers, progress=progress)
        for sweep_name, plan in study.plans.items()
    )
    results = Results(
        name=study.name,
        title=spec.title or study.name,
        text=spec.text,
        source=spec.sources.get(spec.source, spec.source),
        cases=NamedAnswers(answers),
        settings={
            case: changed_settings_in_words(settings, base_settings)
            for case, settings in cases.items()
        },
        sweeps=sweeps,
        hashes=study.hashes,
        resolved=inputs_by_case,
        versions=versions(),
        notes=tuple(dict.fromkeys(_run_notes(study, answers, sweeps))),
        timelines=_timelines_of_pictures(study),
        answer=tuple(spec.answer),
        words=words_of(study.context, answers),
        spec=spec,
    )
    for key, question in study.questions.items():
        result = question.solve(BaseAnswers(answers, results.named_answers(), spec.answer))
        words = results.words
        if result.member and words.member == "processor":
            words = replace(words, member=result.member)
        # One after the other, because a question may read the answers that those before it added.
        results = replace(results, questions={**results.questions, key: result}, words=words)
        progress(question.points)
    return _order_questions(study, results)


def _run_notes(
    study: PreparedStudy, answers: Mapping[str, Answer], sweeps: Sequence[Sweep]
) -> Iterator[str]:
    """Yield the notes of a run: on files that questions read, on methods, on axes without an
    effect, and on requested values that no answer has.
    """
    portable_name = study.context.library.portable_name
    for note in (note for question in study.questions.values() for note in question.notes()):
        note_path = Path(note.file)
        yield str(replace(note, file=portable_name(note_path)) if note_path.is_file() else note)
    yield from notes_on_simulated_cases(study.context)
    yield from study.simulation_notes
    for sweep in sweeps:
        yield from (f"sweep {sweep.name}: {axis_path} has no effect" for axis_path in sweep.idle)
    yield from _absent_value_notes(study, answers, sweeps)


def _order_questions(study: PreparedStudy, results: Results) -> Results:
    """Return results with the questions in the order of display: first those that the title of the
    study asks, then the others as written.
    """
    spec = study.spec
    study_keys = list(study.context.tree.entries)
    title_questions = _title_questions(spec.title)
    ordered_keys = [key for key in study_keys if key in results.questions]
    ordered_keys.sort(key=lambda key: key not in title_questions)  # which keeps their order
    are_only_of_base = all(
        {*cases_of(question_spec)} <= {BASE} for question_spec in spec.questions.values()
    )
    cases_come_first = "cases" in study_keys and all(
        study_keys.index("cases") < study_keys.index(key) for key in ordered_keys
    )
    questions = {key: results.questions[key] for key in ordered_keys}
    return replace(
        results,
        questions=questions,
        cases_first=are_only_of_base
        and cases_come_first
        and not {*title_questions} & {*ordered_keys},
    )


def _named_column_names(spec: StudySpec) -> Iterator[str]:
    """Yield the names of values that questions have in fields of the type `Column`."""
    for question in spec.questions.values():
        for _, question_spec in parts_of(question):
            yield from (name for _, name in columns_in(question_spec))


_QUESTIONS_BY_TITLE_PATTERN = {
    r"\bhow (many|often|far|large|much)\b|\bwhich (share|size|number)\b": (
        "choose",
        "seek",
        "fits",
        "scale",
    ),
    r"\bwhy\b|\bwhat limits\b|\bbottlenecks?\b": ("bottleneck", "measured"),
    r"\bhelps?\b": ("rank",),
    r"\b(will|years|ahead)\b|^when\b": ("project", "seek"),
}
"""Words of a title, and the questions that answer it."""


def _title_questions(title: str) -> tuple[str, ...]:
    """Return the keys of the questions that the title of a study asks; none if it asks no question.

    >>> _title_questions("How many servers does each tier need?")
    ('choose', 'seek', 'fits', 'scale')
    >>> _title_questions("When is a step twice as fast?")
    ('project', 'seek')
    """
    matching_keys = (
        keys
        for pattern, keys in _QUESTIONS_BY_TITLE_PATTERN.items()
        if re.search(pattern, title, re.IGNORECASE)
    )
    return next(matching_keys, ())


def _solve_case(
    study: PreparedStudy,
    name: str,
    settings: Settings,
    base_settings: Settings,
    wanted_names: Sequence[str],
) -> tuple[Answer, object]:
    """Solve a case; return its answer and its resolved inputs."""
    # A ranking needs all shares, which cost a simulation further runs.
    needs_shares = any(name in question.shares_of() for question in study.questions.values())
    case_evaluator = evaluator(name, settings, study.context.library)
    changed_settings = {
        path: node for path, node in settings.items() if base_settings.get(path) is not node
    }
    try:
        solved_answer = case_evaluator.answer(ALL_SHARES if needs_shares else 0, wanted_names)
    except NoAnswerError as error:
        raise NoAnswerError(f"case {name}: {error}", error.other_method) from error
    if case_evaluator.built.uncertain_values.paths:
        solved_answer = with_intervals(solved_answer, case_evaluator)
    answer = replace(
        solved_answer,
        given=given_values(changed_settings, case_evaluator.inputs, case_evaluator.built),
        described=case_evaluator.built.entries,
    )
    return answer, {
        "model": case_evaluator.built.name,
        **_without_titles(plain_data(case_evaluator.inputs.tree)),
    }


def _without_titles(value: Any) -> Any:
    """Return the data of a spec without its title and sources, which its file, recorded by hash,
    has.
    """
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(entry)
        for key, entry in value.items()
        if key not in ("title", "source", "sources")
    }


def _timelines_of_pictures(study: PreparedStudy) -> dict[str, Timeline]:
    timelines = {}
    for picture in study.spec.pictures:
        if isinstance(picture, TimelineSpec):
            case_evaluator = evaluator(
                picture.case, study.cases[picture.case], study.context.library
            )
            timelines[picture.name] = case_evaluator.built.timeline(picture.cycles)
    return timelines


def _solve_sweep(study: PreparedStudy, name: str, plan: SweepPlan, **options: Any) -> Sweep:
    """Return a solved sweep, with empty columns for values that pictures need and no point has."""
    drawn_names = study.values_in_pictures(name)
    sweep = solve_plan(
        name, plan, list(dict.fromkeys([*study.spec.answer, *drawn_names])), **options
    )
    pipeline_names = [
        split_name(drawn_name)[1]
        for drawn_name in drawn_names
        if split_name(drawn_name)[0] == "limit"
    ]
    # A picture of a value that no point has is drawn empty rather than refused after hours of
    # solving.
    missing_names = [
        drawn_name
        for drawn_name in drawn_names
        if split_name(drawn_name)[0] != "limit" and drawn_name not in sweep.columns
    ]
    empty_columns = {missing_name: np.full(len(sweep), np.nan) for missing_name in missing_names}
    missing_units = {missing_name: unit_of(missing_name) for missing_name in missing_names}
    empty_limits = {pipeline_name: [""] * len(sweep) for pipeline_name in pipeline_names}
    return replace(
        sweep,
        columns={**sweep.columns, **empty_columns},
        units={**sweep.units, **missing_units},
        limits={**empty_limits, **sweep.limits},
    )


def _absent_value_notes(
    study: PreparedStudy, answers: Mapping[str, Answer], sweeps: Sequence[Sweep]
) -> list[str]:
    """Return notes on requested values that no point has, or only some of the points."""
    known_names = {name for answer in answers.values() for name in answer.names} | {
        column_name for sweep in sweeps for column_name in sweep.columns
    }
    known_names |= {
        f"limit[{limit.pipeline}]" for answer in answers.values() for limit in answer.limits
    }
    known_names |= {f"limit[{pipeline_name}]" for sweep in sweeps for pipeline_name in sweep.limits}
    has_answer = any(not answer.failed for answer in answers.values())
    # Where every case failed, the reasons of the failures say more.
    absent_names = (
        [name for name in study.spec.answer if name not in known_names] if has_answer else []
    )
    notes = [
        AbsentValue(f"no answer has a value of {name}{_reason_without_value(name, answers)}")
        for name in absent_names
    ]
    return [*notes, *_missing_value_notes(study.spec.answer, sweeps)]


def _missing_value_notes(names: Sequence[str], sweeps: Sequence[Sweep]) -> Iterator[str]:
    """Yield notes on values before the steady state that are missing at points with an answer, for
    example because their chain is too large.
    """
    for sweep in sweeps:
        solved_rows = [row for row in range(len(sweep)) if row not in sweep.failed]
        names_by_count = defaultdict[int, list[str]](list)
        for name in filter(is_transient, names):
            if name in sweep.columns:
                missing_count = int(np.isnan(sweep.columns[name][solved_rows]).sum())
                names_by_count[missing_count].append(name)
        for missing_count, missing_names in names_by_count.items():
            if missing_count:
                yield AbsentValue(
                    f"no answer has a value of {' or '.join(missing_names)} at {missing_count} of"
                    f" {len(solved_rows)} points of {sweep.name}; solve one of them alone to"
                    " see why"
                )


def _reason_without_value(name: str, answers: Mapping[str, Answer]) -> str:
    """Return the reason why no case has a value, and how to obtain it."""
    asked_values = (answer.asked[name] for answer in answers.values() if name in answer.asked)
    asked_value = next(
        (asked_value for asked_value in asked_values if asked_value.state != ANSWERED), None
    )
    if asked_value is None:
        return ""
    return f": {asked_value.way_to_value}"


def versions() -> dict[str, str]:
    """Return the versions of Python, slipstick and the numerical libraries, and a hash of
    slipstick's code.
    """
    package_versions = {name: version(name) for name in ("slipstick", "numpy")}
    return {
        "python": platform.python_version(),
        **package_versions,
        "code": code_hash("slipstick*"),
    }
