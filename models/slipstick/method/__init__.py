"""Methods that compute answers for models: a module or a package for each.

Every method takes a `slipstick.model.system.Model`, or a queueing network, and gives the same
`slipstick.answer.Answer`.

Why this shape: what is behind a sweep is a `CompiledModel`, whatever the method, and what it finds
a `Solution` (`answers`); `methods` says which method answers for which model, `names` what its
values are called, `bounds` what holds for every method, and `agreement` compares methods.
`closed_form` adds up an activity without contention, `simulation` makes it a plan for the
simulator, and `networks` does both for queueing networks. Mean value analysis and Markov chains of
activities are the packages `slipstick_mean_value` and `slipstick_chains`.
"""
