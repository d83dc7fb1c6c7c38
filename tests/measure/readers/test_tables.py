"""Tables of runs as people write them: each is read as its author means it, or refused with the
option that says which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick_measure.account import measured
from slipstick_measure.formats import read
from slipstick_measure.measurements import Hints
from slipstick_measure.readers.cells import parse_seconds
from slipstick_measure.readers.names import rate_unit, split_heading
from tests.measure.data import at, refused

READ: dict[str, tuple[str, str, list[tuple[int, float]]]] = {
    "a rate per second beside times that capitals part": (
        "Processes,TotalTimeMs,Throughput_M_elems_per_sec\n1,400,25\n4,125,80\n",
        "time",
        [(1, 0.4), (4, 0.125)],
    ),
    "sizes in rows and processors in columns": (
        "size;p=1;p=4\n200;4,0;1,5\n400;32,0;9,5\n",
        "time",
        [(1, 4), (4, 1.5), (1, 32), (4, 9.5)],
    ),
    "processors in rows and sizes in columns": (
        "| threads | n=200 | n=400 |\n|---|---|---|\n| 1 | 4 | 32 |\n| 4 | 1.5 | 9.5 |\n",
        "time",
        [(1, 4), (1, 32), (4, 1.5), (4, 9.5)],
    ),
    "empty cells at the end of lines parted by blanks": (
        "cores  time\n1  12m4s\n2  6m20s\n4\n8  1m50s\n16  1m22s\n",
        "time",
        [(1, 724), (2, 380), (8, 110), (16, 82)],
    ),
    "empty cells at the end of lines parted by two blanks or more": (
        (
            "No. cores   time\n"
            "1           12m 4s\n"
            "2           6m 20s\n"
            "4\n"
            "8           110 s\n"
            "16          82 s\n"
        ),
        "time",
        [(1, 724), (2, 380), (8, 110), (16, 82)],
    ),
    "gigabytes per second with lines below": (
        "threads,GB_per_s\n1,12.5\n16,90.25\n",
        "throughput",
        [(1, 12.5e9), (16, 90.25e9)],
    ),
    "milliseconds per step with lines below": (
        "ranks,start_time,ms_per_step\n1,17,40\n4,19,11\n",
        "time",
        [(1, 0.04), (4, 0.011)],
    ),
    "figure of merit beside its ideal": (
        "No. cores, Actual, Ideal\n8,9.1e+04,9.1e+04\n16,1.7e+05,1.82e+05\n64,5.2e+05,7.3e+05\n",
        "throughput",
        [(8, 9.1e4), (16, 1.7e5), (64, 5.2e5)],
    ),
    "markdown in a text": (
        (
            "# Results\n\n"
            "We ran it twice.\n\n"
            "| GPUs | tokens/s |\n"
            "|-----:|:--------|\n"
            "| 1 | 3,150.5 |\n"
            "| 8 | 22,400.0 |\n\nSo it scales.\n"
        ),
        "throughput",
        [(1, 3150.5), (8, 22400)],
    ),
    "boxes": (
        (
            "┌───────┬──────────┐\n"
            "│ ranks │ time (s) │\n"
            "├───────┼──────────┤\n"
            "│ 1     │ 40.5     │\n"
            "│ 4     │ 11.25    │\n└───────┴──────────┘\n"
        ),
        "time",
        [(1, 40.5), (4, 11.25)],
    ),
    "plus and minus signs as a box": (
        (
            "+------+--------+\n"
            "| np   | wall   |\n"
            "+======+========+\n"
            "| 2    | 2m42s  |\n"
            "| 4    | 1m30s  |\n"
            "+------+--------+\n"
        ),
        "time",
        [(2, 162), (4, 90)],
    ),
    "blanks inside names": (
        "No. of nodes   Wall time (sec)\n1              930.5\n2              480.25\n",
        "time",
        [(1, 930.5), (2, 480.25)],
    ),
    "decimal commas": (
        "Kerne;Zeit;time [s]\n1;a;10,5\n2;b;5,75\n",
        "time",
        [(1, 10.5), (2, 5.75)],
    ),
    "batch system": (
        "JobID,NNodes,Elapsed\n11,1,1-02:00:00\n12,2,13:30:00\n13,4,07:05:10\n",
        "time",
        [(1, 93600), (2, 48600), (4, 25510)],
    ),
    "units in cells": (
        "ncores | runtime\n1 | 117.2 sec\n8 | 16.9 sec\n",
        "time",
        [(1, 117.2), (8, 16.9)],
    ),
    "spreads": ("cores,time [s]\n1,10.0 ± 0.2\n2,5.2 +/- 0.1\n", "time", [(1, 10), (2, 5.2)]),
    "bandwidth by threads": (
        "OMP threads,Triad (GB/s)\n1,12.5\n4,44.0\n16,90.25\n",
        "throughput",
        [(1, 12.5e9), (4, 44e9), (16, 90.25e9)],
    ),
    "a table of Jira": (
        "h2. Results\n\n||processors||time [s]||\n|1|40|\n|4|12|\n\nSo it scales.\n",
        "time",
        [(1, 40), (4, 12)],
    ),
    "nodes and threads whose product is the ranks": (
        "nodes,threads,ranks,time [s]\n1,4,4,10\n2,4,8,6\n2,8,16,4\n4,8,32,3\n",
        "time",
        [(4, 10), (8, 6), (16, 4), (32, 3)],
    ),
    "resources of jobs before their times": (
        (
            "JobID|AllocTRES|Elapsed|State\n"
            "11|cpu=4,mem=8G|00:10:00|COMPLETED\n12|cpu=8,mem=8G|00:06:00|COMPLETED\n"
        ),
        "time",
        [(4, 600), (8, 360)],
    ),
    "simulated time a day": (
        "GPUs,Performance [ns/day]\n1,86.4\n4,259.2\n",
        "throughput",
        [(1, 86.4 / 86400), (4, 259.2 / 86400)],
    ),
    "a rate of one processor": (
        "nodes,GFLOPS/node\n1,500\n4,450\n",
        "throughput",
        [(1, 500e9), (4, 1800e9)],
    ),
    "runs as columns": (
        "Cores,1,2,4\nTime [s],10,5.2,2.9\nSpeedup,1,1.92,3.45\n",
        "time",
        [(1, 10), (2, 5.2), (4, 2.9)],
    ),
    "runs as columns in Markdown": (
        "| GPUs | 1 | 8 |\n|---|---|---|\n| tokens/s | 310 | 2100 |\n",
        "throughput",
        [(1, 310), (8, 2100)],
    ),
    "only speed-up": ("p,speedup\n1,1\n2,1.9\n8,6.4\n", "speedup", [(1, 1), (2, 1.9), (8, 6.4)]),
    "nodes beside cores": (
        "nodes,cores,time [s]\n1,48,100\n2,96,52\n4,192,28\n",
        "time",
        [(48, 100), (96, 52), (192, 28)],
    ),
    "a constant beside": (
        "ranks,threads,time [s]\n1,4,100\n2,4,55\n",
        "time",
        [(1, 100), (2, 55)],
    ),
    "missing runs": (
        "gpus,time [s]\n1,OOM\n2,80\n4,41\n8,n/a\n",
        "time",
        [(2, 80), (4, 41)],
    ),
    "time of a step": ("NCPUS,ms/step\n1,840\n8,120\n", "time", [(1, 0.84), (8, 0.12)]),
    "N is the processors where nothing else is": (
        "N,time [s]\n1,100\n2,52\n4,30\n",
        "time",
        [(1, 100), (2, 52), (4, 30)],
    ),
    "several rows in a line of LaTeX": (
        (
            "\\begin{tabular}{rr}\n"
            "Cores & Time [s] \\\\ \\hline\n"
            "1 & 100 \\\\ 2 & 51 \\\\[2pt] 4 & 27 \\\\% once 3 & 9\n"
            "8 & $1.5 \\times 10^{1}$ \\\\\n\\end{tabular}\n"
        ),
        "time",
        [(1, 100), (2, 51), (4, 27), (8, 15)],
    ),
    "a heading in the line that begins a table of LaTeX": (
        (
            "\\begin{tabular*}{\\textwidth}[t]{l@{}p{2cm}} p & time [s] \\\\ \\hline\n"
            "1 & 40 \\\\\n"
            "2 & 21 \\\\\n"
            "\\end{tabular*}\n"
        ),
        "time",
        [(1, 40), (2, 21)],
    ),
    "users and transactions": (
        "clients,tps\n1,900\n8,5200\n",
        "throughput",
        [(1, 900), (8, 5200)],
    ),
    "a sheet with title, units, repetitions side by side, their mean and a note": (
        (
            "\ufeffStrong scaling, mesh 512^3;;;;\r\n;;;;\r\n"
            "Nodes;Cores;Run 1;Run 2;Average\r\n;;[s];[s];[s]\r\n"
            "1;48;50,50;49,87;50,19\r\n2;96;32,26;;32,26\r\n"
            ";;;;\r\nnode 7 was slow in run 2;;;;\r\n"
        ),
        "time",
        [(48, 50.5), (48, 49.87), (96, 32.26)],
    ),
    "rates of several runs side by side": (
        "Threads,Run 1 (GB/s),Run 2 (GB/s)\n1,11.1,11.3\n4,40.2,40.1\n",
        "throughput",
        [(1, 11.1e9), (1, 11.3e9), (4, 40.2e9), (4, 40.1e9)],
    ),
    "a heading after a hash above percentages": (
        "#cores\ttime [s]\tefficiency\n1\t50\t100%\n2\t26\t96%\n",
        "time",
        [(1, 50), (2, 26)],
    ),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", READ)
def test_a_table_is_read_as_its_author_means_it(name: str, tmp_path: Path) -> None:
    text, metric, values = READ[name]
    (tmp_path / "x.md").write_text(text)
    is_crossed = " columns" in name and " rows" in name
    runs = read(tmp_path / "x.md", Hints(unit="s") if is_crossed else Hints()).records
    assert {run.metric for run in runs} == {metric}
    assert [run.p for run in runs] == [p for p, _ in values]
    assert [run.value for run in runs] == pytest.approx([value for _, value in values])


REFUSED: dict[str, tuple[str, Hints, str]] = {
    "numbers over columns": (
        "size;1;2;4\n200;4.0;2.1;1.5\n400;32;17;9.5\n",
        Hints(),
        "1, 2, 4: what do these columns count? write p=1 for processors, n=1 for sizes, or run 1",
    ),
    "two counts that are no multiples": (
        "nodes,threads,time [s]\n1,8,100\n2,4,60\n4,16,30\n",
        Hints(),
        "which column counts the processors, nodes or threads? write --column p=NAME",
    ),
    "several rates": (
        "threads,Copy (GB/s),Triad (GB/s)\n1,10,12\n4,30,44\n",
        Hints(),
        (
            "which column is the throughput, Copy (GB/s) or Triad (GB/s)? write --column"
            " throughput=NAME"
        ),
    ),
    "a value that neither rises nor falls": (
        "cores,Actual\n1,5.0\n2,5.1\n4,5.0\n",
        Hints(),
        "write --column time=Actual or --column throughput=Actual",
    ),
    "a rising value that is told to be a time": (
        "cores,Actual\n1,5e4\n2,9e4\n4,1.7e5\n",
        Hints(columns={"value": "Actual"}, unit="s"),
        (
            "goes from 5e4 to 1.7e5 as p grows, as a throughput does, and --unit s is of a "
            "time; write --column throughput=Actual without --unit, or --column time=Actual"
        ),
    ),
    "a time that stays": (
        "ranks,time [s]\n1,1.46\n4,1.5\n32,1.74\n",
        Hints(),
        (
            "the time goes from 1.46 s at p = 1 to 1.74 s at p = 32; did the work grow with the"
            " processors? Say --scaling weak if it did, --scaling strong if it stayed"
        ),
    ),
    "numbers that tell rows apart": (
        "p,block,time [s]\n1,16,10\n2,16,6\n1,32,9\n2,32,5\n",
        Hints(),
        "block: its numbers tell rows of the same processors apart: are they variants, sizes or",
    ),
    "a program in the first of its rows": (
        "program,p,time [s]\nlu,1,10\n,2,6\n,4,4\nft,1,20\n,2,11\n,4,7\n",
        Hints(),
        "program: its empty cells may repeat the word above or stand for none; write a word in",
    ),
    "a variant beside rows without one": (
        "variant,p,time [s]\n,1,10\n,2,6\nfused,1,9\nfused,2,5\n",
        Hints(),
        "variant: its empty cells may repeat the word above or stand for none; write a word in",
    ),
    "words that tell rows of one region apart": (
        "p,region,compiler,time [s]\n1,loop,a,10\n2,loop,a,6\n1,loop,b,9\n2,loop,b,5\n",
        Hints(),
        "compiler: its words tell rows of one region apart; keep rows of each in a file of its own",
    ),
    "waits that are means": (
        "p,time [s],wait [s]\n1,480,0\n64,18.65,10.1\n",
        Hints(),
        (
            "is 10.1 s at p = 64 the mean of a processor? Then the runs agree with that on one"
            " processor; as a sum over all 64 they do not. Say --waits mean, or --waits sum"
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_read_in_two_ways_is_asked(name: str, tmp_path: Path) -> None:
    text, hints, words = REFUSED[name]
    assert any(words in each for each in refused(tmp_path, text, hints=hints))


def test_words_of_several_columns_name_a_program_together(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "p,program,flags,language,time [s]\n"
        "1,lu,fast,C,10\n2,lu,fast,C,6\n1,lu,slow,C,12\n2,lu,slow,C,7\n"
        "1,ft,fast,C,20\n2,ft,fast,C,11\n1,ft,slow,C,24\n2,ft,slow,C,13\n2,ft,slow,C,15\n"
    )
    runs = read(tmp_path / "x.csv")
    assert [(run.region, run.p, run.value) for run in runs.records if run.region == "ft slow"] == [
        ("ft slow", 1, 24),
        ("ft slow", 2, 13),
        ("ft slow", 2, 15),
    ]
    assert {run.region for run in runs.records} == {"lu fast", "lu slow", "ft fast", "ft slow"}
    assert "region = program flags" in runs.notes[0].message


def test_remarks_on_some_repetitions_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "p,time [s],remark\n1,10,\n1,11,\n2,5,slow disk\n2,6,\n4,3,\n4,2.8,slow disk\n8,2,\n8,3,\n"
    )
    assert [run.region for run in read(tmp_path / "x.csv").records] == [""] * 8


def test_measured_numbers_beside_the_times_of_repetitions_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "p,time [s],iterations done\n1,10,50\n1,11,51\n2,5,51\n2,6,50\n4,3,52\n4,2.8,50\n"
    )
    runs = read(tmp_path / "x.csv")
    assert [run.region for run in runs.records] == [""] * 6
    assert "left out: iterations done" in runs.notes[0].message


def test_what_was_understood_is_a_note_with_the_command_that_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(READ["figure of merit beside its ideal"][0])
    (note,) = read(tmp_path / "x.csv").notes
    assert note.message == (
        "read as p = No. cores, throughput = Actual; left out: Ideal; to change this: slipstick"
        f" measured {tmp_path}/x.csv --column time=Actual --unit s"
    )


def test_a_column_n_that_counts_processors_is_said_to_be_no_size(tmp_path: Path) -> None:
    """By the command of the note its numbers are sizes of runs on given processors."""
    path = tmp_path / "x.csv"
    path.write_text("n,FOM\n1000,12.1\n2000,14.5\n4000,15.9\n")
    runs = read(path)
    assert [(run.p, run.n) for run in runs.records] == [(1000, None), (2000, None), (4000, None)]
    assert runs.notes[0].message == (
        "read as p = n, throughput = FOM; n counts processors, and is no size; to change this:"
        f" slipstick measured {path} --column n=n --processors N"
    )
    sizes = read(path, Hints(columns={"n": "n"}, processors=8)).records
    assert [(run.p, run.n) for run in sizes] == [(8, 1000), (8, 2000), (8, 4000)]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("x.md", "| cores | time [s] |\n|---|---|\n| {0} | 9 |\n| 2 | 5 |\n\n"),
        (
            "x.tex",
            (
                "\\begin{{tabular}}{{rr}}\n"
                "cores & time [s] \\\\\n"
                "{0} & 9\\\\ 2 & 5\n"
                "\\end{{tabular}}\n"
            ),
        ),
    ],
)
def test_a_second_table_is_left_out_with_a_note(name: str, table: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(table.format(1))
    assert read(tmp_path / name).notes == ()
    (tmp_path / name).write_text(table.format(1) + table.format(4))
    runs = read(tmp_path / name)
    assert [run.p for run in runs.records] == [1, 2]
    line = 1 + table.count("\n")
    (note,) = runs.notes
    assert f"another table begins in line {line}: keep it in a file of its own" in note.message


def test_a_second_table_of_a_sheet_is_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text(
        "Strong scaling,,\nCores,Time (s),\n1,100,\n2,52,\n,,\n"
        "Weak scaling,,\nCores,Time (s),Cells\n1,10,100\n2,11,200\n"
    )
    runs = read(tmp_path / "two.csv")
    assert [(run.p, run.value) for run in runs.records] == [(1, 100), (2, 52)]
    (note,) = runs.notes
    assert note.message == (
        "5 lines outside the table are left out; another table begins in line 7: keep it in a file"
        " of its own"
    )


@pytest.mark.parametrize("row", ["4 28", "4;28", "4 28 s", "4|28"])
def test_a_row_with_another_separator_is_no_note(row: str, tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, f"cores,time [s]\n1,100\n2,52\n{row}\n8,16\n")
    assert problem == "x.csv:4:1: 1 value, where the header promises 2; check the delimiter"


@pytest.mark.parametrize(("row", "count"), [("below here on the other machine", 1), ("8,16", 0)])
def test_a_text_between_rows_is_noted(row: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"cores,time [s]\n1,100\n2,52\n{row}\n16,9\n\nmeasured at night\n")
    notes = read(path).notes
    assert [note.line for note in notes] == [4] * count


def test_a_text_below_the_first_row_is_between_rows(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("cores,time [s]\n1,100\nbelow here on the other machine\n2,52\n")
    assert [note.line for note in read(path).notes] == [3]


def test_the_first_of_two_unknown_columns_counts_the_processors(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("alpha,beta,time [s]\n1,7,10\n2,9,6\n4,9,4\n")
    runs = read(path)
    assert [run.p for run in runs.records] == [1, 2, 4]
    (note,) = runs.notes
    assert "read as p = alpha, time = time [s]; left out: beta" in note.message


def test_tables_side_by_side_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text(
        ",Strong scaling,,Weak scaling,\nCores,Time (s),Speedup,Time (s),Efficiency\n"
        "1,50,1,9,100%\n2,26,1.9,9.2,98%\n"
    )
    with pytest.raises(SpecError) as caught:
        read(path)
    assert caught.value.problems[0].message == (
        "tables are side by side, 'Strong scaling' and 'Weak scaling': 'Time (s)' heads several"
        " columns; write each table to a file of its own, with the column of processors"
    )


def test_the_column_that_is_told_is_the_one_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("threads,Copy (GB/s),Triad (GB/s)\n1,10,12\n4,30,44\n")
    runs = read(path, Hints(columns={"throughput": "Triad (GB/s)"})).records
    assert [run.value for run in runs] == [12e9, 44e9]
    path.write_text("cores,T [s],U\n1,5.0,3\n2,2.6,4\n")
    assert [run.value for run in read(path, Hints(columns={"time": "U"}, unit="ms")).records] == [
        0.003,
        0.004,
    ]


WEAK = {
    "told": ("ranks,time [s]\n1,1.464\n8,1.503\n32,1.744\n", Hints(weak=True)),
    "sizes that grow": ("ranks,time [s],n\n1,1.464,512\n8,1.503,4096\n32,1.744,16384\n", Hints()),
    "edges of a cube": ("ranks,time [s],n\n1,1.464,100\n8,1.503,200\n27,1.744,300\n", Hints()),
    "a size of each": (
        "ranks,time [s],local size\n1,1.464,99\n8,1.503,99\n32,1.744,99\n",
        Hints(),
    ),
    "time beside a rate": (
        "ranks,time [s],cells/s\n1,1.464,1000\n8,1.503,7792.4\n32,1.744,26862.4\n",
        Hints(),
    ),
}


@pytest.mark.parametrize("name", WEAK)
def test_work_that_grows_with_the_processors_keeps_its_time(name: str, tmp_path: Path) -> None:
    """1.464 s on one rank and 1.744 s on the most are 84 %, not 2.6 %."""
    text, hints = WEAK[name]
    (tmp_path / "x.csv").write_text(text)
    found = measured(read(tmp_path / "x.csv", hints))
    last = found.answers[-1]
    p = float(last.point["p"])
    assert last["efficiency"] == pytest.approx(1.464 / 1.744)
    assert last["speedup"] == pytest.approx(p * 1.464 / 1.744)
    assert last["processors_lost[lost]"] == pytest.approx(p * (1 - 1.464 / 1.744))


@pytest.mark.parametrize(
    "text",
    [
        "gpus,batch size,samples/s\n8,512,3280\n16,1024,6432\n32,2048,12160\n",
        "nodes,gpus,batch size,samples/s/gpu\n1,8,512,410\n2,16,1024,402\n4,32,2048,380\n",
    ],
)
def test_a_rate_of_work_that_grows_is_no_time_that_stays(text: str, tmp_path: Path) -> None:
    """12160 of 32 for 3280 of 8 is 3.7 times as much of 4 times as many."""
    (tmp_path / "x.csv").write_text(text)
    answer = at(measured(read(tmp_path / "x.csv")), 32)
    assert answer["relative_speedup"] == pytest.approx(12160 / 3280)
    assert answer["efficiency"] == pytest.approx(12160 / 3280 / 4)
    weak = at(measured(read(tmp_path / "x.csv", Hints(weak=True))), 32)
    assert weak["efficiency"] == answer["efficiency"]


def test_sizes_that_stay_are_strong_scaling_and_are_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("p,time [s],n\n1,1.0,512\n16,1.2,512\n")
    assert at(measured(read(tmp_path / "x.csv")), 16)["speedup"] == pytest.approx(1 / 1.2)


def test_waits_that_are_means_of_a_processor_are_taken_as_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("p,time [s],wait [s]\n1,480,0\n64,18.65,10.1\n")
    answer = at(measured(read(tmp_path / "x.csv", Hints(mean_waits=True))), 64)
    assert answer["speedup"] == pytest.approx(480 / 18.65)
    assert answer["processors_lost[waiting]"] == pytest.approx(64 * 10.1 / 18.65)
    summed = at(measured(read(tmp_path / "x.csv", Hints(mean_waits=False))), 64)
    assert summed["speedup"] == pytest.approx(answer["speedup"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("02:10:05", 7805),
        ("1-02:00:00", 93600),
        ("2-03", None),
        ("1-02:30", 95400),
        ("2'42\"", 162),
        ("2′42″", 162),
        ("11m39s", 699),
        ("1h 2m 3.5s", 3723.5),
        ("3 days 01:00:00", 262800),
        ("12:30", 750),
        ("0:59.25", 59.25),
        ("1:75", None),
        ("5s 3m", None),
        ("12.5", None),
    ],
)
def test_times_as_clocks_write_them(text: str, value: float | None) -> None:
    found = parse_seconds(text)
    assert (None if found is None else float(found)) == value


@pytest.mark.parametrize(
    ("text", "factor", "unit"),
    [
        ("GB/s", 1e9, "B/s"),
        ("MiB/s", 2**20, "B/s"),
        ("Gbit/s", 1e9 / 8, "B/s"),
        ("Gbps", 1e9 / 8, "B/s"),
        ("GFLOPS", 1e9, "1/s"),
        ("TFLOP/s", 1e12, "1/s"),
        ("MLUP/s", 1e6, "1/s"),
        ("req/min", 1 / 60, "1/s"),
        ("tokens per second", 1, "1/s"),
        ("requests/s", 1, "1/s"),
        ("steps/day", 1 / 86400, "1/s"),
    ],
)
def test_units_of_work_are_rates(text: str, factor: float, unit: str) -> None:
    found = rate_unit(text)
    assert found is not None
    assert float(found.factor) == pytest.approx(factor)
    assert found.base_unit == unit


@pytest.mark.parametrize("text", ["s", "s/step", "m/s2/x", "cells", "GB", "1/x"])
def test_other_units_are_none(text: str) -> None:
    assert rate_unit(text) is None


def test_headings_of_many_kinds_are_processors() -> None:
    words = {"No. cores", "ncores", "np", "NCPUS", "gpus", "MPI ranks", "tasks", "#procs", "Nodes"}
    from slipstick_measure.readers.columns import TableColumn

    assert {TableColumn.of(0, word, []).kind for word in words} == {"p"}
    assert split_heading("**Wall time (sec)**") == ("wall time", "sec")


@pytest.mark.parametrize("mark", [".", "-", "*", "..", "_", "#", "(", "|", "\ufeff."])
def test_a_mark_over_a_unit_is_a_heading_without_words(mark: str) -> None:
    words, unit = split_heading(f"{mark}/s")
    assert not words.strip(f"{mark}/s ")
    assert unit in (None, "s")


def test_a_table_over_several_blocks_shows_every_point(tmp_path: Path) -> None:
    from slipstick_measure.report.measured import measured_text

    rows = "\n".join(f"{p},{100 / p + p},16384" for p in range(1, 10))
    (tmp_path / "x.csv").write_text(f"p,time [s],n\n{rows}\n")
    text = measured_text(measured(read(tmp_path / "x.csv")).answers)
    assert all(f"p = {p}, n = 16384" in text for p in range(1, 10))


def test_throughputs_are_shown_in_their_own_unit(tmp_path: Path) -> None:
    from slipstick_measure.report.measured import measured_text

    (tmp_path / "x.csv").write_text("threads,Triad (GB/s)\n1,12.5\n16,90.25\n")
    found = measured(read(tmp_path / "x.csv"))
    text = measured_text(found.answers, throughput_unit=found.rate)
    assert "throughput [GB/s]" in text
    assert "90.25" in text
    assert at(found, 16)["throughput"] == pytest.approx(90.25e9)
    assert at(found, 16)["speedup"] == pytest.approx(90.25 / 12.5)


def test_files_with_rates_of_several_kinds_are_not_added_up(tmp_path: Path) -> None:
    from slipstick_measure.formats import read_all

    for name, unit in (("a.csv", "GB/s"), ("b.csv", "ns/day")):
        (tmp_path / name).write_text(f"threads,x [{unit}]\n1,12.5\n16,90.25\n")
    with pytest.raises(SpecError, match="the files have throughputs in GB/s and ns/day"):
        read_all([tmp_path / "a.csv", tmp_path / "b.csv"], [Hints(), Hints()])


def test_a_cell_that_is_too_long_is_no_value(tmp_path: Path) -> None:
    text = f"p,time [s]\n1,2\n2,{'1.' * 50_000}eeee\n"
    (problem,) = refused(tmp_path, text)
    assert problem == "x.csv:3:1: a cell of 100,004 characters; a table has at most 10,000"


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        *[("flops", 1), ("kflops", 10**3), ("mflops", 10**6), ("gflops", 10**9)],
        *[("TFLOPS", 10**12), ("flop/s", 1), ("mflop/s", 10**6), ("gflop/s", 10**9)],
    ],
)
def test_a_prefix_of_operations_counts_in_small_letters_too(unit: str, factor: int) -> None:
    parsed = rate_unit(unit)
    assert parsed is not None
    assert parsed.factor == factor


@pytest.mark.parametrize("heading", ["MPI time", "comm time", "I/O time"])
def test_a_part_in_percent_is_read_as_the_same_part_in_seconds(
    heading: str, tmp_path: Path
) -> None:
    """Second road: the file in which the shares were multiplied by the elapsed time."""
    parts_by_file = {}
    for name, unit, cells in (("shares", "(%)", "2.5 5 7.5"), ("seconds", "[s]", "2.5 2.6 2.1")):
        rows = zip((1, 2, 4), (100, 52, 28), cells.split(), strict=True)
        path = tmp_path / f"{name}.csv"
        text = "\n".join(f"{p},{time},{cell}" for p, time, cell in rows)
        path.write_text(f"p,time [s],{heading} {unit}\n{text}\n")
        parts_by_file[name] = [
            record.value for record in read(path, Hints()).records if record.region == heading
        ]
    assert len(parts_by_file["shares"]) == 3
    assert parts_by_file["shares"] == pytest.approx(parts_by_file["seconds"])


def test_a_share_without_the_elapsed_time_names_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "shares.csv"
    path.write_text("p,MPI time [%]\n1,3\n2,4\n")
    with pytest.raises(SpecError, match="a share of the elapsed time needs a column of it"):
        read(path, Hints())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("p,time [%],ops per second\n1,90,10\n2,80,19\n", "a share of the elapsed time needs"),
        ("p,total time (s),events per second\n1,10,10\n2,6\n", "where the header promises 3"),
        ("p,total time (s),events per second\n1\n", "where the header promises 3"),
    ],
)
def test_a_rate_beside_no_elapsed_time_is_refused_in_words(
    table: str, words: str, tmp_path: Path
) -> None:
    (problem,) = refused(tmp_path, table)
    assert words in problem


@pytest.mark.parametrize(("cell", "words"), [("", "an empty cell"), ("n/a", "'n/a'")])
def test_a_row_without_a_value_is_left_out_with_a_note(
    tmp_path: Path, cell: str, words: str
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"Ranks,Runtime\n1,305.6 s\n2,155.8 s\n4,82.2 s\n8,{cell}\n16,26.8 s\n")
    runs = read(path)
    assert sorted({record.p for record in runs.records}) == [1, 2, 4, 16]
    (note,) = [note for note in runs.notes if "left out" in str(note)]
    assert str(note).endswith(f":5:1: {words} is no value; the run is left out")
