# SPDX-License-Identifier: GPL-2.0-only
"""A command between srun or mpirun and Python, as clusters' scripts have it:

    srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py --rank $SLURM_PROCID'

Here it runs as rank 0's. When it comes to Python, it runs as each other rank's as well, only to see
with which words and variables that would be: its own Python does nothing then. Behind the job rank
0's goes on.
"""

import json
import os
import subprocess

from . import environment
from .counts import WrongWords

# Set for the command: a file with what it is; for those of other ranks: a file for what they call.
UNDER, ASKED = "DLTRAIN_CAPTURE_UNDER", "DLTRAIN_CAPTURE_ASKED"
# Of the shell, and of this package.
OWN = ("_", "SHLVL", "OLDPWD", UNDER, ASKED)
SECONDS = 60  # a command of another rank has to come to Python


def begin(launcher, servers, each, command, folder):
    """Notes what is started from here on."""
    path = os.path.join(folder, f"under-{os.getpid()}.json")
    told = {
        "launcher": launcher,
        "servers": servers,
        "each": each,
        "command": command,
        "cwd": os.getcwd(),
        "environment": dict(os.environ),
        "calls": 0,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.environ[UNDER] = path


def end():
    """What it was, at a call of Python; None: this is none of such a command. Ranks do not see it.
    """
    path = os.environ.pop(UNDER, None)
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**told, "calls": told["calls"] + 1}, file)
    return told


def answer(words):
    """Of another rank's command: whether this call is only looked at."""
    path = os.environ.get(ASKED)
    if path is None:
        return False
    call = {"words": words, "cwd": os.getcwd(), "environment": dict(os.environ)}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(call) + "\n")
    return True


def calls(told, job, ranks, folder):
    """{rank: (words, cwd, variables, None: not set)} of all but rank 0, which is this process."""
    found = {}
    for rank in ranks:
        if rank == 0:
            continue
        path = os.path.join(folder, f"asked-{os.getpid()}-{rank}")
        own = {key: str(value) for key, value in environment.of_rank(job, rank).items()}
        own = {**told["environment"], **own, ASKED: path}
        try:
            subprocess.run(
                told["command"],
                env=own,
                cwd=told["cwd"],
                stdin=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
            with open(path, encoding="utf-8") as file:
                call = json.loads(file.read().splitlines()[told["calls"]])
        except (OSError, IndexError, subprocess.TimeoutExpired):
            raise WrongWords(
                f"{told['launcher']}: {told['command'][0]} starts Python as rank 0, and not as"
                f" rank {rank}"
            ) from None
        there = call["environment"]
        differ = {
            key: there.get(key)
            for key in {*there, *os.environ}
            if key not in OWN and there.get(key) != os.environ.get(key)
        }
        found[rank] = (call["words"], call["cwd"], differ)
    return found
