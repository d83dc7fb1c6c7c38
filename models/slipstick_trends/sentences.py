"""Sentences of a projection: how the values of cases change, when conditions hold, which rates are
doubtful.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf, isclose, isfinite

from slipstick.expression.nodes import Dimension
from slipstick.late import late_pattern, np
from slipstick.report.formatting import (
    capitalized,
    join_phrases,
    percent,
    plain_decimal,
    quantity,
    value_amount,
    with_noun,
)
from slipstick.results.sweep import Sweep
from slipstick.results.words import SHARES, Words, as_words
from slipstick.schema.kinds.study import YEAR
from slipstick.units import to_base
from slipstick_questions.crossing_years import (
    MOST_YEARS_IN_SENTENCE,
    CaseYear,
    crossing_band_text,
    crossing_year_text,
    heading_of_years,
    range_of_years_text,
    with_brief_band,
    year_cell,
)
from slipstick_questions.sign_changes import Change
from slipstick_questions.trends import PARAMETER_PREFIX, ended_data_text
from slipstick_questions.years import year_text
from slipstick_trends.ahead import (
    arrival_sentences,
    class_with_verb,
    class_words,
    overtaking_sentence,
    share_sentences,
)
from slipstick_trends.projection import (
    ConditionHistory,
    DominantClass,
    ProjectedCase,
    Projection,
    UsedRate,
)

_ROUNDING = 1e-9  # relative difference of values that rounding leaves
_SMALL_CHANGE = 0.05  # relative change that a reader takes for none where its direction is open
_MOST_HEADLINES = 6


def track_name(track: ProjectedCase, projection: Projection, words: Words) -> str:
    """Return a name for a case along a trend: the title of the case, of the trend, or of both,
    whichever distinguish the cases of the projection.
    """
    case_names = {projected_case.case for projected_case in projection.tracks}
    has_several_trends = len(projection.titles) > 1
    name_texts = [words.case(track.case)] if len(case_names) > 1 or not has_several_trends else []
    name_texts += [projection.titles[track.trend]] if has_several_trends else []
    return ", ".join(name_texts)


def _beginning_of_sentence(track: ProjectedCase, projection: Projection, words: Words) -> str:
    """Return the beginning of a sentence on a case along a trend; empty if there is only one."""
    has_several_tracks = len(projection.tracks) > 1
    return f"{track_name(track, projection, words)}: " if has_several_tracks else ""


def value_at(sweep: Sweep, name: str, year_index: int) -> tuple[float, str, tuple[float, float]]:
    """Return a value with its unit and its band at one point of a sweep."""
    low, high = sweep.ends(name)
    interval_ends = float(low[year_index]), float(high[year_index])
    return float(sweep.columns[name][year_index]), sweep.units[name], interval_ends


def headlines_by_subject(projection: Projection, words: Words) -> dict[str, list[str]]:
    """Return the sentences for the head of a report, by subject: values, shares and conditions."""
    tracks = projection.tracks
    history_sentences = [
        _history_sentence(history, track, projection, words)
        for track in tracks[:1]
        for history in track.conditions[:1]
        # Of many cases, the first one tells little; the page has all.
        if not history.is_worded
        and not asks_for_year(words.title)
        and len(tracks) <= _MOST_TRACKS_WITH_SENTENCES
    ]
    is_over_years = projection.factors is None
    # A table has all values of many cases; a sentence on the first ones adds nothing.
    value_sentences = [*_extremes_headline(projection, words)] or [
        _track_headline(track, projection, words) for track in tracks[:2]
    ]
    return {
        "worded": [*_condition_headlines(projection, words)] if is_over_years else [],
        "values": value_sentences,
        "shares": _share_headlines(projection, words) if _shows_shares(projection, words) else [],
        "conditions": history_sentences,
    }


def _shows_shares(projection: Projection, words: Words) -> bool:
    """Return whether the head has sentences on shares of the time: of a few cases, or where the
    title asks for them.
    """
    asks_where = re.search(r"\bwhere\b", words.title, re.IGNORECASE)
    is_short = len(projection.tracks) <= _MOST_TRACKS_WITH_SENTENCES or bool(asks_where)
    return is_short and projection.factors is None


_ASKS_FOR_YEAR = late_pattern(
    r"(?:(?:after|by|from|since|until) )?when\b|.*\b(?:what|which) year\b"
    r"|.*\bhow (?:long|many years)\b",
    re.IGNORECASE,
)


def asks_for_year(title: str) -> bool:
    """Return whether a title asks for the year of a change.

    >>> asks_for_year("In which year is it fast?"), asks_for_year("What is left when it ends?")
    (True, False)
    """
    return bool(_ASKS_FOR_YEAR.match(title))


def _conditions_in_head(track: ProjectedCase, words: Words) -> list[ConditionHistory]:
    """List the conditions of a case whose years the head has before the values: those with words of
    their own, else the first one where the title asks for a year.
    """
    worded_conditions = [history for history in track.conditions if history.is_worded]
    return worded_conditions or [*track.conditions[: asks_for_year(words.title)]]


def _condition_headlines(projection: Projection, words: Words) -> Iterator[str]:
    """Yield a sentence for each of these conditions: the years in which it is true for the first
    few cases.
    """
    tracks = [track for track in projection.tracks if _conditions_in_head(track, words)]
    if range_headlines := _headlines_of_ranges(tracks, projection, words):
        yield from range_headlines
        return
    names_by_condition: dict[str, dict[str, list[str]]] = {}
    for track in tracks[:_MOST_HEADLINES]:
        for history in _conditions_in_head(track, words):
            in_words = _condition_in_words(history, words)
            names_by_years = names_by_condition.setdefault(in_words, {})
            names = names_by_years.setdefault(_years_clause(history, track, projection), [])
            names.append(_name_in_list(track, projection, words))
    hidden_count = len(tracks[_MOST_HEADLINES:])
    for condition_text, names_by_years in names_by_condition.items():
        # Years come first in the sentence on a single case.
        if len(tracks) == 1:
            yield f"{next(iter(names_by_years))}, {condition_text}"
        else:
            clauses = [
                f"{years_text} for {join_phrases(names)}"
                for years_text, names in names_by_years.items()
            ]
            clauses += [f"not shown: {with_noun(hidden_count, 'further case')}"] * bool(
                hidden_count
            )
            yield f"{condition_text}: {'; '.join(_with_brief_bands(clauses))}"


def _headlines_of_ranges(
    tracks: Sequence[ProjectedCase], projection: Projection, words: Words
) -> list[str]:
    """Return for each condition in the head of many cases a sentence on the first and the last of
    the years from which, or until which, it is true, with their cases; empty unless each condition
    changes once, in the same direction, in all cases.
    """
    histories_by_condition: dict[str, list[tuple[Change, ProjectedCase]]] = {}
    for track in tracks:
        for history in _conditions_in_head(track, words):
            if len(history.crossings) != 1 or history.undecided_spans or history.unanswered_spans:
                return []
            in_words = _condition_in_words(history, words)
            histories_by_condition.setdefault(in_words, []).append((history.crossings[0], track))
    groups = [*histories_by_condition.values()]
    if any(
        len(group) <= MOST_YEARS_IN_SENTENCE
        or len({change.starts for change, _ in group}) > 1
        or any(change.jump for change, _ in group)
        for group in groups
    ):
        return []
    return [
        _range_of_years_sentence(condition, group, projection, words)
        for condition, group in histories_by_condition.items()
    ]


def _range_of_years_sentence(
    condition: str,
    changes: Sequence[tuple[Change, ProjectedCase]],
    projection: Projection,
    words: Words,
) -> str:
    """Return a sentence on the earliest and the latest of the years in which a condition changes,
    and on how uncertain these years are.
    """
    years = [
        _year_of_case(change, _name_in_list(track, projection, words)) for change, track in changes
    ]
    last_year = float(projection.years[-1])
    range_text = range_of_years_text(years, last_year, starts=changes[0][0].starts)
    return f"{condition} in all {len(changes)} cases, {range_text}"


def _year_of_case(change: Change, name: str) -> CaseYear:
    return CaseYear(name, change.value, change.low, change.high, change.part)


def condition_columns(
    projection: Projection, tracks: Sequence[ProjectedCase], words: Words
) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the cells of a column for each condition whose years the head gives for
    the first and the last of many cases only: the years in each case, with their bands.
    """
    if not _headlines_of_ranges(
        [track for track in projection.tracks if _conditions_in_head(track, words)],
        projection,
        words,
    ):
        return
    cells_by_condition: dict[str, list[str]] = {}
    for track in tracks:
        for history in _conditions_in_head(track, words):
            (change,) = history.crossings
            condition = _condition_in_words(history, words)
            heading = heading_of_years(condition, starts=change.starts)
            cells = cells_by_condition.setdefault(heading, [])
            cells.append(year_cell(_year_of_case(change, ""), starts=change.starts))
    yield from cells_by_condition.items()


