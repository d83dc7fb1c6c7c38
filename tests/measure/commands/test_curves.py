"""Curves that are continued by others of the same machine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick_measure.fit.siblings import curves_of, predict_from_siblings, predict_held_out


def machine(seed: int, count: int = 5) -> dict[str, dict[float, float]]:
    """Make curves of one machine, with a sag that no law has."""
    random = np.random.default_rng(seed)
    curves = {}
    for at in range(count):
        scale = float(np.exp(random.normal()))
        curves[f"c{at}"] = {
            p: scale
            * p
            / (1 + p / 30)
            * (0.8 if p == 16 else 1.0)
            * float(np.exp(0.02 * random.normal()))
            for p in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
        }
    return curves


def test_siblings_know_what_no_law_knows() -> None:
    curves = machine(31)
    alike = dict.fromkeys(curves, "one")
    found = predict_held_out(curves, alike, 2.0, 16.0)
    assert len(found) == 5
    errors = [abs(each.value / (each.measured or 1.0) - 1) for each in found]
    assert float(np.median(errors)) < 0.05
    assert all(each.low <= (each.measured or 0.0) <= each.high for each in found)
    assert max(each.high / each.low for each in found) < 1.5


def test_intervals_of_siblings_hold_nine_of_ten() -> None:
    held = []
    for seed in range(400, 440):
        curves = machine(seed, 4)
        found = predict_held_out(curves, dict.fromkeys(curves, "one"), 4.0, 16.0)
        held += [each.low <= (each.measured or 0.0) <= each.high for each in found]
    assert np.mean(held) > 0.9


def test_a_wrong_last_row_is_no_confident_prediction() -> None:
    """A row that is ten times too large would make the continuation as much too large."""
    curves = machine(33)
    alike = dict.fromkeys(curves, "one")
    right = predict_from_siblings(curves, alike, "c0", 32.0, 16.0)
    curves["c0"][16.0] *= 10
    wrong = predict_from_siblings(curves, alike, "c0", 32.0, 16.0)
    assert right
    assert wrong
    assert right.is_useful
    assert not wrong.is_useful
    assert np.exp(wrong.departure) == pytest.approx(10, rel=0.3)


def test_curves_of_other_machines_are_no_siblings() -> None:
    curves = machine(32)
    alike = {name: "one" if name in ("c0", "c1") else "other" for name in curves}
    assert predict_from_siblings(curves, alike, "c0", 32.0, 16.0) is None


def test_a_similar_sibling_weighs_more() -> None:
    near = {1.0: 1.0, 2.0: 2.0, 4.0: 4.0, 8.0: 8.0}
    far = {1.0: 1.0, 2.0: 1.2, 4.0: 1.4, 8.0: 1.5}
    curves = {"mine": {1.0: 1.0, 2.0: 2.0, 4.0: 4.0}, "near": near, "far": far}
    found = predict_from_siblings(curves, dict.fromkeys(curves, ""), "mine", 8.0, 4.0)
    assert found is not None
    assert found.value > 7.5


def test_several_rows_at_a_point_give_their_median() -> None:
    assert curves_of(["a", "a", "a"], [1, 1, 1], [3.0, 9.0, 4.0]) == {"a": {1: 4.0}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = ["run,host,threads,rate"]
    for name, curve in machine(33).items():
        last = 16.0 if name == "c0" else 64.0
        lines += [f"{name},red,{p:g},{value:.6g}" for p, value in curve.items() if p <= last]
    (tmp_path / "curves.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


OPTIONS = [
    *("--curve", "run", "--siblings", "host", "--at", "32"),
    *("--column", "p=threads", "--measured", "throughput=rate"),
]


def test_the_command_continues_the_short_curve(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "curves.csv", *OPTIONS]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "4 curves, cut off after" in told
    assert "predicted at 32 from their siblings, have a median error of" in told
    assert main(["fit", "curves.csv", *OPTIONS, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["curves"]
    truth = machine(33)["c0"][32.0]
    assert found["low"] < truth < found["high"]


def test_columns_are_found_by_name_and_missing_cells_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "curves.csv").read_text().splitlines()
    assert main(["fit", "curves.csv", *OPTIONS[:6], "--json"]) == 0
    expected = capsys.readouterr().out
    (folder / "curves.csv").write_text("\n".join([*lines, "c0,red,32,", "c0,red,64,n/a"]))
    assert main(["fit", "curves.csv", *OPTIONS[:6], "--json"]) == 0
    assert capsys.readouterr().out == expected
    (folder / "curves.csv").write_text(f"{lines[0]}\nc0,red,1,\n")
    assert main(["fit", "curves.csv", *OPTIONS[:6]]) == 2
    assert "all its cells are empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (OPTIONS[:4], "say how far the curves are to be continued, such as --at 32,64"),
        (
            [*OPTIONS[:6], "--column", "p=thread"],
            "there is no column 'thread'; name the processors by",
        ),
    ],
)
def test_mistakes_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert main(["fit", "curves.csv", *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_cell_that_is_no_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "curves.csv").read_text().replace("c0,red,1,", "c0,red,one,")
    (folder / "curves.csv").write_text(text)
    assert main(["fit", "curves.csv", *OPTIONS]) == 2
    assert "a plain number above 0 is needed; got 'one'" in capsys.readouterr().err


def test_a_useless_prediction_is_refused_with_its_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "curves.csv").read_text().splitlines()
    wrong = [f"{line}0" if line.startswith("c0,red,16,") else line for line in lines]
    wrong = [line.replace("c0,red,16,", "c0,red,16,1") for line in wrong]
    (folder / "curves.csv").write_text("\n".join(wrong))
    assert main(["fit", "curves.csv", *OPTIONS]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "no prediction of c0 at 32: the ends of its interval would differ " in told
    assert "its rows up to 16 differ from those of the nearest sibling by a factor of " in told
