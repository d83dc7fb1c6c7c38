"""Barriers: time from the last arrival until all have left, and number of messages."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT, TIME
from slipstick.expression.nodes import ceil_log
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, MELLOR_CRUMMEY_SCOTT, PARSONS, whole_number

_TOGETHER = "all arrive together, which is the worst case"
_PROCESSORS = Symbol("processors", COUNT, "processors that take part", "N")
_COST = Symbol("time", TIME, "from the last arrival until all have left", "T_B")
_SENT = Symbol("messages", COUNT, "remote accesses of all processors", "n")
_MESSAGE = Symbol("message", TIME, "one remote access: a write until the other processor has seen it", "t")


def _met(processors: Any, **times: Any) -> tuple[Comparison, ...]:
    return (compare(processors, ">=", 1), *(compare(time, ">=", 0) for time in times.values()))


CENTRAL_BARRIER = Law(
    name="barrier-central",
    title="A barrier on one counter",
    gives=_COST,
    symbols=(
        _PROCESSORS,
        Symbol("update", TIME, "one update of the counter, one after the other", "t_u"),
        Symbol("notice", TIME, "one processor's read of the changed flag, one after the other", "t_n"),
    ),
    equation=lambda processors, update, notice: processors * update + (processors - 1) * notice,
    holds=_met,
    source=f"{MELLOR_CRUMMEY_SCOTT}: the sense-reversing centralized barrier",
    note=f"{_TOGETHER}; with a broadcast, notice is 0 but for the one that all share: add it once",
    checks=(Check({"processors": 8, "update": 1.0, "notice": 0.5}, 11.5, 0.0, f"{HAND}: 8 + 3.5"),),
)

COMBINING_TREE_BARRIER = Law(
    name="barrier-combining-tree",
    title="A barrier on a tree of counters",
    gives=_COST,
    symbols=(
        _PROCESSORS,
        Symbol("fan", COUNT, "processors, or counters, that share a counter", "k"),
        Symbol("update", TIME, "one update of a counter, one after the other", "t_u"),
        Symbol("notice", TIME, "one read of a changed flag, one after the other", "t_n"),
    ),
    equation=lambda processors, fan, update, notice: ceil_log(processors, fan) * (fan * update + (fan - 1) * notice),
    holds=lambda processors, fan, update, notice: (
        *whole_number(2, fan),
        *_met(processors, update=update, notice=notice),
    ),
    source="Yew, Tzeng and Lawrie, IEEE Transactions on Computers C-36(4), 1987",
    note=f"{_TOGETHER}; up the tree to the root, and down again",
    checks=(
        Check({"processors": 60, "fan": 4, "update": 1.0, "notice": 0.5}, 16.5, 0.0, f"{HAND}: 3 levels of 4 + 1.5"),
        Check({"processors": 64, "fan": 4, "update": 1.0, "notice": 0.0}, 12.0, 0.0, f"{HAND}: 3 levels"),
    ),
)

TOURNAMENT_BARRIER = Law(
    name="barrier-tournament",
    title="A barrier as a tournament",
    gives=_COST,
    symbols=(
        _PROCESSORS,
        _MESSAGE,
        Symbol("release", TIME, "a round of the way back; 0 if the champion's flag is broadcast, added apart", "t_r"),
    ),
    equation=lambda processors, message, release: ceil_log(processors, 2) * (message + release),
    holds=_met,
    source=f"{MELLOR_CRUMMEY_SCOTT}; Hensgen, Finkel and Manber, International Journal of Parallel Programming 17(1), 1988",
    checks=(Check({"processors": 9, "message": 1.0, "release": 0.5}, 6.0, 0.0, f"{HAND}: 4 rounds up and down"),),
)

TOURNAMENT_BARRIER_MESSAGES = Law(
    name="barrier-tournament-messages",
    title="Remote accesses of a tournament barrier",
    gives=_SENT,
    symbols=(_PROCESSORS,),
    equation=lambda processors: 2 * processors - 2,
    holds=_met,
    source=f"{MELLOR_CRUMMEY_SCOTT}: every loser writes once and is signalled once",
    checks=(Check({"processors": 8}, 14.0, 0.0, HAND),),
)

DISSEMINATION_BARRIER = Law(
    name="barrier-dissemination",
    title="A barrier by dissemination",
    gives=_COST,
    symbols=(_PROCESSORS, _MESSAGE),
    equation=lambda processors, message: ceil_log(processors, 2) * message,
    holds=_met,
    source=f"{MELLOR_CRUMMEY_SCOTT}; Hensgen, Finkel and Manber, International Journal of Parallel Programming 17(1), 1988",
    note="neglects that all send in every round: on a bus, take its time for all messages",
    checks=(
        Check({"processors": 9, "message": 1.0}, 4.0, 0.0, f"{HAND}: rounds are whole"),
        Check({"processors": 8, "message": 1.0}, 3.0, 0.0, HAND),
        Check({"processors": 1, "message": 1.0}, 0.0, 0.0, f"{HAND}: no one to wait for"),
    ),
)

DISSEMINATION_BARRIER_MESSAGES = Law(
    name="barrier-dissemination-messages",
    title="Remote accesses of a dissemination barrier",
    gives=_SENT,
    symbols=(_PROCESSORS,),
    equation=lambda processors: processors * ceil_log(processors, 2),
    holds=_met,
    source=f"{MELLOR_CRUMMEY_SCOTT}: every processor signals one other in every round",
    checks=(Check({"processors": 5}, 15.0, 0.0, f"{HAND}: 3 rounds of 5"), Check({"processors": 8}, 24.0, 0.0, HAND)),
)

MANAGER_BARRIER = Law(
    name="barrier-manager",
    title="A barrier kept by a manager, with messages",
    gives=_COST,
    symbols=(
        _PROCESSORS,
        Symbol("arrival", TIME, "the manager's time to take one arrival", "t_a"),
        Symbol("departure", TIME, "the manager's time to send one departure", "t_d"),
        Symbol("transit", TIME, "a message from one side to the other", "t_x"),
    ),
    equation=lambda processors, arrival, departure, transit: (processors - 1) * (arrival + departure) + 2 * transit,
    holds=_met,
    source=f"{PARSONS}: the barrier of TreadMarks",
    note=f"{_TOGETHER}, and the manager is one of them; one processor alone pays nothing, which this leaves out",
    checks=(
        Check({"processors": 8, "arrival": 1.0, "departure": 0.5, "transit": 2.0}, 14.5, 0.0, f"{HAND}: 10.5 + 4"),
    ),
)
