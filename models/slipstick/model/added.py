"""The interface of a kind of model that another package adds.

The package names its files in the group ``slipstick.kinds`` of entry points and its methods in
``slipstick.methods``; what the two have in common is a class derived from `AddedModel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from slipstick.expression.nodes import Expr, Parameter
from slipstick.model.requirement import Requirement


class AddedModel(ABC):
    """A model of a kind that another package adds. By default it is simulated where no exact method
    answers.

    Attributes
    ----------
    kind : in files and in the names of methods
    words : what messages call a model of the kind, such as ``a server that works in rounds``
    name : of the model
    left_out : losses of an import by name, and what each changes
    requires : conditions on quantities of the model; a point that violates one has no answer
    """

    kind: ClassVar[str]
    words: ClassVar[str]
    name: str
    left_out: Mapping[str, str]
    requires: tuple[Requirement, ...] = ()

    @property
    def phrases(self) -> Mapping[str, str]:
        """The words of the author for values of answers, by name; of a quantile, without its
        probability, what those do that end within it.
        """
        return {}

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Parameter]:
        """The parameters from which the model is computed, by path."""

    @abstractmethod
    def answer_names(self) -> Iterable[str]:
        """Return the names of the values of answers, amounts included, the most important first."""

    @abstractmethod
    def needs_simulation(self, name: str, method: str | None) -> bool:
        """Return whether a method does not give a value that a simulation would give.

        Parameters
        ----------
        name : of the value
        method : that answers; None is the default
        """

    @abstractmethod
    def definitions(self) -> Mapping[tuple[str, str], Expr]:
        """Return the expressions that define the model, by the letter and the index of the symbol
        of each expression.
        """
