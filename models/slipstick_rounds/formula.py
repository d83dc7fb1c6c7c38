"""Formulas for servers that work in rounds, of customers with two phases.

`capacity` has the times of rounds and the load, `present` the numbers of customers, `backlog` and
`first_phases` the first phase, `later_phases` the time of a unit of the second, `waits` those for a
place, `streams` Poisson streams, which all of these make up, `closed_loads` closed populations and
runs that all customers begin at once, and `accounts` how times are split.

Assumptions: n, the number in the second phase, is constant while a first phase lasts; numbers of
customers and of first phases in a round are independent; customers do not stay in step. Errors
beside simulation, by `benchmarks/rounds.py`, stand in benchmarks/README.md. Streams are refused
where more than `MOST_TAKEN` of the places are taken, where large groups of customers wait, where
second phases have few rounds, and where numbers do not settle; a quantile is left out where a small
error of the number of waits moves it much. Of a closed population errors are mostly within 6 % in
the mean of the first phase, up to 15 % too short or too long; where second phases about fill the
budget, up to three fifths too long, as chance leaves room for first phases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.method.answers import Remarks
from slipstick.vocabulary import FORMULA
from slipstick_rounds.accounts import ComputedPoint
from slipstick_rounds.birth_death import LARGEST_PLACE_LOAD
from slipstick_rounds.capacity import MeanRounds, loads_of, saturation_error
from slipstick_rounds.closed_loads import point_of_population
from slipstick_rounds.groups import group_size
from slipstick_rounds.model import DELAY, LOAD, QUANTILES, WAIT, OpenCustomers, quantile_name
from slipstick_rounds.points import BatchServerForm, PointAnswer, PointNumbers, exact_estimates
from slipstick_rounds.streams import ConvergedStreams, values_of_streams

SELDOM, MOST_TAKEN = 2e-4, 0.83
"""Probability of a wait for a place or for memory up to which a stream is answered whatever part of
the places is taken, and the largest load of the places with which waits are answered. Chosen on 28
streams of `llm-serving` of 100,000 visits and more, up to a load of 0.8 of their capacity without
length bias: at 0.84 and 0.85 of the places the 95 of 100 was 20 % too long and 27 % too short.
"""

GROUPS_WAIT, GROUPS_WAIT_FOR_MEMORY = 0.3, 0.01
"""Probability of a wait, times the customers by which groups of second phases are larger than one
(`groups`), up to which streams are answered that places limit, and that memory limits. Chosen on
streams of `llm-serving`, of the seed 31580219 of `benchmarks/rounds.py` among them: of places the
time of a unit was within 4 % up to 0.26, and 15 % too long at 0.54; of memory the first phase was
within 3 % at 0.007, and its 95 of 100 37 % too short at 0.4, as what customers hold changes while
others wait.
"""

LEAST_STEPS, STREAM_STEPS = 16.0, 32.0
"""Smallest numbers of rounds of a second phase, of closed populations and of streams [1]. Fitted:
the first on a closed population of 20 customers at load 0.9, whose responses were 27, 13 and 6 %
too short at 1, 8 and 16 rounds; the second on streams of the seed 35301 of `benchmarks/rounds.py
--brief`: where rounds do several first phases, units of second phases of 18 to 23 rounds were up to
14 % too short.
"""

MEASURED_LOAD = 0.8
"""Largest load with which errors were measured."""

PLACES_TAKEN = (
    "customers wait for a place or for memory, and the formula does not know how long; let fewer"
    " customers arrive, give more places or memory, or ask for simulation"
)

NOT_SETTLED = (
    "near saturation the numbers of customers and the times of first phases, each computed from the"
    " other, do not settle in the formula; let fewer customers arrive, or ask for simulation"
)

NOTE = "the numbers of customers in the two phases of a round are assumed to be independent"

CLOSED_NOTE = (
    "in a closed population first phases were up to 15 % off simulated ones, and up to three fifths"
    " longer where second phases fill the budget"
)

UNSURE_NOTE = (
    "the quantiles {quantiles} of the first phase are left out: about as many customers wait for a"
    " place as they leave out, so that a small error of that number moves them much"
)
LOAD_NOTE = (
    f"errors of the formula beside simulation were measured up to a load of {MEASURED_LOAD:g};"
    " beyond it first phases were up to twice as long in simulations"
)


class BatchServerFormula(BatchServerForm):
    """A server that works in rounds, solved by the formulas that this module lists."""

    method = FORMULA
    is_rough = True

    def answer_at(self, point: PointNumbers) -> PointAnswer:
        """Compute the answer at one point; a Poisson stream is solved as an array of one point."""
        _check_formula_holds(point)
        if point.rate:
            (answer,) = self._computed_streams([point])
            if answer.remarks.failed:
                raise NoAnswerError(answer.remarks.failed)
            return answer
        return self._answer(point, point_of_population(point))

    def answers_at(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers at several points; the Poisson streams among the points are computed
        together, as arrays.
        """
        if not points or not isinstance(self.model.customers, OpenCustomers):
            return super().answers_at(points)
        answers = [
            PointAnswer({}, remarks=Remarks(failed=_reason_without_formula(point)))
            for point in points
        ]
        answerable_indexes = [
            index for index, answer in enumerate(answers) if not answer.remarks.failed
        ]
        solved_answers = self._answers_of_streams([points[index] for index in answerable_indexes])
        for index, answer in zip(answerable_indexes, solved_answers, strict=True):
            answers[index] = answer
        return answers

    def _answers_of_streams(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers of streams together. If the model refuses the time of a round at some
        point, halve the points until this point is alone.
        """
        if not points:
            return []
        try:
            return self._computed_streams(points)
        except NoAnswerError as error:
            if len(points) == 1:
                return [PointAnswer({}, remarks=Remarks(failed=str(error)))]
        middle = len(points) // 2
        return self._answers_of_streams(points[:middle]) + self._answers_of_streams(points[middle:])

    def _computed_streams(self, points: Sequence[PointNumbers]) -> list[PointAnswer]:
        """Compute the answers of streams for which every time of a round can be computed."""
        loads = loads_of(points)
        answers = [
            PointAnswer({}, remarks=Remarks(failed=str(saturation_error(float(load)))))
            for load in loads
        ]
        rounds = MeanRounds(points)
        answerable_rows = np.flatnonzero(loads < 1)
        streams = ConvergedStreams(rounds, answerable_rows)
        is_saturated = streams.place_load >= LARGEST_PLACE_LOAD
        mean_waiting_groups = group_size(rounds, streams.number_beside[:, None])[:, 0] - 1
        most_groups = np.where(rounds.memory_binds[:, 0], GROUPS_WAIT_FOR_MEMORY, GROUPS_WAIT)
        have_long_group_waits = streams.probability_full * mean_waiting_groups > most_groups
        has_long_waits = (streams.probability_full > SELDOM) & (streams.place_load > MOST_TAKEN)
        is_refused = have_long_group_waits | has_long_waits
        reason_by_row = dict.fromkeys(
            answerable_rows[is_refused[answerable_rows]].tolist(), PLACES_TAKEN
        )
        reason_by_row |= {
            point_row: str(saturation_error(streams.place_load[point_row]))
            for point_row in answerable_rows[is_saturated[answerable_rows]].tolist()
        }
        reason_by_row |= dict.fromkeys(streams.unconverged_rows.tolist(), NOT_SETTLED)
        for point_row, reason in reason_by_row.items():
            answers[point_row] = PointAnswer({}, remarks=Remarks(failed=reason))
        answerable_rows = np.setdiff1d(answerable_rows, [*reason_by_row])
        for point_row, computed_point in zip(
            answerable_rows.tolist(),
            values_of_streams(rounds, answerable_rows, streams),
            strict=True,
        ):
            answers[point_row] = self._answer(
                points[point_row], computed_point, float(loads[point_row])
            )
        return answers

    def _answer(
        self, point: PointNumbers, computed_point: ComputedPoint, load: float | None = None
    ) -> PointAnswer:
        """Build the answer of a point: name the values computed for it and add the notes. Only a
        stream has a load.
        """
        phase_names, (_, second_phase) = list(self.model.phases), point.phases
        times = computed_point.times
        first_phase_name = f"phase_time[{phase_names[0]}]"
        first_phase_time = times.delay + times.waiting + times.first_phase
        response_time = first_phase_time + times.second_phase
        times_by_probability = [*zip(QUANTILES, computed_point.quantiles, strict=False)]
        unsure_probabilities = [
            f"{probability:g}" for probability, time in times_by_probability if math.isnan(time)
        ]
        values = {
            "response_time": response_time,
            "throughput": computed_point.throughput,
            first_phase_name: first_phase_time,
            f"phase_time[{phase_names[1]}]": response_time,
            f"time_per_unit[{phase_names[1]}]": (computed_point.unit_time or times.second_phase)
            / second_phase.mean,
            **{
                quantile_name(first_phase_name, probability): times.delay + time
                for probability, time in times_by_probability
                if not (point.delay and point.delay_scv) and not math.isnan(time)
            },
            **{
                quantile_name(f"time_per_unit[{phase_names[1]}]", probability): time
                / second_phase.mean
                for probability, time in zip(QUANTILES, computed_point.unit_quantiles, strict=False)
            },
            **{
                f"unit_rate[{name}]": computed_point.throughput * phase.mean
                for name, phase in zip(phase_names, point.phases, strict=True)
            },
            "served": computed_point.served,
            "round_time": computed_point.round_time,
        }
        times_outside = {WAIT: computed_point.mean_wait} | (
            {DELAY: times.delay} if times.delay else {}
        )
        first_times = dict(zip(self.model.components, computed_point.first_account, strict=True))
        second_times = dict(zip(self.model.components, computed_point.second_account, strict=True))
        for phase, time_by_component in zip(
            phase_names, (first_times | times_outside, second_times), strict=True
        ):
            values |= {
                f"phase_account[{phase},{component}]": time
                for component, time in time_by_component.items()
            }
        total_times = {
            component: time + second_times[component] for component, time in first_times.items()
        } | times_outside
        notes = [NOTE]
        if not point.rate:
            notes.append(CLOSED_NOTE)
        if unsure_probabilities:
            notes.append(UNSURE_NOTE.format(quantiles=", ".join(unsure_probabilities)))
        if load is not None:
            values[LOAD] = load
            notes += [LOAD_NOTE] if load > MEASURED_LOAD else []
        return PointAnswer(
            exact_estimates(values), total_times, remarks=Remarks(notes=tuple(notes))
        )


def _reason_without_formula(point: PointNumbers) -> str:
    """Return the reason why the formula does not apply at a point; empty if it applies."""
    if point.reason_invalid:
        return point.reason_invalid
    if len(point.phases) != 2:
        return "the formula knows customers of two phases; ask for simulation"
    if point.server.batching_delay or point.server.interval:
        return "the formula knows rounds one after the other; ask for simulation"
    if point.server.earlier_first:
        return "the formula knows budgets that go to later phases first; ask for simulation"
    if _do_customers_stay_in_step(point):
        return (
            "customers of equal work without think time stay in step, which the formula does"
            " not know; give a think time or a least work below the largest, or ask for"
            " simulation"
        )
    second_phase = point.phases[1]
    least_step_count = STREAM_STEPS if point.rate else LEAST_STEPS
    if (step_count := max(second_phase.mean / second_phase.piece, 1.0)) < least_step_count:
        return (
            f"the formula knows second phases of at least {least_step_count:g} rounds, and here"
            f" they have {step_count:.3g}; ask for simulation"
        )
    return ""


def _check_formula_holds(point: PointNumbers) -> None:
    """Raise NoAnswerError if the formula does not hold at a point.

    Raises
    ------
    NoAnswerError : it does not
    """
    if reason := _reason_without_formula(point):
        raise NoAnswerError(reason)


def _do_customers_stay_in_step(point: PointNumbers) -> bool:
    """Return whether customers that begin together stay together in all their phases without end,
    so that averages over the phases do not hold.
    """
    has_constant_work = all(phase.least == phase.work for phase in point.phases)
    return point.population > 1 and has_constant_work and not point.think_time
