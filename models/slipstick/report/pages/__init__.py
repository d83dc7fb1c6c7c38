"""The page of a study and the files beside it.

Why this shape: `page` puts the sections in order; `write` makes the tidy table, and alone touches files.
"""
