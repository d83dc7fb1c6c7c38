"""Settings of a simulation: the same fields in a YAML file, on the command line and in Python."""

from __future__ import annotations

import math

from slipstick.arguments import TEXT, checked, either_kind, optional_kind, real_number, whole_number
from slipstick.errors import ModelError
from slipstick.late import dataclass, replace
from slipstick.vocabulary import CHECK_ENDS, CHECKS

KERNELS = ("auto", "plain", "compiled")
"""The event loops; they give the same events to the last bit and differ in speed only."""

MOST_REPLICATIONS = 1000
"""Largest number of independent runs into which a simulation is parted."""


_PART = real_number(0, 1)


@checked(
    seed=whole_number(0),
    precision=_PART,
    level=_PART,
    least=whole_number(1),
    events=whole_number(1),
    cycles=optional_kind(whole_number(1)),
    shares=whole_number(0),
    kernel=TEXT,
    replications=whole_number(1, MOST_REPLICATIONS),
    check=either_kind(
        "off, ends, all, again or a number of events of at least 1", TEXT, whole_number(1)
    ),
)
@dataclass(frozen=True, slots=True)
class Simulation:
    """Settings of a simulation: random streams, precision and budget. The defaults suit most
    questions.

    Parameters
    ----------
    seed : seed of all random streams, at least 0; runs with the same seed use common random numbers
    precision : the run stops when the half-width of the confidence interval of the mean time is at
        most this fraction of the mean
    level : confidence level of the intervals, such as 0.95
    least : minimum number of cycles; for a program that ends, minimum number of its replications
    events : maximum number of events, over all replications; each replication of a program counts
        as at least 150
    cycles : exact number of cycles or replications to run; `precision` is then ignored
    shares : number of parameters whose shares are estimated, beginning with the most important.
        Each share needs two more runs
    replications : number of independent runs into which the simulation is divided. Several runs can
        use several cores; one long run has the shortest warm-up
    check : whether a short simulation checks a default answer that is not exact. ``off``: no check.
        ``ends``: in a sweep, five points. ``all``: all points. ``again``: like ``ends``, without
        stored results of earlier checks. A number: with up to this number of events
    kernel : ``auto``, ``plain`` or ``compiled``; ``auto`` compiles long runs

    Raises
    ------
    ModelError : a setting is out of its range

    >>> Simulation(seed=1, precision=0.01).level
    0.95
    """

    seed: int = 0
    precision: float = 0.02
    level: float = 0.95
    least: int = 5000
    events: int = 15_000_000
    cycles: int | None = None
    shares: int = 0
    kernel: str = "auto"
    replications: int = 1
    check: str | int = CHECK_ENDS

    def longer(self, factor: float) -> Simulation:
        """Return the settings of a run that is longer by a factor. The intervals shrink by the
        square root of the factor.

        >>> Simulation(cycles=1000).longer(4).cycles, Simulation().longer(4).precision
        (4000, 0.01)
        """
        return replace(
            self,
            precision=self.precision / math.sqrt(factor),
            least=math.ceil(self.least * factor),
            events=math.ceil(self.events * factor),
            cycles=None if self.cycles is None else math.ceil(self.cycles * factor),
        )

    def __post_init__(self) -> None:
        if not (0 < self.precision < 1 and 0 < self.level < 1):
            raise ModelError(
                f"precision and level lie between 0 and 1, got {self.precision!r} and"
                f" {self.level!r}"
            )
        if isinstance(self.check, str) and self.check not in CHECKS:
            raise ModelError(
                f"check is {', '.join(CHECKS)}, or a number of events, got {self.check!r}"
            )
        if self.kernel not in KERNELS:
            raise ModelError(f"there is no kernel {self.kernel!r}; there are {', '.join(KERNELS)}")
