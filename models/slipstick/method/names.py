"""The methods by name and by kind of model; here, where naming one loads nothing."""

from __future__ import annotations

ACTIVITY, LAW, NETWORK = "activity", "law", "queueing-network"

CLOSED_FORM, MEAN_VALUE, SIMULATION, BOUNDS = "closed-form", "mean-value", "simulation", "bounds"
BEST, EXACT_MVA, CONVOLUTION, SCHWEITZER, LINEARIZER, MARKOV_CHAIN = (
    "best",
    "exact-mva",
    "convolution",
    "schweitzer",
    "linearizer",
    "markov-chain",
)

NAMES = {
    ACTIVITY: (CLOSED_FORM, MEAN_VALUE, SIMULATION, BOUNDS),
    LAW: (CLOSED_FORM,),
    NETWORK: (BEST, EXACT_MVA, CONVOLUTION, SCHWEITZER, LINEARIZER, MARKOV_CHAIN, SIMULATION, BOUNDS),
}
"""The methods that answer for each kind of model, the default first."""
