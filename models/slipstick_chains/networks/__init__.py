"""Queueing networks as Markov chains: exact answers where product form fails.

Finite capacity with loss and blocking, priorities, first come first served with unequal service
times, service in phases. `solve.solve_markov_chain` takes `NetworkArrays` and returns a
`NetworkSolution` as other solvers do; `by_class` does so for networks whose customers change
class. The chain itself and its stationary probabilities serve chains of any kind
(`slipstick.queueing.markov_chain`).

States are rows of whole numbers, and each station is a block of columns with transitions of its
own (`state_space`). So disciplines, phases and capacities combine freely, and thousands of states
are explored at a time (`explore_rows`). Rates may be complex, so that the linear system also has
the derivatives.
"""
