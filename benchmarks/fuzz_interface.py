"""Fuzz the Python interface: whatever a public name is given, it answers or refuses in words.

Each call is drawn from the seed and its index alone: a public name with arguments that fit, of
which none, one or two are replaced, at any depth, by a value of another kind, left out, renamed or
added. What comes back is used as well: an activity is put into a model, a model is solved by a
method at drawn values and written, an answer is asked for values and packed. A call breaks a
promise if it ends with an error that is none of slipstick's own, takes more than 5 s of processor
time, or gives a value that is not a number.

``python benchmarks/fuzz_interface.py`` makes 20,000 calls; the exit status is 1 if one breaks a
promise. ``--case INDEX`` makes one and prints it.
"""

from __future__ import annotations

import argparse
import array
import collections
import datetime
import decimal
import enum
import fractions
import math
import pickle
import random
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np

import slipstick
from slipstick import Simulation
from slipstick.answer import Answer
from slipstick.errors import SlipstickError
from slipstick.law.law import Law
from slipstick.model.network import (
    ClosedClass,
    GuardedStations,
    NetworkStation,
    OpenClass,
    QueueingNetwork,
    Region,
)
from slipstick.model.steps import Activity
from slipstick.model.system import Model, ResourceKind
from slipstick.results.study import Results
from slipstick.results.sweep import Sweep
from slipstick.vocabulary import known_methods

SECONDS = 5.0
LIMITS = {"states": 2e3, "events": 1e5}
"""Costs at which a call of the fuzz is to end."""


class Colour(enum.IntEnum):
    """A number with a name."""

    RED = 2


class Silent:
    """An object whose description cannot be written."""

    def __repr__(self) -> str:
        raise RuntimeError("no description")


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 2.5, 0.5, -0.5, 1e-320, 1e308, -1e308, 10**400),
    *(math.nan, math.inf, -math.inf, 2**63, 10**7, 4 + 1j, decimal.Decimal(4)),
    *(fractions.Fraction(5, 2), b"4", bytearray(b"4"), "", "4", "4 s", "4 ms", "x" * 300),
    *("a b", "é", "cpu", "work", "jobs", "out", "time", "population.processors", "a.b", "\n"),
    *([], [1], [1, 2], [[1], [1, 2]], ["a"], [None], (), (1, 2), ((),), {}, {"a": 1}, {1: 2}),
    *({"jobs": 1.0}, {"jobs": "1 s"}, {"a": {}}, {1, 2}, frozenset(), range(3), np.int64(4)),
    *(np.float32(4), np.float64("nan"), np.array(4.0), np.array([1.0, 2.0]), np.ones((2, 2))),
    *(np.array([True]), np.bool_(True), np.array(["a"]), np.array([1, None], dtype=object)),
    *(np.timedelta64(3, "s"), np.ma.array([1.0, 2.0], mask=[False, True]), np.longdouble(4)),
    *(array.array("d", [1, 2]), collections.deque([1, 2]), memoryview(b"12"), Colour.RED),
    *(datetime.datetime(2020, 1, 1), object(), Silent(), int, len, Ellipsis, Path("x")),
    *(slipstick.delay(1.0), slipstick.Parameter("p"), slipstick.Lock(), Simulation(seed=3)),
)
"""Values of every kind."""


@dataclass
class Call:
    """A call of a public name; `made` is what stands behind an attribute of a result."""

    name: str
    function: Callable[..., Any]
    arguments: list[Any] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        return self.function(*self.arguments, **self.keywords)


