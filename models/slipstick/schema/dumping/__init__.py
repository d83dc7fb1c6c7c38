"""Models to files: what `binding` reads, written.

Why this shape: `dump` is the way in, for activities; `queueing` writes networks; both write numbers and formulas by `values`.
"""
