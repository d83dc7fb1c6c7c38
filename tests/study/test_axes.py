"""Axes: the values that a study writes down, and every refusal word for word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick.results.sweep import Axis
from slipstick.study.run import prepare
from tests.specs import refused, study


def axis(folder: Path, written: str, path: str = "technology.wire") -> Axis:
    (folder / "x.yaml").write_text(study(f"vary: {{{path}: {written}}}"))
    return prepare(str(folder / "x.yaml")).plans["vary"].axes[0]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("[1, 4, 2]", [1, 4, 2]),
        ("[0x10, 1e1, 50%]", [16, 10, 0.5]),
        ("[{value: 2, source: me}]", [2]),
        ("{from: 1, to: 4, step: 1}", [1, 2, 3, 4]),
        ("{from: 4, to: 1, step: -1}", [4, 3, 2, 1]),
        ("{from: 1, to: 2, step: 0.3}", [1, 1.3, 1.6, 1.9]),
        ("{from: 0.1, to: 0.7, step: 0.1}", [0.1 + k * 0.1 for k in range(7)]),
        ("{from: 1, to: 1, step: 1}", [1]),
        ("{from: 1, to: 3, count: 5}", [1, 1.5, 2, 2.5, 3]),
        ("{from: 3, to: 1, count: 2}", [3, 1]),
        ("{from: 1, to: 16, count: 5, spacing: geometric}", [1, 2, 4, 8, 16]),
        ("{from: 0.0625, to: 2, factor: 2}", [0.0625, 0.125, 0.25, 0.5, 1, 2]),
        ("{from: 8, to: 1, factor: 0.5}", [8, 4, 2, 1]),
        ("{from: 1, to: 100, factor: 10}", [1, 10, 100]),
        ("{from: 1, to: 99, factor: 10}", [1, 10]),
        ("{from: 5%, to: 10%, step: 5%}", [0.05, 0.1]),
    ],
)
def test_a_list_or_a_range_gives_its_values(
    tmp_path: Path, written: str, values: list[float]
) -> None:
    found = axis(tmp_path, written)
    assert (found.unit, found.has_names) == ("1", False)
    assert found.values == pytest.approx(values, rel=1e-15)


@pytest.mark.turns(4)
@pytest.mark.parametrize("count", [2, 3, 7, 100, 700])
@pytest.mark.parametrize("spacing", ["linear", "geometric"])
def test_both_ends_are_in_a_range_to_the_bit(tmp_path: Path, count: int, spacing: str) -> None:
    found = axis(tmp_path, f"{{from: 0.1, to: 7.3, count: {count}, spacing: {spacing}}}").values
    assert (len(found), found[0], found[-1]) == (count, 0.1, 7.3)
    spread = np.linspace if spacing == "linear" else np.geomspace
    assert np.array(found, dtype=float) == pytest.approx(spread(0.1, 7.3, count), rel=1e-13)


def test_a_step_that_rounding_alone_misses_is_in_the_range(tmp_path: Path) -> None:
    # 3 x 0.1 is a hair above 0.3.
    assert len(axis(tmp_path, "{from: 0.1, to: 0.3, step: 0.1}").values) == 3
    assert len(axis(tmp_path, "{from: 1, to: 1000, factor: 10}").values) == 4


def test_quantities_are_in_base_units_whatever_they_are_written_in(tmp_path: Path) -> None:
    found = axis(tmp_path, "[5 us, 0.003 ms, 1e-6 s]", "call")
    assert (found.unit, list(found.values)) == ("s", [5e-6, 3e-6, 1e-6])
    found = axis(tmp_path, "{from: 1 KiB, to: 3 KiB, step: 1024 B}", "request")
    assert (found.unit, list(found.values)) == ("B", [1024, 2048, 3072])
    found = axis(tmp_path, "{from: 1 us, to: 8 us, factor: 2}", "machine.network.adapter")
    assert list(found.values) == pytest.approx([1e-6, 2e-6, 4e-6, 8e-6], rel=1e-15)


def test_names_are_values_too(tmp_path: Path) -> None:
    found = axis(tmp_path, "[atm-oc3, {extends: atm-oc3, adapter: 1 us}]", "machine.network")
    assert (found.has_names, found.values[0]) == (True, "atm-oc3")
    assert found.values[1] == "{extends: atm-oc3, adapter: 1 us}"
    assert axis(tmp_path, "[rs6000-43p-atm]", "machine").values == ("rs6000-43p-atm",)


WIRE = 'x.yaml:3:25: vary."technology.wire":'
REFUSED = [
    ("technology.wire: []", [f"{WIRE} an axis needs at least one value"]),
    (
        "technology.wire: {from: 1, to: 5, step: -1}",
        [
            (
                f"{WIRE} the range never gets from 'from' to 'to'; reverse the sign of the step, "
                "or invert the factor"
            )
        ],
    ),
    (
        "technology.wire: {from: 1, to: 5, factor: 0.5}",
        [
            (
                f"{WIRE} the range never gets from 'from' to 'to'; reverse the sign of the step, "
                "or invert the factor"
            )
        ],
    ),
    (
        "technology.wire: {from: 1, to: 5, step: 0}",
        [
            (
                'x.yaml:3:48: vary."technology.wire".step: a step of 0 never reaches the end; '
                "write another"
            )
        ],
    ),
    (
        "technology.wire: {from: 1, to: 5, step: 1 us}",
        ['x.yaml:3:48: vary."technology.wire".step: from is a [1], but the step is a [s]'],
    ),
    (
        "technology.wire: {from: 1, to: 1e9, step: 1}",
        [f"{WIRE} the range has 1,000,000,000 values; the limit is 1,000,000: take a larger step"],
    ),
    (
        "technology.wire: {from: -1, to: 5, count: 3, spacing: geometric}",
        [f"{WIRE} a geometric range needs positive ends"],
    ),
    (
        "technology.wire: {from: 0, to: 5, factor: 2}",
        [f"{WIRE} a geometric range needs positive ends"],
    ),
    (
        "technology.wire: {from: -1e308, to: 1e308, count: 3}",
        [f"{WIRE} the range is too wide for a double"],
    ),
    (
        "technology.wire: {from: 1e-300, to: 1e300, factor: 2}",
        [f"{WIRE} the range is too wide for a double"],
    ),
    (
        "technology.wire: {from: 1e300, to: 1e-300, factor: 0.5}",
        [f"{WIRE} the range is too wide for a double"],
    ),
    (
        "technology.wire: {from: one, to: 5, count: 3}",
        [
            (
                "x.yaml:3:32: vary.\"technology.wire\".from: 'one': this does not begin with a "
                "number; write a number and a unit, such as '5 us'"
            )
        ],
    ),
    (
        "technology.wire: {from: true, to: 5, count: 3}",
        [
            (
                'x.yaml:3:32: vary."technology.wire".from: write a number, or a quantity such as'
                " '5 us'"
            )
        ],
    ),
    (
        "technology.wire: {from: 1, to: [5], count: 3}",
        ["x.yaml:3:39: vary.\"technology.wire\".to: write a number, or a quantity such as '5 us'"],
    ),
    (
        "call: {from: 1 us, to: 5 B, count: 3}",
        ["x.yaml:3:31: vary.call.to: from is a [s], but to is a [B]; write a unit at both"],
    ),
    (
        "call: {from: 1 us, to: 5, count: 3}",
        ["x.yaml:3:31: vary.call.to: from is a [s], but to is a [1]; write a unit at both"],
    ),
    (
        "call: {from: 1 B, to: 5 B, count: 3}",
        [
            (
                "x.yaml:3:14: call: '1 B' is a quantity in B, but a quantity in s is wanted, such"
                " as '1 us'"
            ),
            (
                "x.yaml:3:14: call: '5 B' is a quantity in B, but a quantity in s is wanted, such"
                " as '5 us'"
            ),
        ],
    ),
    (
        "technology.wire: {from: 0, to: 5, step: 1}",
        ["x.yaml:3:25: technology.wire: must be more than 0, got 0"],
    ),
    (
        "technology.wire: [1, -1, 0]",
        [
            "x.yaml:3:29: technology.wire: must be more than 0, got -1",
            "x.yaml:3:33: technology.wire: must be more than 0, got 0",
        ],
    ),
    (
        "parties: {from: 2, to: 3, step: 0.5}",
        ["x.yaml:3:17: parties: must be a whole number, got 2.5"],
    ),
    (
        "parties: [2, three]",
        [
            (
                "x.yaml:3:21: parties: there is no name 'three'; known: machine.processors.count,"
                " machine.processors.speed, "
            )
        ],
    ),
    ("partis: [2, 3]", ["x.yaml:3:17: partis: unknown key; did you mean 'parties'?"]),
    (
        "machine.netwerk.adapter: [1 us]",
        [
            (
                "x.yaml:3:34: machine.netwerk.adapter: there is no path 'netwerk'; did you mean"
                " 'network'?"
            )
        ],
    ),
    (
        "machine.network: [atm-oc3, atm-oc4]",
        ["x.yaml:3:35: network: there is no network 'atm-oc4'; did you mean 'atm-oc3'?"],
    ),
    (
        "machine: [rs6000-43p-atm, 5]",
        ["x.yaml:3:34: machine: write the name of a machine, or a file that ends in .yaml"],
    ),
    (
        "parties: [2, 3], vary: {axes: {parties: [2]}}",
        [
            (
                "x.yaml:3:25: vary.vary: the axes without a name already form a sweep of this "
                "name; choose another"
            )
        ],
    ),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("written", "problems"), REFUSED, ids=[each[0] for each in REFUSED])
def test_each_refusal_word_for_word(tmp_path: Path, written: str, problems: list[str]) -> None:
    found = refused(tmp_path, study(f"vary: {{{written}}}"))
    assert [each[: len(problem)] for each, problem in zip(found, problems, strict=True)] == problems


@pytest.mark.turns(4)
def test_one_odd_value_of_many_is_found(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(2, 700)]
    for odd, problem in (
        ("5 us", "'5 us' is a quantity in s"),
        ("2.5", "must be a whole number, got 2.5"),
        ("1", "at least 2"),
    ):
        numbers[300] = odd
        (found,) = refused(tmp_path, study("vary:", f"  parties: [{', '.join(numbers)}]"))
        assert problem in found
    numbers[300] = "{value: 7}"
    (tmp_path / "x.yaml").write_text(study("vary:", f"  parties: [{', '.join(numbers)}]"))
    assert prepare(str(tmp_path / "x.yaml")).plans["vary"].axes[0].values[300] == 7.0


@pytest.mark.parametrize("count", [4, 7_900])
def test_rates_where_the_time_of_a_byte_is_wanted_are_times(tmp_path: Path, count: int) -> None:
    rates = f"{{from: 100 MB/s, to: 800 MB/s, count: {count}}}"
    base = "base: {model: dvsm/diff-request, machine: linux-cluster}"
    path = "machine.network.wire.per_byte"
    (tmp_path / "x.yaml").write_text(f"study: 1\ntitle: t\n{base}\nvary: {{{path}: {rates}}}\n")
    found = prepare(str(tmp_path / "x.yaml")).plans["vary"].axes[0]
    assert (found.unit, len(found.values)) == ("s/B", count)
    assert [found.values[0], found.values[-1]] == pytest.approx([1e-8, 1.25e-9])