class Drawn:
    """Arguments that fit, drawn by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = 0

    def time(self) -> Any:
        seconds = self.chance.choice((1e-3, 0.5, 1, 2.0, 0))
        if self.chance.random() < 0.2:
            return slipstick.Parameter(
                "parameters.use", slipstick.service("q", 1.0).time.dimension, 1.5
            )
        return seconds

    def name(self) -> str:
        return self.chance.choice(("cpu", "disk", "bus", "door", "a-b", "work"))

    def activity(self, depth: int = 2) -> Activity:
        kind = self.chance.randrange(9 if depth else 2)

        def body() -> Activity:
            return self.activity(depth - 1)

        self.names += 1
        name = f"step{self.names}"
        scv = self.chance.choice((0, 0.5, 1.0))
        if kind == 0:
            return slipstick.delay(self.time(), name=name, scv=scv)
        if kind == 1:
            return slipstick.service(self.name(), self.time(), name=name, scv=scv)
        if kind == 2:
            return body() >> body()
        if kind == 3:
            return slipstick.fork(body(), body())
        if kind == 4:
            return slipstick.choose((0.25, body()), (0.75, body()))
        if kind == 5:
            rounds = self.chance.choice((1, 2, 2.5, [0.25, 0.0, 0.75]))
            spread = self.chance.choice((None, 0.5, 3.0)) if isinstance(rounds, int) else None
            return slipstick.repeat(rounds, body(), scv=spread)
        if kind == 6:
            return slipstick.hold("gate", slipstick.delay(1.0, name=name))
        if kind == 7:
            return slipstick.pipeline([body(), slipstick.parallel(body())], 3, name=name)
        return slipstick.barrier("meet") >> body()

    def resources(self) -> dict[str, Any]:
        resource_by_name = {
            "cpu": slipstick.Station(self.chance.randint(1, 3)),
            "gate": self.chance.choice((slipstick.Lock(), slipstick.Permits(2))),
        }
        return {
            name: resource_by_name[name] for name in resource_by_name if self.chance.random() < 0.5
        }

    def model(self) -> Any:
        kind = self.chance.randrange(6)
        if kind == 0:
            return slipstick.open_model(slipstick.service("cpu", 0.1, scv=1.0), 2.0)
        if kind == 1:
            return slipstick.phased_model((2, 3, self.activity()), (1, 1, self.activity()))
        if kind == 2:
            return slipstick.grouped_model({"a": (2, self.activity(1)), "b": (1, self.activity(1))})
        if kind == 3:
            return slipstick.superstep_model((2, [self.activity(1), self.activity(1)], LAST))
        return slipstick.closed_model(self.activity(), self.chance.randint(1, 4))

    def station(self) -> NetworkStation:
        kind = self.chance.randrange(4)
        if kind == 0:
            return slipstick.station(demand={"jobs": 0.2}, servers=2)
        if kind == 1:
            return slipstick.station(service={"jobs": 0.2}, visits={"jobs": 2}, discipline="ps")
        if kind == 2:
            return slipstick.station(demand={"jobs": 0.1}, capacity=3)
        return slipstick.station(demand={"jobs": 0.3}, scv={"jobs": 0.5})

    def customers(self) -> ClosedClass | OpenClass:
        if self.chance.random() < 0.5:
            return slipstick.open_class(self.chance.choice((0.5, 2.0, 9.0)))
        return slipstick.closed_class(self.chance.randint(0, 4), self.chance.choice((0.0, 1.0)))

    def network(self) -> QueueingNetwork:
        return slipstick.network({"jobs": self.customers()}, {"cpu": self.station()})

    def anything_solvable(self) -> Any:
        named = ("lock-and-bus", "central-server", "dvsm/diff-request")
        return self.chance.choice(
            (*named, self.model(), self.network(), slipstick.LAWS["amdahl-time"])
        )

    def simulation(self) -> Simulation:
        return Simulation(seed=self.chance.randrange(9), events=2000, least=100)

    def values(self, model: Any) -> dict[str, Any]:
        """Values by path of a model, one number or several."""
        built: Any = slipstick.load(model) if isinstance(model, str) else model
        parameters = built.parameters
        if not parameters or self.chance.random() < 0.2:
            return {}
        path = self.chance.choice(sorted(parameters))
        plain = parameters[path].dimension == slipstick.Parameter("p").dimension
        counts = (1, 2, "2", 4.0, [1, 2], np.array([1.0, 3.0]))
        return {path: self.chance.choice(counts if plain else (0.5, "3 ms", [0.5, 1], 2))}

    def method(self, model: Any) -> str | None:
        """A method for a kind of model, rarely one for another."""
        kind = "law" if isinstance(model, Law) else "activity"
        if isinstance(model, QueueingNetwork) or model == "central-server":
            kind = "queueing-network"
        if self.chance.random() < 0.1:
            return self.chance.choice(("no-such", "bounds", "exact"))
        method_names = [name for name in known_methods(kind) if name not in ("best", "convolution")]
        return self.chance.choice((None, *method_names))


LAST = slipstick.delay(0.1, name="last")


Arguments = tuple[list[Any], dict[str, Any]]
"""Positional arguments and keywords of a call."""

LABELS = {"component": "busy", "technology": "software", "scv": 0.5}


def calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return the function that draws the arguments of each public name that is called."""
    return {
        **_entry_calls(draws),
        **_step_calls(draws),
        **_network_calls(draws),
        **_resource_calls(draws),
        **_model_calls(draws),
    }


