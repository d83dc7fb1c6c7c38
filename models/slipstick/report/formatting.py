"""The form of numbers, names and tables, in Markdown and in the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import floor, inf, isfinite, isnan, log10
from typing import TYPE_CHECKING, NamedTuple

from slipstick.errors import SlightlyBeyond
from slipstick.expression.nodes import RATE, Dimension
from slipstick.late import late_pattern
from slipstick.results.words import (
    CODES,
    SHARES,
    TIME_SPANS,
    Words,
    as_words,
    is_plural,
    noun_and_rest,
    singular,
)
from slipstick.units import choose_unit, show

if TYPE_CHECKING:
    from slipstick.results.question import QuestionResult, ResultColumn, ResultTable

WIDTH = 100
"""Columns that text has to fit where no terminal says."""

_NARROWEST_TERMINAL = 40

PAGE_WIDTH = 120
"""Letters of a row of a table on a page."""

NOTHING = "-"
"""The text of a cell without a value."""

_LONGEST_LABEL = 44
_LONGEST_CELL = 24  # longer texts become notes where a table is too wide for the page
_LONGEST_WORD = 24  # what is longer is broken where a table is too wide for the terminal

# What Markdown, and the mathematics that some viewers add to it, would take as a sign.
_MARKS = late_pattern(r"[\\`*|~$]|\](?=[(\[])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_MARKS_INSIDE = late_pattern(rf"[\[\]]|{_MARKS.pattern}")
_ASCII_SIGNS = str.maketrans(
    {"µ": "u", "μ": "u", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "≤": "<=", "≥": ">="}
)


INTERVALS = (
    "Two numbers in brackets behind a simulated value are the ends of its confidence interval, 95 %"
    " unless the study sets another level."
)
"""The explanation of the intervals that `quantity` writes."""

UNKNOWN = "no interval"
"""The words after an estimate whose interval is unknown."""

NOTHING_SAID: Mapping[str, str] = {}
"""The common words of a page that does not state once how all its results were computed: none."""

Ends = tuple[float | None, float | None]
"""Both ends of an interval; None where there is none."""

NO_ENDS: Ends = (None, None)


def quantity(value: float | None, unit: str, digits: int = 4, ends: Ends = NO_ENDS) -> str:
    """Write a number with the prefix of its unit that keeps it short, and its interval in brackets;
    a missing value is a dash.

    Parameters
    ----------
    value : in base units; None where only bounds are known
    unit : the base unit
    digits : significant digits [1]
    ends : of the interval, or bounds; an interval without width is left out, an infinite one is
        unknown

    >>> (
    ...     quantity(0.001705, "s"),
    ...     quantity(3.0, "1"),
    ...     quantity(None, "s"),
    ...     quantity(None, "s", ends=(1.0, 2.0)),
    ... )
    ('1.705 ms', '3', '-', '1 to 2 s')
    >>> quantity(0.2947, "s", ends=(0.2934, 0.3024)), quantity(None, "1/s", ends=(None, 5.0))
    ('294.7 (293.4 to 302.4) ms', 'at most 5 /s')
    >>> quantity(0.018504, "s", ends=(0.007338, 0.05061))
    '19 (7.3 to 51) ms'
    """
    low, high = map(finite_or_none, ends)
    dimension = Dimension.of(unit)
    if value is not None and (low is None or high is None or low == high):
        # An estimate whose interval is unknown must not look exact.
        return f"{show(value, dimension, digits)}{f' ({UNKNOWN})' if inf in ends else ''}"
    known_numbers = [number for number in (value, low, high) if number is not None]
    if not known_numbers:
        return NOTHING
    if low is None or high is None:
        return (
            f"{'at least' if high is None else 'at most'}"
            f" {show(known_numbers[0], dimension, digits)}"
        )
    # The value and both ends share one prefix, so that they can be compared at a glance.
    unit_name, unit_size = choose_unit([high if value is None else value], dimension)
    digits_known = _digits_known(value, (low, high))
    numbers = (_rounded(number, unit_size, digits_known) for number in (value, low, high))
    text = bracketed(*(_number_text(number, 1.0, digits) for number in numbers))
    return f"{text} {unit_name.removeprefix('1')}".rstrip()


def value_amount(name: str, value: float | None, unit: str, ends: Ends = NO_ENDS) -> str:
    """Write a value of an answer for a reader; efficiencies and utilizations in percent.

    >>> value_amount("efficiency", 0.8, "1"), value_amount("time", 0.002, "s")
    ('80 %', '2 ms')
    >>> value_amount("throughput", 126391.0, "1/s"), value_amount("throughput", 4 / 270, "1/s")
    ('126400 /s', '53.33 /h')
    """
    # A loss or a utilization is a share of one; a speed-up of 0.5 is none.
    if name.partition("[")[0] in SHARES and unit == "1":
        return percent(value, ends=ends)
    if unit == "1/s":  # a computed rate has no prefix that would shorten it
        # It is rounded in the unit in which it is written, such as by the minute.
        unit_size = choose_unit([value or ends[1] or ends[0] or 0.0], RATE)[1]
        value, low, high = (
            number if number is None else float(f"{number / unit_size:.4g}") * unit_size
            for number in (value, *ends)
        )
        ends = low, high
    return quantity(value, unit, ends=ends)


_PERCENT_WORDS = ("share", "part", "utilization", "efficiency")
"""First words of what is written in percent."""


OF_THE_PRESENT = " of the present"


def setting_amount(path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS) -> str:
    """Write the amount of a setting without its name, shares in percent.

    >>> setting_amount("technology.protocol", 0.1572, "1", Words())
    '15.7 % of the present'
    >>> setting_amount("parameters.cells", 8e8, "1", Words())
    '800,000,000'
    """
    if words.is_factor_on_time(path):
        return f"{percent(value, ends=ends)}{OF_THE_PRESENT}"
    if unit == "1" and 0 < value < 1 and words.quantity(path).startswith(_PERCENT_WORDS):
        return percent(value, ends=ends)
    is_whole = value == int(value)
    if unit == "1" and value >= _LARGE_COUNT and ends == NO_ENDS:
        return f"{value if is_whole else float(f'{value:.4g}'):,.0f}"
    return quantity(value, unit, 6 if is_whole else 4, ends)


_LARGE_COUNT = 1e6
"""The smallest number that is written with commas."""

_ARRIVALS = late_pattern(r"classes\.([^.]+)\.arrivals")


def _rate_of_class(path: str, amount: str) -> str:
    """Write a rate of arrivals as customers in a span of time; empty for other quantities.

    >>> _rate_of_class("classes.requests.arrivals", "170 /s"), _rate_of_class("x", "170 /s")
    ('170 requests a second', '')
    >>> _rate_of_class("classes.calls.arrivals", "1 /min")
    '1 call a minute'
    """
    number_text, _, rate_unit = amount.rpartition(" ")
    class_match = _ARRIVALS.fullmatch(path)
    if not class_match or rate_unit not in TIME_SPANS:
        return ""
    noun = as_words(class_match[1])
    noun = (number_text == "1" and singular(noun)) or noun
    return f"{number_text} {noun} {TIME_SPANS[rate_unit]}"


def setting_phrase(path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS) -> str:
    """Write a phrase for a setting, with its meaning and its amount.

    >>> words = Words(
    ...     {}, {"parameters.edge": "cells along an edge", "parameters.far": "latency of a read"}
    ... )
    >>> (
    ...     setting_phrase("parameters.edge", 386, "1", words),
    ...     setting_phrase("parameters.far", 2e-7, "s", words),
    ... )
    ('386 cells along an edge', 'a latency of a read of 200 ns')
    >>> (
    ...     setting_phrase("stations.app.servers", 5, "1", words),
    ...     setting_phrase("stations.app.servers", 1, "1", words),
    ... )
    ('5 app servers', '1 app server')
    >>> copies = Words(meanings={"parameters.data": "copies of the pipeline"})
    >>> setting_phrase("parameters.data", 1, "1", copies)
    '1 copy of the pipeline'
    >>> setting_phrase("classes.users.population", 44, "1", words)
    '44 users'
    >>> grid = Words(meanings={"parameters.points": "grid points of the whole model"})
    >>> setting_phrase("parameters.points", 8e8, "1", grid)
    '800,000,000 grid points of the whole model'
    >>> coded = Words(meanings={"parameters.again": "1: a layer is computed again; 0: it is kept"})
    >>> setting_phrase("parameters.again", 1, "1", coded), coded.quantity("parameters.again")
    ('a mode in which a layer is computed again', 'again')
    """
    if mode_text := dict(CODES.findall(words.meanings.get(path, ""))).get(f"{value:g}"):
        return f"a mode in which {mode_text.strip()}"
    amount = setting_amount(path, value, unit, words, ends)
    meaning = words.quantity(path)
    if rate_text := _rate_of_class(path, amount):
        return rate_text
    noun, other_words = noun_and_rest(meaning)
    is_whole = unit == "1" and (value == int(value) or value >= _LARGE_COUNT)
    if (
        is_whole
        and noun == "number"
        and is_plural(counted_noun := meaning.removeprefix("number of "))
    ):
        is_single = value == 1 and " " not in counted_noun
        return f"{amount} {singular(counted_noun) if is_single else counted_noun}"
    if is_whole and is_plural(noun):
        return f"{amount} {singular(noun) if value == 1 else noun}{other_words}"
    return f"{meaning if is_plural(noun) else with_article(meaning)} of {amount}"


def with_article(noun: str) -> str:
    """Write a noun with its indefinite article.

    >>> with_article("order"), with_article("customer"), with_article("user")
    ('an order', 'a customer', 'a user')
    """
    # Without u, since most words with it begin with the sound of "you".
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def limit_phrase(
    path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS, *, is_lower: bool
) -> str:
    """Write a phrase for a setting that is a lower or an upper limit, with its meaning and amount.

    >>> words = Words(
    ...     {}, {"parameters.edge": "cells along an edge", "parameters.far": "latency of a read"}
    ... )
    >>> limit_phrase("parameters.edge", 386, "1", words, is_lower=True)
    'with 386 or more cells along an edge'
    >>> limit_phrase("parameters.far", 2e-7, "s", words, is_lower=False)
    'if the latency of a read is at most 200 ns'
    """
    meaning, limit_text = _meaning_and_limit(path, value, unit, words, ends, is_lower)
    if not meaning:
        return f"with {limit_text}"
    is_or_are = "are" if _is_plural_meaning(meaning) else "is"
    return f"if {_with_definite_article(meaning)} {is_or_are} {limit_text}"


def limit_advice(
    path: str, value: float, unit: str, words: Words, ends: Ends, verb: str, *, is_lower: bool
) -> str:
    """Write a clause that advises to keep a setting at a lower or an upper limit.

    >>> words = Words(
    ...     {}, {"parameters.edge": "cells along an edge", "parameters.far": "latency of a read"}
    ... )
    >>> limit_advice("parameters.edge", 386, "1", words, NO_ENDS, "should", is_lower=True)
    'there should be 386 or more cells along an edge'
    >>> limit_advice("parameters.far", 2e-7, "s", words, NO_ENDS, "may", is_lower=False)
    'the latency of a read may be at most 200 ns'
    """
    meaning, limit_text = _meaning_and_limit(path, value, unit, words, ends, is_lower)
    subject = _with_definite_article(meaning) if meaning else "there"
    return f"{subject} {verb} be {limit_text}"


def _meaning_and_limit(
    path: str, value: float, unit: str, words: Words, ends: Ends, is_lower: bool
) -> tuple[str, str]:
    """Return the meaning of a setting and its limit as text; of things that are counted, an empty
    meaning, and the limit with their name.
    """
    setting_text = setting_phrase(path, value, unit, words, ends)
    amount = setting_amount(path, value, unit, words, ends)
    if rate_text := _rate_of_class(path, amount):
        return "", f"at {'least' if is_lower else 'most'} {rate_text}"
    limit_text = limit_amount(path, value, unit, words, ends, is_lower=is_lower)
    # The amount of a quantity stands at the end, that of things that are counted before them.
    if setting_text.endswith(f" of {amount}"):
        return words.quantity(path), limit_text
    text_before, _, text_after = setting_text.partition(amount)
    return "", f"{text_before}{limit_text}{text_after}"


def _is_plural_meaning(meaning: str) -> bool:
    return is_plural(noun_and_rest(meaning)[0])


def _with_definite_article(meaning: str) -> str:
    """Return a meaning with its article, unless it is plural."""
    return meaning if _is_plural_meaning(meaning) else f"the {meaning}"


def limit_amount(
    path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS, *, is_lower: bool
) -> str:
    """Write the amount of a setting that is a lower or an upper limit, without its name.

    >>> words = Words({}, {"parameters.edge": "cells along an edge"})
    >>> limit_amount("parameters.edge", 386, "1", words, is_lower=False)
    'up to 386'
    """
    amount = setting_amount(path, value, unit, words, ends)
    is_counted = unit == "1" and not setting_phrase(path, value, unit, words, ends).endswith(
        f" of {amount}"
    )
    if not is_counted or (is_lower and value == 1):
        return f"at {'least' if is_lower else 'most'} {amount}"
    return f"{amount} or more" if is_lower else f"up to {amount}"


def join_phrases(phrases: Sequence[str], conjunction: str = "and") -> str:
    """Join phrases with commas, and the last two with a conjunction.

    >>> join_phrases(["a", "b", "c"]), join_phrases(["a"])
    ('a, b and c', 'a')
    """
    if len(phrases) < 2:
        return "".join(phrases)
    return f"{', '.join(phrases[:-1])} {conjunction} {phrases[-1]}"


def uncapitalized(sentence: str) -> str:
    """Return a sentence with a small first letter, unless it begins with an abbreviation.

    >>> uncapitalized("The best is 3"), uncapitalized("NDR is the best")
    ('the best is 3', 'NDR is the best')
    """
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def capitalized(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def finite_or_none(value: float | None) -> float | None:
    """Return a finite number; None for NaN and infinities.

    >>> finite_or_none(float("nan")), finite_or_none(2.0)
    (None, 2.0)
    """
    return value if value is not None and isfinite(value) else None


def percent(
    share: float | None, digits: int = 3, with_sign: bool = False, ends: Ends = NO_ENDS
) -> str:
    """Write a fraction in percent, with its interval if it has one with a width.

    >>> (
    ...     percent(0.51234),
    ...     percent(0.02, with_sign=True),
    ...     percent(1.0),
    ...     percent(12.3456, 2),
    ...     percent(0.5, ends=(0.45, 0.55)),
    ... )
    ('51.2 %', '+2 %', '100 %', '1235 %', '50 (45 to 55) %')
    """
    if share is None or isnan(share):
        return NOTHING
    if None not in ends and ends[0] != ends[1]:
        digits = min(digits, _digits_known(share, ends))
        number_texts = (percent(number, digits, with_sign) for number in (share, *ends))
        return f"{bracketed(*(number_text.removesuffix(' %') for number_text in number_texts))} %"
    # A number with more digits than are wanted would be written with a power of ten.
    precision = f".{digits}g" if abs(100 * share) < 10**digits - 0.5 else ".0f"
    return f"{100 * share:{'+' if with_sign else ''}{precision}} %"


def as_percent(value: float | None, unit: str, ends: Ends) -> str:
    """Write a value as a cell of a column in percent; see
    `slipstick.results.question.ResultColumn`.
    """
    return percent(value, ends=ends)


def as_number(value: float | None, unit: str, ends: Ends) -> str:
    """Write a value as a cell of a column of counts."""
    return NOTHING if value is None else f"{value:g}"


def three_digits(value: float | None) -> str:
    """Write a ratio or a count, such as an elasticity or lost processors, to three digits."""
    return NOTHING if value is None else plain_decimal(value, 3)


def plain_decimal(value: float, digits: int = 4) -> str:
    """Write a number to some significant digits without a power of ten.

    >>> plain_decimal(20651234.5), plain_decimal(8e6), plain_decimal(12.5)
    ('20650000', '8000000', '12.5')
    """
    # Doubles hold 15 decimal digits: beyond them the zeros would be made up.
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e15 else text


def with_noun(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun in the singular or the plural.

    >>> with_noun(1, "cell"), with_noun(3, "cell"), with_noun(2, "miss", "misses")
    ('1 cell', '3 cells', '2 misses')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def do_overlap(first_ends: Ends, second_ends: Ends) -> bool:
    """Return whether two intervals overlap, so that the order of their values is undecided.

    >>> (
    ...     do_overlap((1.0, 2.0), (1.5, 3.0)),
    ...     do_overlap((1.0, 2.0), (2.5, 3.0)),
    ...     do_overlap((1.0, 2.0), NO_ENDS),
    ... )
    (True, False, False)
    """
    first_low, first_high, second_low, second_high = *first_ends, *second_ends
    # Exact values have no interval, and their order is decided.
    if first_low is None or first_high is None or second_low is None or second_high is None:
        return False
    return first_low <= second_high and second_low <= first_high


def bracketed(value: str, low: str, high: str) -> str:
    """Write a value followed by its interval in brackets; the value alone where both ends equal it.

    Infinite ends are those of an estimate whose interval is unknown.

    >>> (
    ...     bracketed("20", "19", "21"),
    ...     bracketed("20", "-", "-"),
    ...     bracketed("20", "20", "20"),
    ...     bracketed("-", "19", "21"),
    ... )
    ('20 (19 to 21)', '20', '20', '19 to 21')
    """
    if "inf" in (low, high):
        return f"{value} ({UNKNOWN})"
    if NOTHING in (low, high) or low == high == value:
        return value
    # Bounds have two ends and no value between them.
    return f"{low} to {high}" if value == NOTHING else f"{value} ({low} to {high})"


def _digits_known(value: float | None, ends: Ends) -> int:
    """Return how many digits of a value its interval lets one know: the last is at least a
    hundredth of its width. Bounds without a value, and infinite ends, are not rounded.

    >>> [_digits_known(100.0, ends) for ends in ((95.0, 104.0), (80.0, 120.0), (20.0, 300.0))]
    [4, 3, 2]
    """
    low, high = (inf if end is None else end for end in ends)
    width = abs(high - low) / abs(value) if value else inf
    return max(2, 2 - floor(log10(width))) if 0 < width < inf else MOST_DIGITS


MOST_DIGITS = 15
"""Decimal digits that a double holds."""


def _rounded(value: float | None, unit_size: float, digits: int) -> float | None:
    """Return a value in a unit, rounded to some significant digits."""
    return None if value is None else float(f"{value / unit_size:.{digits}g}")


def _number_text(value: float | None, unit_size: float, digits: int) -> str:
    if value is None or isnan(value):
        return NOTHING
    # Nine digits still read well; larger numbers keep their power of ten.
    text = f"{value / unit_size:.{digits}g}"
    return f"{value / unit_size:.0f}" if "e+" in text and abs(value / unit_size) < 1e9 else text


def axis_value(value: float | str, unit: str) -> str:
    """Write a value of an axis: a name unchanged, a number as a quantity."""
    return value if isinstance(value, str) else quantity(float(value), unit)


def short_path(path: str, longest_length: int = _LONGEST_LABEL) -> str:
    """Shorten a path that is too long for a label by leaving out its first keys.

    >>> short_path("machine.network.adapter")
    'machine.network.adapter'
    >>> short_path("machine.network.protocol.ranges.small.total.per_byte")
    'network.protocol.ranges.small.total.per_byte'
    """
    while len(path) > longest_length and "." in path:
        path = path.partition(".")[2]
    return path if len(path) <= longest_length else path[: longest_length - 3] + "..."


def escape(text: str, in_brackets: bool = False) -> str:
    r"""Write a name or a note on one line, with Markdown's signs escaped, so that Markdown shows
    the text unchanged.

    Parameters
    ----------
    text : the name or the note
    in_brackets : it stands inside brackets, so that a bracket of its own would end them

    >>> escape("a|b <i> `x` step_1"), escape("a [b", in_brackets=True)
    ('a\\|b &lt;i> \\`x\\` step_1', 'a \\[b')
    """
    # Inside of a link's text brackets would end it.
    mark_pattern = _MARKS_INSIDE if in_brackets else _MARKS
    return mark_pattern.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def prose(text: str) -> str:
    """Return an author's paragraphs as Markdown in which HTML has no effect."""
    return text.strip().replace("<", "&lt;")


