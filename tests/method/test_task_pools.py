"""Pools of tasks: against threads of a virtual clock with a monitor of their own, against bounds,
and as files.

What is refused is compared in tests/test_engine_messages.py.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator
from heapq import heappop, heappush
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipstick import (
    Barrier,
    Loop,
    Model,
    Simulation,
    TaskPool,
    Trees,
    ask,
    barrier,
    delay,
    dump,
    fork,
    phased_model,
    solve,
)
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.simulation.flatten import flatten
from slipstick.model.tasks import TaskSet, longest_paths
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plain.stations import SimulatedPool
from slipstick_compiled.kernel import AVAILABLE
from tests.bounds import bounds
from tests.examples import examples
from tests.sim.test_same import check_same

PLAIN = Simulation(kernel="plain")
FREE = -1
"""The owner of a monitor that no thread is in."""


@st.composite
def shapes(draw: st.DrawFn, most: int = 60) -> tuple[int, ...]:
    """A tree of intervals: each node has two subtrees or none."""

    def grown(inner: int) -> list[int]:
        if not inner:
            return [0]
        left = draw(st.integers(0, inner - 1))
        return [2, *grown(left), *grown(inner - 1 - left)]

    return tuple(grown(draw(st.integers(0, most // 2))))


def pool(
    source: Loop | Trees, inside: float = 0.25, order: str = "lifo", queues: int = 1
) -> TaskPool:
    leaf, interior, held = (
        Parameter(name, TIME, each)
        for name, each in (("leaf", 3.0), ("inner", 1.0), ("in", inside))
    )
    return TaskPool(source, leaf, interior, held, order, queues)


def program(tasks: TaskPool, processors: int, rounds: int = 1) -> Model:
    return phased_model(
        (rounds, processors, ask("pool")), resources={"pool": tasks}, useful=("busy", "monitor")
    )


class Threads:
    """Threads of a virtual clock that execute the tasks of one problem, each queue behind a
    monitor of its own.
    """

    def __init__(self, problem: TaskSet, tasks: TaskPool, threads: int) -> None:
        roots, self.tasks = problem
        self.pool, self.threads = tasks, threads
        self.leaf, self.interior, self.inside = (each.value for each in tasks.expressions)  # type: ignore[attr-defined]
        self.queues: list[deque[int]] = [deque() for _ in range(tasks.queues)]
        for index, root in enumerate(roots):
            self.queues[index % tasks.queues].append(root)
        self.owner = [FREE] * tasks.queues
        self.doors: list[deque[int]] = [deque() for _ in range(tasks.queues)]
        self.waiting: deque[int] = deque()
        self.told: dict[int, tuple[str, int]] = {}
        self.books: list[dict[str, float]] = [defaultdict(float) for _ in range(threads)]
        self.done: list[int] = []
        self.now = 0.0

    def run(self) -> dict[str, float]:
        """Run to the end; each thread's time by cause, in the mean."""
        order, heap = count(), list[tuple[float, int, int]]()
        self.ready = deque(range(self.threads))
        running = {each: self.thread(each) for each in range(self.threads)}
        while self.ready or heap:
            if not self.ready:
                self.now, _, who = heappop(heap)
                self.ready.append(who)
            who = self.ready.popleft()
            pause = next(running[who], None)
            if pause is not None and pause >= 0:
                heappush(heap, (self.now + pause, next(order), who))
        causes = {cause for book in self.books for cause in book}
        return {cause: sum(book[cause] for book in self.books) / self.threads for cause in causes}

    def thread(self, me: int) -> Generator[float, None, None]:
        own = me % len(self.queues)
        while True:
            queue = next(
                (q for q in [*range(own, len(self.queues)), *range(own)] if self.queues[q]), own
            )
            yield from self.enter(me, queue)
            while True:
                yield from self.spend(me, "monitor", self.inside)
                if self.queues[queue] or any(self.queues) or len(self.waiting) + 1 == self.threads:
                    break
                self.waiting.append(me)
                self.leave(queue)
                yield from self.blocked(me, "")
                why, queue = self.told[me]
                if why == "barrier":
                    return
            if self.queues[queue]:
                task = (
                    self.queues[queue].pop()
                    if self.pool.order == "lifo" and queue == own
                    else self.queues[queue].popleft()
                )
                self.let_one_in_or_leave(queue)
                yield from self.work(me, own, task)
            elif any(self.queues):
                self.leave(queue)
            else:
                while self.waiting:
                    self.tell(self.waiting.popleft(), "barrier", queue)
                self.leave(queue)
                return

    def work(self, me: int, own: int, task: int) -> Generator[float, None, None]:
        self.done.append(task)
        for inner, outer, added in self.tasks[task]:
            yield from self.spend(me, "busy", inner * self.interior + outer * self.leaf)
            if added >= 0:
                yield from self.enter(me, own)
                yield from self.spend(me, "monitor", self.inside)
                self.queues[own].append(added)
                self.let_one_in_or_leave(own)

    def spend(self, me: int, cause: str, seconds: float) -> Generator[float, None, None]:
        if cause == "busy" or seconds:
            yield seconds
            self.books[me][cause] += seconds

    def enter(self, me: int, queue: int) -> Generator[float, None, None]:
        if self.owner[queue] == FREE:
            self.owner[queue] = me
            return
        self.doors[queue].append(me)
        yield from self.blocked(me, "entry:pool")

    def blocked(self, me: int, cause: str) -> Generator[float, None, None]:
        since = self.now
        yield -1.0
        self.books[me][cause or f"{self.told[me][0]}:pool"] += self.now - since

    def leave(self, queue: int) -> None:
        self.owner[queue] = self.doors[queue].popleft() if self.doors[queue] else FREE
        if self.owner[queue] != FREE:
            self.ready.append(self.owner[queue])

    def let_one_in_or_leave(self, queue: int) -> None:
        if not (self.queues[queue] and self.waiting):
            self.leave(queue)
            return
        self.owner[queue] = self.waiting.popleft()
        self.tell(self.owner[queue], "task", queue)

    def tell(self, who: int, why: str, queue: int) -> None:
        self.told[who] = why, queue
        self.ready.append(who)


