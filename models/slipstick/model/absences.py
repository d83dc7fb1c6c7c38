"""Servers that are away, because they are broken or off duty: groups of a model, or classes of a
network, that take them from the customers.
"""

from __future__ import annotations

from typing import NamedTuple

from slipstick.expression.nodes import Expr


class Absence(NamedTuple):
    """What a group or class stands for whose members are no customers, but servers that are away.

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
