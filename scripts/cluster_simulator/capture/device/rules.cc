/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shapes of operators for which PyTorch 1.13 has no Meta kernel, or one that does not fit a GPU.
 * Arguments are those of native_functions.yaml.
 */
#include "device.h"
#include "operators.h"
#include "record.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/item_native.h>
#include <ATen/ops/view_native.h>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace capture
{

namespace
{

using c10::IValue;
using Operation = const c10::OperatorHandle&;

std::vector<int64_t>
Ints(const IValue& value)
{
    return value.isNone() ? std::vector<int64_t>{} : value.toIntVector();
}

at::ScalarType
TypeOf(const IValue& value)
{
    return value.isNone() ? at::typeMetaToScalarType(at::get_default_dtype())
                          : value.toScalarType();
}

c10::optional<at::Device>
DeviceOf(const IValue& value)
{
    return value.isNone() ? c10::nullopt : c10::optional<at::Device>(value.toDevice());
}

c10::optional<at::Tensor>
Optional(const IValue& value)
{
    if (value.isTensor() && value.toTensor().defined())
    {
        return value.toTensor();
    }
    return c10::nullopt;
}

int64_t
Product(at::IntArrayRef sizes)
{
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Statistics of half precision are kept in single.
at::ScalarType
StatisticsType(const at::Tensor& tensor)
{
    const at::ScalarType type = tensor.scalar_type();
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

at::Tensor
Vector(int64_t size, at::ScalarType type, const at::Tensor& beside)
{
    return Result({size}, type, beside);
}

// ---- memory and views

void
EmptyRule(Operation, Arguments a, Stack& results)
{
    results.push_back(Empty(
        Ints(a[0]),
        TypeOf(a[1]),
        DeviceOf(a[3]),
        a[5].isNone() ? c10::nullopt : c10::optional<at::MemoryFormat>(a[5].toMemoryFormat())));
}

void
EmptyStridedRule(Operation, Arguments a, Stack& results)
{
    results.push_back(EmptyStrided(Ints(a[0]), Ints(a[1]), TypeOf(a[2]), DeviceOf(a[4])));
}

void
View(Operation, Arguments a, Stack& results)
{
    results.push_back(at::native::view(a[0].toTensor(), Ints(a[1])));
}

void
AsStrided(Operation, Arguments a, Stack& results)
{
    results.push_back(at::native::as_strided_tensorimpl(
        a[0].toTensor(),
        Ints(a[1]),
        Ints(a[2]),
        a[3].isNone() ? c10::nullopt : c10::optional<int64_t>(a[3].toInt())));
}

void
ReshapeAlias(Operation, Arguments a, Stack& results)
{
    results.push_back(at::native::_reshape_alias(a[0].toTensor(), Ints(a[1]), Ints(a[2])));
}

void
Copy(Operation, Arguments a, Stack& results)
{
    const at::Tensor destination = a[0].toTensor();
    const at::Tensor source = a[1].toTensor();
    if (OnGpu(source) != OnGpu(destination) && !a[2].toBool())
    {
        // What is copied is waited for (aten/src/ATen/native/cuda/Copy.cu, memcpy_and_sync).
        const at::Tensor& there = OnGpu(source) ? source : destination;
        ProgramWaits(there.get_device(), CurrentStreamOf(there.get_device()));
    }
    // (broadcast, as copy_ does)
    CopyValues(destination,
               source.sizes() == destination.sizes() ? source : source.expand(destination.sizes()));
    results.push_back(destination);
}

void
Resize(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    const std::vector<int64_t> sizes = Ints(a[1]);
    ResizeStorage(tensor, (Product(sizes) + tensor.storage_offset()) * tensor.itemsize(), false);
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    results.push_back(tensor);
}

void
Set(Operation operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    const std::string& overload = operation.schema().overload_name();
    if (overload == "source_Storage")
    {
        const c10::Storage storage = a[1].toStorage();
        impl->set_storage_keep_dtype(storage);
        impl->set_storage_offset(0);
        impl->set_sizes_contiguous({static_cast<int64_t>(storage.nbytes() / tensor.itemsize())});
    }
    else if (overload == "source_Storage_storage_offset")
    {
        const std::vector<int64_t> strides = Ints(a[4]);
        impl->set_storage_keep_dtype(a[1].toStorage());
        impl->set_storage_offset(a[2].toInt());
        if (strides.empty())
        {
            impl->set_sizes_contiguous(Ints(a[3]));
        }
        else
        {
            impl->set_sizes_and_strides(Ints(a[3]), strides);
        }
    }
    else if (overload == "source_Tensor")
    {
        const at::Tensor source = a[1].toTensor();
        impl->set_storage_keep_dtype(source.storage());
        impl->set_storage_offset(source.storage_offset());
        impl->set_sizes_and_strides(source.sizes(), source.strides());
    }
    else
    {
        impl->set_storage_keep_dtype(Empty({0}, tensor.scalar_type(), tensor.device()).storage());
        impl->set_storage_offset(0);
        impl->set_sizes_contiguous({0});
    }
    results.push_back(tensor);
}

void
IsPinned(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    results.push_back(tensor.is_cpu() && IsPinnedMemory(tensor.storage().data()));
}

void
PinMemory(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    at::Tensor pinned = at::detail::empty_strided_generic(
        tensor.sizes(),
        tensor.is_non_overlapping_and_dense() ? tensor.strides() : tensor.contiguous().strides(),
        PinnedAllocator(),
        c10::DispatchKeySet(c10::DispatchKey::CPU),
        tensor.scalar_type());
    results.push_back(pinned.copy_(tensor));
}

void
RecordStreamRule(Operation, Arguments a, Stack&)
{
    RecordStream(a[0].toTensor().storage().data_ptr(), a[1].toStream());
}

// ---- values that the host asks for

void
Item(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    ProgramWaits(tensor.get_device(), CurrentStreamOf(tensor.get_device()));
    const at::Scalar value = InfoOf(tensor).real ? at::native::item(OnHost(tensor)) : at::Scalar(0);
    if (!HasValue(tensor))
    {
        const bool holds = value.isBoolean() && value.toBool();
        Note("a value that only a GPU would compute is read as " +
             std::string(holds ? "true" : "0") + " at " + ToldLine());
    }
    else if (IsAssumed(tensor))
    {
        NoteAssumed("what is read");
    }
    results.push_back(value);
}

void
Equal(Operation, Arguments a, Stack& results)
{
    const at::Tensor one = a[0].toTensor();
    const at::Tensor other = a[1].toTensor();
    if (HasValue(one) && HasValue(other))
    {
        results.push_back(
            at::equal(OnGpu(one) ? OnHost(one) : one, OnGpu(other) ? OnHost(other) : other));
        return;
    }
    Note("torch.equal of values that only a GPU would compute is taken as true at " + ToldLine());
    results.push_back(one.sizes() == other.sizes());
}

at::Tensor
Uploaded(const at::Tensor& value, const at::Tensor& beside)
{
    at::Tensor result = Empty(value.sizes(), value.scalar_type(), beside.device());
    CopyValues(result, value);
    return result;
}

/// A shape was made of assumed values; so are the values of the result, if it has any.
void
SayAssumed(std::initializer_list<at::Tensor> inputs, const Stack& results, bool values = true)
{
    if (std::any_of(inputs.begin(), inputs.end(), &IsAssumed))
    {
        NoteAssumed("a shape");
        if (values)
        {
            SetAssumed(results.back().toTensor());
        }
    }
}

void
NonZero(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    ProgramWaits(tensor.get_device(), CurrentStreamOf(tensor.get_device()));
    if (HasValue(tensor))
    {
        results.push_back(Uploaded(OnHost(tensor).nonzero(), tensor));
        SayAssumed({tensor}, results);
        return;
    }
    Note("the shape depends on values that only a GPU would compute: nonzero() takes all as true "
         "at " +
         ToldLine());
    results.push_back(Result({tensor.numel(), tensor.dim()}, at::kLong, tensor));
}

void
MaskedSelect(Operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    const at::Tensor mask = a[1].toTensor();
    const std::vector<int64_t> sizes = at::infer_size(tensor.sizes(), mask.sizes());
    if (HasValue(tensor) && HasValue(mask))
    {
        results.push_back(Uploaded(OnHost(tensor).masked_select(OnHost(mask)), tensor));
        SayAssumed({tensor, mask}, results);
        return;
    }
    if (HasValue(mask))
    {
        // How many is known.
        results.push_back(
            Vector(OnHost(mask.expand(sizes)).sum().item<int64_t>(), tensor.scalar_type(), tensor));
        SayAssumed({mask}, results, false);
        return;
    }
    Note("the shape depends on values that only a GPU would compute: masked_select() takes all as "
         "true at " +
         ToldLine());
    results.push_back(Vector(Product(sizes), tensor.scalar_type(), tensor));
}

/// x[mask]: masks are as many indices as they have places that are true.
void
Index(Operation operation, Arguments a, Stack& results)
{
    const at::Tensor tensor = a[0].toTensor();
    const PartOfAnother part;
    c10::List<c10::optional<at::Tensor>> indices;
    for (const IValue& item : a[1].toListRef())
    {
        const auto index = Optional(item);
        const bool isMask =
            index && index->is_cuda() &&
            (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte);
        if (!isMask)
        {
            indices.push_back(index);
            continue;
        }
        const at::Tensor places = at::nonzero(*index);
        for (int64_t dimension = 0; dimension < index->dim(); ++dimension)
        {
            indices.push_back(c10::make_optional(places.select(1, dimension)));
        }
    }
    Stack mapped{tensor, indices};
    mapped.insert(mapped.end(), a.begin() + 2, a.end()); // out
    const std::string& overload = operation.schema().overload_name();
    RunWithoutRule("aten::index", overload.c_str(), mapped, results);
}

// ---- detection (torchvision): boxes are those of values that nobody knows

/// nms(boxes, scores, threshold): all stay.
void
Nms(Operation, Arguments a, Stack& results)
{
    const at::Tensor boxes = a[0].toTensor();
    results.push_back(Vector(boxes.size(0), at::kLong, boxes));
}

/// roi_align(input, rois, scale, height, width, ratio, aligned)
void
RoiAlign(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    results.push_back(Result({a[1].toTensor().size(0), input.size(1), a[3].toInt(), a[4].toInt()},
                             input.scalar_type(),
                             input));
}

/// _roi_align_backward(grad, rois, scale, height, width, samples, channels, rows, columns, ...)
void
RoiAlignBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor gradient = a[0].toTensor();
    results.push_back(Result({a[5].toInt(), a[6].toInt(), a[7].toInt(), a[8].toInt()},
                             gradient.scalar_type(),
                             gradient));
}

// ---- convolutions

void
Convolution(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    const at::Tensor weight = a[1].toTensor();
    const bool transposed = a[6].toBool();
    const int64_t groups = a[8].toInt();
    const auto dimensions = static_cast<size_t>(input.dim() - 2);
    auto each = [&](const IValue& value) {
        std::vector<int64_t> numbers = Ints(value);
        numbers.resize(dimensions, numbers.empty() ? 0 : numbers[0]);
        return numbers;
    };
    const std::vector<int64_t> stride = each(a[3]);
    const std::vector<int64_t> padding = each(a[4]);
    const std::vector<int64_t> dilation = each(a[5]);
    const std::vector<int64_t> outputPadding = each(a[7]);
    TORCH_CHECK(input.dim() == weight.dim() &&
                    (transposed ? input.size(1) == weight.size(0)
                                : input.size(1) == weight.size(1) * groups),
                "Given groups=",
                groups,
                ", weight of size ",
                weight.sizes(),
                ", expected input",
                input.sizes(),
                " to have ",
                transposed ? weight.size(0) : weight.size(1) * groups,
                " channels, but got ",
                input.size(1),
                " channels instead");
    const at::Tensor bias = a[2].isTensor() ? a[2].toTensor() : at::Tensor();
    for (const auto& [name, parameter] : {std::pair("weight", weight), std::pair("bias", bias)})
    {
        TORCH_CHECK(!parameter.defined() || input.options().type_equal(parameter.options()),
                    "Input type (",
                    input.toString(),
                    ") and ",
                    name,
                    " type (",
                    parameter.toString(),
                    ") should be the same");
        TORCH_CHECK(!parameter.defined() || input.device() == parameter.device(),
                    "Expected all tensors to be on the same device, but found at least two "
                    "devices, ",
                    input.device(),
                    " and ",
                    parameter.device(),
                    "! (when checking argument for argument ",
                    name,
                    " in method wrapper__cudnn_convolution)");
    }
    const std::vector<int64_t> sizes = transposed ? at::native::conv_input_size(input.sizes(),
                                                                                weight.sizes(),
                                                                                padding,
                                                                                outputPadding,
                                                                                stride,
                                                                                dilation,
                                                                                groups)
                                                  : at::native::conv_output_size(input.sizes(),
                                                                                 weight.sizes(),
                                                                                 padding,
                                                                                 stride,
                                                                                 dilation);
    TORCH_CHECK(std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; }),
                "Calculated output size is too small: ",
                sizes);
    const bool channelsLast =
        input.dim() == 4 && (input.suggest_memory_format() == at::MemoryFormat::ChannelsLast ||
                             weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
    at::Tensor output =
        Empty(sizes,
              input.scalar_type(),
              input.device(),
              channelsLast ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
    Invalidate(output);
    results.push_back(output);
}

void
ConvolutionBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor gradient = a[0].toTensor();
    const auto mask = a[10].toBoolList();
    results.push_back(mask[0] ? ResultLike(a[1].toTensor()) : at::Tensor());
    results.push_back(mask[1] ? ResultLike(a[2].toTensor()) : at::Tensor());
    results.push_back(mask[2] ? Vector(gradient.size(1), gradient.scalar_type(), gradient)
                              : at::Tensor());
}

// ---- norms

void
BatchNorm(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    const bool training = a[5].toBool();
    const int64_t channels = training ? input.size(1) : 0;
    results.push_back(ResultLike(input));
    results.push_back(Vector(channels, StatisticsType(input), input));
    results.push_back(Vector(channels, StatisticsType(input), input));
    for (const size_t running : {3, 4})
    {
        if (const auto tensor = Optional(a[running]); training && tensor)
        {
            Invalidate(*tensor);
        }
    }
}

void
BatchNormBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[1].toTensor();
    const auto weight = Optional(a[2]);
    const auto mask = a[9].toBoolList();
    const at::ScalarType type = weight ? weight->scalar_type() : StatisticsType(input);
    results.push_back(mask[0] ? ResultLike(input) : at::Tensor());
    for (const size_t i : {1, 2})
    {
        results.push_back(mask[i] ? Vector(input.size(1), type, input) : at::Tensor());
    }
}

void
LayerNorm(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    const auto normalized = static_cast<int64_t>(Ints(a[1]).size());
    std::vector<int64_t> outer = input.sizes().vec();
    std::fill(outer.end() - normalized, outer.end(), 1);
    results.push_back(Result(input.sizes(), input.scalar_type(), input));
    results.push_back(Result(outer, StatisticsType(input), input));
    results.push_back(Result(outer, StatisticsType(input), input));
}

void
LayerNormBackward(Operation, Arguments a, Stack& results)
{
    const auto mask = a[7].toBoolList();
    results.push_back(mask[0] ? ResultLike(a[1].toTensor()) : at::Tensor());
    for (const size_t i : {1, 2})
    {
        const auto parameter = Optional(a[4 + i]);
        results.push_back(mask[i] && parameter ? ResultLike(*parameter) : at::Tensor());
    }
}

/// mean and inverse deviation, or mean and variance, of each channel
void
ChannelStatistics(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    for (int i = 0; i < 2; ++i)
    {
        results.push_back(Vector(input.size(1), at::kFloat, input));
    }
}

void
LikeFirst(Operation, Arguments a, Stack& results)
{
    results.push_back(ResultLike(a[0].toTensor()));
}

void
LikeSecond(Operation, Arguments a, Stack& results)
{
    results.push_back(ResultLike(a[1].toTensor()));
}

/// sums of gradients and of gradients times input, then gradients of weight and bias
void
BatchNormBackwardReduce(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[1].toTensor();
    const std::vector<bool> wanted = {a[5].toBool(), a[5].toBool(), a[6].toBool(), a[7].toBool()};
    for (const bool is : wanted)
    {
        results.push_back(is ? Vector(input.size(1), at::kFloat, input) : at::Tensor());
    }
}

// ---- others

void
Dropout(Operation, Arguments a, Stack& results)
{
    const at::Tensor input = a[0].toTensor();
    results.push_back(ResultLike(input));
    results.push_back(Result(input.sizes(), at::kBool, input));
}

/// (gradient, indices, offset2bag, bag_size, maximum_indices, rows, ...): in 16 bits the CPU has
/// none.
void
EmbeddingBagBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor gradient = a[0].toTensor();
    results.push_back(Result({a[5].toInt(), gradient.size(1)}, gradient.scalar_type(), gradient));
}

