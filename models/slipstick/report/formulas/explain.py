"""Models and laws as equations, with every symbol's unit, meaning and source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.expression.nodes import Expr, Parameter
from slipstick.law.law import Law
from slipstick.law.pipeline import FLOW_LINE
from slipstick.model.activity import Pipeline, steps
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Arrivals, Cyclic, Groups, Model, Supersteps
from slipstick.report.formulas.equations import Equations, laws_in, spelt
from slipstick.report.formulas.network import network_latex, network_parts, network_symbols
from slipstick.report.words import NOTHING, Notes, ascii_only, plain_table, quantity, wrapped

if TYPE_CHECKING:
    from slipstick.schema.describe import Entry

__all__ = ["explain_latex", "explain_text"]

Entries = Mapping[str, "Entry"]

_INDENT = "    "


def explain_text(
    name: str,
    title: str,
    source: str,
    subject: Model | QueueingNetwork | Law,
    entries: Entries | None = None,
    structure: Expr | None = None,
    solved: tuple[str, ...] = (),
) -> str:
    """Explain a law or a model for the terminal: equations, symbols, units, sources.

    Parameters
    ----------
    name, title, source : of the law or the model, in the catalogue
    subject : the law or the model
    entries : what the specs say of each path, if known
    structure : the time of a model, its steps labelled (`Booked`), as the closed form adds it up
    solved : equations of a network that was solved in symbols
    """
    head = wrapped(f"{name}: {title}" if title else name, _INDENT)
    origin = wrapped(f"source: {source}", _INDENT) if source else ""
    if isinstance(subject, Law):
        body = _law_parts(subject)
    elif isinstance(subject, QueueingNetwork):
        body = network_parts(subject, entries or {}, solved)
    else:
        body = _model_parts(subject, entries or {}, structure)
    return ascii_only("\n\n".join(part for part in (head, origin, *body) if part) + "\n")


def explain_latex(
    name: str,
    title: str,
    source: str,
    subject: Model | QueueingNetwork | Law,
    entries: Entries | None = None,
    structure: Expr | None = None,
    solved: tuple[str, ...] = (),
) -> str:
    """Explain a law or a model in LaTeX: an ``align*`` of equations, then the symbols; needs amsmath.

    Parameters
    ----------
    name, title, source, subject, entries, structure, solved : as for `explain_text`, `solved` in LaTeX
    """
    if isinstance(subject, Law):
        lines = [subject.latex.replace(" = ", " &= ", 1)]
        symbols = [(f"${each.latex}$", str(each.dimension), each.meaning) for each in (subject.gives, *subject.symbols)]
    elif isinstance(subject, QueueingNetwork):
        lines = [*network_latex(subject), *solved]
        rows = network_symbols(subject, entries or {}, Notes())
        symbols = [(spelt(path), value, meaning) for path, value, meaning, _ in rows]
    else:
        equations = None if structure is None else Equations(structure)
        lines = [] if equations is None else equations.latex
        symbols = [(spelt(row[0]), row[1], row[2]) for row in _symbols(equations, entries or {}, Notes()) if equations]
    comments = [f"% {' '.join(each.split())}" for each in (f"{name}: {title}", source) if each.strip()]
    made = [r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}"] if lines else []
    return ascii_only("\n".join([*comments, *made, *_tabular(symbols)]) + "\n")


def _tabular(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"{symbol} & {spelt(unit)} & {spelt(meaning)} \\\\" for symbol, unit, meaning in rows]
    return [r"\begin{tabular}{lll}", *lines, r"\end{tabular}"]


def _law_parts(law: Law) -> list[str]:
    symbols = [[each.name, str(each.dimension), each.meaning] for each in (law.gives, *law.symbols)]
    return [
        wrapped(_INDENT + law.text, 2 * _INDENT),
        plain_table(["symbol", "unit", "meaning"], symbols),
        "\n".join(wrapped(f"holds for {condition}", _INDENT) for condition in law.conditions),
        wrapped(f"{'note' if law.exact else 'approximation'}: {law.note}", _INDENT) if law.note else "",
        _rows(law),
    ]


def _rows(law: Law) -> str:
    """Write the published values that the law is held against."""
    units = {each.name: str(each.dimension) for each in law.symbols}
    rows = [
        [
            ", ".join(f"{name} {quantity(value, units[name])}" for name, value in row.given.items()),
            quantity(row.value, str(law.gives.dimension)),
            quantity(row.within, str(law.gives.dimension)) if row.within else "exact",
            row.source,
        ]
        for row in law.rows
    ]
    return plain_table(["for", law.gives.name, "within", "source"], rows, [1, 2]) if rows else ""


def _model_parts(model: Model, entries: Entries, structure: Expr | None) -> list[str]:
    sources = Notes()
    parts = [_population(model)]
    if structure is not None:
        equations = Equations(structure)
        whole, *others = [wrapped(_INDENT + line, 2 * _INDENT) for line in equations.texts]
        symbols = list(_symbols(equations, entries, sources))
        parts += [
            whole,
            wrapped(_STEP_TIMES, _INDENT) if equations.steps else "",
            "\n".join(others),
            plain_table(["symbol", "value", "meaning", "source"], symbols, [1]) if symbols else "",
            "\n".join(wrapped(f"[{number}] {source}", _INDENT) for number, source in sources.listed.items()),
            _laws(model, equations),
        ]
    return [*parts, _steps(model)]


_STEP_TIMES = "t[x] is the time of one execution of step x, once[x] in answers:"


def _population(model: Model) -> str:
    useful = f"; useful: {', '.join(model.useful)}" if model.useful else "; nothing of it counts as useful work"
    match model.population:
        case Cyclic(processors):
            words = f"processors that repeat a cycle: {processors}"
        case Groups(groups):
            sizes = ", ".join(f"{group.name} ({group.processors})" for group in groups)
            words = f"groups of processors, the first of which is asked about: {sizes}"
        case Arrivals(rate):
            words = f"askers arrive at a rate of {rate}, go through once and leave"
        case Supersteps(supersteps):
            words = f"{len(model.population.supersteps[0].lines)} processors, each with work of its own in {len(supersteps)} supersteps"
        case _:
            words = f"a program of {len(model.bodies)} phases, one after the other"
    return wrapped(words + useful, _INDENT)


def _symbols(equations: Equations | None, entries: Entries, sources: Notes) -> Iterator[list[str]]:
    """Give path, value, meaning and the number of the source of everything the equations are written in."""
    for path, parameter in ({} if equations is None else equations.parameters).items():
        entry = entries.get(path)
        if entry is None:
            yield [path, _value(parameter), "", ""]
        else:
            marks = [*([f"[{sources.number(entry.source)}]"] if entry.source else []), *_assumed(entry)]
            yield [path, str(entry.given), entry.meaning, " ".join(marks)]


def _value(parameter: Parameter) -> str:
    return NOTHING if parameter.value is None else quantity(parameter.value, str(parameter.dimension))


def _assumed(entry: Entry) -> list[str]:
    return ["assumed"] if entry.given.assumed else []


def _laws(model: Model, equations: Equations) -> str:
    pipelines = [node for body in model.bodies for node in steps(body) if isinstance(node, Pipeline)]
    found = [FLOW_LINE] if any(node.identical for node in pipelines) else []
    found += laws_in(*equations.steps.values())
    lines = [wrapped(f"law/{law.name}: {law.text}", _INDENT) for law in found]
    return "\n".join(["Made from:", *lines]) if lines else ""


def _steps(model: Model) -> str:
    rows = [[each.name, each.resource or NOTHING, each.component, each.technology] for each in model.steps]
    return plain_table(["step", "resource", "component", "technology class"], rows) if rows else ""
