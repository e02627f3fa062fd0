/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sources: what PyTorch 1.13 of Debian 12 says on its CPU
 * (tests/system/capture/capture-arguments.py compares them), and the arguments of
 * native_functions.yaml. Assumed: that its CUDA kernels read all tensors of a product and of a norm
 * as one type (data_ptr<T>(), whose words "expected scalar type ..." are), multiply no whole
 * numbers, and have the labels' types that are named below.
 */
#include "checks.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/layer_norm.h>
#include <unordered_map>

namespace capture
{

namespace
{

using Check = void (*)(const char* name, Arguments arguments);

at::Tensor
TensorOr(const c10::IValue& value)
{
    return value.isTensor() ? value.toTensor() : at::Tensor();
}

/// As data_ptr<T>() for the type of `first`.
void
CheckType(const at::Tensor& first, const at::Tensor& other)
{
    TORCH_CHECK(!other.defined() || other.scalar_type() == first.scalar_type(),
                "expected scalar type ",
                first.scalar_type(),
                " but found ",
                other.scalar_type());
}

void
CheckNotWhole(const char* name, const at::Tensor& tensor)
{
    TORCH_CHECK(!c10::isIntegralType(tensor.scalar_type(), true),
                "\"",
                name,
                "_cuda\" not implemented for '",
                tensor.scalar_type(),
                "'");
}

/// What is added has to be expandable to what is made.
void
CheckExpands(const at::Tensor& tensor, at::IntArrayRef sizes)
{
    at::inferExpandGeometry(tensor.sizes(), tensor.strides(), sizes);
}

void
CheckFactors(const char* name, const at::Tensor& one, const at::Tensor& other)
{
    CheckNotWhole(name, one);
    CheckType(one, other);
}

/// mm, bmm, mv (a, b)
void
Product(const char* name, Arguments a)
{
    CheckFactors(name, a[0].toTensor(), a[1].toTensor());
}

/// dot, vdot (a, b)
void
Dot(const char* name, Arguments a)
{
    const at::Tensor one = a[0].toTensor();
    const at::Tensor other = a[1].toTensor();
    TORCH_CHECK(one.dim() == 1 && other.dim() == 1,
                "1D tensors expected, but got ",
                one.dim(),
                "D and ",
                other.dim(),
                "D tensors");
    TORCH_CHECK(one.scalar_type() == other.scalar_type(),
                "dot : expected both vectors to have same dtype, but found ",
                one.scalar_type(),
                " and ",
                other.scalar_type());
    TORCH_CHECK(one.numel() == other.numel(),
                "inconsistent tensor size, expected tensor [",
                one.numel(),
                "] and src [",
                other.numel(),
                "] to have the same number of elements, but got ",
                one.numel(),
                " and ",
                other.numel(),
                " elements respectively");
    CheckNotWhole(name, one);
}

/// addmm, baddbmm, addmv (what is added, a, b): a is of .. x n x k, b of .. x k x m, or a vector k.
void
SumAndProduct(const char* name, Arguments a)
{
    const at::Tensor one = a[1].toTensor();
    const at::Tensor other = a[2].toTensor();
    CheckFactors(name, one, other);
    if (one.dim() < 2 || other.dim() < 1 || one.size(-1) != other.size(other.dim() > 1 ? -2 : 0))
    {
        return; // its Meta kernel says so
    }
    std::vector<int64_t> sizes = one.sizes().vec();
    sizes.pop_back();
    if (other.dim() > 1)
    {
        sizes.push_back(other.size(-1));
    }
    CheckExpands(a[0].toTensor(), sizes);
}

/// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
void
Convolution(const char*, Arguments a)
{
    const at::Tensor input = a[0].toTensor();
    const at::Tensor weight = a[1].toTensor();
    const at::Tensor bias = TensorOr(a[2]);
    const bool transposed = a[6].toBool();
    const int64_t groups = a[8].toInt();
    if (input.dim() != weight.dim() || input.dim() < 3)
    {
        return; // the rule says so
    }
    const auto dimensions = static_cast<size_t>(input.dim() - 2);
    const auto each = [dimensions](const c10::IValue& value) {
        std::vector<int64_t> numbers = value.toIntVector();
        numbers.resize(dimensions, numbers.empty() ? 0 : numbers[0]);
        return numbers;
    };
    const std::vector<int64_t> stride = each(a[3]);
    const std::vector<int64_t> padding = each(a[4]);
    const std::vector<int64_t> dilation = each(a[5]);
    const auto below = [](const std::vector<int64_t>& numbers, int64_t least) {
        return std::any_of(numbers.begin(), numbers.end(), [least](int64_t number) {
            return number < least;
        });
    };
    TORCH_CHECK(!below(padding, 0), "negative padding is not supported");
    TORCH_CHECK(!below(stride, 1), "non-positive stride is not supported");
    TORCH_CHECK(!below(dilation, 1), "dilation should be greater than zero");
    TORCH_CHECK(groups > 0, "non-positive groups is not supported");
    TORCH_CHECK(weight.size(0) % groups == 0,
                "Given groups=",
                groups,
                ", expected weight to be divisible by ",
                groups,
                " at dimension 0, but got weight of size ",
                weight.sizes(),
                " instead");
    const int64_t made = transposed ? weight.size(1) * groups : weight.size(0);
    TORCH_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == made),
                "Given ",
                transposed ? "transposed=1, " : "",
                "weight of size ",
                weight.sizes(),
                ", expected bias to be 1-dimensional with ",
                made,
                " elements, but got bias of size ",
                bias.defined() ? bias.sizes() : at::IntArrayRef(),
                " instead");
    std::string inputs;
    std::string kernels;
    bool fits = true;
    for (size_t i = 0; i < dimensions && !transposed; ++i)
    {
        const auto at = static_cast<int64_t>(i) + 2;
        const int64_t padded = input.size(at) + 2 * padding[i];
        const int64_t kernel = dilation[i] * (weight.size(at) - 1) + 1;
        fits = fits && kernel <= padded;
        inputs += (i ? " x " : "") + std::to_string(padded);
        kernels += (i ? " x " : "") + std::to_string(kernel);
    }
    TORCH_CHECK(fits,
                "Calculated padded input size per channel: (",
                inputs,
                "). Kernel size: (",
                kernels,
                "). Kernel size can't be greater than actual input size");
}