def _condition_in_words(history: ConditionHistory, words: Words) -> str:
    """Return a condition in the words of the study, else in words made of its names."""
    return history.condition if history.is_worded else words.condition(history.condition)


def _with_brief_bands(clauses: list[str]) -> Iterator[str]:
    """Yield clauses, of which the first says what its band is and the others only have theirs.

    >>> clause = "from 2019 on (uncertain: 2007 or later; by 2036 in 78 % of the random draws)"
    >>> list(_with_brief_bands([clause, clause]))[1]
    'from 2019 on (2007 or later; 78 %)'
    """
    yield from clauses[:1]
    yield from (with_brief_band(clause) for clause in clauses[1:])


def _name_in_list(track: ProjectedCase, projection: Projection, words: Words) -> str:
    """Return the name of a case along a trend, in quotes where commas of a list would split it."""
    name = track_name(track, projection, words)
    return f'"{name}"' if "," in name else name


def _share_headlines(projection: Projection, words: Words) -> list[str]:
    """Return sentences on the shares of the time of the first few cases in the last year, and on
    the time that faster processors save: one sentence on each for several cases.
    """
    sentences = _share_sentences(projection, words)
    tracks = [track for track in projection.tracks if track.shares][:_MOST_HEADLINES]
    if len(sentences) < 2:
        return sentences
    names = [_name_in_list(track, projection, words) for track in tracks]
    class_names = [class_words(track.shares[0].name) for track in tracks]
    amounts = [track.shares[0].last_amount() for track in tracks]
    if len({*class_names}) == 1:
        parts_text = join_phrases(
            [f"{amount} for {name}" for name, amount in zip(names, amounts, strict=True)]
        )
        largest_parts = f"{class_names[0]}, {parts_text}"
    else:
        case_phrases_by_class: dict[str, list[str]] = {}
        for class_name, name, amount in zip(class_names, names, amounts, strict=True):
            case_phrases_by_class.setdefault(class_name, []).append(f"{name} ({amount})")
        clauses = [
            f"{class_name} for {join_phrases(case_phrases)}"
            for class_name, case_phrases in case_phrases_by_class.items()
        ]
        largest_parts = join_phrases(clauses) if len(clauses) == len(names) else "; ".join(clauses)
    savings = [
        (percent(max(0.0, track.share_saved_by_processors)), name)
        for name, track in zip(names, tracks, strict=True)
        if track.share_saved_by_processors is not None
    ]
    last_year = year_text(float(projection.years[-1]))
    headlines = [f"the largest part of the time in {last_year} is {largest_parts}"]
    if savings:
        (first_percentage, first_name), *further_savings = savings
        saving_phrases = [
            f"{first_percentage} of the time for {first_name}",
            *(f"{percentage} for {name}" for percentage, name in further_savings),
        ]
        headlines.append(
            f"infinitely fast processors alone save at most {join_phrases(saving_phrases)}"
        )
    return headlines


