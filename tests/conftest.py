"""What holds for all tests: properties are drawn the same on every machine, and none is timed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
