"""Specs made from files of other tools: networks, machines' memory, activities and queueing
networks.

Why this shape: `formats` tells the format of a file and calls the module of the spec that it makes,
which gives an `imported.ImportedSpec`: plain data with the source of every value, and what is said
of it. Benchmarks of messages are read by `readers`, as runs are, since `fit` takes them as well.
"""
