"""The compiled kernel: the same instructions over flat arrays, compiled where numba is installed.

A compiled loop knows numbers only: `state` names the columns of its tables; `stations` and `instructions` correspond to the
modules of the same name in `plain`, in the same order. The loop of `kernel` returns to Python for random numbers, larger
tables and results.
"""
