# SPDX-License-Identifier: GPL-2.0-only
"""Variables of the environment that would change what a run does, and that a capture does not hear:
a note says so at the end, when the script has set its own.
"""

import os

# They change what the simulation does, given as an option: tests/system/capture/capture-settings.py
# holds them against `dltrain --help=nccl-env`.
NCCL = (
    "NCCL_ALGO",
    "NCCL_COLLNET_ENABLE",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_RETRY_CNT",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_TIMEOUT",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_NRINGS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MIN_NRINGS",
    "NCCL_NVLS_ENABLE",
    "NCCL_PAT_ENABLE",
    "NCCL_PROTO",
)
OTHERS = {
    "PYTORCH_CUDA_ALLOC_CONF": "memory is taken as by the allocator's defaults",
    "CUDA_LAUNCH_BLOCKING": "launches are not awaited",
    "NVIDIA_TF32_OVERRIDE": "TF32 is as torch.backends says",
}


def tell(device):
    for name in NCCL:
        if os.environ.get(name):
            device.note(
                f"{name}={os.environ[name]} is not heard by a capture: give the simulation"
                f" --nccl-env={name}={os.environ[name]}"
            )
    for name, why in OTHERS.items():
        if os.environ.get(name, "0") != "0":
            device.note(f"{name}={os.environ[name]} has no effect in a capture: {why}")
