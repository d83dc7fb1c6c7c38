"""A package beside slipstick adds a step, a discipline and a method by its entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages import install, run_in

ENTRY_POINTS = """\
[slipstick.steps]
attempts = attempts:STEPS
[slipstick.instructions]
attempts = attempts:INSTRUCTIONS
[slipstick.disciplines]
attempts = attempts:DISCIPLINES
[slipstick.methods]
attempts = attempts:METHODS
"""

TABLES = """\
STEPS = {"until": "attempts.until:UntilSpec"}
INSTRUCTIONS = {"until": "attempts.until:write_until"}
DISCIPLINES = {"siro": "attempts.siro:SIRO"}
METHODS = {"activity/alone": "attempts.alone:ALONE"}
"""

UNTIL = """\
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from slipstick.expression.nodes import Expr
from slipstick.model.steps import ALWAYS, NOTHING, Activity, Combination
from slipstick.schema.kinds.activity import ItemSpec
from slipstick.schema.kinds.resources import Probability

if TYPE_CHECKING:
    from slipstick.schema.kinds.activity import Item


@dataclass(frozen=True, slots=True, repr=False)
class Until(Activity):
    success: Expr
    body: Activity

    made_of, word, variation = ("success", "body"), "until", ALWAYS
    combination, use = Combination.IN_TURN, NOTHING

    @property
    def executions(self):
        return (1 / self.success,)


class UntilSpec(ItemSpec):
    \"\"\"The same until it succeeds.\"\"\"

    until: Probability = Field(description="the probability with which one attempt succeeds")
    body: list[Item] = Field(description="one attempt", min_length=1)

    key, node = "until", Until
    use, example = "for attempts until one succeeds", "{until: 0.9, body: [{delay: 1 ms}]}"

    make = staticmethod(Until)


def write_until(step, writer, parties):
    again = 1 - writer.numbers[step.success]
    writer.builder.repeat_with_probability(again, lambda: writer.write(step.body, parties), "until")
"""

SIRO = """\
from slipstick.vocabulary import RANDOM, SAME_EXPONENTIAL, Discipline

SIRO = Discipline("siro", "service in random order", RANDOM, SAME_EXPONENTIAL)
"""

ALONE = """\
import numpy as np

from slipstick.expression.tape import Tape
from slipstick.method.answers import CompiledModel, Solution
from slipstick.method.ladder import Acceptance, Method
from slipstick.structure.times import time_of_pass


class Alone(CompiledModel):
    def __init__(self, model):
        self.model = model
        self.tape = Tape([time_of_pass(model.bodies[0], model, books_labels=False)])
        self.parameters = tuple(self.tape.parameters)

    def solution(self, values):
        seconds = self.tape.run(values)[0]
        return Solution(
            model=self.model.name,
            method="alone",
            count=len(seconds),
            exact=np.zeros(1, dtype=bool),
            values={"time": seconds},
        )


def accepts(model, must_be_smooth):
    yes = model.name == "quick"
    return Acceptance(yes, "" if yes else "it answers for quick models only")


ALONE = Method("alone", "activity", lambda model, *_: Alone(model), 20.0, accepts)
"""

NETWORK = """\
queueing-network: 1
stations: {cpu: {discipline: siro, service: {jobs: 1 ms, users: 3 ms}}}
classes: {jobs: {population: 3, think_time: 4 ms}, users: {population: 2, think_time: 9 ms}}
"""

MODEL = """\
activity: 1
population: {processors: 4}
resources: {disk: {servers: 1}}
cycle:
  - {name: think, delay: 4 ms}
  - {until: 0.25, body: [{service: disk, time: 1 ms}]}
"""

COMMANDS = """\
import json
from contextlib import redirect_stdout
from io import StringIO

from slipstick import dump, load
from slipstick.cli.main import main


def answer(*arguments):
    text = StringIO()
    with redirect_stdout(text):
        assert main(["solve", *arguments, "--json"]) == 0, text.getvalue()
    return json.loads(text.getvalue())["answers"][0]


assert main(["check", "slow.yaml", "quick.yaml"]) == 0
assert answer("slow.yaml")["method"] == "simulation"
assert answer("slow.yaml", "--with", "alone")["values"]["time"]["value"] == 0.008
assert answer("quick.yaml")["method"] == "alone"
alone = answer("slow.yaml", "--set", "population.processors=1")
assert (alone["method"], alone["exact"]) == ("closed-form", True)
assert abs(alone["values"]["utilization[disk]"]["value"] - 0.5) < 1e-12
assert main(["solve", "slow.yaml", "--with", "mean-value"]) == 1
assert main(["solve", "slow.yaml", "--with", "alon"]) == 2

assert main(["check", "siro.yaml", "disk.yaml"]) == 0
for method in ("markov-chain", "simulation"):
    ours, theirs = (answer(f"{name}.yaml", "--with", method) for name in ("random", "siro"))
    assert ours["values"] == theirs["values"], method
assert main(["check", "sirro.yaml"]) == 2
assert "until: 0.25" in dump(load("slow.yaml"))
"""


@pytest.mark.turns(10)
def test_a_package_adds_a_step_a_discipline_and_a_method(tmp_path: Path) -> None:
    texts = {"__init__": TABLES, "until": UNTIL, "alone": ALONE, "siro": SIRO}
    modules = {f"attempts/{name}.py": text for name, text in texts.items()}
    install(tmp_path, "attempts", ENTRY_POINTS, modules)
    for name in ("slow", "quick"):
        (tmp_path / f"{name}.yaml").write_text(MODEL)
    (tmp_path / "disk.yaml").write_text(MODEL.replace("servers: 1", "discipline: siro"))
    for name in ("siro", "random", "sirro"):
        (tmp_path / f"{name}.yaml").write_text(NETWORK.replace("siro", name))
    done = run_in(tmp_path, COMMANDS)
    assert done.returncode == 0, done.stderr
    assert "mean-value has no rule for steps of the kind until; ask for another method" in (
        done.stdout + done.stderr
    )
    assert "did you mean 'alone'?" in done.stderr
    assert (
        "sirro.yaml:2:30: stations.cpu.discipline: write 'fcfs', 'ps', 'lcfs', 'random', 'lcfs-pr',"
        " 'is', 'priority', 'priority-preemptive' or 'siro'; got 'sirro'; did you mean 'siro'?"
    ) in done.stderr
