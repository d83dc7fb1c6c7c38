"""Samples: draws of uncertain quantities, the quantiles of the answers, and the causes of their
variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

from slipstick.errors import Problem, SpecError, UnknownNameError, did_you_mean
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, NDArray, dataclass, field, np
from slipstick.model.uncertainty import Uncertainty, random_stream, sample_points
from slipstick.report.formatting import (
    Ends,
    as_percent,
    code,
    escape,
    percent,
    quantity,
    value_amount,
)
from slipstick.results.question import (
    Decision,
    QuestionResult,
    ResultColumn,
    ResultTable,
    TitleAnswer,
)
from slipstick.results.sweep import Provenance
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.inputs import Settings
from slipstick.schema.text import Node, canonical, value_mark
from slipstick.study.cases import StudyContext, quantity_node
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.questions import BaseAnswers, Question
from slipstick.units import choose_unit
from slipstick_pictures.look import STROKES, axis_title, new_figure, with_title_and_legend
from slipstick_questions.conditions import Condition, condition_of
from slipstick_questions.saturation import saturated_points, saturated_resources, unbounded
from slipstick_rates.distributions import Uncertain, distribution_of, quantities
from slipstick_trends.likelihood import likelihood_word
from slipstick_trends.specs import HistogramSpec, SampleSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.answer import Answer

_REPLICATIONS = 8
"""The number of independent sets of points from which the interval of a quantile is computed."""

_T_95 = 2.364624251592785
"""Student's t for 95 % and one less degrees of freedom than replications."""


@dataclass(frozen=True, slots=True)
class SensitivityIndex:
    """The share of the variance of an answer that one quantity causes, alone (first order) and with
    all its interactions (total) [1].
    """

    path: str
    first_order: float
    total: float


