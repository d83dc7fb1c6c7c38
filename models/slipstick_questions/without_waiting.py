"""Values of resources and waits where nothing waits: the closed form answers there, and leaves them
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slipstick.errors import NoAnswerError
from slipstick.late import Array, np
from slipstick.method.answers import Answers
from slipstick.method.methods import kind_of
from slipstick.method.names import names_of
from slipstick.results.sweep import join_columns
from slipstick.study.points import PointBlock
from slipstick.vocabulary import CLOSED_FORM, MEAN_VALUE, known_methods


def columns_without_waiting(
    block: PointBlock, point_answers: Answers, columns: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the requested columns that the closed form lacks, such as the time for a lock, which
    is 0 for a single processor. Mean value analysis, which is exact there, computes them.

    Parameters
    ----------
    block : the points, and the names of the requested columns
    point_answers : their answers
    columns : those that the answers have
    """
    # A law has no other method.
    if MEAN_VALUE not in known_methods(kind_of(block.solvable.model)):
        return {}
    methods = np.array(point_answers.provenance(block.count).methods)
    is_closed_form = methods == CLOSED_FORM
    no_values = np.full(block.count, np.nan)
    known_names = names_of(block.solvable.model, MEAN_VALUE) if is_closed_form.any() else {}
    missing_names = [
        name
        for name in block.value_names or ()
        if name in known_names and np.isnan(columns.get(name, no_values)[is_closed_form]).any()
    ]
    if not missing_names:
        return {}
    rows = np.flatnonzero(is_closed_form)
    try:
        form = replace(block.solvable, method=MEAN_VALUE).form
        points = form.points({path: column[rows] for path, column in block.values.items()})
    except NoAnswerError:
        return {}
    # Where something waits, an approximation would contradict the closed form.
    if not np.all(points.provenance(len(rows)).exact):
        return {}
    further_columns = join_columns(block.count, [(rows, points.columns())])
    return {
        name: np.where(is_closed_form, further_columns[name], columns.get(name, no_values))
        for name in missing_names
        if name in further_columns
    }
