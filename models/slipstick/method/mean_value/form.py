"""Mean values at many points, as a solution; the approximations that it used, and the error that they usually keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.answers import (
    COMPLEX_STEP,
    CompiledModel,
    Flags,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    Use,
    Values,
    activity_solution,
    value_at,
)
from slipstick.method.closed_form.exactness import neglected, sizes
from slipstick.method.mean_value.closed import MeanValueTable, ModelNumbers, Recursion, has_product_form, solve_closed
from slipstick.method.mean_value.open import solve_open
from slipstick.method.mean_value.programs import solve_phases, solve_supersteps
from slipstick.method.mean_value.visits import SPIN_LOCKS, Numbers
from slipstick.method.occupation import ParallelWork
from slipstick.method.saturation import Deadlocks
from slipstick.model.activity import (
    Activity,
    Ask,
    BarrierWait,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Step,
    Then,
    UnitStep,
    each_once,
    steps,
)
from slipstick.model.system import (
    ClosedPopulation,
    GroupedPopulation,
    Lock,
    Model,
    Monitor,
    OpenPopulation,
    Permits,
    PhasedPopulation,
    Station,
    SuperstepPopulation,
    is_processor,
)
from slipstick.vocabulary import ANY_SERVICE, DISCIPLINES, MEAN_VALUE

_FEW = 4.0
"""Processors with which a model is tried, to see whether it is refused."""


class MeanValue(CompiledModel):
    """A model compiled for mean value; points that differ in the population alone share one recursion.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> form = MeanValue(closed_model(delay(9.0, name="think") >> service("bus", 1.0, scv=1.0), processors=10))
    >>> form.times({"population.processors": np.array([1.0, 2.0, 10.0])})
    array([10.   , 10.1  , 12.019])
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.numbers = ModelNumbers(model)
        self.parameters = tuple(self.numbers.tape.parameters)
        self._sizes, self._deadlocks = sizes(model), Deadlocks(model)
        self._parallel = ParallelWork(model)
        self._single = SingleProcessorValues(model.single, MeanValue(model.single.model)) if model.single else None

    def brief(self, values: Values) -> Solution:
        """Evaluate the time alone [s, points]."""
        numbers = self.numbers.columns(values)
        found = self.table(numbers, account=False)
        return Solution(
            model=self.model.name,
            method=MEAN_VALUE,
            count=len(found.time),
            exact=self._exact(numbers, found),
            values={self.quantity: found.time},
        )

    def refuses(self) -> bool:
        """Say whether the model has a part that mean value has no answer for, whatever its numbers."""
        known = self.numbers.tape.parameters
        numbers = self.numbers.columns({name: 1.0 for name, each in known.items() if each.value is None})
        # Of any size the same parts are refused, and a few processors are solved at once.
        few = {size: np.minimum(numbers[size], _FEW) for size in self.model.population.counts}
        try:
            with np.errstate(all="ignore"):
                _solver(self.model)(self.model, {**numbers, **few}, False)
        except NoAnswerError:
            return True
        return False

    def _exact(self, numbers: Numbers, found: MeanValueTable) -> Flags:
        """Say at which points the mean values are exact; a model that is refused is so nowhere, and cannot be asked."""
        nothing = neglected(self.model, {size: numbers[size] for size in self._sizes}).nothing()
        everywhere = len(found.wrong) < len(found.time) and exact_everywhere(self.model)
        return np.broadcast_to(everywhere | nothing, (len(found.time),))

    def table(self, numbers: Numbers, account: bool) -> MeanValueTable:
        """Solve for numbers that may be complex; what stops every point is said of each."""
        points = len(next(iter(numbers.values())))
        sizes_there = [numbers[size] for size in self.model.population.counts]
        deadlocks = {index: text for index, (text,) in self._deadlocks.among(sizes_there, points).items()}
        if len(deadlocks) == points:
            return MeanValueTable.blank(np.ones(points), (), (), deadlocks)
        try:
            solve = _solver(self.model)
            with np.errstate(all="ignore"):
                found = solve(self.model, numbers, account)
        except NoAnswerError as error:
            return MeanValueTable.blank(np.ones(points), (), (), dict.fromkeys(range(points), str(error)))
        found.refuse(deadlocks)
        return found

    def solution(self, values: Values) -> Solution:
        """Evaluate everything at aligned points."""
        numbers = self.numbers.columns(values)
        found = self.table(numbers, account=True)
        exact = self._exact(numbers, found)
        groups = {group.name: group.processors for group in self.model.population.groups if group.name}
        missing = np.full(len(found.time), np.nan)  # of every group, where mean value refuses the model
        steps = [step for step in self.model.steps if not groups or step.name in found.booked]
        return activity_solution(
            self.model,
            MEAN_VALUE,
            found.time,
            found.size,
            found.booked,
            exact=exact,
            groups={name: (found.groups.get(name, missing), numbers[size]) for name, size in groups.items()},
            single=self._single.values(values, found.time, found.size) if self._single else {},
            uses={name: Use(each.busy, each.present, each.wait) for name, each in found.uses.items()},
            beside=lambda account: self._parallel.columns(values, found.time, found.size, account, found.spans),
            once={step.name: np.where(np.isnan(found.time), np.nan, numbers[step.time]) for step in steps},
            # What no processor ever waits for is left out of answers.
            kept=frozenset(part for step in self.model.steps for part in (step.name, step.component, step.technology)),
            remarks=lambda index: self._remarks(found, bool(exact[index]), index),
            gradient=lambda index: self._gradient(values, index),
        )

    def _remarks(self, found: MeanValueTable, exact: bool, index: int) -> Remarks:
        model, time = self.model, float(found.time[index])
        if index in found.wrong:
            return Remarks(failed=found.wrong[index])
        if not np.isfinite(time):
            return Remarks(failed=f"the mean values of {model.name} do not settle: its time comes out as {time!r}")
        if exact:
            return Remarks()
        return Remarks(notes=notes_of(model), promise=promised(model))

    def _gradient(self, values: Values, index: int) -> Gradient:
        """Differentiate the time by every parameter that does not count processors, in one recursion."""
        known = self.numbers.tape.parameters
        here = {name: value_at(values, name, index, each.value) for name, each in known.items()}
        names = self.numbers.smooth
        slopes: dict[str, float] = {}
        if names:
            numbers, steps = self.numbers.perturbed(here, COMPLEX_STEP)
            found = self.table(numbers, account=False).time.imag / steps
            slopes = {name: float(slope) for name, slope in zip(names, found, strict=True)}
        return Gradient({"time": slopes}, here, known)