def _share_sentences(projection: Projection, words: Words) -> list[str]:
    """Return a sentence for each case on the shares of its time in the last year; one sentence if
    all cases have the same shares.
    """
    last_year = float(projection.years[-1])
    tracks = projection.tracks
    sentences = [
        sentence
        for track in tracks
        for sentence in share_sentences(
            "", last_year, track.shares, track.share_saved_by_processors
        )
    ]
    if len(tracks) > 1 and len(sentences) == len(tracks) and len({*sentences}) == 1:
        cases_text = "both" if len(tracks) == 2 else f"all {len(tracks)}"
        return (
            [f"in {cases_text} cases, {sentences[0]}"] if len(projection.titles) == 1 else sentences
        )
    return [
        sentence
        for track in tracks
        for sentence in share_sentences(
            _beginning_of_sentence(track, projection, words),
            last_year,
            track.shares,
            track.share_saved_by_processors,
        )
    ]


_MOST_TRACKS_WITH_SENTENCES = 2
"""The most cases of which a headline has one sentence each."""


_MOST_VALUES_IN_SENTENCE = 3
"""The most cases of which a sentence has each value with its band; of more it has the range."""


def _extremes_headline(projection: Projection, words: Words) -> Iterator[str]:
    """Yield a sentence on the first value in percent of many cases: in how many it rises or falls,
    and the values of few cases in the last year, or the lowest and the highest of many. Times of
    different programs are not compared.
    """
    tracks = projection.tracks
    share_names = [name for name in tracks[0].value_names[:2] if name.partition("[")[0] in SHARES]
    has_shares = share_names and all(
        share_names[0] in track.sweep.columns and not track.sweep.failed for track in tracks
    )
    if len(tracks) <= _MOST_TRACKS_WITH_SENTENCES or not has_shares:
        return
    name = share_names[0]
    tracks_by_last = sorted(tracks, key=lambda track: float(track.sweep.columns[name][-1]))
    columns = [track.sweep.columns[name] for track in tracks_by_last]
    if not all(isfinite(column[year_index]) for column in columns for year_index in (0, -1)):
        return
    count_by_verb = Counter(
        _direction_verb(float(column[0]), float(column[-1])) for column in columns
    )
    verb_counts = [
        f"{verb} in {count_by_verb[verb]}"
        for verb in ("falls", "rises", "stays")
        if count_by_verb[verb]
    ]
    common_verb = next((verb for verb, count in count_by_verb.items() if count == len(tracks)), "")
    direction_clause = f"{common_verb} in all" if common_verb else f"{join_phrases(verb_counts)} of"
    undecided_cases = [
        track_name(track, projection, words)
        for track in tracks
        if _may_not_change(track, name, 0, -1)
    ]
    are_all_undecided = len(undecided_cases) == len(tracks)
    doubt_clause = (
        f" (only probably for {join_phrases(undecided_cases)})"
        if undecided_cases and not are_all_undecided
        else ""
    )
    smallest_text, largest_text = (
        _last_and_first_value(track, name, projection, words)
        for track in (tracks_by_last[0], tracks_by_last[-1])
    )
    last_year = year_text(float(projection.years[-1]))
    if smallest_text.partition(" for ")[0] == largest_text.partition(" for ")[0]:
        return  # the sentence on the first case tells it
    values_clause = f"the lowest is {smallest_text}, the highest {largest_text}"
    if len(tracks) <= _MOST_VALUES_IN_SENTENCE:
        values_clause = join_phrases(
            [
                f"{value_amount(name, *value_at(track.sweep, name, -1))} for"
                f" {track_name(track, projection, words)}"
                for track in tracks_by_last[::-1]
            ]
        )
    yield (
        f"by {last_year} {words.value(name)} {'probably ' * are_all_undecided}{direction_clause}"
        f" {len(tracks)} cases{doubt_clause}: {values_clause}"
    )


