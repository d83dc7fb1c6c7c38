"""Queueing networks: models as arrays, and what any solver finds in them as answers.

Why this shape: a network becomes arrays (`arrays`), any solver of `slipstick.queueing` takes those
(`solvers`; `chained` for Markov chains of classes), and what it finds is read as columns or as one answer (`form`, `values`,
`answers`); `bounds` and `symbols` are roads of their own. Or it becomes a plan (`flatten`), and what the simulator saw an
answer (`simulation`).
"""