def code(text: str) -> str:
    """Write a path or a command as code, also inside a table.

    >>> code("machine.network.adapter")
    '`machine.network.adapter`'
    """
    escaped_text = " ".join(text.split()).replace("|", r"\|")
    # Markdown ends code at a run of as many backticks as opened it.
    longest_backticks = max(
        (len(backticks) for backticks in re.findall("`+", escaped_text)), default=0
    )
    fence = "`" * (longest_backticks + 1)
    return f"{fence} {escaped_text} {fence}" if longest_backticks else f"`{escaped_text}`"


def markdown_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], number_columns: Iterable[int] = ()
) -> str:
    """Write a table in Markdown that fits a page; its texts are escaped already.

    A column without content is left out, and a column with the same text in every row is written
    above the table. If the table is still wider than `PAGE_WIDTH`, its long texts become notes
    below it; a table of few rows is transposed; another is divided into parts, each with the first
    column.

    Parameters
    ----------
    titles : of the columns
    rows : texts
    number_columns : indices of the columns of numbers [1]

    >>> print(
    ...     markdown_table(
    ...         ["case", "time", "method"], [["a", "1 s", "exact"], ["b", "2 s", "exact"]], [1]
    ...     )
    ... )
    All rows have the same method (exact).
    <BLANKLINE>
    | case | time |
    | ---- | ---: |
    | a    |  1 s |
    | b    |  2 s |
    """
    text_rows = [list(row) for row in rows]
    number_column_set = set(number_columns)
    common_sentence, shown_columns = common_and_differing_columns(titles, text_rows)
    number_positions = [
        index
        for index, column_index in enumerate(shown_columns)
        if column_index in number_column_set
    ]
    tables = _fitting_tables(
        [titles[column_index] for column_index in shown_columns],
        [[row[column_index] for column_index in shown_columns] for row in text_rows],
        number_positions,
    )
    return "\n\n".join([common_sentence, *tables] if common_sentence else tables)


