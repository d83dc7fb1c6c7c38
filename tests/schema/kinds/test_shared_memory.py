"""Machines with shared memory: read, shown, refused, and told from machines on a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.model.machine import Bus, Crossbar, Multistage, Ring
from slipstick.schema.library import catalogue_folder, editor_schema
from slipstick.schema.text import plain_data, read_text
from slipstick.study.catalogue import catalogue_entry
from tests.specs import refused, shared_machine, valid

SHARED = {
    "bbn-gp1000": Multistage,
    "bbn-tc2000": Multistage,
    "encore-multimax": Bus,
    "ksr-1": Ring,
    "sequent-symmetry-s81": Bus,
    "two-socket-server": Crossbar,
}
TEXT = """\
machine: 1
processors: {count: 8, clock: 10 MHz, step: 5 cycle}
interconnect: {kind: bus, transactions: split, request: 1 us, transfer: 2 us, invalidate: 1 us}
memory: {modules: 4, access: 3 us, block: 32 B, element: 4 B}
locks: {mine: {kind: tas, latency: 9 us, access: 1 us}}
"""


def value(expr: Expr) -> float:
    return float(Tape([expr]).run({})[0][0])


@pytest.mark.parametrize("name", SHARED)
def test_a_shipped_machine_is_read(name: str) -> None:
    found = shared_machine(name)
    assert isinstance(found.interconnect, SHARED[name])
    assert value(found.step) > 0
    assert found.locks
    assert found.barriers


@pytest.mark.parametrize("name", SHARED)
def test_every_value_of_a_shipped_machine_has_a_source(name: str) -> None:
    assert [
        path for path, each in catalogue_entry(f"machine/{name}").entries.items() if not each.source
    ] == []


def test_published_values_are_in_base_units() -> None:
    symmetry, ksr = shared_machine("sequent-symmetry-s81"), shared_machine("ksr-1")
    assert value(symmetry.locks["nat"].latency) == pytest.approx(7.4e-6)
    assert value(symmetry.step) == pytest.approx(1e-6)
    assert isinstance(symmetry.interconnect, Bus)
    assert 16 / value(symmetry.interconnect.transfer) == pytest.approx(
        53.3e6, rel=0.01
    )  # a line at the sustained rate
    assert isinstance(ksr.interconnect, Ring)
    assert ksr.interconnect.upper is not None
    assert value(ksr.interconnect.upper) / value(ksr.interconnect.rotation) == pytest.approx(
        570 / 150
    )


def changed(number: int, text: str) -> str:
    lines = TEXT.splitlines()
    lines[number - 1] = text
    return "\n".join(lines) + "\n"


REFUSED = [
    (
        changed(2, "processors: {count: 8, clock: 10, step: 5 cycle}"),
        "2:31: processors.clock: write a number with a unit",
    ),
    (
        changed(2, "processors: {count: 8, clok: 10 MHz, step: 5 cycle}"),
        "2:24: processors.clok: unknown key; did you mean",
    ),
    (
        changed(3, "interconnect: {kind: buss, hop: 1 us}"),
        (
            "3:22: interconnect.kind: write 'bus', 'multistage', 'ring' or 'crossbar'; got 'buss';"
            " did you mean 'bus'?"
        ),
    ),
    (changed(3, "interconnect: {hop: 1 us}"), "3:15: interconnect: key 'kind' is missing"),
    (
        changed(3, "interconnect: {kind: ring, members: 8, slots: 2, rotation: 1 us, upper: 2 us}"),
        "a ring of rings needs both upper and upper_slots",
    ),
    (
        changed(4, "memory: {modules: 0, access: 3 us, block: 32 B, element: 4 B}"),
        "4:19: memory.modules: must be at least 1",
    ),
    (
        changed(4, "memory: {modules: 4, access: 3 us, block: 0 B, element: 4 B}"),
        "memory.block: must be more than 0 B",
    ),
    (
        changed(4, "memory: {modules: 5000, access: 3 us, block: 32 B, element: 4 B}"),
        "memory.modules: must be at most 4096",
    ),
    (
        changed(5, "locks: {mine: {kind: tas, latency: 9 us, back_off: constant}}"),
        "locks.mine.back_off: a constant back-off needs a base above 0 s",
    ),
    (
        changed(
            5,
            "locks: {mine: {kind: tas, latency: 9 us, back_off: exponential, base: 2 us, most: 1"
            " us}}",
        ),
        "locks.mine.back_off: the longest pause of a back-off, most, must be at least its base",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_machine_that_cannot_be_is_refused_where_it_is_wrong(
    text: str, message: str, tmp_path: Path
) -> None:
    assert message in "\n".join(refused(tmp_path, text))


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(editor_schema("machine"))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "path", sorted((catalogue_folder() / "machines").glob("*.yaml")), ids=lambda path: path.stem
)
def test_an_editor_takes_both_kinds(path: Path) -> None:
    validator().validate(plain_data(read_text(path.read_text(), path.name)))


@pytest.mark.parametrize("text", [text for text, _ in REFUSED[:4]])
def test_an_editor_underlines_what_is_refused(text: str) -> None:
    assert not validator().is_valid(plain_data(read_text(text, "x.yaml")))


def test_a_lock_that_no_machine_has_is_refused_where_it_is_named(tmp_path: Path) -> None:
    text = "workload: 1\nmodel: grain/unit\ninputs:\n  compute: 5\n  lock: qmcs\n"
    (problem,) = refused(tmp_path, text)
    assert problem.startswith(
        "x.yaml:5:9: lock: this is none of the machine's locks: 'qmcs'; known: test-and-set"
    )


def test_what_is_wrong_with_a_workload_is_told_of_a_machine_that_has_its_lock(
    tmp_path: Path,
) -> None:
    inputs = (
        "{balls: some, steps: 1000, adding: 30.5, searching: 8.35, width: 0.1, removing: 30.5,"
        " meeting: 9,"
    )
    more = "  collide: 9, misses: 7, lock: hardware, barrier: tournament}"
    (problem,) = refused(
        tmp_path, f"workload: 1\nmodel: billiards/parallel\ninputs:\n  {inputs}\n {more}\n"
    )
    assert problem.startswith("x.yaml:4:11: balls: there is no name 'some'")


def test_a_workload_may_name_a_lock_that_some_machine_has(tmp_path: Path) -> None:
    assert (
        valid(tmp_path, "workload: 1\nmodel: grain/unit\ninputs: {lock: hardware, barrier: none}\n")
        == "workload"
    )


def test_a_program_names_the_machines_that_it_runs_on(tmp_path: Path) -> None:
    text = "study: 1\ntitle: t\nbase: {model: grain/unit, machine: rs6000-43p-atm}\n"
    (problem,) = refused(tmp_path, text)
    assert (
        "grain/unit runs on a machine with shared memory (an interconnect), and this one has a"
        " network" in problem
    )
    assert "name one of bbn-gp1000, bbn-tc2000" in problem


def test_a_case_that_says_only_how_is_refused_at_its_line(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, "study: 1\ntitle: t\ncases:\n  free: {method: closed-form}\n")
    assert problem.startswith("x.yaml:4:18: model: name a model, one of dvsm/message")


def test_a_misspelt_model_of_the_base_is_the_only_problem(tmp_path: Path) -> None:
    text = (
        "study: 1\ntitle: t\nbase: {modxel: grain/unit, machine: bbn-tc2000}\ncases: {few:"
        " {elements: 4}}\n"
    )
    sweep = "vary: {some: {axes: {competitors: [1, 2]}}}\n"
    assert refused(tmp_path, text + sweep) == [
        "x.yaml:3:16: modxel: unknown key; did you mean 'model'?"
    ]
