# SPDX-License-Identifier: GPL-2.0-only
"""calls.log: what stands before its rows."""

import re

STRIDE = re.compile(r"; only every (\d{1,9})(?:st|nd|rd|th) rank$")  # older logs: "2th"


def rank_stride(comments):
    """The log holds every rank (1) or, for many calls, every n-th one only (n)."""
    for line in comments:
        found = STRIDE.search(line)
        if found:
            return max(1, int(found[1]))
    return 1
