# SPDX-License-Identifier: GPL-2.0-only
"""Which results this version reads: one rule for scripts/report, plot, timeline, compare, sweep and
the package.

Every JSON file of a results folder names its `schema_version`. A file of another version may use
the same names for other things: it is refused, with status 2, and not read as far as it goes. A
file that names none counts as the first.

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

from .shown import printable, shown

SCHEMA_VERSION = 1


def why_not_readable(content, path):
    """One line that says why these contents of a JSON file are not for this version; empty if they
    are.
    """
    if not isinstance(content, dict) or "schema_version" not in content:
        return ""
    version = content["schema_version"]
    if isinstance(version, int) and not isinstance(version, bool) and version == SCHEMA_VERSION:
        return ""
    newer = isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA_VERSION
    hint = ": written by a newer version of the simulator, whose scripts read it" if newer else ""
    return (
        f"{printable(path)}: schema_version {shown(version)} is not {SCHEMA_VERSION}, the one that"
        f" is read here{hint}"
    )
