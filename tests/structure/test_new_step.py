"""A step that is defined here, by what every kind states, is right in all facts, is simulated by
default, and is refused by name by methods that have no rule for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from slipstick import Simulation, solve
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import COUNT, TIME, Expr, Number, Parameter, zero
from slipstick.method.simulation.flatten import INSTRUCTIONS, Parties, Writer
from slipstick.model.activity import delay, fork, hold, service
from slipstick.model.steps import ALWAYS, NOTHING, SERVED, Activity, Combination
from slipstick.model.system import Model, ResourceKind, Station, closed_model, open_model
from slipstick.structure.visits import visit_trees

SETTINGS = Simulation(seed=2, precision=0.005)


@dataclass(frozen=True, slots=True, repr=False)
class Until(Activity):
    """The same, repeated until an attempt succeeds, each with the same probability."""

    success: Expr
    body: Activity

    made_of, word, variation = ("success", "body"), "until", ALWAYS
    combination, use = Combination.IN_TURN, NOTHING

    @property
    def executions(self) -> tuple[Expr, ...]:
        return (1 / self.success,)


def write_until(step: Until, writer: Writer, parties: Parties) -> None:
    again = 1 - writer.numbers[step.success]
    writer.builder.repeat_with_probability(again, lambda: writer.write(step.body, parties), "until")


@pytest.fixture(autouse=True)
def _with_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTRUCTIONS.definitions, "until", write_until)


def attempts(success: float, name: str = "disk") -> Until:
    return Until(Number(success), service("disk", 1.0, name=name))


def alone(activity: Activity, processors: int = 1) -> Model:
    return closed_model(delay(4.0, name="think") >> activity, processors)


def test_its_facts_follow_from_what_it_states() -> None:
    answer = solve(alone(attempts(0.25)), method="closed-form")
    assert (answer["time"], answer["utilization[disk]"], answer.exact) == (8.0, 0.5, True)
    bounds = solve(alone(attempts(0.25), 8), method="bounds")
    assert bounds.values["time"].low == 8 * 4.0
    (tree,) = visit_trees([attempts(0.25)], alone(attempts(0.25)))
    assert tree.visit_ratios({Number(4.0): 4.0})[0] == 4.0  # type: ignore[dict-item]
    saturated = open_model(attempts(0.25), 0.3, resources={"disk": Station()})
    with pytest.raises(NoAnswerError, match="station disk is saturated"):
        solve(saturated, method="closed-form")


def test_its_parameters_are_those_of_the_model() -> None:
    until = Until(Parameter("success", COUNT, 0.25), service("disk", 1.0))
    answer = solve(alone(until), {"success": [0.5, 0.25]}, method="closed-form")
    assert answer["time"].tolist() == [6.0, 8.0]


@pytest.mark.turns(4)
def test_a_maximum_over_it_is_exact_nowhere_and_simulated_by_default() -> None:
    beside = fork(
        Until(Number(0.25), delay(1.0, name="left")), Until(Number(0.25), delay(1.0, name="right"))
    )
    assert not solve(closed_model(beside, 1), method="closed-form").exact
    answer = solve(closed_model(beside, 1), simulation=SETTINGS)
    # The larger of two geometric numbers of mean 4: 2 x 4 less the mean of the smaller, 16/7.
    assert answer.method == "simulation"
    assert answer["time"] == pytest.approx(8 - 16 / 7, rel=0.01)


@pytest.mark.parametrize("model", [alone(attempts(0.25)), alone(hold("door", attempts(0.5)))])
def test_exact_answers_with_it_are_those_of_simulation(model: Model) -> None:
    answer, simulated = solve(model), solve(model, method="simulation", simulation=SETTINGS)
    assert answer.exact
    assert simulated["time"] == pytest.approx(answer["time"], rel=0.02)
    assert simulated["utilization[disk]"] == pytest.approx(answer["utilization[disk]"], rel=0.02)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            "mean-value",
            "mean-value has no rule for steps of the kind until; ask for another method",
        ),
        (
            "markov-chain",
            (
                "markov-chain takes no steps of the kind until, for which it has no rule: ask for"
                " simulation"
            ),
        ),
    ],
)
def test_methods_without_a_rule_refuse_it_by_name(method: str, words: str) -> None:
    model = closed_model(Until(Number(0.25), service("disk", 1.0, scv=1.0)), 4)
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method=method)
    assert str(caught.value) == words
    assert solve(model, simulation=SETTINGS).method == "simulation"


def test_simulation_refuses_it_without_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(INSTRUCTIONS.definitions, "until")
    with pytest.raises(NoAnswerError, match="simulation has no rule for steps of the kind until"):
        solve(alone(attempts(0.25), 4))


@dataclass(frozen=True, slots=True)
class Gate(ResourceKind):
    """A resource that no method but the facts knows."""

    noun, use, capacity = "a gate", SERVED, 1

    def use_time(self, name: str, processors: Expr, with_labels: bool) -> Expr:
        return zero(TIME)

    def labels(self, name: str, with_waits: bool) -> tuple[str, ...]:
        return ()


def test_a_resource_without_a_rule_is_refused_by_simulation() -> None:
    gates: dict[str, Any] = {"gate": Gate()}
    model = closed_model(service("gate", 1.0), 4, resources=gates)
    assert solve(model, method="closed-form").notes[0] == "leaves out waiting for gate"
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="simulation")
    assert str(caught.value) == (
        "simulation has no rule for resources of the kind Gate; ask for another method"
    )
