"""The closed form against a second evaluator, and the laws that every answer obeys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.answer import Answer
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import COUNT, TIME, Parameter, maximum
from slipstick.method.closed_form import ClosedForm
from slipstick.method.methods import form_of
from slipstick.model.activity import (
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Barrier,
    ClosedPopulation,
    Model,
    PhasedPopulation,
    Station,
    closed_model,
    open_model,
    phased_model,
)
from slipstick.vocabulary import CLOSED_FORM
from tests.closed_form import solve
from tests.evaluators import plain_time
from tests.evaluators import value as plain_value
from tests.strategies import ALL_PARAMETERS, RESOURCES, activities, models, parameter_values, quick

A, B, C = (
    delay(seconds, name=name, component=name)
    for seconds, name in ((1.0, "a"), (2.0, "b"), (3.0, "c"))
)
MODELS = models().flatmap(
    lambda model: st.tuples(st.just(model), parameter_values(), st.integers(1, 5)).map(
        lambda drawn: (drawn[0], at(drawn[0], {**drawn[1], "parts": float(drawn[2])}))
    )
)
"""Models with values for the parameters that they use; parts, which count items, are whole."""


def at(model: Model, values: Mapping[str, float]) -> dict[str, float]:
    return {name: values[name] for name in ClosedForm(model).parameters if name in values}


def plain_account(model: Model, values: Mapping[str, float]) -> float:
    population = model.population
    if isinstance(population, PhasedPopulation):
        return sum(
            plain_value(phase.repeat, values) * plain_time(phase.cycle, model, values)
            for phase in population.phases
        )
    return plain_time(model.bodies[0], model, values)


@quick
@given(MODELS)
def test_time_agrees_with_an_evaluator_that_runs_pipelines_event_by_event(
    drawn: tuple[Model, dict[str, float]],
) -> None:
    model, values = drawn
    assert solve(model, values)["time"] == pytest.approx(
        plain_account(model, values), rel=1e-12, abs=1e-15
    )


@pytest.mark.turns(4)
@quick
@given(MODELS)
def test_shares_add_up_to_one_at_ties_too(drawn: tuple[Model, dict[str, float]]) -> None:
    model, values = drawn
    answer = solve(model, values)
    if answer["time"] != 0.0:
        assert math.fsum(answer.share["time"].values()) == pytest.approx(1.0, abs=1e-9)
    else:
        assert answer.share == {}


@pytest.mark.turns(4)
@quick
@given(MODELS)
def test_accounts_add_up_to_the_time_and_processors_to_the_population(
    drawn: tuple[Model, dict[str, float]],
) -> None:
    model, values = drawn
    answer = solve(model, values)
    time = answer["time"]
    assert time is not None
    for table in (answer.account, answer.technology, answer.steps):
        assert math.fsum(table.values()) == pytest.approx(time, rel=1e-9, abs=1e-15)
        assert all(seconds >= 0 for seconds in table.values())
    if isinstance(model.population, ClosedPopulation | PhasedPopulation) and time > 0:
        n = population(model)
        useful = math.fsum(answer.account.get(name, 0.0) for name in model.useful)
        lost = math.fsum(
            each.value or 0.0
            for name, each in answer.values.items()
            if name.startswith("processors_lost[")
        )
        assert lost + n * useful / time == pytest.approx(n, rel=1e-9)
        assert answer["throughput"] == pytest.approx(n / time)
        if "efficiency" in answer.values and not any(
            name.startswith("overlap") for name in answer.values
        ):
            assert answer["efficiency"] == pytest.approx(useful / time)
            assert answer["speedup"] == pytest.approx(n * useful / time)


def population(model: Model) -> float:
    each = model.population
    if isinstance(each, ClosedPopulation):
        return plain_value(each.size, {})
    assert isinstance(each, PhasedPopulation)
    return max(plain_value(phase.processors, {}) for phase in each.phases)


@pytest.mark.turns(4)
@quick
@given(MODELS, st.sampled_from([0.5, 4.0, 60.0]))
def test_a_change_of_the_unit_of_time_changes_every_time_with_it(
    drawn: tuple[Model, dict[str, float]], k: float
) -> None:
    model, values = drawn
    form = ClosedForm(model)
    powers = {name: each.dimension.time_power for name, each in form.tape.parameters.items()}
    base = {
        name: each.value for name, each in form.tape.parameters.items() if each.value is not None
    }
    scaled = {name: each * k ** powers[name] for name, each in {**base, **values}.items()}
    before, after = solve(model, {**base, **values}), solve(model, scaled)
    for old, new in (
        (before.account, after.account),
        (before.steps, after.steps),
        (before.once, after.once),
    ):
        assert new == pytest.approx(
            {name: k * seconds for name, seconds in old.items()}, rel=1e-9, abs=1e-12
        )
    assert after["time"] == pytest.approx(k * (before["time"] or 0.0), rel=1e-9)
    assert after.share == {
        name: pytest.approx(each, rel=1e-9, abs=1e-12) for name, each in before.share.items()
    }
    for name, each in before.values.items():
        power = {"s": 1, "1/s": -1, "1": 0}[each.unit]
        assert after[name] == pytest.approx((each.value or 0.0) * k**power, rel=1e-9)


@pytest.mark.turns(4)
@quick
@given(MODELS)
def test_one_point_and_the_same_point_in_a_sweep_give_the_same_answer(
    drawn: tuple[Model, dict[str, float]],
) -> None:
    """All of it: values, account, shares, gradient, limits, notes; to the last bit."""
    model, values = drawn
    names = [name for name in values if name != "parts"]
    columns: dict[str, np.ndarray | float] = {
        name: values[name] * np.linspace(1.0, 2.0, 5) for name in names
    }
    columns.update({name: values[name] for name in values if name == "parts"})
    swept = form_of(model, {}, CLOSED_FORM).points(columns)
    for index in range(len(swept)):
        point = {name: float(np.broadcast_to(column, 5)[index]) for name, column in columns.items()}
        assert swept.answer(index) == solve(model, point)
    times = ClosedForm(model).times(columns)
    assert times.tolist() == swept.columns()["time"].tolist()


def test_many_useful_components_add_up_alike_at_one_point_and_at_many() -> None:
    """Summing one column of 64 in pairs would round otherwise than adding 64 columns to each
    other.
    """
    times = np.random.default_rng(1).uniform(0.0, 1.0, (8, 64))
    parts = [delay(1.0, name=f"s{index}", component=f"c{index}") for index in range(64)]
    model = closed_model(then(*parts), useful=tuple(f"c{index}" for index in range(64)))
    swept = ClosedForm(model).points({f"s{index}": times[:, index] for index in range(64)})
    assert [swept.answer(index)["efficiency"] for index in range(8)] == swept.columns()[
        "efficiency"
    ].tolist()


@pytest.mark.turns(4)
@quick
@given(activities(2), parameter_values())
def test_processors_that_repeat_a_cycle_do_not_change_its_time(
    cycle: Activity, values: dict[str, float]
) -> None:
    """Nobody is in the way: populations differ in rates alone."""
    forms = [closed_model(cycle, n, resources=RESOURCES) for n in (1, 7)] + [
        open_model(cycle, 3e-6, resources=RESOURCES)
    ]
    whole = {**values, "parts": 3.0}
    times = {solve(model, at(model, whole))["time"] for model in forms}
    assert len(times) == 1


CASES: list[tuple[str, Activity, float, dict[str, float]]] = [
    ("sum", A >> B >> C, 6.0, {"a": 1, "b": 2, "c": 3}),
    ("longest branch", fork(A, C, B), 3.0, {"a": 0, "c": 3, "b": 0}),
    ("tie: the one written first", fork(B, A >> A), 2.0, {"b": 2, "a": 0}),
    ("tie, written the other way", fork(A >> A, B), 2.0, {"a": 2, "b": 0}),
    ("mean of choices", choose((0.25, A), (0.75, C)), 2.5, {"a": 0.25, "c": 2.25}),
    ("a choice of nothing", choose((0.5, B), (0.5, then())), 1.0, {"b": 1}),
    ("repetition", repeat(3, A >> B), 9.0, {"a": 3, "b": 6}),
    ("never", repeat(0, A) >> B, 2.0, {"a": 0, "b": 2}),
    ("a lock costs nothing", hold("door", A >> B), 3.0, {"a": 1, "b": 2}),
    ("nothing", then(), 0.0, {}),
    ("a step twice", A >> B >> A, 4.0, {"a": 2, "b": 2}),
    (
        "flow line: once each and the longest serial again",
        pipeline([serial(A), serial(B), parallel(C)], 4),
        12.0,
        {"a": 1, "b": 8, "c": 3},
    ),
    (
        "flow line: equal stages, the first written repeats",
        pipeline([serial(A >> A, name="x"), serial(B)], 3),
        8.0,
        {"a": 6, "b": 2},
    ),
    ("all parallel", pipeline([parallel(A), parallel(B)], 9), 3.0, {"a": 1, "b": 2}),
    ("one item", pipeline([serial(A), serial(B)], 1), 3.0, {"a": 1, "b": 2}),
    # Ends: item 0: 1, 4; item 1: 4, 4+1 = 5 (3 at the first stage); item 2: 5, 8.
    (
        "uneven items, by hand",
        pipeline([serial(A, C, A, name="x"), serial(C, A, C, name="y")], 3),
        8.0,
        {"a": 2, "c": 6},
    ),
    # Every item waits for nobody: the longest sum of its own two.
    (
        "uneven items side by side",
        pipeline([parallel(A, C, name="x"), parallel(C, B, name="y")], 2),
        5.0,
        {"a": 0, "c": 3, "b": 2},
    ),
]


@pytest.mark.parametrize(
    ("cycle", "time", "account"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_time_and_account_worked_by_hand(
    cycle: Activity, time: float, account: dict[str, float]
) -> None:
    answer = solve(closed_model(cycle))
    assert answer["time"] == time
    assert answer.account == account


@quick
@given(
    st.lists(
        st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.25]), min_size=3, max_size=3),
        min_size=2,
        max_size=6,
    ),
    st.tuples(*[st.sampled_from(["serial", "parallel"])] * 3),
)
def test_uneven_items_follow_the_recursion(
    times: list[list[float]], kinds: tuple[str, str, str]
) -> None:
    """end[j][s] = max(end[j-1][s], end[j][s-1]) + t[j][s], where a parallel stage waits for no
    item before.
    """
    make = {"serial": serial, "parallel": parallel}
    stages = [
        make[kind](*(delay(row[s], name=f"s{s}i{j}") for j, row in enumerate(times)), name=f"s{s}")
        for s, kind in enumerate(kinds)
    ]
    before, latest = [0.0] * 3, 0.0
    for row in times:
        end, ends = 0.0, []
        for s, kind in enumerate(kinds):
            end = max(before[s] if kind == "serial" else 0.0, end) + row[s]
            ends.append(end)
        before, latest = ends, max(latest, end)
    assert solve(closed_model(pipeline(stages, len(times))))["time"] == pytest.approx(
        latest, rel=1e-14
    )


@quick
@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=4), st.integers(2, 6), st.data()
)
def test_identical_items_are_uneven_items_that_are_equal(
    times: list[float], items: int, data: st.DataObject
) -> None:
    kinds = [data.draw(st.sampled_from([serial, parallel])) for _ in times]
    bodies = [delay(seconds, name=f"s{index}") for index, seconds in enumerate(times)]
    same = pipeline(
        [kind(body, name=body.name) for kind, body in zip(kinds, bodies, strict=True)], items
    )
    spelt = pipeline(
        [kind(*[body] * items, name=body.name) for kind, body in zip(kinds, bodies, strict=True)],
        items,
    )
    assert solve(closed_model(same))["time"] == pytest.approx(
        solve(closed_model(spelt))["time"], rel=1e-14
    )


def test_a_barrier_costs_what_its_implementation_does() -> None:
    cost = Parameter("meet.cost", TIME, 0.5)
    answer = solve(closed_model(A >> barrier("meet"), 4, resources={"meet": Barrier("tree", cost)}))
    assert answer["time"] == 1.5
    assert answer.account == {"a": 1.0, "barrier": 0.5}
    assert answer.technology == {"application": 1.0, "software": 0.5}
    assert answer["processors_lost[barrier]"] == pytest.approx(4 / 3)


def test_technology_classes_are_booked_beside_components() -> None:
    send = service("link", 2.0, name="send", component="message", technology="wire")
    call = delay(1.0, name="call", component="message", technology="system")
    answer = solve(closed_model(A >> call >> repeat(3, send)))
    assert answer.account == {"a": 1.0, "message": 7.0}
    assert answer.technology == {"application": 1.0, "system": 1.0, "wire": 6.0}
    assert answer.steps == {"a": 1.0, "call": 1.0, "send": 6.0}
    assert answer.once == {"a": 1.0, "call": 1.0, "send": 2.0}


def test_idle_processors_of_a_phase_are_booked_as_idle() -> None:
    """Of 4: 2 x 1 s on one, 3 x 2 s on two, 1 x 3 s on all: 11 s; idle 3/4 of 2 s and 1/2 of 6
    s.
    """
    answer = solve(phased_model((2, 1, A), (3, 2, B), (1, 4, C), useful=("a", "b", "c")))
    assert answer["time"] == 11.0
    assert answer.account == {"a": 0.5, "idle": 4.5, "b": 3.0, "c": 3.0}
    assert answer["efficiency"] == 6.5 / 11
    assert answer["speedup"] == 4 * 6.5 / 11
    assert answer["processors_lost[idle]"] == 4 * 4.5 / 11
    assert answer.gradient["time"] == {"a": 2.0, "b": 3.0, "c": 1.0}


def test_a_step_may_be_called_idle() -> None:
    """What a user calls idle is booked as the user says, beside the idle processors."""
    pause = delay(2.0, name="idle", component="pause")
    assert solve(closed_model(pause)).account == {"pause": 2.0}
    assert solve(phased_model((1, 1, pause), (1, 2, A))).account == {
        "pause": 1.0,
        "idle": 1.0,
        "a": 1.0,
    }


def test_only_quantities_with_a_unit_of_time_have_a_share() -> None:
    """work / speed: all of the time is the work's, none the speed's, which has no unit of time."""
    speed = Parameter("speed", COUNT, 2.0)
    answer = solve(closed_model(delay(Parameter("load", TIME, 6.0) / speed, name="work")))
    assert answer.share == {"time": {"load": 1.0}}
    assert answer.gradient == {"time": {"load": 0.5, "speed": -1.5, "population.processors": 0.0}}


def test_an_answer_says_who_it_is() -> None:
    answer = solve(replace(closed_model(A), name="mine/one"))
    assert isinstance(answer, Answer)
    assert (answer.model, answer.method, answer.failed) == ("mine/one", "closed-form", None)
    assert answer.values["time"].unit == "s"
    assert answer.values["throughput"].unit == "1/s"


def test_arrivals_have_a_rate_and_no_population() -> None:
    answer = solve(open_model(A, 0.25, useful=("a",)))
    assert {name: each.value for name, each in answer.values.items()} == {
        "time": 1.0,
        "throughput": 0.25,
    }


def test_the_use_of_a_station_is_known_where_nobody_waits() -> None:
    """Two askers at a station of two servers: 3 of 5 s each, so 1.2 of 2 are busy."""
    model = closed_model(
        delay(2.0, name="think") >> service("cpu", 3.0), 2, resources={"cpu": Station(servers=2)}
    )
    answer = solve(model)
    assert answer["queue_length[cpu]"] == pytest.approx(1.2)
    assert answer["utilization[cpu]"] == pytest.approx(0.6)
    assert answer["wait[cpu]"] == 0.0
    crowded = solve(model, {"population.processors": 3.0})
    assert not any("cpu" in name for name in crowded.values)


def test_columns_hold_what_answers_hold() -> None:
    model = closed_model(
        delay(2.0, name="think") >> service("cpu", 3.0), 1, resources={"cpu": Station(servers=2)}
    )
    swept = ClosedForm(model).points(
        {"population.processors": np.array([1.0, 2.0, 3.0]), "cpu": 4.0}
    )
    columns = swept.columns()
    for index in range(3):
        answer = swept.answer(index)
        assert set(answer.values) == {
            name
            for name, column in columns.items()
            if math.isfinite(column[index])
            and name.partition("[")[0] not in ("account", "technology", "step", "once")
        }
        assert all(each.value == columns[name][index] for name, each in answer.values.items())
        assert {
            name: columns[f"account[{name}]"][index] for name in answer.account
        } == answer.account


def test_the_limiting_stage_is_named_and_the_first_wins_a_tie() -> None:
    line = pipeline([serial(A), parallel(C), serial(B)], 3, name="line")
    swept = ClosedForm(closed_model(line)).points({"a": np.array([1.0, 2.0, 2.5])})
    assert swept.limiting_stages() == {"line": ["b", "a", "a"]}
    (limit,) = swept.answer(0).limits
    assert (limit.pipeline, limit.stage, limit.stages) == ("line", "b", {"a": 1.0, "b": 2.0})


def test_a_point_without_an_answer_does_not_spoil_the_others() -> None:
    model = closed_model(
        delay(Parameter("load", TIME, 1.0) / Parameter("speed", COUNT, 1.0), name="work")
    )
    swept = ClosedForm(model).points({"speed": np.array([2.0, 0.0])})
    assert swept.answer(0)["time"] == 0.5
    assert (
        swept.answer(1).failed
        == "the time of model comes out as inf s: a value is too large, or a divisor is 0"
    )
    with pytest.raises(NoAnswerError, match=r"^the time of model comes out as inf s"):
        solve(model, {"speed": 0.0})


def test_the_fast_path_refuses_misspelt_names_and_gives_every_point() -> None:
    form = ClosedForm(closed_model(A, 3))
    assert form.times({"population.processors": np.array([1.0, 2.0])}).tolist() == [1.0, 1.0]
    with pytest.raises(ModelError, match=r"^no parameter is named population.processor; "):
        form.times({"population.processor": 3.0})


def test_every_parameter_is_listed_and_has_its_derivative() -> None:
    form = ClosedForm(closed_model(delay(maximum(A.time, B.time), name="x"), 5))
    assert set(form.parameters) == {"a", "b", "population.processors"}
    assert set(form.points({}).answer(0).gradient["time"]) == set(form.parameters)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", [each.name for each in ALL_PARAMETERS])
def test_gradients_are_differences(name: str) -> None:
    """A check without ties: every parameter of a model of all constructs, by central
    differences.
    """
    cycle = then(
        delay(ALL_PARAMETERS[0], name="work"),
        fork(
            delay(ALL_PARAMETERS[1], name="x"),
            delay(ALL_PARAMETERS[2] * ALL_PARAMETERS[8], name="y"),
        ),
        pipeline(
            [
                serial(delay(ALL_PARAMETERS[3] * ALL_PARAMETERS[5], name="send")),
                parallel(delay(1 / ALL_PARAMETERS[6], name="r")),
            ],
            ALL_PARAMETERS[7],
        ),
        delay(ALL_PARAMETERS[4] * ALL_PARAMETERS[5], name="page"),
    )
    model = closed_model(cycle)
    base = next(each.value for each in ALL_PARAMETERS if each.name == name)
    assert base is not None
    step = base * 1e-6
    up, down = (solve(model, {name: base + sign * step})["time"] for sign in (1, -1))
    assert up is not None
    assert down is not None
    assert solve(model).gradient["time"][name] == pytest.approx(
        (up - down) / (2 * step), rel=1e-6, abs=1e-7
    )


def test_idling_is_no_step_that_is_executed() -> None:
    answer = solve(phased_model((1, 1, A), (1, 2, B)))
    assert answer.once == {"a": 1.0, "b": 2.0}
    assert answer.steps == {"a": 0.5, "idle:processors": 0.5, "b": 2.0}
