# SPDX-License-Identifier: GPL-2.0-only
"""One capture, from the user's command to a folder."""

import contextlib
import errno
import functools
import gc
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

from ..amounts import counted
from ..errors import InvalidInput
from ..shown import shown
from . import command_line, cuda, ending, gpus, installing, isolation, kept_files
from .captured import Captured, CaptureFailed, NotWritten
from .launch import allocation, environment
from .launch.counts import MOST_RANKS
from .out_folder import FILES, alone, remove_old
from .record.capture_files import Capture
from .record.mistakes import HANGS

HERE = os.path.dirname(os.path.abspath(__file__))
# Other programs of a cluster that scripts ask: launch/allocation.py.
ASKED = ("scontrol", "nvidia-smi")
# What a script may not drop from its environment (launch/command.py).
PUT_BACK = (
    "DLTRAIN_CAPTURE",
    "DLTRAIN_CAPTURE_LAUNCH",
    kept_files.FOLDER,
    "PATH",
    "PYTHONPATH",
    "OMP_NUM_THREADS",
    "GLOG_minloglevel",
)
# To look for mistakes so many ranks are captured; of more a sample.
MOST_CHECKED = 64
# A rank is a process of some 250 MB; so many at once where they need not run together.
AT_ONCE = max(2, min(8, os.cpu_count() or 2))
# What may end a step; OPTIMIZER: only an optimizer's.
OPTIMIZER = "optimizer"
STEP = re.compile(r"[^:]+:\d+|[A-Za-z_]\w*(\.[A-Za-z_]\w*)*|call:(?P<call>[A-Za-z_][\w.]*\.\w+)")
IS_FUNCTION = """
import importlib, sys
words = sys.argv[1].split(".")
for length in range(len(words) - 1, 0, -1):
    try:
        owner = importlib.import_module(".".join(words[:length]))
    except ImportError:
        continue
    for word in words[length:]:
        owner = getattr(owner, word, None)
    sys.exit(0 if callable(owner) else 1)
sys.exit(1)
"""
# Steps that are captured where nobody says how many: the first has beginnings of all kinds, the
# next two may be alike; else more, of which each is the whole script anew.
USUAL_STEPS, MOST_STEPS = 3, 5
RUNNING, READING = "running the script", "reading what its ranks did"
TRACEBACK = "Traceback (most recent call last)"
LOOK_EVERY_S = 0.2  # for progress
MOST_NAMED = 4  # files of the script, in the note
LITTLE = 4 << 20  # bytes that a disk has left when it counts as full
PAGE = 4096  # of a disk: with less not a line more can be written
FULL = os.strerror(errno.ENOSPC)


def told(error, out):
    """An OSError in words. Writing tells no path: that is the folder that is full, or the two there
    are.
    """
    path = error.filename2 or error.filename  # of a copy: what is written
    if path:
        return f"{path}: {error.strerror}"
    folders = [folder for folder in (out, tempfile.gettempdir()) if folder]
    full = [folder for folder in folders if _free(folder) < LITTLE]
    which = full[:1] or folders
    return f"{' or '.join(which)}: {error.strerror or error}"


def _free(folder):
    """Bytes that its disk has left."""
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder or ".").free


def _half_is_none(function):
    """Interrupted, a capture leaves nothing of itself in its folder."""

    @functools.wraps(function)
    def whole(command, out, *arguments, **options):
        try:
            return function(command, out, *arguments, **options)
        except KeyboardInterrupt:
            if os.path.isdir(out):
                remove_old(out)
                if not os.listdir(out):
                    os.rmdir(out)
            raise

    return whole


