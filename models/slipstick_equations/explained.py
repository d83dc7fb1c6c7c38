"""The data for an explanation of a model or a law: its equations, and their sources."""

from __future__ import annotations

from slipstick.late import np
from slipstick.law import LAWS
from slipstick.method.closed_form import whole_time
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.schema.inputs import Settings, build, resolve
from slipstick.schema.library import Library
from slipstick.schema.text import plain_data
from slipstick.structure.contention import Contention
from slipstick_equations.equations import Explanation
from slipstick_equations.symbols import solve_in_symbols


def explanation_of(settings: Settings) -> Explanation:
    """Return the data for an explanation of a model or a law.

    Raises
    ------
    SpecError : something is wrong with the settings
    """
    name = str(plain_data(settings["model"]))
    if name.startswith("law/"):
        # A law is explained by its symbols; they need no values.
        name = resolve({"model": settings["model"]}, Library()).name
        law = LAWS[name.removeprefix("law/")]
        return Explanation(name, law.title, law.source, law)
    inputs = resolve(settings, Library())
    built_model = build(inputs)
    title = inputs.title
    source = inputs.source
    structure = None
    left_out: tuple[str, ...] = ()
    if isinstance(built_model.model, Model):
        structure = whole_time(built_model.model)
        own_values = {
            path: np.array([parameter.value])
            for path, parameter in built_model.model.parameters.items()
        }
        left_out = Contention(built_model.model).neglected_effects(own_values).notes(0)
    symbolic_solutions = (
        solve_in_symbols(built_model.model)
        if isinstance(built_model.model, QueueingNetwork)
        else ()
    )
    text_and_latex = tuple((equation.text, equation.latex) for equation in symbolic_solutions)
    return Explanation(
        inputs.name,
        title,
        source,
        built_model.model,
        built_model.entries,
        structure,
        text_and_latex,
        left_out,
    )
