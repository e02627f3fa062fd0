/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mixing.h"

#include <ATen/ATen.h>
#include <unordered_set>

namespace capture
{

namespace
{

/// "aten::add_" -> "add"
std::string
BaseName(const std::string& name)
{
    std::string base = name.substr(name.find("::") + 2);
    const bool special = base.size() > 2 && base.compare(base.size() - 2, 2, "__") == 0;
    if (base.size() > 1 && base.back() == '_' && !special)
    {
        base.pop_back();
    }
    return base;
}

/// NoCheck, and TensorIterator's rule. (clamp with tensors is not: only its overloads with numbers
/// are NoCheck.)
const std::unordered_set<std::string>&
Pointwise()
{
    // clang-format off
    static const std::unordered_set<std::string> names = {
        "__ilshift__", "__irshift__", "__lshift__", "__rshift__", "abs", "acos", "add", "addcdiv",
        "addcmul", "all", "aminmax", "angle", "any", "asin", "atan", "atan2",
        "binary_cross_entropy", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
        "bitwise_right_shift", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "cumprod",
        "cumsum", "digamma", "div", "elu", "eq", "erf", "erfc", "erfinv", "exp", "expm1", "floor",
        "floor_divide", "fmax", "fmin", "fmod", "frac", "ge", "gelu", "gt", "hardshrink",
        "hardsigmoid", "hardswish", "hardtanh", "heaviside", "le", "leaky_relu", "lerp", "lgamma",
        "log", "log10", "log1p", "log2", "log_sigmoid_forward", "logical_and", "logical_not",
        "logical_or", "logical_xor", "lt", "max", "maximum", "mean", "min", "minimum", "mse_loss",
        "mul", "ne", "neg", "norm", "polygamma", "pow", "prod", "reciprocal", "remainder",
        "renorm", "round", "rsqrt", "rsub", "sigmoid", "sign", "sin", "sinh", "smooth_l1_loss",
        "softplus", "softshrink", "special_chebyshev_polynomial_t",
        "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v",
        "special_chebyshev_polynomial_w", "special_hermite_polynomial_h",
        "special_hermite_polynomial_he", "special_laguerre_polynomial_l",
        "special_legendre_polynomial_p", "special_shifted_chebyshev_polynomial_t",
        "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_v",
        "special_shifted_chebyshev_polynomial_w", "special_xlog1py", "special_zeta", "sqrt",
        "std", "sub", "sum", "tan", "tanh", "threshold", "trunc", "var", "where", "xlogy",
    };
    // clang-format on
    return names;
}

/// They take tensors of other devices on purpose, or find out themselves (what is made of the parts
/// of lists comes here again; the rule of convolution has PyTorch's own words).
bool
TakesAny(const std::string& base)
{
    static const std::unordered_set<std::string> names = {
        "_copy_from",
        "_copy_from_and_resize",
        "_cudnn_ctc_loss",
        "_cudnn_rnn",
        "_use_cudnn_ctc_loss",
        "bernoulli",
        "binomial",
        "convolution",
        "copy",
        "fill",
        "is_set_to",
        "resize_as",
        "set",
    };
    return names.count(base) > 0 || base.rfind("_foreach", 0) == 0;
}

bool
IsWritten(const c10::Argument& argument)
{
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// f(tensor, argument), those that are written by name (out=) behind the others.
template <class F>
void
ForEachDefined(const c10::FunctionSchema& schema, Arguments arguments, F f)
{
    for (const bool named : {false, true})
    {
        for (size_t i = 0; i < arguments.size(); ++i)
        {
            const c10::Argument& argument = schema.arguments()[i];
            if (argument.kwarg_only() == named && (!named || IsWritten(argument)))
            {
                ForEachTensor(arguments[i], [&](const at::Tensor& tensor) {
                    if (tensor.defined())
                    {
                        f(tensor, argument);
                    }
                });
            }
        }
    }
}

bool
AreMixed(Arguments arguments)
{
    c10::optional<c10::Device> first;
    bool mixed = false;
    for (const c10::IValue& argument : arguments)
    {
        ForEachTensor(argument, [&](const at::Tensor& tensor) {
            if (tensor.defined())
            {
                mixed = mixed || (first && *first != tensor.device());
                first = tensor.device();
            }
        });
    }
    return mixed;
}

const char* const kSame = "Expected all tensors to be on the same device, but found at least two "
                          "devices, ";

/// As TensorIterator: a number of the CPU is one more number. The device is the first that is none.
void
CheckPointwise(const c10::FunctionSchema& schema, Arguments arguments, size_t until = SIZE_MAX)
{
    arguments = arguments.slice(0, std::min(until, arguments.size()));
    c10::optional<c10::Device> device;
    ForEachDefined(schema, arguments, [&](const at::Tensor& tensor, const c10::Argument&) {
        device = !device && !tensor.is_cpu() ? tensor.device() : device;
    });
    ForEachDefined(schema, arguments, [&](const at::Tensor& tensor, const c10::Argument& argument) {
        const bool number = tensor.is_cpu() && tensor.dim() == 0 && !IsWritten(argument);
        TORCH_CHECK(!device || number || tensor.device() == *device,
                    kSame,
                    *device,
                    " and ",
                    tensor.device(),
                    "!");
    });
}

/// The name of PyTorch's generated function, which differs for structured kernels. What is written
/// to out= of one comes here for the function without it as well.
std::string
MethodOf(const c10::OperatorHandle& operation, const std::string& base)
{
    const std::string& overload = operation.schema().overload_name();
    const bool isOut = overload.find("out") != std::string::npos;
    if (isOut ||
        operation.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional))
    {
        return "wrapper_" + base;
    }
    return "wrapper_" + overload + "_" + base + (overload.empty() ? "" : "_" + overload);
}

void
CheckSame(const c10::OperatorHandle& operation, Arguments arguments, const std::string& base)
{
    c10::optional<c10::Device> common;
    ForEachDefined(operation.schema(),
                   arguments,
                   [&](const at::Tensor& tensor, const c10::Argument& argument) {
                       common = common ? common : tensor.device();
                       TORCH_CHECK(tensor.device() == *common,
                                   kSame,
                                   *common,
                                   " and ",
                                   tensor.device(),
                                   "! (when checking argument for argument ",
                                   argument.name(),
                                   " in method ",
                                   MethodOf(operation, base),
                                   ")");
                   });
}

/// x[i] and x[i] = y: indices of the CPU go to the GPU by themselves; so do values without
/// dimensions.
void
CheckIndexing(const at::Tensor& self, Arguments arguments)
{
    ForEachTensor(arguments[1], [&](const at::Tensor& index) {
        TORCH_CHECK(!index.defined() || index.is_cpu() || index.device() == self.device(),
                    "indices should be either on cpu or on the same device as the indexed "
                    "tensor (",
                    self.device(),
                    ")");
    });
    if (arguments.size() > 2 && arguments[2].isTensor())
    {
        const at::Tensor values = arguments[2].toTensor();
        TORCH_CHECK(values.device() == self.device() || values.dim() == 0,
                    kSame,
                    self.device(),
                    " and ",
                    values.device(),
                    "!");
    }
}

} // namespace

void
CheckDevices(const c10::OperatorHandle& operation, Arguments arguments)
{
    if (!AreMixed(arguments))
    {
        return;
    }
    const c10::FunctionSchema& schema = operation.schema();
    const std::string& name = schema.name();
    const std::string base = BaseName(name);
    if (name.rfind("torchvision::", 0) == 0)
    {
        CheckSame(operation, arguments, base);
        return;
    }
    if (name.rfind("aten::", 0) != 0 || TakesAny(base))
    {
        return;
    }
    if (base == "index" || base == "_index_put_impl" || base == "index_put")
    {
        CheckIndexing(arguments[0].toTensor(), arguments);
    }
    else if (base == "masked_fill")
    {
        const at::Tensor self = arguments[0].toTensor();
        const at::Tensor mask = arguments[1].toTensor();
        TORCH_CHECK(self.device() == mask.device(),
                    "expected self and mask to be on the same device, but got mask on ",
                    mask.device(),
                    " and self on ",
                    self.device());
    }
    else if (base == "index_fill")
    {
        CheckPointwise(schema, arguments, 3); // the value may be of the CPU
    }
    else if (Pointwise().count(base) > 0)
    {
        CheckPointwise(schema, arguments);
    }
    else
    {
        CheckSame(operation, arguments, base);
    }
}

} // namespace capture
