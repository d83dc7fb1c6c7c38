"""Wrong data is refused by name, at its line; odd data is taken, and noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick.limits import with_limits
from slipstick_measure.account import measured
from slipstick_measure.formats import read
from tests.measure.data import SAMPLES, Hints, account, read_sample, refused, sample

HEAD = "p,n,region,metric,unit,value,repetition\n"
EXTRA = "PARAMETER p\nPOINTS 1 2\nREGION main\nMETRIC time\n"
JSON = '{"parameters": ["p"], "measurements": {"main": {"time": [%s]}}}'
S = Hints(unit="s")
COUNT = "x.csv:2:1: p: processors are a whole number from 1 to 100,000,000; got "

WRONG: dict[str, tuple[str, Hints, list[str]]] = {
    "negative": (
        f"{HEAD}1,,,time,s,-1,\n",
        Hints(),
        ["x.csv:2:1: time: must be at least 0, got -1 s"],
    ),
    "not finite": (
        f"{HEAD}1,,,time,s,nan,\n2,,,time,s,1e999,\n",
        Hints(),
        [
            "x.csv:2:1: time: 'nan' is not a finite number; leave the run out, or measure it again",
            (
                "x.csv:3:1: time: '1e999' is not a finite number; leave the run out, or measure it"
                " again"
            ),
        ],
    ),
    "text": (f"{HEAD}1,,,time,s,fast,\n", Hints(), ["x.csv:2:1: time: 'fast' is not a number"]),
    "no value": (
        f"{HEAD}1,,,time,s,,\n",
        Hints(),
        ["x.csv:2:1: time: there is no value; write one, or leave the whole line out"],
    ),
    "ranks of a command": (
        (
            f'\tCommand being timed: "mpirun -np {"9" * 30} ./solver"\n'
            "\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:12.18\n\tExit status: 0\n"
        ),
        Hints(),
        [f"{COUNT}'{'9' * 30}'"],
    ),
    "decimal comma": (
        "p;time [s]\n1;1,500\n",
        Hints(),
        ["x.csv:2:1: time: '1,500' has a ','; write 1.5 for one and a half, 1000 for a thousand"],
    ),
    "no unit": (
        "p,time\n1,2\n",
        Hints(),
        ["x.csv:2:1: time: there is no unit; write one, as in 'time [s]', or give --unit s"],
    ),
    "no unit on any line": (
        "p,time\n1,2\n2,1\n4,x\n",
        Hints(),
        [
            "x.csv:2:1: time: there is no unit; write one, as in 'time [s]', or give --unit s",
            "x.csv:4:1: time: 'x' is not a number",
        ],
    ),
    "two units for one value": (
        "p,time [ms]\n1,2 s\n2,1 ms\n",
        Hints(),
        ["x.csv:2:1: time: 2 s has a unit of its own, beside ms; keep one of the two"],
    ),
    "unknown unit": (
        f"{HEAD}1,,,time,eon,2,\n",
        Hints(),
        ["x.csv:2:1: unit: 'eon': there is no unit 'eon'"],
    ),
    "other dimension": (
        f"{HEAD}1,,,time,GB,2,\n1,,,events,s,2,\n",
        Hints(),
        [
            "x.csv:2:1: unit: 'GB' does not fit: time is in s",
            "x.csv:3:1: unit: 's' does not fit: events is a plain number, of unit 1",
        ],
    ),
    "out of range": (
        f"{HEAD}1,,,time,year,1e303,\n",
        Hints(),
        ["x.csv:2:1: time: 1e303 year is out of range in s"],
    ),
    "half a processor": (f"{HEAD}1.5,,,time,s,2,\n", Hints(), [f"{COUNT}1.5"]),
    "no processors": (f"{HEAD}0,,,time,s,2,\n", Hints(), [f"{COUNT}0"]),
    "no size": (
        f"{HEAD}1,-4,,time,s,2,\n",
        Hints(),
        ["x.csv:2:1: n: the size of a problem is more than 0; got -4"],
    ),
    "half a repetition": (
        f"{HEAD}1,,,time,s,2,0.5\n",
        Hints(),
        ["x.csv:2:1: repetition: is a whole number; got 0.5"],
    ),
    "another delimiter": (
        "p,time [s]\n1;2\n",
        Hints(),
        ["x.csv:2:1: 1 value, where the header promises 2; check the delimiter"],
    ),
    "no such processor": (
        "p,processor,wait [s]\n2,3,1\n",
        Hints(),
        ["x.csv:2:1: processor: there is no processor 3 among 2"],
    ),
    "two columns for one": (
        "ranks,threads,time [s]\n2,3,1\n4,2,1\n8,4,1\n",
        Hints(),
        [
            (
                "x.csv:1:1: threads: which column counts the processors, ranks or threads? write"
                " --column p=NAME"
            )
        ],
    ),
    "no processors at all": (
        "time [s],n\n2,3\n",
        Hints(),
        ["x.csv:1:1: there is no column p, the processors; name it with --column p=NAME"],
    ),
    "no values": (
        "p,n\n2,3\n",
        Hints(),
        [
            (
                "x.csv:1:1: there is no column with values: 'value', or one such as 'time "
                "[s]'; name one with --column value=NAME"
            )
        ],
    ),
    "no such column": (
        "p,time [s]\n2,3\n",
        Hints(columns={"n": "tim"}),
        ["x.csv:1:1: there is no column 'tim' to be n; known: p, time [s]"],
    ),
    "a metric and its column": (
        "p,metric,time [s]\n2,time,3\n",
        Hints(),
        [
            (
                "x.csv:1:1: metric: values stand in column value if there is a column metric; "
                "keep one of the two"
            )
        ],
    ),
    "only a header": (
        HEAD,
        Hints(),
        ["x.csv:1:1: there is no measurement in it; write at least one value"],
    ),
    "open quotes": (
        'p,time [s]\n1,"2\n',
        Hints(),
        ["x.csv:2:1: this is not a line of a table: unexpected end of data; check the quotes"],
    ),
    "empty": (
        "",
        Hints(),
        ["x.csv:1:1: the file is empty; a measurement may have failed to write it"],
    ),
    "binary": (
        "p,time [s]\n1,\x002\n",
        Hints(),
        ["x.csv:2:1: character 0x00 does not occur in text; is this a binary file?"],
    ),
    "twice": (
        f"{HEAD}2,,a,wait,s,2,1\n2,,a,wait,s,3,1\n",
        Hints(),
        ["x.csv:3:1: wait: repetition 1 of wait of a at p = 2 is in x.csv:2 already"],
    ),
    "a long name": (
        f"{HEAD}2,,{'a' * 1001},wait,s,2,1\n",
        Hints(),
        ["is a name of more than 1000 characters"],
    ),
    "fewer DATA lines": (
        f"{EXTRA}DATA 5\n",
        S,
        ["x.csv:4:1: DATA: 1 DATA lines for main, time, where line 2 promises 2 points"],
    ),
    "no DATA lines": (EXTRA, S, ["x.csv:4:1: DATA: no DATA line follows; line 2 promises 2"]),
    "no section": (f"{EXTRA}DATA 5\nDATA 3\nDATUM 3\n", S, ["x.csv:7:1: 'DATUM' is not a section"]),
    "an empty DATA line": (
        f"{EXTRA}DATA\nDATA 3\n",
        S,
        ["x.csv:5:1: DATA: there is no value; write at least one a point"],
    ),
    "DATA first": (
        "PARAMETER p\nDATA 3\n",
        S,
        ["x.csv:2:1: DATA: the POINTS line must come before the data"],
    ),
    "POINTS first": (
        "POINTS 3\n",
        S,
        ["x.csv:1:1: POINTS: the PARAMETER line must come before the points"],
    ),
    "a point too short": (
        "PARAMETER p\nPARAMETER n\nPOINTS (1 2) (3)\nDATA 1\nDATA 2\n",
        S,
        ["x.csv:3:1: POINTS: a point has 2 coordinates, one a parameter; got (3)"],
    ),
    "which parameter": (
        "PARAMETER x y\nPOINTS (1 2) (3 4)\nDATA 1\nDATA 2\n",
        S,
        [
            (
                "x.csv:2:1: which parameter is the processors? there are x, y; name it with "
                "--column p=NAME"
            )
        ],
    ),
    "no such parameter": (
        "PARAMETER x p\nPOINTS (1 2) (3 4)\nDATA 1\nDATA 2\n",
        Hints(unit="s", columns={"n": "size"}),
        ["x.csv:2:1: there is no parameter 'size'; known: x, p"],
    ),
    "no JSON": (
        '{"measurements": ',
        S,
        ["x.csv:1:1: this is no JSON: Expecting value, at character 18; is the file cut?"],
    ),
    "too deep": (
        '{"measurements": ' + "[" * 100_000,
        S,
        ["x.csv:1:1: this is nested too deeply to be a table of"],
    ),
    "a key twice": (
        '{"parameters": ["p"], "measurements": {"main": {}, "main": {}}}',
        S,
        ["x.csv:1:1: main: this key is twice in one object; its values would hide each other"],
    ),
    "old JSON": (
        '{"callpaths": [], "coordinates": [], "measurements": []}',
        S,
        [
            (
                "x.csv:1:1: this is Extra-P's older JSON with numbered parts; write it anew with a"
                " current Extra-P"
            )
        ],
    ),
    "other JSON": (
        '{"measurements": 5}',
        S,
        [
            (
                "x.csv:1:1: Extra-P's JSON has the keys 'parameters', a list of names, and"
                " 'measurements'"
            )
        ],
    ),
    "no metrics": (
        '{"parameters": ["p"], "measurements": {"main": 5}}',
        S,
        ["x.csv:1:1: main: the measurements of a call path are lists of points by metric"],
    ),
    "no points": (
        '{"parameters": ["p"], "measurements": {"main": {"time": 5}}}',
        S,
        ["x.csv:1:1: main: the points of a metric are a list of objects with 'point' and 'values'"],
    ),
    "no point": (
        JSON % '{"point": [1],\n"values": 5}',
        S,
        ["x.csv:1:1: main: a point is an object with 'point' and 'values', both lists of numbers"],
    ),
    "a JSON point too long": (
        JSON % '\n{"point": [1, 2], "values": [5]}',
        S,
        ["x.csv:2:1: main: a point has 1 coordinates, one a parameter; got 2"],
    ),
    "a point without values": (
        JSON % '\n{"point": [1], "values": []}',
        S,
        ["x.csv:2:1: main: the list of values is empty; measure the point, or leave it out"],
    ),
    "a JSON value": (
        JSON % '{"point": [1], "values": [5]}, \n {"point": [2], "values": [\n-3]}',
        S,
        ["x.csv:3:1: time: must be at least 0, got -3"],
    ),
    "NaN in JSON": (
        JSON % '{"point": [1],\n "values": [NaN]}',
        S,
        ["x.csv:2:1: time: 'NaN' is not a finite number; leave the run out, or measure it again"],
    ),
    "a line without a value": (
        '{"params": {"p": 1}, "value": 5}\n{"params": {"p": 1}}\n',
        S,
        ["x.csv:2:1: a line has the keys 'params', numbers by name, and 'value'"],
    ),
    "a call path of numbers": (
        '{"params": {"p": 1}, "value": 5, "callpath": 3}\n{"params": {"p": 1}, "value": "x"}\n',
        S,
        [
            "x.csv:1:1: 'callpath' and 'metric' are texts",
            "x.csv:2:1: value: values and parameters are numbers, and there is at least one value",
        ],
    ),
    "perf stat alone": (
        "0.8,msec,task-clock,805203,100.00,0.016,CPUs utilized\n",
        Hints(),
        [
            (
                "x.csv:1:1: perf stat does not say how many processors the run had; name them with"
                " --processors"
            )
        ],
    ),
    "perf stat in time": (
        (
            "0.8,msec,task-clock,805203,100.00,0.016,CPUs utilized\n "
            " 0.02,0.59,msec,task-clock,5,100.00,0.0,\n"
        ),
        Hints(processors=1),
        [
            (
                "is not as perf stat -x writes it: value, unit, event, run time, percent, metric,"
                " metric unit"
            )
        ],
    ),
    "perf stat cut": (
        "0.8,msec,task-clock,805203\n",
        Hints(processors=1),
        ["x.csv:1:1: 4 fields, where perf stat -x writes 5 to 8"],
    ),
    "perf stat twice": (
        (
            "8,msec,task-clock,8,100.00,1.0,CPUs utilized\n8,msec,task-clock,8,100.00,1.0,CPUs"
            " utilized\n"
        ),
        Hints(processors=1),
        ["x.csv:2:1: task-clock: is in line 1 already; one run a file"],
    ),
    "perf stat of all": (
        "8,msec,cpu-clock,8,100.00,1.0,CPUs utilized\n",
        Hints(processors=1),
        [
            (
                "x.csv:1:1: cpu-clock: counts every processor of the machine, idle ones too; run"
                " without -a"
            )
        ],
    ),
    "perf stat in other JSON": (
        '{"counter-value": "1"}\n',
        Hints(processors=1),
        ["x.csv:1:1: a line of perf stat -j has the texts 'counter-value', 'unit' and 'event'"],
    ),
    "perf lock alone": (
        " contended   total wait     max wait     avg wait         type   caller\n",
        Hints(processors=1),
        [
            (
                "x.csv:1:1: perf lock prints neither processors nor elapsed time; give them: "
                "--processors 8 --time '3.2 s'"
            )
        ],
    ),
    "perf lock report": (
        "      Name   acquired  contended     avg wait   total wait     max wait     min wait \n",
        Hints(processors=1, time=1.0),
        [
            (
                "x.csv:1:1: this is perf lock report; print perf lock contention instead, "
                "which says what waited"
            )
        ],
    ),
    "perf lock line": (
        (
            " contended   total wait     max wait     avg wait         type   caller\n\n 5 210.14"
            " spinlock x\n"
        ),
        Hints(processors=1, time=1.0),
        ["x.csv:3:1: '5 210.14 spinlock x' is not a line of perf lock contention"],
    ),
    "mixed scales": (
        (
            "Number of processes;1;2\nParallel efficiency;99;0.97\nLoad"
            " balance;99;98\nCommunication efficiency;100;99\n"
        ),
        Hints(),
        ["x.csv:2:1: parallel_efficiency: 0.97 stands among percentages; write all on one scale"],
    ),
    "POP row cut": (
        "Number of processes;1;2\nParallel efficiency;99\n",
        Hints(),
        ["x.csv:2:1: Parallel efficiency: 1 values, where the first row has 2"],
    ),
    "POP row twice": (
        "Number of processes;1\nParallel efficiency;99\nParallel efficiency;99\n",
        Hints(),
        ["x.csv:3:1: Parallel efficiency: is in line 2 already"],
    ),
    "POP column cut": (
        "Number of Processes,Parallel Efficiency\n1,0.99\n2\n",
        Hints(),
        ["x.csv:3:1: 1 values, where the first line has 2 columns"],
    ),
    "POP processes": (
        "Number of processes;many\nParallel efficiency;99\n",
        Hints(),
        ["x.csv:1:1: p: 'many' is not a number of processes"],
    ),
    "POP without processes": (
        "Parallel efficiency;99\n",
        Hints(),
        ["x.csv:1:1: there is no row or column 'Number of processes'"],
    ),
    "POP quotes": (
        'Number of processes;1\nParallel efficiency;"9"9\n',
        Hints(),
        [
            (
                "x.csv:2:1: this is not a line of a table of metrics: ';' expected after '\"'; "
                "check the quotes"
            )
        ],
    ),
    "POP at odds": (
        "Number of Processes,Parallel Efficiency,Communication Efficiency\n2,0.9,0.8\n",
        Hints(),
        [
            (
                "x.csv:2:1: parallel_efficiency: the efficiencies contradict one another: imbalance"
                " would be -10.0 % of the time"
            )
        ],
    ),
    "a profile by another name": (
        "profile: 1\nruns: []\n",
        Hints(),
        ["x.csv:1:1: a profile is a spec; give its file a name that ends in .yaml"],
    ),
    "which region": (
        f"{HEAD}2,,a,time,s,2,\n2,,b,time,s,3,\n",
        Hints(),
        [
            (
                "x.csv:2:1: region: which region is the whole? there are a, b; name it with "
                "--region, or leave it empty in the file; curves of several programs are read by "
                "slipstick fit --curve COLUMN"
            )
        ],
    ),
    "some processors": (
        "p,processor,wait [s],time [s]\n3,,,9\n3,1,2,\n3,2,2,\n",
        Hints(),
        ["x.csv:3:1: wait: wait of the whole is there for 2 processors, but 3 took part"],
    ),
    "more waits than time": (
        "p,time [s],wait [s]\n2,9,19\n",
        Hints(),
        [
            (
                "x.csv:2:1: time: 19 s are booked at p = 2, more than 2 x 9 s; "
                "are waits added up over all processors, and busy times without waits?"
            )
        ],
    ),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize(("text", "hints", "problems"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_at_its_line(
    tmp_path: Path, text: str, hints: Hints, problems: list[str]
) -> None:
    found = refused(tmp_path, text, hints=hints)
    assert len(found) == len(problems)
    assert [
        each[: len(wanted)] for each, wanted in zip(found, problems, strict=True)
    ] == problems or [wanted in each for each, wanted in zip(found, problems, strict=True)] == [
        True
    ] * len(found), found


def test_a_profile_is_as_strict_as_any_spec(tmp_path: Path) -> None:
    text = sample("profile.yaml").read_text()
    cut = text.replace("      - {busy: 16 s, waits: {memory: 3 s, lock: 2 s}}\n", "")
    assert refused(tmp_path, cut, "x.yaml") == [
        "x.yaml:10:7: runs.1.each: 1 processors are given, where the run has 2"
    ]
    both = text.replace("    time: 25 s\n", "    time: 25 s\n    busy: 3 s\n")
    assert (
        "give busy, waits and events of each processor, or their sums, not both"
        in refused(tmp_path, both, "x.yaml")[0]
    )
    typo = text.replace(
        "{busy: 16 s, waits: {memory: 3 s, lock: 2 s}}",
        "{busy: 16 s, waits: {memory: 3 s, lokc: 2 s}}",
    )
    assert (
        "the same waits; not given for all of them: lock, lokc"
        in refused(tmp_path, typo, "x.yaml")[0]
    )
    lone = text.replace("waits: {memory: 4 s}", "events: {memory: 4}")
    assert (
        "events of memory need the wait of memory beside them"
        in refused(tmp_path, lone, "x.yaml")[0]
    )


def test_a_large_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, b"p,time [s]\n1,\xff") == [
        "x.csv:2:3: byte 0xff is not UTF-8; save the file as UTF-8 text"
    ]
    why = (
        "x.csv:1:1: 20 bytes are too many; the limit is 10: keep what you need of it, or split it,"
        " or allow more with"
    )
    with with_limits({"data_bytes": 10}):
        assert refused(tmp_path, "p,time [s]\n1,2\n2,345") == [
            f"{why} --limit data_bytes=21 (limits: in a study, limits= in Python)"
        ]
    with pytest.raises(Exception, match="there is no such file; check its name"):
        read(tmp_path / "other.csv")


def test_a_file_that_is_wrong_everywhere_is_given_up(tmp_path: Path) -> None:
    assert len(refused(tmp_path, "p,time [s]\n" + "1,x\n" * 3000)) == 1000


ODD: dict[str, tuple[str, Hints, str]] = {
    "repeated points": (
        "p,time [s]\n2,9\n2,8\n1,10\n",
        Hints(),
        (
            "x.csv:3:1: time: time at p = 2 is in 2 rows without a number of the repetition; they "
            "are read as repetitions"
        ),
    ),
    "mixed units": (
        f"{HEAD}1,,,time,s,2,\n2,,,time,ms,1200,\n",
        Hints(),
        "x.csv:3:1: time: is in ms here and in s before; each is read as it says",
    ),
    "superlinear": (
        "p,time [s]\n2,4\n1,10\n",
        Hints(),
        (
            "x.csv:2:1: time: superlinear: speed-up 2.5 on 2 processors; less work, more cache, or"
            " another program"
        ),
    ),
    "one point": (
        "p,time [s]\n2,4\n",
        Hints(),
        (
            "x.csv:2:1: all runs have 2 processors; other numbers are needed to show how the"
            " program scales"
        ),
    ),
    "one processor": ("p,time [s]\n1,4\n", Hints(), "x.csv:2:1: all runs have 1 processor; other"),
    "a column": (
        "p,time [s],metrc\n1,4,5\n",
        Hints(),
        "x.csv:1:1: metrc: this column is left out; did you mean 'metric'?",
    ),
    "a metric": (
        f"{HEAD}1,,,time,s,2,\n1,,,weit,s,2,\n1,,,cache,s,2,\n",
        Hints(),
        "x.csv:3:1: weit: is not a part of the account of time; did you mean 'wait'?",
    ),
    "other metrics": (
        f"{HEAD}1,,,time,s,2,\n1,,,misses,1,-2,\n1,,,flops,1,2,\n",
        Hints(),
        "x.csv:3:1: no part of the account of time: misses, flops",
    ),
    "regions that overlap": (
        f"{HEAD}1,,,time,s,2,\n1,,a,time,s,2,\n1,,b,time,s,2,\n",
        Hints(),
        (
            "x.csv:3:1: region: the regions take 4 s at p = 1, the whole 2 s; they overlap, or are"
            " added up over processors, so they are left out"
        ),
    ),
    "a single parameter": (
        "PARAMETER x\nPOINTS 1 2\nDATA 3\nDATA 2\n",
        S,
        (
            "x.csv:2:1: x: the only parameter is read as the number of processors; if it is the"
            " size, write --column n=NAME"
        ),
    ),
    "another parameter": (
        "PARAMETER p q\nPOINTS (1 2) (2 2)\nDATA 3\nDATA 2\n",
        S,
        (
            "x.csv:2:1: q: this parameter is neither the processors nor the size; if it "
            "varies, it is part of the region"
        ),
    ),
    "points missing": (
        (
            '{"parameters": ["p"], "measurements": {"main": {"time": [{"point": [1], "values":'
            ' [9]}, {"point": [2], "values": [5]}]}, "main->a": {"time": [\n{"point": [1],'
            ' "values": [9]}]}}}'
        ),
        S,
        "x.csv:2:1: main->a: 1 points of time, where others have 2",
    ),
    "POP without times": (
        "Number of processes;2\nParallel efficiency;99\nRuntime;5\n",
        Hints(),
        "x.csv:3:1: time: run times without a unit are left out; give it with --unit",
    ),
    "less work": (
        "Number of processes;2\nParallel efficiency;99\nComputation scalability;101\n",
        Hints(),
        (
            "x.csv:3:1: computation_scalability: is 1.01 at p = 2: computing took less time than in"
            " the smallest run"
        ),
    ),
    "perf stat without a time": (
        "12,,context-switches,5,100.00,,\n",
        Hints(processors=2),
        "x.csv:1:1: no elapsed time in it; ask perf for -e duration_time, or give it with --time",
    ),
}


@pytest.mark.parametrize(("text", "hints", "note"), ODD.values(), ids=ODD)
def test_what_is_odd_is_taken_and_noted(tmp_path: Path, text: str, hints: Hints, note: str) -> None:
    notes = [
        str(each).replace(f"{tmp_path}/", "") for each in account(tmp_path, text, hints=hints).notes
    ]
    assert any(each.startswith(note) for each in notes), notes


def test_the_files_as_tools_write_them_are_not_odd_beyond_what_they_lack() -> None:
    said = {name: len(measured(read_sample(name)).notes) for name in SAMPLES}
    assert {name for name, count in said.items() if count > 4} == set()
