"""Where points are solved does not change them; a point that ends its process costs itself; kept
points are not solved again.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import is_dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import slipstick.answer
from slipstick.answer import Answer, Rejected, Verdict
from slipstick.cli.main import _print_points, main
from slipstick.errors import InputError, MissingValue, Saturated
from slipstick.schema.library import Library
from slipstick.schema.text import Mark, Scalar
from slipstick.sim.settings import Simulation
from slipstick.study.engine import (
    _WORKER_PROGRAM,
    Engine,
    Limits,
    _OutOfMemoryError,
    _result_within_memory,
    _solve_group,
)
from slipstick.study.evaluator import evaluator
from slipstick.study.journal import (
    _ALLOWED_CLASSES,
    NAME,
    Journal,
    StoredPoints,
    _PointReader,
    stored_points,
)
from slipstick.study.points import Block, PointBlock, SolvedBlock, engine_versions, solve_block
from tests.processes import HANGS
from tests.study.poison import poisoned

STUDY = """study: 1
base: {model: lock-and-bus, method: simulation, simulation.cycles: 2000, simulation.least: 2000}
vary: {population.processors: [2, 3, 4]}
"""


def blocks(*sizes: float) -> list[PointBlock]:
    """Return one point of the closed form for each number of processors."""
    name = {"model": Scalar("lock-and-bus", "lock-and-bus", Mark("test", 1, 1), quoted=True)}
    solvable = replace(evaluator("base", name, Library()).solvable, method="mean-value")
    return [PointBlock(solvable, {"population.processors": np.array([size])}, 1) for size in sizes]


def times(found: Sequence[object]) -> list[float]:
    return [float(getattr(each, "columns")["time"][0]) for each in found]  # noqa: B009


def test_a_worker_that_still_imports_ends_with_the_process_that_started_it() -> None:
    ours, theirs = socket.socketpair()
    before = _WORKER_PROGRAM.format(handle=theirs.fileno()).partition("from slipstick")[0]
    command = [sys.executable, "-c", f"{before}import sys, time; time.sleep(3600); sys.exit(1)"]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as worker:
        theirs.close()
        ours.close()
        assert worker.wait(timeout=HANGS) == 0


def test_a_point_that_leaves_no_memory_to_say_so_is_over_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_memory(block: Block) -> None:
        raise MemoryError

    monkeypatch.setattr("slipstick.study.engine._solve_with_time", without_memory)
    (block,) = blocks(1)
    with pytest.raises(_OutOfMemoryError) as caught:
        _result_within_memory(block, 1e12)
    assert caught.value.result.failed == {0: "takes more than its limit of memory, 1000 GB"}


@pytest.mark.turns(5)
def test_a_point_that_ends_its_process_or_is_over_a_limit_costs_itself_alone() -> None:
    good = blocks(1, 2, 3)
    bad = [
        PointBlock(poisoned(how), {"x": np.array([1.0])}, 1) for how in ("kills", "eats", "sleeps")
    ]
    told: list[int] = []
    with Engine("processes", 1, Limits(time=HANGS, memory=3e8)) as engine:
        eaten = engine.solve([good[0], bad[0], good[1], bad[1], good[2]], told.append)
    assert times([eaten[0], eaten[2], eaten[4]]) == times(Engine().solve(good))
    assert [each.failed[0] for each in (eaten[1], eaten[3])] == [
        "its process ended by SIGKILL",
        "takes more than its limit of memory, 0.3 GB",
    ]
    assert sum(told) == 5
    with Engine(None, 1, Limits(time=0.05)) as engine:
        (late,) = engine.solve(bad[2:])
    assert late.failed == {0: "takes more than its limit of time, 0.05 s"}


def test_of_a_block_only_the_point_that_fails_has_no_answer() -> None:
    # Three points in two halves: each half is a block of its own, down to one point.
    (block,) = blocks(1)
    several = replace(block, values={"population.processors": np.array([1.0, 2.0, 3.0])}, count=3)
    first, second = several.halves()
    assert [first.count, second.count] == [1, 2]
    joined = Engine()._solve_halves(several)
    assert joined.columns["time"].tolist() == times(Engine().solve(blocks(1, 2, 3)))


def test_the_key_of_a_block_is_of_its_content() -> None:
    one, same, other = (blocks(number)[0] for number in (1, 1, 2))
    assert one.key == same.key
    assert one.solvable is not same.solvable
    assert (
        len(
            {one.key, other.key, replace(one, value_names=("time",)).key, replace(one, count=2).key}
        )
        == 4
    )
    simulated = replace(one.solvable, simulation=replace(one.solvable.simulation, seed=1))
    assert replace(one, solvable=simulated).key != one.key


def test_a_kept_point_is_not_solved_again_and_a_damaged_one_is(tmp_path: Path) -> None:
    (block,), about = blocks(2), {"command": "c"}
    (found,) = Engine().solve([block])
    with closing(Journal(tmp_path, about)) as journal:
        journal.keep(block, found, 1.0, Limits())
    with closing(Journal(tmp_path, about)) as journal:
        again = journal.find(block, Limits())
        assert again is not None
        assert times([again]) == times([found])
        other = Journal(
            tmp_path, about
        )  # while one run holds the folder, another keeps nothing there
        other.keep(blocks(3)[0], found, 1.0, Limits())
        other.close()
    assert stored_points(tmp_path).point_count == 1
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("update points set body = x'00'")
        file.commit()
    with closing(Journal(tmp_path, about)) as journal:
        assert journal.find(block, Limits()) is None
    hostile = pickle.dumps(os.system)
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("update points set body = ?, proof = ?", (hostile, sha256(hostile).digest()))
        file.commit()
    with closing(Journal(tmp_path, about)) as journal:
        assert journal.find(block, Limits()) is None
    with pytest.raises(pickle.UnpicklingError, match=r"posix.system is no result"):
        _PointReader(io.BytesIO(hostile)).load()
    (tmp_path / NAME).write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="is not a file of points"):
        Journal(tmp_path, about)


def test_every_part_of_an_answer_can_be_kept() -> None:
    """A point whose answer has a part that is not read would be solved again by every run."""
    parts = {
        name
        for name, part in vars(slipstick.answer).items()
        if is_dataclass(part) and isinstance(part, type) and part.__module__ == "slipstick.answer"
    }
    assert {("slipstick.answer", name) for name in parts} <= _ALLOWED_CLASSES
    kept = Answer(
        "m",
        "simulation",
        failed=Saturated("door is saturated"),
        notes=(
            MissingValue(
                "time_at[2 s] has no value: its chain is too large", value_name="time_at[2 s]"
            ),
        ),
        check=Verdict("replaced", "9 % off", Rejected("mean-value", "time", 2.0, "s")),
    )
    again = _PointReader(io.BytesIO(pickle.dumps(kept, protocol=4))).load()
    assert again == kept
    assert (type(again.failed), type(again.notes[0])) == (Saturated, MissingValue)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80\x04",
        b"\x80\x04K\x01.",  # a number
        b"\x80\x04]\x94.",  # a list
        b"\x80\x04X\x01\x00\x00\x00\xff.",  # no UTF-8
        b"\x80\x04\x82\x05.",  # an extension that is not registered
        b"\x80\x04R.",  # a call of nothing
        b"\x80\x04cnumpy\ndtype\n\x94\x8c\x05wrong\x85R.",
        b"(" * 10**6 + b"t.",
    ],
)
def test_a_row_is_damaged_whatever_is_wrong_with_it(body: bytes, tmp_path: Path) -> None:
    (block,) = blocks(2)
    (found,) = Engine().solve([block])
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(block, found, 1.0, Limits())
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("update points set body = ?, proof = ?", (body, sha256(body).digest()))
        file.commit()
    with closing(Journal(tmp_path, {})) as journal:
        assert journal.find(block, Limits()) is None
        journal.keep(block, found, 1.0, Limits())
    with closing(Journal(tmp_path, {})) as journal:
        assert journal.find(block, Limits()) is not None


@pytest.mark.parametrize("value", ["text", 7, None, 1.5])
def test_a_row_of_another_type_is_a_damaged_one(value: object, tmp_path: Path) -> None:
    (block,) = blocks(2)
    (found,) = Engine().solve([block])
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(block, found, 1.0, Limits())
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("update points set body = ?, proof = ?", (value, value))
        file.commit()
    with closing(Journal(tmp_path, {})) as journal:
        assert journal.find(block, Limits()) is None


@pytest.mark.turns(4)
def test_a_file_that_is_damaged_inside_is_made_anew_and_the_points_are_solved(
    tmp_path: Path,
) -> None:
    several = blocks(*range(1, 40))
    found = Engine().solve(several)
    with closing(Journal(tmp_path, {})) as journal:
        for block, result in zip(several, found, strict=True):
            journal.keep(block, result, 1.0, Limits())
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("pragma wal_checkpoint(truncate)")
    data = bytearray((tmp_path / NAME).read_bytes())
    half = len(data) // 2 // 4096 * 4096
    data[half:] = bytes([255]) * (len(data) - half)
    (tmp_path / NAME).write_bytes(bytes(data))
    for _ in range(2):
        with closing(Journal(tmp_path, {})) as journal:
            assert times(Engine(store=journal).solve(several)) == times(found)
            for block, result in zip(several, found, strict=True):
                journal.keep(block, result, 1.0, Limits())
            journal.close(is_finished=True)
    assert stored_points(tmp_path).point_count == len(several)


def test_a_point_of_this_run_is_not_from_an_earlier_one(tmp_path: Path) -> None:
    (block,) = blocks(2)
    (found,) = Engine().solve([block])
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(block, found, 1.0, Limits())
        assert journal.find(block, Limits()) is not None
        assert journal.reused_point_count == 0
    with closing(Journal(tmp_path, {})) as journal:
        assert journal.find(block, Limits()) is not None
        assert journal.reused_point_count == 1


@pytest.mark.turns(5)
def test_a_worker_without_memory_says_so_and_nothing_else(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipstick.limits.monotonic", lambda: 0.0)  # no pace to announce
    good = blocks(1, 2)
    bad = [PointBlock(poisoned(how), {"x": np.array([1.0])}, 1) for how in ("breaks", "ends")]
    limits = Limits(memory=3e8)
    with Engine("processes", 1, limits) as engine:
        found = engine.solve([good[0], bad[0], good[1], bad[1]])
    assert times([found[0], found[2]]) == times(Engine().solve(good))
    assert found[1].failed == {0: "takes more than its limit of memory, 0.3 GB"}
    assert found[3].failed == {0: "its process ended by status 3 under a limit of memory of 0.3 GB"}
    with Engine("processes", 1) as engine:
        (ended,) = engine.solve(bad[1:])
    assert ended.failed == {0: "its process ended by status 3: no room"}
    assert capfd.readouterr() == ("", "")


def test_a_run_killed_as_it_makes_its_file_has_kept_nothing(tmp_path: Path) -> None:
    # What is written of a transaction that no one ended, beside the file that says how it is rolled
    # back.
    killed = (
        "import os, signal, sqlite3, sys; file = sqlite3.connect(sys.argv[1],"
        " isolation_level=None);file.execute('pragma cache_size = 1'); file.execute('create table t"
        " (x)'); file.execute('begin');file.executemany('insert into t values (?)', [('x' * 4000,)]"
        " * 50); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / NAME)], check=False)
    assert (tmp_path / f"{NAME}-journal").exists()
    assert stored_points(tmp_path) == StoredPoints()


def test_a_file_of_points_that_has_just_been_made_has_none(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / NAME)) as file:
        file.execute("pragma journal_mode = wal")
        assert (stored_points(tmp_path).point_count, stored_points(tmp_path).is_running) == (
            0,
            True,
        )


@pytest.mark.parametrize(("seconds", "is_kept"), [(0.001, True), (0.000999, False)])
def test_what_takes_a_millisecond_is_kept(tmp_path: Path, seconds: float, is_kept: bool) -> None:
    (one,) = blocks(2)
    (found,) = Engine().solve([one])
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(one, found, seconds, Limits())
        assert (journal.find(one, Limits()) is not None) == is_kept


def test_a_file_of_points_does_not_grow_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = blocks(2, 3)
    found, another = Engine().solve([one, other])
    monkeypatch.setattr(
        "slipstick.study.journal.MOST_BYTES", 1.5 * len(pickle.dumps(found, protocol=4))
    )
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(one, found, 1.0, Limits())
        journal.keep(other, another, 1.0, Limits())
        assert journal.find(one, Limits()) is not None
        assert journal.find(other, Limits()) is None


def test_a_failure_holds_for_its_limits_only(tmp_path: Path) -> None:
    block, tight = PointBlock(poisoned("kills"), {}, 1), Limits(time=1.0)
    with closing(Journal(tmp_path, {})) as journal:
        journal.keep(
            block, type(Engine().solve(blocks(1))[0]).without_answer(block, "why"), 0.0, tight
        )
        assert journal.find(block, Limits(time=2.0)) is None
        kept = journal.find(block, tight)
    assert kept is not None
    assert kept.failed == {0: "why"}


def test_points_of_questions_are_not_counted_against_those_of_sweeps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _print_points(StoredPoints(point_count=74, run_description={"points": "10"}), None)
    assert capsys.readouterr().out.startswith("74 points are stored, including those of questions;")
    _print_points(StoredPoints(point_count=9, failed_count=1), 10)
    assert capsys.readouterr().out.startswith("9 of 10 points are stored, 1 of them without")


@pytest.mark.turns(4)
def test_a_run_goes_on_from_what_is_kept_and_says_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(STUDY)
    monkeypatch.setattr("slipstick.study.journal.LEAST_SECONDS", 0.0)
    assert main(["run", "s.yaml", "--out", "one", "--jobs", "2"]) == 0
    first = Path("one/results.csv").read_bytes()
    assert main(["status", "one"]) == 0
    out = capsys.readouterr().out
    assert "one is up to date: slipstick run s.yaml" in out
    assert "4 of 4 points are stored" in out
    Path("one/results.csv").write_text("edited")
    Path("s.yaml").write_text(STUDY.replace("[2, 3, 4]", "[2, 3, 4, 5]"))
    assert main(["status", "one"]) == 0
    out = capsys.readouterr().out
    assert "- results.csv is not as it was written" in out
    assert "- file s.yaml has changed" in out
    assert main(["run", "s.yaml", "--out", "one"]) == 0
    assert "note: 4 points are from an earlier run" in capsys.readouterr().err
    assert Path("one/results.csv").read_bytes().startswith(first)
    assert main(["run", "s.yaml", "--out", "one", "--fresh"]) == 0
    assert "from an earlier run" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--on", "clouds"],
            "processes, mpi, or the address of a Dask scheduler, such as tcp://node1:8786",
        ),
        (["--limit", "speed=3"], "speed"),
        (
            ["--limit", "memory=2"],
            "--limit memory: memory: write a number with a unit, such as '4 KiB'; got 2",
        ),
        (["--limit", "time"], "write NAME=VALUE, such as states=1e6 or time=60s"),
    ],
)
def test_what_is_wrong_with_an_engine_is_told(
    options: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(STUDY)
    assert main(["run", "s.yaml", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.turns(4)
def test_a_dask_cluster_gives_the_same_points() -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    given = blocks(1, 2, 3, 4, 5)
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            protocol="tcp",
        ) as cluster,
        Engine(cluster.scheduler_address) as engine,
    ):
        assert times(engine.solve(given)) == times(Engine().solve(given))


class Cluster:
    """Stands for the libraries of clusters, whose scheduler is not there, or has no workers."""

    COMM_WORLD = property(lambda self: self)

    def __init__(self, there: bool = True) -> None:
        self.there = there

    def Get_size(self) -> int:  # noqa: N802
        return 1

    def Client(self, address: str, **how: object) -> Cluster:  # noqa: N802
        if not self.there:
            raise TimeoutError
        return self

    def nthreads(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("on", "library", "words"),
    [
        ("mpi", None, "solving points by MPI needs mpi4py: pip install mpi4py"),
        ("mpi", Cluster(), "MPI has 1 rank, and one is the master; start it as: mpiexec -n 3"),
        (
            "tcp://nowhere:1",
            None,
            "solving points on a Dask cluster needs distributed: pip install 'slipstick[cluster]'",
        ),
        (
            "tcp://nowhere:1",
            Cluster(False),
            "there is no Dask scheduler at tcp://nowhere:1 (TimeoutError); start one, or",
        ),
        (
            "tcp://nowhere:1",
            Cluster(),
            "the Dask scheduler at tcp://nowhere:1 has no workers; start some: dask worker tcp:",
        ),
    ],
)
def test_a_cluster_that_is_not_there_is_told(
    on: str, library: Cluster | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported(name: str) -> Cluster:
        if library is None:
            raise ImportError
        return library

    for place in ("errors", "study.engine"):
        monkeypatch.setattr(f"slipstick.{place}.import_module", imported)
    with pytest.raises(InputError) as told, Engine(on) as engine:
        engine.solve(blocks(1, 2))
    assert words in str(told.value)


REPLICATED = Simulation(seed=2, cycles=6000, replications=4, kernel="plain")


@pytest.mark.turns(6)
def test_one_simulation_is_parted_into_replications_wherever_they_run(tmp_path: Path) -> None:
    (block,) = blocks(5)
    block = replace(
        block, solvable=replace(block.solvable, method="simulation", simulation=REPLICATED)
    )
    (whole,) = Engine().solve([block])
    for on, jobs in (("threads", 3), ("processes", 2)):
        with (
            closing(Journal(tmp_path / on, {})) as journal,
            Engine(on, jobs, store=journal) as engine,
        ):
            (found,) = engine.solve([block])
            assert stored_points(tmp_path / on).point_count == 1
            count = journal._execute_sql("select count(*) from points").fetchone()
            assert count == (5,)  # the point, and its replications until the run ends
            journal.close(is_finished=True)
        assert {name: each.tobytes() for name, each in found.columns.items()} == {
            name: each.tobytes() for name, each in whole.columns.items()
        }


@pytest.mark.turns(4)
def test_a_killed_run_of_one_point_goes_on_with_its_replications(tmp_path: Path) -> None:
    (block,) = blocks(5)
    block = replace(
        block, solvable=replace(block.solvable, method="simulation", simulation=REPLICATED)
    )
    with closing(Journal(tmp_path, {})) as journal:
        (whole,) = Engine(store=journal).solve([block])
        journal._execute_sql("delete from points where points = 1")
        (again,) = Engine(store=journal).solve([block])
    assert times([again]) == times([whole])
    assert block.key in journal._requested_keys


def test_a_replication_that_ends_its_process_costs_its_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (block,) = blocks(5)
    block = replace(
        block, solvable=replace(block.solvable, method="simulation", simulation=REPLICATED)
    )
    monkeypatch.setattr("slipstick.study.engine.solve_block", _without_memory)
    with Engine("threads", 2) as engine:
        (found,) = engine.solve([block])
    assert found.failed == {0: "takes more memory than there is"}


def _without_memory(block: Block) -> SolvedBlock:
    if isinstance(block, PointBlock):
        return solve_block(block)
    raise MemoryError


def test_other_versions_and_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match=r"a worker on \S+ has numpy \S+ for 0.1; install the same on all"
    ):
        _solve_group(blocks(1), Limits(), False, {**engine_versions(), "numpy": "0.1"}, 1.0)
    monkeypatch.setattr("slipstick.study.engine._START_TIME", 0.0)
    with (
        Engine("processes") as engine,
        pytest.raises(InputError, match="a process for the points cannot be started"),
    ):
        engine.solve(blocks(1))
    with monkeypatch.context() as other:
        other.setattr("slipstick.study.engine._MEMORY_FILE", "/proc/not/there")
        with pytest.raises(InputError) as told:
            Engine(limits=Limits(memory=1e9))
        assert "this system does not say what memory a process has (/proc/not/there)" in str(
            told.value
        )
    monkeypatch.delattr("socket.socketpair")
    with pytest.raises(
        InputError,
        match=(
            "this operating system cannot limit single processes; leave out --on processes and "
            "the limits"
        ),
    ):
        Engine(limits=Limits(time=1.0))


def test_a_folder_without_a_report_and_one_that_cannot_be_written_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(tmp_path)]) == 2
    assert f"there is no report in {tmp_path}, and no points of one" in capsys.readouterr().err
    (tmp_path / NAME).write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match=r"\.points\.sqlite cannot be read: "):
        stored_points(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(STUDY)
    monkeypatch.setattr("os.access", lambda *place: False)
    assert main(["run", "s.yaml", "--out", "new/one"]) == 2
    assert (
        f"error: {tmp_path}: nothing can be written there; choose another place with --out"
        in capsys.readouterr().err
    )


def test_a_full_disk_is_told_and_what_was_kept_stays(tmp_path: Path) -> None:
    (block, other), (found, _) = blocks(1, 2), Engine().solve(blocks(1, 2))
    journal = Journal(tmp_path, {})
    journal.keep(block, found, 1.0, Limits())
    journal._execute_sql("pragma max_page_count = 4")
    columns = {"time": np.random.default_rng(1).random(100_000)}
    with pytest.raises(OSError, match="database or disk is full"):
        journal.keep(other, replace(found, columns=columns), 1.0, Limits())
    journal.close()
    assert stored_points(tmp_path).point_count == 1
