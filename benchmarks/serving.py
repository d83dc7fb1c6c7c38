"""Published times to first token and between tokens of servers of language models, predicted.

The rows are those of `serving.csv` of a folder of validation sets; its README says which of them
test a server. Six constants of the shipped `llm-serving` are fitted to Llama-70B on vLLM and H100,
and to nothing else; predicted are Llama-70B on H200, and Qwen on vLLM. Qwen on TensorRT-LLM is
printed after 12 of its own rows, without a gate; what tests something else than a server is printed
and not counted: rows of 128 clients, and of Llama-8B.

The load is as published. Llama-70B: closed clients, 10 requests each, all at once at the start,
lengths uniform from 0.8 to 1 of the nominal, as many requests at once as clients, 8192 tokens a
round, 0.9 of the memory. The others: fixed lengths, 10 requests a client, clients + prompt + 500
tokens a round (which of two rules made the rows is not recorded). The cache of TensorRT-LLM with
weights of 8 bits has 8 bits (not recorded), other caches have 16. The delay of a request before the
server is exponential: with a constant one, customers of equal lengths come back in step, and first
tokens jump by a third where the delay passes the time of a round.

A prediction is a simulation of such a run. The fit is by the formula, times the ratio of simulation
to formula at the constants of the step before: the ratio hardly depends on them, so three steps
settle it, at a hundredth of the time of a fit by simulations. Residuals are logarithms of both
times; each constant has a log-normal prior, which is declared below. Constants take up errors of
the model, so they are no measurements of the hardware: the fitted share of bandwidth is above 1.

    python benchmarks/serving.py --data DIR [--all] [--table FILE]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.optimize import least_squares

from slipstick import solve
from slipstick.answer import Answer
from slipstick.api import load
from slipstick.expression.nodes import Number
from slipstick.sim.settings import Simulation
from slipstick_rounds.model import BatchServer, ClosedCustomers

FIRST, GAP = "phase_time[prompt]", "time_per_unit[answer]"

SHAPES = {
    "Llama-3.1-8B-Instruct": (32, 4096, 14336, 32, 8, 128256),
    "Qwen3-32B": (64, 5120, 25600, 64, 8, 151936),
    "Llama-3.1-70B": (80, 8192, 28672, 64, 8, 128256),
}
"""Layers, width, inner width, heads, heads of keys and values, and words: published
configurations.
"""

SHAPE_NAMES = ("layers", "width", "inner", "heads", "kv", "words")
MACHINES = {"h100_sxm": "gpu-node-h100", "h200_sxm": "gpu-node-h200"}

FASTER = 1402.6 / 794.5
"""Rate of products of 8 bits over those of 16, as published measurements of one H100 have them."""

PRIORS: Mapping[str, tuple[float, float]] = {
    "share": (0.93, 0.1),
    "reach": (0.8, 0.3),
    "launch": (25e-6, 0.7),
    "host": (45e-6, 0.7),
    "start": (10e-6, 0.7),
    "front": (20e-3, 1.0),
}
"""Of each constant the middle, and the standard deviation of its logarithm [SI units]."""

REQUESTS = 10
"""Of each client in a run."""

OWN_ROWS, MOST_CLIENTS, STEPS = 12, 64, 3

RUNS = 2
"""Of each row whose lengths are drawn; two differ by a few percent, as measured runs do."""


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Parameters
    ----------
    model, gpu, framework, precision : what was measured
    tensor : GPUs that share each layer
    prompt, output : lengths
    clients : at once
    first, gap : measured times to first token and between tokens [s]
    """

    model: str
    gpu: str
    framework: str
    precision: str
    tensor: int
    prompt: int
    output: int
    clients: int
    first: float
    gap: float

    @property
    def group(self) -> tuple[str, str, str]:
        """What a set of rows has in common."""
        return self.model, self.framework, self.gpu


def rows_of(path: Path) -> list[Row]:
    """Read all rows."""
    with path.open(newline="") as file:
        return [
            Row(
                cells["model"],
                cells["gpu"],
                cells["framework"],
                cells["precision"],
                int(cells["tensor_parallel"]),
                int(cells["input_tokens"]),
                int(cells["output_tokens"]),
                int(cells["concurrency"]),
                float(cells["ttft_ms"]) / 1e3,
                float(cells["tpot_ms"]) / 1e3,
            )
            for cells in csv.DictReader(file)
        ]


