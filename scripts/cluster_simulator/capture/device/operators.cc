/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operators.h"

#include "checks.h"
#include "device.h"
#include "mirror.h"
#include "mixing.h"
#include "pytorch.h"
#include "record.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <unordered_map>
#include <unordered_set>

namespace capture
{

namespace
{

/// Small operators on known values are computed; of whole numbers larger ones, as far as what they
/// make is not too large.
constexpr int64_t kMostComputedElements = 65536;
constexpr int64_t kMostComputedIntegers = 16 << 20;
constexpr int64_t kMostBroadcast = 16 << 20;
/// What an operator without a shape rule may take of the host's memory.
constexpr size_t kMostZeros = 1ULL << 30;

Stack
Redispatched(const c10::OperatorHandle& operation, Arguments arguments, Mirror::To to)
{
    Mirror mirror(to);
    Stack stack;
    for (size_t i = 0; i < arguments.size(); ++i)
    {
        stack.push_back(mirror.There(arguments[i]));
        // The CPU's kernel would draw from the CPU's generator, which torch.cuda.set_rng_state and
        // torch.cuda.manual_seed leave alone.
        if (arguments[i].isNone() && operation.schema().arguments()[i].name() == "generator")
        {
            stack.back() =
                at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, CurrentDevice()));
        }
    }
    // Zeros and values of the CPU's own kernels are not the GPU's work.
    const PartOfAnother part;
    operation.redispatchBoxed(c10::DispatchKeySet(to == Mirror::To::kMeta ? c10::DispatchKey::Meta
                                                                          : c10::DispatchKey::CPU),
                              &stack);
    for (c10::IValue& value : stack)
    {
        value = mirror.Back(value);
    }
    return stack;
}

/// One call of an operator, with what its schema says.
class Call
{
  public:
    Call(const c10::OperatorHandle& operation, Arguments arguments)
        : m_operation(operation),
          m_schema(operation.schema()),
          m_arguments(arguments)
    {
        for (const c10::IValue& argument : arguments)
        {
            ForEachTensor(argument, [this](const at::Tensor& tensor) {
                if (OnGpu(tensor))
                {
                    m_onGpu = true;
                    m_known = m_known && HasValue(tensor);
                    m_assumed = m_assumed || IsAssumed(tensor);
                    const bool real = InfoOf(tensor).real || tensor.numel() == 0;
                    m_real = m_real && real;
                    const bool mask = tensor.scalar_type() == at::kBool;
                    m_maskWithout = m_maskWithout || (!real && mask);
                    m_masks = m_masks && mask;
                    m_integers = m_integers && c10::isIntegralType(tensor.scalar_type(), true);
                    m_elements += tensor.numel();
                    m_bytes += tensor.nbytes();
                    Broadcast(tensor.sizes());
                }
            });
        }
    }

    Written WhatIsWritten() const
    {
        Written written;
        for (size_t i = 0; i < m_arguments.size(); ++i)
        {
            if (Writes(i))
            {
                written.arguments.push_back(static_cast<int64_t>(i));
                if (m_schema.arguments()[i].kwarg_only())
                {
                    written.places.push_back(static_cast<int64_t>(i));
                }
            }
        }
        return written;
    }

    /// Fills `results`; returns who found them.
    const char* Run(Stack& results)
    {
        if (const Rule* rule = FindRule(m_operation.operator_name()))
        {
            (*rule)(m_operation, m_arguments, results);
            return "rule";
        }
        return RunWithoutRule(results);
    }

    const char* RunWithoutRule(Stack& results)
    {
        if (IsFill())
        {
            BecomeKnown();
        }
        if (m_onGpu && m_known && IsSmall() && OnValues(results))
        {
            for (const c10::IValue& result : results)
            {
                ForEachTensor(result, [this](const at::Tensor& tensor) {
                    if (m_assumed)
                    {
                        SetAssumed(tensor);
                    }
                });
            }
            return "value";
        }
        if (m_onGpu && !m_known && OnUnknown(results))
        {
            TakeAsSolved(results);
            return "unknown";
        }
        const char* how = WithoutValues(results);
        for (size_t i = 0; i < m_arguments.size(); ++i)
        {
            if (Writes(i))
            {
                ForEachTensor(m_arguments[i], [](const at::Tensor& tensor) { Invalidate(tensor); });
            }
        }
        AssumeChoices(results);
        TakeAllAsTrue(results);
        TakeAsSolved(results);
        return how;
    }

  private:
    const std::string& Name() const
    {
        return m_schema.name();
    }

    bool Writes(size_t argument) const
    {
        const auto* alias = m_schema.arguments()[argument].alias_info();
        return alias != nullptr && alias->isWrite();
    }

