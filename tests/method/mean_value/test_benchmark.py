"""The program that measures the promises: its exact chains against known times, and a short run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mean_value as program
from benchmarks.activity_chain import exact_time
from slipstick.method.mean_value import form
from slipstick.model.activity import (
    Activity,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
)
from slipstick.model.system import Permits, Resource, Station, closed_model, phased_model

STATES = 2000


def work(name: str, mean: float, scv: float = 1.0) -> Activity:
    return delay(mean, name=name, scv=scv)


@pytest.mark.parametrize(
    ("cycle", "processors", "time"),
    [
        (work("think", 9.0) >> service("bus", 1.0, scv=1.0), 10, 12.0187),
        # The distribution of the time at delays does not matter in product form.
        (work("think", 9.0, 4.0) >> service("bus", 1.0, scv=1.0), 3, 10.2178218),
        (
            work("think", 2.0) >> fork(work("a", 1.0), work("b", 1.0)) >> repeat(2, hold("l", work("c", 0.5, 0.25))),
            1,
            4.5,
        ),
        (work("think", 2.0) >> pipeline([serial(work("a", 1.0)), parallel(work("b", 1.0))], 2), 1, 2 + 1 + 2.25),
        (work("think", 2.0) >> barrier("meet"), 3, 2 * (1 + 1 / 2 + 1 / 3)),
        (
            work("think", 2.0) >> choose((0.25, hold("pool", work("a", 1.0))), (0.75, hold("pool", work("b", 2.0)))),
            3,
            3.75,
        ),
    ],
)
def test_chains_of_known_times(cycle: Activity, processors: int, time: float) -> None:
    resources: dict[str, Resource] = {"pool": Permits(3)} if "pool" in str(cycle) else {}
    assert exact_time(closed_model(cycle, processors, resources=resources), STATES) == pytest.approx(time, abs=1e-4)


def test_a_chain_of_a_program_ends() -> None:
    alone = phased_model((1, 4, work("a", 3.0)))
    assert exact_time(alone, STATES) == pytest.approx(3 * (1 + 1 / 2 + 1 / 3 + 1 / 4))
    served = phased_model(
        (2, 3, service("bus", 1.0, scv=4.0)), (1, 1, work("b", 2.0)), resources={"bus": Station(1, "ps")}
    )
    assert exact_time(served, STATES) == pytest.approx(2 * 3 * 1.0 + 2)
    assert exact_time(served, 10) is None


def test_a_short_run_prints_errors_by_construct_and_goes_on_from_what_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(program.__file__).parent))
    kept = tmp_path / "kept.jsonl"
    short = ["--short", "--first", "1", "--keep", str(kept)]
    program.main(short)
    printed = capsys.readouterr().out
    assert [line.split("|")[1].strip() for line in printed.splitlines()[2:-1] if line.startswith("|")] == [
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


def test_the_page_on_methods_shows_the_error_of_every_construct_and_notes_say_the_worst() -> None:
    text = (Path(program.__file__).parents[1] / "models/slipstick/documentation/methods.md").read_text()
    table = text[text.index("| construct |") :].split("\n\n")[0].splitlines()
    rows = {cells[1].strip(): cells[2:-1] for cells in (line.split("|") for line in table[2:])}
    assert list(rows) == [*program.CONSTRUCTS, "**all**"]
    assert {len(cells) for cells in rows.values()} == {len(program.SCVS)}
    constant = program.SCVS.index(0.0)
    worst = {name: [int(cell.split("/")[-1]) for cell in cells] for name, cells in rows.items()}
    said = form._OUTSIDE
    assert f"errors of up to {worst['**all**'][constant]} % were measured" in said[0]
    assert f"near saturation of up to {max(worst['arrivals at locks and forks'])} %" in said[2]
    assert f"errors of up to {max(worst['reader-writer locks'][:constant])} % were measured" in said[6]
    nested = [float(cell.split("/")[1].strip(" *")) for cell in rows["nested locks"][:constant]]
    assert (
        f"up to {max(nested):.0f} % were measured in 95 of 100, at most {max(worst['nested locks'][:constant])} %"
        in said[4]
    )
