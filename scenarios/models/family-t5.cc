/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * T5. A config.json says nothing of the target, which is taken for as long as the source.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadT5(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("d_model", kMostHidden);
    t.headSize = c.Count("d_kv", kMostHeads);
    t.ffn = c.Count("d_ff", kMostFfn);
    t.encoderLayers = c.Count("num_layers", kMostLayers);
    t.layers = c.Given("num_decoder_layers") ? c.Count("num_decoder_layers", kMostLayers)
                                             : t.encoderLayers;
    t.heads = c.Count("num_heads", kMostHeads);
    t.kvHeads = t.heads;
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.relativePositions = c.Count("relative_attention_num_buckets", kMostHeads, 32);
    const std::string form = c.Text("feed_forward_proj", "relu");
    // As T5Config has it (src/transformers/models/t5/configuration_t5.py): the name of an
    // activation, or "gated-" and one; "is_gated_act" overrides it, as in Flan-T5's first files.
    const bool gated = form.compare(0, 6, "gated-") == 0;
    const std::string activation = gated ? form.substr(6) : form;
    if (activation.empty() || activation.find('-') != std::string::npos)
    {
        c.In().Fail("feed_forward_proj",
                    "is not the name of an activation, or \"gated-\" and one; allowed: e.g. relu, "
                    "gated-gelu");
    }
    t.gated = c.Flag("is_gated_act", gated);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.dropout = c.Positive("dropout_rate", 0.1);
    t.rms = true;
    t.bias = false;
    model.sequence = c.Given("n_positions") ? c.Count("n_positions", kMostSequence) : 512;
}

const RegisteredFamily g_t5({"t5", {{"t5", "T5", "T5", ReadT5, "num_heads"}}});

} // namespace

} // namespace training
