"""The protocol message by message, as processes: diff requests and lock acquisitions with
contention.

Processes say what trees of activities cannot: a lock request goes to whoever asked last, and is
answered when that one releases. Diff requests are here, too, under the assumptions of `contention`:
there the tree answers, here is the second road to it, and what a tree does not tell, such as the
mean delay of all requests.

Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, sections on fault time and lock
acquisition and the appendix; that a processor does its operations in the order of asking is our
reading of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.model.machine import Machine
from slipstick.program.operations import hardware_latency, protocol_time, wire_time
from slipstick.program.program import InputValues, number, value_of
from slipstick.sim.plan.distributions import service_time
from slipstick_workloads.dvsm import contention, operations
from tests.sim.processes import Process, System

__all__ = ["Requests", "diff_phase", "lock_phase"]

Script = Generator[Any, Any, None]
Given = Expr | float


@dataclass(slots=True)
class Requests:
    """What happened in a phase.

    Parameters
    ----------
    processors : that take part
    times : of each fault or acquisition, from its beginning on a free processor to its end [s]
    delays : of each request, from its arrival to its being received; the signal is not counted [s]
    visits : by processor, the time of each operation there, waiting included [s]
    accounts : of each processor that asked, by label; adds up to its whole time [s]
    sent, received : messages
    holds : from when to when a lock was held [s]
    queue : by processor, mean number of operations there [1]
    end : of the phase [s]
    """

    processors: int
    times: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    visits: list[list[float]] = field(default_factory=list)
    accounts: list[Mapping[str, float]] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    holds: list[tuple[float, float]] = field(default_factory=list)
    queue: list[float] = field(default_factory=list)
    end: float = 0.0

    @property
    def time(self) -> float:
        """Mean time of a fault or an acquisition [s]."""
        return fmean(self.times)

    @property
    def delay(self) -> float:
        """Mean delay of a request [s]."""
        return fmean(self.delays)


def diff_phase(machine: Machine, *, faults: int = 200, seed: int = 0, **given: Given) -> Requests:
    """Let processors ask all others for diffs, fault after fault, as ``dvsm/diff-phase`` does.

    Parameters
    ----------
    machine : as `slipstick.load` gives it
    faults : of each processor that asks
    seed : key of the random streams
    given : inputs of the program ``dvsm/diff-phase``, in base units

    Raises
    ------
    ModelError : an input is unknown or not allowed, or there are no faults

    >>> from slipstick import load
    >>> alone = diff_phase(load("machine/rs6000-43p-atm"), faults=1, processors=4, dispatch=77e-6)
    >>> alone.sent, round(alone.delay * 1e6, 3)
    (6, 77.0)
    """
    _check_count(faults, "faults")
    inputs = contention.DIFF_PHASE.inputs_on(machine, **given)
    askers = int(number(inputs, "askers"))
    cluster = _Cluster(
        machine, int(number(inputs, "processors")), number(inputs, "variation"), seed
    )
    times = _diff_times(machine, inputs)
    return cluster.run([cluster.faulting(each, times, faults) for each in range(askers)])


def lock_phase(
    machine: Machine,
    *,
    askers: int = 1,
    acquisitions: int = 1,
    held: float = 0.0,
    think: float = 0.0,
    **given: Given,
) -> Requests:
    """Let processors acquire one lock, again and again.

    Processor 0 manages the lock and passes each request on to whoever asked last before; that one
    answers when it has released the lock. Before the first request the lock was last held by
    processor 0 with two parties, by one that does not ask with three.

    Parameters
    ----------
    machine : as `slipstick.load` gives it
    askers : processors that acquire, beside the manager [1]
    acquisitions : of each
    held : time that the lock is held [s]
    think : from a release to the next request [s]
    given : inputs of the program ``dvsm/lock``, in base units; its remote delay is that of an idle
        processor

    Raises
    ------
    ModelError : an input is unknown or not allowed, a count is below 1, or there are more than
        three parties

    >>> from slipstick import load
    >>> machine = load("machine/rs6000-43p-atm")
    >>> lock_phase(machine, askers=3, acquisitions=5, held=1e-3).sent  # 2, then 3 each
    44
    """
    _check_count(askers, "askers")
    _check_count(acquisitions, "acquisitions")
    inputs = operations.LOCK.inputs_on(machine, **given)
    parties = number(inputs, "parties")
    if parties not in (2, 3):
        raise ModelError(
            "a lock request passes one manager at most, so there are 2 or 3 parties, got"
            f" {parties:g}"
        )
    processors = askers + int(parties) - 1
    cluster = _Cluster(machine, processors, 0.0, 0)
    lock = _Lock(
        _lock_times(machine, inputs), processors, holder=0 if parties == 2 else processors - 1
    )
    return cluster.run(
        [cluster.acquiring(each + 1, lock, acquisitions, held, think) for each in range(askers)]
    )


@dataclass(frozen=True, slots=True)
class _DiffTimes:
    """Times of a diff request's operations and frames [s]."""

    send: float
    serve: float
    receive: float
    compute: float
    request: float
    reply: float
    dispatch: float


