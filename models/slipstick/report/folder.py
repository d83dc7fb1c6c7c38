"""The folder of a report, of which only the files of reports are touched.

Its manifest, inputs.yaml, lists the files of the report with their hashes and is put in place last.
A new report is made in a folder of its own name inside. When it is complete and stored, its
manifest is renamed to `READY`; from then on its files are moved over those of the earlier report
one by one. A process that is killed before leaves the earlier report, one that is killed after
leaves `READY`, by which the next run completes the report and `slipstick status` recognizes it.

Files of others stay, with everything the folder is: a mounted one, the current one, one of another
owner. The folder is not exchanged as a whole, for what another program writes there in the meantime
would be lost, and what is mounted there would be emptied.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from slipstick.errors import InputError
from slipstick.files import flush_to_disk, keep_owner, lock_folder, without_links

INPUTS = "inputs.yaml"
"""The manifest: what the report was made from, and its files."""

WORK = ".slipstick-report"
"""The folder inside in which a report is made."""

READY = ".ready"
"""The manifest of a report that is complete and may be in part in its place."""

MOST_EARLIER = 1024 * 1024
"""The number of characters of an earlier manifest that are read."""

SETTINGS = "settings"
"""The key of a manifest from which on it has the inputs, which may be long and are not read
again.
"""

INTERRUPTED = (
    "the run that wrote it was ended before all files were in place; the next run completes it"
)
_DRAWN_ENDINGS = (".png", ".svg", ".html")
_NAMES_SHOWN = 3


@contextmanager
def new_report(folder: Path, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill. When the body ends without an error, the files in it replace
    the files of the earlier report.

    Two runs at once follow one another where the system has locks of folders. Files keep the owner
    and the permissions of those that they replace, where the system permits. Files of the earlier
    report that the new one does not have are removed, unless they have been changed.

    Parameters
    ----------
    folder : of the report; it is made if it is not there
    force : as for `check_folder`

    Raises
    ------
    InputError : a file of the same name is not of a report; the folder is as it was
    OSError : nothing can be written there; the folder is as it was, or the next run completes it
    """
    report_folder = without_links(folder)
    check_folder(folder, (), force)
    existed_before = report_folder.exists()
    report_folder.mkdir(parents=True, exist_ok=True)
    work_folder = report_folder / WORK
    try:
        with _locked_folder(work_folder):
            # A run was killed while it moved its files: they are complete, so they are moved before
            # a new report is made.
            if (work_folder / READY).exists():
                _move_report(work_folder, report_folder, force)
            _remove_files(work_folder)
            try:
                yield work_folder
                file_names = [path.name for path in work_folder.iterdir()]
                # Only now are the names of all files known; another program may have written
                # meanwhile.
                check_folder(report_folder, file_names, force)
                # All contents reach the disk before the rename that declares the report complete,
                # so that a loss of power cannot leave a complete report of empty files.
                for path in (*work_folder.iterdir(), work_folder):
                    flush_to_disk(path)
                # Without a manifest, the next run would not recognize the files as those of a
                # report.
                assert read_manifest(work_folder)
                os.replace(work_folder / INPUTS, work_folder / READY)
                flush_to_disk(work_folder)
            except BaseException:
                _remove_files(work_folder)
                raise
            _move_report(work_folder, report_folder, force)
    finally:
        if not existed_before:
            with suppress(OSError):  # unless there is something in it
                report_folder.rmdir()


