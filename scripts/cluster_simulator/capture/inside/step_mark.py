# SPDX-License-Identifier: GPL-2.0-only
"""What ends a step where a user names it: a line of the script that is reached, a function of the
script or of a library that returns. Each time a line is written into the record; after `limit`
steps the script ends (step_limit.py).
"""

import functools
import importlib
import sys
import threading

from .step_limit import count, end_script

CALL = "call:"


def apply(device, mark, limit, progress, patience):
    """`mark`: as ../capturing.py has checked it. `progress`: as of step_limit."""
    done = [0]

    def reached(name, line):
        device.mark_at("mark", {"n": name}, line)
        device.end_step()
        done[0] += 1
        if progress:
            count(progress)
        if done[0] == limit:
            sys.settrace(None)
            end_script(device, limit, patience)

    if mark.startswith(CALL):
        _watch_library(device, mark[len(CALL) :], reached)
        return
    file, colon, line = mark.rpartition(":")
    watch = _of_line(device, file, int(line), reached) if colon else _of(device, mark, reached)
    threading.settrace(watch)
    sys.settrace(watch)


def _of_line(device, file, number, reached):
    def at_line(frame, event, _):
        if event == "line" and frame.f_lineno == number:
            reached(f"{file}:{number}", "")
        return at_line

    def is_in(code):
        told = device.told_file(code.co_filename)
        return told == file or told.endswith("/" + file)

    return _where(is_in, at_line)


def _of(device, name, reached):
    """A function that calls itself ends a step when the first call of it returns."""
    inside = set()

    def at_return(frame, event, _):
        if event == "return" and frame in inside:
            inside.discard(frame)
            code = frame.f_code
            reached(name, f"{device.told_file(code.co_filename)}:{code.co_firstlineno}")
        return at_return

    def is_it(code):
        return (f".{code.co_qualname}").endswith(f".{name}") and bool(
            device.told_file(code.co_filename)
        )

    follow = _where(is_it, at_return)

    def called(frame, event, argument):
        watch = follow(frame, event, argument)
        if watch is not None and not inside:
            inside.add(frame)
        return watch

    return called


def _where(is_meant, watch):
    """For sys.settrace: follows what a test of its code means."""
    known = {}

    def called(frame, event, _):
        code = frame.f_code
        meant = known.get(code)
        if meant is None:
            meant = known[code] = is_meant(code)
        return watch if meant else None

    return called


def _watch_library(device, name, reached):
    owner, last = _owner(name)
    function = getattr(owner, last)

    @functools.wraps(function)
    def watched(*arguments, **options):
        result = function(*arguments, **options)
        reached(CALL + name, device.source_line())
        return result

    setattr(owner, last, watched)


def _owner(name):
    """Of torch.Tensor.backward the class and "backward"."""
    words = name.split(".")
    for length in range(len(words) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(words[:length]))
        except ImportError:
            continue
        for word in words[length:-1]:
            owner = getattr(owner, word)
        return owner, words[-1]
    raise ImportError(name)
