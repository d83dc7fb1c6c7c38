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
    int64="next_visit due_count present_count first_waiting_index waiting_count ended_count"
    " round_count put_back_count served_count share_count logged_count most_visits",
    float64="now used_memory busy_time work_given_count most_events budget places memory"
    " batching_delay interval",
    bool_="reserves_memory has_think_times serves_earlier_first",
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
    present_visits: Ints  # visits, in the order of admission
    waiting_visits: Ints  # visits, from `first_waiting_index` on, around the end
    shared_visits: Ints  # visits that the round serves, and the work that it does for each
    shares: Array
    pieces: Array  # by phase
    code: Ints  # by instruction: operator, register, first operand, number of operands
    operands: Ints
    registers: Array
    inputs: Ints  # registers of the contents of a round, or -1
    outputs: Ints  # registers of the parts of its time
    round_contents: Array  # of a round: by phase customers, units and products, then what is held
    product_growth: Array  # by phase, of the products from one round to the next
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
        visit_count, phase_count = work.shape
        self._server = server
        run = np.zeros(1, RUN).view(np.recarray)
        run.next_visit = run.due_count = len(arrivals)
        run.reserves_memory, run.has_think_times = server.reserved, think is not None
        run.serves_earlier_first = server.earlier_first
        for name in ("budget", "places", "memory", "batching_delay", "interval"):
            run[name] = getattr(server, name)
        customer_rows = np.zeros(visit_count, CUSTOMER)
        customer_rows["phase_to_resume"] = -1
        time_tables = _tables_of_round_time(server.duration, phase_count)
        component_count = len(time_tables["outputs"])
        self._tables = Tables(
            run=run,
            customer=customer_rows,
            work=np.ascontiguousarray(work, dtype=np.float64),
            think=np.zeros(1) if think is None else np.ascontiguousarray(think, dtype=np.float64),
            arrival_times=np.zeros(visit_count),
            end_times=np.zeros(work.shape),
            due_times=np.array(arrivals, dtype=np.float64),
            due_visits=np.arange(len(arrivals)),
            present_visits=np.zeros(visit_count, dtype=np.int64),
            waiting_visits=np.zeros(visit_count, dtype=np.int64),
            shared_visits=np.zeros(visit_count, dtype=np.int64),
            shares=np.zeros(visit_count),
            pieces=np.array(server.pieces, dtype=np.float64),
            **time_tables,
            round_contents=np.zeros(len(STATE) * phase_count + 1),
            product_growth=np.zeros(phase_count),
            component_times=np.zeros(component_count),
            booked_times=np.zeros(phase_count * component_count),
            log=np.zeros((LOG_ROWS, 6 + phase_count * component_count)),
        )

    def run(self, until: int | None, events: float) -> RoundRun:
        """Continue the run until `until` visits have ended or `events` customers have been given
        work.
        """
        tables = self._tables
        run = tables.run[0]
        most_visits = len(tables.work) if until is None else until
        run.most_visits, run.most_events = most_visits, events
        work_pace = WorkPace()
        logs = []
        while True:
            stop_code = _run_until_stop(tables)
            logs.append(tables.log[: run.logged_count].copy())
            run.logged_count = 0
            if stop_code == REFUSED:
                self._refuse()
            if stop_code == DONE:
                has_ended = tables.end_times[:, -1] > 0
                return RoundRun(
                    tables.arrival_times, tables.end_times, has_ended, np.concatenate(logs)
                )
            work_pace.check(
                int(run.ended_count), most_visits, f"the simulation follows {most_visits:,} visits"
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
        contents_by_name = dict(
            zip(state_names(duration.phases), tables.round_contents.tolist(), strict=True)
        )
        duration.refuse(np.array([time]), contents_by_name)


def _tables_of_round_time(duration: RoundTime, phase_names: int) -> dict[str, Any]:
    """Return the computation of the time of a round as tables for the loop; parts that do not
    depend on the round are computed in advance.
    """
    listing = duration.tape.listing()
    content_names = state_names(duration.phases)
    registers = np.zeros(listing["size"])
    for register, constant in listing["numbers"]:
        registers[register] = constant
    register_by_name = {name: register for register, name in listing["inputs"]}
    for name, register in register_by_name.items():
        if name not in content_names:
            own_value = duration.own_values.get(name, duration.tape.parameters[name].value)
            registers[register] = np.asarray(own_value).item()
    varying_registers = {
        register_by_name[name] for name in content_names if name in register_by_name
    }
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
        "inputs": np.array(
            [register_by_name.get(name, -1) for name in content_names], dtype=np.int64
        ),
        "outputs": np.array(listing["outputs"], dtype=np.int64),
    }


