"""Models and laws as equations, with every symbol's unit, meaning and source.

Why this shape: `explain` is the way in; `equations` writes the time of an activity, `network` what holds in a queueing network.
"""
