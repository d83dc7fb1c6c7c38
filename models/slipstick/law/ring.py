"""Slotted rings, one level and two: rotation, waiting for an empty slot, saturation."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, LITTLE, fraction

_BHUYAN = "Bhuyan, Ghosal and Yang, IEEE Transactions on Computers 38(7), 1989"
_FULL = "takes full slots as independent of each other, which is close below a load of about 0.8"
_ROUND = "as on the KSR-1, a request and its reply go once around and hold a slot all the way"

_ROTATION = Symbol("rotation", TIME, "once around the ring", "t_r")
_SLOTS = Symbol("slots", COUNT, "slots on the ring", "S")
_LOAD = Symbol("load", COUNT, "share of the slots that are full", r"\rho")
_REQUESTS = Symbol("requests", RATE, "requests of all processors on the ring", r"\lambda")


def _slotted(rotation: Any, slots: Any, load: Any) -> tuple[Comparison, ...]:
    return compare(rotation, ">=", 0), compare(slots, ">=", 1), compare(load, ">=", 0), compare(load, "<", 1)


def _wait(rotation: Any, slots: Any, load: Any) -> Any:
    """Half a slot until the next one passes, and a geometric number of full ones."""
    return rotation / slots * (0.5 + load / (1 - load))


RING_LOAD = Law(
    name="ring-load",
    title="Share of a ring's slots that are full",
    gives=_LOAD,
    symbols=(_ROTATION, _SLOTS, _REQUESTS),
    equation=lambda rotation, slots, requests: requests * rotation / slots,
    holds=lambda rotation, slots, requests: (
        compare(rotation, ">=", 0),
        compare(slots, ">=", 1),
        compare(requests, ">=", 0),
        compare(requests * rotation / slots, "<=", 1),
    ),
    source=f"{LITTLE}: slots held are requests times the time each holds one",
    note=_ROUND,
    checks=(Check({"rotation": 6e-6, "slots": 24, "requests": 2e6}, 0.5, 1e-16, f"{HAND}: 12 slots of 24"),),
)

RING_SATURATION = Law(
    name="ring-saturation",
    title="Most requests that a slotted ring carries",
    gives=_REQUESTS,
    symbols=(_SLOTS, _ROTATION),
    equation=lambda slots, rotation: slots / rotation,
    holds=lambda slots, rotation: (compare(slots, ">=", 1), compare(rotation, ">", 0)),
    source=f"{_BHUYAN}; every slot carries one request a rotation",
    note=_ROUND,
    checks=(Check({"slots": 24, "rotation": 6e-6}, 4e6, 1e-9, HAND),),
)

RING_LATENCY = Law(
    name="ring-latency",
    title="Time of a request on a slotted ring",
    gives=Symbol("time", TIME, "from the request until the reply arrives", "T"),
    symbols=(_SLOTS, _LOAD, Symbol("response", TIME, "service time of the node that replies", "t_m"), _ROTATION),
    equation=lambda slots, load, response, rotation: rotation + response + _wait(rotation, slots, load),
    holds=lambda slots, load, response, rotation: (*_slotted(rotation, slots, load), compare(response, ">=", 0)),
    source=_BHUYAN,
    note=f"{_FULL}; {_ROUND}",
    exact=False,
    checks=(
        Check(
            {"slots": 24, "load": 0.5, "response": 1e-6, "rotation": 6e-6}, 7.375e-6, 1e-20, f"{HAND}: 7 + 0.25 x 1.5"
        ),
    ),
)

TWO_LEVEL_RING_LOAD = Law(
    name="ring-upper-load",
    title="Share of the upper ring's slots that are full",
    gives=_LOAD,
    symbols=(
        Symbol("rings", COUNT, "lower rings", "R"),
        Symbol("remote", COUNT, "share of the requests that leave their ring", "q"),
        Symbol("requests", RATE, "requests of all processors of one lower ring", r"\lambda"),
        _SLOTS,
        Symbol("rotation", TIME, "once around the upper ring", "t_R"),
    ),
    equation=lambda rings, remote, requests, slots, rotation: rings * remote * requests * rotation / slots,
    holds=lambda rings, remote, requests, slots, rotation: (
        compare(rings, ">=", 1),
        *fraction(remote),
        compare(requests, ">=", 0),
        compare(slots, ">=", 1),
        compare(rotation, ">=", 0),
        compare(rings * remote * requests * rotation / slots, "<=", 1),
    ),
    source=f"Little's law; {_BHUYAN} for hierarchies",
    note=_ROUND,
    checks=(Check({"rings": 4, "remote": 0.1, "requests": 2e6, "slots": 8, "rotation": 4e-6}, 0.4, 1e-15, HAND),),
)

TWO_LEVEL_RING_LATENCY = Law(
    name="ring-two-level-latency",
    title="Mean time of a request on two levels of slotted rings",
    gives=Symbol("time", TIME, "from the request until the reply arrives", "T"),
    symbols=(
        Symbol("remote", COUNT, "share of the requests that leave their ring", "q"),
        _SLOTS,
        _LOAD,
        Symbol("upper_slots", COUNT, "slots on the upper ring", "S_u"),
        Symbol("upper_load", COUNT, "share of the upper ring's slots that are full", r"\rho_u"),
        Symbol("upper_rotation", TIME, "once around the upper ring", "t_u"),
        Symbol("response", TIME, "service time of the node that replies", "t_m"),
        _ROTATION,
    ),
    equation=lambda remote, slots, load, upper_slots, upper_load, upper_rotation, response, rotation: (
        response
        + (1 + remote) * (rotation + _wait(rotation, slots, load))
        + remote * (upper_rotation + _wait(upper_rotation, upper_slots, upper_load))
    ),
    holds=lambda remote, slots, load, upper_slots, upper_load, upper_rotation, response, rotation: (
        *fraction(remote),
        *_slotted(rotation, slots, load),
        *_slotted(upper_rotation, upper_slots, upper_load),
        compare(response, ">=", 0),
    ),
    source=f"{_BHUYAN}: a remote request goes once around its own ring, the upper ring and the other ring",
    note=f"all lower rings alike, loads including the traffic from above; {_FULL}",
    exact=False,
    checks=(
        Check(
            {
                "remote": 0.5,
                "slots": 10,
                "load": 0.5,
                "upper_slots": 10,
                "upper_load": 0.0,
                "upper_rotation": 20.0,
                "response": 2.0,
                "rotation": 10.0,
            },
            29.75,
            0.0,
            f"{HAND}: 2 + 1.5 (10 + 1.5) + 0.5 (20 + 1)",
        ),
    ),
)
