"""Groups: several kinds of processors side by side, and what the closed form and the bounds say
of the first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.api import dump, load
from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.model.activity import barrier, delay, hold, service
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Station, closed_model, grouped_model, scaled_model
from slipstick_equations.equations import Explanation, explain_text
from tests.bounds import bounds
from tests.closed_form import solve

ASK = service("bus", 1.0, name="ask", component="memory", scv=1.0)
THINK = delay(9.0, name="think")


def one_among(others: int, theirs: Activity = ASK) -> Model:
    return grouped_model({"test": (1, THINK >> ASK), "others": (others, theirs)})


def test_a_single_group_is_a_population() -> None:
    alone = solve(grouped_model({"all": (4, THINK >> ASK)}))
    cyclic = solve(closed_model(THINK >> ASK, 4))
    assert alone.values.keys() - cyclic.values.keys() == {"time[all]", "throughput[all]"}
    assert {name: alone[name] for name in cyclic.values} == {
        name: cyclic[name] for name in cyclic.values
    }
    assert (alone.account, alone.notes) == (cyclic.account, cyclic.notes)


def test_answers_are_about_the_first_group() -> None:
    answer = solve(one_among(3, delay(2.0, name="rest") >> ASK))
    assert answer["time"] == answer["time[test]"] == 10.0
    assert answer["time[others]"] == 3.0
    assert (answer["throughput"], answer["throughput[others]"]) == (0.1, 1.0)
    assert answer.account == {"busy": 9.0, "memory": 1.0}
    assert answer["processors_lost[memory]"] == pytest.approx(0.1)
    assert answer.notes[0] == "leaves out waiting for bus"
    assert answer.notes[-1].startswith(
        "time, throughput, account, shares, speed-up and processors lost are those "
        "of the first group, test"
    )


def test_an_empty_group_is_in_nobodys_way() -> None:
    answer = solve(one_among(0))
    assert answer.exact
    assert answer["utilization[bus]"] == pytest.approx(0.1)


def test_the_use_of_a_station_is_that_of_all_groups() -> None:
    resources = {"bus": Station(servers=4)}
    answer = solve(
        grouped_model({"test": (1, THINK >> ASK), "others": (3, ASK)}, resources=resources)
    )
    assert answer["utilization[bus]"] == pytest.approx((0.1 + 3) / 4)
    with_idle = grouped_model(
        {"test": (1, THINK >> ASK), "others": (3, delay(0.0, name="nothing"))}, resources=resources
    )
    assert solve(with_idle)["utilization[bus]"] == pytest.approx(0.1 / 4)


def test_bounds_put_everybody_in_the_way_of_the_first() -> None:
    value = bounds(one_among(20)).values["time"]
    assert (value.low, value.high) == (10.0, 30.0)
    homogeneous = bounds(grouped_model({"test": (1, ASK), "others": (3, ASK)})).values["time"]
    assert (homogeneous.low, homogeneous.high) == (1.0, 4.0)
    assert bounds(one_among(3, hold("door", ASK))).values["time"].high is None


def test_work_asked_of_other_processors_says_nothing_of_how_much_others_ask() -> None:
    asks = grouped_model(
        {"test": (2, service("other", 1.0, name="ask")), "others": (3, delay(1.0, name="rest"))}
    )
    assert bounds(asks).values["time"].low == 1.0


def test_sizes_are_parameters_and_can_be_varied() -> None:
    model = one_among(5)
    assert model.population.groups[1].processors == Parameter(
        "groups.others.processors", COUNT, 5.0
    )
    points = ClosedForm(model).points({"groups.others.processors": [0.0, 5.0]})  # type: ignore[dict-item]
    assert [points.answer(index)["throughput[others]"] for index in range(2)] == [0.0, 5.0]


def test_a_technology_scales_every_group() -> None:
    model = scaled_model(
        one_among(2, delay(2.0, name="rest")), {"application": Parameter("half", value=0.5)}
    )
    answer = solve(model)
    assert (answer["time"], answer["time[others]"]) == (5.0, 1.0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "give at least one group of processors"),
        ({"test": (0, ASK)}, "the processors of group test must be at least 1, got 0"),
        (
            {"test": (1, ASK), "others": (-1, ASK)},
            "the processors of group others must be at least 0, got -1",
        ),
        ({"test me": (1, ASK)}, "'groups.test me.processors' cannot name"),
    ],
)
def test_groups_that_cannot_be_are_refused(
    groups: dict[str, tuple[float, Activity]], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        grouped_model(groups)


def test_two_groups_may_share_a_step_but_not_a_name() -> None:
    grouped_model({"test": (1, ASK), "others": (1, ASK)})
    with pytest.raises(
        ModelError, match="two different steps are called ask; give each a name of its own"
    ):
        grouped_model({"test": (1, ASK), "others": (1, service("bus", 2.0, name="ask"))})


EXPLAINED = (
    "groups of processors; the equations are of the first: test (groups.test.processors), others"
    " (groups.others.processors)"
)

TEXT = """activity: 1
resources: {bus: {servers: 2}}
groups:
  test: {processors: 1, cycle: [{name: think, delay: 9 s}, {name: ask, service: bus, time: 1 s}]}
  others: {processors: 3, cycle: [{name: poll, service: bus, time: 2 s}, {barrier: meet}]}
"""


def test_a_file_with_groups_reads_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        TEXT.replace("{bus: {servers: 2}}", "{bus: {servers: 2}, meet: {barrier: tree}}")
    )
    model = load(tmp_path / "mine.yaml")
    assert isinstance(model, Model)
    answer = solve(model)
    assert (answer["time"], answer["time[others]"]) == (10.0, 2.0)
    (tmp_path / "again.yaml").write_text(dump(model))
    assert EXPLAINED in " ".join(explain_text(Explanation("mine", "", "", model)).split())
    again = load(tmp_path / "again.yaml")
    assert isinstance(again, Model)
    assert again.population == model.population


def test_a_group_names_a_barrier_of_all_who_come_to_it() -> None:
    answer = solve(
        grouped_model({"test": (1, ASK >> barrier("meet")), "others": (3, ASK >> barrier("meet"))})
    )
    assert answer["time"] == 1.0