def unknown_operators(server: RoundServer) -> list[str]:
    """List the operators in the contents of a round that the compiled loop cannot compute."""
    assert isinstance(server.duration, RoundTime)
    listing = server.duration.tape.listing()
    content_names = state_names(server.duration.phases)
    varying_registers = {register for register, name in listing["inputs"] if name in content_names}
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


def _compile_decorator(**compiler_options: bool) -> Callable[[F], F]:
    """Return a decorator that compiles a function with numba."""
    compiler: Callable[[F], F] = import_module("numba").njit(
        error_model="numpy", **compiler_options
    )
    return compiler


compiled = _compile_decorator(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@compiled
def _wait_for_a_round(tables: Tables) -> None:
    """Move the clock to the beginning of the next round: wait for an arrival if there is no
    customer, then for the interval or the batching delay.
    """
    run = tables.run[0]
    _take_arrivals(tables)
    if not run.present_count and not run.waiting_count:
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
        tables.waiting_visits[
            (run.first_waiting_index + run.waiting_count) % len(tables.waiting_visits)
        ] = visit
        run.waiting_count += 1


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
    run.share_count = 0
    budget_left = run.budget
    phase_count = len(tables.pieces)
    if run.serves_earlier_first:
        budget_left = _admit(tables, _share_phase(tables, 0, budget_left))
        for phase in range(1, phase_count):
            budget_left = _share_phase(tables, phase, budget_left)
    else:
        for phase in range(phase_count - 1, -1, -1):
            budget_left = _share_phase(tables, phase, budget_left)
        _admit(tables, budget_left)


@compiled
def _share_phase(tables: Tables, phase: int, budget_left: float) -> float:
    """Record the shares of the customers in a phase; return the budget that is left."""
    run = tables.run[0]
    for present_index in range(run.present_count):
        visit = tables.present_visits[present_index]
        if tables.customer[visit].phase == phase:
            budget_left -= _give_share(tables, visit, budget_left)
    return budget_left


@compiled
def _give_share(tables: Tables, visit: int, budget_left: float) -> float:
    """Record and return the share of the budget that a visit gets in the round."""
    run = tables.run[0]
    customer = tables.customer[visit]
    share = min(tables.pieces[customer.phase], customer.work_left, budget_left)
    tables.shared_visits[run.share_count], tables.shares[run.share_count] = visit, share
    run.share_count += 1
    return float(share)


@compiled
def _admit(tables: Tables, budget_left: float) -> float:
    """Admit waiting visits while budget, places and memory last; return the budget that is left."""
    run = tables.run[0]
    while run.waiting_count and budget_left > 0 and run.present_count < run.places:
        visit = tables.waiting_visits[run.first_waiting_index]
        claim = _memory_claim(tables, visit)
        if run.present_count and run.used_memory + claim > run.memory:
            break
        run.first_waiting_index = (run.first_waiting_index + 1) % len(tables.waiting_visits)
        run.waiting_count -= 1
        tables.present_visits[run.present_count] = visit
        run.present_count += 1
        run.used_memory += claim
        budget_left -= _give_share(tables, visit, budget_left)
    return float(budget_left)


@compiled
def _memory_claim(tables: Tables, visit: int) -> float:
    """Return the memory that a visit needs on admission: its current phase, and with reservation
    also its later ones.
    """
    customer = tables.customer[visit]
    reserved_units = 0.0
    if tables.run[0].reserves_memory:
        for phase in range(customer.phase + 1, len(tables.pieces)):
            reserved_units += tables.work[visit, phase]
    return float(customer.work_left + reserved_units)


@compiled
def _count_equal_rounds(tables: Tables) -> int:
    """Return how many rounds follow one another with the same shares, before a phase ends or the
    memory is full.
    """
    run = tables.run[0]
    if run.batching_delay or run.interval:
        return 1
    round_count = MOST_ALIKE
    memory_growth = 0.0
    for index in range(run.share_count):
        customer, share = tables.customer[tables.shared_visits[index]], tables.shares[index]
        if share != tables.pieces[customer.phase]:
            return 1
        round_count = min(round_count, int(customer.work_left / share))
        if customer.phase:
            memory_growth += share
    if not run.reserves_memory and math.isfinite(run.memory) and memory_growth:
        round_count = min(round_count, int((run.memory - run.used_memory) / memory_growth))
    return max(round_count, 1)


@compiled
def _do_rounds(tables: Tables, most_rounds: int) -> bool:
    """Run up to `most_rounds` rounds, all with the units of the first for each customer, and stop
    when a customer arrives; return whether the times of the rounds are valid.
    """
    run = tables.run[0]
    phase_count = len(tables.pieces)
    units_of_round = _fill_contents(tables)
    units_held_at_begin = tables.round_contents[-1]
    products_at_begin = tables.round_contents[2 * phase_count : 3 * phase_count].copy()
    is_admission_blocked = run.waiting_count > 0 or run.present_count >= run.places
    stops_at_arrival = run.due_count > 0 and most_rounds > 1 and not is_admission_blocked
    tables.component_times[:] = 0.0
    total_time = 0.0
    done_count = 0
    begin_time = run.now
    while done_count < most_rounds:
        tables.round_contents[-1] = units_held_at_begin + done_count * units_of_round
        for phase in range(phase_count):
            tables.round_contents[2 * phase_count + phase] = (
                products_at_begin[phase] + done_count * tables.product_growth[phase]
            )
        time = _time_of_round(tables)
        if not (time > 0 and math.isfinite(time)):
            return False
        total_time += time
        done_count += 1
        if stops_at_arrival and begin_time + total_time >= tables.due_times[0]:
            break
    run.round_count += done_count
    run.served_count += done_count * run.share_count
    component_count = len(tables.outputs)
    for phase in range(phase_count):
        present_count = 0
        for index in range(run.share_count):
            present_count += tables.customer[tables.shared_visits[index]].phase == phase
        for component in range(component_count):
            tables.booked_times[phase * component_count + component] += (
                present_count * tables.component_times[component]
            )
    end_time = begin_time + total_time
    run.busy_time += end_time - begin_time
    run.now = end_time
    for index in range(run.share_count):
        _advance(tables, tables.shared_visits[index], tables.shares[index] * done_count)
    _remove_ended(tables)
    _make_room(tables)
    return True


@compiled
def _fill_contents(tables: Tables) -> float:
    """Compute the contents of the first of the next rounds: customers, units and products by phase.
    Return the units of work in it [units].
    """
    run = tables.run[0]
    phase_count = len(tables.pieces)
    tables.round_contents[:] = 0.0
    tables.product_growth[:] = 0.0
    for index in range(run.share_count):
        customer, share = tables.customer[tables.shared_visits[index]], tables.shares[index]
        phase = customer.phase
        tables.round_contents[phase] += share > 0
        tables.round_contents[phase_count + phase] += share
        tables.round_contents[2 * phase_count + phase] += share * (customer.units_held + share / 2)
        tables.round_contents[3 * phase_count] += customer.units_held
        tables.product_growth[phase] += share * share
    units_of_work = 0.0
    for phase in range(phase_count):
        units_of_work += tables.round_contents[phase_count + phase]
    return float(units_of_work)


@compiled
def _time_of_round(tables: Tables) -> float:
    """Compute the time of a round by its contents, and book its parts; return the time [s]."""
    registers = tables.registers
    for index in range(len(tables.inputs)):
        if tables.inputs[index] >= 0:
            registers[tables.inputs[index]] = tables.round_contents[index]
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
    tables: Tables, operator: int, folded_value: float, first_operand: int, operand_count: int
) -> float:
    """Return the result of an operator that combines several operands from left to right."""
    registers, operands = tables.registers, tables.operands
    if operator == SELECT:
        chosen_offset = 2 if folded_value <= registers[operands[first_operand + 1]] else 3
        return float(registers[operands[first_operand + chosen_offset]])
    for index in range(first_operand + 1, first_operand + operand_count):
        next_value = registers[operands[index]]
        if operator == SUM:
            folded_value += next_value
        elif operator == DIFFERENCE:
            folded_value -= next_value
        elif operator == PRODUCT:
            folded_value *= next_value
        elif operator == QUOTIENT:
            folded_value /= next_value
        elif operator == MAX:
            folded_value = np.maximum(folded_value, next_value)
        elif operator == MIN:
            folded_value = np.minimum(folded_value, next_value)
        elif operator == POW:
            folded_value = folded_value**next_value
        elif operator == POWER:
            folded_value = _whole_power(folded_value, int(next_value))
    return folded_value


