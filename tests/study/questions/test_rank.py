"""Rankings: shares, elasticities and effects beside differences and solving again."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.questions.rank import Ranking, RankResult
from slipstick.study.run import prepare, run
from tests.questions import number, parameter, result_of
from tests.specs import activity, settings, study

GIVEN = {
    "model": "dvsm/diff-request",
    "machine": "rs6000-43p-fast-ethernet",
    "method": "closed-form",
    "parts": "7",
    "request": "12 B",
    "reply": "4120 B",
    "send_call": "40 us",
    "compute": "1792 us",
    "remote_delay": "795 us",
}
BASE = "{" + ", ".join(f"{path}: {text}" for path, text in GIVEN.items()) + "}"


def ranking(folder: Path, *lines: str, base: str = BASE) -> Ranking:
    (folder / "x.yaml").write_text(study(*lines, base=base))
    return result_of(run(prepare(str(folder / "x.yaml"))), RankResult).rankings[0]


def time(**changes: str) -> float:
    (answer,), _ = solve_settings(settings(**{**GIVEN, **changes}), Library())
    value = answer["time"]
    assert value is not None
    return value


def written(path: str, value: float, unit: str) -> dict[str, str]:
    return {path.replace(".", "__"): repr(value) if unit == "1" else f"{value!r} {unit}"}


def test_effects_are_those_of_solving_again(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 50%, most: 100}")
    assert len(found.rows) > 8
    base = time()
    for row in found.rows:
        if row["time_saved"] is None:
            continue
        changed = number(row, "value") * (1.5 if str(row.point["change"]).endswith("more") else 0.5)
        assert (
            row["time_saved"]
            == 1.0 - time(**written(parameter(row), changed, row.unit("value"))) / base
        ), parameter(row)


def test_elasticities_are_those_of_small_differences(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 1%, most: 100}")
    base = time()
    for row in found.rows:
        if parameter(row) in ("parts", "machine.processors.count"):
            continue
        up, down = (
            time(**written(parameter(row), number(row, "value") * factor, row.unit("value")))
            for factor in (1 + 1e-6, 1 - 1e-6)
        )
        assert (up - down) / (2e-6 * base) == pytest.approx(
            row["elasticity"], rel=1e-4, abs=1e-8
        ), parameter(row)


def test_shares_of_times_add_up_to_one(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {change: 50%, most: 1000}")
    shares = {
        parameter(row): number(row, "share") for row in found.rows if row["share"] is not None
    }
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-12)
    assert all(
        row["share"] == row["elasticity"] or row["share"] is None
        for row in found.rows
        if row.unit("value") in ("s", "s/B")
    )
    assert next(row for row in found.rows if parameter(row) == "parts")["share"] is None


def test_the_best_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    whole, few = ranking(tmp_path, "rank: {most: 100}"), ranking(tmp_path, "rank: {most: 3}")
    assert whole.rows[:3] == few.rows
    effects = [
        abs(
            number(row, "elasticity") * 0.5
            if row["time_saved"] is None
            else number(row, "time_saved")
        )
        for row in whole.rows
    ]
    assert effects == sorted(effects, reverse=True)


def test_less_of_some_is_no_help_and_more_is(tmp_path: Path) -> None:
    rows = {parameter(row): row for row in ranking(tmp_path, "rank: {most: 100}").rows}
    assert rows["machine.processors.speed"].point["change"] == "50 % more"
    assert rows["machine.network.adapter"].point["change"] == "50 % less"


def test_a_change_that_is_not_allowed_has_no_effect_to_tell(tmp_path: Path) -> None:
    rows = {parameter(row): row for row in ranking(tmp_path, "rank: {change: 50%, most: 100}").rows}
    assert rows["parts"]["time_saved"] is None  # three and a half
    assert number(rows["parts"], "elasticity") > 0


def test_what_does_not_matter_is_named(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {most: 100}")
    assert "machine.processors.count" in found.idle
    assert not {parameter(row) for row in found.rows} & set(found.idle)


def test_only_what_is_asked_for_is_ranked(tmp_path: Path) -> None:
    found = ranking(tmp_path, "rank: {of: [compute, reply]}")
    assert {parameter(row) for row in found.rows} == {"compute", "reply"}
    (tmp_path / "model.yaml").write_text(activity("{name: work, delay: 9 ms}"))
    found = ranking(
        tmp_path, "rank: {of: [cycle.0.delay]}", base=f"{{model: {tmp_path}/model.yaml}}"
    )
    assert [(parameter(row), row["share"], row["time_saved"]) for row in found.rows] == [
        ("cycle.work.delay", 1.0, 0.5)
    ]


def test_what_is_not_there_cannot_be_ranked(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        ranking(tmp_path, "rank: {of: [compute, machine.netwerk]}")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.path) == (3, 22, "rank.of.1")
    assert problem.message.startswith(
        "base has no quantity 'machine.netwerk'; did you mean 'machine."
    )


def test_a_case_without_an_answer_has_nothing_to_rank(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(
        activity(
            "{name: work, delay: a - b}",
            head="parameters: {a: 1 s, b: 2 s}\npopulation: {processors: 2}",
        )
    )
    found = ranking(tmp_path, "rank: {}", base=f"{{model: {tmp_path}/model.yaml}}")
    assert (found.rows, found.idle) == ((), ())


def test_a_law_can_be_ranked(tmp_path: Path) -> None:
    found = ranking(
        tmp_path,
        "rank: {change: 10%}",
        base="{model: law/flow-line, items: 3, once: 10 us, longest: 5 us}",
    )
    assert {parameter(row): row["share"] for row in found.rows} == {
        "items": None,
        "once": 0.5,
        "longest": 0.5,
    }
