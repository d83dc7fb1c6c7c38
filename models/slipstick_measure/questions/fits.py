"""Fits in a study: models fitted to measured times, and fitted values set in the base case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from math import log
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from slipstick.answer import Answer, Value
from slipstick.errors import (
    ModelError,
    NoAnswerError,
    Problem,
    SpecError,
    UnknownNameError,
    did_you_mean,
)
from slipstick.expression.nodes import COUNT, TIME, Dimension
from slipstick.late import dataclass, np, replace
from slipstick.report.formatting import NOTHING, escape, markdown_blocks, markdown_table, percent
from slipstick.results.question import Decision, QuestionResult, TitleAnswer
from slipstick.results.words import NO_WORDS, Words
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.text import Scalar, from_plain
from slipstick.schema.uncertain import UncertainValues
from slipstick.study.cases import Place, StudyContext
from slipstick.study.questions import Question
from slipstick_measure.fit.comparison import IntervalSettings, families_to_fit, fits
from slipstick_measure.fit.families import family_named
from slipstick_measure.fit.formula import (
    Family,
    Observations,
    Timings,
    observations_of,
    timing_notes,
)
from slipstick_measure.fit.goal import goal_of_fit
from slipstick_measure.fit.model import FitSettings, PreparedModel, prepare_model
from slipstick_measure.measurements import Measurements
from slipstick_measure.questions.measured import read_runs
from slipstick_measure.report.count_comparison import numbers_in
from slipstick_measure.report.fit_titles import FitTitle
from slipstick_measure.report.fit_verdicts import verdict_of_fit
from slipstick_measure.report.fits import (
    draw_fits,
    ends_in_words,
    fit_blocks,
    fit_headline,
    fitted_values,
    main_findings,
    prediction_table,
    refused_in_title,
)
from slipstick_measure.report.measured import amount_text, with_noun_for_processors
from slipstick_measure.results import (
    LEAST_CRITERION_DIFFERENCE,
    ExtrapolatedPrediction,
    Fitting,
    RefusedPrediction,
    TimeGoal,
)
from slipstick_measure.specs import FitSpec, FitsPictureSpec, MadeSpec
from slipstick_questions.fitted import FittedBase
from slipstick_questions.title_limits import notes_on_limits_in_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TimingsAndTruth = tuple[Timings, Mapping[float, float]]

SIMILAR_SCATTER = 1.25
"""Ratio of the scatters of two models up to which one misses the rows by as much as the other."""

SIGNIFICANT_DIGITS = 6
"""Digits of a fitted value that is set in the base; more would differ from machine to machine."""


@dataclass(frozen=True, slots=True)
class FitsResult(QuestionResult):
    """The results of a study's fits: models fitted to measured times, by the name of the fit."""

    title: ClassVar[str] = "Fits"
    reading: ClassVar[str] = (
        "AICc difference: difference of Akaike's criterion, corrected for few observations, from"
        " the best; below 4, the data cannot distinguish models. Misses the largest: relative error"
        " at the largest runs when fitted without them. All numbers are fitted, and none is exact."
    )
    estimates: ClassVar[bool] = True
    fits: Mapping[str, Fitting]

    @property
    def member(self) -> str:
        """What the runs call a processor."""
        return next(iter(self.fits.values())).member

    @property
    def has_further_answers(self) -> bool:
        """Return whether the headline leaves out an answer."""
        return len(self.fits) > 1

    def headline(self, words: Words) -> list[str]:
        """Return sentences on the first fits: up to how many processors the data and the preferred
        model are efficient, and the size that the largest number needs.
        """
        first_fit = next(iter(self.fits.values()))
        return fit_headline(first_fit, _with_noun(words, first_fit.member))[:3]

    def verdict(self, words: Words, answers: Mapping[str, Answer]) -> TitleAnswer | None:
        """Return the answer of the first fit to the title; see `verdict_of_fit`."""
        first_fit = next(iter(self.fits.values()))
        return verdict_of_fit(first_fit, _with_noun(words, first_fit.member))

    def decision(self, words: Words) -> Decision | None:
        """Return the table of the predictions of a single fit."""
        first_fit, *further_fits = self.fits.values()
        words = _with_noun(words, first_fit.member)
        return None if further_fits else prediction_table(first_fit, words)

    def sentences(self) -> list[str]:
        """Return sentences on each fit: what limits it, the size that the largest number of
        processors needs, and the preferred model.
        """
        sentences_by_fit = {fit_name: main_findings(fit) for fit_name, fit in self.fits.items()}
        main_sentences_by_fit = {
            fit_name: [
                fit_sentences[0],
                *[sentence for sentence in fit_sentences[1:2] if sentence.startswith("By ")],
                *[sentence for sentence in fit_sentences if "needs n = " in sentence][-1:],
                fit_sentences[-1],
            ]
            for fit_name, fit_sentences in sentences_by_fit.items()
        }
        return [
            f"{fit_name}: {' '.join(fit_sentences)}".rstrip(".")
            for fit_name, fit_sentences in main_sentences_by_fit.items()
        ]

    def sentences_beside_tables(self) -> list[str]:
        """Return no sentences, because the page shows the sentences of each fit beside its
        tables.
        """
        return []

    def doubt(self, words: Words = NO_WORDS) -> str:
        """Return the first warning of a fit, or that on its farthest prediction if the first is on
        a prediction; empty if there is none.
        """
        fit_with_warnings = next((fit for fit in self.fits.values() if fit.warnings), None)
        if fit_with_warnings is None:
            return ""
        warnings = fit_with_warnings.warnings
        warning = warnings[0]
        refusal = refused_in_title(fit_with_warnings, words.title)
        if isinstance(warning, ExtrapolatedPrediction):
            extrapolations = [text for text in warnings if isinstance(text, ExtrapolatedPrediction)]
            # A number that the study asks for and that has no prediction is not passed over; that
            # of the title stands in the headline.
            causes = [
                text.cause
                for text in warnings
                if isinstance(text, RefusedPrediction) and text != refusal
            ]
            warning = "; ".join([extrapolations[-1], *causes[:1]])
        elif refusal and warning == refusal:
            warning = refusal.advice
        return with_noun_for_processors(warning, _with_noun(words, fit_with_warnings.member))

    def parts(self) -> Iterator[str]:
        """Yield the table of all fits, then the text of each fit."""
        if len(self.fits) > 1:
            yield _table_of_fits(self.fits)
        for fit_name, fit in self.fits.items():
            yield f"### {escape(fit_name)}"
            yield from markdown_blocks(fit_blocks(fit))

    def files(self) -> dict[str, list[dict[str, Any]]]:
        """Return every value of every model, with its interval where there is one."""
        rows: list[dict[str, Any]] = [
            {"fit": fit_name, "model": answer.model, "value": value_name, "unit": value.unit}
            | {
                "is": value.value,
                "low": value.low,
                "high": value.high,
                "method": answer.method,
                "exact": "no",
            }
            for fit_name, fit in self.fits.items()
            for answer in fit.answers
            for value_name, value in answer.values.items()
        ]
        rows += [
            {"fit": fit_name, "model": "bounds", "value": f"time[{p:g}]", "unit": "s"}
            | {"is": None, "low": low, "high": high, "method": "bounds", "exact": "no"}
            for fit_name, fit in self.fits.items()
            for p, (low, high) in fit.bounded.items()
        ]
        return {"fits.csv": rows}

    def draw(
        self, spec: FitsPictureSpec, order: Mapping[str, int], words: Words = NO_WORDS
    ) -> Figure:
        """Draw the fit that a picture of the study names."""
        return draw_fits(self.fits[spec.fit], spec.title)


