"""Simulation of servers that work in rounds: intervals of what customers and rounds take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slipstick.errors import NoAnswerError
from slipstick.late import Array, np
from slipstick.method.answers import Remarks
from slipstick.method.batch_server.formula import saturated, time_of_a_visit
from slipstick.method.batch_server.points import (
    DELAY,
    WAIT,
    BatchServerForm,
    PointAnswer,
    PointNumbers,
)
from slipstick.method.names import QUANTILES, quantile_name
from slipstick.model.batch_server import BatchServer
from slipstick.sim.estimate import Estimate, t_quantile
from slipstick.sim.rounds import RoundRun, closed_run, open_run
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import SIMULATION

BATCHES = 20
"""Batches of visits that an interval of a run without end is made of."""

FEWEST_RUNS, MOST_RUNS = 4, 256
"""Replications of a finite run in which something is random."""

MOST_VISITS = 400_000
"""Visits of one run at most, whatever the precision."""

WARM_UP = 0.2
"""Part of a run without end that is left out at its beginning."""


class BatchServerSimulation(BatchServerForm):
    """Runs of the server, longer ones until the response time is as precise as wished.

    Parameters
    ----------
    model : the server with its customers
    settings : seed, precision, level, least number of visits
    """

    method = SIMULATION

    def __init__(self, model: BatchServer, settings: Simulation) -> None:
        super().__init__(model)
        self._settings = settings

    @property
    def estimated(self) -> bool:
        """Whether its values are estimates, each with an interval."""
        return True

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        _refuse_impossible(point)
        estimates, converged, note = (
            self._finite(point) if point.visits else self._without_end(point)
        )
        account = {name: estimates[f"account[{name}]"].mean for name in self.model.components}
        waiting = estimates["response_time"].mean - sum(account.values()) - point.delay
        account |= {WAIT: waiting} | ({DELAY: point.delay} if point.delay else {})
        remarks = Remarks(notes=(note,), seed=self._settings.seed, converged=converged)
        return PointAnswer(estimates, account, remarks=remarks)

    def _finite(self, point: PointNumbers) -> tuple[dict[str, Estimate], bool, str]:
        """Replicate a run that all customers begin at the same time."""
        parts: list[_RunSample] = []
        random = point.think_time > 0 or any(phase.least < phase.work for phase in point.phases)
        precise = not random
        while not parts or (not precise and len(parts) < MOST_RUNS):
            run, work = self._run(point, len(parts), point.population * point.visits)
            log = np.vstack([np.zeros(run.log.shape[1]), run.log])
            visits = self._of_visits(run, work, point.delay)
            parts.append(_RunSample(visits, self._of_rounds(log[0], log[-1])))
            if random and len(parts) >= FEWEST_RUNS:
                precise = self._precise(self._estimates(parts)["response_time"])
        noun = "run" if len(parts) == 1 else "runs"
        return self._estimates(parts), precise, f"{len(parts)} {noun} of {len(work)} visits each"

    def _without_end(self, point: PointNumbers) -> tuple[dict[str, Estimate], bool, str]:
        """Run until the mean of batches is precise, each run anew and four times as long."""
        visits = max(self._settings.cycles or self._settings.least, 40 * point.population)
        while True:
            run, work = self._run(point, 0, visits)
            estimates = self._estimates(self._batches(run, work, point.delay))
            precise = self._precise(estimates["response_time"])
            longer = 4 * visits
            if precise or self._settings.cycles or longer > MOST_VISITS:
                note = f"a run of {visits:,} visits, the first fifth of which is left out"
                return estimates, precise, note
            visits = longer

    def _run(self, point: PointNumbers, replication: int, visits: int) -> tuple[RoundRun, Array]:
        """Run with random numbers of a stream for each kind of number."""

        def stream(name: str) -> np.random.Generator:
            return np.random.default_rng([self._settings.seed, replication, *name.encode()])

        # Customers that are under way when a run without end is stopped have to be there.
        supplied = visits if point.visits else visits + max(point.population, 1000)
        columns = [
            stream(f"work {index}").integers(math.ceil(phase.least), int(phase.work) + 1, supplied)
            if phase.least < phase.work
            else np.full(supplied, phase.work)
            for index, phase in enumerate(point.phases)
        ]
        work = np.stack(columns, axis=1).astype(np.float64)
        if point.rate:
            arrivals = np.cumsum(stream("arrivals").exponential(1 / point.rate, supplied))
            return open_run(point.server, work, arrivals, visits), work
        think = stream("think").exponential(1.0, supplied) * point.think_time + point.delay
        return closed_run(point.server, work, point.population, think, visits), work

    def _batches(self, run: RoundRun, work: Array, delay: float) -> list[_RunSample]:
        """Divide a run without end, after its warm-up, into batches of successive visits."""
        visits = self._of_visits(run, work, delay)
        count = len(visits["response_time"])
        ends = np.linspace(int(WARM_UP * count), count, BATCHES + 1).astype(int)
        rows = np.minimum(np.searchsorted(run.log[:, 4], ends), len(run.log) - 1)
        return [
            _RunSample(
                {name: column[first:last] for name, column in visits.items()},
                self._of_rounds(run.log[begin], run.log[end]),
            )
            for first, last, begin, end in zip(ends, ends[1:], rows, rows[1:], strict=False)
        ]

    def _of_visits(self, run: RoundRun, work: Array, delay: float) -> dict[str, Array]:
        """Return what each visit that ended took, in the order of ends."""
        order = np.flatnonzero(run.ended)
        order = order[np.argsort(run.ends[order, -1], kind="stable")]
        arrived, ends = run.arrived[order] - delay, run.ends[order]
        columns = {"response_time": ends[:, -1] - arrived}
        for index, phase in enumerate(self.model.phases):
            columns[f"phase_time[{phase}]"] = ends[:, index] - arrived
            if index:
                spent = ends[:, index] - ends[:, index - 1]
                columns[f"time_per_unit[{phase}]"] = spent / work[order, index]
        for index, phase in enumerate(self.model.phases):
            columns[f"{_UNITS}{phase}"] = work[order, index]
        return columns

    def _of_rounds(self, begin: Array, end: Array) -> dict[str, float]:
        """Return rates and means between two rows of the log of a run."""
        time, rounds, busy, served, ended, put_back, *booked = (end - begin).tolist()
        means = {
            "throughput": ended / time,
            "served": served / rounds,
            "round_time": busy / rounds,
            "utilization": busy / time,
            "put_back": put_back / ended,
        }
        parts = zip(self.model.components, booked, strict=True)
        return means | {f"account[{name}]": spent / ended for name, spent in parts}

    def _estimates(self, parts: list[_RunSample]) -> dict[str, Estimate]:
        """Estimate values of all parts together, with intervals from their scatter."""
        level, estimates = self._settings.level, {}

        def add(name: str, value: float, scattered: Iterable[float]) -> None:
            estimates[name] = _interval(value, np.array(list(scattered)), level)

        for name in parts[0].visits:
            pooled = np.concatenate([part.visits[name] for part in parts])
            if name.startswith(_UNITS):
                rates = [part.rounds["throughput"] * part.visits[name].mean() for part in parts]
                add(f"unit_rate[{name.removeprefix(_UNITS)}]", float(np.mean(rates)), rates)
                continue
            add(name, float(pooled.mean()), (part.visits[name].mean() for part in parts))
            for quantile in QUANTILES:
                single = (float(np.quantile(part.visits[name], quantile)) for part in parts)
                add(quantile_name(name, quantile), float(np.quantile(pooled, quantile)), single)
        for name in parts[0].rounds:
            scattered = [part.rounds[name] for part in parts]
            add(name, float(np.mean(scattered)), scattered)
        return estimates

    def _precise(self, estimate: Estimate) -> bool:
        return estimate.half_width <= self._settings.precision * estimate.mean


_UNITS = "units of "
"""Begins the names of columns of the work of visits, from which rates are computed."""


@dataclass(frozen=True)
class _RunSample:
    """A batch of a run, or a replication: columns of its visits, and means of its rounds."""

    visits: Mapping[str, Array]
    rounds: Mapping[str, float]


def _interval(value: float, scattered: Array, level: float) -> Estimate:
    """Return a value with the interval that the scatter of independent parts gives."""
    count = len(scattered)
    if count == 1:
        return Estimate(value, value, value)
    half = t_quantile(level, count - 1) * float(scattered.std(ddof=1)) / math.sqrt(count)
    return Estimate(value, value - half, value + half)


def _refuse_impossible(point: PointNumbers) -> None:
    """Raise where a simulation would not end: the work of a customer does not fit.

    Raises
    ------
    NoAnswerError : of a customer no round can do any work, or an open stream saturates the server
    """
    if min(point.server.budget, *(phase.piece for phase in point.phases)) <= 0:
        raise NoAnswerError("a round does no work: its budget and the pieces must be above 0")
    if point.server.places < 1:
        raise NoAnswerError("no customer is ever admitted: there is no place")
    largest = sum(phase.work for phase in point.phases)
    if largest > point.server.memory:
        raise NoAnswerError(
            f"a customer holds up to {largest:,.0f} units, more than the"
            f" {max(point.server.memory, 0.0):,.0f} that memory has room for"
        )
    if point.rate and (load := _load(point)) >= 1:
        raise saturated(load)


def _load(point: PointNumbers) -> float:
    """Return the load of a stream: its rate times the time that a visit takes of a server that has
    as many customers as it can.
    """
    most = min(point.server.places, point.server.memory / point.work, 4096.0)
    return point.rate * time_of_a_visit(point, max(most, 1.0))