COMMON_BEGINNING = "All rows have the same "
"""First words of the sentence on columns that are equal in all rows."""


def common_and_differing_columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[str, list[int]]:
    """Return a sentence on the columns whose cells are equal in all rows, and the indices of the
    other columns.

    Parameters
    ----------
    titles, rows : of a table
    """
    cells_by_column = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
    filled_columns = [
        column_index
        for column_index, cells in enumerate(cells_by_column)
        if not rows or any(cell not in ("", NOTHING) for cell in cells)
    ]
    equal_columns = [
        column_index
        for column_index in filled_columns
        if len(rows) > 1 and len(set(cells_by_column[column_index])) == 1
    ]
    differing_columns = [
        column_index for column_index in filled_columns if column_index not in equal_columns
    ]
    # A table of one column would be harder to read than the repetition.
    if len(differing_columns) < 2:
        return "", filled_columns or list(range(len(titles)))
    common_cells = [
        f"{titles[column_index]} ({cells_by_column[column_index][0]})"
        for column_index in equal_columns
    ]
    sentence = f"{COMMON_BEGINNING}{join_phrases(common_cells, 'and')}." if common_cells else ""
    return sentence, differing_columns


def _fitting_tables(
    titles: list[str], rows: list[list[str]], number_columns: Sequence[int]
) -> list[str]:
    """Write a table in Markdown that fits the page: with long texts as notes below it, transposed,
    or split by columns.
    """
    table = _markdown_grid(titles, rows, number_columns)
    if _table_width(table) <= PAGE_WIDTH:
        return [table]
    width_by_column = {
        column_index: max(len(row[column_index]) for row in rows)
        for column_index in range(1, len(titles))
        if column_index not in set(number_columns)
    }
    widest_column = max(
        width_by_column, key=lambda column_index: width_by_column[column_index], default=0
    )
    # The longest texts become notes first: this keeps the numbers side by side.
    if width_by_column.get(widest_column, 0) > _LONGEST_CELL:
        notes = Notes()
        marked_rows = [
            [
                str(notes.number(cell))
                if column_index == widest_column and cell not in ("", NOTHING)
                else cell
                for column_index, cell in enumerate(row)
            ]
            for row in rows
        ]
        note_list = "\n".join(
            f"- {titles[widest_column]} {number}: {text}"
            for number, text in notes.text_by_number.items()
        )
        return [*_fitting_tables(titles, marked_rows, number_columns), note_list]
    transposed_rows = [
        [column_title, *cells] for column_title, *cells in zip(titles, *rows, strict=True)
    ]
    # Rows and columns change places only if that makes the table narrower.
    if (
        len(rows) < len(titles)
        and _table_width(
            transposed_table := _markdown_grid(
                transposed_rows[0], transposed_rows[1:], range(1, len(rows) + 1)
            )
        )
        <= PAGE_WIDTH
    ):
        return [transposed_table]
    column_groups = column_groups_of(_column_widths(titles, rows), PAGE_WIDTH - 4, 3)
    if len(column_groups) == 1:
        return [table]
    tables = []
    for column_group in column_groups:
        group_titles = [titles[column_index] for column_index in column_group]
        group_rows = [[row[column_index] for column_index in column_group] for row in rows]
        tables.append(
            _markdown_grid(
                group_titles, group_rows, _positions_in_group(number_columns, column_group)
            )
        )
    return tables


