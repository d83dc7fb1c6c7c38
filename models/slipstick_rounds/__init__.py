"""Servers that work in rounds: groups of commits, micro-batches, language models.

In a round such a server works for all customers that are present. `model` and `specs` are the model
and its file; `points` has the numbers of a model at a point and the form of answers; `chain`,
`formula` and `simulation` are the methods, `round_chain` and `round_run` the numbers behind the
first and the last. `formula` has a module for each subject, which it names. The package adds itself
through the entry points of pyproject.toml.

A visit of a customer goes through phases, such as the prompt and the answer of a request, whose
work is counted in units. A round does at most a piece of the phase of each customer, and at most
its budget of units in all. Customers that are present hold a place and memory; others wait for
these. "A first phase" is the first phase of one visit, from its admission on, and "the second
phase" is where the customers are whose first phase has ended.
"""

from slipstick.extensions import SpecKind

KINDS = {
    "batch-server": SpecKind(
        "batch-servers",
        "slipstick_rounds.specs:BatchServerSpec",
        "group-commit",
        "a server that works in rounds",
    )
}

METHODS = {
    f"batch-server/{name}": f"slipstick_rounds.methods:{place}"
    for name, place in {
        "markov-chain": "CHAIN",
        "formula": "FORMULAS",
        "simulation": "SIMULATIONS",
    }.items()
}
