"""Trend files: what is refused, and where it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slipstick.schema.kinds.quantity import validate
from slipstick.schema.text import Table, read_file
from slipstick_rates.files import TrendSpec, trend_of
from tests.specs import refused, valid

TREND = """\
trend: 1
title: a test
rates:
  processors:
    - {from: 1990, to: 2000, doubling: 18 month, spread: 2%}
    - {from: 2000, to: 2010, factor: {value: 1.2, assumed: true}}
  wire:
    - {from: 1990, to: 2010, uncertain: {distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}}
"""
WRONG = [
    (
        "doubling: 18 month",
        "factor: 2, doubling: 18 month",
        "a period needs exactly one of factor, doubling, halving and",
    ),
    (
        ", doubling: 18 month, spread: 2%",
        "",
        "a period needs exactly one of factor, doubling, halving and uncertain",
    ),
    (
        "18 month",
        "18",
        "rates.processors.0.doubling: write a number with a unit, such as '5 us'; got 18",
    ),
    ("18 month", "0 month", "rates.processors.0.doubling: must be more than 0 s, got 0 s"),
    ("spread: 2%", "spread: -2%", "rates.processors.0.spread: must be at least 0, got -0.02"),
    ("to: 2000", "to: 1985", "the period ends in 1985, before it has begun in 1990"),
    ("to: 2000", "to: 20000", "rates.processors.0.to: at most 2200; got 20000"),
    (
        "from: 2000",
        "from: 2001",
        "the period from 2001 leaves a gap after the one before, which ends in 2000",
    ),
    (
        "from: 2000",
        "from: 1999",
        "the period from 1999 overlaps the one before, which ends in 2000",
    ),
    (
        "factor: {value: 1.2, assumed: true}",
        "factor: 0",
        "rates.processors.1.factor: must be more than 0, got 0",
    ),
    ("  wire:", "  wires:", "rates.wires: unknown key; did you mean 'wire'?"),
    ("triangular", "triangle", "did you mean 'triangular'?"),
    (
        "mode: 1.2",
        "mode: 1.5",
        "rates.wire.0.uncertain.mode: the mode must lie between from and to, got 1.5",
    ),
    (
        "from: 1.1",
        "from: -1",
        "a yearly factor is more than 0, and this one need not be; use another",
    ),
    ("from: 1.1", "from: 1.1 s", "rates.wire.0.uncertain.mode: a [1] does not go with a [s]"),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: normal, mean: 1.1, deviation: 0.1}",
        "a yearly factor is more than 0, and this one need not be; use another",
    ),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: normal, mean: 1.1, deviation: -0.1}",
        "rates.wire.0.uncertain.deviation: must be at least 0, got -0.1",
    ),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: lognormal, median: 0, spread: 0.1}",
        "rates.wire.0.uncertain.median: a lognormal quantity is more than 0, got 0",
    ),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: uniform, from: 1.2, to: 1.1}",
        "rates.wire.0.uncertain.to: to must be at least from, got 1.1 after 1.2",
    ),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: discrete, values: [1.1, 1.2], weights: [1]}",
        "rates.wire.0.uncertain.weights: one weight for each of the 2 values is needed, got 1",
    ),
    (
        "{distribution: triangular, from: 1.1, mode: 1.2, to: 1.4}",
        "{distribution: uniform, from: 1 us, to: 3 us}",
        "a yearly factor is a plain number, not a [s]",
    ),
    (
        "to: 1.4}}",
        "to: 1.4}, spread: 1%}",
        "uncertain says how far the rate spreads; leave out spread",
    ),
    ("doubling: 18 month", "doublng: 18 month", "unknown key; did you mean 'doubling'?"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_at_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in TREND
    assert valid(tmp_path, TREND) == "trend"
    (problem,) = refused(tmp_path, TREND.replace(old, new))
    assert words in problem
    assert problem.startswith(f"x.yaml:{TREND[: TREND.index(old)].count(chr(10)) + 1}:")


def test_a_class_without_periods_is_refused(tmp_path: Path) -> None:
    empty = TREND[: TREND.index("  wire:")] + "  wire: []\n"
    assert refused(tmp_path, empty) == ["x.yaml:7:9: rates.wire: at least 1 needed; got a list"]
    nothing = "trend: 1\nrates: {}\n"
    why = "name at least one class of cost that changes, such as processors"
    assert refused(tmp_path, nothing) == [f"x.yaml:2:8: rates: {why}"]


@pytest.mark.parametrize(
    ("rate", "gain"),
    [
        ("factor: 1.5", 1.5**6),
        ("doubling: 18 month", 2.0**4),
        ("doubling: 1 year", 2.0**6),
        ("halving: 18 month", 2.0**-4),
        ("halving: 2 year", 2.0**-3),
    ],
)
def test_a_time_of_doubling_or_halving_is_a_yearly_factor(
    tmp_path: Path, rate: str, gain: float
) -> None:
    """Over six years, by hand; the speed falls where it halves."""
    path = tmp_path / "trend.yaml"
    path.write_text(f"trend: 1\ntitle: t\nrates: {{wire: [{{from: 1990, to: 2000, {rate}}}]}}\n")
    tree = read_file(path)
    assert isinstance(tree, Table)
    trend = trend_of(validate(TrendSpec, tree), "trend")
    (gained,) = trend.rates["wire"].gain(1992, np.array([1998.0]))[0]
    assert gained == pytest.approx(gain, rel=1e-12)
