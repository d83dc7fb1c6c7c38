"""ANSWER -> PAGE: tables, pictures, pages, equations; cannot compute.

Everything here is a function of results that are already there, so a page can be made anew without
solving anything, and two pages of the same results are the same byte for byte: no dates, no
absolute paths, no random identifiers.

Why this shape: `formatting` says how numbers, names and tables are written; `answer` writes answers
and the catalogue for the terminal, `document` for JSON, `equations` what `slipstick explain`
prints; `page`, `pictures`, `timeline` and `write` put the report of a study together. Libraries
that are heavy or optional are imported where they are used.
"""
