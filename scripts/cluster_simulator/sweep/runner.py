# SPDX-License-Identifier: GPL-2.0-only
"""Runs of points, several at a time."""

import json
import os
import shutil
import signal
import threading
import time

from .. import programs
from ..errors import ProgramNotFound
from ..files import parse_json, read_text
from . import launching
from .store import DONE, FAILED, PENDING, RUNNING, files_of, options_of


class Runner:
    """Runs points, several at a time, from one thread: the runs are to die with it."""

    def __init__(self, folder, store, place, keep, show):
        self.folder, self.store, self.place, self.keep, self.show = (
            folder,
            store,
            place,
            keep,
            show,
        )
        self.jobs = place.jobs
        self.waiting = []  # ids
        self.running = {}  # id: (run, when it began)
        self.captures = launching.Captures(folder)
        self.stopped_by = 0
        self.signals = 0

    def run(self, numbers):
        """Until all are done or failed, or a signal comes."""
        self.waiting = list(numbers)
        main_thread = (
            threading.current_thread() is threading.main_thread()
        )  # others never see signals
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if main_thread
            and not (
                number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN
            )  # nohup
        }
        try:
            while self.running or (self.waiting and not self.stopped_by):
                while self._has_room() and not self.stopped_by:
                    number = next(filter(self._may_start, self.waiting), None)
                    if number is None:
                        break
                    self.waiting.remove(number)
                    self._start(number)
                self.place.submit()
                self._collect()
                self.show.state(*self._left())
                time.sleep(0.03)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for run, _ in self.running.values():  # only after an exception
                run.end()
            self.show.clear()
            self.place.close()

    def _on_signal(self, number, _):
        self.stopped_by = self.stopped_by or number
        self.signals += 1
        self.place.stop([run for run, _ in self.running.values()], self.signals > 1)

    def _has_room(self):
        return self.jobs is None or len(self.running) < self.jobs

    def _may_start(self, number):
        """Not while another point makes the capture that it needs."""
        if not self.captures.making:
            return True
        row = self.store.row(number)
        options = launching.filled(options_of(row))
        return not launching.uses_script(options) or not self.captures.is_waiting(
            number, options, row["cwd"]
        )

    def _start(self, number):
        row = self.store.row(number)
        out = self._out(number)
        shutil.rmtree(out, ignore_errors=True)
        self.store.change(
            number,
            status=RUNNING,
            attempts=row["attempts"] + 1,
            exit_status=None,
            error=None,
            folder=None,
            # As they are when the run reads them: they may change before it ends.
            files=json.dumps(files_of(options_of(row), row["cwd"])),
        )
        point = launching.filled(options_of(row))
        if launching.uses_script(point):
            point = self.captures.options_for(number, point, row["cwd"])
        try:
            command = [programs.find(row["program"])]
            command += programs.words({**point, "out": out, "progress": False})
            run = self.place.start(number, command, row["cwd"])
        except (OSError, ProgramNotFound) as error:
            self._end(number, FAILED, None, f"cannot be started: {error}", None, 0)
            return
        self.running[number] = (run, time.monotonic())
        if self.stopped_by:  # the signal came while it was being started
            self.place.stop([run], False)

    def _collect(self):
        for number, (run, begin) in list(self.running.items()):
            status = run.poll()
            if status is None:
                continue
            del self.running[number]
            messages = run.said()
            took = run.seconds() or time.monotonic() - begin
            stats = read_stats(self._out(number))
            if status == 0 and stats and stats.get("completed"):
                self._end(number, DONE, 0, None, stats, took)
            elif self.stopped_by:
                self._end(number, PENDING, None, None, None, 0)
            else:
                self._end(
                    number,
                    FAILED,
                    status,
                    programs.why_failed(status, messages, stats),
                    stats,
                    took,
                )

    def _end(self, number, status, exit_status, error, stats, seconds):
        self.captures.ended(number, self._out(number))
        keep = self.keep and status != PENDING and os.path.isdir(self._out(number))
        self.store.finish(
            number,
            status,
            exit_status,
            error,
            stats,
            os.path.join("runs", str(number)) if keep else None,
        )
        if not keep:
            shutil.rmtree(self._out(number), ignore_errors=True)
        self.show.ended(self.store.row(number), seconds, *self._left())

    def _left(self):
        """What is still to be done: (points that wait, those that run, how many run at a time)"""
        return 0 if self.stopped_by else len(self.waiting), self.running, self.jobs

    def _out(self, number):
        return os.path.join(self.folder, "runs", str(number))


def read_stats(folder):
    try:
        stats = parse_json(read_text(os.path.join(folder, "stats.json")))
    except (OSError, ValueError):
        return None
    return stats if isinstance(stats, dict) else None
