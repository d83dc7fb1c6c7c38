"""Crosses of constructs: what is valid is answered, or refused in words.

Disciplines, keys of stations, steps, resources and questions are listed by the schemas, so that a
new one joins by itself.
"""

from __future__ import annotations

import itertools
import random
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import slipstick
from slipstick.cli.main import main
from slipstick.errors import SlipstickError
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.library import editor_schema, names_of_kind
from slipstick.vocabulary import STATION_DISCIPLINES
from tests.examples import sample
from tests.samples import Sampler

Document = dict[str, Any]
QUICK = slipstick.Simulation(cycles=60)
LIMITS = {"states": 2000, "lattice": 1e6, "counting": 1}
NETWORK, ACTIVITY, STUDY = map(editor_schema, ("queueing-network", "activity", "study"))
POPULATIONS: tuple[Document, ...] = (
    {"arrivals": "0.3 1/s"},
    {"population": 2, "think_time": "1 s"},
)
PAIRS = 12
"""Pairs of keys of a station that are tried with each discipline: a fixed sample."""


def outcomes(documents: Iterable[Document]) -> tuple[Counter[str], list[str]]:
    """Count what becomes of specs, and list those that end in an error of another kind."""
    count, wrong = Counter[str](), list[str]()
    for document in documents:
        try:
            count[outcome(document)] += 1
        except Exception:  # noqa: BLE001  # whatever it is, it is listed
            last = traceback.format_exc().splitlines()[-1]
            wrong.append(f"{last}: {yaml.safe_dump(document, default_flow_style=True, width=9999)}")
    return count, wrong


def outcome(document: Document) -> str:
    """Load and solve a spec."""
    try:
        model = slipstick.load(document)
    except SlipstickError:
        return "refused"
    try:
        assert isinstance(model, Model | QueueingNetwork)
        slipstick.solve(model, simulation=QUICK, limits=LIMITS)
    except SlipstickError:
        return "no answer"
    return "answered"


def network_of(discipline: str) -> Iterator[Document]:
    """Yield networks of a station of one discipline with each key, and with some pairs of keys."""
    sampler = Sampler(NETWORK, {})
    station = sampler.resolved(NETWORK["$defs"]["QueueSpec"])
    base = {"discipline": discipline, "demand": {"x": "0.1 s"}}
    if "priority" in discipline:
        base["priority"] = {"x": 0}
    values = {
        key: list(sampler.options(inside, key))
        for key, inside in station["properties"].items()
        if key not in base
    }
    chosen: list[Document] = [{}]
    chosen += [{key: value} for key, several in values.items() for value in several]
    pairs = list(itertools.combinations(values, 2))
    for one, other in random.Random(discipline).sample(pairs, PAIRS):
        chosen.append({one: values[one][0], other: values[other][0]})
    for keys, population in itertools.product(chosen, POPULATIONS):
        made = {**base, **{key: _of_class(value) for key, value in keys.items()}}
        if "service" in keys:
            del made["demand"]
        yield {"queueing-network": 1, "classes": {"x": population}, "stations": {"disk": made}}


def _of_class(value: Any) -> Any:
    """Take a rank of 0, which is the first."""
    return {"x": 0} if value == {"x": 2} else value


@pytest.mark.turns(5)
@pytest.mark.parametrize("discipline", STATION_DISCIPLINES)
def test_each_discipline_with_each_key_of_a_station(discipline: str) -> None:
    count, wrong = outcomes(network_of(discipline))
    assert wrong == []
    assert count["answered"] >= 10


def test_patience_where_services_are_interrupted_is_refused_in_words() -> None:
    station = {"discipline": "priority-preemptive", "demand": {"x": "0.1 s"}, "priority": {"x": 0}}
    document = {
        "queueing-network": 1,
        "classes": {"x": POPULATIONS[0]},
        "stations": {"disk": {**station, "patience": {"x": "1 s"}}},
    }
    with pytest.raises(
        SlipstickError,
        match=(
            "customers abandon disk, which interrupts services; a chain does not distinguish "
            "customers that wait to be resumed from those whose service has not begun; ask for "
            "simulation"
        ),
    ):
        slipstick.solve(document, method="markov-chain")
    assert slipstick.solve(document, simulation=QUICK).method == "simulation"


