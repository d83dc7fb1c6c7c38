"""The year in which a quantity passes a limit, with its band over random draws of the rates."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from slipstick.late import Array, dataclass, late_pattern, np
from slipstick.report.formatting import percent, uncapitalized
from slipstick_questions.years import year_text

DRAWS_OF_RATES, BAND_OF_RATES = 256, 0.9
"""The usual number of draws of the rates, and the share of them that lies in a band [1]."""


@dataclass(frozen=True, slots=True)
class YearBand:
    """The year in which a condition changes, over random draws of the rates.

    Parameters
    ----------
    low, high : ends of its band; None where a draw changes later than the last year, or never
    share_of_draws : share of the draws in which it changes by the last year; where it changes in
        no year at the stated rates, the share in which it is true in the last year [1]
    last_year : of the search
    samples : number of draws
    starts : whether the condition is true after the change, and not before
    """

    low: float | None
    high: float | None
    share_of_draws: float
    last_year: float
    samples: int
    starts: bool = True

    def __str__(self) -> str:
        """Return the band in brackets, or nothing if all draws have the same year."""
        return crossing_band_text(
            self.low, self.high, self.share_of_draws, self.last_year, starts=self.starts
        )


def crossing_band(
    crossing_years: Array, band_ends: tuple[float, float]
) -> tuple[float | None, float | None, float]:
    """Return the band of the year of a crossing over all draws, and the fraction of the draws that
    cross.

    A draw that does not cross within the years crosses later or never: an end of the band that lies
    there is None.

    >>> crossing_band(np.array([2030.0, 2031.0, np.nan]), (0.0, 1.0))[1] is None
    True
    """
    has_crossing = np.isfinite(crossing_years)
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(np.where(has_crossing, crossing_years, np.inf), band_ends)
    return (
        float(low) if np.isfinite(low) else None,
        float(high) if np.isfinite(high) else None,
        float(has_crossing.mean()),
    )


def drawn_crossings(
    stated_margins: Array, drawn_margins: Array, years: Array, stated_year: float
) -> Array | None:
    """Return for each draw the year in which its margin first rises through 0 [samples].

    `first_crossing_years` interpolates between the years; its results are shifted by its error for
    the stated margin, whose crossing is known more exactly.

    Parameters
    ----------
    stated_margins, drawn_margins : margins in the years [1 or samples, years]
    years : that were asked for
    stated_year : the year in which the stated margin rises through 0

    Returns
    -------
    years, at least the first; None where the stated margin does not rise between these years, so
    that draws in them do not show it either

    >>> stated, drawn = np.array([[-1.0, 1.0]]), np.array([[-1.0, 3.0]])
    >>> drawn_crossings(stated, drawn, np.array([2000.0, 2010.0]), 2004.0)
    array([2001.5])
    """
    stated_crossing = float(first_crossing_years(stated_margins, years)[0])
    year_index = int(np.clip(np.searchsorted(years, stated_crossing), 1, len(years) - 1))
    if not abs(stated_year - stated_crossing) <= years[year_index] - years[year_index - 1]:
        return None
    return np.asarray(
        np.maximum(
            first_crossing_years(drawn_margins, years) + (stated_year - stated_crossing), years[0]
        )
    )


def whole_year(year: float, *, starts: bool) -> int:
    """Return the first whole year after a condition starts to hold, or the last one before it
    stops, so that the condition holds in the year itself.

    >>> whole_year(2028.2, starts=True), whole_year(2028.7, starts=False)
    (2029, 2028)
    """
    return ceil(year - _YEAR_TOLERANCE) if starts else floor(year + _YEAR_TOLERANCE)


_YEAR_TOLERANCE = 1e-6  # years; the largest error of the search for a crossing


def crossing_year_text(
    stated_year: float,
    low: float | None,
    high: float | None,
    share_of_draws: float | None,
    *,
    starts: bool = True,
) -> str:
    """Return the year of a crossing as text: a whole year in which the condition holds if the draws
    of the rates move it, because decimals then mean nothing.

    >>> crossing_year_text(2033.2, 2028.1, None, 0.7), crossing_year_text(2006.1, None, None, None)
    ('2034', '2006.1')
    """
    return year_text(
        whole_year(stated_year, starts=starts)
        if _is_uncertain(low, high, share_of_draws)
        else stated_year
    )


def _is_uncertain(low: float | None, high: float | None, share_of_draws: float | None) -> bool:
    """Return whether draws of the rates move the year of a crossing by a tenth of a year or more,
    or some of them do not cross.
    """
    is_moved = low is not None and (high is None or high - low >= _SHORTEST_BAND)
    return is_moved or (share_of_draws is not None and share_of_draws < _ALL_DRAWS)


_SHORTEST_BAND = 0.1  # years; a shorter band has the same end twice
_ALL_DRAWS = 0.999  # a larger part of the draws is all of them
_MOST_DRAWS = 0.5
"""The share of draws below which a year of the stated rates is not told as that of most draws."""


def crossing_band_text(
    low: float | None,
    high: float | None,
    share_of_draws: float | None,
    last_year: float,
    *,
    starts: bool = True,
) -> str:
    """Return in brackets the band of whole years from which, or until which, the condition holds in
    the draws, and the fraction of the draws that cross by the last year; empty if all draws cross
    in the same year.

    >>> crossing_band_text(2028.1, None, 0.715, 2046.0)
    ' (uncertain: 2029 or later; by 2046 in 71.5 % of the random draws)'
    >>> crossing_band_text(2028.1, None, 0.4, 2046.0)
    ' (at the stated rates, not in most random draws: 2029 or later; by 2046 in 40 % of the random \
draws)'
    """
    if not _is_uncertain(low, high, share_of_draws):
        return ""
    first_year, last_crossing_year = (
        None if band_year is None else year_text(whole_year(band_year, starts=starts))
        for band_year in (low, high)
    )
    band_text = (
        ""
        if first_year is None
        else f"{first_year} or later"
        if last_crossing_year is None
        else f"{first_year} to {last_crossing_year}"
    )
    band_text = (
        f"in {first_year}"
        if first_year is not None and first_year == last_crossing_year
        else band_text
    )
    share_text = ""
    if share_of_draws is not None and share_of_draws < _ALL_DRAWS:
        share_text = (
            f"{'' if starts else 'it ends '}by {year_text(last_year)} in"
            f" {percent(share_of_draws) if share_of_draws else 'none'} of"
            " the random draws"
        )
    bracket_text = "; ".join(clause for clause in (band_text, share_text) if clause)
    if bracket_text.startswith("in "):
        return f" ({bracket_text})"
    certainty = "uncertain"
    if share_of_draws is not None and share_of_draws < _MOST_DRAWS:
        certainty = "at the stated rates, not in most random draws"
    if share_of_draws == 0:
        certainty = "at the stated rates only"
    return f" ({certainty}: {bracket_text})"


_BAND_OF_DRAWS = late_pattern(
    r"\((?:uncertain|at the stated rates[^:]*): (.*?)(?:it ends )?by \d+ in (.*?)"
    r" of the random draws\)"
)


def with_brief_band(text: str) -> str:
    """Return a text without the words that say what a band is.

    >>> with_brief_band(
    ...     "from 2019 on (uncertain: 2007 or later; by 2036 in 78 % of the random draws)"
    ... )
    'from 2019 on (2007 or later; 78 %)'
    """
    return _BAND_OF_DRAWS.sub(r"(\1\2)", text)


class CaseYear(NamedTuple):
    """The year in which a condition changes in one case, with its band and the share of the draws
    that cross.
    """

    case: str
    year: float
    low: float | None
    high: float | None
    share_of_draws: float | None


MOST_YEARS_IN_SENTENCE = 3
"""The most cases of which a sentence has each year with its band; of more it has the range."""


def range_of_years_text(years: Sequence[CaseYear], last_year: float, *, starts: bool) -> str:
    """Return the first and the last of the years from which, or until which, a condition is true in
    several cases, and how uncertain these years are.

    >>> years = [CaseYear("A", 2020.3, 2010, None, 0.7), CaseYear("B", 2014.0, 2007, None, 0.9)]
    >>> range_of_years_text(years, 2036.0, starts=True).partition(";")[0]
    'first for B, from 2014 on, and last for A, from 2021 on, at the stated rates'
    """
    by_year = sorted(years, key=lambda case_year: case_year.year)
    preposition, ending = ("from", " on") if starts else ("until", "")
    first_text, last_text = (
        f"{order} for {case_year.case}, {preposition}"
        f" {crossing_year_text(*case_year[1:], starts=starts)}{ending}"
        for case_year, order in ((by_year[0], "first"), (by_year[-1], "last"))
    )
    range_text = f"{first_text}, and {last_text}"
    shares = [case_year.share_of_draws or 0.0 for case_year in years]
    if min(shares) >= _ALL_DRAWS:
        return range_text
    range_text = f"{range_text}, at the stated rates"
    share_texts = dict.fromkeys(percent(share) for share in (min(shares), max(shares)))
    return (
        f"{range_text}; these years are uncertain: the change comes by {year_text(last_year)} in"
        f" {' to '.join(share_texts)} of the random draws of the rates"
    )


def year_cell(case_year: CaseYear, *, starts: bool) -> str:
    """Return the year of a case with its band, for a narrow column.

    >>> year_cell(CaseYear("A", 2020.3, 2010.0, None, 0.7), starts=True)
    '2021 (2010 or later)'
    """
    year = crossing_year_text(*case_year[1:], starts=starts)
    band = crossing_band_text(*case_year[2:4], None, 0.0, starts=starts)
    return f"{year}{band.replace('uncertain: ', '')}"


def heading_of_years(condition: str, *, starts: bool) -> str:
    """Return the heading of a column of years in which a condition changes."""
    return f"{'first' if starts else 'last'} year in which {uncapitalized(condition)}"


def first_crossing_years(margins: Array, years: Array) -> Array:
    """Return for each draw the year in which its margin first rises through 0, on straight lines
    between the years [samples]: the first year if it is above 0 there, NaN if it never rises.
    """
    rises = (margins[:, :-1] <= 0) & (margins[:, 1:] > 0)
    crossing_indices = np.argmax(rises, axis=1)
    row_indices = np.arange(len(margins))
    margins_before = margins[row_indices, crossing_indices]
    margins_after = margins[row_indices, crossing_indices + 1]
    with np.errstate(all="ignore"):
        crossing_years = years[crossing_indices] + (
            years[crossing_indices + 1] - years[crossing_indices]
        ) * margins_before / (margins_before - margins_after)
    return np.where(
        margins[:, 0] > 0, years[0], np.where(rises.any(axis=1), crossing_years, np.nan)
    )
