"""Points that are solved together: all that a process needs to solve them, what it gives back, and
the key of both.

A block holds the resolved model, not the name of a file. Its key is a hash of its content and of
the code and libraries that solve it, so that a result of an earlier run is used again only if
everything that it depends on is the same.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from slipstick.answer import OVERHEAD, Answer, Value
from slipstick.extensions import FUNCTIONS, code_hash
from slipstick.late import Array, dataclass, np
from slipstick.limits import given_limits
from slipstick.method.names import is_transient
from slipstick.model.system import Model
from slipstick.results.sweep import PointTable, Provenance

if TYPE_CHECKING:
    from slipstick.expression.nodes import Parameter
    from slipstick.method.answers import Answers, CompiledModel
    from slipstick.method.ladder import Subject
    from slipstick.sim.estimate import ReplicationResult
    from slipstick.sim.run import Replication
    from slipstick.sim.settings import Simulation

COLUMNS, BRIEF, WHOLE = "columns", "brief", "whole"
"""The kinds of results that are requested of a block: all columns, the first quantity alone, or the
whole answer of a case.
"""

_QUANTILE_PREFIXES = ("response_time_quantile[", "within_target[")
_LIBRARIES = ("numpy", "scipy", "numba")


@cache
def engine_versions() -> dict[str, str]:
    """Return the versions of all that results depend on: Python, the numerical libraries, and a
    hash of the code.
    """
    versions = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "code": code_hash("slipstick*"),
    }
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return versions


@dataclass(frozen=True)
class SolvableModel:
    """A model and the method that solves it; the compiled model stays in its process.

    Parameters
    ----------
    model, parameters, method, simulation : as for `slipstick.method.methods.form_of`
    must_be_smooth : nothing is simulated, unless it is named
    """

    model: Subject
    parameters: Mapping[str, Parameter]
    method: str | None
    simulation: Simulation
    must_be_smooth: bool = False

    @cached_property
    def form(self) -> CompiledModel:
        """The compiled model."""
        from slipstick.method.methods import form_of

        return form_of(
            self.model, self.parameters, self.method, self.simulation, self.must_be_smooth
        )

    @cached_property
    def digest(self) -> bytes:
        """A hash of the content, the same in every process."""
        return _digest_of_tree(tuple(getattr(self, field.name) for field in fields(self)))

    @property
    def own_values(self) -> dict[str, float]:
        """Return the model's own values of its parameters."""
        return {
            name: parameter.value
            for name, parameter in self.parameters.items()
            if parameter.value is not None
        }

    def __getstate__(self) -> dict[str, Any]:
        # Compiled models hold functions that cannot be sent to another process; each compiles its
        # own.
        return {
            name: attribute_value
            for name, attribute_value in self.__dict__.items()
            if name != "form"
        }


