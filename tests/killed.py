"""A report whose writer is killed before each of its operations on files, one after the other.

The program runs in a process of its own that has no threads, and forks itself for each operation: a
fork of a process with threads could wait for ever for what a thread holds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from slipstick.report.folder import INPUTS, INTERRUPTED, digest, manifest_and_changes, new_report

OLD, NEW, LAST = ("0.txt", "1.txt", "old.png"), ("0.txt", "1.txt", "new.csv"), ("0.txt",)
FOREIGN = "notes.txt"


def write_report(folder: Path, word: str, names: Sequence[str] = OLD, force: bool = False) -> None:
    """Write a report whose files all hold one word."""
    with new_report(folder, force) as work:
        for name in names:
            (work / name).write_text(word)
        files = {name: digest(work / name) for name in names}
        manifest = {"command": word, "versions": {"slipstick": "1"}, "files": files}
        (work / INPUTS).write_text(yaml.safe_dump(manifest))


def outcomes(folder: Path) -> list[str]:
    """Return what each kill left in a folder, and after it the next run: `wrong` with the reason,
    or one of `old`, `new` and `recognized`.
    """
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", f"from {__name__} import main; main()", str(folder)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
    found: list[str] = json.loads(printed)
    return found


def main() -> None:
    """Kill runs, look at their folders, and print what was left."""
    folder, found = Path(sys.argv[1]), list[str]()
    folder.mkdir()
    (folder / FOREIGN).write_text("mine")
    for step in range(1, 1000):
        write_report(folder, "old", OLD)
        killed = _killed_before(folder, step)
        state = _state(folder)
        write_report(folder, "last", LAST)
        after = sorted(path.name for path in folder.iterdir())
        if after != sorted([*LAST, INPUTS, FOREIGN]) or _state(folder) != "last":
            state = f"wrong: the run after it left {', '.join(after)}"
        if not killed:
            break
        found.append(state)
    sys.stdout.write(json.dumps(found))


def _killed_before(folder: Path, step: int) -> bool:
    """Write a report in a fork that ends itself before an operation; return whether it did."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    seen = 0

    def count(event: str, _: object) -> None:
        nonlocal seen
        if event != "os.kill" and event.startswith(("open", "os.", "shutil.", "fcntl.")):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        write_report(folder, "new", NEW)
    finally:
        os._exit(0)


def _state(folder: Path) -> str:
    """Return which report a folder holds, or that it is recognized as one in part."""
    manifest, stale = manifest_and_changes(folder)
    if stale:
        return "recognized" if stale == [INTERRUPTED] else f"wrong: {'; '.join(stale)}"
    words = {(folder / name).read_text() for name in manifest["files"]}
    return words.pop() if words == {manifest["command"]} else f"wrong: {words}"
