"""Servers that are away, because they are broken or off duty: groups of a model, or classes of a
network, that take them from the customers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from slipstick.expression.nodes import Expr
from slipstick.vocabulary import DISCIPLINES

OFF_DUTY = "schedule"
"""The key of a file by which servers go off duty."""


class Absence(NamedTuple):
    """The meaning of a group or class whose members are not customers, but servers that are away
    from their station.

    Parameters
    ----------
    station : whose servers they are
    rate : how often one of them goes away [1/s]
    servers : mean number of them that are away [1]
    delay : station of a network that stands for the time in which a server is at work, until it
        goes away; empty if there is none
    by : key of the file that causes the absence: breakdown or schedule
    start, length : when in a period the server goes away, and how long it is away, by a schedule;
        mean times until it fails and until it is repaired [s]
    """

    station: str
    rate: Expr
    servers: Expr
    by: str
    start: Expr
    length: Expr
    delay: str = ""


def works_overtime(station_name: str, discipline: str, absences: Mapping[str, Absence]) -> bool:
    """Return whether servers of a station that go off duty first end the services under way.

    In the simulation, a server that goes off duty occupies a server at once, so that it comes back
    in time, and the service under way is completed in addition. Where the discipline interrupts
    services, a server goes off duty at once, and its service is interrupted.

    Parameters
    ----------
    station_name, discipline : its name and discipline
    absences : of the model
    """
    return not DISCIPLINES[discipline].preemptive and any(
        absence.station == station_name and absence.by == OFF_DUTY for absence in absences.values()
    )
