# SPDX-License-Identifier: GPL-2.0-only
"""Prepares torch in a captured process. DLTRAIN_CAPTURE is a JSON object, by ../launch/:

    extension   path of the built device
    gpus        GPUs that a process sees
    gpu         as ../gpus.py tells it
    raw         folder for raw records
    folder      the script's folder: lines are told relative to it
    steps       steps after which a script is ended; 0: never
    step        what ends a step, if a user says so; "": an optimizer
    progress    file that gets a byte for each step of a rank; absent: none
    all         whether all ranks run at the same time, and tell each other values
    store       file through which they do
    ended       folder with a file "rank-N" for each rank that ended; "process-N" has its number
    patience    seconds that a rank waits for another one that does not compute
    world       ranks that the launcher starts, 0: it does not say
    measures    whether operators are told with the program's time before them
    forks       true: this process is no rank, and forks those that are
"""

import atexit
import importlib
import importlib.util
import json
import multiprocessing
import os
import sys

from . import forks, process_groups, step_mark, unheard_settings

RANK_IS = "DLTRAIN_CAPTURE_RANK_IS"  # number of the process that has the rank's record
_finished = set()  # processes whose record has its end
# Files beside this one.
PARTS = (
    "graphs",
    "data_parallel",
    "distributions",
    "random_states",
    "fused_kernels",
    "tensor_types",
    "newer_names",
    "optimizers",
    "newer_distributed",
    "progress_bars",
    "passes",
    "fsdp_order",
    "missing_packages",
    "unused_parameters",
    "host_gradients",
    "not_simulated",
    "saved_files",
    "logs",
    "versions",
)


def load_extension(path):
    spec = importlib.util.spec_from_file_location("capture_device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["capture_device"] = module
    return module


def apply(torch):
    given = json.loads(os.environ["DLTRAIN_CAPTURE"])
    device = load_extension(given["extension"])
    with _Quiet():
        device.start(given["gpus"], given["gpu"]["memory_bytes"], given["gpu"]["major"])
    from . import cuda_bindings, repairs, step_limit

    repairs.apply()
    cuda_bindings.apply(torch, device, given["gpu"])
    process_groups.apply(torch, device, given)
    for name in PARTS:
        importlib.import_module(f".{name}", __package__).apply(torch, device)
    if not given["step"]:
        step_limit.apply(torch, device, *_limits(given))
    if not given.get("forks"):
        begin(device, given)


def _limits(given):
    """Steps, the file that counts them, seconds that may pass behind the last one (0: any)."""
    patience = 0 if given.get("network") else given["patience"]
    return given["steps"], given.get("progress", ""), patience


def begin(device, given):
    """This process is one of the job. A rank of a launcher is known by its number; a process that a
    script spawns by its own, until it says its rank.
    """
    device.begin_process()
    device.set_script_folder(os.path.join(given["folder"], ""))
    device.set_exchange(given["all"], given["ended"], given["patience"])
    rank = os.environ.get("RANK")
    spawned = multiprocessing.parent_process() is not None
    # What a rank starts as a program of its own has the rank's environment.
    spawned = spawned or os.environ.get(RANK_IS, str(os.getpid())) != str(os.getpid())
    os.environ[RANK_IS] = str(os.getpid())
    if rank is not None and not spawned:
        process_groups.tell_process(given, rank)

    def open_record(name=None):
        name = name or f"process-{os.getpid()}"
        device.open_record(os.path.join(given["raw"], f"{name}.jsonl"))
        atexit.register(finish, device, os.getpid())

    open_record(f"rank-{rank}" if rank is not None and not spawned else None)
    forks.watch(device, open_record, finish)
    if given["measures"]:
        device.measure_program()
    if given["step"]:
        step_mark.apply(device, given["step"], *_limits(given))


def finish(device, process):
    if process != os.getpid() or process in _finished:
        return  # a fork of it; or a process of multiprocessing, which ends twice
    _finished.add(process)
    unheard_settings.tell(device)
    gpus = {number: device.memory(number) for number in range(device.device_count())}
    peaks = {number: one["reserved_bytes"]["peak"] for number, one in gpus.items()}
    most = max(peaks, key=peaks.get, default=None)
    levels = ("allocated_bytes", "reserved_bytes")
    peak = {level: gpus[most][level]["peak"] if gpus else 0 for level in levels}
    device.mark(
        "end",
        {
            "allocated": str(peak["allocated_bytes"]),
            "reserved": str(peak["reserved_bytes"]),
            "gpus": json.dumps({number: size for number, size in peaks.items() if size}),
        },
    )
    device.flush_record()


class _Quiet:
    """PyTorch warns of kernels of the host that are replaced on purpose, past Python's streams."""

    def __enter__(self):
        sys.stderr.flush()
        self.before = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def __exit__(self, *_):
        os.dup2(self.before, 2)
        os.close(self.before)
