"""The catalogue of programs: names without imports, each program where it is registered,
programs with counts.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from slipstick.errors import UnknownNameError
from slipstick.program import PROGRAMS, counted_program


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_registered_under_its_own_name(name: str) -> None:
    assert PROGRAMS[name].name == name


@pytest.mark.turns(4)
def test_names_are_known_without_importing_programs() -> None:
    script = (
        "import sys; from slipstick.program import PROGRAMS; names = list(PROGRAMS); assert"
        " 'dvsm/sor' in PROGRAMS;loaded = [each for each in sys.modules if"
        " each.startswith(('numpy', 'slipstick.model', 'slipstick_workloads.'))];assert set(loaded)"
        " <= {'slipstick_workloads.application', 'slipstick_workloads.billiards'},"
        " loaded;PROGRAMS['dvsm/lock']; assert 'slipstick_workloads.unit_grains' not in"
        " sys.modules;PROGRAMS['dvsm/sor']; assert 'numpy' not in sys.modules and"
        " 'slipstick_workloads.billiards.model' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_program_with_counts_is_found_by_its_short_name() -> None:
    assert counted_program("sor") is counted_program("dvsm/sor") is PROGRAMS["dvsm/sor"]
    with pytest.raises(UnknownNameError, match="program with counts 'lock'") as refused:
        counted_program("lock")
    assert set(refused.value.known) == {"sor", "is", "barnes", "sphere", "water", "raytrace"}
