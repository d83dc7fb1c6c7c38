"""Machines and networks: the quantities that programs read, as expressions over spec paths."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.expression.nodes import Expr

MEDIA = ("shared", "switched", "none")
"""Where messages contend: one medium for all, each processor's own link, nowhere."""


@dataclass(frozen=True, slots=True)
class LinearCost:
    """A straight line in the message size: fixed [s] + per_byte [s/B] x size."""

    fixed: Expr
    per_byte: Expr


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Protocol cost of messages up to a size; `up_to` is None in the last range [B]."""

    name: str
    up_to: Expr | None
    total: LinearCost


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
class Dvsm:
    """What the software of a distributed virtual shared memory takes, beside protocol time.

    Parameters
    ----------
    send_call, receive_call, serve_call : extra system-call time of a send and a receive at the faulting processor, and of
        serving a request for diffs [s]
    receive_byte : extra system-call time of a byte received [s/B]
    part : fault handler computing for each processor asked [s]
    apply : fault handler computing for a byte of diffs [s/B]
    serve : handler computing for a request for diffs [s]
    page_call, page_serve : extra system-call time of all sends and receives of an empty fault; its handler's computing [s]
    lock_call : extra system-call time of each message of a lock acquisition that the asker waits for [s]
    lock_compute, lock_serve : computing of an acquisition at the asker; of the handler of a request [s]
    delay : from a request's arrival to its processing [s]
    byte : copying a byte of a page for its twin, or comparing it with it [s/B]
    notice : making or merging a write notice [s]
    protect : changing the protection of a page, to invalidate it or at a write fault [s]
    """

    send_call: Expr
    receive_call: Expr
    serve_call: Expr
    receive_byte: Expr
    part: Expr
    apply: Expr
    serve: Expr
    page_call: Expr
    page_serve: Expr
    lock_call: Expr
    lock_compute: Expr
    lock_serve: Expr
    delay: Expr
    byte: Expr
    notice: Expr
    protect: Expr


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
    dvsm : its distributed virtual shared memory, if it has one
    """

    name: str
    processors: Expr
    speed: Expr
    page: Expr
    signal: Expr
    network: Network
    dvsm: Dvsm | None = None