def _direction_verb(first_value: float, last_value: float) -> str:
    """Return the verb for a change from the first to the last value; rounding is no change."""
    if isclose(first_value, last_value, rel_tol=_ROUNDING):
        return "stays"
    return "falls" if last_value < first_value else "rises"


def _last_and_first_value(
    track: ProjectedCase, name: str, projection: Projection, words: Words
) -> str:
    """Return a value of the last year with its case, and the value of the same quantity in the
    first year.
    """
    first_amount, last_amount = (
        value_amount(name, *value_at(track.sweep, name, year_index)) for year_index in (0, -1)
    )
    first_year = year_text(float(track.sweep.points[YEAR][0]))
    return (
        f"{last_amount} for {track_name(track, projection, words)} ({first_amount} in {first_year})"
    )


def outcome_sentences(projection: Projection, words: Words) -> Iterator[str]:
    """Yield sentences on the results of a projection, the most important first."""
    yield from map(capitalized, _outcome_sentences(projection, words))


def _outcome_sentences(projection: Projection, words: Words) -> Iterator[str]:
    """Yield all sentences on the results, in order of importance."""
    for track in projection.tracks:
        beginning = _beginning_of_sentence(track, projection, words)
        histories = [history for history in track.conditions if history.is_worded]
        yield from (_history_sentence(history, track, projection, words) for history in histories)
        if value_clauses := list(_value_clauses(track, words)):
            yield f"{beginning}{_span_with_comma(track, projection)} {', '.join(value_clauses)}"
    dominant_sentences = [_dominant_sentence(track) for track in projection.tracks]
    if len(dominant_sentences) > 1 and len(set(dominant_sentences)) == 1:
        dominant_sentences = [
            f"in every case {sentence}" for sentence in dominant_sentences[:1] if sentence
        ]
    else:
        beginnings = [
            _beginning_of_sentence(track, projection, words) for track in projection.tracks
        ]
        dominant_sentences = [
            f"{beginning}{sentence}"
            for beginning, sentence in zip(beginnings, dominant_sentences, strict=True)
            if sentence
        ]
    yield from dominant_sentences
    if projection.factors is None:
        yield from _share_sentences(projection, words)
    for overtaking in projection.overtakings:
        yield overtaking_sentence(overtaking, float(projection.years[-1]), words)
    yield from arrival_sentences(projection.arrivals, projection.titles, words)
    for track in projection.tracks:
        for history in track.conditions:
            if not history.is_worded:
                yield _history_sentence(history, track, projection, words)
    yield from _unused_rates_sentences(projection, words)
    yield from sentences_without_rate(projection)


def sentences_beside_head(projection: Projection, words: Words) -> list[str]:
    """Return the sentences with content that is neither in the head of a report nor in its
    tables.
    """
    headline_text = " ".join(
        sentence
        for sentences in headlines_by_subject(projection, words).values()
        for sentence in sentences
    )
    # Heads join the sentences on the first cases.
    worded_histories = [
        _history_sentence(history, track, projection, words)
        for track in projection.tracks[:_MOST_HEADLINES]
        for history in _conditions_in_head(track, words)
    ]
    joined_sentences = worded_histories
    if _shows_shares(projection, words):
        joined_sentences += _share_sentences(projection, words)[:_MOST_HEADLINES]
    if projection.factors is None:
        headline_text = " ".join([headline_text, *joined_sentences])
    value_sentences = {
        capitalized(
            f"{_beginning_of_sentence(track, projection, words)}"
            f"{_span_with_comma(track, projection)}"
            f" {', '.join(_value_clauses(track, words))}"
        )
        for track in projection.tracks
    }
    missing_rate_sentences = [*map(capitalized, sentences_without_rate(projection))]
    folded_head = headline_text.casefold()
    sentences = [
        sentence
        for sentence in outcome_sentences(projection, words)
        if sentence.casefold() not in folded_head
    ]
    return [
        sentence
        for sentence in sentences
        if sentence not in value_sentences and sentence not in missing_rate_sentences
    ]


def span_phrase(track: ProjectedCase, projection: Projection) -> str:
    """Return a phrase for the span of a case: its first and last year or, if the case is projected
    over factors of processor speed, how many times as fast processors become.
    """
    if projection.factors is None:
        return track.span_text
    first_factor_text, last_factor_text = (
        f"{projection.factors[year_index]:.4g}" for year_index in (0, -1)
    )
    speed_range = (
        f"{first_factor_text} to {last_factor_text}"
        if first_factor_text != "1"
        else last_factor_text
    )
    return f"while processors become {speed_range} times as fast ({track.span_text}),"


def _span_with_comma(track: ProjectedCase, projection: Projection) -> str:
    """Return the years of a case as a part of a sentence that a comma ends."""
    return f"{span_phrase(track, projection).rstrip(',')},"


def _with_factor(year_in_words: str, crossing: float, projection: Projection) -> str:
    """Return a year as text; if the case is projected over speed factors, also how many times as
    fast processors are in that year.
    """
    if projection.factors is None:
        return year_in_words
    factor = np.exp(np.interp(crossing, projection.years, np.log(projection.factors)))
    return f"{year_in_words}, when processors are {factor:.3g} times as fast"


