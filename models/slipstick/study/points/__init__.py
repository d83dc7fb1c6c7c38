"""Points: the cases of a study, and the sweeps over them.

Why this shape: data flow one way. `cases` gives settings by path, `axes` the values that are written down, `plan` which points
there are and which can be solved together, `sweep` their columns.
"""
