/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Qwen2, Qwen3 and Qwen3-Next (Qwen3NextConfig of huggingface/transformers
 * src/transformers/models/qwen3_next/configuration_qwen3_next.py; its module for multi-token
 * prediction is that of DeepSeek-V3, which gives the published count).
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

/// From "max_window_layers" on blocks have a window, where "use_sliding_window" asks for it.
void
ReadQwenWindows(Config& c, Transformer& t)
{
    const uint32_t window = c.Count("sliding_window", kMostSequence, 4096);
    if (!c.Flag("use_sliding_window", false) || ReadLayerTypes(c, t, "sliding_attention", window))
    {
        return;
    }
    const uint32_t first = c.Count("max_window_layers", kMostLayers, 28, 0);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = first; i < t.layers; ++i)
    {
        blocks[i].window = window;
    }
}

void
ReadQwen2(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.qkvBias = true; // always
    t.outputBias = false;
    ReadQwenWindows(c, t);
}

void
ReadQwen3(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 128;
    t.keyNorm = KeyNorm::kHead;
    ReadQwenWindows(c, t);
}

void
ReadQwenExperts(Config& c, Transformer& t)
{
    t.experts.count = c.Count("num_experts", kMostHeads);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads);
    t.experts.ffn = c.Count("moe_intermediate_size", kMostFfn);
}

void
ReadQwen3Moe(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.keyNorm = KeyNorm::kHead;
    ReadQwenExperts(c, t);
    ReadQwenWindows(c, t);
    ReadSparseBlocks(c, t);
}

void
ReadQwen3Next(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.headSize = t.headSize > 0 ? t.headSize : 256;
    t.keyNorm = KeyNorm::kHead;
    t.attentionGate = true;
    t.predictor = true;
    ReadQwenExperts(c, t);
    t.experts.sharedFfn = c.Count("shared_expert_intermediate_size", kMostFfn, 512, 0);
    t.experts.sharedGate = t.experts.sharedFfn > 0;
    t.delta.keyHeads = c.Count("linear_num_key_heads", kMostHeads, 16);
    t.delta.valueHeads = c.Count("linear_num_value_heads", kMostHeads, 32);
    t.delta.keySize = c.Count("linear_key_head_dim", kMostHeads, 128);
    t.delta.valueSize = c.Count("linear_value_head_dim", kMostHeads, 128);
    t.delta.kernel = c.Count("linear_conv_kernel_dim", kMostHeads, 4);
    t.recurrences = t.delta.keyHeads;
    if (t.delta.keyHeads > 0 && t.delta.valueHeads % t.delta.keyHeads != 0)
    {
        c.Refuse(c.Either("linear_num_key_heads", "linear_num_value_heads"),
                 "does not divide linear_num_value_heads, " + std::to_string(t.delta.valueHeads));
    }
    std::vector<BlockShape>& blocks = EachBlock(t);
    const uint32_t interval = c.Count("full_attention_interval", kMostLayers, 4);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        blocks[i].mixer = (i + 1) % interval == 0 ? Mixer::kAttention : Mixer::kDelta;
    }
    ReadLayerTypes(c, t, "linear_attention", 0);
    ReadSparseBlocks(c, t);
}

