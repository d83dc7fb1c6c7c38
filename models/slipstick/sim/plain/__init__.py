"""The plain kernel: an event simulator in plain Python, the executable specification of the simulator."""
