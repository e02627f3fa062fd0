# SPDX-License-Identifier: GPL-2.0-only
"""A script trains for days; a few steps are captured. It ends where the first optimizer would begin
the step after them, so that all that belongs to the last one has been seen.
"""

import atexit
import functools
import itertools
import linecache
import os
import re
import sys
import threading
import weakref

from . import graphs, passes


class StepsCaptured(SystemExit):
    """Ends a process as sys.exit(0) does: handlers of a script's own errors let it pass."""


def end_script(device, limit, patience):
    """Its steps are captured. What it catches or does behind that (`except:` around the loop,
    `finally: sleep`) may take as long as the capture is patient.
    """
    device.note(f"the script was ended after {limit} step{'s' * (limit != 1)}")
    _say_graph(device)
    if patience > 0 and not _ending:
        timer = threading.Timer(patience, _end_late, (device, patience))
        timer.daemon = True
        timer.start()
        _ending.append(timer)
    raise StepsCaptured(0)


_ending = []


GRAPHS = re.compile(r"\bcuda\.graphs?\(|\bCUDAGraph\(|\bmake_graphed_callables\(")


def _say_graph(device):
    """A script warms up a CUDA graph by steps, and captures it behind them: it is told that it did
    not come so far. Only the file that was running is looked at.
    """
    if graphs.replayed:
        return
    frame = sys._getframe(1)
    seen = set()
    while frame is not None:
        name = frame.f_code.co_filename
        told = device.told_file(name)
        if told and name not in seen:
            seen.add(name)
            for number, line in enumerate(linecache.getlines(name), 1):
                if GRAPHS.search(line.partition("#")[0]):
                    device.note(
                        f"the script was ended before it replayed a CUDA graph ({told}:{number});"
                        " the steps it makes without one are simulated: more steps"
                        " (--capture-steps) come to it"
                    )
                    return
        frame = frame.f_back


def _end_late(device, patience):
    device.note(
        f"the script went on for {patience:g} s (the capture's patience) behind its last step,"
        " catching its end or in what it does at last: it was ended there"
    )
    _end(device)


def apply(torch, device, limit, progress, patience):
    """`limit`: how many, 0: all. `progress`: a file that gets a byte for each step of a rank; "":
    none.
    """
    optimizer = torch.optim.Optimizer
    # (Its name in PyTorch 1.13, and in 2.)
    hooks = ("_hook_for_profile", "_patch_step_function")
    name = next(one for one in hooks if hasattr(optimizer, one))
    hook = getattr(optimizer, name)
    done = {}  # id of an optimizer: steps; in the order of their first steps
    before = [True]  # there was no backward pass
    numbers = weakref.WeakKeyDictionary()  # of optimizers; of one that is gone another one's
    depth = [0]
    told = set()  # threads that were told to end

    def begin():
        """What stepped before the first backward pass, for a scheduler's sake, is no step."""
        if not before[0] or not passes.seen:
            return False
        before[0] = False
        done.clear()
        return True

    def limited(step):
        @functools.wraps(step)
        def counted(self, *arguments, **options):
            if depth[0] == 0:
                if threading.get_ident() in told:
                    _end(device)  # a script that catches all would go on for ever
                if self not in numbers:
                    used = set(numbers.values())
                    numbers[self] = next(i for i in itertools.count() if i not in used)
                device.set_optimizer(numbers[self])
                begin()
                is_first = id(self) == next(iter(done), None)
                if is_first or not done:
                    device.end_step()
                if limit and is_first and min(done.values()) >= limit:
                    told.add(threading.get_ident())
                    end_script(device, limit, patience)
                for graph in graphs.capturing:
                    graph.steps = 0  # it has one in it
                least = min(done.values(), default=0)
                done[id(self)] = done.get(id(self), 0) + 1
                if limit and progress and min(done.values()) > least:
                    count(progress)
            depth[0] += 1
            try:
                return step(self, *arguments, **options)
            finally:
                depth[0] -= 1
                if depth[0] == 0 and begin():
                    done[id(self)] = 1  # its closure went backward

        counted.hooked = True
        return counted

    def replay(graph):
        """A graph with a step in it makes one each time."""
        if not limit or not hasattr(graph, "steps"):
            return
        if graph.steps >= limit:
            end_script(device, limit, patience)
        graph.steps += 1
        if progress:
            count(progress)

    graphs.before_replay.append(replay)

    def hook_and_limit(self):
        hook(self)
        step = type(self).step
        if not getattr(step, "limited", False):
            type(self).step = limited(step)
            type(self).step.limited = True

    setattr(optimizer, name, hook_and_limit)


def _end(device):
    """As the interpreter does at its end, but whatever the script catches."""
    atexit._run_exitfuncs()
    device.open_record("")  # what another thread still does is cut in no line
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def count(path):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(file, b".")
    os.close(file)
