"""The command that prints the equations of a model or a law, and the data that it prints."""

from __future__ import annotations

from collections.abc import Sequence

import click

from slipstick.cli.console import (
    DONE,
    complete,
    json_option,
    nodes_of,
    print_json,
    with_options,
    write_text,
)
from slipstick.cli.main import MODEL_OPTIONS, references_of


@click.command()
@click.argument("model", shell_complete=complete("model"))
@with_options(MODEL_OPTIONS)
@click.option("--latex", is_flag=True, help="Print the equations as LaTeX.")
@json_option
def explain(
    model: str, changes: Sequence[str], latex: bool, as_json: bool, **specs: str | None
) -> int:
    """Print the equations of a model with symbols, units and sources.

    \b
    Examples:
      slipstick explain dvsm/diff-request
      slipstick explain law/wire-time --latex
    """
    from slipstick.program import PROGRAMS
    from slipstick_equations.equations import explain_latex, explain_text

    if model in PROGRAMS and specs["machine"] is None:
        from slipstick.schema.programs import machines_for

        specs["machine"] = machines_for(PROGRAMS[model])[0]
        click.echo(
            f"with the numbers of {specs['machine']}; choose another with --machine", err=True
        )
    explanation = explanation_of({**references_of(model, specs), **nodes_of(changes)})
    plain = explain_text(explanation) if as_json or not latex else ""
    formulas = explain_latex(explanation) if as_json or latex else ""
    if as_json:
        from slipstick.report.answer import value_documents

        head = {"name": explanation.name, "title": explanation.title, "source": explanation.source}
        print_json(
            {
                **head,
                "text": plain,
                "latex": formulas,
                "values": value_documents(explanation.entries),
            }
        )
        return DONE
    return write_text(formulas or plain, None)


def explanation_of(settings: Settings) -> Explanation:
    """Return the data for an explanation of a model or a law.

    Raises
    ------
    SpecError : something is wrong with the settings
    """
    name = str(plain(settings["model"]))
    if name.startswith("law/"):
        # A law is explained by its symbols; they need no values.
        name = resolve({"model": settings["model"]}, Library()).name
        law = LAWS[name.removeprefix("law/")]
        return Explanation(name, law.title, law.source, law)
    from slipstick.method.closed_form import whole_time
    from slipstick.structure.contention import Contention
    from slipstick_equations.symbols import solve_in_symbols

    inputs = resolve(settings, Library())
    built = build(inputs)
    title = inputs.title
    source = inputs.source
    structure = None
    left_out: tuple[str, ...] = ()
    if isinstance(built.model, Model):
        structure = whole_time(built.model)
        own_values = {
            path: np.array([parameter.value]) for path, parameter in built.model.parameters.items()
        }
        left_out = Contention(built.model).left_out(own_values).notes(0)
    symbolic_solutions = (
        solve_in_symbols(built.model) if isinstance(built.model, QueueingNetwork) else ()
    )
    pairs = tuple((equation.text, equation.latex) for equation in symbolic_solutions)
    return Explanation(
        inputs.name, title, source, built.model, built.entries, structure, pairs, left_out
    )
