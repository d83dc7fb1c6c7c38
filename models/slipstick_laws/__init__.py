"""Laws that people look up by name, and that no method of the calculator is made of: speed-up,
scalability, stations with general service, finite capacity or population, interconnects, roofline,
checkpoints.

slipstick finds this package by its entry points and imports none of it. Each module has the laws of
one family; `catalogue` lists them.
"""
