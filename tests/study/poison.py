"""Models that end their process, never end, take all memory, or break a library when they are
solved; each has a method of its own name.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, NoReturn

from slipstick.law import LAWS
from slipstick.sim.settings import Simulation
from slipstick.study.points import SolvableModel


class Poison(SolvableModel):
    """A law that cannot be solved."""

    @property
    def form(self) -> NoReturn:
        kept: list[Any] = []
        if self.method == "breaks":
            raise ImportError("failed to map segment from shared object")
        if self.method == "ends":
            sys.stderr.write("no room\n")
            sys.stderr.flush()
            os._exit(3)
        while self.method != "kills":
            if self.method == "eats":
                kept.append(bytearray(10**7))
            else:
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError(kept)


def poisoned(how: str) -> SolvableModel:
    """Make a solvable that ``kills``, ``eats``, ``sleeps``, ``breaks`` or ``ends``."""
    return Poison(LAWS["amdahl-time"], {}, how, Simulation())
