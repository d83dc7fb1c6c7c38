"""What the simulator refuses, in its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slipstick.errors import ModelError, SlipstickError, UnknownNameError
from slipstick.sim.plan.builder import Builder, LockImplementation
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import CustomerGroup, Plan, StationPlan
from slipstick.sim.settings import Simulation
from slipstick_compiled import kernel as compiled
from tests.sim.processes import System
from tests.sim.stories import constant


def two_stations() -> None:
    builder = Builder()
    builder.add_station("bus")
    builder.add_station("bus")


def two_quantities() -> None:
    builder = Builder()
    builder.delay(constant(1.0), "work")
    builder.delay(constant(2.0), "work")


def two_tallies() -> None:
    builder = Builder()
    builder.admit("jobs")
    builder.admit("jobs")


def nowhere() -> None:
    builder = Builder()
    builder.mark("cpu")
    builder.jump_at_random([(1.0, "cpx")], "next")
    builder.plan()


def at_once() -> None:
    builder = Builder()
    builder.delay(constant(1.0))
    builder.add_open_group("jobs", constant(0.0), first_instruction=0)


def too_late() -> None:
    system = System()
    system.run()
    system.station("disk")


def yields(request: object) -> object:
    def script(me: object) -> object:
        yield request

    system = System()
    system.process(script)  # type: ignore[arg-type]
    return system.run()


def releases() -> object:
    def script(me: object) -> object:
        me.release("door")  # type: ignore[attr-defined]
        yield None

    system = System()
    system.lock("door")
    system.process(script)  # type: ignore[arg-type]
    return system.run()


def waits(seconds: float) -> object:
    system = System()
    return system.process(lambda me: iter(())).delay(seconds)  # type: ignore[arg-type, return-value]


NO_SPIN = (
    "a test-and-set lock without back-off needs a word whose access takes time, or it would"
    " try again without end at one instant"
)

REFUSED: list[tuple[Callable[[], object], type[SlipstickError], str]] = [
    (
        lambda: Simulation(least=0),
        ModelError,
        "Simulation: least must be a whole number of at least 1, got 0",
    ),
    (
        lambda: Simulation(precision=0.0),
        ModelError,
        "precision and level lie between 0 and 1, got 0.0 and 0.95",
    ),
    (two_stations, ModelError, "two stations are called bus"),
    (two_quantities, ModelError, "two different quantities are drawn from the stream work"),
    (at_once, ModelError, "the time between two arrivals of jobs must be above 0 s"),
    (
        lambda: ServiceTime("exponental", 1.0),
        ModelError,
        "there is no distribution 'exponental'; did you mean 'exponential'?",
    ),
    (
        lambda: ServiceTime("exponential", -1.0),
        ModelError,
        "the mean of an exponential time must be 0 s, or from 1e-140 to 1e+140 s, got -1.0",
    ),
    (
        lambda: ServiceTime("erlang", 1.0, 0.3),
        ModelError,
        "an erlang time cannot have scv 0.3: it must be one over a whole number up to 1000",
    ),
    (
        lambda: ServiceTime("hyperexponential", 1.0, 1e13),
        ModelError,
        (
            "a hyperexponential time cannot have scv 10000000000000.0: it must be more than 1, at"
            " most 1e+12"
        ),
    ),
    (
        lambda: ServiceTime("uniform", 1.0, 0.34),
        ModelError,
        "a uniform time cannot have scv 0.34: it must be from 0 to 1/3",
    ),
    (lambda: LockImplementation("tas"), ModelError, NO_SPIN),
    (
        lambda: LockImplementation("ttass"),
        ModelError,
        "no kernel knows the lock 'ttass'; did you mean 'ttas'?",
    ),
    (
        lambda: LockImplementation(back_off="linear"),
        ModelError,
        "no kernel knows the back-off 'linear'; known: none, constant, exponential",
    ),
    (
        lambda: StationPlan("bus", 0),
        ModelError,
        "station bus: it needs at least 1 server, got 0",
    ),
    (
        lambda: StationPlan("bus", 1, "fifo"),
        ModelError,
        "station bus: the discipline 'fifo' cannot be simulated; did you mean 'fcfs'?",
    ),
    (
        lambda: StationPlan("bus", 2, "priority", (1.0, 2.0)),
        ModelError,
        "station bus: rates need one server, got 2",
    ),
    (
        lambda: StationPlan("bus", rates=(1.0, 0.0)),
        ModelError,
        "station bus: a simulation needs every rate to be above 0, got 0",
    ),
    (two_tallies, ModelError, "two tallies are called jobs"),
    (nowhere, UnknownNameError, "there is no mark 'cpx'; did you mean 'cpu'?"),
    (
        lambda: Plan((), (CustomerGroup("a", "once", (0,)), CustomerGroup("b", "closed", (0,)))),
        ModelError,
        "customers of the kinds closed, once cannot be mixed: once goes with no other kind",
    ),
    (
        lambda: Simulation(seed=-1),
        ModelError,
        "Simulation: seed must be a whole number of at least 0, got -1",
    ),
    (
        lambda: Simulation(kernel="fast"),
        ModelError,
        "there is no kernel 'fast'; there are auto, plain, compiled",
    ),
    (lambda: Builder().serve("bus", constant(1.0)), UnknownNameError, "there is no station 'bus'"),
    (lambda: Builder().hold("door", lambda: None), UnknownNameError, "there is no lock 'door'"),
    (too_late, ModelError, "disk comes too late: resources are added before the system runs"),
    (
        lambda: yields(3.0),
        ModelError,
        "process 0 yielded 3.0; yield a request such as me.delay(1.0)",
    ),
    (releases, ModelError, "process 0 releases lock door, which it does not hold"),
    (lambda: waits(-1.0), ModelError, "a time of a process must be at least 0 s, got -1.0"),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("make", "kind", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_named(
    make: Callable[[], object], kind: type[SlipstickError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == words


def test_without_the_compiler_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    with pytest.raises(SlipstickError) as caught:
        compiled.CompiledKernel(Plan((), ()))
    assert "numba" in str(caught.value)
    assert "the compiled kernel" in str(caught.value)
    assert "slipstick[fast]" in str(caught.value)
