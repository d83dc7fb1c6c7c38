"""The second road: a short simulation checks each default answer that is not solved exactly.

Promises are given by what a model is made of; this looks at the answer. Where the simulation
differs by more than is promised, the usual simulation answers, and the answer says what was
rejected; where it agrees the answer is checked; else the answer says what is known. Why this shape:
methods know nothing of it, and it knows of a method no more than its solution, so that it hooks
into the choice of methods at one place.

Of several points the two ends, the one nearest to a knee and two at random are looked at; all
others where one of them differs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from slipstick.answer import Rejected, Verdict, unit_of
from slipstick.errors import SlipstickError
from slipstick.expression.columns import Values, at
from slipstick.late import Array, np
from slipstick.method.answers import TABLES, Solution, joined
from slipstick.model.activity import Ask, BarrierWait, Fork, Pipeline, Repeat
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import ASKED, each_once, is_parallel
from slipstick.model.system import Model
from slipstick.sim.plan.plan import Plan
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    AGREED,
    CHECK_AGAIN,
    CHECK_ALL,
    CHECK_OFF,
    CLOSED_FORM,
    LINEARIZER,
    MEAN_VALUE,
    NOT_CHECKED,
    REPLACED,
    SCHWEITZER,
    UNDECIDED,
)

EVENTS = 80_000
"""Events of a look at an activity at most: in 169 random models 27 % were still open after them,
18 % after twice as many."""

OF_NETWORKS = 4
"""Factor on the events for queueing networks, whose approximation promises no error."""

FOR_CLOSED_FORMS, MOST_ADDED_UP = 10_000, 64
"""Events of a look at a closed form that is called exact, and processors up to which there is one:
nothing is random there, so that one cycle decides."""

SUSPECT, SUSPICIOUS = 4, 0.5
"""Factor on the events where the look ends undecided, and the mean of the run is farther off than
so large a part of what is borne."""

TOLERANCES = {"certain": 0.01, "close": 0.03, "usual": 0.04}
"""Relative differences that are borne: of an answer called exact, of one that promises 2 %, of all
others, of which 10 % are promised, or nothing."""

# A promise of at most this is held to the tolerance "close". Beside its ends and its knee, a sweep
# is looked at in so many points drawn at random.
_CLOSE = 0.02
_AT_RANDOM = 2
_NARROW = 0.1
"""Width of the interval of a simulation, relative to its mean, up to which it confirms a value
inside [1]."""
_KNEE = 0.85
"""Utilization of the point that is nearest to a knee [1]."""

if TYPE_CHECKING:
    from slipstick.sim.second_look import Expected, Look

Simulated = Callable[[Values], Solution]
"""Answers points by the usual simulation."""


def checked(
    subject: Model | QueueingNetwork,
    values: Values,
    solution: Solution,
    simulation: Simulation,
    simulated: Simulated,
) -> Solution:
    """Check a solution by a short simulation of some points; a point that differs is answered by
    simulation.

    Parameters
    ----------
    subject : the system or the network
    values : of its parameters [points]
    solution : by the default method
    simulation : settings; `Simulation.check` says how much is looked at
    simulated : answers points by simulation
    """
    rows = _doubtful(subject, solution) if simulation.check != CHECK_OFF else []
    if not rows:
        return solution
    methods = solution.methods or [solution.method] * solution.count
    looks: dict[int, Verdict] = {}
    chosen = rows if simulation.check == CHECK_ALL else _chosen(solution, rows)
    # All other points are simulated only after a chosen one was rejected: a method that errs once
    # may err elsewhere in the sweep.
    for rows_of_round in (chosen, [row for row in rows if row not in chosen]):
        if rows_of_round is not chosen and not any(
            look.word == REPLACED for look in looks.values()
        ):
            break
        for row in rows_of_round:
            looks[row] = _look(subject, _point(values, row), solution, row, simulation)
    count_in_words = f"{len(looks)} of {len(rows)} points were looked at"
    checks = {row: looks.get(row, Verdict(NOT_CHECKED, count_in_words)) for row in rows}
    # A closed form adds up what the model says: of one it is only said where it was looked at.
    settled = (AGREED, REPLACED)
    checks = {
        row: check
        for row, check in checks.items()
        if methods[row] != CLOSED_FORM or check.word in settled
    }
    return _replaced(values, solution, checks, simulated)


def _replaced(
    values: Values, solution: Solution, checks: Mapping[int, Verdict], simulated: Simulated
) -> Solution:
    """Replace the answers that were rejected by those of the usual simulation."""
    wrong = [row for row, check in checks.items() if check.word == REPLACED]
    pieces = []
    new_checks = dict(checks)
    for row in wrong:
        answer = simulated(_point(values, row))
        remarks = answer.remarks_at(0)
        if remarks.failed or remarks.interrupted:
            reason = f"simulation differs, but has no answer: {remarks.failed or 'interrupted'}"
            new_checks[row] = Verdict(UNDECIDED, reason)
            continue
        verdict = _compared(checks[row], answer)
        new_checks[row] = verdict
        if verdict.word == REPLACED:
            pieces.append((row, replace(answer, checks={0: verdict})))
    solution = replace(solution, checks=new_checks)
    if not pieces:
        return solution
    if solution.count == 1:
        return pieces[0][1]
    kept_rows = [row for row in range(solution.count) if row not in dict(pieces)]
    kept_pieces = [([row], _row(solution, row)) for row in kept_rows]
    return joined([*kept_pieces, *(([row], piece) for row, piece in pieces)])


def _compared(verdict: Verdict, answer: Solution) -> Verdict:
    """Return the verdict on a rejected value by the usual simulation, which is longer than the
    rejecting check and has other random streams: a value inside its interval is accepted.
    """
    rejected = verdict.rejected
    if rejected is None or rejected.name not in answer.values or rejected.value is None:
        return verdict
    columns = (answer.values, answer.low, answer.high)
    if not all(rejected.name in column for column in columns):
        return verdict
    mean, low, high = (float(at(column[rejected.name], 0)) for column in columns)
    if not mean > 0:
        return verdict
    off = 100 * abs(rejected.value / mean - 1)
    if low <= rejected.value <= high and high - low <= _NARROW * mean:
        words = f"within {max(off, 0.01):.2g} % of a simulation"
        return Verdict(AGREED, words, value=verdict.value, mean=mean)
    return replace(verdict, reason=f"{float(f'{off:.2g}'):g} % off")


def _row(solution: Solution, row: int) -> Solution:
    """Return the solution of one of the points alone."""

    def of_row(columns: Mapping[str, Array]) -> dict[str, Array]:
        return {name: np.array([at(column, row)]) for name, column in columns.items()}

    tables: dict[str, Any] = {name: of_row(getattr(solution, name)) for name in TABLES}
    exact = np.array([bool(at(solution.exact, row))])
    return replace(
        solution,
        count=1,
        methods=[solution.methods[row]] if solution.methods else [],
        exact=exact,
        stages={name: of_row(stages) for name, stages in solution.stages.items()},
        errors={0: solution.errors[row]} if row in solution.errors else {},
        checks={0: solution.checks[row]} if row in solution.checks else {},
        detail=lambda _: (solution, row) if solution.detail is None else solution.detail(row),
        **tables,
    )


def _point(values: Values, row: int) -> dict[str, float]:
    return {name: float(at(np.ravel(column), row)) for name, column in values.items()}


def _doubtful(subject: Model | QueueingNetwork, solution: Solution) -> list[int]:
    """List the points whose answers need a check: those by an approximation, and closed forms that
    may contain a maximum.
    """
    first_values = next(iter(solution.values.values()), np.full(1, np.nan))
    times = np.broadcast_to(first_values, (solution.count,))
    methods = solution.methods or [solution.method] * solution.count
    approximate = (MEAN_VALUE, LINEARIZER, SCHWEITZER)
    takes_maxima = isinstance(subject, Model) and _takes_maxima(subject)
    return [
        row
        for row in range(solution.count)
        if np.isfinite(times[row])
        and times[row] > 0
        and (methods[row] in approximate or (takes_maxima and methods[row] == CLOSED_FORM))
    ]


def _takes_maxima(model: Model) -> bool:
    """Return whether the closed form of a model may contain a maximum or a fractional count, which
    it could wrongly call exact.
    """
    kinds = (BarrierWait, Fork, Pipeline, Repeat, Ask)
    return any(isinstance(node, kinds) for node in each_once(model.bodies))


def _chosen(solution: Solution, rows: list[int]) -> list[int]:
    """Select the points to check: both ends, the point nearest to a knee, and two at random."""
    loads = _loads(solution)
    knee = min(rows, key=lambda row: abs(float(at(loads, row)) - _KNEE))
    # Seeded by the number of points, so that the same sweep checks the same points.
    draw = random.Random(len(rows))
    random_rows = draw.sample(rows, min(_AT_RANDOM, len(rows)))
    return list(dict.fromkeys([rows[0], rows[-1], knee, *random_rows]))


def _loads(solution: Solution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the largest utilization of each point; 0 where there is none."""
    uses = [
        np.broadcast_to(column, (solution.count,))
        for name, column in solution.values.items()
        if name.startswith("utilization[")
    ]
    if not uses:
        return np.zeros(solution.count)
    table = np.stack(uses)
    return np.asarray(np.where(np.isnan(table), 0.0, table).max(axis=0))


