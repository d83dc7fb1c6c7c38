"""Instructions that pass time, choose, loop, fork and join.

Instructions for pipelines: items that pass serial stages one at a time and in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush

from slipstick.sim.plain.clock import Action, Token
from slipstick.sim.plain.runtime import Runtime
from slipstick.sim.plan.plan import Where


def delay(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """DELAY: let time pass."""
    times, label, then = runtime.draws[operands[0]], operands[1], pc + 1
    heap, order, resume = runtime.heap, runtime.order, runtime.resume

    def run(token: Token, now: float) -> bool:
        token.pc = then
        token.label = label
        heappush(heap, (now + next(times), order(), resume, token))
        return False

    return run


def serve(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SERVE: visit a station."""
    first, draw, label, wait, where, rank = operands[:6]
    times, stations, then = runtime.draws[draw], runtime.stations, pc + 1
    if where == Where.FIXED:
        begin = stations[first].enter

        def fixed(token: Token, now: float) -> bool:
            token.pc = then
            token.label = label
            token.wait = wait
            token.rank = rank
            begin(token, next(times), now)
            return False

        return fixed

    def run(token: Token, now: float) -> bool:
        token.pc, token.label, token.wait, token.rank = then, label, wait, rank
        whose = token.member if where == Where.OWN else token.aim
        stations[first + whose].enter(token, next(times), now)
        return False

    return run


def pick(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """PICK: aim at one of the others at random."""
    draws, first, members = runtime.draws[operands[0]], operands[1], operands[2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.aim = first + (token.member - first + 1 + int(next(draws) * (members - 1))) % members
        return True

    return run


def each(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """EACH: aim at the j-th other, j the number of the branch or item."""
    first, members = operands[:2]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.aim = first + (token.member - first + 1 + token.index % (members - 1)) % members
        return True

    return run


def choose(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """CHOOSE: go to one of several places; the last is taken if rounding leaves a gap."""
    draws, first, count = runtime.draws[operands[0]], operands[1], operands[2]
    odds, targets = runtime.plan.odds, runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        chance = next(draws)
        option = first
        while option < first + count - 1 and chance >= odds[option]:
            option += 1
        token.pc = targets[option]
        return True

    return run


def jump(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """JUMP: go on elsewhere."""

    def run(token: Token, now: float) -> bool:
        token.pc = operands[0]
        return True

    return run


def set_(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SET: how often a loop is to go round; a fraction is the chance of once more."""
    register, count, draws = operands[0], runtime.plan.counts[operands[1]], runtime.draws[operands[2]]
    whole = int(count)

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.registers[register] = whole + (next(draws) < count - whole)
        return True

    return run


def loop(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """LOOP: once more, or go on elsewhere."""
    register, after = operands[:2]

    def run(token: Token, now: float) -> bool:
        if token.registers[register] <= 0:
            token.pc = after
        else:
            token.registers[register] -= 1
            token.pc = pc + 1
        return True

    return run


def switch(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """SWITCH: go to the place of this branch or item."""
    targets = runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        token.pc = targets[operands[0] + token.index]
        return True

    return run


def admit(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ADMIT: count who comes, and send away who finds the station full."""
    gate, station, most, elsewhere = operands[:4]
    tried, refused, stations = runtime.tried, runtime.refused, runtime.stations

    def run(token: Token, now: float) -> bool:
        tried[gate] += 1
        token.pc = pc + 1
        if most and stations[station].present >= most:
            refused[gate] += 1
            token.pc = elsewhere
        return True

    return run


def begin(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """BEGIN: what came before was no part of the response."""

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.begun = now
        return True

    return run


def end(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """END: book the cycle; begin again, leave, or be done."""
    plan, onward, lost = runtime.plan, operands[0], operands[1]

    def book(token: Token, now: float) -> None:
        group = token.group
        if not lost:
            time = now - token.begun
            runtime.responses[group].append(time)
            runtime.cycle_time[group] += time
        totals, booked = runtime.totals[group], token.booked
        for label, seconds in enumerate(booked):
            if seconds:
                totals[label] += seconds
                booked[label] = 0.0

    def again(token: Token, now: float) -> bool:
        while runtime.code[token.pc](token, now):
            pass
        return False

    def run(token: Token, now: float) -> bool:
        book(token, now)
        kind, starts = plan.members[token.group].kind, plan.members[token.group].starts
        if kind == "closed":
            begun, token.begun = token.begun, now
            token.pc = pc + 1 if onward else starts[0]
            if not lost:
                runtime.ended(token.group, now)
            if begun == now:
                # A cycle without time would keep this instant for ever: let others in between.
                heappush(runtime.heap, (now, runtime.order(), again, token))
            return begun != now
        if kind == "open":
            if not lost:
                runtime.ended(token.group, now)
            runtime.pools[token.group].append(token)
            return False
        runtime.cycles[token.group] += 1
        runtime.alive -= 1
        if not runtime.alive:
            runtime.snapshot(now)
        return False

    return run


def fork(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """FORK: let branches run side by side."""
    first, count, after = operands[:3]
    targets = runtime.plan.targets

    def run(token: Token, now: float) -> bool:
        token.pc = after
        token.left, token.last = count, -1.0
        for index in range(count):
            branch = runtime.token(token.member, token.group, token, index)
            branch.since = now
            branch.pc = targets[first + index]
            runtime.ready.append(branch)
        return False

    return run


def join(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """JOIN: the line of the branch that comes in last is the parent's; of several, the first written."""

    def run(token: Token, now: float) -> bool:
        parent = token.parent
        assert parent is not None
        if now > parent.last or token.index < parent.best:
            parent.last, parent.best, parent.line = now, token.index, token.booked
        parent.left -= 1
        if not parent.left:
            booked = parent.booked
            for label, seconds in enumerate(parent.line):
                booked[label] += seconds
            parent.since = now
            runtime.ready.append(parent)
        return False

    return run


def pipe(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """PIPE: let items run through the stages; a fraction of an item is the chance of one more."""
    count, draws, begin, after = runtime.plan.counts[operands[0]], runtime.draws[operands[1]], operands[2], operands[3]
    whole = int(count)

    def run(token: Token, now: float) -> bool:
        token.pc = after
        items = whole + (next(draws) < count - whole)
        if not items:
            return True
        token.left, token.last = items, -1.0
        before = None
        for index in range(items):
            item = runtime.token(token.member, token.group, token, index)
            item.since, item.pc, item.before = now, begin, before
            if before is not None:
                before.after = item
            before = item
            runtime.ready.append(item)
        return False

    return run


def enter(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """ENTER: wait until the item before has left this serial stage."""
    stage = operands[0]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        if token.before is None or token.before.passed > stage:
            return True
        token.turn = stage
        return False

    return run


def leave(runtime: Runtime, pc: int, operands: Sequence[int]) -> Action:
    """LEAVE: let the next item into this serial stage.

    If it had to wait, what held it up is this item: its line up to now is this item's.
    """
    stage = operands[0]

    def run(token: Token, now: float) -> bool:
        token.pc = pc + 1
        token.passed = stage + 1
        following = token.after
        if following is not None and following.turn == stage:
            following.turn = -1
            if now > following.since:
                following.booked[:] = token.booked
                following.since = now
            runtime.ready.append(following)
        return True

    return run
