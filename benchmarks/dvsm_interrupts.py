"""Remote delays of diff requests in phases 1 and 3 of Tables 4 and 5, if receive interrupts preempt
what a processor does.

Run it with ``python benchmarks/dvsm_interrupts.py``. Processor 0 asks all others for diffs, as in
the study dvsm-contention, whose costs these are; here the protocol of a message that arrives is
done at once, by an interrupt that preempts a send, a receive or a handler, at the source and at the
destinations. The delay of a request is from its arrival to its processing, with three readings of
when it arrives: after its interrupt, with its frame (the interrupt counts), and as it was to leave
if no interrupt had held up the sends. Nothing is fitted. It shares no code with the models but the
costs of the operations.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from slipstick import load
from slipstick.expression.nodes import TIME, total
from slipstick.expression.tape import Tape
from slipstick.model.machine import Machine
from slipstick.program.operations import hardware_latency, protocol_time, wire_time
from slipstick.program.program import value_of
from slipstick.units import parse
from slipstick_workloads.dvsm.contention import DIFF_PHASE, OperationCosts

STUDY = Path(__file__).parent.parent / "specs" / "studies" / "dvsm-contention.yaml"
MEASURED = {
    "diff4-fe-1": (1759, 262),
    "diff4-fe-3": (4268, 368),
    "diff4-atm-1": (2060, 267),
    "diff4-atm-3": (4273, 370),
    "diff8-fe-1": (2814, 484),
    "diff8-fe-3": (8661, 795),
    "diff8-atm-1": (3052, 280),
    "diff8-atm-3": (7699, 382),
}
"""Fault time, from the printed shares, and remote delay of Tables 4 and 5 [us]."""

Then = Callable[[float], None]


@dataclass(slots=True)
class Clock:
    """The future events, in order of time."""

    ahead: list[tuple[float, int, Then]] = field(default_factory=list)
    order: Any = field(default_factory=itertools.count)

    def at(self, when: float, then: Then) -> None:
        """Plan an event."""
        heapq.heappush(self.ahead, (when, next(self.order), then))

    def run(self) -> None:
        """Execute the events until none is left."""
        while self.ahead:
            when, _, then = heapq.heappop(self.ahead)
            then(when)


@dataclass(slots=True)
class Processor:
    """A processor: it serves interrupts at once, and all other work in order of arrival."""

    clock: Clock
    waiting: list[tuple[int, int, float, Then]] = field(default_factory=list)
    since: float = 0.0
    turn: int = 0

    def do(self, seconds: float, now: float, then: Then, *, interrupt: bool = False) -> None:
        """Begin an operation; the operation in progress is resumed after an interrupt."""
        self._book(now)
        heapq.heappush(self.waiting, (not interrupt, next(self.clock.order), seconds, then))
        self._go_on(now)

    def _book(self, now: float) -> None:
        if self.waiting:
            rank, order, work_left, then = self.waiting[0]
            self.waiting[0] = (rank, order, work_left - (now - self.since), then)

    def _go_on(self, now: float) -> None:
        self.since, self.turn = now, self.turn + 1
        if self.waiting:
            turn = self.turn
            self.clock.at(now + self.waiting[0][2], lambda when: self._ended(turn, when))

    def _ended(self, turn: int, now: float) -> None:
        if turn == self.turn:
            then = heapq.heappop(self.waiting)[3]
            self._go_on(now)
            then(now)


class Costs(NamedTuple):
    """Times of a phase [s]."""

    send: float
    receive: float
    serve: float
    request_protocol: float
    reply_protocol: float
    request: float
    reply: float
    compute: float
    dispatch: float
    latency: float


class Found(NamedTuple):
    """Fault time, and the mean delay by each reading [us]."""

    fault: float
    handler: float
    frame: float
    planned: float


def costs_of(machine: Machine, inputs_of_case: dict[str, float]) -> Costs:
    """Return the costs of the operations, those of the study's model."""
    inputs = DIFF_PHASE.inputs_on(machine, **inputs_of_case)
    operations, network = OperationCosts(machine, inputs), machine.network
    protocols = (
        protocol_time(network, operations.request_size),
        protocol_time(network, operations.reply_size),
    )
    wires = wire_time(network, operations.request_size), wire_time(network, operations.reply_size)
    columns = (
        operations.send_time,
        operations.receive_time,
        operations.serve_time,
        *protocols,
        *wires,
        operations.compute_time,
        value_of(inputs, "dispatch"),
    )
    return Costs(
        *(
            float(column[0])
            for column in Tape((*columns, total(hardware_latency(network), TIME))).run({})
        )
    )


