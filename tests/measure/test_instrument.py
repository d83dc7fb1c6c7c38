"""Instrumented programs: known waits, task pools, killed workers, and programs that are recorded
unchanged.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick.answer import Answer
from slipstick.cli.main import main
from slipstick.instrument import (
    TimedBarrier,
    TimedCondition,
    TimedLock,
    TimedLoop,
    TimedMonitor,
    TimedPool,
    WaitRecorder,
    record,
)
from slipstick_measure import instrument
from slipstick_measure.account import measured
from slipstick_measure.formats import read


def account(profile: str, folder: Path) -> Answer:
    """Read a profile as `slipstick measured` does, and give its account."""
    (folder / "read.yaml").write_text(profile)
    return measured(read(folder / "read.yaml")).answers[0]


def waits(profile: str) -> list[dict[str, float]]:
    """Read the waits of each processor."""
    lines = re.findall(r"- waits: \{(.*)\}", profile)
    return [
        {name: float(value[:-2]) for name, value in re.findall(r"([\w-]+): ([\d.]+ s)", line)}
        for line in lines
    ]


def events(profile: str) -> dict[str, int]:
    """Add up the events of all processors."""
    found: dict[str, int] = {}
    for name, number in re.findall(
        r"([\w-]+): (\d+)[,}]", "".join(re.findall(r"events: (.*)", profile))
    ):
        found[name] = found.get(name, 0) + int(number)
    return found


class LockThatTells:
    """A lock that sets an event when a worker begins to wait for it."""

    def __init__(self, context: Any) -> None:
        self.lock, self.waited_for = context.Lock(), context.Event()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if blocking:
            self.waited_for.set()
        return bool(self.lock.acquire(blocking))

    def release(self) -> None:
        self.lock.release()


def held(rank: int, lock: TimedLock, ready: TimedBarrier, waited_for: Any) -> None:
    """Hold a lock until another worker waits for it."""
    if rank == 0:
        lock.acquire()
        ready.wait()
        waited_for.wait()
    else:
        ready.wait()
        lock.acquire()
    lock.release()


@pytest.mark.parametrize("kind", ["threads", "fork"])
def test_a_known_wait_is_booked_to_its_cause(kind: str, tmp_path: Path) -> None:
    context = threading if kind == "threads" else multiprocessing.get_context("fork")
    with WaitRecorder(tmp_path / "run.yaml", processors=2, context=context) as recorder:
        lock = LockThatTells(context)
        barrier = TimedBarrier(2, "ready", context)
        recorder.run(held, TimedLock("table", lock), barrier, lock.waited_for)
    # How long it waited is what the next test holds.
    assert sum(worker["table"] for worker in waits(recorder.profile)) > 0
    assert events(recorder.profile)["table"] == 2
    assert (tmp_path / "run.yaml").read_text() == recorder.profile
    answer = account(recorder.profile, tmp_path)
    lost = [answer[name] or 0.0 for name in answer.values if name.startswith("processors_lost[")]
    assert (answer["speedup"] or 0.0) + sum(lost) == pytest.approx(2, abs=1e-9)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_known_waits_are_booked_as_they_are(milliseconds: list[int]) -> None:
    """A lock whose every wait moves the clock by a known time, so that no other load of the
    machine is in the figure.
    """
    clock = [0.0]
    ahead = iter(milliseconds)

    class LockOfKnownWaits:
        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if blocking:
                clock[0] += next(ahead) * 1e-3
            return blocking

        def release(self) -> None:
            pass

    with (
        mock.patch.object(instrument, "_now", partial(clock.__getitem__, 0)),
        WaitRecorder() as recorder,
    ):
        recorder.run(
            lambda _, lock: [lock.acquire() for _ in milliseconds],
            TimedLock("table", LockOfKnownWaits()),
        )
    assert waits(recorder.profile)[0]["table"] == pytest.approx(sum(milliseconds) * 1e-3, rel=1e-3)
    assert events(recorder.profile)["table"] == len(milliseconds)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 4), st.booleans())
@settings(max_examples=15, deadline=None)
def test_each_task_of_a_pool_is_taken_once(roots: list[int], parties: int, chunks: bool) -> None:
    taken: list[int] = []
    pool = TimedPool(roots, parties)
    loop = TimedLoop(sum(roots), chunk=3 if chunks else 1)
    indices: list[int] = []

    def worker(rank: int) -> None:
        for task in pool:
            taken.append(task)
            for one in range(task):
                pool.add(one)
        indices.extend(loop)

    with WaitRecorder(processors=parties) as recorder:
        recorder.run(worker)
    expected = {0: 1}
    for size in range(1, 5):
        expected[size] = 1 + sum(expected[one] for one in range(size))
    assert len(taken) == sum(expected[each] for each in roots)
    assert sorted(indices) == list(range(sum(roots)))
    assert events(recorder.profile).get("barrier-pool", 0) >= parties - 1


def shared_tasks(rank: int, pool: TimedPool, loop: TimedLoop, done: object) -> None:
    """Take tasks and indices, and count them in shared memory."""
    for task in pool:
        if task:
            pool.add(task - 1)
    with loop.lock:
        pass
    for index in loop:
        done[index] += 1  # type: ignore[index]


@pytest.mark.turns(4)
def test_processes_share_tasks_and_loops() -> None:
    context = multiprocessing.get_context("fork")
    done = context.Array("i", 20, lock=False)
    with WaitRecorder(processors=2, context=context) as recorder:
        recorder.run(
            shared_tasks,
            TimedPool([3, 2], 2, "tasks", context),
            TimedLoop(20, 2, "rows", context),
            done,
        )
    assert list(done) == [1] * 20
    assert events(recorder.profile)["barrier-tasks"] >= 1


def test_monitors_and_conditions_wait_inside(tmp_path: Path) -> None:
    box: list[int] = []
    monitor, condition = TimedMonitor("box"), TimedCondition("told")
    inside = [threading.Event(), threading.Event()]
    said: list[bool] = []

    def worker(rank: int) -> None:
        if rank == 0:
            with monitor:
                inside[0].set()
                monitor.wait("full", lambda: bool(box))
            with condition:
                inside[1].set()
                while not said:
                    condition.wait(1)
        else:
            inside[0].wait()
            with monitor:
                box.append(1)
                monitor.signal("full")
            inside[1].wait()
            with condition:
                said.append(True)
                condition.notify_all()

    with WaitRecorder(processors=2) as recorder:
        recorder.run(worker)
    found = waits(recorder.profile)
    assert sum(worker["wait-box-full"] for worker in found) > 0
    assert sum(worker["told"] for worker in found) > 0
    assert events(recorder.profile)["entry-box"] == 2


def killed(rank: int, lock: TimedLock, ends: Event) -> None:
    """Kill the first worker while it holds nothing; the other one ends after it."""
    with lock:
        pass
    if rank == 0:
        ends.set()
        os.kill(os.getpid(), signal.SIGKILL)
    ends.wait()
    time.sleep(0.02)


def test_a_killed_worker_leaves_a_profile_that_names_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with WaitRecorder(processors=2, context=context) as recorder:
        recorder.run(killed, TimedLock("table", context.Lock()), context.Event())
    assert "worker 0 of process" in recorder.profile
    assert "ended before it wrote its account" in recorder.profile
    assert account(recorder.profile, tmp_path)["processors_lost[missing]"]


PROGRAM = """
import {module}, sys, time
from queue import Queue
def work(lock, barrier):
    barrier.wait()
    for _ in range(3):
        with lock:
            time.sleep(0.01)
    barrier.wait()
