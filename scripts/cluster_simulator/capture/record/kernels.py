# SPDX-License-Identifier: GPL-2.0-only
"""What a GPU does for an operator: kind, shape, FLOPs, bytes. An operator is what PyTorch's
dispatcher gives to a device: compositions are taken apart already.
"""

import math

from . import attention, raw
from .memory import in_memory, once

# Of memory nothing is touched.
WITHOUT_WORK = {
    "aten::set_",
    "aten::resize_",
    "aten::record_stream",
    "aten::is_pinned",
    "aten::_pin_memory",
    "aten::detach_",
    "aten::unsqueeze_",
    "aten::squeeze_",
    "aten::transpose_",
    "aten::t_",
    "aten::as_strided_",
    "aten::equal",
    "aten::_use_cudnn_ctc_loss",
}
FUSED_OPTIMIZERS = ("aten::_fused_adam_", "aten::_fused_adamw_", "aten::_fused_sgd_")
NORMS = (
    "aten::native_batch_norm",
    "aten::native_layer_norm",
    "aten::native_group_norm",
    "aten::batch_norm_",
    "aten::cudnn_batch_norm",
)
SOFTMAXES = ("aten::_softmax", "aten::_log_softmax")
EMBEDDINGS = (
    "aten::embedding",
    "aten::_embedding_bag",
    "aten::index_select",
    "aten::index",
    "aten::gather",
    "aten::scatter",
    "aten::index_add",
    "aten::index_put",
)
REDUCTIONS = {
    "sum",
    "mean",
    "max",
    "min",
    "argmax",
    "argmin",
    "norm",
    "linalg_vector_norm",
    "var",
    "var_mean",
    "std",
    "any",
    "all",
    "prod",
    "topk",
    "sort",
    "cumsum",
    "logsumexp",
    "_amp_update_scale_",
}


def of_operator(line):
    """A list of kernels, as the format has them but for where and when; [] if nothing is done."""
    name = line["n"].partition(".")[0]
    arguments, results = raw.value(line["a"]), raw.value(line["o"])
    if name in WITHOUT_WORK or name.startswith(("aten::empty", "aten::new_empty")):
        return []
    if name == "aten::copy_":
        return _copy(arguments)
    if name == "aten::_local_scalar_dense":
        return [_transfer("from-gpu", arguments[0].item_bytes, True)]
    places = line.get("x", ())
    if _is_view(name, places, arguments, results):
        return []
    results = results or [arguments[i] for i in _written(name, line, arguments)]
    # A place for a result (out=, grad_input) is not read; they stand behind all else.
    arguments = [one for i, one in enumerate(arguments) if i not in places]
    special = SPECIAL.get(name)
    if special:
        made = _with_tf32(special(arguments, results), name, line.get("tf32", 0))
        for kernel in made if line.get("last") else ():
            kernel.pop("channels_first", None)
        return made
    return [in_memory(_kind(name), arguments, results)]


def _with_tf32(kernels, name, allowed):
    """Products of fp32 on tensor cores, where the script lets them: `allowed` 1: in cuBLAS, 2: in
    cuDNN.
    """
    bit = 2 if "convolution" in name or name in RECURRENT else 1
    for kernel in kernels:
        if allowed & bit and kernel["kind"] in ("gemm", "conv") and kernel.get("dtype") == "f32":
            kernel["dtype"] = "tf32"
    return kernels


def _written(name, line, arguments):
    """Numbers of the arguments that it writes. Adam in one kernel says that it writes gradients; it
    does so where they have a scale to be divided by (pytorch/pytorch@a11d775 aten/src/ATen/native/
    cuda/fused_adam_utils.cuh).
    """
    written = line.get("w", ())
    if name in FUSED_OPTIMIZERS and arguments[-2] is None:
        return [i for i in written if i != 1]
    return written


def _is_view(name, places, arguments, results):
    if name.endswith("_") or places:
        return False
    mine = {tensor.storage for tensor in raw.tensors(arguments)}
    made = list(raw.tensors(results))
    return bool(made) and all(tensor.storage in mine for tensor in made)