@_half_is_none
def capture(
    command,
    out,
    gpu="A100",
    gpus_per_server=8,
    servers=None,
    ranks="auto",
    steps=None,
    step=None,
    memory=None,
    network=False,
    patience=30,
    host="none",
    check=False,
    say=None,
    progress=None,
    multiprocessors=None,
):
    """Runs a command (a list of words, the name of a script: launch.sh, train.py, or a line for a
    shell) and returns a Captured.

    gpu, gpus_per_server: the simulated machines; memory: bytes of a GPU, if not the model's own;
    multiprocessors: the same (of a GPU that is not in the table both are needed).
    servers: in place of what a launcher says (--nnodes). ranks: which are captured: "auto" (up to
    16 all; of more a sample, which is compared), "all", or a list of numbers. steps: training steps
    after which the script is ended, 0: it runs to its end; None: 3, or up to 5 until the last one
    communicates as the one before. step: what ends a step, if it is not to
    be found: "optimizer", a line ("train.py:87"), a function of the script ("train_one_step") or
    one of a library ("call:torch.cuda.synchronize"). network: the script may use it.
    patience: seconds that a rank waits for another one that does not compute. host: what the
    program does on the CPU between operators: "none", "measured" on this machine, or microseconds
    before each operator.
    check: it is for the mistakes: of up to 64 ranks all are captured.
    say: is called with what happens.
    progress: is called with (training steps that ranks have done, of how many, what goes on); of
    how many is 0 where nobody knows.

    Raises NotInstalled, InvalidInput, and CaptureFailed where the script fails; what was captured
    until then is in `out`.
    """
    if not isinstance(command, (str, os.PathLike)) and cuda.uses_cuda(command):
        return _program(
            command,
            out,
            gpu=gpu,
            gpus_per_server=gpus_per_server,
            servers=servers,
            memory=memory,
            network=network,
            patience=patience,
            say=say,
        )
    words = command_line.of_command(command)
    extension = installing.extension()
    told = gpus.told(gpu, memory, multiprocessors)
    _check(gpus_per_server, servers, ranks, steps, patience)
    _check_step(step)
    host_us = _host_us(host)
    say = say or (lambda text: None)
    progress = progress or (lambda done, total, text: None)
    os.makedirs(out, exist_ok=True)
    with alone(out):
        remove_old(out)
        return _captured(
            words,
            out,
            {
                "extension": extension,
                "gpus": gpus_per_server,
                "gpu": told,
                "steps": steps,
                "step": "" if step in (None, OPTIMIZER) else step,
                "patience": patience,
                "measures": host == "measured",
                "network": network,
            },
            {"gpus": gpus_per_server, "gpu": told, "servers": servers or 0, "ranks": ranks},
            network,
            host_us,
            check,
            say,
            progress,
            step,
        )


def _of_files(folder):
    """That the script wrote files, in words; [] if it did not."""
    names = sorted(
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, files in os.walk(folder)
        for name in files
    )
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [
        f"the script wrote {', '.join(names[:MOST_NAMED])}{more}: that is in the capture's folder"
        f" {FILES}, and where it was written all is as it was before"
    ]


def _goes_on(made, steps):
    """Whether a later step may be one that is like the one before it."""
    return steps < MOST_STEPS and made.step_count >= steps and bool(made.unsteady())


