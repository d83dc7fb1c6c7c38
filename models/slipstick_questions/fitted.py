"""What a fit of a study sets in its base, for the questions that search the fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from slipstick.schema.inputs import Settings
from slipstick.schema.uncertain import UncertainValues


class FittedBase(NamedTuple):
    """The values that a fit set in the base of a study, and what it predicts.

    Parameters
    ----------
    settings : the values by path
    uncertain_values : their joint distribution
    varied_path : of the number of processors in the fit; empty without one
    remark_at : gives, at a number of processors, what the fit predicts beyond the measured rows, or
        why it predicts nothing there; empty within the rows
    ends_of_largest_rate : ends of the interval of the largest throughput over its value, where the
        fit levels off at it [1]; None elsewhere
    """

    settings: Settings
    uncertain_values: UncertainValues
    varied_path: str
    remark_at: Callable[[float], str]
    ends_of_largest_rate: tuple[float, float] | None = None
