"""Scenes: what a model is solved with, set by path and checked like what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick.model.system import Model
from slipstick.schema.inputs import BuiltModel, build, model_names, resolve
from slipstick.schema.library import Library
from tests.closed_form import solve
from tests.specs import MACHINE, line, refused, settings, valid

ATM = {"model": "dvsm/lock", "machine": "rs6000-43p-atm"}
DIFFS = {"model": "dvsm/diff-request", "machine": "rs6000-43p-atm"}


def built(**given: str) -> BuiltModel:
    return build(resolve(settings(**given), Library()))


def time(**given: str) -> float | None:
    model = built(**given).model
    assert isinstance(model, Model)
    return solve(model)["time"]


def refusal(**given: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        built(**given)
    return [str(each) for each in caught.value.problems]


def test_every_model_can_be_named() -> None:
    assert model_names()[:2] == ["dvsm/message", "dvsm/page-fault"]
    assert "lock-and-bus" in model_names()
    assert "law/flow-line" in model_names()


def test_a_value_is_set_by_its_path() -> None:
    found = built(**ATM, parties="3", machine__network__adapter="5 us", technology__wire="0.5")
    values = {path: each.value for path, each in found.parameters.items()}
    assert (values["parties"], values["machine.network.adapter"], values["technology.wire"]) == (
        3.0,
        5e-6,
        0.5,
    )


def test_the_whole_is_set_before_its_parts_in_whatever_order() -> None:
    one = built(**ATM, machine__network="fast-ethernet", machine__network__adapter="1 us")
    other = built(**ATM, machine__network__adapter="1 us", machine__network="fast-ethernet")
    assert one.parameters == other.parameters
    assert one.parameters["machine.network.adapter"].value == 1e-6
    assert one.parameters["machine.network.wire.per_byte"].value == 8e-8


def test_a_network_in_place_lays_over_the_one_it_extends() -> None:
    changed = built(**ATM, machine__network="{extends: fast-ethernet, adapter: 1 us}")
    assert changed.parameters["machine.network.adapter"].value == 1e-6
    assert changed.parameters["machine.network.switch"].value == 0.0


def test_a_workload_brings_its_model_and_its_inputs() -> None:
    by_workload = built(workload="diff-request", machine="rs6000-43p-fast-ethernet")
    assert by_workload.name == "dvsm/diff-request"
    assert by_workload.parameters["remote_delay"].value == 262e-6
    changed = built(workload="diff-request", machine="rs6000-43p-fast-ethernet", parts="7")
    assert (changed.parameters["parts"].value, changed.parameters["reply"].value) == (7.0, 20.0)


def test_an_input_may_be_arithmetic_on_what_the_scene_has() -> None:
    assert time(**DIFFS, parts="machine.processors.count - 1", request="12 B") == time(
        **DIFFS, parts="7", request="12 B"
    )
    assert time(
        **DIFFS, request="12 B", reply="max(request, machine.memory.page) + 24 B"
    ) == pytest.approx(time(**DIFFS, request="12 B", reply="4120 B"), rel=1e-15)


def test_a_list_of_values_is_one_for_each_part() -> None:
    found = built(
        **DIFFS, parts="2", request="12 B", replies="[20 B, {value: 4120 B, source: a trace}]"
    )
    assert [found.parameters[f"replies.{index}"].value for index in range(2)] == [20.0, 4120.0]
    assert found.entries["replies.1"].source == "a trace"


REFUSED = [
    (
        {"model": "dvsm/lok", "machine": "rs6000-43p-atm"},
        ["--set model: there is no model 'dvsm/lok'; did you mean 'dvsm/lock'?"],
    ),
    (
        {"model": "dvsm/lock"},
        [
            (
                "--set model: machine: dvsm/lock runs on a machine; name one of linux-cluster,"
                " rs6000-43p-atm, rs6000-43p-fast-ethernet"
            )
        ],
    ),
    (
        {"model": "dvsm/lock", "machin": "rs6000-43p-atm"},
        ["--set machin: unknown key; did you mean 'machine'?"],
    ),
    (
        {"machine": "rs6000-43p-atm", "modle": "dvsm/lock"},
        ["--set modle: unknown key; did you mean 'model'?"],
    ),
    (
        {"machine": "rs6000-43p-atm"},
        [
            (
                f"--set machine: model: name a model, one of {', '.join(model_names())}, or "
                "the file of an activity or a queueing network"
            )
        ],
    ),
    (
        {"model": "dvsm/lock", "machine": "rs6000-43p-atn"},
        ["--set machine: there is no machine 'rs6000-43p-atn'; did you mean 'rs6000-43p-atm'?"],
    ),
    (
        {"model": "dvsm/lock", "machine": "rs6000-43p-atm", "workload": "page-fault"},
        ["--set workload: this workload is for dvsm/page-fault, not for dvsm/lock"],
    ),
    (
        {"workload": "page-falt", "machine": "rs6000-43p-atm"},
        ["--set workload: there is no workload 'page-falt'; did you mean 'page-fault'?"],
    ),
    (
        {"model": "law/flow-lin"},
        ["--set model: there is no law 'flow-lin'; did you mean 'flow-line'?"],
    ),
    (
        {"model": "law/flow-line", "items": "3", "once": "10 us", "longst": "3 us"},
        ["--set longst: unknown key; did you mean 'longest'?"],
    ),
    (
        {"model": "law/flow-line", "items": "3 us", "once": "10 us"},
        [
            "--set items: '3 us' is a quantity in s, but a plain number is wanted, such as '3'",
            (
                "--set model: longest: key 'longest' is missing: time of one item at the longest "
                "serial stage"
            ),
        ],
    ),
    (
        {"model": "lock-and-bus", "work": "3 ms"},
        ["--set work: unknown key; did you mean 'parameters.work'?"],
    ),
    (
        {"model": "lock-and-bus", "processors": "3"},
        ["--set processors: unknown key; did you mean 'population.processors'?"],
    ),
    (
        {"model": "three-tier", "servers": "3"},
        [
            (
                "--set servers: unknown key; did you mean 'stations.web.servers' or "
                "'stations.app.servers' or 'stations.db.servers'?"
            )
        ],
    ),
    ({**ATM, "partis": "3"}, ["--set partis: unknown key; did you mean 'parties'?"]),
    ({**ATM, "parties": "-3"}, ["--set parties: must be at least 2, got -3"]),
    ({**ATM, "parties": "2.5"}, ["--set parties: must be a whole number, got 2.5"]),
    (
        {**ATM, "machine__network__adaptor": "5 us"},
        [
            (
                "--set machine__network__adaptor: machine.network.adaptor: unknown key; did "
                "you mean 'adapter'?"
            )
        ],
    ),
    (
        {**ATM, "machine__netwerk__adapter": "5 us"},
        [
            (
                "--set machine__netwerk__adapter: machine.netwerk.adapter: there is no path "
                "'netwerk'; did you mean 'network'?"
            )
        ],
    ),
    (
        {**ATM, "machine__network__adapter": "5"},
        [
            (
                "--set machine__network__adapter: machine.network.adapter: write a number with "
                "a unit, such as '5 us'; got 5"
            )
        ],
    ),
    (
        {**ATM, "machine__network": "atm-oc4"},
        ["--set machine__network: network: there is no network 'atm-oc4'; did you mean 'atm-oc3'?"],
    ),
    (
        {**ATM, "technology__wier": "0.5"},
        ["--set technology__wier: technology.wier: unknown key; did you mean 'wire'?"],
    ),
    (
        {"model": "three-parts", "parameters__latencie": "3 us"},
        [
            (
                "--set parameters__latencie: parameters.latencie: there is no parameter "
                "'latencie'; did you mean 'latency'?"
            )
        ],
    ),
    (
        {**ATM, "technology__wire": "0"},
        ["--set technology__wire: technology.wire: must be more than 0, got 0"],
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("given", "problems"), REFUSED, ids=[each[1][0][:60] for each in REFUSED])
def test_each_refusal_word_for_word(given: dict[str, str], problems: list[str]) -> None:
    assert refusal(**given) == problems


def test_all_formulas_of_a_program_are_read() -> None:
    found = refusal(**ATM, call="nothing", compute="machine.memory.page", reply="nowhere + 1 B")
    assert [each.partition("; known")[0] for each in found] == [
        "--set call: there is no name 'nothing'",
        "--set compute: machine.memory.page gives a [B], but a [s] is wanted",
        "--set reply: there is no name 'nowhere'",
    ]


def test_a_name_where_a_whole_belongs_is_asked_for(tmp_path: Path) -> None:
    text = "study: 1\nbase: {model: [dvsm/lock], machine: rs6000-43p-atm}\n"
    assert refused(tmp_path, text) == [
        "x.yaml:2:15: model: write the name of a model, or a file that ends in .yaml"
    ]
    (tmp_path / "mine.yaml").write_text(line(MACHINE, 2, "processors: {count: 2}"))
    assert valid(tmp_path, "study: 1\nbase: {model: dvsm/lock, machine: mine.yaml}\n") == "study"
    text = (
        "study: 1\nbase:\n  model: dvsm/lock\n  machine: {machine: 1, extends: mine.yaml, memory:"
        " {page: 8}}\n"
    )
    assert refused(tmp_path, text) == [
        "x.yaml:4:60: machine.memory.page: write a number with a unit, such as '4 KiB'; got 8"
    ]


def test_problems_of_a_workload_are_told_in_its_file(tmp_path: Path) -> None:
    text = "workload: 1\nmodel: dvsm/lock\ninputs:\n  parties: 1\n  replx: 3 B\n  call: 5\n"
    assert refused(tmp_path, text) == [
        "x.yaml:4:12: parties: must be at least 2, got 1",
        "x.yaml:5:3: replx: unknown key; did you mean 'reply'?",
        "x.yaml:6:9: call: write a number with a unit, such as '5 us'; got 5",
    ]
    assert refused(tmp_path, "workload: 1\nmodel: lock\ninputs: {}\n") == [
        "x.yaml:2:8: model: there is no model 'lock'; did you mean 'dvsm/lock'?"
    ]


@pytest.mark.parametrize("written", ["1", "'1'"])
def test_a_whole_number_stands_for_the_word_that_it_spells(written: str) -> None:
    given = {"model": "euler/adaptive", "machine": "encore-multimax", "passes": written}
    built = build(resolve(settings(**given), Library()))
    assert isinstance(built.model, Model)
    assert list(built.model.resources) == ["pass-1"]


@pytest.mark.parametrize(
    ("key", "allowed", "beyond"),
    [
        ("simulation.check", "1", "0"),
        ("simulation.check", "1000000000", "1000000001"),
        ("simulation.precision", "50%", "50.1%"),
        ("simulation.precision", "0.001%", "0%"),
        ("simulation.level", "50%", "49.9%"),
        ("simulation.level", "99.99%", "99.991%"),
        ("simulation.replications", "1", "0"),
        ("simulation.replications", "1000", "1001"),
        ("simulation.seed", "0", "-1"),
    ],
)
def test_a_setting_of_a_simulation_has_limits(key: str, allowed: str, beyond: str) -> None:
    built(**ATM, **{key: allowed})
    assert f"{key}:" in refusal(**ATM, **{key: beyond})[0]
