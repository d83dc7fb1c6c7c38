"""The second road: each default answer that is not solved exactly is looked at by a short
simulation before it is believed.

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
from slipstick.late import np
from slipstick.method.answers import Solution, joined
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

_CLOSE = 0.02
_AT_RANDOM = 2
_NARROW = 0.1
"""Width of the interval of a simulation, relative to its mean, up to which it confirms a value
inside [1]."""
_KNEE = 0.85
"""Utilization of the point that is nearest to a knee [1]."""

if TYPE_CHECKING:
    from slipstick.sim.second_look import Expected

Simulated = Callable[[Values], Solution]
"""Answers points by the usual simulation."""


def checked(
    subject: Model | QueueingNetwork,
    values: Values,
    found: Solution,
    simulation: Simulation,
    simulated: Simulated,
) -> Solution:
    """Look at a solution by a second road; a point that differs is answered by simulation.

    Parameters
    ----------
    subject : the system or the network
    values : of its parameters [points]
    found : by the default method
    simulation : settings; `Simulation.check` says how much is looked at
    simulated : answers points by simulation
    """
    rows = _doubtful(subject, found) if simulation.check != CHECK_OFF else []
    if not rows:
        return found
    methods = found.methods or [found.method] * found.count
    looks: dict[int, Verdict] = {}
    chosen = rows if simulation.check == CHECK_ALL else _chosen(found, rows)
    for several in (chosen, [row for row in rows if row not in chosen]):
        if several is not chosen and not any(each.word == REPLACED for each in looks.values()):
            break
        for row in several:
            looks[row] = _look(subject, _point(values, row), found, row, simulation)
    told = f"{len(looks)} of {len(rows)} points were looked at"
    checks = {row: looks.get(row, Verdict(NOT_CHECKED, told)) for row in rows}
    # A closed form adds up what the model says: of one it is only said where it was looked at.
    settled = (AGREED, REPLACED)
    checks = {
        row: check
        for row, check in checks.items()
        if methods[row] != CLOSED_FORM or check.word in settled
    }
    return _replaced(values, found, checks, simulated)


def _replaced(
    values: Values, found: Solution, checks: Mapping[int, Verdict], simulated: Simulated
) -> Solution:
    """Put the answers of simulation in the place of those that were rejected."""
    wrong = [row for row, check in checks.items() if check.word == REPLACED]
    pieces, kept = [], dict(checks)
    for row in wrong:
        answer = simulated(_point(values, row))
        remarks = answer.remarks_at(0)
        if remarks.failed or remarks.interrupted:
            why = f"simulation differs, but has no answer: {remarks.failed or 'interrupted'}"
            kept[row] = Verdict(UNDECIDED, why)
            continue
        verdict = _compared(checks[row], answer)
        kept[row] = verdict
        if verdict.word == REPLACED:
            pieces.append((row, replace(answer, checks={0: verdict})))
    found = replace(found, checks=kept)
    if not pieces:
        return found
    if found.count == 1:
        return pieces[0][1]
    others = [row for row in range(found.count) if row not in dict(pieces)]
    rest = [([row], _row(found, row)) for row in others]
    return joined([*rest, *(([row], piece) for row, piece in pieces)])


def _compared(verdict: Verdict, answer: Solution) -> Verdict:
    """Return the verdict on a rejected value after the usual simulation, which is longer than the
    look that rejected it and has other random streams: a value inside its interval is right.
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


def _row(found: Solution, row: int) -> Solution:
    """Return the solution of one point of several."""
    tables = ("values", "low", "high", "account", "technology", "steps", "once")
    cut: dict[str, Any] = {
        name: {key: np.array([at(column, row)]) for key, column in getattr(found, name).items()}
        for name in tables
    }
    return replace(
        found,
        count=1,
        methods=[found.methods[row]] if found.methods else [],
        exact=np.array([bool(at(found.exact, row))]),
        stages={
            name: {key: np.array([at(column, row)]) for key, column in stages.items()}
            for name, stages in found.stages.items()
        },
        errors={0: found.errors[row]} if row in found.errors else {},
        checks={0: found.checks[row]} if row in found.checks else {},
        detail=lambda _: (found, row) if found.detail is None else found.detail(row),
        **cut,
    )


def _point(values: Values, row: int) -> dict[str, float]:
    return {name: float(at(np.ravel(column), row)) for name, column in values.items()}


