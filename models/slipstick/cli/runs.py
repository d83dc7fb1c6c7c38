"""What a run of a study is carried out with, and what is in the folder of one: engine, limits, kept points."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slipstick.cli.console import DONE, echo, json_option, limit_option, limits_of, nodes_of, print_json, with_options
from slipstick.errors import InputError, SlipstickError
from slipstick.limits import LIMITS, limit

if TYPE_CHECKING:
    from slipstick.schema.kinds.study import LimitsSpec, StudySpec
    from slipstick.study.engine import Engine
    from slipstick.study.journal import Journal, Kept

_ENGINE_OPTIONS = (
    click.option(
        "--jobs", type=click.IntRange(1, 256), envvar="SLIPSTICK_JOBS", help="Points to solve side by side. [1]"
    ),
    click.option(
        "--on",
        metavar="ENGINE",
        envvar="SLIPSTICK_ON",
        help="Where to solve them: threads, processes, mpi, or a Dask scheduler such as tcp://node1:8786. [threads]",
    ),
    limit_option(
        "What one point may take, such as time=60s or memory=2GB, or an estimated cost, such as states=1e6, see slipstick "
        "limits; a point that takes more has no answer.",
        callback=lambda context, _, values: limits_of(context, values),
    ),
    click.option("--fresh", is_flag=True, help="Solve every point, also those kept from an earlier run."),
)


def engine_options(command: Any) -> Any:
    """Give a command the options of an engine."""
    return with_options(_ENGINE_OPTIONS)(command)


def engine_of(spec: StudySpec, jobs: int | None, on: str | None, limits: LimitsSpec, journal: Journal) -> Engine:
    """Make the engine that the command line, the environment or the study names, in this order.

    Raises
    ------
    InputError : there is no such engine
    """
    from slipstick.study.engine import Engine, Limits

    time, memory = limits.time or spec.limits.time, limits.memory or spec.limits.memory
    most = Limits(time.value if time else None, memory.value if memory else None)
    return Engine(on or spec.engine.on, jobs or spec.engine.jobs, most, journal)


def can_be_written(folder: Path) -> None:
    """Refuse a place that is read-only before anything is solved for it; raises OSError."""
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not os.access(place, os.W_OK):
        raise OSError(None, "nothing can be written there", str(place))


@click.command()
@json_option
def limits(as_json: bool) -> int:
    """Say what a request may cost, and how to allow more.

    \b
    Examples:
      slipstick limits
      slipstick solve bolch-8-4 --with markov-chain --limit states=1e6
    """
    if as_json:
        print_json({"limits": {name: {"value": limit(name), "counts": each.counts} for name, each in LIMITS.items()}})
        return DONE
    from slipstick.report.formatting import plain_table

    rows = [[name, f"{each.value:,.0f}", each.counts, each.cost] for name, each in LIMITS.items()]
    click.echo(plain_table(["limit", "at most", "of what", "rough estimate"], rows))
    click.echo(
        "\nA cost is estimated first, and refused above its limit. --limit NAME=VALUE allows more, as do limits: in a study"
    )
    click.echo(
        "and limits= in Python. In a study time and memory of a point have limits as well, where they are given."
    )
    return DONE


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def status(folder: Path, as_json: bool) -> int:
    """Say what is in FOLDER: the report of which study, whether it is up to date, and points kept of a run.

    \b
    Examples:
      slipstick status reports/dvsm-what-if
    """
    from slipstick.report.write import written
    from slipstick.study.journal import kept_in

    (report, damaged), kept = written(folder), kept_in(folder)
    command = str(report.get("command") or kept.about.get("command", ""))
    if not command:
        raise InputError(f"there is no report in {folder}, and no points of one")
    stale = [f"{name} is not as it was written" for name in damaged] if report else []
    points, unread = None, ""
    try:
        points, changes = _now(kept.about.get("command") or command, kept.about.get("started in", ""), report)
        stale += changes
    except (SlipstickError, OSError) as error:
        unread = str(error).splitlines()[0]
    if as_json:
        found = {"command": command, "report": bool(report), "stale": stale, "unread": unread or None}
        print_json({**found, "points": points, "kept": kept.points, "failed": kept.failed, "running": kept.running})
        return DONE
    _tell(folder, command, report, stale, unread)
    _tell_points(kept, points)
    return DONE


def _now(command: str, folder: str, report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Read the study again: its number of points, and what is not as in the report."""
    from slipstick.study.run import prepare, versions

    words = shlex.split(command)[2:]
    changes = [word for word in words[1:] if word != "--set"]
    study = (
        words[0]
        if not folder or ("/" not in words[0] and not words[0].endswith(".yaml"))
        else os.path.join(folder, words[0])
    )
    prepared = prepare(study, nodes_of(changes))
    found: list[str] = []
    if report:
        for what, now in (("file", prepared.hashes), ("version", versions())):
            then = report.get("hashes" if what == "file" else "versions") or {}
            for name in dict.fromkeys([*then, *now]):
                if name not in now or name not in then:
                    found.append(f"{what} {name} is {'new' if name in now else 'read no longer'}")
                elif str(then[name]) != str(now[name]):
                    found.append(f"{what} {name} has changed")
    return prepared.points, found


def _tell(folder: Path, command: str, report: Mapping[str, Any], stale: Sequence[str], unread: str) -> None:
    if not report:
        echo(f"{folder} has no report yet; its run was: {command}")
    elif unread:
        echo(f"{folder} has the report of: {command}")
        echo(f"whether it is up to date is not known from this folder: {unread}")
    elif stale:
        echo(f"{folder} has an earlier report of: {command}\n" + "\n".join(f"- {why}" for why in stale))
    else:
        echo(f"{folder} is up to date: {command}")


def _tell_points(kept: Kept, points: int | None) -> None:
    if not kept.points:
        return
    whole = f" of {kept.about.get('points', points)}"
    failed = f", {kept.failed} of them without an answer" if kept.failed else ""
    echo(f"{kept.points}{whole} points are kept{failed}; a run solves those that are missing or have changed")
    if kept.running:
        echo("a run is under way")
