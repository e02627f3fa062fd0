# SPDX-License-Identifier: GPL-2.0-only
"""Programs of C and C++ on simulated GPUs: libraries with the interfaces of CUDA's runtime, its
driver and NCCL, which a dynamically linked program finds in place of the real ones.

    from cluster_simulator.capture import cuda

    done = cuda.run(["mpirun", "-n", "4", "./all_reduce_perf", "-b", "8", "-e", "128M"])

The program's clock is simulated: what it measures is what collperf tells. What it issued is a
capture that dltrain takes (docs/cuda-programs.md).
"""

from .building import flags, libraries
from .elf import StaticRuntime
from .running import run, uses_cuda

__all__ = ["StaticRuntime", "flags", "libraries", "run", "uses_cuda"]
