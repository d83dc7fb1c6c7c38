"""Explanations of everything that is shipped: nothing is computed that is not printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sympy.polys.rings import PolyElement

from slipstick.cli.main import main
from slipstick.method.closed_form import ClosedForm
from slipstick.program import PROGRAMS
from slipstick.schema.library import names_of_kind
from slipstick_equations import symbols as symbolic
from slipstick_equations.equations import MOST_LINES
from slipstick_equations.symbols import MOST_TERMS

NETWORKS = tuple(names_of_kind("queueing-network"))
MODELS = (*names_of_kind("activity"), *NETWORKS, *PROGRAMS)
NEEDS_INPUTS = (
    *("needs sequential", "--set counts=VALUE is missing", "there are no phases"),
    "depends on the state of the system, which only markov-chain and simulation follow",
)
"""What programs say that are no model without inputs, and models that have no equations."""

BY_STATE = ("connection-pool", "retrying-service")
"""Models whose steps are done as often as their state lets them."""


@pytest.fixture
def quotients(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Record the terms above and below of every quotient that is reduced."""
    found: list[tuple[int, int]] = []
    reduced = symbolic._quotient

    def recorded(above: Any, below: Any) -> Any:
        found.append((len(above), len(below)))
        return reduced(above, below)

    monkeypatch.setattr(symbolic, "_quotient", recorded)
    return found


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", MODELS)
def test_an_explanation_compiles_and_expands_nothing_beyond_what_it_prints(
    name: str,
    quotients: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ClosedForm, "__init__", None)  # a compiled closed form is for numbers
    status, printed = main(["explain", name]), capsys.readouterr()
    if status:
        assert name in (*PROGRAMS, *BY_STATE)
        assert any(text in printed.err for text in NEEDS_INPUTS)
    assert all(above <= MOST_TERMS and below <= MOST_TERMS for above, below in quotients)
    assert sum(printed.out.count(f"\n    {letter}[") for letter in "XR") >= len(quotients)


@pytest.mark.turns(4)
def test_no_network_is_expanded_further_than_its_equation_is_long(
    quotients: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first sum that is longer than what is printed is the last one of its network."""
    sums, added = list[int](), PolyElement.__add__

    def counted(self: Any, other: Any) -> Any:
        made = added(self, other)
        sums.append(len(made))
        return made

    monkeypatch.setattr(PolyElement, "__add__", counted)
    given_up = 0
    for name in NETWORKS:
        sums.clear()
        assert main(["explain", name]) == 0
        assert all(count <= MOST_TERMS for count in sums[:-1])
        given_up += any(count > MOST_TERMS for count in sums)
    assert given_up
    assert quotients


def test_the_central_server_is_explained_without_its_formula(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "central-server"]) == 0
    assert "X[jobs] =" not in capsys.readouterr().out


def test_a_network_without_a_formula_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(
        "queueing-network: 1\ntitle: A line\nclasses: {parts: {population: 4}}\nstations:\n"
        "  saw: {service: {parts: 50 s}, scv: {parts: 0.25}}\n"
        "  drill: {service: {parts: 55 s}, capacity: 2, blocking: after-service}\n"
    )
    assert main(["explain", str(path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "saw is first come first served and its scv is not 1; drill has a capacity: residence times"
        " have no formula here; they are approximated, computed by a Markov chain, or simulated"
    ) in printed
    assert "X[r] = N[r] / (Z[r] + R[r])" in printed
    assert "less one of r" not in printed
    assert main(["explain", str(path), "--latex"]) == 0
    assert "residence times have no formula here" in capsys.readouterr().out


def test_a_large_model_is_summarized_and_whole_with_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Both have every value; three ring protocols have the same bytes in a step."""
    assert main(["explain", "allreduce"]) == 0
    summary = capsys.readouterr().out
    assert main(["explain", "allreduce", "--all"]) == 0
    everything = capsys.readouterr().out
    assert main(["explain", "allreduce", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["text"] == everything
    assert len(summary.splitlines()) < MOST_LINES < len(everything.splitlines())
    values = {name: entry for name, entry in document["values"].items() if name in everything}
    assert values
    assert all(name in summary for name in values)
    assert " ".join(everything.split()).count("x1 = x3 = x5 = 2 * (parameters.gradients") == 1
    (further,) = re.findall(r"--all adds: (\d+) equations", summary)
    lines = everything.split("in answers:\n\n")[1].split("\n\n")[0].splitlines()
    assert int(further) == sum(re.match(r"    \S", line) is not None for line in lines)
    for name in ("lock-and-bus", "law/amdahl-speedup", "central-server"):
        texts = []
        for options in ([], ["--all"]):
            assert main(["explain", name, *options]) == 0
            texts.append(capsys.readouterr().out)
        assert texts[0] == texts[1]
