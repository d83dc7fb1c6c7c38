"""RUNS -> A MODEL: curves and mechanisms fitted to timings, compared, and held to what they can promise.

Why this shape: `timings` makes arrays of a table; a `forms.Form` is a formula with free parameters, plain arithmetic
on arrays; a `families.Family` gives the forms that a kind of model may take; `least` fits one form, `bootstrap` says
how sure its parameters and predictions are, and `compare` fits all families, leaves out the largest runs to see which
of them predicts these, and says so when the data cannot tell models apart. SciPy is imported where it is used.
"""
