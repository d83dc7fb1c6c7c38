"""Counts as plain data; the refusals are in tests/test_engine_messages.py."""

from __future__ import annotations

import json

from slipstick_workloads.counts import Counts


def test_counts_that_are_zero_may_be_left_out() -> None:
    tally = {"work": 7, "faults": [[2, 40, 3]], "acquisitions": [[2, 4]]}
    served = {"served_diffs": 3, "forwarded": 2, "granted": 2, "sent": {"diffs": [3, 60]}}
    counts = Counts.from_dict(
        {
            "program": "mine",
            "processors": 3,
            "page": 4096,
            "unit": "1",
            "phases": [{"name": "step", "tallies": [tally, served, served]}],
        }
    )
    assert counts.to_dict()["phases"][0]["tallies"] == [tally, served, served]
    assert (counts.total("faults"), counts.total("acquisitions"), counts.bytes_sent()) == (
        3,
        4,
        120,
    )
    assert counts.without("step").phases == ()
    assert Counts.from_dict(json.loads(json.dumps(counts.to_dict()))) == counts
