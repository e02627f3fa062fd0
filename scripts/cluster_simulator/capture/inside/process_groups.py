# SPDX-License-Identifier: GPL-2.0-only
"""torch.distributed without a network: ranks find each other through a file, or, where they do not
all run, not at all; NCCL is the device's.
"""

import os
import time

from . import checkpoints


class Missing(RuntimeError):
    """A rank waits for others that never come."""


def apply(torch, device, given):
    import torch.distributed as distributed
    from torch.distributed import distributed_c10d

    torch._C._distributed_c10d.ProcessGroupNCCL = device.ProcessGroupNCCL
    distributed_c10d.ProcessGroupNCCL = distributed.ProcessGroupNCCL = device.ProcessGroupNCCL
    distributed_c10d._NCCL_AVAILABLE = True
    distributed_c10d.rendezvous = _rendezvous(distributed, device, given)
    distributed_c10d._store_based_barrier = _barrier(distributed_c10d, device, given)
    distributed_c10d._new_process_group_helper = _new_group(distributed_c10d, device, given)
    if hasattr(distributed_c10d, "_is_barrier_after_init"):
        _as_newer(distributed_c10d, device, given)
    if hasattr(distributed_c10d, "_create_process_group_wrapper"):
        distributed_c10d._create_process_group_wrapper = _unwrapped(distributed_c10d, device)
    os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "0")


def _rendezvous(distributed, device, given):
    def rendezvous(url, rank=-1, world_size=-1, **_):
        rank = int(os.environ.get("RANK", -1)) if rank < 0 else rank
        world = int(os.environ.get("WORLD_SIZE", -1)) if world_size < 0 else world_size
        if rank < 0 or world < 0:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment variable"
                f" {'RANK' if rank < 0 else 'WORLD_SIZE'} expected, but not set"
            )
        device.mark(
            "rank",
            {
                "rank": str(rank),
                "world": str(world),
                "visible": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
            },
        )
        tell_process(given, rank)
        if given["world"] and world != given["world"]:
            _complain(
                device,
                "world-size",
                f"rank {rank} makes a group of {world} rank{'s' * (world != 1)} at"
                f" {device.source_line()}, but {given['world']} were started",
            )
        store = (
            distributed.FileStore(given["store"], world)
            if given["all"]
            else distributed.HashStore()
        )
        yield store, rank, world

    return rendezvous


def _complain(device, kind, text):
    device.mark("mistake", {"kind": kind, "text": text})
    device.flush_record()
    raise Missing(f"capture: {text}")


def _barrier(c10d, device, given):
    """Where a group is made: all ranks come, or it is told who does not."""
    made = [0]
    asleep = (
        "did not start, or do something else: they did not compute for"
        f" {given['patience']} s (the capture's patience)"
    )

    def barrier(rank, store, *_):
        made[0] += 1
        if not given["all"]:
            return
        world = c10d._world_size if hasattr(c10d, "_world_size") else c10d.get_world_size()
        prefix = f"barrier {made[0]}"
        store.add(f"{prefix} {rank}", 1)
        missing = set(range(world))
        patience = {
            other: device.Patience(given["patience"], _process_file(given, other))
            for other in missing
        }
        pause = 0.0002
        while missing:
            ended = _ended(given)
            missing = {other for other in missing if not store.add(f"{prefix} {other}", 0)}
            gone = sorted(missing & ended)
            late = [other for other in sorted(missing) if patience[other].is_over()]
            if missing and (gone or late):
                absent = gone or late
                _complain(
                    device,
                    "missing",
                    f"rank {rank} makes group {made[0]} at {device.source_line()} and waits for"
                    f" rank{'s' if len(absent) > 1 else ''}"
                    f" {', '.join(map(str, absent))}, which"
                    f" {'ended' if gone else asleep}",
                )
            if missing:
                time.sleep(pause)
                pause = min(2 * pause, 0.05)

    return barrier


def _process_file(given, rank):
    return os.path.join(given["ended"], f"process-{rank}")


def tell_process(given, rank):
    """Whoever waits for this rank sees whether it computes (device/patience.h)."""
    if not given["all"]:
        return
    path = _process_file(given, rank)
    with open(f"{path}.part", "w", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    os.replace(f"{path}.part", path)


def _ended(given):
    return {
        int(name.split("-")[1]) for name in os.listdir(given["ended"]) if name.startswith("rank-")
    }


def _unwrapped(c10d, device):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL compares calls over a network between all ranks before each
    collective; of the device's groups that is what a capture does at its end.
    """
    wrap = c10d._create_process_group_wrapper

    def wrapped(wrapped_pg, **options):
        own = isinstance(wrapped_pg, device.ProcessGroupNCCL)
        return wrapped_pg if own else wrap(wrapped_pg=wrapped_pg, **options)

    return wrapped


def _as_newer(c10d, device, given):
    """PyTorch 2 makes a group without waiting for its ranks. Here they wait as in 1.13: a rank that
    does not come is told at once. Ranks that do not all run have no Gloo that could find them.
    """
    c10d._is_barrier_after_init = lambda: 1
    c10d.default_pg_nccl_timeout = c10d.timedelta(minutes=10)  # PyTorch 2's, ProcessGroupNCCL.hpp
    if not given["all"]:
        import torch._C._distributed_c10d as bindings

        c10d.ProcessGroupGloo = _without_gloo(bindings.FakeProcessGroup)
        checkpoints.apply(device)


def _without_gloo(fake):
    class ProcessGroupGloo(fake):
        """Its collectives do nothing."""

        def __init__(self, store, rank, size, timeout=None):
            super().__init__(rank, size)

        def _set_sequence_number_for_group(self):
            pass

    return ProcessGroupGloo


def _new_group(c10d, device, given):
    make = c10d._new_process_group_helper

    def new_group(group_size, group_rank, global_ranks, backend, *rest, **options):
        options.pop("device_id", None)  # it would be split from the world's: the same here
        made = make(group_size, group_rank, global_ranks, backend, *rest, **options)
        # (PyTorch 2: with a store; a group is made of backends, by kinds of devices.)
        group = made[0] if isinstance(made, tuple) else made
        ranks = list(global_ranks) or list(range(group_size))
        number = -1
        nccl = _nccl_of(group, device)
        if nccl is not None:
            nccl.set_ranks(ranks)
            number = nccl.number
        device.group(number, ranks, device.source_line())
        return made

    return new_group


def _nccl_of(group, device):
    """The simulated NCCL of a group; None: it has none, or this rank is not in it."""
    if isinstance(group, device.ProcessGroupNCCL):
        return group
    for kind in getattr(group, "_device_types", ()):
        backend = group._get_backend(kind)
        if isinstance(backend, device.ProcessGroupNCCL):
            return backend
    return None
