"""The methods of servers that work in rounds, in the order in which they are asked."""

from __future__ import annotations

from typing import cast

from slipstick.method.answers import CompiledModel
from slipstick.method.ladder import (
    APPROXIMATE_RANK,
    EXACT_RANK,
    SIMULATION_RANK,
    Acceptance,
    Method,
    Parameters,
    Subject,
)
from slipstick.method.methods import NOT_SIMULATED
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import FORMULA, MARKOV_CHAIN, SIMULATION
from slipstick_rounds.model import BatchServer


def _compile_chain(model: Subject, parameters: Parameters, simulation: Simulation) -> CompiledModel:
    """Compile a server in rounds for the method of Markov chains."""
    from slipstick_rounds.chain import BatchServerChain

    return BatchServerChain(cast(BatchServer, model))


def _compile_formula(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    """Compile a server in rounds for the method of the formula."""
    from slipstick_rounds.formula import BatchServerFormula

    return BatchServerFormula(cast(BatchServer, model))


def _compile_simulation(
    model: Subject, parameters: Parameters, simulation: Simulation
) -> CompiledModel:
    """Compile a server in rounds for simulation."""
    from slipstick_rounds.simulation import BatchServerSimulation

    return BatchServerSimulation(cast(BatchServer, model), simulation)


def _accepts_only_smooth(model: Subject, must_be_smooth: bool) -> Acceptance:
    """Accept a formula without a promised error only where nothing can be simulated."""
    return Acceptance(must_be_smooth, "" if must_be_smooth else "the formula promises no error")


def _accepts_unless_smooth(model: Subject, must_be_smooth: bool) -> Acceptance:
    return Acceptance(False, NOT_SIMULATED) if must_be_smooth else Acceptance(True)


CHAIN = Method(MARKOV_CHAIN, BatchServer.kind, _compile_chain, EXACT_RANK, partial=True)
FORMULAS = Method(
    FORMULA, BatchServer.kind, _compile_formula, APPROXIMATE_RANK, _accepts_only_smooth
)
SIMULATIONS = Method(
    SIMULATION,
    BatchServer.kind,
    _compile_simulation,
    SIMULATION_RANK,
    _accepts_unless_smooth,
    estimates=True,
)
