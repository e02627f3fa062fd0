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
    for module in (torch.nn.Embedding, torch.nn.EmbeddingBag):
        module.__init__ = _dense_only(module.__init__, module.__name__)
    made = _on_host(torch.sparse_coo_tensor)
    # TorchScript knows functions of C++ by themselves: this one stands for the same.
    torch.jit._builtins._register_builtin(made, "aten::sparse_coo_tensor")
    torch.sparse_coo_tensor = made
    torch.Tensor.to_sparse = _of_host(torch.Tensor.to_sparse)
    _without_rpc(torch)


def _dense_only(function, name):
    def forward(self, arguments):
        if self.weight.is_cuda and self.weight.requires_grad:
            raise NotSimulated(f"capture: {SPARSE.format(name=name)}")

    # Not the function of torch.nn.functional, which TorchScript compiles from its source.
    @functools.wraps(function)
    def made(self, *arguments, **options):
        function(self, *arguments, **options)
        if self.sparse:
            self.register_forward_pre_hook(forward)

    return made


def _on_host(function):
    @functools.wraps(function)
    def checked(*arguments, **options):
        given = [*arguments, *options.values()]
        if any(getattr(one, "is_cuda", False) for one in given) or "cuda" in str(
            options.get("device", "")
        ):
            raise NotSimulated(f"capture: {SPARSE.format(name='Embedding')}")
        return function(*arguments, **options)

    return checked


def _of_host(function):
    @functools.wraps(function)
    def checked(self, *arguments, **options):
        if self.is_cuda:
            raise NotSimulated(f"capture: {SPARSE.format(name='Embedding')}")
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