def _doubtful(subject: Model | QueueingNetwork, found: Solution) -> list[int]:
    """List the points whose answers are looked at."""
    first = next(iter(found.values.values()), np.full(1, np.nan))
    times = np.broadcast_to(first, (found.count,))
    methods = found.methods or [found.method] * found.count
    approximate = (MEAN_VALUE, LINEARIZER, SCHWEITZER)
    closed = isinstance(subject, Model) and _takes_maxima(subject)
    return [
        row
        for row in range(found.count)
        if np.isfinite(times[row])
        and times[row] > 0
        and (methods[row] in approximate or (closed and methods[row] == CLOSED_FORM))
    ]


def _takes_maxima(model: Model) -> bool:
    """Return whether a closed form of a model may have taken a maximum, or a count that is not
    whole, for exact.
    """
    kinds = (BarrierWait, Fork, Pipeline, Repeat, Ask)
    return any(isinstance(node, kinds) for node in each_once(model.bodies))


def _chosen(found: Solution, rows: list[int]) -> list[int]:
    """Choose the points that are looked at: both ends, the one nearest to a knee, two at random."""
    loads = _loads(found)
    knee = min(rows, key=lambda row: abs(float(at(loads, row)) - _KNEE))
    draw = random.Random(len(rows))
    some = draw.sample(rows, min(_AT_RANDOM, len(rows)))
    return list(dict.fromkeys([rows[0], rows[-1], knee, *some]))