def _solver(model: Model) -> Callable[[Model, Numbers, bool], MeanValueTable]:
    """Choose the recursion for a population; refuse what none is known for."""
    for node in each_once(model.bodies):
        name = node.resource if isinstance(node, Hold) and node.mode else None
        name = node.counter if isinstance(node, UnitStep) else node.pool if isinstance(node, Ask) else name
        if name is not None:
            raise NoAnswerError(
                f"mean value has no approximation of waits for {name}: reader-writer locks, waits for signals and pools of "
                "tasks are simulated, and bounds enclose them"
            )
    match model.population:
        case ClosedPopulation() | GroupedPopulation():
            return solve_closed
        case OpenPopulation():
            return solve_open
        case PhasedPopulation():
            return solve_phases
        case SuperstepPopulation():
            return solve_supersteps


STATIONS, SEVERAL, BACKING_OFF, SUPERSTEPS = 0.02, 0.1, 0.5, 0.05
"""Usual error of the time [1], of 95 in 100 models: of plain stations in a closed cycle, scv up to 1; of all else; of locks
with back-off; of supersteps.

Measured by benchmarks/mean_value.py (stations, all constructs), tests/method/mean_value/test_spin_locks.py (back-off) and
tests/workloads/application/test_model.py (supersteps)."""

SUPERSTEP_NOTES = (
    (
        "supersteps: a visit finds the other processors in service or waiting at their mean loads, and each service delays "
        "it once at most"
    ),
    "supersteps end with the slowest of their processors",
    "usual error of the time under 5 % (the programs dvsm/sor and others, at sizes that were simulated)",
)
SPIN_ERROR = (
    "usual error of the time with spin locks {size} (from 2 to 64 processors, random times); larger errors were seen near "
    "the size at which spinning fills the word's station, and for constant times"
)
ERROR = (
    "usual error of the time {size} (95 of 100 generated models, scv from 0.25 to 4); shares and waits are less sure"
)


