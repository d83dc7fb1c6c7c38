"""A small program with a class of cost for each part, and studies of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.results.study import Results
from slipstick.schema.inputs import solve_settings
from slipstick.schema.library import Library
from slipstick.study.engine import Engine
from slipstick.study.run import prepare, run
from tests.specs import activity, settings

__all__ = ["TREND", "alone", "found", "in_folder"]

HEAD = """\
parameters: {computing: 6 ms, memory: 3 ms, messages: 40, latency: 20 us}
population: {processors: 64}
"""
ITEMS = (
    "{name: compute, delay: computing}",
    "{name: fetch, delay: memory, component: memory, technology: memory}",
    "{name: hop, delay: messages * latency, component: network, technology: adapter}",
)
TREND = """\
trend: 1
source: made up
rates:
  processors:
    - {from: 2000, to: 2010, factor: 1.4}
    - {from: 2010, to: 2020, factor: {value: 1.1, assumed: true}, spread: 10%}
  adapter:
    - {from: 2000, to: 2020, factor: 1.05}
"""


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the program and its trend, and work beside them."""
    monkeypatch.chdir(folder)
    Path("model.yaml").write_text(activity(*ITEMS, head=HEAD))
    Path("trend.yaml").write_text(TREND)
    return folder


def found(*lines: str, base: str = "{model: model.yaml}", jobs: int = 1) -> Results:
    """Run a study."""
    Path("study.yaml").write_text("\n".join(["study: 1", f"base: {base}", *lines, ""]))
    return run(prepare("study.yaml"), engine=Engine(jobs=jobs))


def alone(name: str = "time", **given: str) -> float:
    """Solve one point by itself."""
    (answer,), _ = solve_settings(settings(**{"model": "model.yaml", **given}), Library())
    value = answer.find(name)
    assert value is not None
    return value
