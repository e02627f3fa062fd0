# SPDX-License-Identifier: GPL-2.0-only
"""A file of a run's folder, opened: a pipe would be waited for, a device might never end, and what
is larger than any run writes would not fit into memory.
"""

import json
import os
import stat

MOST_BYTES = {"stats.json": 128 << 20, "topology.json": 128 << 20, "network_events.log": 256 << 20}
MOST_TABLE_BYTES = 1 << 30


class Unreadable(Exception):
    """Why, without the file's name."""


def exists(path):
    """Whether there is such a file. Raises Unreadable if it is no file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from None
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable("it is no regular file")
    return True


def refuse_too_large(path):
    """Of files that are read as a whole. Raises Unreadable."""
    size, most = os.path.getsize(path), MOST_BYTES.get(os.path.basename(path), MOST_TABLE_BYTES)
    if size > most:
        raise Unreadable(
            f"it is too large with {size:,} B; at most {most:,} B are read of such a file"
        )


def open_text(path):
    """The file as text, line ends as they are; None: there is none. Raises Unreadable."""
    if not exists(path):
        return None
    try:
        return open(path, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise Unreadable(error.strerror) from None


def read_json(path):
    """The object that it holds; None: there is no such file. Raises Unreadable."""
    file = open_text(path)
    if not file:
        return None
    with file:
        try:
            refuse_too_large(path)
            value = json.load(file)
        except RecursionError:
            raise Unreadable("it is nested too deeply") from None
        except (OSError, ValueError) as error:
            raise Unreadable(f"it is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise Unreadable("it is no JSON object")
    return value
