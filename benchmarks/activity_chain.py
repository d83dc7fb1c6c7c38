"""Small activities as Markov chains, the exact reference of benchmarks/mean_value.py.

A state holds what each processor is doing: the path through its activity down to a delay, a service with its phase, or
a place in a line. Processors are alike, so states that differ in their order are one. Written from the meaning of the
activities alone, it shares nothing with the simulator or with mean value; barriers are free and lines first come first
served or shared.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

sys.path.insert(0, str(Path(__file__).parents[1]))  # the plain exploration of states is the tests' own

from slipstick.errors import TooManyStatesError
from slipstick.model.activity import Activity, BarrierWait, Choice, Fork, Hold, Pipeline, Repeat, Step, Then, repeat
from slipstick.model.system import ClosedPopulation, Model, PhasedPopulation, Station
from slipstick.queueing.markov.chain import MarkovChain, stationary
from slipstick.service_times import PhaseType, erlang, hyperexponential
from tests.queueing.markov.by_hand import explore_states

Config = Any
"""What one processor is doing: None if nothing is left, else a tuple whose first item says the kind of node."""

Options = list[tuple[float, Config]]
"""What may follow, each with its probability."""

LAST = 1_000_000
"""Place in a line of one that has just come."""

ENDED: Config = ("ended",)


class ActivityChain:
    """The chain of a number of processors that execute an activity.

    Parameters
    ----------
    model : whose resources are used
    cycle : of each processor
    processors : how many
    rounds : that each makes before it stops; None for ever
    """

    def __init__(self, model: Model, cycle: Activity, processors: int, rounds: int | None = None) -> None:
        self._model, self._cycle, self._count = model, cycle, processors
        self._nodes: dict[int, Any] = {}
        self._times: dict[int, PhaseType] = {}
        self._root = cycle if rounds is None else repeat(rounds, cycle)
        self._forever = rounds is None

    def solve(self, limit: int) -> MarkovChain:
        """Explore all states, at most `limit`."""
        begin: dict[Any, float] = {}
        for chance, state in _joint([self._begin(self._root)] * self._count):
            for p, each in self._settled(state):
                begin[each] = begin.get(each, 0.0) + chance * p
        return explore_states(begin, self._transitions, limit=limit)

    def cycle_time(self, limit: int) -> float:
        """Give the mean time of a cycle that begins with a delay, by Little's law for that delay [s]."""
        assert isinstance(self._cycle, Then)
        first = self._cycle.parts[0]
        assert isinstance(first, Step)
        chain = self.solve(limit)
        inside = [sum(leaf[1] == id(first) for each in state for _, leaf in _leaves(each)) for state in chain.states]
        return self._count * _value(first.time) / float(stationary(chain) @ np.array(inside))

    def time_to_end(self, limit: int) -> float:
        """Give the mean time until all have ended [s]."""
        chain = self.solve(limit)
        going = np.array([any(each != ENDED for each in state) for state in chain.states])
        part = chain.generator().tocsc()[going][:, going]
        return float(chain.start[going] @ spsolve(part.tocsc(), -np.ones(int(going.sum()))))

    def _transitions(self, state: tuple[Config, ...]) -> list[tuple[tuple[Config, ...], float]]:
        found: list[tuple[tuple[Config, ...], float]] = []
        present = Counter(
            self._nodes[leaf[1]].resource for each in state for _, leaf in _leaves(each) if leaf[0] == "serve"
        )
        for at, each in enumerate(state):
            for path, leaf in _leaves(each):
                if leaf[0] not in ("delay", "serve"):
                    continue
                step, phase = self._nodes[leaf[1]], leaf[2]
                time = self._time(step)
                rate = float(time.rates[phase])
                if leaf[0] == "serve":
                    rate *= min(1.0, self._servers(step.resource) / present[step.resource])
                options = [
                    (float(p), _replaced(each, path, (leaf[0], leaf[1], to)))
                    for to, p in enumerate(time.onward[phase])
                    if p
                ]
                if time.exits[phase] > 1e-12:
                    for p, after in self._completed(each, path):
                        chance = float(time.exits[phase]) * p
                        options += [(chance * q, new) for q, new in self._next(after)]
                for p, new in options:
                    for q, settled in self._settled((*state[:at], new, *state[at + 1 :])):
                        found.append((settled, rate * p * q))
        return found

    def _next(self, after: Config) -> Options:
        """Begin the cycle again where a processor has nothing left to do."""
        if after is not None:
            return [(1.0, after)]
        return self._begin(self._root) if self._forever else [(1.0, ENDED)]

    def _begin(self, node: Activity) -> Options:
        """Give what a processor is doing when it has just come to a node."""
        self._nodes[id(node)] = node
        match node:
            case Step(resource=None):
                if _value(node.time) == 0:
                    return [(1.0, None)]
                return [(float(p), ("delay", id(node), k)) for k, p in enumerate(self._time(node).start) if p]
            case Step() | Hold():
                return [(1.0, ("line", id(node), LAST))]
            case BarrierWait():
                return [(1.0, ("barrier", id(node)))]
            case Then():
                return self._then(node, 0)
            case Repeat(count):
                return self._again(node, round(_value(count)))
            case Choice(options):
                return [(_value(p) * q, each) for p, body in options for q, each in self._begin(body)]
            case Fork(branches):
                made = _joint([self._begin(branch) for branch in branches])
                return [(p, None if all(each is None for each in parts) else ("fork", parts)) for p, parts in made]
            case Pipeline(stages):
                items = tuple(range(round(_value(node.items))))
                line = tuple((items if index == 0 else (), 0, ()) for index in range(len(stages)))
                return self._flow(node, line)
        raise TypeError(type(node))

    def _then(self, node: Then, index: int) -> Options:
        if index == len(node.parts):
            return [(1.0, None)]
        return [
            done
            for p, each in self._begin(node.parts[index])
            for done in (
                [(p * q, rest) for q, rest in self._then(node, index + 1)]
                if each is None
                else [(p, ("then", id(node), index, each))]
            )
        ]

    def _again(self, node: Repeat, left: int) -> Options:
        if left == 0:
            return [(1.0, None)]
        return [
            done
            for p, each in self._begin(node.body)
            for done in (
                [(p * q, rest) for q, rest in self._again(node, left - 1)]
                if each is None
                else [(p, ("repeat", id(node), left, each))]
            )
        ]

    def _flow(self, node: Pipeline, line: tuple[Any, ...]) -> Options:
        """Let items begin the stages that are free, serial ones in the order of the items.

        A stage has the numbers of the items that wait, how many a serial one has begun, and the items inside.
        """
        for index, (stage, (waiting, begun, inside)) in enumerate(zip(node.stages, line, strict=True)):
            serial = stage.kind == "serial"
            if waiting and (not serial or (not inside and waiting[0] == begun)):
                found: Options = []
                item = waiting[0]
                for p, each in self._begin(stage.bodies[0]):
                    made = list(line)
                    made[index] = (waiting[1:], begun + serial, (*inside, (item, each)) if each is not None else inside)
                    if each is None:
                        _pass_on(made, index, item)
                    found += [(p * q, rest) for q, rest in self._flow(node, tuple(made))]
                return found
        return [(1.0, ("pipeline", id(node), line) if any(inside for _, _, inside in line) else None)]

    def _completed(self, config: Config, path: tuple[Any, ...]) -> Options:
        """Give what a processor does when the leaf at the end of a path is over."""
        if not path:
            return [(1.0, None)]
        found: Options = []
        for p, inner in self._completed(_child(config, path[0]), path[1:]):
            if inner is not None:
                found.append((p, _with_child(config, path[0], inner)))
                continue
            match config:
                case ("then", node, index, _):
                    after = self._then(self._nodes[node], index + 1)
                case ("repeat", node, left, _):
                    after = self._again(self._nodes[node], left - 1)
                case ("hold", *_):
                    after = [(1.0, None)]
                case ("fork", parts):
                    left_over = tuple(None if at == path[0] else each for at, each in enumerate(parts))
                    after = [(1.0, None if all(each is None for each in left_over) else ("fork", left_over))]
                case ("pipeline", node, line):
                    at, place = path[0]
                    made = list(line)
                    waiting, begun, inside = line[at]
                    made[at] = (waiting, begun, (*inside[:place], *inside[place + 1 :]))
                    _pass_on(made, at, inside[place][0])
                    after = self._flow(self._nodes[node], tuple(made))
            found += [(p * q, rest) for q, rest in after]
        return found

    def _settled(self, state: tuple[Config, ...]) -> Iterator[tuple[float, tuple[Config, ...]]]:
        """Let processors pass barriers and enter servers until nothing more can begin."""
        lines: dict[str, list[tuple[int, int, Any, Any]]] = {}
        used: Counter[str] = Counter()
        at_barrier = 0
        for at, each in enumerate(state):
            used.update(self._nodes[hold].resource for hold in _held(each))
            for path, leaf in _leaves(each):
                at_barrier += leaf[0] == "barrier"
                if leaf[0] == "line":
                    lines.setdefault(self._nodes[leaf[1]].resource, []).append((leaf[2], at, path, leaf))
                elif leaf[0] == "serve":
                    used[self._nodes[leaf[1]].resource] += 1
        if at_barrier == self._count:
            options = []
            for each in state:
                path, _ = next(_leaves(each))
                options.append(
                    [(p * q, new) for p, after in self._completed(each, path) for q, new in self._next(after)]
                )
            for p, made in _joint(options):
                for q, settled in self._settled(made):
                    yield p * q, settled
            return
        for line in lines.values():
            # Those that have come get a place before another begins: one that begins may come to the same line after it.
            line.sort(key=lambda each: each[:2])
            for place, (_, at, path, leaf) in enumerate(line):
                state = (*state[:at], _replaced(state[at], path, ("line", leaf[1], place)), *state[at + 1 :])
        for name, line in lines.items():
            if used[name] < self._servers(name) or self._shares(name):
                _, at, path, leaf = line[0]
                node = self._nodes[leaf[1]]
                if isinstance(node, Hold):
                    begun = [(p, ("hold", leaf[1], each)) for p, each in self._begin(node.body)]
                else:
                    begun = [(float(p), ("serve", leaf[1], k)) for k, p in enumerate(self._time(node).start) if p]
                for p, each in begun:
                    new = _replaced(state[at], path, each)
                    for q, settled in self._settled((*state[:at], new, *state[at + 1 :])):
                        yield p * q, settled
                return
        yield 1.0, tuple(sorted(state, key=hash))

    def _time(self, step: Step) -> PhaseType:
        if id(step) not in self._times:
            mean = _value(step.time)
            made = hyperexponential(mean, step.scv) if step.scv > 1 else erlang(mean, round(1 / step.scv))
            self._times[id(step)] = made
        return self._times[id(step)]

    def _servers(self, name: str) -> int:
        return self._model.resources[name].capacity

    def _shares(self, name: str) -> bool:
        resource = self._model.resources[name]
        return isinstance(resource, Station) and resource.discipline == "ps"


