"""Worked examples of textbooks and papers, to the digits printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from slipstick.queueing.checks import checked_solution
from slipstick.queueing.exact import convolution, exact
from slipstick.queueing.network import NetworkArrays, NetworkSolution, network_arrays
from slipstick.queueing.routes import joined_chains, traffic_equations
from tests.queueing.yardstick import routes

ROWS = yaml.safe_load((Path(__file__).parents[1] / "published" / "queueing.yaml").read_text())
ROADS = {"exact": exact, "convolution": convolution}


def answer_of(row: dict[str, Any], road: str) -> tuple[NetworkArrays, NetworkSolution]:
    given = network_arrays(**row["network"])
    if "chain" not in row:
        return given, checked_solution(given, ROADS[road](given))
    source, target, probability = zip(*row["chain"], strict=True)
    members = list(range(len(given.classes)))
    visits = traffic_equations(
        routes(source, target, probability), members, (0, 0), True, given.service.shape[1:]
    )
    service, total, scv = joined_chains(
        given.service, visits, given.scv, np.zeros(len(members), dtype=int)
    )
    size = given.population.sum(axis=1)
    whole = checked_solution(
        chain := network_arrays(service, total, population=size, scv=scv), ROADS[road](chain)
    )
    part = visits * given.service / chain.demand
    shared = {name: getattr(whole, name) * part for name in ("queue", "utilization", "residence")}
    return given, replace(whole, throughput=whole.throughput * visits[:, :, 0], **shared)


@pytest.mark.turns(4)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_an_example_comes_out_as_printed(row: dict[str, Any], road: str) -> None:
    given, answer = answer_of(row, road)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = {
            "per_visit": answer.residence / given.visits,
            "response": answer.residence.sum(axis=2),
        }
    for name, values in row["answers"].items():
        printed = np.array(values, dtype=float)
        computed = found[name] if name in found else getattr(answer, name)
        known = ~np.isnan(printed)
        assert known.any()
        np.testing.assert_allclose(
            computed[0][known] if printed.ndim > 1 and computed.ndim == 3 else computed[known],
            printed[known],
            rtol=0,
            atol=row["within"],
            err_msg=name,
        )
    if "probability" in row:
        chance = convolution(given).probability[row["probability"]["station"]]
        assert chance is not None
        for n, value in enumerate(row["probability"]["values"]):
            if value is not None:
                assert chance[0, n] == pytest.approx(value, abs=row["within"])


def test_every_example_names_its_source() -> None:
    assert all(row["source"] and row["within"] > 0 for row in ROWS)
    assert len(ROWS) >= 12
