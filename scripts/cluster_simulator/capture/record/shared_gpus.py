# SPDX-License-Identifier: GPL-2.0-only
"""Several ranks on one GPU (set_device(0) in all of them, the same CUDA_VISIBLE_DEVICES): what
each keeps of its memory adds up, as no process gives back what another one could use.
"""

import collections
import json

GIB = 1 << 30
# What a process takes of a GPU for CUDA's context and the kernels of its libraries, beside what
# PyTorch's allocator tells: assumed. It counts only here, where several add up.
CONTEXT_BYTES = GIB // 2


class Shared:
    """`ranks`: {rank: bytes that it reserves at most}."""

    def __init__(self, gpu, ranks, capacity):
        self.gpu, self.ranks, self.capacity = gpu, ranks, capacity

    @property
    def is_full(self):
        return sum(self.ranks.values()) + len(self.ranks) * CONTEXT_BYTES > self.capacity

    def told(self):
        ranks = sorted(self.ranks)
        words = ", ".join(map(str, ranks[:8]))
        more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
        each = [f"{self.ranks[rank] / GIB:.2f}" for rank in ranks[:8]]
        return (
            f"ranks {words}{more} of a server use the same GPU, {self.gpu}: they reserve"
            f" {' + '.join(each)}{' + ...' if more else ''} GiB, with"
            f" {CONTEXT_BYTES / GIB:.2f} GiB for each process's CUDA context (assumed)"
            f" {self.total:.2f} of its {self.capacity / GIB:.2f} GiB"
        )

    @property
    def total(self):
        return (sum(self.ranks.values()) + len(self.ranks) * CONTEXT_BYTES) / GIB


def find(records, each, capacity):
    """GPUs of servers that several ranks use; on servers after the first the same is told once.
    `each`: ranks of a server that see all its GPUs; 0: not known. `capacity`: bytes of a GPU.
    """
    users = collections.defaultdict(dict)  # (server, GPU): {rank: bytes}
    for rank, record in records.items() if each > 0 else ():
        for line in record.of_type("end")[-1:]:
            for number, size in json.loads(line.get("gpus", "{}")).items():
                visible = record.visible
                index = int(number)
                gpu = visible[index] if visible and index < len(visible) else number
                users[rank // each, gpu][rank] = size
    shared = {}
    for (_, gpu), ranks in sorted(users.items()):
        if len(ranks) > 1:
            shared.setdefault(gpu, Shared(gpu, ranks, capacity))
    return list(shared.values())