def exact_time(model: Model, limit: int) -> float | None:
    """Give the mean time of a closed cycle or of a program [s]; None if the chain has more states than the limit."""
    population = model.population
    try:
        if isinstance(population, PhasedPopulation):
            return sum(
                ActivityChain(
                    model, phase.cycle, round(_value(phase.processors)), round(_value(phase.repeat))
                ).time_to_end(limit)
                for phase in population.phases
            )
        assert isinstance(population, ClosedPopulation)
        return ActivityChain(model, population.first.cycle, round(_value(population.size))).cycle_time(limit)
    except TooManyStatesError:
        return None


def _value(expr: Any) -> float:
    value = expr.value
    assert value is not None
    return float(value)


def _pass_on(line: list[Any], index: int, item: int) -> None:
    """Let an item that has left a stage wait for the next."""
    if index + 1 < len(line):
        waiting, *rest = line[index + 1]
        line[index + 1] = (tuple(sorted((*waiting, item))), *rest)


def _joint(parts: list[Options]) -> list[tuple[float, tuple[Config, ...]]]:
    """Combine independent options."""
    return [(float(np.prod([p for p, _ in chosen])), tuple(each for _, each in chosen)) for chosen in product(*parts)]


def _children(config: Config) -> Iterator[tuple[Any, Config]]:
    """Yield the parts of a configuration that go on side by side, by their place."""
    match config:
        case ("then" | "repeat", _, _, inner) | ("hold", _, inner):
            yield 0, inner
        case ("fork", parts):
            yield from ((at, part) for at, part in enumerate(parts) if part is not None)
        case ("pipeline", _, line):
            yield from (
                ((at, place), part) for at, (_, _, inside) in enumerate(line) for place, (_, part) in enumerate(inside)
            )


