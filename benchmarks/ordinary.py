"""What default answers to ordinary programs and services are worth: constructs that the generator
of second_road.py combines rarely, with zero and one everywhere, tiny and huge times, loads up to
0.99.

A service has a pool of connections, retries, bounded queues, ranks, forks of which some branches
are waited for, replicas and buffers; a program has groups that share stations and locks, task pools
and barriers. Each is answered by default, by the Markov chain where that is small, and simulated
with other random numbers. Printed is each value that is called exact, or is of the chain, and lies
beyond four half-widths of its simulated interval, and each other time that is off by more than ten
percent, wait by that much of the time of a cycle, or utilization by as many points.

Usage: python benchmarks/ordinary.py [--by-hand] [FIRST [COUNT [EVENTS]]]

FIRST is the first seed: take one that was never used, for nothing may be tuned to these models.
With --by-hand, the programs and services of the folder by_hand instead, which were written without
a look at what the methods do well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from slipstick import (
    Answer,
    Barrier,
    Lock,
    Permits,
    ReaderWriterLock,
    Simulation,
    Station,
    attempt,
    barrier,
    choose,
    closed_model,
    delay,
    fork,
    hold,
    load,
    open_model,
    repeat,
    service,
    solve,
    then,
)
from slipstick.errors import SlipstickError, TooManyStatesError
from slipstick.model.activity import ask, pick, send
from slipstick.model.steps import Activity
from slipstick.model.system import (
    ArrivalPattern,
    Model,
    TaskPool,
    grouped_model,
    phased_model,
)
from slipstick.model.tasks import Loop

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.second_road import PRECISION, PROMISED, RandomActivity

REFERENCE_SEED = 88_007
HALF_WIDTHS = 4.0
"""Half-widths of a simulated interval within which an exact value lies but by rare chance."""


class Program(RandomActivity):
    """A program drawn by hand-like rules over a few resources."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"ordinary {seed}")
        self.scvs = self.random.choice([(1.0,), (1.0,), (0.0, 1.0), (0.25, 1.0, 4.0)])

    def name(self, kind: str) -> str:
        """Return a new name of a step."""
        self.steps += 1
        return f"{kind}{self.steps}"

    def time(self) -> float:
        """Draw a mean time [s]: some 0.1 s, seldom nothing, tiny or huge."""
        edge = self.random.random()
        if edge < 0.04:
            return 0.0
        if edge < 0.08:
            return self.random.choice([1e-6, 1.0, 20.0])
        return round(float(0.02 * 30 ** self.random.random()), 3)

    def station(self, ranks: bool = False) -> str:
        """Return a station, one that is there or a new one."""
        kind = "ranked" if ranks else "cpu"
        stations = [key for key in self.resources if key.startswith(kind)]
        if stations and self.random.random() < 0.6:
            return self.random.choice(stations)
        name = f"{kind}{len(stations)}"
        disciplines = ["priority"] if ranks else ["fcfs", "fcfs", "ps", "random", "lcfs"]
        servers = self.random.choice([1, 1, 2, 3])
        self.resources[name] = Station(servers, self.random.choice(disciplines))
        return name

    def work(self) -> Activity:
        """Draw a service or a delay."""
        if self.random.random() < 0.3:
            return delay(self.time(), name=self.name("work"), scv=self.scv())
        ranks = self.random.random() < 0.2
        rank = self.random.choice([0, 1]) if ranks else 0
        name = self.name("serve")
        return service(self.station(ranks), self.time(), name=name, scv=self.scv(), rank=rank)

    def pool(self, body: Activity) -> Activity:
        """Hold one of a pool, perhaps with a second phase or several at once."""
        pools = [key for key in self.resources if key.startswith("pool")]
        name = f"pool{len(pools)}"
        size = self.random.choice([1, 2, 3, 8])
        self.resources[name] = Permits(size)
        several = self.random.choice([None, None, None, min(2, size)])
        after = self.work() if self.random.random() < 0.15 else None
        return hold(name, body, after=after, permits=several)

    def limited(self) -> Activity:
        """Draw a visit that is abandoned, or turned away, and tried again."""
        inner = self.work()
        visit = self.pool(inner)
        retries = self.random.choice([0, 0, 1, 3])
        pause = self.random.choice([0.1, 1.0])
        late = self.work() if self.random.random() < 0.5 else None
        if self.random.random() < 0.5:
            return attempt(visit, queue=self.random.choice([0, 1, 4]), otherwise=late)
        kind = self.random.choice(["timeout", "patience"])
        limit: dict[str, Any] = {kind: self.random.choice([0.2, 1.0, 5.0])}
        limit |= {"back_off": pause} if retries else {}
        return attempt(visit, retries=retries, otherwise=late, **limit)

    def lock(self, body: Activity) -> Activity:
        """Hold a lock, or a reader-writer lock in one of its modes."""
        name = f"door{len(self.resources)}"
        if self.random.random() < 0.6:
            self.resources[name] = Lock("fifo")
            return hold(name, body)
        order = self.random.choice(["fair", "reader-first", "writer-first"])
        self.resources[name] = ReaderWriterLock(order)
        chance = self.random.choice([0.0, 0.1, 0.5, 1.0])
        read = hold(name, self.work(), "read")
        return choose((1 - chance, read), (chance, hold(name, body, "write")))

    def parallel(self, depth: int) -> Activity:
        """Draw a fork, of which all or some branches are waited for, or work beside."""
        branches = [self.body(depth + 1) for _ in range(self.random.choice([1, 2, 3]))]
        kind = self.random.random()
        if kind < 0.2:
            return send(self.work())
        if kind < 0.45 and len(branches) > 1:
            return fork(*branches, join=self.random.randint(1, len(branches) - 1))
        return fork(*branches) if len(branches) > 1 else branches[0]

    def part(self, depth: int) -> Activity:
        """Draw a part of a program."""
        kind = self.random.random()
        if depth > 1 or kind < 0.35:
            return self.work()
        if kind < 0.5:
            return self.pool(self.body(depth + 1))
        if kind < 0.6:
            return self.limited()
        if kind < 0.7:
            return self.lock(self.body(depth + 1))
        if kind < 0.82:
            return self.parallel(depth)
        if kind < 0.9:
            count = self.random.choice([0, 1, 2, 3, 0.5, 1.5])
            spread = self.random.choice(["whole", "whole", "geometric"])
            return repeat(count, self.body(depth + 1), spread=spread)
        if kind < 0.96:
            chance = self.random.choice([0.0, 0.01, 0.5, 1.0])
            return choose((chance, self.body(depth + 1)), (1 - chance, self.body(depth + 1)))
        return pick(self.pool(self.work()), self.pool(self.work()))

    def body(self, depth: int = 0) -> Activity:
        """Draw one to three parts, one after the other."""
        return then(*(self.part(depth) for _ in range(self.random.choice([1, 1, 2, 3]))))