def _entry_calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return what `calls` does, for the functions that read, solve and write models."""
    pick = draws.chance.choice

    def solve_arguments() -> Arguments:
        model = draws.anything_solvable()
        keywords = {"method": draws.method(model), "simulation": draws.simulation()}
        is_program = model == "dvsm/diff-request"
        if is_program:
            keywords["machine"] = "rs6000-43p-fast-ethernet"
        values = {"reply": "4120 B"} if is_program else draws.values(model)
        return [model, values], {**keywords, "limits": dict(LIMITS)}

    study = {"study": 1, "base": {"model": "lock-and-bus"}, "vary": {"population.processors": [1]}}
    return {
        "load": lambda: ([pick(("lock-and-bus", "central-server", "machine/rs6000-43p-atm"))], {}),
        "solve": solve_arguments,
        "run": lambda: ([study], {"limits": dict(LIMITS)}),
        "dump": lambda: ([pick((draws.model, draws.network))()], {}),
        "sweep": lambda: ([{"population.processors": [1, 2]}], {}),
        "Parameter": lambda: (["p", LAST.time.dimension, 2.0], {}),
        "transient": lambda: pick(
            (
                ([draws.network(), [0.0, 1.0], {}], {"most": 5, "limit": 500.0}),
                ([draws.model(), [0.0, 1.0], {}], {"limit": 500.0}),
            )
        ),
        "time_until": lambda: pick(
            (
                ([draws.network(), "cpu", 2], {"most": 5, "limit": 500.0}),
                ([draws.model(), "cpu", 2], {"limit": 500.0}),
            )
        ),
    }


def _step_calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return what `calls` does, for the steps of activities."""
    time, name, act = draws.time, draws.name, draws.activity
    pick = draws.chance.choice
    return {
        "ask": lambda: (["pool"], {}),
        "barrier": lambda: (["meet", pick((None, 2))], {}),
        "choose": lambda: ([(0.25, act(1)), (0.75, act(1))], {}),
        "delay": lambda: ([time()], {"name": name(), **LABELS}),
        "attempt": lambda: (
            [act(1)],
            {
                pick(("timeout", "patience")): time(),
                "retries": 1,
                "limits": pick(("wait", "visit")),
                "breaker": pick((None, "guard")),
            },
        ),
        "fork": lambda: ([act(1), act(1)], {"join": pick((None, 0, 1))}),
        "hedge": lambda: ([act(1), time()], pick(({}, {"second": act(1)}, {"name": name()}))),
        "if_late": lambda: ([act(1)], {}),
        "send": lambda: ([act(1)], {}),
        "get": lambda: (["store", act(1)], {}),
        "put": lambda: (["store", act(1)], {}),
        "hold": lambda: (["gate", act(1)], pick(({"mode": ""}, {"permits": 2}))),
        "parallel": lambda: ([act(1)], {"name": name()}),
        "pick": lambda: ([slipstick.service(station, 1.0) for station in "ab"], {"by": "shortest"}),
        "serial": lambda: ([act(1)], {"name": name()}),
        "pipeline": lambda: ([[act(1), slipstick.serial(act(1))], 4], {"name": "line"}),
        "repeat": lambda: ([pick((2, 2.5)), act(1)], {}),
        "reply": lambda: ([pick(("server", "door"))], {}),
        "service": lambda: (
            [name(), time()],
            {"name": name(), "weight": pick((1, 2.5, 0)), **LABELS},
        ),
        "signal": lambda: (["units.full"], {}),
        "wait": lambda: (["units.full"], {}),
        "then": lambda: ([act(1), act(1)], {}),
    }


