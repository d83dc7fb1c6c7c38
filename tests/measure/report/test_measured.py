"""Measured runs for the terminal."""

from __future__ import annotations

from slipstick.report.formatting import WIDTH
from slipstick.schema.library import catalogue_folder
from slipstick_measure.account import measured
from slipstick_measure.formats import read
from slipstick_measure.report.measured import measured_text, notes_text
from tests.measure.data import SAMPLES, read_sample, run, table

PUBLISHED = """\
the assumptions: T_1 = 6050 s measured

  p    N T_N - W_N    against T_1
---  -------------  -------------
  1         6012 s        -0.63 %
 16         6176 s         +2.1 %

Within 2.1 %: the same work is done with N processors as with one, and little is lost that was not
measured.
"""


def test_the_published_check_reads_as_printed() -> None:
    found = measured(read(catalogue_folder() / "profiles" / "lucier-1988.yaml"))
    text = measured_text(found.answers, found.title, found.source)
    assert text.endswith(PUBLISHED)
    assert "Of 16 processors, 4.99 are lost to locks, more than to anything else." in text


def test_every_text_fits_a_terminal_and_ends_with_a_line() -> None:
    for name in SAMPLES:
        found = measured(read_sample(name))
        text = measured_text(found.answers, found.title, found.source)
        assert text.isascii()
        assert text.endswith("\n")
        assert max(map(len, text.splitlines())) <= WIDTH, name


def test_what_is_not_known_is_not_shown() -> None:
    text = measured_text(measured(table(run(2, "time", 9.0), run(4, "time", 5.0))).answers)
    assert "speed-up over the smallest" in text
    assert "speed-up  " not in text
    assert "the assumptions" not in text
    lost = measured_text(measured(table(run(1, "time", 9.0), run(4, "time", 5.0))).answers)
    assert "Of 4 processors, 2.2 are lost; the data do not say to what." in lost


def test_many_points_and_causes_are_chosen_from() -> None:
    records = [run(p, "time", 9.0) for p in range(1, 30)]
    records += [
        run(p, "wait", 0.05 * p * (at + 1), f"cause-{at}" * 9)
        for p in range(1, 30)
        for at in range(15)
    ]
    text = measured_text(measured(table(*records)).answers)
    assert "others: " in text
    assert "p = 1 " in text
    assert "p = 29" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_the_check_says_which_way_it_fails() -> None:
    def words(estimate: float) -> str:
        records = [run(1, "time", 10.0), run(2, "time", 9.0), run(2, "wait", 18.0 - estimate, "a")]
        return measured_text(measured(table(*records)).answers).replace("\n", " ")

    assert (
        "more work is done with N processors than with one, or something is lost that was not"
        " measured" in words(12)
    )
    assert "less work is done with N processors than with one, or waits are counted twice" in words(
        8
    )
    assert "the same work is done with N processors as with one" in words(10)


def test_notes_are_a_line_each() -> None:
    found = measured(table(run(2, "time", 9.0, line=3)))
    assert notes_text(found.notes).startswith("note: f:3:1: all runs have 2 processors;")
    failed = measured_text(measured(table(run(2, "wait", 9.0, "a"))).answers)
    assert "p = 2: no answer: there is no elapsed time at this point" in failed
