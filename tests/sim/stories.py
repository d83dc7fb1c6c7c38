"""Running plans as stories: who was where when."""

from __future__ import annotations

from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime

__all__ = ["Story", "constant", "story"]

Story = list[tuple[int, str, float, float]]
"""(member, label, from, to), in the order of ends."""


def constant(seconds: float) -> ServiceTime:
    return ServiceTime("deterministic", seconds, 0.0)


def story(builder: Builder) -> Story:
    """Run a program and tell it; what takes no time is left out."""
    told: Story = []
    plan = builder.plan()

    def log(member: int, _: int, label: int, start: float, end: float, cause: int | None) -> None:
        if end > start:
            told.append((member, plan.labels[label], start, end))

    kernel = Kernel(plan, log=log)
    while kernel.run(1000):
        pass
    return told
