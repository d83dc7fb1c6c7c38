"""What public callables refuse, in one form, whatever they are given."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import slipstick
from slipstick.arguments import (
    checked,
    either_kind,
    list_of,
    mapped_by_name,
    optional_kind,
    plain_number,
    real_number,
    row_of,
    whole_number,
)
from slipstick.errors import ModelError, SlipstickError, UnknownKeyError

public: Any = slipstick
"""The package without its types, which wrong arguments do not fit."""

NO_COUNTS = (True, b"4", "4", Decimal(4), Fraction(4), 2.5, 0, -1, math.nan, math.inf, None, [4])
NO_NUMBERS = (True, b"4", "4", Decimal(4), Fraction(4), math.nan, math.inf, None, [4], 10**400)
COUNTS: dict[str, Callable[[Any], object]] = {
    "Station: servers": public.Station,
    "Permits: number": public.Permits,
    "station: servers": lambda value: public.station(demand={"a": 1.0}, servers=value),
    "Loop: chunk": lambda value: public.Loop(4, value),
    "Simulation: least": lambda value: public.Simulation(least=value),
    "open_class: batch": lambda value: public.open_class(1.0, batch=value),
    "ReaderWriterLock: readers": lambda value: public.ReaderWriterLock(readers=value),
}
NUMBERS: dict[str, Callable[[Any], object]] = {
    "delay: time": public.delay,
    "closed_class: think_time": lambda value: public.closed_class(1, value),
    "repeat: count": lambda value: public.repeat(value, public.delay(1.0)),
    "choose: options[0][0]": lambda value: public.choose((value, public.delay(1.0))),
    "station: demand['jobs']": lambda value: public.station(demand={"jobs": value}),
    "Lock: access": lambda value: public.Lock("tas", access=value),
    "closed_model: processors": lambda value: public.closed_model(public.delay(1.0), value),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize("place", COUNTS)
@pytest.mark.parametrize("value", NO_COUNTS, ids=repr)
def test_what_is_no_count_is_refused_by_its_place(place: str, value: object) -> None:
    with pytest.raises(ModelError) as caught:
        COUNTS[place](value)
    assert str(caught.value).startswith(f"{place} must be a whole number")
    assert f", got {value!r}" in str(caught.value) or "a value of the type" in str(caught.value)


@pytest.mark.turns(5)
@pytest.mark.parametrize("place", NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: f"{value!r:.20}")
def test_what_is_no_number_is_refused_by_its_place(place: str, value: object) -> None:
    with pytest.raises(ModelError, match="a finite number in base units") as caught:
        NUMBERS[place](value)
    assert str(caught.value).startswith(f"{place} must be ")


@pytest.mark.parametrize(
    "value", [4, 4.0, np.int64(4), np.float32(4), np.array(4), np.uint8(4)], ids=repr
)
def test_a_whole_number_of_any_type_is_a_count(value: Any) -> None:
    servers = public.Station(value).servers
    assert servers == 4
    assert type(servers) is int


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("value", "by_name"),
    [
        (value, named)
        for value in (True, b"4", Decimal(4), Fraction(4), 2.5, 0, -1, math.nan, math.inf, 10**400)
        for named in (True, False)
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_what_a_name_refuses_an_object_refuses(value: Any, by_name: bool) -> None:
    model = "lock-and-bus" if by_name else public.load("lock-and-bus")
    with pytest.raises(SlipstickError):
        public.solve(model, {"population.processors": value}, method="closed-form")
    with pytest.raises(SlipstickError):
        public.solve(model, {"population.processors": [1, value]}, method="closed-form")


def test_probabilities_that_are_set_add_up_to_1() -> None:
    hit, miss = public.Parameter("hit", value=0.3), public.Parameter("miss", value=0.7)
    body = public.choose((hit, public.delay(1.0, name="a")), (miss, public.delay(2.0, name="b")))
    model = public.closed_model(body)
    assert public.solve(model, {"hit": 0.5, "miss": 0.5})["time"] == 1.5
    words = "the probabilities of choose, hit, miss, must add up to 1, got 1.2"
    with pytest.raises(ModelError, match=words):
        public.solve(model, {"hit": 0.5})
    with pytest.raises(ModelError, match="hit must be a number from 0 to 1, got 2"):
        public.solve(model, {"hit": [0.3, 2.0], "miss": [0.7, -1.0]})
    with pytest.raises(ModelError, match="a must be a number of at least 0, got -1"):
        public.solve(model, {"a": -1.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: public.delay(), "delay: missing a required argument: 'time'"),
        (
            lambda: public.delay(1.0, nmae="a"),
            "delay has no argument 'nmae'; did you mean 'name'?",
        ),
        (lambda: public.hold(5, public.delay(1.0)), "hold: resource must be text, got 5"),
        (lambda: public.then(public.delay(1.0), 5), "then: parts[1] must be an activity"),
        (lambda: public.fork([]), "fork: branches[0] must be an activity"),
        (lambda: public.load(5), "load: reference must be a name, a file, or a dict"),
        (lambda: public.run(b"x"), "run: study must be a name, a file, or a dict"),
        (lambda: public.dump(5), "dump takes a model, not a int"),
        (lambda: public.network(5, {}), "network: classes must be a dict by name"),
        (lambda: public.solve("lock-and-bus", [1]), "solve: set must be a dict of values"),
        (lambda: public.solve("lock-and-bus", simulation=5), "solve: simulation must be"),
        (lambda: public.solve("lock-and-bus")[5], "Answer.__getitem__: name must be text"),
        (lambda: public.Parameter("p") + "1", "an operand must be a finite number in base units"),
        (lambda: public.Parameter("p") ** "1", "an exponent must be a whole number"),
        (lambda: public.LAWS["amdahl-time"](serial="1"), "serial must be a number"),
    ],
)
def test_a_call_is_refused_in_words(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: public.sweep({1: [2]}), "; a path is text, got 1"),
        (
            lambda: public.solve("lock-and-bus", {"population.processors": math.inf}),
            "a number must be finite, got inf",
        ),
        (
            lambda: public.solve(
                public.load("lock-and-bus"), {"population.processors": [1, math.nan]}
            ),
            "must be a finite number in base units, or text with a unit, got nan",
        ),
        (
            lambda: public.LAWS["amdahl-time"](serial=1.0, parallel=math.inf, processors=2),
            "parallel must be a finite number, got inf",
        ),
        (
            lambda: public.LAWS["amdahl-time"](serial=[[1.0]], parallel=1.0, processors=2),
            "must be a number, an array of numbers or an expression, got [[1.0]]",
        ),
        (
            lambda: public.PROGRAMS["dvsm/diff-request"].on(
                public.load("machine/rs6000-43p-atm"), reply=True
            ),
            "reply must be a finite number in base units or an expression, got True",
        ),
        (
            lambda: public.solve("lock-and-bus", {"population.processors": [1, 2]}).answer(2),
            "there are 2 points, from 0; there is no 2",
        ),
    ],
)
def test_values_are_refused_in_words(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    assert words in str(caught.value)


def test_a_list_has_a_limited_number_of_members() -> None:
    @checked(iterations=list_of(whole_number(0), 1, 3))
    def plan(iterations: Any) -> Any:
        return iterations

    with pytest.raises(
        ModelError, match=r"iterations must be a list of 1 to 3 members, got \(1, 1, 1, 1\)"
    ):
        plan((1, 1, 1, 1))


def test_a_catalogue_refuses_as_a_mapping_does() -> None:
    with pytest.raises(UnknownKeyError, match="did you mean 'amdahl-time'"):
        public.LAWS["amdahl"]
    assert public.LAWS.get("amdahl") is None


def test_a_value_is_described_even_if_it_cannot_be_written() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(ModelError, match="a value of the type Silent"):
        public.Permits(Silent())
    with pytest.raises(ModelError, match="a value of the type list that cannot be written"):
        public.Permits([Silent()])


def test_a_place_leads_to_the_member() -> None:
    @checked(
        pairs=mapped_by_name(row_of(whole_number(1), list_of(real_number(0)), expected="a pair"), 1)
    )
    def plan(pairs: Any) -> Any:
        return pairs

    assert plan({"a": [1, (2, 3.0)]}) == {"a": (1, (2, 3.0))}
    for value, place in (
        ({"a": [1, [2, -3]]}, "pairs['a'][1][1] must be a finite number of at least 0, got -3"),
        ({"a": [0, [2]]}, "pairs['a'][0] must be a whole number of at least 1, got 0"),
        ({"a": [1]}, "pairs['a'] must be a pair, got [1]"),
        ({1: [1, []]}, "; a name is text, got 1"),
        ({}, "pairs must be a dict of at least 1 by name, got {}"),
        ({"a": [1, "23"]}, "pairs['a'][1] must be a list"),
    ):
        with pytest.raises(ModelError) as caught:
            plan(value)
        assert place in str(caught.value)


def test_one_of_several_kinds_is_enough() -> None:
    @checked(
        size=optional_kind(
            either_kind("a number or a list", whole_number(1), list_of(whole_number(1), 1))
        )
    )
    def plan(size: Any = 3) -> Any:
        return size

    assert (plan(), plan(None), plan(2.0), plan([1, 2.0])) == (3, None, 2, (1, 2))
    for value, words in (
        ("2", "size must be a number or a list, or None, got '2'"),
        ([1, 0], "size[1] must be a whole number of at least 1, got 0"),
    ):
        with pytest.raises(ModelError) as caught:
            plan(value)
        assert words in str(caught.value)


def test_an_error_of_the_function_itself_stays() -> None:
    @checked(size=whole_number(1))
    def plan(size: Any) -> Any:
        return size + "a"

    with pytest.raises(TypeError, match="unsupported operand"):
        plan(1)
    with pytest.raises(TypeError, match="has no argument colour"):
        checked(colour=whole_number(1))(inspect.unwrap(plan))


def test_a_masked_number_is_none() -> None:
    for element in (np.ma.masked, np.ma.array([1.0, 2.0], mask=[False, True])[1]):
        assert plain_number(element) is None
    assert plain_number(np.ma.array([1.0, 2.0], mask=[False, True])[0]) == 1.0