def losses_sentence(left_out: Mapping[str, str]) -> str:
    """Write the losses of an import, each with its effect on answers.

    >>> losses_sentence({"shares": "tasks share p3 equally (line 12)"})
    'left out by the import: shares (tasks share p3 equally (line 12))'
    """
    losses_text = "; ".join(f"{name} ({change})" for name, change in left_out.items())
    return f"left out by the import: {losses_text}"


def column_groups_of(widths: Sequence[int], table_width: int, gap_width: int) -> list[list[int]]:
    """Distribute columns among several tables of limited width, each of which begins with the first
    column.

    Parameters
    ----------
    widths : of each column
    table_width, gap_width : of a whole table, and between two of its columns

    >>> column_groups_of([10, 20, 20, 20], 55, 2)
    [[0, 1, 2], [0, 3]]
    """
    column_groups: list[list[int]] = [[0]]
    for column_index in range(1, len(widths)):
        if (
            len(column_groups[-1]) > 1
            and sum(
                widths[grouped_column_index] + gap_width
                for grouped_column_index in (*column_groups[-1], column_index)
            )
            - gap_width
            > table_width
        ):
            column_groups.append([0])
        column_groups[-1].append(column_index)
    return column_groups


def _positions_in_group(column_indexes: Iterable[int], column_group: Sequence[int]) -> list[int]:
    """Return the positions, within a group of columns, of those columns that it contains."""
    return [
        column_group.index(column_index)
        for column_index in column_indexes
        if column_index in column_group
    ]


