"""Programs on shared memory: which pages each processor reads and writes, in which order, under
which locks.

The six programs of the paper as sharing patterns, and the means to write another: `layout` places
arrays in pages and divides items among processors. A program is a function that gives a
`SharedProgram`, whose `body` is a generator of accesses for one processor. This one lets two
processors fill a table in turn and sum it up:

>>> import numpy as np
>>> from slipstick_workloads.release_consistency.accesses import Arrive, SharedProgram, Compute
>>> from slipstick_workloads.release_consistency.run import run
>>> from slipstick_workloads.sharing.layout import MemoryLayout
>>> layout = MemoryLayout(page=4096)
>>> table = layout.array(count=1000, size=8)
>>> def body(me):
...     yield table.write(np.arange(me, 1000, 2))  # every other item
...     yield Compute(500)
...     yield Arrive("fill")
...     yield table.read_span(0, 1000)
...     yield Compute(1000)
>>> counts = run(SharedProgram("table", processors=2, pages=layout.pages, body=body, unit="items"))
>>> [(phase.name, phase.tallies[0].work, dict(phase.tallies[0].faults)) for phase in counts.phases]
[('fill', 500, {}), ('end', 1000, {(1, 3084): 1, (1, 2940): 1})]

Why this shape: one module for a program, and no numbers of any machine. What the paper does not
print is a parameter with a default, named as chosen in the module.
"""
