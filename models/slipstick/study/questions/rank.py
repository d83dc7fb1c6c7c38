"""Rankings: what one percent less of each quantity buys, and what a stated change of it does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from slipstick.answer import Answer
from slipstick.errors import SpecError, did_you_mean
from slipstick.expression.dimension import COUNT
from slipstick.method.forms import CompiledModel
from slipstick.method.methods import form_of
from slipstick.results.study import Ranked, Ranking
from slipstick.schema.build import BuiltModel, build
from slipstick.schema.inputs import Inputs, Settings, resolve
from slipstick.schema.kinds.study import RankSpec
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Mark, Node, Scalar, canonical
from slipstick.schema.validate import problem


def ranked(
    case: str, spec: RankSpec, tree: Node, settings: Settings, library: Library, answer: Answer, under: str = ""
) -> Ranking:
    """Rank the quantities of one case by what the stated change of each does to the time.

    The effect is computed anew, with the changed value checked like a written one; share and elasticity come
    from the derivatives. Where less of a quantity would not help, it is that much more of it.

    Parameters
    ----------
    case : its name
    spec, tree : the change, and what to rank, checked and in the study
    settings : of the case
    library : what was read so far
    answer : of the case, with its gradient; without one there is nothing to rank
    under : the technology that the settings name; none is the case as it is

    Raises
    ------
    SpecError : the case has no such quantity
    """
    inputs = resolve(settings, library)
    built = build(inputs)
    _check_paths(case, spec, tree, inputs, built)
    if answer.failed:
        return Ranking(case, spec.change.value, (), (), under)
    question = _Question(inputs, built, library, answer, _form(built).quantity)
    wanted = [canonical(inputs.tree, path) for path in spec.of] or list(built.parameters)
    rows = [question.row(path, spec.change.value) for path in wanted]
    matter = sorted((row for row in rows if _matters(row)), key=lambda row: -abs(_weight(row, spec.change.value)))
    # What may not be changed by that much, such as one server, was not tried and so is not said to have no effect.
    idle = tuple(row.path for row in rows if not _matters(row) and row.effect is not None)
    return Ranking(case, spec.change.value, tuple(matter[: spec.most]), idle, under)


def _check_paths(case: str, spec: RankSpec, tree: Node, inputs: Inputs, built: BuiltModel) -> None:
    problems = [
        problem(
            tree, ("rank", "of", index), f"{case} has no quantity {path!r}{did_you_mean(path, list(built.entries))}"
        )
        for index, path in enumerate(spec.of)
        if canonical(inputs.tree, path) not in built.entries
    ]
    if problems:
        raise SpecError(problems)


def _matters(row: Ranked) -> bool:
    return row.elasticity != 0.0 or bool(row.effect)


def _weight(row: Ranked, change: float) -> float:
    return row.elasticity * change if row.effect is None else row.effect


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of one case."""

    inputs: Inputs
    built: BuiltModel
    library: Library
    answer: Answer
    quantity: str

    def row(self, path: str, change: float) -> Ranked:
        entry = self.built.entries[path]
        slope = self.answer.gradient[self.quantity].get(path, 0.0)
        value, base = entry.given.value, self._base
        effect, more = self._effect(path, -change), False
        if effect is not None and effect < 0.0:
            effect, more = self._effect(path, change), True
        return Ranked(
            path=path,
            meaning=entry.meaning,
            unit=str(entry.given.dimension),
            value=value,
            share=self.answer.share.get(self.quantity, {}).get(path),
            elasticity=slope * value / base if base else 0.0,
            effect=effect,
            more=more,
        )

    @property
    def _base(self) -> float:
        return self.answer.values[self.quantity].value or 0.0

    def _effect(self, path: str, change: float) -> float | None:
        """Solve again with the changed value; None if the spec does not allow it (half a processor)."""
        given = self.built.entries[path].given
        if given.value == 0.0 or not self._base:
            return 0.0
        value = given.value * (1.0 + change)
        node = Scalar(value, repr(value), Mark("rank", 1, 1), quoted=False)
        if given.dimension != COUNT:
            text = f"{value!r} {given.dimension}"
            node = Scalar(text, text, Mark("rank", 1, 1), quoted=False)
        try:
            changed = build(self.inputs.with_value(path, node, self.library))
        except SpecError:
            return None
        after = float(_form(changed).times({})[0])
        return 1.0 - after / self._base if math.isfinite(after) else None


def _form(built: BuiltModel) -> CompiledModel:
    return form_of(built.model, built.parameters, built.options.method, built.options.simulation)
