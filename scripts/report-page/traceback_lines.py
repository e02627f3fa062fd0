# SPDX-License-Identifier: GPL-2.0-only
"""stderr.txt of a captured script: where it failed, with the lines of its source."""

import re

from bounds import cut

MOST_LINES = 100000  # of stderr.txt
MOST_FRAMES = 40  # the last ones: the innermost
FRAME = re.compile(r'  File "(.+)", line (\d+), in (.+)$')


def traceback_of(files, stats):
    """{"frames": [[file, line, function, source]], "error": text} of the first traceback; None if
    the script had no mistake, or there is none.
    """
    if not stats.get("mistakes"):
        return None
    file = files.open("stderr.txt")
    if not file:
        return None
    frames, inside = [], False
    with file:
        for number, line in enumerate(files.lines("stderr.txt", file)):
            if number == MOST_LINES:
                break
            line = line.rstrip("\r\n")
            frame = FRAME.match(line)
            if line.startswith("Traceback (most recent call last):"):
                frames, inside = [], True
            elif inside and frame:
                frames.append([cut(frame[1], 200), int(frame[2][:9]), cut(frame[3], 80), ""])
            elif inside and line.startswith("    "):
                if frames and not frames[-1][3]:
                    frames[-1][3] = cut(line.strip(), 200)
            elif inside and line and not line.startswith(" "):
                return {"frames": frames[-MOST_FRAMES:], "error": cut(line, 400)}
    return None