    /// What pointwise operators would make of all tensors together.
    void Broadcast(at::IntArrayRef sizes)
    {
        m_broadcast.resize(std::max(m_broadcast.size(), sizes.size()), 1);
        for (size_t i = 0; i < sizes.size(); ++i)
        {
            int64_t& size = m_broadcast[i];
            size = std::max(size, sizes[sizes.size() - 1 - i]);
        }
    }

    /// `only`: what is made of it is.
    bool IsSmall(bool only = false) const
    {
        int64_t made = 1;
        for (const int64_t size : m_broadcast)
        {
            made = made > kMostBroadcast ? made : made * std::max<int64_t>(size, 1);
        }
        return made <= kMostBroadcast &&
               (only || m_elements < (m_integers ? kMostComputedIntegers : kMostComputedElements));
    }

    /// Argument that is the dimension along which an operator chooses, by name.
    static const std::unordered_map<std::string, size_t>& Choosers()
    {
        static const std::unordered_map<std::string, size_t> choosers = {
            {"aten::topk", 2},
            {"aten::sort", 1},
            {"aten::argsort", 1},
            {"aten::argmax", 1},
            {"aten::argmin", 1},
            {"aten::max", 1},
            {"aten::min", 1},
            {"aten::kthvalue", 2},
            {"aten::median", 1},
            {"aten::nanmedian", 1},
            {"aten::mode", 1},
            {"aten::multinomial", SIZE_MAX},
        };
        return choosers;
    }

    /// (max and min without a dimension, or of two tensors, choose nothing.)
    bool IsChooser() const
    {
        const auto chooser = Choosers().find(Name());
        return chooser != Choosers().end() &&
               (chooser->second > m_arguments.size() || m_arguments.size() > chooser->second) &&
               !(m_arguments.size() > 1 && m_arguments[1].isTensor());
    }

    /// Indices that an operator chooses along a dimension, of values that are not known.
    void AssumeChoices(const Stack& results) const
    {
        if (!m_onGpu || !IsChooser() || !m_arguments[0].isTensor())
        {
            return;
        }
        size_t which = Choosers().at(Name());
        if (which < m_schema.arguments().size() && m_schema.arguments()[which].name() == "stable")
        {
            ++which;
        }
        const at::Tensor from = m_arguments[0].toTensor();
        int64_t dimension = -1;
        int64_t choices = from.dim() > 0 ? from.size(-1) : 1;
        if (which < m_arguments.size())
        {
            const c10::IValue& told = m_arguments[which];
            dimension = told.isInt() ? told.toInt() : -1;
            choices = told.isInt() ? (from.dim() > 0 ? from.size(dimension) : 1) : from.numel();
        }
        for (const c10::IValue& result : results)
        {
            ForEachTensor(result, [&](const at::Tensor& tensor) {
                if (OnGpu(tensor) && tensor.scalar_type() == at::kLong && tensor.numel() > 0 &&
                    InfoOf(tensor).real && !tensor.is_same(from))
                {
                    Spread(tensor, dimension, choices, tensor.dim() == from.dim());
                }
            });
        }
    }

