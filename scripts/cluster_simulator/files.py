# SPDX-License-Identifier: GPL-2.0-only
"""Files that others wrote, which may hold anything, and what may be shown of them on a terminal."""

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


def printable(message, most=LONGEST):
    """Without characters that move the cursor or are none, and not longer than a person reads."""
    message = str(message)[: most + 1]
    text = "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("ascii", "backslashreplace").decode() if ord(c) > 0x7F
        else f"\\x{ord(c):02x}"
        for c in message
    )
    return text[:most] + "..." if len(message) > most else text
