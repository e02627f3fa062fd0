# SPDX-License-Identifier: GPL-2.0-only
"""The simulator's programs: where they are, their options as words, and running one to its end."""

import concurrent.futures
import contextlib
import errno
import functools
import glob
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import tty

from . import progress
from .errors import InvalidInput, ProgramNotFound, SimulatorError
from .nearest import nearest
from .shown import shown

NAMES = ("dltrain", "collperf", "traffic", "dlserve")


# ---- where they are


def find(name):
    """Path of a program. Raises ProgramNotFound, with the command that builds it."""
    wanted = os.environ.get("DLTRAIN_PROGRAMS")
    if wanted:
        path = os.path.join(wanted, name)
        if _is_program(path):
            return os.path.abspath(path)
        raise ProgramNotFound(
            f"DLTRAIN_PROGRAMS={wanted}: no program {name} in this folder; correct or unset it"
        )
    clones = list(_clones())
    installed = _installed(name)
    if installed and not (clones and clones[0] in (os.environ.get("DLTRAIN_ROOT"), _around())):
        return installed
    for clone in clones:
        built = _in_clone(clone, name)
        if built:
            return built
    if clones:
        raise ProgramNotFound(
            f"the program {name} is not built; type:  cd {clones[0]} && ./ns3 run"
            f' "{name} --version"'
        )
    raise ProgramNotFound(
        f"the program {name} was not found: this package is installed outside a clone of the"
        " simulator. Set DLTRAIN_ROOT to the clone (and build there once: ./ns3 run"
        f' "{name} --version"), or DLTRAIN_PROGRAMS to the folder that holds the programs'
    )


def clone():
    """The clone of the simulator, for what is in no program and not in this package."""
    for folder in _clones():
        return folder
    raise ProgramNotFound(
        "this package is installed outside a clone of the simulator; set DLTRAIN_ROOT to the clone"
    )


