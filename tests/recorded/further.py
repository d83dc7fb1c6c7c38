"""Further inputs to be recorded: hosts whose clocks are computed, laws at points, and commands on
what is shipped.

Each is a name, from which all follows that is needed to build it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slipstick.errors import SlipstickError
from slipstick.law.law import LAWS
from slipstick.queueing.approximate import usual_error
from slipstick.queueing.network import network_arrays
from tests.calibration import HOST, use_computed_clocks
from tests.mutations import SHIPPED

__all__ = [
    "commands_of_hosts",
    "commands_of_shipped",
    "host_of",
    "laws_at_points",
    "numbers_of_law",
    "numbers_of_promise",
    "promises",
]

_ROOT = Path(__file__).parents[2]

# Hosts

HOSTS: Mapping[str, Mapping[str, Any]] = {
    "usual": HOST,
    "one cache": {**HOST, "sizes": (4 << 20,), "hits": (3e-9, 90e-9), "line": 128.0},
    "slow locks": {**HOST, "own": 9e-9, "handed": 150e-9, "latency": 19e-9, "step": 0.6e-9},
    "two caches": {
        **HOST,
        "sizes": (32 << 10, 8 << 20),
        "hits": (1.5e-9, 11e-9, 140e-9),
        "central": 90e-9,
        "byte": 0.2e-9,
    },
}
GRAINS = (
    "{elements: 4096, pattern: random, accesses: 2, compute: 50, lock: mcs, critical: 5}",
    "{elements: 1048576, pattern: random, accesses: 1, access: write, compute: 10}",
    "{accesses: 0, compute: 30, lock: ticket, critical: 4}",
)
OF_HOSTS = (
    "calibrate -o h.yaml --seconds 3 --force && check h.yaml",
    "calibrate -o h.yaml --seconds 3 && show h.yaml && solve grain/unit --machine h.yaml --json",
    "calibrate -o h.yaml --seconds 6 --json && explain grain/unit --machine h.yaml",
    "calibrate -o h.yaml --seconds 3 --cores 1 && show h.yaml --json",
    "calibrate -o h.yaml --seconds 3 && calibrate --check h.yaml --seconds 5",
    "calibrate -o h.yaml --seconds 3 && calibrate --check h.yaml --seconds 5 --json",
    "calibrate --grain g0.yaml --seconds 4",
    "calibrate --grain g1.yaml --seconds 4 --json",
    "calibrate --grain g2.yaml --seconds 4 -o drawn && cat drawn/points.csv",
)
FILES_OF_HOSTS = {
    f"g{number}.yaml": f"workload: 1\ntitle: t\nmodel: grain/unit\ninputs: {inputs}\n"
    for number, inputs in enumerate(GRAINS)
}


def commands_of_hosts() -> Iterator[str]:
    for name in HOSTS:
        for command in OF_HOSTS:
            yield f"{name} | {command}"


@contextmanager
def host_of(name: str) -> Iterator[None]:
    """Let commands measure a known host with computed clocks."""
    with pytest.MonkeyPatch.context() as patch:
        use_computed_clocks(patch, HOSTS[name])
        yield


# Laws

FACTORS = (0.5, 0.8, 1.0, 1.25, 2.0, 3.0)
POINTS = 12


def laws_at_points() -> Iterator[str]:
    yield from LAWS


def numbers_of_law(name: str) -> Sequence[float]:
    """Return the values of a law about the points of its checks; of a refusal, 0."""
    law, chance = LAWS[name], random.Random(name)
    numbers = []
    for point in range(POINTS):
        given = law.given(law.checks[point % len(law.checks)])
        for symbol in given:
            factor = chance.choice(FACTORS)
            whole = symbol in law.whole_symbols
            given[symbol] = round(given[symbol] * factor) if whole else given[symbol] * factor
        try:
            numbers.append(float(law(**given)))
        except SlipstickError:
            numbers.append(0.0)
    return numbers


# Errors that approximations of networks promise

CONSTRUCTS: Mapping[str, Mapping[str, Any]] = {
    "single": {},
    "several": {"servers": [1, 3, 2]},
    "speeds": {"rates": [[1, 1.5, 1.7], None, None]},
    "times that differ": {"discipline": "fcfs"},
    "scv below 1": {"discipline": "fcfs", "scv": 0.5},
    "scv above 1": {"discipline": "fcfs", "scv": 3.0},
    "priorities": {"discipline": "priority", "priority": [1, 2]},
    "preemptive": {"discipline": "priority-preemptive", "priority": [1, 2]},
}


def promises() -> Iterator[str]:
    for name in CONSTRUCTS:
        for method in ("schweitzer", "linearizer"):
            yield f"{name} | {method}"


def numbers_of_promise(name: str) -> Sequence[float]:
    """Return the errors that a method promises for a network with a construct."""
    construct, method = name.split(" | ")
    demands = [[0.5, 0.7, 0.3], [0.2, 0.3, 0.4]]
    network = network_arrays(demands, population=[4, 3], think=1.0, **CONSTRUCTS[construct])
    promise = usual_error(network, with_correction=method == "linearizer")
    return [float(number) for number in re.findall(r"([\d.]+) %", promise)]


# What is shipped

STUDIES = tuple(
    name.partition("/")[2]
    for name, text in SHIPPED.items()
    if name.startswith("studies/") and len(text) < 14_000
)
ACTIVITIES, NETWORKS = (
    tuple(name.partition("/")[2] for name in SHIPPED if name.startswith(f"{kind}/"))
    for kind in ("activities", "queueing")
)
KINDS = (
    *("machine", "network", "workload", "technology", "fitted", "activity", "queueing-network"),
    *("study", "profile", "trend", "batch-server", "counts"),
)
OF_MODELS = (
    "explain {} --latex",
    "explain {} --json",
    "solve {} --check all --json",
    "solve {} --timeline t.json && cat t.json",
    "solve {} --timeline t.csv && cat t.csv",
    "solve {} --with simulation --seed 2 --precision 20% --json",
    "solve {} --with simulation --seed 3 --precision 30%",
    "solve {} --with mean-value,simulation --precision 30%",
    "solve {} --all --with bounds",
)
PROGRAMS = (
    *("dvsm/sor --workload sor", "dvsm/is --workload is", "dvsm/lock", "dvsm/page-fault"),
    *(
        "grain/unit --workload mad-random --machine bbn-gp1000",
        "dvsm/message",
        "dvsm/barrier-slave",
    ),
)
OF_PROGRAMS = (
    "solve {} --with simulation --precision 20% --json",
    "solve {} --check all --all",
    "solve {} --timeline t.json && cat t.json",
    "explain {} --latex",
    "solve {} --technology eight-times --json",
)
DAMAGES = 4


def commands_of_shipped() -> Iterator[str]:
    for study in STUDIES:
        for mutation in range(DAMAGES):
            for rest in (" && cat out/report.md", " --json", " --all"):
                yield f"study {study} | {mutation} | run s.yaml --out out --no-html{rest}"
    for models, commands in (((*ACTIVITIES, *NETWORKS), OF_MODELS), (PROGRAMS, OF_PROGRAMS)):
        for model in models:
            for command in commands:
                yield f" | 0 | {command.format(model)}"
    for kind in KINDS:
        yield f" | 0 | schema {kind}"
        yield f" | 0 | new {kind}"
    for command in (
        *("limits", "limits --json", "list nothing"),
        *(
            "trend fit measured",
            "trend fit milestones",
            "trend backtest",
            "trend backtest --choose",
        ),
        *("counts dvsm/sor --set rows=64", "counts dvsm/is --set keys=1024", "counts dvsm/lock"),
        *("show rs6000-43p-atm", "show milestones --json", "show serving-vllm --json"),
        *("points my-program -o p.parquet", "status ."),
        *("solve nothing", "solve", "run nothing", "fit nothing.csv", "solve lock-and-bus --st 1"),
        *("solve lock-and-bus --set population.processors=0", "solve lock-and-bus --precision 0"),
        "solve serving-step --fitted serving-vllm --json",
        "solve serving-step --fitted serving-tensorrt-llm",
        "solve language-model-step --machine gpu-node-h100 --json",
        "import nothing.txt -o x.yaml",
    ):
        yield f" | 0 | {command}"
    for path in TRACES:
        for option in TRACE_OPTIONS:
            yield f"trace {path} | 0 | trace f {option}"


TRACES = tuple(
    str(path.relative_to(_ROOT))
    for folder in ("tests/measure/traces/files", "tests/shelf/trace-tracks")
    for path in sorted((_ROOT / folder).iterdir())
    if path.suffix in (".prv", ".json", ".txt", ".csv") and path.stat().st_size < 100_000
)
TRACE_OPTIONS = (
    "--view matrix",
    "--view concurrency --json",
    "--view utilization --window 1ms",
    "--view work --json",
    "--view contention --json",
    "--from 1us --to 3ms --json",
    "--only 1 --json",
    "--unit ms --machine rs6000-43p-atm --json",
    "--useful Running,run,compute",
)
