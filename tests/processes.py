"""Processes that tests start, and what they share."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import gettempdir

HANGS = 900.0
"""Seconds after which a process counts as one that never ends, on the slowest machine too."""

CACHE = Path(gettempdir()) / f"slipstick-tests-{os.getuid()}"
"""The folder of stored code and checks: nothing is left in the home folder of who runs the
tests.
"""
