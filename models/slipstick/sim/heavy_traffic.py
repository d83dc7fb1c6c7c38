"""The least half-width of the interval of a wait in an open model, by heavy-traffic theory.

Batches of a run near saturation are correlated, and a run that by chance has a short queue also has
batches that vary little: of intervals of 90 % of M/M/1 at a load of 0.9 and 25,000 customers 71 of
100 held the mean, and most others were too low. How far the mean wait of n customers varies
is known, however, from the queue as a reflected Brownian motion:

    sd(W_n) / W = 2 sqrt(c^2 / n) / (1 - u),    c^2 = (c_a^2 + c_s^2) / 2

with the utilization u and the squared coefficients of variation of the times between arrivals and
of the services. No interval of a wait is taken narrower, and it is one of the reciprocal of the
mean; with both, 83 to 90 of 100 intervals of 90 % with other random numbers held the mean, from
loads of 0.5 to 0.9 and scv 1 to 4 (benchmarks/interval_coverage.py).

Source: W. Whitt, Planning queueing simulations, Management Science 35(11), 1989, 1341-1366.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from slipstick.late import Array, dataclass
from slipstick.sim.plan.plan import Op, Plan
from slipstick.vocabulary import DISCIPLINES


@dataclass(frozen=True, slots=True)
class OpenQueue:
    """The properties of the queue of open customers at a station from which heavy-traffic theory
    computes the variation of its waits.

    Parameters
    ----------
    variation : c^2 [1]
    wait_labels : labels that its waits are booked to
    """

    variation: float
    wait_labels: tuple[int, ...]


def least_relative_half_widths(
    plan: Plan, cycles: float, ended_services: Array, idle_parts: Array, level: float
) -> dict[int, float]:
    """Return the least half-width of the interval of the mean wait at each station, relative to the
    mean wait, by the number of the station [1]. Stations that the theory does not cover are left
    out.

    Parameters
    ----------
    plan : what was run
    cycles : number of cycles that ended in the run [1]
    ended_services : number of services that ended at each station [stations]
    idle_parts : part of the time of its servers in which each station is idle [stations]
    level : of the interval [1]
    """
    half_width_by_station = {}
    for station_index, queue in open_queues(plan).items():
        served_customers = min(cycles, float(ended_services[station_index]))
        idle_part = float(idle_parts[station_index])
        if served_customers and 0 < idle_part < 1:
            relative_deviation = 2 * math.sqrt(queue.variation / served_customers) / idle_part
            half_width_by_station[station_index] = (
                NormalDist().inv_cdf(0.5 + level / 2) * relative_deviation
            )
    return half_width_by_station


# A run asks for each station again at every look.
@lru_cache(maxsize=16)
def open_queues(plan: Plan) -> dict[int, OpenQueue]:
    """Return the queue of each station of an open model that the theory covers, by the number of
    the station.

    A station that turns customers away, that they abandon, whose speed depends on its queue, or
    that serves in the order of ranks has another queue: it is left out, as are all where locks or
    permits limit how many enter. Where services or streams differ, the least variation is taken, so
    that the interval is not widened without need.
    """
    if plan.locks or any(group.kind != "open" for group in plan.groups):
        return {}
    arrival_scv = min(_scv_of_draw(plan, group.arrivals) for group in plan.groups)
    scvs_and_labels_by_station: dict[int, list[tuple[float, int]]] = {}
    for op, station_index, draw_index, _, wait_label, *_ in plan.code:
        if op == Op.SERVE:
            scvs_and_labels_by_station.setdefault(station_index, []).append(
                (_scv_of_draw(plan, draw_index), wait_label)
            )
    limited_resources = {
        resource_index
        for op, _, resource_index, capacity, *_ in plan.code
        if op == Op.ADMIT and capacity
    }
    return {
        station_index: OpenQueue(
            (arrival_scv + min(scv for scv, _ in scvs_and_labels)) / 2,
            tuple({label for _, label in scvs_and_labels}),
        )
        for station_index, scvs_and_labels in scvs_and_labels_by_station.items()
        if _is_covered(plan, station_index) and station_index not in limited_resources
    }


def _is_covered(plan: Plan, station_index: int) -> bool:
    """Return whether heavy-traffic theory covers the queue of a station: a single station whose
    speed is constant, whose queue no customer abandons, and which does not serve by rank.
    """
    station = plan.stations[station_index]
    has_ranks = DISCIPLINES[station.discipline].ranked
    has_unique_name = [station_plan.name for station_plan in plan.stations].count(station.name) == 1
    return has_unique_name and not (station.rates or station.may_be_abandoned or has_ranks)


def _scv_of_draw(plan: Plan, draw_index: int) -> float:
    """Return the squared coefficient of variation of a draw [1]. It is 1 for times that depend on
    one another, as in bursts, whose queue varies at least as much.
    """
    time_distribution = plan.draws[draw_index].distribution
    return float(getattr(getattr(time_distribution, "distribution", time_distribution), "scv", 1.0))