def _with_noun(words: Words, member: str) -> Words:
    """Return words with the study's noun for a processor, or else with the noun of the runs."""
    return words if words.member != NO_WORDS.member else replace(words, member=member)


@dataclass(frozen=True)
class _CheckedFit:
    """One fit, read and checked, with the base case in which its parameters are free, if there is
    one.

    `compute_timings` gives the times to fit, and those that are known beyond them, by processors
    [s]; `rate` is the unit of throughputs as in `Timings`, and `goal` the time or the throughput
    that is wanted; `title` is that of the study, whose first number is the one at which losses are
    told.
    """

    spec: FitSpec
    name: str
    compute_timings: Callable[[], _TimingsAndTruth]
    source: str
    families: list[str | Family] | None
    base_model: PreparedModel | None
    is_drawn: bool
    rate: tuple[str, float] | None
    goal: TimeGoal | None
    title: str

    def fit_families(self) -> Fitting:
        """Fit all families, best first."""
        processors = [float(processor_count) for processor_count in self.spec.at]
        intervals = IntervalSettings(self.spec.intervals)
        timings, truth = self.compute_timings()
        time_fits = fits(
            timings,
            self.families,
            processors,
            intervals,
            self.is_drawn,
            self.spec.efficiency.value,
            self.goal,
            next(iter(numbers_in(self.title)), None),
        )
        time_fits = replace(
            time_fits,
            source=self.source,
            truth=truth,
            size_path=self.spec.size,
            has_default_level="efficiency" not in self.spec.model_fields_set,
        )
        return (
            time_fits
            if self.base_model is None
            else _with_base(time_fits, self.base_model.built_model.name)
        )


