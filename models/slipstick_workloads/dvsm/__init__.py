"""Distributed virtual shared memory: the cost of each operation alone, and of several processors
that fault together.
"""
