"""Methods for servers that work in rounds: a Markov chain, formulas, and simulation.

`points` has what is common: the numbers of a model at a point, the time of a round as a function of
what is in it, and the form of answers.
"""
