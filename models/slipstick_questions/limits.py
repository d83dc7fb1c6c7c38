"""What is called near a limit."""

from __future__ import annotations

NEAR_LIMIT = 0.95
"""Part of a limit from which on a throughput or a speed-up is called near it, by bottlenecks and by
fits."""
