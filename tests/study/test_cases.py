"""Cases: a base and its named differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.schema.text import Scalar, Table, read_text
from slipstick.study.cases import (
    LONGEST_USE_CHAIN,
    case_settings,
    changed_settings_in_words,
    derived_titles,
)
from slipstick.study.check import check_reference
from tests.specs import refused, study, valid


def cases(
    *lines: str, base: str = "{model: dvsm/lock, machine: rs6000-43p-atm}"
) -> dict[str, dict[str, str]]:
    tree = read_text(study(*lines, base=base), "x.yaml")
    assert isinstance(tree, Table)
    made = case_settings(tree)
    return {
        name: {path: node.text for path, node in settings.items() if isinstance(node, Scalar)}
        for name, settings in made.items()
    }


BASE = {"model": "dvsm/lock", "machine": "rs6000-43p-atm"}


def test_a_difference_is_laid_over_the_base() -> None:
    found = cases("cases: {a: {parties: 3}, b: {parties: 4, machine: rs6000-43p-fast-ethernet}}")
    assert found == {
        "base": BASE,
        "a": {**BASE, "parties": "3"},
        "b": {"model": "dvsm/lock", "machine": "rs6000-43p-fast-ethernet", "parties": "4"},
    }


def test_a_difference_may_build_on_others_in_their_order() -> None:
    found = cases(
        "cases: {a: {parties: 3, call: 1 us}, b: {parties: 4}, c: {use: [a, b], call: 2 us}, d:"
        " {use: [b, a]}}"
    )
    assert found["c"] == {**BASE, "parties": "4", "call": "2 us"}
    assert found["d"] == {**BASE, "parties": "3", "call": "1 us"}
    assert cases("cases: {b: {use: [a]}, a: {parties: 3}}")["b"] == {**BASE, "parties": "3"}


def test_a_base_without_a_model_is_no_case_of_its_own() -> None:
    found = cases("cases: {a: {model: dvsm/lock}}", base="{machine: rs6000-43p-atm}")
    assert list(found) == ["a"]


def test_only_what_differs_is_shown() -> None:
    tree = read_text(study("cases: {a: {parties: 3, replies: [1 B, 2 B]}}"), "x.yaml")
    assert isinstance(tree, Table)
    made = case_settings(tree)
    assert changed_settings_in_words(made["a"], made["base"]) == {
        "parties": "3",
        "replies": "[1 B, 2 B]",
    }
    assert changed_settings_in_words(made["base"], made["base"]) == {}


@pytest.mark.parametrize(
    ("lines", "base", "problems"),
    [
        (
            "cases: {a: {use: [b]}}",
            None,
            ["3:19: cases.a.use.0: there is no difference 'b'; known: a"],
        ),
        ("cases: {a: {use: [a]}}", None, ["3:19: cases.a.use.0: a uses itself"]),
        (
            "cases: {a: {}, b: {ue: [a]}}",
            "{}",
            ["3:20: cases.b.ue: unknown key; did you mean 'use'?"],
        ),
        (
            "cases: {a: {use: [b]}, b: {use: [a]}, c: {use: [d]}}",
            None,
            [
                "3:34: cases.b.use.0: b uses itself, by way of a",
                "3:19: cases.a.use.0: a uses itself, by way of b",
                "3:49: cases.c.use.0: there is no difference 'd'; known: a, b, c",
            ],
        ),
        (
            "cases: {a: {use: b}}",
            None,
            ["3:13: cases.a.use: write a list of differences, such as [ssd, faster-disk]"],
        ),
        (
            "cases: {a: {use: [1]}}",
            None,
            ["3:13: cases.a.use: write a list of differences, such as [ssd, faster-disk]"],
        ),
        (
            "cases: {}",
            "{}",
            ["2:1: base: there is nothing to solve: name a model or a workload in base or cases"],
        ),
        ("cases: {two words: {parties: 3}}", None, ["3:9: cases.two words: write a name: "]),
    ],
)
def test_each_refusal_word_for_word(
    tmp_path: Path, lines: str, base: str | None, problems: list[str]
) -> None:
    text = study(lines) if base is None else study(lines, base=base)
    found = refused(tmp_path, text)
    wanted = sorted(f"x.yaml:{each}" for each in problems)
    assert [
        each[: len(problem)] for each, problem in zip(sorted(found), wanted, strict=True)
    ] == wanted


def test_how_far_differences_build_on_one_another_is_bounded_in_any_order(tmp_path: Path) -> None:
    chain = [f"  x{n}: {{use: [x{n - 1}]}}" for n in range(1, LONGEST_USE_CHAIN)]
    for lines in (chain, chain[::-1]):
        assert valid(tmp_path, study("cases:", "  x0: {parties: 3}", *lines)) == "study"
        text = study(
            "cases:", "  x0: {parties: 3}", *lines, f"  y: {{use: [x{LONGEST_USE_CHAIN - 1}]}}"
        )
        (problem,) = refused(tmp_path, text)
        assert problem.endswith(
            "cases.y.use.0: over 32 differences build on one another; name fewer"
        )


def test_the_problems_of_all_cases_come_at_once(tmp_path: Path) -> None:
    text = study(
        "cases:",
        "  a: {parties: 1}",
        "  b: {partis: 3}",
        "  c: {call: 5, machine.network: atm}",
        base="{model: dvsm/lock, machine: rs6000-43p-atm, reply: 3}",
    )
    assert refused(tmp_path, text) == [
        "x.yaml:2:58: reply: write a number with a unit, such as '4 KiB'; got 3",
        "x.yaml:4:16: parties: must be at least 2, got 1",
        "x.yaml:5:15: partis: unknown key; did you mean 'parties'?",
        "x.yaml:6:33: network: there is no network 'atm'; did you mean 'atm-oc3'?",
    ]


@pytest.mark.parametrize("name", ["model", "inputs", "trend"])
def test_a_case_may_have_any_name(name: str, tmp_path: Path) -> None:
    """What is built once is kept by its kind: a case called `model` was taken for a model."""
    text = study(
        f"cases: {{{name}: {{classes.jobs.population: 3}}}}", base="{model: central-server}"
    )
    path = tmp_path / "study.yaml"
    path.write_text(text)
    assert check_reference(str(path)) == ["study"]


def test_a_case_is_titled_by_the_number_that_is_in_its_name() -> None:
    """`fast-db_v2` sets another number than its own: it was called `buyers 10 ms`; `gigabit-25`
    sets a name: it was called `network 25gbe-tcp`.
    """
    cases = (
        "{p16: {processors: 16}, fast-db_v2: {stations.db.demand.buyers: 10 ms},"
        " gigabit-25: {machine.network: 25gbe-tcp}, few-4: {resources.threads.permits: 4},"
        " half-50: {share: 50%}}"
    )
    tree = read_text(f"study: 1\ncases: {cases}\n", "study.yaml")
    assert isinstance(tree, Table)
    assert derived_titles(tree) == {
        "p16": "16 processors",
        "few-4": "4 permits of threads",
        "half-50": "share 50%",
    }
