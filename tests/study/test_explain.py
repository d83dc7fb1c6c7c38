"""Explanations of everything that is shipped: nothing is computed that is not printed."""

from __future__ import annotations

from typing import Any

import pytest
from sympy.polys.rings import PolyElement

from slipstick.cli.main import main
from slipstick.method.closed_form import ClosedForm
from slipstick.method.networks import symbols as symbolic
from slipstick.method.networks.symbols import MOST_TERMS
from slipstick.program import PROGRAMS
from slipstick.schema.library import names

NETWORKS = tuple(names("queueing-network"))
MODELS = (*names("activity"), *NETWORKS, *PROGRAMS)
NEEDS_INPUTS = ("needs sequential", "key 'counts' is missing", "there are no phases")
"""What programs say that are no model without inputs."""


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


@pytest.mark.parametrize("name", MODELS)
def test_an_explanation_compiles_and_expands_nothing_beyond_what_it_prints(
    name: str, quotients: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ClosedForm, "__init__", None)  # a compiled closed form is for numbers
    status, printed = main(["explain", name]), capsys.readouterr()
    if status:
        assert name in PROGRAMS
        assert any(text in printed.err for text in NEEDS_INPUTS)
    assert all(above <= 2 * MOST_TERMS and below <= MOST_TERMS for above, below in quotients)
    assert sum(printed.out.count(f"\n    {letter}[") for letter in "XR") >= len(quotients)


def test_no_network_is_expanded_further_than_its_equation_is_long(
    quotients: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms made on the way to a formula that is given up: a few times the terms of one that is printed."""
    most, added = 0, PolyElement.__add__

    def counted(self: Any, other: Any) -> Any:
        nonlocal most
        made = added(self, other)
        most = max(most, len(made))
        return made

    monkeypatch.setattr(PolyElement, "__add__", counted)
    for name in NETWORKS:
        assert main(["explain", name]) == 0
    assert 0 < most <= 2 * MOST_TERMS
    assert quotients


def test_the_central_server_is_explained_without_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "central-server"]) == 0
    assert "X[jobs] =" not in capsys.readouterr().out
