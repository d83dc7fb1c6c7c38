"""Layered models whose throughput a simulator of layered networks has printed, written by hand as
activities.

Calls of a layered activity are geometric in number, and each picks its target; its own time is
divided into slices before, between and after the calls.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import Simulation, solve

FORKED = """
activity: 1
title: A job of ten calls, then two at the same time, on one processor with four disks
parameters: {calls: 10, slice: 9.0909090909 ms, access: 40 ms}
population: {processors: 1}
resources: {cpu: {}, d1: {}, d2: {}, d3: {}, d4: {}}
"""

BODY = """
- {{name: {0}, service: cpu, time: slice, scv: 1}}
- repeat: calls
  spread: geometric
  body:
  - choose:
    - {{p: 0.25, do: [{{name: {0}1, service: d1, time: access, scv: 1}}]}}
    - {{p: 0.25, do: [{{name: {0}2, service: d2, time: access, scv: 1}}]}}
    - {{p: 0.25, do: [{{name: {0}3, service: d3, time: access, scv: 1}}]}}
    - {{p: 0.25, do: [{{name: {0}4, service: d4, time: access, scv: 1}}]}}
  - {{name: {0}-next, service: cpu, time: slice, scv: 1}}
"""

REPLICATED = """
activity: 1
title: A client that calls both replicas of a server in each cycle
population: {processors: 1}
resources: {server: {servers: 1, discipline: ps, count: 2}}
cycle:
- {name: client, delay: 1 s, scv: 1}
- {name: first, service: server, time: 1 s, scv: 1}
- {name: second, service: server, time: 1 s, scv: 1}
"""


def indented(text: str, blanks: int) -> str:
    return "".join(f"{' ' * blanks}{line}\n" for line in text.strip().splitlines())


@pytest.mark.turns(4)
def test_calls_before_and_inside_of_a_fork_have_the_printed_throughput(tmp_path: Path) -> None:
    """Regression 45: 0.7606 within 0.0031. With whole numbers of calls it would be 0.805."""
    file = tmp_path / "forked.yaml"
    branches = "".join(f"  -\n{indented(BODY.format(name), 4)}" for name in ("b", "c"))
    file.write_text(f"{FORKED}cycle:\n{indented(BODY.format('a'), 0)}- fork:\n{branches}")
    settings = Simulation(seed=45, precision=0.004, events=6_000_000)
    answer = solve(file, method="simulation", simulation=settings)
    throughput = answer.values["throughput"]
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.high - throughput.low < 0.01
    assert throughput.low - 0.0031 <= 0.7606 <= throughput.high + 0.0031


@pytest.mark.parametrize("method", ["markov-chain", "simulation"])
def test_calls_to_both_replicas_have_the_printed_throughput(tmp_path: Path, method: str) -> None:
    """Regression 52: 0.3337 within 0.0042, and 1/3 by hand."""
    file = tmp_path / "replicated.yaml"
    file.write_text(REPLICATED)
    answer = solve(file, method=method, simulation=Simulation(precision=0.01))
    assert answer["throughput"] == pytest.approx(1 / 3, rel=1e-9 if answer.exact else 0.01)
