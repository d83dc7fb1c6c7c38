"""Every kind of step, of use of a resource and of resource there is, in every place: alone, side by
side, in a repetition, in a choice, before a barrier and under a lock; and the answers called exact
that a simulation contradicts.

The kinds are found in the code, so that a kind without an example here is noticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from slipstick import Answer, Simulation, solve
from slipstick.errors import SlipstickError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model import activity as activities
from slipstick.model.activity import (
    ask,
    attempt,
    barrier,
    choose,
    delay,
    fork,
    get,
    hedge,
    hold,
    pick,
    pipeline,
    put,
    repeat,
    reply,
    serial,
    service,
    signal,
    wait,
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Barrier,
    Breaker,
    Lock,
    Model,
    Monitor,
    Permits,
    ReaderWriterLock,
    Resource,
    Semaphores,
    Station,
    TaskPool,
    buffer,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
    superstep_model,
)
from slipstick.model.tasks import Loop

EXACT_METHODS = ("closed-form", "mean-value", "markov-chain")


def _served(name: str, scv: float) -> Activity:
    return service("disk", 1.0, name=f"{name}-disk", scv=scv)


def _work(name: str, scv: float) -> Activity:
    return delay(2.0, name=f"{name}-work", scv=scv)


STEPS: dict[type[Activity], Callable[[str, float], Activity]] = {
    activities.Step: _served,
    activities.Then: lambda name, scv: _work(name, scv) >> _served(name, scv),
    activities.Fork: lambda name, scv: fork(
        _work(name, scv), delay(1.5, name=f"{name}-beside", scv=scv)
    ),
    activities.Choice: lambda name, scv: choose(
        (0.25, _work(name, scv)), (0.75, _served(name, scv))
    ),
    activities.Repeat: lambda name, scv: repeat(2.5, _work(name, scv)),
    activities.Hold: lambda name, scv: hold("door", _work(name, scv)),
    activities.EarlyReply: lambda name, scv: hold(
        "door", choose((0.5, _work(name, scv)), (0.5, reply("door") >> _served(name, scv)))
    ),
    activities.IfLate: lambda name, scv: hedge(
        _served(name, scv), 1.0, delay(1.0, name=f"{name}-second", scv=scv), name=f"{name}-late"
    ),
    activities.Attempt: lambda name, scv: attempt(
        _served(name, scv), patience=Parameter("limit", TIME, 1.5), retries=1
    ),
    activities.Pick: lambda name, scv: pick(
        _served(name, scv), service("beside", 1.0, name=f"{name}-beside", scv=scv)
    ),
    activities.Pipeline: lambda name, scv: pipeline(
        [serial(_work(name, scv)), serial(delay(1.0, name=f"{name}-next", scv=scv))],
        items=3,
        name=f"{name}-line",
    ),
    activities.BarrierWait: lambda name, scv: _work(name, scv) >> barrier("meet"),
    activities.WaitUnit: lambda name, scv: (
        wait("slots.free") >> _work(name, scv) >> signal("slots.free")
    ),
    activities.SignalUnit: lambda name, scv: (
        put("box", _work(name, scv)) >> get("box", _served(name, scv))
    ),
    activities.Ask: lambda name, scv: _work(name, scv) >> ask("jobs"),
}
"""An activity with each kind of step, its names made of a given one."""

Use = Callable[[str, float], tuple[Activity, dict[str, Resource]]]

RESOURCES: dict[type[Resource], Use] = {
    Station: lambda name, scv: (_served(name, scv), {"disk": Station(2, "ps")}),
    Lock: lambda name, scv: (
        hold("door", _work(name, scv)),
        {"door": Lock("ttas", word="disk", access=Parameter("door.access", TIME, 0.125))},
    ),
    Permits: lambda name, scv: (hold("door", _work(name, scv)), {"door": Permits(2)}),
    ReaderWriterLock: lambda name, scv: (
        hold("door", _work(name, scv), "read") >> hold("door", _served(name, scv), "write"),
        {"door": ReaderWriterLock()},
    ),
    Monitor: lambda name, scv: (
        hold("door", wait("door.free") >> _work(name, scv))
        >> hold("door", _served(name, scv) >> signal("door.free")),
        {"door": Monitor({"free": 1})},
    ),
    Semaphores: lambda name, scv: (STEPS[activities.WaitUnit](name, scv), {}),
    TaskPool: lambda name, scv: (STEPS[activities.Ask](name, scv), {}),
    Breaker: lambda name, scv: (
        attempt(_served(name, scv), queue=0, retries=1, breaker="guard"),
        {"guard": Breaker(1, Parameter("guard.open", TIME, 1.5), scv=1.0)},
    ),
    Barrier: lambda name, scv: (
        STEPS[activities.BarrierWait](name, scv),
        {"meet": Barrier("tree", Parameter("meet.cost", TIME, 0.25))},
    ),
}
"""A use of each kind of resource, with the resources that differ from `_PLAIN`."""

_PLAIN: dict[str, Resource] = {
    "disk": Station(),
    "door": Lock(),
    "outer": Lock(),
    "meet": Barrier(),
    "last": Barrier(),
    "slots": Semaphores({"free": 1}),
    "box": buffer(2),
    "jobs": TaskPool(Loop(4), Parameter("jobs.leaf", TIME, 1.0)),
}

APART = ("wait[door]", "queue_length[door]")
"""Of a lock with a word, mean value counts the accesses of an acquire as visits to the word, and
simulation as a wait for the lock."""

SLACK = 1e-3
"""Relative difference beyond an interval that is allowed: the interval of a speed-up of processors
that are always busy has no width, but the count of cycles begins and ends within one."""

PLACES: dict[str, Callable[[Callable[[str], Activity]], Activity]] = {
    "alone": lambda of: of("a"),
    "in a fork": lambda of: fork(of("a"), delay(3.0, name="beside")),
    "in a fork of two": lambda of: fork(of("a"), of("b")),
    "in a repetition": lambda of: repeat(2, of("a")),
    "in a fractional repetition": lambda of: repeat(1.5, of("a")),
    "in a fractional repetition in a fork": lambda of: fork(
        repeat(1.5, of("a")), delay(3.0, name="beside")
    ),
    "in a choice": lambda of: choose((0.5, of("a")), (0.5, delay(3.0, name="beside"))),
    "before a barrier": lambda of: of("a") >> barrier("last"),
    "fractionally before a barrier": lambda of: repeat(1.5, of("a")) >> barrier("last"),
    "under a lock": lambda of: delay(1.0, name="before") >> hold("outer", of("a")),
}
"""Where an activity stands, made with a name."""


Population = Callable[[Callable[[str], Activity], dict[str, Resource]], Model]

POPULATIONS: dict[str, Population] = {
    "of phases": lambda of, resources: phased_model(
        (2, 3, of("a")), (1.5, 2, of("b")), resources=resources
    ),
    "of supersteps": lambda of, resources: superstep_model(
        (2, [of("a"), of("b")], delay(0.5, name="meet")), resources=resources
    ),
    "of two groups": lambda of, resources: grouped_model(
        {
            "few": (1, of("a")),
            "many": (2, of("b") >> delay(4.0, name="more", scv=1.0)),
        },
        resources=resources,
    ),
    "of a stream": lambda of, resources: open_model(of("a"), 0.15, resources=resources),
}
"""Populations other than one closed group, made with an activity of a name."""


def kinds_of(module: object, base: type) -> set[type]:
    """Return the kinds of a module that are used directly: those without derived kinds."""
    classes = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
    kinds = {kind for kind in classes if issubclass(kind, base) and kind is not base}
    return {kind for kind in kinds if not any(issubclass(other, kind) for other in kinds - {kind})}


def every_model() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Yield every kind in every place, of one and of three processors, and alone in every other
    population, of constant and of exponential times, with what it is; building it may be refused.
    """
    uses: dict[str, Use] = {kind.__name__: _plainly(make) for kind, make in STEPS.items()}
    uses |= {f"at a {kind.__name__}": make for kind, make in RESOURCES.items()}
    for kind, make in uses.items():
        for place, around in PLACES.items():
            for processors in (1, 3):
                for scv in (0.0, 1.0):
                    title = f"{kind} {place}, {processors} processors, scv {scv:g}"
                    yield title, _maker(make, around, processors, scv)
        for population, build in POPULATIONS.items():
            for scv in (0.0, 1.0):
                yield f"{kind} {population}, scv {scv:g}", _maker_of(make, build, scv)


