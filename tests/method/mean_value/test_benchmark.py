"""The program that measures the promises: its exact chains against known times, and a short run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mean_value as program
from slipstick_mean_value import form
from slipstick_mean_value.measured_errors import ALL, MEASURED_ERRORS, MEASURED_SCVS


@pytest.mark.turns(4)
def test_a_short_run_prints_errors_by_construct_and_goes_on_from_what_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(program.__file__).parent))
    kept = tmp_path / "kept.jsonl"
    short = ["--short", "--first", "1", "--keep", str(kept)]
    program.main(short)
    printed = capsys.readouterr().out
    assert [
        line.split("|")[1].strip() for line in printed.splitlines()[2:-1] if line.startswith("|")
    ] == [
        *program.CONSTRUCTS,
        "**all**",
    ]
    assert f"{len(program.CONSTRUCTS)} models, numbers 1 to 1: " in printed
    lines = kept.read_text()
    program.main([*short, "--only", "locks,phases"])
    assert kept.read_text() == lines
    assert "2 models, numbers 1 to 1: " in capsys.readouterr().out


def test_models_of_the_promise_are_not_those_of_tuning() -> None:
    assert program.TUNED < 1000 <= min(program.PROMISED)
    first, again = (program.generated("locks", 1.0, program.PROMISED[0]) for _ in range(2))
    assert first == again
    assert first != program.generated("locks", 1.0, program.TUNED)
    # What is drawn differs between the constructs and scvs too.
    assert first.population != program.generated("locks", 4.0, program.PROMISED[0]).population


def test_the_errors_have_a_row_for_every_construct_and_notes_say_the_worst() -> None:
    assert set(MEASURED_ERRORS) == {*program.CONSTRUCTS, ALL}
    assert {len(errors) for errors in MEASURED_ERRORS.values()} == {len(MEASURED_SCVS)}
    assert program.SCVS == MEASURED_SCVS
    constant = MEASURED_SCVS.index(0.0)
    worst = {row: [largest for *_, largest in errors] for row, errors in MEASURED_ERRORS.items()}
    errors = form._MEASURED_ERROR_BY_CASE
    assert f"errors of up to {worst[ALL][constant]} % were measured" in errors["constant times"]
    of_streams = max(worst["arrivals at locks and forks"])
    assert f"near saturation of up to {of_streams} %" in errors["streams at locks"]
    of_readers = max(worst["reader-writer locks"][:constant])
    assert f"errors of up to {of_readers} % were measured" in errors["stations of readers"]
    nested = [high for _, high, _ in MEASURED_ERRORS["nested locks"][:constant]]
    assert (
        f"up to {max(nested):.0f} % (95th percentile) and"
        f" {max(worst['nested locks'][:constant])} % (maximum) were measured"
        in errors["nested locks"]
    )