def _speed_clause(sweep: Sweep, first_and_last_index: tuple[int, int]) -> str:
    """Return how many times as fast the last year is as the first one, with an interval where the
    time of the first year has none: two intervals do not show how both times vary together.
    """
    (first_value, _, first_ends), (last_value, _, last_ends) = (
        value_at(sweep, "time", year_index) for year_index in first_and_last_index
    )
    factor = first_value / last_value
    last_low, last_high = last_ends
    if not last_low < last_high < inf:
        return f" ({plain_decimal(factor, 3)} times as fast)"
    if first_ends[0] < first_ends[1]:
        return f" ({plain_decimal(factor, 3)} times as fast at the stated rates)"
    factor_text = quantity(factor, "1", 3, ends=(first_value / last_high, first_value / last_low))
    return f", {factor_text} times as fast,"


def _track_headline(track: ProjectedCase, projection: Projection, words: Words) -> str:
    """Return a sentence on how the values of a case change over the years."""
    beginning = _beginning_of_sentence(track, projection, words)
    change_clauses = []
    years = track.sweep.points[YEAR]
    answered_indices = [index for index in range(len(years)) if index not in track.sweep.failed]
    first_and_last_index = (
        (answered_indices[0], answered_indices[-1]) if answered_indices else (0, -1)
    )
    for name in track.value_names[:2]:
        first_value, unit, _ = value_at(track.sweep, name, first_and_last_index[0])
        last_value, *_ = value_at(track.sweep, name, first_and_last_index[1])
        if not (isfinite(first_value) and isfinite(last_value)):
            continue
        verb = _direction_verb(first_value, last_value)
        if verb == "stays":
            change_clauses.append(
                f"{words.value(name)} stays {value_amount(name, first_value, unit)}"
            )
            continue
        amounts = [
            value_amount(name, *value_at(track.sweep, name, year_index))
            for year_index in first_and_last_index
        ]
        first_amount = _amount_in_unit_of(amounts[1], first_value, unit, amounts[0])
        if _may_not_change(track, name, *first_and_last_index):
            is_small = isclose(first_value, last_value, rel_tol=_SMALL_CHANGE)
            verb = "hardly changes:" if is_small else f"probably {verb}"
        if first_amount == amounts[1]:  # it changes in digits that are not shown
            change_clauses.append(f"{words.value(name)} stays {first_amount}")
            continue
        change_clause = f"{words.value(name)} {verb} from {first_amount} to {amounts[1]}"
        if name == "time" and last_value < first_value:
            change_clause += _speed_clause(track.sweep, first_and_last_index)
        change_clauses.append(change_clause)
    if not change_clauses:
        return f"{beginning}{span_phrase(track, projection)} there is no answer"
    span_text = (
        f"from {year_text(float(years[first_and_last_index[0]]))} to"
        f" {year_text(float(years[first_and_last_index[1]]))}"
    )
    unanswered_years = [year_text(float(years[index])) for index in track.sweep.failed]
    unanswered_in_words = (
        f"; no answer in {join_phrases(unanswered_years)}" if unanswered_years else ""
    )
    span_text = span_text if track.sweep.failed else span_phrase(track, projection)
    starts_later = 0 < track.base_year < float(years[first_and_last_index[0]])
    base_year_note = (
        f"; values as given are those of {year_text(track.base_year)}" if starts_later else ""
    )
    changes_in_words = join_phrases(change_clauses).removesuffix(",")
    asked_clauses = [
        f"in {year_text(float(years[index]))}"
        f" {join_phrases([*_amount_clauses(track, index, words)])}; "
        for index in projection.asked_indices(track)
        if first_and_last_index[0] < index < first_and_last_index[1]
        and index in answered_indices
        and projection.factors is None
    ]
    return (
        f"{beginning}{''.join(asked_clauses)}{span_text} {changes_in_words}{unanswered_in_words}"
        f"{base_year_note}"
    )


def _amount_clauses(track: ProjectedCase, year_index: int, words: Words) -> Iterator[str]:
    """Yield a clause for each of the first values of a case in one year."""
    for name in track.value_names[:2]:
        if isfinite(track.sweep.columns[name][year_index]):
            amount = value_amount(name, *value_at(track.sweep, name, year_index))
            yield f"{words.value(name)} is {amount}"


def _may_not_change(track: ProjectedCase, name: str, first_index: int, last_index: int) -> bool:
    """Return whether a value changes, but a band twice as wide as that of the last value includes
    the first value, so that the direction of the change is only probable: of measured points, bands
    of 90 % of the draws hold about 80 %.
    """
    first_value, *_ = value_at(track.sweep, name, first_index)
    last_value, _, (low, high) = value_at(track.sweep, name, last_index)
    if _direction_verb(first_value, last_value) == "stays" or not low < high:
        return False
    if min(low, first_value, last_value) > 0:  # widths are factors, as in draws of yearly factors
        return low * (low / last_value) <= first_value <= high * (high / last_value)
    return 2 * low - last_value <= first_value <= 2 * high - last_value