def _look(
    subject: Model | QueueingNetwork,
    point: Mapping[str, float],
    solution: Solution,
    row: int,
    simulation: Simulation,
) -> Verdict:
    """Simulate one point shortly, and return the verdict on its answer."""
    from slipstick.sim.kept_looks import kept_look
    from slipstick.sim.second_look import AGREES, DIFFERS, UNSETTLED, second_look

    try:
        network = isinstance(subject, QueueingNetwork)
        plan, expected = (_of_network if network else _of_activity)(subject, point, solution, row)
        events = EVENTS * (OF_NETWORKS if network else 1)
        if isinstance(simulation.check, int):
            events = simulation.check
        if _method_at(solution, row) == CLOSED_FORM:
            if plan.population > MOST_ADDED_UP:
                return Verdict(NOT_CHECKED, "it is added up of too many processors")
            # Closed forms are rarely wrong, so that a look at them is short.
            events = min(events, FOR_CLOSED_FORMS)
        waits_and_utilizations = _parts(plan, solution, row)
        look_at = second_look if simulation.check == CHECK_AGAIN else kept_look
        look = look_at(plan, expected, events, waits_and_utilizations)
        least_tolerance = min(expected_mean.tolerance for expected_mean in expected.values())
        open_ended = look.verdict not in (AGREES, DIFFERS, UNSETTLED)
        is_suspicious = open_ended and abs(look.off) > SUSPICIOUS * least_tolerance
        # A difference near the tolerance is worth a longer look before it is called undecided.
        if is_suspicious:
            look = look_at(plan, expected, SUSPECT * events, waits_and_utilizations)
    except SlipstickError as error:
        return Verdict(NOT_CHECKED, f"it is not simulated: {error}")
    except Exception as error:  # noqa: BLE001  # the answer stands without its check
        fault = f"{type(error).__name__}: {error}"
        return Verdict(NOT_CHECKED, f"the check failed, a fault of slipstick ({fault})")
    if look.verdict == UNSETTLED:
        return Verdict(NOT_CHECKED, f"{look.reason}, after {look.events:,} events")
    return _verdict_of(look, plan, solution, row, waits_and_utilizations)


