"""The part of `slipstick fit` that holds a model against rows whose columns are its own numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import DONE, nodes_of, print_json, refuse, text_node, write_text
from slipstick.errors import SpecError

if TYPE_CHECKING:
    from slipstick_measure.fit.columns import ColumnUse

COLUMN_OPTIONS = (
    click.option(
        "--measured",
        "measured_columns",
        multiple=True,
        metavar="VALUE=COLUMN",
        help=(
            "Column of a measured value, with a unit if the heading has none: 'time=tpot_ms"
            " [ms]'. [a column with the name of the value]"
        ),
    ),
    click.option(
        "--choice",
        "choices",
        multiple=True,
        metavar="PATH=A|B[@OWNER]",
        help="Parameter that has one of a few values; the fit chooses.",
    ),
    click.option(
        "--group",
        "groups",
        metavar="COLUMN,...",
        help="Columns whose combinations form groups; each group is left out and predicted.",
    ),
    click.option(
        "--fitted",
        "out",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write the fitted values, for slipstick solve --fitted FILE.",
    ),
)
"""What is asked of rows; each makes `fit` read its file so."""


def has_parameter_rows(
    files: Sequence[Path],
    models: Sequence[str],
    free_text: str | None,
    columns: Sequence[str],
    row_options: Sequence[object],
) -> bool:
    """Return whether each row of a table is one set of parameter values of a model. The options say
    so, or columns are assigned to parameters, or headings are parameters or paths.
    """
    if any(row_options) or "@" in (free_text or ""):
        return True
    if not free_text or len(models) != 1 or len(files) != 1:
        return False
    from slipstick.schema.inputs import resolve
    from slipstick.schema.library import Library
    from slipstick.schema.text import node_at
    from slipstick_measure.fit.columns import parameter_name, read_columns

    try:
        headings = read_columns(files[0]).headings
        tree = resolve({"model": text_node(models[0], "--model")}, Library()).tree
    except SpecError:
        return False
    headings_of_runs = {"p", "n"}
    given_names = [column.partition("=")[0].strip() for column in columns]
    return any(
        node_at(tree, parameter_path) is not None
        for heading in [*headings, *given_names]
        if heading not in headings_of_runs
        for parameter_path in (
            heading,
            f"parameters.{heading}",
            f"parameters.{parameter_name(heading)}",
        )
        if "." in parameter_path
    )


def refuse_options_of_runs(value_by_option: Mapping[str, object], file: Path) -> None:
    """Raise if an option is given that applies only to runs on several numbers of processors,
    because it has no effect on columns of a model.

    Parameters
    ----------
    value_by_option : the values of such options, empty where they are not given
    file : the table
    """
    from slipstick_measure.fit.columns import read_columns

    given_options = [option for option, value in value_by_option.items() if value]
    if not given_options:
        return
    processors_path = value_by_option.get("--population") or "parameters.NAME"
    headings = ", ".join(read_columns(file).headings)
    refuse(
        given_options[0],
        "--fitted, --measured, --choice, --group, @COLUMN and columns of parameters compare a model"
        f" with each row, where {', '.join(given_options)}"
        f" {'has' if len(given_options) == 1 else 'have'} no effect; leave out, and name"
        f" the column that gives {processors_path}, such as --column {processors_path}=COLUMN, of"
        f" {headings}",
    )


def estimate_rows(
    files: Sequence[Path],
    models: Sequence[str],
    free_text: str | None,
    columns: Sequence[str],
    measured_columns: Sequence[str],
    choices: Sequence[str],
    groups_text: str | None,
    fitted_path: Path | None,
    method: str | None,
    setting_changes: Sequence[str],
    as_json: bool,
) -> int:
    """Estimate the free parameters of a model from the rows of a table, print and write the
    estimates, and return the exit status.
    """
    from slipstick.results.question import as_data
    from slipstick.schema.library import Library
    from slipstick_measure.fit.estimation import estimate_task
    from slipstick_measure.fit.fitted_file import fitted_document, fitted_text
    from slipstick_measure.fit.request import EstimationRequest, prepare_estimation
    from slipstick_measure.report.estimation import estimation_text

    if len(files) != 1:
        refuse("FILE", "compare a model with one table of rows at a time")
    if len(models) != 1:
        refuse("--model", "name one model to compare the rows with")
    if not free_text:
        refuse(
            "--free", "say which parameters of the model are free: --free parameters.work=1s..9s"
        )
    settings = {"model": text_node(models[0], "--model"), **nodes_of(setting_changes)}
    if method:
        settings["method"] = text_node(method, "--with")
    request = EstimationRequest(
        files[0],
        settings,
        [
            text_node(parameter_text.strip(), "--free")
            for parameter_text in free_text.split(",")
            if parameter_text.strip()
        ],
        _column_uses(columns, measured_columns),
        [text_node(parameter_text, "--choice") for parameter_text in choices],
        [
            parameter_text.strip()
            for parameter_text in (groups_text or "").split(",")
            if parameter_text.strip()
        ],
    )
    estimates = estimate_task(prepare_estimation(request, Library()))
    if as_json:
        print_json({"estimation": as_data(estimates), "fitted": fitted_document(estimates)})
    else:
        click.echo(estimation_text(estimates), nl=False)
    if fitted_path is not None:
        write_text(fitted_text(estimates), fitted_path)
    return DONE


def _column_uses(
    setting_texts: Sequence[str], measured_texts: Sequence[str]
) -> dict[str, ColumnUse]:
    """Return the use of each column that options name, by heading: as a setting of the model or as
    a measured value.
    """
    from slipstick_measure.fit.columns import ColumnUse, heading_and_unit

    use_by_heading = {}
    for option, option_texts in (("--column", setting_texts), ("--measured", measured_texts)):
        for option_text in option_texts:
            name_in_model, separator, column_text = option_text.partition("=")
            if not (name_in_model and separator and column_text):
                refuse(
                    option,
                    f"write OURS=COLUMN, such as parameters.batch=clients; got {option_text!r}",
                )
            heading, unit = heading_and_unit(column_text.strip())
            name_in_model = name_in_model.strip()
            use_by_heading[heading] = (
                ColumnUse(path=name_in_model, unit=unit)
                if option == "--column"
                else ColumnUse(measured=name_in_model, unit=unit)
            )
    return use_by_heading
