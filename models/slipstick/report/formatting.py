"""How numbers, names and tables are worded, in Markdown and in the terminal."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from math import inf, isfinite, isnan

from slipstick.errors import MissingExtraError
from slipstick.expression.dimension import Dimension
from slipstick.units import choose, show

WIDTH = 100
"""Columns of a terminal that text has to fit."""

NOTHING = "-"
"""What stands where there is no value."""

_LONGEST_LABEL = 44
_NARROWEST = 8  # a column of text is not wrapped below this

# What Markdown, and the mathematics that some viewers add to it, would take as a sign.
_MARKS = re.compile(r"[\\`*|~$]|\](?=[(\[])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_PLAIN = str.maketrans({"µ": "u", "μ": "u", "·": "*", "×": "x", "–": "-", "—": "-", "−": "-", "≤": "<=", "≥": ">="})


INTERVALS = (
    "Two numbers in brackets behind a simulated value are the ends of its confidence interval, 95 % unless "
    "simulation.level says otherwise."
)
"""What the form that `quantity` gives an interval means."""

UNKNOWN = "no interval"
"""What stands behind an estimate of which it is not known how sure it is."""

Ends = tuple[float | None, float | None]
"""Both ends of an interval; None where there is none."""

NO_ENDS: Ends = (None, None)


def quantity(value: float | None, unit: str, digits: int = 4, ends: Ends = NO_ENDS) -> str:
    """Write a number in the unit a person would choose, its interval in brackets; nothing is a dash.

    Parameters
    ----------
    value : in base units; None where only bounds are known
    unit : the base unit
    digits : significant digits [1]
    ends : of the interval, or bounds; an interval without width is left out, an infinite one is that of an estimate of
        which it is not known how sure it is

    >>> quantity(0.001705, "s"), quantity(3.0, "1"), quantity(None, "s"), quantity(None, "s", ends=(1.0, 2.0))
    ('1.705 ms', '3', '-', '1 to 2 s')
    >>> quantity(0.2947, "s", ends=(0.2934, 0.3024)), quantity(None, "1/s", ends=(None, 5.0))
    ('294.7 (293.4 to 302.4) ms', 'at most 5 /s')
    """
    low, high = map(finite, ends)
    if value is not None and inf in ends:
        return f"{show(value, Dimension.of(unit), digits)} ({UNKNOWN})"
    if value is not None and (low is None or high is None or low == high):
        return show(value, Dimension.of(unit), digits)
    known = [each for each in (value, low, high) if each is not None]
    if not known:
        return NOTHING
    if low is None or high is None:
        return f"{'at least' if high is None else 'at most'} {show(known[0], Dimension.of(unit), digits)}"
    chosen, (text,) = column([value], unit, digits, [low], [high])
    return f"{text} {chosen.removeprefix('1')}".rstrip()


def finite(value: float | None) -> float | None:
    """Give a number, or nothing in place of what is not a number.

    >>> finite(float("nan")), finite(2.0)
    (None, 2.0)
    """
    return value if value is not None and isfinite(value) else None


def percent(part: float | None, digits: int = 3, signed: bool = False, ends: Ends = NO_ENDS) -> str:
    """Write a fraction in percent, with its interval if it has one.

    >>> percent(0.51234), percent(0.02, signed=True), percent(1.0), percent(12.3456, 2), percent(0.5, ends=(0.45, 0.55))
    ('51.2 %', '+2 %', '100 %', '1235 %', '50 (45 to 55) %')
    """
    if ends != NO_ENDS:
        words = (percent(each, digits, signed) for each in (part, *ends))
        return f"{bracketed(*(each.removesuffix(' %') for each in words))} %"
    if part is None or isnan(part):
        return NOTHING
    # A number with more digits than are wanted would be written with a power of ten.
    precision = f".{digits}g" if abs(100 * part) < 10**digits - 0.5 else ".0f"
    return f"{100 * part:{'+' if signed else ''}{precision}} %"


def fraction(value: float | None) -> str:
    """Write a ratio without a unit, such as an elasticity."""
    return NOTHING if value is None else f"{value:.3g}"


def plain(value: float, digits: int = 4) -> str:
    """Write a number to some digits without a power of ten, as a size is written.

    >>> plain(20651234.5), plain(8e6), plain(12.5)
    ('20650000', '8000000', '12.5')
    """
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e15 else text


def counted(number: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> counted(1, "cell"), counted(3, "cell"), counted(2, "miss", "misses")
    ('1 cell', '3 cells', '2 misses')
    """
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def column(
    values: Sequence[float | None],
    unit: str,
    digits: int = 4,
    lows: Sequence[float | None] = (),
    highs: Sequence[float | None] = (),
) -> tuple[str, list[str]]:
    """Write a column in one unit: the unit, and a text for each value, with its interval if it has one.

    >>> column([0.001, 0.0125, None], "s"), column([0.02], "s", lows=[0.019], highs=[0.0215])
    (('ms', ['1', '12.5', '-']), ('ms', ['20 (19 to 21.5)']))
    """
    known = [value for value in values if value is not None] or [value for value in highs if value is not None]
    chosen, factor = choose(known, Dimension.of(unit))
    return chosen, [
        bracketed(*(_number(each, factor, digits) for each in (value, low, high)))
        for value, low, high in zip_longest(values, lows, highs)
    ]


def overlap(one: Ends, other: Ends) -> bool:
    """Say whether two intervals have something in common, so that the order of their values is undecided.

    >>> overlap((1.0, 2.0), (1.5, 3.0)), overlap((1.0, 2.0), (2.5, 3.0)), overlap((1.0, 2.0), NO_ENDS)
    (True, False, False)
    """
    low, high, least, most = *one, *other
    if low is None or high is None or least is None or most is None:
        return False
    return low <= most and least <= high


