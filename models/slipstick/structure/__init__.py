"""Facts about a model, read once for all methods: times and work without contention, where
something may be waited for, where a model has no steady state, and how often everything is visited.

They follow from what each kind of step, resource and population says of itself (`model.steps`,
`model.system`), so that a kind added later is right in all of them.
"""