void
EmbeddingBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor gradient = a[0].toTensor();
    results.push_back(Result({a[2].toInt(), gradient.size(-1)}, gradient.scalar_type(), gradient));
}

void
Multinomial(Operation, Arguments a, Stack& results)
{
    const at::Tensor weights = a[0].toTensor();
    std::vector<int64_t> sizes = weights.sizes().vec();
    sizes.back() = a[1].toInt();
    results.push_back(Result(sizes, at::kLong, weights));
}

void
NoCudnnCtc(Operation, Arguments, Stack& results)
{
    results.push_back(false);
}

void
LstmCell(Operation, Arguments a, Stack& results)
{
    const at::Tensor gates = a[0].toTensor();
    const at::Tensor cell = a[2].toTensor();
    results.push_back(ResultLike(cell));
    results.push_back(ResultLike(cell));
    results.push_back(ResultLike(gates));
}

void
LstmCellBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor cell = a[2].toTensor();
    const at::Tensor workspace = a[4].toTensor();
    results.push_back(ResultLike(workspace));
    results.push_back(ResultLike(cell));
    results.push_back(a[5].toBool() ? Vector(workspace.size(1), workspace.scalar_type(), workspace)
                                    : at::Tensor());
}

void
GruCell(Operation, Arguments a, Stack& results)
{
    const at::Tensor hidden = a[2].toTensor();
    results.push_back(ResultLike(hidden));
    results.push_back(Result({hidden.size(0), hidden.size(1) * 5}, hidden.scalar_type(), hidden));
}

