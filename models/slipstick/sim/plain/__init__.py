"""The plain kernel: an event simulator in plain Python, the executable specification of the simulator.

`event_loop` holds the tokens and the event list, `stations` the queues and locks, `runtime` the whole state of a run;
`instructions` gives the meaning of each instruction. `kernel` runs plans, `process` Python generators, and `timeline`
records what happens.
"""
