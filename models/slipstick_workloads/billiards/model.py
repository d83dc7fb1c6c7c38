"""The parallel program of the billiard balls on a machine with shared memory.

Setup: each processor computes the times-to-collision of its share of the balls and queues them.
Then follow steps:

- Each processor takes one of the N earliest collisions and compares it with those of all the
  others: accesses to data that others wrote (`check`).
- The first k - 1 processors execute theirs, on average P of N as the simulation counts it; the
  others are idle. Execution takes the sequential program's time (`busy`), fetches of data that
  another processor wrote last (`memory`), and the locks of the bins (`lock`).
- All wait at a barrier.

One processor alone runs the sequential program: no comparison, no locks, no barrier, no fetches. So
`busy` is W t_c / N on any number of processors, the rest is the average latency L of equation 3,
and of its sources (equation 5) ML is `memory`, IT `idle`, and PT `check`, `lock` and `barrier`.

To add a collision is to search its place in the queue's time bins: the simulation counts the bins
and collisions passed, more of them among more balls. The width of a bin is not printed.

With `touches`, what computing takes holds the accesses to the processor's own cache: as many as
`misses` for each addition and execution, and one for each bin or collision passed, booked to
`access` as useful time; and each ball's lines are fetched once in the setup, in useful time booked
to `local`. Where the cache has an inner level, `access` is the time of a hit there, and what
accesses beyond it take longer is booked to `local`: the accesses are taken to be spread over the
processor's share of the balls, of which the inner level holds as many as fit.

With `bins: best`, the width of the bins is, for each number of balls, the one of `WIDTHS` with
which a collision of the main loop passes the fewest bins and collisions. With `bins: direct`, a bin
is found from its time, so that only collisions of the bin are passed, and bins are narrower the
more balls there are, so that a bin holds as many: the search does not lengthen with the balls.

The local cache holds as many of the balls as fit: with `touches`, accesses to the others fetch them
again, over the interconnect (`replaced`), beside the computing.

Approximations: two processors that need one bin at the same time do not wait for each other. With
`locks`, all that take locks in a step are taken to request them at the same instant, each a lock at
random: of k others k / m request the same of m locks, and half of those stand before a processor on
average. Requests that come apart wait less; no benchmark measures by how much. The processors that
execute are drawn anew at each step, though those of low number execute more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from slipstick.errors import ModelError
from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    TIME,
    Expr,
    Like,
    Number,
    maximum,
    minimum,
    total,
    zero,
)
from slipstick.expression.special import exp, real_power
from slipstick.late import dataclass
from slipstick.law.symbols import SCALE_GRAPH
from slipstick.model.activity import choose, delay, repeat, then
from slipstick.model.machine import SharedMemory
from slipstick.model.steps import Activity
from slipstick.model.system import Model, closed_model, phased_model
from slipstick.program.program import Input, InputValues, Program, number, value_of, word
from slipstick.structure.times import time_of_pass
from slipstick_workloads.billiards.counts import CollisionCounts, observe
from slipstick_workloads.shared_memory import (
    NO_LOCK_OR_BARRIER,
    MemoryPort,
    arrival_and_barrier,
    lock_with_mean_times,
)

SHARING_PAIRS = 2.1
"""n / j^2 pairs of the first j crossings of n lines that share a line: 2 E[m(v)^2] / E[m(v)]^2,
m(v) = (1 + v^2) / 2.
"""

USEFUL = ("busy", "access", "local")
NAME = "billiards/parallel"
SOURCE = f"{SCALE_GRAPH}, section 5"

BALL_MEMORY = Number(960.0, BYTES)
"""C: memory of a ball, as printed."""

SIZES = tuple(100 * 2**doubled for doubled in range(9))
"""Numbers of balls for which searches are counted if the number of balls is a variable."""

WIDTHS = tuple(0.4 / 2**halved for halved in range(6))
"""Widths of bins among which the best is taken [balls' mean distance / greatest speed]."""

_CollisionCounter = Callable[[int, int, int, float], CollisionCounts]

COLLISIONS_OF_SIZES = 4000
"""Collisions that are simulated for each of the `SIZES`; the searches differ by about 2 % from
those of five times as many.
"""


def parallel(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of the program: a setup, and then as many steps as the collisions need.

    With ``parallelism: expected`` nothing is simulated, and balls and steps can be varied in the
    built model: of the first j crossings of n lines with uniform slopes, 2.1 j^2 / n pairs are
    expected to share a line. Taken as rare and independent, exp(-2.1 j^2 / n) is the probability
    that a step reaches so far, and P the sum over j up to N. It is within a few percent of the
    counts, closer for more balls. Searches are counted for 100 to 25,600 balls and taken as a power
    of their number between two of these, and beyond them. The number of steps is then not a whole
    number, which the method simulation refuses.
    """
    counters_by_bins: Mapping[str, _CollisionCounter] = {
        "width": observe,
        "best": _counts_with_best_width,
        "direct": _counts_with_direct_bins,
    }
    return _model_of_counts(machine, inputs, counters_by_bins[word(inputs, "bins")])


def sample(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of the program as `parallel` does, with counts of one in place of a
    simulation.
    """
    counts_of_one = CollisionCounts(1.0, 1.0, 1.0, 1.0, 1.0, first_dependents_of_runs=((1,),))
    return _model_of_counts(machine, inputs, lambda *values: counts_of_one)


def _counts_with_best_width(
    balls: int, collisions: int, seed: int, bin_width: float
) -> CollisionCounts:
    """Return the counts with bins of the width that makes the search for the place of a collision
    shortest.
    """
    counts_by_width = (
        observe(balls, collisions, seed, candidate_width) for candidate_width in WIDTHS
    )
    return min(counts_by_width, key=lambda counts: counts.entries_passed)


def _counts_with_direct_bins(
    balls: int, collisions: int, seed: int, bin_width: float
) -> CollisionCounts:
    """Return the counts with bins that are found from a time; their width at `SIZES[0]` balls is
    `bin_width`.
    """
    return observe(balls, collisions, seed, bin_width * SIZES[0] / balls, is_direct=True)


def _model_of_counts(
    machine: SharedMemory, inputs: InputValues, count_collisions: _CollisionCounter
) -> Model:
    """Build the model of the program from the counts that a function returns."""
    steps = _Steps(machine, inputs, count_collisions)
    processors = steps.processors
    barrier, resources = arrival_and_barrier(machine, NO_LOCK_OR_BARRIER, Number(1.0))
    if processors > 1:
        barrier, resources = arrival_and_barrier(
            machine, word(inputs, "barrier"), Number(float(processors))
        )
        resources = {**steps.port.resources(), **resources}
    phases = (
        (1, processors, steps.setup() >> barrier),
        (steps.sizes.rounds, processors, steps.step() >> barrier),
    )
    return phased_model(*phases, name=NAME, resources=resources, useful=USEFUL)


class _Steps:
    """The work of one processor in the setup and in a step of the program."""

    def __init__(
        self, machine: SharedMemory, inputs: InputValues, count_collisions: _CollisionCounter
    ) -> None:
        self.machine = machine
        self.inputs = inputs
        self.processors = int(number(inputs, "processors"))
        sizes_of_run = (
            _expected_sizes if word(inputs, "parallelism") == "expected" else _simulated_sizes
        )
        self.sizes = sizes_of_run(inputs, self.processors, count_collisions)
        self.port = MemoryPort(machine, Number(float(self.processors - 1)))
        self.cache = machine.cache if number(inputs, "touches") else None
        if number(inputs, "touches") and machine.cache is None:
            raise ModelError(f"{machine.name} has no cache; leave out touches")

    def setup(self) -> Activity:
        """Return the setup: compute a share of the times-to-collision and queue them."""
        meeting_count, addition_count = (
            (count / self.processors)
            for count in (self.sizes.balls + 1, self.sizes.queued_at_start)
        )
        entries_passed = self.sizes.entries_passed_at_start / self.processors
        adding_units = addition_count * self._input_value(
            "adding"
        ) + entries_passed * self._input_value("searching")
        units_by_part = {"add": adding_units, "rest": meeting_count * self._input_value("meeting")}
        execution = self._with_overheads(
            "setup",
            units_by_part,
            queue_operations=addition_count,
            executions=addition_count,
            items_passed=entries_passed,
        )
        if self.cache is None:
            return execution
        cache_lines = self.sizes.balls / self.processors * (BALL_MEMORY / self.cache.line)
        return execution >> self._fetch_pages(
            "setup.cold", self._input_value("touches") * cache_lines, "local"
        )

    def step(self) -> Activity:
        """Return a step: take a collision, compare it with the other processors' collisions, and
        execute it or be idle.
        """
        units_by_part = {
            "add": (
                self.sizes.additions * self._input_value("adding")
                + self.sizes.entries_passed * self._input_value("searching")
            ),
            "remove": self.sizes.removals * self._input_value("removing"),
            "rest": self._input_value("collide") + 3 * self._input_value("meeting"),
        }
        queue_operations = self.sizes.additions + self.sizes.removals
        execution = self._with_overheads(
            "collision",
            units_by_part,
            queue_operations=queue_operations,
            executions=1.0,
            items_passed=self.sizes.entries_passed,
        )
        if self.processors == 1:
            return execution
        execution_probability = minimum(
            1.0, self.sizes.steps / (self.sizes.rounds * self.processors)
        )
        idle_step = delay(
            time_of_pass(execution, closed_model(execution), books_labels=False),
            name="idle",
            component="idle",
        )
        comparison = self._fetch_pages(
            "check", (self.processors - 1) * self._input_value("check"), "check"
        )
        return comparison >> choose(
            (execution_probability, execution), (1 - execution_probability, idle_step)
        )

    def _with_overheads(
        self,
        name: str,
        units_by_part: Mapping[str, Expr],
        queue_operations: Like,
        executions: Like,
        items_passed: Expr,
    ) -> Activity:
        """Return an activity that computes all parts of a setup or a step. With several processors
        it also fetches data that other processors wrote, and takes the locks of the queue.

        Parameters
        ----------
        name : first part of the names of the steps
        units_by_part : units of computing by part [1]
        queue_operations : additions to and removals from the queue [1]
        executions : executions or additions, each with its fetches [1]
        items_passed : bins and collisions passed [1]
        """
        time_by_part = {
            part_name: units * self.machine.step for part_name, units in units_by_part.items()
        }
        computing_steps = then()
        if self.cache is not None:
            access_count = self._input_value("touches") * (
                executions * self._input_value("misses") + items_passed
            )
            access_times = self._access_times(access_count)
            time_by_part["add"] = maximum(
                time_by_part["add"] - total(access_times.values(), TIME), zero(TIME)
            )
            computing_steps = then(
                *(
                    delay(
                        access_time,
                        name=f"{name}.{component}",
                        component=component,
                        technology="memory",
                    )
                    for component, access_time in access_times.items()
                ),
                self._fetch_pages(
                    f"{name}.replaced",
                    access_count * self._share_outside_cache(self.cache.size),
                    "local",
                ),
            )
        computing_steps = then(
            computing_steps,
            *(
                delay(part_time, name=f"{name}.{part_name}")
                for part_name, part_time in time_by_part.items()
            ),
        )
        if self.processors == 1:
            return computing_steps
        other_share = (self.processors - 1) / self.processors
        miss_count = other_share * (
            executions * self._input_value("misses")
            + items_passed * self._input_value("search_misses")
        )
        return (
            self._fetch_pages(f"{name}.fetch", miss_count, "memory")
            >> self._lock_step(name, queue_operations)
            >> computing_steps
        )

    def _access_times(self, access_count: Expr) -> dict[str, Expr]:
        """Return the time of accesses to the own cache [s] by component: the time if all hit the
        innermost level, and the additional time of accesses beyond it.
        """
        assert self.cache is not None
        if not self.cache.inner:
            return {"access": access_count * self.cache.hit}
        hit_times = [*(cache_level.hit for cache_level in self.cache.inner), self.cache.hit]
        extra_time: Expr = zero(TIME)
        for cache_level, (hit_time, outer_hit_time) in zip(
            self.cache.inner, pairwise(hit_times), strict=True
        ):
            extra_time += self._share_outside_cache(cache_level.size) * (outer_hit_time - hit_time)
        return {"access": access_count * hit_times[0], "local": access_count * extra_time}

    def _share_outside_cache(self, cache_size: Expr) -> Expr:
        """Return the share of a processor's balls that a cache of the given size does not hold."""
        own_bytes = self.sizes.balls / self.processors * BALL_MEMORY
        return maximum(1 - cache_size / own_bytes, 0)

    def _fetch_pages(self, name: str, access_count: Expr, component: str) -> Activity:
        """Return accesses that fetch data from memory, booked to a component."""
        module_count = int(number({"modules": self.machine.memory.modules}, "modules"))
        return repeat(
            access_count, self.port.access(name, (1 / module_count,) * module_count, component)
        )

    def _lock_step(self, name: str, lock_calls: Like) -> Activity:
        """Return the acquisitions and releases of locks of bins."""
        lock_name = word(self.inputs, "lock")
        if lock_name == NO_LOCK_OR_BARRIER:
            return then()
        latency = lock_with_mean_times(
            self.machine, lock_name, Number(float(self.processors) - 1)
        ).latency
        if lock_count := number(self.inputs, "locks"):
            requesting_processors = (
                self.sizes.steps / self.sizes.rounds
                if name == "collision"
                else Number(float(self.processors))
            )
            latency *= 1 + maximum(requesting_processors - 1, 0) / (2 * lock_count)
        return delay(
            lock_calls * latency, name=f"{name}.lock", component="lock", technology="software"
        )

    def _input_value(self, name: str) -> Expr:
        return value_of(self.inputs, name)


@dataclass(frozen=True, slots=True)
class _RunSizes:
    """Sizes of a run.

    Parameters
    ----------
    balls, steps : as given, numbers where they shape the model [1]
    rounds : parallel steps [1]
    queued_at_start : collisions in the queue at the start [1]
    entries_passed_at_start : bins and collisions passed to queue them [1]
    additions, entries_passed, removals : by one collision [1]
    """

    balls: Expr
    steps: Expr
    rounds: Expr
    queued_at_start: Expr
    entries_passed_at_start: Expr
    additions: float
    entries_passed: Expr
    removals: float


def _simulated_sizes(
    inputs: InputValues, processors: int, count_collisions: _CollisionCounter
) -> _RunSizes:
    """Return the sizes of a run that the simulation counts, with a whole number of steps."""
    balls, steps, collisions, seed = (
        int(number(inputs, name)) for name in ("balls", "steps", "collisions", "seed")
    )
    counts = count_collisions(balls, collisions, seed, number(inputs, "width"))
    round_count = max(1, round(steps / counts.parallelism(processors)))
    return _RunSizes(
        balls=Number(float(balls)),
        steps=Number(float(steps)),
        rounds=Number(float(round_count)),
        queued_at_start=Number(counts.queued_at_start),
        entries_passed_at_start=Number(counts.entries_passed_at_start),
        additions=counts.additions,
        entries_passed=Number(counts.entries_passed),
        removals=counts.removals,
    )


def _expected_sizes(
    inputs: InputValues, processors: int, count_collisions: _CollisionCounter
) -> _RunSizes:
    """Return the sizes of a run that are expected for very many balls; `parallel` describes
    them.
    """
    balls = value_of(inputs, "balls")
    steps = value_of(inputs, "steps")
    parallelism = total(
        (
            exp(-SHARING_PAIRS * (place_in_step + 0.5) ** 2 / balls)
            for place_in_step in range(processors)
        ),
        COUNT,
    )
    seed = int(number(inputs, "seed"))
    bin_width = number(inputs, "width")
    counts_by_size = [
        count_collisions(ball_count, COLLISIONS_OF_SIZES, seed, bin_width) for ball_count in SIZES
    ]
    entries_passed_at_start, entries_passed = (
        _interpolated_power(balls, [getattr(counts, name) for counts in counts_by_size])
        for name in ("entries_passed_at_start", "entries_passed")
    )
    return _RunSizes(
        balls,
        steps,
        steps / maximum(parallelism, 1.0),
        (balls + 1) / 2,
        entries_passed_at_start,
        1.5,
        entries_passed,
        1.5,
    )


def _interpolated_power(balls: Expr, values_at_sizes: Sequence[float]) -> Expr:
    """Return a value at a number of balls, interpolated from values at `SIZES`: by the power law
    through the two sizes around that number or, beyond all sizes, through the nearest two.
    """
    interpolated_value: Expr = Number(values_at_sizes[0])
    for (smaller_size, larger_size), (value_before, value_after) in zip(
        pairwise(SIZES), pairwise(values_at_sizes), strict=True
    ):
        balls_up_to_high = balls if larger_size == SIZES[-1] else minimum(balls, larger_size)
        balls_in_range = (
            balls_up_to_high
            if smaller_size == SIZES[0]
            else maximum(balls_up_to_high, smaller_size)
        )
        interpolated_value *= real_power(
            balls_in_range / smaller_size,
            Number(math.log(value_after / value_before) / math.log(larger_size / smaller_size)),
        )
    return interpolated_value


PARALLEL = Program(
    NAME,
    "Colliding billiard balls: the earliest collisions executed in parallel as far as they are"
    " independent",
    SOURCE,
    (
        Input("balls", COUNT, "n: balls on the line", 5000.0, least=2, most=1e6, whole=True),
        Input("steps", COUNT, "collisions to execute", 1000.0, least=1, whole=True),
        Input(
            "processors",
            COUNT,
            "N: processors, each with one collision of a step",
            1.0,
            least=1,
            most=1e6,
            whole=True,
        ),
        Input(
            "adding",
            COUNT,
            "units of computing to add a collision to the queue, once its place is found",
            1.0,
        ),
        Input(
            "searching",
            COUNT,
            "units of computing for each bin or collision passed to find the place",
            1.0,
        ),
        Input(
            "width",
            COUNT,
            "width of a time bin of the queue: balls' mean distance over greatest speed",
            0.1,
            least=1e-3,
            most=1e3,
        ),
        Input(
            "bins",
            COUNT,
            "as wide as width says, as is best for the number of balls, or found directly from the"
            " time, as wide as width says for a hundred balls and the narrower the more there are",
            "width",
            options=("width", "best", "direct"),
        ),
        Input("removing", COUNT, "units of computing to remove a collision from the queue", 1.0),
        Input("meeting", COUNT, "units of computing of one time-to-collision", 1.0),
        Input(
            "collide",
            COUNT,
            "units of computing to move two balls and exchange their velocities",
            1.0,
        ),
        Input(
            "misses",
            COUNT,
            "fetches of one execution or addition, all from other processors if there are many",
            7.0,
        ),
        Input("search_misses", COUNT, "fetches of each bin or collision passed, as misses", 0.0),
        Input(
            "check", COUNT, "fetches to compare a collision with that of one other processor", 1.0
        ),
        Input(
            "lock",
            COUNT,
            "the machine's lock of a bin, taken to add or remove",
            NO_LOCK_OR_BARRIER,
            named="locks",
        ),
        Input(
            "locks",
            COUNT,
            "locks that additions and removals are spread over; 0: a lock for each",
            0.0,
            whole=True,
        ),
        Input(
            "touches",
            COUNT,
            "accesses to the own cache for each item passed, as misses for others; 0: not booked",
            0.0,
        ),
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends a step",
            NO_LOCK_OR_BARRIER,
            named="barriers",
        ),
        Input(
            "parallelism",
            COUNT,
            "counted in a simulation of the balls, or expected for very many balls",
            "counted",
            options=("counted", "expected"),
        ),
        Input(
            "collisions",
            COUNT,
            "collisions over which the means are counted; they do not depend on the number of"
            " steps",
            20000.0,
            least=1,
            most=1e7,
            whole=True,
        ),
        Input("seed", COUNT, "seed of the places and speeds of the balls", 1.0, whole=True),
    ),
    parallel,
    SharedMemory,
    sample,
)