/// native_layer_norm(input, normalized_shape, weight, bias, eps)
void
LayerNorm(const char*, Arguments a)
{
    const at::Tensor input = a[0].toTensor();
    const at::Tensor weight = TensorOr(a[2]);
    const at::Tensor bias = TensorOr(a[3]);
    at::native::_check_layer_norm_inputs(input, a[1].toIntVector(), weight, bias);
    CheckType(input, weight);
    CheckType(input, bias);
}

/// nll_loss_forward(self, target, ...): its kernels are made for two types.
void
NllLoss(const char*, Arguments a)
{
    const at::ScalarType type = a[1].toTensor().scalar_type();
    TORCH_CHECK(type == at::kLong || type == at::kByte,
                "expected scalar type Long but found ",
                type);
}

/// nll_loss2d_forward, multi_margin_loss, multilabel_margin_loss_forward (self, target, ...)
void
LongTarget(const char*, Arguments a)
{
    const at::ScalarType type = a[1].toTensor().scalar_type();
    TORCH_CHECK(type == at::kLong, "expected scalar type Long but found ", type);
}

/// _softmax, _log_softmax (self, dim, half_to_float)
void
Softmax(const char* name, Arguments a)
{
    CheckNotWhole(name, a[0].toTensor());
}

/// index_select(self, dim, index)
void
IndexSelect(const char*, Arguments a)
{
    const at::Tensor index = a[2].toTensor();
    TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
    TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
                "index_select(): Expected dtype int32 or int64 for index");
}

/// triu, tril (self, diagonal)
void
Triangle(const char* name, Arguments a)
{
    const int64_t dimensions = a[0].toTensor().dim();
    TORCH_CHECK(dimensions >= 2,
                name,
                ": input tensor must have at least 2 dimensions, but has ",
                dimensions);
}

const std::unordered_map<std::string, Check>&
Checks()
{
    static const std::unordered_map<std::string, Check> checks = {
        {"mm", Product},
        {"bmm", Product},
        {"mv", Product},
        {"dot", Dot},
        {"vdot", Dot},
        {"addmm", SumAndProduct},
        {"_addmm_activation", SumAndProduct},
        {"baddbmm", SumAndProduct},
        {"addmv", SumAndProduct},
        {"convolution", Convolution},
        {"native_layer_norm", LayerNorm},
        {"nll_loss_forward", NllLoss},
        {"nll_loss2d_forward", LongTarget},
        {"multi_margin_loss", LongTarget},
        {"multilabel_margin_loss_forward", LongTarget},
        {"_softmax", Softmax},
        {"_log_softmax", Softmax},
        {"index_select", IndexSelect},
        {"triu", Triangle},
        {"tril", Triangle},
    };
    return checks;
}

} // namespace

void
CheckArguments(const c10::OperatorHandle& operation, Arguments arguments)
{
    const std::string& whole = operation.schema().name();
    if (whole.rfind("aten::", 0) != 0)
    {
        return;
    }
    std::string name = whole.substr(6);
    if (name.back() == '_')
    {
        name.pop_back(); // in place: the same arguments
    }
    if (const auto found = Checks().find(name); found != Checks().end())
    {
        found->second(name.c_str(), arguments);
    }
}

} // namespace capture
