"""Mean values of an activity, contention included: the method ``mean-value``.

slipstick finds this package by its entry points and imports none of it.
`visits` numbers the places where a resource is used, and says what a processor that arrives there
waits for; `traversal` adds up the time of the activity with those waits, cut by barriers where
there are any; `closed` adds one processor after the other. `closed`, `open` and `programs` answer
for the kinds of population, and `form` makes a solution of that.

A traversal is a function of the waits alone, and the waits are a function of the mean numbers
present. So one traversal gives the time, its derivatives (complex numbers in) and the account (what
is booked to a label scaled by 1 + ih). Every time is a mean and a variance
(`slipstick.random_times`).
"""

METHODS = {"activity/mean-value": "slipstick_mean_value.form:MEAN_VALUE_ANALYSIS"}
