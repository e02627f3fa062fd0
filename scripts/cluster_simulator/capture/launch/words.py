# SPDX-License-Identifier: GPL-2.0-only
"""What the words of a launcher ask for: how many processes, on how many servers, of what."""

import ast
import os
import re
import sys
from dataclasses import dataclass, field

from .counts import WrongWords, count

TORCHRUN = "torch.distributed.run"
LEGACY = "torch.distributed.launch"  # gives each process --local_rank, without --use_env

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
SRUN_EACH = {"--ntasks-per-node": "each", "--ntasks-per-gpu": "of_gpu"}
# Options of srun with a value that may be a word of its own, and without one (SchedMD/slurm
# src/srun/opt.c, its --help, and the manual page of what came later). Plugins have more of them:
# these are taken with their value behind a "=".
SRUN_VALUES = {
    *(f"-{letter}" for letter in "ABcCdDeiJLmopqrtTwWx"),
    *(
        f"--{name}"
        for name in (
            "account extra-node-info cpus-per-task constraint dependency chdir error input job-name"
            " licenses distribution output partition qos relative time threads nodelist wait"
            " exclude begin comment core epilog jobid mail-type mail-user mem mem-per-cpu"
            " mem-per-gpu mem-per-task mincpus mpi network ntasks-per-core ntasks-per-socket"
            " prolog reservation slurmd-debug sockets-per-node cores-per-socket threads-per-core"
            " task-epilog task-prolog tmp cpu-bind cpu_bind gpu-bind mem-bind mem_bind hint signal"
            " open-mode cpus-per-gpu gpus-per-socket gpu-freq cpu-freq export nodefile uid gid"
            " accel-bind acctg-freq profile wckey"
        ).split()
    ),
}
SRUN_FLAGS = {
    *(f"-{letter}" for letter in "EHIkKlOQsuvXZ"),
    *(
        f"--{name}"
        for name in (
            "preserve-env hold immediate no-kill kill-on-bad-exit label overcommit propagate pty"
            " quiet share oversubscribe unbuffered verbose disable-status contiguous no-allocate"
            " exclusive exact overlap resv-ports nice use-min-nodes spread-job"
            " quit-on-interrupt test-only whole"
        ).split()
    ),
}
# How srun asks for GPUs: of a server, of a task, altogether.
SRUN_GPUS = {
    "--gpus-per-node": "node",
    "--gres": "node",
    "--gpus-per-task": "task",
    "--gpus": "all",
    "-G": "all",
}


# Those with one (torch/distributed/run.py of 1.13), and what PyTorch 2 has beside them.
TORCHRUN_VALUES = set(
    "--nnodes --nproc_per_node --rdzv_backend --rdzv_endpoint --rdzv_id --rdzv_conf --max_restarts"
    " --monitor_interval --start_method --role --log_dir -r --redirects -t --tee --node_rank"
    " --master_addr --master_port --local_addr --local_ranks_filter --logs_specs"
    " --event_log_handler --numa_binding --signals_to_handle".split()
)
@dataclass
class Job:
    """Processes of a script: `servers` x `each`."""

    servers: int = 1
    each: int = 1
    program: list = field(default_factory=list)  # the script and its arguments
    module: bool = False  # the script is a module, as of python -m
    launcher: str = "torchrun"  # whose environment the processes get; "": none, one process
    note: str = ""  # what of its words does not count
    code: str = None  # of python -c, or of its standard input, in place of a script's file
    asked: int = 1  # torchrun: servers by its own words
    tells_rank: bool = False  # each process gets --local_rank=N in front of the script's arguments

    @property
    def world(self):
        return self.servers * self.each


def _whole(text):
    """0 of what is none: a variable that is set nowhere here."""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else 0


