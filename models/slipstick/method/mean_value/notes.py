"""What an answer by mean value says of itself: the approximations it used, and what they are worth."""

from __future__ import annotations

from slipstick.method.mean_value.product_form import has_product_form
from slipstick.method.mean_value.recursion import Recursion
from slipstick.method.mean_value.visits import SPINNING
from slipstick.model.activity import Activity, BarrierWait, Choice, Fork, Hold, Pipeline, Step, Then, steps
from slipstick.model.resources import Lock, Station
from slipstick.model.system import (
    ClosedPopulation,
    GroupedPopulation,
    Model,
    OpenPopulation,
    PhasedPopulation,
    SuperstepPopulation,
    is_processor,
)

LOCK_STEP = 0.5
"""Utilization from which on constant times are warned of: within 50 % of saturation."""

CONSTANT = (
    "all times are constant and {busiest:.0%} of the busiest resource is used: processors may fall into step, "
    "and errors of up to 40 % were seen"
)
FCFS = "first come first served at {names}: others are found as in product form, their service left as (1 + scv) / 2"
SERVERS = "several servers at {names}: all are busy as often as if the rest of the cycle were a delay"
LOCKS = "locks {names}: a queue whose service is what is done under the lock, waits inside included"
WORDS = "spin locks {names}: those who wait load the word, and a hand-over follows the laws of Anderson and others"
KINDS = "groups: one who arrives finds what the population with one fewer of its group leaves"
FORKS = (
    "forks: branches are independent but for the resources they share, and each as spread as its mean and variance say"
)
PIPELINES = "pipelines: ends of items at stages are jointly normal (Clark)"
MEETINGS = "barriers {names}: all set out at once, and gaps between arrivals at a queue are exponential"
FEW = "barriers {names}: a meeting of some is taken as one of a steady stream"
PHASES = "phases end with the slowest of their processors, whose iterations are independent"
LOADS = "supersteps: a visit finds the others served or waiting at their mean loads, and each service delays it once"
WORTH = "usual error of the time under 5 % (the programs dvsm/sor and others, at sizes that were simulated)"
PROCESSORS = "processors as resources are taken as alike, each asked as often as the next"
SPUN = (
    "usual error of the time with spin locks {size} (from 2 to 64 processors, random times); near the size at which "
    "spinners fill the word's station, and for constant times, more was seen"
)
STATIONS, SEVERAL, BACKING_OFF, IN_STEP = 0.02, 0.1, 0.5, 0.4
"""Usual error of the time, of 95 in 100: of plain stations; of all else; of locks with back-off, and of constant
times near saturation, the worst seen [1]."""

LOADED = 0.05
"""Usual error of the time of supersteps; see tests/workloads/application/test_model.py [1]."""

ERROR = "usual error of the time {size} (95 of 100 generated models, scv of 0.25 and 1); shares and waits are less sure"


def exact_everywhere(model: Model) -> bool:
    """Say whether mean value is exact for a model whatever its numbers: in product form, or one maximum it knows."""
    if isinstance(model.population, PhasedPopulation | GroupedPopulation | SuperstepPopulation):
        return False
    recursion = Recursion(model, model.population.cycle)
    if has_product_form(model, recursion.grown, recursion.queues):
        return True
    return isinstance(model.population, ClosedPopulation) and _meets_at_random(model.population.cycle)


def _meets_at_random(cycle: Activity) -> bool:
    """Recognize one exponential delay before a barrier of all: the maximum is the mean times 1 + 1/2 + ... + 1/N."""
    match cycle:
        case Then((Step(resource=None, scv=1.0), BarrierWait(parties=None))):
            return True
    return False


def notes_of(model: Model, busiest: float) -> tuple[str, ...]:
    """Name the approximations that an answer used.

    Parameters
    ----------
    model : the system
    busiest : the largest utilization [1]
    """
    if isinstance(model.population, SuperstepPopulation):
        return (LOADS, PHASES, WORTH)
    nodes = [node for body in model.bodies for node in steps(body)]
    used = dict.fromkeys(step.resource for step in model.steps if step.resource is not None)
    stations = {name: model.resources[name] for name in used if isinstance(model.resources.get(name), Station)}
    queued = [name for name in stations if not _product(model, name)]
    many = [name for name, each in stations.items() if isinstance(each, Station) and each.servers > 1]
    locks = dict.fromkeys(node.lock for node in nodes if isinstance(node, Hold))
    meetings = dict.fromkeys(node.name for node in nodes if isinstance(node, BarrierWait) and node.parties is None)
    few = dict.fromkeys(node.name for node in nodes if isinstance(node, BarrierWait) and node.parties is not None)
    said = [
        (FCFS, queued),
        (SERVERS, many if not isinstance(model.population, OpenPopulation) else []),
        (LOCKS, locks),
        (WORDS, [name for name in locks if _spins(model, name)]),
        (KINDS, [model] if isinstance(model.population, GroupedPopulation) else []),
        (FORKS, [node for node in nodes if isinstance(node, Fork)]),
        (PIPELINES, [node for node in nodes if isinstance(node, Pipeline)]),
        (MEETINGS, meetings),
        (FEW, few),
        (PHASES, [model] if isinstance(model.population, PhasedPopulation) else []),
        (PROCESSORS, [name for name in used if is_processor(name)]),
    ]
    notes = [
        text.format(names=", ".join(map(str, names)) if "{names}" in text else "") for text, names in said if names
    ]
    usual = promised(model, busiest)
    if usual == IN_STEP:
        return (*notes, CONSTANT.format(busiest=busiest))
    text = SPUN if any(_spins(model, name) for name in locks) else ERROR
    return (*notes, text.format(size=f"under {usual:.0%}".replace("%", " %")))


def promised(model: Model, busiest: float) -> float:
    """Give the relative error of the time that an approximate answer usually keeps, as the benchmark shows it [1]."""
    if isinstance(model.population, SuperstepPopulation):
        return LOADED
    nodes = [node for body in model.bodies for node in steps(body)]
    constant = all(step.scv == 0 for step in model.steps) and not any(isinstance(node, Choice) for node in nodes)
    if constant and busiest > LOCK_STEP and not isinstance(model.population, OpenPopulation):
        return IN_STEP
    if any(_spins(model, node.lock, pausing=True) for node in nodes if isinstance(node, Hold)):
        return BACKING_OFF
    return SEVERAL if any(isinstance(node, Fork | Hold | Pipeline | BarrierWait) for node in nodes) else STATIONS


def _product(model: Model, name: str) -> bool:
    """Say whether a station alone has product form."""
    station = model.resources[name]
    visits = [step for step in model.steps if step.resource == name]
    assert isinstance(station, Station)
    return station.discipline == "ps" or all(step.scv == 1 and step.time == visits[0].time for step in visits)


def _spins(model: Model, name: str, *, pausing: bool = False) -> bool:
    lock = model.resources[name]
    return isinstance(lock, Lock) and lock.kind in SPINNING and not (pausing and lock.back_off == "none")
