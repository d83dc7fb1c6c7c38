"""Distributions beside SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from slipstick.model.uncertainty import Uncertainty

PART = np.array([0.001, 0.05, 0.3, 0.5, 0.77, 0.999])
PAIRS: list[tuple[Uncertainty, Any]] = [
    (Uncertainty("normal", 3.0, 0.5), stats.norm(3.0, 0.5)),
    (Uncertainty("lognormal", 3.0, 0.2), stats.lognorm(0.2, scale=3.0)),
    (Uncertainty("uniform", -1.0, 4.0), stats.uniform(-1.0, 5.0)),
    (Uncertainty("triangular", 1.0, 2.0, 5.0), stats.triang(0.25, 1.0, 4.0)),
    (Uncertainty("triangular", 1.0, 1.0, 5.0), stats.triang(0.0, 1.0, 4.0)),
    (Uncertainty("triangular", 1.0, 5.0, 5.0), stats.triang(1.0, 1.0, 4.0)),
]


@pytest.mark.parametrize(
    ("ours", "theirs"), PAIRS, ids=lambda each: each.kind if isinstance(each, Uncertainty) else ""
)
def test_quantiles_are_those_of_scipy(ours: Uncertainty, theirs: Any) -> None:
    assert ours.quantile(PART) == pytest.approx(theirs.ppf(PART), rel=1e-12)
    assert [ours.value_at(each) for each in PART.tolist()] == pytest.approx(
        ours.quantile(PART), rel=1e-12
    )


def test_what_is_known_exactly_has_one_value() -> None:
    assert Uncertainty("fixed", 2.5).quantile(PART).tolist() == [2.5] * 6
    assert (
        Uncertainty("fixed", 2.5).value_at(0.1)
        == Uncertainty("triangular", 2.5, 2.5, 2.5).value_at(0.1)
        == 2.5
    )
    assert Uncertainty("triangular", 2.0, 2.0, 2.0).quantile(PART).tolist() == [2.0] * 6


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6))
def test_values_come_as_often_as_their_weights_say(weights: list[float]) -> None:
    values = list(map(float, range(len(weights))))
    parts = (np.arange(20_000) + 0.5) / 20_000
    ours = Uncertainty("discrete", values, weights)
    drawn = ours.quantile(parts)
    assert [ours.value_at(each) for each in parts[::997].tolist()] == drawn[::997].tolist()
    seen = [float(np.mean(drawn == each)) for each in values]
    assert seen == pytest.approx([each / sum(weights) for each in weights], abs=2e-4)
