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

// clang-format off
const char* const kGptOssZoo = R"zoo(
[
 {"name": "gpt-oss-20b", "sequence": 4096, "parameters_published": 20914757184,
  "active_published": 4187440704,
  "source": "openai/gpt-oss-20b config.json (Hugging Face); count published there; sequence: its initial_context_length",
  "config": {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
  "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
  "vocab_size": 201088, "tie_word_embeddings": false, "num_local_experts": 32, "num_experts_per_tok": 4,
  "sliding_window": 128, "attention_bias": true}},
 {"name": "gpt-oss-120b", "sequence": 4096, "parameters_published": 116829156672,
  "active_published": 5711982912,
  "source": "openai/gpt-oss-120b config.json (Hugging Face); count published there; sequence: its initial_context_length",
  "config": {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
  "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
  "vocab_size": 201088, "tie_word_embeddings": false, "num_local_experts": 128, "num_experts_per_tok": 4,
  "sliding_window": 128, "attention_bias": true}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
GptOssFamily()
{
    return {{{"gpt_oss", "GptOss", "gpt-oss", ReadGptOss}}, kGptOssZoo};
}

} // namespace training