def _amount_in_unit_of(last_amount: str, first_value: float, unit: str, first_amount: str) -> str:
    """Return the first value of a range in the unit of the last amount, if it then has few digits;
    else return its own amount.

    >>> _amount_in_unit_of("20.65 (5.518 to 188.9) us", 2.637e-3, "s", "2.637 ms")
    '2637 us'
    >>> _amount_in_unit_of("20.65 us", 2.637, "s", "2.637 s")
    '2.637 s'
    """
    unit_of_last = last_amount.rpartition(" ")[2]
    if "(" in first_amount or first_amount.endswith(f" {unit_of_last}") or unit == "1":
        return first_amount
    in_unit = first_value / to_base(f"1 {unit_of_last}", Dimension.of(unit))
    has_few_digits = 0.01 <= abs(in_unit) < 100_000
    return f"{plain_decimal(in_unit)} {unit_of_last}" if has_few_digits else first_amount


def _value_clauses(track: ProjectedCase, words: Words) -> Iterator[str]:
    """Yield a clause for each value of a case in the first and the last year."""
    for name in track.value_names:
        column, (low, high) = track.sweep.columns[name], track.sweep.ends(name)
        if isfinite(column[0]) and isfinite(column[-1]):
            first_amount, last_amount = (
                quantity(
                    float(column[year_index]),
                    track.sweep.units[name],
                    ends=(float(low[year_index]), float(high[year_index])),
                )
                for year_index in (0, -1)
            )
            yield f"{words.value(name)} from {first_amount} to {last_amount}"


def _history_sentence(
    history: ConditionHistory, track: ProjectedCase, projection: Projection, words: Words
) -> str:
    """Return a sentence on when a condition holds; a condition with words of its own comes after
    the years.
    """
    beginning = _beginning_of_sentence(track, projection, words)
    years_in_words = _years_clause(history, track, projection)
    if history.is_worded:
        return f"{beginning}{years_in_words}, {history.condition}"
    clause = words.condition(history.condition)
    whether = "whether " if history.holds_first is None and not history.undecided_spans else ""
    return f"{beginning}{whether}{clause} {years_in_words}"


def _years_clause(history: ConditionHistory, track: ProjectedCase, projection: Projection) -> str:
    """Return a clause on the years in which a condition holds, with the band of each change."""
    undecided_years = [
        f"undecided {'in' if first_year == final_year else 'from'} {year_text(first_year)}"
        f"{'' if first_year == final_year else f' to {year_text(final_year)}'}"
        for first_year, final_year in history.undecided_spans
    ]
    unanswered_in_words = _unanswered_clause(history, track)
    if history.crossings or undecided_years:
        last_year = float(track.sweep.points[YEAR][-1])
        change_clauses = [
            _change_clause(change, last_year, projection) for change in history.crossings
        ]
        changes_in_words = ", ".join([*change_clauses, *undecided_years])
        return f"{changes_in_words}{unanswered_in_words}"
    if history.holds_first is None:
        return f"has no answer {span_phrase(track, projection)}"
    share_text = rates_in_words = ""
    if history.holds_last is not None and 0.001 < history.holds_last < 0.999:
        rates_in_words = "at the stated rates "
        share_text = f" (at the end in {percent(history.holds_last)} of the random draws)"
    everywhere_in_words = "wherever there is an answer" if unanswered_in_words else "throughout"
    nowhere_in_words = "in no year"
    if projection.factors is not None:
        everywhere_in_words, nowhere_in_words = f"{everywhere_in_words},", "never,"
    return (
        f"{rates_in_words}{everywhere_in_words if history.holds_first else nowhere_in_words}"
        f" {span_phrase(track, projection).rstrip(',')}{share_text}{unanswered_in_words}"
    )


def _change_clause(change: Change, last_year: float, projection: Projection) -> str:
    """Return a clause on the year in which a condition starts or stops holding, with its band."""
    band_and_share = change.low, change.high, change.part
    crossing_text = _with_factor(
        crossing_year_text(change.value, *band_and_share, starts=change.starts),
        change.value,
        projection,
    )
    year_in_words = f"from {crossing_text} on" if change.starts else f"until {crossing_text}"
    year_in_words += crossing_band_text(*band_and_share, last_year, starts=change.starts)
    return year_in_words + (", by a jump" if change.jump else "")


def _unanswered_clause(history: ConditionHistory, track: ProjectedCase) -> str:
    """Return a clause on the years in which a condition has no answer, for example because a
    station is saturated.
    """
    years = track.sweep.points[YEAR]
    span_phrases = []
    for first_year, final_year in history.unanswered_spans:
        if first_year == years[0]:
            span_phrases.append(
                f"in {year_text(final_year)}"
                if first_year == final_year
                else f"until {year_text(final_year)}"
            )
        elif final_year == years[-1]:
            span_phrases.append(f"from {year_text(first_year)} on")
        else:
            span_phrases.append(f"from {year_text(first_year)} to {year_text(final_year)}")
    return f", without an answer {join_phrases(span_phrases)}" if span_phrases else ""


