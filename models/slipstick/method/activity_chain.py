"""Activities as Markov chains: a state holds the position of every processor in its activity, and
the phase of its time there.

Processors of one group are alike, so a state is a sorted list of their positions, those of waiting
processors in the order of arrival, and the units of each counter. What takes no time happens at
once, between two states. The chain follows from the meaning of activities alone: it shares no code
with the simulator, and with mean value only the way answers are made, so that both are tested
against it (tests/method/test_activity_chain.py).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from slipstick.errors import NoAnswerError
from slipstick.expression.columns import Flags, Values
from slipstick.expression.nodes import COUNT, Expr
from slipstick.late import Array, np
from slipstick.limits import WorkPace, check_cost, limit
from slipstick.method.answers import Remarks
from slipstick.method.mean_value import MeanValue
from slipstick.method.mean_value.closed import MeanValueTable, out_of_range, uncountable
from slipstick.model import activity as act
from slipstick.model.steps import Activity, each_once
from slipstick.model.system import (
    BARRIER,
    IDLE_PROCESSORS,
    ClosedPopulation,
    Lock,
    Model,
    PhasedPopulation,
    ReaderWriterLock,
    Station,
)
from slipstick.queueing.markov.chain import Rows, Transitions, explore_rows, mean_times, stationary
from slipstick.random_times import LEAST_SCV, nonzero, phase_type
from slipstick.vocabulary import (
    DISCIPLINES,
    LOCKS,
    MARKOV_CHAIN,
    MEAN_VALUE,
    RANDOM,
    REVERSE,
    SHARED,
)

Position = tuple[Any, ...]
"""The position of a processor: its present action, which is a word, the number of a node and the
phase of its time; and the stack of what follows, its next element last."""

Outcomes = Iterable[tuple[Any, Any]]
"""What may follow, each with its probability, a number or an array over the points."""

ENDED: Position = (("ended", 0), ())

_WAITING: dict[type, str] = {
    act.Step: "line",
    act.Hold: "line",
    act.WaitUnit: "wait",
    act.SignalUnit: "give",
    act.BarrierWait: "barrier",
}
"""What a processor does first at a step that may depend on others."""


class ActivityChain(MeanValue):
    """An activity compiled as a Markov chain; points, derivatives and answers are made as by mean
    value.

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="think", scv=1.0) >> service("bus", 1.0, scv=1.0)
    >>> ActivityChain(closed_model(cycle, processors=10)).times({})
    array([12.019])
    """

    method, _error = MARKOV_CHAIN, ""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.smooth = [
            name for name in self.smooth if self.tape.parameters[name].dimension.time_power
        ]

    def _solved(self, numbers: Mapping[Expr, Array], account: bool) -> MeanValueTable:
        """Solve all points; points with the same transitions share the states."""
        for why in _unfit(self.model, numbers):
            raise NoAnswerError(f"markov-chain takes {why} simulation")
        wrong, counts = out_of_range(self.model, numbers), self.model.population.counts
        for size in counts:
            wrong |= uncountable(numbers[size], "the processors", least=int(size is counts[0]))
        told = {at: text.replace(MEAN_VALUE, MARKOV_CHAIN) for at, text in wrong.items()}
        table = MeanValueTable(np.array(numbers[self.model.population.size]), told)
        alike = defaultdict[Any, list[int]](list)
        for at in table.answerable.tolist():
            key = ((each[at].real, expr.dimension == COUNT) for expr, each in numbers.items())
            alike[tuple(value if counted else bool(value) for value, counted in key)].append(at)
        for points in alike.values():
            try:
                _solve_alike(
                    self.model,
                    {expr: each[points] for expr, each in numbers.items()},
                    table,
                    points,
                    account,
                )
            except NoAnswerError as error:
                table.refuse(dict.fromkeys(points, str(error)))
            except RecursionError:
                text = (
                    f"a cycle of {self.model.name} may take no time, so no state lasts; give a step"
                    " of it a time"
                )
                table.refuse(dict.fromkeys(points, text))
        return table

    def _exact(self, values: Values, found: MeanValueTable) -> Flags:
        return np.full(len(found.time), all(step.scv in (0, 1) for step in self.model.steps))

    @property
    def _approximate(self) -> Remarks:
        return Remarks(
            notes=(
                "times of an scv other than 1 are made of exponential phases of that mean and scv",
            )
        )


def _unfit(model: Model, numbers: Mapping[Expr, Array]) -> Iterator[str]:
    """Yield what a chain takes, and what of the model it does not take, as the end of a message."""
    if not isinstance(model.population, ClosedPopulation | PhasedPopulation):
        yield "processors that repeat a cycle, and phases, not arrivals or supersteps: ask for"
    for node in each_once(model.bodies):
        lock = model.resources.get(node.uses[0]) if node.uses else None
        if isinstance(node, act.Fork | act.Pipeline | act.Ask):
            yield (
                f"one thing at a time of a processor, so no {node.kind}: ask"
                f" for{' mean-value or' * (not isinstance(node, act.Ask))}"
            )
        elif type(node) not in (act.Then, act.Repeat, act.Choice, *_WAITING):
            yield f"no steps of the kind {node.kind}, for which it has no rule: ask for"
        elif node.uses and lock is None:
            yield f"no processor as a resource, as {node!r:.80} needs: ask for mean-value or"
        elif isinstance(node, act.Step) and node.scv < LEAST_SCV and numbers[node.time].any():
            yield (
                f"times made of exponential phases, and step {node.name} has scv {node.scv:g}:"
                f" write from {LEAST_SCV:g} (1 is exponential), or ask for"
            )
        elif isinstance(lock, Lock) and (LOCKS[lock.kind].spinning or lock.word is not None):
            yield (
                "locks that are handed over at no cost, and the accesses and pauses of"
                f" {node.uses[0]} are constant: write fifo, or ask for"
            )


def _solve_alike(
    model: Model,
    numbers: Mapping[Expr, Array],
    table: MeanValueTable,
    points: list[int],
    account: bool,
) -> None:
    """Solve points that have the same transitions."""
    population, members = model.population, table.size[points]
    size = {expr: round(numbers[expr][0].real) for expr in population.counts}
    parts: list[Any] = [
        ([(group.cycle, size[group.processors]) for group in population.groups], None)
    ]
    if isinstance(population, PhasedPopulation):
        parts = [([(each.cycle, size[each.processors])], each.repeat) for each in population.phases]
    sums = defaultdict[tuple[str, Any], Array](
        lambda: np.zeros(len(points), dtype=table.size.dtype)
    )
    for cycles, rounds in parts:
        states = _States(model, numbers, cycles, rounds)
        for key, value in _sums(states, account):
            sums[key] += value
            if key == ("time", "") and rounds is not None:
                sums["label", IDLE_PROCESSORS] += (members - len(states.kinds)) * value
    table.time[points] = time = sums["time", ""]
    for index, group in enumerate(population.groups if len(population.groups) > 1 else ()):
        found = size[group.processors] * time / nonzero(sums["calls", index])
        table.groups.setdefault(group.name, table.unknown())[points] = found
    for kind, name in [*sums] if account else ():
        if kind == "label":
            table.booked.setdefault(name, table.unknown())[points] = sums[kind, name] / members
        elif kind == "present":
            present, busy, calls = (sums[each, name] for each in (kind, "busy", "calls"))
            servers, use = (
                (1, sums["units", name])
                if name in model.counters
                else (model.resources[name].capacity, busy)
            )
            shown = np.stack(
                [
                    use / time / servers,
                    present / time,
                    calls / time,
                    (present - busy) / nonzero(calls),
                ]
            )
            table.uses.setdefault(name, table.unknown(4))[:, points] = shown


def _sums(states: _States, account: bool) -> Iterator[tuple[tuple[str, Any], Array]]:
    """Yield sums over a cycle of the first group, or over the rounds of a phase: of the time by
    label, and of visits.
    """
    model, finite, width = states.model, states.rounds is not None, len(states.kinds)
    least = states.least()
    check_cost(
        "states",
        least,
        f"the chain of {model.name} has at least {least:.3g} states",
        "ask for mean-value or simulation",
    )
    chain = explore_rows(
        np.zeros((1, width + len(model.counters)), dtype=np.int32), states.transitions
    )
    every, stuck = (
        np.asarray(chain.states)[:, :width],
        np.setdiff1d(np.arange(chain.size), chain.sources),
    )
    if any(states.known[each] != ENDED for each in every[stuck].flat):
        raise NoAnswerError(
            f"processors of {model.name} can wait for each other without end, which is a deadlock"
        )
    rates = np.array(states.rates)[chain.rates.astype(int)]
    happened = np.array(
        [[names.count(each) for each in states.happens] for names in states.events]
    )[chain.events]
    times, flows = [], []
    for rate in rates.T:
        here = replace(chain, rates=rate)
        spent = mean_times(here, stuck) * (every[:, 0] > 0) if finite else stationary(here)
        flow = (spent[chain.sources] * rate) @ happened
        cycle = 1.0 if finite else states.kinds.count(0) / flow[0]
        times.append(spent * cycle)
        flows.append(flow * cycle)
    yield ("time", ""), np.sum(times, axis=1)
    yield from (
        (("calls", name), flow)
        for name, flow in zip(states.happens, np.transpose(flows), strict=True)
    )
    columns = defaultdict[tuple[str, str, Any], Array](lambda: np.zeros(len(states.known)))
    for number, position in enumerate(states.known[1:] if account else (), 1):
        for key in states.counted_at(position):
            columns[key][number] += 1
    for (kind, name, shared), numbers in columns.items():
        count = numbers[every].sum(axis=1)
        if shared:
            present = np.maximum(columns["present", shared[0], None][every].sum(axis=1), 1)
            speed = np.minimum(1, model.resources[shared[0]].capacity / present)
            count = count * (speed if shared[1] else 1 - speed)
        yield (kind, name), times @ count
    yield from (
        (("units", name), times @ np.asarray(chain.states)[:, at])
        for at, name in enumerate(model.counters, width)
    )


class _States:
    """The states of some kinds of processors, each with its cycle, and what follows each state.

    `known` lists the positions by number, the first for that before the start; `happens` lists what
    is counted: ends of cycles by kind of processor, and begins of visits by resource and counter;
    `events` numbers the sets of them that happen at one transition, and `rates` holds the rates of
    transitions by number [1/s] [points]. The points must have the same transitions.
    """

    def __init__(
        self,
        model: Model,
        numbers: Mapping[Expr, Array],
        cycles: Sequence[tuple[Any, int]],
        rounds: Expr | None,
    ) -> None:
        self.model, self._numbers, self.rounds = model, numbers, rounds
        self._resources: Mapping[str, Any] = model.resources
        bodies = [cycle for cycle, _ in cycles]
        self._nodes: list[Any] = list(each_once(bodies))
        self._number = {id(node): at for at, node in enumerate(self._nodes)}
        self._bodies = [self._number[id(body)] for body in bodies]
        self.kinds = [kind for kind, (_, size) in enumerate(cycles) for _ in range(size)]
        uses = [{name for node in each_once([body]) for name in node.uses} for body in bodies]
        self._parties = Counter(name for kind in self.kinds for name in uses[kind])
        self._counters = list(model.counters)
        self.happens: list[int | str] = [*range(len(cycles)), *model.resources, *self._counters]
        steps = (
            (at, node)
            for at, node in enumerate(self._nodes)
            if isinstance(node, act.Step) and node.scv
        )
        self._times = {at: phase_type(1.0, node.scv) for at, node in steps}
        self.known: list[Position] = [()]
        self._known, self._places = dict[Position, int](), [("", 0)]
        self._pace, self._explored = WorkPace(), 0
        self.events, self.rates, self._rate = (
            dict[tuple[int | str, ...], int](),
            list[Array](),
            dict[bytes, int](),
        )

    def least(self) -> int:
        """Bound the states from below: the ways to spread the processors of each kind over the
        phases of delays.
        """
        if any(isinstance(node, act.BarrierWait | act.WaitUnit) for node in self._nodes):
            return 1

        def phases(node: Activity) -> int:
            inside = 0 if isinstance(node, act.Hold) else sum(map(phases, node.children))
            alone = (
                isinstance(node, act.Step)
                and node.resource is None
                and self._numbers[node.time].any()
            )
            return inside + (self._times[self._number[id(node)]].phases if alone else 0)

        ways = (
            (self.kinds.count(kind), phases(self._nodes[body]))
            for kind, body in enumerate(self._bodies)
        )
        return math.prod(math.comb(size + count - 1, size) for size, count in ways if count)

    def transitions(self, rows: Rows) -> Iterator[Transitions]:
        """Yield all transitions of a block of states; each rate is the number of one in `rates`."""
        found = defaultdict[int, list[tuple[int, list[int], int]]](list)
        one = np.ones_like(next(iter(self._numbers.values())))
        for here, row in enumerate(rows.tolist()):
            self._explored += 1
            self._pace.check(
                self._explored, limit("states"), f"up to {limit('states'):,.0f} states are explored"
            )
            for rate, every, units, names in self._moves(row):
                self.rates += [one * rate] * ((key := (one * rate).tobytes()) not in self._rate)
                number = self._rate.setdefault(key, len(self.rates) - 1)
                event = self.events.setdefault(names, len(self.events))
                found[event].append((here, [*self._row(every), *units], number))
        for event, moves in found.items():
            sources, targets, rates = zip(*moves, strict=True)
            yield np.array(sources), np.array(targets, dtype=rows.dtype), np.array(rates), event

    def _row(self, every: Sequence[Position]) -> list[int]:
        """Write the positions as a row of numbers: those of one queue in the order of arrival,
        all others sorted.
        """
        for position in every:
            if position not in self._known:
                self._known[position] = number = len(self.known)
                self.known.append(position)
                self._places.append((line, 0) if (line := self._line(position)) else ("", number))
        return sorted((self._known[position] for position in every), key=self._places.__getitem__)

    def _line(self, position: Position) -> str:
        word, at, *_ = position[0]
        return (
            getattr(self._nodes[at], "counter" if word == "wait" else "resource")
            if word in ("line", "wait")
            else ""
        )

    def _moves(self, row: list[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the transitions out of a state: rate, positions and units after it, and what
        happens.
        """
        every, units = [self.known[each] for each in row[: len(self.kinds)]], row[len(self.kinds) :]
        if not row[0]:
            begun = [self._begun(kind) for kind in self.kinds]
            # Each way is followed by itself, 0.05 ms: 1,048,576 ways took 56 s (November 2026); a
            # state takes up to 1 ms.
            ways = math.prod(len(list(each)) for each in begun)
            what = (
                f"{self.model.name} may begin in {ways:,} ways, which take the time of"
                f" {ways / 16:,.0f} states"
            )
            check_cost("states", ways / 16, what, "ask for mean-value or simulation")
            yield from self._settled(1.0, _joint(begun), [*self.model.counters.values()])
        elif all(
            position[0][0] == "cost" for position in every
        ):  # all spend it together, so its mean is all that counts
            cost = self._numbers[self._resources[self._nodes[every[0][0][1]].name].cost]
            yield from self._settled(1 / cost, self._onward(every, *range(len(every))), units)
        else:
            serving = [self._nodes[what[1]].resource for what, _ in every if what[0] == "serve"]
            for at, position in enumerate(every):
                (word, number, *phase), left = position
                if word in ("delay", "serve") and position not in every[:at]:
                    times, name = self._times[number], self._nodes[number].resource
                    speed = (
                        min(1.0, self._resources[name].capacity / serving.count(name))
                        if name
                        else 1.0
                    )
                    rate = (
                        every.count(position)
                        * speed
                        * times.rates[phase[0]]
                        / self._numbers[self._nodes[number].time]
                    )
                    on = [
                        (p, ((word, number, to), left))
                        for to, p in enumerate(times.onward[phase[0]])
                        if p
                    ]
                    if (ends := times.exits[phase[0]]) > 1e-12:
                        on += [(ends * p, after) for p, after in self._advanced(left)]
                    yield from self._settled(rate, _moved(every, at, on), units)

    def _settled(
        self, rate: Any, ways: Outcomes, units: Sequence[int], names: tuple[Any, ...] = ()
    ) -> Iterator[Any]:
        """Follow everything that takes no time, until a state that lasts."""
        for p, every in ways:
            following = self._at_once(every, units)
            if following is None:
                yield rate * p, every, units, names
            else:
                happened, after, onward = following
                yield from self._settled(rate * p, onward, after, (*names, *happened))

    def _at_once(
        self, every: Sequence[Position], units: Sequence[int]
    ) -> tuple[Any, Sequence[int], Outcomes] | None:
        """Return what happens next at this instant: its names, the units after it, and what may
        follow; None where nothing does.
        """
        lines = defaultdict[str, list[int]](list)
        for at, position in enumerate(every):
            lines[self._line(position)].append(at)
        for at in lines.pop("", ()):
            (word, number, *_), _ = every[at]
            node = self._nodes[number]
            if word == "cycle":
                return (
                    (number,),
                    units,
                    _moved(every, at, [(1.0, ENDED)] if self.rounds else self._begun(number)),
                )
            if word == "give" and (first := lines[node.counter][:1]):
                # A condition's monitor goes with the unit, before all that wait to enter it.
                return (
                    (node.counter, self.model.monitor_of(node.counter)),
                    units,
                    self._onward(every, at, *first),
                )
            if word == "give":
                return (), self._changed(units, node.counter, 1), self._onward(every, at)
            if word == "barrier" and (met := self._met(every, node)):
                return (), units, met
        # The processor that arrived last continues before those that it releases, as in simulation.
        last = self._line(every[-1])
        for name in ([last] if lines[last][:1] == [len(every) - 1] else []) + [*lines]:
            if name in self._counters and lines[name] and units[self._counters.index(name)]:
                return (name,), self._changed(units, name, -1), self._onward(every, lines[name][0])
            if (
                name not in self._counters
                and lines[name]
                and (entered := self._entered(every, name, lines[name]))
            ):
                return (name,), units, entered
        return None

    def _changed(self, units: Sequence[int], counter: str, by: int) -> list[int]:
        return [
            each + by * (name == counter) for each, name in zip(units, self._counters, strict=True)
        ]

    def _met(self, every: Sequence[Position], node: Any) -> Outcomes | None:
        """Release the processors at a barrier when all are there; its cost passes for all of
        them together.
        """
        there = [
            at
            for at, (what, _) in enumerate(every)
            if what[0] == "barrier" and self._nodes[what[1]].name == node.name
        ]
        parties = node.parties or self._parties[node.name]
        if len(there) < parties:
            return None
        if not self._numbers[self._resources[node.name].cost].any():
            return self._onward(every, *there[:parties])
        if len(every) > parties:
            raise NoAnswerError(
                "markov-chain takes the cost of a barrier, which is constant, only where all"
                f" processors spend it together, unlike that of {node.name}; leave it out, or ask"
                " for simulation"
            )
        return [(1.0, [(("cost", what[1]), left) for what, left in every])]

    def _entered(self, every: Sequence[Position], name: str, line: list[int]) -> Outcomes | None:
        """Let one waiting processor enter a resource, if it is free."""
        resource = self._resources[name]
        if isinstance(resource, Station):
            serving = sum(
                what[0] == "serve" and self._nodes[what[1]].resource == name for what, _ in every
            )
            order = DISCIPLINES[resource.discipline].order
            if serving >= resource.servers and order != SHARED:
                return None
            chosen = line if order == RANDOM else line[-1:] if order == REVERSE else line[:1]
            begun = (
                _moved(every, at, self._timed("serve", every[at][0][1], every[at][1]))
                for at in chosen
            )
            return [(p / len(chosen), after) for options in begun for p, after in options]
        if isinstance(resource, ReaderWriterLock):
            line = sorted(line, key=lambda at: resource.rank(self._nodes[every[at][0][1]].mode))
        held = [node.mode for each in every for node in self._held(each) if node.resource == name]
        (_, number), left = every[line[0]]
        node = self._nodes[number]
        if held if node.mode == act.WRITE else len(held) >= resource.capacity or act.WRITE in held:
            return None
        return _moved(
            every, line[0], self._advanced((*left, ("held", number, 0), self._do(node.body)))
        )

    def _held(self, position: Position) -> list[Any]:
        """List what a processor holds; one that waits for a condition of a monitor has left it."""
        (word, at, *_), left = position
        held = [self._nodes[number] for each, number, _ in left if each == "held"]
        return (
            held[:-1] if word == "wait" and self.model.monitor_of(self._nodes[at].counter) else held
        )

    def _begun(self, kind: int) -> Outcomes:
        """Begin the cycle, or all rounds, of a kind of processor."""
        end, number = ("cycle", kind, 0), self._bodies[kind]
        return (
            self._repeated(self.rounds, (end,), number)
            if self.rounds
            else self._advanced((end, ("do", number, 0)))
        )

    def _repeated(self, count: Expr, left: Position, number: int) -> Outcomes:
        """Do something a number of times; the fraction of the number is the probability of one
        more.
        """
        value = float(self._numbers[count].real[0])
        whole = math.floor(value + 1e-9)
        ways = (
            [(whole + 1 - value, whole), (value - whole, whole + 1)]
            if value - whole > 1e-9
            else [(1.0, whole)]
        )
        return [
            (p * q, each)
            for p, times in ways
            for q, each in self._advanced((*left, ("again", number, times)))
        ]

    def _onward(self, every: Sequence[Position], *those: int) -> Outcomes:
        """Let some processors continue with what follows for them."""
        others = [each for at, each in enumerate(every) if at not in those]
        return [
            (p, [*others, *after])
            for p, after in _joint([self._advanced(every[at][1]) for at in those])
        ]

    def _advanced(self, left: Position) -> Outcomes:
        """Continue up to what takes time or depends on other processors."""
        (word, at, times), left = left[-1], left[:-1]
        if word == "again" and times:
            return self._advanced((*left, (word, at, times - 1), ("do", at, 0)))
        if word in ("again", "held"):
            return self._advanced(left)
        if word == "cycle":
            return [(1.0, ((word, at), left))]
        match self._nodes[at]:
            case act.Step(resource=None):
                return self._timed("delay", at, left)
            case act.Then(parts):
                return self._advanced((*left, *map(self._do, reversed(parts))))
            case act.Repeat(count, body):
                return self._repeated(count, left, self._do(body)[1])
            case act.Choice(options):
                odds = [
                    (self._numbers[p], self._advanced((*left, self._do(body))))
                    for p, body in options
                ]
                return [(p * q, each) for p, onward in odds if p.any() for q, each in onward]
        return [(1.0, ((_WAITING[type(self._nodes[at])], at), left))]

    def _do(self, activity: Activity) -> tuple[str, int, int]:
        return "do", self._number[id(activity)], 0

    def _timed(self, word: str, at: int, left: Position) -> Outcomes:
        """Begin a step in each phase that may be the first; a step without time ends at once."""
        if not self._numbers[self._nodes[at].time].any():
            return self._advanced(left)
        return [
            (p, ((word, at, phase), left)) for phase, p in enumerate(self._times[at].start) if p
        ]

    def counted_at(self, position: Position) -> Iterator[tuple[str, str, tuple[str, bool] | None]]:
        """Yield what counts at a position: the label of its time, where the processor is present,
        and where it is in service.

        Each comes with None, or with a shared station and whether it counts in proportion to the
        speed of a service there (True) or to the rest of 1 (False).
        """
        (word, at, *_), left = position
        node, labels = self._nodes[at], list[tuple[str, tuple[str, bool] | None]]()
        if word == "ended":
            labels = [(IDLE_PROCESSORS, None)]
        elif word in ("line", "wait", "serve"):
            name = node.counter if word == "wait" else node.resource
            wait = (
                self.model.held_resource(name).label(name)
                if isinstance(node, act.Hold)
                else f"wait:{name}"
            )
            labels = [(wait, None)]
            yield "present", name, None
            if word == "serve":
                shared = DISCIPLINES[self._resources[name].discipline].order == SHARED
                labels = (
                    [(node.name, (name, True)), (wait, (name, False))]
                    if shared
                    else [(node.name, None)]
                )
                yield "busy", name, labels[0][1]
        else:
            labels = [(node.name if word == "delay" else f"{BARRIER}:{node.name}", None)]
        yield from (("label", *each) for each in labels if word == "ended" or left[0][1] == 0)
        yield from (
            (kind, each.resource, None)
            for each in self._held(position)
            for kind in ("present", "busy")
        )


def _moved(every: Sequence[Position], at: int, options: Outcomes) -> Outcomes:
    """Move one processor to another position, where it is the last to arrive."""
    return [(p, [*every[:at], *every[at + 1 :], after]) for p, after in options]


def _joint(parts: Sequence[Outcomes]) -> Outcomes:
    """Combine what may follow for several processors."""
    return [
        (math.prod(p for p, _ in each), [after for _, after in each]) for each in product(*parts)
    ]