def ordinary(seed: int) -> Model:
    """Draw a program of one or several groups, a service with arrivals, or both."""
    draw = Program(seed)
    size = draw.random.choice([1, 1, 2, 3, 5, 8, 20, 60, 200])
    think = delay(draw.time() * draw.random.choice([0, 1, 5, 40]), name="think", scv=1.0)
    body = draw.body()
    cycle = think >> body
    kind = draw.random.random()
    if kind < 0.3:
        return closed_model(cycle, size, resources=draw.resources)
    if kind < 0.5:
        groups: dict[str, Any] = {"clients": (size, cycle)}
        for number in range(draw.random.choice([1, 1, 2, 3])):
            second_body = delay(draw.time(), name=draw.name("pause"), scv=1.0) >> draw.body(1)
            groups[f"group{number}"] = (draw.random.choice([1, 2, 6]), second_body)
        if draw.random.random() < 0.4:
            groups["stream"] = (draw.random.choice([0.0, 0.01, 0.5]), draw.work())
        return grouped_model(groups, resources=draw.resources)
    if kind < 0.8:
        load = draw.random.choice([0.0, 0.3, 0.9, 0.9, 0.95, 0.99])
        pattern = draw.random.choice(
            [ArrivalPattern(), ArrivalPattern(), ArrivalPattern(0.0), ArrivalPattern(batch=3)]
        )
        rate = load * draw.capacity(body) / pattern.batch
        return open_model(body, rate, pattern=pattern, resources=draw.resources)
    if kind < 0.9:
        draw.resources["meet"] = Barrier()
        if draw.random.random() < 0.4:
            tasks = draw.random.choice([1, 5, 40])
            leaf = closed_model(delay(draw.time() + 0.001, name="leaf")).steps[0].time
            draw.resources["jobs"] = TaskPool(Loop(tasks), leaf)
            cycle = think >> ask("jobs")
        return closed_model(cycle >> barrier("meet"), min(size, 20), resources=draw.resources)
    rounds = draw.random.choice([0, 1, 3])
    return phased_model(
        (rounds, min(size, 20), body), (1, 1, draw.body(1)), resources=draw.resources
    )