def read(specs: Mapping[str, FitSpec], study: StudyContext) -> Question:
    """Read and check everything that a study fits, without fitting it.

    Raises
    ------
    SpecError : a file, a family, a case or a free path is wrong
    """
    default_pictures = (
        [] if study.spec.pictures else [_default_picture(name) for name in [*specs][:1]]
    )
    drawn_fits = _fits_in_pictures(specs, study) or [picture.fit for picture in default_pictures]
    checked_fits: list[_CheckedFit] = []
    notes: list[Problem] = []
    limits_from_title: dict[str, str] = {}
    for name, given_spec in specs.items():
        spec, place = given_spec, ("fits", name)
        try:
            named_families = [family_named(family) for family in spec.families]
        except UnknownNameError as error:
            raise study.refusal((*place, "families"), str(error)) from None
        rate = None
        if spec.made is None:
            runs = read_runs(spec.data, (*place, "data"), study)
            observations = _observations_to_fit(runs, spec, place, study)
            compute_timings = _getter_of_timings(observations)
            rate = observations.rate_of_timings
            spec = _with_limits_of_title(spec, observations, study)
            limits_from_title |= _limits_of(
                spec, spec.model_fields_set - given_spec.model_fields_set
            )
            source = spec.data.rpartition("/")[2]
            notes += timing_notes(runs, spec.region)
        else:
            compute_timings = _generator_of_timings(spec.made, spec.at, place, study)
            source = f"timings made up from {spec.made.case}"
        prepared_model = _prepared_model(spec, place, study) if spec.free else None
        families = families_to_fit(
            named_families, None if prepared_model is None else prepared_model.family()
        )
        checked_fits.append(
            _CheckedFit(
                spec,
                name,
                compute_timings,
                source,
                families,
                prepared_model,
                name in drawn_fits,
                rate,
                _goal_of(spec, rate, place, study),
                study.spec.title,
            )
        )

    rates = [checked_fit.rate for checked_fit in checked_fits]
    notes += notes_on_limits_in_title(
        study, partial(_way_out_of_limit, rates=rates, limits_from_title=limits_from_title)
    )

    @cache
    def fits_by_name() -> dict[str, Fitting]:
        return {checked_fit.name: checked_fit.fit_families() for checked_fit in checked_fits}

    def fitted_base() -> FittedBase | None:
        return next(
            (
                _base_with_fit(
                    checked_fit.base_model, fits_by_name()[checked_fit.name], checked_fit.spec
                )
                for checked_fit in checked_fits
                if checked_fit.base_model is not None
            ),
            None,
        )

    return Question(
        lambda answers: FitsResult(fits_by_name()),
        notes=lambda: notes,
        fitted_base=fitted_base,
        pictures=default_pictures,
    )


def _way_out_of_limit(
    text: str,
    dimension: Dimension,
    rates: Sequence[tuple[str, float] | None],
    limits_from_title: Mapping[str, str],
) -> str:
    """Return what to write for a limit in the title, or that a fit takes it from there; empty if no
    key of a fit has such limits.

    Parameters
    ----------
    text, dimension : of the limit, as written
    rates : of all fits: the unit of throughputs, or None where times were measured
    limits_from_title : what fits take from the title, as it stands there without blanks, by key
    """
    key = "efficiency" if text.endswith("%") else ""
    if any(text.endswith(rate[0].lstrip()) for rate in rates if rate):
        key = "throughput"
    elif dimension == TIME and None in rates:
        key = "time"
    if limits_from_title.get(key) == text.replace(" ", ""):
        return f"the fit takes it from the title, as {key}: {text}"
    return f"write {key}: {text} in the fit" if key else ""


