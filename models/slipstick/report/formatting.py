"""The form of numbers, names and tables, in Markdown and in the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, NamedTuple

from slipstick.answer import HELD
from slipstick.expression.nodes import Dimension
from slipstick.results.words import SHARES, Words, is_plural, spelt
from slipstick.units import choose, show

if TYPE_CHECKING:
    from slipstick.results.question import QuestionResult, ResultColumn, ResultTable

WIDTH = 100
"""Columns that text has to fit where no terminal says."""

_NARROWEST_TERMINAL = 40

PAGE_WIDTH = 120
"""Letters of a row of a table on a page."""

NOTHING = "-"
"""What stands where there is no value."""

_LONGEST_LABEL = 44
_LONGEST_CELL = 24  # longer texts become notes where a table is too wide for the page
_LONGEST_WORD = 24  # what is longer is broken where a table is too wide for the terminal

# What Markdown, and the mathematics that some viewers add to it, would take as a sign.
_MARKS = re.compile(r"[\\`*|~$]|\](?=[(\[])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_MARKS_INSIDE = re.compile(rf"[\[\]]|{_MARKS.pattern}")
_PLAIN = str.maketrans(
    {"µ": "u", "μ": "u", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "≤": "<=", "≥": ">="}
)


INTERVALS = (
    "Two numbers in brackets behind a simulated value are the ends of its confidence interval, 95 %"
    " unless the study sets another level."
)
"""The explanation of the intervals that `quantity` writes."""

UNKNOWN = "no interval"
"""The words behind an estimate whose interval is unknown."""

NOTHING_SAID: Mapping[str, str] = {}
"""Where a page says nothing on how all of it was computed."""

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

    >>> quantity(0.001705, "s"), quantity(3.0, "1"), quantity(None, "s"), quantity(None, "s", ends=(1.0, 2.0))
    ('1.705 ms', '3', '-', '1 to 2 s')
    >>> quantity(0.2947, "s", ends=(0.2934, 0.3024)), quantity(None, "1/s", ends=(None, 5.0))
    ('294.7 (293.4 to 302.4) ms', 'at most 5 /s')
    """
    low, high = map(finite, ends)
    # An estimate whose interval is unknown must not look exact.
    if value is not None and inf in ends:
        return f"{show(value, Dimension.of(unit), digits)} ({UNKNOWN})"
    if value is not None and (low is None or high is None or low == high):
        return show(value, Dimension.of(unit), digits)
    numbers = [number for number in (value, low, high) if number is not None]
    if not numbers:
        return NOTHING
    if low is None or high is None:
        return (
            f"{'at least' if high is None else 'at most'}"
            f" {show(numbers[0], Dimension.of(unit), digits)}"
        )
    # The value and both ends share one prefix, so that they can be compared at a glance.
    chosen, factor = choose([high if value is None else value], Dimension.of(unit))
    text = bracketed(*(_number(number, factor, digits) for number in (value, low, high)))
    return f"{text} {chosen.removeprefix('1')}".rstrip()


def value_amount(name: str, value: float | None, unit: str, ends: Ends = NO_ENDS) -> str:
    """Write a value of an answer for a reader; efficiencies and utilizations in percent.

    >>> value_amount("efficiency", 0.8, "1"), value_amount("time", 0.002, "s")
    ('80 %', '2 ms')
    >>> value_amount("throughput", 126391.0, "1/s")
    '126400 /s'
    """
    # A loss or a utilization is a share of one; a speed-up of 0.5 is none.
    if name.partition("[")[0] in SHARES and unit == "1":
        return percent(value, ends=ends if None not in ends and ends[0] != ends[1] else NO_ENDS)
    if unit == "1/s":  # a computed rate has no prefix that would shorten it
        value = _to_four_digits(value)
        ends = (_to_four_digits(ends[0]), _to_four_digits(ends[1]))
    return quantity(value, unit, ends=ends)


_IN_PERCENT = ("share", "part", "utilization", "efficiency")
"""First words of what is written in percent."""


