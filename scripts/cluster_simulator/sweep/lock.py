# SPDX-License-Identifier: GPL-2.0-only
"""Who works in the folder of a sweep."""

import fcntl
import os
import time

from ..files import own
from .errors import BadUse


class Lock:
    """One sweep at a time in a folder. Its runs inherit the lock: it is free when the last of them
    has ended too.
    """

    def __init__(self, folder):
        self.file = open(own(os.path.join(folder, "sweep.lock")), "a+", encoding="utf-8")
        wait_until = time.monotonic() + 10
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                self.file.seek(0)
                owner = self.file.read().strip()
                if _alive(owner):
                    raise BadUse(
                        f"{folder}: another sweep (process {owner}) is working in this folder"
                    ) from None
                if (
                    time.monotonic() > wait_until
                ):  # those of a sweep that was killed end within a moment
                    raise BadUse(
                        f"{folder}: runs of a sweep that was killed are still going; wait, or end"
                        " them"
                    ) from None
                time.sleep(0.1)
        self.file.truncate(0)
        self.file.write(str(os.getpid()))
        self.file.flush()

    def release(self):
        self.file.truncate(0)
        self.file.close()

    @staticmethod
    def is_held(folder):
        """Whether a sweep works in the folder, or a run of one that was killed is still going."""
        try:
            with open(os.path.join(folder, "sweep.lock"), encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def _alive(process):
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