def _kind(name):
    if name.startswith(NORMS):
        return "norm"
    if name.startswith(SOFTMAXES):
        return "softmax"
    if name.startswith(EMBEDDINGS):
        return "embedding"
    if name.partition("::")[2] in REDUCTIONS:
        return "reduction"
    return "pointwise"


def _transfer(direction, size, blocking):
    return {"kind": "memcpy", "bytes": size, "direction": direction, "blocking": blocking}


def _copy(arguments):
    to, source, asynchronous = arguments[0], arguments[1], bool(arguments[2])
    if to.on_gpu and source.on_gpu:
        same = to.dtype == source.dtype
        return [in_memory("memory" if same else "pointwise", [source], [to])]
    if to.on_gpu or source.on_gpu:
        direction = "to-gpu" if to.on_gpu else "from-gpu"
        size = min(to.bytes, to.elements * source.item_bytes)
        return [_transfer(direction, size, not asynchronous)]
    return []


def _fill(arguments, results):
    """Writes only."""
    kernel = in_memory("memory", [], results)
    return [kernel] if kernel["written"] else []


# ---- products


def _gemm(a, b, results, batch=1):
    """a: ... x m x k, b: ... x k x n"""
    m, k, n = a.sizes[-2], a.sizes[-1], b.sizes[-1]
    return [
        in_memory("gemm", [a, b], results, batch=batch, m=m, n=n, k=k, flops=2 * batch * m * n * k)
    ]


def _mm(arguments, results):
    return _gemm(arguments[0], arguments[1], results)


def _scaled_mm(arguments, results):
    """Of fp8: the type of what is multiplied counts, not that of the result."""
    return [one | {"dtype": "f8"} for one in _mm(arguments, results)]


def _addmm(arguments, results):
    return _gemm(arguments[1], arguments[2], results)


def _bmm(arguments, results):
    return _gemm(arguments[0], arguments[1], results, arguments[0].sizes[0])


def _baddbmm(arguments, results):
    return _gemm(arguments[1], arguments[2], results, arguments[1].sizes[0])


def _vector_product(matrix, vector, results):
    m, k = matrix.sizes
    return [
        in_memory("gemm", [matrix, vector], results, batch=1, m=m, n=1, k=k, flops=2 * m * k)
    ]


def _mv(arguments, results):
    return _vector_product(arguments[0], arguments[1], results)


def _addmv(arguments, results):
    return _vector_product(arguments[1], arguments[2], results)


# ---- convolutions: the product over patches. Forward, a pixel of the output is a row:
#
#     m = samples x pixels of the output, n = channels out of a group, k = channels in x kernel
#
# Of the gradient of the input the roles of n and k change, of that of the weights those of m and k.
# What is transposed has its output where another one has its input.


def _product_of(small, weight, groups):
    """`small`: the side with a pixel for each position of the kernel."""
    pixels = small.sizes[0] * math.prod(small.sizes[2:])
    outward = weight.sizes[0] // groups
    inward = weight.sizes[1] * math.prod(weight.sizes[2:])
    return pixels, outward, inward


def _conv(which, m, n, k, groups, inputs, outputs, weight):
    """`weight`: what of inputs and outputs is no picture."""
    kernel = in_memory(
        "conv",
        inputs,
        outputs,
        **{"batch": groups, "m": m, "n": n, "k": k},
        flops=2 * groups * m * n * k,
    )
    if _is_depthwise(weight, groups):
        return kernel | {"pass": which}
    pictures = kernel["read"] + kernel["written"] - once([weight])
    return kernel | {"pass": which, "channels_first": pictures}


def _is_depthwise(weight, groups):
    """A kernel of PyTorch's own, not cuDNN's (pytorch/pytorch@0022211 aten/src/ATen/native/
    Convolution.cpp). Its weights have one channel in.
    """
    return groups > 1 and weight.sizes[1] == 1


