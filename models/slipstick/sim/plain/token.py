"""Tokens: who is where in the instructions, since when, and what the time went to so far."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

__all__ = ["Action", "Token"]


class Token:
    """A member of the population, or one of the branches and items that it has under way.

    Parameters
    ----------
    member : number of the member, from 0
    group : number of its class
    labels, registers : how many of each it keeps
    parent : who forked it
    index : number of the branch or item
    """

    __slots__ = (
        "after",
        "aim",
        "asked",
        "before",
        "begun",
        "best",
        "booked",
        "came",
        "cause",
        "delayed",
        "finish",
        "generator",
        "group",
        "index",
        "key",
        "label",
        "last",
        "left",
        "line",
        "member",
        "order",
        "parent",
        "passed",
        "pc",
        "rank",
        "registers",
        "since",
        "ticket",
        "turn",
        "wait",
        "waited",
        "work",
    )

    def __init__(
        self, member: int, group: int, labels: int, registers: int, parent: Token | None = None, index: int = 0
    ) -> None:
        self.member, self.group, self.parent, self.index = member, group, parent, index
        self.pc = 0
        self.aim: int = 0 if parent is None else parent.aim
        self.registers = [0] * registers
        # The account: booked up to `since`, by label.
        self.booked = [0.0] * labels
        self.begun = self.since = 0.0
        self.label = self.wait = self.rank = 0
        # At a station: work left and asked for, when it is done, place in the order of service.
        self.waited = self.work = self.asked = self.finish = 0.0
        self.key = self.order = 0
        self.delayed = False
        self.cause: int | None = None
        # At a lock: since when it is asked for [s].
        self.came = 0.0
        # A fork under way: how many are still out, and the line of the one that came in last.
        self.left, self.last, self.best = 0, -1.0, 0
        self.line = self.booked
        # A pipeline under way: neighbours, serial stages left behind, and the one whose turn is awaited.
        self.before: Token | None = None
        self.after: Token | None = None
        self.passed, self.turn = 0, -1
        self.ticket: list[Token | None] = []
        self.generator: Generator[Action, Any, Any] | None = None


Action = Callable[[Token, float], bool]
"""An instruction, or what an event does: takes the token and the time, says whether the token goes on."""
