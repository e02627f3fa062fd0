/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Phi. Phi-2 has attention and MLP side by side behind one norm (PhiDecoderLayer of
 * huggingface/transformers src/transformers/models/phi/modeling_phi.py); Phi-3 and Phi-4 are built
 * as Llama, Phi-3.5-MoE as Mixtral with norms that have an offset
 * (src/transformers/models/phimoe/configuration_phimoe.py).
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadPhi(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, t.heads);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.dropout = c.Positive("resid_pdrop", 0);
    t.oneNorm = true;
    t.headBias = true;
    c.MustBeOff("qk_layernorm");
    model.sequence = TrainedSequence(c, 2048);
}

/// Longer versions say at the top how long sequences were before.
void
TakeOriginalSequence(Config& c, ModelSpec& model)
{
    if (c.Given("original_max_position_embeddings"))
    {
        model.sequence = c.Count("original_max_position_embeddings", kMostSequence);
    }
}

void
ReadPhi3(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.window = c.Count("sliding_window", kMostSequence, 0);
    TakeOriginalSequence(c, model);
}

void
ReadPhiMoe(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.rms = false;
    t.window = c.Count("sliding_window", kMostSequence, 0);
    t.headBias = c.Flag("lm_head_bias", false);
    t.experts.count = c.Count("num_local_experts", kMostHeads, 16);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads, 2);
    t.experts.ffn = t.ffn;
    TakeOriginalSequence(c, model);
}

const RegisteredFamily g_phi({"phi",
                              {{"phi", "Phi", "Phi", ReadPhi},
                               {"phi3", "Phi3", "Phi", ReadPhi3},
                               {"phimoe", "PhiMoE", "Phi", ReadPhiMoe}}});

} // namespace

} // namespace training
