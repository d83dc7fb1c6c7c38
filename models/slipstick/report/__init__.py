"""ANSWER -> PAGE: tables, pictures, pages, equations; cannot compute.

Everything here is a function of results that are already there, so a page can be made anew without solving
anything, and two pages of the same results are the same byte for byte: no dates, no absolute paths, no
random identifiers.

Why this shape: `words` and `values` say how one number is written and found; `table`, the pictures and the
sections of a page are built on them and on nothing else; `write` alone touches files. Libraries that are
heavy or optional are imported where they are used.
"""
