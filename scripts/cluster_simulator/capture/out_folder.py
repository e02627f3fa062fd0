# SPDX-License-Identifier: GPL-2.0-only
"""The folder that a capture is written into: one capture at a time, nothing of an earlier one is
left, and nothing of anybody else is removed.
"""

import contextlib
import fcntl
import json
import os
import shutil

from ..errors import InvalidInput
from ..shown import shown
from .record.capture_files import FORMAT

# For what the script wrote elsewhere, where its files are as they were.
FILES = "files"


@contextlib.contextmanager
def alone(out):
    """No other capture writes into the folder, and what would be removed is a capture's."""
    folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise InvalidInput(
            f"out={shown(out)}: another capture writes into this folder; allowed: one at a time"
        ) from None
    try:
        _check_own(out)
        yield
    finally:
        os.close(folder)


def remove_old(out):
    """Of an earlier capture: nothing of it may be taken for this one's."""
    for name in filter(_is_old, os.listdir(out)):
        if name != FILES:
            os.remove(os.path.join(out, name))
    shutil.rmtree(os.path.join(out, FILES), ignore_errors=True)


def _is_old(name):
    return name in ("meta.json", "stdout.txt", "stderr.txt", FILES) or (
        name.startswith("rank-") and name.endswith(".jsonl")
    )


def _check_own(out):
    """Who names a folder by mistake keeps what is in it."""
    names = os.listdir(out)
    old = list(filter(_is_old, names))
    meta = os.path.join(out, "meta.json")
    if os.path.lexists(meta):
        try:
            with open(meta, encoding="utf-8") as file:
                own = json.load(file).get("format") == FORMAT
        except (OSError, ValueError, AttributeError):
            own = False
    else:
        own = len(old) == len(names)  # of a capture that was ended before it wrote that
    if old and not own:
        raise InvalidInput(
            f"out={shown(out)}: has {', '.join(map(shown, sorted(old)[:3]))} of something else,"
            " which a capture would remove; allowed: a new folder, or that of a capture"
        )
