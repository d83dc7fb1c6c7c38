"""ANSWER -> PAGE: tables, texts and pages; cannot compute.

Everything here is a function of results that are already there, so a page can be made anew without
solving anything, and two pages of the same results are the same byte for byte: no dates, no
absolute paths, no random identifiers.

Why this shape: `formatting` says how numbers, names and tables are written; `answer` writes answers
and the catalogue for the terminal. `head` writes the sentences at the head of a report, `page` the
whole report in Markdown, `shorten` its first page, and `html` the page with its pictures; `write`
puts the files together, and `folder` replaces an earlier report by them. Pictures and equations are
the packages `slipstick_pictures` and `slipstick_equations`. Libraries that are heavy or optional
are imported where they are used.
"""
