"""Activities added up: one expression, and everything else read off its tape.

Why this shape: `form` turns the activity tree into one expression, and account, shares and derivatives come off that
expression's tape at any number of `points`; `times` names the parts. `exactness` says what the closed form leaves out of
the model at hand; `limits` says which pipeline stage binds and where another takes over.
"""
