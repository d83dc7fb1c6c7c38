"""Occupation, overlap, bubble and efficiency: by every method, and by integration over a
simulated timeline.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slipstick import solve
from slipstick.answer import Answer
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.answers import NOTE_ON_SPEEDUP
from slipstick.method.simulation.flatten import timeline
from slipstick.model.activity import (
    Fork,
    Pipeline,
    Repeat,
    Step,
    choose,
    delay,
    fork,
    map_steps,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.steps import Activity, distinct_activities, steps
from slipstick.model.system import (
    Model,
    PhasedPopulation,
    Station,
    closed_model,
    open_model,
    phased_model,
)
from slipstick.sim.settings import Simulation
from slipstick.structure.work import ParallelWork
from tests.evaluators import value as plain_value
from tests.examples import examples
from tests.sim_strategies import RESOURCES, busy_models, calm_models, trees

BESIDE = ("occupation", "overlap", "bubble")
METHODS = ("closed-form", "mean-value", "simulation")
SHORT = Simulation(seed=1, cycles=40)
few = settings(max_examples=examples(25), deadline=None, derandomize=True)

STAGES = {f"gpu{index}": Station() for index in range(4)}


def gpipe(items: float = 16.0) -> Activity:
    """Items of one batch on four processors, as GPipe passes them."""
    return pipeline(
        [serial(service(name, 0.01, name=f"on-{name}")) for name in STAGES], items, name="batch"
    )


def data_parallel() -> Activity:
    """A step whose backward pass overlaps the exchange of gradients."""
    exchange = delay(0.176, name="reduce", component="communication")
    return delay(0.065, name="forward") >> fork(delay(0.115, name="backward"), exchange)


@pytest.mark.parametrize("method", METHODS)
def test_a_computation_beside_a_transfer_counts_as_useful(method: str) -> None:
    answer = solve(closed_model(data_parallel(), 8), method=method)
    assert answer["efficiency"] == pytest.approx(0.180 / 0.241)
    assert answer["speedup"] == pytest.approx(8 * 0.180 / 0.241)
    assert answer.account == pytest.approx({"busy": 0.065, "communication": 0.176})
    assert answer["occupation[busy]"] == pytest.approx(0.180 / 0.241)
    assert answer["overlap[busy]"] == pytest.approx(0.115 / 0.241)
    assert answer["overlap[communication]"] == 0
    assert not answer.values["overlap[communication]"].high
    assert answer["occupation[communication]"] == pytest.approx(0.176 / 0.241)
    lost = (
        "processors lost are those of the branches that end last; busy goes on beside them, as"
        " overlap says"
    )
    assert answer.notes[-2:] == (lost, NOTE_ON_SPEEDUP)


@pytest.mark.parametrize("method", METHODS)
def test_a_pipeline_shows_its_bubble(method: str) -> None:
    answer = solve(closed_model(gpipe(), 1, resources=STAGES), method=method)
    assert answer["bubble[batch]"] == pytest.approx(3 / 19)
    assert answer["efficiency"] == pytest.approx(16 / 19)
    assert answer["speedup"] == pytest.approx(4 * 16 / 19)
    assert answer["occupation[busy]"] == pytest.approx(64 / 19)
    workers = (
        "the efficiency is the speed-up divided by 4, the number of processors and servers that can"
        " do useful work at once"
    )
    assert workers in answer.notes


@pytest.mark.parametrize("method", METHODS[1:])
def test_efficiency_counts_servers_once_whoever_uses_them(method: str) -> None:
    # Two pipelines share four stations: there are four workers, not eight.
    answer = solve(closed_model(gpipe(4), 2, resources=STAGES), method=method)
    assert answer["efficiency"] == pytest.approx(answer["utilization[gpu0]"], rel=1e-9, abs=0)


def test_steps_at_processors_count_no_worker_beside_the_population() -> None:
    line = pipeline(
        [serial(service(f"processor[{index}]", 1.0, name=f"s{index}")) for index in range(3)], 2.0
    )
    answer = solve(closed_model(line, 3), method="simulation", simulation=SHORT)
    time = answer["time"]
    assert time
    assert answer["speedup"] == pytest.approx(3 * 6 / time)
    assert answer["efficiency"] == pytest.approx(6 / time)


@pytest.mark.parametrize(
    ("cycle", "processors", "workers"),
    [
        (delay(1.0), 5, 5),
        (fork(delay(1.0, name="a"), delay(1.0, name="b")), 5, 10),
        (fork(delay(1.0, name="a"), delay(1.0, name="b", component="io")), 5, 5),
        (fork(service("gpu0", 1.0, name="a"), service("gpu0", 1.0, name="b")), 1, 1),
        (fork(service("gpu0", 1.0, name="a"), service("gpu1", 1.0, name="b")), 5, 5),
        (fork(service("own", 1.0, name="a"), service("own", 1.0, name="b")), 5, 5),
        (then(gpipe(), gpipe(16).rebuilt(gpipe().children)), 1, 4),
        (gpipe(2), 1, 2),
        (pipeline([parallel(delay(1.0, name="a"))], 7.0), 2, 14),
        (pipeline([parallel(service("pool", 1.0, name="a"))], 7.0), 1, 3),
        (
            choose(
                (0.5, delay(1.0, name="a")), (0.5, fork(delay(1.0, name="b"), delay(1.0, name="c")))
            ),
            1,
            2,
        ),
        (repeat(3, fork(delay(1.0, name="b"), delay(1.0, name="c"))), 1, 2),
    ],
)
def test_workers_are_the_processors_and_servers_that_can_do_useful_work(
    cycle: Activity, processors: int, workers: int
) -> None:
    answer = solve(
        closed_model(cycle, processors, resources={**STAGES, "pool": Station(3)}),
        method="closed-form",
    )
    assert answer["speedup"] == pytest.approx(workers * answer["efficiency"])  # type: ignore[operator]


def test_without_fork_and_pipeline_nothing_stands_beside_the_account() -> None:
    model = closed_model(delay(9.0, name="work") >> service("bus", 1.0, component="io"), 4)
    for method in METHODS:
        answer = solve(model, method=method, simulation=SHORT)
        assert not any(name.startswith(BESIDE) for name in answer.values)
        assert answer["efficiency"] == pytest.approx(answer.account["busy"] / answer["time"])  # type: ignore[operator]


def work_by_integration(model: Model, cycles: int = 2) -> tuple[dict[str, float], float]:
    """Follow a processor for some cycles: seconds of each component in all branches and items,
    and the time.
    """
    found = timeline(model, cycles=cycles)
    components = {step.name: step.component for step in model.steps}
    sums = dict.fromkeys(components.values(), 0.0)
    for span in found.spans:
        if span.label in components:
            sums[components[span.label]] += span.end - span.start
    return sums, found.until


@pytest.mark.turns(4)
@few
@given(trees(random=False), st.integers(1, 3))
def test_occupation_is_what_a_timeline_shows(tree: Activity, cycles: int) -> None:
    model = closed_model(
        delay(1.0, name="begin", component="begin") >> tree, 1, resources=RESOURCES
    )
    sums, until = work_by_integration(model, cycles)
    answer = solve(model, method="simulation", simulation=SHORT)
    names = ParallelWork(model).components
    assert bool(names) == any(
        isinstance(node, Fork | Pipeline) and list(node.children) for node in steps(tree)
    )
    for name in names:
        assert answer[f"occupation[{name}]"] == pytest.approx(sums[name] / until, abs=1e-12)
        overlap = (sums[name] / until) - answer.account.get(name, 0.0) / (answer["time"] or 1.0)
        assert answer[f"overlap[{name}]"] == pytest.approx(overlap, abs=1e-9)
    if "busy" in names:
        assert answer["speedup"] == pytest.approx(sums["busy"] / until)


@pytest.mark.turns(4)
@few
@given(st.lists(trees(depth=1, calm=True), min_size=1, max_size=3), st.integers(1, 4))
def test_a_bubble_is_what_a_timeline_shows(bodies: list[Activity], items: int) -> None:
    # Stages that share a lock wait for each other, which closed forms do not count.
    used_names = [
        name for body in bodies for name in {use for node in steps(body) for use in node.uses}
    ]
    assume(len(used_names) == len(set(used_names)))
    stages = []
    for index, body in enumerate(bodies):
        own = map_steps(body, partial(numbered_step, index), partial("{1}-{0}".format, index))
        stages.append(serial(then(own, delay(0.5, name=f"last{index}")), name=f"stage{index}"))
    line = pipeline(stages, items, name="whole")
    model = closed_model(line, 1, resources=RESOURCES)
    sums, until = work_by_integration(model, cycles=1)
    places = sum(most_under_way(stage.bodies[0]) for stage in stages)
    bubble = 1 - sum(sums.values()) / (until * places)
    for method in METHODS:
        answer = solve(model, method=method, simulation=SHORT)
        assert answer["bubble[whole]"] == pytest.approx(bubble, abs=1e-9)


def numbered_step(index: int, step: Step) -> Step:
    name = f"{step.name}-{index}"
    return replace(step, name=name, time=Parameter(name, TIME, plain_value(step.time, {})))


def most_under_way(tree: Activity) -> int:
    """Count branches and items that can be under way at once, by the definition."""
    match tree:
        case Fork(branches):
            return sum(map(most_under_way, branches))
        case Pipeline(stages, items):
            each = [max(map(most_under_way, stage.bodies)) for stage in stages]
            many = int(items.value)  # type: ignore[attr-defined]
            lines = [
                one * (1 if stage.kind == "serial" else many)
                for stage, one in zip(stages, each, strict=True)
            ]
            return min(sum(lines), many * max(each))
    return max(map(most_under_way, tree.children), default=1)


@pytest.mark.turns(4)
@few
@given(calm_models())
def test_all_methods_agree_where_nothing_is_in_the_way(model: Model) -> None:
    first, *others = (solve(model, method=method, simulation=SHORT) for method in METHODS)
    wanted = {
        name: each.value
        for name, each in first.values.items()
        if name.startswith((*BESIDE, "speedup", "effi"))
    }
    for answer in others:
        values = {name: answer.values[name].value for name in wanted if name in answer.values}
        assert values == pytest.approx({name: wanted[name] for name in values}, abs=1e-9)
        missing = wanted.keys() - values.keys()
        assert all(name.startswith("bubble") for name in missing)
        assert not missing or _has_a_part_without_repetitions(model)


def _has_a_part_without_repetitions(model: Model) -> bool:
    """Return whether a part of the model, and with it a pipeline, may not be executed at all."""
    population = model.population
    phases = population.phases if isinstance(population, PhasedPopulation) else ()
    repeats = [node for node in distinct_activities(model.bodies) if isinstance(node, Repeat)]
    counts = [phase.repeat for phase in phases] + [node.count for node in repeats]
    return any(plain_value(count, {}) == 0 for count in counts)


@pytest.mark.turns(4)
@few
@given(busy_models(random=False))
def test_every_method_books_the_same_work_beside_its_own_time(model: Model) -> None:
    useful = ParallelWork(model)
    if not useful.components:
        return
    found: list[Answer] = [solve(model, method=method, simulation=SHORT) for method in METHODS]
    for answer in found:
        if answer.failed is None and answer["time"]:
            for name in useful.components:
                work = answer["occupation[" + name + "]"] * answer["time"]  # type: ignore[operator]
                expected = found[0][f"occupation[{name}]"] * found[0]["time"]  # type: ignore[operator]
                assert work == pytest.approx(expected, rel=1e-9)
                assert answer[f"overlap[{name}]"] >= -1e-9  # type: ignore[operator]
    simulated = found[-1]
    if "efficiency" in simulated.values:
        assert 0 <= simulated["efficiency"] <= 1 + 1e-9  # type: ignore[operator]


def test_random_times_widen_a_bubble_by_every_method_that_knows_them() -> None:
    line = pipeline(
        [serial(delay(1.0, name=f"s{index}", scv=1.0)) for index in range(3)], 8.0, name="line"
    )
    model = closed_model(line, 1)
    mean = solve(model, method="mean-value")["bubble[line]"]
    simulated = solve(
        model, method="simulation", simulation=Simulation(seed=3, cycles=20_000)
    ).values["bubble[line]"]
    assert simulated.low is not None
    assert simulated.low > 2 / 10
    assert mean == pytest.approx(simulated.value, abs=0.02)


@pytest.mark.turns(4)
def test_phases_and_arrivals_have_occupation_too() -> None:
    phases = phased_model((3, 2, data_parallel()), (1, 4, delay(0.1, name="last")))
    work = 3 * 0.5 * 0.18 + 0.1
    for method in METHODS:
        answer = solve(phases, method=method, simulation=SHORT)
        assert answer["occupation[busy]"] == pytest.approx(work / (3 * 0.241 + 0.1))
        assert answer["speedup"] == pytest.approx(4 * work / (3 * 0.241 + 0.1))
    arrivals = open_model(gpipe(), 1.0, resources=STAGES)
    columns = {method: solve(arrivals, method=method, simulation=SHORT) for method in METHODS}
    for answer in columns.values():
        assert "efficiency" not in answer.values
        assert math.isclose(answer["occupation[busy]"] * answer["time"], 0.64)  # type: ignore[operator]


def test_many_points_give_columns() -> None:
    from slipstick.method.closed_form import ClosedForm
    from slipstick_mean_value.form import MeanValue

    model = closed_model(gpipe(), 1, resources=STAGES)
    times = {"on-gpu0": np.array([0.005, 0.01, 0.02])}
    exact, mean = (form(model).points(times).columns() for form in (ClosedForm, MeanValue))
    for name in ("bubble[batch]", "efficiency", "occupation[busy]"):
        assert mean[name] == pytest.approx(exact[name])