def _column_widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(3, *map(len, cells)) for cells in zip(titles, *rows, strict=True)]


def _table_width(table: str) -> int:
    return max(map(len, table.splitlines()))


def _markdown_grid(
    titles: Sequence[str], rows: Sequence[Sequence[str]], number_columns: Iterable[int]
) -> str:
    number_column_set = set(number_columns)
    column_widths = _column_widths(titles, rows)
    rule_cells = [
        "-" * (column_width - 1) + (":" if column_index in number_column_set else "-")
        for column_index, column_width in enumerate(column_widths)
    ]
    lines = [
        *_aligned_rows([titles], column_widths, number_column_set),
        rule_cells,
        *_aligned_rows(rows, column_widths, number_column_set),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _aligned_rows(
    rows: Iterable[Sequence[str]], column_widths: Sequence[int], number_columns: Container[int]
) -> Iterator[list[str]]:
    for row in rows:
        cells_and_widths = enumerate(zip(row, column_widths, strict=True))
        yield [
            cell.rjust(column_width) if column_index in number_columns else cell.ljust(column_width)
            for column_index, (cell, column_width) in cells_and_widths
        ]


def plain_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    number_columns: Iterable[int] = (),
    width: int | None = None,
) -> str:
    """Write a table for the terminal, with text columns wrapped to its width; a table that is still
    too wide is split.

    Parameters
    ----------
    titles : of the columns; a column is at least two signs wider than its title
    rows : texts
    number_columns : indices of the columns of numbers [1]
    width : columns of the terminal [1]; by default `terminal_width`
    """
    number_columns = set(number_columns)
    column_widths = _unfolded_widths(titles, rows)
    free_width = (width or terminal_width()) - 2 * (len(titles) - 1)
    # A title is not broken, nor is a word of some length: a table that is parted reads better.
    least_widths = [
        column_width
        if column_index in number_columns
        else _least_width(titles[column_index], [row[column_index] for row in rows])
        for column_index, column_width in enumerate(column_widths)
    ]
    if (
        sum(least_widths) > free_width
        and len(
            column_groups := column_groups_of(column_widths, free_width + 2 * (len(titles) - 1), 2)
        )
        > 1
    ):
        tables = []
        for column_group in column_groups:
            group_titles = [titles[column_index] for column_index in column_group]
            column_cells = [[row[column_index] for column_index in column_group] for row in rows]
            tables.append(
                plain_table(
                    group_titles,
                    column_cells,
                    _positions_in_group(number_columns, column_group),
                    width,
                )
            )
        return "\n\n".join(tables)
    lines = _folded_lines(rows, _shrunk_widths(column_widths, least_widths, free_width))
    # Wrapped lines may be shorter than the room they were given.
    column_widths = _unfolded_widths(titles, lines)
    rule_line = "  ".join("-" * column_width for column_width in column_widths)
    title_line, *row_lines = (
        "  ".join(column_cells).rstrip()
        for column_cells in _aligned_rows([titles, *lines], column_widths, number_columns)
    )
    return "\n".join([title_line, rule_line, *row_lines])


