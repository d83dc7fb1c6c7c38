"""Announcements of long work name the case or the point that takes long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import slipstick.limits
from slipstick.cli.main import announcer, main
from slipstick.limits import ANNOUNCE, announcing_for, check_cost
from slipstick.schema.library import KINDS

SHOP = """\
queueing-network: 1
classes: {orders: {arrivals: 50 /s}}
stations:
  front: {servers: 1, service: {orders: 8 ms}, scv: {orders: 3}}
  payment: {servers: 2, service: {orders: 16 ms}, scv: {orders: 2}}
"""
STUDY = """\
study: 1
base: {model: shop.yaml, method: simulation, simulation.precision: 0.1}
cases: {busy: {classes.orders.arrivals: 60 /s}}
answer: ["response_time[orders]"]
vary: {servers: {axes: {stations.payment.servers: [2, 3]}}}
"""


def test_announced_work_names_its_case_or_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slipstick.limits, "ANNOUNCED", 1e-3)
    (tmp_path / "shop.yaml").write_text(SHOP)
    (tmp_path / "study.yaml").write_text(STUDY)
    arguments = ["--no-html", "--out", str(tmp_path / "out")]
    assert main(["run", str(tmp_path / "study.yaml"), *arguments]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "takes at most" in line]
    subjects = {line.partition(": the simulation takes at most")[0] for line in lines}
    assert {"base", "busy"} <= subjects
    points = {
        f"{case}, stations.payment.servers = {servers}"
        for case in ("base", "busy")
        for servers in (2, 3)
    }
    assert subjects & points
    assert subjects <= points | {"base", "busy"}
    # One line for each case or point.
    assert len(lines) == len(subjects)


def test_the_sum_of_announced_times_is_told_once_there_are_two(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each text counts once, and what has no estimate adds nothing."""
    amounts = [30.0, 12.0, 12.0]
    with use_announcements():
        for subject, amount in zip(["base", "busy", "busy"], amounts, strict=True):
            with announcing_for(subject):
                check_cost("counting", amount, "it takes long", "ask for less")
        announce = ANNOUNCE.get()
        assert announce is not None
        announce("reading a.yaml")
    assert capsys.readouterr().err.splitlines() == [
        "base: it takes long: about 30 s of processor time",
        "busy: it takes long: about 12 s of processor time; 42 s with all announced before",
        "reading a.yaml",
    ]


@contextmanager
def use_announcements() -> Iterator[None]:
    token = ANNOUNCE.set(announcer())
    try:
        yield
    finally:
        ANNOUNCE.reset(token)


@pytest.mark.parametrize("command", ["new", "schema"])
def test_a_missing_kind_leads_to_all_kinds(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 2
    assert f"Missing argument 'KIND': one of {', '.join(KINDS)}; " in capsys.readouterr().err


CHOICE = """\
study: 1
base: {model: shop.yaml, method: simulation, simulation.precision: 0.1}
choose:
  vary: {stations.payment.servers: [2, 3]}
  cost: {stations.payment.servers: 40}
  minimize: cost
  where: response_time[orders] <= 200 ms
"""


def test_announced_work_of_a_choice_names_its_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slipstick.limits, "ANNOUNCED", 1e-3)
    (tmp_path / "shop.yaml").write_text(SHOP)
    (tmp_path / "study.yaml").write_text(CHOICE)
    arguments = ["--no-html", "--out", str(tmp_path / "out")]
    assert main(["run", str(tmp_path / "study.yaml"), *arguments]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "takes at most" in line]
    pattern = r"base(, stations\.payment\.servers = [23])?: the simulation takes at most"
    matches = [re.match(pattern, line) for line in lines]
    assert all(matches)
    assert any(match and match[1] for match in matches)