def _captured(words, out, device, launch, network, host_us, check, say, progress, step):
    ranks, gpus_per_server = launch["ranks"], launch["gpus"]
    notes = []
    if not network and not isolation.possible():
        notes.append("the script was not isolated: it could use the network")
    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        wanted = ranks
        until_alike = device["steps"] is None
        if until_alike:
            device = {**device, "steps": USUAL_STEPS}
        while True:
            status, left = _run(
                words, out, scratch, device, {**launch, "ranks": wanted}, network, progress
            )
            if status:
                _check_disks(scratch, out)
            jobs, idle = _jobs(scratch), []
            if not jobs:
                break
            # (What plays the ranks may have been ended with the shell that was its parent.)
            left = left or not os.path.isfile(jobs[-1]["status"])
            progress(0, 0, READING)
            read = functools.partial(
                _read,
                gpus_per_server=gpus_per_server,
                gpu=launch["gpu"],
                host_us=host_us,
                named=bool(device["step"]),
            )
            made = read(jobs[-1])
            # What comes behind a training (python3 plot.py) is not what was meant.
            while not made.records and len(jobs) > 1:
                idle.insert(0, jobs.pop())
                made = read(jobs[-1])
            if not made.records and idle:
                jobs, idle = [*jobs, *idle], []
                made = read(jobs[-1])
            if not status:
                _check_whole(made, scratch, left)
            if not made.records and not status:
                raise InvalidInput(
                    "capture: the script did nothing on a GPU: it ended without an operator on a"
                    " tensor of torch.cuda, or by os._exit(), with which nothing is written"
                )
            if status:
                break
            if wanted == "auto" and not made.complete:
                if check and made.world <= MOST_CHECKED:
                    wanted = "all"
                    say(f"capturing all {made.world} ranks, to compare them")
                    continue
                if made.usual_role is None:
                    say(f"sampled ranks differ ({made.difference()}): capturing all {made.world}")
                    wanted = "all"
                    continue
            if not until_alike or check or not _goes_on(made, device["steps"]):
                break
            say(f"{made.unsteady()}: capturing {device['steps'] + 1} steps")
            device = {**device, "steps": device["steps"] + 1}
        if until_alike and device["steps"] > USUAL_STEPS and not status and not made.unsteady():
            notes.append(
                f"step {device['steps']} is simulated, which sends nothing that the one before it"
                f" did not; step {device['steps'] - 1} did"
            )
        if (number := sum(job["code"] is None for job in jobs + idle)) > 1:
            which = "the last one that used a GPU" if idle else "the last one"
            notes.append(f"the command started {number} jobs: {which} was captured")
        if not jobs:
            raise _nothing(status, out, left)
        if step is not None and not status:
            _check_ends(step, made.ends, device["steps"])
        more = {
            "command": words,
            "torch": installing.torch_version(),
            "gpu": launch["gpu"],
            "gpus_per_server": jobs[-1]["each"] if jobs[-1]["launcher"] else gpus_per_server,
            "exit_status": status,
            "notes": notes,
        }
        notes += _of_files(os.path.join(out, FILES))
        notes += [jobs[-1]["note"]] if jobs[-1]["note"] else []
        servers = launch["servers"]
        if servers > 1 and not jobs[-1]["launcher"]:
            notes.append(
                f"no launcher starts the script on {servers} servers: it is one process on the"
                " first"
            )
        left = made.world - len(made.records)
        if left > 0 and not status:
            notes.append(
                f"{left} of {made.world} ranks {'was' if left == 1 else 'were'} not captured, and"
                f" not looked at: {'it is' if left == 1 else 'they are'} taken to do as"
                f" rank {made.role_of()[-1]}"
            )
        made.write(out, more)
        well = _ended_well(jobs[-1])
    captured = Captured(out)
    if status and not (_hangs(captured.mistakes) and made.only_waited()):
        raise CaptureFailed(_why(captured, status, well), captured, status)
    return captured


def _hangs(found):
    """Whether it is only that ranks do not fit together: GPUs would wait for ever, and no script
    fails.
    """
    return bool(found) and {mistake["kind"] for mistake in found} <= HANGS


def _program(command, out, **options):
    """The same of a program of C or C++ (docs/cuda-programs.md), whose output goes to files."""
    os.makedirs(out, exist_ok=True)
    with alone(out):
        remove_old(out)
        return cuda.run(command, out, echo=False, **options)