def _to_four_digits(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")


def setting_amount(path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS) -> str:
    """Write the amount of a setting without its name, shares in percent."""
    if unit == "1" and 0 < value < 1 and words.quantity(path).startswith(_IN_PERCENT):
        return percent(value, ends=ends if None not in ends and ends[0] != ends[1] else NO_ENDS)
    return reader_amount(value, unit, 6 if value == int(value) else 4, ends)


RATE_UNITS = (("/h", 1 / 3600.0, 0.0), ("/min", 1 / 60.0, 1 / 60.0), ("/s", 1.0, 0.05))
"""Units in which a reader expects rates: name, factor, and the least rate that has it [1/s]."""


def reader_amount(value: float | None, unit: str, digits: int = 4, ends: Ends = NO_ENDS) -> str:
    """Write a quantity as `quantity` does, but a slow rate by the minute or the hour.

    >>> reader_amount(0.05 / 3, "1/s"), reader_amount(0.25 / 3600, "1/s"), reader_amount(12.0, "1/s")
    ('1 /min', '0.25 /h', '12 /s')
    """
    if unit != "1/s" or not value:
        return quantity(value, unit, digits, ends)
    # The tolerance keeps a rate of exactly one a minute on its rung, though 1/60 has no exact
    # double.
    name, factor, _ = [rung for rung in RATE_UNITS if rung[2] * (1 - 1e-9) <= abs(value)][-1]
    if factor == 1.0:
        return quantity(value, unit, digits, ends)
    low, high = (None if end is None else end / factor for end in ends)
    return f"{quantity(value / factor, '1', ends=(low, high))} {name}"


_ARRIVALS = re.compile(r"classes\.([^.]+)\.arrivals")
_SPANS = {"/s": "a second", "/min": "a minute", "/h": "an hour"}


def _rate_of_class(path: str, amount: str) -> str:
    """Write a rate of arrivals as customers in a span of time; empty for other quantities.

    >>> _rate_of_class("classes.requests.arrivals", "170 /s"), _rate_of_class("x", "170 /s")
    ('170 requests a second', '')
    """
    number, _, per = amount.rpartition(" ")
    of_class = _ARRIVALS.fullmatch(path)
    return f"{number} {spelt(of_class[1])} {_SPANS[per]}" if of_class and per in _SPANS else ""


def setting(path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS) -> str:
    """Write a setting as a phrase of its meaning and its amount.

    >>> words = Words({}, {"parameters.edge": "cells along an edge", "parameters.far": "latency of a read"})
    >>> setting("parameters.edge", 386, "1", words), setting("parameters.far", 2e-7, "s", words)
    ('386 cells along an edge', 'a latency of a read of 200 ns')
    >>> setting("stations.app.servers", 5, "1", words), setting("stations.app.servers", 1, "1", words)
    ('5 app servers', '1 app server')
    >>> setting("classes.users.population", 44, "1", words)
    '44 users'
    """
    amount = setting_amount(path, value, unit, words, ends)
    meaning = words.quantity(path)
    if rate := _rate_of_class(path, amount):
        return rate
    first, _, further_words = meaning.partition(" ")
    integral = unit == "1" and value == int(value)
    if integral and first == "number" and is_plural(counted := meaning.removeprefix("number of ")):
        return f"{amount} {counted[:-1] if value == 1 and ' ' not in counted else counted}"
    if integral and is_plural(first):
        return f"{amount} {(first[:-1] if value == 1 else first)} {further_words}".rstrip()
    if integral and is_plural(meaning) and " of " not in meaning:
        return f"{amount} {meaning[:-1] if value == 1 else meaning}"
    return f"{meaning if is_plural(first) else with_article(meaning)} of {amount}"


def with_article(noun: str) -> str:
    """Write a noun with its indefinite article.

    >>> with_article("order"), with_article("customer"), with_article("user")
    ('an order', 'a customer', 'a user')
    """
    # Without u, since most words with it begin with the sound of "you".
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def bounded(
    path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS, *, least: bool
) -> str:
    """Write a setting that is a lower or an upper limit, as a phrase of its meaning and its amount.

    >>> words = Words({}, {"parameters.edge": "cells along an edge", "parameters.far": "latency of a read"})
    >>> bounded("parameters.edge", 386, "1", words, least=True)
    'with at least 386 cells along an edge'
    >>> bounded("parameters.far", 2e-7, "s", words, least=False)
    'with a latency of a read of at most 200 ns'
    """
    words_of_setting = setting(path, value, unit, words, ends)
    amount = setting_amount(path, value, unit, words, ends)
    if rate := _rate_of_class(path, amount):
        return f"with at {'least' if least else 'most'} {rate}"
    before, _, after = (
        # The amount stands at the end where a phrase has "of" it, and the meaning before it may
        # contain the same digits.
        words_of_setting.rpartition(amount)
        if words_of_setting.endswith(amount)
        else words_of_setting.partition(amount)
    )
    return f"with {before}{bounded_amount(path, value, unit, words, ends, least=least)}{after}"


def bounded_amount(
    path: str, value: float, unit: str, words: Words, ends: Ends = NO_ENDS, *, least: bool
) -> str:
    """Write the amount of a setting that is a lower or an upper limit, without its name."""
    amount = setting_amount(path, value, unit, words, ends)
    return f"at {'least' if least else 'most'} {amount}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Join words with commas, and the last two with `last`.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def finite(value: float | None) -> float | None:
    """Return a finite number; None for NaN and infinities.

    >>> finite(float("nan")), finite(2.0)
    (None, 2.0)
    """
    return value if value is not None and isfinite(value) else None


def percent(part: float | None, digits: int = 3, signed: bool = False, ends: Ends = NO_ENDS) -> str:
    """Write a fraction in percent, with its interval if it has one.

    >>> percent(0.51234), percent(0.02, signed=True), percent(1.0), percent(12.3456, 2), percent(0.5, ends=(0.45, 0.55))
    ('51.2 %', '+2 %', '100 %', '1235 %', '50 (45 to 55) %')
    """
    if part is None or isnan(part):
        return NOTHING
    if ends != NO_ENDS:
        words = (percent(number, digits, signed) for number in (part, *ends))
        return f"{bracketed(*(word.removesuffix(' %') for word in words))} %"
    # A number with more digits than are wanted would be written with a power of ten.
    precision = f".{digits}g" if abs(100 * part) < 10**digits - 0.5 else ".0f"
    return f"{100 * part:{'+' if signed else ''}{precision}} %"


def as_percent(value: float | None, unit: str, ends: Ends) -> str:
    """Write the cell of a column in percent; see `slipstick.results.question.ResultColumn`."""
    return percent(value, ends=ends)


def as_ratio(value: float | None, unit: str, ends: Ends) -> str:
    """Write the cell of a column of ratios."""
    return bracketed(
        *(
            NOTHING if number is None or isnan(number) else f"{number:.2f}"
            for number in (value, *ends)
        )
    )


def as_number(value: float | None, unit: str, ends: Ends) -> str:
    """Write the cell of a column of counts."""
    return NOTHING if value is None else f"{value:g}"


def fraction(value: float | None) -> str:
    """Write a ratio, such as an elasticity, to three digits."""
    return NOTHING if value is None else f"{value:.3g}"


def plain(value: float, digits: int = 4) -> str:
    """Write a number to some significant digits without a power of ten.

    >>> plain(20651234.5), plain(8e6), plain(12.5)
    ('20650000', '8000000', '12.5')
    """
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e15 else text


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun in the singular or the plural.

    >>> counted(1, "cell"), counted(3, "cell"), counted(2, "miss", "misses")
    ('1 cell', '3 cells', '2 misses')
    """
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def overlap(one: Ends, other: Ends) -> bool:
    """Return whether two intervals overlap, so that the order of their values is undecided.

    >>> overlap((1.0, 2.0), (1.5, 3.0)), overlap((1.0, 2.0), (2.5, 3.0)), overlap((1.0, 2.0), NO_ENDS)
    (True, False, False)
    """
    low, high, least, most = *one, *other
    # Exact values have no interval, and their order is decided.
    if low is None or high is None or least is None or most is None:
        return False
    return low <= most and least <= high


def bracketed(value: str, low: str, high: str) -> str:
    """Write a value followed by its interval in brackets; the value alone where both ends equal it.

    Infinite ends are those of an estimate whose interval is unknown.

    >>> bracketed("20", "19", "21"), bracketed("20", "-", "-"), bracketed("20", "20", "20"), bracketed("-", "19", "21")
    ('20 (19 to 21)', '20', '20', '19 to 21')
    """
    if "inf" in (low, high):
        return f"{value} ({UNKNOWN})"
    if NOTHING in (low, high) or low == high == value:
        return value
    # Bounds have two ends and no value between them.
    return f"{low} to {high}" if value == NOTHING else f"{value} ({low} to {high})"


def _number(value: float | None, factor: float, digits: int) -> str:
    if value is None or isnan(value):
        return NOTHING
    text = f"{value / factor:.{digits}g}"
    return f"{value / factor:.0f}" if "e+" in text and abs(value / factor) < 1e9 else text


def axis_value(value: float | str, unit: str) -> str:
    """Write a value of an axis: a name as it is, a number as a quantity."""
    return value if isinstance(value, str) else quantity(float(value), unit)


def short_path(path: str, longest: int = _LONGEST_LABEL) -> str:
    """Shorten a path that is too long for a label by leaving out its first keys.

    >>> short_path("machine.network.adapter")
    'machine.network.adapter'
    >>> short_path("machine.network.protocol.ranges.small.total.per_byte")
    'network.protocol.ranges.small.total.per_byte'
    """
    while len(path) > longest and "." in path:
        path = path.partition(".")[2]
    return path if len(path) <= longest else path[: longest - 3] + "..."


def escape(text: str, inside: bool = False) -> str:
    r"""Write a name or a note on one line so that Markdown shows it as it is.

    Parameters
    ----------
    text : the name or the note
    inside : it stands inside brackets, so that a bracket of its own would end them

    >>> escape("a|b <i> `x` step_1"), escape("a [b", inside=True)
    ('a\\|b &lt;i> \\`x\\` step_1', 'a \\[b')
    """
    # Inside of a link's text brackets would end it.
    marks = _MARKS_INSIDE if inside else _MARKS
    return marks.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def prose(text: str) -> str:
    """Return an author's paragraphs as Markdown in which HTML has no effect."""
    return text.strip().replace("<", "&lt;")


def code(text: str) -> str:
    """Write a path or a command as code, also inside a table.

    >>> code("machine.network.adapter")
    '`machine.network.adapter`'
    """
    plain = " ".join(text.split()).replace("|", r"\|")
    # Markdown ends code at a run of as many backticks as opened it.
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}" if longest else f"`{plain}`"


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()
) -> str:
    """Write a table in Markdown that fits a page; its texts are escaped already.

    A column without content is left out, and a column with the same text in every row is written
    above the table. If the table is still wider than `PAGE_WIDTH`, its long texts become notes
    below it; a table of few rows is transposed; another is divided into parts, each with the first
    column.

    Parameters
    ----------
    head : titles of the columns
    rows : texts
    right : indices of the columns of numbers [1]

    >>> print(markdown_table(["case", "time", "method"], [["a", "1 s", "exact"], ["b", "2 s", "exact"]], [1]))
    In every row: method exact.
    <BLANKLINE>
    | case | time |
    | ---- | ---: |
    | a    |  1 s |
    | b    |  2 s |
    """
    texts = [list(row) for row in rows]
    numbers = set(right)
    above, kept_columns = telling(head, texts)
    sides = [index for index, column in enumerate(kept_columns) if column in numbers]
    tables = _fitting(
        [head[column] for column in kept_columns],
        [[row[column] for column in kept_columns] for row in texts],
        sides,
    )
    return "\n\n".join([above, *tables] if above else tables)


