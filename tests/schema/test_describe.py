"""What a spec says of its values: path, meaning, unit, and where they come from."""

from __future__ import annotations

from pathlib import Path

from slipstick.api import load
from slipstick.model.machine import Machine
from slipstick.schema.inputs import build, resolve
from slipstick.schema.kinds.machine import MachineSpec
from slipstick.schema.kinds.quantity import build_hardware, described_values, validate
from slipstick.schema.library import Library
from slipstick_rates.files import TrendSpec
from tests.specs import settings

PBS = "Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, section on the platform"


def spec(name: str) -> MachineSpec:
    return validate(MachineSpec, Library().load("machine", name))


def test_a_value_goes_by_its_path_and_the_words_of_its_key() -> None:
    found = {each.path: each for each in described_values(spec("rs6000-43p-atm"))}
    assert list(found)[:4] == [
        "processors.count",
        "processors.speed",
        "memory.page",
        "system.signal",
    ]
    assert found["memory.page"].meaning == "size of a page"
    assert (found["memory.page"].given.value, found["memory.page"].given.text) == (4096.0, "4096 B")


def test_a_value_has_its_own_source_or_that_of_its_file_spelt_out() -> None:
    found = {each.path: each.source for each in described_values(spec("rs6000-43p-atm"))}
    assert found["memory.page"] == PBS
    assert found["processors.speed"] == "by definition, costs were measured on this machine"
    assert found["network.adapter"].startswith(
        "Parsons, Brorsson, Sevcik, Predicting the performance"
    )
    assert found["network.protocol.added"].startswith("worked out from the printed cells")


def test_a_prefix_stands_before_every_path() -> None:
    plain = [each.path for each in described_values(spec("rs6000-43p-atm"))]
    assert [each.path for each in described_values(spec("rs6000-43p-atm"), "machine")] == [
        f"machine.{path}" for path in plain
    ]


def test_an_input_that_nobody_set_is_the_default_of_its_program() -> None:
    found = build(
        resolve(settings(model="dvsm/lock", machine="rs6000-43p-atm", parties="3"), Library())
    )
    assert found.entries["call"].source == "default of the program"
    assert found.entries["parties"].source == "set on the command line"
    assert "call" not in found.parameters


def test_an_inherited_value_keeps_the_source_of_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "machine: 1\nextends: rs6000-43p-fast-ethernet\nsource: measured by me\nnetwork: {adapter:"
        " 3 us}\n"
    )
    found = build(resolve(settings(model="dvsm/lock", machine=str(path)), Library())).entries
    assert found["machine.network.adapter"].source == "measured by me"
    assert found["machine.system.signal"].source == PBS
    assert found["machine.network.switch"].source.endswith(
        "IBM Systems Journal 36(4), 1997, Table 2"
    )
    assert found["machine.network.switches"].source == "default of the format"


def test_a_machine_loaded_in_python_is_the_one_of_a_scene() -> None:
    machine = load("machine/rs6000-43p-atm")
    assert isinstance(machine, Machine)
    assert machine == build_hardware(spec("rs6000-43p-atm"), "rs6000-43p-atm")
    assert str(machine.network.adapter) == "machine.network.adapter"


def test_a_distribution_tells_the_source_of_its_values_by_the_keys_of_the_file() -> None:
    found = {
        each.path: each
        for each in described_values(validate(TrendSpec, Library().load("trend", "milestones")))
    }
    least = found["rates.wire.1.uncertain.from"]
    assert (least.given.value, least.given.assumed, least.source[:29]) == (
        1.1,
        True,
        "our guess around 1.23 a year,",
    )
