"""Refusals of methods that name other methods, followed until one answers: models with all traits
of stations and constructs, each asked of every method, and the ways out that messages name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipstick import Simulation, dump, load, run, solve
from slipstick.answer import OTHER_METHOD
from slipstick.errors import SlipstickError
from slipstick.method.names import names_of
from slipstick.model.network import (
    QueueingNetwork,
    closed_class,
    network,
    open_class,
    station,
)
from slipstick.model.system import Model
from slipstick.vocabulary import (
    ACTIVITY,
    BOUNDS,
    LINEARIZER,
    METHODS,
    NETWORK,
    SCHWEITZER,
    SIMULATION,
)

FCFS = "fcfs"

SHORT = Simulation(seed=3, events=3_000)


def drawn_network(seed: int) -> QueueingNetwork:
    """Draw a network of one to three classes whose stations have rare traits."""
    draw = random.Random(f"ways out {seed}")
    names = [f"c{number}" for number in range(draw.choice([1, 1, 2, 3]))]
    classes: dict[str, Any] = {}
    opened = draw.random() < 0.4
    for name in names:
        if opened if draw.random() < 0.9 else not opened:
            more: dict[str, Any] = draw.choice(
                [{}, {}, {"batch": 2}, {"trace": (1.0, 9.0)}, _bursts()]
            )
            rate = 0.2 if "trace" in more else draw.choice([0.05, 0.2])
            classes[name] = open_class(rate, **more)
        else:
            size = draw.choice([0, 1, 3, 40, 3000])
            classes[name] = closed_class(size, think_time=draw.choice([0.0, 2.0]))
    stations = {f"k{number}": _station(draw, names) for number in range(draw.choice([1, 2, 3]))}
    return network(classes, stations)


def _bursts() -> dict[str, Any]:
    return {"burst_arrivals": 0.3, "burst_time": 5.0, "quiet_time": 5.0}


def _station(draw: random.Random, names: list[str]) -> Any:
    discipline = draw.choice(
        [*(FCFS,) * 3, "ps", "is", "lcfs", "lcfs-pr", "random", "priority", "priority-preemptive"]
    )
    times = {name: draw.choice([0.1, 0.3, 0.3]) for name in names}
    servers = draw.choice([1, 1, 1, 2, 5])
    traits: dict[str, Any] = {}
    if draw.random() < 0.4 and discipline != "is":
        traits["scv"] = {name: draw.choice([0.0, 0.25, 1.0, 4.0]) for name in names}
    if discipline.startswith("priority"):
        traits["priority"] = {name: draw.choice([0, 1]) for name in names}
    if draw.random() < 0.15:
        servers, traits["rates"] = 1, (1.0, 1.5, 1.5)
    elif draw.random() < 0.15:
        traits["capacity"] = servers + draw.choice([0, 2])
        traits["blocking"] = draw.choice(["loss", "repeat", "before-service", "after-service"])
    if draw.random() < 0.15:
        key = draw.choice(["patience", "timeout"])
        traits[key] = dict.fromkeys(names, 2.0)
    return station(service=times, discipline=discipline, servers=servers, **traits)


TOO_SHORT = "no cycle has ended after"
"""What a simulation says that was too short, which is no refusal."""

NO_WAY = "has no answer either: "

_APPROXIMATE = ("an approximate method", "approximate methods")


def methods_named(message: str, kind: str) -> list[str]:
    """List the methods that a refusal names as ways out: after 'ask for', 'may', 'write' and the
    like, up to the end of the clause.
    """
    ways = []
    for clause in re.split(r"[;:]", message)[1:]:
        names = [
            name
            for name in METHODS[kind]
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", clause)
        ]
        if re.search(r"\bsimulate\b", clause):
            names.append(SIMULATION)
        if kind == NETWORK and any(words in clause for words in _APPROXIMATE):
            names += [LINEARIZER, SCHWEITZER]
        ways += [name for name in names if name not in ways]
    return ways


def dead_ends(model: Model | QueueingNetwork) -> Iterator[str]:
    """Yield each refusal of a method that names other methods of which no one answers.

    Parameters
    ----------
    model : that every method is asked for
    """
    kind = NETWORK if isinstance(model, QueueingNetwork) else ACTIVITY
    refusals: dict[str, str] = {}
    for method in METHODS[kind]:
        try:
            solve(model, method=method, simulation=SHORT)
        except SlipstickError as error:
            if TOO_SHORT not in str(error):
                refusals[method] = str(error)
    for method, message in refusals.items():
        ways = [way for way in methods_named(message, kind) if way not in (method, BOUNDS)]
        # Where no method answers, the message gives the reasons of those that it names.
        if ways and all(way in refusals for way in ways) and NO_WAY not in message:
            back = "; ".join(f"{way}: {refusals[way]}" for way in ways)
            yield f"{method}: {message} -> {back}"


LIMITS = {"events": 3_000, "states": 2_000, "points": 200}
"""Costs that a followed study may have."""


def study_dead_ends(model: Model | QueueingNetwork, folder: Path) -> Iterator[str]:
    """Yield each refusal of a study of a model that leads to a method by which it is refused again
    for the same lack, and each value that it says another method has, which that one lacks.

    Parameters
    ----------
    model : whose file is written
    folder : for the file
    """
    file = folder / "model.yaml"
    file.write_text(dump(model))
    kind = NETWORK if isinstance(model, QueueingNetwork) else ACTIVITY
    for question, keys in _questions(load(file)):
        for method in (None, *METHODS[kind]):
            base = {"model": str(file), "simulation.seed": 3, "simulation.events": SHORT.events}
            lacks = _lacking({**keys, "base": {**base, **_by(method)}})
            ways = sorted({*lacks.values()} - {""})
            for way in ways:
                lacked_too = _lacking({**keys, "base": {**base, **_by(way)}})
                names = [name for name in lacks if lacks[name] == way and name in lacked_too]
                if names:
                    yield f"{question} by {method}: {way} lacks it too: {'; '.join(names)}"


def _by(method: str | None) -> dict[str, str]:
    return {} if method is None else {"method": method}


def _questions(model: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the keys of studies that ask a model: values, a condition, a ranking, two methods."""
    names = list(names_of(model))
    parameters = [name for name, entry in model.parameters.items() if entry.value]
    head = {"study": 1, "title": "How long does it take?"}
    yield "answer", {**head, "answer": names[:: 1 + len(names) // 25]}
    quantiles = [name for name in names if "quantile" in name or "within_target" in name]
    for name in (names[0], *quantiles[:1]):
        if parameters:
            value = model.parameters[parameters[0]].value
            varied = {parameters[0]: [value, 2 * value]}
            condition = {"vary": varied, "minimize": name, "where": f"{name} >= 0"}
            yield f"choose {name}", {**head, "choose": condition}
            yield f"bottleneck {name}", {**head, "bottleneck": {"along": varied}}


AN_ANSWER = "an answer"


def _lacking(study: dict[str, Any]) -> dict[str, str]:
    """Run a study. Return what was missing, each with the method that the message names for it."""
    try:
        results = run(study, limits=LIMITS)
    except SlipstickError as error:
        if TOO_SHORT in str(error):
            return {}
        named = re.findall(r"method: ([a-z-]+)", str(error))
        return {AN_ANSWER: getattr(error, "other_method", "") or next(iter(named), "")}
    (answer,) = results.cases.values()
    if answer.failed:
        return {} if TOO_SHORT in answer.failed else {AN_ANSWER: answer.other_method}
    return {
        name: state.method for name, state in answer.asked.items() if state.state == OTHER_METHOD
    }
