"""The command that writes a page in which a model runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from slipstick.cli.console import (
    complete_methods,
    completion_function,
    nodes_of,
    with_options,
    write_text,
)
from slipstick.cli.main import MODEL_OPTIONS, fitted_option, references_of


@click.command()
@click.argument("model", shell_complete=completion_function("model"))
@with_options(MODEL_OPTIONS)
@fitted_option
@click.option(
    "--with",
    "method",
    metavar="METHOD",
    shell_complete=complete_methods,
    help="Method. [the best that applies]",
)
@click.option(
    "--slider",
    "over",
    metavar="PATH",
    multiple=True,
    help="Path of an input to get a slider. [those that matter most]",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write. [NAME.html]",
)
def page(
    model: str,
    changes: Sequence[str],
    method: str | None,
    over: Sequence[str],
    out: Path | None,
    **specs: str | None,
) -> int:
    """Write a page for a browser, in which the inputs of a model have sliders.

    \b
    Examples:
      slipstick page my-program
      slipstick page lock-and-bus --slider population.processors --slider parameters.critical
      slipstick page dvsm/diff-request --machine rs6000-43p-atm -o diffs.html
      slipstick page serving-step --fitted serving-vllm
    """
    from slipstick_pages.model import live_page
    from slipstick_pages.solve import live_model

    live = live_model(
        {**references_of(model, specs), **nodes_of(changes)}, method, wanted_inputs=over
    )
    return write_text(live_page(live), out or Path(f"{Path(model).stem}.html"))
