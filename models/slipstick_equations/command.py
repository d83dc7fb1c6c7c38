"""The command that prints the equations of a model or a law, and what it explains."""

from __future__ import annotations

from collections.abc import Sequence

import click

from slipstick.cli.console import (
    DONE,
    completion_function,
    json_option,
    nodes_of,
    print_json,
    with_options,
    write_text,
)
from slipstick.cli.main import MODEL_OPTIONS, references_of


@click.command()
@click.argument("model", shell_complete=completion_function("model"))
@with_options(MODEL_OPTIONS)
@click.option("--latex", is_flag=True, help="Print the equations as LaTeX.")
@click.option(
    "--all", "is_whole", is_flag=True, help="Print every equation and symbol of a large model."
)
@json_option
def explain(
    model: str,
    changes: Sequence[str],
    latex: bool,
    is_whole: bool,
    as_json: bool,
    **specs: str | None,
) -> int:
    """Print the equations of a model with symbols, units and sources.

    \b
    Examples:
      slipstick explain dvsm/diff-request
      slipstick explain law/wire-time --latex
    """
    from slipstick.program import PROGRAMS
    from slipstick_equations.equations import explain_latex, explain_shortly, explain_text
    from slipstick_equations.explained import explanation_of

    if model in PROGRAMS and specs["machine"] is None:
        from slipstick.schema.programs import machines_for

        specs["machine"] = machines_for(PROGRAMS[model])[0]
        click.echo(
            f"with the numbers of {specs['machine']}; choose another with --machine", err=True
        )
    explanation = explanation_of({**references_of(model, specs), **nodes_of(changes)})
    write_explanation = explain_text if as_json or is_whole else explain_shortly
    plain_text = write_explanation(explanation) if as_json or not latex else ""
    formulas = explain_latex(explanation) if as_json or latex else ""
    if as_json:
        from slipstick.report.answer import value_documents

        headings = {
            "name": explanation.name,
            "title": explanation.title,
            "source": explanation.source,
        }
        print_json(
            {
                **headings,
                "text": plain_text,
                "latex": formulas,
                "values": value_documents(explanation.entries),
            }
        )
        return DONE
    return write_text(formulas or plain_text, None)
