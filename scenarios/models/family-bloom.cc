/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * BLOOM.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadBloom(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count(c.Either("hidden_size", "n_embed"), kMostHidden);
    t.layers = c.Count(c.Either("n_layer", "num_hidden_layers"), kMostLayers);
    t.heads = c.Count(c.Either("n_head", "num_attention_heads"), kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = 4 * t.hidden;
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.embeddingNorm = true;
    t.alibi = true;
    t.dropout = c.Positive("hidden_dropout", 0);
    model.sequence = c.Given("seq_length") ? c.Count("seq_length", kMostSequence) : 2048;
}

const RegisteredFamily g_bloom({"bloom", {{"bloom", "Bloom", "BLOOM", ReadBloom, "n_head"}}});

} // namespace

} // namespace training
