"""The number of users beyond which more of them bring little throughput, beside exact mean value
analysis.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slipstick.cli.main import main

SERVICE, BESIDE = 0.75e-3, 10.5e-3


def _response(users: int, think: float) -> float:
    """Return the response time of a station and a delay by exact mean value analysis [s]."""
    queue = residence = 0.0
    for customers in range(1, users + 1):
        residence = SERVICE * (1 + queue)
        queue = customers / (think + BESIDE + residence) * residence
    return BESIDE + residence


@pytest.mark.parametrize("think", [0.0, 0.04])
def test_users_that_keep_a_station_busy_are_where_its_bounds_meet(
    think: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = []
    for users in (5, 10, 20, 40, 80, 160):
        response = _response(users, think)
        rows.append(f"{users},{users / (think + response):.3f},{1e3 * response:.3f}")
    path = tmp_path / "load.csv"
    path.write_text("connections,tps,latency avg (ms)\n" + "\n".join(rows) + "\n")
    assert main(["fit", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    match = re.search("More than about ([0-9]+) users bring little throughput", text)
    assert match
    expected = (think + BESIDE + SERVICE) / SERVICE
    assert float(match[1]) == pytest.approx(expected, rel=0.05)
