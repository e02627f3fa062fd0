# SPDX-License-Identifier: GPL-2.0-only
"""What PyTorch has and the simulated GPUs have not: one error that says what to do."""

import functools

SPARSE = (
    "sparse tensors of GPUs are not simulated: use dense gradients ({name} without sparse=True)"
)
RPC = (
    "torch.distributed.rpc, and torch.distributed.pipeline.sync.Pipe, which needs it, are not"
    " simulated: use torchrun with sends and receives of torch.distributed"
)


class NotSimulated(NotImplementedError):
    pass


def apply(torch, device):
    functional = torch.nn.functional
    for name, at in (("embedding", 6), ("embedding_bag", 7)):
        setattr(functional, name, _dense_only(getattr(functional, name), name, at))
    torch.sparse_coo_tensor = _on_host(torch.sparse_coo_tensor)
    torch.Tensor.to_sparse = _of_host(torch.Tensor.to_sparse)
    _without_rpc(torch)


def _dense_only(function, name, at):
    """`at`: place of `sparse` among the arguments."""

    @functools.wraps(function)
    def checked(*arguments, **options):
        sparse = options.get("sparse") or (len(arguments) > at and arguments[at])
        weight = options.get("weight", arguments[1] if len(arguments) > 1 else None)
        if sparse and getattr(weight, "is_cuda", False) and weight.requires_grad:
            raise NotSimulated(f"capture: {SPARSE.format(name=name)}")
        return function(*arguments, **options)

    return checked


def _on_host(function):
    @functools.wraps(function)
    def checked(*arguments, **options):
        given = [*arguments, *options.values()]
        if any(getattr(one, "is_cuda", False) for one in given) or "cuda" in str(
            options.get("device", "")
        ):
            raise NotSimulated(f"capture: {SPARSE.format(name='embedding')}")
        return function(*arguments, **options)

    return checked


def _of_host(function):
    @functools.wraps(function)
    def checked(self, *arguments, **options):
        if self.is_cuda:
            raise NotSimulated(f"capture: {SPARSE.format(name='embedding')}")
        return function(self, *arguments, **options)

    return checked


def _without_rpc(torch):
    try:
        import torch.distributed.rpc as rpc
    except ImportError:  # a PyTorch without it
        return

    def init_rpc(*arguments, **options):
        raise NotSimulated(f"capture: {RPC}")

    rpc.init_rpc = init_rpc