def _plainly(make: Callable[[str, float], Activity]) -> Use:
    return lambda name, scv: (make(name, scv), {})


def _maker(
    make: Use,
    around: Callable[[Callable[[str], Activity]], Activity],
    processors: int,
    scv: float,
) -> Callable[[], Model]:
    def build() -> Model:
        cycle = around(lambda name: make(name, scv)[0])
        return closed_model(cycle, processors, resources={**_PLAIN, **make("a", scv)[1]})

    return build


def _maker_of(make: Use, build: Population, scv: float) -> Callable[[], Model]:
    def build_model() -> Model:
        resources = {**_PLAIN, **make("a", scv)[1]}
        return build(lambda name: make(name, scv)[0], resources)

    return build_model


def exact_answers(model: Model) -> list[Answer]:
    """Return the answers that methods call exact; none for a refused model."""
    answers = []
    for method in (None, *EXACT_METHODS):
        try:
            answers.append(solve(model, method=method, simulation=Simulation(seed=1, events=2_000)))
        except SlipstickError:
            continue
    return [answer for answer in answers if answer.exact and answer.method != "simulation"]


def contradictions(model: Model, settings: Simulation, widths: float = 3.0) -> list[str]:
    """List the values called exact that lie outside a simulation's interval.

    Parameters
    ----------
    model : the system
    settings : of the simulation
    widths : of half an interval, that a value may lie from its middle; rounding is allowed
    """
    exact = exact_answers(model)
    if not exact:
        return []
    simulated = solve(model, method="simulation", simulation=settings)
    words = []
    for answer in exact:
        for name in simulated.values.keys() & answer.values.keys():
            value, estimate = answer.values[name].value, simulated.values[name]
            if value is None or estimate.value is None or estimate.high is None:
                continue
            if name in APART:
                continue
            reach = widths * (estimate.high - estimate.value) + 1e-9 + SLACK * abs(estimate.value)
            if not abs(value - estimate.value) <= reach:
                words.append(
                    f"{answer.method}: {name} is {value:.6g}, simulated {estimate.value:.6g}"
                    f" ({estimate.low:.6g} to {estimate.high:.6g})"
                )
    return words