def differing(answer: Answer, reference: Answer, exact: bool) -> Iterator[str]:
    """Yield each value of an answer that differs from the simulated one by more than it may."""
    cycle_time = max(
        (
            value.value or 0.0
            for name, value in reference.values.items()
            if name.partition("[")[0] in ("time", "response_time")
        ),
        default=0.0,
    )
    for name, value in answer.values.items():
        truth = reference.values.get(name)
        if value.value is None or truth is None or truth.value is None or truth.high is None:
            continue
        off, half = abs(value.value - truth.value), truth.high - truth.value
        kind = name.partition("[")[0]
        allowed = HALF_WIDTHS * half + 1e-3 * abs(truth.value) + 1e-12
        if not exact:
            scale = {"wait": cycle_time, "utilization": 1.0}.get(kind, abs(truth.value))
            if kind not in ("time", "response_time", "wait", "utilization", "throughput"):
                continue
            allowed = PROMISED * scale + 2 * half + 1e-9
        if off > allowed:
            yield f"{name} {value.value:.5g} for {truth.value:.5g} +- {half:.2g}"


def problems(model: Model, events: int) -> tuple[str, list[str]]:
    """Return how a model is answered by default, and what is wrong with its answers."""
    settings = Simulation(seed=REFERENCE_SEED, precision=PRECISION, events=events)
    answer = solve(model)
    reference = answer
    if not (answer.method == "simulation" and answer.converged and answer.check is None):
        reference = solve(model, method="simulation", simulation=settings)
    listed = [f"{answer.method} {words}" for words in differing(answer, reference, answer.exact)]
    if answer.exact != (answer.method == "markov-chain"):
        try:
            chain = solve(model, method="markov-chain")
        except (SlipstickError, TooManyStatesError):
            chain = None
        if chain is not None:
            if reference is answer:
                reference = solve(model, method="simulation", simulation=settings)
            listed += [f"chain {words}" for words in differing(chain, reference, exact=True)]
    verdict = f", {answer.check.word}" if answer.check else ""
    return f"{answer.method}{' exactly' if answer.exact else ''}{verdict}", listed


def main() -> None:
    """Draw, answer, compare."""
    short = "--short" in sys.argv
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    first, count, events = [*numbers, *(1, 2 if short else 150, 400_000)[len(numbers) :]]
    makers: dict[str, Callable[[], Any]] = {
        str(seed): partial(ordinary, seed) for seed in range(first, first + count)
    }
    if "--by-hand" in sys.argv:
        files = sorted(Path(__file__).with_name("by_hand").glob("*.yaml"))
        makers = {file.stem: partial(load, str(file)) for file in files}
    answered: Counter[str] = Counter()
    wrong = 0
    for name, make in makers.items():
        try:
            how, listed = problems(make(), 20_000 if short else events)
        except SlipstickError as error:
            how, listed = "refused", []
            print(f"{name} refused: {str(error)[:300]}", flush=True)
        answered[how] += 1
        sys.stderr.write(f"{name} {how}\n")
        wrong += bool(listed)
        for words in listed[:4]:
            print(f"{name} {how}: {words}", flush=True)
    print(f"{len(makers)} models, {wrong} with a difference: {dict(answered.most_common())}")


if __name__ == "__main__":
    main()