def _check(gpus_per_server, servers, ranks, steps, patience):
    def whole(name, value, least):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name}={shown(value)}: needs a whole number from {least}")

    whole("gpus_per_server", gpus_per_server, 1)
    if gpus_per_server > 64:
        raise InvalidInput(f"gpus_per_server={gpus_per_server}: allowed: 1 to 64")
    if servers is not None:
        whole("servers", servers, 1)
        if servers > MOST_RANKS:
            raise InvalidInput(f"servers={servers}: allowed: 1 to {MOST_RANKS}")
    if steps is not None:
        whole("steps", steps, 0)
    whole("patience", patience, 1)
    if ranks not in ("auto", "all"):
        if isinstance(ranks, str) or not ranks:
            raise InvalidInput(f"ranks={shown(ranks)}: allowed: auto, all, or numbers")
        for rank in ranks:
            whole("ranks", rank, 0)
            if list(ranks).count(rank) > 1:
                raise InvalidInput(f"ranks={shown(ranks)}: rank {rank} stands twice")


def _check_step(step):
    if step is None or step == OPTIMIZER:
        return
    allowed = (
        "optimizer, a line of the script (train.py:87), a function of it (train_one_step), or one"
        " of a library (call:torch.cuda.synchronize)"
    )
    found = STEP.fullmatch(step) if isinstance(step, str) else None
    if found is None:
        raise InvalidInput(f"step={shown(step)}: allowed: {allowed}")
    if found["call"]:
        asked = subprocess.run(
            [installing.PYTHON, "-c", IS_FUNCTION, found["call"]], capture_output=True, text=True
        )
        if asked.returncode != 0:
            raise InvalidInput(f"step={shown(step)}: there is no such function; allowed: {allowed}")


def _check_ends(step, ends, most):
    """What was to end a step did so, twice at least, and on all ranks as often."""
    what = "an optimizer's step" if step == OPTIMIZER else step
    several = {rank: count for rank, count in ends.items() if count != ends[min(ends)]}
    if not any(ends.values()):
        raise InvalidInput(
            f"step={shown(step)}: {what} never ended a step: "
            + (
                "no optimizer made one"
                if step == OPTIMIZER
                else "the script did not come there"
            )
        )
    if several and step != OPTIMIZER:
        rank, count = next(iter(several.items()))
        raise InvalidInput(
            f"step={shown(step)}: {what} ended a step {ends[min(ends)]} times on rank {min(ends)}"
            f" and {count} times on rank {rank}; it has to do so as often on all"
        )
    if max(ends.values()) == 1 and most != 1:
        raise InvalidInput(
            f"step={shown(step)}: {what} ended a step only once; a step is what lies between two"
            " times (to take all until then as one: --capture-steps=1)"
        )


def _host_us(host):
    if host in ("none", "measured"):
        return 0
    try:
        microseconds = float(host)
    except (TypeError, ValueError):
        microseconds = -1
    if isinstance(host, bool) or not 0 <= microseconds <= 1e6:
        raise InvalidInput(
            f"host={shown(host)}: allowed: none, measured, or microseconds from 0 to 1000000"
        )
    return microseconds


