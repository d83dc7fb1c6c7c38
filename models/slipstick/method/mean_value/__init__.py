"""MODEL -> ANSWER, contention included: mean values of an activity tree.

`tree` numbers the places where something is waited for; `crowd` says what one who arrives there finds;
`passes` goes through the tree once with those waits, `forks`, `lines` and `sections` where times run side by
side; `recursion` adds one processor after the other. `closed`, `open` and `programs` answer for the three kinds
of population, `form` makes columns and answers of that.

Why this shape: a pass is a function of the waits alone, and the waits of who is where. So the same pass gives
the time, its derivatives (complex numbers in) and the account (what is booked to a label scaled by 1 + ih).
Every time is a mean and a variance, `spans`; the longest of several is found in one place, `longest`.
"""

from slipstick.method.mean_value.form import METHOD, MeanValue

__all__ = ["METHOD", "MeanValue"]
