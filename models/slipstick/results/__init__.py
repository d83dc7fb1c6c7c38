"""RESULTS: what a study found, before anybody writes or draws it.

Why this shape: plain frozen data between those who compute and those who report, so that neither knows the other. `study` is
the whole; `scaling` and `outlook` are the parts of questions with much to say.
"""
