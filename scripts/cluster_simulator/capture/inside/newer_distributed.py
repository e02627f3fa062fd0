# SPDX-License-Identifier: GPL-2.0-only
"""Names and options of torch.distributed and FSDP that PyTorch 1.13 does not have yet."""

import functools
import inspect
import math
import os

from .imports import when_imported


def apply(torch, device):
    import torch.distributed as distributed
    from torch.distributed import distributed_c10d

    if "device_id" in inspect.signature(distributed_c10d.init_process_group).parameters:
        return  # it has them all
    _groups(torch, distributed, distributed_c10d)
    when_imported("torch.distributed.fsdp", lambda fsdp: _fsdp(torch, device, fsdp))


def _groups(torch, distributed, c10d):
    init = c10d.init_process_group

    @functools.wraps(init)
    def init_process_group(backend=None, *arguments, device_id=None, **options):
        if device_id is not None and not isinstance(device_id, int) and device_id.type == "cuda":
            torch.cuda.set_device(device_id)
        made = init(_backend(backend), *arguments, **options)
        if backend is None or (isinstance(backend, str) and "cpu:gloo" in backend):
            beside.append(new_group(backend="gloo"))
        return made

    beside = []  # a group of Gloo's, for tensors of the host
    new_group = c10d.new_group

    @functools.wraps(new_group)
    def group_of(
        ranks=None, timeout=c10d.default_pg_timeout, backend=None, pg_options=None, **_
    ):
        backend = _backend(backend) if backend else None
        return new_group(ranks, timeout, backend, pg_options)

    for name in ("all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter"):
        function = _by_device(torch, getattr(c10d, name), beside)
        setattr(distributed, name, function)
        setattr(c10d, name, function)
    for owner in (distributed, c10d):
        owner.init_process_group, owner.new_group = init_process_group, group_of
        if not hasattr(owner, "get_node_local_rank"):
            owner.get_node_local_rank = lambda fallback_rank=None: int(
                os.environ.get("LOCAL_RANK", fallback_rank)
            )
        if not hasattr(owner, "get_default_backend_for_device"):
            owner.get_default_backend_for_device = lambda where: (
                "nccl" if torch.device(where).type == "cuda" else "gloo"
            )


def _backend(name):
    """ "cpu:gloo,cuda:nccl" is PyTorch 2's way to name both: NCCL counts here."""
    if name is None:
        return "nccl"
    if isinstance(name, str) and ":" in name:
        pairs = dict(part.split(":") for part in name.split(","))
        return pairs.get("cuda", next(iter(pairs.values())))
    return name


def _by_device(torch, function, beside):
    """PyTorch 2 asks the tensor which backend it is for."""

    def first_tensor(values):
        for value in values:
            if isinstance(value, (list, tuple)):
                value = first_tensor(value)
            if isinstance(value, torch.Tensor):
                return value
        return None

    @functools.wraps(function)
    def by_device(*arguments, **options):
        if beside and options.get("group") is None:
            tensor = first_tensor([*arguments, *options.values()])
            if tensor is not None and not tensor.is_cuda:
                options["group"] = beside[0]
        return function(*arguments, **options)

    return by_device


def _fsdp(torch, device, fsdp):
    from torch.distributed.fsdp import wrap

    sharded = fsdp.FullyShardedDataParallel
    sharded.__init__ = _without(device, sharded.__init__, ("use_orig_params", "device_mesh"))
    precision = fsdp.MixedPrecision
    precision.__init__ = _without(
        device, precision.__init__, ("cast_forward_inputs", "cast_root_forward_inputs")
    )
    sharded.clip_grad_norm_ = _clip(torch, sharded.clip_grad_norm_)

    class ModuleWrapPolicy:
        def __init__(self, classes):
            self.classes = tuple(classes)

        def __call__(self, module, recurse, unwrapped_params=0, **_):
            return recurse or isinstance(module, self.classes)

    if not hasattr(wrap, "ModuleWrapPolicy"):
        wrap.ModuleWrapPolicy = ModuleWrapPolicy


def _without(device, init, names):
    """Options that change nothing of what is computed or sent, as long as they are the usual."""
    known = inspect.signature(init).parameters

    @functools.wraps(init)
    def started(self, *arguments, **options):
        for name in names:
            if name in options and name not in known:
                value = options.pop(name)
                if value:
                    device.note(
                        f"{name} at {device.source_line()} is not of PyTorch 1.13, and left out"
                    )
        init(self, *arguments, **options)

    return started


def _clip(torch, usual):
    """PyTorch 2's: the factor is limited to 1 on the GPU, and the norm is returned."""

    @functools.wraps(usual)
    @torch.no_grad()
    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        self._lazy_init()
        self._wait_for_previous_optim_step()
        gradients = [param.grad.detach() for param in self.params_with_grad]
        norm_type = float(norm_type)
        where = self.compute_device if hasattr(self, "compute_device") else "cuda"
        if not gradients:
            local = torch.zeros((), device=where)
        elif norm_type == math.inf:
            local = torch.stack([one.abs().max().float() for one in gradients]).max()
        else:
            norms = torch.stack([torch.linalg.vector_norm(one, norm_type) for one in gradients])
            local = torch.linalg.vector_norm(norms.float(), norm_type)
        local = local.to(where)
        if norm_type == math.inf:
            torch.distributed.all_reduce(
                local, torch.distributed.ReduceOp.MAX, group=self.process_group
            )
            total = local
        else:
            total = local**norm_type
            torch.distributed.all_reduce(total, group=self.process_group)
            total = total ** (1.0 / norm_type)
        factor = torch.clamp(float(max_norm) / (total + 1e-6), max=1.0)
        for one in gradients:
            one.mul_(factor.to(one.device, one.dtype))
        return total

    return clip_grad_norm_