def steps() -> list[str]:
    """Name the specs of all steps."""
    body = ACTIVITY["$defs"]["HoldSpec"]["properties"]["body"]["items"]["oneOf"]
    return [each["$ref"].rpartition("/")[2] for each in body]


def resources() -> list[str]:
    """Name the specs of all resources."""
    (inside,) = ACTIVITY["properties"]["resources"]["patternProperties"].values()
    return [each["$ref"].rpartition("/")[2] for each in inside["oneOf"]]


WORK: Document = {"delay": "1 ms"}
OF_STEPS: Document = {
    **dict.fromkeys(("service", "hold", "barrier", "put", "get", "ask", "reply"), "r"),
    **dict.fromkeys(("wait", "signal"), "r.x"),
    "fork": [[WORK], [WORK]],
    "body": [WORK],
    "do": [WORK],
    "stages": [{"serial": [WORK]}],
    "size": "4 KiB",
    "p": 1,
}
"""What keys of steps refer to, and bodies, which the smallest value of a schema does not have."""

MACHINE = "gpu-node-h100"
"""A machine with all that steps ask of one."""

OF_RESOURCES: Document = {"iterations": 4}
PARTNERS: tuple[Document, ...] = (
    {"signal": "r.x"},
    {"wait": "r.x"},
    {"put": "r"},
    {"get": "r"},
)
"""Steps without which another one waits for ever, or has nothing to do."""


NEEDED: dict[str, Document] = {
    "AttemptSpec": {"attempt": [{"service": "r", "time": "5 us"}], "timeout": "5 us"},
    "PickSpec": {"pick": [[{"service": "r", "time": "5 us"}], [{"service": "r", "time": "4 us"}]]},
}
"""What a step needs beyond what its schema requires."""


def activities(step: str) -> Iterator[Document]:
    """Yield activities of one step at each resource, alone, beside others and inside a hold; and
    with each of its keys and each key of the resource at some.
    """
    steps_of, resources_of = Sampler(ACTIVITY, OF_STEPS), Sampler(ACTIVITY, OF_RESOURCES)
    cycles = [
        {**each, **NEEDED.get(step, {})}
        for _, each in steps_of.with_each_key(ACTIVITY["$defs"][step])
    ]
    if step == "IfLateSpec":
        cycles = [{"fork": [[WORK], [cycle]], "join": 1} for cycle in cycles]
    # Some steps need one more key than their schema requires, or another machine.
    station = {"servers": 1}
    machines = (MACHINE, *names_of_kind("machine"))
    tried = ((machine, cycle) for machine in machines for cycle in cycles)
    good = ((m, cycle) for m, cycle in tried if valid(activity(station, cycle, machine=m)))
    machine, base = next(good, (MACHINE, cycles[0]))
    cycles = [base, *({**base, **cycle} for cycle in cycles if cycle != base)]
    for document in _crossed(cycles, resources_of, machine):
        yield {**document, "machine": machine}


def _crossed(cycles: list[Document], resources_of: Sampler, machine: str) -> Iterator[Document]:
    """Yield activities of the first of some steps at each resource, and of all at some."""
    accepted = 0
    for resource in resources():
        made = [each for _, each in resources_of.with_each_key(ACTIVITY["$defs"][resource])]
        if resource == "TaskPoolSpec":
            made = [{**each, **OF_RESOURCES} for each in made]
        yield activity(made[0], cycles[0])
        accepted += valid(activity(made[0], cycles[0], machine=machine))
        if accepted <= MOST_RESOURCES and valid(activity(made[0], cycles[0], machine=machine)):
            yield from (activity(made[0], cycle) for cycle in cycles[1:])
            yield from (activity(each, cycles[0]) for each in made[1:])
        for partner in PARTNERS:
            yield activity(made[0], partner, cycles[0])
            yield activity(made[0], cycles[0], partner)
            yield activity(made[0], {"hold": "r", "body": [partner, cycles[0]]})
        yield activity(made[0], {"hold": "r", "body": [cycles[0]]})


MOST_RESOURCES = 2
"""Resources at which each key of a step is tried, of those that the step takes."""


def valid(document: Document) -> bool:
    """Return whether a spec can be loaded."""
    try:
        slipstick.load(document)
    except SlipstickError:
        return False
    return True


