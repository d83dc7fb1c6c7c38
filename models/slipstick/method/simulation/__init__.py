"""Simulation of activities: a model becomes a plan for the simulator, and the statistics of a run
an answer.

Why this shape: `flatten` knows models and plans, `form` knows estimates and answers, and neither
knows how a kernel works. What `form` makes of one run, it makes for queueing networks too.
"""