if __name__ == "__main__":
    lock, barrier = {made}.Lock(), {made}.Barrier(2)
    workers = [{made}.{kind}(target=work, args=(lock, barrier)) for _ in range(2)]
    [each.start() for each in workers]
    [each.join() for each in workers]
    sys.exit(3)
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("module", "made", "kind"),
    [
        ("threading", "threading", "Thread"),
        ("multiprocessing", "multiprocessing.get_context('fork')", "Process"),
        ("multiprocessing", "multiprocessing.get_context('spawn')", "Process"),
    ],
)
def test_a_program_is_recorded_without_a_change(
    module: str, made: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(module=module, made=made, kind=kind))
    out = str(tmp_path / "run.yaml")
    assert main(["record", "-o", out, "--", sys.executable, str(tmp_path / "program.py")]) == 3
    assert "shows them" in capsys.readouterr().err
    profile = Path(out).read_text()
    assert len(waits(profile)) == 2
    lock = next(name for name in waits(profile)[0] if name.startswith("lock-program-"))
    assert events(profile)[lock] >= 6
    assert sum(each[lock] for each in waits(profile)) >= 0.004
    assert any(name.startswith("barrier-program-") for name in waits(profile)[0])
    assert main(["measured", out]) == 0


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run.yaml")
    assert main(["record", "-o", out, "--", "no-such-program"]) == 2
    assert "there is no program 'no-such-program'" in capsys.readouterr().err
    assert main(["record", "-o", out, "--", "true"]) == 2
    assert "nothing was recorded" in capsys.readouterr().err
    with WaitRecorder() as recorder:
        recorder.run(lambda rank: None)
        with pytest.raises(RuntimeError, match="already; end that recorder first"), WaitRecorder():
            pass
    with (
        pytest.raises(
            ValueError, match="nothing was recorded: no Python program ran to its end or waited"
        ),
        WaitRecorder(),
    ):
        pass


def test_a_site_of_the_user_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    (tmp_path / "program.py").write_text("print('done')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with open(tmp_path / "said", "w+") as said:
        before = os.dup(1)
        os.dup2(said.fileno(), 1)
        try:
            record([sys.executable, str(tmp_path / "program.py")], tmp_path / "run.yaml")
        finally:
            os.dup2(before, 1)
    assert (tmp_path / "said").read_text() == "mine\ndone\n"


def test_a_profile_that_could_not_be_read_back_is_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.json"
    assert main(["record", "-o", str(out), "--", sys.executable, "-c", "pass"]) == 2
    assert capsys.readouterr().err == (
        f"error: --out: a profile is read back from a name that ends in .yaml; got '{out}'\n"
    )
    assert not out.exists()