def _network_calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return what `calls` does, for queueing networks and their parts."""
    time, pick = draws.time, draws.chance.choice
    return {
        "chain": lambda: ([["a", "b"], draws.customers(), ("a", "cpu")], {}),
        "route": lambda: ([("a", "cpu"), pick((None, ("b", "cpu"))), 0.5], {}),
        "guard": lambda: ([["cpu"], slipstick.Breaker(2, time())], {}),
        "region": lambda: ([["cpu", "disk"], 2, pick(("wait", "loss"))], {}),
        "closed_class": lambda: ([3, 1.0], {}),
        "open_class": lambda: (
            [2.0],
            pick(
                (
                    {"batch": 2},
                    {"trace": [1.0, 2.0]},
                    {"burst_time": 1.0, "quiet_time": 2.0},
                    {"profile": [(1.0, 2.0), (2.0, 1.0)]},
                )
            ),
        ),
        "network": lambda: (
            [{"jobs": draws.customers()}, {"cpu": draws.station()}],
            pick(
                (
                    {"name": "n"},
                    {"regions": {"hall": slipstick.region(["cpu"], 2)}},
                    {"breakers": {"guard": slipstick.guard(["cpu"], slipstick.Breaker(2, time()))}},
                )
            ),
        ),
        "QueueingNetwork": lambda: (
            ["n", {"jobs": draws.customers()}, {"cpu": draws.station()}],
            {"chains": {}, "routing": ()},
        ),
        "station": lambda: (
            [],
            {
                pick(("demand", "service")): {"jobs": time()},
                "servers": pick((1, 2)),
                "capacity": pick((None, 4)),
                "scv": {"jobs": 0.5},
                "discipline": pick(("fcfs", "ps", "priority", "lcfs")),
                "priority": {"jobs": 0},
                "rates": pick(((), (1.0, 1.5))),
                "weight": pick(({}, {"jobs": 2.0}, {"jobs": 0.0})),
                "blocking": "loss",
                pick(("patience", "timeout")): pick(({}, {"jobs": time()})),
            },
        ),
    }


def _resource_calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return what `calls` does, for the resources of activities."""
    time = draws.time
    return {
        "Barrier": lambda: (["central", time()], {}),
        "Breaker": lambda: ([2, time()], {"trials": 2}),
        "Lock": lambda: (["tas"], {"word": "bus", "access": time(), "home": 0}),
        "Model": lambda: (["m", draws.model().population], {"resources": {}}),
        "Monitor": lambda: ([{"full": 1}], {}),
        "Permits": lambda: ([2], {}),
        "ReaderWriterLock": lambda: (["fair", 3], {}),
        "Semaphores": lambda: ([{"full": 1}], {}),
        "Station": lambda: ([2, "ps"], {}),
        "TaskPool": lambda: ([slipstick.Loop(4, 2), time(), time()], {"queues": 2}),
        "buffer": lambda: ([3, 1], {}),
    }


def _model_calls(draws: Drawn) -> dict[str, Callable[[], Arguments]]:
    """Return what `calls` does, for models of activities, their tasks and their simulation."""
    act, pick = draws.activity, draws.chance.choice
    trees = ((2, 0, 0),)

    def models() -> dict[str, Any]:
        return {"name": "m", "resources": draws.resources(), "useful": ("busy",)}

    return {
        "closed_model": lambda: ([act(), 2], models()),
        "grouped_model": lambda: ([{"a": (2, act(1)), "b": (0, act(1))}], models()),
        "open_model": lambda: ([slipstick.service("cpu", 0.1), 2.0], models()),
        "phased_model": lambda: ([(2, 3, act(1)), (1, 1, act(1))], models()),
        "superstep_model": lambda: ([(2, [act(1), act(1)], LAST)], models()),
        "Loop": lambda: ([pick((7, (1, 2, 3)))], {"chunk": 2}),
        "Trees": lambda: ([trees], {"min_size": 2}),
        "Simulation": lambda: (
            [3, 0.1, 0.9],
            {"cycles": pick((None, 50)), "kernel": "plain", "check": pick(("off", 100))},
        ),
    }


