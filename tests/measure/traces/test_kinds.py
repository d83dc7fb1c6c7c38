"""Kinds of tracks and names of waits in traces."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from slipstick_measure.traces.kinds import is_wait
from slipstick_measure.traces.readers import read_trace
from tests.measure.traces.test_readers import FILES


@pytest.mark.parametrize(
    "name",
    [
        *(
            "cudaStreamSynchronize",
            "hipStreamSynchronize",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        *("ncclKernel_Broadcast(ncclDevComm*)", "MPI_Recv", "PMPI_Waitall", "futex", "do_futex"),
        *(
            "lock.acquire",
            "Condition.wait (threading.py:12)",
            "pthread_cond_timedwait",
            "wait:disk",
        ),
        *("__kmpc_barrier", "epoll_wait", "threading.Thread.join", "idle"),
    ],
)
def test_names_of_waits(name: str) -> None:
    assert is_wait(name)


@pytest.mark.parametrize(
    "name",
    [
        "sgemm",
        "aten::mm",
        "waitress.serve",
        "MPICH",
        "locksmith",
        "futexes",
        "cudaLaunchKernel",
        "",
    ],
)
def test_names_of_work(name: str) -> None:
    assert not is_wait(name)


PROFILE = """{"traceEvents":[
{"ph":"M","name":"thread_name","pid":0,"tid":1,
 "args":{"name":"a main thread with a name of many words"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7"}},
{"ph":"X","cat":"Trace","name":"Profiler","pid":"Spans","tid":"Profiler","ts":0,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":0,"tid":1,"ts":0,"dur":20},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":0,"tid":1,"ts":20,"dur":80},
{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":10,"dur":40},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":50,"dur":50}
]}"""


def test_streams_are_apart_from_threads_and_annotations_are_neither(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(PROFILE % "sgemm")
    parts = read_trace(path).traces_by_kind()
    assert {kind: part.processors for kind, part in parts.items()} == {
        "thread": ("a main thread with a name of many words",),
        "GPU stream": ("stream 7",),
    }
    busy = {
        kind: float((part.busy_spans.ends - part.busy_spans.starts).sum())
        for kind, part in parts.items()
    }
    assert busy == pytest.approx({"thread": 20e-6, "GPU stream": 40e-6})
    assert read_trace(path).main_part().processors == ("stream 7",)


def test_annotations_are_all_there_is_where_there_is_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '[{"ph":"X","cat":"user_annotation","name":"step","pid":1,"tid":1,"ts":0,"dur":9}]'
    )
    assert read_trace(path).labels == ("step",)


def test_a_long_name_is_cut_and_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(PROFILE % ("kernel<" + "float, " * 700 + ">"))
    trace = read_trace(path)
    assert max(map(len, trace.labels)) == 1000
    assert any("names are cut after 1,000 characters" in note.message for note in trace.notes)


def test_a_packed_trace_of_paraver_has_the_names_beside_it(tmp_path: Path) -> None:
    (tmp_path / "x.prv.gz").write_bytes(gzip.compress((FILES / "four-tasks.prv").read_bytes()))
    (tmp_path / "x.pcf").write_bytes((FILES / "four-tasks.pcf").read_bytes())
    assert read_trace(tmp_path / "x.prv.gz").labels == read_trace(FILES / "four-tasks.prv").labels
