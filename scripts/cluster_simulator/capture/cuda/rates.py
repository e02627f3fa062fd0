# SPDX-License-Identifier: GPL-2.0-only
"""What copies and launches take on a GPU, as the compute model has it
(scenarios/models/gpu-zoo.cc, whose sources these are; tests/system/cuda-programs.py compares).
"""

# GB/s of memory, GB/s of PCIe each way, us of a launch
TABLE = {
    "K80": (240, 15.75, 10),
    "TitanX-Maxwell": (336.5, 15.75, 10),
    "TitanX-Pascal": (480, 15.75, 10),
    "P100": (732, 15.75, 10),
    "V100": (900, 15.75, 10),
    "V100-16GB": (900, 15.75, 10),
    "A100": (2039, 31.5, 5.36),
    "A100-40GB": (1555, 31.5, 5.36),
    "T4": (320, 15.75, 10),
    "A10": (600, 31.5, 5.36),
    "A40": (696, 31.5, 5.36),
    "RTX-3090": (936, 31.5, 5.36),
    "L4": (300, 31.5, 2.15),
    "L40S": (864, 31.5, 2.15),
    "H100": (3350, 63, 5.12),
    "H200": (4800, 63, 5.12),
    "B200": (8000, 63, 5.12),
    "GB200": (8000, 0, 5.12),
    "B300": (8000, 0, 5.12),
}
# Of a host link's rate, what copies of pinned memory get (scenarios/training/host-work.h).
HOST_LINK_SHARE = 55.4 / 63


def of(name):
    """(bytes/s of memory, bytes/s to and from the host, us of a launch); 0: not known."""
    memory, link, launch = TABLE.get(name, (0, 0, 0))
    return memory * 1e9, link * 1e9 * HOST_LINK_SHARE, launch
