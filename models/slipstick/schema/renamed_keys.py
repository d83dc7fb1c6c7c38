"""Keys that got another name: the old one is read for one version, with a note.

A key stands in `RENAMED` from the version that gives it a new name to the next one, which takes it
out; the old name is an unknown key from then on.
"""

from __future__ import annotations

from slipstick.limits import ANNOUNCE
from slipstick.schema.text import Entry, Table

RENAMED = {"study": {"what_if": "cases"}}
"""New names of keys by kind of spec and old name. Since 0.2.0: `what_if`."""


def with_present_names(kind: str, tree: Table) -> Table:
    """Return a spec with the present names of its keys, and note each old one.

    Parameters
    ----------
    kind : of the spec
    tree : as written in the file

    Raises
    ------
    SpecError : a key stands there by both names
    """
    new_names = RENAMED.get(kind, {})
    old_keys = [key for key in tree.entries if key in new_names]
    if not old_keys:
        return tree
    announce = ANNOUNCE.get()
    for key in old_keys:
        mark, new_key = tree.entries[key].key_mark, new_names[key]
        if new_key in tree.entries:
            raise mark.error(f"the key {new_key} stands there too; write one of them", key)
        if announce is not None:
            place = f"{mark.file}:{mark.line}:{mark.column}"
            announce(f"{place}: {key}: write {new_key}; the old name is read in this version only")
    entries: dict[str, Entry] = {
        new_names.get(key, key): entry for key, entry in tree.entries.items()
    }
    return Table(entries, tree.mark)
