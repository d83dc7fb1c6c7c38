"""The Markov chain of an activity: exact where it is small, and the second road for mean value.

slipstick finds this package by its entry points and imports none of it. `activity_chain` explores
the states of an activity, has its times, and is the method ``markov-chain`` of activities; the
chains of queueing networks are in `slipstick.queueing.markov`.
"""

METHODS = {"activity/markov-chain": "slipstick_chains.activity_chain:CHAIN"}
