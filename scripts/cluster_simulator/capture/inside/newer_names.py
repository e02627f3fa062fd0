# SPDX-License-Identifier: GPL-2.0-only
"""Names that scripts of today use and PyTorch 1.13 does not have, where what they do can be done
with it. Those of torch.distributed: newer_distributed.py.
"""

import contextlib
import functools
import importlib
import importlib.util
import inspect
import sys
import types


def apply(torch, device):
    _compile(torch, device)
    _amp(torch)
    _attention_kernels(torch)
    _modules(torch)
    _optimizers(torch)
    _functions(torch)
    _clipping(torch, device)
    _cuda(torch)


def _add(owner, name, value):
    """If a newer PyTorch does not have it anyway."""
    if not hasattr(owner, name):
        setattr(owner, name, value)


def _module(name, **content):
    """import NAME"""
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        made = types.ModuleType(name)
        made.__dict__.update(content)
        made.__path__ = []
        sys.modules[name] = made
        parent, _, last = name.rpartition(".")
        _add(sys.modules[parent], last, made)


def _clipping(torch, device):
    """foreach of PyTorch 2: how many kernels there are."""

    def with_foreach(clip):
        if "foreach" in inspect.signature(clip).parameters:
            return clip

        @functools.wraps(clip)
        def clipped(*arguments, foreach=None, **options):
            if foreach:
                device.note(
                    f"foreach=True of {clip.__name__} at {device.source_line()} is not of PyTorch"
                    " 1.13: each gradient has its own kernels"
                )
            return clip(*arguments, **options)

        return clipped

    utils = torch.nn.utils
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        clip = with_foreach(getattr(utils, name))
        setattr(utils, name, clip)
        setattr(utils.clip_grad, name, clip)


def _compile(torch, device):
    def compile(model=None, **_):
        if model is None:
            return compile
        device.note(
            f"torch.compile at {device.source_line()}: the model is captured operator by operator,"
            " nothing is fused"
        )
        return model

    def nothing(*_, **__):
        return None

    torch.compile = compile
    _module(
        "torch._dynamo",
        reset=nothing,
        disable=lambda function=None, **_: function or (lambda one: one),
        config=types.SimpleNamespace(),
    )
    _module("torch._inductor", config=types.SimpleNamespace())
    _module(
        "torch.compiler",
        reset=nothing,
        disable=lambda function=None, **_: function or (lambda one: one),
        is_compiling=lambda: False,
        cudagraph_mark_step_begin=nothing,
    )


def _amp(torch):
    import torch.amp
    import torch.cuda.amp

    class GradScaler(torch.cuda.amp.GradScaler):
        def __init__(self, device="cuda", *arguments, **options):
            super().__init__(*arguments, **options)

    def for_device(decorate):
        def decorated(function=None, *, device_type="cuda", **options):
            if function is None:
                return lambda one: decorate(one, **options)
            return decorate(function, **options)

        return decorated

    _add(torch.amp, "GradScaler", GradScaler)
    _add(torch.amp, "autocast", torch.autocast)
    _add(torch.amp, "custom_fwd", for_device(torch.cuda.amp.custom_fwd))
    _add(torch.amp, "custom_bwd", for_device(lambda one, **_: torch.cuda.amp.custom_bwd(one)))


def _attention_kernels(torch):
    """Which kernel attention takes is not asked: the fused one."""

    @contextlib.contextmanager
    def any_kernel(*_, **__):
        yield

    class SDPBackend:
        ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION = -1, 0, 1, 2, 3

    if "enable_mem_efficient" not in inspect.signature(torch.backends.cuda.sdp_kernel).parameters:
        torch.backends.cuda.sdp_kernel = any_kernel
    for kind in ("flash", "mem_efficient", "math", "cudnn"):
        _add(torch.backends.cuda, f"enable_{kind}_sdp", lambda enabled=True: None)
        _add(torch.backends.cuda, f"{kind}_sdp_enabled", lambda: True)
    _module("torch.nn.attention", sdpa_kernel=any_kernel, SDPBackend=SDPBackend)


def _modules(torch):
    functional = torch.nn.functional

    def rms_norm(input, normalized_shape, weight=None, eps=None):
        dims = tuple(range(-len(normalized_shape), 0))
        eps = torch.finfo(input.dtype).eps if eps is None else eps
        normed = input * torch.rsqrt(input.pow(2).mean(dims, keepdim=True) + eps)
        return normed if weight is None else normed * weight

    class RMSNorm(torch.nn.Module):
        def __init__(
            self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
        ):
            super().__init__()
            if isinstance(normalized_shape, int):
                normalized_shape = (normalized_shape,)
            self.normalized_shape, self.eps = tuple(normalized_shape), eps
            self.weight = (
                torch.nn.Parameter(torch.ones(self.normalized_shape, device=device, dtype=dtype))
                if elementwise_affine
                else None
            )

        def forward(self, x):
            return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    _add(functional, "rms_norm", rms_norm)
    _add(torch.nn, "RMSNorm", RMSNorm)
    # Nested tensors are of no use without values: a mask keeps its place.
    torch._nested_tensor_from_mask_left_aligned = lambda *_: False


