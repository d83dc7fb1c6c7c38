"""Columns of causes beside the times: their growth, the law that has terms for them, and what is
said where a law has none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import sympy

from slipstick.cli.main import main
from slipstick_measure.fit.comparison import compare, fits
from slipstick_measure.fit.extrapolation import Extrapolation
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.measured_causes import MeasuredCause, fit_cause

P = np.array([1.0, 2, 4, 8, 16, 32, 64])
COST = 0.6 * np.log2(P)


def timings(seed: int | None, cost: np.ndarray = COST) -> Timings:
    """Return a program of 200 s whose communication grows, with noise of 2 % unless without a
    seed.
    """
    normal = np.zeros((2, len(P)))
    if seed is not None:
        normal = np.random.default_rng(seed).standard_normal((2, len(P)))
    time_noise, cost_noise = 1 + 0.02 * normal
    cause = MeasuredCause("mpi", P, cost * cost_noise)
    return Timings(P, np.ones(len(P)), (4 + 196 / P + cost) * time_noise, causes=(cause,))


def test_the_law_with_the_causes_finds_the_truth_without_noise() -> None:
    """Fastest where 196 / p^2 = 0.6 / (p ln 2), on 226 processors."""
    best = compare(timings(None)).best
    assert best.name == "measured-causes"
    serial_seconds = (
        best.fitted_formula.parameters["single"] * best.fitted_formula.parameters["serial"]
    )
    assert serial_seconds == pytest.approx(4.0, rel=1e-6)
    assert best.fitted_formula.predict([128])[0] == pytest.approx(4 + 196 / 128 + 4.2)
    fastest = Extrapolation(best.fitted_formula).fastest_point()
    assert fastest is not None
    assert fastest[0] == round(196 * np.log(2) / 0.6)


FORMS = (
    *("", "log(p, 2)", "(p - 1)/p", "log(p, 2)**2", "p**(1/4)", "p**(1/3)", "sqrt(p)"),
    *("sqrt(p)*log(p, 2)", "p**(2/3)", "p**(3/4)", "p - 1", "p*log(p, 2)", "(p - 1)**2"),
    *("1/sqrt(p)", "1/p"),
)


@pytest.mark.parametrize("form", FORMS)
def test_a_cause_is_fitted_by_the_form_that_it_has(form: str) -> None:
    """SymPy evaluates the printed term, and it is the cause again."""
    p = sympy.Symbol("p")
    function = sympy.lambdify(p, sympy.sympify(form or "1", {"p": p}), "numpy")
    fitted = fit_cause(MeasuredCause("mpi", P, 0.25 * function(P) * np.ones(len(P))))
    assert fitted is not None
    written = fitted.text.removesuffix("(mpi)").removeprefix("0.25 s").replace("^", "**").strip()
    printed = re.sub(r"log2\(p\)", "log(p, 2)", written.replace(" log2", "*log2"))
    printed = f"1{printed}" if printed.startswith("/") else printed or "1"
    assert (
        sympy.simplify(sympy.sympify(printed, {"p": p}) - sympy.sympify(form or "1", {"p": p})) == 0
    )
    assert fitted.seconds(np.array([100.0]))[0] == pytest.approx(0.25 * float(function(100.0)))


@pytest.mark.parametrize(
    ("seconds", "grows"),
    [
        (P ** (1 / 4), True),
        (np.where(P == 64, 1.25, 1.0), False),  # nearest to a constant
        (np.where(P == 64, 16.0, P), False),  # falls at the end
    ],
)
def test_a_cause_grows_where_its_rows_and_its_form_do(seconds: np.ndarray, grows: bool) -> None:
    """Both by a fifth at least, from a quarter of the processors to all of them."""
    fitted = fit_cause(MeasuredCause("mpi", P, seconds))
    assert fitted is not None
    assert fitted.grows is grows


@pytest.mark.turns(6)
@pytest.mark.parametrize("seed", range(6))
def test_noise_of_two_percent_leaves_the_answer(seed: int) -> None:
    """The law of the causes leads, or the first line says which law lacks a term."""
    comparison = compare(timings(seed))
    finding = comparison.finding_on_causes
    assert finding.startswith("Measured: mpi grows from ")
    assert (
        comparison.best.name == "measured-causes" or "amdahl has no term that grows so" in finding
    )
    predictions = {
        candidate.name: float(candidate.fitted_formula.predict([128])[0])
        for candidate in comparison.candidates
    }
    assert predictions["measured-causes"] == pytest.approx(9.73, rel=0.05)
    low, high = comparison.predict(128, 0.95)
    assert low <= 9.73 <= high


def test_a_chosen_law_without_a_term_is_not_believed_beyond_the_rows() -> None:
    fitting = fits(timings(None), ["amdahl"], [128.0])
    assert fitting.growing_causes == ("mpi",)
    assert "amdahl has no term that grows so, and will be too fast" in fitting.findings[0]
    assert "nor for the growth of mpi, which the law has no term for" in fitting.warnings[0]


@pytest.mark.turns(8)
@pytest.mark.parametrize("cost", [np.full(len(P), 2.0), 3 * (1 - 1 / P), 40 / P])
def test_causes_that_do_not_grow_change_nothing(cost: np.ndarray) -> None:
    """A constant, one that levels off, and one that is shared: Amdahl's law has room for them."""
    comparison = compare(timings(None, cost))
    assert comparison.finding_on_causes == ""
    assert all(candidate.name != "measured-causes" for candidate in comparison.candidates)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.5 * np.sqrt(P), "sqrt(p)"), (0.01 * (P - 1), "(p - 1)"), (3 * P**-0.5, "/ sqrt(p)")],
)
def test_the_form_of_a_cause_is_recovered(cost: np.ndarray, text: str) -> None:
    fitted = fit_cause(MeasuredCause("cost", P, cost))
    assert fitted is not None
    assert fitted.form.text == text
    assert fitted.seconds(P) == pytest.approx(cost)