def telling(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, list[int]]:
    """Return a sentence on the columns that are equal in all rows, and the indices of the columns
    in which rows differ.

    Parameters
    ----------
    head, rows : of a table
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(head)
    told_columns = [
        column
        for column, cells in enumerate(columns)
        if not rows or any(cell not in ("", NOTHING) for cell in cells)
    ]
    alike = [column for column in told_columns if len(rows) > 1 and len(set(columns[column])) == 1]
    kept_columns = [column for column in told_columns if column not in alike]
    # A table of one column would be harder to read than the repetition.
    if len(kept_columns) < 2:
        return "", told_columns or list(range(len(head)))
    # A title that ends in a number, such as a condition, does not run into its value.
    same = [
        f"{head[column]}{':' if head[column][-1:].isdigit() else ''} {columns[column][0]}"
        for column in alike
    ]
    return f"In every row: {', '.join(same)}." if same else "", kept_columns


def _fitting(head: list[str], rows: list[list[str]], right: Sequence[int]) -> list[str]:
    """Write a table in Markdown that fits the page: with long texts as notes below it, transposed,
    or split by columns.
    """
    table = _github(head, rows, right)
    if _width(table) <= PAGE_WIDTH:
        return [table]
    widths = {
        column: max(len(row[column]) for row in rows)
        for column in range(1, len(head))
        if column not in set(right)
    }
    longest = max(widths, key=lambda column: widths[column], default=0)
    # The longest texts become notes first: this keeps the numbers side by side.
    if widths.get(longest, 0) > _LONGEST_CELL:
        notes = Notes()
        marked = [
            [
                str(notes.number(cell)) if column == longest and cell not in ("", NOTHING) else cell
                for column, cell in enumerate(row)
            ]
            for row in rows
        ]
        listed = "\n".join(
            f"- {head[longest]} {number}: {text}" for number, text in notes.listed.items()
        )
        return [*_fitting(head, marked, right), listed]
    turned = [[title, *cells] for title, *cells in zip(head, *rows, strict=True)]
    # Rows and columns change places only if that makes the table narrower.
    if (
        len(rows) < len(head)
        and _width(turned_table := _github(turned[0], turned[1:], range(1, len(rows) + 1)))
        <= PAGE_WIDTH
    ):
        return [turned_table]
    column_groups = folds(_widths(head, rows), PAGE_WIDTH - 4, 3)
    if len(column_groups) == 1:
        return [table]
    tables = []
    for column_group in column_groups:
        titles = [head[column] for column in column_group]
        cells = [[row[column] for column in column_group] for row in rows]
        tables.append(_github(titles, cells, _among(right, column_group)))
    return tables


def losses_sentence(left_out: Mapping[str, str]) -> str:
    """Write the losses of an import, each with what it changes.

    >>> losses_sentence({"shares": "tasks share p3 equally (line 12)"})
    'left out by the import: shares (tasks share p3 equally (line 12))'
    """
    losses = "; ".join(f"{name} ({change})" for name, change in left_out.items())
    return f"left out by the import: {losses}"


def folds(widths: Sequence[int], width: int, between: int) -> list[list[int]]:
    """Distribute columns among tables of a limited width; each table begins with the first column.

    Parameters
    ----------
    widths : of each column
    width, between : of a whole table, and between two of its columns

    >>> folds([10, 20, 20, 20], 55, 2)
    [[0, 1, 2], [0, 3]]
    """
    column_groups: list[list[int]] = [[0]]
    for column_index in range(1, len(widths)):
        if (
            len(column_groups[-1]) > 1
            and sum(widths[column] + between for column in (*column_groups[-1], column_index))
            - between
            > width
        ):
            column_groups.append([0])
        column_groups[-1].append(column_index)
    return column_groups


def _among(columns: Iterable[int], column_group: Sequence[int]) -> list[int]:
    """Return the positions, within a group of columns, of those columns that it contains."""
    return [column_group.index(column) for column in columns if column in column_group]


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(3, *map(len, cells)) for cells in zip(head, *rows, strict=True)]


def _width(table: str) -> int:
    return max(map(len, table.splitlines()))


def _github(head: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[int]) -> str:
    numbers = set(right)
    widths = _widths(head, rows)
    rule = [
        "-" * (size - 1) + (":" if column in numbers else "-") for column, size in enumerate(widths)
    ]
    lines = [*_aligned([head], widths, numbers), rule, *_aligned(rows, widths, numbers)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _aligned(
    rows: Iterable[Sequence[str]], widths: Sequence[int], right: Container[int]
) -> Iterator[list[str]]:
    for row in rows:
        sized = enumerate(zip(row, widths, strict=True))
        yield [
            cell.rjust(size) if column in right else cell.ljust(size)
            for column, (cell, size) in sized
        ]


def plain_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Iterable[int] = (),
    width: int | None = None,
) -> str:
    """Write a table for the terminal, with text columns wrapped to its width; a table that is still
    too wide is split.

    Parameters
    ----------
    head : titles of the columns; a column is at least two signs wider than its title
    rows : texts
    right : indices of the columns of numbers [1]
    width : columns of the terminal [1]; by default `terminal_width`
    """
    right = set(right)
    widths = [
        max([len(title) + 2, *map(len, cells)]) for title, *cells in zip(head, *rows, strict=True)
    ]
    room = (width or terminal_width()) - 2 * (len(head) - 1)
    # A title is not broken, nor is a word of some length: a table that is parted reads better.
    least = [
        size if column in right else _least(head[column], [row[column] for row in rows])
        for column, size in enumerate(widths)
    ]
    if sum(least) > room and len(column_groups := folds(widths, room + 2 * (len(head) - 1), 2)) > 1:
        tables = []
        for column_group in column_groups:
            titles = [head[column] for column in column_group]
            cells = [[row[column] for column in column_group] for row in rows]
            tables.append(plain_table(titles, cells, _among(right, column_group), width))
        return "\n\n".join(tables)
    while sum(widths) > room and (
        word_columns := [column for column, size in enumerate(widths) if size > least[column]]
    ):
        # The widest column gives way first; each is wrapped no further than its longest word.
        widest = max(word_columns, key=lambda index: widths[index])
        widths[widest] = max(least[widest], widths[widest] - (sum(widths) - room))
    folded = [
        [_folded(cell, size).split("\n") for cell, size in zip(row, widths, strict=True)]
        for row in rows
    ]
    lines = [[*map(str.strip, line)] for row in folded for line in zip_longest(*row, fillvalue="")]
    widths = [
        # Wrapped lines may be shorter than the room they were given.
        max([len(title) + 2, *map(len, cells)])
        for title, *cells in zip(head, *lines, strict=True)
    ]
    rule = "  ".join("-" * size for size in widths)
    first, *further_lines = (
        "  ".join(cells).rstrip() for cells in _aligned([head, *lines], widths, right)
    )
    return "\n".join([first, rule, *further_lines])


def _least(title: str, cells: Sequence[str]) -> int:
    words = [len(word) for cell in cells for word in re.split(r"(?<=\.)| ", cell)]
    return max(len(title) + 2, min(_LONGEST_WORD, max(words, default=0)))


def _folded(cell: str, width: int) -> str:
    """Break a text that is too wide: between words, or after the dots of a path."""
    words = [f"{word_part}." for word_part in cell.split(".")] if " " not in cell else []
    if not words:
        return (
            "\n".join(textwrap.wrap(cell, width, break_on_hyphens=False))
            if len(cell) > width
            else cell
        )
    lines = []
    line = ""
    for word in [*words[:-1], words[-1][:-1]]:
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += word
    pieces = [
        piece[start : start + width]
        for piece in [*lines, line]
        for start in range(0, len(piece), width)
    ]
    return "\n".join(pieces)


def ascii_only(text: str) -> str:
    """Write a text with the signs that every terminal has.

    >>> ascii_only("5 µs, naïve, 3·d")
    '5 us, naive, 3*d'
    """
    # Accents are separated from their letters and dropped, so that "Poincaré" stays readable.
    plain = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    base_signs = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return base_signs.encode("ascii", "replace").decode("ascii")


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
    table: ResultTable, markdown: bool = True, words_said: Mapping[str, str] = NOTHING_SAID
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the texts of a table of results: titles, rows, and the indices of numeric columns.

    Parameters
    ----------
    table : with how each row was computed, which stands in its last columns; a bound that holds
        within an interval does not
    markdown : signs of Markdown are escaped
    words_said : what is said elsewhere of how all was computed, such as its method; a column with nothing
        else is left out
    """
    safe = escape if markdown else str
    rows = range(len(table)) if table.rows is None else table.rows
    head = []
    columns = []
    right = []
    for column in table.columns:
        if column.on_page:
            path = markdown and "." in column.name
            head.append(column.title or (code(column.name) if path else safe(column.name)))
            columns.append(
                [
                    safe(cell) if isinstance(cell := column.cells[row], str) else _cell(column, row)
                    for row in rows
                ]
            )
            if not any(isinstance(cell, str) for cell in column.cells):
                right.append(len(columns) - 1)
    how = table.provenance.columns(table.failed) if table.provenance else {}
    told_cells = {name: [cells[row] or NOTHING for row in rows] for name, cells in how.items()}
    told_cells = {
        name: cells
        for name, cells in told_cells.items()
        # What the head of the page says of all answers is not repeated in each row.
        if not {*cells} <= {words_said.get(name), NOTHING}
    }
    columns += [
        [safe(NOTHING if cell.endswith(HELD) else cell) for cell in cells]
        for cells in told_cells.values()
    ]
    return [*head, *told_cells], [list(row) for row in zip(*columns, strict=True)], right


