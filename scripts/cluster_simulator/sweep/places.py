# SPDX-License-Identifier: GPL-2.0-only
"""Where the runs of a sweep go: to this machine."""

import signal
import subprocess
import tempfile

from .. import programs


class LocalRun:
    """A run of this machine."""

    def __init__(self, command, cwd, lock):
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            programs.dies_with_us("KILL") + command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
            pass_fds=[lock.file.fileno()],
        )

    def poll(self):
        """Its exit status; None: it runs."""
        return self._process.poll()

    def seconds(self):
        """How long it took, where that is known better than here; None: it is not."""

    def said(self):
        """Lines of its standard error, once."""
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        self._said.close()
        return lines

    def stop(self, now=False):
        self._process.send_signal(signal.SIGKILL if now else signal.SIGINT)

    def end(self):
        """After an exception only."""
        self._process.kill()
        self._process.wait()


class LocalPlace:
    """This machine: so many runs at a time."""

    def __init__(self, lock, jobs):
        self.lock, self.jobs = lock, jobs

    def start(self, number, command, cwd):
        """Raises OSError."""
        return LocalRun(command, cwd, self.lock)

    def submit(self):
        """All that can begin for now has begun."""

    def stop(self, runs, now):
        for run in runs:
            run.stop(now)

    def close(self):
        """No run is left."""
