"""The eight stories: short studies with a report of a page each, whose answers are computed here
by a second road.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from slipstick import solve
from slipstick.report.shorten import PAGE_LINES, printed_lines
from tests.house.code import ROOT

STORIES = (
    "my-program",
    "lock-diagnosis",
    "network-procurement",
    "memory-expansion",
    "page-sharing-ahead",
    "three-tier",
    "training-step",
    "laws-and-mva",
)


def rows(study: str, sweep: str = "") -> list[dict[str, str]]:
    """Read the rows of the cases, or of a sweep, by the names of the columns without units; the
    other tests hold them to today's.
    """
    with (ROOT / "reports" / study / "results.csv").open(newline="") as file:
        return [
            {name.partition(" [")[0]: cell for name, cell in row.items()}
            for row in csv.DictReader(file)
            if row["sweep"] == sweep
        ]


def column(study: str, name: str, sweep: str, case: str) -> list[float]:
    return [float(row[name]) for row in rows(study, sweep) if row["case"] == case]


def cases(study: str, name: str) -> dict[str, float]:
    return {row["case"]: float(row[name]) for row in rows(study) if row[name]}


def fitted(study: str) -> dict[str, float]:
    """Read the values of the fitted model."""
    with (ROOT / "reports" / study / "fits.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    return {row["value"]: float(row["is"]) for row in found if row["model"] == found[0]["model"]}


def mva(
    population: int, think: float, demands: Sequence[float]
) -> tuple[float, NDArray[np.float64]]:
    """Compute throughput and queues of a closed network by the recursion over the customers."""
    queues, throughput = np.zeros(len(demands)), 0.0
    for customers in range(1, population + 1):
        residence = np.array(demands) * (1 + queues)
        throughput = customers / (think + residence.sum())
        queues = throughput * residence
    return throughput, queues


@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_short_and_its_report_a_page(story: str) -> None:
    assert len((ROOT / "specs" / "studies" / f"{story}.yaml").read_text().splitlines()) <= 30
    report = (ROOT / "reports" / story / "report.md").read_text()
    assert printed_lines(report) <= PAGE_LINES
    head = report.partition("\n## ")[0]
    assert head.splitlines()[2].startswith("- ")  # the answer comes first
    assert "[![" in head


def test_allocation_request_by_linear_least_squares() -> None:
    with (ROOT / "specs" / "runs" / "my-program.csv").open(newline="") as file:
        runs = np.array(
            [[float(row[name]) for name in ("p", "n", "time [s]")] for row in csv.DictReader(file)]
        )
    p, n, time = runs.T
    terms = np.column_stack([n / p, np.ones_like(p), np.ceil(np.log2(p))]) / time[:, None]
    cell, serial, step = np.linalg.lstsq(terms, np.ones_like(p), rcond=None)[0]
    found = fitted("my-program")
    assert [found[f"parameters.{name}"] for name in ("cell", "serial", "step")] == pytest.approx(
        [cell, serial, step], rel=0.01
    )

    def efficiency(n: float, p: int) -> float:
        return float(
            (cell * n + serial) / (p * (cell * n / p + serial + step * math.ceil(math.log2(p))))
        )

    assert efficiency(8e6, 28) > 0.75 > efficiency(8e6, 29)
    assert efficiency(found["size_needed[128]"], 128) == pytest.approx(0.75, abs=0.001)


def test_lock_diagnosis_by_the_recursion_over_threads() -> None:
    found = fitted("lock-diagnosis")
    parse, update = found["parameters.parse"], found["parameters.update"]
    for name, demands in {
        "base": [update],
        "half-as-long": [update / 2],
        "four-tables": [update / 4] * 4,
    }.items():
        threads = column("lock-diagnosis", "population.processors", "threads", name)
        expected = [mva(int(each), parse, demands)[0] for each in threads]
        assert column("lock-diagnosis", "throughput", "threads", name) == pytest.approx(
            expected, rel=1e-4
        )
    waits = next(row for row in rows("lock-diagnosis", "measured/waits") if row["p"])
    assert float(waits["processors_lost[table_update+0x5c]"]) == pytest.approx(36.91 / 10)


def test_networks_by_hand() -> None:
    edges = column("network-procurement", "parameters.edge", "edge", "base")
    for case, network in {
        "base": "infiniband-hdr",
        "ndr": "infiniband-ndr",
        "xdr": "infiniband-xdr",
    }.items():
        wire = yaml.safe_load((ROOT / "specs" / "networks" / f"{network}.yaml").read_text())[
            "wire"
        ]["per_byte"]
        per_byte = 0.04e-9 if wire == "0.04 ns/B" else 1e-9 / float(wire.removesuffix(" GB/s"))
        start = (
            2 * 0.04e-6 + 2 * 0.445e-6 + 0.24e-6
        )  # software at both ends, two adapters, a switch
        update = np.array([edge**3 * 400 / 1e12 for edge in edges])
        faces = np.array([6 * (start + 20 * 8 * edge**2 * per_byte) for edge in edges])
        total = 10 * (
            start + 8 * per_byte
        )  # recursive doubling sends log2(1024) messages, one after the other
        assert column("network-procurement", "account[exchange]", "edge", case) == pytest.approx(
            faces, rel=0.01
        )
        assert column("network-procurement", "efficiency", "edge", case) == pytest.approx(
            update / (update + faces + total), rel=0.01
        )


def test_memory_behind_cxl_by_the_recursion_over_cores() -> None:
    found = cases("memory-expansion", "time")
    for name, beyond, far in (
        ("all-own", 0.0, 210e-9),
        ("base", 0.25, 210e-9),
        ("latency-of-own", 0.25, 81.3e-9),
    ):
        think = 20e-6 + 100 * ((1 - beyond) * 81.3e-9 + beyond * far)
        throughput, _ = mva(32, think, [64e3 * (1 - beyond) / 307e9, 64e3 * beyond / 32e9])
        assert found[name] == pytest.approx(32 / throughput, rel=1e-6)


@pytest.mark.turns(4)
def test_ten_years_of_page_sharing_by_rates_of_each_technology() -> None:
    today = solve(
        "dvsm/application",
        {"sequential": 0.09},
        workload="sor",
        machine="linux-cluster",
        method="closed-form",
    )
    stated = yaml.safe_load((ROOT / "specs" / "trends" / "milestones.yaml").read_text())["rates"]
    yearly: Mapping[str, float] = {name: _median(each[-1]) for name, each in stated.items()}
    whole = cases("page-sharing-ahead", "time")["base"]
    assert today["time"] == pytest.approx(whole)
    parts = {name: today.find(f"technology[{name}]") or 0.0 for name in ("adapter", "wire")}
    assert min(parts.values()) > 0
    others = whole - sum(parts.values())
    ahead = others / yearly["processors"] ** 10 + sum(
        time / yearly[name] ** 10 for name, time in parts.items()
    )
    assert column("page-sharing-ahead", "time", "project", "base")[-1] == pytest.approx(
        ahead, rel=0.01
    )


def _median(rate: Mapping[str, Mapping[str, float]]) -> float:
    """Take the median of a triangular distribution."""
    low, mode, high = (rate["uncertain"][name] for name in ("from", "mode", "to"))
    if mode >= (low + high) / 2:
        return low + math.sqrt((high - low) * (mode - low) / 2)
    return high - math.sqrt((high - low) * (high - mode) / 2)


def test_three_tiers_by_sums_of_independent_response_times() -> None:
    random = np.random.default_rng(7)
    times = sum(
        _sojourns(random, 90.0, 1 / mean, servers)
        for mean, servers in ((0.010, 2), (0.040, 6), (0.020, 3))
    )
    assert cases("three-tier", "response_time[requests]")["base"] == pytest.approx(
        np.mean(times), rel=0.03
    )
    quantile = cases("three-tier", "response_time_quantile[requests,0.99]")["base"]
    assert quantile == pytest.approx(np.quantile(times, 0.99), rel=0.04)


def _sojourns(
    random: np.random.Generator, arrivals: float, rate: float, servers: int
) -> NDArray[np.float64]:
    """Draw response times of a station with several exponential servers, by Erlang's formula for
    those who wait.
    """
    load = arrivals / rate
    waiting = load**servers / math.factorial(servers) / (1 - load / servers)
    delayed = waiting / (
        waiting + sum(load**each / math.factorial(each) for each in range(servers))
    )
    waits = random.exponential(1 / (servers * rate - arrivals), 400_000)
    return random.exponential(1 / rate, 400_000) + waits * (random.random(400_000) < delayed)


def test_training_step_by_hand() -> None:
    gpus = np.array(column("training-step", "parameters.gpus", "gpus", "base"))
    work = 6 * 20e9 * 2048 / 794.5e12
    busy, bubble = work * 512 / gpus, work * 7 / 8
    copies = gpus / 8
    gradients = 2 * (copies - 1) / copies * (20e9 / 8 * 2) / 48.5e9
    assert column("training-step", "account[busy]", "gpus", "base") == pytest.approx(busy)
    assert column("training-step", "account[bubble]", "gpus", "base") == pytest.approx(
        [bubble] * len(gpus)
    )
    # The latency of the messages of the ring, which the formula above leaves out, is under 1 %.
    assert column("training-step", "account[gradients]", "gpus", "base") == pytest.approx(
        gradients, rel=0.01
    )
    first, second = (
        cases("training-step", "efficiency")["base"],
        busy[-1] / (busy[-1] + bubble + gradients[-1]),
    )
    assert first == pytest.approx(second, rel=0.01)


RATE, MEMORY, TILE = 271.2e12, 1.8e12, 256 * 128  # operations and bytes a second, numbers of a tile


def _product(rows: float, columns: float, depth: float) -> float:
    """Return the time of a product of matrices on 108 multiprocessors, in whole waves of tiles."""
    waves = math.ceil((rows / 256) * (columns / 128) / 108)
    return waves * 108 * 2 * TILE * depth / RATE


def _micro_batch(
    width: int, layers: int, again: int, tokens: int = 2048, t: int = 8
) -> tuple[float, float]:
    """Return the time of the products of a micro-batch of one sequence in a stage, and of what the
    other stages wait for the last.
    """
    shapes = [
        (3 * width // t, width),
        (width, width // t),
        (4 * width // t, width),
        (width, 4 * width // t),
    ]  # outputs, inputs
    layer = sum(
        (1 + again) * _product(tokens, out, given)
        + _product(tokens, given, out)
        + _product(given, out, tokens)
        for out, given in shapes
    )
    attention = 4 * 4 * tokens**2 * width / t / RATE  # forward, again, and twice backward
    words = 6 * tokens * width * 51200 / t / RATE
    return layers * (layer + attention), words


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("name", "width", "layers", "stages", "again"),
    [
        ("gpus-64", 12288, 12, 8, 1),
        ("gpus-280", 20480, 3, 35, 1),
        ("gpus-512-split", 25600, 2, 64, 0),
    ],
)
def test_products_of_a_training_step_by_hand(
    name: str, width: int, layers: int, stages: int, again: int
) -> None:
    study = yaml.safe_load((ROOT / "specs" / "studies" / "training-table.yaml").read_text())
    cases = study["cases"]
    settings = {
        key: each
        for use in (*cases[name].get("use", ()), name)
        for key, each in cases[use].items()
        if key != "use"
    }
    answer = solve("language-model-step", settings, method="closed-form")
    found = {
        part: answer.find(f"account[{part}]") or 0.0
        for part in ("busy", "waves", "uneven", "bubble", "optimizer")
    }
    sequences = settings["parameters.batch"]
    products, words = _micro_batch(width, layers, again)
    assert found["busy"] + found["waves"] + found["uneven"] == pytest.approx(
        sequences * (products + words)
    )
    fill = (stages - 1) / settings.get("parameters.interleave", 1)
    assert found["bubble"] == pytest.approx(fill * (products + words / stages))
    weights = (12 * layers * width**2 + 51200 * width / stages) / 8
    assert found["optimizer"] == pytest.approx(weights * 30 / MEMORY)
    published = (
        96 * layers * 2048 * width**2 / 8 * (1 + 2048 / (6 * width))
        + 6 * 2048 * width * 51200 / 8 / stages
    )
    if again:
        assert found["busy"] == pytest.approx(sequences * published / RATE)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("size", "measured"),
    [
        (512, 22.6),
        (2**19, 30.1),
        (2**21, 53.7),
        (2**23, 128),
        (2**25, 367),
        (2**27, 1169),
        (2**29, 4226),
    ],
)
def test_all_reduces_in_a_node_take_the_measured_times_of_their_sizes(
    tmp_path: Path, size: int, measured: float
) -> None:
    (tmp_path / "ring.yaml").write_text(
        "activity: 1\nmachine: gpu-node-a100\npopulation: {processors: 8}\n"
        f"cycle: [{{collective: allreduce, algorithm: ring, size: {size} B, placement: node}}]\n"
    )
    found = solve(str(tmp_path / "ring.yaml"), {"machine.node.network": "nvlink-3-nccl"})
    assert found["time"] == pytest.approx(measured * 1e-6, rel=0.005)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("case", "micro_batches", "passes"), [("data-1024", 28, 6), ("gpus-512-split", 512, 2)]
)
def test_stages_pass_pieces_and_gather_them_in_the_node_unless_sequences_are_split(
    tmp_path: Path, case: str, micro_batches: int, passes: int
) -> None:
    study = yaml.safe_load((ROOT / "specs" / "studies" / "training-table.yaml").read_text())
    settings = {**study["cases"]["gpus-512"], **study["cases"][case]}
    settings = {key: each for key, each in settings.items() if "." in key}
    numbers = 2048 * settings["parameters.width"] * settings["parameters.micro"]
    network = {"machine.node.network": "nvlink-3-nccl"}
    steps = {
        "piece": f"{{message: {numbers * 2 // 8} B, placement: network}}",
        "gather": (
            f"{{collective: allgather, algorithm: ring, size: {numbers * 2} B, placement: node}}"
        ),
    }
    times: dict[str, float] = {}
    for name, step in steps.items():
        text = (
            f"activity: 1\nmachine: gpu-node-a100\npopulation: {{processors: 8}}\ncycle: [{step}]\n"
        )
        (tmp_path / f"{name}.yaml").write_text(text)
        times[name] = solve(str(tmp_path / f"{name}.yaml"), network).find("time") or math.nan
    one = times["piece"] + (0 if "split" in case else times["gather"])
    fill = (settings["parameters.stages"] - 1) / settings.get("parameters.interleave", 1)
    found = solve("language-model-step", {**settings, **network}, method="closed-form")
    assert found["account[pipeline]"] == pytest.approx((micro_batches + fill) * passes * one)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("near", "placement"), [(0, "network"), (1, "node")])
def test_tokens_go_to_experts_over_the_links_of_the_node_or_between_nodes(
    tmp_path: Path, near: int, placement: str
) -> None:
    """Six exchanges a layer, each of the 2 x 4096 numbers of 2 B of 2048 tokens."""
    (tmp_path / "sent.yaml").write_text(
        "activity: 1\nmachine: gpu-node-h100\npopulation: {processors: 8}\n"
        f"cycle: [{{collective: alltoall, size: {2 * 2048 * 4096 * 2} B, ranks: 8, placement: "
        f"{placement}}}]\n"
    )
    settings: dict[str, float | str] = {"machine": "gpu-node-h100", "parameters.near": near}
    split = {"tensor": 1, "data": 8, "batch": 8, "micro": 1, "spread": 8}
    shape = {"width": 4096, "layers": 3, "heads": 32, "experts": 8, "chosen": 2, "words": 1024}
    settings |= {f"parameters.{name}": value for name, value in (split | shape).items()}
    answer = solve("language-model-step", settings, method="closed-form")
    one = solve(str(tmp_path / "sent.yaml")).find("time")
    assert one is not None
    assert answer["account[experts]"] == pytest.approx(3 * 6 * one)


@pytest.mark.turns(4)
def test_gradients_that_are_summed_after_the_backward_pass_are_not_hidden() -> None:
    settings = {"parameters.data": 2, "parameters.batch": 8}
    sums = {
        case: solve(
            "language-model-step",
            {**settings, "parameters.behind": case[0], "parameters.exposed": case[1]},
        ).find("account[gradients]")
        or math.nan
        for case in ((0, 0.25), (1, 0.25), (1, 1))
    }
    assert sums[0, 0.25] == sums[1, 1]
    assert sums[1, 0.25] == pytest.approx(0.25 * sums[1, 1])


@pytest.mark.parametrize("rate", [20e9, 150e9, 200e9, 219e9, 220e9])
def test_latency_under_load_is_that_of_a_closed_queue(rate: float) -> None:
    """Mean value analysis of the lines of 28 cores at 12 channels, with a think time for the
    rate.
    """
    answer = solve("loaded-memory", {"parameters.rate": rate, "parameters.held": 1.0})
    found, service, idle, lines = answer.find("time"), 12 * 64 / 220e9, 80e-9, 28 * 16
    assert found is not None
    low, high = 0.0, 1e-3
    for _ in range(60):
        think, queue, latency = (low + high) / 2, 0.0, 0.0
        for present in range(1, lines + 1):
            latency = idle + service * queue / 12
            queue = present * (latency - idle + service) / (think + latency)
        low, high = (think, high) if lines * 64 / (think + latency) > rate else (low, think)
    assert found == pytest.approx(latency, rel=0.05 if rate < 200e9 else 0.2)


def test_errors_of_the_training_table_are_those_that_documentation_names() -> None:
    with (ROOT / "reports" / "training-table" / "results.csv").open(newline="") as file:
        times = {
            row["case"]: float(row["time [s]"]) for row in csv.DictReader(file) if not row["sweep"]
        }
    study = yaml.safe_load((ROOT / "specs" / "studies" / "training-table.yaml").read_text())
    for table, most in zip(study["compare"], (0.065, 0.105, 0.115), strict=True):
        printed = table["rows"][0]["printed"]
        errors = [
            abs(times[case] / each - 1)
            for case, each in zip(table["columns"], printed, strict=True)
        ]
        assert np.mean(errors) < most


def test_laws_and_the_recursion_of_mean_value_analysis() -> None:
    processors = np.array(column("laws-and-mva", "processors", "laws", "amdahl"))
    laws = {
        "amdahl": 1 / (0.05 + 0.95 / processors),
        "gustafson": processors - 0.05 * (processors - 1),
    }
    for name, expected in laws.items():
        assert column("laws-and-mva", "speedup", "laws", name) == pytest.approx(expected)
    capacity = processors / (1 + 0.05 * (processors - 1) + 0.001 * processors * (processors - 1))
    assert column("laws-and-mva", "capacity", "laws", "usl") == pytest.approx(capacity)
    for row in rows("laws-and-mva", "mva"):
        customers = int(float(row["classes.jobs.population"]))
        throughput, queues = mva(customers, 5.0, [0.2, 0.09, 0.12])
        assert float(row["throughput[jobs]"]) == pytest.approx(throughput)
        assert [float(row[f"queue_length[{name}]"]) for name in ("cpu", "slow")] == pytest.approx(
            queues[[0, 2]]
        )
