"""The steady state of a closed population, as the mean-value recursion computes it."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.late import np
from slipstick.random_times import Array, RandomTime
from slipstick_mean_value.arrivals import ArrivalState
from slipstick_mean_value.traversal import VisitTimes

Population = tuple[int, ...]
"""Processors of each group."""

Members = tuple[int | Array, ...]
"""Processors of each group, or those of several populations [populations, 1]."""


@dataclass(frozen=True, slots=True)
class CycleState:
    """The cycle of one group at one population: its time, waits and services.

    Parameters
    ----------
    members : processors of the group; an array for several populations
    time : of a cycle
    visit_times : waits and services
    """

    members: int | Array
    time: RandomTime
    visit_times: VisitTimes

    @property
    def rate(self) -> Array:
        """Cycles of all members in a second [1/s]."""
        mean_time = self.time.mean
        rate: Array = self.members / np.where(mean_time.real > 0, mean_time, np.inf)
        return rate


@dataclass(frozen=True, slots=True)
class PopulationState:
    """The steady state of a population.

    Parameters
    ----------
    processors : of all groups
    cycles : of each group; None where it is empty
    arrivals : what one more processor would find
    """

    processors: int
    cycles: tuple[CycleState | None, ...]
    arrivals: ArrivalState

    @property
    def first_cycle(self) -> CycleState:
        """The state of the group that answers are about."""
        assert self.cycles[0] is not None
        return self.cycles[0]