def bracketed(value: str, low: str, high: str) -> str:
    """Put the ends of an interval behind a value, all written already; none where they are the value itself.

    Ends that are infinite are those of an estimate of which it is not known how sure it is.

    >>> bracketed("20", "19", "21"), bracketed("20", "-", "-"), bracketed("20", "20", "20"), bracketed("-", "19", "21")
    ('20 (19 to 21)', '20', '20', '19 to 21')
    """
    if "inf" in (low, high):
        return f"{value} ({UNKNOWN})"
    if NOTHING in (low, high) or low == high == value:
        return value
    return f"{low} to {high}" if value == NOTHING else f"{value} ({low} to {high})"


def _number(value: float | None, factor: float, digits: int) -> str:
    if value is None or isnan(value):
        return NOTHING
    text = f"{value / factor:.{digits}g}"
    return f"{value / factor:.0f}" if "e+" in text and abs(value / factor) < 1e9 else text


def short_path(path: str, longest: int = _LONGEST_LABEL) -> str:
    """Leave out the first parts of a path that is too long for a label.

    >>> short_path("machine.network.adapter")
    'machine.network.adapter'
    >>> short_path("machine.network.protocol.ranges.small.total.per_byte")
    'network.protocol.ranges.small.total.per_byte'
    """
    while len(path) > longest and "." in path:
        path = path.partition(".")[2]
    return path if len(path) <= longest else path[: longest - 3] + "..."


def escape(text: str) -> str:
    r"""Write a name or a note on one line so that Markdown shows it as it is.

    >>> escape("a|b <i> `x` step_1")
    'a\\|b &lt;i> \\`x\\` step_1'
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def prose(text: str) -> str:
    """Give an author's paragraphs as Markdown, in which no HTML works."""
    return text.strip().replace("<", "&lt;")


def code(text: str) -> str:
    """Write a path or a command as code, also inside a table.

    >>> code("machine.network.adapter")
    '`machine.network.adapter`'
    """
    plain = " ".join(text.split()).replace("|", r"\|")
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}" if longest else f"`{plain}`"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Lay out a table in Markdown; its texts are escaped already.

    Parameters
    ----------
    head : titles of the columns
    rows : texts
    right : indices of the columns of numbers [1]
    """
    from tabulate import tabulate

    sides = _sides(len(head), right)
    lines = tabulate(list(rows), head, tablefmt="github", disable_numparse=True, colalign=sides).splitlines()
    # The alignment row is written here: which of its spellings tabulate writes depends on its version.
    widths = [len(cell) for cell in lines[1].strip("|").split("|")]
    rule = ["-" * (width - 1) + (":" if side == "right" else "-") for width, side in zip(widths, sides, strict=True)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[2:]])


def plain_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[int] = (), width: int = WIDTH
) -> str:
    """Lay out a table for the terminal; columns of text are wrapped until it fits.

    Parameters
    ----------
    head : titles of the columns
    rows : texts
    right : indices of the columns of numbers [1]
    width : columns of the terminal [1]
    """
    from tabulate import tabulate

    right = set(right)
    # tabulate gives a title two blanks more than it needs.
    widths = [max(len(title) + 2, *map(len, cells)) for title, *cells in zip(head, *rows, strict=True)]
    room = width - 2 * (len(head) - 1)
    words = [index for index in range(len(head)) if index not in right]
    while words and sum(widths) > room:
        widest = max(words, key=lambda index: widths[index])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] = max(_NARROWEST, widths[widest] - (sum(widths) - room))
    folded = [[_folded(cell, size) for cell, size in zip(row, widths, strict=True)] for row in rows]
    text = tabulate(folded, head, tablefmt="simple", disable_numparse=True, colalign=_sides(len(head), right))
    return "\n".join(line.rstrip() for line in text.splitlines())


def _folded(cell: str, width: int) -> str:
    """Break a text that is too wide: between words, else behind the dots of a path."""
    words = [f"{part}." for part in cell.split(".")] if " " not in cell else []
    if not words:
        return "\n".join(textwrap.wrap(cell, width, break_on_hyphens=False)) if len(cell) > width else cell
    lines, line = [], ""
    for word in [*words[:-1], words[-1][:-1]]:
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += word
    pieces = [each[at : at + width] for each in [*lines, line] for at in range(0, len(each), width)]
    return "\n".join(pieces)


def _sides(count: int, right: Iterable[int]) -> list[str]:
    numbers = set(right)
    return ["right" if index in numbers else "left" for index in range(count)]


def ascii_only(text: str) -> str:
    """Write a text with the signs that every terminal has.

    >>> ascii_only("5 µs, naïve, 3·d")
    '5 us, naive, 3*d'
    """
    plain = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    kept = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return kept.encode("ascii", "replace").decode("ascii")


def wrapped(text: str, indent: str = "", width: int = WIDTH) -> str:
    """Fold a text to the width of a terminal; further lines are indented."""
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)


class Notes:
    """Footnotes: each text once, numbered in the order of their first use.

    >>> notes = Notes()
    >>> notes.number("a"), notes.number("b"), notes.number("a")
    (1, 2, 1)
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Give a text its number."""
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    @property
    def listed(self) -> Mapping[int, str]:
        """Every text by its number."""
        return {number: text for text, number in self._numbers.items()}


def need(library: str, purpose: str) -> None:
    """Insist on an optional library.

    Raises
    ------
    MissingExtraError : it is not installed
    """
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(library, purpose, "report") from None
