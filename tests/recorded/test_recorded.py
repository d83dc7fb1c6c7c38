"""Each number that commands print and models answer is as it was recorded.

The other tests hold values against second roads; this one tells of any change of a value, of a
line or a limit in a message, whichever formula, reader or question it comes from. The inputs were
chosen among some thousands so that each branch that one of them takes is taken in the least time.
After a change that is meant, ``python -m tests.recorded`` records anew.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.recorded.inputs import Outcome
from tests.recorded.record import TURNS, differences, groups

GROUPS = [
    pytest.param(outcomes, id=f"{path.stem} {kind}", marks=pytest.mark.turns(turns))
    for path, turns in TURNS.items()
    for kind, outcomes in groups(path).items()
]


@pytest.mark.parametrize("outcomes", GROUPS)
def test_each_outcome_is_as_recorded(outcomes: Mapping[str, Outcome]) -> None:
    different = list(differences(outcomes))
    assert not different, "\n".join(different)