def _around():
    """The clone that this file is in, if it is in one."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _installed(name):
    """The program of the package (./ns3 package) that this file is of: PREFIX/bin/NAME, or
    PREFIX/lib/dltrain/NAME for one that only scripts call. None: it is of no package.
    """
    prefix = os.path.abspath(__file__)
    while prefix != os.path.dirname(prefix):
        prefix = os.path.dirname(prefix)
        if os.path.isdir(os.path.join(prefix, "share", "dltrain", "scripts")):
            for folder in ("bin", os.path.join("lib", "dltrain")):
                path = os.path.join(prefix, folder, name)
                if _is_program(path):
                    return path
    return None


def _clones():
    """Clones of the simulator: named by the environment, the one this file is in, the one around
    the current folder.
    """
    starts = [
        os.environ.get("DLTRAIN_ROOT"),
        _around(),
    ]
    folder = os.getcwd()
    while folder != os.path.dirname(folder):
        starts.append(folder)
        folder = os.path.dirname(folder)
    for start in starts:
        if (
            start
            and os.path.isfile(os.path.join(start, "ns3"))
            and os.path.isdir(os.path.join(start, "contrib", "dltrain"))
        ):
            yield start


def _in_clone(clone, name):
    """The tests' link to the program, else what ./ns3 run has built: the newest, if there are
    several profiles.
    """
    link = os.path.join(clone, ".ns3", "programs", name)
    if _is_program(link):
        return link
    trees = (
        [os.environ["NS3_DIR"]]
        if os.environ.get("NS3_DIR")
        else glob.glob(os.path.join(glob.escape(clone), ".ns3", "ns-3*"))
    )
    built = []
    for tree in trees:
        folder = os.path.join(glob.escape(tree), "build", "scratch")
        built += glob.glob(os.path.join(folder, f"ns3.*-{name}")) + glob.glob(
            os.path.join(folder, f"ns3.*-{name}-*")
        )
    built = [path for path in built if _is_program(path)]
    return max(built, key=os.path.getmtime) if built else None


def _is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


# ---- options

SEVERAL = "fault"  # the option that may be given several times

def options(name):
    """What a program says of its options: {"topology": {"help": ..., "names": [...], ...}, ...}."""
    path = find(name)
    try:
        return _options(path)
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError, TypeError) as error:
        raise SimulatorError(f"{path} does not say what options it has: {error}") from error


@functools.lru_cache(maxsize=None)
def _options(path):
    return listed_options(path, None)


def listed_options(path, environment):
    listed = subprocess.run(
        [path, "--list=options"],
        capture_output=True,
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
    )
    return {option["name"]: option for option in json.loads(listed.stdout)["options"]}


def words(options):
    """{"micro_batch": 4, "pfc": False, "bytes": ["1MB", "2MB"]} as a command line has it. None: not
    given. What may stand there several times, "fault", is a list of texts or of dictionaries: one
    word each.
    """
    found = []
    for name, value in options.items():
        several = name == SEVERAL and isinstance(value, (list, tuple))
        for one in value if several else [] if value is None else [value]:
            found.append(_word(name, one))
    return found


def _word(name, value):
    if name == SEVERAL and isinstance(value, dict):
        first = {"what": value.get("what", "")}
        rest = {key: one for key, one in value.items() if key != "what"}
        value = text(first)[len("what=") :] + ("," + text(rest) if rest else "")
    option = name if name.startswith("ns3::") else name.replace("_", "-")
    if option == "help" and value is True:
        return "--help"
    return f"--{option}={text(value)}"


def text(value):
    """A value as the programs read it. Raises InvalidInput where no argument of a program can be
    made of it.
    """
    try:
        made = _text(value)
        os.fsencode(made)
    except (RecursionError, UnicodeEncodeError):
        made = "\0"
    if "\0" in made:
        raise InvalidInput(f"{shown(value)}: is no value of an option")
    return made


def _text(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, dict):
        return ",".join(f"{key}={_text(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def error_text(messages):
    """What a program that ended with status 2 says is wrong, without its own name in front."""
    errors = [line.split(": error: ", 1)[1] for line in messages if ": error: " in line]
    return "\n".join(errors or messages).strip()


def why(messages):
    """The end of what a program said that ended early: without the notes in front."""
    for number, line in enumerate(messages):
        if line.startswith("NOT COMPLETED") or ": error: " in line:
            return "\n".join(messages[number:]).strip()
    return "\n".join(messages).strip()


def why_failed(status, messages, stats=None):
    """The program's own words; of a captured script its mistakes, a line each."""
    mistakes = (stats or {}).get("mistakes")
    if isinstance(mistakes, list) and mistakes and all(isinstance(one, dict) for one in mistakes):
        return "\n".join(f"{one.get('kind')}: {one.get('text')}" for one in mistakes)
    if status == 2:
        return error_text(messages)
    said = why(messages)
    if status < 0:
        name = signal.Signals(-status).name
        said = (
            f"ended by {name}"
            + (" (out of memory?)" if name == "SIGKILL" else "")
            + (f"\n{said}" if said else "")
        )
    return said or (f"exit status {status}" if status else "it left no complete stats.json")


# ---- running

_captured, _stopping = set(), threading.Event()


def captured(command, timeout=None):
    """A program's end with what it said, as subprocess.run has it. If this process ends, however it
    does, the program does not go on. Raises subprocess.TimeoutExpired.
    """
    if _stopping.is_set():
        raise KeyboardInterrupt
    with subprocess.Popen(
        dies_with_us("KILL") + command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a terminal's Ctrl-C comes here only
    ) as process:
        _captured.add(process)
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            _kill(process)
            raise
        finally:
            _captured.discard(process)
    if _stopping.is_set():
        raise KeyboardInterrupt  # it was killed
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(process):
    """With what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def each(jobs, do, items):
    """[do(item) for item in items], by so many threads. What ends it early ends the programs that
    were captured(), too.
    """
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        return list(pool.map(do, items))
    except BaseException:
        _stopping.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(_captured):
            _kill(process)
        raise
    finally:
        pool.shutdown()
        _stopping.clear()


UNKNOWN = re.compile(r"(?:\w+: error: )?(\S+?): (unknown option[^;]*)(?:; did you mean '(.*)'\?)?")


def dry_run(name, options):
    """(exit status, messages) of a program that is asked what it would do."""
    return _dry_run(find(name), words(options))


def _dry_run(path, options):
    ended = subprocess.run(
        [path, "--dry-run", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return ended.returncode, ended.stderr.splitlines()


def unknown_option(messages, own):
    """What a program that was asked says of an option that it has not, or None. The name that is
    told as the nearest may be one of `own`: options of the script that gives it the others.
    """
    for line in messages:
        found = UNKNOWN.fullmatch(line)
        if found:
            names = [*own, *([found[3]] if found[3] else [])]
            hint = nearest(found[1], names) or (f"; did you mean '{found[3]}'?" if found[3] else "")
            return f"{found[1]}: {found[2]}{hint}"
    return None


def check_options(path, options, own):
    """Raises InvalidInput if a program has not one of these options, words of a command line. What
    is asked is no run: their values are each run's own affair.
    """
    unknown = unknown_option(_dry_run(path, options)[1], own)
    if unknown:
        raise InvalidInput(unknown)


def dies_with_us(number):
    """Words before a command that send it a signal when this process dies, however it does: nothing
    goes on unseen.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, f"--pdeathsig={number}"] if setpriv else []


