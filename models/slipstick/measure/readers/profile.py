"""Profiles in YAML: specs of kind ``profile``, read as strictly as all specs are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from slipstick.measure.measurements import METRICS, Measurement, Measurements
from slipstick.measure.readers.reading import FileFormat, Reading
from slipstick.schema.kinds.profile import ProcessorSpec, ProfileSpec, RunSpec
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.library import Library
from slipstick.schema.text.nodes import Table, value_mark
from slipstick.schema.validate import validate

_PROFILE = re.compile(r"""["']?profile["']?\s*:""")


def is_profile(reading: Reading) -> bool:
    """Say whether the first line says so."""
    return any(_PROFILE.match(text) for _, text in reading.content[:1])


def read_profile(reading: Reading) -> Measurements:
    """Read a profile.

    Raises
    ------
    SpecError : everything that is wrong, each at its line
    """
    tree = Library().load("profile", reading.file) if _is_yaml(reading.file) else _refused(reading)
    spec = validate(ProfileSpec, tree)
    records = [
        record for index, run in enumerate(spec.runs) for record in _records(reading.file, tree, ("runs", index), run)
    ]
    return Measurements(
        tuple(records),
        timer=spec.timer.value if spec.timer else None,
        excess=tuple(spec.excess),
        one_processor=spec.one_processor.value if spec.one_processor else None,
        title=spec.title,
        source=spec.sources.get(spec.source, spec.source),
    )


def _is_yaml(file: str) -> bool:
    return Path(file).suffix in (".yaml", ".yml")


def _refused(reading: Reading) -> Table:
    reading.refuse(1, "", "a profile is a spec; give its file a name that ends in .yaml")


def _records(file: str, tree: Table, path: tuple[str | int, ...], run: RunSpec) -> list[Measurement]:
    p = int(run.processors.value)
    n = run.size.value if run.size else None

    def made(
        where: tuple[str | int, ...], metric: str, given: Given, region: str = "", processor: int | None = None
    ) -> Measurement:
        line = value_mark(tree, (*path, *where)).line
        unit = str(METRICS[metric].dimension)
        return Measurement(p, n, region, metric, unit, given.value, run.repetition, file, line, processor, given.text)

    def spent(where: tuple[str | int, ...], by: RunSpec | ProcessorSpec, processor: int | None) -> list[Measurement]:
        books: dict[str, Mapping[str, Given]] = {"wait": by.waits, "events": by.events}
        busy = [made((*where, "busy"), "busy", by.busy, processor=processor)] if by.busy else []
        return busy + [
            made((*where, "waits" if metric == "wait" else metric, cause), metric, given, cause, processor)
            for metric, book in books.items()
            for cause, given in book.items()
        ]

    found = [made(("time",), "time", run.time), *spent((), run, None)]
    for index, each in enumerate(run.each):
        found += spent(("each", index), each, index + 1)
    return found


FORMATS = (FileFormat("profile", "a profile in YAML, 'profile: 1'", is_profile, read_profile),)