void
GruCellBackward(Operation, Arguments a, Stack& results)
{
    const at::Tensor hidden = a[0].toTensor();
    const int64_t gates = 3 * hidden.size(1);
    for (int i = 0; i < 2; ++i)
    {
        results.push_back(Result({hidden.size(0), gates}, hidden.scalar_type(), hidden));
    }
    results.push_back(ResultLike(hidden));
    for (int i = 0; i < 2; ++i)
    {
        results.push_back(a[2].toBool() ? Vector(gates, hidden.scalar_type(), hidden)
                                        : at::Tensor());
    }
}

// ---- loss scaling (torch.cuda.amp)

/// Gradients are divided by the scale. That one is infinite only a GPU could tell: none is.
void
UnscaleGradients(Operation, Arguments a, Stack&)
{
    ForEachTensor(a[0], [](const at::Tensor& gradient) { Invalidate(gradient); });
}

/// _amp_update_scale_(scale, growth_tracker, found_inf, growth, backoff, interval)
void
UpdateScale(Operation, Arguments a, Stack& results)
{
    const at::Tensor scale = a[0].toTensor();
    const at::Tensor tracker = a[1].toTensor();
    const at::Tensor foundInfinite = a[2].toTensor();
    if (HasValue(scale) && HasValue(tracker) && HasValue(foundInfinite))
    {
        auto* value = OnHost(scale).data_ptr<float>();
        auto* steps = OnHost(tracker).data_ptr<int>();
        if (*OnHost(foundInfinite).data_ptr<float>() != 0)
        {
            *value *= static_cast<float>(a[4].toDouble());
            *steps = 0;
        }
        else if (++*steps == a[5].toInt())
        {
            *value *= static_cast<float>(a[3].toDouble());
            *steps = 0;
        }
    }
    else
    {
        Invalidate(scale);
    }
    results.push_back(scale);
}

