"""Laws that people look up by name, and that no method of the calculator is made of: speed-up,
scalability, measured runs, stations, also with general service, finite capacity or population,
operational laws, locks and barriers, interconnects, roofline, checkpoints.

slipstick finds this package by its entry points and imports none of it. Each module has the laws of
one family; `catalogue` lists them.
"""