def test_a_cause_that_grows_as_no_form_has_no_law_but_is_told() -> None:
    """Steeper beyond a node of eight: the nearest form would be far too steep beyond the rows."""
    cost = 0.6 * (np.log2(P) + 2 * np.log2(np.ceil(P / 8)))
    comparison = compare(timings(None, cost))
    assert all(candidate.name != "measured-causes" for candidate in comparison.candidates)
    assert "as no simple power or logarithm" in comparison.finding_on_causes


@pytest.mark.turns(10)
def test_a_table_with_a_column_of_a_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cause as a part of the time, and as a wait of each processor: the same fit."""
    rows = timings(3)
    (cause,) = rows.causes
    lines = [
        f"{p:g},{time:.5f},{cost:.5f}"
        for p, time, cost in zip(P, rows.time, cause.seconds, strict=True)
    ]
    table = tmp_path / "runs.csv"
    documents = []
    for heading in ("MPI time [s]", "wait[MPI time] [s]"):
        table.write_text("\n".join([f"cores,time [s],{heading}", *lines]))
        options = ["--at", "128", "--efficiency", "50%"]
        if heading.startswith("wait"):
            options += ["--waits", "mean"]
        assert main(["fit", str(table), *options, "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert [document["answers"][0]["model"] for document in documents] == ["measured-causes"] * 2
    first_times = [document["answers"][0]["values"]["time[128]"] for document in documents]
    assert first_times[0]["value"] == pytest.approx(first_times[1]["value"], rel=1e-4)
    main(["fit", str(table), "--at", "128", "--waits", "mean"])
    screen = " ".join(capsys.readouterr().out.split())
    assert screen.startswith("Measured: MPI time grows from ")
    assert "Most is lost to MPI time" in screen
    assert "still rises" not in screen
