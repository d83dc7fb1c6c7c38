"""Technologies by name: what they make of a model, what goes before them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.answer import Answer
from slipstick.errors import SpecError
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.check import check_file
from tests.specs import activity, settings

FAULT = {
    "method": "closed-form",
    "model": "dvsm/diff-request",
    "workload": "diff-request",
    "machine": "rs6000-43p-atm",
}


def answered(**given: str) -> Answer:
    (answer,), _ = solve_settings(settings(**{**FAULT, **given}), Library())
    return answer


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("name", "system", "protocol"),
    [
        ("table-7", 1 / 8, 0.2),
        ("table-7-half", 1.5**-3, 0.2),
        ("table-7-reduced-by", 1 / 8, 0.8),
        ("table-7-reduced-by-half", 1.5**-3, 0.8),
    ],
)
def test_table_7_is_what_its_cells_make_of_each_class_of_cost(
    name: str, system: float, protocol: float
) -> None:
    now, then = answered(), answered(technology=name)
    expected = {
        "protocol": protocol * system * now.technology["protocol"],
        "system": system * now.technology["system"],
        "software": now.technology["software"] / 8,
        "adapter": now.technology["adapter"] * 500e-9 / 50e-6,  # 500 ns for 50 us
        "switch": now.technology["switch"] * 500e-9 / 10e-6,
        "signal": 0.625e-6,  # final: not divided by eight again
        "wire": (12 + 20 + 2 * 40) * 8 / 10e9,  # 10 Gbit/s
    }
    # The stage that repeats is sends in all of them, so every class is counted as often as before.
    assert now.limits[0].stage == then.limits[0].stage == "sends"
    assert dict(then.technology) == pytest.approx(expected)


def test_a_message_takes_what_table_7_gives_in_times() -> None:
    given = {
        "model": "dvsm/message",
        "machine": "rs6000-43p-fast-ethernet",
        "size": "12 B",
        "technology": "table-7",
    }
    (then,), _ = solve_settings(settings(**given), Library())
    assert then["time"] == pytest.approx(6.27e-6, abs=0.005e-6)
    assert then.technology["adapter"] == pytest.approx(2 * 500e-9)
    # A network without a switch does not get one.
    assert then.technology.get("switch", 0.0) == 0.0
    assert (
        "technology table-7 leaves switch as it is, because machine.network.switch is 0"
        in then.notes
    )


def test_what_a_program_has_no_input_for_is_noted() -> None:
    # They come before what the method leaves out, for they are about what was written.
    assert answered(technology="table-7").notes[:2] == (
        (
            "technology table-7 leaves prefetched_faults as it is, because dvsm/diff-request has"
            " no such input"
        ),
        (
            "technology table-7 leaves prefetched_locks as it is, because dvsm/diff-request has no"
            " such input"
        ),
    )


def test_a_value_by_its_own_path_goes_before_the_technology_whatever_comes_first() -> None:
    own = {
        "technology__protocol": "0.7",
        "machine__network__wire__per_byte": "5 ns/B",
        "technology": "table-7",
    }
    then = answered(**own)
    assert then.technology["protocol"] == pytest.approx(0.7 / 8 * answered().technology["protocol"])
    assert then.technology["wire"] == pytest.approx((12 + 20 + 2 * 40) * 5e-9)
    # A whole network is no value of its own for its wire, so the technology's stands in any order.
    swapped = answered(technology="table-7", machine__network="fast-ethernet")
    assert swapped.technology["wire"] == pytest.approx((12 + 20 + 2 * 58) * 0.8e-9)


def test_processors_gain_for_an_activity_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = ("{name: work, delay: 8 ms}", "{name: call, delay: 1 ms, technology: system}")
    Path("model.yaml").write_text(activity(*items, head="population: {processors: 2}\n"))
    given = {"model": "model.yaml", "technology__processors": "4", "technology__benefit": "0.5"}
    (answer,), _ = solve_settings(settings(**given), Library())
    assert answer["time"] == pytest.approx(8e-3 / 4 + 1e-3 / 1.5**2)
    # Of a processor twice as fast, the work has all and the calls have a half; the rest of the
    # gradient is theirs.
    assert answer.gradient["time"]["technology.processors"] == pytest.approx(
        -8e-3 / 16 - 1e-3 / 1.5**2 * 0.5849625007211562 / 4
    )
    assert list(answer.share["time"].values()) == pytest.approx(
        [2 / (2 + 4 / 9), 4 / 9 / (2 + 4 / 9)]
    )


TECHNOLOGY = """\
technology: 1
title: a test
processors: 2
protocol: {by: 0.5}
partly: [system]
switch: {to: 500 ns}
values: {machine.network.adapter: 3 us}
"""
EITHER = "write {by: 0.5} for a factor on its time, or {to: 500 ns} for the time that it becomes"
WRONG = [
    (
        "protocol: {by: 0.5}",
        "protocl: {by: 0.5}",
        "x.yaml:4:1: protocl: unknown key; did you mean 'protocol'?",
    ),
    (
        "protocol: {by: 0.5}",
        "protocol: {by: 0}",
        "x.yaml:4:16: protocol.by: must be more than 0, got 0",
    ),
    ("protocol: {by: 0.5}", "protocol: 0.5", f"x.yaml:4:11: protocol: {EITHER}"),
    ("switch: {to: 500 ns}", "switch: 500 ns", f"x.yaml:6:9: switch: {EITHER}"),
    (
        "switch: {to: 500 ns}",
        "switch: {}",
        "switch: write one of the keys by, a factor, and to, a value",
    ),
    (
        "switch: {to: 500 ns}",
        "switch: {by: 2, to: 1 us}",
        "switch: write one of the keys by, a factor, and to, a value",
    ),
    (
        "switch: {to: 500 ns}",
        "switch: {to: 5}",
        "write a number with a unit, such as '5 us'; got 5",
    ),
    (
        "switch: {to: 500 ns}",
        "memory: {to: 500 ns}",
        "the cost of memory is no single quantity of a machine; write by, a factor, or set values",
    ),
    (
        "switch: {to: 500 ns}",
        "adapter: {to: 500 ns}",
        "machine.network.adapter stands under values, too; write it once",
    ),
    ("processors: 2", "benefit: 2", "x.yaml:3:10: benefit: must be at most 1, got 2"),
    (
        "partly: [system]",
        "partly: [system, software]",
        "x.yaml:5:18: partly.1: software is also under fully; name each class once",
    ),
    (
        "machine.network.adapter: 3 us",
        "machine.network.adapter: 3 B",
        "'3 B' is a quantity in B, but a quantity in s is wanted",
    ),
    (
        "machine.network.adapter: 3 us",
        "machine.network.adaptor: 3 us",
        "no machine of the catalogue has this quantity, or not together with the others",
    ),
    (
        "machine.network.adapter: 3 us",
        "parts: 3",
        "a technology sets quantities of the machine only, such as machine.network.adapter",
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_file_is_named_at_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "x.yaml"
    assert old in TECHNOLOGY
    path.write_text(TECHNOLOGY)
    assert check_file(path) == "technology"
    path.write_text(TECHNOLOGY.replace(old, new))
    with pytest.raises(SpecError) as caught:
        check_file(path)
    assert words in str(caught.value)
    (problem,) = caught.value.problems
    assert problem.line == TECHNOLOGY[: TECHNOLOGY.index(old)].count("\n") + 1


REFUSED = [
    (
        {"technology": "tabel-7"},
        "technology: there is no technology 'tabel-7'; did you mean 'table-7'?",
    ),
    (
        {"model": "lock-and-bus", "technology": "table-7"},
        (
            "technology table-7 sets machine.system.signal, which lock-and-bus does not have here;"
            " choose another"
        ),
    ),
    (
        {"model": "law/amdahl-time", "technology": "table-7"},
        "a law has no classes of cost that a technology could change",
    ),
    (
        {"model": "central-server", "technology": "table-7"},
        "a queueing network has no classes of cost that a technology could change; leave it out",
    ),
    (
        {"technology": "3"},
        "write the name of a technology, a file that ends in .yaml, or its keys and values",
    ),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_does_not_go_together_is_refused(given: dict[str, str], words: str) -> None:
    asked = settings(**(given if "model" in given else {**FAULT, **given}))
    with pytest.raises(SpecError) as caught:
        solve_settings(asked, Library())
    assert words in str(caught.value)