const std::unordered_map<std::string, Rule>&
Rules()
{
    static const std::unordered_map<std::string, Rule> rules = {
        {"aten::empty.memory_format", EmptyRule},
        {"aten::empty_strided", EmptyStridedRule},
        {"aten::view", View},
        {"aten::as_strided", AsStrided},
        {"aten::_reshape_alias", ReshapeAlias},
        {"aten::copy_", Copy},
        {"aten::resize_", Resize},
        {"aten::set_", Set},
        {"aten::is_pinned", IsPinned},
        {"aten::_pin_memory", PinMemory},
        {"aten::record_stream", RecordStreamRule},
        {"aten::_local_scalar_dense", Item},
        {"aten::equal", Equal},
        {"aten::nonzero", NonZero},
        {"aten::masked_select", MaskedSelect},
        {"aten::index.Tensor", Index},
        {"aten::index.Tensor_out", Index},
        {"torchvision::nms", Nms},
        {"torchvision::roi_align", RoiAlign},
        {"torchvision::_roi_align_backward", RoiAlignBackward},
        {"aten::convolution", Convolution},
        {"aten::convolution_backward", ConvolutionBackward},
        {"aten::native_batch_norm", BatchNorm},
        {"aten::native_batch_norm_backward", BatchNormBackward},
        {"aten::native_layer_norm", LayerNorm},
        {"aten::native_layer_norm_backward", LayerNormBackward},
        {"aten::batch_norm_stats", ChannelStatistics},
        {"aten::batch_norm_gather_stats_with_counts", ChannelStatistics},
        {"aten::batch_norm_elemt", LikeFirst},
        {"aten::batch_norm_backward_reduce", BatchNormBackwardReduce},
        {"aten::batch_norm_backward_elemt", LikeSecond},
        {"aten::native_dropout", Dropout},
        {"aten::native_dropout_backward", LikeFirst},
        {"aten::embedding_dense_backward", EmbeddingBackward},
        {"aten::_embedding_bag_dense_backward", EmbeddingBagBackward},
        {"aten::multinomial", Multinomial},
        {"aten::_use_cudnn_ctc_loss", NoCudnnCtc},
        {"aten::_thnn_fused_lstm_cell", LstmCell},
        {"aten::_thnn_fused_lstm_cell_backward_impl", LstmCellBackward},
        {"aten::_thnn_fused_gru_cell", GruCell},
        {"aten::_thnn_fused_gru_cell_backward", GruCellBackward},
        {"aten::_amp_foreach_non_finite_check_and_unscale_", UnscaleGradients},
        {"aten::_amp_update_scale_", UpdateScale},
    };
    return rules;
}

} // namespace

const Rule*
FindRule(const c10::OperatorName& name)
{
    const auto& rules = Rules();
    auto found =
        rules.find(name.overload_name.empty() ? name.name : name.name + "." + name.overload_name);
    if (found == rules.end())
    {
        found = rules.find(name.name);
    }
    return found == rules.end() ? nullptr : &found->second;
}

} // namespace capture
