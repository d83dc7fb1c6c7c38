"""HOW EVENTS RUN: clock, stations, locks, barriers, random streams and estimates.

Nothing here knows activities, expressions or files: `method/simulation` flattens a model into a `Plan`,
a short program of numbered instructions over numbered resources, and everything below runs plans.

Why this shape: a plan (`plan/`) is data, so two kernels run it. The plain kernel (`plain/`) says what each
instruction means, one small function each, and also resumes Python generators for what is not a tree. The
compiled kernel (`compiled/`) is the same over flat arrays. Both take their random numbers from the same blocks
of the same named streams, so they give the same events to the last bit, and a test holds them to it. What is
composite, such as a spin lock that loads a bus or a barrier that counts in memory, is spelt in plain
instructions by `plan.spelling`, not in the kernels. Kernels write rows of statistics; `estimate/` makes means
with intervals of them, and `run` goes on until those are narrow enough.
"""
