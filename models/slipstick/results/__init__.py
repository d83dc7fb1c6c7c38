"""RESULTS: what a study found, before it is written or drawn.

Why this shape: plain frozen data between the solvers and the reports, so that neither imports the
other: cases, sweeps, timelines, agreements of methods, the words of a report, and the base class of
the results of questions.
"""
