"""The kernels that run a plan, by name: the plain one of this package and, where the package
`slipstick_compiled` and numba are installed, the compiled one. All give the same events.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from slipstick.extensions import Registry
from slipstick.sim.estimate import AnyKernel
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.plan import Plan

PLAIN, COMPILED = "plain", "compiled"

KERNELS: Registry[Callable[[Plan, int, int], AnyKernel]] = Registry(
    "slipstick.kernels", {PLAIN: Kernel}
)
"""Each is made of a plan, the seed and the number of its random streams."""

LOOP = "slipstick_compiled.loop"
"""The module of the compiled loop, whose import takes longer than many a run."""


@cache
def can_compile() -> bool:
    """Check whether a compiled kernel can run here."""
    return find_spec("numba") is not None and COMPILED in KERNELS


def is_loaded() -> bool:
    """Check whether the compiled loop is loaded: then every run takes it."""
    return LOOP in sys.modules
