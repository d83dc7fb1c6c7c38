"""MEASURED RUNS, TRACES AND FITS as tables, sentences and pictures; cannot compute."""
