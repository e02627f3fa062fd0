# SPDX-License-Identifier: GPL-2.0-only
"""What a script gets by default from this version of PyTorch, and from the other one not: a note
names it where a script relies on it.

Sources: torch/distributed/fsdp/fully_sharded_data_parallel.py, torch/optim/optimizer.py,
torch/optim/adam.py, torch/nn/utils/clip_grad.py and torch/nn/functional.py of Debian's packages of
1.13.1 and 2.6.0. (Of 1.13 only FSDP is told: docs/capture.md has the rest.)
"""

import functools
import inspect

from .imports import when_imported

OTHER = {"1": "2.6", "2": "1.13"}
# Of FullyShardedDataParallel, in 1.13 and in 2.6.
FSDP = {
    "backward_prefetch": ("None", "BACKWARD_PRE"),
    "limit_all_gathers": ("False", "True"),
}


def apply(torch, device):
    major = torch.__version__.split(".")[0]
    teller = _Teller(device, ".".join(torch.__version__.split(".")[:2]), OTHER[major])
    when_imported("torch.distributed.fsdp", lambda fsdp: _fsdp(fsdp, teller, int(major) - 1))
    if major == "2":
        _optimizers(torch, teller)
        _clipping(torch, teller)
        _attention(torch, teller)


class _Teller:
    def __init__(self, device, mine, other):
        self._device, self._mine, self._other = device, mine, other
        self._told = set()

    def tell(self, what, here, there):
        """Once for each `what`."""
        if what not in self._told:
            self._told.add(what)
            self._device.note(
                f"PyTorch {self._mine}: {what} at {self._device.source_line()}: {here}; PyTorch"
                f" {self._other}: {there}"
            )


def _fsdp(fsdp, teller, version):
    kind = fsdp.FullyShardedDataParallel
    init = kind.__init__
    known = inspect.signature(init)
    depth = [0]

    @functools.wraps(init)
    def started(self, *arguments, **options):
        # (Units are made by the outermost one, which hands its options on.)
        if depth[0] == 0:
            given = known.bind_partial(self, *arguments, **options).arguments
            left = [name for name in FSDP if name not in given]
            if left:
                told = lambda which: ", ".join(f"{name}={FSDP[name][which]}" for name in left)
                teller.tell("defaults of FSDP", told(version), told(1 - version))
        depth[0] += 1
        try:
            return init(self, *arguments, **options)
        finally:
            depth[0] -= 1

    kind.__init__ = started


def _optimizers(torch, teller):
    optimizer = torch.optim.Optimizer
    init, zero = optimizer.__init__, optimizer.zero_grad

    @functools.wraps(init)
    def started(self, params, defaults):
        init(self, params, defaults)
        if "foreach" in defaults and defaults["foreach"] is None and not defaults.get("fused"):
            teller.tell(
                "an optimizer without foreach= or fused=",
                "kernels of all parameters together (foreach)",
                "kernels of each parameter",
            )

    @functools.wraps(zero)
    def zero_grad(self, *arguments, **options):
        if not arguments and "set_to_none" not in options:
            teller.tell("zero_grad()", "frees gradients", "fills them with zeros")
        return zero(self, *arguments, **options)

    optimizer.__init__, optimizer.zero_grad = started, zero_grad


def _clipping(torch, teller):
    utils = torch.nn.utils
    clip = utils.clip_grad_norm_

    @functools.wraps(clip)
    def clipped(*arguments, **options):
        if options.get("foreach") is None:
            teller.tell(
                "clip_grad_norm_()", "kernels of all gradients together", "kernels of each gradient"
            )
        return clip(*arguments, **options)

    utils.clip_grad_norm_ = utils.clip_grad.clip_grad_norm_ = clipped


def _attention(torch, teller):
    kind = torch.nn.MultiheadAttention
    init = kind.__init__

    @functools.wraps(init)
    def started(self, *arguments, **options):
        init(self, *arguments, **options)
        teller.tell(
            "nn.MultiheadAttention",
            "one fused attention kernel, if need_weights=False (as nn.Transformer has it)",
            "single products and a softmax",
        )

    kind.__init__ = started
