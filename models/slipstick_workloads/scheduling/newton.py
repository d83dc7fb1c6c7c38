"""Block triangular nonlinear equations, solved by the parallel Gauss-Seidel-Newton method with
static or dynamic scheduling.

In each iteration a processor evaluates and factors the Jacobian of its block, reads the variables
of the earlier blocks, solves and updates its own variables; then follows a barrier. With static
scheduling, block i and its data stay on processor i, and the variables of all earlier blocks are
read from the node of processor i - 1, which holds them. With dynamic scheduling, processors take
blocks as they come, so which processor has which block is drawn anew for each iteration; it also
reads the data and the variables of the block from the block's node, and writes its variables back.

So every access is known before a run: `accesses[remote]`, of these `accesses[neighbour]` to the
node before the own, and `accesses[local]`. Remote accesses contend for memory modules, and requests
for a block for the scheduler; an access to the own node takes the module's time and is never
delayed, which is an approximation.

A monitor that records each access, as that of the paper does, adds `recording` to it, after the
access; the words of one block are recorded together.

The paper prints the sizes (1400 variables, 14 blocks) and from which node a processor reads. The
equations are ours, and they give the number of iterations; so are the work, and how many words the
data of a block has. The paper leaves open whether a processor reads all earlier variables or those
of one block; see ``reads``.

Source: Zhang, Nalluri, Qin, MIN-Graph, JPDC 1993, section 6.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME, Number
from slipstick.late import dataclass, np, replace
from slipstick.model.activity import delay, hold, repeat, then
from slipstick.model.machine import Bus, Ring, SharedMemory
from slipstick.model.steps import Activity
from slipstick.model.system import Lock, Model, Resource, superstep_model
from slipstick.program.program import (
    Input,
    InputValues,
    Program,
    number,
    structural_number,
    value_of,
    word,
)
from slipstick_workloads.shared_memory import (
    NO_LOCK_OR_BARRIER,
    MemoryPort,
    arrival_and_barrier,
    barrier_cost,
)

NAME = "newton/blocks"
SOURCE = "Zhang, Nalluri, Qin, MIN-Graph, JPDC 1993, section 6.2"
MOST_ITERATIONS = 200
HALF_WIDTH = 2
"""Variables on each side of its own that an equation has, within its block."""


@lru_cache(maxsize=32)
def count_iterations(blocks: int, variables: int, coupling: float, seed: int) -> int:
    """Solve a generated system of equations. Return the number of iterations until no variable
    changes by more than 1e-10.

    Equation r of block i is a_r . x_i + x_r^3 - c_r . x_(i-1) - b_r = 0, where a_r has five numbers
    beside the diagonal, which dominates, and c_r one. All blocks take the values of the iteration
    before for x_(i-1), so a change moves on by one block an iteration.

    Parameters
    ----------
    blocks, variables : numbers of blocks, and of variables in each [1]
    coupling : the size of c [1]
    seed : of all coefficients

    Raises
    ------
    ModelError : it does not converge

    >>> count_iterations(blocks=3, variables=20, coupling=0.5, seed=1)
    6
    """
    generator = np.random.default_rng(seed)
    is_in_band = np.abs(np.subtract.outer(np.arange(variables), np.arange(variables))) <= HALF_WIDTH
    matrices = generator.uniform(-1, 1, (blocks, variables, variables)) * is_in_band + 2 * (
        2 * HALF_WIDTH + 1
    ) * np.eye(variables)
    coupling_coefficients, right_side = generator.uniform(
        -coupling, coupling, (2, blocks, variables)
    )
    variables_now = np.ones((blocks, variables))
    for iteration in range(1, MOST_ITERATIONS + 1):
        earlier_values = np.vstack([np.zeros((1, variables)), variables_now[:-1]])
        residuals = (
            np.einsum("bij,bj->bi", matrices, variables_now)
            + variables_now**3
            - coupling_coefficients * earlier_values
            - right_side
        )
        jacobians = matrices + np.einsum("bi,ij->bij", 3 * variables_now**2, np.eye(variables))
        corrections = np.linalg.solve(jacobians, residuals[..., None])[..., 0]
        variables_now = variables_now - corrections
        # Newton's corrections square from step to step, so that a smaller limit would seldom add an
        # iteration.
        if np.abs(corrections).max() <= 1e-10:
            return iteration
    raise ModelError(
        f"the blocks do not converge in {MOST_ITERATIONS} iterations; give a smaller coupling"
    )


@dataclass(frozen=True, slots=True)
class WordAccesses:
    """Words of shared memory that one processor reads or writes in an iteration.

    Parameters
    ----------
    processor : the one that accesses them
    module : where they lie
    word_count : how many
    """

    processor: int
    module: int
    word_count: int

    @property
    def kind(self) -> str:
        """The kind of the module's node: ``local``, ``neighbour`` for the node before the
        processor's own, or ``other``.
        """
        if self.processor == self.module:
            return "local"
        return "neighbour" if self.module == self.processor - 1 else "other"


def accesses_by_processor(
    block_of_processor: Sequence[int], variables: int, data_words: int, reads_all_blocks: bool
) -> list[list[WordAccesses]]:
    """List the accesses of one iteration, by processor.

    Parameters
    ----------
    block_of_processor : the block that each processor has; 0, 1, ... with static scheduling
    variables : of a block [1]
    data_words : words of the data of a block [1]
    reads_all_blocks : the variables of all earlier blocks are read, else those of the last

    >>> [
    ...     (access.module, access.word_count)
    ...     for access in accesses_by_processor([0, 1, 2], 10, 50, reads_all_blocks=True)[2]
    ... ]
    [(2, 60), (1, 20), (2, 10)]
    >>> [
    ...     (access.module, access.word_count)
    ...     for access in accesses_by_processor([2, 1, 0], 10, 50, reads_all_blocks=True)[0]
    ... ]
    [(2, 60), (1, 20), (2, 10)]
    """
    accesses = []
    for processor, block in enumerate(block_of_processor):
        earlier_reads = (
            [WordAccesses(processor, block - 1, variables * (block if reads_all_blocks else 1))]
            if block
            else []
        )
        own_accesses, write_back = (
            WordAccesses(processor, block, word_count)
            for word_count in (data_words + variables, variables)
        )
        accesses.append([own_accesses, *earlier_reads, write_back])
    return accesses


class _Schedule:
    """The block of each processor in each iteration, and the accesses and steps that result; a
    sample has one iteration.
    """

    def __init__(
        self, machine: SharedMemory, inputs: InputValues, *, is_sample: bool = False
    ) -> None:
        if isinstance(machine.interconnect, Bus | Ring):
            raise ModelError(
                f"the memory modules of {machine.name} belong to no processor; {NAME} runs on"
                " switches"
            )
        self.machine = machine
        self.inputs = inputs
        self.block_count, variables, seed = (
            int(number(inputs, name)) for name in ("blocks", "variables", "seed")
        )
        self.module_count = int(
            structural_number(machine.memory.modules, "the number of memory modules")
        )
        if self.module_count < self.block_count:
            raise ModelError(
                f"{machine.name} has {self.module_count} memory modules; {NAME} needs one for"
                " each of"
                f" {self.block_count} blocks"
            )
        self.is_dynamic = word(inputs, "scheduling") == "dynamic"
        self.is_recorded = number(inputs, "recording") > 0
        self.port = MemoryPort(machine, Number(self.block_count - 1.0))
        block_orders = [list(range(self.block_count))]
        self.repetitions = 1
        if not is_sample:
            iteration_count = int(number(inputs, "iterations")) or count_iterations(
                self.block_count, variables, number(inputs, "coupling"), seed
            )
            generator = np.random.default_rng(seed)
            block_orders = (
                [generator.permutation(self.block_count).tolist() for _ in range(iteration_count)]
                if self.is_dynamic
                else block_orders
            )
            self.repetitions = 1 if self.is_dynamic else iteration_count
        data_words = int(number(inputs, "data"))
        reads_all_blocks = word(inputs, "reads") == "all"
        self.accesses_by_iteration = [
            accesses_by_processor(block_order, variables, data_words, reads_all_blocks)
            for block_order in block_orders
        ]

    def supersteps(self) -> Iterator[tuple[int, list[Activity], Activity]]:
        """Yield for each different iteration its repetitions, the activity of each processor, and
        the barrier.
        """
        barrier_kind_name = word(self.inputs, "barrier")
        _, barriers = arrival_and_barrier(
            self.machine, barrier_kind_name, Number(float(self.block_count))
        )
        barrier_costs = [
            barrier_cost(machine_barrier, Number(float(self.block_count)))
            for barrier_name, machine_barrier in self.machine.barriers.items()
            if barrier_name in barriers
        ]
        barrier = then(
            *(
                delay(cost, name=barrier_kind_name, component="barrier", technology="software")
                for cost in barrier_costs
            )
        )
        for accesses_of_processors in self.accesses_by_iteration:
            yield (
                self.repetitions,
                [
                    self._steps_of_processor(accesses_of_processor)
                    for accesses_of_processor in accesses_of_processors
                ],
                barrier,
            )

    def _steps_of_processor(self, accesses: Sequence[WordAccesses]) -> Activity:
        """Return the steps of a processor in an iteration: take a block, read its data, evaluate
        and factor, read the earlier variables, solve, and write the own variables.
        """
        units = value_of(self.inputs, "work") * value_of(self.inputs, "variables")
        work = delay(units * self.machine.step, name="work")
        first_access, *further_accesses = map(self._access, accesses)
        return then(
            *self._take_block(accesses[0].processor),
            first_access,
            work,
            *further_accesses,
        )

    def _take_block(self, processor: int) -> list[Activity]:
        """Return the steps by which a processor takes a block: none with static scheduling."""
        if not self.is_dynamic:
            return []
        scheduling_time = delay(
            value_of(self.inputs, "inside"),
            name="scheduling",
            component="scheduling",
            technology="software",
        )
        take_access = self._access(WordAccesses(processor, 0, 1), "take")
        return [hold("scheduler", scheduling_time >> take_access)]

    def _access(self, word_accesses: WordAccesses, name: str = "access") -> Activity:
        """Return the access to words of one module, with the time of its recording."""
        word_count = Number(float(word_accesses.word_count))
        recording_time = word_count * value_of(self.inputs, "recording")
        recording_step = delay(
            recording_time,
            name=f"record.{word_accesses.word_count}",
            component="monitor",
            technology="software",
        )
        if word_accesses.kind == "local":
            seconds = word_count * self.machine.memory.access
            access: Activity = delay(
                seconds,
                name=f"local.{word_accesses.word_count}",
                component="memory",
                technology="memory",
            )
        else:
            module_ratios = [
                float(module == word_accesses.module) for module in range(self.module_count)
            ]
            access = repeat(word_count, self.port.access(name, module_ratios))
        return access >> recording_step if self.is_recorded else access

    def access_counts(self) -> dict[str, float]:
        """Return the number of accesses of each kind in the whole run, each to one word, with those
        to the scheduler's word on node 0.
        """
        words_by_kind = Counter({"local": 0, "neighbour": 0, "other": 0})
        for access in (
            access
            for accesses_of_processors in self.accesses_by_iteration
            for accesses in accesses_of_processors
            for access in accesses
        ):
            words_by_kind[access.kind] += self.repetitions * access.word_count
        if self.is_dynamic:
            for processor in range(self.block_count):
                words_by_kind[WordAccesses(processor, 0, 1).kind] += len(self.accesses_by_iteration)
        words_by_kind["remote"] = words_by_kind["neighbour"] + words_by_kind.pop("other")
        return {f"accesses[{kind}]": float(words) for kind, words in sorted(words_by_kind.items())}


def blocks(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of all iterations, each with the accesses of every processor and the barrier.

    Raises
    ------
    ModelError : processors of the machine have no modules of their own, or it has fewer modules
        than there are blocks
    """
    return _model_of_iterations(_Schedule(machine, inputs))


