"""README for a package index, where no file of the repository is beside it: links to files
become their words, pictures go.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # the tests need the text only
    MetadataHookInterface = object

_PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]+\)\n\n", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\((?!https?:|#)[^)]+\)")


def readme_of_index(text: str, base: str = "") -> str:
    """Make links to files work where README stands alone.

    Parameters
    ----------
    text : README as it is in the repository
    base : address under which the repository shows its files; without one, links become words, and
        pictures are left out
    """
    if base:
        return re.sub(r"\]\((?!https?:|#)", f"]({base.rstrip('/')}/", text)
    return _LINK.sub(r"\1", _PICTURE.sub("", text))


class ReadmeHook(MetadataHookInterface):  # type: ignore[misc]
    """Write README into the metadata; `base` in pyproject.toml is the address of the
    repository's files.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        made = readme_of_index(text, self.config.get("base", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": made}
