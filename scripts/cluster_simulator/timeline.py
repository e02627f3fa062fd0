# SPDX-License-Identifier: GPL-2.0-only
"""timeline.json of a run: a trace in the trace-event format, which the Perfetto viewer (and
chrome://tracing) opens.

    write("results/dltrain-1")        # -> results/dltrain-1/timeline.json

Every run writes a small one by itself (--timeline=0: not). This makes it anew, with the same
program part and a larger limit. reports/timeline/timeline-writer.h describes the file.
"""

import json
import os
import subprocess

from . import programs

MAX_EVENTS = 1000000


class TimelineError(Exception):
    """There is nothing to show, or the file cannot be written."""


def write(folder, path=None, max_events=MAX_EVENTS):
    """Write timeline.json; returns what stands in its "otherData". Raises TimelineError, or
    ProgramNotFound.
    """
    path = os.fspath(path or os.path.join(folder, "timeline.json"))
    done = subprocess.run(
        [programs.find("timeline"), os.fspath(folder), path, str(max_events)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [
            f"the program timeline ended with status {done.returncode}"
        ]
        raise TimelineError(said[0].removeprefix("timeline: error: "))
    return json.loads(done.stdout)