@pytest.mark.turns(4)
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(
    st.builds(lambda shape, size: Trees((shape,), size), shapes(), st.integers(1, 5))
    | st.builds(
        Loop, st.lists(st.integers(1, 9), min_size=1, max_size=30).map(tuple), st.integers(1, 4)
    ),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.25, 2.0]),
    st.sampled_from(["lifo", "fifo"]),
    st.integers(1, 4),
)
def test_the_account_is_that_of_threads_with_monitors(
    source: Loop | Trees, processors: int, inside: float, order: str, queues: int
) -> None:
    tasks = pool(source, inside, order, queues)
    (problem,) = tasks.source.problems()
    threads = Threads(problem, tasks, processors)
    wanted = threads.run()
    taken: list[int] = []
    take = SimulatedPool.take

    def kept(self: SimulatedPool, queue: int, own: int, now: float) -> int:
        taken.append(take(self, queue, own, now))
        return taken[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SimulatedPool, "take", kept)
        answer = solve(program(tasks, processors), method="simulation", simulation=PLAIN)
    assert answer["time"] == pytest.approx(threads.now, rel=1e-9)
    found = {name: seconds for name, seconds in answer.account.items() if seconds > 1e-9}
    assert found == pytest.approx(
        {name: seconds for name, seconds in wanted.items() if seconds > 1e-9}, abs=1e-9
    )
    # Each task once, and the bands add to N: the useful ones to the speed-up, the rest to the
    # processors lost.
    assert sorted(threads.done) == list(range(len(problem[1])))
    assert len(taken) == len(set(taken)) == len(problem[1])
    nodes = sum(inner * 1.0 + outer * 3.0 for task in problem[1] for inner, outer, _ in task)
    given = source.shapes[0] if isinstance(source, Trees) else source.iterations
    assert isinstance(given, tuple)
    wanted_nodes = (
        given.count(0) * 3.0 + len(given) - given.count(0)
        if isinstance(source, Trees)
        else sum(given) * 3.0
    )
    assert nodes == wanted_nodes
    assert processors * answer.account["busy"] == pytest.approx(nodes, rel=1e-9)
    lost = sum(
        value.value or 0.0
        for name, value in answer.values.items()
        if name.startswith("processors_lost[")
    )
    assert [answer["speedup"]] == pytest.approx([processors - lost], rel=1e-9)
    least = bounds(program(tasks, processors)).values["time"].low
    assert least is not None
    assert least <= threads.now * (1 + 1e-9)
    if processors == 1:
        assert solve(program(tasks, 1), method="closed-form")["time"] == pytest.approx(
            answer["time"], rel=1e-9
        )


