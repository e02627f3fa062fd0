/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "attention-choice.h"

#include "pytorch.h"

#if CAPTURE_PYTORCH_2
#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <algorithm>
#include <array>
#endif

namespace capture
{

#if CAPTURE_PYTORCH_2

namespace
{

int g_capability = 8;

constexpr int kAmpere = 8;
constexpr int64_t kLargestHead = 256; ///< of FlashAttention

struct Attention
{
    const at::Tensor& query;
    const at::Tensor& key;
    const at::Tensor& value;
    bool masked;
    bool causal;
};

bool
IsHalf(const at::Tensor& tensor)
{
    return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

/// What both fused kernels ask for: samples x heads x tokens x size, none of them empty.
bool
IsFusable(const Attention& one)
{
    const std::array<const at::Tensor*, 3> all = {&one.query, &one.key, &one.value};
    return std::all_of(all.begin(), all.end(), [](const at::Tensor* tensor) {
        return tensor->dim() == 4 && tensor->numel() > 0 && tensor->stride(-1) == 1;
    });
}

bool
TakesFlash(const Attention& one)
{
    const bool square = one.query.size(-2) == one.key.size(-2);
    return g_capability >= kAmpere && IsHalf(one.query) && !one.masked && (!one.causal || square) &&
           one.query.size(-1) <= kLargestHead && one.query.size(-1) == one.key.size(-1) &&
           one.query.size(-1) == one.value.size(-1);
}

bool
TakesEfficient(const Attention& one)
{
    const bool single = one.query.scalar_type() == at::kFloat;
    const bool heads = one.query.size(-3) == one.key.size(-3);
    return heads && (single || one.query.scalar_type() == at::kHalf ||
                     (one.query.scalar_type() == at::kBFloat16 && g_capability >= kAmpere));
}

/// Flash, efficient, plain: the first that fits and that the script leaves on.
int64_t
Choose(const at::Tensor& query,
       const at::Tensor& key,
       const at::Tensor& value,
       const std::optional<at::Tensor>& mask,
       double,
       bool causal,
       std::optional<double>,
       bool)
{
    const Attention one{query, key, value, mask.has_value() && mask->defined(), causal};
    const at::Context& context = at::globalContext();
    if (IsFusable(one) && context.userEnabledFlashSDP() && TakesFlash(one))
    {
        return static_cast<int64_t>(at::SDPBackend::flash_attention);
    }
    if (IsFusable(one) && context.userEnabledMemEfficientSDP() && TakesEfficient(one))
    {
        return static_cast<int64_t>(at::SDPBackend::efficient_attention);
    }
    TORCH_CHECK(context.userEnabledMathSDP(), "No available kernel. Aborting execution.");
    return static_cast<int64_t>(at::SDPBackend::math);
}

} // namespace

void
InstallAttentionChoice(int capability)
{
    g_capability = capability;
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&Choose);
}

#else

void
InstallAttentionChoice(int)
{
}

#endif

} // namespace capture
