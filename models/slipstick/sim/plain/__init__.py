"""The plain kernel: an event simulator in plain Python, the executable specification of the
simulator.

`event_loop` holds tokens and the event list, `stations` queues and locks; `kernel` runs plans,
`process` generators, and `timeline` records what happens.
"""
