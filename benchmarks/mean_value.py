"""Mean value against simulation, over generated models: errors by construct and by scv.

python -m benchmarks.mean_value [--models 28] [--first 7] [--keep FILE] [--worst 10]

Constant times (scv 0) lock into step and are reported apart. An error of the time is relative; one of the
account is the largest component's, as a part of the time; one of the shares is the largest of the three
greatest shares, absolute. The simulation stops at an interval of 0.6 % for the time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generated_models import CONSTRUCTS, SCVS, generated
from slipstick.method.mean_value import MeanValue
from slipstick.model.system import Model

Row = dict[str, Any]


def simulated(model: Model) -> Row:
    """Ask the second road, which is imported only when it is needed."""
    solve = import_module("slipstick.method.simulation").solve
    effort = import_module("slipstick.sim.result").Effort
    answer = solve(model, effort=effort(precision=0.003, events=600_000))
    rough = solve(model, effort=effort(precision=0.01, events=150_000), shares=3)
    return {"time": answer["time"], "account": dict(answer.account), "share": dict(rough.share.get("time", {}))}


def errors(model: Model, other: Row) -> dict[str, float]:
    """Compare the two roads."""
    answer = MeanValue(model).points({}).answer(0)
    assert not answer.failed, answer.failed
    took, simulated_time = answer["time"], other["time"]
    assert took is not None
    names = answer.account.keys() | other["account"].keys()
    account = [
        answer.account.get(name, 0.0) / took - other["account"].get(name, 0.0) / simulated_time for name in names
    ]
    found = {"time": took / simulated_time - 1, "account": max(map(abs, account))}
    if other.get("share"):
        found["share"] = max(abs(answer.share["time"][name] - share) for name, share in other["share"].items())
    return found


def table(found: list[tuple[str, float, dict[str, float]]]) -> None:
    """Print a row for each construct and scv."""
    kinds = ("time", "account", "share")
    print("construct   scv   models  " + "  ".join(f"{kind:>8}: median  95 %  worst" for kind in kinds))
    groups: list[tuple[str, tuple[str, ...], tuple[float, ...]]]
    groups = [(construct, (construct,), (scv,)) for construct in CONSTRUCTS for scv in SCVS]
    groups += [("all", tuple(CONSTRUCTS), (scv,)) for scv in SCVS]
    groups += [("all", tuple(CONSTRUCTS), tuple(scv for scv in SCVS if scv))]
    for label, constructs, scvs in groups:
        rows = [each for construct, scv, each in found if construct in constructs and scv in scvs]
        if not rows:
            continue
        cells = []
        for kind in kinds:
            sizes = [100 * abs(each[kind]) for each in rows if kind in each]
            cells.append(
                f"{'':9}{statistics.median(sizes):7.2f}{np.quantile(sizes, 0.95):7.2f}{max(sizes):7.2f}"
                if sizes
                else ""
            )
        print(f"{label:11} {'/'.join(map(str, scvs)):8} {len(rows):4}  " + " ".join(cells))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=28, help="models of each construct and scv")
    parser.add_argument("--first", type=int, default=7, help="number of the first")
    parser.add_argument("--keep", type=Path, help="file that keeps what was simulated")
    parser.add_argument("--worst", type=int, default=10, help="worst models to name")
    given = parser.parse_args()
    kept: dict[str, Row] = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    found: list[tuple[str, float, dict[str, float]]] = []
    named = []
    spent = 0.0
    for index in range(given.models):
        for construct in CONSTRUCTS:
            for scv in SCVS:
                model = generated(construct, scv, 1000 * index + given.first)
                key = f"{construct}/{scv}/{index}"
                if key not in kept:
                    kept[key] = simulated(model)
                start = time.perf_counter()
                each = errors(model, kept[key])
                spent += time.perf_counter() - start
                found.append((construct, scv, each))
                named.append((abs(each["time"]), key, each))
        if given.keep:
            given.keep.write_text(json.dumps(kept))
    table(found)
    print(f"{len(found)} models; mean value took {spent:.1f} s, shares included")
    for _, key, each in sorted(named, key=lambda row: -row[0])[: given.worst]:
        print(f"  {key:22} time {100 * each['time']:+7.2f} %  account {100 * each['account']:6.2f} %")


if __name__ == "__main__":
    main()
