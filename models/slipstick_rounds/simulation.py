"""Simulation of servers that work in rounds: estimates of the times of customers and rounds, with
their intervals.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise

from slipstick.errors import MissingExtraError, NoAnswerError, NotConverged, RunLength
from slipstick.late import Array, dataclass, np
from slipstick.method.answers import Remarks
from slipstick.sim.estimate import (
    BATCHES,
    FEWEST_REPLICATIONS,
    Estimate,
    Quantiles,
    estimated_ratio,
    is_correlated,
    is_precise_enough,
    warm_up_length,
)
from slipstick.sim.settings import KERNELS, Simulation
from slipstick.vocabulary import SIMULATION
from slipstick_rounds.capacity import load_of, loads_of, saturation_error
from slipstick_rounds.model import DELAY, LOAD, QUANTILES, WAIT, BatchServer, quantile_name
from slipstick_rounds.points import BatchServerForm, PhaseNumbers, PointAnswer, PointNumbers
from slipstick_rounds.round_run import RoundByRound, RoundRun, RoundServer

MOST_RUNS = 256
"""Largest number of replications of a finite run."""

MOST_VISITS = 100_000
"""Largest number of visits of a run, whatever the precision: about 50 s for a server of a language
model.
"""

MANY_ENDS_TOGETHER, MORE_VISITS = 16, 10
"""If more than `MANY_ENDS_TOGETHER` visits end with each round, a run may have `MORE_VISITS` times
as many: its work grows with the number of groups of equal rounds, its precision with that of
rounds."""

ROUNDING = 1e-12
"""Share of the time of a run by which sums of times may differ without an idle period."""

VISITS_EACH = 40
"""Smallest number of visits of each customer of a closed population."""

FEWEST_IDLE = 20
"""The fewest idle periods of a run with which utilization has an interval. With fewer, most batches
have none, and an interval of their means covers far too seldom: 67 instead of 95 of 100.
"""

AUTO, PLAIN, COMPILED = KERNELS

AVAILABLE = find_spec("numba") is not None

PLAIN_EVENTS = 100_000
"""Number of events after which the plain run is given up and the compiled one starts from the
beginning.
"""

STRETCHES = 512
"""Number of stretches of a run among which the end of its warm-up is searched."""

CLEARLY_SATURATED = 1.1
"""Load by mean rounds above which a stream is refused without a run. Capacity by mean rounds has
an error of a few percent (benchmarks/rounds.py); smaller loads are simulated."""


class BatchServerSimulation(BatchServerForm):
    """A server that works in rounds, simulated by longer and longer runs until the response time is
    as precise as wished.

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
    def is_estimated(self) -> bool:
        """Whether the values of this method are estimates, each with an interval."""
        return True

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        """Simulate one point; return its estimates and its account."""
        load = load_of(point)
        if load > CLEARLY_SATURATED:
            raise saturation_error(load)
        if point.visits:
            estimates, converged, notes = self._replicate_from_start(point)
        else:
            estimates, converged, notes = self._run_until_precise(point, load)
        if point.rate and len(point.phases) == 2:
            (load_by_mean_rounds,) = loads_of([point]).tolist()
            estimates[LOAD] = Estimate(
                load_by_mean_rounds, load_by_mean_rounds, load_by_mean_rounds
            )
        account = {name: estimates[f"account[{name}]"].mean for name in self.model.components}
        waiting_time = estimates["response_time"].mean - sum(account.values()) - point.delay
        times_outside = {WAIT: waiting_time} | ({DELAY: point.delay} if point.delay else {})
        account |= times_outside
        if len(point.phases) > 1:
            first_phase = next(iter(self.model.phases))
            estimates |= {
                f"phase_account[{first_phase},{name}]": Estimate(time)
                for name, time in times_outside.items()
            }
        remarks = Remarks(notes=notes, seed=self._settings.seed, converged=converged)
        return PointAnswer(estimates, account, remarks=remarks)

    def _replicate_from_start(
        self, point: PointNumbers
    ) -> tuple[dict[str, Estimate], bool, tuple[str, ...]]:
        """Replicate a run that all customers begin at the same time."""
        samples: list[_RunSample] = []
        visit_count = point.population * point.visits
        _check_visits(visit_count)
        is_random = point.think_time > 0 or any(phase.least < phase.work for phase in point.phases)
        is_random |= point.delay > 0 and point.delay_scv > 0
        most_samples = min(MOST_RUNS, MORE_VISITS * MOST_VISITS // visit_count) if is_random else 1
        fewest_replications = self._settings.cycles or FEWEST_REPLICATIONS
        is_precise = not is_random
        while not samples or (not is_precise and len(samples) < most_samples):
            visits_run = self._run_with_stream(point, len(samples), visit_count)
            _check_ended(visits_run.run, visit_count, self._settings)
            samples.append(_RunSample(self._times_of_visits(visits_run), visits_run.run.log[-1]))
            if is_random and len(samples) >= fewest_replications:
                estimates = self._estimates_of_ratios(samples, are_successive=False)
                is_precise = self._is_precise(estimates["response_time"])
                most_samples = len(samples) if self._settings.cycles else most_samples
        run_noun = "run" if len(samples) == 1 else "runs"
        notes = [f"{len(samples)} {run_noun} of {visit_count:,} visits each"]
        estimates = self._estimates_of_ratios(samples, are_successive=False)
        if not is_random:
            estimates = {
                name: Estimate(estimate.mean, estimate.mean, estimate.mean)
                for name, estimate in estimates.items()
            }
        elif not is_precise:
            notes.append(_note_not_precise(estimates["response_time"]))
        return estimates, is_precise, tuple(notes)

    def _run_until_precise(
        self, point: PointNumbers, load: float
    ) -> tuple[dict[str, Estimate], bool, tuple[str, ...]]:
        """Run until the mean of batches is precise enough; each run starts from the beginning and
        is four times as long as the one before.
        """
        settings = self._settings
        visit_count = settings.cycles or max(settings.least, VISITS_EACH * point.population)
        _check_visits(visit_count)
        while True:
            visits_run = self._run_with_stream(point, 0, visit_count)
            run = visits_run.run
            _check_ended(run, 1, settings)
            samples, warm_up_visits, is_settled = self._run_in_batches(visits_run)
            estimates = self._estimates_of_ratios(samples, are_successive=True)
            is_settled = is_settled and not self._are_batches_correlated(samples)
            is_precise = is_settled and self._is_precise(estimates["response_time"])
            ended_visits = int(run.log[-1, 4])
            ends_together = ended_visits / len(run.log) > MANY_ENDS_TOGETHER
            most_visits = MOST_VISITS * (MORE_VISITS if ends_together else 1)
            was_stopped = ended_visits < visit_count
            if is_precise or settings.cycles or was_stopped or 4 * visit_count > most_visits:
                break
            visit_count *= 4
        left_out = f", the first {warm_up_visits:,} of which are left out" if warm_up_visits else ""
        notes: list[str] = [RunLength(f"a run of {ended_visits:,} visits{left_out}")]
        if was_stopped:
            notes.append(RunLength(f"stopped at the budget of {settings.events:,} events"))
        if not is_settled:
            estimates = {name: Estimate(estimate.mean) for name, estimate in estimates.items()}
            notes.append(_note_not_settled(load))
        elif not is_precise:
            notes.append(_note_not_precise(estimates["response_time"]))
        idle_periods = _idle_period_count(run)
        if idle_periods < FEWEST_IDLE:
            estimates["utilization"] = Estimate(estimates["utilization"].mean)
            times_phrase = "once" if idle_periods == 1 else f"{idle_periods} times"
            notes.append(f"the server was idle {times_phrase} only: utilization has no interval")
        return estimates, is_precise, tuple(notes)

    def _run_with_stream(
        self, point: PointNumbers, replication: int, visit_count: int
    ) -> _VisitsRun:
        """Run the server with random numbers, of which each kind has a stream of its own."""

        def random_stream(name: str) -> np.random.Generator:
            """Return the generator of the random numbers of one kind."""
            return np.random.default_rng([self._settings.seed, replication, *name.encode()])

        # Customers that are under way when a run without end is stopped have to be there.
        supplied_visit_count = (
            visit_count if point.visits else visit_count + max(point.population, 1000)
        )
        work_columns = [
            _draw_work(random_stream(f"work {index}"), phase, supplied_visit_count)
            for index, phase in enumerate(point.phases)
        ]
        work = np.stack(work_columns, axis=1).astype(np.float64)
        delays = np.full(supplied_visit_count, point.delay)
        if point.delay and point.delay_scv:
            gamma_shape = 1 / point.delay_scv
            delays = random_stream("delay").gamma(
                gamma_shape, point.delay / gamma_shape, supplied_visit_count
            )
        settings = self._settings
        if point.rate:
            arrivals = np.cumsum(
                random_stream("arrivals").exponential(1 / point.rate, supplied_visit_count)
            )
            run = run_rounds(settings, point.server, work, arrivals, None, visit_count)
            return _VisitsRun(run, work, delays)
        # Customers begin together, and arrive after their delays.
        first_delays = delays[: point.population]
        first_delays.sort()
        think_times = (
            random_stream("think").exponential(1.0, supplied_visit_count) * point.think_time
            + delays
        )
        run = run_rounds(settings, point.server, work, first_delays, think_times, visit_count)
        return _VisitsRun(run, work, delays)

    def _run_in_batches(self, visits_run: _VisitsRun) -> tuple[list[_RunSample], int, bool]:
        """Divide a run without end, after its warm-up, into batches of successive rounds; also
        return the number of visits of the warm-up, and whether the run is longer than twice its
        warm-up.
        """
        times_of_visits = self._times_of_visits(visits_run)
        logged_rounds = visits_run.run.log
        log = np.vstack([np.zeros(logged_rounds.shape[1]), logged_rounds])
        batch_ends = np.linspace(0, log[-1, 4], STRETCHES + 1)
        last_rows = np.unique(np.searchsorted(log[:, 4], batch_ends))
        visits_ended = log[last_rows, 4].astype(int)
        response_sums = np.concatenate([[0.0], np.cumsum(times_of_visits["response_time"])])[
            visits_ended
        ]
        dropped_rows = 0
        is_settled = len(last_rows) > 2 * BATCHES
        if is_settled:
            dropped_rows = warm_up_length(np.diff(response_sums) / np.diff(visits_ended))
            kept_count = len(last_rows) - 1 - dropped_rows
            # A warm-up that reaches the middle of the run may be longer.
            is_settled = kept_count >= 2 * BATCHES and dropped_rows < (len(last_rows) - 1) // 2
        batch_bounds = np.linspace(
            dropped_rows, len(last_rows) - 1, min(BATCHES, len(last_rows) - 1 - dropped_rows) + 1
        )
        chosen_rows = last_rows[batch_bounds.astype(int)]
        batches = [
            _RunSample(
                {
                    name: column[int(log[first_row, 4]) : int(log[end_row, 4])]
                    for name, column in times_of_visits.items()
                },
                log[end_row] - log[first_row],
            )
            for first_row, end_row in pairwise(chosen_rows)
        ]
        return batches, int(visits_ended[dropped_rows]), is_settled

    def _are_batches_correlated(self, samples: Sequence[_RunSample]) -> bool:
        """Return whether successive batches are so similar to each other that they are too short
        for an interval.
        """
        batch_means = np.array([sample.visits["response_time"].mean() for sample in samples])
        return is_correlated(batch_means, self._settings.precision * NEGLIGIBLE)

    def _times_of_visits(self, visits_run: _VisitsRun) -> dict[str, Array]:
        """Return the times of each visit that ended, by name of the value, in the order of ends."""
        run, work = visits_run.run, visits_run.work
        visit_order = np.flatnonzero(run.has_ended)
        visit_order = visit_order[np.argsort(run.end_times[visit_order, -1], kind="stable")]
        arrival_times = run.arrival_times[visit_order] - visits_run.delays[visit_order]
        end_times = run.end_times[visit_order]
        times_by_name = {"response_time": end_times[:, -1] - arrival_times}
        for phase_index, phase in enumerate(self.model.phases):
            times_by_name[f"phase_time[{phase}]"] = end_times[:, phase_index] - arrival_times
            if phase_index:
                time_spent = end_times[:, phase_index] - end_times[:, phase_index - 1]
                times_by_name[f"time_per_unit[{phase}]"] = (
                    time_spent / work[visit_order, phase_index]
                )
        for phase_index, phase in enumerate(self.model.phases):
            times_by_name[f"{_UNITS}{phase}"] = work[visit_order, phase_index]
        return times_by_name

    def _estimates_of_ratios(
        self, samples: Sequence[_RunSample], are_successive: bool
    ) -> dict[str, Estimate]:
        """Estimate values as ratios of sums over batches, or over replications.

        Parameters
        ----------
        samples : batches or replications
        are_successive : they are batches of one run
        """
        confidence_level = self._settings.level
        estimates = {}
        visit_counts = np.array(
            [len(sample.visits["response_time"]) for sample in samples], dtype=float
        )
        (
            elapsed_times,
            round_counts,
            busy_times,
            served_counts,
            ended_counts,
            put_back_counts,
            *account_columns,
        ) = np.array([sample.rounds for sample in samples]).T

        def add_ratio(name: str, numerators: Array, denominators: Array) -> None:
            """Estimate the ratio of two sums over the samples under a name."""
            estimates[name] = estimated_ratio(
                numerators, denominators, confidence_level, are_successive
            )

        for name in samples[0].visits:
            value_sums = np.array([sample.visits[name].sum() for sample in samples])
            if name.startswith(_UNITS):
                add_ratio(f"unit_rate[{name.removeprefix(_UNITS)}]", value_sums, elapsed_times)
                continue
            add_ratio(name, value_sums, visit_counts)
            quantiles = Quantiles(section_size=max(int(visit_counts.sum()) // len(samples), 1))
            for sample in samples:
                quantiles.add(sample.visits[name])
            for quantile in QUANTILES:
                estimate = quantiles.estimate(quantile, level=confidence_level)
                estimates[quantile_name(name, quantile)] = estimate
        add_ratio("throughput", ended_counts, elapsed_times)
        add_ratio("served", served_counts, round_counts)
        add_ratio("round_time", busy_times, round_counts)
        add_ratio("utilization", busy_times, elapsed_times)
        add_ratio("put_back", put_back_counts, ended_counts)
        phases = list(self.model.phases)
        component_names = self.model.components
        account_by_phase = np.array(account_columns).reshape(
            len(phases), len(component_names), len(samples)
        )
        for index, name in enumerate(component_names):
            add_ratio(f"account[{name}]", account_by_phase[:, index].sum(axis=0), ended_counts)
            for phase, time_spent in zip(phases, account_by_phase[:, index], strict=True):
                if len(phases) > 1:
                    add_ratio(f"phase_account[{phase},{name}]", time_spent, ended_counts)
        return estimates

    def _is_precise(self, estimate: Estimate) -> bool:
        """Return whether the interval of an estimate is as narrow as the settings ask for."""
        return is_precise_enough(estimate, self._settings.precision)


def _draw_work(generator: np.random.Generator, phase: PhaseNumbers, visit_count: int) -> Array:
    """Draw the work of visits in a phase [visits; units]."""
    if phase.samples:
        return np.asarray(generator.choice(np.array(phase.samples), visit_count))
    if phase.least < phase.work:
        return np.asarray(
            generator.integers(math.ceil(phase.least), int(phase.work) + 1, visit_count)
        )
    return np.full(visit_count, phase.work)


def run_rounds(
    settings: Simulation,
    server: RoundServer,
    work: Array,
    arrival_times: Array,
    think_times: Array | None,
    visit_count: int,
) -> RoundRun:
    """Run the server with a suitable kernel. Both kernels give the same numbers, so a run that
    turns out long is started again with the compiled one.

    Raises
    ------
    MissingExtraError : the compiled kernel is asked for and numba is not installed
    """
    plain_run = RoundByRound(server, work, arrival_times, think_times)
    if settings.kernel == COMPILED and not AVAILABLE:
        raise MissingExtraError("numba", "the compiled kernel of rounds", "fast")
    if settings.kernel == PLAIN or not AVAILABLE:
        return plain_run.run(visit_count, settings.events)
    if settings.kernel == AUTO and not _is_loaded():
        run = plain_run.run(visit_count, min(settings.events, PLAIN_EVENTS))
        if int(run.log[-1, 4]) >= visit_count or settings.events <= PLAIN_EVENTS:
            return run
    from slipstick_rounds.compiled_run import CompiledRounds, unknown_operators

    if settings.kernel == AUTO and unknown_operators(server):
        return RoundByRound(server, work, arrival_times, think_times).run(
            visit_count, settings.events
        )
    return CompiledRounds(server, work, arrival_times, think_times).run(
        visit_count, settings.events
    )


def _is_loaded() -> bool:
    """Return whether the compiled loop is imported already; then every run uses it."""
    return "slipstick_rounds.compiled_run" in sys.modules


_UNITS = "units of "
"""The beginning of the names of columns of the work of visits, from which rates of units are
computed.
"""


NEGLIGIBLE = 0.01
"""Relative difference of batches, as a part of the wished precision, below which it does not matter
whether they are correlated.
"""


@dataclass(frozen=True)
class _VisitsRun:
    """A run with the random numbers that were drawn for its visits.

    Parameters
    ----------
    run : what happened
    work : in each phase [visits, phases]
    delays : before the arrival of each [visits; s]
    """

    run: RoundRun
    work: Array
    delays: Array


@dataclass(frozen=True)
class _RunSample:
    """The times of the visits of a batch of a run, or of a replication, and what the batch adds to
    the log of the run.

    Parameters
    ----------
    visits : times of its visits, by name of the value
    rounds : difference of the log of the run over it, see `slipstick_rounds.round_run.RoundRun`
    """

    visits: Mapping[str, Array]
    rounds: Array


def _check_visits(visit_count: int) -> None:
    """Raise where a run would have too many visits.

    Raises
    ------
    NoAnswerError : they are more than a run counts
    """
    most_visits = MORE_VISITS * MOST_VISITS
    if visit_count > most_visits:
        raise NoAnswerError(
            f"a simulation of {visit_count:,} visits is over the limit of {most_visits:,}: give"
            " fewer"
            " customers or visits, or ask for the formula"
        )


def _check_ended(run: RoundRun, wanted_count: int, settings: Simulation) -> None:
    """Raise where a run was stopped before enough visits had ended.

    Raises
    ------
    NoAnswerError : there is nothing to estimate from
    """
    ended_visits = int(run.log[-1, 4])
    if ended_visits < wanted_count:
        raise NoAnswerError(
            f"{ended_visits:,} of {wanted_count:,} visits ended within the budget of"
            f" {settings.events:,}"
            " events: give larger pieces or a larger budget of a round, or allow more events"
        )


def _idle_period_count(run: RoundRun) -> int:
    """Count the groups of rounds of a run before which the server was idle."""
    elapsed_times, _, busy_times, *_ = np.diff(run.log, axis=0).T
    return int(np.count_nonzero(elapsed_times - busy_times > ROUNDING * run.log[-1, 0]))


def _note_not_precise(estimate: Estimate) -> str:
    """Return the note that an estimate is less precise than the settings ask for."""
    relative_half_width = 100 * estimate.half_width / estimate.mean
    return NotConverged.because(
        f"the mean response time is known within {relative_half_width:.2g} %"
    )


def _note_not_settled(load: float) -> str:
    """Return the note that a run has not reached a steady state, and why that may be."""
    saturation_text = (
        f"; by mean rounds the load is {load:.3g}, near saturation"
        if load >= NEAR_SATURATION
        else ""
    )
    return NotConverged.because(
        f"the run has not settled, so no interval can be trusted{saturation_text}"
    )


NEAR_SATURATION = 0.9
"""Load from which on a note calls a stream near saturation."""
