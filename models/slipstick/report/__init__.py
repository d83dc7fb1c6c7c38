"""ANSWER -> PAGE: tables, pictures, pages, equations; cannot compute.

Everything here is a function of results that are already there, so a page can be made anew without solving
anything, and two pages of the same results are the same byte for byte: no dates, no absolute paths, no
random identifiers.

Why this shape: `words` and `values` say how one number is written and found, `document` gives answers as plain data. On them
stand the rooms, one for each place where people read: `terminal`, `pages`, `pictures`, and `formulas` for equations. Libraries
that are heavy or optional are imported where they are used.
"""
