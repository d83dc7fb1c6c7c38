"""Quantities: what a field takes, and every refusal word for word."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, TIME_PER_BYTE, Parameter
from slipstick.schema.kinds.activity import Amount
from slipstick.schema.kinds.quantity import (
    AnyQuantity,
    Bytes,
    Count,
    CountFormula,
    Factor,
    Formula,
    Given,
    PerByte,
    Rate,
    Time,
    TimeOrFormula,
    Whole,
    _with_unit_at_number,
)
from slipstick.schema.kinds.resources import Probability


def read(field: Any, written: object) -> Any:
    return TypeAdapter(field).validate_python(written)


def refusal(field: Any, written: object) -> str:
    with pytest.raises(ValidationError) as caught:
        read(field, written)
    return str(caught.value.errors()[0]["msg"])


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("field", "written", "value", "dimension"),
    [
        (Time, "5 us", 5e-6, TIME),
        (Time, "0 s", 0.0, TIME),
        (Bytes, "4 KiB", 4096.0, BYTES),
        (PerByte, "0.08 us/B", 8e-8, TIME_PER_BYTE),
        (Rate, "0.3 /s", 0.3, RATE),
        *(
            (Rate, written, 2e10, RATE)
            for written in ("20 GFlop/s", "20 GFLOPS", "2e4 Mflops/s", "20 Gop/s", "2e10 op/s")
        ),
        *((Amount, written, 2e9, COUNT) for written in ("2 GFlop", "2000 Mop", "2e9 flop", 2e9)),
        (Count, 3, 3.0, COUNT),
        (Count, "50%", 0.5, COUNT),
        (Whole, 8.0, 8.0, COUNT),
        (Factor, 0.5, 0.5, COUNT),
        (AnyQuantity, "3 B", 3.0, BYTES),
        (AnyQuantity, -2, -2.0, COUNT),
        (TimeOrFormula, "3 ms", 3e-3, TIME),
    ],
)
def test_a_quantity_is_read_in_base_units(
    field: Any, written: object, value: float, dimension: object
) -> None:
    given = read(field, written)
    assert (given.value, given.dimension, given.text) == (value, dimension, str(written))


def test_a_quantity_may_say_where_it_comes_from() -> None:
    assert read(Time, {"value": "5 us", "source": "me", "assumed": True}) == Given(
        5e-6, TIME, "5 us", "me", True
    )
    assert read(Time, {"value": "5 us"}) == Given(5e-6, TIME, "5 us")


@pytest.mark.parametrize(
    "text",
    ["work", "(2 * work)", "2 * work", "1 / rate", "1/rate", "work - 3", "- work", "max(a, 1)"],
)
def test_arithmetic_is_kept_as_text_where_it_may_stand(text: str) -> None:
    assert read(TimeOrFormula, text) == Formula(text)
    assert read(CountFormula, text) == Formula(text)
    assert "begin with a number" in refusal(Time, "work")


KNOWN = "known: s, B, op, request, page, message, cycle, bit, Hz, %, min, h, ..."
UNIT = "write a number with a unit, such as '5 us'; got"
REFUSED: list[tuple[Any, object, str]] = [
    (Time, 5, f"{UNIT} 5"),
    (Time, 0, f"{UNIT} 0"),
    (Time, 1e3, f"{UNIT} 1000.0"),
    (Bytes, 4096, "write a number with a unit, such as '4 KiB'; got 4096"),
    (PerByte, 1, "write a number with a unit, such as '0.08 us/B'; got 1"),
    (Rate, 1, "write a number with a unit, such as '0.3 /s'; got 1"),
    (Time, "5", "'5' lacks its unit; write it, such as '5 us'"),
    (Time, "5 B", "'5 B' is a quantity in B, but a quantity in s is wanted, such as '5 us'"),
    (Count, "5 us", "'5 us' is a quantity in s, but a plain number is wanted, such as '5'"),
    (Time, "5 uss", "'5 uss': there is no unit 'uss'; did you mean 'us'?"),
    (Time, "12:30", f"'12:30': there is no unit ':30'; {KNOWN}"),
    (
        Time,
        "no",
        "'no': this does not begin with a number; write a number and a unit, such as '5 us'",
    ),
    (Time, "nan s", "'nan s': the number is not finite; write a finite one, such as '5 us'"),
    (Time, "inf", "'inf': the number is not finite; write a finite one, such as '5 us'"),
    (
        Time,
        "017 us",
        "'017 us': a number with a leading zero can be read in two ways; write it without the zero",
    ),
    (Time, "-5 us", "must be at least 0 s, got -5 us"),
    (Time, True, "write '5 us'; got true"),
    (Time, None, "write '5 us'; got nothing"),
    (Time, ["5 us"], "write '5 us'; got a list"),
    (Count, None, "write a number; got nothing"),
    (Count, -1, "must be at least 0, got -1"),
    (
        Count,
        "x",
        "'x': this does not begin with a number; write a number and a unit, such as '5 us'",
    ),
    (Whole, 0, "must be at least 1, got 0"),
    (Whole, 2.5, "must be a whole number, got 2.5"),
    (Factor, 0, "must be more than 0, got 0"),
    (Rate, "0 /s", "must be more than 0 /s, got 0 /s"),
    (Probability, 1.5, "must be at most 1, got 1.5; write 1.5 % if this is a share"),
    (AnyQuantity, "-5 us", "must be at least 0 s, got -5 us"),
    (AnyQuantity, True, "write a number or a quantity such as '5 us'; got true"),
    (Time, {"value": 5}, f"{UNIT} 5"),
    (
        Time,
        {"value": "x + 1"},
        "'x + 1': this does not begin with a number; write a number and a unit, such as '5 us'",
    ),
    (
        TimeOrFormula,
        {"value": "work"},
        "'work': this does not begin with a number; write a number and a unit, such as '5 us'",
    ),
    (
        TimeOrFormula,
        {"value": "5 us * work"},
        (
            "'5 us * work' is a formula, which has no meaning, source or interval; write it without"
            " braces, with what it means in a comment"
        ),
    ),
    (Time, {}, "a quantity written as keys needs 'value'"),
    (Time, {"source": "me"}, "a quantity written as keys needs 'value'"),
    (
        Time,
        {"value": "5 us", "sorce": "me"},
        "a quantity has no key 'sorce'; did you mean 'source'?",
    ),
    (Time, {"value": "5 us", "source": 5}, "'source' is text; got 5"),
    (Time, {"value": "5 us", "assumed": "yes"}, "'assumed' is true or false; got 'yes'"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("field", "written", "message"), REFUSED, ids=[message[:50] for _, _, message in REFUSED]
)
def test_each_refusal_word_for_word(field: Any, written: object, message: str) -> None:
    assert refusal(field, written) == message


def test_what_was_read_is_taken_as_it_is() -> None:
    given = read(Time, "5 us")
    assert read(Time, given) is given


def test_the_unit_that_a_number_lacks_is_written_at_it() -> None:
    cost = {"cost": Parameter("cost", TIME_PER_BYTE)}
    assert _with_unit_at_number("5 * cost", TIME_PER_BYTE, cost, TIME) == "5 B * cost"
    assert _with_unit_at_number("cost * 2 / 8", TIME_PER_BYTE, cost, TIME) == "cost * 2 B / 8"
    assert _with_unit_at_number("5 * cost", TIME_PER_BYTE, cost, RATE) == ""
