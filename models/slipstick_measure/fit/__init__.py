"""Fits of models to timings, their comparison, and what they predict.

Why this shape: a `formula.TimeFormula` is a formula with free parameters, plain arithmetic on
arrays; a `formula.Family` gives the formulas of a kind of model; `least_squares` fits one formula,
`intervals` gives confidence intervals of its parameters and predictions, `comparison` fits all
families, leaves out the largest runs to see which of them predicts these, and says when the data
cannot distinguish models. `model` makes a family of any model, some of its parameters free. SciPy
is imported where it is used.
"""
