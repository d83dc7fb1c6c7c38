"""Methods go by name and answer the same question."""

from __future__ import annotations

import pytest

from slipstick import LAWS, closed_model, delay, service, solve
from slipstick.errors import UnknownNameError
from slipstick.method.answers import _number_with_unit
from slipstick.method.methods import compute_answers
from slipstick.vocabulary import METHODS

BUS = closed_model(delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0), processors=20)


@pytest.mark.parametrize("method", METHODS["activity"])
def test_every_method_answers_for_a_model_and_says_its_name(method: str) -> None:
    (answer,) = compute_answers(BUS, {}, method)
    assert (answer.model, answer.method) == ("model", method)
    assert answer.values["time"].unit == "s"
    assert answer.notes


def test_the_closed_form_is_the_default() -> None:
    assert compute_answers(BUS, {})[0].values == solve(BUS).values


def test_a_method_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError) as caught:
        compute_answers(BUS, {}, "bound")
    assert str(caught.value) == "there is no method 'bound'; did you mean 'bounds'?"


def test_a_law_has_a_closed_form_only() -> None:
    with pytest.raises(UnknownNameError) as caught:
        compute_answers(LAWS["flow-line"], {}, "bounds")
    assert (
        str(caught.value)
        == "there is no method 'bounds' for it: it is for activities and programs; known:"
        " closed-form"
    )


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1.5, "s", "1.5 s"),
        (1.0, "s", "1 s"),
        (0.032, "s", "32 ms"),
        (0.001, "s", "1 ms"),
        (4e-5, "s", "40 us"),
        (2.5e-10, "s", "0.25 ns"),
        (0.0, "s", "0 s"),
        (0.5, "1", "0.5"),
        (0.5, "1/s", "0.5 1/s"),
    ],
)
def test_bounds_are_written_as_the_units_of_answers_are(
    value: float, unit: str, words: str
) -> None:
    assert _number_with_unit(value, unit) == words
