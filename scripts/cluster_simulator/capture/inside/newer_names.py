# SPDX-License-Identifier: GPL-2.0-only
"""Names that scripts of today use and PyTorch 1.13 does not have, where what they do can be done
with it.
"""

import math


def apply(torch, device):
    if not hasattr(torch, "compile"):
        torch.compile = _compile(torch, device)
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_dot_product_attention"):
        functional.scaled_dot_product_attention = _attention(torch, device)
    import torch.amp
    import torch.cuda.amp

    if not hasattr(torch.amp, "GradScaler"):

        class GradScaler(torch.cuda.amp.GradScaler):
            def __init__(self, device="cuda", *arguments, **options):
                super().__init__(*arguments, **options)

        torch.amp.GradScaler = GradScaler
    if not hasattr(torch.amp, "autocast"):
        torch.amp.autocast = torch.autocast


def _compile(torch, device):
    def compile(model=None, **_):
        if model is None:
            return compile
        device.note(
            f"torch.compile at {device.source_line()}: the model is captured operator by operator,"
            " nothing is fused"
        )
        return model

    return compile


def _attention(torch, device):
    """As the documentation of PyTorch 2 defines it, in single steps."""

    def scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None
    ):
        device.note(
            f"scaled_dot_product_attention at {device.source_line()}: captured as products and a"
            " softmax, not as one fused kernel"
        )
        weights = torch.matmul(query, key.transpose(-2, -1))
        weights = weights * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
        if is_causal:
            mask = torch.ones(
                query.size(-2), key.size(-2), dtype=torch.bool, device=query.device
            ).tril()
            weights = weights.masked_fill(~mask, float("-inf"))
        if attn_mask is not None:
            weights = (
                weights.masked_fill(~attn_mask, float("-inf"))
                if attn_mask.dtype == torch.bool
                else weights + attn_mask
            )
        weights = torch.softmax(weights, dim=-1)
        if dropout_p > 0:
            weights = torch.dropout(weights, dropout_p, True)
        return torch.matmul(weights, value)

    return scaled_dot_product_attention
