"""A check of every law as a few tests, each of a group of laws: two thousand tests of a law each
cost more in bookkeeping than in checks.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slipstick.law import LAWS, Law

__all__ = ["every_law"]

GROUP = 16


def every_law(check: Callable[[Law], None]) -> Callable[[list[Law]], None]:
    """Turn a check of one law into tests of all, named by the first law of each group. A failed
    check shows its law as an argument.
    """
    laws = list(LAWS.values())
    groups = [laws[first : first + GROUP] for first in range(0, len(laws), GROUP)]

    def of_a_group(group: list[Law]) -> None:
        for law in group:
            check(law)

    of_a_group.__name__ = check.__name__
    of_a_group.__doc__ = check.__doc__
    names = [f"{group[0].name} and {len(group) - 1} more" for group in groups]
    return pytest.mark.parametrize("group", groups, ids=names)(of_a_group)
