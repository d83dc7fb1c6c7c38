"""Solving in closed form, of whatever model: what is said of formulas is tested without the method that is the default."""

from __future__ import annotations

from functools import partial

from slipstick.method.methods import solve as solve_by_default
from slipstick.vocabulary import CLOSED_FORM

solve = partial(solve_by_default, method=CLOSED_FORM)