    /// Round robin, so that what stands along the dimension is different.
    static void Spread(const at::Tensor& tensor, int64_t dimension, int64_t choices, bool along)
    {
        const PartOfAnother part;
        const at::NoGradGuard guard;
        at::Tensor values = at::arange(tensor.numel(), at::kLong).remainder(choices);
        if (along && tensor.dim() > 0)
        {
            std::vector<int64_t> sizes = tensor.sizes().vec();
            const auto place = static_cast<size_t>(
                dimension < 0 ? dimension + static_cast<int64_t>(sizes.size()) : dimension);
            const int64_t length = sizes[place];
            sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(place));
            sizes.push_back(length);
            values = values.view(sizes).movedim(-1, static_cast<int64_t>(place));
        }
        else
        {
            values = values.view(tensor.sizes());
        }
        OnHost(tensor.detach()).copy_(values);
        InfoOf(tensor).valid = InfoOf(tensor).assumed = true;
    }

    bool IsFill() const
    {
        return Name() == "aten::zero_" || Name() == "aten::fill_";
    }

    /// All of a small storage is overwritten, so what was in it does not matter.
    void BecomeKnown()
    {
        const at::Tensor tensor = m_arguments[0].toTensor();
        StorageInfo& info = InfoOf(tensor);
        bool fromKnown = true;
        ForEachTensor(m_arguments.back(), [&](const at::Tensor& value) {
            fromKnown = fromKnown && (value.is_same(tensor) || HasValue(value));
        });
        if (info.real && fromKnown && tensor.nbytes() == info.bytes)
        {
            info.valid = m_known = true;
            info.assumed = false;
        }
    }

    /// Of a mask that is too large to have values: what a script asks of all of them (are the
    /// gradients finite?) holds, as it does for a smaller one of zeros, and as any() is false.
    void TakeAllAsTrue(const Stack& results) const
    {
        if (!m_onGpu || m_known || Name() != "aten::all")
        {
            return;
        }
        for (const c10::IValue& result : results)
        {
            ForEachTensor(result, [](const at::Tensor& tensor) {
                if (OnGpu(tensor) && InfoOf(tensor).real)
                {
                    const PartOfAnother part;
                    OnHost(tensor.detach()).fill_(1);
                    SetUnknown(tensor);
                }
            });
        }
    }

    /// A matrix that is not known is regular, and positive definite: cholesky_ex and its like say
    /// whether they failed in what they call info.
    void TakeAsSolved(const Stack& results) const
    {
        const auto& returns = m_schema.returns();
        if (!m_onGpu || m_known)
        {
            return;
        }
        for (size_t i = 0; i < std::min(results.size(), returns.size()); ++i)
        {
            const std::string& name = returns[i].name();
            if ((name == "info" || name == "infos") && results[i].isTensor() &&
                OnGpu(results[i].toTensor()) && InfoOf(results[i].toTensor()).real)
            {
                const PartOfAnother part;
                OnHost(results[i].toTensor().detach()).zero_();
                SetUnknown(results[i].toTensor());
            }
        }
    }

    /// What is not known counts as 0, and so does what is made of it: guards of scripts (is the
    /// loss finite?) find what they would for a 0. Of large tensors only what compares them is
    /// computed, as if they were small numbers.
    bool OnUnknown(Stack& results) const
    {
        static const std::unordered_set<std::string> kComparisons = {
            "aten::eq",
            "aten::ne",
            "aten::lt",
            "aten::le",
            "aten::gt",
            "aten::ge",
            "aten::isnan",
            "aten::isinf",
            "aten::all",
            "aten::any",
            "aten::logical_not",
            "aten::logical_and",
            "aten::logical_or",
            "aten::bitwise_and",
            "aten::bitwise_or",
            "aten::bitwise_not",
        };
        // isfinite() multiplies two masks.
        const bool compares =
            (kComparisons.count(Name()) > 0 || (m_masks && Name() == "aten::mul")) &&
            IsSmall(true) && !m_maskWithout;
        if (IsChooser() || !((m_real && IsSmall()) || compares) ||
            !OnValues(results, compares ? Mirror::To::kHostOne : Mirror::To::kHost))
        {
            return false;
        }
        const auto unknown = [](const at::Tensor& tensor) {
            SetUnknown(tensor);
            if (OnGpu(tensor) && InfoOf(tensor).real && tensor.is_floating_point())
            {
                const PartOfAnother part;
                const at::NoGradGuard guard;
                OnHost(tensor.detach()).nan_to_num_(0, 0, 0);
            }
        };
        for (const c10::IValue& result : results)
        {
            ForEachTensor(result, unknown);
        }
        for (size_t i = 0; i < m_arguments.size(); ++i)
        {
            if (Writes(i))
            {
                ForEachTensor(m_arguments[i], unknown);
            }
        }
        return true;
    }

    bool OnValues(Stack& results, Mirror::To to = Mirror::To::kHost) const
    {
        try
        {
            results = Redispatched(m_operation, m_arguments, to);
            return true;
        }
        catch (const c10::Error&)
        {
            return false; // in half precision the CPU lacks kernels that Meta and GPUs have
        }
    }

    const char* WithoutValues(Stack& results)
    {
        // What the CPU does tensor by tensor is one kernel or few on a GPU.
        if (Name().rfind("aten::_foreach", 0) == 0)
        {
            const PartOfAnother part;
            results.assign(m_arguments.begin(), m_arguments.end());
            m_operation.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &results);
            return "foreach";
        }
        // (Meta's kernel of it in 1.13 is a function of Python that does not know out=.)
        if (Name() == "aten::huber_loss_backward" && LikeInput(results))
        {
            return "like-input";
        }
        if (AlongDimension(results))
        {
            return "along-dimension";
        }
        if (OnMeta(results))
        {
            // Factories: torch.arange(8, device="cuda") has values.
            if (!m_onGpu && results.size() == 1 && results[0].isTensor() &&
                OnGpu(results[0].toTensor()) && InfoOf(results[0].toTensor()).real)
            {
                Stack values;
                values.swap(results);
                if (OnValues(results))
                {
                    return "value";
                }
                values.swap(results);
            }
            return "meta";
        }
        if (InPlace(results))
        {
            return "in-place";
        }
        if (LikeInput(results))
        {
            return "like-input";
        }
        if (OnZeros(results))
        {
            return "zeros";
        }
        TORCH_CHECK_NOT_IMPLEMENTED(false,
                                    "capture: no shape is known for the operator ",
                                    m_operation.operator_name(),
                                    " (at ",
                                    SourceLine(),
                                    ")");
    }

    /// Values and their indices, one each along a dimension: Meta has no shapes of these.
    bool AlongDimension(Stack& results) const
    {
        static const std::unordered_set<std::string> kNames = {
            "aten::kthvalue",
            "aten::median",
            "aten::nanmedian",
            "aten::mode",
        };
        const auto argument = [this](const char* name) {
            const auto index = m_schema.argumentIndexWithName(name);
            return index && static_cast<size_t>(*index) < m_arguments.size() ? m_arguments[*index]
                                                                             : c10::IValue();
        };
        const c10::IValue dimension = argument("dim");
        if (kNames.count(Name()) == 0 || m_schema.returns().size() != 2 || !dimension.isInt() ||
            m_schema.returns()[0].alias_info() != nullptr)
        {
            return false;
        }
        const at::Tensor tensor = m_arguments[0].toTensor();
        std::vector<int64_t> sizes = tensor.sizes().vec();
        const int64_t place = at::maybe_wrap_dim(dimension.toInt(), tensor.dim());
        if (!sizes.empty() && argument("keepdim").toBool())
        {
            sizes[place] = 1;
        }
        else if (!sizes.empty())
        {
            sizes.erase(sizes.begin() + place);
        }
        results.push_back(Result(sizes, tensor.scalar_type(), tensor));
        results.push_back(Result(sizes, at::kLong, tensor));
        return true;
    }

    bool OnMeta(Stack& results) const
    {
        try
        {
            results = Redispatched(m_operation, m_arguments, Mirror::To::kMeta);
            return true;
        }
        catch (const c10::NotImplementedError&)
        {
            return false;
        }
        catch (const c10::Error& error)
        {
            // Some kernels of Meta say only in words that they are none.
            const std::string text = error.what();
            if (text.find("meta") == std::string::npos && text.find("Meta") == std::string::npos)
            {
                throw; // the script's own mistake: shapes that do not fit
            }
            return false;
        }
    }

    bool InPlace(Stack& results) const
    {
        Stack found;
        for (const auto& result : m_schema.returns())
        {
            if (result.alias_info() == nullptr || !result.alias_info()->isWrite())
            {
                return false;
            }
            for (size_t i = 0; i < m_arguments.size(); ++i)
            {
                const auto* alias = m_schema.arguments()[i].alias_info();
                if (alias != nullptr && *alias == *result.alias_info())
                {
                    // out= of a tensor without elements becomes what the operator makes it.
                    if (m_schema.arguments()[i].kwarg_only() && m_arguments[i].isTensor() &&
                        m_arguments[i].toTensor().numel() == 0)
                    {
                        return false;
                    }
                    found.push_back(m_arguments[i]);
                    break;
                }
            }
        }
        bool writes = false;
        for (size_t i = 0; i < m_arguments.size(); ++i)
        {
            writes = writes || Writes(i);
        }
        results = found;
        return writes;
    }

    /// A gradient of an input has its shape: x_backward(grad_output, self, ...). So have factors.
    bool LikeInput(Stack& results) const
    {
        static const std::string suffix = "_backward";
        const std::string& name = Name();
        if (name == "aten::cholesky" || name == "aten::cholesky_inverse")
        {
            results.push_back(ResultLike(m_arguments[0].toTensor()));
            return true;
        }
        if (m_arguments.size() < 2 || m_schema.returns().size() != 1 ||
            name.size() < suffix.size() ||
            name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0 ||
            !m_arguments[1].isTensor())
        {
            return false;
        }
        const std::string& input = m_schema.arguments()[1].name();
        if (input != "self" && input != "input")
        {
            return false;
        }
        results.push_back(ResultLike(m_arguments[1].toTensor()));
        return true;
    }

    bool OnZeros(Stack& results) const
    {
        if (m_bytes > kMostZeros)
        {
            return false;
        }
        try
        {
            results = Redispatched(m_operation, m_arguments, Mirror::To::kHostZeros);
        }
        catch (const c10::Error&)
        {
            return false;
        }
        for (const c10::IValue& result : results)
        {
            ForEachTensor(result, [](const at::Tensor& tensor) { Invalidate(tensor); });
        }
        return true;
    }

    const c10::OperatorHandle& m_operation;
    const c10::FunctionSchema& m_schema;
    Arguments m_arguments;
    bool m_onGpu = false;
    bool m_known = true;
    bool m_assumed = false;
    bool m_real = true;               ///< all tensors have memory, whatever is in it
    bool m_maskWithout = false;       ///< one of truth values has not: it is no mask of zeros
    bool m_integers = true;           ///< all tensors
    bool m_masks = true;              ///< all tensors are of truth values
    std::vector<int64_t> m_broadcast; ///< the last dimension first
    int64_t m_elements = 0;
    size_t m_bytes = 0;
};

