# SPDX-License-Identifier: GPL-2.0-only
"""ShardedGradScaler of PyTorch 1.13 looks at gradients on the host (FSDP's CPUOffload) number by
number, in Python: minutes for a million. Here tensor by tensor.
"""


def apply(torch, device):
    try:
        from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    except ImportError:  # a PyTorch without it
        return

    def check_and_unscale(_, gradients, found_inf, inverse_scale):
        for gradient in gradients:
            if torch.isfinite(gradient).all().item():
                gradient.mul_(inverse_scale.item())
            else:
                found_inf.data = torch.tensor([1.0])

    ShardedGradScaler._foreach_non_finite_check_and_unscale_cpu_ = check_and_unscale
