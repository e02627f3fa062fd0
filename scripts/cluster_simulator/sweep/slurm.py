# SPDX-License-Identifier: GPL-2.0-only
"""Runs of a sweep on a cluster, by Slurm: job arrays, of which each task runs a few points.

In DIR/slurm, which nodes and this machine share:

    run.N      the command of point N         beat.N   touched while it runs
    task.K     points of an array's task      rc.N     its exit status and seconds, once it ended
    nodes.K    the node of each start of it   err.N    its standard error

A task that Slurm starts again, as its node was lost, leaves out what has ended, and waits for what
still runs on the old node. One that ended without results of its points is submitted again.
"""

import getpass
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid

from ..amounts import counted
from ..files import read_text
from .errors import BadUse

FOLDER = "slurm"
MOST_TASKS = 256  # of an array
TASKS_A_CPU = 4  # of a cluster: more points go into tasks of several, as each takes Slurm a second
TRIES = 3  # of a point whose node is lost
LOOK_EVERY = 2.0  # s, at the queue
LIVE = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")
SCRIPT = """#!/bin/bash
# A task of a sweep: its points, one after another.
cd "$1" || exit 1
task=$2.$SLURM_ARRAY_TASK_ID
echo "$SLURMD_NODENAME" >> "nodes.$task"
while read -r point; do
  # Another start of this task may still run it, on a node that Slurm has lost.
  while [ ! -e "rc.$point" ] && [ -e "beat.$point" ] &&
        [ $(($(date +%s) - $(stat -c %Y "beat.$point"))) -lt 10 ]; do sleep 1; done
  [ -e "rc.$point" ] && continue
  touch "beat.$point"
  begin=$(date +%s.%N)
  bash "run.$point" < /dev/null > /dev/null 2> "err.$point" &
  run=$!
  trap 'kill -INT $run 2> /dev/null' TERM INT
  while kill -0 $run 2> /dev/null; do touch "beat.$point"; sleep 2; done &
  wait $run
  status=$?
  trap - TERM INT
  echo "$status $begin $(date +%s.%N)" > "part.$point" && mv "part.$point" "rc.$point"
done < "task.$task"
"""