// clang-format off
const char* const kQwenZoo = R"zoo(
[
 {"name": "qwen2-7b", "aliases": ["qwen2.5-7b"], "family": "Qwen", "layers": 28, "hidden": 3584, "heads": 28,
  "kv_heads": 4, "ffn": 18944, "vocab": 152064, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "qkv_bias": true, "parameters_published": 7615616512,
  "source": "Qwen/Qwen2-7B config.json (Hugging Face); count published there; sequence: assumed"},
 {"name": "qwen2-72b", "aliases": ["qwen2.5-72b"], "family": "Qwen", "layers": 80, "hidden": 8192, "heads": 64,
  "kv_heads": 8, "ffn": 29568, "vocab": 152064, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "qkv_bias": true, "parameters_published": 72706203648,
  "source": "Qwen/Qwen2-72B config.json (Hugging Face); count published there; sequence: assumed"},
 {"name": "qwen3-0.6b", "sequence": 4096, "parameters_published": 596049920,
  "source": "Qwen/Qwen3-0.6B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
  "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": true}},
 {"name": "qwen3-1.7b", "sequence": 4096, "parameters_published": 1720574976,
  "source": "Qwen/Qwen3-1.7B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
  "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": true}},
 {"name": "qwen3-4b", "sequence": 4096, "parameters_published": 4022468096,
  "source": "Qwen/Qwen3-4B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": true}},
 {"name": "qwen3-8b", "sequence": 4096, "parameters_published": 8190735360,
  "source": "Qwen/Qwen3-8B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": false}},
 {"name": "qwen3-14b", "sequence": 4096, "parameters_published": 14768307200,
  "source": "Qwen/Qwen3-14B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 40,
  "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": false}},
 {"name": "qwen3-32b", "sequence": 4096, "parameters_published": 32762123264,
  "source": "Qwen/Qwen3-32B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
  "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
  "tie_word_embeddings": false}},
 {"name": "qwen3-30b-a3b", "aliases": ["qwen3-30b"], "sequence": 4096, "parameters_published": 30532122624,
  "active_published": 3353032704,
  "source": "Qwen/Qwen3-30B-A3B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
  "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
  "vocab_size": 151936, "tie_word_embeddings": false, "moe_intermediate_size": 768, "num_experts": 128,
  "num_experts_per_tok": 8}},
 {"name": "qwen3-next-80b-a3b", "aliases": ["qwen3-next", "qwen3-next-80b"], "sequence": 4096,
  "parameters_published": 79674391296,
  "source": "Qwen/Qwen3-Next-80B-A3B-Instruct config.json (Hugging Face); count published there (81,324,862,720 with its module for multi-token prediction); sequence: assumed",
  "config": {"model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120,
  "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
  "vocab_size": 151936, "tie_word_embeddings": false, "full_attention_interval": 4,
  "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
  "linear_num_value_heads": 32, "linear_value_head_dim": 128, "moe_intermediate_size": 512,
  "num_experts": 512, "num_experts_per_tok": 10, "shared_expert_intermediate_size": 512}},
 {"name": "qwen3-235b-a22b", "aliases": ["qwen3-235b"], "sequence": 4096,
  "parameters_published": 235093634560, "active_published": 22190763520,
  "source": "Qwen/Qwen3-235B-A22B config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2505.09388, section 3.2",
  "config": {"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
  "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
  "vocab_size": 151936, "tie_word_embeddings": false, "moe_intermediate_size": 1536, "num_experts": 128,
  "num_experts_per_tok": 8}},
 {"name": "qwen3-coder-480b-a35b", "aliases": ["qwen3-coder", "qwen3-coder-480b"], "sequence": 4096,
  "parameters_published": 480154875392, "active_published": 35474765312,
  "source": "Qwen/Qwen3-Coder-480B-A35B-Instruct config.json (Hugging Face); count published there; sequence: assumed",
  "config": {"model_type": "qwen3_moe", "hidden_size": 6144, "intermediate_size": 8192,
  "num_hidden_layers": 62, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
  "vocab_size": 151936, "tie_word_embeddings": false, "moe_intermediate_size": 2560, "num_experts": 160,
  "num_experts_per_tok": 8}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
QwenFamily()
{
    return {{{"qwen2", "Qwen2", "Qwen", ReadQwen2},
             {"qwen3", "Qwen3", "Qwen", ReadQwen3},
             {"qwen3_moe", "Qwen3Moe", "Qwen", ReadQwen3Moe},
             {"qwen3_next", "Qwen3Next", "Qwen", ReadQwen3Next}},
            kQwenZoo};
}

} // namespace training
