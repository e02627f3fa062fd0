# SPDX-License-Identifier: GPL-2.0-only
"""One capture, from the user's command to a folder."""

import json
import os
import shlex
import shutil
import subprocess
import tempfile

from ..errors import InvalidInput
from ..shown import shown
from . import gpus, installing, isolation
from .captured import Captured, CaptureFailed
from .launch import environment
from .record.capture_files import Capture

HERE = os.path.dirname(os.path.abspath(__file__))
# What a script may start its processes with, and what then answers: launch/command.py.
LAUNCHERS = ("torchrun", "python", "python3", "srun", "mpirun", "mpiexec")
# A rank is a process of some 250 MB; so many at once where they need not run together.
AT_ONCE = max(2, min(8, os.cpu_count() or 2))


def capture(
    command,
    out,
    gpu="A100",
    gpus_per_server=8,
    servers=None,
    ranks="auto",
    steps=3,
    memory=None,
    network=False,
    patience=30,
    say=None,
):
    """Runs a command (a list of words, or the name of a script: launch.sh, train.py) and returns a
    Captured.

    gpu, gpus_per_server: the simulated machines; memory: bytes of a GPU, if not the model's own.
    servers: in place of what a launcher says (--nnodes). ranks: which are captured: "auto" (up to
    16 all; of more a sample, which is compared), "all", or a list of numbers. steps: training steps
    after which the script is ended, 0: it runs to its end. network: the script may use it.
    patience: seconds that a rank waits for another one. say: is called with what happens.

    Raises NotInstalled, InvalidInput, and CaptureFailed where the script fails; what was captured
    until then is in `out`.
    """
    words = _command(command)
    extension = installing.extension()
    told = gpus.told(gpu, memory)
    _check(gpus_per_server, servers, ranks, steps, patience)
    say = say or (lambda text: None)
    os.makedirs(out, exist_ok=True)
    remove_old(out)
    notes = []
    if not network and not isolation.possible():
        notes.append("the script was not isolated: it could use the network")
    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        wanted = ranks
        while True:
            status = _run(
                words,
                out,
                scratch,
                {
                    "extension": extension,
                    "gpus": gpus_per_server,
                    "gpu": told,
                    "steps": steps,
                    "patience": patience,
                },
                {"gpus": gpus_per_server, "servers": servers or 0, "ranks": wanted},
                network,
            )
            jobs = _jobs(scratch)
            if not jobs:
                break
            made = _read(jobs[-1])
            if ranks != "auto" or status or made.usual_role is not None or made.complete:
                break
            say(f"sampled ranks differ ({made.difference()}): capturing all {made.world}")
            wanted = "all"
        if len(jobs) > 1:
            notes.append(f"the command started {len(jobs)} jobs: the last one was captured")
        if not jobs:
            raise _nothing(status, out)
        more = {
            "command": words,
            "torch": installing.VERSION,
            "gpu": told,
            "gpus_per_server": jobs[-1]["each"] if jobs[-1]["launcher"] else gpus_per_server,
            "exit_status": status,
            "notes": notes,
        }
        made.write(out, more)
    captured = Captured(out)
    if status:
        raise CaptureFailed(_why(captured, status), captured, status)
    return captured


def _command(command):
    """Words to run. A script by its name: a Python script by python3, another one by bash."""
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    words = [os.fspath(word) for word in words]
    if not words or not words[0]:
        raise InvalidInput("capture: there is no command: a script (train.py, launch.sh) or words")
    first = words[0]
    if os.path.isfile(first) and not (os.path.basename(first) in LAUNCHERS):
        if first.endswith(".py"):
            return ["python3", *words]
        return ["bash", *words]
    if os.path.basename(first) not in LAUNCHERS and not shutil.which(first):
        raise InvalidInput(
            f"capture: {shown(first)}: no such script, and no program; allowed: a script of Python"
            f" or bash, or {', '.join(LAUNCHERS)} with their words"
        )
    return words


