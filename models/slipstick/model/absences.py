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
    delay : station of a network at which a server is until it goes away; empty if there is none
    by : key of a file that says so: breakdown or schedule
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


def works_overtime(station: str, discipline: str, absences: Mapping[str, Absence]) -> bool:
    """Return whether servers of a station that go off duty first end the services under way.

    At such a station a server that goes off duty takes its place at once, so that it comes back in
    time, while the service that it ends goes on beside it. A discipline that interrupts services
    tells that a server leaves at once.

    Parameters
    ----------
    station, discipline : its name and discipline
    absences : of the model
    """
    return not DISCIPLINES[discipline].preemptive and any(
        absence.station == station and absence.by == OFF_DUTY for absence in absences.values()
    )
