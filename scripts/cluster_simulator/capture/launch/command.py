#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands for torchrun, srun, mpirun and python while a script is captured: a folder with programs
of these names is first on its PATH, each of which calls this one with its name.

DLTRAIN_CAPTURE_LAUNCH is a JSON object:

    gpus        GPUs of a server
    servers     in place of what a script says; 0: as it says
    ranks       "auto", "all" or a list of ranks: those that are captured
    folder      where jobs are written
    processes   how many ranks run at once, where ranks need not run together
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)

from launch import environment, words  # noqa: E402

PYTHON = "/usr/bin/python3"
# Jobs up to this size run with all their ranks at once; of larger ones a sample runs.
MOST_TOGETHER = 16


def main(name, arguments):
    given = json.loads(os.environ["DLTRAIN_CAPTURE_LAUNCH"])
    try:
        if name in ("torchrun", "torch-distributed-launch"):
            return start(words.torchrun(arguments, given["gpus"], given["servers"]), given)
        if name in ("srun", "mpirun", "mpiexec"):
            launcher = "srun" if name == "srun" else "mpirun"
            split = words.srun if launcher == "srun" else words.mpirun
            return under(launcher, *split(arguments, given["gpus"], given["servers"]), given)
        kind, rest = words.python(arguments)
        if kind == "torchrun":
            return start(words.torchrun(rest, given["gpus"], given["servers"]), given)
        if kind in ("script", "module") and not _in_job():
            job = words.Job(1, 1, rest, kind == "module", "")
            return start(job, given)
        os.execv(PYTHON, [PYTHON, *arguments])
    except words.WrongWords as error:
        print(f"capture: error: {error}", file=sys.stderr)
        return 2


def _in_job():
    """A Python that a captured script starts is part of it."""
    return "RANK" in os.environ or not json.loads(os.environ["DLTRAIN_CAPTURE"]).get("forks")


def under(launcher, servers, each, command, given):
    """The command of srun or mpirun: processes of a Python script, or a launcher on each server, of
    which one stands for all.
    """
    program = os.path.basename(command[0])
    kind, rest = words.python(command[1:]) if program.startswith("python") else ("other", [])
    if kind in ("script", "module"):
        return start(words.Job(servers, each, rest, kind == "module", launcher), given)
    first = words.Job(servers, each, command, False, launcher)
    os.environ.update({key: str(value) for key, value in environment.of_rank(first, 0).items()})
    os.execvp(command[0], command)


def ranks_of(job, given):
    """(ranks that are captured, whether all of them run together)."""
    wanted = given["ranks"]
    if wanted == "auto":
        if job.world <= MOST_TOGETHER:
            return list(range(job.world)), True
        # The first two, the last of the first server, one in the middle, the last of all.
        return sorted({0, 1, job.each - 1, job.world // 2, job.world - 1}), False
    if wanted == "all":
        return list(range(job.world)), job.world <= MOST_TOGETHER
    beyond = [rank for rank in wanted if rank >= job.world]
    if beyond:
        raise words.WrongWords(f"rank {beyond[0]} cannot be captured: there are {job.world}")
    return wanted, len(wanted) == job.world and job.world <= MOST_TOGETHER


def start(job, given):
    script = job.program[0]
    if not job.module and not os.path.isfile(script):
        print(
            f"{PYTHON}: can't open file '{os.path.abspath(script)}': No such file or directory",
            file=sys.stderr,
        )
        return 2
    ranks, together = ranks_of(job, given)
    number = len(os.listdir(given["folder"]))
    folder = os.path.join(given["folder"], f"job-{number}")
    for part in ("raw", "ended"):
        os.makedirs(os.path.join(folder, part))
    capture = json.loads(os.environ["DLTRAIN_CAPTURE"])
    capture.update(
        raw=os.path.join(folder, "raw"),
        ended=os.path.join(folder, "ended"),
        store=os.path.join(folder, "store"),
        progress=os.path.join(folder, "progress"),
        folder=os.getcwd() if job.module else os.path.dirname(os.path.abspath(script)),
        world=job.world if job.launcher else 0,
        all=together,
        forks=True,
    )
    plan = {
        "program": job.program,
        "module": job.module,
        "ranks": [[rank, environment.of_rank(job, rank)] for rank in ranks],
        "at_once": len(ranks) if together else given["processes"],
        "ended": capture["ended"],
        "status": os.path.join(folder, "status.json"),
        "progress": capture["progress"],
        "world": job.world,
        "servers": job.servers,
        "each": job.each,
        "launcher": job.launcher,
    }
    path = os.path.join(folder, "job.json")
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(plan, file)
    os.replace(f"{path}.part", path)  # who captures looks at it meanwhile
    os.environ["DLTRAIN_CAPTURE"] = json.dumps(capture)
    workers = os.path.join(HERE, "workers.py")
    os.execv(PYTHON, [PYTHON, workers, path])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
