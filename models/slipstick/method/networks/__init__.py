"""Queueing networks: models as arrays, and the solutions of all solvers as answers.

Why this shape: a network becomes arrays (`arrays`), any solver of `slipstick.queueing` takes those
(`solvers`; `markov` for chains of classes), and what it finds is read as columns or as one answer
(`form`); `bounds` need no solver. Or it becomes a plan, and what the
simulator saw an answer (`simulation`).
"""