def _cell(column: ResultColumn, row: int) -> str:
    low, high = (end[row] for end in column.ends) if column.ends else NO_ENDS
    unit = column.unit if isinstance(column.unit, str) else column.unit[row]
    value = column.cells[row]
    assert not isinstance(value, str)
    if column.written is None:
        return quantity(finite(value), unit, ends=(low, high))
    return column.written(finite(value), unit, (low, high))


def result_table(table: ResultTable, words_said: Mapping[str, str] = NOTHING_SAID) -> str:
    """Write a table of results in Markdown: its title, its rows, and the reasons of rows without an
    answer.
    """
    head, rows, right = table_texts(table, words_said=words_said)
    failed = "\n".join(
        f"- {', '.join(_labels(table, row))}: {escape(why)}" for row, why in table.failed.items()
    )
    blocks = [table.title, markdown_table(head, rows, right) if rows else "", failed]
    return "\n\n".join(block for block in blocks if block)


def _labels(table: ResultTable, row: int) -> Iterable[str]:
    """Yield the labels that identify a row."""
    for column in table.columns:
        if column.place and column.on_page and column.cells[row] is not None:
            name = column.title or column.name
            cell = column.cells[row]
            yield f"{escape(name)} = {cell if isinstance(cell, str) else _cell(column, row)}"