def _check(gpus_per_server, servers, ranks, steps, patience):
    def whole(name, value, least):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name}={shown(value)}: needs a whole number from {least}")

    whole("gpus_per_server", gpus_per_server, 1)
    if gpus_per_server > 64:
        raise InvalidInput(f"gpus_per_server={gpus_per_server}: allowed: 1 to 64")
    if servers is not None:
        whole("servers", servers, 1)
    whole("steps", steps, 0)
    whole("patience", patience, 1)
    if ranks not in ("auto", "all"):
        if isinstance(ranks, str) or not ranks:
            raise InvalidInput(f"ranks={shown(ranks)}: allowed: auto, all, or numbers")
        for rank in ranks:
            whole("ranks", rank, 0)


def remove_old(out):
    """Of an earlier capture: nothing of it may be taken for this one's."""
    for name in os.listdir(out):
        if name in ("meta.json", "stdout.txt", "stderr.txt") or (
            name.startswith("rank-") and name.endswith(".jsonl")
        ):
            os.remove(os.path.join(out, name))


def _run(words, out, scratch, device, launch, network):
    """Exit status of the command."""
    jobs = tempfile.mkdtemp(prefix="jobs-", dir=scratch)
    programs = os.path.join(scratch, "programs")
    if not os.path.isdir(programs):
        os.makedirs(programs)
        for name in LAUNCHERS:
            path = os.path.join(programs, name)
            with open(path, "w", encoding="utf-8") as file:
                answer = shlex.quote(os.path.join(HERE, "launch", "command.py"))
                file.write(f'#!/bin/sh\nexec {installing.PYTHON} {answer} {name} "$@"\n')
            os.chmod(path, 0o755)
    alone = {"raw": jobs, "ended": jobs, "store": "", "folder": "", "world": 0, "all": False}
    given = {
        **os.environ,
        "DLTRAIN_CAPTURE": json.dumps({**device, **alone, "forks": True}),
        "DLTRAIN_CAPTURE_LAUNCH": json.dumps({**launch, "folder": jobs, "processes": AT_ONCE}),
        "PATH": programs + os.pathsep + os.environ.get("PATH", os.defpath),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [os.path.join(HERE, "inside", "path"), os.environ.get("PYTHONPATH")])
        ),
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "GLOG_minloglevel": "2",
    }
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        given.pop(name, None)
    if launch["servers"]:
        given.update(
            {k: str(v) for k, v in environment.of_allocation(launch["servers"]).items()}
        )
    command = words if network or not isolation.possible() else isolation.isolated(words)
    with open(os.path.join(out, "stdout.txt"), "wb") as output:
        with open(os.path.join(out, "stderr.txt"), "wb") as errors:
            return subprocess.run(
                command, env=given, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            ).returncode


def _jobs(scratch):
    """Of the last run of the command: what was started, in order."""
    runs = [
        os.path.join(scratch, name) for name in os.listdir(scratch) if name.startswith("jobs-")
    ]
    last = max(runs, key=os.path.getmtime)
    found = []
    for name in sorted(os.listdir(last), key=lambda name: (len(name), name)):
        path = os.path.join(last, name, "job.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found.append({**json.load(file), "folder": os.path.join(last, name)})
    return found


def _read(job):
    died = {}
    if os.path.isfile(job["status"]):
        with open(job["status"], encoding="utf-8") as file:
            died = {int(rank): status for rank, status in json.load(file).items() if status}
    return Capture(
        os.path.join(job["folder"], "raw"), job["world"] if job["launcher"] else 0, died
    )


def _nothing(status, out):
    with open(os.path.join(out, "stderr.txt"), encoding="utf-8", errors="replace") as file:
        said = file.read().strip()
    if status:
        return CaptureFailed(said or f"the command ended with status {status}", None, status)
    return InvalidInput(
        "capture: the command started no Python script: name one that uses torch.cuda, or a"
        " launcher's words" + (f"\n{said}" if said else "")
    )


def _why(captured, status):
    """The script's own words: its last traceback, or the end of what it said."""
    said = captured.errors.strip()
    start = said.rfind("Traceback (most recent call last)")
    said = said[start:] if start >= 0 else "\n".join(said.splitlines()[-20:])
    return said or f"the script ended with status {status}"
