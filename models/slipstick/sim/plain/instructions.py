"""What each instruction means: the table that a kernel assembles a plan with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slipstick.sim.plain import flow, locking, meeting, pipelines
from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plain.token import Action
from slipstick.sim.plan.plan import Op

__all__ = ["MEANING"]

MEANING: dict[Op, Callable[[Runtime, int, Sequence[int]], Action]] = {
    Op.DELAY: flow.delay,
    Op.SERVE: flow.serve,
    Op.PICK: flow.pick,
    Op.EACH: flow.each,
    Op.CHOOSE: flow.choose,
    Op.JUMP: flow.jump,
    Op.SET: flow.set_,
    Op.LOOP: flow.loop,
    Op.SWITCH: flow.switch,
    Op.END: flow.end,
    Op.FORK: flow.fork,
    Op.JOIN: flow.join,
    Op.PIPE: pipelines.pipe,
    Op.ENTER: pipelines.enter,
    Op.LEAVE: pipelines.leave,
    Op.ACQUIRE: locking.acquire,
    Op.RELEASE: locking.release,
    Op.ASK: locking.ask,
    Op.TRY: locking.try_,
    Op.WATCH: locking.watch,
    Op.BACK: locking.back,
    Op.NUMBER: locking.number,
    Op.CALL: locking.call,
    Op.MEET: meeting.meet,
    Op.COMBINE: meeting.combine,
    Op.FREE: meeting.free,
    Op.POST: meeting.post,
    Op.AWAIT: meeting.await_,
    Op.ADMIT: flow.admit,
    Op.BEGIN: flow.begin,
}