def question_section(result: QuestionResult, words_said: Mapping[str, str] = NOTHING_SAID) -> str:
    """Write the result of a question as a section of the page; `words_said` are sentences not to
    repeat (see `table_texts`).
    """
    blocks = [
        block if isinstance(block, str) else result_table(block, words_said)
        for block in result.parts()
    ]
    told_lines = "\n".join(f"- {escape(line)}" for line in result.beside_tables())
    return section(result.title, [prose(result.reading), told_lines, *blocks])


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

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Iterable[int] = ()


TextBlock = str | Sequence[str] | TextTable
"""A paragraph, lines of a list, or a table, as plain text; what is empty is left out."""


def markdown_blocks(blocks: Iterable[TextBlock]) -> Iterator[str]:
    """Yield blocks of text as Markdown for a page."""
    for block in blocks:
        if isinstance(block, TextTable):
            head = list(map(escape, block.head))
            rows = [list(map(escape, row)) for row in block.rows]
            yield markdown_table(head, rows, block.right)
        else:
            yield (
                escape(block)
                if isinstance(block, str)
                else "\n".join(f"- {escape(line)}" for line in block)
            )


def terminal_blocks(blocks: Iterable[TextBlock], indent: str = "") -> str:
    """Write blocks for the terminal; further lines of what is folded are indented."""
    texts = []
    for block in blocks:
        if isinstance(block, TextTable):
            texts.append(plain_table(*block))
            continue
        lines = [block] if isinstance(block, str) else block
        texts.append("\n".join(wrapped(line, indent) for line in lines))
    return ascii_only("\n\n".join(filter(None, texts)) + "\n")


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
            wrapped(f"[{number}] {note}", "    ") for number, note in self.listed.items()
        )

    @property
    def listed(self) -> Mapping[int, str]:
        """All notes by their numbers."""
        return {number: text for text, number in self._numbers.items()}
