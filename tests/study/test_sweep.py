"""Sweeps: which points there are, that each is what it is alone, and what is said of those
without effect or answer.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from slipstick.answer import Answer
from slipstick.results.study import Results
from slipstick.results.sweep import Sweep
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.schema.text import Node
from slipstick.study.engine import Engine
from slipstick.study.run import prepare, run
from tests.specs import activity, refused, settings, study

DIFFS = (
    "{model: dvsm/diff-request, method: closed-form, machine: rs6000-43p-fast-ethernet, request: 12"
    " B, reply: 4120 B, compute: 300 us}"
)


def results(folder: Path, text: str, **how: bool | int) -> Results:
    (folder / "x.yaml").write_text(text)
    prepared = prepare(str(folder / "x.yaml"))
    return run(
        prepared, engine=Engine(jobs=int(how.get("jobs", 1))), whole=bool(how.get("whole", False))
    )


def sweep(folder: Path, *lines: str, base: str = DIFFS, **how: bool | int) -> Sweep:
    return results(folder, study(*lines, base=base), **how).sweeps[0]


def alone(given: dict[str, Node]) -> Answer:
    (answer,), _ = solve_settings(given, Library())
    return answer


def points(found: Sweep) -> list[tuple[object, ...]]:
    return list(zip(*(list(found.points[axis.path]) for axis in found.axes), strict=True))


def test_a_grid_is_every_combination_in_the_order_written(tmp_path: Path) -> None:
    found = sweep(tmp_path, "vary: {s: {axes: {parts: [1, 3], reply: [20 B, 40 B, 80 B]}}}")
    assert (found.name, points(found)) == ("s", list(itertools.product([1, 3], [20, 40, 80])))
    assert found.cases == ("base",) * 6


def test_zipped_axes_go_value_by_value(tmp_path: Path) -> None:
    found = sweep(tmp_path, "vary: {s: {axes: {parts: [1, 3], reply: [20 B, 40 B]}, combine: zip}}")
    assert points(found) == [(1, 20), (3, 40)]
    text = study(
        "vary: {s: {axes: {parts: [1, 3, 5], reply: [20 B, 40 B]}, combine: zip}}", base=DIFFS
    )
    assert refused(tmp_path, text) == [
        "x.yaml:3:18: vary.s.axes: zipped axes need equally many values: parts has 3, reply has 2"
    ]


def test_too_many_points_are_refused(tmp_path: Path) -> None:
    text = study(
        "vary:",
        "  parts: {from: 1, to: 5000, step: 1}",
        "  reply: {from: 1 B, to: 5000 B, step: 1 B}",
        base=DIFFS,
    )
    assert refused(tmp_path, text) == [
        (
            "x.yaml:4:3: vary: 25,000,000 points; the limit is 2,000,000: write them to a file with"
            " slipstick points STUDY --out points.parquet, or allow more with --limit"
            " points=2.6e+07 (limits: in a study, limits= in Python)"
        )
    ]
    assert len(refused(tmp_path, text + "limits: {points: 1e6}\n")) == 1


@pytest.mark.turns(4)
def test_a_condition_leaves_points_out(tmp_path: Path) -> None:
    axes = "axes: {parts: [1, 2, 3], reply: [20 B, 4120 B]}"
    found = sweep(
        tmp_path, f"vary: {{s: {{{axes}, where: parts < 3 and reply * parts <= 4120 B}}}}"
    )
    assert points(found) == [(1, 20), (1, 4120), (2, 20)]
    whole = sweep(tmp_path, f"vary: {{s: {{{axes}}}}}")
    kept = [points(whole).index(point) for point in points(found)]
    assert found.columns["time"].tolist() == whole.columns["time"][kept].tolist()
    found = sweep(
        tmp_path, "vary: {s: {axes: {parts: [1, 3]}, where: parts < machine.processors.count - 6}}"
    )
    assert points(found) == [(1,)]


def test_a_condition_that_nothing_meets_leaves_no_points(tmp_path: Path) -> None:
    found = sweep(tmp_path, "vary: {s: {axes: {parts: [1, 3]}, where: parts > 5}}")
    assert (len(found), found.failed) == (0, {})


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("partz < 3", "there is no name 'partz'; did you mean 'parts'?"),
        ("parts", "a condition compares two sides, as in 'parts <= 8'"),
        ("parts < 3 s", "cannot compare [1] and [s]: parts and 3"),
        ("__import__('os')", "there is no function '__import__'"),
    ],
)
def test_a_condition_is_refused_where_it_stands(tmp_path: Path, where: str, message: str) -> None:
    text = study("vary:", "  s:", "    axes: {parts: [1, 3]}", f'    where: "{where}"', base=DIFFS)
    (problem,) = refused(tmp_path, text)
    assert problem.startswith("x.yaml:6:12: vary.s.where: ")
    assert message in problem or where.startswith("__")


@pytest.mark.turns(4)
def test_names_numbers_and_specs_in_place_can_be_axes(tmp_path: Path) -> None:
    networks = "[fast-ethernet, atm-oc3, {extends: atm-oc3, adapter: 1 us}]"
    found = sweep(
        tmp_path, f"vary: {{s: {{axes: {{machine.network: {networks}, parts: [1, 3]}}}}}}"
    )
    names = ["fast-ethernet", "atm-oc3", "{extends: atm-oc3, adapter: 1 us}"]
    assert points(found) == list(itertools.product(names, [1, 3]))
    base = {
        "model": "dvsm/diff-request",
        "method": "closed-form",
        "machine": "rs6000-43p-fast-ethernet",
    }
    inputs = {"request": "12 B", "reply": "4120 B", "compute": "300 us", "parts": "3"}
    third = alone(settings(**base, **inputs, machine__network="{extends: atm-oc3, adapter: 1 us}"))
    assert found.columns["time"][5] == third["time"]
    found = sweep(tmp_path, "vary: {machine: [rs6000-43p-atm, rs6000-43p-fast-ethernet]}")
    assert found.axes[0].values == ("rs6000-43p-atm", "rs6000-43p-fast-ethernet")


def test_several_cases_are_swept_one_after_the_other(tmp_path: Path) -> None:
    found = sweep(
        tmp_path,
        "cases: {atm: {machine: rs6000-43p-atm}}",
        "vary: {s: {axes: {parts: [1, 3]}, cases: [base, atm]}}",
    )
    assert found.cases == ("base", "base", "atm", "atm")
    assert found.points["parts"] == pytest.approx([1, 3, 1, 3])
    assert len(set(found.columns["time"].tolist())) == 4


@pytest.mark.turns(5)
def test_a_point_of_a_sweep_has_the_bits_of_the_point_alone(tmp_path: Path) -> None:
    lines = (
        "vary: {s: {axes: {parts: [1, 2, 7], reply: {from: 16 B, to: 65536 B, count: 9, spacing:"
        " geometric}, machine.processors.speed: {from: 0.25, to: 8, count: 7}, machine.network:"
        " [fast-ethernet, atm-oc3]}}}"
    )
    found = sweep(tmp_path, lines, whole=True)
    assert len(found) == 3 * 9 * 7 * 2
    base = {
        "model": "dvsm/diff-request",
        "method": "closed-form",
        "machine": "rs6000-43p-fast-ethernet",
        "request": "12 B",
        "compute": "300 us",
    }
    for row in range(0, len(found), 17):
        at = {axis.path: found.points[axis.path][row] for axis in found.axes}
        single = alone(
            settings(
                **base,
                parts=str(at["parts"]),
                reply=f"{float(at['reply'])!r} B",
                machine__processors__speed=repr(float(at["machine.processors.speed"])),
                machine__network=str(at["machine.network"]),
            )
        )
        answer = found.answers[row]
        assert (answer.values, answer.account, answer.steps) == (
            single.values,
            single.account,
            single.steps,
        )
        assert (answer.share, answer.gradient) == (single.share, single.gradient)
        assert found.columns["time"][row] == single["time"]
        assert found.limits["diffs"][row] == single.limits[0].stage
        assert answer.point == answer.given == at


@pytest.mark.turns(4)
def test_the_fast_road_for_the_time_alone_gives_the_same_bits(tmp_path: Path) -> None:
    line = "vary: {s: {axes: {reply: {from: 1 B, to: 40000 B, step: 1 B}}}}"
    fast = sweep(tmp_path, line)
    slow = sweep(tmp_path, line, "answer: [time, throughput]")
    assert list(fast.columns) == ["time"]
    assert len(fast) == 40_000
    assert np.array_equal(fast.columns["time"], slow.columns["time"])


@pytest.mark.turns(4)
def test_results_do_not_depend_on_how_many_are_solved_side_by_side(tmp_path: Path) -> None:
    text = study(
        "cases: {atm: {machine: rs6000-43p-atm}}",
        "vary:",
        "  s: {axes: {machine.network: [fast-ethernet, atm-oc3, 25gbe-tcp], parts: {from: 1, to: 7,"
        " step: 1}}, cases: [base, atm]}",
        base=DIFFS,
    )
    one, four = results(tmp_path, text), results(tmp_path, text, jobs=4)
    for first, second in zip(one.sweeps, four.sweeps, strict=True):
        assert (first.cases, first.axes, list(first.columns)) == (
            second.cases,
            second.axes,
            list(second.columns),
        )
        assert all(
            np.array_equal(first.columns[key], second.columns[key], equal_nan=True)
            for key in first.columns
        )
        assert first.limits == second.limits


def test_what_changes_nothing_is_said_to_have_no_effect(tmp_path: Path) -> None:
    text = study(
        "vary: {s: {axes: {parts: [1, 3], machine.processors.count: [2, 64], technology.memory:"
        " [0.5, 1, 2]}}}",
        base=DIFFS,
    )
    found = results(tmp_path, text)
    assert found.sweeps[0].idle == ("machine.processors.count", "technology.memory")
    assert found.notes == (
        "sweep s: machine.processors.count has no effect",
        "sweep s: technology.memory has no effect",
    )


def test_what_matters_somewhere_has_an_effect(tmp_path: Path) -> None:
    # Beyond 1024 B the first range of sizes is not used.
    axes = "machine.network.protocol.ranges.small.total.fixed: [50 us, 100 us]"
    assert sweep(tmp_path, f"vary: {{s: {{axes: {{{axes}, reply: [20 B, 4120 B]}}}}}}").idle == ()
    assert sweep(
        tmp_path,
        f"vary: {{s: {{axes: {{{axes}, reply: [4120 B]}}}}}}",
        base=DIFFS.replace("12 B", "1200 B"),
    ).idle == ("machine.network.protocol.ranges.small.total.fixed",)


def test_one_value_is_no_question_of_effect(tmp_path: Path) -> None:
    assert sweep(tmp_path, "vary: {machine.processors.count: [4], parts: [1, 2]}").idle == ()


ACTIVITY = activity(
    "{name: work, delay: gap - pause}",
    "{name: rest, delay: size / rate}",
    head="parameters: {gap: 9 ms, pause: 1 ms, size: 2, rate: 100 /s}\npopulation: {processors: 4}",
)


def test_a_point_without_an_answer_fails_and_the_others_are_given(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(ACTIVITY)
    base = f"{{model: {tmp_path}/model.yaml}}"
    line = (
        "vary: {s: {axes: {parameters.pause: [0 ms, 9 ms, 40 ms, 5 ms], parameters.size: [1,"
        " 1e305]}}}"
    )
    found = sweep(tmp_path, line, "answer: [time, throughput]", base=base, whole=True)
    assert list(found.failed) == [4]
    assert found.failed[4].startswith("the time of model comes out as -0.02")
    assert found.failed[4].endswith(" s: a time cannot be negative")
    assert [answer.failed for answer in found.answers] == [
        found.failed.get(row) for row in range(8)
    ]
    assert [row for row in range(8) if np.isnan(found.columns["time"][row])] == [4]
    assert np.isnan(found.columns["throughput"][4])
    assert found.columns["time"][0] == 0.009 + 0.01
    line = "vary: {s: {axes: {parameters.size: [1, 1e305], parameters.rate: [100 /s, 1e-9 /s]}}}"
    found = sweep(tmp_path, line, base=base)
    why = "the time of model comes out as inf s: a value is too large, or a divisor is 0"
    assert found.failed == {3: why}


def test_a_law_fails_where_it_does_not_hold(tmp_path: Path) -> None:
    line = "vary: {longest: {from: 1 us, to: 20 us, step: 1 us}}"
    found = sweep(
        tmp_path,
        line,
        "answer: [time]",
        base="{model: law/flow-line, items: 3, once: 10 us, longest: 1 us}",
    )
    assert list(found.failed) == list(range(10, 20))
    assert set(found.failed.values()) == {
        "law flow-line holds for items >= 1 and once >= longest only"
    }
    assert found.columns["time"][9] == pytest.approx(10e-6 + 2 * 10e-6)


def test_a_number_that_shapes_the_model_is_swept_too(tmp_path: Path) -> None:
    item = "{pipeline: 2, name: line, stages: [{serial_each: [[{delay: 1 s}], [{delay: 2 s}]]}]}"
    (tmp_path / "model.yaml").write_text(
        activity(
            item,
            "{name: w, service: bus, time: 1 s, scv: 1}",
            head="population: {processors: 4}\nresources: {bus: {}}",
        )
    )
    base = f"{{model: {tmp_path}/model.yaml, method: closed-form}}"
    assert sweep(tmp_path, "vary: {resources.bus.servers: [1, 2, 4]}", base=base).axes[
        0
    ].values == ("1", "2", "4")
    answers = sweep(
        tmp_path, "vary: {resources.bus.servers: [1, 4]}", base=base, whole=True
    ).answers
    assert [answer.exact for answer in answers] == [False, True]
    assert sweep(tmp_path, "vary: {cycle.w.scv: [0, 1, 2]}", base=base).idle == ("cycle.w.scv",)
    for count in (3, 600):
        text = study(f"vary: {{cycle.line.pipeline: {{from: 2, to: {count}, step: 1}}}}", base=base)
        (tmp_path / "x.yaml").write_text(text)
        with pytest.raises(
            Exception, match="has 2 bodies, one for each item, but the pipeline has"
        ):
            prepare(str(tmp_path / "x.yaml"))


def test_a_list_varied_item_by_item(tmp_path: Path) -> None:
    base = DIFFS.replace("}", ", parts: 2, replies: [20 B, 4120 B]}")
    found = sweep(tmp_path, "vary: {replies.0: [20 B, 4120 B]}", base=base)
    assert found.axes[0].path == "replies.0"
    assert found.columns["time"][0] < found.columns["time"][1]


def test_an_item_goes_by_name_or_by_number_and_is_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(activity("{name: work, delay: 9 ms}"))
    base = f"{{model: {tmp_path}/model.yaml}}"
    by_name = sweep(tmp_path, "vary: {cycle.work.delay: [1 ms, 2 ms]}", base=base)
    by_number = sweep(tmp_path, "vary: {cycle.0.delay: [1 ms, 2 ms]}", base=base)
    assert by_name.axes == by_number.axes
    assert by_name.axes[0].path == "cycle.work.delay"
    assert by_name.columns["time"].tolist() == by_number.columns["time"].tolist() == [1e-3, 2e-3]


@pytest.mark.turns(4)
def test_a_whole_and_a_part_of_it_may_vary_together_in_either_order(tmp_path: Path) -> None:
    network, adapter = (
        "machine.network: [fast-ethernet, atm-oc3]",
        "machine.network.adapter: [1 us, 500 us]",
    )
    one = sweep(tmp_path, f"vary: {{s: {{axes: {{{network}, {adapter}}}}}}}")
    other = sweep(tmp_path, f"vary: {{s: {{axes: {{{adapter}, {network}}}}}}}")
    assert (
        one.columns["time"].reshape(2, 2).T.tolist() == other.columns["time"].reshape(2, 2).tolist()
    )
    assert len(set(one.columns["time"].tolist())) == 4


def test_bounds_stand_on_an_axis_of_methods_with_units_of_their_own(tmp_path: Path) -> None:
    found = sweep(tmp_path, "vary: {method: [closed-form, mean-value, bounds], parts: [1, 4]}")
    assert not found.failed
    assert found.units["low[time]"] == found.units["time"] == "s"
    time, low = found.columns["time"], found.columns["low[time]"]
    assert np.isnan(time[4:]).all()
    assert np.isnan(low[:4]).all()
    assert np.all(low[4:] <= time[2:4] * (1 + 1e-12))


def test_a_case_may_be_bounds(tmp_path: Path) -> None:
    found = results(tmp_path, study("cases: {b: {method: bounds}}", base=DIFFS)).cases["b"]
    assert found.method == "bounds"
    assert found.values["time"].value is None
    assert found.values["time"].low is not None


def test_bounds_of_a_network_stand_on_an_axis(tmp_path: Path) -> None:
    found = sweep(
        tmp_path,
        "vary: {method: [exact, bounds], classes.jobs.population: [1, 8]}",
        base="{model: central-server}",
    )
    exact, low = found.columns["throughput[jobs]"][:2], found.columns["low[throughput[jobs]]"][2:]
    assert np.all(low <= exact * (1 + 1e-12))


def test_a_single_processor_waits_for_no_lock_in_a_sweep(tmp_path: Path) -> None:
    """The closed form answers there and has no values of the lock; 1 of 10 ms holds it."""
    (tmp_path / "door.yaml").write_text(
        "activity: 1\npopulation: {processors: 4}\nresources: {door: {lock: fifo}}\ncycle:\n  -"
        " {name: work, delay: 9 ms, scv: 1, component: busy}\n  - {hold: door, body: [{name: crit,"
        " delay: 1 ms, component: lock}]}\n"
    )
    names = ["account[lock:door]", "technology[wait]", "wait[door]", "utilization[door]"]
    found = sweep(
        tmp_path,
        f"answer: {names}",
        "vary: {population.processors: [1, 2, 4]}",
        base=f"{{model: {tmp_path / 'door.yaml'}}}",
    )
    assert found.provenance.methods[0] == "closed-form"
    assert [float(found.columns[name][0]) for name in names] == pytest.approx([0, 0, 0, 0.1])
    for name in names:
        assert (np.diff(found.columns[name]) > 0).all()
