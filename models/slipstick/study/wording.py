"""The words of a study: titles of its cases, meanings of the quantities of its models, and the
limits that its questions set to values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from slipstick.answer import Answer
from slipstick.errors import UnitError
from slipstick.late import late_pattern
from slipstick.law import Law
from slipstick.model.added import AddedModel
from slipstick.model.system import Model
from slipstick.results.sweep import Axis
from slipstick.results.words import KNOWN_KEYS, NO_WORDS, Words, as_words, singular
from slipstick.schema.kinds.study import Drawn, LinesSpec, StudySpec, SweepSpec
from slipstick.schema.library import names_of_kind as known_specs
from slipstick.schema.text import Scalar, node_at
from slipstick.study.cases import StudyContext, case_titles, derived_titles
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.units import parse

_BOUND_PATTERN = late_pattern(r"([a-z_]+(?:\[[^\]]*\])?)\s*(?:<=|>=|<|>)\s*([^\s*+/-].*)")


def words_of(study: StudyContext, answers: Mapping[str, Answer]) -> Words:
    """Return the words with which a report of a solved study speaks of its cases and quantities.

    Parameters
    ----------
    study : as read
    answers : of each case
    """
    phrases = dict[str, str]()
    for case, settings in [*study.cases.items()][:1]:
        model = evaluator(case, settings, study.library).built.sample.model
        phrases |= model.phrases if isinstance(model, AddedModel) else {}
    meanings = {**phrases, **meanings_of(answers.values()), **study.spec.called}
    bound_by_name = dict(
        name_and_bound for text in _conditions_in(study.spec) for name_and_bound in bounds_in(text)
    )
    member_noun, noun_by_resource = _population_nouns(study)
    # A title that is written wins over one that is made.
    titles = {
        **dict.fromkeys(study.cases, ""),
        **derived_titles(study.tree),
        **case_titles(study.tree),
    }
    words = Words(
        titles,
        meanings,
        member_noun,
        bound_by_name,
        noun_by_resource,
        study.spec.title,
        _spec_titles(study),
        "as fitted" if study.fitted else "as given",
    )
    if processors_text := _population_text(study):
        meanings.setdefault(f"parameters.{processors_text}", words.members)
    return words


def _population_text(study: StudyContext) -> str:
    """Return the number of processors of the first case as it is written, such as the name of a
    parameter; empty if a file gives none.
    """
    for case, settings in study.cases.items():
        tree = evaluator(case, settings, study.library).inputs.tree
        number_node = node_at(tree, ["population", "processors"])
        return number_node.text if isinstance(number_node, Scalar) else ""
    return ""


def _spec_titles(study: StudyContext) -> dict[str, str]:
    """Return the titles of the machines and networks among the values of axes, by name, up to the
    first comma or bracket; the names themselves where two titles are the same.
    """
    # Only axes of whole machines or networks have titles; other axes are numbers.
    kinds_and_axes = [
        (path.rpartition(".")[2], axis)
        for key, axis_or_sweep in study.spec.vary.items()
        for path, axis in (
            axis_or_sweep.axes.items()
            if isinstance(axis_or_sweep, SweepSpec)
            else [(key, axis_or_sweep)]
        )
        if path in ("machine", "machine.network") and isinstance(axis, list)
    ]
    titles = {
        name: re.split(r" \(|, ", node.text)[0]
        for kind, axis in kinds_and_axes
        for name in axis
        if isinstance(name, str) and name in known_specs(kind)
        if isinstance(node := node_at(study.library.load(kind, name), ["title"]), Scalar)
    }
    count_by_title = Counter(titles.values())
    return {name: title for name, title in titles.items() if count_by_title[title] == 1}


def meanings_of(answers: Iterable[Answer]) -> dict[str, str]:
    """Return the meaning of quantities by path, from their authors or from the format."""
    meanings: dict[str, str] = {}
    for answer in answers:
        for path, entry in answer.described.items():
            if meaning := _format_phrase(path, entry.meaning) or entry.given.meaning:
                meanings.setdefault(path, meaning)
    return meanings


def _format_phrase(path: str, description: str) -> str:
    """Return the first phrase of the format's description of a quantity of a machine or program;
    empty for names that an author chose.
    """
    first_key, _, other_keys = path.partition(".")
    # Only machines and programs have descriptions that read as names of their quantities.
    if (other_keys and first_key != "machine") or path.rpartition(".")[2] in KNOWN_KEYS:
        return ""
    phrase = re.split(r"[,;:(]", _SYMBOL.sub("", description))[0].strip()
    return "" if phrase.startswith("how ") else phrase


_SYMBOL = late_pattern(r"^[A-Za-z](_[A-Za-z])?: ")  # by which a paper calls a quantity

_FEWEST_POINTS = 3
"""The least number of points of an axis that a picture shows as a curve."""


def default_pictures(
    spec: StudySpec,
    axes_by_sweep: Mapping[str, Sequence[Axis]],
    evaluators_by_sweep: Mapping[str, Sequence[Evaluator]],
) -> list[LinesSpec]:
    """Return a list with the picture that a study without pictures gets. It shows the value that a
    question limits, or else the first value asked for, over the longest numeric axis of the first
    sweep that has this value.

    Parameters
    ----------
    spec : of the study, with the values that it asks for
    axes_by_sweep, evaluators_by_sweep : the axes and the models of its sweeps, by name
    """
    limited_names = [name for text in _conditions_in(spec) for name, _ in bounds_in(text)]
    for sweep_name, sweep_axes in axes_by_sweep.items():
        # The axis with the most numbers makes the smoothest curve.
        path = max(sweep_axes, key=_number_count).path
        # A limit may be on a cost, which no point has.
        possible_names = [
            name
            for name in (*limited_names, *spec.answer)
            if any(
                name in case_evaluator.names for case_evaluator in evaluators_by_sweep[sweep_name]
            )
        ]
        if possible_names and max(map(_number_count, sweep_axes)) >= _FEWEST_POINTS:
            value_name = possible_names[0]
            return [LinesSpec(kind="lines", name="curve", sweep=sweep_name, x=path, y=[value_name])]
    return []


def with_title(picture: Drawn) -> Drawn:
    """Return a picture with a title; without one of its own, what the picture shows.

    >>> with_title(LinesSpec(kind="lines", name="c", sweep="s", x="parameters.n", y=["time"])).title
    'Time against n'
    """
    if picture.title:
        return picture
    title = type(picture).model_fields["kind"].description or ""
    if isinstance(picture, LinesSpec):
        title = f"{NO_WORDS.value(picture.y[0])} against {NO_WORDS.quantity(picture.x)}"
    return picture.model_copy(update={"title": f"{title[0].upper()}{title[1:]}"})


def _number_count(axis: Axis) -> int:
    """Return how many numbers an axis has; 0 for an axis of names."""
    return 0 if axis.has_names else len(axis.values)


def _population_nouns(study: StudyContext) -> tuple[str, dict[str, str]]:
    """Return the noun for a member of the first case's population, and a noun for each of its
    resources.
    """
    if not study.cases:
        return "processor", {}
    case, settings = next(iter(study.cases.items()))
    case_evaluator = evaluator(case, settings, study.library)
    model = case_evaluator.built.sample.model
    if isinstance(model, Law | AddedModel):
        # A server that works in rounds spends the time of its requests.
        return "request" if hasattr(model, "phases") else "processor", {}
    if not isinstance(model, Model):
        # The class names the customers only where there is one.
        member_noun = (
            singular(as_words(next(iter(model.classes)))) if len(model.classes) == 1 else ""
        )
        return member_noun or "customer", dict.fromkeys(model.stations, "a station")
    noun_by_resource = {name: resource.noun for name, resource in model.resources.items()}
    noun_node = node_at(case_evaluator.inputs.tree, ["population", "called"])
    if isinstance(noun_node, Scalar):
        return noun_node.text, noun_by_resource
    return "request" if model.population.open else "processor", noun_by_resource


def _conditions_in(spec: StudySpec) -> Iterator[str]:
    """Yield the conditions on answers in the questions of a study."""
    for question in spec.questions.values():
        for question_spec in question.values() if isinstance(question, Mapping) else [question]:
            if isinstance(condition_text := getattr(question_spec, "where", None), str):
                yield condition_text
            conditions = getattr(question_spec, "watch", ())
            yield from (getattr(condition, "that", condition) for condition in conditions)


def bounds_in(condition: str) -> Iterator[tuple[str, float]]:
    """Yield the bounds that a condition sets, each as the name of the value and the bound in base
    units.
    """
    for clause in re.split(r"(?<!\s)\s++and\s+", condition.strip()):
        if match := _BOUND_PATTERN.fullmatch(clause.strip()):
            with suppress(UnitError):
                yield match[1], parse(match[2])[0]
