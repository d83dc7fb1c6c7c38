"""MODEL -> ANSWER: one file for each method.

Every method takes a `slipstick.model.system.Model` and gives the same `slipstick.answer.Answer`.

Why this shape: `closed_form` turns the activity tree into one expression and reads everything else,
account, shares, derivatives, off that expression's tape. `exactness` says what the closed form leaves
out of the model at hand; `limits` says which pipeline stage binds and where another takes over.
"""
