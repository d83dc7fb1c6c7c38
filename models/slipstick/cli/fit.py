"""The command that fits models to measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slipstick.cli.console import DONE, json_option, nodes_of, plain_problems, print_json, set_option, text_node
from slipstick.cli.measured import data_options, positive, read_data, refuse, whole

if TYPE_CHECKING:
    from slipstick.measure.fit.forms import Family

__all__ = ["fit"]

_OPTIONS = (
    click.option(
        "--model",
        "models",
        metavar="NAME,...",
        help="Families to fit, and at most one model: a name, or a file. [all families]",
    ),
    click.option("--free", metavar="PATH[=LOW..HIGH],...", help="Parameters of the model that are free."),
    click.option("--population", metavar="PATH", help="Number in the model that is the number of processors. [found]"),
    click.option("--size-of", "size_path", metavar="PATH", help="Number in the model that is the size of the problem."),
    click.option(
        "--cycles",
        type=click.IntRange(1),
        help="Cycles of the model in the measured work. [its time is the measured one]",
    ),
    click.option(
        "--with", "method", metavar="METHOD", help="Method that solves the model. [mean-value for an activity]"
    ),
    click.option("--at", "wanted", metavar="P,...", default="", help="Processors to predict the time for."),
    click.option(
        "--efficiency",
        metavar="E",
        default="75%",
        help="What the most processors keep, and the size needed gives. [75%]",
    ),
    click.option("--intervals", type=click.Choice(["bootstrap", "profile"]), help="[bootstrap; profile with --free]"),
    click.option("--seed", type=click.IntRange(0), default=1, help="Of the random streams of the bootstrap. [1]"),
    click.option(
        "--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the fits into a .png or .svg file."
    ),
)


def _options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@data_options
@_options
@set_option
@json_option
def fit(
    files: Sequence[Path],
    wanted: str,
    seed: int,
    efficiency: str,
    intervals: str | None,
    picture: Path | None,
    region: str | None,
    as_json: bool,
    **told: Any,
) -> int:
    """Fit models to measured times: how far the program scales, and how sure that is.

    FILE is read as by `slipstick measured`; every repetition counts. Families: amdahl, usl, queue-1, queue-2,
    phase-barrier, latency, power-log. A model of your own is fitted beside them, some of its parameters free.

    \b
    Examples:
      slipstick fit timings.csv --at 64,128 --picture fits.png
      slipstick fit experiment.json --unit s --model usl,queue-1 --at 64
      slipstick fit cycles.csv --model lock-and-bus --free parameters.work,parameters.critical=0.1ms..1s
    """
    from slipstick.measure.fit.answers import Intervals, fits
    from slipstick.measure.fit.timings import oddities, timings_of
    from slipstick.report.document import fitting_document
    from slipstick.report.pages.write import write_fits
    from slipstick.report.terminal.fits import fits_text
    from slipstick.report.terminal.measured import notes_text

    unused = {told.pop("statistic"), told.pop("timer")} - {"median", None}
    if unused:
        refuse("fit", "every repetition counts, as it was measured; leave out --statistic and --timer")
    p = [float(whole(word, "--at") or 1) for word in _words(wanted)]
    asked = {key: told.pop(key) for key in ("models", "free", "population", "size_path", "cycles", "method", "changes")}
    families = _families(**asked)
    runs = read_data(files, **told)
    timings, notes = timings_of(runs, region, positive(told["size"])), oddities(runs, region)
    by = intervals or ("profile" if asked["free"] else "bootstrap")
    found = fits(timings, families, p, Intervals(by, seed=seed), picture is not None, _goal(efficiency))
    if picture is not None:
        write_fits(found, picture, ", ".join(path.name for path in files))
    if as_json:
        print_json({**fitting_document(found), "notes": plain_problems(notes)})
    else:
        click.echo(fits_text(found), nl=False)
        click.echo(notes_text(notes), nl=False, err=True)
    return DONE


def _goal(word: str) -> float:
    """Read an efficiency, above 0 and at most 1."""
    goal = positive(word, "--efficiency")
    assert goal is not None
    if goal > 1:
        refuse("--efficiency", f"an efficiency is at most 100 %; got {word}")
    return goal


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _families(
    models: str | None,
    free: str | None,
    population: str | None,
    size_path: str | None,
    cycles: int | None,
    method: str | None,
    changes: Sequence[str],
) -> list[str | Family] | None:
    """Tell families from the model, and make a family of the model."""
    from slipstick.measure.fit.families import FAMILIES
    from slipstick.measure.fit.model import Free, freed, model_family
    from slipstick.method.names import MEAN_VALUE
    from slipstick.schema.binding.scene import stage
    from slipstick.schema.load import Library

    names = _words(models)
    own = [name for name in names if name not in FAMILIES]
    if not free:
        if population or size_path or cycles or method or changes:
            refuse("--free", "say which parameters of the model are free, such as --free parameters.work")
        return list(names) or None
    if len(own) != 1:
        refuse("--model", f"name the one model whose parameters are free; got {', '.join(own) or 'families only'}")
    library, settings = Library(), {"model": text_node(own[0], "--model"), **nodes_of(changes)}
    if method:
        settings["method"] = text_node(method, "--with")
    elif stage(settings, library).kind in ("activity", "program"):
        settings["method"] = text_node(MEAN_VALUE, "--with")
    free_paths = [text_node(word, "--free") for word in _words(free)]
    processors = text_node(population, "--population") if population else None
    size = text_node(size_path, "--size-of") if size_path else None
    beside = [name for name in names if name in FAMILIES] or list(FAMILIES)
    return [model_family(freed(Free(settings, free_paths, processors, size, cycles), library)), *beside]
