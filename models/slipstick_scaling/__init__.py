"""How a model scales: the size that each number of processors needs, and which overhead limits it.

slipstick finds this package by its entry points and imports none of it. `isoefficiency` has the
method, `question` asks it of the cases of a study under the key ``scale``, and `specs` has the
keys.
"""

QUESTIONS = {"scale": "slipstick_scaling.specs:SCALE"}