def _ask(command, seconds=60):
    """What a command of Slurm says. Raises BadUse."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
            text=True,
        )
    except FileNotFoundError:
        raise BadUse(
            f"--on=slurm: there is no {command[0]}; allowed: a machine that submits to Slurm"
            " (Debian: slurm-client), or --on=local"
        ) from None
    except subprocess.TimeoutExpired:
        raise BadUse(f"--on=slurm: {command[0]} said nothing for {seconds} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().split("\n")[0]
        raise BadUse(f"--on=slurm: {command[0]}: {said or 'failed without a word'}")
    return done.stdout


def cancel_old(folder):
    """Ends jobs of a sweep that was killed, before its points are run again."""
    listed = os.path.join(folder, FOLDER, "jobs")
    if not os.path.exists(listed):
        return
    jobs = read_text(listed).split()
    if jobs and shutil.which("squeue"):
        _end(jobs)
    shutil.rmtree(os.path.join(folder, FOLDER), ignore_errors=True)


def _end(jobs):
    subprocess.run(["scancel", *jobs], stderr=subprocess.DEVNULL, check=False)
    until = time.monotonic() + 60
    while _queued(jobs) and time.monotonic() < until:
        time.sleep(0.5)


def _queued(jobs):
    """{(job, task): (state, node)} of what Slurm still has of arrays."""
    done = subprocess.run(
        ["squeue", "--noheader", "--array", "--states=all", "--format=%F %K %T %N", "--user"]
        + [getpass.getuser()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        text=True,
    )
    if done.returncode:
        return None  # not known now
    queued = {}
    for line in done.stdout.splitlines():
        word = line.split()
        if word[0] in jobs and word[2] in LIVE:
            queued[word[0], word[1]] = (word[2], word[3] if len(word) > 3 else "")
    return queued


class SlurmRun:
    """A point that a task runs."""

    def __init__(self, place, number, command, cwd):
        self.place, self.number, self.task, self.tries = place, number, None, 0
        self.lost = None  # why it has no result
        for name in ("rc", "beat", "err"):
            place.remove(f"{name}.{number}")
        place.write(
            f"run.{number}",
            f"cd {shlex.quote(cwd or os.getcwd())} && exec "
            + " ".join(shlex.quote(word) for word in command)
            + "\n",
        )

    def _ended(self):
        try:
            return read_text(self.place.path(f"rc.{self.number}")).split()
        except OSError:
            return None

    def poll(self):
        ended = self._ended()
        if ended and len(ended) == 3:
            status = int(ended[0])
            return 128 - status if status > 128 else status  # a signal, as subprocess has it
        return 1 if self.lost else None

    def seconds(self):
        ended = self._ended()
        return float(ended[2]) - float(ended[1]) if ended else None

    def said(self):
        if self.lost:
            return [self.lost]
        try:
            return read_text(self.place.path(f"err.{self.number}")).splitlines()
        except OSError:
            return []

    def end(self):
        """The array is cancelled as a whole."""


class SlurmPlace:
    """A cluster."""

    def __init__(self, folder, options, jobs, program, quiet=False):
        self.folder, self.quiet = os.path.join(folder, FOLDER), quiet
        self.limit = jobs  # tasks at a time; None: as Slurm allows
        self.jobs = None  # all are submitted at once
        try:
            words = shlex.split(options or "")
            self.options = [word if word.startswith("-") else f"--{word}" for word in words]
        except ValueError as error:
            raise BadUse(f"--slurm-options={options}: {error}") from None
        self.arrays, self.waiting, self.runs = [], [], []
        self.looked, self.told = 0.0, set()
        os.makedirs(self.folder, exist_ok=True)
        self.write("task.sh", SCRIPT)
        self._check_shared(program)
        # allocated/idle/other/total
        cpus = _ask(["sinfo", "--noheader", "--format=%C"]).split("/")[-1].strip()
        self.cpus = int(cpus) if cpus.isdigit() and int(cpus) > 0 else MOST_TASKS

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self, name):
        if os.path.exists(self.path(name)):
            os.remove(self.path(name))

    def _say(self, text):
        if not self.quiet:
            print(f"sweep: slurm: {text}", file=sys.stderr, flush=True)

    def _check_shared(self, program):
        """Nodes have the folder and the program under the same names."""
        word = uuid.uuid4().hex
        self.write("shared", word + "\n")
        seen = _ask(
            ["srun", "--nodes=1", "--ntasks=1", "--quiet", *self.options, "--chdir=/", "bash", "-c"]
            + ['cat "$0" 2> /dev/null; [ -x "$1" ] && echo program; hostname']
            + [self.path("shared"), program],
            seconds=3600,
        ).split()
        node = seen[-1] if seen else "a node"
        if word not in seen:
            raise BadUse(
                f"--out={os.path.dirname(self.folder)}: {node} does not see this folder; allowed"
                " with --on=slurm: a folder that this machine and all nodes share"
            )
        if "program" not in seen:
            raise BadUse(f"{program}: {node} does not have it; install it where nodes see it")
        self._say(f"{node} shares the folder")

    def start(self, number, command, cwd):
        run = SlurmRun(self, number, command, cwd)
        self.waiting.append(run)
        self.runs.append(run)
        return run

    def submit(self):
        if self.waiting:
            self._submit_waiting()
        if time.monotonic() - self.looked > LOOK_EVERY:
            self.looked = time.monotonic()
            self._look()

    def _submit_waiting(self):
        waiting, self.waiting = self.waiting, []
        each = -(-len(waiting) // min(MOST_TASKS, TASKS_A_CPU * self.cpus))
        tasks = [waiting[at : at + each] for at in range(0, len(waiting), each)]
        array = str(len(self.arrays))
        for number, runs in enumerate(tasks):
            self.write(f"task.{array}.{number}", "".join(f"{run.number}\n" for run in runs))
        limit = f"%{self.limit}" if self.limit else ""
        said = _ask(
            ["sbatch", "--parsable", "--requeue", "--job-name=dltrain-sweep", "--output=/dev/null"]
            + [f"--array=0-{len(tasks) - 1}{limit}", "--nodes=1", "--ntasks=1", *self.options]
            + [self.path("task.sh"), self.folder, array]
        )
        job = said.strip().split(";")[0]
        self.arrays.append(job)
        with open(self.path("jobs"), "a", encoding="utf-8") as file:
            file.write(job + "\n")
        for number, runs in enumerate(tasks):
            for run in runs:
                run.task, run.tries = (job, str(number), array), run.tries + 1
        self._say(f"job {job}: {len(waiting)} points in {len(tasks)} tasks")

    def _nodes_of(self, run):
        job, task, array = run.task
        try:
            return read_text(self.path(f"nodes.{array}.{task}")).split()
        except OSError:
            return []

    def _look(self):
        """What has been lost is named, and submitted again."""
        queued = _queued(self.arrays)
        if queued is None:
            return
        again = {}  # by node: how many points
        for run in self.runs:
            if not run.task or run.poll() is not None:
                continue
            nodes = self._nodes_of(run)
            if len(nodes) > 1 and (run.task, len(nodes)) not in self.told:
                self.told.add((run.task, len(nodes)))
                self._say(f"{nodes[-2]} is lost; its task {run.task[1]} goes on on {nodes[-1]}")
            if run.task[:2] in queued:
                continue
            if run.poll() is not None:
                continue  # it has ended meanwhile
            node = nodes[-1] if nodes else "no node"
            if run.tries < TRIES:
                again[node] = again.get(node, 0) + 1
                run.task = None
                self.waiting.append(run)
            else:
                run.lost = f"lost by Slurm {run.tries} times, the last time on {node}"
        for node, points in again.items():
            self._say(f"{node}: {counted(points, 'point')} came to no end; submitted again")

    def stop(self, runs, now):
        if self.arrays:
            subprocess.run(["scancel", *self.arrays], stderr=subprocess.DEVNULL, check=False)
        for run in self.waiting:
            run.lost = "stopped"
        self.waiting = []
        self._say("jobs are cancelled")
        for run in runs:
            if run.poll() is None:
                run.lost = run.lost or "stopped"

    def close(self):
        if _queued(self.arrays):
            _end(self.arrays)
        shutil.rmtree(self.folder, ignore_errors=True)