def check_folder(folder: Path, names: Collection[str], force: bool = False) -> None:
    """Refuse a folder that a report may not be written to.

    Parameters
    ----------
    folder : of a report; it may not be there yet
    names : of the files to write
    force : allow the root folder and home folders, and write over files that are of no report

    Raises
    ------
    InputError : it is the root or a home folder, or has a file of one of these names that no
        manifest lists, or a folder of this name
    """
    report_folder = without_links(folder)
    if (protected_kind := _protected_kind(report_folder)) and not force:
        raise InputError(
            f"{folder} is {protected_kind}; name a folder inside with --out, or allow it with"
            " --force"
        )
    manifest = read_manifest(report_folder)
    own_names = {*listed_files(manifest), INPUTS} if manifest else {}
    foreign_names = []
    for name in sorted({*names, WORK}):
        path = report_folder / name
        with suppress(FileNotFoundError, NotADirectoryError):
            file_mode = path.lstat().st_mode
            if stat.S_ISDIR(file_mode) != (name == WORK) or not _is_replaceable(file_mode):
                raise InputError(
                    f"{folder / name} is {_kind_of_file(file_mode)}, and the report has a"
                    f" {'folder' if name == WORK else 'file'} of this name; choose another folder"
                    " with --out"
                )
            # A link is never taken for a file of a report: writing through it would change a file
            # elsewhere.
            if name != WORK and (name not in own_names or stat.S_ISLNK(file_mode)):
                foreign_names.append(name)
    if foreign_names and not force:
        names_in_words = ", ".join(foreign_names[:_NAMES_SHOWN])
        other_count_text = (
            f" and {len(foreign_names) - _NAMES_SHOWN} more"
            if len(foreign_names) > _NAMES_SHOWN
            else ""
        )
        raise InputError(
            f"{folder} has {names_in_words}{other_count_text}, which no report of slipstick wrote;"
            " choose another folder with --out, or write over it with --force"
        )


def _is_replaceable(file_mode: int) -> bool:
    return stat.S_ISREG(file_mode) or stat.S_ISDIR(file_mode) or stat.S_ISLNK(file_mode)


def _kind_of_file(file_mode: int) -> str:
    return (
        "a folder"
        if stat.S_ISDIR(file_mode)
        else "no folder"
        if _is_replaceable(file_mode)
        else "a device"
    )


def _protected_kind(folder: Path) -> str:
    """Return the kind of a folder that a report should not be written to, such as a home folder;
    empty for others.
    """
    if folder == Path(folder.anchor):
        return "the root folder"
    home_folders = []
    with suppress(RuntimeError):
        home_folders.append(Path.home())
    with suppress(ImportError, AttributeError, KeyError, OSError):
        import pwd

        # Where another user runs the program, such as root, the home folder of the folder's owner
        # counts too.
        home_folders += [
            Path(pwd.getpwuid(user_id).pw_dir) for user_id in (os.getuid(), folder.stat().st_uid)
        ]
    return "a home folder" if folder in map(Path, map(os.path.realpath, home_folders)) else ""


@contextmanager
def _locked_folder(work_folder: Path) -> Iterator[None]:
    """Create the temporary folder of a report and lock it for this process. It is removed at the
    end unless files remain in it.
    """
    folder_handle: int | None = None
    while True:
        # Another process may hold the folder; the lock below waits for it.
        with suppress(FileExistsError):
            work_folder.mkdir()
        with suppress(FileNotFoundError):  # the run that was waited for has removed it
            folder_handle = lock_folder(work_folder, wait=True)
            # The lock may be that of a folder which another run has removed and made anew since.
            if folder_handle is None or os.path.samestat(
                os.fstat(folder_handle), work_folder.lstat()
            ):
                break
        if folder_handle is not None:
            os.close(folder_handle)
    try:
        yield
    finally:
        with suppress(OSError):
            work_folder.rmdir()
        if folder_handle is not None:
            os.close(folder_handle)


def _remove_files(work_folder: Path) -> None:
    """Remove the files that a killed run left."""
    for path in work_folder.iterdir():
        path.unlink()