def _run(words, out, scratch, device, launch, network, progress):
    """(exit status of the command, whether what it had started still ran)."""
    jobs = tempfile.mkdtemp(prefix="jobs-", dir=scratch)
    programs = os.path.join(scratch, "programs")
    if not os.path.isdir(programs):
        os.makedirs(programs)
        for name in (*command_line.LAUNCHERS, *ASKED, *command_line.OTHERS):
            path = os.path.join(programs, name)
            with open(path, "w", encoding="utf-8") as file:
                answer = shlex.quote(os.path.join(HERE, "launch", "command.py"))
                there = f"{environment.PROGRAMS}={shlex.quote(programs)}"
                if name in command_line.OTHERS:
                    said = shlex.quote(f"{REFUSED}{command_line.not_here(name)}")
                    file.write(f"#!/bin/sh\necho {said} >&2\nexit 2\n")
                    os.chmod(path, 0o755)
                    continue
                file.write(
                    f'#!/bin/sh\n{there} exec {installing.PYTHON} {answer} {name} "$@"\n'
                )
            os.chmod(path, 0o755)
    copies = os.path.join(scratch, ending.FILES)
    shutil.rmtree(copies, ignore_errors=True)
    os.mkdir(copies)
    if network:
        open(os.path.join(copies, kept_files.NEW_STAY), "w").close()
    alone = {"raw": jobs, "ended": jobs, "store": "", "folder": "", "world": 0, "all": False}
    given = {
        **os.environ,
        "DLTRAIN_CAPTURE": json.dumps({**device, **alone, "forks": True}),
        "DLTRAIN_CAPTURE_LAUNCH": json.dumps({**launch, "folder": jobs, "processes": AT_ONCE}),
        kept_files.FOLDER: copies,
        "PATH": programs + os.pathsep + os.environ.get("PATH", os.defpath),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [os.path.join(HERE, "inside", "path"), os.environ.get("PYTHONPATH")])
        ),
        "OMP_NUM_THREADS": "1",
        "GLOG_minloglevel": "2",
    }
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        given.pop(name, None)
    with open(os.path.join(programs, environment.SAVED), "w", encoding="utf-8") as file:
        json.dump({name: given[name] for name in PUT_BACK}, file)
    asked = {}
    if words[0] == "bash" and len(words) > 1:
        asked = allocation.of_script(words[1], launch["servers"], launch["gpus"])
    if launch["servers"] or asked:
        if asked.get("gpus", 0) > launch["gpus"]:
            raise InvalidInput(
                f"{shown(words[1])}: its #SBATCH lines ask for {counted(asked['gpus'], 'GPU')} of"
                f" a server, which has {launch['gpus']} (--gpus-per-server)"
            )
        servers = launch["servers"] or asked.get("servers", 1)
        allocated = environment.of_allocation(servers, asked, launch["gpus"])
        given.update({key: str(value) for key, value in allocated.items()})
    command = words if network or not isolation.possible() else isolation.isolated(words)
    with open(os.path.join(out, "stdout.txt"), "wb") as output:
        with open(os.path.join(out, "stderr.txt"), "wb") as errors:
            # A session of its own: whatever ends this process, or comes here as Ctrl-C, ends all
            # that the command has started.
            process = subprocess.Popen(
                command,
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            watcher = ending.watch(process.pid, scratch)
            try:
                status = _wait(process, jobs, device["steps"], progress)
                return status if status >= 0 else 128 - status, ending.runs_on(scratch)
            finally:
                ending.end(process.pid, scratch)
                process.wait()
                shutil.rmtree(os.path.join(out, FILES), ignore_errors=True)
                kept_files.put_back(copies, os.path.join(out, FILES))
                ending.stop_watching(watcher)


def _wait(process, jobs, steps, progress):
    while True:
        try:
            return process.wait(LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            progress(*_done(jobs, steps), RUNNING)


def _done(jobs, steps):
    """(steps that ranks have done, of how many) of the job that was started last."""
    started = [job for job in _jobs_in(jobs) if os.path.isfile(job["progress"])]
    if not started:
        return 0, 0
    done = os.path.getsize(started[-1]["progress"])
    total = steps * len(started[-1]["ranks"])
    return (done, total) if done <= total else (0, 0)


def _jobs(scratch):
    """Of the last run of the command: what was started, in order."""
    runs = [
        os.path.join(scratch, name) for name in os.listdir(scratch) if name.startswith("jobs-")
    ]
    return _jobs_in(max(runs, key=os.path.getmtime))


def _jobs_in(last):
    found = []
    for name in sorted(os.listdir(last), key=lambda name: (len(name), name)):
        path = os.path.join(last, name, "job.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found.append({**json.load(file), "folder": os.path.join(last, name)})
    return found


def _read(job, gpus_per_server, gpu, host_us, named):
    died = {}
    if os.path.isfile(job["status"]):
        with open(job["status"], encoding="utf-8") as file:
            died = {int(rank): status for rank, status in json.load(file).items() if status}
    # (SLURM and MPI may give each process a GPU of its own, the only one that it sees.)
    each = {"": gpus_per_server, "torchrun": job["each"]}.get(job["launcher"], 0)
    world = job["world"] if job["launcher"] else 0
    with _without_collecting():
        folder = os.path.join(job["folder"], "raw")
        return Capture(folder, world, died, each, host_us, named, gpu["memory_bytes"])


def _ended_well(job):
    """Whether all ranks did, which is not known of a job that was ended."""
    if not os.path.isfile(job["status"]):
        return False
    with open(job["status"], encoding="utf-8") as file:
        return not any(json.load(file).values())


BACKGROUND = (
    "capture: the command ended while what it had started in the background (by &) still ran, and"
    " that ends with it: leave out the &, or let the command wait for it (wait)"
)


def _check_whole(made, scratch, left):
    """Nothing of a cut record is simulated."""
    cut = [rank for rank, record in sorted(made.records.items()) if record.is_cut]
    if not cut:
        if left and not made.records:
            raise InvalidInput(BACKGROUND)
        return
    free = shutil.disk_usage(scratch).free
    what = f"capture: what rank {cut[0]} did is not recorded to its end: "
    if free < LITTLE:
        raise NotWritten(what + _is_full(scratch, os.path.dirname(scratch)))
    if left:
        raise InvalidInput(BACKGROUND)
    raise InvalidInput(
        f"{what}the script ends itself by os._exit(), with which nothing is written; use"
        " sys.exit()"
    )


def _is_full(scratch, folder):
    hint = "; TMPDIR names another folder" if folder == os.path.dirname(scratch) else ""
    return f"{folder} is full ({shutil.disk_usage(folder).free >> 20} MiB left{hint})"


def _check_disks(scratch, out):
    """A script that failed as a disk of the capture is full is not to blame: it says so itself, or
    there is no place left for what it says.
    """
    with open(os.path.join(out, "stderr.txt"), encoding="utf-8", errors="replace") as file:
        little = LITTLE if FULL in file.read() else PAGE
    for folder in (os.path.dirname(scratch), out):
        if shutil.disk_usage(folder).free < little:
            raise NotWritten(f"capture: {_is_full(scratch, folder)}")


@contextlib.contextmanager
def _without_collecting():
    """Millions of small objects are made, none of them in circles: looking for such would take as
    long as making them.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


REFUSED = "capture: error: "  # of launch/command.py


def _nothing(status, out, left):
    with open(os.path.join(out, "stderr.txt"), encoding="utf-8", errors="replace") as file:
        said = file.read().strip()
    if said.startswith(REFUSED):  # a launcher's words
        return InvalidInput(said[len(REFUSED) :])
    if left and not status:
        return InvalidInput(BACKGROUND)
    if status:
        return CaptureFailed(said or f"the command ended with status {status}", None, status)
    return InvalidInput(
        "capture: the command started no Python script: name one that uses torch.cuda, or a"
        " launcher's words" + (f"; it said: {said.splitlines()[-1].strip()}" if said else "")
    )


def _why(captured, status, well):
    """The script's own words: its last traceback, or the end of what it said. `well`: its ranks
    did not fail.
    """
    if well:
        return (
            f"the command ended with status {status}, though the script ended well: something else"
            f" in it failed ({shlex.join(captured.meta['command'])})"
        )
    said = captured.errors.strip()
    first, *failures = said.split(TRACEBACK)
    # Ranks that waited for one that failed say so: that is not why.
    own = [one for one in failures if "\nRuntimeError: capture: " not in one] or failures
    said = TRACEBACK + own[-1].rstrip() if own else "\n".join(first.splitlines()[-20:])
    name = _signal_of(status)
    ended = f"the script was ended by {name}" if name else f"the script ended with status {status}"
    return f"{said}\n{ended}" if said and name and not own else said or ended


def _signal_of(status):
    """"SIGKILL" of 137, as shells have it."""
    try:
        return signal.Signals(status - 128).name if status > 128 else ""
    except ValueError:
        return ""