def server(row: Row, constants: Mapping[str, float], lengths_differ: bool = False) -> BatchServer:
    """Build the server of a row, with its load.

    The model's requirements are left out: a fitted share of bandwidth may be above 1, as it takes
    up errors of the model.

    Parameters
    ----------
    row : the row
    constants : of `PRIORS`
    lengths_differ : lengths that are equal differ by up to a twentieth, since the formula has no
        customers that stay in step; the ratio to the simulation takes up the difference
    """
    inference_max = row.model == "Llama-3.1-70B"
    small = row.precision == "fp8"
    values: dict[str, float | str] = {
        "machine": MACHINES[row.gpu],
        "admission": "reserve" if row.framework == "trtllm" else "grow",
    }
    shape_values: dict[str, float] = dict(zip(SHAPE_NAMES, SHAPES[row.model], strict=True))
    shape_values |= {
        "prompt": row.prompt,
        "output": row.output,
        "shortest": 0.8 if inference_max else 0.95 if lengths_differ else 1.0,
        "tensor": row.tensor,
        "weight": 1 if small else 2,
        "cached": 1 if small and row.framework == "trtllm" else 2,
        "faster": FASTER if small else 1.0,
        "tokens": 8192 if inference_max else row.clients + row.prompt + 500,
        "slots": row.clients,
    }
    for name, value in {**shape_values, **constants}.items():
        values[f"parameters.{name}"] = float(value)
    model = load("llm-serving", set=values)
    assert isinstance(model, BatchServer)
    customers = ClosedCustomers(
        Number(float(row.clients)),
        visits=Number(float(REQUESTS)),
        delay=model.customers.delay,
        delay_scv=model.customers.delay_scv,
    )
    return replace(model, customers=customers, requires=())


def times(answer: Answer) -> tuple[float, float]:
    """Return the times to first token and between tokens [s]."""
    time_values = answer.find(FIRST), answer.find(GAP)
    assert time_values[0] is not None
    assert time_values[1] is not None
    return time_values[0], time_values[1]


def simulated(rows: Sequence[Row], constants: Mapping[str, float]) -> np.ndarray:
    """Simulate the run of each row [rows, 2; s]."""
    settings = Simulation(seed=7, cycles=RUNS)
    return np.array(
        [
            times(solve(server(row, constants), method="simulation", simulation=settings))
            for row in rows
        ]
    )


def by_formula(models: Sequence[BatchServer], constants: Mapping[str, float]) -> np.ndarray:
    """Compute both times of each row by the formula [rows, 2; s]."""
    values = {f"parameters.{name}": value for name, value in constants.items()}
    return np.array([times(solve(model, values, method="formula")) for model in models])


def fitted(
    rows: Sequence[Row], priors: Mapping[str, tuple[float, float]]
) -> tuple[dict[str, float], np.ndarray]:
    """Fit the constants to rows, and return their simulations as well."""
    log_times = np.log([(row.first, row.gap) for row in rows])
    prior_means = np.array([math.log(centre) for centre, _ in priors.values()])
    prior_deviations = np.array([deviation for _, deviation in priors.values()])
    logs, ratio = prior_means, np.zeros_like(log_times)

    def constants_of(place: np.ndarray) -> dict[str, float]:
        return dict(zip(priors, np.exp(place).tolist(), strict=True))

    def residuals(place: np.ndarray) -> np.ndarray:
        off = np.log(by_formula(models, constants_of(place))) + ratio - log_times
        # 0.1: about what rows of one run differ by; the loss bends beyond it, so that odd rows
        # weigh less.
        return np.append((off / 0.1).ravel(), (place - prior_means) / prior_deviations)

    models = [server(row, constants_of(prior_means), lengths_differ=True) for row in rows]
    for _ in range(STEPS):
        logs = least_squares(residuals, logs, loss="soft_l1", diff_step=1e-3, max_nfev=12).x
        times_found = simulated(rows, constants_of(logs))
        ratio = np.log(times_found) - np.log(by_formula(models, constants_of(logs)))
    return constants_of(logs), times_found


