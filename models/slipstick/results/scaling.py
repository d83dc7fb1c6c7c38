"""What scaling a model found: sizes by way, the matrix of scalability, processors that stand out, isoefficiency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Grown:
    """One way to scale: the size that keeps what is to be kept, and the run at it; arrays run along the processors.

    Parameters
    ----------
    goal : what is kept, in base units; None for a fixed size
    unit : its base unit
    sizes : value of each size parameter, in base units; NaN where no size keeps it
    time, efficiency : of the run [s], [1]
    account : time of a processor by component [s]
    failed : why there is no size, by place
    """

    goal: float | None
    unit: str
    sizes: Mapping[str, Array]
    time: Array
    efficiency: Array
    account: Mapping[str, Array]
    failed: Mapping[int, str]

    @property
    def latency(self) -> Array:
        """Time of a processor that is not useful [s]."""
        return self.time * (1.0 - self.efficiency)


@dataclass(frozen=True, slots=True)
class OverheadTerm:
    """A term of the total overhead T_o = N T - W t_c, in symbols.

    Parameters
    ----------
    text : the term
    order : how the work grows that pays for it; empty where none does
    since : from which number of processors on it asks for the most; None if it never does
    """

    text: str
    order: str
    since: float | None


@dataclass(frozen=True, slots=True)
class Growth:
    """The isoefficiency in symbols.

    Parameters
    ----------
    efficiency : what is kept [1]
    overhead, work : T_o and W t_c
    terms : of the overhead
    order : how the work must grow; empty where no work is enough
    exact : the work as a formula; empty where only numbers can tell
    limit : why no work is enough
    """

    efficiency: float
    overhead: str
    work: str
    terms: tuple[OverheadTerm, ...]
    order: str
    exact: str
    limit: str


@dataclass(frozen=True, slots=True)
class Extreme:
    """A number of processors that stands out; None where none does.

    Parameters
    ----------
    processors : how many [1]
    value : what is reached there, in base units
    at_the_end : it is the largest that was looked at, so a larger one may do better
    """

    processors: float | None
    value: float
    at_the_end: bool


@dataclass(frozen=True, slots=True)
class Printed:
    """A published cell of the matrix of scalability beside ours.

    Parameters
    ----------
    processors, more_processors : N and N'
    way : how the size grows
    printed, computed : the latency metric; NaN where we have none
    source : where it is printed
    """

    processors: float
    more_processors: float
    way: str
    printed: float
    computed: float
    source: str


@dataclass(frozen=True, slots=True)
class Scaling:
    """How a case scales.

    Parameters
    ----------
    case, method : what was solved, and how
    path : the parameter that stands for the processors
    processors : N, rising
    powers : of each size parameter, the power of the common factor that it grows as
    units : base unit of each size parameter
    useful : components that count as useful
    ways : by name
    matrix : scalability of each pair of numbers of processors, by way
    fastest : the number of processors with the least time at a fixed size
    threshold : an efficiency to stay above [1]
    largest : the most processors that do, at a fixed size
    growth : the isoefficiency in symbols, where the closed form has one
    no_growth : why it has none
    printed : published cells of the matrix
    """

    case: str
    method: str
    path: str
    processors: Array
    powers: Mapping[str, float]
    units: Mapping[str, str]
    useful: tuple[str, ...]
    ways: Mapping[str, Grown]
    matrix: Mapping[str, Array]
    fastest: Extreme
    threshold: float
    largest: Extreme
    growth: Growth | None = None
    no_growth: str = ""
    printed: tuple[Printed, ...] = ()
