"""Traces as the tools write them: spans, accesses and accounts; and what is said of damaged
ones.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from slipstick.errors import MissingExtraError, SlipstickError, SpecError, UnknownNameError
from slipstick.limits import with_limits
from slipstick_measure import traces
from slipstick_measure.account import measured
from slipstick_measure.formats import read
from slipstick_measure.measurements import Hints
from slipstick_measure.traces import chrome as chrome_module
from slipstick_measure.traces.readers import TRACE_FORMATS, name_of_trace_format, read_trace
from slipstick_measure.traces.trace import ProgramTrace
from tests.measure.damage import damaged

FILES = Path(__file__).parent / "files"
SAMPLES = {
    "viztracer.json": "chrome",
    "four-tasks.prv": "paraver",
    "timehist.txt": "timehist",
    "timehist-cpus.txt": "timehist",
    "timehist-state.txt": "timehist",
    "records.csv": "records",
}
LONGEST = 400


def spans_of(trace: ProgramTrace) -> list[tuple[object, ...]]:
    """List the spans with names."""
    columns = (getattr(trace.spans, name).tolist() for name in trace.spans.__slots__)
    return [
        (trace.processors[p], trace.labels[what], a, b)
        for p, what, a, b in zip(*columns, strict=True)
    ]


def chrome(tmp_path: Path, text: str) -> ProgramTrace:
    """Read a Chrome trace from its text."""
    (tmp_path / "x.json").write_text(text)
    return read_trace(tmp_path / "x.json")


def refusal(path: Path, format: str | None = None) -> str:
    """Return the one problem of a trace."""
    with pytest.raises(SpecError) as caught:
        read_trace(path, format)
    (problem,) = caught.value.problems
    return problem.message


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_is_recognized_and_adds_up(name: str) -> None:
    assert name_of_trace_format(FILES / name) == SAMPLES[name]
    trace = read_trace(FILES / name)
    (answer,) = measured(read(FILES / name)).answers
    assert sum(answer.account.values()) == pytest.approx(trace.duration, rel=1e-12)
    assert answer.point["p"] == len(trace.processors)
    for processor in range(len(trace.processors)):
        own = trace.spans.select(trace.spans.processor_indices == processor)
        assert (own.starts[1:] >= own.ends[:-1] - 4e-6).all()


def test_a_trace_of_viztracer() -> None:
    trace = read_trace(FILES / "viztracer.json")
    assert trace.processors == ("Process-1/MainThread", "Process-2/MainThread")
    assert "match (traced_pool.py:28)" in trace.labels
    (note,) = trace.notes
    assert "read as waits because of their names: Barrier.wait (threading.py:676)" in note.message


def test_a_trace_of_paraver() -> None:
    trace = read_trace(FILES / "four-tasks.prv")
    assert trace.processors == ("1.1.1", "1.2.1", "1.3.1", "1.4.1")
    assert trace.duration == pytest.approx(260199e-6)
    assert trace.useful_labels == ("Running",)
    (answer,) = measured(trace.measurements()).answers
    # Between 102462 and 102498 the second task has no state.
    assert answer.account["unknown"] == pytest.approx(36e-6 / 4)
    assert answer.account["Thread Synchronization"] == pytest.approx((260199 - 73107) * 1e-6 / 4)
    assert trace.objects == ("1.1.1",)
    assert (trace.accesses.processor_indices.tolist(), trace.accesses.times.tolist()) == (
        [1],
        [pytest.approx(73236e-6)],
    )
    assert [note.message for note in trace.notes] == [
        "left out, because states have the time: 1 communicators, 1 events, 1 collective operations"
    ]


def test_a_trace_of_the_scheduler() -> None:
    trace = read_trace(FILES / "timehist-state.txt")
    (answer,) = measured(trace.measurements()).answers
    # Two processors are all that the machine has; the third and fourth task wait for one.
    assert (answer["speedup"] or 0.0) < 2.0
    assert answer.account["wait:processor"] > 0.2 * trace.duration
    # What each task ran is the sum of its column of milliseconds; times are rounded to 1 us.
    run: dict[str, float] = {}
    for line in (FILES / "timehist-state.txt").read_text().splitlines()[3:]:
        _, _, task, *_, milliseconds, _ = line.split()
        run[task] = run.get(task, 0.0) + float(milliseconds) / 1000
    spans = trace.spans.select(trace.spans.label_indices == trace.labels.index("busy"))
    lengths = np.bincount(spans.processor_indices, spans.ends - spans.starts)
    busy = dict(zip(trace.processors, lengths, strict=True))
    assert busy == pytest.approx(run, abs=2e-5)
    plain, marked = read_trace(FILES / "timehist.txt"), read_trace(FILES / "timehist-cpus.txt")
    assert set(plain.processors) & set(marked.processors)
    assert not any(
        name.startswith(("<idle>", "s ")) for name in (*plain.processors, *marked.processors)
    )


def test_a_table_of_records() -> None:
    trace = read_trace(FILES / "records.csv")
    assert spans_of(trace) == [
        ("0", "busy", 0.0, pytest.approx(80e-6)),
        ("1", "busy", 0.0, pytest.approx(20e-6)),
        ("1", "lock:door", pytest.approx(20e-6), pytest.approx(35e-6)),
        ("1", "busy", pytest.approx(35e-6), pytest.approx(100e-6)),
    ]
    assert trace.objects == ("1", "2", "3")
    assert trace.accesses.object_indices.tolist() == [2, 2, 0, 1]
    assert trace.accesses.counts.sum() == 10.0
    assert "1 receipts are left out; a message counts where it is sent" in str(trace.notes[0])


def test_what_has_not_ended_lasts_to_the_end_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "time [s],processor,event,destination\n"
        "0,0,create,\n"
        "1,0,enter,lock:a\n"
        "3,1,create,\n"
        "4,1,end,\n"
    )
    trace = read_trace(tmp_path / "x.csv")
    assert spans_of(trace) == [
        ("0", "busy", 0.0, 1.0),
        ("0", "lock:a", 1.0, 4.0),
        ("1", "busy", 3.0, 4.0),
    ]
    assert "2 spans have no end, so they last to the end of the trace" in str(trace.notes[0])


def test_a_table_of_records_in_parquet(tmp_path: Path) -> None:
    import polars

    polars.read_csv(FILES / "records.csv", comment_prefix="#").write_parquet(tmp_path / "x.parquet")
    assert spans_of(read_trace(tmp_path / "x.parquet")) == spans_of(
        read_trace(FILES / "records.csv")
    )
    (tmp_path / "y.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:300])
    assert "this is no Parquet table" in refusal(tmp_path / "y.parquet")


def test_otf2_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("slipstick.errors.import_module", missing)
    with pytest.raises(
        MissingExtraError, match="reading OTF2 archives needs otf2: pip install otf2"
    ):
        read_trace(tmp_path / "traces.otf2")


START = 1_700_000_000_123_456_789
"""Ticks at which an archive begins, nanoseconds since 1970; a double tells those apart that are
256 ns away from each other.
"""

THREADS = (
    "MPI Rank 0/Master thread",
    "MPI Rank 0/OMP thread 1",
    "MPI Rank 1/Master thread",
    "MPI Rank 1/OMP thread 1",
)


def write_archive(folder: Path) -> Path:
    """Write an archive as Score-P does, with OTF2's own library: two processes of two threads,
    whose names repeat, and a meter.

    The second process sends to the first in a communicator of both in reverse order, and puts into
    its memory. Each thread has its critical region, inside of which is what only one executes; the
    second process finds it free, so that both begin and end together.
    """
    otf2 = pytest.importorskip("otf2", reason="pip install otf2, which brings its C library")
    role, paradigm, kind = otf2.RegionRole, otf2.Paradigm, otf2.GroupType
    with otf2.writer.open(str(folder), timer_resolution=1_000_000_000) as archive:
        told = archive.definitions
        root = told.system_tree_node("machine")
        groups = [
            told.location_group(f"MPI Rank {rank}", system_tree_parent=root) for rank in (0, 1)
        ]
        lanes = [
            told.location(name, group=group)
            for group in groups
            for name in ("Master thread", "OMP thread 1")
        ]
        meter = told.location("meter", type=otf2.LocationType.METRIC, group=groups[0])
        power = told.metric_member(
            "power", "", otf2.MetricType.OTHER, otf2.MetricMode.ABSOLUTE_POINT
        )
        watts = told.metric_class(
            (power,), otf2.MetricOccurrence.ASYNCHRONOUS, otf2.RecorderKind.CPU
        )
        main = told.region("main")
        send, met = (
            told.region(name, region_role=each, paradigm=paradigm.MPI)
            for name, each in (("MPI_Send", role.POINT2POINT), ("MPI_Barrier", role.BARRIER))
        )
        door, inside = (
            told.region(name, region_role=each, paradigm=paradigm.OPENMP)
            for name, each in (("critical", role.CRITICAL), ("critical body", role.CRITICAL_SBLOCK))
        )
        both = (lanes[0], lanes[2])
        told.group("ranks", group_type=kind.COMM_LOCATIONS, paradigm=paradigm.MPI, members=both)
        members = told.group(
            "both", group_type=kind.COMM_GROUP, paradigm=paradigm.MPI, members=both[::-1]
        )
        turned = told.comm("turned", group=members)
        window = told.rma_win("window", comm=turned)
        writers = [archive.event_writer_from_location(lane) for lane in lanes]
        for at, each in enumerate(writers):
            each.enter(START + at, main)
        writers[2].enter(START + 1000, send)
        writers[2].mpi_send(START + 1010, 1, turned, 5, 8)
        writers[2].rma_put(START + 1020, window, 1, 64, 3)
        writers[2].leave(START + 1200, send)
        writers[0].mpi_recv(START + 1100, 0, turned, 5, 8)
        for each, free in ((writers[1], 2300), (writers[3], 2000)):
            each.enter(START + 2000, door)
            each.enter(START + free, inside)
            each.leave(START + free + 300, inside)
            each.leave(START + free + 300, door)
            each.leave(START + 4000, main)
        writers[0].buffer_flush(START + 3000, START + 3400)
        for each, come in ((writers[0], 4000), (writers[2], 4700)):
            each.enter(START + come, met)
            each.leave(START + 5000, met)
        writers[0].leave(START + 6000, main)
        meters = archive.event_writer_from_location(meter)
        meters.metric(START + 9000, told.metric_instance(watts, recorder=meter, scope=root), 3)
    return folder / "traces.otf2"


def test_an_otf2_archive_that_its_library_wrote(tmp_path: Path) -> None:
    trace = read_trace(write_archive(tmp_path / "real"))
    expected = {
        ("critical", 1): 300,
        ("critical body", 1): 300,
        ("critical body", 3): 300,
        ("MPI_Send", 2): 200,
        ("MPI_Barrier", 0): 1000,
        ("MPI_Barrier", 2): 300,
        ("wait:buffer flush", 0): 400,
        ("main", 0): 6000 - 1000 - 400,
        ("main", 1): 4000 - 1 - 600,
        ("main", 2): 9000 - 2 - 500,  # which has no end
        ("main", 3): 4000 - 3 - 300,
    }
    booked = Counter[tuple[str, int]]()
    for processor, label, start, end in spans_of(trace):
        booked[str(label), THREADS.index(str(processor))] += end - start  # type: ignore[operator]
    assert booked == pytest.approx({key: each * 1e-9 for key, each in expected.items()}, rel=1e-9)
    assert trace.processors == THREADS
    assert trace.useful_labels == ("main", "critical body")
    assert (trace.objects, trace.accesses.processor_indices.tolist()) == ((THREADS[0],), [2, 2])
    assert trace.accesses.times.tolist() == pytest.approx([1010e-9, 1020e-9], rel=1e-9)
    assert [note.message for note in trace.notes] == [
        "1 spans have no end, so they last to the end of the trace; 0 ends begin nowhere",
        "left out, because regions have the time: 1 MpiRecv, 1 Metric",
    ]


DAMAGED = "this is no OTF2 archive, or it is damaged: "


@pytest.mark.parametrize(
    ("name", "kept", "said"),
    [
        ("traces.otf2", 60, DAMAGED),
        ("traces.otf2", 0, DAMAGED),
        ("traces.def", 300, DAMAGED),
        # Beyond the end of a cut file the library reads what is in memory, such as older events.
        ("traces/0.evt", 60, f"{DAMAGED}|has [0-5] events, of 6 that are promised; is a file cut"),
        (
            "traces/0.evt",
            -28,
            r"enters or leaves a region that is not defined; is the archive damaged\?",
        ),
        (
            "traces/3.evt",
            -27,
            (
                "'MPI Rank 1/OMP thread 1' has 5 events, of 6 that are promised; is a file cut or"
                r" missing\?"
            ),
        ),
        ("traces/0.def", 0, ""),
    ],
)
def test_a_damaged_otf2_archive_is_refused_in_one_message(
    name: str, kept: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As many bytes of a file are kept; the byte at the place whose negative this is has its
    bits inverted.
    """
    anchor = write_archive(tmp_path / "real")
    file = anchor.parent / name
    data = file.read_bytes()
    file.write_bytes(
        data[:kept] if kept >= 0 else data[:-kept] + bytes([data[-kept] ^ 255]) + data[1 - kept :]
    )
    if said:
        assert re.search(said, refusal(anchor))
    else:
        assert (
            "the library of OTF2 says of the archive: 'Invalid"
            in read_trace(anchor).notes[-1].message
        )
    assert capfd.readouterr() == ("", "")  # where the library prints its problems


