"""Text to nodes: strict YAML, and every problem of a file in one error.

`read_file` and `read_text` read a spec, `read_value` one value from the command line. Plain values
mean what the YAML 1.2 core schema says; what could be taken for something else (``017``), could not
be a quantity (``.nan``) or would make a small file large (anchors, merge keys) is refused by name.

Why this shape: whatever a file holds, the answer is a tree or a SpecError, at once. So what a file is and
how large is asked before it is read; `builder` makes the tree, `scalars` knows what plain text means.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn

from slipstick.errors import Problem, SpecError
from slipstick.schema.text.builder import build, place
from slipstick.schema.text.nodes import Mark, Node, Scalar, Table

__all__ = ["file_text", "read_file", "read_text", "read_value", "shown_name"]

MOST_BYTES = 1024 * 1024
_ADVICE = "split the file, use `extends:`"


def read_file(path: Path | str) -> Node:
    """Read a spec from a file of at most 1 MiB of UTF-8 text.

    Raises SpecError with all problems found; a file that is not there is one, too.
    """
    return read_text(file_text(path), shown_name(path))


def file_text(path: Path | str, most: int = MOST_BYTES, advice: str = _ADVICE) -> str:
    """Read the text of a regular file.

    Parameters
    ----------
    path : the file
    most : largest size that is read [B]
    advice : what to do with a larger one

    Raises
    ------
    SpecError : no such file, a device, too large, or not UTF-8
    """
    start = Mark(shown_name(path), 1, 1)
    return _decoded(_content(path, start, most, advice), start)


def shown_name(path: Path | str) -> str:
    """Name a file as problems do: in signs that can be printed.

    >>> shown_name("runs\x07.csv")
    "'runs\\\\x07.csv'"
    """
    name = str(path)
    return name if name.isprintable() else ascii(name)


def read_text(text: str, file: str) -> Node:
    """Read a spec from text; `file` is what problems are reported under.

    Raises SpecError with all problems found.

    >>> from slipstick.schema.text.nodes import plain
    >>> plain(read_text("stations: {cpu: {servers: 0x2, demand: 5 ms}}", "web.yaml"))
    {'stations': {'cpu': {'servers': 2, 'demand': '5 ms'}}}
    >>> read_text("servers: 017", "web.yaml")
    Traceback (most recent call last):
    slipstick.errors.SpecError: web.yaml:1:10: servers: '017' is ambiguous; write 17 or 0o17
    """
    root = read_value(text, file)
    if isinstance(root, Scalar) and root.text == "":
        _refuse(Mark(file, 1, 1), "there is nothing in it; begin with what it is, as in 'activity: 1'")
    if not isinstance(root, Table):
        _refuse(root.mark, "a spec is made of 'key: value' lines; begin with what it is, as in 'activity: 1'")
    return root


def read_value(text: str, file: str) -> Node:
    """Read one value as it would stand in a spec: ``3``, ``20 B``, ``[20 B, 4120 B]``.

    Raises SpecError with all problems found.

    >>> read_value("1e3", "--set cpu.servers").value
    1000.0
    """
    _check_size(len(text.encode("utf-8", "surrogatepass")), Mark(file, 1, 1))
    return build(text, file)


def _content(path: Path | str, start: Mark, most: int, advice: str) -> bytes:
    try:
        about = os.stat(path)
        if stat.S_ISDIR(about.st_mode):
            _refuse(start, "this is a directory; name a file in it")
        if not stat.S_ISREG(about.st_mode):
            _refuse(start, "this is a pipe or a device; only regular files are read")
        _check_size(about.st_size, start, most, advice)
        with open(path, "rb", opener=_without_waiting) as file:
            return file.read(most + 1) or b""
    except (FileNotFoundError, ValueError):  # ValueError: a NUL in the path
        _refuse(start, "there is no such file; check its name")
    except OSError as error:
        _refuse(start, f"the file cannot be read: {error.strerror}")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # some files of /proc would wait for ever


def _decoded(data: bytes, start: Mark) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        _refuse(
            place(before, len(before), start.file),
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8 text",
        )


def _refuse(mark: Mark, message: str) -> NoReturn:
    raise SpecError([Problem(mark.file, mark.line, mark.column, "", message)])


def _check_size(size: int, start: Mark, most: int = MOST_BYTES, advice: str = _ADVICE) -> None:
    if size > most:
        _refuse(start, f"{size:,} bytes are too many; at most {most:,} are read: {advice}")
