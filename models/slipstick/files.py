"""Files on disk: written whole or not at all, with the owner of the file that they replace, and
folders that one process holds.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacement_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`, which replaces `path` when the body ends and
    is removed if the body fails.

    A link is followed; what is no plain file, such as a pipe or ``/dev/stdout``, is written
    directly.

    Parameters
    ----------
    path : the file

    Raises
    ------
    OSError : nothing can be written there; it names `path`, which is as it was
    """
    resolved_file = without_links(path)
    # A device or a pipe cannot be replaced.
    if resolved_file.exists() and not resolved_file.is_file():
        yield resolved_file
        return
    # In the same folder, since a rename replaces a file at once only within one file system.
    temporary_file = resolved_file.with_name(f".slipstick-{uuid4().hex[:12]}{resolved_file.suffix}")
    try:
        # The errors of the system name what is wrong with the folder; those of libraries may not.
        temporary_file.touch()
        yield temporary_file
        keep_owner(resolved_file, temporary_file)
        flush_to_disk(temporary_file)
        # In one step: a reader sees the old file or the new one, never a part.
        os.replace(temporary_file, resolved_file)
    except OSError as error:
        # The name of the temporary file tells a reader nothing.
        if error.filename in (None, str(temporary_file)):
            error.strerror = error.strerror or str(error).replace(str(temporary_file), str(path))
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            temporary_file.unlink(missing_ok=True)


def without_links(path: Path) -> Path:
    """Return the place to which a path leads; raise OSError if its links lead in a circle."""
    resolved_path = Path(os.path.realpath(path))
    if resolved_path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return resolved_path


def write_whole(path: Path, text: str) -> None:
    """Write a text as UTF-8 into a file: the whole text or nothing.

    Parameters
    ----------
    path : the file
    text : what it then holds

    Raises
    ------
    OSError : nothing can be written there; it names the file, which is as it was
    """
    with replacement_file(path) as temporary_file:
        temporary_file.write_bytes(text.encode())


def keep_owner(old_file: Path, new_file: Path) -> None:
    """Copy owner, group and permissions of a file to its replacement, as far as the system permits.

    Parameters
    ----------
    old_file : the file to be replaced; nothing is done where it is no plain file
    new_file : the file that replaces it
    """
    with suppress(OSError, AttributeError):  # another owner, or a system without owners
        old_status = old_file.lstat()
        if stat.S_ISREG(old_status.st_mode):
            # Before the owner changes: afterwards it may not be allowed.
            os.chmod(new_file, stat.S_IMODE(old_status.st_mode))
            os.chown(new_file, old_status.st_uid, old_status.st_gid)


def flush_to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk.

    Parameters
    ----------
    path : of the file or the folder
    """
    is_folder = path.is_dir()
    if is_folder and os.name != "posix":
        return  # where a folder cannot be opened
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if not (is_folder and error.errno in (errno.EINVAL, errno.ENOTSUP)):
            raise  # some network file systems store names at once and refuse the call
    finally:
        os.close(handle)


def lock_folder(folder: Path, wait: bool = False) -> int | None:
    """Lock a folder until the returned handle is closed; -1 if another process holds the lock, None
    if the system or the disk has no such lock.

    Parameters
    ----------
    folder : an existing folder
    wait : whether to wait until the other process ends its lock
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        # The system frees the lock when the process ends, however it ends; a file of its own would
        # stay.
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        return -1
    except OSError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle
