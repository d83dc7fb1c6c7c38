"""WHAT IS COMPUTED: trees of arithmetic on named quantities.

One tree is everything a formula is needed for: `tape` evaluates it over arrays and differentiates
it, `symbolic` hands it to SymPy, its own text is what people read.

Why this shape: the design keeps times in `model` as expression nodes of our own. Laws need the same
nodes, so they live below both, in a package of their own, together with dimensions: a sum of seconds
and bytes is refused when it is built, and the power of time of every quantity, which the shares
need, is known without a unit library.
"""
