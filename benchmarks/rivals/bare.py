"""Loops that simulate one kind of model and nothing else, written by hand and compiled: what no
general kernel can beat.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["closed", "single"]


@njit(cache=True)
def push(heap_time: Any, heap_job: Any, size: int, due: float, job: int) -> int:
    """Put an event on the heap; gives its new size."""
    place = size
    while place > 0 and heap_time[(place - 1) >> 1] > due:
        heap_time[place], heap_job[place] = heap_time[(place - 1) >> 1], heap_job[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap_time[place], heap_job[place] = due, job
    return size + 1


@njit(cache=True)
def pop(heap_time: Any, heap_job: Any, size: int) -> int:
    """Take the first event off the heap; gives its new size."""
    size -= 1
    t, k, place, below = heap_time[size], heap_job[size], 0, 1
    while below < size:
        if below + 1 < size and heap_time[below + 1] < heap_time[below]:
            below += 1
        if t <= heap_time[below]:
            break
        heap_time[place], heap_job[place] = heap_time[below], heap_job[below]
        place, below = below, 2 * below + 1
    heap_time[place], heap_job[place] = t, k
    return size


@njit(cache=True)
def single(cycles: int, seed: int) -> float:
    """One server and arrivals: next arrival, next departure, a ring of arrival times."""
    np.random.seed(seed)
    heap_time, heap_kind, heap = np.zeros(16), np.zeros(16, np.int64), 1
    heap_time[0] = np.random.exponential(1.0)
    ring, first, present = np.zeros(4096), 0, 0
    total, completed = 0.0, 0
    while completed < cycles:
        now, kind = heap_time[0], heap_kind[0]
        heap -= 1
        t, k, place, below = heap_time[heap], heap_kind[heap], 0, 1
        while below < heap:
            if below + 1 < heap and heap_time[below + 1] < heap_time[below]:
                below += 1
            if t <= heap_time[below]:
                break
            heap_time[place], heap_kind[place] = heap_time[below], heap_kind[below]
            place, below = below, 2 * below + 1
        heap_time[place], heap_kind[place] = t, k
        begins = False
        if kind == 0:
            ring[(first + present) & 4095] = now
            present += 1
            begins = present == 1
        else:
            total += now - ring[first & 4095]
            first += 1
            present -= 1
            completed += 1
            begins = present > 0
        for event in range(2):
            if (event == 0 and kind == 0) or (event == 1 and begins):
                due = now + np.random.exponential(1.0 if event == 0 else 0.8)
                place = heap
                heap += 1
                while place > 0 and heap_time[(place - 1) >> 1] > due:
                    heap_time[place], heap_kind[place] = (
                        heap_time[(place - 1) >> 1],
                        heap_kind[(place - 1) >> 1],
                    )
                    place = (place - 1) >> 1
                heap_time[place], heap_kind[place] = due, event
    return total / cycles


@njit(cache=True)
def closed(cycles: int, seed: int, jobs: int, think: float, means: Any) -> float:
    """Closed networks: think, the first station, one of the others."""
    np.random.seed(seed)
    heap_time, heap_job, size = np.zeros(64), np.zeros(64, np.int64), 0
    ring, first, present = (
        np.zeros((len(means), 64), np.int64),
        np.zeros(len(means), np.int64),
        np.zeros(len(means), np.int64),
    )
    at, begun = np.full(jobs, -1), np.zeros(jobs)
    for job in range(jobs):
        size = push(
            heap_time, heap_job, size, np.random.exponential(think) if think > 0 else 0.0, job
        )
    total, completed = 0.0, 0
    while completed < cycles:
        now, job = heap_time[0], heap_job[0]
        size = pop(heap_time, heap_job, size)
        station, next_station = at[job], 0
        if station >= 0:
            first[station] += 1
            present[station] -= 1
            if present[station] > 0:
                due = now + np.random.exponential(means[station])
                size = push(heap_time, heap_job, size, due, ring[station, first[station] & 63])
            if station == 0 and len(means) > 1:
                next_station = 1 + int(np.random.random() * (len(means) - 1))
            else:
                total += now - begun[job]
                begun[job] = now
                completed += 1
                next_station = -1 if think > 0 else 0
        at[job] = next_station
        if next_station < 0:
            size = push(heap_time, heap_job, size, now + np.random.exponential(think), job)
            continue
        ring[next_station, (first[next_station] + present[next_station]) & 63] = job
        present[next_station] += 1
        if present[next_station] == 1:
            size = push(
                heap_time, heap_job, size, now + np.random.exponential(means[next_station]), job
            )
    return total / cycles
