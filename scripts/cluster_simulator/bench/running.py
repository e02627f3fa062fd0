# SPDX-License-Identifier: GPL-2.0-only
"""One process, to its end: what it said and what it cost."""

import os
import shlex
import signal
import subprocess
import tempfile
import time

from .. import programs


class Failed(Exception):
    """A run that did not end well: its command and why. Exit status 1."""


class Ended:
    def __init__(self, output, wall_s, core_s):
        self.output = output  # standard output
        self.wall_s = wall_s  # from its start to its end
        self.core_s = core_s  # user and system time, of its children too


# A process that replaces another by exec keeps its peak of memory (getrusage(2), ru_maxrss), and
# Python's would be above that of a small simulation. So a shell is in between, which is smaller; it
# stays, because it has something to do afterwards.
THROUGH = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]
PATIENCE_S = 3


def run(words, folder, environment=None):
    """Raises Failed. If this process dies or is interrupted, the other ones do not go on."""
    dying = programs.dies_with_us("TERM")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        try:
            process = subprocess.Popen(
                [*dying, *THROUGH, *dying, *words],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # a terminal's Ctrl-C comes here only
            )
        except OSError as error:
            raise Failed(f"{shlex.join(words)}: {error.strerror}") from error
        status, usage = _end(process)
        if status > 128:
            status = 128 - status  # as the shell says that a signal ended it
        wall_s = time.monotonic() - begin
        said = [_text(stream) for stream in (output, errors)]
        if status:
            messages = [line for line in said[1].splitlines() if line.strip()]
            errors = [line for line in messages if "error: " in line]
            why = programs.why_failed(status, errors[:1] or messages)
            raise Failed(f"{shlex.join(words)}: {'; '.join(why.splitlines())}")
        return Ended(said[0], wall_s, usage.ru_utime + usage.ru_stime)


def _end(process):
    """(status, resources used) at its end."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        _stop(process)
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def _stop(process):
    """The shell and the program; mpirun passes SIGTERM on to its processes."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        begin = time.monotonic()
        while time.monotonic() - begin < PATIENCE_S:
            os.killpg(process.pid, 0)  # until nobody is left
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _text(stream):
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")