@pytest.mark.parametrize("size", [3, 50, 5000])
@pytest.mark.parametrize("several", [40, 200, 1 << 16])
def test_values_that_are_taken_together_are_those_of_the_whole_text(
    size: int, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What looks like the end of an event stands in its name and in lists inside it as well."""
    monkeypatch.setattr(chrome_module, "CHARACTERS_AT_ONCE", several)
    inside = [
        {"name": "}, {", "args": [{"a": 1}, {"b": [2, {}]}, "]"]},
        {"ts": 1.5},
        7,
        {"name": '\\"},', "args": {}},
    ]
    text = json.dumps([{"name": "first"}, *inside * 9, {"last": {}}])
    longer = (  # the list is over before what looks like the end of an event
        f'{text}, "more": [{{"a": 1}}, {{"b": 2}}]}}'
    )
    found = chrome_module._JsonReader(
        iter([longer[at : at + size] for at in range(0, len(longer), size)])
    )
    assert found.next_character() == "["
    assert list(found.values_of_list()) == json.loads(text)
    assert found.is_closed
    assert found.next_character() == ","
    cut = chrome_module._JsonReader(iter([text[:-4]]))
    assert cut.next_character() == "["
    with pytest.raises(EOFError):
        list(cut.values_of_list())


@pytest.mark.turns(4)
def test_the_largest_size_is_read_piece_by_piece(tmp_path: Path) -> None:
    event = '{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":3,"name":"%s"}'
    events = ",\n".join(event % (at % 7, 4 * at, "äß" * (at % 90)) for at in range(20_000))
    text = (
        f'{{"schemaVersion": 1, "skipped": {{"traceEvents": 3}}, "traceEvents": [{events}], "more":'
        " [1, 2]}"
    )
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(text.encode()))
    packed, plain = read_trace(tmp_path / "x.json.gz"), chrome(tmp_path, text)
    assert len(text.encode()) > 1 << 20
    assert spans_of(packed) == spans_of(plain)
    assert len(plain.spans.starts) == 20_000
    (tmp_path / "y.json.gz").write_bytes(gzip.compress(text.encode())[:9000])
    assert "the packed file ends or is damaged after" in refusal(tmp_path / "y.json.gz", "chrome")


def test_begin_and_end_nest_by_time_then_by_the_file(tmp_path: Path) -> None:
    events = [
        ("E", 9, ""),
        ("B", 0, "outer"),
        ("B", 2, "inner"),
        ("E", 5, ""),
        ("E", 2, ""),
        ("B", 2, "later"),
    ]
    text = ",".join(
        f'{{"ph": "{ph}", "pid": 1, "tid": "a", "ts": {ts}, "name": "{name}"}}'
        for ph, ts, name in events
    )
    trace = chrome(tmp_path, f"[{text}]")
    assert spans_of(trace) == [
        ("a", "outer", 0.0, 2e-6),
        ("a", "later", 2e-6, pytest.approx(5e-6)),
        ("a", "outer", pytest.approx(5e-6), pytest.approx(9e-6)),
    ]


def test_of_spans_that_begin_and_end_together_the_one_begun_last_is_booked(tmp_path: Path) -> None:
    """A clock may be too coarse to tell their beginnings apart."""
    edges = [
        ("B", 0, "outer"),
        ("B", 0, "inner"),
        ("E", 4, ""),
        ("E", 4, ""),
        ("B", 4, "next"),
        ("E", 9, ""),
    ]
    text = ",".join(
        f'{{"ph": "{ph}", "pid": 1, "tid": "a", "ts": {ts}, "name": "{name}"}}'
        for ph, ts, name in edges
    )
    words = {"B": "enter", "E": "leave"}
    rows = "".join(f"{ts},a,{words[ph]},{name}\n" for ph, ts, name in edges)
    (tmp_path / "x.csv").write_text(f"time [us],processor,event,destination\n{rows}")
    expected = [
        ("a", "inner", 0.0, pytest.approx(4e-6)),
        ("a", "next", pytest.approx(4e-6), pytest.approx(9e-6)),
    ]
    assert (
        spans_of(chrome(tmp_path, f"[{text}]"))
        == spans_of(read_trace(tmp_path / "x.csv"))
        == expected
    )
    # viztracer writes what ends first before what it is inside of.
    whole = '{"ph":"X","pid":1,"tid":"a","ts":0,"dur":%d,"name":"%s"}'
    trace = chrome(tmp_path, f"[{whole % (4, 'inner')},{whole % (9, 'next')}]")
    assert spans_of(trace) == expected


def test_arrows_are_accesses_and_the_rest_is_noted(tmp_path: Path) -> None:
    spans = (
        '{"ph":"X","pid":1,"tid":1,"ts":0,"dur":5,"name":"a"},'
        '{"ph":"X","pid":1,"tid":2,"ts":"7.5","dur":5,"name":"b"}'
    )
    arrows = (
        '{"ph":"s","id":4,"pid":1,"tid":1,"ts":1},'
        '{"ph":"f","id":4,"pid":1,"tid":2,"ts":8},'
        '{"ph":"f","id":5,"pid":1,"tid":2,"ts":9}'
    )
    trace = chrome(
        tmp_path,
        f'[{spans},{arrows},{{"ph":"i","ts":3}},{{"ph":"B","pid":1,"tid":1,"ts":6,"name":"c"}},',
    )
    assert (trace.objects, trace.accesses.processor_indices.tolist()) == (("2",), [0])
    assert [note.message for note in trace.notes] == [
        "the last bracket is missing, after 7 events; what wrote them may have been stopped",
        "1 spans have no end, so they last to the end of the trace; 0 ends begin nowhere",
        "1 arrows have no beginning or no end; left out",
        "events that are no spans of a thread are left out: 1 of kind 'i'",
    ]


def test_spans_that_overlap_are_booked_once_and_noted(tmp_path: Path) -> None:
    text = (
        '[{"ph":"X","pid":1,"tid":1,"ts":5,"dur":10,"name":"b"},'
        '{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"a"}]'
    )
    trace = chrome(tmp_path, text)
    assert spans_of(trace) == [
        ("1", "a", 0.0, pytest.approx(5e-6)),
        ("1", "b", pytest.approx(5e-6), pytest.approx(15e-6)),
    ]
    assert [note.message for note in trace.notes] == [
        "1 spans of one processor overlap, neither inside the other; the later one is booked"
    ]


X = '{"ph":"X","pid":1,"tid":1,"ts":%s,"dur":%s,"name":"a"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"traceEvents": [' + X % (1, 2) + ', {"ph": "X", "pi',
            "the file ends, or is damaged, inside a value after 1 events",
        ),
        (
            "[" + X % (1, 2) + ', {"ph" "X"}, ' + X % (1, 2) + "]",
            "this is no JSON after 1 events, near",
        ),
        ("[" + X % (1, "-3"), "a span of -3 is negative: from 1 to -2, span 1 of the file"),
        ("[" + X % ("-1", 3), "a time is a finite number and not negative; got -1"),
        ("[" + X % ("1e18", 3), "a time of 1e+12 s is out of range; is its unit right?"),
        ("[" + X % ("NaN", 3), "a time is a finite number and not negative; got nan"),
        ("[" + X % ('"soon"', 3), "soon' is no time (ts) of event 1"),
        (
            '[{"ph":"E","pid":1,"tid":1,"ts":NaN},' + X % (1, 3),
            "a time is a finite number and not negative; got nan",
        ),
        (
            '{"otherData": {"writer": "slipstick", "useful": [], "until": NaN}}',
            "nan' is no finite end (until)",
        ),
        ("[" + X % (1, 2) + ", 7]", "event 2 is no object"),
        (
            '[{"ph":"X","pid":[1],"tid":1,"ts":1,"dur":1}]',
            "the pid or tid of event 1 must be a number or a text",
        ),
        (
            '{"traceEvents": []}',
            "there is no event of a processor in it; the program may have failed to write it",
        ),
        ("[" + X % (4, 0) + "]", "all events are at one time; a trace lasts longer than that"),
        ('{"traceEvents" 3}', "this is no JSON after 0 events"),
        ('[{"ph":' + "[" * 100_000, "is nested too deeply"),
    ],
)
def test_bad_events_are_refused_in_one_message(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    assert said in refusal(tmp_path / "x.json", "chrome")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "time,processor,event\n1,0,create\n",
            "times have no unit; write one, as in 'time [us]', or give --unit us",
        ),
        ("time [B],processor,event\n1,0,create\n", "'B' is not a unit of time"),
        ("time [u],processor,event\n1,0,create\n", "there is no unit"),
        (
            "time [s],processor,event,x\n1,0,create,3\n",
            "a table of records has the columns time, processor, event",
        ),
        (
            "time [s],processor,event\n1,0\n",
            "2 values, where the header promises 3; is the line cut?",
        ),
        ("time [s],processor,event\n1,0,leave\n", "ends what it has not begun; is a line missing?"),
        (
            "time [s],processor,event\n0,0,create\n1,0,enter\n-2,0,leave\n3,0,end\n",
            "a time is not negative; got '-2'",
        ),
        (
            (
                "time [s],processor,event,destination\n"
                "0,0,enter,a\n"
                "1,0,enter,b\n"
                "2,0,leave,a\n"
                "3,0,leave,b\n"
            ),
            "it leaves 'a' inside of 'b'; is an event missing?",
        ),
        (
            "time [s],processor,event\n1,0,jump\n",
            "'jump' is no event; there are create, end, enter, leave",
        ),
        ("time [s],processor,event\n1,0,access\n", "the access has no destination"),
        ("time [s],processor,event\none,0,create\n", "one' is no time"),
        ("time [s],processor,event\n1e400,0,create\n", "1e400' is no finite time"),
        (
            "time [s],processor,event\n1e18,0,create\n2e18,0,end\n",
            "a time of 2e+18 s is out of range",
        ),
        ('time [s],processor,event\n1,"0,create\n', "this is not a line of a table"),
        (
            "time [s],processor,event,destination,count\n1,0,access,1,-2\n2,0,access,1,\n",
            "a count is a finite number",
        ),
        (
            "time [s],processor,event,destination,count\n1,0,access,1,1e18\n2,0,access,1,\n",
            "1e+18 accesses are out of",
        ),
    ],
)
def test_bad_records_are_refused_in_one_message(lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(lines)
    assert said in refusal(tmp_path / "x.csv", "records")


def test_records_in_another_order_are_read_by_their_times(tmp_path: Path) -> None:
    rows = [
        "1,0,create,",
        "2,0,enter,f",
        "3,0,leave,",
        "5,0,end,",
        "1,1,create,",
        "4,1,access,0",
        "6,1,end,",
    ]
    path, chance, told = tmp_path / "x.csv", random.Random(1), set[str]()
    for _ in range(30):
        path.write_text(
            "\n".join(["time [s],processor,event,destination", *chance.sample(rows, len(rows))])
        )
        trace = read_trace(path, "records")
        (answer,) = measured(trace.measurements()).answers
        assert answer.account == pytest.approx(
            {"busy": 4.5, "communication": 0.0, "imbalance": 0.5}
        )
        told.update(note.message for note in trace.notes)
    assert told == {"the lines are not in the order of their times; they are read in that order"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            f"#Paraver (x):{'9' * 400}:0\n1:1:1:1:1:0:5:1\n",
            "a time of inf s is out of range; is its unit right?",
        ),
        ("#Paraver nothing\n", "the first line of a Paraver trace is"),
        (
            "#Paraver (x):10_ms:0\n",
            "times are in _ms; Paraver writes _ns, or microseconds without a unit",
        ),
        (
            "#Paraver (x):10:0\n1:1:1:1:1:0:5:1\n1:1:1:1:1:5",
            "is not a record of a Paraver trace; is the file cut or damaged?",
        ),
        ("#Paraver (x):10:0\n1:1:1:1:1:0:five:1\n", "has a field that is no number in range"),
        ("#Paraver (x):10:0\n1:1:1:1:1:5:2:1\n", "a span of -3 is negative: from 5 to 2"),
    ],
)
def test_bad_paraver_traces_are_refused_in_one_message(
    lines: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "x.prv").write_text(lines)
    assert said in refusal(tmp_path / "x.prv")


@pytest.mark.parametrize(
    ("more", "said"), [("[]", "what follows the events is not read, near '[]'"), ("  ", "")]
)
def test_what_follows_the_events_is_noted(more: str, said: str, tmp_path: Path) -> None:
    for text in ("[" + X % (1, 2) + "]", '{"traceEvents": [' + X % (1, 2) + '], "more": {"a": 1}}'):
        assert "".join(note.message for note in chrome(tmp_path, text + more).notes) == said
    assert "the last bracket is missing, after 1 events" in str(
        chrome(tmp_path, text[:-1]).notes[0]
    )


def test_rows_of_switches_that_are_cut_are_told(tmp_path: Path) -> None:
    header, *rows = (FILES / "timehist-cpus.txt").read_text().splitlines()
    text = "\n".join([header, *rows]).rstrip()
    (tmp_path / "x.txt").write_text(text[:-1])
    assert "1 lines are no rows of switches, and left out; the first is line" in str(
        read_trace(tmp_path / "x.txt").notes[-1]
    )
    (tmp_path / "y.txt").write_text(f"{header}\n  {rows[-1].replace('.', ',')}")
    assert (
        "none of 1 lines is a row of a switch; is this the output of perf sched timehist?"
        in refusal(tmp_path / "y.txt")
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_a_mark_of_the_byte_order_is_no_part_of_a_trace(name: str, tmp_path: Path) -> None:
    shutil.copytree(FILES, tmp_path / "files")
    path = tmp_path / "files" / name
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert spans_of(read_trace(path)) == spans_of(read_trace(FILES / name))


@pytest.mark.parametrize(
    ("first", "name"),
    [(b"SQLite format 3\xff", "a database of SQLite"), (b"\x89HDF\r\n\x1a\n", "HDF5")],
)
def test_a_binary_file_of_another_tool_is_named(first: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(first)
    assert refusal(tmp_path / "x").startswith(f"this is {name}")
    assert refusal(tmp_path / "x", "nsys").startswith(f"this is {name}")
    (tmp_path / "x.nsys-rep").write_bytes(b"\x00\xff")
    assert refusal(tmp_path / "x.nsys-rep").startswith("this is a report of Nsight Systems: ")


def test_other_files_are_no_traces(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").mkdir()
    assert "this is a directory" in refusal(tmp_path / "x.parquet")
    (tmp_path / "x.json").touch()
    assert "the file is empty" in refusal(tmp_path / "x.json")
    (tmp_path / "x.txt").write_text("time 1 and no more\n")
    assert name_of_trace_format(tmp_path / "x.txt") is None
    refusal_of_text = refusal(tmp_path / "x.txt")
    assert "this is no trace, or an unknown one; name its format with --format" in refusal_of_text
    assert "a table of records has the columns time, processor, event" in refusal_of_text
    (tmp_path / "y.txt").write_bytes(b"time \xff\xfe")
    assert name_of_trace_format(tmp_path / "y.txt") is None
    assert "near byte 7 is not UTF-8; save the file as UTF-8 text" in refusal(tmp_path / "y.txt")
    assert "near byte 7 is not UTF-8; save the file as UTF-8 text" in refusal(
        tmp_path / "y.txt", "records"
    )
    with pytest.raises(UnknownNameError, match="no format of traces 'otf3'"):
        read_trace(tmp_path / "x.txt", "otf3")
    assert traces.__doc__
    assert "otf2" in TRACE_FORMATS


def test_a_size_told_beside_a_trace_is_that_of_its_run() -> None:
    assert {run.n for run in read(FILES / "records.csv", Hints(size=8.0)).records} == {8.0}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_traces_are_read_or_refused_by_name(name: str, tmp_path: Path) -> None:
    chance, text, path = (
        random.Random(name),
        (FILES / name).read_text(),
        tmp_path / f"x{Path(name).suffix}",
    )
    for _ in range(40):
        ways, data = damaged(text, chance)
        path.write_bytes(data)
        said = _said(path, SAMPLES[name])
        assert len(said) < LONGEST + len(str(path)), ways


def _said(path: Path, format: str) -> str:
    """Return what is wrong with a trace; if nothing is, its account adds up."""
    try:
        (answer,) = measured(read_trace(path, format).measurements()).answers
    except SlipstickError as error:
        return str(error)
    assert sum(answer.account.values()) == pytest.approx(answer["time"], rel=1e-9)
    return ""


SAMPLES_OF_MEMORY = Path(__file__).parents[2] / "shelf" / "memory-samples"


def test_lines_of_one_thread_are_one_object(tmp_path: Path) -> None:
    text = (SAMPLES_OF_MEMORY / "loads-and-stores.txt").read_text()
    (tmp_path / "samples.txt").write_text(text + "Processed 17 events\n")
    trace = read_trace(tmp_path / "samples.txt")
    assert trace.processors == ("program 4101", "program 4102", "program 4103")
    assert trace.objects == ("0x7f1200001040", "lines of one thread")
    first, second = (note.message for note in trace.notes)
    assert "1 lines are no samples, and left out; the first is line 19" in first
    assert "17 samples of accesses to 6 lines" in second


@pytest.mark.parametrize("name", ["loads-and-stores.txt", "few-fields.txt", "arm-spe.txt"])
def test_damaged_samples_are_read_or_refused(name: str, tmp_path: Path) -> None:
    text, chance = (SAMPLES_OF_MEMORY / name).read_text(), random.Random(name)
    assert name_of_trace_format(SAMPLES_OF_MEMORY / name) == "perf-mem"
    for _ in range(40):
        (tmp_path / "samples.txt").write_bytes(damaged(text, chance)[1])
        with contextlib.suppress(SlipstickError):
            read_trace(tmp_path / "samples.txt", "perf-mem")


def test_a_parquet_table_may_have_as_many_rows_as_the_limit(tmp_path: Path) -> None:
    import polars

    path = tmp_path / "x.parquet"
    table = polars.read_csv(FILES / "records.csv", comment_prefix="#")
    table.write_parquet(path)
    with with_limits({"events": len(table)}):
        spans = spans_of(read_trace(path))
    assert spans == spans_of(read_trace(FILES / "records.csv"))
    with with_limits({"events": len(table) - 1}):
        assert "rows" in refusal(path)