def _limits_of(spec: FitSpec, keys: Collection[str]) -> dict[str, str]:
    """Return the limits of a fit that have some of the keys, without blanks, by key."""
    text_by_key = {
        "time": "" if spec.time is None else spec.time.text,
        "throughput": spec.throughput,
        "efficiency": spec.efficiency.text,
    }
    return {key: text.replace(" ", "") for key, text in text_by_key.items() if key in keys}


def _with_limits_of_title(
    spec: FitSpec, observations: Observations, study: StudyContext
) -> FitSpec:
    """Return a fit with what it leaves to the title of the study: the limit that the title states,
    unless another question has it, and the numbers of processors to predict.
    """
    title = FitTitle(study.spec.title)
    counts = [count for count in title.processor_counts(observations.member) if count > 0]
    updates: dict[str, Any] = {"at": [*dict.fromkeys([*spec.at, *counts])]}
    has_limit = bool(spec.model_fields_set & {"efficiency", "time", "throughput"})
    if has_limit or study.spec.questions.keys() - {"fits", "measured"}:
        return spec.model_copy(update=updates)
    rate = observations.rate_of_timings
    if rate is not None:
        if throughput := title.least_throughput(rate[0].lstrip()):
            updates |= {"throughput": throughput}
    elif time := title.longest_time():
        updates |= {"time": Given(time[1], TIME, time[0])}
    if efficiency := title.least_efficiency():
        updates |= {"efficiency": Given(efficiency, COUNT, percent(efficiency))}
    return spec.model_copy(update=updates)


def _goal_of(
    spec: FitSpec, rate: tuple[str, float] | None, place: Place, study: StudyContext
) -> TimeGoal | None:
    """Return the time or the throughput that a fit is to reach; see `goal_of_fit`."""

    def refuse(key: str, message: str) -> NoReturn:
        raise study.refusal((*place, key), message)

    time = None if spec.time is None else (spec.time.text, spec.time.value)
    return goal_of_fit(time, spec.throughput, rate, ("time", "throughput"), refuse)


def _default_picture(name: str) -> FitsPictureSpec:
    """Return the picture of a fit of a study that names no pictures."""
    return FitsPictureSpec(kind="fits", name="fits", title="Measured times and fits", fit=name)


def _fits_in_pictures(specs: Mapping[str, FitSpec], study: StudyContext) -> list[str]:
    """Return the names of the fits that pictures show; raise if a picture shows another one."""
    pictures = list(study.pictures(FitsPictureSpec))
    problems = [
        study.problem(
            (*place, "fit"),
            f"there is no fit {picture.fit!r}{did_you_mean(picture.fit, list(specs))}",
        )
        for place, picture in pictures
        if picture.fit not in specs
    ]
    if problems:
        raise SpecError(problems)
    return [picture.fit for _, picture in pictures]


def _with_base(time_fits: Fitting, base_model_name: str) -> Fitting:
    """Return fits that name the model of the base case as fitted, with a warning if the data
    clearly prefer another model.
    """
    answer = next(
        candidate for candidate in time_fits.answers if candidate.model == base_model_name
    )
    if answer.failed:
        raise NoAnswerError(f"the base cannot be fitted to {time_fits.source}: {answer.failed}")
    best_answer = time_fits.answers[0]
    criterion_difference = (answer["behind"] or 0.0) - (best_answer["behind"] or 0.0)
    if criterion_difference < LEAST_CRITERION_DIFFERENCE:
        return replace(time_fits, laid=base_model_name)
    distance_text = (
        f"the base, {base_model_name}, is {criterion_difference:.1f} behind {best_answer.model}"
    )
    has_more_parameters = len(fitted_values(answer)) > len(fitted_values(best_answer))
    scatter, least_scatter = answer["scatter"] or 0.0, best_answer["scatter"] or 0.0
    # A criterion for few rows counts each parameter heavily.
    if has_more_parameters and scatter <= SIMILAR_SCATTER * least_scatter:
        warning = (
            f"{distance_text}, which has fewer parameters, but misses the rows by as much"
            f" ({percent(scatter, 2)} and {percent(least_scatter, 2)}): the rows are too few to"
            " decide between them; measure on more numbers of processors"
        )
    else:
        warning = f"{distance_text}: the data do not support what its cases say"
    return replace(time_fits, laid=base_model_name, warnings=(*time_fits.warnings, warning))


