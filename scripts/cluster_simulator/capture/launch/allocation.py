# SPDX-License-Identifier: GPL-2.0-only
"""What a cluster has beside launchers: the allocation of a batch script (#SBATCH lines), scontrol,
nvidia-smi; and which GPUs a process may see.
"""

import os
import re
import shlex

from . import environment

SBATCH = re.compile(r"#SBATCH\s+(.*)")
OPTION = re.compile(r"(--[\w-]+)(?:=(.*))?|(-[A-Za-z])=?(.*)", re.DOTALL)
# Of values such as "2", "2-4" (at least, at most) and "gpu:a100:4" the last number counts.
COUNTS = {
    "-N": "servers",
    "--nodes": "servers",
    "-n": "tasks",
    "--ntasks": "tasks",
    "--ntasks-per-node": "each",
    "--gpus-per-node": "gpus",
    "--gpus": "all_gpus",
    "-G": "all_gpus",
    "--gpus-per-task": "task_gpus",
}
# Fields of nvidia-smi --query-gpu, of the GPU with a number.
QUERIES = {
    "index": lambda gpu, i: i,
    "name": lambda gpu, i: gpu["driver_name"],
    "gpu_name": lambda gpu, i: gpu["driver_name"],
    "uuid": lambda gpu, i: _uuid(i),
    "count": lambda gpu, i: gpu["count"],
    "memory.total": lambda gpu, i: f"{gpu['memory_bytes'] >> 20} MiB",
    "memory.free": lambda gpu, i: f"{gpu['memory_bytes'] >> 20} MiB",
    "memory.used": lambda gpu, i: "0 MiB",
    "utilization.gpu": lambda gpu, i: "0 %",
    "compute_cap": lambda gpu, i: f"{gpu['major']}.{gpu['minor']}",
}


def of_script(path, servers, gpus):
    """{"servers", "tasks", "each", "gpus", "task_gpus"} of the #SBATCH lines of a batch script,
    those that are there. As sbatch does, lines behind the first command do not count. `servers`: in
    place of theirs, 0: none; `gpus`: of a server.
    """
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                text = line.strip()
                if text and not text.startswith("#"):
                    break
                match = SBATCH.match(text)
                for name, value in _options(match[1]) if match else ():
                    if name in COUNTS:
                        _take(found, COUNTS[name], value)
                    elif name == "--gres":
                        # A list: "gpu:a100:4,nvme:1".
                        for one in value.split(","):
                            if one.partition(":")[0] == "gpu":
                                _take(found, "gpus", one if ":" in one else "1")
    except OSError:
        pass
    return _with_gpus(found, servers, gpus)


def _options(text):
    """(name, value) of each option of a line: "-J gpt -N2 --nodes=2 --time 1:00:00". Of one without
    a value the next word begins with - as well.
    """
    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # a quotation that does not end
        words = text.split()
    for i, word in enumerate(words):
        option = OPTION.fullmatch(word)
        if option:
            value = option[2] if option[1] else option[4] or None
            behind = words[i + 1] if value is None and i + 1 < len(words) else ""
            yield option[1] or option[3], value if value is not None else behind


def _take(found, key, text):
    numbers = re.findall(r"\d+", text.rpartition(":")[2])
    if numbers:
        found[key] = int(numbers[-1])


def _with_gpus(found, servers, there):
    """GPUs of a server, however the script asks for them."""
    all_gpus, of_task = found.pop("all_gpus", None), found.get("task_gpus")
    if all_gpus and not servers and "servers" not in found:
        found["servers"] = -(-all_gpus // there)  # as many as these need
    servers = servers or found.get("servers", 1)
    tasks = found.get("each") or -(-found.get("tasks", servers) // servers)
    if "gpus" not in found and all_gpus:
        found["gpus"] = -(-all_gpus // servers)
    if "gpus" not in found and of_task:
        found["gpus"] = of_task * tasks
    return found


def scontrol(arguments):
    """(status, output, errors): show hostnames."""
    if arguments[:2] in (["show", "hostnames"], ["show", "hostname"]):
        names = arguments[2] if len(arguments) > 2 else os.environ.get("SLURM_JOB_NODELIST")
        if not names:
            return 1, "", (
                "scontrol: there is no allocation; --servers=N says how many servers there are, or"
                " #SBATCH --nodes=N in the script"
            )
        return 0, "\n".join(environment.hosts(names)), ""
    return 1, "", f"scontrol {' '.join(arguments)}: only 'show hostnames' is there"


def nvidia_smi(arguments, gpu, count):
    """(status, output, errors) of what scripts ask of it."""
    gpu = {**gpu, "count": count}
    query = next((a for a in arguments if a.startswith("--query-gpu=")), None)
    if "-L" in arguments or "--list-gpus" in arguments:
        lines = [f"GPU {i}: {gpu['driver_name']} (UUID: {_uuid(i)})" for i in range(count)]
        return 0, "\n".join(lines), ""
    if query:
        fields = query.partition("=")[2].split(",")
        unknown = [field for field in fields if field.strip() not in QUERIES]
        if unknown:
            return 2, "", f"nvidia-smi: {unknown[0]}: allowed: {', '.join(QUERIES)}"
        form = next((a for a in arguments if a.startswith("--format=")), "--format=csv")
        rows = [
            ", ".join(str(QUERIES[field.strip()](gpu, i)) for field in fields)
            for i in range(count)
        ]
        if "nounits" in form:
            rows = [re.sub(r" (MiB|%)(?=,|$)", "", row) for row in rows]
        head = [] if "noheader" in form else [", ".join(field.strip() for field in fields)]
        return 0, "\n".join(head + rows), ""
    if not arguments:
        size = gpu["memory_bytes"] >> 20
        rows = [f"| {i}  {gpu['driver_name']}  0 / {size} MiB |" for i in range(count)]
        return 0, "\n".join(rows), ""
    return 2, "", f"nvidia-smi {' '.join(arguments)}: only -L and --query-gpu are there"


def _uuid(number):
    return f"GPU-00000000-0000-0000-0000-{number:012d}"


def visible(gpus):
    """How many of a server's GPUs CUDA_VISIBLE_DEVICES leaves, as device/device.cc counts."""
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    if told is None:
        return gpus
    count = 0
    for entry in told.split(","):
        entry = entry.strip()
        named = entry.startswith(("GPU-", "MIG-"))
        if count == gpus or not (named or (entry.isdigit() and int(entry) < gpus)):
            break
        count += 1
    return count
