# SPDX-License-Identifier: GPL-2.0-only
"""A script that does nothing at all for the capture's patience: time.sleep() for ever, or waiting
for what never comes from outside.
"""

import json
import os
import signal
import time

SIGNAL = signal.SIGUSR2  # to a rank that is to say where it is
LOOK_EVERY_S = 0.5
# More than ranks that look every 20 ms for what they wait for (as in device/patience.cc: assumed).
BUSY_SHARE = 0.05
SLACK_S = 5  # ranks that wait for others say so before


def patience():
    """Seconds; 0: none, as what comes over a network may take any time."""
    given = json.loads(os.environ["DLTRAIN_CAPTURE"])
    return 0 if given.get("network") else given.get("patience", 0)


def fail(number, frame):
    raise TimeoutError(
        f"nothing computed for {patience()} s (the capture's patience, --capture-patience), and no"
        " rank waits for another one"
    )


class Idleness:
    """Of all that runs in this process's session but for itself: the command, ranks, and what they
    have started. `slack`: seconds beside those of patience.
    """

    def __init__(self, seconds, slack=SLACK_S):
        self._seconds, self._slack = seconds, slack
        self._session, self._me = os.getsid(0), str(os.getpid())
        self._looked = self._begun = time.monotonic()
        self._ticks = {}

    def is_over(self):
        now = time.monotonic()
        since = now - self._looked
        if not self._seconds or since < LOOK_EVERY_S:
            return False
        self._looked = now
        if self._is_busy(since):
            self._begun = now
        return now - self._begun >= self._seconds + self._slack

    def _is_busy(self, since):
        before, self._ticks = self._ticks, {}
        active = False
        for number in os.listdir("/proc"):
            told = _told(number) if number.isdigit() and number != self._me else None
            if told is None or told[1] != self._session:
                continue
            state, _, self._ticks[number] = told
            active = active or state in "RD" or number not in before
        used = sum(ticks - before.get(number, ticks) for number, ticks in self._ticks.items())
        return active or used / os.sysconf("SC_CLK_TCK") / since >= BUSY_SHARE


def _told(number):
    """(state, session, ticks of the processor) of a process; None: it is gone."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            # proc(5): PID (NAME) STATE, session as 6th, user's and system's time as 14th and 15th.
            words = file.read().rpartition(") ")[2].split()
        return words[0], int(words[3]), int(words[11]) + int(words[12])
    except (OSError, IndexError, ValueError):
        return None
