"""Units: every factor by a second road, every refusal word for word, and text that comes back as
it went.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slipstick.errors import UnitError
from slipstick.expression.nodes import BASES, BYTES, COUNT, RATE, TIME, TIME_PER_BYTE, Dimension
from slipstick.units import UNITS, choose_unit, parse, parse_unit, show, to_base

BANDWIDTH, FREQUENCY = Dimension.of("B/s"), Dimension.of("cycle/s")
KNOWN = "known: s, B, op, request, page, message, cycle, bit, Hz, %, min, h, ..."
MISSING = "a unit is missing; write products as 'B*op', quotients as 'B/s', powers as 's^2'"
TWO_WAYS = "'*' after '/' can be read in two ways; write 's*op/B' or 's/B/op'"
NOT_ONE = "this is not one number with one unit; write it as in '12000 us' or '1.5e3 us'"
NO_NUMBER = "this does not begin with a number; write a number and a unit, such as '5 us'"
NOT_FINITE = "the number is not finite; write a finite one, such as '5 us'"
SEPARATOR = (
    "a number has no ',' and no '_'; write 1000 for a thousand, 1.5 for one and a half, and several"
    " values as an axis of 'vary' in a study"
)
LEADING_ZERO = "a number with a leading zero can be read in two ways; write it without the zero"
OUT_OF_RANGE = "is out of range; in base units its size must be between 5e-324 and 1.7e308"
POWER = "is not a whole number from 1 to 9 or -9 to -1; write it as in 's^2'"

sizes = st.floats(min_value=1e-290, max_value=1e290)
values = st.one_of(st.just(0.0), sizes, sizes.map(lambda size: -size))
dimensions = st.one_of(
    st.sampled_from(
        [COUNT, TIME, BYTES, RATE, TIME_PER_BYTE, BANDWIDTH, FREQUENCY, Dimension.of("op/s")]
    ),
    st.tuples(*[st.integers(-9, 9)] * len(BASES)).map(Dimension),
)


def of(dimension: Dimension) -> list[str]:
    return [unit for unit, (_, counted) in UNITS.items() if counted == dimension]


def spelt(dimension: Dimension) -> str:
    return " ".join(sorted(of(dimension)))


def refusal(text: str) -> str:
    with pytest.raises(UnitError) as caught:
        parse(text)
    return str(caught.value)


# --- the table, by a second road ---


@cache
def registry() -> Any:
    import pint  # built once, and only if a test asks: it takes a tenth of a second

    units: Any = pint.UnitRegistry(non_int_type=Fraction)
    units.define("op = [operation]")
    return units


def in_pint(unit: str, base: str) -> Fraction:
    return Fraction(registry()(f"1 {unit}").to(base).magnitude)


@pytest.mark.turns(6)
@pytest.mark.parametrize("unit", of(TIME))
def test_times_are_those_of_pint(unit: str) -> None:
    assert UNITS[unit][0] == in_pint(unit, "s")


@pytest.mark.turns(4)
@pytest.mark.parametrize("unit", of(BYTES))
def test_information_is_that_of_pint(unit: str) -> None:
    assert UNITS[unit][0] == in_pint(unit, "B")


@pytest.mark.parametrize("unit", of(FREQUENCY))
def test_frequencies_are_those_of_pint(unit: str) -> None:
    assert UNITS[unit][0] == in_pint(unit, "Hz")  # within the family: pint's cycle is 2 pi


@pytest.mark.parametrize("unit", of(Dimension.of("op")))
def test_operations_have_the_decimal_prefixes_of_pint(unit: str) -> None:
    assert UNITS[unit][0] == in_pint(unit, "op")


def test_the_rest_of_the_table_is_one_of_its_own_kind() -> None:
    rest = {unit: (Fraction(1), unit) for unit in ("request", "page", "message", "cycle", "1")}
    rest["%"] = (Fraction(1, 100), "1")
    rest |= dict.fromkeys(("req", "reqs", "requests"), (Fraction(1), "1"))
    rest |= dict.fromkeys(("rps", "qps", "tps"), (Fraction(1), "1/s"))
    tried = {TIME, BYTES, FREQUENCY, Dimension.of("op")}
    left = {
        unit: (size, str(counted))
        for unit, (size, counted) in UNITS.items()
        if counted not in tried
    }
    assert left == rest


def test_the_table_holds_what_is_documented() -> None:
    assert (
        spelt(TIME)
        == "day days h min month months ms ns ps s us week weeks year years \N{MICRO SIGN}s"
        " \N{GREEK SMALL LETTER MU}s"
    )
    assert (
        spelt(BYTES)
        == "B EB EiB GB Gbit GiB Gibit KiB Kibit MB Mbit MiB Mibit PB PiB TB Tbit TiB Tibit bit kB"
        " kbit"
    )
    assert spelt(FREQUENCY) == "GHz Hz MHz THz kHz"
    assert spelt(Dimension.of("op")) == "Eop Gop Mop Pop Top kop op"


def test_a_year_is_365_and_a_quarter_days_and_a_month_a_twelfth_of_it() -> None:
    assert parse_unit("year")[0] == Fraction("365.25") * parse_unit("day")[0]
    assert parse_unit("month")[0] * 12 == parse_unit("year")[0]


@pytest.mark.parametrize("span", ["day", "week", "month", "year"])
def test_long_times_may_be_plural(span: str) -> None:
    assert parse(f"3 {span}s") == parse(f"3 {span}")
    assert parse(f"2 /{span}s") == parse(f"2 /{span}")


# --- reading ---


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("0.08 us/B", 8e-8, "s/B"),
        ("100 Mbit/s", 12.5e6, "B/s"),
        ("38 MB/s", 38e6, "B/s"),
        ("5 op/cycle", 5.0, "op/cycle"),
        ("0.3 /s", 0.3, "1/s"),
        ("0.3/s", 0.3, "1/s"),
        ("0.3 1/s", 0.3, "1/s"),
        ("1 / s", 1.0, "1/s"),
        ("3 request/s", 3.0, "request/s"),
        ("5us", 5e-6, "s"),
        (" 5 us\n", 5e-6, "s"),
        ("5 \N{MICRO SIGN}s", 5e-6, "s"),
        ("5 \N{GREEK SMALL LETTER MU}s", 5e-6, "s"),
        (".5 s", 0.5, "s"),
        ("5. s", 5.0, "s"),
        ("-1.5e-3 s", -0.0015, "s"),
        ("+2E+3 s", 2000.0, "s"),
        ("1e-06 s", 1e-6, "s"),  # as Python and YAML print it
        ("0 s", 0.0, "s"),
        ("12", 12.0, "1"),
        ("50 %", 0.5, "1"),
        ("50%", 0.5, "1"),
        ("5 GHz", 5e9, "cycle/s"),
        ("5e3op", 5000.0, "op"),
        ("2 B*op/s^2", 2.0, "B op/s^2"),
        ("2 B op", 2.0, "B op"),
        ("1 s^-1", 1.0, "1/s"),
        ("1 s/B op", 1.0, "s/B op"),
        ("1 s/B/op", 1.0, "s/B op"),
        ("8 bit", 1.0, "B"),
        ("1 Tibit", 2.0**37, "B"),
        ("5e-324 s", 5e-324, "s"),
        ("1e-300 ns", 1e-309, "s"),
        ("1.7e308 s", 1.7e308, "s"),
    ],
)
def test_reads(text: str, value: float, dimension: str) -> None:
    assert parse(text) == (value, Dimension.of(dimension))
    assert to_base(text, Dimension.of(dimension)) == value


@given(st.integers(-(10**25), 10**25), st.integers(-60, 60), st.sampled_from(sorted(UNITS)))
@example(8, -2, "us")
@example(10**23 + 1, 0, "s")
def test_a_value_is_rounded_once(digits: int, exponent: int, unit: str) -> None:
    value, _ = parse(f"{digits}e{exponent} {unit}/{unit} {unit}^2")
    assert value == float(Fraction(digits) * Fraction(10) ** exponent / UNITS[unit][0] ** 2)


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=12))
def test_numbers_are_those_of_python(number: Any) -> None:
    assert parse(f"{number:f} s")[0] == float(number)


@given(st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS)))
def test_scales_multiply_and_divide(one: str, other: str) -> None:
    (a, kind), (b, sort) = parse_unit(one), parse_unit(other)
    assert parse_unit(f"{one}*{other}") == parse_unit(f"{one} {other}") == (a * b, kind * sort)
    assert parse_unit(f"{one}/{other}") == (a / b, kind / sort)
    assert parse_unit(f"{one}^3") == (a**3, kind**3)
    assert (
        parse_unit(f"/{one}")
        == parse_unit(f"1/{one}")
        == parse_unit(f"{one}^-1")
        == (1 / a, COUNT / kind)
    )
    assert (
        parse_unit(f"{one}/{other}/{other}")
        == parse_unit(f"{one}/{other} {other}")
        == (a / b**2, kind / sort**2)
    )


@given(dimensions)
def test_a_dimension_is_its_own_unit(dimension: Dimension) -> None:
    assert parse_unit(str(dimension)) == (Fraction(1), dimension)


def test_bits_are_bytes_and_nothing_else_turns_into_anything() -> None:
    assert to_base("8 Mbit", BYTES) == to_base("1 MB", BYTES)
    for base in BASES:
        for other in {"1", *BASES} - {base}:
            with pytest.raises(UnitError):
                to_base(f"1 {base}", Dimension.of(other))


def test_a_thousand_quantities() -> None:
    units = "us", "MB/s", "ns/B", "/s", "kop"
    read = [parse(f"{n / 8} {unit}") for n in range(200) for unit in units]
    factors = [parse_unit(unit) for unit in units]
    assert read == [
        (float(Fraction(n, 8) * factor), kind) for n in range(200) for factor, kind in factors
    ]


# --- refusing, with the whole message ---


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("unit", "way_out"),
    [
        ("Mb", "write 'Mbit' or 'MB'"),
        ("mb", "write 'Mbit' or 'MB'"),
        ("Kb", "write 'kbit' or 'kB'"),
        ("kb", "write 'kbit' or 'kB'"),
        ("gb", "write 'Gbit' or 'GB'"),
        ("b", "write 'bit' or 'B'"),
        ("Gib", "write 'Gibit' or 'GiB'"),
        ("Pb", "write 'PB'"),
        ("KB", "write 'kB' (1000 B) or 'KiB' (1024 B)"),
        ("k", "write 'e3', as in '5e3 op'"),
        ("K", "write 'e3', as in '5e3 op'"),
        ("M", "write 'e6', as in '5e6 op'"),
        ("G", "write 'e9', as in '5e9 op'"),
        ("T", "write 'e12', as in '5e12 op'"),
        ("m", "write 'min', 'ms' or 'month'"),
        ("S", "write 's'"),
        ("sec", "write 's'"),
        ("secs", "write 's'"),
        ("Seconds", "write 's'"),
        ("usec", "did you mean 'us'?"),
        ("msec", "did you mean 'ms'?"),
        ("msecs", "write 'ms'"),
        ("usecs", "write 'us'"),
        ("nanoseconds", "write 'ns'"),
        ("minutes", "write 'min'"),
        ("hr", "write 'h'"),
        ("d", "write 'days'"),
        ("yr", "write 'years'"),
        ("bits", "did you mean 'bit'?"),
        ("bytes", "write 'B'"),
        ("percent", "write '%'"),
        ("per s", "write '/'"),
        ("mhz", "write 'MHz'"),
        ("bps", "write 'bit/s' or 'B/s'"),
        ("Mbps", "write 'Mbit/s' or 'MB/s'"),
        ("MBps", "write 'Mbit/s' or 'MB/s'"),
        ("Gbps", "write 'Gbit/s' or 'GB/s'"),
        ("flop", "did you mean 'op'?"),
        ("ops", "write 'op' or 'op/s'"),
        ("GFLOPS", "write 'Gop' or 'Gop/s'"),
        ("reqest", "did you mean 'request'?"),
        ("foo", KNOWN),
        ("(B", "write s/(B op) without brackets, as 's/B/op'"),
    ],
)
def test_refuses_a_unit_and_names_those_it_may_be(unit: str, way_out: str) -> None:
    assert refusal(f"5 {unit}") == f"'5 {unit}': there is no unit {unit.split()[0]!r}; {way_out}"
    assert (
        refusal(f"5 s/{unit}") == f"'5 s/{unit}': there is no unit {unit.split()[0]!r}; {way_out}"
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,000 s", SEPARATOR),
        ("1,5 s", SEPARATOR),
        ("1_000 s", SEPARATOR),
        ("nan s", NOT_FINITE),
        ("inf", NOT_FINITE),
        ("-Infinity s", NOT_FINITE),
        (".inf", NOT_FINITE),
        ("0x10 s", "a number is decimal; write it without 0x"),
        ("017 s", LEADING_ZERO),
        ("00.5 s", LEADING_ZERO),
        ("12 000 s", NOT_ONE),
        ("5 1", NOT_ONE),
        ("5 1 s", NOT_ONE),
        ("1.2.3 s", NOT_ONE),
        ("1e5.5 s", NOT_ONE),
        ("", NO_NUMBER),
        ("us", NO_NUMBER),
        ("- 5 s", NO_NUMBER),
        ("\N{MINUS SIGN}5 s", NO_NUMBER),
        ("\N{ARABIC-INDIC DIGIT FIVE} s", NO_NUMBER),
        ("5 s/", MISSING),
        ("5 s//B", MISSING),
        ("5 *s", MISSING),
        ("5 s**2", MISSING),
        ("5 s/B*op", TWO_WAYS),
        ("5 s^0", f"the power in 's^0' {POWER}"),
        ("5 s^10", f"the power in 's^10' {POWER}"),
        ("5 s^x", f"the power in 's^x' {POWER}"),
        ("5 s^", f"the power in 's^' {POWER}"),
        ("1/3 s", f"there is no unit '3'; {KNOWN}"),
    ],
)
def test_refuses(text: str, why: str) -> None:
    assert refusal(text) == f"{text!r}: {why}"


@pytest.mark.parametrize(
    "text",
    [
        "1e400 s",
        "-1e400 s",
        "1e308 GB",
        "1e999999999 s",
        "1e99999999999999999999999 s",
        "1e-400 s",
        "1e-320 us",
    ],
)
def test_refuses_what_floating_point_cannot_hold(text: str) -> None:
    assert refusal(text) == f"{text!r} {OUT_OF_RANGE}"


def test_refuses_long_text_without_repeating_it() -> None:
    message = f"'{'9' * 40}'... has 201 characters, over 200; write it as in '5 us'"
    assert refusal("9" * 201) == message
    with pytest.raises(UnitError) as caught:
        parse_unit("9" * 201)
    assert str(caught.value) == message


def test_refuses_a_missing_unit_in_a_scale() -> None:
    with pytest.raises(UnitError) as caught:
        parse_unit("")
    assert str(caught.value) == f"'': {MISSING}"


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("5", "s", "'5' lacks its unit; write it, such as '5 us'"),
        ("0", "B", "'0' lacks its unit; write it, such as '0 MB'"),
        ("12", "1/s", "'12' lacks its unit; write it, such as '12 /s'"),
        ("2", "op/cycle", "'2' lacks its unit; write it, such as '2 op/cycle'"),
        ("8 MB", "s", "'8 MB' is a quantity in B, but a quantity in s is wanted, such as '8 us'"),
        ("8 MB", "1", "'8 MB' is a quantity in B, but a plain number is wanted, such as '8'"),
        (
            "5 %",
            "s/B",
            "'5 %' is a plain number, but a quantity in s/B is wanted, such as '5 ns/B'",
        ),
        (
            "64 GB/s",
            "cycle/s",
            "'64 GB/s' is a quantity in B/s, but a quantity in cycle/s is wanted, such as '64 GHz'",
        ),
        (
            "3 /s",
            "B/s",
            "'3 /s' is a quantity in 1/s, but a quantity in B/s is wanted, such as '3 MB/s'",
        ),
    ],
)
def test_insists_on_the_dimension(text: str, wanted: str, message: str) -> None:
    with pytest.raises(UnitError) as caught:
        to_base(text, Dimension.of(wanted))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "wanted", ["s", "B", "s/B", "B/s", "1/s", "cycle/s", "1", "op/cycle", "s B/op^2"]
)
def test_the_example_in_a_message_would_do(wanted: str) -> None:
    with pytest.raises(UnitError) as caught:
        to_base("7 page", Dimension.of(wanted))
    to_base(str(caught.value).split("'")[-2], Dimension.of(wanted))


@given(
    st.one_of(st.text(max_size=220), st.text("0123456789eE+-.,_ */^%kMGismuBbitopHz", max_size=220))
)
@example("1" * 200)
@example("1 " + "EB^9 " * 39)
@example("1 /" + "ps^9/" * 39)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value, _ = parse(text)
    except UnitError:
        return
    assert math.isfinite(value)


# --- writing ---


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (1.705e-3, "s", "1.705 ms"),
        (12e-6, "s", "12 us"),
        (-5e-6, "s", "-5 us"),
        (3.2e-10, "s", "0.32 ns"),
        (0.9999996e-3, "s", "1 ms"),  # not 1000 us
        (0, "s", "0 s"),
        (90, "s", "90 s"),
        (120, "s", "2 min"),
        (6050, "s", "100.8 min"),
        (7200, "s", "2 h"),
        (100_000, "s", "27.78 h"),
        (172_800, "s", "2 days"),
        (1e7, "s", "115.7 days"),
        (1e8, "s", "3.169 years"),
        (0, "B", "0 B"),
        (0.3, "B", "0.3 B"),
        (1000, "B", "1000 B"),
        (4096, "B", "4 KiB"),
        (-4096, "B", "-4 KiB"),
        (4120, "B", "4120 B"),
        (12_345, "B", "12.35 kB"),
        (65_536, "B", "64 KiB"),
        (128_000, "B", "128 kB"),  # 125 KiB too, and no shorter
        (1_572_864, "B", "1536 KiB"),
        (10**10, "B", "10 GB"),
        (2**60, "B", "1 EiB"),
        (38e6, "B/s", "38 MB/s"),
        (8e-8, "s/B", "80 ns/B"),
        (0.002, "s/request", "2 ms/request"),
        (2.5e9, "cycle/s", "2.5 GHz"),
        (0, "cycle/s", "0 Hz"),
        (5e9, "op/s", "5 Gop/s"),
        (0.3, "1/s", "0.3 /s"),
        (16_384, "1", "16384"),
        (9999.7, "1", "10000"),
        (1e10, "1", "1e+10"),
        (1 / 3, "1", "0.3333"),
        (5, "op/cycle", "5 op/cycle"),
        (2.5, "s B/op^2", "2.5 s B/op^2"),
        (math.nan, "s", "not finite"),
        (-math.inf, "B", "not finite"),
    ],
)
def test_shows(value: float, dimension: str, text: str) -> None:
    assert show(value, Dimension.of(dimension)) == text


def test_shows_as_many_digits_as_asked_but_all_before_the_point() -> None:
    assert [show(1.23456e-5, TIME, digits) for digits in (1, 3, 6)] == [
        "12 us",
        "12.3 us",
        "12.3456 us",
    ]


@given(values, dimensions)
def test_what_is_shown_is_read_back(value: float, dimension: Dimension) -> None:
    assert to_base(show(value, dimension, digits=17), dimension) == pytest.approx(value, rel=1e-15)
    assert to_base(show(value, dimension), dimension) == pytest.approx(value, rel=5.1e-4)


@given(values, dimensions, st.integers(1, 20))
def test_what_is_shown_is_ascii(value: float, dimension: Dimension, digits: int) -> None:
    assert show(value, dimension, digits).isascii()


@given(st.integers(0, 10**18))
def test_bytes_with_a_binary_prefix_are_exact(count: int) -> None:
    text = show(count, BYTES)
    if "i" in text:
        assert to_base(text, BYTES) == count


@pytest.mark.parametrize(
    ("values", "dimension", "chosen"),
    [
        ([3e-6, 12e-6], "s", ("us", 1e-6)),
        ([-12e-6, 0.0], "s", ("us", 1e-6)),
        ([6050, 1], "s", ("min", 60.0)),
        ([math.inf, math.nan, 2.0], "s", ("s", 1.0)),
        ([], "s", ("s", 1.0)),
        ([], "B", ("B", 1.0)),
        ([0.0], "cycle/s", ("Hz", 1.0)),
        ([1, 64], "1", ("1", 1.0)),
        ([0.3, 1e5], "1/s", ("1/s", 1.0)),
        ([1e7, 2e9], "B/s", ("GB/s", 1e9)),
        ([4096, 100], "B", ("B", 1.0)),
        ([4096, 2**20, 0], "B", ("KiB", 1024.0)),
        ([2**20, 2**30], "B", ("MiB", 2.0**20)),
        ([128_000, 256_000], "B", ("kB", 1000.0)),
        ([0.5, 4096], "B", ("kB", 1000.0)),
        ([5, 1e6], "B", ("MB", 1e6)),
    ],
)
def test_chooses_one_unit_for_all(
    values: list[float], dimension: str, chosen: tuple[str, float]
) -> None:
    assert choose_unit(values, Dimension.of(dimension)) == chosen


@given(st.lists(values, max_size=5), dimensions)
def test_a_chosen_unit_is_one_that_can_be_read(values: list[float], dimension: Dimension) -> None:
    unit, factor = choose_unit(iter(values), dimension)
    exact, found = parse_unit(unit)
    assert (float(exact), found) == (factor, dimension)


@given(values, dimensions)
def test_one_value_is_shown_in_the_unit_chosen_for_it(value: float, dimension: Dimension) -> None:
    unit, _ = choose_unit([value], dimension)
    assert show(value, dimension).endswith(unit.removeprefix("1"))


@pytest.mark.parametrize(
    ("count", "text"),
    [(99_999.0, "99999"), (123_456.0, "123456"), (999_999_999.0, "999999999"), (1e9, "1e+09")],
)
def test_digits_before_the_point_are_kept_below_a_thousand_million(count: float, text: str) -> None:
    assert (show(count, COUNT), show(-count, COUNT)) == (text, f"-{text}")
