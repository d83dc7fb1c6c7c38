"""Studies for Python: one call from a file to results."""

from __future__ import annotations

from slipstick.results.study import Results
from slipstick.study.run import prepare
from slipstick.study.run import run as run_prepared


def run(reference: str) -> Results:
    """Run a study of the catalogue, or of a file, and give what it found.

    Parameters
    ----------
    reference : its name, or its file

    Raises
    ------
    SpecError : the study, or anything it names, is wrong
    """
    return run_prepared(prepare(reference))
