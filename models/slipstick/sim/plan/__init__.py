"""Plans, the programs of simulations as flat data; their builder; the distributions of their
random times.
"""
