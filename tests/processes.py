"""Processes that tests start."""

from __future__ import annotations

HANGS = 900.0
"""Seconds after which a process counts as one that never ends, on the slowest machine too."""
