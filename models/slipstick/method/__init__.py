"""MODEL -> ANSWER: one file for each method.

Every method takes a `slipstick.model.system.Model` and gives the same `slipstick.answer.Answer`.

Why this shape: `closed_form` turns the activity tree into one expression and reads everything else,
account, shares, derivatives, off that expression's tape. `exactness` says what the closed form leaves
out of the model at hand; `limits` says which pipeline stage binds and where another takes over. `flatten`
turns the tree into the plan that the simulator runs, and `simulation` its result into an answer. `forms` puts
all that answers for many points behind one interface, and `agree` holds answers against each other.
"""
