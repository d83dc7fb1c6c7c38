"""Sweeps: a plan carried out, group by group, into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slipstick.answer import Answer
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.forms import Form, Solved
from slipstick.model.system import Model
from slipstick.results.study import Sweep
from slipstick.study.points.derived import OVERHEAD, overhead
from slipstick.study.points.plan import Group, Plan

__all__ = ["Progress", "carried_out"]

MOST_WORDS = 1000
"""Of so many points without an answer it is said why."""

Array = NDArray[np.float64]
Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class _Found:
    """Answers to one group, in the order of its rows."""

    rows: NDArray[np.intp]
    columns: Mapping[str, Array]
    form: Form
    limits: Mapping[str, list[str]] = field(default_factory=dict)
    answers: Sequence[Answer] = ()


def carried_out(
    name: str,
    plan: Plan,
    answer: Sequence[str],
    *,
    jobs: int = 1,
    whole: bool = False,
    progress: Progress = lambda points: None,
) -> Sweep:
    """Solve every point of a plan.

    Parameters
    ----------
    name : of the sweep
    plan : its points
    answer : the columns wanted
    jobs : groups solved side by side; the results do not depend on it
    whole : keep the whole answer of each point
    progress : told how many more points are done
    """

    def solved(block: _Block) -> _Found:
        found = _found(block, plan, answer, whole)
        progress(len(found.rows))
        return found

    blocks = [block for group in plan.groups for block in _blocks(group, answer, whole)]
    if jobs <= 1:
        return _assembled(name, plan, answer, [solved(block) for block in blocks])
    with ThreadPoolExecutor(jobs) as pool:
        try:
            return _assembled(name, plan, answer, list(pool.map(solved, blocks)))
        except BaseException:
            # Whoever interrupts does not want what has not begun.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@dataclass(frozen=True, slots=True)
class _Block:
    """Points of one group that are solved together; `alone` asks for the first quantity and nothing else."""

    group: Group
    rows: NDArray[np.intp]
    values: Mapping[str, Array]
    alone: bool = False


def _blocks(group: Group, answer: Sequence[str], whole: bool) -> Iterator[_Block]:
    form, rows = group.form, group.rows
    if list(answer) == [form.quantity] and not whole and len(rows) > form.block > 1:
        # The whole sweep through the time's own tape: many times faster than asking for everything.
        yield _Block(group, rows, group.values, alone=True)
        return
    for start in range(0, len(rows), form.block):
        cut = slice(start, start + form.block)
        yield _Block(group, rows[cut], {path: each[cut] for path, each in group.values.items()})


def _found(block: _Block, plan: Plan, answer: Sequence[str], whole: bool) -> _Found:
    form, rows = block.group.form, block.rows
    if block.alone:
        return _Found(rows, {form.quantity: _spread(form.times(block.values), len(rows))}, form)
    points = form.points(block.values)
    if points.interrupted:
        raise KeyboardInterrupt
    columns = {key: _spread(column, len(rows)) for key, column in points.columns().items()}
    model = block.group.bound.model
    if OVERHEAD in answer and isinstance(model, Model):
        columns[OVERHEAD] = overhead(columns, model.useful)
    limits = {key: each * (len(rows) // len(each)) for key, each in points.limits().items()}
    notes = block.group.bound.notes
    answers = [_labelled(points, number, row, plan, notes) for number, row in enumerate(rows)] if whole else []
    return _Found(rows, columns, form, limits, answers)


def _labelled(points: Solved, number: int, row: int, plan: Plan, notes: tuple[str, ...]) -> Answer:
    where = {axis.path: _plain(plan.points[axis.path][row]) for axis in plan.axes}
    found = points.answer(number if len(points) > 1 else 0, point=where, given=where)
    return replace(found, notes=(*found.notes, *notes)) if notes else found


def _assembled(name: str, plan: Plan, answer: Sequence[str], pieces: Sequence[_Found]) -> Sweep:
    total = len(plan.cases)
    # Each method knows the units of what it has.
    forms: dict[str, Form] = {}
    for piece in pieces:
        forms.update((key, piece.form) for key in piece.columns if key not in forms)
    columns = {key: np.full(total, np.nan) for key in forms}
    limits: dict[str, list[str]] = {}
    answers: dict[int, Answer] = {}
    for piece in pieces:
        for key, column in piece.columns.items():
            columns[key][piece.rows] = column
        for key, names in piece.limits.items():
            column_of_names = limits.setdefault(key, [""] * total)
            for row, stage in zip(piece.rows, names, strict=True):
                column_of_names[row] = stage
        answers.update(zip(piece.rows.tolist(), piece.answers, strict=False))
    failed = _failures(plan, columns)
    for column in columns.values():
        column[list(failed)] = np.nan
    return Sweep(
        name=name,
        axes=plan.axes,
        cases=plan.cases,
        points=plan.points,
        columns=columns,
        units={key: "s" if key == OVERHEAD else form.unit(key) for key, form in forms.items()},
        limits=limits,
        failed=failed,
        idle=_idle(plan, columns),
        answers=[answers[row] for row in sorted(answers)],
    )


def _failures(plan: Plan, columns: Mapping[str, Array]) -> dict[int, str]:
    """Say why a point has no answer, in the words of the point solved alone."""
    failed: dict[int, str] = {}
    for group in plan.groups:
        value = columns[group.form.quantity][group.rows]
        wrong = ~np.isfinite(value)
        if isinstance(group.form, ClosedForm):
            wrong |= value < 0
        for number in np.flatnonzero(wrong):
            failed[int(group.rows[number])] = _why(group, int(number)) if len(failed) < MOST_WORDS else "no answer"
    return dict(sorted(failed.items()))


def _why(group: Group, number: int) -> str:
    alone = {path: each[number : number + 1] for path, each in group.values.items()}
    return group.form.points(alone).answer(0).failed or "no answer"


def _idle(plan: Plan, columns: Mapping[str, Array]) -> tuple[str, ...]:
    """List the paths that changed nothing anywhere: not read by any model, or read without effect."""
    return tuple(axis.path for axis in plan.axes if len(axis.values) > 1 and not _matters(axis.path, plan, columns))


def _matters(path: str, plan: Plan, columns: Mapping[str, Array]) -> bool:
    """Compare every point with the first one that differs from it in this axis only."""
    # Zipped axes move together, and so matter together.
    others = [] if plan.zipped else [axis.path for axis in plan.axes if axis.path != path]
    keys = [np.unique(np.asarray(plan.points[other]), return_inverse=True)[1].reshape(-1) for other in others]
    cases = np.unique(np.asarray(plan.cases), return_inverse=True)[1].reshape(-1)
    _, group = np.unique(np.stack([cases, *keys]), axis=1, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    same = np.diff(group.reshape(-1)[order]) == 0
    for column in columns.values():
        sorted_ = column[order]
        neither = np.isnan(sorted_[1:]) & np.isnan(sorted_[:-1])
        if np.any(same & (sorted_[1:] != sorted_[:-1]) & ~neither):
            return True
    return False


def _spread(column: Array, count: int) -> Array:
    return np.broadcast_to(column, (count,))


def _plain(value: float | str) -> float | str:
    return value if isinstance(value, str) else float(value)