@dataclass(frozen=True, slots=True)
class SampledValue:
    """The distribution of one sampled answer.

    Parameters
    ----------
    name, unit : of the answer
    stated : with every quantity as the case gives it, in base units
    mean : of the points
    quantiles : by part, each with the ends of its 95 % interval
    points : all values, in the order in which they were drawn
    influences : of each quantity, the largest total first; empty if they were not requested, or
        cannot be computed
    why : the reason why they cannot be computed
    """

    name: str
    unit: str
    stated: float | None
    mean: float
    quantiles: Mapping[float, tuple[float, float, float]]
    points: Array = field(repr=False)
    influences: tuple[SensitivityIndex, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class SampledCondition:
    """The part of the draws in which a condition is true.

    Parameters
    ----------
    text : of the condition
    share : of all draws; NaN if some draws do not tell whether it is true [1]
    low, high : ends of its 95 % interval, from the independent sets of draws; where some draws do
        not tell, the shares with the condition false or true in all of them [1]
    undecided : how many draws do not tell
    """

    text: str
    share: float
    low: float
    high: float
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class SampleStudy:
    """The distributions of the answers of one case, whose uncertain quantities are sampled.

    Parameters
    ----------
    case : what was solved
    of : each distribution in words, by path
    outcomes : of each answer
    conditions : the part of the draws in which each watched condition is true
    samples, draw, seed : how points were drawn
    without : points without an answer, those included where a resource is saturated
    saturated, resources : the points where a resource is saturated, and which resources are
    method, exact, bound, error : how the points were computed, the first that is outside of its
        bounds, and the class of the error where the method promises none
    left_out : losses of the import that the model comes from
    """

    case: str
    of: Mapping[str, str]
    outcomes: tuple[SampledValue, ...]
    samples: int
    draw: str
    seed: int
    without: int = 0
    saturated: int = 0
    resources: str = ""
    method: str = ""
    exact: bool = False
    bound: str = ""
    error: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[SampledCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleResult(QuestionResult):
    """The distributions of sampled answers, case by case."""

    title: ClassVar[str] = "Uncertain quantities"
    reading: ClassVar[str] = (
        "First order: the share of the variance that the quantity causes alone; total: with its"
        " interactions. The sums differ from 100 % because of interactions, and because the number"
        " of points is limited. Brackets contain the 95 % interval of a quantile."
    )
    samples: tuple[SampleStudy, ...]

    def sentences(self) -> list[str]:
        """Return sentences on the watched conditions, the range of each answer and the quantities
        that cause its variance.
        """
        return [
            f"{sample.case}: {sentence}"
            for sample in self.samples
            for sentence in (
                *(_condition_sentence(condition, NO_WORDS) for condition in sample.conditions),
                *map(_sentence_on_value, sample.outcomes),
            )
        ]

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return sum(len(sample.outcomes) for sample in self.samples) > 2

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the watched conditions, the range of the first answers and the
        quantities that cause it.
        """
        has_several_cases = len(self.samples) > 1
        headlines = [*self._condition_sentences(words)]
        headlines += [
            _headline(outcome, words.case(sample.case) if has_several_cases else "", words)
            + ("" if index or sample.conditions else _saturated_clause(sample))
            for sample in self.samples
            for index, outcome in enumerate(sample.outcomes[:2])
        ]
        return headlines[:_MOST_HEADLINES]

    def _condition_sentences(self, words: Words) -> Iterator[str]:
        """Yield a sentence for each watched condition, with the shares of all cases."""
        has_several_cases = len(self.samples) > 1
        conditions_by_case = [sample.conditions for sample in self.samples]
        for index, conditions in enumerate(zip(*conditions_by_case, strict=True)):
            sentences: list[str] = []
            for sample, condition in zip(self.samples, conditions, strict=True):
                case_clause = f" for {words.case(sample.case)}" if has_several_cases else ""
                saturated_clause = "" if index else _saturated_clause(sample)
                # The first case states the condition.
                sentence = (_share_text(condition) if sentences else "") or _condition_sentence(
                    condition, words
                )
                sentences.append(f"{sentence}{case_clause}{saturated_clause}")
            yield "; ".join(sentences)

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return how likely the watched condition is, as an answer to the title; None if none or
        several are watched.
        """
        conditions = [condition for sample in self.samples for condition in sample.conditions]
        if len(conditions) != 1:
            return None
        (sentence,) = self._condition_sentences(words)
        (condition,) = conditions
        # Draws that do not tell may all be on either side.
        least_certain_share = (
            condition.share
            if not condition.undecided
            else min(condition.high, max(condition.low, 0.5), key=lambda share: abs(share - 0.5))
        )
        word = likelihood_word(least_certain_share)
        return TitleAnswer(word, sentence, False, stands_alone=True, condition=condition.text)

    def decision(self, words: Words) -> Decision | None:
        """Return a table of the outer quantiles and the median of each answer, case by case."""
        rows = [
            [words.case(sample.case), words.value(outcome.name), *_outer_quantiles(outcome)]
            for sample in self.samples
            for outcome in sample.outcomes
        ]
        return (
            (["", "", "low", "middle", "high"], rows[:_MOST_INFLUENCES]) if len(rows) > 1 else None
        )

    def parts(self) -> Iterator[str | ResultTable]:
        """Yield the distributions, the quantiles and the causes of the variance, case by case."""
        for sample in self.samples:
            other_count = sample.without - sample.saturated
            unanswered_in_words = _saturated_clause(sample) + (
                f"; {other_count} have no answer" if other_count else ""
            )
            yield f"### {escape(sample.case)}"
            yield f"{sample.samples} {sample.draw} points, seed {sample.seed}{unanswered_in_words}."
            yield "\n".join(
                f"- {code(path)}: {escape(distribution_text)}"
                for path, distribution_text in sample.of.items()
            )
            yield _quantile_table(sample)
            yield _influence_table(sample)

    def draw(
        self, spec: HistogramSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw the histogram of a sampled value, with its quantiles as lines."""
        outcome_by_name = {
            outcome.name: outcome
            for sample in self.samples
            if sample.case == spec.case
            for outcome in sample.outcomes
        }
        if spec.value not in outcome_by_name:
            raise UnknownNameError("sampled value", spec.value, list(outcome_by_name))
        figure = new_figure(6.8, 4.0)
        axes = figure.subplots()
        _draw_histogram(axes, outcome_by_name[spec.value])
        return with_title_and_legend(figure, spec.title, None, *axes.get_legend_handles_labels())


@dataclass(frozen=True)
class _SampledCase:
    """A case to sample, with the distributions of its quantities by path, and the same
    distributions in words.
    """

    spec: SampleSpec
    case: Evaluator
    distributions: Mapping[str, Uncertainty]
    words: Mapping[str, str]
    conditions: Sequence[Condition]


def read(sample_spec: SampleSpec, study: StudyContext) -> Question:
    """Read the question of a study, and build the models that it samples; nothing is solved.

    Raises
    ------
    SpecError : a path leads nowhere, or a distribution reaches values that are not allowed there
    """
    problems = [
        study.problem(place, f"this draws a sample of {picture.case}, and the study has none")
        for place, picture in study.pictures(HistogramSpec)
        if picture.case not in sample_spec.cases
    ]
    cases = []
    for case in sample_spec.cases:
        case_evaluator = evaluator(
            case, _settings_with_middles(sample_spec, study.tree, study.cases[case]), study.library
        ).with_mean_value_default
        case_evaluator = unbounded(case_evaluator)
        distributions: dict[str, Uncertainty] = {}
        distribution_texts: dict[str, str] = {}
        for path_as_written, distribution_spec in sample_spec.of.items():
            path = canonical(case_evaluator.inputs.tree, path_as_written)
            distributions[path], distribution_texts[path] = (
                distribution_of(distribution_spec),
                _distribution_text(distribution_spec),
            )
            problems += _problems_of_path(
                path_as_written, path, distribution_spec, distributions[path], case_evaluator, study
            )
        conditions = [
            condition_of(text, ("sample", "watch", index), case_evaluator, study)
            for index, text in enumerate(sample_spec.watch)
        ]
        cases.append(
            _SampledCase(sample_spec, case_evaluator, distributions, distribution_texts, conditions)
        )
    if problems:
        raise SpecError(problems)

    def solve(answers: BaseAnswers) -> SampleResult:
        return SampleResult(tuple(_solve_samples(case, answers.wanted) for case in cases))

    names_by_case = {sampled_case.case.case: sampled_case.case.names for sampled_case in cases}
    return Question(solve, values=sample_spec.answer, names_by_case=names_by_case)


def _settings_with_middles(spec: SampleSpec, tree: Node, settings: Settings) -> Settings:
    """Return the settings with the median of the distribution for each sampled quantity of the
    technology that they do not set, so that the quantity exists in the model.
    """
    median_node_by_path: dict[str, Node] = {}
    for path, distribution_spec in spec.of.items():
        if path.startswith("technology."):
            median = distribution_of(distribution_spec).value_at(0.5)
            median_node_by_path[path] = quantity_node(
                median, str(distribution_spec.dimension), value_mark(tree, ["sample", "of", path])
            )
    return {**median_node_by_path, **settings}


def _problems_of_path(
    path_as_written: str,
    path: str,
    spec: Uncertain,
    distribution: Uncertainty,
    case: Evaluator,
    study: StudyContext,
) -> Iterator[Problem]:
    """Yield the problem if a sampled path is no quantity or determines the structure of the model,
    or if a value of the distribution is not allowed there.
    """
    place = ("sample", "of", path_as_written)
    if not case.built.are_free([path]) or path not in case.built.parameters:
        suggestion = did_you_mean(
            path_as_written, sorted(case.built.free_paths & case.built.parameters.keys())
        )
        problem_text = (
            f"no answer of {case.case} depends continuously on {path_as_written}{suggestion}"
        )
        yield study.problem(place, problem_text, is_at_key=True)
        return
    dimension = case.built.parameters[path].dimension
    if spec.dimension != dimension:
        yield study.problem(
            place,
            f"{path_as_written} has the unit [{dimension}], but its distribution has"
            f" [{spec.dimension}]",
        )
        return
    mark = value_mark(study.tree, place)
    for value in map(distribution.value_at, (1e-9, 0.5, 1 - 1e-9)):
        try:
            case.inputs.with_value(
                path_as_written, quantity_node(value, str(spec.dimension), mark)
            ).given_quantity(path_as_written)
        except SpecError as error:
            message = error.problems[0].message
            yield study.problem(
                place,
                f"{message}; one of its values is not allowed, so choose another distribution",
            )
            return


def _distribution_text(spec: Uncertain) -> str:
    """Return a distribution in words."""
    texts_by_key: dict[str, list[str]] = {}
    for key, parameter in quantities(spec).items():
        texts_by_key.setdefault(str(key[0]), []).append(parameter.text)
    for field_name in ("spread", "weights"):
        value = getattr(spec, field_name, None) or []
        texts_by_key |= (
            {
                field_name: [
                    parameter.text for parameter in (value if isinstance(value, list) else [value])
                ]
            }
            if value
            else {}
        )
    parameters_text = ", ".join(
        f"{field_name} {' '.join(texts)}" for field_name, texts in texts_by_key.items()
    )
    guess_text = ", a guess" if spec.assumed else ""
    return f"{getattr(spec, 'distribution', '')}: {parameters_text}{guess_text}"


def _solve_samples(sampled_case: _SampledCase, wanted_names: Sequence[str]) -> SampleStudy:
    """Draw points and solve the case at each. Return quantiles and sensitivity indices of the
    answers.

    Points come in eight independent sets, each scrambled anew; the interval of a quantile follows
    from the differences between sets (Student's t). Sensitivity indices are SciPy's, after
    Saltelli.
    """
    spec = sampled_case.spec
    case = sampled_case.case
    names = [name for name in dict.fromkeys(spec.answer or wanted_names) if name in case.names]
    points = _draw_points(sampled_case)
    # A value of a known name may have no meaning at any point, and then no column.
    missing_columns = dict.fromkeys(names, np.full(spec.samples, np.nan))
    condition_columns = {
        name for condition in sampled_case.conditions for name in condition.needed_columns
    }
    table = case.point_table(points, {*names, *condition_columns, case.form.quantity})
    columns = {**missing_columns, **table.columns}
    stated_columns = {**missing_columns, **case.columns({}, names)}
    saturation_reasons = saturated_points(table).values()
    unanswered_count = int(np.count_nonzero(~np.isfinite(columns[case.form.quantity])))
    influences_by_name, reason = (
        _sensitivity_indices(sampled_case, {name: columns[name] for name in names})
        if spec.indices and not unanswered_count
        else ({}, "")
    )
    if spec.indices and unanswered_count:
        reason = f"{unanswered_count} points have no answer, so the variance cannot be shared out"
    outcomes = [
        SampledValue(
            name=name,
            unit=case.unit(name),
            stated=float(stated_columns[name][0]) if np.isfinite(stated_columns[name][0]) else None,
            mean=float("nan")
            if np.isnan(columns[name]).all()
            else float(np.nanmean(columns[name])),
            quantiles=_quantiles_of_points(columns[name], spec.band.value),
            points=columns[name],
            influences=influences_by_name.get(name, ()),
            why=reason,
        )
        for name in names
    ]
    return SampleStudy(
        case.case,
        sampled_case.words,
        tuple(outcomes),
        spec.samples,
        spec.draw,
        spec.seed,
        unanswered_count,
        len(saturation_reasons),
        saturated_resources(list(saturation_reasons)) if saturation_reasons else "",
        conditions=tuple(
            _sampled_condition(condition, table.columns) for condition in sampled_case.conditions
        ),
        **table.provenance.common_answer_fields,
    )


def _sampled_condition(condition: Condition, columns: Mapping[str, Array]) -> SampledCondition:
    """Return the part of the draws in which a condition is true. A draw whose times are infinite,
    because a resource is saturated, counts like any other.
    """
    margins, is_true = condition.margin_and_mask(columns)
    is_undecided = np.isnan(margins[0])
    if undecided_count := int(is_undecided.sum()):
        least_share = float(np.mean(is_true & ~is_undecided))
        most_share = least_share + undecided_count / len(is_true)
        return SampledCondition(
            condition.text, float("nan"), least_share, most_share, undecided_count
        )
    share = float(np.mean(is_true))
    half_width = _half_width_of_sets(
        [float(np.mean(is_true_in_set)) for is_true_in_set in np.split(is_true, _REPLICATIONS)]
    )
    return SampledCondition(
        condition.text, share, max(0.0, share - half_width), min(1.0, share + half_width)
    )


def _half_width_of_sets(values: Sequence[float]) -> float:
    """Return the half-width of the 95 % interval of a mean over independent sets of draws."""
    if len(values) < 2:
        return float("nan")
    return _T_95 * float(np.std(values, ddof=1)) / float(np.sqrt(len(values)))


def _draw_points(sampled_case: _SampledCase) -> dict[str, Array]:
    """Draw the points of a case, in independent sets. Return the values of each quantity by
    path.
    """
    spec = sampled_case.spec
    point_sets = [
        sample_points(
            sampled_case.distributions,
            spec.samples // _REPLICATIONS,
            random_stream(spec.seed, "sample", set_index),
            spec.draw,
        )
        for set_index in range(_REPLICATIONS)
    ]
    return {
        path: np.concatenate([point_set[path] for point_set in point_sets])
        for path in sampled_case.distributions
    }


def _quantiles_of_points(values: Array, band: float) -> dict[float, tuple[float, float, float]]:
    """Return quantiles over all points with a value, each with an interval from its values in the
    independent sets. A value may be infinite.
    """
    is_known = ~np.isnan(values)
    quantile_and_ends_by_probability = {}
    for probability in ((1 - band) / 2, 0.5, (1 + band) / 2):
        probability = round(probability, 12)
        if not is_known.any():
            quantile_and_ends_by_probability[probability] = (float("nan"),) * 3
            continue
        quantile = _quantile(values[is_known], probability)
        quantiles_of_sets = [
            _quantile(value_set[known_in_set], probability)
            for value_set, known_in_set in zip(
                np.split(values, _REPLICATIONS), np.split(is_known, _REPLICATIONS), strict=True
            )
            if known_in_set.any()
        ]
        # Where a set has no finite quantile, its distance from the others is unknown.
        half_width = (
            _half_width_of_sets(quantiles_of_sets)
            if np.isfinite(quantiles_of_sets).all()
            else float("nan")
        )
        quantile_and_ends_by_probability[probability] = (
            quantile,
            quantile - half_width,
            quantile + half_width,
        )
    return quantile_and_ends_by_probability


def _quantile(values: Array, probability: float) -> float:
    """Return a quantile of values, some of which may be infinite.

    >>> _quantile(np.array([1.0, 2.0, np.inf, np.inf]), 0.5), _quantile(np.array([1.0, 2.0]), 0.5)
    (inf, 1.5)
    """
    higher_value = np.quantile(values, probability, method="higher")
    return float(np.quantile(values, probability) if np.isfinite(higher_value) else higher_value)


def _sensitivity_indices(
    sampled_case: _SampledCase, columns: Mapping[str, Array]
) -> tuple[dict[str, tuple[SensitivityIndex, ...]], str]:
    """Return first-order and total sensitivity indices, by SciPy, for every answer that varies, and
    the reason if there are none.
    """
    from scipy.stats import sobol_indices

    paths = sorted(sampled_case.distributions)
    # Of an answer that never changes nothing causes the variance.
    varying_names = [
        name
        for name, values in columns.items()
        if np.isfinite(values).all() and np.ptp(values) > 1e-12 * abs(values[0])
    ]

    def answers_at(parameter_rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that vary, a row for each, at the points of the columns."""
        solved_columns = sampled_case.case.columns(
            dict(zip(paths, parameter_rows, strict=True)), varying_names
        )
        return np.stack([solved_columns[name] for name in varying_names])

    if not varying_names:
        return {}, "no answer changes"
    if len(paths) == 1:
        return {name: (SensitivityIndex(paths[0], 1.0, 1.0),) for name in varying_names}, ""
    random_generator = random_stream(sampled_case.spec.seed, "sample:indices")
    distributions = [
        SimpleNamespace(ppf=sampled_case.distributions[path].quantile) for path in paths
    ]
    indices = sobol_indices(
        func=answers_at, n=sampled_case.spec.samples, dists=distributions, rng=random_generator
    )
    first_orders = np.atleast_2d(indices.first_order)
    total_indices = np.atleast_2d(indices.total_order)
    return {
        name: tuple(
            sorted(
                (
                    SensitivityIndex(
                        path,
                        float(first_orders[name_index, path_index]),
                        float(total_indices[name_index, path_index]),
                    )
                    for path_index, path in enumerate(paths)
                ),
                key=lambda index: -index.total,
            )
        )
        for name_index, name in enumerate(varying_names)
    }, ""


_MOST_INFLUENCES = 6


_MOST_HEADLINES = 3
"""Sentences of a sample at the head of a report."""


def _condition_sentence(condition: SampledCondition, words: Words) -> str:
    """Return a sentence on the part of the draws in which a condition is true."""
    clause = words.condition(condition.text)
    share_text = _share_text(condition)
    if not share_text:
        return f"no draw has an answer that decides whether {clause}"
    return f"{clause} {share_text}"


def _share_text(condition: SampledCondition) -> str:
    """Return in which part of the draws a condition is true; empty if no draw tells."""
    if condition.undecided:
        if condition.high - condition.low == 1:
            return ""
        return (
            f"in {percent(condition.low)} to {percent(condition.high)} of the draws:"
            f" {condition.undecided:,} of them have no answer"
        )
    is_certain = condition.low == condition.high
    interval_text = (
        "" if is_certain else f" ({percent(condition.low)} to {percent(condition.high)})"
    )
    return f"in {percent(condition.share)}{interval_text} of the draws"


def _outer_quantiles(sampled_value: SampledValue) -> list[str]:
    """Return the lowest, the middle and the highest quantile of a sampled value as texts."""
    levels = list(sampled_value.quantiles)
    chosen_levels = (levels[0], levels[len(levels) // 2], levels[-1])
    return [
        _amount(sampled_value.name, sampled_value.quantiles[level][0], sampled_value.unit)
        for level in chosen_levels
    ]


def _amount(name: str, value: float, unit: str) -> str:
    """Return a value as text, which may be infinite where a resource is saturated."""
    return "infinity" if value == float("inf") else value_amount(name, value, unit)


def _saturated_clause(sample: SampleStudy) -> str:
    """Return a clause on the draws in which a resource is saturated; empty if there are none."""
    if not sample.saturated:
        return ""
    return f"; {sample.resources} is saturated in {sample.saturated:,} of {sample.samples:,} draws"


def _draws_with_value(sampled_value: SampledValue, noun: str) -> str:
    """Return the draws that quantiles are of, with their noun, as the object of a clause."""
    known_count = int(np.count_nonzero(~np.isnan(sampled_value.points)))
    all_draws = known_count == len(sampled_value.points)
    return f"the {noun}" if all_draws else f"the {known_count:,} {noun} that have a value"


def _headline(sampled_value: SampledValue, case: str, words: Words) -> str:
    """Return a sentence on the range of an answer and on the quantity that causes most of it, with
    the reader's nouns.
    """
    low, middle, high = _outer_quantiles(sampled_value)
    middle = middle.replace("infinity", "infinite")
    quantile_levels = list(sampled_value.quantiles)
    percent_inside = 100 * (quantile_levels[-1] - quantile_levels[0])
    cause_clause = ""
    if sampled_value.influences:
        largest_influence = sampled_value.influences[0]
        cause_clause = (
            f", mostly because of {words.quantity(largest_influence.path)}"
            f" ({percent(min(largest_influence.total, 1.0))} of the variance)"
        )
    beginning = f"{case}: " if case else ""
    value_words = words.value(sampled_value.name)
    return (
        f"{beginning}{value_words} {middle} (median), and between {low} and {high} in"
        f" {percent_inside:.4g} % of"
        f" {_draws_with_value(sampled_value, 'draws')}{cause_clause}"
    )


def _sentence_on_value(sampled_value: SampledValue) -> str:
    """Return a sentence on the quantiles of an answer and on the quantity that causes most of its
    variance.
    """
    quantile_levels = list(sampled_value.quantiles)
    low, high = (
        _amount("", sampled_value.quantiles[level][0], sampled_value.unit)
        for level in (quantile_levels[0], quantile_levels[-1])
    )
    stated_clause = (
        ""
        if sampled_value.stated is None
        else f", {quantity(sampled_value.stated, sampled_value.unit)} as stated"
    )
    cause_clause = ""
    if sampled_value.influences:
        largest_influence = sampled_value.influences[0]
        cause_clause = (
            f"; {largest_influence.path} causes the largest part of the variance,"
            f" {percent(largest_influence.total)} in"
            " total"
        )
    elif sampled_value.why:
        cause_clause = f"; {sampled_value.why}"
    mean_clause = f", {_amount('', sampled_value.mean, sampled_value.unit)} on average"
    share_inside = percent(quantile_levels[-1] - quantile_levels[0])
    return (
        f"{sampled_value.name} lies between {low} and {high} in {share_inside} of"
        f" {_draws_with_value(sampled_value, 'points')}{mean_clause}{stated_clause}{cause_clause}"
    )


def _quantile_table(sample_study: SampleStudy) -> ResultTable:
    """Build the table of quantiles, with one row for each level and one column for each answer."""
    levels = list(sample_study.outcomes[0].quantiles) if sample_study.outcomes else []
    columns = [
        ResultColumn("case", [sample_study.case] * len(levels), place=True, on_page=False),
        ResultColumn("quantile", levels, written=as_percent, place=True),
    ]
    for outcome in sample_study.outcomes:
        middle, low, high = zip(*(outcome.quantiles[level] for level in levels), strict=True)
        has_values = not np.isnan(middle).any()
        columns.append(
            ResultColumn(
                outcome.name,
                middle,
                outcome.unit,
                (low, high),
                written=_finite_or_infinite if has_values else None,
            )
        )
    provenance = Provenance.of([sample_study] * len(levels))
    return ResultTable("sample", columns, provenance)


def _finite_or_infinite(value: float | None, unit: str, ends: Ends) -> str:
    """Return a quantile as text; the table leaves infinite ones without a number."""
    return "infinity" if value is None else quantity(value, unit, ends=ends)


def _influence_table(sample_study: SampleStudy) -> ResultTable:
    """Return the table of the sensitivity indices of each answer."""
    rows = [
        (outcome.name, influence)
        for outcome in sample_study.outcomes
        for influence in outcome.influences
    ]
    columns = [
        ResultColumn("value", [name for name, _ in rows], place=True),
        ResultColumn("quantity", [influence.path for _, influence in rows], place=True),
        ResultColumn(
            "first order",
            [influence.first_order for _, influence in rows],
            "1",
            written=_two_digits,
        ),
        ResultColumn("total", [influence.total for _, influence in rows], "1", written=_two_digits),
    ]
    return ResultTable("", columns, Provenance.of([sample_study] * len(rows)))


def _two_digits(value: float | None, unit: str, ends: Ends) -> str:
    """Return a sensitivity index as text with two decimals."""
    return percent(value, 2)


_MOST_HISTOGRAM_BINS = 40

_LARGEST_SHOWN = 5
"""The largest value in a histogram, as a multiple of that which nine of ten stay below."""


def _draw_histogram(axes: Axes, sampled_value: SampledValue) -> None:
    """Draw the histogram of a sampled value."""
    finite_values = sampled_value.points[np.isfinite(sampled_value.points)]
    if len(finite_values):  # near saturation a few are many times as large as all others
        largest_shown = _LARGEST_SHOWN * np.quantile(np.abs(finite_values), 0.9)
        finite_values = finite_values[np.abs(finite_values) <= largest_shown]
    unit, unit_size = choose_unit(finite_values.tolist(), Dimension.of(sampled_value.unit))
    draw_counts, bin_edges = np.histogram(
        finite_values / unit_size, bins=min(_MOST_HISTOGRAM_BINS, max(8, len(finite_values) // 25))
    )
    axes.bar(
        bin_edges[:-1],
        draw_counts / len(sampled_value.points),
        np.diff(bin_edges),
        align="edge",
        facecolor="#d9f0fa",
        edgecolor="black",
        linewidth=0.6,
    )
    for index, (level, (middle, low, high)) in enumerate(sampled_value.quantiles.items()):
        if not np.isfinite(middle):
            continue
        colour, _, dashes = STROKES[index]
        if low < high:
            axes.axvspan(low / unit_size, high / unit_size, color=colour, alpha=0.18, linewidth=0)
        axes.axvline(
            middle / unit_size,
            color=colour,
            linestyle=dashes,
            label=f"{percent(level)} of the points below",
        )
    if sampled_value.stated is not None:
        axes.axvline(
            sampled_value.stated / unit_size,
            color=STROKES[3][0],
            linestyle=STROKES[3][2],
            label="as stated",
        )
    if left_out_count := len(sampled_value.points) - len(finite_values):
        share_left_out = percent(left_out_count / len(sampled_value.points))
        axes.plot([], [], " ", label=f"{share_left_out} of the points beyond")
    axes.set_xlabel(axis_title(sampled_value.name, unit))
    axes.set_ylabel(axis_title("part of the points", "1"))
