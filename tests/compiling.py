"""``python -m tests.compiling`` compiles the loops of the simulators for the processes that run the
tests.
"""

from __future__ import annotations

import os

from tests.processes import CACHE


def compile_loops() -> None:
    """Run the compiled loops for a few events, which stores their code."""
    from slipstick import Simulation, solve
    from slipstick.sim.plan.builder import Builder
    from slipstick.sim.plan.distributions import ServiceTime
    from slipstick_compiled.kernel import CompiledKernel

    builder = Builder()
    builder.delay(ServiceTime("deterministic", 1.0, 0.0))
    builder.add_closed_group("all", customer_count=1, first_instruction=0)
    CompiledKernel(builder.plan()).run(1)
    few_rounds = Simulation(cycles=500, kernel="compiled")
    solve("group-commit", method="simulation", simulation=few_rounds)


if __name__ == "__main__":
    os.environ["XDG_CACHE_HOME"] = str(CACHE)
    compile_loops()
