"""Matching of sequences: repeats in one sequence of letters are found by words, and extended as
tasks from a shared queue.

The sequential program: an array links each occurrence of a word of k letters to the next one; each
link begins a core block, a stretch that is the same at both places, unless the letters before are
the same as well; and a core block is extended in both directions, across single letters that
differ, as long as longer stretches follow. To extend one core block is a task, and the letters
compared are its work. With dynamic scheduling, processors take tasks, a group at a time, from a
queue whose monitor is on one node; with static scheduling each has an equal number of them from the
start, and the longest share ends the run.

The sequence is read only and so is cached, so accesses are those to the queue: `accesses`, one for
each group that is taken and one for each processor that finds nothing.

The data of the paper (386 sequences of 1.43 million letters) is not there; ours is random, with
repeats planted that differ in single letters. The size of the paper's groups and the number of its
processors are not printed.

Source: Zhang, Nalluri, Qin, MIN-Graph, JPDC 1993, section 6.3; the method after Leung, Blaisdell,
Burge and Karlin, J. Molecular Biology 221, 1991.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import ceil
from random import Random

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME
from slipstick.model.activity import ask, delay, then
from slipstick.model.machine import SharedMemory
from slipstick.model.system import Model, TaskPool, phased_model, superstep_model
from slipstick.model.tasks import Loop
from slipstick.program.program import Input, InputValues, Program, number, value_of, word

NAME = "sequences/matching"
WORD_LETTERS, MEAN_REPEAT_LETTERS, CHANGE_PROBABILITY = 8, 400, 0.05
"""Letters of a word, mean letters of a planted repeat, and how likely a letter of it is changed."""

LETTERS_AFTER_DIFFERENCE = 4
"""Letters that must be the same behind one that differs."""

QUEUE = "queue"


def random_sequence(letter_count: int, repeated_share: float, seed: int) -> str:
    """Return a random sequence of the letters A, C, G and T. Parts of it are copies of other
    parts, with changes.

    Parameters
    ----------
    letter_count : length of the sequence [1]
    repeated_share : share of its letters that are copies of others [1]
    seed : of the random numbers

    >>> random_sequence(12, 0.0, seed=1)
    'ATTCCCGTAATC'
    """
    generator = Random(seed)
    sequence_letters = generator.choices("ACGT", k=letter_count)
    for _ in range(int(repeated_share * letter_count / MEAN_REPEAT_LETTERS)):
        copy_length = min(
            letter_count // 4, 1 + int(generator.expovariate(1 / MEAN_REPEAT_LETTERS))
        )
        source_start, target_start = (
            generator.randrange(letter_count - copy_length) for _ in range(2)
        )
        sequence_letters[target_start : target_start + copy_length] = [
            generator.choice("ACGT") if generator.random() < CHANGE_PROBABILITY else letter
            for letter in sequence_letters[source_start : source_start + copy_length]
        ]
    return "".join(sequence_letters)


def word_links(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each occurrence of a word and the position of the next occurrence.

    >>> list(word_links("ACGTACGTTACGTACGTT"))
    [(0, 9), (1, 10)]
    """
    last_position: dict[str, int] = {}
    for position in range(len(text) - WORD_LETTERS + 1):
        if (
            previous_position := last_position.get(text[position : position + WORD_LETTERS])
        ) is not None:
            yield previous_position, position
        last_position[text[position : position + WORD_LETTERS]] = position


@lru_cache(maxsize=8)
def comparisons_by_task(letter_count: int, repeated_share: float, seed: int) -> tuple[int, ...]:
    """Return for each core block of a sequence the number of letters that are compared to extend
    it.

    Parameters
    ----------
    letter_count, repeated_share, seed : as for `random_sequence`

    >>> letters_by_task = comparisons_by_task(4000, 0.5, seed=1)
    >>> len(letters_by_task), max(letters_by_task)
    (111, 878)
    """
    sequence = random_sequence(letter_count, repeated_share, seed)
    block_starts = (
        (earlier_position, later_position)
        for earlier_position, later_position in word_links(sequence)
        if earlier_position == 0 or sequence[earlier_position - 1] != sequence[later_position - 1]
    )
    return tuple(
        _compared_letter_count(
            sequence, earlier_position + WORD_LETTERS, later_position + WORD_LETTERS, 1
        )
        + _compared_letter_count(sequence, earlier_position - 1, later_position - 1, -1)
        for earlier_position, later_position in block_starts
    )


