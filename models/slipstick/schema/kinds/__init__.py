"""The formats of specs, one module for each kind.

Why this shape: every key is a documented field of a strict, frozen pydantic model; what all share,
and quantities, are in `quantity`. Nothing here opens a file.
"""