def _method_at(solution: Solution, row: int) -> str:
    """Return the name of the method that answered a point."""
    return solution.methods[row] if solution.methods else solution.method


def _verdict_of(
    look: Look,
    plan: Plan,
    solution: Solution,
    row: int,
    waits_and_utilizations: Mapping[str, float],
) -> Verdict:
    """Return the verdict on an answer after a short simulation that settled."""
    from slipstick.sim.second_look import AGREES, DIFFERS

    name, value = _first(plan, look.group, solution, row)
    unit = "s"
    if look.value:
        name = look.value
        value = waits_and_utilizations[look.value]
        unit = unit_of(look.value)
    estimate = look.seen
    if look.verdict == AGREES:
        off = f"{max(100 * abs(look.off), 0.01):.2g}"
        return Verdict(
            AGREED,
            f"within {off} % of a short simulation",
            value=name,
            mean=estimate.mean,
            parts=_words(look.parts),
        )
    half_width = estimate.half_width
    if look.verdict == DIFFERS:
        return Verdict(
            REPLACED,
            f"{float(f'{100 * abs(look.off):.2g}'):g} % off" if estimate.mean else "none is seen",
            Rejected(_method_at(solution, row), name, value, unit),
            value=name,
            mean=estimate.mean,
            half_width=half_width,
        )
    return Verdict(
        UNDECIDED,
        f"a short simulation says {estimate.mean:.4g} +- {half_width:.2g} s",
        value=name,
        mean=estimate.mean,
        half_width=half_width,
        parts=_words(look.parts),
    )


def _words(verdicts: Mapping[str, str]) -> dict[str, str]:
    """Return the verdict on each wait and utilization that was compared."""
    from slipstick.sim.second_look import AGREES

    return {name: AGREED if state == AGREES else UNDECIDED for name, state in verdicts.items()}