@dataclass(frozen=True, slots=True)
class _LockTimes:
    """Times of an acquisition's operations and frames [s]."""

    send: float
    serve: float
    answer: float
    receive: float
    request: float
    reply: float
    dispatch: float


@dataclass(slots=True)
class _Place:
    """What a processor knows of the lock: it is here, it is held, who is to have it next."""

    here: bool = False
    held: bool = False
    following: int | None = None


class _Lock:
    """A lock as its manager and its holders know it."""

    def __init__(self, times: _LockTimes, processors: int, holder: int) -> None:
        self.times, self.last = times, holder
        self.places = [_Place(here=each == holder) for each in range(processors)]


class _Cluster:
    """Processors, what carries their messages, and what they do."""

    def __init__(self, machine: Machine, processors: int, variation: float, seed: int) -> None:
        self.system, self.found = (
            System(seed),
            Requests(processors, visits=[[] for _ in range(processors)]),
        )
        self._shared = machine.network.medium == "shared"
        self._latency = sum(_values(hardware_latency(machine.network)))
        self._scv = variation**2
        for each in range(processors):
            self.system.station(f"processor-{each}")
            self.system.station(f"link-{each}")
        self.system.station("medium")
        self.boxes = [self.system.mailbox(f"answers to {each}") for each in range(processors)]

    def run(self, scripts: list[Callable[[Process], Script]]) -> Requests:
        """Run to the end."""
        asking = [self.system.process(each) for each in scripts]
        self.found.end = self.system.run()
        self.found.accounts = [each.account for each in asking]
        for each in range(self.found.processors):
            station = self.system.resource("station", f"processor-{each}")
            station.accumulate(self.found.end)
            self.found.queue.append(station.present_time / self.found.end)
        return self.found

    def faulting(self, number: int, times: _DiffTimes, faults: int) -> Callable[[Process], Script]:
        """Ask all others for a diff, wait for all, compute; again and again."""
        processors, box = self.found.processors, self.boxes[number]

        def script(me: Process) -> Script:
            for _ in range(faults):
                # Who was served before the fault keeps the processor; the fault has not begun.
                yield from self._operate(me, number, 0.0, "served")
                begun = me.now
                for step in range(1, processors):
                    yield from self._operate(me, number, times.send, "send")
                    self.system.process(self._diff(number, (number + step) % processors, times))
                for _ in range(1, processors):
                    yield me.get(box, "wait:diffs")
                yield from self._operate(me, number, times.compute, "compute")
                self.found.times.append(me.now - begun)

        return script

    def _diff(
        self, source: int, destination: int, times: _DiffTimes
    ) -> Callable[[Process], Script]:
        def script(me: Process) -> Script:
            yield from self._carry(me, times.request, destination)
            yield from self._serve(me, destination, times.serve, times.dispatch)
            yield from self._carry(me, times.reply, source)
            yield from self._operate(me, source, times.receive, "receive")
            me.put(self.boxes[source])

        return script

    def acquiring(
        self, number: int, lock: _Lock, acquisitions: int, held: float, think: float
    ) -> Callable[[Process], Script]:
        """Acquire a lock, hold it, release it; again and again."""
        place = lock.places[number]

        def script(me: Process) -> Script:
            for _ in range(acquisitions):
                yield me.delay(think, "think")
                begun = me.now
                if not place.here:
                    yield from self._operate(me, number, lock.times.send, "send")
                    self.system.process(self._asked(number, lock))
                    yield me.get(self.boxes[number], "lock")
                place.here = place.held = True
                got = me.now
                self.found.times.append(got - begun)
                yield me.delay(held, "held")
                self.found.holds.append((got, me.now))
                place.held = False
                if place.following is not None:
                    yield from self._passed_on(me, number, lock)

        return script

    def _asked(self, source: int, lock: _Lock) -> Callable[[Process], Script]:
        """Bring a request to the manager, and on to whoever asked last before."""
        times = lock.times

        def script(me: Process) -> Script:
            yield from self._carry(me, times.request, 0)
            yield from self._serve(me, 0, times.serve, times.dispatch)
            before, lock.last = lock.last, source
            if before != 0:
                yield from self._operate(me, 0, times.send, "send")
                yield from self._carry(me, times.request, before)
                yield from self._serve(me, before, times.serve, times.dispatch)
            place = lock.places[before]
            place.following = source
            if place.here and not place.held:
                yield from self._passed_on(me, before, lock)

        return script

    def _passed_on(self, me: Process, holder: int, lock: _Lock) -> Script:
        """Answer with the lock who is to have it next."""
        place = lock.places[holder]
        following = place.following
        assert following is not None
        place.here, place.following = False, None
        yield from self._operate(me, holder, lock.times.answer, "answer")
        self.system.process(self._answered(following, lock))

    def _answered(self, source: int, lock: _Lock) -> Callable[[Process], Script]:
        def script(me: Process) -> Script:
            yield from self._carry(me, lock.times.reply, source)
            yield from self._operate(me, source, lock.times.receive, "receive")
            me.put(self.boxes[source])

        return script

    def _carry(self, me: Process, seconds: float, to: int) -> Script:
        """Carry a message to a processor: over the medium of all, or the link into it."""
        self.found.sent += 1
        yield me.serve("medium" if self._shared else f"link-{to}", seconds, "wire")
        yield me.delay(self._latency, "hardware")
        self.found.received += 1

    def _serve(self, me: Process, processor: int, seconds: float, dispatch: float) -> Script:
        came, took = me.now, self._spent(seconds, "serve")
        yield me.serve(f"processor-{processor}", took, "serve")
        self.found.visits[processor].append(me.now - came)
        self.found.delays.append(me.now - came - took + dispatch)

    def _operate(self, me: Process, processor: int, seconds: float, what: str) -> Script:
        """Do one operation at a processor, after all that was asked of it before."""
        came = me.now
        yield me.serve(f"processor-{processor}", self._spent(seconds, what), what)
        self.found.visits[processor].append(me.now - came)

    def _spent(self, seconds: float, what: str) -> float:
        """Return how long an operation takes this time."""
        return (
            seconds * next(self.system.values(what, service_time(1.0, self._scv)))
            if self._scv
            else seconds
        )


