"""Checks by short runs whose results are stored on disk, so that the check of a model that was
solved before costs nothing.

The result is the same whenever the plan, the expected means, the events and the code are the same:
their hash is its key. Each key has one of a fixed number of files in the user's cache folder, so
that the folder stays small; another key may take the file over. A file is replaced as a whole and
begins with the hash of the key and its content: what is damaged, or belongs to another key, is
simulated again. Nothing is stored where the folder cannot be written.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from slipstick.extensions import code_hash
from slipstick.late import np
from slipstick.sim.estimate import Estimate
from slipstick.sim.plan.plan import Plan
from slipstick.sim.short_check import CheckResult, Expected, check_by_short_run

DECIDING_CODE = (
    "slipstick/sim",
    "slipstick/phases.py",
    "slipstick/time_distributions.py",
    "slipstick/profiles.py",
    "slipstick/random_times.py",
    "slipstick/vocabulary.py",
    "slipstick_compiled",
)
"""The files and folders of code on which the result of a check by a short run depends."""

_NAME_DIGITS = 3
"""Hexadecimal digits of a key that name its file: 4,096 files of some 500 B at most."""


def stored_check(
    plan: Plan,
    expected_by_group: Mapping[int, Expected],
    event_limit: int,
    waits_and_utilizations: Mapping[str, float],
) -> CheckResult:
    """Return the result of a check by simulation from the cache folder, or simulate now and store
    the result there.

    Parameters
    ----------
    plan, expected_by_group, event_limit, waits_and_utilizations : as of `check_by_short_run`
    """
    folder = cache_folder()
    # Equal plans that were built in another way may have other bytes: they are simulated again.
    content = pickle.dumps(
        (
            code_hash(*DECIDING_CODE),
            np.__version__,
            plan,
            expected_by_group,
            event_limit,
            waits_and_utilizations,
        ),
        # A fixed protocol: the bytes of a plan, and so its key, do not follow the default of
        # another version of Python.
        4,
    )
    check_key = sha256(content).hexdigest()
    if folder is None:
        return check_by_short_run(plan, expected_by_group, event_limit, waits_and_utilizations)
    result_file = folder / f"look-{check_key[:_NAME_DIGITS]}.json"
    check_result = _read_result(result_file, check_key)
    if check_result is None:
        check_result = check_by_short_run(
            plan, expected_by_group, event_limit, waits_and_utilizations
        )
        _write_result(result_file, check_key, check_result)
    return check_result


def cache_folder() -> Path | None:
    """Return the folder of stored checks by simulation, in XDG_CACHE_HOME or .cache of the home
    folder; None where the user has neither.
    """
    with suppress(RuntimeError):
        configured_folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache_home = (
            configured_folder if configured_folder.is_absolute() else Path.home() / ".cache"
        )
        return cache_home / "slipstick" / "looks"
    return None


def _read_result(result_file: Path, check_key: str) -> CheckResult | None:
    """Return the result that a file stores for a key; None if it stores none, or is damaged."""
    with suppress(OSError, UnicodeDecodeError):
        first_line, _, result_as_json = result_file.read_text(encoding="utf-8").partition("\n")
        if first_line == _checksum_of_text(check_key, result_as_json):
            fields = json.loads(result_as_json)
            return CheckResult(**{**fields, "estimate": Estimate(**fields["estimate"])})
    return None


def _write_result(result_file: Path, check_key: str, check_result: CheckResult) -> None:
    """Store a result for a key; do nothing if the folder cannot be written."""
    result_text = json.dumps(asdict(check_result))
    temporary_file = result_file.with_name(f".look-{uuid4().hex}")
    with suppress(OSError):
        result_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            # Not stored on the disk at once: a damaged file costs one short run.
            temporary_file.write_text(
                f"{_checksum_of_text(check_key, result_text)}\n{result_text}", encoding="utf-8"
            )
            # In one step, so that another process never reads half a file.
            os.replace(temporary_file, result_file)
        finally:
            temporary_file.unlink(missing_ok=True)


def _checksum_of_text(check_key: str, result_text: str) -> str:
    return sha256(f"{check_key}\n{result_text}".encode()).hexdigest()