def _move_report(work_folder: Path, report_folder: Path, force: bool) -> None:
    """Move the files of a complete report over the files of the earlier one, the manifest last."""
    file_names = sorted(path.name for path in work_folder.iterdir() if path.name != READY)
    check_folder(report_folder, [*file_names, INPUTS], force)
    earlier_hashes, new_hashes = (
        listed_files(read_manifest(manifest_path))
        for manifest_path in (report_folder / INPUTS, work_folder / READY)
    )
    for name in file_names:
        _move_file(work_folder / name, report_folder / name)
    # Files of the earlier report that the new one lacks, such as a picture removed from the study,
    # would seem to belong to it.
    for name in earlier_hashes.keys() - new_hashes.keys():
        if _is_unchanged(report_folder / name, earlier_hashes[name]):
            (report_folder / name).unlink()
    flush_to_disk(report_folder)
    # The manifest comes last: until then a reader sees that the report was interrupted.
    _move_file(work_folder / READY, report_folder / INPUTS)
    flush_to_disk(report_folder)


def _move_file(new_file: Path, old_file: Path) -> None:
    """Move a file to its place in the report; an error names that place."""
    try:
        keep_owner(old_file, new_file)
        os.replace(new_file, old_file)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({INTERRUPTED})", str(old_file)) from None


def _is_unchanged(path: Path, listed_hash: str) -> bool:
    """Return whether a file is still as a report wrote it. Pictures, whose bytes depend on
    libraries, are compared by name only.
    """
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode) and digest(path) == listed_hash
    return False


def digest(path: Path) -> str:
    """Return the hash of a text file, "missing" for an absent or empty file, and "drawn" for
    pictures and pages with pictures, whose bytes depend on libraries.

    Parameters
    ----------
    path : of the file
    """
    if not path.is_file() or not path.stat().st_size:
        return "missing"
    # Fonts and versions of the drawing library change the bytes of a picture without a change of
    # results.
    return "drawn" if path.suffix in _DRAWN_ENDINGS else sha256(path.read_bytes()).hexdigest()


def manifest_and_changes(folder: Path) -> tuple[Mapping[str, Any], list[str]]:
    """Return the manifest of a report, and a line of text for each file that differs from the
    manifest.

    Parameters
    ----------
    folder : of the report; both are empty of one without
    """
    ready_path = folder / WORK / READY
    if ready_path.exists():
        return read_manifest(ready_path), [INTERRUPTED]
    manifest = read_manifest(folder / INPUTS)
    return manifest, [
        f"{name} is not as it was written"
        for name, listed_hash in listed_files(manifest).items()
        if digest(folder / name) != listed_hash
    ]


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Read the manifest of a report; empty if the file is missing or is not the manifest of a
    report.

    Parameters
    ----------
    path : of the file, or of its folder
    """
    import yaml

    file_path = path / INPUTS if path.is_dir() else path
    if not file_path.is_file():
        return {}
    try:
        with file_path.open(encoding="utf-8") as file:
            # The settings at the end may be long and are not needed.
            manifest_text = f"\n{file.read(MOST_EARLIER)}".partition(f"\n{SETTINGS}:")[0]
        # All that is needed of it is text; what else YAML knows, such as merging, may take without
        # end.
        manifest = yaml.load(manifest_text, Loader=yaml.BaseLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    versions = manifest.get("versions") if isinstance(manifest, dict) else None
    return manifest if isinstance(versions, dict) and "slipstick" in versions else {}


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes of the files of a report by their names, without its manifest.

    Parameters
    ----------
    manifest : as `read_manifest` returns it
    """
    files = manifest.get("files")
    names_and_hashes = files.items() if isinstance(files, dict) else ()
    return {name: str(hash_text) for name, hash_text in names_and_hashes if _is_plain_name(name)}


def _is_plain_name(name: object) -> bool:
    """Return whether a name is the name of a file directly in the report's folder."""
    # A manifest can be edited by hand: a name with a folder in it could make a run remove files
    # elsewhere.
    reserved_names = (INPUTS, WORK, READY, "..")
    return isinstance(name, str) and Path(name).name == name and name not in reserved_names
