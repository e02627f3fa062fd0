# SPDX-License-Identifier: GPL-2.0-only
"""Files that others wrote, which may hold anything."""

import json
import os


def read_text(path):
    """A whole file of UTF-8. Raises OSError or ValueError. A pipe or a device is none: it might
    never end.
    """
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
