"""QUESTIONS OF A STUDY about measured data: runs, traces, fits and published measurements.

One module for each key of a study: it reads and checks what is asked, computes when the study is
solved, and says what was found in sentences and tables.
"""
