"""Expressions: trees of arithmetic on named quantities.

One tree serves every use of a formula: `tape` evaluates it over arrays and differentiates it,
`symbolic` passes it to SymPy, and its own text is printed.

Why this shape: times in `model` are expression nodes of our own. Laws need the same nodes, so they
are below both, in a package of their own, with dimensions: a sum of seconds and bytes is refused
when it is built, and the power of time of every quantity, which shares of time need, is known
without a unit library.
"""
