"""Questions: what a study asks beyond its cases and sweeps, one module for each.

Why this shape: a question reads its part of the study's spec, solves points as sweeps do, and gives a part of the results; no
question knows another.
"""
