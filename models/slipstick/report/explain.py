r"""Models and laws as equations, with every symbol's unit, meaning and source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from slipstick.expression.nodes import Expr, Parameter, parameters
from slipstick.expression.symbolic import latex, upright
from slipstick.expression.text import text
from slipstick.law.law import Law, Symbol
from slipstick.law.pipeline import FLOW_LINE
from slipstick.model.activity import Pipeline, steps
from slipstick.model.system import Model
from slipstick.report.equations import Equation, equations, laws_in
from slipstick.report.words import NOTHING, Notes, ascii_only, escape, plain_table, quantity, wrapped

if TYPE_CHECKING:
    from slipstick.schema.describe import Entry

__all__ = ["explain_latex", "explain_text"]

Entries = Mapping[str, "Entry"]

_INDENT = "    "


def explain_text(
    name: str,
    title: str,
    source: str,
    subject: Model | Law,
    entries: Entries | None = None,
    structure: Expr | None = None,
) -> str:
    """Explain a law or a model for the terminal: equations, symbols, units, sources.

    Parameters
    ----------
    name, title, source : of the law or model, in the catalogue
    subject : the law or the model
    entries : what the specs say of each path, if known
    structure : the time of a model as an expression whose steps are labelled (`Booked`)
    """
    head = [f"{name}: {title}" if title else name]
    body = _law_text(subject) if isinstance(subject, Law) else _model_text(subject, entries or {}, structure)
    origin = wrapped(f"source: {source}", _INDENT) if source else ""
    return ascii_only("\n\n".join(part for part in [*head, *body, origin] if part) + "\n")


def explain_latex(
    name: str,
    title: str,
    source: str,
    subject: Model | Law,
    entries: Entries | None = None,
    structure: Expr | None = None,
) -> str:
    """Explain a law or a model as LaTeX: a list of equations and a table of symbols.

    Parameters
    ----------
    name, title, source, subject, entries, structure : as for `explain_text`
    """
    if isinstance(subject, Law):
        lines, symbols = [subject.latex.replace(" = ", " &= ", 1)], _law_symbols_latex(subject)
    else:
        made = _equations(structure)
        lines = [f"{upright(each.name) if each.name != 'T' else 'T'} &= {latex(each.right)}" for each in made]
        symbols = _symbols_latex(_symbols(made, entries or {}))
    comment = [f"% {ascii_only(' '.join(each.split()))}" for each in (f"{name}: {title}", source) if each.strip()]
    return "\n".join([*comment, r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}", *symbols]) + "\n"
