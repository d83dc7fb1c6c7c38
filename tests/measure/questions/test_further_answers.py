"""What a report says of answers that its first lines leave out."""

from __future__ import annotations

from typing import Any, cast

import pytest

from slipstick_measure.questions.traces import TracesResult


@pytest.mark.parametrize(("count", "leaves_out"), [(1, False), (2, False), (3, True)])
def test_traces_beyond_the_two_of_the_first_lines_are_further_answers(
    count: int, leaves_out: bool
) -> None:
    no_views: Any = cast(Any, None)
    traces = {f"run-{number}": no_views for number in range(count)}
    assert TracesResult(traces).has_further_answers is leaves_out