class Ended:
    """How a program ended."""

    def __init__(self, status, output, messages, interrupted):
        self.status = status  # as subprocess has it: negative for a signal
        self.output = output  # standard output
        self.messages = messages  # lines of standard error, without progress
        self.interrupted = interrupted  # by a Ctrl-C that came here


def run(name, options, show, cwd=None):
    """Run a program to its end. Ctrl-C goes to it once, so that it can complete its files, and is
    remembered.
    """
    command = dies_with_us("TERM") + [find(name)] + words(options)
    ours, its = _terminal()
    with _Interrupts() as interrupts:
        # Standard output into a file: a pipe that nobody reads any more would kill the program
        # before its files are complete.
        # A session of its own: a terminal's Ctrl-C would reach it twice, and the second one kills.
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=its,
                    start_new_session=True,
                )
            finally:
                os.close(its)
            try:
                messages = _listen(process, ours, show, interrupts)
            except BaseException:
                process.kill()
                process.wait()
                raise
            finally:
                os.close(ours)
            status = process.wait()
            output.seek(0)
            return Ended(
                status, output.read().decode("utf-8", "replace"), messages, interrupts.count > 0
            )


def _terminal():
    """(our end, the program's): a terminal, because the programs tell it more often how far they
    are; else a pipe.
    """
    try:
        ours, its = os.openpty()
        tty.setraw(its)
        return ours, its
    except OSError:
        return os.pipe()


def _listen(process, errors, show, interrupts):
    """Read standard error to its end and pass interrupts on. Returns the messages."""
    lines, passed_on = _Lines(show), 0
    with selectors.DefaultSelector() as selector:
        selector.register(errors, selectors.EVENT_READ)
        while True:
            if selector.select(0.1):
                data = _read(errors)
                if not data:
                    return lines.end()
                lines.feed(data)
            while passed_on < interrupts.count:  # the second ends it at once, as in a terminal
                process.send_signal(signal.SIGINT if passed_on < 2 else signal.SIGKILL)
                passed_on += 1


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError as error:
        if error.errno == errno.EIO:  # a terminal that nobody has open any more
            return b""
        raise


class _Lines:
    """Splits standard error into progress, which is shown, and messages, which are kept."""

    def __init__(self, show):
        self.show = show
        self.rest = b""
        self.messages = []

    def feed(self, data):
        *whole, self.rest = re.split(rb"[\r\n]", self.rest + data)
        for line in whole:
            self._take(line)
        # a line of progress has no end until the next one
        if progress.share(_plain(self.rest)) is not None:
            self._take(self.rest)
            self.rest = b""

    def _take(self, line):
        line = _plain(line)
        done = progress.share(line)
        if done is not None:
            self.show.update(done, line)
        elif line.strip():
            self.messages.append(line)

    def end(self):
        self._take(self.rest)
        return self.messages


def _plain(line):
    """Without what moves the cursor and colours."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line.decode("utf-8", "replace"))


class _Interrupts:
    """Counts Ctrl-C while a program runs. In another thread than the main one Python never sees
    any.
    """

    def __init__(self):
        self.count = 0
        self.before = None

    def __enter__(self):
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) != signal.SIG_IGN
        ):
            self.before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _on_signal(self, *_):
        self.count += 1
