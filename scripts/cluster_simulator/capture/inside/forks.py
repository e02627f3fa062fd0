# SPDX-License-Identifier: GPL-2.0-only
"""Processes that a script forks by itself (multiprocessing's start methods "fork" and
"forkserver"): each has a record of its own, as those that it spawns. Workers of a DataLoader have
one too, in which nothing is.
"""

import multiprocessing
import multiprocessing.util
import os

# Behind all that a script has asked for (multiprocessing.util.Finalize: the highest is first).
LAST = -1000


def watch(device, open_record, finish):
    """From the beginning of a process of the job. open_record(), finish(): of this process."""

    def end():
        finish(device, os.getpid())

    def at_end():
        # multiprocessing ends its children by os._exit(), before which it runs what is asked here.
        if multiprocessing.parent_process() is not None:
            multiprocessing.util.Finalize(None, end, exitpriority=LAST)

    os.register_at_fork(after_in_child=open_record)
    # (It forgets what was to be done at the end of the parent, and then comes here.)
    multiprocessing.util.register_after_fork(watch, lambda _: at_end())
    at_end()
