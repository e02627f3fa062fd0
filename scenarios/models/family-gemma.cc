/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Gemma 3 (Gemma3TextConfig of huggingface/transformers
 * src/transformers/models/gemma3/configuration_gemma3.py, whose defaults the published files leave
 * out): five of six blocks have a window, and norms stand ahead of attention and MLP and behind
 * them. Of pictures nothing is read.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGemma3(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("hidden_size", kMostHidden, 2304);
    t.layers = c.Count("num_hidden_layers", kMostLayers, 26);
    t.heads = c.Count("num_attention_heads", kMostHeads, 8);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, 4);
    t.headSize = c.Count("head_dim", kMostHeads, 256);
    t.ffn = c.Count("intermediate_size", kMostFfn, 9216);
    t.vocabulary = c.Count("vocab_size", kMostWords, 262208);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.gated = true;
    t.rms = true;
    t.bias = false;
    t.dropout = c.Positive("attention_dropout", 0);
    t.qkvBias = t.outputBias = c.Flag("attention_bias", false);
    t.keyNorm = KeyNorm::kHead;
    t.postNorms = true;
    model.sequence = TrainedSequence(c, 131072);
    const uint32_t window = c.Count("sliding_window", kMostSequence, 4096);
    if (ReadLayerTypes(c, t, "sliding_attention", window))
    {
        return;
    }
    const uint32_t pattern =
        c.Count(c.Either("sliding_window_pattern", "_sliding_window_pattern"), kMostLayers, 6);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        blocks[i].window = (i + 1) % pattern == 0 ? 0 : window;
    }
}

const RegisteredFamily g_gemma(
    {"gemma",
     {{"gemma3", "Gemma3", "Gemma", ReadGemma3, "num_attention_heads", true},
      {"gemma3_text", "Gemma3Text", "Gemma", ReadGemma3}}});

} // namespace

} // namespace training