def torchrun(words, gpus, servers=None, legacy=False):
    """Words after "torchrun". `gpus`: of a server; `servers`: in place of --nnodes; `legacy`: of
    torch.distributed.launch.
    """
    job = Job(servers=1, each=1, tells_rank=legacy)
    node, least, standalone = 0, 1, False
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, given, value = rest.pop(0).partition("=")
        if name in FLAGS:
            job.module = job.module or name in ("-m", "--module")
            standalone = standalone or name == "--standalone"
            job.tells_rank = job.tells_rank and name not in ("--use_env", "--use-env")
            continue
        if "--" + name[2:].replace("-", "_") not in TORCHRUN_VALUES and name not in ("-r", "-t"):
            raise WrongWords(f"torchrun: {name}: is none of its options")
        if not given:
            if not rest:
                raise WrongWords(f"torchrun: {name} needs a value")
            value = rest.pop(0)
        name = name.replace("-", "_")
        if name == "__nproc_per_node":
            job.each = (
                gpus
                if value in ("gpu", "auto")
                else count(value, "--nproc_per_node", names="gpu, auto, ")
            )
        elif name == "__nnodes":
            # elastic: MIN:MAX; as many as may be
            first, *last = value.split(":")
            least = count(first, "--nnodes", "a number of servers")
            job.servers = count(last[0], "--nnodes", "a number of servers") if last else least
            if least > job.servers or len(last) > 1:
                raise WrongWords(f"--nnodes={value}: allowed: N, or MIN:MAX with MIN at most MAX")
            if least < job.servers:
                job.note = f"torchrun --nnodes={value} runs on {job.servers} servers"
        elif name == "__master_port" and not 0 <= _whole(value) < 65536:
            raise WrongWords(f"--master_port={value}: is no port; allowed: 0 to 65535")
        elif name == "__node_rank":
            node = _whole(value)
    if not rest:
        raise WrongWords("torchrun: no script is named")
    if standalone and not servers:
        # Its servers meet at "localhost" (torch/distributed/run.py), where no other one comes.
        if least > 1:
            raise WrongWords(
                f"torchrun --standalone is of one server, and --nnodes says {least}: it would wait"
                " for the others for ever; allowed: --nnodes=1, or --rdzv_backend=c10d"
                " --rdzv_endpoint=HOST:PORT in place of --standalone"
            )
        job.servers, job.note = 1, ""
    if not servers and not 0 <= node < job.servers:
        raise WrongWords(
            f"--node_rank={node}: of {job.servers} servers (--nnodes); allowed: 0 to"
            f" {job.servers - 1}"
        )
    job.asked = job.servers
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
        needs = name in {*SRUN_COUNTS, *SRUN_VALUES, *SRUN_GPUS, *SRUN_EACH}
        if needs and not given:
            if not rest:
                raise WrongWords(f"srun: {name} needs a value")
            value = rest.pop(0)
        if name in SRUN_COUNTS:
            # "2-4": at least and at most; as many as may be
            number = value.rpartition("-")[2] if re.fullmatch(r"\d+-\d+", value) else value
            counts[SRUN_COUNTS[name]] = count(number, f"srun: {name}")
        elif name in SRUN_EACH:
            counts[SRUN_EACH[name]] = count(value, f"srun: {name}")
        elif name in SRUN_GPUS:
            number = _gpus(value, name == "--gres")
            if number is not None:
                asked[SRUN_GPUS[name]] = (number, f"srun: {name}={value}")
        elif name == "--multi-prog":
            raise WrongWords("srun: --multi-prog: several programs; allowed: one")
        elif not given and not needs and name not in SRUN_FLAGS:
            raise WrongWords(
                f"srun: {name}: is no option that is known here; one of a plugin: {name}=VALUE"
            )
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
    if each is None and "of_gpu" in counts:
        of_node, everywhere = asked.get("node", [gpus])[0], asked.get("all")
        each = counts["of_gpu"] * (-(-everywhere[0] // nodes) if everywhere else of_node)
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


def python(words):
    """Words after "python": ("torchrun" or "legacy", its words), ("script" or "module", words),
    ("code", ["-c", code, arguments ...]), ("stdin", ["-", arguments ...]) or ("other", words).
    """
    rest = list(words)
    options = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        option = rest.pop(0)
        options.append(option)
        if option in ("-W", "-X") and rest:
            options.append(rest.pop(0))
    if rest[:1] == ["-m"] and len(rest) > 1:
        if rest[1] in (TORCHRUN, LEGACY):
            return "legacy" if rest[1] == LEGACY else "torchrun", rest[2:]
        return "module", rest[1:]
    if rest[:1] == ["-c"] and len(rest) > 1:
        return "code", rest
    if rest[:1] == ["-"] or not words:
        return "stdin", rest or [""]
    if rest and not rest[0].startswith("-"):
        return "script", rest
    return "other", options + rest


def may_use_torch(code):
    """Not what a script computes a number with: whether it imports what is not Python's own. (What
    is no Python runs as it is: Python says why.)
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return any(name.partition(".")[0] not in sys.stdlib_module_names for name in names)
