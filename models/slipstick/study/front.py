"""Studies for Python: one call from a file to results."""

from __future__ import annotations

from slipstick.results import Results
from slipstick.study.run import prepare, run

__all__ = ["study"]


def study(reference: str) -> Results:
    """Run a study of the catalogue, or of a file, and give what it found.

    Parameters
    ----------
    reference : its name, or its file

    Raises
    ------
    SpecError : the study, or anything it names, is wrong
    """
    return run(prepare(reference))
