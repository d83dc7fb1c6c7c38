"""Parts of draws and lengths of bands at which a word or a year changes."""

from __future__ import annotations

import pytest

from slipstick_questions.crossing_years import (
    CaseYear,
    crossing_year_text,
    range_of_years_text,
    whole_year,
)
from slipstick_trends.likelihood import likelihood_word


@pytest.mark.parametrize(
    ("share", "word", "opposite"),
    [
        (1.0, "Yes", "No"),
        (0.999, "Probably", "Probably not"),
        (0.55, "Probably", "Probably not"),
        (0.549, "Undecided", "Undecided"),
        (0.5, "Undecided", "Undecided"),
    ],
)
def test_a_share_and_what_remains_have_opposite_words(
    share: float, word: str, opposite: str
) -> None:
    assert likelihood_word(share) == word
    assert likelihood_word(round(1 - share, 3)) == opposite


@pytest.mark.parametrize(
    ("low", "high", "share", "year"),
    [
        *[(None, None, None, "2010.2"), (2010.0, 2010.09, None, "2010.2")],
        *[(2010.0, 2010.125, None, "2011"), (2010.0, None, None, "2011")],
        *[(None, None, 0.999, "2010.2"), (None, None, 0.998, "2011"), (None, None, 0.0, "2011")],
    ],
)
def test_a_year_has_decimals_unless_draws_move_it_by_a_tenth_of_a_year(
    low: float | None, high: float | None, share: float | None, year: str
) -> None:
    assert crossing_year_text(2010.2, low, high, share) == year


def test_a_whole_year_is_the_first_or_the_last_in_which_a_condition_holds() -> None:
    for year, first, last in ((2010.0, 2010, 2010), (2010.01, 2011, 2010), (2010.99, 2011, 2010)):
        assert (whole_year(year, starts=True), whole_year(year, starts=False)) == (first, last)


def test_years_of_cases_are_uncertain_from_a_share_below_all_on() -> None:
    def told(*shares: float | None) -> str:
        """Return the sentence on cases of one year with these shares of draws."""
        years = [
            CaseYear(name, 2010.0, None, None, each)
            for name, each in zip("AB", shares, strict=True)
        ]
        return range_of_years_text(years, 2036.0, starts=True)

    same = "first for A, from 2010 on, and last for B, from 2010 on"
    assert told(0.999, 1.0) == same  # of equal years the first case is named first
    uncertain = ", at the stated rates; these years are uncertain: the change comes by 2036 in"
    assert told(0.998, 1.0) == f"{same}{uncertain} 99.8 % to 100 % of the random draws of the rates"
    assert told(0.5, 0.5) == f"{same}{uncertain} 50 % of the random draws of the rates"
    assert told(None, 1.0) == f"{same}{uncertain} 0 % to 100 % of the random draws of the rates"