@pytest.mark.skipif(not AVAILABLE, reason="numba is not installed")
@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(
    st.lists(shapes(30), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
)
def test_both_kernels_are_the_same(
    trees: list[tuple[int, ...]], min_size: int, processors: int, queues: int, last_first: bool
) -> None:
    tasks = pool(Trees(tuple(trees), min_size), 0.25, "lifo" if last_first else "fifo", queues)
    check_same(flatten(program(tasks, processors, rounds=4)).plan)


@pytest.mark.turns(4)
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(shapes(120), st.integers(1, 8))
def test_every_node_is_in_one_part_of_the_right_size(shape: tuple[int, ...], min_size: int) -> None:
    ((roots, tasks),) = Trees((shape,), min_size).problems()
    added = [part[2] for task in tasks for part in task if part[2] >= 0]
    assert sorted([*roots, *added]) == list(range(len(tasks)))
    leaves, inner = (sum(part[k] for task in tasks for part in task) for k in (1, 0))
    assert (leaves, inner) == (shape.count(0), len(shape) - shape.count(0))
    for task in tasks if len(shape) > min_size else ():
        # The nodes kept to the end are leaves and others, beside those on the way.
        assert sum(inner + outer for inner, outer, _ in task) > min_size
        assert task[-1][1] <= 3 * min_size


def test_trees_are_done_one_after_the_other_and_again() -> None:
    source = Trees(((0,), (2, 0, 0), (2, 0, 2, 0, 0)))
    alone = [Kernel(flatten(program(pool(Trees((shape,))), 3)).plan) for shape in source.shapes]
    assert not any(each.run(10_000) for each in alone)
    times = [each.now for each in alone]
    kernel = Kernel(flatten(program(pool(source), 3, rounds=7)).plan)
    kernel.run(10_000)
    assert kernel.now == pytest.approx(2 * sum(times) + times[0])


def test_a_loop_is_self_scheduled_in_chunks() -> None:
    """25 chunks of 12 s on 8 processors take four rounds of them; one chunk takes all."""
    model = program(pool(Loop(100, 4), 0.0), 8)
    assert solve(model, method="simulation")["time"] == pytest.approx(48.0)
    assert solve(program(pool(Loop(100, 100), 0.0), 8), method="simulation")[
        "time"
    ] == pytest.approx(300.0)
    assert solve(model)["time"] == pytest.approx(48.0)
    assert "leaves out waiting for tasks of pool" in solve(model, method="closed-form").notes
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="mean-value")
    assert (
        str(caught.value)
        == "mean value has no approximation of waits for pool: pools of tasks are simulated, and"
        " bounds by their work and their longest path enclose them"
    )


def test_tasks_are_a_tuple_a_list_or_what_a_generator_gives() -> None:
    def tree(depth: int) -> Iterator[int]:
        yield 2 if depth else 0
        for _ in range(2 if depth else 0):
            yield from tree(depth - 1)

    written = Trees(((2, 2, 0, 0, 2, 0, 0),), min_size=2)
    assert Trees([tree(2)], min_size=2) == written  # type: ignore[arg-type]
    assert Trees([list(tree(2))], min_size=2) == written  # type: ignore[arg-type]
    sizes = (0, 1, 2, 3)
    assert Loop(range(4)) == Loop(sizes)  # type: ignore[arg-type]
    assert Loop(list(sizes)) == Loop(sizes)  # type: ignore[arg-type]
    assert Loop(iter(sizes)) == Loop(sizes)  # type: ignore[arg-type]


def test_very_many_queues_are_refused() -> None:
    with pytest.raises(NoAnswerError) as refused:
        solve(program(pool(Loop(8), queues=20_000), 8))
    assert (
        str(refused.value)
        == "a simulation of model follows 8 branches and items at once, each with the account of 0"
        " steps, and 20,000 queues of tasks; the limit is 25,000,000: give it fewer processors,"
        " queues, items or branches, ask for mean-value, or allow more with --limit"
        " numbers=3.4e+07 (limits: in a study, limits= in Python)"
    )


