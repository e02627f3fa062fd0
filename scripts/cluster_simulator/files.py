# SPDX-License-Identifier: GPL-2.0-only
"""Files that others wrote, which may hold anything."""

import json
import os

LONGEST = 2000  # of a message


def read_text(path):
    """A whole file of UTF-8. Raises OSError or ValueError. A pipe or a device is none: it might never end."""
    if not os.path.isfile(path):
        os.stat(path)  # says why, if there is none
        raise OSError(0, "is no file", os.fspath(path))
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"no UTF-8 text (byte {error.start})") from None


def parse_json(text):
    """Its value. Raises ValueError, also for what is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def short(message):
    """Not longer than a person reads: a file may have anything for a name."""
    text = str(message)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