def _base_with_fit(base_model: PreparedModel, time_fits: Fitting, spec: FitSpec) -> FittedBase:
    """Return the fitted parameters of the base case's model as settings by path, each with the
    source of the data, and their joint distribution.
    """
    answer = next(
        answer_of_model
        for answer_of_model in time_fits.answers
        if answer_of_model.model == base_model.built_model.name
    )
    mark = base_model.fit_settings.free_scalars[0].mark
    node_by_parameter = {}
    for parameter in base_model.parameters:
        number_text = f"{answer[parameter.name]:.{SIGNIFICANT_DIGITS}g}"
        value_text = number_text if parameter.unit == "1" else f"{number_text} {parameter.unit}"
        node_by_parameter[parameter.name] = from_plain(
            {"value": value_text, "source": f"fitted to {time_fits.source}"}, mark
        )
    # A parameter that is 0 has no logarithm, and is taken as certain.
    values = [answer[parameter.name] or 0.0 for parameter in base_model.parameters]
    positive_indices = [index for index, value in enumerate(values) if value > 0]
    covariance = time_fits.log_covariances[base_model.built_model.name]
    return FittedBase(
        node_by_parameter,
        UncertainValues(
            tuple(base_model.parameters[index].name for index in positive_indices),
            tuple(log(values[index]) for index in positive_indices),
            tuple(
                tuple(covariance[row][column] for column in positive_indices)
                for row in positive_indices
            ),
            source=f"fitted to {time_fits.source}",
        ),
        spec.population,
        partial(_remark_on_fit, time_fits),
        _ends_of_largest_rate(answer),
    )


def _ends_of_largest_rate(answer: Answer) -> tuple[float, float] | None:
    """Return the ends of the interval of the largest speed-up over its value; None unless the
    speed-up of the fit levels off.
    """
    speedup = answer.values.get("largest_speedup", Value(None, "1"))
    if "level_processors" not in answer.values or not (speedup.value and speedup.low):
        return None
    return speedup.low / speedup.value, (speedup.high or speedup.value) / speedup.value


def _remark_on_fit(time_fits: Fitting, processors: float) -> str:
    """Return what fits predict on a number of processors beyond the measured rows, or why they
    predict nothing there; empty within the rows.
    """
    if processors <= max(time_fits.p):
        return ""
    if not time_fits.has_law:
        remark = f"no prediction beyond p = {time_fits.reach:g}, as no law describes the rows"
    elif processors > time_fits.reach:
        remark = f"the rows can test no prediction beyond p = {time_fits.reach:g}"
    else:
        numbers = np.log([*time_fits.intervals_beyond])
        low, high = (
            float(np.exp(np.interp(np.log(processors), numbers, np.log(ends))))
            for ends in zip(*time_fits.intervals_beyond.values(), strict=True)
        )
        ends_text = ends_in_words(Value(None, "s", low, high))
        remark = f"with the doubt about its form, the time is {ends_text} at p = {processors:g}"
    return with_noun_for_processors(remark, Words(member=time_fits.member))


def _getter_of_timings(observations: Observations) -> Callable[[], _TimingsAndTruth]:
    """Return a function that returns the measured timings of a fit, without true times: a study is
    checked without arrays.
    """
    return lambda: (observations.timings(), {})


def _observations_to_fit(
    runs: Measurements, spec: FitSpec, place: Place, study: StudyContext
) -> Observations:
    """Return the runs of a fit; raise for an unknown region and for unusable data."""
    try:
        return observations_of(runs, spec.region, spec.of_size)
    except UnknownNameError as error:
        raise study.refusal((*place, "region"), str(error)) from None
    except ModelError as error:
        raise study.refusal((*place, "data"), str(error)) from None