def _compared_letter_count(
    text: str, first_position: int, second_position: int, direction: int
) -> int:
    """Return the number of letters that are compared in one direction, up to a differing letter
    that `LETTERS_AFTER_DIFFERENCE` equal letters do not follow.
    """
    comparison_count = 0
    while (
        first_position >= 0
        and second_position >= 0
        and max(first_position, second_position) < len(text)
    ):
        comparison_count += 1
        if text[first_position] != text[second_position]:
            letters_behind = [
                text[
                    position + direction : position
                    + direction * (LETTERS_AFTER_DIFFERENCE + 1) : direction
                ]
                for position in (first_position, second_position)
            ]
            if (
                letters_behind[0] != letters_behind[1]
                or len(letters_behind[0]) < LETTERS_AFTER_DIFFERENCE
            ):
                return comparison_count
        first_position = first_position + direction
        second_position = second_position + direction
    return comparison_count


def matching(machine: SharedMemory, inputs: InputValues) -> Model:
    """Build the model of the program: a pool of tasks that processors take, or a share of the tasks
    for each processor.

    Raises
    ------
    ModelError : the sequence has no repeats
    """
    letter_count, processor_count, tasks_together = (
        int(number(inputs, parameter_name)) for parameter_name in ("letters", "processors", "group")
    )
    letters_by_task = comparisons_by_task(
        letter_count, number(inputs, "repeated"), int(number(inputs, "seed"))
    )
    if not letters_by_task:
        raise ModelError(
            f"no word repeats in a sequence of {letter_count} letters; give more letters"
        )
    letter_time = value_of(inputs, "compare") * machine.step
    if word(inputs, "scheduling") == "static":
        tasks_per_processor = ceil(len(letters_by_task) / processor_count)
        letters_by_processor = [
            sum(
                letters_by_task[
                    processor_number * tasks_per_processor : (processor_number + 1)
                    * tasks_per_processor
                ]
            )
            for processor_number in range(processor_count)
        ]
        steps_by_processor = [
            delay(letters_of_processor * letter_time, name=f"matching.{processor_number}")
            for processor_number, letters_of_processor in enumerate(letters_by_processor)
        ]
        return replace(
            superstep_model((1, steps_by_processor, then()), name=NAME), counted={"accesses": 0.0}
        )
    pool = TaskPool(
        Loop(letters_by_task, tasks_together),
        letter_time,
        inside=value_of(inputs, "inside"),
        order="fifo",
    )
    model = phased_model(
        (1, processor_count, ask(QUEUE)), name=NAME, resources={QUEUE: pool}, useful=("busy",)
    )
    return replace(
        model,
        counted={"accesses": float(ceil(len(letters_by_task) / tasks_together) + processor_count)},
    )


MATCHING = Program(
    NAME,
    "Matching of sequences, its tasks taken in groups from a shared queue",
    "Zhang, Nalluri, Qin, MIN-Graph, JPDC 1993, section 6.3; the sequence is ours",
    (
        Input(
            "scheduling",
            COUNT,
            "dynamic, from a queue, or static",
            "dynamic",
            options=("dynamic", "static"),
        ),
        Input(
            "processors", COUNT, "processors that take tasks", 16.0, least=1, most=1e4, whole=True
        ),
        Input(
            "group",
            COUNT,
            "tasks that a processor takes at a time",
            1.0,
            least=1,
            most=1e6,
            whole=True,
        ),
        Input(
            "letters", COUNT, "letters of the sequence", 40000.0, least=100, most=1e6, whole=True
        ),
        Input("repeated", COUNT, "part of the letters that copies others", 0.5, most=10.0),
        Input("seed", COUNT, "of the sequence", 1.0, whole=True),
        Input("compare", COUNT, "units of computing to compare two letters", 1.0),
        Input(
            "inside",
            TIME,
            "time in the monitor of the queue to take a group, or to find none",
            20e-6,
        ),
    ),
    matching,
    SharedMemory,
)