def _unfolded_widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of the columns when no cell is wrapped [letters]."""
    return [
        max([len(title) + 2, *map(len, column_cells)])
        for title, *column_cells in zip(titles, *rows, strict=True)
    ]


def _shrunk_widths(
    column_widths: Sequence[int], least_widths: Sequence[int], free_width: int
) -> list[int]:
    """Return widths of columns that fit into a free width, as far as their least widths allow."""
    widths = list(column_widths)
    while sum(widths) > free_width and (
        shrinkable_columns := [
            column_index
            for column_index, width in enumerate(widths)
            if width > least_widths[column_index]
        ]
    ):
        # The widest column gives way first; each is wrapped no further than its longest word.
        widest_column = max(shrinkable_columns, key=lambda column_index: widths[column_index])
        widths[widest_column] = max(
            least_widths[widest_column], widths[widest_column] - (sum(widths) - free_width)
        )
    return widths


def _folded_lines(rows: Sequence[Sequence[str]], column_widths: Sequence[int]) -> list[list[str]]:
    """Return the lines of rows whose cells are wrapped to the widths of their columns."""
    folded_rows = [
        [
            _folded_cell(cell, column_width).split("\n")
            for cell, column_width in zip(row, column_widths, strict=True)
        ]
        for row in rows
    ]
    return [
        [*map(str.strip, line)] for row in folded_rows for line in zip_longest(*row, fillvalue="")
    ]


def _least_width(title: str, cells: Sequence[str]) -> int:
    word_lengths = [len(word) for cell in cells for word in re.split(r"(?<=\.)| ", cell)]
    return max(len(title) + 2, min(_LONGEST_WORD, max(word_lengths, default=0)))


def _folded_cell(cell: str, width: int) -> str:
    """Break a text that is too wide: between words, or after the dots of a path."""
    path_keys = [f"{path_key}." for path_key in cell.split(".")] if " " not in cell else []
    if not path_keys:
        return (
            "\n".join(textwrap.wrap(cell, width, break_on_hyphens=False))
            if len(cell) > width
            else cell
        )
    broken_lines = []
    folded_line = ""
    for word in [*path_keys[:-1], path_keys[-1][:-1]]:
        if folded_line and len(folded_line) + len(word) > width:
            broken_lines.append(folded_line)
            folded_line = ""
        folded_line += word
    folded_lines = [
        long_line[start : start + width]
        for long_line in [*broken_lines, folded_line]
        for start in range(0, len(long_line), width)
    ]
    return "\n".join(folded_lines)


def ascii_only(text: str) -> str:
    """Write a text with the signs that every terminal has.

    >>> ascii_only("5 µs, naïve, 3·d")
    '5 us, naive, 3*d'
    """
    # Accents are separated from their letters and dropped, so that "Poincaré" stays readable.
    decomposed_text = unicodedata.normalize("NFKD", text.translate(_ASCII_SIGNS))
    base_text = "".join(
        character for character in decomposed_text if not unicodedata.combining(character)
    )
    return base_text.encode("ascii", "replace").decode("ascii")


def terminal_width() -> int:
    """Return the width of the terminal, or COLUMNS; `WIDTH` where the output goes to a file or a
    pipe [columns].
    """
    return max(_NARROWEST_TERMINAL, shutil.get_terminal_size((WIDTH, 24)).columns)


def wrapped(text: str, indent: str = "", width: int | None = None) -> str:
    """Fold a text to the width of a terminal; further lines are indented."""
    return textwrap.fill(
        text, width or terminal_width(), subsequent_indent=indent, break_on_hyphens=False
    )


def table_texts(
    table: ResultTable, is_markdown: bool = True, common_words: Mapping[str, str] = NOTHING_SAID
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the texts of a table of results: titles, rows, and the indices of numeric columns.

    Parameters
    ----------
    table : the table; its last columns say how each row was computed. A value outside of its bounds
        is not mentioned if its interval reaches the bound
    is_markdown : whether characters that Markdown interprets are escaped
    common_words : what the report states elsewhere about all rows, such as their method; a column
        that only repeats it is left out
    """
    escape_text = escape if is_markdown else str
    row_indexes = range(len(table)) if table.rows is None else table.rows
    titles = []
    columns = []
    number_columns = []
    for column in table.columns:
        if column.on_page:
            is_path = is_markdown and "." in column.name
            titles.append(
                column.title or (code(column.name) if is_path else escape_text(column.name))
            )
            columns.append(
                [
                    escape_text(cell)
                    if isinstance(cell := column.cells[row_index], str)
                    else _cell_text(column, row_index)
                    for row_index in row_indexes
                ]
            )
            if not any(isinstance(cell, str) for cell in column.cells):
                number_columns.append(len(columns) - 1)
    provenance_columns = table.provenance.columns(table.failed) if table.provenance else {}
    provenance_cells = {
        name: [cells[row_index] or NOTHING for row_index in row_indexes]
        for name, cells in provenance_columns.items()
    }
    provenance_cells = {
        name: cells
        for name, cells in provenance_cells.items()
        # What the head of the page says of all answers is not repeated in each row.
        if not {*cells} <= {common_words.get(name), NOTHING}
    }
    columns += [
        [escape_text(NOTHING if isinstance(cell, SlightlyBeyond) else cell) for cell in cells]
        for cells in provenance_cells.values()
    ]
    return (
        [*titles, *provenance_cells],
        [list(row_index) for row_index in zip(*columns, strict=True)],
        number_columns,
    )


