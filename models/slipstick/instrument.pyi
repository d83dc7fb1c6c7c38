"""The public names of `slipstick_measure.instrument`, for type checkers and editors."""

from slipstick_measure.instrument import *
