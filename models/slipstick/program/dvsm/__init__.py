"""Distributed virtual shared memory (TreadMarks) on a network of workstations.

`operations` has each operation alone, as its authors estimated it, with the measured remote delay as an input.
`contention` has processors that fault at the same time, so that the delay is a result.
"""
