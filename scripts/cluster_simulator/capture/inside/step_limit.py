# SPDX-License-Identifier: GPL-2.0-only
"""A script trains for days; a few steps are captured. It ends where the first optimizer would begin
the step after them, so that all that belongs to the last one has been seen.
"""

import atexit
import functools
import os
import sys
import threading


class StepsCaptured(SystemExit):
    """Ends a process as sys.exit(0) does: handlers of a script's own errors let it pass."""


def apply(torch, device, limit, progress):
    """`limit`: how many, 0: all. `progress`: a file that gets a byte for each step of a rank; "":
    none.
    """
    optimizer = torch.optim.Optimizer
    hook = optimizer._hook_for_profile
    done = {}  # id of an optimizer: steps; in the order of their first steps
    depth = [0]
    told = set()  # threads that were told to end

    def limited(step):
        @functools.wraps(step)
        def counted(self, *arguments, **options):
            if depth[0] == 0:
                if threading.get_ident() in told:
                    _end()  # a script that catches all would go on for ever
                is_first = id(self) == next(iter(done), None)
                if is_first or not done:
                    device.end_step()
                if limit and is_first and min(done.values()) >= limit:
                    device.note(f"the script was ended after {limit} steps")
                    told.add(threading.get_ident())
                    raise StepsCaptured(0)
                least = min(done.values(), default=0)
                done[id(self)] = done.get(id(self), 0) + 1
                if limit and progress and min(done.values()) > least:
                    count(progress)
            depth[0] += 1
            try:
                return step(self, *arguments, **options)
            finally:
                depth[0] -= 1

        counted.hooked = True
        return counted

    def hook_and_limit(self):
        hook(self)
        step = type(self).step
        if not getattr(step, "limited", False):
            type(self).step = limited(step)
            type(self).step.limited = True

    optimizer._hook_for_profile = hook_and_limit


def _end():
    """As the interpreter does at its end, but whatever the script catches."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def count(path):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(file, b".")
    os.close(file)
