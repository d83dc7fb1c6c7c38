"""What benchmarks of messages, and files without a heading, tell of their processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick_measure.formats import read
from slipstick_measure.imports.formats import import_spec
from slipstick_measure.measurements import Hints

IMB = """\
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
#----------------------------------------------------------------
# Benchmarking Multi-Allreduce
# ( 3 groups of 8 processes each running simultaneous )
# Group 0: 0 1 2 3 4 5 6 7
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         1.93         2.03         1.97
"""


def test_groups_that_run_at_a_time_have_the_processes_of_all_groups(tmp_path: Path) -> None:
    (tmp_path / "imb.txt").write_text(IMB)
    measurements = read(tmp_path / "imb.txt")
    assert {record.p for record in measurements.records} == {3 * 8}
    assert "3 groups of 8 processes ran at a time" in str(measurements.notes)


def test_numbers_below_a_single_number_are_no_table_without_heading(tmp_path: Path) -> None:
    """The first line is the number of rows, as some formats have it, and no row of a table."""
    (tmp_path / "times.txt").write_text("2\n1 2.0\n2 1.1\n")
    with pytest.raises(SpecError, match="cannot tell what this is"):
        read(tmp_path / "times.txt")
    (tmp_path / "rows.txt").write_text("1 2.0\n2 1.1\n")
    with pytest.raises(SpecError, match="the table has no heading"):
        read(tmp_path / "rows.txt")


def test_a_unit_of_pdq_that_is_not_known_is_noted(tmp_path: Path) -> None:
    (tmp_path / "model.R").write_text(
        'library(pdq)\npdq::Init("shop")\npdq::CreateClosed("users", pdq::TERM, 3, 2.0)\n'
        'pdq::CreateNode("cpu", pdq::CEN, pdq::FCFS)\npdq::SetDemand("cpu", "users", 0.1)\n'
        'pdq::SetTUnit("Ticks")\npdq::Solve(pdq::EXACT)\n'
    )
    imported = import_spec([tmp_path / "model.R"], Hints())
    assert "the program calls its unit of time 'Ticks', which is not known" in imported.notes


def test_an_output_of_memtier_that_was_cut_is_refused(tmp_path: Path) -> None:
    whole = Path(__file__).parents[2] / "shelf/load-tests/memtier.txt"
    (tmp_path / "memtier.txt").write_text(whole.read_text().partition("Totals")[0])
    with pytest.raises(SpecError) as refusal:
        read(tmp_path / "memtier.txt")
    assert "its row of totals is missing; is the output cut?" in str(refusal.value)
