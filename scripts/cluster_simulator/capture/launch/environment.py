# SPDX-License-Identifier: GPL-2.0-only
"""What launchers put into the environment of the processes they start."""

import json
import os
import re

# Names the folder with the programs that stand for launchers; in it a file with variables that a
# script may not drop.
PROGRAMS, SAVED = "DLTRAIN_CAPTURE_PROGRAMS", "environment.json"
PATHS = ("PATH", "PYTHONPATH")  # whose first entry is the capture's


def put_back():
    """What a script has dropped (env -i, PYTHONPATH=) is there again: without it the script would
    run without a GPU.
    """
    with open(os.path.join(os.environ.pop(PROGRAMS), SAVED), encoding="utf-8") as file:
        saved = json.load(file)
    for name, value in saved.items():
        first = value.split(os.pathsep)[0]
        if name not in os.environ:
            os.environ[name] = first if name in PATHS else value
        elif name in PATHS and first not in os.environ[name].split(os.pathsep):
            os.environ[name] = os.pathsep.join(filter(None, [first, os.environ[name]]))


def of_rank(job, rank):
    """Of a process: {variable: value}."""
    if not job.launcher:
        return {}
    server, local = divmod(rank, job.each)
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    if job.launcher == "srun":
        return _own_gpus(local) | {
            "SLURM_PROCID": rank,
            "SLURM_NTASKS": job.world,
            "SLURM_NPROCS": job.world,
            "SLURM_LOCALID": local,
            "SLURM_NODEID": server,
            "SLURM_NNODES": job.servers,
            "SLURM_NTASKS_PER_NODE": job.each,
            "SLURM_JOB_ID": 1,
            "SLURM_JOB_NODELIST": nodes(job.servers),
            "SLURM_NODELIST": nodes(job.servers),
        }
    if job.launcher == "mpirun":
        return {
            "OMPI_COMM_WORLD_RANK": rank,
            "OMPI_COMM_WORLD_SIZE": job.world,
            "OMPI_COMM_WORLD_LOCAL_RANK": local,
            "OMPI_COMM_WORLD_LOCAL_SIZE": job.each,
            "OMPI_COMM_WORLD_NODE_RANK": local,  # among all on its node
            "OMPI_UNIVERSE_SIZE": job.world,
            "PMIX_RANK": rank,
        }
    return common | {
        "RANK": rank,
        "WORLD_SIZE": job.world,
        "LOCAL_RANK": local,
        "LOCAL_WORLD_SIZE": job.each,
        "GROUP_RANK": server,
        "GROUP_WORLD_SIZE": job.servers,
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": job.world,
        "ROLE_NAME": "default",
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_RUN_ID": "none",
    }


def _own_gpus(local):
    """With --gpus-per-task a task sees its own GPUs alone, as numbers 0, 1, ..."""
    count = int(os.environ.get("SLURM_GPUS_PER_TASK", 0))
    if not count:
        return {}
    own = range(local * count, (local + 1) * count)
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, own))}


def of_allocation(servers, asked, there):
    """What a batch script sees before it starts anything: so many tasks a server, or altogether,
    where it says so (`asked`, of its #SBATCH lines), and of the server's GPUs (`there` of them)
    those that it asks for.
    """
    each, tasks, gpus = asked.get("each"), asked.get("tasks"), asked.get("gpus", there)
    told = {
        "SLURM_NTASKS_PER_NODE": each,
        "SLURM_NTASKS": tasks or (each and each * servers),
        "SLURM_NPROCS": tasks or (each and each * servers),
        "SLURM_GPUS_ON_NODE": gpus,
        "SLURM_GPUS_PER_NODE": gpus,
        "SLURM_GPUS_PER_TASK": asked.get("task_gpus"),
    }
    if gpus < there:
        told["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(gpus)))
    return {key: value for key, value in told.items() if value} | {
        "SLURM_JOB_ID": 1,
        "SLURM_NNODES": servers,
        "SLURM_JOB_NUM_NODES": servers,
        "SLURM_NODEID": 0,
        "SLURM_PROCID": 0,
        "SLURM_JOB_NODELIST": nodes(servers),
        "SLURM_NODELIST": nodes(servers),
        "SLURMD_NODENAME": "server0",
    }


def hosts(names):
    """"server[0-2]" one by one; other lists as they are."""
    found = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", names)
    if not found:
        return names.split(",")
    return [f"{found[1]}{i}" for i in range(int(found[2]), int(found[3]) + 1)]


def nodes(servers):
    return "server0" if servers == 1 else f"server[0-{servers - 1}]"
