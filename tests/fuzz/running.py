# SPDX-License-Identifier: GPL-2.0-only
"""Runs one case in a folder of its own, with limits, and gathers all that can be judged.

Programs are started as processes. Scripts run in a fork of this process that has imported pandas
and matplotlib already: starting Python anew would cost a hundred times what they do.
"""

import base64
import importlib.util
import os
import pkgutil
import re
import resource
import runpy
import shutil
import signal
import stat
import subprocess
import sys
import time
import traceback

ROOT = os.environ.get("DLTRAIN_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
PROGRAMS = os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(ROOT, ".ns3", "programs")
SCRIPTS = os.path.join(ROOT, "scripts")

# Programs under the sanitizers take some five times as long.
SLOWER = 5 if os.environ.get("DLTRAIN_SANITIZED") == "1" else 1
HANG_S = 20 * SLOWER  # of processor time, or of waiting
WAITING_S = 6  # asleep without a break: nothing will come
LOOKING_S = 1  # before that nobody looks
SLOWEST_S = 300 * SLOWER  # whatever it did in them: other work may have the processors
ENDING_S = 15 * SLOWER  # of processor time, from Ctrl-C to the end
MOST_BYTES = 2 << 30  # of address space
MOST_FILE = 256 << 20  # of a file that it writes
TICK_S = 0.25

PROGRESS = re.compile(r"% done|ETA |set(ting)? up|building|%\)")


def sanitized():
    """Programs under AddressSanitizer reserve terabytes of address space."""
    return os.environ.get("DLTRAIN_SANITIZED") == "1"


class Outcome:
    """How a command ended."""

    def __init__(self, status, out, err, seconds, rss, interrupted):
        self.status = status  # negative: the signal
        self.out = out
        self.err = err
        self.seconds = seconds
        self.rss = rss  # bytes
        self.interrupted = interrupted  # by us, after HANG_S
        self.new = {}  # files it made: name -> bytes
        self.changed = []  # of those it was given


# ---- files of a case


def lay(folder, name, what):
    """Put what a case says is at `name`: a text, or
    {"base64"|"repeat"|"fifo"|"directory"|"link"|"missing": ...}.
    """
    path = os.path.join(folder, name)
    if isinstance(what, str):
        content = what.encode("utf-8", "surrogateescape")
    elif "base64" in what:
        content = base64.b64decode(what["base64"])
    elif "repeat" in what:
        before, unit, count, after = what["repeat"]
        content = (before + unit * count + after).encode("utf-8", "surrogateescape")
    else:
        content = None
    if os.path.lexists(path):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    elif "fifo" in what:
        os.mkfifo(path)
    elif "directory" in what:
        os.mkdir(path)
    elif "link" in what:
        os.symlink(what["link"], path)
    elif "missing" not in what:
        raise ValueError(f"{name}: {what}")


def packed(content):
    """Bytes as a case holds them."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def inventory(folder):
    """{name: what tells one state of a file from another} of all below a folder."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in files + folders:
            path = os.path.join(top, name)
            about = os.lstat(path)
            kind = stat.S_IFMT(about.st_mode)
            found[os.path.relpath(path, folder)] = (
                kind,
                about.st_size,
                about.st_mtime_ns if kind == stat.S_IFREG else 0,
            )
    return found


# ---- running


def command_of(words):
    """What to execute for a case's first word."""
    if words[0].startswith("scripts/"):
        return None
    return [os.path.join(PROGRAMS, words[0]), *words[1:]]


def limit_this_process():
    """Children inherit these."""
    if not sanitized():
        resource.setrlimit(
            resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1])
        )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    """Runs commands one after the other below a folder of its own."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.pid = 0
        self.process = None  # of a program; scripts are forks
        os.makedirs(scratch, exist_ok=True)
        # "../.." of a case stays inside.
        self.folder = os.path.join(scratch, "cases", "of", "one")
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("OMPI_", "PMI_", "PYTHON"))
        }
        self.environment.update(
            DLTRAIN_PROGRAMS=PROGRAMS,
            DLTRAIN_ROOT=ROOT,
            MPLBACKEND="agg",
            COLUMNS="200",
            LC_ALL="C.UTF-8",
        )

    def prepare(self, case, folders):
        shutil.rmtree(os.path.join(self.scratch, "cases"), ignore_errors=True)
        os.makedirs(self.folder)
        if case.get("folder"):
            shutil.copytree(folders[case["folder"]], os.path.join(self.folder, "run"))
        for name, what in case.get("files", {}).items():
            lay(self.folder, name, what)

    def run(self, case, folders=None, seconds=HANG_S):
        """The outcome of a case."""
        self.prepare(case, folders)
        outer = os.path.join(self.scratch, "cases")
        before = inventory(outer)
        out, err = os.path.join(self.scratch, "out"), os.path.join(self.scratch, "err")
        with open(out, "wb+") as its_out, open(err, "wb+") as its_err:
            begin = time.monotonic()
            self._start(case["run"], its_out, its_err)
            status, rss, interrupted = self._wait(seconds)
            outcome = Outcome(
                status, _text(its_out), _text(its_err), time.monotonic() - begin, rss, interrupted
            )
        inside = os.path.relpath(self.folder, outer)
        for name, state in inventory(outer).items():
            if name not in before:
                outcome.new[os.path.relpath(name, inside)] = state
            elif state != before[name] and state[0] == stat.S_IFREG:
                outcome.changed.append(os.path.relpath(name, inside))
        return outcome

    def _start(self, words, out, err):
        command = command_of(words)
        if command is None:
            self.pid = self._fork_script(words, out, err)
            return
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            close_fds=False,
        )
        self.pid = self.process.pid

    def _fork_script(self, words, out, err):
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        status = 70
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(self.folder)
            os.environ.clear()
            os.environ.update(self.environment)
            status = _be_script(words)
        finally:
            os._exit(status)

    def _wait(self, seconds):
        """(status, bytes of memory, did it have to be interrupted)"""
        state = {"begin": time.monotonic(), "asked": 0.0, "asleep": 0, "used": -1.0}

        def look(*_):
            now = time.monotonic()
            wall = now - state["begin"]
            if state["asked"]:
                late = now - state["asked"]
                if late > ENDING_S and (
                    late > SLOWEST_S
                    or _state(self.pid)[1] - state["used"] > ENDING_S
                    or state["waits"]
                ):
                    _kill(self.pid, signal.SIGKILL)
                return
            if wall < LOOKING_S:
                return
            runs, cpu = _state(self.pid)
            # Counted in looks, not by the clock: it may be us who had no processor.
            state["asleep"] = 0 if runs or cpu != state["used"] else state["asleep"] + 1
            state["used"] = cpu
            waits = state["asleep"] * TICK_S > WAITING_S
            if waits or cpu >= seconds or wall >= SLOWEST_S:
                state.update(asked=now, used=cpu, waits=waits)
                # To the process alone: what it has started is its own to end.
                _kill(self.pid, signal.SIGINT, group=False)

        previous = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
        try:
            _, status, usage = os.wait4(self.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
            _kill(self.pid, signal.SIGKILL)  # what it may have left running
        code = os.waitstatus_to_exitcode(status)
        if self.process:
            self.process.returncode = code  # else Popen would wait for it
            self.process = None
        return code, usage.ru_maxrss << 10, bool(state["asked"])


def _text(file):
    file.seek(0)
    return file.read(4 << 20)


def _kill(pid, number, group=True):
    try:
        (os.killpg if group else os.kill)(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _state(pid):
    """(does any of a process and those below it run, or wait for its turn or a disk; their
    processor time in s)
    """
    below, found = {pid}, []
    for entry in sorted((int(entry) for entry in os.listdir("/proc") if entry.isdigit())):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if entry in below or int(fields[1]) in below or int(fields[3]) == pid:  # parent, session
            below.add(entry)
            found.append(fields)
    # A child's time counts at its parent once it has ended.
    ticks = sum(int(tick) for fields in found for tick in fields[11:15])
    return not found or any(fields[0] in "RDZ" for fields in found), ticks / os.sysconf(
        "SC_CLK_TCK"
    )


# ---- scripts


def import_for_scripts():
    """What scripts import, once, so that their forks need not. (Whether there are pandas and
    matplotlib.)
    """
    os.environ.setdefault("MPLBACKEND", "agg")
    sys.dont_write_bytecode = True
    for folder in (SCRIPTS, os.path.join(SCRIPTS, "report-page")):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    for name in (
        "results",
        "argparse",
        "sqlite3",
        "multiprocessing",
        "concurrent.futures",
        "html",
        "difflib",
    ):
        __import__(name)
    if not all(importlib.util.find_spec(name) for name in ("pandas", "matplotlib")):
        return False
    import cluster_simulator

    for module in pkgutil.walk_packages(cluster_simulator.__path__, "cluster_simulator."):
        __import__(module.name)
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.pyplot  # noqa: F401

    return True


def _be_script(words):
    """As `/usr/bin/python3 words...` would do, ending included. Returns the status."""
    path = os.path.join(ROOT, words[0])
    sys.argv = [path, *words[1:]]
    sys.stdin = open(0, encoding="utf-8")
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except KeyboardInterrupt:
        traceback.print_exc()
        status = 130
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 120
    return status & 0xFF
