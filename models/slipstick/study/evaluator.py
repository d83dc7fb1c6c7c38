"""One case as a function of its parameters: built once, answered at many points."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from slipstick.answer import Answer, Value
from slipstick.late import Array, np
from slipstick.law.account import OVERHEAD_REDUCTION
from slipstick.method.names import OVERHEAD, REDUCTION, AnswerNames, moment, unit_of, until
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.results.study import Provenance
from slipstick.schema.inputs import BuiltModel, Inputs, Settings, built_with
from slipstick.schema.library import Library
from slipstick.schema.text import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slipstick.method.answers import Answers, CompiledModel

ALL_SHARES = 10**6
"""More shares than there are parameters: what a ranking needs of a simulation."""


@dataclass(frozen=True)
class Evaluator:
    """A case at any values of its parameters; what the method makes of its model is made when it is first asked for.

    Parameters
    ----------
    case : its name
    inputs, built : the case, and its model
    smooth : nothing is simulated, unless the case says so
    """

    case: str
    inputs: Inputs
    built: BuiltModel
    smooth: bool = False

    @cached_property
    def form(self) -> CompiledModel:
        """Give what the method made of the model."""

        from slipstick.method.methods import form_of

        built = self.built
        return form_of(built.model, built.parameters, built.options.method, built.options.simulation, self.smooth)

    @property
    def smoothed(self) -> Evaluator:
        """The same, for what needs derivatives or thousands of points: where simulation is the default, mean value answers."""
        return replace(self, smooth=True) if self.built.options.method is None else self

    @property
    def free(self) -> frozenset[str]:
        """Name what can be varied without building anew: all that the model is computed from."""
        return self.built.free

    @property
    def names(self) -> AnswerNames:
        """List the values that answers can have; nothing is compiled or solved for it."""
        return self.built.shape.names(self.built.options.method)

    def longer(self, factor: float) -> Evaluator:
        """Give the case with runs of its simulation about so many times as long."""
        if factor == 1:
            return self
        options = replace(self.built.options, simulation=self.built.options.simulation.longer(factor))
        return replace(self, built=replace(self.built, options=options))

    @property
    def method(self) -> str:
        """Name the method that answers."""
        return self.solved({}, ())[1].methods[0]

    def columns(
        self, values: Mapping[str, Array], wanted: Collection[str] | None = None, *, jobs: int = 1
    ) -> dict[str, Array]:
        """Give the columns of `solved` alone."""
        return self._all(values, wanted, jobs)[0]

    def solved(
        self, values: Mapping[str, Array], wanted: Collection[str] | None = None, *, jobs: int = 1
    ) -> tuple[dict[str, Array], Provenance]:
        """Answer at aligned points, which may be no more than one, and say how each was computed.

        Parameters
        ----------
        values : by path, in base units; those that no time is computed from are passed over [points]
        wanted : the columns to give; all by default
        jobs : blocks solved side by side; the results do not depend on it

        Returns
        -------
        the columns, not a number where there is no answer; and how each point was computed
        """
        found, pieces = self._all(values, wanted, jobs)
        count = sum(len(rows) for rows, _ in pieces)
        return found, Provenance.joined(count, ((rows, points.provenance(len(rows))) for rows, points in pieces))

    def _all(
        self, values: Mapping[str, Array], wanted: Collection[str] | None, jobs: int
    ) -> tuple[dict[str, Array], list[tuple[NDArray[np.intp], Answers]]]:
        """Solve block by block: the columns of all, and the answers of each block."""
        count = max((len(each) for each in values.values()), default=1)
        read = {path: each for path, each in values.items() if path in self.form.parameters}
        blocks = list(self.form.blocks(read, count))

        def at_rows(rows: NDArray[np.intp]) -> tuple[dict[str, Array], Answers]:
            return self._block({path: each[rows] for path, each in read.items()}, len(rows), wanted)

        if jobs > 1 and len(blocks) > 1:
            with ThreadPoolExecutor(jobs) as pool:
                pieces = list(pool.map(at_rows, blocks))
        else:
            pieces = [at_rows(rows) for rows in blocks]
        found: dict[str, Array] = {}
        for rows, (piece, _) in zip(blocks, pieces, strict=True):
            for name, column in piece.items():
                found.setdefault(name, np.full(count, np.nan))[rows] = column
        return found, [(rows, points) for rows, (_, points) in zip(blocks, pieces, strict=True)]

    def _block(
        self, values: Mapping[str, Array], count: int, wanted: Collection[str] | None
    ) -> tuple[dict[str, Array], Answers]:
        points = self.form.points(values)
        if points.interrupted:
            raise KeyboardInterrupt
        found = {name: np.broadcast_to(each, (count,)) for name, each in points.columns().items()}
        known = np.isfinite(found[self.form.quantity])
        if isinstance(self.built.model, Model) and "time" in found:
            found |= overhead(found, self.built.model.useful)
        further = [name for name in wanted or () if name not in found and name in self.names]
        found |= in_whole_answers(points, further, count)
        found |= transient_columns(self.built, further, values, count, self.form.estimated)
        kept = found if wanted is None else {name: each for name, each in found.items() if name in wanted}
        return {name: np.where(known, each, np.nan) for name, each in kept.items()}, points

    def unit(self, column: str) -> str:
        """Give the base unit of a column."""
        return "s" if OVERHEAD in column else self.form.unit(column)

    @cached_property
    def own(self) -> dict[str, Array]:
        """Answer at the case's own values."""
        return self.columns({})

    def why(self, values: Mapping[str, Array], index: int) -> str:
        """Say why a point has no answer; values that no time is computed from are passed over."""
        return why(self.form, {path: each for path, each in values.items() if path in self.form.parameters}, index)

    def answer(self, shares: int = 0, wanted: Collection[str] = ()) -> Answer:
        """Answer at the case's own values, with the notes of the model; a simulation gives at least so many shares.

        Values that are not of the long run, such as ``time_until[door,2]``, are there if they are wanted.
        """

        from slipstick.method.methods import answered

        built = self.built
        trial = replace(built.options.simulation, shares=max(shares, built.options.simulation.shares))
        (found,) = answered(built.model, built.parameters, built.options.method, trial, self.smooth)
        return with_transient(
            replace(found, notes=(*found.notes, *built.notes)), built, filter(self.names.__contains__, wanted)
        )


