"""Lazy release consistency as counts: what accesses to shared memory make a protocol do, without a
clock.

A program is a stream of accesses for each processor (`accesses`). `run` takes them in turn and
gives `Counts`: for each phase between barriers and each processor the faults, empty misses, lock
acquisitions, write notices, invalidations, messages and bytes. Their costs are not part of this
package.

Why this shape: each module is one part of the protocol. `intervals` holds the order of the
intervals, `pages` the state of every page and what a fault requests, with several writers of a page
or one; `synchronization` holds locks and barriers, which carry write notices from one processor to
the next. All record in the tallies of `Counts`, and none knows a time. A set of words of one page
is a Python integer, one bit a word: unions and counts for pages of kilobytes are single operations,
and exact.
"""
