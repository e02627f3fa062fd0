# SPDX-License-Identifier: GPL-2.0-only
"""What copies and launches take on a GPU, as the compute model has it (scenarios/zoo/gpus.json)."""

from ...zoo import GPUS

# Of a host link's rate, what copies of pinned memory get (scenarios/training/host-work.h).
HOST_LINK_SHARE = 55.4 / 63


def of(name):
    """(bytes/s of memory, bytes/s to and from the host, us of a launch); 0: not known."""
    gpu = GPUS.get(name)
    if gpu is None:
        return 0, 0, 0
    link = gpu["host_link_GBps"] * 1e9 * HOST_LINK_SHARE
    return gpu["memory_bandwidth_GBps"] * 1e9, link, gpu["launch_us"]