def why(form: CompiledModel, values: Mapping[str, Array], index: int) -> str:
    """Say why a point has no answer, in the words of the point solved alone."""
    alone = {path: each[index : index + 1] for path, each in values.items()}
    return form.points(alone).answer(0, shares=False).failed or "no answer"


def in_whole_answers(points: Answers, names: Sequence[str], count: int) -> dict[str, Array]:
    """Give the quantiles among some values, which of exact methods only whole answers have [points]."""
    names = [name for name in names if name.startswith("response_time_quantile[")]
    if not names or points.solution.detail is None:
        return {}
    whole = [points.answer(row, shares=False) for row in range(len(points))]
    return {name: np.array([each.find(name) for each in whole], dtype=float) * np.ones(count) for name in names}


def transient_at(built: BuiltModel, names: Iterable[str], values: Mapping[str, float]) -> dict[str, float | str]:
    """Give the transient values among some of a network, each a number or why there is none; other models have none."""
    names = [name for name in names if until(name) or moment(name)]
    if not names or not isinstance(built.model, QueueingNetwork):
        return {}
    from slipstick.method.networks.transient import transient_values

    known = {path: each.given.value for path, each in built.entries.items()}
    return transient_values(built.model, names, {**known, **values})


def transient_columns(
    built: BuiltModel, names: Sequence[str], values: Mapping[str, Array], count: int, estimated: bool
) -> dict[str, Array]:
    """Give the transient values among some [points]; not a number where there is none.

    Beside estimates each is its own interval, for it is none.
    """
    rows = [{path: float(each[row % len(each)]) for path, each in values.items()} for row in range(count)]
    found = [transient_at(built, names, each) for each in rows]
    columns = {
        name: np.array([np.nan if isinstance(each[name], str) else each[name] for each in found]) for name in found[0]
    }
    ends = ("low", "high") if estimated else ()
    return columns | {f"{end}[{name}]": column for end in ends for name, column in columns.items()}


def with_transient(answer: Answer, built: BuiltModel, names: Iterable[str]) -> Answer:
    """Give an answer the transient values among some, and a note on each that there is not."""
    found = {} if answer.failed else transient_at(built, names, {})
    numbers = {name: each for name, each in found.items() if not isinstance(each, str)}
    known = {
        name: Value(each, unit_of(name), *([each] * 2 if answer.converged is not None else ()))
        for name, each in numbers.items()
    }
    notes = [f"by the Markov chain of the network, exactly: {', '.join(known)}"] if known else []
    notes += [f"{name} has no value: {each}" for name, each in found.items() if isinstance(each, str)]
    return replace(answer, values={**answer.values, **known}, notes=(*answer.notes, *notes))


def unless_interrupted(answer: Answer) -> Answer:
    """End a study that is being interrupted, before anything is written."""
    if answer.interrupted:
        raise KeyboardInterrupt
    return answer


