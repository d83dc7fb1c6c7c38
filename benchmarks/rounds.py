r"""The formula of servers that work in rounds beside simulation, on a server of a language model.

Streams at parts of the capacity by mean rounds, with prompts in one round and in several; closed
populations without think time, whose lengths differ; and the capacity itself, beside the
throughput of a population that is larger than the server. Printed are errors of the formula: of the
first phase (time to first token) its mean and 95 of 100, of the time of a unit of the second the
same, and of the number that a round serves.

    python benchmarks/rounds.py [--visits 6000] [--seed 1 --runs 2] \
        [--drawn 6 [--brief] | --wide 8 | --varied 8 | --closed 12]
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from slipstick import solve
from slipstick.api import load
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Number
from slipstick.sim.settings import Simulation
from slipstick_rounds.capacity import loads_of
from slipstick_rounds.formula import BatchServerFormula
from slipstick_rounds.model import BatchServer, ClosedCustomers
from slipstick_rounds.simulation import AVAILABLE

LENGTHS = ((256, 256, 8192), (1024, 1024, 8192), (1024, 128, 8192), (8192, 256, 2048))
"""Units of the first phase, of the second with one more, and the budget of a round."""

LOADS = (0.3, 0.6, 0.8)
PARTS = (0.3, 0.55, 0.8)
"""Of the capacity, of drawn streams."""
CLIENTS = (4, 16, 64)
MEAN, LATE, GAP = (
    "phase_time[prompt]",
    "phase_time_quantile[prompt,0.95]",
    "time_per_unit[answer]",
)
LATE_GAP, SERVED = "time_per_unit_quantile[answer,0.95]", "served"
NAMES = (MEAN, LATE, GAP, LATE_GAP, SERVED)
PROMISED = (10, 15, 10, 15, 10)
"""Largest errors of these values [%]."""


def parameters(prompt: int, output: int, tokens: int) -> dict[str, float]:
    """Return the parameters of lengths."""
    names = ("prompt", "output", "tokens")
    return {
        f"parameters.{name}": float(value)
        for name, value in zip(names, (prompt, output, tokens), strict=True)
    }


def capacity(values: Mapping[str, float | str]) -> float:
    """Return the rate at which mean rounds are saturated [1/s]."""
    model = load("llm-serving", set=values)
    assert isinstance(model, BatchServer)
    (point,) = BatchServerFormula(model).points_at({})
    return point.rate / float(loads_of([point])[0])


def errors(
    model: str | BatchServer, settings: Simulation, values: Mapping[str, float | str] | None = None
) -> str:
    """Solve a model by the formula and by simulation, and write the errors of the formula."""
    formula = solve(model, values, method="formula")
    run = solve(model, values, method="simulation", simulation=settings)
    error_texts = []
    for name in NAMES:
        simulated, computed = run.find(name), formula.find(name)
        if simulated is None or computed is None:
            error_texts.append(f"{'-':>11}")
        else:
            error_texts.append(f"{100 * (computed / simulated - 1):+9.1f} %")
    settled = "" if run.converged else "  (run less precise than 2 %)"
    return "".join(error_texts) + settled


def drawn(count: int, seed: int, brief: bool) -> list[tuple[tuple[int, int, int], str]]:
    """Draw lengths, a budget, and a GPU.

    Parameters
    ----------
    count : of cases
    seed : of the draws
    brief : draw second phases of 16 to 64 rounds, behind first phases of a part of a round as well;
        else second phases are longer and first phases take several rounds
    """
    chance = np.random.default_rng(seed)
    outputs, rounds = ((17, 65), (0.125, 6.0)) if brief else ((64, 800), (1.2, 6.0))
    cases = []
    for _ in range(count):
        prompt = int(np.exp(chance.uniform(np.log(2000), np.log(20000))))
        output = int(np.exp(chance.uniform(*np.log(outputs))))
        tokens = int(prompt / chance.uniform(*rounds))
        gpu = str(chance.choice(["gpu-node-h100", "gpu-node-h200"]))
        cases.append(((prompt, output, tokens), gpu))
    return cases


def drawn_values(chance: np.random.Generator, *ends: tuple[float, float]) -> dict[str, float | str]:
    """Draw the parameters that all streams have; their logarithms are uniform.

    Parameters
    ----------
    chance : random numbers
    ends : smallest and largest length of a prompt and of an answer, and number of places
    """

    def between(low: float, high: float) -> float:
        return float(np.exp(chance.uniform(np.log(low), np.log(high))))

    prompt, output, slots = (int(between(*pair)) for pair in ends)
    tokens = int(max(prompt / between(1 / 8, 6), 256))
    return {**parameters(prompt, output, tokens), "parameters.slots": float(slots)}


def drawn_wide(count: int, seed: int) -> list[dict[str, float | str]]:
    """Draw lengths, budgets, places, memory and GPUs over all that the formula may be asked.

    Parameters
    ----------
    count : of cases
    seed : of the draws
    """
    chance = np.random.default_rng(seed)
    cases = []
    for _ in range(count):
        values = drawn_values(chance, (64, 16000), (17, 1000), (4, 400))
        values["parameters.shortest"] = float(chance.choice([0.3, 0.6, 0.8, 1.0]))
        values["parameters.reserve"] = f"{chance.uniform(4, 54):.1f} GB"
        values["admission"] = str(chance.choice(["grow", "reserve"]))
        values["machine"] = str(chance.choice(["gpu-node-h100", "gpu-node-h200"]))
        cases.append(values)
    return cases


def drawn_varied(count: int, seed: int) -> list[dict[str, float | str]]:
    """Draw streams whose lengths differ by a factor of 5 to 50, as those of conversations do.

    Parameters
    ----------
    count : of cases
    seed : of the draws
    """
    chance = np.random.default_rng(seed)
    cases = []
    for _ in range(count):
        values = drawn_values(chance, (200, 16000), (150, 4000), (16, 400))
        values["parameters.shortest"] = float(chance.choice([0.02, 0.05, 0.1, 0.2]))
        values["machine"] = str(chance.choice(["gpu-node-h100", "gpu-node-h200"]))
        cases.append(values)
    return cases


def streams(cases: list[dict[str, float | str]], seed: int, visits: int, replications: int) -> None:
    """Print errors of drawn streams, as means over runs of several seeds, with the largest relative
    difference of two of these runs in brackets; then how many answers are beyond the promises.
    """
    errors_of: list[list[float]] = []
    refused_count = 0
    kernel = "compiled" if AVAILABLE else "auto"
    for case, values in enumerate(cases):
        largest_rate = capacity(values)
        for load_part in PARTS:
            inputs = {**values, "parameters.rate": f"{load_part * largest_rate!r} /s"}
            words = "/".join(
                f"{value:g}" if isinstance(value, float) else value.removeprefix("gpu-node-")
                for value in values.values()
            )
            try:
                formula = solve("llm-serving", inputs, method="formula")
            except NoAnswerError as refusal:
                refused_count += 1
                print(f"{words:26}{load_part:>6}  refused: {refusal}", flush=True)
                continue
            runs = [
                solve(
                    "llm-serving",
                    inputs,
                    method="simulation",
                    # Runs of one seed have the same arrivals, and err to the same side.
                    simulation=Simulation(
                        seed=seed + 1000 * case + index, cycles=visits, kernel=kernel
                    ),
                )
                for index in range(replications)
            ]
            cells = []
            row = []
            for name in NAMES:
                times_of_runs = [run.find(name) or math.nan for run in runs]
                predicted = formula.find(name)
                error = (
                    math.nan
                    if predicted is None
                    else 100 * (predicted / float(np.mean(times_of_runs)) - 1)
                )
                spread_percent = 100 * (max(times_of_runs) / min(times_of_runs) - 1)
                row.append(error)
                cells.append(f"{error:+9.1f} % ({spread_percent:.0f})")
            errors_of.append(row)
            print(f"{words:26}{load_part:>6}{''.join(cells)}", flush=True)
    beyond = (abs(np.array(errors_of)) > np.array(PROMISED)).sum(axis=0)
    errors_text = ", ".join(
        f"{name} {count} beyond {promised} %"
        for name, count, promised in zip(NAMES, beyond, PROMISED, strict=True)
    )
    print(f"{len(errors_of)} answered, {refused_count} refused: {errors_text}")


def drawn_closed(count: int, seed: int) -> list[tuple[dict[str, float | str], int, float]]:
    """Draw parameters of closed populations, customers and think times [s]; a half has none.

    Parameters
    ----------
    count : of cases
    seed : of the draws
    """
    chance = np.random.default_rng(seed)
    cases = []
    for index in range(count):
        prompt, output = (
            int(np.exp(chance.uniform(*np.log(ends)))) for ends in ((64, 16000), (64, 800))
        )
        tokens = int(max(prompt / np.exp(chance.uniform(np.log(1 / 8), np.log(6))), 256))
        clients = int(np.exp(chance.uniform(np.log(2), np.log(96))))
        shortest = round(float(chance.uniform(0.3, 0.9)), 2)
        values: dict[str, float | str] = {**parameters(prompt, output, tokens)}
        values["parameters.shortest"] = shortest
        think = float(np.exp(chance.uniform(np.log(0.2), np.log(20)))) if index % 2 else 0.0
        cases.append((values, clients, think))
    return cases


def closed(count: int, seed: int, visits: int) -> None:
    """Print errors of drawn closed populations; they begin together, and each makes at least 100
    visits, so that they do not stay so.
    """
    for values, clients, think in drawn_closed(count, seed):
        model = with_clients(load("llm-serving", set=values), clients, think)
        settings = Simulation(seed=seed, cycles=max(visits, 200 * clients))
        words = "/".join(f"{value:g}" for value in values.values())
        print(
            f"{words:26}{clients:>4} clients, {think:5.1f} s{errors(model, settings)}", flush=True
        )


def main() -> None:
    """Solve every case both ways and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=6000, help="visits of each run")
    parser.add_argument("--short", action="store_true", help="one small case of each kind")
    parser.add_argument("--drawn", type=int, default=0, help="cases of long prompts instead")
    parser.add_argument(
        "--brief", action="store_true", help="draw second phases of 16 to 64 rounds"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the drawn cases and their runs")
    parser.add_argument("--runs", type=int, default=2, help="of each drawn stream")
    parser.add_argument(
        "--wide", type=int, default=0, help="cases of all lengths, places and memory instead"
    )
    parser.add_argument(
        "--varied", type=int, default=0, help="cases of widely varied lengths instead"
    )
    parser.add_argument("--closed", type=int, default=0, help="drawn closed populations instead")
    options = parser.parse_args()
    if options.closed:
        closed(options.closed, options.seed, options.visits)
        return
    if options.drawn or options.wide or options.varied:
        cases: list[dict[str, float | str]] = [
            {**parameters(*case), "machine": gpu}
            for case, gpu in drawn(options.drawn, options.seed, options.brief)
        ]
        cases += drawn_wide(options.wide, options.seed)
        cases += drawn_varied(options.varied, options.seed)
        streams(cases, options.seed, options.visits, options.runs)
        return
    if options.short:
        listed(LENGTHS[2:3], [0.3], [4], 8, 200)
    else:
        listed(LENGTHS, LOADS, CLIENTS, 400, options.visits)


def listed(
    lengths: Sequence[tuple[int, int, int]],
    loads: Sequence[float],
    clients: Sequence[int],
    many: int,
    visits: int,
) -> None:
    """Print errors of streams and closed populations of given lengths, and that of the capacity.

    Parameters
    ----------
    lengths : of prompts and answers, with budgets
    loads : of streams, as parts of the capacity
    clients : numbers of them
    many : clients of the population whose throughput is the capacity
    visits : of each run
    """
    settings = Simulation(seed=5, cycles=visits)
    heads = ("mean", "95 of 100", "unit", "95 of 100", "served")
    print(f"{'lengths, budget':22}{'load':>12}" + "".join(f"{head:>11}" for head in heads))
    for case in lengths:
        values, words = parameters(*case), "{}/{}, {}".format(*case)
        largest_rate = capacity(values)
        for load_part in loads:
            inputs: dict[str, float | str] = {
                **values,
                "parameters.rate": f"{load_part * largest_rate!r} /s",
            }
            print(f"{words:22}{load_part:>12}{errors('llm-serving', settings, inputs)}", flush=True)
        model_of_many = load("llm-serving", set={**values, "parameters.shortest": 0.8})
        for count in clients:
            model = with_clients(model_of_many, count)
            print(f"{words:22}{count:>4} clients{errors(model, settings)}", flush=True)
        full = with_clients(model_of_many, many)
        formula, run = (
            solve(full, method=method, simulation=settings).find("throughput")
            for method in ("formula", "simulation")
        )
        assert formula is not None
        assert run is not None
        error = 100 * (formula / run - 1)
        print(f"{words:22}{'capacity':>12}{error:+9.1f} %", flush=True)


def with_clients(model: object, count: int, think: float = 0.0) -> BatchServer:
    """Return a server with a closed population in place of its stream; think time [s]."""
    assert isinstance(model, BatchServer)
    customers = ClosedCustomers(Number(float(count)), Number(think, TIME))
    return replace(model, customers=customers)


if __name__ == "__main__":
    main()
