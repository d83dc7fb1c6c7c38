"""Kernels that take the time of memory, locks and barriers, compiled with numba and run without the
interpreter's lock.

Every access depends on the value that the one before it read, which is zero: a processor waits for
each, as in the model of a unit grain. Factors of the units of computing are arguments, so that no
compiler shortens a chain of them. Words that processors share lie 128 bytes apart, in lines of
their own.

Source of the locks and barriers: Mellor-Crummey and Scott, ACM Transactions on Computer Systems
9(1), 1991.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]
numba = import_module("numba")
extending = import_module("numba.extending")
cgutils = import_module("numba.core.cgutils")

MOST_PARTIES = 64
_WORDS_APART = 16
"""Words of 8 B from one shared word to the next."""
LOCK, NEXT, SERVING, COUNT, SENSE, STOP, START = (_WORDS_APART * number for number in range(7))
_NODES = _WORDS_APART * 8
_FLAGS = _NODES + 2 * _WORDS_APART * MOST_PARTIES
_SLOTS = _FLAGS + 8 * _WORDS_APART * MOST_PARTIES
WORDS = _SLOTS + _WORDS_APART * MOST_PARTIES
TAS, TTAS, TICKET, ARRAY, MCS = range(1, 6)
CENTRAL = 1
DISSEMINATION = 2
TICKS = 17
"""Numbers that a kernel is given: seconds and nanoseconds of eight clocks, and the outcome of the
gauge. Before the kernel runs, the first is the seed of its addresses."""
PAGE_BYTES, LINES_PER_VISIT, _LAST_LINE = 4096, 16, 63
"""Bytes of a page, lines that a visit reads, and the last line of a page."""
_GAUGE_TURNS = 20_000
"""Turns of the gauge: about 30 us."""


def _compile(function: F) -> F:
    """Return a function that numba compiles without the interpreter's lock; its machine code is
    cached for the next process.
    """
    compiled: F = numba.njit(nogil=True, cache=True, _nrt=False)(function)
    return compiled


def _atomic_operation(operand_count: int, emit: Callable[..., Any]) -> Any:
    """Build an atomic operation on one word of an integer array, with a given number of
    operands.
    """
    numba_types = numba.types

    def typed_operation(context: Any, array: Any, index: Any, *numbers: Any) -> Any:
        def emit_code(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            array = target.make_array(signature.args[0])(target, builder, values[0])
            pointer = cgutils.get_item_pointer(
                target, builder, signature.args[0], array, [values[1]], wraparound=False
            )
            return emit(builder, pointer, *values[2:])

        return numba_types.int64(
            array, numba_types.intp, *[numba_types.int64] * operand_count
        ), emit_code

    operation_by_operand_count = {
        0: lambda context, array, index: typed_operation(context, array, index),
        1: lambda context, array, index, first_number: typed_operation(
            context, array, index, first_number
        ),
        2: lambda context, array, index, first_number, second_number: typed_operation(
            context, array, index, first_number, second_number
        ),
    }
    return extending.intrinsic(operation_by_operand_count[operand_count])


def _store_release(builder: Any, pointer: Any, value: Any) -> Any:
    """Store a value in a word, with release semantics."""
    builder.store_atomic(value, pointer, "release", 8)
    return value


def _swap_if_equal(builder: Any, pointer: Any, old: Any, new: Any) -> Any:
    """Compare and swap: replace a word by a new value if it equals the old value; return its
    previous value.
    """
    return builder.extract_value(builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst"), 0)


_load = _atomic_operation(0, lambda builder, pointer: builder.load_atomic(pointer, "acquire", 8))
_put = _atomic_operation(1, _store_release)
_swap = _atomic_operation(
    1, lambda builder, pointer, value: builder.atomic_rmw("xchg", pointer, value, "seq_cst")
)
_add = _atomic_operation(
    1, lambda builder, pointer, value: builder.atomic_rmw("add", pointer, value, "seq_cst")
)
_compare_and_swap = _atomic_operation(2, _swap_if_equal)


_read_clock = numba.types.ExternalFunction(
    "clock_gettime", numba.types.int32(numba.types.int32, numba.types.intp)
)
_ELAPSED_TIME_CLOCK = time.CLOCK_MONOTONIC
_THREAD_TIME_CLOCK = time.CLOCK_THREAD_CPUTIME_ID


@_compile
def _gauge(ticks: Array, clock_number: int) -> None:
    """Time six independent chains of operations; the time is longer while another guest uses the
    core's second hardware thread.
    """
    chain_1 = ticks[0]
    chain_2 = chain_1 + 1
    chain_3 = chain_1 + 2
    chain_4 = chain_1 + 3
    chain_5 = chain_1 + 5
    chain_6 = chain_1 + 7
    _read_clock(_ELAPSED_TIME_CLOCK, ticks.ctypes.data + 8 * clock_number)
    for turn in range(_GAUGE_TURNS):
        chain_1 = chain_1 ^ (chain_2 + turn)
        chain_2 = chain_2 + (chain_3 ^ turn)
        chain_3 = chain_3 ^ (chain_4 + turn)
        chain_4 = chain_4 + (chain_5 ^ turn)
        chain_5 = chain_5 ^ (chain_6 + turn)
        chain_6 = chain_6 + (chain_1 ^ turn)
    _read_clock(_ELAPSED_TIME_CLOCK, ticks.ctypes.data + 8 * clock_number + 16)
    # The sum is stored, because a compiler would remove chains without effect.
    ticks[TICKS - 1] = chain_1 + chain_2 + chain_3 + chain_4 + chain_5 + chain_6


@_compile
def _start_clock(words: Array, core_count: int, ticks: Array) -> None:
    """Measure the speed of the core, wait for all threads, and read the clocks."""
    _gauge(ticks, 8)
    _add(words, START, 1)
    while _load(words, START) < core_count:
        pass
    _read_clock(_ELAPSED_TIME_CLOCK, ticks.ctypes.data)
    _read_clock(_THREAD_TIME_CLOCK, ticks.ctypes.data + 16)


@_compile
def _stop_clock(ticks: Array) -> None:
    """Read the clocks again, and measure the speed of the core."""
    _read_clock(_THREAD_TIME_CLOCK, ticks.ctypes.data + 48)
    _read_clock(_ELAPSED_TIME_CLOCK, ticks.ctypes.data + 32)
    _gauge(ticks, 12)


@_compile
def acquire(words: Array, lock_kind: int, rank: int, core_count: int, zero: Any) -> Any:
    """Acquire a lock of a kind, after the value of `zero`, which is 0, is known. Return the last
    value that was read, so that the compiler cannot remove the reads.
    """
    previous_value = np.int64(1)
    ticket_number = np.int64(0)
    if lock_kind == TAS:
        while previous_value & 1:
            previous_value = _swap(words, LOCK + zero, 1)
    elif lock_kind == TTAS:
        while previous_value & 1:
            previous_value = _load(words, LOCK + zero)
            if not previous_value & 1:
                previous_value = _swap(words, LOCK + zero, 1)
    elif lock_kind == MCS:
        node = _NODES + 2 * _WORDS_APART * rank
        _put(words, node + zero, 0)
        previous_value = _swap(words, LOCK + zero, node)
        if previous_value >> 1:
            _put(words, node + _WORDS_APART, node)
            _put(words, previous_value, node)
        while previous_value >> 1:
            previous_value = _load(words, node + _WORDS_APART)
    else:  # the lock is whose number is served; in the array each has a slot of its own to look at
        ticket_number = _add(words, NEXT + zero, 1)
        previous_value = ~ticket_number
        flag_index = (
            SERVING if lock_kind == TICKET else _SLOTS + _WORDS_APART * (ticket_number % core_count)
        )
        while (previous_value ^ ticket_number) << 1:
            previous_value = _load(words, flag_index)
    return previous_value


@_compile
def release(words: Array, lock_kind: int, rank: int, core_count: int, acquired_value: int) -> None:
    """Release a lock of a kind; `acquired_value` is the value that `acquire` returned."""
    if lock_kind in (TAS, TTAS):
        _put(words, LOCK, 0)
    elif lock_kind == TICKET:
        _put(words, SERVING, _load(words, SERVING) + 1)
    elif lock_kind == ARRAY:
        _put(words, _SLOTS + _WORDS_APART * ((acquired_value + 1) % core_count), acquired_value + 1)
    elif lock_kind == MCS:
        node = _NODES + 2 * _WORDS_APART * rank
        if not _load(words, node):
            if _compare_and_swap(words, LOCK, node, 0) == node:
                return
            while not _load(words, node):
                pass
        _put(words, _load(words, node) + _WORDS_APART, 0)


@_compile
def _pass_barrier(words: Array, barrier_kind: int, rank: int, core_count: int, turn: int) -> None:
    """Arrive at a barrier, and wait until all parties have arrived."""
    if barrier_kind == CENTRAL:
        if _add(words, COUNT, 1) == core_count - 1:
            _put(words, COUNT, 0)
            _put(words, SENSE, turn)
        else:
            while _load(words, SENSE) != turn:
                pass
    elif barrier_kind == DISSEMINATION:
        distance = 1
        round_index = 0
        while distance < core_count:
            _put(
                words,
                _FLAGS + _WORDS_APART * (8 * ((rank + distance) % core_count) + round_index),
                turn,
            )
            while _load(words, _FLAGS + _WORDS_APART * (8 * rank + round_index)) < turn:
                pass
            distance = 2 * distance
            round_index += 1


@_compile
def repeat_grain(
    memory: Array, words: Array, rank: int, turns: int, plan: Array, ticks: Array
) -> Any:
    """Repeat a grain: random accesses, computing, a critical section, a barrier. Return the number
    of grains that this processor completed.

    Without barrier, processor 0 does `turns` and all others go on until it is done.

    Parameters
    ----------
    memory : the words that are accessed
    words : shared state of the parties
    rank : number of this processor
    turns : grains of processor 0
    plan : parties, elements, accesses, whether they write, units of computing, lock, units in the
        section, barrier, reads before the clock is read, and the two numbers of a unit of computing
    ticks : `TICKS` numbers, of which the first is the seed; the clocks and the gauge are written
        into it
    """
    (
        core_count,
        elements,
        accesses,
        is_write,
        compute,
        lock_kind,
        critical,
        barrier_kind,
        warming_reads,
        factor,
        summand,
    ) = plan
    random_state = np.uint64(ticks[0])
    value = np.int64(0)
    completed_count = 0
    element_count = np.uint64(elements)
    for _ in range(warming_reads):  # what another program has put out of the caches comes back
        random_state = random_state * np.uint64(6364136223846793005) + np.uint64(
            1442695040888963407
        )
        value = memory[
            np.int64(((random_state >> np.uint64(32)) * element_count) >> np.uint64(32)) + value
        ]
    _start_clock(words, core_count, ticks)
    while completed_count < turns or (rank and not barrier_kind):
        for _ in range(accesses):
            random_state = random_state * np.uint64(6364136223846793005) + np.uint64(
                1442695040888963407
            )
            element_index = (
                np.int64(((random_state >> np.uint64(32)) * element_count) >> np.uint64(32)) + value
            )
            value = memory[element_index]
            if is_write:
                # The value is 0 again; a compiler would remove the write of the same value.
                memory[element_index] = value & factor
        if compute:
            chain = value
            for _ in range(compute):
                chain = chain * factor + summand
            value = chain & value  # zero, but only once the chain is known
        if lock_kind:
            acquired_value = acquire(words, lock_kind, rank, core_count, value)
            chain = acquired_value & value  # zero, but only once the lock is acquired
            for _ in range(critical):
                chain = chain * factor + summand
            value = chain & value  # no processor begins the next grain before this is known
            _put(words, COUNT + 1, value)
            release(words, lock_kind, rank, core_count, acquired_value)
        completed_count += 1
        if barrier_kind:
            _pass_barrier(words, barrier_kind, rank, core_count, completed_count)
        elif rank == 0 and completed_count == turns:
            _put(words, STOP, 1)
        elif rank and completed_count % 16 == 0 and _load(words, STOP):
            break
    _stop_clock(ticks)
    return value + completed_count


@_compile
def time_visits(
    memory: Array, words: Array, page_count: int, warming_reads: int, turns: int, ticks: Array
) -> Any:
    """Time turns that each read a quarter of the lines of a random page, in no order, so that few
    reads miss the TLB and few are prefetched.
    """
    random_state = np.uint64(ticks[0])
    value = np.int64(0)
    for turn in range(-warming_reads, turns):
        if turn == 0:
            _start_clock(words, 1, ticks)
        random_state = random_state * np.uint64(6364136223846793005) + np.uint64(
            1442695040888963407
        )
        page_start = np.int64(
            ((random_state >> np.uint64(32)) * np.uint64(page_count)) >> np.uint64(32)
        ) * (PAGE_BYTES // 8)
        first_line = np.int64(random_state >> np.uint64(40))
        line = first_line
        for _ in range(LINES_PER_VISIT):
            line = (
                line * 1229 + 2 * (first_line >> 3) + 1
            ) & _LAST_LINE  # each line once in 64, as 1229 = 1 modulo 4
            mixed_line = ((line ^ (line >> 3)) * 45 + first_line) & _LAST_LINE
            value = memory[page_start + 8 * (mixed_line ^ (mixed_line >> 4)) + value]
    _stop_clock(ticks)
    return value


@_compile
def time_pairs(
    memory: Array,
    words: Array,
    block_count: int,
    block_elements: int,
    stride: int,
    turns: int,
    ticks: Array,
) -> Any:
    """Time turns that each read the first element of a random block and then the element that lies
    `stride` elements further.
    """
    random_state = np.uint64(ticks[0])
    value = np.int64(0)
    _start_clock(words, 1, ticks)
    for _ in range(turns):
        random_state = random_state * np.uint64(6364136223846793005) + np.uint64(
            1442695040888963407
        )
        element_index = (
            np.int64(((random_state >> np.uint64(32)) * np.uint64(block_count)) >> np.uint64(32))
            * block_elements
        )
        value = memory[element_index + value]
        value = memory[element_index + stride + value]
    _stop_clock(ticks)
    return value


@_compile
def time_sums(
    memory: Array,
    words: Array,
    core_count: int,
    first_element: int,
    piece_size: int,
    piece_count: int,
    turns: int,
    ticks: Array,
) -> Any:
    """Time turns that each sum a piece of consecutive elements, which hardware may prefetch."""
    sum_of_elements = np.int64(0)
    _start_clock(words, core_count, ticks)
    for turn in range(turns):
        piece_start = first_element + turn % piece_count * piece_size
        for element_index in range(piece_start, piece_start + piece_size):
            sum_of_elements += memory[element_index]
    _stop_clock(ticks)
    return sum_of_elements


@_compile
def time_handovers(words: Array, rank: int, core_count: int, turns: int, ticks: Array) -> None:
    """Time turns in which threads pass a word around: each waits until the word has its number, and
    increments it.
    """
    _start_clock(words, core_count, ticks)
    for turn in range(turns):
        while _load(words, COUNT) != turn * core_count + rank:
            pass
        _put(words, COUNT, turn * core_count + rank + 1)
    _stop_clock(ticks)


@_compile
def time_swaps(words: Array, turns: int, ticks: Array) -> Any:
    """Time turns that each exchange a word that no other core uses."""
    value = np.int64(0)
    _start_clock(words, 1, ticks)
    for _ in range(turns):
        value += _swap(words, LOCK, value)
    _stop_clock(ticks)
    return value
