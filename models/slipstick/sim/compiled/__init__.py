"""The compiled kernel: the same instructions over flat tables, compiled where numba is
installed.
"""
