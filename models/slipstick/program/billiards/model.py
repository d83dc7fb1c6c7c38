"""The parallel program of the billiard balls on a machine with shared memory.

Setup: each processor computes the times-to-collision of its share of the balls and queues them. Then steps, each of them:

- Each processor takes one of the N earliest collisions and compares it with those of all the others: accesses to
  what others wrote (`check`).
- The first k - 1 execute theirs, on average P of N as the simulation counts it, the others are idle. Executing takes the
  sequential program's time (`busy`), fetching what another processor wrote last (`memory`), and the locks of the
  bins (`lock`).
- All meet at a barrier.

One processor alone runs the sequential program: no comparing, no locks, no barrier, nothing fetched. So `busy` is W t_c / N
on any number of processors, the rest is the average latency L of equation 3, and of its sources (equation 5) ML is
`memory`, IT `idle`, and PT `check`, `lock` and `barrier`.

What is approximate: adding a collision takes as long however many balls there are (bins grow with them); two who want
the same bin at once do not wait for each other; which processors execute is drawn anew at each step, though those
of low number execute more often.
"""

from __future__ import annotations

from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Number
from slipstick.method.times import time
from slipstick.model.activity import Activity, choose, delay, repeat, then
from slipstick.model.shared_memory import SharedMemory
from slipstick.model.system import Model, closed, phases
from slipstick.program.billiards.counts import Counts, observe
from slipstick.program.memory import Port
from slipstick.program.program import Input, Inputs, Program, number, one
from slipstick.program.synchronization import NONE, lock_kind, meet

__all__ = ["PROGRAMS"]

NAME = "billiards/parallel"
SOURCE = "Scale-Graph, IEEE TSE 1997, section 5"


def parallel(machine: SharedMemory, inputs: Inputs) -> Model:
    """Build the program: a setup, then as many steps as the collisions take."""
    work = _Work(machine, inputs)
    count = work.processors
    meeting, resources = meet(machine, NONE, Number(1.0))
    if count > 1:
        meeting, resources = meet(machine, _word(inputs, "barrier"), Number(float(count)))
        resources = {**work.port.resources(), **resources}
    parts = ((1, count, work.setup() >> meeting), (work.rounds, count, work.step() >> meeting))
    return phases(*parts, name=NAME, resources=resources)


class _Work:
    """What one processor does in the setup and in a step."""

    def __init__(self, machine: SharedMemory, inputs: Inputs) -> None:
        self.machine, self.inputs = machine, inputs
        self.processors, self.balls = (int(number(inputs, name)) for name in ("processors", "balls"))
        self.steps, most, seed = (int(number(inputs, name)) for name in ("steps", "collisions", "seed"))
        self.counts: Counts = observe(self.balls, min(self.steps, most), seed)
        self.rounds = max(1, round(self.steps / self.counts.parallelism(self.processors)))
        self.port = Port(machine, Number(float(self.processors - 1)))

    def setup(self) -> Activity:
        """Compute a share of the times-to-collision and queue them."""
        meetings, added = ((count / self.processors) for count in (self.balls + 1, self.counts.queued))
        units = meetings * self._units("meeting") + added * self._units("adding")
        return self._with_overheads("setup", units, queued=added, fetched=added)

    def step(self) -> Activity:
        """Take a collision, compare it with the others', execute it or be idle."""
        adding, removing = self.counts.added * self._units("adding"), self.counts.removed * self._units("removing")
        units = self._units("collide") + 3 * self._units("meeting") + adding + removing
        queued = self.counts.added + self.counts.removed
        execute = self._with_overheads("collision", units, queued=queued, fetched=1.0)
        if self.processors == 1:
            return execute
        chance = min(1.0, self.steps / (self.rounds * self.processors))
        waiting = delay(time(execute, closed(execute), booked=False), name="idle", component="idle")
        compare = self._fetch("check", (self.processors - 1) * self._units("check"), "check")
        return compare >> choose((chance, execute), (1 - chance, waiting))

    def _with_overheads(self, name: str, units: Expr, queued: float, fetched: float) -> Activity:
        """Compute; and among others, fetch what they wrote and take locks."""
        computing = delay(units * self.machine.step, name=name)
        if self.processors == 1:
            return computing
        others = (self.processors - 1) / self.processors
        misses = fetched * others * self._units("misses")
        return self._fetch(f"{name}.fetch", misses, "memory") >> self._locks(name, queued) >> computing

    def _fetch(self, name: str, accesses: Expr, component: str) -> Activity:
        modules = int(number({"modules": self.machine.memory.modules}, "modules"))
        return repeat(accesses, self.port.access(name, (1 / modules,) * modules, component))

    def _locks(self, name: str, calls: float) -> Activity:
        kind = _word(self.inputs, "lock")
        if kind == NONE:
            return then()
        latency = lock_kind(self.machine, kind).latency
        return delay(calls * latency, name=f"{name}.lock", component="lock", technology="software")

    def _units(self, name: str) -> Expr:
        return one(self.inputs, name)


def _word(inputs: Inputs, name: str) -> str:
    value = inputs[name]
    assert isinstance(value, str)
    return value


PROGRAMS = (
    Program(
        NAME,
        "Colliding billiard balls: the earliest collisions executed in parallel as far as they are independent",
        SOURCE,
        (
            Input("balls", COUNT, "n: balls on the line", 5000.0, least=2, whole=True),
            Input("steps", COUNT, "collisions to execute", 1000.0, least=1, whole=True),
            Input("processors", COUNT, "N: processors, each with one collision of a step", 1.0, least=1, whole=True),
            Input("adding", COUNT, "units of computing to add a collision to the queue", 1.0),
            Input("removing", COUNT, "units of computing to remove one", 1.0),
            Input("meeting", COUNT, "units of computing of one time-to-collision", 1.0),
            Input("collide", COUNT, "units of computing to move two balls and exchange their velocities", 1.0),
            Input("misses", COUNT, "fetches of one execution or addition, all from others if there are many", 7.0),
            Input("check", COUNT, "fetches to compare a collision with that of one other processor", 1.0),
            Input("lock", COUNT, "the machine's lock of a bin, taken to add or remove", NONE, named="locks"),
            Input("barrier", COUNT, "the machine's barrier that ends a step", NONE, named="barriers"),
            Input(
                "collisions",
                COUNT,
                "collisions that are counted at most; of more steps the rest go on alike",
                20000.0,
                least=1,
                whole=True,
            ),
            Input("seed", COUNT, "of the places and speeds of the balls", 1.0, whole=True),
        ),
        parallel,
        SharedMemory,
    ),
)
