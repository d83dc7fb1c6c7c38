"""Requirements of a model, such as that a program fits its machine, that leave no choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from slipstick.expression.nodes import Dimension
from slipstick.late import Array, NDArray, dataclass, np
from slipstick.model.requirement import Requirement, violation_words
from slipstick.report.formatting import join_phrases, quantity, setting_phrase
from slipstick.results.words import Words
from slipstick_questions.sign_changes import margin

_ORDERINGS = ("<", "<=", ">", ">=")
"""Relations at which a point can be nearer to a limit than another."""


@dataclass(frozen=True, slots=True)
class UnmetRequirement:
    """A requirement that fails at points among which a study chooses.

    Parameters
    ----------
    says : the requirement in words
    is_everywhere : it fails at all of the points
    violation : the values of both sides at the point that is nearest to meeting it; empty if no
        point is nearer than another
    point : the values of that point by path
    """

    says: str
    is_everywhere: bool
    violation: str = ""
    point: Mapping[str, float] | None = None

    def clause(self, units: Mapping[str, str], words: Words) -> str:
        """Return a clause on the requirement, and on the nearest point where all points fail."""
        if not (self.is_everywhere and self.violation and self.point):
            return self.says
        settings = [
            setting_phrase(path, self.point[path], unit, words) for path, unit in units.items()
        ]
        return f"{self.says}; at best {self.violation}, with {join_phrases(settings)}"


@dataclass
class _Failures:
    """The points at which a requirement fails, and the nearest of them with its margin."""

    are_broken: NDArray[np.bool_]
    nearest_margin: float = -inf
    violation: str = ""
    nearest_index: int = 0

    def add(
        self, requirement: Requirement, indices: NDArray[np.intp], values: Mapping[str, Array]
    ) -> None:
        """Add the points with some indices, at which the model has given values."""
        for condition, side_values in requirement.sides(values):
            left_values, right_values = (
                np.broadcast_to(side, indices.shape) for side in side_values
            )
            are_violated = ~condition.is_true(left_values, right_values)
            self.are_broken[indices] |= are_violated
            if condition.relation not in _ORDERINGS or not are_violated.any():
                continue
            margins = np.where(are_violated, margin(condition, left_values, right_values), -np.inf)
            nearest_index = int(np.argmax(margins))
            if margins[nearest_index] > self.nearest_margin:
                self.nearest_margin = float(margins[nearest_index])
                self.nearest_index = int(indices[nearest_index])
                self.violation = violation_words(
                    condition,
                    float(left_values[nearest_index]),
                    float(right_values[nearest_index]),
                    _quantity_of_side,
                )


def unmet_requirements(
    groups: Iterable[tuple[NDArray[np.intp], Iterable[Requirement], Mapping[str, Array]]],
    points: Mapping[str, Array],
) -> Iterator[UnmetRequirement]:
    """Yield the requirements that leave no point with an answer: those that fail at all points, or
    all that fail somewhere.

    Parameters
    ----------
    groups : points that share a model: their indices, its requirements, and what varies in it
    points : the values among which a study chooses, by path [points]
    """
    point_count = len(next(iter(points.values())))
    failures_by_says: dict[str, _Failures] = {}
    for indices, requirements, values in groups:
        for requirement in requirements:
            failures = failures_by_says.setdefault(
                requirement.says or requirement.name, _Failures(np.zeros(point_count, bool))
            )
            failures.add(requirement, indices, values)
    are_everywhere = [failures.are_broken.all() for failures in failures_by_says.values()]
    for (says, failures), is_everywhere in zip(
        failures_by_says.items(), are_everywhere, strict=True
    ):
        if is_everywhere or (failures.are_broken.any() and not any(are_everywhere)):
            point = {path: float(column[failures.nearest_index]) for path, column in points.items()}
            yield UnmetRequirement(says, bool(is_everywhere), failures.violation, point)


def _quantity_of_side(value: float, dimension: Dimension) -> str:
    """Return the value of a side of a condition as text, with its unit."""
    return quantity(value, str(dimension))
