"""Activities by events: the tree becomes a plan, and what the simulator saw an answer.

Why this shape: `flatten` knows models and plans, `answers` knows estimates and answers, and neither knows how a kernel
works. `form` puts simulated answers behind a sweep; `estimated` is what this room shares with the simulation of queueing
networks; `timeline` records one run to draw.
"""
