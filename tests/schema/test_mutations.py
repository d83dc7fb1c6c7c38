"""Whatever a file holds, it is valid or refused with a line; a fault is named where it is, and
nowhere else.

A sample; ``benchmarks/specs.py`` checks the full numbers.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.mutations import FAULTS, checked, mutated, planted, planted_lines
from tests.specs import activity, study

MUTATED, PLANTED, LONGEST = 80, 110, 40_000


@pytest.mark.turns(6)
def test_no_mutated_spec_gives_anything_but_a_kind_or_problems_with_a_line(tmp_path: Path) -> None:
    chance, seen = random.Random("a sample of mutations"), set()
    for _ in range(MUTATED):
        name, text = mutated(chance, LONGEST)
        outcome = checked(text, tmp_path / "x.yaml")
        assert outcome.kind in ("valid", "refused"), f"{name}: {outcome.words}\n{text}"
        seen.add(outcome.kind)
    assert seen == {"valid", "refused"}


@pytest.mark.turns(5)
def test_a_planted_fault_is_named_at_its_line_and_nowhere_else(tmp_path: Path) -> None:
    chance, kinds = random.Random("a sample of faults"), set()
    for _ in range(PLANTED):
        fault = planted(chance)
        outcome = checked(fault.text, tmp_path / "x.yaml")
        assert planted_lines(fault, outcome), (
            f"{fault.kind} in line {fault.line} of {fault.name}: {outcome.words}"
        )
        kinds.add(fault.kind)
    assert kinds == set(FAULTS)


DOUBLING = "\n".join(
    [
        "cases:",
        "  x0: {parties: 3}",
        *(f"  x{n}: {{use: [x{n - 1}, x{n - 1}]}}" for n in range(1, 31)),
    ]
)
CHAIN = "\n".join(
    [
        "cases:",
        *(f"  x{n}: {{use: [x{n - 1}]}}" for n in range(1500, 0, -1)),
        "  x0: {parties: 3}",
    ]
)
BOMBS = {
    "differences that double": (study(DOUBLING), "valid"),
    "a chain of differences": (study(CHAIN), "refused"),
    "a range of a million": (
        study("vary: {technology.wire: {from: 1, to: 2, count: 1000000}}"),
        "valid",
    ),
    "ranges that multiply": (
        study(
            "vary: {technology.wire: {from: 1, to: 2, count: 1000000}, call: {from: 1 s, to: 2 s,"
            " count: 1000000}}"
        ),
        "refused",
    ),
    "a range without end": (
        study("vary: {technology.wire: {from: 1, to: 1e300, step: 1e-300}}"),
        "refused",
    ),
    "a long list": (
        study(f"vary: {{technology.wire: [{', '.join(map(str, range(1, 45_000)))}]}}"),
        "valid",
    ),
    "parameters that double": (
        activity(
            "{delay: p40}",
            head="population: {processors: 2}\nparameters:\n  p0: 1 s\n"
            + "\n".join(f"  p{n}: p{n - 1} + p{n - 1}" for n in range(1, 41)),
        ),
        "refused",
    ),
    "many steps": (activity(*("{delay: 1 s}" for _ in range(5000))), "valid"),
    "deep nesting": (activity("{repeat: 2, body: [" * 2000), "refused"),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize(("text", "kind"), BOMBS.values(), ids=BOMBS)
def test_a_small_text_is_not_a_lot_of_work(tmp_path: Path, text: str, kind: str) -> None:
    outcome = checked(text, tmp_path / "x.yaml")
    assert (outcome.kind, len(outcome.words) < 10_000) == (kind, True)