def evaluator(case: str, settings: Settings, library: Library) -> Evaluator:
    """Build a case, once for all questions that are put to it with the same settings.

    Raises
    ------
    SpecError : something is wrong with its settings
    """
    inputs, built = built_with(settings, library)
    return library.once((case, id(inputs)), lambda: Evaluator(case, inputs, built), inputs)


def with_values(case: str, settings: Settings, values: Settings, library: Library) -> Evaluator:
    """Build a case so that some of its values, which were checked in their place, can be varied.

    What it is computed from anyway is no reason to build it anew.

    Raises
    ------
    SpecError : something is wrong with its settings
    """
    own = evaluator(case, settings, library)
    paths = {canonical(own.inputs.tree, path) for path in values}
    # A parameter of a file may be written in any unit, so whether its new one fits is known only once it is built.
    if paths <= own.free & own.built.parameters.keys() and not any(path.startswith("parameters.") for path in paths):
        return own
    return evaluator(case, {**settings, **values}, library)


def overhead(columns: Mapping[str, Array], useful: Sequence[str]) -> dict[str, Array]:
    """Take the useful parts of the account off the time [s, points].

    Where the account is an estimate, the intervals of the other parts add up, which is the most it can be off.

    Parameters
    ----------
    columns : of the answers, ``time`` among them
    useful : components of the account

    Returns
    -------
    the column ``overhead``, and with estimates those of the ends of its interval
    """

    parts = [name for name in columns if name.startswith("account[")]
    mine = {f"account[{name}]" for name in useful}
    zeros = np.zeros(len(columns["time"]))
    found = {OVERHEAD: columns["time"] - reduce(np.add, (columns[name] for name in parts if name in mine), zeros)}
    if others := sorted(name for name in parts if name not in mine and f"low[{name}]" in columns):
        off = (sum(columns[f"{end}[{name}]"] - columns[name] for name in others) for end in ("low", "high"))
        low, high = (found[OVERHEAD] + each for each in off)
        found |= {
            f"low[{OVERHEAD}]": np.where(low < 0, np.minimum(0.0, found[OVERHEAD]), low),
            f"high[{OVERHEAD}]": high,
        }
    return found


def with_derived(cases: Mapping[str, Answer], base: str, wanted: Sequence[str]) -> dict[str, Answer]:
    """Give the answers of cases what of this kind is asked for.

    Parameters
    ----------
    cases : answers by case
    base : the case that the others are held against
    wanted : values that a study asks for
    """
    if not {OVERHEAD, REDUCTION} & set(wanted):
        return dict(cases)
    before = _overhead(cases[base]) if base in cases else None
    return {name: _with(answer, before if name != base else None) for name, answer in cases.items()}


def _overhead(answer: Answer) -> Value | None:
    """Give the overhead of an answer, as `overhead` does."""
    time = answer.find("time")
    if time is None or not answer.account:
        return None
    columns = {
        "time": np.array([time]),
        **{f"account[{name}]": np.array([each]) for name, each in answer.account.items()},
    }
    for name, ends in answer.intervals.items():
        columns |= {f"{end}[{name}]": np.array([each]) for end, each in zip(("low", "high"), ends, strict=True)}
    found = {name: float(each[0]) for name, each in overhead(columns, answer.useful).items()}
    return Value(found[OVERHEAD], "s", found.get(f"low[{OVERHEAD}]"), found.get(f"high[{OVERHEAD}]"))


def _with(answer: Answer, before: Value | None) -> Answer:
    after = _overhead(answer)
    if after is None:
        return answer
    values = {**answer.values, OVERHEAD: after}
    if before is not None and before.value:
        values[REDUCTION] = reduction(after, before)
    return replace(answer, values=values)


def reduction(after: Value, before: Value) -> Value:
    """Give 1 - after / before; the interval is the widest, however the two depend on each other.

    >>> reduction(Value(1.0, "s", 0.75, 1.25), Value(2.0, "s", 1.75, 2.5))
    Value(value=0.5, unit='1', low=0.2857142857142857, high=0.7)
    """
    assert after.value is not None
    assert before.value
    value = float(OVERHEAD_REDUCTION.equation(before.value, after.value))
    if {after.low, after.high} | {before.low, before.high} == {None}:
        return Value(value, "1")
    (least, most), (low, high) = _both(after), _both(before)
    return Value(value, "1", 1.0 - most / low if low > 0 else None, 1.0 - least / high)


def _both(each: Value) -> tuple[float, float]:
    assert each.value is not None
    return each.value if each.low is None else each.low, each.value if each.high is None else each.high
