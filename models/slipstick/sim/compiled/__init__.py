"""THE FAST KERNEL: the same instructions over flat arrays, compiled where numba is installed."""
