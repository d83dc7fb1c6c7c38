"""Databases of Nsight Systems, made anew after its documented schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from slipstick.errors import SpecError
from slipstick_measure.traces.readers import name_of_trace_format, read_trace

PROCESS = 7
MAIN, HELPER = (PROCESS << 24) + 100 + (1 << 48), (PROCESS << 24) + 101 + (1 << 48)
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
NAMES = {
    1: "void gemm<float, 128>(float const*, float*)",
    2: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
    3: "cudaLaunchKernel_v7000",
    4: "cudaStreamSynchronize_v3020",
    5: "pthread_cond_wait",
    6: "MPI_Recv",
    7: "main",
    8: "worker",
}
SCHEMA = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
    "ThreadNames": "nameId INT, priority INT, globalTid INT",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INT, end INT, deviceId INT, contextId INT, streamId INT, demangledName INT, "
        "shortName INT"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start INT, end INT, deviceId INT, streamId INT, bytes INT, copyKind INT"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INT, end INT, deviceId INT, streamId INT, value INT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT"
    ),
    "OSRT_API": "start INT, end INT, eventClass INT, globalTid INT, nameId INT",
    "MPI_P2P_EVENTS": "start INT, end INT, eventType INT, globalTid INT, textId INT",
    "NVTX_EVENTS": "start INT, end INT, eventType INT, textId INT, globalTid INT",
}
ROWS: dict[str, list[tuple[int, ...]]] = {
    "ThreadNames": [(7, 0, MAIN), (8, 0, HELPER)],
    # stream 7: 400 us of work, 300 us of an all-reduce, 100 us of a copy, from 100 us to 1,000 us
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (100_000, 500_000, 0, 1, 7, 1, 1),
        (500_000, 800_000, 0, 1, 7, 2, 2),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [(900_000, 1_000_000, 0, 7, 4096, 2)],
    # the main thread: its own work but for a launch of 50 us and a wait of 700 us
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        (0, 50_000, 0, MAIN, 1, 3),
        (300_000, 1_000_000, 0, MAIN, 2, 4),
    ],
    # a call of the system inside the wait for the stream is booked instead of it
    "OSRT_API": [(400_000, 600_000, 27, MAIN, 5), (0, 1_000_000, 27, HELPER, 5)],
    "NVTX_EVENTS": [(0, 1_000_000, 59, 7, MAIN)],
}


def database(folder: Path, *tables: str, name: str = "report.sqlite") -> Path:
    """Write a database with some of the tables, all of them if none is named."""
    path = folder / name
    with closing(sqlite3.connect(path)) as file:
        for table, form in SCHEMA.items():
            if tables and table not in (*tables, "StringIds"):
                continue
            file.execute(f"CREATE TABLE {table} ({form})")
            rows = list(NAMES.items()) if table == "StringIds" else ROWS.get(table, [])
            for row in rows:
                file.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        file.commit()
    return path


def test_streams_are_apart_from_threads(tmp_path: Path) -> None:
    path = database(tmp_path)
    assert name_of_trace_format(path) == "nsys-sqlite"
    parts = read_trace(path).traces_by_kind()
    assert {kind: list(part.processors) for kind, part in parts.items()} == {
        "GPU stream": ["0/stream 7"],
        "thread": ["main", "worker"],
    }
    stream, threads = parts["GPU stream"], parts["thread"]
    assert "[CUDA memcpy Device-to-Host]" in stream.labels
    busy = stream.busy_spans
    assert sum(busy.ends - busy.starts) == pytest.approx(500e-6)  # without the all-reduce
    work = threads.busy_spans
    # 1,000 us less the 700 us for the stream; the helper only waits
    assert sum(work.ends - work.starts) == pytest.approx(300e-6)
    booked = {
        threads.labels[label]: time
        for label, time in zip(
            threads.spans.label_indices, threads.spans.ends - threads.spans.starts, strict=True
        )
        if threads.spans.processor_indices[0] == 0
    }
    assert "cudaStreamSynchronize" in booked  # without the version of the interface
    assert any(
        "marks of NVTX annotate times and are left out: 1" in str(note)
        for note in read_trace(path).notes
    )


def test_waits_are_those_of_the_innermost_call(tmp_path: Path) -> None:
    threads = read_trace(database(tmp_path)).traces_by_kind()["thread"]
    main = threads.spans.processor_indices == 0
    length = (threads.spans.ends - threads.spans.starts)[main]
    times: dict[str, float] = {}
    for label, time in zip(threads.spans.label_indices[main], length, strict=True):
        name = threads.labels[label]
        times[name] = times.get(name, 0.0) + time
    assert times == pytest.approx(
        {
            "cudaLaunchKernel": 50e-6,
            "program": 250e-6,
            "cudaStreamSynchronize": 500e-6,
            "pthread_cond_wait": 200e-6,
        }
    )


def test_what_was_not_traced_is_unknown(tmp_path: Path) -> None:
    path = database(tmp_path, "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME")
    trace = read_trace(path)
    assert any("is unknown" in str(note) and "--trace=osrt" in str(note) for note in trace.notes)
    assert "unknown" not in trace.traces_by_kind()["thread"].useful_labels
    alone = read_trace(database(tmp_path, "CUPTI_ACTIVITY_KIND_KERNEL", name="kernels.db"))
    assert alone.processors == ("0/stream 7",)


def test_a_graph_that_was_traced_as_a_whole_is_an_operation_of_its_stream(tmp_path: Path) -> None:
    path = database(tmp_path, "CUPTI_ACTIVITY_KIND_KERNEL")
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            f"CREATE TABLE {GRAPHS} (start INT, end INT, deviceId INT, streamId INT, graphId INT)"
        )
        rows = [(800_000, 950_000, 0, 7, 3), (0, 0, 0, 7, 3)]  # one without times
        file.executemany(f"INSERT INTO {GRAPHS} VALUES (?, ?, ?, ?, ?)", rows)
        file.commit()
    trace = read_trace(path)
    assert trace.processors == ("0/stream 7",)
    assert trace.spans.starts.min() == 0  # of the first kernel
    busy = trace.busy_spans
    assert sum(busy.ends - busy.starts) == pytest.approx(550e-6)  # a kernel of 400 us and the graph
    assert any("traced as a whole" in str(note) for note in trace.notes)
    with closing(sqlite3.connect(path)) as file:
        file.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
        file.commit()
    assert "[CUDA graph 3]" in read_trace(path).labels


def test_messages_of_a_process_without_a_gpu_are_read(tmp_path: Path) -> None:
    path = database(tmp_path, "MPI_P2P_EVENTS")
    with closing(sqlite3.connect(path)) as file:
        file.execute("INSERT INTO MPI_P2P_EVENTS VALUES (0, 1000, 0, ?, 6)", (MAIN,))
        file.commit()
    assert read_trace(path).useful_labels == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: database(folder, "NVTX_EVENTS"), "no operations of a GPU and no calls"),
        (lambda folder: _cut(database(folder)), "is damaged, or of another form"),
        (lambda folder: _with_start(database(folder), "soon"), "is damaged, or of another form"),
        (lambda folder: _with_start(database(folder), None), "is damaged, or of another form"),
    ],
)
def test_other_databases_are_refused(tmp_path: Path, make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(SpecError, match=words):
        read_trace(make(tmp_path))


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:5000])
    return path


def _with_start(path: Path, start: str | None) -> Path:
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = ?", (start,))
        file.commit()
    return path