def _dominant_sentence(track: ProjectedCase) -> str:
    """Return a sentence on the classes of cost that take the most time, with the years; empty if
    there are no classes.
    """
    if not track.dominant_classes:
        return ""
    first_class, *later_classes = track.dominant_classes
    if not later_classes:
        answered_in_words = " with an answer" if track.sweep.failed else ""
        return (
            f"{class_with_verb(first_class.name)} the most time in all years{answered_in_words},"
            " at the stated rates"
        )
    last_year = float(track.sweep.points[YEAR][-1])
    later_clauses = "".join(
        f", {_largest_class_phrase(dominant, last_year)}" for dominant in later_classes
    )
    return (
        f"{class_with_verb(first_class.name)} the most time until"
        f" {_year_of_change_text(later_classes[0], starts=False)}"
        f"{later_clauses}"
    )


def _year_of_change_text(dominant: DominantClass, *, starts: bool) -> str:
    """Return the first year in which a class takes the most time, or the last one in which another
    class does, as text.
    """
    return crossing_year_text(
        dominant.first, dominant.low, dominant.high, dominant.share_of_draws, starts=starts
    )


def _largest_class_phrase(dominant: DominantClass, last_year: float) -> str:
    """Return the class that takes the most time and the year from which it does, with its band, as
    text.
    """
    band_text = crossing_band_text(dominant.low, dominant.high, dominant.share_of_draws, last_year)
    first_year = _year_of_change_text(dominant, starts=True)
    return f"{class_words(dominant.name)} from {first_year}{band_text}"


def sentences_without_rate(projection: Projection) -> Iterator[str]:
    """Yield a sentence on the classes of steps, and on the parameters, for which a trend has no
    rate.
    """
    classes_by_trend: dict[str, dict[str, None]] = {}
    parameters_without_rate: dict[tuple[str, str], None] = {}
    for track in projection.tracks:
        classes_by_trend.setdefault(track.trend, {}).update(
            dict.fromkeys(track.classes_without_rate)
        )
        parameters_without_rate |= dict.fromkeys(
            (track.trend, path) for path, _ in track.unfollowed
        )
    for trend, names in classes_by_trend.items():
        if names:
            stay_clause = (
                "their times stay as they are" if len(names) > 1 else "its time stays as it is"
            )
            yield (
                f"{_trend_name(trend, projection)} has no rate of"
                f" {join_phrases([class_words(name) for name in names])}: {stay_clause}"
                " in every year"
            )
    for trend, path in parameters_without_rate:
        yield (
            f"{_trend_name(trend, projection)} has no rate of what"
            f" {as_words(path.removeprefix(PARAMETER_PREFIX))} follows, so it stays as it is in"
            " every"
            " year"
        )


def sentences_on_middles(projection: Projection) -> Iterator[str]:
    """Yield a sentence on settings whose range is left out, because the middle of the range is
    taken.
    """
    words = projection.words
    paths = dict.fromkeys(path for track in projection.tracks for path in track.settings_with_range)
    if paths:
        range_noun = "range" if len(paths) == 1 else "ranges"
        yield (
            f"the years ahead take the middle of the {range_noun} of"
            f" {join_phrases([words.quantity(path) for path in paths])}, and their bands leave the"
            f" {range_noun} out"
        )


def _trend_name(trend: str, projection: Projection) -> str:
    """Return the title of a trend; its name if it has none."""
    return f'the trend "{projection.titles[trend]}"' if len(projection.titles) > 1 else "the trend"


def _unused_rates_sentences(projection: Projection, words: Words) -> Iterator[str]:
    """Yield a sentence on rates that change nothing, once for all cases for which this is true."""
    cases_by_trend_and_rates: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for track in projection.tracks:
        if track.sweep.idle:
            cases_by_trend_and_rates.setdefault((track.trend, track.sweep.idle), []).append(
                track.case
            )
    for (trend, names), case_titles in cases_by_trend_and_rates.items():
        all_cases = {track.case for track in projection.tracks}
        case_list = f"of {join_phrases([words.case(case) for case in case_titles])} "
        cases_in_words = case_list if len(case_titles) < len(all_cases) else ""
        classes_text = join_phrases([class_words(name) for name in names])
        rates_phrase = "these rates of" if len(names) > 1 else "the rate of"
        yield (
            f"no step {cases_in_words}follows {classes_text}, so {rates_phrase}"
            f" {_trend_name(trend, projection)}"
            f" {'change' if len(names) > 1 else 'changes'} nothing"
        )


def used_rates(projection: Projection, trend: str, *, timed: bool = False) -> list[UsedRate]:
    """Return the rates of a trend that change a value of some case.

    Parameters
    ----------
    projection, trend : with its rates, and the name of the trend
    timed : list only rates that change a time
    """
    tracks = [track for track in projection.tracks if track.trend == trend]
    timed = timed or projection.timed
    unused_by_track = [
        {*track.sweep.idle, *(track.rates_of_amounts if timed else ())} for track in tracks
    ]
    unused_in_all_tracks = set.intersection(*unused_by_track) if unused_by_track else set()
    rates = (rate for rate in projection.rates if rate.trend == trend)
    return [rate for rate in rates if rate.of not in unused_in_all_tracks]