@compiled
def _whole_power(base_number: float, exponent: int) -> float:
    """Return a whole power of a number by repeated squaring."""
    power, product = base_number, 1.0
    remaining_exponent = abs(exponent)
    while remaining_exponent:
        if remaining_exponent % 2:
            product = product * power
        power = power * power
        remaining_exponent //= 2
    return product if exponent >= 0 else 1.0 / product


@compiled
def _advance(tables: Tables, visit: int, units: float) -> None:
    """Count units of work as done by a visit, which then ends its phase or the whole visit."""
    run = tables.run[0]
    customer = tables.customer[visit]
    customer.work_left -= units
    customer.units_held += units
    if not run.reserves_memory and customer.phase:
        run.used_memory += units
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
    run.used_memory -= tables.customer[visit].units_held
    run.ended_count += 1
    if run.has_think_times and run.next_visit < len(tables.work):
        _push_due(tables, run.now + tables.think[run.next_visit], run.next_visit)
        run.next_visit += 1


@compiled
def _remove_ended(tables: Tables) -> None:
    """Remove the visits that have ended from those present, and keep the order of the others."""
    run = tables.run[0]
    remaining_count = 0
    for present_index in range(run.present_count):
        visit = tables.present_visits[present_index]
        if tables.customer[visit].phase < len(tables.pieces):
            tables.present_visits[remaining_count] = visit
            remaining_count += 1
    run.present_count = remaining_count


