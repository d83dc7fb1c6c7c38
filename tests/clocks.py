"""The clocks that the package looks at, for tests in which they stand or run at another rate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

__all__ = ["CLOCKS", "standing_clocks"]

CLOCKS = (
    "slipstick.limits.monotonic",
    "slipstick.limits.thread_time",
    "slipstick.study.engine.monotonic",
    "slipstick_questions.seek.process_time",
)


@contextmanager
def standing_clocks() -> Iterator[None]:
    """Let no time pass, so that nothing is announced to take long, on the slowest machine too."""
    with ExitStack() as patches:
        for clock in CLOCKS:
            patches.enter_context(patch(clock, lambda: 0.0))
        yield
