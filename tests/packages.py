"""Packages of other authors, which a test installs in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.house.code import PACKAGE


def install(folder: Path, name: str, entry_points: str, modules: Mapping[str, str]) -> None:
    """Write a package as if it were installed in a folder that is on Python's path.

    Parameters
    ----------
    entry_points : text of its file of entry points
    modules : their texts by path in the folder
    """
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    for path, text in modules.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)


def run_in(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """Run Python commands in a process of their own, which sees the packages of a folder."""
    return subprocess.run(
        [sys.executable, "-c", commands],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(folder)])},
        capture_output=True,
        text=True,
        check=False,
    )
