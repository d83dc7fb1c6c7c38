"""What the plain kernel does, as stories: who was where when."""

from __future__ import annotations

from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.build import Builder
from slipstick.sim.plan.distributions import Distribution


def constant(seconds: float) -> Distribution:
    return Distribution("deterministic", seconds, 0.0)


def story(builder: Builder) -> list[tuple[int, str, float, float]]:
    """Run a program and tell it: (member, label, from, to), in the order of ends."""
    told: list[tuple[int, str, float, float]] = []
    plan = builder.plan()
    kernel = Kernel(
        plan, log=lambda member, _, label, start, end: told.append((member, plan.labels[label], start, end))
    )
    while kernel.run(1000):
        pass
    return told


def test_first_come_first_served() -> None:
    builder = Builder()
    builder.station("cpu")
    builder.serve("cpu", constant(2.0))
    builder.once("all", [0, 0, 0])
    assert story(builder) == [
        (0, "cpu", 0.0, 2.0),
        (1, "wait:cpu", 0.0, 2.0),
        (1, "cpu", 2.0, 4.0),
        (2, "wait:cpu", 0.0, 4.0),
        (2, "cpu", 4.0, 6.0),
    ]
