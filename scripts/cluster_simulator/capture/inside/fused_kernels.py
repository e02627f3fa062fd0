# SPDX-License-Identifier: GPL-2.0-only
"""What is one call of a library on a GPU, where PyTorch 1.13 on the CPU takes it apart: attention
(FlashAttention, by the name that PyTorch 2 has for it) and cuDNN's recurrent networks. Each is
recorded as one operator (device.fused); ../record/kernels.py says what it does.
"""

def apply(torch, device):
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_dot_product_attention"):
        functional.scaled_dot_product_attention = _attention(torch, device)
    _recurrent(torch, device)


def _autocast(torch, tensors):
    """As autocast does for products: floating-point tensors of a GPU in its type."""
    if not torch.is_autocast_enabled():
        return tensors
    dtype = torch.get_autocast_gpu_dtype()
    return [
        tensor.to(dtype)
        if tensor is not None and tensor.is_floating_point() and tensor.is_cuda
        else tensor
        for tensor in tensors
    ]


# ---- attention


def _attention(torch, device):
    def laid_out(sizes):
        """A token's heads beside one another, as FlashAttention reads and writes them: what comes
        out is turned round, its gradients as well (pytorch/pytorch@007ae17 aten/src/ATen/native/
        transformers/cuda/attention.cu, _scaled_dot_product_flash_attention_cuda), so that a script
        which turns it back copies nothing.
        """
        return [*sizes[:-3], sizes[-2], sizes[-3], sizes[-1]] if len(sizes) > 3 else list(sizes)

    def turned(tensor):
        return tensor.transpose(-3, -2) if tensor.dim() > 3 else tensor

    class Attention(torch.autograd.Function):
        """query: ... x queries x size, key, value: ... x keys x size. Beside the result the
        logarithm of each query's sum is kept, in single precision; backward computes scores anew.
        """

        @staticmethod
        def forward(ctx, query, key, value, mask, causal):
            sizes = [*query.shape[:-1], value.shape[-1]]
            out, sums = device.fused(
                "capture::attention",
                [query, key, value, mask],
                [(laid_out(sizes), query.dtype), (list(query.shape[:-1]), torch.float32)],
                [int(causal)],
            )
            out = turned(out)
            ctx.save_for_backward(query, key, value, mask, out, sums)
            ctx.causal = causal
            return out

        @staticmethod
        def backward(ctx, gradient):
            query, key, value, mask, out, sums = ctx.saved_tensors
            wanted = [(laid_out(one.shape), one.dtype) for one in (query, key, value)]
            if ctx.needs_input_grad[3]:
                wanted.append((list(mask.shape), mask.dtype))
            made = device.fused(
                "capture::attention_backward",
                [gradient, query, key, value, mask, out, sums],
                wanted,
                [int(ctx.causal)],
            )
            gradients = [turned(one) for one in made[:3]]
            return (*gradients, made[3] if len(made) > 3 else None, None)

    def scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    ):
        _check(query, key, value, attn_mask, is_causal)
        query, key, value = _autocast(torch, [query, key, value])
        if not query.is_cuda:
            return _on_host(torch, query, key, value, attn_mask, dropout_p, is_causal, scale)
        if not enable_gqa:
            batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
            query, key, value = (
                one.expand(*batch, *one.shape[-2:]) for one in (query, key, value)
            )
        return Attention.apply(query, key, value, attn_mask, is_causal)

    return scaled_dot_product_attention


def _check(query, key, value, mask, causal):
    if mask is not None and causal:
        raise RuntimeError(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query, key, and value to all be at least 2"
            f" dimensional, but got {query.dim()}, {key.dim()}, {value.dim()}"
        )
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query, key, and value to have the same dtype,"
            f" but got {query.dtype}, {key.dtype}, {value.dtype}"
        )
    if query.size(-1) != key.size(-1) or key.size(-2) != value.size(-2):
        raise RuntimeError(
            f"scaled_dot_product_attention: sizes do not fit: query {tuple(query.shape)}, key"
            f" {tuple(key.shape)}, value {tuple(value.shape)}"
        )