def lookups(draws: Drawn) -> dict[str, Callable[[], Call]]:
    """Return the function that draws a call of a method of an answer, a sweep, a law, a program
    or an expression, by the name under which it is counted.
    """
    pick = draws.chance.choice
    names = ("time", "account[busy]", "efficiency", "nothing", "step[work]", "time[")

    def law() -> Call:
        chosen = slipstick.LAWS[pick(sorted(slipstick.LAWS))]
        check = pick(chosen.checks)
        return Call("LAWS", chosen, [], chosen.given(check))

    def program() -> Call:
        machine = slipstick.load("machine/rs6000-43p-atm")
        chosen = slipstick.PROGRAMS["dvsm/diff-request"]
        return Call("PROGRAMS", chosen.on, [machine], {"reply": 4120.0})

    def answer() -> Call:
        solved = slipstick.solve("lock-and-bus", method="closed-form")
        return Call(
            "Answer", getattr(solved, pick(("__getitem__", "find", "ends", "unit"))), [pick(names)]
        )

    def points() -> Call:
        solved = slipstick.solve("lock-and-bus", {"population.processors": [1, 2]})
        attribute = pick(("__getitem__", "column", "axis", "ends", "stages", "answer"))
        argument = (
            pick((0, 1)) if attribute == "answer" else pick((*names, "population.processors"))
        )
        return Call("Sweep", getattr(solved, attribute), [argument])

    def operator() -> Call:
        left_operand = pick((slipstick.Parameter("p", value=2.0), LAST))
        signs = ("__add__", "__radd__", "__sub__", "__mul__", "__truediv__", "__pow__", "__neg__")
        sign = "__rshift__" if isinstance(left_operand, Activity) else pick(signs)
        return Call(
            f"operator {sign}", getattr(left_operand, sign), [] if sign == "__neg__" else [2]
        )

    return {"LAWS": law, "PROGRAMS": program, "Answer": answer, "Sweep": points, "Expr": operator}


def changed(value: Any, chance: random.Random) -> Any:
    """Replace one part of arguments, at any depth, by a value of any kind."""
    if type(value) in (list, tuple) and value and chance.random() < 0.8:
        members = list(value)
        at = chance.randrange(len(members))
        members[at] = changed(members[at], chance)
        return type(value)(members)
    if type(value) is dict and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {**value, chance.choice(("x", 1, "", "a b", None)): value[key]}
        return {**value, key: changed(value[key], chance)}
    return iter("ab") if chance.random() < 0.02 else chance.choice(ODD)


def drawn_call(seed: int, index: int) -> Call:
    """Draw a call with arguments that fit or nearly fit."""
    chance = random.Random(f"{seed}:{index}")
    draws = Drawn(chance)
    draw_arguments, draw_lookup = calls(draws), lookups(draws)
    # Half of the calls are of what computes; the others are of all names alike.
    name = (
        chance.choice((*draw_arguments, *draw_lookup))
        if chance.random() < 0.6
        else chance.choice(("solve", "closed_model", "network", "LAWS"))
    )
    if name in draw_lookup:
        call = draw_lookup[name]()
    else:
        arguments, keywords = draw_arguments[name]()
        call = Call(name, getattr(slipstick, name), arguments, keywords)
    shaped = not call.name.startswith("operator")  # whose arguments are those of a sign
    for _ in range(chance.choice((0, 0, 0, 1, 1, 1, 2))):
        kind = chance.random()
        if kind < 0.04 and call.arguments and shaped:
            call.arguments.pop()
        elif kind < 0.08 and shaped:
            call.keywords[chance.choice(("nmae", "time", "x"))] = 1
        elif call.keywords and (not call.arguments or kind < 0.5):
            key = chance.choice(list(call.keywords))
            call.keywords[key] = changed(call.keywords[key], chance)
        elif call.arguments:
            at = chance.randrange(len(call.arguments))
            call.arguments[at] = changed(call.arguments[at], chance)
    return call


def used(name: str, resource: ResourceKind) -> Activity:
    """Return an activity that uses a resource in the way of its kind."""
    if isinstance(resource, slipstick.Station):
        return slipstick.service(name, 1.0)
    if isinstance(resource, slipstick.Barrier):
        return LAST >> slipstick.barrier(name)
    if isinstance(resource, slipstick.Breaker):
        call = slipstick.service("disk", 1.0)
        return LAST >> slipstick.attempt(call, timeout=1.0, limits="visit", breaker=name)
    if isinstance(resource, slipstick.TaskPool):
        return slipstick.ask(name)
    if isinstance(resource, slipstick.ReaderWriterLock):
        return slipstick.hold(name, LAST, "read")
    if isinstance(resource, slipstick.Semaphores) and "places" in resource.units:
        return slipstick.put(name, LAST) >> slipstick.get(name, slipstick.delay(1.0, name="use"))
    if isinstance(resource, slipstick.Semaphores):
        counter = f"{name}.{next(iter(resource.units), 'none')}"
        return slipstick.wait(counter) >> LAST >> slipstick.signal(counter)
    return slipstick.hold(name, LAST)


