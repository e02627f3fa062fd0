# SPDX-License-Identifier: GPL-2.0-only
"""What torch.cuda tells scripts of a GPU. Memory and multiprocessors are those of the simulator's
table (scenarios/models/gpu-zoo.cc); a driver keeps some of it for itself, which is not modelled.
"""

from ..errors import InvalidInput
from ..shown import shown

GIB = 1 << 30
# The allocator's smallest segment; more than a GPU will have for long.
LEAST_MEMORY, MOST_MEMORY = 2 << 20, 1 << 50

# name as the driver has it (assumed), GiB, compute capability, multiprocessors
TABLE = {
    "K80": ("Tesla K80", 12, (3, 7), 13),
    "TitanX-Maxwell": ("NVIDIA GeForce GTX TITAN X", 12, (5, 2), 24),
    "TitanX-Pascal": ("NVIDIA TITAN X (Pascal)", 12, (6, 1), 28),
    "P100": ("Tesla P100-SXM2-16GB", 16, (6, 0), 56),
    "V100": ("Tesla V100-SXM2-32GB", 32, (7, 0), 80),
    "V100-16GB": ("Tesla V100-SXM2-16GB", 16, (7, 0), 80),
    "A100": ("NVIDIA A100-SXM4-80GB", 80, (8, 0), 108),
    "A100-40GB": ("NVIDIA A100-SXM4-40GB", 40, (8, 0), 108),
    "T4": ("Tesla T4", 16, (7, 5), 40),
    "A10": ("NVIDIA A10", 24, (8, 6), 72),
    "A40": ("NVIDIA A40", 48, (8, 6), 84),
    "RTX-3090": ("NVIDIA GeForce RTX 3090", 24, (8, 6), 82),
    "L4": ("NVIDIA L4", 24, (8, 9), 58),
    "L40S": ("NVIDIA L40S", 48, (8, 9), 142),
    "H100": ("NVIDIA H100 80GB HBM3", 80, (9, 0), 132),
    "H200": ("NVIDIA H200", 141, (9, 0), 132),
    "B200": ("NVIDIA B200", 180, (10, 0), 148),
    "GB200": ("NVIDIA GB200", 186, (10, 0), 148),
    "B300": ("NVIDIA B300", 288, (10, 3), 148),
}


# Of a GPU that is a user's own: A100's (assumed).
OWN = (None, None, (8, 0), 108)


def told(name, memory_bytes=None, multiprocessors=None):
    """{"name", "driver_name", "memory_bytes", "major", "minor", "multiprocessors"}. A name that is
    not in the table needs its memory. Raises InvalidInput.
    """
    if memory_bytes is not None:
        whole = isinstance(memory_bytes, int) and not isinstance(memory_bytes, bool)
        if not whole or not LEAST_MEMORY <= memory_bytes <= MOST_MEMORY:
            raise InvalidInput(f"memory={shown(memory_bytes)}: allowed: 2 MiB to 1 PiB, in bytes")
    known = {key.lower(): key for key in TABLE}
    key = known.get(str(name).lower())
    if key is None and not memory_bytes:
        raise InvalidInput(f"--gpu={shown(name)}: allowed: {', '.join(TABLE)}")
    driver_name, gibibytes, (major, minor), usual = TABLE.get(key, OWN)
    key, driver_name = key or name, driver_name or f"NVIDIA {name}"
    return {
        "name": key,
        "driver_name": driver_name,
        "memory_bytes": memory_bytes or gibibytes * GIB,
        "major": major,
        "minor": minor,
        "multiprocessors": multiprocessors or usual,
    }