def _lock_times(machine: Machine, inputs: InputValues) -> _LockTimes:
    network, speed = machine.network, machine.speed
    request, reply = value_of(inputs, "request"), value_of(inputs, "reply")
    send, answer = protocol_time(network, request) / speed, protocol_time(network, reply) / speed
    dispatch = value_of(inputs, "remote_delay") / speed
    serve = (machine.signal + value_of(inputs, "remote_compute")) / speed + dispatch + send
    receive = answer + (value_of(inputs, "call") + value_of(inputs, "compute")) / speed
    frames = wire_time(network, request), wire_time(network, reply)
    return _LockTimes(*_values((send, serve, answer, receive, *frames, dispatch)))


def _diff_times(machine: Machine, inputs: InputValues) -> _DiffTimes:
    costs = contention.OperationCosts(machine, inputs)
    frames = (
        wire_time(machine.network, costs.request_size),
        wire_time(machine.network, costs.reply_size),
    )
    dispatch = value_of(inputs, "dispatch") / machine.speed
    return _DiffTimes(
        *_values(
            (
                costs.send_time,
                costs.serve_time,
                costs.receive_time,
                costs.compute_time,
                *frames,
                dispatch,
            )
        )
    )


def _values(times: Sequence[Expr]) -> list[float]:
    return [float(column[0]) for column in Tape(times).run({})]


def _check_count(value: int, what: str) -> None:
    if value < 1:
        raise ModelError(f"a phase needs at least one of {what}, got {value}")
