# SPDX-License-Identifier: GPL-2.0-only
"""What the words of a launcher ask for: how many processes, on how many servers, of what."""

import os
import re
from dataclasses import dataclass, field

TORCHRUN_MODULES = ("torch.distributed.run", "torch.distributed.launch")

# Options of torchrun (PyTorch 1.13 and 2) without a value; all others have one.
FLAGS = {
    "--standalone",
    "-m",
    "--module",
    "--no_python",
    "--no-python",
    "--run_path",
    "--run-path",
    "--use_env",
    "--use-env",
    "--enable_elastic_agent",
}
SRUN_COUNTS = {"-N": "nodes", "--nodes": "nodes", "-n": "tasks", "--ntasks": "tasks"}
# Options of srun with a value that may be a word of its own.
SRUN_VALUES = set("-A -c -D -J -o -e -p -t -w -x".split()) | {
    "--account",
    "--cpus-per-task",
    "--chdir",
    "--job-name",
    "--output",
    "--error",
    "--partition",
    "--time",
    "--nodelist",
    "--exclude",
    "--mem",
    "--mpi",
    "--export",
}
# How srun asks for GPUs: of a server, of a task, altogether.
SRUN_GPUS = {
    "--gpus-per-node": "node",
    "--gres": "node",
    "--gpus-per-task": "task",
    "--gpus": "all",
    "-G": "all",
}
MPIRUN_COUNTS = ("-np", "-n", "-c", "--np")
# Options of mpirun with that many values.
MPIRUN_VALUES = {
    **dict.fromkeys(["-x", "-H", "--host", "--hostfile", "-hostfile", "-N"], 1),
    **dict.fromkeys(["--map-by", "-map-by", "--bind-to", "-bind-to"], 1),
    **dict.fromkeys(["--npernode", "-npernode"], 1),
    **dict.fromkeys(["--mca", "-mca"], 2),
}


# Those with one (torch/distributed/run.py of 1.13), and what PyTorch 2 has beside them.
TORCHRUN_VALUES = set(
    "--nnodes --nproc_per_node --rdzv_backend --rdzv_endpoint --rdzv_id --rdzv_conf --max_restarts"
    " --monitor_interval --start_method --role --log_dir -r --redirects -t --tee --node_rank"
    " --master_addr --master_port --local_addr --local_ranks_filter --logs_specs"
    " --event_log_handler --numa_binding --signals_to_handle".split()
)
# As many as the simulator reads (kMostRanks of scenarios/formats/recording.h).
MOST_RANKS = 131072


class WrongWords(ValueError):
    """A launcher's words that nothing can be started from."""


@dataclass
class Job:
    """Processes of a script: `servers` x `each`."""

    servers: int = 1
    each: int = 1
    program: list = field(default_factory=list)  # the script and its arguments
    module: bool = False  # the script is a module, as of python -m
    launcher: str = "torchrun"  # whose environment the processes get; "": none, one process
    note: str = ""  # what of its words does not count

    @property
    def world(self):
        return self.servers * self.each


def _count(text, option, what="a number of processes"):
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise WrongWords(f"{option}={text}: is not {what}; allowed: 1 to {MOST_RANKS}")
    if number > MOST_RANKS:
        raise WrongWords(f"{option}={text}: allowed: 1 to {MOST_RANKS}")
    return number


def _whole(text):
    """0 of what is none: a variable that is set nowhere here."""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else 0


def torchrun(words, gpus, servers=None):
    """Words after "torchrun". `gpus`: of a server; `servers`: in place of --nnodes."""
    job = Job(servers=1, each=1)
    node = 0
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, given, value = rest.pop(0).partition("=")
        if name in FLAGS:
            job.module = job.module or name in ("-m", "--module")
            continue
        if "--" + name[2:].replace("-", "_") not in TORCHRUN_VALUES and name not in ("-r", "-t"):
            raise WrongWords(f"torchrun: {name}: is none of its options")
        if not given:
            if not rest:
                raise WrongWords(f"torchrun: {name} needs a value")
            value = rest.pop(0)
        name = name.replace("-", "_")
        if name == "__nproc_per_node":
            job.each = gpus if value in ("gpu", "auto") else _count(value, "--nproc_per_node")
        elif name == "__nnodes":
            # elastic: MIN:MAX; as many as may be
            job.servers = _count(value.split(":")[-1], "--nnodes", "a number of servers")
            if _whole(value.split(":")[0]) > job.servers:
                raise WrongWords(f"--nnodes={value}: allowed: MIN:MAX with MIN at most MAX")
        elif name == "__master_port" and not 0 <= _whole(value) < 65536:
            raise WrongWords(f"--master_port={value}: is no port; allowed: 0 to 65535")
        elif name == "__node_rank":
            node = _whole(value)
    if not rest:
        raise WrongWords("torchrun: no script is named")
    if not servers and not 0 <= node < job.servers:
        raise WrongWords(
            f"--node_rank={node}: of {job.servers} servers (--nnodes); allowed: 0 to"
            f" {job.servers - 1}"
        )
    if servers:
        if servers != job.servers:
            job.note = (
                f"torchrun starts {job.each} processes on each of {servers} servers, as the cluster"
                f" has them (its own words: {job.servers})"
            )
        job.servers = servers
    job.program = rest
    return job


