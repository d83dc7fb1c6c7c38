"""Every program of benchmarks/ runs at its smallest sizes, alone and to its end."""

from __future__ import annotations

import re
import runpy
import signal
import sys
from pathlib import Path

import pytest

from benchmarks.slips import ROOT, SLIPS
from tests.examples import PART

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PROGRAMS = sorted(path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text())
LONG = (
    "calibrate.py",
    "cluster.py",
    "dvsm_calibration.py",
    "fit_coverage.py",
    "held_together.py",
    "killed_reports.py",
    "mutants.py",
    "scale.py",
    "second_road.py",
    "sentences.py",
    "simulator.py",
    "slips.py",
    "structure.py",
    "traces.py",
    "ways_out.py",
)
"""Programs whose short form takes over two processor seconds: ``make thorough`` runs them."""
RUN = [program for program in PROGRAMS if PART >= 1 or program not in LONG]


@pytest.mark.turns(6)
@pytest.mark.parametrize("program", RUN)
def test_a_program_runs_in_its_short_form(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "--short"])
    # As from another folder: what a program takes of the tests it finds by itself.
    monkeypatch.setattr(
        sys,
        "path",
        [str(BENCHMARKS), *(each for each in sys.path if Path(each) != BENCHMARKS.parent)],
    )
    for name in [each for each in sys.modules if each.partition(".")[0] == "tests"]:
        monkeypatch.delitem(sys.modules, name)
    alarm = signal.getsignal(signal.SIGALRM)
    code: object = 0
    try:
        runpy.run_path(str(BENCHMARKS / program), run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    finally:
        signal.signal(signal.SIGALRM, alarm)
    printed = capsys.readouterr().out
    assert not code, printed
    assert printed.strip()


def test_every_program_is_in_the_list_of_measurements() -> None:
    text = (BENCHMARKS / "README.md").read_text()
    named = {*re.findall(r"`(\w+\.py)`", text), *re.findall(r"^### (\w+\.py)$", text, re.MULTILINE)}
    assert [program for program in PROGRAMS if program not in named] == []
    assert {*LONG} < {*PROGRAMS}


def test_the_text_of_each_slip_stands_once_in_its_module() -> None:
    """A renamed variable in the text would leave the slip, and all after it, untried."""
    texts = [(slip, (ROOT / "models" / slip.module).read_text()) for slip in SLIPS]
    assert [slip for slip, text in texts if text.count(slip.before) != 1] == []
