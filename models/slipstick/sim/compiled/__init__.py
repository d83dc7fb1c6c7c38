"""THE FAST KERNEL: the same instructions over flat arrays, compiled where numba is installed.

Why this shape: a compiled loop knows numbers only, so `state` names the columns of its tables, `parts` and
`stations` are what the plain kernel's clock and stations are, `flow` and `gather` its instructions. The loop
comes back to `kernel` for whatever Python does better: random numbers, more room, taking results away.
"""
