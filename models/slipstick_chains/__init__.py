"""Markov chains: of an activity, exact where it is small, and the second road for mean value; of a
queueing network before its steady state.

slipstick finds this package by its entry points and imports none of it. `activity_chain` explores
the states of an activity and is its method ``markov-chain``; `transient` computes the values of a
network at a time, by `uniformization`; `lowered_networks` solves networks with retries or circuit
breakers as activities; `breakdowns` writes failures of stations as customers, which
chains and simulations solve, `schedules` servers that are off duty, `customers` takes both out of
solutions, and `written` out of a model that is written to a file. `networks` has the chains of
queueing networks. The chain of any kind and its stationary probabilities are in
`slipstick.queueing.markov_chain`.
"""

FUNCTIONS = {
    "activity with breakdowns": "slipstick_chains.breakdowns:model_with_breakdowns",
    "network with breakdowns": "slipstick_chains.breakdowns:network_with_breakdowns",
    "activity with schedules": "slipstick_chains.schedules:model_with_schedules",
    "network with schedules": "slipstick_chains.schedules:network_with_schedules",
    "activity as written": "slipstick_chains.written:model_as_written",
    "network as written": "slipstick_chains.written:network_as_written",
    "solutions of customers": "slipstick_chains.customers:Absences",
    "chain of a network": "slipstick_chains.networks.by_class:solve_by_class",
    "chain of a lowered network": "slipstick_chains.lowered_networks:LoweredNetwork",
    "answer with transient values": "slipstick_chains.transient:answer_with_transient",
    "transient values": "slipstick_chains.transient:transient_values",
}
METHODS = {"activity/markov-chain": "slipstick_chains.activity_chain:CHAIN"}
