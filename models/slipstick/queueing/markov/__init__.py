"""NETWORKS AS MARKOV CHAINS: the exact road where product form fails.

Finite capacity with loss and blocking, priorities, first come first served with unequal rates, service in phases,
threads that share cores and a lock. `solve` takes a `Network` and gives a `Solution` like every other solver; the
chain itself, its long run, its way there and its end are for whoever has a chain of another kind.

Why this shape: states are rows of whole numbers and a station is a block of columns that knows its own moves
only (`rooms`, `line`), so disciplines, phases and capacities combine freely and thousands of states are
explored at a time (`explore`). Rates may be complex, which is how a derivative travels through the linear system.
"""

from slipstick.queueing.markov.blocking import Holding, blocking_after_service
from slipstick.queueing.markov.chain import LIMIT, Chain, build
from slipstick.queueing.markov.chain_solution import Absorption, Transient, absorption, gth, stationary, transient
from slipstick.queueing.markov.network import MarkovSolution, chain_of, solve
from slipstick.queueing.markov.phase_type import PhaseType, coxian, erlang, exponential, fit, hyperexponential
from slipstick.queueing.markov.routing import Routing, in_order, routing, switching
from slipstick.queueing.markov.threads import Threads, thread_chain, threads

__all__ = [
    "LIMIT",
    "Absorption",
    "Chain",
    "Holding",
    "MarkovSolution",
    "PhaseType",
    "Routing",
    "Threads",
    "Transient",
    "absorption",
    "blocking_after_service",
    "build",
    "chain_of",
    "coxian",
    "erlang",
    "exponential",
    "fit",
    "gth",
    "hyperexponential",
    "in_order",
    "routing",
    "solve",
    "stationary",
    "switching",
    "thread_chain",
    "threads",
    "transient",
]
