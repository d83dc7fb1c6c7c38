"""What the commands share: options, and how a JSON document is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import click

from slipstick.errors import Problem

__all__ = ["DONE", "NO_ANSWER", "json_option", "plain_problems", "print_json"]

DONE, NO_ANSWER = 0, 1


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option that asks for JSON."""
    option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    return option(command)


def print_json(document: dict[str, Any]) -> None:
    """Print the one JSON document of a command that did not refuse its input."""
    from slipstick import __version__

    click.echo(json.dumps({"slipstick": __version__, **document, "problems": []}, allow_nan=False))


def plain_problems(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Lay problems out for JSON."""
    keys = ("file", "line", "column", "path", "message")
    return [{key: getattr(each, key) for key in keys} for each in problems]
