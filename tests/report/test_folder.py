"""Of the folder of a report only the files of reports are touched; whatever happens to the process
that writes it, it holds the old report, the new one, or one that the next run completes.
"""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slipstick.errors import InputError
from slipstick.files import replacement_file, write_whole
from slipstick.report import folder as folders
from slipstick.report.folder import (
    INPUTS,
    INTERRUPTED,
    READY,
    WORK,
    check_folder,
    manifest_and_changes,
)
from tests.killed import FOREIGN, NEW, OLD, outcomes, write_report

WRITER = """
import sys
from pathlib import Path
from tests.killed import write_report
word = int(sys.argv[2])
while True:
    write_report(Path(sys.argv[1]), str(word))
    print(word, flush=True)
    word += 1
"""
ROOT = Path(__file__).parents[2]


def word_of(folder: Path) -> str:
    """Read the word that all files of a report hold, which is as it was written."""
    manifest, stale = manifest_and_changes(folder)
    assert not stale
    words = {(folder / name).read_text() for name in manifest["files"]}
    assert words == {manifest["command"]}
    return str(manifest["command"])


def names_in(folder: Path) -> set[str]:
    """List a folder."""
    return {path.name for path in folder.iterdir()}


@contextmanager
def mounted(place: Path, options: str = "size=1m") -> Iterator[bool]:
    """Mount a file system of its own there, where this process may."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
    done = os.name == "posix" and not subprocess.run(command, check=False).returncode
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def other_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that nothing can be moved into or out of, as if it were mounted."""
    place, replace = tmp_path / "volume", os.replace
    place.mkdir()

    def refused(old: Path, new: Path) -> None:
        if {Path(old).is_relative_to(place), Path(new).is_relative_to(place)} != {True}:
            raise OSError(errno.EXDEV, "Invalid cross-device link", str(new))
        replace(old, new)

    monkeypatch.setattr(os, "replace", refused)
    return place