def use(value: Any, draws: Drawn) -> None:
    """Use the result of a call, as a user would."""
    repr(value)
    if isinstance(value, Activity):
        value = slipstick.closed_model(value, 2)
    elif isinstance(value, ResourceKind):
        value = slipstick.closed_model(used("r", value), 2, resources={"r": cast(Any, value)})
    elif isinstance(value, ClosedClass | OpenClass):
        value = slipstick.network({"jobs": value}, {"cpu": draws.station()})
    elif isinstance(value, GuardedStations | Region):
        impatient = slipstick.station(service={"jobs": 1.0}, patience={"jobs": 0.5})
        limits: dict[str, Any] = (
            {"regions": {"hall": value}}
            if isinstance(value, Region)
            else {"breakers": {"guard": value}}
        )
        stations = {"cpu": impatient, "disk": draws.station()}
        value = slipstick.network({"jobs": slipstick.closed_class(2, 1.0)}, stations, **limits)
    elif isinstance(value, NetworkStation):
        value = slipstick.network({"jobs": slipstick.closed_class(2, 1.0)}, {"cpu": value})
    if isinstance(value, Simulation):
        value = slipstick.solve(
            "lock-and-bus", method="simulation", simulation=value, limits=LIMITS
        )
    if isinstance(value, Model | QueueingNetwork | Law):
        if not isinstance(value, Law):
            slipstick.dump(value)
        values, method, settings = draws.values(value), draws.method(value), draws.simulation()
        value = slipstick.solve(value, values, method=method, simulation=settings, limits=LIMITS)
    if isinstance(value, Answer | Sweep | Results):
        str(value), pickle.dumps(value), value.to_dict() if not isinstance(value, Answer) else None
    if isinstance(value, Answer):
        wrong = [name for name in value.names if math.isnan(value[name] or 0.0)]
        if wrong:
            raise ArithmeticError(f"{wrong[0]} is not a number")


class TooLongError(BaseException):
    """A call took more than `SECONDS` of processor time."""


def _stop(signal_number: int, frame: FrameType | None) -> None:
    raise TooLongError


def outcome(seed: int, index: int) -> tuple[str, str, str]:
    """Make a call; return its name, how it ended, and where an error that is not ours arose."""
    name = ""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            call = drawn_call(seed, index)
            name = call.name
            use(call(), Drawn(random.Random(f"{seed}:{index}:use")))
        return name, "answered", ""
    except SlipstickError:
        return name, "refused", ""
    except TooLongError:
        return name, f"over {SECONDS:g} s", ""
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return name, "raw", f"{type(error).__name__}: {str(error)[:100]} at {where}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def broken(seed: int, first: int, count: int) -> Iterator[str]:
    """Make calls and yield what broke a promise; print how all of them ended."""
    ends: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for index in range(first, first + count):
        name, end, where = outcome(seed, index)
        ends[end] += 1
        names[name] += 1
        if end not in ("answered", "refused"):
            yield f"--seed {seed} --case {index}: {name}: {end} {where}"
    print(f"{count:,} calls of {len(names)} names: {dict(ends)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--case", type=int, help="make this call alone, and print it")
    parser.add_argument("--short", action="store_true", help="the smallest size")
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _stop)
    draws = Drawn(random.Random(0))
    public: Any = slipstick
    left_out = {*public.__all__} - {*calls(draws), *lookups(draws)}
    if left_out:
        sys.exit(f"no calls are drawn for the public names {sorted(left_out)}")
    if options.case is not None:
        call = drawn_call(options.seed, options.case)
        print(call.name, call.arguments, call.keywords)
        use(call(), Drawn(random.Random(f"{options.seed}:{options.case}:use")))
        return
    warm = Simulation(kernel="compiled", cycles=100)  # compiling is no part of a call
    slipstick.solve("lock-and-bus", method="simulation", simulation=warm)
    count = 200 if options.short else options.calls
    messages = list(broken(options.seed, 0, count))
    print("\n".join(messages))
    sys.exit(bool(messages))


if __name__ == "__main__":
    main()