def _optimizers(torch):
    """fused=True: of AdamW one kernel, as Adam's is in 1.13; of others what foreach makes."""
    optimizers = torch.optim
    for name in ("AdamW", "SGD", "Adagrad"):
        kind = getattr(optimizers, name)
        if "fused" not in inspect.signature(kind.__init__).parameters:
            kind.__init__ = _with_fused(kind.__init__)
            if kind is optimizers.AdamW:
                kind.step = _fused_step(torch, kind.step)
    swa = __import__("torch.optim.swa_utils", fromlist=["AveragedModel"])

    def ema(decay=0.999):
        @torch.no_grad()
        def update(averages, models, _):
            for average, one in zip(averages, models):
                if average.is_floating_point():
                    average.lerp_(one.to(average), 1 - decay)
                else:
                    average.copy_(one)

        return update

    def one_by_one(many):
        return lambda average, one, count: many([average], [one], count) or average

    usual = swa.AveragedModel.__init__
    if "multi_avg_fn" not in inspect.signature(usual).parameters:

        def init(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
            if multi_avg_fn is not None:
                avg_fn = one_by_one(multi_avg_fn)
            usual(self, model, device, avg_fn, use_buffers)

        swa.AveragedModel.__init__ = init
    _add(swa, "get_ema_multi_avg_fn", ema)
    _add(swa, "get_ema_avg_fn", lambda decay=0.999: one_by_one(ema(decay)))


def _with_fused(init):
    told = inspect.signature(init)

    @functools.wraps(init)
    def with_fused(self, *arguments, fused=None, **options):
        if fused and "foreach" in told.parameters:
            options["foreach"] = True
        init(self, *arguments, **options)
        self.defaults["fused"] = fused
        for group in self.param_groups:
            group.setdefault("fused", fused)

    with_fused.__signature__ = told.replace(
        parameters=[
            *told.parameters.values(),
            inspect.Parameter("fused", inspect.Parameter.KEYWORD_ONLY, default=None),
        ]
    )
    return with_fused


def _fused_step(torch, usual):
    @functools.wraps(usual)
    def step(self, closure=None):
        if not self.defaults.get("fused"):
            return usual(self, closure)
        with torch.enable_grad():
            loss = closure() if closure is not None else None
        with torch.no_grad():
            for group in self.param_groups:
                _fused_adamw(torch, self.state, group)
        return loss

    return step


def _fused_adamw(torch, states, group):
    params = [param for param in group["params"] if param.grad is not None]
    for param in params:
        state = states[param]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=param.device)
            state["exp_avg"] = torch.zeros_like(param)
            state["exp_avg_sq"] = torch.zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = torch.zeros_like(param)
    if not params:
        return
    steps = [states[param]["step"] for param in params]
    torch._foreach_add_(steps, 1)
    torch._fused_adam_(
        params,
        [param.grad for param in params],
        [states[param]["exp_avg"] for param in params],
        [states[param]["exp_avg_sq"] for param in params],
        [states[param]["max_exp_avg_sq"] for param in params] if group["amsgrad"] else [],
        steps,
        lr=group["lr"],
        beta1=group["betas"][0],
        beta2=group["betas"][1],
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        amsgrad=group["amsgrad"],
        maximize=group["maximize"],
        grad_scale=None,
        found_inf=None,
    )


# Of functorch, which is loaded when a script asks for one of them: it imports SymPy, which takes a
# third as long as PyTorch itself.
TRANSFORMS = "vmap grad grad_and_value vjp jvp jacrev jacfwd hessian".split()


def _functions(torch):
    if hasattr(torch, "func") or importlib.util.find_spec("functorch") is None:
        return
    from torch.nn.utils import stateless

    def functional_call(module, parameters, args, kwargs=None, **_):
        if isinstance(parameters, (list, tuple)):
            parameters = {name: value for one in parameters for name, value in one.items()}
        args = args if isinstance(args, tuple) else (args,)
        return stateless.functional_call(module, parameters, args, kwargs or {})

    def transform(name):
        if name not in TRANSFORMS:
            raise AttributeError(f"module 'torch.func' has no attribute {name!r}")
        return getattr(importlib.import_module("functorch"), name)

    names = ["functional_call", *TRANSFORMS]
    _module(
        "torch.func",
        functional_call=functional_call,
        __all__=names,
        __dir__=lambda: names,
        __getattr__=transform,
    )


def _cuda(torch):
    def nothing(*_, **__):
        return None

    cuda = torch.cuda
    for name in ("_record_memory_history", "_dump_snapshot"):
        setattr(cuda.memory, name, nothing)
    cuda.utilization = lambda device=None: 100
    _module(
        "torch.accelerator",
        is_available=lambda: True,
        device_count=lambda: cuda.device_count(),
        current_accelerator=lambda *_, **__: torch.device("cuda"),
        current_device_index=lambda: cuda.current_device(),
        current_device_idx=lambda: cuda.current_device(),
        set_device_index=lambda which: cuda.set_device(which),
        set_device_idx=lambda which: cuda.set_device(which),
        synchronize=lambda *which: cuda.synchronize(*which),
        current_stream=lambda *which: cuda.current_stream(*which),
    )

    def after_accumulation(self, hook):
        """Of a leaf, once its gradient is complete: behind its node of accumulation."""
        node = self.expand_as(self).grad_fn.next_functions[0][0]
        self._capture_accumulation = node
        return node.register_hook(lambda *_: hook(self))

    _add(torch.Tensor, "register_post_accumulate_grad_hook", after_accumulation)
    _add(torch.Tensor, "untyped_storage", lambda self: self.storage().untyped())