@dataclass
class _Used:
    """What a model uses.

    Parameters
    ----------
    nodes : every activity
    stations, locks, permits : by name, in the order written
    """

    model: Model
    nodes: list[Activity] = field(init=False)
    stations: dict[str, Station] = field(init=False)
    locks: list[str] = field(init=False)
    permits: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = [node for body in self.model.bodies for node in steps(body)]
        found = {step.resource: self.model.resources.get(step.resource) for step in self.model.steps if step.resource}
        self.stations = {name: each for name, each in found.items() if isinstance(each, Station)}
        held = dict.fromkeys(node.resource for node in self.nodes if isinstance(node, Hold))
        self.locks = [name for name in held if isinstance(self.model.resources[name], Lock | Monitor)]
        self.permits = [name for name in held if isinstance(self.model.resources[name], Permits)]

    def has(self, *kinds: type[Activity]) -> bool:
        """Say whether any activity is of one of the kinds."""
        return any(isinstance(node, kinds) for node in self.nodes)

    def barriers(self, of_all: bool) -> list[str]:
        """List the barriers of the whole population, or those of some of it."""
        found = [node for node in self.nodes if isinstance(node, BarrierWait)]
        return list(dict.fromkeys(node.name for node in found if (node.parties is None) == of_all))

    def without_product_form(self) -> list[str]:
        """List the stations that have no product form by themselves."""
        return [name for name, station in self.stations.items() if not self._has_product_form(name, station)]

    def out_of_order(self) -> list[str]:
        """List the stations where customers overtake each other, if maxima of waits are taken."""
        maxima = self.has(Fork, Pipeline, BarrierWait)
        found = {name: DISCIPLINES[station.discipline] for name, station in self.stations.items()}
        return [name for name, each in found.items() if maxima and each.overtaking]

    def several_servers(self) -> list[str]:
        """List the stations of several servers whose probability that all are busy is approximate."""
        exact = isinstance(self.model.population, OpenPopulation)
        return [] if exact else [name for name, station in self.stations.items() if station.servers > 1]

    def spin_locks(self, backing_off: bool = False) -> list[str]:
        """List the spin locks, or those of them that back off."""
        found = {name: self.model.resources[name] for name in self.locks}
        return [
            name
            for name, each in found.items()
            if isinstance(each, Lock) and each.kind in SPIN_LOCKS and not (backing_off and each.back_off == "none")
        ]

    @property
    def largest_scv(self) -> float:
        """The largest squared coefficient of variation of all steps [1]."""
        return max((step.scv for step in self.model.steps), default=0.0)

    @property
    def has_parallel_stages(self) -> bool:
        """Whether items are in a stage at the same time."""
        pipelines = [node for node in self.nodes if isinstance(node, Pipeline)]
        return any(stage.kind == "parallel" for node in pipelines for stage in node.stages)

    @property
    def has_locks_in_and_outside_others(self) -> bool:
        """Whether some lock is taken while another is held, and also by processors that hold none."""
        taken = {each for body in self.model.bodies for each in _taken(body)}
        return any({(name, True), (name, False)} <= taken for name, _ in taken)

    @property
    def constant(self) -> bool:
        """Whether nothing is random."""
        return all(step.scv == 0 for step in self.model.steps) and not self.has(Choice)

    def _has_product_form(self, name: str, station: Station) -> bool:
        visits = [step for step in self.model.steps if step.resource == name]
        if DISCIPLINES[station.discipline].product_form == ANY_SERVICE:
            return True
        return all(step.scv == 1 and step.time == visits[0].time for step in visits)


