"""RUNS -> NUMBERS: what tools measured, read into one table, and the account of time in it.

Why this shape: every format has a small reader of its own (`tidy`, `extra_p`, `extra_p_json`, `pop`, `perf_stat`,
`perf_lock`, `profile`), and all of them fill the same table, `runs.Runs`, through the same `reading.Reading`, so
that a negative time or an unknown unit is refused in the same words wherever it stands. `formats` tells one format
from another by what is in the file. `reduced` makes one value of repetitions; `account` books the time. The room
lies above `schema`, whose strict reader opens the files and reads profiles.
"""
