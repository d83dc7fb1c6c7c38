"""What the commands share: options, and how a text, a file and a JSON document are written."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.shell_completion import CompletionItem

from slipstick.errors import Problem, SpecError
from slipstick.files import write_whole
from slipstick.late import late_pattern
from slipstick.vocabulary import all_methods

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import LimitsSpec
    from slipstick.schema.text import Node, Scalar


DONE = 0
"""The exit status of a command that has succeeded."""
NO_ANSWER = 1
"""The exit status of a command whose model has no answer."""
FIRST_PROGRESS = 3
"""Time from which a command on a terminal says that it is working [s]."""


class WholeNumberRange(click.IntRange):
    """A whole number of an option, within limits."""

    name = "whole number"


_Function = TypeVar("_Function", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)
set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a value by its path; may be given several times.",
)
out_option = click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [standard output]",
)


def with_options(options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a decorator that adds options to a command; its help lists them in their order."""
    return lambda command: reduce(
        lambda decorated, option: option(decorated), reversed(options), command
    )


_COLOURS = {"error": "red", "no answer": "red", "warning": "yellow", "note": "yellow"}
_FIRST_WORD = late_pattern(rf"^({'|'.join(_COLOURS)})(?=:)", re.MULTILINE)
_CONTROLS = late_pattern("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def echo(text: str, err: bool = False) -> None:
    """Print a text; on a terminal the words that begin an error, a warning or a note have a
    colour, unless NO_COLOR is set. Control characters, as of a key or a file name, are escaped.
    """
    text = _CONTROLS.sub(lambda control_match: repr(control_match[0])[1:-1], text)
    if not os.environ.get("NO_COLOR"):
        text = _FIRST_WORD.sub(
            lambda word_match: click.style(word_match[0], fg=_COLOURS[word_match[0]], bold=True),
            text,
        )
    try:
        click.echo(text, err=err)  # which leaves the colours out where it prints to no terminal
    except OSError:
        if not err:
            raise
        discard(sys.stderr)  # where it takes nothing, the status alone tells what went wrong


def open_standard_streams() -> None:
    """Open standard input, output and error where the caller closed them, so that no other file
    takes their place and receives the messages.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            # The next file opened would get the number of the closed stream, and output would be
            # written into it.
            null_descriptor = os.open(os.devnull, os.O_RDWR)
            if null_descriptor != descriptor:
                os.dup2(null_descriptor, descriptor)
                os.close(null_descriptor)
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            mode = "w" if descriptor else "r"
            setattr(sys, name, open(descriptor, mode, errors="backslashreplace", closefd=False))  # noqa: SIM115  # open as long as the program runs


def discard(stream: IO[str]) -> None:
    """Redirect a standard stream that can no longer be written to, so that the interpreter does not
    fail when it flushes the stream at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def completion_function(
    kind: str,
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a function that completes file paths and names in a shell: the names of one kind of
    spec, of all models (``model``), of all specs (``spec``), or of the kinds themselves.
    """

    def completions_of(
        _context: click.Context, _parameter: click.Parameter, typed_text: str
    ) -> list[CompletionItem]:
        from slipstick.schema.library import KINDS, names_of_kind, spec_names

        kind_of_name, slash, _ = typed_text.partition("/")
        if kind == "kind":
            catalogue_names = [*KINDS, "program", "law"]
        elif kind in KINDS:
            catalogue_names = names_of_kind(kind)
        elif kind == "spec" and slash and kind_of_name in KINDS:
            catalogue_names = [f"{kind_of_name}/{name}" for name in names_of_kind(kind_of_name)]
        else:
            from slipstick.schema.inputs import model_names

            catalogue_names = [*model_names(), *(spec_names() if kind == "spec" else ())]
        # A shell completes files by itself only if no name fits, so they are added here.
        catalogue_names += [] if kind == "kind" else [path.name for path in Path().glob("*.y*ml")]
        completion_items = [
            CompletionItem(name)
            for name in dict.fromkeys(catalogue_names)
            if name.startswith(typed_text)
        ]
        return completion_items or [CompletionItem(typed_text, type="file")]

    return completions_of


def complete_methods(
    _context: click.Context, _parameter: click.Parameter, typed_text: str
) -> list[CompletionItem]:
    """Complete the last of several methods, separated by commas, in a shell."""
    complete_names, comma, last_name = typed_text.rpartition(",")
    methods = dict.fromkeys(name for name in all_methods() if name not in complete_names.split(","))
    return [
        CompletionItem(f"{complete_names}{comma}{name}")
        for name in methods
        if name.startswith(last_name)
    ]


def write_text(text: str, out: Path | None) -> int:
    """Print a text, or write it into a file completely and print the file's name."""
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        # Standard output stays empty, so that a pipe gets only what was asked for.
        echo(f"wrote {out}", err=True)
    return DONE


def print_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command whose input was accepted."""
    from slipstick import __version__

    # NaN is no JSON: other programs could not read the document.
    click.echo(json.dumps({"slipstick": __version__, **document, "problems": []}, allow_nan=False))


def plain_problems(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return problems as plain data for JSON."""
    problem_keys = ("file", "line", "column", "path", "message")
    return [{key: getattr(problem, key) for key in problem_keys} for problem in problems]


def text_node(text: str, option: str) -> Scalar:
    """Return a text of the command line as a scalar of a spec; `option` names the option or the
    argument in messages.
    """
    from slipstick.schema.text import Mark, Scalar

    # Quoted, so that a name such as 1e3 is not read as a number.
    return Scalar(text, text, Mark(option, 0, 0), quoted=True)


class ProgressLine:
    """A line on standard error that says for how long a command has worked, and how many points it
    has solved; none within a few seconds, or where standard error is no terminal.

    Parameters
    ----------
    total : number of points to solve; 0 where there are none to count
    """

    def __init__(self, total: int = 0) -> None:
        self._total = total
        self._done = 0
        self._has_ended = Event()
        self._thread = Thread(target=self._show, daemon=True)

    def __enter__(self) -> Callable[[int], None]:
        if sys.stderr.isatty():
            self._thread.start()
        return self._add

    def __exit__(self, *exception: object) -> None:
        self._has_ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _add(self, new_point_count: int) -> None:
        self._done += new_point_count

    def _show(self) -> None:
        seconds = 0
        while not self._has_ended.wait(1):
            seconds += 1
            if seconds >= FIRST_PROGRESS:
                points_text = (
                    f", {self._done:,} of {self._total:,} points" if self._total > 1 else ""
                )
                # The cursor stays at the start, so that the next message covers the line.
                sys.stderr.write(f"working for {seconds} s{points_text}\r")
                sys.stderr.flush()
        if seconds >= FIRST_PROGRESS:
            sys.stderr.write(" " * 60 + "\r")


def refuse(option: str, message: str) -> NoReturn:
    """Raise SpecError with a message about an option or argument."""
    raise SpecError([Problem(option, 1, 1, "", message)])


def limit_option(text: str, **option_settings: Any) -> Callable[[_Function], _Function]:
    """Build the option --limit, whose limits hold while the command runs."""
    return click.option(
        "--limit", "limits", multiple=True, metavar="NAME=VALUE", help=text, **option_settings
    )


def apply_limits(
    context: click.Context, limit_texts: Sequence[str], allow_point_limits: bool = True
) -> LimitsSpec:
    """Read limits; set the limits on costs for the running command, and return the limits on time
    and memory, which apply to the points of a study.

    Raises
    ------
    SpecError : there is no such limit, or it cannot be read
    """
    from slipstick.limits import LIMITS, with_limits
    from slipstick.schema.kinds.quantity import validate
    from slipstick.schema.kinds.study import LimitsSpec
    from slipstick.schema.text import Entry, Mark, Table

    try:
        entry_by_path = {
            path: Entry(node.mark, node) for path, node in nodes_of(limit_texts, "--limit").items()
        }
    except SpecError:
        refuse("--limit", "write NAME=VALUE, such as states=1e6 or time=60s")
    limits_spec: LimitsSpec = validate(LimitsSpec, Table(entry_by_path, Mark("--limit", 0, 0)))
    for name in () if allow_point_limits else entry_by_path.keys() - LIMITS.keys():
        refuse(
            "--limit", f"{name} is a limit of the points of a study; here are {', '.join(LIMITS)}"
        )
    # The limits end with the command: in tests and notebooks the process goes on.
    context.with_resource(with_limits(limits_spec.costs))
    return limits_spec


model_limit_option = limit_option(
    "Raise the limit of a cost, such as states=1e6; see slipstick limits.",
    expose_value=False,
    callback=lambda context, _, values: (
        apply_limits(context, values, allow_point_limits=False) if values else None
    ),
)


def nodes_of(changes: Sequence[str], option: str = "--set") -> dict[str, Node]:
    """Parse settings ``path=value`` of the command line by the rules of a spec; `option` names
    their option in messages.
    """
    from slipstick.schema.text import read_value

    node_by_path = {}
    for change in changes:
        # At the first sign of equality: values may contain others.
        path, equals, value = change.partition("=")
        if not (path and equals):
            refuse(f"{option} {change}", "write PATH=VALUE, such as parts=3")
        node_by_path[path.strip()] = read_value(value.strip(), f"{option} {path.strip()}")
    return node_by_path


folders_argument = click.argument(
    "folders",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
