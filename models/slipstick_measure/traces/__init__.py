"""Traces: which processor did what when, and what it accessed; their account of time and their
views.

Why this shape: every format is read into the columns of `trace.TraceColumns`, arrays that take some
24 B an event, so that ten million events fit into memory; `TraceColumns.finished` checks them and
gives a `trace.ReadTrace`, whose `booked` books each instant of a processor once and gives a
`trace.ProgramTrace`. Only booking needs NumPy, so that files are checked without its start-up time.
From there on, formats do not matter: `account` makes measurements of it, which are fitted and
accounted for like a profile, `views` and `contention` make pictures and values.
"""
