"""LAZY RELEASE CONSISTENCY AS COUNTS: what accesses to shared memory make a protocol do, without a clock.

A program is a stream of accesses for each processor (`accesses`). `run` takes them in turn and gives `Counts`: for
each phase between barriers and each processor the faults, empty misses, lock acquisitions, write notices,
invalidations, messages and bytes. What any of it costs is for others to say.

Why this shape: each module is one part of the protocol. `intervals` knows what came before what, `pages` who holds
what and what a fault asks for, `diffs` and `owners` are its two ways with writers (several at a time, or one), `locks`
and `barriers` carry write notices from one processor to the next. All write into the tallies of `counts` and
none knows a time. A set of words of one page is a Python integer, one bit a word: unions and counts of
kilobyte pages are single operations, and exact.
"""
