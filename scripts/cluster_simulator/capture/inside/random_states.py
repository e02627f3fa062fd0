# SPDX-License-Identifier: GPL-2.0-only
"""States of GPUs' generators as CUDA has them: 8 bytes of the seed, 8 of an offset. Device meshes
of PyTorch 2 read and set the offset (torch/distributed/tensor/_random.py). What is drawn comes from
a generator of the CPU, whose states are kept here by these 16 bytes.
"""

import collections
import functools
import struct

# States are of 5 KB. Older ones are drawn anew from their number.
MOST_KEPT = 256
STEP = 4  # an offset of Philox counts by fours
MASK = (1 << 64) - 1


def apply(torch, device):
    if not hasattr(torch._C.Stream, "stream_id"):
        return  # PyTorch 1.13: a script can only give back what it got
    states = {}

    def of(where):
        where = torch.device("cuda", where) if isinstance(where, int) else torch.device(where)
        number = torch.cuda.current_device() if where.index is None else where.index
        if number not in states:
            states[number] = _States(torch, torch.cuda.default_generators[number])
        return states[number]

    random = torch.cuda.random

    @functools.wraps(random.get_rng_state)
    def get_rng_state(device="cuda"):
        torch.cuda._lazy_init()
        return of(device).get()

    @functools.wraps(random.set_rng_state)
    def set_rng_state(new_state, device="cuda"):
        torch.cuda._lazy_init()
        of(device).set(new_state)

    for owner in (random, torch.cuda):
        owner.get_rng_state, owner.set_rng_state = get_rng_state, set_rng_state


class _States:
    """Of one generator."""

    def __init__(self, torch, generator):
        self._torch, self._generator = torch, generator
        self._kept = collections.OrderedDict()  # (seed, offset): the CPU's state
        self._latest = None  # the key of what was got or set last
        self._offset = 0

    def get(self):
        now = self._generator.get_state()
        known = self._kept.get(self._latest)
        if known is None or not self._torch.equal(known, now):
            self._offset += STEP
            self._keep((self._generator.initial_seed() & MASK, self._offset), now)
        return self._torch.tensor(list(struct.pack("<QQ", *self._latest)), dtype=self._torch.uint8)

    def set(self, state):
        key = struct.unpack("<QQ", bytes(state.cpu().tolist()))
        if key in self._kept:
            self._generator.set_state(self._kept[key])
        else:
            self._generator.manual_seed((key[0] + key[1] * 0x9E3779B97F4A7C15) & MASK)
        self._offset = max(self._offset, key[1] & (MASK >> 1))
        self._keep(key, self._generator.get_state())

    def _keep(self, key, state):
        self._latest = key
        self._kept[key] = state
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
