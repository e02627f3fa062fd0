# SPDX-License-Identifier: GPL-2.0-only
"""What captured scripts import and Debian's PyTorch does not have: one error that says what to do.
A script that tries and goes on without it still does.
"""

import importlib.abc
import importlib.util
import sys

PYTHON = "/usr/bin/python3"
INSTALL = (
    "install a version for PyTorch {version} where "
    f"{PYTHON} finds it (pip install --target=DIR, and PYTHONPATH=DIR), or write the model with"
    " torch.nn"
)
NEWER = "PyTorch 2.6 has it (Debian 13, docs/capture.md#pytorch-26)"
FSDP2 = (
    f"PyTorch 1.13 has no FSDP2; {NEWER}. Or use FullyShardedDataParallel of"
    " torch.distributed.fsdp, whose units are captured"
)
MESH = (
    f"PyTorch 1.13 has no device meshes; {NEWER}. Or make the groups with"
    " torch.distributed.new_group"
)
# (Of what a version has nobody comes here to ask.)
ADVICE = {
    "deepspeed": (
        "use FullyShardedDataParallel or ZeroRedundancyOptimizer, or simulate ZeRO without a"
        " script: dltrain --model=... --zero=3 --zero-impl=deepspeed"
    ),
    "transformers": INSTALL,
    "accelerate": INSTALL,
    "lightning": INSTALL,
    "pytorch_lightning": INSTALL,
    "timm": INSTALL,
    "apex": "use torch.cuda.amp, torch.nn.parallel and torch.nn.SyncBatchNorm",
    "flash_attn": "use torch.nn.functional.scaled_dot_product_attention, which is captured",
    "megatron": "simulate it without a script: dltrain --model=... --tp=... --pp=...",
    "bitsandbytes": INSTALL,
    "horovod": "use torch.distributed and torch.nn.parallel.DistributedDataParallel",
    "peft": INSTALL,
    "xformers": "use torch.nn.functional.scaled_dot_product_attention, which is captured",
    "torch.distributed._composable": FSDP2,  # what is in it is asked for later
    "torch.distributed.checkpoint": (
        f"PyTorch 1.13 does not have it; {NEWER}. Or write state_dict() with torch.save, one file"
        " a rank"
    ),
    "torch.distributed.pipelining": (
        f"PyTorch 1.13 has no pipelines over NCCL; {NEWER}. Or send what goes between stages with"
        " torch.distributed.send and recv, or batch_isend_irecv"
    ),
    "torch.distributed.device_mesh": MESH,
    "torch.distributed.tensor": MESH,
}


def apply(torch, device):
    sys.meta_path.append(_Finder())
    _Finder.version = ".".join(torch.__version__.split(".")[:2])
    if importlib.util.find_spec("torch.distributed.device_mesh") is not None:
        return  # then there is fully_shard, too
    import torch.distributed.fsdp as fsdp

    def attribute(name):
        if name in ("fully_shard", "FSDPModule", "MixedPrecisionPolicy"):
            raise ImportError(_text(f"torch.distributed.fsdp.{name}", FSDP2))
        raise AttributeError(f"module 'torch.distributed.fsdp' has no attribute {name!r}")

    if not hasattr(fsdp, "fully_shard"):
        fsdp.__getattr__ = attribute


def _text(name, advice):
    advice = advice.replace("{version}", _Finder.version)
    return f"{name} is not there where scripts are captured: {advice} (docs/capture.md)"


class _Finder(importlib.abc.MetaPathFinder):
    """The last one that is asked: nobody has it."""

    version = ""

    def find_spec(self, name, path, target=None):
        if name in ADVICE and not self._only_asks():
            raise ModuleNotFoundError(_text(name, ADVICE[name]), name=name)
        return None

    @staticmethod
    def _only_asks():
        """importlib.util.find_spec: whether it is there."""
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            if frame.f_globals.get("__name__") == "importlib.util":
                return True
            frame = frame.f_back
        return False