def _prepared_model(spec: FitSpec, place: Place, study: StudyContext) -> PreparedModel:
    """Return the model of the base case, prepared for a fit of its free parameters."""
    if not study.base.keys() & {"model", "workload"}:
        raise study.refusal(
            (*place, "free"), "free paths belong to the model of the base; name that model"
        )
    free_scalars = [
        _single_text_at(study, (*place, "free", index)) for index in range(len(spec.free))
    ]
    population_scalar = _single_text_at(study, (*place, "population")) if spec.population else None
    size_scalar = _single_text_at(study, (*place, "size")) if spec.size else None
    return prepare_model(
        FitSettings(study.base, free_scalars, population_scalar, size_scalar, spec.cycles),
        study.library,
    )


def _generator_of_timings(
    spec: MadeSpec, counts_to_predict: list[int], place: Place, study: StudyContext
) -> Callable[[], _TimingsAndTruth]:
    """Return a function that generates timings: the times of a case with random relative noise. The
    inputs are checked now; the times are generated when they are fitted.
    """
    population_scalar = (
        _single_text_at(study, (*place, "made", "population")) if spec.population else None
    )
    prepared_model = prepare_model(
        FitSettings(
            study.cases[spec.case], [], population_scalar, None, None if spec.cycles else 1
        ),
        study.library,
    )
    try:
        prepared_model.check_quantity()
    except NoAnswerError as error:
        raise study.refusal((*place, "made"), str(error)) from None

    def noisy_timings_and_truth() -> _TimingsAndTruth:
        processors_of_rows = np.repeat(np.array(spec.processors, dtype=float), spec.repetitions)
        points = Timings(
            processors_of_rows, np.ones(len(processors_of_rows)), processors_of_rows, spec.cycles
        )
        (formula,) = prepared_model.family().formulas(points)
        random_generator = np.random.default_rng([spec.seed, *str(place[-1]).encode()])
        noise_factors = np.exp(
            spec.noise.value * random_generator.standard_normal(len(processors_of_rows))
        )
        predicted_counts = np.array(counts_to_predict, dtype=float)
        true_times = (
            formula.times(
                prepared_model.start[None],
                Timings(
                    predicted_counts,
                    np.ones(len(predicted_counts)),
                    predicted_counts,
                    spec.cycles,
                ),
            )[0]
            if counts_to_predict
            else predicted_counts
        )
        times = formula.times(prepared_model.start[None], points)[0] * noise_factors
        return points.with_time(times), dict(
            zip(predicted_counts.tolist(), true_times.tolist(), strict=True)
        )

    return noisy_timings_and_truth


def _single_text_at(study: StudyContext, place: Place) -> Scalar:
    """Return the single value that the study has at a place."""
    node = study.node_of(place)
    assert isinstance(node, Scalar)
    return node


def _table_of_fits(fits_by_name: Mapping[str, Fitting]) -> str:
    """Return a table in Markdown with a row for each fit: the preferred model, the models that the
    data cannot distinguish from it, and its time at the largest number of processors.
    """
    rows = []
    for fit_name, time_fits in fits_by_name.items():
        best_answer, *rivals = time_fits.undistinguished
        farthest_time_name = next(
            (
                value_name
                for value_name in reversed(list(best_answer.values))
                if value_name.startswith("time[")
            ),
            "",
        )
        time_text = (
            f"{amount_text(best_answer.values[farthest_time_name])} at p ="
            f" {farthest_time_name[5:-1]}"
            if farthest_time_name
            else NOTHING
        )
        true_time = (
            time_fits.truth.get(float(farthest_time_name[5:-1])) if farthest_time_name else None
        )
        error_text = (
            percent((best_answer[farthest_time_name] or 0.0) / true_time - 1, 2)
            if true_time
            else NOTHING
        )
        rows.append(
            [
                escape(fit_name),
                best_answer.model,
                ", ".join(rival.model for rival in rivals) or NOTHING,
                time_text,
                error_text,
            ]
        )
    has_truth = any(time_fits.truth for time_fits in fits_by_name.values())
    headings = [
        "fit",
        "preferred",
        "not distinguished from it",
        "predicted",
        *(["misses the truth by"] if has_truth else []),
    ]
    return markdown_table(
        headings, [row[: len(headings)] for row in rows], [3, 4][: len(headings) - 3]
    )
