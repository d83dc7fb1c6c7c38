"""Results of a projection beside the values of its cases: the share of each class of cost, the time
that faster processors would save, which case overtakes which, and later machines compared with the
predictions of a trend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from slipstick.late import Array, dataclass, np
from slipstick.report.formatting import percent, quantity
from slipstick.results.words import CLASS_TITLES, NO_WORDS, Words, as_words
from slipstick.schema.library import TECHNOLOGY
from slipstick.schema.text import Node, plain_data
from slipstick.study.evaluator import Evaluator
from slipstick_questions.crossing_years import (
    crossing_band,
    crossing_band_text,
    crossing_year_text,
    drawn_crossings,
    first_crossing_years,
)
from slipstick_questions.trends import TrendedCase
from slipstick_questions.years import year_text
from slipstick_rates.trend import PROCESSORS, Draws

CLASS_PREFIX = "technology["


def class_words(name: str) -> str:
    """Return a class of cost in the words of a sentence."""
    return CLASS_TITLES.get(name, as_words(name))


def class_with_verb(name: str) -> str:
    """Return the name of a class of cost with its verb, as the beginning of a clause on its part of
    the time.

    >>> class_with_verb("adapter"), class_with_verb("wire")
    ('network adapters take', 'the wire takes')
    """
    return f"{class_words(name)} {'take' if name in _PLURAL_CLASSES else 'takes'}"


CaseWork = frozenset[tuple[str, str]]
"""The work of a case: its settings except those of machine and technology."""

_PLURAL_CLASSES = ("system", "signal", "adapter", "switch")
"""Classes that are several things in the words of a sentence."""

_SOFTWARE_CLASSES = ("software", "system", "protocol")
_FAST_FACTOR = 1e12  # makes times so short that only rounding errors remain of them
_MOST_COMPARED_PAIRS = 6  # pairs of cases that are held against each other


@dataclass(frozen=True, slots=True)
class ClassShare:
    """The share of the time that a class of cost takes in each year.

    Parameters
    ----------
    name : name of the class
    share_by_year : the share at the stated rates [1] [years]
    low, high : ends of the band of the share over the draws of the rates [1] [years]
    """

    name: str
    share_by_year: Array
    low: Array
    high: Array

    def last_amount(self) -> str:
        """Return the share in the last year in percent; the two ends of the band if they differ."""
        amount, low, high = (
            percent(float(shares[-1])) for shares in (self.share_by_year, self.low, self.high)
        )
        return amount if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Overtaking:
    """The first year in which one case takes less time than another that was as fast or faster.

    Parameters
    ----------
    case : the case that becomes faster
    overtaken_case : the case that is overtaken
    trend : the trend along which this happens
    year : the year at the stated rates
    low, high : ends of the band of the year over the draws of the rates in which it happens
    share_of_draws : share of the draws in which it happens [1]; None where the year is not computed
        for single draws
    end_year : the year from which the case is no longer faster; None where it stays faster
    """

    case: str
    overtaken_case: str
    trend: str
    year: float
    low: float | None
    high: float | None
    share_of_draws: float | None
    end_year: float | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A later machine, compared with the prediction for its year that a trend makes from an earlier
    machine.

    Parameters
    ----------
    earlier_case, case : the cases of the earlier and of the later machine
    trend : the trend that makes the prediction
    start, year : the years of the earlier and of the later machine
    name : "time", or the class of cost whose time is compared
    earlier_time : time on the earlier machine [s]
    predicted_time : prediction for the year of the later machine [s]
    low, high : ends of the band of the prediction [s]
    later_time : time on the later machine [s]
    """

    earlier_case: str
    case: str
    trend: str
    start: float
    year: float
    name: str
    earlier_time: float
    predicted_time: float
    low: float
    high: float
    later_time: float

    @property
    def is_within_band(self) -> bool:
        """Return whether the time on the later machine lies within the band of the prediction."""
        # Without draws the band is one value, which rounding must not leave.
        return self.low <= self.later_time * (1 + 1e-9) and self.later_time <= self.high * (
            1 + 1e-9
        )


@dataclass(frozen=True)
class OwnYear:
    """A case solved in the year of its own machine.

    Parameters
    ----------
    name : name of the case
    year : year of its machine
    kind : kind of the machine's processors
    work : settings of the case except those of the hardware
    time_column : name of the column of its time
    answers_by_column : answers by column
    machine_trend : the trend from which its machine was computed; empty for a real machine
    """

    name: str
    year: float
    kind: str
    work: CaseWork
    time_column: str
    answers_by_column: Mapping[str, Array]
    machine_trend: str = ""


