# SPDX-License-Identifier: GPL-2.0-only
"""Capture: a user's own training script, unmodified, on GPUs that are not there.

    from cluster_simulator.capture import capture

    captured = capture(["torchrun", "--nproc_per_node=8", "train.py"], out="captured")
    captured.meta["steps"], captured.mistakes, captured.tasks(rank=0)

The script runs with Debian's CPU-only PyTorch, in which torch.cuda and NCCL are simulated:
operators have shapes and no values, collectives are recorded. What comes out is a folder that the
simulator reads (docs/capture-format.md).
"""

from .captured import Captured, CaptureFailed
from .capturing import capture
from .installing import NotInstalled, set_up

__all__ = ["CaptureFailed", "Captured", "NotInstalled", "capture", "set_up"]
