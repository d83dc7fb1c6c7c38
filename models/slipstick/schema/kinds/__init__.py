"""The kinds of specs: what may be written, one module for each kind.

Why this shape: every key is a documented field of a strict, frozen pydantic model; what all share is in `spec`, numbers
with units in `quantity`. Nothing here opens a file or builds a model.
"""