def sample(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of one iteration, with block i on processor i; the equations are not solved.
    `blocks` describes the rest.
    """
    return _model_of_iterations(_Schedule(machine, inputs, is_sample=True))


def _model_of_iterations(schedule: _Schedule) -> Model:
    """Build the model of the supersteps of a schedule."""
    resources: dict[str, Resource] = {
        **schedule.port.resources(),
        **({"scheduler": Lock("fifo")} if schedule.is_dynamic else {}),
    }
    model = superstep_model(*schedule.supersteps(), name=NAME, resources=resources)
    return replace(model, counted=schedule.access_counts())


BLOCKS = Program(
    NAME,
    "Block triangular nonlinear equations, each block a task of an iteration",
    SOURCE,
    (
        Input(
            "scheduling",
            COUNT,
            "how blocks are assigned: static, block i on processor i, or dynamic",
            "static",
            options=("static", "dynamic"),
        ),
        Input(
            "reads",
            COUNT,
            "variables of all earlier blocks are read, or of one",
            "all",
            options=("all", "one"),
        ),
        Input(
            "blocks", COUNT, "blocks, and as many processors", 14.0, least=1, most=256, whole=True
        ),
        Input("variables", COUNT, "variables of a block", 100.0, least=1, most=1000, whole=True),
        Input("data", COUNT, "words of the data of a block", 500.0, most=1e5, whole=True),
        Input("work", COUNT, "units of computing for each variable and iteration", 50.0),
        Input(
            "inside",
            TIME,
            "time of the scheduler to hand out a block, beside the access to its word",
            20e-6,
        ),
        Input(
            "recording",
            TIME,
            "time of the code that records an access to a word, of the block that is accessed or"
            " of the scheduler",
            0.0,
        ),
        Input(
            "iterations",
            COUNT,
            "iterations; 0: as many as our equations need",
            0.0,
            most=MOST_ITERATIONS,
            whole=True,
        ),
        Input(
            "coupling",
            COUNT,
            "size of the coefficients between blocks, of our equations",
            0.5,
            most=100.0,
        ),
        Input(
            "seed",
            COUNT,
            "of our equations, and of which processor takes which block",
            1.0,
            whole=True,
        ),
        Input(
            "barrier",
            COUNT,
            "the machine's barrier that ends an iteration, or none",
            NO_LOCK_OR_BARRIER,
            named="barriers",
        ),
    ),
    blocks,
    SharedMemory,
    sample,
)
