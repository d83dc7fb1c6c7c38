"""The compiled kernel of servers that work in rounds: the runs of `slipstick_rounds.round_run`, to
the last bit but for powers and logarithms in the time of a round, by a loop compiled with numba.

The functions correspond to the methods of the plain run, which say what they mean. The loop returns
when its run is done and when its log is full, and continues where it was. All functions stand in
this file, because numba looks only at the file of the outermost one when it decides whether cached
code is valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import NoAnswerError
from slipstick.expression.operators import OPERATORS
from slipstick.late import Array
from slipstick.limits import WorkPace
from slipstick_rounds.model import STATE
from slipstick_rounds.points import RoundTime, state_names
from slipstick_rounds.round_run import MOST_ALIKE, RoundRun, RoundServer

F = TypeVar("F", bound=Callable[..., Any])
Ints = NDArray[np.int64]
Rows = Any
"""A table of rows with named columns."""

LOG_ROWS = 8192
"""Number of rows that the loop writes into its log before it returns to Python."""

COMPUTED_OPERATORS = (
    *("sum", "difference", "product", "quotient", "max", "min", "ceil", "floor"),
    *("log2", "sqrt", "power", "select", "exp", "log", "pow", "booked"),
)
"""Operators of the time of a round that the loop computes; their number is their place here. What
does not depend on the round is computed once, by any operator."""

SUM, DIFFERENCE, PRODUCT, QUOTIENT, MAX, MIN, CEIL, FLOOR = range(8)
LOG2, SQRT, POWER, SELECT, EXP, LOG, POW = range(8, 15)

DONE, FULL, REFUSED = range(3)
"""The reasons why the loop returns: the run has ended, the log is full, or the time of a round is
not valid.
"""


def _named_columns(**names_by_type: str) -> np.dtype[Any]:
    """Return the names of the columns of a table, by the type of their numbers."""
    columns = [
        (name, number_type)
        for number_type, names in names_by_type.items()
        for name in names.split()
    ]
    return np.dtype(columns, align=True)


CUSTOMER = _named_columns(
    int64="phase phase_to_resume", float64="work_left units_held work_left_later"
)
"""A visit; `phase_to_resume` is the phase to continue once the work that was lost is done again, or
-1, and `work_left_later` the work that remains in it."""

RUN = _named_columns(
    int64="next_visit due_count present waiting_from waiting ended rounds put_back served shares"
    " logged most_visits",
    float64="now used busy work_given_count events budget places memory batching_delay interval",
    bool_="reserved has_think_times earlier_first",
)


class Tables(NamedTuple):
    """The tables of a run: its rows, customers and rounds, and the program of the time of a
    round.
    """

    run: Rows
    customer: Rows  # by visit
    work: Array  # by visit and phase
    think: Array  # by visit [s]
    arrival_times: Array
    end_times: Array
    due_times: Array  # a heap of arrivals to come, with the visits that they begin
    due_visits: Ints
    present: Ints  # visits, in the order of admission
    waiting: Ints  # visits, from `waiting_from` on, around the end
    shared: Ints  # visits that the round serves, and the work that it does for each
    shares: Array
    pieces: Array  # by phase
    code: Ints  # by instruction: operator, register, first operand, number of operands
    operands: Ints
    registers: Array
    inputs: Ints  # registers of the contents of a round, or -1
    outputs: Ints  # registers of the parts of its time
    contents: Array  # of a round: by phase customers, units and products, then what is held
    growth: Array  # by phase, of the products from one round to the next
    component_times: Array  # of the time of a group of rounds, booked by part [s]
    booked_times: Array  # by phase and part [s]
    log: Array


class CompiledRounds:
    """One run of a server that works in rounds, by the compiled loop; see
    `slipstick_rounds.round_run`.

    Parameters
    ----------
    server : whose time of a round is a `RoundTime`
    work : of each visit in each phase [visits, phases]
    arrivals : of the first visits, ascending [s]
    think : time before each visit, after the end of another; None where visits come by themselves
        [s]

    Raises
    ------
    NoAnswerError : the loop does not compute an operator of the time of a round
    """

    def __init__(
        self, server: RoundServer, work: Array, arrivals: Array, think: Array | None = None
    ) -> None:
        assert isinstance(server.duration, RoundTime)
        if operators_not_computed := unknown_operators(server):
            raise NoAnswerError(
                f"the compiled kernel of rounds does not compute {operators_not_computed[0]} of"
                " what is in a round; ask for the kernel plain"
            )
        visits, phases = work.shape
        self._server = server
        run = np.zeros(1, RUN).view(np.recarray)
        run.next_visit = run.due_count = len(arrivals)
        run.reserved, run.has_think_times = server.reserved, think is not None
        run.earlier_first = server.earlier_first
        for name in ("budget", "places", "memory", "batching_delay", "interval"):
            run[name] = getattr(server, name)
        customers = np.zeros(visits, CUSTOMER)
        customers["phase_to_resume"] = -1
        code = _tables_of_round_time(server.duration, phases)
        component_count = len(code["outputs"])
        self._tables = Tables(
            run=run,
            customer=customers,
            work=np.ascontiguousarray(work, dtype=np.float64),
            think=np.zeros(1) if think is None else np.ascontiguousarray(think, dtype=np.float64),
            arrival_times=np.zeros(visits),
            end_times=np.zeros(work.shape),
            due_times=np.array(arrivals, dtype=np.float64),
            due_visits=np.arange(len(arrivals)),
            present=np.zeros(visits, dtype=np.int64),
            waiting=np.zeros(visits, dtype=np.int64),
            shared=np.zeros(visits, dtype=np.int64),
            shares=np.zeros(visits),
            pieces=np.array(server.pieces, dtype=np.float64),
            **code,
            contents=np.zeros(len(STATE) * phases + 1),
            growth=np.zeros(phases),
            component_times=np.zeros(component_count),
            booked_times=np.zeros(phases * component_count),
            log=np.zeros((LOG_ROWS, 6 + phases * component_count)),
        )

    def run(self, until: int | None, events: float) -> RoundRun:
        """Continue the run until `until` visits have ended or `events` customers have been given
        work.
        """
        tables = self._tables
        run = tables.run[0]
        most_visits = len(tables.work) if until is None else until
        run.most_visits, run.events = most_visits, events
        pace = WorkPace()
        logs = []
        while True:
            stop_code = _run_until_stop(tables)
            logs.append(tables.log[: run.logged].copy())
            run.logged = 0
            if stop_code == REFUSED:
                self._refuse()
            if stop_code == DONE:
                has_ended = tables.end_times[:, -1] > 0
                return RoundRun(
                    tables.arrival_times, tables.end_times, has_ended, np.concatenate(logs)
                )
            pace.check(
                int(run.ended), most_visits, f"the simulation follows {most_visits:,} visits"
            )

    def _refuse(self) -> NoReturn:
        """Raise the error that the plain run raises on the time of the round under way.

        Raises
        ------
        NoAnswerError : always
        """
        tables, duration = self._tables, self._server.duration
        assert isinstance(duration, RoundTime)
        time = sum(tables.registers[tables.outputs].tolist())
        state = dict(zip(state_names(duration.phases), tables.contents.tolist(), strict=True))
        duration.refuse(np.array([time]), state)


def _tables_of_round_time(duration: RoundTime, phases: int) -> dict[str, Any]:
    """Return the computation of the time of a round as tables for the loop; parts that do not
    depend on the round are computed in advance.
    """
    listing = duration.tape.listing()
    state = state_names(duration.phases)
    registers = np.zeros(listing["size"])
    for register, number in listing["numbers"]:
        registers[register] = number
    register_of = {name: register for register, name in listing["inputs"]}
    for name, register in register_of.items():
        if name not in state:
            own_value = duration.own.get(name, duration.tape.parameters[name].value)
            registers[register] = np.asarray(own_value).item()
    varying_registers = {register_of[name] for name in state if name in register_of}
    code, operands = list[tuple[int, ...]](), list[int]()
    with np.errstate(all="ignore"):
        for operator, output_register, *arguments in listing["code"]:
            if varying_registers.isdisjoint(arguments):
                registers[output_register] = _constant_result(operator, registers, arguments)
                continue
            varying_registers.add(output_register)
            code.append(
                (COMPUTED_OPERATORS.index(operator), output_register, len(operands), len(arguments))
            )
            operands += arguments
    return {
        "code": np.array(code, dtype=np.int64).reshape(-1, 4),
        "operands": np.array([*operands, 0], dtype=np.int64),
        "registers": registers,
        "inputs": np.array([register_of.get(name, -1) for name in state], dtype=np.int64),
        "outputs": np.array(listing["outputs"], dtype=np.int64),
    }


def unknown_operators(server: RoundServer) -> list[str]:
    """List the operators in the contents of a round that the compiled loop cannot compute."""
    assert isinstance(server.duration, RoundTime)
    listing = server.duration.tape.listing()
    names = state_names(server.duration.phases)
    varying_registers = {register for register, name in listing["inputs"] if name in names}
    uncomputed_operators = []
    for operator, output_register, *arguments in listing["code"]:
        if not varying_registers.isdisjoint(arguments):
            varying_registers.add(output_register)
            uncomputed_operators += [operator] if operator not in COMPUTED_OPERATORS else []
    return uncomputed_operators


def _constant_result(operator: str, registers: Array, arguments: Sequence[int]) -> float:
    """Compute the result of an instruction that does not depend on the round."""
    operands = [registers[[register]] for register in arguments]
    if operator == "booked":
        return float(operands[0][0])
    result = np.empty(1)
    OPERATORS[operator].evaluate(operands, result)
    return float(result[0])


def _compile_decorator(**options: bool) -> Callable[[F], F]:
    """Return a decorator that compiles a function with numba."""
    compiler: Callable[[F], F] = import_module("numba").njit(error_model="numpy", **options)
    return compiler


compiled = _compile_decorator(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@compiled
def _wait_for_a_round(tables: Tables) -> None:
    """Move the clock to the beginning of the next round: wait for an arrival if there is no
    customer, then for the interval or the batching delay.
    """
    run = tables.run[0]
    _take_arrivals(tables)
    if not run.present and not run.waiting:
        run.now = tables.due_times[0]
        _take_arrivals(tables)
    if run.interval:
        run.now = run.interval * math.ceil(run.now / run.interval - 1e-9)
        _take_arrivals(tables)
    if run.batching_delay:
        run.now += run.batching_delay
        _take_arrivals(tables)


@compiled
def _take_arrivals(tables: Tables) -> None:
    """Move the visits that are due by now from the heap to the queue of waiting visits."""
    run = tables.run[0]
    while run.due_count and tables.due_times[0] <= run.now:
        visit = tables.due_visits[0]
        tables.arrival_times[visit] = tables.due_times[0]
        _pop_due(tables)
        tables.customer[visit].work_left = tables.work[visit, 0]
        tables.waiting[(run.waiting_from + run.waiting) % len(tables.waiting)] = visit
        run.waiting += 1


@compiled
def _pop_due(tables: Tables) -> None:
    """Remove the first visit from the heap of visits that are due."""
    run = tables.run[0]
    run.due_count -= 1
    last_index = run.due_count
    time, visit = tables.due_times[last_index], tables.due_visits[last_index]
    heap_index = 0
    while 2 * heap_index + 1 < last_index:
        child = 2 * heap_index + 1
        if child + 1 < last_index and _is_before(
            tables, child + 1, tables.due_times[child], tables.due_visits[child]
        ):
            child += 1
        if not _is_before(tables, child, time, visit):
            break
        tables.due_times[heap_index], tables.due_visits[heap_index] = (
            tables.due_times[child],
            tables.due_visits[child],
        )
        heap_index = child
    tables.due_times[heap_index], tables.due_visits[heap_index] = time, visit


@compiled
def _is_before(tables: Tables, heap_index: int, time: float, visit: int) -> bool:
    """Return whether an entry of the heap is due before a time and visit."""
    if tables.due_times[heap_index] != time:
        return bool(tables.due_times[heap_index] < time)
    return bool(tables.due_visits[heap_index] < visit)


@compiled
def _push_due(tables: Tables, time: float, visit: int) -> None:
    """Add a visit to the heap of visits that are due; of a closed population at most one visit of
    each customer is there.
    """
    run = tables.run[0]
    heap_index = run.due_count
    run.due_count += 1
    while heap_index:
        parent = (heap_index - 1) // 2
        if _is_before(tables, parent, time, visit):
            break
        tables.due_times[heap_index], tables.due_visits[heap_index] = (
            tables.due_times[parent],
            tables.due_visits[parent],
        )
        heap_index = parent
    tables.due_times[heap_index], tables.due_visits[heap_index] = time, visit


@compiled
def _divide_budget(tables: Tables) -> None:
    """Share the budget of a round among the customers, in the order of phases, and admit those that
    wait.
    """
    run = tables.run[0]
    run.shares = 0
    budget_left = run.budget
    phases = len(tables.pieces)
    if run.earlier_first:
        budget_left = _admit(tables, _share_phase(tables, 0, budget_left))
        for phase in range(1, phases):
            budget_left = _share_phase(tables, phase, budget_left)
    else:
        for phase in range(phases - 1, -1, -1):
            budget_left = _share_phase(tables, phase, budget_left)
        _admit(tables, budget_left)


@compiled
def _share_phase(tables: Tables, phase: int, budget_left: float) -> float:
    """Record the shares of the customers in a phase; return the budget that is left."""
    run = tables.run[0]
    for present_index in range(run.present):
        visit = tables.present[present_index]
        if tables.customer[visit].phase == phase:
            budget_left -= _give_share(tables, visit, budget_left)
    return budget_left


@compiled
def _give_share(tables: Tables, visit: int, budget_left: float) -> float:
    """Record and return the share of the budget that a visit gets in the round."""
    run = tables.run[0]
    customer = tables.customer[visit]
    share = min(tables.pieces[customer.phase], customer.work_left, budget_left)
    tables.shared[run.shares], tables.shares[run.shares] = visit, share
    run.shares += 1
    return float(share)


@compiled
def _admit(tables: Tables, budget_left: float) -> float:
    """Admit waiting visits while budget, places and memory last; return the budget that is left."""
    run = tables.run[0]
    while run.waiting and budget_left > 0 and run.present < run.places:
        visit = tables.waiting[run.waiting_from]
        claim = _memory_claim(tables, visit)
        if run.present and run.used + claim > run.memory:
            break
        run.waiting_from = (run.waiting_from + 1) % len(tables.waiting)
        run.waiting -= 1
        tables.present[run.present] = visit
        run.present += 1
        run.used += claim
        budget_left -= _give_share(tables, visit, budget_left)
    return float(budget_left)


@compiled
def _memory_claim(tables: Tables, visit: int) -> float:
    """Return the memory that a visit needs on admission: its current phase, and with reservation
    also its later ones.
    """
    customer = tables.customer[visit]
    later_units = 0.0
    if tables.run[0].reserved:
        for phase in range(customer.phase + 1, len(tables.pieces)):
            later_units += tables.work[visit, phase]
    return float(customer.work_left + later_units)


@compiled
def _count_equal_rounds(tables: Tables) -> int:
    """Return how many rounds follow one another with the same shares, before a phase ends or the
    memory is full.
    """
    run = tables.run[0]
    if run.batching_delay or run.interval:
        return 1
    round_count = MOST_ALIKE
    growth = 0.0
    for index in range(run.shares):
        customer, share = tables.customer[tables.shared[index]], tables.shares[index]
        if share != tables.pieces[customer.phase]:
            return 1
        round_count = min(round_count, int(customer.work_left / share))
        if customer.phase:
            growth += share
    if not run.reserved and math.isfinite(run.memory) and growth:
        round_count = min(round_count, int((run.memory - run.used) / growth))
    return max(round_count, 1)


@compiled
def _do_rounds(tables: Tables, count: int) -> bool:
    """Run up to `count` rounds, all with the units of the first for each customer, and stop when a
    customer arrives; return whether the times of the rounds are valid.
    """
    run = tables.run[0]
    phases = len(tables.pieces)
    units_of_round = _fill_contents(tables)
    first_held = tables.contents[-1]
    first_products = tables.contents[2 * phases : 3 * phases].copy()
    cannot_admit = run.waiting > 0 or run.present >= run.places
    stops_at_arrival = run.due_count > 0 and count > 1 and not cannot_admit
    tables.component_times[:] = 0.0
    total_time = 0.0
    rounds_done = 0
    begin_time = run.now
    while rounds_done < count:
        tables.contents[-1] = first_held + rounds_done * units_of_round
        for phase in range(phases):
            tables.contents[2 * phases + phase] = (
                first_products[phase] + rounds_done * tables.growth[phase]
            )
        time = _time_of_round(tables)
        if not (time > 0 and math.isfinite(time)):
            return False
        total_time += time
        rounds_done += 1
        if stops_at_arrival and begin_time + total_time >= tables.due_times[0]:
            break
    run.rounds += rounds_done
    run.served += rounds_done * run.shares
    component_count = len(tables.outputs)
    for phase in range(phases):
        present = 0
        for index in range(run.shares):
            present += tables.customer[tables.shared[index]].phase == phase
        for component in range(component_count):
            tables.booked_times[phase * component_count + component] += (
                present * tables.component_times[component]
            )
    end_time = begin_time + total_time
    run.busy += end_time - begin_time
    run.now = end_time
    for index in range(run.shares):
        _advance(tables, tables.shared[index], tables.shares[index] * rounds_done)
    _remove_ended(tables)
    _make_room(tables)
    return True


@compiled
def _fill_contents(tables: Tables) -> float:
    """Compute the contents of the first of the next rounds: customers, units and products by phase.
    Return the units of work in it [units].
    """
    run = tables.run[0]
    phases = len(tables.pieces)
    tables.contents[:] = 0.0
    tables.growth[:] = 0.0
    for index in range(run.shares):
        customer, share = tables.customer[tables.shared[index]], tables.shares[index]
        phase = customer.phase
        tables.contents[phase] += share > 0
        tables.contents[phases + phase] += share
        tables.contents[2 * phases + phase] += share * (customer.units_held + share / 2)
        tables.contents[3 * phases] += customer.units_held
        tables.growth[phase] += share * share
    units_of_work = 0.0
    for phase in range(phases):
        units_of_work += tables.contents[phases + phase]
    return float(units_of_work)


@compiled
def _time_of_round(tables: Tables) -> float:
    """Compute the time of a round by its contents, and book its parts; return the time [s]."""
    registers = tables.registers
    for index in range(len(tables.inputs)):
        if tables.inputs[index] >= 0:
            registers[tables.inputs[index]] = tables.contents[index]
    for index in range(len(tables.code)):
        operator, output_register, first_operand, operand_count = tables.code[index]
        outcome = registers[tables.operands[first_operand]]
        if operand_count > 1:
            outcome = _fold_operands(tables, operator, outcome, first_operand, operand_count)
        elif operator == CEIL:
            outcome = math.ceil(outcome)
        elif operator == FLOOR:
            outcome = math.floor(outcome)
        elif operator == LOG2:
            outcome = np.log2(outcome)
        elif operator == SQRT:
            outcome = np.sqrt(outcome)
        elif operator == EXP:
            outcome = np.exp(outcome)
        elif operator == LOG:
            outcome = np.log(outcome)
        registers[output_register] = outcome
    round_time = 0.0
    for component in range(len(tables.outputs)):
        time = registers[tables.outputs[component]]
        tables.component_times[component] += time
        round_time += time
    return round_time


@compiled
def _fold_operands(
    tables: Tables, operator: int, first_value: float, first_operand: int, operand_count: int
) -> float:
    """Return the result of an operator that combines several operands from left to right."""
    registers, operands = tables.registers, tables.operands
    if operator == SELECT:
        chosen_offset = 2 if first_value <= registers[operands[first_operand + 1]] else 3
        return float(registers[operands[first_operand + chosen_offset]])
    for index in range(first_operand + 1, first_operand + operand_count):
        next_value = registers[operands[index]]
        if operator == SUM:
            first_value += next_value
        elif operator == DIFFERENCE:
            first_value -= next_value
        elif operator == PRODUCT:
            first_value *= next_value
        elif operator == QUOTIENT:
            first_value /= next_value
        elif operator == MAX:
            first_value = np.maximum(first_value, next_value)
        elif operator == MIN:
            first_value = np.minimum(first_value, next_value)
        elif operator == POW:
            first_value = first_value**next_value
        elif operator == POWER:
            first_value = _whole_power(first_value, int(next_value))
    return first_value


@compiled
def _whole_power(base: float, exponent: int) -> float:
    """Return a whole power of a number by repeated squaring."""
    power, result = base, 1.0
    remaining_exponent = abs(exponent)
    while remaining_exponent:
        if remaining_exponent % 2:
            result = result * power
        power = power * power
        remaining_exponent //= 2
    return result if exponent >= 0 else 1.0 / result


@compiled
def _advance(tables: Tables, visit: int, units: float) -> None:
    """Count units of work as done by a visit, which then ends its phase or the whole visit."""
    run = tables.run[0]
    customer = tables.customer[visit]
    customer.work_left -= units
    customer.units_held += units
    if not run.reserved and customer.phase:
        run.used += units
    while customer.work_left <= 0:
        if customer.phase_to_resume >= 0:
            customer.phase, customer.work_left = customer.phase_to_resume, customer.work_left_later
            customer.phase_to_resume = -1
            continue
        tables.end_times[visit, customer.phase] = run.now
        customer.phase += 1
        if customer.phase == len(tables.pieces):
            _leave(tables, visit)
            return
        customer.work_left = tables.work[visit, customer.phase]


@compiled
def _leave(tables: Tables, visit: int) -> None:
    """Free the memory of a visit that ends, and schedule the next one of a closed population."""
    run = tables.run[0]
    run.used -= tables.customer[visit].units_held
    run.ended += 1
    if run.has_think_times and run.next_visit < len(tables.work):
        _push_due(tables, run.now + tables.think[run.next_visit], run.next_visit)
        run.next_visit += 1


@compiled
def _remove_ended(tables: Tables) -> None:
    """Remove the visits that have ended from those present, and keep the order of the others."""
    run = tables.run[0]
    remaining = 0
    for present_index in range(run.present):
        visit = tables.present[present_index]
        if tables.customer[visit].phase < len(tables.pieces):
            tables.present[remaining] = visit
            remaining += 1
    run.present = remaining


@compiled
def _make_room(tables: Tables) -> None:
    """Move the customers that were admitted last back to the front of the queue until the memory
    suffices; they compute their work again from the beginning.
    """
    run = tables.run[0]
    while not run.reserved and run.used > run.memory and run.present >= 2:
        run.present -= 1
        visit = tables.present[run.present]
        customer = tables.customer[visit]
        run.put_back += 1
        run.used -= (
            customer.units_held if customer.phase else customer.units_held + customer.work_left
        )
        if customer.phase and customer.work_left > 0:
            customer.phase_to_resume, customer.work_left_later = customer.phase, customer.work_left
            customer.phase = 0
            customer.work_left = 0.0
        customer.work_left += customer.units_held
        customer.units_held = 0.0
        run.waiting_from = (run.waiting_from - 1) % len(tables.waiting)
        tables.waiting[run.waiting_from] = visit
        run.waiting += 1


@_compile_decorator(cache=True)
def _run_until_stop(tables: Tables) -> int:
    """Run rounds until the run has ended, the log is full, or a time is not valid; return the
    number of the reason.
    """
    run = tables.run[0]
    while run.ended < run.most_visits and run.work_given_count < run.events:
        if run.logged == len(tables.log):
            return FULL
        _wait_for_a_round(tables)
        _divide_budget(tables)
        run.work_given_count += run.shares
        if not _do_rounds(tables, _count_equal_rounds(tables)):
            return REFUSED
        row = tables.log[run.logged]
        row[0], row[1], row[2] = run.now, run.rounds, run.busy
        row[3], row[4], row[5] = run.served, run.ended, run.put_back
        row[6:] = tables.booked_times
        run.logged += 1
    return DONE
