"""Formulas in specs: read where the parameters are known, refused where they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slipstick.errors import FormulaError, Problem, SpecError
from slipstick.expression.dimension import Dimension
from slipstick.expression.nodes import Expr
from slipstick.schema.kinds.quantity import Formula
from slipstick.schema.text.formula import read_expression
from slipstick.schema.text.nodes import Node, join, value_mark

__all__ = ["read_formula"]


def read_formula(
    tree: Node, loc: Sequence[str | int], formula: Formula, known: Mapping[str, Expr], wanted: Dimension | None
) -> Expr:
    """Read one formula of a spec.

    Parameters
    ----------
    tree, loc : where it is written
    formula : its text
    known : what its names stand for
    wanted : the dimension it must have; None takes any

    Raises
    ------
    SpecError : it is no arithmetic on known names, or of another dimension
    """
    mark = value_mark(tree, loc)
    try:
        made = read_expression(formula.text, known)
    except FormulaError as error:
        raise SpecError([Problem(mark.file, mark.line, mark.column, join(loc), str(error))]) from None
    if wanted is not None and made.dimension != wanted:
        why = f"{formula.text} gives a [{made.dimension}], but a [{wanted}] is wanted"
        raise SpecError([Problem(mark.file, mark.line, mark.column, join(loc), why)])
    return made
