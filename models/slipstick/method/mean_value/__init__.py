"""Mean values of an activity, contention included.

`visits` numbers the places where a resource is used, and says what a processor that arrives there
waits for; `traversal` adds up the time of the activity with those waits, cut by barriers where
there are any; `closed` adds one processor after the other. `closed`, `open` and `programs` answer
for the kinds of population, and `form` makes a solution of that.

A traversal is a function of the waits alone, and the waits are a function of the mean numbers
present. So one traversal gives the time, its derivatives (complex numbers in) and the account (what
is booked to a label scaled by 1 + ih). Every time is a mean and a variance
(`slipstick.random_times`).
"""

from slipstick.method.mean_value.form import MeanValue

__all__ = ["MeanValue"]
