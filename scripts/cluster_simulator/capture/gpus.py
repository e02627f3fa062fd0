# SPDX-License-Identifier: GPL-2.0-only
"""What torch.cuda tells scripts of a GPU. Memory and multiprocessors are those of the simulator's
table (scenarios/zoo/gpus.json); a driver keeps some of it for itself, which is not modelled.
"""

from ..errors import InvalidInput
from ..shown import shown
from ..zoo import GPUS

GIB = 1 << 30
# The allocator's smallest segment; more than a GPU will have for long.
LEAST_MEMORY, MOST_MEMORY = 2 << 20, 1 << 50

# GPUs whose driver's name is known
TABLE = {name: gpu for name, gpu in GPUS.items() if "driver_name" in gpu}
# Of a GPU that is a user's own: A100's (assumed).
OWN = {"compute_capability": (8, 0), "multiprocessors": 108}


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
    gpu = TABLE.get(key, OWN)
    major, minor = gpu["compute_capability"]
    return {
        "name": key or name,
        "driver_name": gpu.get("driver_name", f"NVIDIA {name}"),
        "memory_bytes": memory_bytes or gpu["memory_GB"] * GIB,
        "major": major,
        "minor": minor,
        "multiprocessors": multiprocessors or gpu["multiprocessors"],
    }
