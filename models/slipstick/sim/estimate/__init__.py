"""WHAT WAS SEEN: rows of statistics, and means, intervals and quantiles made of them."""
