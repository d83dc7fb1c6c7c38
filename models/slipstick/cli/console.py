"""What the commands share: options, and how a JSON document is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from slipstick.errors import Problem, SpecError

if TYPE_CHECKING:
    from slipstick.schema.text import Node, Scalar


DONE, NO_ANSWER = 0, 1


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option that asks for JSON."""
    option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    return option(command)


def set_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option that sets values by path."""
    words = "Set a value by its path; may be given several times."
    return click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help=words)(command)


def print_json(document: dict[str, Any]) -> None:
    """Print the one JSON document of a command that did not refuse its input."""
    from slipstick import __version__

    click.echo(json.dumps({"slipstick": __version__, **document, "problems": []}, allow_nan=False))


def plain_problems(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Lay problems out for JSON."""
    keys = ("file", "line", "column", "path", "message")
    return [{key: getattr(each, key) for key in keys} for each in problems]


def text_node(text: str, place: str) -> Scalar:
    """Give a text from the command line as a value of a spec; `place` is the option, or what an argument is called."""
    from slipstick.schema.text import Mark, Scalar

    return Scalar(text, text, Mark(place, 0, 0), quoted=True)


def nodes_of(changes: Sequence[str]) -> dict[str, Node]:
    """Read ``path=value`` by the rules of a spec."""
    from slipstick.schema.text import read_value

    nodes = {}
    for change in changes:
        path, equals, value = change.partition("=")
        if not (path and equals):
            raise SpecError([Problem(f"--set {change}", 1, 1, "", "write PATH=VALUE, such as parts=3")])
        nodes[path.strip()] = read_value(value.strip(), f"--set {path.strip()}")
    return nodes
