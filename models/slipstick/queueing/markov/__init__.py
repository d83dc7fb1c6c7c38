"""QUEUEING NETWORKS AS MARKOV CHAINS: exact answers where product form fails.

Finite capacity with loss and blocking, priorities, first come first served with unequal service
times, service in phases. `solve.solve_markov_chain` takes `NetworkArrays` and gives a
`NetworkSolution` like every other solver. The chain itself and its stationary and transient
solutions serve chains of any kind.

Why this shape: states are rows of whole numbers, and each station is a block of columns with
transitions of its own (`state_space`). Disciplines, phases and capacities so combine freely, and
thousands of states are explored at a time (`chain.explore_rows`). Rates may be complex, which is
how a derivative travels through the linear system.
"""
