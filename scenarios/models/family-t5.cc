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

// clang-format off
const char* const kT5Zoo = R"zoo(
[
 {"name": "t5-small", "aliases": ["google-t5-small"], "family": "T5", "layers": 6, "encoder_layers": 6,
  "hidden": 512, "heads": 8, "ffn": 2048, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "parameters_published": 60506624,
  "source": "t5-small config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-base", "aliases": ["google-t5-base"], "family": "T5", "layers": 12, "encoder_layers": 12,
  "hidden": 768, "heads": 12, "ffn": 3072, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "parameters_published": 222903552,
  "source": "t5-base config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-large", "aliases": ["google-t5-large"], "family": "T5", "layers": 24, "encoder_layers": 24,
  "hidden": 1024, "heads": 16, "ffn": 4096, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "parameters_published": 737668096,
  "source": "t5-large config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-3b", "aliases": ["google-t5-3b"], "family": "T5", "layers": 24, "encoder_layers": 24, "hidden": 1024,
  "heads": 32, "head_size": 128, "ffn": 16384, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "parameters_published": 2851598336,
  "source": "t5-3b config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-11b", "aliases": ["google-t5-11b"], "family": "T5", "layers": 24, "encoder_layers": 24,
  "hidden": 1024, "heads": 128, "head_size": 128, "ffn": 65536, "vocab": 32128, "sequence": 512,
  "target_sequence": 114, "relative_positions": 32, "norm": "rms", "bias": false,
  "parameters_published": 11307321344,
  "source": "t5-11b config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-v1.1-small", "aliases": ["t5-1.1-small"], "family": "T5", "layers": 8, "encoder_layers": 8,
  "hidden": 512, "heads": 6, "head_size": 64, "ffn": 1024, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "gated_mlp": true, "tied_embeddings": false,
  "parameters_published": 76961152,
  "source": "google/t5-v1_1-small config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-v1.1-base", "aliases": ["t5-1.1-base"], "family": "T5", "layers": 12, "encoder_layers": 12,
  "hidden": 768, "heads": 12, "ffn": 2048, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "gated_mlp": true, "tied_embeddings": false,
  "parameters_published": 247577856,
  "source": "google/t5-v1_1-base config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-v1.1-large", "aliases": ["t5-1.1-large"], "family": "T5", "layers": 24, "encoder_layers": 24,
  "hidden": 1024, "heads": 16, "ffn": 2816, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "gated_mlp": true, "tied_embeddings": false,
  "parameters_published": 783150080,
  "source": "google/t5-v1_1-large config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-v1.1-xl", "aliases": ["t5-1.1-xl"], "family": "T5", "layers": 24, "encoder_layers": 24,
  "hidden": 2048, "heads": 32, "ffn": 5120, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "gated_mlp": true, "tied_embeddings": false,
  "parameters_published": 2849757184,
  "source": "google/t5-v1_1-xl config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"},
 {"name": "t5-v1.1-xxl", "aliases": ["t5-1.1-xxl"], "family": "T5", "layers": 24, "encoder_layers": 24,
  "hidden": 4096, "heads": 64, "ffn": 10240, "vocab": 32128, "sequence": 512, "target_sequence": 114,
  "relative_positions": 32, "norm": "rms", "bias": false, "gated_mlp": true, "tied_embeddings": false,
  "parameters_published": 11135332352,
  "source": "google/t5-v1_1-xxl config.json (Hugging Face); target: pre-training of google-research/t5x, 512 and 114 tokens; count: its weights"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
T5Family()
{
    return {{{"t5", "T5", "T5", ReadT5, "num_heads"}}, kT5Zoo};
}

} // namespace training
