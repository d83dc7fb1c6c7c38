"""Models of systems: activities, the resources that they use, and the population that repeats them.

Why this shape: a model is data. Nothing here computes an answer; each method in `method` walks the
same frozen tree. Times are expressions over named parameters, so one tree serves numbers, closed
forms and simulation.
"""