def test_times_of_resources_are_numbers_of_seconds_too() -> None:
    """Ten iterations of 1 ms in tasks of two on four processors: two rounds of tasks, each of 2
    ms.
    """
    pool = TaskPool(Loop(10, 2), 1e-3)  # type: ignore[arg-type]
    resources: dict[str, TaskPool | Barrier] = {"p": pool, "b": Barrier(cost=5e-3)}  # type: ignore[arg-type]
    model = phased_model((1, 4, ask("p") >> barrier("b")), resources={**resources})
    assert solve(model)["time"] == pytest.approx(9e-3)
    assert solve(model, {"p.leaf": 2e-3, "b.cost": 0.0})["time"] == pytest.approx(8e-3)
    with pytest.raises(ModelError, match=r"the time of b.cost must be at least 0 s, got -1.0"):
        phased_model((1, 4, barrier("b")), resources={"b": Barrier(cost=-1)})  # type: ignore[arg-type]


def test_a_file_says_pools() -> None:
    text = dump(program(pool(Trees(((2, 0, 0),), 2), queues=3), 4))
    assert "trees:" in text
    assert "ask: pool" in text
    assert "node_work" not in text
    text = dump(program(pool(Trees(((2, 0, 0),), 2, ((1, 3, 5),)), queues=3), 4))
    assert "node_work:" in text


def test_nodes_of_a_tree_have_work_of_their_own() -> None:
    tree = (2, 2, 0, 0, 2, 0, 0)
    work = (1, 2, 3, 4, 5, 6, 7)
    ((_, tasks),) = Trees((tree,), 1, (work,)).problems()
    parts = [part for task in tasks for part in task]
    assert sum(interior for interior, _, _ in parts) == 1 + 2 + 5
    assert sum(leaves for _, leaves, _ in parts) == 3 + 4 + 6 + 7
    assert Trees((tree,), 1, ((1,) * 7,)).problems() == Trees((tree,), 1).problems()


REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Loop(0),
        (
            "Loop: iterations must be a number of iterations from 1 to 1,000,000, or a list of the "
            "work of each, got 0"
        ),
    ),
    (lambda: Loop((2, -1)), "Loop: iterations[1] must be a whole number of at least 0, got -1"),
    (lambda: Trees(((2, 0),)), "node 0 of a tree has 2 subtrees, but 1 follow it"),
    (
        lambda: Trees(()),
        "Trees: shapes must be a list of at least 1 members, got ()",
    ),
    (
        lambda: Trees(((0,),), min_size=0),
        "Trees: min_size must be a whole number of at least 1, got 0",
    ),
    (
        lambda: Trees(((2, 0, 0),), 1, ((1, 1),)),
        "work of trees has one number for each node of each tree, or is left out",
    ),
    (
        lambda: Trees(((0, 0),)),
        "a tree has one root and at most 1000000 nodes; this one has 2 roots and 2 nodes",
    ),
    (lambda: pool(Loop(1), order="random"), "there is no order 'random'; known: lifo, fifo"),
    (
        lambda: program(pool(Loop(1), queues=0), 1),
        "TaskPool: queues must be a whole number from 1 to 1,000,000, got 0",
    ),
    (
        lambda: phased_model(
            (1, 2, fork(ask("pool"), delay(1.0))), resources={"pool": pool(Loop(1))}
        ),
        (
            "ask('pool') needs all processors each time, so it cannot be in a model with "
            "arrivals, or inside a fork, a choice or a hold"
        ),
    ),
    (
        lambda: phased_model((1, 2, ask("none"))),
        (
            "ask needs a pool of tasks called 'none', which does not exist; known: own, other,"
            " each-other"
        ),
    ),
]


def test_paths_through_tasks_count_nodes_leaves_and_times_in_the_monitor() -> None:
    # The first task works at one node, adds the second, and ends with two leaves; the second has
    # three. A task is taken in the monitor, and added in it.
    tasks = [[(1, 0, 1), (0, 2, -1)], [(0, 3, -1)]]
    assert longest_paths([0], tasks) == [(1, 3, 3)]
    # Here neither is longer in all: more leaves in the first, more times in the monitor in the
    # second.
    assert set(longest_paths([0], [[(1, 0, 1), (0, 4, -1)], [(0, 3, -1)]])) == {
        (1, 4, 2),
        (1, 3, 3),
    }
