"""What holds for all tests: properties are drawn the same on every machine, none is timed, and tables have one width."""

from __future__ import annotations

import os

from hypothesis import settings

from slipstick.report.formatting import WIDTH

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")

os.environ["COLUMNS"] = str(WIDTH)  # as without a terminal, also where the tests run in one
