"""THE READABLE KERNEL: what each instruction means, one small function each; and processes that are no trees.

Why this shape: `clock` passes time and says who goes on; `stations` and `locks` are where tokens wait; the
`runtime` holds them all for one run; `flow`, `pipelines`, `locking` and `meeting` are the instructions, and
`kernel` runs a plan made of them. `process` puts Python generators in the place of instructions.
"""
