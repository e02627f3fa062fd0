/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Llama, up to Llama 4: experts in every block or every second one, beside one that sees all
 * tokens, and attention in stretches of 8,192 tokens in three of four blocks (Llama4TextConfig of
 * huggingface/transformers src/transformers/models/llama4/configuration_llama4.py). Of pictures
 * nothing is read.
 */
#include "scenarios/models/family.h"

#include <algorithm>

namespace training
{

namespace
{

/// The blocks with experts: "moe_layers", or every so-many-th one.
void
ReadLlama4Experts(Config& c, Transformer& t)
{
    ExpertsShape& e = t.experts;
    e.count = c.Count("num_local_experts", kMostHeads, 16);
    e.topK = c.Count("num_experts_per_tok", kMostHeads, 1);
    e.ffn = t.ffn;
    e.sharedFfn = t.ffn;
    t.ffn = c.Count("intermediate_size_mlp", kMostFfn, 16384);
    const uint32_t step = c.Count("interleave_moe_layer_step", kMostLayers, 1);
    const std::vector<uint32_t> listed = c.Counts("moe_layers", kMostLayers);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool routed = c.Given("moe_layers")
                                ? std::find(listed.begin(), listed.end(), i) != listed.end()
                                : (i + 1) % step == 0;
        blocks[i].feed = routed ? Feed::kExperts : Feed::kMlp;
    }
}

/// Blocks with positions see their stretch of the sequence; the others all of it.
void
ReadLlama4Stretches(Config& c, Transformer& t)
{
    const uint32_t stretch = c.Count("attention_chunk_size", kMostSequence, 8192);
    if (ReadLayerTypes(c, t, "chunked_attention", stretch))
    {
        return;
    }
    const std::vector<uint32_t> placed = c.Counts("no_rope_layers", 1);
    if (!placed.empty() && !c.HasOneEach("no_rope_layers", placed.size(), t.layers))
    {
        return;
    }
    const uint32_t interval = c.Count("no_rope_layer_interval", kMostLayers, 4);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        const bool hasPlaces = placed.empty() ? (i + 1) % interval != 0 : placed[i] != 0;
        t.blocks[i].chunked = hasPlaces;
        t.blocks[i].window = hasPlaces ? stretch : 0;
    }
}

void
ReadLlama4(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.keyNorm = c.Flag("use_qk_norm", true) ? KeyNorm::kPlain : KeyNorm::kNone;
    ReadLlama4Experts(c, t);
    ReadLlama4Stretches(c, t);
}

// clang-format off
const char* const kLlamaZoo = R"zoo(
[
 {"name": "llama-7b", "aliases": ["llama1-7b"], "family": "Llama", "layers": 32, "hidden": 4096, "heads": 32,
  "kv_heads": 32, "ffn": 11008, "vocab": 32000, "sequence": 2048, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 6738415616,
  "source": "Touvron et al., arXiv 2302.13971, table 2; count: that of its weights in transformers"},
 {"name": "llama-13b", "aliases": ["llama1-13b"], "family": "Llama", "layers": 40, "hidden": 5120, "heads": 40,
  "kv_heads": 40, "ffn": 13824, "vocab": 32000, "sequence": 2048, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 13015864320,
  "source": "Touvron et al., arXiv 2302.13971, table 2; count: that of its weights in transformers"},
 {"name": "llama-33b", "aliases": ["llama1-33b", "llama-30b"], "family": "Llama", "layers": 60, "hidden": 6656,
  "heads": 52, "kv_heads": 52, "ffn": 17920, "vocab": 32000, "sequence": 2048, "tied_embeddings": false,
  "gated_mlp": true, "norm": "rms", "bias": false, "dropout": false, "parameters_published": 32528943616,
  "source": "Touvron et al., arXiv 2302.13971, table 2; count: that of its weights in transformers"},
 {"name": "llama-65b", "aliases": ["llama1-65b"], "family": "Llama", "layers": 80, "hidden": 8192, "heads": 64,
  "kv_heads": 64, "ffn": 22016, "vocab": 32000, "sequence": 2048, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 65285660672,
  "source": "Touvron et al., arXiv 2302.13971, table 2; count: that of its weights in transformers"},
 {"name": "llama2-7b", "family": "Llama", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 32, "ffn": 11008,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 6738415616,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama2-13b", "family": "Llama", "layers": 40, "hidden": 5120, "heads": 40, "kv_heads": 40, "ffn": 13824,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 13015864320,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama2-70b", "family": "Llama", "layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 68976648192,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-8b", "aliases": ["llama3.1-8b"], "family": "Llama", "layers": 32, "hidden": 4096, "heads": 32,
  "kv_heads": 8, "ffn": 14336, "vocab": 128256, "sequence": 8192, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 8030261248,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-70b", "aliases": ["llama3.1-70b"], "family": "Llama", "layers": 80, "hidden": 8192, "heads": 64,
  "kv_heads": 8, "ffn": 28672, "vocab": 128256, "sequence": 8192, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 70553706496,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-405b", "aliases": ["llama3.1-405b"], "family": "Llama", "layers": 126, "hidden": 16384,
  "heads": 128, "kv_heads": 8, "ffn": 53248, "vocab": 128256, "sequence": 8192, "tied_embeddings": false,
  "gated_mlp": true, "norm": "rms", "bias": false, "dropout": false, "parameters_published": 405853388800,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3.2-1b", "sequence": 8192, "parameters_published": 1235814400,
  "source": "meta-llama/Llama-3.2-1B config.json (Hugging Face); count published there; sequence: as Llama 3",
  "config": {"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256,
  "tie_word_embeddings": true}},
 {"name": "llama3.2-3b", "sequence": 8192, "parameters_published": 3212749824,
  "source": "meta-llama/Llama-3.2-3B config.json (Hugging Face); count published there; sequence: as Llama 3",
  "config": {"model_type": "llama", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28,
  "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
  "tie_word_embeddings": true}},
 {"name": "llama4-scout", "aliases": ["llama4-scout-17b-16e", "llama4-17b-16e"], "sequence": 8192,
  "parameters_published": 107769861120, "active_published": 17172894720,
  "source": "meta-llama/Llama-4-Scout-17B-16E config.json (Hugging Face), text_config; sequence: its original_max_position_embeddings",
  "config": {"model_type": "llama4",
  "text_config": {"hidden_size": 5120, "intermediate_size": 8192, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "intermediate_size_mlp": 16384, "interleave_moe_layer_step": 1, "num_local_experts": 16, "num_experts_per_tok": 1, "use_qk_norm": true, "attention_chunk_size": 8192}}},
 {"name": "llama4-maverick", "aliases": ["llama4-maverick-17b-128e", "llama4-17b-128e"], "sequence": 8192,
  "parameters_published": 400711848960, "active_published": 17184691200,
  "source": "meta-llama/Llama-4-Maverick-17B-128E config.json (Hugging Face), text_config; sequence: as Scout",
  "config": {"model_type": "llama4",
  "text_config": {"hidden_size": 5120, "intermediate_size": 8192, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "intermediate_size_mlp": 16384, "interleave_moe_layer_step": 2, "num_local_experts": 128, "num_experts_per_tok": 1, "use_qk_norm": false, "attention_chunk_size": 8192}}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
LlamaFamily()
{
    return {{{"llama", "Llama", "Llama", ReadLlama},
             {"llama4", "Llama4", "Llama", ReadLlama4, "num_attention_heads", true},
             {"llama4_text", "Llama4Text", "Llama", ReadLlama4}},
            kLlamaZoo};
}

} // namespace training
