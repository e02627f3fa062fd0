# SPDX-License-Identifier: GPL-2.0-only
"""The name that somebody may have meant, in the programs' words (contrib/rdma/core/nearest-name.h).

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

import difflib
import os


def nearest(name, allowed):
    """"; did you mean 'x'?", or nothing. A word of hundreds of letters is like no name."""
    plain = {word.lstrip("-"): word for word in allowed}  # dashes make no two options alike
    wanted = name.lstrip("-")
    near = difflib.get_close_matches(wanted, plain, 1) if len(wanted) < 256 else []
    return f"; did you mean '{plain[near[0]]}'?" if near else ""


def nearest_beside(path, is_meant=os.path.exists):
    """The same of what there is in a path's folder; `is_meant`: of which of that."""
    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except (OSError, ValueError):
        return ""
    beside = [other for other in names if is_meant(os.path.join(folder, other))]
    near = difflib.get_close_matches(name, beside, 1) if len(name) < 256 else []
    return f"; did you mean '{os.path.join(folder, near[0])}'?" if near else ""
