"""Of parallel branches of a processor, the one that ends last is booked; others fill its gaps."""

from __future__ import annotations

import pytest

from slipstick_measure.traces.trace import _visible_pieces


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_the_branch_that_ends_last_is_booked_and_others_fill_its_gaps(scale: float) -> None:
    """Branch 1 ends last, at 8, and has a gap from 3 to 4."""
    spans = [(1, 6, 10, 0), (1, 3, 20, 1), (4, 8, 30, 1), (2, 7, 40, 2)]
    scaled = [(scale * start, scale * end, label, branch) for start, end, label, branch in spans]
    pieces = [(start / scale, end / scale, label) for start, end, label in _visible_pieces(scaled)]
    # Branch 2 ends at 7, after branch 0, and so fills the gap before it.
    expected = [(1, 3, 20), (3, 4, 40), (4, 8, 30)]
    assert [piece[2] for piece in sorted(pieces)] == [piece[2] for piece in expected]
    for piece, wanted in zip(sorted(pieces), expected, strict=True):
        assert piece == pytest.approx(wanted)


def test_no_time_of_a_fork_is_booked_twice() -> None:
    spans = [(0.0, 2e-3, 1, 0), (1e-3, 3e-3, 2, 1), (2.5e-3, 2.9e-3, 3, 0)]
    pieces = sorted(_visible_pieces(spans))
    assert sum(end - start for start, end, _ in pieces) == pytest.approx(3e-3)
    assert pieces[-1] == (1e-3, 3e-3, 2)