def _taken(node: Activity, holding: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each lock and set of permits with whether another is held as it is taken."""
    if isinstance(node, Hold):
        yield node.resource, holding
    for part in node.children:
        yield from _taken(part, holding or isinstance(node, Hold))


_NOTES: tuple[tuple[str, Callable[[_Used], list[str] | bool]], ...] = (
    (
        "waiting at {names}: numbers found as in product form, residual service (1 + scv) / 2",
        _Used.without_product_form,
    ),
    (
        "waits at {names} vary as at first come first served; they vary more, so maxima come out too small",
        _Used.out_of_order,
    ),
    (
        "several servers at {names}: the probability that all are busy is that with the rest of the cycle as a delay",
        _Used.several_servers,
    ),
    (
        "locks {names}: a queue whose service is all that is done while the lock is held, waits included",
        lambda used: used.locks,
    ),
    (
        "permits {names}: a queue with a server a permit, whose service is all that is done while it is held, waits included",
        lambda used: used.permits,
    ),
    (
        "spin locks {names}: waiting processors load the word's station, and hand-overs follow the laws of Anderson and others",
        _Used.spin_locks,
    ),
    (
        "groups: an arriving processor finds what the population with one fewer of its group leaves",
        lambda used: isinstance(used.model.population, GroupedPopulation),
    ),
    (
        "forks: branches are independent but for the resources they share, and each as random as its mean and variance say",
        lambda used: used.has(Fork),
    ),
    ("pipelines: ends of items at stages are jointly normal (Clark)", lambda used: used.has(Pipeline)),
    (
        "barriers {names}: all processors start at once, and gaps between arrivals at a queue are exponential",
        lambda used: used.barriers(of_all=True),
    ),
    ("barriers {names}: arrivals of the parties are a steady stream", lambda used: used.barriers(of_all=False)),
    (
        "phases: iterations follow each other as in the steady state of the processors still at work; the slowest ends each",
        lambda used: isinstance(used.model.population, PhasedPopulation),
    ),
    (
        "processors as resources are taken as alike, each used as often as the next",
        lambda used: any(step.resource is not None and is_processor(step.resource) for step in used.model.steps),
    ),
)
"""Each approximation, and the resources that it is used for, or whether it is used."""


def notes_of(model: Model) -> tuple[str, ...]:
    """Name the approximations that an answer used."""
    if isinstance(model.population, SuperstepPopulation):
        return SUPERSTEP_NOTES
    used = _Used(model)
    found = [(text, where(used)) for text, where in _NOTES]
    notes = [text.format(names=", ".join(names) if isinstance(names, list) else "") for text, names in found if names]
    usual = promised(model)
    if usual is None:
        return (*notes, *(f"{text}, and none is promised; simulate" for text, where in _OUTSIDE if where(used)))
    text = SPIN_ERROR if used.spin_locks() else ERROR
    return (*notes, text.format(size=f"under {usual:.0%}".replace("%", " %")))


MOST_VARIED = 4.0
"""Largest squared coefficient of variation of the models whose errors were measured [1]."""

_OUTSIDE: tuple[tuple[str, Callable[[_Used], bool]], ...] = (
    (
        "all times are constant, so processors may fall into step: errors of up to 57 % were measured",
        lambda used: used.constant,
    ),
    (
        f"times of an scv above {MOST_VARIED:g}: errors of the time were not measured",
        lambda used: used.largest_scv > MOST_VARIED,
    ),
    (
        "an open stream of times with an scv above 1: errors of up to 43 % were measured",
        lambda used: isinstance(used.model.population, OpenPopulation) and used.largest_scv > 1,
    ),
    (
        "an open stream through locks or permits: errors of up to 64 % were measured, near saturation of up to 106 %",
        lambda used: isinstance(used.model.population, OpenPopulation) and bool(used.locks or used.permits),
    ),
    (
        "an open stream through forks: errors of up to 25 % were measured where branches share a station",
        lambda used: isinstance(used.model.population, OpenPopulation) and used.has(Fork) and bool(used.stations),
    ),
    (
        "locks taken both alone and while another is held: errors of up to 14 % were measured in 95 of 100, at most 18 %",
        lambda used: used.has_locks_in_and_outside_others,
    ),
    (
        "pipelines with parallel stages at times of an scv above 1: errors of up to 25 % were measured in 95 of 100",
        lambda used: used.largest_scv > 1 and used.has_parallel_stages,
    ),
)
"""What no error is promised for: the class of the error, and the models that it is of.

The errors are the worst of benchmarks/mean_value.py, as README shows them: of constant times; of arrivals at stations; of
arrivals at locks and forks (95 of 100, and the worst), and there of the models without a lock; of nested locks. Those of pipelines are from
tests/method/mean_value/test_maxima.py."""


def promised(model: Model) -> float | None:
    """Give the relative error of the time that an approximate answer usually keeps, as benchmarks show it [1].

    None where no error is promised; the notes of the answer then say what was measured.
    """
    if isinstance(model.population, SuperstepPopulation):
        return SUPERSTEPS
    used = _Used(model)
    if any(where(used) for _, where in _OUTSIDE):
        return None
    if used.spin_locks(backing_off=True):
        return BACKING_OFF
    varied = used.largest_scv > 1 or not isinstance(model.population, ClosedPopulation)
    return SEVERAL if varied or used.has(Fork, Hold, Pipeline, BarrierWait) else STATIONS


def promise_holds(model: Model) -> bool:
    """Say whether mean value is exact for a model, or promises an error of `SEVERAL` at most; not if it refuses it."""
    if MeanValue(model).refuses():
        return False
    usual = promised(model)
    return exact_everywhere(model) or (usual is not None and usual <= SEVERAL)


def exact_everywhere(model: Model) -> bool:
    """Say whether mean value is exact for a model whatever its numbers: in product form, or one maximum it knows."""
    population = model.population
    if not isinstance(population, ClosedPopulation | OpenPopulation):
        return False
    if has_product_form(model, Recursion(model, [population.cycle])):
        return True
    match population:
        case ClosedPopulation(_, Then((Step(resource=None, scv=1.0), BarrierWait(parties=None)))):
            # The maximum of N exponential delays is the mean times 1 + 1/2 + ... + 1/N.
            return True
    return False
