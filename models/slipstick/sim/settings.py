"""How much to simulate."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.errors import ModelError


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to run.

    Parameters
    ----------
    precision : half-width of the interval of a mean time, relative to it, at which to stop [1]
    level : of the intervals [1]
    least : cycles, or replications of a program, that are run at least
    events : planned at most, all replications together
    cycles : run exactly so many cycles (or replications) instead
    """

    precision: float = 0.02
    level: float = 0.95
    least: int = 5000
    events: int = 30_000_000
    cycles: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.precision < 1 and 0 < self.level < 1):
            raise ModelError(f"precision and level lie between 0 and 1, got {self.precision!r} and {self.level!r}")
        if self.least < 1 or self.events < 1 or (self.cycles is not None and self.cycles < 1):
            raise ModelError("least, events and cycles of a simulation must be at least 1")
