# SPDX-License-Identifier: GPL-2.0-only
"""FullyShardedDataParallel of PyTorch 1.13 compares in its first step, for each unit, what all
pairs of ranks gather, a kernel and a copy from the GPU a pair: of 128 ranks 8,128 of each a unit,
of 3,072 some five million. Here the values come from the GPU once, and are compared on the CPU.
"""

import itertools

# Of fewer ranks nobody has to be told.
MOST_UNSAID = 16


def apply(torch, device):
    try:
        import torch.distributed.fsdp.fully_sharded_data_parallel as fsdp
    except ImportError:  # a PyTorch without it
        return
    fsdp.itertools = _Itertools(torch, device)


class _Itertools:
    """What that module calls itertools."""

    def __init__(self, torch, device):
        self._torch, self._device = torch, device

    def __getattr__(self, name):
        return getattr(itertools, name)

    def combinations(self, items, size):
        items = list(items)
        if size == 2 and items and all(self._is_of_rank(item) for item in items):
            if len(items) > MOST_UNSAID:
                self._device.note(
                    "FSDP's check of the first step, that all ranks gather the same parameters, is"
                    " made at once and not pair by pair"
                )
            values = self._torch.stack([value for _, value in items]).tolist()
            items = [(rank, value) for (rank, _), value in zip(items, values)]
            if all(value == values[0] for value in values):
                return iter(())
        return itertools.combinations(items, size)

    def _is_of_rank(self, item):
        return (
            isinstance(item, tuple)
            and len(item) == 2
            and isinstance(item[1], self._torch.Tensor)
        )