def report(title: str, rows: Sequence[Row], times_found: np.ndarray, gate: str) -> list[str]:
    """Print the errors of a set and return its rows as cells."""
    measured_times = np.array([(row.first, row.gap) for row in rows])
    off = times_found / measured_times - 1
    words = []
    for index, name in enumerate(("to first token", "between tokens")):
        median_errors, late = np.quantile(abs(off[:, index]), (0.5, 0.9))
        words.append(
            f"{name} {median_errors:.1%}, p90 {late:.1%}, bias"
            f" {float(np.median(off[:, index])):+.1%}"
        )
    print(f"{title} ({len(rows)} rows): {'; '.join(words)}{gate}", flush=True)
    return [
        ",".join(
            map(
                str,
                (
                    *(row.model, row.gpu, row.framework, row.precision, row.tensor, row.prompt),
                    *(row.output, row.clients, title.replace(",", ";")),
                    *(
                        f"{1e3 * milliseconds:.2f}"
                        for milliseconds in (row.first, first_time, row.gap, gap)
                    ),
                ),
            )
        )
        for row, (first_time, gap) in zip(rows, times_found.tolist(), strict=True)
    ]


def main() -> None:
    """Fit, predict and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="folder with serving.csv")
    parser.add_argument("--table", type=Path, default=None, help="write all rows to this file")
    parser.add_argument("--all", action="store_true", help="sets that are not counted as well")
    parser.add_argument("--short", action="store_true", help="every tenth row")
    options = parser.parse_args()
    if options.data is None:
        print("no folder with serving.csv was named: --data DIR")
        return
    rows = rows_of(options.data / "serving.csv")[:: 10 if options.short else 1]

    def of(model: str, framework: str, gpu: str) -> list[Row]:
        group = (model, framework, gpu)
        return [row for row in rows if row.group == group]

    table: list[str] = []
    own = of("Llama-3.1-70B", "vllm", "h100_sxm")
    constants, times_found = fitted(own, PRIORS)
    print("fitted:", ", ".join(f"{name} {constant:.4g}" for name, constant in constants.items()))
    table += report("fitted: Llama-70B, vLLM, H100", own, times_found, "")
    rows_held_out = of("Llama-3.1-70B", "vllm", "h200_sxm")
    gate = "; aims for the first token 8 %, p90 20 %"
    title = "predicted: Llama-70B, vLLM, H200"
    table += report(title, rows_held_out, simulated(rows_held_out, constants), gate)
    few, many = parted(of("Qwen3-32B", "vllm", "h100_sxm"))
    title = "predicted: Qwen, vLLM, H100, to 64 clients"
    table += report(title, few, simulated(few, constants), "; aim for the first token 15 %")
    if many and options.all:
        title = "not counted: Qwen, vLLM, H100, 128 clients"
        table += report(title, many, simulated(many, constants), "")
    few, many = parted(of("Qwen3-32B", "trtllm", "h100_sxm"))
    chosen_rows = np.random.default_rng(12).permutation(len(few))[:OWN_ROWS]
    other_rows = [row for index, row in enumerate(few) if index not in chosen_rows]
    title = "no gate: Qwen, TensorRT-LLM, H100, to 64 clients, no row of its own"
    table += report(title, other_rows, simulated(other_rows, constants), "")
    priors = {name: (constants[name], deviation) for name, (_, deviation) in PRIORS.items()}
    own_constants, _ = fitted([few[index] for index in chosen_rows], priors)
    print(
        "fitted:", ", ".join(f"{name} {constant:.4g}" for name, constant in own_constants.items())
    )
    title = "no gate: Qwen, TensorRT-LLM, H100, to 64 clients, after 12 own rows"
    table += report(title, other_rows, simulated(other_rows, own_constants), "")
    title = "not counted: Qwen, TensorRT-LLM, H100, 128 clients"
    if many and options.all:
        table += report(title, many, simulated(many, own_constants), "")
    for group in (
        ("Llama-3.1-70B", "trtllm", "h200_sxm"),
        ("Llama-3.1-8B-Instruct", "trtllm", "h100_sxm"),
    ):
        other_group = of(*group)
        if other_group and options.all:
            title = f"not counted: {', '.join(group)}, constants of Qwen on TensorRT-LLM"
            table += report(title, other_group, simulated(other_group, own_constants), "")
    if options.table:
        head = "model,gpu,framework,precision,tensor,prompt,output,clients,set"
        head += ",first_ms,first_predicted_ms,gap_ms,gap_predicted_ms"
        options.table.write_text("\n".join([head, *table]) + "\n")


def parted(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Separate rows that test the server from rows that test the client, by the clients."""
    listed = list(rows)
    few = [row for row in listed if row.clients <= MOST_CLIENTS]
    return few, [row for row in listed if row.clients > MOST_CLIENTS]


if __name__ == "__main__":
    main()
