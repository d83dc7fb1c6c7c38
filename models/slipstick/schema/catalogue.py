"""The catalogue: where specs are, by kind and name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slipstick.errors import UnknownNameError

__all__ = ["FOLDERS", "find", "names", "shipped", "table_called"]

FOLDERS = {
    "machine": "machines",
    "network": "networks",
    "workload": "workloads",
    "technology": "technologies",
    "trend": "trends",
    "activity": "activities",
    "queueing-network": "queueing",
    "study": "studies",
    "profile": "profiles",
    "counts": "counts",
}
"""Folder of each kind of spec, in the shipped catalogue and in a folder ``specs`` of the user's."""

LONGEST_NAME = 100


@cache
def shipped() -> Path:
    """Give the folder of the shipped specs: beside the code when installed, at the root of a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_specs"
    return installed if installed.is_dir() else package.parent.parent / "specs"


def names(kind: str) -> list[str]:
    """List the names of a kind, sorted; the user's own come first in a search but are listed together."""
    found = {path.stem for folder in _folders(kind) for path in folder.glob("*.yaml")}
    return sorted(found)


def find(kind: str, reference: str, beside: Path | None = None) -> Path:
    """Find a spec by name, or take a path as it is.

    Parameters
    ----------
    kind : what is wanted
    reference : a name in the catalogue, or a path that ends in .yaml or .yml
    beside : folder that relative paths start from

    Raises
    ------
    UnknownNameError : no spec of that kind has the name
    """
    if reference.endswith((".yaml", ".yml")):
        path = Path(reference)
        return path if beside is None or path.is_absolute() else beside / path
    for folder in _folders(kind):
        path = folder / f"{reference}.yaml"
        # A name is looked up, never followed out of the folder; what is longer than a name can be is none.
        if "/" not in reference and len(reference) <= LONGEST_NAME and path.is_file():
            return path
    raise UnknownNameError(kind, reference[:100], names(kind))


def table_called(reference: str) -> str:
    """Find a table of measured runs by name in ``specs/runs``, the user's own or the shipped one; nothing if none."""
    for folder in (Path("specs").absolute(), shipped()):
        path = folder / "runs" / f"{reference}.csv"
        if "/" not in reference and len(reference) <= LONGEST_NAME and path.is_file():
            return str(path)
    return ""


def _folders(kind: str) -> list[Path]:
    own = Path("specs") / FOLDERS[kind]
    here = shipped() / FOLDERS[kind]
    return [own, here] if own.is_dir() and own.resolve() != here.resolve() else [here]