def fault(costs: Costs, servers: int, *, shared: bool, interrupts: bool) -> Found:
    """Simulate one fault."""
    clock, medium, end_times = Clock(), [0.0], list[float]()
    source, places = Processor(clock), [Processor(clock) for _ in range(servers)]
    handler, frame, planned = list[float](), list[float](), list[float]()

    def carried(seconds: float, now: float, then: Then) -> None:
        begins = max(now, medium[0]) if shared else now
        medium[0] = begins + seconds
        clock.at(begins + seconds + costs.latency, then)

    def arrives(place: Processor, seconds: float, now: float, then: Then) -> None:
        """Do the protocol of a message that arrives, by an interrupt, or else with what follows."""
        if interrupts:
            place.do(seconds, now, then, interrupt=True)
        else:
            then(now)

    def sent(number: int, now: float) -> None:
        leaves = (number + 1) * costs.send

        def came(at: float) -> None:
            protocol = costs.request_protocol if interrupts else 0.0
            rest = costs.serve - protocol

            def ready(when: float) -> None:
                def served(end: float) -> None:
                    begun = end - (rest - costs.dispatch)
                    handler.append(begun - when)
                    frame.append(begun - at)
                    planned.append(begun - at + now - leaves)
                    carried(costs.reply, end, returned)

                places[number].do(rest, when, served)

            arrives(places[number], protocol, at, ready)

        carried(costs.request, now, came)
        if number + 1 < servers:
            source.do(costs.send, now, lambda when: sent(number + 1, when))

    def returned(now: float) -> None:
        protocol = costs.reply_protocol if interrupts else 0.0
        arrives(
            source, protocol, now, lambda when: source.do(costs.receive - protocol, when, received)
        )

    def received(now: float) -> None:
        end_times.append(now)
        if len(end_times) == servers:
            source.do(costs.compute, now, end_times.append)

    source.do(costs.send, 0.0, lambda when: sent(0, when))
    clock.run()
    return Found(
        *(1e6 * seconds for seconds in (end_times[-1], *map(fmean, (handler, frame, planned))))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="the phases among 4 processors only")
    short = parser.parse_args().short
    cases = yaml.safe_load(STUDY.read_text(encoding="utf-8"))["cases"]
    print(
        "fault time [us] and mean remote delay [us]: measured, without interrupts, with them (after"
        " its interrupt,"
    )
    print("with its frame, as planned)")
    errors = list[list[float]]()
    for name, (time, delay) in MEASURED.items():
        if short and "8" in name:
            continue
        case = {key: value for key, value in cases[name].items() if key != "title"}
        machine = load(f"machine/{case.pop('machine')}")
        assert isinstance(machine, Machine)
        text_by_input = {
            key: str(input_value)
            for key, input_value in case.items()
            if key not in ("model", "method") and "." not in key
        }
        value_by_input = {key: parse(text)[0] for key, text in text_by_input.items()}
        servers, shared = int(value_by_input["processors"]) - 1, machine.network.medium == "shared"
        costs = costs_of(machine, value_by_input)
        plain, interrupted = (
            fault(costs, servers, shared=shared, interrupts=interrupts)
            for interrupts in (False, True)
        )
        delays = "  ".join(f"{value:4.0f}" for value in interrupted[1:])
        errors.append([abs(value / delay - 1) for value in (plain.handler, *interrupted[1:])])
        errors[-1] += [abs(value / time - 1) for value in (plain.fault, interrupted.fault)]
        print(
            f"{name:12}  {time:5} {delay:4}  {plain.fault:5.0f} {plain.handler:4.0f} "
            f" {interrupted.fault:5.0f}  {delays}"
        )
    means = [f"{fmean(column):.0%}" for column in zip(*errors, strict=True)]
    print(
        f"mean absolute error of the delay: {means[0]}; with interrupts, by reading:"
        f" {', '.join(means[1:4])}"
    )
    print(f"mean absolute error of the fault time: {means[4]}; with interrupts: {means[5]}")


if __name__ == "__main__":
    main()
