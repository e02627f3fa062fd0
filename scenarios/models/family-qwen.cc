/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Qwen2, Qwen3 and Qwen3-Next (Qwen3NextConfig of huggingface/transformers
 * src/transformers/models/qwen3_next/configuration_qwen3_next.py; its module for multi-token
 * prediction is that of DeepSeek-V3, which gives the published count). Qwen3.5's models with
 * experts are built of the same blocks (docs/source/en/model_doc/qwen3_5_moe.md there).
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

/// From "max_window_layers" on blocks have a window, where "use_sliding_window" asks for it.
void
ReadQwenWindows(Config& c, Transformer& t)
{
    const uint32_t window = c.Count("sliding_window", kMostSequence, 4096);
    if (!c.Flag("use_sliding_window", false) || ReadLayerTypes(c, t, "sliding_attention", window))
    {
        return;
    }
    const uint32_t first = c.Count("max_window_layers", kMostLayers, 28, 0);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = first; i < t.layers; ++i)
    {
        blocks[i].window = window;
    }
}

void
ReadQwen2(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.qkvBias = true; // always
    t.outputBias = false;
    ReadQwenWindows(c, t);
}

void
ReadQwen3(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 128;
    t.keyNorm = KeyNorm::kHead;
    ReadQwenWindows(c, t);
}

void
ReadQwenExperts(Config& c, Transformer& t)
{
    t.experts.count = c.Count("num_experts", kMostHeads);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads);
    t.experts.ffn = c.Count("moe_intermediate_size", kMostFfn);
}

void
ReadQwen3Moe(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.keyNorm = KeyNorm::kHead;
    ReadQwenExperts(c, t);
    ReadQwenWindows(c, t);
    ReadSparseBlocks(c, t);
}

void
ReadQwen3Next(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 256;
    t.keyNorm = KeyNorm::kHead;
    t.attentionGate = true;
    t.predictor = true;
    ReadQwenExperts(c, t);
    t.experts.sharedFfn = c.Count("shared_expert_intermediate_size", kMostFfn, 512, 0);
    t.experts.sharedGate = t.experts.sharedFfn > 0;
    t.delta.keyHeads = c.Count("linear_num_key_heads", kMostHeads, 16);
    t.delta.valueHeads = c.Count("linear_num_value_heads", kMostHeads, 32);
    t.delta.keySize = c.Count("linear_key_head_dim", kMostHeads, 128);
    t.delta.valueSize = c.Count("linear_value_head_dim", kMostHeads, 128);
    t.delta.kernel = c.Count("linear_conv_kernel_dim", kMostHeads, 4);
    t.recurrences = t.delta.keyHeads;
    if (t.delta.keyHeads > 0 && t.delta.valueHeads % t.delta.keyHeads != 0)
    {
        c.Refuse(c.Either("linear_num_key_heads", "linear_num_value_heads"),
                 "does not divide linear_num_value_heads, " + std::to_string(t.delta.valueHeads));
    }
    std::vector<BlockShape>& blocks = EachBlock(t);
    const uint32_t interval = c.Count("full_attention_interval", kMostLayers, 4);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        blocks[i].mixer = (i + 1) % interval == 0 ? Mixer::kAttention : Mixer::kDelta;
    }
    ReadLayerTypes(c, t, "linear_attention", 0);
    ReadSparseBlocks(c, t);
}

const RegisteredFamily g_qwen({"qwen",
                               {{"qwen2", "Qwen2", "Qwen", ReadQwen2},
                                {"qwen3", "Qwen3", "Qwen", ReadQwen3},
                                {"qwen3_moe", "Qwen3Moe", "Qwen", ReadQwen3Moe},
                                {"qwen3_next", "Qwen3Next", "Qwen", ReadQwen3Next},
                                {"qwen3_5_moe", "Qwen3_5Moe", "Qwen", ReadQwen3Next}}});

} // namespace

} // namespace training
