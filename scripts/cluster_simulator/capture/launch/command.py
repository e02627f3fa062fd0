#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stands for torchrun, srun, mpirun and python while a script is captured: a folder with programs
of these names is first on its PATH, each of which calls this one with its name.

DLTRAIN_CAPTURE_LAUNCH is a JSON object:

    gpus        GPUs of a server
    gpu         what nvidia-smi tells of one
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

from launch import allocation, environment, words, wrapped  # noqa: E402
from launch.counts import MOST_RANKS  # noqa: E402
from launch.mpirun import mpirun  # noqa: E402

PYTHON = "/usr/bin/python3"
# Jobs up to this size run with all their ranks at once; of larger ones a sample runs.
MOST_TOGETHER = 16


def main(name, arguments):
    environment.put_back()
    given = json.loads(os.environ["DLTRAIN_CAPTURE_LAUNCH"])
    gpus = allocation.visible(given["gpus"])
    try:
        if name == "scontrol":
            return tell(*allocation.scontrol(arguments))
        if name == "nvidia-smi":
            return tell(*allocation.nvidia_smi(arguments, given["gpu"], gpus))
        if name in ("torchrun", "torch-distributed-launch"):
            if wrapped.answer(arguments):
                return 0
            return start(_of_all(words.torchrun(arguments, gpus, given["servers"])), given)
        if name in ("srun", "mpirun", "mpiexec"):
            if name == "srun":
                return under("srun", *words.srun(arguments, gpus, given["servers"]), given)
            split = mpirun(arguments, gpus, given["servers"], os.environ)
            return under("mpirun", *split, given)
        kind, rest = words.python(arguments)
        of_job = kind in ("torchrun", "legacy", "script", "module")
        if of_job and wrapped.answer(rest):
            return 0
        if wrapped.UNDER in os.environ and kind in ("script", "module"):
            return under_shell(kind, rest, given)
        if kind in ("torchrun", "legacy"):
            job = words.torchrun(rest, gpus, given["servers"], kind == "legacy")
            return start(_of_all(job), given)
        if kind == "code" and not _in_job() and words.may_use_torch(rest[1]):
            return start(words.Job(1, 1, ["-c", *rest[2:]], False, "", code=rest[1]), given)
        if kind == "stdin" and not _in_job():
            code = _read_ahead()
            if words.may_use_torch(code):
                return start(words.Job(1, 1, rest, False, "", code=code), given)
        if kind in ("script", "module") and not _in_job():
            job = words.Job(1, 1, rest, kind == "module", "")
            return start(job, given)
        # (With -I and -E it would not look at PYTHONPATH.)
        options = len(arguments) - len(rest) if kind == "script" else 0
        kept = [one for one in arguments[:options] if one not in ("-I", "-E")]
        os.environ["DLTRAIN_CAPTURE_PLAIN"] = "1"  # ../inside/path/sitecustomize.py
        os.execv(PYTHON, [PYTHON, *kept, *arguments[options:]])
    except words.WrongWords as error:
        print(f"capture: error: {error}", file=sys.stderr)
        return 2


def tell(status, output, errors):
    if output:
        print(output)
    if errors:
        print(f"capture: error: {errors}", file=sys.stderr)
    return status


def _read_ahead():
    """What stands on the standard input, which is as if nobody had read it."""
    if os.isatty(0):
        return ""
    with open(0, "rb", closefd=False) as file:
        code = file.read()
    copy = os.memfd_create("stdin")
    with open(copy, "wb", closefd=False) as file:
        file.write(code)
    os.lseek(copy, 0, os.SEEK_SET)
    os.dup2(copy, 0)
    return code.decode("utf-8", "surrogateescape")


def _of_all(job):
    """The job of a launcher that srun or mpirun starts on each server: one for all, if it says that
    there are so many.
    """
    told = wrapped.end()
    tasks = told["servers"] * told["each"] if told else 1
    if tasks not in (1, job.servers, job.asked):
        raise words.WrongWords(
            f"{told['launcher']} starts torchrun {tasks} times, and --nnodes={job.asked} is of"
            f" each: they would not be one job; allowed: --nnodes={tasks}, or the script in place"
            " of torchrun"
        )
    return job


def _in_job():
    """A Python that a captured script starts is part of it; code beside it only asks something."""
    if wrapped.UNDER in os.environ or wrapped.ASKED in os.environ:
        return True
    return not json.loads(os.environ["DLTRAIN_CAPTURE"]).get("forks")