def _convolution(arguments, results):
    source, weight, bias = arguments[:3]
    transposed, groups = arguments[6], arguments[8]
    pixels, outward, inward = _product_of(source if transposed else results[0], weight, groups)
    n, k = (inward, outward) if transposed else (outward, inward)
    kernel = _conv("forward", pixels, n, k, groups, [source, weight], results, weight)
    if bias:
        kernel["read"] += bias.bytes
    return [kernel]


def _convolution_backward(arguments, results):
    gradient, source, weight = arguments[:3]
    transposed, groups, wanted = arguments[7], arguments[9], arguments[10]
    pixels, outward, inward = _product_of(source if transposed else gradient, weight, groups)
    kernels = []
    if wanted[0]:
        n, k = (outward, inward) if transposed else (inward, outward)
        kernels.append(
            _conv("backward-input", pixels, n, k, groups, [gradient, weight], results[:1], weight)
        )
    if wanted[1]:
        kernels.append(
            _conv(
                "backward-weights",
                outward,
                inward,
                pixels,
                groups,
                [gradient, source],
                results[1:2],
                results[1],
            )
        )
    if wanted[2]:
        kernels.append(in_memory("reduction", [gradient], results[2:]))
    return kernels


# ---- norms and losses: what their kernels read more than once, or hardly at all


def _batch_norm(arguments, results):
    """In training the input is read for its statistics, then to be normalized (pytorch/pytorch
    aten/src/ATen/native/cuda/Normalization.cu, batch_norm_cuda_out); one launch, as cuDNN has one
    call: assumed, and the zoo's rule (model-operators.cc).
    """
    kernel = in_memory("norm", arguments, results)
    if arguments[5]:
        kernel["read"] += arguments[0].bytes
    return [kernel]


def _batch_norm_backward(arguments, results):
    """Gradient and input are read for their sums, then for the gradient of the input."""
    kernel = in_memory("norm", arguments, results)
    if arguments[7] and arguments[9][0]:
        kernel["read"] += arguments[0].bytes + arguments[1].bytes
    return [kernel]


def _layer_norm_backward(arguments, results):
    """One kernel for the gradient of the input, another for those of weight and bias; each reads
    gradient and input (pytorch/pytorch aten/src/ATen/native/cuda/layer_norm_kernel.cu,
    LayerNormBackwardKernelImplInternal).
    """
    kernel = in_memory("norm", arguments, results)
    wanted = arguments[7]
    if wanted[0] and (wanted[1] or wanted[2]):
        kernel["read"] += arguments[0].bytes + arguments[1].bytes
        kernel["launches"] = 2
    return [kernel]


def _rows_of(arguments, results):
    """Of the table what becomes the result, in place of all of it; and where it stands."""
    kernel = in_memory("embedding", arguments, results)
    table, made = arguments[0], sum(one.bytes for one in raw.tensors(results))
    kernel["read"] -= max(table.bytes - made, 0) if table.on_gpu else 0
    return [kernel]


def _bags(arguments, results):
    """Of the table a row for each number."""
    kernel = in_memory("embedding", arguments, results)
    table, numbers = arguments[:2]
    rows = numbers.elements * table.bytes // max(table.sizes[0], 1)
    kernel["read"] -= max(table.bytes - rows, 0) if table.on_gpu else 0
    return [kernel]


def _put(adds, touched):
    """Into places of a tensor, of which the rest stays as it is, or of a copy.
    `touched(arguments)`: of how many elements; `adds(arguments)`: whether they are read as well.
    """

    def kernels(arguments, results):
        kernel = in_memory("embedding", arguments[1:], arguments[:1])
        mine = arguments[0]
        size = min(mine.bytes, touched(arguments) * mine.item_bytes)
        kernel["read"] += size if adds(arguments) else 0
        kernel["written"] = size
        made = list(raw.tensors(results))
        if made and made[0].storage != mine.storage:
            return [in_memory("memory", [mine], made), kernel]
        return [kernel]

    return kernels