def _child(config: Config, place: Any) -> Config:
    return next(each for at, each in _children(config) if at == place)


def _with_child(config: Config, place: Any, new: Config) -> Config:
    match config:
        case ("fork", parts):
            return ("fork", (*parts[:place], new, *parts[place + 1 :]))
        case ("pipeline", node, line):
            at, inner = place
            waiting, begun, inside = line[at]
            changed = (waiting, begun, (*inside[:inner], (inside[inner][0], new), *inside[inner + 1 :]))
            return ("pipeline", node, (*line[:at], changed, *line[at + 1 :]))
    return (*config[:-1], new)


def _replaced(config: Config, path: tuple[Any, ...], new: Config) -> Config:
    if not path:
        return new
    return _with_child(config, path[0], _replaced(_child(config, path[0]), path[1:], new))


def _leaves(config: Config) -> Iterator[tuple[tuple[Any, ...], Config]]:
    """Yield the delays, services, places in lines and barriers of a processor, with the path to each."""
    if config[0] in ("delay", "serve", "line", "barrier"):
        yield (), config
    for place, part in _children(config):
        for path, leaf in _leaves(part):
            yield (place, *path), leaf


def _held(config: Config) -> Iterator[int]:
    """Yield what a processor holds."""
    if config[0] == "hold":
        yield config[1]
    for _, part in _children(config):
        yield from _held(part)
