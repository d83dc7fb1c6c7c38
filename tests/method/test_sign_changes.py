"""Where conditions change, of sides that are estimates."""

from __future__ import annotations

import numpy as np

from slipstick_questions.sign_changes import find_estimated_changes


def test_of_what_is_seen_at_single_values_a_change_is_named_by_the_two_around_it() -> None:
    """The curve is negative up to 2, and its band holds 0 from 1 to 2."""
    middle = np.array([-2.0, -1.0, -0.2, 1.0, 2.0])
    margins = np.array([middle, [-3.0, -2.0, -1.0, 0.5, 1.5], [-1.0, 0.5, 0.7, 2.0, 2.5]])
    (change,), stretches = find_estimated_changes(
        margins, middle > 0, np.arange(5.0), has_only_places=True
    )
    assert (change.before, change.value, change.starts) == (2.0, 3.0, True)
    assert (change.low, change.high) == (1.0, 3.0)
    assert stretches == []