def _on_host(torch, query, key, value, mask, dropout, causal, scale):
    """As the documentation of PyTorch 2 defines it."""
    weights = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if causal:
        mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        weights = weights.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        weights = weights + mask
    weights = torch.dropout(torch.softmax(weights, dim=-1), dropout, dropout > 0)
    return weights @ value


# ---- recurrent networks


class Shape:
    """Of a call of torch.lstm or its like: steps, rows (samples x steps; fewer where sequences are
    packed), samples, layers, directions, hidden (units), width (of what a layer gives: hidden, or
    that of a projection), states (2 of an LSTM).
    """

    def __init__(self, data, sizes, states, weights, layers, both, first):
        self.layers, self.directions = layers, 2 if both else 1
        self.states, self.width = len(states), states[0].shape[-1]
        self.hidden = states[-1].shape[-1]
        if sizes is not None:
            self.steps, self.samples, self.rows = len(sizes), int(sizes[0]), data.shape[0]
            self.outer = [self.rows]
        else:
            self.outer = list(data.shape[:2])
            self.samples, self.steps = self.outer if first else reversed(self.outer)
            self.rows = self.samples * self.steps
        self.gates = weights[0].shape[0] // self.hidden

    def told(self):
        """As ../record/kernels.py reads it."""
        return [
            self.steps,
            self.rows,
            self.samples,
            self.layers,
            self.directions,
            self.hidden,
            self.width,
            self.gates,
        ]


def _recurrent(torch, device):
    class Recurrent(torch.autograd.Function):
        """tensors: the hidden states, then the weights of each layer and direction."""

        @staticmethod
        def forward(ctx, name, shape, data, *tensors):
            states = tensors[: shape.states]
            # What backward needs of each step: its gates, and the cell (assumed).
            kept = shape.hidden * (shape.gates + shape.states - 1)
            made = device.fused(
                f"capture::{name}",
                [data, *tensors],
                [
                    ([*shape.outer, shape.width * shape.directions], data.dtype),
                    *((list(one.shape), data.dtype) for one in states),
                    (
                        [shape.layers * shape.directions * shape.rows, kept]
                        if any(ctx.needs_input_grad)
                        else [0],
                        data.dtype,
                    ),
                ],
                shape.told(),
            )
            ctx.name, ctx.shape = name, shape
            ctx.save_for_backward(data, *tensors, made[0], made[-1])
            return tuple(made[:-1])

        @staticmethod
        def backward(ctx, *gradients):
            data, *tensors, out, reserve = ctx.saved_tensors
            needed = ctx.needs_input_grad[2:]
            made = iter(
                device.fused(
                    f"capture::{ctx.name}_backward",
                    [*gradients, data, *tensors, out, reserve],
                    [
                        (list(one.shape), one.dtype)
                        for one, needs in zip([data, *tensors], needed)
                        if needs
                    ],
                    [*ctx.shape.told(), data.shape[-1], int(needed[0])],
                )
            )
            return (None, None, *(next(made) if needs else None for needs in needed))

    def in_one_call(name, usual):
        """Arguments are those of torch.lstm and its like, with or without batch_sizes."""

        def run(data, *rest):
            if not (data.is_cuda and torch.backends.cudnn.enabled and data.is_floating_point()):
                return usual(data, *rest)
            if isinstance(rest[2], bool):
                hx, weights, _, layers, _, _, both, first = rest
                sizes = None
            else:
                sizes, hx, weights, _, layers, _, _, both = rest
                first = False
            states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
            shape = Shape(data, sizes, states, weights, layers, both, first)
            return Recurrent.apply(name, shape, *_autocast(torch, [data, *states, *weights]))

        return run

    for name in ("rnn_tanh", "rnn_relu", "lstm", "gru"):
        run = in_one_call(name, getattr(torch._C._VariableFunctions, name))
        setattr(torch._VF, name, run)
        setattr(torch, name, run)
