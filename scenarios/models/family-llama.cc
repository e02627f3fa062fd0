/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Llama, up to Llama 4: experts in every block or every second one, beside one that sees all
 * tokens, and attention in stretches of 8,192 tokens in three of four blocks (Llama4TextConfig of
 * huggingface/transformers src/transformers/models/llama4/configuration_llama4.py). Of pictures
 * nothing is read.
 */
#include "scenarios/models/family.h"

#include <algorithm>

namespace training
{

namespace
{

/// The blocks with experts: "moe_layers", or every so-many-th one.
void
ReadLlama4Experts(Config& c, Transformer& t)
{
    ExpertsShape& e = t.experts;
    e.count = c.Count("num_local_experts", kMostHeads, 16);
    e.topK = c.Count("num_experts_per_tok", kMostHeads, 1);
    e.ffn = t.ffn;
    e.sharedFfn = t.ffn;
    t.ffn = c.Count("intermediate_size_mlp", kMostFfn, 16384);
    const uint32_t step = c.Count("interleave_moe_layer_step", kMostLayers, 1);
    const std::vector<uint32_t> listed = c.Counts("moe_layers", kMostLayers);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool routed = c.Given("moe_layers")
                                ? std::find(listed.begin(), listed.end(), i) != listed.end()
                                : (i + 1) % step == 0;
        blocks[i].feed = routed ? Feed::kExperts : Feed::kMlp;
    }
}

/// Blocks with positions see their stretch of the sequence; the others all of it.
void
ReadLlama4Stretches(Config& c, Transformer& t)
{
    const uint32_t stretch = c.Count("attention_chunk_size", kMostSequence, 8192);
    if (ReadLayerTypes(c, t, "chunked_attention", stretch))
    {
        return;
    }
    const std::vector<uint32_t> placed = c.Counts("no_rope_layers", 1);
    if (!placed.empty() && !c.HasOneEach("no_rope_layers", placed.size(), t.layers))
    {
        return;
    }
    const uint32_t interval = c.Count("no_rope_layer_interval", kMostLayers, 4);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool hasPlaces = placed.empty() ? (i + 1) % interval != 0 : placed[i] != 0;
        t.blocks[i].chunked = hasPlaces;
        t.blocks[i].window = hasPlaces ? stretch : 0;
    }
}

void
ReadLlama4(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.keyNorm = c.Flag("use_qk_norm", true) ? KeyNorm::kPlain : KeyNorm::kNone;
    ReadLlama4Experts(c, t);
    ReadLlama4Stretches(c, t);
}

const RegisteredFamily g_llama(
    {"llama",
     {{"llama", "Llama", "Llama", ReadLlama},
      {"llama4", "Llama4", "Llama", ReadLlama4, "num_attention_heads", true},
      {"llama4_text", "Llama4Text", "Llama", ReadLlama4}}});

} // namespace

} // namespace training
