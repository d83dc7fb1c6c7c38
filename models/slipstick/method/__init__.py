"""Methods that compute answers for models: a module or a package for each.

Every method takes a `slipstick.model.system.Model`, or a queueing network, and gives the same
`slipstick.answer.Answer`.

A point is one set of values of the parameters: arrays have one entry for each point. The account of
an answer divides the time of a processor among labels (steps, waits, locks, barriers), to which the
time is booked; each label belongs to a component and a technology class.

Why this shape: what is behind a sweep is a `CompiledModel`, whatever the method, and what it finds
a `Solution` (`answers`); `methods` says which method answers for which model, `names` what its
values are called, `identities` and `bounds` what holds for every method, `ladder` which method is
tried after which, and `second_road` how default answers are checked. `closed_form` adds up an
activity without contention, `simulation` makes it a plan for the simulator, and `networks` does
both for queueing networks. Mean value analysis and Markov chains of activities are the packages
`slipstick_mean_value` and `slipstick_chains`.
"""