def _cell_text(column: ResultColumn, row_index: int) -> str:
    low, high = (end_column[row_index] for end_column in column.ends) if column.ends else NO_ENDS
    unit = column.unit if isinstance(column.unit, str) else column.unit[row_index]
    value = column.cells[row_index]
    assert not isinstance(value, str)
    if column.written is None:
        return quantity(finite_or_none(value), unit, ends=(low, high))
    return column.written(finite_or_none(value), unit, (low, high))


def result_table(table: ResultTable, common_words: Mapping[str, str] = NOTHING_SAID) -> str:
    """Write a table of results in Markdown: its title, its rows, and the reasons of rows without an
    answer.
    """
    titles, rows, number_columns = table_texts(table, common_words=common_words)
    failure_list = "\n".join(
        f"- {', '.join(_labels_of_row(table, row))}: {escape(reason)}"
        for row, reason in table.failed.items()
    )
    blocks = [
        table.title,
        markdown_table(titles, rows, number_columns) if rows else "",
        failure_list,
    ]
    return "\n\n".join(block for block in blocks if block)


def _labels_of_row(table: ResultTable, row: int) -> Iterable[str]:
    """Yield the labels that identify a row."""
    for column in table.columns:
        if column.place and column.on_page and column.cells[row] is not None:
            name = column.title or column.name
            cell = column.cells[row]
            yield f"{escape(name)} = {cell if isinstance(cell, str) else _cell_text(column, row)}"


