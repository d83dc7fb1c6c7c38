"""MODEL -> ANSWER: one file for each method.

Every method takes a `slipstick.model.system.Model`, or a queueing network, and gives the same `slipstick.answer.Answer`;
`methods` is the table of who answers for what.

Why this shape: `closed_form` turns the activity tree into one expression and reads everything else,
account, shares, derivatives, off that expression's tape. `exactness` says what the closed form leaves
out of the model at hand; `limits` says which pipeline stage binds and where another takes over. `mean_value`
goes through the same tree with the waits that follow from who is where. `flatten` turns the tree into the plan
that the simulator runs, and `simulation` its result into an answer. A queueing network becomes arrays
(`network_arrays`), any solver of `slipstick.queueing` takes them (`network_solvers`), and what it finds is read
as columns or as one answer (`network_form`). What sits behind a sweep is a `Form`, whatever the method;
`methods` is the table of them all, and `agree` holds answers against each other. `scaling` asks any form how much larger
the work must be on more processors.
"""
