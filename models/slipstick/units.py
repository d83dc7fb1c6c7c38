"""Units at the edge: text such as ``5 us`` in, floats in base units inside, text out again.

A quantity is a number, an optional space and a unit expression: units joined by a space or ``*``,
divided by ``/``, raised by ``^``: ``0.08 us/B``, ``0.3 /s``, ``2 B*op/s^2``. A space binds closer
than ``/``, as in the text of a `Dimension`: ``s/B op`` is s/(B op). A ``*`` after ``/`` could be
read in two ways and is refused. A year is 365.25 days, a month a twelfth of it; days, weeks, months
and years may be plural; 8 bit are 1 B; 1 Hz is 1 cycle/s.

Why this shape: this is the only place where a prefix is spelt. Factors are exact and the product is
rounded once, so a text has one value wherever it is read. Whatever two people could read
differently (``Mb``, ``KB``, ``m``, ``1,000``, ``017``) is refused, with the spellings to choose
from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, isfinite

from slipstick.errors import UnitError, did_you_mean
from slipstick.expression.nodes import BASES, BYTES, COUNT, Dimension
from slipstick.late import late_pattern

LONGEST_TEXT = 200
"""The largest number of characters of a quantity."""

MOST_PLACES = 5000
"""The largest number of decimal places; a number with more is refused before it is expanded."""

PLAIN_BELOW = 10_000
"""A whole number of bytes below this is written without a prefix [B]."""

_MICRO = "u\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}"
_PREFIXES = {
    "": Fraction(1),
    **{prefix: Fraction(1000**n) for n, prefix in enumerate("kMGTPE", 1)},
    **{f"{prefix}i": Fraction(1024**n) for n, prefix in enumerate("KMGTPE", 1)},
    **{
        prefix: Fraction(1, 1000**n)
        for n, same in enumerate(("m", _MICRO, "n", "p"), 1)
        for prefix in same
    },
}
_SECONDS_BY_SPAN = {
    "min": 60,
    "h": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_629_800,
    "year": 31_557_600,
}
_SPANS_WITH_PLURAL = ("day", "week", "month", "year")
_UNIT_ROWS = (  # unit, its size in base units, their dimension, the prefixes it takes
    *((base, Fraction(1), base, "") for base in BASES),
    ("s", Fraction(1), "s", " ".join(f"m{_MICRO}np")),
    ("B", Fraction(1), "B", "k M G T P E Ki Mi Gi Ti Pi Ei"),
    ("bit", Fraction(1, 8), "B", "k M G T Ki Mi Gi Ti"),
    ("Hz", Fraction(1), "cycle/s", "k M G T"),
    ("op", Fraction(1), "op", "k M G T P E"),
    ("%", Fraction(1, 100), "1", ""),
    *((span, Fraction(size), "s", "") for span, size in _SECONDS_BY_SPAN.items()),
    *((f"{span}s", Fraction(_SECONDS_BY_SPAN[span]), "s", "") for span in _SPANS_WITH_PLURAL),
    ("1", Fraction(1), "1", ""),
    *((counted, Fraction(1), "1", "") for counted in ("req", "reqs", "requests")),
    *((rate, Fraction(1), "1/s", "") for rate in ("rps", "qps", "tps")),
)
UNITS: Mapping[str, tuple[Fraction, Dimension]] = {
    prefix + unit: (factor * size, Dimension.of(dimension))
    for prefix, factor in _PREFIXES.items()
    for unit, size, dimension, prefixes in _UNIT_ROWS
    if prefix in ("", *prefixes.split())
}
"""Every unit: its spelling, its exact factor to base units and its dimension."""

# The atomic group and possessive repeats keep '017' and '1,000' from matching in part.
_NUMBER = r"[+-]?(?>(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
_QUANTITY = late_pattern(rf"({_NUMBER})(?![0-9.,_xX])\s*+(?![02-9]|1(?!\s*/))(.*)", re.DOTALL)
_FAULTS = (
    (
        r"[+-]?\.?(nan|inf|infinity)\b",
        "the number is not finite; write a finite one, such as '5 us'",
    ),
    (r"[+-]?0x", "a number is decimal; write it without 0x"),
    (
        r"[+-]?0[0-9]",
        "a number with a leading zero can be read in two ways; write it without the zero",
    ),
    (
        r"[+-]?[0-9.]+[,_]",
        (
            "a number has no ',' and no '_'; write 1000 for a thousand, 1.5 for one and a half, and"
            " several values as an axis of 'vary' in a study"
        ),
    ),
    (
        r"[+-]?[0-9.]",
        "this is not one number with one unit; write it as in '12000 us' or '1.5e3 us'",
    ),
    (r"", "this does not begin with a number; write a number and a unit, such as '5 us'"),
)


class InBaseUnits:
    """A number that is given in base units of any dimension, as Python code does; files and
    commands give units.

    >>> isinstance(in_base_units(4096), InBaseUnits), in_base_units(4096) == 4096
    (True, True)
    """


class _WholeInBaseUnits(InBaseUnits, int):
    pass


class _RealInBaseUnits(InBaseUnits, float):
    pass


def in_base_units(value: float) -> int | float:
    """Mark a value as one in base units; whole numbers stay whole."""
    return _WholeInBaseUnits(value) if isinstance(value, int) else _RealInBaseUnits(value)


def parse(text: str) -> tuple[float, Dimension]:
    """Parse a quantity; return its value in base units, correctly rounded, and its dimension.

    Parameters
    ----------
    text : a number and a unit expression, or a bare number, whose dimension is 1

    >>> parse("0.08 us/B")
    (8e-08, Dimension.of('s/B'))
    >>> parse("50 %")
    (0.5, Dimension.of('1'))
    """
    number_text, unit = _number_and_unit(text)
    factor, dimension = _factor_and_dimension(text, unit or "1")
    return _value_in_base_units(text, number_text, factor), dimension


_RATE = Dimension.of("1/s")
_COUNTED_RATES = tuple(Dimension.of(f"{counted}/s") for counted in ("request", "message", "cycle"))
"""Rates that say what they count; where a plain rate is wanted, each is one."""


def to_base(text: str, dimension: Dimension) -> float:
    """Parse a quantity that must have a given dimension; return its value in base units.

    Parameters
    ----------
    text : as for `parse`
    dimension : the dimension it must have

    >>> to_base("64 GB/s", Dimension.of("B/s"))
    64000000000.0
    >>> to_base("100 req/s", Dimension.of("1/s")), to_base("2 kHz", Dimension.of("1/s"))
    (100.0, 2000.0)
    >>> to_base("8 MB", Dimension.of("s"))
    Traceback (most recent call last):
    slipstick.errors.UnitError: '8 MB' is a quantity in B, but a quantity in s is wanted, such as '8
    us'
    """
    number_text, unit = _number_and_unit(text)
    if not unit and dimension != COUNT:
        raise UnitError(
            f"{text!r} lacks its unit; write it, such as"
            f" {_example_quantity(number_text, dimension)}"
        )
    factor, own_dimension = _factor_and_dimension(text, unit or "1")
    if own_dimension != dimension and not (dimension == _RATE and own_dimension in _COUNTED_RATES):
        wanted_dimension_text = (
            f"but {_dimension_in_words(dimension)} is wanted, such as"
            f" {_example_quantity(number_text, dimension)}"
        )
        raise UnitError(
            f"{text!r} is {_dimension_in_words(own_dimension)}, {wanted_dimension_text}"
        )
    return _value_in_base_units(text, number_text, factor)


def parse_unit(unit: str) -> tuple[Fraction, Dimension]:
    """Parse a unit expression; return its exact factor to base units and its dimension.

    Parameters
    ----------
    unit : such as ``Mbit/s``; ``1`` for plain numbers

    >>> parse_unit("Mbit/s")
    (Fraction(125000, 1), Dimension.of('B/s'))
    """
    return _factor_and_dimension(_text_of_checked_length(unit), unit)


def _text_of_checked_length(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise UnitError(
            f"{text[:40]!r}... has {len(text)} characters, over {LONGEST_TEXT}; write it as in"
            " '5 us'"
        )
    return text


def _number_and_unit(text: str) -> tuple[str, str]:
    """Divide the text of a quantity into its number and its unit; raises if it has another form."""
    stripped_text = _text_of_checked_length(text).strip()
    if match := _QUANTITY.fullmatch(stripped_text):
        return match[1], match[2]
    fault = next(
        fault for pattern, fault in _FAULTS if re.match(pattern, stripped_text, re.IGNORECASE)
    )
    raise UnitError(f"{text!r}: {fault}")


def _factor_and_dimension(text: str, unit: str) -> tuple[Fraction, Dimension]:
    try:
        return _factor_of(unit)
    except UnitError as error:
        # The cache knows units only; the reader of the message needs the whole text.
        raise UnitError(f"{text!r}: {error}", error.spelling) from None


def _value_in_base_units(text: str, number_text: str, factor: Fraction) -> float:
    """Multiply a number in decimal digits by an exact factor, and round once."""
    try:
        # As a fraction, so that the value is rounded once: 0.1 us by a product of doubles would be
        # rounded twice.
        decimal_number = Decimal(number_text)
        # A number such as 1e-999999 would be written out with a million digits.
        numerator, denominator = (
            decimal_number.as_integer_ratio()
            if abs(decimal_number.adjusted()) < MOST_PLACES
            else (1, 0)
        )
        # Products of whole numbers are exact, so that the quotient is rounded once.
        value = numerator * factor.numerator / (denominator * factor.denominator)
    except ArithmeticError:
        numerator = 1
        value = 0.0
    if numerator and not value:
        raise UnitError(
            f"{text!r} is out of range; in base units its size must be between 5e-324 and 1.7e308"
        )
    return value


def _dimension_in_words(dimension: Dimension) -> str:
    return "a plain number" if dimension == COUNT else f"a quantity in {dimension}"


def _example_quantity(number_text: str, expected_dimension: Dimension) -> str:
    unit = {"s": "us", "B": "MB", "s/B": "ns/B", "B/s": "MB/s", "cycle/s": "GHz"}.get(
        str(expected_dimension), str(expected_dimension)
    )
    return repr(f"{number_text} {unit.removeprefix('1')}".rstrip())


@lru_cache(maxsize=1024)
def _factor_of(unit: str) -> tuple[Fraction, Dimension]:
    """Return the exact factor of a unit expression to base units, and its dimension."""
    numerator, *denominators = unit.split("/")
    if any("*" in product for product in denominators):
        raise UnitError("'*' after '/' can be read in two ways; write 's*op/B' or 's/B/op'")
    numerator = "1" if denominators and not numerator.strip() else numerator
    factor = Fraction(1)
    dimension = COUNT
    for sign, product in [(1, numerator), *((-1, product) for product in denominators)]:
        for unit_word in [
            unit_word
            for factor_text in product.split("*")
            for unit_word in factor_text.split() or [""]
        ]:
            term_factor, term_dimension = _unit_power(unit_word)
            factor = factor * term_factor**sign
            dimension = dimension * term_dimension**sign
    return factor, dimension


def _unit_power(unit_word: str) -> tuple[Fraction, Dimension]:
    """Return the factor and the dimension of one unit, raised to the power written behind it."""
    if not unit_word:
        raise UnitError(
            "a unit is missing; write products as 'B*op', quotients as 'B/s', powers as 's^2'"
        )
    unit_name, caret, power = unit_word.partition("^")
    if unit_name not in UNITS:
        if unit_name in ("+", "-", "*", "/") or "." in unit_name:
            raise UnitError(
                "this is a formula; a value here is one number with one unit, such as '5 us', and"
                " formulas stand in the file of a model"
            )
        spelling = _correct_spelling(unit_name)
        suggestion = (
            f"; write {spelling}"
            if spelling
            else did_you_mean(unit_name, [unit for unit in UNITS if unit.isascii()])
        )
        raise UnitError(f"there is no unit {unit_name!r}{suggestion}", spelling)
    if caret and not re.fullmatch("-?[1-9]", power):
        raise UnitError(
            f"the power in {unit_word!r} is not a whole number from 1 to 9 or -9 to -1; write it as"
            " in 's^2'"
        )
    factor, dimension = UNITS[unit_name]
    return factor ** int(power or 1), dimension ** int(power or 1)


_SYNONYMS = (  # a unit, then what else people call it that `did_you_mean` would not find
    "s sec secs second seconds, ms millisecond milliseconds msecs, us microsecond microseconds"
    " usecs, ns nanosecond nanoseconds nsecs, h hr hrs hour hours, min mins minute minutes, days"
    " d, weeks w wk, years y yr yrs, B byte bytes, message msg, % percent, / per"
)


def _unit_by_misspelling() -> dict[str, str]:
    """Return the unit to write for each common misspelling."""
    advice_by_spelling = {unit.casefold(): repr(unit) for unit in UNITS if unit.isascii()}
    advice_by_spelling |= {
        synonym: repr(unit)
        for unit, *synonyms in map(str.split, _SYNONYMS.split(","))
        for synonym in synonyms
    }
    for prefix in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"):
        # Without regard to case a bit and a byte cannot be told apart, so both are offered.
        advice_by_spelling[f"{prefix}b".casefold()] = f"'{prefix}bit' or '{prefix}B'"
        advice_by_spelling[f"{prefix}bps".casefold()] = f"'{prefix}bit/s' or '{prefix}B/s'"
    for prefix in ("", "k", "M", "G", "T", "P", "E"):
        advice_by_spelling |= {
            f"{prefix}{plural}".casefold(): f"'{prefix}op' or '{prefix}op/s'"
            for plural in ("ops", "flops")
        }
    advice_by_spelling |= {
        prefix: f"'e{3 * n}', as in '5e{3 * n} op'" for n, prefix in enumerate("kMGT", 1)
    }
    return advice_by_spelling | {
        "m": "'min', 'ms' or 'month'",
        "KB": "'kB' (1000 B) or 'KiB' (1024 B)",
    }


def _correct_spelling(unit_name: str) -> str:
    """Return how a unit that is often misspelled is written; empty for other names."""
    if "(" in unit_name or ")" in unit_name:
        return "s/(B op) without brackets, as 's/B/op'"
    advice_by_spelling = _unit_by_misspelling()
    return advice_by_spelling.get(unit_name) or advice_by_spelling.get(unit_name.casefold(), "")


_LONG_TIMES = ("min", "h", "days", "years")
# From minutes on, a unit is taken at twice its size: 90 s and 100 min, but 2 h and 3 days. Rates
# are by the second from 3 a minute on.
_LEAST_NUMBER = {**dict.fromkeys(_LONG_TIMES, 2), "1/s": 0.05}
_TIME_UNITS = "ns us ms s"
_BYTE_UNITS = "B kB MB GB TB PB EB"
_OPERATION_UNITS = "op kop Mop Gop Top Pop Eop"


def _units_and_factors(units: str, divisor: str = "") -> tuple[tuple[str, Fraction], ...]:
    return tuple((unit + divisor, UNITS[unit][0]) for unit in units.split())


_UNITS_BY_DIMENSION = {
    "s": _units_and_factors(" ".join((_TIME_UNITS, *_LONG_TIMES))),
    "B": _units_and_factors(_BYTE_UNITS),
    "op": _units_and_factors(_OPERATION_UNITS),
    "op/s": _units_and_factors(_OPERATION_UNITS, "/s"),
    "1/s": (("1/h", Fraction(1, 3600)), ("1/min", Fraction(1, 60)), ("1/s", Fraction(1))),
    "cycle/s": _units_and_factors("Hz kHz MHz GHz THz"),
    **{f"s/{base}": _units_and_factors(_TIME_UNITS, f"/{base}") for base in BASES if base != "s"},
    **{f"B/{base}": _units_and_factors(_BYTE_UNITS, f"/{base}") for base in BASES if base != "B"},
}
_BINARY_UNITS = _units_and_factors("EiB PiB TiB GiB MiB KiB B")


def show(value: float, dimension: Dimension, digits: int = 4) -> str:
    """Write a quantity in the unit that keeps its number short, in ASCII; `to_base` reads it back.

    Bytes have a decimal prefix, unless a binary one makes them a shorter whole number.

    Parameters
    ----------
    value : in base units
    dimension : what it counts
    digits : significant digits; digits before the point are kept below 10^9 [1]

    >>> show(0.001705, Dimension.of("s")), show(0.3, Dimension.of("1/s"))
    ('1.705 ms', '0.3 /s')
    >>> [show(rate, Dimension.of("1/s")) for rate in (0.05 / 3, 0.25 / 3600, 12.0)]
    ['1 /min', '0.25 /h', '12 /s']
    >>> show(4096, Dimension.of("B")), show(4120, Dimension.of("B"))
    ('4 KiB', '4120 B')
    """
    if not isfinite(value):
        return "not finite"
    unit, factor = _suitable_unit([abs(value)], dimension, digits)
    # The quotient of whole numbers is rounded once, as that of fractions, and takes less time.
    numerator, denominator = float(value).as_integer_ratio()
    shown_number = numerator * factor.denominator / (denominator * factor.numerator)
    number_text = f"{shown_number:.{digits}g}"
    number_text = (
        f"{shown_number:.0f}" if "e+" in number_text and abs(shown_number) < 1e9 else number_text
    )
    return f"{number_text} {unit.removeprefix('1')}".rstrip()


def choose_unit(values: Iterable[float], dimension: Dimension) -> tuple[str, float]:
    """Return one unit and its factor for a whole column or axis, chosen by the largest finite size.

    Bytes that are all whole multiples of a binary unit have a binary unit.

    Parameters
    ----------
    values : in base units; those that are not finite do not count
    dimension : what they count

    >>> choose_unit([3e-6, 12e-6], Dimension.of("s"))
    ('us', 1e-06)
    >>> choose_unit([4096, 1048576], Dimension.of("B"))
    ('KiB', 1024.0)
    """
    unit, factor = _suitable_unit([abs(value) for value in values if isfinite(value)], dimension)
    return unit, float(factor)


def units_by_size(dimension: Dimension) -> list[tuple[str, float, float]]:
    """Return the units that `show` chooses from in ascending order: name, factor, and the size from
    which each is used.

    >>> units_by_size(Dimension.of("s"))[:2]
    [('ns', 1e-09, 1e-09), ('us', 1e-06, 1e-06)]
    """
    return [
        (unit, float(factor), least_size) for unit, factor, least_size in _units_by_size(dimension)
    ]


@lru_cache
def _units_by_size(dimension: Dimension) -> list[tuple[str, Fraction, float]]:
    """Return the units of `units_by_size` with their exact factors."""
    units_and_factors = _UNITS_BY_DIMENSION.get(str(dimension), ((str(dimension), Fraction(1)),))
    return [
        (unit, factor, float(factor) * _LEAST_NUMBER.get(unit, 1))
        for unit, factor in units_and_factors
    ]


_RATE_UNIT: ContextVar[str] = ContextVar("unit of rates", default="")


@contextmanager
def with_rates_in(unit: str) -> Iterator[None]:
    """Write all rates of the body in one unit, so that they can be compared; empty: each in its
    own.

    >>> with with_rates_in("1/min"):
    ...     [show(rate, Dimension.of("1/s")) for rate in (0.8, 0.25 / 60)]
    ['48 /min', '0.25 /min']
    """
    reset_token = _RATE_UNIT.set(unit)
    try:
        yield
    finally:
        _RATE_UNIT.reset(reset_token)


def _suitable_unit(
    absolute_values: list[float], dimension: Dimension, digits: int = 4
) -> tuple[str, Fraction]:
    """Return the largest unit that keeps the numbers of some values short, with its factor."""
    unit_rows = _units_by_size(dimension)
    if dimension == _RATE and (rate_unit := _RATE_UNIT.get()):
        return next(unit_row[:2] for unit_row in unit_rows if unit_row[0] == rate_unit)
    if (
        dimension == BYTES
        and not any(absolute_value % 1 for absolute_value in absolute_values)
        and (
            binary_unit_and_factor := _suitable_binary_unit(
                [int(absolute_value) for absolute_value in absolute_values]
            )
        )
    ):
        return binary_unit_and_factor
    # Rounded first: 999.99 us are shown as 1 ms.
    largest_value = float(f"{max(absolute_values, default=0.0):.{digits - 1}e}") or 1.0
    fitting_unit_rows = [
        unit_row for unit_row in unit_rows if unit_row[2] <= largest_value
    ] or unit_rows[:1]
    return fitting_unit_rows[-1][:2]


def _suitable_binary_unit(counts: list[int]) -> tuple[str, Fraction] | None:
    """Return the largest binary unit that divides all counts, if its numbers are shorter than
    decimal ones: 4 KiB, but 128 kB.
    """
    divisor = gcd(*counts)
    unit, factor = next(
        unit_and_factor for unit_and_factor in _BINARY_UNITS if divisor % unit_and_factor[1] == 0
    )
    if (multiple := divisor // factor) < PLAIN_BELOW and len(str(multiple)) < len(
        str(divisor).rstrip("0")
    ):
        return unit, factor
    return _BINARY_UNITS[-1] if max(counts, default=0) < PLAIN_BELOW else None