def question_section(result: QuestionResult, common_words: Mapping[str, str] = NOTHING_SAID) -> str:
    """Write the result of a question as a section of the page; `common_words` are not repeated
    (see `table_texts`).
    """
    blocks = [
        block if isinstance(block, str) else result_table(block, common_words)
        for block in result.parts()
    ]
    sentence_list = "\n".join(f"- {escape(line)}" for line in result.sentences_beside_tables())
    return section(result.heading, [prose(result.reading), sentence_list, *blocks])


def section(title: str, blocks: Iterable[str]) -> str:
    """Join blocks under the heading of a section; a single subsection shares its heading with the
    section.

    >>> print(section("Sweeps", ["### load", "words"]))
    ## Sweeps: load
    <BLANKLINE>
    words
    """
    text = "\n\n".join(filter(None, blocks))
    # A single subsection would put two headings one below the other.
    headings = re.findall(r"^#+ .*\n\n", text, re.MULTILINE)
    if len(headings) == 1 and headings[0].startswith("### "):
        title = f"{title}: {headings[0][4:].strip()}"
        text = text.replace(headings[0], "", 1)
    return f"## {title}\n\n{text}"


class TextTable(NamedTuple):
    """A table of texts, for a page or for the terminal: titles, rows, and which columns are
    numbers.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    number_columns: Iterable[int] = ()


TextBlock = str | Sequence[str] | TextTable
"""A paragraph, lines of a list, or a table, as plain text; what is empty is left out."""


def markdown_blocks(blocks: Iterable[TextBlock]) -> Iterator[str]:
    """Yield blocks of text as Markdown for a page."""
    for block in blocks:
        if isinstance(block, TextTable):
            titles = list(map(escape, block.titles))
            rows = [list(map(escape, row)) for row in block.rows]
            yield markdown_table(titles, rows, block.number_columns)
        else:
            yield (
                escape(block)
                if isinstance(block, str)
                else "\n".join(f"- {escape(line)}" for line in block)
            )


def terminal_blocks(blocks: Iterable[TextBlock], indent: str = "") -> str:
    """Write blocks for the terminal; lines that continue a folded line are indented."""
    block_texts = []
    for block in blocks:
        if isinstance(block, TextTable):
            block_texts.append(plain_table(*block))
            continue
        lines = [block] if isinstance(block, str) else block
        block_texts.append("\n".join(wrapped(line, indent) for line in lines))
    return ascii_only("\n\n".join(filter(None, block_texts)) + "\n")


class Notes:
    """Footnotes, numbered in the order of their first use, equal ones once.

    >>> notes = Notes()
    >>> notes.number("a"), notes.number("b"), notes.number("a")
    (1, 2, 1)
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a note, which a new text gets on its first use."""
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    @property
    def text(self) -> str:
        """All notes with their numbers, as text for the terminal."""
        return "\n".join(
            wrapped(f"[{number}] {note}", "    ") for number, note in self.text_by_number.items()
        )

    @property
    def text_by_number(self) -> Mapping[int, str]:
        """All notes by their numbers."""
        return {number: text for text, number in self._numbers.items()}
