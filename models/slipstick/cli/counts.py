"""The command that counts what a program makes a shared memory do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from slipstick.cli.console import DONE, json_option, nodes_of, print_json, set_option
from slipstick.errors import Problem, SpecError

__all__ = ["counts"]


@click.command()
@click.argument("program")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write. [standard output]")
@set_option
@json_option
def counts(program: str, out: Path | None, changes: Sequence[str], as_json: bool) -> int:
    """Run PROGRAM through the protocol and write its counts: sor, is, barnes, sphere, water, raytrace.

    Parameters are set by name, as `slipstick show dvsm/sor` lists them; processors and page, in bytes, as well.

    \b
    Examples:
      slipstick counts sor --set rows=2000 --set columns=1000 --out my-sor.yaml
      slipstick counts barnes --set bodies=16384 --set steps=12 --set processors=16
    """
    import yaml

    from slipstick.program.application.shipped import counted

    parameters = _parameters(changes)
    document = {**_head(program, parameters), **counted(program, **parameters).to_dict()}
    if as_json:
        print_json({"counts": document})
        return DONE
    text = yaml.safe_dump(document, default_flow_style=None, sort_keys=False, width=110)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text)
    return DONE


def _head(program: str, parameters: Mapping[str, float]) -> dict[str, Any]:
    """Say how the counts were made."""
    from slipstick import __version__
    from slipstick.program.application.shipped import SHIPPED

    told = ", ".join(f"{name} {value!r}" for name, value in parameters.items()) or "as by default"
    command = " ".join(
        ["slipstick counts", program, *(f"--set {name}={value!r}" for name, value in parameters.items())]
    )
    title = SHIPPED[program].title if program in SHIPPED else program
    return {"counts": 1, "title": f"{title} ({told})", "command": command, "version": __version__}


def _parameters(changes: Sequence[str]) -> dict[str, float]:
    """Read parameters, which are plain numbers."""
    found, problems = {}, []
    for name, node in nodes_of(changes).items():
        value = getattr(node, "value", None)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            mark = node.mark
            problems.append(Problem(mark.file, mark.line, mark.column, name, "write a plain number, such as 1000"))
        else:
            found[name] = value
    if problems:
        raise SpecError(problems)
    return found
