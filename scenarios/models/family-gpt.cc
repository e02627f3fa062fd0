/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPT-2 and GPT-3; in config.json also GPT-NeoX and OPT.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGpt2(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("n_embd", kMostHidden);
    t.layers = c.Count("n_layer", kMostLayers);
    t.heads = c.Count("n_head", kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = c.Count("n_inner", kMostFfn, 4 * t.hidden);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.positions = c.Count("n_positions", kMostSequence);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.dropout = c.Positive("resid_pdrop", 0.1);
    model.sequence = t.positions;
}

void
ReadGptNeoX(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.dropout = c.Positive("hidden_dropout", 0);
    if (!c.Flag("attention_bias", true))
    {
        c.In().Fail("attention_bias", "is not known here; allowed: true");
    }
    model.sequence = TrainedSequence(c, 2048);
}

void
ReadOpt(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("ffn_dim", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    model.sequence = c.Count("max_position_embeddings", kMostSequence);
    t.positions = model.sequence + 2; // the library's table starts at the third row
    t.tied = c.Flag("tie_word_embeddings", true);
    t.bias = c.Flag("enable_bias", true);
    t.dropout = c.Positive("dropout", 0.1);
    t.finalNorm =
        c.Flag("do_layer_norm_before", true) && !c.Flag("_remove_final_layer_norm", false);
    if (c.Count("word_embed_proj_dim", kMostHidden, t.hidden) != t.hidden)
    {
        c.In().Fail("word_embed_proj_dim",
                    "other than hidden_size is not known here; allowed: " +
                        std::to_string(t.hidden));
    }
}

const RegisteredFamily g_gpt({"gpt",
                              {{"gpt2", "GPT2", "GPT-2", ReadGpt2, "n_head"},
                               {"gpt_neox", "GPTNeoX", "GPT-NeoX", ReadGptNeoX},
                               {"opt", "OPT", "OPT", ReadOpt}}});

} // namespace

} // namespace training
