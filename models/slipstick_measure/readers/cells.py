"""The values of tables as people write them: numbers with a unit or a spread beside them, clock
times, sizes as products.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isfinite, prod

from slipstick.late import late_pattern
from slipstick_measure.readers.names import MISSING, SERIAL, time_unit

_NUMBER = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]{1,4}+)?"
NUMBER = late_pattern(_NUMBER)
_SURROUNDING_MARKS = late_pattern(
    r"^[\s*_`~≈]+|(?:[\s*_`†‡]|\[\^[\w-]{1,20}\]|\^\[[\w-]{1,20}\]|<sup>[^<]{0,20}</sup>)+$"
)
_RAISED_POWER = late_pattern(r"(?:.*[^0-9.])?(?:2|10)\s*<sup>[-+]?[0-9]{1,2}</sup>")
"""A power of two or ten, whose exponent is no footnote."""
_RAISED_EXPONENT = late_pattern(
    r"(?<=[0-9])<sup>([23])</sup>|(?:(?<=\b2)|(?<=\b10))<sup>([0-9]{1,2})</sup>"
)
"""The exponent of a size, which has one more often than a footnote."""
_SPREAD = late_pattern(
    rf"({_NUMBER})\s*+(?:±|\+/?-|\+\\-)\s*+{_NUMBER}\s*+(.*)|({_NUMBER})\s*+\([^)]*+\)\s*+(.*)"
)
_WITH_UNIT = late_pattern(
    rf"({_NUMBER})\s*+([^\W\d_%]++(?:\s*+/\s*+[^\W\d_]++)*+|/\s*+[^\W\d_]++|%)"
)
_CLOCK_TIME = late_pattern(
    r"(?:(?P<days>\d+)(?:-| days?,? ))?(?P<fields>\d+(?::\d{1,2}){1,2})(?P<rest>\.\d*)?"
)
_TIME_PARTS = late_pattern(
    r"(?<![\d.])(\d++(?:\.\d*+)?)\s*+(days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s"
    r"|小?时|分钟|分|秒钟?|時間|''|\"|″|'|′)\s*"
)
_DAYS_HOURS_MINUTES = late_pattern(r"\d+(?:-| days?,? )\d+:\d{1,2}")
_HOURS_BEFORE_MINUTES = late_pattern(r"(\d{1,4})\s?h\s?([0-5]\d)")
_UNIT_OF_MARK = {
    "'": "min",
    "′": "min",
    "''": "s",
    '"': "s",
    "″": "s",
    "时": "h",
    "小时": "h",
    "時間": "h",
    "分": "min",
    "分钟": "min",
    "秒": "s",
    "秒钟": "s",
}
_DECIMAL_COMMA = late_pattern(
    r"[-+]?(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+),[0-9]+(?:[eE][-+]?[0-9]+)?"
)
_THOUSANDS = late_pattern(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_DECIMAL_POINT = late_pattern(r"[-+]?[0-9]*\.(?![0-9]{3}\Z)[0-9]+")
_LEADING_NUMBER = late_pattern(r"[-+]?[0-9.][-+0-9.,eE]*")
_PRODUCT = late_pattern(rf"{_NUMBER}(?:\s*+[x×*]\s*+{_NUMBER})++")
_TUPLE = late_pattern(rf"\(\s*+({_NUMBER}(?:\s*+,\s*+{_NUMBER})*+)\s*+,?\s*+\)")
_MULTIPLE = late_pattern(rf"({_NUMBER})\s*+[x×]")
_DEVICES = late_pattern(r"([0-9]++)\s*+[x×]\s*+[^\W\d_].*")
_NAMED_COUNT = late_pattern(r"[A-Za-z_]++ ?[=:] ?([0-9]++)")
"""A count with its name, such as ``w=16``."""

_FAILURE = late_pattern(
    r"(?:oom|out of memory|time ?out|timed out|failed|crash(?:ed)?|dnf)\b", re.IGNORECASE
)
_SCALED_AMOUNT = late_pattern(
    rf"({_NUMBER})\s*+([kKMGT])(?:\s++([^\W\d_]++(?:\s*+/\s*+[^\W\d_]++)*+))?"
)
_EXPONENTS = {"²": 2, "³": 3}
_SUPERSCRIPT_POWER = late_pattern(r"([0-9]{1,12})([²³])")
_NUMBER_AND_WORD = late_pattern(
    rf"({_NUMBER})\s*+(thousand|million|billion|mio|mln|bn)s?", re.IGNORECASE
)
_WORD_FACTORS = {"th": 1e3, "mi": 1e6, "ml": 1e6, "bi": 1e9, "bn": 1e9}
_POWER = late_pattern(r"([0-9]+)\s*(?:\^|\*\*)\s*([0-9]{1,2})")
_NUMBER_AND_PREFIX = late_pattern(rf"({_NUMBER})\s*+([kKMGT]i?)")


def is_missing(text: str) -> bool:
    """Return whether a cell marks a missing measurement."""
    return text.strip().casefold() in MISSING or _FAILURE.match(bare_cell(text)) is not None


def bare_cell(text: str) -> str:
    """Return a cell without surrounding marks of emphasis, footnotes and approximation."""
    stripped_cell = text.strip()
    return (
        stripped_cell
        if NUMBER.fullmatch(stripped_cell) or _RAISED_POWER.fullmatch(stripped_cell)
        else _SURROUNDING_MARKS.sub("", stripped_cell)
    )


def parse_seconds(text: str) -> Fraction | None:
    """Parse a time in clock notation or in parts such as 1m 2s [s]; return None for other texts.

    Two fields are minutes and seconds, as batch systems and ``time`` write them.

    >>> parse_seconds("02:10:05"), parse_seconds("1-02:00:00"), parse_seconds("2'42\\"")
    (Fraction(7805, 1), Fraction(93600, 1), Fraction(162, 1))
    >>> parse_seconds("11m39s"), parse_seconds("3:20.5")
    (Fraction(699, 1), Fraction(401, 2))
    >>> parse_seconds("2h10")
    Fraction(7800, 1)
    >>> parse_seconds("12.5"), parse_seconds("3:75")
    (None, None)
    """
    text_without_blanks = text.strip()
    if NUMBER.fullmatch(text_without_blanks):
        return None
    if clock_match := _CLOCK_TIME.fullmatch(text_without_blanks):
        clock_fields = [int(field) for field in clock_match["fields"].split(":")]
        if any(field > 59 for field in clock_fields[1:]):
            return None
        if len(clock_fields) == 2 and clock_match["days"]:
            clock_fields = [*clock_fields, 0]  # days-hours:minutes
        total_seconds: int = sum(
            field * 60**power for power, field in enumerate(reversed(clock_fields))
        )
        return Fraction(clock_match["rest"].rstrip(".") or 0 if clock_match["rest"] else 0) + (
            total_seconds + 86_400 * int(clock_match["days"] or 0)
        )
    if hours_match := _HOURS_BEFORE_MINUTES.fullmatch(text_without_blanks):
        return Fraction(3_600 * int(hours_match[1]) + 60 * int(hours_match[2]))
    amounts = _TIME_PARTS.findall(text_without_blanks)
    if len(amounts) < 2 or _TIME_PARTS.sub("", text_without_blanks):
        return None
    seconds_by_unit = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
    seconds_of_parts = [
        seconds_by_unit[_UNIT_OF_MARK.get(unit) or time_unit(unit)] for _, unit in amounts
    ]
    if seconds_of_parts != sorted(set(seconds_of_parts), reverse=True):
        return None
    return sum(
        (
            Fraction(number.rstrip(".")) * unit_seconds
            for (number, _), unit_seconds in zip(amounts, seconds_of_parts, strict=True)
        ),
        Fraction(0),
    )


def has_no_seconds(cells: Iterable[str]) -> bool:
    """Return whether a cell has days, hours and minutes, and no seconds: two fields in another cell
    are hours and minutes, too.

    >>> has_no_seconds(["1-02:10", "13:06"]), has_no_seconds(["1-02:10:05", "13:06"])
    (True, False)
    """
    return any(_DAYS_HOURS_MINUTES.fullmatch(cell.strip()) for cell in cells)


def split_value(text: str) -> tuple[str, str | None, bool]:
    """Split a cell into its number, its unit, and whether a spread follows.

    >>> (
    ...     split_value("117.2 sec"),
    ...     split_value("12.3 ± 0.4 s"),
    ...     split_value("3.5 GB/s"),
    ...     split_value("8"),
    ... )
    (('117.2', 'sec', False), ('12.3', 's', True), ('3.5', 'GB/s', False), ('8', None, False))
    """
    cell_text = bare_cell(text)
    if NUMBER.fullmatch(cell_text):
        return cell_text, None, False
    if speedup_match := _MULTIPLE.fullmatch(cell_text):
        return speedup_match[1], None, False
    spread_match = _SPREAD.fullmatch(cell_text)
    if spread_match:
        number_text, text_behind = (
            (spread_match[1], spread_match[2])
            if spread_match[1]
            else (spread_match[3], spread_match[4])
        )
        return number_text, text_behind.strip() or None, True
    match = _WITH_UNIT.fullmatch(cell_text)
    return (match[1], match[2], False) if match else (cell_text, None, False)


def split_amount(text: str) -> tuple[str, str | None]:
    """Split an amount of work into its number, written with a prefix or not, and its unit.

    >>> split_amount("2.5M tok/s"), split_amount("220k"), split_amount("82 k TPS")
    (('2500000.0', 'tok/s'), ('220000.0', None), ('82000.0', 'TPS'))
    """
    if scaled_match := _SCALED_AMOUNT.fullmatch(bare_cell(text)):
        prefix_factor = 1000.0 ** ("kMGT".index(scaled_match[2].replace("K", "k")) + 1)
        return repr(float(scaled_match[1]) * prefix_factor), scaled_match[3]
    number_text, unit, _ = split_value(text)
    return number_text, unit


def device_of(text: str) -> str:
    """Return the name of the device that a cell counts, such as A100 for 4x A100; empty if it names
    none.
    """
    devices_match = _DEVICES.fullmatch(bare_cell(text))
    return re.split(r"[x×]\s*", devices_match[0], maxsplit=1)[1] if devices_match else ""


def whole_number(text: str) -> str:
    """Return a count without the noun after it.

    >>> (
    ...     whole_number("8 GPUs"),
    ...     whole_number("64"),
    ...     whole_number("4x A100 (40GB)"),
    ...     whole_number("x"),
    ... )
    ('8', '64', '4', 'x')
    """
    if count_match := _DEVICES.fullmatch(bare_cell(text)) or _NAMED_COUNT.fullmatch(
        bare_cell(text)
    ):
        return count_match[1]
    number_text, noun, _ = split_value(text)
    return number_text if noun is None or (noun.isalpha() and noun not in "kKMG") else text


def is_serial(text: str) -> bool:
    """Return whether a cell stands for one processor in words."""
    return bare_cell(text).casefold() in SERIAL


def size_number(text: str) -> str:
    """Return one number for a size that is written as a product, a power, with a prefix, or as a
    tuple of lengths.

    >>> (
    ...     size_number("512^3"),
    ...     size_number("1024 x 1024"),
    ...     size_number("64k"),
    ...     size_number("1e6"),
    ...     size_number("2 million"),
    ... )
    ('134217728', '1048576', '64000', '1e6', '2000000')
    >>> (
    ...     size_number("(8192, 512)"),
    ...     size_number("(4,)"),
    ...     size_number("64³"),
    ...     size_number("64² x 8"),
    ...     size_number("512<sup>3</sup>"),
    ... )
    ('4194304', '4', '262144', '32768', '134217728')
    """
    cell_text = bare_cell(
        _RAISED_EXPONENT.sub(lambda power_match: f"^{power_match[1] or power_match[2]}", text)
    )
    if lengths_match := _TUPLE.fullmatch(cell_text):
        cell_text = " x ".join(lengths_match[1].split(","))
    cell_text = _SUPERSCRIPT_POWER.sub(
        lambda power_match: str(int(power_match[1]) ** _EXPONENTS[power_match[2]]), cell_text
    )
    if NUMBER.fullmatch(cell_text):
        return cell_text
    if power_match := _POWER.fullmatch(cell_text):
        return str(int(power_match[1]) ** int(power_match[2]))
    if _PRODUCT.fullmatch(cell_text):
        product = prod(float(factor) for factor in re.findall(_NUMBER, cell_text))
        return f"{product:.0f}" if isfinite(product) and product == int(product) else repr(product)
    if word_match := _NUMBER_AND_WORD.fullmatch(cell_text):
        return repr(float(word_match[1]) * _WORD_FACTORS[word_match[2][:2].lower()]).removesuffix(
            ".0"
        )
    if prefix_match := _NUMBER_AND_PREFIX.fullmatch(cell_text):
        prefix_base = 2**10 if prefix_match[2].endswith("i") else 10**3
        exponent = "KMGT".index(prefix_match[2][0].upper()) + 1
        return repr(float(prefix_match[1]) * prefix_base**exponent).removesuffix(".0")
    return whole_number(cell_text)


def number_in(text: str) -> float | None:
    """Return the number in a cell, for classifying its column; None if it has none."""
    clock_seconds = parse_seconds(text)
    if clock_seconds is not None:
        return float(clock_seconds)
    number_text = size_number(split_value(text)[0])
    return (
        float(number_text)
        if NUMBER.fullmatch(number_text) and isfinite(float(number_text))
        else None
    )


_THOUSANDS_APART = late_pattern(
    r"[-+]?[1-9][0-9]{0,2}(?:(?:[\u00a0\u202f\u2009'\u2019_][0-9]{3})+(?:[.,][0-9]+)?"
    r"|(?: [0-9]{3})+[.,][0-9]+|(?: [0-9]{3})*? 0[0-9]{2}(?: [0-9]{3})*)"
)


def joined_thousands(cell: str) -> str:
    """Return a number without the blanks or apostrophes between its thousands. Three digits behind
    an ordinary blank may be another number, unless decimals follow or a group begins with 0.

    >>> joined_thousands("1 203,5"), joined_thousands("1'203.5"), joined_thousands("64 128")
    ('1203,5', '1203.5', '64 128')
    >>> joined_thousands("1 000 000"), joined_thousands("1_203_400")
    ('1000000', '1203400')
    """
    stripped_cell = cell.strip()
    if _THOUSANDS_APART.fullmatch(stripped_cell):
        return re.sub(r"[\s'\u2019_]", "", stripped_cell)
    return cell


_POINTS = late_pattern(r"[-+]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")


def without_points_of_thousands(
    rows: Sequence[tuple[int, Sequence[str]]],
) -> list[tuple[int, list[str]]]:
    """Return rows of a table without the points between thousands, if a number has two of them and
    no number has a point for another purpose; else the rows unchanged.

    >>> without_points_of_thousands([(2, ["1", "1.203.400"]), (3, ["2", "601.700"])])
    [(2, ['1', '1203400']), (3, ['2', '601700'])]
    """
    number_texts = [
        match[0]
        for _, cells in rows
        for cell in cells
        if "." in cell and (match := _LEADING_NUMBER.match(bare_cell(cell)))
    ]
    are_thousands = any(number.count(".") > 1 for number in number_texts)
    if not are_thousands or not all(map(_POINTS.fullmatch, number_texts)):
        return [(line, [*cells]) for line, cells in rows]
    return [
        (
            line,
            [cell.replace(".", "") if _POINTS.match(bare_cell(cell)) else cell for cell in cells],
        )
        for line, cells in rows
    ]


def meaning_of_commas(cells: Iterable[str]) -> str:
    """Return the meaning of commas in the numbers of cells: ``.`` for decimal commas, an empty text
    for commas between thousands, ``,`` if that is undecided or there are no commas.

    >>> (
    ...     meaning_of_commas(["1,5", "2,25"]),
    ...     meaning_of_commas(["1,234.5"]),
    ...     meaning_of_commas(["1,500", "2"]),
    ...     meaning_of_commas(["3"]),
    ... )
    ('.', '', ',', ',')
    >>> meaning_of_commas(["1,500", "0.29"]), meaning_of_commas(["1,500", "2.500"])
    ('', ',')
    """
    number_texts = [
        match[0]
        for cell in cells
        if "," in cell or "." in cell
        if (match := _LEADING_NUMBER.match(bare_cell(cell)))
    ]
    texts_with_commas = [text for text in number_texts if "," in text]
    if not texts_with_commas:
        return ","
    if all(_THOUSANDS.fullmatch(text) for text in texts_with_commas):
        is_certain = any("." in text or text.count(",") > 1 for text in texts_with_commas)
        # Points between thousands have three digits behind them.
        is_certain |= any(map(_DECIMAL_POINT.fullmatch, number_texts))
        return "" if is_certain else ","
    has_points = any(re.fullmatch(r"[-+]?[0-9]*\.[0-9]+", text) for text in number_texts)
    is_decimal = all(_DECIMAL_COMMA.fullmatch(text) for text in texts_with_commas)
    return "." if is_decimal and not has_points else ","


def with_points(cell: str, comma_meaning: str) -> str:
    """Return a cell with a point before its decimals and nothing between its thousands.

    Parameters
    ----------
    cell : as it is written
    comma_meaning : what its comma stands for, as `meaning_of_commas` returns it

    >>> with_points("1.600,50", "."), with_points("1,600.5", "")
    ('1600.50', '1600.5')
    """
    if comma_meaning == ".":  # points then stand between thousands
        grouped_digits = r"(?<![\d.])(\d{1,3}(?:\.\d{3})+)(?=,\d)"
        cell = re.sub(grouped_digits, lambda match: match[1].replace(".", ""), cell)
    return cell if comma_meaning == "," else cell.replace(",", comma_meaning)
