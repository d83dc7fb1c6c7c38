"""What traces show and what fits give: data, of which questions, commands and reports make
tables and pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slipstick.answer import Answer
from slipstick.errors import Problem
from slipstick.results.study import Array


@dataclass(frozen=True, slots=True)
class TraceViews:
    """What a trace shows.

    Parameters
    ----------
    file : it is from
    answer : its account, with values of the views
    processors, objects : names
    matrix : accesses of each processor to each object, (processors, objects)
    edges : of the windows [s]
    utilization : useful part of each window, (processors, windows)
    work : by activity, the time of all processors in each window [s]
    concurrency : how long as many processors as its index were at useful work [s]
    contention : by stage of a network or by resource, in each window: conflicts, or the time that
        requests wait [s]
    conflicts : contention is of requests that conflict in a network
    notes : what is unusual
    """

    file: str
    answer: Answer
    processors: tuple[str, ...]
    objects: tuple[str, ...]
    matrix: Array
    edges: Array
    utilization: Array
    work: Mapping[str, Array]
    concurrency: Array
    contention: Mapping[str, Array]
    conflicts: bool = False
    notes: tuple[Problem, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Curve:
    """A fit over the number of processors.

    Parameters
    ----------
    name : of the model
    p, time : where, and the time there [s]
    at : where it was asked how sure the fit is; fewer places than `p`
    low, high : ends of the intervals there [s]; empty where there are none
    """

    name: str
    p: Sequence[float]
    time: Sequence[float]
    at: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits to measured times.

    Parameters
    ----------
    answers : one for each model, best first, then those without a fit
    verdict : what the data tell, and what they do not
    warnings : how far each prediction is beyond the data
    p, time : what was fitted, every repetition
    curves : the fits that the data leave, and the others, best first
    source : where the times come from
    size : of the problem that the curves are for; None where there is one size only
    truth : the time that is known, by processors [s]; of made-up data only
    laid : the model whose values are laid over the base of the study
    efficiency : what the largest number of processors keeps, and the size needed gives [1]
    """

    answers: tuple[Answer, ...]
    verdict: str
    warnings: tuple[str, ...]
    p: Sequence[float] = ()
    time: Sequence[float] = ()
    curves: tuple[Curve, ...] = ()
    source: str = ""
    size: float | None = None
    truth: Mapping[float, float] = field(default_factory=dict)
    laid: str = ""
    efficiency: float = 0.75
