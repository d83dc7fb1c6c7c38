"""Profiles in YAML: specs of kind ``profile``, read as strictly as all specs are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slipstick.late import late_pattern
from slipstick.schema.kinds.quantity import Given, validate
from slipstick.schema.library import Library
from slipstick.schema.text import Table, value_mark
from slipstick_measure.measurements import METRICS, Measurement, Measurements
from slipstick_measure.readers.reading import FileFormat, Reading
from slipstick_measure.specs import ProcessorSpec, ProfileSpec, RunSpec

_PROFILE = late_pattern(r"""["']?profile["']?\s*:""")


def _is_profile(input_file: Reading) -> bool:
    """Return whether a file is a profile in YAML."""
    return any(_PROFILE.match(text) for _, text in input_file.content[:1])


def _read_profile(input_file: Reading) -> Measurements:
    """Read the runs of a profile."""
    if Path(input_file.file).suffix not in (".yaml", ".yml"):
        input_file.refuse(1, "", "a profile is a spec; give its file a name that ends in .yaml")
    tree = Library().load("profile", input_file.file)
    spec = validate(ProfileSpec, tree)
    records = [
        record
        for index, run in enumerate(spec.runs)
        for record in _measurements_of_run(input_file.file, tree, index, run)
    ]
    return Measurements(
        tuple(records),
        timer=spec.timer.value if spec.timer else None,
        causes_of_excess=tuple(spec.excess),
        one_processor_time=spec.one_processor.value if spec.one_processor else None,
        title=spec.title,
        source=spec.sources.get(spec.source, spec.source),
    )


def _measurements_of_run(
    file: str, tree: Table, run_index: int, run: RunSpec
) -> Iterator[Measurement]:
    """Yield the measurements of a run: its time, then busy times, waits and events of the run and
    of each processor.
    """
    processors = int(run.processors.value)
    size = run.size.value if run.size else None

    def build_measurement(
        coordinates: tuple[str | int, ...], metric: str, amount: Given, processor: int | None = None
    ) -> Measurement:
        """Build the measurement of an amount of the run, or of one of its processors."""
        line = value_mark(tree, ("runs", run_index, *coordinates)).line
        region = str(coordinates[-1]) if metric in ("wait", "events") else ""
        unit = str(METRICS[metric].dimension)
        return Measurement(
            processors,
            size,
            region,
            metric,
            unit,
            amount.value,
            run.repetition,
            file,
            line,
            processor,
            amount.text,
        )

    yield build_measurement(("time",), "time", run.time)
    accounts: list[tuple[tuple[str | int, ...], RunSpec | ProcessorSpec, int | None]] = [
        ((), run, None)
    ]
    accounts += [
        (("each", index), processor, index + 1) for index, processor in enumerate(run.each)
    ]
    for coordinates, account, processor in accounts:
        if account.busy:
            yield build_measurement((*coordinates, "busy"), "busy", account.busy, processor)
        for key, metric, amounts_by_cause in (
            ("waits", "wait", account.waits),
            ("events", "events", account.events),
        ):
            for cause, amount in amounts_by_cause.items():
                yield build_measurement((*coordinates, key, cause), metric, amount, processor)


FORMATS = (FileFormat("profile", _is_profile, _read_profile),)