def test_a_report_is_made_then_replaced_and_files_of_others_stay(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "report"
    write_report(target, "old")
    (target / "mine.txt").write_text("mine")
    (target / "sub").mkdir()
    (target / "sub" / "note").write_text("note")
    (target / "unlisted.png").write_text("mine")
    before = {path: path.lstat() for path in (target, target / "mine.txt", target / "sub")}
    write_report(target, "new", NEW)
    assert word_of(target) == "new"
    assert names_in(target) == {*NEW, INPUTS, "mine.txt", "sub", "unlisted.png"}
    assert (target / "sub" / "note").read_text() == "note"
    for path, state in before.items():
        assert (path.lstat().st_ino, path.lstat().st_mode) == (state.st_ino, state.st_mode)
    assert names_in(target.parent) == {"report"}


def test_a_file_of_an_earlier_report_that_was_changed_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old", ("0.txt", "details.md", "gone.md"))
    (target / "details.md").write_text("edited")
    write_report(target, "new", ("0.txt",))
    assert names_in(target) == {"0.txt", "details.md", INPUTS}
    with pytest.raises(InputError, match=r"has details\.md, which no report of slipstick wrote"):
        write_report(target, "third", ("0.txt", "details.md"))


def test_a_failure_leaves_the_old_report_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    with pytest.raises(FileNotFoundError, match="missing"):
        read_a_missing_file(target)
    assert word_of(target) == "old"
    assert names_in(target) == {*OLD, INPUTS}
    with pytest.raises(ZeroDivisionError), folders.new_report(tmp_path / "never"):
        raise ZeroDivisionError
    assert names_in(tmp_path) == {"report"}


def read_a_missing_file(target: Path) -> None:
    """Fail while a report is made."""
    with folders.new_report(target) as work:
        (work / "0.txt").write_text("new")
        (work / "missing").read_text()


# Kills, and two runs at once


@pytest.mark.turns(10)
def test_a_kill_before_each_operation_leaves_a_report_that_is_whole_or_recognized(
    tmp_path: Path,
) -> None:
    found = outcomes(tmp_path / "report")
    order = [state for state in ("old", "recognized", "new") if state in found]
    assert list(dict.fromkeys(found)) == order == ["old", "recognized", "new"]
    assert len(found) > 20
    assert (tmp_path / "report" / FOREIGN).read_text() == "mine"


@pytest.mark.turns(6)
def test_a_kill_at_any_moment_leaves_a_report_that_is_whole_or_recognized(tmp_path: Path) -> None:
    target, moments = tmp_path / "report", random.Random(1)
    for turn in range(5):
        with writer(target, 1000 * turn) as process:
            time.sleep(moments.uniform(0, 0.01))
            process.send_signal(signal.SIGKILL)
        assert manifest_and_changes(target)[1] == [INTERRUPTED] or word_of(target)
    write_report(target, "last")
    assert word_of(target) == "last"
    assert names_in(target) == {*OLD, INPUTS}


@contextmanager
def writer(target: Path, word: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that writes one report after the other, and wait for the first."""
    command = [sys.executable, "-c", WRITER, str(target), str(word)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


@pytest.mark.turns(4)
def test_two_writers_at_once_leave_the_report_of_one_of_them(tmp_path: Path) -> None:
    target = tmp_path / "report"
    with writer(target, 0) as one, writer(target, 10**6) as other:
        time.sleep(0.2)
        for process in (one, other):
            process.kill()
    write_report(tmp_path / "unused", "0")
    assert manifest_and_changes(target)[1] == [INTERRUPTED] or word_of(target)


def test_a_second_run_waits_for_the_one_that_is_under_way(tmp_path: Path) -> None:
    target = tmp_path / "report"
    begun, ended = threading.Event(), threading.Event()

    def slow() -> None:
        with folders.new_report(target) as work:
            begun.set()
            ended.wait()
            assert list(work.iterdir()) == []
            (work / INPUTS).write_text("versions: {slipstick: 1}")

    first = threading.Thread(target=slow)
    first.start()
    begun.wait()
    second = threading.Thread(target=write_report, args=(target, "second"))
    second.start()
    ended.set()
    first.join()
    second.join()
    assert word_of(target) == "second"


def test_files_and_names_are_stored_before_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A loss of power leaves one of the states between two of these.
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def record_sync(handle: int) -> None:
        done.append(f"store {Path(os.readlink(f'/proc/self/fd/{handle}')).name}")
        sync(handle)

    def record_move(old: Path, new: Path) -> None:
        done.append(f"move {Path(old).name} to {Path(new).name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_move)
    write_report(tmp_path / "report", "new", ("0.txt", "1.txt"))
    assert sorted(done[:3]) == ["store 0.txt", "store 1.txt", f"store {INPUTS}"]
    assert done[3:] == [
        f"store {WORK}",
        f"move {INPUTS} to {READY}",
        f"store {WORK}",
        "move 0.txt to 0.txt",
        "move 1.txt to 1.txt",
        "store report",
        f"move {READY} to {INPUTS}",
        "store report",
    ]


# Places


@pytest.mark.parametrize("through", ["name", "dot", "link"])
def test_the_folder_itself_stays(
    through: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    (tmp_path / "link").symlink_to("report")
    monkeypatch.chdir(target)
    place = {"name": target, "dot": Path(), "link": tmp_path / "link"}[through]
    write_report(place, "new", NEW)
    Path("new.txt").write_text("the current folder is still this one")
    assert names_in(target) == {*NEW, INPUTS, "new.txt"}
    assert (tmp_path / "link").is_symlink()


def test_a_mounted_folder_is_written(other_device: Path) -> None:
    with mounted(other_device):
        (other_device / "mine").write_text("mine")
        write_report(other_device, "old")
        write_report(other_device, "new", NEW)
        assert word_of(other_device) == "new"
        assert names_in(other_device) == {*NEW, INPUTS, "mine"}


def test_what_is_mounted_below_the_folder_stays_mounted_and_full(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    with mounted(target / "data") as done:
        (target / "data" / "mine").write_text("mine")
        write_report(target, "new")
        assert (target / "data").is_mount() is done
        assert (target / "data" / "mine").read_text() == "mine"
        assert names_in(tmp_path) == {"report"}


@pytest.mark.turns(4)
def test_what_other_programs_write_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    (target / "many").mkdir()
    for number in range(300):
        (target / "many" / str(number)).touch()
    logs, ended = 0, threading.Event()

    def log() -> None:
        nonlocal logs
        while not ended.is_set():
            (target / f"log.{logs}").write_text("x")
            logs += 1

    other = threading.Thread(target=log)
    other.start()
    for turn in range(20):
        write_report(target, str(turn))
    ended.set()
    other.join()
    assert logs
    assert names_in(target) == {*OLD, INPUTS, "many", *(f"log.{log}" for log in range(logs))}


def test_owners_and_permissions_stay(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    for path in (target, target / "0.txt", target / INPUTS):
        path.chmod(0o750 if path == target else 0o640)
        if os.getuid() == 0:
            os.chown(path, 1000, 1001)
    write_report(target, "new")
    for path in (target, target / "0.txt", target / INPUTS):
        state = path.stat()
        assert stat.S_IMODE(state.st_mode) == (0o750 if path == target else 0o640)
        if os.getuid() == 0:
            assert (state.st_uid, state.st_gid) == (1000, 1001)


def test_other_names_of_a_file_keep_the_earlier_report(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    os.link(target / "0.txt", tmp_path / "backup")
    write_report(target, "new")
    assert (tmp_path / "backup").read_text() == "old"


# Files of others with the same names


def test_a_file_that_no_report_wrote_is_refused_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "0.txt").write_text("mine")
    (tmp_path / "1.txt").write_text("mine")
    words = (
        f"{tmp_path} has 0.txt, 1.txt, which no report of slipstick wrote; choose another folder"
        " with --out, or write over it with --force"
    )
    with pytest.raises(InputError, match=f"^{re.escape(words)}$"):
        write_report(tmp_path, "new")
    assert names_in(tmp_path) == {"0.txt", "1.txt"}
    assert (tmp_path / "0.txt").read_text() == "mine"
    write_report(tmp_path, "new", force=True)
    assert word_of(tmp_path) == "new"


@pytest.mark.parametrize(
    "text", ["", "[1]", "files: {0.txt: drawn}", "versions: {mine: 1}", "{", "\x00"]
)
def test_a_manifest_of_another_program_lists_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / INPUTS).write_text(text)
    with pytest.raises(InputError, match=r"has inputs\.yaml, which no report"):
        write_report(tmp_path, "new")
    assert (tmp_path / INPUTS).read_text() == text


def test_a_manifest_lists_files_of_its_own_folder_only(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    (tmp_path / "outside.png").write_text("mine")
    listed = "{../outside.png: drawn, sub/inside.png: drawn, notes.txt: drawn, 7: 1, none.png: x}"
    (target / "sub").mkdir()
    for name in ("sub/inside.png", "notes.txt"):
        (target / name).write_text("mine")
    (target / INPUTS).write_text(f"versions: {{slipstick: 1}}\nfiles: {listed}\n")
    write_report(target, "new", ("a.txt",))
    assert (tmp_path / "outside.png").exists()
    assert {"sub", "notes.txt"} < names_in(target)
    assert names_in(target / "sub") == {"inside.png"}


def test_a_pipe_in_the_place_of_the_manifest_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / INPUTS)
    assert manifest_and_changes(tmp_path) == ({}, [])
    with pytest.raises(InputError, match="is a device"):
        write_report(tmp_path, "new")


def test_a_link_in_the_place_of_a_file_is_refused_and_what_it_names_stays(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_report(target, "old")
    (tmp_path / "mine").write_text("mine")
    (target / "0.txt").unlink()
    (target / "0.txt").symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match=r"has 0\.txt, which no report"):
        write_report(target, "new")
    write_report(target, "new", force=True)
    assert (tmp_path / "mine").read_text() == "mine"
    assert word_of(target) == "new"


@pytest.mark.parametrize("name", ["0.txt", WORK])
@pytest.mark.parametrize("kind", ["folder", "file", "link", "pipe"])
def test_what_cannot_be_replaced_is_refused_even_if_forced(
    name: str, kind: str, tmp_path: Path
) -> None:
    target = tmp_path / "report"
    target.mkdir()
    (tmp_path / "other").mkdir()
    path = target / name
    make: dict[str, Callable[[], None]] = {
        "folder": path.mkdir,
        "file": path.touch,
        "link": lambda: path.symlink_to(tmp_path / "other"),
        "pipe": lambda: os.mkfifo(path),
    }
    make[kind]()
    if kind in ({"folder"} if name == WORK else {"file", "link"}):
        write_report(target, "new", force=True)
        assert word_of(target) == "new"
    else:
        with pytest.raises(
            InputError,
            match=r"is (a folder|no folder|a device), and the report has a (file|folder) of this"
            " name; choose another folder with --out",
        ):
            write_report(target, "new", force=True)
        assert names_in(target) == {name}


def test_the_root_and_home_folders_are_refused_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder, kind in (("/", "the root folder"), (str(tmp_path), "a home folder")):
        words = f"{folder} is {kind}; name a folder inside with --out, or allow it with --force"
        with pytest.raises(InputError, match=f"^{words}$"):
            check_folder(Path(folder), ())
        check_folder(Path(folder), (), force=True)
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(InputError, match="is the root folder"):
        check_folder(tmp_path / "link", ())
    check_folder(tmp_path / "report", ())
    check_folder(tmp_path / "deep" / "report", ("0.txt",))


# Disks


def test_a_full_disk_leaves_the_old_report(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k") as done:
        target = tmp_path / "disk" / "report"
        write_report(target, "old")
        if done:
            with pytest.raises(OSError, match="No space left"):
                write_report(target, "new" * 50_000)
            assert word_of(target) == "old"
            assert names_in(target) == {*OLD, INPUTS}
            subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
            with pytest.raises(OSError, match="Read-only"):
                write_report(target, "new")
        assert word_of(target) == "old"


@pytest.mark.parametrize("fails", range(1, 5))
def test_a_disk_that_fails_on_the_way_leaves_a_report_that_the_next_run_completes(
    fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(tmp_path / "report", "old")
    moves, replace = 0, os.replace

    def failing(old: Path, new: Path) -> None:
        nonlocal moves
        moves += Path(old).name != INPUTS
        if moves == fails:
            raise OSError(errno.EIO, "Input/output error", str(old))
        replace(old, new)

    monkeypatch.setattr(os, "replace", failing)
    words = (
        "Input/output error (the run that wrote it was ended before all files were in place; the"
        " next run completes it)"
    )
    with pytest.raises(OSError, match=re.escape(words)) as raised:
        write_report(tmp_path / "report", "new", NEW)
    assert Path(raised.value.filename).parent == tmp_path / "report"
    assert manifest_and_changes(tmp_path / "report")[1] == [INTERRUPTED]
    monkeypatch.undo()
    write_report(tmp_path / "report", "last", ("0.txt",))
    assert names_in(tmp_path / "report") == {"0.txt", INPUTS}


def test_a_place_that_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    with pytest.raises(OSError, match=r"exists|directory"):
        write_report(tmp_path / "file" / "report", "new")
    assert names_in(tmp_path) == {"file"}


# Single files


def test_a_single_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_whole(path, "old")
    path.chmod(0o640)
    with pytest.raises(OSError, match="No space"):
        write_a_part(path)
    assert (path.read_text(), names_in(tmp_path)) == ("old", {"page.html"})
    write_whole(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)


def write_a_part(path: Path) -> None:
    """Fail where the disk is full."""
    with replacement_file(path) as work:
        work.write_text("ne")
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full") as raised, replacement_file(tmp_path / "page.html"):
        raise OSError(errno.ENOSPC, "full")
    assert raised.value.filename == str(tmp_path / "page.html")
    with pytest.raises(FileNotFoundError) as raised:
        write_whole(tmp_path / "none" / "page.html", "text")
    assert raised.value.filename == str(tmp_path / "none" / "page.html")


def test_a_single_file_is_written_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/page.html")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "real" / "page.html").read_text() == "text"
    assert (tmp_path / "link").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    read = list[str]()
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "text")
    reader.join()
    assert read == ["text"]