int
DeviceOf(Arguments arguments)
{
    for (const c10::IValue& argument : arguments)
    {
        int device = -1;
        ForEachTensor(argument, [&device](const at::Tensor& tensor) {
            device = device < 0 && OnGpu(tensor) ? static_cast<int>(tensor.get_device()) : device;
        });
        if (device >= 0)
        {
            return device;
        }
    }
    return CurrentDevice();
}

void
RunAny(const c10::OperatorHandle& operation, c10::DispatchKeySet, Stack* stack)
{
    const OwnWork own;
    const size_t count = operation.schema().arguments().size();
    const Stack arguments(std::make_move_iterator(stack->end() - static_cast<ptrdiff_t>(count)),
                          std::make_move_iterator(stack->end()));
    stack->erase(stack->end() - static_cast<ptrdiff_t>(count), stack->end());
    UseGpus();
    CheckDevices(operation, arguments);
    CheckArguments(operation, arguments);
    Stack results;
    // On the GPU of its tensors, whichever is the current one.
    const OnDevice on(DeviceOf(arguments));
    Call call(operation, arguments);
    const char* how = call.Run(results);
    RecordOperator(operation.operator_name(), arguments, call.WhatIsWritten(), results, how);
    for (c10::IValue& result : results)
    {
        stack->push_back(std::move(result));
    }
}

