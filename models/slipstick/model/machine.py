"""Machines and networks: the quantities that programs read, as expressions over spec paths."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.expression.nodes import Expr

__all__ = ["MEDIA", "Line", "Machine", "Network", "SizeRange"]

MEDIA = ("shared", "switched", "none")
"""Where messages contend: one medium for all, each processor's own link, nowhere."""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line in the message size: fixed [s] + per_byte [s/B] x size."""

    fixed: Expr
    per_byte: Expr


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Protocol cost of messages up to a size; `up_to` is None in the last range [B]."""

    name: str
    up_to: Expr | None
    total: Line


@dataclass(frozen=True, slots=True)
class Network:
    """A network's cost table.

    Parameters
    ----------
    name : in the catalogue
    protocol_added : bytes that the protocol sees beyond the message [B]
    ranges : protocol cost by size, ascending; the last has no end
    wire_per_byte : time of a byte on the wire [s/B]
    wire_added : bytes that headers and framing add on the wire [B]
    adapter : latency of each adapter [s]
    switch : latency of a switch [s]
    switches : switches between two processors [1]
    medium : where messages contend, one of `MEDIA`
    """

    name: str
    protocol_added: Expr
    ranges: tuple[SizeRange, ...]
    wire_per_byte: Expr
    wire_added: Expr
    adapter: Expr
    switch: Expr
    switches: Expr
    medium: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Processors on a network.

    Parameters
    ----------
    name : in the catalogue
    processors : how many [1]
    speed : of each, relative to the machine the costs were measured on [1]
    page : size of a memory page [B]
    signal : cost of delivering a signal [s]
    network : between the processors
    """

    name: str
    processors: Expr
    speed: Expr
    page: Expr
    signal: Expr
    network: Network