@compiled
def _make_room(tables: Tables) -> None:
    """Move the customers that were admitted last back to the front of the queue until the memory
    suffices; they compute their work again from the beginning.
    """
    run = tables.run[0]
    while not run.reserves_memory and run.used_memory > run.memory and run.present_count >= 2:
        run.present_count -= 1
        visit = tables.present_visits[run.present_count]
        customer = tables.customer[visit]
        run.put_back_count += 1
        run.used_memory -= (
            customer.units_held if customer.phase else customer.units_held + customer.work_left
        )
        if customer.phase and customer.work_left > 0:
            customer.phase_to_resume, customer.work_left_later = customer.phase, customer.work_left
            customer.phase = 0
            customer.work_left = 0.0
        customer.work_left += customer.units_held
        customer.units_held = 0.0
        run.first_waiting_index = (run.first_waiting_index - 1) % len(tables.waiting_visits)
        tables.waiting_visits[run.first_waiting_index] = visit
        run.waiting_count += 1


@_compile_decorator(cache=True)
def _run_until_stop(tables: Tables) -> int:
    """Run rounds until the run has ended, the log is full, or a time is not valid; return the
    number of the reason.
    """
    run = tables.run[0]
    while run.ended_count < run.most_visits and run.work_given_count < run.most_events:
        if run.logged_count == len(tables.log):
            return FULL
        _wait_for_a_round(tables)
        _divide_budget(tables)
        run.work_given_count += run.share_count
        if not _do_rounds(tables, _count_equal_rounds(tables)):
            return REFUSED
        log_row = tables.log[run.logged_count]
        log_row[0], log_row[1], log_row[2] = run.now, run.round_count, run.busy_time
        log_row[3], log_row[4], log_row[5] = run.served_count, run.ended_count, run.put_back_count
        log_row[6:] = tables.booked_times
        run.logged_count += 1
    return DONE
