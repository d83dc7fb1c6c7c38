"""The six programs: counts that ship are what the program counts today, and what is asked for
wrongly is refused.
"""

from __future__ import annotations

import shlex

import pytest
import yaml

from slipstick.errors import UnknownNameError
from slipstick.program import counted_program
from slipstick_workloads.counts import Counts
from slipstick_workloads.release_consistency.compact import compact
from slipstick_workloads.release_consistency.run import run
from slipstick_workloads.sharing.sphere import sphere
from tests.house.code import ROOT
from tests.workloads.sharing.small import SMALL

QUICK = ("sor", "is", "sphere-1", "sphere-2")


def kept(name: str) -> dict[str, object]:
    read = yaml.safe_load((ROOT / "specs" / "counts" / f"{name}.yaml").read_text())
    assert isinstance(read, dict)
    return read


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", QUICK)
def test_shipped_counts_are_what_their_command_gives(name: str) -> None:
    """The larger ones are compared by benchmarks/release_consistency.py."""
    file = kept(name)
    _, _, program, *options = shlex.split(str(file["command"]))
    parameters = {key: float(value) for key, value in (each.split("=") for each in options[1::2])}
    assert counted_program(program).count(**parameters).to_dict() == {
        key: file[key] for key in counted_program(program).count().to_dict()
    }


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", list(SMALL))
def test_small_counts_keep_totals(name: str) -> None:
    whole = run(SMALL[name](4))
    small = compact(whole, most_phases=3)
    assert (
        len({each.name for each in whole.phases})
        <= len(small.phases)
        <= 4 * len({each.name for each in whole.phases})
    )
    for count in (
        "work",
        "faults",
        "empty",
        "acquisitions",
        "notices",
        "served_diffs",
        "sent",
        "received",
    ):
        assert small.total(count) == whole.total(count)
    assert sum(each.repeat for each in small.phases) == len(whole.phases)
    exact = {parts: number for parts, (number, _) in whole.faults_by_parts().items()}
    assert {parts: number for parts, (number, _) in small.faults_by_parts().items()} == exact
    carried = sum(size for _, size in whole.faults_by_parts().values())
    assert sum(size for _, size in small.faults_by_parts().values()) == pytest.approx(
        carried, rel=0.01
    )
    assert Counts.from_dict(small.to_dict()) == small


def test_counts_are_compact_by_themselves() -> None:
    assert counted_program("sphere").count(pitch=12, steps=2, sweeps=2) == compact(
        run(sphere(pitch=12, steps=2, sweeps=2))
    )


def test_unknown_programs_and_parameters_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="program with counts"):
        counted_program("sorr").count()
    with pytest.raises(UnknownNameError, match="parameter of sor"):
        counted_program("sor").count(row=3)
