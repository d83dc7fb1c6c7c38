"""MEASURED RUNS, TRACES AND FITS as tables, sentences and pictures; cannot compute.

Each module shows the results of one question; `measured` has what they share.
"""