@dataclass(frozen=True)
class DrawnCase:
    """A case along a trend, with its answers at the rates as stated and in each draw of the rates.

    Parameters
    ----------
    track : the case along the trend
    years : years of the projection
    stated_answers : answers at the stated rates, by column [years]
    drawn_answers : answers in each draw, by column [samples, years]; empty without draws
    draws : draws of the rates
    work : settings of the case except those of the hardware
    close_years : years that lie close together, for the search of changes between the years
    close_answers : answers at the stated rates in these years, by column
    """

    track: TrendedCase
    years: Array
    stated_answers: Mapping[str, Array]
    drawn_answers: Mapping[str, Array]
    draws: Mapping[str, Draws]
    work: CaseWork
    close_years: Array
    close_answers: Mapping[str, Array]

    @property
    def time_column(self) -> str:
        """Return the name of the column with the time of the case."""
        return self.track.case.form.quantity

    @property
    def name(self) -> str:
        """Return the name of the case."""
        return self.track.case.case


def work_of(settings: Mapping[str, Node], case: Evaluator) -> CaseWork:
    """Return the settings that describe the work of a case, without the settings of its hardware.
    Two cases do the same work if these are equal.
    """
    hardware = ("machine", TECHNOLOGY)
    return frozenset(
        (path, repr(plain_data(node)))
        for path, node in settings.items()
        if path.partition(".")[0] not in hardware
        and not (path.startswith("parameters.") and path not in case.form.parameters)
    )


def class_shares(case: DrawnCase, band_ends: tuple[float, float]) -> list[ClassShare]:
    """Return for each class of cost its share of the time in each year, the class with the largest
    share in the last year first.
    """
    class_columns = [
        class_column
        for class_column in case.stated_answers
        if class_column.startswith(CLASS_PREFIX)
    ]
    if not class_columns:
        return []
    total_times = np.sum(
        [case.stated_answers[class_column] for class_column in class_columns], axis=0
    )
    drawn_total_times = sum(
        (
            case.drawn_answers[class_column]
            for class_column in class_columns
            if class_column in case.drawn_answers
        ),
        np.zeros(1),
    )
    shares = []
    for class_column in class_columns:
        with np.errstate(all="ignore"):
            stated_share = case.stated_answers[class_column] / total_times
            low_share = high_share = stated_share
            if class_column in case.drawn_answers:
                low_share, high_share = np.quantile(
                    case.drawn_answers[class_column] / drawn_total_times, band_ends, axis=0
                )
        shares.append(
            ClassShare(
                class_column.removeprefix(CLASS_PREFIX).removesuffix("]"),
                stated_share,
                low_share,
                high_share,
            )
        )
    return sorted(shares, key=lambda share: -_last_or_least(share.share_by_year))


def _last_or_least(values: Array) -> float:
    """Return the last value; -1 if it is no finite number, so that it is sorted last."""
    return float(values[-1]) if np.isfinite(values[-1]) else -1.0


def share_saved_by_processors(case: DrawnCase, band_ends: tuple[float, float]) -> float | None:
    """Return the largest share of the time in the last year that faster processors alone can save:
    the case is solved in every draw with processors that take no time. Return None if no quantity
    follows the processors.

    Returns
    -------
    the upper end of the band, or the part as stated without draws; None where the trend has no
    processors, or no rate of the arithmetic of the case, which it then cannot make faster
    """
    paths = {value.path for value in case.track.followers}
    moved_classes = [
        name for name in (PROCESSORS, "application") if f"{TECHNOLOGY}.{name}" in paths
    ]
    if (
        not moved_classes
        or case.time_column != "time"
        or "application" in case.track.classes_without_rate
    ):
        return None
    values_by_path = case.track.values(case.years[-1:], case.draws or None)
    times_before = case.track.case.columns(values_by_path, {case.time_column})[case.time_column]
    for name in moved_classes:
        path = f"{TECHNOLOGY}.{name}"
        fast_values = (
            values_by_path[path] * _FAST_FACTOR
            if name == PROCESSORS
            else values_by_path[path] / _FAST_FACTOR
        )
        values_by_path = {**values_by_path, path: fast_values}
    times_after = case.track.case.columns(values_by_path, {case.time_column})[case.time_column]
    with np.errstate(all="ignore"):
        shares_saved = 1 - times_after / times_before
    shares_saved = shares_saved[np.isfinite(shares_saved)]
    return float(np.quantile(shares_saved, band_ends[1])) if len(shares_saved) else None