def _slices(arguments):
    """index_add_(self, dim, index, ...)"""
    mine, dimension, index = arguments[:3]
    return index.elements * mine.elements // max(mine.sizes[dimension] if mine.sizes else 1, 1)


def _of_indices(arguments):
    """index_put_(self, indices, values, accumulate): each has all dimensions that are not named;
    of a mask all may be true.
    """
    mine, indices = arguments[:2]
    named = [(i, index) for i, index in enumerate(indices) if index]
    if any(index.dtype in ("bool", "u8") for _, index in named):
        return mine.elements
    left = mine.elements // max(math.prod(mine.sizes[i] for i, _ in named), 1)
    return left * max((index.elements for _, index in named), default=1)


def _nll_loss(arguments, results):
    """Of the log-probabilities only those of the targets are read."""
    probabilities, targets = arguments[:2]
    kernel = in_memory("reduction", arguments[1:], results)
    kernel["read"] += min(probabilities.bytes, targets.elements * probabilities.item_bytes)
    return [kernel | {"dtype": probabilities.dtype}]


def _nll_loss_backward(arguments, results):
    """Zeros, then the targets' gradients in them; log-probabilities are not read (pytorch/pytorch
    aten/src/ATen/native/cuda/Loss.cu, nll_loss_backward_reduce_cuda_kernel_2d).
    """
    (gradient,) = raw.tensors(results)
    kernel = in_memory("pointwise", [arguments[0], *arguments[2:]], results)
    kernel["written"] = min(gradient.bytes, arguments[2].elements * gradient.item_bytes)
    return [*_fill(arguments, results), kernel]


def _split_copy(arguments, results):
    """Into many tensors by one kernel (FSDP2): out= holds the results."""
    return [in_memory("memory", arguments[:1], results)]


# ---- recurrent networks, as cuDNN has them: the product of all steps' inputs of a layer in one,
# then step by step the product of the hidden state and what is done with gates.


class Recurrent:
    def __init__(self, tensors, numbers):
        names = "steps rows samples layers directions hidden width gates"
        for name, number in zip(names.split(), numbers):
            setattr(self, name, number)
        self.item, self.dtype = tensors[0].item_bytes, tensors[0].dtype

    def of_layers(self, data_width):
        """(width of what comes in) for each layer and direction."""
        for layer in range(self.layers):
            for _ in range(self.directions):
                yield data_width if layer == 0 else self.width * self.directions

    def product(self, m, n, k, launches=1):
        read = (m * k + k * n) * self.item * launches
        return {
            "kind": "gemm",
            "read": read,
            "written": m * n * self.item * launches,
            "dtype": self.dtype,
            **{"batch": 1, "m": m, "n": n, "k": k, "launches": launches},
            "flops": 2 * m * n * k * launches,
        }

    def gate_kernels(self, reads, writes):
        """Of all steps; elements of a row in units."""
        unit = self.rows * self.hidden * self.item
        return {
            "kind": "pointwise",
            "read": reads * unit,
            "written": writes * unit,
            "dtype": self.dtype,
            "launches": self.steps,
        }

    @property
    def at_once(self):
        """Samples of a step, on average where sequences are packed."""
        return max(1, round(self.rows / self.steps))


def _recurrent(arguments, results):
    tensors, numbers = arguments
    one = Recurrent(tensors, numbers)
    wide = one.gates * one.hidden
    kernels = []
    for inward in one.of_layers(tensors[0].sizes[-1]):
        kernels.append(one.product(one.rows, wide, inward))
        kernels.append(one.product(one.at_once, wide, one.width, one.steps))
        # Both products, the state; gates that are kept, the state.
        kernels.append(one.gate_kernels(2 * one.gates + 1, one.gates + 2))
    return kernels