def srun(words, gpus, servers=None):
    """Words after "srun": (servers, tasks on each, the command). GPUs that it asks for are put into
    the environment, as the allocation's are.
    """
    counts, asked = {}, {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, given, value = rest.pop(0).partition("=")
        if len(name) > 2 and name[1] != "-" and not given:  # -N16
            name, given, value = name[:2], "=", name[2:]
        needs = name in {*SRUN_COUNTS, *SRUN_VALUES, *SRUN_GPUS, "--ntasks-per-node"}
        if needs and not given:
            if not rest:
                raise WrongWords(f"srun: {name} needs a value")
            value = rest.pop(0)
        if name in SRUN_COUNTS:
            counts[SRUN_COUNTS[name]] = _count(value, f"srun: {name}")
        elif name == "--ntasks-per-node":
            counts["each"] = _count(value, f"srun: {name}")
        elif name in SRUN_GPUS:
            number = _gpus(value, name == "--gres")
            if number is not None:
                asked[SRUN_GPUS[name]] = (number, f"srun: {name}={value}")
    if not rest:
        raise WrongWords("srun: no command is named")
    # What the words do not say the allocation does.
    def allocated(name):
        text = os.environ.get(f"SLURM_{name}", "")
        return int(text) if text.isdigit() else None

    nodes = servers or counts.get("nodes") or allocated("NNODES") or 1
    each = counts.get("each")
    if each is None and "tasks" in counts:
        each = max(counts["tasks"] // nodes, 1)
    if each is None:
        each = allocated("NTASKS_PER_NODE") or max((allocated("NTASKS") or nodes) // nodes, 1)
    _see(asked, nodes, each, gpus)
    return nodes, each, rest


def _gpus(text, is_list):
    """Of "gpu:a100:4,nvme:1" (a list), "a100:4" and "4"; None: no GPUs."""
    for one in text.split(",") if is_list else [text]:
        if not is_list or one.partition(":")[0] == "gpu":
            last = re.findall(r"\d+$", one.rpartition(":")[2])
            return int(last[0]) if last else 1
    return None


def _see(asked, nodes, each, gpus):
    """What tasks see of a server's GPUs (`gpus` of them), of what srun asks for."""
    for kind, (number, told) in asked.items():
        needed = {"node": number, "task": number * each, "all": -(-number // nodes)}[kind]
        if needed > gpus:
            raise WrongWords(
                f"{told}: are {needed} GPUs of a server, which has {gpus} for it"
                " (--gpus-per-server, #SBATCH lines, CUDA_VISIBLE_DEVICES)"
            )
        if kind == "task":
            os.environ["SLURM_GPUS_PER_TASK"] = str(number)
        elif needed < gpus:
            own = os.environ.get("CUDA_VISIBLE_DEVICES")
            there = own.split(",") if own else [str(i) for i in range(gpus)]
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(there[:needed])


def mpirun(words, gpus, servers=None):
    """Words after "mpirun": (servers, tasks on each, the command)."""
    tasks = None
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name = rest.pop(0)
        if name in MPIRUN_COUNTS:
            if not rest:
                raise WrongWords(f"mpirun: {name} needs a value")
            tasks = _count(rest.pop(0), f"mpirun: {name}")
        else:
            del rest[: MPIRUN_VALUES.get(name, 0)]
    if not rest:
        raise WrongWords("mpirun: no command is named")
    tasks = tasks or (servers or 1) * gpus
    each = min(tasks, gpus)
    if tasks % each:
        raise WrongWords(f"mpirun: {tasks} processes do not fill servers of {each} GPUs evenly")
    return tasks // each, each, rest


def python(words):
    """Words after "python": ("torchrun", its words), ("script", words) or ("other", words)."""
    rest = list(words)
    options = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        option = rest.pop(0)
        options.append(option)
        if option in ("-W", "-X") and rest:
            options.append(rest.pop(0))
    if rest[:1] == ["-m"] and len(rest) > 1:
        if rest[1] in TORCHRUN_MODULES:
            return "torchrun", rest[2:]
        return "module", rest[1:]
    if rest and not rest[0].startswith("-"):
        return "script", rest
    return "other", options + rest