def doubt_remarks(
    projection: Projection, trends: Iterable[str] | None = None, *, timed: bool = False
) -> str:
    """Return sentences on the rates in use that are guesses, and on weak series; empty if there are
    none.

    Parameters
    ----------
    projection : with its rates
    trends : names of the trends; all by default
    timed : only rates that change a time
    """
    trend_names = [*projection.titles] if trends is None else list(dict.fromkeys(trends))
    rates = [rate for name in trend_names for rate in used_rates(projection, name, timed=timed)]
    weak_series = {f"{rate.title} ({_count_of_points(rate)})" for rate in rates if rate.weak}
    guessed_classes = dict.fromkeys(class_words(rate.of) for rate in rates if rate.assumed)
    remarks = [f"weak series: {'; '.join(sorted(weak_series))}"] if weak_series else []
    remarks += [f"guesses: {', '.join(guessed_classes)}"] if guessed_classes else []
    return ". ".join(map(capitalized, remarks))


def titles_of_doubts(projection: Projection) -> frozenset[str]:
    """Return the titles of the rates that are guesses or of weak series, and of those whose data
    have ended.
    """
    rates = (rate for trend in projection.titles for rate in used_rates(projection, trend))
    return frozenset(
        as_words(rate.title or rate.of) for rate in rates if rate.weak or rate.assumed
    ).union(*(map(as_words, dict(track.last_year_by_data)) for track in projection.tracks))


def _count_of_points(rate: UsedRate) -> str:
    """Return the number of points of a series, and the number of them that are from memory, in
    words.
    """
    recalled_note = f", {rate.recalled} from memory" if rate.recalled else ""
    return f"{with_noun(rate.points, 'point')}{recalled_note}"


def warning_sentences(projection: Projection) -> Iterator[str]:
    """Yield a sentence for each trend on rates that are guesses, and on rates used outside their
    periods.
    """
    for trend in projection.titles:
        title_prefix = f"{projection.titles[trend]}: " if len(projection.titles) > 1 else ""
        rates = used_rates(projection, trend)
        if rates and all(rate.measured for rate in rates):
            yield from _series_sentences(trend, title_prefix, projection)
            continue
        guess_phrases = [
            f"{as_words(rate.name)} {period_text(rate)}" for rate in rates if rate.assumed
        ]
        marks_in_words = (
            f"these rates are guesses: {', '.join(guess_phrases)}"
            if guess_phrases
            else "no rate is marked as a guess"
        )
        verdict_text = (
            "all rates used are guesses" if len(guess_phrases) == len(rates) else marks_in_words
        )
        names_by_span: dict[tuple[float, float], list[str]] = {}
        for rate in rates:
            # What ends before the base year has a sentence of its own.
            for span in (span for span in rate.years_outside if span[0] <= rate.end):
                names_by_span.setdefault(span, []).append(as_words(rate.name))
        periods_in_words = "; ".join(
            f"{', '.join(names)} for {year_text(start)} to {year_text(end)}"
            for (start, end), names in names_by_span.items()
        )
        use_in_words = (
            f"applied beyond the years they were stated for: {periods_in_words}"
            if periods_in_words
            else ""
        )
        are_all_within_data = not any(rate.years_outside for rate in rates)
        use_in_words = use_in_words or (
            "none is used beyond the years of its data" if are_all_within_data else ""
        )
        yield f"{title_prefix}{'; '.join(filter(None, (verdict_text, use_in_words)))}"


def sentences_on_ended_data(projection: Projection) -> Iterator[str]:
    """Yield a sentence for each base year on the data that end before it."""
    series_by_base_year: dict[float, dict[str, float]] = {}
    for track in projection.tracks:
        if track.last_year_by_data:
            series_by_base_year.setdefault(track.base_year, {}).update(track.last_year_by_data)
    for base_year, last_years in series_by_base_year.items():
        listed_series = {
            class_words(series_title): last_data_year
            for series_title, last_data_year in last_years.items()
        }
        yield (
            f"{ended_data_text(base_year, listed_series)}; after that, the last rates continue,"
            " and their bands grow"
        )


def _series_sentences(trend: str, title_prefix: str, projection: Projection) -> Iterator[str]:
    """Yield sentences on weak series, and on machines that do not say what kind their processors
    are.
    """
    doubt_text = doubt_remarks(projection, [trend])
    rates = used_rates(projection, trend)
    plan_phrases = {f"{rate.title} ({rate.announced})" for rate in rates if rate.announced}
    verdict_text = f"all rates are fitted to {'' if plan_phrases else 'measured '}points"
    has_other_processor_kind = any(rate.assumed for rate in rates)
    verdict_text += ", some of another kind of processors" if has_other_processor_kind else ""
    verdict_text += (
        f"; some points are announced, not measured: {'; '.join(sorted(plan_phrases))}"
        * bool(plan_phrases)
    )
    yield f"{title_prefix}{verdict_text}" + (
        f"; {doubt_text[0].lower()}{doubt_text[1:]}" if doubt_text else ""
    )
    tracks = [track for track in projection.tracks if track.trend == trend]
    cases_without_kind = [
        projection.words.case(track.case) for track in tracks if not track.kind_is_stated
    ]
    if cases_without_kind:
        yield (
            f"{join_phrases(list(dict.fromkeys(cases_without_kind)))}: the machine does not tell"
            " what a processor is, so it is assumed to be a core (processors.kind)"
        )


def period_text(rate: UsedRate) -> str:
    """Return the period of a rate, from its first to its last year, as text."""
    return f"{year_text(rate.start)} to {year_text(rate.end)}"
