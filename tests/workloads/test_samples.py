"""Samples of programs that are run to be counted: computed from the same as the whole, with its
names, and not run.
"""

from __future__ import annotations

import pytest

from slipstick import load
from slipstick.errors import ModelError
from slipstick.method.names import names_of
from slipstick.model.machine import SharedMemory
from slipstick.program import PROGRAMS
from slipstick.program.program import InputValue
from slipstick_workloads.billiards import model
from slipstick_workloads.scheduling import newton

GIVEN: dict[str, list[dict[str, InputValue | float]]] = {
    "euler/adaptive": [{"deepest": 4, "passes": each} for each in ("all", "1", "2")],
    "newton/blocks": [
        {"variables": 5, "blocks": count, "scheduling": how, "reads": reads}
        for count, how, reads in ((3, "static", "all"), (3, "dynamic", "one"), (1, "static", "all"))
    ],
    "billiards/parallel": [
        {"balls": 100, "collisions": 100, "processors": count, "parallelism": how, "lock": lock}
        for count, how, lock in (
            (1, "counted", "none"),
            (8, "counted", "spin"),
            (8, "expected", "none"),
        )
    ],
}


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, several in GIVEN.items() for given in several]
)
def test_a_sample_is_computed_from_the_same_as_the_whole(
    name: str, given: dict[str, InputValue | float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "SIZES", (100, 200))
    monkeypatch.setattr(model, "COLLISIONS_OF_SIZES", 100)
    machine = load("machine/bbn-gp1000")
    assert isinstance(machine, SharedMemory)
    if given.get("lock") == "spin":
        given = {**given, "lock": next(iter(machine.locks))}
    build, build_sample = PROGRAMS[name].builders(machine, **given)
    assert build_sample is not None
    whole, part = build(), build_sample()
    assert part.parameters.keys() == whole.parameters.keys()
    assert {*names_of(part)} <= {*names_of(whole)}


def test_a_sample_does_not_run_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations that do not converge are refused when they are solved, not when a file is
    checked.
    """
    machine = load("machine/bbn-gp1000")
    assert isinstance(machine, SharedMemory)
    monkeypatch.setattr(newton, "MOST_ITERATIONS", 2)
    build, build_sample = PROGRAMS["newton/blocks"].builders(machine, variables=7, blocks=3)
    assert build_sample is not None
    build_sample()
    with pytest.raises(ModelError, match="do not converge"):
        build()