@dataclass(frozen=True, slots=True)
class PointBlock:
    """Points of one model that are solved together.

    Parameters
    ----------
    solvable : the model, and how it is solved
    values : of what is varied, by path, in base units [points]
    count : of points
    result_kind : `COLUMNS`, `BRIEF` or `WHOLE`
    value_names : the columns to give; with `with_all_columns`, columns to compute besides the usual
        ones; None: the usual ones
    with_all_columns : give all columns
    with_answers : give the whole answer of each point as well
    with_reasons : give the reason of each point without an answer; of a single point it is always
        given
    axis_values : of the axes, for values before the steady state, which may be at a time that an
        axis varies [points]
    subject : case and place of a single point, for announcements
    """

    solvable: SolvableModel
    values: Mapping[str, Array]
    count: int
    result_kind: str = COLUMNS
    value_names: tuple[str, ...] | None = None
    with_all_columns: bool = False
    with_answers: bool = False
    with_reasons: bool = False
    axis_values: Mapping[str, Array] = field(default_factory=dict)
    subject: str = ""

    @property
    def key(self) -> bytes:
        """A hash of everything that the results depend on."""
        request = (
            self.count,
            self.result_kind,
            self.value_names,
            self.with_all_columns,
            self.with_answers,
            self.with_reasons,
            dict(given_limits()),
        )
        return sha256(
            self.solvable.digest
            + _digest_of_tree((self.values, self.axis_values, request, engine_versions()))
        ).digest()

    @property
    def is_replicable(self) -> bool:
        """Whether the point is simulated in replications, which may run side by side."""
        model = self.solvable.model
        runs_once = isinstance(model, Model) and model.population.finite
        return (self.has_replications or runs_once) and self.solvable.form.is_estimated

    @property
    def has_replications(self) -> bool:
        """Whether the settings ask for several replications."""
        return self.solvable.simulation.replications > 1

    def halves(self) -> tuple[PointBlock, PointBlock]:
        """Return two blocks with half of the points each."""
        slices = slice(0, self.count // 2), slice(self.count // 2, self.count)
        first_half, second_half = (
            replace(
                self,
                values={path: values[half] for path, values in self.values.items()},
                axis_values={path: values[half] for path, values in self.axis_values.items()},
                count=half.stop - half.start,
            )
            for half in slices
        )
        return first_half, second_half


@dataclass(frozen=True, slots=True)
class ReplicationBlock:
    """One replication of a point's simulation, solved as a block of its own."""

    replication: Replication
    count: int = 1

    @property
    def key(self) -> bytes:
        """A hash of everything that the results depend on."""
        replication = self.replication
        return sha256(
            _digest_of_tree(
                (replication.plan, replication.settings, replication.number, engine_versions())
            )
        ).digest()


Block = PointBlock | ReplicationBlock


@dataclass(frozen=True, slots=True)
class SolvedBlock(PointTable):
    """The results of a block, in the order of its points.

    Parameters
    ----------
    answers : whole ones, where they were asked for
    run : of one replication of a simulation
    """

    answers: tuple[Answer, ...] = ()
    run: ReplicationResult | None = None

    @classmethod
    def without_answer(cls, block: Block, reason: str) -> SolvedBlock:
        """Return the results of points that could not be solved."""
        if isinstance(block, ReplicationBlock):
            return cls(failed={0: reason})
        methods = [block.solvable.method or "none"] * block.count
        failed_answer = Answer(getattr(block.solvable.model, "name", ""), methods[0], failed=reason)
        answers = (
            (failed_answer,) * block.count
            if block.result_kind == WHOLE or block.with_answers
            else ()
        )
        reason_by_row = dict.fromkeys(range(block.count), reason)
        return cls({}, Provenance(methods, [False] * block.count), reason_by_row, answers=answers)

    @classmethod
    def joined(cls, counts_and_blocks: Sequence[tuple[int, SolvedBlock]]) -> SolvedBlock:
        """Join the results of blocks, one after the other, each with its number of points."""
        block_ends = list(accumulate((count for count, _ in counts_and_blocks), initial=0))
        indices_of_blocks = (np.arange(*span) for span in pairwise(block_ends))
        blocks = [solved_block for _, solved_block in counts_and_blocks]
        table = PointTable.join(block_ends[-1], zip(indices_of_blocks, blocks, strict=True))
        answers = tuple(answer for solved_block in blocks for answer in solved_block.answers)
        return cls(table.columns, table.provenance, table.failed, table.limits, answers)


def solve_block(block: Block) -> SolvedBlock:
    """Solve a block, in this process.

    Raises
    ------
    KeyboardInterrupt : a simulation was interrupted
    SlipstickError : the method cannot solve such a model
    """
    if isinstance(block, ReplicationBlock):
        replication_result = block.replication.run()
        if replication_result.stop_cause == "interrupted":
            raise KeyboardInterrupt
        return SolvedBlock(run=replication_result)
    if block.result_kind == WHOLE:
        return _whole_answers(block.solvable, block.value_names or ())
    form = block.solvable.form
    point_answers = (
        form.brief_points(block.values) if block.result_kind == BRIEF else form.points(block.values)
    )
    # An interrupted solve must not be stored as a result.
    if point_answers.interrupted:
        raise KeyboardInterrupt
    columns = {
        # A column of equal values may be stored as one number.
        name: np.broadcast_to(values, (block.count,))
        for name, values in point_answers.columns().items()
    }
    if block.result_kind == BRIEF:
        columns = {form.quantity: columns[form.quantity]}
        return SolvedBlock(columns, point_answers.provenance(block.count))
    if not (block.solvable.method or columns.keys() >= {*(block.value_names or ())}):
        columns |= FUNCTIONS["columns where nothing waits"](block, point_answers, columns)
    columns |= _derived_columns(block, point_answers, columns)
    if block.value_names is not None and not block.with_all_columns:
        columns = {
            name: column
            for name, column in columns.items()
            if name in block.value_names or name == form.quantity
        }
    reason_by_index: dict[int, str] = {}
    # Reasons are computed point by point, which many points cannot afford.
    if block.with_reasons or block.count == 1:
        quantity_column = columns.get(form.quantity, np.full(block.count, np.nan))
        for index in np.flatnonzero(~np.isfinite(quantity_column)).tolist():
            answer = point_answers.answer(index if len(point_answers) > 1 else 0, shares=False)
            reason_by_index[index] = answer.failed or "no answer"
    # A single limit holds for all points of the block.
    limiting_stages_by_pipeline = {
        pipeline_name: stage_names * (block.count // len(stage_names))
        for pipeline_name, stage_names in point_answers.limiting_stages().items()
    }
    indices = range(block.count if block.with_answers else 0)
    answers = tuple(
        point_answers.answer(index if len(point_answers) > 1 else 0) for index in indices
    )
    return SolvedBlock(
        columns,
        point_answers.provenance(block.count),
        reason_by_index,
        limiting_stages_by_pipeline,
        answers,
    )


def _whole_answers(solvable: SolvableModel, value_names: Sequence[str]) -> SolvedBlock:
    """Solve a model at its own values; a method of bounds returns several answers."""
    from slipstick.method.methods import compute_answers

    options = solvable.method, solvable.simulation, solvable.must_be_smooth
    answers = compute_answers(solvable.model, solvable.parameters, *options, values=value_names)
    if any(answer.interrupted for answer in answers):
        raise KeyboardInterrupt
    return SolvedBlock(answers=answers)


def _derived_columns(
    block: PointBlock, point_answers: Answers, columns: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the requested columns that the points do not have: the overhead, which is computed
    from other columns, and quantiles and transient values, which are computed point by point.
    """
    from slipstick.method.names import names_of

    model = block.solvable.model
    value_names = block.value_names or ()
    added_columns: dict[str, Array] = {}
    if (
        isinstance(model, Model)
        and "time" in columns
        and (not block.with_all_columns or OVERHEAD in value_names)
    ):
        added_columns |= overhead(columns, model.useful)
    single_point_names = [
        name
        for name in value_names
        if name not in columns and (name.startswith(_QUANTILE_PREFIXES) or is_transient(name))
    ]
    if single_point_names:
        available_names = names_of(model, block.solvable.method)
        single_point_names = [name for name in single_point_names if name in available_names]
        added_columns |= _quantile_columns(
            point_answers, single_point_names, block.count
        ) | _transient_columns(block, single_point_names)
    return added_columns


def _quantile_columns(
    point_answers: Answers, value_names: Sequence[str], point_count: int
) -> dict[str, Array]:
    """Return the requested quantiles and their intervals [points]. Exact methods compute them one
    point after the other.
    """
    value_names = [name for name in value_names if name.startswith(_QUANTILE_PREFIXES)]
    # Only methods that keep the details of a solution compute these point by point.
    if not value_names or point_answers.solution.detail is None:
        return {}
    answers_of_points = [
        point_answers.answer(row, shares=False) for row in range(len(point_answers))
    ]
    columns = {name: [answer.find(name) for answer in answers_of_points] for name in value_names}
    for name in value_names:
        intervals = [answer.ends(name) for answer in answers_of_points]
        if any(end is not None for interval in intervals for end in interval):
            columns |= {
                f"low[{name}]": [low for low, _ in intervals],
                f"high[{name}]": [high for _, high in intervals],
            }
    return {
        name: np.array(column, dtype=float) * np.ones(point_count)
        for name, column in columns.items()
    }


def _transient_columns(block: PointBlock, names: Sequence[str]) -> dict[str, Array]:
    """Return the requested transient values [points]; NaN where there is none.

    Exact ones have the value itself as both ends of their interval, where other columns or points
    are estimates.
    """
    varied_values = {**block.axis_values, **block.values}
    solvable = block.solvable
    if not any(map(is_transient, names)):
        return {}
    compute_transient_values = FUNCTIONS["transient values"]
    values_of_points = (
        {path: float(values[row % len(values)]) for path, values in varied_values.items()}
        for row in range(block.count)
    )
    transient_values_of_points = [
        compute_transient_values(
            solvable.model,
            names,
            {**solvable.own_values, **point_values},
            solvable.simulation,
        )
        for point_values in values_of_points
    ]
    columns: dict[str, Array] = {}
    for value_name in transient_values_of_points[0]:
        values_and_ends = [
            _value_and_ends(value_by_name[value_name])
            for value_by_name in transient_values_of_points
        ]
        column, *ends = np.array(values_and_ends).T
        columns[value_name] = column
        if solvable.form.is_estimated or any((end != column).any() for end in ends):
            columns |= {
                f"{name}[{value_name}]": end
                for name, end in zip(("low", "high"), ends, strict=True)
            }
    return columns


def _value_and_ends(value: Value | str) -> tuple[float, float, float]:
    """Return a transient value with the ends of its interval; NaN where it is the reason why there
    is none.
    """
    if isinstance(value, str) or value.value is None:
        return (np.nan,) * 3
    low, high = (value.value if end is None else end for end in value.ends)
    return value.value, low, high


def overhead(columns: Mapping[str, Array], useful_components: Collection[str]) -> dict[str, Array]:
    """Return the overhead: the time without the useful components of the account [s, points].

    Where the account is an estimate, the intervals of the other parts add up: the widest interval,
    however the parts depend on each other.

    Parameters
    ----------
    columns : of the answers, ``time`` among them
    useful_components : components of the account

    Returns
    -------
    the column ``overhead``, and with estimates those of the ends of its interval
    """
    account_parts = [name for name in columns if name.startswith("account[")]
    useful_parts = {f"account[{name}]" for name in useful_components}
    with np.errstate(invalid="ignore"):  # where there is no answer
        overhead_columns = {
            OVERHEAD: columns["time"]
            - sum(columns[name] for name in account_parts if name in useful_parts)
        }
    if other_parts := sorted(
        name for name in account_parts if name not in useful_parts and f"low[{name}]" in columns
    ):
        offset_sums = (
            sum(columns[f"{end}[{name}]"] - columns[name] for name in other_parts)
            for end in ("low", "high")
        )
        low, high = (overhead_columns[OVERHEAD] + offset for offset in offset_sums)
        overhead_columns |= {
            # Overhead is not negative, so its interval ends at 0 unless its value lies below by
            # rounding.
            f"low[{OVERHEAD}]": np.where(low < 0, np.minimum(0.0, overhead_columns[OVERHEAD]), low),
            f"high[{OVERHEAD}]": high,
        }
    return overhead_columns


def _digest_of_tree(value_tree: object) -> bytes:
    """Return a hash of the content of a tree of values. It is the same in every process, whether or
    not parts of the tree are shared in memory.
    """
    digest_by_id: dict[int, tuple[bytes, object]] = {}
    digest_by_text: dict[str, bytes] = {}

    def digest(value: object) -> bytes:
        if type(value) is str:
            if value not in digest_by_text:
                digest_by_text[value] = _hash_of_pieces("str", repr(value).encode())
            return digest_by_text[value]
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return _hash_of_pieces(type(value).__name__, repr(value).encode())
        # Points of a sweep share their large values, whose digest takes longest.
        if id(value) not in digest_by_id:
            # The value is kept too, so that no other object gets its id.
            digest_by_id[id(value)] = content_digest(value), value
        return digest_by_id[id(value)][0]

    def content_digest(value: Any) -> bytes:
        value_type: Any = type(value)
        type_name, field_names = _type_and_fields(value_type)
        if field_names is not None:
            return _hash_of_pieces(
                type_name, *[digest(getattr(value, field_name)) for field_name in field_names]
            )
        if isinstance(value, tuple | list):
            return _hash_of_pieces("sequence", *map(digest, value))
        # The order of a set differs from process to process.
        if isinstance(value, set | frozenset):
            return _hash_of_pieces("set", *sorted(map(digest, value)))
        if isinstance(value, Mapping):
            return _hash_of_pieces(
                "mapping", *(digest(item_part) for item in value.items() for item_part in item)
            )
        if isinstance(value, np.ndarray):
            return _hash_of_pieces(
                f"{value.dtype} {value.shape}", np.ascontiguousarray(value).tobytes()
            )
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return _hash_of_pieces(f"{value.__module__}.{value.__qualname__}")
        reduced_state: Any = value.__reduce_ex__(4)
        return _hash_of_pieces(
            type_name,
            digest(
                reduced_state
                if isinstance(reduced_state, str)
                else (
                    *reduced_state[:3],
                    *(tuple(state_part or ()) for state_part in reduced_state[3:5]),
                )
            ),
        )

    return digest(value_tree)


_BY_CONTENT = (tuple, list, set, frozenset, Mapping)
"""Types whose objects are hashed by their members, not by their fields."""


@cache
def _type_and_fields(value_type: type) -> tuple[str, tuple[str, ...] | None]:
    """Return the names of the type of an object and of the fields that determine it; None if
    something else determines it, such as the members of a list.
    """
    by_fields = (
        is_dataclass(value_type)
        and "__reduce__" not in value_type.__dict__
        and not issubclass(value_type, _BY_CONTENT)
    )
    return f"{value_type.__module__}.{value_type.__qualname__}", (
        tuple(field.name for field in fields(value_type)) if by_fields else None
    )


def _hash_of_pieces(type_name: str, *byte_strings: bytes) -> bytes:
    # The length before each piece keeps ("ab", "c") apart from ("a", "bc").
    lengths_and_pieces = [
        chunk
        for byte_string in byte_strings
        for chunk in (len(byte_string).to_bytes(8, "big"), byte_string)
    ]
    return sha256(b"".join([type_name.encode(), *lengths_and_pieces])).digest()
