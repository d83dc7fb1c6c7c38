"""A folder that is replaced as a whole: the old one or the new one, also where the process is
killed at any moment.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SWAP, _HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux


@contextmanager
def replaced(folder: Path, own: Callable[[], Collection[str]]) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes the place of `folder` in one step when the body ends,
    and not if it fails.

    On Linux the two are exchanged by one system call, so that a reader, a second run at the same
    time, or a process that is killed leaves one of them whole. Where that call is not there, and
    for a folder that cannot be moved, such as a mounted one, files are moved one by one. Files of
    the user that lie in the folder stay; what a killed run left beside it goes.

    Parameters
    ----------
    folder : to be replaced, or made
    own : names of the files of an earlier run, which go

    Raises
    ------
    OSError : nothing can be written there; the folder is as it was
    """
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    _clear(target)
    beside = os.access(target.parent, os.W_OK)
    work = (target.parent if beside else target) / f".{target.name}-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    with _held(work):
        try:
            yield work
            made = [path.name for path in work.iterdir()]
            for path in (*work.iterdir(), work):
                _store(path)
            if not (beside and _moved(work, target, {*made, *own()})):
                _one_by_one(work, target, made, own())
            _store(target.parent if beside else target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _moved(work: Path, target: Path, ours: Collection[str]) -> bool:
    """Put the folder in its place in one step; false where the system has no such step."""
    if not target.exists():
        with suppress(OSError):  # another run may have made it meanwhile
            os.rename(work, target)
            return True
    if target.exists():
        shutil.copytree(
            target,
            work,
            symlinks=True,
            dirs_exist_ok=True,
            copy_function=_linked,
            ignore=lambda place, names: {*ours} if Path(place) == target else (),
        )
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    if exchange(_HERE, os.fsencode(work), _HERE, os.fsencode(target), _SWAP) == 0:
        return True
    if ctypes.get_errno() in (errno.ENOSYS, errno.EINVAL, errno.EBUSY, errno.EXDEV):
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))


def _linked(source: str, place: str) -> None:
    """Let a file of the user stand in both folders, without a copy where that can be."""
    try:
        os.link(source, place)
    except OSError:
        shutil.copy2(source, place)


def _one_by_one(work: Path, target: Path, made: Collection[str], own: Collection[str]) -> None:
    """Move files into their place; a reader may see some of each run meanwhile."""
    target.mkdir(exist_ok=True)
    for stale in {*own} - {*made}:
        (target / stale).unlink(missing_ok=True)
    for name in made:
        os.replace(work / name, target / name)


def _store(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder, before what comes next."""
    if path.is_dir() and os.name != "posix":
        return  # where a folder cannot be opened
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _held(work: Path) -> Iterator[None]:
    """Hold a folder while this process lives."""
    handle = locked(work)
    try:
        yield
    finally:
        if handle is not None and handle >= 0:
            os.close(handle)


def locked(folder: Path) -> int | None:
    """Lock a folder until its handle is closed: -1 where another process holds it, None where the
    system has no such lock.

    Parameters
    ----------
    folder : which is there
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return -1
    return handle


def _clear(target: Path) -> None:
    """Remove what killed runs left beside a folder, or in it."""
    for place in (target.parent, target):
        for left in place.glob(f".{target.name}-*") if place.is_dir() else ():
            if left.name.rpartition("-")[2].isdigit() and left.is_dir():
                handle = locked(left)
                if handle is not None and handle >= 0:
                    os.close(handle)
                    shutil.rmtree(left, ignore_errors=True)