def activity(resource: Document, *steps: Document, machine: str = "") -> Document:
    """Write an activity of two processors of a machine."""
    return {
        "activity": 1,
        "machine": machine or MACHINE,
        "population": {"processors": 2},
        "resources": {"r": resource},
        "cycle": [{"name": "before", **WORK}, *steps],
    }


@pytest.mark.turns(6)
@pytest.mark.parametrize("step", steps())
def test_each_step_with_each_resource(step: str) -> None:
    documents = list(activities(step))
    count, wrong = outcomes(sample(documents, least=12))
    assert wrong == []
    assert count["answered"] or any(outcome(each) == "answered" for each in documents)


MODELS: dict[str, tuple[Document, str, str]] = {
    "activity": ({"model": "lock-and-bus"}, "population.processors", "time"),
    "network": ({"model": "central-server"}, "classes.jobs.population", "response_time[jobs]"),
    "program": ({"model": "dvsm/lock", "machine": "rs6000-43p-atm"}, "parties", "time"),
    "law": (
        {"model": "law/amdahl-time", "serial": "1 s", "parallel": "3 s", "processors": 4},
        "processors",
        "time",
    ),
}
"""Of each kind of model a base, a path that is a number, and a value."""

OF_STUDIES = ("title", "source", "sources", "extends", "study", "text", "base", "limits", "engine")


def questions() -> list[str]:
    """Name the keys of a study that ask something."""
    return [key for key in STUDY["properties"] if key not in OF_STUDIES]


def asked(question: str, path: str, value: str) -> list[Any]:
    """Return values of a key of a study: what no schema knows, else what it allows."""
    below = f"{value} < 1000 s"
    known: dict[str, list[Any]] = {
        "what_if": [{"x": {path: 2}}],
        "vary": [{"x": {"axes": {path: [2, 4]}}}],
        "answer": [[value], ["throughput"], ["time_quantile[0.9]"]],
        "measured": [{"x": {"data": "runs.csv"}}],
        "traces": [{"x": {"case": "base"}}],
        "fits": [
            {"x": {"data": "runs.csv"}},
            {"x": {"made": {"case": "base", "population": path, "processors": [2, 4, 8]}}},
        ],
        "compare": [
            [
                {
                    "title": "t",
                    "columns": ["base"],
                    "rows": [{"row": "base", "sum": [value], "printed": [1]}],
                }
            ]
        ],
        "agree": [{"methods": ["bounds", "simulation"]}, {"methods": ["mean-value", "exact"]}],
        "rank": [{}, {"of": [path]}, {"change": 0.5}],
        "project": [{"trends": ["processors-only-1997"], "base_year": 1997, "years": [1998, 2000]}],
        "seek": [{"x": {"of": path, "from": 2, "to": 4, "where": below}}],
        "choose": [{"vary": {path: [2, 4]}, "minimize": value, "where": below}],
        "sample": [{"of": {path: {"distribution": "discrete", "values": [2, 4]}}, "samples": 16}],
        "bottleneck": [{"along": {path: [2, 4]}}],
        "scale": [{"processors": {path: [2, 4]}}],
        "statements": [{"x": {"says": "x", "value": value, "of": ["base"], "smallest": ["base"]}}],
        "pictures": [
            [{"kind": "bars", "name": "b", "title": "b", "cases": ["base"], "stack": "component"}],
            [{"kind": "timeline", "name": "b", "title": "b"}],
        ],
    }
    sampler = Sampler(STUDY, {"case": "base", "cases": ["base"], "name": "x"})
    return known.get(question, list(sampler.options(STUDY["properties"][question], question)))


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("question", questions())
def test_each_question_about_each_kind_of_model(
    question: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text("p,time [s]\n1,1\n2,0.6\n4,0.4\n8,0.3\n")
    base, path, value = MODELS[kind]
    for number, each in enumerate(asked(question, path, value)):
        quick = {} if kind == "law" else {"simulation.cycles": 60, "simulation.least": 60}
        document = {"study": 1, "base": {**base, **quick}, question: each}
        Path("s.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        checked = main(["check", "s.yaml"])
        assert checked in (0, 2)
        if checked == 0:
            assert main(["run", "s.yaml", "--out", f"found-{number}", "--no-html"]) in (0, 1, 2)
