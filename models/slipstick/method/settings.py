"""How a simulation is to be done."""

from __future__ import annotations

from dataclasses import dataclass, field

from slipstick.sim.settings import Effort


@dataclass(frozen=True, slots=True)
class Trial:
    """How a simulation is to be done; the default is what most questions need.

    Parameters
    ----------
    seed : key of all random streams, at least 0; alternatives with the same seed share what they have in common
    effort : precision wished and budget
    shares : of how many parameters, the largest first, shares are wanted; each costs two more runs
    kernel : plain, compiled or auto, which take different time and give the same
    """

    seed: int = 0
    effort: Effort = field(default_factory=Effort)
    shares: int = 0
    kernel: str = "auto"