def find_overtakings(
    cases: Sequence[DrawnCase], band_ends: tuple[float, float]
) -> list[Overtaking]:
    """Return the years in which cases along the same trend overtake each other."""
    overtakings: list[Overtaking] = []
    for case, other_case in combinations(cases, 2):
        do_same_work = (
            case.track.trend.name == other_case.track.trend.name and case.work == other_case.work
        )
        if not do_same_work or len(overtakings) >= _MOST_COMPARED_PAIRS:
            continue
        common_years = np.intersect1d(case.close_years, other_case.close_years)
        years = np.intersect1d(case.years, other_case.years)
        if len(years) < 2 or case.time_column != other_case.time_column:
            continue
        stated_difference = _log_ratio_of_times(case, other_case, common_years, for_draws=False)
        drawn_difference = _log_ratio_of_times(case, other_case, years, for_draws=True)
        if not np.isfinite(stated_difference).all():
            continue
        overtaking_case, overtaken_case = (
            (case, other_case) if stated_difference[0, 0] > 0 else (other_case, case)
        )
        sign = 1.0 if stated_difference[0, 0] > 0 else -1.0
        year_of_crossing = first_crossing_years(-sign * stated_difference, common_years)[0]
        if not np.isfinite(year_of_crossing):
            continue
        difference_at_years = stated_difference[:, np.searchsorted(common_years, years)]
        drawn_years = drawn_crossings(
            -sign * difference_at_years, -sign * drawn_difference, years, float(year_of_crossing)
        )
        low, high, share_of_draws = (
            (None, None, None) if drawn_years is None else crossing_band(drawn_years, band_ends)
        )
        is_later = common_years > year_of_crossing
        has_several_later_points = np.count_nonzero(is_later) > 1
        end_year = (
            first_crossing_years(sign * stated_difference[:, is_later], common_years[is_later])[0]
            if has_several_later_points
            else np.nan
        )
        overtakings.append(
            Overtaking(
                overtaking_case.name,
                overtaken_case.name,
                case.track.trend.name,
                float(year_of_crossing),
                low,
                high,
                share_of_draws,
                None if np.isnan(end_year) else float(end_year),
            )
        )
    return overtakings


def _log_ratio_of_times(
    first_case: DrawnCase, second_case: DrawnCase, years: Array, *, for_draws: bool
) -> Array:
    """Return the logarithm of the ratio of the times of two cases [samples, years]."""
    log_times = []
    for case in (first_case, second_case):
        is_drawn = for_draws and case.time_column in case.drawn_answers
        columns = (
            case.drawn_answers
            if is_drawn
            else case.stated_answers
            if for_draws
            else case.close_answers
        )
        times = np.atleast_2d(columns[case.time_column])
        known_years = case.years if for_draws else case.close_years
        with np.errstate(all="ignore"):
            log_times.append(np.log(times[:, np.searchsorted(known_years, years)]))
    return np.asarray(log_times[0] - log_times[1])


def find_arrivals(
    cases: Sequence[DrawnCase], own_years: Sequence[OwnYear], band_ends: tuple[float, float]
) -> list[Arrival]:
    """Return comparisons of each later machine with the prediction for its year from each earlier
    machine that does the same work.

    Parameters
    ----------
    cases : along trends
    own_years : cases in their own years
    band_ends : of the band
    """
    machine_by_name = {machine.name: machine for machine in own_years}
    return [
        arrival
        for earlier_case in cases
        for later_machine in own_years
        if _is_later_machine(earlier_case, machine_by_name[earlier_case.name], later_machine)
        for arrival in _arrivals_of_machine(
            earlier_case,
            machine_by_name[earlier_case.name].answers_by_column,
            later_machine,
            band_ends,
        )
    ]


def _is_later_machine(
    earlier_case: DrawnCase, earlier_machine: OwnYear, later_machine: OwnYear
) -> bool:
    """Return whether a machine is later than another one of its kind, does the same work, and was
    not made by the trend of the earlier one.
    """
    return (
        later_machine.year > earlier_case.track.base_year
        and later_machine.machine_trend != earlier_case.track.trend.name
        and later_machine.kind == earlier_machine.kind
        and later_machine.time_column == earlier_case.time_column
        and later_machine.work == earlier_machine.work
    )


