"""Mean value against exact chains and simulation, over generated models: errors of the time by
construct and by scv.

    python benchmarks/mean_value.py [--models 20] [--first 10000 20000] [--keep FILE] [--worst 10]
    [--only phases,forks] python benchmarks/mean_value.py --repair

Numbers of models from the first of `PROMISED` on are only run to print the table; rules are chosen
and constants fitted with numbers below it (`TUNED`), so that what the table shows was not fitted to
its models. Small models are solved exactly, as Markov chains (method markov-chain); the others are
simulated, to a half-width of 0.6 % of the time or as far as the events allow. Each result is
written to the file of --keep at once; started again, the program goes on from there, and a model
whose reference is known is not solved again.

With --adversary, a search by small changes for the models on which mean value errs most where it
promises an error, against chains of 2 or 3 processors: the other tables say what usual models err
by, this one what a model can. Its seed is one that was never used.

With --repair, machine repair alone: the data that the weight of whole services is judged by, with
and without it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import RATE, TIME, Number, Parameter
from slipstick.limits import with_limits
from slipstick.model.activity import (
    MODES,
    Step,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.steps import Activity, steps
from slipstick.model.system import (
    Barrier,
    Lock,
    Model,
    Permits,
    ReaderWriterLock,
    Resource,
    Station,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
)
from slipstick.vocabulary import READER_WRITER_ORDERS
from slipstick_mean_value import closed
from slipstick_mean_value.arrivals import whole_service_weight
from slipstick_mean_value.form import MeanValue, promised_error

SCVS = (0.25, 1.0, 4.0, 0.0)
TUNED, PROMISED = 1, (10_000, 20_000)
"""First number of models for tuning, and of each series of those that are only run to print the
table.
"""

MOST_STATES, SMALL = 2_500, 3
"""States of a chain, and processors of a model that is tried as one."""

AIM_MEDIAN, AIM_MOST = 2.0, 10.0
"""Errors that the approximations aim at: the median, and that of 95 in 100 models [%]."""

Row = dict[str, Any]


class _Draw:
    """Draws of one model: every step has a name of its own and the same scv."""

    def __init__(self, construct: str, scv: float, number: int) -> None:
        self.random = np.random.Generator(
            np.random.PCG64([crc32(construct.encode()), round(100 * scv), number])
        )
        self.scv = scv
        self.resources: dict[str, Resource] = {}
        self._steps = 0

    def whole(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def scale(self, low: float, high: float) -> float:
        """Draw between two numbers, each factor of two as likely as the next."""
        return float(round(np.exp(self.random.uniform(np.log(low), np.log(high))), 3))

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def think(self, low: float = 1.0, high: float = 20.0) -> Activity:
        self._steps += 1
        return delay(self.scale(low, high), name=f"work{self._steps}", scv=self.scv)

    def visit(self, station: str, low: float = 0.2, high: float = 2.0) -> Activity:
        self._steps += 1
        return service(station, self.scale(low, high), name=f"visit{self._steps}", scv=self.scv)

    def processors(self) -> int:
        sizes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
        return int(
            self.random.choice(sizes, p=[0.02, 0.16, 0.16, 0.12, 0.12, 0.12, 0.1, 0.08, 0.06, 0.06])
        )

    def station(self) -> str:
        name = f"station{len(self.resources)}"
        servers = int(self.random.choice([1, 1, 1, 2, 4]))
        self.resources[name] = Station(servers, str(self.random.choice(["fcfs", "fcfs", "ps"])))
        return name

    def stations(self) -> Activity:
        return then(*(self.visit(self.station()) for _ in range(self.whole(1, 3))))

    def choices(self) -> Activity:
        """Draw visits and work behind a choice, in a repeat, or both."""
        name, activities = self.station(), list[Activity]()
        for _ in range(self.whole(1, 2)):
            activity = self.visit(name) if self.chance(0.5) else self.visit(self.station())
            if self.chance(0.6):
                p = round(float(self.random.uniform(0.1, 0.9)), 2)
                activity = choose((p, activity), (1 - p, self.think(0.2, 4.0)))
            activities.append(repeat(self.whole(2, 4), activity) if self.chance(0.6) else activity)
        return then(*activities)

    def geometric_counts(self) -> Activity:
        """Draw visits and work that are repeated a geometric number of times."""
        activities: list[Activity] = []
        for _ in range(self.whole(1, 2)):
            body = self.visit(self.station())
            body = body >> self.think(0.2, 2.0) if self.chance(0.4) else body
            activities.append(repeat(self.scale(0.5, 5.0), body, spread="geometric"))
        return then(*activities)

    def infinite_servers(self) -> Activity:
        """Draw visits to queues and to stations where each customer has its own server."""
        name = f"net{len(self.resources)}"
        self.resources[name] = Station(1, "is")
        return self.visit(name, 0.5, 5.0) >> self.stations() >> self.visit(name, 0.5, 5.0)

    def held(self, name: str, kind: Callable[[], Resource], body: Activity) -> Activity:
        self.resources[name] = kind()
        return hold(name, body)

    def locks(self, kind: Callable[[], Resource] = Lock) -> Activity:
        """Draw locks held for time alone, some inside others."""
        holds: list[Activity] = []
        for index in range(self.whole(1, 2)):
            body = self.think(0.2, 2.0)
            if self.chance(0.25):
                body = body >> self.held(f"inner{index}", kind, self.think(0.2, 1.0))
            holds.append(self.held(f"lock{index}", kind, body))
        return then(*holds)

    def nested_locks(self) -> Activity:
        """Draw locks that are taken alone and inside others, and stations that are used under
        them and outside.
        """
        stations, names = (
            ["shared", self.station()],
            [f"lock{index}" for index in range(self.whole(2, 3))],
        )
        self.resources.update({"shared": Station(), **dict.fromkeys(names, Lock())})
        activities: list[Activity] = []
        for index, name in enumerate(names):
            body = [self._under(stations, names[index + 1 :]) for _ in range(self.whole(1, 3))]
            activities.append(hold(name, then(*body)))
            if self.chance(0.4):
                activities.append(self._under(stations, []))
        return then(*activities)

    def _under(self, stations: Sequence[str], locks: Sequence[str]) -> Activity:
        if locks and self.chance(0.4):
            return hold(
                locks[0], then(*(self._under(stations, locks[1:]) for _ in range(self.whole(1, 2))))
            )
        if self.chance(0.5):
            return self.visit(stations[self.whole(0, 1)], 0.1, 1.0)
        return self.think(0.1, 1.5)

    def shared_locks(self) -> Activity:
        """Draw a reader-writer lock that is read and written as at random, or in turn, with a
        station under it or outside.
        """
        order = str(self.random.choice(list(READER_WRITER_ORDERS)))
        self.resources["lock"] = ReaderWriterLock(
            order, *([self.whole(1, 4)] if self.chance(0.3) else [])
        )
        bodies = []
        for mode in MODES:
            body = (
                self.visit(self.station(), 0.2, 1.0) if self.chance(0.3) else self.think(0.3, 3.0)
            )
            bodies.append(hold("lock", body, mode))
        p = round(float(self.random.uniform(0.05, 0.95)), 2)
        used = then(*bodies) if self.chance(0.3) else choose((p, bodies[0]), (1 - p, bodies[1]))
        return then(self.visit(self.station()), used) if self.chance(0.4) else used

    def shared_by_many(self) -> Model:
        """Draw a reader-writer lock of more processors than a chain counts, which is seldom
        held, always, or between.
        """
        processors = int(self.random.choice([20, 32, 48, 64, 96]))
        cycle = self.think(0.2 * processors, 4.0 * processors) >> self.shared_locks()
        return closed_model(cycle, processors, resources=self.resources)

    def spin_locks(self) -> Activity:
        """Draw a spin lock whose word is at a station of its own."""
        self.resources["word"] = Station()
        access = Parameter("access", TIME, self.scale(0.01, 0.1))
        kind = str(self.random.choice(["tas", "ttas", "ticket", "array", "mcs"]))
        return self.held("lock", lambda: Lock(kind, "word", access), self.think(0.5, 3.0))

    def inner_stations(self, kind: Callable[[], Resource] = Lock) -> Activity:
        """Draw locks under which stations are used that may be used outside too."""
        self.resources["shared"] = Station()
        activities: list[Activity] = [self.visit("shared", 0.2, 1.0)] if self.chance(0.6) else []
        for index in range(self.whole(1, 2)):
            body = self.visit("shared" if self.chance(0.6) else self.station(), 0.2, 1.0)
            body = self.think(0.2, 1.0) >> body if self.chance(0.5) else body
            activities.append(self.held(f"lock{index}", kind, body))
        return then(*activities)

    def permits(self) -> Activity:
        draw = self.locks if self.chance(0.5) else self.inner_stations
        return draw(lambda: Permits(self.whole(1, 6)))

    def layered_permits(self, layers: int = 3) -> Activity:
        """Draw permits held over work, stations of their own and the permits of further layers."""
        activities: list[Activity] = (
            [self.visit(self.station(), 0.2, 1.0)] if self.chance(0.7) else []
        )
        activities += [self.think(0.2, 1.0)] if self.chance(0.3) or not activities else []
        if layers > 1 and self.chance(0.6):
            activities.append(self.layered_permits(layers - 1))
        name = f"pool{len(self.resources)}"
        held_activity = self.held(name, lambda: Permits(self.whole(1, 8)), then(*activities))
        return (
            self.visit(self.station()) >> held_activity
            if layers == 3 and self.chance(0.3)
            else held_activity
        )

    def forks(self) -> Activity:
        count = self.whole(2, 4)
        if self.chance(0.3):
            # All branches ask the same resource.
            name = self.station()
            return fork(*(self.visit(name) for _ in range(count)))
        branches: list[Activity] = []
        for _ in range(count):
            activities = (
                [self.visit(self.station())] if self.chance(0.6) else [self.think(0.5, 5.0)]
            )
            if self.chance(0.4):
                activities.append(self.think(0.3, 3.0))
            branches.append(then(*activities))
        return fork(*branches)

    def pipelines(self) -> Activity:
        stages = []
        for index in range(self.whole(2, 4)):
            body = (
                self.visit(self.station(), 0.2, 1.0) if self.chance(0.5) else self.think(0.2, 1.5)
            )
            kind = serial if self.chance(0.7) else parallel
            stages.append(kind(body, name=f"stage{index}-{len(self.resources)}-{self._steps}"))
        return pipeline(stages, self.whole(2, 12), name=f"line{self._steps}")

    def barriers(self) -> Activity:
        self.resources["meet"] = Barrier()
        activities: list[Activity] = []
        for _ in range(self.whole(0, 2)):
            activities.append(self.visit(self.station(), 0.2, 1.5))
            if self.chance(0.5):
                activities.append(self.think(0.5, 5.0))
        return then(*activities, barrier("meet"))

    def mixed(self) -> Activity:
        kinds = [self.stations, self.choices, self.inner_stations, self.forks, self.pipelines]
        chosen = self.random.choice(len(kinds), size=2, replace=False)
        activities: list[Activity] = [kinds[index]() for index in chosen]
        return then(*activities, *([self.barriers()] if self.chance(0.3) else []))

    def cycle(self, draw_activity: Callable[[], Activity]) -> Activity:
        return self.think(1.0, 30.0) >> draw_activity()

    def closed(self, draw_activity: Callable[[], Activity]) -> Model:
        return closed_model(self.cycle(draw_activity), self.processors(), resources=self.resources)

    def phases(self) -> Model:
        kinds = [self.stations, self.choices, self.locks, self.forks]
        phases = []
        for _ in range(self.whole(1, 2)):
            body = kinds[self.whole(0, len(kinds) - 1)]()
            body = self.think(0.5, 10.0) >> body if self.chance(0.7) else body
            phases.append((self.whole(1, 8), self.processors(), body))
        return phased_model(*phases, resources=self.resources)

    def arrivals(self, *kinds: Callable[[], Activity]) -> Model:
        """Draw a stream that uses the busiest resource for 0.3 to 0.85 of the time."""
        cycle = kinds[self.whole(0, len(kinds) - 1)]()
        value_by_name = (
            MeanValue(open_model(cycle, 1e-6, resources=self.resources)).points({}).answer(0).values
        )
        works = [
            value.value / 1e-6
            for name, value in value_by_name.items()
            if name.startswith("utilization") and value.value
        ]
        rate = float(self.random.uniform(0.3, 0.85)) / max(works, default=1.0)
        return open_model(cycle, round(rate, 6), resources=self.resources)

    def streams(self) -> Model:
        """Draw two or three streams that use the busiest station for 0.3 to 0.85 of the time."""
        names = [self.station() for _ in range(self.whole(1, 3))]
        cycles = {
            f"stream-{number}": then(
                *(self.visit(str(self.random.choice(names))) for _ in range(self.whole(1, 3)))
            )
            for number in range(self.whole(2, 3))
        }
        relative_rates = {name: float(self.random.uniform(0.2, 1.0)) for name in cycles}
        model_of_rare_arrivals = grouped_model(
            {name: (_arrivals(name, 1e-6 * relative_rates[name]), cycles[name]) for name in cycles},
            resources=self.resources,
        )
        values = MeanValue(model_of_rare_arrivals).points({}).answer(0).values
        works = [
            value.value / 1e-6
            for name, value in values.items()
            if name.startswith("utilization") and value.value
        ]
        rate = float(self.random.uniform(0.3, 0.85)) / max(works, default=1.0)
        return grouped_model(
            {
                name: (_arrivals(name, round(rate * relative_rates[name], 6)), cycles[name])
                for name in cycles
            },
            resources=self.resources,
        )

    def groups(self) -> Model:
        """Draw two groups that share a station."""
        self.resources["shared"] = Station(1, str(self.random.choice(["fcfs", "ps"])))
        members = {}
        for name in ("first", "second"):
            body = self.think(1.0, 20.0) >> self.visit("shared")
            members[name] = (
                self.whole(1, 8),
                body >> self.visit(self.station()) if self.chance(0.5) else body,
            )
        return grouped_model(members, resources=self.resources)

    def beside_processors(self) -> Model:
        """Draw a group of processors and one or two streams that use a station for 0.1 to 0.6 of
        the time.
        """
        names = [self.station() for _ in range(self.whole(1, 3))]
        cycles = {
            name: then(
                *(self.visit(str(self.random.choice(names))) for _ in range(self.whole(1, 3)))
            )
            for name in ("group", *("first", "second")[: self.whole(1, 2)])
        }
        group = self.think(1.0, 30.0) >> cycles.pop("group")
        relative_rates = {name: float(self.random.uniform(0.2, 1.0)) for name in cycles}
        works = [
            sum(
                relative_rates[name]
                * float(step.time.value or 0)
                / self.resources[station].capacity
                for name, cycle in cycles.items()
                for step in steps(cycle)
                if isinstance(step, Step)
                and isinstance(step.time, Number | Parameter)
                and step.resource == station
            )
            for station in names
        ]
        rate = float(self.random.uniform(0.1, 0.6)) / max(works)
        streams = {
            name: (_arrivals(name, round(rate * relative_rates[name], 6)), cycles[name])
            for name in cycles
        }
        return grouped_model(
            {"group": (self.processors(), group), **streams}, resources=self.resources
        )


def _arrivals(name: str, rate: float) -> Parameter:
    return Parameter(f"arrivals.{name}", RATE, rate)


CONSTRUCTS: dict[str, Callable[[_Draw], Model]] = {
    "stations": lambda draw: draw.closed(draw.stations),
    "choices and repeats": lambda draw: draw.closed(draw.choices),
    "geometric counts": lambda draw: draw.closed(draw.geometric_counts),
    "infinite servers": lambda draw: draw.closed(draw.infinite_servers),
    "locks": lambda draw: draw.closed(draw.locks),
    "nested locks": lambda draw: draw.closed(draw.nested_locks),
    "spin locks": lambda draw: draw.closed(draw.spin_locks),
    "reader-writer locks": lambda draw: draw.closed(draw.shared_locks),
    "reader-writer locks of many": _Draw.shared_by_many,
    "stations in locks": lambda draw: draw.closed(draw.inner_stations),
    "permits": lambda draw: draw.closed(draw.permits),
    "layered permits": lambda draw: draw.closed(draw.layered_permits),
    "forks": lambda draw: draw.closed(draw.forks),
    "pipelines": lambda draw: draw.closed(draw.pipelines),
    "barriers": lambda draw: draw.closed(draw.barriers),
    "phases": _Draw.phases,
    "arrivals at stations": lambda draw: draw.arrivals(draw.stations, draw.choices),
    "arrivals at locks and forks": lambda draw: draw.arrivals(draw.inner_stations, draw.forks),
    "streams at stations": _Draw.streams,
    "arrivals beside processors": _Draw.beside_processors,
    "groups": _Draw.groups,
    "all together": lambda draw: draw.closed(draw.mixed),
}


def generated(construct: str, scv: float, number: int) -> Model:
    """Draw a model with one construct.

    Parameters
    ----------
    construct : one of `CONSTRUCTS`
    scv : of every step
    number : which one; see `PROMISED`
    """
    return CONSTRUCTS[construct](_Draw(construct, scv, number))


def reference(construct: str, scv: float, number: int, events: int) -> Row:
    """Solve a model exactly where it is small, else simulate it: time, and half-width of its
    interval [s].
    """
    model = generated(construct, scv, number)
    sizes = [
        float(count.value or 0)
        for count in model.population.processor_counts
        if isinstance(count, Number | Parameter)
    ]
    if scv and sizes and max(sizes) <= SMALL and not model.population.streams:
        with with_limits({"states": MOST_STATES}):
            time = float(
                import_module("slipstick_chains.activity_chain").ActivityChain(model).times({})[0]
            )
        if np.isfinite(time):
            return {"time": time, "half": 0.0, "by": "chain"}
    # The simulator is imported only when it is needed.
    simulation_of = import_module("slipstick.method.simulation.form").simulation_of
    settings = import_module("slipstick.sim.settings").Simulation
    compiled = simulation_of(model, settings(precision=0.006, least=1000, events=events))
    value = compiled.points({}).answer(0).values[_quantity(construct)]
    # Without an interval nothing is known of the error of the reference.
    half_width = (
        math.inf if value.low is None or value.high is None else (value.high - value.low) / 2
    )
    return {"time": value.value, "half": half_width, "by": "simulation"}


def solved(construct: str, scv: float, number: int) -> float | None:
    """Return the time by mean value [s]; None where it refuses."""
    try:
        answer = MeanValue(generated(construct, scv, number)).points({}).answer(0)
    except NoAnswerError:
        return None
    return None if answer.failed else answer[_quantity(construct)]


def _quantity(construct: str) -> str:
    """Name the time whose error is measured: beside processors, whose time is mostly spent away
    from stations, that of the first stream.
    """
    return "time[first]" if construct == "arrivals beside processors" else "time"


def table(rows: Sequence[Row]) -> str:
    """Write the errors as a table: median, 95 in 100 and worst by construct and scv [%]; misses
    of the aim are bold.
    """
    heads = ["construct", *((f"scv {scv:g}" if scv else "constant times") for scv in SCVS)]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for label, constructs in [
        *((construct, (construct,)) for construct in CONSTRUCTS),
        ("**all**", tuple(CONSTRUCTS)),
    ]:
        cells = []
        for scv in SCVS:
            errors = [
                abs(row["error"])
                for row in rows
                if row["construct"] in constructs and row["scv"] == scv
            ]
            cells.append(_cell([100 * error for error in errors]))
        if any(cells):
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(errors: Sequence[float]) -> str:
    if not errors:
        return ""
    median, most = float(np.median(errors)), float(np.quantile(errors, 0.95))
    middle, far = f"{median:.1f}", f"{most:.1f}"
    middle = f"**{middle}**" if median > AIM_MEDIAN else middle
    far = f"**{far}**" if most > AIM_MOST else far
    return f"{middle} / {far} / {max(errors):.0f}"


@dataclass(frozen=True)
class Genes:
    """A small model that the adversary changes: two or three processors, and what they do in turn.

    Parameters
    ----------
    processors, servers : their numbers; servers of the first of two stations
    think, scv : of the delay before, and its squared coefficient of variation
    parts : of a cycle: kind (visit, twice, choice, held), station, mean, and its squared
        coefficient of variation
    meeting : a barrier ends the cycle
    """

    processors: int
    servers: int
    think: float
    scv: float
    parts: tuple[tuple[str, str, float, float], ...]
    meeting: bool

    def model(self) -> Model:
        """Build the model."""
        resources: dict[str, Resource] = {"a": Station(self.servers), "b": Station()}
        nodes: list[Activity] = [delay(self.think, name="think", scv=self.scv)]
        for number, (kind, station, mean, scv) in enumerate(self.parts):
            node: Activity = service(station, mean, name=f"visit{number}", scv=scv)
            if kind == "twice":
                node = repeat(2, node)
            elif kind == "choice":
                rest = service(station, mean / 20, name=f"short{number}", scv=scv)
                node = choose((0.1, node), (0.9, rest))
            elif kind == "held":
                resources["lock"] = Lock("fifo")
                node = hold("lock", node)
            nodes.append(node)
        if self.meeting:
            resources["meet"] = Barrier()
            nodes.append(barrier("meet"))
        used = {name: resource for name, resource in resources.items() if f"'{name}'" in str(nodes)}
        return closed_model(then(*nodes), self.processors, resources=used)

    def changed(self, draw: random.Random) -> Genes:
        """Change one thing at random."""
        changed_field = draw.choice(
            ["processors", "servers", "think", "scv", "meeting", *["parts"] * 6]
        )
        if changed_field == "parts":
            return replace(self, parts=_changed_parts(self.parts, draw))
        values: dict[str, Any] = {
            "processors": draw.choice([2, 3]),
            "servers": draw.choice([1, 1, 2]),
            "think": round(min(max(self.think * 2 ** draw.uniform(-2, 2), 0.01), 20.0), 3),
            "scv": draw.choice([0.5, 1.0, 4.0]),
            "meeting": not self.meeting,
        }
        return replace(self, **{changed_field: values[changed_field]})


def _part(draw: random.Random) -> tuple[str, str, float, float]:
    mean = round(0.05 * 40 ** draw.random(), 3)
    kind = draw.choice(["visit", "visit", "twice", "choice", "held"])
    return kind, draw.choice("ab"), mean, draw.choice([0.5, 1.0, 4.0])


def _changed_parts(
    parts: tuple[tuple[str, str, float, float], ...], draw: random.Random
) -> tuple[tuple[str, str, float, float], ...]:
    """Draw one part anew, or add or leave out one; there is one hold at most."""
    new_parts = list(parts)
    place = draw.randrange(len(new_parts))
    action = draw.random()
    if action < 0.25 and len(new_parts) < 4:
        new_parts.insert(place, _part(draw))
    elif action < 0.4 and len(new_parts) > 1:
        del new_parts[place]
    else:
        new_parts[place] = _part(draw)
    holds = [index for index, part in enumerate(new_parts) if part[0] == "held"]
    for index in holds[1:]:
        new_parts[index] = ("visit", *new_parts[index][1:])
    return tuple(new_parts)


def error_of(genes: Genes) -> float | None:
    """Return the error of the time by mean value beside the chain [1]; None where nothing is
    promised, or the chain is too large.
    """
    model = genes.model()
    if promised_error(model) is None:
        return None
    chain = import_module("slipstick_chains.activity_chain").ActivityChain
    try:
        with with_limits({"states": MOST_STATES}):
            exact = float(chain(model).times({})[0])
        approximate = float(MeanValue(model).times({})[0])
    except NoAnswerError:
        return None
    return approximate / exact - 1 if np.isfinite(exact) and np.isfinite(approximate) else None


def adversary(seed: int, steps: int) -> tuple[float, Genes]:
    """Search for the largest error of mean value where an error is promised, by changes that make
    it no smaller.

    Parameters
    ----------
    seed : of the search; take one that was never used
    steps : models that are solved
    """
    draw = random.Random(f"adversary {seed}")
    parts = tuple(_part(draw) for _ in range(2))
    worst = Genes(draw.choice([2, 3]), 1, 1.0, 1.0, _changed_parts(parts, draw), False)
    error = error_of(worst) or 0.0
    for _ in range(steps):
        tried = worst.changed(draw)
        error_of_tried = error_of(tried)
        if error_of_tried is not None and abs(error_of_tried) >= abs(error):
            worst, error = tried, error_of_tried
    return error, worst


def search(seed: int, searches: int, steps: int) -> None:
    """Print the worst model of each of several searches, and the median and the worst of all."""
    worst_models = sorted(
        (adversary(seed + number, steps) for number in range(searches)), key=_size
    )
    for error, genes in worst_models[::-1]:
        print(
            f"{100 * error:+.1f} % (promised {100 * (promised_error(genes.model()) or 0):g} %):"
            f" {genes}"
        )
    errors = [100 * abs(error) for error, _ in worst_models]
    print(
        f"the worst model of each of {searches} searches of {steps} models, seeds from {seed}:"
        f" median {np.median(errors):.1f} %, worst {max(errors):.1f} %"
    )


def _size(error_and_genes: tuple[float, Genes]) -> float:
    return abs(error_and_genes[0])


def repair() -> None:
    """Print errors of machine repair (one server, services of mean 1), with the weight of whole
    services and without.
    """
    simulation_of = import_module("slipstick.method.simulation.form").simulation_of
    settings = import_module("slipstick.sim.settings").Simulation(precision=0.002, events=600_000)
    rows: list[list[float]] = []
    for machines, load, scv, rest in product(
        (2, 4, 8, 16), (0.5, 0.8, 1.0, 1.2), (0.0, 0.25), (0.25, 1.0)
    ):
        think = delay(machines / load - 1, name="think", scv=rest)
        model = closed_model(think >> service("server", 1.0, scv=scv), machines)
        times = []
        for weight in (whole_service_weight, lambda utilization, *_: 0 * utilization):
            closed.whole_service_weight = weight  # type: ignore[attr-defined]
            times.append(float(MeanValue(model).times({})[0]))
        closed.whole_service_weight = whole_service_weight  # type: ignore[attr-defined]
        time = simulation_of(model, settings).points({}).answer(0)["time"]
        rows.append([100 * abs(errors / time - 1) for errors in times])
    for name, errors in zip(("with", "without"), np.array(rows).T, strict=True):
        print(
            f"{name:8} median {np.median(errors):5.2f}  95 % {np.quantile(errors, 0.95):5.2f}"
            f"  worst {errors.max():5.2f} %"
        )


def summary(rows: Sequence[Row]) -> str:
    """Return how many models there are, and how sure their references are."""
    answered = [row for row in rows if "error" in row]
    halves = [100 * row["half"] / row["time"] for row in answered if row["by"] == "simulation"]
    numbers = sorted({row["number"] for row in rows})
    ends = zip([None, *numbers], [*numbers, None], strict=True)
    gaps = [
        (before, after)
        for before, after in ends
        if before is None or after is None or after > before + 1
    ]
    series = " and ".join(f"{after} to {before}" for (_, after), (before, _) in pairwise(gaps))
    exact = sum(row["by"] == "chain" for row in answered)
    text = (
        f"{len(rows)} models, numbers {series}: {exact} ({100 * exact / len(rows):.0f} %) against"
        f" exact values, {len(halves)} against simulation"
    )
    if halves:
        most = np.quantile(
            halves, 0.95, method="higher"
        )  # an order statistic, for some may be infinite
        text += (
            f" (half-width {np.median(halves):.1f} % in the median, at most {most:.1f} % in 95 of"
            " 100)"
        )
    return f"{text}, {len(rows) - len(answered)} refused by mean value"


def measured(cases: Sequence[tuple[str, float, int]], keep: Path | None, events: int) -> list[Row]:
    """Solve models by both methods, and write the reference of each to a file as soon as it is
    known.
    """
    row_by_case: dict[tuple[str, float, int], Row] = {}
    if keep and keep.exists():
        for row in map(json.loads, keep.read_text().splitlines()):
            row_by_case[row["construct"], row["scv"], row["number"]] = row
    rows = []
    for construct, scv, number in cases:
        row = row_by_case.get((construct, scv, number))
        if row is None:
            row = {
                "construct": construct,
                "scv": scv,
                "number": number,
                **reference(construct, scv, number, events),
            }
            if keep:
                with keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        time = solved(construct, scv, number)
        rows.append(row if time is None else {**row, "error": time / row["time"] - 1})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models",
        type=int,
        default=20,
        help="models of each construct, scv and first number; 20 make 2400",
    )
    parser.add_argument(
        "--first", type=int, nargs="*", default=PROMISED, help=f"first numbers; {TUNED} to tune"
    )
    parser.add_argument("--only", default=",".join(CONSTRUCTS), help="constructs")
    parser.add_argument(
        "--scv", type=float, nargs="*", default=SCVS, help="squared coefficients of variation"
    )
    parser.add_argument(
        "--events", type=int, default=300_000, help="events of a simulation at most"
    )
    parser.add_argument("--keep", type=Path, help="file that keeps the references")
    parser.add_argument("--worst", type=int, default=10, help="worst models to name")
    parser.add_argument(
        "--adversary", type=int, metavar="SEED", help="search for the worst models, --models times"
    )
    parser.add_argument("--steps", type=int, default=60, help="models of one search")
    parser.add_argument("--repair", action="store_true", help="machine repair alone")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args(arguments)
    if options.short:
        options.models, options.first, options.scv, options.events = (
            1,
            options.first[:1],
            [1.0],
            2000,
        )
    if options.repair:
        repair()
        return
    if options.adversary is not None:
        search(options.adversary, options.models, options.steps)
        return
    chosen = [name for name in CONSTRUCTS if name in options.only.split(",")]
    numbers = [first + k for first in options.first for k in range(options.models)]
    cases = [(name, scv, number) for number in numbers for name in chosen for scv in options.scv]
    start = time.process_time()
    rows = measured(cases, options.keep, options.events)
    print(
        f"{table([row for row in rows if 'error' in row])}\n\n{summary(rows)};"
        f" {time.process_time() - start:.0f} s"
    )
    for row in sorted(rows, key=lambda measured_row: -abs(measured_row.get("error", 0.0)))[
        : options.worst
    ]:
        if "error" in row:
            interval = (
                f"+- {100 * row['half'] / row['time']:.1f} %"
                if row["by"] == "simulation"
                else "exact"
            )
            print(
                f"  {row['construct']} {row['scv']:g} {row['number']}: {100 * row['error']:+.2f} %"
                f" ({interval})"
            )


if __name__ == "__main__":
    main()
