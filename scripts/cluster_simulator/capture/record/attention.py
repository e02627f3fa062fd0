# SPDX-License-Identifier: GPL-2.0-only
"""Attention in one kernel: as ../inside/fused_kernels.py records it on PyTorch 1.13, and by the
operators of PyTorch 2.
"""

import math

from . import raw
from .memory import in_memory


def kernel(which, tensors, causal, inputs, results):
    """FLOPs as FlashAttention's own benchmark counts them (Dao-AILab/flash-attention@0469c72
    benchmarks/benchmark_flash_attention.py): forward a product for the scores and one for their sum
    of values; backward 2.5 times that, as it computes the scores anew; causal: half of both.
    """
    query, key, value = tensors
    queries, size = query.sizes[-2:]
    keys = key.sizes[-2]
    heads = math.prod(query.sizes[:-2])
    shape = {"heads": heads, "queries": queries, "keys": keys, "head_size": size}
    if value.sizes[-1] != size:
        shape["value_size"] = value.sizes[-1]
    flops = 2 * heads * queries * keys * (size + value.sizes[-1])
    if which == "backward":
        flops = flops * 5 // 2
    if causal:
        flops //= 2
    return in_memory("attention", inputs, results, **shape, causal=causal, flops=flops) | {
        "pass": which
    }


def plain(arguments, results):
    tensors, (causal,) = arguments
    return [kernel("forward", tensors[:3], bool(causal), tensors, results)]


def plain_backward(arguments, results):
    tensors, (causal,) = arguments
    return [kernel("backward", tensors[1:4], bool(causal), tensors, results)]


def of_pytorch_2(arguments, results):
    """_scaled_dot_product_flash_attention(query, key, value, dropout, causal, ...), and
    efficient_attention(query, key, value, bias, log_sumexp, dropout, causal), of PyTorch 2.
    """
    efficient = isinstance(arguments[3], raw.Tensor) or arguments[3] is None
    causal = arguments[6] if efficient else arguments[4]
    inputs = [one for one in arguments[:4] if isinstance(one, raw.Tensor)]
    return [kernel("forward", arguments[:3], bool(causal), inputs, results[:2])]


def of_pytorch_2_backward(arguments, results):
    """(gradient, query, key, value, out, log_sumexp, two of sequences and their sizes, dropout,
    causal, ...), and of efficient_attention (gradient, query, key, value, bias, out, log_sumexp,
    seed, offset, dropout, mask, causal): causal stands at the same place.
    """
    inputs = [one for one in arguments[:7] if isinstance(one, raw.Tensor)]
    return [kernel("backward", arguments[1:4], bool(arguments[11]), inputs, results)]