def _loads(found: Solution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the largest utilization of each point; 0 where there is none."""
    uses = [
        np.broadcast_to(column, (found.count,))
        for name, column in found.values.items()
        if name.startswith("utilization[")
    ]
    if not uses:
        return np.zeros(found.count)
    table = np.stack(uses)
    return np.asarray(np.where(np.isnan(table), 0.0, table).max(axis=0))


def _look(
    subject: Model | QueueingNetwork,
    point: Mapping[str, float],
    found: Solution,
    row: int,
    simulation: Simulation,
) -> Verdict:
    """Look at the answer of one point."""
    from slipstick.sim.kept_looks import kept_look
    from slipstick.sim.second_look import AGREES, DIFFERS, UNSETTLED, second_look

    try:
        network = isinstance(subject, QueueingNetwork)
        plan, expected = (_of_network if network else _of_activity)(subject, point, found, row)
        events = EVENTS * (OF_NETWORKS if network else 1)
        if isinstance(simulation.check, int):
            events = simulation.check
        if (found.methods or [found.method])[row if found.methods else 0] == CLOSED_FORM:
            if plan.population > MOST_ADDED_UP:
                return Verdict(NOT_CHECKED, "it is added up of too many processors")
            events = min(events, FOR_CLOSED_FORMS)
        parts = _parts(plan, found, row)
        look_at = second_look if simulation.check == CHECK_AGAIN else kept_look
        look = look_at(plan, expected, events, parts)
        borne = min(each.tolerance for each in expected.values())
        open_ended = look.verdict not in (AGREES, DIFFERS, UNSETTLED)
        suspect = open_ended and abs(look.off) > SUSPICIOUS * borne
        if suspect:
            look = look_at(plan, expected, SUSPECT * events, parts)
    except SlipstickError as error:
        return Verdict(NOT_CHECKED, f"it is not simulated: {error}")
    if look.verdict == UNSETTLED:
        return Verdict(NOT_CHECKED, f"{look.reason}, after {look.events:,} events")
    name, value = _first(plan, look.group, found, row)
    unit = "s"
    if look.value:
        name, value, unit = look.value, parts[look.value], unit_of(look.value)
    method = (found.methods or [found.method])[row if found.methods else 0]
    seen = look.seen
    if look.verdict == AGREES:
        off = f"{max(100 * abs(look.off), 0.01):.2g}"
        return Verdict(
            AGREED,
            f"within {off} % of a short simulation",
            value=name,
            mean=seen.mean,
            parts=_words(look.parts),
        )
    half = seen.half_width
    if look.verdict == DIFFERS:
        return Verdict(
            REPLACED,
            f"{float(f'{100 * abs(look.off):.2g}'):g} % off",
            Rejected(method, name, value, unit),
            value=name,
            mean=seen.mean,
            half_width=half,
        )
    return Verdict(
        UNDECIDED,
        f"a short simulation says {seen.mean:.4g} +- {half:.2g} s",
        value=name,
        mean=seen.mean,
        half_width=half,
        parts=_words(look.parts),
    )


def _words(parts: Mapping[str, str]) -> dict[str, str]:
    """Return the word of the check of each wait and utilization that was compared."""
    from slipstick.sim.second_look import AGREES

    return {name: AGREED if state == AGREES else UNDECIDED for name, state in parts.items()}


def _parts(plan: Plan, found: Solution, row: int) -> dict[str, float]:
    """Return the wait of a visit to each resource of a plan, and its utilization [s, 1]."""
    from slipstick.sim.second_look import UTILIZATION, WAIT

    names = [f"{kind}[{name}]" for kind in (WAIT, UTILIZATION) for name in plan.resources]
    parts = {name: float(at(found.values[name], row)) for name in names if name in found.values}
    return {name: value for name, value in parts.items() if np.isfinite(value)}


Expectations: TypeAlias = "dict[int, Expected]"


def _of_activity(
    model: Model | QueueingNetwork, point: Mapping[str, float], found: Solution, row: int
) -> tuple[Plan, Expectations]:
    """Return the plan of an activity, and what its answer says of each group."""
    from slipstick.method.simulation.flatten import flatten
    from slipstick.sim.second_look import Expected

    assert isinstance(model, Model)
    plan = flatten(model, point).plan
    certain = bool(at(found.exact, row))
    promise = None if certain else found.remarks_at(row).promise
    close = promise is not None and promise <= _CLOSE
    kind = "certain" if certain else "close" if close else "usual"
    steps: dict[str, float] = {}
    once = {name: float(at(column, row)) for name, column in found.once.items()}
    if len(plan.groups) == 1 and not _branches(model):
        columns = {name: found.steps[name] for name in found.once if name in found.steps}
        steps = {name: float(at(column, row)) for name, column in columns.items()}
    needed = _cycles_needed(found, row)
    expected = {}
    for index, group in enumerate(plan.groups):
        name = _time_of(plan, index, found)
        if name:
            mean = float(at(found.values[name], row))
            cycles = needed if group.kind == "open" else 0.0
            known = {} if name.startswith("response_time") else steps  # thinking is none of it
            expected[index] = Expected(mean, TOLERANCES[kind], certain, cycles, known, once)
    return plan, {index: each for index, each in expected.items() if np.isfinite(each.mean)}


def _branches(model: Model) -> bool:
    """Return whether the account of a cycle follows one of several branches."""
    return any(is_parallel(node) or node.use == ASKED for node in each_once(model.bodies))


def _of_network(
    model: Model | QueueingNetwork, point: Mapping[str, float], found: Solution, row: int
) -> tuple[Plan, Expectations]:
    """Return the plan of a network, and what its answer says of each chain."""
    from slipstick.method.networks.arrays import NetworkLayout
    from slipstick.method.networks.simulation import flat_network
    from slipstick.sim.second_look import Expected

    assert isinstance(model, QueueingNetwork)
    flat = flat_network(NetworkLayout(model), point)
    needed = _cycles_needed(found, row)
    expected = {}
    for index, group in enumerate(flat.plan.groups):
        name = _time_of(flat.plan, index, found)
        if name:
            mean = float(at(found.values[name], row))
            cycles = needed if group.kind == "open" else 0.0
            steps, once = flat.known_times(group.name)
            expected[index] = Expected(mean, TOLERANCES["usual"], False, cycles, steps, once)
    return flat.plan, {index: each for index, each in expected.items() if np.isfinite(each.mean)}


def _time_of(plan: Plan, group: int, found: Solution) -> str:
    """Name the mean time of a group among the values of a solution."""
    name = plan.groups[group].name
    first = [] if group else ["response_time", "time"]
    for key in (f"response_time[{name}]", f"time[{name}]", *first):
        if key in found.values:
            return key
    return ""


def _first(plan: Plan, group: int, found: Solution, row: int) -> tuple[str, float]:
    """Return the name and the value of the mean time of a group."""
    name = _time_of(plan, group, found)
    return name, float(at(found.values[name], row))


def _cycles_needed(found: Solution, row: int) -> float:
    """Return the requests of a stream after which a run has settled: 100 / (1 - load)^2."""
    load = min(float(at(_loads(found), row)), 0.9999)
    return 100.0 / (1.0 - load) ** 2