def _recurrent_backward(arguments, results):
    tensors, (*numbers, data_width, wants_input) = arguments
    one = Recurrent(tensors, numbers)
    wide = one.gates * one.hidden
    kernels = []
    for i, inward in enumerate(one.of_layers(data_width)):
        kernels.append(one.gate_kernels(one.gates + 3, one.gates + 1))
        kernels.append(one.product(one.at_once, one.width, wide, one.steps))
        if i >= one.directions or wants_input:
            kernels.append(one.product(one.rows, inward, wide))
        # Gradients of both matrices.
        kernels.append(one.product(wide, inward, one.rows))
        kernels.append(one.product(wide, one.width, one.rows))
    return kernels


def _foreach(kind):
    return lambda arguments, results: [in_memory(kind, arguments, results or arguments[:1])]


SPECIAL = {
    "capture::attention": attention.plain,
    "capture::attention_backward": attention.plain_backward,
    "aten::_scaled_dot_product_flash_attention": attention.of_pytorch_2,
    "aten::_scaled_dot_product_flash_attention_backward": attention.of_pytorch_2_backward,
    "aten::_scaled_dot_product_efficient_attention": attention.of_pytorch_2,
    "aten::_scaled_dot_product_efficient_attention_backward": attention.of_pytorch_2_backward,
    "aten::split_with_sizes_copy": _split_copy,
    "aten::_chunk_cat": _foreach("memory"),
    "aten::_foreach_copy_": lambda arguments, results: [
        in_memory("memory", arguments[1:2], arguments[:1])
    ],
    "aten::mm": _mm,
    "aten::_scaled_mm": _scaled_mm,
    "aten::addmm": _addmm,
    "aten::addmm_": _addmm,
    "aten::_addmm_activation": _addmm,
    "aten::bmm": _bmm,
    "aten::baddbmm": _baddbmm,
    "aten::baddbmm_": _baddbmm,
    "aten::mv": _mv,
    "aten::addmv": _addmv,
    "aten::addmv_": _addmv,
    "aten::embedding": _rows_of,
    "aten::_embedding_bag": _bags,
    "aten::_embedding_bag_forward_only": _bags,
    "aten::index_select": _rows_of,
    "aten::index": _rows_of,
    "aten::gather": _rows_of,
    "aten::native_batch_norm": _batch_norm,
    "aten::native_batch_norm_backward": _batch_norm_backward,
    "aten::native_layer_norm_backward": _layer_norm_backward,
    "aten::nll_loss_forward": _nll_loss,
    "aten::nll_loss2d_forward": _nll_loss,
    "aten::nll_loss_backward": _nll_loss_backward,
    "aten::nll_loss2d_backward": _nll_loss_backward,
    "aten::convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::_amp_foreach_non_finite_check_and_unscale_": _foreach("pointwise"),
}
SPECIAL.update(
    (f"aten::{name}", _fill)
    for name in (
        "zero_",
        "fill_",
        "zeros",
        "ones",
        "full",
        "arange",
        "normal_",
        "uniform_",
        "bernoulli_",
        "random_",
        "randperm",
        "eye",
        "randn",
        "rand",
        "randint",
    )
)
# (Of those that PyTorch makes of one definition the record has the name without "_" for all.)
for name, adds, touched in (
    ("index_add", lambda _: True, _slices),
    ("index_copy", lambda _: False, _slices),
    ("index_fill", lambda _: False, _slices),
    ("scatter", lambda arguments: len(arguments) > 4, lambda one: one[2].elements),
    ("scatter_add", lambda _: True, lambda one: one[2].elements),
    ("index_put", lambda arguments: bool(arguments[3]), _of_indices),
    ("_index_put_impl", lambda arguments: bool(arguments[3]), _of_indices),
):
    for ending in ("", "_"):
        SPECIAL[f"aten::{name}{ending}"] = _put(adds, touched)
RECURRENT = set()
for name in ("rnn_tanh", "rnn_relu", "lstm", "gru"):
    SPECIAL[f"capture::{name}"] = _recurrent
    SPECIAL[f"capture::{name}_backward"] = _recurrent_backward
    RECURRENT |= {f"capture::{name}", f"capture::{name}_backward"}
