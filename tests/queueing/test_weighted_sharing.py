"""Servers shared by weights, with shares worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick_chains.weighted_sharing import weighted_speeds


@pytest.mark.parametrize(
    ("weights", "counts", "servers", "speeds"),
    [
        # 10 of 26 parts of 4 servers are above 1: 2 servers are left for 6 customers.
        ((10.0, 1.0), (2, 6), 4, (1.0, 1 / 3)),
        # Then 3 of 9 parts of the 3 left are 1 exactly, and 2 servers are left for 6 customers.
        ((20.0, 3.0, 1.0), (1, 1, 6), 4, (1.0, 1.0, 1 / 3)),
        # Nobody comes to a server: 4 x w / 14.
        ((2.0, 1.0), (4, 6), 2, (4 / 14, 2 / 14)),
        # Fewer customers than servers, and one server alone.
        ((5.0, 1.0), (1, 2), 4, (1.0, 1.0)),
        ((3.0, 1.0), (2, 4), 1, (0.3, 0.1)),
        # A kind without a customer takes nothing from the others.
        ((9.0, 1.0), (0, 4), 2, (1.0, 0.5)),
    ],
)
def test_shares_are_those_by_hand(
    weights: tuple[float, ...], counts: tuple[int, ...], servers: int, speeds: tuple[float, ...]
) -> None:
    found = weighted_speeds(np.array(weights), np.array(counts, dtype=float), servers)
    assert found == pytest.approx(speeds)
    assert found @ np.array(counts) == pytest.approx(min(servers, sum(counts)))
