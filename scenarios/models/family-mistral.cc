/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Mistral and Mixtral. A file without "sliding_window" has one of 4,096 tokens (MistralConfig of
 * huggingface/transformers src/transformers/models/mistral/configuration_mistral.py), one with null
 * has none.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadMistral(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.window = c.In().Has("sliding_window") ? c.Count("sliding_window", kMostSequence, 0) : 4096;
}

void
ReadMixtral(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.window = c.Count("sliding_window", kMostSequence, 0);
    t.experts.count = c.Count("num_local_experts", kMostHeads);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads);
    t.experts.ffn = t.ffn;
}

const RegisteredFamily g_mistral(
    {"mistral",
     {{"mistral", "Mistral", "Mistral", ReadMistral},
      {"mistral3", "Mistral3", "Mistral", ReadMistral, "num_attention_heads", true},
      {"mixtral", "Mixtral", "Mistral", ReadMixtral}}});

} // namespace

} // namespace training
