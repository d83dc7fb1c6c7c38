"""The compiled kernel of the simulator: the instructions of the plain kernel over flat tables,
compiled where numba is installed. It adds itself through the entry points of pyproject.toml.
"""

KERNELS = {"compiled": "slipstick_compiled.kernel:CompiledKernel"}
