"""RUNS -> NUMBERS: what tools measured, read into one table, and the account of time in it.

Why this shape: `formats` tells one format from another by what is in the file and asks its reader in `readers`, which fills the
one table of `runs`. `reduced` makes one value of repetitions; `account` books the time; `fit` fits models to it. The room
lies above `schema`, whose strict reader opens the files and reads profiles.
"""
