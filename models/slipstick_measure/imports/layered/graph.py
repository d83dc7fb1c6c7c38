"""The activities of a task as nested sequences, choices, forks and loops with replies, from the
order that a file states between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from slipstick.errors import short
from slipstick.late import dataclass, field
from slipstick_measure.imports.layered.model import (
    LayeredEntry,
    LayeredNetwork,
    ModelAmount,
    Precedence,
    Task,
    Work,
)
from slipstick_measure.imports.names import is_rounded

MOST_DEPTH = 60
MOST_NODES = 5000


@dataclass(frozen=True)
class ExecuteStep:
    """A step that executes a phase or an activity."""

    work: Work


@dataclass(frozen=True)
class ReplyStep:
    """A step at which the caller continues."""


@dataclass(frozen=True)
class ParallelStep:
    """A step with parallel branches, of which `quorum` are waited for; 0 means all."""

    branches: tuple[Sequence, ...]
    quorum: int = 0


@dataclass(frozen=True)
class ChoiceStep:
    """A step that executes one of several branches, with given probabilities."""

    options: tuple[tuple[ModelAmount, Sequence], ...]


@dataclass(frozen=True)
class RepeatStep:
    """A step that executes bodies geometric numbers of times, with given means."""

    bodies: tuple[tuple[ModelAmount, Sequence], ...]


Step: TypeAlias = ExecuteStep | ReplyStep | ParallelStep | ChoiceStep | RepeatStep
Sequence: TypeAlias = tuple[Step, ...]


def steps_of_request(network: LayeredNetwork, entry: LayeredEntry) -> Sequence:
    """Return the steps that a thread executes for a request to an entry, including the reply.

    Raises
    ------
    SpecError : activities that are not nested
    """
    if entry.phases:
        steps: list[Step] = []
        for phase in sorted(entry.phases):
            if phase > 1 and ReplyStep() not in steps:
                steps.append(ReplyStep())
            work = entry.phases[phase]
            steps += [] if work.is_idle else [ExecuteStep(work)]
        return tuple(steps)
    if not entry.first_activity:
        return ()
    return _Graph(network, network.task_of(entry.name), entry.name).steps_from(entry.first_activity)


def with_inner_steps(step: Step) -> Iterator[Step]:
    """Yield a step and all steps inside it, at any depth."""
    yield step
    for body in _bodies_of_step(step):
        for substep in body:
            yield from with_inner_steps(substep)


def mean_reply_count(steps: Sequence) -> float:
    """Return the mean number of replies that a sequence of steps sends."""
    reply_count = 0.0
    for step in steps:
        if isinstance(step, ReplyStep):
            reply_count += 1
        elif isinstance(step, ParallelStep):
            reply_count += sum(map(mean_reply_count, step.branches))
        elif isinstance(step, ChoiceStep):
            reply_count += sum(
                probability.value * mean_reply_count(body) for probability, body in step.options
            )
        elif isinstance(step, RepeatStep):
            reply_count += sum(count.value * mean_reply_count(body) for count, body in step.bodies)
    return reply_count


def _bodies_of_step(step: Step) -> tuple[Sequence, ...]:
    """Return the sequences of steps inside a step."""
    if isinstance(step, ParallelStep):
        return step.branches
    if isinstance(step, ChoiceStep):
        return tuple(body for _, body in step.options)
    if isinstance(step, RepeatStep):
        return tuple(body for _, body in step.bodies)
    return ()


def structure_text(steps: Sequence) -> str:
    """Return a text that describes a sequence of steps without the names of its activities: equal
    texts mean equal steps.
    """
    texts: list[str] = []
    for step in steps:
        if isinstance(step, ExecuteStep):
            work = step.work
            calls = [(call.target, call.count, call.waits_for_reply) for call in work.calls]
            texts.append(
                repr((work.demand, work.scv, work.think_time, work.has_whole_calls, calls))
            )
        else:
            amounts = [
                amount for amount, _ in getattr(step, "options", getattr(step, "bodies", ()))
            ]
            bodies = [structure_text(body) for body in _bodies_of_step(step)]
            texts.append(f"{type(step).__name__}{amounts}{bodies}")
    return ";".join(texts)


@dataclass
class _ActivityPath:
    """The steps after an activity, the join at which they stop, and the activities that reached
    it.
    """

    steps: list[Step]
    join: Precedence | None = None
    reached_activities: set[str] = field(default_factory=set)


class _Graph:
    """The activity graph of one task, from which the steps for requests to one entry are built."""

    def __init__(self, network: LayeredNetwork, task: Task, entry: str) -> None:
        self._network = network
        self._task = task
        self._entry = entry
        self._precedence_after = {
            name: precedence
            for precedence in task.precedences
            if precedence.following_activities
            for name in precedence.preceding_activities
        }
        self._visited_count = 0

    def steps_from(self, start: str) -> Sequence:
        """Return the steps from an activity of the task on, up to the end of the graph."""
        path = self._path_from(start, 0)
        self._follow_joins(path, 0)
        if path.join is not None:
            self._refuse(path.join.line)
        return tuple(path.steps)

    def _refuse(self, line: int, reason: str = "") -> NoReturn:
        """Raise a SpecError about the activities of the task."""
        name = short(self._task.name)
        reason = reason or "are no nesting of sequences, choices, forks and loops"
        self._network.refuse(line, "activities", f"the activities of {name} {reason}")

    def _path_from(self, name: str, depth: int) -> _ActivityPath:
        """Return the path of steps that begins with an activity."""
        path = _ActivityPath([])
        while name:
            self._visited_count += 1
            if name not in self._task.activities:
                self._refuse(self._task.line, f"name {short(name)}, which does not exist")
            if depth > MOST_DEPTH or self._visited_count > MOST_NODES:
                self._refuse(self._task.line, "are nested too deep, or go round in a circle")
            work = self._task.activities[name]
            path.steps += [] if work.is_idle else [ExecuteStep(work)]
            if self._entry in self._task.replied_entries_by_activity.get(name, ()):
                if ReplyStep() in path.steps:
                    self._refuse(work.line, f"reply to {short(self._entry)} twice in a row")
                path.steps.append(ReplyStep())
            next_precedence = self._precedence_after.get(name)
            if next_precedence is None:
                return path
            if next_precedence.join or len(next_precedence.preceding_activities) > 1:
                path.join = next_precedence
                path.reached_activities = {name}
                return path
            name = self._follow_precedence(next_precedence, path, depth)
        return path

    def _follow_precedence(self, precedence: Precedence, path: _ActivityPath, depth: int) -> str:
        """Add the steps after a precedence; return the next activity, or an empty name at the
        end.
        """
        if precedence.fork == "loop":
            bodies = [
                (count, self._complete_steps(name, depth, precedence.line))
                for name, count in precedence.following_activities
            ]
            path.steps.append(RepeatStep(tuple(body for body in bodies if body[1])))
            return precedence.activity_after_loop
        if not precedence.fork:
            return precedence.following_activities[0][0]
        branches = [self._path_from(name, depth + 1) for name, _ in precedence.following_activities]
        join_ids = {id(branch.join) for branch in branches}
        have_common_join = len(join_ids) == 1
        if not have_common_join:
            for branch in branches:
                self._follow_joins(branch, depth)
        join = self._common_join(branches, precedence)
        if precedence.fork == "and":
            path.steps.append(self._parallel_step(branches, join))
        else:
            self._add_choice(precedence, branches, path)
        return self._activity_after_join(join, branches, path)

    def _follow_joins(self, path: _ActivityPath, depth: int) -> None:
        """Extend a path past the or-joins at which it stops, because they do not wait for other
        branches.
        """
        while path.join is not None and path.join.join == "or" and not path.join.fork:
            path_after_join = self._path_from(path.join.following_activities[0][0], depth + 1)
            path.steps += path_after_join.steps
            path.join = path_after_join.join
            path.reached_activities = path_after_join.reached_activities

    def _complete_steps(self, name: str, depth: int, line: int) -> Sequence:
        """Return the steps from an activity on; raise if they stop at a join."""
        path = self._path_from(name, depth + 1)
        self._follow_joins(path, depth)
        if path.join is not None:
            self._refuse(line)
        return tuple(path.steps)

    def _common_join(
        self, branches: list[_ActivityPath], precedence: Precedence
    ) -> Precedence | None:
        """Return the join where branches meet; None if they do not meet. Raise if there are several
        joins or the join is of another kind than the fork.
        """
        joins = [path.join for path in branches if path.join is not None]
        if any(join is not joins[0] for join in joins):
            self._refuse(precedence.line)
        if joins and joins[0].join != precedence.fork:
            self._refuse(joins[0].line)
        return joins[0] if joins else None

    def _parallel_step(
        self, branches: list[_ActivityPath], join: Precedence | None
    ) -> ParallelStep:
        """Return the parallel step of branches; its quorum is that of the join where they meet."""
        quorum = join.quorum if join else 0
        return ParallelStep(tuple(tuple(path.steps) for path in branches), quorum)

    def _add_choice(
        self, precedence: Precedence, branches: list[_ActivityPath], path: _ActivityPath
    ) -> None:
        """Add the choice between the branches of a fork to a path, with their probabilities."""
        probabilities = [probability for _, probability in precedence.following_activities]
        probability_sum = sum(probability.value for probability in probabilities)
        are_numbers = not any(probability.formula for probability in probabilities)
        if (
            abs(probability_sum - 1) > 1e-6
            and are_numbers
            and is_rounded([probability.value for probability in probabilities])
        ):
            note = f"probabilities add up to {probability_sum:.9g} by rounding, and are scaled to 1"
            self._network.input_file.add_note(precedence.line, "", note)
            probabilities = [
                ModelAmount(probability.value / probability_sum) for probability in probabilities
            ]
        elif abs(probability_sum - 1) > 1e-6:
            message = f"have probabilities that add up to {probability_sum:g}, not to 1"
            self._refuse(precedence.line, message)
        options = tuple(
            (probability, tuple(branch.steps))
            for probability, branch in zip(probabilities, branches, strict=True)
        )
        path.steps.append(ChoiceStep(options))

    def _activity_after_join(
        self, join: Precedence | None, branches: list[_ActivityPath], path: _ActivityPath
    ) -> str:
        """Return the activity after a join if the branches include all activities that it waits
        for; else stop the path at the join, and return an empty name.
        """
        if join is None:
            return ""
        reached_activities = set().union(*(branch.reached_activities for branch in branches))
        if reached_activities != set(join.preceding_activities):
            path.join = join
            path.reached_activities = reached_activities
            return ""
        if join.fork:
            # The fork after the join is that of one activity that takes no time.
            return self._follow_precedence(
                Precedence(
                    join.line,
                    [],
                    join.following_activities,
                    "",
                    join.fork,
                    0,
                    join.activity_after_loop,
                ),
                path,
                0,
            )
        return join.following_activities[0][0]
