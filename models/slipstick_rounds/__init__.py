"""Servers that work in rounds: groups of commits, micro-batches, language models.

In a round such a server works for all customers that are present. `model` and `specs` are the model
and its file; `points` has the numbers of a model at a point and the form of answers; `chain`,
`formula` and `simulation` are the methods, `round_chain` and `round_run` the numbers behind the
first and the last. `formula` has a module for each subject, which it names. The package adds itself
through the entry points of pyproject.toml.
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
