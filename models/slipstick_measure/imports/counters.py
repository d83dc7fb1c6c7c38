"""An activity from the counters of `perf stat`: the work of a run in cycles. Stalls, where they
were counted, are a step of their own.
"""

from __future__ import annotations

from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.measurements import Measurement
from slipstick_measure.readers.perf import UNITS, event_counts
from slipstick_measure.readers.reading import Coordinates, Reading

_EVENT_NAMES = ("cycles", "instructions", "stalled-cycles-backend", "stalled-cycles-frontend")


def counters_spec(input_file: Reading) -> ImportedSpec:
    """Build the spec of an activity from the counters of one run: its instructions, multiplied by
    the cycles of an instruction, at the clock rate that follows from cycles and busy time.

    Backend stalls, where they were counted, are a step of their own, booked to memory. That every
    stall waits for memory is an assumption, and that processors share the work evenly is another.

    Raises
    ------
    SpecError : processors not told, or no time, cycles and instructions
    """
    line_and_count_by_event, busy_time = _counts_and_busy_time(input_file)

    def source_text(name: str, detail: str = "") -> str:
        """Return the source of a value that is computed from the count of an event."""
        return f"perf stat, {name}, {input_file.name}:{line_and_count_by_event[name][0]}{detail}"

    cycles = line_and_count_by_event["cycles"][1]
    instructions = line_and_count_by_event["instructions"][1]
    stalls = min(line_and_count_by_event.get("stalled-cycles-backend", (0, 0.0))[1], cycles)
    cycles_quantity = quantity(
        (cycles - stalls) / instructions,
        "",
        source_text("cycles", ", stalls taken off, an instruction"),
    )
    clock_source = source_text(
        "cycles", f", over task-clock {busy_time.text}, line {busy_time.line}"
    )
    parameters = {
        "instructions": quantity(instructions, "", source_text("instructions")),
        "cycles_each": cycles_quantity,
        "clock": quantity(cycles / busy_time.value, "/s", clock_source),
        "processors": quantity(busy_time.p, "", "told beside the file"),
    }
    time_of_processor = "instructions * cycles_each / clock / processors"
    cycle_steps = [{"name": "compute", "delay": time_of_processor, "component": "busy"}]
    if stalls:
        stall_source = source_text("stalled-cycles-backend", ": taken to wait for memory")
        parameters["stalls"] = quantity(stalls, "", stall_source, True)
        cycle_steps.append(
            {"name": "stall", "delay": "stalls / clock / processors", "component": "memory"}
        )
    document = {
        "source": "measured",
        "sources": {"measured": f"perf stat output {input_file.name}"},
        "parameters": parameters,
        "population": {"processors": "processors"},
        "useful": ["busy"],
        "cycle": cycle_steps,
    }
    spec = ImportedSpec(
        "activity", f"A run counted by perf stat, {input_file.name}", input_file.file, document
    )
    spec.add_note(
        "the work is assumed to be shared evenly by the processors, and waits between them are not"
        " in it"
    )
    return spec


def _counts_and_busy_time(input_file: Reading) -> tuple[dict[str, tuple[int, float]], Measurement]:
    """Return the count and the line of each event, and the measured busy time; raise if a needed
    one is missing.
    """
    processors = input_file.hints.processors
    if processors is None:
        input_file.refuse(
            1,
            "",
            "perf stat does not say how many processors the run had; name them with --processors",
        )
    line_and_count_by_event: dict[str, tuple[int, float]] = {}
    for event_count in event_counts(input_file):
        event_name = event_count.event.split(":")[0].removeprefix("cpu-")
        if (
            event_name in _EVENT_NAMES
            and (count := input_file.number(event_count.line, event_name, event_count.value))
            is not None
        ):
            line_and_count_by_event[event_name] = event_count.line, count
        elif event_name == "task-clock":
            input_file.add(
                event_count.line,
                Coordinates(processors),
                "busy",
                event_count.value,
                UNITS.get(event_count.unit, event_count.unit),
            )
    if input_file.problems:
        input_file.finished()
    missing_counts = [
        name for name in _EVENT_NAMES[:2] if not line_and_count_by_event.get(name, (0, 0.0))[1] > 0
    ]
    missing_counts += [] if any(run.value > 0 for run in input_file.runs) else ["task-clock"]
    if missing_counts:
        message = (
            f"there is no count of {', '.join(missing_counts)}; run perf stat -e"
            " task-clock,cycles,instructions"
        )
        input_file.refuse(1, "", message)
    return line_and_count_by_event, input_file.runs[0]
