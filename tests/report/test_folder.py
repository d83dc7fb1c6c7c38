"""The folder of a report is the old one or the new one, whatever happens to the process that
writes it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from slipstick.report import folder as folders
from slipstick.report.folder import replaced

NAMES = [f"{number}.txt" for number in range(5)]
WRITER = """
import sys
from pathlib import Path
from slipstick.report.folder import replaced
word = int(sys.argv[2])
while True:
    with replaced(Path(sys.argv[1]), lambda: []) as work:
        for number in range(5):
            (work / f"{number}.txt").write_text(str(word))
    print(word, flush=True)
    word += 1
"""


def written(folder: Path, word: str) -> None:
    """Write a folder of five files that all hold one word."""
    with replaced(folder, list) as work:
        for name in NAMES:
            (work / name).write_text(word)


def words(folder: Path) -> set[str]:
    """Read what the files hold."""
    return {(folder / name).read_text() for name in NAMES}


@pytest.fixture(params=["exchange", "one by one"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Replace with the system call, and without it."""
    if request.param == "one by one":
        monkeypatch.setattr(folders, "_moved", lambda *_: False)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_a_folder_is_made_then_replaced_and_files_of_the_user_stay(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "report"
    written(target, "old")
    (target / "mine.txt").write_text("mine")
    (target / "sub").mkdir()
    (target / "sub" / "note").write_text("note")
    (target / "gone.png").write_text("stale")
    with replaced(target, lambda: ["gone.png"]) as work:
        for name in NAMES:
            (work / name).write_text("new")
        assert words(target) == {"old"}
    assert words(target) == {"new"}
    assert (target / "mine.txt").read_text() == "mine"
    assert (target / "sub" / "note").read_text() == "note"
    assert not (target / "gone.png").exists()
    assert [path.name for path in target.parent.iterdir()] == ["report"]


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_the_old_folder_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "report"
    written(target, "old")
    with pytest.raises(FileNotFoundError, match="missing"), replaced(target, list) as work:
        (work / "missing").read_text()
    assert words(target) == {"old"}
    assert os.listdir(tmp_path) == ["report"]


def test_a_kill_at_any_moment_leaves_one_whole_folder(tmp_path: Path) -> None:
    target, moments = tmp_path / "report", random.Random(1)
    for turn in range(5):
        command = [sys.executable, "-c", WRITER, str(target), str(1000 * turn)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(moments.uniform(0, 0.01))
            writer.send_signal(signal.SIGKILL)
        assert len(words(target)) == 1
    written(target, "last")
    assert os.listdir(tmp_path) == ["report"]  # what the killed left is gone


def test_two_writers_at_once_leave_the_folder_of_one_of_them(tmp_path: Path) -> None:
    target = tmp_path / "report"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(target), str(start)], stdout=subprocess.PIPE
        )
        for start in (0, 10**6)
    ]
    for each in writers:
        assert each.stdout is not None
        each.stdout.readline()
    time.sleep(0.2)
    for each in writers:
        each.kill()
        each.communicate()
    assert len(words(target)) == 1


def test_a_folder_that_is_still_written_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "report"
    begun, ended = threading.Event(), threading.Event()
    left = tmp_path / ".report-1"  # of a process that does not hold it
    left.mkdir()

    def slow() -> None:
        with replaced(target, list) as work:
            (work / "0.txt").write_text("slow")
            begun.set()
            ended.wait()

    writer = threading.Thread(target=slow)
    writer.start()
    begun.wait()
    folders._clear(target)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".report-")] == [
        f".report-{os.getpid()}"
    ]
    ended.set()
    writer.join()
    assert (target / "0.txt").read_text() == "slow"


def test_files_and_names_are_stored_before_the_folder_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a loss of power leaves is one of the states between two of these.
    done: list[str] = []
    moved, sync = folders._moved, os.fsync

    def told(handle: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        sync(handle)

    monkeypatch.setattr(os, "fsync", told)

    def told_move(work: Path, target: Path, ours: list[str]) -> bool:
        done.append("moved")
        return moved(work, target, ours)

    monkeypatch.setattr(folders, "_moved", told_move)
    written(tmp_path / "report", "new")
    assert sorted(done[:5]) == NAMES
    assert done[5:] == [f".report-{os.getpid()}", "moved", tmp_path.name]


def test_a_place_that_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    with (
        pytest.raises(OSError, match=r"exists|directory"),
        replaced(tmp_path / "file" / "report", list),
    ):
        pass
    assert os.listdir(tmp_path) == ["file"]
