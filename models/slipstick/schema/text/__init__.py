"""Text to nodes: strict YAML, and formulas on known names.

Why this shape: `reader` drives, `builder` makes `nodes` of the events of a file and keeps every problem with its place,
`scalars` says what a plain text stands for; `formula` reads arithmetic in a parser of its own, so that nothing that a user
writes is ever evaluated.
"""