/// Operators for which PyTorch has a kernel of all devices, which would go before the fallback.
const std::vector<const char*>&
NamesToRegister()
{
    static const std::vector<const char*> names = {
        "empty.memory_format",
        "empty_strided",
        "view",
        "as_strided",
        "_reshape_alias",
        "copy_",
        "_local_scalar_dense",
        "equal",
        "nonzero",
        "masked_select",
        "is_pinned",
        "_pin_memory",
        "record_stream",
        "resize_",
        "set_.source_Storage",
        "set_.source_Storage_storage_offset",
        "set_.source_Tensor",
        "set_",
        "convolution",
        "convolution_backward",
        "native_batch_norm",
        "native_batch_norm_backward",
        "native_layer_norm",
        "native_layer_norm_backward",
        "native_dropout",
        "native_dropout_backward",
        "embedding_dense_backward",
        "silu_backward",
        "mish_backward",
        // Else PyTorch makes of them what writes into a result that has no shape yet.
        "mse_loss",
        "smooth_l1_loss",
        "huber_loss_backward",
        "kthvalue",
        "median.dim",
        "nanmedian.dim",
        "mode",
        // FSDP2's copies into and out of what is sent.
        "_chunk_cat",
        "_chunk_cat.out",
        "split_with_sizes_copy.out",
        "addr",
        "addr.out",
    };
    return names;
}

} // namespace

void
RunWithoutRule(const char* name, const char* overload, const Stack& arguments, Stack& results)
{
    const auto operation = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    Call(operation, arguments).RunWithoutRule(results);
}

} // namespace capture

TORCH_LIBRARY_IMPL(_, CUDA, library)
{
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&capture::RunAny>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library)
{
    const auto register_ = [&library](const std::string& name) {
        library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&capture::RunAny>());
    };
    for (const std::string name : capture::NamesToRegister())
    {
        const size_t dot = name.find('.');
        const c10::OperatorName operation("aten::" + name.substr(0, dot),
                                          dot == std::string::npos ? "" : name.substr(dot + 1));
        if (c10::Dispatcher::singleton().findSchema(operation))
        {
            register_(name);
        }
    }
    // PyTorch 2 has kernels of all devices for these, which go tensor by tensor.
    const std::string foreach = "aten::_foreach_";
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    {
        const bool isOut = name.overload_name.find("out") != std::string::npos;
        if (name.name.rfind(foreach, 0) == 0 && !isOut)
        {
            const std::string own = name.name.substr(std::string("aten::").size());
            register_(name.overload_name.empty() ? own : own + "." + name.overload_name);
        }
    }
}
