"""Event simulation: plans, two kernels that run them, and estimates with confidence intervals.

Nothing here knows activities, expressions or files: `method/simulation` flattens a model into a
`Plan`, a short program of numbered instructions over numbered resources, and everything below runs
plans.

Why this shape: a plan (`plan/`) is data, so two kernels run it. The plain kernel (`plain/`) says
what each instruction means, one method each. The compiled kernel (`compiled/`) does the same over
flat arrays. Both draw from the same named random streams, so they give the same events to the last
bit, and a test compares them. Composite resources, such as a spin lock that loads a bus, are
written in plain instructions by `plan.builder`, not in the kernels. Kernels write rows of
cumulative statistics; `estimate` makes means with confidence intervals of them, and `run` continues
until the intervals are narrow enough or the budget is used up.
"""