def _parts(plan: Plan, solution: Solution, row: int) -> dict[str, float]:
    """Return the answer's wait of a visit at each resource of a plan, and the utilization of the
    resource [s, 1].
    """
    from slipstick.sim.second_look import UTILIZATION, WAIT

    names = [f"{kind}[{name}]" for kind in (WAIT, UTILIZATION) for name in plan.resources]
    values = {
        name: float(at(solution.values[name], row)) for name in names if name in solution.values
    }
    return {name: value for name, value in values.items() if np.isfinite(value)}


Expectations: TypeAlias = "dict[int, Expected]"


def _of_activity(
    model: Model | QueueingNetwork, point: Mapping[str, float], solution: Solution, row: int
) -> tuple[Plan, Expectations]:
    """Return the plan of an activity, and the expected mean times of its groups."""
    from slipstick.method.simulation.flatten import flatten
    from slipstick.sim.second_look import Expected

    assert isinstance(model, Model)
    plan = flatten(model, point).plan
    is_exact = bool(at(solution.exact, row))
    promise = None if is_exact else solution.remarks_at(row).promise
    is_close = promise is not None and promise <= _CLOSE
    kind = "certain" if is_exact else "close" if is_close else "usual"
    steps: dict[str, float] = {}
    execution_times = {name: float(at(column, row)) for name, column in solution.once.items()}
    if len(plan.groups) == 1 and not _branches(model):
        # Known means of steps are control variates: they take their own noise out of the estimate.
        columns = {name: solution.steps[name] for name in solution.once if name in solution.steps}
        steps = {name: float(at(column, row)) for name, column in columns.items()}
    cycles_needed = _cycles_needed(solution, row)
    expected = {}
    for index, group in enumerate(plan.groups):
        name = _time_of(plan, index, solution)
        if name:
            mean = float(at(solution.values[name], row))
            cycles = cycles_needed if group.kind == "open" else 0.0
            known_steps = (
                {} if name.startswith("response_time") else steps
            )  # thinking is none of it
            expected[index] = Expected(
                mean, TOLERANCES[kind], is_exact, cycles, known_steps, execution_times
            )
    return plan, {
        index: expected_mean
        for index, expected_mean in expected.items()
        if np.isfinite(expected_mean.mean)
    }


def _branches(model: Model) -> bool:
    """Return whether a cycle has branches side by side or tasks of a pool, so that its account
    follows one of them.
    """
    return any(is_parallel(node) or node.use == ASKED for node in each_once(model.bodies))


def _of_network(
    model: Model | QueueingNetwork, point: Mapping[str, float], solution: Solution, row: int
) -> tuple[Plan, Expectations]:
    """Return the plan of a network, and the expected mean times of its chains."""
    from slipstick.method.networks.arrays import NetworkLayout
    from slipstick.method.networks.simulation import flat_network
    from slipstick.sim.second_look import Expected

    assert isinstance(model, QueueingNetwork)
    flat = flat_network(NetworkLayout(model), point)
    needed = _cycles_needed(solution, row)
    expected = {}
    for index, group in enumerate(flat.plan.groups):
        name = _time_of(flat.plan, index, solution)
        if name:
            mean = float(at(solution.values[name], row))
            cycles = needed if group.kind == "open" else 0.0
            steps, once = flat.known_times(group.name)
            expected[index] = Expected(mean, TOLERANCES["usual"], False, cycles, steps, once)
    return flat.plan, {
        index: expected_mean
        for index, expected_mean in expected.items()
        if np.isfinite(expected_mean.mean)
    }


def _time_of(plan: Plan, group: int, solution: Solution) -> str:
    """Return the name under which a solution has the mean time of a group; empty if it has none."""
    name = plan.groups[group].name
    plain_names = [] if group else ["response_time", "time"]
    for key in (f"response_time[{name}]", f"time[{name}]", *plain_names):
        if key in solution.values:
            return key
    return ""


def _first(plan: Plan, group: int, solution: Solution, row: int) -> tuple[str, float]:
    """Return the name and the value of the mean time of a group."""
    name = _time_of(plan, group, solution)
    return name, float(at(solution.values[name], row))


def _cycles_needed(solution: Solution, row: int) -> float:
    """Return the number of requests of a stream after which a run is in steady state: 100 / (1 -
    load)^2.
    """
    # At a load of 1 no run is long enough.
    load = min(float(at(_loads(solution), row)), 0.9999)
    return 100.0 / (1.0 - load) ** 2
