"""Measured runs: files of measuring tools read into one table, the account of the time, and fits of models.

Why this shape: `formats` recognizes the format of a file from its content and calls its reader in `readers`, which fills
the table of `measurements`, where repetitions are reduced to one value; `account` books the time; `fit` fits models.
The package is above `schema`, whose strict reader opens the files and reads profiles.
"""
