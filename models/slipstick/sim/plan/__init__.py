"""Plans, the programs of simulations as flat data; their builder; the distributions of their
random times; and the rare events that a run has to wait for.

A plan holds numbers and instructions only, so that two kernels can execute it and its hash can
stand for it. The builder alone knows how activities and networks become instructions.
"""
