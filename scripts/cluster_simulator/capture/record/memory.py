# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that reads its arguments and writes its results, once each: what moves, and its type."""

from . import raw


def once(tensors):
    """Bytes of tensors on the GPU; two that begin at the same place count once. (Parts of one, as
    the thirds of a product and gradients in a bucket, begin at different ones.)
    """
    largest = {}
    for tensor in tensors:
        if tensor.on_gpu:
            place = tensor.storage, tensor.offset
            largest[place] = max(largest.get(place, 0), tensor.bytes)
    return sum(largest.values())


def dtype_of(*groups):
    """Of the first tensor with numbers; half precision's statistics are single."""
    first = None
    for group in groups:
        for tensor in raw.tensors(group):
            if tensor.dtype.startswith(("f", "b")) and tensor.dtype != "bool":
                return tensor.dtype
            first = first or tensor.dtype
    return first


def in_memory(kind, arguments, results, **more):
    written = list(raw.tensors(results))
    if not written and arguments:
        written = list(raw.tensors(arguments[:1]))  # in place, and returns nothing
    kernel = {
        "kind": kind,
        "read": once(raw.tensors(arguments)),
        "written": once(written),
        **more,
    }
    dtype = dtype_of(results, arguments)
    if dtype:
        kernel["dtype"] = dtype
    return kernel
