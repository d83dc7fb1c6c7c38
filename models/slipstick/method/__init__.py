"""MODEL -> ANSWER: a room for each way to one.

Every method takes a `slipstick.model.system.Model`, or a queueing network, and gives the same `slipstick.answer.Answer`.

Why this shape: what sits behind a sweep is a `Form`, whatever the method (`forms`); `methods` is the table of who
answers for what, `names` what people call them, `bounds` what needs no method,
`numbers` every expression that a model is made of, and `agree` holds answers against each other. The rooms: `closed_form`
adds up an activity, `mean_value` goes through the same tree with the waits that follow from who is where, `simulation` lays
it out for the simulator, and `networks` does all three for queueing networks. `scaling` asks any form how much larger the
work must be on more processors.
"""
