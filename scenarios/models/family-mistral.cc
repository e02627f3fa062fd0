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

// clang-format off
const char* const kMistralZoo = R"zoo(
[
 {"name": "mistral-7b", "aliases": ["mistral-7b-v0.1"], "family": "Mistral", "layers": 32, "hidden": 4096,
  "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 32000, "sequence": 8192, "tied_embeddings": false,
  "gated_mlp": true, "norm": "rms", "bias": false, "dropout": false, "parameters_published": 7241732096,
  "source": "mistralai/Mistral-7B-v0.1 config.json (Hugging Face); count published there"},
 {"name": "ministral-8b", "aliases": ["ministral-8b-2410"], "sequence": 32768,
  "parameters_published": 8019808256,
  "source": "mistralai/Ministral-8B-Instruct-2410 config.json (Hugging Face); count published there; sequence: assumed",
  "config": {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 12288,
  "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 131072, "tie_word_embeddings": false, "sliding_window": 32768}},
 {"name": "mistral-nemo-12b", "aliases": ["mistral-nemo"], "sequence": 8192,
  "parameters_published": 12247782400,
  "source": "mistralai/Mistral-Nemo-Base-2407 config.json (Hugging Face); count published there; sequence: assumed",
  "config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 14336,
  "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 131072, "tie_word_embeddings": false, "sliding_window": null}},
 {"name": "mistral-small-24b", "aliases": ["mistral-small", "mistral-small-3"], "sequence": 8192,
  "parameters_published": 23572403200,
  "source": "mistralai/Mistral-Small-24B-Base-2501 config.json (Hugging Face); count published there; sequence: assumed",
  "config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768,
  "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 131072, "tie_word_embeddings": false, "sliding_window": null}},
 {"name": "mixtral-8x7b", "family": "Mistral", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8,
  "vocab": 32000, "sequence": 32768, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "experts": {"count": 8, "top_k": 2, "ffn": 14336}, "parameters_published": 46702792704,
  "source": "mistralai/Mixtral-8x7B-v0.1 config.json (Hugging Face); count published there"},
 {"name": "mistral-large-123b", "aliases": ["mistral-large", "mistral-large-2407"], "sequence": 8192,
  "parameters_published": 122610069504,
  "source": "mistralai/Mistral-Large-Instruct-2407 config.json (Hugging Face); count published there; sequence: assumed",
  "config": {"model_type": "mistral", "hidden_size": 12288, "intermediate_size": 28672,
  "num_hidden_layers": 88, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 32768, "tie_word_embeddings": false, "sliding_window": null}},
 {"name": "mixtral-8x22b", "family": "Mistral", "layers": 56, "hidden": 6144, "heads": 48, "kv_heads": 8,
  "vocab": 32000, "sequence": 65536, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "experts": {"count": 8, "top_k": 2, "ffn": 16384}, "parameters_published": 140620634112,
  "source": "mistralai/Mixtral-8x22B-v0.1 config.json (Hugging Face); count published there"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
MistralFamily()
{
    return {{{"mistral", "Mistral", "Mistral", ReadMistral},
             {"mistral3", "Mistral3", "Mistral", ReadMistral, "num_attention_heads", true},
             {"mixtral", "Mixtral", "Mistral", ReadMixtral}},
            kMistralZoo};
}

} // namespace training