def under(launcher, servers, each, command, given):
    """The command of srun or mpirun: processes of a Python script, or a launcher on each server, of
    which one stands for all.
    """
    program = os.path.basename(command[0])
    kind, rest = words.python(command[1:]) if program.startswith("python") else ("other", [])
    if kind in ("script", "module"):
        return start(words.Job(servers, each, rest, kind == "module", launcher), given)
    if kind == "code":
        return start(
            words.Job(servers, each, ["-c", *rest[2:]], False, launcher, code=rest[1]), given
        )
    if kind == "stdin":
        raise words.WrongWords(
            f"{launcher}: {program} without a script: the standard input is the first process's"
            " alone; allowed: a script, a module, -c"
        )
    wrapped.begin(launcher, servers, each, command, given["folder"])
    first = words.Job(servers, each, command, False, launcher)
    os.environ.update({key: str(value) for key, value in environment.of_rank(first, 0).items()})
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise words.WrongWords(f"{launcher}: {command[0]}: {error.strerror}") from None


def under_shell(kind, rest, given):
    """A script that a command of srun's or mpirun's starts as each of its ranks."""
    told = wrapped.end()
    job = words.Job(told["servers"], told["each"], rest, kind == "module", told["launcher"])
    ranks, _ = ranks_of(job, given)
    return start(job, given, wrapped.calls(told, job, ranks, given["folder"]))


def ranks_of(job, given):
    """(ranks that are captured, whether all of them run together)."""
    wanted = given["ranks"]
    if wanted == "auto":
        if job.world <= MOST_TOGETHER:
            return list(range(job.world)), True
        # The first, the last of its server, one in the middle, the last of all.
        return sorted({0, job.each - 1, job.world // 2, job.world - 1}), False
    if wanted == "all":
        return list(range(job.world)), job.world <= MOST_TOGETHER
    beyond = [rank for rank in wanted if rank >= job.world]
    if beyond:
        raise words.WrongWords(f"rank {beyond[0]} cannot be captured: there are {job.world}")
    return wanted, len(wanted) == job.world and job.world <= MOST_TOGETHER


def _folder_of_job(folder):
    """job-0, job-1, ...: jobs may begin at the same time."""
    number = len(os.listdir(folder))
    while True:
        path = os.path.join(folder, f"job-{number}")
        try:
            os.mkdir(path)
            return path
        except FileExistsError:
            number += 1


def _folder_of(job):
    """Of the script: what is imported from there is the user's."""
    if job.module or job.code is not None:
        return os.getcwd()
    script = os.path.abspath(job.program[0])
    return script if os.path.isdir(script) else os.path.dirname(script)


def _cannot_run(script):
    """Python's words for what it cannot run; "": it can. A folder, or a zip file, has the script in
    it.
    """
    if os.path.isdir(script) and not os.path.isfile(os.path.join(script, "__main__.py")):
        return f"can't find '__main__' module in '{os.path.abspath(script)}'"
    if not os.path.exists(script):
        return f"can't open file '{os.path.abspath(script)}': No such file or directory"
    return ""


def start(job, given, calls=None):
    """`calls`: of ranks whose words and variables differ from this process's, wrapped.calls()."""
    script = job.program[0]
    why = "" if job.module or job.code is not None else _cannot_run(script)
    if why:
        print(f"{PYTHON}: {why}", file=sys.stderr)
        return 2
    if job.world > MOST_RANKS:
        raise words.WrongWords(
            f"{job.servers} servers of {job.each} processes are {job.world} ranks; allowed: at most"
            f" {MOST_RANKS}"
        )
    ranks, together = ranks_of(job, given)
    folder = _folder_of_job(given["folder"])
    for part in ("raw", "ended"):
        os.makedirs(os.path.join(folder, part))
    capture = json.loads(os.environ["DLTRAIN_CAPTURE"])
    capture.update(
        raw=os.path.join(folder, "raw"),
        ended=os.path.join(folder, "ended"),
        store=os.path.join(folder, "store"),
        progress=os.path.join(folder, "progress"),
        folder=_folder_of(job),
        world=job.world if job.launcher else 0,
        all=together,
        forks=True,
    )
    plan = {
        "program": job.program,
        "module": job.module,
        "code": job.code,
        "tells_rank": job.tells_rank,
        "ranks": [
            [rank, environment.of_rank(job, rank) if calls is None else {}] for rank in ranks
        ],
        "calls": calls or {},
        "at_once": len(ranks) if together else given["processes"],
        "ended": capture["ended"],
        "status": os.path.join(folder, "status.json"),
        "progress": capture["progress"],
        "world": job.world,
        "servers": job.servers,
        "each": job.each,
        "launcher": job.launcher,
        "note": job.note,
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
