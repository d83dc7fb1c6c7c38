"""Two programs of MIN-Graph with static and dynamic scheduling: blocks of nonlinear equations, and
matching of sequences.

`newton` and `matching` hold the sequential program, which is run for its iterations or tasks, and
the model made of them.
"""