def _arrivals_of_machine(
    earlier_case: DrawnCase,
    answers_before: Mapping[str, Array],
    later_machine: OwnYear,
    band_ends: tuple[float, float],
) -> Iterator[Arrival]:
    """Yield the comparison of a later machine with the prediction from an earlier one: of the time,
    and of the time of each class of cost that both have.
    """
    track = earlier_case.track
    year_of_arrival = np.array([later_machine.year])
    predicted_columns = track.case.columns(track.values(year_of_arrival), None)
    drawn_columns = (
        track.case.columns(track.values(year_of_arrival, earlier_case.draws), None)
        if earlier_case.draws
        else predicted_columns
    )
    class_columns = [
        column
        for column in later_machine.answers_by_column
        if column.startswith(CLASS_PREFIX) and column in predicted_columns
    ]
    for column in (earlier_case.time_column, *class_columns):
        low, high = np.quantile(drawn_columns[column], band_ends)
        yield Arrival(
            earlier_case=earlier_case.name,
            case=later_machine.name,
            trend=track.trend.name,
            start=track.base_year,
            year=later_machine.year,
            name=column.removeprefix(CLASS_PREFIX).removesuffix("]"),
            earlier_time=float(answers_before[column][0]),
            predicted_time=float(predicted_columns[column][0]),
            low=float(low),
            high=float(high),
            later_time=float(later_machine.answers_by_column[column][0]),
        )


def share_sentences(
    beginning: str, last_year: float, shares: Sequence[ClassShare], share_saved: float | None
) -> Iterator[str]:
    """Yield a sentence on the class of cost that takes most of the time in the last year, and on
    what faster processors would save.
    """
    if not shares or not np.isfinite(shares[0].share_by_year[-1]):
        return
    largest_share = shares[0]
    share_text = largest_share.last_amount()
    sentence = (
        f"{beginning}in {year_text(last_year)} {class_with_verb(largest_share.name)} {share_text}"
        " of"
        " the time"
    )
    if share_saved is not None:
        # Processors run software as well, so that they may save more than computation takes.
        remark = ", which run it too," if largest_share.name in _SOFTWARE_CLASSES else ""
        sentence += (
            f"; infinitely fast processors alone{remark} save at most"
            f" {percent(max(0.0, share_saved))}"
        )
    yield sentence


def overtaking_sentence(overtaking: Overtaking, last_year: float, words: Words = NO_WORDS) -> str:
    """Return a sentence on the year in which one case overtakes another."""
    faster_case = words.case(overtaking.case)
    slower_case = words.case(overtaking.overtaken_case)
    band_and_share = overtaking.low, overtaking.high, overtaking.share_of_draws
    sentence = (
        f"{faster_case} takes less time than {slower_case} from"
        f" {crossing_year_text(overtaking.year, *band_and_share)}"
    )
    end_year = overtaking.end_year
    sentence += (
        " on"
        if end_year is None
        else f" to {crossing_year_text(end_year, *band_and_share, starts=False)}"
    )
    return sentence + crossing_band_text(*band_and_share, last_year)


def arrival_sentences(
    arrivals: Sequence[Arrival], title_by_trend: Mapping[str, str], words: Words = NO_WORDS
) -> Iterator[str]:
    """Yield a sentence for each later machine, which compares its time with the prediction of the
    trend. If there are several trends, the sentence begins with the title of its trend.
    """
    for arrival in arrivals:
        if arrival.name != "time":
            continue
        expected_time = quantity(arrival.predicted_time, "s", ends=(arrival.low, arrival.high))
        measured_time = quantity(arrival.later_time, "s")
        beginning = f"{title_by_trend[arrival.trend]}: " if len(title_by_trend) > 1 else ""
        later_in_words = (
            f"{beginning}{_title_with_year(words.case(arrival.case), arrival.year)} takes"
            f" {measured_time}"
        )
        earlier_in_words = _title_with_year(words.case(arrival.earlier_case), arrival.start)
        if not arrival.high > arrival.low:
            ratio_text = f"{arrival.later_time / arrival.predicted_time:.3g}"
            yield (
                f"{later_in_words}, {ratio_text} times what the trend gives from"
                f" {earlier_in_words},"
                f" {expected_time}"
            )
            continue
        verdict = "within" if arrival.is_within_band else "outside"
        yield (
            f"{later_in_words}, {verdict} the band that the trend gives from"
            f" {earlier_in_words}: {expected_time}"
        )


def _title_with_year(title: str, year_of_machine: float) -> str:
    """Return the title of a case with its year, unless the title has it."""
    return (
        title if year_text(year_of_machine) in title else f"{title} of {year_text(year_of_machine)}"
    )
