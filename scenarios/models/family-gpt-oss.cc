/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * gpt-oss (GptOssConfig of huggingface/transformers
 * src/transformers/models/gpt_oss/configuration_gpt_oss.py): every second block has a window, heads
 * have sinks, and router and experts biases.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGptOss(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 64;
    t.qkvBias = t.outputBias = c.Flag("attention_bias", true);
    t.sinks = true;
    ExpertsShape& e = t.experts;
    e.count = c.Count("num_local_experts", kMostHeads, 128);
    e.topK = c.Count(c.Either("num_experts_per_tok", "experts_per_token"), kMostHeads, 4);
    e.ffn = t.ffn;
    e.bias = true;
    e.routerBias = true;
    const uint32_t window = c.Count("sliding_window", kMostSequence, 128);
    if (!ReadLayerTypes(c, t, "sliding_attention", window))
    {
        std::vector<BlockShape>& blocks = EachBlock(t);
        for (uint32_t i = 0; i < t.layers; i += 2)
        {
            blocks[i].window = window;
        }
    }
    if (c.Given("initial_context_length"))
    {
        model.sequence = c.Count("initial_context_length", kMostSequence);
    }
}

const RegisteredFamily g_gptOss({"gpt-oss", {{"gpt_oss", "GptOss", "gpt-oss", ReadGptOss}}});

} // namespace

} // namespace training
