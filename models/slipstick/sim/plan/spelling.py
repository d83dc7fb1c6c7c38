"""Locks and barriers spelt in instructions."""

from __future__ import annotations

from slipstick.errors import ModelError
from slipstick.sim.plan.assembler import CHANCE, Assembler
from slipstick.sim.plan.distributions import Distribution
from slipstick.sim.plan.forms import BarrierForm, LockForm
from slipstick.sim.plan.plan import Op

__all__ = ["acquire", "meet", "release"]

_ONCE = Distribution("deterministic", 1.0, 0.0)
_ABOUT_ONE = Distribution("uniform", 1.0, 1 / 3)


def acquire(assembler: Assembler, number: int, name: str, form: LockForm) -> None:
    """Come to hold a lock; all time until then is booked to ``lock:<name>``."""
    label = assembler.label(f"lock:{name}")
    if form.kind in ("fifo", "queue"):
        if form.kind == "queue":
            _access(assembler, name, form)
        assembler.emit(Op.ACQUIRE, number, label)
        return
    register = assembler.take_register()
    if form.kind == "ticket":
        _take_turns(assembler, number, name, form, register)
        assembler.give_register_back()
        return
    assembler.emit(Op.ASK, number)
    assembler.emit(Op.SET, register, *assembler.count(0, ""))
    look = assembler.here
    if form.kind == "ttas":
        # Whoever sees the lock held spins on a copy of its own, and reads the word anew when that is gone.
        _access(assembler, name, form)
        assembler.emit(Op.WATCH, number, label)
    _access(assembler, name, form)
    attempt = assembler.emit(Op.TRY, number, -1)
    done = assembler.emit(Op.JUMP, -1)
    assembler.patch(attempt, 1, assembler.here)
    if form.back_off != "none":
        _back_off(assembler, name, form, label, register)
    assembler.emit(Op.JUMP, look)
    assembler.patch(done, 0, assembler.here)
    assembler.give_register_back()


def _take_turns(assembler: Assembler, number: int, name: str, form: LockForm, register: int) -> None:
    """Fetch and increment the number, then read whose turn it is, once more at each release."""
    _access(assembler, name, form)
    assembler.emit(Op.NUMBER, number, register)
    look = assembler.here
    _access(assembler, name, form)
    draw = assembler.draw(f"lock:{name}:arbitration", CHANCE)
    assembler.emit(Op.CALL, number, assembler.label(f"lock:{name}"), register, draw, look)


def release(assembler: Assembler, number: int, name: str, form: LockForm) -> None:
    """Hold a lock no longer; a lock with a word writes it first."""
    if form.kind != "fifo":
        _access(assembler, name, form)
    assembler.emit(Op.RELEASE, number)


def _access(assembler: Assembler, name: str, form: LockForm) -> None:
    if form.word is not None:
        label = f"lock:{name}"
        assembler.serve(form.word, form.access, label, stream=f"{label}:access", wait=label)


def _back_off(assembler: Assembler, name: str, form: LockForm, label: int, register: int) -> None:
    grows = form.back_off == "exponential"
    draw = assembler.draw(f"lock:{name}:back-off", _ABOUT_ONE if grows else _ONCE)
    most = form.most if grows else form.base
    assembler.emit(Op.BACK, draw, label, register, assembler.constant(form.base), assembler.constant(most))


def meet(assembler: Assembler, name: str, form: BarrierForm, parties: int, members: int) -> None:
    """Wait for the others; all of it is booked to ``barrier:<name>``.

    Parameters
    ----------
    name, form : of the barrier
    parties : how many meet
    members : how many there are; trees and dissemination need all of them
    """
    if form.word is not None and form.kind in ("tree", "dissemination"):
        if parties != members:
            raise ModelError(
                f"barrier {name}: a {form.kind} barrier is for the whole population of {members}, not for {parties}"
            )
        (_tree if form.kind == "tree" else _dissemination)(assembler, name, form, members)
    else:
        _central(assembler, name, form, parties)
    if form.cost.mean > 0:
        assembler.delay(form.cost, f"barrier:{name}", stream=f"barrier:{name}:cost")


def _touch(assembler: Assembler, name: str, form: BarrierForm) -> None:
    if form.word is not None:
        label = f"barrier:{name}"
        assembler.serve(form.word, form.access, label, stream=f"{label}:access", wait=label)


def _central(assembler: Assembler, name: str, form: BarrierForm, parties: int) -> None:
    """Count in memory and read the flag; or send word to the manager, who sends word to each in turn."""
    _touch(assembler, name, form)
    assembler.meet(name, parties, f"barrier:{name}")
    _touch(assembler, name, form)


def _tree(assembler: Assembler, name: str, form: BarrierForm, members: int) -> None:
    """Count at the nodes of a tree; whoever is last at the root lets all go, and each reads the flag."""
    meeting, label = assembler.meeting(name), assembler.label(f"barrier:{name}")
    span, children = 1, members
    waits = []
    while children > 1:
        span *= form.radix
        nodes = -(-children // form.radix)
        _touch(assembler, name, form)
        first = assembler.take_nodes(nodes)
        waits.append(assembler.emit(Op.COMBINE, first, span, form.radix, children, meeting, label, -1))
        children = nodes
    assembler.emit(Op.FREE, meeting)
    for each in waits:
        assembler.patch(each, 6, assembler.here)
    _touch(assembler, name, form)


def _dissemination(assembler: Assembler, name: str, form: BarrierForm, members: int) -> None:
    """In round k tell the member 2^k on, and hear from the one 2^k back."""
    distance = 1
    while distance < members:
        flags = assembler.take_flags(members)
        _touch(assembler, name, form)
        assembler.emit(Op.POST, flags, distance, members)
        assembler.emit(Op.AWAIT, flags, assembler.label(f"barrier:{name}"))
        distance *= 2
