"""What there is to explain of a model or a law: its equations, its symbols, where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slipstick.expression.nodes import Expr
from slipstick.law import Law
from slipstick.method.closed_form.form import whole_time
from slipstick.method.networks.symbols import SymbolicSolution, solved_in_symbols
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.program import PROGRAMS
from slipstick.schema.inputs import Settings, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import at, plain
from slipstick.schema.values import DescribedValue


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to explain of a model, a network or a law.

    Parameters
    ----------
    name, title, source : what it is, and where it is published
    subject : the model, the network, or the law
    entries : what the specs say of each quantity
    structure : the time of a model, its steps labelled
    solved : equations of a small network that was solved in symbols
    """

    name: str
    title: str
    source: str
    subject: Model | QueueingNetwork | Law
    entries: Mapping[str, DescribedValue]
    structure: Expr | None
    solved: tuple[SymbolicSolution, ...] = ()


def explained(settings: Settings) -> Explanation:
    """Gather what there is to explain.

    Raises
    ------
    SpecError : something is wrong with the settings
    """
    name = str(plain(settings["model"]))
    if name.startswith("law/"):
        # A law is explained by its symbols; they need no values.
        law = resolve({"model": settings["model"]}, Library()).name.removeprefix("law/")
        return _law(law)
    inputs = resolve(settings, Library())
    built = build(inputs)
    program = PROGRAMS.get(inputs.name)
    title = program.title if program else _word(inputs.tree, "title")
    source = program.source if program else _word(inputs.tree, "source")
    structure = whole_time(built.model) if isinstance(built.model, Model) else None
    solved = solved_in_symbols(built.model) if isinstance(built.model, QueueingNetwork) else ()
    return Explanation(inputs.name, title, source, built.model, built.entries, structure, solved)


def _law(name: str) -> Explanation:
    from slipstick.law import LAWS

    law = LAWS[name]
    return Explanation(f"law/{name}", law.title, law.source, law, {}, None)


def _word(tree: object, key: str) -> str:
    found = at(tree, [key])  # type: ignore[arg-type]
    return str(plain(found)) if found is not None else ""
