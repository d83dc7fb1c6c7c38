"""The page of a study and the files beside it.

Why this shape: `page` puts the sections in order; `table` is everything as one tidy table, and `write` alone touches files.
"""
